// SPDX-License-Identifier: MIT
// What a page in a browser does: job documents in as text, plans out as text. Compiled for WebAssembly by
// .ci/check-wasm, where there is neither a file system nor an exception, and run there if node is installed.
#include <cstdio>
#include <llmres/io/device_json.hpp>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/io/svg/plan.hpp>
#include <string>
#include <string_view>

namespace {

int failures = 0;

void require(bool holds, const char* what) {
    if (holds) return;
    std::printf("failed: %s\n", what);
    ++failures;
}

/// The answer to a document: the plan as JSON, or the refusal as a sentence.
std::string answer(std::string_view document, const llmres::job_sources& sources = {}) {
    const auto request = llmres::read_job(document, sources);
    if (!request) return llmres::to_text(request.error());
    const auto plan = request->layout ? llmres::plan(request->job, *request->layout, request->cluster)
                                      : llmres::plan(request->job, request->cluster);
    if (!plan) return llmres::to_text(plan.error());
    require(!llmres::to_svg(*plan, "job").empty(), "a plan has a picture");
    return llmres::to_json(*plan, request->job, request->cluster, llmres::layout_choice_of(request->layout)).dump();
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr std::string_view small_config = R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 64,
    "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 160, "max_position_embeddings": 2048})";

}  // namespace

int main() {
    const std::string preset = answer(
        R"({"model": "llama-3.1-8b", "context": 8192, "runtime": "vllm", "cluster": {"gpu": "h100-sxm5-80gb"}})");
    require(mentions(preset, R"("verdict":"fits")"), "a preset is planned");

    // The page has the text of a config.json: it hands the model in under a name of its own.
    const llmres::job_sources sources{.model = [](std::string_view name) -> llmres::result<llmres::model_source> {
        if (name != "uploaded") return llmres::find_preset(name);
        const auto read = llmres::read_hf_config(small_config);
        if (!read) return read.error();
        return llmres::model_source{.model = *read};
    }};
    require(
        mentions(answer(R"({"model": "uploaded", "cluster": {"gpu": "rtx-4090"}})", sources), R"("verdict":"fits")"),
        "a config.json that was handed in is planned");

    require(mentions(answer(R"({"model": "./config.json", "cluster": {"gpu": "rtx-4090"}})"), "no file is opened here"),
            "a path is refused by name");
    require(mentions(answer("{\"model\": \n\"llama-3.1-8b\",, }"), "line 2"), "text that is no JSON is refused");
    require(mentions(answer("{\"model\": \"\xff\"}"), "JSON is line 1"), "text that is not UTF-8 is refused");
    require(mentions(answer(R"({"model": [1], "cluster": {}})"), "model is [1]"), "a wrong type is refused");
    require(!llmres::parse_device_file("{"), "a device file that is none is refused");
    require(!llmres::read_gguf({}), "a GGUF file that is none is refused");
    require(!llmres::read_safetensors({}), "a safetensors file that is none is refused");
    if (failures == 0) std::puts("planned without a file system");
    return failures;
}
