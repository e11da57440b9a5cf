// SPDX-License-Identifier: MIT
// Prints include/llmres/runtimes/times.inc: how many jobs with a measured time each profile was held against.
#include "../profile_times.hpp"

#include <cstdio>
#include <string>

int main(int, char**) {
    std::puts("// SPDX-License-Identifier: MIT");
    std::puts("// Printed by table_profile_times: engine, versions, jobs with a measured time.");
    for (const auto& [profile, rows] : profile_times::all()) {
        const std::string engine{profile->identity.name.view()}, versions{profile->identity.versions.view()};
        std::printf("{\"%s\", \"%s\", %d},\n", engine.c_str(), versions.c_str(), rows);
    }
    return 0;
}
