// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/phases/disaggregated.hpp>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/answers/phases/reinforcement_search.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/breakdown_json.hpp>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/io/json/job/assumptions.hpp>
#include <llmres/io/json/job/cost_json.hpp>
#include <llmres/io/json/model_json.hpp>
#include <llmres/io/json/remedy_patch.hpp>
#include <llmres/io/json/request_json.hpp>
#include <llmres/io/json/search_json.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/runtime_json.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/plan.hpp>
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

/// A reason, with its sentence.
inline json_value to_json(const reason& r, const job_plan& p, const job& j, const cluster& c) {
    return detail::json_object({{"code", name_of(r.code)},
                                {"gpu", r.gpu},
                                {"term", name_of(r.term)},
                                {"needed", r.needed.in(bytes)},
                                {"available", r.available.in(bytes)},
                                {"text", to_text(r, p, j, c)}});
}

/// Limits; null where nothing fits.
inline json_value to_json(const job_limits& l) {
    const auto known = [](const auto& m, auto read) { return m ? json_value(read(*m)) : json_value(nullptr); };
    const auto same = [](std::int64_t n) { return n; };
    return detail::json_object({{"max_batch", known(l.max_batch, same)},
                                {"max_context", known(l.max_context, [](token_count t) { return t.in(tokens); })},
                                {"min_gpus", known(l.min_gpus, same)}});
}

namespace detail {

/// The whole answer, less what would help.
inline json_value plan_to_json(const job_plan& p, const job& j, const cluster& c, layout_choice choice,
                               const maybe<length_distribution>& lengths) {
    const bool chosen = choice == layout_choice::searched;
    json_value reasons = json_value::array();
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        reasons.push_back(to_json(p.reasons[static_cast<std::size_t>(i)], p, j, c));
    return detail::json_object(
        {{"verdict", name_of(p.verdict)},
         {"job", as_trained(j, p.layout, [](const job& trained) { return to_json(trained); })},
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
         {"would_help", json_value::array()},
         {"limits", to_json(limits_of(j, p.layout, c))},
         {"cache_pool", cache_pool_to_json(j, p.layout, c, lengths)},
         {"allocator", to_json(j.runtime.allocator)},
         {"buffers", buffers_to_json(p, j, c)}});
}

}  // namespace detail

/// The whole answer. A layout that is the planner's choice names its `objective`; `lengths` of sequences, where the job
/// has them.
inline json_value to_json(const job_plan& p, const job& j, const cluster& c, layout_choice choice,
                          const maybe<length_distribution>& lengths = {}) {
    json_value answer = detail::plan_to_json(p, j, c, choice, lengths);
    if (p.verdict == verdict::fits) return answer;
    for (const remedy& r : what_would_help(j, p.layout, c, choice))
        answer["would_help"].push_back(
            detail::json_object({{"text", to_text(r)},
                                 {"layout", to_json(r.layout)},
                                 {"tokens_per_second", r.tokens_per_second.in(tokens_per_s)}}));
    return answer;
}

/// The additional answer where prompts have GPUs of their own, in a layout that was given or searched.
inline json_value to_json(const disaggregated_plan& p, const cluster& prompts, layout_choice choice) {
    json_value memory = to_json(p.prefill.memory);
    memory["usable"] = p.prefill.usable.in(bytes);
    return detail::json_object(
        {{"prefill",
          detail::json_object({{"verdict", name_of(p.prefill.verdict)},
                               {"cluster", to_json(prompts)},
                               {"layout", to_json(p.prefill.layout)},
                               {"layout_chosen", choice == layout_choice::searched},
                               {"memory", memory},
                               {"time_to_first_token", p.prefill.speed.prefill.total().expected.in(seconds)}})},
         {"handed_over", p.handed_over.in(bytes)},
         {"hand_over", p.hand_over.in(seconds)},
         {"prompts_per_second", p.prompts_per_second},
         {"sequences_per_second", p.sequences_per_second},
         {"prefill_per_decode", p.prefill_per_decode()}});
}

/// The plan that a job document asks for.
struct requested_plan {
    job_plan plan{};                    ///< of the GPUs that generate the output
    maybe<disaggregated_plan> split{};  ///< both sides, where other GPUs compute the prompts
    /// All phases, where a policy learns from rollouts; then `plan` is of its training.
    maybe<reinforcement_plan> phases{};
    /// The verdict on all GPUs, and of all phases.
    constexpr llmres::verdict verdict() const {
        if (phases && phases->verdict() > plan.verdict) return phases->verdict();
        return split && split->prefill.verdict > plan.verdict ? split->prefill.verdict : plan.verdict;
    }
    /// Memory of the busiest GPU: of phases, what the worst takes with what others keep there.
    constexpr interval<byte_count> memory() const {
        return phases ? phases->worst().own + phases->worst().resident : plan.memory.total();
    }
    /// Time of a step; of phases that of all of them.
    constexpr interval<duration> step() const { return phases ? phases->step : plan.speed.step.total(); }
    /// Tokens a second of all GPUs; of phases those that are generated.
    constexpr token_rate tokens_per_second() const {
        return phases ? phases->tokens_per_second() : plan.speed.tokens_per_second;
    }
};

