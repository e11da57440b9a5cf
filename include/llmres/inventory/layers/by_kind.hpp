// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/models/layer.hpp>
#include <llmres/values/maybe.hpp>

/// One value for each of a model's kinds of layers.
namespace llmres::inline v0::detail {

/// A value for each kind of layer that was set. Kinds that a model does not have cost nothing: an array of as many
/// values as there may be kinds takes longer to clear than most models take to be planned.
template <class Value>
class by_kind {
public:
    constexpr by_kind() {}  // slots stay empty until they are set

    constexpr void set(std::size_t kind, const Value& value) { slots_[kind] = slot<Value>{value}; }
    /// Precondition: it was set.
    constexpr const Value& operator[](std::size_t kind) const { return slots_[kind].value; }

private:
    slot<Value> slots_[layer_stack::max_kinds];
};

}  // namespace llmres::inline v0::detail
