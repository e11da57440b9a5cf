// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/pcie.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/time/throughput.hpp>

// The parts of a step of serving, each against what its formula gives by hand.

using namespace llmres;

namespace {

job chat() { return {.model = models::llama_3_1_8b, .batch = 12, .prompt = tokens(1000), .output = tokens(201)}; }
job_speed speed(const job& j, const layout& l) {
    return plan(j, l, standard_cluster(gpus::h100_sxm5_80gb, static_cast<std::int32_t>(l.gpus())).value())
        .value()
        .speed;
}
/// A time that is all spent on computing.
time_breakdown computed(const interval<duration>& t) {
    time_breakdown all;
    all[time_term::compute] = t;
    return all;
}

}  // namespace

TEST_CASE("a step decodes each sequence at half of its output, or at the context where no output is said") {
    job j = chat();
    token_pass decode = detail::serving_passes_of(j, {}).decode;
    CHECK(decode.decode);
    CHECK(decode.tokens.sequences == 12);
    CHECK(decode.tokens.length == 1);
    CHECK(decode.tokens.keys == 1000 + 101);
    CHECK(decode.scored == 12);
    CHECK(detail::serving_passes_of(j, {.data = 4}).decode.tokens.sequences == 3);
    CHECK(detail::serving_passes_of(j, {.context_parallel = 2}).decode.tokens.keys == 551);
    j.output = {}, j.context = tokens(3000);
    CHECK(detail::serving_passes_of(j, {}).decode.tokens.keys == 3000);
}

TEST_CASE("a prompt is computed alone, and those of all sequences of a rank together") {
    const detail::serving_passes p = detail::serving_passes_of(chat(), {.data = 2, .context_parallel = 2});
    CHECK(p.prompt.tokens.sequences == 1);
    CHECK(p.prompt.tokens.length == 500);
    CHECK(p.prompt.tokens.keys == 1000);
    CHECK(p.prompt.scored == 1);
    CHECK_FALSE(p.prompt.decode);
    CHECK(p.prompt_chunks == 1);
    CHECK(p.prompts.tokens.sequences == 6);
    CHECK(p.prompts.tokens.length == 500);
    CHECK(p.prompts.scored == 6);
    CHECK(p.prompts_chunks == 1);
    CHECK(detail::priced_passes_of(chat(), p).size() == 3);
    job j = chat();
    j.output = {};
    CHECK(detail::priced_passes_of(j, p).size() == 2);
    j = chat(), j.batch = 1;
    CHECK(detail::priced_passes_of(j, detail::serving_passes_of(j, {})).size() == 2);
}

TEST_CASE("a runtime of whole batches makes no token until all their prompts are computed, and none in between") {
    job j{.model = models::llama_3_1_8b, .batch = 32, .prompt = tokens(512), .output = tokens(128)};
    j.runtime = runtimes::transformers;
    const detail::serving_passes p = detail::serving_passes_of(j, {});
    CHECK(p.prompt.tokens.sequences == 32);
    CHECK(p.prompt.tokens.length == 512);
    const job_speed s = speed(j, {});
    // 32 such prompts of an 8B model took 461 ms on an H100 (docs/accuracy.md, "On an H100").
    const interval<duration> first = s.prefill.total();
    CHECK(first.low.in(milliseconds) < 461);
    CHECK(first.high.in(milliseconds) > 461);
    CHECK(first.expected.in(milliseconds) == doctest::Approx(461).epsilon(0.1));
    CHECK(s.steady.time_to_first_token.expected >= first.expected);
    CHECK(s.steady.time_per_output_token.expected == s.step.expected());
    // A batch is its prompts and a step for each token.
    CHECK(s.steady.tokens_per_second.in(tokens_per_s) ==
          doctest::Approx(32 * 128 / (first.expected + s.step.expected() * 128.0).in(seconds)));
    CHECK(s.steady.tokens_per_second.in(tokens_per_s) ==
          doctest::Approx(s.tokens_per_second.in(tokens_per_s)).epsilon(0.001));
}

