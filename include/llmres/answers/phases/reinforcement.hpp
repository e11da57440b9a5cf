// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <numeric>
#include <string_view>

/// Does reinforcement learning fit, and how long does a step take? A policy is trained on answers that an engine
/// generates with its weights: on the same GPUs by turns, or on GPUs of its own. Each phase is a plan of its own,
/// beside what the others leave on the GPU; the verdict is that of the worst.
///
///     const auto planned = plan_reinforcement({policy, {.engine = vllm_job, .generations = 8}}, layout, cluster);
namespace llmres::inline v0 {

/// GPU memory that an engine frees between two rollouts (vLLM: LLM.sleep()).
enum class engine_sleep : std::uint8_t {
    awake,    ///< nothing: its weights and its caches stay
    level_1,  ///< caches and weights, which lie in main memory meanwhile
    level_2,  ///< caches and weights, which are sent anew for the next rollout
};
/// The names of the levels, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<engine_sleep>{"awake", "level_1", "level_2"};

/// GPU memory that a trainer frees while answers are generated, by moving it to main memory.
enum class trainer_sleep : std::uint8_t {
    awake,      ///< nothing
    optimizer,  ///< the optimizer's states and master weights (verl: optimizer_offload)
    all,        ///< the weights too (verl: param_offload)
};
/// The names of the kinds, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<trainer_sleep>{"awake", "optimizer", "all"};

/// How answers are generated that a policy is trained on.
struct rollout {
    job engine{};                       ///< the engine's job: its prompts, its longest answers; its batch is not read
    llmres::layout layout{};            ///< of the engine
    maybe<llmres::cluster> own_gpus{};  ///< the engine's GPUs; none: it shares those that train
    std::int64_t generations = 8;       ///< answers to each prompt
    /// Answers of one rollout, over all data ranks of the engine; 0: those of one optimizer step, or of the fewest
    /// steps that train on all answers to a prompt.
    std::int64_t answers = 0;
    token_count mean_output{};          ///< tokens of an answer on average; 0: all are as long as `engine.output`
    std::int64_t num_iterations = 1;    ///< how often each answer is trained on
    bool scores_again = false;          ///< the trainer computes the log-probabilities of what was generated once more
    engine_sleep sleep{};               ///< what the engine gives back between rollouts
    trainer_sleep trainer{};            ///< what the trainer gives back meanwhile
    bool in_trainer = false;            ///< the engine runs in the trainer's process, and shares its context
    bool uses_trained_weights = false;  ///< the engine is the trainer's own model, and has no weights of its own
    bool gathers_weights = false;       ///< of such an engine: each GPU gathers all weights that ZeRO 3 shards
    bool asynchronous = false;          ///< on its own GPUs it generates the next answers while these are trained on
};

/// A rollout with as many engines as its GPUs have room for. `c`: the policy's GPUs.
constexpr rollout with_engines(rollout r, const cluster& c);

/// A model that scores answers. It stays on each GPU that trains, whole unless DeepSpeed's ZeRO 3 shards what is
/// trained and with it this model (trl 1.16, models/utils.py: prepare_deepspeed; OpenRLHF 0.11.2, utils/deepspeed:
/// get_ds_eval_config).
struct reward_model {
    job scores{};              ///< a job that serves it on one GPU: prompt and answer are its prompt
    std::int64_t at_once = 0;  ///< answers that it reads at once on each GPU; 0: all of a rollout
    bool in_trainer = false;   ///< it runs in the trainer's process, and shares its context
};

/// A policy that learns from rollouts, and what learns or scores beside it.
struct reinforcement_job {
    job policy{};                  ///< what is trained
    llmres::rollout rollout{};     ///< how answers are generated
    maybe<job> critic{};           ///< what ppo trains beside it
    maybe<reward_model> reward{};  ///< none: functions score the answers, or another machine
};

/// The parts of a step of reinforcement learning.
enum class workload_phase : std::uint8_t {
    rollout,   ///< an engine generates answers
    reward,    ///< a model scores them
    critic,    ///< a critic is trained
    training,  ///< the policy is trained
};
/// The names of the phases, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<workload_phase>{"rollout", "reward", "critic", "training"};

/// One phase: what it takes of a GPU itself, and what others keep there.
struct phase_plan {
    workload_phase phase{};           ///< which
    job_plan plan{};                  ///< the phase alone, on what the others leave of the GPU
    interval<byte_count> own{};       ///< what it takes of the busiest GPU, with the whole pool of an engine
    interval<byte_count> resident{};  ///< what other phases keep there
    interval<duration> time{};        ///< how long it takes of a step
};

/// A step of reinforcement learning: a rollout, and all training on it.
struct reinforcement_plan {
    std::array<phase_plan, 4> phases{};      ///< storage; the first `phase_count` are in use, in the order of a step
    std::int32_t phase_count = 0;            ///< phases in use
    std::int64_t answers = 0;                ///< answers of a rollout
    std::int64_t in_flight = 0;              ///< answers that are generated at once, over all data ranks
    std::int64_t optimizer_steps = 0;        ///< optimizer steps that follow a rollout
    token_count mean_output{};               ///< tokens of an answer on average
    interval<duration> log_probabilities{};  ///< forward passes over the answers before they are trained on
    duration synchronisation{};              ///< the engine receives the weights, and wakes
    interval<duration> step{};               ///< all of them
    /// Main memory of a node that all phases take together: what trainers offload, and what sleeps there.
    interval<byte_count> host_memory{};
    double idle_trainer = 0;  ///< part of a step in which the GPUs that train wait
    double idle_engine = 0;   ///< part of a step in which an engine's own GPUs wait

