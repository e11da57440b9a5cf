// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/events/trained_weights.hpp>
#include <llmres/memory/sharing_rank.hpp>
#include <llmres/memory/tensor_stream.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/units.hpp>

/// How the events of a training step are written: tensors are allocated in groups, and freed group by group.
namespace llmres::inline v0::detail {

/// Groups of tensors that are freed together. From `saved` on: what a layer of a micro-batch saves until a point of its
/// backward pass.
enum class tensor_group : std::uint8_t {
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
    ends,                ///< gathered weights outside of the layers
    logits,              ///< the first of the loss's own tensors, each a group
    live = logits + 32,  ///< the first of the tensors of a forward pass that autograd does not record
    saved = live + 32,
};

/// Who sees the events.
struct event_visitor {
    constexpr virtual void allocate(std::int64_t group, byte_count size, tensor_stream stream) const = 0;
    constexpr virtual void release(std::int64_t group) const = 0;

protected:
    constexpr ~event_visitor() = default;
};

/// Writes events of one pipeline stage, and lists its weights.
class event_writer {
public:
    const folded_job& folded;
    const training_stage& stage;
    stage_step at;
    sharing_rank rank;

    constexpr event_writer(const folded_job& job, const training_stage& here, const event_visitor& visit,
                           sharing_rank of_these = sharing_rank::first)
        : folded{job}, stage{here}, at{stage_step_of(job, here)}, rank{of_these}, visit_{visit} {}

    // ---- events ----
    constexpr void allocate(std::int64_t group, byte_count size,
                            tensor_stream stream = tensor_stream::computation) const {
        if (size > byte_count{}) visit_.allocate(group, size, stream);
    }
    constexpr void allocate(tensor_group group, byte_count size,
                            tensor_stream stream = tensor_stream::computation) const {
        allocate(static_cast<std::int64_t>(group), size, stream);
    }
    constexpr void allocate_copies(tensor_group group, byte_count all, std::int64_t copies) const {
        const byte_count each = div_down(all, copies);
        if (each * copies != all) return allocate(group, all);
        for (std::int64_t i = 0; i < copies; ++i) allocate(group, each);
    }
    /// A tensor, or of gradients as many as it is times the residual stream, or the inner width, of the tokens: the
    /// inventory sums equal ones up.
    constexpr void allocate_activation(std::int64_t group, const activation& a, std::int64_t inner_width) const {
        const byte_count all = local_bytes(a, folded.split);
        std::int64_t count = 1;
        for (const std::int64_t width : {folded.job.model.hidden, inner_width}) {
            const std::int64_t one = product(folded.context.tokens.all(), width);
            if (count == 1 && a.role == activation_role::gradient && one > 0 && a.elements % one == 0)
                count = a.elements / one;
        }
        for (std::int64_t i = 0; i < count; ++i) allocate(group, div_up(all, count));
    }
    constexpr void release(std::int64_t group) const { visit_.release(group); }
    constexpr void release(tensor_group group) const { release(static_cast<std::int64_t>(group)); }

    // ---- what a stage has ----
    /// FSDP1 has one tensor of all weights of a unit: of a layer, and of what stands outside of the layers.
    constexpr bool flat_units() const {
        return at.shards_weights && folded.context.runtime.sharding.code == sharding_code::fsdp1;
    }
    /// Calls each(training_state, copies) for the tensors that the optimizer steps.
    template <class Each>
    constexpr void for_each_stepped(Each&& each) const {
        if (!flat_units()) return for_each_tensor_here(each);
        for (std::int32_t i = 0; i < layers(); ++i) each(folded.layers[kind_at(i)].state, 1);
        each(stage.weights.ends, 1);
    }
    /// Of a weight's optimizer states, the copy that is updated.
    constexpr byte_count master_of(const training_state& kept) const {
        const std::int64_t parts = folded.job.optimizer.moments + 1;
        return folded.weights.master ? div_down(kept.optimizer.states, parts) : byte_count{};
    }
    constexpr bool keeps_gradients() const { return folded.context.runtime.sharding.keeps_gradients; }
    /// Whether ranks share the gradients of each micro-batch.
    constexpr bool shares_gradients() const {
        return folded.layout.zero >= 2 && folded.layout.dense_shard_ranks() > 1 && !shares_last();
    }
    /// Whether they share those of the last one alone, and have whole ones until then.
    constexpr bool shares_last() const { return shares_last_gradients(folded.job, folded.layout); }
    /// What a rank keeps of gradients between micro-batches.
    constexpr byte_count kept_gradients(const training_state& of) const {
        return shares_last() ? whole_gradient_of(of, folded.context, folded.layout) : of.gradients.kept;
    }
    constexpr std::int32_t layers() const { return stage.holds.layers.size(); }
    constexpr std::size_t kind_at(std::int32_t position) const {
        return folded.by_stage
            .order[static_cast<std::size_t>(stage.holds.layers.first) + static_cast<std::size_t>(position)];
    }
    constexpr const layer& layer_at(std::int32_t position) const {
        return folded.job.model.layers.kinds[kind_at(position)];
    }
    template <class Each>
    constexpr void for_each_weight_here(Each&& each) const {
        for_each_trained_weight(
            folded.weights, folded.layout, stage.holds,
            [](stage_range range, auto&& layer) {
                for (std::int32_t i = range.first; i < range.last; ++i) layer(i);
            },
            each);
    }
    /// Calls each(training_state, copies) for the stage's tensors. Megatron-Core has gate and up of a feed-forward in
    /// one (core/transformer/mlp.py, linear_fc1), and query, key and value (core/transformer/attention.py, linear_qkv).
    template <class Each>
    constexpr void for_each_tensor_here(Each&& each) const {
        training_state joined;
        std::int64_t copies = 0;
        weight_role last{};
        for_each_weight_here([&](const trained_weight& w) {
            if (w.role == weight_role::bias) return static_cast<void>(each(w.kept, w.copies));
            if (copies > 0 && !(w.copies == copies && keeps_gradients() && stands_beside(last, w.role)))
                each(joined, copies), joined = {};
            joined.add(w.kept, 1);
            copies = w.copies, last = w.role;
        });
        if (copies > 0) each(joined, copies);
    }
    static constexpr bool stands_beside(weight_role one, weight_role next) {
        return (one == weight_role::q_proj && next == weight_role::k_proj) ||
               (one == weight_role::k_proj && next == weight_role::v_proj) ||
               (one == weight_role::gate_proj && next == weight_role::up_proj);
    }
    /// Calls each(weight_role, copies, training_state) for the weights of a layer.
    template <class Each>
    constexpr void for_each_layer_weight(std::int32_t position, Each&& each) const {
        weight_fold fold{folded.weights, weight_place::layer};
        for_each_weight(layer_at(position), folded.job.model.hidden, [&](const weight& w) {
            each(w.role, local_shape(w, folded.split).copies, fold.next(w, weight_place::layer));
        });
    }

private:
    const event_visitor& visit_;
};

}  // namespace llmres::inline v0::detail
