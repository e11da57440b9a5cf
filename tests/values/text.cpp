// SPDX-License-Identifier: MIT
#include <llmres/values/text.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <llmres/values/error.hpp>
#include <string_view>

using llmres::literal;
using llmres::text;

TEST_CASE("a value of an enumeration has the name at its place in the list beside it") {
    using llmres::error_code;
    static_assert(name_of(error_code::none) == "none" && name_of(error_code::io) == "io");
    for (std::size_t i = 0; i < llmres::names_of<error_code>.size(); ++i)
        CHECK(name_of(static_cast<error_code>(i)) == llmres::names_of<error_code>[i]);
    CHECK(llmres::names_of<error_code>.back() == name_of(error_code::io));  // the last: none lacks a name
}

TEST_CASE("a text holds what was written, up to its capacity") {
    static_assert(text<7>{"seven.."}.view() == "seven..");
    static_assert(text<7>{}.empty());
    static_assert(text<7>{""} == "");
    CHECK(text<7>{"abc"}.view().size() == 3);
}

TEST_CASE("a literal of a table is a std::string_view of its letters") {
    static_assert(literal{"fp8_e4m3"} == std::string_view{"fp8_e4m3"});
    static_assert(literal{"fp8_e4m3"}.size() == 8);
    static_assert(literal{}.empty());
    constexpr std::string_view view = literal{"kv"};
    CHECK(view == "kv");
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

TEST_CASE("a text begins with what it is cut to at most") {
    static_assert(text<7>{"abcdefg"}.starts_with("abc"));
    CHECK(text<7>{"abc"}.starts_with(""));
    CHECK(text<7>{"abc"}.starts_with("abc"));
    CHECK_FALSE(text<7>{"abc"}.starts_with("abcd"));
    CHECK_FALSE(text<7>{"abc"}.starts_with("b"));
    CHECK_FALSE(text<3>{"abc"}.starts_with("abcd"));
    CHECK_FALSE(text<3>{"abc"} == std::string_view{"abcd"});
    CHECK_FALSE(text<3>{"abc"} == std::string_view{"ab"});
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
