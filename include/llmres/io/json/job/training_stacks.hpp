// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <llmres/io/json/fields.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/maybe.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Software that trains with defaults of its own (axolotl, TRL, Unsloth, ...): a name that a document's runtime may
/// have, and the fields that it stands for where nobody names them.
namespace llmres::inline v0 {

/// Software that trains with defaults of its own: fields of a job that nobody names, as its own default configuration
/// and its code have them.
struct training_stack {
    std::string_view name;                    ///< without letter case and marks between letters
    std::string_view also;                    ///< its other name, or the same
    std::string_view read_in;                 ///< its version, and where the defaults were read
    std::string_view defaults;                ///< fields of a job document that finetunes, as JSON
    std::string_view of_whole_model = "{}";   ///< further ones where no adapter is trained, as JSON
    std::string_view of_low_rank = "{}";      ///< further ones where a low-rank adapter is trained, as JSON
    std::string_view of_sharded = "{}";       ///< further ones where `layout` has `zero` 2 or 3, as JSON
    std::string_view of_preferences = "{}";   ///< further ones where preferences are learned, as JSON
    std::string_view of_reference = "{}";     ///< further ones where all weights learn beside a reference, as JSON
    std::string_view of_whole_logits = "{}";  ///< further ones where orpo, simpo, cpo or gkd makes all logits, as JSON
    std::string_view of_rollouts = "{}";      ///< further ones where a policy learns from rollouts, as JSON
    /// Settings of the engine in `rollout` that nobody says otherwise, by the engine's name, as JSON.
    std::string_view of_engines = "{}";
    /// Fields of a document that pre-trains, as JSON; empty: what finetunes alone.
    std::string_view of_pretraining{};
    bool mixes = true;  ///< it trains in mixed precision though nobody asks for it
    std::string_view learns = "dpo kto orpo simpo cpo reward";  ///< the preferences that it is planned to learn by
    /// `offload` is for layers that are recomputed whole, of sequences from this length on. Unit: tokens.
    std::int64_t offloads_from = 0;
};

/// All of them. A micro-batch of 8 and a fused optimizer are those of transformers' TrainingArguments (with PyTorch 2.8
/// and later), which the next four take over. DeepSpeed's own configuration says which ZeRO stage shards, and has none
/// of its own.
inline constexpr auto training_stacks = std::to_array<training_stack>({
    {.name = "trainer",
     .also = "hftrainer",
     .read_in = "transformers 5.24.0, training_args.py",
     .defaults = R"({"micro_batch": 8, "recompute": "none", "optimizer": "adamw_fused"})",
     .mixes = false,
     .learns = "dpo kto orpo simpo cpo reward gkd"},
    {.name = "trainerfsdp",
     .also = "trainerwithfsdp",
     .read_in = "transformers 5.24.0, training_args.py: _process_fsdp_args",
     .defaults = R"({"micro_batch": 8, "recompute": "none", "optimizer": "adamw_fused", "layout": {"zero": 3},
                     "runtime": {"fully_shard": true}})",
     .mixes = false},
    {.name = "trl",
     .also = "trl",
     .read_in = "trl 1.16.0, trainer/base_config.py, trainer/sft_config.py, trainer/dpo_config.py, "
                "trainer/model_config.py and trainer/utils.py: create_model_from_path, add_fused_lm_head",
     .defaults = R"({"micro_batch": 8, "sequence": 1024, "recompute": "full", "weights": "fp32",
                     "optimizer": "adamw_fused",
                     "runtime": {"fp32_stream": false, "loss": "fused_log_probabilities"}})",
     .of_low_rank = R"({"adapter": {"rank": 16, "dropout": 0.05}})",
     // experimental/orpo, experimental/cpo and experimental/gkd make all logits.
     .of_whole_logits = R"({"runtime": {"loss": "eager"}})",
     // trainer/grpo_config.py, trainer/rloo_config.py and generation/vllm_generation.py; prompts are never cut.
     .of_rollouts = R"({"sequence": null, "rollout": {"engine": "transformers", "generations": 8, "output": 512}})",
     .of_engines = R"({"vllm": {"gpu_memory_utilization": 0.3, "max_num_batched_tokens": 4096}})",
     .learns = "dpo kto orpo simpo cpo reward gkd grpo rloo"},
    // Norms and embeddings are 16-bit again after peft's prepare_model_for_kbit_training (loaders/model.py,
    // should_convert_embedding_dtypes; not where FSDP shards 4-bit weights). Kernels of adapters are switched on unless
    // the configuration names one (utils/schemas/validation.py, lora_kernels_auto_enable; kernels/lora.py).
    {.name = "axolotl",
     .also = "axolotl",
     .read_in = "axolotl 0.21.0, utils/schemas/training.py, utils/schemas/config.py, utils/schemas/validation.py, "
                "loaders/model.py and kernels/lora.py",
     .defaults = R"({"micro_batch": 1, "sequence": 512, "recompute": "none", "optimizer": "adamw_fused",
                     "runtime": {"fp32_stream": false}})",
     .of_low_rank = R"({"runtime": {"fused_adapters": true, "fused_gates": true}})"},
    {.name = "llamafactory",
     .also = "llamafactory",
     .read_in = "llamafactory 0.9.5, hparams/data_args.py, hparams/finetuning_args.py, hparams/model_args.py, "
                "model/adapter.py and model/loader.py",
     .defaults = R"({"micro_batch": 8, "sequence": 2048, "recompute": "full", "optimizer": "adamw_fused",
                     "adapter": {"kind": "lora", "rank": 8}, "runtime": {"fp32_stream": false}})",
     .of_whole_model = R"({"weights": "fp32"})",
     .of_reference = R"({"runtime": {"published_reference": true}})",
     // Its reward models have a value head beside the logits of AutoModelForCausalLMWithValueHead
     // (train/rm/trainer.py).
     .learns = "dpo kto orpo simpo"},
    {.name = "msswift",
     .also = "swift",
     .read_in = "ms-swift 4.6.0, trainers/arguments.py, arguments/base_args/base_args.py, arguments/tuner_args.py and "
                "pipelines/train/tuner.py",
     .defaults = R"({"micro_batch": 1, "recompute": "full", "optimizer": "adamw_fused",
                     "adapter": {"kind": "lora", "rank": 8, "dropout": 0.05}, "runtime": {"fp32_stream": false}})",
     .of_low_rank = R"({"adapter": {"dropout": 0.05}})",
     .learns = "dpo kto orpo simpo cpo reward gkd"},
    // A LoRA of 4-bit weights; full fine-tuning is in bf16 (models/vision.py, float32_mixed_precision). bitsandbytes'
    // 8-bit optimizers do not step FSDP2's shards (models/rl.py).
    {.name = "unsloth",
     .also = "unsloth",
     .read_in =
         "unsloth 2026.10.9, models/loader.py, models/llama.py: get_peft_model, models/rl.py and models/_utils.py: "
         "apply_unsloth_gradient_checkpointing",
     .defaults = R"({"micro_batch": 4, "sequence": 2048, "recompute": "full", "weights": "nf4_double",
                     "optimizer": "adamw_8bit", "adapter": {"kind": "lora", "rank": 16},
                     "offload": {"activations": "host"}})",
     .of_whole_model = R"({"weights": "bf16"})",
     .of_sharded = R"({"optimizer": "adamw_fused"})",
     .of_preferences = R"({"runtime": {"loss": "eager"}})",  // its kernel of the loss is that of the next token
     .offloads_from = 512},
    // Its recipes leave the optimizer and the loss to a YAML file, whose examples name Adam and MaskedCrossEntropy.
    {.name = "automodel",
     .also = "nemoautomodel",
     .read_in = "nemo_automodel 0.7.0, recipes/llm/train_ft.py, components/distributed/config.py, "
                "components/_peft/lora.py and components/_peft/lora_mlp.py",
     .defaults = R"({"micro_batch": 1, "recompute": "none", "optimizer": "adamw"})",
     .of_low_rank = R"({"adapter": {"rank": 8}, "runtime": {"fused_gates": true}})",
     .of_pretraining = R"({"micro_batch": 1, "recompute": "none", "optimizer": "adamw"})"},
    // FSDP1 shards fp32 weights, packed sequences have no padding, and logits are whole, over which flash-attn's cross
    // entropy writes their gradient: no entropy is differentiated (trainer/config/actor, entropy_coeff; workers/engine/
    // fsdp/transformer_impl.py; utils/torch_functional.py). Its micro-batch has no default.
    {.name = "verl",
     .also = "verl",
     .read_in = "verl 0.9.1, trainer/config/_generated_ppo_trainer.yaml, workers/engine/fsdp/transformer_impl.py and "
                "workers/rollout/vllm_rollout",
     .defaults = R"({"micro_batch": 1, "weights": "fp32", "recompute": "full", "optimizer": "adamw_fused",
                     "attention": "flash", "layout": {"zero": 3},
                     "runtime": {"fp32_stream": false, "sync_each_batch": true, "loss": "flash_cross_entropy"}})",
     .of_rollouts = R"({"reference": "none", "rollout": {"engine": "vllm", "generations": 8, "tensor": 2,
                        "prompt": 512, "output": 512, "sleep": "level_2", "remove_padding": true}})",
     .of_engines = R"({"vllm": {"gpu_memory_utilization": 0.5, "max_num_seqs": 256, "max_num_batched_tokens": 8192},
                       "sglang": {"mem_fraction_static": 0.5}})",
     .learns = "grpo rloo reinforce ppo"},
    // DeepSpeed's bf16 weights with fp32 copies; a reference stands beside the policy for the KL term of the reward
    // (cli/train_ppo_ray.py, models/actor.py: logits of all positions in fp32).
    {.name = "openrlhf",
     .also = "openrlhf",
     .read_in = "openrlhf 0.11.2, cli/train_ppo_ray.py, models/actor.py and utils/deepspeed",
     .defaults = R"({"micro_batch": 1, "recompute": "none", "optimizer": "adamw_fused", "attention": "flash",
                     "layout": {"zero": 2}})",
     .of_rollouts = R"({"reference": "loaded", "rollout": {"engine": "vllm", "generations": 8, "output": 1024,
                        "prompt": 1024}})",
     .of_engines = R"({"vllm": {"gpu_memory_utilization": 0.95}})",
     .learns = "dpo reward grpo rloo reinforce ppo"},
    // The recipes of single models start from these, and set layouts and lengths of their own. Of a 16-bit adapter, the
    // optimizer's fp32 copy, states and gradients are not described: 10 bytes a trained weight more.
    {.name = "megatronbridge",
     .also = "nemomegatronbridge",
     .read_in = "megatron_bridge 0.6.2, recipes/common.py and models/gpt_provider.py",
     .defaults = R"({"micro_batch": 1, "sequence": 2048, "recompute": "none",
                     "runtime": {"loss": "vocabulary_parallel_fused"}})",
     .of_low_rank = R"({"adapter": {"rank": 32}})",
     .of_pretraining = R"({"micro_batch": 2, "sequence": 4096, "recompute": "none",
                           "runtime": {"loss": "vocabulary_parallel_fused"}})"},
});

