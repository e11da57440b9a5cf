// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <string>

/// What tests of training memory start from.
namespace training_jobs {

using namespace llmres;

constexpr job full() {
    return {.model = models::llama_3_1_8b, .task = task::finetuning, .weights = bf16, .sequence = tokens(4096)};
}
/// The inner width of small().
inline constexpr std::int64_t small_inner = 160;
/// A model of layers that are small enough to count by hand, trained with fp32 master weights.
inline job small(const runtime& r, std::int32_t layers = 2) {
    job j{.model = {.vocabulary = 1000,
                    .hidden = 64,
                    .layers = {layers,
                               {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16},
                                .feed_forward = {.width = small_inner}}}},
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(8),
          .optimizer = adamw_fused,
          .attention = attention_kernel::flash,
          .runtime = r};
    j.runtime.process = {};
    return j;
}
/// Of what one layer of the job saves: what is recomputed, and what is offloaded to main memory.
inline detail::named_parts named_parts_of(const layer& kind, const job& j, const layout& l,
                                          const training_context& context) {
    detail::named_parts parts;
    for_each_saved_activation(kind, j.model.hidden, context,
                              [&](const activation& a) { parts.add(a, local_bytes(a, l), j); });
    return parts;
}
constexpr byte_count peak(const job& j, const layout& l = {}) { return training_memory(j, l).ideal; }

/// The field that a plan of the job refuses; empty if it is planned.
inline std::string refused_field(const job& j, const layout& l, const gpu& card, std::int32_t gpus) {
    const auto made = plan(j, l, *standard_cluster(card, gpus));
    return made ? std::string{} : std::string{made.error().field.view()};
}

}  // namespace training_jobs
