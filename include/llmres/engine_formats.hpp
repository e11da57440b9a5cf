// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/precision.hpp>
#include <llmres/runtime.hpp>
#include <string_view>

/// Which formats of weights an engine loads, and whether a profile's knobs are within their bounds.
namespace llmres {

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
    constexpr std::array known{beginning{"fp8", format_family::eight_bit_float},           beginning{"int8", format_family::eight_bit},
                               beginning{"mxfp4_gguf", format_family::gguf},   beginning{"nvfp4_gguf", format_family::gguf},
                               beginning{"mxfp", format_family::microscaling}, beginning{"nvfp4", format_family::microscaling},
                               beginning{"gptq", format_family::gptq_words},         beginning{"awq", format_family::awq_words},
                               beginning{"packed", format_family::packed},     beginning{"bnb", format_family::bitsandbytes},
                               beginning{"nf4", format_family::bitsandbytes},  beginning{"fp4", format_family::bitsandbytes},
                               beginning{"exl2", format_family::exllama2},         beginning{"exl3", format_family::exllama3},
                               beginning{"hqq", format_family::half_quadratic},           beginning{"iq", format_family::gguf},
                               beginning{"q", format_family::gguf},            beginning{"tq", format_family::gguf}};
    const std::string_view name = format.name.view();
    if (name == "q6_0" || (name.starts_with("iq") && (name.substr(3, 2) == "_k" || name.ends_with("_r4")))) return format_family::gguf_ik;
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
    const std::string_view name = r.name.view();
    if (name == "vllm") return !any(f::exllama2, f::exllama3, f::gguf_ik);
    if (name == "sglang") return !any(f::exllama2, f::exllama3, f::gguf_ik, f::half_quadratic);
    if (name == "ik_llama.cpp") return any(f::gguf, f::gguf_ik);
    if (name == "llama.cpp" || name == "ollama") return any(f::gguf);
    if (name == "tensorrt-llm") return any(f::eight_bit_float, f::eight_bit, f::microscaling, f::gptq_words, f::awq_words);
    if (name == "transformers") return !any(f::gguf, f::gguf_ik, f::exllama2, f::exllama3);  // it unpacks GGUF files to 32 bits first
    if (name == "autoawq") return any(f::awq_words);
    if (name == "lmdeploy") return any(f::eight_bit_float, f::eight_bit, f::microscaling, f::gptq_words, f::awq_words);
    if (name == "exllama" || name == "exllamav2") return any(f::gptq_words, f::exllama2, f::exllama3);
    if (name == "exllamav3") return any(f::exllama3);
    if (name == "ctranslate2") return any(f::eight_bit);
    if (name == "tgi") return any(f::eight_bit_float, f::gptq_words, f::awq_words, f::packed, f::bitsandbytes, f::exllama2);
    return true;
}

/// A format that the engine cannot load, by name; a fraction above one or none at all.
constexpr status validate(const runtime& r, const precision& weights, bool gguf_file) {
    if (!loads(r, gguf_file ? format_family::gguf : family_of(weights))) {
        text<191> expected{"a format that "};
        expected.append(r.name);
        expected.append(" loads");
        if (r.name == "llama.cpp" || r.name == "ollama" || r.name == "ik_llama.cpp") expected.append(": GGUF's own or a plain one");
        return refused(error_code::unsupported, "weights", gguf_file ? std::string_view{"gguf"} : weights.name.view(), expected);
    }
    if (r.gpu_memory_utilization && !(*r.gpu_memory_utilization > 0.0 && *r.gpu_memory_utilization <= 1.0)) {
        const double percent = *r.gpu_memory_utilization * 100.0;
        text<95> value = percent > -1e9 && percent < 1e9 ? detail::digits(static_cast<std::int64_t>(percent)) : text<95>{"?"};
        value.append(" %");
        text<63> field{"runtime."};
        field.append(r.fraction_name);
        return refused(error_code::out_of_range, field, value, "a part of the memory: above 0, at most 1");
    }
    if (const status s = in_range("runtime.max_num_seqs", r.max_num_seqs, 0, std::int64_t{1} << 24); !s) return s;
    if (const status s = in_range("runtime.max_loras", r.max_loras, 0, 1 << 16); !s) return s;
    if (const status s = in_range("runtime.max_lora_rank", r.max_lora_rank, 1, 1 << 16); !s) return s;
    if (const status s = in_range("runtime.kv_block", r.kv_block.in(tokens), 0, 1 << 24); !s) return s;
    return in_range("runtime.gpu_layers", r.gpu_layers.value_or(0), 0, 1 << 16);
}

/// Sets a knob under the engine's own name, as its command line spells it without the dashes. Errors: a name that the engine
/// does not have. (What the value may be is validate()'s.)
constexpr status set_knob(runtime& r, std::string_view name, double value) {
    const std::string_view engine = r.name.view();
    const auto whole = static_cast<std::int64_t>(value);
    const bool ggml = r.fp32_activations;
    const auto is = [&](std::string_view of, std::string_view knob) { return engine == of && name == knob; };
    if (takes_fraction(r) && name == r.fraction_name.view()) {
        r.gpu_memory_utilization = value;
    } else if (name == "max_batched_tokens" || is("vllm", "max_num_batched_tokens") || is("sglang", "chunked_prefill_size") ||
               is("tensorrt-llm", "max_num_tokens") || is("lmdeploy", "max_prefill_token_num") ||
               is("tgi", "max_batch_prefill_tokens") || is("exllama", "max_input_len") || is("exllamav2", "max_input_len") || is("ollama", "num_batch") || is("exllamav3", "max_chunk_size") ||
               (ggml && name == "ubatch_size")) {
        set_batched_tokens(r, tokens(whole));
    } else if (name == "max_num_seqs" || is("tensorrt-llm", "max_batch_size") || is("lmdeploy", "max_batch_size") ||
               (ggml && name == "parallel")) {
        r.max_num_seqs = whole;
    } else if (is("vllm", "block_size") || is("sglang", "page_size") || is("tensorrt-llm", "tokens_per_block") ||
               is("lmdeploy", "cache_block_seq_len")) {
        r.kv_block = tokens(whole);
    } else if (is("vllm", "max_loras")) {
        r.max_loras = whole;
    } else if (is("vllm", "max_lora_rank")) {
        r.max_lora_rank = whole;
    } else if (is("vllm", "enforce_eager") || is("sglang", "disable_cuda_graph")) {
        if (value != 0) r.cuda_graphs = r.layer_graphs = {};
    } else if (ggml && (name == "n_gpu_layers" || is("ollama", "num_gpu"))) {
        r.gpu_layers = static_cast<std::int32_t>(whole);
    } else if (ggml && name == "flash_attn") {
        r.flash_attention = value != 0;
    } else if (ggml && name == "swa_full") {
        r.windows = value != 0 ? window_cells::whole : window_cells::window_batch;
    } else if (is("ik_llama.cpp", "attn_max_batch")) {
        r.latent_expanded = mib(whole);
    } else if (ggml && name == "cpu_moe") {
        r.experts_on_host = value != 0;
        r.host_expert_layers = 0;
    } else if (ggml && name == "n_cpu_moe") {
        r.experts_on_host = whole > 0;
        r.host_expert_layers = static_cast<std::int32_t>(whole);
    } else {
        text<63> field{"runtime."};
        field.append(name);
        text<191> expected{"a knob of "};
        expected.append(engine);
        if (takes_fraction(r)) {
            expected.append(", such as ");
            expected.append(r.fraction_name);
        }
        return refused(error_code::unknown, field, name, expected);
    }
    return done{};
}

}  // namespace llmres
