// SPDX-License-Identifier: MIT
#include <llmres/answers/mixed_gpus.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// What a GPU's layers leave of it at the upper bound.
byte_count left_on(const dealt_layers& dealt, std::size_t gpu) {
    return dealt.shares[gpu].free - dealt.shares[gpu].needed.high;
}

/// Whether shares follow each other from the host's layers to the last one, and the busiest GPU is the first of those
/// with the least left.
void check_whole(const dealt_layers& dealt, std::int32_t layers) {
    std::int32_t end = dealt.on_host;
    for (std::size_t k = 0; k < dealt.gpus; ++k) {
        CHECK(dealt.shares[k].first == end);
        CHECK(dealt.shares[k].layers() >= 0);
        end = dealt.shares[k].last;
        CHECK(left_on(dealt, k) >= left_on(dealt, dealt.busiest));
        if (k < dealt.busiest) CHECK(left_on(dealt, k) > left_on(dealt, dealt.busiest));
    }
    CHECK(end == layers);
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
                check_whole(dealt, j.model.layers.size);
                for (const dealt_share& share : dealt.shares)
                    if (share.layers() > 0) CHECK(share.fits());
                dealt_on_all += dealt.complete;
            }
        }
    CHECK(dealt_on_all > 100);
}

TEST_CASE("a GPU with exactly the memory that its layers need holds them, and with a byte less it does not") {
    const job j = local("llama-3.1-8b", "Q8_0");
    const gpu card = gpus::rtx_4090;
    const auto with_free = [&](byte_count free) {
        return deal_layers(j, std::array{device_share{card, usable_memory(card) - free}}).value();
    };
    const byte_count needed = with_free(usable_memory(card)).shares[0].needed.high;
    CHECK(with_free(needed).fits());
    CHECK(with_free(needed).shares[0].layers() == 32);
    CHECK(with_free(needed - bytes(1)).shares[0].layers() == 31);
    CHECK(with_free(needed - bytes(1)).on_host == 1);
    CHECK(with_free(byte_count{} - gib(1)).on_host == 32);  // others hold more than there is
    CHECK(with_free(byte_count{} - gib(1)).shares[0].free == byte_count{});
}

TEST_CASE("a job takes over how many layers were dealt: the head as one more where it is on a GPU, all where all are") {
    const job j = local("llama-3.1-8b", "Q8_0");
    CHECK_FALSE(with_dealt_layers(j, {.gpus = 1, .on_host = 0, .complete = true}).options.gpu_layers);
    CHECK(with_dealt_layers(j, {.gpus = 1, .on_host = 12, .complete = false}).options.gpu_layers == 21);
    const dealt_layers headless{.gpus = 1, .on_host = 12, .head_on_host = true, .complete = false};
    CHECK(with_dealt_layers(j, headless).options.gpu_layers == 20);
    // Layers that found no room stay on the host: what one GPU then needs is what was dealt to it.
    const device_share small{gpus::rtx_3070, gib(4)};
    const dealt_layers dealt = deal_layers(j, std::array{small}).value();
    REQUIRE(dealt.on_host > 0);
    const job placed = with_dealt_layers(j, dealt);
    CHECK(memory_of(placed, {}, {.gpu = small.gpu}).total().high == dealt.shares[0].needed.high);
}

TEST_CASE("layers that are dealt fit, are tight, or do not fit, as the fullest GPU and the host's memory have it") {
    const auto share = [](std::int64_t low, std::int64_t high) {
        return dealt_share{.first = 0, .last = 16, .needed = {gib(low), gib(low), gib(high)}, .free = gib(10)};
    };
    const auto dealt = [](dealt_share first, dealt_share second) {
        return dealt_layers{.shares = {first, second}, .gpus = 2};
    };
    const job j = local("llama-3.1-8b", "Q8_0");
    CHECK(verdict_of(j, dealt(share(8, 9), share(9, 10)), {}) == verdict::fits);
    CHECK(verdict_of(j, dealt(share(8, 9), share(9, 11)), {}) == verdict::tight);
    CHECK(verdict_of(j, dealt(share(9, 11), share(8, 9)), {}) == verdict::tight);
    CHECK(verdict_of(j, dealt(share(8, 9), share(10, 12)), {}) == verdict::tight);
    CHECK(verdict_of(j, dealt(share(11, 12), share(8, 9)), {}) == verdict::does_not_fit);
    CHECK(verdict_of(j, dealt(share(9, 11), share(11, 12)), {}) == verdict::does_not_fit);
}

