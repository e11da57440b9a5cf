// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// What does a training job keep outside the GPU?
namespace llmres::inline v0 {

/// Where offloaded tensors are kept.
enum class offload_place : std::uint8_t {
    none,  ///< on the GPU
    host,  ///< in main memory
    nvme,  ///< on a disk
};
/// The names of the places, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<offload_place>{"none", "host", "nvme"};

/// Tensors that a training job keeps outside the GPU.
struct offload {
    /// Optimizer states and master weights; the host then computes the step.
    offload_place optimizer = offload_place::none;
    /// Shards of the weights, fetched when they are gathered (ZeRO 3, FSDP).
    offload_place parameters = offload_place::none;
    /// The inputs that recomputation starts from, or all saved activations.
    offload_place activations = offload_place::none;

    /// Inputs of these parts of layers (Megatron-Core's fine-grained-activation-offloading).
    layer_part_set modules{};

    /// Host memory is page-locked: PyTorch rounds each block up to a power of two (CachingHostAllocator.cpp).
    bool pinned = false;

    /// Whether anything is kept in main memory.
    constexpr bool to_host() const {
        return optimizer == offload_place::host || parameters == offload_place::host ||
               activations == offload_place::host || !modules.empty();
    }
    friend constexpr bool operator==(const offload&, const offload&) = default;
};

}  // namespace llmres::inline v0
