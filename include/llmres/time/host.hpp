// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/training/remembered.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What a step asks of the host: offloaded training (ZeRO-Offload, arXiv 2101.06840; ZeRO-Infinity, arXiv 2104.07857),
/// and layers and experts that an engine leaves to the CPU.
namespace llmres::inline v0 {

/// Bytes of one step, or of one token of every sequence, for one GPU.
struct host_traffic {
    byte_count link{};    ///< over the GPU's link to its host, there and back
    byte_count memory{};  ///< that the CPU reads and writes while it computes: optimizer steps, layers
    byte_count disk{};    ///< read and written
};

/// What offloading moves in a training step. Preconditions: validate() holds for job and layout.
constexpr host_traffic training_host_traffic(const job& j, const layout& l, std::int32_t stage = 0);

/// Whether an engine leaves layers or routed experts to the CPU.
constexpr bool computes_on_host(const job& j);
/// What it reads of main memory for one token of every sequence.
constexpr host_traffic decode_host_traffic(const job& j, const layout& l, token_count kept);
/// What prompts bring over: weights on the host go to the GPU for every chunk of many tokens (llama.cpp's pull request
/// 6083).
constexpr host_traffic prefill_host_traffic(const job& j, const layout& l);

/// Memory bandwidth that all CPUs of a host reach together: 0.3 to 1 of the host's figure, where the low end is an
/// optimizer whose threads are not bound to cores and the high end one whose threads are (DeepSpeed's
/// --bind_cores_to_rank). Where no figure is given, channels of hardware/interconnects/memory.hpp, each at 0.8 of its
/// rate: two of DDR4-2666 at the slow end; eight of DDR4-3200 expected and twelve of DDR5-4800 at the fast end, but
/// beside a consumer's card two of DDR5-4800 and two of DDR5-6400.
constexpr interval<byte_rate> host_bandwidth(const host& h, bool consumer = false) {
    if (h.bandwidth > byte_rate{}) return {h.bandwidth * 0.3, h.bandwidth * 0.8, h.bandwidth};
    if (consumer) return {gb_per_s(34), gb_per_s(61.4), gb_per_s(82)};
    return {gb_per_s(34), gb_per_s(164), gb_per_s(369)};
}
/// The same, by what the cluster's GPUs are.
constexpr interval<byte_rate> host_bandwidth(const cluster& c) { return host_bandwidth(c.host, is_consumer(c.gpu)); }
/// Bandwidth of a host's NVMe disks: one on PCIe 3, one on PCIe 4, four of the latter in parallel
/// (hardware/interconnects/memory.hpp).
inline constexpr interval<byte_rate> disk_bandwidth{gb_per_s(3.5), gb_per_s(7), gb_per_s(28)};

/// The rate at which ggml copies scores to main memory, where the CPU samples: 65 us for each sequence's 128,256 of
/// them (In-sample: tests/validation/data/h100/llama_cpp_jobs.jsonl, sequences beyond the first).
/// Bounds: a busy host's memory, and pinned memory over a link of PCIe 4 (assumed).
inline constexpr interval<byte_rate> scores_to_host{gb_per_s(3), gb_per_s(7.9), gb_per_s(25)};

/// The time that a size takes at a rate.
constexpr interval<duration> time_at(byte_count size, const interval<byte_rate>& rate) {
    if (size == byte_count{}) return {};
    return {size / rate.high, size / rate.expected, size / rate.low};
}

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// training_host_traffic(), with what layouts of the same job have in common.
constexpr host_traffic training_host_traffic(const job& j, const layout& l, std::int32_t stage, training_folds& folds) {
    if (upcasts(j, l)) return training_host_traffic(upcast(j), l, stage, folds);
    host_traffic t;
    const auto pass = [&](offload_place to, byte_count size) {
        if (to == offload_place::none) return;
        t.link += size;
        if (to == offload_place::nvme) t.disk += size;
    };
    const std::int64_t rounds = micro_batches(j, l);
    if (j.offload.parameters != offload_place::none || j.offload.optimizer != offload_place::none) {
        job on_gpu = j;
        on_gpu.offload = {};
        const folded_job folded{on_gpu, l, on_gpu.model.layers, sdpa_backend::flash, folds};
        const training_state kept = stage_weights{folded, placement_of(on_gpu, l, stage)}.all;
        pass(j.offload.parameters, kept.weights * (2 * rounds));  // gathered for each forward and each backward pass
        if (j.offload.optimizer != offload_place::none) {
            // Gradients of each micro-batch go there, updated weights come back; the states are read and written.
            const byte_count part = div_up(kept.gradients.whole, l.zero > 0 ? l.dense_shard_ranks() : 1);
            t.link += part * rounds + (j.offload.parameters == offload_place::none ? part : byte_count{});
            t.memory += (kept.optimizer.states + part) * 2;
            if (j.offload.optimizer == offload_place::nvme) t.disk += kept.optimizer.states * 2;
        }
    }
    if (j.offload.activations == offload_place::none && j.offload.modules.empty()) return t;
    const folded_job folded{j, l, j.model.layers, sdpa_backend::flash, folds};
    const placement holds = placement_of(j, l, stage);
    if (j.offload.activations != offload_place::none) {
        const saved_layers saved = saved_by_layers(folded, holds);
        pass(j.offload.activations, (saved.all - saved.cut) * (2 * rounds));
    }
    for (std::size_t k = 0; k < folded.kinds(); ++k)  // parts of layers that are offloaded by name
        t.link += folded.layers[k].away * (std::int64_t{holds.counts[k]} * 2 * rounds);
    return t;
}

}  // namespace detail

