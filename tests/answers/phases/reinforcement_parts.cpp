// SPDX-License-Identifier: MIT
// The parts of a step of reinforcement learning by hand: what each keeps of a GPU, how long it takes, how it is judged.
#include <llmres/answers/phases/reinforcement.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>

#include "workloads.hpp"

using namespace llmres;
using namespace workloads;

namespace {

cluster h100s(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }

job engine_of(const runtime& r = runtimes::vllm) {
    job engine{.model = models::qwen2_5_7b, .prompt = tokens(512), .output = tokens(512), .runtime = r};
    if (engine.runtime.cache.fraction) engine.runtime.cache.fraction = 0.5;
    return engine;
}
rollout rollout_of(const runtime& r = runtimes::vllm) {
    return {.engine = engine_of(r), .layout = {.data = 8}, .answers = 128};
}

interval<byte_count> sizes(std::int64_t low, std::int64_t expected, std::int64_t high) {
    return {gib(low), gib(expected), gib(high)};
}
phase_plan taking(verdict found, std::int64_t own, std::int64_t resident) {
    phase_plan p;
    p.plan.verdict = found;
    p.own = sizes(own, own, own);
    p.resident = sizes(resident, resident, resident);
    return p;
}
job_speed taking_seconds(double step, double prefill = 0) {
    job_speed speed;
    speed.step[time_term::compute] = {seconds(step / 2), seconds(step), seconds(step * 2)};
    speed.prefill[time_term::compute] = {seconds(prefill / 2), seconds(prefill), seconds(prefill * 2)};
    return speed;
}

}  // namespace

// ---- the whole

TEST_CASE("the worst phase is the one with the worst verdict, then the fullest, then the first") {
    reinforcement_plan p;
    p.phase_count = 3;
    const auto worst_of = [&](const phase_plan& a, const phase_plan& b, const phase_plan& c) {
        p.phases = {a, b, c};
        return &p.worst() - p.phases.data();
    };
    const phase_plan fits = taking(verdict::fits, 10, 10), tight = taking(verdict::tight, 1, 1);
    CHECK(worst_of(fits, tight, fits) == 1);
    CHECK(worst_of(tight, fits, fits) == 0);
    CHECK(worst_of(fits, fits, tight) == 2);
    CHECK(worst_of(fits, taking(verdict::fits, 5, 16), fits) == 1);
    CHECK(worst_of(fits, taking(verdict::fits, 15, 4), fits) == 0);
    CHECK(worst_of(fits, fits, fits) == 0);
    CHECK(p.verdict() == verdict::fits);
    CHECK(p.find(workload_phase::critic) == nullptr);
    p.phase_count = 0;
    p.phases[0].phase = workload_phase::rollout;
    CHECK(p.find(workload_phase::rollout) == nullptr);
    // Nothing a second of what takes no time.
    p.answers = 8;
    p.mean_output = tokens(100);
    CHECK(p.answers_per_second() == 0);
    CHECK(p.tokens_per_second() == token_rate{});
}

TEST_CASE("as many engines as their GPUs have room for, and one at least") {
    const auto engines = [](std::int32_t gpus, const layout& l) {
        rollout r = rollout_of();
        r.layout = l;
        return with_engines(r, h100s(gpus)).layout.data;
    };
    CHECK(engines(8, {}) == 8);
    CHECK(engines(8, {.tensor = 2}) == 4);
    CHECK(engines(8, {.tensor = 2, .data = 3}) == 4);
    CHECK(engines(4, {.tensor = 2}) == 2);
    CHECK(engines(1, {.tensor = 2}) == 1);
    rollout own = rollout_of();
    own.own_gpus = h100s(4);
    CHECK(with_engines(own, h100s(8)).layout.data == 4);
    own.layout.tensor = 0;
    CHECK(with_engines(own, h100s(8)).layout.data == 1);
}

TEST_CASE("where nobody says how many answers there are, steps train on all that a prompt has") {
    const auto answers = [](std::int64_t generations, std::int64_t said) {
        rollout r = rollout_of();
        r.generations = generations;
        r.answers = said;
        return plan_reinforcement({policy_of(), r}, sharded, h100s(8)).value().answers;
    };
    CHECK(answers(8, 0) == 64);   // of one step
    CHECK(answers(6, 0) == 192);  // of three, in which 32 prompts have six answers
    CHECK(answers(8, 256) == 256);
}

