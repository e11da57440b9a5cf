// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What a picture consists of, read back from its SVG: shapes with their numbers, and texts.
namespace picture {

struct part {
    std::string tag{};  ///< rect, line, circle or text
    std::map<std::string, std::string> attributes{};
    std::string words{};  ///< of a text

    double of(const char* name) const {
        const auto found = attributes.find(name);
        return found == attributes.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
    }
    std::string text(const char* name) const {
        const auto found = attributes.find(name);
        return found == attributes.end() ? "" : found->second;
    }
    /// From where to where a text goes, if a letter of 14 pixels is some 7 pixels wide.
    double begins() const {
        const double wide = 7 * static_cast<double>(words.size());
        const std::string anchor = text("text-anchor");
        return of("x") - (anchor == "end" ? wide : anchor == "middle" ? wide / 2 : 0);
    }
    double ends() const { return begins() + 7 * static_cast<double>(words.size()); }
};

inline std::string unescaped(std::string text) {
    for (const auto& [written, meant] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
        for (std::size_t at = text.find(written); at != std::string::npos; at = text.find(written))
            text.replace(at, std::string_view{written}.size(), meant);
    return text;
}

inline std::vector<part> parts_of(const std::string& svg) {
    std::vector<part> all;
    for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
        const std::size_t end = svg.find('>', at);
        part one{.tag = svg.substr(at + 1, svg.find_first_of(" />", at + 1) - at - 1)};
        for (std::size_t i = svg.find("=\"", at); i < end; i = svg.find("=\"", i + 2)) {
            const std::size_t name = svg.find_last_of(' ', i) + 1;
            const std::size_t close = svg.find('"', i + 2);
            one.attributes[svg.substr(name, i - name)] = svg.substr(i + 2, close - i - 2);
        }
        if (one.tag == "text") one.words = unescaped(svg.substr(end + 1, svg.find('<', end) - end - 1));
        all.push_back(one);
    }
    return all;
}

/// The parts of one tag, and those of one class or colour where it is given.
inline std::vector<part> those(const std::vector<part>& all, std::string_view tag, std::string_view kind = {}) {
    std::vector<part> found;
    for (const part& one : all)
        if (one.tag == tag && (kind.empty() || one.text("class") == kind || one.text("fill") == kind))
            found.push_back(one);
    return found;
}

/// The first text with these words in it.
inline part saying(const std::vector<part>& all, std::string_view words) {
    for (const part& one : all)
        if (one.tag == "text" && one.words.find(words) != std::string::npos) return one;
    FAIL("no text says " << words);
    return {};
}

inline double height_of(const std::vector<part>& all) { return all.at(0).of("height"); }

/// What anyone needs to read a picture: everything lies on the page, and no text is written over another.
inline void check_readable(const std::vector<part>& all) {
    const double width = all.at(0).of("width"), height = height_of(all);
    CHECK(width == 640);
    CHECK(all.at(0).text("viewBox") == "0 0 640 " + all.at(0).text("height"));
    const auto inside = [&](double x, double y) {
        CHECK(x >= 0);
        CHECK(x <= width);
        CHECK(y >= 0);
        CHECK(y <= height);
    };
    std::vector<part> texts;
    for (const part& one : all) {
        CAPTURE(one.tag);
        CAPTURE(one.words);
        if (one.tag == "rect") {
            inside(one.of("x"), one.of("y"));
            inside(one.of("x") + one.of("width"), one.of("y") + one.of("height"));
        }
        if (one.tag == "line") {
            inside(one.of("x1"), one.of("y1"));
            inside(one.of("x2"), one.of("y2"));
        }
        if (one.tag == "circle") {
            inside(one.of("cx") - one.of("r"), one.of("cy") - one.of("r"));
            inside(one.of("cx") + one.of("r"), one.of("cy") + one.of("r"));
        }
        if (one.tag != "text" || one.words.empty()) continue;
        inside(one.of("x"), one.of("y"));
        CHECK(one.of("y") >= 10);  // a letter is some ten pixels high
        for (const part& other : texts)
            if (std::abs(other.of("y") - one.of("y")) < 11 && other.begins() < one.ends() &&
                one.begins() < other.ends())
                FAIL_CHECK("\"" << one.words << "\" is written over \"" << other.words << "\"");
        texts.push_back(one);
    }
}

/// Whether two places on a page are the same, to the tenth of a pixel that files hold.
inline bool same(double a, double b) { return std::abs(a - b) < 0.11; }

}  // namespace picture
