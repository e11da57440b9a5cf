// SPDX-License-Identifier: MIT
#include <cstdio>

#include "../vllm_rows.hpp"

// table_vllm VERSION...: the rows of vLLM's own planner whose pool is planned differently.

int main(int count, char** versions) {
    for (int i = 1; i < count; ++i) {
        int equal = 0, all = 0;
        for (const vllm_rows::row& r : vllm_rows::read(versions[i])) {
            const std::string found = vllm_rows::differences(r);
            if (!found.empty()) std::printf("%s: %s\n", r.id.c_str(), found.c_str());
            equal += found.empty();
            ++all;
        }
        std::printf("%s: %d of %d rows are equal.\n", versions[i], equal, all);
    }
    return 0;
}
