// SPDX-License-Identifier: MIT
#pragma once

#include <sys/ioctl.h>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <llmres/answers/job_plan.hpp>
#include <string>
#include <string_view>

namespace program {

/// Whether stdout is a terminal that takes colours, and the caller wants them (https://no-color.org).
inline bool has_colour(bool on_terminal = isatty(STDOUT_FILENO) != 0) {
    const char* refused = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return on_terminal && (refused == nullptr || *refused == '\0') &&
           (terminal == nullptr || std::string_view{terminal} != "dumb");
}

/// The characters of a line: COLUMNS, or as wide as the terminal is; 76 where there is none.
inline int line_width() {
    constexpr int usual = 76, least = 32, most = 160;
    if (const char* said = std::getenv("COLUMNS"); said != nullptr && std::atoi(said) > 0)
        return std::clamp(std::atoi(said), least, most);
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return std::clamp(static_cast<int>(size.ws_col), least, most);
    return usual;
}

/// A verdict as a terminal shows it: green, yellow or red where it has colours.
inline std::string shown(llmres::verdict v, bool in_colour = has_colour()) {
    const std::string name{name_of(v)};
    if (!in_colour) return name;
    const std::string_view colour = v == llmres::verdict::fits ? "32" : v == llmres::verdict::tight ? "33" : "31";
    return "\x1b[1;" + std::string{colour} + "m" + name + "\x1b[0m";
}

}  // namespace program
