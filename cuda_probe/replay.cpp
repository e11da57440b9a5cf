// SPDX-License-Identifier: MIT
#include <algorithm>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <map>
#include <vector>

#include "alloc.hpp"

namespace llmres::probe {

namespace {

using llmres::detail::caching_allocator;

/// Hands the events of a step to the device, or to PyTorch's rules in front of it. Throws run_ended or call_failed.
class step_player final : public caching_allocator::segment_source {
public:
    step_player(memory_api& memory, const tensor_allocator& through, byte_count guard, const stop_signal& stop,
                replay_result& result)
        : memory_{memory},
          through_{through},
          guard_{guard},
          stop_{stop},
          result_{result},
          before_{memory.memory().free},
          caching_{through.expands, this} {}

    void operator()(const tensor_event& e) {
        stop_.heed();
        ++result_.events;
        if (e.size > byte_count{}) return allocate(e);
        for (const tensor& t : groups_[e.group]) {
            requested_ -= t.size;
            through_.caching ? caching_.give(t.cached) : give(t.name);
        }
        groups_.erase(e.group);
    }

    /// A segment of the caching allocator, or a tensor. False if there is no room.
    bool take(std::int64_t name, std::int64_t size) override {
        if (memory_.memory().free < bytes(size) + guard_) return false;
        try {
            held_[name].push_back(memory_.allocate(through_.kind, bytes(size)));
        } catch (const call_failed& refused) {
            if (!refused.out_of_memory) throw;
            return false;
        }
        result_.peak_reserved = std::max(result_.peak_reserved, before_ - memory_.memory().free);
        return true;
    }
    void give(std::int64_t name) override {
        for (std::vector<block>& parts = held_[name]; !parts.empty();) {
            const block part = parts.back();
            parts.pop_back();
            memory_.release(part);
        }
        held_.erase(name);
    }
    /// Everything that is held; the first thing that goes wrong is thrown in the end.
    void give_all() {
        problem first;
        while (!held_.empty()) {
            const problem wrong = problem_of([&] { give(held_.begin()->first); });
            if (first.empty()) first = wrong;
        }
        memory_.trim();
        if (!first.empty()) throw call_failed{first};
    }

private:
    struct tensor {
        std::int64_t name = 0;  ///< of the device's memory
        caching_allocator::block* cached = nullptr;
        byte_count size{};
    };

    void allocate(const tensor_event& e) {
        tensor made{.name = next_++, .size = e.size};
        const std::int64_t size = e.size.in(bytes);
        if (through_.caching) made.cached = caching_.take(size, static_cast<std::size_t>(e.stream));
        if (through_.caching ? made.cached == nullptr : !take(made.name, size))
            throw run_ended{run_outcome::no_room,
                            "there was no room for a tensor of " + std::to_string(size) + " bytes"};
        groups_[e.group].push_back(made);
        requested_ += e.size;
        result_.peak_requested = std::max(result_.peak_requested, requested_);
        result_.peak_allocated = through_.caching ? bytes(caching_.peak_allocated) : result_.peak_requested;
    }

    memory_api& memory_;
    const tensor_allocator& through_;
    byte_count guard_;
    const stop_signal& stop_;
    replay_result& result_;
    byte_count before_;
    caching_allocator caching_;
    std::map<std::int64_t, std::vector<block>> held_;
    std::map<std::int64_t, std::vector<tensor>> groups_;
    byte_count requested_{};
    std::int64_t next_ = 0;
};

}  // namespace

replay_result replay(memory_api& memory, const replayed_step& step, const tensor_allocator& through, byte_count guard,
                     const stop_signal& stop) {
    replay_result result;
    const auto end = [&result](run_outcome outcome, std::string why) {
        result.outcome = outcome, result.why = std::move(why);
    };
    try {
        step_player plays{memory, through, guard, stop, result};
        try {
            for_each_tensor_event(step.what, step.over, step.card, step.stage, step.steps, plays);
        } catch (const run_ended& ended) {
            end(ended.outcome, ended.why);
        } catch (const std::exception& fault) {
            end(run_outcome::failed, fault.what());
        }
        plays.give_all();
    } catch (const std::exception& fault) {
        if (result.outcome != run_outcome::failed) end(run_outcome::failed, fault.what());
    }
    return result;
}

}  // namespace llmres::probe
