// SPDX-License-Identifier: MIT
// An exact count and an approximate one do not add
//
// What was computed in double (approx(), or a rate times a time) has to be rounded before it joins the integers:
// rounded_up(), rounded_down().
//
// EXPECT-GCC: no match for 'operator[+]' .operand types are 'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, [a-z ]+>' and 'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, double>'
// EXPECT-CLANG: invalid operands to binary expression .'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, [a-z ]+>' and 'quantity<.*byte_unit.*, double>'
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto total = gib(16) + gb_per_s(25) * seconds(2);
#else
auto total = gib(16) + rounded_up(gb_per_s(25) * seconds(2));
#endif
