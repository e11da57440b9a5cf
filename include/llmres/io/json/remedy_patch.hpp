// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/changes.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>

/// Changes as patches of job documents.
namespace llmres::inline v0::detail {

/// The keys of a layout that differ from those a document gives.
inline nlohmann::json layout_patch(const layout& wanted, const nlohmann::json& document, const plan_request& request) {
    nlohmann::json patch = nlohmann::json::object();
    const bool given = document.contains("layout") && document["layout"].is_object();
    const auto now = same_json<nlohmann::json>(to_json(request.layout ? *request.layout : layout{}));
    const auto then = same_json<nlohmann::json>(to_json(wanted));
    for (const auto& [key, value] : then.items()) {
        const bool by_the_reader = key == "data" && (!given || !document["layout"].contains("data"));
        // Experts are split as all else unless somebody says otherwise.
        const bool as_tensor = key == "expert_tensor" && wanted.expert_tensor_ranks() == wanted.tensor &&
                               !(given && document["layout"].contains("expert_tensor"));
        if (!as_tensor && (by_the_reader || !now.contains(key) || shown(now[key]) != shown(value))) patch[key] = value;
    }
    return patch;
}

/// The fields that a change sets, host memory aside.
inline nlohmann::json changed_fields(const change& made, const nlohmann::json& document, const plan_request& request) {
    using kind = change::kind;
    using nlohmann::json;
    const bool training = trains(request.job);
    json patch = json::object();
    switch (made.what) {
        case kind::known_host: break;
        case kind::shared_each_batch: patch["runtime"]["sync_each_batch"] = true; break;
        case kind::bucket_views: patch["runtime"]["gradient_as_bucket_view"] = true; break;
        case kind::sdpa_attention: patch["attention"] = "sdpa"; break;
        case kind::full_recompute: patch["recompute"] = "full"; break;
        case kind::narrower_cache: patch["kv_cache"] = made.format.name.view(); break;
        case kind::narrower_weights:
            patch["weights"] = made.mix ? mix_name(*made.mix) : std::string{made.format.name.view()};
            break;
        case kind::eight_bit_optimizer: patch["optimizer"] = adamw_8bit.name.view(); break;
        case kind::adapter:
            patch["adapter"]["kind"] = "lora";
            patch["adapter"]["rank"] = made.amount;
            break;
        case kind::offloaded_optimizer: patch["offload"]["optimizer"] = "host"; break;
        case kind::offloaded_activations: patch["offload"]["activations"] = "host"; break;
        case kind::fewer_gpu_layers: patch["runtime"]["gpu_layers"] = made.amount; break;
        case kind::experts_on_host: patch["runtime"]["n_cpu_moe"] = made.amount; break;
        case kind::smaller_fraction:
            patch["runtime"]["gpu_memory_utilization"] = static_cast<double>(made.amount) / 100;
            break;
        case kind::fewer_step_sequences: patch["runtime"]["max_num_seqs"] = made.amount; break;
        case kind::smaller_batch: patch["batch"] = made.amount; break;
        case kind::smaller_micro_batch: patch["micro_batch"] = made.amount; break;
        case kind::shorter_context: patch[training ? "sequence" : "context"] = made.amount; break;
        case kind::more_gpus:
            patch["cluster"]["gpus"] = made.amount;
            if (request.layout) patch["layout"] = layout_patch(made.layout, document, request);
            break;
        case kind::other_layout: patch["layout"] = layout_patch(made.layout, document, request); break;
    }
    return patch;
}

/// The patch that makes a change (RFC 7396).
inline nlohmann::json patch_of(const change& made, const nlohmann::json& document, const plan_request& request) {
    nlohmann::json patch = changed_fields(made, document, request);
    if (made.host_memory > byte_count{}) patch["cluster"]["host"]["memory"] = made.host_memory.in(bytes);
    if (!patch.contains("runtime")) return patch;
    // A runtime that the document gives as a name becomes an object.
    if (const auto named = document.find("runtime"); named != document.end() && named->is_string())
        patch["runtime"]["name"] = *named;
    return patch;
}

}  // namespace llmres::inline v0::detail
