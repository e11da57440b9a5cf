// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/interval.hpp>
#include <llmres/maybe.hpp>
#include <llmres/text.hpp>
#include <llmres/units.hpp>

/// What an engine adds to the tensors: its context, its workspaces, the way it hands out and holds on to memory.
/// Each constant of a profile (runtimes/*.hpp) names its source, and a profile is true for the versions it names.
namespace llmres {

struct runtime {
    text<23> name{};
    text<31> versions{};  ///< the versions the constants were taken from

    // Per GPU, whatever the job.
    interval<byte_count> context{};       ///< CUDA context and loaded kernels
    interval<byte_count> workspace{};     ///< library handles: cuBLAS, attention kernels
    interval<byte_count> communicator{};  ///< NCCL, once for each group of more than one rank that the GPU is in

    /// What the allocator holds beyond what it handed out, as a part of the latter.
    interval<double> fragmentation{};

    // Engines that allot a pool at start.
    maybe<double> gpu_memory_utilization{};  ///< the part of the visible memory that the engine lets itself use
    token_count kv_block{};                  ///< tokens a cache block holds; 0: caches grow token by token
    token_count max_batched_tokens{};        ///< prompt tokens in one step; 0: a whole prompt
    interval<byte_count> cuda_graphs{};      ///< captured after start

    friend constexpr bool operator==(const runtime& a, const runtime& b) {
        return a.name == b.name && a.versions == b.versions;
    }
};

/// Ideal bytes: tensors and nothing else.
inline constexpr runtime no_runtime{.name = "none"};

}  // namespace llmres
