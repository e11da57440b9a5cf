// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/hub_names.hpp>
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
