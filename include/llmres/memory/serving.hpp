// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/ggml/stage.hpp>
#include <llmres/memory/serving/host.hpp>
#include <llmres/memory/serving/remembered.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Memory of serving: weights, the cache of every sequence at its full context, and the fullest moment of a step.
namespace llmres::inline v0 {

/// The busiest pipeline stage, under the job's own runtime or another (its defaults resolved for a device, say).
/// Preconditions: validate() holds for job and layout.
constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r);
/// The memory of the busiest stage under the job's own runtime.
constexpr memory_breakdown serving_memory(const job& j, const layout& l);

/// One pipeline stage, the busiest or not, from 0 to l.pipeline - 1.
constexpr memory_breakdown serving_memory_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage);

/// The phases of serving on a GPU of one pipeline stage: the largest is `allocated` of that stage's memory.
constexpr serving_phases serving_phases_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage);

/// Main memory that a runtime's processes take on a node with so many GPUs: what it leaves on the host, once a replica.
/// Low: without weights that are pages of a mapped file, which the kernel may drop (runtime_loading::maps_weights).
/// Processes share such pages. Zero where nothing is left there.
constexpr interval<byte_count> serving_host_memory(const job& j, const layout& l, std::int32_t gpus);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Caches of attention and states of recurrences.
struct sequence_caches {
    allotment cache{};
    byte_count state{};

    constexpr byte_count allocated() const { return cache.allocated + state; }
};

/// One GPU's share, before the engine adds to it.
struct serving_stage {
    byte_count weights{};
    byte_count adapters{};
    allotment cache{};
    byte_count state{};
    byte_count live{};
    bool last = false;
    std::int32_t index = 0;
    byte_count more_weights{};    ///< expected beside them: joined copies, padding
    byte_count padded_weights{};  ///< beyond those, where other kernels are there
    byte_count maybe_weights{};   ///< that some checkpoints hold, and the padded ones
    step_peak graph{};            ///< of a graph laid out tensor by tensor; nothing for most engines

    constexpr byte_count held() const { return weights + more_weights + adapters + cache.allocated + state; }
};

/// The pool of a GPU as the caller sized it, in bytes or in tokens, where its sequences take `own` of it; nothing where
/// the caller did not. Caches that are allotted token by token, or for the sequences themselves, are no pool.
constexpr maybe<byte_count> pool_as_set(const job& j, const runtime& r, const layout& l, byte_count own) {
    if (!takes_fraction(r.cache)) return {};
    if (j.options.cache_bytes > byte_count{}) return j.options.cache_bytes;
    const token_count set = tokens_set(j, r);
    if (set <= token_count{}) return {};
    return scaled_down(own, ratio(set, tokens_of_sequences(j, r, sequences_per_rank(j, l))));
}

/// Whether the pool that the caller sized holds the caches of the job's sequences, on a GPU with that memory.
constexpr bool pool_holds(const job& j, const layout& l, const memory_breakdown& m) {
    const runtime& r = j.runtime;
    if (j.options.cache_bytes > byte_count{} && takes_fraction(r.cache))
        return m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected <= j.options.cache_bytes;
    const token_count set = tokens_set(j, r);
    return set <= token_count{} || r.cache.pool == cache_pool::grows ||
           tokens_of_sequences(j, r, sequences_per_rank(j, l)) <= set;
}

/// What a pool that is a fraction leaves beside itself and what counts into it, `pooled` in all.
constexpr byte_count left_beside(const runtime& r, byte_count pooled) {
    return scaled_up(pooled, 1.0 / r.cache.fraction.value_or(1.0) - 1.0);
}
/// What takes its room in that rest where weights and cache are the fraction: the step, the attention kernels'
/// workspaces (FlashInfer's is allocated behind the pool) and CUDA graphs.
constexpr interval<byte_count> in_the_rest(const runtime& r, const memory_breakdown& m) {
    return m[memory_term::activations] + m[memory_term::logits] + r.process.workspace + r.process.cuda_graphs;
}

