// SPDX-License-Identifier: MIT
#include <llmres/answers/phases/reinforcement.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/vllm.hpp>

#include "workloads.hpp"

using namespace llmres;
using namespace workloads;

namespace {

cluster h100s(std::int32_t gpus) {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, gpus).value();
    c.host.memory = gib(1024);
    return c;
}

/// An engine on each of the GPUs that generates 128 answers.
rollout vllm_rollout() {
    job engine{.model = models::qwen2_5_7b, .prompt = tokens(512), .output = tokens(512), .runtime = runtimes::vllm};
    engine.runtime.cache.fraction = 0.5;
    return {.engine = engine, .layout = {.data = 8}, .answers = 128};
}

reinforcement_plan planned(const job& policy, const rollout& r, const maybe<job>& critic = {}) {
    const auto made = plan_reinforcement({policy, r, critic}, sharded, h100s(8));
    REQUIRE(made);
    return *made;
}
const phase_plan& phase_of(const reinforcement_plan& p, workload_phase kind) {
    REQUIRE(p.find(kind) != nullptr);
    return *p.find(kind);
}
job critic_of(job policy) {
    policy.model = classifier(policy.model, 1);
    policy.preference = preference_method::none;
    return policy;
}

}  // namespace

TEST_CASE("each phase is the plan of its job alone, on what the others leave of the GPU") {
    const job policy = policy_of();
    const rollout r = vllm_rollout();
    const reinforcement_plan p = planned(policy, r);
    CHECK(p.phase_count == 2);
    CHECK(p.answers == 128);
    CHECK(p.optimizer_steps == 2);
    const phase_plan &generating = phase_of(p, workload_phase::rollout),
                     &training = phase_of(p, workload_phase::training);
    job served = r.engine;
    served.batch = r.answers;
    const job_plan engine = plan(served, r.layout, h100s(8)).value();
    CHECK(generating.plan.memory.total() == engine.memory.total());
    CHECK(generating.own == reserved_by(engine.memory, cache_pool_of(served, r.layout, h100s(8)).value()).device);
    const job_plan step = plan(policy, sharded, h100s(8)).value();
    CHECK(training.plan.memory.ideal == step.memory.ideal);
    cluster rest = h100s(8);
    rest.in_use = training.resident.expected;
    CHECK(training.own == plan(policy, sharded, rest)->memory.total());
    CHECK(training.time.expected == step.speed.step.total().expected * 2.0);
    // An engine that stays awake keeps its whole fraction; the trainer keeps weights and states of the optimizer.
    CHECK(training.resident == generating.own);
    const byte_count states = step.memory[memory_term::weights].expected + step.memory[memory_term::optimizer].expected;
    CHECK(generating.resident.low > states);
    CHECK(generating.resident.expected < states + gib(3));
}

TEST_CASE("workloads are planned by the compiler, too") {
    constexpr bool fits = [] {
        job policy{.model = models::qwen2_5_7b,
                   .task = task::finetuning,
                   .sequence = tokens(512),
                   .micro_batch = 8,
                   .preference = preference_method::grpo,
                   .adapter = {.kind = adapter_kind::lora, .rank = 16},
                   .runtime = runtimes::huggingface};
        const job engine{
            .model = models::qwen2_5_7b, .prompt = tokens(256), .output = tokens(256), .runtime = runtimes::vllm};
        rollout r{.engine = engine, .sleep = engine_sleep::level_2};
        r.engine.runtime.cache.fraction = 0.5;
        const auto made = plan_reinforcement({policy, r}, layout{}, cluster{.gpu = gpus::h100_sxm5_80gb});
        return made && made->verdict() != verdict::does_not_fit;
    }();
    static_assert(fits);
}

