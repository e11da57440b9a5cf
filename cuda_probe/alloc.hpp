// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "plan_file.hpp"
#include "stop.hpp"

/// The honest allocation test: all of a plan's buffers, one by one, at once.
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
    std::string term;
    byte_count requested{};
    byte_count granted{};     ///< by how much the device's free memory fell
    byte_count cumulative{};  ///< granted so far
    byte_count free_after{};
};

enum class run_outcome : std::uint8_t {
    held,           ///< all buffers at once, every word of them as written
    no_room,        ///< the device refused buffer `failed_at`, or it is beyond what the plan may use
    guarded,        ///< buffer `failed_at` would have left less than the guard band
    stopped,        ///< interrupted or timed out
    wrong_content,  ///< memory did not keep what was written
    overcommitted,  ///< free memory did not fall by what was handed out: this is not the device's own memory
    failed,         ///< a call failed for another reason than room
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
    byte_count free_after{};  ///< after all was released: what is missing moved to someone else, or leaked
    reading<byte_count> others_before{};
    reading<byte_count> others_after{};
    std::string moved;  ///< how others' memory moved meanwhile; empty if it did not
    bool shuffled = false;
};

/// Allocates, touches and verifies every buffer of the plan and what stands in for the rest of it, within what the plan
/// says is usable, then releases all; whatever happens, nothing stays held.
alloc_run run_allocation(const alloc_environment& around, const plan_file& plan, const alloc_options& options);

/// max(256 MiB, 1 % of the device): what is left alone on a device that is shared, and always while searching.
constexpr byte_count default_guard(byte_count total) {
    const byte_count part = div_down(total, 100);
    return part > mib(256) ? part : mib(256);
}

}  // namespace llmres::probe
