// SPDX-License-Identifier: MIT
// Questions as people type them: which layout, how many GPUs, the largest batch, what it costs.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <string>

using namespace program_checks;
using nlohmann::json;

namespace {

const arguments eight_h100{"--gpu", "h100-sxm5-80gb", "--gpus", "8", "--runtime", "vllm"};
const arguments chats{"--batch", "64", "--prompt", "1024", "--output", "256"};

json best_of(const arguments& asked) {
    const outcome answer = run(arguments{"search"} + asked + arguments{"--json"});
    CHECK(answer.exit == fits);
    REQUIRE(answer.json().contains("best"));
    return answer.json()["best"][0];
}
json plan_of(const arguments& asked) { return run(arguments{"plan"} + asked + arguments{"--json"}).json(); }

}  // namespace

TEST_CASE("which layout serves 8B fastest on eight GPUs") {
    const json p = plan_of(arguments{"llama-3.1-8b"} + eight_h100 + chats);
    CHECK(p["idle_gpus"] == 0);
    CHECK(p["objective"] == "throughput");
    CHECK(p["layout"]["pipeline"] == 1);
}

TEST_CASE("which layout serves 70B fastest on eight GPUs, and how is it started") {
    const json best = best_of(arguments{"llama-3.1-70b"} + eight_h100 + chats);
    CHECK(best["gpus"] == 8);
    CHECK(best["layout"]["pipeline"] == 1);
    CHECK(best["launch"].get<std::string>().find("--tensor-parallel-size") != std::string::npos);
}

TEST_CASE("on how few GPUs can 70B be served") {
    const json best =
        best_of(arguments{"llama-3.1-70b"} + eight_h100 + chats + arguments{"--objective", "fewest_gpus"});
    CHECK(best["gpus"].get<int>() <= 3);
}

TEST_CASE("how is a mixture of experts served on eight H200") {
    const json best =
        best_of(arguments{"deepseek-v3", "--gpu", "h200-sxm5-141gb", "--gpus", "8", "--runtime", "sglang"} + chats);
    CHECK(best["layout"]["expert"].get<int>() > 1);
}

TEST_CASE("how is 405B trained on 1,024 GPUs") {
    const json p =
        plan_of({"llama-3.1-405b", "--task", "pretraining", "--gpu", "h100-sxm5-80gb", "--gpus", "1024", "--sequence",
                 "8192", "--global_batch", "512", "--recompute", "selective", "--runtime", "megatron"});
    CHECK(p["verdict"] == "fits");
    CHECK(p["layout"]["pipeline"].get<int>() > 1);
}

TEST_CASE("ZeRO 3 alone takes all GPUs") {
    const json p = plan_of({"llama-3.1-8b", "--task", "pretraining", "--gpu", "h100-sxm5-80gb", "--gpus", "8", "--zero",
                            "3", "--sequence", "4096", "--runtime", "pytorch"});
    CHECK(p["layout"]["data"] == 8);
    CHECK(p["idle_gpus"] == 0);
}

TEST_CASE("what is the largest batch within 50 ms a token, and in which formats") {
    const json best = best_of(arguments{"llama-3.1-70b"} + eight_h100 +
                              arguments{"--prompt", "1024", "--output", "256", "--max_batch", "512", "--try_weights",
                                        "bf16,fp8_e4m3", "--max_time_per_token", "0.05"});
    CHECK(best["batch"].get<int>() > 1);
    CHECK(best["time_per_output_token"]["expected"].get<double>() <= 0.05);
}

TEST_CASE("what does a token cost at least") {
    const json best = best_of(arguments{"llama-3.1-8b"} + eight_h100 + chats +
                              arguments{"--objective", "cost_per_token", "--gpu_hour", "2.5"});
    CHECK(best["gpus"].get<int>() < 8);
}

TEST_CASE("which micro-batch and recomputation train fastest") {
    const arguments training{"llama-3.1-8b", "--task", "pretraining",    "--gpu", "h100-sxm5-80gb", "--gpus",  "8",
                             "--sequence",   "4096",   "--global_batch", "64",    "--runtime",      "megatron"};
    const json plain = best_of(training);
    const json free = best_of(training + arguments{"--vary", "micro_batch,recompute"});
    CHECK(free["tokens_per_second"].get<double>() >= plain["tokens_per_second"].get<double>());
}

