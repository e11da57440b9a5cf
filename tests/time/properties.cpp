// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/torchtune.hpp>
#include <llmres/runtimes/vllm.hpp>

#include "kinds_of_layers.hpp"

// What must hold of times for all jobs.

using namespace llmres;

namespace {

cluster h100s(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
job_speed speed(const job& j, const layout& l, const cluster& c) { return plan(j, l, c).value().speed; }
duration step(const job& j, const layout& l, const cluster& c) { return speed(j, l, c).step.total().expected; }

job chat(const model& m = models::llama_3_1_8b) {
    return {.model = m, .batch = 8, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::vllm};
}
job tuning() {
    return {.model = models::llama_3_1_8b,
            .task = task::finetuning,
            .sequence = tokens(4096),
            .attention = attention_kernel::flash,
            .runtime = runtimes::huggingface};
}

}  // namespace

TEST_CASE("LoRA computes less than full fine-tuning, and both counts of mfu say so") {
    job lora = tuning();
    lora.adapter = {.kind = adapter_kind::lora, .rank = 16};
    const job_speed whole = speed(tuning(), {}, h100s(1)), small = speed(lora, {}, h100s(1));
    CHECK(small.flops / whole.flops < 0.75);
    CHECK(small.flops / whole.flops > 0.6);
    CHECK(small.step.total().expected < whole.step.total().expected);
    lora.runtime = runtimes::torchtune;  // its adapters are in 16 bits; PEFT copies inputs and outputs to fp32
    CHECK(speed(lora, {}, h100s(1)).step.total().expected < whole.step.total().expected * 0.8);
    CHECK(speed(lora, {}, h100s(1)).step.total().expected < small.step.total().expected * 0.85);
    CHECK(small.mfu > 0);
    CHECK(small.mfu < 1);
    CHECK(small.mfu == doctest::Approx(whole.mfu).epsilon(0.3));
}

TEST_CASE("an adapter that leaves out stacked experts takes no time beside them") {
    job j = tuning();  // transformers 5 stacks experts' weights
    j.model = models::mixtral_8x7b;
    j.recompute = recompute::full;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linears};
    const duration by_default = speed(j, {}, h100s(1)).step.total().expected;
    j.adapter.experts = false;
    CHECK(speed(j, {}, h100s(1)).step.total().expected == by_default);
    j.adapter.experts = true;
    CHECK(speed(j, {}, h100s(1)).step.total().expected > by_default);
}

TEST_CASE("the GPUs do at most what their datasheets allow, whatever format the weights are stored in") {
    for (const precision& format : {bf16, fp8_e4m3, nvfp4, nf4})
        for (const bool adapts : {false, true}) {
            if (!adapts && format != bf16) continue;
            job j = tuning();
            j.weights = format;
            j.runtime = {};  // one that loads every format
            if (adapts) j.adapter = {.kind = adapter_kind::lora, .rank = 16};
            CHECK(speed(j, {}, standard_cluster(gpus::b200_sxm_180gb, 1).value()).mfu < 1);
        }
}

TEST_CASE("tensor parallelism over two nodes costs within a factor of two of one node, not twenty") {
    job j = tuning();
    j.runtime = runtimes::megatron;
    const cluster c = h100s(16);
    const duration inside = step(j, {.tensor = 8}, c), over_two = step(j, {.tensor = 16}, c);
    CHECK(over_two < inside * 2);
    CHECK(over_two * 2 > inside);
}

TEST_CASE("context parallelism exchanges keys and values, the slower the link the longer") {
    job j = tuning();
    j.runtime = runtimes::megatron;
    const auto exchanged = [&](const llmres::link& between) {
        cluster c = h100s(16);
        c.scale_out = between;
        return speed(j, {.context_parallel = 16}, c).step[time_term::tensor_communication].expected;
    };
    CHECK(exchanged(links::eth_10g) > milliseconds(1));
    CHECK(exchanged(links::eth_10g) > exchanged(links::ib_hdr_200));
}

