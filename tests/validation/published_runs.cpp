// SPDX-License-Identifier: MIT
// GPU hours that are published of whole trainings, beside those of a plan that has no more than the model, the tokens
// and the GPUs: the layout is the planner's where none is published, the runtime Megatron-Core. Published hours have
// downtime and everything else that was not a step; the plan's have none.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <map>
#include <string>

#include "../csv.hpp"

using namespace llmres;
using nlohmann::json;

namespace {

/// How a plan compares with what is published.
enum class outcome : std::uint8_t {
    within_15_percent,
    inside_bounds,
    too_few,   ///< even the upper bound is below what is published
    too_many,  ///< even the lower bound is above it
};

struct published_run {
    const char* name;  ///< as the table has it
    json document;
    outcome expected;
    const char* why = "";  ///< of those outside the bounds
};

json trained(const char* model, const char* gpu, int gpus, int sequence, int batch) {
    return {{"model", model},
            {"task", "pretraining"},
            {"sequence", sequence},
            {"global_batch", batch},
            {"cluster", {{"gpu", gpu}, {"gpus", gpus}}},
            {"runtime", "megatron"}};
}

/// Numbers of GPUs that are not published are round ones of that scale, on which batches of 4 million tokens (Llama 2)
/// and 16 million (Llama 3) divide.
std::array<published_run, 8> runs() {
    const char *a100 = "a100-sxm4-80gb", *h100 = "h100-sxm5-80gb";
    json deepseek = trained("deepseek-v3", "h800-sxm5-80gb", 2048, 4096, 15360);
    deepseek["recompute"] = "full";
    deepseek["mtp_layers"] = 1;
    deepseek["runtime"] = {{"name", "megatron"}, {"fp8_recipe", "blockwise"}};
    return {{{"Llama 3.1 8B", trained("llama-3.1-8b", h100, 1024, 8192, 2048), outcome::too_few,
              "1.46 million hours are 14 % of the GPUs' arithmetic: all stages and trials, not one pass over 15 T"},
             {"Llama 3.1 70B", trained("llama-3.1-70b", h100, 2048, 8192, 2048), outcome::inside_bounds},
             {"Llama 3.1 405B", trained("llama-3.1-405b", h100, 16384, 8192, 2048), outcome::within_15_percent},
             {"DeepSeek-V3", deepseek, outcome::too_many,
              "DualPipe hides the exchange of experts behind computing, which Megatron-Core's schedules do not"},
             {"Llama 2 7B", trained("llama-2-7b", a100, 256, 4096, 1024), outcome::inside_bounds},
             {"Llama 2 13B", trained("llama-2-13b", a100, 512, 4096, 1024), outcome::inside_bounds},
             {"Llama 2 70B", trained("llama-2-70b", a100, 2048, 4096, 1024), outcome::inside_bounds},
             {"LLaMA 65B", trained("llama-65b", a100, 2048, 2048, 2048), outcome::within_15_percent}}};
}

outcome outcome_of(const interval<double>& planned, double published) {
    if (planned.high < published) return outcome::too_few;
    if (planned.low > published) return outcome::too_many;
    const double off = planned.expected / published - 1;
    return off > -0.15 && off < 0.15 ? outcome::within_15_percent : outcome::inside_bounds;
}

}  // namespace

TEST_CASE("published GPU hours are within 15 % or inside the bounds, but of two runs that are named") {
    std::map<std::string, csv::row> rows;
    for (const csv::row& r : csv::read(LLMRES_SHARED_DATA "/train/published_runs.csv")) rows[r.at("model")] = r;
    if (rows.empty()) return;  // the table is not there
    CHECK(rows.size() == runs().size());
    for (published_run& run : runs()) {
        CAPTURE(run.name);
        const csv::row& row = rows.at(run.name);
        run.document["run"] = {{"tokens", std::stod(row.at("tokens"))}};
        const result<job_answer> answer = answer_job(run.document);
        REQUIRE(answer);
        CHECK(answer->planned.verdict() == verdict::fits);
        const interval<duration> time = answer->priced.run->gpu_time();
        const interval<double> hours_of_all{time.low.in(hours), time.expected.in(hours), time.high.in(hours)};
        CAPTURE(hours_of_all.low);
        CAPTURE(hours_of_all.expected);
        CAPTURE(hours_of_all.high);
        CHECK(static_cast<int>(outcome_of(hours_of_all, std::stod(row.at("gpu_hours")))) ==
              static_cast<int>(run.expected));
    }
}

TEST_CASE("LLaMA 65B trains 380 tokens a second on each GPU, as its paper says, within the bounds of a step") {
    // arXiv 2302.13971, section 2.4: 380 tokens a second a GPU on 2,048 A100, 1.4 T tokens in about 21 days.
    json document = trained("llama-65b", "a100-sxm4-80gb", 2048, 2048, 2048);
    document["run"] = {{"tokens", 1'400'000'000'000}};
    const result<job_answer> answer = answer_job(document);
    REQUIRE(answer);
    const training_time& t = *answer->priced.run;
    const auto rate = [&](duration d) { return static_cast<double>(t.trained.in(tokens)) / d.in(seconds) / 2048; };
    CHECK(rate(t.total.high) < 380);
    CHECK(rate(t.total.low) > 380);
    CHECK(t.total.low.in(hours) / 24 < 21);
    CHECK(t.total.high.in(hours) / 24 > 21);
}