TEST_CASE(
    "layers that found no room may stay on the host, where the runtime computes them there and nobody said how many") {
    job j = local("llama-3.1-8b", "Q8_0");
    const std::array small{device_share{gpus::rtx_3070, gib(4)}};
    const dealt_layers dealt = deal_layers(j, small).value();
    REQUIRE((dealt.on_host > 0 && dealt.on_host < 32));
    const interval<byte_count> held = serving_host_memory(with_dealt_layers(j, dealt), {}, 1);
    REQUIRE((held.low > byte_count{} && held.low < held.high));
    CHECK(verdict_of(j, dealt, {}) == verdict::tight);  // of a host of which nothing is known
    CHECK(verdict_of(j, dealt, held.high) == verdict::fits);
    CHECK(verdict_of(j, dealt, held.high - bytes(1)) == verdict::tight);
    CHECK(verdict_of(j, dealt, held.low) == verdict::tight);
    CHECK(verdict_of(j, dealt, held.low - bytes(1)) == verdict::does_not_fit);
    job named = j;
    named.options.gpu_layers = 33;
    CHECK(verdict_of(named, deal_layers(named, small).value(), gib(64)) == verdict::does_not_fit);
    job of_gpus{
        .model = find_model("llama-3.1-8b").value(), .context = tokens(4096), .runtime = runtimes::transformers};
    const dealt_layers alone = deal_layers(of_gpus, small).value();
    REQUIRE(alone.on_host > 0);
    CHECK(verdict_of(of_gpus, alone, gib(64)) == verdict::does_not_fit);
    const dealt_layers none = deal_layers(j, std::array{device_share{gpus::rtx_3070, gib(64)}}).value();
    REQUIRE(none.on_host == 32);
    CHECK(verdict_of(j, none, gib(64)) == verdict::does_not_fit);
}

TEST_CASE("layers that the job leaves on the host count there, though all that it asks of GPUs is on one") {
    job j = local("llama-3.1-8b", "Q8_0");
    j.options.gpu_layers = 12;
    const dealt_layers dealt = deal_layers(j, std::array{device_share{gpus::rtx_4090}}).value();
    REQUIRE((dealt.complete && dealt.on_host > 0));
    const interval<byte_count> held = serving_host_memory(j, {}, 1);
    CHECK(verdict_of(j, dealt, held.high) == verdict::fits);
    CHECK(verdict_of(j, dealt, held.low - bytes(1)) == verdict::does_not_fit);
}

TEST_CASE("the longest context of several GPUs is that of a plain loop over all in steps of 256") {
    job j = local("llama-3.1-8b", "Q8_0");
    const std::array cards{gpus::rtx_3080_10gb, gpus::rtx_3070};
    const auto dealt_at = [&](std::int64_t context, const std::array<device_share, 2>& devices) {
        job tried = j;
        tried.context = tokens(context);
        return deal_layers(tried, devices).value();
    };
    j.context = tokens(9000);  // no multiple of 256 above 4,096
    for (const std::int64_t room : {5000, 6912, 8704}) {
        const dealt_layers there = dealt_at(room, {device_share{cards[0]}, device_share{cards[1]}});
        REQUIRE(there.complete);
        const std::array devices{device_share{cards[0], left_on(there, 0)}, device_share{cards[1], left_on(there, 1)}};
        std::int64_t longest = 4096;
        for (std::int64_t context = 4096; context <= 9000; context += 256)
            if (dealt_at(context, devices).complete) longest = context;
        CAPTURE(room);
        CHECK(longest >= room - 256);
        CHECK(context_for_devices(j, devices).value() == tokens(longest));
    }
    const std::array roomy{device_share{gpus::rtx_4090}};
    CHECK(context_for_devices(j, roomy).value() == tokens(9000));
    const std::array full{device_share{gpus::rtx_4090, gib(20)}};
    CHECK(context_for_devices(j, full).value() == tokens(4096));
    j.context = tokens(2000);  // shorter than it would be made
    CHECK(context_for_devices(j, full).value() == tokens(2000));
    CHECK(context_for_devices(j, std::span<const device_share>{}).error().field == "gpus");
}