TEST_CASE("a rollout's speed is the engine's, and nobody waits where engine and trainer share their GPUs") {
    const reinforcement_plan p = plan_reinforcement({policy_of(), rollout_of()}, sharded, h100s(8)).value();
    CHECK(p.phases[0].plan.speed.step.total().expected > duration{});
    CHECK(p.idle_trainer == 0);
    CHECK(p.idle_engine == 0);
    CHECK_FALSE(rollout{}.scores_again);
}

TEST_CASE("what sleeps takes main memory for each GPU of a node that trains") {
    rollout r = rollout_of();
    r.layout.data = 4;
    r.sleep = engine_sleep::level_1;
    const auto held = [&](const layout& l, const cluster& c) {
        const reinforcement_plan p = plan_reinforcement({policy_of(), r}, l, c).value();
        return ratio(p.host_memory.expected, p.phases[0].plan.memory[memory_term::weights].expected);
    };
    CHECK(held({.data = 4, .zero = 3}, h100s(8)) == 4);
    CHECK(held({.data = 16, .zero = 3}, h100s(16)) == 8);
}

TEST_CASE("a reward model reads as many answers at once on each GPU as it is told, or as there are") {
    const auto at_once = [](std::int64_t told, std::int64_t answers) {
        rollout r = rollout_of();
        r.answers = answers;
        return detail::scored_at_once({.scores = {}, .at_once = told}, r, layout{.data = 8});
    };
    CHECK(at_once(0, 96) == 96);
    CHECK(at_once(0, 97) == 104);  // thirteen on each of eight
    CHECK(at_once(4, 97) == 32);
    CHECK(at_once(13, 97) == 104);
    CHECK(at_once(20, 97) == 104);
}

TEST_CASE("engines are no more than answers") {
    job policy = policy_of();
    policy.global_batch = 16;
    rollout many = rollout_of();
    many.answers = 16;
    many.generations = 2;
    many.layout.data = 16;
    many.own_gpus = h100s(8);
    many.own_gpus.value.gpus = 32;
    many.engine.runtime.cache.fraction = 0.9;
    rollout as_many = many;
    many.layout.data = 32;
    const auto one = plan_reinforcement({policy, as_many}, sharded, h100s(8));
    const auto other = plan_reinforcement({policy, many}, sharded, h100s(8));
    REQUIRE(one);
    REQUIRE(other);
    CHECK(one->phases[0].time.expected == other->phases[0].time.expected);
    CHECK(one->phases[0].plan.layout == other->phases[0].plan.layout);
}

TEST_CASE("answers that are packed take the time of their mean length, and the memory of the longest") {
    rollout r = rollout_of();
    r.mean_output = tokens(128);
    job policy = policy_of();
    policy.sequence = tokens(1024);
    policy.scored = tokens(512);
    const reinforcement_plan padded = plan_reinforcement({policy, r}, sharded, h100s(8)).value();
    r.remove_padding = true;
    const reinforcement_plan packed = plan_reinforcement({policy, r}, sharded, h100s(8)).value();
    job shorter = policy;
    shorter.sequence = tokens(1024 - (512 - 128));
    shorter.scored = tokens(128);
    const phase_plan &all = *padded.find(workload_phase::training), &mean = *packed.find(workload_phase::training);
    CHECK(mean.own.high == all.own.high);
    CHECK(mean.time.expected < all.time.expected);
    CHECK(mean.plan.speed.step.expected() == plan(shorter, sharded, h100s(8))->speed.step.expected());
    CHECK(packed.log_probabilities.expected <= padded.log_probabilities.expected);
    r.mean_output = {};  // all are as long as the longest
    CHECK(plan_reinforcement({policy, r}, sharded, h100s(8))->step.expected ==
          plan_reinforcement({policy, rollout_of()}, sharded, h100s(8))->step.expected);
}

TEST_CASE("of several errors those of what is trained are said first") {
    job critic = policy_of(preference_method::ppo);
    critic.model = classifier(critic.model, 1);
    critic.preference = preference_method::none;
    critic.micro_batch = 0;
    rollout r = rollout_of();
    r.generations = 1;
    r.layout.tensor = 3;
    CHECK(refused_field(policy_of(preference_method::ppo), r, critic) == "critic.micro_batch");
    critic.micro_batch = 2;
    CHECK(refused_field(policy_of(preference_method::ppo), r, critic) == "rollout.layout.tensor");
}

