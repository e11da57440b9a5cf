// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "stop.hpp"

namespace llmres::probe {

struct child_result {
    int exit_code = -1;   ///< -1 if it could not be started or did not end by itself
    std::string output;   ///< its stdout, unless that went to a file
    std::string problem;  ///< why there is no exit code
};

/// Runs a program (looked up on PATH), without a shell, and waits. Its stdout and stderr go to files if named; without
/// a name stdout is captured and stderr stays ours. When `stop` says so the child is asked to end, then made to.
child_result run_child(const std::vector<std::string>& command, const std::string& stdout_file,
                       const std::string& stderr_file, const stop_signal& stop);

/// This program's own file, to run it again in a fresh process.
std::string own_program();

}  // namespace llmres::probe
