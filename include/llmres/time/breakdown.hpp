// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What takes the time of a step?
namespace llmres::inline v0 {

/// What the time of a step is spent on.
enum class time_term : std::uint8_t {
    compute,                 ///< operations bound by arithmetic
    memory,                  ///< operations bound by memory traffic
    tensor_communication,    ///< exchanges between tensor ranks
    pipeline_bubble,         ///< waiting for other stages
    pipeline_communication,  ///< sending activations to the next stage, and in training gradients back
    /// Exchanging gradients, and ZeRO's gathers, where they do not overlap with computing.
    data_communication,
    expert_communication,  ///< exchanging tokens of routed experts
    /// Copying offloaded tensors, where that does not overlap, and layers that the CPU computes.
    host_transfer,
    host_optimizer,  ///< optimizer steps of the CPU
    launch,          ///< starting kernels
};
// clang-format off
/// The names of the terms, in their order.
template <>
inline constexpr std::array<std::string_view, 10> names_of<time_term>{
    "compute", "memory", "tensor_communication", "pipeline_bubble", "pipeline_communication", "data_communication",
    "expert_communication", "host_transfer", "host_optimizer", "launch"};
// clang-format on

/// The time of a step or of a prompt, term by term.
struct time_breakdown {
    std::array<interval<duration>, names_of<time_term>.size()> terms{};  ///< the time of each term

    /// The time of a term.
    constexpr interval<duration>& operator[](time_term t) { return terms[static_cast<std::size_t>(t)]; }
    /// The time of a term.
    constexpr const interval<duration>& operator[](time_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// The sum of all terms.
    constexpr interval<duration> total() const {
        interval<duration> sum;
        for (const auto& term : terms) sum += term;
        return sum;
    }
    /// What of it is expected.
    constexpr duration expected() const {
        duration sum;
        for (const auto& term : terms) sum += term.expected;
        return sum;
    }
    /// The term with the largest expected time.
    constexpr time_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<time_term>(best);
    }
};

}  // namespace llmres::inline v0
