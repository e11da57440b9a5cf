// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/lmdeploy.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/time/throughput.hpp>

using namespace llmres;

namespace {

job_speed speed(const job& j, const layout& l, const cluster& c) { return plan(j, l, c).value().speed; }

const cluster h100 = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
const cluster eight_h100 = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
const job chat{.model = models::llama_3_1_8b, .batch = 1, .prompt = tokens(1024), .output = tokens(256)};
const job pretraining{
    .model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096), .micro_batch = 1};

}  // namespace

TEST_CASE("terms add up to the time, and the bounds enclose what is expected") {
    for (const job_speed& s : {speed(chat, {}, h100), speed(pretraining, {.data = 8, .zero = 3}, eight_h100)}) {
        interval<duration> sum;
        for (const interval<duration>& term : s.step.terms) {
            CHECK(term.low <= term.expected);
            CHECK(term.expected <= term.high);
            sum += term;
        }
        CHECK(sum == s.step.total());
    }
}

TEST_CASE("bounds enclose the expected time of an exchange, however much of it overlaps with a fast step") {
    for (const gpu* card : {&gpus::h100_sxm5_80gb, &gpus::rtx_4090, &gpus::h200_sxm5_141gb})
        for (const std::int64_t sequence : {128, 1024, 8192})
            for (const layout& l : {layout{.data = 4, .zero = 3},
                                    layout{.tensor = 4, .pipeline = 2, .data = 4, .zero = 3}, layout{.data = 64}}) {
                const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(sequence)};
                const auto t = speed(j, l, standard_cluster(*card, static_cast<std::int32_t>(l.gpus())).value())
                                   .step[time_term::data_communication];
                CHECK(t.low <= t.expected);
                CHECK(t.expected <= t.high);
            }
}

TEST_CASE("unknown power or multiprocessors widen the slow bound alone, and are named; a measured rate needs neither") {
    const auto why = [](const job_plan& p, reason_code code) {
        const auto* end = p.reasons.begin() + p.reason_count;
        return std::any_of(p.reasons.begin(), end, [&](const reason& r) { return r.code == code; });
    };
    cluster nameless = eight_h100;
    const layout l{.data = 8, .zero = 3};
    const job_plan known = plan(pretraining, l, nameless).value();
    nameless.gpu.board_power = {};
    const job_plan powerless = plan(pretraining, l, nameless).value();
    const auto busy = [](const job_plan& p) { return p.speed.step[time_term::compute]; };
    CHECK_FALSE(why(known, reason_code::power_unknown));
    CHECK(why(powerless, reason_code::power_unknown));
    // A board whose limit is unknown is expected to have none, and may be slower than one of 700 W.
    CHECK(busy(powerless).expected <= busy(known).expected);
    CHECK(busy(powerless).high > busy(known).high);
    nameless.power_limit = watts(700);
    CHECK(busy(plan(pretraining, l, nameless).value()) == busy(known));
    nameless.gpu.sm_count = {};
    const job_plan unnumbered = plan(pretraining, l, nameless).value();
    CHECK(why(unnumbered, reason_code::multiprocessors_unknown));
    CHECK(busy(unnumbered).high > busy(known).high * 2);
    nameless.gpu.measured.bf16 = tflops(700);
    const job_plan measured = plan(pretraining, l, nameless).value();
    CHECK_FALSE(why(measured, reason_code::multiprocessors_unknown));
    nameless.gpu.sm_count = gpus::h100_sxm5_80gb.sm_count;
    CHECK(busy(measured).high.in(seconds) ==
          doctest::Approx(busy(plan(pretraining, l, nameless).value()).high.in(seconds)).epsilon(0.05));
}

TEST_CASE("products of training reach 0.87 of the peak at most, unless the caller expects more") {
    const auto fast_end = [](const job& j, const efficiency& e) {
        const interval<duration> t = speed_of(j, {}, h100, memory_of(j, {}, h100), e).step[time_term::compute];
        return t.expected / t.low;
    };
    const job tuned{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(4096)};
    CHECK(fast_end(tuned, default_efficiency) == doctest::Approx(0.87 / 0.748));
    efficiency e;
    e.arithmetic = {0.5, 0.8, 0.85};
    CHECK(fast_end(tuned, e) == doctest::Approx(0.85 / 0.8));
    e.arithmetic = {0.5, 0.9, 0.99};
    CHECK(fast_end(tuned, e) == doctest::Approx(1));
    const job prompts{.model = models::llama_3_1_8b, .batch = 512, .prompt = tokens(64), .output = tokens(64)};
    CHECK(fast_end(prompts, default_efficiency) == doctest::Approx(0.92 / 0.748));
}

