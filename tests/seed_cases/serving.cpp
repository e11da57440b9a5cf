// SPDX-License-Identifier: MIT
// The seed cases of serving: A4, A5, C6, C7, D2, D3.
#include <doctest/doctest.h>

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/hardware/mig.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

cluster of(const gpu& card, std::int32_t gpus = 1) {
    return {.gpu = card, .gpus = gpus, .scale_up = links::pcie_gen4_x16, .scale_out = links::ib_ndr_400};
}
model preset(std::string_view id) { return find_model(id).value(); }

/// D: a 70B of multi-head shape, as the case counts it: LLaMA 65B, its feed-forward widened to 140 GB.
model seventy_billion_multi_head() {
    model m = preset("llama-65b");
    layer kind = m.layers[0];
    kind.feed_forward.width = 24320;
    m.layers = layer_stack(m.layers.size, kind);
    m.max_context = tokens(4096);
    return m;
}
job seventy_billion(const model& m, const precision& cache) {
    job j{.model = m, .weights = fp16, .kv_cache = cache, .compute = fp16, .batch = 8, .context = tokens(4096)};
    j.runtime = runtimes::vllm_v1_9;
    j.runtime.cache.fraction = 0.97;
    j.options.max_num_seqs = 8;
    j.max_batched_tokens = tokens(2048);
    return j;
}

}  // namespace

TEST_CASE("A4: models over 30B do not fit a 4090 for serving, four bits or not") {
    for (const char* id : {"qwen2.5-32b", "llama-3-70b"}) {
        INFO(id);
        job j{.model = preset(id),
              .weights = awq(4, 128),
              .batch = 8,
              .context = tokens(4096),
              .runtime = runtimes::vllm_v1_9};
        const auto p = plan(j, layout{}, of(gpus::rtx_4090));
        REQUIRE(p);
        CHECK(p->verdict == verdict::does_not_fit);
        REQUIRE(p->reason_count > 0);
        CHECK(p->reasons[0].needed > p->reasons[0].available);
    }
    // What would: 32B in four bits holds one short sequence, 70B not even its weights.
    job j{.model = preset("qwen2.5-32b"),
          .weights = awq(4, 128),
          .context = tokens(2048),
          .runtime = runtimes::vllm_v1_9};
    j.options.max_num_seqs = 8;
    const auto batch = max_batch(j, layout{}, of(gpus::rtx_4090));
    REQUIRE(batch);
    CHECK(*batch >= 1);
    CHECK(*batch < 8);
    const auto context = max_context(j, layout{}, of(gpus::rtx_4090));
    REQUIRE(context);
    CHECK(*context >= tokens(2048));
    j.model = preset("llama-3-70b");
    CHECK(max_batch(j, layout{}, of(gpus::rtx_4090)).value() == 0);
}

TEST_CASE("A5: how many MIG instances hold Llama 3 8B, and what a token of each costs") {
    job j{.model = preset("llama-3-8b"),
          .batch = 4,
          .prompt = tokens(512),
          .output = tokens(512),
          .runtime = runtimes::vllm_v1_9};
    j.options.max_num_seqs = 16;
    const gpu& card = gpus::a100_sxm4_80gb;
    struct answer {
        const char* profile;
        bool in_16_bits, in_four;
    };
    const answer expected[] = {{"1g.10gb", false, true}, {"1g.20gb", true, true}, {"2g.20gb", true, true},
                               {"3g.40gb", true, true},  {"4g.40gb", true, true}, {"7g.80gb", true, true}};
    double cheapest = 0;
    for (const answer& a : expected) {
        INFO(a.profile);
        const auto slice = mig_slice(card, a.profile);
        REQUIRE(slice);
        j.weights = {};
        CHECK(fits(j, layout{}, of(*slice)) == a.in_16_bits);
        j.weights = awq(4, 128);
        CHECK(fits(j, layout{}, of(*slice)) == a.in_four);
        if (!a.in_16_bits) continue;
        j.weights = {};
        const auto p = plan(j, layout{}, of(*slice));
        REQUIRE(p);
        int instances = 0;
        for (const mig_profile& m : mig_profiles(card))
            if (m.name == a.profile) instances = m.instances;
        // The card at 1 a second, shared out over its instances.
        const double cost_per_token = 1.0 / instances / p->speed.tokens_per_second.in(tokens_per_s);
        CHECK(cost_per_token > 0);
        if (cheapest == 0 || cost_per_token < cheapest) cheapest = cost_per_token;
    }
    CHECK(cheapest < 1.0);
}

