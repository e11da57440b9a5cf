// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/hub_names.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/find_precision.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace llmres;

TEST_CASE("every repository of the table holds a model, in a format that there is") {
    std::set<std::string> repositories;
    for (const models::hub_name& row : models::hub_names) {
        CAPTURE(row.repository);
        CHECK(repositories.insert(std::string{row.repository}).second);
        CHECK(std::string{row.repository}.find('/') != std::string::npos);
        if (!row.weights.empty()) REQUIRE(find_precision("weights", row.weights));
        const auto found = find_model(row.repository);
        REQUIRE(found);
        CHECK(validate(*found));
        if (row.weights.empty() && row.context == 0) CHECK(found->name == row.id);
        if (!row.weights.empty()) CHECK(found->weights == *find_precision("weights", row.weights));
    }
}

TEST_CASE("every model has a repository") {
    std::set<std::string_view> held;
    for (const models::hub_name& row : models::hub_names) held.insert(row.id);
    for (const model* m : models::all) {
        CAPTURE(m->name);
        const bool is_published = m->name != "gpt3-175b";  // its weights are on no hub
        CHECK(held.count(m->name.view()) == (is_published ? 1 : 0));
    }
}

TEST_CASE("a repository is found exactly, in any letter case and without its organisation") {
    CHECK(find_model("Qwen/Qwen3-8B")->name == "qwen3-8b");
    CHECK(find_model("qwen/qwen3-8b-fp8")->weights == fp8_block);
    CHECK(find_model("Qwen3-14B-AWQ")->weights == awq(4, 128));
    CHECK(find_model("Qwen/Qwen3-30B-A3B-Instruct-2507")->max_context == tokens(262144));
    CHECK(find_model("Qwen/Qwen3-30B-A3B")->max_context == tokens(40960));
    CHECK_FALSE(find_model("Qwen/Qwen3-8B-FP9"));
}

TEST_CASE("a repository is found by its words where no model's id has them") {
    const auto coder = find_model("qwen3-coder:30b");
    REQUIRE(coder);
    CHECK(coder->name == "qwen3-coder-30b-a3b-instruct");
    CHECK(coder->max_context == tokens(262144));
    CHECK(find_model("qwen3-coder-30b-a3b-fp8")->weights == fp8_block);
    CHECK(find_model("mistral small 3.2")->name == "mistral-small-3.1-24b");
    CHECK(find_model("devstral")->max_context == tokens(131072));
    // Meta's repository, whose attention stays in 16 bits, is not NVIDIA's of that name.
    CHECK_FALSE(find_model("meta-llama/Llama-3.1-405B-Instruct-FP8"));
    // Of several repositories that have as few other words, none is meant.
    CHECK_FALSE(find_model("qwen coder awq"));
}

TEST_CASE("a quantised copy is the model before its publisher's ending, in the format that the ending means") {
    const struct {
        const char* name;
        const char* base;
        precision weights;
    } copies[] = {{"RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "llama-3.3-70b", packed_int(4, 128)},
                  {"RedHatAI/Qwen3-32B-FP8-dynamic", "qwen3-32b", fp8_channel},
                  {"RedHatAI/Qwen3-32B-quantized.w8a8", "qwen3-32b", int8_channel},
                  {"cpatonn/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit", "qwen3-30b-a3b", awq(4, 128)},
                  {"someone/Llama-3.1-8B-Instruct-GPTQ-INT4", "llama-3.1-8b", gptq(4, 128)},
                  {"unsloth/Qwen3-14B-bnb-4bit", "qwen3-14b", nf4_double},
                  {"Qwen/Qwen3.6-27B-FP8", "qwen3.6-27b", fp8_block},
                  {"mlx-community/Qwen3-30B-A3B-4bit", "qwen3-30b-a3b", mlx(4, 64)},
                  {"mlx-community/Llama-3.3-70B-Instruct-8bit", "llama-3.3-70b", mlx(8, 64)},
                  {"turboderp/Qwen3-32B-exl3:4.0bpw", "qwen3-32b", exl3(4000)},
                  {"someone/Qwen3-32B-EXL2-4.25bpw", "qwen3-32b", exl2(4250)}};
    for (const auto& c : copies) {
        CAPTURE(c.name);
        const auto copy = find_model(c.name);
        REQUIRE(copy);
        CHECK(copy->weights == c.weights);
        CHECK(count_parameters(*copy) == count_parameters(*find_model(c.base)));
        CHECK(validate(*copy));
    }
    CHECK(find_model("mlx-community/Qwen3-30B-A3B-4bit")->name == "qwen3-30b-a3b-4bit");
    // mlx-lm quantises the head, and ExLlama gives it 6 bits.
    CHECK(find_model("mlx-community/Qwen3-32B-4bit")->mixed.head == maybe<precision>{mlx(4, 64)});
    CHECK(find_model("turboderp/Qwen3-32B-exl3:4.0bpw")->mixed.head == maybe<precision>{exl3(6000)});
    CHECK_FALSE(find_model("RedHatAI/Qwen3-32B-quantized.w4a16")->mixed.head);
}

TEST_CASE("NVIDIA's NVFP4 copies of mixtures have their experts in four bits, all else in 16") {
    const model copy = find_model("nvidia/DeepSeek-R1-0528-NVFP4-v2").value();
    // 58 layers of 256 experts with 3 x 7,168 x 2,048 values: half a byte, and one for 16 of them
    const double experts = 58.0 * 256 * 3 * 7168 * 2048;
    const double rest = ratio(count_parameters(copy), parameters(1)) - experts;
    CHECK(static_cast<double>(weight_bytes(copy, formats_of(copy)).in(bytes)) ==
          doctest::Approx(experts * (0.5 + 1.0 / 16) + rest * 2).epsilon(0.001));
}

TEST_CASE("a name with an unknown ending, an ending of other publishers or nothing before it is no copy") {
    for (const char* name : {"someone/Qwen3-32B-4bit", "someone/Qwen3-32B-NVFP4", "nvidia/Llama-3.1-8B-Instruct-NVFP4",
                             "Qwen/Qwen9-32B-AWQ", "Qwen/-AWQ", "-AWQ", "turboderp/Qwen3-32B-exl3:bpw",
                             "turboderp/Qwen3-32B-exl3:99.0bpw", "-exl3:4.0bpw", "turboderp/Qwen3-32B-exl4:4.0bpw"})
        CHECK_FALSE(find_model(name));
}