TEST_CASE("decoding one sequence takes at least as long as reading the weights, and is bound by memory") {
    const job_speed s = speed(chat, {}, h100);
    const duration reading = weight_bytes(chat.model, {}) / gpus::h100_sxm5_80gb.memory.bandwidth;
    CHECK(s.step.total().low >= reading * 0.9);
    CHECK(s.step.largest() == time_term::memory);
    // Measured: 6.44 ms and 4.37e-5 ms a token of context (vLLM on an H100, Llama 3.1 8B, batch 1).
    CHECK(s.step.total().contains(milliseconds(6.44 + 4.37e-5 * 1152)));
}

TEST_CASE("a long prompt is bound by arithmetic") {
    job j = chat;
    j.prompt = tokens(16384);
    CHECK(speed(j, {}, h100).prefill.largest() == time_term::compute);
}

TEST_CASE("a larger batch makes more tokens a second, and each of them later") {
    job j = chat;
    job_speed before = speed(j, {}, h100);
    for (j.batch = 2; j.batch <= 256; j.batch *= 2) {
        const job_speed now = speed(j, {}, h100);
        CHECK(now.tokens_per_second > before.tokens_per_second);
        CHECK(now.step.total().expected >= before.step.total().expected);
        before = now;
    }
}

TEST_CASE("a longer context never makes a token quicker") {
    job j = chat;
    duration before;
    for (std::int64_t prompt = 1; prompt <= 100'000; prompt *= 10) {
        j.prompt = tokens(prompt);
        const duration now = speed(j, {}, h100).step.total().expected;
        CHECK(now >= before);
        before = now;
    }
}

TEST_CASE("tensor parallelism makes a token quicker, but not as many times as there are GPUs") {
    const duration alone = speed(chat, {}, eight_h100).step.total().expected;
    const duration shared = speed(chat, {.tensor = 8}, eight_h100).step.total().expected;
    CHECK(shared < alone);
    CHECK(shared * 8 > alone);
    CHECK(speed(chat, {.tensor = 8}, eight_h100).step[time_term::tensor_communication].expected > duration{});
}

TEST_CASE("model FLOPs of a training step are three forward passes, recomputation apart") {
    job j = pretraining;
    const job_speed plain = speed(j, {}, eight_h100);
    j.recompute = recompute::full;
    const job_speed again = speed(j, {}, eight_h100);
    CHECK(again.flops == plain.flops);
    // Every layer's forward pass once more; the head is not recomputed.
    const double more = again.step[time_term::compute].expected / plain.step[time_term::compute].expected;
    CHECK(more < 4.0 / 3);
    CHECK(more > 1.28);
    CHECK(again.mfu < plain.mfu);
    // 6 N D and the attention beside it (arXiv 2001.08361).
    const double rule = 6.0 * 8.03e9 * 4096;
    CHECK(plain.flops.in(flops) / rule > 0.93);
    CHECK(plain.flops.in(flops) / rule < 1.10);
}

TEST_CASE("a backward pass multiplies twice, but exchanges as often as the forward pass does") {
    job j = pretraining;
    const layout by_tensor{.tensor = 8};
    const auto exchanged = [&](const job_speed& s) {
        return s.step[time_term::tensor_communication].expected.in(seconds);
    };
    // Forward and backward, then forward once more: two sums a layer each (arXiv 1909.08053 section 3).
    const double plain = exchanged(speed(j, by_tensor, eight_h100));
    j.recompute = recompute::full;
    CHECK(exchanged(speed(j, by_tensor, eight_h100)) == doctest::Approx(plain * 3 / 2));
    double forward = 0;
    for_each_exchange(j.model.layers[0], j.model.hidden, bf16, {1, 4096, 4096}, by_tensor, [&](const exchange& x) {
        forward += time_of(x.kind, x.message, 8, eight_h100.scale_up).in(seconds)*j.model.layers.size;
    });
    CHECK(plain == doctest::Approx(2 * forward / default_efficiency.link.expected));
}

