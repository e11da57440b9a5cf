// SPDX-License-Identifier: MIT
#include <llmres/answers/mixed_gpus.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

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

TEST_CASE("what others hold of a GPU moves its layers elsewhere, and what fits nowhere stays on the host") {
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

TEST_CASE("engines whose ranks must be equal are refused, and so is training") {
    job j = local("llama-3.1-8b", "Q8_0");
    j.gguf = {};
    j.runtime = runtimes::vllm;
    CHECK(deal_layers(j, std::array{device_share{gpus::rtx_4090}}).error().field == "runtime");
    j.runtime = no_runtime;
    j.task = task::finetuning;
    CHECK(deal_layers(j, std::array{device_share{gpus::rtx_4090}}).error().field == "task");
}
