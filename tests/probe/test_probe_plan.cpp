// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>

#include "tested_plan.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

const std::string served =
    R"({"model":"smollm2-135m","batch":2,"context":128,"runtime":"vllm","cluster":{"gpu":"rtx-4090"}})";

/// What `llmres plan --json` writes of that document.
nlohmann::json printed(const std::string& document) {
    const auto answer = answer_job(nlohmann::json::parse(document));
    REQUIRE(answer.has_value());
    return nlohmann::json::parse(to_json(*answer, {}).dump());
}
error refusal_of(const std::string& document) {
    const auto request = request_of(document, {});
    REQUIRE_FALSE(request.has_value());
    return request.error();
}
/// Of the printed plan after that change.
template <class Change>
error refusal_after(Change&& change) {
    nlohmann::json plan = printed(served);
    change(plan);
    return refusal_of(plan.dump());
}

}  // namespace

TEST_CASE("a plan has what is compared, and its buffers in the order of allocation") {
    const auto plan = plan_of(*request_of(printed(served).dump(), {}));
    REQUIRE(plan.has_value());
    CHECK(plan->buffer_total(memory_term::weights) == plan->memory[memory_term::weights].expected);
    CHECK(plan->buffer_total(memory_term::gradients) == byte_count{});
    CHECK(plan->request.job.runtime.identity.name == "vllm");
    CHECK(plan->request.layout.known);
    CHECK(plan->request.cluster.gpu.id == "rtx-4090");
    CHECK(plan->verdict == llmres::verdict::fits);
    CHECK(plan->request.cluster.gpus == 1);
    CHECK(plan->largest("batch").value_or(0) > 2);
    CHECK(plan->largest("context").value_or(0) >= 4096);
    CHECK(plan->process_context.known);
}

TEST_CASE("what a job leaves unused of a runtime's pool is in no buffer, and not compared") {
    const nlohmann::json written = printed(served);
    const auto plan = plan_of(*request_of(written.dump(), {}));
    REQUIRE(plan.has_value());
    REQUIRE(written["memory"].contains("needed"));
    CHECK(plan->memory.expected().in(bytes) == written["memory"]["needed"]["expected"].get<std::int64_t>());
    CHECK(plan->memory[memory_term::fragmentation].expected.in(bytes) <
          written["memory"]["terms"]["fragmentation"].get<std::int64_t>());
}

TEST_CASE("what is neither a plan nor a job is refused by name") {
    CHECK(refusal_of("").code == error_code::malformed);
    CHECK(refusal_of("hello").field == "plan");
    CHECK(refusal_of("[1]").field == "plan");
    CHECK(refusal_of(R"({"devices":[]})").field == "model");
    CHECK(refusal_of(R"({"job":3,"memory":{},"cluster":{"gpu":"rtx-4090"}})").field == "model");
    CHECK(refusal_of(R"({"model":"gpt2","memory":{},"cluster":{"gpu":"rtx-4090"}})").field == "memory");
    CHECK(refusal_of(R"({"model":"no-such-model","cluster":{"gpu":"rtx-4090"}})").field == "model");
    const auto refused_field = [](const nlohmann::json& patch) {
        return std::string{refusal_after([&](auto& plan) { plan["document"].merge_patch(patch); }).field.view()};
    };
    CHECK(refused_field({{"cluster", {{"in_use", "much"}}}}) == "cluster.in_use");
    CHECK(refused_field({{"cluster", {{"host", 3}}}}) == "cluster.host");
    CHECK(refused_field({{"cluster", {{"gpu", "no-such-gpu"}}}}) == "cluster.gpu");
    CHECK(refused_field({{"cluster", 4}}) == "cluster");
    CHECK(refused_field({{"batch", 0}}) == "batch");
    CHECK(refused_field({{"layout", {{"tensor", 0}}}}) == "layout.tensor");
    CHECK(refused_field({{"runtime", 7}}) == "runtime");
    CHECK(refusal_after([](auto& plan) { plan["memory"] = 4; }).field == "memory");
}

TEST_CASE("a plan on a device's file is read back with that file, and one on a live device with its memory") {
    const std::string file = LLMRES_SOURCE_DIR "/tests/data/devices/synthetic-rtx-4090.json";
    const auto answer = answer_job({{"model", "smollm2-135m"}, {"cluster", {{"device", file}}}}, sources_in({}));
    REQUIRE(answer.has_value());
    CHECK(plan_of(*request_of(to_json(*answer, {}).dump(), {}))->memory.expected() ==
          answer->planned.plan.memory.total().expected);

    device live = read_device_file(file)->devices.front();
    live.memory.cuda_total = gib(22);
    const std::string job = R"({"model":"smollm2-135m"})";
    const auto written = document_of_plan(job, *request_for(job, live));
    REQUIRE(written.has_value());
    CHECK(plan_of(*request_of(written->dump(), {}))->usable == gib(22));
}

TEST_CASE("a plan on a live device is read back where the engine's default follows what NVML reports of it") {
    device live = read_device_file(LLMRES_SOURCE_DIR "/tests/data/devices/synthetic-rtx-4090.json")->devices.front();
    live.memory.cuda_total = gib(30);
    live.memory.nvml_total = gib(31);
    const std::string job = R"({"model":"smollm2-135m","runtime":"sglang"})";
    const auto asked = request_for(job, live);
    const auto document = document_of_plan(job, *asked);
    REQUIRE(document.has_value());
    const auto again = plan_of(*request_of(document->dump(), {}));
    REQUIRE(again.has_value());
    CHECK(again->memory.total().expected == plan_of(*asked)->memory.total().expected);
}

