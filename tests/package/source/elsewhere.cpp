// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

llmres::version_number const* version_seen_elsewhere() {
    return &llmres::version;
}