TEST_CASE("a job that limits its step cuts prompts whatever the runtime does; a runtime cuts where it chunks") {
    job j = chat();
    CHECK(detail::tokens_of_chunk(j, 5000) == 5000);
    j.max_batched_tokens = tokens(512);
    CHECK(detail::tokens_of_chunk(j, 5000) == 512);
    CHECK(detail::tokens_of_chunk(j, 512) == 512);
    CHECK(detail::tokens_of_chunk(j, 100) == 100);
    j.max_batched_tokens = {};
    j.runtime = runtimes::vllm;
    j.runtime.step.max_batched_tokens = tokens(2048);
    CHECK(detail::tokens_of_chunk(j, 5000) == 2048);
}

TEST_CASE("sequences in flight are at most those of all data ranks and replicas") {
    job j = chat();
    const layout six{.data = 2, .replicas = 3};
    j.options.max_num_seqs = 10, j.batch = 100;
    CHECK(sequences_in_flight(j, six) == 60);
    j.batch = 59;
    CHECK(sequences_in_flight(j, six) == 59);
    j.options.max_num_seqs = 0;
    CHECK(sequences_in_flight(j, six) == 59);
}

TEST_CASE("mfu is the model's FLOPs over what the sheets of all GPUs allow in a step") {
    for (const layout& l : {layout{}, layout{.tensor = 4}, layout{.data = 3}, layout{.pipeline = 2},
                            layout{.tensor = 2, .pipeline = 2, .data = 2, .replicas = 3}}) {
        const job_speed s = speed(chat(), l);
        const double step = s.step.total().expected.in(seconds);
        CHECK(s.mfu * static_cast<double>(l.gpus()) * 989.4e12 * step ==
              doctest::Approx(s.flops.in(flops)).epsilon(0.001));
    }
    // Two FLOPs a weight and token, and attention to 1,101 keys: 32 layers of 32 heads of 128, both products.
    const double by_hand = 12 * (2 * 7504658432.0 + 32 * 4 * 1101.0 * 32 * 128);
    CHECK(speed(chat(), {}).flops.in(flops) == doctest::Approx(by_hand).epsilon(1e-6));
}

TEST_CASE("a batch that data ranks do not share evenly is counted once") {
    job j = chat();
    j.batch = 10;
    CHECK(speed(j, {.data = 4}).flops.in(flops) * 4 / 10 ==
          doctest::Approx(speed(chat(), {.data = 4}).flops.in(flops) * 4 / 12));
}

TEST_CASE("the CPU issues routed experts one by one where the runtime loops over them, in layers that have them") {
    using enum detail::launch_mode;
    job j = chat();
    j.runtime.launches.layer = microseconds(100), j.runtime.launches.looped_expert = microseconds(10);
    CHECK(detail::launches_of(j, graphs).layer.expected.in(microseconds) == doctest::Approx(100));
    j.model = models::qwen3_30b_a3b;
    CHECK(detail::launches_of(j, graphs).layer.expected.in(microseconds) == doctest::Approx(100 + 128 * 10));
}

TEST_CASE("eager kernels are issued as such, each with its whole floor; a runtime without them as its graphs") {
    using enum detail::launch_mode;
    job j = chat();
    j.runtime.launches.layer = microseconds(20), j.runtime.launches.eager_layer = microseconds(300);
    j.runtime.launches.floors = 0.4;
    CHECK(detail::launches_of(j, graphs).layer.expected == microseconds(20));
    CHECK(detail::launches_of(j, graphs).floors == 0.4);
    CHECK(detail::launches_of(j, eager).layer.expected == microseconds(300));
    CHECK(detail::launches_of(j, eager).floors == 1);
    j.runtime.launches.eager_layer = {};
    CHECK(detail::launches_of(j, eager).layer.expected == microseconds(20));
}

