// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <llmres/answers/search.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/plan.hpp>
#include <llmres/values/to_string.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// Answers as pictures: SVG of 640 units in width, light or dark as the reader's screen is. Texts may hold anything.
namespace llmres::inline v0 {

/// The memory of the busiest GPU: a bar of the terms, to scale, with a line where the usable memory ends and the bounds
/// of the sum below it.
inline std::string to_svg(const job_plan& p, std::string_view title);

/// The tensors that are alive in each pass of a training step; empty for a plan that serves, whose memory is that of
/// its fullest moment alone.
inline std::string phases_to_svg(const job_plan& p, std::string_view title);

/// The layers, embedding and head of each pipeline stage, and the GPUs that share them. Beyond 16 stages the first 15
/// and the last are drawn.
inline std::string layers_to_svg(const job& j, const layout& l, std::string_view title);

/// Tokens per second against the time of a token or of a training step, of layouts that a search found.
inline std::string tradeoff_to_svg(std::span<const found_layout> found, const job& j, std::string_view title);

/// Pictures above one another as one; empty ones are left out.
inline std::string stacked_svg(std::span<const std::string> pictures);

/// A plan as one picture: its memory, the passes of its step if it trains, its layers where several GPUs share them.
inline std::string to_svg(const job_plan& p, const job& j);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// One colour for each memory_term, which colour-blind people can tell from the others (Okabe and Ito 2008, with
/// tints).
inline constexpr std::array<std::string_view, memory_term_names.size()> term_colours{
    "#0072b2", "#56b4e9", "#e69f00", "#f0e442", "#009e73", "#d55e00",
    "#cc79a7", "#8fb0cf", "#8c6d9e", "#a8a8a8", "#6d7680", "#c9ced6"};

/// A text in XML; control characters, and bytes beyond ASCII, which need not be UTF-8, are question marks.
inline std::string xml_text(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '&')
            escaped += "&amp;";
        else if (c == '<')
            escaped += "&lt;";
        else if (c == '>')
            escaped += "&gt;";
        else
            escaped += c < ' ' || c > '~' ? '?' : c;
    }
    return escaped;
}

/// A picture while it is drawn, from the top down.
class drawing {
public:
    static constexpr double width = 640;
    static constexpr double left = 20;
    static constexpr double right = width - 20;

    drawing(std::string_view title, std::string_view below) : title_{xml_text(title)} {
        put("<text x=\"{}\" y=\"30\" class=\"title\">{}</text>\n", left, title_);
        text(left, 50, below, "soft");
    }

    /// The part of the width that a share from 0 to 1 is, from the left.
    static double at(double share) { return left + (right - left) * share; }

    void text(double x, double y, std::string_view words, std::string_view kind = "",
              std::string_view anchor = "start") {
        put("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, kind, anchor,
            xml_text(words));
    }
    void box(double x, double y, double wide, double high, std::string_view colour) {
        put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
            (std::max)(wide, 0.5), high, colour);
    }
    void line(double x1, double y1, double x2, double y2, std::string_view kind = "line") {
        put("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2, kind);
    }
    void point(double x, double y, std::string_view colour) {
        put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", x, y, colour);
    }

    /// The whole picture, which ends at `bottom`.
    std::string finished(double bottom) const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
            "{1:.0f}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"14\">\n<title>{2}</title>\n"
            "<style>.ground {{ fill: #ffffff; }} text {{ fill: #16202c; }} .soft {{ fill: #566273; }} "
            ".title {{ font-size: 17px; font-weight: 600; }} .line {{ stroke: #16202c; stroke-width: 2; }} "
            ".thin {{ stroke: #9aa7b6; }} .track {{ fill: #eceff3; }} @media (prefers-color-scheme: dark) {{ "
            ".ground {{ fill: #19202a; }} text {{ fill: #e6ebf1; }} .soft {{ fill: #9aa7b6; }} .line {{ stroke: "
            "#e6ebf1; "
            "}} .thin {{ stroke: #566273; }} .track {{ fill: #2a3441; }} }}</style>\n"
            "<rect class=\"ground\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
            width, bottom, title_, shapes_);
    }
    void track(double y, double high) {
        put("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", left, y,
            right - left, high);
    }

private:
    template <class... Values>
    void put(fmt::format_string<Values...> form, Values&&... values) {
        fmt::format_to(std::back_inserter(shapes_), form, std::forward<Values>(values)...);
    }

    std::string title_{};
    std::string shapes_{};
};

inline std::string between(const interval<byte_count>& size) {
    return size.low == size.high ? "" : fmt::format(" ({} to {})", to_string(size.low), to_string(size.high));
}

inline std::string_view sentence_of(verdict v) {
    return v == verdict::fits ? "fits" : v == verdict::tight ? "tight" : "does not fit";
}

/// A round step of an axis that ends near `most`: 1, 2 or 5 times a power of ten.
inline double round_step(double most) {
    double step = 1e-9;
    while (step * 10 < most / 5) step *= 10;
    for (const double times : {1.0, 2.0, 5.0, 10.0})
        if (step * times >= most / 5) return step * times;
    return step * 10;
}