namespace detail {

/// The stack of that name, with a version behind it or without, and with DeepSpeed or without; null where it is none.
constexpr const training_stack* find_training_stack(std::string_view name) {
    const std::string_view named = name.substr(0, name.find('@')), driver = sharded_by_deepspeed(named);
    const std::string_view software = driver.empty() ? named : driver;
    for (const training_stack& one : training_stacks)
        if (same_name(one.name, software) || same_name(one.also, software)) return &one;
    return nullptr;
}

/// The preference that is learned where a document names it as its task: "dpo", "reward".
inline maybe<preference_method> preference_of(const nlohmann::json& task) {
    for (std::size_t i = 1; i < names_of<preference_method>.size(); ++i)
        if (says(task, names_of<preference_method>[i])) return static_cast<preference_method>(i);
    return {};
}

/// The stack that a document's runtime names, for a job that names no task or one that the stack has defaults for; null
/// where it names none.
inline const training_stack* stack_of(const nlohmann::json& document) {
    const auto named = document.find("runtime");
    if (named == document.end()) return nullptr;
    const auto name = named->is_object() ? named->find("name") : named;
    if ((named->is_object() && name == named->end()) || !name->is_string()) return nullptr;
    const training_stack* const stack = find_training_stack(name->get_ref<const std::string&>());
    const auto said = document.find("task");
    if (stack == nullptr || said == document.end() || said->is_null()) return stack;
    const bool pretrains = says(*said, name_of(task::pretraining)) && !stack->of_pretraining.empty();
    return pretrains || says(*said, name_of(task::finetuning)) || preference_of(*said) ? stack : nullptr;
}

/// The whole number of an object's field, and another where it has none.
inline std::int64_t whole_or(const nlohmann::json& object, const char* key, std::int64_t otherwise) {
    const auto at = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

/// True if a micro-batch that nobody names divides the global batch of a document on all of its GPUs.
inline bool divides_global_batch(const nlohmann::json& document, std::int64_t micro_batch) {
    const std::int64_t batch = whole_or(document, "global_batch", 0);
    const std::int64_t gpus = whole_or(document.value("cluster", nlohmann::json{}), "gpus", 1);
    const std::int64_t ranks = whole_or(document.value("layout", nlohmann::json{}), "data", gpus);
    return batch <= 0 || ranks <= 0 || ranks > 1'000'000 || batch % (micro_batch * ranks) == 0;
}

/// The fields of an object, and those of another that it does not say.
inline nlohmann::json beside(nlohmann::json defaults, const nlohmann::json& said) {
    for (const auto& [key, value] : said.items())
        if (!value.is_null() || !defaults.contains(key)) defaults[key] = value;
    return defaults;
}

/// Takes off what DeepSpeed decides where it shards: the format of weights, which its engine casts to that of the step
/// (runtime/engine.py, _configure_distributed_model), and what its profile has no key for.
inline void leave_to_deepspeed(nlohmann::json& defaults) {
    defaults.erase("weights");
    nlohmann::json& settings = defaults["runtime"];
    for (auto setting = settings.begin(); setting != settings.end();)
        setting = has_key(runtimes::deepspeed, setting.key()) ? std::next(setting) : settings.erase(setting);
    if (settings.empty()) defaults.erase("runtime");
}

/// True of a stack that is planned to learn by a method.
constexpr bool learns_by(const training_stack& stack, preference_method m) {
    for (std::string_view learned = stack.learns; !learned.empty();)
        if (taken_before(learned, " ") == name_of(m)) return true;
    return m == preference_method::none;
}

/// The names of all stacks that are planned to learn by a method, with commas between them.
inline std::string stacks_that_learn_by(preference_method m) {
    std::string names;
    for (const training_stack& stack : training_stacks)
        if (learns_by(stack, m)) names += (names.empty() ? "" : ", ") + std::string{stack.name};
    return names;
}

/// Adds the defaults of a stack for a job that learns from rollouts, and for the engine that generates them.
inline void take_rollout_defaults(const training_stack& stack, nlohmann::json& said, nlohmann::json& defaults) {
    maybe<preference_method> learned;
    for (const char* key : {"task", "preference"})
        if (!learned) learned = preference_of(said.value(key, nlohmann::json{}));
    if (!learned || !learns_from_rollouts(*learned) || stack.of_rollouts == "{}") return;
    defaults.merge_patch(nlohmann::json::parse(stack.of_rollouts));
    nlohmann::json& rollout = defaults["rollout"];
    if (least_group(*learned) == 1) rollout["generations"] = 1;
    if (*learned == preference_method::rloo) rollout["generations"] = 2;  // trl 1.16, trainer/rloo_config.py
    const nlohmann::json own = said.value("rollout", nlohmann::json::object());
    if (own.is_object() && (own.contains("gpus") || own.contains("gpu"))) rollout.erase("sleep");
    const nlohmann::json cluster = said.value("cluster", nlohmann::json::object());
    if (whole_or(cluster, "gpus", 1) < whole_or(rollout, "tensor", 1)) rollout.erase("tensor");
    nlohmann::json engine =
        own.is_object() && own.contains("engine") ? own["engine"] : rollout.value("engine", nlohmann::json("vllm"));
    if (engine.is_string()) engine = {{"name", engine}};
    if (!engine.is_object() || !engine.contains("name") || !engine["name"].is_string()) return;
    const std::string name = engine["name"].get<std::string>();
    const nlohmann::json engines = nlohmann::json::parse(stack.of_engines);
    for (const auto& [of, asked] : engines.items()) {
        if (!same_name(of, std::string_view{name}.substr(0, name.find('@')))) continue;
        nlohmann::json settings = asked;
        if (own.is_object() && own.contains("gpu_memory_utilization")) settings.erase("gpu_memory_utilization");
        engine = beside(settings, engine);
    }
    rollout["engine"] = engine;
    if (own.is_object() && own.contains("engine")) said["rollout"]["engine"] = engine;
}

/// A document with the defaults of the stack that it names, where it leaves them unsaid or null; nothing where it names
/// none. A micro-batch that does not divide the global batch stays unsaid. Optimizers that project gradients train
/// whole matrices, so that no adapter is taken for them (LLaMA-Factory, finetuning_args.py, refuses one).
inline std::optional<nlohmann::json> with_defaults_of_stack(const nlohmann::json& document) {
    const training_stack* const stack = stack_of(document);
    if (stack == nullptr) return std::nullopt;
    nlohmann::json said = document;
    for (auto field = said.begin(); field != said.end();)
        field = field->is_null() ? said.erase(field) : std::next(field);
    if (said["runtime"].is_string()) said["runtime"] = {{"name", said["runtime"]}};
    const bool pretrains = said.contains("task") && says(said["task"], name_of(task::pretraining));
    nlohmann::json defaults = nlohmann::json::parse(pretrains ? stack->of_pretraining : stack->defaults);
    if (!pretrains && !said.contains("task")) defaults["task"] = name_of(task::finetuning);
    if (!divides_global_batch(said, defaults["micro_batch"].get<std::int64_t>())) defaults.erase("micro_batch");
    const auto optimizer = said.find("optimizer");
    if (optimizer != said.end() && (says(*optimizer, "galore") || says(*optimizer, "apollo")))
        defaults.erase("adapter");
    const bool adapted = said.contains("adapter"), in_full = adapted && said["adapter"].is_object();
    nlohmann::json kind = in_full ? said["adapter"].value("kind", nlohmann::json{}) : nlohmann::json{};
    if (adapted && (!in_full || !kind.is_null())) defaults.erase("adapter");
    if (defaults.contains("adapter")) kind = defaults["adapter"]["kind"];
    const bool trains_all = says(kind, name_of(adapter_kind::none)) || (kind.is_null() && !adapted);
    if (trains_all) defaults.merge_patch(nlohmann::json::parse(stack->of_whole_model));
    for (const adapter_kind low_rank : {adapter_kind::lora, adapter_kind::rslora, adapter_kind::dora})
        if (says(kind, name_of(low_rank))) defaults.merge_patch(nlohmann::json::parse(stack->of_low_rank));
    if (whole_or(said.value("layout", nlohmann::json{}), "zero", 0) >= 2)
        defaults.merge_patch(nlohmann::json::parse(stack->of_sharded));
    for (const char* key : {"task", "preference"}) {
        const auto learned = preference_of(said.value(key, nlohmann::json{}));
        if (!learned) continue;
        defaults.merge_patch(nlohmann::json::parse(stack->of_preferences));
        if (has_reference(*learned) && trains_all) defaults.merge_patch(nlohmann::json::parse(stack->of_reference));
        const bool unreferenced =
            learns_from_pairs(*learned) && !has_reference(*learned) && *learned != preference_method::reward;
        if (unreferenced || learns_from_teacher(*learned))
            defaults.merge_patch(nlohmann::json::parse(stack->of_whole_logits));
    }
    take_rollout_defaults(*stack, said, defaults);
    const bool recomputes = says(said.value("recompute", defaults["recompute"]), name_of(recompute::full));
    if (!recomputes || whole_or(said, "sequence", whole_or(defaults, "sequence", 0)) < stack->offloads_from)
        defaults.erase("offload");
    const std::string& software = said["runtime"]["name"].get_ref<const std::string&>();
    if (!sharded_by_deepspeed(software.substr(0, software.find('@'))).empty()) leave_to_deepspeed(defaults);
    for (const auto& [key, value] : defaults.items())
        if (value.is_object() && said.contains(key) && said[key].is_object()) said[key] = beside(value, said[key]);
    return beside(defaults, said);
}

}  // namespace detail
}  // namespace llmres::inline v0
