// SPDX-License-Identifier: MIT
#include <llmres/inventory/named_parts.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <utility>

#include "../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("named parts of a layer are computed again, or their inputs are in main memory") {
    using enum layer_part;
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .sequence = tokens(2048),
          .attention = attention_kernel::flash,
          .runtime = runtimes::megatron};
    const layout l{.data = 8, .expert = 8};
    const training_context context{j, l};
    const layer& routed = j.model.layers[j.model.layers.size - 1];
    const layer& dense = j.model.layers[0];
    const std::int64_t n = 2048;
    const auto parts = [&](const layer& of, layer_part_set again, layer_part_set away) {
        job with = j;
        with.recompute = again.empty() ? recompute::none : recompute::selective;
        with.recompute_modules = again;
        with.offload.modules = away;
        return named_parts_of(of, with, l, context);
    };
    const attention& a = routed.attention;
    const experts& e = routed.feed_forward.experts;
    // Outputs of two norms.
    CHECK(parts(dense, layernorm, {}).recomputed == bytes(2) * 2 * n * j.model.hidden);
    CHECK(parts(routed, layernorm, {}).recomputed == bytes(2) * 2 * n * j.model.hidden);
    // What the activation puts out, of eight tokens for one.
    CHECK(parts(routed, moe_act, {}).recomputed == bytes(2) * 8 * n * e.width);
    CHECK(parts(dense, moe_act, {}).recomputed == byte_count{});
    // Queries, keys and values of 128 heads, their compressed inputs normed, and the norms'.
    const byte_count heads = bytes(2) * n * a.heads * (2 * a.query_width() + a.value_width());
    const byte_count compressed = bytes(2) * 2 * n * (a.q_rank + a.kv_rank) + bytes(4) * 2 * n;
    CHECK(parts(routed, mla_up_proj, {}).recomputed == heads + compressed);
    // The whole of a dense feed-forward but its input; of routed experts with the shared.
    CHECK(parts(dense, mlp, {}).recomputed == bytes(2) * 3 * n * dense.feed_forward.width);
    const byte_count shared = parts(routed, shared_experts, {}).recomputed;
    CHECK(shared == bytes(2) * 3 * n * e.shared_width);
    CHECK(parts(routed, moe, {}).recomputed > bytes(2) * 8 * n * (3 * e.width + j.model.hidden) + shared);
    // Away: inputs.
    CHECK(parts(routed, {}, expert_fc1).offloaded == bytes(2) * 8 * n * j.model.hidden);
    CHECK(parts(routed, {}, moe_act).offloaded == bytes(2) * 2 * 8 * n * e.width);
    CHECK(parts(routed, {}, attn_norm).offloaded == bytes(2) * n * j.model.hidden + bytes(4) * n);
    CHECK(parts(dense, {}, qkv_linear).offloaded == bytes(2) * n * j.model.hidden);
    // What is computed again does not go away besides.
    CHECK(parts(routed, mla_up_proj, core_attn).offloaded == bytes(4) * n * a.heads);

    const auto reserved = [&](layer_part_set again, layer_part_set away) {
        job with = j;
        with.recompute = again.empty() ? recompute::none : recompute::selective;
        with.recompute_modules = again;
        with.offload.modules = away;
        return std::pair{training_memory(with, l).ideal, host_memory(with, l)};
    };
    const auto [all, none_away] = reserved({}, {});
    const auto [recomputed, still_none] = reserved({layernorm, mla_up_proj, moe_act, mlp}, {});
    const auto [offloaded, on_host] = reserved({}, {core_attn, expert_fc1, moe_act});
    CHECK(recomputed < all);
    CHECK(offloaded < all);
    CHECK(none_away == byte_count{});
    CHECK(still_none == byte_count{});
    CHECK(on_host > all - offloaded);
}

/// What routed experts save of the tokens that come to them.
static byte_count routed_bytes(const layer& kind, const job& j, const training_context& context) {
    byte_count size;
    for_each_saved_activation(kind, j.model.hidden, context, [&](const activation& a) {
        if (a.routed) size += local_bytes(a, {});
    });
    return size;
}

TEST_CASE(
    "what routed experts save of their tokens is part of what the layer does, and grows with the choices of a token") {
    job j{.model = models::mixtral_8x7b,
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(1024),
          .runtime = runtimes::megatron};
    const training_context context{j, {}};
    layer kind = j.model.layers[0];
    const auto routed = [&] { return routed_bytes(kind, j, context); };
    // Two choices: the input, gate, up and their product; the fused gate computes its activation again.
    const byte_count two = bytes(2) * (2 * 1024 * (std::int64_t{4096} + 3 * 14336));
    CHECK(routed() == two);
    kind.feed_forward.experts.per_token = 4;
    CHECK(routed() == two * 2);
    byte_count saved;
    for_each_saved_activation(kind, j.model.hidden, context, [&](const activation& a) { saved += local_bytes(a, {}); });
    CHECK(routed() < saved);
    kind.feed_forward.experts = {};
    CHECK(routed() == byte_count{});
}

