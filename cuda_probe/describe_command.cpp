// SPDX-License-Identifier: MIT
// list, describe, measure and calibrate: what a device is, and what it does.
#include <fmt/format.h>

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
    fmt::print("{:3} {}  {}  {}\n", index, or_reason(live.identity.uuid), or_reason(live.identity.name),
               total ? fmt::format("{:.2f} GiB", total.value.in(gib)) : fmt::format("({})", total.why.view()));
}

template <class Quantity, class Unit>
void print_rate(const std::string& what, const reading<measured<Quantity>>& rate, const Unit& unit, const char* name) {
    if (!rate) return fmt::print("  {:30} {}\n", what, rate.why.view());
    const device_conditions& d = rate->during;
    fmt::print("  {:30} {:12.3f} {}  ({:.3f} to {:.3f}, {} repeats{}{}{})\n", what, rate->median.in(unit), name,
               rate->low.in(unit), rate->high.in(unit), rate->repeats,
               d.sm_clock ? fmt::format("; {:.0f} MHz", d.sm_clock->in(mhz)) : "",
               d.draw ? fmt::format(", {:.0f} W", d.draw->in(watts)) : "",
               d.throttle_reasons ? fmt::format(", throttled: {}", d.throttle_reasons->view()) : "");
}

void print_measured(const device& live) {
    const device_measurements& m = live.measured;
    print_line(live);
    const auto print_size = [](const char* what, const reading<byte_count>& size) {
        fmt::print("  {:30} {}\n", what,
                   size ? fmt::format("{:12.3f} MiB", size->in(mib)) : std::string{size.why.view()});
    };
    print_size("context", m.context), print_size("library workspace", m.library_workspace);
    print_rate("read", m.read_bandwidth, gb_per_s, "GB/s");
    print_rate("host to device", m.host_to_device_pinned, gb_per_s, "GB/s");
    print_rate("device to host", m.device_to_host_pinned, gb_per_s, "GB/s");
    for (const device_product& p : m.products) {
        const std::string what = fmt::format("{} {} x {} x {}{}", p.precision.view(), p.rows, p.columns, p.inner,
                                             p.verified.value_or(false) ? "" : " (not verified)");
        print_rate(what, p.rate, tflops, "TFLOP/s");
        if (p.sustained) print_rate("  the same in a long run", p.sustained, tflops, "TFLOP/s");
    }
    for (const device_peer& peer : live.peers)
        print_rate(fmt::format("to {}", peer.uuid.view()), peer.bandwidth, gb_per_s, "GB/s");
    for (const device_all_reduce& one : m.all_reduces)
        print_rate(fmt::format("all-reduce of {} devices", one.devices), one.bandwidth, gb_per_s, "GB/s");
}

/// Describes and measures the device.
void measure_device(workplace& here, const options& o, const stop_signal& stop) {
    const device_watch watch{[&] { return here.ask(&nvml::used); },
                             [&] {
                                 const text<95>& why = here.handle.why;
                                 return here.handle ? here.driver.now(*here.handle)
                                                    : nvml::state{reading<frequency>::unavailable(why),
                                                                  reading<power>::unavailable(why),
                                                                  reading<unsigned long long>::unavailable(why)};
                             },
                             here.ask(&nvml::used_at_start)};
    measure(*here.cuda, here.cuda_index(), static_cast<std::int32_t>(here.devices.size()), watch, o.figures, stop,
            here.live());
}

/// What of a measurement went wrong: someone else has the device, a library is missing, or something is broken.
int end_of(const device& live) {
    const measured_fault found = fault_in(live);
    if (found.what.empty()) return exit_done;
    return end(found.missing || taken_by_others(found.why) ? exit_skipped : exit_internal,
               found.what + ": " + found.why);
}

}  // namespace

int run_list(const options& o) {
    if (!o.simulate.empty()) {
        workplace here{o};
        for (const device& live : here.devices) print_line(live);
        return here.exit;
    }
    const nvml driver;
    const auto cuda = make_cuda();
    const device_total total = cuda->device_count();
    const auto seen = describe_all(*cuda, driver, total.count);
    std::vector<device> all = seen;
    for (const device& hidden : describe_hidden(driver, seen)) all.push_back(hidden);
    if (!o.json && all.empty()) return end_without_device(total);
    if (o.json && !write_json(to_json(file_of(all)), *o.json)) return exit_usage;
    if (!o.json)
        for (const device& live : all) print_line(live);
    if (!seen.empty()) return exit_done;
    return end(total.fault ? exit_internal : exit_no_device,
               "no device that CUDA can use: " + std::string{total.why.view()});
}

int run_describe(const options& o) {
    if (o.simulate.empty() && o.hidden) {
        const nvml driver;
        const device_total total = make_cuda()->device_count();
        const auto hidden = total.count == 0 && !total.fault ? describe_hidden(driver, {}) : std::vector<device>{};
        if (!hidden.empty() && !write_json(to_json(file_of(hidden)), o.json.value_or(""))) return exit_usage;
        if (!hidden.empty()) return end(exit_no_device, "no device that CUDA can use");
    }
    workplace here{o};
    if (!here) return here.exit;
    const bool one = !o.device.empty(), recorded = !o.simulate.empty();
    if (!o.no_context && !recorded)
        for (std::size_t i = 0; i < here.devices.size(); ++i)
            if (!one || i == here.index)  // no other device is opened
                read_free(*here.cuda, static_cast<std::int32_t>(i), here.devices[i]);
    std::vector<device> shown = one ? std::vector{here.live()} : here.devices;
    if (o.hidden && !recorded && !one)
        for (const device& hidden : describe_hidden(here.driver, here.devices)) shown.push_back(hidden);
    device_file file = file_of(shown);
    if (recorded)  // it keeps its own time and version
        if (const auto as = read_device_file(o.simulate); as)
            file.probe_version = as->probe_version, file.captured_at = as->captured_at;
    return write_json(to_json(file), o.json.value_or("")) ? exit_done : exit_usage;
}

int run_measure(const options& o) {
    const stop_signal stop{o.timeout_s};
    workplace here{o};
    if (!here) return here.exit;
    if (!o.simulate.empty()) return end(exit_skipped, "skipped: a recorded device cannot be measured");
    measure_device(here, o, stop);
    if (o.json && !write_json(to_json(file_of({here.live()})), *o.json)) return exit_usage;
    if (!o.json) print_measured(here.live());
    if (const std::string why = stop.why(); !why.empty()) return end(exit_skipped, "stopped early: " + why);
    return end_of(here.live());
}

int run_calibrate(const options& o) {
    const stop_signal stop{o.timeout_s};
    workplace here{o};
    if (!here) return here.exit;
    // What a recorded device was measured to do is all that can be said of it again.
    if (o.simulate.empty()) measure_device(here, o, stop);
    if (const std::string why = stop.why(); !why.empty()) return end(exit_skipped, "nothing written: " + why);
    // A library that is missing leaves its figures out of the file; after a fault there is none.
    const int measured = o.simulate.empty() ? end_of(here.live()) : int{exit_done};
    if (measured != exit_done && (measured != exit_skipped || !here.live().measured.read_bandwidth)) return measured;
    const auto written = to_json(file_of({here.live()}));
    if (!write_json(written, o.out) || (o.json && !write_json(written, *o.json))) return exit_usage;
    return end(static_cast<exit_code>(measured), "wrote " + o.out);
}

}  // namespace llmres::probe
