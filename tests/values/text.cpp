// SPDX-License-Identifier: MIT
#include <llmres/values/text.hpp>

#include <doctest/doctest.h>

#include <string_view>

using llmres::text;

TEST_CASE("a text holds what was written, up to its capacity") {
    static_assert(text<7>{"seven.."}.view() == "seven..");
    static_assert(text<7>{}.empty());
    static_assert(text<7>{""} == "");
    CHECK(text<7>{"abc"}.view().size() == 3);
}

TEST_CASE("a text that is too long is cut, and shows it") {
    CHECK(text<7>{"too long a text"} == "too l..");
    CHECK(text<7>{"too long a text"}.view().size() == 7);
}

TEST_CASE("appending stops at the capacity") {
    text<7> t{"abc"};
    t.append("def");
    CHECK(t == "abcdef");
    t.append("ghi");
    CHECK(t == "abcdefg");
    CHECK(t.characters[7] == '\0');
}

TEST_CASE("texts compare by their characters, whatever their storage held before") {
    text<7> a{"abcdefg"};
    a = "ab";
    CHECK(a == text<7>{"ab"});
    CHECK(a == "ab");
    CHECK(a == std::string_view{"ab"});
    const char* const pointed = "ab";
    CHECK(a == pointed);
    CHECK(pointed == a);
    CHECK(a != pointed + 1);
    CHECK_FALSE(a == "abc");
}

TEST_CASE("a text is a template argument") {
    static_assert([]<text<15> Name>() { return Name == "bf16"; }.operator()<"bf16">());
}
