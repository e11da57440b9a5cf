// SPDX-License-Identifier: MIT
// The parts of a step of reinforcement learning by hand: what each keeps of a GPU, how long it takes, how it is judged.
#include <llmres/answers/phases/reinforcement.hpp>

#include <doctest/doctest.h>

#include <cstdint>

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/qwen.hpp>
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

// ---- memory

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
