// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/limits.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What would help where a job does not fit?
namespace llmres::inline v0 {

/// A change to a job that makes it fit.
struct remedy {
    /// Which change it is.
    enum class kind : std::uint8_t {
        more_gpus,
        other_layout,
        narrower_weights,
        smaller_batch,
        smaller_micro_batch,
        shorter_context,
        full_recompute,
        sdpa_attention
    };
    kind what = kind::more_gpus;  ///< which change it is
    std::int64_t amount = 0;      ///< GPUs, sequences or tokens
    precision format{};           ///< format of narrower weights
    llmres::layout layout{};      ///< layout of more GPUs, or another layout
};

/// Changes of which each alone makes a job fit.
struct remedies {
    std::array<remedy, 5> list{};  ///< storage; the first `count` are in use
    std::int32_t count = 0;        ///< remedies in use

    /// Appends a remedy.
    constexpr void add(const remedy& r) { list[static_cast<std::size_t>(count++)] = r; }
    /// The first remedy.
    constexpr auto begin() const { return list.begin(); }
    /// Behind the last remedy.
    constexpr auto end() const { return list.begin() + count; }
};

/// Changes of which each alone makes the job fit; none where it fits.
constexpr remedies what_would_help(const job& j, const layout& l, const cluster& c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The most sequences, up to `most`, that divide a rank's share of the global batch.
constexpr std::int64_t micro_batch_below(const job& j, const layout& l, std::int64_t most) {
    if (!trains(j) || j.global_batch == 0) return most;
    const std::int64_t share = j.global_batch / (std::int64_t{l.data} * l.replicas);
    std::int64_t sequences = most < share ? most : share;
    while (sequences > 1 && share % sequences != 0) --sequences;
    return sequences;
}

}  // namespace detail

constexpr remedies what_would_help(const job& j, const layout& l, const cluster& c) {
    remedies found;
    job tried = j;
    if (detail::lacks_flash_attention(j, c.gpu)) {  // nothing else helps alone
        tried.attention = attention_kernel::sdpa;
        if (memory_fits(tried, l, c)) found.add({.what = remedy::kind::sdpa_attention});
        return found;
    }
    if (memory_fits(j, l, c)) return found;  // the host has too little memory
    if (const maybe<layout> smallest = detail::smallest_layout(j, c, 1024); smallest && smallest->gpus() > c.gpus) {
        found.add({.what = remedy::kind::more_gpus, .amount = smallest->gpus(), .layout = *smallest});
    } else if (smallest) {
        const result<found_layout> chosen = search(j, c);
        const layout& other = chosen && chosen->plan.verdict == verdict::fits ? chosen->plan.layout : *smallest;
        if (other != l) found.add({.what = remedy::kind::other_layout, .amount = other.gpus(), .layout = other});
    }
    for (const precision& format : {fp8_e4m3, int4}) {
        if (trains(j) || bits_per_element(format) >= bits_per_element(weights_of(j))) continue;
        tried.weights = format;
        if (!memory_fits(tried, l, c)) continue;
        found.add({.what = remedy::kind::narrower_weights, .format = format});
        break;
    }
    if (const auto batch = max_batch(j, l, c); batch && *batch > 0)
        found.add({.what = trains(j) ? remedy::kind::smaller_micro_batch : remedy::kind::smaller_batch,
                   .amount = detail::micro_batch_below(j, l, *batch)});
    if (const auto context = max_context(j, l, c); context && *context > token_count{})
        found.add({.what = remedy::kind::shorter_context, .amount = context->in(tokens)});
    if (trains(j) && j.recompute != recompute::full) {
        tried = j;
        tried.recompute = recompute::full;
        if (memory_fits(tried, l, c)) found.add({.what = remedy::kind::full_recompute});
    }
    return found;
}

}  // namespace llmres::inline v0
