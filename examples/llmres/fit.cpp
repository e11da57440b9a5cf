// SPDX-License-Identifier: MIT
// llmres fit: which models a card runs, each in the best format that fits, and how fast.
#include "command_line.hpp"
#include "commands.hpp"
#include "report.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/to_string.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace program {
namespace {

/// A model that people run, by a name that the program takes, and what for.
struct listed_model {
    std::string_view name;
    std::string_view uses;
};

// clang-format off
/// Open models that Ollama's library and llama.cpp's `-hf` serve, as of November 2026, one of each size of a family.
/// `--all` lists every model of `llmres models` besides.
constexpr auto listed_models = std::to_array<listed_model>({
    {"qwen3-0.6b", "chat"}, {"qwen3-1.7b", "chat"}, {"qwen3-4b", "chat"}, {"qwen3-8b", "chat"}, {"qwen3-14b", "chat"},
    {"qwen3-32b", "chat"}, {"qwen3-30b-a3b", "chat"}, {"qwen3-235b-a22b", "chat"}, {"qwen3-next-80b-a3b", "chat"},
    {"Qwen/Qwen3.5-9B", "chat vision"}, {"qwen3.5-35b-a3b", "chat vision"}, {"qwen3.5-122b-a10b", "chat vision"},
    {"qwen3.5-397b-a17b", "chat vision"}, {"Qwen/Qwen3.6-27B", "chat code vision"}, {"Qwen/Qwen3.6-35B-A3B", "chat code vision"},
    {"Qwen/Qwen3-Coder-30B-A3B-Instruct", "code"}, {"qwen3-coder-480b-a35b", "code"}, {"qwen2.5-coder-32b", "code"},
    {"qwen3-vl-4b", "vision"}, {"qwen3-vl-8b", "vision"}, {"qwen3-vl-32b", "vision"},
    {"gemma-3-1b", "chat"}, {"gemma-3-4b", "chat vision"}, {"gemma-3-12b", "chat vision"}, {"gemma-3-27b", "chat vision"},
    {"google/gemma-4-E4B-it", "chat vision"}, {"gemma-4-26b-a4b", "chat vision"}, {"gemma-4-31b", "chat vision"},
    {"gpt-oss-20b", "chat"}, {"gpt-oss-120b", "chat"},
    {"llama-3.2-1b", "chat"}, {"llama-3.2-3b", "chat"}, {"llama-3.1-8b", "chat"}, {"llama-3.3-70b", "chat"},
    {"llama-4-scout", "chat vision"}, {"llama-4-maverick", "chat vision"},
    {"mistralai/Ministral-3-8B-Instruct-2512", "chat vision"}, {"mistral-nemo-12b", "chat"}, {"mistral-small-3.1-24b", "chat vision"},
    {"mistralai/Devstral-Small-2507", "code"}, {"phi-4", "chat"}, {"phi-4-mini", "chat"},
    {"deepseek-r1-distill-qwen-7b", "chat"}, {"deepseek-r1-distill-qwen-32b", "chat"}, {"deepseek-r1-distill-llama-70b", "chat"},
    {"deepseek-v3", "chat"}, {"deepseek-r1", "chat"}, {"glm-4.5-air", "chat code"}, {"glm-4.5", "chat code"},
    {"zai-org/GLM-4.7-Flash", "chat code"}, {"glm-5.2", "chat code"}, {"kimi-k2", "chat code"}, {"minimax-m2", "chat code"},
    {"granite-3.3-8b", "chat"}, {"granite-4.0-h-small", "chat"}, {"allenai/Olmo-3-7B-Instruct", "chat"}, {"olmo-2-32b", "chat"},
    {"nemotron-nano-9b-v2", "chat"}, {"nemotron-3-nano-30b-a3b", "chat"}, {"nemotron-3-super-120b-a12b", "chat"},
    {"lfm2-1.2b", "chat"}, {"smollm3-3b", "chat"}, {"step-3.5-flash", "chat"}, {"mimo-v2-flash", "chat code"},
    {"qwen3-embedding-0.6b", "embedding"}, {"Qwen/Qwen3-Embedding-4B", "embedding"}, {"Qwen/Qwen3-Embedding-8B", "embedding"},
});
// clang-format on

constexpr std::int64_t usual_context = 8192, usual_prompt = 1024, usual_output = 256;
constexpr std::array<std::string_view, 4> uses{"chat", "code", "vision", "embedding"};
constexpr std::array<std::string_view, 3> fit_orders{"parameters", "throughput", "memory"};

/// A model in the widest format that fits.
struct fitting {
    plan_options asked;
    std::string format;
    std::optional<llmres::job_answer> answer{};

