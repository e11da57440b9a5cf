// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/allocator.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/micro_batches.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Memory of a training step: weights, gradients, optimizer states and activations. All preconditions: validate() holds
/// for job and layout, and `stage` is one of the layout's pipeline stages.
namespace llmres::inline v0 {

/// The peak of a training step on a GPU of the busiest pipeline stage, with all that the runtime adds. PyTorch's
/// attention tries FlashAttention first.
constexpr memory_breakdown training_memory(const job& j, const layout& l);

/// The peak of a training step on such a GPU of the busiest pipeline stage. PyTorch's attention tries first what it
/// does on that GPU.
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card);

/// The peak of a training step on a GPU of one pipeline stage.
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage);

/// The most bytes of tensors in each pass of a training step, of the stage that holds most in it.
constexpr training_passes training_passes_of(const job& j, const layout& l, sdpa_backend sdpa = sdpa_backend::flash);

/// Weights, gradients and optimizer states on a GPU of one pipeline stage: tensors alone, in bytes.
constexpr training_state training_state_of(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes for one GPU of a pipeline stage: weights, optimizer states, gradients and saved
/// activations, without the runtime's buffers.
constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes on a node with so many GPUs, all of the busiest stage. High: what is pinned may
/// be twice as large: PyTorch rounds each pinned allocation up to a power of two (ATen, CachingHostAllocator).
constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus);

/// What a GPU of one pipeline stage saves of one micro-batch from its forward pass to its backward pass.
constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage = 0,
                                       sdpa_backend sdpa = sdpa_backend::flash);

/// Of saved_activations(), what the layers save: what offloading takes to main memory.
constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage = 0,
                                     sdpa_backend sdpa = sdpa_backend::flash);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr void raise(byte_count& most, byte_count size) { most = size > most ? size : most; }

constexpr memory_breakdown memory_of_stages(const folded_job& f, std::int32_t first_stage, std::int32_t end_stage) {
    const job& j = f.job;
    const layout& l = f.layout;
    stage_peak peak;
    byte_count reduced, gathered, updated;  // a step waits for the stage that exchanges most, whichever holds most
    for_each_stage(f, first_stage, end_stage, [&](const placement& here) {
        const stage_peak one = peak_of(f, training_stage_of(f, here));
        raise(reduced, one.details.reduced);
        raise(gathered, one.details.gathered);
        raise(updated, one.details.updated);
        peak = busier(peak, one);
    });
    memory_breakdown m = with_runtime(peak.tensors, peak.details, j, l, f.described(), idle_blocks_of(f, peak),
                                      f.context.attention.sdpa);
    m.reduced = reduced, m.gathered = gathered, m.updated = updated;
    m.stage = peak.stage;
    m.phase = phase_of(peak.point);
    if (f.context.runtime.sharding.code == sharding_code::deepspeed && l.zero >= 3 && l.dense_shard_ranks() > 1) {
        const byte_count more =
            live_weights_of(f.context, peak.details.gathered, f.widest.gathered, f.widest.largest).more;
        m[memory_term::communication].high += more;
        m.allocated.high += more;
        m.reserved.high += more;
    }
    return m;
}

/// What use() makes of a job whose layers were folded in the order of the stages.
template <class Use>
constexpr auto with_folds(const job& j, const layout& l, sdpa_backend sdpa, training_folds& folds, const Use& use) {
    return as_trained(j, l, [&](const job& trained) {
        const layer_stack& layers = trained.model.layers;
        if (l.deals_evenly() || layers.kind_count == 1)  // they are in that order, or all the same
            return use(folded_job{trained, l, layers, sdpa, folds});
        const layer_stack by_stage = ordered_by_stage(layers, l);
        return use(folded_job{trained, l, by_stage, sdpa, folds});
    });
}

constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t first_stage,
                                           std::int32_t end_stage, sdpa_backend sdpa, training_folds& folds) {
    return with_folds(j, l, sdpa, folds,
                      [&](const folded_job& f) { return memory_of_stages(f, first_stage, end_stage); });
}

/// Whether the first stage surely exceeds so much: one candidate of its peak does, the beginning of its last layer's
/// backward pass, or of that its weights and the optimizer's states alone.
constexpr bool first_stage_exceeds(const folded_job& f, byte_count room) {
    const placement here = placement_of(f.job, f.layout, 0);
    if (here.layers.size() == 0) return false;
    training_stage s{f, here};
    const training_state& held = s.weights.all;
    const byte_count states = f.job.steps == 1 ? byte_count{} : held.optimizer.states;
    if (held.weights + held.adapter + states > room) return true;
    complete(s, f);
    const std::size_t kind = f.by_stage.order[static_cast<std::size_t>(here.layers.last - 1)];
    return at_layer_backward(stage_step_of(f, s), peak_point::last_layer_backward, kind).tensors.all() > room;
}

/// Whether no estimate of a runtime's ends below what the inventories count.
constexpr bool estimates_no_less(const runtime& r) {
    return r.accuracy.activations.high >= 1 && r.accuracy.undescribed.high >= 1 &&
           (r.accuracy.logits.high <= 0 || r.accuracy.logits.high >= 1);
}

