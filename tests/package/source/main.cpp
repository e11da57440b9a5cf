// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

// Zero when both translation units see one and the same object.
int main() { return version_seen_elsewhere() == &llmres::version ? 0 : 1; }