TEST_CASE("ppo and reinforce have one answer to a prompt, and other methods two at least") {
    job critic = policy_of(preference_method::ppo);
    critic.model = classifier(critic.model, 1);
    critic.preference = preference_method::none;
    rollout r = rollout_of();
    r.engine.runtime.cache.fraction = 0.3;
    r.generations = 1;
    CHECK(refused_field(policy_of(preference_method::ppo), r, critic) == "");
    CHECK(refused_field(policy_of(preference_method::reinforce), r) == "");
    CHECK(refused_field(policy_of(), r) == "rollout.generations");
    CHECK(refused_field(policy_of(preference_method::rloo), r) == "rollout.generations");
    r.generations = 2;
    CHECK(refused_field(policy_of(), r) == "");
    r.mean_output = tokens(-1);
    CHECK(refused_field(policy_of(), r) == "rollout.mean_output");
    r.mean_output = {};
    r.own_gpus = h100s(8);
    CHECK(refused_field(policy_of(), r) == "");
    r.trainer = trainer_sleep::optimizer;
    CHECK(refused_field(policy_of(), r) == "rollout.trainer");
}

TEST_CASE(
    "of what nobody says there is nothing, one engine has one rank, and an iteration's answers are all trained on") {
    CHECK(rollout{}.answers == 0);
    CHECK(rollout{}.num_iterations == 1);
    CHECK(rollout{}.layout.gpus() == 1);
}

// ---- memory

TEST_CASE(
    "an engine starts beside weights, adapters and processes of what trains and scores: no states are there yet") {
    const cluster c = h100s(8);
    job policy = policy_of();
    policy.adapter = {.kind = adapter_kind::lora, .rank = 16};
    const auto taken = [&](const rollout& r, const maybe<reward_model>& reward = {}) {
        const auto made = plan_reinforcement({.policy = policy, .rollout = r, .reward = reward}, sharded, c);
        REQUIRE(made);
        return available_memory(r.own_gpus ? *r.own_gpus : c) - made->phases[0].plan.usable;
    };
    const memory_breakdown m = plan(policy, sharded, c)->memory;
    const byte_count process = m[memory_term::runtime].expected,
                     weights = m[memory_term::weights].expected + m[memory_term::adapter].expected;
    REQUIRE(m[memory_term::adapter].expected > byte_count{});
    REQUIRE(m[memory_term::optimizer].expected > byte_count{});
    rollout r = rollout_of(runtimes::transformers);  // which takes no part of a GPU ahead
    CHECK(taken(r) == process + weights);
    r.trainer = trainer_sleep::optimizer;
    CHECK(taken(r) == process + weights);
    r.trainer = trainer_sleep::all;
    CHECK(taken(r) == process);
    r.trainer = trainer_sleep::awake;
    const reward_model reward{.scores = {.model = classifier(models::qwen2_5_7b, 1),
                                         .weights = bf16,
                                         .prompt = tokens(1024),
                                         .runtime = runtimes::transformers},
                              .at_once = 1};
    job scores = reward.scores;
    scores.batch = 8;
    const memory_breakdown of_reward = memory_of(scores, {.data = 8}, c);
    CHECK(taken(r, reward) == process + weights + of_reward[memory_term::weights].expected +
                                  of_reward[memory_term::runtime].expected +
                                  of_reward[memory_term::workspace].expected);
    // The trainer's own model has all of the GPU to itself, and so has an engine on GPUs of its own.
    rollout own = r;
    own.uses_trained_weights = true;
    CHECK(taken(own) == byte_count{});
    r.own_gpus = h100s(8);
    CHECK(taken(r) == byte_count{});
}

TEST_CASE("the trainer's own model fits as an engine where a second one would not") {
    cluster c = h100s(8);
    c.in_use = available_memory(c) - gib(40);
    job policy = policy_of();
    policy.micro_batch = 1;
    rollout r = rollout_of(runtimes::transformers);
    r.engine.weights = fp32;  // 28 GiB beside the 11 GiB that a rank keeps of weights and states
    const auto generating = [&] { return plan_reinforcement({policy, r}, sharded, c).value().phases[0].plan; };
    REQUIRE(generating().verdict == verdict::does_not_fit);
    REQUIRE(generating().reason_count > 0);
    r.uses_trained_weights = true;
    CHECK(generating().verdict == verdict::fits);
    CHECK(generating().reason_count == 0);
}

