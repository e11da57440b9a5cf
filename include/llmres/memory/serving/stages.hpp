// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/block_pool.hpp>
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
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What do a layout's pipeline stages hold while serving, and which of them is the busiest?
namespace llmres::inline v0::detail {

/// How the layers of a stage share blocks.
constexpr block_pool pool_of_stage(const job& j, const layout& l, const runtime& r, std::int32_t stage) {
    const placement here = placement_of(j, l, stage);
    return block_pool_of(cached_layers_of(j, l, stage, here.counts), j, r, l);
}

/// The pool of a GPU as the caller sized it, in bytes or in tokens, where its sequences take `own` of it; nothing where
/// the caller did not. Caches that are allotted token by token, or for the sequences themselves, are no pool.
constexpr maybe<byte_count> pool_as_set(const job& j, const runtime& r, const layout& l, byte_count own,
                                        std::int32_t stage = 0) {
    if (!takes_fraction(r.cache)) return {};
    if (j.options.cache_blocks > 0 && has_block_pool(j.model, r, l)) {  // whatever bytes it is given
        const shared_blocks shared{j, r, l};
        const block_pool here = pool_of_stage(j, l, r, stage);
        return shared.block_on(here) * j.options.cache_blocks;
    }
    if (j.options.cache_bytes > byte_count{}) return j.options.cache_bytes;
    const token_count set = tokens_set(j, r);
    if (set <= token_count{}) return {};
    const std::int64_t sequences = cached_sequences_of(j, r, sequences_per_rank(j, l));
    if (sequences == 0) return {};
    return scaled_down(own, ratio(set, tokens_of_sequences(j, r, sequences)));
}

/// Whether the pool that the caller sized holds the caches of the job's sequences, on a GPU with that memory.
constexpr bool pool_holds(const job& j, const layout& l, const memory_breakdown& m) {
    const runtime& r = j.runtime;
    const byte_count own = m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
    if (takes_fraction(r.cache) && (j.options.cache_bytes > byte_count{} || has_block_pool(j.model, r, l)))
        return own <= pool_as_set(j, r, l, own, m.stage).value_or(own);
    const token_count set = tokens_set(j, r);
    return set <= token_count{} || r.cache.pool == cache_pool::grows ||
           tokens_of_sequences(j, r, cached_sequences_of(j, r, sequences_per_rank(j, l))) <= set;
}

/// What a pool that is a fraction leaves beside itself and what counts into it, `pooled` in all. Nothing beside a pool
/// that an engine makes no part of a small device: it does not start there (usable_memory()).
constexpr byte_count left_beside(const runtime& r, byte_count pooled) {
    const double part = r.cache.fraction.value_or(1.0);
    return part > 0 ? scaled_up(pooled, 1.0 / part - 1.0) : byte_count{};
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
        if (const maybe<byte_count> set = pool_as_set(j, r, l, cache.expected, m.stage); set && *set > cache.expected)
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
    step_peak peak = s.peak;
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
constexpr cache_part choose_moment(memory_breakdown& m, const serving_stage& s, const serving_step& step,
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

/// Whether stages of a pipeline have a workspace of their own (runtime_process::stage_workspace).
constexpr bool has_stage_workspace(const runtime& r, const layout& l) {
    return l.pipeline > 1 && r.process.stage_workspace.high > byte_count{};
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

/// The memory of a stage but for what add_engine() adds.
constexpr memory_breakdown with_allocator(const serving_stage& s, const serving_step& step, const runtime& r,
                                          const layout& l) {
    memory_breakdown m;
    add_peak(m, s, step, r);
    m.allocated = m[memory_term::weights] + m[memory_term::adapter] + m[memory_term::kv_cache] +
                  m[memory_term::recurrent_state] + m[memory_term::activations] + m[memory_term::logits];
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
    m[memory_term::workspace] = s.last ? step.filter_stacks() : interval<byte_count>{};
    return m;
}
/// Sets what an engine takes of each stage alike.
constexpr void add_engine(memory_breakdown& m, const serving_step& step, const runtime& r, const layout& l) {
    m[memory_term::runtime] = r.process.context + graphs_of(step.job, r, l);
    m[memory_term::workspace] += has_stage_workspace(r, l) ? r.process.stage_workspace : r.process.workspace;
    if (l.gpus() > 1) m[memory_term::communication] = communicators(r, l);
}
constexpr memory_breakdown with_engine(const serving_stage& s, const serving_step& step, const runtime& r,
                                       const layout& l) {
    memory_breakdown m = with_allocator(s, step, r, l);
    add_engine(m, step, r, l);
    return m;
}

/// What the sequences of one rank keep: caches and states of its layers, and of what stands beside them.
struct rank_caches {
    const llmres::job& job;
    const llmres::layout& layout;
    const llmres::runtime& runtime;
    std::int64_t sequences;
    bool grouped;                ///< layers share blocks
    slot<shared_blocks> shared;  ///< meaningful where they do
    by_kind<sequence_caches> layers;

    constexpr rank_caches(const llmres::job& j, const llmres::layout& l, const llmres::runtime& r, serving_folds& folds)
        : job{j},
          layout{l},
          runtime{r},
          sequences{cached_sequences_of(j, r, sequences_per_rank(j, l))},
          grouped{has_groups(j.model, r, l)},
          shared{grouped ? slot{shared_blocks{j, r, l}} : slot<shared_blocks>{}},
          layers{folds.caches.get({l.tensor, l.context_parallel, l.pipeline, sequences}, [&] { return of_layers(); })} {
    }
    rank_caches(const llmres::job&, const llmres::layout&&, const llmres::runtime&,
                serving_folds&) = delete;  // it refers to them

    constexpr std::size_t kinds() const { return static_cast<std::size_t>(job.model.layers.kind_count); }
    constexpr allotment of_layer(const attention& a) const {
        allotment held = layer_cache(a, job, runtime, layout, sequences);
        if (grouped) held.allocated = shared.value.of_layer(layer_kind_of(a, 1, job, runtime, layout), sequences);
        return held;
    }
    constexpr by_kind<sequence_caches> of_layers() const {
        by_kind<sequence_caches> all;
        for (std::size_t k = 0; k < kinds(); ++k) {
            const layer& kind = job.model.layers.kinds[k];
            all.set(k, {of_layer(kind.attention), layer_state(kind.recurrent, job, runtime, layout, sequences)});
        }
        return all;
    }
    /// What a GPU with so many layers of each kind has of blocks beside those of its layers: some groups are padded.
    constexpr byte_count padding_of(std::int32_t stage, const kind_counts& counts, std::int32_t predictions) const {
        if (!grouped) return {};
        byte_count own = of_draft(stage) + of_predictions(predictions).allocated;
        for (std::size_t k = 0; k < kinds(); ++k) own += (layers[k].cache.allocated + layers[k].state) * counts[k];
        const cached_layers here = cached_layers_of(job, layout, stage, counts);
        return shared.value.of(block_pool_of(here, job, runtime, layout), sequences) - own;
    }
    /// Of layers that predict further tokens.
    constexpr allotment of_predictions(std::int32_t predictions) const {
        return predictions > 0 ? of_layer(job.model.prediction.block.attention) * predictions : allotment{};
    }
    /// Of a draft model, on the last stage, split by the tensor ranks as the model is.
    constexpr byte_count of_draft(std::int32_t stage) const {
        if (stage != layout.pipeline - 1 || job.options.draft_weights == byte_count{}) return {};
        return div_up(job.options.draft_kv * context_of(job) * sequences, layout.tensor);
    }
    /// On a stage with so many layers of each kind, and so many that predict further tokens.
    constexpr sequence_caches of_stage(std::int32_t stage, const kind_counts& counts, std::int32_t predictions) const {
        const byte_count draft = of_draft(stage);
        sequence_caches held{.cache = {draft, draft}};
        held.cache += of_predictions(predictions);
        for (std::size_t k = 0; k < kinds(); ++k) {
            held.cache += layers[k].cache * counts[k];
            held.state += layers[k].state * counts[k];
        }
        held.cache.allocated += padding_of(stage, counts, predictions);
        return held;
    }
    constexpr sequence_caches of(const placement& here) const {
        return of_stage(here.stage, here.counts, here.predictions);
    }
};

/// What all stages of a layout need to know, made once.
struct serving_stages {
    const llmres::job& job;
    const llmres::layout& layout;
    const llmres::runtime& runtime;
    detail::serving_step step;
    rank_caches caches;
    serving_folds& folds;  ///< what layouts of the same job have in common
    // What follows is set by fold_layers().
    bool has_layers = false;
    serving_weights weights;
    byte_count encoders{};
    byte_count rope{};  ///< tables of rotary positions that layers share
    by_kind<serving_layer> kinds;

    /// Stages that earlier layouts may have left: layers are not folded before fold_layers().
    constexpr serving_stages(const llmres::job& j, const llmres::layout& l, const llmres::runtime& r,
                             serving_folds& of_layouts)
        : job{j},
          layout{l},
          runtime{r},
          step{j, r, l},
          caches{j, l, r, of_layouts},
          folds{of_layouts},
          weights{j, l, r} {}
    constexpr serving_stages& fold_layers() {
        if (has_layers) return *this;
        has_layers = true;
        weights.resolve(job.gguf ? &folds.file.layers(job, runtime, layout.tensor) : nullptr);
        encoders = step.encoder_peak();
        rope = weights.rope_table();
        mixer_bytes mixers;
        for (std::size_t k = 0; k < caches.kinds(); ++k)
            kinds.set(k, folds.layers.get({fold_of_weights(static_cast<std::int32_t>(k)), step.shape, caches.sequences},
                                          [&] { return layer_of(k, mixers); }));
        return *this;
    }
    /// Key of the weights of a kind of layer, or of a place beside the layers.
    constexpr weights_fold fold_of_weights(std::int32_t of) const { return {step.split, of}; }
    constexpr serving_layer layer_of(std::size_t k, mixer_bytes& mixers) const {
        return {weights_of(k, mixers), step.layer_peak(job.model.layers.kinds[k])};
    }

    constexpr weights_of_kind weights_of(std::size_t k, mixer_bytes& mixers) const {
        const layer& kind = job.model.layers.kinds[k];
        const auto folded = [&] {
            return weights_of_kind{weights.of_kind(kind, mixers), weights.adapters_of(kind), beside_weights(kind),
                                   weights.mxfp4_of(kind).perhaps};
        };
        return folds.kinds.get(fold_of_weights(static_cast<std::int32_t>(k)), folded);
    }
    constexpr byte_count ends_of(const placement& here) const {
        return folds.ends.get(fold_of_weights(number_of_end(here)),
                              [&] { return weights.of_ends(weights.with_own_ends(here)); });
    }

    constexpr bool is_last(const placement& here) const { return here.stage == layout.pipeline - 1; }

    /// `before`: the graph of another stage of the layout, which this one's takes what it can from.
    constexpr serving_stage stage(const placement& here, remembered_graph* before = nullptr) const {
        serving_stage s = without_caches(here, before);
        s.hold(caches.of(here));
        return s;
    }
    /// The same but for what sequences keep.
    constexpr serving_stage without_caches(const placement& here, remembered_graph* before) const {
        const model& m = job.model;
        serving_stage s{
            .weights = ends_of(here) + rope + draft_weights(here), .last = is_last(here), .index = here.stage};
        s.adapters = weights.adapters_of_ends(here);
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
        s.maybe_weights = weights.perhaps(s.weights, s.last) + s.padded_weights;
        s.peak = peak_of(here, s, before);
        return s;
    }
    /// The fullest moment of a step on a stage of which the rest is known.
    constexpr step_peak peak_of(const placement& here, const serving_stage& s, remembered_graph* before) const {
        const bool experts_on_host = here.expert_layers.size() < here.layers.size();
        if (runtime.serving_kernels.graph.laid_out || (experts_on_host && runtime.loading.host_experts.copied)) {
            const stage_graph graph{job, layout, runtime, step, weights, here.layers, s.index, s.last, here.output};
            if (graph.possible()) {
                const auto room = [&] {
                    return experts_on_host ? byte_count{}
                                           : beyond(before->most, s.held() + caches.of(here).allocated());
                };
                const auto anew = [&] { return graph.peak(graph.key()); };
                const step_peak laid_out = folds.graphs.keeps() ? folds.graphs.get(graph_fold{graph}, anew)
                                           : before             ? peak_of_graph(graph, *before, room())
                                                                : anew();
                if (laid_out.all().expected > byte_count{}) return laid_out;
            }
        }
        return step.peak(s.live, s.last, s.index);
    }

    /// Of a graph that is sure to take less than `room`, beside which the stage has less than another, no more than
    /// that it takes something.
    static constexpr step_peak peak_of_graph(const stage_graph& graph, remembered_graph& before, byte_count room) {
        const stage_graph_key key = graph.key();
        if (before.known && before.key == key) return before.peak;
        if (room > byte_count{} && graph.at_most(key, before) < room) return {.activations = bytes(1)};
        before.peak = graph.peak(key, before.written);
        before.key = key;
        before.known = true;
        return before.peak;
    }

    /// What a layer of a kind holds beside its weights: joined copies, and experts as their kernels want them.
    constexpr byte_count beside_weights(const layer& kind) const {
        if (runtime.loading.projections != projection_tensors::joined && !runtime.loading.mxfp4.padded) return {};
        return weights.joined_of(kind) + weights.mxfp4_of(kind).expected;
    }
    /// Of a draft model, on the last stage, split by the tensor ranks as the model is (vLLM:
    /// draft_tensor_parallel_size).
    constexpr byte_count draft_weights(const placement& here) const {
        return is_last(here) ? div_up(job.options.draft_weights, layout.tensor) : byte_count{};
    }

    /// A stage but for its caches, and the next one that may need more.
    constexpr stage_without_caches fixed_stage(std::int32_t index, remembered_graph* before = nullptr) const {
        const placement here = placement_of(job, layout, index);
        return {without_caches(here, before), here.counts, here.predictions, next_stage(index)};
    }
    /// The first stage behind another that may need more than it: not one that differs from those between them in the
    /// types of a GGUF file's tensors alone, and has no larger ones.
    constexpr std::int32_t next_stage(std::int32_t index) const {
        const host_part host = host_part_of(job);
        const auto of_file = [&](std::int32_t stage) {
            return weights.file ? weights.of_file(serving_layers(job, host, layout, stage)) : byte_count{};
        };
        std::int32_t next = index + 1;
        for (const byte_count own = of_file(index); next < layout.pipeline; ++next)
            if (!repeats_stage_before(host, next) || of_file(next) > own) break;
        return next;
    }
    /// Whether a stage differs from the one before it in the types of a GGUF file's tensors alone: both stand between
    /// the first and the last, and have layers of the same kinds in the same order, all of them on GPUs.
    constexpr bool repeats_stage_before(const host_part& host, std::int32_t stage) const {
        return stage > 1 && stage < layout.pipeline - 1 && host.expert_layers == 0 &&
               repeats_layers_before(job.model.layers, layout, stage);
    }

    constexpr memory_breakdown memory(const placement& here) const {
        return with_engine(stage(here), step, runtime, layout);
    }
};

/// Whether of two stages that which has more allocated is expected to need more in all: what else they need is the same
/// for each, or grows with it.
constexpr bool ranks_by_allocated(const serving_stages& stages) {
    const runtime& r = stages.runtime;
    return !takes_fraction(r.cache) && !r.allocator.caches_freed_blocks && r.step.logits.filter_rows == 0 &&
           !cache_grows(stages.step, r) && r.loading.projections != projection_tensors::joined;
}

/// The busiest of a layout's stages, the first of equal ones. `fixed_stage` returns what of each does not hang on its
/// caches, and is told how much any before has allocated. The first stage comes last: the embedding and a few dense
/// layers often make it smaller than those between.
template <class Stage>
constexpr memory_breakdown busiest_of(const serving_stages& stages, const Stage& fixed_stage) {
    const std::int32_t count = stages.layout.pipeline;
    std::int32_t next = count > 1 ? 1 : 0;
    const auto memory_of_next = [&](byte_count allocated) {
        const stage_without_caches& held = fixed_stage(next, allocated);
        serving_stage s = held.stage;
        s.hold(stages.caches.of_stage(next, held.counts, held.predictions));
        next = held.next;
        return with_allocator(s, stages.step, stages.runtime, stages.layout);
    };
    memory_breakdown busiest = memory_of_next({});
    byte_count most = busiest.expected();
    for (bool first = count == 1; !first;) {
        first = next >= count;
        if (first) next = 0;
        const memory_breakdown m = memory_of_next(busiest.allocated.expected);
        if (const byte_count own = m.expected(); own > most || (first && own == most)) busiest = m, most = own;
    }
    add_engine(busiest, stages.step, stages.runtime, stages.layout);
    return busiest;
}
constexpr memory_breakdown busiest_stage(const serving_stages& stages) {
    if (stages.layout.pipeline == 1) return stages.memory(placement_of(stages.job, stages.layout, 0));
    remembered_graph before;
    const bool ranked = ranks_by_allocated(stages);
    stage_without_caches held;
    return busiest_of(stages, [&](std::int32_t stage, byte_count most) -> const stage_without_caches& {
        if (ranked) before.most = most;
        return held = stages.fixed_stage(stage, &before);
    });
}

}  // namespace llmres::inline v0::detail
