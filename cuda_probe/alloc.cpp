// SPDX-License-Identifier: MIT
#include "alloc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <llmres/memory/events/caching_allocator.hpp>
#include <random>

namespace llmres::probe {

namespace {

/// Blocks that are held, and let go of on every way out.
class holdings {
public:
    explicit holdings(memory_api& memory) : memory_{memory} {}
    ~holdings() { release(); }
    holdings(const holdings&) = delete;
    holdings& operator=(const holdings&) = delete;

    void add(const block& held) { blocks_.push_back(held); }
    const std::vector<block>& blocks() const { return blocks_; }
    /// The first thing that went wrong while letting go.
    problem release() {
        problem first;
        for (auto held = blocks_.rbegin(); held != blocks_.rend(); ++held) {
            const problem wrong = memory_.release(*held);
            if (first.empty()) first = wrong;
        }
        blocks_.clear();
        const problem wrong = memory_.trim();
        return first.empty() ? wrong : first;
    }

private:
    memory_api& memory_;
    std::vector<block> blocks_;
};

/// Each buffer alone: what a process has before its tensors first, what its allocator leaves unused last.
std::vector<plan_buffer> requests_of(const plan_file& plan, const alloc_options& options) {
    const std::vector<plan_buffer> beside = stand_ins(plan, options.own, options.caching);
    std::vector<plan_buffer> all;
    const auto add_beside = [&](bool runtime) {
        for (const plan_buffer& b : beside)
            if ((b.term == "runtime") == runtime) all.push_back(b);
    };
    add_beside(true);
    for (const plan_buffer& b : plan.buffers)
        for (std::int64_t i = 0; i < b.count; ++i)
            all.push_back({b.count == 1 ? b.name : fmt::format("{}[{}]", b.name, i), b.term, b.size});
    add_beside(false);
    if (options.shuffled) std::shuffle(all.begin(), all.end(), std::mt19937_64{options.seed});
    return all;
}

std::uint64_t seed_of(const alloc_options& options, std::size_t block) { return options.seed * 1'000'003 + block + 1; }

bool apart(byte_count a, byte_count b, byte_count tolerance) { return (a > b ? a - b : b - a) > tolerance; }

/// Notes that someone else's memory moved, the first time that it shows.
void note_moved(alloc_run& run, std::string how) {
    if (run.moved.empty()) run.moved = std::move(how);
}

/// One run's allocations, one after the other.
class filling {
public:
    filling(const alloc_environment& around, const plan_file& plan, const alloc_options& options, holdings& held,
            alloc_run& run)
        : around_{around},
          options_{options},
          held_{held},
          run_{run},
          free_{run.free_before},
          room_{plan.usable > options.own ? plan.usable - options.own : byte_count{}},
          requests_{requests_of(plan, options)} {}

    /// True if all are held.
    bool hold_all() {
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (const std::string why = around_.stop.why(); !why.empty()) return fail(run_outcome::stopped, why);
            const byte_count wanted = requests_[i].size;
            const byte_count from_device = options_.caching ? segment_for(wanted) : wanted;
            if (from_device > byte_count{} && !hold(i, from_device)) return false;
            if (!note(requests_[i], from_device)) return false;
        }
        return true;
    }

private:
    bool fail(run_outcome outcome, std::string reason) {
        run_.outcome = outcome;
        run_.reason = std::move(reason);
        return false;
    }
    bool fail_at(std::size_t i, byte_count size, run_outcome outcome, std::string reason) {
        run_.failed_at = static_cast<std::int64_t>(i);
        run_.failed_name = requests_[i].name;
        run_.failed_size = size;
        return fail(outcome, std::move(reason));
    }

    /// The new segment that the caching allocator takes from the device for this request; zero if one has room.
    byte_count segment_for(byte_count request) {
        const std::int64_t before = caching_.reserved;
        caching_.take(request.in(bytes));
        return bytes(caching_.reserved - before);
    }

