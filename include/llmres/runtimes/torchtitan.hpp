// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// torchtitan: FSDP2, tensor and context parallelism in PyTorch itself. `compiled` is its `compile` section switched
/// on.
namespace llmres::inline v0::runtimes {

namespace detail {

/// Names are those of config/job_config.py.
inline constexpr std::array torchtitan_words{
    launch_word{"--parallelism.tensor_parallel_degree", launch_figure::tensor_ranks},
    launch_word{"--parallelism.pipeline_parallel_degree", launch_figure::pipeline_stages},
    launch_word{"--parallelism.context_parallel_degree", launch_figure::context_ranks},
    launch_word{"--parallelism.expert_parallel_degree", launch_figure::expert_ranks},
    launch_word{"--parallelism.data_parallel_shard_degree", launch_figure::data_ranks_sharded, launch_form::some},
    launch_word{"--parallelism.data_parallel_replicate_degree", launch_figure::data_ranks_replicated,
                launch_form::some},
    launch_word{"--parallelism.fsdp_reshard_after_forward never", launch_figure::sharded_gradients, launch_form::words},
    launch_word{"--parallelism.fsdp_reshard_after_forward always", launch_figure::sharded_weights, launch_form::words},
    launch_word{"--training.local_batch_size", launch_figure::micro_batch},
    launch_word{"--training.global_batch_size", launch_figure::global_batch},
    launch_word{"--training.seq_len", launch_figure::training_sequence},
    launch_word{"--activation_checkpoint.mode none", launch_figure::no_recomputation, launch_form::words},
    launch_word{"--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option op",
                launch_figure::selective_recomputation, launch_form::words},
    launch_word{"--activation_checkpoint.mode full", launch_figure::full_recomputation, launch_form::words},
    launch_word{"--compile.enable", launch_figure::compiled_layers, launch_form::words},
};
inline constexpr launcher torchtitan_launcher{"torchtitan", "-m torchtitan.train", torchtitan_words,
                                              process_starter::torchrun};

}  // namespace detail

/// Since 2025-12 (#2095) selective recomputation keeps what any of SDPA's kernels put out.
inline constexpr runtime torchtitan{
    .identity{
        .name = "torchtitan",
        .work = runtime_work::training,
        .versions = "torchtitan 0.2.1 to 2026-06",
        .since = {0, 2, 1},
        .built = {2025, 12, 1},
        .launcher = &detail::torchtitan_launcher,
    },
    .launches{.layer = {microseconds(150), microseconds(300), microseconds(600)},
              .small_kernels = 15,
              .attention = attention_code::flash_2},
    .process = training_process,
    .allocator{
        // In-sample: the 32 runs of torchtitan and torchao in docs/accuracy.md (training). The project's replay of
        // their steps misses them by more (tests/validation/tables/fragmentation.cpp).
        .fragmentation = {0.0, 0.05, 0.14},
        .expandable_fragmentation = {0.0, 0.01, 0.08},
        // run_train.sh; multinode_trainer.slurm does not, nor can ROCm's PyTorch
        .expandable_segments = true,
    },
    .accuracy{
        // In-sample: read off the same 32 runs.
        .activations = {0.93, 1.0, 1.06},
        .logits = {0.97, 1.0, 1.035},  // as runtimes/huggingface.hpp
    },
    .kernels{
        .norm = norm_code::fused,
        .loss{.code = loss_code::eager, .holds_logits = true, .learns_preferences = false},
        .experts = expert_code::dispatched,
        .casts_weights = false,
        .modules = module_code::own,  // torchtitan/models
        .compilation{.loss_with_layers = loss_compiling::any},
        .checkpointing{.selective = selective_code::all_but_odd_products},
    },
    .optimizer{.foreach_tensors = false},
    .sharding{.code = sharding_code::fsdp2, .separate_streams = true, .separate_ends = true},
    // torchtitan 0.3.0, components/checkpointer/dcp.py: torch.distributed.checkpoint, of fp32 parameters
    .checkpoints{.both = false,
                 .last_mode = checkpoint_mode::async_with_pinned_mem,
                 .tied_head_again = true,
                 .master_alone = true},
    // distributed/parallel_dims.py; beside stages FSDP keeps weights gathered (fsdp_reshard_after_forward "default"),
    // which is ZeRO 2.
    .layouts{.virtual_pipeline = true,
             .sequence_parallel = true,
             .context_parallel = true,
             .uneven_stages = true,
             .least_zero = 2,
             .most_zero_with_pipeline = 2,
             .source = "distributed/parallel_dims.py; fsdp_reshard_after_forward: never or always"},
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.amd = device_support::runs;  // measured on MI300X
            d.google = d.apple = device_support::absent;
            d.source = "tools/utils.py: get_device_info(), the accelerators of torch with a distributed back end";
            return d;
        }(),
};

/// Since 2025-07 (#1094) embedding and head are units of FSDP2.
inline constexpr runtime torchtitan_0_2 = [] {
    runtime r = for_versions(torchtitan, "torchtitan 0.2.0", {0, 2}, {0, 2, 1});
    r.identity.built = {2025, 7, 28};
    r.kernels.checkpointing.recomputes_cudnn = true;
    return r;
}();

/// Since 2025-04 (#1033) the loss is compiled with the layers.
inline constexpr runtime torchtitan_0_1 = [] {
    runtime r = for_versions(torchtitan_0_2, "torchtitan 0.1", {0, 1}, {0, 2});
    r.identity.built = {2025, 4, 2};
    r.sharding.separate_ends = false;
    r.kernels.norm = norm_code::eager;  // torch.nn.RMSNorm is one kernel since PyTorch 2.9
    return r;
}();

inline constexpr runtime torchtitan_0_0 = [] {
    runtime r = for_versions(torchtitan_0_1, "torchtitan 0.0", {}, {0, 1});
    r.identity.built = {2024, 1, 1};
    r.kernels.compilation.loss_with_layers = loss_compiling::never;
    return r;
}();

/// Its experiments/graph_trainer: a step is one graph, the loss in it, and gradients are what it puts out. Selective
/// recomputation keeps every product since 2026-03 (#2689).
inline constexpr runtime graph_trainer = [] {
    runtime r = for_versions(torchtitan, "torchtitan 2026-03 to 2026-06", {0, 3});
    r.identity.name = "graph_trainer";
    r.identity.launcher = nullptr;
    r.identity.built = {2026, 3, 24};
    // Passes over the graph move and bucket what it gathers. In-sample: published runs hold up to a fifth more than
    // their tensors.
    r.accuracy.activations = {0.9, 1.0, 1.1};
    r.allocator.expandable_fragmentation = {0.0, 0.05, 0.25};
    r.kernels.norm = norm_code::eager;
    r.kernels.checkpointing.selective = selective_code::all_but_products;
    r.kernels.compilation.loss = true;
    return r;
}();

/// Before #2689 its passes.py took over torchtitan's own list of operations.
inline constexpr runtime graph_trainer_2026_02 = [] {
    runtime r = for_versions(graph_trainer, "torchtitan 2026-02", {}, {0, 3});
    r.identity.built = {2025, 6, 1};
    r.kernels.checkpointing.selective = selective_code::all_but_odd_products;
    return r;
}();

inline constexpr std::array all_torchtitan{&torchtitan,     &torchtitan_0_2, &torchtitan_0_1,
                                           &torchtitan_0_0, &graph_trainer,  &graph_trainer_2026_02};

}  // namespace llmres::inline v0::runtimes
