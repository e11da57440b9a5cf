// SPDX-License-Identifier: MIT
// Cache sizes that engines printed, to the digits they printed.
#include "kv_cache_facts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../csv.hpp"

using namespace llmres;
using namespace kv_facts;

TEST_CASE("every cache that an engine printed is equal in the digits it printed") {
    for (const fact& f : facts)
        CHECK_MESSAGE(agrees(f), f.model, ", ", f.says, ": printed ", f.published, ", computed ", f.ours / f.unit);
}

TEST_CASE("whole numbers of MiB are equal to the byte") {
    int whole = 0;
    for (const fact& f : facts) {
        if (f.unit != mebi || f.published != std::round(f.published)) continue;
        CHECK_MESSAGE(to_the_byte(f), f.model, ", ", f.says);
        ++whole;
    }
    CHECK(whole > 20);
}

TEST_CASE("every row of the collected facts is among them") {
    const std::string shared = LLMRES_SHARED_DATA;
    if (shared.empty()) return;
    for (const csv::row& row : csv::read(shared + "/models/kv_cache_facts.csv")) {
        const std::string& says = row.at("fact");
        bool found = false;
        for (const std::string_view other : not_sizes) found = found || says.find(other) == 0;
        for (const fact& f : facts)
            if (row.at("model") == f.model && says.find(f.says) == 0) {
                found = true;
                CHECK(std::strtod(row.at("published_value").c_str(), nullptr) == f.published);
            }
        CHECK_MESSAGE(found, row.at("model"), ", ", says);
    }
}

TEST_CASE("vLLM's blocks are what its pool holds, as far as the pool was printed") {
    // 1952 blocks of 16 tokens, and a pool that was printed as 3.81 GiB.
    const double pool =
        1952 * 16 * static_cast<double>(kv_bytes_per_token(models::llama_3_1_8b, bf16).in(bytes_a_token)) / gibi;
    CHECK(std::abs(pool - 3.81) <= 0.005);
}
