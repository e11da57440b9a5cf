// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Number formats, and exactly how many bytes a tensor takes in each. Where a format has parameters there is a maker
/// (`gptq(4, 128)`). Every format has a name ("gptq_int4_g128"); values/find_precision.hpp finds the format of a name.
namespace llmres::inline v0 {

/// The arithmetic a format computes in: which of a GPU's rates applies.
enum class arithmetic_kind : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8, int4 };

/// The names of the arithmetics, in their order.
template <>
inline constexpr std::array<std::string_view, 10> names_of<arithmetic_kind>{"fp64", "fp32", "tf32", "fp16", "bf16",
                                                                            "fp8",  "fp6",  "fp4",  "int8", "int4"};

/// One part of what a format stores: `bytes` for each tile of rows x columns, where a tile that the tensor fills in
/// part counts whole. Values, scales and zero points are each one part. rows = flat means that tiles run over the
/// flattened tensor, across the ends of rows.
struct tile {
    std::int32_t rows = 1;     ///< output features that a tile spans; `whole` for all of them
    std::int32_t columns = 1;  ///< input features that a tile spans; `whole` for all of them
    std::int32_t bytes = 0;    ///< bytes of one tile

    static constexpr std::int32_t flat = 0;            ///< tiles run over the flattened tensor
    static constexpr std::int32_t whole = 0x7fffffff;  ///< one tile across the whole row or column
};

/// A number format: the parts it stores, and the arithmetic it is computed in. Two formats are the same if their names
/// are.
struct precision {
    text<31> name{};                                     ///< its name: "fp8_e4m3"
    arithmetic_kind arithmetic = arithmetic_kind::bf16;  ///< the arithmetic that its values are multiplied in
    std::array<tile, 4> parts{};                         ///< values first; unused parts hold no bytes
    std::int32_t tensor_bytes = 0;  ///< bytes stored once for each tensor: a global scale, a code table
    /// Bytes of an element in a format that stores whole bytes for each value and nothing else; 0 in any other format.
    /// It follows from the fields above: leave it out. (nvcc 13 evaluates it in no constant that writes a precision's
    /// braces within another object's: give the precision a name there.)
    std::int32_t element_bytes =
        parts[0].rows == 1 && parts[0].columns == 1 && parts[1].bytes == 0 && tensor_bytes == 0 ? parts[0].bytes : 0;

    [[gnu::noinline]] friend constexpr bool operator==(const precision& a, const precision& b) {
        return &a == &b || a.name == b.name;
    }
};

namespace detail {

/// The size of a tensor in a format of several parts.
[[gnu::noinline]] constexpr byte_count size_in_parts(const precision& format, std::int64_t rows, std::int64_t columns) {
    byte_count total = bytes(format.tensor_bytes);
    for (const tile& part : format.parts) {
        if (part.bytes == 0) break;
        const std::int64_t tiles =
            part.rows == tile::flat
                ? ceil_quotient_of_blocks(product(rows, columns), part.columns)
                : product(part.rows == 1 ? rows : ceil_quotient_of_blocks(rows, part.rows),
                          part.columns == 1 ? columns : ceil_quotient_of_blocks(columns, part.columns));
        total += bytes(product<std::int64_t>(tiles, part.bytes));
    }
    return total;
}

/// size_of() a tensor of one row. Inlined where activations are summed, which asks for most sizes of a plan; only the
/// plain formats' half.
constexpr byte_count size_of_row(const precision& format, std::int64_t columns) {
    if (format.element_bytes > 0) return bytes(product(columns, std::int64_t{format.element_bytes}));
    return size_in_parts(format, 1, columns);
}

}  // namespace detail

/// The exact size of a rows x columns tensor (output x input features; a vector is one row).
[[gnu::noinline]] constexpr byte_count size_of(const precision& format, std::int64_t rows, std::int64_t columns) {
    return format.element_bytes > 0 ? detail::size_of_row(format, detail::product(rows, columns))
                                    : detail::size_in_parts(format, rows, columns);
}

