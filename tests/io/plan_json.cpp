// SPDX-License-Identifier: MIT
#include <llmres/io/plan_json.hpp>

#include <doctest/doctest.h>
#include <array>
#include <cstddef>
#include <fstream>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/all.hpp>

#include <string>

#include "../random_documents.hpp"
#include "../sanitized.hpp"

using namespace llmres;

namespace {

const cluster one{.gpu = gpus::h100_sxm5_80gb};

json_value plan_of(const job& j) {
    const result<job_plan> p = plan(j, layout{}, one);
    REQUIRE(p);
    return to_json(*p, j, one, layout_choice::given);
}

/// Every number below must be a whole one.
void integers(const json_value& tree) {
    if (tree.is_structured())
        for (const auto& [key, value] : tree.items()) {
            CAPTURE(key);
            integers(value);
        }
    else if (tree.is_number())
        CHECK(tree.is_number_integer());
}

}  // namespace

TEST_CASE("sizes are whole bytes, times seconds") {
    const job j{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
    const json_value p = plan_of(j);
    for (const char* object : {"memory", "layout", "limits", "buffers", "cluster"}) integers(p[object]);
    for (const auto& [term, time] : p["time"]["terms"].items()) CHECK(time.is_number_float());
    CHECK(plan_of({.model = models::llama_3_1_8b, .context = tokens(4096)})["memory"]["terms"]["weights"] ==
          16'060'522'496);
    CHECK(p["time"]["time_per_output_token"].get<double>() > 1e-4);
    CHECK(p["time"]["time_per_output_token"].get<double>() < 1);
    CHECK(p["layout_chosen"] == false);
    CHECK(p["verdict"] == "fits");
    CHECK(p["would_help"].empty());
}

TEST_CASE("an upper bound that is cut says by how much, and no other does") {
    job j{.model = models::llama_2_7b, .task = task::finetuning, .runtime = runtimes::huggingface};
    j.sequence = tokens(512);
    j.recompute = recompute::full;
    cluster c{.gpu = gpus::h200_sxm5_141gb};
    const auto memory_with = [&](byte_count room) {
        c.in_use = byte_count{};
        c.in_use = available_memory(c) - room;
        return to_json(plan(j, layout{}, c).value(), j, c, layout_choice::given)["memory"];
    };
    const interval<byte_count> whole = plan(j, layout{}, c)->memory.total();
    CHECK_FALSE(memory_with(whole.high).contains("released"));
    const json_value cut = memory_with(whole.high - mib(64));
    CHECK(cut["released"] == mib(64).in(bytes));
    CHECK(cut["high"] == cut["usable"]);
    integers(cut);
}

TEST_CASE("the schemas enumerate the names that C++ has") {
    const auto schema = [](const std::string& name) {
        std::ifstream file{LLMRES_SOURCE_DIR "/docs/schema/" + name};
        return json_value::parse(file);
    };
    const json_value common = schema("common.json")["$defs"];
    CHECK(common["verdict"]["enum"] == json_value(names_of<verdict>));
    CHECK(common["memory_term"]["enum"] == json_value(names_of<memory_term>));
    CHECK(common["time_term"]["enum"] == json_value(names_of<time_term>));
    const json_value reasons = schema("plan.json")["properties"]["reasons"];
    CHECK(reasons["items"]["properties"]["code"]["enum"] == json_value(names_of<reason_code>));
}

TEST_CASE("every memory term and every time term is there, under its C++ name") {
    const json_value p = plan_of({.model = models::llama_3_1_8b, .context = tokens(4096)});
    CHECK(p["memory"]["terms"].size() == names_of<memory_term>.size() - 1);
    CHECK(p["time"]["terms"].size() == names_of<time_term>.size());
    for (const auto term : names_of<memory_term>)  // a reference only where there is one
        CHECK(p["memory"]["terms"].contains(std::string{term}) == (term != name_of(memory_term::reference)));
    job prefers{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(1024)};
    prefers.preference = preference_method::dpo;
    CHECK(plan_of(prefers)["memory"]["terms"]["reference"] > 0);
    CHECK(plan_of(prefers)["job"]["reference"] == "loaded");
}

TEST_CASE("the job is shown with its defaults, those of its task alone") {
    const json_value serving = plan_of({.model = models::llama_3_1_8b, .context = tokens(4096)})["job"];
    CHECK(serving["kv_cache"] == "bf16");
    CHECK(serving["prompt"].is_null());  // a context alone says nothing of prompts
    CHECK(plan_of({.model = models::llama_3_1_8b, .output = tokens(96), .context = tokens(4096)})["job"]["prompt"] ==
          4000);
    CHECK_FALSE(serving.contains("optimizer"));
    const json_value training =
        plan_of({.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(1024)})["job"];
    CHECK(training["master_weights"] == "fp32");
    CHECK(training["optimizer"] == "adamw");
    CHECK_FALSE(training.contains("kv_cache"));
}

TEST_CASE("a plan's job, runtime, cluster and layout are a document that gives the same plan again") {
    random_documents::dice d;
    constexpr int draws = sanitized ? 30 : 240;
    int planned = 0;
    for (int i = 0; i < draws; ++i) {
        nlohmann::json document =
            i % 2 == 0 ? random_documents::random_serving_job(d) : random_documents::random_training_job(d);
        if (i % 4 == 1) document["master_weights"] = "none";  // not what every runtime does unasked
        CAPTURE(document.dump());
        const auto answered = [](const nlohmann::json& asked) -> result<json_value> {
            const result<plan_request> read = read_job(asked);
            if (!read) return read.error();
            const result<job_plan> p = plan(read->job, read->layout.value_or({}), read->cluster);
            if (!p) return p.error();
            return to_json(*p, read->job, read->cluster, layout_choice::given, read->lengths);
        };
        const result<json_value> first = answered(document);
        if (!first) continue;  // a job that may not be
        json_value again = (*first)["job"];
        for (const char* part : {"cluster", "layout"}) again[part] = (*first)[part];
        again["runtime"] = runtime_to_json(*read_job(document));
        CAPTURE(again.dump());
        const result<json_value> second = answered(nlohmann::json::parse(again.dump()));
        REQUIRE(second);
        CHECK((*second)["memory"] == (*first)["memory"]);
        CHECK((*second)["time"] == (*first)["time"]);
        ++planned;
    }
    CHECK(planned > draws / 8);
}

TEST_CASE("targets that are one layer of the model's code are shown by the name of one") {
    const auto targets = [](role_set roles, bool joined) {
        job j{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(1024)};
        j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = roles, .joined_heads = joined};
        return plan_of(j)["job"]["adapter"]["targets"];
    };
    CHECK(targets(joined_head_roles, false) == "q_proj,k_proj,v_proj");
    CHECK(targets(joined_head_roles, true) == "qkv_proj");
    role_set more = joined_head_roles;
    more.insert(weight_role::o_proj);
    CHECK(targets(more, true) == "qkv_proj,o_proj");
}

TEST_CASE("the pool of caches in tokens, blocks and sequences") {
    const job j{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
    const json_value pool = plan_of(j)["cache_pool"];
    CHECK(pool["low"] <= pool["expected"]);
    CHECK(pool["tokens"] == pool["blocks"].get<std::int64_t>() * 16);
    // 131,072 bytes a token of this model.
    CHECK(pool["tokens"].get<double>() == doctest::Approx(pool["expected"].get<double>() / 131072).epsilon(1e-4));
    CHECK(pool["concurrency"].get<double>() == doctest::Approx(pool["tokens"].get<double>() / 4096).epsilon(1e-3));
    CHECK(pool["prefix_tokens"].get<double>() ==
          doctest::Approx(pool["tokens"].get<double>() - 4 * 4096).epsilon(1e-3));
    CHECK_FALSE(pool.contains("concurrent_sequences"));
    const result<job_plan> p = plan(j, layout{}, one);
    const json_value shorter =
        to_json(*p, j, one, layout_choice::given, length_distribution{.mean = tokens(512), .longest = tokens(4096)});
    CHECK(shorter["cache_pool"]["concurrent_sequences"].get<double>() > 7 * pool["concurrency"].get<double>());
    CHECK(plan_of({.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(1024)})["cache_pool"]
              .is_null());
}

TEST_CASE("what does not fit says why, and what would help") {
    const json_value p = plan_of({.model = models::llama_3_1_70b, .context = tokens(4096)});
    CHECK(p["verdict"] == "does_not_fit");
    const job too_large{.model = models::llama_3_1_70b, .context = tokens(4096)};
    REQUIRE(p["reasons"].size() == static_cast<std::size_t>(plan(too_large, layout{}, one)->reason_count));
    const json_value& why = p["reasons"][0];
    CHECK(why["code"] == "weights_exceed");
    CHECK(why["needed"] == 141'107'412'992);
    CHECK(why["text"].get<std::string>().find("131 GiB") != std::string::npos);
    CHECK_FALSE(p["would_help"].empty());
    CHECK(p["limits"]["max_batch"].is_null());
}

TEST_CASE("a mix goes by the name that people type") {
    for (const char* name : {"q4_k_m", "q4_k_l", "q3_k_xl", "q6_k", "mxfp4_moe", "mxfp4_moe_bf16"})
        CHECK(mix_name(find_gguf_mix("weights", name).value()) == name);
    const json_value m = to_json(models::llama_3_1_8b, find_gguf_mix("weights", "q8_0").value(), bf16);
    CHECK(m["weights"] == "q8_0");
    CHECK(m["weights_bytes"].get<std::int64_t>() > 8'030'261'248);
}

TEST_CASE("of a runtime that reserves a pool, what the device loses holds the whole pool, and terms add up to it") {
    for (const char* name : {"tensorrt-llm", "vllm", "sglang", "lmdeploy", "tgi"}) {
        CAPTURE(name);
        job j{.model = models::llama_3_1_8b, .weights = fp8_e4m3, .context = tokens(4096)};
        j.runtime = find_runtime(name).value();
        const auto p = plan(j, layout{}, one);
        REQUIRE(p);
        const auto document = to_json(*p, j, one, layout_choice::given);
        const auto& memory = document["memory"];
        const double pool = document["cache_pool"]["expected"].get<double>();
        const double weights = memory["terms"]["weights"].get<double>();
        CHECK(memory["reserved"].get<double>() >= weights + pool);
        CHECK(memory["expected"].get<double>() > 60.0 * 1073741824);  // most of 79 GiB
        CHECK(memory["expected"].get<double>() <= memory["usable"].get<double>());
        CHECK(memory["low"] <= memory["expected"]);
        CHECK(memory["expected"] <= memory["high"]);
        CHECK(memory["needed"]["expected"].get<std::int64_t>() == p->memory.total().expected.in(bytes));
        std::int64_t sum = 0;
        for (const auto& [term, size] : memory["terms"].items()) sum += size.get<std::int64_t>();
        CHECK(sum == memory["expected"].get<std::int64_t>());
    }
}

TEST_CASE("what a search found is JSON with layout, figures and the command") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(4096), .runtime = runtimes::vllm};
    std::array<found_layout, 3> best;
    const search_counts counts = search(j, eight, {}, best).value();
    const json_value list = to_json(std::span<const found_layout>{best.data(), counts.best}, j, eight);
    REQUIRE(list.size() == 3);
    CHECK(list[0]["verdict"] == "fits");
    CHECK(list[0]["tokens_per_second"].get<double>() >= list[1]["tokens_per_second"].get<double>());
    CHECK(list[0]["launch"].get<std::string>().starts_with("vllm serve MODEL"));
    CHECK(list[0]["batch"] == 64);
    CHECK(to_json(counts)["tried"] == counts.tried);
    CHECK(to_json(counts)["kept"] == counts.kept);
}

TEST_CASE("a training layout tells its step and what was chosen beside it") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const json_value found = to_json(search(j, eight, {.space = {.micro_batch = true}}).value(), j, eight);
    CHECK(found["step"]["expected"].get<double>() > 0);
    CHECK(found["micro_batch"].get<int>() >= 1);
    CHECK(found["launch"] == nullptr);
}

TEST_CASE("the steady state of one sequence in flight is told as that of many") {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(512), .output = tokens(128), .runtime = runtimes::vllm};
    for (const std::int64_t batch : {1, 2, 16}) {
        j.batch = batch;
        const json_value time = plan_of(j)["time"];
        REQUIRE(time.contains("steady"));
        CHECK(time["steady"]["in_flight"] == batch);
        CHECK(time["steady"]["tokens_per_second"].get<double>() > 0);
    }
}
