// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What a caller asks of the runtime that serves a model, beside the model: none of it is a property of the runtime.
namespace llmres::inline v0 {

/// What one token costs a draft model, beside reading its cache.
struct draft_work {
    flop_count flops{};       ///< of its matrix products
    byte_count read{};        ///< weights of its layers and its head
    std::int32_t layers = 0;  ///< its layers
    std::int64_t hidden = 0;  ///< features of its residual stream
};

/// The code that ggml computes with on a GPU.
enum class ggml_backend : std::uint8_t {
    native,  ///< that of its vendor: CUDA, HIP, Metal, SYCL, ...
    vulkan,  ///< Vulkan, whose drivers allocate no buffer above a size
};
/// The names of the back ends, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<ggml_backend>{"native", "vulkan"};

/// The largest buffer that Vulkan's drivers allocate: of Mesa's RADV and NVIDIA's 4 GiB (maxMemoryAllocationSize; AMD's
/// own for Windows 2 GiB).
inline constexpr byte_count largest_vulkan_buffer = gib(4);

/// In a job document these stand under `runtime`.
struct serving_options {
    /// Sequences in one step; 0: the runtime's default (serving_step::max_num_seqs), or those of the job.
    std::int64_t max_num_seqs = 0;
    /// So many of the last layers and the head are on GPUs (llama.cpp: --n-gpu-layers), the head as the last of them or
    /// as the first (runtime_loading::head_first); all where nothing is said.
    maybe<std::int32_t> gpu_layers{};
    /// Routed experts are computed by the CPU (llama.cpp: --cpu-moe).
    bool experts_on_host = false;
    /// Those of that many first layers only (llama.cpp: --n-cpu-moe); 0: of all.
    std::int32_t host_expert_layers = 0;
    /// The GPUs of a pipeline share the rows of each matrix instead of the layers (llama.cpp: --split-mode row). Some
    /// runtimes have no other way (layout_rules::rows).
    bool splits_rows = false;
    ggml_backend backend = ggml_backend::native;  ///< of ggml on GPUs
    /// The largest single buffer that the driver allocates; 0: largest_vulkan_buffer under Vulkan, else any.
    byte_count largest_buffer{};
    /// Bytes of each GPU that the pool of caches takes, in place of what the runtime would choose (vLLM:
    /// kv_cache_memory_bytes); 0: it chooses.
    byte_count cache_bytes{};
    /// Tokens that the pool has room for at most (SGLang: max_total_tokens); of runtimes whose caches grow, tokens that
    /// a sequence keeps at most (MLX: max_kv_size); 0: as many as the runtime chooses.
    token_count cache_tokens{};
    /// The same in blocks of the cache (vLLM: num_gpu_blocks_override); 0: as many as the runtime chooses.
    std::int64_t cache_blocks = 0;
    /// LoRA adapters that are resident at once.
    std::int64_t max_loras = 0;
    /// The largest rank of such an adapter, which each of them has room for.
    std::int64_t max_lora_rank = 16;
    /// The model's own prediction layers are loaded, and keep a cache.
    bool speculates_ahead = false;
    /// Weights of a draft model (jobs/draft.hpp), split by the tensor ranks as the model is, on the last stage.
    byte_count draft_weights{};
    /// The draft model's cache, split likewise.
    bytes_per_token draft_kv{};
    /// What it computes for a token that it drafts.
    draft_work draft{};
    /// Tokens that are drafted for each step of a sequence, which checks them and makes one more (vLLM:
    /// num_speculative_tokens); 0: none. Drafted by the draft model, by the model's own prediction layers, or, with
    /// neither, looked up in the text at no cost (vLLM's method "ngram").
    std::int64_t draft_tokens = 0;
    /// The part of the drafted tokens that the model accepts, as engines print it (vLLM: "Draft acceptance rate"):
    /// accepted over drafted tokens of all steps.
    maybe<double> acceptance{};
    /// Patches that pass the vision tower at once; 0: those of the job's images.
    token_count encoder_tokens{};
    /// The factor by which the runtime stretches the rotary embedding beyond the model's own context (YaRN,
    /// arXiv:2309.00071; vLLM: rope_scaling.factor, llama.cpp: --rope-scaling yarn); 1: it does not.
    double rope_scaling = 1.0;
};

/// The largest single buffer that the driver allocates; 0: any.
constexpr byte_count largest_buffer_of(const serving_options& asked) {
    if (asked.largest_buffer > byte_count{}) return asked.largest_buffer;
    return asked.backend == ggml_backend::vulkan ? largest_vulkan_buffer : byte_count{};
}

/// Tokens that a step makes of a sequence on average: its own, and those of the draft that it accepts (vLLM: "Mean
/// acceptance length").
constexpr double tokens_a_step(const serving_options& asked) {
    return 1.0 + static_cast<double>(asked.draft_tokens) * asked.acceptance.value_or(0.0);
}

}  // namespace llmres::inline v0