/// Whether a format stores scales or packs several values into a byte. Such weights are served, or frozen beside an
/// adapter; no optimizer updates them.
constexpr bool is_packed(const precision& format) {
    return format.element_bytes == 0 && (format.parts[1].bytes != 0 || format.parts[0].columns != 1);
}
/// Whether a format stores plain numbers of 16 bits or more, as models are trained and published before they are
/// quantised.
constexpr bool is_wide(const precision& format) {
    return format.element_bytes > 0 ? format.element_bytes >= 2 : !is_packed(format) && format.parts[0].bytes >= 2;
}

/// Bits that an element takes on average in a large tensor: 4.5 for q4_0. For tables; sizes are never computed from it.
constexpr double bits_per_element(const precision& format) {
    constexpr std::int64_t side = std::int64_t{1} << 16;
    const byte_count square = size_of(format, side, side) - bytes(format.tensor_bytes);
    return 8.0 * static_cast<double>(square.in(bytes)) / (static_cast<double>(side) * static_cast<double>(side));
}

// ---- plain formats: IEEE 754, OCP OFP8 (E4M3, E5M2), two's complement integers; two int4 share a byte ---------------

inline constexpr precision fp64{"fp64", arithmetic_kind::fp64, {{{1, 1, 8}}}};
inline constexpr precision fp32{"fp32", arithmetic_kind::fp32, {{{1, 1, 4}}}};
/// fp32 in memory, multiplied with 10 bits of mantissa by the tensor cores.
inline constexpr precision tf32{"tf32", arithmetic_kind::tf32, {{{1, 1, 4}}}};
inline constexpr precision bf16{"bf16", arithmetic_kind::bf16, {{{1, 1, 2}}}};
/// bf16 gradients, each with its fp32 accumulator.
inline constexpr precision bf16_and_fp32{"bf16_and_fp32", arithmetic_kind::bf16, {{{1, 1, 6}}}};
inline constexpr precision fp16{"fp16", arithmetic_kind::fp16, {{{1, 1, 2}}}};
inline constexpr precision fp8_e4m3{"fp8_e4m3", arithmetic_kind::fp8, {{{1, 1, 1}}}};
inline constexpr precision fp8_e5m2{"fp8_e5m2", arithmetic_kind::fp8, {{{1, 1, 1}}}};
inline constexpr precision int8{"int8", arithmetic_kind::int8, {{{1, 1, 1}}}};
inline constexpr precision int4{"int4", arithmetic_kind::int4, {{{tile::flat, 2, 1}}}};

// ---- eight bits with scales -----------------------------------------------------------------------------------------

/// E4M3 with one fp32 scale a tensor; `static`: and one for its input.
inline constexpr precision fp8_tensor{"fp8_tensor", arithmetic_kind::fp8, {{{1, 1, 1}}}, 4};
inline constexpr precision fp8_tensor_static{"fp8_tensor_static", arithmetic_kind::fp8, {{{1, 1, 1}}}, 8};
/// E4M3 with one scale an output channel: fp32, or in the 16 bit of the model as compressed-tensors stores it.
inline constexpr precision fp8_channel{"fp8_channel", arithmetic_kind::fp8, {{{1, 1, 1}, {1, tile::whole, 4}}}};
inline constexpr precision fp8_channel_s16{"fp8_channel_s16", arithmetic_kind::fp8, {{{1, 1, 1}, {1, tile::whole, 2}}}};
/// E4M3 with one fp32 scale every 128 x 128 weights (DeepSeek-V3 `weight_block_size`, technical report section 3.3).
inline constexpr precision fp8_block{"fp8_block128", arithmetic_kind::fp8, {{{1, 1, 1}, {128, 128, 4}}}};
/// int8 with one scale an output channel, multiplied in int8 (compressed-tensors `int-quantized`).
inline constexpr precision int8_tensor{"int8_tensor", arithmetic_kind::int8, {{{1, 1, 1}}}, 4};
inline constexpr precision int8_channel{"int8_channel", arithmetic_kind::int8, {{{1, 1, 1}, {1, tile::whole, 4}}}};
inline constexpr precision int8_channel_s16{
    "int8_channel_s16", arithmetic_kind::int8, {{{1, 1, 1}, {1, tile::whole, 2}}}};
