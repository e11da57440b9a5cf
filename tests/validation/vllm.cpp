// SPDX-License-Identifier: MIT
// Pools of caches as vLLM's own planner makes them, on a card that is not there: `make validate-vllm VERSION=` asks a
// published wheel and writes the rows (tests/validation/vllm/README.md).
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "vllm_rows.hpp"

TEST_CASE("blocks, tokens, concurrency and block sizes of pools are those of vLLM's own planner") {
    for (const char* version : vllm_rows::versions) {
        const auto rows = vllm_rows::read(version);
        CHECK(rows.size() >= 90);
        std::set<std::string> unequal;
        for (const vllm_rows::row& r : rows)
            if (!vllm_rows::differences(r).empty()) unequal.insert(r.id);
        CHECK(unequal == vllm_rows::known_unequal(version));
    }
}
