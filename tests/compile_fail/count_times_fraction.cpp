// SPDX-License-Identifier: MIT
// A count times a fraction must say how it rounds
//
// Counts are integers. Sizes that must hold something round up, budgets round down; approx() leaves the integers for
// good, for rates and times.
//
// EXPECT-GCC: use of deleted function.*a_count_times_a_fraction_must_say_how_it_rounds
// EXPECT-CLANG: overload resolution selected deleted operator '[*]'.*a_count_times_a_fraction_must_say_how_it_rounds
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto budget = gib(80) * 0.9;
#else
auto budget = scaled_down(gib(80), 0.9);
#endif
