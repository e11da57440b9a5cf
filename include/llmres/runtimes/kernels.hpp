// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
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
enum class sharding_code : std::uint8_t {
    buckets,  ///< DDP, and ZeRO 1 and 2 as Megatron's distributed optimizer: gradients in one buffer
    fsdp1,    ///< flat parameters: a unit is gathered whole
    fsdp2,    ///< the same by parameter, the root's weights kept gathered
    deepspeed,
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

/// The defaults are those of Hugging Face's modules under PyTorch.
struct training_engine {
    norm_code norm = norm_code::eager;
    gate_code gate = gate_code::eager;
    loss_code loss = loss_code::eager;
    linear_code linear = linear_code::plain;
    sharding_code sharding = sharding_code::buckets;
    expert_code experts = expert_code::modules;
    scan_code scan = scan_code::plain;
    bool use_fused_weighted_squared_relu = false;  ///< plain routed experts weigh what they activate in one kernel
                                                   ///< (Megatron-Core, core/fusions/fused_weighted_squared_relu.py)
    bool joined_heads =
        false;  ///< one product makes queries, keys and values, whatever the model's own code; adapters of some of
                ///< them keep what they put in its place (lit-gpt: LoRAQKVLinear, an index_copy)
    bool shared_heads = true;   ///< sdpa reads keys and values of grouped queries without a copy for every query head
    bool casts_weights = true;  ///< narrower computation casts at each operation (autocast), not by a narrower copy
    bool keeps_gradients = false;   ///< in a buffer of their own, from the first step to the last
    bool foreach_optimizer = true;  ///< all tensors in one call, with a temporary for each
    bool widens_gradients =
        false;  ///< 16-bit gradients are copied to fp32 before the optimizer steps, its own part of them under ZeRO 1
                ///< and 2 (Megatron-Core, distrib_optimizer.py, _copy_model_grads_to_main_grads); DeepSpeed flattens
                ///< them first (stage_1_and_2.py, step), without ZeRO in fp32 (fp16/fused_optimizer.py, step)
    bool copies_master_weights =
        false;  ///< ZeRO shards a master copy of whatever format, be it the weights' own (DeepSpeed:
                ///< stage_1_and_2.py, single_partition_of_fp32_groups; stage3.py, fp32_partitioned_groups_flat)
    bool fp32_adapters = true;           ///< adapters are fp32 beside a narrower base (PEFT)
    maybe<precision> gradients{};        ///< default: as the weights
    bool four_bit_keeps_inputs = false;  ///< 4-bit products save what they read, though only the weight is needed
                                         ///< (bitsandbytes before 0.43.2, its pull request 1270)
    bool fp32_stream =
        false;  ///< embedding, norms and head are fp32 beside 4-bit weights under adapters, unless ZeRO 3 shards them
                ///< (peft's prepare_model_for_kbit_training; trl leaves a sharded model as it is)
    bool returns_logits = true;  ///< in 16 bits, beside the loss's fp32 copy of them (transformers since 4.46); else
                                 ///< the copy takes their place
    bool narrow_loss =
        false;  ///< eager and triton: over the logits as they are, which stay until the step is done (the heads of
                ///< GPT-2 and GPT-BigCode in transformers before 4.50; the stay is from slopes)
    bool reentrant_checkpoints =
        false;  ///< full recomputation by torch's reentrant checkpoint (transformers before 5), whose layers
                ///< read a leaf each. FSDP1's hook that lets a frozen unit go holds on to that leaf's gradient
                ///< until the step's end (torch/distributed/fsdp/_runtime_utils.py, register_multi_grad_hook)
    bool checkpoints_inside_units = false;  ///< ... or inside each unit (torch's apply_activation_checkpointing after
                                            ///< wrapping), where the unit reads what the one before it put out, no leaf
    bool keeps_frozen_gathered =
        false;  ///< a frozen unit is not let go after its backward pass, and flat gradients cover it too,
                ///< two on their way: inferred from lit-gpt's rows under torch 2.1
    selective_code selective = selective_code::attention_core;
    bool recomputes_cudnn =
        false;  ///< by product: but keeps not what cuDNN's attention put out (torchtitan before its #2095, 2025-12)
    bool compiled = false;  ///< each layer passes torch.compile: norms and gates are one kernel each, and selective
                            ///< recomputation keeps no product that the backward pass does not read
    loss_compiling compiles_loss = loss_compiling::never;  ///< ... and the loss with the layers
    bool reshards_after_forward = true;  ///< ZeRO 3 lets units go after their forward pass, and gathers them again
    bool streams_apart =
        false;  ///< gathered weights and sharded gradients come from streams of their own, whose blocks nothing
                ///< else can use (FSDP2: all_gather_copy_in and reduce_output in _fsdp_collectives.py)
    bool ends_apart =
        false;  ///< fsdp2: the embedding is a unit, and the head; else both are the root's, gathered throughout
    bool holds_logits = false;  ///< the 16-bit logits stay while the loss is differentiated
    bool keeps_gathered_inputs =
        false;  ///< column-parallel products keep what they gathered of the sequence, not their own part
    bool compiled_loss = false;         ///< eager and chunked, as torch.compile fuses them: logits and their gradient
    bool layer_wise_optimizer = false;  ///< optimizers that treat matrices apart shard their states by whole tensors
                                        ///< under ZeRO (Megatron-Core's layer-wise distributed optimizer)
    bool layer_wise_param_layout =
        true;  ///< ... of the layers' matrices alone, all else by the byte (use_layer_wise_param_layout)
    bool defer_embedding_wgrad_compute =
        false;  ///< the head's gradient is computed when the pipeline drains: its input and the logits'
                ///< gradient stay until then (Megatron-Core, core/tensor_parallel/layers.py)
    std::int32_t wgrad_deferral_limit = 0;  ///< ... the latter of so many micro-batches; 0: of all
    bool keeps_stage_outputs =
        false;  ///< pipeline stages keep what they put out until its backward pass, beside the next stage's copy
                ///< (DeepSpeed, runtime/pipe/engine.py, pipe_buffers["outputs"]; Megatron-Core lets it go)
    std::int32_t pipeline_groups = 0;  ///< communicators that a pipeline has beside one for each way of parallelism
    bool takes_turns =
        false;  ///< pipeline stages wait for each other, one micro-batch at a time; layers are dealt by bytes,
                ///< and the first GPU is handed the logits (transformers with accelerate's device_map)
    bool offloads_at_once = false;  ///< each saved tensor leaves as it is made and comes back for its operation
                                    ///< (torch.autograd.graph.save_on_cpu); else layers pass while others are computed
    llmres::fp8_recipe fp8_recipe = llmres::fp8_recipe::none;
    bool fp8_param_gather = false;  ///< ... the 8-bit copies are the weights: there are no wider ones but the
                                    ///< optimizer's (fp8-param-gather)
    std::int32_t loss_chunks = 8;   ///< chunked: parts
    bool widens_head_gradient =
        false;  ///< fused_linear: each part's gradient of the head is a tensor, and another in fp32, before it is
                ///< added (Liger since 0.6.2, ops/fused_linear_cross_entropy.py; before: addmm in place)
    std::int64_t reduce_bucket_size =
        0;  ///< deepspeed: values of gradients that are exchanged at once (runtime/zero/config.py)
    std::int64_t sub_group_size = 0;  ///< ... and of a rank's own that ZeRO 3 steps at once

    constexpr bool fuses_norms() const { return norm == norm_code::fused || compiled; }
    constexpr bool fuses_gates() const { return gate == gate_code::fused || compiled; }
    constexpr bool fuses_loss() const {
        const bool with_layers = compiles_loss == loss_compiling::any ||
                                 (compiles_loss == loss_compiling::chunked && loss == loss_code::chunked);
        return compiled_loss || (compiled && with_layers);
    }

    friend constexpr bool operator==(const training_engine&, const training_engine&) = default;
};

}  // namespace llmres::inline v0
