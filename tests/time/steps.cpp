// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/gpus/other.hpp>
#include <llmres/hardware/interconnects/network.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/ollama.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <string>

using namespace llmres;

// What runtimes add to the kernels of a step, each told by taking it out of the profile.

namespace {

cluster of_a100(std::int32_t gpus) { return standard_cluster(gpus::a100_sxm4_80gb, gpus).value(); }
time_breakdown step(const job& j, const layout& l, const cluster& c) { return plan(j, l, c).value().speed.step; }
double took(const time_breakdown& t, time_term term) { return t[term].expected.in(seconds); }

job trained(const runtime& by) {
    return {.model = models::llama_2_7b,
            .task = task::pretraining,
            .sequence = tokens(2048),
            .micro_batch = 1,
            .global_batch = 16,
            .runtime = by};
}
job decoded(const runtime& by, std::int64_t prompt = 4096) {
    return {.model = models::llama_3_1_8b, .prompt = tokens(prompt), .output = tokens(512), .runtime = by};
}

}  // namespace

TEST_CASE("tensor ranks that send a part each take less of the link between nodes, and gather inside the node") {
    const cluster c = of_a100(16);
    const layout l{.tensor = 8, .pipeline = 2};
    runtime whole = runtimes::megatron_deepspeed;
    whole.pipeline.partitions_sends = false;
    const double parts = took(step(trained(runtimes::megatron_deepspeed), l, c), time_term::pipeline_communication);
    CHECK(parts < took(step(trained(whole), l, c), time_term::pipeline_communication));
    // Without gathering, as sequence parallelism sends: less still.
    layout sequence = l;
    sequence.sequence_parallel = true;
    CHECK(took(step(trained(runtimes::megatron_deepspeed), sequence, c), time_term::pipeline_communication) < parts);
    CHECK(detail::gather_time(mb(64), l, {c, c.gpu, default_efficiency}).expected > duration{});
    CHECK(detail::send_time(mb(8), l, {c, c.gpu, default_efficiency}).expected <
          detail::send_time(mb(64), l, {c, c.gpu, default_efficiency}).expected);
}

TEST_CASE("gradients of several micro-batches are added by kernels of their own, unless the product adds them") {
    const cluster c = of_a100(1);
    runtime fused = runtimes::pytorch;
    fused.kernels.linear = linear_code::accumulates;
    job j = trained(runtimes::pytorch), f = trained(fused);
    j.model = f.model = models::llama_3_2_1b;
    CHECK(step(j, {}, c).total().expected > step(f, {}, c).total().expected);
    j.global_batch = 2;
    CHECK(detail::passes_of_training(j, {})[1].adds_gradients);
    j.global_batch = 1;
    CHECK_FALSE(detail::passes_of_training(j, {})[1].adds_gradients);
}

TEST_CASE("BF16_Optimizer sums fp32 gradients on every rank: four times the traffic of a reduce-scatter in 16 bits") {
    const cluster c = of_a100(16);
    const layout l{.tensor = 8, .data = 2, .zero = 1};
    runtime narrow = runtimes::megatron_deepspeed;
    narrow.optimizer.fp32_beside_bf16 = false;
    const double sums = took(step(trained(runtimes::megatron_deepspeed), l, c), time_term::data_communication);
    const double scatters = took(step(trained(narrow), l, c), time_term::data_communication);
    CHECK(sums / scatters > 2.2);  // four of one exchange and the gather, for one of each
    CHECK(sums / scatters < 2.8);
    job named = trained(runtimes::megatron_deepspeed);
    named.weights = bf16;
    CHECK(took(step(named, l, c), time_term::data_communication) == sums);
    job half = trained(runtimes::megatron_deepspeed);
    half.weights = half.compute = fp16;
    CHECK(took(step(half, l, c), time_term::data_communication) < sums / 2);
}

