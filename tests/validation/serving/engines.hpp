// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/runtimes/all.hpp>
#include <optional>
#include <string>

#include "../../csv.hpp"
#include "../words.hpp"

/// The engines of measured serving memory: each row's profile, by the engine's name and version.
namespace serving {

using namespace llmres;
using namespace words;

/// What an engine's log or table counts.
enum class counted {
    allocated,  ///< torch's max_memory_allocated, or the engine's own sum of buffers
    reserved,   ///< what its allocator holds
    device,     ///< nvidia-smi
    resident,   ///< what stays between steps: weights and cache (the Qwen3 tables, to 0.5 % at 30 000 tokens)
};

struct engine {
    runtime profile = no_runtime;
    serving_options options{};
    counted total = counted::device;
    bool known = true;
};

/// "vllm 0.17".
inline std::string label_of(const runtime& profile) {
    return std::string{profile.identity.name.view()} + " " + std::string{profile.identity.versions.view()};
}

/// Not known where the library has no profile of it.
inline engine engine_of(const csv::row& row);

/// The profile of a version; the newest where the version is none that the library knows.
inline runtime profile_of(const char* name, const std::string& version) {
    const auto found = find_runtime(name, version, "engine_version");
    const auto newest = find_runtime(name);
    return found ? *found : *newest;
}

inline engine vllm_of(const std::string& written) {
    const std::string v = version_in(written);
    if (v.empty()) {  // the year tells, and a table that names nothing is of 2024
        if (has(written, "2023")) return {runtimes::vllm_v0_2};
        if (has(written, "2025")) return {runtimes::vllm_v1_9};
        return {has(written, "2024") || written.empty() ? runtimes::vllm_v0_3 : runtimes::vllm};
    }
    if (has(written, "post1+")) return {runtimes::vllm_v0_6};  // what became 0.6.5
    return {profile_of("vllm", has(written, "V0") ? v + " V0" : v)};
}

/// The thread of ik_llama.cpp that a log lies in: these are numbered in time, as its pull requests are. Where that is
/// not so, none.
inline std::optional<std::int64_t> thread_of(const csv::row& row) {
    const std::string& url = row.at("source_url");
    if (!has(url, "ik_llama.cpp")) return {};
    return whole(url.substr(url.rfind('/') + 1));
}

/// What was current when a thread was opened. (Pull requests 405 and 520 changed which experts come from the host.)
inline runtime ik_llama_cpp_of(std::int64_t thread) {
    return thread < 405   ? runtimes::ik_llama_cpp_3682
           : thread < 520 ? runtimes::ik_llama_cpp_3744
                          : runtimes::ik_llama_cpp_4155;
}

inline engine llama_cpp_of(const csv::row& row, const std::string& name) {
    const std::string& version = row.at("engine_version");
    const std::string& source = row.at("source");
    const std::string& notes = row.at("notes");
    const bool ctransformers = has(name, "ctransformers");
    runtime r = runtimes::llama_cpp_2025;
    if (has(version, "build ")) r = profile_of("llama.cpp", version.substr(version.find("build ") + 6));
    if (has(version, "2023") || ctransformers) r = runtimes::llama_cpp_2023;
    if (has(version, "2024") && !ctransformers) r = runtimes::llama_cpp_2024;
    if (const auto thread = thread_of(row)) {
        if (has(name, "ik_llama"))
            r = ik_llama_cpp_of(*thread);
        else if (*thread < 330)
            r = runtimes::llama_cpp_2024;  // opened before 15 April 2025: b5140
        else if (*thread < 440)
            r = runtimes::llama_cpp_5426;  // 20 May 2025: b5427
    }
    if (has(notes, "flash_attn=1")) r.serving_kernels.flash_attention = true;
    if (has(notes, "flash_attn=0")) r.serving_kernels.flash_attention = false;
    return {.profile = r,
            .options = {.experts_on_host = has(notes, "on CPU")},
            .total = has(source, "premAI") || has(source, "oobabooga") ? counted::device : counted::allocated};
}

/// Programs that are PyTorch and transformers, or near enough.
inline bool is_transformers(const std::string& name) {
    for (const char* of : {"hf", "transformers", "awq", "gptq", "litgpt", "mlx", "lightning", "tinychat", "gpt-fast"})
        if (has(name, of)) return true;
    return false;
}

inline engine transformers_of(const csv::row& row, const std::string& name) {
    const std::string& version = row.at("engine_version");
    const std::string& source = row.at("source");
    const auto is = [&](const char* part) { return has(name, part); };
    const auto from = [&](const char* part) { return has(source, part); };

    // A version that is not given is the one current when the table was made: its other entries tell.
    const bool early = has(version, "torch2.0") || from("DeepSeek-LLM") || from("Baichuan") || from("premAI") ||
                       from("AutoAWQ") || from("Qwen (v1)");
    const bool at_once = version.empty()       ? !early
                         : has(version, "4.4") ? to_version(version_in(version)) >= runtime_version{4, 45}
                                               : has(version, "4.5");
    const bool last_only = at_once || is("litgpt") || is("mlx") || is("gpt-fast") || is("gptq");
    const runtime newest = has(version, "4.46") ? runtimes::transformers_4_49 : runtimes::transformers;
    runtime r = last_only ? newest : early ? runtimes::transformers_4_35 : runtimes::transformers_4_41;
    if (is("autoawq") || is("tinychat")) r = profile_of("autoawq", version_in(version));

    const bool peak =
        from("speed benchmark") || from("AutoAWQ README") || is("litgpt") || is("mlx") || from("GPTQ-for");
    counted what = peak ? counted::allocated : counted::device;
    if (from("Qwen3 docs")) what = counted::resident;
    if (from("Qwen (v1)") || from("DeepSeek-LLM")) what = counted::reserved;
    return {.profile = r, .total = what};
}

inline engine engine_of(const csv::row& row) {
    const std::string name = lower(row.at("engine"));
    const std::string& version = row.at("engine_version");
    const auto is = [&](const char* part) { return has(name, part); };
    if (is("vllm") && !is("fork")) return vllm_of(version);
    const bool numbered = !version_in(version).empty();  // else the year tells
    if (is("sglang"))
        return {numbered               ? profile_of("sglang", version_in(version))
                : has(version, "2024") ? runtimes::sglang_0_4
                : has(version, "2025") ? runtimes::sglang_0_5_2
                                       : runtimes::sglang};
    if (is("tensorrt") || is("optimum nvidia"))
        return {numbered                                       ? profile_of("tensorrt-llm", version_in(version))
                : has(version, "2025") || has(version, "2026") ? runtimes::tensorrt_llm
                                                               : runtimes::tensorrt_llm_0};
    if (is("ctranslate")) return {runtimes::ctranslate2};
    if (is("lmdeploy")) return {runtimes::lmdeploy};
    if (is("exllamav2")) return {runtimes::exllamav2_2023};  // 0.0.6 and 0.0.19
    if (is("exllama"))                                       // its README's figures are test_benchmark_inference.py's
        return {.profile = runtimes::exllama_v1,
                .total = has(row.at("source"), "README") ? counted::allocated : counted::device};
    if ((is("llama") || is("ctransformers")) && !is("gptq")) return llama_cpp_of(row, name);
    if (is_transformers(name)) return transformers_of(row, name);
    return {.profile = no_runtime, .total = counted::device, .known = false};
}

}  // namespace serving
