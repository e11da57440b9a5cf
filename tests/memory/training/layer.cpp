// SPDX-License-Identifier: MIT
#include <llmres/memory/training/layer.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/torchtitan.hpp>

#include "../../training_jobs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

namespace {

detail::training_layer layer_of(const job& j, std::size_t kind = 0, const layout& l = {}) {
    const training_context context{j, l};
    const layer& block = j.model.layers.kinds[kind];
    return detail::training_layer_of(block, j, l, context,
                                     training_state_of(block, j.model.hidden, weight_training{j, l, context}));
}

constexpr std::int64_t n = 4096;  // tokens of full()

}  // namespace

TEST_CASE(
    "a GPT layer keeps 34 s b h bytes where attention's core is computed again, and 2 s b h where all is: arXiv "
    "2205.05198, table 2") {
    constexpr std::int64_t s = 1024, b = 4, h = 512, a = 8;
    job j{.model = {.vocabulary = 1000, .hidden = h},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(s),
          .micro_batch = b};
    j.model.layers = {1,
                      {.attention = {.heads = a, .kv_heads = a, .head_dim = h / a},
                       .feed_forward = {.kind = feed_forward_kind::plain, .width = 4 * h},
                       .norm = norm_kind::layer}};
    j.attention = attention_kernel::eager;
    j.dropout = true;
    j.runtime = runtimes::megatron;
    const byte_count statistics = bytes(2 * 2 * 4) * (s * b);  // of two LayerNorms, which the paper leaves out
    CHECK(layer_of(j).kept == bytes(34) * (s * b * h) + bytes(5) * (a * s * s * b) + statistics);
    j.recompute = recompute::selective;
    CHECK(layer_of(j).kept == bytes(34) * (s * b * h) + statistics);
    for (const std::int32_t t : {2, 8}) {
        CHECK(layer_of(j, 0, {.tensor = t}).kept ==
              bytes(10) * (s * b * h) + div_up(bytes(24) * (s * b * h), t) + statistics);
        CHECK(layer_of(j, 0, {.tensor = t, .sequence_parallel = true}).kept ==
              div_up(bytes(34) * (s * b * h) + statistics, t));
    }
    // Tiles leave nothing of the core but its input and its output either.
    j.attention = attention_kernel::flash;
    CHECK(layer_of(j).kept == bytes(34) * (s * b * h) + statistics);
    j.attention = attention_kernel::eager;
    // Named among other parts it is what it is alone.
    j.recompute_modules = {layer_part::core_attn, layer_part::layernorm};
    CHECK(layer_of(j).kept == bytes(30) * (s * b * h) + statistics);
    j.recompute = recompute::full;
    CHECK(layer_of(j).kept == bytes(2) * (s * b * h));
    CHECK(layer_of(j, 0, {.tensor = 8, .sequence_parallel = true}).kept == div_up(bytes(2) * (s * b * h), 8));
}

TEST_CASE(
    "torchtitan keeps attention's output and every second product, or every one: q, v, gate of q, k, v, o, gate, up") {
    job j = full();
    j.runtime = runtimes::torchtitan;
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_odd_products;
    j.runtime.kernels.compilation.layers = true;  // the last product is nobody's input
    j.attention = attention_kernel::flash;
    j.recompute = recompute::selective;
    const std::int64_t h = 4096, kv = 1024, inner = 14336;
    const byte_count always =
        bytes(2) * (n * (h + h)) + bytes(4) * (n * 32);  // input, attention's output and its statistics
    CHECK(layer_of(j).kept == always + bytes(2) * (n * (h + kv + inner)));
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(layer_of(j).kept == always + bytes(2) * (n * (h + 2 * kv + h + 2 * inner)));
    // A product with a bias is another operator, which the list does not name (Qwen 2's q, k and v).
    j.model.layers.kinds[0].attention.qkv_bias = true;
    CHECK(layer_of(j).kept == always + bytes(2) * (n * (h + 2 * inner)));
}

