// SPDX-License-Identifier: MIT
// A count is not made of a fraction
//
// 1.5 GiB happens to be a whole number of bytes, 0.1 GiB does not. Use a smaller unit, or say how to round.
//
// EXPECT-GCC: use of deleted function.*a_count_is_made_of_whole_numbers
// EXPECT-CLANG: call to deleted function call operator.*a_count_is_made_of_whole_numbers
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto workspace = gib(1.5);
#else
auto workspace = mib(1536);
#endif
