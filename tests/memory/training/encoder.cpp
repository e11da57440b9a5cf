// SPDX-License-Identifier: MIT
// What the encoder takes that a decoder attends to: its layers, and what stands before and behind them.
#include <llmres/memory/training/encoder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/inventory/frozen.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = 128, hidden = 512, inner = 2048;
constexpr std::int64_t matrices = 4 * hidden * hidden + 2 * hidden * inner;  ///< of a layer of T5 small
constexpr layout alone{};

job trained(const model& m = models::t5_small) {
    job j{.model = m, .task = task::pretraining, .weights = bf16, .sequence = tokens(n)};
    j.attention = attention_kernel::eager;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.casts_weights = false;
    j.runtime.kernels.fp32_adapters = false;
    j.runtime.kernels.checkpointing.reentrant = false;
    return j;
}
job adapted(adapter_kind kind) {
    job j = trained();
    j.adapter = {.kind = kind, .rank = 8};
    return j;
}
encoder_memory encoder_of(const job& j) {
    const training_context context{j, alone};
    return encoder_memory_of(j, alone, context, weight_training{j, alone, context}, {});
}
/// A layer of the encoder by itself: it has no mask of its own.
training_layer layer_of(const job& j) {
    training_context context{j, alone};
    const encoder& e = j.model.encoders[0];
    const training_state state = training_state_of(e.block, e.hidden, weight_training{j, alone, context});
    context.tokens = encoder_tokens(e, context);
    context.attention.adds_mask = false;
    return training_layer_of(e.block, j, alone, context, state);
}
job with_layers(job j, std::int32_t layers) {
    j.model.encoders[0].layers = layers;
    return j;
}

}  // namespace

TEST_CASE("each layer of an encoder keeps as much, and what stands beside them is kept once") {
    const training_layer layer = layer_of(trained());
    const encoder_memory six = encoder_of(trained()), one = encoder_of(with_layers(trained(), 1));
    CHECK(six.layers == 6);
    CHECK(one.layers == 1);
    CHECK(six.kept - one.kept == layer.kept * 5);
    CHECK(six.behind == layer.kept * 5);
    CHECK(one.behind == byte_count{});
    CHECK(six.above == layer.fresh_peak - layer.kept);
    CHECK(six.output == bytes(2) * (n * hidden));
    CHECK(six.reads_tokens);
    const byte_count gradients = bytes(2) * (matrices + 2 * hidden);  // and two norms
    CHECK(six.gradients == gradients * 6);
    CHECK(six.first_gradients == gradients);
    CHECK(six.casts == byte_count{});
    // T5's code refers to the embedding before its dropout while the layers pass.
    CHECK(six.forward == layer.in_forward + bytes(2) * (n * hidden));
    job unreferred = trained();
    unreferred.model.architecture = "llama";
    CHECK(encoder_of(unreferred).forward == layer_of(unreferred).in_forward);
}

TEST_CASE("T5's encoder saves its last norm's input, and masks of the dropout around its layers") {
    job j = trained();
    const auto beside = [&] { return encoder_of(j).kept - layer_of(j).kept * 6; };
    const byte_count without = beside();
    j.dropout = true;
    CHECK(beside() - without == bytes(2 * n * hidden));  // before the first layer, and behind the last one
    j = trained();
    j.model.extra_count = 0;  // no norm
    const std::int64_t stream = n * hidden;
    // Its fp32 copy, the input that the root of the mean multiplies, statistics, and what the weight multiplies.
    CHECK(without - beside() == bytes(4 + 2 + 2) * stream + bytes(4 * n));
}

TEST_CASE("autocast keeps casts of all its matrices; of recomputed layers they are no part of the forward pass") {
    job j = trained();
    j.weights = fp32, j.autocast = true;
    const byte_count casts = bytes(2) * matrices;
    CHECK(encoder_of(j).casts == casts * 6);
    CHECK(encoder_of(j).forward == layer_of(j).in_forward + bytes(4) * (n * hidden));
    j.recompute = recompute::full;
    CHECK(encoder_of(j).forward == layer_of(j).in_forward + bytes(4) * (n * hidden) - casts);
}

TEST_CASE("a frozen encoder's first layer saves nothing before its adapters; other kinds stand in the decoder alone") {
    const job lora = adapted(adapter_kind::lora);
    training_context context{lora, alone};
    context.attention.adds_mask = false;
    const encoder& e = lora.model.encoders[0];
    const byte_count unsaved = unsaved_by(e.block, lora, hidden, context, alone);
    const byte_count beside = saved_beside_encoder_layers(lora.model, e, context, alone), each = layer_of(lora).kept;
    CHECK(unsaved > byte_count{});
    CHECK(encoder_of(lora).kept == each * 6 - unsaved + beside);
    CHECK(encoder_of(with_layers(lora, 1)).kept == each - unsaved + beside);
    CHECK(encoder_of(lora).gradients > byte_count{});
    CHECK(encoder_of(adapted(adapter_kind::llama_adapter)).gradients == byte_count{});
}

TEST_CASE("Whisper's encoder has two convolutions before its layers, and tokens of its own") {
    const job j = trained(models::whisper_tiny);
    const encoder_memory e = encoder_of(j);
    CHECK_FALSE(e.reads_tokens);
    CHECK(e.layers == 4);
    CHECK(e.output == bytes(2) * (1500 * 384));
    const byte_count stem = bytes(2) * (384 * (240 + 1152));
    CHECK(e.gradients - e.first_gradients == (e.first_gradients - stem) * 3);
    CHECK(e.forward == layer_of(j).in_forward + bytes(2) * (1500 * 384));
    std::int64_t rows = 0;
    const auto count = [&](const weight& w) { rows += w.rows; };
    for_each_stem_weight(j.model, count);
    CHECK(rows == 2 * 384);
    model behind = j.model;  // a convolution behind the layers is no stem
    behind.extras[1].part = model_part::output;
    rows = 0;
    for_each_stem_weight(behind, count);
    CHECK(rows == 384);
}