TEST_CASE("a plan whose figures are not those of its job is refused") {
    const auto refused_part = [](auto&& change) {
        const error found = refusal_after(change);
        CHECK(found.code == error_code::inconsistent);
        return std::string{found.field.view()};
    };
    CHECK(refused_part([](auto& plan) { plan.erase("buffers"); }) == "buffers");
    CHECK(refused_part([](auto& plan) { plan["buffers"][0]["bytes"] = 1; }) == "buffers");
    CHECK(refused_part([](auto& plan) { plan["memory"]["expected"] = 1; }) == "memory");
    CHECK(refused_part([](auto& plan) { plan["document"]["batch"] = 3; }) == "buffers");
}

TEST_CASE("a plan of a model that was described is planned again with that model, and so is its job document") {
    for (const char* model : {R"({"from":"smollm2-135m","layers":3})",
                              R"({"vocabulary":4096,"hidden":256,"layers":1,"attention":{"heads":4,"kv_heads":2},)"
                              R"("feed_forward":{"width":512}})"}) {
        const std::string described = std::string{R"({"model":)"} + model +
                                      R"(,"batch":2,"context":128,"runtime":"pytorch","cluster":{"gpu":"rtx-4090"}})";
        const auto request = request_of(described, {});
        REQUIRE(request.has_value());
        const auto here = document_of_plan(described, *request);
        REQUIRE(here.has_value());
        for (const std::string& written : {printed(described).dump(), std::string{here->dump()}}) {
            const auto again = request_of(written, {});
            REQUIRE(again.has_value());
            CHECK(plan_of(*again)->buffer_total() == plan_of(*request)->buffer_total());
        }
        CHECK(memory_of_plan(changed(*request, "batch", 4))->buffer_total() > plan_of(*request)->buffer_total());
    }
}

namespace {

/// A job of every engine, and the knobs that change what one allocates.
const std::vector<std::string> jobs_of_engines = [] {
    const std::string serving =
        R"({"model":"llama-3.1-8b","batch":4,"context":4096,"cluster":{"gpu":"h100-sxm5-80gb"},)";
    const std::string training =
        R"({"model":"llama-3.2-1b","task":"pretraining","micro_batch":4,"sequence":1024,"cluster":{"gpu":"h100-sxm5-80gb"},)";
    std::vector<std::string> all;
    for (const char* engine : {"none", "pytorch", "vllm", "vllm@0.10", "vllm@0.6.0", "sglang", "tensorrt-llm",
                               "llama.cpp", "llama.cpp@b4000", "ollama", "transformers", "lmdeploy", "exllama", "tgi"})
        all.push_back(serving + R"("runtime":")" + engine + "\"}");
    for (const char* engine : {"pytorch", "huggingface", "deepspeed", "megatron", "torchtitan", "torchtune", "litgpt"})
        all.push_back(training + R"("runtime":")" + engine + "\"}");
    for (
        const char* knobs :
        {R"("max_batched_tokens":1024,"runtime":"vllm"})",
         R"("runtime":{"name":"vllm","gpu_memory_utilization":0.5,"max_num_batched_tokens":4096,"enforce_eager":true,"max_num_seqs":64}})",
         R"("runtime":{"name":"sglang","chunked_prefill_size":1024,"disable_cuda_graph":true}})",
         R"("weights":"q4_k_m","runtime":{"name":"llama.cpp","n_gpu_layers":20,"flash_attn":true}})",
         R"("weights":"q8_0","kv_cache":"q8_0","runtime":{"name":"llama.cpp","ubatch_size":256}})"})
        all.push_back(serving + knobs);
    for (const char* knobs :
         {R"("runtime":"pytorch","recompute":"full","optimizer":"sgd"})",
          R"("runtime":"pytorch","weights":"bf16","master_weights":"bf16","optimizer_states":"bf16"})",
          R"("runtime":"pytorch","autocast":true,"weights":"fp32"})",
          R"("runtime":"pytorch","adapter":{"kind":"lora","rank":16,"targets":"q_proj,v_proj"}})"})
        all.push_back(training + knobs);
    all.push_back(
        R"({"model":"deepseek-v3","batch":4,"context":4096,"runtime":"vllm","cluster":{"gpu":"h200","gpus":16,"in_use":1000000000},"layout":{"tensor":16}})");
    return all;
}();

}  // namespace

TEST_CASE("a plan that was printed and read back gives the same plan, of every engine") {
    for (const std::string& document : jobs_of_engines) {
        CAPTURE(document);
        const auto request = request_of(document, {});
        REQUIRE(request.has_value());
        const auto plan = plan_of(*request);
        REQUIRE(plan.has_value());
        const auto read_back = request_of(printed(document).dump(), {});
        REQUIRE(read_back.has_value());
        const auto again = plan_of(*read_back);
        REQUIRE(again.has_value());
        CHECK(again->usable == plan->usable);
        CHECK(again->available == plan->available);
        CHECK(again->memory.terms == plan->memory.terms);
        CHECK(plan->process_context.known);
        REQUIRE(again->buffers.size() == plan->buffers.size());
        for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
            CHECK(again->buffers[i].name == plan->buffers[i].name);
            CHECK(again->buffers[i].size == plan->buffers[i].size);
            CHECK(again->buffers[i].count == plan->buffers[i].count);
        }
        CHECK(memory_of_plan(changed(*read_back, "batch", 8))->buffer_total() > plan->buffer_total());
    }
}
