// SPDX-License-Identifier: MIT
#include <llmres/answers/phases/disaggregated.hpp>

#include <doctest/doctest.h>

#include <cmath>

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

constexpr cluster h100(std::int32_t gpus) {
    return {.gpu = gpus::h100_sxm5_80gb,
            .gpus = gpus,
            .gpus_per_node = 8,
            .scale_up = links::nvlink4_h100_sxm5,
            .scale_out = links::ib_ndr_400};
}
job chat() {
    return {.model = models::llama_3_1_70b,
            .weights = fp8_tensor,
            .batch = 64,
            .prompt = tokens(4096),
            .output = tokens(512),
            .runtime = runtimes::sglang};
}

}  // namespace

TEST_CASE("prefill holds prompts, decode whole sequences, and the cache of one prompt is sent between them") {
    const job j = chat();
    const phase_pool side{layout{.tensor = 4}, h100(4)};
    const auto split = plan_disaggregated(j, side, side);
    REQUIRE(split);
    CHECK(split->handed_over == kv_cache_bytes(j.model, bf16, tokens(4096)));
    const job_plan together = plan(j, side.layout, side.cluster).value();
    CHECK(split->prefill.memory.total().expected < split->decode.memory.total().expected);
    CHECK(split->decode.memory[memory_term::kv_cache].expected == together.memory[memory_term::kv_cache].expected);
    CHECK(split->prefill.memory[memory_term::kv_cache].expected * (64 * 4608) ==
          together.memory[memory_term::kv_cache].expected * 4096);
    CHECK(split->decode.memory[memory_term::activations].expected < together.memory[memory_term::activations].expected);
    job whole = j;  // a context that is given beside prompt and output is that of the decode side
    whole.context = tokens(20'000);
    CHECK(plan_disaggregated(whole, side, side)->prefill.memory.total() == split->prefill.memory.total());
    CHECK(split->prefill.memory.phase == phase::prefill);
    CHECK(split->decode.memory.phase == phase::decode);
    // Each of the four GPUs sends a quarter over its own 50 GB/s, after one call and one hop of the fabric.
    const double sent = ratio(split->handed_over, bytes(4)) / links::ib_ndr_400.bandwidth().in(gb_per_s) / 1e9;
    const double latency = 8.6e-6 + 0.81e-6 + 1.1e-6;
    CHECK(split->hand_over.in(seconds) == doctest::Approx(sent + latency + 1.2 * std::sqrt(sent * latency)));
}

TEST_CASE("longer outputs need less prefill beside a decode side, longer prompts more") {
    const phase_pool side{layout{.tensor = 4}, h100(4)};
    job j = chat();
    const double before = plan_disaggregated(j, side, side)->prefill_per_decode();
    CHECK(before > 0);
    j.output = tokens(1024);
    CHECK(plan_disaggregated(j, side, side)->prefill_per_decode() < before);
    j = chat();
    j.prompt = tokens(8192);
    CHECK(plan_disaggregated(j, side, side)->prefill_per_decode() > before);
}

TEST_CASE("a job that does not give its prompt and output is refused by name") {
    const phase_pool side{layout{.tensor = 4}, h100(4)};
    job j = chat();
    j.output = {};
    CHECK(plan_disaggregated(j, side, side).error().field == "output");
    j = chat();
    j.prompt = {};
    j.context = tokens(4096);
    CHECK(plan_disaggregated(j, side, side).error().field == "prompt");
    j = chat();
    j.task = task::pretraining;
    CHECK(plan_disaggregated(j, side, side).error().field == "task");
    phase_pool alone = side;
    alone.cluster.scale_out = {};
    CHECK(plan_disaggregated(chat(), alone, side).error().field == "prefill.cluster.scale_out");
    phase_pool three = side;
    three.layout.tensor = 3;
    CHECK(plan_disaggregated(chat(), side, three).error().field == "layout.tensor");
    CHECK(plan_disaggregated(chat(), three, side).error().field == "prefill.layout.tensor");
}

TEST_CASE("the part of the pool that a batch leaves free holds prefixes, and a full batch leaves none") {
    job j{.model = models::llama_3_1_8b, .batch = 8, .context = tokens(8192), .runtime = runtimes::vllm_v1_9};
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    const pool_size pool = cache_pool_of(j, layout{}, one).value();
    const pool_size room = prefix_cache_room(j, layout{}, one).value();
    CHECK(pool.memory.expected - room.memory.expected == kv_cache_bytes(j.model, bf16, tokens(8192)) * 8);
    CHECK(room.token_room <= pool.token_room - tokens(8192 * 8) + tokens(16));
    CHECK(room.token_room >= pool.token_room - tokens(8192 * 8) - tokens(32));
    j.batch = 100'000;
    CHECK(prefix_cache_room(j, layout{}, one).value().token_room == token_count{});
}

TEST_CASE("the split plan is there at compile time") {
    constexpr job j{.model = models::llama_3_1_8b,
                    .batch = 8,
                    .prompt = tokens(1024),
                    .output = tokens(128),
                    .runtime = runtimes::vllm_v1_9};
    constexpr auto split = plan_disaggregated(j, {layout{}, h100(1)}, {layout{}, h100(1)});
    static_assert(split && split->prefill.verdict == verdict::fits && split->prefill_per_decode() > 0);
    CHECK(split);
}

TEST_CASE("states of recurrent layers are handed over with the cache, and every GPU of an instance sends its part") {
    job j = chat();
    j.model = models::qwen3_next_80b_a3b;
    const phase_pool side{layout{.tensor = 2, .pipeline = 2}, h100(4)};
    const disaggregated_plan split = plan_disaggregated(j, side, side).value();
    CHECK(split.handed_over == kv_cache_bytes(j.model, bf16, tokens(4096)) + recurrent_state_bytes(j.model));
    CHECK(recurrent_state_bytes(j.model) > byte_count{});
    const disaggregated_plan four = plan_disaggregated(chat(), side, side).value();
    const disaggregated_plan ranks = plan_disaggregated(chat(), {layout{.tensor = 4}, h100(4)}, side).value();
    CHECK(four.hand_over == ranks.hand_over);  // four GPUs either way
    const disaggregated_plan two = plan_disaggregated(chat(), {layout{.tensor = 2}, h100(2)}, side).value();
    CHECK(two.hand_over > four.hand_over);
    // Over the bus of one machine two GPUs have the whole rate.
    phase_pool machine{layout{.tensor = 4}, h100(4)};
    machine.cluster.scale_out = links::pcie_gen5_x16;
    const disaggregated_plan bus = plan_disaggregated(chat(), machine, side).value();
    CHECK(bus.hand_over == time_of(collective_kind::send, div_up(bus.handed_over, 4), 2, links::pcie_gen5_x16));
}

TEST_CASE("sides keep up with as many sequences as they say: a prompt at a time, and a batch after all its tokens") {
    const phase_pool side{layout{.tensor = 4}, h100(4)};
    const disaggregated_plan split = plan_disaggregated(chat(), side, side).value();
    CHECK(split.prompts_per_second == doctest::Approx(1 / split.prefill.speed.prefill.expected().in(seconds)));
    CHECK(split.sequences_per_second == doctest::Approx(64 / (512 * split.decode.speed.step.expected().in(seconds))));
    CHECK(split.prefill_per_decode() == doctest::Approx(split.sequences_per_second / split.prompts_per_second));
    CHECK(split.decode.prompts_elsewhere);
    const disaggregated_plan nothing;
    CHECK(nothing.prompts_per_second == 0);
    CHECK(nothing.sequences_per_second == 0);
    CHECK(nothing.prefill_per_decode() == 0);
}

TEST_CASE("a runtime that profiles a step at start holds its peak on the decode side, too") {
    const phase_pool side{layout{.tensor = 4}, h100(4)};
    job j = chat();
    j.runtime = runtimes::vllm;
    const disaggregated_plan split = plan_disaggregated(j, side, side).value();
    const job_plan together = plan(j, side.layout, side.cluster).value();
    CHECK(split.decode.memory[memory_term::activations].expected == together.memory[memory_term::activations].expected);
    CHECK(split.decode.memory.phase == together.memory.phase);
}

TEST_CASE("the layout of the prefill side is the one with the quickest first token, and its errors are of that side") {
    const job j = chat();
    const layout made = prefill_layout(j, h100(8)).value();
    job prompts = j;
    prompts.batch = 1;
    prompts.output = {};
    prompts.context = j.prompt;
    CHECK(made == search(prompts, h100(8), {.objective = objective::time_to_first_token})->plan.layout);
    cluster none = h100(8);
    none.gpus = 0;
    CHECK(prefill_layout(j, none).error().field.view().starts_with("prefill.cluster"));
    job wrong = j;
    wrong.weights = {};
    wrong.batch = 0;
    CHECK_FALSE(plan_disaggregated(wrong, {layout{.tensor = 4}, h100(4)}, {layout{.tensor = 4}, h100(4)}));
}

TEST_CASE("prefill sides beside one decode side are the ratio of their rates, however slow, and none without prompts") {
    const auto sides = [](double prompts, double sequences) {
        disaggregated_plan p;
        p.prompts_per_second = prompts;
        p.sequences_per_second = sequences;
        return p.prefill_per_decode();
    };
    CHECK(sides(8, 2) == 0.25);
    CHECK(sides(0.5, 2) == 4);
    CHECK(sides(1, 3) == 3);
    CHECK(sides(0, 2) == 0);
}
