// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What LMDeploy prints at start: TurboMind's blocks (turbomind/models/llama/BlockManager.cc, 0.4.2 to 0.9.2; their MB
/// are 2^20 bytes) or, from 2026 on, its pool (turbomind/turbomind.cc), and the options of either engine
/// (lmdeploy/serve/async_engine.py: "backend_config="; pytorch/engine/executor/base.py: CacheConfig).
namespace llmres::inline v0::logs {

/// The figures in the lines of LMDeploy.
inline constexpr row lmdeploy_rows[] = {
    {"cache_max_entry_count=", quantity::fraction},
    {"session_len=", quantity::context},
    {"max_batch_size=", quantity::sequences},
    {"max_prefill_token_num=", quantity::step_tokens},
    {"cache_block_seq_len=", quantity::block},
    {"tp=", quantity::tensor, unit::one, 0, repeated::same, "EngineConfig("},
    {"quant_policy=", quantity::cache_format, unit::one, 0, repeated::same, "EngineConfig("},
    {"model_path='", quantity::model},
    {"max_block_count = ", quantity::pool_blocks, unit::one, 0, repeated::same, "[BlockManager]"},
    {"Object cache budget: ", quantity::pool, unit::mib},
    {"Object cache budget: ", quantity::device_free, unit::mib, 1},
    {"num_gpu_blocks=", quantity::pool_blocks, unit::one, 0, repeated::same, "CacheConfig("},
};

/// LMDeploy's table.
inline constexpr engine_table lmdeploy_log =
    table_of("lmdeploy", lmdeploy_rows, {"[BlockManager]", "lmdeploy - ", "TurbomindEngineConfig(", "[TM]["},
             {"TurbomindEngineConfig("});

}  // namespace llmres::inline v0::logs
