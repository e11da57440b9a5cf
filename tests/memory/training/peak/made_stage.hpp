// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <llmres/memory/training/peak.hpp>
#include <string>
#include <utility>
#include <vector>

/// A stage whose sizes are set by hand, and a question: with which of them does a candidate of the peak grow?
namespace stages {

using namespace llmres;
using namespace llmres::detail;

/// Five layers, of which each of two kinds has a size of its own, or four of one kind, on a GPU that holds all of them.
/// A size is a mebibyte if nothing else is said; what only some jobs have (an encoder, FSDP1's unit that is gathered
/// ahead, DeepSpeed's buffers) is zero, and stays out of every answer.
struct made_stage {
    job asked;
    layout cut{};
    modeling code{};
    training_folds folds{};
    folded_job folded;
    training_stage stage;
    stage_step in;
    std::array<training_layer, 2> layers{};

    static constexpr std::int64_t words = 1000, hidden = 256, heads = 4, length = 512, sequences = 2;
    static constexpr byte_count mebibyte = mib(1);

    static job job_of(std::int32_t kinds) {
        job j{.model = {.vocabulary = words, .hidden = hidden},
              .task = task::finetuning,
              .weights = bf16,
              .sequence = tokens(length),
              .micro_batch = sequences};
        const layer plain{.attention = {.heads = heads, .kv_heads = heads, .head_dim = 64},
                          .feed_forward = {.width = 1024}};
        layer wider = plain;
        wider.feed_forward.width = 2048;
        j.model.layers = kinds == 1 ? layer_stack{4, plain} : layer_stack{}.then(2, plain).then(3, wider);
        j.compute = bf16;
        return j;
    }

    explicit made_stage(std::int32_t kinds = 2) : made_stage{job_of(kinds)} {}
    explicit made_stage(const job& j)
        : asked{j},
          folded{asked, cut, asked.model.layers, sdpa_backend::flash, written_as(folds, code)},
          stage{training_stage_of(folded, placement_of(asked, cut, 0))},
          in{stage_step_of(folded, stage)} {
        stage.saved = {};
        stage.encoder = {};
        stage.zero = {};
        stage.weights.prediction.logits = {};
        in.ahead_in_backward = in.gathered.last = {};
        in.held = {};
        folded.ends = {};
        for (const auto& [name, size] : sizes())
            if (!is_rare(name)) *size = mebibyte;
        // A sum of others is larger than each.
        stage.weights.all.gradients.kept = mib(100);
        stage.saved.all = mib(100);
        folded.ends.loss.head = mib(10);
    }
    made_stage(const made_stage&) = delete;

    /// The sizes by name, those of layers in the order of their kinds.
    std::vector<std::pair<std::string, byte_count*>> sizes() {
        std::vector<std::pair<std::string, byte_count*>> all;
        for (std::size_t k = 0; k < 2; ++k) {
            const std::string kind = k == 0 ? "first." : "second.";
            training_layer& of = layers[k];
            all.insert(all.end(), {{kind + "gradients", &of.state.gradients.kept},
                                   {kind + "casts", &of.state.casts.cached},
                                   {kind + "step", &of.state.optimizer.largest_step},
                                   {kind + "saved", &of.saved},
                                   {kind + "kept", &of.kept},
                                   {kind + "checkpoint", &of.checkpoint},
                                   {kind + "peak", &of.peak},
                                   {kind + "fresh_peak", &of.fresh_peak},
                                   {kind + "added_peak", &of.added_peak},
                                   {kind + "recomputed", &of.recomputed},
                                   {kind + "in_forward", &of.in_forward}});
        }
        end_activations& ends = folded.ends;
        encoder_memory& encoder = stage.encoder;
        stage_weights& weights = stage.weights;
        all.insert(all.end(), {{"head_gradients", &in.head_gradients},
                               {"gradients", &weights.all.gradients.kept},
                               {"states", &weights.all.optimizer.states},
                               {"saved", &stage.saved.all},
                               {"before", &stage.saved.before},
                               {"each", &stage.saved.each},
                               {"cut", &stage.saved.cut},
                               {"not_at_loss", &stage.saved.not_at_loss},
                               {"after_layers", &ends.after_layers},
                               {"norm_backward", &ends.norm_backward},
                               {"rotary_tables", &ends.rotary_tables},
                               {"masks", &ends.masks},
                               {"loss.saved", &ends.loss.saved},
                               {"loss.kept", &ends.loss.kept},
                               {"loss.forward", &ends.loss.forward},
                               {"loss.gradient", &ends.loss.gradient},
                               {"loss.head", &ends.loss.head},
                               {"loss.held", &ends.loss.held},
                               {"prediction.logits", &weights.prediction.logits},
                               {"encoder.kept", &encoder.kept},
                               {"encoder.behind", &encoder.behind},
                               {"encoder.above", &encoder.above},
                               {"encoder.forward", &encoder.forward},
                               {"encoder.casts", &encoder.casts},
                               {"encoder.output", &encoder.output},
                               {"encoder.gradients", &encoder.gradients},
                               {"encoder.first_gradients", &encoder.first_gradients},
                               {"residual", &in.residual},
                               {"resident", &in.resident},
                               {"gathered_in_loss", &in.gathered_in_loss},
                               {"gathered_in_backward", &in.gathered_in_backward},
                               {"backward_communication", &in.backward_communication},
                               {"ahead", &in.ahead_in_backward},
                               {"streams", &in.backward_streams},
                               {"gathered.last", &in.gathered.last},
                               {"zero.joined", &stage.zero.joined},
                               {"input.gathered", &weights.input.gathered},
                               {"input.gradient", &weights.input.gradients.whole},
                               {"output.gathered", &weights.output.gathered},
                               {"output.gradient", &weights.output.gradients.whole},
                               {"output.step", &weights.output.optimizer.largest_step},
                               {"ends.largest", &weights.ends.largest},
                               {"stepping", &stage.stepping},
                               {"weights", &weights.all.weights},
                               {"adapter", &weights.all.adapter},
                               {"all.gathered", &weights.all.gathered},
                               {"all.gradient", &weights.all.gradients.whole},
                               {"dummies", &weights.all.dummies},
                               {"ends.gathered", &weights.ends.gathered},
                               {"output.gradients", &weights.output.gradients.kept},
                               {"unit", &folded.widest.gathered},
                               {"unit.gradient", &folded.widest.gradients.whole},
                               {"unit.largest", &folded.widest.largest},
                               {"zero.throughout", &stage.zero.throughout},
                               {"zero.backward", &stage.zero.backward},
                               {"zero.in_pieces", &stage.zero.in_pieces},
                               {"maybe_more", &stage.saved.maybe_more},
                               {"updated", &stage.updated}});
        return all;
    }

