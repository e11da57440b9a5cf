// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/error.hpp>
#include <llmres/nearest.hpp>
#include <llmres/runtime.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string_view>

/// All runtime profiles, and how to find one by name.
namespace llmres {

namespace runtimes {
inline constexpr std::array all{&no_runtime, &pytorch, &vllm};
}  // namespace runtimes

/// The profile of that name; an `unknown` error names those nearest to it.
constexpr result<runtime> find_runtime(std::string_view name, std::string_view field = "runtime") {
    for (const runtime* r : runtimes::all)
        if (r->name == name) return *r;
    std::array<std::string_view, runtimes::all.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = runtimes::all[i]->name.view();
    return refused(error_code::unknown, field, name, such_as("a runtime", nearest(name, names)));
}

}  // namespace llmres
