// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What DeepSpeed, Megatron-LM and torchtitan print of a step: deepspeed/runtime/utils.py (see_memory_usage) and
/// utils/timer.py (0.3 to 2026); megatron/training/utils (report_memory), training.py (training_log) and arguments.py
/// (_print_args); torchtitan/components/metrics.py (to 0.2.2). DeepSpeed's GB are 2^30 bytes, Megatron's MB 2^20.
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
    {"elapsed time per iteration (ms): ", quantity::step_time, unit::ms, 0, repeated::last},
    {"tensor-model-parallel size: ", quantity::tensor},
    {"pipeline-model-parallel size: ", quantity::pipeline},
    {"seq_length ..", quantity::context},
};
/// Megatron-LM's table.
inline constexpr engine_table megatron_log = table_of(
    "megatron", megatron_rows, {"elapsed time per iteration (ms)", "tensor-model-parallel size: ", "| max allocated: "},
    {"using world size: "}, {.also = "megatron_deepspeed"});

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