TEST_CASE("a trained 7B and its engine are 12 bytes a parameter over eight GPUs, and half of each GPU") {
    const reinforcement_plan p = planned(policy_of(), vllm_rollout());
    const double weights = 7'615'616'512.0;  // huggingface.co/Qwen/Qwen2.5-7B, safetensors.total
    const double resident = static_cast<double>(phase_of(p, workload_phase::rollout).resident.expected.in(bytes));
    CHECK(resident > 12 * weights / 8);
    CHECK(resident < 12 * weights / 8 + 3e9);
    const double engine = ratio(phase_of(p, workload_phase::rollout).own.expected, usable_memory(gpus::h100_sxm5_80gb));
    CHECK(engine == doctest::Approx(0.5).epsilon(0.04));
}

TEST_CASE("what sleeps leaves room to others, and lies in main memory or nowhere") {
    rollout r = vllm_rollout();
    const reinforcement_plan awake = planned(policy_of(), r);
    r.sleep = engine_sleep::level_1;
    const reinforcement_plan first = planned(policy_of(), r);
    r.sleep = engine_sleep::level_2;
    const reinforcement_plan second = planned(policy_of(), r);
    const auto left = [](const reinforcement_plan& p) {
        return phase_of(p, workload_phase::training).resident.expected;
    };
    CHECK(left(first) < left(awake) - gib(30));
    CHECK(left(first) == left(second));
    const byte_count weights = phase_of(first, workload_phase::rollout).plan.memory[memory_term::weights].expected;
    CHECK(awake.host_memory.high == byte_count{});
    CHECK(first.host_memory.expected == weights * 8);
    CHECK(second.host_memory.high == byte_count{});
    CHECK(first.synchronisation > second.synchronisation);  // its weights are copied out and back
    const auto beside_trainer = [](const reinforcement_plan& p) {
        return phase_of(p, workload_phase::rollout).resident.expected;
    };
    r.trainer = trainer_sleep::optimizer;
    const reinforcement_plan without_states = planned(policy_of(), r);
    r.trainer = trainer_sleep::all;
    const reinforcement_plan alone = planned(policy_of(), r);
    CHECK(beside_trainer(second) > beside_trainer(without_states) + gib(6));
    CHECK(beside_trainer(without_states) > beside_trainer(alone) + gib(3));
    CHECK(alone.host_memory.expected > without_states.host_memory.expected);
}

TEST_CASE("a node's main memory holds what each trainer offloads and what sleeps, all at once") {
    job policy = policy_of(preference_method::ppo);
    policy.runtime = runtimes::deepspeed;
    policy.weights = bf16;
    policy.offload.optimizer = offload_place::host;
    const job critic = critic_of(policy);
    rollout r = vllm_rollout();
    r.sleep = engine_sleep::level_1;
    const cluster large = h100s(8);
    const interval<byte_count> of_policy = plan(policy, sharded, large)->host_memory,
                               of_critic = plan(critic, sharded, large)->host_memory;
    const reinforcement_plan p = planned(policy, r, critic);
    const byte_count weights = phase_of(p, workload_phase::rollout).plan.memory[memory_term::weights].expected;
    CHECK(of_critic.low > gib(70));  // 12 bytes a parameter
    CHECK(p.host_memory.low == of_policy.low + of_critic.low + weights * 8);
    CHECK(p.host_memory.high == of_policy.high + of_critic.high + weights * 8);
    cluster small = large;
    const auto verdict_with = [&](byte_count memory) {
        small.host.memory = memory;
        return phase_of(plan_reinforcement({policy, r, critic}, sharded, small).value(), workload_phase::rollout).plan;
    };
    const byte_count one{bytes(1)};
    CHECK(verdict_with(p.host_memory.high).verdict == phase_of(p, workload_phase::rollout).plan.verdict);
    CHECK(verdict_with(p.host_memory.low - one).verdict == verdict::does_not_fit);
    CHECK(verdict_with(p.host_memory.low - one).reasons[0].code == reason_code::host_memory_exceeded);
}

