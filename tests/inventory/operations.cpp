// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <llmres/inventory/operations.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/nvidia.hpp>

using namespace llmres;

namespace {

struct work {
    flop_count products;
    flop_count attention;
    byte_count read;
};

work work_of(const layer& l, std::int64_t hidden, const token_pass& pass, const layout& over = {}) {
    work w;
    for_each_operation(l, hidden, {}, std::array{pass}, over, [&](const operation& o, std::size_t) {
        (o.kind == operation_kind::attention ? w.attention : w.products) += o.flops;
        w.read += o.read;
    });
    return w;
}

}  // namespace

TEST_CASE("products take two FLOPs for each weight and token") {
    const model& m = models::llama_3_1_8b;
    const work w = work_of(m.layers[0], m.hidden, {.tokens = {2, 100, 100}});
    std::int64_t matrices = 0;
    for_each_weight(m.layers[0], m.hidden,
                    [&](const weight& each) { matrices += each.rows > 1 ? each.rows * each.columns : 0; });
    CHECK(w.products == flops(2.0 * 200 * static_cast<double>(matrices)));
}

TEST_CASE("a decode step reads the weights once and the whole cache, so it is bound by memory traffic") {
    const model& m = models::llama_3_1_8b;
    const token_pass pass{.tokens = {4, 1, 8192}, .decode = true};
    const work w = work_of(m.layers[0], m.hidden, pass);
    byte_count weights;
    for_each_weight(m.layers[0], m.hidden, [&](const weight& each) {
        weights += each.rows > 1 ? size_of(each, weight_formats{}) : byte_count{};
    });
    const byte_count cache = kv_cache_bytes(m.layers[0].attention, bf16, tokens(8192)) * 4;
    CHECK(w.read > weights + cache);
    CHECK(ratio(w.read, weights + cache) < 1.01);
}

TEST_CASE("tensor parallelism divides the work of a layer without losing any") {
    const model& m = models::llama_3_1_8b;
    const token_pass pass{.tokens = {1, 512, 512}};
    const work alone = work_of(m.layers[0], m.hidden, pass);
    for (const std::int32_t ranks : {2, 4, 8}) {
        const work shared = work_of(m.layers[0], m.hidden, pass, {.tensor = ranks});
        CHECK((shared.products * ranks).in(flops) == doctest::Approx(alone.products.in(flops)));
        CHECK((shared.attention * ranks).in(flops) == doctest::Approx(alone.attention.in(flops)));
    }
}

TEST_CASE("a mixture of experts computes for the experts a token is routed to, and reads those that any token is") {
    const model& m = models::mixtral_8x7b;
    const work one = work_of(m.layers[0], m.hidden, {.tokens = {1, 1, 1}, .decode = true});
    const work many = work_of(m.layers[0], m.hidden, {.tokens = {256, 1, 1}, .decode = true});
    CHECK(many.products.in(flops) == doctest::Approx(256 * one.products.in(flops)));
    byte_count all;
    for_each_weight(m.layers[0], m.hidden, [&](const weight& w) { all += size_of(w, weight_formats{}); });
    CHECK(ratio(one.read, all) < 0.4);
    CHECK(ratio(many.read, all) > 0.99);
}

TEST_CASE("a window bounds what attention computes and reads") {
    model m = models::llama_3_1_8b;
    layer windowed = m.layers[0];
    windowed.attention.window = tokens(1024);
    const token_pass far{.tokens = {1, 1, 65536}, .decode = true};
    const token_pass near{.tokens = {1, 1, 1024}, .decode = true};
    CHECK(work_of(windowed, m.hidden, far).attention == work_of(windowed, m.hidden, near).attention);
    CHECK(work_of(windowed, m.hidden, far).read == work_of(windowed, m.hidden, near).read);
}

