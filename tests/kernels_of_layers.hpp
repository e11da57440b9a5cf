// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/inventory/operations.hpp>
#include <llmres/models/llama.hpp>
#include <vector>

/// The kernels of a layer, for the tests of the inventory of operations.
namespace kernels_of_layers {

using namespace llmres;

/// All that a layer computes in a pass, in order.
inline std::vector<operation> kernels_of(const layer& l, std::int64_t hidden, const token_pass& pass,
                                         const operation_formats& formats = {}, const layout& over = {}) {
    std::vector<operation> all;
    for_each_operation(l, hidden, formats, std::array{pass}, over,
                       [&](const operation& o, std::size_t) { all.push_back(o); });
    return all;
}

inline std::vector<operation> of_kind(const std::vector<operation>& all, operation_kind kind) {
    std::vector<operation> found;
    for (const operation& o : all)
        if (o.kind == kind) found.push_back(o);
    return found;
}

/// 32 heads of 128, 8 of keys and values, 4,096 features.
inline const layer& dense = models::llama_3_1_8b.layers.kinds[0];

}  // namespace kernels_of_layers
