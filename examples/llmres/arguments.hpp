// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace program {

/// Whether a command takes one model or job first, and GPUs behind it.
bool takes_gpu_behind_model(std::string_view command);

/// The words behind the program's name in the program's own spelling: `help plan` is `plan --help`, commands that take
/// a job or a model know the options of other tools, and a command line behind `--` or a trainer's file becomes the
/// job. `notes`: sentences on what of these the job does not hold.
std::vector<std::string> arguments_of(const CLI::App& app, std::vector<std::string> typed,
                                      std::vector<std::string>& notes);

}  // namespace program
