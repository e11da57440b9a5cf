// SPDX-License-Identifier: MIT
// Tokens do not compare with parameters
//
// Quantities of different units are neither equal nor smaller. If a ratio is meant (twenty tokens for each parameter),
// divide first: approx() turns a count into a quantity that divides.
//
// EXPECT-GCC: use of deleted function.*different_units_neither_add_nor_compare.*operator<=>
// EXPECT-CLANG: overload resolution selected deleted operator '<=>'.*different_units_neither_add_nor_compare
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
bool enough = tokens(160) > parameters(8);
#else
bool enough = approx(tokens(160)) / approx(parameters(8)) > approx(tokens(20)) / approx(parameters(1));
#endif
