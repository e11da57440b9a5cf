// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

/// What shells and manuals know of the program, made from its table of commands and options.
namespace program {

/// A script that completes commands and options in a shell: bash, zsh or fish.
std::string completion_for(const CLI::App& app, const std::string& shell);

/// The manual page, in the language of man(7).
std::string manual_of(const CLI::App& app);

}  // namespace program
