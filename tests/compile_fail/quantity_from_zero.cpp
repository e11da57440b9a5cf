// SPDX-License-Identifier: MIT
// A quantity is not zero by assignment of 0
//
// A bare number has no unit, and 0 is a bare number too. An empty pair of braces is zero; so is a maker called with 0.
//
// EXPECT-GCC: conversion from 'int' to non-scalar type '(llmres::(v0::)?)?byte_count'
// EXPECT-CLANG: no viable conversion from 'int' to 'byte_count'
#include <llmres/values/units.hpp>

using namespace llmres;

#ifdef LLMRES_COMPILE_FAIL
byte_count used = 0;
#else
byte_count used{};
#endif
