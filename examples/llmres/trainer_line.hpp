// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace program {

/// The command line of a trainer in options that own_spelling() reads: those of transformers' Trainer, of TRL and of
/// LLaMA-Factory, behind torchrun, accelerate launch, deepspeed or python. Empty where the line starts none. `notes`
/// gets a sentence for each option that has a bearing and is not read.
std::vector<std::string> options_of_trainer(const std::vector<std::string>& line, std::vector<std::string>& notes);

}  // namespace program
