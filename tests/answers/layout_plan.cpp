// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/gpus/other.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/all.hpp>
#include <utility>

#include "../compressed_attention.hpp"
#include "../mixed_jobs.hpp"
#include "../plan_reasons.hpp"

using namespace llmres;
using plan_reasons::says;

namespace {

const cluster four_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
const job chat{.model = models::llama_3_1_70b, .batch = 8, .context = tokens(4096)};

}  // namespace

TEST_CASE("the verdict follows the bounds: fits below all of them, tight between, no fit above") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::pytorch};
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const job_plan roomy = plan(j, {}, c).value();
    const interval<byte_count> need = roomy.memory.total();
    REQUIRE(need.low < need.high);
    CHECK(roomy.verdict == verdict::fits);
    CHECK(roomy.reason_count == 0);

    const byte_count all = available_memory(c);
    c.in_use = all - need.high;
    CHECK(plan(j, {}, c)->verdict == verdict::fits);
    c.in_use = all - need.high + bytes(1);
    CHECK(plan(j, {}, c)->verdict == verdict::tight);
    CHECK(plan(j, {}, c)->reasons[0].code == reason_code::memory_tight);
    c.in_use = all - need.low;
    CHECK(plan(j, {}, c)->verdict == verdict::tight);
    c.in_use = all - need.low + bytes(1);
    CHECK(plan(j, {}, c)->verdict == verdict::does_not_fit);
    CHECK(plan(j, {}, c)->reasons[0].code == reason_code::memory_exceeded);
    c.in_use = all - roomy.memory[memory_term::weights].expected + bytes(1);
    CHECK(plan(j, {}, c)->reasons[0].code == reason_code::weights_exceed);
}

TEST_CASE(
    "training that is expected to live on blocks that the allocator frees is tight, whatever its bounds are cut to") {
    job j{.model = models::llama_2_7b,
          .task = task::finetuning,
          .sequence = tokens(512),
          .runtime = runtimes::huggingface};
    int cut = 0, filled = 0;
    for (const auto& [kept, gpus] : {std::pair{recompute::full, 1}, {recompute::none, 1}, {recompute::none, 8}}) {
        j.recompute = kept;
        cluster c = standard_cluster(gpus::h200_sxm5_141gb, gpus).value();
        const layout l{.data = gpus, .zero = gpus > 1 ? 2 : 0};
        const memory_breakdown whole = memory_of(j, l, c);
        REQUIRE(whole.releasable.expected > byte_count{});
        const byte_count all = available_memory(c), expected = whole.total().expected;
        // From where all is expected to have room to where tensors alone have.
        for (int step = -4; step <= 12; ++step) {
            const byte_count room = expected + div_up(whole.releasable.expected, 8) * (4 - step);
            c.in_use = all - room;
            const job_plan p = plan(j, l, c).value();
            CAPTURE(step);
            if (p.memory.released > byte_count{}) {
                ++cut;
                const bool reaches = p.memory.expected() >= p.usable;
                filled += reaches;
                CHECK((p.verdict != verdict::fits || !reaches));
                if (p.verdict == verdict::tight) {
                    CHECK(p.reasons[0].code == reason_code::memory_tight);
                    CHECK(p.reasons[0].needed > p.reasons[0].available);
                }
            }
            CHECK(memory_fits(j, l, c) == (p.verdict == verdict::fits));
        }
    }
    CHECK(cut > 4);
    CHECK(filled > 4);
}

TEST_CASE("beyond Metal's working set a plan does not fit") {
    cluster one{.gpu = with_memory(gpus::apple_m1_max, gib(32))};
    one.scale_up = one.scale_out = four_h100.scale_up;
    job j{.model = models::llama_2_7b, .compute = fp16, .context = tokens(512)};
    CHECK(plan(j, layout{}, one)->verdict == verdict::fits);  // 12.6 GiB of 21.3
    j.model = models::llama_2_13b;  // 24.6: "command buffer failed with status 5" in logs of llama.cpp
    CHECK(plan(j, layout{}, one)->verdict == verdict::does_not_fit);
}

