// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What vLLM prints at start, in both engines (worker/worker.py, v1/worker/gpu_worker.py, gpu_model_runner.py,
/// v1/core/kv_cache_utils.py, from 0.33 on kv_cache_planning.py; v1/worker/utils.py: request_memory). Held against
/// published logs of 0.6 to 2026, and against the sources of 0.10, 0.12, 0.17, 0.20, 0.24, 0.28 and 0.33.
namespace llmres::inline v0::logs {

/// The figures in the lines of vLLM.
inline constexpr row vllm_rows[] = {
    {"LLM engine (v", quantity::version},
    {"vLLM API server version ", quantity::version},
    {"Initializing a ", quantity::generation, unit::one, 0, repeated::same, "LLM engine (v"},
    {"with config: model='", quantity::model},
    {"max_seq_len=", quantity::context, unit::one, 0, repeated::same, "LLM engine (v"},
    {"'max_model_len': ", quantity::context},
    {"tensor_parallel_size=", quantity::tensor, unit::one, 0, repeated::same, "LLM engine (v"},
    {"pipeline_parallel_size=", quantity::pipeline, unit::one, 0, repeated::same, "LLM engine (v"},
    {"quantization=", quantity::weight_format, unit::one, 0, repeated::same, "LLM engine (v"},
    {"kv_cache_dtype=", quantity::cache_format, unit::one, 0, repeated::same, "LLM engine (v"},
    {"enforce_eager=", quantity::eager, unit::one, 0, repeated::same, "LLM engine (v"},
    {"'gpu_memory_utilization': ", quantity::fraction},
    {"'max_num_seqs': ", quantity::sequences},
    {"'max_num_batched_tokens': ", quantity::step_tokens},
    {"max_num_batched_tokens=", quantity::step_tokens, unit::one, 0, repeated::same, "Chunked prefill is enabled"},
    {"gpu_memory_utilization=", quantity::fraction, unit::one, 0, repeated::same, "Namespace("},
    {"max_num_seqs=", quantity::sequences, unit::one, 0, repeated::same, "Namespace("},
    {"gpu_memory_utilization (", quantity::fraction},
    {"The current --gpu-memory-utilization=", quantity::fraction},
    {"gpu_memory_utilization=", quantity::fraction, unit::one, 0, repeated::same, "Memory profiling results"},
    {"total_gpu_memory (", quantity::device_total, unit::gib},
    {"total_gpu_memory=", quantity::device_total, unit::gib, 0, repeated::same, "Memory profiling results"},
    {"Loading model weights took ", quantity::weights, unit::gib},
    {"Model loading took ", quantity::weights, unit::gib},
    {"model weights take ", quantity::weights, unit::gib},
    {"weights memory: ", quantity::weights, unit::gib},
    {"non_torch_memory takes ", quantity::beside_tensors, unit::gib},
    {"non_torch_memory=", quantity::beside_tensors, unit::gib, 0, repeated::same, "Memory profiling results"},
    {"non-torch forward increase memory: ", quantity::beside_tensors, unit::gib},
    {"activation peak memory takes ", quantity::activation_peak, unit::gib},
    {"torch peak memory increase: ", quantity::activation_peak, unit::gib},
    {"reserved for KV Cache is ", quantity::pool, unit::gib},
    {"kv_cache_size=", quantity::pool, unit::gib, 0, repeated::same, "Memory profiling results"},
    {"Available KV cache memory: ", quantity::pool, unit::gib},
    {" KV cache size: ", quantity::pool_tokens, unit::one, 0, repeated::same, " tokens"},
    {"Maximum concurrency for ", quantity::context},
    {"Maximum concurrency for ", quantity::concurrency, unit::one, 1},
    {"Auto-fit max_model_len: reduced from ", quantity::context, unit::one, 1, repeated::last},
    {"# GPU blocks: ", quantity::pool_blocks},
    {"# cuda blocks: ", quantity::pool_blocks},
    // From 0.10 on one line after the start sums it up; from 0.28 on it no longer tells weights from the rest, nor
    // activations from the graphs that are expected.
    {"Free memory on device (", quantity::device_total, unit::gib, 1, repeated::same, "on startup"},
    {"Desired GPU memory utilization is (", quantity::fraction},
    {"Desired GPU memory utilization is (", quantity::requested, unit::gib, 1},
    {"Actual usage is ", quantity::weights, unit::gib, 0, repeated::same, "GiB for weight,"},
    {"Actual usage is ", quantity::activation_peak, unit::gib, 1, repeated::same, "GiB for weight,"},
    {"Actual usage is ", quantity::beside_tensors, unit::gib, 2, repeated::same, "GiB for non-torch memory"},
    {"for non-torch memory, and ", quantity::cuda_graphs, unit::gib},
    {"Actual usage is ", quantity::consumed, unit::gib, 0, repeated::same, "GiB for consumed memory"},
    {"(weights + non-torch), ", quantity::peak_and_graphs, unit::gib},
    {"for peak activation, and ", quantity::cuda_graphs, unit::gib},
    {"total consumed (from mem_get_info): ", quantity::consumed, unit::gib},
    {"Current kv cache memory in use is ", quantity::pool, unit::as_written},
    {"Estimated CUDA graph memory: ", quantity::graphs_estimated, unit::gib},
    {"Graph capturing finished in ", quantity::cuda_graphs, unit::gib, 1},
    {"CUDA graph pool memory: ", quantity::cuda_graphs, unit::gib},
    {"CUDA graph pool memory: ", quantity::graphs_estimated, unit::gib, 1},
    {"requested GPU memory: ", quantity::requested, unit::gib},
    {"worker requested memory: ", quantity::requested, unit::gib},
    {"Requested memory: ", quantity::requested, unit::gib, 1, repeated::same, "(util)"},
    {"Initial free memory: ", quantity::device_free, unit::gib, 0, repeated::same, "(util)"},
    // What refuses a start: the budget is not free, holds no cache, or not one sequence of the longest length.
    {"Free memory on device cuda:", quantity::device_free, unit::gib, 1},
    {"Free memory on device cuda:", quantity::device_total, unit::gib, 2},
    {"less than desired GPU memory utilization (", quantity::fraction},
    {"less than desired GPU memory utilization (", quantity::lacking, unit::gib, 1, repeated::most},
    {"No available memory for the cache blocks", quantity::lacking, unit::none, 0, repeated::most},
    {"Cannot auto-fit max_model_len: not enough GPU memory", quantity::lacking, unit::none, 0, repeated::most},
    {" max seq len (", quantity::context, unit::one, 0, repeated::same, "To serve at least one request"},
    {" max seq len (", quantity::lacking, unit::gib, 1, repeated::most, "To serve at least one request"},
    {"larger than the available KV cache memory (", quantity::pool, unit::gib},
    {"number of tokens that can be stored in KV cache (", quantity::pool_tokens},
    {"number of tokens that can be stored in KV cache (", quantity::lacking, unit::none, 0, repeated::most},
};

/// vLLM's table.
inline constexpr engine_table vllm_log =
    table_of("vllm", vllm_rows,
             {"LLM engine (v", "vLLM API server version", "Available KV cache memory: ", "# GPU blocks: ",
              "# cuda blocks: ", "GPU KV cache size: ", "Maximum concurrency for ",
              "Desired GPU memory utilization is (", "than desired GPU memory utilization ("},
             {"vLLM API server version ", "LLM engine (v"},
             says_settings(quantity::sequences, quantity::step_tokens, quantity::eager));

}  // namespace llmres::inline v0::logs
