// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training/stage_weights.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The moments of a training step at which memory may peak, on one stage.
namespace llmres::inline v0::detail {

/// The fullest of the moments seen, on any stage, and what an allocator may hold beside it.
struct fullest_moment {
    tensor_memory at{};
    byte_count most{};
    byte_count held{};         ///< by an allocator that keeps the blocks of one phase while the next asks for others
    byte_count passing{};      ///< tensors that come and go
    byte_count scores{};       ///< ... as logits
    byte_count activations{};  ///< the most at any moment
    byte_count wrapping{};     ///< blocks that wrapping the model left, beside its shards

    constexpr void see(const tensor_memory& moment, byte_count all) {
        if (all > most) at = moment, most = all;
    }
    constexpr void hold(byte_count all) {
        if (all > held) held = all;
    }
};

class stage_moments {
public:
    constexpr stage_moments(const folded_step& folded, const training_stage& stage, fullest_moment& seen);

    constexpr void see_all() {
        optimizer();
        backward();
        last_gradients();
        if (step_.adapter.low_rank()) adapters();
        if (s_.last) loss();
        if (s_.first && !s_.last && s_.turns) logits_handed_back();
        let_go();
        if (sharded_ && j_.runtime.hoards && engine_.sharding == sharding_code::fsdp1) wrap();
    }

private:
    constexpr void optimizer();
    constexpr void backward();
    constexpr void last_gradients();
    constexpr void encoder_gradients(byte_count summed);
    constexpr void adapters();
    constexpr void loss();
    constexpr void logits_handed_back();
    constexpr void let_go();
    constexpr void wrap();

    constexpr void see();
    constexpr void gather();
    constexpr byte_count read_again() const;

    const folded_step& f_;
    const training_stage& s_;
    fullest_moment& seen_;
    const job& j_ = f_.of;
    const layout& l_ = f_.over;
    const model& m_ = j_.model;
    const training_step& step_ = f_.step;
    const training_engine& engine_ = step_.engine;

    const bool sharded_ = l_.zero >= 3 && (l_.dense_shard_ranks() > 1 || j_.offload.parameters != offload_place::none);
    const bool by_parameter_ = sharded_ && engine_.sharding == sharding_code::fsdp2;
    const bool accumulated_ =
        engine_.keeps_gradients || f_.rounds > 1;  ///< gradients are there before the backward pass
    const bool steps_in_backward_ = j_.optimizer.in_backward && j_.optimizer.widens && !step_.frozen;
    const byte_count resident_ =
        (engine_.linear == linear_code::accumulates_beside ? s_.state.dummies : byte_count{}) + s_.zero.throughout;
    const byte_count stream_ = size_of(step_.stream, step_.tokens.all(), m_.hidden);  ///< what passes between layers
    /// Gradients that are there when the layers' backward pass begins.
    const byte_count first_gradients_ =
        m_.tied_head && s_.last ? s_.ends.gradients - s_.encoder.gradients : s_.output.gradients;

