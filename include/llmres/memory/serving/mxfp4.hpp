// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/loading.hpp>
#include <llmres/values/units.hpp>

/// What routed experts in MXFP4 take beyond their values and scales once kernels have them in their own order (vLLM's
/// mxfp4.py).
namespace llmres::inline v0::detail {

/// One GPU's part of a layer's experts, gate and up joined.
struct local_experts {
    std::int64_t count = 0;
    std::int64_t width = 0;  ///< of one expert's inner features
    std::int64_t gates = 0;  ///< matrices from the hidden width to the inner one: 2 with a gate
    std::int64_t hidden = 0;

    /// Bytes of values and of scales: 17 for 32 values.
    constexpr byte_count plain() const { return bytes((gates + 1) * width * hidden / 32 * 17 * count); }
};

constexpr local_experts local_experts_of(const layer& kind, std::int64_t hidden, const layer_split& l) {
    local_experts found{.hidden = hidden};
    for_each_weight(kind, hidden, [&](const weight& whole) {
        if (!whole.routed || !whole.quantised || !is_feed_forward(whole.role)) return;
        const weight w = local_part(whole, l);
        found.count = w.copies;
        if (whole.role == weight_role::down_proj)
            found.width = w.columns;
        else
            ++found.gates;
    });
    return found;
}

/// Bytes beyond local_experts::plain().
struct expert_kernels {
    byte_count expected{};
    byte_count perhaps{};  ///< beyond those, where other kernels run instead
};

constexpr std::int64_t multiple_above(std::int64_t n, std::int64_t granule) {
    return ceil_quotient(n, granule) * granule;
}

/// Marlin pads inner features to 128 and the hidden width to 256 (mxfp4_round_up_hidden_size_and_intermediate_size).
constexpr byte_count padded_for_marlin(const local_experts& e) {
    local_experts padded = e;
    padded.width = multiple_above(e.width, 128);
    padded.hidden = multiple_above(e.hidden, 256);
    return padded.plain() - e.plain();
}

/// A matrix as Triton's kernels for Hopper read it: its own scales (w13_weight_scale) stay beside those in the kernels'
/// order, of 256 output features and pairs of blocks; values are padded to 64 output and 128 input features
/// (_swizzle_mxfp4; triton_kernels: hopper_scale.py, hopper_value.py).
constexpr std::int64_t bytes_on_hopper(std::int64_t outputs, std::int64_t inputs, bool pads_values) {
    const std::int64_t blocks = ceil_quotient(inputs, std::int64_t{32});
    const std::int64_t values =
        pads_values ? multiple_above(outputs, 64) * multiple_above(inputs, 128) / 2 : outputs * inputs / 2;
    return values + outputs * blocks + multiple_above(outputs, 256) * multiple_above(blocks, 2);
}

constexpr expert_kernels expert_kernels_of(const layer& kind, std::int64_t hidden, const layer_split& l,
                                           const mxfp4_experts& kernels) {
    if (!kernels.padded) return {};
    const local_experts e = local_experts_of(kind, hidden, l);
    const byte_count marlin = padded_for_marlin(e);
    if (!kernels.scales_again) return {marlin, {}};
    const std::int64_t width = multiple_above(e.width, 64);
    const std::int64_t held = bytes_on_hopper(e.gates * width, hidden, kernels.pads_values) +
                              bytes_on_hopper(hidden, width, kernels.pads_values);
    const byte_count triton = bytes(held * e.count) - e.plain();
    return {triton, beyond(marlin, triton)};
}

}  // namespace llmres::inline v0::detail
