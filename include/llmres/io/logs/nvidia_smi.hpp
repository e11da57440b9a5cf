// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What nvidia-smi prints: a field a line (`-q`). Its tables and `--query-gpu=... --format=csv` are read by their
/// columns (io/logs/reader.hpp).
namespace llmres::inline v0::logs {

/// The figures in the lines of nvidia-smi.
inline constexpr row nvidia_smi_rows[] = {
    {"Product Name                          : ", quantity::gpu, unit::one, 0, repeated::last},
    {"Driver Version: ", quantity::version, unit::one, 0, repeated::last, "NVIDIA-SMI"},
};

/// nvidia-smi's table.
inline constexpr engine_table nvidia_smi_log =
    table_of("nvidia-smi", nvidia_smi_rows, {"NVIDIA-SMI", "memory.used", "NVSMI LOG"}, {"NVIDIA-SMI", "NVSMI LOG"},
             {.any_runtime = true});

}  // namespace llmres::inline v0::logs
