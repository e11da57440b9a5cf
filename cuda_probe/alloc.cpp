// SPDX-License-Identifier: MIT
#include "alloc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <llmres/memory/events/caching_allocator.hpp>
#include <random>

namespace llmres::probe {

namespace {

/// The plan's buffers as its engine takes them from the device: ggml lays out all tensors of a kind in one
/// (ggml-alloc.c, ggml_backend_alloc_ctx_tensors_from_buft).
std::vector<buffer> device_buffers(const tested_plan& plan) {
    if (plan.request.job.runtime.allocator.code != allocator_code::device) return plan.buffers;
    std::vector<buffer> all;
    for (const buffer& b : plan.buffers) {
        if (all.empty() || all.back().term != b.term) all.push_back({name_of(b.term), b.term, {}});
        all.back().size += b.size * b.count;
    }
    return all;
}

/// Each buffer alone: what a process has before its tensors first, what its allocator leaves unused last.
std::vector<buffer_result> requests_of(const tested_plan& plan, const alloc_options& options) {
    std::vector<buffer_result> all;
    const auto add = [&all](const buffer& b) {
        const std::string name{b.name.view()};
        for (std::int64_t i = 0; i < b.count; ++i)
            all.push_back({b.count == 1 ? name : fmt::format("{}[{}]", name, i), b.term, b.size});
    };
    const std::vector<buffer> beside = stand_ins(plan, options.own);
    for (const buffer& b : beside)
        if (b.term == memory_term::runtime) add(b);
    for (const buffer& b : device_buffers(plan)) add(b);
    for (const buffer& b : beside)
        if (b.term != memory_term::runtime) add(b);
    if (options.shuffled) std::shuffle(all.begin(), all.end(), std::mt19937_64{options.seed});
    return all;
}

std::uint64_t seed_of(const alloc_options& options, std::size_t block) { return options.seed * 1'000'003 + block + 1; }

bool differ(byte_count a, byte_count b, byte_count tolerance) { return (a > b ? a - b : b - a) > tolerance; }

/// Notes that someone else's memory moved, the first time that it shows.
void note_moved(alloc_run& run, std::string how) {
    if (run.moved.empty()) run.moved = std::move(how);
}

/// One run: blocks are allocated, held together and freed. Its steps throw run_ended or call_failed.
class allocation_in_progress {
public:
    allocation_in_progress(const alloc_environment& around, const tested_plan& plan, const alloc_options& options,
                           alloc_run& run)
        : around_{around},
          options_{options},
          run_{run},
          free_{run.free_before},
          room_{plan.usable > options.own ? plan.usable - options.own : byte_count{}},
          requests_{requests_of(plan, options)} {}

    void hold_all() {
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            run_.failed_at = -1;
            around_.stop.heed();
            const byte_count from_device = options_.caching ? segment_for(requests_[i]) : requests_[i].requested;
            run_.failed_at = static_cast<std::int64_t>(i);
            run_.failed_name = requests_[i].name;
            run_.failed_size = from_device;
            if (from_device > byte_count{}) hold(i, from_device);
            note(requests_[i], from_device);
        }
        run_.failed_at = -1;
    }

    void verify_all() const {
        for (std::size_t i = 0; i < held_.size(); ++i) {
            around_.stop.heed();
            if (const std::int64_t differ = around_.memory.verify(held_[i], seed_of(options_, i + 1)); differ != 0)
                throw run_ended{run_outcome::wrong_content,
                                fmt::format("{} words of block {} are not what was written", differ, i)};
        }
        // Where memory can be handed out twice (managed, WSL), free memory falls by less than was asked for.
        const byte_count slack = run_.requested - scaled_down(run_.requested, 0.99);
        if (run_.granted + slack + options_.tolerance < run_.requested)
            throw run_ended{run_outcome::overcommitted, "free memory fell by less than was allocated"};
    }

    /// The first call that failed while blocks were freed.
    problem release_all() {
        problem first;
        const auto also = [&](const problem& wrong) {
            if (first.empty()) first = wrong;
        };
        for (auto held = held_.rbegin(); held != held_.rend(); ++held)
            also(problem_of([&] { around_.memory.release(*held); }));
        also(problem_of([&] { around_.memory.trim(); }));
        return first;
    }

private:
    /// The new segment that the caching allocator takes from the device for this request; zero if one has room. The
    /// block for what its steps will fragment is none of its tensors, and less by what its segments have free already.
    byte_count segment_for(buffer_result& request) {
        const auto [allocated, reserved] = std::pair{caching_.allocated, caching_.reserved};
        if (request.term == memory_term::fragmentation) {
            const byte_count unused = bytes(reserved - allocated);
            return request.requested -= std::min(unused, request.requested);
        }
        caching_.take(request.requested.in(bytes));
        request.allocated = bytes(caching_.allocated - allocated);
        return bytes(caching_.reserved - reserved);
    }

    void hold(std::size_t i, byte_count size) {
        if (run_.granted + size > room_)
            throw run_ended{run_outcome::no_room,
                            fmt::format("with it the process would take more than the plan's usable {} bytes",
                                        (room_ + options_.own).in(bytes))};
        if (options_.host_room && run_.granted + size > *options_.host_room)
            throw run_ended{run_outcome::guarded, "the host, whose memory this is, would be short of it"};
        // A request beyond what is free may be tried: the device refuses it, and no other process loses memory.
        if (size <= free_ && free_ - size < options_.guard) {
            byte_count left{};
            for (std::size_t later = i; later < requests_.size(); ++later) left += requests_[later].requested;
            if (left > free_ && !options_.caching)
                throw run_ended{run_outcome::no_room, "the buffers that are left exceed what is free"};
            throw run_ended{run_outcome::guarded, "less than the guard band would stay free"};
        }
        try {
            held_.push_back(around_.memory.allocate(options_.allocator, size));
        } catch (const call_failed& refused) {
            if (!refused.out_of_memory) throw;
            ask_neighbours(size);
            throw run_ended{run_outcome::no_room, refused.what()};
        }
        requests_[i].rounding = held_.back().size - size;
        around_.memory.touch(held_.back(), seed_of(options_, held_.size()));
    }

