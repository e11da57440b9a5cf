// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/models/format_families.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// How a runtime holds a model's weights once they are loaded: fused, repacked, twice, or on the host.
namespace llmres::inline v0 {

/// Tables of rotary positions that stay on the GPU, in 16 bits where nothing else is said.
enum class rope_tables : std::uint8_t {
    computed,  ///< none: computed anew in each step
    shared,    ///< one for the model, cosines and sines of half a head's width each (vLLM)
    own,       ///< one for every layer, both of the whole width (transformers to 4.44)
    cached,    ///< one for every layer, complex numbers of two fp32, for twice the tokens its cache has room for
               ///< (AutoAWQ)
};

/// Tensors in which a layer's projections lie.
enum class projection_tensors : std::uint8_t {
    separate,  ///< as the checkpoint stores them
    fused,   ///< queries, keys and values are one tensor, gate and up another (vLLM, SGLang): an allocator that rounds
             ///< to segments rounds the whole
    joined,  ///< queries, keys and values are copied into a new tensor, the old ones freed when all are (AutoAWQ)
};

/// Routed experts whose weights lie on the host.
struct host_experts {
    bool copied = false;  ///< In steps of 32 tokens and more, one stack of experts at a time is copied to the GPU.
    bool copied_by_expert = false;  ///< That limit is 32 tokens for each expert.
    /// Gate and up are one operation: two stacks at a time, or none. (ik_llama.cpp: -fmoe.)
    bool fused_gates = false;
};

/// Routed experts in MXFP4.
struct mxfp4_experts {
    bool scales_again = false;  ///< Scales are kept beside those that were put into the kernels' order.
    bool padded = false;        ///< Experts are padded to 128 inner and 256 outer features, where kernels ask for it.
    /// Values are padded to 128 inner and 64 outer features for kernels on Hopper. (triton_kernels 3.6,
    /// hopper_value.py: swizzle_data.)
    bool pads_values = false;
};

/// Formats of the cache.
struct cache_formats {
    /// Families of formats that the cache may be in (detail::cache_families has those of each); 16 bits and more
    /// always.
    format_set formats = all_formats;
    /// Without flash attention values are cached in 16 bits and more alone. (llama.cpp: llama_init_from_model().)
    bool narrow_values_by_flash = false;
};

/// In which formats training loads models where the format of the checkpoint is not all that decides.
struct loaded_for_training {
    /// A 16-bit checkpoint that is fine-tuned is loaded in fp32 where nobody names a format. (transformers before 5.0,
    /// modeling_utils.py: from_pretrained() without a dtype takes PyTorch's default.)
    bool fp32_unasked = false;
    /// A reference that answers are held against keeps the checkpoint's format, whatever trained weights are widened
    /// to. (LLaMA-Factory 0.9.5, model/loader.py: torch_dtype "auto"; model/adapter.py widens what is trained.)
    bool published_reference = false;
};

/// What reads or changes a model's embedding and head, beside its layers.
struct ends_in_use {
    /// Layers that predict further tokens read them, of which the checkpoint has copies for these layers. (vLLM:
    /// _maybe_share_embeddings() and _maybe_share_lm_head().)
    bool by_predictions = false;
    /// Resident LoRA adapters have slots there, of models whose code in vLLM names these (embedding_modules).
    bool by_adapters = false;
    /// Every stage of a pipeline has them, of models whose code in vLLM does not ask which stage it is.
    bool by_every_stage = false;
};

/// How loaded weights are held, and in which formats a cache may be.
struct runtime_loading {
    format_set formats = all_formats;  ///< Families of formats that checkpoints may be in; 16 bits and more always.
    cache_formats caches{};            ///< Formats that the cache may be in.
    rope_tables rope = rope_tables::computed;  ///< Tables of rotary positions that stay on the GPU.
    bool embedding_on_host = false;            ///< The token embedding is read from main memory.
    /// Weights that stay on the host are pages of the file itself. (llama.cpp: mmap.) Where main memory is short, the
    /// kernel drops them and reads them again at each token.
    bool maps_weights = false;
    llmres::host_experts host_experts{};  ///< Routed experts on the host.
    /// Quantised checkpoints of models with tied embeddings may hold the head beside the embedding; FP8 ones do.
    bool head_again = false;
    llmres::mxfp4_experts mxfp4{};                                  ///< Routed experts in MXFP4.
    projection_tensors projections = projection_tensors::separate;  ///< Tensors in which a layer's projections lie.
    /// The part of quantised weights that kernels may hold a second time, fused or in another order. Unit: part of one.
    double repacked = 0.0;
    /// Each stage of a pipeline has vision and audio towers, though the first stage alone computes them.
    bool towers_everywhere = false;
    llmres::ends_in_use ends{};  ///< What else reads or changes embedding and head.
    /// Layers and context that nobody set are chosen so that they fit free memory. (llama.cpp: `--fit`.)
    bool fits_memory = false;
    /// Weights whose format nobody names are fetched as a quantised GGUF file. (llama.cpp's `-hf`, Ollama's library:
    /// Q4_K_M.)
    bool fetches_quantised = false;
    loaded_for_training training{};  ///< Formats in which models are loaded that are trained, or beside them.
    /// Of the layers on GPUs the head is the first; else it comes to a GPU when all layers are there. (llama.cpp until
    /// pull request 18148 of December 2025.)
    bool head_first = false;
    /// The last tool whose format of the cache is followed where nobody names one; those before it are, too. Latent
    /// attention's cache follows ModelOpt's alone.
    cache_calibrator calibrated = cache_calibrator::none;
    /// Names of models are those of its own library, where one without a tag is that of the tag latest. Its files have
    /// a vision tower among their tensors, so that it is loaded whether or not prompts have images. (Ollama.)
    bool own_library = false;
};

/// True if weights of that family's formats can be loaded.
constexpr bool loads(const runtime_loading& r, format_family family) { return r.formats.contains(family); }

namespace detail {

/// Formats of a family that engines keep caches in, with blanks between them.
struct cache_family {
    format_family family;
    std::string_view formats;
};
/// Every family with such formats: floating point and integers of 4 and 8 bits, with a scale and a zero a vector or
/// none, NVFP4, of GGUF's types those that llama.cpp takes (common/arg.cpp: kv_cache_types) and ik_llama.cpp's Q6_0,
/// and groups of MLX, of any size.
inline constexpr std::array cache_families{
    cache_family{format_family::plain, "fp16 bf16 fp32"},
    cache_family{format_family::eight_bit_float, "fp8_e4m3 fp8_e5m2"},
    cache_family{format_family::eight_bit, "int8 int4 int8_row int4_row fp8_row"},
    cache_family{format_family::microscaling, "nvfp4"},
    cache_family{format_family::gguf, "q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl"},
    cache_family{format_family::gguf_ik, "q6_0"},
    cache_family{format_family::mlx, "mlx_int8_g64 mlx_int4_g64"},
};

}  // namespace detail

/// Whether a cache may be in a format under a runtime.
constexpr bool caches_in(const runtime_loading& r, const precision& format) {
    if (r.caches.formats == all_formats || is_wide(format)) return true;
    for (const detail::cache_family& known : detail::cache_families) {
        if (!r.caches.formats.contains(known.family)) continue;
        if (known.family == format_family::mlx && family_of(format) == known.family) return true;
        for (std::string_view rest = known.formats; !rest.empty();)
            if (detail::taken_before(rest, " ") == format.name) return true;
    }
    return false;
}

/// The formats that a runtime's cache may be in: "fp16, bf16, fp32, fp8_e4m3, fp8_e5m2".
constexpr text<191> cache_examples_of(const runtime_loading& r) {
    text<191> names;
    for (const detail::cache_family& known : detail::cache_families)
        for (std::string_view rest = r.caches.formats.contains(known.family) ? known.formats : ""; !rest.empty();) {
            if (!names.empty()) names.append(", ");
            names.append(detail::taken_before(rest, " "));
        }
    return names;
}

}  // namespace llmres::inline v0
