// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/logs/rows.hpp>

/// What PyTorch says of its allocator: the table of memory_summary(), the dictionary of memory_stats(), and its
/// message where memory ran out (torch/cuda/memory.py). Memory snapshots are pickles: snapshot.hpp.
namespace llmres::inline v0::logs {

/// The figures in the lines of PyTorch.
inline constexpr row pytorch_rows[] = {
    {"| Allocated memory", quantity::allocated, unit::as_written, 1, repeated::most},
    {"| GPU reserved memory", quantity::reserved, unit::as_written, 1, repeated::most},
    {"allocated_bytes.all.peak", quantity::allocated, unit::byte, 0, repeated::most},
    {"reserved_bytes.all.peak", quantity::reserved, unit::byte, 0, repeated::most},
    {"total capacity of ", quantity::device_total, unit::as_written, 0, repeated::last, "CUDA out of memory"},
    {"has a total capacity of ", quantity::device_total, unit::as_written, 0, repeated::last, "CUDA out of memory"},
    {" out of memory. Tried to allocate ", quantity::lacking, unit::as_written, 0, repeated::most},
    {"CUDA error: out of memory", quantity::lacking, unit::none, 0, repeated::most},
    {"CUDA OOMs: ", quantity::lacking, unit::none, 0, repeated::most, {}, false, "CUDA OOMs: 0 "},
    {"Of the allocated memory ", quantity::allocated, unit::as_written, 0, repeated::most, "CUDA out of memory"},
    {"GiB total capacity; ", quantity::allocated, unit::as_written, 0, repeated::most, "CUDA out of memory"},
};

/// PyTorch's table.
inline constexpr engine_table pytorch_log =
    table_of("pytorch", pytorch_rows,
             {"PyTorch CUDA memory summary", "allocated_bytes.all.peak", "reserved_bytes.all.peak",
              "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"},
             {"PyTorch CUDA memory summary"}, {.any_runtime = true});

}  // namespace llmres::inline v0::logs
