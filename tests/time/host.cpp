// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/memory.hpp>
#include <llmres/hardware/interconnects/network.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/time/host.hpp>

using namespace llmres;

namespace {

cluster machine(const gpu& card, std::int32_t gpus, byte_rate bandwidth = {}) {
    cluster made = standard_cluster(card, gpus).value();
    made.host.bandwidth = bandwidth;
    return made;
}

job tuning(const offload& away, std::int64_t rounds = 1) {
    return {.model = models::llama_3_1_8b,
            .task = task::finetuning,
            .sequence = tokens(1024),
            .global_batch = rounds,
            .recompute = recompute::full,
            .offload = away,
            .runtime = runtimes::deepspeed};
}

job in_gguf(const model& m, const char* mix, std::int32_t gpu_layers) {
    job j{.model = m, .gguf = *find_gguf_mix("weights", mix), .context = tokens(2048), .runtime = runtimes::llama_cpp};
    j.weights = find_gguf_type(static_cast<std::uint32_t>(detail::gguf::base_of(j.gguf->quantisation))).value.format;
    j.options.gpu_layers = gpu_layers;
    return j;
}

const std::int64_t n = count_parameters(models::llama_3_1_8b).in(parameters);

}  // namespace

TEST_CASE("an optimizer on the host copies gradients there and weights back, and reads and writes its states") {
    const host_traffic once = training_host_traffic(tuning({.optimizer = offload_place::host}), {});
    CHECK(once.link == bytes(2 * n + 2 * n));
    CHECK(once.memory == bytes(2 * (12 * n + 2 * n)));  // fp32 weights and two moments; gradients
    CHECK(once.disk == byte_count{});
    const host_traffic thrice = training_host_traffic(tuning({.optimizer = offload_place::host}, 3), {});
    CHECK(thrice.link == bytes(3 * 2 * n + 2 * n));
    CHECK(thrice.memory == once.memory);
    const host_traffic shared =
        training_host_traffic(tuning({.optimizer = offload_place::host}, 4), {.data = 4, .zero = 2});
    CHECK(shared.link == bytes(n));
    CHECK(training_host_traffic(tuning({.optimizer = offload_place::nvme}), {}).disk == bytes(24 * n));
}

TEST_CASE("weights on the host are copied for each forward and backward pass, saved activations there and back") {
    CHECK(training_host_traffic(tuning({.parameters = offload_place::host}, 2), {.zero = 3}).link ==
          bytes(2 * 2 * 2 * n));
    const host_traffic disks = training_host_traffic(tuning({.parameters = offload_place::nvme}), {.zero = 3});
    CHECK(disks.disk == disks.link);
    const host_traffic saved = training_host_traffic(tuning({.activations = offload_place::host}), {});
    CHECK(saved.link == saved_by_layers(tuning({}), {}) * 2);
    CHECK(saved.memory == byte_count{});
}

TEST_CASE("the host's work is part of a step's time, and can be its bottleneck") {
    const cluster one = machine(gpus::rtx_3090, 1);
    const job_speed here = plan(tuning({}), {}, one)->speed;
    CHECK(here.step[time_term::host_transfer] == interval<duration>{});
    CHECK(here.step[time_term::host_optimizer] == interval<duration>{});
    const job_speed there = plan(tuning({.optimizer = offload_place::host}), {}, one)->speed;
    CHECK(there.step[time_term::host_optimizer].expected > seconds(1));  // 225 GB of traffic
    const job_speed disk =
        plan(tuning({.optimizer = offload_place::nvme, .parameters = offload_place::nvme}), {.zero = 3}, one)->speed;
    CHECK(disk.step.largest() == time_term::host_transfer);
    CHECK(disk.step.total().expected > there.step.total().expected);

    const job_speed fast =
        plan(tuning({.optimizer = offload_place::host}), {}, machine(gpus::rtx_3090, 1, gb_per_s(400)))->speed;
    CHECK(fast.step[time_term::host_optimizer].expected < there.step[time_term::host_optimizer].expected);
    cluster narrow = one;
    narrow.host.link = links::pcie_gen3_x4;
    CHECK(plan(tuning({.parameters = offload_place::host}), {.zero = 3}, narrow)
              ->speed.step[time_term::host_transfer]
              .expected > plan(tuning({.parameters = offload_place::host}), {.zero = 3}, one)
                              ->speed.step[time_term::host_transfer]
                              .expected);
    // Two GPUs of a node share its main memory.
    job shared = tuning({.optimizer = offload_place::host}, 2);
    CHECK(plan(shared, {.data = 2}, machine(gpus::rtx_3090, 2))->speed.step[time_term::host_optimizer].expected ==
          there.step[time_term::host_optimizer].expected * 2.0);
}

