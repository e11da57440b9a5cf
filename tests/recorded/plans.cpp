// SPDX-License-Identifier: MIT
// Recorded plans: job documents of every kind in plans.jsonl, each with the answers to it. A figure that changes fails
// here, and `make recorded` writes the answers anew, so that the commit that changes a figure shows it. What is
// recorded says that a figure has changed, not that it is right: the tests that are made from sources say that.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "recorded/answers.hpp"

namespace {

using nlohmann::json;

const std::string recorded_file = LLMRES_SOURCE_DIR "/tests/recorded/plans.jsonl";

/// The lines of the file, in their order.
const std::vector<std::string>& lines() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> read;
        std::ifstream file{recorded_file};
        for (std::string line; std::getline(file, line);) read.push_back(line);
        return read;
    }();
    return all;
}

/// The runtime that a line's job names, without its version.
std::string runtime_of(const json& line) {
    const json named = line["job"].value("runtime", json("none"));
    const std::string name = named.is_string() ? named.get<std::string>() : named.value("name", std::string{"none"});
    return name.substr(0, name.find('@'));
}

/// What a line asks beside a plan: "events", "limits", "search", or "plan" where it asks for nothing else.
std::string question_of(const json& line) {
    for (const char* const question : {"search", "limits", "events"})
        if (line.contains(question)) return question;
    return "plan";
}

using names = std::vector<std::string_view>;

bool has(const names& all, std::string_view name) { return std::find(all.begin(), all.end(), name) != all.end(); }

/// Answers the lines of some runtimes that ask one question. Each such group is a test case, and short.
void check(std::string_view question, const names& runtimes, int least = 1) {
    int found = 0;
    for (const std::string& line : lines()) {
        const json read = json::parse(line);
        if (question_of(read) != question || !has(runtimes, runtime_of(read))) continue;
        ++found;
        const std::string now = recorded::answered(read);
        CHECK_MESSAGE(now == line, "recorded:\n", line, "\nanswered (`make recorded` writes it):\n", now);
    }
    CHECK(found >= least);
}

const names sharded{"torchtune", "torchtitan", "graph_trainer"};
const names whole_models{"litgpt", "none"};
const names deep_speed{"deepspeed", "megatron_deepspeed"};
const names without_pool{"transformers", "autoawq", "exllama", "exllamav2", "exllamav3", "ctranslate2", "mlx"};
const names with_pool{"sglang", "tensorrt-llm", "lmdeploy", "tgi"};
const names ggml{"ik_llama.cpp", "ollama"};
const std::vector<names> all_runtimes{{"pytorch"}, {"huggingface"}, {"megatron"}, {"nanotron"},
                                      {"vllm"},    {"llama.cpp"},   sharded,      whole_models,
                                      deep_speed,  without_pool,    with_pool,    ggml};

}  // namespace

TEST_CASE("plans without sharding are as recorded") { check("plan", whole_models); }
TEST_CASE("plans of PyTorch are as recorded") { check("plan", {"pytorch"}); }
TEST_CASE("plans of Hugging Face's trainers are as recorded") { check("plan", {"huggingface"}); }
TEST_CASE("plans of torchtune and torchtitan are as recorded") { check("plan", sharded); }
TEST_CASE("plans of DeepSpeed are as recorded") { check("plan", deep_speed); }
TEST_CASE("plans of Megatron-Core are as recorded") { check("plan", {"megatron"}); }
TEST_CASE("plans of nanotron are as recorded") { check("plan", {"nanotron"}); }
TEST_CASE("plans of vLLM are as recorded") { check("plan", {"vllm"}); }
TEST_CASE("plans of other engines with a pool are as recorded") { check("plan", with_pool); }
TEST_CASE("plans of engines without a pool are as recorded") { check("plan", without_pool); }
TEST_CASE("plans of llama.cpp are as recorded") { check("plan", {"llama.cpp"}); }
TEST_CASE("plans of llama.cpp's kin are as recorded") { check("plan", ggml); }

TEST_CASE("tensors of steps are as recorded, without sharding") { check("events", whole_models); }
TEST_CASE("tensors of PyTorch's steps are as recorded") { check("events", {"pytorch"}); }
TEST_CASE("tensors of Hugging Face's steps are as recorded") { check("events", {"huggingface"}); }
TEST_CASE("tensors of torchtune's and torchtitan's steps are as recorded") { check("events", sharded); }
TEST_CASE("tensors of DeepSpeed's steps are as recorded") { check("events", deep_speed); }
TEST_CASE("tensors of Megatron-Core's steps are as recorded") { check("events", {"megatron"}); }
TEST_CASE("tensors of nanotron's steps are as recorded") { check("events", {"nanotron"}); }

TEST_CASE("what fits at most and what would help is as recorded") {
    for (const names& runtimes : all_runtimes) check("limits", runtimes, 0);
}
TEST_CASE("what searches find is as recorded") {
    for (const names& runtimes : all_runtimes) check("search", runtimes, 0);
}

TEST_CASE("every recorded line is in a group, and there once") {
    std::vector<std::string> jobs;
    for (const std::string& line : lines()) {
        const json read = json::parse(line);
        CAPTURE(line);
        CHECK(std::any_of(all_runtimes.begin(), all_runtimes.end(),
                          [&](const names& group) { return has(group, runtime_of(read)); }));
        jobs.push_back(read["job"].dump() + read.value("request", json()).dump());
    }
    std::sort(jobs.begin(), jobs.end());
    CHECK(std::adjacent_find(jobs.begin(), jobs.end()) == jobs.end());
}
