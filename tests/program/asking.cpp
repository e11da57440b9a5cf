// SPDX-License-Identifier: MIT
// Questions as people type them: a model and a GPU without options, a model without a GPU, a word of an answer.
#include <doctest/doctest.h>

#include "../run_program.hpp"

#include <algorithm>
#include <llmres/answers/job_plan.hpp>
#include <llmres/memory/breakdown.hpp>
#include <set>
#include <string>
#include <vector>

using nlohmann::json;
using run_program::outcome;
using run_program::run;

namespace {

using arguments = std::vector<std::string>;

arguments operator+(arguments a, const arguments& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// The cluster that a plan is asked for.
json cluster_of(const arguments& typed) {
    const outcome o = run(typed + arguments{"-c", "2048", "--json"});
    CAPTURE(o.err);
    REQUIRE((o.exit == 0 || o.exit == 1));
    return o.json()["cluster"];
}

}  // namespace

TEST_CASE("a GPU may stand behind the model, in as many words as its name has") {
    const std::vector<std::pair<arguments, std::string>> typed{
        {{"plan", "llama-3.2-1b", "3060"}, "rtx-3060-12gb"},
        {{"plan", "llama-3.2-1b", "RTX", "3060", "12GB"}, "rtx-3060-12gb"},
        {{"plan", "llama-3.2-1b", "--gpu", "RTX", "3060", "12GB"}, "rtx-3060-12gb"},
        {{"plan", "--gpu", "RTX", "4090", "llama-3.2-1b"}, "rtx-4090"},
        {{"plan", "llama-3.2-1b", "--gpu", "a100", "80gb", "--batch", "2"}, "a100-sxm4-80gb"},
        {{"plan", "llama-3.2-1b", "M4", "Max", "--runtime", "mlx"}, "apple-m4-max"},
        {{"llama-3.2-1b", "3060"}, "rtx-3060-12gb"},
        {{"llama-3.2-1b", "--gpu", "4090"}, "rtx-4090"}};
    for (const auto& [words, id] : typed) {
        CAPTURE(words.back());
        CHECK(cluster_of(words)["gpu"] == id);
    }
    for (const arguments& counted : {arguments{"2x", "RTX", "3090"}, arguments{"2xRTX 3090"}, arguments{"3090:2"}}) {
        const json cluster = cluster_of(arguments{"plan", "llama-3.2-1b"} + counted);
        CHECK(cluster["gpu"] == "rtx-3090");
        CHECK(cluster["gpus"] == 2);
    }
    CHECK(run({"compare", "--gpu", "4090", "llama-3.2-1b", "qwen3-0.6b", "-c", "2048", "--json"}).json()["plans"] == 2);
    const outcome neither = run({"plan", "llama-3.2-1b", "no-such-card"});
    CHECK(neither.exit == 2);
    CHECK(neither.err.find("no-such-card") != std::string::npos);
    const outcome extra = run({"qwen3-8b", "l4", "extra"});
    CHECK(extra.exit == 2);
    CHECK(extra.err.find("argument is l4 extra; expected a GPU") != std::string::npos);
    const outcome no_model = run({"no-such-model", "3060"});
    CHECK(no_model.exit == 2);
    CHECK(no_model.err.find("command is no-such-model") != std::string::npos);
}

TEST_CASE("a plan without a GPU, or on any, lists the smallest that hold the job") {
    for (const arguments& asked : {arguments{"plan", "qwen3-8b"}, arguments{"plan", "qwen3-8b", "--gpu", "any"}}) {
        const outcome o = run(asked + arguments{"-c", "8192"});
        CHECK(o.exit == 0);
        CHECK(o.out.find(" by usable\n") != std::string::npos);
        CHECK(o.out.find("does_not_fit") == std::string::npos);
        CHECK(o.out.find("\nfirst    llmres plan qwen3-8b ") != std::string::npos);
    }
    const outcome listed = run({"plan", "qwen3-8b", "-c", "8192", "--gpu", "any", "--json"});
    CHECK(listed.exit == 0);
    CHECK(listed.json() == run({"compare", "qwen3-8b", "-c", "8192", "--gpu", "any", "--sort", "usable", "--fits",
                                "--top", "12", "--json"})
                               .json());
    CHECK(run({"plan", "qwen3-8b", "-c", "8192", "--json"}).exit == 2);  // who reads a plan gets no list unasked
    const json rows = run({"compare", "qwen3-8b", "-c", "8192", "--gpu", "any", "--sort", "usable", "--fits", "--json"})
                          .json()["rows"];
    std::set<double> usable;
    double before = 0;
    bool fits_surely = true;
    for (const json& row : rows) {
        const bool fits = row["verdict"] == "fits";
        if (fits != fits_surely) before = 0;
        fits_surely = fits;
        const double here = row["memory"]["usable"].get<double>();
        CHECK(here >= before);
        before = here;
        usable.insert(here);
    }
    CHECK(usable.size() > 10);
    CHECK(run({"plan", "qwen3-8b", "-c", "8192", "--json"}).err.find("cluster is absent") != std::string::npos);
    CHECK(run({"plan", "llama-3.1-405b", "--context", "8192"}).exit == 1);  // no single GPU holds it
}

TEST_CASE("explain knows every word that begins a line of an answer, every verdict, phase, term and assumed field") {
    std::set<std::string> words;
    for (const auto& name : llmres::names_of<llmres::verdict>) words.emplace(name);
    for (const auto& name : llmres::names_of<llmres::phase>) words.emplace(name);
    for (const auto& name : llmres::names_of<llmres::time_term>) words.emplace(name);
    for (const auto& name : llmres::names_of<llmres::memory_term>) words.emplace(name);
    const arguments serving{"llama-3.1-8b", "--gpu", "2x4090",  "--context", "8192",
                            "--runtime",    "vllm",  "--batch", "16"};
    const arguments training{"llama-3.1-8b", "--gpu", "8xh100", "--task", "pretraining", "--zero", "3"};
    for (const arguments& job : {serving, training}) {
        const outcome text = run(arguments{"plan"} + job);
        std::string line;
        for (const char c : text.out) {
            if (c != '\n') {
                line += c;
                continue;
            }
            const std::size_t end = line.find("  ");
            if (end != std::string::npos && end > 2 && line.find(',') > end) words.insert(line.substr(0, end));
            line.clear();
        }
        const json answer = run(arguments{"plan"} + job + arguments{"--json"}).json();
        for (const auto& [field, value] : answer["assumed"].items()) words.insert(field);
    }
    CHECK(words.contains("assumed"));
    CHECK(words.size() > 40);
    for (const std::string& word : words) {
        CAPTURE(word);
        const outcome o = run({"explain", word});
        CHECK(o.exit == 0);
        CHECK(o.out.size() > word.size() + 30);
    }
    for (const char* of_answers : {"goodput", "failures", "inputs_per_second"})
        CHECK(run({"explain", of_answers}).exit == 0);
    CHECK(run({"explain", "tight", "--json"}).json()["schema"] == "llmres/word/1");
    CHECK(run({"explain", "master-weights"}).exit == 0);
    CHECK(run({"explain", "no_such_word"}).exit == 2);
}

TEST_CASE("limits of time and parts of a whole may have their unit") {
    const arguments job{"llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--gpus", "2", "--prompt", "1000",
                        "--output",     "200",   "--runtime",      "vllm"};
    const json plain = run(arguments{"search"} + job +
                           arguments{"--max_time_to_first_token", "2", "--max_time_per_token", "0.03", "--json"})
                           .json();
    const json spelled =
        run(arguments{"search"} + job + arguments{"--ttft", "2000ms", "--tpot", "30 ms", "--json"}).json();
    CHECK(plain["best"].size() > 0);
    CHECK(spelled["best"] == plain["best"]);
    CHECK(run(arguments{"search"} + job + arguments{"--ttft", "2 weeks"})
              .err.find("max_time_to_first_token is 2 weeks") != std::string::npos);
    const auto reused = [&](const char* part) {
        return run(arguments{"plan"} + job + arguments{"--prefix_hit_rate", part, "--json"}).json()["time"];
    };
    CHECK(reused("50%") == reused("0.5"));
    CHECK(reused("50%") != reused("0"));
}

TEST_CASE("fit lists the models that a card runs, each in the widest format that fits, as plan answers") {
    const outcome o = run({"fit", "RTX", "3060", "12GB", "--top", "0", "--json"});
    REQUIRE(o.exit == 0);
    const json rows = o.json()["rows"];
    CHECK(rows.size() == o.json()["fitting"]);
    CHECK(rows.size() > 20);
    CHECK(rows.size() < o.json()["models"].get<std::size_t>());
    double before = 1e300;
    for (const json& row : rows) {
        CAPTURE(row["model"]);
        CHECK(row["parameters"].get<double>() <= before);
        before = row["parameters"].get<double>();
    }
    const std::vector<std::string> widest{"f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k"};
    for (const char* model : {"qwen3-14b", "llama-3.1-8b", "qwen3-0.6b"}) {
        CAPTURE(model);
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const json& r) { return r["model"] == model; });
        REQUIRE(row != rows.end());
        const auto verdict = [&](const std::string& weights) {
            return run({"plan", model, "--gpu", "rtx-3060-12gb", "--runtime", "llama.cpp", "-c", "8192", "--weights",
                        weights, "--json"})
                .json()["verdict"];
        };
        const auto chosen = std::find(widest.begin(), widest.end(), (*row)["weights"].get<std::string>());
        REQUIRE(chosen != widest.end());
        CHECK(verdict(*chosen) == "fits");
        if (chosen != widest.begin()) CHECK(verdict(*(chosen - 1)) != "fits");
    }
    const json coders = run({"fit", "4090", "--use", "code", "--sort", "throughput", "--json"}).json()["rows"];
    for (std::size_t i = 1; i < coders.size(); ++i)
        CHECK(coders[i - 1]["tokens_per_second"].get<double>() >= coders[i]["tokens_per_second"].get<double>());
    // Checkpoints, for an engine that reads them; every model that is listed is known.
    const json checkpoints = run({"fit", "h200-141gb", "--runtime", "vllm", "--top", "0", "--json"}).json()["rows"];
    CHECK(!checkpoints.empty());
    for (const json& row : checkpoints)
        CHECK(std::find(widest.begin(), widest.end(), row["weights"].get<std::string>()) == widest.end());
    const json large = run({"fit", "--gpu", "b200-180gb", "--gpus", "16", "--top", "0", "--json"}).json();
    CHECK(large["fitting"] == large["models"]);
    const json all = run({"fit", "3060", "--all", "--json"}).json();
    CHECK(all["models"].get<std::size_t>() > o.json()["models"].get<std::size_t>());
    CHECK(all["rows"].size() == 15);
    CHECK(run({"fit"}).err.find("gpu is absent") != std::string::npos);
    CHECK(run({"fit", "no-such-card"}).err.find("gpu is no-such-card") != std::string::npos);
    CHECK(run({"fit", "3060", "--all", "--use", "chat"}).err.find("use is chat") != std::string::npos);
    CHECK(run({"fit", "3060", "-c", "-5"}).err.find("context") != std::string::npos);
    // What is longer than some models read leaves these out, and what is published in 8 bits has every GGUF mix.
    const outcome longer = run({"fit", "4090", "-c", "65536", "--top", "0"});
    CHECK(longer.exit == 0);
    CHECK(longer.out.find("qwen3-0.6b") == std::string::npos);
    CHECK(longer.out.find("assumed  times of 1024 tokens read and 256 written\n") != std::string::npos);
    const json wide = run({"fit", "--gpu", "h200-141gb", "--gpus", "8", "--top", "0", "--json"}).json()["rows"];
    const auto deepseek =
        std::find_if(wide.begin(), wide.end(), [](const json& row) { return row["model"] == "deepseek-v3"; });
    REQUIRE(deepseek != wide.end());
    CHECK((*deepseek)["weights"] == "q8_0");
    const json of_any_engine = run({"fit", "3060", "--runtime", "none", "--top", "0", "--json"}).json()["rows"];
    CHECK(!of_any_engine.empty());
    for (const json& row : of_any_engine) CHECK(row["weights"].get<std::string>().find("mlx") == std::string::npos);
    CHECK(run({"fit", "3060", "--use", "cod"}).err.find("use is cod") != std::string::npos);
    CHECK(run({"fit", "3060", "--top", "-1"}).err.find("top is -1") != std::string::npos);
    CHECK(run({"fit", "3060", "--runtime", "no-such-engine"}).exit == 2);
}

