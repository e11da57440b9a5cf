// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/phases/workload.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// What trainers, an engine and a reward model take of a GPU that they share, and what each leaves to the others.
namespace llmres::inline v0::detail {

/// A cluster whose GPUs hold so much already.
constexpr cluster beside(cluster c, byte_count resident) {
    const byte_count all = c.in_use + resident, most = usable_memory(c.gpu);
    c.in_use = all < most ? all : most;
    return c;
}

/// GPU memory of a training job between its steps: weights, states, communicators, libraries, and the gaps of blocks
/// that its allocator cannot free when it is asked to (torch.cuda.empty_cache()). Gradients are freed
/// (zero_grad() sets them to None), but where a buffer holds them.
constexpr interval<byte_count> left_by_training(const job& j, const layout& l, const memory_breakdown& m,
                                                trainer_sleep sleep) {
    interval<byte_count> left = m[memory_term::runtime] + m[memory_term::workspace] + communicators_of(j.runtime, l);
    const interval<byte_count>& idle = m[memory_term::fragmentation];
    left += interval<byte_count>{byte_count{}, beyond(idle.expected, m.releasable.expected),
                                 beyond(idle.high, m.releasable.high + m.released)};
    if (sleep != trainer_sleep::all)
        left += m[memory_term::weights] + m[memory_term::adapter] + m[memory_term::reference];
    if (sleep == trainer_sleep::awake) left += m[memory_term::optimizer];
    const bool buffered = j.runtime.kernels.linear != linear_code::plain && sleep != trainer_sleep::all;
    if (buffered) left += m[memory_term::gradients];
    return left;
}

/// Bytes of one GPU that a sleeping trainer moves to main memory.
constexpr byte_count moved_by_trainer(const memory_breakdown& m, trainer_sleep sleep) {
    if (sleep == trainer_sleep::awake) return {};
    const byte_count states = m[memory_term::optimizer].expected;
    return sleep == trainer_sleep::all ? states + m[memory_term::weights].expected + m[memory_term::adapter].expected
                                       : states;
}

/// Activations that an adapter in fp32 beside narrower weights adds while all prompts of a data rank are computed: the
/// input of the widest layer in fp32, and its product (peft, tuners/lora/layer.py: _cast_input_dtype, and the sum with
/// lora_B's).
constexpr byte_count adapter_branch(const job& policy, const job& engine, const layout& l) {
    if (!policy.adapter.low_rank() || !(adapter_format_of(policy) == fp32) || weights_of(policy) == fp32) return {};
    const model& m = policy.model;
    std::int64_t width = 0;
    for (const layer& kind : m.layers.distinct())
        width = kind.feed_forward.width > width ? kind.feed_forward.width : width;
    const std::int64_t positions = product(sequences_per_rank(engine, l), engine.prompt.in(tokens));
    return size_of(fp32, positions, width + m.hidden);
}

/// GPU memory of the casts that autocast makes of fp32 matrices in half of their bits, and keeps for a forward pass
/// though nothing is differentiated (aten/src/ATen/autocast_mode.cpp, cached_cast). A table that is no matrix of a
/// product is not cast.
constexpr byte_count kept_casts(const job& policy, const model& m, byte_count weights) {
    if (!autocasts(policy) || !(weights_of(policy) == fp32)) return {};
    const bool is_head = m.tied_head && classes_of(m) == 0;
    const byte_count table = is_head ? byte_count{} : size_of(fp32, m.vocabulary, m.hidden);
    return div_up(beyond(weights, table), 2);
}

/// GPU memory of an engine while it generates. One that runs in the trainer's process has no context of its own;
/// one that is the trainer's model has no weights of its own, but under autocast casts of all of its matrices.
constexpr interval<byte_count> taken_by_engine(const rollout& r, const job& engine, const job& policy, const cluster& c,
                                               const job_plan& p) {
    interval<byte_count> taken = p.memory.total();
    if (reserves_pool(engine, p.memory) && p.usable > byte_count{})
        if (const result<pool_size> pool = cache_pool_of(engine, p.layout, c))
            taken = reserved_by(p.memory, *pool).device;
    const auto less = [&](const interval<byte_count>& part) {
        taken = {beyond(taken.low, part.low), beyond(taken.expected, part.expected), beyond(taken.high, part.high)};
    };
    if (r.in_trainer) less(context_on(engine.runtime, c.gpu));
    if (!r.uses_trained_weights) return taken;
    const interval<byte_count>& weights = p.memory[memory_term::weights];
    if (r.gathers_weights) return taken;
    less(weights);
    const byte_count branch = adapter_branch(policy, engine, r.layout);
    taken += interval<byte_count>{branch, branch, branch};
    const byte_count casts = kept_casts(policy, policy.model, weights.expected);
    taken += interval<byte_count>{casts, casts, casts};
    return taken;
}

/// GPU memory of an engine while the trainer computes. vLLM's sleep unmaps weights and caches alone; captured
/// graphs, workspaces and communicators stay (device_allocator/cumem.py: the tags "weights" and "kv_cache").
constexpr interval<byte_count> left_by_engine(const rollout& r, const job& engine, const job_plan& p,
                                              const interval<byte_count>& taken, const cluster& c) {
    if (r.uses_trained_weights) return {};
    if (r.sleep == engine_sleep::awake) return taken;
    interval<byte_count> left =
        p.memory[memory_term::runtime] + p.memory[memory_term::workspace] + p.memory[memory_term::communication];
    if (!r.in_trainer) return left;
    const interval<byte_count> context = context_on(engine.runtime, c.gpu);
    return {beyond(left.low, context.low), beyond(left.expected, context.expected), beyond(left.high, context.high)};
}

/// Answers that a reward model reads at once on all GPUs.
constexpr std::int64_t scored_at_once(const reward_model& m, const rollout& r, const layout& l) {
    const std::int64_t each = (r.answers + l.gpus() - 1) / l.gpus();
    return (m.at_once == 0 || m.at_once > each ? each : m.at_once) * l.gpus();
}

/// The layout of a reward model: each GPU that trains has all of it.
constexpr layout layout_of_reward(const layout& l) {
    layout whole;
    whole.data = static_cast<std::int32_t>(l.gpus());
    return whole;
}

/// GPU memory of a reward model's weights that is not taken since ZeRO 3 shards them.
constexpr byte_count sharded_away(const reinforcement_job& w, const layout& l, byte_count weights) {
    if (l.zero != 3 || w.policy.runtime.sharding.code != sharding_code::deepspeed) return {};
    return weights - div_up(weights, l.gpus());
}

/// GPU memory without the context of a process that a reward model shares with the trainer.
constexpr interval<byte_count> without_shared_context(interval<byte_count> taken, const reward_model& m,
                                                      const cluster& c) {
    if (!m.in_trainer) return taken;
    const interval<byte_count> shared = context_on(m.scores.runtime, c.gpu);
    return {beyond(taken.low, shared.low), beyond(taken.expected, shared.expected), beyond(taken.high, shared.high)};
}

/// GPU memory that a reward model keeps while it does not score.
constexpr interval<byte_count> left_by_reward(const reinforcement_job& w, const layout& l, const cluster& c,
                                              const memory_breakdown& m) {
    const byte_count kept = m[memory_term::weights].expected - sharded_away(w, l, m[memory_term::weights].expected);
    const interval<byte_count> left =
        interval<byte_count>{kept, kept, kept} + m[memory_term::runtime] + m[memory_term::workspace];
    return without_shared_context(left, *w.reward, c);
}

/// GPU memory of a reward model while it scores. Of sharded weights DeepSpeed keeps up to 10^9 gathered ones
/// (runtime/zero/config.py, stage3_max_live_parameters), and prefetches as many at most.
constexpr interval<byte_count> taken_by_reward(const reinforcement_job& w, const layout& l, const cluster& c,
                                               const memory_breakdown& m) {
    const byte_count weights = m[memory_term::weights].expected;
    const byte_count away = sharded_away(w, l, weights);
    const byte_count live = size_of(weights_of(w.reward->scores), 1'000'000'000, 1);
    const byte_count casts =
        w.reward->in_trainer ? kept_casts(w.policy, w.reward->scores.model, weights) : byte_count{};
    interval<byte_count> taken = m.total() + interval<byte_count>{casts, casts, casts};
    taken = {beyond(taken.low, away), beyond(taken.expected, beyond(away, live)),
             beyond(taken.high, beyond(away, live * 2))};
    return without_shared_context(taken, *w.reward, c);
}

}  // namespace llmres::inline v0::detail
