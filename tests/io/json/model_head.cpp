// SPDX-License-Identifier: MIT
#include <llmres/io/json/model_head.hpp>

#include <doctest/doctest.h>

#include <llmres/io/job_json.hpp>
#include <llmres/io/json/request_json.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/plan.hpp>
#include <string>

using namespace llmres;

namespace {

using json = nlohmann::json;

model with(const model& m, std::string_view head, std::int64_t classes = 2) {
    const result<model> made = with_head(m, head, classes);
    REQUIRE(made);
    return *made;
}

/// A job document with some of its fields.
json document(const json& fields) {
    json job = {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "h100-sxm5-80gb"}}}};
    job.update(fields);
    return job;
}
job read(const json& fields) {
    const auto request = read_job(document(fields));
    REQUIRE_MESSAGE(request, fields.dump());
    return request->job;
}
std::string refused_field(const json& fields) {
    const auto request = read_job(document(fields));
    return request ? "" : std::string{request.error().field.view()};
}

}  // namespace

TEST_CASE("a decoder that embeds has no head; one that classifies has a vector for each class") {
    const model llama = models::llama_3_1_8b;  // whose head has as many weights as its embedding: 128,256 x 4,096
    const parameter_count headless = count_parameters(llama) - parameters(128256LL * 4096);
    CHECK(count_parameters(with(llama, "embedding")) == headless);
    CHECK(count_parameters(with(llama, "classification", 5)) == headless + parameters(5 * 4096));
    CHECK(count_parameters(with(llama, "reranking")) == headless + parameters(4096));
    CHECK(scored_vocabulary(llama) == 128256);
    CHECK(scored_vocabulary(with(llama, "embedding")) == 0);
    CHECK(head_name(llama) == "");
    CHECK(head_name(with(llama, "pooled")) == "embedding");
    CHECK(head_name(with(llama, "reranking")) == "classification");
}

TEST_CASE("an encoder's classifier stands behind its pooler, with a bias for each class") {
    const model bert = models::bert_base;
    CHECK(count_parameters(with(bert, "embedding")) == count_parameters(bert));
    CHECK(count_parameters(with(bert, "classification", 3)) == count_parameters(bert) + parameters(3 * 768 + 3));
    // Other classes take the place of those that it has.
    CHECK(classes_of(with(with(bert, "classification", 3), "classification", 7)) == 7);
    CHECK(head_name(bert) == "embedding");
    CHECK(head_name(with_pretraining_head(bert)) == "masked_lm");
    CHECK(scored_vocabulary(with_pretraining_head(bert)) == 30522);
    CHECK(head_name(with_pretraining_head(models::llama_3_1_8b)) == "");
    // An encoder is trained on with the head that it was pretrained with, whether it is a preset or a file.
    for (const model& m : {models::roberta_base, models::distilbert_base, bert}) {
        CHECK(head_name(with(m, "masked_lm")) == "masked_lm");
        CHECK(count_parameters(with(m, "masked_lm")) == count_parameters(with_pretraining_head(m)));
    }
}

TEST_CASE("heads that a model cannot have are refused by name") {
    const auto refusal = [](const model& m, std::string_view head) { return with_head(m, head).error(); };
    CHECK(refusal(models::llama_3_1_8b, "regression").code == error_code::unknown);
    CHECK(refusal(models::llama_3_1_8b, "regression").field == "head");
    CHECK(refusal(models::llama_3_1_8b, "masked_lm").code == error_code::unsupported);
    CHECK(refusal(models::whisper_small, "masked_lm").code == error_code::unsupported);
    CHECK(refusal(models::whisper_small, "embedding").code == error_code::unsupported);
    CHECK(refused_field({{"head", "regression"}}) == "head");
    CHECK(refused_field({{"head", "classification"}, {"labels", 0}}) == "labels");
    CHECK(refused_field({{"labels", 3}}) == "labels");
    CHECK(refused_field({{"head", "reranking"}, {"labels", 3}}) == "labels");
    CHECK(refused_field({{"task", "regression"}}) == "task");
    CHECK(refused_field({{"model", {{"from", "llama-3.1-8b"}, {"head", "regression"}}}}) == "model.head");
}