/// The degrees of a layout that are more than one: "tensor 2, pipeline 4".
inline std::string degrees_of(const layout& l) {
    std::string degrees;
    const auto part = [&](std::string_view name, std::int32_t degree) {
        if (degree > 1) degrees += fmt::format("{}{} {}", degrees.empty() ? "" : ", ", name, degree);
    };
    part("tensor", l.tensor);
    part("pipeline", l.pipeline);
    part("data", l.data);
    part("context", l.context_parallel);
    part("expert", l.expert);
    part("replicas", l.replicas);
    if (l.zero > 0) degrees += fmt::format("{}ZeRO {}", degrees.empty() ? "" : ", ", l.zero);
    return degrees.empty() ? "one GPU" : degrees;
}

/// A stage of a pipeline as a row.
inline void draw_stage(drawing& into, double y, const job& j, const layout& l, std::int32_t stage, double layer_width) {
    const placement lies = placement_of(j, l, stage);
    const std::int32_t layers = lies.layers.size();
    const std::int32_t ranks = l.tensor * l.data * l.context_parallel;
    const double from = drawing::left + 190;
    into.text(drawing::left, y + 19,
              ranks == 1 ? fmt::format("stage {}: GPU {}", stage, stage)
                         : fmt::format("stage {}: GPUs {} to {}", stage, stage * ranks, (stage + 1) * ranks - 1));
    double x = from;
    const auto part = [&](double wide, memory_term colour) {
        into.box(x, y, wide - 1, 26, term_colours[static_cast<std::size_t>(colour)]);
        x += wide;
    };
    if (lies.embeddings > 0) part(8, memory_term::kv_cache);
    for (std::int32_t i = 0; i < layers; ++i) part(layer_width, memory_term::weights);
    if (lies.output) part(8, memory_term::activations);
    into.text(x + 8, y + 19, fmt::format("{} layers", layers), "soft");
}

}  // namespace detail