TEST_CASE("a rollout is judged by the GPUs that it runs on, beside the states that came after its engine started") {
    rollout r = rollout_of();
    r.engine.runtime.cache.fraction = 0.85;
    // 0.85 of a GPU of 80 GB, beside 12 bytes of each of 7.6 billion parameters on eight GPUs.
    const job_plan together = plan_reinforcement({policy_of(), r}, sharded, h100s(8)).value().phases[0].plan;
    CHECK(together.verdict == verdict::tight);
    REQUIRE(together.reason_count == 1);
    CHECK(together.reasons[0].code == reason_code::phases_exceed);
    // The same part of a GPU of 141 GB is more than all of one of 80 GB.
    r.own_gpus = standard_cluster(gpus::h200_sxm5_141gb, 8).value();
    const phase_plan alone = plan_reinforcement({policy_of(), r}, sharded, h100s(8)).value().phases[0];
    CHECK(alone.own.low > available_memory(h100s(8)));
    CHECK(alone.plan.verdict == verdict::fits);
}

TEST_CASE("training is tight where it fits beside what an engine likely keeps, and not beside what it may keep") {
    rollout r = rollout_of();
    r.engine.runtime.cache.fraction = 0.3;
    r.sleep = engine_sleep::level_2;
    const auto training = [&](std::int64_t in_use) {
        cluster c = h100s(8);
        c.in_use = gib(in_use);
        return *plan_reinforcement({policy_of(), r}, sharded, c).value().find(workload_phase::training);
    };
    cluster c = h100s(8);
    c.in_use = gib(22);
    const phase_plan between = training(22);
    CHECK(between.plan.verdict == verdict::tight);
    REQUIRE(between.plan.reason_count == 1);
    CHECK(between.plan.reasons[0].code == reason_code::phases_exceed);
    CHECK(between.plan.reasons[0].available == available_memory(c));
    CHECK(between.plan.reasons[0].needed > available_memory(c));
    cluster beside_all = c;
    beside_all.in_use += between.resident.high;
    CHECK(plan(policy_of(), sharded, beside_all)->verdict == verdict::tight);
    beside_all.in_use = c.in_use + between.resident.expected;
    CHECK(plan(policy_of(), sharded, beside_all)->verdict == verdict::fits);
    // Where cached blocks that PyTorch gives back make enough room, it fits beside all that the engine may keep.
    const phase_plan below = training(21);
    CHECK(below.own.high + below.resident.high > available_memory(c) + gib(1));
    CHECK(below.plan.verdict == verdict::fits);
    CHECK(below.plan.reason_count == 0);
    // What does not fit beside what an engine likely keeps is not tight, whichever more it may keep.
    CHECK(training(30).plan.verdict == verdict::does_not_fit);
}

TEST_CASE("of a reward model that ZeRO 3 shards a GPU keeps its shard, beside a process and its libraries") {
    job policy = policy_of();
    policy.runtime = runtimes::deepspeed;
    memory_breakdown m;
    m[memory_term::weights] = sizes(16, 16, 16);
    m[memory_term::runtime] = sizes(1, 1, 2);
    m[memory_term::workspace] = sizes(0, 1, 1);
    m[memory_term::activations] = sizes(7, 7, 7);
    const auto left = [&](const layout& l) {
        return detail::left_by_reward({.policy = policy, .reward = reward_model{}}, l, h100s(8), m);
    };
    CHECK(left(sharded) == sizes(3, 4, 5));  // an eighth of 16 GiB
    CHECK(left({.data = 8, .zero = 2}) == sizes(17, 18, 19));
    policy.runtime = runtimes::huggingface;
    CHECK(left(sharded) == sizes(17, 18, 19));
}

TEST_CASE("autocast keeps casts of the table where the head is the table, and of no table else") {
    job policy = policy_of();
    policy.compute = bf16;
    REQUIRE(autocasts(policy));
    const model &tied = models::qwen2_5_0_5b, &untied = models::qwen2_5_7b;
    REQUIRE(tied.tied_head);
    const byte_count table = bytes(std::int64_t{4} * tied.vocabulary * tied.hidden);
    CHECK(detail::kept_casts(policy, tied, gib(2)) == gib(1));
    CHECK(detail::kept_casts(policy, classifier(tied, 1), gib(2)) == div_up(gib(2) - table, 2));  // it has no such head
    CHECK(detail::kept_casts(policy, untied, gib(28)) < gib(14));
    policy.weights = bf16;
    CHECK(detail::kept_casts(policy, tied, gib(2)) == byte_count{});
}

