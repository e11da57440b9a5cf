// SPDX-License-Identifier: MIT
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/overheads.hpp>

#include <doctest/doctest.h>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <llmres/models/llama.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/pytorch.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

job training() {
    return {.model = models::llama_3_2_1b,
            .task = task::pretraining,
            .sequence = tokens(1024),
            .runtime = runtimes::pytorch};
}

}  // namespace

TEST_CASE("the total is the sum of the terms, the largest term is found by what is expected") {
    memory_breakdown m;
    m[memory_term::weights] = {gib(1), gib(2), gib(3)};
    m[memory_term::logits] = {gib(0), gib(4), gib(4)};
    CHECK(m.total() == interval<byte_count>{gib(1), gib(6), gib(7)});
    CHECK(m.largest() == memory_term::logits);
    static_assert(name_of(memory_term::fragmentation) == "fragmentation");
    static_assert(name_of(phase::load) == "load");
}

TEST_CASE(
    "what the runtime adds: context, workspaces, fragmentation of what was handed out; one communicator a kind of "
    "group") {
    const job j = training();
    const tensor_memory tensors{.weights = gib(2), .gradients = gib(2), .optimizer = gib(8), .activations = gib(3)};
    const memory_breakdown alone = with_runtime(tensors, {}, j, layout{}, is_described(j.model));
    CHECK(alone.ideal == gib(15));
    CHECK(alone[memory_term::runtime] == j.runtime.process.context + j.runtime.process.cuda_graphs);
    CHECK(alone.allocated.expected == gib(15) + j.runtime.process.workspace.expected);
    CHECK(alone.reserved.expected == alone.allocated.expected + alone[memory_term::fragmentation].expected);
    CHECK(alone.total().expected == alone.reserved.expected + alone[memory_term::runtime].expected);
    const memory_breakdown many =
        with_runtime(tensors, {}, j, layout{.tensor = 2, .pipeline = 2, .data = 2}, is_described(j.model));
    CHECK(many[memory_term::communication].expected == j.runtime.process.communicator.expected * 3);
    // What is exact has one value, what is estimated has bounds.
    CHECK(alone[memory_term::optimizer].low == alone[memory_term::optimizer].high);
    CHECK(alone[memory_term::activations].low <= gib(3));
    CHECK(alone[memory_term::activations].high >= gib(3));
}

TEST_CASE("an allocator gives back what is releasable before it runs out, and no more") {
    const tensor_memory tensors{.weights = gib(10)};
    const memory_breakdown held = with_runtime(tensors, {}, training(), layout{}, is_described(training().model),
                                               {.releasable = {gib(4), gib(4), gib(4)}});
    const byte_count full = held.total().expected;
    SUBCASE("room enough: nothing happens") {
        memory_breakdown m = held;
        m.release_beyond(held.total().high);
        CHECK(m.total() == held.total());
    }
    SUBCASE("two GiB are lacking: they are released") {
        memory_breakdown m = held;
        m.release_beyond(held.total().high - gib(2));
        CHECK(m.total().high == held.total().high - gib(2));
        CHECK(m.reserved.high >= held.reserved.high - gib(2));  // where all else takes least, more of it stays
        CHECK(m.reserved.high <= held.reserved.high);
        CHECK(m.total().expected <= held.total().expected);
    }
    SUBCASE("what is expected is held as far as there is room, however little is kept where all else takes most") {
        job j = training();
        j.runtime.accuracy.activations = {1.0, 1.0, 1.5};
        const tensor_memory more{.weights = gib(10), .activations = gib(4)};
        memory_breakdown m =
            with_runtime(more, {}, j, layout{}, is_described(j.model), {.releasable = {gib(2), gib(2), gib(2)}});
        const interval<byte_count> all = m.total();
        const byte_count room = all.expected + mib(1);
        REQUIRE(all.high > room);
        m.release_beyond(room);
        CHECK(m.total().expected == all.expected);
        CHECK(m.total().high == (all.high - gib(2) > room ? all.high - gib(2) : room));
        CHECK(m[memory_term::fragmentation].expected <= m[memory_term::fragmentation].high);
    }
    SUBCASE("what may never run out is not said to give anything back") {
        memory_breakdown m = with_runtime(tensors, {}, training(), layout{}, is_described(training().model),
                                          {.releasable = {gib(1), gib(4), gib(8)}});
        const interval<byte_count> all = m.total();
        m.release_beyond(all.expected);
        CHECK(m.total().low == all.low);
        m.release_beyond(all.low - mib(1));
        CHECK(m.total().low == all.low - m.releasable.low);
        CHECK(m.reserved.low <= m.reserved.expected);
    }
    SUBCASE("sizes beyond counting stay so: nothing is said to be given back") {
        const tensor_memory absurd{.activations = byte_count::max()};
        memory_breakdown m = with_runtime(absurd, {}, training(), layout{}, is_described(training().model),
                                          {.releasable = {gib(4), gib(4), byte_count::max()}});
        m.release_beyond(gib(80));
        CHECK(is_saturated(m.total().high));
    }
    SUBCASE("far too little room: all that is releasable goes, what tensors take stays") {
        memory_breakdown m = held;
        m.release_beyond(gib(1));
        CHECK(m.total().expected == full - gib(4));
        CHECK(m.allocated == held.allocated);
    }
}

