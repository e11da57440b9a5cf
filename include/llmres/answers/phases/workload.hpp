// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// A workload of reinforcement learning and its plan: a policy is trained on answers that an engine generates, beside a
/// critic and a model that scores them.
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
    bool remove_padding = false;        ///< the trainer packs answers: its time is that of their mean length
    bool asynchronous = false;          ///< on its own GPUs it generates the next answers while these are trained on
};

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

}  // namespace llmres::inline v0
