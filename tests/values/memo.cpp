// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/memo.hpp>
#include <set>

using llmres::detail::folds_are;
using llmres::detail::memo;
using llmres::detail::mixed;

namespace {

struct two_numbers {
    std::int64_t first = 0;
    std::int64_t second = 0;

    constexpr std::uint64_t mix() const { return mixed(first, second); }
    friend constexpr bool operator==(const two_numbers&, const two_numbers&) = default;
};

/// Keys of which all mix to the same.
struct alike {
    std::int64_t number = 0;

    constexpr std::uint64_t mix() const { return 1; }
    friend constexpr bool operator==(const alike&, const alike&) = default;
};

/// How often values are made, each of which is told from others.
template <class Key, std::size_t Slots>
struct counted {
    memo<Key, std::int64_t, Slots> values{folds_are::kept};
    int made = 0;

    bool knows(const Key& key, std::int64_t value) {
        const int before = made;
        CHECK(values.get(key, [&] { return ++made, value; }) == value);
        return made == before;
    }
};

}  // namespace

TEST_CASE("a value is made once for a key, and anew when all is forgotten") {
    counted<two_numbers, 64> c;
    CHECK(c.values.find({3, 7}) == nullptr);
    CHECK_FALSE(c.knows({3, 7}, 1));
    CHECK(c.knows({3, 7}, 1));
    CHECK_FALSE(c.knows({4, 7}, 2));
    CHECK_FALSE(c.knows({3, 8}, 3));
    CHECK(c.knows({3, 7}, 1));
    CHECK(*c.values.find({4, 7}) == 2);
    c.values.clear();
    CHECK(c.values.find({4, 7}) == nullptr);
    CHECK_FALSE(c.knows({3, 7}, 4));
    CHECK(c.knows({3, 7}, 4));
}

TEST_CASE("where folds are made anew, each value is made when it is asked for, and none is found") {
    counted<two_numbers, 64> c{.values = memo<two_numbers, std::int64_t, 64>{folds_are::made_anew}};
    CHECK_FALSE(c.values.keeps());
    CHECK_FALSE(c.knows({3, 7}, 1));
    CHECK_FALSE(c.knows({3, 7}, 2));
    CHECK(c.values.find({3, 7}) == nullptr);
    llmres::detail::slot<std::int64_t> room;
    CHECK(&c.values.get({3, 7}, [] { return std::int64_t{5}; }, room) == &room.value);
    CHECK(room.value == 5);
}

TEST_CASE("a kept value is asked for without a copy") {
    memo<two_numbers, std::int64_t, 64> values{folds_are::kept};
    llmres::detail::slot<std::int64_t> room;
    const std::int64_t& first = values.get({3, 7}, [] { return std::int64_t{5}; }, room);
    CHECK(first == 5);
    CHECK(&first == values.find({3, 7}));
    CHECK(&values.get({3, 7}, [] { return std::int64_t{6}; }, room) == &first);
}

TEST_CASE("keys that mix to the same are told apart: six have places, a seventh takes the place of one") {
    counted<alike, 64> c;
    for (std::int64_t n = 1; n <= 6; ++n) CHECK_FALSE(c.knows({n}, n));
    for (std::int64_t n = 1; n <= 6; ++n) CHECK(c.knows({n}, n));
    for (std::int64_t n = 7; n <= 40; ++n) {
        CHECK_FALSE(c.knows({n}, n));
        CHECK(c.knows({n}, n));
    }
    int known = 0;
    for (std::int64_t n = 1; n <= 40; ++n) known += c.values.find({n}) != nullptr;
    CHECK(known == 6);
}

TEST_CASE("no more values are known than there are slots") {
    counted<two_numbers, 4> c;
    for (std::int64_t n = 1; n <= 40; ++n) {
        CHECK_FALSE(c.knows({n, 0}, n));
        CHECK(c.knows({n, 0}, n));
    }
    int known = 0;
    for (std::int64_t n = 1; n <= 40; ++n) known += c.values.find({n, 0}) != nullptr;
    CHECK(known == 4);
}

TEST_CASE("few keys of many slots stay, whatever is asked between") {
    counted<two_numbers, 64> c;
    for (int times = 0; times < 4; ++times)
        for (std::int64_t n = 0; n < 12; ++n) c.knows({n, 1}, n);
    CHECK(c.made == 12);
}

TEST_CASE("values are made in constant expressions, too") {
    constexpr std::int64_t sum = [] {
        memo<two_numbers, std::int64_t, 8> squares{folds_are::kept};
        std::int64_t all = 0;
        for (const std::int64_t n : {2, 3, 2, 3}) all += squares.get({n, 0}, [&] { return n * n; });
        return all;
    }();
    static_assert(sum == 26);
    CHECK(sum == 26);
}

TEST_CASE("mixed numbers of degrees are spread: most of a thousand differ") {
    std::set<std::uint64_t> all;
    for (const int tensor : {1, 2, 4, 8})
        for (const int ranks : {1, 2, 4, 8, 16, 32, 64, 128, 256})
            for (const int stages : {1, 2, 4, 8, 16})
                for (const int zero : {0, 1, 2, 3}) all.insert(mixed(tensor, ranks, stages, zero));
    CHECK(all.size() == 4 * 9 * 5 * 4);
}