TEST_CASE("sixteen GPUs are dealt to, as many as llama.cpp takes, and not one more nor none") {
    const job j = local("llama-3.1-8b", "Q8_0");
    std::vector<device_share> many(16, device_share{gpus::rtx_3070});
    CHECK(deal_layers(j, many).value().gpus == 16);
    many.push_back(many.front());
    CHECK(deal_layers(j, many).error().field == "gpus");
    CHECK(deal_layers(j, std::span<const device_share>{}).error().field == "gpus");
}

TEST_CASE("layers fit where each GPU holds its own, and all that the job asks of GPUs is on one") {
    const dealt_share holds{.first = 0, .last = 4, .needed = gib(8), .free = gib(8)};
    const dealt_share lacks{.first = 4, .last = 8, .needed = {gib(7), gib(7), gib(9)}, .free = gib(8)};
    CHECK(dealt_layers{}.fits());
    CHECK(dealt_layers{.shares = {holds, holds}, .gpus = 2}.fits());
    CHECK_FALSE(dealt_layers{.shares = {holds, lacks}, .gpus = 2}.fits());
    CHECK_FALSE(dealt_layers{.shares = {lacks, holds}, .gpus = 2}.fits());
    CHECK(dealt_layers{.shares = {holds, lacks}, .gpus = 1}.fits());  // the second is none of these
    CHECK_FALSE(dealt_layers{.shares = {holds}, .gpus = 1, .complete = false}.fits());
}

TEST_CASE("a GPU that others hold whole gets no layers, and the others get all") {
    const job j = local("llama-3.1-8b", "Q4_K_M");
    for (const std::size_t full : {0u, 1u}) {
        std::array devices{device_share{gpus::rtx_3090}, device_share{gpus::rtx_3090}};
        devices[full].in_use = usable_memory(gpus::rtx_3090);
        const auto dealt = deal_layers(j, devices);
        REQUIRE(dealt);
        CHECK(dealt->shares[full].layers() == 0);
        CHECK(dealt->shares[1 - full].layers() == 32);
        CHECK(dealt->on_host == 0);
    }
    const device_share held{gpus::rtx_3090, usable_memory(gpus::rtx_3090)};
    const dealt_layers none = deal_layers(j, std::array{held, held, held}).value();
    check_whole(none, 32);
    CHECK(none.on_host == 32);
}

TEST_CASE("layers that found no room run on the host where the runtime has them there, and are lacking elsewhere") {
    // --n-gpu-layers of llama.cpp, num_gpu of Ollama; ExLlama and vLLM compute every layer on GPUs.
    for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama, &runtimes::ik_llama_cpp})
        CHECK(detail::leaves_layers_on_host(*r));
    for (const runtime* r : {&runtimes::exllamav2, &runtimes::vllm, &runtimes::transformers})
        CHECK_FALSE(detail::leaves_layers_on_host(*r));
}

TEST_CASE("where layers find no room no GPU can have one more, though the GPUs before it hand theirs on") {
    properties::generator random;
    int left_over = 0, whole = 0;
    for (const char* id : {"llama-3.1-8b", "gemma-3-4b"})
        for (int i = 0; i < 40; ++i) {
            const job j = local(id, "Q8_0");
            std::array<device_share, 3> devices;
            for (device_share& d : devices)
                d = {gpus::rtx_3090,
                     usable_memory(gpus::rtx_3090) - mib(900 + static_cast<std::int64_t>(random.bits() % 3500))};
            const dealt_layers dealt = deal_layers(j, devices).value();
            check_whole(dealt, j.model.layers.size);
            if (dealt.complete) {
                ++whole;
                continue;
            }
            ++left_over;
            const layout l{.pipeline = 3};
            detail::serving_folds folds;
            job placed = j;  // as it is dealt: the head is where it was found room for
            if (dealt.head_on_host) placed.options.gpu_layers = j.model.layers.size;
            const auto holds = [&](std::size_t gpu, std::int32_t first, std::int32_t last) {
                const interval<byte_count> needed = detail::needed_by_share(
                    placed, folds, l, devices[gpu].gpu, static_cast<std::int32_t>(gpu), {first, last});
                return first == last || needed.high <= dealt.shares[gpu].free;
            };
            for (std::size_t more = 0; more < devices.size(); ++more) {
                bool room = true;
                for (std::size_t gpu = 0; gpu <= more && room; ++gpu)
                    room = holds(gpu, dealt.shares[gpu].first - 1, dealt.shares[gpu].last - (gpu < more ? 1 : 0));
                CHECK_FALSE(room);
            }
        }
    CHECK(left_over > 20);
    CHECK(whole > 5);
}