/// What is left of the device for nothing else, because pools are fractions, or as large as the caller said.
constexpr interval<byte_count> withheld(const job& j, const runtime& r, const layout& l, const memory_breakdown& m) {
    const auto unused = [&](byte_count pooled, byte_count rest) { return beyond(left_beside(r, pooled), rest); };
    const interval<byte_count>& weights = m[memory_term::weights];
    const interval<byte_count> cache = m[memory_term::kv_cache] + m[memory_term::recurrent_state];
    if (r.cache.pool == cache_pool::share_of_free)
        return {unused(cache.low, {}), unused(cache.expected, {}), unused(cache.high, {})};
    if (r.cache.pool == cache_pool::share_of_total)
        if (const maybe<byte_count> set = pool_as_set(j, r, l, cache.expected); set && *set > cache.expected)
            return *set - cache.expected;
    if (r.cache.pool != cache_pool::share_with_weights) return {};
    const interval<byte_count> step = in_the_rest(r, m);
    return {unused(weights.low + cache.low, step.high), unused(weights.expected + cache.expected, step.expected),
            unused(weights.high + cache.high, step.low)};
}

/// By how much the upper bounds of the terms exceed that of their sum: where a step takes most, it leaves least of the
/// rest of a pool unused.
constexpr byte_count never_both(const runtime& r, const memory_breakdown& m) {
    if (r.cache.pool != cache_pool::share_with_weights) return {};
    const byte_count pooled =
        m[memory_term::weights].high + m[memory_term::kv_cache].high + m[memory_term::recurrent_state].high;
    const byte_count rest = left_beside(r, pooled);
    const interval<byte_count> step = in_the_rest(r, m);
    const auto within = [&](byte_count size) { return size < rest ? size : rest; };
    return within(step.high) - within(step.low);
}

/// How much of the cache is there: a part of it, or copies of the whole.
struct cache_part {
    double part = 1.0;
    std::int32_t copies = 1;

    /// Of so much cache. Not linear, as it rounds: what several layers have is at(all of them).
    constexpr byte_count at(byte_count cache) const {
        return part == 1.0 ? cache * copies : scaled_up(cache, part) * copies;
    }
};

/// What is there at the fullest point of a GPU's steps.
struct serving_peak {
    cache_part cache{};   ///< of the expected kv_cache term
    bool joined = false;  ///< joined projections are there beside those they are made of
};

/// Where the cache grows: the prompts' own part of it while they pass, and all of it, with copies, at the last token.
constexpr cache_part cache_of_prompts(const serving_step& step) {
    return {.part = ratio(prompt_of(step.job), context_of(step.job))};
}
constexpr cache_part whole_cache(const serving_step& step) { return {.copies = step.runtime.cache.copies}; }

constexpr bool cache_grows(const serving_step& step, const runtime& r) {
    return r.cache.whole_batches && step.job.output > token_count{};
}

/// The fullest moment of a step.
constexpr step_peak step_peak_of(const serving_stage& s, const serving_step& step) {
    step_peak peak = s.graph.all().expected > byte_count{} ? s.graph : step.peak(s.live, s.last, s.index);
    if (step.job.model.from_tensors) {
        interval<byte_count>& estimated = peak.activations;
        estimated = {scaled_up(estimated.low, undescribed_activations.low), estimated.expected,
                     scaled_up(estimated.high, undescribed_activations.high)};
    }
    return peak;
}

/// Where the cache grows, prompts pass beside their own part of it; when the last token is made it is whole, and may be
/// there once more, handed on beside what was read, if the caller holds on to that. The fuller of the two moments
/// counts.
[[gnu::cold]] constexpr cache_part choose_moment(memory_breakdown& m, const serving_stage& s, const serving_step& step,
                                                 const step_peak& peak) {
    const byte_count prompts = cache_of_prompts(step).at(s.cache.allocated);
    const byte_count whole = whole_cache(step).at(s.cache.allocated);
    const interval<byte_count> scores = step.logits_of_sequences();
    if (whole + scores.expected > prompts + peak.all().expected) {
        m.phase = phase::decode;
        m[memory_term::kv_cache] = {s.cache.allocated, whole, whole};
        m[memory_term::activations] = {};
        m[memory_term::logits] = scores;
        return whole_cache(step);
    }
    m[memory_term::kv_cache] = {prompts, prompts, s.cache.allocated};
    return cache_of_prompts(step);
}

