// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/runtime.hpp>

/// Hugging Face nanotron.
namespace llmres::inline v0::runtimes {

/// nanotron (src/nanotron/nn, parallel/tensor_parallel): fused norms, fp32 gradient accumulators from the first step to
/// the last, an optimizer that steps tensor by tensor.
inline constexpr runtime nanotron = [] {
    runtime r = for_versions(pytorch, "nanotron 2025-02", {});
    r.identity.name = "nanotron";
    r.identity.work = runtime_work::training;
    // In-sample. A micro-batch takes 4.3 to 4.6 ms a layer, forward and back, where the GPU is done sooner: 60 runs of
    // 2 to 8 tensor ranks on 8 to 128 GPUs (ultrascale.csv), whatever the model, 2,048 to 4,096 features wide. The CPU
    // issues products in three parts around each gather (parallel/tensor_parallel/functional.py), sequence lengths in
    // each layer (models/llama.py, CoreAttention), and functions of autograd in Python.
    r.launches.layer = {microseconds(2000), microseconds(2000), microseconds(3000)};
    // Where stages lie in several nodes a micro-batch takes 4 ms a layer and 1.9 ms more for each tensor rank (180
    // runs of 2 to 16 ranks, ultrascale.csv); in as many others a micro-batch takes up to a second longer, in one run
    // of a job and not in the next. Stages wait on the host for each message, whose shape comes first
    // (parallel/pipeline_parallel/p2p.py, _recv_meta); why ranks then hold each other up the runs do not tell.
    r.pipeline.layer_of_rank = {microseconds(950), microseconds(950), microseconds(5000)};
    r.kernels.norm = norm_code::fused;
    r.kernels.modules = module_code::own;  // src/nanotron/models, nn/activations.py
    // parallel/tensor_parallel/functional.py: fp32 logits, the same less their maximum, and the exponentials.
    r.kernels.loss.code = loss_code::eager_shifted;
    r.kernels.loss.learns_preferences = false;
    // Reduce-scatter mode keeps what column-parallel products gathered.
    r.kernels.keeps_gathered_inputs = true;
    r.optimizer.foreach_tensors = false;
    r.optimizer.gradients = fp32;
    r.sharding = {.keeps_gradients = true};
    // serialize/weights.py and optimizer.py: a file for each weight from the first data rank, states from each that has
    // any
    r.checkpoints = {.both = false, .shares_replicas = false, .optimizer_in_ranks = true};
    r.devices = cuda_alone;
    r.devices.amd = device_support::unmeasured;
    r.devices.least = {8, 0};
    r.devices.source = "models/llama.py: flash_attn, which needs Ampere";
    r.layouts = {.sequence_parallel = true,
                 .uneven_stages = true,
                 .most_zero = 1,
                 .untried{.context_parallel = true},
                 .source = "config/parallelism_config.py: dp, tp, pp, expert_parallel_size; helpers.py: ZeRO 1"};
    return r;
}();

}  // namespace llmres::inline v0::runtimes
