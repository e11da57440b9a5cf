// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace program {

/// The command line of a trainer in options that own_spelling() reads: those of transformers' Trainer, of TRL and of
/// LLaMA-Factory, behind torchrun, accelerate launch, deepspeed or python. Empty where the line starts none. `gpus`
/// are those that are said beside it, which go over the launcher's; 0: none are. `notes` gets a sentence for each
/// option that has a bearing and is not read.
std::vector<std::string> options_of_trainer(const std::vector<std::string>& line, std::int64_t gpus,
                                            std::vector<std::string>& notes);

}  // namespace program