/// What an engine's rounding adds to a part of the cache, or to copies of it; negative where it keeps less than the
/// model looks back at.
constexpr byte_count rounding_of(const allotment& cache, byte_count part) {
    const byte_count added = cache.allocated - cache.ideal;
    return part == cache.allocated ? added : scaled_up(added, ratio(part, cache.allocated));
}

/// Projections are joined before the first step, and that moment may be the fuller one: then true.
constexpr bool join_before(memory_breakdown& m, byte_count joined) {
    const interval<byte_count> steps = m[memory_term::activations] + m[memory_term::logits];
    if (joined <= steps.expected) return false;
    m.phase = phase::load;
    m[memory_term::weights] +=
        {steps.low < joined ? steps.low : joined, joined, joined > steps.high ? joined : steps.high};
    m[memory_term::activations] = m[memory_term::logits] = {};
    return true;
}

/// A pair's buffers, and as much again for each doubling of a group; the low bound is a pair's, and so are the stages
/// of a pipeline, which talk to their neighbours.
constexpr interval<byte_count> communicators(const runtime& r, const layout& l) {
    interval<byte_count> all;
    if (r.process.communicator_once) {
        if (l.tensor > 1 || l.expert > 1 || l.dense_data_ranks() > 1) all = r.process.communicator;
        if (l.tensor > 1 && l.pipeline == 1 && l.dense_data_ranks() == 1) all += r.process.fused_all_reduce;
        return all;
    }
    const auto group = [&](std::int64_t ranks) {
        if (ranks < 2) return;
        std::int64_t doublings = 1;
        while (std::int64_t{1} << doublings < ranks) ++doublings;
        all += {r.process.communicator.low, r.process.communicator.expected * doublings,
                r.process.communicator.high * doublings};
    };
    group(l.tensor);
    group(l.pipeline > 1 ? 2 : 1);
    group(l.dense_data_ranks());
    group(l.expert);
    return all;
}

/// Adds the tensors at the fullest point to a breakdown that is empty.
constexpr serving_peak add_peak(memory_breakdown& m, const serving_stage& s, const serving_step& step,
                                const runtime& r) {
    serving_peak p;
    m.stage = s.index;
    m.phase = phase::prefill;
    const step_peak peak = step_peak_of(s, step);
    const byte_count more = r.loading.projections == projection_tensors::joined ? byte_count{} : s.more_weights;
    m[memory_term::weights] = {s.weights, s.weights + more, s.weights + more + s.maybe_weights};
    m[memory_term::adapter] = s.adapters;
    m[memory_term::kv_cache] = s.cache.allocated;
    m[memory_term::recurrent_state] = s.state;
    m[memory_term::activations] = peak.activations;
    m[memory_term::logits] = peak.logits;
    if (step.prompts_unknown()) m[memory_term::activations].low = m[memory_term::logits].low = {};
    if (cache_grows(step, r)) p.cache = choose_moment(m, s, step, peak);
    if (r.loading.projections == projection_tensors::joined) p.joined = join_before(m, s.more_weights);
    return p;
}

constexpr serving_phases phases_of(const serving_stage& s, const serving_step& step, const runtime& r) {
    const bool joins = r.loading.projections == projection_tensors::joined;  // modules that have their cache already
    const bool grows = cache_grows(step, r);
    const byte_count cache = s.cache.allocated;
    const byte_count weights = s.weights + s.adapters;
    const byte_count held = weights + s.state + (joins ? byte_count{} : s.more_weights);
    const byte_count scores = grows || s.last ? step.logits_of_sequences().expected : byte_count{};
    return {.load = weights + s.more_weights + (joins ? cache + s.state : byte_count{}),
            .prefill = held + (grows ? cache_of_prompts(step).at(cache) : cache) + step_peak_of(s, step).all().expected,
            .decode = held + (grows ? whole_cache(step).at(cache) : cache) + scores};
}

