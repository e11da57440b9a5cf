// SPDX-License-Identifier: MIT
// Which passes over a layer are followed, and what they hold: a Llama layer, counted as in forward.cpp beside this
// file.
#include <llmres/memory/training/layer/activations.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8, hidden = 64, heads = 6, kv_heads = 2, head_dim = 24, inner = 160, rank = 3;
constexpr std::int64_t q = heads * head_dim, k = kv_heads * head_dim;
constexpr layer llama{.attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim},
                      .feed_forward = {.width = inner}};
/// So many features of every token, in 2 or 4 bytes each.
constexpr byte_count b2(std::int64_t width) { return bytes(2 * n * width); }
constexpr byte_count b4(std::int64_t width) { return bytes(4 * n * width); }

job tuned() {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, llama}},
          .task = task::finetuning,
          .weights = bf16,
          .sequence = tokens(n)};
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.casts_weights = false;
    j.runtime.kernels.fp32_adapters = false;
    return j;
}
layer_sums sums_of(const job& j, forward_moments asked = forward_moments::all) {
    return layer_sums_of(j.model.layers.kinds[0], j, layout{}, training_context{j, {}}, asked);
}
training_layer layer_of(const job& j) {
    const layout one{};
    const training_context context{j, one};
    const layer& kind = j.model.layers.kinds[0];
    return training_layer_of(kind, j, one, context, training_state_of(kind, hidden, weight_training{j, one, context}));
}

// Without autograd: attention's output is projected beside queries, keys and values, and the norm's output; the gated
// feed-forward has three tensors beside its input and the residual sum.
const byte_count mixer = b2(hidden) + b2(q + 2 * k) + b2(q) + b2(hidden);
const byte_count fed = b2(hidden) * 2 + b2(inner) * 3;

}  // namespace

TEST_CASE("a reference's pass is followed without autograd, and without the adapters that are trained") {
    job j = tuned();
    CHECK(sums_of(j).unrecorded.mixer == byte_count{});  // there is none
    CHECK(sums_of(j).unrecorded.feed_forward == byte_count{});
    CHECK(layer_of(j).unrecorded == byte_count{});
    j.preference = preference_method::dpo;  // a pair of answers: twice the tokens
    CHECK(sums_of(j).unrecorded.mixer == mixer * 2);
    CHECK(sums_of(j).unrecorded.feed_forward == fed * 2);
    CHECK(layer_of(j).unrecorded == fed * 2 + b2(hidden) * 2);  // and the layer's input
    job precomputed = j;
    precomputed.reference = reference_model::precomputed;
    REQUIRE_FALSE(computes_reference(precomputed));
    CHECK(layer_of(precomputed).unrecorded == byte_count{});
    j.adapter = {.kind = adapter_kind::lora, .rank = rank};
    CHECK(sums_of(j).unrecorded.mixer == mixer * 2);
    CHECK(sums_of(j).unrecorded.feed_forward == fed * 2);
    // The trained model's own pass has them.
    job recomputed = tuned();
    recomputed.recompute = recompute::full;
    const byte_count plain = sums_of(recomputed).forward.feed_forward;
    CHECK(plain == fed);
    recomputed.adapter = j.adapter;
    CHECK(sums_of(recomputed).forward.feed_forward > plain);
    CHECK(layer_of(recomputed).unrecorded == byte_count{});
}

TEST_CASE("a pass is followed where it may be the fullest, or where all moments are asked for") {
    const job j = tuned();
    const auto mixers = [](const job& of, forward_moments asked) { return sums_of(of, asked).forward.mixer; };
    CHECK(mixers(j, forward_moments::of_peaks) == byte_count{});
    CHECK(mixers(j, forward_moments::all) > byte_count{});
    CHECK(sums_of(j, forward_moments::of_peaks).saved == sums_of(j).saved);
    CHECK(sums_of(j, forward_moments::of_peaks).made == sums_of(j).made);
    job refers = j;
    refers.preference = preference_method::dpo;
    CHECK(mixers(refers, forward_moments::of_peaks) == mixers(refers, forward_moments::all));
    job adapted = j;
    adapted.adapter = {.kind = adapter_kind::lora, .rank = rank};
    CHECK(mixers(adapted, forward_moments::of_peaks) == mixers(adapted, forward_moments::all));
}

