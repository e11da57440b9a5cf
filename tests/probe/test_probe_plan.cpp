// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "plan_file.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

const std::string memory = R"("memory":{"usable":1000,"expected":300,"terms":{"weights":200,"kv_cache":100}})";
const std::string buffers =
    R"("buffers":[{"name":"w","term":"weights","bytes":100,"count":2},{"name":"kv","term":"kv_cache","bytes":100,
                    "scales_with":["batch","context"]}])";

std::string object(std::initializer_list<std::string> parts) {
    std::string all = "{";
    for (const auto& part : parts) all += (all.size() > 1 ? "," : "") + part;
    return all + "}";
}
error refusal_of(const std::string& written) {
    const auto plan = parse_plan(written);
    REQUIRE_FALSE(plan.has_value());
    return plan.error();
}
error buffer_refusal_of(const std::string& buffer) {
    return refusal_of(object({memory, R"("buffers":[)" + buffer + "]"}));
}

}  // namespace

TEST_CASE("a plan is read in the order of allocation") {
    const auto plan = parse_plan(object({memory, buffers, R"("runtime":"vllm","allocator":{"name":"pytorch_caching"})",
                                         R"("job":{"batch":4,"context":128},"limits":{"max_batch":9})"}));
    REQUIRE(plan.has_value());
    CHECK(plan->usable == bytes(1000));
    CHECK(plan->buffers.size() == 2);
    CHECK(plan->buffer_total() == bytes(300));
    CHECK(plan->buffer_total("weights") == bytes(200));
    CHECK(plan->predicted("kv_cache") == bytes(100));
    CHECK_FALSE(plan->predicted("gradients").has_value());
    CHECK(plan->runtime == "vllm");
    CHECK(plan->allocator == "pytorch_caching");
    CHECK(plan->batch == 4);
    CHECK(plan->max_batch == 9);
    CHECK(plan->hash.size() == 16);
    CHECK(plan->hash != parse_plan(object({memory, buffers}))->hash);
}

TEST_CASE("what a job leaves unused of a runtime's pool is in no buffer, and not compared") {
    const auto plan = parse_plan(object({R"("memory":{"usable":1000,"expected":900,"needed":{"expected":310},)"
                                         R"("terms":{"weights":200,"kv_cache":100,"fragmentation":600}})",
                                         buffers}));
    REQUIRE(plan.has_value());
    CHECK(plan->expected == bytes(310));
    CHECK(plan->predicted("fragmentation") == bytes(10));
}

TEST_CASE("what is not a plan is refused by name") {
    CHECK(refusal_of("").code == error_code::malformed);
    CHECK(refusal_of("hello").field == "plan");
    CHECK(refusal_of("[1]").field == "plan");
    CHECK(refusal_of(R"({"devices":[]})").field == "memory");
    CHECK(refusal_of(object({memory})).field == "buffers");
    CHECK(refusal_of(object({R"("memory":3)", buffers})).field == "memory");
    CHECK(refusal_of(object({R"("memory":{})", buffers})).field == "memory.usable");
    CHECK(refusal_of(object({R"("memory":{"usable":1})", buffers})).field == "memory.expected");
    CHECK(refusal_of(object({R"("memory":{"usable":1,"expected":2})", buffers})).field == "memory.terms");
    CHECK(refusal_of(object({R"("memory":{"usable":-1,"expected":2,"terms":{}})", buffers})).code ==
          error_code::out_of_range);
    CHECK(refusal_of(object({R"("memory":{"usable":1,"expected":2,"terms":{"love":2}})", buffers})).code ==
          error_code::unknown);
    CHECK(refusal_of(object({R"("memory":{"usable":1,"expected":500,"terms":{"weights":200}})", buffers})).code ==
          error_code::inconsistent);
    CHECK(refusal_of(object({memory, R"("buffers":{})"})).field == "buffers");
    CHECK(refusal_of(object({memory, R"("buffers":[])"})).code == error_code::missing);
    CHECK(refusal_of(object({memory, buffers, R"("runtime":7)"})).field == "runtime");
    CHECK(refusal_of(object({memory, buffers, R"("allocator":{})"})).field == "allocator.name");
}

