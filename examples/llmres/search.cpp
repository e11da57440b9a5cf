// SPDX-License-Identifier: MIT
// llmres search: the best layouts of a job, by an objective and within limits.
#include "command_line.hpp"
#include "commands.hpp"
#include "cost.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "search_phases.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/svg/tradeoff.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/to_string.hpp>
#include <span>
#include <string>
#include <vector>

namespace program {
namespace {

constexpr std::int64_t most_shown = 1000;

llmres::format_list formats(const std::string& flag, const std::vector<std::string>& names) {
    llmres::format_list found;
    if (names.size() > found.list.size())
        throw refusal{llmres::refused(llmres::error_code::out_of_range, flag, static_cast<std::int64_t>(names.size()),
                                      "at most four formats")};
    for (const std::string& name : names)
        found.list[static_cast<std::size_t>(found.count++)] = accept(llmres::find_precision(flag, name));
    return found;
}

/// The limits that flags set.
llmres::search_limits limits_of(const search_options& o) {
    refuse_negative("memory_margin", o.memory_margin);
    llmres::search_limits limits{.memory_margin = llmres::bytes(static_cast<std::int64_t>(o.memory_margin)),
                                 .one_node = o.one_node};
    limits.time_to_first_token = time_limit("max_time_to_first_token", o.max_time_to_first_token);
    limits.time_per_token = time_limit("max_time_per_token", o.max_time_per_token);
    return limits;
}

llmres::search_request request_of(const search_options& o, const nlohmann::json& document,
                                  const llmres::plan_request& request) {
    llmres::search_request r{.limits = limits_of(o)};
    if (request.cost) r.prices = *request.cost;
    if (!o.objective.empty()) r.objective = named<llmres::objective>("objective", o.objective);
    r.space.layouts = layouts_of(document, request);
    r.space.max_batch = o.max_batch;
    r.space.weights = formats("try_weights", o.weights);
    r.space.kv_cache = formats("try_kv_cache", o.kv_cache);
    for (const std::string& what : o.vary) {
        constexpr std::array<std::string_view, 3> parts{"micro_batch", "recompute", "offload"};
        const auto part = named<int>("vary", what, parts);
        (part == 0 ? r.space.micro_batch : part == 1 ? r.space.recompute : r.space.offload) = true;
    }
    return r;
}

/// Tells how far a search is.
struct progress_of_search {
    progress watch{};
    bool operator()(const llmres::search_counts& counts) {
        watch.tell([&] { return fmt::format("{} layouts planned, {} fit", counts.tried, counts.kept); });
        return true;
    }
};

/// What was chosen beside the layout, where it may be.
std::string choice_text(const llmres::found_layout& f, const llmres::job& j, const llmres::search_space& space) {
    const llmres::job chosen = llmres::with_choice(j, f.choice);
    std::string text;
    if (space.max_batch > 0) text += fmt::format(", batch {}", chosen.batch);
    if (space.weights.count > 0) text += fmt::format(", weights {}", weights_of(chosen).name.view());
    if (space.kv_cache.count > 0) text += fmt::format(", kv_cache {}", kv_cache_of(chosen).name.view());
    if (space.micro_batch) text += fmt::format(", micro_batch {}", chosen.micro_batch);
    if (space.recompute) text += fmt::format(", recompute {}", name_of(chosen.recompute));
    if (space.offload) {
        const bool optimizer = chosen.offload.optimizer == llmres::offload_place::host;
        const bool activations = chosen.offload.activations == llmres::offload_place::host;
        if (optimizer || activations)
            text += fmt::format(", {}{}{} on the host", optimizer ? "optimizer" : "",
                                optimizer && activations ? " and " : "", activations ? "activations" : "");
    }
    return text;
}

void print_layouts(std::span<const llmres::found_layout> list, std::span<const llmres::run_and_cost> priced,
                   const llmres::plan_request& request, const llmres::search_space& space) {
    const llmres::job& j = request.job;
    const bool serves = !trains(j), makes_tokens = !serves || generates(j.model);
    std::vector<table_row> rows;
    std::vector<column> columns{
        {"", true}, {"tokens/s", true}, {"first token", true}, {serves ? "a token" : "a step", true}, {"memory", true}};
    for (const std::string& head : heads_of_cost(request)) columns.push_back({head, true});
    columns.push_back({"layout"});
    for (const llmres::found_layout& found : list) {
        const llmres::job_plan& p = found.plan;
        rows.push_back({fmt::format("{}", rows.size() + 1),
                        fmt::format("{:.0f}", p.speed.tokens_per_second.in(llmres::tokens_per_s)),
                        serves ? to_string(p.speed.prefill.total().expected) : std::string{},
                        makes_tokens ? to_string(p.speed.step.total().expected) : "-",
                        to_string(p.memory.total().expected)});
        const table_row cost = cells_of_cost(request, priced[rows.size() - 1]);
        rows.back().insert(rows.back().end(), cost.begin(), cost.end());
        rows.back().push_back(to_text(p.layout) + choice_text(found, j, space));
    }
    print_table(columns, rows);
}

/// What was searched, and how many layouts fit.
void print_counts(const llmres::job& j, const llmres::cluster& c, const llmres::search_counts& counts,
                  llmres::objective by) {
    fmt::print("{}, {} on {} x {}, runtime {}: {} of {} layouts fit{}, best by {}\n\n", j.model.name.view(),
               task_text(j), c.gpus, c.gpu.name.view(), j.runtime.identity.name.view(), counts.kept + counts.too_slow,
               counts.tried, counts.too_slow > 0 ? fmt::format(", {} of them too slow", counts.too_slow) : "",
               name_of(by));
}

/// The layout nearest to fitting, where none fits, and why it does not.
void print_nearest(std::span<const llmres::found_layout> nearest, std::span<const llmres::run_and_cost> priced,
                   const llmres::plan_request& request, const llmres::search_space& space) {
    const llmres::job_plan& plan = nearest[0].plan;
    fmt::print("{}\n", plan.verdict == llmres::verdict::tight
                           ? "None fits at its upper bounds. The nearest, at what is expected:"
                           : "None fits. The nearest:");
    print_layouts(nearest, priced, request, space);
    print_reasons(plan, llmres::with_choice(request.job, nearest[0].choice), request.cluster);
}

/// What the document leaves unsaid, less what the search chooses.
llmres::json_value assumed_in(const nlohmann::json& document, const llmres::plan_request& request,
                              const llmres::search_space& space, const llmres::job_plan& best) {
    llmres::json_value assumed = llmres::assumptions_of(document, request, best);
    const auto chosen = [&](bool is_chosen, const char* key) {
        if (is_chosen) assumed.erase(key);
    };
    chosen(space.max_batch > 0, "batch");
    chosen(space.weights.count > 0, "weights");
    chosen(space.kv_cache.count > 0, "kv_cache");
    chosen(space.micro_batch, "micro_batch");
    chosen(space.recompute, "recompute");
    return assumed;
}

std::string title_of(const llmres::job& j, const llmres::cluster& c) {
    return fmt::format("{} on {} x {}", j.model.name.view(), c.gpus, c.gpu.name.view());
}

}  // namespace

void refuse_negative(const char* flag, double value) {
    if (!(value >= 0))
        throw refusal{llmres::refused(llmres::error_code::out_of_range, flag, fmt::format("{}", value), "0 or more")};
}

llmres::maybe<llmres::duration> time_limit(const char* flag, double limit) {
    refuse_negative(flag, limit);
    if (limit > 0) return llmres::approx(llmres::seconds(1)) * limit;
    return {};
}

llmres::layout_space layouts_of(const nlohmann::json& document, const llmres::plan_request& request) {
    llmres::layout_space space;
    if (!request.layout || !document.contains("layout")) return space;
    const nlohmann::json& fixed = document["layout"];
    space.given = *request.layout;
    if (!fixed.contains("data")) space.given.data = 1;
    space.tensor = !fixed.contains("tensor");
    space.pipeline = !fixed.contains("pipeline") && space.given.deals_evenly();
    space.virtual_pipeline = !fixed.contains("virtual_pipeline");
    space.data = !fixed.contains("data");
    space.context_parallel = !fixed.contains("context_parallel");
    space.expert = !fixed.contains("expert") && !fixed.contains("expert_tensor");
    space.zero = !fixed.contains("zero");
    space.sequence_parallel = !fixed.contains("sequence_parallel");
    return space;
}

nlohmann::json layout_patch(const llmres::layout& l) {
    nlohmann::json patch{{"layout", {{"tensor", l.tensor}}}};
    const llmres::json_value usual = llmres::to_json(llmres::layout{});
    const llmres::json_value found = llmres::to_json(l);
    for (const auto& [degree, value] : found.items())
        if ((!usual.contains(degree) || usual[degree] != value) && degree != "expert_tensor")
            patch["layout"][degree] = nlohmann::json::parse(value.dump());
    if (l.expert_tensor > 0 && l.expert_tensor != l.tensor) patch["layout"]["expert_tensor"] = l.expert_tensor;
    return patch;
}

/// Refuses so many layouts as nobody reads, and a picture of one objective.
void check_shown(const search_options& o) {
    if (o.top < 1 || o.top > most_shown)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "top", o.top, "1 to 1000")};
    if (!o.job.svg.empty() && o.against.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "against", "absent",
                                      "an objective, where --svg asks for a picture")};
}