    gathering gathers_{};
    byte_count fetched_ = resident_;  ///< a unit under way and the one fetched ahead of it
    byte_count root_ = resident_;  ///< gathered while the loss is computed: layers were let go after their forward pass
    byte_count coming_{};          ///< in `communication`, what another stream gathers or reduces
    byte_count beside_{};          ///< gradients, at any moment but the optimizer's
    tensor_memory t_;
};

constexpr stage_moments::stage_moments(const folded_step& folded, const training_stage& stage, fullest_moment& seen)
    : f_{folded},
      s_{stage},
      seen_{seen},
      t_{.weights = stage.state.weights,
         .adapter = stage.state.adapter,
         .optimizer = stage.state.optimizer,
         .maybe_more = stage.maybe_more,
         .reduced = stage.state.whole_gradients,
         .gathered = step_.frozen && l_.zero < 3 ? stage.state.whole_gradients : stage.state.gathered,
         .buckets = stage.zero.throughout + stage.zero.backward + stage.zero.joined,
         .stage = stage.index} {
    gather();
}

constexpr void stage_moments::see() {
    const byte_count all = t_.all();
    seen_.see(t_, all);
    if (all - t_.gradients - coming_ > beside_) beside_ = all - t_.gradients - coming_;
    if (t_.logits > seen_.scores) seen_.scores = t_.logits;
    if (t_.activations > seen_.activations) seen_.activations = t_.activations;
}

/// The root's weights are gathered from first to last.
constexpr void stage_moments::gather() {
    const byte_count unit = f_.widest.gathered;
    if (by_parameter_) gathers_ = gathering_of(step_, s_.input, s_.output, s_.ends, f_.widest, m_.tied_head);
    if (sharded_ && !engine_.reshards_after_forward)
        root_ = fetched_ += s_.state.gathered;
    else if (by_parameter_)
        root_ += gathers_.after_forward, fetched_ += unit * 2 + gathers_.throughout;
    else if (sharded_ && engine_.keeps_frozen_gathered && step_.frozen)
        root_ += s_.ends.gathered, fetched_ += s_.state.gathered + unit * 2;
    else if (sharded_)
        root_ += s_.ends.gathered, fetched_ += unit * 2 + s_.ends.gathered;
    if (engine_.sharding == sharding_code::deepspeed) root_ = fetched_;
}

constexpr void stage_moments::optimizer() {
    t_.phase = phase::optimizer;
    t_.gradients = s_.state.gradients;
    t_.communication = resident_ + s_.stepping;
    seen_.see(t_, t_.all());
    if (j_.steps == 1 && j_.offload.optimizer == offload_place::none)
        t_.optimizer = before_first_step(j_, l_, s_.counts, s_.index);
}

/// As far as each kind of layer's last, then its first: gradients of what follows are there, and what it and the layers
/// before it keep.
constexpr void stage_moments::backward() {
    // Each layer's input gradient but the last layer's, whose backward pass started it all, and the one being made.
    const bool held_back = sharded_ && step_.frozen && engine_.sharding == sharding_code::fsdp1 &&
                           engine_.reentrant_checkpoints && !engine_.checkpoints_inside_units &&
                           j_.recompute == recompute::full && s_.range.size() > 2;
    const byte_count gradients_of_inputs = held_back ? f_.layers[0].checkpoint * (s_.range.size() - 2) : byte_count{};

    t_.phase = phase::backward;
    t_.communication = fetched_ + (sharded_ ? f_.widest.whole_gradients : byte_count{}) + gathers_.reduced +
                       s_.zero.backward + s_.zero.joined;
    coming_ =
        by_parameter_ && engine_.streams_apart && engine_.reshards_after_forward ? f_.widest.gathered : s_.zero.joined;
    for (std::size_t k = 0; k < f_.kinds(); ++k) {
        if (s_.counts[k] == 0) continue;
        const training_layer& of = f_.layers[k];
        const byte_count above = (accumulated_ ? of.peak : of.fresh_peak) - of.kept;
        std::array<byte_count, 2> gradients{first_gradients_,
                                            first_gradients_ + of.state.gradients * (s_.counts[k] - 1)};
        std::array<byte_count, 2> kept{s_.saved, of.kept + s_.before - (s_.cut < of.kept ? s_.cut : of.kept)};
        if (f_.kinds() > 1) {
            const stage_range span = span_of(m_.layers, static_cast<std::int32_t>(k), s_.range);
            const kind_counts later = m_.layers.counts(span.last, s_.range.last);
            const kind_counts earlier = m_.layers.counts(s_.range.first, span.first);
            gradients[1] = first_gradients_ - of.state.gradients;
            kept[1] = of.kept + s_.before;
            for (std::size_t o = 0; o < f_.kinds(); ++o) {
                gradients[0] += f_.layers[o].state.gradients * later[o];
                kept[0] -= f_.layers[o].kept * later[o];
                gradients[1] += f_.layers[o].state.gradients * (s_.counts[o] - earlier[o]);
                kept[1] += f_.layers[o].kept * earlier[o];
            }
        }
        if (held_back) kept[1] = s_.saved + gradients_of_inputs;
        for (std::size_t i = 0; i < 2; ++i) {
            t_.gradients = accumulated_ || gradients[i] > s_.state.gradients
                               ? s_.state.gradients
                               : gradients[i];  // what goes to the host does not gather
            t_.activations = kept[i] + above;
            if (steps_in_backward_) t_.communication = fetched_ + of.state.stepped;
            see();
        }
    }
}

/// A further gradient of a weight that is read more than once.
constexpr byte_count stage_moments::read_again() const {
    if (step_.frozen || engine_.linear != linear_code::plain || l_.pipeline > 1 || !m_.tied_head) return {};
    return size_of(gradients_of(j_), m_.vocabulary, embedding_width_of(m_));
}

/// The last: the embedding's, beside that of what it put out. The head's came first; the two are summed apart where
/// that is a product's, a transposed view, to which torch/csrc/autograd/input_buffer.cpp does not add, as it does to a
/// cast's and to sums.
constexpr void stage_moments::last_gradients() {
    const byte_count again = read_again();
    byte_count summed =
        again * (casts_head(step_) || engine_.loss == loss_code::chunked ? 1 : 2);  // the parts' sum is added to
    if (s_.encoder.kept > byte_count{}) {
        encoder_gradients(summed);
        summed = s_.encoder.reads_tokens ? again : byte_count{};
    }
    t_.gradients = s_.state.gradients + summed;
    t_.activations = stream_;
    t_.communication += gathers_.last;
    see();
    t_.communication -= gathers_.last;
}

/// The decoder's embedding, before any of the encoder; then the encoder's last layer, and its first. What the encoder
/// put out is let go with the decoder.
constexpr void stage_moments::encoder_gradients(byte_count summed) {
    const encoder_memory& encoder = s_.encoder;
    const auto without = [&](byte_count part) {
        return s_.state.gradients > part ? s_.state.gradients - part : byte_count{};
    };
    t_.gradients = without(encoder.gradients) + summed;
    t_.activations = encoder.kept + encoder.output;
    see();
    t_.gradients = without(encoder.gradients);
    t_.activations = encoder.kept + encoder.above;
    see();
    t_.gradients = without(encoder.first_gradients);
    t_.activations = encoder.kept - encoder.behind + encoder.above;
    see();
}

/// What adapters make in a forward pass: the last layer's, or the one that is recomputed.
constexpr void stage_moments::adapters() {
    t_.phase = step_.recomputes ? phase::backward : phase::forward;
    for (std::size_t k = 0; k < f_.kinds(); ++k) {
        if (s_.counts[k] == 0) continue;
        const training_layer& of = f_.layers[k];
        t_.gradients = accumulated_       ? s_.state.gradients
                       : step_.recomputes ? s_.state.gradients - of.state.gradients
                                          : byte_count{};
        t_.activations = s_.saved + (of.saved - of.kept) + of.forward;
        see();
    }
}

constexpr void stage_moments::loss() {
    std::array<byte_count, 5> made{};
    for_each_loss_activation(m_, step_, [&](const activation& a, loss_point at) {
        made[static_cast<std::size_t>(at)] += local_bytes(a, l_);
    });
    const auto of = [&](loss_point at) { return made[static_cast<std::size_t>(at)]; };
    byte_count after;
    for_each_output_activation(m_, step_, [&](const activation& a) { after += local_bytes(a, l_); });

    t_.phase = phase::loss;
    t_.communication = root_;
    coming_ = {};
    t_.gradients = accumulated_ ? s_.state.gradients : byte_count{};
    t_.activations = s_.saved + after + of(loss_point::saved);
    const byte_count computed = of(loss_point::kept) + of(loss_point::forward);
    const byte_count differentiated = of(loss_point::kept) + of(loss_point::gradient);
    t_.logits = (computed > differentiated ? computed : differentiated) + s_.ahead.scores;
    if (j_.runtime.hoards) seen_.hold(t_.all() + (computed > differentiated ? differentiated : computed));
    see();

    t_.logits = of(loss_point::head) + s_.ahead.scores;
    if (j_.optimizer.in_backward && !step_.frozen)
        t_.communication += m_.tied_head ? s_.input.whole_gradients : s_.output.whole_gradients;
    if (engine_.loss == loss_code::chunked && !step_.frozen)
        t_.communication += s_.ends.largest;                                     // each part's, to be added
    if (by_parameter_ && !step_.frozen) t_.communication += s_.output.gathered;  // its gradient, before it is scattered
    if (engine_.linear == linear_code::plain)
        t_.gradients = accumulated_ ? s_.state.gradients : first_gradients_;
    else if (!step_.frozen)
        t_.communication += s_.ends.largest;
    if (casts_head(step_) && !step_.frozen && !accumulated_ && engine_.linear == linear_code::plain && l_.zero < 2) {
        // Its gradient is narrow beside that of the logits, and widened when they are gone: with one the cast goes.
        const byte_count narrow =
            size_of(step_.compute, ceil_quotient(m_.vocabulary, l_.tensor), embedding_width_of(m_));
        if (of(loss_point::head) < narrow)
            t_.logits = {};
        else if (t_.gradients >= narrow)  // an optimizer that steps in the backward pass keeps none
            t_.gradients -= narrow;
    }
    see();
    if (steps_in_backward_ && !m_.tied_head) {  // the head, when the final norm's gradient comes: the logits are gone
        t_.phase = phase::backward;
        t_.logits = {};
        t_.communication = root_ + s_.output.stepped + stream_;
        see();
    }
}

/// To the first GPU, by the last, and widened there (accelerate: AlignDevicesHook, convert_to_fp32).
constexpr void stage_moments::logits_handed_back() {
    t_.phase = phase::loss;
    t_.communication = root_;
    t_.gradients = accumulated_ ? s_.state.gradients : byte_count{};
    t_.activations = s_.saved;
    t_.logits = size_of(step_.compute, step_.tokens.all(), m_.vocabulary);
    if (!step_.wide) t_.logits += size_of(fp32, step_.tokens.all(), m_.vocabulary);
    see();
}

/// Blocks of gradients that another stream made, or of what the optimizer makes while it steps, serve no other tensor.
constexpr void stage_moments::let_go() {
    const byte_count apart = j_.runtime.hoards ? s_.state.gradients + s_.stepping + s_.zero.joined + s_.zero.apart
                             : engine_.streams_apart && l_.zero >= 2 ? s_.state.gradients + gathers_.buffers
                                                                     : byte_count{};
    seen_.hold(beside_ + apart);
    const byte_count standing = s_.state.weights + s_.state.adapter + s_.state.optimizer;
    if (beside_ - standing > seen_.passing) seen_.passing = beside_ - standing;
}

/// Of what wrapping left, neither gathered units, which come from a stream of their own, nor the small blocks of
/// adapters' states make use.
constexpr void stage_moments::wrap() {
    // As they are stored, be they gathered in a narrower format.
    const auto whole = [&](const weight_state& of) {
        const byte_count stored = step_.four_bit ? byte_count{} : of.weights * l_.dense_shard_ranks();
        return stored > of.gathered ? stored : of.gathered;
    };
    const byte_count left = left_by_wrapping(whole(s_.ends), whole(f_.widest));
    if (left > seen_.wrapping) seen_.wrapping = left;
    const byte_count small = step_.frozen ? s_.state.optimizer + s_.state.gradients + s_.stepping : byte_count{};
    seen_.hold(s_.state.weights + s_.state.adapter + left + small + fetched_);
}

}  // namespace llmres::inline v0::detail
