// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <llmres/values/error.hpp>

/// What must hold for any input: libFuzzer reports an abort as a finding.
inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// An error says which field, and what was expected.
inline void require_named(const llmres::error& e) {
    require(e.code != llmres::error_code::none, "a failure has an error");
    require(!e.field.empty(), "an error names its field");
    require(!e.expected.empty(), "an error says what was expected");
}
