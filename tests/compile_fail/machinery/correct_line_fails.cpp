// SPDX-License-Identifier: MIT
// EXPECT: static assertion failed
static_assert(sizeof(char) != 1);