    /// What a candidate holds while the layers have the sizes that are set here.
    peak_candidate now(const std::function<peak_candidate()>& candidate) {
        for (std::size_t k = 0; k < folded.kinds(); ++k) folded.layers.set(k, layers[k]);
        return candidate();
    }

    /// "activations: saved + 2 first.kept; logits: loss.head": how many bytes a term of the candidate grows by where a
    /// size that is not zero grows by one.
    std::string grows_with(const std::function<byte_count()>& size) {
        const std::string told = grows_with([&] {
            peak_candidate c;
            c.tensors.activations = size();
            return c;
        });
        return told.substr(told.find(": ") == told.npos ? 0 : told.find(": ") + 2);
    }
    std::string grows_with(const std::function<peak_candidate()>& candidate) {
        const peak_candidate before = now(candidate);
        std::vector<std::pair<std::string, peak_candidate>> grown;
        for (const auto& [name, size] : sizes()) {
            if (*size == byte_count{}) continue;
            *size += bytes(more);
            grown.emplace_back(name, now(candidate));
            *size -= bytes(more);
        }
        now(candidate);
        std::string told;
        const auto tell = [&](const std::string& term, const auto& of) {
            std::string sum;
            for (const auto& [name, c] : grown) add(sum, name, (of(c) - of(before)).in(bytes));
            if (!sum.empty()) told += (told.empty() ? "" : "; ") + term + ": " + sum;
        };
        tell("gradients", [](const peak_candidate& c) { return c.tensors.gradients; });
        tell("optimizer", [](const peak_candidate& c) { return c.tensors.optimizer; });
        tell("activations", [](const peak_candidate& c) { return c.tensors.activations; });
        tell("logits", [](const peak_candidate& c) { return c.tensors.logits; });
        tell("communication", [](const peak_candidate& c) { return c.tensors.communication; });
        tell("scratch", [](const peak_candidate& c) { return c.tensors.optimizer_scratch; });
        tell("other streams", [](const peak_candidate& c) { return c.other_streams; });
        tell("free", [](const peak_candidate& c) { return c.free_unit; });
        return told;
    }

private:
    static constexpr std::int64_t more = 1024;

    static training_folds& written_as(training_folds& folds, const modeling& code) {
        folds.code = &code;
        return folds;
    }
    static bool is_rare(const std::string& name) {
        return name.starts_with("encoder") || name.starts_with("prediction") || name == "ahead" ||
               name == "gathered.last" || name == "each" || name.starts_with("zero.");
    }
    static void add(std::string& sum, const std::string& name, std::int64_t by) {
        if (by == 0) return;
        const std::int64_t times = by / more;
        sum += sum.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
        if (by % more != 0)
            sum += std::to_string(by) + "/1024 ";
        else if (times * times != 1)
            sum += std::to_string(times < 0 ? -times : times) + " ";
        sum += name;
    }
};

}  // namespace stages
