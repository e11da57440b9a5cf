// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>

/// Which weights does a runtime widen when it shards them?
namespace llmres::inline v0 {

/// Whether the runtime trains weights in fp32 that it has loaded in 16 bits, because it shards them (ZeRO 2 and 3) and
/// computes in 16 bits: training_sharding::upcasts. Weights that the job names, by `weights` or `master_weights`, are
/// trained as it names them, and frozen ones stay as they are.
constexpr bool upcasts(const job& j, const layout& l) {
    return j.runtime.sharding.upcasts && l.zero >= 2 && trains(j) && !j.adapter.trains() && !j.weights && !j.gguf &&
           !j.master_weights && !(j.compute == fp32) && !(weights_of(j) == fp32);
}

/// The job with its weights in fp32. They are gathered in the format that they are computed in, so that no operation
/// has to cast them.
constexpr job upcast(job j) {
    j.weights = fp32;
    if (!j.autocast) j.autocast = false;
    return j;
}

/// What use(job) makes of the job whose weights are in the format that they are trained in under that layout.
template <class Use>
constexpr auto as_trained(const job& j, const layout& l, const Use& use) {
    return upcasts(j, l) ? use(upcast(j)) : use(j);
}

}  // namespace llmres::inline v0
