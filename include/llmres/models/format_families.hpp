// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Formats of weights in families that runtimes support together, and the tools whose checkpoints name a format of the
/// cache.
namespace llmres::inline v0 {

/// Formats that runtimes support together.
enum class format_family : std::uint8_t {
    plain,            ///< floating point of 16 bits and more: every runtime loads it
    eight_bit_float,  ///< fp8
    eight_bit,        ///< int8
    microscaling,     ///< MXFP4, MXFP8, NVFP4
    gptq_words,       ///< GPTQ's, packed into words
    awq_words,        ///< AWQ's, packed into words
    packed,           ///< compressed-tensors' packed integers
    bitsandbytes,     ///< NF4, FP4, and bitsandbytes' 8 bits
    gguf,             ///< GGUF types of llama.cpp
    gguf_ik,          ///< GGUF types of ik_llama.cpp
    exllama2,         ///< EXL2
    exllama3,         ///< EXL3
    half_quadratic,   ///< HQQ
    mlx,              ///< MLX's groups
};

/// Tools that calibrate a cache of fewer bits and name its format in the quantization_config.
enum class cache_calibrator : std::uint8_t {
    none,                ///< none did: the cache has the format of the computation
    modelopt,            ///< NVIDIA's ModelOpt (kv_cache_quant_algo, kv_cache_scheme)
    compressed_tensors,  ///< llm-compressor (kv_cache_scheme)
};

/// The family of a format.
constexpr format_family family_of(const precision& format) {
    if (is_wide(format)) return format_family::plain;  // most are, and need no name read
    struct beginning {
        std::string_view begins;
        format_family family;
    };
    constexpr std::array known{beginning{"fp8", format_family::eight_bit_float},
                               beginning{"int8", format_family::eight_bit},
                               beginning{"mxfp4_gguf", format_family::gguf},
                               beginning{"nvfp4_gguf", format_family::gguf},
                               beginning{"mxfp", format_family::microscaling},
                               beginning{"nvfp4", format_family::microscaling},
                               beginning{"gptq", format_family::gptq_words},
                               beginning{"awq", format_family::awq_words},
                               beginning{"packed", format_family::packed},
                               beginning{"bnb", format_family::bitsandbytes},
                               beginning{"nf4", format_family::bitsandbytes},
                               beginning{"fp4", format_family::bitsandbytes},
                               beginning{"exl2", format_family::exllama2},
                               beginning{"exl3", format_family::exllama3},
                               beginning{"hqq", format_family::half_quadratic},
                               beginning{"mlx", format_family::mlx},
                               beginning{"iq", format_family::gguf},
                               beginning{"q", format_family::gguf},
                               beginning{"tq", format_family::gguf}};
    const text<31>& name = format.name;
    const auto ends_as_ik = [&] { return name.view().substr(3, 2) == "_k" || name.view().ends_with("_r4"); };
    if (name == "q6_0" || (name.starts_with("iq") && ends_as_ik())) return format_family::gguf_ik;
    for (const beginning& p : known)
        if (name.starts_with(p.begins)) return p.family;
    return format_family::plain;
}

/// What weights are stored as: the name that a person gave it, and its family. A GGUF file has a type for each tensor,
/// and counts as one format of that name.
struct stored_format {
    text<31> name{"gguf"};                       ///< "nf4"
    format_family family = format_family::gguf;  ///< the family that a runtime supports or not

    /// Of a number format.
    constexpr explicit stored_format(const precision& format) : name(format.name.view()), family(family_of(format)) {}
    /// Of a GGUF file.
    static constexpr stored_format gguf_file() { return {}; }

private:
    constexpr stored_format() = default;
};

/// The families whose formats a runtime has kernels for. Plain formats are always among them.
struct format_set {
    std::uint32_t bits = 0;  ///< one bit for each family

    /// Plain formats alone.
    constexpr format_set() = default;
    /// These families.
    constexpr format_set(std::initializer_list<format_family> families) {
        for (const format_family f : families) bits |= std::uint32_t{1} << static_cast<unsigned>(f);
    }
    /// Whether a family is in the set.
    constexpr bool contains(format_family f) const {
        return f == format_family::plain || (bits >> static_cast<unsigned>(f) & 1u) != 0;
    }
    /// These families without some of them.
    constexpr format_set without(const format_set& others) const {
        format_set left = *this;
        left.bits &= ~others.bits;
        return left;
    }
    friend constexpr bool operator==(const format_set&, const format_set&) = default;
};

/// Every family: that of profiles that describe no loader of checkpoints.
inline constexpr format_set all_formats{format_family::eight_bit_float,
                                        format_family::eight_bit,
                                        format_family::microscaling,
                                        format_family::gptq_words,
                                        format_family::awq_words,
                                        format_family::packed,
                                        format_family::bitsandbytes,
                                        format_family::gguf,
                                        format_family::gguf_ik,
                                        format_family::exllama2,
                                        format_family::exllama3,
                                        format_family::half_quadratic,
                                        format_family::mlx};

/// A format of each family of a set, to name what may be asked for: "bf16, mxfp4, mlx_int4_g64".
constexpr text<191> examples_of(const format_set& formats);

// ---- detail ---------------------------------------------------------------------------------------------------------

constexpr text<191> examples_of(const format_set& formats) {
    struct example {
        format_family family;
        std::string_view format;
    };
    constexpr std::array known{example{format_family::eight_bit_float, "fp8_e4m3"},
                               example{format_family::eight_bit, "int8"},
                               example{format_family::microscaling, "mxfp4"},
                               example{format_family::gptq_words, "gptq_int4_g128"},
                               example{format_family::awq_words, "awq_int4_g128"},
                               example{format_family::packed, "packed_int4_g128"},
                               example{format_family::bitsandbytes, "nf4"},
                               example{format_family::gguf, "q4_k_m"},
                               example{format_family::gguf_ik, "iq4_k"},
                               example{format_family::exllama2, "exl2_4bpw"},
                               example{format_family::exllama3, "exl3_4bpw"},
                               example{format_family::half_quadratic, "hqq_int4_g64"},
                               example{format_family::mlx, "mlx_int4_g64"}};
    text<191> names{"bf16"};
    for (const example& e : known) {
        if (!formats.contains(e.family)) continue;
        names.append(", ");
        names.append(e.format);
    }
    return names;
}

}  // namespace llmres::inline v0
