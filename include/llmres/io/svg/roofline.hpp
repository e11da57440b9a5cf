// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <llmres/hardware/gpu.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/time/kernel_times.hpp>
#include <llmres/values/to_string.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>

/// The roofline of a step: how fast its kernels are beside what the GPU allows.
namespace llmres::inline v0 {

/// FLOPs a second against FLOPs for each byte moved, both axes logarithmic: the peaks of the GPU's datasheet as lines,
/// and each kind of kernel as a point, larger where it takes more of its pass. A list below has their figures.
/// Kernels without products are in the list alone.
inline std::string roofline_to_svg(const kernel_times& kernels, const gpu& card, std::string_view title);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline std::string_view kind_text(const kernel_time& k) {
    constexpr std::array<std::string_view, 4> names{"matrix products", "experts' products", "attention", "elementwise"};
    return k.head ? "head" : names[static_cast<std::size_t>(k.kind)];
}

inline std::string_view kind_colour(const kernel_time& k) {
    constexpr std::array terms{memory_term::weights, memory_term::adapter, memory_term::gradients,
                               memory_term::fragmentation};
    return k.head ? colour_of(memory_term::activations) : colour_of(terms[static_cast<std::size_t>(k.kind)]);
}

/// Whether a pass is drawn as a ring: the second of a step's two.
inline bool is_ring(step_pass p) { return p == step_pass::backward || p == step_pass::prefill; }

/// The logarithmic axes, in whole powers of ten.
struct roofline_axes {
    static constexpr double top = 84;
    static constexpr double bottom = 344;
    static constexpr double from = drawing::left + 84;
    double least_intensity = 0, most_intensity = 3;  ///< powers of ten of FLOPs a byte
    double least_rate = 12, most_rate = 15;          ///< powers of ten of FLOPs a second

    roofline_axes(const kernel_times& kernels, double peak, double bandwidth) {
        most_intensity = std::ceil(std::log10(peak / bandwidth) + 0.5);
        most_rate = std::log10(peak) + 0.2;
        for (const kernel_time& k : kernels.all()) {
            if (k.flops <= flop_count{}) continue;
            least_intensity = (std::min)(least_intensity, std::floor(std::log10(k.intensity())));
            most_intensity = (std::max)(most_intensity, std::ceil(std::log10(k.intensity())));
        }
        least_rate = std::floor(std::log10(bandwidth) + least_intensity);
        for (const kernel_time& k : kernels.all())
            if (k.flops > flop_count{})
                least_rate = (std::min)(least_rate, std::floor(std::log10(k.rate().in(flops_per_s))));
    }

    double x(double intensity) const {
        return from +
               (drawing::right - from) * (std::log10(intensity) - least_intensity) / (most_intensity - least_intensity);
    }
    double y(double rate) const {
        return bottom - (bottom - top) * (std::log10(rate) - least_rate) / (most_rate - least_rate);
    }

