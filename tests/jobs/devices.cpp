// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/values/precision.hpp>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

device_start start(std::string_view engine, std::string_view card) {
    job j{.model = models::llama_3_2_1b, .runtime = find_runtime(engine).value()};
    if (j.runtime.identity.work == runtime_work::training) j.task = task::pretraining;
    return device_start_of(j, find_gpu(card).value());
}

}  // namespace

TEST_CASE("engines do not start where they have no back end, nor below their least compute capability") {
    struct pair {
        std::string_view engine, card;
    };
    for (const pair& p : {pair{"tensorrt-llm", "mi300x-192gb"},
                          {"tensorrt-llm", "tpu-v6e"},
                          {"tensorrt-llm", "apple-m4-max"},
                          {"tensorrt-llm", "v100-sxm2-32gb"},
                          {"vllm", "p40-24gb"},
                          {"vllm", "gtx-1080-ti"},
                          {"vllm@0.9.2", "apple-m4-max"},
                          {"sglang", "p40-24gb"},
                          {"llama.cpp", "tpu7x"},
                          {"llama.cpp", "gaudi3-128gb-oam"},
                          {"llama.cpp", "trainium2-96gb"},
                          {"ollama", "trainium3-144gb"},
                          {"exllama", "apple-m4-max"},
                          {"exllamav3", "mi300x-192gb"},
                          {"mlx", "mi300x-192gb"},
                          {"lmdeploy", "p40-24gb"},
                          {"megatron", "apple-m4-max"},
                          {"deepspeed", "tpu-v6e"},
                          {"nanotron", "t4-16gb"},
                          {"tgi", "ascend-910b3"}}) {
        CAPTURE(p.engine);
        CAPTURE(p.card);
        CHECK(start(p.engine, p.card).support == device_support::absent);
    }
}

TEST_CASE("vLLM multiplies fp8 weights with a scale a tensor or channel where AMD's GPU has fp8 arithmetic") {
    const auto lacks = [](const precision& weights, std::string_view card) {
        const job j{.model = models::llama_3_1_8b, .weights = weights, .runtime = find_runtime("vllm").value()};
        return std::string{device_start_of(j, find_gpu(card).value()).arithmetic};
    };
    for (const char* card : {"mi210-64gb", "mi250x-128gb", "mi100-32gb", "rx-7900-xtx-24gb"}) {
        CAPTURE(card);
        CHECK(lacks(fp8_e4m3, card) == "fp8");
        CHECK(lacks(fp8_channel, card) == "fp8");
        CHECK(lacks(fp8_block, card).empty());
        CHECK(lacks(bf16, card).empty());
        CHECK(lacks(int8_channel, card).empty());
    }
    for (const char* card : {"mi300x-192gb", "mi355x-288gb", "rx-9070-xt-16gb", "h100-sxm5-80gb", "a100-sxm4-80gb"})
        CHECK(lacks(fp8_e4m3, card).empty());
}

TEST_CASE("SGLang keeps a cache in NVFP4 on Blackwell alone, and loads fp8 from Ampere on") {
    const auto starts = [](std::string_view card, const maybe<precision>& weights = {}) {
        job j{.model = models::llama_3_1_8b, .weights = weights, .context = tokens(4096), .runtime = runtimes::sglang};
        if (!weights) j.kv_cache = nvfp4;
        const device_start start = device_start_of(j, find_gpu(card).value());
        return start.support != device_support::absent;
    };
    for (const char* card : {"h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-4090"}) CHECK_FALSE(starts(card));
    for (const char* card : {"b200-180gb", "rtx-5090"}) CHECK(starts(card));
    for (const precision& weights : {fp8_e4m3, nvfp4}) {
        CHECK(starts("a100-sxm4-80gb", weights));
        CHECK_FALSE(starts("t4-16gb", weights));
    }
}

TEST_CASE("a port that was not measured here is one") {
    struct pair {
        std::string_view engine, card;
    };
    for (const pair& p : {pair{"vllm", "gaudi2-96gb"},
                          {"vllm", "tpu-v6e"},
                          {"vllm", "ascend-910b3"},
                          {"vllm", "mi300x-192gb"},
                          {"vllm", "apple-m4-max"},
                          {"sglang", "apple-m4-max"},
                          {"exllama", "mi300x-192gb"},
                          {"tgi", "gaudi2-96gb"},
                          {"tgi", "trainium2-96gb"},
                          {"llama.cpp", "mi300x-192gb"},
                          {"huggingface", "tpu-v6e"}}) {
        CAPTURE(p.engine);
        CAPTURE(p.card);
        CHECK(start(p.engine, p.card).support == device_support::unmeasured);
    }
    CHECK(start("torchtitan", "mi300x-192gb").support == device_support::runs);
    CHECK(start("llama.cpp", "apple-m4-max").support == device_support::runs);
}

TEST_CASE("none and pytorch start on every GPU of the table, and each engine on some") {
    for (const runtime* r : runtimes::all) {
        job j{.model = models::llama_3_2_1b, .runtime = *r};
        if (r->identity.work == runtime_work::training) j.task = task::pretraining;
        int runs = 0, others = 0;
        for (const gpu* card : gpus::all) ++(device_start_of(j, *card).support == device_support::runs ? runs : others);
        CAPTURE(r->identity.name.view());
        CHECK(runs > 0);
        CHECK((others == 0) == (r->identity.work == runtime_work::any));
    }
}

TEST_CASE("formats need a compute capability of their own") {
    job j{.model = models::llama_3_1_8b, .runtime = runtimes::tensorrt_llm};
    const auto lacks = [&](const gpu& card) { return device_start_of(j, card).what; };
    j.weights = fp8_e4m3;
    CHECK(lacks(gpus::a100_sxm4_80gb) == "weights in fp8");
    CHECK(device_start_of(j, gpus::a100_sxm4_80gb).needed == compute_capability{8, 9});
    CHECK(lacks(gpus::l40s_48gb).empty());
    j.weights = nvfp4;
    CHECK(lacks(gpus::h200_sxm5_141gb) == "weights in NVFP4");
    CHECK(lacks(gpus::b200_sxm_180gb).empty());
    j.weights = {};
    j.kv_cache = fp8_e4m3;
    CHECK(lacks(gpus::a100_sxm4_80gb) == "a cache in fp8");
    j.kv_cache = nvfp4;
    CHECK(lacks(gpus::h200_sxm5_141gb) == "a cache in NVFP4");
    j.runtime = runtimes::vllm;
    CHECK(lacks(gpus::b200_sxm_180gb).empty());
    CHECK(lacks(gpus::rtx_5090).empty());
    j.runtime = runtimes::vllm_v2_29;
    CHECK(lacks(gpus::b200_sxm_180gb).empty());
    CHECK(lacks(gpus::rtx_5090) == "a cache in NVFP4");  // of the 10.x family alone
    CHECK(device_start_of(j, gpus::rtx_5090).before == compute_capability{11, 0});
    j.kv_cache = {};
    j.runtime = runtimes::vllm_v0_7;
    j.weights = awq(4, 128);
    CHECK(lacks(gpus::v100_sxm2_32gb) == "weights in AWQ's words");
}

TEST_CASE("a GPU of NVIDIA whose compute capability is not known is taken for a recent one") {
    const job j{.model = models::llama_3_1_8b, .runtime = runtimes::tensorrt_llm};
    CHECK(device_start_of(j, gpu{.vendor = gpu_vendor::nvidia}).support == device_support::runs);
}
