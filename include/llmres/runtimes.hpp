// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/error.hpp>
#include <llmres/nearest.hpp>
#include <llmres/runtime.hpp>
#include <llmres/runtimes/ctranslate2.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/exllama.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/litgpt.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/lmdeploy.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/ollama.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/tgi.hpp>
#include <llmres/runtimes/torchtitan.hpp>
#include <llmres/runtimes/torchtune.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <span>
#include <string_view>

/// All runtime profiles, and how to find one by name and version.
namespace llmres {

namespace runtimes {

/// Each engine's profiles stand together, the newest first.
inline constexpr std::array all{&no_runtime,       &pytorch,        &vllm,           &vllm_v2_24,     &vllm_v1_20,   &vllm_v1_18,
                                &vllm_v1_17,       &vllm_v1_11,     &vllm_v1_9,      &vllm_v1,        &vllm_v0_7,      &vllm_v0_6,    &vllm_v0,
                                &vllm_v0_3,        &vllm_v0_2,      &sglang,         &sglang_0_5_2,   &sglang_0_4,   &tensorrt_llm, &tensorrt_llm_0,
                                &llama_cpp,        &llama_cpp_9479, &llama_cpp_6929, &llama_cpp_2025, &llama_cpp_5426, &llama_cpp_2024, &llama_cpp_2023, &ik_llama_cpp, &ik_llama_cpp_4155, &ik_llama_cpp_3744, &ik_llama_cpp_3682, &ollama, &ollama_0_30, &ollama_0_29,
                                &transformers,     &transformers_4_49, &transformers_4_44, &transformers_4_41, &transformers_4_35, &autoawq, &autoawq_0_1, &lmdeploy,    &exllama,
                                &exllama_v1,       &exllamav2,       &exllamav2_2023, &exllamav3,       &tgi,             &ctranslate2,             &huggingface,      &huggingface_4_57, &huggingface_4_49, &huggingface_4_45, &huggingface_4_42, &litgpt,      &torchtune,      &torchtitan,
                                &torchtitan_0_2,   &torchtitan_0_1,  &torchtitan_0_0,  &graph_trainer,
                                &deepspeed,        &megatron};

}  // namespace runtimes

namespace detail {

/// Names are the same whatever the case and the marks between letters: "vLLM", "TensorRT-LLM", "llama-cpp".
constexpr bool same_name(std::string_view a, std::string_view b) {
    const auto letter = [](std::string_view& rest) {
        while (!rest.empty()) {
            const char c = rest.front();
            rest.remove_prefix(1);
            if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
            if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return c;
        }
        return '\0';
    };
    for (char of_a = letter(a);; of_a = letter(a)) {
        if (of_a != letter(b)) return false;
        if (of_a == '\0') return true;
    }
}

}  // namespace detail

/// The profile of that name for that version; the newest for an empty version. vLLM ran its first engine up to 0.10 where
/// asked to: "0.8.5 V0". An `unknown` error names the nearest names, or the versions there are; `malformed` is what begins
/// with no number, and a date.
constexpr result<runtime> find_runtime(std::string_view name, std::string_view asked, std::string_view field) {
    const maybe<engine_version> version = read_version(asked);
    const bool first_engine = asked.size() > 2 && (asked.find("V0", 1) != asked.npos || asked.find("v0", 1) != asked.npos);
    text<191> versions{"a version: "};
    bool known = false;
    for (const runtime* r : runtimes::all) {
        if (!detail::same_name(r->name, name)) continue;
        if (asked.empty()) return *r;
        if (!version) return refused(error_code::malformed, field, asked, "a version in numbers, such as 0.9.2 or b2824");
        const bool of_first = r->versions.view().ends_with("(V0)");
        if (first_engine && of_first ? r->since <= *version : !first_engine && covers(*r, *version)) return *r;
        if (known) versions.append("; ");
        versions.append(r->versions);
        known = true;
    }
    if (known) return refused(error_code::unknown, field, asked, versions);
    std::array<std::string_view, runtimes::all.size()> names{};
    std::size_t count = 0;
    for (const runtime* r : runtimes::all)
        if (count == 0 || names[count - 1] != r->name) names[count++] = r->name;
    return refused(error_code::unknown, field, name, such_as("a runtime", nearest(name, std::span{names.data(), count})));
}

/// The same, written in one: "vllm", "vllm@0.9.2", "llama.cpp@b2824".
constexpr result<runtime> find_runtime(std::string_view name, std::string_view field = "runtime") {
    const std::size_t at = name.find('@');
    if (at == std::string_view::npos) return find_runtime(name, "", field);
    return find_runtime(name.substr(0, at), name.substr(at + 1), field);
}

}  // namespace llmres
