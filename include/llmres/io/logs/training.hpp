// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// Lines of a step that DeepSpeed, Megatron-LM, torchtitan and transformers' Trainer print: deepspeed/runtime/utils.py
/// (see_memory_usage) and utils/timer.py (0.3 to 2026); megatron/training/utils (report_memory), training.py
/// (training_log) and arguments.py (_print_args); torchtitan/components/metrics.py (to 0.2.2); transformers/trainer.py,
/// trainer_utils.py (TrainerMemoryTracker) and trainer_pt_utils.py (log_metrics) of 5.24. DeepSpeed's GB are 2^30
/// bytes, Megatron's and Trainer's MB 2^20.
namespace llmres::inline v0::logs {

/// The figures in the lines of DeepSpeed.
inline constexpr row deepspeed_rows[] = {
    {"DeepSpeed info: version=", quantity::version},
    {"Max_MA ", quantity::allocated, unit::gib, 0, repeated::most},
    {"Max_CA ", quantity::reserved, unit::gib, 0, repeated::most},
    {"MaxMemAllocated=", quantity::allocated, unit::gib, 0, repeated::most},
};
/// DeepSpeed's table.
inline constexpr engine_table deepspeed_log =
    table_of("deepspeed", deepspeed_rows, {"DeepSpeed info: version=", "Max_MA ", "MaxMemAllocated=", "[deepspeed]"},
             {"DeepSpeed info: version="}, {.any_runtime = true});

/// The figures in the lines of Megatron-LM.
inline constexpr row megatron_rows[] = {
    {"| max allocated: ", quantity::allocated, unit::mib, 0, repeated::most},
    {"| max reserved: ", quantity::reserved, unit::mib, 0, repeated::most},
    {"| total device memory used: ", quantity::device_used, unit::mib, 0, repeated::most},
    {"elapsed time per iteration (ms): ", quantity::step_time, unit::ms, 0, repeated::last},
    {"tensor-model-parallel size: ", quantity::tensor},
    {"pipeline-model-parallel size: ", quantity::pipeline},
    {"seq_length ..", quantity::context},
};
/// Megatron-LM's table.
inline constexpr engine_table megatron_log = table_of(
    "megatron", megatron_rows, {"elapsed time per iteration (ms)", "tensor-model-parallel size: ", "| max allocated: "},
    {"using world size: "}, {.also = "megatron_deepspeed"});

/// The figures in the lines of Trainer. With skip_memory_metrics=False it prints what was allocated before it began,
/// and what each stage added and had more at its peak: their sum is the peak. The dictionary has bytes; the table of
/// log_metrics, which may follow, whole MiB.
inline constexpr row huggingface_rows[] = {
    {"Instantaneous batch size per device = ", quantity::sequences, unit::one, 0, repeated::last},
    {"'before_init_mem_gpu': ", quantity::allocated, unit::byte, 0, repeated::each},
    {"'init_mem_gpu_alloc_delta': ", quantity::allocated, unit::byte, 0, repeated::each},
    {"'train_mem_gpu_alloc_delta': ", quantity::allocated, unit::byte, 0, repeated::each},
    {"'train_mem_gpu_peaked_delta': ", quantity::allocated, unit::byte, 0, repeated::each},
    {"  before_init_mem_gpu ", quantity::allocated, unit::whole_mib, 0, repeated::each},
    {"  init_mem_gpu_alloc_delta ", quantity::allocated, unit::whole_mib, 0, repeated::each},
    {"  train_mem_gpu_alloc_delta ", quantity::allocated, unit::whole_mib, 0, repeated::each},
    {"  train_mem_gpu_peaked_delta ", quantity::allocated, unit::whole_mib, 0, repeated::each},
    {"'train_tokens_per_second': ", quantity::tokens_per_second, unit::one, 0, repeated::last},
    {"  train_tokens_per_second ", quantity::tokens_per_second, unit::one, 0, repeated::last},
};
/// Trainer's table.
inline constexpr engine_table huggingface_log = table_of(
    "huggingface", huggingface_rows,
    {"***** Running training *****", "'train_runtime': ", "***** train metrics *****", "'train_mem_gpu_alloc_delta': "},
    {"***** Running training *****", "***** train metrics *****"}, {.any_runtime = true});

/// The figures in the lines of torchtitan.
inline constexpr row torchtitan_rows[] = {
    {"memory: ", quantity::reserved, unit::gib, 0, repeated::most, "step:"},
    {"tps: ", quantity::tokens_per_second, unit::one, 0, repeated::last, "step:"},
    {"wps: ", quantity::tokens_per_second, unit::one, 0, repeated::last, "step:"},
    {"GPU capacity: ", quantity::gpu, unit::one, 0, repeated::same},
    {"CUDA capacity: ", quantity::gpu, unit::one, 0, repeated::same},
    {"memory usage for model: ", quantity::weights, unit::gib},
};
/// torchtitan's table.
inline constexpr engine_table torchtitan_log = table_of(
    "torchtitan", torchtitan_rows, {"[titan]", "memory usage for model: ", "Starting job: "}, {"Starting job: "});

}  // namespace llmres::inline v0::logs
