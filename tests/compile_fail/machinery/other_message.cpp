// SPDX-License-Identifier: MIT
// EXPECT: static assertion failed
// EXPECT: a byte has seven bits
#ifdef LLMRES_COMPILE_FAIL
static_assert(sizeof(char) != 1, "a byte has eight bits");
#endif
