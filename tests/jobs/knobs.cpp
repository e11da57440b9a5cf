// SPDX-License-Identifier: MIT
#include <llmres/jobs/knobs.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <utility>

using namespace llmres;

namespace {

runtime profile(const char* name) { return find_runtime(name).value(); }

}  // namespace

TEST_CASE("knobs go by the software's own names, and those of other software are refused") {
    for (const auto& [name, knob] : {std::pair{"vllm", "max_num_batched_tokens"},
                                     {"sglang", "chunked_prefill_size"},
                                     {"tensorrt-llm", "max_num_tokens"},
                                     {"llama.cpp", "ubatch_size"},
                                     {"lmdeploy", "max_prefill_token_num"}}) {
        runtime r = profile(name);
        serving_options asked;
        CHECK_MESSAGE(set_knob(r, asked, knob, 640), name);
        CHECK_MESSAGE(r.step.max_batched_tokens == tokens(640), name);
    }
    runtime r = profile("vllm");
    serving_options asked;
    CHECK(set_knob(r, asked, "enforce_eager", 1));
    CHECK(r.process.cuda_graphs == interval<byte_count>{});
    const error wrong = set_knob(r, asked, "mem_fraction_static", 0.5).error();
    CHECK(wrong.field == "runtime.mem_fraction_static");
    CHECK(std::string{wrong.expected.view()}.find("gpu_memory_utilization") != std::string::npos);
    runtime cpp = profile("llama.cpp");
    CHECK(set_knob(cpp, asked, "n_gpu_layers", 12));
    CHECK(asked.gpu_layers == maybe<std::int32_t>{12});
    CHECK(set_knob(cpp, asked, "cpu_moe", 1));
    CHECK(asked.experts_on_host);
}

namespace {

job job_with(const char* name, const char* knob, double value, model m = models::llama_3_1_8b) {
    job j{.model = m, .batch = 4, .context = tokens(2048), .runtime = profile(name)};
    if (knob[0] != 0) REQUIRE(set_knob(j.runtime, j.options, knob, value));
    return j;
}
const cluster one_h100{.gpu = gpus::h100_sxm5_80gb};

}  // namespace