    bool hold(std::size_t i, byte_count size) {
        if (run_.granted + size > room_)
            return fail_at(i, size, run_outcome::no_room,
                           "with it the process would take more than the plan's usable " +
                               std::to_string((room_ + options_.own).in(bytes)) + " bytes");
        if (options_.host_room && run_.granted + size > *options_.host_room)
            return fail_at(i, size, run_outcome::guarded, "the host, whose memory this is, would be short of it");
        // What cannot fit at all may be tried: the device refuses, and nobody is harmed.
        if (size <= free_ && free_ - size < options_.guard) {
            byte_count left{};
            for (std::size_t later = i; later < requests_.size(); ++later) left += requests_[later].size;
            return left > free_ && !options_.caching
                       ? fail_at(i, size, run_outcome::no_room, "the buffers that are left exceed what is free")
                       : fail_at(i, size, run_outcome::guarded, "less than the guard band would stay free");
        }
        const allocation got = around_.memory.allocate(options_.allocator, size);
        if (!got.made) {
            if (const problem fault = got.out_of_memory ? ask_neighbours(size) : problem{}; !fault.empty())
                return fail_at(i, size, run_outcome::failed, std::string{fault.view()});
            return fail_at(i, size, got.out_of_memory ? run_outcome::no_room : run_outcome::failed,
                           std::string{got.made.why.view()});
        }
        held_.add(*got.made);
        if (const problem wrong = around_.memory.touch(*got.made, seed_of(options_, held_.blocks().size()));
            !wrong.empty())
            return fail_at(i, size, run_outcome::failed, std::string{wrong.view()});
        return true;
    }

    /// At the moment of a refusal: whether there was room by what was free before, and who took it. A problem where the
    /// device does not say what is free.
    problem ask_neighbours(byte_count size) {
        const auto now = around_.memory.memory();
        if (!now) return now.why;
        const auto others = around_.used_by_others();
        if (apart(now->free, free_, options_.tolerance))
            note_moved(run_, "free memory was another than before when the device refused");
        else if (now->free >= size + far())
            note_moved(run_, "the device refused what it says is free");
        else if (others && run_.others_before && apart(*others, *run_.others_before, options_.tolerance))
            note_moved(run_, "other processes held another amount when the device refused");
        return {};
    }

    /// By how much what a device takes for a request may differ from it: allocators' granules.
    byte_count far() const { return std::max(options_.tolerance, mib(64)); }

    bool note(const plan_buffer& b, byte_count from_device) {
        const auto now = around_.memory.memory();
        if (!now) return fail(run_outcome::failed, std::string{now.why.view()});
        const byte_count fell = free_ - now->free;  // below zero where someone left
        // A pool takes more than a request, and then nothing for those that follow.
        if (fell + far() < byte_count{} || fell > from_device + far())
            note_moved(run_, "free memory changed by another amount than was allocated");
        free_ = now->free;
        const byte_count granted = fell > byte_count{} ? fell : byte_count{};
        run_.requested += b.size;
        run_.granted += granted;
        run_.buffers.push_back({b.name, b.term, b.size, granted, run_.granted, free_});
        return true;
    }

    const alloc_environment& around_;
    const alloc_options& options_;
    holdings& held_;
    alloc_run& run_;
    llmres::detail::caching_allocator caching_;
    byte_count free_;
    byte_count room_;
    std::vector<plan_buffer> requests_;
};

bool verify_all(const alloc_environment& around, const alloc_options& options, const holdings& held, alloc_run& run) {
    for (std::size_t i = 0; i < held.blocks().size(); ++i) {
        if (const std::string why = around.stop.why(); !why.empty()) {
            run.outcome = run_outcome::stopped;
            run.reason = why;
            return false;
        }
        const auto differ = around.memory.verify(held.blocks()[i], seed_of(options, i + 1));
        if (differ && *differ == 0) continue;
        run.outcome = differ ? run_outcome::wrong_content : run_outcome::failed;
        run.reason =
            differ ? std::to_string(*differ) + " words of block " + std::to_string(i) + " are not what was written"
                   : std::string{differ.why.view()};
        return false;
    }
    return true;
}

/// Two witnesses: what NVML says others hold, and whether what we released came back. A driver may keep a little of
/// what it needed to map a lot.
void look_around(alloc_run& run, bool know_after, byte_count tolerance) {
    const byte_count kept = std::max(tolerance, div_down(run.granted, 1000));
    if (run.others_before && run.others_after && apart(*run.others_before, *run.others_after, tolerance))
        note_moved(run, "other processes held another amount before and after");
    if (know_after && apart(run.free_before, run.free_after, kept))
        note_moved(run, "free memory was another before and after");
}

}  // namespace

