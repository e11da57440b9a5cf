// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/buffers.hpp>
#include <llmres/answers/capacity.hpp>
#include <llmres/io/json/writer.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

/// Memory and time of a plan as JSON, by term.
namespace llmres::inline v0 {

/// Memory by term; a reference only where there is one.
inline json_value to_json(const memory_breakdown& m) {
    json_value terms = json_value::object();
    for (std::size_t i = 0; i < m.terms.size(); ++i)
        if (static_cast<memory_term>(i) != memory_term::reference || m.terms[i].expected > byte_count{})
            terms[name_of(static_cast<memory_term>(i))] = m.terms[i].expected.in(bytes);
    const interval<byte_count> total = m.total();
    json_value out = detail::json_object({{"low", total.low.in(bytes)},
                                          {"expected", total.expected.in(bytes)},
                                          {"high", total.high.in(bytes)},
                                          {"allocated", m.allocated.expected.in(bytes)},
                                          {"reserved", m.reserved.expected.in(bytes)},
                                          {"ideal", m.ideal.in(bytes)},
                                          {"stage", m.stage},
                                          {"phase", name_of(m.phase)},
                                          {"terms", terms}});
    if (m.released > byte_count{}) out["released"] = m.released.in(bytes);
    return out;
}

/// A size with its bounds.
inline json_value to_json(const interval<byte_count>& size) {
    return detail::json_object(
        {{"low", size.low.in(bytes)}, {"expected", size.expected.in(bytes)}, {"high", size.high.in(bytes)}});
}

/// The passes of a training step.
inline json_value to_json(const training_passes& p) {
    return detail::json_object({{"forward", p.forward.in(bytes)},
                                {"loss", p.loss.in(bytes)},
                                {"backward", p.backward.in(bytes)},
                                {"step", p.step.in(bytes)}});
}

/// The room that a pool of KV caches has; `concurrency`: the sequences of the job's context that it admits, and
/// `concurrency_bounds` those at the bounds of its size. `admitted`: those that whole blocks admit, as the runtime
/// prints them; `steady`: those whose blocks it holds while they decode.
inline json_value to_json(const pool_size& p) {
    return detail::json_object({{"low", p.memory.low.in(bytes)},
                                {"expected", p.memory.expected.in(bytes)},
                                {"high", p.memory.high.in(bytes)},
                                {"tokens", p.token_room.in(tokens)},
                                {"blocks", p.blocks},
                                {"block_tokens", p.block.in(tokens)},
                                {"concurrency", p.sequences.expected},
                                {"concurrency_bounds", detail::json_object({{"low", p.sequences.low},
                                                                            {"expected", p.sequences.expected},
                                                                            {"high", p.sequences.high}})},
                                {"admitted", p.admitted},
                                {"steady", p.steady},
                                {"stage", p.stage}});
}

/// The pool of KV caches on the fullest GPU, the tokens that the job's own sequences leave for prefixes, and how many
/// sequences of the given lengths run at once. Null for training, and where the runtime does not start
/// (start_refused()).
inline json_value cache_pool_to_json(const job& j, const layout& l, const cluster& c,
                                     const maybe<length_distribution>& lengths) {
    const result<pool_size> pool = cache_pool_of(j, l, c);
    const result<pool_size> room = prefix_cache_room(j, l, c);
    if (trains(j) || !pool || !room || start_refused(j, l, c)) return nullptr;
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
    if (!reserves_pool(j, p.memory) || p.verdict == verdict::does_not_fit) return;
    const result<pool_size> pool = cache_pool_of(j, p.layout, c);
    if (!pool) return;
    const reserved_memory held = reserved_by(p.memory, *pool);
    const byte_count slack = p.memory.reserved.expected - p.memory.allocated.expected;
    memory["needed"] =
        detail::json_object({{"low", memory["low"]}, {"expected", memory["expected"]}, {"high", memory["high"]}});
    memory["low"] = held.device.low.in(bytes);
    memory["expected"] = held.device.expected.in(bytes);
    memory["high"] = held.device.high.in(bytes);
    memory["reserved"] = held.engine.in(bytes);
    memory["terms"][std::string{name_of(memory_term::fragmentation)}] = (slack + held.unused).in(bytes);
}

/// What a buffer of a term grows in proportion to.
inline json_value scales_of(const job& j, memory_term term) {
    switch (term) {
        case memory_term::kv_cache: return detail::json_list({"batch", "context"});
        case memory_term::recurrent_state: return detail::json_list({"batch"});
        case memory_term::activations:
        case memory_term::logits: return trains(j) ? detail::json_list({"batch", "context"}) : json_value::array();
        default: return json_value::array();
    }
}

/// The tensors of the busiest GPU, in the order in which they are allocated.
inline json_value buffers_to_json(const job_plan& p, const job& j, const cluster& c) {
    json_value list = json_value::array();
    for_each_buffer(j, c, p, [&](const buffer& b) {
        list.push_back(detail::json_object(
            {{"name", b.name.view()}, {"term", name_of(b.term)}, {"bytes", b.size.in(bytes)}, {"count", b.count}}));
        if (json_value scales = scales_of(j, b.term); !scales.empty()) list.back()["scales_with"] = std::move(scales);
    });
    return list;
}

/// Where the runtime gets the memory of these tensors from.
inline json_value to_json(const runtime_allocator& a) {
    json_value out = detail::json_object({{"name", name_of(a.code)}});
    if (a.code == allocator_code::pytorch) out["expandable_segments"] = a.expandable_segments;
    return out;
}

/// The memory of the busiest GPU, and what of it the job may take.
inline json_value memory_to_json(const job_plan& p, const job& j, const cluster& c) {
    json_value memory = to_json(p.memory);
    memory["usable"] = p.usable.in(bytes);
    memory["available"] = available_memory(c).in(bytes);
    memory["gpu"] = p.gpu;
    const interval<byte_count> context = context_on(on_device(j, c.gpu, p.layout), c.gpu);
    memory["context"] = detail::json_object(
        {{"low", context.low.in(bytes)}, {"expected", context.expected.in(bytes)}, {"high", context.high.in(bytes)}});
    set_reserved(memory, p, j, c);
    if (trains(j)) memory["passes"] = to_json(training_passes_of(j, p.layout, sdpa_backend_of(c.gpu)));
    if (p.host_memory.high > byte_count{}) {
        const interval<byte_count>& host = p.host_memory;
        memory["host"] = detail::json_object(
            {{"low", host.low.in(bytes)}, {"expected", host.expected.in(bytes)}, {"high", host.high.in(bytes)}});
    }
    return memory;
}

/// Times by term.
inline json_value to_json(const time_breakdown& t) {
    json_value terms = json_value::object();
    for (std::size_t i = 0; i < t.terms.size(); ++i)
        terms[name_of(static_cast<time_term>(i))] = t.terms[i].expected.in(seconds);
    return terms;
}
/// The bounds of a time.
inline json_value to_json(const interval<duration>& t) {
    return detail::json_object(
        {{"low", t.low.in(seconds)}, {"expected", t.expected.in(seconds)}, {"high", t.high.in(seconds)}});
}

/// How long a step, or a prompt and a token, take.
inline json_value time_to_json(const job_plan& p, const job& j) {
    json_value time = detail::json_object({{"terms", to_json(p.speed.step)}});
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
            time["steady"] =
                detail::json_object({{"time_to_first_token", steady.time_to_first_token.expected.in(seconds)},
                                     {"time_to_first_token_bounds", to_json(steady.time_to_first_token)},
                                     {"time_per_output_token", steady.time_per_output_token.expected.in(seconds)},
                                     {"time_per_output_token_bounds", to_json(steady.time_per_output_token)},
                                     {"tokens_per_second", steady.tokens_per_second.in(tokens_per_s)},
                                     {"in_flight", steady.in_flight}});
    }
    if (!trains(j) && !generates(j.model)) time["inputs_per_second"] = inputs_per_second(p.speed, j);
    time["tokens_per_second"] = p.speed.tokens_per_second.in(tokens_per_s);
    time["mfu"] = p.speed.mfu;
    return time;
}

}  // namespace llmres::inline v0
