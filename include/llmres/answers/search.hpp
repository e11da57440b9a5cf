// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/plan.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What is the most that fits, on how few GPUs does a job fit, and what would help where it does not?
namespace llmres::inline v0 {

/// The limits of a job in a layout; unknown where nothing fits.
struct job_limits {
    maybe<std::int64_t> max_batch{};   ///< sequences in flight; when training, sequences in a micro-batch
    maybe<token_count> max_context{};  ///< tokens of a sequence at the job's batch
    maybe<std::int64_t> min_gpus{};    ///< GPUs of the cluster's kind, in this layout or one of the planner's
};

/// The largest batch and context that fit in a layout, and the fewest GPUs that hold the job.
constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c);

/// The fewest GPUs of the cluster's kind that the job fits on, up to `most`.
constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most = 1024);

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

/// The smallest layout on at most `most` GPUs of the kind, in nodes of the cluster's size.
constexpr maybe<layout> smallest_layout(const job& j, cluster c, std::int32_t most) {
    maybe<layout> found;
    const std::int32_t node = c.node_size() > 1 ? c.node_size() : c.gpu.links.scale_up_domain.value_or(8);
    c.gpus_per_node = node > 8 ? node : 8;
    c.gpus = most;
    const auto good = [&](const layout& l) {
        if (!validate_training(j, l, c.gpu) || !memory_fits(j, l, c)) return false;
        found = l;
        return true;
    };
    for (std::int32_t gpus = 1; gpus <= most && !found; ++gpus) {
        if (!trains(j)) {
            for_each_layout(j, gpus, c, good);
            continue;
        }
        // Training shards over data ranks before it partitions the model.
        if (good(layout{.data = gpus, .zero = gpus > 1 || j.offload.parameters != offload_place::none ? 3 : 0})) break;
        for_each_layout(j, gpus, c, good);
    }
    return found;
}

/// The most sequences, up to `most`, that divide a rank's share of the global batch.
constexpr std::int64_t micro_batch_below(const job& j, const layout& l, std::int64_t most) {
    if (!trains(j) || j.global_batch == 0) return most;
    const std::int64_t share = j.global_batch / (std::int64_t{l.data} * l.replicas);
    std::int64_t sequences = most < share ? most : share;
    while (sequences > 1 && share % sequences != 0) --sequences;
    return sequences;
}

}  // namespace detail

constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most) {
    const maybe<layout> smallest = detail::smallest_layout(j, c, most);
    return smallest ? maybe<std::int64_t>{smallest->gpus()} : maybe<std::int64_t>{};
}

constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c) {
    job_limits limits{.min_gpus = min_gpus(j, c)};
    // The planner tries tensor and pipeline parallelism alone: a layout with sequence or expert parallelism, or with
    // other stages, may need fewer GPUs.
    if ((!limits.min_gpus || *limits.min_gpus > l.gpus()) && memory_fits(j, l, c)) limits.min_gpus = l.gpus();
    if (const auto batch = max_batch(j, l, c); batch && *batch > 0) limits.max_batch = *batch;
    if (const auto context = max_context(j, l, c); context && *context > token_count{}) limits.max_context = *context;
    return limits;
}

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
        const result<job_plan> chosen = plan(j, c);
        const layout& other = chosen && chosen->verdict == verdict::fits ? chosen->layout : *smallest;
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
