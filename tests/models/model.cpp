// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <type_traits>

#include "../compressed_attention.hpp"

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
    const auto compressed_field = [](auto change) {
        return refused_field([&](model& m) {
            attention& a = m.layers.kinds[0].attention = compressed_attention::compressed(4);
            change(a);
        });
    };
    CHECK(compressed_field([](attention& a) { a.q_rank = 0; }) == "attention.q_rank");
    CHECK(compressed_field([](attention& a) { a.compressed.windows = 0; }) == "attention.compressed.windows");
    CHECK(compressed_field([](attention& a) { a.compressed.output_rank = 0; }) == "attention.compressed.output_rank");
    for (const std::int64_t groups : {0, 3, 65})
        CHECK(compressed_field([&](attention& a) { a.compressed.output_groups = groups; }) ==
              "attention.compressed.output_groups");
    CHECK(refused_field([](model& m) { m.encoders[0].layers = 2; }) == "encoder.hidden");
    CHECK(refused_field([](model& m) { m.add({.rows = 0}); }) == "extra.rows");
}

TEST_CASE("a renamed model keeps its shape and no published total") {
    model m = small;
    m.published = parameters(1);
    const model other = renamed(m, "other");
    CHECK(other.name == "other");
    CHECK_FALSE(other.published);
    CHECK(count_parameters(other) == count_parameters(small));
}
