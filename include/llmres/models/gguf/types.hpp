// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <string_view>

/// The tensor types of GGUF files, and what llama.cpp's quantiser can be asked for. Which tensor gets which type says
/// models/gguf/rules.hpp.
namespace llmres::inline v0 {

// clang-format off
/// What a GGUF tensor is stored in, by the number that the file holds (ggml.h: ggml_type) and spelled as it is there.
enum class gguf_type : std::uint32_t {
    F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q8_1 = 9, Q2_K = 10, Q3_K = 11, Q4_K = 12,
    Q5_K = 13, Q6_K = 14, Q8_K = 15, IQ2_XXS = 16, IQ2_XS = 17, IQ3_XXS = 18, IQ1_S = 19, IQ4_NL = 20, IQ3_S = 21,
    IQ2_S = 22, IQ4_XS = 23, I8 = 24, I16 = 25, I32 = 26, I64 = 27, F64 = 28, IQ1_M = 29, BF16 = 30, Q4_0_4_4 = 31,
    Q4_0_4_8 = 32, Q4_0_8_8 = 33, TQ1_0 = 34, TQ2_0 = 35, MXFP4 = 39, NVFP4 = 40,
};
// clang-format on

/// A type of the file format: its name, and how it stores blocks of values.
struct gguf_type_info {
    gguf_type type = gguf_type::F32;  ///< the type
    std::string_view name{};          ///< ggml's name of it
    precision format{};               ///< the precision of the same layout

