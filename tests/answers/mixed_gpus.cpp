// SPDX-License-Identifier: MIT
#include <llmres/answers/mixed_gpus.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../properties.hpp"

using namespace llmres;

namespace {

job local(std::string_view id, std::string_view mix) {
    job j{.model = find_model(id).value(), .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", mix).value();
    return j;
}

}  // namespace

TEST_CASE("GPUs of different sizes get layers in proportion to what they have free") {
    const auto dealt = deal_layers(
        local("llama-3-70b", "Q4_K_M"),
        std::array{device_share{gpus::rtx_4090}, device_share{gpus::rtx_4090}, device_share{gpus::rtx_3080_12gb}});
    REQUIRE(dealt);
    CHECK(dealt->fits());
    CHECK(dealt->shares[0].first == 0);
    CHECK(dealt->shares[0].last == dealt->shares[1].first);
    CHECK(dealt->shares[1].last == dealt->shares[2].first);
    CHECK(dealt->shares[2].last == 80);
    CHECK(dealt->shares[2].layers() < dealt->shares[1].layers());
    CHECK(dealt->shares[2].layers() > 0);
}

TEST_CASE("memory that others hold on a GPU moves layers elsewhere, and layers that fit nowhere stay on the host") {
    const job j = local("llama-3.1-8b", "Q8_0");
    const auto alone = deal_layers(j, std::array{device_share{gpus::rtx_3070}, device_share{gpus::rtx_3070}});
    const auto shared = deal_layers(j, std::array{device_share{gpus::rtx_3070, gib(3)}, device_share{gpus::rtx_3070}});
    REQUIRE((alone && shared));
    CHECK(alone->fits());
    CHECK(shared->shares[0].layers() < alone->shares[0].layers());
    const auto full = deal_layers(j, std::array{device_share{gpus::rtx_3070, gib(4)}});
    REQUIRE(full);
    CHECK_FALSE(full->fits());
    CHECK(full->on_host > 0);
    CHECK(full->on_host + full->shares[0].layers() == 32);
    CHECK(full->shares[0].fits());
}

TEST_CASE("layers dealt to one GPU need what the plan says: all of them, or as many as have room there") {
    std::vector<job> jobs{local("llama-3.1-8b", "Q8_0"), local("llama-3-70b", "Q4_K_M"), local("gemma-3-4b", "Q4_K_M"),
                          local("mixtral-8x7b", "Q4_K_M"), local("deepseek-v3", "Q4_K_M")};
    for (const std::int32_t host_expert_layers : {8, 16, 32}) {
        jobs.push_back(local("mixtral-8x7b", "Q4_K_M"));
        jobs.back().options.experts_on_host = true;
        jobs.back().options.host_expert_layers = host_expert_layers;
    }
    jobs.push_back(local("llama-3.1-8b", "Q8_0"));
    jobs.back().options.gpu_layers = 20;
    for (const runtime* r : {&no_runtime, &runtimes::ollama, &runtimes::exllama, &runtimes::transformers}) {
        jobs.push_back({.model = find_model("llama-3.1-8b").value(), .context = tokens(4096), .runtime = *r});
        jobs.push_back({.model = find_model("mixtral-8x7b").value(), .context = tokens(4096), .runtime = *r});
    }
    for (job j : jobs)
        for (const gpu& card : {gpus::h200_sxm5_141gb, gpus::rtx_4090, gpus::rtx_3070}) {
            CAPTURE(std::string{j.model.name.view()});
            CAPTURE(std::string{j.runtime.identity.name.view()});
            CAPTURE(j.options.host_expert_layers);
            CAPTURE(std::string{card.name.view()});
            const auto dealt = deal_layers(j, std::array{device_share{card}});
            REQUIRE(dealt);
            if (dealt->head_on_host)
                j.options.gpu_layers = dealt->shares[0].layers();
            else if (dealt->on_host > 0)
                j.options.gpu_layers = dealt->shares[0].layers() + 1;
            CHECK(dealt->on_host + dealt->shares[0].layers() == j.model.layers.size);
            const result<job_plan> planned = plan(j, layout{}, {.gpu = card});
            REQUIRE(planned);
            const interval<byte_count> needed = planned->memory.total();
            CHECK(dealt->shares[0].needed.low == needed.low);
            CHECK(dealt->shares[0].needed.expected == needed.expected);
            CHECK(dealt->shares[0].needed.high == needed.high);
        }
}

TEST_CASE("layers that equal GPUs share equally need what the stages of a pipeline need") {
    const job j = local("llama-3.1-8b", "Q8_0");
    const auto dealt = deal_layers(j, std::array{device_share{gpus::rtx_4090}, device_share{gpus::rtx_4090}});
    REQUIRE(dealt);
    REQUIRE(dealt->shares[0].last == 16);
    const layout two{.pipeline = 2};
    for (std::int32_t stage = 0; stage < 2; ++stage)
        CHECK(serving_memory_of_stage(j, two, j.runtime, stage).total().expected ==
              dealt->shares[static_cast<std::size_t>(stage)].needed.expected);
}

TEST_CASE("where layers find no room the head stays on the host with them, unless it is loaded first") {
    job j = local("llama-3.1-8b", "Q8_0");
    const auto first = deal_layers(j, std::array{device_share{gpus::rtx_3070, gib(4)}});
    REQUIRE(first);
    CHECK_FALSE(first->complete);
    CHECK_FALSE(first->head_on_host);
    j.runtime = runtimes::llama_cpp_8671;
    const auto roomy = deal_layers(j, std::array{device_share{gpus::rtx_4090}});
    REQUIRE(roomy);
    CHECK(roomy->complete);
    CHECK_FALSE(roomy->head_on_host);
    const auto full = deal_layers(j, std::array{device_share{gpus::rtx_3070, gib(4)}});
    REQUIRE(full);
    CHECK_FALSE(full->complete);
    CHECK(full->head_on_host);
    job fewer = j;
    fewer.options.gpu_layers = 12;
    const auto asked = deal_layers(fewer, std::array{device_share{gpus::rtx_4090}});
    REQUIRE(asked);
    CHECK(asked->fits());
    CHECK(asked->on_host == 20);
    CHECK(asked->head_on_host);
}

TEST_CASE("runtimes whose ranks must be equal are refused, and so is training") {
    job j = local("llama-3.1-8b", "Q8_0");
    j.gguf = {};
    j.runtime = runtimes::vllm;
    CHECK(deal_layers(j, std::array{device_share{gpus::rtx_4090}}).error().field == "runtime");
    j.runtime = no_runtime;
    j.task = task::finetuning;
    CHECK(deal_layers(j, std::array{device_share{gpus::rtx_4090}}).error().field == "task");
}

TEST_CASE("no share of a file whose layers differ exceeds its GPU") {
    properties::generator random;
    int dealt_on_all = 0;
    for (const char* id : {"llama-3.1-8b", "gemma-3-27b", "gemma-2-27b", "deepseek-v2-lite", "qwen3-next-80b-a3b"})
        for (const char* mix : {"Q4_K_M", "Q5_K_M", "Q3_K_L", "Q2_K"}) {
            const job j = local(id, mix);
            const std::int64_t whole = gguf_tensor_bytes(j.model, *j.gguf).in(bytes) / (1 << 20);
            for (int i = 0; i < 60; ++i) {
                std::array<device_share, 3> devices;
                for (device_share& d : devices) {
                    const auto free =
                        600 + static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(whole));
                    d = {gpus::h100_sxm5_80gb, usable_memory(gpus::h100_sxm5_80gb) - mib(free)};
                }
                const auto dealt = deal_layers(j, devices).value();
                for (const dealt_share& share : dealt.shares)
                    if (share.layers() > 0) CHECK(share.fits());
                dealt_on_all += dealt.complete;
            }
        }
    CHECK(dealt_on_all > 100);
}