TEST_CASE("layers of which nothing is said are none, on no GPU, and what is not dealt to is not read") {
    const dealt_share none;
    CHECK(none.first == 0);
    CHECK(none.layers() == 0);
    const dealt_layers nobody;
    CHECK(nobody.gpus == 0);
    CHECK(nobody.on_host == 0);
    CHECK(nobody.busiest == 0);
    const job j = local("llama-3.1-8b", "Q8_0");
    const dealt_share holds{.first = 0, .last = 32, .needed = gib(8), .free = gib(8)};
    const dealt_share lacks{.first = 0, .last = 32, .needed = gib(9), .free = gib(8)};
    CHECK(verdict_of(j, {.shares = {holds, lacks}, .gpus = 1}, {}) == verdict::fits);
    CHECK(verdict_of(j, {.shares = {lacks, holds}, .gpus = 1}, {}) == verdict::does_not_fit);
}

TEST_CASE("equal GPUs with room to spare get equal shares") {
    const job small = local("llama-3.1-8b", "Q4_K_M");
    for (const std::size_t count : {2U, 3U, 4U, 5U}) {
        const std::vector<device_share> devices(count, device_share{.gpu = gpus::rtx_3090});
        const dealt_layers dealt = deal_layers(small, devices).value();
        CHECK(dealt.complete);
        std::int32_t fewest = 1000, most = 0;
        for (std::size_t k = 0; k < count; ++k) {
            fewest = std::min(fewest, dealt.shares[k].layers());
            most = std::max(most, dealt.shares[k].layers());
        }
        CHECK(most - fewest <= 1);
        CHECK(dealt.busiest < count);
    }
}

TEST_CASE("of GPUs with as little left the first is the busiest") {
    const job j = local("llama-3-70b", "Q4_K_M");  // twelve layers on each of the small ones, 42 on the large one
    const dealt_layers dealt = deal_layers(j, std::array{device_share{gpus::rtx_3070}, device_share{gpus::rtx_3070},
                                                         device_share{gpus::rtx_4090}})
                                   .value();
    REQUIRE(left_on(dealt, 0) == left_on(dealt, 1));
    REQUIRE(left_on(dealt, 0) < left_on(dealt, 2));
    CHECK(dealt.busiest == 0);
}

TEST_CASE("layers are not complete without their head, though all of them have room") {
    job j = local("llama-3.1-8b", "Q8_0");
    j.runtime = runtimes::llama_cpp_8671;
    const device_share card{gpus::rtx_4090, mib(14'800)};  // some 9 GiB, and half a GiB less than all needs
    const dealt_layers dealt = deal_layers(j, std::array{card}).value();
    CHECK(dealt.on_host == 0);
    CHECK(dealt.head_on_host);
    CHECK_FALSE(dealt.complete);
}

TEST_CASE("a GPU with exactly the memory of its layers has them beside another that has room for more") {
    const job j = local("llama-3.1-8b", "Q8_0");
    const layout two{.pipeline = 2};
    detail::serving_folds folds;
    const auto needed = [&](std::int32_t layers) {  // of the second GPU, which has the last layers and the head
        return detail::needed_by_share(j, folds, two, gpus::rtx_3060_12gb, 1, {32 - layers, 32}).high;
    };
    int in_proportion = 0, beyond_it = 0;
    for (const gpu& first : {gpus::rtx_3060_12gb, gpus::rtx_3070})
        for (std::int32_t layers = 4; layers < 32; ++layers)
            for (const std::int64_t used : {0, 5, 6, 7}) {  // GiB of the first
                const byte_count free = needed(layers), beside = usable_memory(first) - gib(used);
                const double part = ratio(free, free + beside) * 32;
                const dealt_layers dealt =
                    deal_layers(
                        j, std::array{device_share{first, gib(used)},
                                      device_share{gpus::rtx_3060_12gb, usable_memory(gpus::rtx_3060_12gb) - free}})
                        .value();
                CAPTURE(layers);
                CAPTURE(used);
                // Its proportion is as much as it holds and more, or less where the others hold less than theirs.
                const bool more = part >= layers, less = part < layers - 1 && !dealt.complete;
                if (more || less) CHECK(dealt.shares[1].layers() == layers);
                in_proportion += more;
                beyond_it += less;
            }
    CHECK(in_proportion > 0);
    CHECK(beyond_it > 0);
}
