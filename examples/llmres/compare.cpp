// SPDX-License-Identifier: MIT
// llmres compare: many plans at once, as a table: models, GPUs, engines, formats, lengths.
#include "command_line.hpp"
#include "commands.hpp"
#include "cost.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "spelling.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace program {
namespace {

constexpr std::size_t most_plans = 2'000;

/// What a table can be sorted by, in the order of row::key(); `given` is not sorted.
constexpr std::array<std::string_view, 11> orders{
    "throughput", "throughput_per_gpu", "time_to_first_token", "time_per_token", "time_per_step", "memory", "room",
    "usable",     "cost_per_token",     "energy_per_token",    "given"};

/// What may differ between the plans: a flag, whose values stand between commas.
struct axis {
    std::string flag;
    std::vector<std::string> values;
};

/// The flags that take several values.
constexpr std::array<std::string_view, 13> axis_flags{"task",    "preference", "reference",  "adapter_kind", "gpu",
                                                      "gpus",    "runtime",    "weights",    "kv_cache",     "batch",
                                                      "context", "sequence",   "micro_batch"};

/// A plan of the table, or why there is none.
struct row {
    plan_options asked;
    std::vector<std::string> values;  ///< what was asked for on each axis
    llmres::result<llmres::job_answer> answer;
    std::size_t place = 0;  ///< in the order in which plans were asked for

    bool refused() const { return !answer; }
    const llmres::requested_plan& planned() const { return answer->planned; }
    const llmres::job_plan& plan() const { return planned().plan; }
    /// Memory of the busiest GPU that the plan can use; of phases all that is free there.
    llmres::byte_count usable() const {
        const auto& phases = planned().phases;
        return phases ? available_memory(llmres::detail::cluster_of(phases->worst(), answer->request)) : plan().usable;
    }
    /// The runtime does not start on the GPU.
    bool cannot_start() const {
        return llmres::device_start_of(answer->request.job, answer->request.cluster.gpu).support ==
               llmres::device_support::absent;
    }
    bool trains() const { return llmres::trains(answer->request.job); }
    bool runs() const { return answer && planned().verdict() != llmres::verdict::does_not_fit; }
    /// 0 fits, 1 tight, 2 does not fit.
    std::size_t standing() const { return static_cast<std::size_t>(planned().verdict()); }
    /// The plan that prices and energy follow from: of phases all of them.
    llmres::job_plan priced_plan() const { return llmres::detail::plan_of_run(planned(), answer->request.job); }
    /// What a token costs by an objective of `search`; zero where that has no figure.
    double token_cost(llmres::objective by) const {
        const llmres::plan_request& r = answer->request;
        const llmres::tariff prices = r.cost.value_or({});
        if (!llmres::detail::validate_objective(by, r.job, r.cluster, prices)) return 0;
        return llmres::detail::score_of(by, priced_plan(), r.cluster, prices);
    }
    /// What the row is sorted by, least first.
    double key(std::size_t order) const {
        const double per_second = planned().tokens_per_second().in(llmres::tokens_per_s);
        const double step = planned().step().expected.in(llmres::seconds);
        const double held = static_cast<double>(planned().memory().expected.in(llmres::bytes));
        const double room = static_cast<double>(usable().in(llmres::bytes)) - held;
        const std::array keys{-per_second,
                              -per_second / static_cast<double>(plan().layout.gpus()),
                              plan().speed.prefill.total().expected.in(llmres::seconds),
                              step,
                              step,
                              held,
                              -room,
                              room + held,
                              token_cost(llmres::objective::cost_per_token),
                              token_cost(llmres::objective::energy_per_token)};
        // What does not fit has no speed: the nearest to fitting comes first.
        return runs() ? keys[order] : -room;
    }
};

/// The values between commas, without the blanks around them.
std::vector<std::string> parted(const std::string& flag, const std::string& text) {
    std::vector<std::string> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::string value = text.substr(begin, end - begin);
        value.erase(0, value.find_first_not_of(' '));
        value.erase(value.find_last_not_of(' ') + 1);
        if (value.empty())
            throw refusal{
                llmres::refused(llmres::error_code::malformed, flag, text, "values with one comma between two")};
        values.push_back(value);
        begin = end + 1;
    }
    return values;
}

