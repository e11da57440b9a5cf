// SPDX-License-Identifier: MIT
#include <llmres/memory/training/peak/backward.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/sharding.hpp>
#include <string>

#include "made_stage.hpp"

using stages::made_stage;
using namespace llmres;
using namespace llmres::detail;

// Stages hold five layers: two of the first kind, then three of the second. In the comments a term of a candidate is
// derived from what autograd has freed and made by then.

namespace {

std::string backward(made_stage& m, peak_point point, std::size_t kind) {
    return m.grows_with([&] { return at_layer_backward(m.in, point, kind); });
}
std::string at_recomputation(made_stage& m, peak_point point, std::size_t kind) {
    return m.grows_with([&] { return at_adapter_recomputation(m.in, point, kind); });
}
byte_count gradients_at_embedding(made_stage& m) {
    return m.now([&] { return at_embedding_gradient(m.in); }).tensors.gradients - m.stage.weights.all.gradients.kept;
}

constexpr auto last = peak_point::last_layer_backward, first = peak_point::first_layer_backward;
constexpr auto last_again = peak_point::last_adapter_recomputation,
               first_again = peak_point::first_adapter_recomputation;
const std::string in_backward = "; communication: backward_communication; other streams: streams";

/// A model that reads its embedding as its head: gradients in bf16.
constexpr byte_count table = bytes(2) * (made_stage::words * made_stage::hidden);

}  // namespace

TEST_CASE("the optimizer's step has all gradients and states, what it makes, and buffers that are always there") {
    made_stage m;
    CHECK(m.grows_with([&] { return at_optimizer_step(m.in); }) ==
          "gradients: gradients; optimizer: states; communication: resident; scratch: stepping");
}

TEST_CASE("a kind's last layer in backward: later layers have their gradients, and what they saved is freed") {
    made_stage m;
    // Nothing follows the second kind but the head.
    CHECK(backward(m, last, 1) ==
          "gradients: head_gradients; activations: -second.kept + second.fresh_peak + saved" + in_backward);
    // The three layers of the second kind follow the first kind.
    CHECK(backward(m, last, 0) ==
          "gradients: 3 second.gradients + head_gradients; "
          "activations: -first.kept + first.fresh_peak - 3 second.kept + saved" +
              in_backward);
    m.stage.saved.moves = true;  // what layers save was never in the sum
    CHECK(backward(m, last, 0) ==
          "gradients: 3 second.gradients + head_gradients; activations: -first.kept + first.fresh_peak + saved" +
              in_backward);
    // One of the two layers on the GPU is this one, though the widest kind's were counted.
    m.stage.saved.each = mib(3);
    CHECK(backward(m, last, 0) ==
          "gradients: 3 second.gradients + head_gradients; activations: first.fresh_peak + saved - each" + in_backward);
    // Where kinds take turns, one of the first kind follows the second kind's last layer.
    job mixed = made_stage::job_of(2);
    const layer one = mixed.model.layers.kinds[0], other = mixed.model.layers.kinds[1];
    mixed.model.layers = layer_stack{}.then(1, one).then(2, other).then(1, one);
    made_stage turns{mixed};
    CHECK(backward(turns, last, 1) ==
          "gradients: first.gradients + head_gradients; "
          "activations: -first.kept - second.kept + second.fresh_peak + saved" +
              in_backward);
    made_stage alike{1};
    CHECK(backward(alike, last, 0) ==
          "gradients: head_gradients; activations: -first.kept + first.fresh_peak + saved" + in_backward);
}

TEST_CASE("a kind's first layer in backward: it and those before it keep theirs, and all behind it have gradients") {
    made_stage m;
    // Two layers of the first kind stand before the second one's first, whose own gradients are in its peak.
    CHECK(
        backward(m, first, 1) ==
        "gradients: 2 second.gradients + head_gradients; activations: 2 first.kept + second.fresh_peak + before - cut" +
            in_backward);
    CHECK(backward(m, first, 0) ==
          "gradients: first.gradients + 3 second.gradients + head_gradients; activations: first.fresh_peak + before" +
              in_backward);
    m.stage.saved.moves = true;
    CHECK(backward(m, first, 1) ==
          "gradients: 2 second.gradients + head_gradients; activations: second.fresh_peak + before" + in_backward);
    // Of layers that are alike, the first keeps what is not cut from it, at least nothing.
    made_stage alike{1};
    alike.layers[0].kept = mib(3);
    CHECK(backward(alike, first, 0) ==
          "gradients: 3 first.gradients + head_gradients; activations: first.fresh_peak + before - cut" + in_backward);
    alike.stage.saved.cut = mib(4);
    CHECK(backward(alike, first, 0) ==
          "gradients: 3 first.gradients + head_gradients; activations: -first.kept + first.fresh_peak + before" +
              in_backward);
}

