// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include "sanitized.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Runs the llmres program as a user's shell would.
namespace run_program {

namespace fs = std::filesystem;

struct outcome {
    int exit = -1;  ///< negative where a signal ended it
    std::string out;
    std::string err;

    nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

inline std::string content_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// Keeps an answer of --json as a line of a file in the folder that LLMRES_ANSWERS names, where tests/schema/ holds it
/// against its schema.
inline void keep_answer(const std::vector<std::string>& arguments, const outcome& o) {
    const char* folder = std::getenv("LLMRES_ANSWERS");
    if (folder == nullptr || o.exit < 0 || o.exit > 2 || o.out.empty()) return;
    if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) return;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    const fs::path file = fs::path{folder} / (std::to_string(getpid()) + ".jsonl");
    std::ofstream{file, std::ios::app | std::ios::binary} << o.json().dump() << '\n';
}

/// Has the kernel end a program whose data exceed so many KiB. (The most memory of a child, which getrusage() tells,
/// counts this process's own too, from before the program was started in it.) Sanitizers map more than they touch.
inline std::string data_within(int kib) {
    return sanitized || counts_lines ? "true" : "ulimit -d " + std::to_string(kib);
}

/// The program with these arguments, in a folder; `limit`: what the shell does before it starts the program.
inline outcome run(const std::vector<std::string>& arguments, const fs::path& folder = LLMRES_SOURCE_DIR,
                   const std::string& limit = "true") {
    const auto quoted = [](const std::string& text) {
        std::string shell = "'";
        for (const char c : text) shell += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
        return shell + "'";
    };
    const scratch streams;
    std::string line = "cd " + quoted(folder.string()) + " && " + limit + " && exec " + quoted(LLMRES_PROGRAM);
    for (const std::string& argument : arguments) line += " " + quoted(argument);
    line += " >" + quoted((streams.path() / "out").string()) + " 2>" + quoted((streams.path() / "err").string()) +
            " </dev/null";
    const int status = std::system(line.c_str());
    outcome o;
    o.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o.out = content_of(streams.path() / "out");
    o.err = content_of(streams.path() / "err");
    keep_answer(arguments, o);
    return o;
}

/// The seconds of CPU that all programs run so far have taken: a busy machine changes them little.
inline double seconds_of_cpu() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace run_program