TEST_CASE(
    "a layer's backward pass holds what it saved and more, gradients of weights as they come, whatever the model and "
    "engine") {
    for (const model* m : models::all)
        for (const runtime* r : {&runtimes::huggingface, &runtimes::megatron}) {
            job j{.model = *m, .task = task::pretraining, .weights = bf16, .sequence = tokens(128), .runtime = *r};
            if (!validate(j)) continue;
            CAPTURE(m->name.view());
            for (std::size_t k = 0; k < static_cast<std::size_t>(m->layers.kind_count); ++k) {
                j.recompute = recompute::none;
                const detail::training_layer all = layer_of(j, k);
                CHECK(all.kept == all.saved);
                CHECK(all.peak > all.saved);
                CHECK(all.fresh_peak >= all.peak);
                CHECK(all.fresh_peak <= all.peak + all.state.gradients.kept * 3);
                j.recompute = recompute::full;
                CHECK(layer_of(j, k).kept == all.checkpoint);
                // With its input, where its norm saves that in fp32 alone.
                const byte_count recomputed = layer_of(j, k).peak;
                CHECK((recomputed == all.peak || recomputed == all.peak + all.checkpoint));
                j.recompute = recompute::selective;
                CHECK(layer_of(j, k).kept <= all.kept);
            }
        }
}

TEST_CASE("gradients of a layer's weights come from its last product back, and at the end all are there") {
    const detail::training_layer t = layer_of(full());
    const auto so_far = detail::gradients_so_far(t.state);
    for (std::size_t p = 1; p < backward_points; ++p) CHECK(so_far[p] >= so_far[p - 1]);
    CHECK(so_far.front() == byte_count{});  // what follows that product
    CHECK(so_far[static_cast<std::size_t>(backward_point::output)] == bytes(2) * (4096 * 14336));
    CHECK(so_far[static_cast<std::size_t>(backward_point::norm)] == bytes(2) * (3 * 4096 * 14336));
    CHECK(so_far.back() == t.state.gradients.kept);
}

TEST_CASE(
    "the norm of a feed-forward's output: all that is saved but what its weight multiplied, and five fp32 tensors") {
    job j = full();
    j.model = models::olmo_2_7b;
    j.runtime = runtimes::huggingface;
    const byte_count stream = bytes(2) * (n * 4096);  // and the gradient of the layer's output
    CHECK(layer_of(j).peak == layer_of(j).saved + stream + stream * 2 * (5 - 1));
    // The products that read the layer's input keep it: recomputed, too, there is one of it.
    j.recompute = recompute::full;
    CHECK(layer_of(j).peak == layer_of(j).saved + stream + stream * 2 * (5 - 1));
}

TEST_CASE("the weighing of experts' outputs: three tensors of the choices of all tokens, and a cast of fp32 ones") {
    job j = full();
    j.runtime = runtimes::huggingface;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {weight_role::q_proj}};
    j.model = models::qwen3_30b_a3b;
    const byte_count choices = bytes(2) * (n * 2048 * 8), stream = bytes(2) * (n * 2048);
    CHECK(layer_of(j).peak == layer_of(j).saved + stream + choices * 3);
    // Mixtral's scores stay fp32.
    j.model = models::mixtral_8x7b;
    j.model.layers.kinds[0].feed_forward.experts.width = 2048;
    const byte_count two = bytes(2) * (n * 4096 * 2), wide = bytes(2) * (n * 4096);
    CHECK(layer_of(j).peak == layer_of(j).saved + wide + two * 2 * 3 + two);
    // What was saved of the outputs is freed before the cast, where the layer is recomputed.
    const byte_count all = layer_of(j).saved;
    j.recompute = recompute::full;
    CHECK(layer_of(j).peak == all + wide * 2 + two * 2 * 3);
}

TEST_CASE("a gelu of products passes back three gradients of its width, in fp32 under autocast") {
    job j = full();  // activations.py, NewGELUActivation
    j.model = models::gpt2;
    j.runtime = runtimes::huggingface;
    const std::int64_t stream = n * 768, inner = 4 * stream;
    // What the last product read is freed by then: under autocast copies of its input and of its weight.
    CHECK(layer_of(j).peak == layer_of(j).saved - bytes(2 * inner) + bytes(2 * stream) + bytes(3 * 2) * inner);
    j.weights = fp32;
    j.autocast = true;
    const byte_count copies = bytes(2 * inner) + bytes(2 * 768 * 4 * 768);
    CHECK(layer_of(j).peak == layer_of(j).saved - copies + bytes(4 * stream) + bytes(3 * 4) * inner);
}

TEST_CASE("a relu's output is there until the relu is differentiated, though the product that reads it was before") {
    job j = full();  // derivatives.yaml, relu: result; models/opt/modeling_opt.py, OPTDecoderLayer
    j.model = models::opt_1_3b;
    j.runtime = runtimes::huggingface;
    const std::int64_t stream = n * 2048, inner = 4 * stream;
    CHECK(layer_of(j).peak == layer_of(j).saved + bytes(2 * stream) + bytes(2 * 2) * inner);
    // Frozen products do not keep what they read: the relu does.
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::q_proj}};
    CHECK(layer_of(j).peak == layer_of(j).saved + bytes(2 * stream) + bytes(2 * 2) * inner);
}

