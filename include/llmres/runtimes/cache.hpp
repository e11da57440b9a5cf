// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// Allocation of a runtime's KV cache: from which part of the device, in which blocks, for which tokens; and the
/// choices of a runtime when it starts and nobody named them.
namespace llmres::inline v0 {

/// How a runtime comes by the memory of its cache.
enum class cache_pool : std::uint8_t {
    grows,               ///< with each token, or for this job exactly
    allotted,            ///< at start, for all sequences at their full context, as one run of cells (llama.cpp)
    share_of_total,      ///< what weights and a profiling run leave of a fraction of the device (vLLM)
    share_with_weights,  ///< weights and cache are a fraction of what was free at start (SGLang)
    share_of_free,       ///< a fraction of what is free once all else is allocated (TensorRT-LLM, LMDeploy)
};

/// Tokens that are kept of a layer with sliding-window attention.
enum class window_cells : std::uint8_t {
    window,        ///< the window
    whole,         ///< the whole context
    window_batch,  ///< the window, and the tokens computed in one step (llama.cpp)
    longer_part,   ///< prompt or output, whichever is longer: older tokens roll out of the cache (AutoAWQ to 0.1)
    grouped,       ///< blocks of the pool's groups, with room for tokens in flight (memory/block_pool.hpp; vLLM)
};

/// Steps whose tokens a windowed layer of a pool of groups has room for, beside its window.
enum class steps_in_flight : std::uint8_t {
    one,           ///< one, whatever runs at once (vLLM to 0.25)
    stages,        ///< one for each stage of a pipeline (vLLM from 0.26 on, without asynchronous scheduling)
    stages_ahead,  ///< and the one that is scheduled meanwhile (vLLM: async_scheduling)
};

/// Formats of a recurrent layer's state, which has a part for the recurrence itself and one for its convolution.
enum class state_cells : std::uint8_t {
    mixed,      ///< the recurrence's part in fp32, the convolution's in the activations' format
    wide,       ///< both in fp32 (llama.cpp)
    published,  ///< both in the activations' format, unless the model asks for fp32 (recurrent::fp32_state; vLLM)
};

/// States of a sequence that a recurrent layer keeps, each in a block of its own.
enum class kept_states : std::uint8_t {
    one,          ///< the sequence's own: prefix caching is off for such models (vLLM to 0.27)
    each_block,   ///< of Mamba and Mamba-2 that of each of its blocks, else two (vLLM to 0.27, where it is asked to)
    two,          ///< and that of its last whole block (vLLM 0.28 to 0.31)
    scan_prompt,  ///< and of Mamba-2 one within a prompt (vLLM 0.32)
    prompt,       ///< of gated DeltaNet, too, in blocks of a multiple of 64 tokens (vLLM from 0.33 on)
};

/// Whose tokens have cells in a cache that is allotted at start.
enum class slot_cells : std::uint8_t {
    of_sequences,  ///< the sequences of the job, whose cells all slots share
    of_slots,      ///< each slot has its whole context, in one run of cells
    apart,         ///< each slot has its whole context, and a cache of its own (llama.cpp: streams, not kv_unified)
};

// ---- choices at start -----------------------------------------------------------------------------------------------

/// Drafters of tokens ahead of the model.
enum class drafting : std::uint8_t {
    none,    ///< nothing does
    lookup,  ///< a look-up in the text (n-grams)
    layers,  ///< layers of the model's own, or trained for it (multi-token prediction, EAGLE)
    model,   ///< a smaller model
};

/// Facts that choices at start depend on: the device, the layout, the model, and what the caller asked.
struct start_facts {
    byte_count device{};               ///< memory of the device, as nvidia-smi reports it
    std::int32_t capability = 0;       ///< major part of its compute capability
    token_count step{};                ///< tokens of the runtime's step, of all ranks together
    std::int32_t tensor = 1;           ///< GPUs that share each layer, those with whole attention among them
    std::int32_t attention_ranks = 1;  ///< parts of them that each compute attention for sequences of their own
    std::int32_t pipeline = 1;         ///< stages of the pipeline
    std::string_view architecture{};   ///< Hugging Face's `model_type`
    bool latent = false;               ///< layers with latent attention
    bool routed = false;               ///< layers with routed experts
    bool images = false;               ///< a vision tower
    std::int32_t image_layers = 0;     ///< layers of the tower, as its config names them; 0: by another name
    std::int64_t image_hidden = 0;     ///< features of the tower
    token_count context{};             ///< tokens that a sequence may reach
    token_count cache{};               ///< tokens that the cache holds at most; 0: as many as there is room for
    std::int64_t sequences = 0;        ///< sequences that run at once at most; 0: as many as there is room for
    std::int64_t usual_sequences = 0;  ///< those that the runtime runs at most on such a device, where nobody says
    std::int64_t drafted = 0;          ///< tokens drafted ahead for each sequence and step
    bool captures = true;              ///< CUDA graphs are captured
    drafting drafts = drafting::none;  ///< the drafter of tokens
};

/// Sizes from one on to another, in steps.
struct size_range {
    std::int64_t first = 1;  ///< the smallest
    std::int64_t last = 1;   ///< the largest
    std::int64_t step = 1;   ///< from one to the next
};

/// Sizes that CUDA graphs are captured for: sequences that decode, or tokens of prompts.
struct captured_sizes {
    std::span<const size_range> ranges{};  ///< ascending; empty: none is captured
    std::int64_t largest = 0;              ///< sizes beyond it are left out
    bool takes_largest = false;            ///< `largest` is captured where the ranges do not have it