/// The models that are asked for: a path may hold a comma, a name does not.
std::vector<std::string> models_of(const std::vector<std::string>& typed) {
    std::vector<std::string> all;
    for (const std::string& word : typed) {
        std::error_code failed;
        const bool one = word.empty() || word == "-" || std::filesystem::exists(word, failed);
        for (const std::string& model : one ? std::vector{word} : parted("model", word)) all.push_back(model);
    }
    return all;
}

/// Whether plans are asked for on every GPU there is.
bool names_any_gpu(const plan_options& asked) {
    const auto given = asked.fields.find("gpu");
    return given != asked.fields.end() && given->second == "any";
}

/// Adds what a token of a plan takes to its answer.
void ask_for_energy(row& r) {
    llmres::plan_request& asked = r.answer->request;
    ask_for(asked, llmres::objective::energy_per_token);
    if (const llmres::status s = llmres::detail::prices_all_gpus(asked); !s) throw refusal{s.error()};
    r.answer->priced =
        accept(run_and_cost_of(asked.stored, asked.run, asked.cost, asked.job, r.priced_plan(), asked.cluster));
}

/// The formats that `--weights any` stands for: GGUF mixes where an engine reads them unless told otherwise, and those
/// of checkpoints where another does.
std::vector<std::string> formats_of_engines(const plan_options& asked) {
    const auto named = asked.fields.find("runtime");
    std::vector<std::string> formats;
    for (const std::string& runtime :
         named == asked.fields.end() ? std::vector<std::string>{"none"} : parted("runtime", named->second)) {
        const llmres::runtime engine = accept(llmres::find_runtime(runtime));
        for (const std::string_view format : published_formats(engine))
            if (const std::string name{format.empty() ? "bf16" : format};
                std::find(formats.begin(), formats.end(), name) == formats.end())
                formats.push_back(name);
    }
    return formats;
}

/// What differs between the plans. `--weights any` stands for published formats, `--gpu any` stands for every GPU of
/// `llmres gpus` that the runtime starts on.
std::vector<axis> axes_of(const compare_options& o) {
    std::vector<axis> axes{{"model", models_of(o.models)}};
    for (const std::string_view flag : axis_flags) {
        const auto given = o.job.fields.find(std::string{flag});
        if (given == o.job.fields.end()) continue;
        axis a{std::string{flag}, {}};
        if (flag == "gpu" && names_any_gpu(o.job))
            for (const llmres::gpu* card : llmres::gpus::all) a.values.emplace_back(card->id.view());
        else if (flag == "weights" && given->second == "any")
            a.values = formats_of_engines(o.job);
        else
            a.values = parted(a.flag, given->second);
        axes.push_back(std::move(a));
    }
    return axes;
}

std::size_t count_of(const std::vector<axis>& axes) {
    std::size_t all = 1;
    for (const axis& a : axes) {
        all *= a.values.size();
        if (all > most_plans)
            throw refusal{
                llmres::refused(llmres::error_code::out_of_range, "plans", "more", "at most 2,000 of them at once")};
    }
    return all;
}

/// Sets a flag; of a task those that the word stands for: `--task dpo` is finetuning by dpo.
void set_field(plan_options& asked, const std::string& flag, const std::string& value) {
    if (flag != "task") return void(asked.fields[flag] = value);
    std::vector<std::string> notes;
    for (const std::string& own : own_spelling({fmt::format("--{}={}", flag, value)}, {}, notes)) {
        const std::size_t equals = std::min(own.find('='), own.size());
        if (own.starts_with("--") && equals < own.size())
            asked.fields[own.substr(2, equals - 2)] = own.substr(equals + 1);
    }
}