TEST_CASE("gradients that exist already stay as they are, and no more are counted than a stage has") {
    made_stage m;
    m.in.accumulates = true;
    CHECK(backward(m, last, 1) ==
          "gradients: gradients; activations: -second.kept + second.peak + saved" + in_backward);
    m.in.adds_gradients = true;
    CHECK(backward(m, last, 1) ==
          "gradients: gradients; activations: -second.kept + second.added_peak + saved" + in_backward);
    made_stage bucketed;  // gradients that go to the host do not add up
    bucketed.stage.weights.all.gradients.kept = mib(2);
    CHECK(backward(bucketed, last, 0) ==
          "gradients: gradients; activations: -first.kept + first.fresh_peak - 3 second.kept + saved" + in_backward);
    bucketed.folded.context.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(at_recomputation(bucketed, last_again, 0).starts_with("gradients: gradients; "));
    bucketed.stage.weights.all.gradients.kept = mib(5);
    CHECK(at_recomputation(bucketed, last_again, 0).starts_with("gradients: 3 second.gradients + head_gradients; "));
    bucketed.in.accumulates = true;
    CHECK(at_recomputation(bucketed, last_again, 0).starts_with("gradients: gradients; "));
}

TEST_CASE(
    "an optimizer that steps in the backward pass has its temporaries beside each layer, and no gradients to sum") {
    made_stage m;
    m.in.steps_in_backward = true;
    const std::string stepped = "; communication: gathered_in_backward; scratch: ";
    CHECK(backward(m, last, 1) == "gradients: head_gradients; activations: -second.kept + second.fresh_peak + saved" +
                                      stepped + "second.step; other streams: streams");
    // Behind the layers the last kind's are still there.
    CHECK(m.grows_with([&] { return at_embedding_gradient(m.in); }) ==
          "gradients: gradients; activations: residual" + stepped + "second.step; other streams: streams");
    m.stage.holds.counts[1] = 0;
    CHECK(m.grows_with([&] { return at_embedding_gradient(m.in); }) ==
          "gradients: gradients; activations: residual" + stepped + "first.step; other streams: streams");
}

TEST_CASE("FSDP1 gathers the unit of the layer before ahead, of which the first layer has none") {
    made_stage m;
    m.in.ahead_in_backward = mib(1);
    const std::string without = "; communication: backward_communication - ahead; other streams: streams; free: ahead";
    for (const peak_point point : {last, first}) CHECK(backward(m, point, 1).ends_with(in_backward));
    CHECK(backward(m, last, 0).ends_with(in_backward));
    CHECK(backward(m, first, 0).ends_with(without));
    CHECK(at_recomputation(m, last_again, 0).ends_with(in_backward));
    CHECK(at_recomputation(m, first_again, 1).ends_with(in_backward));
    CHECK(at_recomputation(m, first_again, 0).ends_with(without));
    m.stage.encoder.layers = 1;  // its last layer is before the decoder's first
    CHECK(backward(m, first, 0).ends_with(in_backward));
    // Where each trained matrix is a unit, the one ahead is of the same layer.
    m.asked.runtime.sharding.adapted_layers = adapted_layer_units::by_trained_matrix;
    m.folded.context.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(backward(m, last, 1).ends_with(in_backward));
    m.folded.context.frozen = true;
    CHECK(backward(m, last, 1).ends_with(without));
    m.folded.context.adapter = {.kind = adapter_kind::llama_adapter, .rank = 8};
    CHECK(backward(m, last, 1).ends_with(in_backward));
    // A stage whose first layer is of the second kind.
    made_stage later;
    later.in.ahead_in_backward = mib(1);
    later.stage.holds.layers = {2, 5};
    CHECK(backward(later, first, 1).ends_with(without));
}