TEST_CASE("the gradient of the product that reads a relu's output is cast to fp32 beside that output") {
    job j = full();
    j.model = models::opt_1_3b;
    j.runtime = runtimes::huggingface;
    j.weights = fp32;
    j.autocast = true;
    j.recompute = recompute::full;
    const std::int64_t stream = n * 2048, inner = 4 * stream;
    const byte_count cast = bytes(4) * (std::int64_t{4} * 2048 * 2048);
    // The gradients of the layer's output, of what the product read, and of its weight.
    CHECK(layer_of(j).added_peak == layer_of(j).saved + bytes(4 * stream) + bytes(2 * inner) + cast);
}

TEST_CASE("adapters in fp32 beside the product of gate and up: its gradient twice in fp32, and cast for the product") {
    job j = full();
    j.model = models::phi_3_mini_4k;
    j.runtime = runtimes::huggingface;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    const byte_count stream = bytes(2) * (n * 3072);
    const byte_count freed = bytes(3 * 2) * (n * 8192) + bytes(4) * (n * 8192) + bytes(4) * (n * 16);
    CHECK(layer_of(j).peak == layer_of(j).saved - freed + stream + bytes(4 + 4 + 2) * (n * 2 * 8192));
}

TEST_CASE(
    "layers that are computed again keep the masks that their attention reads: one of 16 bits for eager, bytes for a "
    "window") {
    job j = full();
    j.recompute = recompute::full;
    const auto masks = [&](attention_kernel kernel) {
        j.attention = kernel;
        const layout one{};
        const detail::folded_job f{j, one};
        return detail::saved_before_layers(f, placement_of(j, one, 0), {}) - f.ends.before_layers -
               f.ends.rotary_tables;
    };
    CHECK(masks(attention_kernel::eager) == bytes(2) * (n * n));
    CHECK(masks(attention_kernel::sdpa) == byte_count{});
    j.model.layers.kinds[0].attention.window = tokens(1024);
    CHECK(masks(attention_kernel::sdpa) == bytes(n * n));
    CHECK(masks(attention_kernel::flash) == byte_count{});
    j.recompute = recompute::none;
    CHECK(masks(attention_kernel::eager) == byte_count{});
}

TEST_CASE("selective recomputation keeps a Mamba layer's input in fp32, as full recomputation does") {
    job j{.model = models::codestral_mamba_7b,
          .task = task::pretraining,
          .sequence = tokens(n),
          .recompute = recompute::full,
          .runtime = runtimes::torchtitan};
    const layout eight{.tensor = 8};
    const byte_count input = layer_of(j, 0, eight).kept;
    CHECK(input == bytes(4 * n * j.model.hidden));
    j.recompute = recompute::selective;
    CHECK(layer_of(j, 0, eight).kept >= input);
}

TEST_CASE("HQQ's products are PyTorch's own: autograd saves the weights that they expand") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.fp32_stream = false;
    j.weights = nf4;
    const std::int64_t of_nf4 = layer_of(j).saved.in(bytes);
    j.weights = hqq(4, 64);
    // q and o, k and v, gate, up and down of Llama 3.1 8B
    CHECK(layer_of(j).saved.in(bytes)-of_nf4 == 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336));
}

TEST_CASE("fused adapters save the input that they share, and no mask of dropout") {
    job j = full();
    j.autocast = true;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.norm = norm_code::fused;
    j.adapter = {.kind = adapter_kind::lora,
                 .rank = 8,
                 .targets = {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj, weight_role::o_proj},
                 .dropout = 0.1};
    const byte_count modules = layer_of(j).saved;
    j.runtime.kernels.adapters = adapter_code::fused;
    // Four masks, and the products of four A; the input of queries, keys and values. Attention saves its output.
    CHECK(modules - layer_of(j).saved == bytes(n * (4 * 4096 + 4 * 8 * 2 - 2 * 4096)));
    j.adapter.dropout = 0;
    const byte_count without = layer_of(j).saved;
    j.adapter.dropout = 0.1;
    CHECK(layer_of(j).saved - without == bytes(n * 4 * 4096 * 2));  // what it leaves of each input
}

