// SPDX-License-Identifier: MIT
// Every remedy that the program prints for random jobs that do not fit is run as printed, and fits. By itself a few
// jobs; LLMRES_REMEDY_JOBS=500 says how many.
#include <doctest/doctest.h>

#include "../program_checks.hpp"
#include "../sanitized.hpp"
#include "shell_words.hpp"

#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace program_checks;
using nlohmann::json;

namespace {

/// Draws jobs as people ask for them.
class job_maker {
public:
    arguments next() {
        arguments job{"plan",
                      one_of({"llama-3.1-8b", "llama-3.1-70b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b",
                              "gemma-3-27b", "qwen2.5-32b", "mistral-7b", "phi-4", "gpt-oss-20b"}),
                      "--gpu",
                      one_of({"rtx-3090", "rtx-4090", "a100-sxm4-80gb", "h100-sxm5-80gb", "v100-sxm2-32gb", "l4",
                              "rtx-3060-12gb", "mi300x", "h200-sxm5-141gb", "t4"})};
        add(job, "--gpus", {"1", "1", "2", "4", "8", "16"});
        if (maybe(3)) add(job, "--host_memory", {"32GiB", "128GiB", "1TiB"});
        if (maybe(3))
            training(job);
        else
            serving(job);
        return job;
    }

private:
    void serving(arguments& job) {
        const std::string runtime =
            one_of({"vllm", "llama.cpp", "sglang", "tensorrt-llm", "", "ollama", "huggingface"});
        if (!runtime.empty()) append(job, {"--runtime", runtime});
        add(job, "--context", {"2048", "8192", "32768"});
        add(job, "--batch", {"1", "4", "64", "256"});
        if (runtime == "llama.cpp" || runtime == "ollama") add(job, "--weights", {"q4_k_m", "q8_0", "bf16"});
        if (maybe(4)) add(job, "--tensor", {"2", "4"});
    }
    void training(arguments& job) {
        const bool tuning = maybe(2);
        append(job, {"--task", tuning ? "finetuning" : "pretraining"});
        add(job, "--sequence", {"1024", "4096", "16384"});
        add(job, "--micro_batch", {"1", "4", "16"});
        const std::string runtime = one_of({"pytorch", "huggingface", "", "deepspeed", "megatron", "torchtune"});
        if (!runtime.empty()) append(job, {"--runtime", runtime});
        if (tuning && maybe(2)) append(job, {"--adapter_kind", "lora", "--adapter_rank", "16"});
        if (maybe(3)) add(job, "--zero", {"1", "2", "3"});
        if (maybe(4)) add(job, "--attention", {"flash", "eager"});
    }
    bool maybe(int one_in) { return drawn_() % static_cast<unsigned>(one_in) == 0; }
    std::string one_of(const std::vector<std::string>& of) { return of[drawn_() % of.size()]; }
    void add(arguments& job, const std::string& flag, const std::vector<std::string>& of) {
        append(job, {flag, one_of(of)});
    }

    static void append(arguments& a, const arguments& b) { a.insert(a.end(), b.begin(), b.end()); }
    std::mt19937 drawn_{20240607};
};

/// The command lines in an answer.
std::vector<std::string> commands_in(const std::string& answer) {
    std::vector<std::string> commands;
    std::istringstream lines{answer};
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t at = line.find("  llmres plan "); at != std::string::npos)
            commands.push_back(line.substr(at + 2));
    return commands;
}

}  // namespace

TEST_CASE("a remedy in another layout leaves out how experts are split, unless somebody said so") {
    const arguments job{"plan",      "mixtral-8x7b",   "--task", "finetuning", "--sequence", "2048",
                        "--gpu",     "h100-sxm5-80gb", "--gpus", "8",          "--tensor",   "2",
                        "--runtime", "deepspeed",      "--json"};
    int layouts = 0;
    const json answer = run(job).json();
    for (const json& remedy : answer["would_help"]) {
        CAPTURE(remedy.dump());
        layouts += remedy["patch"].contains("layout");
        CHECK_FALSE((remedy["patch"].contains("layout") && remedy["patch"]["layout"].contains("expert_tensor")));
    }
    CHECK(layouts > 0);
}

TEST_CASE("every remedy of random jobs that do not fit, run as printed, fits as it says") {
    const char* asked = std::getenv("LLMRES_REMEDY_JOBS");
    const int wanted = asked != nullptr ? std::atoi(asked) : sanitized ? 3 : 8;
    job_maker draw;
    int unfit = 0;
    int without = 0;
    int remedies = 0;
    int pairs = 0;
    for (int drawn = 0; unfit < wanted && drawn < 20 * wanted; ++drawn) {
        const arguments job = draw.next();
        const outcome o = run(job + arguments{"--json"});
        if (o.exit != does_not_fit) continue;
        ++unfit;
        const json help = o.json()["would_help"];
        const std::vector<std::string> commands = commands_in(run(job).out);
        REQUIRE(commands.size() == help.size());
        without += help.empty();
        for (std::size_t i = 0; i < commands.size(); ++i) {
            CAPTURE(commands[i]);
            arguments words = shell_words(commands[i]);
            words.erase(words.begin());
            const outcome then = run(words + arguments{"--json"});
            CAPTURE(then.err);
            REQUIRE(then.exit == fits);
            const json plan = then.json();
            CHECK(plan["verdict"] == "fits");
            CHECK(plan["verdict"] == help[i]["verdict"]);
            CHECK(plan["time"]["tokens_per_second"] == help[i]["tokens_per_second"]);
            CHECK(plan["layout"] == help[i]["layout"]);
            ++remedies;
            pairs += help[i]["text"].get<std::string>().find(", and ") != std::string::npos;
        }
    }
    CHECK(unfit == wanted);
    CHECK(remedies > unfit);
    MESSAGE(remedies, " remedies of ", unfit, " jobs that do not fit, ", pairs, " of them pairs; ", without,
            " jobs have none");
}
