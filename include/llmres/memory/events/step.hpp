// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/events/layer.hpp>
#include <llmres/memory/events/loss.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/memory/tensor_stream.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer/forward.hpp>
#include <llmres/memory/training/peak/backward.hpp>
#include <llmres/memory/training/peak/forward.hpp>
#include <llmres/memory/training/peak/teacher.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/units.hpp>

/// What a training step allocates and frees, layer by layer, in the order of its passes.
namespace llmres::inline v0::detail {

class step_events {
public:
    constexpr explicit step_events(const event_writer& writer)
        : to_{writer},
          loss_{writer},
          held_{micro_batches_held(writer.folded, writer.stage.holds).most},
          stays_{saved_tensors_of(writer.folded.job, writer.folded.context) == saved_tensors::stay},
          makes_dummies_{writer.folded.context.runtime.kernels.linear == linear_code::accumulates_beside} {}

    /// `first`: the optimizer makes its states at the end.
    constexpr void write(bool first) {
        const std::int64_t whole = whole_batches();
        const std::int64_t batches = to_.folded.micro_batches < whole + 2 ? to_.folded.micro_batches : whole + 2;
        const auto part = static_cast<std::int32_t>((held_ - static_cast<double>(whole)) * to_.layers() + 0.5);
        std::int32_t ahead = 0;  // layers of the next micro-batch that are done
        to_.allocate(tensor_group::before_layers, to_.stage.saved.before);
        for (std::int64_t i = 0; i < batches; ++i) {
            forward(i, ahead, to_.layers());
            ahead = 0;
            const bool distils = learns_from_teacher(to_.folded.job.preference);
            if (distils) teach();
            if (to_.stage.last) loss_.forward();
            if (computes_reference(to_.folded.job) && !distils) reference();
            if (i + 1 < whole) continue;
            if (part > 0 && i + 1 < batches) forward(i + 1, 0, ahead = part);
            backward(i + 1 - whole);
        }
        for (std::int64_t i = batches - whole + 1; i < batches; ++i)
            if (i >= 0) backward(i);
        to_.release(tensor_group::before_layers);
        optimizer_step(first);
        loss_.finish();
    }

private:
    constexpr std::int64_t saved_group(std::int64_t batch, std::int32_t position, std::size_t point) const {
        const std::int64_t slot = batch % (whole_batches() + 2);
        return static_cast<std::int64_t>(tensor_group::saved) +
               (slot * to_.layers() + position) * static_cast<std::int64_t>(backward_points + 1) +
               static_cast<std::int64_t>(point);
    }
    constexpr std::int64_t saved_group(std::int64_t batch, std::int32_t position, backward_point until) const {
        return saved_group(batch, position, static_cast<std::size_t>(until));
    }
    /// What a layer keeps where it does not keep all: the input of one that is recomputed.
    constexpr std::int64_t checkpoint_group(std::int64_t batch, std::int32_t position) const {
        return saved_group(batch, position, backward_points);
    }

    /// Whether autograd records a pass, and saves what the backward pass reads.
    enum class autograd : bool { off, records };

