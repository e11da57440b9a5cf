// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/text.hpp>
#include <llmres/units.hpp>

/// Number formats, and exactly how many bytes a tensor takes in each.
namespace llmres {

/// The arithmetic a format computes in: which of a GPU's rates applies.
enum class arithmetic_kind : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8, int4 };

constexpr std::string_view name_of(arithmetic_kind kind) {
    constexpr std::array<std::string_view, 10> names{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8", "int4"};
    return names[static_cast<std::size_t>(kind)];
}

/// Bytes repeated over a tensor, once for every tile of rows x columns begun. Values, scales and zero points are each
/// one such part. rows = 0 means that tiles run over the flattened tensor, paying no heed to where a row ends.
struct tile {
    std::int32_t rows = 1;     ///< output features a tile spans; whole_column for all of them
    std::int32_t columns = 1;  ///< input features a tile spans; whole_row for all of them
    std::int32_t bytes = 0;

    static constexpr std::int32_t flat = 0;
    static constexpr std::int32_t whole = 0x7fffffff;  ///< one tile across the whole row or column
};

/// A number format: the parts it stores, and the arithmetic it is computed in.
struct precision {
    text<23> name{};
    arithmetic_kind arithmetic = arithmetic_kind::bf16;
    std::array<tile, 4> parts{};   ///< values first; unused parts hold no bytes
    std::int32_t tensor_bytes = 0;  ///< once a tensor: a global scale, a code table

    friend constexpr bool operator==(const precision& a, const precision& b) { return a.name == b.name; }
};

/// The exact size of a rows x columns tensor (output x input features; a vector is one row).
constexpr byte_count size_of(const precision& format, std::int64_t rows, std::int64_t columns) {
    byte_count total = bytes(format.tensor_bytes);
    for (const tile& part : format.parts) {
        if (part.bytes == 0) break;
        const std::int64_t tiles =
            part.rows == tile::flat
                ? detail::ceil_quotient(detail::product(rows, columns), part.columns)
                : detail::product(part.rows == 1 ? rows : detail::ceil_quotient(rows, part.rows),
                                  part.columns == 1 ? columns : detail::ceil_quotient(columns, part.columns));
        total += bytes(detail::product<std::int64_t>(tiles, part.bytes));
    }
    return total;
}

/// Bits an element takes on average in a large tensor: 4.5 for q4_0. What a table prints, never what a size is made of.
constexpr double bits_per_element(const precision& format) {
    constexpr std::int64_t side = std::int64_t{1} << 16;
    const byte_count square = size_of(format, side, side) - bytes(format.tensor_bytes);
    return 8.0 * static_cast<double>(square.in(bytes)) / (static_cast<double>(side) * static_cast<double>(side));
}

// ---- plain formats: IEEE 754, OCP OFP8 (E4M3, E5M2), two's complement integers; two int4 share a byte ----------------

inline constexpr precision fp64{"fp64", arithmetic_kind::fp64, {{{1, 1, 8}}}};
inline constexpr precision fp32{"fp32", arithmetic_kind::fp32, {{{1, 1, 4}}}};
/// fp32 in memory, multiplied with 10 bits of mantissa by the tensor cores.
inline constexpr precision tf32{"tf32", arithmetic_kind::tf32, {{{1, 1, 4}}}};
inline constexpr precision bf16{"bf16", arithmetic_kind::bf16, {{{1, 1, 2}}}};
inline constexpr precision fp16{"fp16", arithmetic_kind::fp16, {{{1, 1, 2}}}};
inline constexpr precision fp8_e4m3{"fp8_e4m3", arithmetic_kind::fp8, {{{1, 1, 1}}}};
inline constexpr precision fp8_e5m2{"fp8_e5m2", arithmetic_kind::fp8, {{{1, 1, 1}}}};
inline constexpr precision int8{"int8", arithmetic_kind::int8, {{{1, 1, 1}}}};
inline constexpr precision int4{"int4", arithmetic_kind::int4, {{{tile::flat, 2, 1}}}};

// ---- block formats -----------------------------------------------------------------------------------------------

/// E4M3 with one fp32 scale every 128 x 128 weights (DeepSeek-V3 `weight_block_size`, technical report section 3.3).
inline constexpr precision fp8_block{"fp8_block128", arithmetic_kind::fp8, {{{1, 1, 1}, {128, 128, 4}}}};
/// OCP Microscaling 1.0: blocks of 32 along the row, one E8M0 scale byte each.
inline constexpr precision mxfp8{"mxfp8", arithmetic_kind::fp8, {{{1, 1, 1}, {1, 32, 1}}}};
inline constexpr precision mxfp6{"mxfp6", arithmetic_kind::fp6, {{{1, 4, 3}, {1, 32, 1}}}};
inline constexpr precision mxfp4{"mxfp4", arithmetic_kind::fp4, {{{1, 2, 1}, {1, 32, 1}}}};
/// Blocks of 16 along the row with an E4M3 scale each, and one fp32 scale a tensor.
inline constexpr precision nvfp4{"nvfp4", arithmetic_kind::fp4, {{{1, 2, 1}, {1, 16, 1}}}, 4};
/// bitsandbytes NF4 over the flattened tensor: fp32 absmax a block of 64, and a 16-entry fp32 code a tensor
/// (QLoRA, arXiv 2305.14314 section 3). Computed in 16 bit after dequantisation.
inline constexpr precision nf4{"nf4", arithmetic_kind::bf16, {{{tile::flat, 2, 1}, {tile::flat, 64, 4}}}, 64};
/// With double quantisation: the absmax in 8 bits, an fp32 absmax for every 256 of those, and an fp32 offset.
inline constexpr precision nf4_double{
    "nf4_double", arithmetic_kind::bf16, {{{tile::flat, 2, 1}, {tile::flat, 64, 1}, {tile::flat, 64 * 256, 4}}}, 68};

// GGUF blocks lie within rows (ggml-common.h: QK4_0 = QK8_0 = 32, QK_K = 256). Dequantised to 16 bit, or multiplied in
// int8 against activations quantised on the fly; the 16-bit rate is the safe one.
inline constexpr precision q4_0{"q4_0", arithmetic_kind::fp16, {{{1, 32, 18}}}};
inline constexpr precision q8_0{"q8_0", arithmetic_kind::fp16, {{{1, 32, 34}}}};
inline constexpr precision q4_k{"q4_k", arithmetic_kind::fp16, {{{1, 256, 144}}}};
inline constexpr precision q6_k{"q6_k", arithmetic_kind::fp16, {{{1, 256, 210}}}};

/// Every named format, for look-ups and listings.
inline constexpr std::array precisions{fp64, fp32, tf32, bf16,  fp16, fp8_e4m3,   fp8_e5m2, int8, int4, fp8_block,
                                       mxfp8, mxfp6, mxfp4, nvfp4, nf4, nf4_double, q4_0, q8_0, q4_k, q6_k};

/// The format of that name, or an error.
constexpr result<precision> find_precision(std::string_view field, std::string_view name) {
    for (const precision& p : precisions)
        if (p.name == name) return p;
    return refused(error_code::unknown, field, name, "a precision, such as bf16, fp16, fp32, fp8_e4m3, int8, nf4 or q4_k");
}

}  // namespace llmres