namespace detail {

/// The fastest layouts of a policy alone, for rollouts to be tried beside.
inline std::vector<layout> fastest_layouts(const job& policy, const cluster& c) {
    std::vector<found_layout> best(32);
    const result<search_counts> counts = search(policy, c, {}, best);
    std::vector<layout> fastest;
    for (std::size_t i = 0; counts && i < counts->best; ++i) fastest.push_back(best[i].plan.layout);
    return fastest;
}

}  // namespace detail

/// Layouts in which the phases of a request are tried: the document's, or the fastest of the policy alone, and where
/// none fits the nearest. Errors: those of plan() of the policy.
inline result<std::vector<layout>> layouts_for_phases(const plan_request& r) {
    if (r.layout) return std::vector<layout>{*r.layout};
    std::vector<layout> layouts = detail::fastest_layouts(r.job, r.cluster);
    if (!layouts.empty()) return layouts;
    const result<job_plan> nearest = plan(r.job, r.cluster);
    if (!nearest) return nearest.error();
    return std::vector<layout>{nearest->layout};
}

/// The workload of a request whose policy learns from rollouts. Precondition: it has `rollout`.
inline reinforcement_job workload_of(const plan_request& r) {
    return {r.job, r.rollout->rollout, r.rollout->critic, r.rollout->reward};
}

namespace detail {

/// Plans a policy that learns from rollouts, in that of its layouts which is best with all of its phases.
inline result<requested_plan> plan_phases(const plan_request& r) {
    const result<std::vector<layout>> layouts = layouts_for_phases(r);
    if (!layouts) return layouts.error();
    const auto best = std::make_unique<found_reinforcement>();
    const result<std::size_t> found =
        search_reinforcement(workload_of(r), r.cluster, {.layouts = *layouts}, {best.get(), 1});
    if (!found) return found.error();
    return requested_plan{.plan = best->plan.find(workload_phase::training)->plan, .phases = best->plan};
}

}  // namespace detail

