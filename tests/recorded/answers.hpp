// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <llmres/answers/buffers.hpp>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

/// What tests/recorded/plans.jsonl records of a job: the figures of its plan as they are, and of what stands behind
/// them fingerprints, which change with any of the numbers.
namespace recorded {

using namespace llmres;
using nlohmann::json;

/// A short text of many numbers in their order (FNV-1a). Of times and rates six digits count, so that compilers which
/// round differently agree.
class fingerprint {
public:
    void add(std::string_view letters) {
        for (const char c : letters) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        state_ = (state_ ^ 0xff) * 0x100000001b3;
    }
    void add(std::int64_t n) { add(std::string_view{std::to_string(n)}); }
    void add(byte_count size) { add(size.in(bytes)); }
    void add(double number);
    void add(duration time) { add(time.in(seconds)); }
    template <class T>
    void add(const interval<T>& bounds) {
        add(bounds.low), add(bounds.expected), add(bounds.high);
    }
    void add(const time_breakdown& time) {
        for (const auto& term : time.terms) add(term);
    }
    void add(const layout& l) {
        for (const std::int64_t n :
             {l.tensor, l.pipeline, l.virtual_pipeline, l.data, l.context_parallel, l.expert, l.zero, l.replicas})
            add(n);
        add(std::int64_t{l.sequence_parallel});
    }
    std::string text() const {
        std::array<char, 7> hex{};
        std::snprintf(hex.data(), hex.size(), "%06x", static_cast<unsigned>((state_ ^ (state_ >> 32)) & 0xffffff));
        return hex.data();
    }

private:
    std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Six digits of a number.
inline std::string digits(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", number);
    return text.data();
}
inline void fingerprint::add(double number) { add(std::string_view{digits(number)}); }

/// The layout that the document gives, or the planner's.
inline layout layout_of(const plan_request& asked, const job_plan& p) {
    return asked.layout ? *asked.layout : p.layout;
}
inline result<job_plan> planned(const plan_request& asked) {
    return asked.layout ? plan(asked.job, *asked.layout, asked.cluster) : plan(asked.job, asked.cluster);
}
inline json refusal(const error& e) { return "refused: " + std::string{e.field.view()}; }

// ---- what stands behind a plan --------------------------------------------------------------------------------------

/// The weights of each stage, and of each kind of layer what a step saves and has alive.
inline std::string inventories_of(const job& j, const layout& l, const gpu& card) {
    fingerprint all;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage)
        for_each_weight(j, placement_of(j, l, stage), [&](const weight& w, std::int64_t times, weight_place place) {
            const weight_shape held = local_shape(w, l);
            for (const std::int64_t n : {static_cast<std::int64_t>(w.role), held.rows, held.columns, held.copies, times,
                                         static_cast<std::int64_t>(place)})
                all.add(n);
        });
    if (!trains(j)) return all.text();
    const training_context context{j, l, sdpa_backend_of(card)};
    const auto add = [&](const activation& a) {
        for (const std::int64_t n : {static_cast<std::int64_t>(a.role), static_cast<std::int64_t>(a.until),
                                     std::int64_t{a.input_of.bits}, std::int64_t{a.made_by.bits}})
            all.add(n);
        all.add(local_bytes(a, l));
    };
    for (const layer& kind : j.model.layers.distinct()) for_each_saved_activation(kind, j.model.hidden, context, add);
    return all.text();
}

inline void add_state(const training_state& s, fingerprint& all) {
    for (const byte_count size :
         {s.weights, s.adapter, s.gathered, s.largest, s.dummies, s.host, s.nvme, s.gradients.kept, s.gradients.whole,
          s.optimizer.states, s.optimizer.paged, s.optimizer.temporaries, s.optimizer.largest_step, s.casts.all,
          s.casts.cached, s.magnitudes.other, s.magnitudes.down})
        all.add(size);
}
inline void add_breakdown(const memory_breakdown& m, fingerprint& all) {
    for (std::size_t i = 0; i < m.terms.size(); ++i)  // a reference only where there is one, as answers have it
        if (static_cast<memory_term>(i) != memory_term::reference || m.terms[i].expected > byte_count{})
            all.add(m.terms[i]);
    for (const byte_count size : {m.ideal, m.reduced, m.gathered, m.updated, m.evictable, m.released, m.never_both})
        all.add(size);
    all.add(m.allocated), all.add(m.reserved), all.add(m.evicted), all.add(m.releasable);
    all.add(static_cast<std::int64_t>(m.phase));
}

/// Every stage, and every pass of a step, be it the fullest or not.
inline std::string stages_of(const job& j, const layout& l, const cluster& c) {
    fingerprint all;
    const runtime r = on_device(j, c.gpu, l);
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        if (!trains(j)) {
            const serving_phases phases = serving_phases_of_stage(j, l, r, stage);
            all.add(phases.load), all.add(phases.prefill), all.add(phases.decode);
            add_breakdown(serving_memory_of_stage(j, l, r, stage), all);
            continue;
        }
        add_state(training_state_of(j, l, stage), all);
        add_breakdown(training_memory(j, l, stage), all);
        all.add(host_memory(j, l, stage));
        all.add(saved_activations(j, l, stage, sdpa_backend_of(c.gpu)));
        all.add(saved_by_layers(j, l, stage, sdpa_backend_of(c.gpu)));
    }
    if (!trains(j)) return all.text();
    const training_passes passes = training_passes_of(j, l, sdpa_backend_of(c.gpu));
    all.add(passes.forward), all.add(passes.loss), all.add(passes.backward), all.add(passes.step);
    return all.text();
}

