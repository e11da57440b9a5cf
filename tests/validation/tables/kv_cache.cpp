// SPDX-License-Identifier: MIT
// Prints, as markdown, cache sizes that engines printed against ours: the section between the `kv` markers of
// docs/accuracy.md.
#include "../kv_cache_facts.hpp"

#include <cstdio>

int main(int, char**) {
    using namespace kv_facts;
    std::puts("| model | what was printed | printed | unit | computed | |\n|---|---|--:|---|--:|---|");
    for (const fact& f : facts)
        std::printf("| %.*s | %.*s | %.10g | %s | %.10g | %s |\n", static_cast<int>(f.model.size()), f.model.data(),
                    static_cast<int>(f.says.size()), f.says.data(), f.published,
                    f.unit == gibi   ? "GiB"
                    : f.unit == mebi ? "MiB"
                                     : "",
                    f.ours / f.unit,
                    to_the_byte(f) ? "to the byte"
                    : agrees(f)    ? "to the printed digits"
                                   : "differs");
    return 0;
}
