// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/precision.hpp>
#include <optional>
#include <string>
#include <utility>

#include "../words.hpp"

/// The number formats of measured serving memory, as people write them.
namespace serving {

using namespace llmres;
using namespace words;

/// A format of all matrices, or a recipe of llama.cpp's; neither where it is one that the library does not know.
struct weights_format {
    std::optional<precision> plain;
    std::optional<gguf_mix> mix;
};

/// `groups_swapped`: the table has groups of 32 and of 128 the wrong way round.
inline weights_format format_of(const std::string& quant, const std::string& engine, bool groups_swapped = false);

/// The cache's format; what is computed in where none is named.
inline precision cache_format(const std::string& written, const precision& compute) {
    const std::string first = written.substr(0, written.find('/'));
    if (has(written, "fp8") && !has(written, "fp16")) return fp8_e4m3;
    if (first == "q8_0") return q8_0;
    if (first == "q4_0") return q4_0;
    if (first == "iq4_nl") return iq4_nl;
    if (first.starts_with("int8 ")) return int8_row;
    if (first == "f16" || first == "fp16") return fp16;
    return compute;
}

/// "Q4_K - Medium" and "Q4_K_M.gguf" are "Q4_K_M".
inline std::optional<gguf_mix> mix_of(std::string n) {
    if (n.starts_with("GGUF ")) n.erase(0, 5);
    for (const auto& [word, letter] :
         {std::pair{" - Medium", "_M"}, std::pair{" - Small", "_S"}, std::pair{" - Large", "_L"}})
        if (const auto at = n.find(word); at != std::string::npos) n = n.substr(0, at) + letter;
    n = n.substr(0, n.find(' '));
    n = n.substr(0, n.find('.'));
    const auto found = find_gguf_mix("quant", n);
    if (!found) return {};
    return *found;
}

/// What llama.cpp and its kin load.
inline weights_format gguf_format(const std::string& quant) {
    const std::string q = lower(quant);
    if (q == "int8") return {{}, mix_of("Q8_0")};
    if (q == "int4") return {{}, mix_of("Q4_K_M")};
    if (const auto mix = mix_of(quant)) return {{}, mix};
    // "GGUF IQ4_K_R4 - 4.5 bpw": recipes of people, whose matrices are mostly of that type.
    const auto named = find_precision("quant", q.substr(q.find(' ') + 1, q.find(" -") - q.find(' ') - 1));
    return {named ? std::optional<precision>{*named} : std::nullopt, {}};
}

/// MLX's values, and a 16-bit scale and bias a group (mlx.core.quantize).
inline precision mlx_format(const std::string& q) {
    const std::int32_t bits_each = static_cast<std::int32_t>(whole(q.substr(5)).value_or(4));
    const std::int32_t each = has(q, "g32") ? 32 : 64;
    return {"mlx", arithmetic_kind::fp16, {{{1, each, each * bits_each / 8 + 4}}}};
}

inline weights_format format_of(const std::string& quant, const std::string& engine, bool groups_swapped) {
    const std::string q = lower(quant);
    const auto is = [&](const char* part) { return has(q, part); };
    const bool of_ggml = has(engine, "llama") || has(engine, "ctransformers");
    const bool of_exllama = has(engine, "exllama");
    if (of_ggml && !of_exllama && !has(engine, "GPTQ")) return gguf_format(quant);
    const bool small_groups = (is("g32") || is("32g")) != groups_swapped;
    const std::int32_t group = is("no-group") ? whole_row : small_groups ? 32 : 128;
    if (is("gguf")) return {{}, mix_of(quant)};
    if (is("bf16") || is("fp16")) return {is("fp16") ? fp16 : bf16, {}};
    if (is("fp32")) return {fp32, {}};
    if (is("gptq") && is("int8")) return {gptq(8, 128), {}};
    if (is("gptq 3-bit")) return {gptq(3, group), {}};
    if (is("gptq")) return {gptq(is("8-bit") ? 8 : 4, group), {}};
    if (is("awq")) return {awq(4, 128), {}};
    if (is("exl2")) return {exl2(static_cast<std::int32_t>(1000 * number(q.substr(5)).value_or(4))), {}};
    if (is("mlx q")) return {mlx_format(q), {}};
    if (is("double_quant")) return {nf4_double, {}};
    if (is("nf4") || is("bnb 4") || (is("int4") && is("bnb"))) return {nf4, {}};
    if (is("fp4") && !is("mxfp4")) return {fp4, {}};
    if (is("mxfp4")) return {mxfp4, {}};
    if (is("fp8 block")) return {fp8_block, {}};
    if (is("fp8-dynamic")) return {fp8_channel, {}};
    if (is("fp8")) return {has(engine, "HF") ? fp8_block : fp8_tensor, {}};
    if (is("w8a8") || (is("int8") && !of_exllama)) return {int8_channel, {}};
    if (is("int4")) return {of_exllama ? exl2(4250) : awq(4, 128), {}};
    if (is("int8")) return {exl2(8000), {}};  // ExLlama alone is left
    return {};
}

}  // namespace serving
