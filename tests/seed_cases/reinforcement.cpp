// SPDX-License-Identifier: MIT
// Reinforcement learning and preference tuning as people ask about it. In cases R1 to R25 the truth is another's: a
// peak that somebody logged, a run that ran or ran out of memory, or what a trainer's own documentation asks for
// ("Source:" says where and what). Cases P1 to P12 are calculated by hand.
#include <doctest/doctest.h>

#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace llmres;
using nlohmann::json;

namespace {

/// The plan that a document asks for, with all of its phases where a policy learns from rollouts.
requested_plan planned(const json& document) {
    CAPTURE(document.dump());
    const auto asked = read_job(document);
    REQUIRE_MESSAGE(asked, asked.error().field.view());
    const auto made = plan(*asked);
    REQUIRE_MESSAGE(made, made.error().field.view());
    return *made;
}
verdict verdict_of(const json& document) { return planned(document).verdict(); }

json with(json document, const json& more) {
    document.merge_patch(more);
    return document;
}
json on(std::string_view model, std::string_view gpu, int gpus = 1) {
    return {{"model", model}, {"cluster", {{"gpu", gpu}, {"gpus", gpus}, {"host", {{"memory", 2'199'023'255'552}}}}}};
}
/// A policy that learns by GRPO under a trainer.
json grpo(std::string_view trainer, json job, const json& more = json::object()) {
    job["task"] = "grpo";
    job["runtime"] = trainer;
    return with(std::move(job), more);
}
/// The same by PPO, with a critic of the policy's size.
json ppo(std::string_view trainer, json job, const json& more = json::object()) {
    job = grpo(trainer, std::move(job), more);
    job["task"] = "ppo";
    return job;
}

const phase_plan& phase_of(const requested_plan& p, workload_phase kind) {
    REQUIRE(p.phases);
    REQUIRE(p.phases->find(kind) != nullptr);
    return *p.phases->find(kind);
}
workload_phase fullest(const requested_plan& p) {
    REQUIRE(p.phases);
    return p.phases->worst().phase;
}
double bytes_of(byte_count b) { return static_cast<double>(b.in(bytes)); }
double gib_of(byte_count b) { return bytes_of(b) / 1'073'741'824.0; }
/// What PyTorch's allocator reserves at a step's fullest: all but the CUDA context and what libraries take.
interval<byte_count> reserved_of(const job_plan& p) {
    const auto of = [&](memory_term t) { return p.memory[t]; };
    return {p.memory.total().low - of(memory_term::runtime).low,
            p.memory.total().expected - of(memory_term::runtime).expected,
            p.memory.total().high - of(memory_term::runtime).high};
}
/// The same without blocks that it caches.
double allocated_gib(const job_plan& p) {
    return gib_of(reserved_of(p).expected - p.memory[memory_term::fragmentation].expected);
}

}  // namespace

// Source: jsboige/CoursIA, pull requests 15634, 15640 and 15643 of September 2026, a probe on an RTX 3070 of 8 GB: NF4,
// LoRA of rank 8, eight answers of at most 96 tokens to short prompts at once, TRL 1.12,
// torch.cuda.max_memory_allocated() of 2.744 GiB for Qwen3-1.7B, 4.096 GiB for Qwen3-4B and 7.406 GiB for Qwen3-8B.
// TRL 1.12 made the answers' logits whole: less than all positions' (`eager`), and more than tiles (TRL since 1.15).
TEST_CASE("R1: what does GRPO with QLoRA take of a card of 8 GB?") {
    struct measured {
        std::string_view model;
        double gib;
    };
    for (const auto& [model, peak] : {measured{"qwen3-1.7b", 2.744}, {"qwen3-4b", 4.096}, {"qwen3-8b", 7.406}}) {
        const json job = grpo("trl", on(model, "rtx-3070"),
                              {{"weights", "nf4"},
                               {"adapter", {{"kind", "lora"}, {"rank", 8}}},
                               {"micro_batch", 8},
                               {"global_batch", 32},
                               {"rollout", {{"generations", 8}, {"prompt", 64}, {"output", 96}}}});
        const requested_plan tiles = planned(job);
        const requested_plan whole = planned(with(job, {{"runtime", {{"name", "trl"}, {"loss", "eager"}}}}));
        CHECK(allocated_gib(tiles.plan) < peak);
        CHECK(allocated_gib(tiles.plan) > 0.65 * peak);
        CHECK(allocated_gib(whole.plan) > peak);
        if (peak < 5) CHECK(tiles.verdict() == verdict::fits);
        if (peak < 5) CHECK(whole.verdict() == verdict::fits);
    }
}

// Source: huggingface/trl, examples/notebooks/grpo_trl_lora_qlora.ipynb: on a Tesla T4 with "Peak reserved memory
// = 8.832 GB" for Qwen2-7B (counted in GiB), "~9.5GB VRAM" for Llama-3.1-8B and "~9.9GB" for Qwen3-8B; of Qwen3-14B it
// says "OOM with this config". Its prompts are as long as the problems of a data set; 256 tokens are taken here.
TEST_CASE("R2: does GRPO of a 7B with QLoRA fit a free T4, and does a 14B?") {
    const auto asked = [](std::string_view model) {
        return grpo("trl", on(model, "t4"),
                    {{"weights", "nf4"},
                     {"compute", "fp16"},
                     {"optimizer", "adamw_8bit"},
                     {"adapter", {{"kind", "lora"}, {"rank", 32}}},
                     {"micro_batch", 8},
                     {"rollout", {{"generations", 8}, {"prompt", 256}, {"output", 256}}}});
    };
    const requested_plan qwen2 = planned(asked("qwen2-7b"));
    CHECK(qwen2.verdict() == verdict::fits);
    CHECK(gib_of(reserved_of(qwen2.plan).low) < 8.832);
    CHECK(gib_of(reserved_of(qwen2.plan).high) > 8.832);
    CHECK(gib_of(reserved_of(qwen2.plan).expected) == doctest::Approx(8.832).epsilon(0.1));
    const requested_plan llama = planned(asked("llama-3.1-8b")), qwen3 = planned(asked("qwen3-8b"));
    CHECK(gib_of(reserved_of(llama.plan).expected) == doctest::Approx(9.5).epsilon(0.1));
    CHECK(gib_of(reserved_of(qwen3.plan).expected) == doctest::Approx(9.9).epsilon(0.1));
    CHECK(verdict_of(asked("qwen3-14b")) != verdict::fits);
}

// Source: huggingface/trl#2972 and #2927: a 7B ran out of memory on four H20 of 96 GB at its second step, after 40 GB
// in the first (16-bit weights and a reference, no states of the optimizer yet); a 3B ran on one H20. By hand: weights,
// reference and gradients of 15.2 GB each, DDP's buckets of as much, states of 30.5 GB, and as much again as the
// weights while torch's AdamW makes its temporaries.
TEST_CASE("R3: why does full GRPO of a 7B run out of memory on four GPUs of 96 GB at its second step?") {
    const json job = {{"weights", "bf16"},
                      {"reference", "loaded"},
                      {"optimizer", "adamw"},
                      {"recompute", "none"},
                      {"runtime", {{"loss", "eager"}}},
                      {"rollout", {{"generations", 2}, {"prompt", 256}, {"output", 512}}}};
    const auto by_trl = [&](std::string_view model, int gpus, std::int64_t answers) {
        json document = with(on(model, "h20-96gb", gpus), job);
        document["task"] = "grpo";
        document["runtime"]["name"] = "trl";
        document["micro_batch"] = answers;
        document["global_batch"] = 4;
        document["layout"] = {{"data", gpus}};
        return planned(document);
    };
    const requested_plan seven = by_trl("qwen2.5-7b", 4, 1), three = by_trl("qwen2.5-3b", 1, 4);
    CHECK(seven.verdict() == verdict::does_not_fit);
    CHECK(fullest(seven) == workload_phase::training);
    CHECK(seven.plan.memory.phase == phase::optimizer);
    CHECK(bytes_of(seven.plan.memory.total().expected) > 6 * 15.23e9);
    CHECK(three.verdict() == verdict::fits);
}

// Source: verl's docs/start/quickstart.rst: PPO of Qwen2.5-0.5B needs "a GPU with at least 24 GB HBM", and below 32 GB
// micro-batches of one. By hand: 12 bytes for each of 494 million weights of policy and critic, and 0.4 of the GPU.
TEST_CASE("R4: does PPO of a 0.5B with its critic run on a card of 24 GB, or one of 16?") {
    const auto asked = [](std::string_view gpu) {
        return planned(ppo("verl", on("qwen2.5-0.5b", gpu),
                           {{"micro_batch", 1},
                            {"global_batch", 64},
                            {"rollout",
                             {{"generations", 1},
                              {"answers", 256},
                              {"prompt", 512},
                              {"output", 512},
                              {"tensor", 1},
                              {"gpu_memory_utilization", 0.4}}}}));
    };
    const requested_plan large = asked("rtx-4090"), small = asked("rtx-4080");
    CHECK(large.verdict() != verdict::does_not_fit);
    CHECK(large.phases->phase_count == 3);
    CHECK(fullest(large) == workload_phase::rollout);
    CHECK(small.verdict() == verdict::does_not_fit);
    CHECK(fullest(small) == workload_phase::rollout);
    CHECK(bytes_of(phase_of(small, workload_phase::rollout).resident.expected) > 2 * 12 * 494e6);
}

// Source: Jiayi-Pan/TinyZero#62: PPO of a 1.5B by its script ran out of memory on an RTX 4090 and on an A100 of 40 GB,
// and ran on one of 80 GB. By hand: 12 bytes for each of 1.544 billion weights of policy and critic, 4 of the
// reference.
TEST_CASE("R5: is an A100 of 40 GB enough for TinyZero's PPO of a 1.5B?") {
    for (const std::string_view gpu : {"rtx-4090", "a100-sxm4-40gb"}) {
        const requested_plan p = planned(ppo("verl", on("qwen2.5-1.5b", gpu),
                                             {{"micro_batch", 1},
                                              {"global_batch", 64},
                                              {"reference", "loaded"},
                                              {"rollout",
                                               {{"generations", 1},
                                                {"answers", 256},
                                                {"prompt", 256},
                                                {"output", 1024},
                                                {"tensor", 1},
                                                {"gpu_memory_utilization", 0.4}}}}));
        CHECK(p.verdict() == verdict::does_not_fit);
        const double kept = bytes_of(phase_of(p, workload_phase::rollout).resident.expected);
        CHECK(kept > (2 * 12 + 4) * 1.544e9);
        CHECK(kept < (2 * 12 + 4) * 1.544e9 + 8e9);
    }
}

// Source: Jiayi-Pan/TinyZero#30: its PPO of Qwen2.5-3B runs out of memory on two H100 with the script's settings, which
// were made on two H200 of 141 GB, where it runs; the script recomputes nothing.
TEST_CASE("R6: PPO of a 3B ran on two H200; will it on two H100?") {
    const auto asked = [](std::string_view gpu) {
        return planned(ppo("verl", on("qwen2.5-3b", gpu, 2),
                           {{"micro_batch", 4},
                            {"global_batch", 64},
                            {"recompute", "none"},
                            {"reference", "loaded"},
                            {"rollout",
                             {{"generations", 1},
                              {"answers", 256},
                              {"prompt", 256},
                              {"output", 1024},
                              {"tensor", 2},
                              {"gpu_memory_utilization", 0.4}}}}));
    };
    CHECK(asked("h100-sxm5-80gb").verdict() == verdict::does_not_fit);
    CHECK(asked("h200-sxm5-141gb").verdict() == verdict::fits);
}

// Source: qiancheng0/ToolRL#53: GRPO of Qwen2.5-7B on two GPUs of 80 GB, four answers of 1024 tokens to prompts of
// 2048, gpu_memory_utilization 0.6, ran out of memory. By hand: while the engine holds 48 GB, the trainer keeps 12
// bytes a weight over two GPUs, 45.7 GB.
TEST_CASE("R7: do two GPUs of 80 GB hold a trained 7B beside an engine that takes 0.6 of each?") {
    const auto asked = [](std::string_view trainer) {
        return planned(grpo("verl", on("qwen2.5-7b", "a100-sxm4-80gb", 2),
                            {{"micro_batch", 1},
                             {"global_batch", 256},
                             {"rollout",
                              {{"generations", 4},
                               {"answers", 2048},
                               {"prompt", 2048},
                               {"output", 1024},
                               {"tensor", 2},
                               {"trainer", trainer},
                               {"gpu_memory_utilization", 0.6}}}}));
    };
    const requested_plan awake = asked("awake");
    CHECK(awake.verdict() == verdict::does_not_fit);
    CHECK(fullest(awake) == workload_phase::rollout);
    CHECK(bytes_of(phase_of(awake, workload_phase::rollout).resident.expected) > 12 * 7.6156e9 / 2);
    // verl's own script for a 7B on two GPUs (docs/perf/device_tuning.rst) moves all of it to main memory meanwhile.
    CHECK(fullest(asked("all")) == workload_phase::training);
}

// Source: verl-project/verl#249: PPO of Qwen2.5-72B on 16 A800 of 80 GB ran out of memory with every micro-batch at
// one. By hand: 12 bytes for each of 72.7 billion weights, and as much of the critic, over 16 GPUs are 109 GB.
TEST_CASE("R8: is PPO of a 72B possible on two nodes of eight GPUs?") {
    const requested_plan p = planned(ppo(
        "verl", on("qwen2.5-72b", "a800-sxm4-80gb", 16),
        {{"micro_batch", 1},
         {"global_batch", 64},
         {"rollout",
          {{"generations", 1}, {"prompt", 512}, {"output", 256}, {"tensor", 8}, {"gpu_memory_utilization", 0.4}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    const double kept = bytes_of(phase_of(p, workload_phase::rollout).resident.expected);
    CHECK(kept > 2 * 12 * 72.7e9 / 16);
    CHECK(kept < 1.1 * 2 * 12 * 72.7e9 / 16);
}

// Source: verl-project/verl#4963: GRPO of a 7B with LoRA of rank 64 on an RTX 3090 ran out of memory while the model
// was loaded: verl's actor has fp32 weights, 30.5 GB. (It asks for QLoRA, which verl has not.)
TEST_CASE("R9: is an RTX 3090 enough for verl's LoRA of a 7B?") {
    const requested_plan p = planned(grpo(
        "verl", on("qwen2.5-7b", "rtx-3090"),
        {{"micro_batch", 1},
         {"global_batch", 128},
         {"adapter", {{"kind", "lora"}, {"rank", 64}}},
         {"rollout",
          {{"generations", 8}, {"prompt", 512}, {"output", 512}, {"tensor", 1}, {"gpu_memory_utilization", 0.3}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(bytes_of(p.plan.memory[memory_term::weights].expected) == doctest::Approx(4 * 7.6156e9).epsilon(0.01));
}

// Source: OpenRLHF/OpenRLHF#398: PPO of Llama-3-8B with ZeRO 2 on eight A100 of 40 GB ran out of memory. By hand: ZeRO
// 2 shards no weights, and policy, critic and reference in 16 bits are 16 GB each.
TEST_CASE("R10: do eight A100 of 40 GB hold PPO of an 8B with ZeRO 2?") {
    const requested_plan p = planned(ppo(
        "openrlhf", on("llama-3-8b", "a100-sxm4-40gb", 8),
        {{"micro_batch", 2},
         {"global_batch", 64},
         {"recompute", "full"},
         {"layout", {{"zero", 2}}},
         {"rollout",
          {{"engine", "transformers"}, {"generations", 1}, {"answers", 512}, {"prompt", 1024}, {"output", 1024}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::rollout);
    CHECK(bytes_of(p.plan.memory[memory_term::reference].expected) == doctest::Approx(16.06e9).epsilon(0.01));
    CHECK(bytes_of(phase_of(p, workload_phase::rollout).resident.expected) > 2 * 16e9 + 2 * 12 * 8.03e9 / 8);
}

// Source: verl's docs/advance/ppo_lora.rst: a "reference configuration for RL training with the Qwen2.5-72B model using
// 8 x 80GB GPUs", LoRA of rank 32 and an engine over all eight that takes 0.4 of each; nothing of the trainer stays on
// the GPU meanwhile. By hand: fp32 weights are 291 GB over eight, the engine's 145 GB over eight.
TEST_CASE("R11: can a 72B learn by GRPO with LoRA on eight GPUs of 80 GB?") {
    const requested_plan p = planned(grpo("verl", on("qwen2.5-72b", "h100-sxm5-80gb", 8),
                                          {{"micro_batch", 1},
                                           {"global_batch", 320},
                                           {"adapter", {{"kind", "lora"}, {"rank", 32}}},
                                           {"rollout",
                                            {{"generations", 5},
                                             {"prompt", 512},
                                             {"output", 1024},
                                             {"tensor", 8},
                                             {"trainer", "all"},
                                             {"gpu_memory_utilization", 0.4}}}}));
    CHECK(p.verdict() != verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::training);
    CHECK(bytes_of(p.plan.memory[memory_term::weights].expected) == doctest::Approx(4 * 72.7e9 / 8).epsilon(0.01));
    const phase_plan& engine = phase_of(p, workload_phase::rollout);
    CHECK(bytes_of(engine.plan.memory[memory_term::weights].expected) == doctest::Approx(2 * 72.7e9 / 8).epsilon(0.02));
    CHECK(engine.plan.verdict == verdict::fits);
}

// Source: modelscope/ms-swift, examples/train/grpo/internal/vllm_72b_4gpu.sh: "4*80G GPU" for LoRA of Qwen2.5-72B with
// DeepSpeed's zero3_offload, vLLM over all four with 0.55 of each, which sleeps at level 1. By hand: the engine's
// weights are 145.4 GB over four, and lie once more in main memory, as do the trainer's.
TEST_CASE("R12: can a 72B learn by GRPO with LoRA on four GPUs, its weights in main memory?") {
    const json job = grpo("trl", on("qwen2.5-72b", "a100-sxm4-80gb", 4),
                          {{"weights", "bf16"},
                           {"adapter", {{"kind", "lora"}, {"rank", 8}}},
                           {"layout", {{"zero", 3}}},
                           {"offload", {{"parameters", "host"}, {"optimizer", "host"}}},
                           {"rollout",
                            {{"engine", "vllm"},
                             {"generations", 4},
                             {"prompt", 1024},
                             {"output", 1024},
                             {"tensor", 4},
                             {"sleep", "level_1"},
                             {"gpu_memory_utilization", 0.55}}}});
    const requested_plan p = planned(job);
    CHECK(p.verdict() == verdict::fits);
    const phase_plan& engine = phase_of(p, workload_phase::rollout);
    CHECK(bytes_of(engine.plan.memory[memory_term::weights].expected) == doctest::Approx(2 * 72.7e9 / 4).epsilon(0.02));
    CHECK(gib_of(engine.own.expected) == doctest::Approx(0.55 * 80).epsilon(0.03));
    CHECK(bytes_of(p.phases->host_memory.expected) > 2 * 72.7e9);
    CHECK(verdict_of(with(job, {{"cluster", {{"host", {{"memory", 137'438'953'472}}}}}})) == verdict::does_not_fit);
}

// Source: modelscope/ms-swift, examples/train/grpo/multi_node/Qwen2_5_32B_full.sh: eight GPUs of 80 GB train a 32B with
// ZeRO 3 and two more serve it; "use beta=0 to disable the reference model; otherwise, it may lead to Out-of-Memory".
// By hand: 16 bytes a weight over eight are 65.5 GB, a reference 8.2 GB more, and half of the engine's weights 32.8 GB.
TEST_CASE("R13: do eight GPUs train a 32B in full that two others serve, and with a reference?") {
    const auto asked = [](std::string_view reference) {
        return planned(grpo("deepspeed", on("qwen2.5-32b", "h100-sxm5-80gb", 8),
                            {{"recompute", "full"},
                             {"micro_batch", 1},
                             {"global_batch", 8},
                             {"reference", reference},
                             {"layout", {{"zero", 3}}},
                             {"rollout",
                              {{"engine", "vllm"},
                               {"generations", 8},
                               {"prompt", 512},
                               {"output", 2048},
                               {"gpus", 2},
                               {"tensor", 2},
                               {"gpu_memory_utilization", 0.9}}}}));
    };
    const requested_plan alone = asked("none"), beside = asked("loaded");
    CHECK(alone.verdict() != verdict::does_not_fit);
    CHECK(beside.verdict() != verdict::fits);
    CHECK(bytes_of(alone.plan.memory.total().low) > 16 * 32.76e9 / 8);
    CHECK(bytes_of(beside.plan.memory[memory_term::reference].expected) ==
          doctest::Approx(2 * 32.76e9 / 8).epsilon(0.01));
    const phase_plan& engine = phase_of(alone, workload_phase::rollout);
    CHECK(engine.plan.verdict == verdict::fits);
    CHECK(engine.resident.expected == byte_count{});
    CHECK(bytes_of(engine.plan.memory[memory_term::weights].expected) == doctest::Approx(32.76e9).epsilon(0.02));
}

// Source: vllm-project/vllm#17117, a log of GRPO of a 72B on 32 GPUs: "total_gpu_memory (79.14GiB) x
// gpu_memory_utilization (0.25) = 19.78GiB", "model weights take 8.64GiB", "the rest of the memory reserved for KV
// Cache is 10.74Gi". By hand: a sixteenth of 145.4 GB.
TEST_CASE("R14: what does an engine over 16 GPUs keep of each for a 72B?") {
    const requested_plan p = planned(grpo("trl", on("qwen2.5-72b", "a100-sxm4-80gb", 32),
                                          {{"weights", "bf16"},
                                           {"micro_batch", 1},
                                           {"global_batch", 32},
                                           {"layout", {{"zero", 3}}},
                                           {"rollout",
                                            {{"engine", "vllm"},
                                             {"generations", 8},
                                             {"prompt", 512},
                                             {"output", 1024},
                                             {"tensor", 16},
                                             {"sleep", "level_1"},
                                             {"gpu_memory_utilization", 0.25}}}}));
    const phase_plan& engine = phase_of(p, workload_phase::rollout);
    CHECK(gib_of(engine.plan.memory[memory_term::weights].expected) == doctest::Approx(8.64).epsilon(0.05));
    CHECK(gib_of(engine.own.expected) == doctest::Approx(19.78).epsilon(0.02));
    CHECK(engine.plan.verdict == verdict::fits);
}

// Source: NVIDIA-NeMo/RL#223: vLLM asleep beside the trainer of Llama-3.2-1B keeps 774 MiB of an H100 with one tensor
// rank.
TEST_CASE("R15: what does an engine that sleeps still hold?") {
    const requested_plan p = planned(grpo(
        "verl", on("llama-3.2-1b", "h100-sxm5-80gb"),
        {{"micro_batch", 1}, {"global_batch", 8}, {"rollout", {{"prompt", 256}, {"output", 256}, {"tensor", 1}}}}));
    const interval<byte_count> asleep = phase_of(p, workload_phase::training).resident;
    CHECK(asleep.low < mib(774));
    CHECK(asleep.high > mib(774));
    CHECK(asleep.expected < mib(2 * 774));
    CHECK(asleep.expected > mib(774 / 2));
}

// Source: Unsloth's table of February 2025 for GRPO of Llama 3.1 8B at 20K tokens by TRL, eight answers: 16 GB of
// weights that generate, 2.5 GB of cache for one answer, and 78.3 GB for the logits of all (4 bytes each, counted in
// GiB).
TEST_CASE("R16: what do eight answers of 20,000 tokens take, and their logits?") {
    const json job = grpo("trl", on("llama-3.1-8b", "h200-sxm5-141gb"),
                          {{"weights", "bf16"},
                           {"adapter", {{"kind", "lora"}, {"rank", 32}}},
                           {"micro_batch", 8},
                           {"reference", "adapters_off"},
                           {"runtime", {{"name", "trl"}, {"loss", "eager"}}},
                           {"rollout",
                            {{"engine", "vllm"},
                             {"generations", 8},
                             {"prompt", 480},
                             {"output", 20'000},
                             {"gpu_memory_utilization", 0.35}}}});
    const requested_plan p = planned(job);
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::training);
    CHECK(gib_of(p.plan.memory[memory_term::logits].expected) > 78.3);
    const memory_breakdown& engine = phase_of(p, workload_phase::rollout).plan.memory;
    CHECK(bytes_of(engine[memory_term::weights].expected) == doctest::Approx(16.06e9).epsilon(0.02));
    CHECK(gib_of(engine[memory_term::kv_cache].expected) / 8 == doctest::Approx(2.5).epsilon(0.02));
    // TRL since 1.15 makes tiles of them: what is left are the layers'.
    CHECK(planned(with(job, {{"runtime", {{"loss", "fused_log_probabilities"}}}})).plan.memory.total().expected <
          p.plan.memory.total().expected - gib(78));
}

// Source: huggingface/trl#3168: the DPO of TRL's quick start ran out of memory on an A100 of 80 GB for Qwen2.5-0.5B:
// eight pairs of 1024 tokens in fp32, whose logits alone are 10 GB, of policy and reference, and nothing is recomputed.
TEST_CASE("R17: how can DPO of a 0.5B not fit 80 GB?") {
    const json job = {{"task", "dpo"},      {"runtime", {{"name", "trl"}, {"loss", "eager"}}},
                      {"weights", "fp32"},  {"compute", "fp32"},
                      {"micro_batch", 8},   {"sequence", 1024},
                      {"recompute", "none"}};
    const requested_plan p = planned(with(on("qwen2.5-0.5b", "a100-sxm4-80gb"), job));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(bytes_of(p.plan.memory[memory_term::logits].expected) > 2 * 16 * 1024 * 151'936.0 * 4);
    CHECK(bytes_of(p.plan.memory[memory_term::reference].expected) == doctest::Approx(4 * 494e6).epsilon(0.01));
    // The maintainers' remedies: pairs of fewer tokens, logits in tiles and gradient checkpointing.
    const requested_plan helped = planned(with(
        on("qwen2.5-0.5b", "a100-sxm4-80gb"),
        with(job, {{"runtime", {{"loss", "fused_log_probabilities"}}}, {"recompute", "full"}, {"compute", "bf16"}})));
    CHECK(helped.verdict() == verdict::fits);
}

// Source: huggingface/trl#3678: GRPO of Qwen3-0.6B with prompts of at most 168 tokens and answers of at most 256 ran
// out of memory on a GPU of 20 GB with every TRL from 0.14 to 0.19, in the forward pass that makes all logits.
TEST_CASE("R18: why is a card of 20 GB too small for GRPO of a 0.6B?") {
    const requested_plan p = planned(grpo("trl", on("qwen3-0.6b", "rtx-4000-ada"),
                                          {{"micro_batch", 8},
                                           {"reference", "loaded"},
                                           {"recompute", "none"},
                                           {"runtime", {{"name", "trl"}, {"loss", "eager"}}},
                                           {"rollout", {{"generations", 8}, {"prompt", 168}, {"output", 256}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::training);
    CHECK(p.plan.memory.phase == phase::loss);
    const requested_plan now =
        planned(grpo("trl", on("qwen3-0.6b", "rtx-4000-ada"),
                     {{"micro_batch", 8}, {"rollout", {{"generations", 8}, {"prompt", 168}, {"output", 256}}}}));
    CHECK(now.verdict() == verdict::fits);  // tiles, recomputation, and no reference: TRL 1.16
}

// Source: modelscope/ms-swift, examples/train/rlhf/dpo/lora.sh: "24GiB" for DPO of Qwen2.5-7B with LoRA of rank 8, a
// pair at a time, whose answers are cut at 2048 tokens and mostly shorter. By hand: 15.2 GB of weights and no second
// model.
TEST_CASE("R19: what does DPO of a 7B with LoRA take?") {
    const auto asked = [](std::int64_t tokens_of_an_answer) {
        return planned(with(on("qwen2.5-7b", "a100-sxm4-40gb"), {{"task", "dpo"},
                                                                 {"runtime", "ms-swift"},
                                                                 {"weights", "bf16"},
                                                                 {"adapter", {{"kind", "lora"}, {"rank", 8}}},
                                                                 {"micro_batch", 1},
                                                                 {"global_batch", 16},
                                                                 {"sequence", tokens_of_an_answer}}));
    };
    const requested_plan brief = asked(512), cut = asked(2048);
    CHECK(cut.verdict() == verdict::fits);
    CHECK(gib_of(brief.plan.memory.total().expected) < 24);
    CHECK(gib_of(cut.plan.memory.total().expected) > 24);
    CHECK(gib_of(cut.plan.memory.total().expected) < 1.25 * 24);
    CHECK(cut.plan.memory[memory_term::reference].expected == byte_count{});
}

// Source: verl-project/verl#145: verl's script for GRPO of Qwen2-7B on eight A100 of 80 GB works: micro-batches of at
// most 24,000 tokens, answers of 1024 tokens to prompts of 512, an engine over two with 0.6 of each, a reference in
// main memory.
TEST_CASE("R20: does verl's own script for a 7B on eight A100 run?") {
    const requested_plan p = planned(grpo("verl", on("qwen2-7b", "a100-sxm4-80gb", 8),
                                          {{"micro_batch", 15},
                                           {"global_batch", 1200},
                                           {"reference", "offloaded"},
                                           {"rollout",
                                            {{"generations", 5},
                                             {"answers", 4800},
                                             {"prompt", 512},
                                             {"output", 1024},
                                             {"tensor", 2},
                                             {"gpu_memory_utilization", 0.6}}}}));
    CHECK(p.verdict() != verdict::does_not_fit);
    CHECK(phase_of(p, workload_phase::rollout).plan.verdict == verdict::fits);
    CHECK(bytes_of(p.plan.memory[memory_term::optimizer].expected) == doctest::Approx(8 * 7.6156e9 / 8).epsilon(0.01));
}

// Source: verl's docs/perf/device_tuning.rst and the scripts that it lists: GRPO on GSM8K ran with the micro-batch
// given for each, LoRA of a 7B with 100 and not with 101. Lengths were not logged: 200 and 250 tokens are taken, of a
// data set whose prompts have some hundred, and the scripts' limits of 512 and 1,024 for what trains all weights.
TEST_CASE("R26: do the micro-batches run that verl's own tuning pages found the largest?") {
    struct listed {
        std::string_view model, gpu;
        int gpus, micro_batch;
        bool adapter;
    };
    for (const listed& one : {listed{"qwen2.5-7b", "h100-sxm5-80gb", 1, 100, true},
                              {"qwen2.5-32b", "h100-sxm5-80gb", 4, 45, true},
                              {"qwen2.5-7b", "h800-sxm5-80gb", 2, 10, false},
                              {"qwen2.5-14b", "h800-sxm5-80gb", 4, 8, false}}) {
        CAPTURE(one.model);
        const json rollout{
            {"prompt", one.adapter ? 200 : 512}, {"output", one.adapter ? 250 : 1024}, {"trainer", "all"}};
        json job =
            grpo("verl", on(one.model, one.gpu, one.gpus), {{"micro_batch", one.micro_batch}, {"rollout", rollout}});
        if (one.adapter) job["adapter"] = {{"kind", "lora"}, {"rank", 32}};
        CHECK(verdict_of(job) != verdict::does_not_fit);
    }
    // Logits are kept once in 16 bits; their gradient takes their place, and their casts in fp32 exist nowhere.
    const requested_plan p = planned(grpo("verl", on("qwen2.5-7b", "h100-sxm5-80gb"), {{"micro_batch", 10}}));
    const double logits = 10 * 1024 * 152'064.0 * 2;
    CHECK(bytes_of(p.plan.memory[memory_term::logits].expected) < 2.1 * logits);
}

// Source: PeterGriffinJin/Search-R1#80: GRPO of a 14B runs out of memory on four A800 of 80 GB whatever the batch; its
// author trains it on eight H100, calls four A100 perhaps too few, and advises to move the trainer to main memory. By
// hand: 12 bytes a weight are 44 GB of each of four GPUs, beside an engine's 48 GB; 16 are 59 GB, to which a step adds.
TEST_CASE("R21: are four GPUs of 80 GB enough for GRPO of a 14B, or eight?") {
    const auto asked = [](std::string_view gpu, int gpus, std::string_view trainer) {
        return planned(grpo("verl", on("qwen2.5-14b", gpu, gpus),
                            {{"micro_batch", 1},
                             {"global_batch", 1280},
                             {"reference", "offloaded"},
                             {"rollout",
                              {{"generations", 5},
                               {"answers", 2560},
                               {"prompt", 4096},
                               {"output", 500},
                               {"tensor", 1},
                               {"trainer", trainer},
                               {"gpu_memory_utilization", 0.6}}}}));
    };
    const requested_plan four = asked("a800-sxm4-80gb", 4, "awake"), moved = asked("a800-sxm4-80gb", 4, "all");
    CHECK(four.verdict() == verdict::does_not_fit);
    CHECK(fullest(four) == workload_phase::rollout);
    CHECK(bytes_of(phase_of(four, workload_phase::rollout).resident.expected) > 12 * 14.77e9 / 4);
    CHECK(moved.verdict() != verdict::fits);
    CHECK(fullest(moved) == workload_phase::training);
    CHECK(bytes_of(moved.plan.memory.total().low) > 16 * 14.77e9 / 4);
    CHECK(asked("h100-sxm5-80gb", 8, "all").verdict() == verdict::fits);
}

// Source: modelscope/ms-swift#3848: a maintainer measures "approximately 12GB" at the peak of the forward and backward
// pass, seven GPUs, LoRA of rank 64 of Qwen2.5-3B in 16 bits, one answer of at most 1024 tokens at a time, prompts cut
// at 3072. Lengths were not logged: the shortest and the longest lie on both sides.
TEST_CASE("R22: what does the policy's step take of GRPO of a 3B with LoRA?") {
    const auto step_of = [](std::int64_t prompt, std::int64_t output) {
        return planned(grpo("trl", on("qwen2.5-3b", "a100-sxm4-40gb", 7),
                            {{"weights", "bf16"},
                             {"adapter", {{"kind", "lora"}, {"rank", 64}}},
                             {"micro_batch", 1},
                             {"global_batch", 42},
                             {"layout", {{"data", 7}}},
                             {"runtime", {{"name", "trl"}, {"loss", "eager"}}},
                             {"rollout",
                              {{"engine", "vllm"},
                               {"generations", 7},
                               {"gpus", 1},
                               {"prompt", prompt},
                               {"output", output},
                               {"gpu_memory_utilization", 0.9}}}}));
    };
    const requested_plan brief = step_of(64, 128), cut = step_of(3072, 1024);
    CHECK(bytes_of(brief.plan.memory.total().expected) < 12e9);
    CHECK(bytes_of(cut.plan.memory.total().expected) > 12e9);
    CHECK(cut.verdict() == verdict::fits);
}

// Source: verl's docs/algo/dapo.md: DAPO of Qwen2.5-32B ran on 128 H800, answers of 20,480 tokens to prompts of 2,048,
// a sequence over eight GPUs, engines over four with 0.8 of each, all of the trainer in main memory meanwhile.
TEST_CASE("R23: do 128 GPUs train a 32B on answers of 20,000 tokens?") {
    const requested_plan p = planned(grpo("verl", on("qwen2.5-32b", "h800-sxm5-80gb", 128),
                                          {{"micro_batch", 1},
                                           {"global_batch", 512},
                                           {"layout", {{"data", 16}, {"context_parallel", 8}, {"zero", 3}}},
                                           {"rollout",
                                            {{"generations", 16},
                                             {"answers", 8192},
                                             {"prompt", 2048},
                                             {"output", 20'480},
                                             {"tensor", 4},
                                             {"trainer", "all"},
                                             {"gpu_memory_utilization", 0.8}}}}));
    CHECK(p.verdict() != verdict::does_not_fit);
    CHECK(p.phases->optimizer_steps == 16);  // as DAPO has it: 512 prompts of 16 answers, mini-batches of 32 prompts
    const phase_plan& engine = phase_of(p, workload_phase::rollout);
    CHECK(bytes_of(engine.plan.memory[memory_term::weights].expected) ==
          doctest::Approx(2 * 32.76e9 / 4).epsilon(0.02));
    CHECK(engine.plan.verdict == verdict::fits);
}

// Source: hiyouga/LlamaFactory#3854: "with the same configuration KTO takes less memory than DPO", since a sample of
// DPO is a pair. By hand: half as many logits.
TEST_CASE("R24: why does KTO take less memory than DPO?") {
    const auto asked = [](std::string_view task) {
        return planned(with(on("qwen2.5-3b", "a800-sxm4-80gb"), {{"task", task},
                                                                 {"runtime", "llama-factory"},
                                                                 {"adapter", {{"kind", "lora"}, {"rank", 8}}},
                                                                 {"micro_batch", 2},
                                                                 {"sequence", 2048}}));
    };
    const memory_breakdown single = asked("kto").plan.memory, pair = asked("dpo").plan.memory;
    CHECK(single.total().expected < pair.total().expected);
    CHECK(ratio(pair[memory_term::logits].expected, single[memory_term::logits].expected) ==
          doctest::Approx(2).epsilon(0.01));
    CHECK(pair[memory_term::weights].expected == single[memory_term::weights].expected);
}

// Source: OpenRLHF/OpenRLHF#901: GRPO of Qwen2.5-7B by ZeRO 2 on two of four GPUs of 48 GB always ran out of memory;
// the reference lay on the two others. By hand: 15.2 GB of weights and 12 bytes a weight over two GPUs, 45.7 GB.
TEST_CASE("R25: do two GPUs of 48 GB train a 7B by ZeRO 2, engines elsewhere?") {
    const requested_plan p = planned(grpo("openrlhf", on("qwen2.5-7b", "rtx-6000-ada", 2),
                                          {{"micro_batch", 2},
                                           {"global_batch", 64},
                                           {"reference", "none"},
                                           {"recompute", "full"},
                                           {"layout", {{"zero", 2}}},
                                           {"rollout",
                                            {{"engine", "vllm"},
                                             {"generations", 8},
                                             {"answers", 2048},
                                             {"prompt", 1024},
                                             {"output", 64},
                                             {"gpus", 1},
                                             {"gpu_memory_utilization", 0.9}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::training);
    CHECK(bytes_of(p.plan.memory.total().low) > 2 * 7.6156e9 + 12 * 7.6156e9 / 2);
}

// By hand: 16 bytes for each of 1.544 billion weights are 24.7 GB, more than the card has; with LoRA 6.2 GB of fp32
// weights, in NF4 less than half of that.
TEST_CASE("P1: I have one RTX 4090. Can I do GRPO of a 1.5B in full, with LoRA, with QLoRA?") {
    const json job = grpo("trl", on("qwen2.5-1.5b", "rtx-4090"), {{"micro_batch", 8}});
    const requested_plan full = planned(job);
    const requested_plan lora = planned(with(job, {{"adapter", {{"kind", "lora"}, {"rank", 16}}}}));
    const requested_plan qlora =
        planned(with(job, {{"adapter", {{"kind", "lora"}, {"rank", 16}}}, {"weights", "nf4"}}));
    CHECK(full.verdict() == verdict::does_not_fit);
    CHECK(fullest(full) == workload_phase::training);
    CHECK(bytes_of(full.plan.memory.total().low) > 16 * 1.5437e9);
    CHECK(lora.verdict() == verdict::fits);
    CHECK(bytes_of(lora.plan.memory[memory_term::weights].expected) == doctest::Approx(4 * 1.5437e9).epsilon(0.01));
    CHECK(qlora.verdict() == verdict::fits);
    CHECK(qlora.plan.memory[memory_term::weights].expected * 2 < lora.plan.memory[memory_term::weights].expected);
}

// By hand: awake, an engine keeps half of an H100; asleep it has none of its 15.2 GB of weights there. At level 1 they
// lie in main memory, once for each of eight engines.
TEST_CASE("P2: must the engine sleep while a 7B is trained, and where do its weights go?") {
    const auto asked = [](std::string_view sleep) {
        return planned(grpo("verl", on("qwen2.5-7b", "h100-sxm5-80gb", 8),
                            {{"micro_batch", 2},
                             {"global_batch", 256},
                             {"rollout", {{"tensor", 1}, {"sleep", sleep}, {"gpu_memory_utilization", 0.5}}}}));
    };
    const requested_plan awake = asked("awake"), first = asked("level_1"), second = asked("level_2");
    const auto beside = [](const requested_plan& p) {
        return gib_of(phase_of(p, workload_phase::training).resident.expected);
    };
    CHECK(beside(awake) == doctest::Approx(40).epsilon(0.03));
    CHECK(beside(first) < 3);
    CHECK(beside(second) == doctest::Approx(beside(first)));
    CHECK(bytes_of(first.phases->host_memory.expected) == doctest::Approx(8 * 2 * 7.6156e9).epsilon(0.02));
    CHECK(second.phases->host_memory == byte_count{});
    CHECK(second.verdict() == verdict::fits);
}

// By hand: with engines of its own a step is the longer of the two sides, not their sum, and the shorter waits.
TEST_CASE("P3: what do eight more GPUs bring that generate while the others train?") {
    const auto asked = [](const json& how) {
        return planned(grpo(
            "verl", on("qwen2.5-7b", "h100-sxm5-80gb", 8),
            {{"micro_batch", 1},
             {"global_batch", 128},
             {"rollout", {{"gpus", 8}, {"tensor", 1}, {"output", 2048}, {"answers", 512}, {"asynchronous", how}}}}));
    };
    const requested_plan turns = asked(false), together = asked(true);
    const double generating = phase_of(together, workload_phase::rollout).time.expected.in(seconds);
    const double learning = phase_of(together, workload_phase::training).time.expected.in(seconds) +
                            together.phases->log_probabilities.expected.in(seconds);
    const double step = together.phases->step.expected.in(seconds);
    CHECK(step >= std::max(generating, learning));
    CHECK(step < 1.1 * std::max(generating, learning));
    CHECK(turns.phases->step.expected.in(seconds) >= generating + learning);
    CHECK(together.phases->idle_engine == doctest::Approx(1 - generating / step).epsilon(0.05));
    CHECK(phase_of(together, workload_phase::training).resident.expected == byte_count{});
}

// By hand: for each token all weights are read once, 15.2 GB at 3.35 TB/s; the longest answer has 16,384.
TEST_CASE("P4: how long does a rollout take whose longest answer has 16,384 tokens?") {
    const auto rollout_of = [](std::int64_t longest) {
        const requested_plan p =
            planned(grpo("verl", on("qwen2.5-7b", "h100-sxm5-80gb", 8),
                         {{"micro_batch", 1},
                          {"global_batch", 64},
                          {"rollout", {{"tensor", 1}, {"output", longest}, {"mean_output", 2048}}}}));
        return phase_of(p, workload_phase::rollout).time;
    };
    const double least = 16'384 * 2 * 7.6156e9 / 3.35e12;  // 74 s
    CHECK(rollout_of(16'384).low.in(seconds) > least * 0.9);
    CHECK(rollout_of(16'384).expected.in(seconds) < 4 * least);
    CHECK(ratio(rollout_of(16'384).expected, rollout_of(2048).expected) > 4);
    CHECK(ratio(rollout_of(16'384).expected, rollout_of(2048).expected) < 8);
}

// By hand: 14.77 billion weights in fp32 are 59.1 GB, an eighth of them on each of eight GPUs, or all in main memory.
TEST_CASE("P5: what does a reference cost GRPO of a 14B, and one in main memory?") {
    const auto asked = [](std::string_view reference) {
        return planned(grpo("verl", on("qwen2.5-14b", "h100-sxm5-80gb", 8),
                            {{"micro_batch", 1},
                             {"global_batch", 64},
                             {"reference", reference},
                             {"rollout", {{"tensor", 2}, {"trainer", "optimizer"}}}}));
    };
    const requested_plan none = asked("none"), loaded = asked("loaded"), offloaded = asked("offloaded");
    const double share = 4 * 14.77e9 / 8;
    CHECK(bytes_of(loaded.plan.memory[memory_term::reference].expected) == doctest::Approx(share).epsilon(0.01));
    CHECK(bytes_of(phase_of(loaded, workload_phase::rollout).resident.expected -
                   phase_of(none, workload_phase::rollout).resident.expected) == doctest::Approx(share).epsilon(0.03));
    CHECK(offloaded.plan.memory[memory_term::reference].expected == byte_count{});
    CHECK(bytes_of(offloaded.plan.host_memory.expected) == doctest::Approx(8 * share).epsilon(0.01));
    CHECK(ratio(loaded.phases->log_probabilities.expected, none.phases->log_probabilities.expected) ==
          doctest::Approx(2).epsilon(0.02));
}

// By hand: 16 bytes a weight of policy and critic over 16 GPUs, of which the critic has no head of 525 million.
TEST_CASE("P6: does PPO of an 8B with OpenRLHF fit sixteen H100, and what does the critic keep?") {
    const requested_plan p =
        planned(ppo("openrlhf", on("llama-3.1-8b", "h100-sxm5-80gb", 16),
                    {{"micro_batch", 2},
                     {"global_batch", 128},
                     {"recompute", "full"},
                     {"layout", {{"zero", 3}}},
                     {"rollout", {{"tensor", 2}, {"sleep", "level_1"}, {"gpu_memory_utilization", 0.5}}}}));
    CHECK(p.verdict() == verdict::fits);
    CHECK(p.phases->phase_count == 3);
    const phase_plan &critic = phase_of(p, workload_phase::critic), &policy = phase_of(p, workload_phase::training);
    CHECK(bytes_of(policy.plan.memory[memory_term::optimizer].expected) ==
          doctest::Approx(12 * 8.03e9 / 16).epsilon(0.01));
    CHECK(bytes_of(critic.plan.memory[memory_term::optimizer].expected) ==
          doctest::Approx(12 * 7.505e9 / 16).epsilon(0.01));
    CHECK(critic.plan.memory[memory_term::logits].expected < policy.plan.memory[memory_term::logits].expected);
    CHECK(bytes_of(policy.resident.expected) > 12 * 7.505e9 / 16);
}

// By hand: ORPO has no second model, 4 bytes a weight of 8.03 billion over four GPUs less.
TEST_CASE("P7: does ORPO of an 8B save the reference that DPO has?") {
    const auto asked = [](std::string_view task) {
        return planned(with(on("llama-3.1-8b", "h100-sxm5-80gb", 4), {{"task", task},
                                                                      {"runtime", {{"name", "trl"}, {"loss", "eager"}}},
                                                                      {"layout", {{"zero", 3}}},
                                                                      {"micro_batch", 2},
                                                                      {"sequence", 2048}}));
    };
    const requested_plan dpo = asked("dpo"), orpo = asked("orpo");
    CHECK(bytes_of(dpo.plan.memory[memory_term::reference].expected) == doctest::Approx(4 * 8.03e9 / 4).epsilon(0.01));
    CHECK(orpo.plan.memory[memory_term::reference].expected == byte_count{});
    CHECK(orpo.plan.memory.total().expected < dpo.plan.memory.total().expected);
    CHECK(dpo.verdict() == verdict::fits);
    CHECK(orpo.verdict() == verdict::fits);
}

// By hand: 8.03 billion weights without the head's 525 million, in fp32 over four GPUs; two scores a pair.
TEST_CASE("P8: what does a reward model of 8B take, which has no vocabulary?") {
    const requested_plan p = planned(with(
        on("llama-3.1-8b", "h100-sxm5-80gb", 4),
        {{"task", "reward"}, {"runtime", "trl"}, {"layout", {{"zero", 3}}}, {"micro_batch", 2}, {"sequence", 2048}}));
    CHECK(p.verdict() == verdict::fits);
    CHECK(bytes_of(p.plan.memory[memory_term::weights].expected) == doctest::Approx(4 * 7.505e9 / 4).epsilon(0.01));
    CHECK(p.plan.memory[memory_term::logits].expected < mib(1));
}

// By hand: 12 bytes for each of 30.53 billion weights over eight GPUs are 45.8 GB beside the engine's half of each.
TEST_CASE("P9: GRPO of a mixture of experts with 30B, of which 3B work: eight H100 or eight H200?") {
    const auto asked = [](std::string_view gpu) {
        return planned(
            grpo("verl", on("qwen3-30b-a3b", gpu, 8),
                 {{"micro_batch", 1}, {"global_batch", 128}, {"rollout", {{"output", 2048}, {"tensor", 4}}}}));
    };
    const requested_plan h100 = asked("h100-sxm5-80gb"), h200 = asked("h200-sxm5-141gb");
    CHECK(h100.verdict() == verdict::does_not_fit);
    CHECK(fullest(h100) == workload_phase::rollout);
    const double kept = bytes_of(phase_of(h100, workload_phase::rollout).resident.expected);
    CHECK(kept > 12 * 30.53e9 / 8);
    CHECK(kept < 1.1 * 12 * 30.53e9 / 8);
    CHECK(h200.verdict() == verdict::fits);
}

// By hand: 671 billion weights are nothing over 512 GPUs, 5.2 GB in fp32, but a layer has 256 experts of 44 million
// each: 22.5 GB that FSDP gathers in 16 bits, two layers at a time. verl trains such models with expert parallelism
// (docs/perf/dpsk.md). An engine over 32 GPUs has 42 GB of each.
TEST_CASE("P10: can FSDP train a 671B on 512 H100?") {
    const requested_plan p = planned(grpo("verl", on("deepseek-v3", "h100-sxm5-80gb", 512),
                                          {{"micro_batch", 1},
                                           {"global_batch", 512},
                                           {"rollout",
                                            {{"prompt", 2048},
                                             {"output", 2048},
                                             {"tensor", 32},
                                             {"weights", "bf16"},
                                             {"trainer", "all"},
                                             {"gpu_memory_utilization", 0.6}}}}));
    CHECK(p.verdict() == verdict::does_not_fit);
    CHECK(fullest(p) == workload_phase::training);
    CHECK(bytes_of(p.plan.memory[memory_term::weights].expected) == doctest::Approx(4 * 671.03e9 / 512).epsilon(0.01));
    CHECK(bytes_of(p.plan.memory[memory_term::communication].expected) > 2 * 22.5e9);
    const phase_plan& engine = phase_of(p, workload_phase::rollout);
    CHECK(bytes_of(engine.plan.memory[memory_term::weights].expected) == doctest::Approx(2 * 671e9 / 32).epsilon(0.05));
    CHECK(engine.plan.verdict == verdict::fits);
}

// By hand: a reference that is the policy without its adapters has no weights, and is a forward pass more.
TEST_CASE("P11: what does the reference of RLOO cost beside an adapter?") {
    const auto asked = [](std::string_view reference) {
        json job = grpo("trl", on("llama-3.1-8b", "l40s", 2),
                        {{"weights", "bf16"},
                         {"adapter", {{"kind", "lora"}, {"rank", 16}}},
                         {"micro_batch", 2},
                         {"reference", reference},
                         {"rollout", {{"engine", "vllm"}, {"sleep", "level_2"}, {"gpu_memory_utilization", 0.45}}}});
        job["task"] = "rloo";
        return planned(job);
    };
    const requested_plan off = asked("adapters_off"), none = asked("none");
    CHECK(off.verdict() == verdict::fits);
    CHECK(off.plan.memory[memory_term::reference].expected == byte_count{});
    CHECK(off.plan.memory[memory_term::weights].expected == none.plan.memory[memory_term::weights].expected);
    CHECK(ratio(off.phases->log_probabilities.expected, none.phases->log_probabilities.expected) ==
          doctest::Approx(2).epsilon(0.05));
}

// Without a layout the best of those that the planner tries is chosen: no other makes more answers a second.
TEST_CASE("P12: in which layout do eight GPUs train a 7B fastest?") {
    const json job = grpo("trl", on("qwen2.5-7b", "h100-sxm5-80gb", 8),
                          {{"rollout", {{"engine", "vllm"}, {"sleep", "level_2"}, {"gpu_memory_utilization", 0.3}}}});
    const requested_plan chosen = planned(job);
    CHECK(chosen.verdict() == verdict::fits);
    CHECK(chosen.plan.layout.data == 8);
    CHECK(chosen.plan.layout.zero >= 2);  // whole, fp32 weights and states alone are 12 bytes a weight, 91 GB
    for (const int zero : {0, 2, 3}) {
        const requested_plan other = planned(with(job, {{"layout", {{"zero", zero}}}}));
        if (zero == 0) CHECK(other.verdict() == verdict::does_not_fit);
        if (other.verdict() == verdict::fits)
            CHECK(other.phases->answers_per_second() <= chosen.phases->answers_per_second() * 1.001);
    }
}