TEST_CASE("what routed experts save is what the layer's inventory says of them, in 8 bits too") {
    job j{.model = models::mixtral_8x7b,
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(1024),
          .runtime = runtimes::megatron};
    j.runtime.kernels.fp8.recipe = fp8_recipe::delayed;
    const training_context context{j, {}};
    // Two choices of 1024 tokens: 8-bit inputs of the two products, gate and up in 16 bits.
    CHECK(routed_bytes(j.model.layers[0], j, context) ==
          bytes(2 * 1024) * (4096 + 14336) + bytes(2 * 2 * 1024) * (2 * 14336));
}

TEST_CASE("nothing of a recurrence is computed again by name, or leaves; latent features are the experts' own") {
    using enum layer_part;
    const model& m = models::nemotron_3_super_120b_a12b;
    job j{.model = m,
          .task = task::pretraining,
          .sequence = tokens(64),
          .attention = attention_kernel::flash,
          .recompute = recompute::selective,
          .runtime = runtimes::megatron};
    const training_context context{j, {}};
    const auto parts = [&](const layer& of, layer_part_set again, layer_part_set away) {
        j.recompute_modules = again;
        j.offload.modules = away;
        return named_parts_of(of, j, {}, context);
    };
    const layer& scanned = m.layers[0];
    const layer& routed = m.layers[1];
    REQUIRE(scanned.recurrent.kind == recurrent_kind::mamba2);
    CHECK(parts(scanned, recomputed_parts, {}).recomputed == byte_count{});
    CHECK(parts(scanned, {}, offloaded_parts).offloaded == byte_count{});
    const experts& e = routed.feed_forward.experts;
    const byte_count activated = bytes(2) * 64 * e.per_token * e.width;
    CHECK(parts(routed, moe_act, {}).recomputed == activated * 2);  // before the score and after it
    CHECK(parts(routed, {}, expert_fc1).offloaded == bytes(2) * 64 * e.per_token * e.latent);
    layer wide = routed;
    wide.feed_forward.experts.latent = m.hidden;  // what a projection back reads is a part of all that experts do
    const byte_count read_once = bytes(2) * 64 * (m.hidden - e.latent);
    CHECK(parts(wide, moe, {}).recomputed - parts(routed, moe, {}).recomputed == read_once * (e.per_token + 1));
}

TEST_CASE(
    "every part whose recomputation can be named makes less, in every model that it is a part of, and all parts are no "
    "more than all") {
    using enum layer_part;
    for (const model* m : models::all) {
        job j{.model = *m,
              .task = task::pretraining,
              .weights = bf16,
              .sequence = tokens(64),
              .attention = attention_kernel::eager,
              .runtime = runtimes::megatron};
        if (!validate(j)) continue;
        CAPTURE(m->name.view());
        j.recompute = recompute::selective;
        const training_context context{j, {}};
        for (std::int32_t k = 0; k < m->layers.kind_count; ++k) {
            const layer& kind = m->layers.kinds[static_cast<std::size_t>(k)];
            byte_count all;
            for_each_saved_activation(kind, m->hidden, context,
                                      [&](const activation& a) { all += local_bytes(a, {}); });
            const auto again = [&](layer_part_set parts) {
                j.recompute_modules = parts;
                return named_parts_of(kind, j, {}, context).recomputed;
            };
            const bool attends = kind.attention.kind != attention_kind::none;
            CHECK((again(core_attn) > byte_count{}) == attends);
            CHECK((again(mla_up_proj) > byte_count{}) == (kind.attention.kind == attention_kind::latent));
            CHECK((again(moe) > byte_count{}) == kind.feed_forward.routed());
            CHECK((again(shared_experts) > byte_count{}) == (kind.feed_forward.experts.shared_width > 0));
            CHECK((again(mlp) > byte_count{}) ==
                  (kind.feed_forward.kind != feed_forward_kind::none && !kind.feed_forward.routed()));
            CHECK(again(moe_act) <= again(moe));
            CHECK(again(recomputed_parts) <= all);
        }
    }
}

TEST_CASE("a job names parts of a layer by recomputing others than attention's core, or by offloading any") {
    using enum layer_part;
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .runtime = runtimes::megatron};
    const auto names = [&](recompute how, layer_part_set again, layer_part_set away) {
        j.recompute = how;
        j.recompute_modules = again;
        j.offload.modules = away;
        return detail::names_parts(j);
    };
    CHECK(names(recompute::selective, mlp, {}));
    CHECK_FALSE(names(recompute::selective, core_attn, {}));
    CHECK(names(recompute::selective, core_attn, expert_fc1));
    CHECK(names(recompute::none, {}, expert_fc1));
    // Parts that are named beside another recomputation are not recomputed by name.
    CHECK_FALSE(names(recompute::none, mlp, {}));
    CHECK_FALSE(names(recompute::full, mlp, {}));
}
