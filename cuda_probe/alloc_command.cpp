// SPDX-License-Identifier: MIT
// alloc: a plan put to the test on a device.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/models/all.hpp>

#include "commands.hpp"
#include "describe.hpp"
#include "host_room.hpp"
#include "report.hpp"

namespace llmres::probe {

namespace {

struct named_allocator {
    std::string_view name;
    allocator_kind kind;
    bool caching;
};
constexpr named_allocator allocators[] = {{"cuda_malloc", allocator_kind::cuda_malloc, false},
                                          {"stream_ordered", allocator_kind::stream_ordered, false},
                                          {"virtual_memory", allocator_kind::virtual_memory, false},
                                          {"pytorch_caching", allocator_kind::cuda_malloc, true}};

result<named_allocator> find_allocator(const char* field, const std::string& name) {
    for (const named_allocator& one : allocators)
        if (one.name == name) return one;
    return refused(error_code::unknown, field, name, "cuda_malloc, stream_ordered, virtual_memory or pytorch_caching");
}

/// A plan file, a job document, or a preset planned for this device.
result<plan_file> plan_of(const alloc_command_options& options, const device& live) {
    const std::string& source = options.job.model;
    const auto asked = [&](result<plan_file> made) -> result<plan_file> {
        if (made && options.gpus && *options.gpus != made->gpus)
            return refused(error_code::inconsistent, "gpus", made->gpus,
                           "a plan for " + std::to_string(*options.gpus) + " GPUs, as asked");
        return made;
    };
    std::error_code none;
    if (!std::filesystem::exists(source, none) && !source.ends_with(".json")) return asked(plan_job(options.job, live));
    std::ifstream in{source, std::ios::binary};
    if (!in || std::filesystem::is_directory(source, none))
        return refused(error_code::io, "plan", source, "a plan file that can be read");
    const std::string written{std::istreambuf_iterator<char>{in}, {}};
    const auto document = nlohmann::json::parse(written, nullptr, false);
    if (document.is_object() && document.contains("model") && !document.contains("memory"))
        return asked(plan_document(written));
    return parse_plan(written, options.gpus);
}

/// A plan for another GPU says nothing of this one.
status made_for(const plan_file& plan, const device& live) {
    const auto sheet = sheet_for(live);
    if (plan.gpu.empty() || (sheet && sheet->id == std::string_view{plan.gpu})) return done{};
    return refused(error_code::inconsistent, "cluster.gpu", plan.gpu,
                   fmt::format("a plan for {} ({}), or --any-gpu", sheet ? sheet->id.view() : "a GPU of the tables",
                               live.identity.name.value.view()));
}

reading<byte_count> growth(const reading<byte_count>& before, const reading<byte_count>& after) {
    if (!before || !after) return reading<byte_count>::unavailable(before ? after.why : before.why);
    if (*after < *before) return reading<byte_count>::unavailable("memory in use fell meanwhile: others moved");
    return *after - *before;
}

/// What a shared device is owed, and one of which that is not known; an exclusive one may be filled, for that is the
/// question.
void set_guard(alloc_report& report, const alloc_command_options& options, const reading<byte_count>& others) {
    report.guard =
        options.guard_mib ? mib(*options.guard_mib) : default_guard(report.live.memory.cuda_total.value_or(gib(16)));
    // Containers hide processes, but not what they hold: as much as half of our own context is another's context.
    const maybe<byte_count> held = held_by_others(report.live);
    const bool weighed = held && report.around.context;
    if (options.guard_mib) {
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

int finish(const common_options& common, const alloc_report& report) {
    if (common.json && !write_json(to_json(report), *common.json)) return exit_usage;
    if (!common.json) std::cout << to_text(report);
    return exit_of(report.judged.says);
}

}  // namespace

int run_alloc(const common_options& common, const alloc_command_options& options) {
    const stop_signal stop{common.timeout_s};
    // What is wrong with the arguments comes first: it is wrong on every machine.
    std::optional<named_allocator> flagged;
    if (!options.allocator.empty()) {
        const auto found = find_allocator("allocator", options.allocator);
        if (!found) return refuse(found.error());
        flagged = *found;
    }
    const bool is_file = options.job.model.ends_with(".json") || std::filesystem::exists(options.job.model);
    if (is_file) {
        if (const auto early = plan_of(options, device{}); !early) return refuse(early.error());
    } else if (const auto preset = find_model(options.job.model); !preset) {
        return refuse(preset.error());
    }
    const nvml driver;
    const auto cuda = make_cuda();
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto which = select(devices, common.device);
    if (!which) return refuse(which.error());

    alloc_report report;
    report.live = devices[*which];
    auto plan = plan_of(options, report.live);
    if (!plan) return refuse(plan.error());
    if (!options.gpus && plan->gpus > static_cast<std::int64_t>(devices.size()))
        return refuse(refused(error_code::inconsistent, "gpus", plan->gpus,
                              "a plan for the " + std::to_string(devices.size()) + " devices here, or --gpus " +
                                  std::to_string(plan->gpus) + " to test one GPU's part of it"));
    if (const status ok = made_for(*plan, report.live); !ok && !options.any_gpu) return refuse(ok.error());
    report.plan = *plan;
    report.plan_source = options.job.model;
    if (options.at) (options.search == "context" ? report.plan.context : report.plan.batch) = options.at;
    report.allocator_source = flagged ? "flag" : report.plan.allocator.empty() ? "default" : "plan";
    const auto chosen =
        flagged ? result<named_allocator>{*flagged}
                : find_allocator("allocator", report.plan.allocator.empty() ? "cuda_malloc" : report.plan.allocator);
    if (!chosen) return refuse(chosen.error());
    report.allocator = chosen->name;

    const byte_count needed = report.plan.buffer_total();
    if (!common.simulate.empty()) {
        const auto& free = report.live.memory.cuda_free ? report.live.memory.cuda_free : report.live.memory.cuda_total;
        report.forecast = "buffers of " + std::to_string(needed.base()) + " bytes " +
                          (!free             ? "and no recorded free memory"
                           : needed <= *free ? "are within the recorded free "
                                             : "exceed the recorded free ") +
                          (free ? std::to_string(free.value.base()) + " bytes" : "");
        report.judged = {verdict::skipped, "a recorded device: nothing was allocated"};
        return finish(common, report);
    }

    const auto handle = join(driver, report.live);
    const auto ask = [&](reading<byte_count> (nvml::*what)(nvml::handle) const) {
        return handle ? (driver.*what)(*handle) : reading<byte_count>::unavailable(handle.why);
    };
    const auto used = [&] { return ask(&nvml::used); };
    report.used_before = ask(&nvml::used_at_start);
    const auto others = [&] { return ask(&nvml::used_by_others); };
    const auto others_before = others();  // before our own context, which a container may show under another id
    if (const problem wrong = open_watched(*cuda, static_cast<std::int32_t>(*which), options.libraries, used, report);
        !wrong.empty()) {
        report.judged = {taken_by_others(wrong) ? verdict::skipped : verdict::failed, std::string{wrong.view()}};
        return finish(common, report);
    }
    set_guard(report, options, others_before);

    const alloc_environment around{*cuda, others, stop};
    alloc_options how{.allocator = chosen->kind,
                      .caching = chosen->caching,
                      .own = taken_before(report.plan, report.around),
                      .guard = report.guard};
    how.host_room = host_room(report.live);
    if (report.live.memory.allocation.granularity_minimum)
        how.tolerance = std::max(how.tolerance, *report.live.memory.allocation.granularity_minimum);
    if (!options.search.empty()) {
        search_into(report, around, how, options.search);
        return finish(common, report);
    }
    for (std::int32_t i = 0; i < options.repeats; ++i) {
        how.shuffled = i > 0 && i == options.repeats - 1;  // whether the order matters shows in the last
        how.seed = static_cast<std::uint64_t>(i) + 1;
        report.runs.push_back(run_allocation(around, report.plan, how));
        if (!stop.why().empty()) break;
    }
    report.judged = judge(report.runs);
    return finish(common, report);
}

}  // namespace llmres::probe
