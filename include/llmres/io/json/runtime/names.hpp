// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// The names of a runtime profile's enumerations as data, and of the functions that choose a fraction of the device.
namespace llmres::inline v0 {

#include "names.inc"

static_assert(name_of(knob_setting::host_computes) == names_of<knob_setting>.back(),
              "each setting has a name, in the order of knob_setting");

namespace detail {

/// How a runtime chooses its fraction of the device, by the names that profiles as data have for it.
struct named_fraction {
    std::string_view name;
    decltype(runtime_cache::default_fraction) choose;
};
inline constexpr std::array named_fractions{named_fraction{"sglang_by_step", runtimes::detail::sglang_by_step},
                                            named_fraction{"sglang_by_size", runtimes::detail::sglang_by_size},
                                            named_fraction{"sglang_by_ranks", runtimes::detail::sglang_by_ranks}};

}  // namespace detail

}  // namespace llmres::inline v0