constexpr memory_breakdown with_engine(const serving_stage& s, const serving_step& step, const runtime& r,
                                       const layout& l) {
    memory_breakdown m;
    add_peak(m, s, step, r);
    m.allocated = m.total();
    m.ideal = m.allocated.expected - rounding_of(s.cache, m[memory_term::kv_cache].expected);

    const byte_count hoarded = step.beside_peak(s.live, s.last);
    // A pool is allocated once, as one tensor a layer: no part of it is fragmented.
    const bool pooled = takes_fraction(r.cache);
    const interval<byte_count> cache = m[memory_term::kv_cache] + m[memory_term::recurrent_state];
    const auto beside_pool = [&](byte_count all, byte_count pool) { return pooled ? all - pool : all; };
    interval<byte_count> slack{
        scaled_up(beside_pool(m.allocated.low, cache.low), r.allocator.fragmentation.low),
        scaled_up(beside_pool(m.allocated.expected, cache.expected), r.allocator.fragmentation.expected) + hoarded,
        scaled_up(beside_pool(m.allocated.high, cache.high), r.allocator.fragmentation.high) + hoarded};
    // Blocks of a long prompt are split for smaller tensors, and the next layer's find none as large: GLM-4 at 32 000
    // to 200 000 tokens takes its activations twice. Scores are as large in every layer, and find their own blocks
    // again.
    if (r.allocator.caches_freed_blocks && step.kernel != attention_kernel::eager)
        slack.high += m[memory_term::activations].high;
    m.reserved = m.allocated + slack;
    m[memory_term::fragmentation] = slack + withheld(step.job, r, l, m);
    m.never_both = never_both(r, m);
    m[memory_term::runtime] = r.process.context + graphs_of(step.job, r, l);
    const bool stages_first = l.pipeline > 1 && r.process.stage_workspace.high > byte_count{};
    m[memory_term::workspace] = stages_first ? r.process.stage_workspace : r.process.workspace;
    if (s.last) m[memory_term::workspace] += step.filter_stacks();
    if (l.gpus() > 1) m[memory_term::communication] += communicators(r, l);
    return m;
}

/// What all stages of a layout need to know, made once.
struct serving_stages {
    const llmres::job& job;
    const llmres::layout& layout;
    const llmres::runtime& runtime;
    detail::serving_step step;
    serving_weights weights;
    std::int64_t sequences;
    byte_count encoders;
    byte_count rope;  ///< tables of rotary positions that layers share
    by_kind<serving_layer> kinds;
    serving_folds* known;  ///< what earlier layouts of the same job had in common with this one; null: nothing

    constexpr serving_stages(const llmres::job& j, const llmres::layout& l, const llmres::runtime& r,
                             const file_layers* file, serving_folds* remembering = nullptr)
        : job{j},
          layout{l},
          runtime{r},
          step{j, r, l},
          weights{j, l, r, file},
          sequences{sequences_per_rank(j, l)},
          encoders{step.encoder_peak()},
          rope{weights.rope_table()},
          known{remembering} {
        mixer_bytes mixers;
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
            kinds.set(k, known ? known->layers.get(key_of_layer(step, sequences, static_cast<std::int32_t>(k)),
                                                   [&] { return layer_of(k, mixers); })
                               : layer_of(k, mixers));
    }
    constexpr serving_layer layer_of(std::size_t k, mixer_bytes& mixers) const {
        const layer& kind = job.model.layers.kinds[k];
        return {weights_of(k, mixers), step.layer_peak(kind), cache_of(kind.attention),
                layer_state(kind.recurrent, job, runtime, layout, sequences)};
    }

    constexpr weights_of_kind weights_of(std::size_t k, mixer_bytes& mixers) const {
        const layer& kind = job.model.layers.kinds[k];
        const auto folded = [&] {
            return weights_of_kind{weights.of_kind(kind, mixers), weights.adapters_of(kind), beside_weights(kind),
                                   weights.mxfp4_of(kind).perhaps};
        };
        return known ? known->kinds.get(without_shards(layout, static_cast<std::int32_t>(k)), folded) : folded();
    }
    constexpr byte_count ends_of(const placement& here) const {
        const auto folded = [&] { return weights.of_ends(here); };
        return known ? known->ends.get(key_of_ends(layout, here), folded) : folded();
    }

    constexpr bool is_last(const placement& here) const { return here.stage == layout.pipeline - 1; }

