// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/remembered.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/memory/training/remembered.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Where the memory of one GPU of one layout goes: memory/breakdown.hpp says in which terms, memory/serving.hpp and
/// memory/training.hpp how they come about.
namespace llmres::inline v0 {

/// Memory of a GPU of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown memory_of(const job& j, const layout& l) {
    return trains(j) ? training_memory(j, l) : serving_memory(j, l);
}

/// The engine's context on that device: a bare one that was measured (gpu::measured) is the least that any engine's
/// takes, since an engine loads its own kernels on top.
constexpr interval<byte_count> context_on(const runtime& r, const gpu& card) {
    if (!card.measured.context || r.process.context.high <= byte_count{}) return r.process.context;
    const auto least = [&](byte_count said) { return said < *card.measured.context ? *card.measured.context : said; };
    return {least(r.process.context.low), least(r.process.context.expected), least(r.process.context.high)};
}

namespace detail {

/// The profile with the defaults that its engine takes on that device in any layout, where the job names none.
constexpr runtime in_any_layout(const runtime& profile, const gpu& card) {
    runtime r = profile;
    const byte_count device = usable_memory(card);
    r.step = step_on(r.step, device, card.capability == compute_capability{8, 0});
    if (card.measured.context) r.process.context = context_on(r, card);
    r.process.product_workspace = product_workspace_on(r.process, card.capability.major >= 9);
    if (r.step.logits.filter_rows > 0) r.step.logits.filter_rows = card.sm_count.value_or(r.step.logits.filter_rows);
    if (card.capability.major != 9 && card.capability.major != 10) r.process.fused_all_reduce = {};
    // vLLM's mxfp4.py: Marlin before Hopper, Triton's kernels there.
    if (r.loading.mxfp4.padded) r.loading.mxfp4.scales_again = card.capability.major == 9;
    if (r.serving_kernels.latent.scaled == scaled_latents::on_hopper)
        r.serving_kernels.latent.scaled = card.vendor == gpu_vendor::nvidia && card.capability.major < 10
                                              ? scaled_latents::anywhere
                                              : scaled_latents::nowhere;
    // Where the host shares the memory, what its own processes take counts as the engine's. In-sample: 1 and 4.8 GiB of
    // a Jetson's 30 in vLLM's logs. (Apple's working set already leaves the host its part.)
    if (shares_host_memory(card) && card.vendor != gpu_vendor::apple && takes_memory(r.process))
        r.process.workspace += {{}, scaled_up(device, 0.03), scaled_up(device, 0.20)};
    return r;
}
/// Facts that the engine's choices at start depend on. `r`: its profile on that device.
constexpr start_facts start_facts_of(const job& j, const runtime& r, const gpu& card, const layout& l) {
    const encoder& tower = j.model.encoders[0];
    const serving_options& asked = j.options;
    // Ranks that compute attention apart share experts (SGLang: --enable-dp-attention, whose tensor ranks are both).
    const std::int32_t apart = l.expert > 1 ? l.data : 1;
    start_facts f{.device = card.memory.reported.value_or(usable_memory(card)),
                  .capability = card.capability.major,
                  .step = step_tokens_of(j, r.step.max_batched_tokens),
                  .tensor = l.tensor * apart,
                  .attention_ranks = apart,
                  .pipeline = l.pipeline,
                  .architecture = j.model.architecture.view(),
                  .latent = has_latent_attention(j.model),
                  .routed = has_experts(j.model),
                  .images = tower.layers > 0 && tower.image_tokens > token_count{},
                  .image_layers = tower.position_axes > 1 ? 0 : tower.layers,  // Qwen's configs say `depth`
                  .image_hidden = tower.hidden,
                  .context = j.context,
                  .cache = asked.cache_tokens,
                  .sequences = asked.max_num_seqs,
                  .usual_sequences = r.step.max_num_seqs,
                  .drafted = asked.draft_tokens,
                  .captures = captures_graphs(r.process)};
    if (asked.draft_tokens > 0) f.drafts = drafting::lookup;
    if (asked.speculates_ahead) f.drafts = drafting::layers;
    if (asked.draft_weights > byte_count{}) f.drafts = drafting::model;
    return f;
}

/// Choices of the engine when it starts, with the fraction that the job names, if it names one; empty where the profile
/// says of none. `r`: the profile on that device.
constexpr maybe<start_choices> choices_of(const job& j, const runtime& r, const gpu& card, const layout& l) {
    if (j.runtime.cache.default_fraction == nullptr) return {};
    start_choices chosen = j.runtime.cache.default_fraction(start_facts_of(j, r, card, l));
    if (j.runtime.cache.fraction) chosen.fraction = j.runtime.cache.fraction;
    return chosen;
}

/// Sets the defaults that depend on the layout and the model. `r`: the profile on that device.
constexpr void set_choices(runtime& r, const job& j, const gpu& card, const layout& l) {
    const runtime_cache& named = j.runtime.cache;
    r.cache.fraction = named.fraction, r.cache.windows = named.windows, r.cache.window_part = named.window_part;
    const maybe<start_choices> chosen = choices_of(j, r, card, l);
    if (!chosen) return;
    r.cache.fraction = chosen->fraction;
    if (r.cache.fraction && *r.cache.fraction < 0) r.cache.fraction = 0.0;
    r.process.layer_graphs = graphs_of_sizes(j.runtime.process.layer_graphs, chosen->decode.count());
    if (!chosen->whole_windows) return;
    r.cache.windows = window_cells::whole;
    r.cache.window_part = {};
}

}  // namespace detail

