// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace program {

/// The commands of a pasted script, in whose words the variables and arrays stand that the script itself sets to plain
/// text before them: `TP=2`, `MODEL_ARGS=( --num-layers 32 )`, `${DTYPE:-bf16}`. Nothing is run: a variable that is set
/// between `if` and `fi`, in a loop or in a function, to what a command prints or by nobody stays as it is, and `notes`
/// gets a sentence for an array that grows there.
std::vector<std::vector<std::string>> with_own_variables(const std::vector<std::vector<std::string>>& commands,
                                                         std::vector<std::string>& notes);

}  // namespace program
