// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

const llmres::version_number* version_seen_elsewhere() { return &llmres::version; }