TEST_CASE("the head multiplies features of the embedding's width, which a model may project its stream to") {
    const model& m = models::opt_350m;
    REQUIRE(m.embedding_width == 512);
    flop_count of_head;
    for_each_head_operation(m, {}, std::array{token_pass{.tokens = {1, 1, 1}, .scored = 1}}, {},
                            [&](const operation& o, std::size_t) { of_head += o.flops; });
    CHECK(of_head == flops(2.0 * 512 * static_cast<double>(m.vocabulary)));
}

TEST_CASE("a decoder that attends to an encoder besides sums three times a layer") {
    const layer& decoder = models::t5_base.layers[0];
    int sums = 0;
    for_each_exchange(decoder, models::t5_base.hidden, bf16, {1, 16, 16}, layout{.tensor = 4},
                      [&](const exchange&) { ++sums; });
    CHECK(sums == 3);
}

TEST_CASE("tensor parallelism sums twice a layer; expert parallelism sends tokens there and back") {
    const auto exchanges = [](const layer& l, const layout& over) {
        int sums = 0;
        int trips = 0;
        for_each_exchange(l, 4096, bf16, {1, 16, 16}, over, [&](const exchange& x) {
            (x.kind == collective_kind::all_reduce ? sums : trips) += 1;
            CHECK(x.message > byte_count{});
        });
        return std::array{sums, trips};
    };
    CHECK(exchanges(models::llama_3_1_8b.layers[0], {}) == std::array{0, 0});
    CHECK(exchanges(models::llama_3_1_8b.layers[0], {.tensor = 4}) == std::array{2, 0});
    CHECK(exchanges(models::mixtral_8x7b.layers[0], {.data = 4, .expert = 4}) == std::array{0, 2});
    CHECK(exchanges(models::nemotron_h_8b.layers[0], {.tensor = 4}) ==
          std::array{1, 0});  // Mamba 2 alone, its heads shared out
    const layer& latent = models::nemotron_3_super_120b_a12b.layers[1];
    for_each_exchange(latent, 4096, bf16, {1, 16, 16}, layout{.data = 4, .expert = 4},
                      [&](const exchange& x) { CHECK(x.message == bytes(2 * 16 * 22 * 1024)); });
}

TEST_CASE(
    "an operation of which nothing is said is one kernel that computes nothing, and a pass one that scores nothing") {
    const operation none{};
    CHECK(none.rows == 0);
    CHECK(none.groups == 1);
    CHECK(none.blocks == 1);
    CHECK(none.counted == 1);
    CHECK_FALSE(none.joined);
    CHECK(none.each == 0);
    const token_pass pass{};
    CHECK(pass.scored == 0);
    CHECK(pass.cached == 0);
    CHECK_FALSE(pass.keeps_gathered);
    const operation_formats formats{};
    CHECK_FALSE(formats.joined);
    CHECK_FALSE(formats.fused_loss);
    CHECK(token_passes{}.size() == 0);
}

TEST_CASE("compressed attention reads its window and the entries that the indexer chooses, or all of them") {
    layer l{.attention = {.kind = attention_kind::compressed,
                          .heads = 4,
                          .kv_heads = 1,
                          .head_dim = 8,
                          .q_rank = 10,
                          .window = tokens(16),
                          .indexer = {.heads = 2, .head_dim = 4, .selected = tokens(32)},
                          .compressed = {.ratio = 4, .windows = 2, .output_groups = 2, .output_rank = 6}},
            .feed_forward = no_feed_forward};
    const auto attended = [&](std::int64_t context) {
        return work_of(l, 32, {.tokens = {1, 1, context}, .decode = true}).attention;
    };
    // scores and values of four heads of eight: two products of two FLOPs for each key that is read
    const auto of_keys = [](double keys) { return flops(2.0 * keys * 4 * (8 + 8)); };
    CHECK(attended(8) == of_keys(8 + 2));
    CHECK(attended(100) == of_keys(16 + 25));
    CHECK(attended(4000) == of_keys(16 + 32));
    l.attention.indexer = {};
    CHECK(attended(4000) == of_keys(16 + 1000));
}