alloc_run run_allocation(const alloc_environment& around, const plan_file& plan, const alloc_options& options) {
    alloc_run run;
    run.shuffled = options.shuffled;
    const auto before = around.memory.memory();
    if (!before) {
        run.reason = before.why.view();
        return run;
    }
    run.free_before = before->free;
    run.others_before = around.used_by_others();

    holdings held{around.memory};
    if (filling{around, plan, options, held, run}.hold_all() && verify_all(around, options, held, run)) {
        // Where memory can be handed out twice (managed, WSL), free memory falls by less than was asked for.
        const byte_count slack = run.requested - scaled_down(run.requested, 0.99);
        if (run.granted + slack + options.tolerance < run.requested) {
            run.outcome = run_outcome::overcommitted;
            run.reason = "free memory fell by less than was allocated";
        } else {
            run.outcome = run_outcome::held;
        }
    }
    const problem wrong = held.release();
    // Asked with nothing held, as before: where process ids are hidden (containers), our own may look like another's.
    run.others_after = around.used_by_others();
    const auto after = around.memory.memory();
    run.free_after = after ? after->free : byte_count{};
    const bool tried = run.outcome == run_outcome::held || run.outcome == run_outcome::no_room;
    if (tried && (!wrong.empty() || !after)) {
        run.outcome = run_outcome::failed;
        run.reason = wrong.empty() ? after.why.view() : wrong.view();
    }
    look_around(run, after.known, options.tolerance);
    return run;
}

namespace {

std::string at_buffer(const alloc_run& run) {
    return fmt::format("at buffer {} ({}, {} bytes)", run.failed_at, run.failed_name, run.failed_size.base());
}

}  // namespace

judgement judge(const alloc_run& run) {
    switch (run.outcome) {
        case run_outcome::held:
            return run.moved.empty() ? judgement{verdict::fits, "the whole plan was held at once and kept its content"}
                                     : judgement{verdict::inconclusive, "the whole plan was held, but " + run.moved};
        case run_outcome::no_room:
            return run.moved.empty()
                       ? judgement{verdict::does_not_fit, "no room " + at_buffer(run) + ": " + run.reason}
                       : judgement{verdict::inconclusive, "no room " + at_buffer(run) + ", but " + run.moved};
        case run_outcome::guarded:
            return run.moved.empty()
                       ? judgement{verdict::skipped, run.reason + " " + at_buffer(run)}
                       : judgement{verdict::inconclusive, run.reason + " " + at_buffer(run) + ", and " + run.moved};
        case run_outcome::stopped:
            return {verdict::skipped, run.reason};
        case run_outcome::overcommitted:
            return {verdict::inconclusive, run.reason};
        case run_outcome::wrong_content:
        case run_outcome::failed:
            return {verdict::failed,
                    run.reason + (run.failed_at >= 0 ? fmt::format(" {}", at_buffer(run)) : std::string{})};
    }
    return {};
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

byte_count taken_before(const plan_file& plan, const baselines& around) {
    if (around.context) return *around.context + around.libraries.value_or({});
    return plan.process_context ? plan.process_context->expected : byte_count{};
}

}  // namespace llmres::probe
