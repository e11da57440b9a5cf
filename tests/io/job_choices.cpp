// SPDX-License-Identifier: MIT
// What a job document leaves to its model, its runtime and its GPUs, and what none of them may choose.
#include <llmres/io/job_json.hpp>

#include <doctest/doctest.h>

#include <llmres/io/plan_json.hpp>
#include <llmres/plan.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "../job_documents.hpp"

using namespace job_documents;

namespace {

result<plan_request> asked(const json& more) {
    json document{{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 1}}}};
    document.merge_patch(more);
    return read_job(document);
}

std::string refused_field(const json& more) {
    const result<plan_request> read = asked(more);
    return read ? "read" : std::string{read.error().field.view()};
}

}  // namespace

TEST_CASE("only Ollama's library gives a name its tag latest, and a model that is described has no name") {
    CHECK(answered(asked({{"model", "deepseek-r1"}, {"runtime", "vllm"}})).job.model.name == "deepseek-r1");
    CHECK(answered(asked({{"model", "deepseek-r1"}, {"runtime", "ollama"}})).job.model.name == "qwen3-8b");
    CHECK(refused_field({{"model", "deepseek-r1"}, {"runtime", "nosuch"}}) == "runtime");
    json described{{"model",
                    {{"hidden", 256},
                     {"vocabulary", 1000},
                     {"layers", 2},
                     {"attention", {{"heads", 4}}},
                     {"feed_forward", {{"width", 512}}}}},
                   {"runtime", "ollama"}};
    CHECK(answered(asked(described)).job.model.layers.size == 2);
}

TEST_CASE("transformers before 5 fine-tunes in fp32 what is published in fp16, too, and nothing else") {
    const auto weights = [](const char* published) {
        const job j =
            answered(asked({{"model", published}, {"task", "finetuning"}, {"runtime", "huggingface@4.57"}})).job;
        return std::string{weights_of(j).name.view()};
    };
    const model fp16_model = find_model("pythia-1b").value();
    CHECK(fp16_model.weights == fp16);
    CHECK(weights("pythia-1b") == "fp32");
    CHECK(find_model("gpt-oss-20b")->weights == mxfp4);
    CHECK(weights("gpt-oss-20b") == "bf16");
}

TEST_CASE("a file of quantised weights is widened to be trained") {
    const plan_request trained = answered(asked({{"model", "ggml-org/gpt-oss-20b-GGUF"}, {"task", "finetuning"}}));
    CHECK(trained.job.model.weights == bf16);
    CHECK_FALSE(trained.job.gguf);
}

TEST_CASE("what serves decides neither the arithmetic nor the context of a training job") {
    CHECK(refused_field({{"task", "finetuning"},
                         {"runtime", "vllm"},
                         {"compute", "bf16"},
                         {"cluster", {{"gpu", "v100-sxm2-32gb"}}}}) == "read");
    CHECK(answered(asked({{"task", "finetuning"}, {"runtime", "ollama"}, {"cluster", {{"gpu", "rtx-4060"}}}}))
              .job.context == token_count{});
    // Ollama's 4,096 tokens on a small card are not taken where the model reads no more.
    CHECK(answered(asked({{"model", "llama-2-7b"}, {"runtime", "ollama"}, {"cluster", {{"gpu", "rtx-4060"}}}}))
              .job.context == token_count{});
}

TEST_CASE("a layout that may not be is refused where what fits is asked for") {
    CHECK(refused_field({{"runtime", {{"name", "llama.cpp"}, {"fit", true}}},
                         {"layout", {{"tensor", 7}}},
                         {"cluster", {{"gpus", 7}}}}) != "read");
}

TEST_CASE("a runtime that keeps a copy of the weights does not train without one") {
    const json trained{{"task", "finetuning"}, {"sequence", 1024}, {"master_weights", "none"}};
    json by_deepspeed = trained;
    by_deepspeed["runtime"] = "deepspeed";
    CHECK(refused_field(by_deepspeed) == "master_weights");
    CHECK(refused_field(trained) == "read");
}

TEST_CASE("an adapter that the model has no layers for is refused when it is read") {
    const json targets{{"kind", "lora"}, {"rank", 8}, {"targets", "kv_b_proj"}};
    CHECK(refused_field({{"task", "finetuning"}, {"adapter", targets}}) == "adapter.targets");
}

TEST_CASE("a sequence that a training stack chose stays where nobody knows how much the model reads") {
    const json shape{{"hidden", 256},
                     {"vocabulary", 1000},
                     {"layers", 2},
                     {"attention", {{"heads", 4}}},
                     {"feed_forward", {{"width", 512}}}};
    json document{{"model", shape}, {"task", "finetuning"}, {"runtime", "llama-factory"}};
    CHECK(answered(asked(document)).job.sequence == tokens(2048));
}

TEST_CASE("one job on one kind of GPUs has one phase") {
    CHECK(in_one_phase(answered(asked(json::object()))));
    const json pool{{"prefill", {{"cluster", {{"gpu", "l40s"}}}}}, {"prompt", 100}, {"output", 10}};
    CHECK(in_one_phase(answered(asked(pool))).error().field == "prefill");
    CHECK(in_one_phase(answered(asked({{"task", "grpo"}}))).error().field == "rollout");
}
