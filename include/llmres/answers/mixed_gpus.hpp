// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>
#include <span>

/// Serving on GPUs that differ, or that others use: layers are dealt in proportion to what each has free, as llama.cpp,
/// Ollama and Accelerate's device_map do, and each GPU answers for itself.
///
///     const auto dealt = deal_layers(job, std::array{device_share{gpus::rtx_4090}, device_share{gpus::rtx_3090,
///     mib(900)}});
namespace llmres::inline v0 {

/// One GPU, and what others hold of it.
struct device_share {
    llmres::gpu gpu{};    ///< the GPU
    byte_count in_use{};  ///< held by others: a display, another job
};

/// Of one GPU: its layers, and what it needs against what it has.
struct dealt_share {
    std::int32_t first = 0;         ///< layers [first, last)
    std::int32_t last = 0;          ///< the layer behind its last
    interval<byte_count> needed{};  ///< memory that its layers need
    byte_count free{};              ///< memory that is free on it

    /// Layers on it.
    constexpr std::int32_t layers() const { return last - first; }
    /// Whether its layers fit at the upper bound.
    constexpr bool fits() const { return needed.high <= free; }
};

/// GPUs that layers are dealt to at most: as many as llama.cpp takes (GGML_CUDA_MAX_DEVICES in ggml-cuda.h).
inline constexpr std::size_t most_dealt_gpus = 16;

/// Layers partitioned over GPUs that differ.
struct dealt_layers {
    std::array<dealt_share, most_dealt_gpus> shares{};  ///< the share of each GPU: the first `gpus` are in use
    std::size_t gpus = 0;                               ///< GPUs that layers were dealt to
    /// Layers on the host: those that the job leaves there, and those that no GPU has room for. They are the first
    /// ones, as llama.cpp's -ngl leaves them.
    std::int32_t on_host = 0;
    bool head_on_host = false;  ///< as the job asks, or because layers found no room: the head comes after them
    std::size_t busiest = 0;    ///< the GPU with the least left
    bool complete = true;       ///< all that the job asks of GPUs is on one

    /// True if all that the job asks of GPUs is on one, and each GPU holds its own at the upper bounds.
    constexpr bool fits() const {
        for (std::size_t i = 0; i < gpus; ++i)
            if (!shares[i].fits()) return false;
        return complete;
    }
};

/// The verdict on layers that were dealt, beside a host of so much main memory (0: unknown). Layers that found no room
/// stay on the host as if the job had asked for it, where the runtime computes them there; not where the job says how
/// many are on GPUs, nor where none found room. What the host then needs of an unknown memory makes it tight at best.
constexpr verdict verdict_of(const job& j, const dealt_layers& dealt, byte_count host_memory);

/// The job with the layers on GPUs that were dealt.
constexpr job with_dealt_layers(job j, const dealt_layers& dealt);

/// The longest context, in steps of 256 tokens, at which all layers of a job have room: as llama.cpp's `--fit` shortens
/// what nobody asked for before it leaves layers on the host, and not below 4,096. Errors: as deal_layers().
constexpr result<token_count> context_for_devices(const job& j, std::span<const device_share> devices);

/// Deals the layers of a serving job. Errors: a field of the job out of its bounds; no GPU, or more than
/// `most_dealt_gpus`; an engine that takes fractions of devices and splits matrices, whose ranks must be equal; GPUs
/// that share the rows of each matrix.
constexpr result<dealt_layers> deal_layers(const job& j, std::span<const device_share> devices);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether a runtime has a setting for layers that stay on the host.
constexpr bool leaves_layers_on_host(const runtime& r) {
    for (const knob& k : r.identity.knobs)
        if (k.setting == knob_setting::gpu_layers) return true;
    return false;
}

/// What one of several GPUs needs for a part of the layers: of a pipeline whose stage it is, as serving_memory() has
/// it.
constexpr interval<byte_count> needed_by_share(const job& j, serving_folds& folds, const layout& l, const gpu& card,
                                               std::int32_t index, stage_range layers) {
    const runtime here = on_device(j, card, l);
    const placement held = serving_placement(j, host_part_of(j), index, layers, index == 0, index == l.pipeline - 1);
    return serving_stages{j, l, here, folds}.fold_layers().memory(held).total();
}

/// Deals the layers that a job has on GPUs, from the last GPU backwards.
struct layer_dealer {
    const job& j;
    serving_folds& folds;  ///< the layers of a file are the same for all GPUs
    std::span<const device_share> devices;
    layout l{.pipeline = static_cast<std::int32_t>(devices.size())};
    host_part host = host_part_of(j);
    std::int32_t end = j.model.layers.size;  ///< the first layer that was dealt