TEST_CASE("an engine in the trainer's process has no second context, and the trainer's own model no second weights") {
    rollout r = vllm_rollout();
    r.sleep = engine_sleep::level_2;
    const byte_count apart = phase_of(planned(policy_of(), r), workload_phase::training).resident.expected;
    r.in_trainer = true;
    const byte_count together = phase_of(planned(policy_of(), r), workload_phase::training).resident.expected;
    CHECK(apart - together == context_on(runtimes::vllm, gpus::h100_sxm5_80gb).expected);

    rollout own = r;
    own.engine.runtime = runtimes::transformers;
    own.engine.weights = fp32;
    own.uses_trained_weights = true;
    const reinforcement_plan p = planned(policy_of(), own);
    CHECK(phase_of(p, workload_phase::training).resident.high == byte_count{});
    const phase_plan& generating = phase_of(p, workload_phase::rollout);
    CHECK(generating.own.low < generating.plan.memory[memory_term::weights].expected);
}

TEST_CASE("the verdict is that of the worst phase, which says why") {
    rollout r = vllm_rollout();
    r.engine.runtime.cache.fraction = 0.97;
    const reinforcement_plan p = planned(policy_of(), r);
    CHECK(p.verdict() == verdict::does_not_fit);
    const job_plan& worst = p.worst().plan;
    CHECK(worst.verdict == verdict::does_not_fit);
    CHECK(worst.reason_count > 0);
    r.engine.runtime.cache.fraction = 0.9;  // it would start, and finds no room once the optimizer has its states
    const reinforcement_plan later = planned(policy_of(), r);
    CHECK(later.verdict() != verdict::fits);
    bool says = false;
    for (std::int32_t i = 0; i < later.worst().plan.reason_count; ++i)
        says = says || later.worst().plan.reasons[static_cast<std::size_t>(i)].code == reason_code::phases_exceed ||
               later.worst().plan.reasons[static_cast<std::size_t>(i)].code == reason_code::memory_exceeded;
    CHECK(says);
    for (std::int32_t i = 0; i < later.phase_count; ++i)
        CHECK(later.phases[static_cast<std::size_t>(i)].plan.verdict <= later.verdict());
}

TEST_CASE("a policy's cached blocks make room for an engine, whichever bound the engine has") {
    job policy = policy_of();
    policy.runtime.sharding.sync_each_batch = true;
    int made_room = 0;
    for (const double part : {0.3, 0.4, 0.5, 0.55, 0.6, 0.65}) {
        rollout r = vllm_rollout();
        r.engine.runtime.cache.fraction = part;
        const reinforcement_plan p = planned(policy, r);
        const phase_plan& training = phase_of(p, workload_phase::training);
        CHECK(training.resident.high > training.resident.expected);
        // The upper bound is cut at what the engine leaves.
        made_room += training.plan.memory.released > byte_count{} && training.plan.verdict == verdict::fits;
    }
    CHECK(made_room > 0);
}

TEST_CASE("what sleeps needs main memory that is there and known") {
    rollout r = vllm_rollout();
    r.sleep = engine_sleep::level_1;
    cluster small = h100s(8);
    small.host.memory = gib(64);  // eight engines' weights are 113 GiB
    CHECK(plan_reinforcement({policy_of(), r}, sharded, small)->verdict() == verdict::does_not_fit);
    small.host.memory = {};
    CHECK(plan_reinforcement({policy_of(), r}, sharded, small)->verdict() == verdict::tight);
    CHECK(planned(policy_of(), r).verdict() == verdict::fits);
}

TEST_CASE("a step is a rollout, forward passes, training and sending weights, one after the other") {
    rollout r = vllm_rollout();
    const reinforcement_plan p = planned(policy_of(), r);
    const duration sum = phase_of(p, workload_phase::rollout).time.expected + p.log_probabilities.expected +
                         phase_of(p, workload_phase::training).time.expected + p.synchronisation;
    CHECK(p.step.expected.in(seconds) == doctest::Approx(sum.in(seconds)));
    CHECK(p.answers_per_second() == doctest::Approx(128 / p.step.expected.in(seconds)));
    CHECK(p.tokens_per_second().in(tokens_per_s) == doctest::Approx(128 * 512 / p.step.expected.in(seconds)));
    r.num_iterations = 3;
    const reinforcement_plan more = planned(policy_of(), r);
    CHECK(more.optimizer_steps == 6);
    CHECK(more.step.expected.in(seconds)-p.step.expected.in(seconds) ==
          doctest::Approx(2 * phase_of(p, workload_phase::training).time.expected.in(seconds)));
}

