// SPDX-License-Identifier: MIT
#include <llmres/memory/training/peak/forward.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "made_stage.hpp"

using stages::made_stage;
using namespace llmres;
using namespace llmres::detail;

// Stages hold five layers: two of the first kind, then three of the second, and all that stands beside layers.

namespace {

constexpr std::int64_t n = made_stage::sequences * made_stage::length, words = made_stage::words,
                       h = made_stage::hidden;

std::string all_layers(made_stage& m) {
    return m.grows_with([&] { return at_layers_forward(m.in); });
}
std::string layer_pass(made_stage& m, std::size_t kind) {
    return m.grows_with([&] { return at_layer_forward(m.in, kind); });
}
std::string loss_pass(made_stage& m, peak_point point) {
    return m.grows_with([&] { return at_loss(m.in, point); });
}
std::string head_pass(made_stage& m) {
    return m.grows_with([&] { return at_head_backward(m.in); });
}
/// How the casts grow that autocast keeps.
std::string casts(made_stage& m, std::int32_t left_out = 0) {
    return m.grows_with([&] {
        peak_candidate c;
        c.tensors.activations = cached_casts(m.in, left_out);
        return c;
    });
}
/// Weights in fp32, products in 16 bits.
job autocast_job() {
    job j = made_stage::job_of(2);
    j.weights = fp32;
    j.compute = bf16;
    j.autocast = true;
    return j;
}

const std::string in_loss = "; communication: gathered_in_loss";
constexpr auto in_forward = peak_point::loss_forward, in_gradient = peak_point::loss_gradient;

}  // namespace

TEST_CASE(
    "when the last layer is computed there is all that layers and what follows them save, and the input's frame") {
    made_stage m;
    // The code's stream and masks, and the norm's input, which an RMS norm does not keep: it saves an fp32 copy.
    const std::string saved = "activations: saved + after_layers + masks + loss.saved + 2 residual";
    CHECK(all_layers(m) == "activations: saved + after_layers + masks + loss.saved + 2 residual" + in_loss);
    m.in.accumulates = true;
    CHECK(all_layers(m) == "gradients: gradients; " + saved + in_loss);
}

TEST_CASE("of a kind's last layer in forward: what layers behind it save is not there yet") {
    made_stage m;
    const std::string frames = "masks + residual";
    CHECK(layer_pass(m, 1) == "activations: second.in_forward + saved + " + frames + in_loss);
    CHECK(layer_pass(m, 0) == "activations: first.in_forward - 3 second.kept + saved + " + frames + in_loss);
    m.in.accumulates = m.stage.saved.moves = true;
    CHECK(layer_pass(m, 0) == "gradients: gradients; activations: first.in_forward + saved + " + frames + in_loss);
    m.stage.saved.each = mib(3);  // one of the two layers on the GPU is this one
    CHECK(layer_pass(m, 0) ==
          "gradients: gradients; activations: first.kept + first.in_forward + saved - each + " + frames + in_loss);
    m.stage.saved.each = {};
    m.in.accumulates = m.stage.saved.moves = false;
    // With every fourth layer recomputed, the second and the fifth layer keep all that they save. The first layer's
    // input is a checkpoint, and layers make their masks themselves.
    m.folded.context.recomputes = true;
    m.asked.recompute_every = 4;
    CHECK(layer_pass(m, 0) == "activations: -3 second.kept + saved" + in_loss);
    CHECK(layer_pass(m, 1) == "activations: saved" + in_loss);
    m.asked.recompute_every = 5;
    CHECK(layer_pass(m, 1) == "activations: second.in_forward + saved" + in_loss);
    // Where kinds take turns, one of the first kind follows the second kind's last layer.
    job mixed = made_stage::job_of(2);
    const layer one = mixed.model.layers.kinds[0], other = mixed.model.layers.kinds[1];
    mixed.model.layers = layer_stack{}.then(1, one).then(2, other).then(1, one);
    made_stage turns{mixed};
    CHECK(layer_pass(turns, 1) == "activations: -first.kept + second.in_forward + saved + " + frames + in_loss);
    CHECK(layer_pass(turns, 0) == "activations: first.in_forward + saved + " + frames + in_loss);
    made_stage alike{1};
    CHECK(layer_pass(alike, 0) == "activations: first.in_forward + saved + " + frames + in_loss);
}