    // ---- the order of a step ----
    /// Of the micro-batches in flight, those of which all layers are.
    constexpr std::int64_t whole_batches() const {
        const auto whole = static_cast<std::int64_t>(held_);
        return whole > 0 ? whole : 1;
    }
    // ---- forward ----
    constexpr void forward(std::int64_t batch, std::int32_t from, std::int32_t to) {
        if (to == to_.layers() && to_.at.shards_weights)
            to_.allocate(tensor_group::ends, to_.stage.weights.ends.gathered, tensor_stream::gathering);
        to_.allocate(tensor_group::frames, model_frames(to_.at));
        for (std::int32_t i = from; i < to; ++i) {
            gather(i);
            keeps_all(i) ? forward_layer(batch, i, autograd::records) : pass_first(batch, i, from, to);
        }
        if (!to_.folded.context.runtime.sharding.reshards_after_forward) return to_.release(tensor_group::frames);
        to_.release(tensor_group::even_unit), to_.release(tensor_group::odd_unit);
        to_.release(tensor_group::frames);
    }
    /// A reference's forward pass, of which nothing is saved.
    constexpr void reference() {
        to_.allocate(tensor_group::frames, model_frames(to_.at, recorded::no));
        for (std::int32_t i = 0; i < to_.layers(); ++i) {
            gather(i);
            to_.allocate(tensor_group::temporaries, to_.folded.layers[to_.kind_at(i)].unrecorded);
            to_.release(tensor_group::temporaries);
            to_.allocate(tensor_group::frames,
                         reference_casts(to_.at, to_.layers() - i - 1) - reference_casts(to_.at, to_.layers() - i));
        }
        const loss_memory& loss = to_.folded.ends.loss;
        const byte_count whole = whole_logits(to_.at);
        if (to_.stage.last)
            to_.allocate(tensor_group::temporaries, loss.kept + (whole > byte_count{} ? whole : loss.forward));
        to_.release(tensor_group::temporaries);
        to_.release(tensor_group::frames);
    }
    /// A teacher's forward pass, of which nothing is saved, beside the student's logits. (Both models' are the loss's.)
    constexpr void teach() {
        const teacher_pass taught = teacher_pass_of(to_.folded);
        to_.allocate(tensor_group::frames, returned_logits(to_.at));
        for (std::int64_t i = 0; i < taught.layers; ++i) {
            to_.allocate(tensor_group::temporaries, taught.layer);
            to_.release(tensor_group::temporaries);
            to_.allocate(tensor_group::frames, taught.casts);
        }
        to_.release(tensor_group::frames);
    }
    /// Whether a layer keeps what it saves until its backward pass, and no less.
    constexpr bool keeps_all(std::int32_t position) const {
        const training_layer& t = to_.folded.layers[to_.kind_at(position)];
        return stays_ && t.kept == t.saved;
    }
    /// Whether passes over a layer are written tensor by tensor.
    constexpr bool writes_each_tensor(std::int32_t position) const {
        return (keeps_all(position) || to_.folded.context.recomputes) &&
               forward_layer_events::describes(to_.layer_at(position), to_.folded.context);
    }
    /// The first pass over a layer that does not keep all: it keeps its input, which the layer before it has put out,
    /// unless it is the first of this pass. `last`: one behind the last of this pass.
    constexpr void pass_first(std::int64_t batch, std::int32_t position, std::int32_t first, std::int32_t last) {
        const bool has_input = position > first && !keeps_all(position - 1) && writes_each_tensor(position - 1);
        if (!writes_each_tensor(position)) forward_layer(batch, position, autograd::off);
        if (!has_input) to_.allocate(checkpoint_group(batch, position), to_.folded.layers[to_.kind_at(position)].kept);
        if (!writes_each_tensor(position)) return;
        write_casts(batch, position, autograd::off);
        const bool hands_on = position + 1 < last && !keeps_all(position + 1);
        forward_layer_events pass{to_, to_.layer_at(position), -1};
        for_each_layer_operation(to_.layer_at(position), to_.folded.job.model.hidden, to_.folded.context.code, pass);
        pass.end(hands_on ? checkpoint_group(batch, position + 1) : static_cast<std::int64_t>(tensor_group::frames),
                 hands_on ? to_.folded.layers[to_.kind_at(position + 1)].kept : to_.at.residual);
        to_.release(tensor_group::whole_gradient);
    }
    static constexpr tensor_group unit_of(std::int32_t position) {
        return position % 2 == 0 ? tensor_group::even_unit : tensor_group::odd_unit;
    }
    /// Weights of one layer that ZeRO 3 gathers, while the layer before it is computed.
    constexpr void gather(std::int32_t position) {
        if (!to_.at.shards_weights) return;
        const tensor_group unit = unit_of(position);
        if (to_.folded.context.runtime.sharding.reshards_after_forward) to_.release(unit);
        to_.allocate(unit, to_.folded.layers[to_.kind_at(position)].state.gathered, tensor_stream::gathering);
    }

    struct shown_temporaries final : live_tensor_visitor {
        const event_writer& to;
        constexpr explicit shown_temporaries(const event_writer& writer) : to{writer} {}
        constexpr void operator()(byte_count size) const override { to.allocate(tensor_group::temporaries, size); }
        constexpr void end() const override { to.release(tensor_group::temporaries); }
    };
    /// A pass that autograd records, tensor by tensor.
    constexpr void record_layer(std::int64_t batch, std::int32_t position) {
        write_casts(batch, position, autograd::records);
        forward_layer_events pass{to_, to_.layer_at(position), saved_group(batch, position, std::size_t{0})};
        for_each_training_activation(
            to_.layer_at(position), to_.folded.job.model.hidden, to_.folded.context,
            [&](const activation& a) { pass.save(a); }, [](const activation&) {},
            [&](const layer_operation& o, bool) { pass(o); });
        pass.end(static_cast<std::int64_t>(tensor_group::temporaries), to_.at.residual);
        to_.release(tensor_group::temporaries);
    }
    /// The operations of a layer. What autograd saves stays in the groups of its points.
    constexpr void forward_layer(std::int64_t batch, std::int32_t position, autograd mode) {
        const bool records = mode == autograd::records;
        if (records && writes_each_tensor(position)) return record_layer(batch, position);
        const shown_temporaries shown{to_};
        forward_sweep sweep{to_.layer_at(position),
                            to_.folded.job.model.hidden,
                            to_.folded.context,
                            to_.folded.split,
                            records ? saved_tensors::stay : saved_tensors_of(to_.folded.job, to_.folded.context),
                            &shown};
        saved_so_far saved;
        write_casts(batch, position, mode);
        for_each_training_activation(
            to_.layer_at(position), to_.folded.job.model.hidden, to_.folded.context,
            [&](const activation& a) {
                if (records) to_.allocate(saved_group(batch, position, a.until), local_bytes(a, to_.folded.split));
            },
            [](const activation&) {},
            [&](const layer_operation& o, bool input) {
                saved.input = records && input;
                sweep(o, saved);
            });
        if (!records) to_.release(tensor_group::whole_gradient);
    }
    /// Autocast's copies of weights.
    constexpr void write_casts(std::int64_t batch, std::int32_t position, autograd mode) {
        const std::int64_t group = mode == autograd::records
                                       ? saved_group(batch, position, backward_point::attention_norm)
                                       : static_cast<std::int64_t>(tensor_group::whole_gradient);
        to_.for_each_layer_weight(position, [&](weight_role, std::int64_t, const training_state& kept) {
            to_.allocate(group, kept.casts.all);
        });
    }

