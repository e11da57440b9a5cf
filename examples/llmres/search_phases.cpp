// SPDX-License-Identifier: MIT
// llmres search of a policy that learns from rollouts: layouts of the policy, tensor ranks and parts of the GPUs of the
// engine.
#include "search_phases.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "report.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <cstdint>
#include <llmres/answers/phases/reinforcement_search.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <vector>

namespace program {
namespace {

/// Degrees of the engine that divide the model's heads and fill no more than a node, unless the document names one.
std::vector<std::int32_t> tensors_of(const nlohmann::json& rollout, const llmres::plan_request& request) {
    std::vector<std::int32_t> degrees;
    if (rollout.contains("tensor")) return degrees;
    const llmres::rollout& asked = request.rollout->rollout;
    const llmres::cluster& on = asked.own_gpus ? *asked.own_gpus : request.cluster;
    for (std::int32_t degree = 1; degree <= on.node_size() && degree <= on.gpus; degree *= 2) degrees.push_back(degree);
    return degrees;
}

/// Parts of a GPU for the engine, unless the document names one.
std::vector<double> fractions_of(const nlohmann::json& rollout) {
    std::vector<double> parts;
    const bool named =
        rollout.contains("gpu_memory_utilization") || (rollout.contains("engine") && rollout["engine"].is_object());
    for (int tenths = 2; !named && tenths <= 9; ++tenths) parts.push_back(tenths / 10.0);
    return parts;
}

/// The changes of the document that ask for a workload which was found.
nlohmann::json patch_of(const llmres::found_reinforcement& found) {
    nlohmann::json patch = layout_patch(found.layout);
    patch["rollout"] = {{"tensor", found.tensor}};
    if (found.fraction) patch["rollout"]["gpu_memory_utilization"] = *found.fraction;
    return patch;
}

void print_found(const std::vector<llmres::found_reinforcement>& best) {
    std::vector<table_row> rows;
    for (const llmres::found_reinforcement& one : best) {
        const llmres::phase_plan& fullest = one.plan.worst();
        rows.push_back({fmt::format("{}", rows.size() + 1), std::string{name_of(one.plan.verdict())},
                        fmt::format("{:.3g}", one.plan.answers_per_second()), to_string(one.plan.step.expected),
                        to_string(one.plan.phases[0].time.expected),
                        to_string(fullest.own.expected + fullest.resident.expected),
                        std::string{name_of(fullest.phase)}, fmt::format("{}", one.tensor),
                        one.fraction ? fmt::format("{:.2f}", *one.fraction) : "-", to_text(one.layout)});
    }
    print_table({{"", true},
                 {"verdict"},
                 {"answers/s", true},
                 {"step", true},
                 {"rollout", true},
                 {"memory", true},
                 {"fullest in"},
                 {"engine tensor", true},
                 {"part", true},
                 {"layout of the policy"}},
                rows);
}

}  // namespace

int search_phases(const search_options& o, const nlohmann::json& document, const llmres::plan_request& request) {
    if (!o.objective.empty() || !o.against.empty() || !o.vary.empty())
        throw refusal{llmres::refused(llmres::error_code::unsupported,
                                      !o.objective.empty() ? "objective"
                                      : !o.against.empty() ? "against"
                                                           : "vary",
                                      "given", "absent: workloads of several phases are ordered by answers a second")};
    const nlohmann::json rollout = document.value("rollout", nlohmann::json::object());
    const std::vector<llmres::layout> layouts = accept(llmres::layouts_for_phases(request));
    const std::vector<std::int32_t> tensors = tensors_of(rollout, request);
    const std::vector<double> fractions = fractions_of(rollout);
    std::vector<llmres::found_reinforcement> best(static_cast<std::size_t>(o.top));
    const llmres::rollout_request& asked = *request.rollout;
    best.resize(accept(llmres::search_reinforcement(llmres::workload_of(request), request.cluster,
                                                    {layouts, tensors, fractions}, best)));
    const bool fits_somewhere = best[0].plan.verdict() == llmres::verdict::fits;
    const llmres::json_value assumed =
        llmres::assumptions_of(document, request, best[0].plan.find(llmres::workload_phase::training)->plan);
    if (o.job.json) {
        llmres::json_value list = llmres::json_value::array();
        for (const llmres::found_reinforcement& one : best)
            list.push_back({{"layout", llmres::to_json(one.layout)},
                            {"tensor", one.tensor},
                            {"gpu_memory_utilization",
                             one.fraction ? llmres::json_value(*one.fraction) : llmres::json_value(nullptr)},
                            {"reinforcement", llmres::to_json(one.plan, asked)}});
        print_answer("search_phases", {{"job", llmres::to_json(request.job)},
                                       {"runtime", llmres::runtime_to_json(request)},
                                       {"cluster", llmres::to_json(request.cluster)},
                                       {"assumed", assumed},
                                       {"best", list}});
        return fits_somewhere ? fits : does_not_fit;
    }
    fmt::print("{}, {} on {} x {}, trainer {}, rollouts by {}: best by answers a second\n\n",
               request.job.model.name.view(), task_text(request.job), request.cluster.gpus,
               request.cluster.gpu.name.view(), request.job.runtime.identity.name.view(),
               asked.rollout.engine.runtime.identity.name.view());
    print_found(best);
    fmt::print("\n");
    print_profile(request.profile);
    print_assumed(assumed);
    fmt::print("plan     {}\n", command_of(o.job, patch_of(best[0])));
    return fits_somewhere ? fits : does_not_fit;
}

}  // namespace program
