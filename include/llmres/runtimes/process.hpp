// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Memory that a runtime's process takes on each GPU beside every tensor, whatever the model.
namespace llmres::inline v0 {

/// The memory of a process beside its tensors.
struct runtime_process {
    interval<byte_count> context{};    ///< The CUDA context and loaded kernels.
    interval<byte_count> workspace{};  ///< Handles of libraries: cuBLAS, cublasLt, attention kernels.
    /// The same on a stage of a pipeline, where the runtime measures free memory after the stages' first all-reduce,
    /// which has loaded kernels by then; zero: the same.
    interval<byte_count> stage_workspace{};
    interval<byte_count> expert_workspace{};  ///< Workspaces of routed experts' grouped matrix products.
    /// Workspace of matrix products, one for each thread that multiplies, from PyTorch's allocator and therefore a part
    /// of its peak. (CublasHandlePool.cpp: 8.1 MiB; from Hopper on, see product_workspace_on(), 32.)
    byte_count product_workspace{};
    /// NCCL, for each group of more than one rank; serving: of a pair, and as much for each doubling. 0.48 to 0.72 GiB
    /// for two ranks (vLLM's logs), 1.45 for eight (ml-engineering, after the first barrier).
    interval<byte_count> communicator{};
    /// `communicator` was measured whole, whatever the size of the group; stages of a pipeline have created theirs
    /// before the runtime measures free memory. (vLLM from 0.11.1.)
    bool communicator_once = false;
    /// Communicators that pipeline stages have beside one for each way of parallelism. Unit: communicators.
    std::int32_t pipeline_groups = 0;
    /// All-reduces fused with the norm behind them (vLLM's fuse_allreduce_rms): on Hopper and Blackwell, where layers
    /// are split by tensor parallelism alone.
    interval<byte_count> fused_all_reduce{};
    interval<byte_count> cuda_graphs{};  ///< CUDA graphs that are captured after start.
    /// CUDA graphs of each layer, beside cuda_graphs, where as many sizes are captured as usual_graph_sizes.
    interval<byte_count> layer_graphs{};
};

/// Sizes that vLLM captures unless it is told otherwise: 1, 2, 4, each eighth to 248 and each sixteenth to 512.
inline constexpr std::int64_t usual_graph_sizes = 51;

/// CUDA graphs where so many sizes are captured, each taken to be as large: the nodes of a graph do not grow with the
/// tokens that it computes, and what its kernels write is shared with the largest.
constexpr interval<byte_count> graphs_of_sizes(const interval<byte_count>& usual, std::int64_t sizes) {
    const auto part = [&](byte_count all) {
        return bytes(all.in(bytes) / usual_graph_sizes * sizes +
                     all.in(bytes) % usual_graph_sizes * sizes / usual_graph_sizes);
    };
    return {part(usual.low), part(usual.expected), part(usual.high)};
}

/// The workspace of matrix products of one thread on a GPU, `since_hopper`: of compute capability 9.0 or later.
/// (CublasHandlePool.cpp, parseChosenWorkspaceSize; 32.0 MiB a thread in runs on an H100, docs/accuracy.md.)
constexpr byte_count product_workspace_on(const runtime_process& p, bool since_hopper) {
    return since_hopper && p.product_workspace > byte_count{} ? mib(32) : p.product_workspace;
}

/// The context under CUDA 11, which loads every kernel of PyTorch: 1.78 GiB (torch 1.10 on an A100).
inline constexpr interval<byte_count> context_of_cuda_11{mib(1200), mib(1823), mib(2300)};

/// A process that trains with PyTorch under CUDA 12 and later.
inline constexpr runtime_process training_process{
    // 0.3 to 0.55 GiB with lazily loaded kernels, 0.92 with all of them (pytorch/pytorch issues 107667 and 109888;
    // ml-engineering, training/performance).
    .context = {mib(400), mib(600), mib(1200)},
    // Of libraries other than cuBLAS, and of more streams than one.
    .workspace = {mib(0), mib(0), mib(48)},
    .product_workspace = kib(8320),
    // 484 to 700 MiB for a group (NVIDIA/nccl issue 964); 1.45 GiB after the first barrier on 8 GPU nodes.
    .communicator = {mib(300), mib(700), mib(1700)},
};

/// Whether CUDA graphs are captured.
constexpr bool captures_graphs(const runtime_process& p) {
    return p.cuda_graphs.high > byte_count{} || p.layer_graphs.high > byte_count{};
}

/// True if the profile describes a process at all; ideal bytes are of none.
constexpr bool takes_memory(const runtime_process& p) { return p.workspace.high > byte_count{}; }

}  // namespace llmres::inline v0
