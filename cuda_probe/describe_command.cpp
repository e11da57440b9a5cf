// SPDX-License-Identifier: MIT
// list, describe, measure and calibrate: what a device is, and what it does.
#include <fmt/format.h>

#include <iostream>
#include <llmres/io/files.hpp>

#include "commands.hpp"
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

/// Describes and measures the device; its problem is what could not be opened.
problem measure_device(workplace& here, const options& o) {
    const device_watch watch{[&] { return here.ask(&nvml::used); },
                             [&] {
                                 const text<95>& why = here.handle.why;
                                 return here.handle ? here.driver.now(*here.handle)
                                                    : nvml::state{reading<frequency>::unavailable(why),
                                                                  reading<power>::unavailable(why),
                                                                  reading<unsigned long long>::unavailable(why)};
                             },
                             here.ask(&nvml::used_at_start)};
    return measure(*here.cuda, here.cuda_index(), static_cast<std::int32_t>(here.devices.size()), watch, o.figures,
                   here.stop, here.live());
}

/// What of a measurement went wrong: someone else has the device, a library is missing, or something is broken.
int end_of(const device& live, const problem& opening) {
    const measured_fault found = fault_in(live, opening);
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
    workplace here{o};
    if (!here) return here.exit;
    if (!o.simulate.empty()) return end(exit_skipped, "skipped: a recorded device cannot be measured");
    const problem opening = measure_device(here, o);
    if (!write_json(to_json(file_of({here.live()})), o.json.value_or(""))) return exit_usage;
    if (const std::string why = here.stop.why(); !why.empty()) return end(exit_skipped, "stopped early: " + why);
    return end_of(here.live(), opening);
}

int run_calibrate(const options& o) {
    workplace here{o};
    if (!here) return here.exit;
    // What a recorded device was measured to do is all that can be said of it again.
    const problem opening = o.simulate.empty() ? measure_device(here, o) : problem{};
    if (const std::string why = here.stop.why(); !why.empty()) return end(exit_skipped, "nothing written: " + why);
    // A library that is missing leaves its figures out of the file; after a fault there is none.
    const int measured = o.simulate.empty() ? end_of(here.live(), opening) : int{exit_done};
    if (measured != exit_done && (measured != exit_skipped || !here.live().measured.read_bandwidth)) return measured;
    const auto written = to_json(file_of({here.live()}));
    if (!write_json(written, o.out) || (o.json && !write_json(written, *o.json))) return exit_usage;
    return end(static_cast<exit_code>(measured), "wrote " + o.out);
}

}  // namespace llmres::probe
