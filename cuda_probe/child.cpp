// SPDX-License-Identifier: MIT
#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace llmres::probe {

namespace {

/// In the child: stdout or stderr into a file or pipe, then the program.
[[noreturn]] void become(const std::vector<std::string>& command, int out, const std::string& stdout_file,
                         const std::string& stderr_file) {
    const auto redirect = [](const std::string& file, int onto) {
        const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (opened < 0 || dup2(opened, onto) < 0) _exit(126);
    };
    if (!stdout_file.empty())
        redirect(stdout_file, STDOUT_FILENO);
    else
        dup2(out, STDOUT_FILENO);
    if (!stderr_file.empty()) redirect(stderr_file, STDERR_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

}  // namespace

child_result run_child(const std::vector<std::string>& command, const std::string& stdout_file,
                       const std::string& stderr_file, const stop_signal& stop) {
    child_result result;
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        result.problem = "no pipe";
        return result;
    }
    const pid_t child = fork();
    if (child == 0) become(command, ends[1], stdout_file, stderr_file);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        result.problem = "could not start " + command.front();
        return result;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::array<char, 4096> room{};
    using clock = std::chrono::steady_clock;
    auto asked = clock::time_point::max();
    int state = 0;
    for (bool running = true; running;) {
        running = waitpid(child, &state, WNOHANG) == 0;
        for (ssize_t got = 0; (got = read(ends[0], room.data(), room.size())) > 0;)
            result.output.append(room.data(), static_cast<std::size_t>(got));
        if (!running) break;
        if (result.problem.empty() && !stop.why().empty()) {
            result.problem = stop.why();
            asked = clock::now();
            kill(child, SIGTERM);
        } else if (asked != clock::time_point::max() && clock::now() - asked > std::chrono::seconds{20}) {
            kill(child, SIGKILL);  // it did not heed: most likely stuck in the driver
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    close(ends[0]);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        result.problem = command.front() + " could not be run";
    else if (WIFEXITED(state))
        result.exit_code = WEXITSTATUS(state);
    else if (WIFSIGNALED(state) && result.problem.empty())
        result.problem = command.front() + " ended by signal " + std::to_string(WTERMSIG(state));
    return result;
}

std::string own_program() {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

}  // namespace llmres::probe
