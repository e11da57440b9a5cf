// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <llmres/io/logs/reader.hpp>
#include <string_view>

using namespace llmres;
using logs::quantity;

TEST_CASE("words of a table are found by their first three letters, each under what it means") {
    const logs::detail::anchor_index index;  // made while the test runs
    std::size_t words = 0;
    using kind = logs::detail::anchor_kind;
    const auto held = [&](std::string_view text, std::size_t table, const logs::row* means, kind of) {
        ++words;
        const std::size_t group = logs::detail::letters_of(text);
        int found = 0;
        for (std::size_t i = index.first[group]; i < index.first[group + 1]; ++i) {
            const logs::detail::anchor& a = index.anchors[i];
            found += a.words == text && a.table == table && a.means == means && a.kind == of;
        }
        return found;
    };
    for (const std::string_view prompt : logs::detail::prompt_words) CHECK(held(prompt, 0, nullptr, kind::prompt) == 1);
    for (std::size_t t = 0; t < logs::all_tables.size(); ++t) {
        const logs::engine_table& table = logs::all_tables[t];
        CAPTURE(table.name);
        for (const std::string_view begins : table.begins)
            if (!begins.empty()) CHECK(held(begins, t, nullptr, kind::begins) == 1);
        for (const std::string_view sign : table.signs)
            if (!sign.empty()) CHECK(held(sign, t, nullptr, kind::sign) == 1);
        for (std::size_t i = 0; i < table.size; ++i)
            CHECK(held(table.first[i].before, t, table.first + i, kind::figure) == 1);
    }
    CHECK(logs::detail::anchor_count() == words);
    CHECK(index.first[0] == 0);
    CHECK(index.first[logs::detail::letter_groups] == words);
}

TEST_CASE("a table of few words has no others") {
    logs::row rows[] = {{"a ", quantity::weights}, {"b ", quantity::pool}};
    std::string_view signs[] = {"sign", "another"};
    std::string_view begins[] = {"begins"};
    std::string_view nine[] = {"1", "2", "3", "4", "5", "6", "10", "11", "12"};
    std::string_view three[] = {"7", "8", "9"};
    const logs::engine_table few = logs::table_of("few", rows, signs, begins, {.any_runtime = true, .also = "other"});
    CHECK(few.size == 2);
    CHECK(few.scope.any_runtime);
    CHECK(few.scope.also == "other");
    CHECK(few.signs == std::array<std::string_view, 9>{"sign", "another"});
    CHECK(few.begins == std::array<std::string_view, 3>{"begins"});
    const logs::engine_table full = logs::table_of("full", rows, nine, three);
    CHECK(full.signs == std::array<std::string_view, 9>{"1", "2", "3", "4", "5", "6", "10", "11", "12"});
    CHECK(full.begins == std::array<std::string_view, 3>{"7", "8", "9"});
    CHECK_FALSE(full.scope.any_runtime);
    CHECK(full.scope.size == 0);
}
