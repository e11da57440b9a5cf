// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/launch.hpp>
#include <llmres/io/json/breakdown_json.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/io/json/writer.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

/// What a search found, as JSON.
namespace llmres::inline v0 {

/// The layouts of a space by what became of them.
inline json_value to_json(const search_counts& counts) {
    return detail::json_object({{"tried", counts.tried},
                                {"refused", counts.refused},
                                {"too_large", counts.too_large},
                                {"too_slow", counts.too_slow},
                                {"skipped", counts.skipped},
                                {"kept", counts.kept},
                                {"cancelled", counts.cancelled}});
}

/// One layout that a search found, with what it chose beside, and the command that starts it.
inline json_value to_json(const found_layout& found, const job& j, const cluster& c) {
    const job chosen = with_choice(j, found.choice);
    const job_plan& p = found.plan;
    const interval<byte_count> held = p.memory.total();
    json_value out = detail::json_object({{"verdict", name_of(p.verdict)},
                                          {"gpus", p.layout.gpus()},
                                          {"layout", to_json(p.layout)},
                                          {"tokens_per_second", p.speed.tokens_per_second.in(tokens_per_s)},
                                          {"memory", detail::json_object({{"expected", held.expected.in(bytes)},
                                                                          {"high", held.high.in(bytes)},
                                                                          {"usable", p.usable.in(bytes)}})},
                                          {"bottleneck", name_of(p.bottleneck())}});
    if (trains(chosen)) {
        out["step"] = to_json(p.speed.step.total());
        out["mfu"] = p.speed.mfu;
        out["micro_batch"] = chosen.micro_batch;
        out["recompute"] = name_of(chosen.recompute);
        out["offload"] = detail::json_object(
            {{"optimizer", name_of(chosen.offload.optimizer)}, {"activations", name_of(chosen.offload.activations)}});
    } else {
        out["time_to_first_token"] = to_json(p.speed.prefill.total());
        out["time_per_output_token"] = to_json(p.speed.step.total());
        out["batch"] = chosen.batch;
        out["weights"] = weights_of(chosen).name.view();
        out["kv_cache"] = kv_cache_of(chosen).name.view();
    }
    const std::string launch = launch_command(chosen, p.layout, c);
    out["launch"] = launch.empty() ? json_value(nullptr) : json_value(launch);
    return out;
}

/// The best layouts of a search in their order.
inline json_value to_json(std::span<const found_layout> best, const job& j, const cluster& c) {
    json_value list = json_value::array();
    for (const found_layout& found : best) list.push_back(to_json(found, j, c));
    return list;
}

}  // namespace llmres::inline v0