TEST_CASE("where GPU and host share their memory, layers on the host take what the GPU leaves of it") {
    cluster mac = standard_cluster(with_memory(gpus::apple_m1_max, gib(32)), 1).value();
    job j{.model = models::llama_3_1_70b, .context = tokens(1024), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();  // 39 GiB
    for (const int layers : {0, 20, 36}) {
        j.options.gpu_layers = layers;
        const job_plan p = plan(j, {}, mac).value();
        CHECK(p.verdict == verdict::tight);  // pages of a mapped file may be dropped, and read again in every step
        CHECK(p.reasons[0].code == reason_code::host_memory_exceeded);
        mac.host.memory = gib(256);  // there is no second memory
        CHECK(plan(j, {}, mac)->verdict == verdict::tight);
        mac.host.memory = {};
    }
    j.runtime.loading.maps_weights = false;
    CHECK(plan(j, {}, mac)->verdict == verdict::does_not_fit);
    j.model = models::llama_3_1_8b;
    j.options.gpu_layers = 16;
    CHECK(plan(j, {}, mac)->verdict == verdict::fits);
}

TEST_CASE("flash attention on a GPU older than Ampere is a reason by name") {
    const job j{.model = models::llama_3_2_1b,
                .weights = fp16,
                .compute = fp16,
                .context = tokens(1024),
                .attention = attention_kernel::flash};
    const job_plan p = plan(j, {}, standard_cluster(gpus::v100_sxm2_32gb, 1).value()).value();
    CHECK(p.verdict == verdict::does_not_fit);
    CHECK(p.reasons[static_cast<std::size_t>(p.reason_count - 1)].code == reason_code::flash_attention_unsupported);
}

TEST_CASE("a format that the GPU must convert is named") {
    const cluster v100 = standard_cluster(gpus::v100_sxm2_32gb, 1).value();
    job j{.model = models::llama_3_2_1b, .context = tokens(1024), .runtime = runtimes::transformers};
    const job_plan p = plan(j, {}, v100).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.reasons[0].code == reason_code::format_emulated);
    j.runtime = runtimes::vllm;  // which computes in fp16 there
    const auto converts = [&] {
        const job_plan there = plan(j, {}, v100).value();
        return std::any_of(there.reasons.begin(), there.reasons.begin() + there.reason_count,
                           [](const reason& r) { return r.code == reason_code::format_emulated; });
    };
    CHECK_FALSE(converts());
    j.weights = fp8_e4m3;  // with which vLLM does not start there, another reason
    CHECK(converts());
}

TEST_CASE("memory grows with batch, context and width of the formats, and shrinks with tensor parallelism") {
    const auto total = [](const job& j, const layout& l) {
        return plan(j, l, standard_cluster(gpus::h100_sxm5_80gb, 64).value())->memory.total().expected;
    };
    for (const model* m : {&models::llama_3_1_8b, &models::mixtral_8x7b, &models::deepseek_v3, &models::gemma_2_27b}) {
        job j{.model = *m, .weights = bf16, .batch = 1, .context = tokens(1024)};
        const byte_count base = total(j, {});
        j.batch = 2;
        CHECK(total(j, {}) > base);
        j.batch = 1;
        j.context = tokens(2048);
        CHECK(total(j, {}) > base);
        j.context = tokens(1024);
        j.weights = fp8_e4m3;
        CHECK(total(j, {}) < base);
        j.weights = bf16;
        j.kv_cache = fp8_e4m3;
        CHECK(total(j, {}) < base);
        j.kv_cache = {};
        CHECK(total(j, {.tensor = 2}) < base);
        CHECK(total(j, {.tensor = 2}) * 2 >= base);
    }
}

TEST_CASE("terms add up to the total, low to high") {
    for (const auto& [j, l] : mixed_jobs()) {
        const memory_breakdown m = memory_of(j, l);
        interval<byte_count> sum;
        for (const interval<byte_count>& term : m.terms) {
            CHECK(term.low <= term.expected);
            CHECK(term.expected <= term.high);
            sum += term;
        }
        CHECK(sum == m.total());
        CHECK(m.ideal <= m.total().expected);
    }
}

TEST_CASE("an architecture whose modules are not described is computed as Llama, says so, and has wide bounds") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(2048)};
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    j.runtime = runtimes::huggingface;
    const job_plan known = plan(j, {}, c).value();
    CHECK_FALSE(says(known, reason_code::not_described));
    j.model.architecture = "phi3small";
    const job_plan unknown = plan(j, {}, c).value();
    CHECK(says(unknown, reason_code::not_described));
    const auto activations = [](const job_plan& p) { return p.memory[memory_term::activations]; };
    CHECK(activations(unknown).expected == activations(known).expected);
    CHECK(activations(unknown).low < activations(known).low);
    CHECK(activations(unknown).high * 2 > activations(known).high * 3);
    j.runtime = runtimes::torchtune;  // has modules of its own
    CHECK_FALSE(says(plan(j, {}, c).value(), reason_code::not_described));
    j.runtime = runtimes::huggingface;
    j.model.architecture = {};  // described by its layers
    CHECK_FALSE(says(plan(j, {}, c).value(), reason_code::not_described));
}