/// What is asked for at one place of the product of all axes; the last axis changes fastest.
row asked_at(std::size_t place, const std::vector<axis>& axes, const plan_options& shared) {
    row r{shared, std::vector<std::string>(axes.size()), llmres::error{}, place};
    for (std::size_t i = axes.size(); i-- > 0;) {
        r.values[i] = axes[i].values[place % axes[i].values.size()];
        place /= axes[i].values.size();
        if (axes[i].flag == "model")
            r.asked.source = r.values[i];
        else
            set_field(r.asked, axes[i].flag, r.values[i]);
    }
    return r;
}

/// Whether an error is one of writing, which no other combination would mend.
bool is_misspelt(llmres::error_code code) {
    using enum llmres::error_code;
    return code == unknown || code == malformed || code == io;
}

/// All rows: those with a plan, and those that are refused (a format that the engine does not load).
struct compared {
    std::vector<row> planned{};
    std::vector<row> refused{};
};

compared compare(const std::vector<axis>& axes, const plan_options& shared) {
    const std::size_t all = count_of(axes);
    const nlohmann::json first = merged(asked_at(0, axes, shared).asked);
    const std::string& source = axes[0].values.front();
    if (is_job(first, source) && axes[0].values.size() > 1)
        throw refusal{
            llmres::refused(llmres::error_code::inconsistent, "model", source, "one job document, or models alone")};
    const llmres::job_sources sources = llmres::remembered(llmres::sources_in(folder_of(first, source)));
    for (const axis& a : axes)
        if (a.flag == "gpu")
            std::for_each(a.values.begin(), a.values.end(), [](const auto& name) { say_which_gpu(name); });
    compared all_rows;
    const bool any_gpu = names_any_gpu(shared);
    progress watch;
    for (std::size_t i = 0; i < all; ++i) {
        watch.tell([&] { return fmt::format("{} {} of {} plans", progress_bar(i, all), i, all); });
        row r = asked_at(i, axes, shared);
        r.answer = llmres::answer_job(merged(r.asked), sources);
        if (r.refused() && is_misspelt(r.answer.error().code)) throw refusal{r.answer.error()};
        if (any_gpu && !r.refused() && r.cannot_start()) continue;
        (r.refused() ? all_rows.refused : all_rows.planned).push_back(std::move(r));
    }
    return all_rows;
}

/// What a plan was asked with on an axis, in the program's own names.
std::string value_of_axis(const row& r, const axis& a, std::size_t index) {
    if (r.refused()) return r.values[index];
    if (a.flag == "gpu") return std::string{r.answer->request.cluster.gpu.id.view()};
    if (a.flag == "model") return std::string{r.answer->request.job.model.name.view()};
    return r.values[index];
}

/// The rows as a table: a column for each axis with more than one value.
void print_rows(const std::vector<row>& rows, const std::vector<axis>& axes) {
    std::vector<column> columns;
    std::vector<std::size_t> varied;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].values.size() < 2) continue;
        varied.push_back(i);
        const std::string_view& first = axes[i].values.front();
        columns.push_back({axes[i].flag, first.find_first_not_of("0123456789") == std::string_view::npos});
    }
    const bool serves = std::any_of(rows.begin(), rows.end(), [](const row& r) { return !r.trains(); });
    const bool trained = std::any_of(rows.begin(), rows.end(), [](const row& r) { return r.trains(); });
    columns.insert(columns.end(), {{"verdict"},
                                   {"memory", true},
                                   {"usable", true},
                                   {"tokens/s", true},
                                   {serves ? "first token" : "", true},
                                   {trained && serves ? "a token or step"
                                    : trained         ? "a step"
                                                      : "a token",
                                    true}});
    const std::vector<std::string> heads =
        rows.empty() ? std::vector<std::string>{} : heads_of_cost(rows.front().answer->request);
    for (const std::string& head : heads) columns.push_back({head, true});
    columns.push_back({"layout"});
    std::vector<table_row> table;
    for (const row& r : rows) {
        table_row cells;
        for (const std::size_t i : varied) cells.push_back(value_of_axis(r, axes[i], i));
        const llmres::job_plan& p = r.plan();
        const bool makes_tokens = r.trains() || generates(r.answer->request.job.model);
        const auto if_it_runs = [&](const std::string& text) { return r.runs() ? text : std::string{"-"}; };
        cells.insert(cells.end(),
                     {std::string{name_of(r.planned().verdict())}, to_string(r.planned().memory().expected),
                      to_string(r.usable()),
                      if_it_runs(fmt::format("{:.0f}", r.planned().tokens_per_second().in(llmres::tokens_per_s))),
                      r.trains() ? std::string{} : if_it_runs(to_string(p.speed.prefill.total().expected)),
                      makes_tokens ? if_it_runs(to_string(r.planned().step().expected)) : "-"});
        const llmres::plan_request& asked = r.answer->request;
        std::vector<std::string> cost = cells_of_cost(asked, r.answer->priced);
        cost.resize(heads.size());
        for (const std::string& text : cost) cells.push_back(if_it_runs(text));
        cells.push_back(to_text(p.layout));
        table.push_back(std::move(cells));
    }
    print_table(columns, table);
}

