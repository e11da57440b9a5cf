// SPDX-License-Identifier: MIT
// Each kernel of a pass beside its products with weights: what it multiplies, reads and writes.
#include <doctest/doctest.h>

#include "../kernels_of_layers.hpp"

#include <array>
#include <llmres/inventory/operations.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <vector>

using namespace kernels_of_layers;

namespace {

operation attention_of(const layer& l, std::int64_t hidden, const token_pass& pass, const layout& over = {}) {
    const std::vector<operation> found = of_kind(kernels_of(l, hidden, pass, {}, over), operation_kind::attention);
    REQUIRE(found.size() == 1);
    return found[0];
}

}  // namespace

TEST_CASE("a prompt's tokens see half of the keys on average and all that were cached, a decoded one sees all") {
    const double both = 32 * 128 * 2;  // queries with keys, probabilities with values
    const auto work = [&](const token_pass& pass) { return attention_of(dense, 4096, pass).flops.in(flops); };
    CHECK(work({.tokens = {2, 100, 1000}}) == doctest::Approx(2 * 200 * 500.0 * both));
    CHECK(work({.tokens = {2, 100, 1000}, .cached = 900}) == doctest::Approx(2 * 200 * 950.0 * both));
    CHECK(work({.tokens = {2, 100, 1000}, .cached = 5000}) == doctest::Approx(2 * 200 * 1000.0 * both));
    CHECK(work({.tokens = {2, 3, 1000}, .decode = true}) == doctest::Approx(2 * 6 * 1000.0 * both));
    CHECK(work({.tokens = {2, 100, 1000}, .scores = pair_scores::fused_softmax}) ==
          doctest::Approx(2 * 200 * 1000.0 * both));
}

TEST_CASE("fused attention goes back with five products for two, of which two are the model's; written scores twice") {
    const token_pass pass{.tokens = {2, 100, 1000}};
    token_pass back = pass, written = pass;
    back.backward = true, written.scores = pair_scores::fused_softmax;
    const operation forward = attention_of(dense, 4096, pass), backward = attention_of(dense, 4096, back);
    CHECK(backward.flops / forward.flops == doctest::Approx(2.5));
    CHECK(forward.counted == 1);
    CHECK(backward.counted == doctest::Approx(2 / 2.5));
    CHECK(forward.pass == product_pass::forward);
    CHECK(backward.pass == product_pass::input_gradients);
    CHECK(backward.read == forward.read * 2);
    CHECK(backward.written == forward.written * 2);
    const operation all_pairs = attention_of(dense, 4096, written);
    written.backward = true;
    CHECK(attention_of(dense, 4096, written).flops / all_pairs.flops == doctest::Approx(2));
    CHECK(attention_of(dense, 4096, written).counted == 1);
}

TEST_CASE("attention reads the cache and its queries, and writes a vector a query and head") {
    const byte_count cache = bytes(2 * 8 * 128 * 2) * 1000 * 2, queries = bytes(200 * 4096 * 2);
    const operation prompt = attention_of(dense, 4096, {.tokens = {2, 100, 1000}});
    CHECK(prompt.read == cache + queries);
    CHECK(prompt.written == queries);
    CHECK(prompt.blocks == doctest::Approx(32 * 200 / 128.0));
    const operation half = attention_of(dense, 4096, {.tokens = {2, 100, 1000}}, {.tensor = 2});
    CHECK(half.read == div_up(cache + queries, 2));
    CHECK(half.blocks == doctest::Approx(16 * 200 / 128.0));
    CHECK(attention_of(dense, 4096, {.tokens = {2, 1, 1000}, .decode = true}).blocks == 1e9);
    CHECK(attention_of(dense, 4096, {.tokens = {2, 100, 1000}, .cached = 900}).blocks == 1e9);
}