/// The tensors of two steps of a stage: how many, the most bytes at once, and a fingerprint of their order.
inline json events_of(const job& j, const layout& l, const gpu& card, std::int32_t stage, sharing_rank rank) {
    fingerprint order;
    std::map<std::int64_t, byte_count> alive;
    byte_count held, most;
    std::int64_t count = 0;
    for_each_tensor_event(
        j, l, card, stage, 2,
        [&](const tensor_event& e) {
            ++count;
            order.add(e.group), order.add(e.size), order.add(static_cast<std::int64_t>(e.stream));
            if (e.size > byte_count{})
                alive[e.group] += e.size, held += e.size;
            else
                held -= alive[e.group], alive.erase(e.group);
            most = (std::max)(most, held);
        },
        rank);
    return {count, most.in(bytes), order.text()};
}

// ---- answers --------------------------------------------------------------------------------------------------------

/// Numbers with blanks between them.
inline std::string listed(std::initializer_list<std::string> all) {
    std::string text;
    for (const std::string& each : all) text += (text.empty() ? "" : " ") + each;
    return text;
}
inline std::string listed(const interval<byte_count>& size) {
    return listed({std::to_string(size.low.in(bytes)), std::to_string(size.expected.in(bytes)),
                   std::to_string(size.high.in(bytes))});
}

inline std::string memory_of(const job_plan& p) {
    fingerprint all;
    add_breakdown(p.memory, all);
    all.add(p.host_memory), all.add(p.usable), all.add(std::int64_t{p.gpu});
    for (std::int32_t i = 0; i < p.reason_count; ++i) {
        const reason& why = p.reasons[static_cast<std::size_t>(i)];
        all.add(name_of(why.code)), all.add(std::int64_t{why.gpu}), all.add(name_of(why.term));
        all.add(why.needed), all.add(why.available);
    }
    return all.text();
}
inline std::string times_of(const job_speed& speed) {
    fingerprint all;
    all.add(speed.step), all.add(speed.prefill);
    all.add(speed.steady.time_to_first_token), all.add(speed.steady.time_per_output_token);
    all.add(speed.steady.tokens_per_second.in(tokens_per_s)), all.add(speed.steady.in_flight);
    all.add(speed.tokens_per_second.in(tokens_per_s)), all.add(speed.mfu);
    return all.text();
}
inline std::string buffers_of(const plan_request& asked, const job_plan& p) {
    fingerprint all;
    for_each_buffer(asked.job, asked.cluster, p, [&](const buffer& b) {
        all.add(b.name.view()), all.add(name_of(b.term)), all.add(b.size), all.add(b.count);
    });
    return all.text();
}

