// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// How a runtime's allocator hands out memory and holds on to it: what it reserves beyond what is allocated.
namespace llmres::inline v0 {

/// Where a runtime gets its tensors' memory from.
enum class allocator_code : std::uint8_t {
    device,          ///< cudaMalloc for each tensor (ggml-cuda.cu, ggml_cuda_device_malloc)
    pytorch,         ///< PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp)
    stream_ordered,  ///< cudaMallocAsync's pool (TensorRT-LLM's CudaAllocatorAsync, CTranslate2's cuda/allocator.cc)
};

/// The names of the allocators, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<allocator_code>{"cuda_malloc", "pytorch_caching",
                                                                          "stream_ordered"};

/// How an allocator reserves memory.
struct runtime_allocator {
    /// Who hands out the memory of tensors. (Of runtimes on other hardware than NVIDIA's it says nothing.)
    allocator_code code = allocator_code::pytorch;
    /// Reserved but not allocated, as a part of what is allocated. Unit: part of one.
    interval<double> fragmentation{};
    /// Fragmentation with expandable segments. Unit: part of one.
    interval<double> expandable_fragmentation{0.0, 0.01, 0.06};
    /// PYTORCH_ALLOC_CONF=expandable_segments:True: freed blocks are merged, whatever sizes they were allocated for.
    bool expandable_segments = false;
    /// Training: reserved but not allocated, over activations. Unit: part of one. Activations are allocated and freed
    /// in every layer; logits are few and large, and not among them.
    interval<double> activation_fragmentation{};
    /// Training: gaps between activations, and blocks of the loss that no layer's have room for, follow from the step's
    /// tensors (memory/training/allocator.hpp), as they are in transformers' modules.
    bool gaps_by_step = false;
    /// Tensors of 10 MiB and more are segments of their own in steps of 2 MiB, with up to 1 MiB unused at their end.
    /// (PyTorch's caching allocator.)
    bool rounds_to_segments = false;
    /// Freed blocks of one phase stay cached while the next phase allocates others: what is reserved is nearer the sum
    /// of the phases' peaks than their maximum. (PyTorch's caching allocator.)
    bool caches_freed_blocks = false;
    /// The buffer of ggml's graph is several where it exceeds what the driver allocates at once. (ggml-alloc.c:
    /// vbuffer, pull request 15815.)
    bool splits_buffers = false;
};

/// What lies unused between allocated blocks, as a part of these.
constexpr interval<double> fragmentation_of(const runtime_allocator& a) {
    return a.expandable_segments ? a.expandable_fragmentation : a.fragmentation;
}

}  // namespace llmres::inline v0
