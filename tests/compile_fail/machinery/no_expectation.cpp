// SPDX-License-Identifier: MIT
// EXPECT-OTHER: a compiler that does not exist
#ifdef LLMRES_COMPILE_FAIL
static_assert(sizeof(char) != 1);
#endif
