// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "cuda_api.hpp"
#include "stop.hpp"

/// What is measured on a device, how often, and what is made of the samples.
namespace llmres::probe {

struct measure_options {
    std::int32_t repeats = 20;
    bool quick = false;                   ///< fewer shapes and smaller transfers
    reading<byte_count> used_at_start{};  ///< NVML's used bytes before CUDA was touched
};

/// Times into rates: the median time gives the median rate, the longest the lowest. No samples, or a time of zero or
/// less, is no measurement.
reading<measured<byte_rate>> rate_of(const samples& seconds, byte_count moved);
reading<measured<flop_rate>> rate_of(const samples& seconds, flop_count done);
reading<measured<duration>> summary_of(const samples& seconds);

/// The products measured on a device of that compute capability: square ones from latency to peak, and tall ones as in
/// decoding. fp8 needs 8.9, bf16 and tf32 need 8.0.
std::vector<product_shape> product_shapes(std::int32_t major, std::int32_t minor, bool quick);

/// The first figure that is not there, or whose result was wrong.
struct measured_fault {
    std::string what;  ///< empty if there is none
    std::string why;
    bool missing = false;  ///< for want of a library alone
};
measured_fault fault_in(const device& live);

/// Opens the device's context and libraries, watching what they take, then measures. `used` is NVML's used bytes.
/// Stops between measurements when asked; what is then missing says so.
void measure(cuda_api& cuda, std::int32_t index, std::int32_t device_count,
             const std::function<reading<byte_count>()>& used, const measure_options& options, const stop_signal& stop,
             device& into);

}  // namespace llmres::probe
