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

TEST_CASE("parameters, a drafter's and slots of adapters take the bytes that vLLM's own model has") {
    int rows = 0, slots = 0, drafters = 0;
    std::set<std::string> unequal;
    for (const char* version : vllm_rows::versions)
        for (const vllm_rows::row& r : vllm_rows::read(version)) {
            const vllm_rows::weight_errors errors = vllm_rows::errors_of_weights(r);
            CAPTURE(r.id);
            CHECK(errors.parameters <= vllm_rows::most_unequal_of(r.model));
            // 0.26 has one slot for both ends of Qwen3 0.6B, which are one table.
            if (r.id.rfind("0.26.0 qwen3-0.6b", 0) != 0) CHECK(errors.slots == 0);
            // MiMo's draft layers are not read; routers and corrections of the others are fp32.
            if (r.model != "mimo-v2-flash") CHECK(errors.drafter <= 0.00025);
            if (errors.parameters > 0) unequal.insert(r.model);
            rows += r.says.contains("parameter_bytes") ? 1 : 0;
            slots += r.says.contains("slot_bytes") ? 1 : 0;
            drafters += r.says.contains("draft_bytes") ? 1 : 0;
        }
    CHECK(unequal.size() == vllm_rows::known_unequal_weights.size());  // each is named because of some row
    CHECK(rows >= 1150);
    CHECK(slots >= 6);
    CHECK(drafters >= 8);
}
