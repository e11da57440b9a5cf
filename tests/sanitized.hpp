// SPDX-License-Identifier: MIT
#pragma once

/// Whether AddressSanitizer is compiled in: programs are several times slower then, and hold what they freed.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Whether the programs under test count the lines that they run (tests/coverage), which takes memory.
#if defined(LLMRES_COUNTS_LINES)
inline constexpr bool counts_lines = true;
#else
inline constexpr bool counts_lines = false;
#endif
