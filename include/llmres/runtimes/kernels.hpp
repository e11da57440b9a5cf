// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <string_view>

/// How training computes a model's modules, as far as memory shows it: which kernels are fused, what they save for the
/// backward pass, what is recomputed, compiled, or in 8 bits. Profiles (runtimes/NAME.hpp) name the source of each
/// choice.
namespace llmres::inline v0 {

/// Whose code a model's modules are.
enum class module_code : std::uint8_t {
    /// Hugging Face's, as models/families.hpp describes them. Flash attention of one row asks the GPU whether its
    /// positions are those of several samples, and the host waits for the answer in each layer
    /// (modeling_flash_attention_utils.py, _is_packed_sequence).
    transformers,
    /// The runtime's. An activation is one kernel, torch.nn.functional.gelu whether it approximates by a tanh or not,
    /// where transformers' code composes it of products.
    own,
};

/// How norms are computed.
enum class norm_code : std::uint8_t {
    eager,  ///< a handful of fp32 operations (Hugging Face), which save the input in fp32 and the factor of the weight
    fused,  ///< one kernel (Apex, Transformer Engine, Liger, torch.nn), which saves the input and its statistics
};

/// Kernels of adapters beside the frozen products of their layers.
enum class adapter_code : std::uint8_t {
    modules,  ///< dropout and two products of their own (PEFT)
    /// One function with the layers' products, which saves its input and what dropout leaves of it, but no mask
    /// (fms-acceleration, fused_ops/unsloth_lora/gptq/fast_lora.py and bnb/fast_lora.py: LoRA_QKV, LoRA_W).
    fused,
};

/// How a gated feed-forward multiplies act(gate) by up.
enum class gate_code : std::uint8_t {
    eager,     ///< act(gate) is a tensor of its own, and saved
    fused,     ///< gate and up are saved, and act(gate) is computed again in the backward pass
    in_place,  ///< the same, and their gradients are written over them (Liger: ops/swiglu.py, ops/geglu.py)
};

/// How the loss is computed from the logits.
enum class loss_code : std::uint8_t {
    eager,                ///< logits, a copy of them in fp32, its log-softmax and its gradient are tensors
    eager_shifted,        ///< as eager, over a shifted copy (transformers before 4.50)
    triton,               ///< one kernel over the shifted fp32 copy, which then holds its own gradient (Unsloth's, as
                          ///< fms-acceleration calls it)
    chunked,              ///< eager, over a part of the tokens at a time
    fused_linear,         ///< head and loss together, over a part of the tokens at a time (Liger): no logits are saved
    vocabulary_parallel,  ///< fp32 logits on each tensor rank become their own gradient (Megatron-Core)
    vocabulary_parallel_fused,  ///< the same, compiled by PyTorch, which keeps the exponentials in another tensor
    transformer_engine,  ///< one kernel over the 16-bit logits of each tensor rank (two copies, In-sample: from the
                         ///< slopes of megatron_b200's 24 runs)
    /// One kernel over the logits as they are, which then hold their own gradient (flash-attn,
    /// ops/triton/cross_entropy.py with inplace_backward: verl, utils/torch_functional.py, logprobs_from_logits).
    flash_cross_entropy,
    /// Log-probabilities of the tokens, head and all in tiles of 4,096 tokens and 32,768 words, whose logits are
    /// computed again for their gradient (trl since 1.15, kernels/chunked_logprob.py).
    fused_log_probabilities,
    mean,  ///< the mean of the fp32 logits, which the caller keeps to the end: what profilers differentiate instead of
           ///< a loss
};

/// Where the gradient of a linear layer's weight goes.
enum class linear_code : std::uint8_t {
    plain,               ///< it is a tensor of its own
    accumulates,         ///< the product adds it to the gradient buffer (Apex, Megatron-Core)
    accumulates_beside,  ///< the same, and a dummy of each weight's shape stays allocated (Transformer Engine)
};

/// How routed experts are computed.
enum class expert_code : std::uint8_t {
    modules,     ///< each expert has linear layers of its own (transformers 4)
    loop,        ///< expert by expert, their weights stacked in one tensor (transformers 5: experts_implementation
                 ///< "eager")
    grouped,     ///< all in one grouped product over stacked weights (transformers 5: "grouped_mm")
    batched,     ///< all in one batched product, with a copy of the weights for each token (transformers 5:
                 ///< "batched_mm")
    dispatched,  ///< tokens are sorted and exchanged between ranks and back, in grouped products between (torchtitan,
                 ///< models/moe.py)
    permuted,    ///< tokens are permuted into grouped products (Megatron-Core, core/transformer/moe/experts.py,
                 ///< TEGroupedMLP)
    sequential,  ///< tokens are permuted, and experts computed one by one (Megatron-Core without moe-grouped-gemm,
                 ///< SequentialMLP)
};
/// The names of the ways to compute experts, in their order.
template <>
inline constexpr std::array<std::string_view, 7> names_of<expert_code>{"modules",    "loop",     "grouped",   "batched",
                                                                       "dispatched", "permuted", "sequential"};
/// True for what transformers itself computes: it selects and weighs tokens in operations of its own
/// (integrations/moe.py).
constexpr bool is_of_transformers(expert_code c) { return c <= expert_code::batched; }
/// True where one tensor of three dimensions holds all experts of a layer, gate and up together (transformers 5).
constexpr bool stacks_weights(expert_code c) { return is_of_transformers(c) && c != expert_code::modules; }
/// True where the experts of a rank are computed together, not one after the other.
constexpr bool computes_together(expert_code c) {
    return c != expert_code::modules && c != expert_code::loop && c != expert_code::sequential;
}

/// Values of latent attention as attention reads them: one product makes them together with a part of the keys.
enum class latent_value_code : std::uint8_t {
    view,  ///< a view of the product's output, so that all of that output is saved (transformers; torchtitan,
           ///< models/deepseek_v3/model/model.py, torch.split)
    copy,  ///< a copy (Megatron-Core, core/transformer/multi_latent_attention.py, value.contiguous())
};

/// Product that makes queries, keys and values together, and the tensors that attention reads of it.
enum class joined_heads_code : std::uint8_t {
    by_model,  ///< as the model's own code has it
    /// One product; attention reads views of it, so that all of it is saved with the values. Keys and values of several
    /// groups are copied for each query head (lit_gpt/model.py since #297: expand, then reshape).
    views,
    copies,  ///< one product; keys and values of more than one head are copied out of it
};

/// Code that computes a recurrent mixer between its projections.
enum class scan_code : std::uint8_t {
    plain,  ///< in PyTorch's own operations: transformers without the packages that have kernels for it
    /// Mamba 2: one operation of mamba-ssm from the convolution to the output projection; gated delta nets: the rule by
    /// flash-linear-attention, the convolution by causal-conv1d. (transformers where these are installed.)
    fused,
    fused_to_gate,  ///< one operation up to the gate; the norm and the output projection are operations of their own
                    ///< (Megatron-Core)
};

/// How the linear layers of a model's layers compute in 8 bits (Transformer Engine's recipes): they save 8-bit inputs,
/// and keep 8-bit copies of their weights, as they are and transposed, from one micro-batch to the next.
enum class fp8_recipe : std::uint8_t {
    none,         ///< not in 8 bits
    delayed,      ///< one scale for each tensor, from the steps before
    tensorwise,   ///< one scale for each tensor, from the tensor itself
    blockwise,    ///< an fp32 scale for each 128 values
    microscaled,  ///< an 8-bit scale for each 32 values: MXFP8
};
/// The names of the recipes, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<fp8_recipe>{"none", "delayed", "tensorwise", "blockwise",
                                                                      "mxfp8"};