TEST_CASE("log-probabilities are a forward pass of the policy, and one of a reference") {
    const auto scoring = [](reference_model reference, bool again) {
        job policy = policy_of();
        policy.reference = reference;
        rollout r = vllm_rollout();
        r.scores_again = again;
        return planned(policy, r).log_probabilities.expected.in(seconds);
    };
    CHECK(scoring(reference_model::none, false) == 0);
    const double one = scoring(reference_model::none, true);
    CHECK(one > 0);
    CHECK(scoring(reference_model::loaded, false) == doctest::Approx(one));
    CHECK(scoring(reference_model::loaded, true) == doctest::Approx(2 * one));
    CHECK(scoring(reference_model::offloaded, true) > 2 * one);  // its weights are copied for each micro-batch
    // A forward pass is a quarter of a step with full recomputation: forward twice, and backward, which is twice that.
    const reinforcement_plan p = planned(policy_of(), vllm_rollout());
    const double step = phase_of(p, workload_phase::training).time.expected.in(seconds);
    CHECK(one > 0.15 * step);
    CHECK(one < 0.3 * step);
}

TEST_CASE("a forward pass gathers sharded weights once more") {
    cluster slow = h100s(8);
    slow.scale_up.raw = slow.scale_up.raw / 200;  // the exchange of weights takes most of a step
    slow.scale_up.all_reduce = {};
    rollout r = vllm_rollout();
    r.scores_again = true;
    const reinforcement_plan p = plan_reinforcement({policy_of(), r}, sharded, slow).value();
    const double step = phase_of(p, workload_phase::training).time.expected.in(seconds);
    // A step is four micro-batches with two gathers each, and one reduction of as many bytes.
    CHECK(p.log_probabilities.expected.in(seconds) > 4.0 / 9 * 0.95 * step);
    CHECK(p.log_probabilities.expected.in(seconds) < 4.0 / 9 * 1.05 * step);
}

TEST_CASE("a reference takes its weights of the GPU, of main memory, or nothing") {
    const auto with = [](reference_model reference) {
        job policy = policy_of();
        policy.reference = reference;
        return planned(policy, vllm_rollout());
    };
    const auto held = [](const reinforcement_plan& p) { return phase_of(p, workload_phase::training).plan.memory; };
    const reinforcement_plan none = with(reference_model::none), loaded = with(reference_model::loaded),
                             offloaded = with(reference_model::offloaded);
    CHECK(held(none)[memory_term::reference].expected == byte_count{});
    CHECK(held(loaded)[memory_term::reference] == held(loaded)[memory_term::weights]);
    CHECK(held(offloaded)[memory_term::reference].expected == byte_count{});
    CHECK(held(offloaded).ideal == held(none).ideal);
    CHECK(phase_of(offloaded, workload_phase::training).plan.host_memory.expected ==
          held(none)[memory_term::weights].expected * 8);
    CHECK(held(with(reference_model::by_method)).ideal == held(none).ideal);
    job rloo = policy_of(preference_method::rloo);
    CHECK(held(planned(rloo, vllm_rollout())).ideal == held(loaded).ideal);
}

