// SPDX-License-Identifier: MIT
#include "alloc.hpp"

#include <algorithm>
#include <random>

#include "caching.hpp"

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

struct request {
    const plan_buffer* buffer = nullptr;
    std::int64_t part = 0;
};

std::vector<request> requests_of(const plan_file& plan, const alloc_options& options) {
    std::vector<request> all;
    for (const plan_buffer& b : plan.buffers)
        for (std::int64_t i = 0; i < b.count; ++i) all.push_back({&b, i});
    if (options.shuffled) std::shuffle(all.begin(), all.end(), std::mt19937_64{options.seed});
    return all;
}

std::string name_of(const request& r) {
    return r.buffer->count == 1 ? r.buffer->name : r.buffer->name + "[" + std::to_string(r.part) + "]";
}

std::uint64_t seed_of(const alloc_options& options, std::size_t block) { return options.seed * 1'000'003 + block + 1; }

/// Allocates one after the other; true if all are held.
bool hold_all(const alloc_environment& around, const std::vector<request>& requests, const alloc_options& options,
              holdings& held, alloc_run& run) {
    caching_layout caching;
    byte_count free = run.free_before;
    const auto fail = [&run](run_outcome outcome, std::string reason) {
        run.outcome = outcome;
        run.reason = std::move(reason);
        return false;
    };
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const request& r = requests[i];
        if (const std::string why = around.stop.why(); !why.empty()) return fail(run_outcome::stopped, why);
        const byte_count wanted = r.buffer->size;
        const byte_count from_device = options.caching ? caching.segment_for(wanted) : wanted;
        if (from_device > byte_count{}) {
            const auto mark = [&] {
                run.failed_at = static_cast<std::int64_t>(i);
                run.failed_name = name_of(r);
                run.failed_size = from_device;
            };
            // What cannot fit at all may be tried: the device refuses, and nobody is harmed.
            if (from_device <= free && free - from_device < options.guard) {
                mark();
                byte_count left{};
                for (std::size_t later = i; later < requests.size(); ++later) left += requests[later].buffer->size;
                return left > free && !options.caching
                           ? fail(run_outcome::no_room, "the buffers that are left exceed what is free")
                           : fail(run_outcome::guarded, "less than the guard band would stay free");
            }
            const allocation got = around.memory.allocate(options.allocator, from_device);
            if (!got.made) {
                mark();
                return fail(got.out_of_memory ? run_outcome::no_room : run_outcome::failed,
                            std::string{got.made.why.view()});
            }
            held.add(*got.made);
            if (const problem wrong = around.memory.touch(*got.made, seed_of(options, held.blocks().size()));
                !wrong.empty()) {
                mark();
                return fail(run_outcome::failed, std::string{wrong.view()});
            }
        }
        const auto now = around.memory.memory();
        if (!now) return fail(run_outcome::failed, std::string{now.why.view()});
        const byte_count granted = free > now->free ? free - now->free : byte_count{};
        free = now->free;
        run.requested += wanted;
        run.granted += granted;
        run.buffers.push_back({name_of(r), r.buffer->term, wanted, granted, run.granted, free});
    }
    return true;
}

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

bool apart(byte_count a, byte_count b, byte_count tolerance) { return (a > b ? a - b : b - a) > tolerance; }

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
    if (hold_all(around, requests_of(plan, options), options, held, run) && verify_all(around, options, held, run)) {
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
    if (run.outcome == run_outcome::held && (!wrong.empty() || !after)) {
        run.outcome = run_outcome::failed;
        run.reason = wrong.empty() ? after.why.view() : wrong.view();
    }
    // Two witnesses: what NVML says others hold, and whether what we released came back. A driver may keep a little of
    // what it needed to map a lot.
    const byte_count kept = std::max(options.tolerance, div_down(run.granted, 1000));
    run.others_moved =
        (run.others_before && run.others_after && apart(*run.others_before, *run.others_after, options.tolerance)) ||
        (after && apart(run.free_before, run.free_after, kept));
    return run;
}

}  // namespace llmres::probe
