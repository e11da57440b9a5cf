// SPDX-License-Identifier: MIT
#include <llmres/memory/events/caching_allocator.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

using llmres::detail::caching_allocator;

// The constants of c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize 512, kSmallSize 1 MiB, kSmallBuffer 2 MiB,
// kMinLargeAlloc 10 MiB, kLargeBuffer 20 MiB, kRoundLarge 2 MiB.

namespace {

constexpr std::int64_t mib = 1 << 20;
using block = caching_allocator::block;

/// A device with so much room, and the segments that it gave out.
struct device_of : caching_allocator::segment_source {
    std::int64_t room;
    std::map<std::int64_t, std::int64_t> segments;
    int refused = 0;

    explicit device_of(std::int64_t size) : room{size} {}
    bool take(std::int64_t segment, std::int64_t size) override {
        if (size > room) return ++refused, false;
        room -= size;
        return segments.emplace(segment, size).second;
    }
    void give(std::int64_t segment) override {
        room += segments.at(segment);
        segments.erase(segment);
    }
};

/// What the device gives for the first tensor of this size, and how much of it is the tensor's.
std::pair<std::int64_t, std::int64_t> first(std::int64_t size) {
    caching_allocator memory;
    const block* b = memory.take(size);
    CHECK(memory.allocated == b->size);
    return {memory.reserved, b->size};
}

}  // namespace

TEST_CASE("a tensor's size is rounded to 512 bytes, and its segment is that of its size") {
    using both = std::pair<std::int64_t, std::int64_t>;
    CHECK(first(0) == both{2 * mib, 512});
    CHECK(first(1) == both{2 * mib, 512});
    CHECK(first(512) == both{2 * mib, 512});
    CHECK(first(513) == both{2 * mib, 1024});
    CHECK(first(mib) == both{2 * mib, mib});  // the largest small one
    CHECK(first(mib + 1) == both{20 * mib, mib + 512});
    CHECK(first(10 * mib - 512) == both{20 * mib, 10 * mib - 512});
    CHECK(first(10 * mib) == both{10 * mib, 10 * mib});  // from here on in steps of 2 MiB
    CHECK(first(10 * mib + 1) == both{12 * mib, 10 * mib + 512});
    CHECK(first(11 * mib) == both{12 * mib, 12 * mib});  // 1 MiB is no block of its own, more is
    CHECK(first(11 * mib - 512) == both{12 * mib, 11 * mib - 512});
    CHECK(first(19 * mib) == both{20 * mib, 20 * mib});
    CHECK(first(20 * mib + 1) == both{22 * mib, 20 * mib + 512});
}

TEST_CASE("the smallest free block that is large enough is taken, of equal ones that of the first segment and place") {
    caching_allocator memory;
    std::vector<block*> made;
    for (const std::int64_t size : {16, 12, 14, 12}) made.push_back(memory.take(size * mib));
    CHECK(memory.reserved == 54 * mib);
    for (const std::size_t k : {3U, 0U, 2U, 1U}) memory.give(made[k]);
    CHECK(memory.allocated == 0);
    CHECK(memory.peak_allocated == 54 * mib);
    CHECK(memory.take(11 * mib)->segment == 1);  // of 12 MiB, the earlier
    CHECK(memory.take(12 * mib)->segment == 3);
    CHECK(memory.take(14 * mib)->segment == 2);
    CHECK(memory.take(12 * mib)->segment == 0);
    CHECK(memory.reserved == 54 * mib);

    // Small ones of equal size lie in one segment: the first place is taken first, in whichever order they were freed.
    caching_allocator small;
    std::vector<block*> parts;
    for (int k = 0; k < 6; ++k) parts.push_back(small.take(1024));
    for (const std::size_t k : {4U, 0U, 2U}) small.give(parts[k]);
    CHECK(small.take(1024)->offset == 0);
    CHECK(small.take(1000)->offset == 2048);
    CHECK(small.take(1024)->offset == 4096);
    CHECK(small.take(1024)->offset == 6144);
    CHECK(small.reserved == 2 * mib);
}