/// Whether the upper bound of training_memory() surely exceeds that much: the tensors of one moment do. A third of the
/// work. False decides nothing.
constexpr bool surely_exceeds(const job& j, const layout& l, sdpa_backend sdpa, byte_count room,
                              training_folds& folds) {
    return estimates_no_less(j.runtime) &&
           with_folds(j, l, sdpa, folds, [&](const folded_job& f) { return first_stage_exceeds(f, room); });
}

constexpr training_passes passes_of_stages(const folded_job& f) {
    training_passes most;
    for_each_stage(f, 0, f.layout.pipeline, [&](const placement& here) {
        const training_passes one = passes_of(f, training_stage_of(f, here));
        raise(most.forward, one.forward);
        raise(most.loss, one.loss);
        raise(most.backward, one.backward);
        raise(most.step, one.step);
        raise(most.reference, one.reference);
    });
    return most;
}

constexpr byte_count host_memory(const folded_job& f, const placement& here) {
    const job& j = f.job;
    byte_count held = stage_weights{f, here}.all.host;
    // A reference is offloaded where it is said to be, or as what is trained is.
    if (reference_of(j) == reference_model::offloaded ||
        (j.offload.parameters == offload_place::host && loads_reference(j))) {
        job on_gpu = j;
        on_gpu.offload = {};
        on_gpu.reference = reference_model::loaded;
        held += reference_beside(on_gpu, f.layout, stage_weights{folded_job{on_gpu, f.layout}, here}.all.weights);
    }
    const double batches = in_flight(f.layout, here.stage, f.micro_batches);
    for (std::size_t k = 0; k < f.kinds(); ++k)  // parts of layers that are offloaded by name
        held += scaled_up(f.layers[k].away * here.counts[k], batches);
    if (j.offload.activations == offload_place::host) {
        const saved_layers saved = saved_by_layers(f, here);
        held += scaled_up(saved.all - saved.cut, is_naive_pipeline(j, f.layout) ? 1.0 : batches);
    }
    return held;
}

constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus,
                                                   training_folds& folds) {
    if (upcasts(j, l)) return host_memory_of_node(upcast(j), l, gpus, folds);
    const folded_job folded{j, l, j.model.layers, sdpa_backend::flash, folds};
    byte_count most;
    for_each_stage(folded, 0, l.pipeline, [&](const placement& here) {
        const byte_count held = host_memory(folded, here) * (gpus < l.gpus() ? gpus : l.gpus());
        if (held > most) most = held;
    });
    return {most, most, j.offload.pinned ? most * 2 : most};
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    detail::training_folds folds;
    return detail::training_memory(j, l, 0, l.pipeline, sdpa_backend::flash, folds);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card) {
    detail::training_folds folds;
    return detail::training_memory(j, l, 0, l.pipeline, sdpa_backend_of(card), folds);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage) {
    detail::training_folds folds;
    return detail::training_memory(j, l, stage, stage + 1, sdpa_backend::flash, folds);
}

constexpr training_passes training_passes_of(const job& j, const layout& l, sdpa_backend sdpa) {
    if (upcasts(j, l)) return training_passes_of(upcast(j), l, sdpa);
    const auto with = [&](const layer_stack& layers) {
        return detail::passes_of_stages(detail::folded_job{j, l, layers, sdpa, detail::forward_moments::all});
    };
    return l.deals_evenly() ? with(j.model.layers) : with(ordered_by_stage(j.model.layers, l));
}

constexpr training_state training_state_of(const job& j, const layout& l, std::int32_t stage) {
    if (upcasts(j, l)) return training_state_of(upcast(j), l, stage);
    return detail::stage_weights{detail::folded_job{j, l}, placement_of(j, l, stage)}.all;
}

constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage) {
    if (upcasts(j, l)) return host_memory(upcast(j), l, stage);
    return detail::host_memory(detail::folded_job{j, l}, placement_of(j, l, stage));
}

constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus) {
    detail::training_folds folds;
    return detail::host_memory_of_node(j, l, gpus, folds);
}

constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage, sdpa_backend sdpa) {
    if (upcasts(j, l)) return saved_by_layers(upcast(j), l, stage, sdpa);
    const detail::saved_layers saved =
        detail::saved_by_layers(detail::folded_job{j, l, sdpa}, placement_of(j, l, stage));
    return saved.all - saved.cut;
}

constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage, sdpa_backend sdpa) {
    if (upcasts(j, l)) return saved_activations(upcast(j), l, stage, sdpa);
    const detail::folded_job f{j, l, sdpa};
    const detail::training_stage s = detail::training_stage_of(f, placement_of(j, l, stage));
    const detail::saved_layers layers = detail::saved_by_layers(f, s.holds);
    const detail::prediction_memory& prediction = s.weights.prediction;
    byte_count saved = layers.all - layers.cut + detail::saved_before_layers(f, s.holds, s.encoder) + prediction.kept +
                       prediction.logits;
    if (s.last) saved += f.ends.loss.saved + f.ends.loss.kept + f.ends.after_layers;
    return saved;
}

}  // namespace llmres::inline v0
