// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/runtimes/allocator.hpp>
#include <llmres/runtimes/cache.hpp>
#include <llmres/runtimes/identity.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/loading.hpp>
#include <llmres/runtimes/process.hpp>
#include <llmres/runtimes/serving_kernels.hpp>
#include <llmres/runtimes/serving_step.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/interval.hpp>
#include <string_view>

/// What software adds to a model's tensors, in parts: each part is one idea with a header of its own. Each constant of
/// a profile (runtimes/*.hpp) names its source, and a profile is true for the versions it names.
namespace llmres::inline v0 {

/// What was measured under a runtime, over what the inventory counts (docs/accuracy.md).
struct runtime_accuracy {
    interval<double> activations{1.0, 1.0, 1.0};  ///< of activations
    interval<double> logits{};  ///< training: of logits alone, where that is known better; zero: as activations
};

/// What a runtime is, in parts. The defaults are of no software: ideal bytes.
struct runtime {
    runtime_identity identity{};    ///< name, purpose, versions
    runtime_process process{};      ///< bytes that each process takes beside tensors
    runtime_allocator allocator{};  ///< what is reserved beyond what is allocated
    runtime_accuracy accuracy{};    ///< how far the inventory was from what was measured
    runtime_loading loading{};      ///< how weights are held

    runtime_cache cache{};                      ///< serving: the KV cache
    serving_step step{};                        ///< serving: tokens, sequences and logits of a step
    llmres::serving_kernels serving_kernels{};  ///< serving: how a layer is computed

    training_kernels kernels{};    ///< training: how modules are computed
    optimizer_step optimizer{};    ///< training: how the optimizer's step is taken
    training_sharding sharding{};  ///< training: how weights, gradients and states are sharded
    training_pipeline pipeline{};  ///< training: how pipeline stages work together

    /// Profiles are told apart by name and versions.
    friend constexpr bool operator==(const runtime& a, const runtime& b) { return a.identity == b.identity; }
};

/// A profile as that of some versions: from `since` on, and up to `before` where that is known.
constexpr runtime for_versions(runtime r, std::string_view versions, runtime_version since,
                               runtime_version before = {}) {
    r.identity.versions = versions;
    r.identity.since = since;
    r.identity.before = before;
    return r;
}

/// Ideal bytes: tensors and nothing else.
inline constexpr runtime no_runtime{.identity = {.name = "none"}};

}  // namespace llmres::inline v0