    void draw(drawing& into) const {
        for (double power = least_rate; power < most_rate; ++power) {
            const double rate = std::pow(10.0, power);
            into.line(from, y(rate), drawing::right, y(rate), "thin");
            into.text(from - 8, y(rate) + 5, to_string(flops_per_s(rate)), "soft", "end");
        }
        for (double power = least_intensity; power <= most_intensity; ++power) {
            const double intensity = std::pow(10.0, power);
            into.line(x(intensity), bottom, x(intensity), bottom + 5, "thin");
            into.text(x(intensity), bottom + 20, detail::filled("{:g}", intensity), "soft",
                      power == most_intensity ? "end" : "middle");
        }
        into.text((from + drawing::right) / 2, bottom + 38, "FLOP for each byte moved", "soft", "middle");
    }
    /// What memory traffic allows, up to the highest peak of the arithmetic.
    void draw_memory(drawing& into, double peak, double bandwidth) const {
        const double ridge = peak / bandwidth;
        const double start = (std::max)(std::pow(10.0, least_rate) / bandwidth, std::pow(10.0, least_intensity));
        const double middle = std::sqrt(start * ridge);
        into.line(x(start), y(start * bandwidth), x(ridge), y(peak));
        into.text(x(middle) - 12, y(middle * bandwidth), detail::filled("memory {}", to_string(bytes_per_s(bandwidth))),
                  "note", "end");
    }
    /// What an arithmetic allows.
    void draw_peak(drawing& into, arithmetic_kind kind, double peak, double bandwidth) const {
        const double ridge = x(peak / bandwidth);
        into.line(ridge, y(peak), drawing::right, y(peak));
        into.text(ridge - 10, y(peak) + 4, detail::filled("{} {}", name_of(kind), to_string(flops_per_s(peak))), "note",
                  "end");
    }
};

inline std::string per_byte_text(double intensity) {
    return intensity < 100 ? detail::filled("{:.3g}", intensity) : detail::filled("{:.0f}", intensity);
}

/// The kernels in a list, and above it what its columns are.
inline double draw_kernels(drawing& into, double y, const kernel_times& kernels) {
    constexpr std::array<double, 4> columns{315, 415, 525, drawing::right};
    constexpr std::array<std::string_view, 4> heads{"FLOP/byte", "bytes moved", "rate", "time"};
    for (std::size_t i = 0; i < columns.size(); ++i) into.text(columns[i], y, heads[i], "soft", "end");
    for (const kernel_time& k : kernels.all()) {
        y += 22;
        (is_ring(k.pass) ? into.ring(drawing::left + 7, y - 5, kind_colour(k))
                         : into.point(drawing::left + 7, y - 5, kind_colour(k), 6.5));
        into.text(drawing::left + 22, y, detail::filled("{}, {}", name_of(k.pass), kind_text(k)));
        const bool computes = k.flops > flop_count{};
        if (computes) into.text(columns[0], y, per_byte_text(k.intensity()), "", "end");
        into.text(columns[1], y, to_string(k.moved), "", "end");
        into.text(columns[2], y, computes ? to_string(k.rate()) : to_string(approx(k.moved) / k.time), "", "end");
        into.text(columns[3], y, to_string(k.time), "", "end");
    }
    return y;
}

}  // namespace detail

inline std::string roofline_to_svg(const kernel_times& kernels, const gpu& card, std::string_view title) {
    using detail::drawing;
    const bool trains = kernels.count > 0 && kernels.storage[0].pass == step_pass::forward;
    drawing into{title, trains ? "Roofline: kernels of a micro-batch's passes, beside the GPU's peaks"
                               : "Roofline: kernels of a decoding step and of a prompt, beside the GPU's peaks"};
    const double bandwidth = card.memory.bandwidth.in(bytes_per_s);
    double peak = 0;
    for (const kernel_time& k : kernels.all()) peak = (std::max)(peak, matrix_rate(card, k.arithmetic).in(flops_per_s));
    if (!(peak > 0) || !(bandwidth > 0)) {
        into.text(drawing::left, 84, "The peaks of this GPU are not known.");
        return into.finished(104);
    }
    const detail::roofline_axes axes{kernels, peak, bandwidth};
    axes.draw(into);
    axes.draw_memory(into, peak, bandwidth);
    std::array<duration, 4> of_pass{};
    std::array<bool, 10> drawn{};
    for (const kernel_time& k : kernels.all()) {
        of_pass[static_cast<std::size_t>(k.pass)] += k.time;
        const double own = matrix_rate(card, k.arithmetic).in(flops_per_s);
        bool& known = drawn[static_cast<std::size_t>(k.arithmetic)];
        if (k.flops > flop_count{} && !known && own > 0) axes.draw_peak(into, k.arithmetic, own, bandwidth);
        known = known || k.flops > flop_count{};
    }
    for (const kernel_time& k : kernels.all()) {
        if (k.flops <= flop_count{}) continue;
        const double share = k.time / of_pass[static_cast<std::size_t>(k.pass)];
        const double x = axes.x(k.intensity()), y = axes.y(k.rate().in(flops_per_s));
        const double radius = 4 + 8 * std::sqrt(share);
        detail::is_ring(k.pass) ? into.ring(x, y, detail::kind_colour(k), radius)
                                : into.point(x, y, detail::kind_colour(k), radius);
    }
    const double end = detail::draw_kernels(into, axes.bottom + 70, kernels);
    return into.finished(end + 16);
}

}  // namespace llmres::inline v0
