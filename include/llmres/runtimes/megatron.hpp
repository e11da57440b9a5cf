// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// Megatron-Core with Transformer Engine.
namespace llmres::inline v0::runtimes {

namespace detail {

/// Names are those of training/arguments.py.
inline constexpr std::array megatron_words{
    launch_word{"--tensor-model-parallel-size", launch_figure::tensor_ranks},
    launch_word{"--sequence-parallel", launch_figure::sequence_parallel, launch_form::words},
    launch_word{"--pipeline-model-parallel-size", launch_figure::pipeline_stages},
    launch_word{"--num-virtual-stages-per-pipeline-rank", launch_figure::virtual_stages, launch_form::degree},
    launch_word{"--account-for-embedding-in-pipeline-split", launch_figure::embedding_as_layer, launch_form::words},
    launch_word{"--account-for-loss-in-pipeline-split", launch_figure::loss_as_layer, launch_form::words},
    launch_word{"--decoder-first-pipeline-num-layers", launch_figure::first_stage_layers, launch_form::some},
    launch_word{"--decoder-last-pipeline-num-layers", launch_figure::last_stage_layers, launch_form::some},
    launch_word{"--context-parallel-size", launch_figure::context_ranks, launch_form::degree},
    launch_word{"--expert-model-parallel-size", launch_figure::expert_ranks, launch_form::degree},
    launch_word{"--expert-tensor-parallel-size", launch_figure::expert_tensor_ranks, launch_form::some},
    launch_word{"--use-distributed-optimizer", launch_figure::sharded_optimizer, launch_form::words},
    launch_word{"--num-distributed-optimizer-instances", launch_figure::optimizer_copies, launch_form::degree},
    launch_word{"--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", launch_figure::sharded_gradients,
                launch_form::words},
    launch_word{"--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
                launch_figure::sharded_weights, launch_form::words},
    launch_word{"--bf16", launch_figure::bf16_weights, launch_form::words},
    launch_word{"--fp16", launch_figure::fp16_weights, launch_form::words},
    launch_word{"--micro-batch-size", launch_figure::micro_batch},
    launch_word{"--global-batch-size", launch_figure::global_batch},
    launch_word{"--seq-length", launch_figure::training_sequence},
    launch_word{"--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
                launch_figure::full_recomputation, launch_form::words},
    launch_word{"--recompute-granularity selective", launch_figure::selective_recomputation, launch_form::words},
};
inline constexpr launcher megatron_launcher{"megatron", "pretrain_gpt.py", megatron_words, process_starter::torchrun};

}  // namespace detail

inline constexpr runtime megatron{
    .identity{.name = "megatron",
              .work = runtime_work::training,
              .versions = "Megatron-Core 0.13 to 0.16",
              .since = {0, 13},
              .launcher = &detail::megatron_launcher},
    .launches{.layer = {microseconds(150), microseconds(300), microseconds(600)},
              .small_kernels = 6,
              .joined = true,
              .overlaps_gradients = false},
    .process =
        [] {
            runtime_process p = training_process;
            // In-sample. cuBLAS 32 MiB when deterministic (:4096:8) or on Hopper, cublasLt as much again, Transformer
            // Engine's own 4 MiB before Hopper and 32 MiB since; the sum was checked against, and picked among these
            // with, Megatron's own runs.
            p.workspace = {mib(36), mib(96), mib(136)};
            p.product_workspace = {};
            // Transformer Engine multiplies groups on four streams, a workspace each: 4 MiB before Hopper, 32 MiB since
            // (transformer_engine/pytorch/module/base.py, get_multi_stream_cublas_workspace); grouped tensors have
            // another for each of three layouts of a product (cpp_extensions/gemm.py, _get_grouped_cublas_workspace).
            p.expert_workspace = {mib(16), mib(128), mib(224)};
            return p;
        }(),
    .allocator{
        // In-sample: reserved over allocated in 24 runs on B200 (docs/accuracy.md, megatron_b200), 1.027 to 1.10.
        .fragmentation = {0.0, 0.035, 0.12},
    },
    .accuracy{
        // In-sample: what was measured less states, over the inventory, in 92 runs that take more than 1.5 GiB of
        // activations: its 2.5 and 97.5 % quantiles, rounded outwards (docs/accuracy.md, megatron_b200 and
        // megatron_golden without offloading).
        .activations = {0.93, 1.0, 1.10},
    },
    .kernels{
        .norm = norm_code::fused,
        .gate = gate_code::fused,
        .loss{.code = loss_code::vocabulary_parallel, .learns_preferences = false},
        .linear = linear_code::accumulates_beside,
        .experts = expert_code::permuted,
        .scan = scan_code::fused_to_gate,  // core/ssm/mamba_mixer.py, use_mamba_mem_eff_path
        .latent_values = latent_value_code::copy,
        .casts_weights = false,
        .fp32_adapters = false,
        .modules = module_code::own,  // core/fusions/fused_bias_gelu.py; core/transformer/mlp.py: F.gelu
    },
    .optimizer{.foreach_tensors = false, .gradients = fp32, .widens_gradients = true, .layer_wise = true},
    .sharding{.keeps_gradients = true},
    // training/arguments.py: interleaving, sequence and context parallelism, and the embedding and the loss as layers.
    // Its distributed optimizer is ZeRO 1; what it calls FSDP goes to 3, without stages.
    // Megatron-Core 0.20, dist_checkpointing/strategies: torch_dist, saved in parallel over data ranks
    // (training_config.py,
    // fully_parallel_save). Also a synchronous save copies all tensors first (filesystem_async.py, preload_tensors).
    // distrib_optimizer.py saves fp32 main parameters beside the moments; the model is saved in 16 bits.
    .checkpoints{.both = false, .sharded_copy = checkpoint_copy::all, .last_mode = checkpoint_mode::async},
    .layouts{.virtual_pipeline = true,
             .sequence_parallel = true,
             .context_parallel = true,
             .uneven_stages = true,
             .source = "training/arguments.py"},
    // Ports are the vendors' own: ROCm's and HabanaAI's Megatron-LM, MindSpeed, Neuron's NeMo, MT-MegatronLM.
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.intel = d.google = d.apple = d.cambricon = device_support::absent;
            d.source = "training/initialize.py: \"Megatron requires CUDA\"; ports are the vendors' own";
            return d;
        }(),
};

/// Built with Transformer Engine before 2.3 (Dockerfile.ci.dev of core_v0.12.0: a commit of 2025-03-18), which made a
/// gradient's dummy anew for each product and freed it, where later ones keep one of each shape (module/linear.py;
/// module/base.py, get_dummy_wgrad, of 2025-04-08).
inline constexpr runtime megatron_0_12 = [] {
    runtime r = for_versions(megatron, "Megatron-Core 0.11 and 0.12", {0, 11}, {0, 13});
    r.kernels.linear = linear_code::accumulates;
    return r;
}();

inline constexpr std::array all_megatron{&megatron, &megatron_0_12};

}  // namespace llmres::inline v0::runtimes
