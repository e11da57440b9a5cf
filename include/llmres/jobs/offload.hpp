// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/layer_parts.hpp>
#include <string_view>

/// What a training job keeps outside the GPU.
namespace llmres::inline v0 {

enum class offload_place : std::uint8_t { none, host, nvme };
inline constexpr std::array<std::string_view, 3> offload_place_names{"none", "host", "nvme"};
constexpr std::string_view name_of(offload_place p) { return offload_place_names[static_cast<std::size_t>(p)]; }

struct offload {
    offload_place optimizer = offload_place::none;    ///< states and master weights; the host computes the step
    offload_place parameters = offload_place::none;   ///< shards, fetched when they are gathered (ZeRO 3, FSDP)
    offload_place activations = offload_place::none;  ///< what recomputation starts from, or all that is saved

    layer_module_set
        modules{};  ///< inputs of these parts of layers (Megatron-Core's fine-grained-activation-offloading)

    bool pinned =
        false;  ///< page-locked: PyTorch rounds each block of it up to a power of two (CachingHostAllocator.cpp)

    /// Whether anything goes to main memory.
    constexpr bool to_host() const {
        return optimizer == offload_place::host || parameters == offload_place::host ||
               activations == offload_place::host || !modules.empty();
    }
    friend constexpr bool operator==(const offload&, const offload&) = default;
};

}  // namespace llmres::inline v0