/// A plan: the verdict, the stage and the phase that are fullest, memory in bytes with its bounds, seconds of a prompt
/// and of a step, and fingerprints of all terms of memory with the reasons, all times, inventories, stages and tensors.
inline json plan_of(const plan_request& asked) {
    const result<job_plan> made = planned(asked);
    if (!made) return refusal(made.error());
    const job_plan& p = *made;
    const layout l = layout_of(asked, p);
    return listed({std::string{name_of(p.verdict)}, std::to_string(p.memory.stage),
                   std::string{name_of(p.memory.phase)}, listed(p.memory.total()),
                   digits(p.speed.prefill.expected().in(seconds)), digits(p.speed.step.expected().in(seconds)),
                   memory_of(p), times_of(p.speed), inventories_of(asked.job, l, asked.cluster.gpu),
                   stages_of(asked.job, l, asked.cluster), buffers_of(asked, p)});
}

/// The tensors of training steps, of the first and the last stage.
inline json events_of(const plan_request& asked) {
    const result<job_plan> made = planned(asked);
    if (!made) return refusal(made.error());
    const layout l = layout_of(asked, *made);
    const gpu& card = asked.cluster.gpu;
    json stages = json::array({events_of(asked.job, l, card, 0, sharing_rank::first)});
    stages.push_back(events_of(asked.job, l, card, l.pipeline - 1, sharing_rank::other));
    return stages;
}

/// A layout in a few letters: "tp2 pp4 dp8 zero1".
inline std::string short_name(const layout& l) {
    std::string name = "tp" + std::to_string(l.tensor);
    const auto add = [&](const char* what, std::int64_t ranks) {
        if (ranks > 1) name += std::string{" "} + what + std::to_string(ranks);
    };
    add("pp", l.pipeline), add("vpp", l.virtual_pipeline), add("cp", l.context_parallel), add("ep", l.expert);
    add("dp", l.data);
    return l.zero > 0 ? name + " zero" + std::to_string(l.zero) : name;
}

inline void add_choice(const found_layout& f, fingerprint& all) {
    const job_choice& c = f.choice;
    for (const std::int64_t n :
         {c.batch, c.micro_batch, std::int64_t{c.recompute_modules.bits}, std::int64_t{c.recompute_every},
          static_cast<std::int64_t>(c.offload.optimizer), static_cast<std::int64_t>(c.offload.parameters),
          static_cast<std::int64_t>(c.offload.activations), static_cast<std::int64_t>(f.plan.verdict)})
        all.add(n);
    all.add(name_of(c.recompute)), all.add(f.plan.layout), all.add(f.score), all.add(f.next_score);
    all.add(c.weights ? c.weights->name.view() : ""), all.add(c.kv_cache ? c.kv_cache->name.view() : "");
}

/// What a search is asked for: "by" and "against", an objective each, "free", what it may choose, and limits.
inline search_request request_of(const json& asked, objective& against) {
    const auto objective_of = [&](const char* key, objective usual) {
        const std::string name = asked.value(key, std::string{name_of(usual)});
        const auto* const at = std::find(names_of<objective>.begin(), names_of<objective>.end(), name);
        return static_cast<objective>(at - names_of<objective>.begin());
    };
    search_request r{.objective = objective_of("by", objective::throughput), .prices = {.gpu_hour = currency(2)}};
    against = objective_of("against", objective::fewest_gpus);
    search_space& s = r.space;
    const auto named = [&](const char* what) {
        const json free = asked.value("free", json::array());
        return std::find(free.begin(), free.end(), what) != free.end();
    };
    s.micro_batch = named("micro_batch"), s.recompute = named("recompute"), s.offload = named("offload");
    s.recompute_parts = named("recompute_parts"), s.offload_parameters = named("offload_parameters");
    s.schedule = named("schedule");
    s.max_batch = asked.value("max_batch", 0);
    if (named("weights")) s.weights = {{bf16, fp8_e4m3, int4}, 3};
    if (named("kv_cache")) s.kv_cache = {{bf16, fp8_e4m3}, 2};
    s.layouts.least_gpus = asked.value("least_gpus", 1), s.layouts.most_gpus = asked.value("most_gpus", 0);
    r.limits.memory_margin = gib(asked.value("margin", 0));
    r.limits.one_node = asked.value("one_node", false);
    if (asked.contains("seconds")) r.limits.time_per_token = seconds(1) * asked["seconds"].get<double>();
    r.skip_slower = asked.value("skip_slower", false);
    return r;
}