TEST_CASE("ppo trains a critic beside the policy") {
    const job policy = policy_of(preference_method::ppo);
    rollout r = vllm_rollout();
    r.engine.runtime.cache.fraction = 0.4;
    r.sleep = engine_sleep::level_2;
    const reinforcement_plan p = planned(policy, r, critic_of(policy));
    REQUIRE(p.phase_count == 3);
    CHECK(p.phases[1].phase == workload_phase::critic);
    const phase_plan &critic = p.phases[1], &training = p.phases[2];
    const job_plan alone = plan(critic_of(policy), sharded, h100s(8)).value();
    CHECK(critic.plan.memory.ideal == alone.memory.ideal);
    CHECK(critic.resident.expected > training.resident.expected);  // the policy's head is larger, and has a reference
    CHECK(training.resident.low > alone.memory[memory_term::weights].expected * 3);
    const reinforcement_plan grpo = planned(policy_of(), r);
    CHECK(p.phases[0].resident.expected > phase_of(grpo, workload_phase::rollout).resident.expected + gib(9));
    CHECK(p.step.expected > grpo.step.expected);
}

namespace {

/// A job that serves a reward model of 7B, which reads a prompt with its answer.
job scores_of() {
    return {.model = classifier(models::qwen2_5_7b, 1),
            .weights = bf16,
            .prompt = tokens(1024),
            .runtime = runtimes::transformers};
}
reinforcement_plan scored_plan(const job& policy, const maybe<reward_model>& reward, const layout& l = sharded) {
    rollout r = vllm_rollout();
    r.sleep = engine_sleep::level_2;
    const auto made = plan_reinforcement({.policy = policy, .rollout = r, .reward = reward}, l, h100s(8));
    REQUIRE_MESSAGE(made, made.error().field.view());
    return *made;
}

}  // namespace

TEST_CASE("a reward model scores all answers behind the rollout, and stays on each GPU") {
    const reinforcement_plan without = scored_plan(policy_of(), {});
    const reinforcement_plan p = scored_plan(policy_of(), reward_model{.scores = scores_of(), .at_once = 4});
    REQUIRE(p.phase_count == 3);
    REQUIRE(p.phases[1].phase == workload_phase::reward);
    CHECK(without.find(workload_phase::reward) == nullptr);
    const phase_plan& scoring = p.phases[1];
    job alone = scores_of();
    alone.batch = 4;
    const job_plan one = plan(alone, layout{}, cluster{.gpu = gpus::h100_sxm5_80gb}).value();
    CHECK(scoring.own == one.memory.total());
    CHECK(scoring.time.expected == one.speed.prefill.total().expected * (128.0 / 8 / 4));
    const byte_count weights = one.memory[memory_term::weights].expected;
    for (const workload_phase other : {workload_phase::rollout, workload_phase::training}) {
        const byte_count more = phase_of(p, other).resident.expected - phase_of(without, other).resident.expected;
        CHECK(more >= weights);
        CHECK(more < weights + gib(2));  // and the context of its process
    }
    CHECK((p.step.expected - without.step.expected) / scoring.time.expected == doctest::Approx(1));
    // In the trainer's process it has no context of its own, and reads a whole rollout at once.
    const reinforcement_plan inside = scored_plan(policy_of(), reward_model{.scores = scores_of(), .in_trainer = true});
    const auto beside_training = [](const reinforcement_plan& each) {
        return phase_of(each, workload_phase::training).resident.expected;
    };
    CHECK(beside_training(inside) < beside_training(p));
    CHECK(inside.phases[1].plan.memory[memory_term::activations].expected >
          scoring.plan.memory[memory_term::activations].expected * 3);
}

TEST_CASE("autocast casts all matrices of a reward model that is loaded in fp32 in the trainer") {
    job scores = scores_of();
    scores.weights = fp32;
    job mixed = policy_of(), plain = policy_of();
    mixed.compute = bf16;
    plain.compute = fp32;
    const reward_model reward{.scores = scores, .in_trainer = true};
    const byte_count casts =
        scored_plan(mixed, reward).phases[1].own.expected - scored_plan(plain, reward).phases[1].own.expected;
    const std::int64_t matrices = 7'615'616'512 - 2 * 152'064 * 3'584;  // without the table, and without the head
    CHECK(ratio(casts, byte_count{bytes(2 * matrices)}) == doctest::Approx(1).epsilon(0.001));
}