    /// Calls with each size, ascending.
    template <class Each>
    constexpr void for_each(const Each& each) const {
        std::int64_t last = 0;
        for (const size_range& r : ranges)
            for (std::int64_t size = r.first; size <= r.last && size <= largest; size += r.step) each(last = size);
        if (takes_largest && !ranges.empty() && last < largest) each(largest);
    }
    /// Number of the sizes.
    constexpr std::int64_t count() const {
        std::int64_t all = 0, last = 0;
        for (const size_range& r : ranges) {
            const std::int64_t end = r.last < largest ? r.last : largest;
            if (end < r.first) break;
            all += (end - r.first) / r.step + 1;
            last = end - (end - r.first) % r.step;
        }
        return all + (takes_largest && !ranges.empty() && last < largest ? 1 : 0);
    }
};

/// Choices of a runtime when it starts.
struct start_choices {
    /// Part of the device for weights and caches; negative: more is set aside than there is; unknown: no choice.
    maybe<double> fraction{};
    bool whole_windows = false;  ///< layers with sliding-window attention keep the whole context
    captured_sizes decode{};     ///< sequences whose next tokens a graph computes
    captured_sizes prefill{};    ///< tokens of prompts that a graph computes
};

// ---- the cache ------------------------------------------------------------------------------------------------------

/// How a runtime allocates its KV cache.
struct runtime_cache {
    cache_pool pool = cache_pool::grows;  ///< Where the memory of the cache comes from.
    /// The fraction of the memory that the cache may take, as pool understands it; null: none or chosen. Unit: part of
    /// one.
    maybe<double> fraction{};
    /// Function that makes the choices of start_choices, the fraction where none is named; null: none does.
    start_choices (*default_fraction)(const start_facts&) = nullptr;
    text<31> fraction_name{"gpu_memory_utilization"};  ///< The software's own name of the fraction.
    bool refuses_less = false;     ///< Does not start where less than the fraction of the whole device is free.
    bool graphs_deducted = false;  ///< CUDA graphs count into the fraction; else they come on top of it.
    token_count block{};           ///< Tokens that a cache block holds; 0: caches grow token by token.
    window_cells windows = window_cells::window;  ///< Tokens that layers with sliding-window attention keep.
    /// Steps whose tokens windowed layers of a pool of groups have room for, beside their windows.
    /// (`window_cells::grouped`.)
    steps_in_flight in_flight = steps_in_flight::one;
    /// Tokens that a pool for layers with a window holds, over those that the others' holds; null: there is no such
    /// pool. Unit: tokens over tokens. (SGLang: swa_full_tokens_ratio.)
    maybe<double> window_part{};
    /// Latent attention caches keys and values of every head, not the latent. (llama.cpp before its pull request
    /// 12801.)
    bool expands_latent = false;
    /// Latent attention caches the values' part of the latent once more. (llama.cpp before its pull request 19067.)
    bool latent_values = false;
    /// Without flash attention the values' part of the latent is cached once more, transposed, in 16 bits.
    /// (ik_llama.cpp: -mla 1, kv^T.)
    bool transposed_values = false;
    state_cells states = state_cells::mixed;  ///< Formats of recurrent layers' states.
    /// With CUDA graphs, the runtime does not start where a step may have more sequences than the pool has blocks, if
    /// recurrent layers keep their states in these.
    bool needs_state_blocks = false;
    /// Sequences that begin with the same tokens have these in the cache once, unless a layer keeps a recurrent state:
    /// prefix caching is on by default.
    bool shares_prefixes = false;
    /// States of a sequence that recurrent layers keep in a pool of groups so that others may begin with them.
    /// (`window_cells::grouped`.)
    kept_states kept = kept_states::one;
    /// All prompts are computed before the first token is generated: until then the cache holds no more than prompts.
    bool whole_batches = false;
    /// Copies of the whole cache that exist while a token is appended: a step returns a new one beside the one it read.
    /// Unit: caches.
    std::int32_t copies = 1;
    slot_cells slots = slot_cells::of_sequences;  ///< Whose tokens have cells in a cache that is allotted at start.
};

/// True if the cache is a fraction of the device, and the runtime has a knob for it.
constexpr bool takes_fraction(const runtime_cache& c) {
    return c.pool == cache_pool::share_of_total || c.pool == cache_pool::share_with_weights ||
           c.pool == cache_pool::share_of_free;
}

}  // namespace llmres::inline v0
