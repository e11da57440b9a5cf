// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/automodel.hpp>
#include <llmres/runtimes/ctranslate2.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/exllama.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/litgpt.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/lmdeploy.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/mlx.hpp>
#include <llmres/runtimes/nanotron.hpp>
#include <llmres/runtimes/ollama.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/tgi.hpp>
#include <llmres/runtimes/torchtitan.hpp>
#include <llmres/runtimes/torchtune.hpp>
#include <llmres/runtimes/unsloth.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/joined.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <span>
#include <string_view>

/// All runtime profiles, and how to find one by name and version.
namespace llmres::inline v0 {

namespace runtimes {

/// Each software's profiles stand together, the newest first.
inline constexpr auto all =
    joined(std::array{&no_runtime, &pytorch}, all_vllm, all_sglang, all_tensorrt_llm, all_llama_cpp, all_ollama,
           all_transformers, std::array{&lmdeploy}, all_exllama, std::array{&mlx, &tgi, &ctranslate2}, all_huggingface,
           std::array{&unsloth, &automodel}, all_litgpt, std::array{&torchtune}, all_torchtitan, all_deepspeed,
           std::array{&megatron_deepspeed}, all_megatron, std::array{&nanotron});

}  // namespace runtimes

namespace detail {

/// Names are the same whatever the case and the marks between letters: "vLLM", "TensorRT-LLM", "llama-cpp".
constexpr bool same_name(std::string_view a, std::string_view b) {
    const auto letter = [](std::string_view& rest) {
        while (!rest.empty()) {
            const char c = lower_case(rest.front());
            rest.remove_prefix(1);
            if (is_lower_or_digit(c)) return c;
        }
        return '\0';
    };
    for (char of_a = letter(a);; of_a = letter(a)) {
        if (of_a != letter(b)) return false;
        if (of_a == '\0') return true;
    }
}

/// Names of no version: that of the newest release, or of what was built since.
constexpr bool means_newest(std::string_view version) {
    return version.empty() || version == "latest" || version == "main" || version == "nightly";
}

}  // namespace detail

/// Other names of software, without letter case and marks, and the name of its profiles here. What drives PyTorch
/// through transformers' Trainer shares its profile, and what drives Megatron-Core Megatron's.
inline constexpr auto runtime_aliases = std::to_array<std::array<std::string_view, 2>>({
    {"trtllm", "tensorrt-llm"},
    {"tensorrt", "tensorrt-llm"},
    {"llamaserver", "llama.cpp"},
    {"peft", "huggingface"},
    {"trl", "huggingface"},
    {"hf", "huggingface"},
    {"trainer", "huggingface"},
    {"hftrainer", "huggingface"},
    {"trainerfsdp", "huggingface"},
    {"trainerwithfsdp", "huggingface"},
    {"accelerate", "huggingface"},
    {"axolotl", "huggingface"},
    {"llamafactory", "huggingface"},
    {"msswift", "huggingface"},
    {"swift", "huggingface"},
    {"autotrain", "huggingface"},
    {"verl", "huggingface"},
    {"openrlhf", "deepspeed"},
    {"nemoautomodel", "automodel"},
    {"nemomegatronbridge", "megatron"},
    {"nemo", "megatron"},
    {"megatronlm", "megatron"},
    {"megatroncore", "megatron"},
    {"megatronbridge", "megatron"},
    {"mcore", "megatron"},
    {"textgenerationinference", "tgi"},
});

namespace detail {

/// The driver of transformers' Trainer that a name says DeepSpeed shards ("TRL with DeepSpeed",
/// "llama-factory+deepspeed", "trainer-deepspeed"); empty for every other name.
constexpr std::string_view sharded_by_deepspeed(std::string_view name) {
    const auto take_off = [&name](std::string_view word) {
        while (!name.empty() && !is_lower_or_digit(lower_case(name.back()))) name.remove_suffix(1);
        if (name.size() <= word.size() || !same_name(name.substr(name.size() - word.size()), word)) return false;
        name.remove_suffix(word.size());
        return true;
    };
    if (!take_off("deepspeed")) return {};
    take_off("with");
    while (!name.empty() && !is_lower_or_digit(lower_case(name.back()))) name.remove_suffix(1);
    bool drives = same_name(name, "huggingface") || same_name(name, "transformers");
    for (const auto& [other, meant] : runtime_aliases)
        drives = drives || (meant == "huggingface" && same_name(other, name));
    return drives ? name : std::string_view{};
}

}  // namespace detail

/// What a name means for a job that trains, where it means something else for one that serves: under transformers the
/// model classes serve, and its Trainer trains.
inline constexpr auto training_names =
    std::to_array<std::array<std::string_view, 2>>({{"transformers", "huggingface"}});

/// Keys of a job document's runtime that only some software has, and its names with commas between them.
inline constexpr auto keys_of_some = std::to_array<std::array<std::string_view, 2>>({
    {"gpu_layers", "llama.cpp,ik_llama.cpp,ollama"},
    {"embedding_on_host", "llama.cpp,ik_llama.cpp,ollama"},
    {"experts_on_host", "llama.cpp,ik_llama.cpp,ollama"},
    {"split_rows", "llama.cpp,ik_llama.cpp"},
    {"ggml_backend", "llama.cpp,ik_llama.cpp,ollama"},
    {"largest_buffer", "llama.cpp,ik_llama.cpp,ollama"},
    {"narrow_loss", "huggingface"},
    {"holds_outputs", "huggingface"},
    {"fp32_stream", "huggingface"},
    {"fp32_adapters", "huggingface"},
    {"published_reference", "huggingface"},
    {"fused_adapters", "huggingface"},
    {"four_bit_keeps_inputs", "huggingface,litgpt"},
    {"use_reentrant", "huggingface"},
    {"sync_each_batch", "huggingface,litgpt,pytorch"},
    {"gradient_as_bucket_view", "huggingface,litgpt,pytorch"},
    {"checkpoints_inside_units", "huggingface"},
    {"fully_shard", "huggingface"},
    {"gradient_accumulation_fusion", "megatron"},
});

/// The names of the runtimes that have a key, with commas between them; empty: all have it.
constexpr std::string_view runtimes_with(std::string_view key) {
    for (const auto& [restricted, names] : keys_of_some)
        if (restricted == key) return names;
    return {};
}

/// Whether a runtime has a key of a job document.
constexpr bool has_key(const runtime& r, std::string_view key) {
    std::string_view names = runtimes_with(key);
    bool has = names.empty();
    while (!names.empty()) has = detail::taken_before(names, ",") == r.identity.name || has;
    return has;
}

/// Profiles that lie in another header than that of their own name, and its name.
inline constexpr auto headers_of_kin = std::to_array<std::array<std::string_view, 2>>({
    {"exllamav2", "exllama"},
    {"exllamav3", "exllama"},
    {"transformers", "huggingface_serving"},
    {"autoawq", "huggingface_serving"},
    {"ik_llama.cpp", "llama_cpp"},
    {"megatron_deepspeed", "deepspeed"},
    {"graph_trainer", "torchtitan"},
    {"none", "runtime"},
});

/// Software that has no profile, without letter case and marks, and what to name in its place: its kernels or its
/// sharding are its own, so that no profile is taken for it unsaid.
inline constexpr auto runtimes_without_profile = std::to_array<std::array<std::string_view, 2>>({
    {"liger", "huggingface or another runtime that trains, with loss fused_linear"},
    {"fsdp", "pytorch or torchtitan, with zero 3"},
    {"fsdp2", "pytorch or torchtitan, with zero 3"},
    {"ddp", "pytorch, with zero 0"},
    {"lightning", "litgpt for its models, or pytorch, which is nearest"},
    {"composer", "pytorch, which is nearest"},
    {"llmfoundry", "pytorch, which is nearest"},
    {"colossalai", "pytorch, which is nearest"},
    {"lmstudio", "llama.cpp or mlx, whichever it runs the model with"},
    {"jan", "llama.cpp, which it runs"},
    {"gpt4all", "llama.cpp, which it runs"},
    {"koboldcpp", "llama.cpp, of which it is a fork"},
    {"llamafile", "llama.cpp, which is in the file"},
    {"llamacpppython", "llama.cpp, which it runs"},
    {"ktransformers", "ik_llama.cpp, which is nearest: it keeps experts on the host, too"},
    {"nim", "vllm, tensorrt-llm or sglang, whichever the container runs"},
    {"dynamo", "vllm, sglang or tensorrt-llm, whichever its workers run"},
    {"triton", "tensorrt-llm or vllm, whichever backend it runs"},
    {"rayserve", "vllm, or what else its replicas run"},
    {"aphrodite", "vllm, of which it is a fork"},
});

/// The profile of that name for that version, or with that text of versions; the newest for an empty version, and for
/// "latest", "main" and "nightly". vLLM
/// could run its first engine (V0) up to 0.10 where asked to: "0.8.5 V0". Runtimes whose builds are told apart by their
/// date (torchtitan) take a date as well: "2025-03". An `unknown` error names the nearest names, or the versions there
/// are; `malformed` is what begins with no number, and a date of a runtime without dated builds.
constexpr result<runtime> find_runtime(std::string_view name, std::string_view asked, std::string_view field) {
    for (const auto& [other, meant] : runtime_aliases)
        if (detail::same_name(other, name)) return find_runtime(meant, asked, field);
    if (!detail::sharded_by_deepspeed(name).empty()) return find_runtime("deepspeed", asked, field);
    const maybe<runtime_version> numbered = read_version(asked);
    const maybe<runtime_version> date = read_date(asked);
    const bool first_engine =
        asked.size() > 2 && (asked.find("V0", 1) != asked.npos || asked.find("v0", 1) != asked.npos);
    text<191> versions{"a version: "};
    bool known = false;
    for (const runtime* r : runtimes::all) {
        if (!detail::same_name(r->identity.name, name)) continue;
        if (detail::means_newest(asked) || asked == r->identity.versions) return *r;
        if (date && r->identity.built != runtime_version{}) {
            if (r->identity.built <= *date) return *r;
            if (known) versions.append("; ");
            versions.append(r->identity.versions);
            known = true;
            continue;
        }
        if (!numbered)
            return refused(error_code::malformed, field, asked,
                           r->identity.built == runtime_version{}
                               ? "a version in numbers, such as 0.9.2 or b2824"
                               : "a version in numbers, such as 0.2, or the date of a build, such as 2025-03");
        const bool of_first = r->identity.versions.view().ends_with("(V0)");
        if (first_engine && of_first ? r->identity.since <= *numbered : !first_engine && covers(r->identity, *numbered))
            return *r;
        if (known) versions.append("; ");
        versions.append(r->identity.versions);
        known = true;
    }
    if (known) return refused(error_code::unknown, field, asked, versions);
    std::array<std::string_view, runtimes::all.size()> names{};
    std::size_t count = 0;
    for (const runtime* r : runtimes::all)
        if (count == 0 || names[count - 1] != r->identity.name) names[count++] = r->identity.name;
    for (const auto& [other, instead] : runtimes_without_profile)
        if (detail::same_name(other, name)) return refused(error_code::unknown, field, name, instead);
    const nearest_names alike = nearest(name, std::span{names.data(), count});
    return refused(error_code::unknown, field, name,
                   alike.empty() ? text<191>{"a runtime of `llmres runtimes`, such as vllm, llama.cpp or huggingface"}
                                 : such_as("a runtime", alike));
}

namespace detail {

/// Where the version begins that is written behind a name: behind "@", or behind "==", "-", ":" or a space where a
/// number comes ("0.9.2", "v0.9.2", "b2824"). The length of the name where there is none.
constexpr std::size_t version_in(std::string_view name) {
    const std::size_t at = name.find('@');
    if (at != name.npos) return at + 1;
    for (std::size_t i = 1; i < name.size(); ++i) {
        const char before = name[i - 1];
        if (before != '=' && before != '-' && before != ':' && before != ' ') continue;
        const bool marked = i + 1 < name.size() && (name[i] == 'v' || name[i] == 'b') && is_digit(name[i + 1]);
        if (is_digit(name[i]) || marked) return i;
    }
    return name.size();
}

}  // namespace detail

/// The same, written in one: "vllm", "vllm@0.9.2", "llama.cpp@b2824"; "vllm==0.9.2" and "vllm 0.9.2" as well.
constexpr result<runtime> find_runtime(std::string_view name, std::string_view field = "runtime") {
    const std::size_t version = detail::version_in(name);
    return version == name.size() && !name.ends_with('@')
               ? find_runtime(name, "", field)
               : find_runtime(name.substr(0, version - 1), name.substr(version), field);
}

}  // namespace llmres::inline v0
