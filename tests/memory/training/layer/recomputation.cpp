// SPDX-License-Identifier: MIT
// What recomputation and offloading keep of a layer, counted by hand: torchtitan's distributed/activation_checkpoint.py
// names the operators whose outputs it keeps, bitsandbytes' autograd/_functions.py what a 4-bit product holds.
#include <llmres/memory/training/layer/activations.hpp>
#include <llmres/memory/training/layer/recomputation.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/torchtitan.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 8, hidden = 64, heads = 4, kv_heads = 2, head_dim = 24, inner = 160;
constexpr std::int64_t q = heads * head_dim, k = kv_heads * head_dim;
constexpr layer llama{.attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim},
                      .feed_forward = {.width = inner}};
constexpr layout one_gpu{};

/// So many features of every token in 16 bits.
constexpr byte_count b2(std::int64_t width) { return bytes(2 * n * width); }

job trained(const layer& kind = llama) {
    job j{.model = {.vocabulary = 100, .hidden = hidden, .layers = {1, kind}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(n)};
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::torchtitan;
    j.runtime.kernels.compilation.layers = false;
    j.runtime.kernels.checkpointing.recomputes_cudnn = false;
    return j;
}
byte_count kept_of(const job& j, const layout& l = one_gpu) {
    return products_kept(j.model.layers.kinds[0], hidden, l, training_context{j, l});
}
/// Experts of which each token goes to two.
layer routed() {
    layer l = llama;
    l.feed_forward.width = 0;
    l.feed_forward.experts = {.count = 4, .per_token = 2, .width = 40};
    return l;
}

}  // namespace

TEST_CASE("by operation a layer keeps its input, attention's output, and the first, third, ... product") {
    job j = trained();
    const byte_count always = b2(hidden) + b2(q) + bytes(4 * n * heads);  // and statistics of its softmax
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_odd_products;
    CHECK(kept_of(j) == always + b2(q + k + inner + hidden));  // of q, k, v, o, gate, up, down
    CHECK(kept_of(j, {.tensor = 2}) ==
          b2(hidden) + b2(q / 2) + bytes(4 * n * heads / 2) + b2((q + k + inner) / 2 + hidden));
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(kept_of(j) == always + b2(q + 2 * k + hidden + 2 * inner));  // nobody reads the last one
    // cuDNN's attention is no operator of the list where that is so.
    j.attention = attention_kernel::cudnn;
    CHECK(kept_of(j) == always + b2(q + 2 * k + hidden + 2 * inner));
    j.runtime.kernels.checkpointing.recomputes_cudnn = true;
    CHECK(kept_of(j) == b2(hidden) + b2(q + 2 * k + hidden + 2 * inner));
    j.attention = attention_kernel::flash;
    CHECK(kept_of(j) == always + b2(q + 2 * k + hidden + 2 * inner));
}

TEST_CASE("routed experts' products and the router's are recomputed, and what all-to-all brings is kept") {
    job j = trained(routed());
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    const byte_count of_attention = b2(hidden) + b2(q) + bytes(4 * n * heads) + b2(q + 2 * k + hidden);
    CHECK(kept_of(j) == of_attention);
    const layout two{.data = 2, .expert = 2};
    CHECK(kept_of(j, two) == of_attention + b2(hidden) * 2 * 2);  // there and back, of each token's two choices
}

TEST_CASE("products read what norms and attention put out, and the activation; experts' are not kept so") {
    const auto inputs = [](const job& j) {
        return product_inputs(j.model.layers.kinds[0], hidden, one_gpu, training_context{j, one_gpu});
    };
    CHECK(inputs(trained()) == b2(hidden + q + hidden + inner));
    CHECK(inputs(trained(routed())) == b2(hidden + q));
    const job j = trained();
    CHECK(product_inputs(llama, hidden, layout{.tensor = 2}, training_context{j, one_gpu}) ==
          b2(hidden + q / 2 + hidden + inner / 2));
}

