// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/memory/block_pool.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/pool.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// How large a batch, how long a context, how large a cache does a layout hold, and on how few GPUs does a job fit?
/// Memory grows with batch and context, but for holes in a buffer that ggml lays out (ggml_buffer::in_holes(), up to
/// 0.1 % of a plan), so these are bisections over memory_fits(). Nothing here allocates.
namespace llmres::inline v0 {

/// The most sequences (training: sequences of a micro-batch) that fit, all else as in the job; 0 if not even one does.
/// At most as many as steps may have, where the caller says so (max_num_seqs).
/// Errors: a field of job, layout or cluster out of its bounds.
constexpr result<std::int64_t> max_batch(const job& j, const layout& l, const cluster& c);

/// The longest context (training: sequence) that fits at the job's batch, at most the model's own where that is known;
/// 0 tokens if not even one does. Shorter ones may not fit, where a runtime computes prompts up to a length whole
/// (serving_step::chunked_beyond). A prompt, its shared prefix or an output that is longer than the context is
/// shortened. Errors: a field of job, layout or cluster out of its bounds.
constexpr result<token_count> max_context(const job& j, const layout& l, const cluster& c);

/// The pool that a runtime allocates for caches on the busiest GPU; of runtimes without a pool, the memory that is free
/// for caches.
struct pool_size {
    interval<byte_count> memory{};  ///< size of the pool; low: if everything else is at its upper bound
    /// Tokens that the expected bytes hold, in whole blocks; windowed layers count as at the job's context. Where
    /// layers share blocks in groups: those of so many sequences as are `admitted`, which is what vLLM prints.
    token_count token_room{};
    std::int64_t blocks = 0;  ///< blocks of the runtime's size; tokens where it has none
    /// Tokens that a block holds of an attention layer; of the narrowest where layers share blocks. They grow where a
    /// recurrence keeps its states in blocks (memory/block_pool.hpp). 0: the runtime has no blocks, or no such layer.
    token_count block{};
    /// Sequences of the job's context that the pool admits, at the bounds of its size. At most as many as the low bound
    /// says surely fit: max_batch() is no more.
    interval<double> sequences{};
    /// Sequences that the whole blocks of the expected bytes admit ("Maximum concurrency" of vLLM's log, which knows of
    /// no shared prefix).
    double admitted = 0;
    /// Sequences whose blocks the expected bytes hold while they decode: more than are `admitted` where layers keep a
    /// window, since a sequence is admitted with room for the tokens of the steps in flight (memory/block_pool.hpp).
    double steady = 0;
    std::int32_t stage = 0;  ///< pipeline stage of that GPU
};
/// The pool for caches, all else as in the job. Errors: a field of job, layout or cluster out of its bounds.
constexpr result<pool_size> cache_pool_of(const job& j, const layout& l, const cluster& c);

/// True where a runtime fills a part of the device with a pool of caches. `m`: the job's memory. A model without caches
/// has no pool (vLLM, encoder_only_attention.py: no KV cache spec).
constexpr bool reserves_pool(const job& j, const memory_breakdown& m) {
    return !trains(j) && takes_fraction(j.runtime.cache) &&
           m[memory_term::kv_cache].high + m[memory_term::recurrent_state].high > byte_count{};
}

/// What a GPU loses to a runtime that reserves a pool, and how much of the pool the job's own sequences leave unused.
struct reserved_memory {
    interval<byte_count> device{};  ///< what the device loses: context, libraries and the whole pool included
    byte_count engine{};            ///< what the runtime holds of it: weights, the pool, and its allocator's buffers
    byte_count unused{};            ///< of the pool, expected
};
/// The same of a job whose memory and pool are known. (The job itself needs less: memory_of() says how much.)
constexpr reserved_memory reserved_by(const memory_breakdown& m, const pool_size& pool);

/// The part of that pool that the job's own sequences leave free at their full context. A runtime keeps the caches of
/// prefixes in it that other prompts may share (vLLM's enable_prefix_caching, SGLang's radix tree), and frees them for
/// new sequences. All zero where nothing is left. Errors: a field of job, layout or cluster out of its bounds.
constexpr result<pool_size> prefix_cache_room(const job& j, const layout& l, const cluster& c);

/// How long the sequences of a batch are. (The job's `context` is the length that a sequence may reach.)
struct length_distribution {
    token_count mean{};     ///< tokens of a sequence on average
    token_count longest{};  ///< tokens of the longest, which must fit beside the others; 0: the mean
};
/// Sequences of such lengths that the pool holds at once; 0 where not one of the longest fits. Errors: a field of job,
/// layout, cluster or lengths out of its bounds.
constexpr result<std::int64_t> concurrent_sequences(const job& j, const layout& l, const cluster& c,
                                                    const length_distribution& lengths);

/// What is changed of a job so that it leaves memory free.
struct fitted_job {
    serving_options options{};  ///< with the layers on GPUs and the experts on the host, where not all fit
    token_count context{};      ///< tokens that a sequence may reach
};

/// What llama.cpp chooses where it is told neither layers nor experts (`--fit`, since December 2025; common/fit.cpp,
/// common_params_fit_impl()). Nothing, where all that it allocates leaves `margin` free on every GPU. Else, with
/// `shortens`, a context between 4,096 tokens a sequence and the job's, by the line between what both take, in steps of
/// 256. Then the most last layers that fit; of a mixture of experts with all routed experts on the host, and where all
/// layers fit so, the routed experts of the most layers. Layers that GPUs share are dealt evenly, not from the last GPU
/// on, and a part of one more layer's experts stays on the host. Errors: a field of job, layout or cluster out of its
/// bounds.
constexpr result<fitted_job> fit_to_memory(const job& j, const layout& l, const cluster& c, bool shortens,
                                           byte_count margin = gib(1));

/// The limits of a job in a layout; unknown where nothing fits.
struct job_limits {
    maybe<std::int64_t> max_batch{};   ///< sequences in flight; when training, sequences in a micro-batch
    maybe<token_count> max_context{};  ///< tokens of a sequence at the job's batch
    maybe<std::int64_t> min_gpus{};    ///< GPUs of the cluster's kind, in this layout or one of the planner's
};

/// The largest batch and context that fit in a layout, and the fewest GPUs that hold the job.
constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c);