TEST_CASE("between its steps a trainer keeps weights and states, unless they sleep, and gaps that it cannot free") {
    memory_breakdown m;
    m[memory_term::weights] = sizes(10, 10, 10);
    m[memory_term::adapter] = sizes(1, 1, 1);
    m[memory_term::optimizer] = sizes(20, 20, 20);
    m[memory_term::gradients] = sizes(5, 5, 5);
    m[memory_term::activations] = sizes(7, 7, 7);
    m[memory_term::runtime] = sizes(1, 1, 2);
    m[memory_term::fragmentation] = sizes(0, 4, 9);
    m.releasable = sizes(0, 3, 5);
    m.released = gib(2);
    const auto left = [&](const runtime& r, trainer_sleep sleep) {
        job j = policy_of();
        j.runtime = r;
        return detail::left_by_training(j, layout{}, m, sleep);
    };
    // Of 4 and 9 GiB of gaps 3 and 5 can be freed, and 2 more were when memory was short.
    CHECK(left(runtimes::huggingface, trainer_sleep::awake) == sizes(32, 33, 35));
    CHECK(left(runtimes::huggingface, trainer_sleep::optimizer) == sizes(12, 13, 15));
    CHECK(left(runtimes::huggingface, trainer_sleep::all) == sizes(1, 2, 4));
    // Megatron-Core's gradients lie in a buffer.
    runtime buffered = runtimes::huggingface;
    buffered.kernels.linear = linear_code::accumulates;
    CHECK(left(buffered, trainer_sleep::awake) == sizes(37, 38, 40));
    CHECK(left(buffered, trainer_sleep::all) == sizes(1, 2, 4));
    CHECK(detail::moved_by_trainer(m, trainer_sleep::awake) == byte_count{});
    CHECK(detail::moved_by_trainer(m, trainer_sleep::optimizer) == gib(20));
    CHECK(detail::moved_by_trainer(m, trainer_sleep::all) == gib(31));
}

TEST_CASE("an adapter in fp32 beside narrower weights widens the input of the widest layer, and its product") {
    job policy = policy_of();
    policy.weights = bf16;
    policy.adapter = {.kind = adapter_kind::lora, .rank = 16};
    job engine = engine_of();
    engine.batch = 16;
    // 16 answers on 8 data ranks: two prompts of 512 tokens, 18,944 features of the feed-forward and 3,584 of the
    // model.
    const byte_count both = bytes(4 * std::int64_t{2 * 512} * (18944 + 3584));
    REQUIRE(adapter_format_of(policy) == fp32);
    CHECK(detail::adapter_branch(policy, engine, {.data = 8}) == both);
    job narrow = policy;
    narrow.runtime.kernels.fp32_adapters = false;
    CHECK(detail::adapter_branch(narrow, engine, {.data = 8}) == byte_count{});
    job wide = policy;
    wide.weights = fp32;
    CHECK(detail::adapter_branch(wide, engine, {.data = 8}) == byte_count{});
    job full = policy;
    full.adapter = {};
    CHECK(detail::adapter_branch(full, engine, {.data = 8}) == byte_count{});
}

TEST_CASE("an engine in the trainer's process has no context, and the trainer's own model no weights but casts") {
    const cluster c = h100s(8);
    job_plan p;
    p.usable = gib(79);
    p.memory[memory_term::weights] = sizes(28, 28, 28);
    p.memory[memory_term::kv_cache] = sizes(2, 2, 2);
    p.memory[memory_term::runtime] = sizes(1, 1, 1);
    rollout r = rollout_of(runtimes::transformers);
    job policy = policy_of();
    policy.weights = bf16;
    const auto taken = [&] { return detail::taken_by_engine(r, r.engine, policy, c, p); };
    CHECK(taken() == sizes(31, 31, 31));
    const interval<byte_count> context = context_on(r.engine.runtime, c.gpu);
    job_plan full = p;  // of a GPU of which nothing is left an engine takes no pool
    full.usable = byte_count{};
    CHECK(detail::taken_by_engine(r, engine_of(), policy, c, full) == sizes(31, 31, 31));
    r.in_trainer = true;
    CHECK(taken().expected == gib(31) - context.expected);
    r.in_trainer = false;
    r.uses_trained_weights = true;
    CHECK(taken() == sizes(3, 3, 3));
    r.gathers_weights = true;
    CHECK(taken() == sizes(31, 31, 31));
    r.gathers_weights = false;
    // Under autocast half of fp32's bytes of all matrices but the table, which is no matrix of a product.
    policy.weights = fp32;
    policy.compute = bf16;
    REQUIRE(autocasts(policy));
    const byte_count table = bytes(std::int64_t{4} * 152'064 * 3'584);
    CHECK(taken().expected == gib(3) + div_up(gib(28) - table, 2));
    policy.compute = fp32;
    CHECK(taken() == sizes(3, 3, 3));
    // An adapter in fp32 beside weights in bf16: the widest layer's input and its product, of all prompts.
    policy.weights = bf16;
    policy.adapter = {.kind = adapter_kind::lora, .rank = 16};
    r.engine.batch = 16;
    CHECK(taken().expected == gib(3) + byte_count{bytes(4 * std::int64_t{2 * 512} * (18944 + 3584))});
}

