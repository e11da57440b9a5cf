// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

using namespace llmres;

// A consumer without the component io.
result<bool> model_of_config_fits(const char*) {
    return error{error_code::unsupported, "config", "", "a consumer of llmres::io"};
}

const version_number* version_seen_elsewhere() { return &version; }
