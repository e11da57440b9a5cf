// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/io/plan_json.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace llmres;

namespace {

nlohmann::json document(const std::string& runtime) {
    return {{"model", "llama-3.2-1b"},
            {"task", "finetuning"},
            {"runtime", runtime},
            {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 1}}}};
}

job job_of(const nlohmann::json& asked) {
    const result<plan_request> read = read_job(asked, job_sources{});
    REQUIRE_MESSAGE(read, asked.dump());
    return read->job;
}

}  // namespace

TEST_CASE("each stack is a runtime, whose defaults a job document may have") {
    for (const training_stack& one : training_stacks) {
        CAPTURE(one.name);
        CHECK(find_runtime(one.name));
        CHECK(find_runtime(one.also)->identity == find_runtime(one.name)->identity);
        nlohmann::json explicit_defaults = document("huggingface");
        explicit_defaults.update(nlohmann::json::parse(one.defaults));
        const job by_name = job_of(document(std::string{one.name})), by_fields = job_of(explicit_defaults);
        CHECK(by_name.micro_batch == by_fields.micro_batch);
        CHECK(by_name.sequence == by_fields.sequence);
        CHECK(by_name.recompute == by_fields.recompute);
        CHECK(by_name.adapter == by_fields.adapter);
    }
}

TEST_CASE("TRL trains 8 sequences of 1,024 tokens at once, and recomputes layers, unless it is told otherwise") {
    const job plain = job_of(document("TRL"));
    CHECK(plain.micro_batch == 8);
    CHECK(plain.sequence == tokens(1024));
    CHECK(plain.recompute == recompute::full);
    nlohmann::json told = document("trl");
    told.update({{"micro_batch", 2}, {"sequence", 512}, {"recompute", "none"}});
    const job as_told = job_of(told);
    CHECK(as_told.micro_batch == 2);
    CHECK(as_told.sequence == tokens(512));
    CHECK(as_told.recompute == recompute::none);
}

TEST_CASE("LLaMA-Factory and ms-swift train adapters unless the document says which weights are trained") {
    for (const char* name : {"LLaMA-Factory", "ms-swift", "swift"}) {
        CAPTURE(name);
        CHECK(job_of(document(name)).adapter.rank == 8);
        nlohmann::json whole = document(name);
        whole["adapter"] = {{"kind", "none"}};
        CHECK_FALSE(job_of(whole).adapter.trains());
    }
}

TEST_CASE("a global batch is not divided by a micro-batch that nobody named") {
    nlohmann::json asked = document("trl");
    asked["global_batch"] = 4;
    CHECK(job_of(asked).micro_batch == 1);
}

TEST_CASE("software without a loop of its own has no defaults, and neither has a job that does not finetune") {
    CHECK(job_of(document("huggingface")).recompute == recompute::none);
    nlohmann::json pretrained = document("trl");
    pretrained["task"] = "pretraining";
    CHECK(job_of(pretrained).recompute == recompute::none);
    CHECK(detail::stack_of({{"runtime", 7}}) == nullptr);
    CHECK(detail::stack_of({{"runtime", {{"versions", "1"}}}}) == nullptr);
    CHECK(detail::stack_of({{"runtime", {{"name", "Axolotl"}}}}) != nullptr);
}

TEST_CASE("the answer says what was assumed of a stack, and of which version") {
    const result<job_answer> answer = answer_job(document("ms-swift"));
    REQUIRE(answer);
    CHECK(answer->assumed["defaults_of"] == "ms-swift 4.6.0");
    CHECK(answer->assumed["recompute"] == "full");
    CHECK(answer->assumed["adapter_kind"] == "lora");
    CHECK(answer->assumed["adapter_rank"] == 8);
    CHECK_FALSE(answer_job(document("huggingface"))->assumed.contains("defaults_of"));
}
