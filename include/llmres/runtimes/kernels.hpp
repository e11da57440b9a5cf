// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// How an engine writes the parts of a model, and how it keeps what it trains: all that memory shows of it.
/// A value of these belongs to a runtime profile (runtimes/*.hpp), which names the source of each choice.
namespace llmres::inline v0 {

enum class norm_code : std::uint8_t {
    eager,  ///< a handful of fp32 operations (Hugging Face): input in fp32, and the result that the weight multiplies
    fused,  ///< one kernel (Apex, Transformer Engine, Liger, torch.nn): input and statistics
};
enum class gate_code : std::uint8_t {
    eager,  ///< act(gate) is a tensor of its own
    fused,  ///< gate and up are kept, act(gate) is computed again
};
enum class loss_code : std::uint8_t {
    eager,                ///< logits, a copy in fp32, its log-softmax and its gradient
    eager_shifted,        ///< the same, with a shifted copy (transformers before 4.50)
    triton,               ///< one kernel over the shifted fp32 copy, which then holds its own gradient (Unsloth's, as
                          ///< fms-acceleration calls it)
    chunked,              ///< eager, over a part of the tokens at a time
    fused_linear,         ///< head and loss together, over a part of the tokens at a time (Liger): no logits
    vocabulary_parallel,  ///< Megatron-Core: fp32 logits on each tensor rank become their own gradient
    vocabulary_parallel_fused,  ///< the same compiled by PyTorch, which keeps the exponentials apart
    transformer_engine,  ///< one kernel over the 16-bit logits of each tensor rank (two copies: from B200 slopes)
    mean,  ///< of the fp32 logits, which the caller keeps to the end: what profilers differentiate in a loss's place
};
enum class linear_code : std::uint8_t {
    plain,               ///< a weight's gradient is a tensor
    accumulates,         ///< into the gradient buffer (Apex, Megatron-Core)
    accumulates_beside,  ///< the same, and a dummy of each weight's shape stays allocated (Transformer Engine)
};
/// How routed experts are computed: by transformers, and by torchtitan.
enum class expert_code : std::uint8_t {
    modules,     ///< each expert has linear layers of its own (4.x)
    loop,        ///< expert by expert, their weights stacked in one tensor (5.x: experts_implementation "eager")
    grouped,     ///< all in one grouped product (5.x: "grouped_mm")
    batched,     ///< all in one batched product, with a copy of the weights for each token ("batched_mm")
    dispatched,  ///< sorted, exchanged between ranks and back, in grouped products between (torchtitan, models/moe.py)
};
/// How Mamba 2's mixer is computed between its two projections.
enum class scan_code : std::uint8_t {
    plain,  ///< spelt out in PyTorch: transformers without the packages mamba-ssm and causal-conv1d
    fused,  ///< one operation of mamba-ssm from the convolution to the projection out: transformers where both are
            ///< installed
    fused_to_gate,  ///< the same to the gate; the norm and the projection out are operations of their own
                    ///< (Megatron-Core)
};
/// How linear layers of the layers compute in 8 bits (Transformer Engine's recipes): they keep 8-bit inputs, and 8-bit
/// copies of their weights as they are and transposed, from one micro-batch to the next.
enum class fp8_recipe : std::uint8_t {
    none,
    delayed,      ///< a scale a tensor, from the steps before
    tensorwise,   ///< ... from the tensor itself
    blockwise,    ///< an fp32 scale for each 128 values
    microscaled,  ///< an 8-bit scale for each 32: MXFP8
};
inline constexpr std::array<std::string_view, 5> fp8_recipe_names{"none", "delayed", "tensorwise", "blockwise",
                                                                  "mxfp8"};
constexpr std::string_view name_of(fp8_recipe r) { return fp8_recipe_names[static_cast<std::size_t>(r)]; }
inline constexpr std::array<std::string_view, 3> scan_code_names{"plain", "fused", "fused_to_gate"};
constexpr std::string_view name_of(scan_code c) { return scan_code_names[static_cast<std::size_t>(c)]; }
inline constexpr std::array<std::string_view, 9> loss_code_names{"eager",
                                                                 "eager_shifted",
                                                                 "triton",
                                                                 "chunked",
                                                                 "fused_linear",
                                                                 "vocabulary_parallel",
                                                                 "vocabulary_parallel_fused",
                                                                 "transformer_engine",
                                                                 "mean"};
constexpr std::string_view name_of(loss_code c) { return loss_code_names[static_cast<std::size_t>(c)]; }

enum class loss_compiling : std::uint8_t {
    never,
    chunked,  ///< each part's, but no other: what compile_loss returns is let go (torchtune,
              ///< recipes/full_finetune_single_device.py)
    any,
};

/// What recompute::selective computes again.
enum class selective_code : std::uint8_t {
    attention_core,        ///< scores and probabilities
    all_but_odd_products,  ///< keeps attention's output and the first, third, ... product of each layer (torchtitan's
                           ///< selective_ac_option "op")
    all_but_products,      ///< keeps attention's output and every product (torchtitan's graph_trainer, memory_policy
                           ///< "default")
};

/// The loss, from the logits to their gradient.
struct training_loss {
    loss_code code = loss_code::eager;
    /// `chunked`: parts.
    std::int32_t chunks = 8;
    /// The 16-bit logits stay beside the loss's fp32 copy of them (transformers since 4.46); else the copy takes their
    /// place.
    bool returns_logits = true;
    /// `eager` and `triton`: the loss is computed over the logits as they are, which stay until the step is done (the
    /// heads of GPT-2 and GPT-BigCode in transformers before 4.50; that they stay is from slopes).
    bool narrow = false;
    /// The 16-bit logits stay while the loss is differentiated.
    bool holds_logits = false;
    /// `fused_linear`: each part's gradient of the head is a tensor, and another in fp32, before it is added (Liger
    /// since 0.6.2, ops/fused_linear_cross_entropy.py; before: addmm in place).
    bool widens_head_gradient = false;
    friend constexpr bool operator==(const training_loss&, const training_loss&) = default;
};

/// What becomes of activations that are not kept until the backward pass: recomputed, or offloaded.
struct checkpointing {
    selective_code selective = selective_code::attention_core;
    /// Recomputation by product does not keep the output of cuDNN's attention (torchtitan before its #2095, 2025-12).
    bool recomputes_cudnn = false;
    /// Full recomputation by torch's reentrant checkpoint (transformers before 5), whose layers read a leaf each.
    /// FSDP1's hook that frees a frozen unit holds on to that leaf's gradient until the step's end
    /// (torch/distributed/fsdp/_runtime_utils.py, register_multi_grad_hook).
    bool reentrant = false;
    /// The checkpoint lies inside each unit (torch's apply_activation_checkpointing after wrapping), where the unit
    /// reads the output of the one before it, and no leaf.
    bool inside_units = false;
    /// Each saved tensor is offloaded as it is made and comes back for its operation
    /// (torch.autograd.graph.save_on_cpu); else layers are transferred while others are computed.
    bool offloads_at_once = false;
    friend constexpr bool operator==(const checkpointing&, const checkpointing&) = default;
};

/// What torch.compile compiles.
struct compilation {
    /// Each layer: norms and gates are one kernel each, and selective recomputation keeps no product that the backward
    /// pass does not read.
    bool layers = false;
    /// The loss, where layers are compiled.
    loss_compiling loss_with_layers = loss_compiling::never;
    /// The loss, `eager` or `chunked`, whatever the layers: logits and their gradient.
    bool loss = false;
    friend constexpr bool operator==(const compilation&, const compilation&) = default;
};

/// 8-bit training by Transformer Engine.
struct fp8_training {
    fp8_recipe recipe = fp8_recipe::none;
    /// The 8-bit copies are the weights: there are no wider ones but the optimizer's (fp8-param-gather).
    bool param_gather = false;
    friend constexpr bool operator==(const fp8_training&, const fp8_training&) = default;
};

/// How training computes a model's modules. The defaults are those of Hugging Face's modules under PyTorch.
struct training_kernels {
    norm_code norm = norm_code::eager;
    gate_code gate = gate_code::eager;
    training_loss loss{};
    linear_code linear = linear_code::plain;
    expert_code experts = expert_code::modules;
    scan_code scan = scan_code::plain;
    /// Routed experts without a gate multiply their activation by the router's weight in one kernel (Megatron-Core,
    /// core/fusions/fused_weighted_squared_relu.py).
    bool use_fused_weighted_squared_relu = false;
    /// One product makes queries, keys and values, whatever the model's own code; adapters of some of them keep what
    /// they add in its place (lit-gpt: LoRAQKVLinear, an index_copy).
    bool joined_heads = false;
    /// sdpa reads keys and values of grouped queries without a copy for every query head.
    bool shared_heads = true;
    /// Narrower computation casts weights at each operation (autocast), not by a narrower copy.
    bool casts_weights = true;
    /// Column-parallel products keep what they gathered of the sequence, not their own part.
    bool keeps_gathered_inputs = false;
    /// Adapters are fp32 beside a narrower base (PEFT).
    bool fp32_adapters = true;
    /// Embedding, norms and head are fp32 beside 4-bit weights under adapters, unless ZeRO 3 shards them (peft's
    /// prepare_model_for_kbit_training; trl leaves a sharded model as it is).
    bool fp32_stream = false;
    /// 4-bit products save their input, though the weight alone is needed (bitsandbytes before 0.43.2, its pull request
    /// 1270).
    bool four_bit_keeps_inputs = false;
    llmres::compilation compilation{};
    fp8_training fp8{};
    llmres::checkpointing checkpointing{};

    constexpr bool fuses_norms() const { return norm == norm_code::fused || compilation.layers; }
    constexpr bool fuses_gates() const { return gate == gate_code::fused || compilation.layers; }
    constexpr bool fuses_loss() const {
        const loss_compiling with = compilation.loss_with_layers;
        const bool with_layers =
            with == loss_compiling::any || (with == loss_compiling::chunked && loss.code == loss_code::chunked);
        return compilation.loss || (compilation.layers && with_layers);
    }

    friend constexpr bool operator==(const training_kernels&, const training_kernels&) = default;
};

}  // namespace llmres::inline v0
