// SPDX-License-Identifier: MIT
// Bytes are not read in seconds
//
// .in() takes a maker of the same unit: bytes, kib, mib, gib, kb, mb or gb for sizes; seconds, milliseconds,
// microseconds or hours for times.
//
// EXPECT-GCC: no matching function for call to 'llmres::(v0::)?quantity<llmres::(v0::)?byte_unit, [a-z ]+>::in
// EXPECT-CLANG: no matching member function for call to 'in'
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
auto size = gib(16).in(seconds);
#else
auto size = gib(16).in(gib);
#endif