    /// What the sequences of a rank keep on a stage, of its layers and of those beside them.
    constexpr sequence_caches caches_of(const placement& here) const {
        sequence_caches held{.cache = cache_beside_layers(here)};
        for (std::size_t k = 0; k < static_cast<std::size_t>(job.model.layers.kind_count); ++k) {
            held.cache += kinds[k].cache * here.counts[k];
            held.state += kinds[k].state * here.counts[k];
        }
        return held;
    }

    /// `before`: the graph of another stage of the layout, which this one's takes what it can from.
    constexpr serving_stage stage(const placement& here, remembered_graph* before = nullptr) const {
        const model& m = job.model;
        const sequence_caches caches = caches_of(here);
        serving_stage s{.weights = ends_of(here) + rope + draft_weights(here),
                        .cache = caches.cache,
                        .state = caches.state,
                        .last = is_last(here),
                        .index = here.stage};
        if (here.stage == 0) s.live = encoders;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            const weights_of_kind& held = kinds[k].held;
            s.weights += held.weights.rest * here.counts[k] + held.weights.experts * here.expert_counts[k];
            s.more_weights += held.more * here.counts[k];
            s.padded_weights += held.padded * here.counts[k];
            s.adapters += held.adapters * here.counts[k];
            if (here.counts[k] > 0 && kinds[k].live > s.live) s.live = kinds[k].live;
        }
        if (weights.file) s.weights += weights.of_file(here);
        const bool experts_on_host = here.expert_layers.size() < here.layers.size();
        if (runtime.serving_kernels.graph.laid_out || (experts_on_host && runtime.loading.host_experts.copied)) {
            const stage_graph graph{job,         layout,  runtime,       step,       weights,
                                    here.layers, s.index, is_last(here), here.output};
            if (graph.possible())
                s.graph = known    ? known->graphs.peak_of(graph)
                          : before ? peak_of_graph(graph, *before)
                                   : graph.peak(graph.key());
        }
        s.maybe_weights = weights.perhaps(s.weights, is_last(here)) + s.padded_weights;
        return s;
    }

    static constexpr const step_peak& peak_of_graph(const stage_graph& graph, remembered_graph& before) {
        const stage_graph_key key = graph.key();
        if (before.known && before.key == key) return before.peak;
        before.peak = graph.peak(key, &before);
        before.key = key;
        before.known = true;
        return before.peak;
    }

    /// What a layer of a kind holds beside its weights: joined copies, and experts as their kernels want them.
    constexpr byte_count beside_weights(const layer& kind) const {
        if (runtime.loading.projections != projection_tensors::joined && !runtime.loading.mxfp4.padded) return {};
        return weights.joined_of(kind) + weights.mxfp4_of(kind).expected;
    }
    constexpr allotment cache_of(const attention& a) const { return layer_cache(a, job, runtime, layout, sequences); }
    /// Of a draft model, on the last stage, split by the tensor ranks as the model is (vLLM:
    /// draft_tensor_parallel_size).
    constexpr byte_count draft_weights(const placement& here) const {
        return is_last(here) ? div_up(job.options.draft_weights, layout.tensor) : byte_count{};
    }
    constexpr byte_count draft_cache(const placement& here) const {
        if (!is_last(here) || job.options.draft_weights == byte_count{}) return {};
        return div_up(job.options.draft_kv * context_of(job) * sequences, layout.tensor);
    }
    /// Caches of layers that predict further tokens, and of a draft model.
    constexpr allotment cache_beside_layers(const placement& here) const {
        allotment all{draft_cache(here), draft_cache(here)};
        if (here.predictions > 0) all += cache_of(job.model.prediction.block.attention) * here.predictions;
        return all;
    }

    constexpr memory_breakdown memory(const placement& here, remembered_graph* before = nullptr) const {
        return with_engine(stage(here, before), step, runtime, layout);
    }
    constexpr memory_breakdown memory(std::int32_t index, remembered_graph* before = nullptr) const {
        return memory(placement_of(job, layout, index), before);
    }
};

