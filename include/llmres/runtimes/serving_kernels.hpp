// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How a runtime computes layers when serving: what its kernels keep alive beside the inventory of
/// inventory/activation.hpp.
namespace llmres::inline v0 {

/// GPUs on which sparse latent attention caches 8-bit latents with an fp32 scale for each 128 values and the rotary
/// part in 16 bits: 656 bytes for DeepSeek-V3.2's 576 values.
enum class scaled_latents : std::uint8_t {
    nowhere,    ///< none: values alone
    on_hopper,  ///< NVIDIA's before Blackwell, whose kernels are TensorRT-LLM's (SGLang from 0.5.10 on)
    anywhere,   ///< all (SGLang 0.5.5 to 0.5.9, vLLM)
};

/// Reading of caches by multi-head latent attention, and by attention with compressed keys.
struct latent_kernels {
    /// Queries and outputs are made as wide as the latent, which is read as it is cached. (ggml.)
    bool absorbed = false;
    /// Keys and values of the whole context are expanded in groups of heads of at most this size; 0: not.
    byte_count expanded{};
    bool expands_all = false;  ///< All groups are expanded before the first of them is read.
    /// Without flash attention scores are computed in groups of heads of at most this size; 0: of all heads.
    byte_count scores{};
    /// Without flash attention: values are read transposed, from a 16-bit copy that each layer makes of them.
    bool copies_values = false;
    /// GPUs whose sparse attention reads 8-bit latents with scales.
    scaled_latents scaled = scaled_latents::nowhere;
    /// Attention with compressed keys reads a cache in 8 bits alone, and does not start with another.
    bool compressed_in_fp8 = false;
    /// Tokens of which a block of the cache is a multiple where an indexer picks them; half as many on datacenter
    /// Blackwell; 0: of any. (NVIDIA's GPUs.)
    token_count sparse_block{};
    bool not_in_nvfp4 = false;  ///< Does not start with latents in NVFP4.
};

/// How a version of llama.cpp writes the graph of a step, whose tensors ggml lays out in a buffer at start.
struct ggml_graphs {
    /// The buffer is laid out tensor by tensor, each in the hole that fits it (ggml-alloc.c); else the fuller half of a
    /// layer is its peak.
    bool laid_out = false;
    /// A feed-forward's gate times its product is a tensor beside both. (GGML_OP_GLU, pull request 14158.)
    bool gated_apart = false;
    /// Without flash attention, values are written cell by cell, with an index of 8 bytes for each. (pull request
    /// 14959.)
    bool value_rows = false;
    /// With flash attention, masks are 16-bit inputs; else fp32 ones that a layer casts.
    bool narrow_masks = false;
    /// Queries, keys, values and output are multiplied by a rotation where the cache is quantised.
    bool rotates_quantised = false;
    bool all_states = false;     ///< Recurrent states of all slots pass the graph, else one's.
    bool copies_states = false;  ///< Recurrent states are copied before they are read. (b5353; no longer by b6900.)
    /// Values are made before keys, and queries in the latent's width before rotary ones.
    bool values_first = false;
    /// Inputs of the hidden width that are there beside the stream where the embedding is looked up on this device:
    /// none, embeddings given instead of tokens, or those and their mixture with tokens. Unit: vectors a token.
    std::int32_t inputs_of_embedding = 0;
    /// Tokens that a cache block holds at least with flash attention. (llama_kv_cache::get_padding().)
    token_count flash_block{};
};

/// What a runtime does where it serves in bf16 on a GPU that has no bf16 arithmetic and has that of fp16.
enum class bf16_code : std::uint8_t {
    converts,    ///< each product converts its inputs to a wider format
    takes_fp16,  ///< it computes in fp16, whatever it was asked for
    refuses,     ///< it computes in fp16 unless it was asked for bf16, with which it does not start
};
/// The names of these ways, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<bf16_code>{"converts", "takes_fp16", "refuses"};

/// What serving keeps alive in a layer.
struct serving_kernels {
    bool fp32_activations = false;  ///< Activations are fp32 whatever the format of weights. (ggml.)
    /// Keys and values are written straight to the cache, and products over their factors. (ggml.)
    bool written_in_place = false;
    ggml_graphs graph{};             ///< How the buffers of ggml's graphs are laid out.
    bool output_over_query = false;  ///< Attention's output takes the place of its queries.
    bool attention_mask = false;     ///< A mask of tokens x context: fp32, or 16 bits with flash attention. (ggml.)
    maybe<bool> flash_attention{};   ///< Overrides the job's attention; null: as the job says.
    latent_kernels latent{};         ///< Multi-head latent attention.
    std::int32_t more_hidden = 0;    ///< Vectors of the hidden width beside the inventory's. Unit: vectors a token.
    /// Rows from which on a product's weights are dequantised to a buffer first; null: never. Unit: rows. One matrix at
    /// a time, the head included, is dequantised to 16 bits into a buffer of its own (ExLlama).
    maybe<std::int32_t> dequantised_from{};
    /// Bytes of each attention score (pair of tokens and head), where attention is eager. Unit: bytes a score.
    std::int32_t score_bytes = 4;
    /// With flash attention, a tensor of the last layer's feed-forward may lie in the graph's buffer while logits are
    /// computed. (ggml: GLM-4, to 0.01 MiB.)
    bool feed_forward_under_logits = false;
    /// Buffers of routed experts stay allocated while logits are computed. (vLLM's WorkspaceManager.)
    bool keeps_expert_scratch = false;
    /// Where weights and activations are int8, the 8-bit copy of a product's input is a tensor beside it.
    bool copies_int8 = false;
    /// Weights of an fp32 checkpoint are loaded in the format that it computes in, where nobody names theirs. (vLLM,
    /// SGLang, LMDeploy, TGI: `--dtype`, where `auto` is 16 bits.)
    bool loads_in_compute = false;
    bf16_code without_bf16 = bf16_code::converts;  ///< What it does with bf16 on a GPU that has no bf16 arithmetic.
    /// Prompts pass attention with heads wider than this in scores that lie in memory; 0: heads of any width are fused.
    /// Unit: features.
    std::int32_t widest_fused_head = 0;
};

/// True if a product of that many rows reads a matrix that was dequantised before it.
constexpr bool dequantises(const serving_kernels& k, std::int64_t rows) {
    return k.dequantised_from && rows >= *k.dequantised_from;
}

}  // namespace llmres::inline v0
