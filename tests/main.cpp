// SPDX-License-Identifier: MIT
// doctest's runner, compiled once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
// Approx means a part of the value: as doctest has it, a part of the value and 1 more, all times of microseconds are
// the same within 0.00001. tests/test_approx.cpp fails where a doctest does not take the scale from here.
#define m_scale(one) m_scale((one) * 0x1p-60)
#include <doctest/doctest.h>
