// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <chrono>
#include <cstdio>
#include <string>

namespace program {

/// Tells on stderr how far something is that takes longer than half a second, on a line that is written over.
class progress {
public:
    progress() = default;
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() {
        if (shown_) std::fputs("\n", stderr);
    }

    /// Writes `text()` if half a second has passed since the last time.
    template <class Text>
    void tell(const Text& text) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(500)) return;
        last_ = now;
        shown_ = true;
        std::fputs(fmt::format("\rllmres: {} ", text()).c_str(), stderr);
        std::fflush(stderr);
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    bool shown_ = false;
};

/// A bar of thirty characters, filled as far as something is.
inline std::string progress_bar(std::size_t done, std::size_t all) {
    constexpr std::size_t width = 30;
    const std::size_t filled = all == 0 ? width : width * done / all;
    return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

}  // namespace program
