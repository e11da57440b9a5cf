// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/io/plan_json.hpp>
#include <string>

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
}
