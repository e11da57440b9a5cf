// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How a runtime shards what it trains over ranks, takes the optimizer's step, computes a pipeline, and writes the
/// checkpoints that training continues from.
namespace llmres::inline v0 {

/// The implementation that shards what is trained.
enum class sharding_code : std::uint8_t {
    buckets,    ///< DDP, and ZeRO 1 and 2 as Megatron's distributed optimizer: gradients in one buffer
    fsdp1,      ///< flat parameters: a unit is gathered whole
    fsdp2,      ///< gathered by parameter; the root unit's weights stay gathered
    deepspeed,  ///< ZeRO in DeepSpeed: parameters gathered one by one, gradients in buckets
};

/// FSDP1: which units the weights of a layer with adapters are.
enum class adapted_layer_units : std::uint8_t {
    /// Frozen and trained weights are one unit, whose gradient is one tensor of both (_flat_param.py,
    /// _use_unsharded_views: the backward pass of torch.split joins the gradients of all views).
    one,
    /// Each trained matrix is a unit, and what is frozen of the layer another one (PEFT, src/peft/utils/other.py,
    /// fsdp_auto_wrap_policy, which transformers' trainer.py takes: _fsdp_qlora_plugin_updates).
    by_trained_matrix,
};

/// What DeepSpeed's ZeRO is told, and does of its own.
struct deepspeed_zero {
    /// Values of gradients that are exchanged at once. Unit: values. (runtime/zero/config.py.)
    std::int64_t reduce_bucket_size = 0;
    /// The caller has said `reduce_bucket_size`; else a launcher may set another one than the default. (transformers'
    /// Trainer writes the square of the hidden width where a configuration says "auto".)
    bool bucket_size_known = false;
    /// Gradients are exchanged on a stream of their own while the backward pass goes on; ZeRO 1 and 2 fill a second
    /// bucket meanwhile. (stage_1_and_2.py, setup_buckets.) ZeRO 3 always does (zero/config.py, overlap_comm_valid).
    bool overlap_comm = false;
    /// ZeRO 1 and 2 copy the weights into one tensor on the GPU, beside the ones that were loaded, whose blocks the
    /// allocator keeps. (stage_1_and_2.py, flatten_on_accelerator.)
    bool flattens_on_gpu = false;
    /// Values of a rank's own that ZeRO 3 steps at once. Unit: values. (runtime/zero/config.py.)
    std::int64_t sub_group_size = 0;
};

/// How training shards weights, gradients and states over data ranks.
struct training_sharding {
    sharding_code code = sharding_code::buckets;  ///< The implementation that shards what is trained.
    bool keeps_gradients = false;  ///< Gradients lie in a buffer of their own, from the first step to the last.
    /// DDP's gradients are views of its buckets; else these are as large beside them.
    /// (torch/csrc/distributed/c10d/reducer.cpp, initialize_buckets.) True where DDP is not used.
    bool gradient_as_bucket_view = true;
    /// ZeRO 2 and 3: ranks share the gradients of each micro-batch; else those of the last one alone (no_sync), and
    /// until then each rank adds up whole gradients. (torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook;
    /// FSDP2's _fsdp_param_group.py, post_backward.)
    bool sync_each_batch = true;
    /// ZeRO 2 and 3: trained weights that were loaded in 16 bits are widened to fp32, and gathered in the format that
    /// they are computed in.
    bool upcasts = false;
    /// FSDP1: which units the weights of a layer with adapters are.
    adapted_layer_units adapted_layers = adapted_layer_units::one;
    /// ZeRO 3 frees gathered units after their forward pass, and gathers them again for the backward pass.
    bool reshards_after_forward = true;
    /// Gathered weights and sharded gradients are allocated on streams of their own, whose blocks nothing else can use.
    /// (FSDP2: all_gather_copy_in and reduce_output in _fsdp_collectives.py.)
    bool separate_streams = false;
    /// FSDP2: the embedding is a unit, and the head is another; else both are the root unit's.
    bool separate_ends = false;
    deepspeed_zero deepspeed{};  ///< What DeepSpeed's ZeRO is told.
};

/// How the optimizer's step is taken.
struct optimizer_step {
    /// All tensors are stepped in one call, with a temporary for each; else one by one, or fused.
    bool foreach_tensors = true;
    maybe<precision> gradients{};  ///< The format of gradients; null: that of the weights.
    /// Weights are stepped as they are loaded: unless the job asks for one there is no wider copy of them, and the
    /// optimizer's states have their format, as torch.optim makes them. (torchtune:
    /// recipes/full_finetune_distributed.py, `dtype: bf16`; transformers: trainer.py, create_optimizer; litgpt:
    /// finetune/full.py, precision bf16-true.)
    bool steps_weights = false;
    /// Mixed precision (bf16, or fp16) is on though nobody asks for it. Where it is not, a step computes in the format
    /// of the weights.
    bool mixes_unasked = true;
    /// bf16 gradients have fp32 accumulators beside them. (DeepSpeed, runtime/bf16_optimizer.py.)
    bool fp32_beside_bf16 = false;
    /// 16-bit gradients are copied to fp32 before the step, a rank's own part of them under ZeRO 1 and 2.
    /// (Megatron-Core, distrib_optimizer.py, _copy_model_grads_to_main_grads.) DeepSpeed flattens them first
    /// (stage_1_and_2.py, step), without ZeRO in fp32 (fp16/fused_optimizer.py, step).
    bool widens_gradients = false;
    /// ZeRO shards a master copy whatever the format, be it that of the weights themselves. (DeepSpeed:
    /// stage_1_and_2.py, single_partition_of_fp32_groups; stage3.py, fp32_partitioned_groups_flat.)
    bool copies_master_weights = false;
    /// Optimizers that treat matrices apart shard their states by whole tensors under ZeRO. (Megatron-Core's layer-wise
    /// distributed optimizer.)
    bool layer_wise = false;
    /// Layer-wise sharding is of the layers' matrices alone, and of all else by the byte.
    /// (use_layer_wise_param_layout.)
    bool layer_wise_param_layout = true;
};

/// How the stages of a pipeline work together when training.
struct training_pipeline {
    /// The head's weight gradient is computed when the pipeline drains: its input and the logits' gradient stay until
    /// then. (Megatron-Core, core/tensor_parallel/layers.py.)
    bool defer_embedding_wgrad_compute = false;
    /// The logits' gradients stay of so many micro-batches; 0: of all. Unit: micro-batches.
    std::int32_t wgrad_deferral_limit = 0;
    /// Stages keep their outputs until their backward pass, beside the next stage's copy. (DeepSpeed,
    /// runtime/pipe/engine.py, pipe_buffers["outputs"]; Megatron-Core frees them.)
    bool keeps_stage_outputs = false;
    /// Tensor ranks send a part each of what passes to the next stage. (DeepSpeed, runtime/pipe/engine.py:
    /// pipe_partitioned and grad_partitioned, on by default.)
    bool partitions_sends = false;
    /// What each tensor rank adds to the time in which the CPU issues one pass through a layer, where stages lie in
    /// several nodes.
    interval<duration> layer_of_rank{};
    /// A naive pipeline: stages wait for each other, one micro-batch at a time; layers are partitioned by bytes, and
    /// the first GPU receives the logits. (transformers with accelerate's device_map.)
    bool naive = false;
};

/// Which process writes the tensors that ranks share.
enum class checkpoint_files : std::uint8_t {
    gathered,  ///< one process writes them whole, and gathers what others hold in its main memory (FULL_STATE_DICT)
    sharded,   ///< each process writes its part (torch.distributed.checkpoint, Megatron-Core's torch_dist)
};
/// The names of the ways, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<checkpoint_files>{"gathered", "sharded"};

/// Whether training waits for the storage.
enum class checkpoint_mode : std::uint8_t {
    sync,   ///< until everything is written
    async,  ///< until everything is copied to main memory, from where it is written beside the next steps
    /// As async, and the copy lies in page-locked memory, which stays from one checkpoint to the next; it is made
    /// beside the next step.
    async_with_pinned_mem,
};
/// The names of the modes, torchtitan's, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<checkpoint_mode>{"sync", "async", "async_with_pinned_mem"};

/// The part of a checkpoint that a process holds in main memory at once while it writes what lies on a GPU.
enum class checkpoint_copy : std::uint8_t {
    tensor,  ///< one tensor after the other (torch.save of CUDA tensors: serialization.py, storage.cpu())
    part,    ///< the weights, and after them the optimizer's states
    all,     ///< both
};

/// The checkpoints that a runtime writes: files that training continues from. (What recomputation keeps is
/// llmres::checkpointing, another thing.)
struct runtime_checkpoints {
    /// Who writes tensors that ranks share, where nobody asks for anything else.
    checkpoint_files files = checkpoint_files::sharded;
    bool both = true;                                        ///< The other files can be asked for.
    checkpoint_copy gathered_copy = checkpoint_copy::part;   ///< What is copied first of gathered tensors.
    checkpoint_copy sharded_copy = checkpoint_copy::tensor;  ///< What each process copies first of its own part.
    checkpoint_mode last_mode = checkpoint_mode::sync;       ///< The last mode that there is; those before it are, too.
    bool shares_replicas = true;      ///< What several ranks have whole, each of them writes a part of.
    bool copies_unshared = false;     ///< gathered_copy is made of tensors that no rank shares, too.
    bool optimizer_in_ranks = false;  ///< Weights are written by the first data rank, states by each rank that has any.
    /// Under FSDP gathered weights are in two files, and shards are never written without the optimizer's states.
    /// (transformers, trainer.py: save_model, _save_optimizer_and_scheduler, save_only_model.)
    bool weights_twice = false;
    /// FSDP's state dict has a tied head beside the embedding, and both are written.
    bool tied_head_again = false;
    bool master_alone = false;        ///< Where there are fp32 weights, the 16-bit ones are copies that nobody writes.
    bool model_with_adapter = false;  ///< The whole model with the adapter merged is written beside an adapter.
    /// Weights that no rank shares are copied to main memory file by file, of at most so many bytes; zero: tensor by
    /// tensor.
    byte_count largest_file{};
};

/// Whether a runtime writes such files.
constexpr bool writes(const runtime_checkpoints& r, checkpoint_files files) { return r.both || r.files == files; }

}  // namespace llmres::inline v0