TEST_CASE("freed neighbours are one block again, whichever is freed last; a segment is never joined to another") {
    for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}}) {
        caching_allocator memory;
        std::vector<block*> made;
        for (int k = 0; k < 3; ++k) made.push_back(memory.take(6 * mib));  // 20 MiB: 2 MiB are left behind them
        CHECK(memory.reserved == 20 * mib);
        memory.give(made[order[0]]);
        CHECK(memory.stuck() == 8 * mib);  // free, beside tensors
        memory.give(made[order[1]]);
        CHECK(memory.stuck() == 14 * mib);
        memory.give(made[order[2]]);
        CHECK(memory.stuck() == 0);
        const block* whole = memory.take(20 * mib);
        CHECK(whole->offset == 0);
        CHECK(whole->size == 20 * mib);
        CHECK(whole->before == nullptr);
        CHECK(whole->after == nullptr);
        CHECK(memory.reserved == 20 * mib);
        CHECK(memory.peak_allocated == 20 * mib);
    }
    caching_allocator two;
    block* a = two.take(12 * mib);
    block* b = two.take(12 * mib);
    two.give(a), two.give(b);
    two.take(24 * mib);
    CHECK(two.reserved == 48 * mib);
    CHECK(two.stuck() == 0);
}

TEST_CASE("small and large tensors, and those of other streams, have segments of their own") {
    caching_allocator memory;
    block* large = memory.take(6 * mib);
    memory.give(large);
    memory.take(1000);
    CHECK(memory.reserved == 22 * mib);
    memory.take(6 * mib, 1);
    CHECK(memory.reserved == 42 * mib);
    memory.take(1000, 1);
    CHECK(memory.reserved == 44 * mib);
    memory.take(1000, 2);
    CHECK(memory.reserved == 46 * mib);
    memory.take(6 * mib);
    CHECK(memory.reserved == 46 * mib);
}

TEST_CASE("where the device has no room, segments without a tensor go back first, and those alone") {
    device_of device{40 * mib};
    caching_allocator memory{false, &device};
    block* idle = memory.take(14 * mib);
    block* part = memory.take(6 * mib);  // in a segment of 20 MiB
    block* held = memory.take(6 * mib);
    memory.give(idle), memory.give(part);
    CHECK(device.room == 6 * mib);
    CHECK(memory.take(12 * mib) != nullptr);  // in the idle one: none is asked for
    CHECK(device.refused == 0);
    CHECK(memory.take(16 * mib) == nullptr);  // nothing can go back
    CHECK(memory.reserved == 34 * mib);
    CHECK(device.refused == 1);

    memory.give(idle);
    block* more = memory.take(20 * mib);
    REQUIRE(more != nullptr);
    CHECK(more->size == 20 * mib);
    CHECK(device.refused == 2);
    CHECK(device.segments == std::map<std::int64_t, std::int64_t>{{1, 20 * mib}, {2, 20 * mib}});
    CHECK(memory.reserved == 40 * mib);
    CHECK(memory.peak_reserved == 40 * mib);

    memory.give(more);
    CHECK(memory.take(22 * mib) == nullptr);  // 20 MiB go back, and are not enough
    CHECK(device.refused == 4);
    CHECK(memory.reserved == 20 * mib);
    CHECK(memory.peak_reserved == 40 * mib);
    memory.give(held);
    CHECK(memory.take(20 * mib)->offset == 0);
    CHECK(memory.allocated == 20 * mib);
}