// ---- verdicts on sizes that are set by hand -------------------------------------------------------------------------

namespace {

/// A plan whose job takes so much for activations, of so much that it may use.
job_plan of_sizes(const interval<byte_count>& taken, byte_count usable) {
    job_plan p{.usable = usable};
    p.memory[memory_term::activations] = taken;
    return p;
}
job_plan judged_on_gpu(job_plan p, const cluster& c) {
    detail::judge_gpu_memory(p, p.memory.total(), c);
    return p;
}
/// The last reason of a plan.
const reason& last_reason(const job_plan& p) { return p.reasons[static_cast<std::size_t>(p.reason_count - 1)]; }

const interval<byte_count> about_ten{gib(8), gib(10), gib(12)};

}  // namespace

TEST_CASE("each verdict but `fits` names what is needed and what is there") {
    CHECK(judged_on_gpu(of_sizes(about_ten, gib(12)), four_h100).verdict == verdict::fits);
    CHECK(judged_on_gpu(of_sizes(about_ten, gib(12)), four_h100).reason_count == 0);

    const job_plan tight = judged_on_gpu(of_sizes(about_ten, gib(8)), four_h100);
    CHECK(tight.verdict == verdict::tight);
    REQUIRE(tight.reason_count == 1);
    CHECK(tight.reasons[0].code == reason_code::memory_tight);
    CHECK(tight.reasons[0].term == memory_term::activations);
    CHECK(tight.reasons[0].needed == gib(12));
    CHECK(tight.reasons[0].available == gib(8));
    // What is largest and certain is not why: the term whose bound is farthest above what is expected of it is.
    job_plan certain = of_sizes(about_ten, gib(111));
    certain.memory[memory_term::weights] = gib(100);
    REQUIRE(judged_on_gpu(certain, four_h100).verdict == verdict::tight);
    CHECK(last_reason(judged_on_gpu(certain, four_h100)).term == memory_term::activations);

    job_plan heavy = of_sizes(about_ten, gib(8) - bytes(1));
    heavy.memory[memory_term::weights] = heavy.usable;  // no more than there is
    const job_plan exceeded = judged_on_gpu(heavy, four_h100);
    CHECK(exceeded.verdict == verdict::does_not_fit);
    REQUIRE(exceeded.reason_count == 1);
    CHECK(exceeded.reasons[0].code == reason_code::memory_exceeded);
    CHECK(exceeded.reasons[0].needed == gib(18) - bytes(1));
    CHECK(exceeded.reasons[0].available == gib(8) - bytes(1));
    heavy.memory[memory_term::weights] = gib(8);
    const job_plan weights = judged_on_gpu(heavy, four_h100);
    REQUIRE(weights.reason_count == 2);
    CHECK(weights.reasons[0].code == reason_code::weights_exceed);
    CHECK(weights.reasons[0].needed == gib(8));
    CHECK(weights.reasons[1].code == reason_code::memory_exceeded);
}

TEST_CASE("what the driver evicts is not lacking") {
    job_plan p = of_sizes(about_ten, gib(10));
    p.memory.evicted = {gib(0), gib(1), gib(2)};
    CHECK(judged_on_gpu(p, four_h100).verdict == verdict::tight);
    CHECK(judged_on_gpu(p, four_h100).reason_count == 0);
    p.memory.evicted.high -= bytes(1);
    CHECK(last_reason(judged_on_gpu(p, four_h100)).code == reason_code::memory_tight);
}

TEST_CASE("on unified memory a job may reach what the host frees, but for Apple's") {
    const cluster spark{.gpu = gpus::gb10_dgx_spark};
    const byte_count more = spark.gpu.memory.fitted - usable_memory(spark.gpu);
    REQUIRE(more > byte_count{});
    CHECK(judged_on_gpu(of_sizes({gib(8) + more, gib(200), gib(200)}, gib(8)), spark).verdict == verdict::tight);
    CHECK(judged_on_gpu(of_sizes({gib(8) + more + bytes(1), gib(200), gib(200)}, gib(8)), spark).verdict ==
          verdict::does_not_fit);
    const cluster mac{.gpu = with_memory(gpus::apple_m1_max, gib(32))};
    CHECK(judged_on_gpu(of_sizes({gib(8) + bytes(1), gib(200), gib(200)}, gib(8)), mac).verdict ==
          verdict::does_not_fit);
}