TEST_CASE("GPUs that share an adapter send as much more slowly to other nodes, and no more slowly inside one") {
    cluster c = of_a100(16);
    const layout over_nodes{.tensor = 8, .data = 2}, inside{.tensor = 8};
    const job j = trained(runtimes::megatron_deepspeed);
    const double alone = took(step(j, over_nodes, c), time_term::data_communication);
    const time_breakdown before = step(j, inside, of_a100(8));
    c.gpus_per_adapter = 2;
    CHECK(took(step(j, over_nodes, c), time_term::data_communication) / alone == doctest::Approx(2).epsilon(0.05));
    cluster node = of_a100(8);
    node.gpus_per_adapter = 8;
    CHECK(step(j, inside, node).total() == before.total());
    c.gpus_per_adapter = 0;
    CHECK(plan(j, over_nodes, c).error().field.view() == "cluster.gpus_per_adapter");
}

TEST_CASE("a cache that each step copies costs its traffic, and again for each head that shares keys") {
    const cluster c = of_a100(1);
    runtime in_place = runtimes::transformers;
    in_place.launches.copies_cache = false;
    const auto more = [&](std::int64_t prompt) {
        return took(step(decoded(runtimes::transformers, prompt), {}, c), time_term::memory) -
               took(step(decoded(in_place, prompt), {}, c), time_term::memory);
    };
    // Llama 3.1 8B: 131,072 bytes a token; read twice and written five times; and attention reads four times as much,
    // by 32 blocks on 108 multiprocessors.
    const double cached = 131072.0 * (32768 + 256);
    const double expected = cached * 7 / (2039e9 * 0.70) + cached * (4 * 108 / 32.0 - 1) / (2039e9 * 0.857);
    CHECK(more(32768) == doctest::Approx(expected).epsilon(0.02));
    CHECK(more(32768) > 7 * more(4096));
}

TEST_CASE("sequences beyond what CUDA graphs were captured for are decoded kernel by kernel") {
    const cluster c = of_a100(1);
    job short_one = decoded(runtimes::vllm_v0_3, 4096), long_one = decoded(runtimes::vllm_v0_3, 16384);
    short_one.model = long_one.model = models::qwen2_5_0_5b;
    const double graphs = took(step(short_one, {}, c), time_term::launch);
    CHECK(took(step(long_one, {}, c), time_term::launch) > 2 * graphs);
    long_one.runtime.launches.graph_context = tokens(32768);
    CHECK(took(step(long_one, {}, c), time_term::launch) == doctest::Approx(graphs));
    long_one.runtime.launches.graph_context = {};
    CHECK(took(step(long_one, {}, c), time_term::launch) == doctest::Approx(graphs));
}

TEST_CASE("prompts run without CUDA graphs, so that each kernel has its whole floor") {
    job j = decoded(runtimes::vllm_v0_3, 16);
    j.runtime.launches.eager_layer = {};
    const double whole = plan(j, {}, of_a100(1)).value().speed.prefill[time_term::launch].expected.in(seconds);
    const double decoding = took(step(j, {}, of_a100(1)), time_term::launch);
    j.runtime.launches.floors = 0.5;
    CHECK(plan(j, {}, of_a100(1)).value().speed.prefill[time_term::launch].expected.in(seconds) ==
          doctest::Approx(whole));
    CHECK(took(step(j, {}, of_a100(1)), time_term::launch) < decoding);
}

TEST_CASE(
    "narrow weights take the CPU longer for each of a layer's products, and a loop over experts for each expert") {
    const auto issued = [](const job& j) {
        return detail::launches_of(j, detail::launch_mode::eager).layer.expected.in(microseconds);
    };
    job j = decoded(runtimes::transformers);
    const double wide = issued(j);
    CHECK(wide == doctest::Approx(j.runtime.launches.layer.expected.in(microseconds)));
    j.weights = gptq(8, 128);
    CHECK(issued(j) - wide == doctest::Approx(7 * j.runtime.launches.narrow_product.expected.in(microseconds)));
    j.weights = fp8_e4m3;  // two kernels of Triton, each launched three times as slowly
    CHECK(issued(j) - wide == doctest::Approx(21 * j.runtime.launches.narrow_product.expected.in(microseconds)));
    j.weights = gptq(4, 128);  // ExLlama's kernel
    CHECK(issued(j) == doctest::Approx(wide));
    j.weights = {};
    j.model = models::qwen3_30b_a3b;
    CHECK(issued(j) - wide == doctest::Approx(128 * j.runtime.launches.looped_expert.expected.in(microseconds)));
}

