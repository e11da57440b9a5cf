// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving/host.hpp>
#include <llmres/memory/serving/remembered.hpp>
#include <llmres/memory/serving/shared_rows.hpp>
#include <llmres/memory/serving/stages.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Memory of serving: weights, the cache of every sequence at its full context, and the fullest moment of a step.
namespace llmres::inline v0 {

/// The busiest pipeline stage, under the job's own runtime or another (its defaults resolved for a device, say).
/// Preconditions: validate() holds for job and layout.
constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r);
/// The memory of the busiest stage under the job's own runtime.
constexpr memory_breakdown serving_memory(const job& j, const layout& l);

/// One pipeline stage, the busiest or not, from 0 to l.pipeline - 1.
constexpr memory_breakdown serving_memory_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage);

/// The phases of serving on a GPU of one pipeline stage: the largest is `allocated` of that stage's memory.
constexpr serving_phases serving_phases_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage);

/// Main memory that a runtime's processes take on a node with so many GPUs: what it leaves on the host, once a replica.
/// Low: without weights that are pages of a mapped file, which the kernel may drop (runtime_loading::maps_weights).
/// Processes share such pages. Zero where nothing is left there.
constexpr interval<byte_count> serving_host_memory(const job& j, const layout& l, std::int32_t gpus);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Memory of the busiest stage, with what layouts of the same job have in common.
constexpr memory_breakdown busiest_stage(const job& j, const layout& l, const runtime& r, serving_folds& folds) {
    if (shares_rows(j, l)) return row_sharing_gpus{j, l, r, folds}.busiest();
    serving_stages stages{j, l, r, folds};
    if (!folds.stages.keeps() || l.stages.chunks > 0) return busiest_stage(stages.fold_layers());
    stage_fold fold{stages.step.split, l, step_tokens{stages.step}};
    slot<stage_without_caches> room;
    return busiest_of(stages, [&](std::int32_t stage, byte_count) -> const stage_without_caches& {
        fold.stage = stage;
        return folds.stages.get(fold, [&] { return stages.fold_layers().fixed_stage(stage); }, room);
    });
}

}  // namespace detail

constexpr memory_breakdown serving_memory_of_stage(const job& j, const layout& l, const runtime& r,
                                                   std::int32_t stage) {
    detail::serving_folds folds;
    if (detail::shares_rows(j, l)) return detail::row_sharing_gpus{j, l, r, folds}.memory(stage);
    return detail::serving_stages{j, l, r, folds}.fold_layers().memory(placement_of(j, l, stage));
}

constexpr serving_phases serving_phases_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage) {
    detail::serving_folds folds;
    if (detail::shares_rows(j, l)) return detail::row_sharing_gpus{j, l, r, folds}.phases(stage);
    detail::serving_stages stages{j, l, r, folds};
    return detail::phases_of(stages.fold_layers().stage(placement_of(j, l, stage)), stages.step, r);
}

constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r) {
    detail::serving_folds folds;
    return detail::busiest_stage(j, l, r, folds);
}

constexpr memory_breakdown serving_memory(const job& j, const layout& l) { return serving_memory(j, l, j.runtime); }

constexpr interval<byte_count> serving_host_memory(const job& j, const layout& l, std::int32_t gpus) {
    const detail::host_part host = detail::host_part_of(j);
    const bool no_layers = host.expert_layers == 0;
    if (!host.embedding && !host.head && no_layers) return {};
    const auto of_node = [&](const detail::host_share& share) {
        const std::int64_t replicas = l.all_data_ranks();
        const std::int64_t held = gpus / (std::int64_t{l.tensor} * l.pipeline);
        const std::int64_t processes = held < 1 ? 1 : held < replicas ? held : replicas;
        const bool mapped = j.runtime.loading.maps_weights;
        const byte_count weights = share.weights * (mapped ? 1 : processes);
        const interval<byte_count>& beside = share.beside_them;
        return interval<byte_count>{beside.low * processes + (mapped ? byte_count{} : weights),
                                    beside.expected * processes + weights, beside.high * processes + weights};
    };
    if (!j.gguf || no_layers) return of_node(detail::host_share_of(j, l, nullptr));
    const detail::file_layers file{j, j.runtime};
    return of_node(detail::host_share_of(j, l, &file));
}

}  // namespace llmres::inline v0
