// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/io/json/model_head.hpp>
#include <llmres/io/json/runtime/knobs.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

/// A job, its runtime and its cluster as JSON, under the keys by which a job document gives them.
namespace llmres::inline v0 {

/// The names of modules with commas between them, as find_modules() reads them.
inline std::string to_text(layer_part_set modules) {
    std::string names;
    for (std::size_t i = 0; i < names_of<layer_part>.size(); ++i)
        if (modules.has(static_cast<layer_part>(i)))
            names += (names.empty() ? "" : ",") + std::string{name_of(static_cast<layer_part>(i))};
    return names;
}

/// The roles of the weights that an adapter is attached to, with commas between them, as find_roles() reads them.
inline std::string target_names(const adapter& a) {
    std::string names;
    for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i) {
        const auto role = static_cast<weight_role>(i);
        if (!a.targets.contains(role)) continue;
        if (a.joined_heads && (role == weight_role::k_proj || role == weight_role::v_proj)) continue;
        const bool joined = a.joined_heads && role == weight_role::q_proj;
        names += (names.empty() ? "" : ",") +
                 std::string{joined ? joined_heads_names[0] : name_of(static_cast<weight_role>(i))};
    }
    return names;
}

/// A runtime and what the job asks of it: its name, the versions that its profile is for, and the knobs that differ
/// from the profile, under the keys by which a job document sets them. `profile`: the one that the job read, where it
/// is not compiled.
inline json_value to_json(const runtime& r, const serving_options& asked, const runtime* profile = nullptr) {
    json_value out = detail::json_object({{"name", r.identity.name.view()}, {"versions", r.identity.versions.view()}});
    for (const runtime* known : runtimes::all)
        if (profile == nullptr && *known == r) profile = known;
    if (profile == nullptr) return out;
    const runtime& p = *profile;
    if (r.cache.fraction && *r.cache.fraction != p.cache.fraction.value_or(0))
        out["gpu_memory_utilization"] = *r.cache.fraction;
    if (r.step.max_batched_tokens != p.step.max_batched_tokens ||
        r.step.larger_devices[0].max_batched_tokens != p.step.larger_devices[0].max_batched_tokens)
        out["max_batched_tokens"] = r.step.max_batched_tokens.in(tokens);
    detail::write_members(out, r, p);
    detail::write_members(out, asked);
    for (const detail::two_way_knob& knob : detail::two_way_knobs)
        if (knob.is_on(r) != knob.is_on(p)) out[knob.name] = knob.is_on(r);
    const std::string_view layers = knob_name(r.identity.knobs, knob_setting::host_expert_layers);
    if (asked.host_expert_layers > 0 && !layers.empty()) out[std::string{layers}] = asked.host_expert_layers;
    const auto own_name = [&](knob_setting setting, auto value) {
        if (const std::string_view name = knob_name(r.identity.knobs, setting); value > 0 && !name.empty())
            out[std::string{name}] = value;
    };
    own_name(knob_setting::cache_bytes, asked.cache_bytes.in(bytes));
    own_name(knob_setting::cache_tokens, asked.cache_tokens.in(tokens));
    own_name(knob_setting::cache_blocks, asked.cache_blocks);
    if (r.cache.window_part != p.cache.window_part)
        own_name(knob_setting::window_part, r.cache.window_part.value_or(0));
    if (asked.draft_weights > byte_count{})
        out["draft"] = detail::json_object({{"weights_bytes", asked.draft_weights.in(bytes)},
                                            {"kv_bytes_per_token", asked.draft_kv.in(bytes_a_token)}});
    if (r.process.context != p.process.context && r.process.context == context_of_cuda_11) out["cuda"] = 11;
    const std::string_view overlaps = knob_name(r.identity.knobs, knob_setting::overlaps_steps);
    if (r.cache.in_flight != p.cache.in_flight && !overlaps.empty())
        out[std::string{overlaps}] = r.cache.in_flight == steps_in_flight::stages_ahead;
    const std::string_view prefixes = knob_name(r.identity.knobs, knob_setting::shares_prefixes);
    const bool shares = r.cache.shares_prefixes != p.cache.shares_prefixes;
    if ((shares || r.cache.kept != p.cache.kept) && !prefixes.empty())
        out[std::string{prefixes}] = r.cache.shares_prefixes;
    if (r.cache.windows != p.cache.windows) out["swa_full"] = r.cache.windows == window_cells::whole;
    const std::string_view no_graphs = knob_name(r.identity.knobs, knob_setting::no_cuda_graphs);
    if (r.process.cuda_graphs.high != p.process.cuda_graphs.high && !no_graphs.empty())
        out[std::string{no_graphs}] = true;
    const std::string_view captured = knob_name(r.identity.knobs, knob_setting::graph_context);
    if (r.launches.graph_context > tokens(1) && r.launches.graph_context != p.launches.graph_context &&
        !captured.empty())
        out[std::string{captured}] = r.launches.graph_context.in(tokens);
    return out;
}