TEST_CASE("gradients of a unit of frozen and trained weights are joined when the layer's activations are gone") {
    made_stage m;
    m.cut = {.data = 4, .zero = 3};
    m.asked.runtime.sharding = {.code = sharding_code::fsdp1};
    CHECK(joined_gradients(m.in) == byte_count{});
    m.folded.context.frozen = true;
    CHECK(m.grows_with([&] { return joined_gradients(m.in); }) == "2 unit");
    const auto at_last = [&] { return m.now([&] { return at_layer_backward(m.in, last, 1); }).tensors; };
    CHECK(at_last().activations == m.stage.saved.all + m.in.residual);
    CHECK(at_last().communication == m.in.backward_communication + joined_gradients(m.in));
    m.layers[1].peak = m.layers[1].fresh_peak = m.layers[1].added_peak = mib(10);  // more than joined gradients
    CHECK(at_last().communication == m.in.backward_communication);
    m.asked.runtime.sharding.adapted_layers = adapted_layer_units::by_trained_matrix;
    CHECK(joined_gradients(m.in) == byte_count{});
}

TEST_CASE("a recomputed layer with adapters: all that it saves, what its adapters make, and its output's gradient") {
    made_stage m;
    CHECK(at_recomputation(m, last_again, 1) ==
          "gradients: head_gradients; "
          "activations: second.saved - second.kept + second.checkpoint + second.recomputed + saved" +
              in_backward);
    CHECK(at_recomputation(m, first_again, 0) ==
          "gradients: first.gradients + 3 second.gradients + head_gradients; "
          "activations: first.saved + first.checkpoint + first.recomputed + before" +
              in_backward);
}

TEST_CASE("FSDP1 keeps the gradients of reentrant checkpoints' inputs, but for the first layer's and the last one's") {
    made_stage m;
    const std::string once = backward(m, first, 0);
    m.in.shards_weights = m.folded.context.frozen = true;
    m.asked.runtime.sharding.code = sharding_code::fsdp1;
    m.asked.runtime.kernels.checkpointing.reentrant = true;
    m.asked.recompute = recompute::full;
    const auto keeps = [&] {
        const std::string told = backward(m, first, 0);
        // Of five layers three, and all checkpoints are there, too: autograd's nodes refer to them.
        if (told.find("activations: 3 first.checkpoint + first.fresh_peak - first.kept + saved") != told.npos ||
            told.find("activations: -first.kept + 3 first.checkpoint + first.fresh_peak + saved") != told.npos)
            return true;
        CHECK(told == once);
        return false;
    };
    CHECK(keeps());
    // The next layer's is the gradient of the first one's output.
    CHECK(at_recomputation(m, first_again, 0) ==
          "gradients: first.gradients + 3 second.gradients + head_gradients; "
          "activations: first.saved - first.kept + 3 first.checkpoint + first.recomputed + saved" +
              in_backward);
    CHECK(at_recomputation(m, last_again, 1) ==
          "gradients: head_gradients; "
          "activations: second.saved - second.kept + second.checkpoint + second.recomputed + saved" +
              in_backward);
    const auto not_with = [&](auto& setting, const auto other) {
        const auto was = setting;
        setting = other;
        CHECK_FALSE(keeps());
        setting = was;
    };
    not_with(m.in.shards_weights, false);
    not_with(m.folded.context.frozen, false);
    not_with(m.asked.runtime.sharding.code, sharding_code::fsdp2);
    not_with(m.asked.runtime.kernels.checkpointing.reentrant, false);
    not_with(m.asked.runtime.kernels.checkpointing.inside_units, true);
    not_with(m.asked.recompute, recompute::selective);
    CHECK(keeps());
    // Of two layers one is the first and one the last.
    m.stage.holds.layers = {0, 2};
    CHECK_FALSE(keeps_input_gradients(m.in));
    m.stage.holds.layers = {0, 3};
    CHECK(keeps_input_gradients(m.in));
}

TEST_CASE(
    "the final norm in backward: the head's gradient, all that was saved, and no logits but those that are held") {
    made_stage m;
    m.stage.weights.prediction.logits = mib(1);
    const auto norm = [&] { return m.grows_with([&] { return at_final_norm_backward(m.in); }); };
    const std::string rest =
        "; activations: saved - not_at_loss + norm_backward; logits: loss.held + prediction.logits; "
        "communication: gathered_in_loss";
    CHECK(norm() == "gradients: head_gradients" + rest);
    m.in.head_gradients = mib(101);  // more than the stage keeps
    CHECK(norm() == "gradients: gradients" + rest);
    m.in.head_gradients = mib(1);
    m.in.accumulates = true;
    CHECK(norm() == "gradients: gradients" + rest);
}

