// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/model.hpp>
#include <llmres/parameters.hpp>
#include <type_traits>

using namespace llmres;

namespace {

constexpr model small{
    .name = "small",
    .architecture = "llama",
    .vocabulary = 100,
    .hidden = 64,
    .layers = {4, {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 128}}}};

/// The field that validate() refuses after a change to the small model.
template <class Change>
text<63> refused_field(Change change) {
    model m = small;
    change(m);
    return validate(m).error().field;
}

template <model M>
constexpr std::int64_t hidden_of() {
    return M.hidden;
}

}  // namespace

TEST_CASE("a model is a plain value: trivially copyable, standard layout, a template argument, and moderate in size") {
    static_assert(std::is_trivially_copyable_v<model> && std::is_standard_layout_v<model>);
    static_assert(std::is_trivially_copyable_v<layer> && std::is_trivially_copyable_v<weight>);
    static_assert(sizeof(model) <= 8192);
    static_assert(hidden_of<small>() == 64);
}

TEST_CASE("a layer stack describes each distinct kind once and keeps the order") {
    const layer windowed{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16, .window = tokens(8)}};
    const layer_stack stack = alternating(7, 3, windowed);
    CHECK(stack.size == 7);
    CHECK(stack.kind_count == 2);
    CHECK(stack.counts()[0] == 5);
    CHECK(stack.counts()[1] == 2);
    CHECK(stack[2].attention.window == token_count{});
    CHECK(stack[3].attention.window == tokens(8));
    CHECK(stack.first(3).size == 3);
    CHECK(stack.first(99).size == 7);
    CHECK(stack.counts(3, 6)[0] + stack.counts(3, 6)[1] == 3);
}

TEST_CASE("a layer stack refuses the layer that no longer has room, and stays as it was") {
    layer_stack stack;
    CHECK(stack.append(layer_stack::max_layers, small.layers[0]));
    CHECK_FALSE(stack.append(1, small.layers[0]));
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
}

TEST_CASE("a sound model is accepted") { CHECK(validate(small)); }

TEST_CASE("a structural mistake is refused by the name of its field") {
    CHECK(refused_field([](model& m) { m.vocabulary = 0; }) == "vocabulary");
    CHECK(refused_field([](model& m) { m.hidden = -1; }) == "hidden");
    CHECK(refused_field([](model& m) { m.hidden = std::int64_t{1} << 40; }) == "hidden");
    CHECK(refused_field([](model& m) { m.layers = {}; }) == "layers");
    CHECK(refused_field([](model& m) { m.layers.kinds[0].attention.heads = 0; }) == "attention.heads");
    CHECK(refused_field([](model& m) { m.layers.kinds[0].attention.kv_heads = 3; }) == "attention.kv_heads");
    CHECK(refused_field([](model& m) { m.layers.kinds[0].attention.kv_heads = 5; }) == "attention.kv_heads");
    CHECK(refused_field([](model& m) { m.layers.kinds[0].feed_forward.width = 0; }) == "feed_forward.width");
    CHECK(refused_field([](model& m) {
              m.layers.kinds[0].feed_forward.experts = {.count = 8, .per_token = 9, .width = 1};
          }) == "experts.per_token");
    CHECK(refused_field([](model& m) { m.layers.kinds[0].recurrent = {.kind = recurrent_kind::mamba}; }) ==
          "recurrent.heads");
    CHECK(refused_field([](model& m) { m.encoders[0].layers = 2; }) == "encoder.hidden");
    CHECK(refused_field([](model& m) { m.add({.rows = 0}); }) == "extra.rows");
}

TEST_CASE("the kind of a layer reads as what it does") {
    CHECK(kind_name(small.layers[0]) == "attention+mlp");
    CHECK(kind_name({.attention = {.heads = 1, .window = tokens(4)}, .feed_forward = {.experts = {.count = 2}}}) ==
          "sliding_attention+moe");
    CHECK(kind_name({.attention = {.kind = attention_kind::latent}}) == "latent_attention+mlp");
    CHECK(kind_name({.attention = no_attention,
                     .recurrent = {.kind = recurrent_kind::mamba2},
                     .feed_forward = no_feed_forward}) == "mamba2");
    CHECK(kind_name({.attention = {.cross = cross_attention::beside}}) == "attention+cross_attention+mlp");
}

TEST_CASE("a renamed model keeps its shape and no published total") {
    model m = small;
    m.published = parameters(1);
    const model other = renamed(m, "other");
    CHECK(other.name == "other");
    CHECK_FALSE(other.published);
    CHECK(count_parameters(other) == count_parameters(small));
}
