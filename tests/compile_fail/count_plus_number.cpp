// SPDX-License-Identifier: MIT
// A bare number is not added to a quantity
//
// The number has no unit yet: name it with a maker.
//
// EXPECT-GCC: no match for 'operator[+]' .operand types are 'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, [a-z ]+>' and 'int'
// EXPECT-CLANG: invalid operands to binary expression .'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, [a-z ]+>' and 'int'
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto total = gib(16) + 512;
#else
auto total = gib(16) + mib(512);
#endif