/// Why plans were refused, each reason once, with how many it concerns and the first of them.
void print_refused(const std::vector<row>& rows, const std::vector<axis>& axes) {
    std::vector<std::pair<std::string, std::vector<const row*>>> reasons;
    for (const row& r : rows) {
        if (!r.refused()) continue;
        const std::string why = llmres::to_text(r.answer.error());
        const auto known =
            std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) { return reason.first == why; });
        if (known == reasons.end())
            reasons.push_back({why, {&r}});
        else
            known->second.push_back(&r);
    }
    if (!reasons.empty()) fmt::print("\nrefused:\n");
    for (const auto& [why, which] : reasons) {
        std::string first;
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (axes[i].values.size() > 1) first += (first.empty() ? "" : ", ") + which.front()->values[i];
        fmt::print("  {}{}: {}\n", plain(first), which.size() > 1 ? fmt::format(" and {} more", which.size() - 1) : "",
                   plain(why));
    }
}

/// What no plan was told, and all of them assume alike.
llmres::json_value assumed_by_all(const std::vector<row>& rows) {
    llmres::json_value shared = rows.front().answer->assumed;
    for (const row& r : rows)
        for (auto item = shared.begin(); item != shared.end();)
            item = r.answer->assumed.contains(item.key()) && r.answer->assumed[item.key()] == item.value()
                       ? std::next(item)
                       : shared.erase(item);
    return shared;
}

llmres::json_value to_json(const row& r, const std::vector<axis>& axes) {
    llmres::json_value out = llmres::json_value::object();
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i].flag] = value_of_axis(r, axes[i], i);
    out["command"] = command_of(r.asked, nlohmann::json::object());
    if (r.refused()) {
        out["verdict"] = nullptr;
        out["error"] = llmres::to_text(r.answer.error());
        return out;
    }
    const llmres::plan_request& request = r.answer->request;
    // Of a layout that was found, as of those of `llmres search`.
    out.update(llmres::to_json(llmres::found_layout{.plan = r.plan()}, request.job, request.cluster));
    add_to(out, r.answer->priced, request.stored, request.cost, request.job);
    if (r.planned().phases) out["reinforcement"] = llmres::to_json(*r.planned().phases, *request.rollout);
    out["verdict"] = name_of(r.planned().verdict());
    out["profile"] = llmres::runtime_to_json(request);
    out["assumed"] = r.answer->assumed;
    return out;
}

