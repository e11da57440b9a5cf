// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// The largest buffer that is allocated at once, which a driver may limit.
namespace llmres::inline v0 {

/// The largest tensors or buffers that are allocated at once.
struct largest_buffer {
    interval<byte_count> size{};                  ///< of the largest
    memory_term term = memory_term::activations;  ///< what it holds

    /// Takes another, if it is expected to be larger.
    constexpr void reach(const interval<byte_count>& other, memory_term of) {
        if (other.expected > size.expected) size = other, term = of;
    }
};

/// The largest single buffer of ggml on a GPU with that memory: that of a step's graph, keys or values of a layer, the
/// head or a stack of routed experts. (Other weights and caches share buffers, as many as it takes: ggml-alloc.c,
/// ggml_backend_alloc_ctx_tensors_from_buft.)
constexpr largest_buffer largest_serving_buffer(const job& j, const layout& l, const memory_breakdown& m);

constexpr largest_buffer largest_serving_buffer(const job& j, const layout& l, const memory_breakdown& m) {
    largest_buffer largest;
    if (!j.runtime.allocator.splits_buffers)
        largest.reach(m[memory_term::activations] + m[memory_term::logits], memory_term::activations);
    const std::int64_t sequences = sequences_per_rank(j, l);
    for (const layer& kind : j.model.layers.distinct()) {
        const byte_count cache = detail::layer_cache(kind.attention, j, j.runtime, l, sequences).allocated;
        const bool one_tensor =
            kind.attention.kind == attention_kind::latent || kind.attention.kind == attention_kind::compressed;
        largest.reach(one_tensor ? cache : div_up(cache, 2), memory_term::kv_cache);
    }
    const placement on_gpus = placement_of(j, {}, 0);
    const auto of_weights = [&](const detail::file_layers* file) {
        const detail::serving_weights weights{j, l, j.runtime, file};
        weights.for_each_end_tensor(on_gpus, [&](std::string_view, byte_count size, std::int64_t) {
            largest.reach(size, memory_term::weights);
        });
        const detail::expert_stacks stacks = weights.largest_experts(on_gpus.expert_layers);
        largest.reach(stacks.gate, memory_term::weights), largest.reach(stacks.down, memory_term::weights);
    };
    if (!j.gguf) {
        of_weights(nullptr);
    } else {
        const detail::file_layers file{j, j.runtime};
        of_weights(&file);
    }
    return largest;
}

}  // namespace llmres::inline v0