TEST_CASE("autocast keeps the cast of a trained weight to the end of the loss, where autograd does not") {
    made_stage m{autocast_job()};
    CHECK(casts(m).empty());  // saved by autograd, which is counted there
    m.asked.recompute = recompute::full;
    m.stage.encoder.casts = mib(1);
    CHECK(casts(m) == "activations: 2 first.casts + 3 second.casts + encoder.casts");
    CHECK(casts(m, 1) == "activations: 2 first.casts + 2 second.casts + encoder.casts");
    CHECK(casts(m, 4) == "activations: first.casts + encoder.casts");
    // The second and the fourth layer are recomputed, the others save their casts.
    m.asked.recompute_every = 2;
    CHECK(casts(m) == "activations: first.casts + second.casts + encoder.casts");
    m.asked.recompute_every = 1;
    m.stage.holds.layers = {1, 4};
    CHECK(casts(m) == "activations: first.casts + 2 second.casts + encoder.casts");
    m.stage.holds.layers = {0, 5};
    m.folded.context.autocast = false;
    CHECK(casts(m).empty());
    m.folded.context.autocast = true;
    // By operation: an encoder is not recomputed.
    m.asked.recompute = recompute::selective;
    m.asked.recompute_modules = {layer_part::core_attn};
    m.asked.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(casts(m) == "activations: 2 first.casts + 3 second.casts");
    m.asked.recompute_every = 2;  // means nothing here
    CHECK(casts(m) == "activations: 2 first.casts + 3 second.casts");
    // What is saved leaves for main memory: of two layers both stay.
    m.asked.recompute = recompute::none;
    CHECK(casts(m).empty());
    m.asked.offload.activations = offload_place::host;
    CHECK(casts(m) == "activations: 2 first.casts + 3 second.casts");
    m.stage.holds.layers = {0, 2};
    CHECK(casts(m).empty());
    m.stage.holds.layers = {0, 3};
    CHECK(casts(m) == "activations: 2 first.casts + second.casts");
    m.stage.holds.layers = {0, 5};
    m.asked.recompute = recompute::full;  // whole, and moved: whichever is recomputed
    CHECK(casts(m) == "activations: 2 first.casts + 3 second.casts + encoder.casts");
    m.asked.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;  // cast inside an operation
    m.asked.compute = fp8_e4m3;
    CHECK(linear_arithmetic_of(m.asked) == arithmetic_kind::fp8);
    CHECK(casts(m).empty());
}

TEST_CASE("a layer's own casts are in its forward pass: autocast has kept those of the layers before it") {
    made_stage m{autocast_job()};
    m.asked.recompute = recompute::full;
    m.folded.context.recomputes = true;
    // Of the five layers the last makes its own, and of the first kind's last one layer is before it.
    CHECK(layer_pass(m, 1) == "activations: 2 first.casts + 2 second.casts + second.in_forward + saved" + in_loss);
    CHECK(layer_pass(m, 0) == "activations: first.casts + first.in_forward - 3 second.kept + saved" + in_loss);
    // The head makes its cast of the table after that: 2 bytes a weight that its output is saved with are not there
    // yet. The final norm reads fp32, and keeps it.
    const auto activations = [&] { return m.now([&] { return at_layers_forward(m.in); }).tensors.activations; };
    const byte_count saved = m.stage.saved.all + m.folded.ends.after_layers + m.folded.ends.loss.saved;
    CHECK(activations() == saved + mib(2 + 3) - bytes(2) * (words * h));
    m.cut.tensor = 4;
    CHECK(activations() == saved + mib(2 + 3) - bytes(2) * (words / 4 * h));
    m.asked.model.vocabulary = 0;
    CHECK(activations() == saved + mib(2 + 3));
}

