// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What llama.cpp, its forks and what is built on it print at start: the loader, the context and the scheduler
/// (src/llama-model.cpp, src/llama-context.cpp, src/llama-kv-cache.cpp; llama.cpp until 2024).
namespace llmres::inline v0::logs {

/// The figures in the lines of llama.cpp.
inline constexpr row llama_cpp_rows[] = {
    {"build: ", quantity::version},
    {"build = ", quantity::version},
    {"build      : b", quantity::version},
    {"general.name", quantity::model, unit::one, 0, repeated::same, "print_info:"},
    {"general.name", quantity::model, unit::one, 0, repeated::same, "print_meta:"},
    {"file type   = (guessed) ", quantity::weight_format},
    {"file type   = ", quantity::weight_format},
    {"model ftype      = ", quantity::weight_format},
    {": n_ctx ", quantity::context},
    {": n_seq_max ", quantity::sequences},
    {": n_ubatch ", quantity::step_tokens},
    {": flash_attn ", quantity::flash_attention},
    {"Flash Attention was auto, set to ", quantity::flash_attention},
    {"resolve_fused_ops: Flash Attention ", quantity::flash_attention},
    {"offloaded ", quantity::gpu_layers, unit::one, 0, repeated::same, "layers to GPU"},
    {"Device 0: ", quantity::gpu, unit::one, 0, repeated::same, "compute capability"},
    {" model buffer size =", quantity::weights, unit::as_written, 0, repeated::each, "load_tensors:", true},
    {" buffer size =", quantity::weights, unit::as_written, 0, repeated::same, "llm_load_tensors:", true},
    {" KV buffer size =",
     quantity::kv_cache,
     unit::as_written,
     0,
     repeated::each,
     {},
     true,
     "llama_kv_cache_recurrent:"},
    {" KV buffer size =", quantity::recurrent_state, unit::as_written, 0, repeated::each,
     "llama_kv_cache_recurrent:", true},
    {" RS buffer size =", quantity::recurrent_state, unit::as_written, 0, repeated::each, {}, true},
    {" compute buffer size =", quantity::compute_buffer, unit::as_written, 0, repeated::last, {}, true},
    {"compute buffer total size = ", quantity::compute_buffer, unit::as_written, 0, repeated::last},
    {"kv self size  = ", quantity::kv_cache, unit::as_written},
    {"VRAM used: ", quantity::weights, unit::as_written, 0, repeated::same, "llm_load_tensors:"},
    // The table of common/fit.cpp (before 2026: llama_memory_breakdown_print of src/llama-context.cpp). A GPU's row:
    // total = free + (self = model + context + compute) + unaccounted; the host's has self and its parts.
    {" | ", quantity::device_total, unit::whole_mib, 0, repeated::summary, " + (", true},
    {" + (", quantity::weights, unit::whole_mib, 1, repeated::summary, "breakdown_print: |", true},
    {" + (", quantity::kv_cache, unit::whole_mib, 2, repeated::summary, "breakdown_print: |", true},
    {" + (", quantity::compute_buffer, unit::whole_mib, 3, repeated::summary, "breakdown_print: |", true},
    {"|   - Host ", quantity::weights, unit::whole_mib, 1, repeated::summary, {}, true},
    {"|   - Host ", quantity::kv_cache, unit::whole_mib, 2, repeated::summary, {}, true},
    {"|   - Host ", quantity::compute_buffer, unit::whole_mib, 3, repeated::summary, {}, true},
    {"|   - CUDA0 (", quantity::gpu},
    {"|   - ROCm0 (", quantity::gpu},
    // ggml-cuda.cu, ggml-vulkan.cpp, ggml-metal and ggml-alloc.c.
    {"buffer: allocating ", quantity::lacking, unit::as_written, 0, repeated::most, "out of memory"},
    {" buffer of size ", quantity::lacking, unit::byte, 0, repeated::most, "failed to allocate"},
    {"Device memory allocation of size ", quantity::lacking, unit::byte, 0, repeated::most, " failed"},
    {"failed to allocate buffer, size = ", quantity::lacking, unit::as_written, 0, repeated::most},
    {"failed to allocate buffer for kv cache", quantity::lacking, unit::none, 0, repeated::most},
    // llama-context.cpp, sched_reserve: it goes on with smaller buffers.
    {"retrying without pipeline parallelism", quantity::lacking, unit::none, 0, repeated::revoked},
    {"ms per token, ", quantity::tokens_per_second, unit::one, 0, repeated::last, " eval time ="},
};

/// llama.cpp's table.
inline constexpr engine_table llama_cpp_log = table_of(
    "llama.cpp", llama_cpp_rows,
    {"llama_model_loader:", "load_tensors:", "llama_context:", "llama_new_context_with_model:", "llama_kv_cache",
     "ggml_cuda_init:", "memory_breakdown_print: |"},
    {"llama_model_loader: loaded meta data"},
    says_settings(quantity::step_tokens, quantity::sequences, quantity::gpu_layers, quantity::flash_attention));

}  // namespace llmres::inline v0::logs