/// Whether a stage differs from the one before it in the types of a GGUF file's tensors alone: both stand between the
/// first and the last, and have layers of the same kinds in the same order, all of them on GPUs.
constexpr bool repeats_stage_before(const serving_stages& s, const host_part& host, std::int32_t stage) {
    return stage > 1 && stage < s.layout.pipeline - 1 && host.expert_layers == 0 &&
           repeats_layers_before(s.job.model.layers, s.layout, stage);
}

constexpr memory_breakdown busiest_stage(const serving_stages& stages) {
    if (stages.layout.pipeline == 1) return stages.memory(0);
    remembered_graph before;
    memory_breakdown busiest = stages.memory(0, &before);
    byte_count most = busiest.expected();
    const host_part host = host_part_of(stages.job);
    byte_count heaviest;  // layers of a file, of the stages that repeat each other
    for (std::int32_t stage = 1; stage < stages.layout.pipeline; ++stage) {
        const byte_count file = stages.weights.file
                                    ? stages.weights.of_file(serving_layers(stages.job, host, stages.layout, stage))
                                    : byte_count{};
        if (repeats_stage_before(stages, host, stage) && file <= heaviest) continue;
        heaviest = file;
        const memory_breakdown m = stages.memory(stage, &before);
        if (const byte_count own = m.expected(); own > most) busiest = m, most = own;
    }
    return busiest;
}

}  // namespace detail

constexpr memory_breakdown serving_memory_of_stage(const job& j, const layout& l, const runtime& r,
                                                   std::int32_t stage) {
    const placement here = placement_of(j, l, stage);
    if (!j.gguf) return detail::serving_stages{j, l, r, nullptr}.memory(here);
    const detail::file_layers file{j, r, l.tensor};
    return detail::serving_stages{j, l, r, &file}.memory(here);
}

constexpr serving_phases serving_phases_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage) {
    const auto of_stage = [&](const detail::file_layers* file) {
        const detail::serving_stages stages{j, l, r, file};
        return detail::phases_of(stages.stage(placement_of(j, l, stage)), stages.step, r);
    };
    if (!j.gguf) return of_stage(nullptr);
    const detail::file_layers file{j, r, l.tensor};
    return of_stage(&file);
}

namespace detail {

/// What the stages of a layout have in common with those of earlier layouts of the same job.
constexpr serving_stages remembering_stages(const job& j, const layout& l, const runtime& r, serving_folds& known) {
    return {j, l, r, j.gguf ? &known.file.layers(j, r, l.tensor) : nullptr, &known};
}

/// serving_memory(), with what earlier layouts of the same job had in common with this one.
constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r, serving_folds* known) {
    if (known) return busiest_stage(remembering_stages(j, l, r, *known));
    if (!j.gguf) return busiest_stage({j, l, r, nullptr});
    const file_layers file{j, r, l.tensor};
    return busiest_stage({j, l, r, &file});
}

}  // namespace detail

constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r) {
    return detail::serving_memory(j, l, r, nullptr);
}

constexpr memory_breakdown serving_memory(const job& j, const layout& l) { return serving_memory(j, l, j.runtime); }

constexpr interval<byte_count> serving_host_memory(const job& j, const layout& l, std::int32_t gpus) {
    const detail::host_part host = detail::host_part_of(j);
    const bool no_layers = host.expert_layers == 0;
    if (!host.embedding && !host.head && no_layers) return {};
    const auto of_node = [&](const detail::host_share& share) {
        const std::int64_t replicas = l.all_data_ranks();
        const std::int64_t held = gpus / (std::int64_t{l.tensor} * l.pipeline);
        const std::int64_t processes = held < 1 ? 1 : held < replicas ? held : replicas;
        const bool mapped = j.runtime.loading.maps_weights;
        const byte_count weights = share.weights * (mapped ? 1 : processes);
        const interval<byte_count>& beside = share.beside_them;
        return interval<byte_count>{beside.low * processes + (mapped ? byte_count{} : weights),
                                    beside.expected * processes + weights, beside.high * processes + weights};
    };
    if (!j.gguf || no_layers) return of_node(detail::host_share_of(j, l, nullptr));
    const detail::file_layers file{j, j.runtime};
    return of_node(detail::host_share_of(j, l, &file));
}

}  // namespace llmres::inline v0
