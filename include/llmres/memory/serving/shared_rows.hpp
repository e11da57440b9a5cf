// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving/stages.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/units.hpp>

/// What does each GPU hold where all share the rows of each matrix (llama.cpp's --split-mode row)?
namespace llmres::inline v0::detail {

/// Whether the GPUs of a layout share the rows of each matrix.
constexpr bool shares_rows(const job& j, const layout& l) { return l.pipeline > 1 && splits_rows(j); }

/// GPUs that share the rows of each matrix, evenly (ggml's split buffers). Where the first GPU holds all else, its
/// caches and its graph are those of one GPU that has all layers (llama.cpp until pull request 10026: buft_layer.buft
/// is main_gpu's); else each has those of its layers, and their routed experts whole, which split buffers do not take
/// (that pull request: "KV and other non-matrix weights are split among the available GPUs in the same way as split by
/// layer mode"). Batches are not computed in turn: llama_context has copies of inputs for --split-mode layer alone.
class row_sharing_gpus {
public:
    constexpr row_sharing_gpus(const job& j, const layout& l, const runtime& r, serving_folds& folds)
        : layout_{l},
          one_gpu_{on_one_gpu(l)},
          runtime_{without_copies(r)},
          whole_{j, one_gpu_, runtime_, folds},
          staged_{j, layout_, runtime_, folds},
          all_{whole_.fold_layers().stage(placement_of(j, one_gpu_, 0))} {
        staged_.fold_layers();
    }
    row_sharing_gpus(const row_sharing_gpus&) = delete;  // its stages refer to it
    row_sharing_gpus& operator=(const row_sharing_gpus&) = delete;

    constexpr const serving_stages& stages() const { return first_holds_rest() ? whole_ : staged_; }
    /// What a GPU holds beside its part of matrices.
    constexpr placement of(std::int32_t gpu) const {
        if (!first_holds_rest()) return placement_of(staged_.job, layout_, gpu);
        return gpu == 0 ? placement_of(whole_.job, one_gpu_, 0) : placement{.stage = gpu};
    }
    constexpr serving_stage stage(std::int32_t gpu) const {
        const placement here = of(gpu);
        const bool holds_rest = first_holds_rest();
        const byte_count unshared = holds_rest ? vectors() : experts_of(placement_of(whole_.job, one_gpu_, 0));
        serving_stage s;
        if (!holds_rest)
            s = staged_.stage(here);
        else if (gpu == 0)
            s = all_;
        s.index = gpu;
        s.weights = div_up(all_.weights - unshared, layout_.pipeline);
        if (!holds_rest)
            s.weights += experts_of(here);
        else if (gpu == 0)
            s.weights += unshared;
        return s;
    }
    constexpr memory_breakdown memory(std::int32_t gpu) const {
        return with_engine(stage(gpu), stages().step, runtime_, layout_);
    }
    constexpr serving_phases phases(std::int32_t gpu) const { return phases_of(stage(gpu), stages().step, runtime_); }
    constexpr memory_breakdown busiest() const {
        memory_breakdown most = memory(0);
        if (first_holds_rest()) return most;
        for (std::int32_t gpu = 1; gpu < layout_.pipeline; ++gpu)
            if (const memory_breakdown m = memory(gpu); m.expected() > most.expected()) most = m;
        return most;
    }

private:
    static constexpr layout on_one_gpu(layout l) {
        l.pipeline = 1;
        l.stages = {};
        return l;
    }
    static constexpr runtime without_copies(runtime r) {
        r.step.copies = 1;
        return r;
    }
    constexpr bool first_holds_rest() const { return runtime_.layouts.rows != row_split::beside_layers; }
    constexpr byte_count experts_of(const placement& here) const {
        if (whole_.weights.file) return whole_.weights.file->sum(here.expert_layers).experts;
        byte_count all;
        for (std::size_t k = 0; k < whole_.caches.kinds(); ++k)
            all += whole_.kinds[k].held.weights.experts * here.expert_counts[k];
        return all;
    }
    /// Weights that are no matrices, in fp32 (norms and biases).
    constexpr byte_count vectors() const {
        byte_count all;
        for_each_weight(whole_.job, placement_of(whole_.job, one_gpu_, 0),
                        [&](const weight& w, std::int32_t times, weight_place) {
                            if (w.rows == 1 || w.columns == 1)
                                all += bytes(4) * product(w.count().in(parameters), std::int64_t{times});
                        });
        return all;
    }

    layout layout_;
    layout one_gpu_;
    runtime runtime_;
    serving_stages whole_;
    serving_stages staged_;
    serving_stage all_;
};

}  // namespace llmres::inline v0::detail