TEST_CASE(
    "what computing hides, it hides once: an exchange that lasts longer leaves nothing for the host's transfers") {
    job j = tuning({.optimizer = offload_place::host}, 16);
    j.runtime.launches.overlaps_gradients = true;
    const layout l{.data = 16, .zero = 2};
    const auto transferred = [&](const llmres::link& between, const efficiency& e) {
        cluster c = machine(gpus::a100_sxm4_80gb, 16);
        c.scale_out = between;
        return speed_of(j, l, c, memory_of(j, l, c), e).step[time_term::host_transfer].expected.in(seconds);
    };
    efficiency nothing_overlaps;
    nothing_overlaps.overlap = 0.0;
    const double whole = transferred(links::ib_ndr_400, nothing_overlaps);
    CHECK(transferred(links::eth_10g, nothing_overlaps) == doctest::Approx(whole));
    CHECK(transferred(links::eth_10g, default_efficiency) == doctest::Approx(whole));
    CHECK(transferred(links::ib_ndr_400, default_efficiency) < whole);
    CHECK(transferred(links::ib_ndr_400, default_efficiency) >= whole * 0.3 * (1 - 1e-9));
    // At the slow end the whole transfer waits, at the least rate of the link.
    cluster c = machine(gpus::a100_sxm4_80gb, 16);
    c.scale_out = links::ib_ndr_400;
    const interval<duration> waits = speed_of(j, l, c, memory_of(j, l, c)).step[time_term::host_transfer];
    CHECK(waits.high.in(seconds) == doctest::Approx(whole / default_efficiency.link.low));
}

TEST_CASE("a measured step with the optimizer on the host lies within the bounds") {
    // DeepSpeed's tutorial on core binding: Qwen2.5-3B on two A100 40GB, 3.08 s a step without binding, 2.38 s with.
    // Its batch is not told.
    const job j{.model = models::qwen2_5_3b,
                .task = task::finetuning,
                .sequence = tokens(512),
                .offload = {.optimizer = offload_place::host},
                .runtime = runtimes::deepspeed};
    const interval<duration> step =
        plan(j, {.data = 2, .zero = 3}, machine(gpus::a100_sxm4_40gb, 2))->speed.step.total();
    CHECK(step.contains(seconds(2.383)));
    CHECK(step.contains(seconds(3.084)));
}