TEST_CASE("DeepSpeed's ZeRO 3 shards a reward model, and gathers at most what its settings keep") {
    job policy = policy_of();
    policy.runtime = runtimes::deepspeed;
    policy.weights = bf16;
    const reward_model reward{.scores = scores_of(), .at_once = 2};
    const layout whole{.data = 8, .zero = 2};
    const phase_plan shards = scored_plan(policy, reward).phases[1],
                     copies = scored_plan(policy, reward, whole).phases[1];
    const byte_count weights = copies.plan.memory[memory_term::weights].expected;
    CHECK(copies.own == copies.plan.memory.total());
    CHECK(shards.own.low == copies.own.low - (weights - div_up(weights, 8)));
    CHECK(shards.own.expected == shards.own.low + (copies.own.expected - copies.own.low) + byte_count{gb(2)});
    CHECK(shards.own.high - shards.own.expected == copies.own.high - copies.own.expected + byte_count{gb(2)});
}

TEST_CASE(
    "a reward model that does not fit beside the others makes the workload not fit, and one that speaks is none") {
    job scores = scores_of();
    scores.model = classifier(models::qwen2_5_72b, 1);
    const reinforcement_plan p = scored_plan(policy_of(), reward_model{.scores = scores, .at_once = 1});
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(phase_of(p, workload_phase::reward).plan.reasons[0].code == reason_code::phases_exceed);
    scores.model = models::qwen2_5_7b;
    const auto wrong = plan_reinforcement(
        {.policy = policy_of(), .rollout = vllm_rollout(), .reward = reward_model{scores}}, sharded, h100s(8));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().field == "rollout.reward");
    job empty = scores_of();
    empty.prompt = {};
    empty.context = tokens(-1);
    const auto none = plan_reinforcement(
        {.policy = policy_of(), .rollout = vllm_rollout(), .reward = reward_model{empty}}, sharded, h100s(8));
    REQUIRE_FALSE(none);
    CHECK(none.error().field == "rollout.reward.context");
    const reward_model many{.scores = scores_of(), .at_once = -1};
    const auto below =
        plan_reinforcement({.policy = policy_of(), .rollout = vllm_rollout(), .reward = many}, sharded, h100s(8));
    REQUIRE_FALSE(below);
    CHECK(below.error().field == "rollout.reward.at_once");
}

TEST_CASE("an engine with GPUs of its own leaves all of the others' to training, and one of both waits") {
    rollout r = vllm_rollout();
    r.engine.runtime.cache.fraction = 0.9;
    r.own_gpus = h100s(4);
    r.layout.data = 4;
    const reinforcement_plan p = planned(policy_of(), r);
    CHECK(phase_of(p, workload_phase::training).resident.high == byte_count{});
    CHECK(phase_of(p, workload_phase::rollout).resident.high == byte_count{});
    CHECK(p.verdict() == verdict::fits);
    const double rollout_part = phase_of(p, workload_phase::rollout).time.expected / p.step.expected;
    CHECK(p.idle_engine == doctest::Approx(1 - rollout_part));
    CHECK(p.idle_trainer >= rollout_part);
    r.asynchronous = true;
    const reinforcement_plan at_once = planned(policy_of(), r);
    CHECK(at_once.step.expected < p.step.expected);
    CHECK(at_once.step.expected > p.step.expected * 0.49);
    CHECK(at_once.idle_engine < p.idle_engine);
}

