// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/allocator.hpp>
#include <llmres/runtimes/cache.hpp>
#include <llmres/runtimes/devices.hpp>
#include <llmres/runtimes/identity.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/launches.hpp>
#include <llmres/runtimes/layout_rules.hpp>
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
    interval<double> activations{1.0, 1.0, 1.0};  ///< measured activations over counted ones
    /// Training: activations of an architecture that models/modeling.hpp does not describe, over those of Llama's
    /// modules with its layers. 1: the runtime has modules of its own.
    interval<double> undescribed{1.0, 1.0, 1.0};
    interval<double> logits{};  ///< training: of logits alone, where that is known better; zero: as activations
};

/// Activations of architectures that are not described, over those of Llama's modules with their layers. In-sample:
/// tracked runs of the model classes gave 0.69 (Falcon, eager) to 3.16 (Qwen3-Next, whose scan is spelt out);
/// tests/validation/pytorch.
inline constexpr interval<double> undescribed_activations{0.65, 1.0, 3.2};

/// A runtime, as its parts.
struct runtime {
    runtime_identity identity{};    ///< name and versions
    runtime_launches launches{};    ///< what its CPU side takes, and which kernels it joins
    runtime_process process{};      ///< memory of its process
    runtime_allocator allocator{};  ///< how its allocator reserves memory
    runtime_accuracy accuracy{};    ///< measured over counted activations
    runtime_loading loading{};      ///< how it holds weights

    runtime_cache cache{};                      ///< its KV cache
    serving_step step{};                        ///< its largest step
    llmres::serving_kernels serving_kernels{};  ///< its kernels when serving

    training_kernels kernels{};    ///< its kernels when training
    optimizer_step optimizer{};    ///< the optimizer's step
    training_sharding sharding{};  ///< sharding over data ranks
    training_pipeline pipeline{};  ///< pipelines
    layout_rules layouts{};        ///< the layouts it runs
    runtime_devices devices{};     ///< the devices it starts on

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

/// Ideal bytes: tensors and nothing else; kernels as a compiler joins them.
inline constexpr runtime no_runtime{
    .identity = {.name = "none"},
    .launches = {.small_kernels = 4, .joined = true, .stages = stage_overlap::both},
    .serving_kernels = {.without_bf16 = bf16_code::takes_fp16},
    .layouts = {.virtual_pipeline = true, .sequence_parallel = true, .context_parallel = true, .uneven_stages = true}};

}  // namespace llmres::inline v0