    constexpr interval<byte_count> need(std::size_t i, std::int32_t first, std::int32_t last) const {
        return needed_by_share(j, folds, l, devices[i].gpu, static_cast<std::int32_t>(i), {first, last});
    }
    constexpr bool holds(const dealt_layers& dealt, std::size_t i) const {
        const dealt_share& share = dealt.shares[i];
        return share.layers() == 0 || need(i, share.first, share.last).high <= share.free;
    }
    /// Each takes its proportion of what is left, and no more than it holds.
    constexpr void deal_in_proportion(dealt_layers& dealt) {
        byte_count free_left;
        for (std::size_t i = 0; i < devices.size(); ++i) free_left += dealt.shares[i].free;
        for (std::size_t i = devices.size(); i-- > 0;) {
            dealt_share& share = dealt.shares[i];
            const std::int32_t left = end - host.layers;
            const double part = free_left > byte_count{} ? ratio(share.free, free_left) : 0.0;
            auto wanted = static_cast<std::int32_t>(part * left + 0.5);
            if (i == 0 || wanted > left) wanted = left;
            while (wanted > 0 && need(i, end - wanted, end).high > share.free) --wanted;
            share.last = end;
            share.first = end - wanted;
            end -= wanted;
            free_left -= share.free;
        }
    }
    /// Gives GPU `i` one layer more, and moves every share before it down; false where one then does not hold its own:
    /// layers differ, so that a share that moves may need more than before.
    constexpr bool deal_one_more(dealt_layers& dealt, std::size_t i) {
        dealt_layers tried = dealt;
        --tried.shares[i].first;
        bool fits = holds(tried, i);
        for (std::size_t before = 0; before < i && fits; ++before) {
            --tried.shares[before].first, --tried.shares[before].last;
            fits = holds(tried, before);
        }
        if (!fits) return false;
        dealt = tried;
        --end;
        return true;
    }
    constexpr dealt_layers deal() {
        dealt_layers dealt{.gpus = devices.size(), .head_on_host = host.head};
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const byte_count free = usable_memory(devices[i].gpu) - devices[i].in_use;
            dealt.shares[i].free = free > byte_count{} ? free : byte_count{};
        }
        deal_in_proportion(dealt);
        // What rounding left over goes to whoever still has room.
        for (std::size_t i = devices.size(); i-- > 0;)
            while (end > host.layers && deal_one_more(dealt, i)) {
            }
        dealt.on_host = end;
        dealt.complete = end == host.layers;
        const auto left = [](const dealt_share& share) { return share.free - share.needed.high; };
        for (std::size_t i = 0; i < devices.size(); ++i) {
            dealt_share& share = dealt.shares[i];
            share.needed = need(i, share.first, share.last);
            if (left(share) < left(dealt.shares[dealt.busiest])) dealt.busiest = i;
        }
        return dealt;
    }
};

/// Where layers find no room, the head goes to the host before them, unless the runtime loads it first.
constexpr dealt_layers deal_head_first(const job& j, std::span<const device_share> devices) {
    serving_folds folds;
    const dealt_layers dealt = layer_dealer{j, folds, devices}.deal();
    if (dealt.complete || dealt.head_on_host || j.runtime.loading.head_first) return dealt;
    job headless = j;
    headless.options.gpu_layers = j.model.layers.size;
    dealt_layers rest = layer_dealer{headless, folds, devices}.deal();
    rest.complete = false;
    return rest;
}

}  // namespace detail

constexpr result<dealt_layers> deal_layers(const job& j, std::span<const device_share> devices) {
    if (devices.empty() || devices.size() > most_dealt_gpus)
        return refused(error_code::out_of_range, "gpus", static_cast<std::int64_t>(devices.size()), "1 to 16");
    if (const status s = validate(j); !s) return s.error();
    if (trains(j))
        return refused(error_code::unsupported, "task", name_of(j.task), "serving: training deals layers evenly");
    if ((j.runtime.cache.pool != cache_pool::grows && j.runtime.cache.pool != cache_pool::allotted) || splits_rows(j))
        return refused(error_code::unsupported, "runtime", j.runtime.identity.name,
                       "an engine that splits by layers, such as llama.cpp");
    return detail::deal_head_first(j, devices);
}

constexpr job with_dealt_layers(job j, const dealt_layers& dealt) {
    if (!dealt.complete) j.options.gpu_layers = j.model.layers.size - dealt.on_host + (dealt.head_on_host ? 0 : 1);
    return j;
}

constexpr verdict verdict_of(const job& j, const dealt_layers& dealt, byte_count host_memory) {
    verdict most = verdict::fits;
    for (std::size_t i = 0; i < dealt.gpus; ++i) {
        const dealt_share& share = dealt.shares[i];
        if (share.needed.low > share.free) return verdict::does_not_fit;
        if (!share.fits()) most = verdict::tight;
    }
    if (!dealt.complete &&
        (j.options.gpu_layers || !detail::leaves_layers_on_host(j.runtime) || dealt.on_host == j.model.layers.size))
        return verdict::does_not_fit;
    const interval<byte_count> held = serving_host_memory(with_dealt_layers(j, dealt), {}, 1);
    if (dealt.on_host == 0 || held.high == byte_count{}) return most;
    if (host_memory > byte_count{} && held.low > host_memory) return verdict::does_not_fit;
    return held.high > host_memory ? verdict::tight : most;
}

constexpr result<token_count> context_for_devices(const job& j, std::span<const device_share> devices) {
    constexpr std::int64_t least = 4096, step = 256;  // --fit-ctx; llama_params_fit_impl
    const auto dealt_at = [&](token_count context) {
        job tried = j;
        tried.context = context;
        return deal_layers(tried, devices);
    };
    const token_count whole = context_of(j);
    const result<dealt_layers> all = dealt_at(whole);
    if (!all) return all.error();
    if (all->complete || whole <= tokens(least)) return whole;
    const std::int64_t steps = (whole - tokens(least)).in(tokens) / step;
    return tokens(least + step * detail::largest_that_holds(steps, [&](std::int64_t n) {
                              const result<dealt_layers> dealt = dealt_at(tokens(least + step * n));
                              return dealt && dealt->complete;
                          }));
}

}  // namespace llmres::inline v0
