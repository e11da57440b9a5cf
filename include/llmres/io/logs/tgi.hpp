// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What text-generation-inference prints at start: launcher/src/main.rs (its arguments), router, and
/// server/text_generation_server/models/flash_causal_lm.py (warm-up), as of 3.3.7. Arguments are printed over several
/// lines: `num_shard: Some(`, then the number.
namespace llmres::inline v0::logs {

/// The figures in the lines of text-generation-inference.
inline constexpr row tgi_rows[] = {
    {"model_id: \"", quantity::model},
    {"num_shard: Some(", quantity::tensor},
    {"max_total_tokens: Some(", quantity::context},
    {"max_batch_prefill_tokens: Some(", quantity::step_tokens},
    {"cuda_memory_fraction: ", quantity::fraction},
    {"KV-cache blocks: ", quantity::pool_blocks},
    {"KV-cache blocks: ", quantity::block, unit::one, 1},
    {"Setting max batch total tokens to ", quantity::pool_tokens},
    {"quantize: Some(", quantity::weight_format},
};

/// text-generation-inference's table.
inline constexpr engine_table tgi_log = table_of(
    "tgi", tgi_rows,
    {"text_generation_launcher", "text_generation_router", "KV-cache blocks: ", "Setting max batch total tokens to "},
    {"text_generation_launcher: Args {"});

}  // namespace llmres::inline v0::logs