constexpr host_traffic training_host_traffic(const job& j, const layout& l, std::int32_t stage) {
    detail::training_folds folds;
    return detail::training_host_traffic(j, l, stage, folds);
}

constexpr bool computes_on_host(const job& j) {
    return placement_on_host(j).expert_layers.size() > 0;  // the routed experts of a layer there lie there, too
}

namespace detail {

/// Calls visit(weight, layers) for the weights of layers that the CPU computes with, each with the number of layers
/// that have it there.
template <class Visit>
constexpr void for_each_host_layer_weight(const job& j, Visit&& visit) {
    for_each_weight(j, placement_on_host(j), [&](const weight& w, std::int32_t layers, weight_place place) {
        if (place == weight_place::layer) visit(w, layers);
    });
}

}  // namespace detail

constexpr host_traffic decode_host_traffic(const job& j, const layout& l, token_count kept) {
    host_traffic t;
    const weight_format_view formats = formats_of(j, j.compute);
    const std::int64_t sequences = sequences_per_rank(j, l);
    const std::int64_t computed = sequences * (j.options.draft_tokens + 1);
    detail::for_each_host_layer_weight(j, [&](const weight& w, std::int64_t layers) {
        const weight_shape part = local_shape(w, l);
        const byte_count one = size_of(formats.of(w), part.rows, part.columns);
        t.memory +=
            (w.routed ? scaled_up(one, detail::experts_touched(w, part.copies, computed)) : one * part.copies) * layers;
    });
    // The caches of whole layers lie beside them.
    const kind_counts counts = placement_on_host(j).counts;
    const precision& values = j.kv_cache_values ? *j.kv_cache_values : kv_cache_of(j);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        const attention& a = j.model.layers.kinds[k].attention;
        t.memory +=
            kv_bytes_per_token(a, kv_cache_of(j), values, l.tensor) * kept_tokens(a, kept) * (sequences * counts[k]);
    }
    return t;
}

constexpr host_traffic prefill_host_traffic(const job& j, const layout& l) {
    host_traffic t;
    const weight_format_view formats = formats_of(j, j.compute);
    const token_count chunk = batched_tokens_of(j);
    const std::int64_t chunks =
        chunk > token_count{} ? detail::ceil_quotient(computed_prompt_of(j).in(tokens), chunk.in(tokens)) : 1;
    detail::for_each_host_layer_weight(j, [&](const weight& w, std::int64_t layers) {
        const weight_shape part = local_shape(w, l);
        t.link += size_of(formats.of(w), part.rows, part.columns) * part.copies * (layers * chunks);
    });
    return t;
}

}  // namespace llmres::inline v0
