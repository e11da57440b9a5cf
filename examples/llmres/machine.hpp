// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"

namespace program {

/// Puts the GPUs of a machine where `--gpu auto` asks for those of this one, and `--gpu FILE` (`-`: standard input) for
/// those that nvidia-smi, rocm-smi or system_profiler listed: their names and number, the memory that is in use,
/// lowered limits of power. What is said beside it stays. Refused: no GPU there, one that no table has or that MIG
/// splits.
void take_machine(plan_options& o);

}  // namespace program