TEST_CASE("a reentrant checkpoint refers to what its layer put out while the layer is differentiated") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.runtime = runtimes::huggingface;
    j.recompute = recompute::full;
    const auto other = layer_of(j);
    j.runtime.kernels.checkpointing.reentrant = true;
    const byte_count output = bytes(2 * n * 4096);
    CHECK(layer_of(j).peak - other.peak == output);
    CHECK(layer_of(j).fresh_peak - other.fresh_peak == output);
    j.recompute = recompute::none;
    CHECK(layer_of(j).peak == [&] {
        j.runtime.kernels.checkpointing.reentrant = false;
        return layer_of(j).peak;
    }());
}

// ---- moments that are set by hand -----------------------------------------------------------------------------------

namespace {

/// Casts of 10 KiB, of which 6 are the feed-forward's, 1 its last matrix's, and 4 of trained weights.
training_state casts_by_hand() {
    training_state s;
    s.casts = {.all = kib(10), .feed_forward = kib(6), .down = kib(1), .cached = kib(4)};
    s.magnitudes = {.other = kib(30), .down = kib(20)};
    return s;
}

}  // namespace

TEST_CASE("copies of trained weights are made for their products; those of frozen ones were made before") {
    job j = full();
    const auto alive = [&](const layer_forward& f, bool stays = true) {
        const training_state state = casts_by_hand();
        return forward_of(f, training_context{j, {}}, state, stays ? state.casts.all : state.casts.cached);
    };
    CHECK(alive({.mixer = kib(100)}) == kib(100 + 10 - 6));
    CHECK(alive({.feed_forward = kib(100)}) == kib(100 + 10 - 1));
    CHECK(alive({.last_product = kib(100)}) == kib(100 + 10));
    CHECK(alive({.last_product = kib(100)}, false) == kib(100 + 4));  // autograd saves none
    CHECK(alive({.beside_magnitudes = kib(1000)}) == kib(10));
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(alive({.mixer = kib(100)}) == kib(110));
    CHECK(alive({.beside_magnitudes = kib(1000)}) == kib(10));
    j.adapter.kind = adapter_kind::dora;
    CHECK(alive({.mixer = kib(500), .beside_magnitudes = kib(100)}) == kib(510));
    CHECK(alive({.beside_magnitudes = kib(100)}) == kib(100 + 30 + 10));
    CHECK(alive({.beside_last_magnitudes = kib(100)}) == kib(100 + 20 + 10));
    CHECK(alive({.beside_magnitudes = kib(95), .beside_last_magnitudes = kib(100)}) == kib(95 + 30 + 10));
}

TEST_CASE("a layer keeps what is neither recomputed nor offloaded of what it saves, or its input and its products") {
    job j = full();
    j.attention = attention_kernel::flash;
    layer_activations a;
    a.sums.saved = {kib(1), kib(2), kib(3), kib(4), kib(5), kib(6)};
    a.sums.parts.recomputed = kib(7), a.sums.parts.offloaded = kib(5);
    a.sums.again.last_product = kib(100);
    a.sums.forward.last_product = kib(200);
    a.checkpoint = kib(50), a.products = kib(9);
    const auto taken = [&] {
        return training_layer_of(j.model.layers.kinds[0], j, {}, training_context{j, {}}, a, casts_by_hand());
    };
    training_layer t = taken();
    CHECK(t.saved == kib(21 + 10));
    CHECK(t.recomputed == kib(110 - 31));
    CHECK(t.kept == kib(31 - 7 - 5));
    CHECK(t.away == kib(5));
    CHECK(t.in_forward == byte_count{});  // not followed
    a.follows_forward = true;
    CHECK(taken().in_forward == kib(210 - 19));
    a.by_product = true;
    CHECK(taken().kept == kib(9));
    a.sums.again.last_product = kib(1);
    CHECK(taken().recomputed == byte_count{});
    j.recompute = recompute::full;
    t = taken();
    CHECK(t.kept == kib(50 + 9));
    CHECK(t.away == byte_count{});
    CHECK(t.in_forward == kib(204));  // nothing of it is counted yet
}

TEST_CASE("layers before the first trained prompt save nothing, on a stage that has them") {
    job j = full();
    j.adapter = {.kind = adapter_kind::llama_adapter, .rank = 10};
    const auto cut = [&](const layout& l) { return cut_off(j, l, training_context{j, l}, kib(5)); };
    CHECK(cut({}) == kib(2 * 5));
    CHECK(cut({.pipeline = 32}) == kib(5));
    j.adapter.kind = adapter_kind::llama_adapter_v2;
    CHECK(cut({}) == byte_count{});
}
