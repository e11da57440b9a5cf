// SPDX-License-Identifier: MIT
// plan and replay: what `llmres plan --json` says of a job on this very device, and a training step of it, tensor by
// tensor, through each allocator.
#include <algorithm>
#include <llmres/io/plan_json.hpp>

#include "alloc.hpp"
#include "commands.hpp"
#include "host_room.hpp"

namespace llmres::probe {

namespace {

nlohmann::ordered_json to_json(std::string_view name, const replay_result& r) {
    nlohmann::ordered_json out{
        {"allocator", name},
        {"outcome", name_of(r.outcome)},
        {"events", r.events},
        {"requested", r.peak_requested.in(bytes)},
        {"allocated", r.peak_allocated.in(bytes)},
        {"reserved", r.peak_reserved.in(bytes)},
        {"fragmentation", r.peak_allocated > byte_count{} ? ratio(r.peak_reserved, r.peak_allocated) - 1 : 0}};
    if (!r.why.empty()) out["why"] = r.why;
    return out;
}

/// What stays free: the guard band of a shared device, and what the host keeps of memory that it shares with the GPU.
byte_count guard_on(const device& live, const memory_state& now) {
    const byte_count guard = default_guard(live.memory.cuda_total.value_or(gib(16)));
    const auto room = host_room(live);
    return room && now.free > *room ? std::max(guard, now.free - *room) : guard;
}

}  // namespace

ending run_plan(const options& o) {
    const std::string document = job_text(o.job);
    workplace here{o};
    plan_request request = request_for(document, here.live()).value();
    if (o.fill > 0) request = filled_to(request, o.fill).value();
    write_json(document_of_plan(document, request).value(), o.json.value_or(""));
    return {};
}

ending run_replay(const options& o) {
    const std::string document = job_text(o.job);
    if (!o.simulate.empty()) return {exit_skipped, "a recorded device: nothing was allocated"};
    workplace here{o};
    const plan_request request = request_of(document, here.live()).value();
    if (!trains(request.job))
        throw exception{
            refused(error_code::unsupported, "task", "serving", "a job that trains: only its steps are replayed")};
    const job_plan planned = llmres::plan(request).value().plan;
    memory_state now;
    if (const problem wrong = problem_of([&] {
            here.cuda->open_context(here.cuda_index());
            now = here.cuda->memory();
        });
        !wrong.empty())
        return {taken_by_others(wrong) ? exit_skipped : exit_internal, std::string{wrong.view()}};

    const memory_breakdown& m = planned.memory;
    const replayed_step step{request.job, planned.layout, request.cluster.gpu, m.stage, o.steps};
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    run_outcome worst = run_outcome::done;
    for (const tensor_allocator& one : allocators) {
        if (!o.allocator.empty() && o.allocator != one.name) continue;
        const replay_result r = replay(*here.cuda, step, one, guard_on(here.live(), now), here.stop);
        worst = std::max(worst, r.outcome);
        all.push_back(to_json(one.name, r));
    }
    write_json(
        {{"time", file_of({}).captured_at.view()},
         {"device", here.live().identity.uuid.value.view()},
         {"gpu", request.cluster.gpu.id.view()},
         {"stage", m.stage},
         {"steps", o.steps},
         {"planned", {{"allocated", m.allocated.expected.in(bytes)}, {"reserved", m.reserved.expected.in(bytes)}}},
         {"replays", all}},
        o.json.value_or(""));
    return {exit_of(verdict_of(worst)), ""};
}

}  // namespace llmres::probe