inline std::string to_svg(const job_plan& p, std::string_view title) {
    using detail::drawing;
    const interval<byte_count> total = p.memory.total();
    const byte_count usable = p.usable > byte_count{} ? p.usable : byte_count{};
    const byte_count most = (std::max)({total.high, total.expected, usable, byte_count{bytes(1)}});
    const auto x = [&](byte_count size) { return drawing::at(ratio(size, most)); };
    drawing into{fmt::format("{}: {}", title, detail::sentence_of(p.verdict)),
                 fmt::format("Memory of the busiest GPU: {}{} of {} usable", to_string(total.expected),
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
        into.text(drawing::left + 22, y + 12, memory_term_names[i]);
        into.text(drawing::left + 230, y + 12, to_string(size.expected), "", "end");
        into.text(drawing::left + 240, y + 12, detail::between(size), "soft");
        y += 22;
    }
    into.line(x(total.low), 116, x(total.high), 116);
    into.line(x(total.low), 110, x(total.low), 116);
    into.line(x(total.high), 110, x(total.high), 116);
    into.line(x(usable), 60, x(usable), 124);
    const bool at_end = ratio(usable, most) > 0.2;
    into.text(x(usable), 140, fmt::format("usable {}", to_string(p.usable)), "", at_end ? "end" : "start");
    return into.finished(y + 10);
}

inline std::string phases_to_svg(const job_plan& p, std::string_view title) {
    using detail::drawing;
    const training_passes& passes = p.memory.passes;
    if (passes.step <= byte_count{}) return {};
    const byte_count usable = p.usable > byte_count{} ? p.usable : byte_count{};
    const byte_count most = (std::max)({passes.forward, passes.loss, passes.backward, passes.step, usable});
    drawing into{title, "Tensors alive in each pass of a step, without what the runtime adds"};
    const double end = drawing::at(ratio(usable, most));
    double y = 70;
    const auto pass = [&](std::string_view name, byte_count size, memory_term colour) {
        into.text(drawing::left, y + 13, name);
        into.text(drawing::right, y + 13, to_string(size), "", "end");
        into.track(y + 20, 16);
        into.box(drawing::left, y + 20, drawing::at(ratio(size, most)) - drawing::left, 16,
                 detail::term_colours[static_cast<std::size_t>(colour)]);
        into.line(end, y + 17, end, y + 39);
        y += 48;
    };
    pass("forward", passes.forward, memory_term::weights);
    pass("loss", passes.loss, memory_term::kv_cache);
    pass("backward", passes.backward, memory_term::activations);
    pass("optimizer step", passes.step, memory_term::gradients);
    into.text(end, y + 10, fmt::format("usable {}", to_string(p.usable)), "", 2 * usable > most ? "end" : "start");
    return into.finished(y + 26);
}

inline std::string layers_to_svg(const job& j, const layout& l, std::string_view title) {
    using detail::drawing;
    constexpr std::int32_t most_rows = 16;
    drawing into{title,
                 fmt::format("Layers over {} GPU{}: {}", l.gpus(), l.gpus() == 1 ? "" : "s", detail::degrees_of(l))};
    std::int32_t longest = 1;
    for (std::int32_t s = 0; s < l.pipeline; ++s) longest = (std::max)(longest, placement_of(j, l, s).layers.size());
    const double layer_width = (std::min)(16.0, 310.0 / longest);
    double y = 68;
    for (std::int32_t s = 0; s < l.pipeline; ++s) {
        const bool skipped = l.pipeline > most_rows && s >= most_rows - 1 && s < l.pipeline - 1;
        if (skipped && s > most_rows - 1) continue;
        if (skipped)
            into.text(drawing::left, y + 19, fmt::format("{} more stages alike", l.pipeline - most_rows), "soft");
        else
            detail::draw_stage(into, y, j, l, s, layer_width);
        y += 34;
    }
    double x = drawing::left;
    const auto legend = [&](std::string_view name, memory_term colour, double wide) {
        into.box(x, y + 6, 13, 13, detail::term_colours[static_cast<std::size_t>(colour)]);
        into.text(x + 20, y + 18, name);
        x += wide;
    };
    legend("embedding", memory_term::kv_cache, 115);
    legend("a layer", memory_term::weights, 90);
    legend("norm and head", memory_term::activations, 145);
    return into.finished(y + 32);
}

inline std::string tradeoff_to_svg(std::span<const found_layout> found, const job& j, std::string_view title) {
    using detail::drawing;
    constexpr double top = 92;
    constexpr double bottom = 340;
    constexpr double from = drawing::left + 90;
    const bool serves = !trains(j);
    drawing into{title, serves ? "Tokens per second in all, against the time of a token of each sequence"
                               : "Tokens per second, against the time of a step"};
    const auto seconds_of = [](const found_layout& f) { return f.plan.speed.step.total().expected.in(seconds); };
    const auto rate_of = [](const found_layout& f) { return f.plan.speed.tokens_per_second.in(tokens_per_s); };
    if (found.empty()) {
        into.text(drawing::left, top, "No layout fits.");
        return into.finished(top + 20);
    }
    double slowest = 0;
    double fastest = 0;
    for (const found_layout& f : found) {
        slowest = (std::max)(slowest, seconds_of(f));
        fastest = (std::max)(fastest, rate_of(f));
    }
    const auto x = [&](double s) { return from + (drawing::right - 150 - from) * (slowest > 0 ? s / slowest : 0); };
    const auto y = [&](double r) { return bottom - (bottom - top) * (fastest > 0 ? r / fastest : 0); };
    for (double r = 0; r <= fastest * 1.001; r += detail::round_step(fastest)) {
        into.line(from, y(r), drawing::right, y(r), "thin");
        into.text(from - 8, y(r) + 5, fmt::format("{:.6g}", r), "soft", "end");
    }
    const double step = detail::round_step(slowest);
    for (double s = 0; s <= slowest * 1.001; s += step) {
        into.line(x(s), bottom, x(s), bottom + 5, "thin");
        into.text(x(s), bottom + 20, fmt::format("{:.6g}", s * 1e3), "soft", "middle");
    }
    into.text(drawing::left, top - 16, "tokens/s", "soft");
    into.text(drawing::right, bottom + 20, serves ? "ms a token" : "ms a step", "soft", "end");
    double free_above = bottom + 100;
    for (const found_layout& f : found) {  // by falling throughput, so that texts go down
        into.point(x(seconds_of(f)), y(rate_of(f)), detail::term_colours[0]);
        const double place = y(rate_of(f)) + 5;
        if (free_above < bottom + 100 && place < free_above + 16) continue;
        free_above = place;
        const job chosen = with_choice(j, f.choice);
        into.text(x(seconds_of(f)) + 10, place,
                  serves ? fmt::format("{}, batch {}", detail::degrees_of(f.plan.layout), chosen.batch)
                         : detail::degrees_of(f.plan.layout),
                  "soft");
    }
    return into.finished(bottom + 34);
}

inline std::string stacked_svg(std::span<const std::string> pictures) {
    std::string inside;
    double y = 0;
    for (const std::string& picture : pictures) {
        constexpr std::string_view height_key = " height=\"";
        const std::size_t at = picture.find(height_key);
        if (at == std::string::npos) continue;
        constexpr std::string_view head = "<svg ";
        inside += fmt::format("{}y=\"{:.0f}\" {}", head, y, std::string_view{picture}.substr(head.size()));
        y += std::strtod(picture.c_str() + at + height_key.size(), nullptr);
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\">\n{2}</svg>\n",
        detail::drawing::width, y, inside);
}

inline std::string to_svg(const job_plan& p, const job& j) {
    const std::string_view title = j.model.name.view();
    const std::array<std::string, 3> pictures{
        to_svg(p, title), phases_to_svg(p, title),
        p.layout.gpus() > p.layout.replicas ? layers_to_svg(j, p.layout, title) : std::string{}};
    return stacked_svg(pictures);
}

}  // namespace llmres::inline v0
