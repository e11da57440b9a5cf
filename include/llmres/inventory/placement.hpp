// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// What lies on a GPU: which part of each weight.
namespace llmres::inline v0 {

/// What of a weight one GPU holds.
struct weight_shape {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t copies = 1;

    constexpr parameter_count count() const { return parameters(rows) * columns * copies; }
};

/// The largest part of a weight that one GPU of the layout holds (ZeRO apart). Heads stay whole; where there are fewer
/// of them than ranks, ranks hold copies.
constexpr weight_shape local_shape(const weight& w, const layout& l) {
    const std::int64_t ranks = w.routed ? l.expert_tensor_ranks() : l.tensor;
    weight_shape held{w.rows, w.columns,
                      w.routed && l.expert > 1 ? detail::ceil_quotient(w.copies, l.expert) : w.copies};
    if (ranks == 1 || w.split == weight_split::replicated) return held;
    std::int64_t& size = w.split == weight_split::rows ? held.rows : held.columns;
    const std::int64_t most = detail::ceil_quotient(detail::ceil_quotient(size, w.granule), ranks) * w.granule;
    if (most < size) size = most;
    return held;
}

/// The same as a weight.
constexpr weight local_part(weight w, const layout& l) {
    const weight_shape held = local_shape(w, l);
    w.rows = held.rows;
    w.columns = held.columns;
    w.copies = held.copies;
    w.active = w.active < held.copies ? w.active : held.copies;
    return w;
}

}  // namespace llmres::inline v0