TEST_CASE("the embedding's gradient is the last: no layer's activations, and DeepSpeed gathers nothing ahead") {
    made_stage m;
    m.in.gathered.last = mib(1);
    const auto embedding = [&] { return m.grows_with([&] { return at_embedding_gradient(m.in); }); };
    CHECK(embedding() ==
          "gradients: gradients; activations: residual; communication: backward_communication + gathered.last; "
          "other streams: streams");
    m.in.shards_tensors = true;
    m.stage.zero.joined = mib(1);
    CHECK(embedding() ==
          "gradients: gradients; activations: residual; "
          "communication: resident + zero.joined + input.gathered + input.gradient; other streams: streams");
}

TEST_CASE("a tied table's two gradients: autograd adds them out of place, or in place where the first is a cast") {
    made_stage m;
    CHECK(gradients_at_embedding(m) == byte_count{});
    m.asked.model.tied_head = true;
    CHECK(gradients_at_embedding(m) == table * 2);  // the embedding's and the sum, beside the head's
    CHECK(waiting_gradient(m.in) == byte_count{});
    m.asked.runtime.kernels.loss.code = loss_code::chunked;  // the head's is a sum already
    CHECK(gradients_at_embedding(m) == table);
    m.asked.runtime.kernels.loss.code = loss_code::eager;
    // That of earlier micro-batches stands beside the sum, and the head's waits until both are added to it.
    m.folded.micro_batches = 2;
    CHECK(gradients_at_embedding(m) == table * 3);
    CHECK(waiting_gradient(m.in) == table);
    const byte_count all = m.stage.weights.all.gradients.kept;
    m.in.accumulates = true;
    CHECK(m.now([&] { return at_final_norm_backward(m.in); }).tensors.gradients == all + table);
    CHECK(m.now([&] { return at_layer_backward(m.in, last, 0); }).tensors.gradients == all + table);
    m.cut.zero = 1;
    CHECK(gradients_at_embedding(m) == table * 3);
    m.cut.zero = 2;  // ZeRO 2 reduces a gradient as soon as it is there
    CHECK(gradients_at_embedding(m) == table * 2);
    CHECK(waiting_gradient(m.in) == byte_count{});
    // A tensor rank has its rows; another stage has the head; frozen tables have no gradient; Transformer Engine adds
    // in its kernel.
    m.cut.tensor = 8;
    CHECK(gradients_at_embedding(m) * 8 == table * 2);
    m.cut = {.pipeline = 2};
    CHECK(second_gradient(m.in) == byte_count{});
    m.cut = {};
    CHECK(second_gradient(m.in) == table);
    m.folded.context.frozen = true;
    CHECK(second_gradient(m.in) == byte_count{});
    m.folded.context.frozen = false;
    m.asked.runtime.kernels.linear = linear_code::accumulates;
    CHECK(second_gradient(m.in) == byte_count{});
}

TEST_CASE("an encoder in backward: its gradients come last, and its output goes with the decoder") {
    made_stage m;
    encoder_memory& e = m.stage.encoder;
    e.layers = 2;
    for (byte_count* size : {&e.kept, &e.behind, &e.above, &e.forward, &e.output, &e.gradients, &e.first_gradients})
        *size = mib(1);
    const auto at = [&](peak_point point) { return m.grows_with([&] { return at_encoder_backward(m.in, point); }); };
    const auto decoder = peak_point::decoder_embedding_gradient;
    const auto last_layer = peak_point::encoder_last_layer_backward,
               first_layer = peak_point::encoder_first_layer_backward;
    CHECK(at(decoder) ==
          "gradients: gradients - encoder.gradients; activations: encoder.kept + encoder.output" + in_backward);
    CHECK(at(last_layer) ==
          "gradients: gradients - encoder.gradients; activations: encoder.kept + encoder.above" + in_backward);
    CHECK(at(first_layer) ==
          "gradients: gradients - encoder.first_gradients; "
          "activations: encoder.kept - encoder.behind + encoder.above" +
              in_backward);
    CHECK(m.grows_with([&] { return at_embedding_gradient(m.in); }) ==
          "gradients: gradients; activations: residual" + in_backward);
    m.in.accumulates = true;
    for (const peak_point point : {decoder, last_layer, first_layer})
        CHECK(at(point).starts_with("gradients: gradients; "));
    m.in.accumulates = false;
    // An encoder whose gradients leave for the host by the bucket.
    e.gradients = e.first_gradients = mib(101);
    for (const peak_point point : {decoder, last_layer, first_layer}) CHECK(at(point).starts_with("activations: "));
}

