// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <llmres/runtimes/formats.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>
#include <string_view>

/// The knobs of a profile: under the names that its software has for them, and whether they are within their bounds.
namespace llmres::inline v0 {

/// A format that the engine cannot load, by name; a fraction above one or none at all.
constexpr status validate(const runtime& r, const precision& weights, bool gguf_file) {
    if (!loads(r, gguf_file ? format_family::gguf : family_of(weights))) {
        text<191> expected{"a format that "};
        expected.append(r.identity.name);
        expected.append(" loads");
        if (r.identity.name == "llama.cpp" || r.identity.name == "ollama" || r.identity.name == "ik_llama.cpp")
            expected.append(": GGUF's own or a plain one");
        return refused(error_code::unsupported, "weights", gguf_file ? std::string_view{"gguf"} : weights.name.view(),
                       expected);
    }
    if (r.cache.fraction && !(*r.cache.fraction > 0.0 && *r.cache.fraction <= 1.0)) {
        const double percent = *r.cache.fraction * 100.0;
        text<95> value =
            percent > -1e9 && percent < 1e9 ? detail::digits(static_cast<std::int64_t>(percent)) : text<95>{"?"};
        value.append(" %");
        text<63> field{"runtime."};
        field.append(r.cache.fraction_name);
        return refused(error_code::out_of_range, field, value, "a part of the memory: above 0, at most 1");
    }
    using detail::bounded_field;
    constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
    return detail::all_in_range(
        std::array{bounded_field{"runtime.max_batched_tokens", r.step.max_batched_tokens.in(tokens), 0, most_tokens},
                   bounded_field{"runtime.max_num_seqs", r.options.max_num_seqs, 0, 1 << 24},
                   bounded_field{"runtime.max_loras", r.options.max_loras, 0, 1 << 16},
                   bounded_field{"runtime.max_lora_rank", r.options.max_lora_rank, 1, 1 << 16},
                   bounded_field{"runtime.kv_block", r.cache.block.in(tokens), 0, 1 << 24},
                   bounded_field{"runtime.gpu_layers", r.options.gpu_layers.value_or(0), 0, 1 << 16},
                   bounded_field{"runtime.n_cpu_moe", r.options.host_expert_layers, 0, 1 << 16},
                   bounded_field{"runtime.encoder_tokens", r.options.encoder_tokens.in(tokens), 0, most_tokens}});
}

/// Sets a knob under the engine's own name, as its command line spells it without the dashes. Errors: a name that the
/// engine does not have. (What the value may be is validate()'s.)
constexpr status set_knob(runtime& r, std::string_view name, double value);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The integer part, saturated: what is too much is still too much when it is validated.
template <class Integer>
constexpr Integer whole_part(double number) {
    constexpr auto least = std::numeric_limits<Integer>::min(), most = std::numeric_limits<Integer>::max();
    if (!(number < static_cast<double>(most))) return most;
    return number > static_cast<double>(least) ? static_cast<Integer>(number) : least;
}

/// A knob of an engine, or of each that runs ggml's graphs ("ggml"), or of all ("").
struct knob {
    std::string_view software;
    std::string_view name;
    void (*set)(llmres::runtime&, double value);
};

inline constexpr std::array knobs = [] {
    constexpr auto step = [](runtime& r, double value) {
        set_batched_tokens(r.step, tokens(whole_part<std::int64_t>(value)));
    };
    constexpr auto sequences = [](runtime& r, double value) {
        r.options.max_num_seqs = whole_part<std::int64_t>(value);
    };
    constexpr auto block = [](runtime& r, double value) { r.cache.block = tokens(whole_part<std::int64_t>(value)); };
    constexpr auto gpu_layers = [](runtime& r, double value) {
        r.options.gpu_layers = whole_part<std::int32_t>(value);
    };
    constexpr auto no_graphs = [](runtime& r, double value) {
        if (value != 0) r.process.cuda_graphs = r.process.layer_graphs = {};
    };
    return std::array{
        knob{"", "max_batched_tokens", step},
        knob{"vllm", "max_num_batched_tokens", step},
        knob{"sglang", "chunked_prefill_size", step},
        knob{"tensorrt-llm", "max_num_tokens", step},
        knob{"lmdeploy", "max_prefill_token_num", step},
        knob{"tgi", "max_batch_prefill_tokens", step},
        knob{"exllama", "max_input_len", step},
        knob{"exllamav2", "max_input_len", step},
        knob{"exllamav3", "max_chunk_size", step},
        knob{"ollama", "num_batch", step},
        knob{"ggml", "ubatch_size", step},

        knob{"", "max_num_seqs", sequences},
        knob{"tensorrt-llm", "max_batch_size", sequences},
        knob{"lmdeploy", "max_batch_size", sequences},
        knob{"ggml", "parallel", sequences},

        knob{"vllm", "block_size", block},
        knob{"sglang", "page_size", block},
        knob{"tensorrt-llm", "tokens_per_block", block},
        knob{"lmdeploy", "cache_block_seq_len", block},

        knob{"vllm", "max_loras",
             [](runtime& r, double value) { r.options.max_loras = whole_part<std::int64_t>(value); }},
        knob{"vllm", "max_lora_rank",
             [](runtime& r, double value) { r.options.max_lora_rank = whole_part<std::int64_t>(value); }},
        knob{"vllm", "enforce_eager", no_graphs},
        knob{"sglang", "disable_cuda_graph", no_graphs},

        knob{"ggml", "n_gpu_layers", gpu_layers},
        knob{"ollama", "num_gpu", gpu_layers},
        knob{"ggml", "flash_attn", [](runtime& r, double value) { r.serving_kernels.flash_attention = value != 0; }},
        knob{"ggml", "swa_full",
             [](runtime& r, double value) {
                 r.cache.windows = value != 0 ? window_cells::whole : window_cells::window_batch;
             }},
        knob{"ggml", "cpu_moe",
             [](runtime& r, double value) {
                 r.options.experts_on_host = value != 0;
                 r.options.host_expert_layers = 0;
             }},
        knob{"ggml", "n_cpu_moe",
             [](runtime& r, double value) {
                 r.options.host_expert_layers = whole_part<std::int32_t>(value);
                 r.options.experts_on_host = r.options.host_expert_layers > 0;
             }},
        knob{
            "ik_llama.cpp", "attn_max_batch",
            [](runtime& r, double value) { r.serving_kernels.latent.expanded = mib(whole_part<std::int64_t>(value)); }},
    };
}();

}  // namespace detail

constexpr status set_knob(runtime& r, std::string_view name, double value) {
    if (takes_fraction(r.cache) && name == r.cache.fraction_name.view()) {
        r.cache.fraction = value;
        return done{};
    }
    const bool ggml = r.serving_kernels.fp32_activations;
    for (const detail::knob& k : detail::knobs) {
        if (name != k.name || !(k.software.empty() || r.identity.name == k.software || (ggml && k.software == "ggml")))
            continue;
        k.set(r, value);
        return done{};
    }
    text<63> field{"runtime."};
    field.append(name);
    text<191> expected{"a knob of "};
    expected.append(r.identity.name);
    if (takes_fraction(r.cache)) {
        expected.append(", such as ");
        expected.append(r.cache.fraction_name);
    }
    return refused(error_code::unknown, field, name, expected);
}

}  // namespace llmres::inline v0
