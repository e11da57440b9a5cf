// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What a DeepSpeed configuration file says, in this program's flags.
namespace program {

/// The flags that a DeepSpeed configuration stands for, as `flag=value` with spaces between them: the stage of ZeRO,
/// offloading, batches, the arithmetic, the optimizer and buckets. A value that is "auto" is the Trainer's, and is left
/// to the other options. A file that cannot be read, or a value of the wrong type, is refused by its name.
std::string flags_of_deepspeed_config(std::string_view path);

/// The batch of transformers' Trainer, in sequences.
struct trainer_batch {
    std::int64_t per_device = 1, accumulation = 1;
    std::int64_t ranks = 0;  ///< data-parallel ranks; 0: unknown
};

/// Refuses a configuration whose batch is another than Trainer's, as Trainer does.
void check_deepspeed_batch(std::string_view path, const trainer_batch& of);

/// Whether a configuration turns on bf16 or fp16.
bool mixes_precision(std::string_view path);

}  // namespace program