TEST_CASE("the bounds of steady times take each part's own bound") {
    job j = chat();
    const interval<duration> step{milliseconds(10), milliseconds(20), milliseconds(40)};
    const interval<duration> prefill{milliseconds(100), milliseconds(200), milliseconds(300)};
    j.runtime.launches.request = {milliseconds(1), milliseconds(2), milliseconds(3)};
    const steady_speed s = detail::steady_of(j, {.data = 2}, step, computed(prefill));  // six a rank: five others
    CHECK(s.time_per_output_token.low.in(milliseconds) == doctest::Approx(10 + 100 * 0.5 * 5 / 201));
    CHECK(s.time_per_output_token.expected.in(milliseconds) == doctest::Approx(20 + 200 * 0.7 * 5 / 201));
    CHECK(s.time_per_output_token.high.in(milliseconds) == doctest::Approx(40 + 300 * 1.0 * 5 / 201));
    CHECK(s.time_to_first_token.low.in(milliseconds) == doctest::Approx(1 + 100));
    CHECK(s.time_to_first_token.expected.in(milliseconds) == doctest::Approx(2 + 200 + 10 + 200 * 0.07 * 5));
    CHECK(s.time_to_first_token.high.in(milliseconds) == doctest::Approx(3 + 300 + 20 + 300 * 0.5 * 5));
    CHECK(s.tokens_per_second.in(tokens_per_s) == doctest::Approx(12 / s.time_per_output_token.expected.in(seconds)));
    j.batch = 1;
    CHECK(detail::steady_of(j, {}, step, computed(prefill)).time_to_first_token.high.in(milliseconds) ==
          doctest::Approx(303));
}

TEST_CASE("each measured format takes the place of the peak, the others keep a part of it") {
    gpu card = gpus::h100_sxm5_80gb;
    card.rates.tf32 = tflops(1), card.rates.fp16 = tflops(2), card.rates.bf16 = tflops(3), card.rates.fp8 = tflops(4);
    card.rates.int8 = tflops(5), card.rates.fp32 = tflops(6);
    const gpu none = detail::as_achieved(card, default_efficiency);
    CHECK(none.rates.tf32->in(tflops) == doctest::Approx(0.748 * 1));
    CHECK(none.rates.fp16->in(tflops) == doctest::Approx(0.748 * 2));
    CHECK(none.rates.bf16->in(tflops) == doctest::Approx(0.748 * 3));
    CHECK(none.rates.fp8->in(tflops) == doctest::Approx(0.748 * 4));
    CHECK(none.rates.int8->in(tflops) == doctest::Approx(0.748 * 5));
    CHECK(none.rates.fp32->in(tflops) == doctest::Approx(0.748 * 6));
    CHECK(none.memory.bandwidth.in(gb_per_s) == doctest::Approx(0.797 * 3350));
    card.measured.tf32 = tflops(0.1), card.measured.fp16 = tflops(0.2), card.measured.bf16 = tflops(0.3);
    card.measured.fp8 = tflops(0.4), card.measured.int8 = tflops(0.5), card.measured.bandwidth = gb_per_s(100);
    const gpu all = detail::as_achieved(card, default_efficiency);
    CHECK(all.rates.tf32->in(tflops) == doctest::Approx(0.1));
    CHECK(all.rates.fp16->in(tflops) == doctest::Approx(0.2));
    CHECK(all.rates.bf16->in(tflops) == doctest::Approx(0.3));
    CHECK(all.rates.fp8->in(tflops) == doctest::Approx(0.4));
    CHECK(all.rates.int8->in(tflops) == doctest::Approx(0.5));
    CHECK(all.rates.fp32->in(tflops) == doctest::Approx(0.748 * 6));
    CHECK(all.memory.bandwidth.in(gb_per_s) == doctest::Approx(100));
    CHECK_FALSE(all.measured.any_rate());
    CHECK_FALSE(all.measured.bandwidth.known);
    card.rates.fp16 = {};  // without the units: nothing is made up
    card.measured.fp16 = {};
    CHECK_FALSE(detail::as_achieved(card, default_efficiency).rates.fp16.known);
}

