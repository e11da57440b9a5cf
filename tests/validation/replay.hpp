// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <map>
#include <vector>

#include "training/scores.hpp"

/// Training steps of published runs, replayed through PyTorch's caching allocator by its rules.
namespace training_runs {

/// What an allocator handed out and held at most.
struct replayed {
    double allocated = 0;  ///< GiB
    double reserved = 0;
    double ratio() const { return reserved / allocated; }
};

inline replayed replay(const run& r, std::int32_t stage, std::int32_t steps = 3) {
    using allocator = llmres::detail::caching_allocator;
    allocator memory{r.what.runtime.allocator.expandable_segments};
    std::map<std::int64_t, std::vector<allocator::block*>> groups;
    for_each_tensor_event(r.what, r.over, r.on.gpu, stage, steps, [&](const tensor_event& e) {
        std::vector<allocator::block*>& group = groups[e.group];
        if (e.size > byte_count{}) {
            group.push_back(memory.take(e.size.in(bytes), static_cast<std::size_t>(e.stream)));
            return;
        }
        for (allocator::block* held : group) memory.give(held);
        group.clear();
    });
    return {bytes(memory.peak_allocated).in(gib), bytes(memory.peak_reserved).in(gib)};
}

}  // namespace training_runs