TEST_CASE(
    "on unified memory a job starts for sure where weights, pages of their files and the profiling run have room") {
    int hangs = 0, starts = 0;
    const cluster spark{.gpu = gpus::gb10_dgx_spark};
    for (const model* m : {&models::gemma_4_26b_a4b, &models::llama_3_1_8b, &models::qwen3_32b, &models::qwen3_4b}) {
        job j{.model = *m, .context = tokens(4096), .runtime = runtimes::vllm};
        j.runtime.cache.fraction = 0.7;
        const job_plan p = plan(j, {}, spark).value();
        if (p.verdict == verdict::does_not_fit) continue;
        const byte_count most = p.memory[memory_term::weights].high * 2;
        const bool sure = p.memory.phase != phase::start;
        (sure ? starts : hangs) += 1;
        CHECK((!sure || p.verdict != verdict::fits || most < available_memory(spark)));
        CHECK((sure || p.verdict == verdict::tight));
        CHECK((sure || last_reason(p).needed > most));
        CHECK(memory_fits(j, {}, spark) == (p.verdict == verdict::fits));
        // The same model on a card of its own memory, of the same size, starts.
        cluster apart = standard_cluster(gpus::h200_sxm5_141gb, 1).value();
        CHECK(plan(j, {}, apart)->memory.phase != phase::start);
    }
    CHECK(hangs >= 1);
    CHECK(starts >= 2);
    job gemma{.model = models::gemma_4_26b_a4b, .runtime = runtimes::vllm};
    gemma.runtime.cache.fraction = 0.7;
    CHECK(plan(gemma, {}, spark)->verdict == verdict::tight);
    CHECK(plan(gemma, {}, spark)->memory.phase == phase::start);
}

TEST_CASE("caches and recurrent states are held against the pool that a caller sized") {
    job j{.model = models::llama_3_1_8b, .context = tokens(1024), .runtime = runtimes::vllm};
    job_plan p{.verdict = verdict::fits};
    p.memory[memory_term::kv_cache] = gib(2);
    p.memory[memory_term::recurrent_state] = gib(1);
    const auto judged_at = [&](byte_count size) {
        j.options.cache_bytes = size;
        job_plan judged = p;
        detail::judge_pool(judged, j);
        return judged;
    };
    CHECK(judged_at(gib(3)).verdict == verdict::fits);
    const job_plan small = judged_at(gib(3) - bytes(1));
    CHECK(small.verdict == verdict::does_not_fit);
    CHECK(small.reasons[0].code == reason_code::pool_exceeded);
    CHECK(small.reasons[0].needed == gib(3));
    CHECK(small.reasons[0].available == gib(3) - bytes(1));
    j.task = task::finetuning;
    CHECK(judged_at(gib(1)).verdict == verdict::fits);
}

namespace {

/// A plan of training that evicts one to three GiB of states on each GPU, held against main memory.
job_plan judged_on_host(const job_plan& sizes, std::int32_t gpus, byte_count host_memory,
                        const gpu& card = gpus::h100_sxm5_80gb) {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(1024)};
    cluster c = standard_cluster(card, 8).value();
    c.host.memory = host_memory;
    job_plan p = sizes;
    p.verdict = verdict::fits;
    p.layout.data = gpus;
    p.memory.evicted = {gib(1), gib(2), gib(3)};
    detail::layout_folds folds;
    detail::judge_host_memory(p, j, c, folds);
    return p;
}

}  // namespace