TEST_CASE(
    "training in 8 bits: layers' products take half the time; the head, attention and what ranks send each other stay "
    "in 16") {
    job j = pretraining;
    j.sequence = tokens(8192);
    j.global_batch = 128;
    j.runtime = runtimes::megatron;
    const layout by_tensor{.tensor = 2, .data = 4, .zero = 1};
    const job_speed wide = speed(j, by_tensor, eight_h100);
    j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    const job_speed narrow = speed(j, by_tensor, eight_h100);
    const auto compute = [](const job_speed& of) { return of.step[time_term::compute].expected; };
    CHECK(compute(narrow) > compute(wide) * 0.5);
    CHECK(compute(narrow) < compute(wide) * 0.7);
    CHECK(narrow.step[time_term::tensor_communication].expected == wide.step[time_term::tensor_communication].expected);
    CHECK(narrow.flops == wide.flops);

    // Casts at each product (torchao) multiply likewise, and send what they did.
    j.runtime.kernels.fp8.recipe = fp8_recipe::none;
    j.compute = fp8_e4m3;
    const job_speed cast = speed(j, by_tensor, eight_h100);
    CHECK(compute(cast) == compute(narrow));
    CHECK(cast.step[time_term::tensor_communication].expected == wide.step[time_term::tensor_communication].expected);

    // Megatron-Bridge's summary for 25.11: 14,451 tokens/s a GPU of eight H100 with current scaling.
    j.compute = bf16;
    j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    const interval<duration> step = speed(j, {.data = 8, .zero = 1}, eight_h100).step.total();
    const duration published = seconds(128 * 8192 / (14451.0 * 8));
    CHECK(step.low < published);
    CHECK(published < step.high);
    CHECK(published.in(seconds) == doctest::Approx(step.expected.in(seconds)).epsilon(0.2));
}

TEST_CASE(
    "a depth of multi-token prediction is a layer, a projection and the head once more, and the stage that has it is "
    "waited for") {
    job j = pretraining;
    const job_speed plain = speed(j, {}, eight_h100);
    j.mtp_layers = 1;
    const job_speed ahead = speed(j, {}, eight_h100);
    // Llama 3.1 8B: 32 layers of 218,103,808 weights that multiply, a head of 525,336,576; a projection of 2 h^2.
    const double layer = 218103808.0, head = 525336576.0, projection = 2.0 * 4096 * 4096, pairs = 2.0 * 4096 * 4096 / 2;
    CHECK(ahead.flops / plain.flops ==
          doctest::Approx(1 + (layer + pairs + head + projection) / (32 * (layer + pairs) + head)).epsilon(1e-6));
    CHECK(ahead.step.total().expected > plain.step.total().expected);

    j.mtp_layers = 2;
    j.global_batch = 64;
    const auto waited = [&](const layout& l) { return speed(j, l, eight_h100).step.total().expected; };
    layout four{.pipeline = 4};
    const duration uneven = waited(four);
    four.last_stage_layers = 7;  // 9 8 8 7+2, not 8 8 8 8+2
    four.first_stage_layers = 9;
    CHECK(waited(four) < uneven);
}

TEST_CASE("pipeline stages idle less with more micro-batches and with interleaving") {
    job j = pretraining;
    j.optimizer = adamw_fused;  // one kernel, which takes little beside the passes
    const auto idle = [&](std::int64_t global_batch, std::int32_t chunks) {
        j.global_batch = global_batch;
        const time_breakdown step = speed(j, {.pipeline = 4, .virtual_pipeline = chunks}, eight_h100).step;
        return step[time_term::pipeline_bubble].expected.in(seconds) / step.total().expected.in(seconds);
    };
    // Eight layers of 218,103,808 weights a stage, and the head's 525,336,576 beside those of the last, which others
    // wait for.
    const double others = 3 * (8 * 218103808.0) / (8 * 218103808.0 + 525336576.0);
    CHECK(idle(4, 1) == doctest::Approx(others / (4 + others)).epsilon(0.05));
    CHECK(idle(64, 1) < idle(4, 1));
    CHECK(idle(8, 2) < idle(8, 1));
}