TEST_CASE("a degree that is given stays, and the others are searched") {
    const json best = best_of(arguments{"llama-3.1-70b", "--tensor", "4"} + eight_h100 + chats);
    CHECK(best["layout"]["tensor"] == 4);
    CHECK(best["layout"]["data"] == 2);
}

TEST_CASE("a search says what it assumed, less what it chooses") {
    const arguments asked{"search", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--runtime", "vllm", "--json"};
    const json assumed = run(asked).json()["assumed"];
    CHECK(assumed["task"] == "serving");
    CHECK(assumed["context"] == 131072);
    CHECK(assumed["batch"] == 1);
    CHECK(assumed["runtime_versions"].is_string());
    CHECK(assumed == run(arguments{"plan"} + arguments(asked.begin() + 1, asked.end())).json()["assumed"]);
    const json chosen = run(asked + arguments{"--max_batch", "8", "--try_kv_cache", "fp8_e4m3"}).json()["assumed"];
    CHECK_FALSE(chosen.contains("batch"));
    CHECK_FALSE(chosen.contains("kv_cache"));
    const outcome text = run({"search", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb"});
    CHECK(text.out.find("assumed  task serving, weights bf16") != std::string::npos);
}

TEST_CASE("a search that nothing satisfies says why") {
    const arguments asked = arguments{"search", "llama-3.1-70b"} + eight_h100 + chats;
    const outcome slow = run(asked + arguments{"--max_time_per_token", "0.00001"});
    CHECK(slow.exit == bad_input);
    CHECK(slow.err.find("max_time_per_token") != std::string::npos);
    CHECK(run(asked + arguments{"--objective", "speed"}).err.find("objective is speed") != std::string::npos);
    CHECK(run(asked + arguments{"--objective", "cost_per_token"}).err.find("gpu_hour") != std::string::npos);
    CHECK(run(asked + arguments{"--gpu_hour", "-1"}).exit == bad_input);
    CHECK(run(asked + arguments{"--top", "0"}).exit == bad_input);
    CHECK(run({"search", "llama-3.1-405b", "--gpu", "rtx-4090", "--context", "4096"}).exit == does_not_fit);
}

TEST_CASE("where no layout fits, the nearest is shown with its reasons and the command that plans it") {
    const outcome large = run({"search", "llama-3.1-405b", "--gpu", "rtx-4090", "--context", "4096"});
    CHECK(large.out.find("None fits. The nearest:") != std::string::npos);
    CHECK(large.out.find("why      the weights alone take") != std::string::npos);
    CHECK(large.out.find("plan     llmres plan llama-3.1-405b") != std::string::npos);
    const outcome close = run({"search", "llama-3.1-70b", "--task", "pretraining", "--gpu", "h100-sxm5-80gb", "--gpus",
                               "64", "--runtime", "megatron", "--global_batch", "512"});
    CHECK(close.exit == does_not_fit);
    CHECK(close.out.find("None fits at its upper bounds.") != std::string::npos);
    CHECK(close.out.find("why      may need up to") != std::string::npos);
    CHECK(close.out.find("; the least certain part is ") != std::string::npos);
}

TEST_CASE("a space without layouts names the degree that emptied it, and a margin what could be left free") {
    const arguments node{"search", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--gpus", "8"};
    const arguments serving = node + arguments{"--runtime", "vllm"};
    refused(serving + arguments{"--expert", "2"}, {"layout.expert is 2", "expected 1 with"});
    refused(serving + arguments{"--memory_margin", "80000000000"}, {"memory_margin is 80000000000", "leaves free"});
    const arguments training = node + arguments{"--runtime", "megatron", "--task", "pretraining"};
    refused(training + arguments{"--global_batch", "16", "--pipeline", "5", "--virtual_pipeline", "3"},
            {"layout.virtual_pipeline is 3", "expected 1 with"});
}