TEST_CASE("with expandable segments each pool is one, which grows at its end by pages of 2 or 20 MiB") {
    caching_allocator memory{true};
    block* a = memory.take(6 * mib);
    CHECK(memory.reserved == 20 * mib);
    CHECK(a->size == 6 * mib);
    block* b = memory.take(20 * mib);  // 14 MiB are free at the end: one page more
    CHECK(memory.reserved == 40 * mib);
    CHECK(b->offset == 6 * mib);
    CHECK(b->size == 20 * mib);
    block* c = memory.take(14 * mib - 512);  // 512 bytes are a block of their own
    CHECK(c->offset == 26 * mib);
    CHECK(c->size == 14 * mib - 512);
    CHECK(memory.take(512)->size == 512);
    CHECK(memory.reserved == 42 * mib);  // small ones have their own
    block* d = memory.take(20 * mib + 512);
    CHECK(d->offset == 40 * mib - 512);
    CHECK(memory.reserved == 62 * mib);
    memory.give(a), memory.give(b), memory.give(d);
    CHECK(memory.take(26 * mib)->offset == 0);  // joined
    CHECK(memory.take(20 * mib)->offset == 40 * mib - 512);
    CHECK(memory.reserved == 62 * mib);
    CHECK(memory.allocated == 60 * mib);

    // An end that is full is followed by a block, and both are neighbours.
    caching_allocator full{true};
    block* first = full.take(20 * mib);
    block* second = full.take(40 * mib);
    CHECK(full.reserved == 60 * mib);
    CHECK(second->offset == 20 * mib);
    CHECK(second->before == first);
    CHECK(first->after == second);
    full.give(first), full.give(second);
    CHECK(full.stuck() == 0);
    CHECK(full.take(60 * mib)->offset == 0);
    CHECK(full.reserved == 60 * mib);
    // Small blocks: pages of 2 MiB.
    for (int k = 0; k < 3; ++k) full.take(mib);
    CHECK(full.reserved == 64 * mib);
    full.take(mib, 1);  // of another stream
    CHECK(full.reserved == 66 * mib);
}

TEST_CASE("expandable segments give nothing back to a device that is full, which is asked for every page once") {
    device_of device{60 * mib};
    caching_allocator memory{true, &device};
    block* a = memory.take(20 * mib);
    block* b = memory.take(20 * mib);
    memory.give(a);
    CHECK(memory.take(30 * mib) == nullptr);
    CHECK(device.refused == 1);
    CHECK(device.segments == std::map<std::int64_t, std::int64_t>{{0, 20 * mib}, {1, 20 * mib}});
    CHECK(memory.reserved == 40 * mib);
    memory.give(b);
    CHECK(memory.take(60 * mib) != nullptr);  // one page more
    CHECK(memory.reserved == 60 * mib);
}

TEST_CASE("whatever is allocated and freed: no two tensors overlap, and what is free again is whole") {
    for (const bool expands : {false, true})
        for (unsigned seed = 1; seed <= 20; ++seed) {
            std::mt19937 random{seed};
            device_of device{400 * mib};
            caching_allocator memory{expands, &device};
            std::vector<block*> live;
            std::int64_t most = 0;
            for (int k = 0; k < 400; ++k) {
                if (live.size() < 3 || random() % 2 == 0) {
                    const std::int64_t most_of = random() % 2 == 0 ? 2000000 : 30 * mib;
                    const auto wanted = 1 + static_cast<std::int64_t>(random()) % most_of;
                    block* b = memory.take(wanted, random() % 3);
                    if (b == nullptr) continue;
                    REQUIRE(b->size >= wanted);
                    live.push_back(b);
                } else {
                    const std::size_t at = random() % live.size();
                    memory.give(live[at]);
                    live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
                }
                std::int64_t sum = 0;
                bool apart = true;
                for (const block* b : live) {
                    sum += b->size;
                    for (const block* o : live)
                        apart = apart && (b == o || b->segment != o->segment || b->pool != o->pool ||
                                          b->offset + b->size <= o->offset || o->offset + o->size <= b->offset);
                }
                most = sum > most ? sum : most;
                REQUIRE(apart);
                REQUIRE(memory.allocated == sum);
                REQUIRE(memory.reserved == 400 * mib - device.room);
                REQUIRE(memory.stuck() >= 0);
            }
            CHECK(memory.peak_allocated == most);
            for (block* b : live) memory.give(b);
            CHECK(memory.allocated == 0);
            CHECK(memory.stuck() == 0);
        }
}

TEST_CASE("before the first tensor nothing is allocated, reserved or stuck, and nothing has been") {
    const caching_allocator memory;
    CHECK(memory.allocated == 0);
    CHECK(memory.reserved == 0);
    CHECK(memory.peak_allocated == 0);
    CHECK(memory.peak_reserved == 0);
    CHECK(memory.stuck() == 0);
}