/// The best layouts of a search, how many were tried and became of them what, and a fingerprint of the best five with
/// their scores and of the front.
inline json search_of(const plan_request& asked, const json& request) {
    objective against{};
    const search_request r = request_of(request, against);
    std::array<found_layout, 5> best{};
    std::array<found_layout, 8> front{};
    const auto counts = search(asked.job, asked.cluster, r, std::span<found_layout>{best},
                               std::span<found_layout>{front}, against, [](const search_counts&) { return true; });
    const result<found_layout> nearest = search(asked.job, asked.cluster, r);
    fingerprint all;
    if (nearest) add_choice(*nearest, all);
    if (!counts) return {refusal(counts.error()), all.text()};
    json found = json::array();
    for (std::size_t i = 0; i < counts->best; ++i) {
        add_choice(best[i], all);
        if (i < 3) found.push_back(short_name(best[i].plan.layout));
    }
    for (std::size_t i = 0; i < counts->front; ++i) add_choice(front[i], all);
    for (const std::int64_t n :
         {counts->tried, counts->refused, counts->too_large, counts->too_slow, counts->skipped, counts->kept})
        found.push_back(n);
    found.push_back(all.text());
    return found;
}

inline void add_pool(const result<pool_size>& pool, fingerprint& all) {
    if (!pool) return all.add(pool.error().field.view());
    all.add(pool->memory), all.add(pool->token_room.in(tokens)), all.add(pool->blocks), all.add(pool->sequences);
    all.add(std::int64_t{pool->stage});
}

/// What fits at most, and what would help: the kinds of changes in their order.
inline json limits_of(const plan_request& asked) {
    const result<job_plan> made = planned(asked);
    if (!made) return refusal(made.error());
    const job& j = asked.job;
    const cluster& c = asked.cluster;
    const layout l = layout_of(asked, *made);
    const job_limits most = llmres::limits_of(j, l, c);
    const auto or_none = [](const auto& value, const auto& unit) { return value ? json(unit(*value)) : json(nullptr); };
    fingerprint all;
    std::string helps;
    for (const layout_choice choice : {layout_choice::given, layout_choice::searched}) {
        if (choice == layout_choice::searched && c.gpus > 8) continue;
        for (const remedy& r : what_would_help(j, l, c, choice)) {
            for (const change& made_to : r) {
                helps += (helps.empty() ? "" : " ") + std::to_string(static_cast<int>(made_to.what));
                all.add(made_to.amount), all.add(made_to.layout), all.add(made_to.host_memory);
                all.add(made_to.format.name.view());
            }
            all.add(r.layout), all.add(r.tokens_per_second.in(tokens_per_s));
        }
    }
    if (!trains(j)) {
        add_pool(cache_pool_of(j, l, c), all);
        add_pool(prefix_cache_room(j, l, c), all);
        if (const auto pool = cache_pool_of(j, l, c)) {
            const reserved_memory held = reserved_by(made->memory, *pool);
            all.add(held.device), all.add(held.engine), all.add(held.unused);
        }
        for (const std::int64_t mean : {100, 3000})
            if (const auto n = concurrent_sequences(j, l, c, {tokens(mean), tokens(4000)})) all.add(*n);
        if (const auto fitted = fit_to_memory(j, l, c, true)) {
            all.add(fitted->context.in(tokens)), all.add(std::int64_t{fitted->options.gpu_layers.value_or(-1)});
            all.add(std::int64_t{fitted->options.experts_on_host});
            all.add(std::int64_t{fitted->options.host_expert_layers});
        }
    }
    const auto number = [](std::int64_t n) { return n; };
    return {or_none(most.max_batch, number), or_none(most.max_context, [](token_count t) { return t.in(tokens); }),
            or_none(most.min_gpus, number), helps, all.text()};
}

/// The answers to a line of plans.jsonl, as its text: the document, and for each question that it asks the answer.
inline std::string answered(const json& line) {
    const auto asked = read_job(line["job"]);
    std::string text = "{\"job\": " + line["job"].dump();
    const auto answer = [&](const char* question, const auto& of) {
        if (!line.contains(question)) return;
        text += std::string{", \""} + question + "\": " + (asked ? of(*asked) : refusal(asked.error())).dump();
    };
    answer("plan", [](const plan_request& r) { return plan_of(r); });
    answer("events", [](const plan_request& r) { return events_of(r); });
    answer("limits", [](const plan_request& r) { return limits_of(r); });
    if (line.contains("request")) text += ", \"request\": " + line["request"].dump();
    answer("search", [&](const plan_request& r) { return search_of(r, line.value("request", json::object())); });
    return text + "}";
}

}  // namespace recorded