TEST_CASE("the code's frames: embeddings before their sum, masks, tables that are moved, and a bias of the scores") {
    made_stage m;
    const auto frames = [&] { return model_frames(m.in); };
    m.folded.ends.masks = bytes(3);
    m.folded.ends.rotary_tables = bytes(5);
    m.in.residual = bytes(1000);
    CHECK(frames() == bytes(1003));  // the first layer's input
    m.code.frames.embeddings = 2;
    CHECK(frames() == bytes(2003));
    m.code.frames.shared_positions = true;  // GPT-2's are of one sequence
    CHECK(frames() == bytes(1003) + div_up(bytes(1000), made_stage::sequences));
    m.code.frames.shared_positions = false;
    m.folded.context.frozen = true;
    CHECK(frames() == bytes(2003));
    m.folded.context.recomputes = true;  // one of them is a leaf, and layers make their masks themselves
    CHECK(frames() == bytes(1000));
    m.folded.context.frozen = false;
    CHECK(frames() == bytes(2000));
    m.code.frames.embeddings = 0;  // the first checkpoint
    CHECK(frames() == byte_count{});
    m.folded.context.recomputes = false;
    // Saved tensors that go to main memory take the tables along, which the code still refers to on the first stage.
    m.asked.offload.activations = offload_place::host;
    CHECK(frames() == bytes(1008));
    m.stage.first = false;
    CHECK(frames() == bytes(1003));
    m.stage.first = true;
    m.asked.offload.activations = offload_place::none;
    // Where the first norm keeps its input, autograd has it.
    m.asked.runtime.kernels.norm = norm_code::fused;
    CHECK(frames() == bytes(3));
    m.asked.offload.activations = offload_place::host;  // and on its way out, the code has it again
    CHECK(frames() == bytes(1008));
    m.asked.offload.activations = offload_place::none;
    m.asked.runtime.kernels.norm = norm_code::eager;
    // A bias of every head and pair of tokens, and of the eager kernel, one for the encoder's tokens.
    m.code.attention.biased_scores = true;
    m.folded.context.encoder_tokens = 128;
    m.folded.context.attention.kernel = attention_kernel::sdpa;
    const byte_count pairs = bytes(2) * (made_stage::heads * made_stage::length * made_stage::length);
    CHECK(frames() == bytes(1003) + pairs);
    m.folded.context.attention.kernel = attention_kernel::eager;
    CHECK(frames() == bytes(1003) + pairs + bytes(2) * (made_stage::heads * made_stage::length * 128));
    m.folded.context.recomputes = true;
    CHECK(frames() == byte_count{});
}

TEST_CASE("post-norm layers in 16 bits under autocast: the stream that the code refers to is of 16 bits and of fp32") {
    job j = autocast_job();
    j.model.layers = {4,
                      {.attention = {.heads = 4, .kv_heads = 4, .head_dim = 64},
                       .feed_forward = {.width = 1024},
                       .norm = norm_kind::layer}};
    made_stage m{j};
    m.folded.context.formats.fp32_stream = false;
    m.in.residual = bytes(1000);
    m.folded.ends.masks = byte_count{};
    m.code.frames.embeddings = 1;
    CHECK(model_frames(m.in) == bytes(1000));
    m.code.norms.after_sum = true;
    CHECK(model_frames(m.in) == bytes(2000));
    m.folded.context.formats.fp32_stream = true;
    CHECK(model_frames(m.in) == bytes(1000));
    m.folded.context.formats.fp32_stream = false;
    m.folded.context.autocast = false;  // which computes layer norms in fp32
    CHECK(model_frames(m.in) == bytes(1000));
}

TEST_CASE("the final norm: its input, unless it keeps that, and an eager RMS norm's product in fp32") {
    made_stage m;
    m.in.residual = bytes(1000);
    const byte_count product = bytes(4) * (n * h);
    CHECK(at_final_norm(m.in) == bytes(1000) + product);
    m.asked.runtime.kernels.norm = norm_code::fused;  // keeps its input
    CHECK(at_final_norm(m.in) == byte_count{});
    m.asked.runtime.kernels.norm = norm_code::eager;
    m.code.norms.after_sum = true;  // the last layer's own norm is the last
    CHECK(at_final_norm(m.in) == byte_count{});
    m.code.norms = {.form = norm_form::wide_kernel};
    m.asked.model.final_norm = norm_kind::layer;
    CHECK(at_final_norm(m.in) == bytes(1000));
}