TEST_CASE("no time falls when batch, prompt, layers or sequence grow") {
    for (const model* m : {&models::llama_3_1_8b, &models::mixtral_8x7b}) {
        job j = chat(*m);
        duration before, first;
        for (j.batch = 1; j.batch <= 1024; j.batch = j.batch * 3 / 2 + 1) {
            const job_speed s = speed(j, {.tensor = 2}, h100s(2));
            CHECK(s.step.total().expected >= before);
            CHECK(s.steady.time_per_output_token.expected >= s.step.total().expected);
            CHECK(s.steady.time_to_first_token.expected >= s.prefill.total().expected);
            before = s.step.total().expected;
        }
        j.batch = 8;
        before = {};
        for (std::int64_t prompt = 1; prompt < 30'000; prompt = prompt * 3 / 2 + 1) {
            j.prompt = tokens(prompt);
            const job_speed s = speed(j, {.tensor = 2}, h100s(2));
            CHECK(s.step.total().expected >= before);
            CHECK(s.prefill.total().expected >= first);
            before = s.step.total().expected, first = s.prefill.total().expected;
        }
        j = chat(*m);
        before = {};
        for (std::int32_t layers = 1; layers <= m->layers.size; layers += 5) {
            j.model.layers = m->layers.first(layers);
            CHECK(step(j, {}, h100s(1)) > before);
            before = step(j, {}, h100s(1));
        }
    }
    duration before;
    for (std::int64_t sequence = 16; sequence < 100'000; sequence = sequence * 3 / 2 + 1) {
        job j = tuning();
        j.sequence = tokens(sequence);
        CHECK(step(j, {.data = 8, .zero = 3}, h100s(8)) >= before * (1 - 1e-9));
        before = step(j, {.data = 8, .zero = 3}, h100s(8));
    }
}

TEST_CASE("no time rises with a faster link, rate or bandwidth") {
    job offloaded = tuning();
    offloaded.offload.optimizer = offload_place::host;
    struct asked {
        job what;
        layout over;
    };
    for (const asked& a : {asked{chat(), {.tensor = 4}}, asked{tuning(), {.data = 16, .zero = 3}},
                           asked{offloaded, {.data = 16, .zero = 2}}, asked{tuning(), {.tensor = 2, .pipeline = 8}}})
        for (const int turned : {0, 1, 2, 3}) {
            duration before = seconds(1e9);
            for (double faster = 1; faster < 20; faster *= 1.5) {
                cluster c = h100s(16);
                if (turned == 0) c.scale_out.raw = c.scale_out.raw * faster;
                if (turned == 1) c.scale_up.raw = c.scale_up.raw * faster;
                if (turned == 2) c.gpu.memory.bandwidth = c.gpu.memory.bandwidth * faster;
                if (turned == 3)
                    c.gpu.rates.bf16 = *c.gpu.rates.bf16 * faster,
                    c.gpu.board_power = watts(c.gpu.board_power->in(watts)*faster);
                const duration now = step(a.what, a.over, c);
                CAPTURE(turned);
                CHECK(now <= before * (1 + 1e-9));
                before = now;
            }
        }
}

TEST_CASE("kinds of layers that are alike take as long as one kind") {
    const auto check = [](const job& j, const layout& l, const cluster& c) {
        job many = j;
        many.model = kinds_of_layers::in_most_kinds(j.model);
        const job_speed of_one = speed(j, l, c), of_many = speed(many, l, c);
        for (std::size_t i = 0; i < of_one.step.terms.size(); ++i) {
            CHECK(of_many.step.terms[i].expected.in(seconds) ==
                  doctest::Approx(of_one.step.terms[i].expected.in(seconds)));
            CHECK(of_many.prefill.terms[i].expected.in(seconds) ==
                  doctest::Approx(of_one.prefill.terms[i].expected.in(seconds)));
        }
        CHECK(of_many.tokens_per_second.in(tokens_per_s) == doctest::Approx(of_one.tokens_per_second.in(tokens_per_s)));
    };
    check(chat(), {}, h100s(1));
    check(chat(), {.tensor = 2, .pipeline = 2}, h100s(4));
    check(chat(models::mixtral_8x7b), {.tensor = 2}, h100s(2));
    check(tuning(), {}, h100s(1));
    check(tuning(), {.pipeline = 4}, h100s(4));
    job offloaded = tuning();
    offloaded.recompute = recompute::full;
    offloaded.offload = {.optimizer = offload_place::host, .activations = offload_place::host};
    check(offloaded, {}, h100s(1));
    job on_host = chat();
    on_host.runtime = runtimes::llama_cpp;
    on_host.options.gpu_layers = 10;
    check(on_host, {}, h100s(1));
    job looped = chat(models::mixtral_8x7b);
    looped.runtime = runtimes::transformers;
    check(looped, {.pipeline = 2}, h100s(2));
}
