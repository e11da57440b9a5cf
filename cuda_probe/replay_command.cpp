// SPDX-License-Identifier: MIT
// replay: a training step, tensor by tensor, through each allocator.
#include <fmt/format.h>

#include <iostream>
#include <llmres/plan.hpp>

#include "alloc.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "host_room.hpp"
#include "replay.hpp"

namespace llmres::probe {

namespace {

struct named_replay {
    std::string_view name;
    replay_allocator through;
};
constexpr named_replay replays[] = {
    {"cuda_malloc", {.kind = allocator_kind::cuda_malloc}},
    {"stream_ordered", {.kind = allocator_kind::stream_ordered}},
    {"virtual_memory", {.kind = allocator_kind::virtual_memory}},
    {"pytorch_caching", {.kind = allocator_kind::cuda_malloc, .caching = true}},
    {"pytorch_expandable", {.kind = allocator_kind::virtual_memory, .caching = true, .expands = true}}};
constexpr std::string_view outcomes[] = {"done", "no_room", "stopped", "failed"};

double fragmentation_of(const replay_result& r) {
    const auto of = [](byte_count size) { return static_cast<double>(size.in(bytes)); };
    return r.peak_allocated > byte_count{} ? of(r.peak_reserved) / of(r.peak_allocated) - 1 : 0;
}

nlohmann::ordered_json to_json(std::string_view name, const replay_result& r) {
    nlohmann::ordered_json out{{"allocator", name},
                               {"outcome", outcomes[static_cast<std::size_t>(r.outcome)]},
                               {"events", r.events},
                               {"requested", r.peak_requested.in(bytes)},
                               {"allocated", r.peak_allocated.in(bytes)},
                               {"reserved", r.peak_reserved.in(bytes)},
                               {"fragmentation", fragmentation_of(r)}};
    if (!r.why.empty()) out["why"] = r.why;
    return out;
}

int exit_of(replay_outcome outcome) {
    switch (outcome) {
        case replay_outcome::done:
            return exit_done;
        case replay_outcome::no_room:
            return exit_does_not_fit;
        case replay_outcome::stopped:
            return exit_skipped;
        case replay_outcome::failed:
            break;
    }
    return exit_internal;
}

/// A fault before a stop, a stop before what has no room.
int worse(int a, int b) {
    for (const int code : {int{exit_internal}, int{exit_skipped}, int{exit_does_not_fit}})
        if (a == code || b == code) return code;
    return exit_done;
}

}  // namespace

int run_replay(const common_options& common, const replay_command_options& options) {
    const stop_signal stop{common.timeout_s};
    const auto document = job_text(options.job);
    if (!document) return refuse(document.error());
    if (!common.simulate.empty()) return end(exit_skipped, "a recorded device: nothing was allocated");
    const nvml driver;
    const auto cuda = make_cuda();
    auto [devices, exit] = find_devices(common, *cuda, driver);
    if (devices.empty()) return exit;
    const auto which = select(devices, common.device);
    if (!which) return refuse(which.error());
    const device& live = devices[*which];
    const auto request = request_of(*document, live);
    if (!request) return refuse(request.error());
    if (!trains(request->job))
        return refuse(
            refused(error_code::unsupported, "task", "serving", "a job that trains: only its steps are replayed"));
    const auto planned = made_for(*request);
    if (!planned) return refuse(planned.error());
    if (const problem wrong = cuda->open_context(static_cast<std::int32_t>(*which)); !wrong.empty())
        return end(taken_by_others(wrong) ? exit_skipped : exit_internal, std::string{wrong.view()});

    const replayed_step step{request->job, planned->layout, request->cluster.gpu, planned->memory.stage, options.steps};
    const auto room = host_room(live);
    byte_count guard = default_guard(live.memory.cuda_total.value_or(gib(16)));
    if (room) {
        const auto now = cuda->memory();
        if (!now) return end(exit_internal, std::string{now.why.view()});
        if (now->free > *room) guard = std::max(guard, now->free - *room);
    }
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    int worst = exit_done;
    for (const named_replay& one : replays) {
        if (!options.allocator.empty() && options.allocator != one.name) continue;
        const replay_result r = replay(*cuda, step, one.through, guard, stop);
        worst = worse(worst, exit_of(r.outcome));
        all.push_back(to_json(one.name, r));
        std::cerr << fmt::format("{:20} {:8} allocated {:8.3f} GiB, reserved {:8.3f} GiB ({:+.2f} %){}{}\n", one.name,
                                 outcomes[static_cast<std::size_t>(r.outcome)], r.peak_allocated.in(gib),
                                 r.peak_reserved.in(gib), fragmentation_of(r) * 100, r.why.empty() ? "" : ": ", r.why);
    }
    const memory_breakdown& m = planned->memory;
    const nlohmann::ordered_json report{
        {"time", timestamp().view()},
        {"device", live.identity.uuid.value.view()},
        {"gpu", request->cluster.gpu.id.view()},
        {"stage", m.stage},
        {"steps", options.steps},
        {"planned", {{"allocated", m.allocated.expected.in(bytes)}, {"reserved", m.reserved.expected.in(bytes)}}},
        {"replays", all}};
    if (common.json && !write_json(report, *common.json)) return exit_usage;
    return worst;
}

}  // namespace llmres::probe