TEST_CASE("evicted states are in main memory, those of each GPU of a node") {
    const job_plan two = judged_on_host({}, 2, gib(6));
    CHECK(two.host_memory == interval<byte_count>{gib(2), gib(4), gib(6)});
    CHECK(two.verdict == verdict::tight);
    REQUIRE(two.reason_count == 1);
    CHECK(two.reasons[0].code == reason_code::states_evicted);
    CHECK(two.reasons[0].term == memory_term::optimizer);
    CHECK(two.reasons[0].needed == gib(6));
    CHECK(judged_on_host({}, 16, gib(24)).host_memory == interval<byte_count>{gib(8), gib(16), gib(24)});

    const job_plan unknown = judged_on_host({}, 2, {});
    CHECK(unknown.verdict == verdict::tight);
    CHECK(last_reason(unknown).code == reason_code::host_memory_unknown);
    CHECK(last_reason(unknown).needed == gib(6));

    const job_plan less = judged_on_host({}, 2, gib(6) - bytes(1));
    CHECK(less.verdict == verdict::tight);
    CHECK(last_reason(less).code == reason_code::host_memory_exceeded);
    CHECK(last_reason(less).needed == gib(6));
    CHECK(last_reason(less).available == gib(6) - bytes(1));
    CHECK(judged_on_host({}, 2, gib(2)).verdict == verdict::tight);
    CHECK(judged_on_host({}, 2, gib(2) - bytes(1)).verdict == verdict::does_not_fit);
}

TEST_CASE("on unified memory a host has what the GPU leaves, for sure of what the GPU may use, at most of the board") {
    const gpu& card = gpus::gb10_dgx_spark;
    const byte_count sure = usable_memory(card), board = card.memory.fitted;
    const auto with = [&](byte_count low, byte_count high) {
        return judged_on_host(of_sizes({low, high, high}, sure), 1, gib(1000), card);
    };
    CHECK(with({}, sure - gib(3)).reason_count == 1);
    const job_plan less = with({}, sure - gib(3) + bytes(1));
    CHECK(last_reason(less).code == reason_code::host_memory_exceeded);
    CHECK(last_reason(less).available == gib(3) - bytes(1));
    CHECK(last_reason(with({}, sure + gib(1))).available == byte_count{});
    CHECK(with(board - gib(1), board).verdict == verdict::tight);
    CHECK(with(board - gib(1) + bytes(1), board).verdict == verdict::does_not_fit);
}

TEST_CASE("a GPU has the arithmetic whose rate is known, or of which nothing is known") {
    gpu card = gpus::h100_sxm5_80gb;
    for (const auto& [kind, rate] :
         {std::pair{arithmetic_kind::bf16, &gpu_rates::bf16}, std::pair{arithmetic_kind::fp8, &gpu_rates::fp8},
          std::pair{arithmetic_kind::fp4, &gpu_rates::fp4}}) {
        card.rates.*rate = tflops(100);
        CHECK(detail::has_arithmetic(card, kind));
        card.rates.*rate = {};
        CHECK(detail::has_arithmetic(card, kind));
        card.rates.*rate = tflops(0);
        CHECK_FALSE(detail::has_arithmetic(card, kind));
    }
    CHECK(detail::has_arithmetic(card, arithmetic_kind::fp32));
}

TEST_CASE("what a plan assumes, widens or stretches is a reason by name, and what it does not is none") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const auto has = [&](const job& j, reason_code code, const cluster& on) {
        return says(plan(j, {}, on).value(), code);
    };
    job tuned{.model = models::llama_3_2_1b, .task = task::finetuning, .runtime = runtimes::huggingface};
    CHECK(has(tuned, reason_code::sequence_assumed, c));
    tuned.sequence = tokens(1024);
    CHECK_FALSE(has(tuned, reason_code::sequence_assumed, c));
    tuned.model.architecture = "phi3small";
    CHECK(has(tuned, reason_code::not_described, c));
    tuned.runtime.accuracy.undescribed.high = 1.5;
    CHECK(has(tuned, reason_code::not_described, c));
    tuned.runtime.accuracy.undescribed.high = 1;
    CHECK_FALSE(has(tuned, reason_code::not_described, c));
    tuned.model.from_tensors = true;
    CHECK(has(tuned, reason_code::from_tensors, c));

    job served{.model = models::llama_3_2_1b, .context = tokens(1024), .runtime = runtimes::vllm};
    for (const reason_code code : {reason_code::context_extended, reason_code::power_unknown,
                                   reason_code::multiprocessors_unknown, reason_code::format_emulated})
        CHECK_FALSE(has(served, code, c));
    served.model.max_context = tokens(512);
    served.options.rope_scaling = 2;
    CHECK(has(served, reason_code::context_extended, c));
    cluster unknown = c;
    unknown.gpu.board_power = {};
    unknown.gpu.sm_count = {};
    CHECK(has(served, reason_code::power_unknown, unknown));
    CHECK(has(served, reason_code::multiprocessors_unknown, unknown));
    unknown.gpu.measured.bf16 = tflops(700);  // measured on the device itself
    CHECK_FALSE(has(served, reason_code::power_unknown, unknown));
    CHECK_FALSE(has(served, reason_code::multiprocessors_unknown, unknown));
    served.weights = fp8_e4m3;  // multiplied in 8 bits, while all else is computed in 16
    cluster turing = c;
    turing.gpu.rates.bf16 = tflops(0);
    CHECK(has(served, reason_code::format_emulated, turing));

    job experts{.model = models::qwen3_30b_a3b, .task = task::finetuning, .sequence = tokens(512)};
    experts.adapter = {.kind = adapter_kind::lora, .rank = 8};
    experts.runtime = runtimes::huggingface;
    CHECK(has(experts, reason_code::experts_left_out, c));
    experts.adapter.experts = true;
    CHECK_FALSE(has(experts, reason_code::experts_left_out, c));
    job widened{.model = models::deepseek_v3, .task = task::pretraining, .sequence = tokens(512)};
    CHECK(has(widened, reason_code::weights_dequantised, c));
    widened.weights = bf16;
    CHECK_FALSE(has(widened, reason_code::weights_dequantised, c));
}

