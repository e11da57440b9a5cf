// SPDX-License-Identifier: MIT
#include <llmres/models/layer.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <type_traits>

using namespace llmres;

namespace {

constexpr layer block{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 128}};

}  // namespace

TEST_CASE("a layer is a plain value") {
    static_assert(std::is_trivially_copyable_v<layer> && std::is_standard_layout_v<layer>);
    static_assert(std::is_trivially_copyable_v<layer_stack>);
    static_assert(block == layer{block});
}

TEST_CASE("a layer stack describes each distinct kind once and keeps the order") {
    const layer windowed{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16, .window = tokens(8)}};
    layer global = windowed;
    global.attention.window = token_count{};
    const layer_stack stack = in_order("aab", {windowed, global}, 7);
    CHECK(stack.size == 7);
    CHECK(stack.kind_count == 2);
    CHECK(stack.counts()[0] == 5);
    CHECK(stack.counts()[1] == 2);
    CHECK(stack[2].attention.window == token_count{});
    CHECK(stack[3].attention.window == tokens(8));
    CHECK(stack.first(3).size == 3);
    CHECK(stack.first(99).size == 7);
}

TEST_CASE("a layer stack refuses the layer that no longer has room, and stays as it was") {
    layer_stack stack;
    CHECK(stack.append(layer_stack::max_layers, block));
    CHECK_FALSE(stack.append(1, block));
    CHECK_FALSE(stack.repeat(0));
    CHECK(stack.size == layer_stack::max_layers);

    layer_stack kinds;
    for (int i = 0; i < layer_stack::max_kinds; ++i) CHECK(kinds.append(1, {.feed_forward = {.width = i + 1}}));
    CHECK_FALSE(kinds.append(1, {.feed_forward = {.width = 99}}));
    CHECK(kinds.append(1, {.feed_forward = {.width = 1}}));
    CHECK_FALSE(kinds.append(-1, {.feed_forward = {.width = 1}}));
}

TEST_CASE("layers follow the order of letters, which start over") {
    const layer a{.feed_forward = {.width = 1}};
    const layer b{.feed_forward = {.width = 2}};
    const layer_stack stack = in_order("aab", {a, b}, 7);
    CHECK(stack.size == 7);
    CHECK(stack.kind_count == 2);
    for (const int second : {2, 5}) CHECK(stack[second].feed_forward.width == 2);
    CHECK(stack[6].feed_forward.width == 1);
    CHECK(in_order("ba", {a, b})[0].feed_forward.width == 2);
    CHECK(in_order("", {a}).size == 0);
    CHECK(in_order("az", {a}).size == 1);
    CHECK(in_order("abab", {a, a}).kind_count == 1);
    CHECK(in_order("abab", {a, a}).size == 4);
}

TEST_CASE("the kind of a layer reads as what it does") {
    CHECK(kind_name(block) == "attention+mlp");
    CHECK(kind_name({.attention = {.heads = 1, .window = tokens(4)}, .feed_forward = {.experts = {.count = 2}}}) ==
          "sliding_attention+moe");
    CHECK(kind_name({.attention = {.kind = attention_kind::latent}}) == "latent_attention+mlp");
    CHECK(kind_name({.attention = no_attention,
                     .recurrent = {.kind = recurrent_kind::mamba2},
                     .feed_forward = no_feed_forward}) == "mamba2");
    CHECK(kind_name({.attention = {.cross = cross_attention::beside}}) == "attention+cross_attention+mlp");
}

TEST_CASE("kinds are counted over any range: the parts of a cut add up, in every model") {
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        const layer_stack& stack = m->layers;
        for (const std::int32_t cut : {0, 1, stack.size / 3, stack.size / 2, stack.size}) {
            const auto all = stack.counts(), before = stack.counts(0, cut), after = stack.counts(cut, stack.size);
            std::int32_t layers = 0;
            for (std::size_t k = 0; k < all.size(); ++k) {
                CHECK(before[k] + after[k] == all[k]);
                layers += all[k];
            }
            CHECK(layers == stack.size);
        }
        for (std::int32_t i = 0; i < stack.size; ++i) {
            const auto one = stack.counts(i, i + 1);
            CHECK(one[stack.order[static_cast<std::size_t>(i)]] == 1);
        }
    }
}

TEST_CASE("stretches of layers are alike where kind follows kind as in the other") {
    layer sliding = block;
    sliding.attention.window = tokens(8);
    const layer_stack stack = in_order("aabaabab", {block, sliding});
    CHECK(stack.alike(0, 3, 3));
    CHECK(stack.alike(0, 3, 0));
    CHECK_FALSE(stack.alike(0, 3, 5));
    CHECK_FALSE(stack.alike(0, 1, 3));
    CHECK(layer_stack(8, block).alike(0, 5, 3));
}

TEST_CASE("heads of latent attention: 128 + 64 features of queries and keys, 128 of values; of others all are alike") {
    // DeepSeek-V3's config.json: qk_nope_head_dim, qk_rope_head_dim, v_head_dim.
    const attention& latent = models::deepseek_v3.layers[0].attention;
    CHECK(latent.query_width() == 192);
    CHECK(latent.value_width() == 128);
    CHECK(latent.rotated_width() == 64);
    CHECK(block.attention.query_width() == 16);
    CHECK(block.attention.value_width() == 16);
    CHECK(block.attention.rotated_width() == 16);
    CHECK(no_attention.rotated_width() == 0);
}

TEST_CASE("the convolution of a recurrence runs over its inner channels, of Mamba 2 over B and C as well") {
    // state-spaces/mamba2-2.7b: d_inner 5120, one group of 128 (transformers, modeling_mamba2.py: conv_dim).
    recurrent r{.kind = recurrent_kind::mamba2, .heads = 80, .head_dim = 64, .key_heads = 1, .state = 128, .kernel = 4};
    CHECK(r.inner() == 5120);
    CHECK(r.conv_channels() == 5120 + 2 * 128);
    r.kind = recurrent_kind::short_conv;
    CHECK(r.conv_channels() == 5120);
    r.kind = recurrent_kind::rwkv;
    CHECK(r.conv_channels() == 0);
}

TEST_CASE("norms are those around both halves, of cross-attention, and those beyond") {
    layer l = block;
    CHECK(l.norms() == 2);
    l.norm_after_attention = l.norm_after_feed_forward = true;  // Gemma 2
    CHECK(l.norms() == 4);
    l.attention.cross = cross_attention::beside;
    l.more_norms = 1;
    CHECK(l.norms() == 6);
    l.norm = norm_kind::none;
    CHECK(l.norms() == 0);
}

TEST_CASE("what a checkpoint quantises of a layer is a set of its parts") {
    CHECK(quantises(quantised_part::matrices, quantised_part::experts));
    CHECK(quantises(quantised_part::feed_forward, quantised_part::dense));
    CHECK_FALSE(quantises(quantised_part::feed_forward, quantised_part::mixers));
    CHECK_FALSE(quantises(quantised_part::none, quantised_part::matrices));
    CHECK((quantised_part::experts | quantised_part::dense | quantised_part::mixers) == quantised_part::matrices);
}
