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
    /// Measured activations over those that the inventory counts. Unit: ratio.
    interval<double> activations{1.0, 1.0, 1.0};
    /// Training: activations of an architecture that models/families.hpp does not describe, over those of Llama's
    /// modules with its layers. Unit: ratio. 1: the runtime has modules of its own.
    interval<double> undescribed{1.0, 1.0, 1.0};
    interval<double> logits{};  ///< Training: measured logits over counted ones; 0: as activations. Unit: ratio.
};

/// Activations of architectures that are not described, over those of Llama's modules with their layers. In-sample:
/// tracked runs of the model classes gave 0.69 (Falcon, eager) to 3.16 (Qwen3-Next, whose scan is spelt out);
/// tests/validation/pytorch.
inline constexpr interval<double> undescribed_activations{0.65, 1.0, 3.2};

/// A runtime, as its parts.
struct runtime {
    runtime_identity identity{};    ///< Name, purpose and versions.
    runtime_launches launches{};    ///< What the CPU takes while the GPU computes, and which kernels are joined.
    runtime_process process{};      ///< Memory of the process beside its tensors.
    runtime_allocator allocator{};  ///< How memory is reserved.
    runtime_accuracy accuracy{};    ///< Measured over counted activations.
    runtime_loading loading{};      ///< How weights are held once they are loaded.

    runtime_cache cache{};                      ///< How the KV cache is allocated.
    serving_step step{};                        ///< The largest step of serving.
    llmres::serving_kernels serving_kernels{};  ///< What kernels keep alive when serving.

    training_kernels kernels{};         ///< How training computes a model's modules.
    optimizer_step optimizer{};         ///< How the optimizer's step is taken.
    training_sharding sharding{};       ///< How training shards over data ranks.
    training_pipeline pipeline{};       ///< How pipeline stages work together when training.
    runtime_checkpoints checkpoints{};  ///< How checkpoints are written that training continues from.
    layout_rules layouts{};             ///< The layouts that the runtime runs.
    runtime_devices devices{};          ///< The devices that the runtime starts on.

    /// Profiles are told apart by name and versions.
    friend constexpr bool operator==(const runtime& a, const runtime& b) { return a.identity == b.identity; }
};

/// Tokens that a block of the cache holds; 0: the cache grows token by token.
constexpr token_count cache_block(const runtime& r) {
    const token_count with_flash = r.serving_kernels.graph.flash_block;
    return r.serving_kernels.flash_attention.value_or(false) && with_flash > r.cache.block ? with_flash : r.cache.block;
}

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
    .checkpoints = {.last_mode = checkpoint_mode::async_with_pinned_mem},
    .layouts = {.virtual_pipeline = true, .sequence_parallel = true, .context_parallel = true, .uneven_stages = true}};

}  // namespace llmres::inline v0