TEST_CASE("C6 and C7: n billion parameters are 2n GB, as a file and when served") {
    const byte_count file = weight_bytes(preset("llama-2-13b"), formats_for(fp16));
    CHECK(file == bytes(26'031'728'640));  // 13 015 864 320 parameters
    for (const runtime* r : {&no_runtime, &runtimes::transformers, &runtimes::exllama_v1}) {
        const job j{
            .model = preset("llama-2-13b"), .weights = fp16, .compute = fp16, .context = tokens(2048), .runtime = *r};
        const memory_breakdown m = memory_of(j, layout{});
        CHECK(m[memory_term::weights].expected == file);
    }
}

TEST_CASE("D2: batch 8, 4096 tokens, hidden 8192 in two bytes are 0.5 GB of intermediate results") {
    const model m = preset("llama-2-70b");
    byte_count residual;
    for_each_live_activation(m.layers[0], m.hidden, {8, 4096, 4096}, attention_kernel::flash, fp16,
                             [&](const activation& a, layer_half half) {
                                 if (a.role == activation_role::residual && half == layer_half::attention)
                                     residual += local_bytes(a, layout{});
                             });
    CHECK(residual == mib(512));
}

TEST_CASE("D3: 140 GB of weights and 43 GB of 8-bit multi-head cache need 3 x H100 80GB, or just fit 8 x RTX 4090") {
    const model m = seventy_billion_multi_head();
    const job j = seventy_billion(m, fp8_e4m3);
    CHECK(weight_bytes(m, formats_for(fp16)).in(gb) == doctest::Approx(140).epsilon(0.01));
    CHECK(kv_cache_bytes(m, fp8_e4m3, tokens(4096)) * 8 == gib(40));

    for (const layout& two : {layout{.tensor = 2}, layout{.pipeline = 2}})
        CHECK(plan(j, two, of(gpus::h100_sxm5_80gb, 2)).value().verdict == verdict::does_not_fit);
    // 64 heads do not go round three ranks: three GPUs take turns at layers.
    CHECK(plan(j, layout{.tensor = 3}, of(gpus::h100_sxm5_80gb, 3)).error().field == "layout.tensor");
    CHECK(fits(j, layout{.pipeline = 3}, of(gpus::h100_sxm5_80gb, 3)));
    const auto eight = plan(j, layout{.tensor = 8}, of(gpus::rtx_4090, 8));
    REQUIRE(eight);
    INFO(eight->memory.total().high.in(gib) << " of " << eight->usable.in(gib));
    CHECK(eight->verdict != verdict::does_not_fit);
    CHECK_FALSE(fits(j, layout{.tensor = 4}, of(gpus::rtx_4090, 4)));
}

TEST_CASE("D3: the true multi-head cache in 16 bits is 85.9 GB, and 8 x 24 GB do not hold it; grouped, it is 10.7 GB") {
    const model multi = seventy_billion_multi_head();
    CHECK((kv_cache_bytes(multi, fp16, tokens(4096)) * 8).in(gb) == doctest::Approx(85.9).epsilon(0.001));
    for (const layout& l : {layout{.tensor = 8}, layout{.tensor = 4, .pipeline = 2}, layout{.pipeline = 8}})
        CHECK(plan(seventy_billion(multi, fp16), l, of(gpus::rtx_4090, 8)).value().verdict == verdict::does_not_fit);
    const model grouped = preset("llama-2-70b");
    CHECK((kv_cache_bytes(grouped, fp16, tokens(4096)) * 8).in(gb) == doctest::Approx(10.7).epsilon(0.004));
    CHECK(fits(seventy_billion(grouped, fp16), layout{.tensor = 8}, of(gpus::rtx_4090, 8)));
}
