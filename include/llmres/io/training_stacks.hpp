// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Software that drives another's training loop (runtimes/all.hpp: runtime_aliases) and sets fields of a job that
/// nobody names: what its own default configuration has.
namespace llmres::inline v0 {

/// One such software.
struct training_stack {
    std::string_view name;      ///< without letter case and marks between letters
    std::string_view also;      ///< its other name, or the same
    std::string_view read_in;   ///< its version, and where the defaults were read
    std::string_view defaults;  ///< fields of a job document that finetunes, as JSON
};

/// All of them. A micro-batch of 8 is that of transformers' TrainingArguments, which they take over.
inline constexpr auto training_stacks = std::to_array<training_stack>({
    {"trl", "trl", "trl 1.16.0, trainer/base_config.py and trainer/sft_config.py",
     R"({"micro_batch": 8, "sequence": 1024, "recompute": "full", "optimizer": "adamw"})"},
    {"axolotl", "axolotl", "axolotl 0.19.0, utils/schemas/training.py and utils/schemas/config.py",
     R"({"micro_batch": 1, "sequence": 512, "recompute": "none", "optimizer": "adamw"})"},
    {"llamafactory", "llamafactory",
     "llamafactory 0.9.5, hparams/data_args.py, hparams/finetuning_args.py and hparams/model_args.py",
     R"({"micro_batch": 8, "sequence": 2048, "recompute": "full", "optimizer": "adamw",
         "adapter": {"kind": "lora", "rank": 8}})"},
    {"msswift", "swift",
     "ms-swift 4.6.0, trainers/arguments.py, arguments/base_args/base_args.py and arguments/tuner_args.py",
     R"({"micro_batch": 1, "recompute": "full", "optimizer": "adamw", "adapter": {"kind": "lora", "rank": 8}})"},
});

namespace detail {

/// The stack that a document's runtime names; null where it names none.
inline const training_stack* stack_of(const nlohmann::json& document) {
    const auto named = document.find("runtime");
    if (named == document.end()) return nullptr;
    const auto name = named->is_object() ? named->find("name") : named;
    if ((named->is_object() && name == named->end()) || !name->is_string()) return nullptr;
    const auto& said = name->get_ref<const std::string&>();
    for (const training_stack& one : training_stacks)
        if (same_name(one.name, said) || same_name(one.also, said)) return &one;
    return nullptr;
}

/// A document that finetunes with the defaults of the stack that it names, where it leaves them unsaid; nothing where
/// it names none. A global batch says how many sequences a GPU has at once as well as a micro-batch does.
inline std::optional<nlohmann::json> with_defaults_of_stack(const nlohmann::json& document) {
    const training_stack* const stack = stack_of(document);
    if (stack == nullptr) return std::nullopt;
    nlohmann::json whole = nlohmann::json::parse(stack->defaults);
    if (document.contains("global_batch")) whole.erase("micro_batch");
    for (const auto& [key, value] : document.items()) whole[key] = value;
    return whole;
}

}  // namespace detail

}  // namespace llmres::inline v0