/// Refuses to split GPUs between phases of a job that has one.
void refuse_pools(const search_options& o) {
    if (o.pools)
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "pools", "given",
                                      "task grpo, rloo, reinforce or ppo, whose engine may have GPUs of its own")};
}

int run_search(const search_options& o) {
    const nlohmann::json document = merged(o.job);
    llmres::plan_request request = accept(llmres::read_job(document, folder_of(document, o.job.source)));
    say_which_gpu(document);
    const llmres::job& j = request.job;
    const llmres::cluster& c = request.cluster;
    for (const std::string& by : {o.objective, o.against})
        if (by == name_of(llmres::objective::energy_per_token)) ask_for(request, llmres::objective::energy_per_token);
    const llmres::search_request r = request_of(o, document, request);
    check_shown(o);
    const auto against =
        o.against.empty() ? llmres::objective::throughput : named<llmres::objective>("against", o.against);

    if (request.rollout) return search_phases(o, document, request);
    refuse_pools(o);
    if (const llmres::status s = in_one_phase(request); !s) throw refusal{s.error()};

    std::vector<llmres::found_layout> best(static_cast<std::size_t>(o.top));
    std::vector<llmres::found_layout> front(o.against.empty() ? 0 : best.size());
    const llmres::search_counts counts = [&] {
        progress_of_search watch;
        return accept(llmres::search(j, c, r, best, front, against, watch));
    }();
    best.resize(counts.best);
    front.resize(counts.front);
    if (!o.job.svg.empty()) write_picture(o.job.svg, llmres::tradeoff_to_svg(front, j, against, title_of(j, c)));
    // Where none is left, the single best is the error or the nearest to fitting.
    if (best.empty()) best.push_back(accept(llmres::search(j, c, r)));
    const bool fits_somewhere = best[0].plan.verdict == llmres::verdict::fits;
    const llmres::json_value assumed = assumed_in(document, request, r.space, best[0].plan);
    if (o.job.json) {
        llmres::json_value answer{{"objective", name_of(r.objective)},
                                  {"job", llmres::to_json(j)},
                                  {"runtime", llmres::runtime_to_json(request)},
                                  {"cluster", llmres::to_json(c)},
                                  {"assumed", assumed},
                                  {"searched", llmres::to_json(counts)},
                                  {"best", accept(llmres::to_json(best, request))}};
        if (!o.against.empty()) answer["front"] = accept(llmres::to_json(front, request));
        print_answer("search", answer);
        return fits_somewhere ? fits : does_not_fit;
    }
    const std::vector<llmres::run_and_cost> priced = accept(runs_and_costs_of(best, request));
    const std::vector<llmres::run_and_cost> priced_front = accept(runs_and_costs_of(front, request));
    print_counts(j, c, counts, r.objective);
    const auto print_best = fits_somewhere ? print_layouts : print_nearest;
    print_best(best, priced, request, r.space);
    if (!o.against.empty()) {
        fmt::print("\nNo layout beats these both in throughput and in {}:\n", o.against);
        print_layouts(front, priced_front, request, r.space);
    }
    fmt::print("\n");
    print_profile(request.profile);
    print_assumed(assumed);
    const std::string launch = launch_command(llmres::with_choice(j, best[0].choice), best[0].plan.layout, c);
    if (!fits_somewhere)
        fmt::print("plan     {}\n", command_of(o.job, layout_patch(best[0].plan.layout)));
    else if (!launch.empty())
        fmt::print("launch   {}\n", launch);
    return fits_somewhere ? fits : does_not_fit;
}

}  // namespace program
