// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/models/model.hpp>

/// Models whose layers are told apart more than they differ.
namespace kinds_of_layers {

/// The same model with as many kinds of layers as there is room for, which are all alike: what it takes is the same.
/// Precondition: it has one kind, and as many layers.
inline llmres::model in_most_kinds(llmres::model m) {
    llmres::layer_stack& layers = m.layers;
    layers.kind_count = llmres::layer_stack::max_kinds;
    for (llmres::layer& kind : layers.kinds) kind = layers.kinds[0];
    for (std::int32_t i = 0; i < layers.size; ++i)
        layers.order[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % layers.kind_count);
    return m;
}

}  // namespace kinds_of_layers