TEST_CASE("the encoder's output is held through the forward pass where autograd does not keep it") {
    made_stage m{autocast_job()};
    m.folded.context.encoder_tokens = 128;
    const byte_count output = bytes(4) * (made_stage::sequences * 128 * h);  // fp32, as weights are
    CHECK(encoder_output(m.in) == output);
    CHECK(at_encoder_forward(m.in).tensors.activations == byte_count{});
    const byte_count without = model_frames(m.in), at_the_loss = loss_frames(m.in);
    m.asked.model.encoders[0].layers = 1;
    CHECK(model_frames(m.in) == without + output);
    CHECK(loss_frames(m.in) == at_the_loss + output);
    m.folded.context.autocast = false;  // every layer's keys and values are made of it
    CHECK(encoder_output(m.in) == byte_count{});
    m.folded.context.frozen = true;
    CHECK(encoder_output(m.in) == output);
    m.folded.context.recomputes = true;
    CHECK(encoder_output(m.in) == byte_count{});
    // Its own layers.
    encoder_memory& e = m.stage.encoder;
    e.kept = e.forward = e.casts = e.above = mib(1);
    const auto encodes = [&] { return m.grows_with([&] { return at_encoder_forward(m.in); }); };
    CHECK(encodes() == "activations: encoder.kept + encoder.forward + encoder.casts" + in_loss);
    m.folded.context.recomputes = false;
    CHECK(encodes() == "activations: encoder.kept + encoder.forward" + in_loss);
    m.in.accumulates = true;
    CHECK(encodes() == "gradients: gradients; activations: encoder.kept + encoder.forward" + in_loss);
}

TEST_CASE("the loss, and its gradient: all that the layers save, but for what is freed before, and the logits") {
    made_stage m;
    m.stage.weights.prediction.logits = mib(1);
    const std::string saved = "activations: saved - not_at_loss + after_layers + loss.saved";
    CHECK(loss_pass(m, in_forward) == saved + "; logits: loss.kept + loss.forward + prediction.logits" + in_loss);
    CHECK(loss_pass(m, in_gradient) ==
          saved + "; logits: loss.kept + loss.gradient + loss.held + prediction.logits" + in_loss);
    m.in.accumulates = true;
    CHECK(loss_pass(m, in_gradient).starts_with("gradients: gradients; activations: saved - "));
    // Casts live as long as autocast's context, which the loss is in.
    made_stage cast{autocast_job()};
    cast.asked.recompute = recompute::full;
    CHECK(loss_pass(cast, in_forward).starts_with("activations: 2 first.casts + 3 second.casts + saved"));
    CHECK(loss_pass(cast, in_gradient).starts_with("activations: saved"));
}

TEST_CASE("the loss is computed beside what the head read, where autograd keeps no such tensor") {
    made_stage m;
    CHECK(loss_frames(m.in) == byte_count{});
    m.folded.context.frozen = true;  // no gradient of the head needs it
    CHECK(loss_frames(m.in) == bytes(2) * (n * h));
    CHECK(m.now([&] { return at_loss(m.in, in_forward); }).tensors.activations -
              m.now([&] { return at_loss(m.in, in_gradient); }).tensors.activations ==
          bytes(2) * (n * h));
    m.asked.runtime.kernels.loss.code = loss_code::fused_linear;
    CHECK(loss_frames(m.in) == byte_count{});
    m.asked.runtime.kernels.loss.code = loss_code::eager;
    m.asked.model.vocabulary = 0;  // no head
    CHECK(loss_frames(m.in) == byte_count{});
    made_stage cast{autocast_job()};  // an fp32 norm, of which the head reads a cast
    cast.folded.context.formats.stream_is_compute = false;
    CHECK(loss_frames(cast.in) > byte_count{});
}

