// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/host.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/memory/serving.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t h = 256, words = 4096, inner = 1024, heads = 4;

/// Two dense layers, then two with eight experts, in 16 bits, as llama.cpp places them.
job mixed_job() {
    job j{.model = {.vocabulary = words, .hidden = h}, .batch = 3};
    const layer dense{.attention = {.heads = heads, .kv_heads = heads, .head_dim = h / heads},
                      .feed_forward = {.width = inner}};
    layer routed = dense;
    routed.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = inner}};
    j.model.layers = layer_stack{}.then(2, dense).then(2, routed);
    j.weights = fp16;
    j.prompt = tokens(100);
    j.output = tokens(28);
    j.runtime.cache.pool = cache_pool::grows;
    j.runtime.loading.head_first = true;
    return j;
}
constexpr byte_count matrices(std::int64_t elements) { return bytes(2) * elements; }
constexpr byte_count attention_of_layer = matrices(4 * h * h), norms = matrices(2 * h);
constexpr byte_count dense_layer = matrices(3 * h * inner) + attention_of_layer + norms;
constexpr byte_count experts_of_layer = matrices(24 * h * inner);                 // three of each
constexpr byte_count routed_rest = matrices(8 * h) + attention_of_layer + norms;  // the router
/// Keys and values of three sequences of 128 tokens, 768 vectors in 16 bits.
constexpr byte_count cache_of_layer = matrices(768 * h);

host_share share_of(const job& j, const layout& l = {}) { return host_share_of(j, l, nullptr); }

}  // namespace

TEST_CASE("nothing lies on the host unless the runtime or the caller says so; an embedding alone computes nothing") {
    job j = mixed_job();
    CHECK(share_of(j).weights == byte_count{});
    CHECK(serving_host_memory(j, {}, 1) == byte_count{});
    j.runtime.loading.embedding_on_host = true;
    CHECK(share_of(j).weights == matrices(words * h));
    CHECK(share_of(j).beside_them == byte_count{});
    CHECK(serving_host_memory(j, {}, 1) == matrices(words * h));
}

TEST_CASE("layers on the host: their weights, their caches, and the activations of the fullest") {
    job j = mixed_job();
    j.options.gpu_layers = 4;  // the head, and the last three
    const host_share one = share_of(j);
    CHECK(one.weights == dense_layer);
    j.options.gpu_layers = 3;
    const host_share two = share_of(j);
    CHECK(two.weights == dense_layer * 2);
    CHECK(two.beside_them.expected - one.beside_them.expected == cache_of_layer);
    // Beside the cache the step's own, as a GPU has it for that layer.
    const layout whole{};
    const detail::serving_step step{j, j.runtime, whole};
    const byte_count live = step.layer_peak(j.model.layers.kinds[0]);
    CHECK(live > byte_count{});
    CHECK(one.beside_them.expected == cache_of_layer + step.peak(live, false, 0).all().expected);
    j.options.gpu_layers = 2;
    const host_share three = share_of(j);
    CHECK(three.weights == dense_layer * 2 + experts_of_layer + routed_rest);
    const byte_count routed = step.layer_peak(j.model.layers.kinds[1]);
    CHECK(three.beside_them.expected ==
          cache_of_layer * 3 + step.peak(routed > live ? routed : live, false, 0).all().expected);
    // Each data rank's process has its own sequences: of three one.
    const interval<byte_count> alone = share_of(j, {.data = 3}).beside_them;
    CHECK(three.beside_them.expected - alone.expected == div_up(cache_of_layer * 3, 3) * 2);
    j.options.gpu_layers = 0;  // the head, too, which makes the logits
    const host_share all = share_of(j);
    CHECK(all.weights == dense_layer * 2 + (experts_of_layer + routed_rest) * 2 + matrices(words * h) + matrices(h));
    CHECK(all.beside_them.expected ==
          cache_of_layer * 4 + step.peak(routed > live ? routed : live, true, 0).all().expected);
}

TEST_CASE("routed experts alone on the host: none of the layers' other weights, and no cache") {
    job j = mixed_job();
    j.options.experts_on_host = true;
    const host_share all = share_of(j);
    CHECK(all.weights == experts_of_layer * 2);
    const layout whole{};
    const detail::serving_step step{j, j.runtime, whole};
    byte_count live = step.layer_peak(j.model.layers.kinds[0]);
    if (const byte_count routed = step.layer_peak(j.model.layers.kinds[1]); routed > live) live = routed;
    CHECK(all.beside_them.expected == step.peak(live, false, 0).all().expected);
    j.options.host_expert_layers = 3;  // the first three layers, of which one is routed
    CHECK(share_of(j).weights == experts_of_layer);
}

TEST_CASE("a node has the host's part once for each process, and weights that are mapped once for all") {
    job j = mixed_job();
    j.options.gpu_layers = 3;
    const auto on = [&](const layout& l, std::int32_t gpus) { return serving_host_memory(j, l, gpus).expected; };
    const host_share whole = share_of(j);
    CHECK(on({}, 1) == whole.weights + whole.beside_them.expected);
    CHECK(on({}, 8) == on({}, 1));  // one replica needs one GPU
    // Replicas of two tensor ranks: a node of two GPUs has one of them, one of four two, one of eight all three.
    const layout replicated{.tensor = 2, .replicas = 3};
    const host_share one = share_of(j, replicated);
    const byte_count each = one.weights + one.beside_them.expected;
    CHECK(on(replicated, 1) == each);
    CHECK(on(replicated, 2) == each);
    CHECK(on(replicated, 4) == each * 2);
    CHECK(on(replicated, 8) == each * 3);
    CHECK(on({.pipeline = 2, .replicas = 3}, 4) == each * 2);
    CHECK(on({.tensor = 2, .pipeline = 4, .replicas = 3}, 16) == each * 2);
    const interval<byte_count> read = serving_host_memory(j, replicated, 4);
    CHECK(read.low == (one.weights + one.beside_them.low) * 2);
    CHECK(read.high == (one.weights + one.beside_them.high) * 2);
    // Pages of a mapped file are shared, and may be dropped.
    j.runtime.loading.maps_weights = true;
    const interval<byte_count> mapped = serving_host_memory(j, replicated, 4);
    CHECK(mapped.low == one.beside_them.low * 2);
    CHECK(mapped.expected == one.weights + one.beside_them.expected * 2);
    CHECK(mapped.high == one.weights + one.beside_them.high * 2);
}

TEST_CASE("layers of a GGUF file on the host are those of the file, the rest of each with its experts or without") {
    job j = mixed_job();
    j.weights = {};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const file_layers file{j, j.runtime};
    const auto weights = [&] { return host_share_of(j, {}, &file).weights; };
    CHECK(weights() == byte_count{});
    // 32 values in 34 bytes, norms and routers in fp32.
    const auto in_8_bits = [](std::int64_t elements) { return bytes(34) * (elements / 32); };
    const byte_count dense = in_8_bits(4 * h * h + 3 * h * inner) + bytes(4 * 2 * h);
    j.options.gpu_layers = 4;
    CHECK(weights() == dense);
    j.options.gpu_layers = 3;
    CHECK(weights() == dense * 2);
    j.options.gpu_layers = {};
    j.options.experts_on_host = true;
    CHECK(weights() == in_8_bits(24 * h * inner) * 2);
    j.options.gpu_layers = 4;
    j.options.host_expert_layers = 3;
    CHECK(weights() == dense + in_8_bits(24 * h * inner));
}