TEST_CASE("a bad buffer is refused with its place") {
    CHECK(buffer_refusal_of("1").field == "buffers[0]");
    CHECK(buffer_refusal_of(R"({"term":"weights","bytes":1})").field == "buffers[0].name");
    CHECK(buffer_refusal_of(R"({"name":"w","bytes":1})").field == "buffers[0].term");
    CHECK(buffer_refusal_of(R"({"name":"w","term":"wheels","bytes":1})").value == "wheels");
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights"})").field == "buffers[0].bytes");
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":0})").code == error_code::out_of_range);
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":1.5})").code == error_code::malformed);
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":18446744073709551615})").code ==
          error_code::out_of_range);
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":1,"count":0})").field == "buffers[0].count");
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":1,"count":1000001})").field == "buffers[0].count");
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":9223372036854775807,"count":2})").code ==
          error_code::overflow);
    CHECK(buffer_refusal_of(R"({"name":"w","term":"weights","bytes":1,"scales_with":["weather"]})").code ==
          error_code::unknown);
}

TEST_CASE("a plan is for the GPUs that it names, or for those of its layout") {
    CHECK(parse_plan(object({memory, buffers}))->gpus == 1);
    CHECK(parse_plan(object({memory, buffers, R"("gpus":2)"}))->gpus == 2);
    CHECK(parse_plan(object({memory, buffers, R"("cluster":{"gpus":4})"}))->gpus == 4);
    CHECK(parse_plan(object({memory, buffers, R"("layout":{"tensor":4,"pipeline":2,"data":1})"}))->gpus == 8);
    CHECK(refusal_of(object({memory, buffers, R"("layout":{"tensor":0})"})).field == "layout.tensor");
}

TEST_CASE("what a plan says that scales grows with batch and context, the rest does not") {
    auto plan = *parse_plan(object({memory, buffers, R"("job":{"batch":2,"context":64})"}));
    CHECK(replanner::from(plan).error().field == "job.model");  // it cannot be planned again
    const auto more = scaled(plan, plan_axis::batch, 3);
    REQUIRE(more.has_value());
    CHECK(more->buffers[0].size == bytes(100));
    CHECK(more->buffers[1].size == bytes(150));
    CHECK(more->predicted("kv_cache") == bytes(150));
    CHECK(more->expected == bytes(350));
    CHECK(scaled(plan, plan_axis::context, 65)->buffers[1].size == bytes(102));  // 101.56, up
    CHECK(scaled(plan, plan_axis::batch, INT64_MAX).error().code == error_code::overflow);
    plan.batch.reset();
    CHECK(scaled(plan, plan_axis::batch, 3).error().field == "job.batch");
}

TEST_CASE("a plan of a model that was described is not planned again from another's name") {
    for (const char* model : {R"({"from":"smollm2-135m","layers":3})",
                              R"({"vocabulary":4096,"hidden":256,"layers":1,"attention":{"heads":4,"kv_heads":2},)"
                              R"("feed_forward":{"width":512}})"}) {
        const auto plan =
            plan_document(std::string{R"({"model":)"} + model +
                          R"(,"batch":2,"context":128,"runtime":"pytorch","cluster":{"gpu":"rtx-4090"}})");
        REQUIRE(plan.has_value());
        CHECK_FALSE(replanner::from(*plan).has_value());
        CHECK(scaled(*plan, plan_axis::batch, 4)->buffer_total() > plan->buffer_total());
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
        const auto plan = plan_document(document);
        REQUIRE(plan.has_value());
        const auto planner = replanner::from(*parse_plan(plan->text));
        REQUIRE(planner.has_value());
        const auto again = planner->at(plan_axis::batch, 4);
        REQUIRE(again.has_value());
        CHECK(again->usable == plan->usable);
        CHECK(again->expected == plan->expected);
        CHECK(again->high == plan->high);
        CHECK(again->available == plan->available);
        for (const auto& [term, size] : plan->terms) CHECK(again->predicted(term) == size);
        CHECK_FALSE(plan->allocator.empty());
        CHECK_FALSE(plan->gpu.empty());
        CHECK(plan->process_context.known);
        REQUIRE(again->buffers.size() == plan->buffers.size());
        for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
            CHECK(again->buffers[i].name == plan->buffers[i].name);
            CHECK(again->buffers[i].size == plan->buffers[i].size);
            CHECK(again->buffers[i].count == plan->buffers[i].count);
        }
        CHECK(planner->at(plan_axis::batch, 8)->buffer_total() > plan->buffer_total());
    }
}