TEST_CASE("phases are judged by what they take together, at the last byte") {
    cluster c = h100s(1);
    c.in_use = available_memory(c) - gib(20);
    const auto judged = [&](const interval<byte_count>& own, verdict alone = verdict::fits) {
        phase_plan p;
        p.plan.verdict = alone;
        p.own = own;
        p.resident = sizes(4, 4, 4);
        detail::judge_together(p, c);
        return p.plan;
    };
    CHECK(judged(sizes(10, 12, 16)).verdict == verdict::fits);
    CHECK(judged(sizes(10, 12, 16)).reason_count == 0);
    const job_plan tight = judged(sizes(16, 17, 18));
    CHECK(tight.verdict == verdict::tight);
    REQUIRE(tight.reason_count == 1);
    CHECK(tight.reasons[0].code == reason_code::phases_exceed);
    CHECK(tight.reasons[0].needed == gib(22));
    CHECK(tight.reasons[0].available == gib(20));
    const job_plan none = judged(sizes(17, 18, 19));
    CHECK(none.verdict == verdict::does_not_fit);
    CHECK(none.reasons[0].needed == gib(22));
    // A phase that is no better alone has its own reasons.
    CHECK(judged(sizes(16, 17, 18), verdict::tight).reason_count == 0);
    CHECK(judged(sizes(16, 17, 18), verdict::does_not_fit).verdict == verdict::does_not_fit);
}

TEST_CASE("what sleeps in main memory is judged at the last byte, and where nobody knows what there is") {
    cluster c = h100s(8);
    const auto judged = [&](const interval<byte_count>& held, byte_count there, verdict alone = verdict::fits) {
        c.host.memory = there;
        phase_plan p;
        p.plan.verdict = alone;
        detail::judge_main_memory(p, held, c);
        return p.plan;
    };
    CHECK(judged(sizes(8, 9, 10), gib(10)).verdict == verdict::fits);
    CHECK(judged(sizes(8, 9, 10), gib(9)).verdict == verdict::tight);
    CHECK(judged(sizes(8, 9, 10), gib(8)).verdict == verdict::tight);
    CHECK(judged(sizes(8, 9, 10), gib(7)).verdict == verdict::does_not_fit);
    CHECK(judged(sizes(8, 9, 10), gib(7)).reasons[0].code == reason_code::host_memory_exceeded);
    CHECK(judged(sizes(8, 9, 10), {}).verdict == verdict::tight);
    CHECK(judged(sizes(8, 9, 10), {}).reasons[0].code == reason_code::host_memory_unknown);
    CHECK(judged(sizes(8, 9, 10), {}, verdict::does_not_fit).verdict == verdict::does_not_fit);
    CHECK(judged({}, {}).verdict == verdict::fits);
    CHECK(judged({}, {}).reason_count == 0);
}

// ---- time

