// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// What a serving runtime leaves in main memory: weights of layers and experts that the CPU computes, the token
/// embedding, and the caches and activations of those layers.
namespace llmres::inline v0::detail {

/// Main memory of one process.
struct host_share {
    byte_count weights{};                ///< that lie there
    interval<byte_count> beside_them{};  ///< caches, recurrent states, activations and logits
};

/// The weights that lie on the host, whole.
constexpr byte_count host_weights(const serving_weights& w, const placement& host) {
    byte_count total = w.of_ends(host);
    if (w.file) return total + w.of_file(host);
    for (std::size_t k = 0; k < static_cast<std::size_t>(w.job.model.layers.kind_count); ++k) {
        if (host.counts[k] == 0 && host.expert_counts[k] == 0) continue;
        const layer_bytes one = w.of_kind(w.job.model.layers.kinds[k]);
        total += one.rest * host.counts[k] + one.experts * host.expert_counts[k];
    }
    return total;
}

/// The share of one process of the runtime, which has a whole replica of the model.
constexpr host_share host_share_of(const job& j, const layout& l, const file_layers* file) {
    const layout whole{};
    const placement host = placement_on_host(j);
    host_share share{.weights = host_weights({j, whole, j.runtime, file}, host)};
    if (host.layers.size() == 0 && host.expert_layers.size() == 0 && !host.output) return share;
    const std::int64_t sequences = cached_sequences_of(j, j.runtime, sequences_per_rank(j, l));
    const serving_step step{j, j.runtime, whole};
    byte_count fullest;
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        if (host.counts[k] == 0 && host.expert_counts[k] == 0) continue;
        const layer& kind = j.model.layers.kinds[k];
        share.beside_them += (layer_cache(kind.attention, j, j.runtime, whole, sequences).allocated +
                              layer_state(kind.recurrent, j, j.runtime, whole, sequences)) *
                             host.counts[k];
        if (const byte_count live = step.layer_peak(kind); live > fullest) fullest = live;
    }
    share.beside_them += step.peak(fullest, host.output, 0).all();
    return share;
}

}  // namespace llmres::inline v0::detail
