// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What TensorRT-LLM prints at start: its C++ runtime (runtime/tllmRuntime.cpp, batch_manager/kvCacheManager.cpp) and
/// its PyTorch backend (_torch/pyexecutor/_util.py). The C++ lines are held against kvCacheManager.cpp and published
/// logs of 0.16 to 0.18.
namespace llmres::inline v0::logs {

/// The figures in the lines of TensorRT-LLM.
inline constexpr row tensorrt_llm_rows[] = {
    {"TensorRT-LLM version: ", quantity::version},
    {"TensorRT LLM version: ", quantity::version},
    {"Loaded engine size: ", quantity::weights, unit::mib},
    {"Engine version ", quantity::version, unit::one, 0, repeated::same, "found in the config file"},
    {"maxSequenceLen: ", quantity::context},
    {"TRTGptModel maxNumSequences: ", quantity::sequences},
    {"TRTGptModel maxNumTokens: ", quantity::step_tokens},
    {"paged kv cache: total: ", quantity::device_total, unit::gib},
    {"max tokens in paged KV cache (", quantity::pool_tokens},
    {"[MemUsageChange] Allocated ", quantity::pool, unit::gib, 0, repeated::same, "max tokens in paged KV cache"},
    {"Number of blocks in KV cache primary pool: ", quantity::pool_blocks},
    {"Number of tokens per block: ", quantity::block},
    {"[MemUsageChange] Allocated ", quantity::activation_peak, unit::as_written, 0, repeated::most,
     "for execution context memory"},
    {"available KV cache memory when calculating max tokens: ", quantity::requested, unit::gib},
    {"fraction is set ", quantity::fraction},
    {"tensor_parallel_size=", quantity::tensor, unit::one, 0, repeated::same, "LLM Args"},
};

/// TensorRT-LLM's table.
inline constexpr engine_table tensorrt_llm_log = table_of(
    "tensorrt-llm", tensorrt_llm_rows,
    {"TensorRT-LLM][", "[TRT-LLM]", "TensorRT-LLM version: ", "TensorRT LLM version: ", "max tokens in paged KV cache"},
    {"TensorRT-LLM version: ", "TensorRT LLM version: "});

}  // namespace llmres::inline v0::logs
