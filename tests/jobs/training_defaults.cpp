// SPDX-License-Identifier: MIT
// What a training job takes where its document says nothing: what each runtime's own defaults are.
#include <doctest/doctest.h>

#include <llmres/io/job_json.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/plan.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "../plan_reasons.hpp"

using namespace llmres;
using nlohmann::json;
using plan_reasons::says;

namespace {

plan_request asked(const json& more) {
    json document = {{"model", "llama-2-7b"},
                     {"task", "finetuning"},
                     {"layout", json::object()},
                     {"cluster", {{"gpu", "b200-sxm"}}}};
    document.merge_patch(more);
    CAPTURE(document.dump());
    const result<plan_request> read = read_job(document);
    INFO(std::string{read.error().field.view()} << ": " << std::string{read.error().expected.view()});
    REQUIRE(read);
    return *read;
}

job_plan planned(const json& more) {
    const plan_request r = asked(more);
    const result<job_plan> p = plan(r.job, *r.layout, r.cluster);
    INFO(std::string{p.error().field.view()} << ": " << std::string{p.error().expected.view()});
    REQUIRE(p);
    return *p;
}

double term(const job_plan& p, memory_term which) { return p.memory[which].expected.in(gib); }

}  // namespace

TEST_CASE("torchtune, huggingface and litgpt step 16-bit weights as they are: four copies of 12.55 GiB") {
    for (const char* runtime : {"torchtune", "huggingface", "litgpt"}) {
        CAPTURE(runtime);
        const plan_request r = asked({{"runtime", runtime}, {"weights", "bf16"}, {"sequence", 512}});
        CHECK_FALSE(master_weights_of(r.job));
        CHECK(optimizer_states_of(r.job) == bf16);
        const training_state state = training_state_of(r.job, *r.layout, 0);
        CHECK(state.optimizer.states.in(gib) == doctest::Approx(2 * 12.55).epsilon(0.001));
    }
    const job_plan p =
        planned({{"runtime", "torchtune"}, {"weights", "bf16"}, {"sequence", 512}, {"optimizer", "adamw_fused"}});
    CHECK(p.memory.ideal.in(gib) < 55);
    CHECK(master_weights_of(asked({{"runtime", "deepspeed"}, {"weights", "bf16"}}).job) == maybe<precision>{fp32});
    const plan_request wide =
        asked({{"runtime", "torchtune"}, {"master_weights", "fp32"}, {"optimizer_states", "fp32"}});
    CHECK(master_weights_of(wide.job) == maybe<precision>{fp32});
    CHECK(optimizer_states_of(wide.job) == fp32);
}

TEST_CASE("no master copy can be asked for, but of a runtime that keeps one of its own") {
    const plan_request none = asked({{"master_weights", "none"}, {"weights", "bf16"}});
    CHECK_FALSE(master_weights_of(none.job));
    CHECK(master_weights_of(asked({{"weights", "bf16"}}).job) == maybe<precision>{fp32});
    const json document = {{"model", "llama-2-7b"},
                           {"task", "finetuning"},
                           {"master_weights", "none"},
                           {"cluster", {{"gpu", "h100"}}},
                           {"runtime", "deepspeed"}};
    const result<plan_request> refused = read_job(document);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == "master_weights");
    CHECK(refused.error().code == error_code::unsupported);
}

TEST_CASE("a finetuning job without a sequence takes 2,048 tokens, and says so") {
    const json qwen = {{"model", "qwen3-8b"}, {"adapter", {{"kind", "lora"}, {"rank", 16}}}};
    const job_plan assumed = planned(qwen);
    CHECK(sequence_of(asked(qwen).job) == tokens(2048));
    CHECK(says(assumed, reason_code::sequence_assumed));
    json given = qwen;
    given["sequence"] = 2048;
    CHECK_FALSE(says(planned(given), reason_code::sequence_assumed));
    CHECK(planned(given).memory.total().expected == assumed.memory.total().expected);
    CHECK(to_text(assumed.reasons[0], assumed, asked(qwen).job, asked(qwen).cluster).find("2048") != std::string::npos);
    CHECK(sequence_of(asked({{"task", "pretraining"}}).job) == tokens(4096));
    CHECK(sequence_of(asked({{"model", "gpt2"}}).job) == tokens(1024));
}

TEST_CASE("checkpoints in a format that transformers does not train beside are widened, and the plan says so") {
    const json adapter = {{"adapter", {{"kind", "lora"}, {"rank", 8}}}, {"runtime", "huggingface"}, {"sequence", 512}};
    json moe = adapter;
    moe["model"] = "gpt-oss-20b";  // published in mxfp4
    const job_plan widened = planned(moe);
    CHECK(term(widened, memory_term::weights) > 38);
    CHECK(says(widened, reason_code::weights_dequantised));
    moe["weights"] = "mxfp4";
    const plan_request asked_for = asked(moe);
    const result<job_plan> refused = plan(asked_for.job, *asked_for.layout, asked_for.cluster);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == "weights");
    json quantised = adapter;
    quantised["weights"] = "nf4";
    CHECK_FALSE(says(planned(quantised), reason_code::weights_dequantised));
    CHECK(says(planned({{"model", "gpt-oss-20b"}, {"sequence", 512}}), reason_code::weights_dequantised));
}

TEST_CASE("adapters of all linear layers leave out experts that transformers 5 stacks in bare parameters") {
    const auto lora = [](const char* runtime, const json& more = json::object()) {
        json document = {{"model", "mixtral-8x7b"},
                         {"runtime", runtime},
                         {"sequence", 512},
                         {"adapter", {{"kind", "lora"}, {"rank", 8}}}};
        document["adapter"].merge_patch(more);
        return planned(document);
    };
    const auto adapted = [&](const char* runtime, const json& more = json::object()) {
        return term(lora(runtime, more), memory_term::adapter);
    };
    CHECK(adapted("huggingface@5.0") == adapted("huggingface@5.0", {{"targets", "attention"}}));
    CHECK(adapted("huggingface@4.57") > 5 * adapted("huggingface@5.0"));
    CHECK(adapted("huggingface@5.0", {{"experts", true}}) == adapted("huggingface@4.57"));
    CHECK(adapted("huggingface@4.57", {{"experts", false}}) == adapted("huggingface@5.0"));
    // The plan says so, where nobody has chosen it.
    CHECK(says(lora("huggingface@5.0"), reason_code::experts_left_out));
    for (const json& chosen : {json{{"targets", "attention"}}, json{{"experts", true}}, json{{"experts", false}}})
        CHECK_FALSE(says(lora("huggingface@5.0", chosen), reason_code::experts_left_out));
    CHECK_FALSE(says(lora("huggingface@4.57"), reason_code::experts_left_out));
    CHECK_FALSE(says(lora("huggingface@5.0", {{"kind", "prompt"}}), reason_code::experts_left_out));
}
