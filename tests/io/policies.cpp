// SPDX-License-Identifier: MIT
// Policies that learn from rollouts: what their documents say of the engine, and how their phases are answered.
#include <llmres/io/plan_json.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <llmres/plan.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../job_documents.hpp"

using namespace job_documents;

namespace {

/// A policy of half a billion parameters on two GPUs, in a layout that is given.
json policy(const json& more = json::object()) {
    json document{{"model", "qwen2.5-0.5b"},
                  {"task", "grpo"},
                  {"micro_batch", 2},
                  {"global_batch", 16},
                  {"layout", {{"data", 2}, {"zero", 3}}},
                  {"rollout", {{"prompt", 64}, {"output", 64}}},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 2}}}};
    document.merge_patch(more);
    return document;
}

plan_request asked(const json& more = json::object()) { return answered(read_job(policy(more))); }

}  // namespace

// ---- documents

TEST_CASE("answers are learned from, unless a document says of how many tokens") {
    CHECK(asked().job.scored == tokens(64));
    CHECK(asked({{"rollout", {{"output", 200}}}}).job.scored == tokens(200));
}

TEST_CASE("the engine's profile is told beside the policy's, and a critic has no reference") {
    CHECK(asked().rollout->profile.runtime.identity.name == "vllm");
    CHECK(asked({{"rollout", {{"engine", "sglang"}}}}).rollout->profile.runtime.identity.name == "sglang");
    const plan_request by_ppo = asked({{"task", "ppo"}, {"reference", "loaded"}});
    CHECK(by_ppo.job.reference == reference_model::loaded);
    REQUIRE(by_ppo.rollout->critic);
    CHECK(by_ppo.rollout->critic->reference == reference_model::by_method);
}

TEST_CASE("the trainer's own model is gathered to generate where DeepSpeed shards its weights, and nowhere else") {
    const auto gathers = [](const char* software, int zero) {
        return asked({{"runtime", software}, {"layout", {{"zero", zero}}}}).rollout->rollout.gathers_weights;
    };
    CHECK(gathers("trl+deepspeed", 3));
    CHECK_FALSE(gathers("trl+deepspeed", 2));
    CHECK_FALSE(gathers("trl", 3));
    CHECK_FALSE(
        asked({{"runtime", "trl+deepspeed"}, {"rollout", {{"engine", "vllm"}}}}).rollout->rollout.gathers_weights);
    json no_layout = policy({{"runtime", "trl+deepspeed"}});
    no_layout.erase("layout");
    CHECK_FALSE(answered(read_job(no_layout)).rollout->rollout.gathers_weights);
}

TEST_CASE("rollouts of a task that has none are refused with what is first given of them") {
    const auto refusal = [](const json& rollout) {
        json document = policy({{"task", "dpo"}});
        document["rollout"] = rollout;
        return read_job(document).error();
    };
    CHECK(refusal({{"output", 8}}).field == "rollout.output");
    CHECK(refusal({{"output", 8}}).value == "8");
    CHECK(refusal(3).field == "rollout");
    CHECK(refusal(3).value == "3");
    CHECK(refusal(json::object()).field == "rollout");
    CHECK(read_job(policy({{"runtime", "axolotl"}})).error().field == "task");
}

// ---- answers

TEST_CASE("phases are tried in the layout that is given, or in the fastest of the policy alone") {
    const plan_request given = asked();
    const std::vector<layout> own = answered(layouts_for_phases(given));
    REQUIRE(own.size() == 1);
    CHECK(own[0] == *given.layout);
    json free = policy();
    free.erase("layout");
    const plan_request any = answered(read_job(free));
    std::vector<found_layout> best(32);
    const result<search_counts> counts = search(any.job, any.cluster, {}, best);
    REQUIRE(counts);
    const std::vector<layout> tried = answered(layouts_for_phases(any));
    REQUIRE(tried.size() == counts->best);
    for (std::size_t i = 0; i < tried.size(); ++i) CHECK(tried[i] == best[i].plan.layout);
    CHECK(plan(any));
}

TEST_CASE("where no layout of the policy fits the nearest is tried, and a policy that may not be is refused") {
    json large = policy({{"model", "llama-3.1-70b"}, {"cluster", {{"gpu", "rtx-4090"}}}});
    large.erase("layout");
    const plan_request none = answered(read_job(large));
    const std::vector<layout> nearest = answered(layouts_for_phases(none));
    REQUIRE(nearest.size() == 1);
    CHECK(nearest[0] == plan(none.job, none.cluster)->layout);
    json wrong = policy({{"reference", "precomputed"}});
    wrong.erase("layout");
    const plan_request refused = answered(read_job(wrong));
    CHECK(layouts_for_phases(refused).error().field == plan(refused.job, refused.cluster).error().field);
    CHECK_FALSE(plan(refused));
}

TEST_CASE("a policy is judged on GPUs of which an engine keeps something while it sleeps") {
    const json document = policy({{"rollout", {{"sleep", "level_1"}}}});
    const job_answer answer = answered(answer_job(document));
    REQUIRE(answer.planned.phases);
    const json_value said = to_json(answer, {});
    const byte_count beside = answer.planned.phases->find(workload_phase::training)->resident.expected;
    CHECK(beside > byte_count{});
    CHECK(said["cluster"]["in_use"] == beside.in(bytes));
}

TEST_CASE("a run takes the part of all phases that each of its steps has") {
    const job_answer answer = answered(answer_job(policy()));
    REQUIRE(answer.planned.phases);
    const reinforcement_plan& phases = *answer.planned.phases;
    const job_plan& own = answer.planned.plan;
    const job_plan whole = detail::plan_of_run(answer.planned, answer.request.job);
    // 16 answers make an optimizer step; the phases have so many times as many.
    const double steps = static_cast<double>(phases.answers) / 16;
    CHECK(whole.speed.step.expected() / phases.step.expected == doctest::Approx(1 / steps));
    CHECK(whole.speed.step.expected() > own.speed.step.expected());
    // The tokens of a step are as many as before.
    CHECK((whole.speed.tokens_per_second * whole.speed.step.expected()).in(tokens) ==
          doctest::Approx((own.speed.tokens_per_second * own.speed.step.expected()).in(tokens)));
    requested_plan unknown = answer.planned;
    unknown.plan.speed = {};
    CHECK(detail::plan_of_run(unknown, answer.request.job).speed.step.expected() == duration{});
}

TEST_CASE("an engine on GPUs of its own has neither a run nor a price") {
    const json apart{{"rollout", {{"gpus", 1}}}};
    const auto refused_with = [&](const json& more) {
        json document = policy(apart);
        document.merge_patch(more);
        const result<job_answer> answer = answer_job(document);
        return answer ? "answered" : std::string{answer.error().field.view()};
    };
    CHECK(refused_with(json::object()) == "answered");
    CHECK(refused_with({{"cost", {{"gpu_hour", 2}}}}) == "cost");
    CHECK(refused_with({{"run", {{"tokens", 1e9}}}}) == "run");
    CHECK(refused_with({{"run", {{"tokens", 1e9}}}, {"cost", {{"gpu_hour", 2}}}}) == "cost");
    CHECK(answer_job(policy({{"cost", {{"gpu_hour", 2}}}})));
}
