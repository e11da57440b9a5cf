// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "cuda_api.hpp"
#include "nvml.hpp"
#include "stop.hpp"

/// What is measured on a device, how often, and what is made of the samples.
namespace llmres::probe {

/// What this process takes of a device before it has allocated anything, watched through NVML step by step.
struct baselines {
    reading<byte_count> context{};      ///< by how much the used bytes grew with the context
    reading<byte_count> libraries{};    ///< and with cuBLAS's first product
    reading<byte_count> used_before{};  ///< NVML's used bytes before CUDA was touched
    reading<byte_count> used_with_context{};
    reading<byte_count> used_with_libraries{};
    reading<byte_count> cuda_free{};  ///< with context and libraries
    problem no_libraries{};           ///< why cuBLAS could not be opened
};

/// By how much a size grew; what others did meanwhile is in it.
inline reading<byte_count> growth(const reading<byte_count>& before, const reading<byte_count>& after) {
    if (!before || !after) return reading<byte_count>::unavailable(before ? after.why : before.why);
    if (*after < *before) return reading<byte_count>::unavailable("memory in use fell meanwhile: others moved");
    return *after - *before;
}

/// Opens the device's context and libraries; `b` knows what was in use before. Throws call_failed where the context
/// cannot be opened.
inline void open_watched(cuda_api& cuda, std::int32_t index, const std::function<reading<byte_count>()>& used,
                         baselines& b) {
    cuda.open_context(index);
    b.used_with_context = used();
    b.context = growth(b.used_before, b.used_with_context);
    if (b.context && *b.context == byte_count{})
        b.context = reading<byte_count>::unavailable("NVML shows no bytes for the context that was opened");
    b.no_libraries = problem_of([&] { cuda.open_libraries(); });
    b.used_with_libraries = b.no_libraries.empty() ? used() : reading<byte_count>::unavailable(b.no_libraries);
    b.libraries = growth(b.used_with_context, b.used_with_libraries);
    b.cuda_free = reading_of([&] { return cuda.memory().free; });
}

struct measure_options {
    std::int32_t repeats = 20;
    bool quick = false;  ///< fewer shapes and smaller transfers
    double warm_s = 0.05;
    double long_s = 3;  ///< how long a product runs before its rate is one of long runs: power limits act in a second
};

/// What NVML says while figures are taken.
struct device_watch {
    std::function<reading<byte_count>()> used;
    std::function<nvml::state()> now;
    reading<byte_count> used_at_start{};  ///< before CUDA was touched
};

/// The rate at the median of these times (the mean of the two middle ones of an even number), at the longest and at the
/// shortest. No times, or one of zero or less, is no measurement, and throws call_failed.
template <class Work>
auto rate_of(samples times, Work work, const device_conditions& during = {}) {
    if (times.empty()) throw call_failed{"no samples"};
    std::sort(times.begin(), times.end());
    if (!(times.front() > 0)) throw call_failed{"a time of zero"};
    const std::size_t size = times.size();
    const auto in = [&](double s) { return work / seconds(s); };
    return measured{in((times[(size - 1) / 2] + times[size / 2]) / 2), in(times.back()), in(times.front()),
                    static_cast<std::int32_t>(size), during};
}

/// The products measured on a device of that compute capability, square ones and one of a layer's shape: those of which
/// the library makes rates. fp8 needs 8.9, bf16 and tf32 need 8.0.
std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick);

/// The first figure that is not there, or whose result was wrong; a fault counts before a library that is missing.
struct measured_fault {
    std::string what{};  ///< empty if there is none
    std::string why{};
    bool missing = false;  ///< for want of a library alone

    void note(const std::string& of, std::string_view reason);
};

/// Opens the device's context and libraries, watching what they take, then measures. Stops between measurements when
/// asked; what is then missing says so.
measured_fault measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count, const device_watch& watch,
                       const measure_options& options, const stop_signal& stop, device& into);

}  // namespace llmres::probe