/// The fewest GPUs of the cluster's kind that the job fits on, up to `most`: any number in one node, beyond it whole
/// nodes.
constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most = 1024);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The largest number in [0, most] for which holds() is true; holds(0) is assumed. It doubles before it bisects, since
/// answers are mostly small.
template <class Holds>
constexpr std::int64_t largest_that_holds(std::int64_t most, const Holds& holds) {
    std::int64_t good = 0;
    std::int64_t bad = 1;
    while (bad <= most && holds(bad)) {
        good = bad;
        bad = bad > most / 2 ? most + 1 : bad * 2;
    }
    if (bad > most) {
        if (good == most || holds(most)) return most;
        bad = most;
    }
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (holds(middle) ? good : bad) = middle;
    }
    return good;
}

inline constexpr std::int64_t most_sequences = std::int64_t{1} << 24;
inline constexpr std::int64_t most_context = std::int64_t{1} << 30;

/// What the sequences of a rank keep, at the job's context, on a GPU of one stage.
struct cached_sequences {
    job some;
    const layout& l;
    const cluster& c;
    std::int32_t stage = 0;
    /// Each takes as much as the first: everywhere but where one run of cells is allotted at start, in which windows
    /// have cells for a step beside them, and slots a state each, however many sequences there are; and where sequences
    /// begin with the same tokens.
    bool alike = true;
    byte_count one{};  ///< the first's