/// The job with its defaults filled in; null where nothing is said of prompts, and where the runtime chooses as it
/// runs.
inline json_value to_json(const job& j) {
    json_value out =
        detail::json_object({{"model", j.model.name.view()},
                             {"task", name_of(j.task)},
                             {"weights", j.gguf ? mix_name(*j.gguf) : std::string{weights_of(j).name.view()}},
                             {"compute", nullptr},
                             {"attention", nullptr}});
    if (const std::string_view head = head_name(j.model); !head.empty()) out["head"] = head;
    if (const std::int64_t classes = classes_of(j.model); classes > 0) out["labels"] = classes;
    if (trains(j)) {
        const maybe<precision> master = master_weights_of(j);
        out["gradients"] = gradients_of(j).name.view();
        out["master_weights"] = master ? master->name.view() : std::string_view{"none"};
        out["optimizer_states"] = (j.adapter.trains() ? adapter_states_of(j) : optimizer_states_of(j)).name.view();
        out["optimizer"] = j.optimizer.name.view();
        if (j.optimizer.in_backward) out["optimizer_in_bwd"] = true;
        out["sequence"] = sequence_of(j).in(tokens);
        out["expert_load"] = j.expert_load;
        if (j.preference != preference_method::none) out["preference"] = name_of(j.preference);
        if (learns_from_teacher(j.preference)) {
            out["teacher"] = j.teacher.name.view();
            out["teacher_weights"] = j.teacher.weights.name.view();
        } else if (reference_of(j) != reference_model::none) {
            out["reference"] = name_of(reference_of(j));
        }
        if (!(j.recompute_modules == layer_part_set{layer_part::core_attn}))
            out["recompute_modules"] = to_text(j.recompute_modules);
        json_value& adapted = out["adapter"] = json_value::object();
        detail::write_members(adapted, j.adapter);
        if (j.adapter.low_rank()) adapted["targets"] = target_names(j.adapter);
        json_value& offloaded = out["offload"] = json_value::object();
        detail::write_members(offloaded, j.offload);
        if (!j.offload.modules.empty()) offloaded["modules"] = to_text(j.offload.modules);
    } else {
        // A context alone says nothing of prompts: then a plan's lower bound takes them for short.
        const bool says_prompt = j.prompt > token_count{} || j.output > token_count{};
        out["kv_cache"] = kv_cache_of(j).name.view();
        out["prompt"] = says_prompt ? json_value(prompt_of(j).in(tokens)) : json_value(nullptr);
        out["context"] = context_of(j).in(tokens);
        if (j.images.count > 0) {
            out["images"] = j.images.count;
            out["image_patches"] = j.images.patches.in(tokens);
        }
        out["max_batched_tokens"] = nullptr;
    }
    detail::write_members(out, j, {}, trains(j) ? "Serving" : "Training");
    return out;
}

/// A link by its name in the table; null for the GPU's own, which has none there.
inline json_value named_link(const link& l) {
    return find_link(l.id.view()) ? json_value(l.id.view()) : json_value(nullptr);
}

/// A cluster under the keys by which a job document gives it; `measured` holds the measured figures that took the place
/// of the datasheet's.
inline json_value to_json(const cluster& c) {
    json_value out = detail::json_object({{"gpu", c.gpu.id.view()},
                                          {"gpus", c.gpus},
                                          {"gpus_per_node", nullptr},
                                          {"scale_up", named_link(c.scale_up)},
                                          {"scale_out", named_link(c.scale_out)}});
    detail::write_members(out, c);
    out["gpus_per_node"] = c.node_size();
    json_value host = json_value::object();
    detail::write_members(host, c.host);
    if (!c.host.link.id.empty()) host["link"] = c.host.link.id.view();
    if (!host.empty()) out["host"] = std::move(host);
    const gpu_measured& m = c.gpu.measured;
    json_value measured = json_value::object();
    if (m.bandwidth) measured["bandwidth"] = m.bandwidth->in(bytes_per_s);
    const auto rate = [&](const char* name, const maybe<flop_rate>& r) {
        if (r) measured[name] = r->in(flops_per_s);
    };
    rate("tf32", m.tf32), rate("fp16", m.fp16), rate("bf16", m.bf16), rate("fp8", m.fp8), rate("int8", m.int8);
    if (m.any_rate()) measured["reach"] = m.reach.expected, measured["sustained"] = m.sustained;
    if (m.context) measured["context"] = m.context->in(bytes);
    if (!measured.empty()) out["measured"] = std::move(measured);
    return out;
}

}  // namespace llmres::inline v0
