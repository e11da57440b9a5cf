// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/phases/gpu_shares.hpp>
#include <llmres/answers/phases/workload.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <numeric>

/// Does reinforcement learning fit, and how long does a step take? A policy is trained on answers that an engine
/// generates with its weights: on the same GPUs by turns, or on GPUs of its own. Each phase is a plan of its own,
/// beside what the others leave on the GPU; the verdict is that of the worst.
///
///     const auto planned = plan_reinforcement({policy, {.engine = vllm_job, .generations = 8}}, layout, cluster);
namespace llmres::inline v0 {

/// A rollout with as many engines as its GPUs have room for. `c`: the policy's GPUs.
constexpr rollout with_engines(rollout r, const cluster& c);

/// Plans a step of a policy that learns from rollouts in a layout on a cluster, with a critic of the same layout where
/// its method has one. Errors: those of plan() for the policy, the critic, the engine (under `rollout`) or the reward
/// model (`rollout.reward`); a method without rollouts; an engine that does not generate; numbers that do not divide
/// each other.
constexpr result<reinforcement_plan> plan_reinforcement(const reinforcement_job& w, const layout& l, const cluster& c);

/// The cluster of the policy's own plan: its GPUs, less the memory that an engine, asleep or awake, keeps of them.
constexpr cluster beside_engine(const reinforcement_plan& p, cluster c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

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
        return refused(error_code::inconsistent, "preference", name_of(policy.preference),
                       "grpo, rloo, reinforce or ppo");
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
    if (const status s =
            in_range("rollout.generations", r.generations, least_group(policy.preference), most::sequences);
        !s)
        return s;
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

    /// A model's training with as many tokens as it computes: where answers are packed those of their mean length, else
    /// those of the longest.
    constexpr job timed(const job& trained) const {
        job usual = trained;
        const token_count cut = r.remove_padding ? r.engine.output - planned.mean_output : token_count{};
        if (usual.sequence > cut) usual.sequence -= cut;
        if (usual.scored > cut) usual.scored -= cut;
        return usual;
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
        job scored = timed(trained);
        phase.plan = *made;
        phase.plan.speed = scored.sequence == trained.sequence ? speed : speed_of(scored, l, c, made->memory);
        phase.own = made->memory.total();
        phase.time = phase.plan.speed.step.total() * (steps * static_cast<double>(r.num_iterations));
        if (phase.plan.verdict == verdict::fits && phase.own.high + phase.resident.high > available_memory(c)) {
            const result<job_plan> at_most = memory_plan(trained, l, beside(c, phase.resident.high));
            if (!at_most) return at_most.error();
            if (at_most->verdict != verdict::fits) {
                phase.plan.verdict = verdict::tight;
                phase.plan.because({reason_code::phases_exceed, phase.plan.gpu, phase.plan.memory.largest(),
                                    at_most->memory.total().high + phase.resident.high, available_memory(c)});
            }
        }
        const bool is_policy = kind == workload_phase::training;
        const bool has_reference = reference_of(trained) != reference_model::none;
        scored.passes_before_step = is_policy ? (r.scores_again ? 1 : 0) + (has_reference ? 1 : 0) : 1;
        if (scored.passes_before_step == 0) return done{};
        const interval<duration> more = speed_of(scored, l, c, made->memory).step.total(),
                                 less = phase.plan.speed.step.total();
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
