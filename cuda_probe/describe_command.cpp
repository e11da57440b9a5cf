// SPDX-License-Identifier: MIT
// list, describe, measure and calibrate: what a device is, and what it does.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <llmres/io/files.hpp>

#include "commands.hpp"
#include "describe.hpp"
#include "measure.hpp"

namespace llmres::probe {

namespace {

/// One line for people.
void print_line(const device& live) {
    const auto or_reason = [](const auto& field) {
        return field ? std::string{field.value.view()} : fmt::format("({})", field.why.view());
    };
    const auto index = live.identity.index_cuda ? std::to_string(*live.identity.index_cuda) : std::string{"-"};
    const auto& total = live.memory.cuda_total ? live.memory.cuda_total : live.memory.nvml_total;
    std::printf("%-3s %s  %s  ", index.c_str(), or_reason(live.identity.uuid).c_str(),
                or_reason(live.identity.name).c_str());
    if (total)
        std::printf("%.2f GiB\n", total.value.in(gib));
    else
        std::printf("(%s)\n", std::string{total.why.view()}.c_str());
}

template <class Quantity, class Unit>
void print_rate(const char* what, const reading<measured<Quantity>>& rate, const Unit& unit, const char* name) {
    if (rate)
        std::printf("  %-28s %12.3f %s  (%.3f to %.3f, %d repeats)\n", what, rate->median.in(unit), name,
                    rate->low.in(unit), rate->high.in(unit), rate->repeats);
    else
        std::printf("  %-28s %s\n", what, std::string{rate.why.view()}.c_str());
}

void print_measured(const device& live) {
    const device_measurements& m = live.measured;
    print_line(live);
    print_rate("read", m.read_bandwidth, gb_per_s, "GB/s");
    print_rate("copy (read + written)", m.copy_bandwidth, gb_per_s, "GB/s");
    print_rate("host to device, pinned", m.host_to_device_pinned, gb_per_s, "GB/s");
    print_rate("device to host, pinned", m.device_to_host_pinned, gb_per_s, "GB/s");
    print_rate("host to device, pageable", m.host_to_device_pageable, gb_per_s, "GB/s");
    print_rate("device to host, pageable", m.device_to_host_pageable, gb_per_s, "GB/s");
    print_rate("launch and wait", m.launch_latency, microseconds, "us");
    print_rate("launch, back to back", m.launch_interval, microseconds, "us");
    for (const device_product& p : m.products) {
        const std::string what = std::string{p.precision.view()} + " " + std::to_string(p.rows) + " x " +
                                 std::to_string(p.columns) + " x " + std::to_string(p.inner) +
                                 (p.verified.value_or(false) ? "" : " (not verified)");
        print_rate(what.c_str(), p.rate, tflops, "TFLOP/s");
    }
}

/// Describes and measures one device of the machine; its index among `all` is CUDA's.
void measure_device(cuda_api& cuda, const nvml& driver, const measure_command_options& options, const stop_signal& stop,
                    std::size_t index, std::size_t count, device& live) {
    const auto handle = join(driver, live);
    const auto used = [&] { return handle ? driver.used(*handle) : reading<byte_count>::unavailable(handle.why); };
    measure(cuda, static_cast<std::int32_t>(index), static_cast<std::int32_t>(count), used,
            {.repeats = options.repeats,
             .quick = options.quick,
             .used_at_start = handle ? driver.used_at_start(*handle) : reading<byte_count>::unavailable(handle.why)},
            stop, live);
}

/// What of a measurement went wrong: someone else has the device, a library is missing, or something is broken.
int end_of(const device& live) {
    const measured_fault found = fault_in(live);
    if (found.what.empty()) return exit_done;
    return end(found.missing || taken_by_others(found.why) ? exit_skipped : exit_internal,
               found.what + ": " + found.why);
}

}  // namespace

int run_list(const common_options& common) {
    if (!common.simulate.empty()) {
        const auto file = read_device_file(common.simulate);
        if (!file) return refuse(file.error());
        if (file->devices.empty()) return end_without_device(common.simulate + " holds none");
        for (const device& live : file->devices) print_line(live);
        return exit_done;
    }
    const nvml driver;
    const auto cuda = make_cuda();
    const device_total total = cuda->device_count();
    const auto seen = describe_all(*cuda, driver, total.count);
    const auto hidden = describe_hidden(driver, seen);
    if (common.json) {
        std::vector<device> all = seen;
        all.insert(all.end(), hidden.begin(), hidden.end());
        if (!write_json(to_json(file_of(all)), *common.json)) return exit_usage;
    } else if (seen.empty() && hidden.empty()) {
        return end_without_device(total);
    } else {
        for (const device& live : seen) print_line(live);
        for (const device& live : hidden) print_line(live);
    }
    if (!seen.empty()) return exit_done;
    return end(total.fault ? exit_internal : exit_no_device,
               "no device that CUDA can use: " + std::string{total.why.view()});
}

int run_describe(const common_options& common, const describe_options& options) {
    const nvml driver;
    const auto cuda = make_cuda();
    if (common.simulate.empty() && options.hidden) {
        const device_total total = cuda->device_count();
        const auto hidden = total.count == 0 && !total.fault ? describe_hidden(driver, {}) : std::vector<device>{};
        if (!hidden.empty() && !write_json(to_json(file_of(hidden)), common.json.value_or(""))) return exit_usage;
        if (!hidden.empty()) return end(exit_no_device, "no device that CUDA can use");
    }
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto read = [&](std::size_t i) {
        if (options.context && common.simulate.empty()) read_free(*cuda, static_cast<std::int32_t>(i), devices[i]);
    };
    if (!common.device.empty()) {
        const auto which = select(devices, common.device);
        if (!which) return refuse(which.error());
        read(*which);  // no other device is opened
        devices = {devices[*which]};
    } else {
        for (std::size_t i = 0; i < devices.size(); ++i) read(i);
        const auto hidden =
            options.hidden && common.simulate.empty() ? describe_hidden(driver, devices) : std::vector<device>{};
        devices.insert(devices.end(), hidden.begin(), hidden.end());
    }
    // A recorded file keeps its own time and version.
    device_file file = file_of(devices);
    if (!common.simulate.empty()) {
        const auto recorded = read_device_file(common.simulate);
        if (recorded) file.probe_version = recorded->probe_version, file.captured_at = recorded->captured_at;
    }
    return write_json(to_json(file), common.json.value_or("")) ? exit_done : exit_usage;
}

int run_measure(const common_options& common, const measure_command_options& options) {
    const stop_signal stop{common.timeout_s};
    const nvml driver;
    const auto cuda = make_cuda();
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto which = select(devices, common.device);
    if (!which) return refuse(which.error());
    if (!common.simulate.empty()) return end(exit_skipped, "skipped: a recorded device cannot be measured");
    device& live = devices[*which];
    measure_device(*cuda, driver, options, stop, *which, devices.size(), live);
    if (common.json && !write_json(to_json(file_of({live})), *common.json)) return exit_usage;
    if (!common.json) print_measured(live);
    if (const std::string why = stop.why(); !why.empty()) return end(exit_skipped, "stopped early: " + why);
    return end_of(live);
}

int run_calibrate(const common_options& common, const measure_command_options& options, const std::string& out) {
    const stop_signal stop{common.timeout_s};
    const nvml driver;
    const auto cuda = make_cuda();
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto which = select(devices, common.device);
    if (!which) return refuse(which.error());
    device live = devices[*which];
    // What a recorded device was measured to do is all that can be said of it again.
    if (common.simulate.empty()) measure_device(*cuda, driver, options, stop, *which, devices.size(), live);
    if (const std::string why = stop.why(); !why.empty()) return end(exit_skipped, "nothing written: " + why);
    // A library that is missing leaves its figures out of the file; after a fault there is none.
    const int measured = common.simulate.empty() ? end_of(live) : int{exit_done};
    if (measured != exit_done && (measured != exit_skipped || !live.measured.read_bandwidth)) return measured;
    if (!write_json(to_json(file_of({live})), out)) return exit_usage;
    if (common.json && !write_json(to_json(file_of({live})), *common.json)) return exit_usage;
    return end(static_cast<exit_code>(measured), "wrote " + out);
}

}  // namespace llmres::probe
