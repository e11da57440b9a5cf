// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "baselines.hpp"
#include "nvml.hpp"
#include "stop.hpp"

/// What is measured on a device, how often, and what is made of the samples.
namespace llmres::probe {

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
measured<byte_rate> rate_of(samples seconds, byte_count moved, const device_conditions& during = {});
measured<flop_rate> rate_of(samples seconds, flop_count done, const device_conditions& during = {});

/// The products measured on a device of that compute capability, square ones and one of a layer's shape: those of which
/// the library makes rates. fp8 needs 8.9, bf16 and tf32 need 8.0.
std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick);

/// The first figure that is not there, or whose result was wrong; `opening`: what measure() could not open.
struct measured_fault {
    std::string what;  ///< empty if there is none
    std::string why;
    bool missing = false;  ///< for want of a library alone
};
measured_fault fault_in(const device& live, const problem& opening = {});

/// Opens the device's context and libraries, watching what they take, then measures. Stops between measurements when
/// asked; what is then missing says so. Its problem is that of opening them.
problem measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count, const device_watch& watch,
                const measure_options& options, const stop_signal& stop, device& into);

}  // namespace llmres::probe
