// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/peak/backward.hpp>
#include <llmres/memory/training/peak/forward.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training/trained_weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// A training step as the tensors that are allocated and freed in it, one by one, so that any allocator can be asked
/// what it reserves for them.
namespace llmres::inline v0 {

/// Who allocates. PyTorch's allocator keeps the freed blocks of each stream for that stream.
enum class tensor_stream : std::uint8_t { computation, communication };

/// A tensor is allocated in a group, or all tensors of a group are freed.
struct tensor_event {
    std::int64_t group = 0;                             ///< tensors that are freed together
    byte_count size{};                                  ///< of the tensor that is allocated; 0: the group is freed
    tensor_stream stream = tensor_stream::computation;  ///< of the tensor that is allocated
};

/// Calls visit(tensor_event) for the tensors of a GPU of one pipeline stage: those that stay first, then those of
/// `steps` training steps. Weights, gradients and optimizer states are listed as the plan sums them, what a layer saves
/// and makes as its operations list it (inventory/activations.hpp), and the logits by the table of losses. Where the
/// plan knows but a sum (of masks, of what an encoder saves, of buffers of communication), that is one tensor. Of a
/// step's micro-batches as many are run as are in flight at once, and two more. Allocates nothing. Preconditions:
/// validate() holds, and the job trains.
template <class Visit>
constexpr void for_each_tensor_event(const job& j, const layout& l, const gpu& card, std::int32_t stage,
                                     std::int32_t steps, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Groups of tensors that are freed together. From `saved` on: what a layer of a micro-batch saves until a point of its
/// backward pass.
enum class tensor_group : std::int64_t {
    lasting,         ///< weights, optimizer states, and what else is never freed
    gradients,       ///< of weights, from their backward pass to the end of the step
    whole_gradient,  ///< of a layer's weights, before ranks share it
    temporaries,
    frames,  ///< what the model's code refers to in a forward pass
    before_layers,
    loss,           ///< from the final norm on, until the head is differentiated
    even_gradient,  ///< the gradient of a layer's output, by turns
    odd_gradient,
    even_unit,  ///< gathered weights, by turns
    odd_unit,
    ends,    ///< gathered weights outside of the layers
    logits,  ///< the first of the loss's own tensors, each a group
    saved = logits + 32,
};

/// The tensors of the loss that are alive. From one point to the next those of one role and size stay what they are.
struct live_logits {
    static constexpr std::size_t most = 32;
    std::array<activation_role, most> roles{};
    std::array<byte_count, most> sizes{};  ///< 0: free
};

/// Writes the events of a stage.
template <class Visit>
class step_writer {
public:
    constexpr step_writer(const folded_job& folded, const training_stage& stage, Visit& visit)
        : f_{folded},
          s_{stage},
          in_{stage_step_of(folded, stage)},
          visit_{visit},
          held_{micro_batches_held(folded, stage.holds)},
          stays_{saved_tensors_of(folded.job, folded.context) == saved_tensors::stay} {}

    constexpr void write(std::int32_t steps) {
        allocate(tensor_group::lasting, in_.resident);
        if (flat_units())
            wrap_units();
        else if (keeps_gradients() && f_.layout.zero > 0)
            move_to_buffers();
        else
            load_weights(tensor_group::lasting);
        for (std::size_t k = 0; k < f_.kinds(); ++k)
            for (std::int64_t i = 0; i < s_.holds.counts[k]; ++i)
                allocate(tensor_group::lasting, rotary_table(f_, f_.job.model.layers.kinds[k]));
        allocate(tensor_group::lasting, mask_table(f_));
        const runtime_process& process = f_.job.runtime.process;  // libraries take theirs from the same allocator
        allocate(tensor_group::lasting, process.workspace.expected);
        if (computes_together(f_.job.runtime.kernels.experts) && has_experts(f_.job.model))
            allocate(tensor_group::lasting, process.expert_workspace.expected);
        if (keeps_gradients() && f_.layout.zero == 0) allocate(tensor_group::lasting, s_.weights.all.gradients.kept);
        for (std::int32_t i = 0; i < steps; ++i) step(i == 0);
    }

private:
    // ---- events ----
    constexpr void allocate(std::int64_t group, byte_count size, tensor_stream on = tensor_stream::computation) {
        if (size > byte_count{}) visit_(tensor_event{group, size, on});
    }
    constexpr void allocate(tensor_group group, byte_count size, tensor_stream on = tensor_stream::computation) {
        allocate(static_cast<std::int64_t>(group), size, on);
    }
    constexpr void allocate_copies(tensor_group group, byte_count all, std::int64_t copies) {
        const byte_count each = div_down(all, copies);
        if (each * copies != all) return allocate(group, all);
        for (std::int64_t i = 0; i < copies; ++i) allocate(group, each);
    }
    /// A tensor, or as many as it is times the residual stream of the tokens: the inventory sums equal ones up.
    constexpr void allocate_activation(std::int64_t group, const activation& a) {
        const std::int64_t one = product(f_.context.tokens.all(), f_.job.model.hidden);
        const byte_count all = local_bytes(a, f_.layout);
        const std::int64_t count =
            a.role == activation_role::gradient && a.elements % one == 0 && a.elements > one ? a.elements / one : 1;
        for (std::int64_t i = 0; i < count; ++i) allocate(group, div_up(all, count));
    }
    constexpr void release(std::int64_t group) { visit_(tensor_event{.group = group}); }
    constexpr void release(tensor_group group) { release(static_cast<std::int64_t>(group)); }

    // ---- before the first step ----
    constexpr void load_weights(tensor_group group) {
        for_each_weight_here([&](const trained_weight& w) {
            allocate_copies(group, w.kept.weights, w.copies);
            allocate_copies(group, w.kept.adapter, w.copies);
        });
    }
    /// Megatron-Core's distributed optimizer: a buffer of all weights and one of all gradients are made beside the
    /// weights, whose tensors are freed when they are copied (core/distributed/param_and_grad_buffer.py); then the
    /// rank's part of each is copied, and the copy widened (core/optimizer/distrib_optimizer.py).
    constexpr void move_to_buffers() {
        load_weights(tensor_group::temporaries);
        const training_state& all = s_.weights.all;
        byte_count weights;
        for_each_weight_here([&](const trained_weight& w) { weights += w.kept.weights + w.kept.adapter; });
        allocate(tensor_group::lasting, weights);
        allocate(tensor_group::lasting, all.gradients.kept);
        release(tensor_group::temporaries);
        if (f_.weights.master)
            for_each_weight_here([&](const trained_weight& w) {
                const byte_count master = master_of(w.kept);
                allocate_copies(tensor_group::temporaries, div_up(master, 2), w.copies);
                allocate_copies(tensor_group::lasting, master, w.copies);
                release(tensor_group::temporaries);
            });
    }
    /// FSDP1 wraps unit by unit (torch/distributed/fsdp/_init_utils.py): its tensors come to the GPU, are broadcast in
    /// buckets of 250 MiB, two at a time, are joined, and the rank's part is copied.
    constexpr void wrap_units() {
        for (std::int32_t i = 0; i < layers(); ++i) {
            for_each_layer_weight(i, [&](weight_role, std::int64_t copies, const training_state& kept) {
                allocate_copies(tensor_group::temporaries, kept.gathered, copies);
            });
            wrap(f_.layers[kind_at(i)].state);
        }
        for_each_weight_here([&](const trained_weight& w) {
            if (!is_in_layer(w.place)) allocate_copies(tensor_group::temporaries, w.kept.gathered, w.copies);
        });
        wrap(s_.weights.ends);
    }
    constexpr void wrap(const training_state& unit) {
        constexpr byte_count bucket = mib(250);
        for (byte_count left = unit.gathered; left > byte_count{}; left -= left < bucket ? left : bucket) {
            allocate(left.base() / bucket.base() % 2 == 0 ? tensor_group::even_unit : tensor_group::odd_unit,
                     left < bucket ? left : bucket);
            release(left.base() / bucket.base() % 2 == 0 ? tensor_group::odd_unit : tensor_group::even_unit);
        }
        release(tensor_group::even_unit), release(tensor_group::odd_unit);
        allocate(tensor_group::frames, unit.gathered);
        release(tensor_group::temporaries);
        allocate(tensor_group::lasting, unit.weights);
        allocate(tensor_group::lasting, unit.adapter);
        release(tensor_group::frames);
    }

    // ---- what a stage has ----
    /// FSDP1 has one tensor of all weights of a unit: of a layer, and of what stands outside of the layers.
    constexpr bool flat_units() const {
        return in_.shards_weights && f_.context.runtime.sharding.code == sharding_code::fsdp1;
    }
    /// Calls each(training_state, copies) for the tensors that the optimizer steps.
    template <class Each>
    constexpr void for_each_stepped(Each&& each) const {
        if (!flat_units()) return for_each_weight_here([&](const trained_weight& w) { each(w.kept, w.copies); });
        for (std::int32_t i = 0; i < layers(); ++i) each(f_.layers[kind_at(i)].state, 1);
        each(s_.weights.ends, 1);
    }
    /// Of a weight's optimizer states, the copy that is updated.
    constexpr byte_count master_of(const training_state& kept) const {
        const std::int64_t parts = f_.job.optimizer.moments + 1;
        return f_.weights.master ? div_down(kept.optimizer.states, parts) : byte_count{};
    }
    constexpr bool keeps_gradients() const { return f_.context.runtime.sharding.keeps_gradients; }
    constexpr bool shares_gradients() const { return f_.layout.zero >= 2 && f_.layout.dense_shard_ranks() > 1; }
    constexpr std::int32_t layers() const { return s_.holds.layers.size(); }
    constexpr std::size_t kind_at(std::int32_t position) const {
        return f_.by_stage.order[static_cast<std::size_t>(s_.holds.layers.first + position)];
    }
    constexpr const layer& layer_at(std::int32_t position) const {
        return f_.job.model.layers.kinds[kind_at(position)];
    }
    template <class Each>
    constexpr void for_each_weight_here(Each&& each) const {
        for_each_trained_weight(
            f_.weights, s_.holds,
            [](stage_range range, auto&& layer) {
                for (std::int32_t i = range.first; i < range.last; ++i) layer(i);
            },
            each);
    }
    /// Calls each(weight_role, copies, training_state) for the weights of a layer.
    template <class Each>
    constexpr void for_each_layer_weight(std::int32_t position, Each&& each) const {
        weight_fold fold{f_.weights, weight_place::layer};
        for_each_weight(layer_at(position), f_.job.model.hidden, [&](const weight& w) {
            each(w.role, local_shape(w, f_.layout).copies, fold.next(w, weight_place::layer));
        });
    }
    constexpr std::int64_t saved_group(std::int64_t batch, std::int32_t position, std::size_t point) const {
        const std::int64_t slot = batch % (whole_batches() + 2);
        return static_cast<std::int64_t>(tensor_group::saved) +
               (slot * layers() + position) * static_cast<std::int64_t>(backward_points + 1) +
               static_cast<std::int64_t>(point);
    }
    constexpr std::int64_t saved_group(std::int64_t batch, std::int32_t position, backward_point until) const {
        return saved_group(batch, position, static_cast<std::size_t>(until));
    }
    /// What a layer keeps where it does not keep all: the input of one that is recomputed.
    constexpr std::int64_t checkpoint_group(std::int64_t batch, std::int32_t position) const {
        return saved_group(batch, position, backward_points);
    }

    // ---- the order of a step ----
    /// Of the micro-batches in flight, those of which all layers are.
    constexpr std::int64_t whole_batches() const {
        const auto whole = static_cast<std::int64_t>(held_);
        return whole > 0 ? whole : 1;
    }
    constexpr void step(bool first) {
        const std::int64_t whole = whole_batches();
        const std::int64_t batches = f_.micro_batches < whole + 2 ? f_.micro_batches : whole + 2;
        const auto part = static_cast<std::int32_t>((held_ - static_cast<double>(whole)) * layers() + 0.5);
        std::int32_t ahead = 0;  // layers of the next micro-batch that are done
        allocate(tensor_group::before_layers, s_.saved.before);
        for (std::int64_t i = 0; i < batches; ++i) {
            forward(i, ahead, layers());
            ahead = 0;
            if (s_.last) logits_forward();
            if (i + 1 < whole) continue;
            if (part > 0 && i + 1 < batches) forward(i + 1, 0, ahead = part);
            backward(i + 1 - whole);
        }
        for (std::int64_t i = batches - whole + 1; i < batches; ++i)
            if (i >= 0) backward(i);
        release(tensor_group::before_layers);
        optimizer_step(first);
    }

    // ---- forward ----
    constexpr void forward(std::int64_t batch, std::int32_t from, std::int32_t to) {
        if (to == layers() && in_.shards_weights)
            allocate(tensor_group::ends, s_.weights.ends.gathered, tensor_stream::communication);
        allocate(tensor_group::frames, model_frames(in_));
        for (std::int32_t i = from; i < to; ++i) {
            gather(i);
            const training_layer& t = f_.layers[kind_at(i)];
            const bool whole = stays_ && t.kept == t.saved;
            forward_layer(batch, i, whole, whole);
            if (!whole) allocate(checkpoint_group(batch, i), t.kept);
        }
        if (!f_.context.runtime.sharding.reshards_after_forward) return release(tensor_group::frames);
        release(tensor_group::even_unit), release(tensor_group::odd_unit);
        release(tensor_group::frames);
    }
    /// Weights of one layer that ZeRO 3 gathers, while the layer before it is computed.
    constexpr void gather(std::int32_t position) {
        if (!in_.shards_weights) return;
        const tensor_group unit = position % 2 == 0 ? tensor_group::even_unit : tensor_group::odd_unit;
        if (f_.context.runtime.sharding.reshards_after_forward) release(unit);
        allocate(unit, f_.layers[kind_at(position)].state.gathered, tensor_stream::communication);
    }

    struct shown_temporaries final : live_tensor_visitor {
        step_writer& to;
        constexpr explicit shown_temporaries(step_writer& writer) : to{writer} {}
        constexpr void operator()(byte_count size) const override { to.allocate(tensor_group::temporaries, size); }
        constexpr void end() const override { to.release(tensor_group::temporaries); }
    };
    /// The operations of a layer. `saves`: what autograd saves stays in the groups of its points; `records`: it does.
    constexpr void forward_layer(std::int64_t batch, std::int32_t position, bool saves, bool records) {
        const shown_temporaries shown{*this};
        forward_sweep sweep{layer_at(position),
                            f_.job.model.hidden,
                            f_.context,
                            f_.layout,
                            records ? saved_tensors::stay : saved_tensors_of(f_.job, f_.context),
                            &shown};
        saved_so_far saved;
        write_casts(batch, position, saves);
        for_each_training_activation(
            layer_at(position), f_.job.model.hidden, f_.context,
            [&](const activation& a) {
                if (saves) allocate(saved_group(batch, position, a.until), local_bytes(a, f_.layout));
            },
            [](const activation&) {},
            [&](const layer_operation& o, bool input) {
                saved.input = records && input;
                sweep(o, saved);
            });
        if (!saves) release(tensor_group::whole_gradient);
    }
    /// Autocast's copies of weights.
    constexpr void write_casts(std::int64_t batch, std::int32_t position, bool saves) {
        const std::int64_t group = saves ? saved_group(batch, position, backward_point::attention_norm)
                                         : static_cast<std::int64_t>(tensor_group::whole_gradient);
        for_each_layer_weight(
            position, [&](weight_role, std::int64_t, const training_state& kept) { allocate(group, kept.casts.all); });
    }

    // ---- the loss ----
    /// The tensors of the loss at its points: in the forward pass, then in the backward pass.
    constexpr void logits_forward() {
        for_each_output_activation(f_.job.model, f_.context, [&](const activation& a) {
            allocate(tensor_group::loss, local_bytes(a, f_.layout));
        });
        allocate(tensor_group::loss, s_.weights.prediction.logits);
        allocate(tensor_group::loss, s_.weights.prediction.kept);
        at_loss_point(loss_point::saved);
        at_loss_point(loss_point::forward);
    }
    constexpr void logits_backward(bool first) {
        at_loss_point(loss_point::gradient);
        at_loss_point(loss_point::head);
        if (f_.context.runtime.kernels.linear != linear_code::plain && !f_.context.frozen)
            allocate(tensor_group::whole_gradient, s_.weights.ends.largest);  // what it adds to the kept gradient
        release(tensor_group::whole_gradient);
        write_gradients(weight_place::output, first);
        at_loss_point(loss_point::saved, false);
        release(tensor_group::loss);
    }
    /// Frees what a point has not, then makes what it has and is not there. `stays`: what is saved does.
    constexpr void at_loss_point(loss_point point, bool stays = true) {
        std::array<bool, live_logits::most> needed{};
        const auto need = [&](activation_role role, byte_count size, bool makes) {
            std::size_t free = live_logits::most;
            for (std::size_t i = live_logits::most; i-- > 0;) {
                if (live_.sizes[i] == byte_count{}) free = i;
                if (live_.roles[i] != role || live_.sizes[i] != size || needed[i]) continue;
                needed[i] = true;
                return;
            }
            if (!makes || free == live_logits::most) return;
            live_.roles[free] = role, live_.sizes[free] = size, needed[free] = true;
            allocate(loss_group(free), size);
        };
        const std::int64_t whole = product(f_.context.tokens.all(), f_.job.model.vocabulary);
        const auto need_all = [&](bool makes) {
            needed = {};
            for_each_loss_activation(f_.job.model, f_.context, [&](const activation& a, loss_point at) {
                const bool kept =
                    at == loss_point::kept && (point == loss_point::forward || point == loss_point::gradient);
                if (!stays || (at != point && at != loss_point::saved && !kept)) return;
                const std::int64_t count = whole > 0 && a.elements % whole == 0 ? a.elements / whole : 1;
                for (std::int64_t i = 0; i < count; ++i) need(a.role, div_up(local_bytes(a, f_.layout), count), makes);
            });
        };
        need_all(false);
        for (std::size_t i = 0; i < live_logits::most; ++i)
            if (live_.sizes[i] > byte_count{} && !needed[i]) release(loss_group(i)), live_.sizes[i] = {};
        need_all(true);
    }
    static constexpr std::int64_t loss_group(std::size_t i) {
        return static_cast<std::int64_t>(tensor_group::logits) + static_cast<std::int64_t>(i);
    }

    // ---- backward ----
    constexpr void backward(std::int64_t batch) {
        const bool first = batch == 0;
        if (s_.last) logits_backward(first);
        allocate(output_gradient(layers()), in_.residual);
        for (std::int32_t i = layers(); i-- > 0;) {
            gather(i);
            backward_layer(batch, i, first);
        }
        if (first || f_.context.runtime.kernels.linear == linear_code::plain) {
            const byte_count again = second_gradient(in_);
            for (byte_count left = summed_gradients(in_); again > byte_count{} && left >= again; left -= again)
                allocate(tensor_group::temporaries, again);
            write_gradients(weight_place::input, first);
            release(tensor_group::temporaries);
        }
        release(output_gradient(0)), release(output_gradient(1));
        for (std::int32_t i = 0; keeps_input_gradients(in_) && i < layers(); ++i) release(checkpoint_group(batch, i));
        release(tensor_group::even_unit), release(tensor_group::odd_unit), release(tensor_group::ends);
    }
    static constexpr tensor_group output_gradient(std::int32_t position) {
        return position % 2 == 0 ? tensor_group::even_gradient : tensor_group::odd_gradient;
    }
    /// Gradients of the weights outside of the layers.
    constexpr void write_gradients(weight_place place, bool first) {
        if (keeps_gradients()) return;
        for_each_weight_here([&](const trained_weight& w) {
            if (w.place == place) write_gradient(w.kept, w.copies, first);
        });
        if (first && flat_units())
            allocate(tensor_group::gradients,
                     place == weight_place::input ? s_.weights.input.gradients.kept : s_.weights.output.gradients.kept);
        release(tensor_group::whole_gradient);
    }
    /// A weight's gradient: what the rank keeps of it, or one that is added to that of earlier micro-batches.
    constexpr void write_gradient(const training_state& kept, std::int64_t copies, bool first) {
        if (shares_gradients() || !first || f_.job.optimizer.in_backward)
            allocate_copies(tensor_group::whole_gradient, kept.gradients.whole, copies);
        if (first && !flat_units()) allocate_copies(tensor_group::gradients, kept.gradients.kept, copies);
        if (!shares_gradients()) release(tensor_group::whole_gradient);
    }
    constexpr void backward_layer(std::int64_t batch, std::int32_t position, bool first) {
        const training_layer& t = f_.layers[kind_at(position)];
        const bool whole = stays_ && t.kept == t.saved;
        if (!whole) forward_layer(batch, position, true, true);
        for (std::size_t p = 0; p < backward_points; ++p) {
            const auto point = static_cast<backward_point>(p);
            for_each_training_activation(
                layer_at(position), f_.job.model.hidden, f_.context, [](const activation&) {},
                [&](const activation& a) {
                    if (a.until == point) allocate_activation(static_cast<std::int64_t>(tensor_group::temporaries), a);
                },
                [](const layer_operation&, bool) {});
            if (!keeps_gradients())
                for_each_layer_weight(position, [&](weight_role role, std::int64_t copies, const training_state& kept) {
                    if (gradient_point(role) == point) write_gradient(kept, copies, first);
                });
            release(tensor_group::temporaries);
            release(saved_group(batch, position, point));
        }
        release(tensor_group::whole_gradient);
        if (first && flat_units()) allocate(tensor_group::gradients, t.state.gradients.kept);
        allocate(output_gradient(position), in_.residual);
        if (keeps_input_gradients(in_)) return;
        release(output_gradient(position + 1));
        if (!whole) release(checkpoint_group(batch, position));
    }
    /// The point of the backward pass at which a weight's gradient is made: as gradients_so_far() has it.
    static constexpr backward_point gradient_point(weight_role role) {
        return role == weight_role::down_proj ? backward_point::output
               : is_feed_forward(role)        ? backward_point::norm
                                              : backward_point::attention_norm;
    }

    // ---- the optimizer ----
    constexpr void optimizer_step(bool first) {
        const job& j = f_.job;
        if (first && shards_whole_tensors(j, f_.layout))
            allocate(tensor_group::lasting, s_.weights.all.optimizer.states);
        if (first && !shards_whole_tensors(j, f_.layout))
            for_each_stepped([&](const training_state& kept, std::int64_t copies) {
                const byte_count master = keeps_gradients() && f_.layout.zero > 0 ? byte_count{} : master_of(kept);
                const byte_count moments = kept.optimizer.states - master_of(kept);
                const std::int64_t count = j.optimizer.moments > 1 ? j.optimizer.moments : 1;
                allocate_copies(tensor_group::lasting, master, copies);
                for (std::int64_t i = 0; i < count; ++i)
                    allocate_copies(tensor_group::lasting, div_down(moments, count), copies);
            });
        for_each_stepped([&](const training_state& kept, std::int64_t copies) {
            allocate_copies(tensor_group::temporaries, kept.optimizer.temporaries, copies);
        });
        allocate(tensor_group::temporaries, s_.weights.all.optimizer.largest_step);
        allocate(tensor_group::temporaries, s_.zero.stepping);
        release(tensor_group::temporaries);
        release(tensor_group::gradients);
    }

    const folded_job& f_;
    const training_stage& s_;
    stage_step in_;
    Visit& visit_;
    double held_;  ///< micro-batches in flight
    bool stays_;   ///< what layers save stays on the GPU
    live_logits live_{};
};

}  // namespace detail

template <class Visit>
constexpr void for_each_tensor_event(const job& j, const layout& l, const gpu& card, std::int32_t stage,
                                     std::int32_t steps, Visit&& visit) {
    const layer_stack by_stage = l.deals_evenly() ? j.model.layers : ordered_by_stage(j.model.layers, l);
    const detail::folded_job folded{j, l, by_stage, sdpa_backend_of(card)};
    const detail::training_stage here = detail::training_stage_of(folded, placement_of(j, l, stage));
    detail::step_writer{folded, here, visit}.write(steps);
}

}  // namespace llmres::inline v0