TEST_CASE("a frozen head reads a cast of the norm's fp32 output, which is gone when the loss is computed") {
    made_stage m{autocast_job()};
    m.folded.context.formats.stream_is_compute = false;
    m.stage.weights.prediction.logits = mib(1);
    m.folded.ends.loss.kept = m.folded.ends.loss.forward = byte_count{};  // logits are few beside the cast
    const auto at_the_loss = [&] { return m.now([&] { return at_loss(m.in, in_forward); }).tensors; };
    const auto fullest = [&] { return m.now([&] { return at_loss_forward(m.in); }).tensors; };
    const byte_count cast = bytes(2) * (n * h);
    CHECK(fullest().all() == at_the_loss().all());  // a trained head keeps what it reads
    m.folded.context.frozen = true;
    CHECK(fullest().activations == at_the_loss().activations + cast);
    CHECK(fullest().logits == bytes(2) * (n * words) + mib(1));
    m.cut.tensor = 4;
    CHECK(fullest().logits == bytes(2) * (n * (words / 4)) + mib(1));
    m.folded.ends.loss.forward = gib(64);  // of many logits the loss holds more
    CHECK(fullest().all() == at_the_loss().all());
    m.folded.ends.loss.forward = byte_count{};
    m.asked.runtime.kernels.loss.code = loss_code::chunked;  // a part of the tokens at a time
    CHECK(fullest().all() == at_the_loss().all());
}

TEST_CASE("the head in backward: the logits' gradient, and the head's own as it comes") {
    made_stage m;
    m.stage.weights.prediction.logits = mib(1);
    const std::string saved = "activations: saved - not_at_loss + after_layers + loss.saved";
    const std::string logits = "; logits: loss.head + loss.held + prediction.logits";
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + in_loss);
    m.in.shards_by_parameter = true;  // FSDP2 scatters a whole gradient
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + in_loss + " + output.gathered");
    m.in.shards_by_parameter = false;
    m.in.shards_tensors = true;  // DeepSpeed reduces it
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + in_loss + " + output.gradient");
    m.in.shards_tensors = false;
    // An optimizer that steps in the backward pass frees it at once.
    m.asked.optimizer.in_backward = true;
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + " + output.gradient" + in_loss);
    m.asked.model.tied_head = true;
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + " + input.gradient" + in_loss);
    // A frozen head has none.
    m.in.shards_tensors = m.in.shards_by_parameter = m.folded.context.frozen = true;
    CHECK(head_pass(m) == "gradients: head_gradients; " + saved + logits + in_loss);
    made_stage fused;  // the product adds to a buffer, by way of one tensor
    fused.asked.runtime.kernels.linear = linear_code::accumulates;
    fused.in.accumulates = true;
    fused.folded.micro_batches = 2;
    CHECK(head_pass(fused) ==
          "gradients: gradients; " + saved + "; logits: loss.head + loss.held + ends.largest" + in_loss);
}

TEST_CASE("a head's gradient is made beside that of earlier micro-batches") {
    made_stage m;
    const auto logits = [&] { return m.now([&] { return at_head_backward(m.in); }).tensors.logits; };
    const byte_count alone = logits(), made = bytes(2) * (words * h);
    m.folded.micro_batches = 2;
    CHECK(logits() == alone + made);
    m.cut.tensor = 4;
    CHECK(logits() == alone + bytes(2) * (words / 4 * h));
    m.cut = {.zero = 1};
    CHECK(logits() == alone + made);
    m.cut = {.zero = 2};
    CHECK(logits() == alone);
    m.cut = {};
    m.asked.model.vocabulary = 0;
    CHECK(logits() == alone);
    m.asked.model.vocabulary = words;
    m.folded.context.frozen = true;
    CHECK(logits() == alone);
    m.folded.context.frozen = false;
    m.asked.runtime.kernels.linear = linear_code::accumulates;
    CHECK(logits() == alone + mib(1));  // which the product adds to a buffer, by way of one tensor
}