    const llmres::job_plan& plan() const { return answer->planned.plan; }
    const llmres::model& model() const { return answer->request.job.model; }
    double parameters() const { return static_cast<double>(count_parameters(model()).in(llmres::parameters)); }
    double key(std::size_t order) const {
        const std::array keys{-parameters(), -plan().speed.tokens_per_second.in(llmres::tokens_per_s),
                              -static_cast<double>(plan().memory.total().expected.in(llmres::bytes))};
        return keys[order];
    }
};

/// Models that are asked about, by the names that the program takes.
std::vector<std::string> names_of_models(const fit_options& o) {
    std::vector<std::string> names;
    for (const listed_model& m : listed_models)
        if (o.use.empty() ? m.uses != "embedding" : m.uses.find(o.use) != std::string_view::npos)
            names.emplace_back(m.name);
    if (!o.all) return names;
    for (const llmres::model* m : llmres::models::all)
        if (std::find(names.begin(), names.end(), m->name.view()) == names.end()) names.emplace_back(m->name.view());
    return names;
}

/// Whether an engine runs GGUF files unless told otherwise.
bool reads_gguf(const llmres::runtime& r) { return llmres::has_key(r, "gpu_layers"); }

/// What came of asking for plans that fit: whether one was made at all, and why the first was refused.
struct attempts {
    bool planned = false;
    llmres::error refusal{};
};

/// The widest format in which a model fits; nothing where none surely does, or the engine runs the model in none.
std::optional<fitting> widest_format(const fit_options& o, const std::string& name, const llmres::runtime& r,
                                     attempts& made) {
    const llmres::result<llmres::model_source> source = llmres::find_model_source(name);
    if (!source || source->model.head.kind == llmres::head_kind::encoder) return std::nullopt;
    const llmres::model& model = source->model;
    fitting f{o.job, {}};
    f.asked.source = name;
    // Times are of a usual prompt, and memory is of the whole context.
    const std::int64_t longest = model.max_context.in(llmres::tokens);
    f.asked.fields.try_emplace("context",
                               std::to_string(longest > 0 ? std::min(usual_context, longest) : usual_context));
    const bool is_asked = o.job.fields.contains("prompt") || o.job.fields.contains("output");
    if (generates(model) && !is_asked && (longest == 0 || longest >= usual_prompt + usual_output)) {
        f.asked.fields["prompt"] = std::to_string(usual_prompt);
        f.asked.fields["output"] = std::to_string(usual_output);
    }
    // GGUF files of 8-bit models are made in every mix; of MXFP4 and the like as published.
    const bool has_mixes = reads_gguf(r) && llmres::family_of(model.weights) == llmres::format_family::eight_bit_float;
    const bool as_published = o.job.fields.contains("weights") || (!is_wide(model.weights) && !has_mixes);
    const std::vector<std::string_view> formats =
        as_published ? std::vector<std::string_view>{""} : published_formats(r);
    for (const std::string_view format : formats) {
        if (!format.empty()) f.asked.fields["weights"] = std::string{format};
        const llmres::result<llmres::job_answer> answer = llmres::answer_job(merged(f.asked), llmres::job_sources{});
        if (!answer && made.refusal.code == llmres::error_code::none) made.refusal = answer.error();
        made.planned = made.planned || answer;
        if (!answer || answer->planned.verdict() != llmres::verdict::fits) continue;
        f.answer = *answer;
        return f;
    }
    return std::nullopt;
}

std::string format_of(const fitting& f) {
    const llmres::job& j = f.answer->request.job;
    return j.gguf ? llmres::mix_name(*j.gguf) : std::string{weights_of(j).name.view()};
}

llmres::maybe<llmres::token_count> longest_context(const fitting& f) {
    return limits_of(f.answer->request.job, f.plan().layout, f.answer->request.cluster).max_context;
}

llmres::json_value to_json(const fitting& f) {
    const llmres::maybe<llmres::token_count> longest = longest_context(f);
    return {{"model", f.asked.source},
            {"parameters", count_parameters(f.model()).in(llmres::parameters)},
            {"weights", format_of(f)},
            {"memory", f.plan().memory.total().expected.in(llmres::bytes)},
            {"max_context", longest ? llmres::json_value(longest->in(llmres::tokens)) : llmres::json_value{}},
            {"time_to_first_token", f.plan().speed.prefill.total().expected.in(llmres::seconds)},
            {"tokens_per_second", f.plan().speed.tokens_per_second.in(llmres::tokens_per_s)},
            {"command", command_of(f.asked, nlohmann::json::object())}};
}

void print_fitting(const std::vector<fitting>& all) {
    std::vector<table_row> rows;
    for (const fitting& f : all) {
        const llmres::maybe<llmres::token_count> longest = longest_context(f);
        rows.push_back({f.asked.source, to_string(count_parameters(f.model())), format_of(f),
                        to_string(f.plan().memory.total().expected),
                        longest ? fmt::format("{}", longest->in(llmres::tokens)) : std::string{"-"},
                        to_string(f.plan().speed.prefill.total().expected),
                        fmt::format("{:.0f}", f.plan().speed.tokens_per_second.in(llmres::tokens_per_s))});
    }
    print_table({{"model"},
                 {"parameters", true},
                 {"format"},
                 {"memory", true},
                 {"longest context", true},
                 {"first token", true},
                 {"tokens/s", true}},
                rows);
}

/// Refuses what the list says nothing of: training, heads, prices, and what is saved and loaded.
void refuse_unanswered(const plan_options& asked) {
    const auto refuse = [&](const std::string& name, const std::string& expected) {
        throw refusal{
            llmres::refused(llmres::error_code::unsupported, name, asked.fields.find(name)->second, expected)};
    };
    if (const auto head = asked.fields.find("head"); head != asked.fields.end())
        refuse("head", head->second == "embedding"
                           ? "absent: --use embedding lists the models that embed"
                           : "absent: models that classify or score are not listed; llmres compare takes their names");
    if (asked.fields.contains("preference"))
        refuse("preference", "absent: models are served; llmres compare MODEL,MODEL says which ones a card trains");
    if (const auto task = asked.fields.find("task"); task != asked.fields.end() && task->second != "serving")
        refuse("task", "serving: which models a card trains, llmres compare MODEL,MODEL says");
    for (const llmres::job_field& f : llmres::job_fields) {
        const std::string flag{llmres::flag_of(f)};
        if (!asked.fields.contains(flag)) continue;
        if (f.object == "cost") refuse(flag, "absent: llmres plan, compare and buy say what a token costs");
        if (f.object == "storage" || f.object == "checkpoint" || f.object == "run")
            refuse(flag, "absent: llmres plan says what is loaded, saved and trained");
    }
}

/// Lengths that nobody named, in words.
std::string assumed_lengths(const plan_options& asked, const std::string& use) {
    std::vector<std::string> assumed;
    if (!asked.fields.contains("context"))
        assumed.push_back(fmt::format("context {}, or the model's own", usual_context));
    if (use == "embedding")
        assumed.emplace_back("times of a text that fills it");
    else if (!asked.fields.contains("prompt") && !asked.fields.contains("output"))
        assumed.push_back(fmt::format("times of {} tokens read and {} written", usual_prompt, usual_output));
    return assumed.empty() ? "nothing" : fmt::format("{}", fmt::join(assumed, "; "));
}

}  // namespace