/// bitsandbytes LLM.int8: one fp32 absolute maximum an output channel (`SCB`); outliers are computed in 16 bit.
inline constexpr precision bnb_int8{"bnb_int8", arithmetic_kind::int8, {{{1, 1, 1}, {1, tile::whole, 4}}}};
/// A 16-bit scale and a 16-bit zero point for each row: KV caches quantised by head and token.
inline constexpr precision int8_row{"int8_row", arithmetic_kind::bf16, {{{1, 1, 1}, {1, tile::whole, 4}}}};
inline constexpr precision int4_row{"int4_row", arithmetic_kind::bf16, {{{1, 2, 1}, {1, tile::whole, 4}}}};
/// The same in E4M3, with an fp32 scale (vLLM, triton_attn.py: customize_spec).
inline constexpr precision fp8_row{"fp8_row", arithmetic_kind::bf16, {{{1, 1, 1}, {1, tile::whole, 4}}}};

// ---- microscaling ---------------------------------------------------------------------------------------------------

/// OCP Microscaling 1.0: blocks of 32 along the row, one E8M0 scale byte each.
inline constexpr precision mxfp8{"mxfp8", arithmetic_kind::fp8, {{{1, 1, 1}, {1, 32, 1}}}};
inline constexpr precision mxfp6{"mxfp6", arithmetic_kind::fp6, {{{1, 4, 3}, {1, 32, 1}}}};
inline constexpr precision mxfp4{"mxfp4", arithmetic_kind::fp4, {{{1, 2, 1}, {1, 32, 1}}}};
/// Blocks of 16 along the row with an E4M3 scale each, and one fp32 scale a tensor; `static`: and one for its input.
inline constexpr precision nvfp4{"nvfp4", arithmetic_kind::fp4, {{{1, 2, 1}, {1, 16, 1}}}, 4};
inline constexpr precision nvfp4_static{"nvfp4_static", arithmetic_kind::fp4, {{{1, 2, 1}, {1, 16, 1}}}, 8};

// ---- bitsandbytes in four bits --------------------------------------------------------------------------------------

/// NF4 over the flattened tensor: fp32 absmax a block of 64, and a 16-entry fp32 code a tensor (QLoRA, arXiv 2305.14314
/// section 3). Computed in 16 bit after dequantisation.
inline constexpr precision nf4{"nf4", arithmetic_kind::bf16, {{{tile::flat, 2, 1}, {tile::flat, 64, 4}}}, 64};
/// With double quantisation: the absmax in 8 bits, an fp32 absmax for every 256 of those, and a tensor's fp32 offset
/// and 256-entry fp32 code for them (bitsandbytes QuantState: nested_absmax, nested_quant_map, nested_offset).
inline constexpr precision nf4_double{"nf4_double",
                                      arithmetic_kind::bf16,
                                      {{{tile::flat, 2, 1}, {tile::flat, 64, 1}, {tile::flat, 64 * 256, 4}}},
                                      64 + 4 + 1024};
inline constexpr precision fp4{"fp4", arithmetic_kind::bf16, nf4.parts, nf4.tensor_bytes};
inline constexpr precision fp4_double{"fp4_double", arithmetic_kind::bf16, nf4_double.parts, nf4_double.tensor_bytes};

// ---- ternary --------------------------------------------------------------------------------------------------------

/// BitNet b1.58 as Hugging Face packs it: four output features a byte, one 16-bit scale a tensor (transformers bitnet).
inline constexpr precision ternary{"ternary", arithmetic_kind::int8, {{{4, 1, 1}}}, 2};

// ---- GGUF -----------------------------------------------------------------------------------------------------------
// Blocks lie within rows (ggml-common.h: the block structs, QK4_0 = 32, QK_K = 256). Dequantised to 16 bit, or
// multiplied in int8 against activations quantised on the fly; the 16-bit rate is the safe one. A row that is no whole
// number of blocks cannot be stored so: llama.cpp then takes another type (models/gguf/rules.hpp).

