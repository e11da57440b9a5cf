// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What Ollama's server prints of its own engine: what it took, by device (ml/device.go, from 0.11 on), before that
/// what it estimates (llm/memory.go: LogValue, 0.5.7 to 0.12.3), and its version (server/routes.go). Where it starts
/// llama.cpp's server (all models from 0.30 on: llm/llama_server.go), that prints what llama.cpp prints.
namespace llmres::inline v0::logs {

/// The figures in the lines of Ollama.
inline constexpr row ollama_rows[] = {
    {"(version ", quantity::version, unit::one, 0, repeated::same, "Listening on "},
    {" size=\"", quantity::weights, unit::as_written, 0, repeated::last, "msg=\"model weights\" device=", true},
    {" size=\"", quantity::kv_cache, unit::as_written, 0, repeated::last, "msg=\"kv cache\" device=", true},
    {" size=\"", quantity::compute_buffer, unit::as_written, 0, repeated::last, "msg=\"compute graph\" device=", true},
    {"KvSize:", quantity::context, unit::one, 0, repeated::last},
    {"Parallel:", quantity::sequences, unit::one, 0, repeated::last},
    {"BatchSize:", quantity::step_tokens, unit::one, 0, repeated::last},
    {"memory.weights.total=\"", quantity::weights, unit::as_written, 0, repeated::last},
    {"memory.required.kv=\"", quantity::kv_cache, unit::as_written, 0, repeated::last},
    {"memory.graph.full=\"", quantity::compute_buffer, unit::as_written, 0, repeated::last},
    {" model buffer size =", quantity::weights, unit::as_written, 0, repeated::each, "load_tensors:", true},
    {" KV buffer size =", quantity::kv_cache, unit::as_written, 0, repeated::each, {}, true},
    {" RS buffer size =", quantity::recurrent_state, unit::as_written, 0, repeated::each, {}, true},
    {" compute buffer size =", quantity::compute_buffer, unit::as_written, 0, repeated::last, {}, true},
    {": n_ctx ", quantity::context, unit::one, 0, repeated::last},
    {": n_seq_max ", quantity::sequences, unit::one, 0, repeated::last},
    {": n_ubatch ", quantity::step_tokens, unit::one, 0, repeated::last},
    {"offloaded ", quantity::gpu_layers, unit::one, 0, repeated::last, "layers to GPU"},
    {"general.name = ", quantity::model, unit::one, 0, repeated::last},
    {"file type   = ", quantity::weight_format, unit::one, 0, repeated::last},
    {"file type   = (guessed) ", quantity::weight_format, unit::one, 0, repeated::last},
    {"Device 0: ", quantity::gpu, unit::one, 0, repeated::last, "compute capability"},
    {" name=\"", quantity::gpu, unit::one, 0, repeated::same, "msg=\"inference compute\""},
    {" description=\"", quantity::gpu, unit::one, 0, repeated::last, "msg=\"inference compute\""},
    {"model requires more system memory (", quantity::lacking, unit::as_written, 0, repeated::most},
    {"model is too large for system memory", quantity::lacking, unit::none, 0, repeated::most},
};

/// Ollama's table.
inline constexpr engine_table ollama_log = table_of(
    "ollama", ollama_rows,
    {"source=routes.go", "source=sched.go", "source=server.go", "source=device.go", "source=ggml.go",
     "source=runner.go"},
    {"Listening on ", "llama_model_loader: loaded meta data"},
    says_settings(quantity::step_tokens, quantity::sequences, quantity::gpu_layers, quantity::flash_attention));

}  // namespace llmres::inline v0::logs