    constexpr cached_sequences(const job& j, const layout& of_layout, const cluster& on, std::int32_t of_stage)
        : some{j},
          l{of_layout},
          c{on},
          stage{of_stage},
          alike{j.runtime.cache.pool != cache_pool::allotted &&
                shared_tokens(j, j.runtime, context_of(j), {}) == token_count{}} {
        if (!alike) some.options.cache_tokens = {}, some.options.cache_blocks = 0;  // as many cells as they take
        some.batch = l.all_data_ranks();
        if (!alike) {
            one = counted(1);
        } else if (!trains(j)) {
            const memory_breakdown m = serving_memory_of_stage(some, l, on_device(some, c.gpu, l), stage);
            one = m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
        }
    }
    constexpr byte_count of(std::int64_t sequences) {
        return sequences <= 0 ? byte_count{} : alike ? one * sequences : counted(sequences);
    }
    /// The most for which of() is within `room`.
    constexpr std::int64_t within(byte_count room) {
        if (one <= byte_count{} || room < byte_count{}) return 0;
        if (alike) return times_in(one, room);
        return largest_that_holds(most_sequences, [&](std::int64_t sequences) { return of(sequences) <= room; });
    }
    /// The same with the part of one more that the rest would hold.
    constexpr double parts_within(byte_count room) {
        if (alike) return ratio(room, one);
        const std::int64_t whole = within(room);
        if (whole == most_sequences) return static_cast<double>(whole);
        const byte_count before = of(whole);
        return static_cast<double>(whole) + ratio(room - before, of(whole + 1) - before);
    }

private:
    constexpr byte_count counted(std::int64_t sequences) {
        some.batch = l.all_data_ranks() * sequences;
        const runtime r = on_device(some, c.gpu, l);
        serving_folds folds;
        return rank_caches{some, l, r, folds}.of(placement_of(some, l, stage)).allocated();
    }
};

/// Blocks of the stage that has room for the fewest: all stages have as many (vLLM, get_kv_cache_configs()). `busiest`:
/// the pool of the stage that needs the most memory, which those with larger blocks are held against.
struct placed_pool {
    const job& j;
    const layout& l;
    const cluster& c;
    const runtime& r;
};
constexpr std::int64_t fewest_blocks(const shared_blocks& shared, const placed_pool& of, const pool_size& busiest) {
    const auto block_on = [&](std::int32_t stage) { return shared.block_on(pool_of_stage(of.j, of.l, of.r, stage)); };
    const byte_count there = block_on(busiest.stage);
    std::int64_t fewest = times_in(there, busiest.memory.expected);
    for (std::int32_t stage = 0; stage < of.l.pipeline; ++stage) {
        const byte_count block = block_on(stage);
        if (stage == busiest.stage || block <= there) continue;
        const memory_breakdown m = serving_memory_of_stage(of.j, of.l, of.r, stage);
        const std::int64_t blocks = times_in(block, pool_memory_of(of.j, of.l, of.c, m).expected);
        fewest = blocks < fewest ? blocks : fewest;
    }
    return fewest;
}

}  // namespace detail

constexpr result<pool_size> cache_pool_of(const job& j, const layout& l, const cluster& c) {
    if (const status s = detail::validate_all(j, l, c); !s) return s.error();
    const memory_breakdown m = memory_of(j, l, c);
    const runtime r = on_device(j, c.gpu, l);
    pool_size pool{.memory = pool_memory_of(j, l, c, m), .stage = m.stage};
    detail::cached_sequences caches{j, l, c, pool.stage};
    if (caches.one <= byte_count{}) return pool;
    const std::int64_t block = cache_block(r) > token_count{} ? cache_block(r).in(tokens) : 1;
    pool.sequences = {caches.parts_within(pool.memory.low), caches.parts_within(pool.memory.expected),
                      caches.parts_within(pool.memory.high)};
    pool.admitted = pool.steady = pool.sequences.expected;
    if (detail::has_block_pool(j.model, r, l)) {
        const detail::shared_blocks shared{j, r, l};
        pool.blocks = detail::fewest_blocks(shared, {j, l, c, r}, pool);
        pool.block = shared.pool.widest_block();
        pool.admitted = shared.admitted_in(pool.blocks);
        pool.steady = shared.decoding_in(pool.blocks);
        const double alone = static_cast<double>(pool.blocks) /
                             static_cast<double>(shared.pool.blocks_of_sequence(shared.length, shared.in_flight));
        pool.token_room = tokens(static_cast<std::int64_t>(alone * static_cast<double>(context_of(j).in(tokens))));
        return pool;
    }
    const double others = pool.sequences.expected > 1 ? pool.sequences.expected - 1 : 0;
    const double held =
        pool.sequences.expected * static_cast<double>(aligned_up(context_of(j), tokens(block)).in(tokens)) -
        others * static_cast<double>(detail::shared_tokens(j, r, context_of(j), tokens(block)).in(tokens));
    pool.blocks = static_cast<std::int64_t>(held / static_cast<double>(block));
    pool.block = cache_block(r);
    pool.token_room = tokens(pool.blocks * block);
    return pool;
}

