// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/to_string.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>

/// The memory of a plan as pictures: by term, and over the phases of a step.
namespace llmres::inline v0 {

/// The memory of the busiest GPU: a bar of the terms, to scale, with a line where the usable memory ends and the bounds
/// of the sum below it.
inline std::string to_svg(const job_plan& p, std::string_view title);

/// The tensors that are alive in each pass of a training step, or in each phase of serving, on the busiest GPU.
inline std::string phases_to_svg(const job_plan& p, const job& j, const cluster& c, std::string_view title);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline std::string between(const interval<byte_count>& size) {
    return size.low == size.high ? "" : detail::filled(" ({} to {})", to_string(size.low), to_string(size.high));
}

inline std::string_view sentence_of(verdict v) {
    return v == verdict::fits ? "fits" : v == verdict::tight ? "tight" : "does not fit";
}

/// A bar for each part of a whole, with a line where the usable memory ends.
struct phase_bars {
    drawing into;
    byte_count usable{};
    byte_count most{};
    double y = 70;

    void add(std::string_view name, byte_count size, memory_term colour) {
        into.text(drawing::left, y + 13, name);
        into.text(drawing::right, y + 13, to_string(size), "", "end");
        into.track(y + 20, 16);
        into.box(drawing::left, y + 20, drawing::at(ratio(size, most)) - drawing::left, 16, colour_of(colour));
        into.line(end(), y + 17, end(), y + 39);
        y += 48;
    }
    std::string finished() {
        into.text(end(), y + 10, detail::filled("usable {}", to_string(usable)), "",
                  2 * usable > most ? "end" : "start");
        return into.finished(y + 26);
    }

private:
    double end() const { return drawing::at(ratio(usable, most)); }
};

/// The usable memory of a plan; none where others hold more than there is.
inline byte_count usable_of(const job_plan& p) { return p.usable > byte_count{} ? p.usable : byte_count{}; }

}  // namespace detail

inline std::string to_svg(const job_plan& p, std::string_view title) {
    using detail::drawing;
    const interval<byte_count> total = p.memory.total();
    const byte_count usable = detail::usable_of(p);
    const byte_count most = (std::max)({total.high, total.expected, usable, byte_count{bytes(1)}});
    const auto x = [&](byte_count size) { return drawing::at(ratio(size, most)); };
    drawing into{detail::filled("{}: {}", title, detail::sentence_of(p.verdict)),
                 detail::filled("Memory of the busiest GPU: {}{} of {} usable", to_string(total.expected),
                                detail::between(total), to_string(p.usable))};

    into.track(66, 42);
    byte_count start;
    double y = 158;
    for (std::size_t i = 0; i < p.memory.terms.size(); ++i) {
        const interval<byte_count>& size = p.memory.terms[i];
        if (size.high <= byte_count{}) continue;
        if (size.expected > byte_count{})
            into.box(x(start), 66, x(start + size.expected) - x(start), 42, detail::term_colours[i]);
        start += size.expected;
        into.box(drawing::left, y, 13, 13, detail::term_colours[i]);
        into.text(drawing::left + 22, y + 12, name_of(static_cast<memory_term>(i)));
        into.text(drawing::left + 230, y + 12, to_string(size.expected), "", "end");
        into.text(drawing::left + 240, y + 12, detail::between(size), "soft");
        y += 22;
    }
    into.line(x(total.low), 116, x(total.high), 116);
    into.line(x(total.low), 110, x(total.low), 116);
    into.line(x(total.high), 110, x(total.high), 116);
    into.line(x(usable), 60, x(usable), 124);
    const bool at_end = ratio(usable, most) > 0.2;
    into.text(x(usable), 140, detail::filled("usable {}", to_string(p.usable)), "", at_end ? "end" : "start");
    return into.finished(y + 10);
}

inline std::string phases_to_svg(const job_plan& p, const job& j, const cluster& c, std::string_view title) {
    const byte_count usable = detail::usable_of(p);
    if (trains(j)) {
        const training_passes passes = training_passes_of(j, p.layout, sdpa_backend_of(c.gpu));
        detail::phase_bars bars{
            {title, "Tensors alive in each pass of a step, without what the runtime adds"},
            usable,
            (std::max)({passes.forward, passes.loss, passes.backward, passes.step, usable, byte_count{bytes(1)}})};
        bars.add("forward", passes.forward, memory_term::weights);
        bars.add("loss", passes.loss, memory_term::kv_cache);
        bars.add("backward", passes.backward, memory_term::activations);
        bars.add("optimizer step", passes.step, memory_term::gradients);
        return bars.finished();
    }
    const serving_phases phases = serving_phases_of_stage(j, p.layout, on_device(j, c.gpu, p.layout), p.memory.stage);
    detail::phase_bars bars{{title, "Tensors alive in each phase, without what the runtime adds"},
                            usable,
                            (std::max)({phases.load, phases.prefill, phases.decode, usable, byte_count{bytes(1)}})};
    bars.add("weights loaded", phases.load, memory_term::weights);
    bars.add("prompts computed, beside the cache", phases.prefill, memory_term::activations);
    bars.add("last token of every sequence", phases.decode, memory_term::kv_cache);
    return bars.finished();
}

}  // namespace llmres::inline v0
