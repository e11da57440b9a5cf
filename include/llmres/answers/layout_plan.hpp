// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/memory/largest_buffer.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/pool.hpp>
#include <llmres/time/host.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// Does a job fit in one layout, how fast, and what limits it?
namespace llmres::inline v0 {

/// The plan of a job in a given layout. Allocates nothing.
/// Errors: a field of job, layout or cluster out of its bounds; more GPUs in the layout than in the cluster; sizes
/// beyond 2^63 bytes.
constexpr result<job_plan> plan(const job& j, const layout& l, const cluster& c);

class prepared_job;

/// A job on a cluster, both checked once, for the plans of many layouts. It refers to both, which must live as long.
constexpr prepared_job prepare(const job& j, const cluster& c);

/// Makes the plan of a job one that does not fit where a node's main memory, of which the size is known, has no room
/// for what writing a checkpoint takes of it, beside what the job keeps there: the process would be killed as it saves.
constexpr void judge_checkpoint(job_plan& p, const checkpoint_bytes& saved, const cluster& c);

/// True if the plan exists and its verdict is `fits`; quicker than the plan, since it asks for no times.
constexpr bool fits(const job& j, const layout& l, const cluster& c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether a GPU multiplies in an arithmetic. It is assumed to where its rates are unknown.
constexpr bool has_arithmetic(const gpu& card, arithmetic_kind kind) {
    switch (kind) {
        case arithmetic_kind::bf16: return card.rates.bf16.value_or(tflops(1)) > flop_rate{};
        case arithmetic_kind::fp8: return card.rates.fp8.value_or(tflops(1)) > flop_rate{};
        case arithmetic_kind::fp4: return card.rates.fp4.value_or(tflops(1)) > flop_rate{};
        default: return true;
    }
}

/// The arithmetic of a job's products with weights.
constexpr arithmetic_kind weight_arithmetic_of(const job& j) {
    return arithmetic_of(weights_of(j), linear_arithmetic_of(j));
}

/// Appends a reason that has no sizes.
constexpr void note(job_plan& p, reason_code code, memory_term term = memory_term::weights) {
    p.because({.code = code, .gpu = p.gpu, .term = term});
}

/// Whether the busiest GPU has room, and why not.
constexpr void judge_gpu_memory(job_plan& p, const interval<byte_count>& need, const cluster& c) {
    const auto reachable = [&] {
        return shares_host_memory(c.gpu) ? p.usable + (reachable_memory(c.gpu) - usable_memory(c.gpu)) : p.usable;
    };
    p.verdict = p.memory.surely_within(p.usable) ? verdict::fits
                : need.low <= reachable()        ? verdict::tight
                                                 : verdict::does_not_fit;
    const byte_count weights = p.memory[memory_term::weights].expected;
    if (weights > p.usable) p.because({reason_code::weights_exceed, p.gpu, memory_term::weights, weights, p.usable});
    if (p.verdict == verdict::does_not_fit)
        p.because({reason_code::memory_exceeded, p.gpu, p.memory.largest(), need.expected, p.usable});
    // A bound that was cut is at most what is usable; without the cut it shows what the job may ask for.
    const byte_count asked = need.high <= p.usable ? need.high + p.memory.released : need.high;
    if (p.verdict == verdict::tight && asked - p.memory.evicted.high > p.usable)
        p.because({reason_code::memory_tight, p.gpu, p.memory.least_certain(), asked, p.usable});
}

/// On unified memory: whether a job that may fit starts for sure.
constexpr void judge_start(job_plan& p, const job& j, const cluster& c) {
    const byte_count most = most_at_start(j, p.memory, c.gpu), free = available_memory(c);
    if (p.verdict == verdict::does_not_fit || most <= free) return;
    p.verdict = verdict::tight;
    p.memory.phase = phase::start;
    p.because({reason_code::memory_tight, p.gpu, memory_term::weights, most, free});
}

/// Judges the caches by the pool that the caller sized.
constexpr void judge_pool(job_plan& p, const job& j) {
    if (trains(j) || pool_holds(j, p.layout, p.memory)) return;
    const byte_count own = p.memory[memory_term::kv_cache].expected + p.memory[memory_term::recurrent_state].expected;
    p.verdict = verdict::does_not_fit;
    p.because({reason_code::pool_exceeded, p.gpu, memory_term::kv_cache, own,
               pool_as_set(j, j.runtime, p.layout, own, p.memory.stage).value_or(own)});
}

/// Whether the pool has a block of states for each sequence that a step may have.
constexpr void judge_states(job_plan& p, const job& j, const cluster& c) {
    if (p.verdict == verdict::does_not_fit) return;
    const maybe<state_blocks> blocks = state_blocks_of(j, p.layout, c, p.memory);
    if (!blocks || blocks->needed <= blocks->there.low) return;
    p.verdict = blocks->needed > blocks->there.high ? verdict::does_not_fit : verdict::tight;
    p.because({reason_code::states_exceeded, p.gpu, memory_term::recurrent_state, blocks->each * blocks->needed,
               blocks->each * blocks->there.expected});
}

/// Judges the largest single buffer by the most that the driver allocates at once.
constexpr void judge_buffers(job_plan& p, const job& j) {
    const byte_count limit = trains(j) ? byte_count{} : largest_buffer_of(j.options);
    if (limit == byte_count{}) return;
    const largest_buffer largest = largest_serving_buffer(j, p.layout, p.memory);
    if (largest.size.high <= limit) return;
    const verdict most = largest.size.low > limit ? verdict::does_not_fit : verdict::tight;
    if (most > p.verdict) p.verdict = most;
    p.because({reason_code::buffer_exceeded, p.gpu, largest.term, largest.size.high, limit});
}

/// Whether the runtime runs all degrees of the layout.
constexpr void judge_layout(job_plan& p, const job& j, const cluster& c) {
    // One process has the stages of a naive pipeline (transformers: device_map), and so the GPUs of one node.
    if (trains(j) && is_naive(j, p.layout) && p.layout.pipeline > c.node_size()) {
        p.verdict = verdict::does_not_fit;
        return note(p, reason_code::layout_not_run);
    }
    const unrun_degree lacked = unrun_degree_of(j, p.layout);
    if (lacked.name.empty()) return;
    const verdict at_best = lacked.untried ? verdict::tight : verdict::does_not_fit;
    if (at_best > p.verdict) p.verdict = at_best;
    note(p, lacked.untried ? reason_code::layout_unproven : reason_code::layout_not_run);
}

/// Models whose kind of attention no measured run has are tight at best.
constexpr void judge_attention(job_plan& p, const job& j) {
    for (const layer& kind : j.model.layers.distinct()) {
        if (kind.attention.kind != attention_kind::compressed) continue;
        if (p.verdict < verdict::tight) p.verdict = verdict::tight;
        return note(p, reason_code::attention_unmeasured);
    }
}

/// Whether the layout runs only with a checkpoint whose width is padded.
constexpr void judge_groups(job_plan& p, const job& j) {
    if (!cut_blocks_of(j, p.layout).may_be_padded) return;
    if (p.verdict == verdict::fits) p.verdict = verdict::tight;
    note(p, reason_code::groups_cut);
}

/// Whether the runtime starts on the GPU.
constexpr void judge_device(job_plan& p, const job& j, const gpu& card) {
    const device_support support = device_start_of(j, card).support;
    if (support == device_support::runs) return;
    const bool absent = support == device_support::absent;
    if (absent) p.verdict = verdict::does_not_fit;
    note(p, absent ? reason_code::gpu_not_supported : reason_code::gpu_unmeasured);
}

/// Whether the job keeps in main memory what else would lie on GPUs.
constexpr bool offloads(const job& j) { return trains(j) ? trains_from_host(j) : computes_on_host(j); }

/// Whether a node's main memory has room for what training offloads to it, or a serving runtime leaves there. A host of
/// which nothing is known makes a job that offloads tight at best. Where GPU and host share their memory, the host has
/// what the GPU leaves of it, and both fit for sure in what the GPU may use, which leaves the system its part.
constexpr void judge_host_memory(job_plan& p, const job& j, const cluster& c, layout_folds& folds) {
    p.host_memory = host_memory_of(j, p.layout, c, folds.training);
    const auto at_best = [&](verdict most) {
        if (most > p.verdict) p.verdict = most;
    };
    if (p.memory.evicted.high > byte_count{}) {
        const interval<byte_count>& each = p.memory.evicted;
        const std::int64_t gpus = c.node_size() < p.layout.gpus() ? c.node_size() : p.layout.gpus();
        p.host_memory += {each.low * gpus, each.expected * gpus, each.high * gpus};
        p.because({.code = reason_code::states_evicted,
                   .gpu = p.gpu,
                   .term = memory_term::optimizer,
                   .needed = each.high * gpus});
        at_best(verdict::tight);
    }
    const interval<byte_count>& held = p.host_memory;
    if (held.high == byte_count{}) return;
    const bool shared = shares_host_memory(c.gpu);
    const byte_count on_board = c.gpu.memory.fitted, usable = usable_memory(c.gpu);
    const byte_count sure = shared ? usable : c.host.memory;
    const byte_count whole = shared && on_board > usable ? on_board : sure;
    const interval<byte_count> taken = shared ? p.memory.total() : interval<byte_count>{};
    if (whole == byte_count{}) {
        if (!offloads(j) && p.memory.evicted.high == byte_count{}) return;
        at_best(verdict::tight);
        p.because({.code = reason_code::host_memory_unknown, .gpu = p.gpu, .needed = held.high});
    } else if (held.high + taken.high > sure) {
        at_best(held.low + taken.low > whole ? verdict::does_not_fit : verdict::tight);
        p.because({.code = reason_code::host_memory_exceeded,
                   .gpu = p.gpu,
                   .needed = held.high,
                   .available = beyond(sure, taken.high)});
    }
}

/// The verdict on a plan whose memory is known, `need` in all, with its reasons.
constexpr void judge(job_plan& p, const interval<byte_count>& need, const job& j, const cluster& c,
                     layout_folds& folds) {
    if (const maybe<refused_start> start = start_refused(j, p.layout, c)) {
        p.verdict = verdict::does_not_fit;
        p.because({reason_code::start_refused, p.gpu, memory_term::runtime, start->asked, start->free});
    } else {
        judge_gpu_memory(p, need, c);
    }
    judge_start(p, j, c);
    judge_pool(p, j);
    judge_states(p, j, c);
    judge_buffers(p, j);
    judge_layout(p, j, c);
    judge_attention(p, j);
    judge_groups(p, j);
    judge_device(p, j, c.gpu);
    if (lacks_flash_attention(j, c.gpu)) {
        p.verdict = verdict::does_not_fit;
        note(p, reason_code::flash_attention_unsupported);
    }
    judge_host_memory(p, j, c, folds);
    const auto converts = [&](arithmetic_kind kind) {
        return !has_arithmetic(c.gpu, kind) && !(kind == arithmetic_kind::bf16 && serves_in_fp16(j, c.gpu));
    };
    if (converts(j.compute.arithmetic) || converts(weight_arithmetic_of(j))) note(p, reason_code::format_emulated);
    if (j.model.from_tensors)
        note(p, reason_code::from_tensors, memory_term::activations);
    else if (trains(j) && j.runtime.accuracy.undescribed.high > 1 && !folds.training.describes(j.model))
        note(p, reason_code::not_described, memory_term::activations);
    if (j.task == task::finetuning && j.sequence == token_count{}) note(p, reason_code::sequence_assumed);
    if (!trains(j) && exceeds_own_context(j)) note(p, reason_code::context_extended);
    if (leaves_out_experts(j)) note(p, reason_code::experts_left_out);
    if (dequantises(j)) note(p, reason_code::weights_dequantised);
    if (c.gpu.measured.any_rate()) return;
    if (!knows_power(c)) note(p, reason_code::power_unknown);
    if (!c.gpu.sm_count) note(p, reason_code::multiprocessors_unknown);
}

/// usable_memory(), which is the same for all layouts of a job.
constexpr byte_count usable_in_all_layouts(const job& j, const cluster& c, layout_folds& folds) {
    if (!folds.usable) folds.usable = usable_memory(j, c);
    return *folds.usable;
}

/// Memory and verdict of a job, layout and cluster that were validated; without times. `folds`: what layouts of the
/// same job and cluster have in common.
constexpr result<job_plan> judged(const job& j, const layout& l, const cluster& c, layout_folds& folds) {
    result<job_plan> made{in_place{}, [&] {
                              return job_plan{.layout = l,
                                              .usable = usable_in_all_layouts(j, c, folds),
                                              .memory = memory_of(j, l, c, folds.training, folds.serving)};
                          }};
    job_plan& p = *made;
    const interval<byte_count> need = p.memory.total();
    if (is_saturated(need.high)) {
        made = refused(error_code::overflow, "memory", "2^63 bytes or more",
                       "a model, batch and context of a size that exists");
    } else {
        p.gpu = static_cast<std::int32_t>(p.memory.stage * std::int64_t{l.tensor} * l.data * l.context_parallel);
        judge(p, need, j, c, folds);
    }
    return made;
}

/// The plan of a job, layout and cluster that were validated.
constexpr result<job_plan> evaluated(const job& j, const layout& l, const cluster& c, layout_folds& folds) {
    result<job_plan> made = judged(j, l, c, folds);
    if (made) made->speed = speed_of(j, l, c, &made->memory, default_efficiency, folds);
    return made;
}

}  // namespace detail

/// A job on a cluster: what prepare() returns. A plan leaves what it has in common with those of other layouts (states
/// of weights, activations and times of layers) to the next ones, so that they take less time; they are the same as
/// plan()'s. Its first plans allocate room for some 100 kB, and it is for one thread.
class prepared_job {
public:
    /// Checks the job and the cluster, and refers to both. What the job's task is stays the same.
    constexpr prepared_job(const job& j, const cluster& c) : job_{j}, cluster_{c}, checked_{validate(j)} {
        if (checked_) checked_ = validate(c);
    }
    /// Whether job and cluster are right; else what is wrong.
    constexpr const status& checked() const { return checked_; }
    /// The plan in a layout. Errors: those of checked(), and of plan().
    constexpr result<job_plan> plan(const layout& l) {
        if (const status s = placed(l); !s) return s.error();
        return detail::evaluated(job_, l, cluster_, folds_);
    }
    /// Whether the plan in a layout exists and its verdict is `fits`; asks for no times.
    constexpr bool fits(const layout& l) {
        if (!placed(l)) return false;
        const result<job_plan> made = detail::judged(job_, l, cluster_, folds_);
        return made && made->verdict == verdict::fits;
    }

private:
    constexpr status placed(const layout& l) const {
        if (!checked_) return checked_;
        if (const status s = detail::validate_split(job_, l); !s) return s;
        return detail::validate_on(job_, l, cluster_);
    }

