// SPDX-License-Identifier: MIT
// Prints include/llmres/runtimes/errors.inc: what each profile's figures are off by on the published measurements.
#include "../profile_errors.hpp"

#include <cstddef>
#include <cstdio>
#include <string>

namespace {

/// A list as literals beside each other, each on a line of its own that is at most 120 columns wide.
std::string literals(const std::string& list) {
    constexpr std::size_t widest = 110;
    std::string written;
    for (std::size_t from = 0;;) {
        const bool rest = list.size() - from <= widest;
        const std::size_t to = rest ? list.size() : list.rfind(", ", from + widest - 2) + 2;
        written += "\n    \"" + list.substr(from, to - from) + "\"";
        if (rest) return written;
        from = to;
    }
}

}  // namespace

int main(int, char**) {
    std::puts("// SPDX-License-Identifier: MIT");
    std::puts("// Printed by table_profile_errors: engine, versions, figure, rows, mean, bias, worst, inside, GPUs.");
    for (const profile_errors::entry& e : profile_errors::all()) {
        const std::string engine{e.profile->identity.name.view()}, versions{e.profile->identity.versions.view()};
        std::printf("{\"%s\", \"%s\", \"%s\", %d, %.4f, %.4f, %.4f, %d,%s},\n", engine.c_str(), versions.c_str(),
                    e.figure.c_str(), e.rows, e.mean(), e.bias(), e.worst, e.inside, literals(e.gpu_list()).c_str());
    }
    return 0;
}
