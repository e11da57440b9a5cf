// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/file_name.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("a GGUF file is named after its model and format") {
    const named_file qwen = by_file_name("/models/Qwen3.6-27B-Q8_0.gguf");
    CHECK(qwen.model == "Qwen3.6-27B");
    CHECK(qwen.weights == "Q8_0");
    CHECK(by_file_name("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf").weights == "Q4_K_M");
    CHECK(by_file_name(R"(C:\models\Llama-3.3-70B-Instruct.Q8_0-00001-of-00002.gguf)").model ==
          "Llama-3.3-70B-Instruct");
}

TEST_CASE("a name that says too little says nothing") {
    for (const char* name : {"ggml-model.gguf", "model-Q4_K_M.gguf", "Qwen3-8B.gguf", "DeepSeek-R1-UD-Q2_K_XL.gguf",
                             "Qwen3-8B-Q4_K_M", ".gguf", ""})
        CHECK(by_file_name(name).model.empty());
}
