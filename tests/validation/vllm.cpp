// SPDX-License-Identifier: MIT
// Pools of caches as vLLM's own planner makes them, on a card that is not there: `make validate-vllm VERSION=` asks a
// published wheel and writes the rows (tests/validation/vllm/README.md).
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "vllm_rows.hpp"

TEST_CASE("pools, batches and captured sizes are those of vLLM's own planner") {
    for (const char* version : vllm_rows::versions) {
        const auto rows = vllm_rows::read(version);
        std::set<std::string> unequal;
        int pools = 0;
        for (const vllm_rows::row& r : rows) {
            if (!vllm_rows::differences(r).empty()) unequal.insert(r.id);
            pools += r.says.contains("tokens") ? 1 : 0;
        }
        CHECK(pools >= 140);
        CHECK(unequal == vllm_rows::known_unequal(version));
    }
}