/// The names of the ways to scan, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<scan_code>{"plain", "fused", "fused_to_gate"};
// clang-format off
/// The names of the losses, in their order.
template <>
inline constexpr std::array<std::string_view, 11> names_of<loss_code>{
    "eager", "eager_shifted", "triton", "chunked", "fused_linear", "vocabulary_parallel",
    "vocabulary_parallel_fused", "transformer_engine", "flash_cross_entropy", "fused_log_probabilities", "mean"};
// clang-format on

/// Which losses are compiled with the layers.
enum class loss_compiling : std::uint8_t {
    never,    ///< none
    chunked,  ///< a chunked loss alone: of any other, what compile_loss returns is not used (torchtune,
              ///< recipes/full_finetune_single_device.py)
    any,      ///< every loss
};

/// What recompute::selective recomputes in the backward pass.
enum class selective_code : std::uint8_t {
    attention_core,        ///< attention scores and probabilities
    all_but_odd_products,  ///< keeps attention's output and the first, third, ... product of each layer (torchtitan's
                           ///< selective_ac_option "op")
    all_but_products,      ///< keeps attention's output and every product (torchtitan's graph_trainer, memory_policy
                           ///< "default")
};

/// The names of what selective recomputation recomputes, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<selective_code>{"attention_core", "all_but_odd_products",
                                                                          "all_but_products"};