inline constexpr precision q4_0{"q4_0", arithmetic_kind::fp16, {{{1, 32, 18}}}};
inline constexpr precision q4_1{"q4_1", arithmetic_kind::fp16, {{{1, 32, 20}}}};
inline constexpr precision q5_0{"q5_0", arithmetic_kind::fp16, {{{1, 32, 22}}}};
inline constexpr precision q5_1{"q5_1", arithmetic_kind::fp16, {{{1, 32, 24}}}};
inline constexpr precision q8_0{"q8_0", arithmetic_kind::fp16, {{{1, 32, 34}}}};
inline constexpr precision q8_1{"q8_1", arithmetic_kind::fp16, {{{1, 32, 36}}}};  ///< of activations, in memory only
inline constexpr precision q2_k{"q2_k", arithmetic_kind::fp16, {{{1, 256, 84}}}};
inline constexpr precision q3_k{"q3_k", arithmetic_kind::fp16, {{{1, 256, 110}}}};
inline constexpr precision q4_k{"q4_k", arithmetic_kind::fp16, {{{1, 256, 144}}}};
inline constexpr precision q5_k{"q5_k", arithmetic_kind::fp16, {{{1, 256, 176}}}};
inline constexpr precision q6_k{"q6_k", arithmetic_kind::fp16, {{{1, 256, 210}}}};
inline constexpr precision q8_k{"q8_k", arithmetic_kind::fp16, {{{1, 256, 292}}}};  ///< of activations, in memory only
inline constexpr precision iq1_s{"iq1_s", arithmetic_kind::fp16, {{{1, 256, 50}}}};
inline constexpr precision iq1_m{"iq1_m", arithmetic_kind::fp16, {{{1, 256, 56}}}};
inline constexpr precision iq2_xxs{"iq2_xxs", arithmetic_kind::fp16, {{{1, 256, 66}}}};
inline constexpr precision iq2_xs{"iq2_xs", arithmetic_kind::fp16, {{{1, 256, 74}}}};
inline constexpr precision iq2_s{"iq2_s", arithmetic_kind::fp16, {{{1, 256, 82}}}};
inline constexpr precision iq3_xxs{"iq3_xxs", arithmetic_kind::fp16, {{{1, 256, 98}}}};
inline constexpr precision iq3_s{"iq3_s", arithmetic_kind::fp16, {{{1, 256, 110}}}};
inline constexpr precision iq4_nl{"iq4_nl", arithmetic_kind::fp16, {{{1, 32, 18}}}};
inline constexpr precision iq4_xs{"iq4_xs", arithmetic_kind::fp16, {{{1, 256, 136}}}};
inline constexpr precision tq1_0{"tq1_0", arithmetic_kind::fp16, {{{1, 256, 54}}}};
inline constexpr precision tq2_0{"tq2_0", arithmetic_kind::fp16, {{{1, 256, 66}}}};
/// OCP MXFP4 and NVFP4 with the scales inside the block. NVFP4's tensor scale is a tensor of its own there.
inline constexpr precision mxfp4_gguf{"mxfp4_gguf", arithmetic_kind::fp16, {{{1, 32, 17}}}};
inline constexpr precision nvfp4_gguf{"nvfp4_gguf", arithmetic_kind::fp16, {{{1, 64, 36}}}};

