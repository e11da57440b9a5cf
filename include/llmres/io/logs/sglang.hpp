// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What SGLang prints at start (srt/server_args.py, srt/model_executor/model_runner.py, srt/mem_cache/memory_pool.py).
/// Its GB are 2^30 bytes. From 0.5.20 on the arguments are a dictionary, and the pool may be sized after the graphs are
/// captured (srt/model_executor/model_runner_components/kv_pool_runtime.py). Held against model_runner.py and published
/// logs of 0.2 to 2026: windowed layers' pool ("SWAKVPool") and "Capture target decode CUDA graph end." are of 2026.
namespace llmres::inline v0::logs {

/// The figures in the lines of SGLang.
inline constexpr row sglang_rows[] = {
    {"ServerArgs(model_path=", quantity::model},
    {"sglang version: ", quantity::version},
    {"SGLang version ", quantity::version},
    {"'model_path': '", quantity::model, unit::one, 0, repeated::same, "server_args={"},
    {"'tp_size': ", quantity::tensor, unit::one, 0, repeated::same, "server_args={"},
    {"'pp_size': ", quantity::pipeline, unit::one, 0, repeated::same, "server_args={"},
    {"'mem_fraction_static': ", quantity::fraction, unit::one, 0, repeated::same, "server_args={"},
    {"'quantization': ", quantity::weight_format, unit::one, 0, repeated::same, "server_args={"},
    {"'kv_cache_dtype': ", quantity::cache_format, unit::one, 0, repeated::same, "server_args={"},
    {"tp_size=", quantity::tensor, unit::one, 0, repeated::same, "ServerArgs("},
    {"pp_size=", quantity::pipeline, unit::one, 0, repeated::same, "ServerArgs("},
    {"mem_fraction_static=", quantity::fraction, unit::one, 0, repeated::same, "ServerArgs("},
    {"quantization=", quantity::weight_format, unit::one, 0, repeated::same, "ServerArgs("},
    {"kv_cache_dtype=", quantity::cache_format, unit::one, 0, repeated::same, "ServerArgs("},
    {"disable_cuda_graph=", quantity::eager, unit::one, 0, repeated::same, "ServerArgs("},
    {"chunked_prefill_size=", quantity::step_tokens, unit::one, 0, repeated::same, "max_total_num_tokens="},
    {"context_len=", quantity::context, unit::one, 0, repeated::same, "max_total_num_tokens="},
    {"max_running_requests=", quantity::sequences, unit::one, 0, repeated::same, "max_total_num_tokens="},
    {"max_total_num_tokens=", quantity::pool_tokens, unit::one, 0, repeated::last},
    {"avail mem=", quantity::device_free, unit::gib, 0, repeated::same, "Load weight begin"},
    {"mem usage=", quantity::weights, unit::gib, 0, repeated::same, "Load weight end"},
    {"#tokens: ", quantity::pool_tokens, unit::one, 0, repeated::same, "KV Cache is allocated."},
    {"K size: ", quantity::pool, unit::gib, 0, repeated::sum, "KV Cache is allocated."},
    {"V size: ", quantity::pool, unit::gib, 0, repeated::sum, "KV Cache is allocated."},
    {"KV size: ", quantity::pool, unit::gib, 0, repeated::same, "KV Cache is allocated."},
    // The pools of windowed and of other layers are printed first, each as if it were all.
    {"SWAKVPool mem usage: ", quantity::pool, unit::gib, 0, repeated::last},
    {"#tokens: ", quantity::pool_tokens, unit::one, 0, repeated::last, "KV sizing: KV cache allocated."},
    {"KV size: ", quantity::pool, unit::gib, 0, repeated::last, "KV sizing: KV cache allocated."},
    {"conv_state size: ", quantity::recurrent_state, unit::gib, 0, repeated::sum, "Mamba Cache is allocated."},
    {" ssm_state size: ", quantity::recurrent_state, unit::gib, 0, repeated::sum, "Mamba Cache is allocated."},
    {"mem usage=", quantity::cuda_graphs, unit::gib, 0, repeated::same, "apture cuda graph end"},
    {"mem usage=", quantity::cuda_graphs, unit::gib, 0, repeated::sum, "CUDA graph end."},
    {"Not enough memory. Please try to increase --mem-fraction-static", quantity::lacking, unit::none, 0,
     repeated::most},
    {"leave no GPU memory for the KV cache", quantity::lacking, unit::none, 0, repeated::most},
    {"Not enough GPU memory for hybrid", quantity::lacking, unit::none, 0, repeated::most},
};

/// SGLang's table.
inline constexpr engine_table sglang_log =
    table_of("sglang", sglang_rows,
             {"ServerArgs(model_path=", "Load weight end.", "KV Cache is allocated.",
              "max_total_num_tokens=", "The server is fired up", "server_args={"},
             {"ServerArgs(model_path=", "server_args={"}, says_settings(quantity::step_tokens, quantity::eager));

}  // namespace llmres::inline v0::logs