/// Plans what a document asks for, in its layout or in the one that search() chooses. Errors: those of plan(),
/// plan_disaggregated() and plan_reinforcement().
inline result<requested_plan> plan(const plan_request& r) {
    if (r.rollout) return detail::plan_phases(r);
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

/// The runtime of a job document, with where its constants come from.
inline json_value runtime_to_json(const plan_request& r) {
    json_value out = to_json(r.job.runtime, r.job.options, &r.profile.runtime);
    out["evidence"] = evidence_of(r.profile.origin.rows);
    out["evidence_of_times"] = evidence_of(r.profile.origin.times);
    out["origin"] = to_json(r.profile.origin);
    return out;
}

/// Asks for the energy of tokens where an objective compares it, so that an answer tells what it is ordered by.
inline void ask_for(plan_request& r, objective by) {
    tariff prices = r.cost.value_or({});
    if (by != objective::energy_per_token || prices.has_energy() || !detail::drawn_by_gpu(prices, r.cluster)) return;
    prices.pue = 1.0;
    r.cost = prices;
}

/// The run and the cost of each layout that a search found, as far as its document asks for them. A layout that the
/// run's checkpoints and failures do not allow has no run, where they allow another, and one in which such checkpoints
/// are not written has none of these either. Errors: those of run_and_cost_of(), where no layout has a run.
inline result<std::vector<run_and_cost>> runs_and_costs_of(std::span<const found_layout> best, const plan_request& r) {
    std::vector<run_and_cost> all;
    maybe<error> first;
    bool runs = false;
    for (const found_layout& found : best) {
        const job chosen = with_choice(r.job, found.choice);
        const auto priced = [&](const storage_request& stored, const maybe<training_run>& run) {
            return run_and_cost_of(stored, run, r.cost, chosen, found.plan, r.cluster);
        };
        const result<run_and_cost> asked = priced(r.stored, r.run);
        runs = runs || asked;
        if (!asked && !first) first = asked.error();
        all.push_back(asked ? *asked : *priced({}, {}));
    }
    if (first && !runs) return *first;
    return all;
}

/// What a search found for a document, with its runs and costs. Errors: those of runs_and_costs_of().
inline result<json_value> to_json(const std::vector<found_layout>& best, const plan_request& r) {
    const result<std::vector<run_and_cost>> priced = runs_and_costs_of(best, r);
    if (!priced) return priced.error();
    json_value list = json_value::array();
    for (std::size_t i = 0; i < best.size(); ++i) {
        list.push_back(to_json(best[i], r.job, r.cluster));
        add_to(list.back(), (*priced)[i], r.stored, r.cost, with_choice(r.job, best[i].choice));
    }
    return list;
}

/// The additional answer where a policy learns from rollouts: each phase with its verdict, memory and time, and the
/// step.
inline json_value to_json(const reinforcement_plan& p, const rollout_request& asked) {
    json_value phases = json_value::array();
    for (std::int32_t i = 0; i < p.phase_count; ++i) {
        const phase_plan& one = p.phases[static_cast<std::size_t>(i)];
        phases.push_back(detail::json_object({{"phase", name_of(one.phase)},
                                              {"verdict", name_of(one.plan.verdict)},
                                              {"layout", to_json(one.plan.layout)},
                                              {"memory", to_json(one.plan.memory)},
                                              {"own", to_json(one.own)},
                                              {"resident", to_json(one.resident)},
                                              {"usable", one.plan.usable.in(bytes)},
                                              {"time", to_json(one.time)}}));
    }
    return detail::json_object({{"verdict", name_of(p.verdict())},
                                {"worst", name_of(p.worst().phase)},
                                {"engine", asked.rollout.engine.runtime.identity.name.view()},
                                {"phases", phases},
                                {"answers", p.answers},
                                {"in_flight", p.in_flight},
                                {"optimizer_steps", p.optimizer_steps},
                                {"mean_output", p.mean_output.in(tokens)},
                                {"log_probabilities", to_json(p.log_probabilities)},
                                {"synchronisation", p.synchronisation.in(seconds)},
                                {"step", to_json(p.step)},
                                {"host_memory", p.host_memory.expected.in(bytes)},
                                {"idle_trainer", p.idle_trainer},
                                {"idle_engine", p.idle_engine},
                                {"answers_per_second", p.answers_per_second()},
                                {"tokens_per_second", p.tokens_per_second().in(tokens_per_s)}});
}

namespace detail {

/// The GPUs of a phase: an engine's own, or those that train.
inline const cluster& cluster_of(const phase_plan& p, const plan_request& r) {
    const maybe<cluster>& own = r.rollout->rollout.own_gpus;
    return p.phase == workload_phase::rollout && own ? *own : r.cluster;
}

/// The cluster of a request's job: of a policy that learns from rollouts, beside what an engine keeps of the GPUs.
inline cluster cluster_of(const requested_plan& p, const plan_request& r) {
    return p.phases ? beside_engine(*p.phases, r.cluster) : r.cluster;
}

/// The answer to a job document, less what was assumed and what would help.
inline json_value requested_to_json(const requested_plan& p, const plan_request& r) {
    json_value answer = plan_to_json(p.plan, r.job, cluster_of(p, r), layout_choice_of(r.layout), r.lengths);
    if (p.phases) {
        answer["verdict"] = name_of(p.verdict());
        answer["limits"]["min_gpus"] = nullptr;  // fewer GPUs have a rollout of their own
        answer["reinforcement"] = to_json(*p.phases, *r.rollout);
    }
    if (p.split) answer["disaggregated"] = to_json(*p.split, r.prefill->cluster, layout_choice_of(r.prefill->layout));
    answer["runtime"] = runtime_to_json(r);
    if (!r.device.empty()) answer["cluster"]["device"] = r.device;
    return answer;
}

}  // namespace detail

// ---- from a job document to its answer ------------------------------------------------------------------------------

/// A job document as read, and its plan.
struct job_answer {
    plan_request request{};                     ///< what the document asks for
    requested_plan planned{};                   ///< its plan
    json_value assumed = json_value::object();  ///< what the document leaves unsaid and changes the answer, by key
    nlohmann::json document{};                  ///< the document
    run_and_cost priced{};                      ///< how long its run takes and what it costs, as far as it asks
};

/// What a document leaves unsaid of all that changes its plan, by key; null is unknown.
inline json_value assumptions_of(const nlohmann::json& document, const plan_request& request, const job_plan& p) {
    plan_request planned = request;
    if (upcasts(request.job, p.layout)) planned.job = upcast(request.job);
    return detail::assumptions_of(document, planned, p.host_memory.high > byte_count{});
}

/// The command that starts the job as it was planned; empty where it does not fit, has a pool for each phase, or its
/// runtime's launcher is not known.
inline std::string launch_command(const job_answer& given) {
    if (given.planned.split || given.planned.phases || given.planned.verdict() == verdict::does_not_fit) return {};
    return launch_command(given.request.job, given.planned.plan.layout, given.request.cluster);
}

/// What that command does not say of the job; see unsaid_by_launch().
inline std::vector<std::string_view> unsaid_by_launch(const job_answer& given) {
    if (launch_command(given).empty()) return {};
    return unsaid_by_launch(given.request.job, given.planned.plan.layout, given.request.cluster);
}

/// Reads a job document and plans it.
inline result<job_answer> answer_job(const nlohmann::json& document, const job_sources& sources = {});

/// A remedy as a change of a job document.
struct document_remedy {
    remedy what{};           ///< the changes
    nlohmann::json patch{};  ///< what to merge into the document (RFC 7396); every value in it has a flag
    job_plan plan{};         ///< the plan of the changed document, which fits
    std::string text{};      ///< the change in words where it is of a rollout; empty: to_text(what) says it
};

/// A remedy in words: "an engine that sleeps while others train".
inline std::string to_text(const document_remedy& r) { return r.text.empty() ? to_text(r.what) : r.text; }

/// What would help a document whose answer does not fit: each remedy was merged into the document, read and planned,
/// and is left out where that does not fit.
inline std::vector<document_remedy> remedies_of(const nlohmann::json& document, const job_sources& sources,
                                                const job_answer& given);

/// The name and version of what to_json() writes; schema/plan.json describes it. A key that is added keeps the version,
/// one that goes or changes its meaning raises it.
inline constexpr std::string_view plan_schema = "llmres/plan/2";

/// What would help, as a list: text, patch, verdict, layout and tokens_per_second of each remedy.
inline json_value to_json(const std::vector<document_remedy>& help);

/// The answer of `plan --json` to a document.
inline json_value to_json(const job_answer& given, const std::vector<document_remedy>& help);

/// The job document that an answer of `plan --json` answers; any other document as it is.
inline nlohmann::json document_in(nlohmann::json read) {
    if (!read.is_object() || !read.contains("document") || !read["document"].is_object()) return read;
    const auto schema = read.find("schema");
    return schema != read.end() && detail::says(*schema, plan_schema) ? nlohmann::json(read["document"]) : read;
}

/// The sources, each asked once for each name: a pipe is read once, and a file is not opened for every remedy.
inline job_sources remembered(const job_sources& sources);

namespace detail {

/// The plan that a run's length and cost follow from: where a policy learns from rollouts, each of its optimizer steps
/// takes the part of all phases that its answers have.
inline job_plan plan_of_run(const requested_plan& p, const job& policy) {
    job_plan whole = p.plan;
    const duration step = whole.speed.step.expected();
    if (!p.phases || !(step > duration{})) return whole;
    const double trained = static_cast<double>(trained_in_a_step(policy, whole.layout));
    const double more = p.phases->step.expected / step * trained / static_cast<double>(p.phases->answers);
    whole.speed.step = whole.speed.step * more;
    whole.speed.tokens_per_second = whole.speed.tokens_per_second / more;
    return whole;
}

/// Refuses prices and runs where an engine has GPUs of its own, of which none is priced.
inline status prices_all_gpus(const plan_request& r) {
    if (!r.rollout || !r.rollout->rollout.own_gpus || (!r.cost && !r.run)) return done{};
    return refused(error_code::unsupported, r.cost ? "cost" : "run", "given",
                   "an engine on the GPUs that train: those of its own are not priced");
}

}  // namespace detail

inline result<job_answer> answer_job(const nlohmann::json& document, const job_sources& sources) {
    const result<plan_request> request = read_job(document, sources);
    if (!request) return request.error();
    result<requested_plan> planned = plan(*request);
    if (!planned) return planned.error();
    if (const status s = detail::prices_all_gpus(*request); !s) return s.error();
    const result<run_and_cost> priced = run_and_cost_of(request->stored, request->run, request->cost, request->job,
                                                        detail::plan_of_run(*planned, request->job), request->cluster);
    if (!priced) return priced.error();
    if (const maybe<checkpoint_bytes>& saved = priced->stored.checkpoint)
        judge_checkpoint(planned->plan, *saved, request->cluster);
    return job_answer{*request, *planned, assumptions_of(document, *request, planned->plan), document, *priced};
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

namespace detail {

/// Keeps a remedy with which the document, read anew, fits, and says whether it does.
inline bool keep_if_it_fits(document_remedy r, const nlohmann::json& document, const job_sources& sources,
                            std::vector<document_remedy>& helpful) {
    nlohmann::json changed = document;
    changed.merge_patch(r.patch);
    const result<job_answer> then = answer_job(changed, sources);
    if (!then || then->planned.verdict() != verdict::fits) return false;
    r.plan = then->planned.plan;
    helpful.push_back(std::move(r));
    return true;
}

/// Keeps what an engine and a trainer that share GPUs could leave to each other: an engine that sleeps while others
/// train, the largest part of each GPU for it that leaves enough, both, or a trainer that moves what it holds to main
/// memory while answers are generated.
inline void share_gpus(const nlohmann::json& document, const job_sources& sources, const rollout& r,
                       std::vector<document_remedy>& helpful) {
    if (r.own_gpus || r.uses_trained_weights) return;
    const nlohmann::json asleep = {{"rollout", {{"sleep", name_of(engine_sleep::level_2)}}}};
    const auto try_part = [&](const nlohmann::json& beside, std::string_view words) {
        const double now = r.engine.runtime.cache.fraction.value_or(0.0);
        for (int tenths = 9; tenths > 0; --tenths) {
            if (tenths >= 10 * now - 1e-9) continue;
            nlohmann::json patch = beside;
            patch["rollout"]["gpu_memory_utilization"] = tenths / 10.0;
            const std::string text = std::string{words} + "0." + std::to_string(tenths) + " of each GPU for the engine";
            if (keep_if_it_fits({.patch = patch, .text = text}, document, sources, helpful)) return;
        }
    };
    const bool can_sleep = r.sleep == engine_sleep::awake;
    const bool sleeping_fits =
        can_sleep && keep_if_it_fits({.patch = asleep, .text = "an engine that sleeps while others train"}, document,
                                     sources, helpful);
    try_part(nlohmann::json::object(), "");
    if (can_sleep && !sleeping_fits) try_part(asleep, "an engine that sleeps while others train, and ");
    if (r.trainer != trainer_sleep::all)
        keep_if_it_fits({.patch = {{"rollout", {{"trainer", name_of(trainer_sleep::all)}}}},
                         .text = "weights and states of what is trained in main memory while answers are generated"},
                        document, sources, helpful);
}

}  // namespace detail

inline std::vector<document_remedy> remedies_of(const nlohmann::json& document, const job_sources& sources,
                                                const job_answer& given) {
    std::vector<document_remedy> helpful;
    if (given.planned.verdict() == verdict::fits) return helpful;
    const plan_request& request = given.request;
    const layout_choice choice = layout_choice_of(request.layout);
    // 50 KB, for which threads with small stacks have no room. (std::make_unique would make them on the stack first.)
    const std::unique_ptr<const remedies> found(new remedies(
        what_would_help(request.job, given.planned.plan.layout, detail::cluster_of(given.planned, request), choice)));
    for (const remedy& r : *found) {
        nlohmann::json patch = nlohmann::json::object();
        for (const change& made : r) patch.merge_patch(detail::patch_of(made, document, request));
        detail::keep_if_it_fits({.what = r, .patch = std::move(patch)}, document, sources, helpful);
    }
    if (given.planned.phases) detail::share_gpus(document, sources, request.rollout->rollout, helpful);
    return helpful;
}

inline json_value to_json(const std::vector<document_remedy>& help) {
    json_value list = json_value::array();
    for (const document_remedy& r : help)
        list.push_back(detail::json_object({{"text", to_text(r)},
                                            {"patch", detail::same_json<json_value>(r.patch)},
                                            {"verdict", name_of(r.plan.verdict)},
                                            {"layout", to_json(r.plan.layout)},
                                            {"tokens_per_second", r.plan.speed.tokens_per_second.in(tokens_per_s)}}));
    return list;
}

inline json_value to_json(const job_answer& given, const std::vector<document_remedy>& help) {
    json_value answer = detail::json_object({{"schema", plan_schema}});
    answer.update(detail::requested_to_json(given.planned, given.request));
    add_to(answer, given.priced, given.request.stored, given.request.cost, given.request.job);
    const std::string launch = launch_command(given);
    answer["launch"] = launch.empty() ? json_value(nullptr) : json_value(launch);
    if (const auto unsaid = unsaid_by_launch(given); !unsaid.empty()) answer["launch_unsaid"] = unsaid;
    answer["assumed"] = given.assumed;
    answer["would_help"] = to_json(help);
    answer["document"] = detail::same_json<json_value>(given.document);
    return answer;
}

}  // namespace llmres::inline v0
