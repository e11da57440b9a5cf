// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
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

}  // namespace llmres::inline v0::detail
