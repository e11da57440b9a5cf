// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure.hpp"
#include "stop.hpp"
#include "tested_plan.hpp"

/// The honest allocation test: all of a plan's buffers, one by one, at once; what it shows; the largest batch or
/// context that a device really takes, by bisection; and a training step replayed on it.
namespace llmres::probe {

/// What stands around the allocation: the device, who else is on it, and when to stop.
struct alloc_environment {
    memory_api& memory;
    std::function<reading<byte_count>()> used_by_others;
    const stop_signal& stop;
};

struct alloc_options {
    allocator_kind allocator = allocator_kind::cuda_malloc;
    bool caching = false;                   ///< requests go through caching_allocator first
    byte_count own{};                       ///< what this process took before: its context and libraries
    byte_count guard{};                     ///< never leave the device with less free than this
    std::optional<byte_count> host_room{};  ///< take no more in all: the device's memory is the host's
    byte_count tolerance = mib(2);          ///< how far others' memory may move before nothing can be said
    bool shuffled = false;                  ///< in another order than the plan's
    std::uint64_t seed = 1;
};

/// One buffer of the plan.
struct buffer_result {
    std::string name;
    memory_term term = memory_term::weights;
    byte_count requested{};
    byte_count granted{};     ///< by how much the device's free memory fell
    byte_count allocated{};   ///< the same, or of a segment of PyTorch's allocator, the block that is the buffer's
    byte_count cumulative{};  ///< granted so far
    byte_count free_after{};
    byte_count rounding{};  ///< what of its block is beyond the request: the allocator hands out whole granules
};

struct alloc_run {
    run_outcome outcome = run_outcome::failed;
    std::string reason;
    std::vector<buffer_result> buffers;  ///< those that were held
    std::int64_t failed_at = -1;         ///< index, in the order tried, of the buffer that was not
    std::string failed_name;
    byte_count failed_size{};
    byte_count requested{};
    byte_count granted{};
    byte_count free_before{};
    byte_count free_after{};  ///< after all was released: what is missing another process has, or it leaked
    reading<byte_count> others_before{};
    reading<byte_count> others_after{};
    std::string moved;  ///< how others' memory moved meanwhile; empty if it did not
    bool shuffled = false;
};

/// Allocates, touches and verifies every buffer of the plan and what stands in for the rest of it, within what the plan
/// says is usable, then releases all; whatever happens, nothing stays held.
alloc_run run_allocation(const alloc_environment& around, const tested_plan& plan, const alloc_options& options);

/// max(256 MiB, 1 % of the device): what is left alone on a device that is shared, and always while searching.
constexpr byte_count default_guard(byte_count total) {
    const byte_count part = div_down(total, 100);
    return part > mib(256) ? part : mib(256);
}

// ---- what the runs of a test show

/// How the program ends; docs/probe.md explains them to users.
enum exit_code : int {  // NOLINT(performance-enum-size): what main() returns
    exit_done = 0,      ///< done, or it fits
    exit_internal = 1,  ///< a fault of the probe, the driver or the memory
    exit_usage = 2,     ///< bad arguments or a bad input file
    exit_does_not_fit = 3,
    exit_no_device = 4,
    exit_skipped = 5,       ///< not tried, with the reason
    exit_inconclusive = 6,  ///< tried, but someone else's memory moved
};

enum class verdict : std::uint8_t { fits, does_not_fit, skipped, inconclusive, failed };

constexpr std::string_view name_of(verdict v) {
    constexpr std::array<std::string_view, 5> names{"fits", "does_not_fit", "skipped", "inconclusive", "failed"};
    return names[static_cast<std::size_t>(v)];
}

constexpr exit_code exit_of(verdict v) {
    constexpr std::array<exit_code, 5> codes{exit_done, exit_does_not_fit, exit_skipped, exit_inconclusive,
                                             exit_internal};
    return codes[static_cast<std::size_t>(v)];
}

/// What a run says that ended so, while nobody else's memory moved.
constexpr verdict verdict_of(run_outcome outcome) {
    constexpr std::array<verdict, 8> verdicts{verdict::fits,    verdict::fits,         verdict::does_not_fit,
                                              verdict::skipped, verdict::inconclusive, verdict::skipped,
                                              verdict::failed,  verdict::failed};
    return verdicts[static_cast<std::size_t>(outcome)];
}

struct judgement {
    verdict says = verdict::failed;
    std::string reason;
};

/// One run's verdict. Others' moving memory makes every other finding inconclusive, except a fault.
judgement judge(const alloc_run& run);
/// All runs': theirs if they agree; inconclusive if they do not. A fault or a stop in any decides.
judgement judge(std::span<const alloc_run> runs);

/// What this process takes of the plan's `runtime` before any buffer: context and libraries as measured, or the plan's
/// own line where they could not be measured.
byte_count taken_before(const tested_plan& plan, const baselines& around);

// ---- the largest that is held

struct search_try {
    std::int64_t n = 0;
    bool fits = false;
    byte_count requested{};
    std::string reason;
};

struct search_result {
    verdict says = verdict::failed;  ///< fits: `largest` was found
    std::string reason;
    std::int64_t largest = 0;             ///< 0 if not even 1 fits
    std::int64_t predicted_in_guard = 0;  ///< largest for which what is free less the guard band suffices by arithmetic
    std::int64_t possible = 0;            ///< largest of which the plan's lower bound is within what it may use
    std::optional<search_try> planned{};  ///< at the planner's own largest
    std::optional<search_try> beyond{};   ///< at one more
    std::vector<search_try> tries;
};

/// The plan for another n.
using plan_at = std::function<result<tested_plan>(std::int64_t)>;

/// Tries the planner's own largest (`planned`, where it says one) and one more; then bisects between 0 (nothing) and
/// the largest n whose plan adds up to less than it may use and than what is free less the guard. An n that cannot be
/// planned, such as a context beyond the model's, does not fit. Runs that move or fail end the search with that
/// verdict.
search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options,
                             std::optional<std::int64_t> planned = {});

// ---- a training step, each tensor of it allocated and freed in its turn

/// The step that is replayed.
struct replayed_step {
    const job& what;
    const layout& over;
    const gpu& card;
    std::int32_t stage = 0;
    std::int32_t steps = 2;
};

struct replay_result {
    run_outcome outcome = run_outcome::done;
    std::string why;
    byte_count peak_requested{};  ///< tensors, as the step asks for them
    byte_count peak_allocated{};  ///< as the allocator hands them out
    byte_count peak_reserved{};   ///< by how much the device's free memory fell at most
    std::int64_t events = 0;
};

/// Whatever happens, nothing stays held. `guard`: never leave the device with less free than this.
replay_result replay(memory_api& memory, const replayed_step& step, const tensor_allocator& through, byte_count guard,
                     const stop_signal& stop);

}  // namespace llmres::probe
