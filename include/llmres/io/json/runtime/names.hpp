// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>
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
inline constexpr std::array named_fractions{
    named_fraction{"sglang_by_step", runtimes::sglang.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_22", runtimes::sglang_0_5_22.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_21", runtimes::sglang_0_5_21.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_19", runtimes::sglang_0_5_19.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_18", runtimes::sglang_0_5_18.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_16", runtimes::sglang_0_5_16.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_14", runtimes::sglang_0_5_14.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_13", runtimes::sglang_0_5_13.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_12", runtimes::sglang_0_5_12.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_10", runtimes::sglang_0_5_10.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_9", runtimes::sglang_0_5_9.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_7", runtimes::sglang_0_5_7.cache.default_fraction},
    named_fraction{"sglang_by_step_0_5_4", runtimes::sglang_0_5_4.cache.default_fraction},
    named_fraction{"sglang_by_size", runtimes::sglang_0_5_2.cache.default_fraction},
    named_fraction{"sglang_by_size_0_4_9", runtimes::sglang_0_4_9.cache.default_fraction},
    named_fraction{"sglang_by_ranks_and_size", runtimes::sglang_0_4_7.cache.default_fraction},
    named_fraction{"sglang_by_ranks", runtimes::sglang_0_4.cache.default_fraction},
    named_fraction{"vllm", runtimes::vllm.cache.default_fraction},
    named_fraction{"vllm_0_20", runtimes::vllm_v1_20.cache.default_fraction}};

}  // namespace detail

}  // namespace llmres::inline v0