TEST_CASE("unknown power and multiprocessors lower the slow end of arithmetic, each by its own part") {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const double low = default_efficiency.arithmetic.low;
    CHECK(detail::widened_by_unknowns(c, default_efficiency).arithmetic.low == doctest::Approx(low));
    c.gpu.board_power = {};
    CHECK(detail::widened_by_unknowns(c, default_efficiency).arithmetic.low == doctest::Approx(0.6 * low));
    c.gpu.sm_count = {};
    CHECK(detail::widened_by_unknowns(c, default_efficiency).arithmetic.low == doctest::Approx(0.6 * low * 100 / 304));
    CHECK(detail::widened_by_unknowns(c, default_efficiency).arithmetic.expected ==
          default_efficiency.arithmetic.expected);
}

TEST_CASE("GPUs that share the rows of each matrix read a part of it each, and wait for copies and for the CPU") {
    cluster c = standard_cluster(gpus::rtx_3090, 4).value();
    c.scale_up = links::pcie_gen4_x16;
    const layout four{.pipeline = 4};
    const runtime_launches launches{};
    detail::pricer price{four, c, c.gpu, default_efficiency, launches, {}};
    for (const operation_kind kind : {operation_kind::projection, operation_kind::experts}) {
        operation o{.kind = kind, .flops = flops(1e12), .read = gb(1), .tokens = 512, .rows = 8192, .columns = 4096};
        price.parts = 1;
        price.start_over();
        price(o, 0);
        const detail::priced_pass whole = price.sum[0];
        price.parts = 4;
        price.start_over();
        price(o, 0);
        const detail::priced_pass part = price.sum[0];
        CHECK((part.compute + part.memory) / (whole.compute + whole.memory) == doctest::Approx(0.25));
        CHECK((part.floors - whole.floors).in(microseconds) == doctest::Approx(5 * 15));
        const double copied = 4.0 * 512 * 3 * (4096 + 8192 / 4.0);  // inputs there, outputs back, in fp32
        CHECK(whole.tensor == duration{});
        CHECK(part.tensor.in(seconds) == doctest::Approx(copied / (links::pcie_gen4_x16.raw.in(bytes_per_s) * 0.42)));
        CHECK(part.flops == whole.flops);
    }
}

TEST_CASE("llama.cpp's rows are shared by the GPUs of its pipeline, as two and six RTX 3090 measured") {
    // XiongjieDai's GPU benchmarks, build 1691: Llama 2 13B in Q4_0, 38.5 and 22.3 tokens a second.
    job j{.model = models::llama_2_13b,
          .gguf = *find_gguf_mix("weights", "Q4_0"),
          .context = tokens(513),
          .runtime = runtimes::llama_cpp_2023};
    j.weights = q4_0;
    const auto token = [&](std::int32_t gpus) {
        cluster c = standard_cluster(gpus::rtx_3090, gpus).value();
        c.scale_up = links::pcie_gen4_x16;
        return plan(j, {.pipeline = gpus}, c).value().speed.step.total();
    };
    const interval<duration> by_rows = token(2);
    j.runtime = runtimes::llama_cpp_2399;
    const interval<duration> layers = token(2);
    CHECK(token(6).expected.in(seconds) == doctest::Approx(layers.expected.in(seconds)).epsilon(0.02));
    const interval<duration> alone = token(1);
    j.options.splits_rows = true;
    CHECK(token(2) == by_rows);  // as builds before b1842 always do
    CHECK(token(2).contains(seconds(1 / 38.5)));
    CHECK(token(6).contains(seconds(1 / 22.3)));
    CHECK(token(6).expected > token(2).expected);
    CHECK(token(1) == alone);
    // Routed experts' products are split so, too, and their inputs and outputs copied: of two experts of 14,336
    // features more than of attention.
    j.model = models::mixtral_8x7b;
    const auto exchanged = [&] {
        const cluster c = standard_cluster(gpus::rtx_3090, 2).value();
        return plan(j, {.pipeline = 2}, c).value().speed.step[time_term::tensor_communication].expected;
    };
    const duration with_experts = exchanged();
    for (layer& kind : j.model.layers.kinds) kind.feed_forward = no_feed_forward;
    CHECK(with_experts > exchanged() * 2);
}

