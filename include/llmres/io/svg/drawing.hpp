// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <llmres/io/svg/form.hpp>
#include <llmres/memory/breakdown.hpp>
#include <string>
#include <string_view>
#include <utility>

/// What pictures are drawn with: SVG of 640 units in width, light or dark as the reader's screen is. Texts may hold
/// anything.
namespace llmres::inline v0::detail {

/// One colour for each memory_term, which colour-blind people can tell from the others (Okabe and Ito 2008, with
/// tints).
inline constexpr auto term_colours =
    std::to_array<std::string_view>({"#0072b2", "#56b4e9", "#e69f00", "#f0e442", "#b8a800", "#009e73", "#d55e00",
                                     "#cc79a7", "#8fb0cf", "#8c6d9e", "#a8a8a8", "#6d7680", "#c9ced6", "#004a73"});
static_assert(term_colours.size() == names_of<memory_term>.size());

inline std::string_view colour_of(memory_term t) { return term_colours[static_cast<std::size_t>(t)]; }

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
    void point(double x, double y, std::string_view colour, double radius = 5) {
        put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", x, y, radius, colour);
    }
    void ring(double x, double y, std::string_view colour, double radius = 5) {
        put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"none\" stroke=\"{}\" stroke-width=\"3\"/>\n", x, y,
            radius, colour);
    }

    /// The whole picture, which ends at `bottom`.
    std::string finished(double bottom) const {
        return filled(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
            "{1:.0f}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"14\">\n<title>{2}</title>\n"
            "<style>.ground {{ fill: #ffffff; }} text {{ fill: #16202c; }} .soft {{ fill: #566273; }} "
            ".title {{ font-size: 17px; font-weight: 600; }} .note {{ fill: #566273; paint-order: stroke; stroke: "
            "#ffffff; "
            "stroke-width: 4px; }} .line {{ stroke: #16202c; stroke-width: 2; }} "
            ".thin {{ stroke: #c9d1da; }} .track {{ fill: #eceff3; }} @media (prefers-color-scheme: dark) {{ "
            ".ground {{ fill: #19202a; }} text {{ fill: #e6ebf1; }} .soft {{ fill: #9aa7b6; }} .note {{ fill: #9aa7b6; "
            "stroke: #19202a; }} .line {{ stroke: "
            "#e6ebf1; "
            "}} .thin {{ stroke: #3a4656; }} .track {{ fill: #2a3441; }} }}</style>\n"
            "<rect class=\"ground\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
            width, bottom, title_, shapes_);
    }
    void track(double y, double high) {
        put("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", left, y,
            right - left, high);
    }

private:
    template <class... Values>
    void put(std::string_view form, const Values&... values) {
        shapes_ += filled(form, values...);
    }

    std::string title_{};
    std::string shapes_{};
};

/// A round step of an axis that ends near `most`: 1, 2 or 5 times a power of ten.
inline double round_step(double most) {
    double step = 1e-9;
    while (step * 10 < most / 5) step *= 10;
    for (const double times : {1.0, 2.0, 5.0, 10.0})
        if (step * times >= most / 5) return step * times;
    return step * 10;
}

}  // namespace llmres::inline v0::detail
