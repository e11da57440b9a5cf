// SPDX-License-Identifier: MIT
// Bits do not become bytes by assignment
//
// Nine bits are no whole number of bytes. Say what is to happen with the rest: to_bytes_up() rounds up,
// to_bytes_exact() returns an error unless it comes out even. to_bits() is the way back.
//
// EXPECT-GCC: conversion from 'quantity<llmres::(v0::)?bit_unit.*' to non-scalar type 'quantity<llmres::(v0::)?byte_unit
// EXPECT-CLANG: no viable conversion from 'quantity<llmres::(v0::)?bit_unit.*' to 'quantity<byte_unit
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
byte_count packed = bits(9);
#else
byte_count packed = to_bytes_up(bits(9));
#endif
