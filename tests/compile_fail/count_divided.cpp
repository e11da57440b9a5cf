// SPDX-License-Identifier: MIT
// A count divided must say how it rounds
//
// Three GPUs do not share 16 GiB evenly: div_up() is the largest share, div_down() the smallest, times_in() how many
// whole parts there are, ratio() the plain quotient of two quantities of one unit.
//
// EXPECT-GCC: use of deleted function.*a_count_divided_must_say_how_it_rounds
// EXPECT-CLANG: overload resolution selected deleted operator '/'.*a_count_divided_must_say_how_it_rounds
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto share = gib(16) / 3;
#else
auto share = div_up(gib(16), 3);
#endif
