// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/io/svg/memory.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/to_string.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>

/// The memory of a GPU over the phases of a workload as a picture.
namespace llmres::inline v0 {

/// A bar for each phase of a step of reinforcement learning: what the others keep of the busiest GPU, and behind it
/// what the phase takes, by term; all to one scale, with a line where the usable memory ends. `c`: the policy's GPUs.
inline std::string to_svg(const reinforcement_plan& p, const cluster& c, std::string_view title);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The colour of what other phases keep.
inline constexpr std::string_view colour_of_others = "#7a4a2a";

/// Bars of phases, and what their colours mean.
struct workload_bars {
    drawing into;
    byte_count most{};
    std::array<bool, names_of<memory_term>.size()> drawn{};
    double y = 70;

    void add(const phase_plan& one, std::string_view part_of_step, byte_count usable) {
        const byte_count all = one.own.expected + one.resident.expected;
        into.text(drawing::left, y + 13, filled("{}, {} of a step", name_of(one.phase), part_of_step));
        into.text(drawing::right, y + 13, filled("{}: {}", to_string(all), sentence_of(one.plan.verdict)), "", "end");
        into.track(y + 20, 20);
        if (one.resident.expected > byte_count{})
            into.box(drawing::left, y + 20, x(one.resident.expected) - drawing::left, 20, colour_of_others);
        add_terms(one);
        into.line(x(usable), y + 17, x(usable), y + 43);
        y += 56;
    }
    /// The terms of what a phase takes. An engine's pool is as large as what it takes beyond the others; where it takes
    /// less than its plan alone, it is weights that are the trainer's, or that ranks share.
    void add_terms(const phase_plan& one) {
        const byte_count alone = one.plan.memory.total().expected;
        const byte_count shared = alone > one.own.expected ? alone - one.own.expected : byte_count{};
        const byte_count end = one.resident.expected + one.own.expected;
        byte_count start = one.resident.expected;
        for (std::size_t i = 0; i < one.plan.memory.terms.size() && start < end; ++i) {
            const auto term = static_cast<memory_term>(i);
            byte_count size = one.plan.memory[term].expected;
            if (term == memory_term::weights) size = size > shared ? size - shared : byte_count{};
            if (size <= byte_count{} || term == memory_term::kv_cache) continue;
            box(start, (std::min)(start + size, end), term);
        }
        if (start < end) box(start, end, memory_term::kv_cache);
    }
    std::string finished() {
        const auto line = [&](std::string_view colour, std::string_view words) {
            into.box(drawing::left, y, 13, 13, colour);
            into.text(drawing::left + 22, y + 12, words);
            y += 22;
        };
        line(colour_of_others, "kept by other phases");
        for (std::size_t i = 0; i < drawn.size(); ++i)
            if (drawn[i]) line(term_colours[i], name_of(static_cast<memory_term>(i)));
        return into.finished(y + 10);
    }

private:
    double x(byte_count size) const { return drawing::at(ratio(size, most)); }
    void box(byte_count& start, byte_count end, memory_term term) {
        into.box(x(start), y + 20, x(end) - x(start), 20, colour_of(term));
        drawn[static_cast<std::size_t>(term)] = true;
        start = end;
    }
};

}  // namespace detail

inline std::string to_svg(const reinforcement_plan& p, const cluster& c, std::string_view title) {
    const byte_count usable = available_memory(c);
    byte_count most = (std::max)(usable, byte_count{bytes(1)});
    for (std::int32_t i = 0; i < p.phase_count; ++i) {
        const phase_plan& one = p.phases[static_cast<std::size_t>(i)];
        most = (std::max)(most, one.own.expected + one.resident.expected);
    }
    detail::workload_bars bars{{detail::filled("{}: {}", title, detail::sentence_of(p.verdict())),
                                detail::filled("Memory of the busiest GPU in each phase, of {} usable; fullest: {}",
                                               to_string(usable), name_of(p.worst().phase))},
                               most};
    for (std::int32_t i = 0; i < p.phase_count; ++i) {
        const phase_plan& one = p.phases[static_cast<std::size_t>(i)];
        const double part = p.step.expected > duration{} ? one.time.expected / p.step.expected : 0.0;
        bars.add(one, detail::filled("{:.0f} %", 100 * part), usable);
    }
    return bars.finished();
}

}  // namespace llmres::inline v0
