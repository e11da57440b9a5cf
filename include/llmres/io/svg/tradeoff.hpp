// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <llmres/answers/search_request.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string>
#include <string_view>

/// Throughput against latency: the front of a search as a picture.
namespace llmres::inline v0 {

/// Tokens per second against the time of a token or of a training step, of layouts that a search found; against the
/// time to the first token where that is what they were searched by.
inline std::string tradeoff_to_svg(std::span<const found_layout> found, const job& j, objective against,
                                   std::string_view title);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The axes of a tradeoff, from zero.
struct tradeoff_axes {
    static constexpr double top = 92;
    static constexpr double bottom = 340;
    static constexpr double from = drawing::left + 90;
    double slowest = 0;  ///< seconds
    double fastest = 0;  ///< tokens a second

    double x(double s) const { return from + (drawing::right - 150 - from) * (slowest > 0 ? s / slowest : 0); }
    double y(double r) const { return bottom - (bottom - top) * (fastest > 0 ? r / fastest : 0); }

    void draw(drawing& into, std::string_view unit) const {
        for (double r = 0; r <= fastest * 1.001; r += round_step(fastest)) {
            into.line(from, y(r), drawing::right, y(r), "thin");
            into.text(from - 8, y(r) + 5, detail::filled("{:.6g}", r), "soft", "end");
        }
        const double step = round_step(slowest);
        for (double s = 0; s <= slowest * 1.001; s += step) {
            into.line(x(s), bottom, x(s), bottom + 5, "thin");
            into.text(x(s), bottom + 20, detail::filled("{:.6g}", s * 1e3), "soft", "middle");
        }
        into.text(drawing::left, top - 16, "tokens/s", "soft");
        into.text(drawing::right, bottom + 20, unit, "soft", "end");
    }
};

}  // namespace detail

inline std::string tradeoff_to_svg(std::span<const found_layout> found, const job& j, objective against,
                                   std::string_view title) {
    using detail::drawing;
    using axes = detail::tradeoff_axes;
    const bool serves = !trains(j);
    const bool by_prompt = serves && against == objective::time_to_first_token;
    drawing into{title, by_prompt ? "Tokens per second in all, against the time to the first token"
                        : serves  ? "Tokens per second in all, against the time of a token of each sequence"
                                  : "Tokens per second, against the time of a step"};
    const auto seconds_of = [&](const found_layout& f) {
        return (by_prompt ? f.plan.speed.prefill : f.plan.speed.step).total().expected.in(seconds);
    };
    const auto rate_of = [](const found_layout& f) { return f.plan.speed.tokens_per_second.in(tokens_per_s); };
    if (found.empty()) {
        into.text(drawing::left, axes::top, "No layout fits.");
        return into.finished(axes::top + 20);
    }
    axes scale;
    for (const found_layout& f : found) {
        scale.slowest = (std::max)(scale.slowest, seconds_of(f));
        scale.fastest = (std::max)(scale.fastest, rate_of(f));
    }
    scale.draw(into, by_prompt ? "ms to the first token" : serves ? "ms a token" : "ms a step");
    const auto x = [&](const found_layout& f) { return scale.x(seconds_of(f)); };
    const auto y = [&](const found_layout& f) { return scale.y(rate_of(f)); };
    for (std::size_t i = 1; i < found.size(); ++i)
        into.line(x(found[i - 1]), y(found[i - 1]), x(found[i]), y(found[i]), "thin");
    double last = axes::top - 100;
    for (const found_layout& f : found) {  // by falling throughput, so that texts go down
        into.point(x(f), y(f), detail::colour_of(memory_term::weights));
        const double place = y(f) + 5;
        if (place < last + 16) continue;
        last = place;
        const job chosen = with_choice(j, f.choice);
        std::string degrees = degrees_of(f.plan.layout);
        if (degrees.empty()) degrees = "1 GPU";
        into.text(x(f) + 10, place, serves ? detail::filled("{}, batch {}", degrees, chosen.batch) : degrees, "note");
    }
    return into.finished(axes::bottom + 34);
}

}  // namespace llmres::inline v0