/// The job's profile with the defaults that its engine takes on that device and in that layout, where the job names
/// none.
constexpr runtime on_device(const job& j, const gpu& card, const layout& l) {
    runtime r = detail::in_any_layout(j.runtime, card);
    detail::set_choices(r, j, card, l);
    return r;
}

/// A profile with those defaults, for a job that names no model.
constexpr runtime on_device(const runtime& profile, const gpu& card, const layout& l) {
    return on_device(job{.runtime = profile}, card, l);
}

/// Choices of the job's engine when it starts on that device in that layout; empty where its profile says of none.
constexpr maybe<start_choices> choices_at_start(const job& j, const gpu& card, const layout& l) {
    return detail::choices_of(j, detail::in_any_layout(j.runtime, card), card, l);
}

namespace detail {

/// on_device(), with what layouts of the same job have in common.
constexpr const runtime& on_device(const job& j, const layout& l, const cluster& c, serving_folds& folds) {
    if (!folds.has_device) {
        const auto resolved = [&] { return in_any_layout(j.runtime, c.gpu); };
        folds.device = slot<runtime>{made_by{}, resolved};
    }
    folds.has_device = true;
    set_choices(folds.device.value, j, c.gpu, l);
    return folds.device.value;
}

/// Whether the weights of the first stage alone exceed so much, whatever the batch. False, too, where layers are not
/// dealt evenly, or GPUs share the rows of each matrix.
constexpr bool first_weights_exceed(const job& j, const layout& l, const cluster& c, byte_count room,
                                    serving_folds& folds) {
    const auto held = [&] {
        const runtime& r = on_device(j, l, c, folds);
        serving_stages stages{j, l, r, folds};
        return stages.fold_layers().without_caches(placement_of(j, l, 0), nullptr).weights;
    };
    if (detail::shares_rows(j, l)) return false;
    return l.deals_evenly() && folds.first_weights.get({l, l.pipeline}, held) > room;
}

/// Whether the upper bound of memory_of() surely exceeds so much: tensors of one moment of the first stage do. False
/// decides nothing.
constexpr bool surely_exceeds(const job& j, const layout& l, const cluster& c, byte_count room,
                              training_folds& training, serving_folds& serving) {
    return trains(j) ? surely_exceeds(j, l, sdpa_backend_of(c.gpu), room, training)
                     : first_weights_exceed(j, l, c, room, serving);
}

/// That of a job that trains.
constexpr memory_breakdown training_memory_of(const job& j, const layout& l, const cluster& c, training_folds& folds) {
    memory_breakdown m = training_memory(j, l, 0, l.pipeline, sdpa_backend_of(c.gpu), folds);
    if (c.gpu.measured.context) m[memory_term::runtime] = context_on(j.runtime, c.gpu) + j.runtime.process.cuda_graphs;
    if (m.evictable > byte_count{} && evicts_managed_memory(c.gpu)) m.evict_beyond(available_memory(c));
    if (m.releasable.high > byte_count{}) m.release_beyond(available_memory(c));
    return m;
}

/// memory_of(), with what layouts of the same job and cluster have in common.
constexpr memory_breakdown memory_of(const job& j, const layout& l, const cluster& c, training_folds& training,
                                     serving_folds& serving) {
    if (trains(j)) return training_memory_of(j, l, c, training);
    // For one layout alone, to keep the runtime would be a copy of it: a fourteenth of a small plan's time.
    if (!serving.stages.keeps()) return busiest_stage(j, l, on_device(j, c.gpu, l), serving);
    return busiest_stage(j, l, on_device(j, l, c, serving), serving);
}

}  // namespace detail