TEST_CASE("a rollout takes so many steps of a fixed time, and more for each token and each prompt") {
    // Two ranks: a step of 2 sequences takes 10 ms, one of 12 takes 30, so that each takes 2 ms beside 6 of the step.
    rollout r = rollout_of();
    r.layout = {.data = 2};
    r.answers = 24;
    r.generations = 4;
    r.engine.output = tokens(150);
    job engine = r.engine;
    engine.batch = 12;
    engine.output = tokens(100);
    const auto time = [&](double all, double one) {
        return detail::generation_time(r, engine, taking_seconds(all), taking_seconds(one, 0.5));
    };
    REQUIRE(engine.runtime.cache.shares_prefixes);
    // Two groups of 100 tokens, and 50 more of the longest; 6 prompts of half a second on two ranks.
    const double shared = 250 * 0.006 + 0.002 * 24 * 100 + 6 * 0.5 / 2;
    CHECK(time(0.030, 0.010).expected.in(seconds) == doctest::Approx(shared));
    CHECK(time(0.030, 0.010).low.in(seconds) == doctest::Approx(shared / 2));
    CHECK(time(0.030, 0.010).high.in(seconds) == doctest::Approx(shared * 2));
    engine.runtime.cache.shares_prefixes = false;
    CHECK(time(0.030, 0.010).expected.in(seconds) == doctest::Approx(shared + 18 * 0.5 / 2));
    engine.runtime.cache.shares_prefixes = true;
    // Steps that are no longer with more sequences take what they take with few.
    CHECK(time(0.008, 0.010).expected.in(seconds) == doctest::Approx(250 * 0.010 + 1.5));
    // All time is that of sequences: none is left for the step itself.
    CHECK(time(0.110, 0.010).expected.in(seconds) == doctest::Approx(0.010 * 24 * 100 + 1.5));
    engine.batch = 2;  // as many as ranks
    CHECK(time(0.030, 0.010).expected.in(seconds) == doctest::Approx((12 * 100 + 50) * 0.010 + 1.5));
    engine.batch = 48;
    CHECK(time(0.102, 0.010).expected.in(seconds) == doctest::Approx(150 * 0.006 + 0.002 * 24 * 100 + 1.5));
}

