// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <array>
#include <iterator>
#include <llmres/plan.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>

/// The memory of the busiest GPU as a picture.
namespace llmres::inline v0 {

namespace detail {

/// One colour for each memory_term, which colour-blind people can tell from the others (Okabe and Ito 2008, with
/// tints).
inline constexpr std::array<std::string_view, memory_term_names.size()> term_colours{
    "#0072b2", "#56b4e9", "#e69f00", "#f0e442", "#009e73", "#d55e00",
    "#cc79a7", "#b3cde3", "#999999", "#bbbbbb", "#666666", "#dddddd"};

}  // namespace detail

/// A bar of the terms, to scale, with a line where the usable memory ends. `title` must be plain text.
inline std::string to_svg(const job_plan& p, std::string_view title) {
    constexpr double width = 720;
    constexpr double left = 20;
    constexpr double row = 20;
    const interval<byte_count> total = p.memory.total();
    const byte_count usable = p.usable > byte_count{} ? p.usable : byte_count{};
    const byte_count most = total.high < usable ? usable : total.high;
    const auto x = [&](byte_count size) { return left + width * ratio(size, most); };

    std::string escaped;
    for (const char c : title)
        escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);

    std::string shapes;
    const auto out = std::back_inserter(shapes);
    byte_count start;
    double y = 120;
    for (std::size_t i = 0; i < p.memory.terms.size(); ++i) {
        const byte_count size = p.memory.terms[i].expected;
        if (size <= byte_count{}) continue;
        fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"50\" width=\"{:.1f}\" height=\"36\" fill=\"{}\"/>\n", x(start),
                       x(start + size) - x(start), detail::term_colours[i]);
        fmt::format_to(out,
                       "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0f}\" "
                       "y=\"{:.0f}\">{}  {}</text>\n",
                       left, y, detail::term_colours[i], left + 20, y + 11, memory_term_names[i], to_string(size));
        start += size;
        y += row;
    }
    fmt::format_to(out, "<line x1=\"{0:.1f}\" y1=\"88\" x2=\"{1:.1f}\" y2=\"88\" stroke=\"black\"/>\n", x(total.low),
                   x(total.high));
    fmt::format_to(out,
                   "<line x1=\"{0:.1f}\" y1=\"42\" x2=\"{0:.1f}\" y2=\"94\" stroke=\"black\" stroke-width=\"2\"/>\n",
                   x(usable));
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"106\" text-anchor=\"end\">usable {}</text>\n", x(usable),
                   to_string(p.usable));
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n"
        "<text x=\"{2:.0f}\" y=\"30\" font-size=\"15\">{3}: {4}, {5} of {6}</text>\n{7}</svg>\n",
        width + 2 * left, y + 10, left, escaped, name_of(p.verdict), to_string(total.expected), to_string(p.usable),
        shapes);
}

}  // namespace llmres::inline v0
