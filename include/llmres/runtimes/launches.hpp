// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What a runtime's CPU side takes while the GPU computes, and which kernels it joins.
namespace llmres::inline v0 {

/// Whose kernels compute fused attention.
enum class attention_code : std::uint8_t {
    tuned,    ///< written for each architecture (cuDNN, Transformer Engine, FlashAttention 3, FlashInfer)
    flash_2,  ///< FlashAttention 2, which has no instructions of Hopper
    flash_1,  ///< FlashAttention 1 and its Triton version
};

/// The names of attention kernels, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<attention_code>{"tuned", "flash_2", "flash_1"};

/// Whose kernels multiply by weights that are stored as integers.
enum class packed_code : std::uint8_t {
    streamed,  ///< kernels that the memory alone limits
    simple,    ///< AutoGPTQ's, AutoAWQ's and ExLlama's, which unpack weights in CUDA cores
    marlin,    ///< Marlin's, which unpack them for the tensor cores
    /// ggml's, which multiply them as they are: a product of few tokens by CUDA cores, else tiles of them by tensor
    /// cores in int8 (ggml-cuda's mmvq and mmq), where the GPU has these.
    ggml,
    /// ggml's until June 2024: weights that many tokens pass are written in 16 bits first, and multiplied by cuBLAS.
    dequantised,
};

/// The names of these kernels, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<packed_code>{"streamed", "simple", "marlin", "ggml",
                                                                       "dequantised"};

/// Whose kernels compute routed experts.
enum class routed_code : std::uint8_t {
    grouped,    ///< one kernel for all experts
    blackwell,  ///< on a data centre's Blackwell TensorRT-LLM's, written for it (trtllm-gen, FlashInfer); else grouped
    /// Integer weights: a kernel for each expert, chosen by a token or not (vLLM's csrc/moe/marlin_moe_ops.cu, up to
    /// 0.8.4: marlin_mm_moe() loops over all experts); else grouped.
    each,
    /// Experts of few tokens are products of a matrix and a vector each, those of many one product of sorted tokens as
    /// fast as any (MLX's quantized.cpp, GatherQMM: gather_qmv, gather_qmm_rhs).
    gathered,
};

/// The names of these kernels, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<routed_code>{"grouped", "blackwell", "each", "gathered"};

/// Work that the stages of a pipeline do at the same time when serving.
enum class stage_overlap : std::uint8_t {
    none,       ///< nothing: a batch passes one stage after the other, and each waits for the others
    chunks,     ///< chunks of one prompt; tokens are generated as with `none`
    sequences,  ///< as many batches of different sequences as there are stages
    both,       ///< such batches, and chunks of one prompt
};

/// The names of these ways, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<stage_overlap>{"none", "chunks", "sequences", "both"};

/// How a runtime launches the kernels of a step.
struct runtime_launches {
    /// Time in which the CPU issues the kernels of one layer's forward pass; 0: CUDA graphs or a compiled program. The
    /// GPU waits where this takes longer than the kernels do.
    interval<duration> layer{};
    /// Time in which the CPU issues the kernels of one layer where CUDA graphs do not serve: prompts, and sequences
    /// beyond `graph_context`; 0: as layer.
    interval<duration> eager_layer{};
    token_count graph_context{};  ///< Tokens beyond which sequences are decoded without CUDA graphs; 0: none are.
    /// Time that a product with a weight of fewer than 16 bits takes longer to issue than one with a wide weight:
    /// kernels that unpack it, quantise its input or sum its parts.
    interval<duration> narrow_product{};
    /// Time in which the CPU issues one routed expert, where it loops over all of them.
    interval<duration> looped_expert{};
    interval<duration> step{};     ///< Time of scheduler, sampler and Python between two steps of serving.
    interval<duration> request{};  ///< Time from a request to its first prompt token: tokenizer, queue, scheduler.
    /// The part of kernels' floors that remains in a step: less than all where a kernel starts while the one before it
    /// ends. Unit: part of one. (CUDA graphs with programmatic dependent launches.)
    double floors = 1.0;
    /// Elementwise kernels of a layer: norms, rotary embedding, activation, sums. Unit: kernels.
    double small_kernels = 6;
    attention_code attention = attention_code::tuned;  ///< Whose kernels compute fused attention in training.
    bool joined = false;  ///< Projections that share their input are one product: q, k and v; gate and up.
    /// Gradients are exchanged while the backward pass goes on. (DDP, FSDP; Megatron-Core's --overlap-grad-reduce,
    /// which is off by default.)
    bool overlaps_gradients = true;
    bool own_all_reduce = false;  ///< All-reduces of one node are the runtime's own kernels, not NCCL's.
    /// Each step of serving copies the cache (torch.cat), and keys and values once for every query head that shares
    /// them (repeat_kv), and one block of attention reads all keys of a head.
    bool copies_cache = false;
    /// Time of prompts relative to what the constants of kernels say: least, expected, most. Unit: ratio.
    interval<double> prompts{1.0, 1.0, 1.0};
    /// Work that the stages of a pipeline do at the same time when serving.
    stage_overlap stages = stage_overlap::none;
    /// Bytes that matrix-vector products read a clock and multiprocessor at most; 0: what the memory gives. Unit: bytes
    /// a clock and multiprocessor.
    double bytes_a_clock = 0;
    packed_code packed = packed_code::streamed;  ///< Whose kernels multiply by weights that are stored as integers.
    /// Casts to 8-bit floats are part of the kernel before them. (vLLM: torch.compile joins them with norms and
    /// activations.)
    bool joins_casts = false;
    routed_code experts = routed_code::grouped;  ///< Whose kernels compute routed experts.
};

}  // namespace llmres::inline v0
