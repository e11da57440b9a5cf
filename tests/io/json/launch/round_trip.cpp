// SPDX-License-Identifier: MIT
// The command that starts a planned job, read back as a pasted line, is that job.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <llmres/answers/launch.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/launch/line.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "random_documents.hpp"

using namespace llmres;

namespace {

using random_documents::dice;
using document = nlohmann::json;

/// A served job with whatever its engine's launcher has words for.
document random_served(dice& d, std::string_view engine) {
    const bool is_llama_cpp = engine == "llama.cpp";
    document runtime{{"name", engine}};
    document j{{"model", d.pick({"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "gemma-3-27b", "qwen2.5-32b"})},
               {"context", d.pick({1024, 4096, 8192})},
               {"batch", d.power(16)}};
    document l = document::object();
    if (!is_llama_cpp && d.chance(60)) l["tensor"] = d.power(8);
    if (d.chance(30)) l["pipeline"] = d.power(4);
    const auto sometimes = [&](const char* knob, const document& value) {
        if (d.chance(30)) runtime[knob] = value;
    };
    if (engine == "vllm") {
        if (d.chance(30)) l["data"] = d.power(4);
        sometimes("gpu_memory_utilization", d.pick({0.5, 0.85, 0.9, 0.925, 0.9999}));
        sometimes("max_num_batched_tokens", d.pick({2048, 4096, 16384}));
        sometimes("block_size", d.pick({16, 32, 64}));
        sometimes("kv_cache_memory_bytes", std::int64_t{1} << d.pick({30, 34}));
        sometimes("num_gpu_blocks_override", d.pick({1000, 2000}));
        sometimes("max_loras", d.pick({1, 4}));
        if (runtime.contains("max_loras")) sometimes("max_lora_rank", d.pick({8, 64}));
        sometimes("max_num_seqs", d.pick({4, 64}));
        sometimes("enforce_eager", d.chance(50));
        sometimes("enable_prefix_caching", d.chance(50));
        if (d.chance(40))
            j["kv_cache"] = d.pick({"fp8_e4m3", "fp8_e5m2", "int8_per_token_head", "int4_per_token_head",
                                    "fp8_per_token_head", "nvfp4", "fp16"});
    } else if (engine == "sglang") {
        sometimes("mem_fraction_static", d.pick({0.7, 0.8, 0.875}));
        sometimes("chunked_prefill_size", d.pick({2048, 8192}));
        sometimes("page_size", d.pick({1, 16, 64}));
        sometimes("max_total_tokens", d.pick({100'000, 400'000}));
        sometimes("max_running_requests", d.pick({4, 64}));
        sometimes("disable_cuda_graph", d.chance(50));
        if (d.chance(30)) j["kv_cache"] = d.pick({"fp8_e4m3", "fp8_e5m2", "nvfp4"});
    } else if (engine == "tensorrt-llm") {
        sometimes("free_gpu_memory_fraction", d.pick({0.5, 0.85}));
        sometimes("max_num_tokens", d.pick({2048, 16384}));
        sometimes("max_batch_size", d.pick({4, 64}));
    } else {
        j["weights"] = d.pick({"q4_k_m", "q8_0"});
        sometimes("ubatch_size", d.pick({128, 1024}));
        sometimes("swa_full", true);
        sometimes("no_mmap", true);
        sometimes("gpu_layers", d.pick({5, 20}));
        sometimes("flash_attn", d.chance(50));
        if (d.chance(30)) j["kv_cache"] = d.pick({"q8_0", "q4_0", "fp16"});
        if (d.chance(10)) j["kv_cache_values"] = "q4_0";
        if (!runtime.value("flash_attn", true)) j["kv_cache_values"] = "fp16";
    }
    if (engine != "tensorrt-llm" && d.chance(10)) j["head"] = "embedding";
    if (d.chance(10)) j["max_batched_tokens"] = d.pick({1024, 3072});
    j["runtime"] = runtime;
    j["layout"] = l;
    std::int64_t gpus = 1;
    for (const char* degree : {"tensor", "pipeline", "data"}) gpus *= l.value(degree, std::int64_t{1});
    j["cluster"] = {{"gpu", d.pick({"h100-sxm5-80gb", "rtx-4090", "b200-sxm-180gb"})}, {"gpus", gpus}};
    return j;
}

/// What a line does not say: the GPUs, the format of the model, and how many sequences there are at a time.
document completed(document read, const document& asked) {
    for (const char* key : {"model", "weights", "batch", "cluster"})
        if (asked.contains(key)) read[key] = asked[key];
    if (!read.contains("layout")) read["layout"] = document::object();
    return read;
}

/// The document with the slots of llama.cpp's server, which its line always says.
document with_slots_of(document asked, const document& read) {
    if (read["runtime"].contains("parallel")) asked["runtime"]["parallel"] = read["runtime"]["parallel"];
    return asked;
}

void check_same(const interval<byte_count>& a, const interval<byte_count>& b) {
    CHECK(a.low.in(bytes) == b.low.in(bytes));
    CHECK(a.expected.in(bytes) == b.expected.in(bytes));
    CHECK(a.high.in(bytes) == b.high.in(bytes));
}

}  // namespace

TEST_CASE("the command of a planned job, pasted, is the same job on the same ranks with the same settings") {
    for (const char* engine : {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}) {
        dice d;
        int planned_jobs = 0;
        std::set<std::string> words;
        for (int i = 0; i < 200; ++i) {
            const document random = random_served(d, engine);
            const result<plan_request> first = read_job(random);
            CAPTURE(random.dump());
            REQUIRE(first);
            std::string line = launch_command(first->job, *first->layout, first->cluster);
            CAPTURE(line);
            line.replace(line.find("MODEL"), 5, "some/model");
            const result<launch_line> pasted = read_launch_line(line, first->cluster.gpus);
            REQUIRE(pasted);
            CAPTURE(pasted->document.dump());
            CHECK(pasted->notes.empty());
            const result<plan_request> asked = read_job(with_slots_of(random, pasted->document));
            const result<plan_request> again = read_job(completed(pasted->document, random));
            REQUIRE(asked);
            REQUIRE(again);
            const result<job_plan> one = plan(asked->job, *asked->layout, asked->cluster);
            const result<job_plan> other = plan(again->job, again->layout.value_or(layout{}), again->cluster);
            REQUIRE(static_cast<bool>(one) == static_cast<bool>(other));
            for (std::size_t at = line.find(" --"); at != line.npos; at = line.find(" --", at + 1))
                words.insert(line.substr(at, line.find(' ', at + 1) - at));
            if (!one) continue;
            CHECK(one->layout == other->layout);
            check_same(one->memory.total(), other->memory.total());
            CHECK(one->speed.step.total().expected.in(seconds) == other->speed.step.total().expected.in(seconds));
            CHECK(one->speed.prefill.total().expected.in(seconds) == other->speed.prefill.total().expected.in(seconds));
            ++planned_jobs;
        }
        CAPTURE(engine);
        CHECK(planned_jobs > 100);
        CHECK(words.size() >= 6);
    }
}