TEST_CASE("a table that an encoder reads, too, gets its last gradient from there") {
    made_stage m;
    m.asked.model.tied_head = true;
    m.stage.encoder.kept = mib(1);
    m.in.accumulates = true;
    m.folded.micro_batches = 2;
    const byte_count all = m.stage.weights.all.gradients.kept;
    const auto gradients = [&](peak_point point) {
        return m.now([&] { return at_encoder_backward(m.in, point); }).tensors.gradients - all;
    };
    // The decoder's own table is done with: the head's gradient, the embedding's, their sum, and the earlier one's.
    CHECK(gradients_at_embedding(m) == byte_count{});
    CHECK(gradients(peak_point::decoder_embedding_gradient) == table * 3);
    CHECK(gradients(peak_point::encoder_last_layer_backward) == byte_count{});
    m.stage.encoder.reads_tokens = true;
    CHECK(gradients_at_embedding(m) == table * 2);  // the encoder's, and the decoder's that waits for it
    CHECK(gradients(peak_point::decoder_embedding_gradient) == table * 3);
    CHECK(gradients(peak_point::encoder_last_layer_backward) == table);
    CHECK(gradients(peak_point::encoder_first_layer_backward) == table);
    m.folded.micro_batches = 1;
    CHECK(gradients_at_embedding(m) == table);
    CHECK(gradients(peak_point::encoder_last_layer_backward) == byte_count{});
}

TEST_CASE("a bias of the scores that layers share: its gradient is added up until the first layer is differentiated") {
    made_stage m;
    constexpr std::int64_t heads = made_stage::heads, n = made_stage::length;
    constexpr std::int64_t there = 128;  // tokens of the encoder
    m.folded.context.encoder_tokens = there;
    m.folded.ends.masks = byte_count{};
    m.stage.saved.cut = byte_count{};
    m.layers[0].saved = mib(2);
    m.layers[0].fresh_peak = mib(64);
    const auto first_layer = [&] {
        return m.now([&] { return at_layer_backward(m.in, first, 0); }).tensors.activations;
    };
    const byte_count without = first_layer();
    CHECK(score_bias(m.in) == byte_count{});
    m.code.attention.biased_scores = true;
    const byte_count bias = bytes(2) * (heads * n * n);
    CHECK(score_bias(m.in) == bias);
    CHECK(first_layer() == without + bias);
    CHECK(m.now([&] { return at_layer_backward(m.in, last, 0); }).tensors.activations ==
          mib(100) + mib(64) - mib(1) - mib(3));  // not the last layer's, which begins the sum
    CHECK(shared_cross_bias(m.in) == byte_count{});
    // Recomputed, it makes the bias again beside all that it saves, if that is more than its peak.
    m.folded.context.recomputes = true;
    CHECK(first_layer() == without + bias);
    m.layers[0].fresh_peak = mib(3);  // 2 MiB are saved, and the bias takes 2
    CHECK(first_layer() - mib(1) == mib(2) + bias * 2);
    // Cross-attention's bias, and its gradient.
    const byte_count cross = bytes(2) * (2 * heads * n * there);
    CHECK(shared_cross_bias(m.in) == cross);
    const byte_count alone = first_layer();
    const byte_count at_embedding = m.now([&] { return at_embedding_gradient(m.in); }).tensors.activations;
    m.stage.encoder.kept = mib(1);
    CHECK(first_layer() == alone + cross);
    CHECK(m.now([&] { return at_embedding_gradient(m.in); }).tensors.activations == at_embedding + cross);
    CHECK(m.now([&] {
               return at_encoder_backward(m.in, peak_point::decoder_embedding_gradient);
           }).tensors.activations == mib(1) + cross);
    // Under frozen weights it has no gradient, but is looked up and masked once more where layers are recomputed.
    m.folded.context.frozen = true;
    CHECK(first_layer() == mib(1) + mib(3) + bias * 2);
    m.folded.context.recomputes = false;
    CHECK(first_layer() == mib(1) + mib(3));
}
