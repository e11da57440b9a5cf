// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <string_view>

/// Which formats of weights an engine loads, and a profile's knobs: under the engine's own names, and whether they are
/// within their bounds.
namespace llmres::inline v0 {

/// Formats that engines support together.
enum class format_family : std::uint8_t {
    plain,
    eight_bit_float,
    eight_bit,
    microscaling,
    gptq_words,
    awq_words,
    packed,
    bitsandbytes,
    gguf,
    gguf_ik,  ///< GGUF types of ik_llama.cpp
    exllama2,
    exllama3,
    half_quadratic,
};

constexpr format_family family_of(const precision& format) {
    if (is_wide(format)) return format_family::plain;  // most are, and need no name read
    struct beginning {
        std::string_view begins;
        format_family family;
    };
    constexpr std::array known{beginning{"fp8", format_family::eight_bit_float},
                               beginning{"int8", format_family::eight_bit},
                               beginning{"mxfp4_gguf", format_family::gguf},
                               beginning{"nvfp4_gguf", format_family::gguf},
                               beginning{"mxfp", format_family::microscaling},
                               beginning{"nvfp4", format_family::microscaling},
                               beginning{"gptq", format_family::gptq_words},
                               beginning{"awq", format_family::awq_words},
                               beginning{"packed", format_family::packed},
                               beginning{"bnb", format_family::bitsandbytes},
                               beginning{"nf4", format_family::bitsandbytes},
                               beginning{"fp4", format_family::bitsandbytes},
                               beginning{"exl2", format_family::exllama2},
                               beginning{"exl3", format_family::exllama3},
                               beginning{"hqq", format_family::half_quadratic},
                               beginning{"iq", format_family::gguf},
                               beginning{"q", format_family::gguf},
                               beginning{"tq", format_family::gguf}};
    const std::string_view name = format.name.view();
    if (name == "q6_0" || (name.starts_with("iq") && (name.substr(3, 2) == "_k" || name.ends_with("_r4"))))
        return format_family::gguf_ik;
    for (const beginning& p : known)
        if (!name.empty() && name[0] == p.begins[0] && name.starts_with(p.begins)) return p.family;
    return format_family::plain;
}

/// True if the engine has kernels for weights of that format: every engine for plain ones. Profiles of no engine load
/// everything.
constexpr bool loads(const runtime& r, format_family family) {
    using f = format_family;
    if (family == f::plain) return true;
    const auto any = [&](auto... listed) { return ((family == listed) || ...); };
    const std::string_view name = r.identity.name.view();
    if (name == "vllm") return !any(f::exllama2, f::exllama3, f::gguf_ik);
    if (name == "sglang") return !any(f::exllama2, f::exllama3, f::gguf_ik, f::half_quadratic);
    if (name == "ik_llama.cpp") return any(f::gguf, f::gguf_ik);
    if (name == "llama.cpp" || name == "ollama") return any(f::gguf);
    if (name == "tensorrt-llm")
        return any(f::eight_bit_float, f::eight_bit, f::microscaling, f::gptq_words, f::awq_words);
    if (name == "transformers")
        return !any(f::gguf, f::gguf_ik, f::exllama2, f::exllama3);  // it unpacks GGUF files to 32 bits first
    if (name == "autoawq") return any(f::awq_words);
    if (name == "lmdeploy") return any(f::eight_bit_float, f::eight_bit, f::microscaling, f::gptq_words, f::awq_words);
    if (name == "exllama" || name == "exllamav2") return any(f::gptq_words, f::exllama2, f::exllama3);
    if (name == "exllamav3") return any(f::exllama3);
    if (name == "ctranslate2") return any(f::eight_bit);
    if (name == "tgi")
        return any(f::eight_bit_float, f::gptq_words, f::awq_words, f::packed, f::bitsandbytes, f::exllama2);
    return true;
}

}  // namespace llmres::inline v0
