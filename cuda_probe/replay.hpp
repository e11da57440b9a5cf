// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <string>

#include "cuda_api.hpp"
#include "stop.hpp"

/// A training step replayed on the device: each tensor of it allocated and freed in its turn.
namespace llmres::probe {

/// The step that is replayed.
struct replayed_step {
    const job& what;
    const layout& over;
    const gpu& card;
    std::int32_t stage = 0;
    std::int32_t steps = 2;
};

enum class replay_outcome : std::uint8_t { done, no_room, stopped, failed };

struct replay_result {
    replay_outcome outcome = replay_outcome::done;
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