    /// At the moment of a refusal: whether there was room by what was free before, and who took it.
    void ask_neighbours(byte_count size) {
        const byte_count free = around_.memory.memory().free;
        const auto others = around_.used_by_others();
        if (differ(free, free_, options_.tolerance))
            note_moved(run_, "free memory was another than before when the device refused");
        else if (free >= size + granule_slack())
            note_moved(run_, "the device refused what it says is free");
        else if (others && run_.others_before && differ(*others, *run_.others_before, options_.tolerance))
            note_moved(run_, "other processes held another amount when the device refused");
    }

    /// By how much what a device takes for a request may differ from it: allocators' granules.
    byte_count granule_slack() const { return std::max(options_.tolerance, mib(64)); }

    void note(const buffer_result& b, byte_count from_device) {
        const byte_count free = around_.memory.memory().free;
        const byte_count fell = free_ - free;  // below zero where someone left
        // A pool takes more than a request, and then nothing for those that follow.
        if (fell + granule_slack() < byte_count{} || fell > from_device + granule_slack())
            note_moved(run_, "free memory changed by another amount than was allocated");
        free_ = free;
        const byte_count granted = std::max(fell, byte_count{});
        run_.requested += b.requested;
        run_.granted += granted;
        const byte_count allocated = b.allocated > byte_count{} ? b.allocated : granted;
        run_.buffers.push_back({b.name, b.term, b.requested, granted, allocated, run_.granted, free_, b.rounding});
    }

    const alloc_environment& around_;
    const alloc_options& options_;
    alloc_run& run_;
    std::vector<block> held_;
    llmres::detail::caching_allocator caching_;
    byte_count free_;
    byte_count room_;
    std::vector<buffer_result> requests_;
};

/// Two witnesses: what NVML says others hold, and whether what we released came back. A driver may keep a little of
/// what it needed to map a lot.
void note_what_moved(alloc_run& run, bool know_after, byte_count tolerance) {
    const byte_count kept = std::max(tolerance, div_down(run.granted, 1000));
    if (run.others_before && run.others_after && differ(*run.others_before, *run.others_after, tolerance))
        note_moved(run, "other processes held another amount before and after");
    if (know_after && differ(run.free_before, run.free_after, kept))
        note_moved(run, "free memory was another before and after");
}

}  // namespace

alloc_run run_allocation(const alloc_environment& around, const tested_plan& plan, const alloc_options& options) {
    alloc_run run;
    const auto end = [&run](run_outcome outcome, std::string_view why) { run.outcome = outcome, run.reason = why; };
    const auto free_now = [&] { return reading_of([&] { return around.memory.memory().free; }); };
    run.shuffled = options.shuffled;
    const auto before = free_now();
    if (!before) return end(run_outcome::failed, before.why.view()), run;
    run.free_before = *before;
    run.others_before = around.used_by_others();

    allocation_in_progress held{around, plan, options, run};
    try {
        held.hold_all();
        held.verify_all();
        run.outcome = run_outcome::held;
    } catch (const run_ended& ended) {
        end(ended.outcome, ended.why);
    } catch (const std::exception& fault) {
        end(run_outcome::failed, fault.what());
    }
    const problem wrong = held.release_all();
    // Asked with nothing held, as before: where process ids are hidden (containers), our own may look like another's.
    run.others_after = around.used_by_others();
    const auto after = free_now();
    run.free_after = after.value_or({});
    const bool tried = run.outcome == run_outcome::held || run.outcome == run_outcome::no_room;
    if (tried && (!wrong.empty() || !after)) end(run_outcome::failed, wrong.empty() ? after.why : wrong);
    note_what_moved(run, after.known, options.tolerance);
    return run;
}

judgement judge(const alloc_run& run) {
    const std::string at = run.failed_at < 0 ? ""
                                             : fmt::format(" at buffer {} ({}, {} bytes)", run.failed_at,
                                                           run.failed_name, run.failed_size.base());
    judgement found{verdict_of(run.outcome), run.reason + at};
    if (run.outcome == run_outcome::held) found.reason = "the whole plan was held at once and kept its content";
    if (run.outcome == run_outcome::no_room) found.reason = "no room" + at + ": " + run.reason;
    const bool doubtful = !run.moved.empty() && run.outcome <= run_outcome::guarded;
    return doubtful ? judgement{verdict::inconclusive, found.reason + ", but " + run.moved} : found;
}

judgement judge(std::span<const alloc_run> runs) {
    if (runs.empty()) return {verdict::skipped, "nothing was run"};
    judgement all = judge(runs.front());
    for (const alloc_run& run : runs) {
        const judgement one = judge(run);
        if (one.says == verdict::failed || run.outcome == run_outcome::stopped) return one;
        if (one.says == all.says) continue;
        if (one.says == verdict::inconclusive || all.says == verdict::inconclusive)
            all = one.says == verdict::inconclusive ? one : all;
        else
            all = {verdict::inconclusive, "the runs disagree: " + all.reason + "; " + one.reason};
    }
    return all;
}

byte_count taken_before(const tested_plan& plan, const baselines& around) {
    if (around.context) return *around.context + around.libraries.value_or({});
    return plan.process_context ? plan.process_context->expected : byte_count{};
}

}  // namespace llmres::probe