TEST_CASE("the busiest GPU of a later stage stands behind those of the stages before it") {
    const job j{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(1024), .runtime = runtimes::vllm};
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    const job_plan p = plan(j, {.tensor = 2, .pipeline = 2, .data = 4}, c).value();
    REQUIRE(p.memory.stage == 1);  // of the head and its scores
    CHECK(p.gpu == 2 * 4);
}

TEST_CASE("a plan with a pool that the caller sized below its caches does not fit") {
    job j{.model = models::llama_3_1_8b, .batch = 16, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster one = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const auto sized = [&](byte_count size) {
        j.options.cache_bytes = size;
        return plan(j, {}, one).value();
    };
    CHECK(sized(gib(9)).verdict == verdict::fits);  // 16 sequences of 4,096 tokens of 128 KiB are 8 GiB
    const job_plan small = sized(gib(7));
    CHECK(small.verdict == verdict::does_not_fit);
    REQUIRE(small.reason_count == 1);
    CHECK(small.reasons[0].code == reason_code::pool_exceeded);
    CHECK(small.reasons[0].available == gib(7));
}

TEST_CASE("a plan with a buffer that the driver does not allocate at once says which, and how much of it there is") {
    job j{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const cluster one = standard_cluster(gpus::rtx_4090, 1).value();
    const job_plan unlimited = plan(j, {}, one).value();
    REQUIRE(unlimited.verdict == verdict::fits);
    const largest_buffer largest = largest_serving_buffer(j, {}, unlimited.memory);
    const auto limited = [&](byte_count limit) {
        j.options.largest_buffer = limit;
        return plan(j, {}, one).value();
    };
    CHECK(limited(largest.size.high).verdict == verdict::fits);
    for (const byte_count limit : {largest.size.high - bytes(1), largest.size.low - bytes(1)}) {
        const job_plan p = limited(limit);
        CHECK(p.verdict == (limit < largest.size.low ? verdict::does_not_fit : verdict::tight));
        REQUIRE(p.reason_count == 1);
        CHECK(p.reasons[0].code == reason_code::buffer_exceeded);
        CHECK(p.reasons[0].term == largest.term);
        CHECK(p.reasons[0].needed == largest.size.high);
        CHECK(p.reasons[0].available == limit);
    }
}

TEST_CASE("a model whose attention no measured run has is tight at best, and says so") {
    job j{.model = models::llama_3_2_1b, .task = task::serving, .batch = 1, .context = tokens(1024)};
    const cluster one{.gpu = gpus::h100_sxm5_80gb, .gpus = 1};
    REQUIRE(plan(j, {}, one)->verdict == verdict::fits);
    j.model = compressed_attention::small_model();
    const job_plan made = plan(j, {}, one).value();
    CHECK(made.verdict == verdict::tight);
    CHECK(made.reasons[0].code == reason_code::attention_unmeasured);
    const cluster small{.gpu = gpus::t4_16gb, .gpus = 1};
    j.batch = 1'000'000;
    CHECK(plan(j, {}, small)->verdict == verdict::does_not_fit);
}