// ik_llama.cpp's own (its ggml-common.h, and ggml.c's row_meta_size: the scale of a row, in two or four bytes). Its
// types that end in _r4 and _r8 interleave rows of these and of the ones above, and take as much.
inline constexpr precision q6_0{"q6_0", arithmetic_kind::fp16, {{{1, 32, 26}}}};
inline constexpr precision iq2_k{"iq2_k", arithmetic_kind::fp16, {{{1, 256, 76}}}};
inline constexpr precision iq3_k{"iq3_k", arithmetic_kind::fp16, {{{1, 256, 110}}}};
inline constexpr precision iq4_k{"iq4_k", arithmetic_kind::fp16, {{{1, 256, 144}}}};
inline constexpr precision iq5_k{"iq5_k", arithmetic_kind::fp16, {{{1, 256, 176}}}};
inline constexpr precision iq6_k{"iq6_k", arithmetic_kind::fp16, {{{1, 256, 212}}}};
inline constexpr precision iq2_kl{"iq2_kl", arithmetic_kind::fp16, {{{1, 256, 86}, {1, tile::whole, 2}}}};
inline constexpr precision iq2_ks{"iq2_ks", arithmetic_kind::fp16, {{{1, 256, 70}, {1, tile::whole, 2}}}};
inline constexpr precision iq3_ks{"iq3_ks", arithmetic_kind::fp16, {{{1, 256, 102}, {1, tile::whole, 2}}}};
inline constexpr precision iq4_kss{"iq4_kss", arithmetic_kind::fp16, {{{1, 256, 128}, {1, tile::whole, 4}}}};
inline constexpr precision iq4_ks{"iq4_ks", arithmetic_kind::fp16, {{{1, 256, 136}, {1, tile::whole, 4}}}};
inline constexpr precision iq5_ks{"iq5_ks", arithmetic_kind::fp16, {{{1, 256, 168}, {1, tile::whole, 4}}}};
inline constexpr precision iq2_kt{"iq2_kt", arithmetic_kind::fp16, {{{1, 256, 68}, {1, tile::whole, 4}}}};
inline constexpr precision iq3_kt{"iq3_kt", arithmetic_kind::fp16, {{{1, 256, 100}, {1, tile::whole, 4}}}};
inline constexpr precision iq4_kt{"iq4_kt", arithmetic_kind::fp16, {{{1, 256, 128}, {1, tile::whole, 4}}}};
inline constexpr precision iq1_s_r4{"iq1_s_r4", arithmetic_kind::fp16, {{{1, 32, 6}, {1, tile::whole, 2}}}};
inline constexpr precision iq1_m_r4{"iq1_m_r4", arithmetic_kind::fp16, {{{1, 32, 7}, {1, tile::whole, 2}}}};

// ---- formats with parameters ----------------------------------------------------------------------------------------

/// As a group size: one group spans a whole row of the weight (all inputs of an output channel).
inline constexpr std::int32_t whole_row = 0;

/// What GPTQ stores beside values, scales and zero points.
struct gptq_tensors {
    /// `g_idx`, the group of each input in 32 bits. AutoGPTQ and GPTQModel store it whether or not columns were
    /// reordered; runtimes drop it when they were not.
    bool group_index = true;
};
/// GPTQ in 2, 3, 4 or 8 bits: values packed into 32-bit words along the inputs, a 16-bit scale for each group, and zero
/// points packed along the outputs.
constexpr precision gptq(std::int32_t width, std::int32_t group, gptq_tensors stored = {});

/// AWQ (GEMM packing, four bits in practice): as GPTQ, but with values packed along the outputs and without g_idx. It
/// always has zero points.
constexpr precision awq(std::int32_t width, std::int32_t group);

/// What compressed-tensors stores beside values, scales and the shape.
struct packed_tensors {
    bool zero_points = false;  ///< of asymmetric quantisation, packed along the outputs
    bool group_index = false;  ///< `g_idx`, the group of each input in 32 bits: if columns were reordered
};
/// compressed-tensors `pack-quantized`: 2, 3, 4 or 8 bits in 32-bit words along the inputs, a 16-bit scale for each
/// group, and the shape in two 64-bit words.
constexpr precision packed_int(std::int32_t width, std::int32_t group, packed_tensors stored = {});

/// HQQ over the flattened tensor: values packed into bytes (of 3 bits: ten into a 32-bit word), and for each group a
/// 16-bit scale and a 16-bit zero point.
constexpr precision hqq(std::int32_t width, std::int32_t group);

/// MLX: values packed into 32-bit words, and for each group along the inputs a 16-bit scale and a 16-bit bias
/// (mlx.core.quantize).
constexpr precision mlx(std::int32_t width, std::int32_t group);

/// ExLlamaV2 at a mean width in thousandths of a bit for each weight, scales included. Its quantiser gives each tensor
/// a width of its own so that the mean over the linear layers meets the target; a single tensor may differ by whole
/// bits.
constexpr precision exl2(std::int32_t millibits);

/// ExLlamaV3: tiles of 16 x 16 weights at a whole number of bits, and 16-bit signs-and-scales of inputs and outputs.
/// Exact for whole bits; between them it is the mean over tensors of the two widths next to it.
constexpr precision exl3(std::int32_t millibits);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr text<31> grouped_name(std::string_view method, std::int32_t width, std::int32_t group) {
    text<31> name{method};
    name.append("_int");
    name.append(digits(width));
    if (group > whole_row) {
        name.append("_g");
        name.append(digits(group));
    } else {
        name.append("_channel");
    }
    return name;
}