TEST_CASE(
    "scores that are written pass memory four times, with dropout six and a half, and twice as often going back; "
    "where a kernel each scales, masks and casts them, twelve times, and eighteen going back") {
    const byte_count plain = attention_of(dense, 4096, {.tokens = {2, 100, 1000}}).read;
    const byte_count scores = bytes(std::int64_t{200} * 32 * 1000 * 2);
    const auto more = [&](pair_scores where, bool dropout, bool backward) {
        const operation o = attention_of(
            dense, 4096, {.tokens = {2, 100, 1000}, .backward = backward, .scores = where, .dropout = dropout});
        return ratio(o.read - plain * (backward ? 2 : 1), scores);
    };
    using enum pair_scores;
    CHECK(more(fused_softmax, false, false) == doctest::Approx(4));
    CHECK(more(fused_softmax, true, false) == doctest::Approx(6.5));
    CHECK(more(fused_softmax, false, true) == doctest::Approx(8));
    CHECK(more(fused_softmax, true, true) == doctest::Approx(13));
    CHECK(more(apart, false, false) == doctest::Approx(12));
    CHECK(more(apart, true, false) == doctest::Approx(14.5));
    CHECK(more(apart, false, true) == doctest::Approx(18));
    CHECK(more(apart, true, true) == doctest::Approx(23));
}

TEST_CASE(
    "a copied cache is read twice and written once and for each query head of a key, which attention then reads") {
    const token_pass in_place{.tokens = {2, 1, 1000}, .decode = true};
    token_pass copied = in_place;
    copied.copies_cache = true;
    const byte_count cache = bytes(2 * 8 * 128 * 2) * 1000 * 2;
    CHECK(attention_of(dense, 4096, copied).read == attention_of(dense, 4096, in_place).read + cache * 3);
    CHECK(attention_of(dense, 4096, copied).blocks == 32 * 2);
    const auto between = [&](const token_pass& pass) {
        return of_kind(kernels_of(dense, 4096, pass), operation_kind::elementwise);
    };
    REQUIRE(between(copied).size() == between(in_place).size() + 1);
    CHECK(between(copied)[0].read == cache * 2);
    CHECK(between(copied)[0].written == cache * 5);
}

TEST_CASE("decoding latent attention multiplies by the compressed vector, a prompt by heads") {
    const model& m = models::deepseek_v3;  // 128 heads of 128 and 64 rotated features, values of 128; 512 compressed
    const layer& latent = m.layers.kinds[0];
    const auto work = [&](const token_pass& pass) { return attention_of(latent, m.hidden, pass).flops.in(flops); };
    CHECK(work({.tokens = {1, 1, 1000}, .decode = true}) == doctest::Approx(2 * 1000.0 * 128 * (512 + 64 + 512)));
    CHECK(work({.tokens = {1, 1000, 1000}}) == doctest::Approx(2 * 1000 * 500.0 * 128 * (128 + 64 + 128)));
}

TEST_CASE("the head multiplies scored positions; a training step's loss reads and writes logits in fp32") {
    const model& m = models::llama_3_1_8b;
    const auto kernels = [&](const token_pass& pass, bool fused, const layout& over = {}) {
        std::vector<operation> all;
        operation_formats formats;
        formats.fused_loss = fused;
        for_each_head_operation(m, formats, std::array{pass}, over,
                                [&](const operation& o, std::size_t) { all.push_back(o); });
        return all;
    };
    const token_pass serving{.tokens = {1, 100, 100}, .scored = 3};
    REQUIRE(kernels(serving, false).size() == 1);
    CHECK(kernels(serving, false)[0].flops == flops(2.0 * 3 * 4096 * 128256));
    const token_pass training{.tokens = {1, 100, 100}, .scored = 100, .training = true};
    const byte_count logits = bytes(std::int64_t{100} * 128256 * 4);
    REQUIRE(kernels(training, false).size() == 2);
    CHECK(kernels(training, false)[1].read == logits * 2);
    CHECK(kernels(training, false)[1].written == logits);
    CHECK(kernels(training, true)[1].read == div_up(logits, 2));
    CHECK(kernels(training, true)[1].written == div_up(logits, 2));
    CHECK(kernels(training, false, {.tensor = 2})[1].written == div_up(logits, 2));
}