/// What all plans share, in words: "llama-3.1-8b, serving, gpu h100-sxm5-80gb, runtime vllm".
std::string shared_text(const row& r, const std::vector<axis>& axes) {
    const auto names_task = [](const axis& a) { return a.flag == "task" || a.flag == "preference"; };
    const bool alike =
        std::none_of(axes.begin(), axes.end(), [&](const axis& a) { return names_task(a) && a.values.size() > 1; });
    std::string text = alike                           ? task_text(r.answer->request.job)
                       : trains(r.answer->request.job) ? "training"
                                                       : "serving";
    for (std::size_t i = axes.size(); i-- > 0;)
        if (axes[i].values.size() == 1 && !names_task(axes[i]))
            text = axes[i].flag == "model" ? fmt::format("{}, {}", value_of_axis(r, axes[i], i), text)
                                           : fmt::format("{}, {} {}", text, axes[i].flag, value_of_axis(r, axes[i], i));
    return text;
}

void print_text(const std::vector<row>& rows, const std::vector<row>& refused_rows, const std::vector<axis>& axes,
                const std::string& order, std::size_t of_all) {
    fmt::print("{}: {} of {} shown, by {}\n\n", plain(shared_text(rows.front(), axes)), rows.size(), of_all, order);
    print_rows(rows, axes);
    print_refused(refused_rows, axes);
    fmt::print("\n");
    std::vector<llmres::runtime_identity> told;
    for (const row& r : rows) {
        const llmres::runtime_profile& profile = r.answer->request.profile;
        if (std::find(told.begin(), told.end(), profile.runtime.identity) != told.end()) continue;
        told.push_back(profile.runtime.identity);
        print_profile(profile);
    }
    print_assumed(assumed_by_all(rows));
    fmt::print("first    {}\n", command_of(rows.front().asked, nlohmann::json::object()));
}

}  // namespace

int run_compare(const compare_options& o) {
    const auto order = o.sort.empty() ? std::size_t{0} : named<std::size_t>("sort", o.sort, orders);
    if (o.top < 0) throw refusal{llmres::refused(llmres::error_code::out_of_range, "top", o.top, "0 (all) or more")};
    const std::vector<axis> axes = axes_of(o);
    auto [rows, refused_rows] = compare(axes, o.job);
    if (rows.empty() && refused_rows.empty())
        throw refusal{
            llmres::refused(llmres::error_code::unsupported, "gpu", "any", "a GPU that the runtime starts on")};
    if (rows.empty()) throw refusal{refused_rows.front().answer.error()};
    for (const auto by : {llmres::objective::cost_per_token, llmres::objective::energy_per_token})
        if (orders[order] == name_of(by))
            for (const row& r : rows) {
                const llmres::plan_request& asked = r.answer->request;
                if (const auto s =
                        llmres::detail::validate_objective(by, asked.job, asked.cluster, asked.cost.value_or({}));
                    !s)
                    throw refusal{s.error()};
            }
    const bool any_runs = std::any_of(rows.begin(), rows.end(), [](const row& r) { return r.runs(); });
    const std::size_t of_all = rows.size() + refused_rows.size();
    if (orders[order] == name_of(llmres::objective::energy_per_token))
        for (row& r : rows) ask_for_energy(r);
    if (orders[order] != "given")
        std::sort(rows.begin(), rows.end(), [&](const row& a, const row& b) {
            return std::tuple{a.standing(), a.key(order), a.place} < std::tuple{b.standing(), b.key(order), b.place};
        });
    if (o.fits && any_runs) std::erase_if(rows, [](const row& r) { return !r.runs(); });
    if (o.top > 0 && rows.size() > static_cast<std::size_t>(o.top)) rows.erase(rows.begin() + o.top, rows.end());
    if (o.job.json) {
        llmres::json_value answer{{"sort", orders[order]}, {"plans", of_all}};
        for (const auto& [name, list] : {std::pair{"rows", &rows}, std::pair{"refused", &refused_rows}}) {
            answer[name] = llmres::json_value::array();
            for (const row& r : *list) answer[name].push_back(to_json(r, axes));
        }
        print_answer("compare", answer);
    } else {
        print_text(rows, refused_rows, axes, std::string{orders[order]}, of_all);
    }
    return any_runs ? fits : does_not_fit;
}

}  // namespace program
