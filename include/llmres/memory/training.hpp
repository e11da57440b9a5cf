// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/allocator.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/micro_batches.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/prediction.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training/stage_weights.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Memory of a training step: weights, gradients, optimizer states and activations, at the fullest of its phases.
namespace llmres::inline v0 {

/// The fullest moment of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown training_memory(const job& j, const layout& l);
/// ... with the attention kernel that PyTorch chooses on this GPU.
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card);
/// ... of one pipeline stage.
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage);

/// Weights, gradients and optimizer states on a GPU of one stage.
constexpr detail::weight_state training_state(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes for one GPU: weights, states, gradients and saved activations, without the
/// engine's buffers.
constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage = 0);

/// ... for a node with so many GPUs of the busiest stage. High: what is pinned may be twice as large.
constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus);

/// What one micro-batch keeps from its forward pass to its backward pass on a GPU of one stage.
/// `cudnn`: where PyTorch prefers that attention.
constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);
/// ... and of that, its layers: what offloading takes to the host.
constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Between ranks, DeepSpeed's defaults let 1e9 values of gathered weights live (stage3_max_live_parameters).
constexpr byte_count live_weights(const tensor_memory& t) { return t.gathered < gb(2) ? t.gathered : gb(2); }

/// `by_stage` is the job with its layers in the order of the stages.
constexpr memory_breakdown memory_of_stages(const job& j, const job& by_stage, const layout& l,
                                            std::int32_t first_stage, std::int32_t end_stage, bool cudnn) {
    folded_step folded{by_stage, l, cudnn};
    stage_peak peak;
    const bool alike = l.deals_evenly() && !takes_turns(j, l);
    for (std::int32_t index = first_stage; index < end_stage; ++index) {
        const placement here = placement_of(j, l, index);
        if (alike && index > first_stage && repeats_stage_before(j.model.layers, l, index, here.layers)) continue;
        peak = busier(peak, peak_of(folded, training_stage_of(folded, here)));
    }
    memory_breakdown m = with_runtime(peak.tensors, j, l, idle_blocks_of(folded, peak));
    m.stage = peak.stage;
    m.phase = phase_of(peak.point);
    if (folded.context.runtime.sharding.code == sharding_code::deepspeed && l.zero >= 3 && l.dense_shard_ranks() > 1) {
        const byte_count more = live_weights(peak.tensors);
        m[memory_term::communication].high += more;
        m.allocated.high += more;
        m.reserved.high += more;
    }
    return m;
}

constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t first_stage,
                                           std::int32_t end_stage, bool cudnn = false) {
    if (l.deals_evenly()) return memory_of_stages(j, j, l, first_stage, end_stage, cudnn);
    job by_stage = j;
    by_stage.model.layers = ordered_by_stage(j.model.layers, l);
    return memory_of_stages(j, by_stage, l, first_stage, end_stage, cudnn);
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    return detail::training_memory(j, l, 0, l.pipeline);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card) {
    return detail::training_memory(j, l, 0, l.pipeline, prefers_cudnn_attention(card));
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage) {
    return detail::training_memory(j, l, stage, stage + 1);
}

constexpr detail::weight_state training_state(const job& j, const layout& l, std::int32_t stage) {
    detail::folded_step f{j, l};
    detail::training_stage s{.holds = placement_of(j, l, stage)};
    detail::add_ends(s, f);
    detail::weight_state state = s.ends;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (s.holds.counts[k] > 0) state.add(f.layers[k].state, s.holds.counts[k]);
    if (detail::deals_tensors(j, l) && j.offload.optimizer == offload_place::none)
        state.optimizer = detail::dealt_optimizer(j, l, f.context, s.holds);
    return state;
}

constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage) {
    byte_count held = training_state(j, l, stage).host;
    if (!j.offload.modules.empty()) {
        const training_context context{j, l};
        const kind_counts counts = placement_of(j, l, stage).counts;
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
            held += scaled_up(detail::named_parts_of(j.model.layers.kinds[k], j, l, context).away * counts[k],
                              detail::in_flight(l, stage, micro_batches(j, l)));
    }
    if (j.offload.activations == offload_place::host)
        held += detail::takes_turns(j, l)
                    ? saved_by_layers(j, l, stage)
                    : scaled_up(saved_by_layers(j, l, stage), detail::in_flight(l, stage, micro_batches(j, l)));
    return held;
}

constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus) {
    byte_count most;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const byte_count held = host_memory(j, l, stage) * (gpus < l.gpus() ? gpus : l.gpus());
        if (held > most) most = held;
    }
    return {most, most, j.offload.pinned ? most * 2 : most};
}

namespace detail {

constexpr byte_count saved_by_layers(const folded_step& f, std::int32_t stage) {
    const job& j = f.of;
    const kind_counts counts = placement_of(j, f.over, stage).counts;
    byte_count all;
    for (std::size_t k = 0; k < f.kinds(); ++k) all += f.layers[k].kept * counts[k];
    if (j.recompute == recompute::full && j.recompute_every > 1)
        for_each_chunk(f.over, j.model.layers.size, stage,
                       [&](stage_range here, std::int32_t) { all += kept_whole(j, f.layers, here); });
    return stage == 0 ? all - cut_off(j, f.over, f.context, f.layers[0].kept) : all;
}

}  // namespace detail

constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    return detail::saved_by_layers(detail::folded_step{j, l, cudnn}, stage);
}

constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    detail::folded_step f{j, l, cudnn};
    byte_count total = detail::saved_by_layers(f, stage) + detail::mask_bytes(j.model, f.context);
    const auto count = [&](const activation& a) { total += local_bytes(a, l); };
    if (stage == 0) {
        detail::for_each_input_activation(j.model, f.context, count);
        if (j.model.encoders[0].layers > 0) total += detail::encoder_memory_of(j, l, f.context, f.fold).kept;
    }
    if (placement_of(j, l, stage).predictions > 0) {
        const detail::prediction_memory ahead = detail::prediction_memory_of(j, l, f.context, f.fold);
        total += ahead.kept + ahead.scores;
    }
    if (stage == l.last_stage()) {
        detail::for_each_output_activation(j.model, f.context, count);
        detail::for_each_loss_activation(j.model, f.context, [&](const activation& a, detail::loss_point at) {
            if (at == detail::loss_point::saved || at == detail::loss_point::kept) total += local_bytes(a, l);
        });
    }
    return total;
}

}  // namespace llmres::inline v0
