// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <cstddef>
#include <llmres/io/plan_json.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;
using nlohmann::json;

TEST_CASE("a document's answer is the plan of what it asks for") {
    const json document{{"model", "llama-3.1-8b"}, {"context", 4096}, {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    const auto answer = answer_job(document);
    REQUIRE(answer);
    CHECK(answer->planned.verdict() == verdict::fits);
    CHECK(remedies_of(document, {}, *answer).empty());
    const json_value written = to_json(*answer, {});
    CHECK(written["schema"] == plan_schema);
    CHECK(written["would_help"].empty());
    CHECK(answer_job(json{{"model", "llama-3.1-8b"}}).error().field == "cluster");
}

TEST_CASE("what a document leaves unsaid is told with the value that was taken, and what it says is not") {
    json document{{"model", "qwen3-8b"}, {"task", "finetuning"}, {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    const json_value assumed = answer_job(document)->assumed;
    CHECK(assumed["sequence"] == 2048);
    CHECK(assumed["weights"] == "bf16");
    CHECK(assumed["optimizer"] == "adamw");
    CHECK(assumed["master_weights"] == "fp32");
    CHECK(assumed["micro_batch"] == 1);
    CHECK(assumed["runtime"] == "none");
    CHECK(assumed["gpus"] == 1);
    CHECK_FALSE(assumed.contains("task"));
    CHECK_FALSE(assumed.contains("context"));
    document["sequence"] = 4096;
    document["runtime"] = {{"name", "torchtune"}};
    const json_value less = answer_job(document)->assumed;
    CHECK_FALSE(less.contains("sequence"));
    CHECK(less["runtime_versions"].is_string());
    CHECK(less["master_weights"] == "none");  // torchtune's optimizer steps the weights
    CHECK(less["optimizer_states"] == "bf16");
    document["optimizer"] = "adamw_8bit";
    CHECK_FALSE(answer_job(document)->assumed.contains("optimizer_states"));
    document["optimizer"] = "adafactor_hf";
    CHECK(answer_job(document)->assumed["optimizer_states"] == "fp32");
    document["optimizer"] = "adamw";
    document["adapter"] = {{"kind", "lora"}, {"rank", 8}};
    CHECK(answer_job(document)->assumed["optimizer_states"] == "bf16");
    document["runtime"] = {{"name", "huggingface"}};  // PEFT's adapters are fp32 beside a bf16 base
    CHECK(answer_job(document)->assumed["optimizer_states"] == "fp32");
}

TEST_CASE("the prompt that a served context leaves room for is told, unless it is given") {
    json document{{"model", "qwen3-8b"}, {"context", 4096}, {"output", 96}, {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    CHECK(answer_job(document)->assumed["prompt"] == 4000);
    document.erase("output");
    CHECK(answer_job(document)->assumed["prompt"] == 4096);
    document["prompt"] = 1000;
    CHECK_FALSE(answer_job(document)->assumed.contains("prompt"));
    document["task"] = "finetuning";
    for (const char* key : {"prompt", "context"}) document.erase(key);
    CHECK_FALSE(answer_job(document)->assumed.contains("prompt"));
}

TEST_CASE("a remedy's patch, merged into the document, makes a document that fits") {
    for (json document : {json{{"model", "llama-3.1-70b"},
                               {"weights", "q4_k_m"},
                               {"context", 4096},
                               {"runtime", "llama.cpp"},
                               {"cluster", {{"gpu", "rtx-3090"}}}},
                          json{{"model", "llama-3.1-8b"},
                               {"task", "finetuning"},
                               {"sequence", 8192},
                               {"layout", {{"tensor", 1}}},
                               {"cluster", {{"gpu", "a100-sxm4-80gb"}}}},
                          json{{"model", "llama-3.1-8b"},
                               {"context", 8192},
                               {"batch", 64},
                               {"runtime", {{"name", "vllm"}, {"max_num_batched_tokens", 2048}}},
                               {"cluster", {{"gpu", "l4"}}}}}) {
        const auto answer = answer_job(document);
        REQUIRE(answer);
        REQUIRE(answer->planned.verdict() == verdict::does_not_fit);
        const auto help = remedies_of(document, {}, *answer);
        CHECK(help.size() >= 2);
        for (const document_remedy& r : help) {
            CAPTURE(r.patch.dump());
            json changed = document;
            changed.merge_patch(r.patch);
            CHECK(answer_job(changed)->planned.verdict() == verdict::fits);
        }
    }
}

TEST_CASE("sources are asked once for each name") {
    int asked = 0;
    job_sources counting;
    counting.model = [&](std::string_view name) {
        ++asked;
        return find_preset(name);
    };
    const job_sources once = remembered(counting);
    CHECK(once.model("llama-3.1-8b")->model.name == once.model("llama-3.1-8b")->model.name);
    CHECK(once.model("qwen3-8b"));
    CHECK(asked == 2);
    int opened = 0;
    counting.device = [&](std::string_view path) {
        ++opened;
        return find_no_device(path);
    };
    const job_sources devices = remembered(counting);
    CHECK_FALSE(devices.device("a.json"));
    CHECK_FALSE(devices.device("a.json"));
    CHECK(opened == 1);
}

TEST_CASE("what was chosen so that it fits is told, and what a document says of it is not") {
    json document{{"model", "qwen3-30b-a3b"},
                  {"weights", "q4_k_m"},
                  {"context", 4096},
                  {"runtime", {{"name", "llama.cpp"}, {"fit", true}}},
                  {"cluster", {{"gpu", "rtx-3060-12gb"}, {"host", {{"memory", 64'000'000'000}}}}}};
    const json_value fitted = answer_job(document)->assumed;
    CHECK(fitted.contains("gpu_layers"));
    const auto moved = answer_job(document)->request.job.options.host_expert_layers;
    CHECK(moved > 0);
    CHECK(fitted.value("n_cpu_moe", 0) == moved);
    document["runtime"] = {{"name", "llama.cpp"}, {"n_cpu_moe", 48}};
    CHECK_FALSE(answer_job(document)->assumed.contains("gpu_layers"));
    CHECK_FALSE(answer_job(document)->assumed.contains("n_cpu_moe"));
    document = {{"model", "llama-3.1-8b"},
                {"weights", "q4_k_m"},
                {"context", 4096},
                {"runtime", {{"name", "llama.cpp"}, {"fit", true}}},
                {"cluster", {{"gpu", "h100"}}}};
    CHECK(answer_job(document)->assumed["gpu_layers"] == 33);
    CHECK_FALSE(answer_job(document)->assumed.contains("n_cpu_moe"));
}

TEST_CASE("an adapter's job has no copy of the weights, and a profile's changes need no name") {
    json document{{"model", "qwen3-8b"},
                  {"task", "finetuning"},
                  {"adapter", {{"kind", "lora"}, {"rank", 8}}},
                  {"runtime", "huggingface"},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    CHECK(answer_job(document)->assumed.value("master_weights", "") == "none");
    document = {{"model", "qwen3-8b"},
                {"context", 2048},
                {"runtime", {{"from", "vllm"}, {"cuda_graphs", 0}}},
                {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    const auto changed = answer_job(document);
    CAPTURE(std::string{changed.error().field.view()} + std::string{changed.error().expected.view()});
    REQUIRE(changed);
    CHECK(changed->assumed.value("runtime", "") == "vllm");
}

TEST_CASE("an answer has the memory and the times of its task, and no others") {
    const auto told = [](json document) {
        document["cluster"] = {{"gpu", "h100-sxm5-80gb"}};
        const auto answer = answer_job(document);
        REQUIRE(answer);
        return to_json(*answer, {});
    };
    const json_value training = told({{"model", "llama-3.2-1b"}, {"task", "finetuning"}, {"sequence", 1024}});
    CHECK(training["time"]["step"] > 0.0);
    CHECK(training["time"]["step_bounds"]["low"] <= training["time"]["step"]);
    CHECK_FALSE(training["time"].contains("time_to_first_token"));
    CHECK_FALSE(training["memory"].contains("host"));
    CHECK(training["memory"]["passes"].is_object());
    CHECK(training.value("cache_pool", json_value{}).is_null());
    const json_value serving = told({{"model", "llama-3.2-1b"}, {"prompt", 1000}, {"output", 24}, {"runtime", "vllm"}});
    CHECK_FALSE(serving["time"].contains("step"));
    REQUIRE(serving["time"].contains("steady"));
    CHECK(serving["time"]["steady"]["in_flight"] == 1);
    CHECK_FALSE(serving["memory"].contains("passes"));
    CHECK_FALSE(serving["memory"].contains("host"));
    CHECK(serving["cache_pool"].is_object());
    CHECK(serving["memory"]["needed"]["expected"] < serving["memory"]["expected"]);
    const json_value embedding =
        told({{"model", "qwen3-8b"}, {"head", "embedding"}, {"context", 1024}, {"runtime", "vllm"}});
    CHECK(embedding["time"]["inputs_per_second"] > 0.0);
    CHECK_FALSE(embedding["time"].contains("steady"));
    const json_value refused = told({{"model", "llama-3.1-8b"},
                                     {"context", 131072},
                                     {"runtime", {{"name", "vllm"}, {"gpu_memory_utilization", 0.25}}}});
    CHECK(refused["verdict"] == "does_not_fit");
    CHECK_FALSE(refused["memory"].contains("needed"));
}

TEST_CASE("an answer has the command of what fits, the layout that was given, and both sides where prompts have GPUs") {
    json document{{"model", "llama-3.1-8b"},
                  {"context", 4096},
                  {"runtime", "vllm"},
                  {"layout", {{"tensor", 2}}},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 2}}}};
    const auto told = [&] {
        const auto answer = answer_job(document);
        REQUIRE(answer);
        return to_json(*answer, {});
    };
    json_value answer = told();
    CHECK(answer["layout"]["tensor"] == 2);
    CHECK(answer["layout_chosen"] == false);
    CHECK(answer["objective"].is_null());
    CHECK(answer["launch"].get<std::string>().starts_with("vllm serve MODEL --tensor-parallel-size 2"));
    CHECK(answer["limits"]["max_batch"] > 1);
    CHECK(answer["limits"]["max_context"] == 131072);
    CHECK(answer["limits"]["min_gpus"] == 1);
    CHECK_FALSE(answer.contains("disaggregated"));
    document["layout"] = nullptr;
    answer = told();
    CHECK(answer["layout_chosen"] == true);
    CHECK(answer["objective"] == "throughput");
    document["prefill"] = {{"cluster", {{"gpu", "l40s"}, {"gpus", 2}}}};
    document["prompt"] = 3000;
    document["output"] = 1000;
    answer = told();
    REQUIRE(answer.contains("disaggregated"));
    CHECK(answer["launch"].is_null());
    document["prefill"]["layout"] = {{"tensor", 2}};
    CHECK(told()["disaggregated"]["prefill"]["layout"]["tensor"] == 2);
    document["prefill"]["cluster"]["gpu"] = "rtx-3060-12gb";
    document["prefill"]["layout"] = {{"tensor", 1}};
    CHECK(answer_job(document)->planned.verdict() == verdict::does_not_fit);
    document.erase("prefill");
    document["cluster"] = {{"gpu", "rtx-3060-12gb"}};
    answer = told();
    CHECK(answer["verdict"] == "does_not_fit");
    CHECK(answer["launch"].is_null());
    CHECK(answer["reasons"].size() >= 1);
    document["layout"] = {{"tensor", 7}};
    CHECK_FALSE(answer_job(document));
}

TEST_CASE("prompts on GPUs of their own are refused where they have no layout that may be, or no length") {
    const json document{{"model", "llama-3.1-8b"},
                        {"runtime", "vllm"},
                        {"prompt", 3000},
                        {"output", 1000},
                        {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 2}}},
                        {"prefill", {{"cluster", {{"gpu", "l40s"}, {"gpus", 7}}}}}};
    const auto refused_field = [&](const json& more) {
        json changed = document;
        changed.merge_patch(more);
        const auto answer = answer_job(changed);
        return answer ? "answered" : std::string{answer.error().field.view()};
    };
    CHECK(refused_field(json::object()) == "answered");
    CHECK(refused_field({{"prefill", {{"layout", {{"tensor", 7}}}}}}).starts_with("prefill.layout"));
    CHECK(refused_field({{"prompt", nullptr}, {"context", 4000}}) == "prompt");
}

TEST_CASE("main memory that nobody knows is told as assumed where something lies there, and nowhere else") {
    json document{{"model", "llama-3.2-1b"},
                  {"task", "finetuning"},
                  {"sequence", 1024},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    CHECK_FALSE(answer_job(document)->assumed.contains("host_memory"));
    document["offload"] = {{"optimizer", "host"}};
    REQUIRE(answer_job(document));
    CHECK(answer_job(document)->assumed.contains("host_memory"));
    CHECK(answer_job(document)->assumed["host_memory"].is_null());
    document["cluster"]["host"] = {{"memory", gib(512).in(bytes)}};
    CHECK_FALSE(answer_job(document)->assumed.contains("host_memory"));
}

TEST_CASE("a checkpoint that a node's main memory has no room for does not fit") {
    json document{{"model", "llama-3.2-1b"},
                  {"task", "finetuning"},
                  {"sequence", 1024},
                  {"checkpoint", {{"mode", "async"}}},
                  {"storage", {{"bandwidth", 1e9}}},
                  {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"host", {{"memory", gib(512).in(bytes)}}}}}};
    CHECK(answer_job(document)->planned.verdict() == verdict::fits);
    document["cluster"]["host"]["memory"] = gib(1).in(bytes);
    const json_value small = to_json(*answer_job(document), {});
    CHECK(small["verdict"] == "does_not_fit");
    CHECK(small["reasons"].back()["code"] == "checkpoint_exceeded");
}

TEST_CASE("remedies are those whose document fits, and none of what fits already") {
    json document{{"model", "llama-3.1-8b"}, {"context", 8192}, {"batch", 64}, {"cluster", {{"gpu", "rtx-4090"}}}};
    const auto answer = answer_job(document);
    REQUIRE(answer);
    REQUIRE(answer->planned.verdict() == verdict::does_not_fit);
    const std::vector<document_remedy> help = remedies_of(document, {}, *answer);
    REQUIRE_FALSE(help.empty());
    const json_value told = to_json(help);
    REQUIRE(told.size() == help.size());
    for (std::size_t i = 0; i < help.size(); ++i) {
        CHECK(told[i]["verdict"] == "fits");
        CHECK_FALSE(told[i]["text"].get<std::string>().empty());
        CHECK(told[i]["patch"] == detail::same_json<json_value>(help[i].patch));
        CHECK(told[i]["tokens_per_second"] > 0.0);
    }
    // A source that knows the model no more leaves nothing that fits.
    const job_sources none{.model = [](std::string_view name) { return find_preset(std::string{name} + "-x"); }};
    CHECK(remedies_of(document, none, *answer).empty());
    document["cluster"]["gpu"] = "h200-sxm5-141gb";
    const auto fitting = answer_job(document);
    REQUIRE(fitting);
    REQUIRE(fitting->planned.verdict() == verdict::fits);
    CHECK(remedies_of(document, {}, *fitting).empty());
}

TEST_CASE("layouts that a search found are told with the run and the cost of each") {
    const json document{{"model", "llama-3.2-1b"},  {"task", "pretraining"},
                        {"sequence", 1024},         {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 2}}},
                        {"run", {{"tokens", 1e9}}}, {"cost", {{"gpu_hour", 2}}}};
    const plan_request request = read_job(document).value();
    std::vector<found_layout> best(2);
    const result<search_counts> counts = search(request.job, request.cluster, {}, best);
    REQUIRE(counts);
    REQUIRE(counts->best == 2);
    const json_value told = to_json(best, request).value();
    REQUIRE(told.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(told[i]["run"]["seconds"]["expected"] > 0.0);
        CHECK(told[i]["cost"]["hour"]["rent"]["expected"] == 4.0);
    }
    CHECK(told[0]["run"]["seconds"]["expected"] <= told[1]["run"]["seconds"]["expected"]);
    // What the document's run does not allow in any layout is refused; an interval that no run is as long as is none.
    plan_request wrong = request;
    wrong.run.value.checkpoint_interval = seconds(1'000'000'000);
    wrong.run.value.checkpoint = seconds(1);
    CHECK(to_json(best, wrong).error().field == "run.checkpoint_interval");
    // A layout whose run is shorter than an interval has none, where another's is longer.
    best[1].plan.speed.step[time_term::compute] = {seconds(1000), seconds(1000), seconds(1000)};
    const auto seconds_of = [](const json_value& one) { return one["run"]["seconds"]["expected"].get<double>(); };
    const json_value slower = to_json(best, request).value();
    REQUIRE(seconds_of(slower[1]) > 100 * seconds_of(slower[0]));
    plan_request between = request;
    between.run.value.checkpoint = seconds(1);
    between.run.value.checkpoint_interval = seconds(10 * seconds_of(slower[0]));
    const json_value one_run = to_json(best, between).value();
    CHECK_FALSE(one_run[0].contains("run"));
    CHECK(one_run[1].contains("run"));
    // The first refusal is told where none has a run.
    wrong.run.value.checkpoint_interval = seconds(1e15);
    const error first = runs_and_costs_of(std::span{best}.first(1), wrong).error();
    const error second = runs_and_costs_of(std::span{best}.last(1), wrong).error();
    CHECK(to_text(runs_and_costs_of(best, wrong).error()) == to_text(first));
    CHECK(to_text(first) != to_text(second));
    // Energy is asked for where an objective compares it.
    plan_request asked = request;
    asked.cost = {};
    ask_for(asked, objective::throughput);
    CHECK_FALSE(asked.cost);
    ask_for(asked, objective::energy_per_token);
    REQUIRE(asked.cost);
    CHECK((*asked.cost).pue == maybe<double>{1.0});
    CHECK(to_json(best, asked).value()[0]["cost"]["hour"]["kwh"]["expected"] > 0.0);
}

TEST_CASE("an engine and a trainer that share GPUs leave each other room, and what is proposed fits") {
    const auto help_for = [](const json& more) {
        json document{{"model", "qwen2.5-7b"},
                      {"task", "grpo"},
                      {"runtime", "verl"},
                      {"micro_batch", 2},
                      {"global_batch", 64},
                      {"rollout", {{"sleep", "awake"}, {"gpu_memory_utilization", 0.9}}},
                      {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 8}, {"host", {{"memory", 1'099'511'627'776}}}}}};
        document.merge_patch(more);
        const auto answer = answer_job(document);
        REQUIRE_MESSAGE(answer, answer.error().field.view());
        std::vector<std::string> texts;
        for (const document_remedy& r : remedies_of(document, {}, *answer)) {
            json changed = document;
            changed.merge_patch(r.patch);
            CHECK(answer_job(changed)->planned.verdict() == verdict::fits);
            texts.push_back(to_text(r));
        }
        return texts;
    };
    const auto has = [](const std::vector<std::string>& texts, std::string_view words) {
        return std::ranges::any_of(texts, [&](const std::string& t) { return t.find(words) != std::string::npos; });
    };
    // The largest part that leaves enough to training; one of 0.9 leaves too little even beside what it keeps asleep.
    const auto awake = help_for(json::object());
    CHECK(has(awake, "0.6 of each GPU for the engine"));
    CHECK(has(awake, "an engine that sleeps while others train, and 0.8 of each GPU for the engine"));
    CHECK_FALSE(has(awake, "0.7 of each GPU"));
    const auto sleeping = help_for({{"rollout", {{"gpu_memory_utilization", 0.7}}}});
    CHECK(has(sleeping, "an engine that sleeps while others train"));
    CHECK_FALSE(has(sleeping, "and 0."));
    const auto asleep = help_for({{"rollout", {{"sleep", "level_2"}}}});
    CHECK(has(asleep, "weights and states of what is trained in main memory while answers are generated"));
    CHECK_FALSE(has(asleep, "an engine that sleeps"));
    // Engines of their own, and the trainer's own model, have no such part.
    CHECK_FALSE(has(help_for({{"micro_batch", 64}, {"rollout", {{"sleep", nullptr}, {"gpus", 8}}}}), "engine"));
}
