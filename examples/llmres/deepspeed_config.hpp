// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

/// What a DeepSpeed configuration file says, in this program's flags.
namespace program {

/// The flags that a DeepSpeed configuration stands for, as `flag=value` with spaces between them: the stage of ZeRO,
/// offloading, batches, the arithmetic, the optimizer and buckets. A value that is "auto" is the Trainer's, and is left
/// to the other options. A file that cannot be read, or a value of the wrong type, is refused by its name.
std::string flags_of_deepspeed_config(std::string_view path);

}  // namespace program
