// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// What a runtime's CPU side takes while the GPU computes, and which kernels it joins.
namespace llmres::inline v0 {

/// How a runtime launches the kernels of a step.
struct runtime_launches {
    /// Time in which the CPU issues the kernels of one layer's forward pass, one after another. The GPU waits where
    /// this takes longer than the kernels do. Zero: CUDA graphs, or a compiled program that issues them at once.
    interval<duration> layer{};
    /// Time of the scheduler, the sampler and Python between two steps of serving.
    interval<duration> step{};
    /// Time from a request to its first prompt token: tokenizer, queue, scheduler (serving).
    interval<duration> request{};
    /// The part of kernels' floors that remains in a step: less than all where a kernel starts while the one before it
    /// ends (CUDA graphs with programmatic dependent launches).
    double floors = 1.0;
    /// Elementwise kernels of a layer: norms, rotary embedding, activation, sums.
    double small_kernels = 6;
    /// Projections that share their input are one product: q, k and v; gate and up.
    bool joined = false;
    /// Gradients are exchanged while the backward pass goes on (DDP, FSDP; Megatron-Core's --overlap-grad-reduce, which
    /// is off by default).
    bool overlaps_gradients = true;
    /// All-reduces of one node are the runtime's own kernels, not NCCL's.
    bool own_all_reduce = false;
};

}  // namespace llmres::inline v0