TEST_CASE("memory surely fits where its upper bound does, and where that was cut, the expected value stays below it") {
    memory_breakdown m;
    m[memory_term::weights] = gib(10);
    m.reserved = {gib(10), gib(12), gib(16)};
    m[memory_term::fragmentation] = {gib(0), gib(2), gib(6)};
    m.releasable = {gib(0), gib(2), gib(6)};
    const auto within = [&](byte_count usable) {
        memory_breakdown released = m;
        released.release_beyond(usable);
        return released.surely_within(usable);
    };
    CHECK(within(gib(16)));
    CHECK(within(gib(14)));  // cut, but 12 are expected
    CHECK(within(gib(12) + bytes(1)));
    CHECK_FALSE(within(gib(12)));  // expected to need what is freed
    CHECK_FALSE(within(gib(11)));
    CHECK_FALSE(within(gib(10) - bytes(1)));
    m.caches_many_sizes = true;
    CHECK(within(gib(11)));  // blocks of many sizes fill any device
    CHECK_FALSE(within(gib(10) - bytes(1)));
    memory_breakdown exact;
    exact[memory_term::weights] = gib(10);
    CHECK(exact.surely_within(gib(10)));
    CHECK_FALSE(exact.surely_within(gib(10) - bytes(1)));
}

TEST_CASE("what is given back is what each end lacks, in gibibytes counted by hand") {
    const auto between = [](std::int64_t low, std::int64_t expected, std::int64_t high) {
        return interval<byte_count>{gib(low), gib(expected), gib(high)};
    };
    memory_breakdown held;
    held[memory_term::weights] = gib(10);
    held[memory_term::fragmentation] = between(1, 4, 6);
    held.reserved = between(11, 14, 16);
    held.releasable = between(1, 3, 5);
    const auto left = [&](std::int64_t available) {
        memory_breakdown m = held;
        m.release_beyond(gib(available));
        return m;
    };
    CHECK(left(16).total() == between(11, 14, 16));
    CHECK(left(15).total() == between(11, 14, 15));
    // 1 is expected to be lacking, and 3 at most; then all of it may have been given back.
    CHECK(left(13).total() == between(10, 13, 13));
    CHECK(left(13).reserved == between(10, 13, 13));
    CHECK(left(13).released == gib(3));
    CHECK(left(11).total() == between(10, 11, 11));
    CHECK(left(10).total() == between(10, 11, 11));
    CHECK(left(10).reserved == between(10, 11, 11));
    // Where all else takes least, the allocator may hold more than where all takes most.
    held[memory_term::runtime] = between(2, 2, 4);
    CHECK(left(17).total() == between(13, 16, 17));
    CHECK(left(17).reserved == between(11, 14, 15));
    // The low end is no more than what is expected.
    held[memory_term::runtime] = {};
    held[memory_term::fragmentation] = between(3, 4, 6);
    held.reserved = between(13, 14, 16);
    held.releasable = between(0, 3, 5);
    CHECK(left(12).total() == between(12, 12, 12));
    CHECK(left(12).reserved == between(12, 12, 12));
}

TEST_CASE("the driver evicts what is expected to be lacking of paged states, and the upper bound keeps all") {
    const auto between = [](std::int64_t low, std::int64_t expected, std::int64_t high) {
        return interval<byte_count>{gib(low), gib(expected), gib(high)};
    };
    memory_breakdown held;
    held[memory_term::optimizer] = gib(8);
    held[memory_term::activations] = between(2, 4, 6);
    held.evictable = gib(5);
    const auto left = [&](std::int64_t available) {
        memory_breakdown m = held;
        m.evict_beyond(gib(available));
        return m;
    };
    CHECK(left(14).total() == held.total());
    CHECK(left(14).evicted == byte_count{});
    CHECK(left(11)[memory_term::optimizer] == between(7, 7, 8));
    CHECK(left(11).evicted == between(0, 1, 3));
    CHECK(left(5)[memory_term::optimizer] == between(3, 3, 8));  // no more than is evictable
    CHECK(left(5).evicted == between(5, 5, 5));
    CHECK(left(5)[memory_term::activations] == held[memory_term::activations]);
}

TEST_CASE("each term may be the largest, the first of equal ones") {
    for (std::size_t i = 0; i < names_of<memory_term>.size(); ++i) {
        memory_breakdown m;
        m.terms[i] = mib(1);
        CHECK(m.largest() == static_cast<memory_term>(i));
        for (std::size_t k = i; k < names_of<memory_term>.size(); ++k) m.terms[k] = mib(1);
        CHECK(m.largest() == static_cast<memory_term>(i));
    }
}

TEST_CASE("what is released, and what never comes together, are both off the upper bound") {
    memory_breakdown m;
    m[memory_term::activations] = {mib(10), mib(20), mib(100)};
    m.released = mib(30);
    m.never_both = mib(7);
    CHECK(m.total() == interval<byte_count>{mib(10), mib(20), mib(63)});
}

TEST_CASE("of a size beyond what can be counted nothing is evicted or given back") {
    memory_breakdown m;
    m[memory_term::optimizer] = mib(50);
    m[memory_term::activations].high = bytes(std::numeric_limits<std::int64_t>::max());
    m[memory_term::fragmentation] = mib(9);
    m.evictable = mib(50);
    m.reserved = mib(100);
    m.releasable = {mib(9), mib(9), mib(9)};
    const memory_breakdown before = m;
    m.evict_beyond(mib(1));
    m.release_beyond(mib(1));
    CHECK(m.evicted == interval<byte_count>{});
    CHECK(m.released == byte_count{});
    CHECK(m.terms == before.terms);
    CHECK(m.reserved == before.reserved);
}

TEST_CASE("the least certain term is the one whose upper bound is farthest above what is expected") {
    memory_breakdown m;
    m[memory_term::weights] = gib(100);
    m[memory_term::activations] = {mib(10), mib(20), mib(50)};
    m[memory_term::runtime] = {mib(1), mib(300), mib(329)};
    CHECK(m.largest() == memory_term::weights);
    CHECK(m.least_certain() == memory_term::activations);
    m[memory_term::runtime].high = mib(331);
    CHECK(m.least_certain() == memory_term::runtime);
}