/// The loss, from the logits to their gradient.
struct training_loss {
    loss_code code = loss_code::eager;  ///< How the loss is computed from the logits.
    std::int32_t chunks = 8;            ///< Chunked: in how many parts. Unit: parts.
    /// Chunked: tokens of each sequence in a part; 0: as many as chunks parts have. Unit: tokens.
    std::int32_t chunk_tokens = 0;
    /// The 16-bit logits stay beside the loss's fp32 copy of them (transformers since 4.46); else the copy takes their
    /// place.
    bool returns_logits = true;
    /// `eager` and `triton`: the loss is computed over the logits as they are, which stay until the step is done. (The
    /// heads of GPT-2 and GPT-BigCode in transformers before 4.50; that they stay is in-sample, from slopes of fms's
    /// runs.)
    bool narrow = false;
    bool holds_logits = false;  ///< The 16-bit logits stay while the loss is differentiated.
    /// `eager`, `eager_shifted` and `triton`: the training loop refers to what the model returned, logits and all,
    /// until the step is done. Hugging Face's Trainer refers to the loss alone (trainer.py, compute_loss).
    bool holds_outputs = false;
    /// `chunked`: the model returns fp32 copies of all logits, over which the loss is computed, and which the caller
    /// holds while it is differentiated.
    bool returns_fp32 = false;
    bool learns_preferences = true;  ///< There are losses of preferences (DPO and its kin).
    /// `fused_linear`: each part's gradient of the head is a tensor, and another in fp32, before it is added. (Liger
    /// since 0.6.2, ops/fused_linear_cross_entropy.py; before: addmm in place.)
    bool widens_head_gradient = false;
    friend constexpr bool operator==(const training_loss&, const training_loss&) = default;
};

/// What becomes of activations that are not kept until the backward pass: recomputed, or offloaded.
struct checkpointing {
    selective_code selective = selective_code::attention_core;  ///< What selective recomputation recomputes.
    /// Recomputation by product does not keep the output of cuDNN's attention. (torchtitan before its #2095, 2025-12.)
    bool recomputes_cudnn = false;
    /// Full recomputation by torch's reentrant checkpoint, whose layers read a leaf each. FSDP1's hook that frees a
    /// frozen unit holds on to that leaf's gradient until the step's end (torch/distributed/fsdp/_runtime_utils.py,
    /// register_multi_grad_hook).
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
    /// Each layer is compiled: norms and gates are one kernel each, and selective recomputation keeps no product that
    /// the backward pass does not read.
    bool layers = false;
    loss_compiling loss_with_layers = loss_compiling::never;  ///< Which losses are compiled where layers are.
    /// The loss is compiled, whatever the layers. (`eager` or `chunked`: logits and their gradient.)
    bool loss = false;
    friend constexpr bool operator==(const compilation&, const compilation&) = default;
};