TEST_CASE("a rollout takes a step for each token of its longest answer, and more the more answers are in flight") {
    const auto time = [](std::int64_t answers, std::int64_t mean) {
        rollout r = vllm_rollout();
        r.answers = answers;
        r.mean_output = tokens(mean);
        job policy = policy_of();
        return phase_of(planned(policy, r), workload_phase::rollout).time.expected.in(seconds);
    };
    CHECK(time(128, 256) < time(128, 512));
    CHECK(time(128, 512) < time(1024, 512));
    CHECK(time(1024, 512) < 8 * time(128, 512));  // steps have most of their time in common
    // 512 tokens of eight answers a GPU: the weights are read 512 times, 15.2 GB at 3.35 TB/s and less than half of it.
    CHECK(time(64, 512) > 512 * 15.2 / 3350);
    CHECK(time(64, 512) < 2.5 * 512 * 15.2 / 3350);
    rollout few = vllm_rollout();
    few.engine.options.max_num_seqs = 2;
    const reinforcement_plan waits = planned(policy_of(), few);
    CHECK(waits.in_flight == 16);
    CHECK(phase_of(waits, workload_phase::rollout).time.expected.in(seconds) > 4 * time(128, 512));
}

TEST_CASE("more answers, and longer ones, make no verdict better") {
    rollout r = vllm_rollout();
    for (const double part : {0.22, 0.25, 0.3, 0.5}) {
        verdict before = verdict::fits;
        r.engine.runtime.cache.fraction = part;
        for (const std::int64_t answers : {64, 128, 1024, 65536}) {
            r.answers = answers;
            const verdict found = planned(policy_of(), r).verdict();
            CHECK(found >= before);
            before = found;
        }
        r.answers = 128;
        before = verdict::fits;
        for (const std::int64_t output : {64, 512, 4096, 24576}) {
            r.engine.output = tokens(output);
            const verdict found = planned(policy_of(), r).verdict();
            CHECK(found >= before);
            before = found;
        }
        r.engine.output = tokens(512);
    }
}

TEST_CASE("jobs out of their bounds are refused, also where nothing was checked before") {
    job none = policy_of();
    none.micro_batch = 0;
    CHECK(refused_field(none, vllm_rollout()) == "micro_batch");
    rollout r = vllm_rollout();
    r.answers = 0;
    r.generations = std::int64_t{1} << 60;
    CHECK(refused_field(policy_of(), r) == "rollout.generations");
    r = vllm_rollout();
    r.layout.tensor = 0;
    CHECK(refused_field(policy_of(), with_engines(r, h100s(8))) == "rollout.layout.tensor");
}

TEST_CASE("workloads that contradict themselves are refused by name") {
    CHECK(refused_field(policy_of(preference_method::dpo), vllm_rollout()) == "preference");
    CHECK(refused_field(policy_of(preference_method::ppo), vllm_rollout()) == "critic");
    CHECK(refused_field(policy_of(), vllm_rollout(), critic_of(policy_of())) == "critic");
    const auto field = [](auto change) {
        rollout r = vllm_rollout();
        change(r);
        return refused_field(policy_of(), r);
    };
    CHECK(field([](rollout& r) { r.generations = 0; }) == "rollout.generations");
    CHECK(field([](rollout& r) { r.generations = 1; }) == "rollout.generations");
    CHECK(field([](rollout& r) { r.generations = 7; }) == "rollout.answers");
    CHECK(field([](rollout& r) { r.answers = 96; }) == "rollout.answers");
    CHECK(field([](rollout& r) { r.num_iterations = 0; }) == "rollout.num_iterations");
    CHECK(field([](rollout& r) { r.engine.output = {}; }) == "rollout.output");
    CHECK(field([](rollout& r) { r.mean_output = tokens(513); }) == "rollout.mean_output");
    CHECK(field([](rollout& r) { r.asynchronous = true; }) == "rollout.asynchronous");
    CHECK(field([](rollout& r) { r.engine.task = task::finetuning; }) == "rollout.engine");
    CHECK(field([](rollout& r) { r.layout.tensor = 16; }) == "rollout.layout.tensor");
    CHECK(field([](rollout& r) {
              r.own_gpus = h100s(8);
              r.sleep = engine_sleep::level_2;
          }) == "rollout.sleep");
}
