// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>

#include "../words.hpp"
#include "run.hpp"

/// Megatron-Core's own arguments, as its test runs record them: "name=value;...".
namespace training_runs {

using namespace llmres;
using namespace words;

/// The value of a Megatron-Core argument among a row's notes, "name=value;..."; empty if it was not given.
inline std::string argument(const std::string& notes, const std::string& name) {
    const std::size_t at = (";" + notes).find(";" + name + "=");
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size() + 1;
    return notes.substr(from, notes.find(';', from) - from);
}

/// What Megatron-Core was told of pipeline, prediction and optimizer.
inline void read_megatron(const std::string& notes, job& j, layout& l) {
    const auto number = [&](const char* name) {
        return static_cast<std::int32_t>(std::atoi(argument(notes, name).c_str()));
    };
    llmres::runtime& e = j.runtime;
    if (const result<stage_list> stages = read_stages(argument(notes, "pipeline-model-parallel-layout"));
        stages && stages->chunks > 1) {
        l.stages = *stages;
        l.virtual_pipeline = stages->chunks / l.pipeline;
    }
    l.first_stage_layers = number("num-layers-in-first-pipeline-stage");
    l.last_stage_layers = number("num-layers-in-last-pipeline-stage");
    l.embedding_as_layer = has(notes, "account-for-embedding-in-pipeline-split=True");
    l.loss_as_layer = has(notes, "account-for-loss-in-pipeline-split=True");
    if (has(notes, "cp-comm-type=a2a")) l.cp_comm_type = cp_communication::a2a;
    if (has(notes, "cp-comm-type=all_gather")) l.cp_comm_type = cp_communication::all_gather;
    if (has(notes, "optimizer=muon") || has(notes, "optimizer=dist_muon")) j.optimizer = muon;
    e.optimizer.layer_wise_param_layout = !has(notes, "no-use-layer-wise-param-layout=True");
    e.pipeline.defer_embedding_wgrad_compute = has(notes, "defer-embedding-wgrad-compute=True");
    e.pipeline.wgrad_deferral_limit = number("wgrad-deferral-limit");
    j.steps = number("train-iters");
    if (!argument(notes, "fp8-format").empty()) {  // --fp8-recipe is delayed unless given
        const std::string recipe = argument(notes, "fp8-recipe");
        e.kernels.fp8.recipe = fp8_recipe::delayed;
        for (std::size_t i = 0; i < fp8_recipe_names.size(); ++i)
            if (fp8_recipe_names[i] == recipe) e.kernels.fp8.recipe = static_cast<fp8_recipe>(i);
        e.kernels.fp8.param_gather = has(notes, "fp8-param-gather=True");
    }
    const auto modules = [&](const char* name, layer_part_set among) {
        std::string names = argument(notes, name);  // "[layernorm moe_act]", or one alone
        std::erase_if(names, [](char c) { return c == '[' || c == ']'; });
        std::replace(names.begin(), names.end(), ' ', ',');
        const auto found = find_layer_parts(names, among, name);
        return found ? *found : layer_part_set{};
    };
    if (!argument(notes, "recompute-modules").empty())
        j.recompute_modules = modules("recompute-modules", recomputed_parts);
    if (has(notes, "fine-grained-activation-offloading=True"))
        j.offload.modules = modules("offload-modules", offloaded_parts);
}

}  // namespace training_runs