TEST_CASE("one sequence may be in flight, and two wait for each other's prompts") {
    job j = chat();
    j.options.max_num_seqs = 1;
    CHECK(sequences_in_flight(j, {}) == 1);
    j = chat(), j.batch = 2;
    const interval<duration> step = milliseconds(20), prefill = milliseconds(200);
    const steady_speed s = detail::steady_of(j, {}, step, computed(prefill));
    CHECK(s.time_per_output_token.expected.in(milliseconds) == doctest::Approx(20 + 200 * 0.7 / 201));
    CHECK(s.time_to_first_token.expected.in(milliseconds) ==
          doctest::Approx(j.runtime.launches.request.expected.in(milliseconds) + 200 + 10 + 200 * 0.07));
    CHECK(detail::priced_passes_of(j, detail::serving_passes_of(j, {})).size() == 3);
}

TEST_CASE("a budget of a token a sequence takes as many chunks as prompts have tokens") {
    job j = chat();
    j.max_batched_tokens = tokens(12);
    const detail::serving_passes p = detail::serving_passes_of(j, {});
    CHECK(p.prompts.tokens.length == 1);
    CHECK(p.prompts_chunks == doctest::Approx(1000));
}

TEST_CASE("a job's budget cuts prompts on a runtime that cuts none of its own") {
    job j = chat();
    j.runtime.step.chunked_beyond = tokens(1 << 20);
    j.runtime.step.max_batched_tokens = tokens(2048);
    CHECK(detail::tokens_of_chunk(j, 5000) == 5000);
    j.max_batched_tokens = tokens(512);
    CHECK(detail::tokens_of_chunk(j, 5000) == 512);
}

TEST_CASE("chunks pass stages that hold a third of the layers, however the layers divide") {
    job j = chat();
    j.runtime.launches.stages = stage_overlap::chunks;
    CHECK(detail::repeats(j, {.pipeline = 3}, 16) == doctest::Approx(1 + 15 / 3.0));
    // 12 10 10 of 32 layers: the longest stage has 12.
    CHECK(detail::repeats(j, {.pipeline = 3, .first_stage_layers = 12}, 16) == doctest::Approx(1 + 15 * 12 / 32.0));
}

TEST_CASE("stages in turn take together what one GPU takes, and a token passes from each to the next") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job j = chat();
    j.runtime.launches.stages = stage_overlap::none;
    const job_speed one = speed(j, {});
    for (const std::int32_t stages : {2, 4}) {
        const layout l{.pipeline = stages};
        const job_speed s = speed(j, l);
        const auto busy = [](const time_breakdown& t) {
            return (t.total().expected - t[time_term::pipeline_communication].expected).in(seconds);
        };
        CHECK(busy(s.step) == doctest::Approx(busy(one.step)));
        CHECK(busy(s.prefill) == doctest::Approx(busy(one.prefill)));
        // The last stage has the head beside its layers: the others wait for it, and it for them.
        const double waits = s.step[time_term::pipeline_bubble].expected.in(seconds);
        CHECK(waits < busy(one.step) * (stages - 1) / stages);
        CHECK(waits > busy(one.step) * (stages - 1) / stages * 0.9);
        const auto sent = [&](std::int64_t positions) {
            return time_of(collective_kind::send, bytes(2 * 4096 * positions), {.ranks = 2, .in_node = 2}, c.scale_up,
                           c.scale_out)
                       .in(seconds) *
                   (stages - 1);
        };
        CHECK(s.step[time_term::pipeline_communication].expected.in(seconds) == doctest::Approx(sent(12)));
        CHECK(s.prefill[time_term::pipeline_communication].expected.in(seconds) == doctest::Approx(sent(1000)));
    }
}

