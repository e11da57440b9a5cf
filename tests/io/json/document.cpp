// SPDX-License-Identifier: MIT
#include <llmres/io/json/document.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

/// What is refused, as its value says it.
std::string refused_value(const std::string& text) {
    const result<json_document> read = parse_json_object(text);
    CAPTURE(text.substr(0, 100));
    REQUIRE_FALSE(read);
    CHECK(read.error().field == "JSON");
    CHECK(read.error().code == error_code::malformed);
    return std::string{read.error().value.view()};
}

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
    std::string text = "{\"a\": ";
    for (std::size_t i = 1; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 1; i < depth; ++i) text += close;
    return text + "}";
}

}  // namespace

TEST_CASE("a document is built as nlohmann's own parser builds it") {
    for (const char* text : {"{}", " {\"a\" : [ ] } ",
                             "{\"b\": [1, -2, 18446744073709551615, 1.5e3, true, false, null, \"x\"], \"a\": {}}",
                             "{\"\": {\"\": [[], [{}], [[1], [2, [3]]]]}, \"z\": [{\"q\": 1}, {\"q\": 2}]}",
                             "{\"text\": \"\\u00e4 \\\"{[NaN\\\\\", \"c\": \"-Infinity\"}"}) {
        CAPTURE(text);
        const result<json_document> read = parse_json_object(text);
        REQUIRE(read);
        CHECK(read->root == json::parse(text));
        CHECK(read->root.dump() == json::parse(text).dump());  // integers stay integers
    }
}

TEST_CASE("what is no JSON object is refused, with the line where it stops being one") {
    CHECK(refused_value("") == "line 1: the end");
    CHECK(refused_value("{\n\"a\": [1,\n 2,, 3]}") == "line 3: , 3]}");
    CHECK(refused_value("{\"a\": 1} x") == "line 1: x");
    CHECK(refused_value("{\"a\":\n") == "line 2: the end");
    CHECK(refused_value("[1, 2]") == "array");
    CHECK(refused_value("null") == "null");
    CHECK(refused_value("{\"a\": " + std::string(60, 'x')) == "line 1: " + std::string(40, 'x'));
    CHECK(refused_value("{\"a\": \"\xff\"}").starts_with("line 1: "));
}

TEST_CASE("nesting deeper than 64 is refused, however deep; next to each other anything may stand") {
    CHECK(parse_json_object(nested(64, "[", "]")));
    CHECK(refused_value(nested(65, "[", "]")) == "nested too deep");
    CHECK(parse_json_object(nested(64, "{\"a\": ", "}")));
    CHECK(refused_value(nested(65, "{\"a\": ", "}")) == "nested too deep");
    CHECK(refused_value("{\"a\": " + std::string(1'000'000, '[')) == "nested too deep");
}

TEST_CASE("the same key twice in one object is refused by its name") {
    const result<json_document> read = parse_json_object("{\"a\": {\"b\": 1, \"c\": [], \"b\": 2}}");
    CHECK(read.error().code == error_code::inconsistent);
    CHECK(read.error().field == "b");
    CHECK(parse_json_object("{\"a\": {\"b\": 1}, \"b\": [{\"b\": 1}, {\"b\": 2}]}"));
}

TEST_CASE(
    "NaN and Infinity are null in files that others wrote, and refused with their line where they must not stand") {
    const auto read = parse_json_object("{\"a\": NaN, \"b\": [-Infinity, Infinity, -1], \"c\": \"NaN\"}");
    REQUIRE(read);
    CHECK(read->root == json{{"a", nullptr}, {"b", {nullptr, nullptr, -1}}, {"c", "NaN"}});
    const auto strict = parse_json_object("{\"a\": 1,\n\"b\": -Infinity}", no_numbers::refused);
    CHECK(strict.error().value == "line 2: -Infinity}");
    CHECK(parse_json_object("{\"a\": \"NaN\"}", no_numbers::refused));
    CHECK(refused_value("{\"a\": Nan}") == "line 1: Nan}");
}

TEST_CASE("the time to parse grows with the length of a document: a long list of objects is no exception") {
    std::string text = "{\"layers\": [";
    for (int i = 0; i < 60'000; ++i) text += "{\"name\": [1, 2]}, ";
    text += "0]}";
    const auto read = parse_json_object(text);  // a parser that looks back at the list would take a minute
    REQUIRE(read);
    CHECK(read->root["layers"].size() == 60'001);
}

TEST_CASE("a document has 300,000 values at most, lists, objects and those of their fields counted, and not one more") {
    const auto listed = [](std::size_t values) {  // in a list of an object, which are two more
        std::string text = "{\"a\": [1";
        for (std::size_t i = 1; i < values; ++i) text += ",1";
        return text + "]}";
    };
    CHECK(parse_json_object(listed(299'998)));
    const result<json_document> longer = parse_json_object(listed(299'999));
    REQUIRE_FALSE(longer);
    CHECK(longer.error().value == "too long a document");
    CHECK(longer.error().code == error_code::out_of_range);
    std::string objects = "{\"a\": [{}";
    for (int i = 1; i < 299'998; ++i) objects += ",{}";
    CHECK(parse_json_object(objects + "]}"));
    CHECK_FALSE(parse_json_object(objects + ",{}]}"));
}

TEST_CASE("words for numbers are told from text that begins as they do, wherever they stand") {
    CHECK(parse_json_object("{\"a\": [NaN, NaN,Infinity,-Infinity]}")->root["a"].size() == 4);
    CHECK(parse_json_object("{\"In \\\"quotes, \\\\\": NaN, \"NaN\": \"-Infinity, NaN\"}")->root["NaN"] ==
          "-Infinity, NaN");
    CHECK(refused_value("{\"a\": -Inf}").starts_with("line 1: "));
    CHECK(refused_value("NaN") == "null");
    CHECK(parse_json_object("{\"a\": -1}", no_numbers::refused));
    const auto late = parse_json_object("{\"a\": [1,\n\n 2, NaN]}", no_numbers::refused);
    REQUIRE_FALSE(late);
    CHECK(late.error().value == "line 3: NaN]}");
    const auto ended = parse_json_object("{\"a\":\r\n\n");
    REQUIRE_FALSE(ended);
    CHECK(ended.error().value.view().starts_with("line "));
}

TEST_CASE("an error shows forty characters of what is no JSON") {
    const std::string value = refused_value("{" + std::string(100, 'x') + "}");
    CHECK(value == "line 1: " + std::string(40, 'x'));
}
