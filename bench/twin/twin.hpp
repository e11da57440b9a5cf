// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// Two functions that a search calls most, once with units and once with bare numbers: units.cpp and raw.cpp make the
/// two programs that bench/twin/compare counts.

/// Adds up `calls` states of layers and, if asked, their passes; returns a number that depends on all of them.
double add_up(std::int64_t calls, bool passes_too);
