// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <llmres/hardware/device.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <string_view>
#include <vector>

/// The devices of one machine as a value: io/device_json.hpp reads and writes them. Apart from it, since reading a job
/// takes a device_finder and parses no device.
namespace llmres::inline v0 {

/// A file of devices: what `llmres-probe describe` and `calibrate` write and `--device` and `--simulate` read.
struct device_file {
    static constexpr std::int64_t schema_version = 1;  ///< version of the format
    text<31> probe_version{};                          ///< version of the probe that wrote it
    text<31> captured_at{};                            ///< UTC, as in 2025-01-31T12:00:00Z
    std::vector<device> devices{};                     ///< the devices of one machine
};

/// How the file of `cluster.device`, as a job document names it, becomes devices.
using device_finder = std::function<result<device_file>(std::string_view path)>;

}  // namespace llmres::inline v0
