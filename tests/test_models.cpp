// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models.hpp>
#include <llmres/parameters.hpp>
#include <set>
#include <string>

using namespace llmres;

TEST_CASE("every preset is sound, named, and named once") {
    std::set<std::string> names;
    for (const model* m : models::all) {
        CHECK_MESSAGE(validate(*m), m->name.view(), ": ", validate(*m).error().field.view());
        CHECK_FALSE(m->name.empty());
        CHECK_FALSE(m->architecture.empty());
        CHECK_MESSAGE(names.insert(std::string{m->name.view()}).second, m->name.view(), " is there twice");
        for (const char c : m->name.view()) CHECK((c == '-' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')));
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