TEST_CASE("multiprocessor clocks follow from the boost clock, or from the rate of fp32") {
    gpu card = gpus::a100_sxm4_80gb;
    CHECK(multiprocessor_clocks(card) == doctest::Approx(108 * 1.41e9));
    card.boost_clock = {};
    CHECK(multiprocessor_clocks(card) == doctest::Approx(108 * 1.41e9).epsilon(0.01));
    // Of 128 cores each, where that is not published: A100's have 64.
    card.cuda_cores = {};
    CHECK(multiprocessor_clocks(card) == doctest::Approx(108 * 1.41e9 / 2).epsilon(0.01));
    card.boost_clock = mhz(1410), card.sm_count = {};
    CHECK(multiprocessor_clocks(card) == doctest::Approx(108 * 1.41e9 / 2).epsilon(0.01));
    CHECK(multiprocessor_clocks(gpus::b100_sxm_192gb) < multiprocessor_clocks(gpus::b200_sxm_180gb));
    card.vendor = gpu_vendor::other;  // as a CPU
    CHECK(multiprocessor_clocks(card) == 0);
    card.vendor = gpu_vendor::nvidia, card.rates.fp32 = {};
    CHECK(multiprocessor_clocks(card) == 0);
    job j = decoded(runtimes::llama_cpp_2024);
    job unlimited = j;
    unlimited.runtime.launches.bytes_a_clock = 0;
    CHECK(took(step(j, {}, of_a100(1)), time_term::memory) >
          1.5 * took(step(unlimited, {}, of_a100(1)), time_term::memory));
    const cluster fast_clock = standard_cluster(gpus::rtx_4090, 1).value();
    CHECK(step(j, {}, fast_clock).total() == step(unlimited, {}, fast_clock).total());
}