/// Memory of a GPU of the busiest pipeline stage, with the runtime's defaults for the cluster's GPU and what its
/// allocator would give back there.
constexpr memory_breakdown memory_of(const job& j, const layout& l, const cluster& c) {
    detail::training_folds training;
    detail::serving_folds serving;
    return detail::memory_of(j, l, c, training, serving);
}

namespace detail {

/// host_memory_of(), with what layouts of the same job and cluster have in common.
constexpr interval<byte_count> host_memory_of(const job& j, const layout& l, const cluster& c, training_folds& folds) {
    if (!trains(j)) return serving_host_memory(j, l, c.node_size());
    return trains_from_host(j) ? host_memory_of_node(j, l, c.node_size(), folds) : interval<byte_count>{};
}

}  // namespace detail

/// Main memory that the job takes on the fullest node: what training offloads to it, or what a serving runtime leaves
/// there. Zero where neither does.
constexpr interval<byte_count> host_memory_of(const job& j, const layout& l, const cluster& c) {
    detail::training_folds folds;
    return detail::host_memory_of(j, l, c, folds);
}

/// A start that an engine refuses, because less of the GPU is there than it takes, or than it sets aside.
struct refused_start {
    byte_count asked{};  ///< the fraction of the whole GPU, or what is set aside of it
    byte_count free{};   ///< what is expected to be free beside the engine's context, or the whole GPU
};

/// The start that an engine refuses because other processes hold a part of its fraction; unknown where it starts
/// (vLLM, v1/worker/utils.py, request_memory: free memory less than the utilization of the whole is an error).
constexpr maybe<refused_start> start_refused(const job& j, const cluster& c) {
    const runtime_cache& cache = j.runtime.cache;
    const bool shares = cache.pool == cache_pool::share_of_total && cache.fraction && *cache.fraction > 0;
    if (trains(j) || !shares || !cache.refuses_less) return {};
    const byte_count asked = scaled_down(usable_memory(c.gpu), *cache.fraction);
    const byte_count free = available_memory(c) - context_on(j.runtime, c.gpu).expected;
    return free < asked ? maybe<refused_start>{{asked, free > byte_count{} ? free : byte_count{}}}
                        : maybe<refused_start>{};
}

/// The start that an engine refuses in a layout: the one above, or since it sets more of the GPU aside for its steps
/// than there is, which leaves no pool (SGLang: "Not enough memory. Please try to increase --mem-fraction-static").
constexpr maybe<refused_start> start_refused(const job& j, const layout& l, const cluster& c) {
    if (const maybe<refused_start> beside = start_refused(j, c)) return beside;
    const maybe<start_choices> chosen = trains(j) ? maybe<start_choices>{} : choices_at_start(j, c.gpu, l);
    if (!chosen || chosen->fraction.value_or(1.0) > 0) return {};
    const byte_count device = usable_memory(c.gpu);
    return refused_start{device + scaled_up(device, -*chosen->fraction), device};
}