    // ---- backward ----
    constexpr void backward(std::int64_t batch) {
        const bool first = batch == 0;
        if (to_.stage.last) {
            loss_.backward();
            if (to_.folded.context.runtime.kernels.linear != linear_code::plain && !to_.folded.context.frozen)
                to_.allocate(tensor_group::whole_gradient,
                             to_.stage.weights.ends.largest);  // what it adds to the kept gradient
            to_.release(tensor_group::whole_gradient);
            write_gradients(weight_place::output, first);
            loss_.end();
        }
        to_.allocate(output_gradient(to_.layers()), to_.at.residual);
        for (std::int32_t i = to_.layers(); i-- > 0;) {
            gather(i);
            if (!gathers_ahead(to_.at, i == 0)) to_.release(unit_of(i + 1));
            backward_layer(batch, i, first);
        }
        if (first || to_.folded.context.runtime.kernels.linear == linear_code::plain) {
            const byte_count again = second_gradient(to_.at);
            for (byte_count left = summed_gradients(to_.at); again > byte_count{} && left >= again; left -= again)
                to_.allocate(tensor_group::temporaries, again);
            write_gradients(weight_place::input, first);
            to_.release(tensor_group::temporaries);
        }
        to_.release(output_gradient(0)), to_.release(output_gradient(1));
        for (std::int32_t i = 0; keeps_input_gradients(to_.at) && i < to_.layers(); ++i)
            to_.release(checkpoint_group(batch, i));
        to_.release(tensor_group::even_unit), to_.release(tensor_group::odd_unit), to_.release(tensor_group::ends);
    }
    static constexpr tensor_group output_gradient(std::int32_t position) {
        return position % 2 == 0 ? tensor_group::even_gradient : tensor_group::odd_gradient;
    }
    /// Gradients of the weights outside of the layers.
    constexpr void write_gradients(weight_place place, bool first) {
        if (to_.keeps_gradients()) return;
        to_.for_each_weight_here([&](const trained_weight& w) {
            if (w.place == place) write_gradient(w.kept, w.copies, first);
        });
        if (first && to_.flat_units())
            to_.allocate(
                tensor_group::gradients,
                to_.kept_gradients(place == weight_place::input ? to_.stage.weights.input : to_.stage.weights.output),
                gradient_stream());
        to_.release(tensor_group::whole_gradient);
    }
    /// The stream that flat gradients come from: their exchange's, or the backward pass's own.
    constexpr tensor_stream gradient_stream() const {
        return to_.shares_last() ? tensor_stream::computation : tensor_stream::reduction;
    }
    /// A weight's gradient: what the rank keeps of it, or one that is added to that of earlier micro-batches.
    constexpr void write_gradient(const training_state& kept, std::int64_t copies, bool first) {
        if (to_.shares_gradients() || !first || to_.folded.job.optimizer.in_backward)
            to_.allocate_copies(tensor_group::whole_gradient, kept.gradients.whole, copies);
        if (first && !to_.flat_units()) to_.allocate_copies(tensor_group::gradients, to_.kept_gradients(kept), copies);
        if (!to_.shares_gradients()) to_.release(tensor_group::whole_gradient);
    }
    constexpr void backward_layer(std::int64_t batch, std::int32_t position, bool first) {
        const training_layer& t = to_.folded.layers[to_.kind_at(position)];
        const bool whole = keeps_all(position);
        if (!whole) forward_layer(batch, position, autograd::records);
        const std::int64_t inner_width =
            writes_each_tensor(position) ? to_.layer_at(position).feed_forward.width : std::int64_t{};
        for (std::size_t p = 0; p < backward_points; ++p) {
            const auto point = static_cast<backward_point>(p);
            for_each_training_activation(
                to_.layer_at(position), to_.folded.job.model.hidden, to_.folded.context, [](const activation&) {},
                [&](const activation& a) {
                    if (a.until == point)
                        to_.allocate_activation(static_cast<std::int64_t>(tensor_group::temporaries), a, inner_width);
                },
                [](const layer_operation&, bool) {});
            if (!to_.keeps_gradients())
                to_.for_each_layer_weight(position,
                                          [&](weight_role role, std::int64_t copies, const training_state& kept) {
                                              if (gradient_point(role) == point) write_gradient(kept, copies, first);
                                          });
            if (makes_dummies_ && t.state.dummies == to_.stage.weights.all.dummies) write_dummies(position, point);
            to_.release(tensor_group::temporaries);
            to_.release(saved_group(batch, position, point));
        }
        makes_dummies_ = makes_dummies_ && t.state.dummies != to_.stage.weights.all.dummies;
        to_.release(tensor_group::whole_gradient);
        if (first && to_.flat_units())
            to_.allocate(tensor_group::gradients, to_.kept_gradients(t.state), gradient_stream());
        to_.allocate(output_gradient(position), to_.at.residual);
        if (keeps_input_gradients(to_.at)) return;
        to_.release(output_gradient(position + 1));
        if (!whole) to_.release(checkpoint_group(batch, position));
    }
    /// What Transformer Engine gives to autograd in place of the gradient of a weight, which it has added to the kept
    /// one: a tensor of the weight's shape, made when the first weight of that shape is differentiated
    /// (transformer_engine/pytorch/module/base.py, get_dummy_wgrad).
    constexpr void write_dummies(std::int32_t position, backward_point point) {
        byte_count joined;
        weight_role last{};
        to_.for_each_layer_weight(position, [&](weight_role role, std::int64_t, const training_state& kept) {
            if (gradient_point(role) != point || role == weight_role::bias) return;
            if (!event_writer::stands_beside(last, role)) {
                to_.allocate(tensor_group::lasting, joined);
                joined = {};
            }
            joined += kept.dummies;
            last = role;
        });
        to_.allocate(tensor_group::lasting, joined);
    }
    /// The point of the backward pass at which a weight's gradient is made: as gradients_so_far() has it.
    static constexpr backward_point gradient_point(weight_role role) {
        return role == weight_role::down_proj ? backward_point::output
               : is_feed_forward(role)        ? backward_point::norm
                                              : backward_point::attention_norm;
    }

