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
    r.kernels.norm = norm_code::fused;
    // parallel/tensor_parallel/functional.py: fp32 logits, the same less their maximum, and the exponentials.
    r.kernels.loss.code = loss_code::eager_shifted;
    // Reduce-scatter mode keeps what column-parallel products gathered.
    r.kernels.keeps_gathered_inputs = true;
    r.optimizer.foreach_tensors = false;
    r.optimizer.gradients = fp32;
    r.sharding.keeps_gradients = true;
    return r;
}();

}  // namespace llmres::inline v0::runtimes