TEST_CASE("where a GPU has no bf16 arithmetic, engines that compute in fp16 there are as fast as in fp16") {
    const auto prompt = [](const runtime& by, const precision& compute, const gpu& card) {
        const job j{.model = models::llama_3_1_8b, .compute = compute, .prompt = tokens(512), .runtime = by};
        return speed(j, {}, standard_cluster(card, 1).value()).prefill.total().expected.in(seconds);
    };
    for (const gpu& card : {gpus::v100_sxm2_32gb, gpus::t4_16gb, gpus::p100_sxm2_16gb}) {
        CAPTURE(card.id.view());
        for (const runtime& by : {runtimes::vllm, runtimes::sglang, runtimes::lmdeploy, no_runtime})
            CHECK(prompt(by, bf16, card) == prompt(by, fp16, card));
        if (card.capability.major == 7)  // Pascal has no fp16 matrix units either
            CHECK(prompt(runtimes::transformers, bf16, card) > prompt(runtimes::transformers, fp16, card) * 1.5);
    }
    CHECK(prompt(runtimes::vllm, bf16, gpus::v100_sxm2_32gb) < 0.1);
    CHECK(prompt(runtimes::vllm, fp32, gpus::v100_sxm2_32gb) > 0.5);
    CHECK(prompt(runtimes::transformers, bf16, gpus::a100_sxm4_80gb) ==
          prompt(runtimes::transformers, fp16, gpus::a100_sxm4_80gb));
}

TEST_CASE("gradients are exchanged more slowly between hosts than inside one") {
    job j = pretraining;
    const cluster apart = [] {
        cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
        c.gpus_per_node = 8;
        return c;
    }();
    const auto exchanged = [&](std::int32_t ranks) {
        return speed(j, {.data = ranks}, apart).step[time_term::data_communication].high;
    };
    CHECK(exchanged(16) > exchanged(8));
    // With tensor parallelism inside the nodes, each pair of nodes has one adapter a group.
    const duration paired = speed(j, {.tensor = 8, .data = 2}, apart).step[time_term::data_communication].high;
    CHECK(paired * 8 > exchanged(16) * 4);
}

TEST_CASE("mfu is a share of what the GPUs could do") {
    const job_speed s = speed(pretraining, {.data = 8, .zero = 3}, eight_h100);
    CHECK(s.mfu > 0.2);
    CHECK(s.mfu < 0.92);
    CHECK(s.tokens_per_second.in(tokens_per_s) == doctest::Approx(8 * 4096 / s.step.total().expected.in(seconds)));
}

namespace {

/// An H100 whose board's power limits nothing, so that both have the peaks of bursts.
cluster unlimited_h100() {
    cluster c = h100;
    c.gpu.board_power = watts(1e5);
    return c;
}

/// An H100 on which these were measured; zero for what was not.
cluster measured_h100(double gigabytes_per_s, double bf16_tflops) {
    cluster c = unlimited_h100();
    if (gigabytes_per_s > 0) c.gpu.measured.bandwidth = gb_per_s(gigabytes_per_s);
    if (bf16_tflops > 0) c.gpu.measured.bf16 = tflops(bf16_tflops);
    return c;
}

double bytes_read(const job& j, const cluster& c) {
    return speed(j, {}, c)
        .step[time_term::memory]
        .expected.in(seconds)*c.gpu.memory.bandwidth.in(bytes_per_s)*default_efficiency.bandwidth.expected;
}

}  // namespace

TEST_CASE("a measured bandwidth is that of reads: other kernels reach as much less of it as of the datasheet's") {
    const cluster c = measured_h100(3000, 0);
    const interval<duration> step = speed(chat, {}, c).step[time_term::memory];
    const double at_reads = bytes_read(chat, unlimited_h100()) / 3e12;
    const double less = default_efficiency.bandwidth.expected / reads_of_bandwidth;
    CHECK(step.expected.in(seconds) == doctest::Approx(at_reads / less).epsilon(1e-4));
    CHECK(step.low.in(seconds) == doctest::Approx(at_reads).epsilon(1e-4));  // nothing is faster than reads
    const double as_before = default_efficiency.bandwidth.expected / default_efficiency.bandwidth.low;
    CHECK(step.high / step.expected == doctest::Approx(as_before));
}