    // ---- the optimizer ----
    constexpr void optimizer_step(bool first) {
        const job& j = to_.folded.job;
        if (to_.shares_last()) {  // now each rank has its part
            to_.release(tensor_group::gradients);
            to_.for_each_stepped([&](const training_state& kept, std::int64_t copies) {
                to_.allocate_copies(tensor_group::gradients, kept.gradients.kept, copies);
            });
        }
        if (first && shards_whole_tensors(j, to_.folded.layout))
            to_.allocate(tensor_group::lasting, to_.stage.weights.all.optimizer.states);
        if (first && !shards_whole_tensors(j, to_.folded.layout))
            to_.for_each_stepped([&](const training_state& kept, std::int64_t copies) {
                const byte_count master =
                    to_.keeps_gradients() && to_.folded.layout.zero > 0 ? byte_count{} : to_.master_of(kept);
                const byte_count moments = kept.optimizer.states - to_.master_of(kept);
                const std::int64_t count = j.optimizer.moments > 1 ? j.optimizer.moments : 1;
                to_.allocate_copies(tensor_group::lasting, master, copies);
                for (std::int64_t i = 0; i < count; ++i)
                    to_.allocate_copies(tensor_group::lasting, div_down(moments, count), copies);
            });
        to_.for_each_stepped([&](const training_state& kept, std::int64_t copies) {
            to_.allocate_copies(tensor_group::temporaries, kept.optimizer.temporaries, copies);
        });
        to_.allocate(tensor_group::temporaries, to_.stage.weights.all.optimizer.largest_step);
        to_.allocate(tensor_group::temporaries, to_.stage.zero.stepping);
        to_.release(tensor_group::temporaries);
        to_.release(tensor_group::gradients);
    }

    const event_writer& to_;
    loss_events loss_;
    double held_;         ///< micro-batches in flight
    bool stays_;          ///< what layers save stays on the GPU
    bool makes_dummies_;  ///< until each shape of matrix has one
};

}  // namespace llmres::inline v0::detail
