// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace llmres::probe {

/// How a run on the device ended, an allocation of a whole plan or a replay; the later, the worse.
enum class run_outcome : std::uint8_t {
    held,           ///< all buffers at once, every word of them as written
    done,           ///< replayed to its last event
    no_room,        ///< the device refused a block, or it is beyond what the plan may use
    guarded,        ///< a block would have left less than the guard band
    overcommitted,  ///< free memory did not fall by what was handed out: this is not the device's own memory
    stopped,        ///< interrupted or timed out
    wrong_content,  ///< memory did not keep what was written
    failed,         ///< a call failed for another reason than room
};
constexpr std::string_view name_of(run_outcome outcome) {
    constexpr std::array<std::string_view, 8> names{"held",          "done",    "no_room",       "guarded",
                                                    "overcommitted", "stopped", "wrong_content", "failed"};
    return names[static_cast<std::size_t>(outcome)];
}

/// Thrown where a run ends before everything is held or replayed.
struct run_ended {
    run_outcome outcome;
    std::string why;
};

/// Why to stop before the work is done: Ctrl-C (or SIGTERM), or the time is up. Asked between steps, so that
/// held memory is freed as at the end of a run.
class stop_signal {
public:
    /// `timeout_s` of 0 means none.
    explicit stop_signal(double timeout_s = 0) : timeout_s_{timeout_s}, start_{clock::now()} {}

    /// SIGINT and SIGTERM ask to stop; a second one ends the process at once.
    static void listen() {
        std::signal(SIGINT, note);
        std::signal(SIGTERM, note);
    }
    /// Ends the process with `code` if it still runs after so long: a call into the driver that never returns cannot be
    /// asked to stop, and the driver takes back what a dead process held. 0 seconds means never.
    static void end_after(double seconds, int code) {
        if (!(seconds > 0)) return;
        std::thread{[seconds, code] {
            std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
            std::fputs("llmres-probe: timed out: a call into the driver did not return\n", stderr);
            std::_Exit(code);
        }}.detach();
    }
    /// Empty while there is no reason to stop.
    std::string why() const {
        if (noted().load() != 0) return "interrupted";
        if (timeout_s_ > 0 && std::chrono::duration<double>(clock::now() - start_).count() > timeout_s_)
            return "timed out after " + std::to_string(static_cast<long long>(timeout_s_)) + " s";
        return {};
    }
    /// Ends a run where there is a reason to stop.
    void heed() const {
        if (std::string reason = why(); !reason.empty()) throw run_ended{run_outcome::stopped, std::move(reason)};
    }
    static std::atomic<int>& noted() {
        static std::atomic<int> signal{0};
        return signal;
    }

private:
    using clock = std::chrono::steady_clock;
    static_assert(std::atomic<int>::is_always_lock_free);
    static void note(int signal) {
        noted().store(signal);
        std::signal(signal, SIG_DFL);
    }
    double timeout_s_;
    clock::time_point start_;
};

}  // namespace llmres::probe
