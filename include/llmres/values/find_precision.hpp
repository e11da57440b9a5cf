// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which number formats are there, and which one has this name? Apart from values/precision.hpp, because who plans
/// names formats as constants.
namespace llmres::inline v0 {

// clang-format off
/// Every format without parameters, for look-ups and listings.
inline constexpr std::array precisions{
    fp64, fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, int8, int4,
    fp8_tensor, fp8_tensor_static, fp8_channel, fp8_channel_s16, fp8_block,
    int8_tensor, int8_channel, int8_channel_s16, bnb_int8, int8_row, int4_row, fp8_row,
    mxfp8, mxfp6, mxfp4, nvfp4, nvfp4_static, nf4, nf4_double, fp4, fp4_double, ternary,
    q4_0, q4_1, q5_0, q5_1, q8_0, q8_1, q2_k, q3_k, q4_k, q5_k, q6_k, q8_k,
    iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq4_nl, iq4_xs, tq1_0, tq2_0, mxfp4_gguf, nvfp4_gguf};
// clang-format on

/// Formats that ik_llama.cpp alone loads.
inline constexpr std::array ik_precisions{q6_0,    iq2_k,  iq3_k,  iq4_k,  iq5_k,  iq6_k,  iq2_kl,   iq2_ks,  iq3_ks,
                                          iq4_kss, iq4_ks, iq5_ks, iq2_kt, iq3_kt, iq4_kt, iq1_s_r4, iq1_m_r4};

/// A name that other tools have for a format.
struct precision_alias {
    std::string_view name;    ///< in lower case, with underscores in place of dashes
    std::string_view format;  ///< the format, or after a question mark the formats that the name could mean
};

// clang-format off
/// Names that other tools have for formats: PyTorch's and vLLM's dtypes, methods of quantisation in their usual shape
/// (AutoAWQ's and GPTQ's group of 128), bitsandbytes' two. vLLM's "fp8" casts weights to e4m3 with one scale for each
/// tensor, which is two bytes more than e4m3 alone. Names of caches are those of vLLM (config/cache.py, CacheDType),
/// whose scales a head and token are fp32 (v1/attention/backends/triton_attn.py, customize_spec), and fp4_e2m1 is
/// SGLang's before it said nvfp4.
inline constexpr auto precision_aliases = std::to_array<precision_alias>({
    {"bfloat16", "bf16"},
    {"float16", "fp16"}, {"f16", "fp16"}, {"half", "fp16"},
    {"float32", "fp32"}, {"f32", "fp32"}, {"float", "fp32"},
    {"float64", "fp64"}, {"double", "fp64"},
    {"fp8", "fp8_e4m3"}, {"e4m3", "fp8_e4m3"}, {"float8", "fp8_e4m3"}, {"fp8_e4m3fn", "fp8_e4m3"},
    {"float8_e4m3fn", "fp8_e4m3"}, {"f8_e4m3", "fp8_e4m3"},
    {"e5m2", "fp8_e5m2"}, {"float8_e5m2", "fp8_e5m2"},
    {"fp8_block", "fp8_block128"},
    {"fp8_dynamic", "fp8_channel"},
    {"awq", "awq_int4_g128"}, {"awq_marlin", "awq_int4_g128"}, {"int4_awq", "awq_int4_g128"},
    {"gptq", "gptq_int4_g128"}, {"gptq_marlin", "gptq_int4_g128"}, {"gptq_int4", "gptq_int4_g128"},
    {"gptq_int8", "gptq_int8_g128"},
    {"w4a16", "packed_int4_g128"},
    {"w8a8", "int8_channel"},
    {"4bit", "nf4"}, {"4_bit", "nf4"}, {"bnb_4bit", "nf4"}, {"bnb_nf4", "nf4"},
    {"qlora", "nf4_double"},
    {"8bit", "bnb_int8"}, {"8_bit", "bnb_int8"}, {"bnb_8bit", "bnb_int8"}, {"llm.int8", "bnb_int8"},
    {"fp4_nvidia", "nvfp4"},
    {"int8_per_token_head", "int8_row"}, {"int4_per_token_head", "int4_row"}, {"fp8_per_token_head", "fp8_row"},
    {"fp8_inc", "fp8_e4m3"}, {"fp8_ds_mla", "fp8_e4m3"}, {"nvfp4_4over6", "nvfp4"}, {"fp4_e2m1", "nvfp4"},
    {"q8", "?q8_0 (GGUF), int8 or bnb_int8"},
    {"q4", "?q4_0 or q4_k_m (GGUF), int4, nf4 or awq"},
    {"q5", "?q5_0, q5_k_s or q5_k_m (GGUF)"},
    {"q6", "?q6_k (GGUF)"}});
// clang-format on

/// The format of that name, or an error. Letter case does not matter, nor do dashes for underscores; names of other
/// tools are known (precision_aliases). Names of formats with parameters are what their makers give: gptq_int4_g128,
/// gptq_int4_channel, gptq_int4_g128_no_gidx, awq_int4_g64, packed_int4_g32, packed_int4_g32_zp_gidx, hqq_int4_g64,
/// mlx_int4_g64, exl2_4.25bpw, exl3_3bpw.
constexpr result<precision> find_precision(std::string_view field, std::string_view name);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The format with parameters that has this name, if there is one. The name is parsed, the format made, and its name
/// compared with the one given, so that each format has one spelling.
constexpr maybe<precision> made_by_name(std::string_view name) {
    std::string_view rest = name;
    const auto same = [&](const precision& made) {
        return made.name == name ? maybe<precision>{made} : maybe<precision>{};
    };
    const bool is_exl2 = taken(rest, "exl2_");
    if (is_exl2 || taken(rest, "exl3_")) {
        std::int32_t millibits = taken_number(rest);
        if (millibits < 1 || millibits > 8) return {};
        millibits *= 1000;
        if (taken(rest, "."))
            for (std::int32_t place = 100; place > 0 && !rest.empty() && is_digit(rest[0]); place /= 10) {
                millibits += place * (rest[0] - '0');
                rest.remove_prefix(1);
            }
        return same(is_exl2 ? exl2(millibits) : exl3(millibits));
    }
    std::string_view method = rest.substr(0, rest.find("_int"));
    taken(rest, method);
    if (!taken(rest, "_int")) return {};
    const std::int32_t width = taken_number(rest);
    if (width < 1 || width > 8) return {};
    const std::int32_t group = taken(rest, "_g") ? taken_number(rest) : taken(rest, "_channel") ? whole_row : -1;
    if (group < 0) return {};
    if (method == "mlx") return width > 1 && width != 7 && group >= 32 ? same(mlx(width, group)) : maybe<precision>{};
    const bool packable = width == 2 || width == 3 || width == 4 || width == 8;
    if (method == "hqq") return (packable || width == 1) && group > 0 ? same(hqq(width, group)) : maybe<precision>{};
    if (!packable) return {};
    if (method == "gptq") return same(gptq(width, group, {.group_index = rest != "_no_gidx"}));
    if (method == "awq" && width == 4) return same(awq(width, group));
    if (method != "packed") return {};
    const bool zero_points = taken(rest, "_zp");
    return same(packed_int(width, group, {.zero_points = zero_points, .group_index = rest == "_gidx"}));
}

/// A name in lower case with underscores in place of dashes, as formats are named; "4.0bpw" is "4bpw".
constexpr text<47> format_name(std::string_view typed) {
    text<47> name{};
    std::size_t length = 0;
    for (const char c : typed.substr(0, 47)) name.characters[length++] = c == '-' ? '_' : lower_case(c);
    if (name.view().ends_with(".0bpw")) {
        text<47> whole{name.view().substr(0, length - 5)};
        whole.append("bpw");
        return whole;
    }
    return name;
}

}  // namespace detail

constexpr result<precision> find_precision(std::string_view field, std::string_view typed) {
    const text<47> spelled = detail::format_name(typed);
    const std::string_view name = spelled.view();
    for (const precision_alias& alias : precision_aliases) {
        if (alias.name != name) continue;
        if (alias.format.starts_with('?')) return refused(error_code::unknown, field, typed, alias.format.substr(1));
        return find_precision(field, alias.format);
    }
    for (const precision& p : precisions)
        if (p.name == name) return p;
    if (const maybe<precision> made = detail::made_by_name(name)) return *made;
    for (const precision& p : ik_precisions)
        if (p.name == name) return p;
    if ((name.starts_with("q") || name.starts_with("iq")) && (name.ends_with("_r4") || name.ends_with("_r8")))
        return find_precision(field, name.substr(0, name.size() - 3));
    return refused(
        error_code::unknown, field, typed,
        "a precision, such as bf16, fp16, fp32, fp8_e4m3, int8, nf4, q4_k, mxfp4, gptq_int4_g128 or exl2_4.25bpw");
}

}  // namespace llmres::inline v0
