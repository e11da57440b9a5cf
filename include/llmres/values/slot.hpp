// SPDX-License-Identifier: MIT
#pragma once

/// Room for a value that is not cleared before it is set: clearing arrays of which few values are used takes longer
/// than most plans.
namespace llmres::inline v0::detail {

/// Set it by assignment of a slot with the value: `at = slot{value}`.
template <class Value>
union slot {
    Value value;                                           ///< meaningful only once it was set
    constexpr slot() {}                                    ///< not set
    constexpr explicit slot(const Value& v) : value{v} {}  ///< set
};

}  // namespace llmres::inline v0::detail
