// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Serving on GPUs that differ, or that others use: layers are dealt in proportion to what each has free, as llama.cpp,
/// Ollama and Accelerate's device_map do, and each GPU answers for itself.
///
///     const auto dealt = deal_layers(job, std::array{device_share{gpus::rtx_4090}, device_share{gpus::rtx_3090,
///     mib(900)}});
namespace llmres::inline v0 {

struct device_share {
    llmres::gpu gpu{};
    byte_count in_use{};  ///< held by others: a display, another job
};

/// Of one GPU: its layers, and what it needs against what it has.
struct dealt_share {
    std::int32_t first = 0;  ///< layers [first, last)
    std::int32_t last = 0;
    interval<byte_count> needed{};
    byte_count free{};

    constexpr std::int32_t layers() const { return last - first; }
    constexpr bool fits() const { return needed.high <= free; }
};

template <std::size_t Gpus>
struct dealt_layers {
    std::array<dealt_share, Gpus> shares{};
    std::int32_t on_host = 0;  ///< layers that no GPU has room for: the first ones, as llama.cpp's -ngl leaves them
    std::size_t busiest = 0;   ///< the GPU with the least left

    /// True if all layers are on GPUs, and each holds its own at the upper bounds.
    constexpr bool fits() const {
        for (const dealt_share& s : shares)
            if (!s.fits()) return false;
        return on_host == 0;
    }
};

/// Deals the layers of a serving job. Errors: a field of the job out of its bounds; no GPU at all; an engine that takes
/// fractions of devices and splits matrices, whose ranks must be equal.
template <std::size_t Gpus>
constexpr result<dealt_layers<Gpus>> deal_layers(const job& j, const std::array<device_share, Gpus>& devices);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Memory of one GPU that holds layers [first, last), the last GPU with the head.
constexpr memory_breakdown memory_of_range(const job& j, const file_layers* file, stage_range range, bool embeds,
                                           bool heads, bool turns) {
    const runtime& r = j.runtime;
    const layout several{.pipeline = turns ? 2 : 1};  // what a step keeps for taking turns
    const step of{j, r, several};
    const serving_weights weights{j, several, r, file};
    const std::int64_t sequences = sequences_per_rank(j, several);
    serving_stage s{.weights = weights.of_ends(embeds, heads), .last = heads};
    const auto counts = j.model.layers.counts(range.first, range.last);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        if (counts[k] == 0) continue;
        const layer& kind = j.model.layers.kinds[k];
        s.weights += weights.of_kind(kind) * counts[k];
        s.adapters += weights.adapters_of(kind) * counts[k];
        s.cache += layer_cache(kind.attention, j, r, several, sequences) * counts[k];
        s.state += layer_state(kind.recurrent, j, r, several, sequences) * counts[k];
        const byte_count live = of.layer_peak(kind);
        if (live > s.live) s.live = live;
    }
    if (file) s.weights += weights.of_file(range);
    return with_engine(s, of, r, several);
}

template <std::size_t Gpus>
constexpr dealt_layers<Gpus> deal(const job& j, const file_layers* file,
                                  const std::array<device_share, Gpus>& devices) {
    dealt_layers<Gpus> dealt;
    for (std::size_t i = 0; i < Gpus; ++i) {
        const byte_count free = usable_memory(devices[i].gpu) - devices[i].in_use;
        dealt.shares[i].free = free > byte_count{} ? free : byte_count{};
    }
    const std::int32_t layers = j.model.layers.size;
    const auto need = [&](std::size_t i, std::int32_t first, std::int32_t last) {
        return memory_of_range(j, file, {first, last}, i == 0 && first == 0, i + 1 == Gpus, Gpus > 1).total();
    };
    // From the last GPU backwards, each takes its proportion of what is left, and no more than it holds.
    std::int32_t left = layers;
    byte_count free_left;
    for (const dealt_share& s : dealt.shares) free_left += s.free;
    for (std::size_t i = Gpus; i-- > 0;) {
        dealt_share& share = dealt.shares[i];
        const double part = free_left > byte_count{} ? ratio(share.free, free_left) : 0.0;
        auto wanted = static_cast<std::int32_t>(part * left + 0.5);
        if (i == 0 || wanted > left) wanted = left;
        while (wanted > 0 && need(i, left - wanted, left).high > share.free) --wanted;
        share.last = left;
        share.first = left - wanted;
        left -= wanted;
        free_left -= share.free;
    }
    // What rounding left over goes to whoever still has room, by moving every share before it down.
    for (std::size_t i = Gpus; i-- > 0 && left > 0;) {
        while (left > 0) {
            dealt_layers<Gpus> tried = dealt;
            --tried.shares[i].first;
            for (std::size_t before = 0; before < i; ++before)
                --tried.shares[before].first, --tried.shares[before].last;
            if (need(i, tried.shares[i].first, tried.shares[i].last).high > tried.shares[i].free) break;
            dealt = tried;
            --left;
        }
    }
    dealt.on_host = left;
    for (std::size_t i = 0; i < Gpus; ++i) {
        dealt_share& share = dealt.shares[i];
        share.needed = need(i, share.first, share.last);
        if (share.free - share.needed.high < dealt.shares[dealt.busiest].free - dealt.shares[dealt.busiest].needed.high)
            dealt.busiest = i;
    }
    return dealt;
}

}  // namespace detail

template <std::size_t Gpus>
constexpr result<dealt_layers<Gpus>> deal_layers(const job& j, const std::array<device_share, Gpus>& devices) {
    static_assert(Gpus > 0, "layers are dealt to GPUs");
    if (const status s = validate(j); !s) return s.error();
    if (trains(j))
        return refused(error_code::unsupported, "task", name_of(j.task), "serving: training deals layers evenly");
    if (j.runtime.cache.pool != cache_pool::grows && j.runtime.cache.pool != cache_pool::allotted)
        return refused(error_code::unsupported, "runtime", j.runtime.identity.name,
                       "an engine that splits by layers, such as llama.cpp");
    if (!j.gguf) return detail::deal(j, nullptr, devices);
    const detail::file_layers file{j, j.runtime};
    return detail::deal(j, &file, devices);
}

}  // namespace llmres::inline v0
