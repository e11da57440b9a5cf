// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <vector>

/// Layers that weigh what files store: what no formula knows of a layer is counted among its values.
namespace llmres::inline v0::detail {

/// A layer as its tensors describe it, and the bytes of all of them.
struct stored_layer {
    layer shape{};
    byte_count stored{};
};

/// The values of `width` bytes that so much takes, rounded up.
inline std::int64_t values_in(byte_count size, std::int64_t width) { return (size.in(bytes) + width - 1) / width; }

/// Counts what the tensors hold beyond the shape's prediction among the layer's values. A shape that is larger than its
/// tensors was misunderstood: its feed-forward then counts among the values as well. `size` is a shape's prediction.
template <class Size>
void take_values(stored_layer& l, std::int32_t index, std::int64_t width, const Size& size) {
    layer& shape = l.shape;
    shape.more_values = 0;
    byte_count predicted = size(shape, index);
    if (predicted > l.stored) {
        shape.feed_forward = no_feed_forward;
        shape.norm_before_feed_forward = shape.norm_after_feed_forward = false;
        predicted = size(shape, index);
    }
    if (predicted < l.stored) shape.more_values = values_in(l.stored - predicted, width);
}

inline bool same_but_for_values(layer a, layer b) {
    a.more_values = b.more_values = 0;
    return a == b;
}

/// Gives layers of one shape the mean of their values, rounded up.
inline void share_values(std::vector<stored_layer>& layers) {
    for (std::size_t first = 0; first < layers.size(); ++first) {
        std::int64_t total = 0, count = 0;
        for (std::size_t i = first; i < layers.size(); ++i)
            if (same_but_for_values(layers[i].shape, layers[first].shape)) {
                total += layers[i].shape.more_values;
                ++count;
            }
        const layer alike = layers[first].shape;
        for (std::size_t i = first; i < layers.size(); ++i)
            if (same_but_for_values(layers[i].shape, alike)) layers[i].shape.more_values = (total + count - 1) / count;
    }
}

/// Gives layers whose dense feed-forwards alone differ the narrowest of them.
inline void share_widths(std::vector<stored_layer>& layers) {
    const auto alike = [](layer a, layer b) {
        a.feed_forward.width = b.feed_forward.width = 0;
        return same_but_for_values(a, b);
    };
    for (std::size_t i = 0; i < layers.size(); ++i) {
        std::int64_t narrowest = layers[i].shape.feed_forward.width;
        for (const stored_layer& other : layers)
            if (alike(other.shape, layers[i].shape)) narrowest = (std::min)(narrowest, other.shape.feed_forward.width);
        layers[i].shape.feed_forward.width = narrowest;
    }
}

/// The stack, if its kinds are not too many.
inline maybe<layer_stack> stacked(const std::vector<stored_layer>& layers) {
    layer_stack stack;
    for (const stored_layer& l : layers)
        if (!stack.append(1, l.shape)) return {};
    return stack;
}

/// The layers, each with its tensors' bytes: `size(shape, index)` is what a shape is predicted to take, and values take
/// `width` bytes. Where layers are of more kinds than a stack holds, those of one shape share their values, and then
/// those with feed-forwards of other widths theirs.
template <class Size>
result<layer_stack> fitted_layers(std::vector<stored_layer> layers, std::int64_t width, const Size& size) {
    const auto take_all = [&] {
        for (std::size_t i = 0; i < layers.size(); ++i)
            take_values(layers[i], static_cast<std::int32_t>(i), width, size);
    };
    take_all();
    if (const maybe<layer_stack> exact = stacked(layers)) return *exact;
    share_values(layers);
    if (const maybe<layer_stack> alike = stacked(layers)) return *alike;
    share_widths(layers);
    take_all();
    share_values(layers);
    if (const maybe<layer_stack> narrowed = stacked(layers)) return *narrowed;
    return refused(error_code::unsupported, "layers", static_cast<std::int64_t>(layers.size()),
                   "at most 256 layers of at most 12 kinds");
}

/// Adds values outside the layers, as rows of at most 2^20.
inline void add_values(model& m, weight_role role, model_part part, std::int64_t values) {
    constexpr std::int64_t row = 1 << 20;
    if (values >= row) m.add({.role = role, .part = part, .rows = values / row, .columns = row});
    if (values % row > 0) m.add({.role = role, .part = part, .columns = values % row});
}

}  // namespace llmres::inline v0::detail