TEST_CASE("what is learned of preferred answers is explained, and refused by name where it is misspelt") {
    const auto explained = [](const char* term, const arguments& more, const char* task = "dpo") {
        const outcome o = run(arguments{"explain", term, "llama-3.1-8b", "--task", task, "--micro_batch", "2", "--gpu",
                                        "h200-sxm5-141gb"} +
                              more + arguments{"--json"});
        REQUIRE(o.exit == 0);
        return o.json()["figures"];
    };
    CHECK(explained("activations", {"--runtime", "trl"})["micro-batch"] == "2 pairs x 2 x 1024 tokens");
    CHECK(explained("activations", {"--runtime", "trl"}, "kto")["micro-batch"] == "2 x 1024 tokens");
    CHECK(explained("reference", {"--runtime", "trl"})["format"] == "fp32");
    const arguments whole{"--runtime", "llama-factory", "--adapter_kind", "none"};
    CHECK(explained("reference", whole)["format"] == "bf16");
    CHECK(explained("reference", whole)["learned by"] == "dpo");
    CHECK_FALSE(explained("reference", {"--runtime", "llama-factory"}).contains("format"));
    CHECK(explained("logits", {"--runtime", "trl"})["loss"] == "fused_log_probabilities");

    const auto says = [](const arguments& typed, const std::string& words) {
        const outcome o = run(arguments{"plan", "qwen3-8b", "--gpu", "h200-sxm5-141gb"} + typed);
        CHECK(o.exit == 2);
        CHECK_MESSAGE(o.err.find(words) != std::string::npos, o.err);
    };
    says({"--task", "dpoo"}, "dpo, kto, orpo, simpo, cpo or reward");
    says({"--task", "embeding"}, "embedding, reranking or classification");
    says({"--task", "sft", "--deepspeed", "missing.json"}, "deepspeed is missing.json; expected a file");
    // A preference is learned in training, as an adapter is trained.
    CHECK(run({"plan", "qwen3-8b", "--gpu", "b300", "--preference", "dpo", "--adapter_kind", "lora", "--sequence",
               "512", "--json"})
              .json()["job"]["task"] == "finetuning");
    CHECK(run({"help", "training"}).out.find("dpo, ipo") != std::string::npos);
}

