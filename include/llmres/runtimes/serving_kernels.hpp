// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// How a runtime computes layers when serving: what its kernels keep alive beside the inventory of
/// inventory/activation.hpp.
namespace llmres::inline v0 {

/// How multi-head latent attention reads its cache.
struct latent_kernels {
    /// As it is: queries and outputs are made as wide as the latent (ggml).
    bool absorbed = false;
    /// Keys and values of the whole context are expanded, in groups of heads of at most this size in fp32; 0: not.
    byte_count expanded{};
    /// All groups are expanded before the first of them is read.
    bool expands_all = false;
};

/// What serving keeps alive in a layer.
struct serving_kernels {
    /// Activations are fp32 whatever the format of weights (ggml).
    bool fp32_activations = false;
    /// Keys and values are written straight to the cache, and products over their factors (ggml).
    bool written_in_place = false;
    /// The step's tensors lie in the graph's order, each in the hole that fits it (ggml-alloc.c); else the fuller half
    /// of a layer is the peak.
    bool laid_out = false;
    /// Attention's output takes the place of its queries.
    bool output_over_query = false;
    /// A mask of tokens x context: fp32, or 16 bits with flash attention (ggml).
    bool attention_mask = false;
    /// Overrides the job's `attention`.
    maybe<bool> flash_attention{};
    latent_kernels latent{};  ///< multi-head latent attention
    /// Vectors of the hidden width beside the inventory's.
    std::int32_t more_hidden = 0;
    /// Where that many rows or more are multiplied at once, one matrix at a time, the head included, is dequantised to
    /// 16 bits into a buffer of its own (ExLlama); empty: none is.
    maybe<std::int32_t> dequantised_from{};
    /// Bytes of each attention score (pair of tokens and head), where attention is eager.
    std::int32_t score_bytes = 4;
    /// With flash attention, a tensor of the last layer's feed-forward may lie in the graph's buffer while logits are
    /// computed (ggml: GLM-4, to 0.01 MiB).
    bool feed_forward_under_logits = false;
    /// Buffers of routed experts stay allocated while logits are computed (vLLM's WorkspaceManager).
    bool keeps_expert_scratch = false;
};

/// True if a product of that many rows reads a matrix that was dequantised before it.
constexpr bool dequantises(const serving_kernels& k, std::int64_t rows) {
    return k.dequantised_from && rows >= *k.dequantised_from;
}

}  // namespace llmres::inline v0