TEST_CASE("where the CPU samples, the scores of each sequence's token go to main memory") {
    job j = decoded(runtimes::llama_cpp);
    const auto copied = [&] { return took(step(j, {}, of_a100(1)), time_term::host_transfer); };
    j.batch = 8;
    // 128,256 scores of 4 bytes at 7.9 GB/s
    CHECK(copied() == doctest::Approx(8 * 128'256 * 4 / 7.9e9));
    j.runtime.step.logits.to_host = false;
    CHECK(copied() == 0);
}

TEST_CASE("a GGUF file's tokens take as long whether the job names the format beside the mix or not") {
    job named = decoded(runtimes::llama_cpp);
    named.gguf = gguf_mix{.quantisation = gguf_quantisation::Q4_K_M};
    job alone = named;
    named.weights = find_gguf_type(12)->format;
    CHECK(step(alone, {}, of_a100(1)).total() == step(named, {}, of_a100(1)).total());
    job wide = decoded(runtimes::llama_cpp);
    CHECK(step(alone, {}, of_a100(1)).total().expected < step(wide, {}, of_a100(1)).total().expected);
}

TEST_CASE("ggml's activations are fp32: a prompt's elementwise kernels move twice the bytes") {
    const job j = decoded(runtimes::llama_cpp);
    const detail::serving_passes p = detail::serving_passes_of(j, {});
    const operation_formats formats = detail::serving_formats(j);
    CHECK(formats.compute.arithmetic == arithmetic_kind::bf16);
    CHECK(size_of(formats.compute, p.prompt.tokens.all(), 4096) == size_of(fp32, p.prompt.tokens.all(), 4096));
}

TEST_CASE("weights of 4 bits are read faster than they are unpacked") {
    job j = decoded(runtimes::transformers);
    j.weights = gptq(4, 128);
    job read = j;
    read.runtime.launches.packed = packed_code::streamed;
    const auto memory = [&](const job& of_one) { return took(step(of_one, {}, of_a100(1)), time_term::memory); };
    // Llama 3.1 8B: 6,979,321,856 weights of layers, 5 a clock of 108 multiprocessors at 1.41 GHz instead of about
    // 0.52 bytes each at 0.797 of 2039 GB/s.
    const double unpacked = 6'979'321'856.0 / (108 * 1.41e9 * 5), streamed = 6'979'321'856.0 * 0.52 / (2039e9 * 0.797);
    CHECK(memory(j) - memory(read) == doctest::Approx(unpacked - streamed).epsilon(0.03));
    j.weights = read.weights = bf16;
    CHECK(memory(j) == doctest::Approx(memory(read)));
}

TEST_CASE("a prompt is computed in chunks of the runtime's budget, each of which reads the weights") {
    const job whole = decoded(runtimes::vllm, 16384);
    job cut = whole;
    cut.max_batched_tokens = tokens(512);
    const auto prefill = [](const job& j, const layout& l, const cluster& c) {
        return plan(j, l, c).value().speed.prefill;
    };
    CHECK(detail::serving_passes_of(cut, {}).prompt.tokens.length == 512);
    CHECK(detail::serving_passes_of(cut, {}).prompt.tokens.keys == 16384);
    CHECK(detail::serving_passes_of(cut, {}).prompt_chunks == doctest::Approx(32));
    const cluster c = of_a100(1);
    CHECK(prefill(cut, {}, c).total().expected > prefill(whole, {}, c).total().expected);
    CHECK(prefill(cut, {}, c).total().expected.in(seconds) < 2 * prefill(whole, {}, c).total().expected.in(seconds));
    // Several prompts at once share the budget.
    cut.batch = 4;
    CHECK(detail::serving_passes_of(cut, {}).prompts.tokens.length == 128);
    CHECK(detail::serving_passes_of(cut, {}).prompts_chunks == doctest::Approx(128));
}

TEST_CASE("stages compute chunks of a prompt at the same time where the runtime does so") {
    const layout four{.pipeline = 4};
    const job j = decoded(runtimes::llama_cpp, 8192);
    CHECK(detail::repeats(j, four, 16) == doctest::Approx(1 + 15 / 4.0));
    CHECK(detail::repeats(decoded(runtimes::tensorrt_llm), four, 16) == doctest::Approx(16));
    CHECK(detail::repeats(decoded(runtimes::vllm), four, 16) == doctest::Approx(1 + 15 / 4.0));
    CHECK(detail::repeats(j, {}, 16) == doctest::Approx(16));
    const auto prefill = [](const job& of_prompt, const layout& l) {
        return plan(of_prompt, l, of_a100(static_cast<std::int32_t>(l.gpus()))).value().speed.prefill.total().expected;
    };
    CHECK(prefill(j, four) < prefill(j, {}));
    duration last;
    for (std::int64_t prompt = 256; prompt <= 2048; prompt += 64) {  // no jump where a chunk begins
        const duration now = prefill(decoded(runtimes::llama_cpp, prompt), four);
        CHECK(now >= last);
        last = now;
    }
}

TEST_CASE("scores that are written out make long prompts slower when serving too") {
    job j = decoded(runtimes::llama_cpp, 16384);
    j.runtime.serving_kernels.flash_attention = true;
    const duration fused = plan(j, {}, of_a100(1)).value().speed.prefill.total().expected;
    j.runtime.serving_kernels.flash_attention = false;
    CHECK(plan(j, {}, of_a100(1)).value().speed.prefill.total().expected > fused);
}

TEST_CASE("llama.cpp's prompts have wider bounds than other runtimes'") {
    const interval<duration> t = plan(decoded(runtimes::llama_cpp), {}, of_a100(1)).value().speed.prefill.total();
    job j = decoded(runtimes::llama_cpp);
    j.runtime.launches.prompts = {1.0, 1.0, 1.0};
    const interval<duration> usual = plan(j, {}, of_a100(1)).value().speed.prefill.total();
    CHECK(t.expected == usual.expected);
    CHECK(t.low / usual.low == doctest::Approx(0.7));
    CHECK(t.high / usual.high == doctest::Approx(2.0));
}

TEST_CASE("experts of ranks that hold the same tokens are summed in one all-reduce; of others, exchanged") {
    layout l{.tensor = 4, .expert = 4, .expert_tensor = 1};
    const layer& routed = models::qwen3_30b_a3b.layers.kinds[0];
    const auto count = [&](collective_kind kind) {
        int n = 0;
        for_each_exchange(routed, 2048, bf16, token_shape{8, 1, 1024}, l,
                          [&](const exchange& x) { n += x.kind == kind; });
        return n;
    };
    CHECK(count(collective_kind::all_reduce) == 2);
    CHECK(count(collective_kind::all_to_all) == 0);
    l.data = 4, l.tensor = 1;
    CHECK(count(collective_kind::all_reduce) == 0);
    CHECK(count(collective_kind::all_to_all) == 2);
    l.data = 1, l.tensor = 4, l.sequence_parallel = true;
    CHECK(count(collective_kind::all_to_all) == 2);
}

TEST_CASE("weights that are gathered after the optimizer's step are hidden by nothing; gradients are, in part") {
    const cluster c = of_a100(8);
    const layout zero_1{.data = 8, .zero = 1}, zero_2{.data = 8, .zero = 2};
    const job j = trained(runtimes::pytorch);
    const job_plan p = plan(j, zero_1, c).value();
    const memory_breakdown& held = p.memory;
    const detail::data_exchanges one = detail::data_exchange(j, held, zero_1, c, 2);
    CHECK(one.behind > duration{});
    CHECK(took(p.speed.step, time_term::data_communication) ==
          doctest::Approx(one.behind.in(seconds) + 0.3 * one.during.in(seconds)).epsilon(0.01));
    CHECK(detail::data_exchange(j, held, zero_2, c, 2).behind == duration{});  // FSDP's SHARD_GRAD_OP
    CHECK(detail::data_exchange(trained(runtimes::deepspeed), held, zero_2, c, 2).behind == one.behind);
}

TEST_CASE(
    "state that is sharded inside nodes is gathered inside them, and gradients are summed over nodes shard by shard") {
    cluster c = of_a100(64);
    const layout whole{.data = 64, .zero = 1}, inside{.data = 64, .zero = 1, .shard_replicas = 8};
    job j = trained(runtimes::pytorch);
    j.global_batch = 64;
    const memory_breakdown held = plan(j, inside, c).value().memory;
    const detail::data_exchanges by_node = detail::data_exchange(j, held, inside, c, 1);
    const detail::data_exchanges flat = detail::data_exchange(j, held, whole, c, 1);
    c.gpus_per_adapter = 4;
    CHECK(detail::data_exchange(j, held, inside, c, 1).behind == by_node.behind);
    CHECK(detail::data_exchange(j, held, inside, c, 1).during > by_node.during);
    CHECK(detail::data_exchange(j, held, whole, c, 1).behind > flat.behind);
}

TEST_CASE("both passes of a step are passes of training, of which the second goes back") {
    const token_passes both = detail::passes_of_training(trained(runtimes::pytorch), {});
    REQUIRE(both.size() == 2);
    CHECK(both[0].training);
    CHECK(both[1].training);
    CHECK_FALSE(both[0].backward);
    CHECK(both[1].backward);
    CHECK_FALSE(both[0].decode);
    CHECK(both[0].tokens.sequences == 1);
    CHECK(both[0].tokens.length == 2048);
    CHECK(both[0].tokens.keys == 2048);
    CHECK(both[0].scored == 2048);
    job j = trained(runtimes::pytorch);
    j.micro_batch = 2, j.attention = attention_kernel::eager;
    const token_passes parts = detail::passes_of_training(j, {.context_parallel = 4});
    CHECK(parts[1].tokens.length == 512);
    CHECK(parts[1].tokens.keys == 2048);
    CHECK(parts[1].scored == 1024);
    CHECK(parts[1].scores == pair_scores::apart);
    CHECK(both[1].scores == pair_scores::in_registers);
    j.runtime = runtimes::megatron;
    CHECK(detail::passes_of_training(j, {})[0].scores == pair_scores::fused_softmax);
}

TEST_CASE("ZeRO 3 gathers weights before each pass of each micro-batch; ZeRO 2 once") {
    const cluster c = of_a100(8);
    const job j = trained(runtimes::pytorch);
    const layout zero_2{.data = 8, .zero = 2}, zero_3{.data = 8, .zero = 3};
    const memory_breakdown held = plan(j, zero_3, c).value().memory;
    const auto during = [&](const layout& l, std::int64_t rounds) {
        return detail::data_exchange(j, held, l, c, rounds).during.in(seconds);
    };
    const double gather = during(zero_3, 1) - during(zero_2, 1);
    CHECK(gather > 0);
    CHECK(during(zero_3, 2) - during(zero_3, 1) == doctest::Approx(2 * gather));
    CHECK(during(zero_3, 5) - during(zero_3, 1) == doctest::Approx(8 * gather));
    CHECK(during(zero_2, 5) == during(zero_2, 1));
    CHECK(detail::data_exchange(j, held, {}, c, 1).during == duration{});
}

TEST_CASE("the scheduler's time is part of each step of serving and of each prompt") {
    job j = decoded(runtimes::vllm);
    const job_speed with = plan(j, {}, of_a100(1)).value().speed;
    const interval<duration> step_of_scheduler = j.runtime.launches.step;
    j.runtime.launches.step = {};
    const job_speed without = plan(j, {}, of_a100(1)).value().speed;
    const auto more = [](const time_breakdown& a, const time_breakdown& b) {
        return (a[time_term::launch].expected - b[time_term::launch].expected).in(microseconds);
    };
    CHECK(more(with.step, without.step) == doctest::Approx(step_of_scheduler.expected.in(microseconds)));
    CHECK(more(with.prefill, without.prefill) == doctest::Approx(step_of_scheduler.expected.in(microseconds)));
    CHECK(with.step[time_term::launch].high - without.step[time_term::launch].high == step_of_scheduler.high);
}

TEST_CASE("stages send activations to the next, a step's and a prompt's") {
    const cluster c = of_a100(4);
    const job j = decoded(runtimes::vllm, 2048);
    const layout four{.pipeline = 4};
    const job_speed s = plan(j, four, c).value().speed;
    const detail::pricing with{c, c.gpu, default_efficiency};
    const auto sends = [&](std::int64_t positions) {
        return 3 * detail::send_time(bytes(positions * 4096 * 2), four, with).expected.in(seconds);
    };
    CHECK(took(s.step, time_term::pipeline_communication) == doctest::Approx(sends(1)));
    CHECK(took(s.prefill, time_term::pipeline_communication) == doctest::Approx(sends(2048)));
    CHECK(took(step(j, {}, c), time_term::pipeline_communication) == 0);
    CHECK(took(step(j, {}, c), time_term::pipeline_bubble) == 0);
}

TEST_CASE(
    "a step under 1F1B waits for the other stages once, of which interleaving leaves a part and zero bubbles less") {
    const cluster c = of_a100(4);
    job j = trained(runtimes::pytorch);
    const auto idle = [&](const layout& l) {
        const time_breakdown t = step(j, l, c);
        return took(t, time_term::pipeline_bubble) / (took(t, time_term::compute) + took(t, time_term::memory));
    };
    const double plain = idle({.pipeline = 4});
    CHECK(plain > 2.5 / 16);
    CHECK(plain < 3.5 / 16);
    CHECK(idle({.pipeline = 4, .schedule = pipeline_schedule::zb_h1}) < plain * 0.5);
    j.global_batch = 32;
    CHECK(idle({.pipeline = 4}) == doctest::Approx(plain / 2).epsilon(0.15));
}

TEST_CASE(
    "a GGUF file in MXFP4 has routed experts in it, all other matrices in q8_0, and computes as every such file") {
    for (const model* m : {&models::gpt_oss_20b, &models::gpt_oss_120b, &models::qwen3_30b_a3b, &models::llama_2_7b}) {
        job j = decoded(runtimes::llama_cpp);
        j.model = *m;
        j.gguf = find_gguf_mix("weights", "MXFP4_MOE").value();
        const operation_formats formats = detail::serving_formats(j);
        for (const layer& kind : m->layers.distinct())
            for_each_weight(kind, m->hidden, [&](const weight& w) {
                if (!detail::is_layer_projection(w.role)) return;
                INFO(std::string{name_of(w.role)});
                CHECK(formats.weights.of(w) == (w.routed ? mxfp4_gguf : q8_0));
            });
    }
    for (const auto& type : detail::gguf::types)
        if (is_packed(type.format)) CHECK(type.format.arithmetic == arithmetic_kind::fp16);
}

TEST_CASE("gpt-oss makes tokens under llama.cpp as fast as an RTX 3090 and a Strix Halo did") {
    // Of the smaller one 147 and 70 a second, of the larger one 52.
    const auto speed = [](const model& m, const gpu& card) {
        job j{.model = m, .context = tokens(1024), .runtime = runtimes::llama_cpp};
        j.gguf = find_gguf_mix("weights", "MXFP4_MOE").value();
        return plan(j, {}, standard_cluster(card, 1).value()).value().speed.step.total();
    };
    CHECK(speed(models::gpt_oss_20b, gpus::rtx_3090).contains(seconds(1 / 147.0)));
    CHECK(speed(models::gpt_oss_20b, gpus::ryzen_ai_max_395).contains(seconds(1 / 70.0)));
    CHECK(speed(models::gpt_oss_120b, gpus::ryzen_ai_max_395).contains(seconds(1 / 52.0)));
    CHECK(speed(models::gpt_oss_20b, gpus::rtx_3090).expected.in(milliseconds) == doctest::Approx(6.8).epsilon(0.25));
}

TEST_CASE("GPUs without CUDA graphs generate more slowly under llama.cpp, within bounds that hold what was measured") {
    const auto speed = [](const model& m, const char* recipe, const gpu& card, const runtime& r) {
        job j{.model = m, .context = tokens(1024), .runtime = r};
        j.gguf = find_gguf_mix("weights", recipe).value();
        return plan(j, {}, standard_cluster(card, 1).value()).value().speed.step.total();
    };
    const runtime& r = runtimes::llama_cpp;
    CHECK(speed(models::qwen3_8b, "Q4_K_M", gpus::mi300x_192gb, r).contains(seconds(1 / 161.0)));
    CHECK(speed(models::tinyllama_1_1b, "Q4_0", gpus::apple_m1_ultra, r).contains(seconds(1 / 243.0)));
    CHECK(speed(models::qwen3_8b, "Q4_K_M", gpus::b100_sxm_192gb, r).expected >
          speed(models::qwen3_8b, "Q4_K_M", gpus::b200_sxm_180gb, r).expected);
    // The same card, but for what it can: bounds are wider and the expected time longer without.
    for (const runtime* of : {&runtimes::llama_cpp, &runtimes::llama_cpp_2024, &runtimes::ollama, &runtimes::vllm}) {
        gpu without = gpus::rtx_3090;
        without.vendor = gpu_vendor::amd;
        const bool vllm = of->identity.name == "vllm";
        const char* recipe = "Q4_K_M";
        const interval<duration> with = speed(models::llama_3_1_8b, recipe, gpus::rtx_3090, *of);
        const interval<duration> one_by_one = speed(models::llama_3_1_8b, recipe, without, *of);
        CHECK((one_by_one.expected > with.expected) == !vllm);
        CHECK((one_by_one.high > with.high) == !vllm);
        CHECK(one_by_one.low.in(seconds) == doctest::Approx(with.low.in(seconds)));
        without.vendor = gpu_vendor::other;  // a CPU's, which launches nothing
        CHECK(speed(models::llama_3_1_8b, recipe, without, *of) == with);
    }
}

TEST_CASE("the head of a GGUF file is read in its tensor's own type") {
    job j = decoded(runtimes::llama_cpp);
    gguf_mix mix = find_gguf_mix("weights", "Q4_K_M").value();
    j.gguf = mix;
    j.weights = q4_k;
    CHECK(*detail::serving_formats(j).weights.head == q6_k);
    j.model = models::qwen3_0_6b;  // its head is its embedding
    CHECK(*detail::serving_formats(j).weights.head == q6_k);
    mix.output = gguf_type::Q8_0;
    j.gguf = mix;
    CHECK(*detail::serving_formats(j).weights.head == q8_0);
}