constexpr reserved_memory reserved_by(const memory_breakdown& m, const pool_size& pool) {
    const interval<byte_count> own = m[memory_term::kv_cache] + m[memory_term::recurrent_state];
    const interval<byte_count> beside =
        m[memory_term::runtime] + m[memory_term::workspace] + m[memory_term::communication];
    reserved_memory held{.unused = beyond(pool.memory.expected, own.expected)};
    held.engine = m.reserved.expected + held.unused;
    const byte_count expected = held.engine + beside.expected;
    // Where all else takes least the pool is largest.
    const byte_count most_pool = m.reserved.low + beside.low + beyond(pool.memory.high, own.low);
    const byte_count least_pool = m.reserved.high + beside.high + beyond(pool.memory.low, own.high);
    const byte_count low = most_pool < least_pool ? most_pool : least_pool;
    const byte_count high = most_pool < least_pool ? least_pool : most_pool;
    held.device = {low < expected ? low : expected, expected, high > expected ? high : expected};
    return held;
}

constexpr result<pool_size> prefix_cache_room(const job& j, const layout& l, const cluster& c) {
    const result<pool_size> pool = cache_pool_of(j, l, c);
    if (!pool) return pool;
    const memory_breakdown m = memory_of(j, l, c);
    const byte_count own = m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
    pool_size room = *pool;
    room.memory = {beyond(pool->memory.low, own), beyond(pool->memory.expected, own), beyond(pool->memory.high, own)};
    const double left = pool->memory.expected > byte_count{} ? ratio(room.memory.expected, pool->memory.expected) : 0.0;
    if (pool->sequences.expected > 0) {
        const double one = ratio(pool->memory.expected, bytes(1)) / pool->sequences.expected;
        room.sequences = {ratio(room.memory.low, bytes(1)) / one, ratio(room.memory.expected, bytes(1)) / one,
                          ratio(room.memory.high, bytes(1)) / one};
    }
    room.blocks = static_cast<std::int64_t>(static_cast<double>(pool->blocks) * left);
    room.token_room = pool->blocks > 0 ? div_down(pool->token_room * room.blocks, pool->blocks) : token_count{};
    return room;
}

constexpr result<std::int64_t> concurrent_sequences(const job& j, const layout& l, const cluster& c,
                                                    const length_distribution& lengths) {
    job mean = j;
    mean.prompt = mean.output = {};
    mean.context = lengths.mean;
    const token_count most = lengths.longest > lengths.mean ? lengths.longest : lengths.mean;
    job longest = mean;
    longest.context = most;
    const result<pool_size> pool = cache_pool_of(longest, l, c);
    if (!pool) return pool.error();
    if (const status s = in_range("lengths.mean", lengths.mean.in(tokens), 1, detail::most_context); !s)
        return s.error();
    const byte_count long_one = detail::cached_sequences{longest, l, c, pool->stage}.one;
    if (pool->memory.low < long_one) return std::int64_t{0};
    detail::cached_sequences means{mean, l, c, pool->stage};
    const std::int64_t all = means.within(pool->memory.low - long_one + means.one);  // one of them is the longest
    return (all > 1 ? all : 1) * l.all_data_ranks();
}

