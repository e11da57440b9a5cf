// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/pool.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/runtimes/loading.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// Which changes of a job make it need less memory?
namespace llmres::inline v0 {

/// One change to a job, its layout or its cluster.
struct change {
    /// Which change it is.
    enum class kind : std::uint8_t {
        known_host,             ///< a node has the main memory that the job offloads to, which nobody has said
        shared_each_batch,      ///< data ranks share the gradients of each micro-batch (`sync_each_batch`)
        bucket_views,           ///< gradients are views of DDP's buckets (`gradient_as_bucket_view`)
        sdpa_attention,         ///< another attention kernel
        full_recompute,         ///< all activations of a layer are computed a second time
        narrower_cache,         ///< a KV cache in `format`
        narrower_weights,       ///< weights in `format`, or in the GGUF mix `mix`
        eight_bit_optimizer,    ///< AdamW whose states have 8 bits
        adapter,                ///< LoRA of rank `amount` in place of full fine-tuning
        offloaded_optimizer,    ///< optimizer states in main memory
        offloaded_activations,  ///< saved activations in main memory
        fewer_gpu_layers,       ///< `amount` layers on GPUs, the others on the host (llama.cpp)
        experts_on_host,        ///< routed experts of `amount` first layers on the host (llama.cpp)
        fewer_step_sequences,   ///< `amount` sequences in a step at most (vLLM: max_num_seqs)
        smaller_batch,          ///< `amount` sequences in flight
        smaller_micro_batch,    ///< `amount` sequences in a micro-batch
        shorter_context,        ///< `amount` tokens of a sequence
        other_layout,           ///< `layout` of the cluster's GPUs
        more_gpus,              ///< `amount` GPUs in `layout`
        smaller_fraction        ///< the runtime takes `amount` percent of the GPU (vLLM: gpu_memory_utilization)
    };
    kind what = kind::more_gpus;  ///< which change it is
    std::int64_t amount = 0;      ///< GPUs, sequences, tokens, layers, percent or a rank
    precision format{};           ///< format of narrower weights or of a narrower cache
    maybe<gguf_mix> mix{};        ///< mix of narrower weights of a GGUF file
    llmres::layout layout{};      ///< layout of more GPUs, or another layout
    /// Main memory that a node needs with the change, where the cluster does not say how much it has: a power of two
    /// GiB.
    byte_count host_memory{};
};

/// A job with its layout and cluster.
struct placed_job {
    llmres::job job{};          ///< the job
    llmres::layout layout{};    ///< its layout
    llmres::cluster cluster{};  ///< where it runs
};

/// The job with a change.
constexpr placed_job with_change(const placed_job& asked, const change& made);

/// Calls visit(change) for each change that can make a job need less memory, the least intrusive first; stops where it
/// returns true. An amount is the largest that fits alone, or that which a smaller change beside it leaves room for;
/// changes whose runtime does not know them, or that change nothing, are left out. Layouts are not among them
/// (remedies.hpp looks for those).
template <class Visit>
constexpr void for_each_change(const placed_job& p, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The most sequences, up to `most`, that divide a rank's share of the global batch.
constexpr std::int64_t micro_batch_below(const job& j, const layout& l, std::int64_t most) {
    if (!trains(j) || j.global_batch == 0) return most;
    const std::int64_t share = j.global_batch / l.all_data_ranks();
    std::int64_t sequences = most < share ? most : share;
    while (sequences > 1 && share % sequences != 0) --sequences;
    return sequences;
}

/// The cluster with more GPUs: where all of them stood in one node, it takes as many as standard_cluster() lets it.
constexpr cluster with_gpus(cluster c, std::int32_t gpus) {
    const std::int32_t node = usual_node_size(c.gpu);
    if (c.node_size() == c.gpus) c.gpus_per_node = gpus < node ? gpus : node;
    c.gpus = gpus;
    return c;
}

/// Whether a runtime's own options have that setting.
constexpr bool has_setting(const runtime& r, knob_setting setting) {
    return !knob_name(r.identity.knobs, setting).empty();
}

/// Whether a runtime reads GGUF files and nothing else that is quantised.
constexpr bool serves_gguf(const runtime& r) {
    return loads(r.loading, format_family::gguf) && !loads(r.loading, format_family::eight_bit_float);
}

/// The least power of two GiB that holds so much.
constexpr byte_count usual_host_memory(byte_count needed) {
    byte_count size = gib(8);
    while (size < needed) size = size + size;
    return size;
}

/// Names the main memory that a change needs where the cluster does not say how much there is.
constexpr change with_host_memory(change made, const placed_job& p) {
    if (p.cluster.host.memory > byte_count{} || shares_host_memory(p.cluster.gpu)) return made;
    const placed_job tried = with_change(p, made);
    const interval<byte_count> held = host_memory_of(tried.job, tried.layout, tried.cluster);
    if (offloads(tried.job) && held.high > byte_count{}) made.host_memory = usual_host_memory(held.high);
    return made;
}

/// Whether a job, changed, may be run and fits.
constexpr bool fits(const placed_job& p) { return llmres::fits(p.job, p.layout, p.cluster); }

/// Whether a model is published in about four bits. Nobody publishes such weights in another format of few bits: those
/// that quantise start from 16 or 8.
constexpr bool is_published_in_few_bits(const model& m) { return bits_per_element(m.weights) < 5; }

/// Mixes of GGUF files, from the widest on.
template <class Visit>
constexpr bool for_each_mix(const Visit& visit) {
    for (const char* name : {"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"})
        if (visit(change{.what = change::kind::narrower_weights, .mix = *find_gguf_mix("weights", name)})) return true;
    return false;
}

/// Formats of weights that are narrower, from the widest on.
template <class Visit>
constexpr bool for_each_narrower_format(const job& j, const Visit& visit) {
    if (!trains(j) && is_published_in_few_bits(j.model)) {
        const precision& published = j.model.weights;
        return !j.gguf && bits_per_element(published) < bits_per_element(weights_of(j)) &&
               loads(j.runtime.loading, family_of(published)) &&
               visit(change{.what = change::kind::narrower_weights, .format = published});
    }
    if (serves_gguf(j.runtime)) return for_each_mix(visit);
    if (trains(j))  // a frozen model beside an adapter (QLoRA, arXiv 2305.14314)
        return j.adapter.trains() && loads(j.runtime.loading, format_family::bitsandbytes) &&
               visit(change{.what = change::kind::narrower_weights, .format = nf4_double});
    const std::array formats{fp8_e4m3, awq(4, 128), mlx(8, 64), mlx(6, 64), mlx(4, 64)};  // mlx_lm/convert.py
    const auto loaded = [&](const precision& format) { return loads(j.runtime.loading, family_of(format)); };
    const bool names_no_engine = loaded(awq(4, 128)) && loaded(mlx(4, 64));  // MLX's formats are MLX's alone
    for (const precision& format : formats) {
        const bool narrower = bits_per_element(format) < bits_per_element(weights_of(j));
        if (names_no_engine && family_of(format) == family_of(mlx(4, 64))) continue;
        if (narrower && loaded(format) && visit(change{.what = change::kind::narrower_weights, .format = format}))
            return true;
    }
    return names_no_engine && for_each_mix(visit);
}

/// The format of a narrower cache: the first of fp8 and q8_0 that the runtime keeps a cache in, with what the job sets.
constexpr maybe<precision> narrower_cache(const job& j) {
    const precision& format = caches_in(j.runtime.loading, fp8_e4m3) ? fp8_e4m3 : q8_0;
    if (bits_per_element(format) >= bits_per_element(kv_cache_of(j)) || !caches_in(j.runtime.loading, format))
        return {};
    const bool by_flash_alone = j.runtime.loading.caches.narrow_values_by_flash && !j.kv_cache_values;
    if (by_flash_alone && serving_attention_of(j) != attention_kernel::flash) return {};
    return format;
}

/// Changes that a training job may have beside smaller sizes.
template <class Visit>
constexpr bool for_each_training_change(const placed_job& p, const Visit& visit) {
    using kind = change::kind;
    const job& j = p.job;
    const training_sharding& sharding = j.runtime.sharding;
    if (shares_last_gradients(j, p.layout) && visit(change{.what = kind::shared_each_batch})) return true;
    if (!sharding.gradient_as_bucket_view && p.layout.zero < 2 && p.layout.dense_data_ranks() > 1 &&
        visit(change{.what = kind::bucket_views}))
        return true;
    if (j.recompute != recompute::full && visit(change{.what = kind::full_recompute})) return true;
    if (j.optimizer == adamw && !j.adapter.trains() && visit(change{.what = kind::eight_bit_optimizer})) return true;
    if (j.task == task::finetuning && !j.adapter.trains() && visit(change{.what = kind::adapter, .amount = 16}))
        return true;
    if (for_each_narrower_format(j, visit)) return true;
    if (j.offload.optimizer == offload_place::none &&
        visit(with_host_memory(change{.what = kind::offloaded_optimizer}, p)))
        return true;
    return j.offload.activations == offload_place::none &&
           visit(with_host_memory(change{.what = kind::offloaded_activations}, p));
}

/// Layers on GPUs (fewer_gpu_layers), or experts on the host, that leave the most on the GPUs and fit.
constexpr maybe<change> most_on_gpus(const placed_job& p, change::kind what) {
    const bool experts = what == change::kind::experts_on_host;
    const std::int64_t layers = p.job.model.layers.size;
    placed_job roomy = p;
    if (roomy.cluster.host.memory == byte_count{}) roomy.cluster.host.memory = tib(1024);
    const auto on_host = [&](std::int64_t count) {
        return change{.what = what, .amount = experts ? count : layers + 1 - count};
    };
    const std::int64_t most = experts ? layers : layers + 1;  // the head counts as a layer
    if (!fits(with_change(roomy, on_host(most)))) return {};
    // The fewest on the host: all but the most that can be spared.
    const std::int64_t spared =
        largest_that_holds(most - 1, [&](std::int64_t n) { return fits(with_change(roomy, on_host(most - n))); });
    return with_host_memory(on_host(most - spared), p);
}

/// The percent of the GPU with which a runtime starts that refuses to with its own; 0: with none.
constexpr std::int64_t percent_free(const job& j, const cluster& c) {
    const byte_count whole = usable_memory(c.gpu);
    const byte_count free = available_memory(c) - context_on(j.runtime, c.gpu).high;
    if (free <= byte_count{} || whole <= byte_count{}) return 0;
    return div_down(free * 100, whole.in(bytes)).in(bytes);
}

/// Changes that a serving job may have beside smaller sizes.
template <class Visit>
constexpr bool for_each_serving_change(const placed_job& p, const Visit& visit) {
    const job& j = p.job;
    if (start_refused(j, p.cluster))
        if (const std::int64_t percent = percent_free(j, p.cluster);
            percent > 0 && visit(change{.what = change::kind::smaller_fraction, .amount = percent}))
            return true;
    if (const maybe<state_blocks> blocks = state_blocks_of(j, p.layout, p.cluster, memory_of(j, p.layout, p.cluster));
        blocks && blocks->there.low > 0 && blocks->there.low < blocks->needed &&
        visit(change{.what = change::kind::fewer_step_sequences, .amount = blocks->there.low}))
        return true;
    if (const maybe<precision> format = narrower_cache(j))
        if (visit(change{.what = change::kind::narrower_cache, .format = *format})) return true;
    if (for_each_narrower_format(j, visit)) return true;
    if (has_setting(j.runtime, knob_setting::host_expert_layers) && has_experts(j.model))
        if (const maybe<change> moved = most_on_gpus(p, change::kind::experts_on_host); moved && visit(*moved))
            return true;
    if (has_setting(j.runtime, knob_setting::gpu_layers))
        if (const maybe<change> moved = most_on_gpus(p, change::kind::fewer_gpu_layers); moved && visit(*moved))
            return true;
    return false;
}

}  // namespace detail

constexpr placed_job with_change(const placed_job& asked, const change& made) {
    placed_job p = asked;
    job& j = p.job;
    switch (made.what) {
        case change::kind::known_host: break;
        case change::kind::shared_each_batch: j.runtime.sharding.sync_each_batch = true; break;
        case change::kind::bucket_views: j.runtime.sharding.gradient_as_bucket_view = true; break;
        case change::kind::sdpa_attention: j.attention = attention_kernel::sdpa; break;
        case change::kind::full_recompute: j.recompute = recompute::full; break;
        case change::kind::narrower_cache: j.kv_cache = made.format; break;
        case change::kind::narrower_weights:
            j.gguf = made.mix;
            j.weights = made.mix ? detail::gguf::format_of(made.mix->quantisation) : made.format;
            break;
        case change::kind::eight_bit_optimizer: j.optimizer = adamw_8bit; break;
        case change::kind::adapter: j.adapter = {.kind = adapter_kind::lora, .rank = made.amount}; break;
        case change::kind::offloaded_optimizer: j.offload.optimizer = offload_place::host; break;
        case change::kind::offloaded_activations: j.offload.activations = offload_place::host; break;
        case change::kind::fewer_gpu_layers: j.options.gpu_layers = static_cast<std::int32_t>(made.amount); break;
        case change::kind::experts_on_host:
            j.options.experts_on_host = true;
            j.options.host_expert_layers = static_cast<std::int32_t>(made.amount);
            break;
        case change::kind::smaller_fraction: j.runtime.cache.fraction = static_cast<double>(made.amount) / 100; break;
        case change::kind::fewer_step_sequences: j.options.max_num_seqs = made.amount; break;
        case change::kind::smaller_batch: j.batch = made.amount; break;
        case change::kind::smaller_micro_batch: j.micro_batch = made.amount; break;
        case change::kind::shorter_context: (trains(j) ? j.sequence : j.context) = tokens(made.amount); break;
        case change::kind::more_gpus:
            p.cluster = detail::with_gpus(p.cluster, static_cast<std::int32_t>(made.amount));
            p.layout = made.layout;
            break;
        case change::kind::other_layout: p.layout = made.layout; break;
    }
    if (made.host_memory > byte_count{}) p.cluster.host.memory = made.host_memory;
    return p;
}

template <class Visit>
constexpr void for_each_change(const placed_job& p, Visit&& visit) {
    using kind = change::kind;
    const job& j = p.job;
    if (const change said = detail::with_host_memory(change{.what = kind::known_host}, p);
        said.host_memory > byte_count{} && visit(said))
        return;
    if (j.attention == attention_kernel::flash && detail::lacks_flash_attention(j, p.cluster.gpu) &&
        visit(change{.what = kind::sdpa_attention}))
        return;
    if (trains(j) ? detail::for_each_training_change(p, visit) : detail::for_each_serving_change(p, visit)) return;
    if (const auto batch = max_batch(p.job, p.layout, p.cluster); batch && *batch > 0) {
        const std::int64_t most = detail::micro_batch_below(j, p.layout, *batch);
        if (most < (trains(j) ? j.micro_batch : j.batch) &&
            visit(change{.what = trains(j) ? kind::smaller_micro_batch : kind::smaller_batch, .amount = most}))
            return;
    }
    if (const auto context = max_context(p.job, p.layout, p.cluster); context && *context > token_count{})
        if (*context < (trains(j) ? sequence_of(j) : context_of(j)))
            visit(change{.what = kind::shorter_context, .amount = context->in(tokens)});
}

}  // namespace llmres::inline v0
