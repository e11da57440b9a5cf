// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/find_precision.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

using namespace llmres;

TEST_CASE("every preset is sound, named, and named once") {
    std::set<std::string> names;
    for (const model* m : models::all) {
        CHECK_MESSAGE(validate(*m), m->name.view(), ": ", validate(*m).error().field.view());
        CHECK_FALSE(m->name.empty());
        CHECK_FALSE(m->architecture.empty());
        CHECK_MESSAGE(names.insert(std::string{m->name.view()}).second, m->name.view(), " is there twice");
        for (const char c : m->name.view())
            CHECK((c == '-' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')));
    }
}

TEST_CASE("every preset counts what its publisher counts") {
    for (const model* m : models::all)
        if (m->published)
            CHECK_MESSAGE(count_parameters(*m) == *m->published, m->name.view(), " counts ",
                          count_parameters(*m).in(parameters), ", published ", m->published.value.in(parameters));
}

TEST_CASE("a model is found by its id") {
    CHECK(find_model("llama-3.1-8b")->hidden == 4096);
    CHECK(find_model("deepseek-v3")->layers.size == 61);
}

TEST_CASE("an unknown id is refused with the nearest ids") {
    const auto found = find_model("lama-3.1-8b");
    REQUIRE_FALSE(found);
    CHECK(found.error().code == error_code::unknown);
    CHECK(found.error().field == "model");
    CHECK(found.error().value == "lama-3.1-8b");
    CHECK(found.error().expected.view().find("llama-3.1-8b") != std::string_view::npos);
    CHECK_FALSE(find_model(""));
}

TEST_CASE("a model is found by the words of its name, however they are spelled") {
    for (const auto& [typed, id] : {std::pair{"llama 3.1 70b", "llama-3.1-70b"},
                                    {"Llama-3.1-8B-Instruct", "llama-3.1-8b"},
                                    {"meta-llama/Llama-2-70b-hf", "llama-2-70b"},
                                    {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
                                    {"qwen2.5 7b", "qwen2.5-7b"},
                                    {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
                                    {"qwen3 30b", "qwen3-30b-a3b"},
                                    {"70B llama 3.3", "llama-3.3-70b"},
                                    {"llama3.1 8b", "llama-3.1-8b"},
                                    {"google/gemma-3-27b-it", "gemma-3-27b"},
                                    {"falcon 180b", "falcon-180b"},
                                    {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek-r1-distill-qwen-7b"},
                                    {"r1-distill-llama-8b", "deepseek-r1-distill-llama-8b"},
                                    {"mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"},
                                    {"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"},
                                    {"GROK-1", "grok-1"}})
        CHECK_MESSAGE(find_model(typed)->name == std::string_view{id}, typed, " found ",
                      find_model(typed)->name.view());
}

TEST_CASE("a name that means several models, or none, is refused with up to three that it might mean") {
    for (const char* typed :
         {"llama 70b", "mistral 7b", "gemma-3", "llama 3.1 9b", "Qwen-14B", "", "/", "instruct", "zzzz"}) {
        const auto found = find_model(typed);
        CHECK_MESSAGE(!found, typed, " found ", found->name.view());
        CHECK(found.error().code == error_code::unknown);
    }
    CHECK(search_models("mistral 7b").count == 2);
    CHECK(find_model("llama 70b").error().expected.view().find("70b") != std::string_view::npos);
    CHECK(search_models("llama-3.1-9b").count == 3);
    static_assert(search_models("gpt oss").count == 2);
}

TEST_CASE("a short name that several models have all words of is refused with them") {
    for (const auto& [typed, first, second] :
         {std::tuple{"qwen3.5", "qwen3.5-27b", "qwen3.5-35b-a3b"},
          {"llama-nemotron", "llama-3.1-nemotron-51b", "llama-3.3-nemotron-super-49b"}}) {
        const auto found = find_model(typed);
        REQUIRE_FALSE(found);
        CHECK(found.error().expected.view().find(first) != std::string_view::npos);
        CHECK(found.error().expected.view().find(second) != std::string_view::npos);
    }
}
