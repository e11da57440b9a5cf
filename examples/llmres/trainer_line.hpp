// SPDX-License-Identifier: MIT
#pragma once

#include "trainers.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace program {

/// The job that the command line of a trainer trains: of axolotl, LLaMA-Factory, torchtune and torchtitan, whose files
/// of settings are read, and of transformers' Trainer and TRL, behind torchrun, accelerate launch, deepspeed or
/// python. Without options where the line starts none. `gpus` are those that are said beside it, which go over the
/// launcher's; 0: none are.
trained_job job_of_line(const std::vector<std::string>& line, std::int64_t gpus);

}  // namespace program
