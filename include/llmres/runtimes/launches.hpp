// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
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
inline constexpr std::array<std::string_view, 3> attention_code_names{"tuned", "flash_2", "flash_1"};

/// Weights of 4 bits that Marlin's kernels unpack a clock and multiprocessor (`runtime_launches::weights_a_clock`), by
/// what tokens take longer in a larger model of the same table: 14.0 (AWQ) and 15.3 (GPTQ) from Qwen2.5-14B to 32B
/// under vLLM 0.6.3 on A100, 11.8 (AWQ) from Qwen3-8B to 14B under SGLang 0.4.6 on H20.
inline constexpr double marlin_weights_a_clock = 13.5;

/// How a runtime launches the kernels of a step.
struct runtime_launches {
    /// Time in which the CPU issues the kernels of one layer's forward pass, one after another. The GPU waits where
    /// this takes longer than the kernels do. Zero: CUDA graphs, or a compiled program that issues them at once.
    interval<duration> layer{};
    /// The same where CUDA graphs do not serve: prompts, and sequences beyond `graph_context`. Zero: as `layer`.
    interval<duration> eager_layer{};
    /// Longer sequences are decoded without CUDA graphs; 0: none are.
    token_count graph_context{};
    /// What each product with a weight of fewer than 16 bits takes longer to issue than one with a wide weight: kernels
    /// that unpack it, quantise its input or sum its parts.
    interval<duration> narrow_product{};
    /// Time in which the CPU issues one routed expert, where the runtime loops over all of them.
    interval<duration> looped_expert{};
    /// Time of the scheduler, the sampler and Python between two steps of serving.
    interval<duration> step{};
    /// Time from a request to its first prompt token: tokenizer, queue, scheduler (serving).
    interval<duration> request{};
    /// The part of kernels' floors that remains in a step: less than all where a kernel starts while the one before it
    /// ends (CUDA graphs with programmatic dependent launches).
    double floors = 1.0;
    /// Elementwise kernels of a layer: norms, rotary embedding, activation, sums.
    double small_kernels = 6;
    attention_code attention = attention_code::tuned;  ///< of training
    /// Projections that share their input are one product: q, k and v; gate and up.
    bool joined = false;
    /// Gradients are exchanged while the backward pass goes on (DDP, FSDP; Megatron-Core's --overlap-grad-reduce, which
    /// is off by default).
    bool overlaps_gradients = true;
    /// All-reduces of one node are the runtime's own kernels, not NCCL's.
    bool own_all_reduce = false;
    /// Each step of serving copies the cache (torch.cat), and keys and values once for every query head that shares
    /// them (repeat_kv), and one block of attention reads all keys of a head.
    bool copies_cache = false;
    /// Time of prompts relative to what the constants of kernels say: least, expected, most.
    interval<double> prompts{1.0, 1.0, 1.0};
    /// Stages of a pipeline compute chunks of one prompt at the same time.
    bool pipelines_chunks = false;
    /// Bytes that matrix-vector products read a clock and multiprocessor at most; 0: what the memory gives.
    double bytes_a_clock = 0;
    /// Integer weights that matrix-vector products unpack a clock and multiprocessor at most; 0: what the memory gives.
    double weights_a_clock = 0;
    /// Casts to 8-bit floats are part of the kernel before them (vLLM: torch.compile joins them with norms and
    /// activations).
    bool joins_casts = false;
    /// On a data centre's Blackwell, routed experts are TensorRT-LLM's kernels, written for it (trtllm-gen,
    /// FlashInfer).
    bool blackwell_experts = false;
};

}  // namespace llmres::inline v0
