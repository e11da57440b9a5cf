// SPDX-License-Identifier: MIT
// list, describe, measure and calibrate: what a device is, and what it does.
#include <fmt/format.h>

#include <algorithm>

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
    const device_watch watch{[&] { return here.driver.used(here.handle); },
                             [&] { return here.driver.now(here.handle); }, here.driver.used_at_start(here.handle)};
    return measure(*here.cuda, here.cuda_index(), static_cast<std::int32_t>(here.devices.size()), watch, o.figures,
                   here.stop, here.live());
}

/// What of a measurement went wrong: someone else has the device, a library is missing, or something is broken.
ending end_of(const device& live, const problem& opening) {
    const measured_fault found = fault_in(live, opening);
    if (found.what.empty()) return {};
    return {found.missing || taken_by_others(found.why) ? exit_skipped : exit_internal, found.what + ": " + found.why};
}

/// Those that CUDA shows, or the one that was asked for, and those that it hides where these were asked for.
ending show(const options& o, workplace& here, void (*print)(const device&)) {
    std::vector<device> shown = o.device.empty() ? here.devices : std::vector{here.live()};
    if (o.device.empty()) shown.insert(shown.end(), here.hidden.begin(), here.hidden.end());
    device_file file = file_of(shown);
    if (!o.simulate.empty())  // it keeps its own time and version
        file.probe_version = here.recorded.probe_version, file.captured_at = here.recorded.captured_at;
    if (o.json || print == nullptr)
        write_json(to_json(file), o.json.value_or(""));
    else
        std::for_each(shown.begin(), shown.end(), print);
    return here.devices.empty() ? here.without_device() : ending{};
}

}  // namespace

ending run_list(const options& o) {
    options all = o;
    all.hidden = true;
    workplace here{all};
    return show(all, here, print_line);
}

ending run_describe(const options& o) {
    workplace here{o};
    if (!o.no_context && o.simulate.empty())
        for (std::size_t i = 0; i < here.devices.size(); ++i)
            if (o.device.empty() || i == here.index)  // no other device is opened
                here.devices[i].memory.cuda_free = reading_of([&] {
                    here.cuda->open_context(static_cast<std::int32_t>(i));
                    return here.cuda->memory().free;
                });
    return show(o, here, nullptr);
}

ending run_measure(const options& o) {
    workplace here{o};
    if (!o.simulate.empty()) return {exit_skipped, "skipped: a recorded device cannot be measured"};
    const problem opening = measure_device(here, o);
    write_json(to_json(file_of({here.live()})), o.json.value_or(""));
    if (const std::string why = here.stop.why(); !why.empty()) return {exit_skipped, "stopped early: " + why};
    return end_of(here.live(), opening);
}

ending run_calibrate(const options& o) {
    workplace here{o};
    // What a recorded device was measured to do is all that can be said of it again.
    const problem opening = o.simulate.empty() ? measure_device(here, o) : problem{};
    if (const std::string why = here.stop.why(); !why.empty()) return {exit_skipped, "nothing written: " + why};
    // A library that is missing leaves its figures out of the file; after a fault there is none.
    const ending measured = o.simulate.empty() ? end_of(here.live(), opening) : ending{};
    if (measured.code != exit_done && (measured.code != exit_skipped || !here.live().measured.read_bandwidth))
        return measured;
    const auto written = to_json(file_of({here.live()}));
    write_json(written, o.out);
    if (o.json) write_json(written, *o.json);
    return {measured.code, "wrote " + o.out + (measured.why.empty() ? "" : ", without " + measured.why)};
}

}  // namespace llmres::probe
