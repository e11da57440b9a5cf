// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/job/plan_request.hpp>
#include <llmres/io/json/job/training_stacks.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// The object `rollout` of a job document: the engine that generates the answers which a policy learns from, and what
/// it leaves of the GPUs.
namespace llmres::inline v0::detail {

/// Tokens of a prompt, and of the longest answer, where a document says nothing of them (verl, ppo_trainer.yaml:
/// max_prompt_length and max_response_length; TRL's max_completion_length is 512, too).
inline constexpr std::int64_t usual_rollout_tokens = 512;

/// Defaults of an engine where no trainer is named that has defaults of its own: those of verl, whose engine
/// shares the GPUs of the trainer and sleeps while others train (verl 0.9.1, trainer/config/rollout/rollout.yaml).
inline constexpr std::string_view usual_rollout =
    R"({"engine": "vllm", "sleep": "level_2", "gpu_memory_utilization": 0.5})";

/// A number of the object `rollout`, or another where it has none.
inline std::int64_t number_of_rollout(job_reader& read, const char* name, std::int64_t otherwise) {
    std::int64_t number = otherwise;
    read.value(name, number);
    return number;
}

/// The engine as a document names it: by its name, or with what it is asked.
inline nlohmann::json engine_of(const nlohmann::json& rollout) {
    const auto named = rollout.find("engine");
    nlohmann::json engine = named == rollout.end() || named->is_null() ? nlohmann::json("vllm") : *named;
    if (engine.is_string()) engine = {{"name", engine}};
    return engine;
}

/// An error of the engine's own document, as the object `rollout` names what it is about.
inline error of_engine(const error& e) {
    constexpr std::array<std::array<std::string_view, 2>, 3> names{
        {{"runtime", "engine"}, {"layout.", ""}, {"cluster.", ""}}};
    const std::string_view field = e.field.view();
    for (const auto& [of_job, of_rollout] : names)
        if (field.starts_with(of_job)) {
            const std::string named = std::string{of_rollout} + std::string{field.substr(of_job.size())};
            return within("rollout", refused(e.code, named, e.value, e.expected));
        }
    return within("rollout", e);
}

/// True if an engine's name is that of transformers, whose generate() runs in the trainer.
inline bool generates_by_transformers(const nlohmann::json& engine) {
    const std::string name = engine.is_object() ? engine.value("name", std::string{}) : std::string{};
    const std::string_view bare = std::string_view{name}.substr(0, name.find('@'));
    return same_name(bare, "transformers") || same_name(bare, "huggingface") || same_name(bare, "hf");
}

/// Adds what is assumed to an object that leaves it unsaid: an engine on GPUs of its own takes them and stays awake,
/// and a method that needs no group has one answer to a prompt.
inline void take_usual_rollout(nlohmann::json& rollout, preference_method learned) {
    if (least_group(learned) == 1 && !rollout.contains("generations")) rollout["generations"] = 1;
    const bool own_gpus = rollout.contains("gpus") || rollout.contains("gpu");
    const nlohmann::json usual = nlohmann::json::parse(usual_rollout);
    for (const auto& [key, value] : usual.items())
        if (!rollout.contains(key) && (key == "engine" || !own_gpus)) rollout[key] = value;
    const bool takes_fraction = !generates_by_transformers(engine_of(rollout));
    if (!takes_fraction) rollout.erase("gpu_memory_utilization"), rollout.erase("sleep");
}

/// The document of the engine's own job: it serves the model that is trained, on the same GPUs unless it has others.
inline nlohmann::json engine_document(const nlohmann::json& document, const nlohmann::json& rollout, job_reader& read) {
    const bool has_gpus = read.fields().has("gpus") || read.fields().has("gpu");
    nlohmann::json engine = engine_of(rollout);
    if (read.fields().has("gpu_memory_utilization") && engine.is_object()) {
        const bool sglang = says(engine.value("name", nlohmann::json{}), "sglang");
        engine[sglang ? "mem_fraction_static" : "gpu_memory_utilization"] = rollout["gpu_memory_utilization"];
    }
    for (const char* asked : {"max_num_seqs", "max_num_batched_tokens"})
        if (read.fields().has(asked) && engine.is_object()) engine[asked] = number_of_rollout(read, asked, 0);
    nlohmann::json cluster = document.value("cluster", nlohmann::json::object());
    if (has_gpus) {
        if (read.fields().has("gpu")) {
            cluster = {{"gpu", rollout["gpu"]}};
            cluster["gpus"] = 1;
        }
        if (read.fields().has("gpus")) cluster["gpus"] = rollout["gpus"];
    }
    nlohmann::json made{{"model", document["model"]},
                        {"task", name_of(task::serving)},
                        {"runtime", engine},
                        {"prompt", number_of_rollout(read, "prompt", usual_rollout_tokens)},
                        {"output", number_of_rollout(read, "output", usual_rollout_tokens)},
                        {"layout", {{"tensor", number_of_rollout(read, "tensor", 1)}, {"data", 1}}},
                        {"cluster", cluster}};
    for (const char* format : {"weights", "kv_cache"})
        if (read.fields().has(format)) made[format] = rollout[format];
    return made;
}

/// Reads the document of a job that stands beside the policy: the engine's, or that of a model that scores.
using document_reader = result<plan_request>(const nlohmann::json& document, const job_sources& sources);

/// The critic of a policy that learns by ppo: a model of its size that gives each token one score.
inline job critic_of(const job& policy) {
    job critic = policy;
    critic.model = classifier(policy.model, 1);
    critic.preference = preference_method::none;
    critic.reference = reference_model::by_method;
    return critic;
}

/// The model that scores answers of a document's policy. TRL loads it as it loads the policy, in the trainer's process,
/// and scores all answers at once (trl 1.16, trainer/grpo_trainer.py: model_init_kwargs, _calculate_rewards); OpenRLHF
/// scores one micro-batch after the other in a process of its own (openrlhf 0.11.2, trainer/ray/launcher.py). verl
/// serves it by an engine that sleeps meanwhile, which is not planned.
inline result<reward_model> read_reward(const nlohmann::json& document, const nlohmann::json& rollout,
                                        const job_sources& sources, const plan_request& request,
                                        document_reader& read_beside) {
    const training_stack* const stack = stack_of(document);
    const bool by_trl = stack != nullptr && stack->name == "trl";
    if (stack == nullptr || stack->name == "verl")
        return refused(error_code::unsupported, "rollout.reward", shown(rollout["reward"]),
                       "trl or openrlhf as the runtime: under verl an engine serves the reward model");
    const job& policy = request.job;
    nlohmann::json made{{"model", rollout["reward"]},
                        {"task", "reranking"},
                        {"runtime", "transformers"},
                        {"prompt", policy.sequence.in(tokens)},
                        {"cluster", document.value("cluster", nlohmann::json::object())}};
    made["cluster"]["gpus"] = 1;
    const result<plan_request> scores = read_beside(made, sources);
    if (!scores) return within("rollout.reward", scores.error());
    reward_model reward{.scores = scores->job, .at_once = by_trl ? 0 : policy.micro_batch, .in_trainer = by_trl};
    reward.scores.weights = weights_of(policy);
    reward.scores.compute = policy.compute;
    return reward;
}

/// Refuses sequences that are shorter than what is trained on, the prompt and the longest answer.
inline status trains_whole_answers(const job& policy, token_count least) {
    if (policy.sequence >= least) return done{};
    return refused(error_code::inconsistent, "sequence", policy.sequence.in(tokens),
                   "at least the tokens that it is trained on, of a prompt and its longest answer: ", least.in(tokens));
}

/// The rollouts of a document, whose policy is read. The engine's own job is read as a document that serves.
inline status read_rollout(const nlohmann::json& document, const job_sources& sources, plan_request& request,
                           document_reader& read_beside) {
    job& policy = request.job;
    const auto given = document.find("rollout");
    const bool absent = given == document.end() || given->is_null();
    if (!learns_from_rollouts(policy.preference)) {
        if (absent) return done{};
        const bool names_one = given->is_object() && !given->empty();
        return refused(error_code::inconsistent, names_one ? "rollout." + given->begin().key() : "rollout",
                       shown(names_one ? *given->begin() : *given),
                       "task grpo, rloo, reinforce or ppo, which learn from rollouts");
    }
    nlohmann::json object = absent ? nlohmann::json::object() : nlohmann::json(*given);
    if (!object.is_object()) return refused(error_code::malformed, "rollout", shown(object), "an object");
    if (const status s = known_keys(object, "rollout", {}); !s) return s;
    const training_stack* const stack = stack_of(document);
    if (stack == nullptr) take_usual_rollout(object, policy.preference);
    if (stack != nullptr && stack->name == "verl" && request.layout.value_or(layout{}).pipeline > 1)
        return refused(error_code::unsupported, "layout.pipeline", std::int64_t{request.layout->pipeline},
                       "1: verl's FSDP engine (workers/engine/fsdp) has no pipeline stages");
    job_reader read{object, "rollout"};
    const nlohmann::json serving = engine_document(document, object, read);
    auto made = std::make_shared<rollout_request>();
    rollout& r = made->rollout;
    read.members(r);
    if (const status s = read.checked(); !s) return s;
    const result<plan_request> engine = read_beside(serving, sources);
    if (!engine) return of_engine(engine.error());
    r.engine = engine->job;
    r.layout = engine->layout.value_or(layout{});
    made->profile = engine->profile;
    if (read.fields().has("gpus") || read.fields().has("gpu")) r.own_gpus = engine->cluster;
    r.uses_trained_weights = generates_by_transformers(serving["runtime"]);
    if (r.uses_trained_weights && r.own_gpus)
        return refused(error_code::inconsistent, "rollout.engine", "transformers",
                       "an engine: the trainer's own model has no GPUs of its own");
    // trl 1.16, generation/vllm_generation.py: the engine of vllm_mode "colocate" runs in the trainer's process.
    const bool by_trl = stack != nullptr && stack->name == "trl";
    r.in_trainer = !r.own_gpus && (r.uses_trained_weights || by_trl);
    // models/utils.py: deepspeed.zero.GatheredParameters(model.parameters()); FSDP gathers layer by layer.
    r.gathers_weights = r.uses_trained_weights && policy.runtime.sharding.code == sharding_code::deepspeed &&
                        request.layout.value_or(layout{}).zero == 3;
    // transformers' cache is in fp32 beside fp32 weights, under autocast too: rotated keys and values are (tracked).
    if (r.uses_trained_weights) {
        r.engine.weights = weights_of(policy);
        if (r.engine.weights == maybe<precision>{fp32} && !read.fields().has("kv_cache")) r.engine.kv_cache = fp32;
    }
    if (policy.scored == token_count{}) policy.scored = r.engine.output;
    if (!read.fields().has("scores_again"))
        r.scores_again = !r.uses_trained_weights || policy.preference == preference_method::rloo;
    if (policy.sequence == token_count{}) policy.sequence = r.engine.prompt + r.engine.output;
    const token_count named = read.fields().has("prompt") ? r.engine.prompt : token_count{};
    if (const status s = trains_whole_answers(policy, r.engine.output + named); !s) return s;
    if (policy.preference == preference_method::ppo) made->critic = critic_of(policy);
    if (read.fields().has("reward")) {
        const result<reward_model> reward = read_reward(document, object, sources, request, read_beside);
        if (!reward) return reward.error();
        made->reward = *reward;
    }
    request.rollout = std::move(made);
    return done{};
}

}  // namespace llmres::inline v0::detail