TEST_CASE("what sizes a pool is set under the engine's own name, and refused under another's") {
    struct expected {
        const char *name, *knob;
        double value;
        std::int64_t room;  // tokens
    };
    // 131,072 bytes a token
    for (const auto& [name, knob, value, room] :
         {expected{"vllm", "kv_cache_memory_bytes", 2147483648.0, 16384},
          expected{"vllm", "num_gpu_blocks_override", 1000, 16000},
          expected{"sglang", "max_total_tokens", 20480, 20480}, expected{"tensorrt-llm", "max_tokens", 16384, 16384},
          expected{"tensorrt-llm", "max_tokens_in_paged_kv_cache", 16384, 16384},
          expected{"tgi", "max_batch_total_tokens", 16000, 16000}}) {
        CAPTURE(name);
        CAPTURE(knob);
        const job usual = job_with(name, "", 0), set = job_with(name, knob, value);
        const pool_size before = cache_pool_of(usual, layout{}, one_h100).value();
        const pool_size after = cache_pool_of(set, layout{}, one_h100).value();
        CHECK(before.token_room > tokens(100'000));
        CHECK(after.token_room == tokens(room));
        CHECK(fits(set, layout{}, one_h100));
        CHECK(reserved_by(memory_of(set, layout{}, one_h100), after).device.expected <
              reserved_by(memory_of(usual, layout{}, one_h100), before).device.expected);
        // Twice as many sequences as the pool holds.
        job many = set;
        many.batch = 2 * room / 2048;
        const job_plan p = plan(many, layout{}, one_h100).value();
        CHECK(p.verdict == verdict::does_not_fit);
        CHECK(p.reasons[0].code == reason_code::pool_exceeded);
        CHECK(p.reasons[0].needed > p.reasons[0].available);
        CHECK(max_batch(set, layout{}, one_h100).value() == room / 2048);
        runtime other = profile("llama.cpp");
        serving_options asked;
        const std::string field = std::string{"runtime."} + knob;
        CHECK(std::string{set_knob(other, asked, knob, value).error().field.view()} == field);
    }
}

TEST_CASE(
    "vLLM allocates the pool that it is told to, whatever the fraction, and runs out of memory where it is not there") {
    CHECK(plan(job_with("vllm", "kv_cache_memory_bytes", 60e9), layout{}, one_h100)->verdict == verdict::fits);
    CHECK(plan(job_with("vllm", "kv_cache_memory_bytes", 80e9), layout{}, one_h100)->verdict == verdict::does_not_fit);
    CHECK(plan(job_with("vllm", "num_gpu_blocks_override", 40'000), layout{}, one_h100)->verdict ==
          verdict::does_not_fit);
}

TEST_CASE("a pool in tokens is at most what the engine would take") {
    for (const auto& [name, knob] : {std::pair{"sglang", "max_total_tokens"}, {"tensorrt-llm", "max_tokens"}})
        CHECK(cache_pool_of(job_with(name, knob, 1e9), layout{}, one_h100)->memory ==
              cache_pool_of(job_with(name, "", 0), layout{}, one_h100)->memory);
}

TEST_CASE(
    "SGLang's pool of windowed layers, ExLlamaV3's cache and MLX's longest one are as large as they are told to be") {
    const auto kv = [](const job& j) { return memory_of(j, layout{}, one_h100)[memory_term::kv_cache].expected; };
    const model windows = models::gpt_oss_20b;  // every second layer sees 128 tokens
    const byte_count usual = kv(job_with("sglang", "", 0, windows));
    CHECK(kv(job_with("sglang", "swa_full_tokens_ratio", 1.0, windows)) > usual);
    CHECK(kv(job_with("sglang", "swa_full_tokens_ratio", 0.1, windows)) < usual);
    CHECK(kv(job_with("sglang@0.5.2", "", 0, windows)) > usual);  // no pool of their own up to 0.5.7
    CHECK(kv(job_with("exllamav3", "cache_size", 16384)) == 2 * kv(job_with("exllamav3", "", 0)));
    CHECK_FALSE(fits(job_with("exllamav3", "cache_size", 4096), layout{}, one_h100));
    CHECK(2 * kv(job_with("mlx", "max_kv_size", 1024)) == kv(job_with("mlx", "", 0)));
}

TEST_CASE("each knob sets what the software's own option sets, and its zero what the option left out means") {
    struct turned {
        const char *software, *knob;
        double value;
        bool (*is_set)(const runtime&, const serving_options&);
    };
    using r = const runtime&;
    using o = const serving_options&;
    for (const turned& t : std::initializer_list<turned>{
             {"vllm", "max_num_seqs", 7, [](r, o asked) { return asked.max_num_seqs == 7; }},
             {"vllm", "kv_cache_memory_bytes", 99, [](r, o asked) { return asked.cache_bytes == bytes(99); }},
             {"vllm", "num_gpu_blocks_override", 5, [](r, o asked) { return asked.cache_blocks == 5; }},
             {"vllm", "max_loras", 3, [](r, o asked) { return asked.max_loras == 3; }},
             {"vllm", "max_lora_rank", 64, [](r, o asked) { return asked.max_lora_rank == 64; }},
             {"vllm", "block_size", 32, [](r p, o) { return p.cache.block == tokens(32); }},
             {"vllm", "enforce_eager", 0, [](r p, o) { return captures_graphs(p.process); }},
             {"vllm", "enforce_eager", 1, [](r p, o) { return !captures_graphs(p.process); }},
             {"vllm@0.4", "max_seq_len_to_capture", 100,
              [](r p, o) { return p.launches.graph_context == tokens(100); }},
             {"vllm", "async_scheduling", 0, [](r p, o) { return p.cache.in_flight == steps_in_flight::stages; }},
             {"vllm", "async_scheduling", 1, [](r p, o) { return p.cache.in_flight == steps_in_flight::stages_ahead; }},
             {"vllm", "async_scheduling", 2, [](r p, o) { return p.cache.in_flight == steps_in_flight::stages_ahead; }},
             {"vllm@0.25", "async_scheduling", 1, [](r p, o) { return p.cache.in_flight == steps_in_flight::one; }},
             {"vllm", "enable_prefix_caching", 0,
              [](r p, o) { return !p.cache.shares_prefixes && p.cache.kept == kept_states::one; }},
             {"vllm", "enable_prefix_caching", 1,
              [](r p, o) { return p.cache.shares_prefixes && p.cache.kept == kept_states::prompt; }},
             {"vllm@0.26", "enable_prefix_caching", 1,
              [](r p, o) { return p.cache.shares_prefixes && p.cache.kept == kept_states::each_block; }},
             {"sglang", "max_total_tokens", 400, [](r, o asked) { return asked.cache_tokens == tokens(400); }},
             {"sglang", "swa_full_tokens_ratio", 0.5, [](r p, o) { return p.cache.window_part == maybe<double>{0.5}; }},
             {"llama.cpp", "parallel", 3, [](r, o asked) { return asked.max_num_seqs == 3; }},
             {"llama.cpp", "cpu_moe", 0, [](r, o asked) { return !asked.experts_on_host; }},
             {"llama.cpp", "n_cpu_moe", 4,
              [](r, o asked) { return asked.experts_on_host && asked.host_expert_layers == 4; }},
             {"llama.cpp", "n_cpu_moe", 0, [](r, o asked) { return !asked.experts_on_host; }},
             {"llama.cpp", "flash_attn", 0,
              [](r p, o) { return p.serving_kernels.flash_attention == maybe<bool>{false}; }},
             {"llama.cpp", "flash_attn", 1,
              [](r p, o) { return p.serving_kernels.flash_attention == maybe<bool>{true}; }},
             {"llama.cpp", "swa_full", 1, [](r p, o) { return p.cache.windows == window_cells::whole; }},
             {"llama.cpp", "swa_full", 0, [](r p, o) { return p.cache.windows == window_cells::window_batch; }},
             {"llama.cpp", "no_mmap", 1, [](r p, o) { return !p.loading.maps_weights; }},
             {"llama.cpp", "no_mmap", 0, [](r p, o) { return p.loading.maps_weights; }},
             {"llama.cpp", "no_op_offload", 1, [](r p, o) { return !p.loading.host_experts.copied; }},
             {"llama.cpp", "no_op_offload", 0, [](r p, o) { return p.loading.host_experts.copied; }},
             {"ik_llama.cpp", "run_time_repack", 1,
              [](r p, o) { return !p.loading.host_experts.copied && !p.loading.maps_weights; }},
             {"ik_llama.cpp", "run_time_repack", 0,
              [](r p, o) { return p.loading.host_experts.copied && p.loading.maps_weights; }},
             {"ik_llama.cpp", "attn_max_batch", 1, [](r p, o) { return p.serving_kernels.latent.scores == mib(1); }},
             {"ik_llama.cpp", "mla_use", 1, [](r p, o) { return p.cache.transposed_values; }},
             {"ik_llama.cpp", "mla_use", 2, [](r p, o) { return !p.cache.transposed_values; }},
         }) {
        CAPTURE(std::string{t.software});
        CAPTURE(std::string{t.knob});
        CAPTURE(t.value);
        runtime changed = profile(t.software);
        serving_options asked;
        REQUIRE(set_knob(changed, asked, t.knob, t.value));
        CHECK(t.is_set(changed, asked));
    }
}

TEST_CASE("a number that leaves its integer ends at the nearest that it holds") {
    CHECK(detail::whole_part<std::int32_t>(1e12) == 2147483647);
    CHECK(detail::whole_part<std::int32_t>(-1e12) == -2147483647 - 1);
    CHECK(detail::whole_part<std::int32_t>(12.9) == 12);
}

TEST_CASE("what a caller wishes of the model's run is an option, and leaves the runtime as it was") {
    for (const auto setting :
         {knob_setting::sequences, knob_setting::cache_bytes, knob_setting::cache_tokens, knob_setting::cache_blocks,
          knob_setting::max_loras, knob_setting::max_lora_rank, knob_setting::gpu_layers, knob_setting::experts_on_host,
          knob_setting::host_expert_layers}) {
        serving_options asked;
        CHECK(detail::set_option(asked, setting, 1));
    }
    for (const auto setting : {knob_setting::batched_tokens, knob_setting::cache_block, knob_setting::window_part,
                               knob_setting::no_cuda_graphs, knob_setting::flash_attention}) {
        serving_options asked;
        CHECK_FALSE(detail::set_option(asked, setting, 1));
    }
}

TEST_CASE("experts are on the host of all layers where nothing is said of how many, of one where one is said") {
    runtime r = profile("llama.cpp");
    serving_options asked;
    REQUIRE(set_knob(r, asked, "n_cpu_moe", 1));
    CHECK(asked.experts_on_host);
    CHECK(asked.host_expert_layers == 1);
    REQUIRE(set_knob(r, asked, "cpu_moe", 1));
    CHECK(asked.experts_on_host);
    CHECK(asked.host_expert_layers == 0);
}

TEST_CASE("without graphs none are captured, whatever the context that they were for") {
    runtime r = profile("vllm@0.4");
    REQUIRE(captures_graphs(r.process));
    serving_options asked;
    REQUIRE(set_knob(r, asked, "enforce_eager", 1));
    CHECK_FALSE(captures_graphs(r.process));
    CHECK(r.launches.graph_context == tokens(1));  // a context that every sequence exceeds
}

TEST_CASE("ik_llama.cpp's -amb bounds the scores of latent attention, and what it expands where it expands anything") {
    for (const bool expands : {true, false}) {
        runtime r = profile("ik_llama.cpp");
        r.serving_kernels.latent.expanded = expands ? mib(7) : byte_count{};
        r.serving_kernels.latent.scores = mib(7);
        serving_options asked;
        for (const double nothing : {0.0, -3.0}) {
            REQUIRE(set_knob(r, asked, "attn_max_batch", nothing));
            CHECK(r.serving_kernels.latent.scores == mib(7));
        }
        REQUIRE(set_knob(r, asked, "attn_max_batch", 512));
        CHECK(r.serving_kernels.latent.scores == mib(512));
        CHECK(r.serving_kernels.latent.expanded == (expands ? mib(512) : byte_count{}));
    }
}

TEST_CASE("ik_llama.cpp's -mla 1 expands nothing and copies no values: they are read transposed") {
    runtime r = profile("ik_llama.cpp");
    r.serving_kernels.latent.expanded = mib(7);
    r.serving_kernels.latent.copies_values = true;
    serving_options asked;
    REQUIRE(set_knob(r, asked, "mla_use", 2));
    CHECK(r.serving_kernels.latent.expanded == mib(7));
    CHECK(r.serving_kernels.latent.copies_values);
    REQUIRE(set_knob(r, asked, "mla_use", 1));
    CHECK(r.serving_kernels.latent.expanded == byte_count{});
    CHECK_FALSE(r.serving_kernels.latent.copies_values);
    CHECK(r.cache.transposed_values);
}

TEST_CASE("the fraction of the device goes by the software's own name, and an unknown knob is answered with it") {
    runtime r = profile("vllm");
    serving_options asked;
    REQUIRE(set_knob(r, asked, "gpu_memory_utilization", 0.5));
    CHECK(r.cache.fraction == maybe<double>{0.5});
    CHECK(set_knob(r, asked, "speed", 1).error().expected == "a knob of vllm, such as gpu_memory_utilization");
    runtime cpp = profile("llama.cpp");
    CHECK(set_knob(cpp, asked, "speed", 1).error().expected == "a knob of llama.cpp");
}

TEST_CASE("a knob's number is cut at what its integer holds, and is kept up to there") {
    CHECK(detail::whole_part<std::int32_t>(2147483646.0) == 2147483646);
    CHECK(detail::whole_part<std::int32_t>(-2147483647.0) == -2147483647);
    CHECK(detail::whole_part<std::int64_t>(9.3e18) == std::numeric_limits<std::int64_t>::max());
    CHECK(detail::whole_part<std::int64_t>(9223372036854775808.0) == std::numeric_limits<std::int64_t>::max());
    CHECK(detail::whole_part<std::int64_t>(-9.3e18) == std::numeric_limits<std::int64_t>::min());
}