TEST_CASE("a task may be named by the head that serves it, and an answer names the head") {
    for (const char* task : {"embedding", "reranking", "classification"}) {
        const job j = read({{"task", task}, {"context", 1024}});
        CHECK_FALSE(trains(j));
        CHECK_FALSE(generates(j.model));
        CHECK(classes_of(j.model) == (std::string{task} == "classification" ? 2 : std::string{task} == "reranking"));
    }
    CHECK(generates(read({{"task", "serving"}}).model));
    const json classifies = {{"task", "finetuning"}, {"head", "classification"}, {"labels", 9}, {"sequence", 512}};
    const json answer = json::parse(to_json(read(classifies)).dump());
    CHECK(answer["head"] == "classification");
    CHECK(answer["labels"] == 9);
    CHECK_FALSE(json::parse(to_json(read({{"task", "serving"}})).dump()).contains("head"));
    // An answer's document is read again: an encoder has been given its head for pretraining by then.
    const json pretrains = {{"model", "bert-large"}, {"task", "pretraining"}, {"head", "masked_lm"}, {"sequence", 512}};
    CHECK(head_name(read(pretrains).model) == "masked_lm");
    // The model may say so itself, and the document goes before it.
    const json reranks = {{"from", "llama-3.1-8b"}, {"head", "reranking"}};
    CHECK(classes_of(read({{"model", reranks}}).model) == 1);
    CHECK(classes_of(read({{"model", reranks}, {"head", "classification"}, {"labels", 4}}).model) == 4);
}

// BERT-base fine-tuned on one RTX 3090 in 32 sequences of 512 tokens: no logits over 30,522 words for each token.
TEST_CASE("an encoder is fine-tuned without scores of its vocabulary, and pretrained with them") {
    const json small = {{"model", "bert-base"}, {"sequence", 512}, {"micro_batch", 32}};
    const auto logits = [&](const json& fields) {
        json all = small;
        all.update(fields);
        const auto p = plan(read(all), {}, {.gpu = gpus::rtx_3090, .gpus = 1});
        REQUIRE(p);
        return p->memory[memory_term::logits].expected;
    };
    CHECK(logits({{"task", "finetuning"}}) == byte_count{});
    CHECK(logits({{"task", "finetuning"}, {"head", "classification"}}) == byte_count{});
    CHECK(logits({{"task", "pretraining"}}) > gib(4));
}

TEST_CASE("inputs that wait together are computed together") {
    const auto rate = [](const char* head, std::int64_t batch) {
        const job j = read({{"model", "qwen3-0.6b"}, {"task", head}, {"context", 128}, {"batch", batch}});
        const cluster one{.gpu = gpus::l4_24gb, .gpus = 1};
        const auto p = plan(j, {}, one);
        REQUIRE(p);
        CHECK(p->speed.step.expected() == duration{});
        return inputs_per_second(p->speed, j);
    };
    const double alone = rate("embedding", 1), together = rate("embedding", 64);
    CHECK(together > 2 * alone);     // the weights are read once for all of them
    CHECK(together < 64.1 * alone);  // and each input is computed
    CHECK(rate("reranking", 64) == doctest::Approx(together).epsilon(0.01));
}

TEST_CASE("more inputs that wait make no step slower") {
    for (const char* runtime : {"none", "vllm", "sglang", "llama.cpp", "transformers"})
        for (const char* model : {"bert-base", "qwen3-embedding-0.6b"}) {
            CAPTURE(runtime);
            CAPTURE(model);
            double before = 0;
            for (const std::int64_t batch : {1, 2, 8, 24, 64, 256, 1024}) {
                const job j = read({{"model", model}, {"runtime", runtime}, {"context", 512}, {"batch", batch}});
                const auto p = plan(j, {}, {.gpu = gpus::h100_sxm5_80gb, .gpus = 1});
                REQUIRE(p);
                const double rate = inputs_per_second(p->speed, j);
                CHECK(rate >= before * (1 - 1e-9));
                CHECK(p->speed.mfu <= 1);
                before = rate;
            }
        }
}

TEST_CASE("an encoder without a vocabulary predicts no masked tokens, and has no other head before it is trained") {
    const model pictures = find_model("vit-base-patch16-224").value();
    REQUIRE(pictures.vocabulary == 0);
    const result<model> masked = with_head(pooled(pictures), "masked_lm", 2);
    REQUIRE_FALSE(masked);
    CHECK(masked.error().field == "head");
    CHECK(with_pretraining_head(pooled(pictures)).head.kind == pooled(pictures).head.kind);
    model m = models::llama_3_1_8b;
    const json wrong{{"labels", "two"}};
    detail::config_fields fields{wrong};
    const status s = detail::take_head(fields, m);
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "labels");
}