/// The smallest tile of whole bytes along a row (or column) that holds whole 32-bit words of `bits` each.
constexpr tile words_along_row(std::int32_t width) { return width == 3 ? tile{1, 32, 12} : tile{1, 32 / width, 4}; }
constexpr tile words_along_column(std::int32_t width, std::int32_t columns) {
    return width == 3 ? tile{32, columns, 12} : tile{32 / width, columns, 4};
}
constexpr std::int32_t columns_of(std::int32_t group) { return group > whole_row ? group : tile::whole; }

/// A width in thousandths of a bit as a tile over the flattened tensor, in lowest terms.
constexpr tile mean_width(std::int32_t millibits) {
    std::int32_t weights = 8000;
    std::int32_t width = millibits;
    for (const std::int32_t divisor : {2, 2, 2, 2, 2, 2, 5, 5, 5})
        if (weights % divisor == 0 && width % divisor == 0) weights /= divisor, width /= divisor;
    return {tile::flat, weights, width};
}

constexpr text<31> mean_name(std::string_view method, std::int32_t millibits) {
    text<31> name{method};
    name.append("_");
    name.append(digits(millibits / 1000));
    std::int32_t rest = millibits % 1000;
    if (rest != 0) name.append(".");
    for (std::int32_t place = 100; rest != 0; place /= 10) {
        name.append(digits(rest / place));
        rest %= place;
    }
    name.append("bpw");
    return name;
}

}  // namespace detail

constexpr precision gptq(std::int32_t width, std::int32_t group, gptq_tensors stored) {
    const std::int32_t columns = detail::columns_of(group);
    precision made{detail::grouped_name("gptq", width, group),
                   arithmetic_kind::fp16,
                   {{detail::words_along_row(width),
                     {1, columns, 2},
                     detail::words_along_column(width, columns),
                     {tile::whole, 1, stored.group_index ? 4 : 0}}}};
    if (!stored.group_index) made.name.append("_no_gidx");
    return made;
}

constexpr precision awq(std::int32_t width, std::int32_t group) {
    const std::int32_t columns = detail::columns_of(group);
    return {detail::grouped_name("awq", width, group),
            arithmetic_kind::fp16,
            {{detail::words_along_column(width, 1), {1, columns, 2}, detail::words_along_column(width, columns)}}};
}

constexpr precision packed_int(std::int32_t width, std::int32_t group, packed_tensors stored) {
    const std::int32_t columns = detail::columns_of(group);
    precision made{detail::grouped_name("packed", width, group),
                   arithmetic_kind::bf16,
                   {{detail::words_along_row(width), {1, columns, 2}}},
                   16};
    std::size_t next = 2;
    if (stored.zero_points) {
        made.name.append("_zp");
        made.parts[next++] = detail::words_along_column(width, columns);
    }
    if (stored.group_index) {
        made.name.append("_gidx");
        made.parts[next] = {tile::whole, 1, 4};
    }
    return made;
}

constexpr precision hqq(std::int32_t width, std::int32_t group) {
    // A variable of its own, because nvcc 13.0 does not compile the conditional expression inside the braces.
    const tile values = width == 3 ? tile{tile::flat, 10, 4} : tile{tile::flat, 8 / width, 1};
    return {detail::grouped_name("hqq", width, group), arithmetic_kind::bf16, {{values, {tile::flat, group, 4}}}};
}

constexpr precision mlx(std::int32_t width, std::int32_t group) {
    return {detail::grouped_name("mlx", width, group), arithmetic_kind::fp16, {{{1, group, group * width / 8 + 4}}}};
}

constexpr precision exl2(std::int32_t millibits) {
    return {detail::mean_name("exl2", millibits), arithmetic_kind::fp16, {{detail::mean_width(millibits)}}};
}

constexpr precision exl3(std::int32_t millibits) {
    const tile values = millibits % 1000 == 0 ? tile{16, 16, 32 * (millibits / 1000)} : detail::mean_width(millibits);
    return {detail::mean_name("exl3", millibits),
            arithmetic_kind::fp16,
            {{values, {tile::whole, 1, 2}, {1, tile::whole, 2}}}};
}

}  // namespace llmres::inline v0