TEST_CASE("fit lists models that are served, and says where other tasks are answered") {
    const auto refuses = [](const arguments& typed, const arguments& words) {
        const outcome o = run(typed);
        CHECK(o.exit == 2);
        for (const std::string& word : words) CHECK_MESSAGE(o.err.find(word) != std::string::npos, o.err);
    };
    refuses({"fit", "3060", "--task", "embedding"}, {"head is embedding", "--use embedding"});
    refuses({"fit", "3060", "--head", "classification"}, {"head is classification", "llmres compare"});
    refuses({"fit", "3060", "--task", "finetuning"}, {"task is finetuning", "serving", "llmres compare"});
    refuses({"fit", "3060", "--task", "dpo"}, {"preference is dpo", "served"});
    refuses({"fit", "3060", "--preference", "dpo"}, {"preference is dpo", "served"});
    refuses({"fit", "3060", "--tokens", "1B"}, {"tokens", "llmres plan"});
    refuses({"fit", "3060", "--storage_bandwidth", "2GB/s"}, {"storage_bandwidth", "llmres plan"});
    CHECK(run({"fit", "3060", "--task", "serve", "--top", "1"}).exit == 0);
    const outcome embeds = run({"fit", "3060", "--use", "embedding"});
    CHECK(embeds.out.find("times of a text that fills it") != std::string::npos);
    CHECK(embeds.out.find("256 written") == std::string::npos);
}

