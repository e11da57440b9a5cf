// SPDX-License-Identifier: MIT
#include <llmres/io/json/job/rollout_reader.hpp>

#include <doctest/doctest.h>

#include <llmres/io/plan_json.hpp>
#include <nlohmann/json.hpp>

#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

/// A document of a policy on eight GPUs, with further fields.
json learning(const json& more = json::object()) {
    json document{{"model", "qwen2.5-7b"},
                  {"task", "grpo"},
                  {"micro_batch", 2},
                  {"global_batch", 64},
                  {"layout", {{"data", 8}, {"zero", 3}}},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 8}}}};
    document.merge_patch(more);
    return document;
}
plan_request read(const json& more = json::object()) {
    const auto found = read_job(learning(more));
    REQUIRE_MESSAGE(found, found.error().field.view());
    REQUIRE(found->rollout != nullptr);
    return *found;
}
std::string wrong(const json& more) {
    const auto found = read_job(learning(more));
    return found ? "" : std::string{found.error().field.view()};
}

}  // namespace

TEST_CASE("a rollout serves the model that is trained, on its GPUs, with verl's engine where nobody says which") {
    const plan_request asked = read();
    const rollout& r = asked.rollout->rollout;
    CHECK(r.engine.model.name == asked.job.model.name);
    CHECK(r.engine.task == task::serving);
    CHECK(r.engine.runtime.identity.name == "vllm");
    CHECK(r.engine.runtime.cache.fraction.value_or(0) == 0.5);
    CHECK(r.sleep == engine_sleep::level_2);
    CHECK(r.scores_again);
    CHECK_FALSE(r.own_gpus);
    CHECK_FALSE(asked.rollout->critic);
    CHECK(asked.job.sequence == tokens(1024));
    CHECK(read({{"sequence", 4096}}).job.sequence == tokens(4096));
    CHECK(read({{"rollout", {{"prompt", 100}, {"output", 300}}}}).job.sequence == tokens(400));
}

TEST_CASE("each trainer has an engine of its own") {
    const auto of = [](const char* trainer, const json& rollout = json::object()) {
        return read({{"runtime", trainer}, {"rollout", rollout}}).rollout->rollout;
    };
    const rollout trl = of("trl");
    CHECK(trl.uses_trained_weights);
    CHECK(trl.in_trainer);
    CHECK_FALSE(trl.scores_again);
    CHECK(trl.engine.runtime.identity.name == "transformers");
    CHECK(weights_of(trl.engine) == fp32);
    const rollout beside = of("trl", {{"engine", "vllm"}});
    CHECK_FALSE(beside.uses_trained_weights);
    CHECK(beside.in_trainer);
    CHECK(beside.scores_again);
    CHECK(beside.sleep == engine_sleep::awake);
    CHECK(beside.engine.runtime.cache.fraction.value_or(0) == 0.3);
    CHECK(beside.engine.runtime.step.max_batched_tokens == tokens(4096));
    CHECK(of("trl", {{"engine", "vllm"}, {"gpu_memory_utilization", 0.45}}).engine.runtime.cache.fraction == 0.45);
    const rollout verl = of("verl");
    CHECK(verl.layout.tensor == 2);
    CHECK(verl.sleep == engine_sleep::level_2);
    CHECK(verl.engine.options.max_num_seqs == 256);
    CHECK_FALSE(verl.in_trainer);
    CHECK(of("verl", {{"engine", "sglang"}}).engine.runtime.cache.fraction == 0.5);
    const plan_request openrlhf = read({{"runtime", "openrlhf"}});
    CHECK(openrlhf.job.runtime.identity.name == "deepspeed");
    CHECK(reference_of(openrlhf.job) == reference_model::loaded);
    CHECK(openrlhf.rollout->rollout.engine.runtime.cache.fraction == 0.95);
    CHECK(read({{"runtime", "trl"}, {"task", "rloo"}}).rollout->rollout.generations == 2);
    // One answer is enough where none is held to others of its prompt.
    for (const json& trainer : {json{}, json("verl"), json("openrlhf")}) {
        CHECK(read({{"runtime", trainer}, {"task", "reinforce"}}).rollout->rollout.generations == 1);
        CHECK(read({{"runtime", trainer}, {"task", "ppo"}}).rollout->rollout.generations == 1);
        CHECK(read({{"runtime", trainer}}).rollout->rollout.generations == 8);
    }
}

TEST_CASE("an engine may have GPUs of its own, and other words for what it is asked") {
    const rollout own = read({{"rollout", {{"gpus", 4}, {"gpu", "l4-24gb"}, {"tensor", 2}}}}).rollout->rollout;
    REQUIRE(own.own_gpus);
    CHECK(own.own_gpus->gpus == 4);
    CHECK(own.own_gpus->gpu.id == "l4-24gb");
    CHECK(own.sleep == engine_sleep::awake);
    const rollout asked =
        read({{"rollout",
               {{"engine", {{"name", "vllm@0.11"}, {"gpu_memory_utilization", 0.7}}}, {"kv_cache", "fp8_e4m3"}}}})
            .rollout->rollout;
    CHECK(asked.engine.runtime.cache.fraction == 0.5);  // the rollout's own part goes over the engine's
    CHECK(kv_cache_of(asked.engine).name == "fp8_e4m3");
}

