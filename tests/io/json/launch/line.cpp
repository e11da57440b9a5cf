// SPDX-License-Identifier: MIT
// Command lines as people paste them, each with its source: which job do they ask for?
#include <llmres/io/json/launch/line.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <llmres/answers/launch.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <vector>

using namespace llmres;
using nlohmann::json;

TEST_CASE("published command lines become the jobs that they start") {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/data/launch_lines.jsonl"};
    int read = 0, all = 0;
    for (std::string row; std::getline(lines, row); ++all) {
        const json expected = json::parse(row);
        const auto asked = read_launch_line(expected["line"].get<std::string>());
        CAPTURE(expected["source"]);
        CAPTURE(expected["line"]);
        if (expected.contains("error")) {
            REQUIRE_FALSE(asked);
            CHECK(expected["error"] == asked.error().field.view());
            continue;
        }
        REQUIRE(asked);
        ++read;
        CHECK(asked->document == expected["job"]);
        CHECK(json(asked->notes) == expected["notes"]);
    }
    CHECK(all >= 45);
    CHECK(read * 100 >= all * 95);
}

TEST_CASE("the command that starts a planned job is read as that job") {
    const cluster node{.gpu = gpus::h100_sxm5_80gb, .gpus = 16};
    const job chat{.model = models::qwen3_30b_a3b, .batch = 16, .context = tokens(8192)};
    struct started {
        runtime engine;
        layout split;
        const char* limit;  ///< the engine's name of the most sequences of a step
    };
    const started all[] = {{runtimes::vllm, {.tensor = 2, .data = 2, .expert = 4, .expert_tensor = 1}, "max_num_seqs"},
                           {runtimes::vllm, {.tensor = 4, .pipeline = 2}, "max_num_seqs"},
                           {runtimes::sglang, {.tensor = 4}, "max_running_requests"},
                           {runtimes::tensorrt_llm, {.tensor = 4, .expert = 4, .expert_tensor = 1}, "max_batch_size"}};
    for (const started& s : all) {
        job j = chat;
        j.runtime = s.engine;
        j.options.max_num_seqs = 24;
        const std::string line = launch_command(j, s.split, node);
        CAPTURE(line);
        const auto asked = read_launch_line(line);
        REQUIRE(asked);
        CHECK(asked->document["context"] == 8192);
        CHECK(asked->document["layout"]["tensor"] == s.split.tensor);
        CHECK(asked->document["layout"]["pipeline"] == s.split.pipeline);
        CHECK(asked->document["layout"].value("expert", 1) == s.split.expert);
        CHECK(asked->document["runtime"].value(s.limit, 0) == 24);
        CHECK(asked->notes.empty());
    }
    job local = chat;
    local.runtime = runtimes::llama_cpp;
    const auto asked = read_launch_line(launch_command(local, {.pipeline = 2}, node), 2);
    REQUIRE(asked);
    CHECK(asked->document["context"] == 8192);
    CHECK(asked->document["batch"] == 16);
    CHECK(asked->document["layout"]["pipeline"] == 2);
}

TEST_CASE("words that a shell has split are read as the line is") {
    const auto words = read_launch_line(
        std::vector<std::string>{"vllm", "serve", "qwen3-8b", "-tp", "2", "--hf-overrides", R"({"a b": 1})"});
    REQUIRE(words);
    CHECK(words->document["layout"]["tensor"] == 2);
    CHECK(words->notes.size() == 1);
    CHECK(read_launch_line(std::vector<std::string>{}).error().field == "line");
    std::vector<std::string> many{"vllm", "serve", "m", "--api-key"};
    many.resize(5'000, "a");
    CHECK(read_launch_line(many));
    many.emplace_back("a");
    CHECK(read_launch_line(many).error().value == "too many words");
}

TEST_CASE("a line is split for whoever reads other programs' options") {
    const auto commands = split_launch_line("cd x && trl sft --packing \\\n --lora_r 8");
    REQUIRE(commands);
    CHECK(*commands ==
          std::vector<std::vector<std::string>>{{"cd", "x"}, {"trl", "sft", "--packing", "--lora_r", "8"}});
    CHECK(split_launch_line("'").error().field == "line");
}

TEST_CASE("hostile lines are refused by name, soon") {
    const auto begin = std::chrono::steady_clock::now();
    std::string dollars, brackets, options = "vllm serve m", quotes = "vllm serve '",
                                   deep = "vllm serve m --hf-overrides '";
    for (int i = 0; i < 100'000; ++i) dollars += "$(", brackets += "<", quotes += "\\'";
    for (int i = 0; i < 2'000; ++i) options += " --speculative-config.a" + std::to_string(i) + " 1";
    for (int i = 0; i < 1000; ++i) deep += "{\"a\":";
    for (const std::string& line :
         {std::string(10'000'000, 'x'), std::string(10'000'000, ' '), std::string(900'000, '\''),
          std::string(900'000, '\\'), std::string(900'000, '-'), dollars, brackets, quotes, deep + "'",
          std::string{"vllm serve m --max-model-len 1;rm -rf /tmp/x"}, "vllm serve " + dollars,
          "vllm serve m " + std::string(900'000, '-')}) {
        const auto asked = read_launch_line(line);
        if (!asked) CHECK_FALSE(asked.error().expected.empty());
    }
    CHECK(read_launch_line(options));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}