std::vector<std::string_view> published_formats(const llmres::runtime& r) {
    if (reads_gguf(r)) return {"f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k"};
    if (r.identity.name == "mlx") return {"", "mlx_int8_g64", "mlx_int4_g64"};
    return {"", "fp8_e4m3", "awq_int4_g128"};
}

int run_fit(const fit_options& asked) {
    fit_options o = asked;
    const std::size_t order = o.sort.empty() ? 0 : named<std::size_t>("sort", o.sort, fit_orders);
    if (!o.use.empty()) named<std::size_t>("use", o.use, uses);
    if (!o.use.empty() && o.all)
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "use", o.use,
                                      "absent beside --all: only models that people run today have uses")};
    if (o.top < 0) throw refusal{llmres::refused(llmres::error_code::out_of_range, "top", o.top, "0 (all) or more")};
    if (!o.job.fields.contains("gpu") && !o.job.fields.contains("device") && !o.job.fields.contains("gpu_memory"))
        throw refusal{llmres::refused(llmres::error_code::missing, "gpu", "absent",
                                      "a GPU: llmres fit 3060, or llmres fit auto")};
    refuse_unanswered(o.job);
    o.job.fields.try_emplace("runtime", "llama.cpp");
    std::vector<fitting> all;
    // What is wrong with the card or the engine is wrong for every model: the first says it.
    plan_options first = o.job;
    for (const char* of_model : {"context", "prompt", "output", "weights", "kv_cache"}) first.fields.erase(of_model);
    first.source = std::string{listed_models.front().name};
    const llmres::job_answer any = accept(llmres::answer_job(merged(first), llmres::job_sources{}));
    say_which_gpu(merged(first));
    const std::vector<std::string> names = names_of_models(o);
    attempts made;
    for (const std::string& name : names)
        if (const auto found = widest_format(o, name, any.request.job.runtime, made)) all.push_back(*found);
    if (!made.planned) throw refusal{made.refusal};
    const std::size_t of_all = all.size();
    std::sort(all.begin(), all.end(), [&](const fitting& a, const fitting& b) {
        return std::tuple{a.key(order), a.asked.source} < std::tuple{b.key(order), b.asked.source};
    });
    if (o.top > 0 && all.size() > static_cast<std::size_t>(o.top)) all.erase(all.begin() + o.top, all.end());
    const llmres::cluster& cluster = any.request.cluster;
    if (o.job.json) {
        llmres::json_value answer{{"sort", fit_orders[order]},
                                  {"cluster", llmres::to_json(cluster)},
                                  {"runtime", llmres::runtime_to_json(any.request)},
                                  {"models", names.size()},
                                  {"fitting", of_all},
                                  {"rows", llmres::json_value::array()}};
        for (const fitting& f : all) answer["rows"].push_back(to_json(f));
        print_answer("fit", answer);
        return of_all > 0 ? fits : does_not_fit;
    }
    fmt::print("{} of {} models fit on {} x {} under {}: {} shown, each in the widest format, by {}\n\n", of_all,
               names.size(), cluster.gpus, cluster.gpu.name.view(), any.request.job.runtime.identity.name.view(),
               all.size(), fit_orders[order]);
    if (all.empty()) return does_not_fit;
    print_fitting(all);
    fmt::print("\nassumed  {}\n", assumed_lengths(o.job, o.use));
    fmt::print("first    {}\n", command_of(all.front().asked, nlohmann::json::object()));
    return fits;
}

}  // namespace program