TEST_CASE("a measured rate is achieved, and mfu still refers to the datasheet's peak") {
    const cluster c = measured_h100(0, 700);
    const job_speed s = speed(pretraining, {}, c);
    const job_speed before = speed(pretraining, {}, unlimited_h100());
    const double reached = 700.0 / gpus::h100_sxm5_80gb.rates.bf16->in(tflops);
    const double ratio_of_times = s.step[time_term::compute].expected / before.step[time_term::compute].expected;
    CHECK(ratio_of_times == doctest::Approx(default_efficiency.arithmetic.expected / reached).epsilon(0.02));
    CHECK(s.step[time_term::compute].low == s.step[time_term::compute].expected);
    CHECK(s.step[time_term::memory].expected.in(seconds) ==
          doctest::Approx(before.step[time_term::memory].expected.in(seconds)).epsilon(0.02));  // the sheet's still
    CHECK(s.mfu < reached);
    CHECK(s.mfu * s.step.total().expected.in(seconds) ==
          doctest::Approx(before.mfu * before.step.total().expected.in(seconds)));
}

TEST_CASE("a job reaches the part of the best product's rate that products of its size reached") {
    cluster c = measured_h100(0, 700);
    const interval<duration> best = speed(pretraining, {}, c).step[time_term::compute];
    c.gpu.measured.reach = {0.5, 0.8, 1.0};
    const interval<duration> usual = speed(pretraining, {}, c).step[time_term::compute];
    CHECK(usual.low.in(seconds) == doctest::Approx(best.low.in(seconds)).epsilon(0.02));
    CHECK(usual.expected / best.expected == doctest::Approx(1 / 0.8).epsilon(0.02));
    const double low = default_efficiency.arithmetic.low / default_efficiency.arithmetic.expected;
    CHECK(usual.high / best.low == doctest::Approx(1 / std::min(0.5, 0.8 * low)).epsilon(0.02));
    cluster other = c;
    other.gpu.measured.bf16 = {};  // nothing it could be a part of
    CHECK(speed(pretraining, {}, other).step[time_term::compute].expected ==
          speed(pretraining, {}, unlimited_h100()).step[time_term::compute].expected);
}

TEST_CASE("measurements equal to the datasheet's expected rates change no expected time") {
    const gpu& card = gpus::h100_sxm5_80gb;
    const cluster c = measured_h100(card.memory.bandwidth.in(gb_per_s)*reads_of_bandwidth,
                                    card.rates.bf16->in(tflops)*default_efficiency.arithmetic.expected);
    for (const job& j : {chat, pretraining}) {
        const job_speed a = speed(j, {}, c);
        const job_speed b = speed(j, {}, unlimited_h100());
        CHECK(a.step.total().expected.in(seconds) ==
              doctest::Approx(b.step.total().expected.in(seconds)).epsilon(0.02));
        CHECK(a.step.total().high.in(seconds) == doctest::Approx(b.step.total().high.in(seconds)).epsilon(0.02));
        CHECK(a.step.total().low > b.step.total().low);
        CHECK(a.mfu == doctest::Approx(b.mfu).epsilon(0.02));
    }
}

TEST_CASE("a format that was not measured keeps the datasheet's peak and its bounds") {
    job j = pretraining;
    j.compute = fp16;  // bf16 alone was measured
    const job_speed a = speed(j, {}, measured_h100(0, 700));
    const job_speed b = speed(j, {}, unlimited_h100());
    CHECK(a.step.total().expected.in(seconds) == doctest::Approx(b.step.total().expected.in(seconds)).epsilon(0.02));
    CHECK(a.step.total().low.in(seconds) == doctest::Approx(b.step.total().low.in(seconds)).epsilon(0.02));
    CHECK(a.step.total().high.in(seconds) == doctest::Approx(b.step.total().high.in(seconds)).epsilon(0.02));
}
