// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <llmres/answers/buffers.hpp>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/disaggregated.hpp>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/limits.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/assumptions.hpp>
#include <llmres/io/json/layout_json.hpp>
#include <llmres/io/json/remedy_patch.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Answers as JSON: sizes in bytes (integers), times in seconds, rates per second. Keys are the names of the C++
/// fields.
namespace llmres::inline v0 {

/// The names of modules with commas between them, as find_modules() reads them.
inline std::string to_text(layer_part_set modules) {
    std::string names;
    for (std::size_t i = 0; i < layer_part_names.size(); ++i)
        if (modules.has(static_cast<layer_part>(i)))
            names += (names.empty() ? "" : ",") + std::string{layer_part_names[i]};
    return names;
}

/// Memory by term.
inline json_value to_json(const memory_breakdown& m) {
    json_value terms = json_value::object();
    for (std::size_t i = 0; i < m.terms.size(); ++i) terms[memory_term_names[i]] = m.terms[i].expected.in(bytes);
    const interval<byte_count> total = m.total();
    json_value shown = {{"low", total.low.in(bytes)},
                        {"expected", total.expected.in(bytes)},
                        {"high", total.high.in(bytes)},
                        {"allocated", m.allocated.expected.in(bytes)},
                        {"reserved", m.reserved.expected.in(bytes)},
                        {"ideal", m.ideal.in(bytes)},
                        {"stage", m.stage},
                        {"phase", name_of(m.phase)},
                        {"terms", terms}};
    if (m.passes.step > byte_count{})
        shown["passes"] = {{"forward", m.passes.forward.in(bytes)},
                           {"loss", m.passes.loss.in(bytes)},
                           {"backward", m.passes.backward.in(bytes)},
                           {"step", m.passes.step.in(bytes)}};
    return shown;
}

/// Times by term.
inline json_value to_json(const time_breakdown& t) {
    json_value terms = json_value::object();
    for (std::size_t i = 0; i < t.terms.size(); ++i) terms[time_term_names[i]] = t.terms[i].expected.in(seconds);
    return terms;
}
/// The bounds of a time.
inline json_value to_json(const interval<duration>& t) {
    return {{"low", t.low.in(seconds)}, {"expected", t.expected.in(seconds)}, {"high", t.high.in(seconds)}};
}

/// A reason, with its sentence.
inline json_value to_json(const reason& r, const job_plan& p) {
    return {{"code", name_of(r.code)},
            {"gpu", r.gpu},
            {"term", name_of(r.term)},
            {"needed", r.needed.in(bytes)},
            {"available", r.available.in(bytes)},
            {"text", to_text(r, p)}};
}

/// The room that a pool of KV caches has; `concurrency`: the sequences of the job's context that fit it.
inline json_value to_json(const pool_size& p) {
    return {{"low", p.memory.low.in(bytes)},
            {"expected", p.memory.expected.in(bytes)},
            {"high", p.memory.high.in(bytes)},
            {"tokens", p.token_room.in(tokens)},
            {"blocks", p.blocks},
            {"concurrency", p.sequences},
            {"stage", p.stage}};
}

/// The pool of KV caches on the fullest GPU, the tokens that the job's own sequences leave for prefixes, and how many
/// sequences of the given lengths run at once. Null for training.
inline json_value cache_pool_to_json(const job& j, const layout& l, const cluster& c,
                                     const maybe<length_distribution>& lengths) {
    const result<pool_size> pool = cache_pool_of(j, l, c);
    const result<pool_size> room = prefix_cache_room(j, l, c);
    if (trains(j) || !pool || !room) return nullptr;
    json_value out = to_json(*pool);
    out["prefix_tokens"] = room->token_room.in(tokens);
    if (!lengths) return out;
    const result<std::int64_t> sequences = concurrent_sequences(j, l, c, *lengths);
    out["concurrent_sequences"] = sequences ? json_value(*sequences) : json_value(nullptr);
    return out;
}

/// Sets what the device loses to a runtime that reserves a pool, whole: the part that the job leaves unused is of
/// `fragmentation`. `needed` is what the job itself takes, which is held against `usable`.
inline void set_reserved(json_value& memory, const job_plan& p, const job& j, const cluster& c) {
    if (trains(j) || !takes_fraction(j.runtime.cache) || p.verdict == verdict::does_not_fit) return;
    const result<pool_size> pool = cache_pool_of(j, p.layout, c);
    if (!pool) return;
    const reserved_memory held = reserved_by(p.memory, *pool);
    const byte_count slack = p.memory.reserved.expected - p.memory.allocated.expected;
    memory["needed"] = {{"low", memory["low"]}, {"expected", memory["expected"]}, {"high", memory["high"]}};
    memory["low"] = held.device.low.in(bytes);
    memory["expected"] = held.device.expected.in(bytes);
    memory["high"] = held.device.high.in(bytes);
    memory["reserved"] = held.engine.in(bytes);
    memory["terms"][std::string{name_of(memory_term::fragmentation)}] = (slack + held.unused).in(bytes);
}

/// Limits; null where nothing fits.
inline json_value to_json(const job_limits& l) {
    const auto known = [](const auto& m, auto read) { return m ? json_value(read(*m)) : json_value(nullptr); };
    const auto same = [](std::int64_t n) { return n; };
    return {{"max_batch", known(l.max_batch, same)},
            {"max_context", known(l.max_context, [](token_count t) { return t.in(tokens); })},
            {"min_gpus", known(l.min_gpus, same)}};
}

/// The roles of the weights that an adapter is attached to, with commas between them, as find_roles() reads them.
inline std::string target_names(const role_set& targets) {
    std::string names;
    for (std::size_t i = 0; i < weight_role_names.size(); ++i)
        if (targets.contains(static_cast<weight_role>(i)))
            names += (names.empty() ? "" : ",") + std::string{weight_role_names[i]};
    return names;
}

/// Knobs of training that differ from the profile's.
inline void training_knobs_to_json(const runtime& r, const runtime& p, json_value& out) {
    const training_kernels& k = r.kernels;
    const training_kernels& usual = p.kernels;
    const auto flag = [&](const char* name, bool now, bool before) {
        if (now != before) out[name] = now;
    };
    if (k.loss.code != usual.loss.code) out["loss"] = name_of(k.loss.code);
    if (k.scan != usual.scan) out["scan"] = name_of(k.scan);
    flag("expandable_segments", r.allocator.expandable_segments, p.allocator.expandable_segments);
    flag("compiled", k.compilation.layers, usual.compilation.layers);
    flag("compiled_loss", k.compilation.loss, usual.compilation.loss);
    flag("fused_norms", k.norm == norm_code::fused, usual.norm == norm_code::fused);
    flag("fused_gates", k.gate == gate_code::fused, usual.gate == gate_code::fused);
    flag("use_fused_weighted_squared_relu", k.use_fused_weighted_squared_relu, usual.use_fused_weighted_squared_relu);
    flag("narrow_loss", k.loss.narrow, usual.loss.narrow);
    if (k.experts != usual.experts) out["experts"] = name_of(k.experts);
    if (k.checkpointing.selective != usual.checkpointing.selective)
        out["selective"] = name_of(k.checkpointing.selective);
    flag("save_on_cpu", k.checkpointing.offloads_at_once, usual.checkpointing.offloads_at_once);
    flag("gradient_accumulation_fusion", k.linear != linear_code::plain, usual.linear != linear_code::plain);
    flag("fp32_stream", k.fp32_stream, usual.fp32_stream);
    flag("fp32_adapters", k.fp32_adapters, usual.fp32_adapters);
    flag("four_bit_keeps_inputs", k.four_bit_keeps_inputs, usual.four_bit_keeps_inputs);
    flag("use_reentrant", k.checkpointing.reentrant, usual.checkpointing.reentrant);
    flag("checkpoints_inside_units", k.checkpointing.inside_units, usual.checkpointing.inside_units);
    flag("reshard_after_forward", r.sharding.reshards_after_forward, p.sharding.reshards_after_forward);
    if (k.fp8.recipe != usual.fp8.recipe) out["fp8_recipe"] = name_of(k.fp8.recipe);
    flag("fp8_param_gather", k.fp8.param_gather, usual.fp8.param_gather);
    if (r.process.context != p.process.context && r.process.context == context_of_cuda_11) out["cuda"] = 11;
}

/// A runtime and what the job asks of it: its name, the versions that its profile is for, and the knobs that differ
/// from the profile, under the keys by which a job document sets them. `profile`: the one that the job read, where it
/// is not compiled.
inline json_value to_json(const runtime& r, const serving_options& asked, const runtime* profile = nullptr) {
    json_value out{{"name", r.identity.name.view()}, {"versions", r.identity.versions.view()}};
    for (const runtime* known : runtimes::all)
        if (profile == nullptr && *known == r) profile = known;
    if (profile == nullptr) return out;
    const runtime& p = *profile;
    const serving_options usual;
    if (r.cache.fraction && *r.cache.fraction != p.cache.fraction.value_or(0))
        out["gpu_memory_utilization"] = *r.cache.fraction;
    if (r.cache.block != p.cache.block) out["kv_block"] = r.cache.block.in(tokens);
    if (r.step.max_batched_tokens != p.step.max_batched_tokens ||
        r.step.larger_devices[0].max_batched_tokens != p.step.larger_devices[0].max_batched_tokens)
        out["max_batched_tokens"] = r.step.max_batched_tokens.in(tokens);
    if (asked.max_num_seqs != usual.max_num_seqs) out["max_num_seqs"] = asked.max_num_seqs;
    if (r.serving_kernels.flash_attention && r.serving_kernels.flash_attention != p.serving_kernels.flash_attention)
        out["flash_attention"] = *r.serving_kernels.flash_attention;
    if (asked.gpu_layers && asked.gpu_layers != usual.gpu_layers) out["gpu_layers"] = *asked.gpu_layers;
    if (r.loading.embedding_on_host != p.loading.embedding_on_host)
        out["embedding_on_host"] = r.loading.embedding_on_host;
    if (asked.experts_on_host != usual.experts_on_host) out["experts_on_host"] = asked.experts_on_host;
    if (asked.max_loras != usual.max_loras) out["max_loras"] = asked.max_loras;
    if (asked.max_lora_rank != usual.max_lora_rank) out["max_lora_rank"] = asked.max_lora_rank;
    if (asked.encoder_tokens != usual.encoder_tokens) out["encoder_tokens"] = asked.encoder_tokens.in(tokens);
    if (asked.speculates_ahead != usual.speculates_ahead) out["speculates_ahead"] = asked.speculates_ahead;
    if (asked.rope_scaling > usual.rope_scaling) out["rope_scaling"] = asked.rope_scaling;
    if (asked.draft_weights != usual.draft_weights)
        out["draft"] = {{"weights_bytes", asked.draft_weights.in(bytes)},
                        {"kv_bytes_per_token", asked.draft_kv.in(bytes_a_token)}};
    training_knobs_to_json(r, p, out);
    if (r.cache.windows != p.cache.windows) out["swa_full"] = r.cache.windows == window_cells::whole;
    const std::string_view no_graphs = knob_name(r.identity.knobs, knob_setting::no_cuda_graphs);
    if (r.process.cuda_graphs.high != p.process.cuda_graphs.high && !no_graphs.empty())
        out[std::string{no_graphs}] = true;
    return out;
}

/// The job with its defaults filled in; null where the runtime chooses as it runs.
inline json_value to_json(const job& j) {
    json_value out{{"model", j.model.name.view()},
                   {"task", name_of(j.task)},
                   {"weights", j.gguf ? mix_name(*j.gguf) : std::string{weights_of(j).name.view()}},
                   {"compute", j.compute.name.view()},
                   {"attention", name_of(j.attention)}};
    if (!trains(j)) {
        out["kv_cache"] = kv_cache_of(j).name.view();
        if (j.kv_cache_values) out["kv_cache_values"] = j.kv_cache_values->name.view();
        out["batch"] = j.batch;
        out["prompt"] = prompt_of(j).in(tokens);
        out["output"] = j.output.in(tokens);
        out["context"] = context_of(j).in(tokens);
        out["max_batched_tokens"] =
            j.max_batched_tokens > token_count{} ? json_value(j.max_batched_tokens.in(tokens)) : json_value(nullptr);
    } else {
        const maybe<precision> master = master_weights_of(j);
        out["gradients"] = gradients_of(j).name.view();
        out["master_weights"] = master ? json_value(master->name.view()) : json_value(nullptr);
        out["optimizer_states"] = optimizer_states_of(j).name.view();
        out["optimizer"] = j.optimizer.name.view();
        if (j.optimizer.in_backward) out["optimizer_in_bwd"] = true;
        out["sequence"] = sequence_of(j).in(tokens);
        out["micro_batch"] = j.micro_batch;
        out["global_batch"] = j.global_batch;
        out["recompute"] = name_of(j.recompute);
        out["recompute_every"] = j.recompute_every;
        if (!(j.recompute_modules == layer_part_set{layer_part::core_attn}))
            out["recompute_modules"] = to_text(j.recompute_modules);
        out["dropout"] = j.dropout;
        out["varied_lengths"] = j.varied_lengths;
        if (j.mean_length > token_count{}) out["mean_length"] = j.mean_length.in(tokens);
        out["expert_load"] = j.expert_load;
        out["ema"] = j.ema;
        if (j.mtp_layers > 0) out["mtp_layers"] = j.mtp_layers;
        if (j.mtp_use_repeated_layer) out["mtp_use_repeated_layer"] = true;
        if (j.steps > 0) out["steps"] = j.steps;
        out["autocast"] = j.autocast ? json_value(*j.autocast) : json_value(nullptr);
        out["adapter"] = {{"kind", name_of(j.adapter.kind)}, {"rank", j.adapter.rank}, {"dropout", j.adapter.dropout}};
        if (j.adapter.low_rank()) out["adapter"]["targets"] = target_names(j.adapter.targets);
        if (j.adapter.experts) out["adapter"]["experts"] = *j.adapter.experts;
        out["offload"] = {{"optimizer", name_of(j.offload.optimizer)},
                          {"parameters", name_of(j.offload.parameters)},
                          {"activations", name_of(j.offload.activations)},
                          {"pinned", j.offload.pinned}};
        if (!j.offload.modules.empty()) out["offload"]["modules"] = to_text(j.offload.modules);
    }
    return out;
}

/// A cluster under the keys by which a job document gives it; `measured` holds the measured figures that took the place
/// of the datasheet's.
inline json_value to_json(const cluster& c) {
    json_value out{{"gpu", c.gpu.id.view()},
                   {"gpus", c.gpus},
                   {"gpus_per_node", c.node_size()},
                   {"scale_up", c.scale_up.id.view()},
                   {"scale_out", c.scale_out.id.view()}};
    if (c.in_use > byte_count{}) out["in_use"] = c.in_use.in(bytes);
    if (c.power_limit) out["power_limit"] = c.power_limit->in(watts);
    json_value host = json_value::object();
    if (c.host.memory > byte_count{}) host["memory"] = c.host.memory.in(bytes);
    if (c.host.bandwidth > byte_rate{}) host["bandwidth"] = c.host.bandwidth.in(bytes_per_s);
    if (c.host.cores > 0) host["cores"] = c.host.cores;
    if (!c.host.link.id.empty()) host["link"] = c.host.link.id.view();
    if (!host.empty()) out["host"] = std::move(host);
    const gpu_measured& m = c.gpu.measured;
    json_value measured = json_value::object();
    if (m.bandwidth) measured["bandwidth"] = m.bandwidth->in(bytes_per_s);
    const auto rate = [&](const char* name, const maybe<flop_rate>& r) {
        if (r) measured[name] = r->in(flops_per_s);
    };
    rate("tf32", m.tf32), rate("fp16", m.fp16), rate("bf16", m.bf16), rate("fp8", m.fp8), rate("int8", m.int8);
    if (m.any_rate()) measured["reach"] = m.reach.expected;
    if (m.context) measured["context"] = m.context->in(bytes);
    if (!measured.empty()) out["measured"] = std::move(measured);
    return out;
}

/// What a buffer of a term grows in proportion to.
inline json_value scales_of(const job& j, memory_term term) {
    switch (term) {
        case memory_term::kv_cache:
            return {"batch", "context"};
        case memory_term::recurrent_state:
            return {"batch"};
        case memory_term::activations:
        case memory_term::logits:
            return trains(j) ? json_value{"batch", "context"} : json_value::array();
        default:
            return json_value::array();
    }
}

/// The tensors of the busiest GPU, in the order in which they are allocated.
inline json_value buffers_to_json(const job_plan& p, const job& j, const cluster& c) {
    json_value list = json_value::array();
    for_each_buffer(j, c, p, [&](const buffer& b) {
        list.push_back(
            {{"name", b.name.view()}, {"term", name_of(b.term)}, {"bytes", b.size.in(bytes)}, {"count", b.count}});
        if (json_value scales = scales_of(j, b.term); !scales.empty()) list.back()["scales_with"] = std::move(scales);
    });
    return list;
}

/// Where the runtime gets the memory of these tensors from.
inline json_value to_json(const runtime_allocator& a) {
    json_value out{{"name", name_of(a.code)}};
    if (a.code == allocator_code::pytorch) out["expandable_segments"] = a.expandable_segments;
    return out;
}

/// The memory of the busiest GPU, and what of it the job may take.
inline json_value memory_to_json(const job_plan& p, const job& j, const cluster& c) {
    json_value memory = to_json(p.memory);
    memory["usable"] = p.usable.in(bytes);
    memory["available"] = available_memory(c).in(bytes);
    memory["gpu"] = p.gpu;
    const interval<byte_count> context = context_on(on_device(j.runtime, c.gpu, p.layout), c.gpu);
    memory["context"] = {
        {"low", context.low.in(bytes)}, {"expected", context.expected.in(bytes)}, {"high", context.high.in(bytes)}};
    set_reserved(memory, p, j, c);
    if (p.host_memory.high > byte_count{}) {
        const interval<byte_count>& host = p.host_memory;
        memory["host"] = {
            {"low", host.low.in(bytes)}, {"expected", host.expected.in(bytes)}, {"high", host.high.in(bytes)}};
    }
    return memory;
}

/// How long a step, or a prompt and a token, take.
inline json_value time_to_json(const job_plan& p, const job& j) {
    json_value time{{"terms", to_json(p.speed.step)}};
    if (trains(j)) {
        time["step"] = p.speed.step.total().expected.in(seconds);
        time["step_bounds"] = to_json(p.speed.step.total());
    } else {
        time["prefill_terms"] = to_json(p.speed.prefill);
        time["time_to_first_token"] = p.speed.prefill.total().expected.in(seconds);
        time["time_to_first_token_bounds"] = to_json(p.speed.prefill.total());
        time["time_per_output_token"] = p.speed.step.total().expected.in(seconds);
        time["time_per_output_token_bounds"] = to_json(p.speed.step.total());
        const steady_speed& steady = p.speed.steady;
        if (steady.in_flight > 0)
            time["steady"] = {{"time_to_first_token", steady.time_to_first_token.expected.in(seconds)},
                              {"time_to_first_token_bounds", to_json(steady.time_to_first_token)},
                              {"time_per_output_token", steady.time_per_output_token.expected.in(seconds)},
                              {"time_per_output_token_bounds", to_json(steady.time_per_output_token)},
                              {"tokens_per_second", steady.tokens_per_second.in(tokens_per_s)},
                              {"in_flight", steady.in_flight}};
    }
    time["tokens_per_second"] = p.speed.tokens_per_second.in(tokens_per_s);
    time["mfu"] = p.speed.mfu;
    return time;
}

/// The whole answer. `chosen`: the layout was the planner's choice, which then names its `objective`; `lengths` of
/// sequences, where the job has them.
inline json_value to_json(const job_plan& p, const job& j, const cluster& c, bool chosen,
                          const maybe<length_distribution>& lengths = {}) {
    json_value reasons = json_value::array();
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        reasons.push_back(to_json(p.reasons[static_cast<std::size_t>(i)], p));
    json_value help = json_value::array();
    if (p.verdict != verdict::fits)
        for (const remedy& r : what_would_help(j, p.layout, c, chosen ? layout_choice::searched : layout_choice::given))
            help.push_back({{"text", to_text(r)},
                            {"layout", to_json(r.layout)},
                            {"tokens_per_second", r.tokens_per_second.in(tokens_per_s)}});

    return {{"verdict", name_of(p.verdict)},
            {"job", to_json(j)},
            {"runtime", to_json(j.runtime, j.options)},
            {"cluster", to_json(c)},
            {"layout", to_json(p.layout)},
            {"layout_chosen", chosen},
            {"objective", chosen ? json_value(name_of(objective::throughput)) : json_value(nullptr)},
            {"idle_gpus", c.gpus - p.layout.gpus()},
            {"memory", memory_to_json(p, j, c)},
            {"time", time_to_json(p, j)},
            {"bottleneck", name_of(p.bottleneck())},
            {"reasons", reasons},
            {"would_help", help},
            {"limits", to_json(limits_of(j, p.layout, c))},
            {"cache_pool", cache_pool_to_json(j, p.layout, c, lengths)},
            {"allocator", to_json(j.runtime.allocator)},
            {"buffers", buffers_to_json(p, j, c)}};
}

/// The additional answer where prompts have GPUs of their own; `chosen`: their layout was the planner's choice.
inline json_value to_json(const disaggregated_plan& p, const cluster& prompts, bool chosen) {
    json_value memory = to_json(p.prefill.memory);
    memory["usable"] = p.prefill.usable.in(bytes);
    return {{"prefill",
             {{"verdict", name_of(p.prefill.verdict)},
              {"cluster", to_json(prompts)},
              {"layout", to_json(p.prefill.layout)},
              {"layout_chosen", chosen},
              {"memory", memory},
              {"time_to_first_token", p.prefill.speed.prefill.total().expected.in(seconds)}}},
            {"handed_over", p.handed_over.in(bytes)},
            {"hand_over", p.hand_over.in(seconds)},
            {"prompts_per_second", p.prompts_per_second},
            {"sequences_per_second", p.sequences_per_second},
            {"prefill_per_decode", p.prefill_per_decode()}};
}

/// The plan that a job document asks for.
struct requested_plan {
    job_plan plan{};                    ///< of the GPUs that generate the output
    maybe<disaggregated_plan> split{};  ///< both sides, where other GPUs compute the prompts
    /// The verdict on all GPUs.
    constexpr llmres::verdict verdict() const {
        return split && split->prefill.verdict > plan.verdict ? split->prefill.verdict : plan.verdict;
    }
};

/// Plans what a document asks for, in its layout or in the one that search() chooses. Errors: those of plan() and
/// plan_disaggregated().
inline result<requested_plan> plan(const plan_request& r) {
    const result<job_plan> alone = r.layout ? plan(r.job, *r.layout, r.cluster) : plan(r.job, r.cluster);
    if (!alone) return alone.error();
    if (!r.prefill) return requested_plan{.plan = *alone};
    const pool_request& prompts = *r.prefill;
    const result<layout> l = prompts.layout ? *prompts.layout : prefill_layout(r.job, prompts.cluster);
    if (!l) return l.error();
    const result<disaggregated_plan> both =
        plan_disaggregated(r.job, {*l, prompts.cluster}, {alone->layout, r.cluster});
    if (!both) return both.error();
    return requested_plan{.plan = both->decode, .split = *both};
}

/// The answer to a job document. (to_json() of a job_answer adds what was assumed, and remedies as patches.)
inline json_value to_json(const requested_plan& p, const plan_request& r) {
    json_value answer = to_json(p.plan, r.job, r.cluster, !r.layout, r.lengths);
    if (p.split) answer["disaggregated"] = to_json(*p.split, r.prefill->cluster, !r.prefill->layout);
    answer["runtime"] = to_json(r.job.runtime, r.job.options, &r.profile.runtime);
    answer["runtime"]["origin"] = to_json(r.profile.origin);
    if (!r.device.empty()) answer["cluster"]["device"] = r.device;
    return answer;
}

// ---- from a job document to its answer ------------------------------------------------------------------------------

/// A job document as read, and its plan.
struct job_answer {
    plan_request request{};                     ///< what the document asks for
    requested_plan planned{};                   ///< its plan
    json_value assumed = json_value::object();  ///< what the document leaves unsaid and changes the answer, by key
};

/// What a document leaves unsaid of all that changes its plan, by key; null is unknown.
inline json_value assumptions_of(const nlohmann::json& document, const plan_request& request, const job_plan& p) {
    return detail::assumptions_of(document, request, p.host_memory.high > byte_count{});
}

/// Reads a job document and plans it.
inline result<job_answer> answer_job(const nlohmann::json& document, const job_sources& sources = {});

/// A remedy as a change of a job document.
struct document_remedy {
    remedy what{};           ///< the changes
    nlohmann::json patch{};  ///< what to merge into the document (RFC 7396); every value in it has a flag
    job_plan plan{};         ///< the plan of the changed document, which fits
};

/// What would help a document whose answer does not fit: each remedy was merged into the document, read and planned,
/// and is left out where that does not fit.
inline std::vector<document_remedy> remedies_of(const nlohmann::json& document, const job_sources& sources,
                                                const job_answer& given);

/// The name and version of what to_json() writes; schema/plan.json describes it. A key that is added keeps the version,
/// one that goes or changes its meaning raises it.
inline constexpr std::string_view plan_schema = "llmres/plan/1";

/// The answer of `plan --json` to a document.
inline json_value to_json(const job_answer& given, const std::vector<document_remedy>& help);

/// The sources, each asked once for each name: a pipe is read once, and a file is not opened for every remedy.
inline job_sources remembered(const job_sources& sources);

inline result<job_answer> answer_job(const nlohmann::json& document, const job_sources& sources) {
    const result<plan_request> request = read_job(document, sources);
    if (!request) return request.error();
    const result<requested_plan> planned = plan(*request);
    if (!planned) return planned.error();
    return job_answer{*request, *planned, assumptions_of(document, *request, planned->plan)};
}

inline job_sources remembered(const job_sources& sources) {
    const auto models = std::make_shared<std::map<std::string, result<model_source>, std::less<>>>();
    const auto devices = std::make_shared<std::map<std::string, result<device_file>, std::less<>>>();
    const auto asked_once = [](const auto& find, const auto& known) {
        return [find, known](std::string_view name) {
            const auto found = known->find(name);
            return found != known->end() ? found->second : known->emplace(name, find(name)).first->second;
        };
    };
    job_sources once = sources;
    once.model = asked_once(sources.model, models);
    once.device = asked_once(sources.device, devices);
    return once;
}

inline std::vector<document_remedy> remedies_of(const nlohmann::json& document, const job_sources& sources,
                                                const job_answer& given) {
    std::vector<document_remedy> helpful;
    if (given.planned.verdict() == verdict::fits) return helpful;
    const plan_request& request = given.request;
    const layout_choice choice = request.layout ? layout_choice::given : layout_choice::searched;
    for (const remedy& r : what_would_help(request.job, given.planned.plan.layout, request.cluster, choice)) {
        nlohmann::json patch = nlohmann::json::object();
        for (const change& made : r) patch.merge_patch(detail::patch_of(made, document, request));
        nlohmann::json changed = document;
        changed.merge_patch(patch);
        const result<job_answer> then = answer_job(changed, sources);
        if (then && then->planned.verdict() == verdict::fits)
            helpful.push_back({r, std::move(patch), then->planned.plan});
    }
    return helpful;
}

inline json_value to_json(const job_answer& given, const std::vector<document_remedy>& help) {
    json_value answer{{"schema", plan_schema}};
    answer.update(to_json(given.planned, given.request));
    answer["assumed"] = given.assumed;
    json_value list = json_value::array();
    for (const document_remedy& r : help)
        list.push_back({{"text", to_text(r.what)},
                        {"patch", json_value(r.patch)},
                        {"verdict", name_of(r.plan.verdict)},
                        {"layout", to_json(r.plan.layout)},
                        {"tokens_per_second", r.plan.speed.tokens_per_second.in(tokens_per_s)}});
    answer["would_help"] = std::move(list);
    return answer;
}

// ---- searches and models --------------------------------------------------------------------------------------------

/// The layouts of a space by what became of them.
inline json_value to_json(const search_counts& counts) {
    return {{"tried", counts.tried},       {"refused", counts.refused}, {"too_large", counts.too_large},
            {"too_slow", counts.too_slow}, {"kept", counts.kept},       {"cancelled", counts.cancelled}};
}

/// One layout that a search found, with what it chose beside, and the command that starts it.
inline json_value to_json(const found_layout& found, const job& j, const cluster& c) {
    const job chosen = with_choice(j, found.choice);
    const job_plan& p = found.plan;
    const interval<byte_count> held = p.memory.total();
    json_value out{
        {"verdict", name_of(p.verdict)},
        {"gpus", p.layout.gpus()},
        {"layout", to_json(p.layout)},
        {"tokens_per_second", p.speed.tokens_per_second.in(tokens_per_s)},
        {"memory",
         {{"expected", held.expected.in(bytes)}, {"high", held.high.in(bytes)}, {"usable", p.usable.in(bytes)}}},
        {"bottleneck", name_of(p.bottleneck())}};
    if (trains(chosen)) {
        out["step"] = to_json(p.speed.step.total());
        out["mfu"] = p.speed.mfu;
        out["micro_batch"] = chosen.micro_batch;
        out["recompute"] = name_of(chosen.recompute);
        out["offload"] = {{"optimizer", name_of(chosen.offload.optimizer)},
                          {"activations", name_of(chosen.offload.activations)}};
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

namespace detail {

inline void add_to_role(json_value& roles, const weight& w, std::int64_t layers) {
    const std::int64_t counted = (w.count() * layers).in(parameters);
    const std::string role{name_of(w.role)};
    roles[role] = roles.contains(role) ? roles[role].get<std::int64_t>() + counted : counted;
}

/// Parameters that published totals may include beside the model's own: layers of multi-token prediction, heads of
/// pretraining, scales of a quantised checkpoint, and the copy of a tied head that some files store.
inline json_value counts_apart(const model& m, parameter_count scales) {
    const parameter_count ahead = count_prediction_parameters(m);
    return {{"prediction", ahead.in(parameters)},
            {"pretraining_heads", (count_apart_parameters(m) - ahead).in(parameters)},
            {"scales", scales.in(parameters)},
            {"tied_head", m.tied_head ? m.vocabulary * embedding_width_of(m) : 0}};
}

inline json_value described(const model& m, std::string_view weights, byte_count size, const precision& kv_cache,
                            const json_value& apart) {
    json_value roles = json_value::object();
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { add_to_role(roles, w, layers); });
    json_value kinds = json_value::array();
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k)
        kinds.push_back({{"kind", kind_name(m.layers.kinds[static_cast<std::size_t>(k)]).view()},
                         {"count", counts[static_cast<std::size_t>(k)]}});
    return {{"name", m.name.view()},
            {"architecture", m.architecture.view()},
            {"parameters",
             {{"total", count_parameters(m).in(parameters)},
              {"stored", count_stored_parameters(m).in(parameters)},
              {"active", count_active_parameters(m).in(parameters)},
              {"by_role", roles},
              {"apart", apart}}},
            {"weights", weights},
            {"weights_bytes", size.in(bytes)},
            {"kv_cache", kv_cache.name.view()},
            {"kv_bytes_per_token", kv_bytes_per_token(m, kv_cache).in(bytes_a_token)},
            {"max_context", m.max_context > token_count{} ? json_value(m.max_context.in(tokens)) : json_value(nullptr)},
            {"layers", kinds}};
}

}  // namespace detail

/// A model in the formats of a checkpoint, as `llmres model` prints it.
inline json_value to_json(const model& m, const weight_formats& formats, const precision& kv_cache) {
    json_value made = detail::described(m, formats.matrices.name, weight_bytes(m, formats), kv_cache,
                                        detail::counts_apart(m, count_scales(m, formats)));
    made["stored_bytes"] = stored_bytes(m, formats).in(bytes);
    return made;
}
/// A model in the mix of a GGUF file, as `llmres model` prints it.
inline json_value to_json(const model& m, const gguf_mix& mix, const precision& kv_cache) {
    return detail::described(m, mix_name(mix), gguf_tensor_bytes(m, mix), kv_cache, detail::counts_apart(m, {}));
}

/// The denoising network of a diffusion model, as `llmres model` prints it.
template <class Network>
    requires std::same_as<Network, unet> || std::same_as<Network, flow_transformer>
json_value to_json(const Network& network, const weight_formats& formats) {
    json_value roles = json_value::object();
    for_each_weight(network, [&](const weight& w) { detail::add_to_role(roles, w, 1); });
    const std::int64_t total = count_parameters(network).in(parameters);
    return {{"name", network.name.view()},
            {"architecture", std::same_as<Network, unet> ? "unet" : "flow_transformer"},
            {"parameters", {{"total", total}, {"stored", total}, {"active", total}, {"by_role", roles}}},
            {"weights", formats.matrices.name.view()},
            {"weights_bytes", weight_bytes(network, formats).in(bytes)}};
}

/// What a file of weights holds.
inline json_value to_json(const stored_weights& s) {
    json_value roles = json_value::object();
    for (const auto& [role, size] : s.by_role) roles[role] = size.in(bytes);
    json_value differences = json_value::array();
    for (const stored_difference& d : s.differences)
        differences.push_back({{"what", d.what},
                               {"layer", d.layer < 0 ? json_value(nullptr) : json_value(d.layer)},
                               {"predicted", d.predicted.in(bytes)},
                               {"stored", d.stored.in(bytes)}});
    return {{"files", s.files.in(bytes)},
            {"tensors", s.tensors.in(bytes)},
            {"by_role", roles},
            {"differences", differences}};
}

}  // namespace llmres::inline v0