constexpr result<std::int64_t> max_batch(const job& j, const layout& l, const cluster& c) {
    job tried = j;
    (trains(j) ? tried.micro_batch : tried.batch) = 1;
    if (const status s = detail::validate_all(tried, l, c); !s) return s.error();
    job many = j;  // of more than steps may have, the others wait
    many.batch = detail::most_sequences;
    const std::int64_t most = trains(j) ? detail::most_sequences : sequences_held(many, l);
    return detail::largest_that_holds(most, [&](std::int64_t sequences) {
        (trains(j) ? tried.micro_batch : tried.batch) = sequences;
        return detail::sizes_fit(tried).has_value() && memory_fits(tried, l, c);
    });
}

constexpr result<token_count> max_context(const job& j, const layout& l, const cluster& c) {
    job tried = j;
    const token_count own = trains(j) ? j.model.max_context : scaled_context(j);
    const std::int64_t most = own > token_count{} ? own.in(tokens) : detail::most_context;
    const auto set = [&](token_count context) {
        tried.context = tried.sequence = context;
        tried.prompt = j.prompt < context ? j.prompt : context;
        tried.output = j.output < context - tried.prompt ? j.output : context - tried.prompt;
        tried.shared_prefix = j.shared_prefix < prompt_of(tried) ? j.shared_prefix : prompt_of(tried);
    };
    set(tokens(1));
    if (const status s = detail::validate_all(tried, l, c); !s) return s.error();
    const auto holds = [&](std::int64_t context) {
        set(tokens(context));
        return detail::sizes_fit(tried).has_value() && memory_fits(tried, l, c);
    };
    // Memory falls where a runtime begins to compute prompts in chunks, and grows before and beyond.
    const std::int64_t whole = trains(j) ? 0 : on_device(j, c.gpu, l).step.chunked_beyond.in(tokens);
    if (whole > 0 && whole < most && holds(whole + 1))
        return tokens(whole + 1 + detail::largest_that_holds(most - whole - 1, [&](std::int64_t further) {
                          return holds(whole + 1 + further);
                      }));
    return tokens(detail::largest_that_holds(whole > 0 && whole < most ? whole : most, holds));
}

namespace detail {

/// A search for what fits, as llama.cpp's: its own buffers against what is free behind the CUDA context.
struct memory_fitting {
    static constexpr std::int64_t least_context = 4096;  // --fit-ctx
    static constexpr std::int64_t context_step = 256;

    job tried;
    const layout& l;
    const cluster& c;
    byte_count target;

