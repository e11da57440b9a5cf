// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What PyTorch's allocator hands out beyond a weight's own bytes, and which weights engines make one tensor of.
namespace llmres::inline v0::detail {

/// From 10 MiB on a tensor is a segment, in steps of 2 MiB, and a tail of up to 1 MiB is not split off
/// (CUDACachingAllocator.cpp: kMinLargeAlloc, kRoundLarge, should_split).
constexpr byte_count tail_of(byte_count tensor) {
    if (tensor < mib(10)) return {};
    const byte_count more = aligned_up(tensor, mib(2)) - tensor;
    return more <= mib(1) ? more : byte_count{};
}

/// The tensors of one layer where an engine makes one of queries, keys and values, one of gate and up, and a stack of
/// each of the routed experts'.
class fused_tensors {
public:
    /// True if a weight is a part of one of them.
    static constexpr bool takes(const weight& w) {
        if (w.rows <= 1) return false;
        return w.routed ? detail::is_feed_forward(w.role) : is_attention_input(w.role) || is_gate_or_up(w.role);
    }
    /// `padding`: of a file's tensor, which the allocator's rounding does not follow.
    constexpr void add(const weight& part, byte_count size, byte_count padding = {}) {
        const std::size_t at =
            part.routed ? (is_gate_or_up(part.role) ? 2 : 3) : (is_attention_input(part.role) ? 0 : 1);
        sizes_[at] += size;
        padding_[at] += padding;
    }
    /// Calls visit(name, size, routed) for each of them, its tail included.
    template <class Visit>
    constexpr void for_each(Visit&& visit) const {
        constexpr std::array<std::string_view, 4> names{"qkv_proj", "gate_up_proj", "gate_up_proj", "down_proj"};
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            if (sizes_[i] > byte_count{}) visit(names[i], sizes_[i] + padding_[i] + tail_of(sizes_[i]), i >= 2);
    }
    static constexpr bool is_attention_input(weight_role role) {
        return role == weight_role::q_proj || role == weight_role::k_proj || role == weight_role::v_proj;
    }

private:
    std::array<byte_count, 4> sizes_{};
    std::array<byte_count, 4> padding_{};

    static constexpr bool is_gate_or_up(weight_role role) {
        return role == weight_role::gate_proj || role == weight_role::up_proj;
    }
};

}  // namespace llmres::inline v0::detail
