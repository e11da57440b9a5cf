// SPDX-License-Identifier: MIT
// alloc: a plan's memory is allocated on a device, and compared with what the plan says.
#include <fmt/format.h>

#include <iostream>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/models/all.hpp>

#include "commands.hpp"
#include "host_room.hpp"
#include "report.hpp"

namespace llmres::probe {

namespace {

/// The job to test, where it needs no device to be planned: what is wrong with the arguments comes first, for it is
/// wrong on every machine.
std::optional<plan_request> job_before_device(const options& o, const std::string& document) {
    if (!names_file(o.job)) find_model(o.job.model).value();
    if (!names_cluster(document).value()) return {};
    plan_request request = request_of(document, {}).value();
    if (o.gpus && *o.gpus != request.cluster.gpus)
        throw exception{refused(error_code::inconsistent, "gpus", request.cluster.gpus,
                                fmt::format("a plan for {} GPUs, as asked", *o.gpus))};
    return request;
}

/// Refuses a plan for another machine: one for another GPU says nothing of this one, and one for more GPUs than there
/// are is of one GPU's part alone.
void check_machine(const options& o, const tested_plan& plan, const device& live, std::size_t devices) {
    const cluster& planned = plan.request.cluster;
    if (!o.gpus && planned.gpus > static_cast<std::int64_t>(devices))
        throw exception{refused(error_code::inconsistent, "gpus", planned.gpus,
                                fmt::format("a plan for the {} devices here, or --gpus {} to test one GPU's part of it",
                                            devices, planned.gpus))};
    const auto sheet = sheet_for(live);
    const bool same = sheet && sheet->id == planned.gpu.id;
    if (!same && !o.any_gpu)
        throw exception{
            refused(error_code::inconsistent, "cluster.gpu", planned.gpu.id,
                    fmt::format("a plan for {} ({}), or --any-gpu", sheet ? sheet->id.view() : "a GPU of the tables",
                                live.identity.name.value.view()))};
}

/// What stays free on a device that other processes use, or on which that is not known. One that no other process uses
/// may be filled.
void set_guard(alloc_report& report, const std::optional<std::int64_t>& asked, const reading<byte_count>& others) {
    report.guard = asked ? mib(*asked) : default_guard(report.live.memory.cuda_total.value_or(gib(16)));
    // Containers hide processes, but not what they hold: as much as half of our own context is another's context.
    const maybe<byte_count> held = held_by_others(report.live);
    const bool weighed = held && report.around.context;
    if (asked) {
        report.guard_reason = "flag";
    } else if (others && *others > byte_count{}) {
        report.guard_reason = "other processes use this device";
    } else if (weighed && *held * 2 > *report.around.context) {
        report.guard_reason = "memory was in use that no visible process holds";
    } else if (!others && !weighed) {
        report.guard_reason = "whether others use this device is not known: " + std::string{others.why.view()};
    } else {
        report.guard = {};
        report.guard_reason = "no other process uses this device";
    }
}

void search_into(alloc_report& report, const alloc_environment& around, const alloc_options& options,
                 const std::string& axis) {
    report.search_axis = axis;
    report.search = search_largest(
        around, [&](std::int64_t n) { return memory_of_plan(changed(report.plan.request, axis, n)); }, options,
        report.plan.largest(axis));
    report.judged = {report.search->says, report.search->reason};
    if (report.judged.reason.empty())
        report.judged.reason = "the largest " + axis + " held is " + std::to_string(report.search->largest);
}

/// The plan on the device itself: as often as asked, or at the largest batch or context.
void hold_plan(const options& o, workplace& here, const tensor_allocator& through, alloc_report& report) {
    const auto others = [&] { return here.driver.used_by_others(here.handle); };
    const auto others_before = others();  // before our own context, which a container may show under another id
    baselines& b = report.around;
    b.used_before = here.driver.used_at_start(here.handle);
    const auto open = [&] {
        open_watched(*here.cuda, here.cuda_index(), [&] { return here.driver.used(here.handle); }, b);
        if (!b.no_libraries.empty() && !library_missing(b.no_libraries)) throw call_failed{b.no_libraries};
        if (!b.cuda_free) throw call_failed{b.cuda_free.why};
    };
    if (const problem wrong = problem_of(open); !wrong.empty()) {
        report.judged = {taken_by_others(wrong) ? verdict::skipped : verdict::failed, std::string{wrong.view()}};
        return;
    }
    set_guard(report, o.guard_mib, others_before);
    const alloc_environment around{*here.cuda, others, here.stop};
    alloc_options how{.allocator = through.kind,
                      .caching = through.caching,
                      .own = taken_before(report.plan, report.around),
                      .guard = report.guard,
                      .host_room = host_room(report.live)};
    how.tolerance = std::max(how.tolerance, report.live.memory.allocation.granularity_minimum.value_or({}));
    if (!o.search.empty()) return search_into(report, around, how, o.search);
    for (std::int32_t i = 0; i < o.runs; ++i) {
        how.shuffled = i > 0 && i == o.runs - 1;  // whether the order matters shows in the last
        how.seed = static_cast<std::uint64_t>(i) + 1;
        report.runs.push_back(run_allocation(around, report.plan, how));
        if (!here.stop.why().empty()) break;
    }
    report.judged = judge(report.runs);
}

}  // namespace

ending run_alloc(const options& o) {
    const std::string document = job_text(o.job);
    const auto known = job_before_device(o, document);
    workplace here{o};
    alloc_report report;
    report.plan = plan_of(known ? *known : request_for(document, here.live()).value()).value();
    check_machine(o, report.plan, here.live(), here.devices.size());
    const std::string planned{name_of(report.plan.request.job.runtime.allocator.code)};
    const tensor_allocator through =
        *std::ranges::find(allocators, o.allocator.empty() ? planned : o.allocator, &tensor_allocator::name);
    report.stamp = file_of({});
    report.live = here.live();
    report.plan_source = o.job.model;
    report.allocator = through.name;
    report.allocator_source = o.allocator.empty() ? "plan" : "flag";
    if (o.simulate.empty())
        hold_plan(o, here, through, report);
    else
        report.judged = {verdict::skipped, "a recorded device: nothing was allocated"};
    if (o.json)
        write_json(to_json(report), *o.json);
    else
        std::cout << to_text(report);
    return {exit_of(report.judged.says), ""};
}

}  // namespace llmres::probe