    /// The phase of that kind; null where there is none.
    constexpr const phase_plan* find(workload_phase p) const {
        for (std::int32_t i = 0; i < phase_count; ++i)
            if (phases[static_cast<std::size_t>(i)].phase == p) return &phases[static_cast<std::size_t>(i)];
        return nullptr;
    }
    /// The phase with the worst verdict, and of those the one with the least room.
    constexpr const phase_plan& worst() const {
        const auto lacks = [](const phase_plan& p) { return p.own.expected + p.resident.expected; };
        std::size_t worst = 0;
        for (std::size_t i = 1; i < static_cast<std::size_t>(phase_count); ++i) {
            const phase_plan &a = phases[worst], &b = phases[i];
            if (b.plan.verdict > a.plan.verdict || (b.plan.verdict == a.plan.verdict && lacks(b) > lacks(a))) worst = i;
        }
        return phases[worst];
    }
    /// The verdict: that of the worst phase.
    constexpr llmres::verdict verdict() const { return worst().plan.verdict; }
    /// Answers of all GPUs in a second.
    constexpr double answers_per_second() const {
        return step.expected > duration{} ? static_cast<double>(answers) / step.expected.in(seconds) : 0;
    }
    /// Generated tokens of all GPUs in a second.
    constexpr token_rate tokens_per_second() const {
        return step.expected > duration{} ? approx(mean_output * answers) / step.expected : token_rate{};
    }
};

/// Plans a step of a policy that learns from rollouts in a layout on a cluster, with a critic of the same layout where
/// its method has one. Errors: those of plan() for the policy, the critic, the engine (under `rollout`) or the reward
/// model (`rollout.reward`); a method without rollouts; an engine that does not generate; numbers that do not divide
/// each other.
constexpr result<reinforcement_plan> plan_reinforcement(const reinforcement_job& w, const layout& l, const cluster& c);

/// The cluster of the policy's own plan: its GPUs, less the memory that an engine, asleep or awake, keeps of them.
constexpr cluster beside_engine(const reinforcement_plan& p, cluster c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

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

/// Judges a rollout by what it takes beside what others keep.
constexpr void judge_together(phase_plan& p, const cluster& c) {
    const byte_count usable = available_memory(c);
    const interval<byte_count> all = p.own + p.resident;
    const verdict found = all.high <= usable  ? verdict::fits
                          : all.low <= usable ? verdict::tight
                                              : verdict::does_not_fit;
    if (found <= p.plan.verdict) return;
    p.plan.verdict = found;
    const byte_count needed = found == verdict::tight ? all.high : all.expected;
    p.plan.because({reason_code::phases_exceed, p.plan.gpu, p.plan.memory.largest(), needed, usable});
}

/// Answers that one optimizer step is trained on.
constexpr std::int64_t trained_in_a_step(const job& policy, const layout& l) {
    return sequences_at_once(policy, l) * micro_batches(policy, l);
}

/// Refuses a workload whose numbers contradict each other.
constexpr status validate_rollout(const reinforcement_job& w, const rollout& r, const layout& l) {
    const job& policy = w.policy;
    const maybe<job>& critic = w.critic;
    if (!learns_from_rollouts(policy.preference))
        return refused(error_code::inconsistent, "preference", name_of(policy.preference), "grpo, rloo or ppo");
    if ((policy.preference == preference_method::ppo) != critic.known)
        return refused(error_code::inconsistent, "critic", critic ? "given" : "absent",
                       critic ? "none: only ppo has a critic" : "a critic: ppo trains one beside the policy");
    if (trains(r.engine) || !generates(r.engine.model))
        return refused(error_code::inconsistent, "rollout.engine", name_of(r.engine.task),
                       "a job that serves a model which generates tokens");
    if (w.reward)
        if (const status s = in_range("rollout.reward.at_once", w.reward->at_once, 0, most::sequences); !s) return s;
    if (w.reward && (trains(w.reward->scores) || generates(w.reward->scores.model)))
        return refused(error_code::inconsistent, "rollout.reward", w.reward->scores.model.name.view(),
                       "a job that serves a model which scores its input");
    if (r.engine.output <= token_count{})
        return refused(error_code::missing, "rollout.output", "0", "tokens of the longest answer");
    const std::int64_t group =
        policy.preference == preference_method::ppo ? 1 : 2;  // answers are held to their group's
    if (const status s = in_range("rollout.generations", r.generations, group, most::sequences); !s) return s;
    if (const status s = in_range("rollout.num_iterations", r.num_iterations, 1, 1024); !s) return s;
    if (const status s = in_range("rollout.answers", r.answers, 1, most::sequences); !s) return s;
    if (r.answers % r.generations != 0)
        return refused(error_code::inconsistent, "rollout.answers", r.answers,
                       "a multiple of the answers to a prompt (generations), ", r.generations);
    if (const std::int64_t trained = trained_in_a_step(policy, l); r.answers % trained != 0)
        return refused(error_code::inconsistent, "rollout.answers", r.answers,
                       "a multiple of the answers of an optimizer step (global_batch), ", trained);
    if (r.mean_output < token_count{} || r.mean_output > r.engine.output)
        return refused(error_code::out_of_range, "rollout.mean_output", r.mean_output.in(tokens),
                       "at most the tokens of the longest answer, ", r.engine.output.in(tokens));
    if (r.asynchronous && !r.own_gpus)
        return refused(error_code::inconsistent, "rollout.asynchronous", "true",
                       "GPUs of its own (rollout.gpus): it generates while others train");
    if (r.own_gpus && r.sleep != engine_sleep::awake)
        return refused(error_code::inconsistent, "rollout.sleep", name_of(r.sleep),
                       "awake, where engine and trainer share no GPU");
    if (r.own_gpus && r.trainer != trainer_sleep::awake)
        return refused(error_code::inconsistent, "rollout.trainer", name_of(r.trainer),
                       "awake, where engine and trainer share no GPU");
    return done{};
}

/// How long a rollout takes. `engine`: with the answers in flight, at their mean length. A step of n sequences takes t0
/// + n t1, so that all steps of a group of answers take (steps t0 + tokens t1), whichever of the answers end first.
/// Where all are in flight, as many steps as the longest answer has tokens; else as many as the mean times the groups,
/// and the longest behind them.
constexpr interval<duration> generation_time(const rollout& r, const job& engine, const job_speed& all,
                                             const job_speed& one) {
    const double in_flight = static_cast<double>(engine.batch);
    const auto ranks = static_cast<double>(r.layout.all_data_ranks());
    const double answers = static_cast<double>(r.answers);
    const double groups = answers > in_flight ? answers / in_flight : 1.0;
    const double longest = static_cast<double>(r.engine.output.in(tokens)),
                 each = static_cast<double>(engine.output.in(tokens));
    const double steps = groups * each + (longest - each);
    // An engine that shares the cache of a prefix computes each prompt once.
    const double prompts =
        engine.runtime.cache.shares_prefixes ? answers / static_cast<double>(r.generations) : answers;
    const auto time = [&](auto end) {
        const double full = end(all.step.total()).in(seconds), least = end(one.step.total()).in(seconds);
        const double more = in_flight > ranks ? (full - least) / (in_flight - ranks) : 0.0;
        const double t1 = more > 0 ? more : 0.0, t0 = least - t1 * ranks;
        const double made = steps * (t0 > 0 ? t0 : 0.0) + t1 * answers * each;
        return seconds(made + end(one.prefill.total()).in(seconds)*prompts / ranks);
    };
    return {time([](const interval<duration>& t) { return t.low; }),
            time([](const interval<duration>& t) { return t.expected; }),
            time([](const interval<duration>& t) { return t.high; })};
}

/// Answers of a length that the pool of an engine's data rank holds; unknown where nothing limits them, or all of a
/// batch is computed at once.
constexpr maybe<interval<double>> answers_in_pool(const rollout& r, const cluster& c, token_count length) {
    if (r.engine.runtime.cache.whole_batches) return {};
    job usual = r.engine;
    usual.batch = r.layout.all_data_ranks();
    usual.output = length;
    const result<pool_size> pool = cache_pool_of(usual, r.layout, c);
    return pool && pool->sequences.high < 1e12 ? maybe<interval<double>>{pool->sequences} : maybe<interval<double>>{};
}

/// Answers that an engine generates at once: as many as its pool holds and its steps may have, at least one a data
/// rank. Others wait.
constexpr std::int64_t in_flight(const rollout& r, const maybe<interval<double>>& held,
                                 double interval<double>::* bound) {
    const std::int64_t all = sequences_in_flight(r.engine, r.layout), ranks = r.layout.all_data_ranks();
    if (!held) return all;
    const std::int64_t most_at_once = static_cast<std::int64_t>((*held).*bound) * ranks;
    if (most_at_once >= all) return all;
    return most_at_once > ranks ? most_at_once : ranks;
}

/// How long it takes until an engine has new weights: they are gathered from those that ZeRO 3 shards, sent to GPUs of
/// its own, or copied from main memory, where they went as it fell asleep. What the trainer moves there is copied, too.
constexpr duration synchronisation_time(const rollout& r, const layout& l, const cluster& c, const job_plan& engine,
                                        byte_count moved) {
    const byte_count each = engine.memory[memory_term::weights].expected;
    const byte_count whole = each * (std::int64_t{engine.layout.tensor} * engine.layout.pipeline);
    duration time;
    if (l.zero == 3)
        time += time_of(collective_kind::all_gather, whole, group_of(c, l.dense_shard_ranks(), l.tensor), c.scale_up,
                        c.scale_out);
    if (r.own_gpus) {
        const link& between = r.own_gpus->scale_out.bandwidth() > byte_rate{} ? r.own_gpus->scale_out : c.scale_up;
        time += time_of(collective_kind::send, each, 2, between);
    }
    const byte_count copied = moved * 2 + (r.sleep == engine_sleep::level_1 ? each * 2 : byte_count{});
    if (copied > byte_count{} && c.host.link.bandwidth() > byte_rate{}) time += copied / c.host.link.bandwidth();
    return time;
}

/// Judges a node's main memory by what all phases keep there.
constexpr void judge_main_memory(phase_plan& p, const interval<byte_count>& held, const cluster& c) {
    if (held.high == byte_count{}) return;
    const bool unknown = c.host.memory == byte_count{};
    if (!unknown && held.high <= c.host.memory) return;
    const verdict at_best = unknown || held.low <= c.host.memory ? verdict::tight : verdict::does_not_fit;
    if (at_best > p.plan.verdict) p.plan.verdict = at_best;
    p.plan.because({.code = unknown ? reason_code::host_memory_unknown : reason_code::host_memory_exceeded,
                    .gpu = p.plan.gpu,
                    .needed = held.high,
                    .available = c.host.memory});
}

/// The plan of a job without its times. Errors: those of plan().
constexpr result<job_plan> memory_plan(const job& j, const layout& l, const cluster& c) {
    if (const status s = validate_placed(j, l, c); !s) return s.error();
    layout_folds folds;
    return judged(j, l, c, folds);
}

/// A step of reinforcement learning as it is planned, phase by phase.
struct reinforcement_step {
    const reinforcement_job& w;
    const layout& l;
    const cluster& c;
    const rollout& r;  ///< the workload's, with the number of its answers
    const job& policy = w.policy;
    reinforcement_plan planned{};

    job scores{};                      ///< a reward model's, with as many answers as it reads at once
    interval<byte_count> of_policy{};  ///< what the policy keeps on a GPU between its steps
    interval<byte_count> of_critic{};  ///< what a critic does
    interval<byte_count> of_reward{};  ///< what a reward model does
    interval<byte_count> of_engine{};  ///< what the engine keeps there while others train
    byte_count loaded{};               ///< what lies there when the engine starts: the optimizers have no states yet
    byte_count moved{};                ///< what trainers of a GPU move to main memory for a rollout

    /// Takes how long a trained model's steps are, and what it keeps on a GPU between them.
    constexpr status take(const job& trained, job_speed& speed, interval<byte_count>& kept) {
        const result<job_plan> alone = plan(trained, l, c);
        if (!alone) return alone.error();
        const memory_breakdown& m = alone->memory;
        speed = alone->speed;
        kept = left_by_training(trained, l, m, r.trainer);
        moved += moved_by_trainer(m, r.trainer);
        if (trains_from_host(trained)) planned.host_memory += alone->host_memory;
        loaded += m[memory_term::runtime].expected;
        if (r.trainer != trainer_sleep::all)
            loaded += m[memory_term::weights].expected + m[memory_term::adapter].expected;
        return done{};
    }

    /// Takes what a reward model keeps on a GPU.
    constexpr status take_reward() {
        scores = w.reward->scores;
        scores.batch = scored_at_once(*w.reward, r, l);
        const result<job_plan> made = memory_plan(scores, layout_of_reward(l), c);
        if (!made) return within("rollout.reward", made.error());
        of_reward = left_by_reward(w, l, c, made->memory);
        loaded += of_reward.expected;
        return done{};
    }

    /// Plans the rollout: its memory with as many of the longest answers as the pool holds, its time with as many of
    /// the mean length.
    constexpr status generate() {
        const cluster on = r.own_gpus ? *r.own_gpus : r.uses_trained_weights ? c : beside(c, loaded);
        planned.mean_output = r.mean_output > token_count{} ? r.mean_output : r.engine.output;
        const maybe<interval<double>> usual = answers_in_pool(r, on, planned.mean_output);
        const bool all_alike = planned.mean_output == r.engine.output;
        job longest = r.engine, engine = r.engine;
        longest.batch =
            in_flight(r, all_alike ? usual : answers_in_pool(r, on, r.engine.output), &interval<double>::low);
        engine.batch = planned.in_flight = in_flight(r, usual, &interval<double>::expected);
        engine.output = planned.mean_output;
        job alone = engine;
        alone.batch = r.layout.all_data_ranks();
        const result<job_plan> made = memory_plan(longest, r.layout, on);
        if (!made) return within("rollout", made.error());
        for (const job* each : {&engine, &alone})
            if (const status s = validate_placed(*each, r.layout, on); !s) return within("rollout", s.error());
        const job_speed all = speed_of(engine, r.layout, on, made->memory),
                        one = speed_of(alone, r.layout, on, made->memory);
        phase_plan& phase = planned.phases[static_cast<std::size_t>(planned.phase_count++)];
        phase = {.phase = workload_phase::rollout,
                 .plan = *made,
                 .own = taken_by_engine(r, longest, policy, on, *made),
                 .resident = r.own_gpus ? interval<byte_count>{} : of_policy + of_critic + of_reward,
                 .time = generation_time(r, engine, all, one)};
        phase.plan.speed = all;
        if (r.uses_trained_weights) {  // its weights are counted with those of the trainer
            phase.plan.verdict = verdict::fits;
            phase.plan.reason_count = 0;
        }
        judge_together(phase, r.own_gpus ? *r.own_gpus : c);
        if (!r.own_gpus) of_engine = left_by_engine(r, engine, phase.plan, phase.own, c);
        const byte_count slept =
            r.sleep == engine_sleep::level_1 ? made->memory[memory_term::weights].expected : byte_count{};
        const byte_count asleep = (slept + moved) * (c.node_size() < l.gpus() ? c.node_size() : l.gpus());
        planned.host_memory += interval<byte_count>{asleep, asleep, asleep};
        judge_main_memory(phase, planned.host_memory, c);
        planned.synchronisation = synchronisation_time(r, l, c, *made, moved);
        return done{};
    }

    /// Plans how a reward model scores all answers, beside what others keep of a GPU.
    constexpr status score() {
        const layout whole = layout_of_reward(l);
        const result<job_plan> made = memory_plan(scores, whole, c);
        if (!made) return within("rollout.reward", made.error());
        phase_plan& phase = planned.phases[static_cast<std::size_t>(planned.phase_count++)];
        phase = {.phase = workload_phase::reward,
                 .plan = *made,
                 .own = taken_by_reward(w, l, c, made->memory),
                 .resident = of_policy + of_critic + of_engine};
        phase.plan.speed = speed_of(scores, whole, c, made->memory);
        phase.plan.verdict = verdict::fits;  // what it takes is judged beside the others, and where it is sharded less
        phase.plan.reason_count = 0;
        phase.time =
            phase.plan.speed.prefill.total() * (static_cast<double>(r.answers) / static_cast<double>(scores.batch));
        judge_together(phase, c);
        return done{};
    }

    /// Plans all training of one model on a rollout beside what others keep of a GPU, and the forward passes before it:
    /// the policy's and its reference's log-probabilities, or the critic's values.
    constexpr status train(workload_phase kind, const job& trained, const job_speed& speed,
                           const interval<byte_count>& others) {
        phase_plan& phase = planned.phases[static_cast<std::size_t>(planned.phase_count++)];
        phase.phase = kind;
        phase.resident = others + of_engine + of_reward;
        const result<job_plan> made = memory_plan(trained, l, beside(c, phase.resident.expected));
        if (!made) return made.error();
        const double steps = static_cast<double>(r.answers) / static_cast<double>(trained_in_a_step(trained, l));
        phase.plan = *made;
        phase.plan.speed = speed;
        phase.own = made->memory.total();
        phase.time = speed.step.total() * (steps * static_cast<double>(r.num_iterations));
        if (phase.plan.verdict == verdict::fits && phase.own.high + phase.resident.high > available_memory(c)) {
            const result<job_plan> at_most = memory_plan(trained, l, beside(c, phase.resident.high));
            if (!at_most) return at_most.error();
            if (at_most->verdict != verdict::fits) {
                phase.plan.verdict = verdict::tight;
                phase.plan.because({reason_code::phases_exceed, phase.plan.gpu, phase.plan.memory.largest(),
                                    at_most->memory.total().high + phase.resident.high, available_memory(c)});
            }
        }
        job scored = trained;
        const bool is_policy = kind == workload_phase::training;
        const bool has_reference = reference_of(trained) != reference_model::none;
        scored.passes_before_step = is_policy ? (r.scores_again ? 1 : 0) + (has_reference ? 1 : 0) : 1;
        if (scored.passes_before_step == 0) return done{};
        const interval<duration> more = speed_of(scored, l, c, made->memory).step.total(), less = speed.step.total();
        planned.log_probabilities += interval<duration>{
            (more.low - less.low) * steps, (more.expected - less.expected) * steps, (more.high - less.high) * steps};
        return done{};
    }

    /// Adds the copies of an offloaded reference: it is brought to the GPU for each micro-batch.
    constexpr void copy_reference() {
        if (reference_of(policy) != reference_model::offloaded || !(c.host.link.bandwidth() > byte_rate{})) return;
        const byte_count weights = planned.find(workload_phase::training)->plan.memory[memory_term::weights].expected;
        const double micro = static_cast<double>(r.answers) / static_cast<double>(sequences_at_once(policy, l));
        const duration copies = weights / c.host.link.bandwidth() * micro;
        planned.log_probabilities += interval<duration>{duration{}, copies, copies};
    }

    /// Adds up the step, and what waits in it.
    constexpr void add_up() {
        interval<duration> training = planned.log_probabilities;
        for (std::int32_t i = 1; i < planned.phase_count; ++i)
            training += planned.phases[static_cast<std::size_t>(i)].time;
        const interval<duration>& made = planned.phases[0].time;
        const auto longer = [](duration a, duration b) { return a > b ? a : b; };
        const duration sent = planned.synchronisation;
        planned.step = interval<duration>{sent, sent, sent};
        planned.step += r.asynchronous ? interval<duration>{longer(made.low, training.low),
                                                            longer(made.expected, training.expected),
                                                            longer(made.high, training.high)}
                                       : made + training;
        planned.optimizer_steps = r.answers / trained_in_a_step(policy, l) * r.num_iterations;
        if (!r.own_gpus || !(planned.step.expected > duration{})) return;
        planned.idle_trainer = 1.0 - training.expected / planned.step.expected;
        planned.idle_engine = 1.0 - made.expected / planned.step.expected;
    }
};

}  // namespace detail

constexpr rollout with_engines(rollout r, const cluster& c) {
    const cluster& on = r.own_gpus ? *r.own_gpus : c;
    r.layout.data = 1;
    const std::int64_t each = r.layout.gpus(), engines = each > 0 ? on.gpus / each : 0;
    r.layout.data = engines > 1 ? static_cast<std::int32_t>(engines) : 1;
    return r;
}

constexpr cluster beside_engine(const reinforcement_plan& p, cluster c) {
    const phase_plan* training = p.find(workload_phase::training);
    return training == nullptr ? c : detail::beside(c, training->resident.expected);
}

constexpr result<reinforcement_plan> plan_reinforcement(const reinforcement_job& w, const layout& l, const cluster& c) {
    if (const status s = detail::validate_placed(w.policy, l, c); !s) return s.error();
    rollout r = w.rollout;
    const std::int64_t trained = detail::trained_in_a_step(w.policy, l);
    const bool divides = r.generations > 0 && r.generations <= detail::most::sequences;  // else it is refused below
    if (r.answers == 0)
        r.answers = divides && trained <= detail::most::sequences ? std::lcm(trained, r.generations) : trained;
    if (const status s = detail::validate_rollout(w, r, l); !s) return s.error();
    r.engine.batch = r.answers;
    if (r.layout.data > r.answers) r.layout.data = static_cast<std::int32_t>(r.answers);
    detail::reinforcement_step step{.w = w, .l = l, .c = c, .r = r, .planned = {.answers = r.answers}};
    job_speed of_policy, of_critic;
    if (const status s = step.take(w.policy, of_policy, step.of_policy); !s) return s.error();
    if (w.critic)
        if (const status s = step.take(*w.critic, of_critic, step.of_critic); !s) return within("critic", s.error());
    if (w.reward)
        if (const status s = step.take_reward(); !s) return s.error();
    if (const status s = step.generate(); !s) return s.error();
    if (w.reward)
        if (const status s = step.score(); !s) return s.error();
    if (w.critic)
        if (const status s = step.train(workload_phase::critic, *w.critic, of_critic, step.of_policy); !s)
            return within("critic", s.error());
    if (const status s = step.train(workload_phase::training, w.policy, of_policy, step.of_critic); !s)
        return s.error();
    step.copy_reference();
    step.add_up();
    return step.planned;
}

}  // namespace llmres::inline v0