TEST_CASE("what lies between the products is written once and read once, twice as much going back") {
    const auto between = [](std::int64_t n, bool backward) {
        const std::vector<operation> found =
            of_kind(kernels_of(dense, 4096, {.tokens = {1, n, n}, .backward = backward}), operation_kind::elementwise);
        REQUIRE(found.size() == 1);
        CHECK(found[0].read == found[0].written);
        return found[0].read;
    };
    CHECK(between(10, false) > bytes(10 * 2 * (4096 + 14336)));
    CHECK(between(30, false) == between(10, false) * 3);
    CHECK(between(10, true) == between(10, false) * 2);
}

TEST_CASE("exchanges are as large as the tensors that they pass") {
    const auto only = [](const layer& l, std::int64_t hidden, const layout& over) {
        std::vector<exchange> all;
        for_each_exchange(l, hidden, bf16, {1, 16, 32}, over, [&](const exchange& x) { all.push_back(x); });
        REQUIRE_FALSE(all.empty());
        return all[0];
    };
    const exchange sum = only(dense, 4096, {.tensor = 4});
    CHECK(sum.message == bytes(16 * 4096 * 2));
    CHECK(sum.among == exchange::group::tensor);
    // Keys and values of 16 positions of each of two ranks; heads for the sequence, with queries and outputs.
    const exchange ring = only(dense, 4096, {.context_parallel = 2});
    CHECK(ring.kind == collective_kind::all_gather);
    CHECK(ring.among == exchange::group::context);
    CHECK(ring.message == bytes(16 * 2 * 8 * (128 + 128) * 2));
    CHECK(only(dense, 4096, {.tensor = 2, .context_parallel = 2}).message == div_up(ring.message, 2));
    const exchange heads = only(dense, 4096, {.context_parallel = 2, .cp_comm_type = cp_communication::a2a});
    CHECK(heads.kind == collective_kind::all_to_all);
    CHECK(heads.message == bytes(16 * (8 + 32) * (128 + 128) * 2));
    const exchange routed = only(models::mixtral_8x7b.layers[0], 4096, {.data = 4, .expert = 4});
    CHECK(routed.among == exchange::group::expert);
    CHECK(routed.message == bytes(16 * 4096 * 2 * 2));
}

TEST_CASE("a cache that each step copies is read for every head that shares keys, one pair of heads or none at all") {
    layer l = dense;  // 32 heads
    const auto copied = [&](std::int64_t kv_heads) {
        l.attention.kv_heads = kv_heads;
        const token_pass pass{.tokens = {1, 1, 1000}, .decode = true, .copies_cache = true};
        return of_kind(kernels_of(l, 4096, pass), operation_kind::elementwise)[0];
    };
    for (const std::int64_t heads : {1, 8, 32}) {
        const byte_count cache = bytes(1000 * heads * 128 * 2 * 2);
        CHECK(copied(heads).read == cache * 2);
        CHECK(copied(heads).written == cache * (1 + 32 / heads));
    }
    const model& latent = models::deepseek_v3;
    const std::vector<operation> made =
        kernels_of(latent.layers.kinds[0], latent.hidden, {.tokens = {1, 1, 10}, .decode = true, .copies_cache = true});
    const byte_count cache = bytes(10 * (512 + 64) * 2);  // one vector a token for all heads
    CHECK(of_kind(made, operation_kind::elementwise)[0].written == cache * 2);
}

TEST_CASE("two ranks sum and two experts' ranks exchange as many do; one of either does neither") {
    const auto count = [](const layer& l, const layout& over, collective_kind kind) {
        int n = 0;
        for_each_exchange(l, 4096, bf16, {1, 16, 16}, over, [&](const exchange& x) { n += x.kind == kind; });
        return n;
    };
    const layer& routed = models::mixtral_8x7b.layers[0];
    for (const std::int32_t ranks : {2, 4}) {
        CHECK(count(dense, {.tensor = ranks}, collective_kind::all_reduce) == 2);
        CHECK(count(routed, {.data = ranks, .expert = ranks}, collective_kind::all_to_all) == 2);
        CHECK(count(routed, {.data = ranks, .expert = ranks}, collective_kind::all_reduce) == 0);
    }
    CHECK(count(dense, {}, collective_kind::all_reduce) == 0);
    CHECK(count(routed, {.data = 2}, collective_kind::all_to_all) == 0);
}