    constexpr byte_count used() const {
        const memory_breakdown m = memory_of(tried, l, c);
        byte_count all;
        for (const memory_term t : {memory_term::weights, memory_term::adapter, memory_term::kv_cache,
                                    memory_term::recurrent_state, memory_term::activations, memory_term::logits})
            all += m[t].expected;
        return all;
    }
    constexpr bool fits() const { return used() <= target; }
    constexpr byte_count used_at(std::int64_t context) {
        tried.context = tokens(context);
        return used();
    }
    /// Shortens the context of what does not fit; leaves the least where that does not suffice.
    constexpr void shorten() {
        const std::int64_t most = context_of(tried).in(tokens);
        if (most <= least_context) return;
        const byte_count all = used_at(most);
        const byte_count least = used_at(least_context);
        // Whole layers alone are dealt to GPUs: of each, half a layer is expected to be left over.
        byte_count room = target;
        if (l.pipeline > 1) {
            const std::int64_t layers = tried.model.layers.size;
            const byte_count a_layer =
                div_down(memory_of(tried, l, c)[memory_term::weights].expected * l.pipeline, layers);
            const std::int64_t stages = l.pipeline;
            room -= div_down(a_layer * (stages + 1), (has_experts(tried.model) ? 6 : 2) * stages);
        }
        if (room <= least) return;
        const double part = ratio(room - least, all - least);  // below 1: nothing is shortened where all fits
        const std::int64_t more = static_cast<std::int64_t>(static_cast<double>(most - least_context) * part);
        tried.context = tokens(least_context + more - more % context_step);
    }
    constexpr bool fits_with(std::int64_t gpu_layers) {
        tried.options.gpu_layers = static_cast<std::int32_t>(gpu_layers);
        return fits();
    }
    /// With the routed experts of so many last layers on GPUs.
    constexpr bool fits_with_experts(std::int64_t of_layers) {
        tried.options.experts_on_host = true;
        tried.options.host_expert_layers = tried.model.layers.size - static_cast<std::int32_t>(of_layers);
        return fits();
    }
    constexpr void choose_layers() {
        const std::int64_t layers = tried.model.layers.size;
        const bool routed = has_experts(tried.model);
        if (routed) tried.options.experts_on_host = true;
        const std::int64_t most = largest_that_holds(layers + 1, [&](std::int64_t n) { return fits_with(n); });
        tried.options.gpu_layers = static_cast<std::int32_t>(most);
        if (!routed || most <= layers) return;
        fits_with_experts(largest_that_holds(layers - 1, [&](std::int64_t n) { return fits_with_experts(n); }));
    }
};

}  // namespace detail

constexpr result<fitted_job> fit_to_memory(const job& j, const layout& l, const cluster& c, bool shortens,
                                           byte_count margin) {
    if (const status s = detail::validate_all(j, l, c); !s) return s.error();
    const byte_count context = context_on(j.runtime, c.gpu).expected;
    detail::memory_fitting fitting{j, l, c, available_memory(c) - context - margin};
    if (!fitting.fits() && shortens) fitting.shorten();
    if (!fitting.fits() && !j.options.gpu_layers && !j.options.experts_on_host) fitting.choose_layers();
    return fitted_job{fitting.tried.options, context_of(fitting.tried)};
}

namespace detail {

/// A layout on the fewest GPUs of the kind, up to `most`: any number of them in one node, and whole nodes beyond. Nodes
/// are as large as the cluster's, but have 8 GPUs at least: a cluster of fewer may be a part of one.
constexpr maybe<layout> smallest_layout(const job& j, cluster c, std::int32_t most) {
    const std::int32_t node = c.node_size() > 1 ? c.node_size() : usual_node_size(c.gpu);
    c.gpus_per_node = node > 8 ? node : 8;
    c.gpus = most;
    maybe<layout> found;
    const auto good = [&](const layout& l) {
        if (!validate(l, j.model) || !validate_training(j, l, c.gpu) || !memory_fits(j, l, c)) return false;
        found = l;
        return true;
    };
    for (std::int32_t gpus = 1; gpus <= most && !found; gpus += gpus < c.gpus_per_node ? 1 : c.gpus_per_node)
        for_each_layout(j, {.least_gpus = gpus, .most_gpus = gpus}, c, good);
    return found;
}

}  // namespace detail

constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most) {
    const maybe<layout> smallest = detail::smallest_layout(j, c, most);
    return smallest ? maybe<std::int64_t>{smallest->gpus()} : maybe<std::int64_t>{};
}

constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c) {
    job_limits limits{.min_gpus = min_gpus(j, c)};
    // A layout outside the planner's space, with stages of its own or part of a node, may need fewer GPUs.
    if ((!limits.min_gpus || *limits.min_gpus > l.gpus()) && memory_fits(j, l, c)) limits.min_gpus = l.gpus();
    if (const auto batch = max_batch(j, l, c); batch && *batch > 0) limits.max_batch = *batch;
    if (const auto context = max_context(j, l, c); context && *context > token_count{}) limits.max_context = *context;
    return limits;
}

}  // namespace llmres::inline v0
