// SPDX-License-Identifier: MIT
// alloc: a plan put to the test on a device.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/models/all.hpp>

#include "commands.hpp"
#include "host_room.hpp"
#include "report.hpp"

namespace llmres::probe {

namespace {

/// Of no name, the first. What only grows in a replay is none.
result<tensor_allocator> find_allocator(const std::string& name) {
    for (const tensor_allocator& one : allocators)
        if (!one.expands && (name.empty() || one.name == name)) return one;
    return refused(error_code::unknown, "allocator", name,
                   "cuda_malloc, stream_ordered, virtual_memory or pytorch_caching");
}

bool names_file(const std::string& source) {
    std::error_code none;
    return source.ends_with(".json") || std::filesystem::exists(source, none);
}

/// The plan in a file, or that of a job document, on the cluster that it names.
result<plan_file> plan_in(const std::string& path) {
    const auto written = llmres::detail::read_text("plan", path, 64u << 20, "a plan file that can be read");
    if (!written) return written.error();
    const auto document = nlohmann::json::parse(*written, nullptr, false);
    const bool is_job = document.is_object() && document.contains("model") && !document.contains("memory");
    return is_job ? plan_document(*written) : parse_plan(*written);
}

/// What is wrong with the arguments comes first: it is wrong on every machine. A preset's plan waits for its device.
result<plan_file> plan_before_device(const options& o) {
    if (const auto flagged = find_allocator(o.allocator); !flagged) return flagged.error();
    if (const auto preset = find_model(o.job.model); !preset && !names_file(o.job.model)) return preset.error();
    auto plan = names_file(o.job.model) ? plan_in(o.job.model) : result<plan_file>{plan_file{}};
    if (plan && o.gpus && *o.gpus != plan->gpus)
        return refused(error_code::inconsistent, "gpus", plan->gpus,
                       fmt::format("a plan for {} GPUs, as asked", *o.gpus));
    return plan;
}

/// Refuses a plan for another machine: one for another GPU says nothing of this one, and one for more GPUs than there
/// are is of one GPU's part alone.
status fits_machine(const options& o, const plan_file& plan, const device& live, std::size_t devices) {
    if (!o.gpus && plan.gpus > static_cast<std::int64_t>(devices))
        return refused(error_code::inconsistent, "gpus", plan.gpus,
                       fmt::format("a plan for the {} devices here, or --gpus {} to test one GPU's part of it", devices,
                                   plan.gpus));
    const auto sheet = sheet_for(live);
    const bool same = plan.gpu.empty() || (sheet && sheet->id == std::string_view{plan.gpu});
    if (same || o.any_gpu) return done{};
    return refused(error_code::inconsistent, "cluster.gpu", plan.gpu,
                   fmt::format("a plan for {} ({}), or --any-gpu", sheet ? sheet->id.view() : "a GPU of the tables",
                               live.identity.name.value.view()));
}

/// What a shared device is owed, and one of which that is not known; an exclusive one may be filled, for that is the
/// question.
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

/// Context, libraries and free memory, each step watched through NVML; a problem if the device cannot be opened.
problem open_watched(cuda_api& cuda, std::int32_t index, bool libraries,
                     const std::function<reading<byte_count>()>& used, alloc_report& report) {
    if (const problem wrong = cuda.open_context(index); !wrong.empty()) return wrong;
    report.used_with_context = used();
    report.around.context = growth(report.used_before, report.used_with_context);
    if (report.around.context && *report.around.context == byte_count{})
        report.around.context = reading<byte_count>::unavailable("NVML shows no bytes for the context that was opened");
    const problem missing = libraries ? cuda.open_libraries() : problem{"not asked for"};
    if (libraries && !missing.empty() && !library_missing(missing)) return missing;
    report.used_with_libraries = missing.empty() ? used() : reading<byte_count>::unavailable(missing);
    report.around.libraries = missing.empty() ? growth(report.used_with_context, report.used_with_libraries)
                                              : reading<byte_count>::unavailable(missing);
    const auto now = cuda.memory();
    if (!now) return now.why;
    report.cuda_free = now->free;
    return {};
}

void search_into(alloc_report& report, const alloc_environment& around, const alloc_options& options,
                 const std::string& axis_name) {
    const plan_axis axis = axis_name == "batch" ? plan_axis::batch : plan_axis::context;
    const plan_file& plan = report.plan;
    const auto again = replanner::from(plan);
    report.search_axis = axis_name;
    report.search_plans = again ? "replanned" : "scaled";
    report.search = search_largest(
        around, [&](std::int64_t n) { return again ? again->at(axis, n) : scaled(plan, axis, n); }, options,
        axis == plan_axis::batch ? plan.max_batch : plan.max_context);
    report.judged = {report.search->says, report.search->reason};
    if (report.judged.reason.empty())
        report.judged.reason = "the largest " + axis_name + " held is " + std::to_string(report.search->largest);
}

/// What the recorded device's free memory says of the buffers.
std::string forecast_of(const device& live, byte_count needed) {
    const auto& free = live.memory.cuda_free ? live.memory.cuda_free : live.memory.cuda_total;
    if (!free) return fmt::format("buffers of {} bytes and no recorded free memory", needed.base());
    return fmt::format("buffers of {} bytes {} the recorded free {} bytes", needed.base(),
                       needed <= *free ? "are within" : "exceed", free->base());
}

/// The plan on the device itself: as often as asked, or at the largest batch or context.
void hold_plan(const options& o, workplace& here, const tensor_allocator& through, alloc_report& report) {
    const auto used = [&] { return here.ask(&nvml::used); };
    report.used_before = here.ask(&nvml::used_at_start);
    const auto others = [&] { return here.ask(&nvml::used_by_others); };
    const auto others_before = others();  // before our own context, which a container may show under another id
    if (const problem wrong = open_watched(*here.cuda, here.cuda_index(), !o.no_libraries, used, report);
        !wrong.empty()) {
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

int run_alloc(const options& o) {
    auto plan = plan_before_device(o);
    if (!plan) return refuse(plan.error());
    workplace here{o};
    if (!here) return here.exit;
    if (!names_file(o.job.model)) plan = plan_job(o.job, here.live());
    if (!plan) return refuse(plan.error());
    if (const status ok = fits_machine(o, *plan, here.live(), here.devices.size()); !ok) return refuse(ok.error());
    const auto chosen = find_allocator(o.allocator.empty() ? plan->allocator : o.allocator);
    if (!chosen) return refuse(chosen.error());
    alloc_report report;
    report.stamp = file_of({});
    report.live = here.live();
    report.plan = *plan;
    if (o.at) (o.search == "context" ? report.plan.context : report.plan.batch) = o.at;
    report.plan_source = o.job.model;
    report.allocator = chosen->name;
    report.allocator_source = !o.allocator.empty() ? "flag" : plan->allocator.empty() ? "default" : "plan";
    if (o.simulate.empty()) {
        hold_plan(o, here, *chosen, report);
    } else {
        report.forecast = forecast_of(report.live, report.plan.buffer_total());
        report.judged = {verdict::skipped, "a recorded device: nothing was allocated"};
    }
    if (o.json && !write_json(to_json(report), *o.json)) return exit_usage;
    if (!o.json) std::cout << to_text(report);
    return exit_of(report.judged.says);
}

}  // namespace llmres::probe
