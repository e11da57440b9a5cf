// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <map>
#include <vector>

#include "training/scores.hpp"

/// Training steps of published runs, replayed through PyTorch's caching allocator as the probe simulates it.
namespace training_runs {

/// What an allocator handed out and held at most.
struct replayed {
    double allocated = 0;  ///< GiB
    double reserved = 0;
    double ratio() const { return reserved / allocated; }
};

/// A device that has so much room for segments. One that never fits is taken all the same, so that a replay whose
/// tensors take more than the run had still ends, with what it would have reserved.
class limited_device final : public detail::caching_allocator::segment_source {
public:
    explicit limited_device(std::int64_t room) : room_{room} {}
    bool take(std::int64_t segment, std::int64_t size) override {
        const bool second = segment == refused_;  // blocks that are not in use have been given back
        if (!second && held_ + size > room_) {
            refused_ = segment;
            return false;
        }
        held_ += sizes_[segment] = size;
        return true;
    }
    void give(std::int64_t segment) override {
        held_ -= sizes_[segment];
        sizes_.erase(segment);
    }

private:
    std::int64_t room_;
    std::int64_t held_ = 0;
    std::int64_t refused_ = -1;
    std::map<std::int64_t, std::int64_t> sizes_;
};

/// `beside`: what the process takes of the device beside the allocator.
inline replayed replay(const run& r, std::int32_t stage, byte_count beside, std::int32_t steps = 3,
                       sharing_rank rank = sharing_rank::first) {
    using allocator = detail::caching_allocator;
    limited_device device{(usable_memory(r.on.gpu) - beside).in(bytes)};
    allocator memory{r.what.runtime.allocator.expandable_segments, &device};
    std::map<std::int64_t, std::vector<allocator::block*>> groups;
    const auto play = [&](const tensor_event& e) {
        std::vector<allocator::block*>& group = groups[e.group];
        if (e.size > byte_count{}) {
            allocator::block* b = memory.take(e.size.in(bytes), static_cast<std::size_t>(e.stream));
            group.push_back(b != nullptr ? b : memory.take(e.size.in(bytes), static_cast<std::size_t>(e.stream)));
            return;
        }
        for (allocator::block* held : group) memory.give(held);
        group.clear();
    };
    for_each_tensor_event(r.what, r.over, r.on.gpu, stage, steps, play, rank);
    return {bytes(memory.peak_allocated).in(gib), bytes(memory.peak_reserved).in(gib)};
}

/// nvidia-smi's figures are means over the GPUs; what is allocated was counted by the first rank.
inline replayed replay_mean(const run& r, std::int32_t stage, byte_count beside) {
    const replayed first = replay(r, stage, beside);
    const auto ranks = static_cast<double>(r.over.zero < 3 ? 1 : r.over.dense_shard_ranks());
    if (ranks == 1) return first;
    const replayed other = replay(r, stage, beside, 3, sharing_rank::other);
    return {first.allocated, (first.reserved + (ranks - 1) * other.reserved) / ranks};
}

}  // namespace training_runs