TEST_CASE("fit has no prices, and says what has") {
    for (const arguments& priced : {arguments{"--electricity", "0.3"}, arguments{"--gpu_hour", "$2"}}) {
        const outcome o = run(arguments{"fit", "3060"} + priced);
        CHECK(o.exit == 2);
        CHECK(o.err.find(priced[0].substr(2)) != std::string::npos);
        CHECK(o.err.find("plan, compare and buy") != std::string::npos);
    }
}

TEST_CASE("formats, tokens and prices are asked for in the words of other tools") {
    const json rows = run({"compare", "llama-3.1-8b", "--gpu", "4090", "--weights", "any", "-c", "8k", "--runtime",
                           "llama.cpp", "--json"})
                          .json()["rows"];
    CHECK(rows.size() == 7);
    for (const json& row : rows) CHECK(row["weights"].get<std::string>() != "any");
    const json checkpoints =
        run({"compare", "llama-3.1-8b", "--gpu", "h100", "--weights", "any", "-c", "8k", "--runtime", "vllm", "--json"})
            .json();
    CHECK(checkpoints["rows"].size() == 3);
    CHECK(checkpoints["refused"].empty());
    CHECK(run({"models", "--gpu", "3060", "--json"}).json()["schema"] == "llmres/fit/1");
    const arguments training{"plan", "llama-3.1-8b", "--task", "pretraining", "--gpu",     "h100-sxm5-80gb", "--gpus",
                             "8",    "--seq",        "8192",   "--json",      "--runtime", "torchtitan"};
    const json run_of = run(training + arguments{"--tokens", "15T"}).json();
    CHECK(run(training + arguments{"--train-tokens", "15T"}).json() == run_of);
    for (const char* all : {"8", "-1"}) {
        const json sharded =
            run(training + arguments{std::string{"--parallelism.data_parallel_shard_degree="} + all}).json();
        CHECK(sharded["layout"]["zero"] == 3);
        CHECK(sharded["layout"]["data"] == 8);
    }
    CHECK(run(training + arguments{"--cost-per-hour", "2.5"}).json() ==
          run(training + arguments{"--gpu_hour", "2.5"}).json());
}