TEST_CASE("a layer with adapters is followed once more as it is recomputed, others are not") {
    job j = tuned();
    const auto again = [&] { return sums_of(j).again.mixer; };
    CHECK(again() == byte_count{});
    j.recompute = recompute::full;
    CHECK(again() == byte_count{});
    CHECK(sums_of(j).again.feed_forward == byte_count{});
    j.adapter = {.kind = adapter_kind::lora, .rank = rank};
    CHECK(again() > byte_count{});
    // Recorded, it holds at least what it has saved until then.
    CHECK(sums_of(j).again.last_product >= sum_of(sums_of(j).saved));
    job recorded = j;
    recorded.recompute = recompute::none;
    CHECK(sums_of(recorded).again.mixer == byte_count{});
    // Without checkpoints of its own a frozen layer that is not asked for all moments has both.
    CHECK(sums_of(j, forward_moments::of_peaks).again.mixer == again());
}

TEST_CASE("what autograd saves is in the recorded pass: the products' inputs, heads, and what the gate multiplies") {
    const job j = tuned();
    const layer_sums s = sums_of(j);
    // The norm: its fp32 copy and what its weight multiplies, an fp32 statistic a token, its output for the products;
    // rotated heads, attention's output, a statistic for each head.
    const byte_count norm = b4(hidden) + b2(hidden) + b4(1) + b2(hidden);
    const byte_count attended = b2(q + 2 * k) + b2(q) + b4(heads);
    CHECK(sum_of(s.saved) == norm * 2 + attended + b2(inner) * 4);
    CHECK(sum_of(s.routed) == byte_count{});
    CHECK(s.parts.recomputed == byte_count{});
    // While o_proj computes: all of the mixer, its output, and the layer's input and the norm's, which autograd has
    // not.
    CHECK(s.forward.mixer >= norm + attended + b2(hidden));
    CHECK(s.forward.last_product >= sum_of(s.saved));
    CHECK(layer_of(j).saved == sum_of(s.saved));
}

TEST_CASE("routed experts' tensors alone count as routed, and parts are summed where a job names them") {
    job j = tuned();
    j.runtime = runtimes::megatron;
    layer& kind = j.model.layers.kinds[0];
    kind.feed_forward = {.experts = {.count = 4, .per_token = 2, .width = 40}};
    const layer_sums experts = sums_of(j);
    CHECK(sum_of(experts.routed) > byte_count{});
    // Attention, norms and the router are not routed.
    CHECK(sum_of(experts.routed) <= sum_of(experts.saved) - b2(q + 2 * k) - b2(q) - b2(hidden) * 2);
    job dense = tuned();
    dense.runtime = runtimes::megatron;
    CHECK(sum_of(sums_of(dense).routed) == byte_count{});
    CHECK(sums_of(dense).parts.recomputed + sums_of(dense).parts.offloaded == byte_count{});
    dense.recompute = recompute::selective;
    dense.attention = attention_kernel::eager;
    CHECK(sums_of(dense).parts.recomputed > byte_count{});
    dense.recompute = recompute::none;
    CHECK(sums_of(dense).parts.recomputed == byte_count{});
}

TEST_CASE("eager attention: scores beside what was saved before the softmax, and not beside what comes behind it") {
    // Of each pair: scores in 16 bits and in fp32, and the softmax's fp32 output, which autograd saves. Its cast to 16
    // bits for the values, which autograd saves as well, comes behind that.
    job j = tuned();
    j.attention = attention_kernel::eager;
    j.sequence = tokens(512);
    const std::int64_t pairs = std::int64_t{512} * 512 * heads;
    const byte_count most = sums_of(j).forward.mixer;
    CHECK(most >= bytes(2 + 4 + 4) * pairs);
    CHECK(most < bytes(2 + 4 + 4 + 1) * pairs);  // what is not of pairs is less than a tenth
}