TEST_CASE("under autocast a head's gradient is cast to fp32 when the logits' is freed: they are not alive together") {
    made_stage m{autocast_job()};
    const byte_count in_16_bits = bytes(2) * (words * h), in_fp32 = bytes(4) * (words * h);
    const auto at_head = [&] { return m.now([&] { return at_head_backward(m.in); }).tensors; };
    m.in.head_gradients = in_fp32;
    const byte_count head_gradients = m.folded.ends.loss.head;
    // Logits are the larger part: the gradient is of 16 bits while they live.
    CHECK(at_head().gradients == in_16_bits);
    CHECK(at_head().logits == head_gradients + mib(1));
    m.in.head_gradients = in_16_bits - bytes(1);  // an optimizer that steps in the backward pass keeps none
    CHECK(at_head().gradients == in_16_bits - bytes(1));
    m.in.head_gradients = in_fp32;
    m.folded.ends.loss.head = in_16_bits - bytes(1);  // or the cast is, when they are gone
    CHECK(at_head().gradients == in_fp32);
    CHECK(at_head().logits == mib(1));
    m.cut.zero = 2;
    CHECK(at_head().logits == mib(1) + in_16_bits - bytes(1));
    m.cut.zero = 0;
    // Beside the gradient of earlier micro-batches: 16 bits with the logits, or the cast without them.
    m.in.accumulates = true;
    m.folded.micro_batches = 2;
    m.folded.ends.loss.head = in_fp32;
    CHECK(at_head().logits == in_fp32 + mib(1) + in_16_bits);
    m.folded.ends.loss.head = bytes(1);
    m.folded.ends.loss.held = bytes(1);
    CHECK(at_head().logits == in_fp32);
    CHECK(at_head().gradients == mib(100));
}

TEST_CASE("a chunked loss adds one part's gradient of the head to the sum of the others") {
    made_stage m;
    m.asked.runtime.kernels.loss.code = loss_code::chunked;
    m.asked.runtime.kernels.loss.chunks = 8;
    m.asked.runtime.kernels.loss.chunk_tokens = 0;
    m.stage.weights.ends.largest = kib(64);
    CHECK(head_pass(m).ends_with("; logits: loss.head + loss.held + ends.largest; communication: gathered_in_loss"));
    // The first sum is made when the gradients of two parts' logits are gone: six of eight parts' stay.
    m.stage.weights.ends.largest = mib(3);
    const auto at_head = [&] { return m.now([&] { return at_head_backward(m.in); }).tensors; };
    const byte_count six = bytes(mib(10).in(bytes) / 8 * 6);
    CHECK(at_head().logits == six + mib(3) * 2);
    CHECK(at_head().communication == mib(1));  // what ranks gather, and nothing else
    CHECK(at_head().gradients == mib(1));
    m.stage.weights.prediction.logits = mib(1);
    CHECK(at_head().logits == six + mib(3) * 2 + mib(1));
    m.asked.runtime.kernels.loss.chunks = 2;  // none stay
    CHECK(at_head().logits == mib(10) + mib(1) + mib(1) + mib(3));
    m.stage.weights.ends.largest = mib(11);
    CHECK(at_head().logits == mib(1) + mib(11) * 2);
    // Under autocast the gradient is of 16 bits until the last sum.
    made_stage cast{autocast_job()};
    cast.asked.runtime.kernels.loss = m.asked.runtime.kernels.loss;
    cast.stage.weights.ends.largest = mib(11);
    cast.in.head_gradients = mib(4);
    CHECK(cast.now([&] { return at_head_backward(cast.in); }).tensors.gradients == mib(2));
}

TEST_CASE("an optimizer that steps in the backward pass updates the head when the logits are gone") {
    made_stage m;
    m.stage.weights.prediction.logits = mib(1);
    CHECK(m.grows_with([&] { return at_head_step(m.in); }) ==
          "gradients: head_gradients; activations: saved - not_at_loss + after_layers + loss.saved + residual; "
          "logits: loss.held; communication: gathered_in_loss; scratch: output.step");
}

TEST_CASE("a naive pipeline's first GPU gets the logits in 16 bits, and casts them to fp32") {
    made_stage m;
    CHECK(m.grows_with([&] { return at_logits_returned(m.in); }) == "activations: saved" + in_loss);
    const auto logits = [&] { return at_logits_returned(m.in).tensors.logits; };
    CHECK(logits() == bytes(2 + 4) * (n * words));
    m.in.accumulates = true;
    CHECK(at_logits_returned(m.in).tensors.gradients == m.stage.weights.all.gradients.kept);
    m.folded.context.formats.fp32_compute = true;
    CHECK(logits() == bytes(2) * (n * words));  // no further copy
}
