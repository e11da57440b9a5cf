// SPDX-License-Identifier: MIT
// describe and calibrate: what a device is, and what it does.
#include "commands.hpp"
#include "measure.hpp"

namespace llmres::probe {

ending run_describe(const options& o) {
    workplace here{o};
    if (!o.no_context && o.simulate.empty())
        for (std::size_t i = 0; i < here.devices.size(); ++i)
            if (o.device.empty() || i == here.index)  // no other device is opened
                here.devices[i].memory.cuda_free = reading_of([&] {
                    here.cuda->open_context(static_cast<std::int32_t>(i));
                    return here.cuda->memory().free;
                });
    device_file file = file_of(o.device.empty() ? here.devices : std::vector{here.live()});
    if (!o.simulate.empty())  // it keeps its own time and version
        file.probe_version = here.recorded.probe_version, file.captured_at = here.recorded.captured_at;
    write_json(to_json(file), o.json.value_or(""));
    return {};
}

ending run_calibrate(const options& o) {
    workplace here{o};
    const device_watch watch{[&] { return here.driver.used(here.handle); },
                             [&] { return here.driver.now(here.handle); }, here.driver.used_at_start(here.handle)};
    measured_fault fault;
    // What a recorded device was measured to do is all that can be said of it again.
    if (o.simulate.empty())
        fault = measure(*here.cuda, here.cuda_index(), static_cast<std::int32_t>(here.devices.size()), watch, o.figures,
                        here.stop, here.live());
    const auto written = to_json(file_of({here.live()}));
    if (o.json || o.out.empty()) write_json(written, o.json.value_or(""));
    if (const std::string why = here.stop.why(); !why.empty()) return {exit_skipped, "stopped early: " + why};
    const bool skipped = fault.missing || taken_by_others(fault.why);
    const int code = fault.what.empty() ? exit_done : skipped ? exit_skipped : exit_internal;
    const std::string wrong = fault.what.empty() ? "" : fault.what + ": " + fault.why;
    // A library that is missing leaves its figures out of the file; after a fault there is none.
    const bool useful = code == exit_done || (code == exit_skipped && here.live().measured.read_bandwidth);
    if (o.out.empty() || !useful) return {code, wrong};
    write_json(written, o.out);
    return {code, "wrote " + o.out + (wrong.empty() ? "" : ", without " + wrong)};
}

}  // namespace llmres::probe
