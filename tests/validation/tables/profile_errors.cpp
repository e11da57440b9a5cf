// SPDX-License-Identifier: MIT
// Writes include/llmres/runtimes/errors.hpp: what each profile's figures are off by on the published measurements.
#include "../profile_errors.hpp"

#include <cstdio>

int main() {
    std::fputs(R"(// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// How far the profiles are from what was measured. Written by `table_profile_errors` from tests/validation/data;
/// docs/accuracy.md says what the figures are.
namespace llmres {

/// Errors are expected over measured, less one.
struct profile_error {
    std::string_view engine;
    std::string_view versions;
    std::string_view figure;
    std::int32_t rows;    ///< measurements
    double mean;          ///< of the errors' sizes
    double bias;          ///< of the errors
    double worst;
    std::int32_t inside;  ///< measurements between low and high
};

namespace runtimes {

// clang-format off
inline constexpr std::array errors{
)", stdout);
    for (const profile_errors::entry& e : profile_errors::all())
        std::printf("    profile_error{\"%.*s\", \"%.*s\", \"%s\", %d, %.4f, %.4f, %.4f, %d},\n", static_cast<int>(e.profile->name.view().size()),
                    e.profile->name.view().data(), static_cast<int>(e.profile->versions.view().size()), e.profile->versions.view().data(),
                    e.figure.c_str(), e.rows, e.mean(), e.bias(), e.worst, e.inside);
    std::fputs(R"(};
// clang-format on

}  // namespace runtimes

}  // namespace llmres
)", stdout);
}