/// 8-bit training by Transformer Engine.
struct fp8_training {
    fp8_recipe recipe = fp8_recipe::none;  ///< How 8-bit values are scaled.
    /// The 8-bit copies are the weights: there are no wider ones but the optimizer's. (fp8-param-gather.)
    bool param_gather = false;
    friend constexpr bool operator==(const fp8_training&, const fp8_training&) = default;
};

/// How training computes a model's modules. The defaults are those of Hugging Face's modules under PyTorch.
struct training_kernels {
    norm_code norm = norm_code::eager;           ///< How norms are computed.
    gate_code gate = gate_code::eager;           ///< How the activation of a gated feed-forward is computed.
    training_loss loss{};                        ///< The loss, from the logits to their gradient.
    linear_code linear = linear_code::plain;     ///< Where the gradient of a linear layer's weight goes.
    expert_code experts = expert_code::modules;  ///< How routed experts are computed.
    scan_code scan = scan_code::plain;           ///< How a recurrent mixer is computed between its projections.
    /// Values of latent attention as attention reads them.
    latent_value_code latent_values = latent_value_code::view;
    /// Routed experts without a gate multiply their activation by the router's weight in one kernel. (Megatron-Core,
    /// core/fusions/fused_weighted_squared_relu.py.)
    bool use_fused_weighted_squared_relu = false;
    /// Product that makes queries, keys and values together, and the tensors that attention reads of it. Where one
    /// product makes queries, keys and values, whatever the model's own code, adapters of some of them keep what they
    /// add in its place (lit-gpt: LoRAQKVLinear, an index_copy).
    joined_heads_code joined_heads = joined_heads_code::by_model;
    bool shared_heads = true;  ///< sdpa reads keys and values of grouped queries without a copy for every query head.
    bool casts_weights =
        true;  ///< Narrower computation casts weights at each operation (autocast), not by a narrower copy.
    /// Column-parallel products keep what they gathered of the sequence, not their own part.
    bool keeps_gathered_inputs = false;
    bool fp32_adapters = true;  ///< Adapters are fp32 beside a narrower base. (PEFT.)
    /// Kernels of adapters beside the frozen products of their layers.
    adapter_code adapters = adapter_code::modules;
    /// Embedding, norms and head are fp32 beside 4-bit weights under adapters, unless ZeRO 3 shards them. (peft's
    /// prepare_model_for_kbit_training; trl leaves a sharded model as it is.)
    bool fp32_stream = false;
    /// 4-bit products save their input, though the weight alone is needed. (bitsandbytes before 0.43.2, its pull
    /// request 1270.)
    bool four_bit_keeps_inputs = false;
    /// Whose code the model's modules are: transformers' compose some activations of several kernels.
    module_code modules = module_code::transformers;
    llmres::compilation compilation{};      ///< What torch.compile compiles.
    fp8_training fp8{};                     ///< 8-bit training by Transformer Engine.
    llmres::checkpointing checkpointing{};  ///< Activations that are recomputed or offloaded.

    /// Whether a norm is one kernel.
    constexpr bool fuses_norms() const { return norm == norm_code::fused || compilation.layers; }
    /// Whether gate and activation are one kernel.
    constexpr bool fuses_gates() const { return gate != gate_code::eager || compilation.layers; }
    /// Whether the loss is compiled.
    constexpr bool fuses_loss() const {
        const loss_compiling with = compilation.loss_with_layers;
        const bool with_layers =
            with == loss_compiling::any || (with == loss_compiling::chunked && loss.code == loss_code::chunked);
        return compilation.loss || (compilation.layers && with_layers);
    }

    friend constexpr bool operator==(const training_kernels&, const training_kernels&) = default;
};

}  // namespace llmres::inline v0
