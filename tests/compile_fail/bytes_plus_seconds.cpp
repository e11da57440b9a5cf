// SPDX-License-Identifier: MIT
// Bytes and seconds do not add
//
// Quantities of different units have no sum and no difference. One side is not what you think it is: often a rate was
// meant where a size stands, or a division is missing.
//
// EXPECT-GCC: use of deleted function.*different_units_neither_add_nor_compare.*operator[+]
// EXPECT-CLANG: overload resolution selected deleted operator '[+]'.*different_units_neither_add_nor_compare
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto total = gib(16) + seconds(2);
#else
auto total = gib(16) / gb_per_s(3350) + seconds(2);
#endif
