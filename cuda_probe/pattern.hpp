// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#if defined(__CUDACC__)
#define LLMRES_PROBE_EVERYWHERE __host__ __device__
#else
#define LLMRES_PROBE_EVERYWHERE
#endif

/// What the probe writes into memory: pseudo-random, so that nothing is compressed or guessed, and computable anywhere,
/// so that the host can tell what the device should hold without having sent it.
namespace llmres::probe {

/// Word `index` of a block written with `seed` (the splitmix64 mixing function).
LLMRES_PROBE_EVERYWHERE constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0x9e3779b97f4a7c15U + index * 0xbf58476d1ce4e5b9U + 0x94d049bb133111ebU;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Where a product is looked at: 64 elements, eight of each of eight columns.
struct looked_at {
    std::uint64_t row, column;
};
inline constexpr std::uint64_t looks = 64, looks_a_column = 8;
constexpr looked_at look_of(std::uint64_t sample, std::int64_t rows, std::int64_t columns) {
    return {pattern_word(21, sample) % static_cast<std::uint64_t>(rows),
            pattern_word(22, sample / looks_a_column) % static_cast<std::uint64_t>(columns)};
}

/// The elements of matrices.
enum class element : std::uint8_t { fp32, tf32, bf16, fp16, fp8_e4m3, int8 };
inline constexpr const char* element_names[] = {"fp32", "tf32", "bf16", "fp16", "fp8_e4m3", "int8"};
constexpr const char* name_of(element kind) { return element_names[static_cast<int>(kind)]; }

LLMRES_PROBE_EVERYWHERE constexpr int element_bytes(element kind) {
    return kind == element::fp32 || kind == element::tf32 ? 4 : kind == element::bf16 || kind == element::fp16 ? 2 : 1;
}

struct float_layout {
    int mantissa_bits;
    int kept_mantissa_bits;  ///< tf32 multiplies with 10 bits: inputs that have no more are exact in it
    int exponent_bits;
    int bias;
};
LLMRES_PROBE_EVERYWHERE constexpr float_layout layout_of(element kind) {
    constexpr float_layout layouts[] = {
        {23, 23, 8, 127}, {23, 10, 8, 127}, {7, 7, 8, 127}, {10, 10, 5, 15}, {3, 3, 4, 7}};
    return layouts[kind < element::fp8_e4m3 ? static_cast<int>(kind) : 4];
}

/// The bits of element `index`: any int8, or a float of random sign and mantissa from [1/16, 1).
LLMRES_PROBE_EVERYWHERE constexpr std::uint32_t element_bits(element kind, std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t random = pattern_word(seed, index);
    if (kind == element::int8) return static_cast<std::uint32_t>(random & 0xff);
    const float_layout f = layout_of(kind);
    const auto sign = static_cast<std::uint32_t>(random & 1) << (f.mantissa_bits + f.exponent_bits);
    const auto exponent = static_cast<std::uint32_t>(f.bias - 1 - static_cast<int>((random >> 1) & 3))
                          << f.mantissa_bits;
    const int dropped = f.mantissa_bits - f.kept_mantissa_bits;
    const auto mantissa = (static_cast<std::uint32_t>(random >> 8) & ((std::uint32_t{1} << f.kept_mantissa_bits) - 1))
                          << dropped;
    return sign | exponent | mantissa;
}

constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// The value of such bits; also of results in fp32, bf16 and fp16, whose subnormals and infinities do not occur.
constexpr double element_value(element kind, std::uint32_t bits) {
    if (kind == element::int8) return static_cast<double>(static_cast<std::int8_t>(bits));
    const float_layout f = layout_of(kind);
    const std::uint32_t mantissa = bits & ((std::uint32_t{1} << f.mantissa_bits) - 1);
    const auto exponent = static_cast<int>((bits >> f.mantissa_bits) & ((std::uint32_t{1} << f.exponent_bits) - 1));
    const bool negative = ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
    const std::uint32_t significand = mantissa | (exponent == 0 ? 0 : std::uint32_t{1} << f.mantissa_bits);
    const double magnitude = significand * power_of_two((exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits);
    return negative ? -magnitude : magnitude;
}

}  // namespace llmres::probe