TEST_CASE("as many answers are in flight as the pool holds of their length, one a data rank at least") {
    const cluster c = h100s(8);
    const auto in_flight = [&](rollout r, token_count length, double fraction) {
        r.engine.batch = r.answers;
        if (r.engine.runtime.cache.fraction) r.engine.runtime.cache.fraction = fraction;
        return detail::in_flight(r, detail::answers_in_pool(r, c, length), &interval<double>::expected);
    };
    rollout r = rollout_of();
    r.answers = 100'000;
    r.engine.options.max_num_seqs = 10'000;
    const auto of_pool = [&](token_count length, double fraction) {
        job one = r.engine;
        one.batch = 8;
        one.output = length;
        one.runtime.cache.fraction = fraction;
        return 8 * static_cast<std::int64_t>(cache_pool_of(one, r.layout, c)->sequences.expected);
    };
    CHECK(in_flight(r, tokens(512), 0.5) == of_pool(tokens(512), 0.5));
    CHECK(in_flight(r, tokens(128), 0.5) == of_pool(tokens(128), 0.5));
    CHECK(in_flight(r, tokens(128), 0.5) > in_flight(r, tokens(512), 0.5));
    r.answers = 64;
    CHECK(in_flight(r, tokens(512), 0.5) == 64);
    CHECK(in_flight(r, tokens(100'000), 0.25) == 8);
    rollout whole = rollout_of(runtimes::transformers);
    whole.answers = 4096;
    REQUIRE(whole.engine.runtime.cache.whole_batches);
    CHECK(in_flight(whole, tokens(512), 0.5) == 4096);
    rollout pooled = rollout_of();  // one that reserves a pool, and computes whole batches nevertheless
    pooled.answers = 100'000;
    pooled.engine.options.max_num_seqs = 100'000;
    CHECK(in_flight(pooled, tokens(512), 0.5) < 100'000);
    pooled.engine.runtime.cache.whole_batches = true;
    CHECK(in_flight(pooled, tokens(512), 0.5) == 100'000);
}

TEST_CASE("what a pool holds is asked of one answer a data rank, whose step leaves the most to the pool") {
    // vLLM's first engine prices the logits of the whole batch, which take of the pool.
    rollout r = rollout_of(runtimes::vllm_v0);
    r.engine.batch = r.answers = 65'536;
    job one = r.engine;
    one.batch = 8;
    const cluster c = h100s(8);
    const interval<double> held = detail::answers_in_pool(r, c, r.engine.output).value;
    CHECK(held == cache_pool_of(one, r.layout, c)->sequences);
    CHECK(held.expected > cache_pool_of(r.engine, r.layout, c)->sequences.expected);
}

TEST_CASE("a rollout holds the longest answers at worst, and has as many of the mean length in flight") {
    const cluster c = h100s(8);
    rollout r = rollout_of();
    r.engine.options.max_num_seqs = 4'096;
    r.answers = 65'536;
    r.mean_output = tokens(128);
    const reinforcement_plan p = plan_reinforcement({policy_of(), r}, sharded, c).value();
    const memory_breakdown trained = plan(policy_of(), sharded, c)->memory;
    const cluster on =
        detail::beside(c, trained[memory_term::runtime].expected + trained[memory_term::weights].expected);
    r.engine.batch = r.answers;
    const auto held = [&](token_count length, double interval<double>::* bound) {
        return detail::in_flight(r, detail::answers_in_pool(r, on, length), bound);
    };
    CHECK(p.in_flight == held(tokens(128), &interval<double>::expected));
    job longest = r.engine, usual = r.engine;
    longest.batch = held(tokens(512), &interval<double>::low);
    REQUIRE(longest.batch < p.in_flight);
    CHECK(p.phases[0].plan.memory.total() == memory_of(longest, r.layout, on).total());
    // Its time is that of steps of all that are in flight, and of one answer a data rank.
    usual.batch = p.in_flight;
    usual.output = tokens(128);
    job alone = usual;
    alone.batch = 8;
    const memory_breakdown& m = p.phases[0].plan.memory;
    CHECK(
        p.phases[0].time.expected ==
        detail::generation_time(r, usual, speed_of(usual, r.layout, on, m), speed_of(alone, r.layout, on, m)).expected);
}

TEST_CASE("weights are gathered, sent and copied for an engine, as each of it has to be") {
    cluster c = h100s(8);
    c.host.link = links::pcie_gen5_x16;
    job_plan engine;
    engine.layout = {.tensor = 4, .pipeline = 2};
    engine.memory[memory_term::weights] = sizes(4, 4, 4);
    rollout r = rollout_of();
    const auto time = [&](const layout& l, byte_count moved = {}) {
        return detail::synchronisation_time(r, l, c, engine, moved);
    };
    CHECK(time({.data = 8}) == duration{});
    CHECK(time({.data = 8, .zero = 2}) == duration{});
    // 4 GiB on each of eight GPUs are 32 GiB of the model.
    CHECK(time(sharded) == time_of(collective_kind::all_gather, gib(32),
                                   detail::group_of(c, sharded.dense_shard_ranks(), sharded.tensor), c.scale_up,
                                   c.scale_out));
    const duration one = byte_count{gib(1)} / c.host.link.bandwidth();
    CHECK(time({.data = 8}, gib(3)) / one == doctest::Approx(6));  // out and back
    r.sleep = engine_sleep::level_1;
    CHECK(time({.data = 8}, gib(3)) / one == doctest::Approx(6 + 8));
    r.sleep = engine_sleep::level_2;
    CHECK(time({.data = 8}) == duration{});
    c.host.link = {};
    CHECK(time({.data = 8}, gib(3)) == duration{});
    r.sleep = engine_sleep::awake;
    r.own_gpus = h100s(4);
    r.own_gpus.value.scale_out = links::ib_ndr_400;
    CHECK(time({.data = 8}) == time_of(collective_kind::send, gib(4), 2, links::ib_ndr_400));
    r.own_gpus.value.scale_out = {};
    CHECK(time({.data = 8}) == time_of(collective_kind::send, gib(4), 2, c.scale_up));
    c.scale_up = links::pcie_gen5_x16;  // a bus, of which two GPUs have the whole rate, and three would share it
    CHECK(time({.data = 8}) == time_of(collective_kind::send, gib(4), 2, c.scale_up));
    CHECK(time({.data = 8}) < time_of(collective_kind::send, gib(4), 3, c.scale_up));
}

TEST_CASE("log-probabilities have the bounds of a step with a forward pass less those of one without") {
    rollout r = rollout_of();
    r.scores_again = true;
    const reinforcement_plan p = plan_reinforcement({policy_of(), r}, sharded, h100s(8)).value();
    const interval<duration> step = p.find(workload_phase::training)->plan.speed.step.total();
    CHECK(step.expected > duration{});
    job scored = policy_of();
    scored.passes_before_step = 1;
    const interval<duration> more =
        speed_of(scored, sharded, h100s(8), p.find(workload_phase::training)->plan.memory).step.total();
    CHECK(p.log_probabilities.low / (more.low - step.low) == doctest::Approx(2));  // 128 answers in steps of 64
    CHECK(p.log_probabilities.high / (more.high - step.high) == doctest::Approx(2));
}