    const job& job_;
    const cluster& cluster_;
    status checked_;
    detail::layout_folds folds_{detail::folds_are::kept};
};

constexpr prepared_job prepare(const job& j, const cluster& c) { return {j, c}; }

constexpr result<job_plan> plan(const job& j, const layout& l, const cluster& c) {
    if (const status s = detail::validate_placed(j, l, c); !s) return s.error();
    detail::layout_folds folds;
    return detail::evaluated(j, l, c, folds);
}

constexpr bool fits(const job& j, const layout& l, const cluster& c) {
    if (const status s = detail::validate_placed(j, l, c); !s) return false;
    detail::layout_folds folds;
    const result<job_plan> made = detail::judged(j, l, c, folds);
    return made && made->verdict == verdict::fits;
}

constexpr void judge_checkpoint(job_plan& p, const checkpoint_bytes& saved, const cluster& c) {
    const bool shared = shares_host_memory(c.gpu);
    const byte_count whole = shared ? beyond(usable_memory(c.gpu), p.memory.total().low) : c.host.memory;
    const byte_count room = beyond(whole, p.host_memory.low);
    if (whole == byte_count{} || saved.host <= room) return;
    p.verdict = verdict::does_not_fit;
    p.because({.code = reason_code::checkpoint_exceeded, .gpu = p.gpu, .needed = saved.host, .available = room});
}

}  // namespace llmres::inline v0