TEST_CASE("a runtime keeps as many batches in flight as a pipeline has stages, each as fast as alone") {
    for (const runtime& by : {runtimes::vllm, runtimes::sglang, runtimes::tensorrt_llm, no_runtime})
        for (const std::int32_t stages : {2, 4, 8})
            for (const std::int64_t batch : {1, 3, 64, 256}) {
                CAPTURE(by.identity.name.view());
                CAPTURE(stages);
                CAPTURE(batch);
                job j = chat();
                j.runtime = by;
                j.batch = batch;
                const layout l{.pipeline = stages};
                const job_speed overlapped = speed(j, l);
                const std::int64_t together = batch < stages ? batch : stages;
                j.runtime.launches.stages = stage_overlap::none;
                const job_speed in_turn = speed(j, l);
                j.batch = (batch + together - 1) / together;
                const job_speed alone = speed(j, l);
                const double a_token = overlapped.step.total().expected.in(seconds);
                CHECK(a_token >= doctest::Approx(alone.step.total().expected.in(seconds)));
                // No more than the head takes, which each batch waits for: 0.53 billion weights beside four layers of
                // 0.22.
                CHECK(a_token < alone.step.total().expected.in(seconds) * 1.55);
                if (batch == 1)
                    CHECK(a_token == doctest::Approx(in_turn.step.total().expected.in(seconds)));
                else if (batch >= 64)  // few sequences wait for each batch's weights
                    CHECK(overlapped.steady.tokens_per_second > in_turn.steady.tokens_per_second);
            }
}

TEST_CASE("what stages wait for each other is named: nearly all of a sequence alone, nearly nothing of many") {
    job j = chat();
    j.runtime = runtimes::vllm;
    const auto waits = [&](std::int64_t batch, std::int32_t stages) {
        j.batch = batch;
        const time_breakdown step = speed(j, {.pipeline = stages}).step;
        return step[time_term::pipeline_bubble].expected / step.total().expected;
    };
    CHECK(waits(1, 1) == 0);
    CHECK(waits(1, 8) > 0.7);
    CHECK(waits(1, 8) < 7.0 / 8);
    CHECK(waits(4, 8) < waits(2, 8));
    CHECK(waits(64, 8) < 0.15);
}

TEST_CASE("prompts of others hold up a sequence for as long as they are on a stage") {
    job j = chat();
    j.runtime = runtimes::vllm;
    j.batch = 64, j.prompt = tokens(4000), j.output = tokens(100);
    const auto rate = [&](std::int32_t stages) {
        return speed(j, {.pipeline = stages}).steady.tokens_per_second.in(tokens_per_s);
    };
    CHECK(rate(2) > rate(1) * 1.7);
    CHECK(rate(2) < rate(1) * 2.0);
    CHECK(rate(4) > rate(1) * 2.8);
    CHECK(rate(4) < rate(1) * 4.0);
}

TEST_CASE("experts of the busiest rank are as much slower as it has more tokens, until it has all") {
    job j{.model = models::mixtral_8x7b, .batch = 64, .prompt = tokens(4096), .output = tokens(200)};
    j.runtime = runtimes::vllm;
    const auto prompt = [&](double load, const layout& l) {
        j.expert_load = load;
        return speed(j, l).prefill[time_term::compute].expected.in(seconds);
    };
    const layout four{.data = 4, .expert = 4}, one{.tensor = 4};
    const double more = prompt(2, four) - prompt(1, four);
    CHECK(more > 0);
    CHECK(prompt(3, four) - prompt(2, four) == doctest::Approx(more).epsilon(0.02));
    CHECK(prompt(5, four) == prompt(4, four));
    CHECK(prompt(4, one) == prompt(1, one));
}

