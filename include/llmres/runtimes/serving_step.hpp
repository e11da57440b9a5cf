// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What a runtime computes in one step when serving: how many tokens and sequences, and which logits.
namespace llmres::inline v0 {

/// Positions whose logits over the vocabulary are alive at once.
enum class scored_tokens : std::uint8_t {
    last,      ///< one for each sequence of the job
    profiled,  ///< one for each sequence that the runtime admits: its profiling run computes max_num_seqs
    chunk,     ///< all tokens computed in one step
    prompt,    ///< all tokens of all prompts
};

/// Images that a runtime's profiling run makes for models with a vision tower.
enum class profiled_images : std::uint8_t {
    none,
    tower,  ///< as many of the largest as make the tokens of a step, and at least one, pass the tower
    whole,  ///< one of the largest passes the tower, and its tokens the layers
};

/// What a runtime takes by default on devices of a size and more.
struct device_default {
    byte_count from{};  ///< The memory from which on devices are of this class; 0: there is no such class.
    token_count max_batched_tokens{};  ///< Prompt tokens in one step on such devices; 0: as on smaller ones.
    /// Sequences in one step on such devices; 0: as on smaller ones. Unit: sequences.
    std::int64_t max_num_seqs = 0;
    /// Tokens of a sequence where nobody says how many, on such GPUs together; 0: as on smaller ones.
    token_count context{};
};

/// Up to three such classes, ascending.
constexpr std::array<device_default, 3> device_classes(device_default first = device_default{},
                                                       device_default second = device_default{},
                                                       device_default third = device_default{}) {
    return {first, second, third};
}

/// Models that a runtime scores in another way than the others.
enum class plain_models : std::uint8_t {
    dense,           ///< those without routed experts and recurrences
    qwen3,           ///< Qwen3 with weights of 16 bits and more (vLLM 0.22)
    three,           ///< and Llama and Mistral with such (vLLM 0.23)
    six,             ///< these three with any weights, and DeepSeek-V2, Granite and Qwen2 with experts (vLLM 0.24)
    dense_and_some,  ///< dense ones, and those with experts of the six (vLLM 0.25 to 0.28)
    all,             ///< all (vLLM from 0.29 on)
};

/// True if a model is such. `dense`: it has neither routed experts nor recurrences; `wide`: weights of 16 bits and
/// more.
constexpr bool is_plain(plain_models some, std::string_view architecture, bool dense, bool wide) {
    const bool three = architecture == "llama" || architecture == "mistral" || architecture == "qwen3";
    const bool with_experts =
        architecture == "deepseek_v2" || architecture == "granitemoe" || architecture == "qwen2_moe";
    switch (some) {
        case plain_models::dense: return dense;
        case plain_models::qwen3: return dense && wide && architecture == "qwen3";
        case plain_models::three: return dense && wide && three;
        case plain_models::six: return three || with_experts;
        case plain_models::dense_and_some: return dense || with_experts;
        default: return true;
    }
}

/// The logits of a step, and what the sampler makes of them. Bytes are of one logit: one position and one word of the
/// vocabulary.
struct serving_logits {
    scored_tokens rows = scored_tokens::last;  ///< Tokens whose logits are computed.
    /// Bytes that are alive for each logit, the sampler's sort included. Unit: bytes a logit.
    interval<double> bytes{6.0, 6.0, 6.0};
    /// Bytes for each logit where the context passes chunked_beyond; 0: the same. Unit: bytes a logit.
    interval<double> chunked_bytes{};
    /// Bytes for each logit of `plainly_scored` models; 0: the same. Unit: bytes a logit.
    interval<double> dense_bytes{};
    plain_models plainly_scored = plain_models::dense;  ///< Models whose logits take `dense_bytes`.
    /// Further bytes for each logit where fewer than 128 rows are computed. Unit: bytes a logit.
    double few_rows_bytes = 0.0;
    std::int32_t hidden_vectors = 0;  ///< Vectors of the hidden width that are alive beside each row. Unit: vectors.
    /// Rows of fp32 logits that a kernel filters in, where 8 and more rows are computed: one for each multiprocessor.
    /// Unit: rows.
    std::int32_t filter_rows = 0;
    /// Local memory of each thread of that kernel beyond 1 KiB, where the vocabulary is no multiple of four. Local
    /// memory of each thread of that kernel beyond the KiB that a context holds for every thread a GPU runs, where rows
    /// of logits do not begin at multiples of 16 bytes (a vocabulary that is no multiple of four).
    interval<byte_count> filter_stack{};
    /// GPUs that compute layers in turn return the logits, in fp32, to the first GPU. (accelerate.)
    bool on_first_gpu = false;
    /// The logits of each new token are copied to main memory, where the CPU samples. (llama.cpp, llama-context.cpp:
    /// ggml_backend_tensor_get_async of t_logits.)
    bool to_host = false;
};

/// The largest step that a runtime computes.
struct serving_step {
    token_count max_batched_tokens{};  ///< Prompt tokens in one step; 0: a whole prompt.
    /// An encoder computes each text whole, so that a step has room for the longest.
    bool whole_encoded = false;
    /// Sequences in one step where the caller names no other number; 0: those of the job. Unit: sequences.
    std::int64_t max_num_seqs = 0;
    token_count context{};  ///< Tokens that a sequence may reach where nobody says how many; 0: the model's longest.
    /// The defaults of these on devices from a size on, ascending.
    std::array<device_default, 3> larger_devices = device_classes();
    bool a100_is_small = false;  ///< larger_devices leaves the A100 out. (vLLM.)
    /// Contexts up to this length are computed whole, in at least 2048 tokens; 0: always in chunks.
    token_count chunked_beyond{};
    /// The runtime computes the largest step at start, and reserves its peak whatever the job is.
    bool profiles = false;
    profiled_images images = profiled_images::none;  ///< Images of that profiling run.
    /// Copies of inputs and masks where pipeline stages compute micro-batches in turn. Unit: copies. (ggml:
    /// GGML_SCHED_MAX_COPIES.)
    std::int32_t copies = 1;
    serving_logits logits{};  ///< The logits of a step.
};

/// Bytes that are alive for each logit of a step that computes so many rows. `in_chunks`: the prompt passes in chunks
/// because the context is longer than `chunked_beyond`; `plain`: the model is one of `plainly_scored`.
constexpr interval<double> bytes_of_logit(const serving_logits& l, std::int64_t rows, bool in_chunks, bool plain) {
    if (in_chunks && l.chunked_bytes.high > 0) return l.chunked_bytes;
    if (plain && l.dense_bytes.high > 0) return l.dense_bytes;
    interval<double> each = l.bytes;
    if (l.few_rows_bytes > 0 && rows < 128) each.expected += l.few_rows_bytes, each.high += l.few_rows_bytes;
    return each;
}

/// A step with the defaults that the runtime takes on a device of that size. `a100`: the device is an A100.
constexpr serving_step step_on(serving_step s, byte_count device, bool a100) {
    for (const device_default& d : s.larger_devices) {
        if (d.from <= byte_count{} || device < d.from || (s.a100_is_small && a100)) break;
        if (d.max_batched_tokens > token_count{}) s.max_batched_tokens = d.max_batched_tokens;
        if (d.max_num_seqs > 0) s.max_num_seqs = d.max_num_seqs;
        if (d.context > token_count{}) s.context = d.context;
    }
    return s;
}

/// Names the tokens of a step, whatever the device.
constexpr void set_batched_tokens(serving_step& s, token_count step) {
    s.max_batched_tokens = step;
    if (s.chunked_beyond > step) s.chunked_beyond = step;
    for (device_default& d : s.larger_devices) d.max_batched_tokens = {};
}

}  // namespace llmres::inline v0