TEST_CASE("ppo has a critic of the policy's size with one score") {
    const plan_request asked = read({{"task", "ppo"}});
    REQUIRE(asked.rollout->critic);
    CHECK(classes_of(asked.rollout->critic->model) == 1);
    CHECK(asked.rollout->critic->preference == preference_method::none);
    const auto planned = plan(asked);
    REQUIRE(planned);
    REQUIRE(planned->phases);
    CHECK(planned->phases->phase_count == 3);
}

TEST_CASE("trl loads a reward model as it loads the policy, and openrlhf has a process for it") {
    const auto of = [](const char* trainer, const json& more = json::object()) {
        json document{{"runtime", trainer}, {"rollout", {{"reward", "qwen3-4b"}}}};
        document.merge_patch(more);
        return read(document);
    };
    const plan_request trl = of("trl");
    REQUIRE(trl.rollout->reward);
    const reward_model& scores = *trl.rollout->reward;
    CHECK(classes_of(scores.scores.model) == 1);
    CHECK(weights_of(scores.scores) == fp32);
    CHECK(scores.scores.prompt == trl.job.sequence);
    CHECK(scores.at_once == 0);
    CHECK(scores.in_trainer);
    CHECK(weights_of(of("trl", {{"weights", "bf16"}}).rollout->reward->scores) == bf16);
    const plan_request openrlhf = of("openrlhf");
    CHECK(openrlhf.rollout->reward->at_once == 2);
    CHECK_FALSE(openrlhf.rollout->reward->in_trainer);
    CHECK(plan(openrlhf)->phases->phase_count == 3);
    CHECK(wrong({{"runtime", "verl"}, {"rollout", {{"reward", "qwen3-4b"}}}}) == "rollout.reward");
    CHECK(wrong({{"runtime", "trl"}, {"rollout", {{"reward", "no-such-model"}}}}) == "rollout.reward.model");
    CHECK(wrong({{"runtime", "trl"}, {"rollout", {{"reward", 7}}}}) != "");
}

TEST_CASE("what contradicts itself in a rollout is refused by the name that it has there") {
    CHECK(wrong({{"task", "dpo"}, {"rollout", {{"output", 8}}}}) == "rollout.output");
    CHECK(wrong({{"rollout", 3}}) == "rollout");
    CHECK(wrong({{"rollout", {{"enginge", "vllm"}}}}) == "rollout.enginge");
    CHECK(wrong({{"rollout", {{"engine", "torchtitan"}}}}) != "");
    CHECK(wrong({{"rollout", {{"engine", "nothing"}}}}) == "rollout.engine.name");
    CHECK(wrong({{"rollout", {{"generations", 0}}}}) == "rollout.generations");
    CHECK(wrong({{"rollout", {{"sleep", "deep"}}}}) == "rollout.sleep");
    CHECK(wrong({{"rollout", {{"output", "many"}}}}) == "rollout.output");
    CHECK(wrong({{"rollout", {{"gpus", 0}}}}) == "rollout.gpus");
    CHECK(wrong({{"rollout", {{"gpu_memory_utilization", 1.5}}}}) != "");
    CHECK(wrong({{"runtime", "trl"}, {"rollout", {{"gpus", 2}}}}) == "rollout.engine");
    CHECK(wrong({{"reference", "precomputed"}}) == "");  // of the job: plan() refuses it
    CHECK_FALSE(plan(read({{"reference", "precomputed"}})));
    CHECK_FALSE(in_one_phase(read()));
}

TEST_CASE("an answer's verdict is of all phases, and says what was assumed of the rollout") {
    const json document = learning({{"rollout", {{"gpu_memory_utilization", 0.9}}}});
    const auto answered = answer_job(document);
    REQUIRE(answered);
    const json_value said = to_json(*answered, {});
    CHECK(said["verdict"] == name_of(answered->planned.verdict()));
    CHECK(said["reinforcement"]["phases"].size() == 2);
    CHECK(said["reinforcement"]["phases"][0]["phase"] == "rollout");
    CHECK(said["assumed"]["rollout_output"] == 512);
    CHECK(said["assumed"]["rollout_engine"] == "vllm");
    CHECK_FALSE(said["assumed"].contains("rollout_gpu_memory_utilization"));
    CHECK(said["launch"].is_null());
}

TEST_CASE("a policy is trained on whole answers, and verl has no pipeline") {
    CHECK(wrong({{"sequence", 511}}) == "sequence");  // of answers of 512 tokens
    CHECK(wrong({{"sequence", 512}}) == "");
    CHECK(wrong({{"sequence", 799}, {"rollout", {{"prompt", 300}, {"output", 500}}}}) == "sequence");
    CHECK(wrong({{"sequence", 800}, {"rollout", {{"prompt", 300}, {"output", 500}}}}) == "");
    const json staged{{"runtime", "verl"}, {"layout", {{"data", 4}, {"pipeline", 2}, {"zero", 0}}}};
    CHECK(wrong(staged) == "layout.pipeline");
}
