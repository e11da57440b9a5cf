// SPDX-License-Identifier: MIT
// EXPECT: static assertion failed.*a byte has eight bits
// EXPECT-GCC: error: static assertion failed
// EXPECT-CLANG: error: static assertion failed due to requirement
#include <climits>

#ifdef LLMRES_COMPILE_FAIL
static_assert(CHAR_BIT != 8, "a byte has eight bits");
#else
static_assert(CHAR_BIT == 8, "a byte has eight bits");
#endif
