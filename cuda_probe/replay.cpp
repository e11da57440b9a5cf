// SPDX-License-Identifier: MIT
#include "replay.hpp"

#include <algorithm>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <map>
#include <vector>

namespace llmres::probe {

namespace {

using llmres::detail::caching_allocator;

/// The device's memory as the replay takes it, and what went wrong.
class device_memory final : public caching_allocator::segment_source {
public:
    device_memory(memory_api& memory, allocator_kind kind, byte_count guard, replay_result& result)
        : memory_{memory}, kind_{kind}, guard_{guard}, result_{result} {
        if (const auto now = memory_.memory())
            before_ = now->free;
        else
            fail(replay_outcome::failed, now.why.view());
    }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    ~device_memory() {
        for (const auto& [name, parts] : held_)
            for (const block& part : parts) release(part);
        if (const problem wrong = memory_.trim(); !wrong.empty()) fail(replay_outcome::failed, wrong.view());
    }

    /// False if there is no room, or a call failed: then `failed()` says so.
    bool take(std::int64_t name, std::int64_t size) override {
        const auto now = memory_.memory();
        if (!now) return fail(replay_outcome::failed, now.why.view());
        if (now->free < bytes(size) + guard_) return false;
        const allocation got = memory_.allocate(kind_, bytes(size));
        if (!got.made) return got.out_of_memory ? false : fail(replay_outcome::failed, got.made.why.view());
        held_[name].push_back(*got.made);
        const auto after = memory_.memory();
        if (!after) return fail(replay_outcome::failed, after.why.view());
        result_.peak_reserved = std::max(result_.peak_reserved, before_ - after->free);
        return true;
    }
    void give(std::int64_t name) override {
        for (const block& part : held_[name]) release(part);
        held_.erase(name);
    }
    bool failed() const { return result_.outcome == replay_outcome::failed; }

private:
    bool fail(replay_outcome outcome, std::string_view why) {
        if (result_.outcome == replay_outcome::failed) return false;
        result_.outcome = outcome;
        result_.why = why;
        return false;
    }
    void release(const block& part) {
        if (const problem wrong = memory_.release(part); !wrong.empty()) fail(replay_outcome::failed, wrong.view());
    }

    memory_api& memory_;
    allocator_kind kind_;
    byte_count guard_;
    replay_result& result_;
    byte_count before_{};
    std::map<std::int64_t, std::vector<block>> held_;
};

/// Hands the events of a step to the device, or to PyTorch's rules in front of it.
class player {
public:
    player(device_memory& device, const tensor_allocator& through, const stop_signal& stop, replay_result& result)
        : device_{device}, caching_{through.expands, &device}, caches_{through.caching}, stop_{stop}, result_{result} {}

    void operator()(const tensor_event& e) {
        if (result_.outcome != replay_outcome::done) return;
        if (const std::string why = stop_.why(); !why.empty()) {
            result_.outcome = replay_outcome::stopped;
            result_.why = why;
            return;
        }
        ++result_.events;
        e.size > byte_count{} ? take(e) : free(e.group);
    }

private:
    struct tensor {
        std::int64_t name = 0;  ///< of the device's memory
        caching_allocator::block* block = nullptr;
        byte_count size{};
    };

    void take(const tensor_event& e) {
        tensor made{.name = next_++, .size = e.size};
        const std::int64_t size = e.size.in(bytes);
        if (caches_) made.block = caching_.take(size, static_cast<std::size_t>(e.stream));
        const bool held = caches_ ? made.block != nullptr : device_.take(made.name, size);
        if (!held) {
            if (device_.failed()) return;
            result_.outcome = replay_outcome::no_room;
            result_.why = "there was no room for a tensor of " + std::to_string(size) + " bytes";
            return;
        }
        groups_[e.group].push_back(made);
        requested_ += e.size;
        result_.peak_requested = std::max(result_.peak_requested, requested_);
        result_.peak_allocated = caches_ ? bytes(caching_.peak_allocated) : result_.peak_requested;
    }
    void free(std::int64_t group) {
        for (const tensor& t : groups_[group]) {
            requested_ -= t.size;
            caches_ ? caching_.give(t.block) : device_.give(t.name);
        }
        groups_.erase(group);
    }

    device_memory& device_;
    caching_allocator caching_;
    bool caches_;
    const stop_signal& stop_;
    replay_result& result_;
    std::map<std::int64_t, std::vector<tensor>> groups_;
    byte_count requested_{};
    std::int64_t next_ = 0;
};

}  // namespace

replay_result replay(memory_api& memory, const replayed_step& step, const tensor_allocator& through, byte_count guard,
                     const stop_signal& stop) {
    replay_result result;
    {
        device_memory device{memory, through.kind, guard, result};
        player plays{device, through, stop, result};
        if (result.outcome == replay_outcome::done)
            for_each_tensor_event(step.what, step.over, step.card, step.stage, step.steps, plays);
    }
    return result;
}

}  // namespace llmres::probe