TEST_CASE("what a recomputed layer of 4-bit weights keeps beside its input is what its products hold themselves") {
    job j = trained();
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.four_bit_keeps_inputs = true;
    j.weights = nf4;
    j.adapter = {.kind = adapter_kind::lora, .rank = 4};
    j.recompute = recompute::full;
    const auto activations = [&] {
        const training_context context{j, one_gpu};
        return layer_activations_of(j.model.layers.kinds[0], j, one_gpu, context, forward_moments::all);
    };
    j.runtime.kernels.checkpointing.reentrant = false;
    CHECK(activations().by_product);
    CHECK(activations().products == b2(hidden + q + hidden + inner));
    j.runtime.kernels.checkpointing.reentrant = true;
    CHECK_FALSE(activations().by_product);
    CHECK(activations().products == byte_count{});
    j.recompute = recompute::none;
    j.runtime.kernels.checkpointing.reentrant = false;
    CHECK_FALSE(activations().by_product);
    j = trained();
    CHECK_FALSE(activations().by_product);
    j.recompute = recompute::selective;
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(activations().by_product);
    CHECK(activations().products == kept_of(j));
}

TEST_CASE("saved tensors stay, move, or are recomputed; of recomputed layers the inputs alone move") {
    job j = trained();
    const auto becomes = [&] { return saved_tensors_of(j, training_context{j, one_gpu}); };
    const auto reads_back = [&] { return reads_back_by_tensor(j, training_context{j, one_gpu}); };
    j.runtime.kernels.checkpointing.offloads_at_once = true;
    CHECK(becomes() == saved_tensors::stay);
    CHECK_FALSE(reads_back());
    j.offload.activations = offload_place::host;
    CHECK(becomes() == saved_tensors::moved);
    CHECK(reads_back());
    j.runtime.kernels.checkpointing.offloads_at_once = false;
    CHECK(becomes() == saved_tensors::moved);
    CHECK_FALSE(reads_back());
    j.recompute = recompute::full;
    CHECK(becomes() == saved_tensors::recomputed);
    j.runtime.kernels.checkpointing.offloads_at_once = true;
    CHECK(becomes() == saved_tensors::inputs_moved);
    CHECK_FALSE(reads_back());
    j.offload.activations = offload_place::none;
    CHECK(becomes() == saved_tensors::recomputed);
    j.recompute = recompute::selective;
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(becomes() == saved_tensors::recomputed);
    j.runtime.kernels.checkpointing.selective = selective_code::attention_core;
    CHECK(becomes() == saved_tensors::stay);
}

TEST_CASE(
    "the forward pass may be the fullest of frozen, autocast, offloaded or staged layers, or of eager attention") {
    job j = trained();
    const auto may_be = [&](const layout& l = one_gpu) { return forward_may_be_fullest(j, l, training_context{j, l}); };
    CHECK_FALSE(may_be());
    CHECK(may_be({.pipeline = 2}));
    j.attention = attention_kernel::eager;
    CHECK(may_be());
    j = trained();
    j.model.encoders[0].layers = 1;
    CHECK(may_be());
    j = trained();
    j.offload.activations = offload_place::host;
    CHECK(may_be());
    j = trained();
    j.autocast = true;
    CHECK(may_be());
    j = trained();
    j.adapter = {.kind = adapter_kind::lora, .rank = 4};
    CHECK(may_be());
    j = trained();
    const training_context context{j, one_gpu};
    j.runtime.allocator.gaps_by_step = false;
    CHECK_FALSE(follows_forward(j, one_gpu, context, forward_moments::of_peaks));
    CHECK(follows_forward(j, one_gpu, context, forward_moments::all));
    j.runtime.allocator.gaps_by_step = true;
    CHECK(follows_forward(j, one_gpu, context, forward_moments::of_peaks));
}

TEST_CASE("a recomputed layer's input is beside what it saves unless that has it or it came from main memory") {
    job j = trained();
    j.model.architecture = "llama";
    j.runtime.kernels.checkpointing.reentrant = false;
    layer wide = llama;  // its norm saves an fp32 copy, or a kernel reads the input itself
    const auto beside = [&] { return input_beside_saved(wide, j, training_context{j, one_gpu}, kib(7)); };
    CHECK(beside() == byte_count{});
    j.recompute = recompute::full;
    const byte_count input = keeps_input(wide, training_context{j, one_gpu}) ? byte_count{} : kib(7);
    CHECK(beside() == input);
    j.offload.activations = offload_place::host;
    CHECK(beside() == byte_count{});
    j.runtime.kernels.checkpointing.reentrant = true;
    CHECK(beside() == input);
    CHECK(output_beside_saved(training_context{j, one_gpu}, kib(7)) == kib(7));
    j.recompute = recompute::none;
    CHECK(output_beside_saved(training_context{j, one_gpu}, kib(7)) == byte_count{});
}
