// SPDX-License-Identifier: MIT
// A quantity is not made of a bare number
//
// Bytes, MiB or GB? A maker says which: bytes(n), kib(n), mib(n), gib(n), gb(n), tokens(n), seconds(x) and so on.
//
// EXPECT-GCC: conversion from 'int' to non-scalar type '(llmres::(v0::)?)?byte_count'
// EXPECT-CLANG: no viable conversion from 'int' to 'byte_count'
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
byte_count page = 4096;
#else
byte_count page = bytes(4096);
#endif