TEST_CASE("the tokens a second of one sequence are those of its prompt, its stages' messages and its tokens") {
    job j = chat();
    j.batch = 1;
    j.runtime.launches.step = {};
    for (const layout& l : {layout{}, layout{.pipeline = 8}}) {
        const job_speed s = speed(j, l);
        const double all = (s.prefill.total().expected + s.step.total().expected * 201).in(seconds);
        CHECK(s.tokens_per_second.in(tokens_per_s) == doctest::Approx(201 / all));
    }
}

TEST_CASE("sequences as long as CUDA graphs were captured for are decoded by graphs") {
    job j = chat();
    j.runtime.launches.layer = microseconds(10), j.runtime.launches.eager_layer = milliseconds(1);
    const auto launch = [&](std::int64_t captured) {
        j.runtime.launches.graph_context = tokens(captured);
        return speed(j, {}).step[time_term::launch].expected;
    };
    CHECK(launch(1101) == launch(5000));
    CHECK(launch(1100) > launch(1101) * 2);
}

TEST_CASE("a sequence that starts from nothing computes one token before those that it makes") {
    job j = chat();
    j.prompt = {}, j.output = j.context = tokens(100);
    const detail::serving_passes p = detail::serving_passes_of(j, {});
    CHECK(p.prompt.tokens.sequences == 1);
    CHECK(p.prompt.tokens.length == 1);
    CHECK(p.prompt_chunks == 1);
    CHECK(p.prompts.tokens.length == 1);
    CHECK(p.prompts_chunks == 1);
    const job_speed s = speed(j, {});
    CHECK(s.prefill.expected() > duration{});
    CHECK(s.tokens_per_second > token_rate{});
}

TEST_CASE("the head of a GGUF file is read in the type of its own tensor, or of the embedding that serves as one") {
    job j{.model = models::llama_3_2_1b,  // its head is its embedding
          .gguf = gguf_mix{.embedding = gguf_type::Q2_K, .output = gguf_type::Q8_0},
          .context = tokens(1000),
          .runtime = runtimes::llama_cpp};
    const auto head = [&] { return detail::serving_formats(j).weights.head->name.view(); };
    const auto name = [](gguf_type t) { return detail::gguf::types[detail::gguf::index_of(t)].format.name.view(); };
    CHECK(head() == name(gguf_type::Q2_K));
    j.gguf.value.tied_head_stored = true;
    CHECK(head() == name(gguf_type::Q8_0));
    j.gguf.value.tied_head_stored = false, j.model = models::llama_3_1_8b;
    CHECK(head() == name(gguf_type::Q8_0));
}

TEST_CASE("a patch that sees its window alone takes less than one that sees its image, and no more in small images") {
    job j{.model = models::qwen2_5_vl_7b, .prompt = tokens(4000), .output = tokens(10), .runtime = runtimes::vllm};
    j.images.count = 1, j.images.patches = tokens(40'000);
    const double windows = speed(j, {}).prefill.expected().in(seconds);
    job whole = j;
    whole.model.encoders[0].windowed_layers = 0;
    const double all = speed(whole, {}).prefill.expected().in(seconds);
    // 28 layers of 16 heads of 80 features see 40,000 patches each in place of 64: at least so much arithmetic more on
    // an H100 (989 TFLOP/s).
    const double pairs = 28.0 * 4 * 40'000 * (40'000 - 64.0) * 1280;
    CHECK(all - windows > pairs / 989e12);
    CHECK(all - windows < 6 * pairs / 989e12);
    j.images.patches = whole.images.patches = tokens(64);
    CHECK(speed(j, {}).prefill.expected() == speed(whole, {}).prefill.expected());
}