TEST_CASE("layers that the CPU computes are as slow as main memory") {
    // 70B in Q5_K_M without a GPU layer: 1.41 tokens/s on a 7800X3D (evshiron/rocm_lab, issue 13), whose two channels
    // of DDR5-5200 give 83 GB/s.
    const cluster desktop = machine(gpus::rtx_4090, 1, gb_per_s(83));
    const job none = in_gguf(models::llama_2_70b, "Q5_K_M", 0);
    const job_speed s = plan(none, {}, desktop)->speed;
    CHECK(s.step.largest() == time_term::host_transfer);
    CHECK(s.step.total().contains(seconds(1 / 1.41)));
    CHECK(plan(none, {}, machine(gpus::rtx_4090, 1))->speed.step.total().contains(seconds(1 / 1.41)));  // whatever the
                                                                                                        // host

    duration slower = s.step.total().expected;
    for (const std::int32_t on_gpu : {20, 40, 60, 81}) {  // the head is the first of them
        const time_breakdown now = plan(in_gguf(models::llama_2_70b, "Q5_K_M", on_gpu), {}, desktop)->speed.step;
        CHECK(now.total().expected < slower);
        const duration scores = size_of(fp32, 1, 32'000) / scores_to_host.expected;  // which the CPU samples from
        CHECK((now[time_term::host_transfer].expected == scores) == (on_gpu == 81));
        slower = now.total().expected;
    }
}

TEST_CASE("the caches of layers that the CPU computes are read by keys and by values, each in its own format") {
    job j = in_gguf(models::llama_3_1_8b, "Q4_K_M", 0);
    const auto read = [&](std::int64_t kept) { return decode_host_traffic(j, {}, tokens(kept)).memory; };
    const auto a_token = [&] { return (read(2000) - read(1000)).in(bytes) / 1000; };
    // 32 layers of 8 heads of 128 values, keys and values in 16 bits.
    CHECK(a_token() == 32 * 8 * 128 * 4);
    j.kv_cache_values = fp8_e4m3;
    CHECK(a_token() == 32 * 8 * 128 * 3);
    j.kv_cache = fp8_e4m3;
    CHECK(a_token() == 32 * 8 * 128 * 2);
    j.kv_cache_values = {};
    CHECK(a_token() == 32 * 8 * 128 * 2);
    j.batch = 3;
    CHECK(a_token() == 3 * 32 * 8 * 128 * 2);
    j.options.gpu_layers = 9;  // the head and eight layers
    CHECK(a_token() == 3 * 24 * 8 * 128 * 2);
}

TEST_CASE("of experts on the host, decoding reads those that tokens choose; prompts copy all of them") {
    job j = in_gguf(models::qwen3_30b_a3b, "Q4_K_M", 99);
    CHECK_FALSE(computes_on_host(j));
    j.options.experts_on_host = true;
    REQUIRE(computes_on_host(j));
    const byte_count one = decode_host_traffic(j, {}, tokens(1)).memory;
    const byte_count all = prefill_host_traffic(j, {}).link;
    CHECK(ratio(one, all) < 8.5 / 128);  // eight of 128
    j.batch = 64;
    const byte_count many = decode_host_traffic(j, {}, tokens(1)).memory;
    CHECK(many > one * 10);
    CHECK(many < all);
    j.options.host_expert_layers = 12;
    CHECK(prefill_host_traffic(j, {}).link < all);
}

TEST_CASE("the rates assumed for hosts and disks are those of the table of links") {
    const auto rate = [](const llmres::link& one, int many) {
        return doctest::Approx(one.bandwidth().in(gb_per_s)*many).epsilon(0.005);
    };
    const interval<byte_rate> memory = host_bandwidth(host{});
    CHECK(memory.low.in(gb_per_s) == rate(links::ddr4_2666_channel, 2));
    CHECK(memory.expected.in(gb_per_s) == rate(links::ddr4_3200_channel, 8));
    CHECK(memory.high.in(gb_per_s) == rate(links::ddr5_4800_channel, 12));
    const interval<byte_rate> desktop = host_bandwidth(cluster{.gpu = gpus::rtx_4090});
    CHECK(desktop.low.in(gb_per_s) == rate(links::ddr4_2666_channel, 2));
    CHECK(desktop.expected.in(gb_per_s) == rate(links::ddr5_4800_channel, 2));
    CHECK(desktop.high.in(gb_per_s) == rate(links::ddr5_6400_channel, 2));
    CHECK(disk_bandwidth.low.in(gb_per_s) == rate(links::nvme_gen3_x4, 1));
    CHECK(disk_bandwidth.expected.in(gb_per_s) == rate(links::nvme_gen4_x4, 1));
    CHECK(disk_bandwidth.high.in(gb_per_s) == rate(links::nvme_gen4_x4, 4));
}

TEST_CASE("copies are counted for every micro-batch, and shards of the optimizer's states from ZeRO 1 on") {
    CHECK(training_host_traffic(tuning({.parameters = offload_place::host}, 3), {.zero = 3}).link ==
          bytes(3 * 2 * 2 * n));
    const host_traffic shared =
        training_host_traffic(tuning({.optimizer = offload_place::host}, 4), {.data = 4, .zero = 1});
    CHECK(shared.link == bytes(n));  // a quarter of the gradients there, of the weights back
    CHECK(shared.memory == bytes(2 * (12 * n + 2 * n) / 4));
}

TEST_CASE("the first layers of a model with frozen embeddings save less, so that less of them is copied") {
    job j = tuning({.activations = offload_place::host}, 3);
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.recompute = recompute::none;
    job here = j;
    here.offload = {};
    CHECK(training_host_traffic(j, {}).link == saved_by_layers(here, {}) * (2 * 3));
}

TEST_CASE(
    "what a frozen model's first layers do not save is taken off once: nothing comes back from disks sooner than at "
    "once") {
    job j{.model = models::deepseek_v2_lite,
          .task = task::finetuning,
          .sequence = tokens(131072),
          .attention = attention_kernel::eager,
          .recompute = recompute::selective,
          .adapter = {.kind = adapter_kind::ia3, .rank = 1},
          .offload = {.activations = offload_place::nvme},
          .runtime = runtimes::huggingface};
    for (const recompute what : {recompute::none, recompute::selective}) {
        j.recompute = what;
        CHECK(saved_activations(j, {}) > byte_count{});
        CHECK(training_host_traffic(j, {}).disk > byte_count{});
        const job_plan p = plan(j, {}, machine(gpus::h100_sxm5_80gb, 1)).value();
        for (const interval<duration>& term : p.speed.step.terms) CHECK(term.low >= duration{});
    }
}

TEST_CASE("parts of layers that are offloaded by name go to the host and back, for every layer and micro-batch") {
    job j = tuning({.modules = layer_part::attn_proj}, 3);
    j.recompute = recompute::none;
    j.runtime = runtimes::megatron;
    // The input of attention's output projection: 1,024 tokens of 4,096 features in bf16.
    CHECK(training_host_traffic(j, {}).link == bytes(std::int64_t{1024} * 4096 * 2 * 32 * 2 * 3));
    CHECK(training_host_traffic(j, {}).memory == byte_count{});
    CHECK(training_host_traffic(j, {.pipeline = 4, .replicas = 1}, 3).link ==
          bytes(std::int64_t{1024} * 4096 * 2 * 8 * 2 * 3));
}

TEST_CASE("one layer on the host is enough for it to compute, and so are the experts of one layer") {
    CHECK(computes_on_host(in_gguf(models::llama_3_1_8b, "Q4_K_M", 0)));
    CHECK(computes_on_host(in_gguf(models::llama_3_1_8b, "Q4_K_M", 32)));  // the head and 31 layers are on the GPU
    CHECK_FALSE(computes_on_host(in_gguf(models::llama_3_1_8b, "Q4_K_M", 33)));
    job j = in_gguf(models::qwen3_30b_a3b, "Q4_K_M", 99);
    j.options.experts_on_host = true, j.options.host_expert_layers = 1;
    CHECK(computes_on_host(j));
}

TEST_CASE("weights on the host are brought over for each chunk of a prompt, and prompts wait for them") {
    job j = in_gguf(models::llama_3_1_8b, "Q4_K_M", 0);
    j.prompt = tokens(1024), j.output = tokens(64);
    j.max_batched_tokens = tokens(2048);
    const byte_count once = prefill_host_traffic(j, {}).link;
    CHECK(once > gb(3));
    for (const std::int64_t chunks : {2, 3, 8}) {
        j.max_batched_tokens = tokens((1024 + chunks - 1) / chunks);
        CHECK(prefill_host_traffic(j, {}).link == once * chunks);
    }
    j.max_batched_tokens = tokens(2048);
    const cluster c = machine(gpus::rtx_4090, 1);
    const job_speed s = plan(j, {}, c)->speed;
    CHECK(s.prefill[time_term::host_transfer].expected.in(seconds) ==
          doctest::Approx(static_cast<double>(once.in(bytes)) / c.host.link.bandwidth().in(bytes_per_s)));
    // One sequence: its prompt, and then its tokens one after another.
    const double all = 64 / s.tokens_per_second.in(tokens_per_s);
    CHECK(all - 64 * s.step.total().expected.in(seconds) ==
          doctest::Approx(s.prefill.total().expected.in(seconds)).epsilon(0.02));
}

TEST_CASE("GPUs of one node share the CPUs and disks of their node alone") {
    const cluster c = machine(gpus::a100_sxm4_80gb, 16, gb_per_s(200));
    REQUIRE(c.node_size() == 8);
    const auto optimizer = [&](const layout& l) {
        const job j = tuning({.optimizer = offload_place::host}, 16);
        const time_breakdown step = speed_of(j, l, c, memory_of(j, l, c)).step;
        const double memory = static_cast<double>(training_host_traffic(j, l).memory.in(bytes));
        return step[time_term::host_optimizer].expected.in(seconds) * 200e9 * 0.8 / memory;
    };
    CHECK(optimizer({.data = 16, .zero = 2}) == doctest::Approx(8));
    CHECK(optimizer({.data = 4, .zero = 2}) == doctest::Approx(4));
}

TEST_CASE("a sequence that starts from nothing brings the weights on the host over once") {
    job j = in_gguf(models::llama_3_1_8b, "Q4_K_M", 0);
    j.prompt = tokens(1), j.output = tokens(100);
    const byte_count one_chunk = prefill_host_traffic(j, {}).link;
    CHECK(one_chunk > gib(3));
    j.prompt = {}, j.output = j.context = tokens(100);
    CHECK(prefill_host_traffic(j, {}).link == one_chunk);
}