/// What an engine lets itself use of a GPU: all that is free, or a fraction of the whole and what it does not count
/// into that fraction (its context, and in some versions its CUDA graphs). Zero where the engine does not start,
/// because others hold a part of its fraction, or because it would take none of so small a device.
constexpr byte_count usable_memory(const job& j, const cluster& c) {
    const runtime& r = j.runtime;
    const byte_count free = available_memory(c);
    if (!r.cache.fraction) return free;
    if (*r.cache.fraction <= 0) return {};
    if (r.cache.pool != cache_pool::share_of_total) return free;
    const byte_count fraction = scaled_down(usable_memory(c.gpu), *r.cache.fraction);
    const interval<byte_count> context = context_on(r, c.gpu);
    if (start_refused(j, c)) return {};
    // A pool that the caller sized is allocated whatever the fraction (vLLM, gpu_worker.py:
    // determine_available_memory).
    if (j.options.cache_bytes > byte_count{} || j.options.cache_blocks > 0) return free;
    const byte_count beside = r.cache.graphs_deducted ? context.high : context.high + r.process.cuda_graphs.high;
    return fraction + beside < free ? fraction + beside : free;
}

/// The most that serving takes of unified memory while it starts, where the engine's pool is a fraction of what CUDA
/// calls free or of the whole: the weights on the GPU, and once more as pages of the files that they are read from,
/// which CUDA does not count as free (vLLM issue 48140: mem_get_info() is the kernel's MemFree), and the largest step,
/// before the cache is allocated; what the host needs is in `workspace`. Zero where the GPU has memory of its own, and
/// where Metal's working set leaves pages of files out. In-sample: vLLM issue 46307, 48 GiB of bf16 weights on a GB10
/// with 119 GiB, of which 112 were in use in the profiling run at gpu_memory_utilization 0.70; the host hung.
constexpr byte_count most_at_start(const job& j, const memory_breakdown& m, const gpu& card) {
    if (trains(j) || !shares_host_memory(card) || card.vendor == gpu_vendor::apple || !takes_fraction(j.runtime.cache))
        return {};
    byte_count most = m[memory_term::weights].high * 2;
    for (const memory_term t : {memory_term::adapter, memory_term::activations, memory_term::logits,
                                memory_term::communication, memory_term::workspace, memory_term::runtime})
        most += m[t].high;
    return most;
}

namespace detail {

/// Whether a job asks for a kernel that the GPU cannot run.
constexpr bool lacks_flash_attention(const job& j, const gpu& card) {
    return j.attention == attention_kernel::flash && card.vendor == gpu_vendor::nvidia && !has_flash_attention(card);
}

/// Whether a node's main memory has room for what lies there even at its upper bound, as far as its size is known.
/// Where GPU and host share their memory, the host has what the GPU leaves of it.
constexpr bool host_memory_fits(const job& j, const layout& l, const cluster& c, const memory_breakdown& m) {
    const byte_count held = host_memory_of(j, l, c).high;
    if (held == byte_count{}) return true;
    if (shares_host_memory(c.gpu)) return held + m.total().high <= usable_memory(c.gpu);
    return c.host.memory == byte_count{} || held <= c.host.memory;
}

}  // namespace detail

/// True if the busiest GPU surely holds the job's memory (memory_breakdown::surely_within()), and the pool that the
/// caller sized its caches, on unified memory while the job starts, too, if main memory has room for what lies there,
/// and if the GPU has the job's attention kernel. Preconditions: validate() holds for job, layout and cluster.
constexpr bool memory_fits(const job& j, const layout& l, const cluster& c) {
    if (detail::lacks_flash_attention(j, c.gpu)) return false;
    const memory_breakdown m = memory_of(j, l, c);
    return m.surely_within(usable_memory(j, c)) && most_at_start(j, m, c.gpu) <= available_memory(c) &&
           (trains(j) || detail::pool_holds(j, l, m)) && !start_refused(j, l, c) &&
           detail::host_memory_fits(j, l, c, m);
}

}  // namespace llmres::inline v0