    /// Values of one block; a row is a whole number of blocks.
    constexpr std::int64_t block() const { return format.parts[0].columns; }
    /// Bytes of one block.
    constexpr std::int64_t block_bytes() const { return format.parts[0].bytes; }
};

/// The type with a number; unknown for a number that llama.cpp never used or has withdrawn.
constexpr maybe<gguf_type_info> find_gguf_type(std::uint32_t number);

// clang-format off
/// llama.cpp's file types: the argument of its quantiser.
enum class gguf_quantisation : std::uint8_t {
    F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_0_4_4, Q4_0_4_8, Q4_0_8_8, Q2_K, Q2_K_S, Q3_K_S, Q3_K_M, Q3_K_L,
    Q4_K_S, Q4_K_M, Q5_K_S, Q5_K_M, Q6_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ2_M, IQ3_XXS, IQ3_XS, IQ3_S, IQ3_M,
    IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4_MOE,
};
// clang-format on

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::gguf {

using q = gguf_quantisation;
using t = gguf_type;

// Of index tensors: no precision to compute in.
inline constexpr precision int16{"int16", arithmetic_kind::fp16, {{{1, 1, 2}}}};
inline constexpr precision int32{"int32", arithmetic_kind::fp32, {{{1, 1, 4}}}};
inline constexpr precision int64{"int64", arithmetic_kind::fp64, {{{1, 1, 8}}}};

inline constexpr std::array types{gguf_type_info{t::F32, "F32", fp32},
                                  gguf_type_info{t::F16, "F16", fp16},
                                  gguf_type_info{t::Q4_0, "Q4_0", q4_0},
                                  gguf_type_info{t::Q4_1, "Q4_1", q4_1},
                                  gguf_type_info{t::Q5_0, "Q5_0", q5_0},
                                  gguf_type_info{t::Q5_1, "Q5_1", q5_1},
                                  gguf_type_info{t::Q8_0, "Q8_0", q8_0},
                                  gguf_type_info{t::Q8_1, "Q8_1", q8_1},
                                  gguf_type_info{t::Q2_K, "Q2_K", q2_k},
                                  gguf_type_info{t::Q3_K, "Q3_K", q3_k},
                                  gguf_type_info{t::Q4_K, "Q4_K", q4_k},
                                  gguf_type_info{t::Q5_K, "Q5_K", q5_k},
                                  gguf_type_info{t::Q6_K, "Q6_K", q6_k},
                                  gguf_type_info{t::Q8_K, "Q8_K", q8_k},
                                  gguf_type_info{t::IQ2_XXS, "IQ2_XXS", iq2_xxs},
                                  gguf_type_info{t::IQ2_XS, "IQ2_XS", iq2_xs},
                                  gguf_type_info{t::IQ3_XXS, "IQ3_XXS", iq3_xxs},
                                  gguf_type_info{t::IQ1_S, "IQ1_S", iq1_s},
                                  gguf_type_info{t::IQ4_NL, "IQ4_NL", iq4_nl},
                                  gguf_type_info{t::IQ3_S, "IQ3_S", iq3_s},
                                  gguf_type_info{t::IQ2_S, "IQ2_S", iq2_s},
                                  gguf_type_info{t::IQ4_XS, "IQ4_XS", iq4_xs},
                                  gguf_type_info{t::I8, "I8", int8},
                                  gguf_type_info{t::I16, "I16", int16},
                                  gguf_type_info{t::I32, "I32", int32},
                                  gguf_type_info{t::I64, "I64", int64},
                                  gguf_type_info{t::F64, "F64", fp64},
                                  gguf_type_info{t::IQ1_M, "IQ1_M", iq1_m},
                                  gguf_type_info{t::BF16, "BF16", bf16},
                                  gguf_type_info{t::Q4_0_4_4, "Q4_0_4_4", q4_0},
                                  gguf_type_info{t::Q4_0_4_8, "Q4_0_4_8", q4_0},
                                  gguf_type_info{t::Q4_0_8_8, "Q4_0_8_8", q4_0},
                                  gguf_type_info{t::TQ1_0, "TQ1_0", tq1_0},
                                  gguf_type_info{t::TQ2_0, "TQ2_0", tq2_0},
                                  gguf_type_info{t::MXFP4, "MXFP4", mxfp4_gguf},
                                  gguf_type_info{t::NVFP4, "NVFP4", nvfp4_gguf}};

/// A quantisation's name, and the type of tensors that no rule is about (llama_ftype_get_default_type).
struct quantisation_info {
    gguf_quantisation quantisation;
    std::string_view name;
    gguf_type base;
};
inline constexpr std::array quantisations{quantisation_info{q::F32, "F32", t::F32},
                                          quantisation_info{q::F16, "F16", t::F16},
                                          quantisation_info{q::BF16, "BF16", t::BF16},
                                          quantisation_info{q::Q8_0, "Q8_0", t::Q8_0},
                                          quantisation_info{q::Q4_0, "Q4_0", t::Q4_0},
                                          quantisation_info{q::Q4_1, "Q4_1", t::Q4_1},
                                          quantisation_info{q::Q5_0, "Q5_0", t::Q5_0},
                                          quantisation_info{q::Q5_1, "Q5_1", t::Q5_1},
                                          quantisation_info{q::Q4_0_4_4, "Q4_0_4_4", t::Q4_0_4_4},
                                          quantisation_info{q::Q4_0_4_8, "Q4_0_4_8", t::Q4_0_4_8},
                                          quantisation_info{q::Q4_0_8_8, "Q4_0_8_8", t::Q4_0_8_8},
                                          quantisation_info{q::Q2_K, "Q2_K", t::Q2_K},
                                          quantisation_info{q::Q2_K_S, "Q2_K_S", t::Q2_K},
                                          quantisation_info{q::Q3_K_S, "Q3_K_S", t::Q3_K},
                                          quantisation_info{q::Q3_K_M, "Q3_K_M", t::Q3_K},
                                          quantisation_info{q::Q3_K_L, "Q3_K_L", t::Q3_K},
                                          quantisation_info{q::Q4_K_S, "Q4_K_S", t::Q4_K},
                                          quantisation_info{q::Q4_K_M, "Q4_K_M", t::Q4_K},
                                          quantisation_info{q::Q5_K_S, "Q5_K_S", t::Q5_K},
                                          quantisation_info{q::Q5_K_M, "Q5_K_M", t::Q5_K},
                                          quantisation_info{q::Q6_K, "Q6_K", t::Q6_K},
                                          quantisation_info{q::IQ1_S, "IQ1_S", t::IQ1_S},
                                          quantisation_info{q::IQ1_M, "IQ1_M", t::IQ1_M},
                                          quantisation_info{q::IQ2_XXS, "IQ2_XXS", t::IQ2_XXS},
                                          quantisation_info{q::IQ2_XS, "IQ2_XS", t::IQ2_XS},
                                          quantisation_info{q::IQ2_S, "IQ2_S", t::IQ2_XS},
                                          quantisation_info{q::IQ2_M, "IQ2_M", t::IQ2_S},
                                          quantisation_info{q::IQ3_XXS, "IQ3_XXS", t::IQ3_XXS},
                                          quantisation_info{q::IQ3_XS, "IQ3_XS", t::IQ3_S},
                                          quantisation_info{q::IQ3_S, "IQ3_S", t::IQ3_S},
                                          quantisation_info{q::IQ3_M, "IQ3_M", t::IQ3_S},
                                          quantisation_info{q::IQ4_NL, "IQ4_NL", t::IQ4_NL},
                                          quantisation_info{q::IQ4_XS, "IQ4_XS", t::IQ4_XS},
                                          quantisation_info{q::TQ1_0, "TQ1_0", t::TQ1_0},
                                          quantisation_info{q::TQ2_0, "TQ2_0", t::TQ2_0},
                                          quantisation_info{q::MXFP4_MOE, "MXFP4_MOE", t::MXFP4}};

/// Where a type stands in the table, by its number.
inline constexpr std::array<std::uint8_t, 64> type_indices = [] {
    std::array<std::uint8_t, 64> found{};
    for (std::size_t i = 0; i < types.size(); ++i)
        found[static_cast<std::size_t>(types[i].type)] = static_cast<std::uint8_t>(i);
    return found;
}();
constexpr std::size_t index_of(gguf_type type) { return type_indices[static_cast<std::size_t>(type)]; }
/// Values in a block of the type, looked up without a copy of the table's entry.
constexpr std::int64_t block_of(gguf_type type) { return types[index_of(type)].block(); }
constexpr gguf_type base_of(gguf_quantisation wanted) { return quantisations[static_cast<std::size_t>(wanted)].base; }
/// Format of most matrices of a file of that quantisation.
constexpr const precision& format_of(gguf_quantisation wanted) { return types[index_of(base_of(wanted))].format; }
static_assert(
    [] {
        for (std::size_t i = 0; i < quantisations.size(); ++i)
            if (quantisations[i].quantisation != static_cast<q>(i)) return false;
        return true;
    }(),
    "the table stands in the order of the enumeration");

}  // namespace detail::gguf

constexpr maybe<gguf_type_info> find_gguf_type(std::uint32_t number) {
    for (const gguf_type_info& info : detail::gguf::types)
        if (static_cast<std::uint32_t>(info.type) == number) return info;
    return {};
}

}  // namespace llmres::inline v0
