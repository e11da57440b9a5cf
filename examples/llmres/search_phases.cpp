// SPDX-License-Identifier: MIT
// llmres search of a policy that learns from rollouts: layouts of the policy, tensor ranks and parts of the GPUs of the
// engine.
#include "search_phases.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "report.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/phases/reinforcement_search.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <utility>
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

/// A split of the GPUs between those that train and those of the engine's own, and what a document asks for on it.
struct gpu_pools {
    nlohmann::json document;
    llmres::plan_request request;
};

/// The document as it is, and with an engine on 1, 2, 4, ... of its GPUs, as far as these can be planned.
std::vector<gpu_pools> pools_of(const search_options& o, const nlohmann::json& document,
                                const llmres::plan_request& request) {
    std::vector<gpu_pools> all{{document, request}};
    const llmres::rollout& asked = request.rollout->rollout;
    if (!o.pools) return all;
    if (asked.own_gpus || asked.uses_trained_weights)
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "pools", "given",
                                      "an engine beside the trainer, whose GPUs nobody names")};
    const std::int32_t gpus = request.cluster.gpus;
    for (std::int32_t own = 1; own < gpus; own *= 2) {
        nlohmann::json split = document;
        split["cluster"]["gpus"] = gpus - own;
        split["rollout"]["gpus"] = own;
        const auto read = llmres::read_job(split, program::folder_of(document, o.job.source));
        if (read) all.push_back({split, *read});
    }
    return all;
}

/// A workload that was found, and on which split of the GPUs.
struct found_workload {
    llmres::found_reinforcement found;
    const gpu_pools* on;
    std::size_t place;  ///< among those of the split

    /// The engine's own GPUs; 0: it shares those that train.
    std::int32_t own_gpus() const {
        const auto& own = on->request.rollout->rollout.own_gpus;
        return own ? own->gpus : 0;
    }
};

/// The best workloads on one split. Errors: those of search_reinforcement().
llmres::result<std::vector<found_workload>> found_on(const gpu_pools& pools, std::size_t top) {
    const nlohmann::json rollout = pools.document.value("rollout", nlohmann::json::object());
    const auto layouts = llmres::layouts_for_phases(pools.request);
    if (!layouts) return layouts.error();
    const std::vector<std::int32_t> tensors = tensors_of(rollout, pools.request);
    const std::vector<double> fractions = fractions_of(rollout);
    std::vector<llmres::found_reinforcement> best(top);
    const auto count = llmres::search_reinforcement(llmres::workload_of(pools.request), pools.request.cluster,
                                                    {*layouts, tensors, fractions}, best);
    if (!count) return count.error();
    std::vector<found_workload> found;
    found.reserve(*count);
    for (std::size_t i = 0; i < *count; ++i) found.push_back({best[i], &pools, i});
    return found;
}

/// The best workloads on all splits. A split is left out whose GPUs do not divide the global batch, or the like; where
/// all are, the search is refused as the first is.
std::vector<found_workload> found_on_all(const std::vector<gpu_pools>& splits, std::size_t top) {
    std::vector<found_workload> all;
    for (const gpu_pools& split : splits)
        if (const auto found = found_on(split, top)) all.insert(all.end(), found->begin(), found->end());
    if (all.empty()) return accept(found_on(splits.front(), top));
    std::ranges::sort(all, [](const found_workload& a, const found_workload& b) {
        const bool better = llmres::detail::better(a.found.plan, b.found.plan),
                   worse = llmres::detail::better(b.found.plan, a.found.plan);
        return better || (!worse && std::pair{a.on, a.place} < std::pair{b.on, b.place});
    });
    if (all.size() > top) all.resize(top);
    return all;
}

/// The changes of the document that ask for a workload which was found.
nlohmann::json patch_of(const found_workload& one) {
    nlohmann::json patch = layout_patch(one.found.layout);
    patch["rollout"] = {{"tensor", one.found.tensor}};
    if (one.found.fraction) patch["rollout"]["gpu_memory_utilization"] = *one.found.fraction;
    if (one.own_gpus() == 0) return patch;
    patch["rollout"]["gpus"] = one.own_gpus();
    patch["cluster"]["gpus"] = one.on->request.cluster.gpus;
    return patch;
}

void print_found(const std::vector<found_workload>& best) {
    const bool apart = std::ranges::any_of(best, [](const found_workload& one) { return one.own_gpus() > 0; });
    std::vector<table_row> rows;
    for (const found_workload& each : best) {
        const llmres::found_reinforcement& one = each.found;
        const llmres::phase_plan& fullest = one.plan.worst();
        rows.push_back({fmt::format("{}", rows.size() + 1), std::string{name_of(one.plan.verdict())},
                        fmt::format("{:.3g}", one.plan.answers_per_second()), to_string(one.plan.step.expected),
                        to_string(one.plan.phases[0].time.expected),
                        to_string(fullest.own.expected + fullest.resident.expected),
                        std::string{name_of(fullest.phase)}, fmt::format("{}", one.tensor),
                        one.fraction ? fmt::format("{:.2f}", *one.fraction) : "-"});
        rows.back().push_back(each.own_gpus() > 0 ? fmt::format("{}", each.own_gpus()) : apart ? "shared" : "");
        rows.back().push_back(to_text(one.layout));
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
                 {"engine GPUs", true},
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
    const std::vector<gpu_pools> splits = pools_of(o, document, request);
    const std::vector<found_workload> best = found_on_all(splits, static_cast<std::size_t>(o.top));
    const llmres::reinforcement_plan& first = best[0].found.plan;
    const bool fits_somewhere = first.verdict() == llmres::verdict::fits;
    const llmres::json_value assumed = llmres::assumptions_of(best[0].on->document, best[0].on->request,
                                                              first.find(llmres::workload_phase::training)->plan);
    if (o.job.json) {
        llmres::json_value list = llmres::json_value::array();
        for (const found_workload& each : best) {
            const llmres::found_reinforcement& one = each.found;
            list.push_back({{"layout", llmres::to_json(one.layout)},
                            {"tensor", one.tensor},
                            {"gpu_memory_utilization",
                             one.fraction ? llmres::json_value(*one.fraction) : llmres::json_value(nullptr)},
                            {"engine_gpus",
                             each.own_gpus() > 0 ? llmres::json_value(each.own_gpus()) : llmres::json_value(nullptr)},
                            {"reinforcement", llmres::to_json(one.plan, *each.on->request.rollout)}});
        }
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
               request.rollout->rollout.engine.runtime.identity.name.view());
    print_found(best);
    fmt::print("\n");
    print_profile(request.profile);
    print_assumed(assumed);
    fmt::print("plan     {}\n", command_of(o.job, patch_of(best[0])));
    return fits_somewhere ? fits : does_not_fit;
}

}  // namespace program
