// SPDX-License-Identifier: MIT
// Fields of JSON objects that may hold anything: each reader against each kind of value, at its bounds and beyond.
#include <llmres/io/json/fields.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;
using detail::config_fields;
using nlohmann::json;

namespace {

/// Every kind of value that JSON has.
const std::vector<json> kinds{true,
                              false,
                              0,
                              1,
                              -1,
                              7,
                              std::uint64_t{1} << 63,
                              0.5,
                              7.0,
                              -2.5,
                              "7",
                              "",
                              "words",
                              json::array(),
                              {1, 2},
                              json::object(),
                              {{"a", 1}},
                              nullptr};

/// What a reader answers of a field `x` of some value, and the code of the error that it keeps.
template <class Read>
auto answered(const json& value, const Read& read) {
    const json object{{"x", value}};
    config_fields fields{object};
    const auto answer = read(fields);
    struct {
        decltype(read(fields)) answer;
        error_code code;
    } both{answer, fields.error().code};
    if (both.code != error_code::none) {
        CHECK(fields.error().field == "x");
        CHECK_FALSE(fields.error().expected.empty());
    }
    return both;
}

std::string expected_of(const json& object, const detail::field_names& names) {
    config_fields fields{object};
    fields.number(names, 0, 10);
    return std::string{fields.error().expected.view()};
}

}  // namespace

TEST_CASE("an integer is read within its bounds, were it written with a point, and refused beyond them") {
    for (const std::int64_t low : {-5, 0, 1, 3})
        for (const std::int64_t high : {3, 4, 100})
            for (std::int64_t n = -8; n <= 110; ++n)
                for (const json& value : {json(n), json(static_cast<double>(n))}) {
                    const auto read = answered(value, [&](config_fields& f) { return f.number("x", low, high); });
                    const bool inside = n >= low && n <= high;
                    CHECK(read.answer == (inside ? n : low));
                    CHECK(read.code == (inside ? error_code::none : error_code::out_of_range));
                    const auto either =
                        answered(value, [&](config_fields& f) { return f.number_or("x", 55, low, high); });
                    CHECK(either.answer == read.answer);
                    CHECK(either.code == read.code);
                }
    const std::int64_t most = INT64_MAX;
    CHECK(answered(most, [&](config_fields& f) { return f.number("x", 0, most); }).answer == most);
    CHECK(answered(json(static_cast<std::uint64_t>(most) + 1), [&](config_fields& f) {
              return f.number("x", 0, most);
          }).code == error_code::out_of_range);
    CHECK(answered(INT64_MIN, [&](config_fields& f) { return f.number("x", INT64_MIN, 0); }).answer == INT64_MIN);
}

TEST_CASE("each reader takes the kinds of value that it is for, and refuses the others by name") {
    for (const json& value : kinds) {
        CAPTURE(value.dump());
        const bool absent = value.is_null();
        const bool whole = value.is_number_integer() || value == 7.0;
        const auto number = answered(value, [](config_fields& f) { return f.number_or("x", 4, -100, 100); });
        const bool fits_in = value != json(std::uint64_t{1} << 63);
        CHECK(number.code == (absent || (whole && fits_in)    ? error_code::none
                              : value.is_number() && !fits_in ? error_code::out_of_range
                                                              : error_code::malformed));
        CHECK(number.answer == (absent ? 4 : whole && fits_in ? value.get<std::int64_t>() : -100));
        const auto flag = answered(value, [](config_fields& f) { return f.flag_or("x", true); });
        CHECK(flag.code == (absent || value.is_boolean() ? error_code::none : error_code::malformed));
        CHECK(flag.answer == (value.is_boolean() ? value.get<bool>() : true));
        const auto words = answered(value, [](config_fields& f) { return std::string{f.text_or("x", "none")}; });
        CHECK(words.code == (absent || value.is_string() ? error_code::none : error_code::malformed));
        CHECK(words.answer == (value.is_string() ? value.get<std::string>() : "none"));
        const auto real = answered(value, [](config_fields& f) { return f.real_or("x", 9, -100, 1e30); });
        CHECK(real.code == (absent || value.is_number() ? error_code::none : error_code::malformed));
        CHECK(real.answer == (value.is_number() ? value.get<double>() : 9));
        const auto list = answered(value, [](config_fields& f) { return f.list("x") != nullptr; });
        CHECK(list.code == (absent || value.is_array() ? error_code::none : error_code::malformed));
        CHECK(list.answer == value.is_array());
        const auto object = answered(value, [](config_fields& f) { return f.object("x") != nullptr; });
        CHECK(object.code == (absent || value.is_object() ? error_code::none : error_code::malformed));
        CHECK(object.answer == value.is_object());
        const json holder{{"x", value}};
        const config_fields fields{holder};
        CHECK(fields.has("x") == !absent);
        CHECK(fields.gives("x") == !absent);
        CHECK_FALSE(fields.has("y"));
        CHECK(fields.holds_list("x") == value.is_array());
        CHECK(fields.holds_object("x") == value.is_object());
        CHECK(fields.holds_text("x") == value.is_string());
        for (const bool held : {fields.holds_list("y"), fields.holds_object("y"), fields.holds_text("y")})
            CHECK_FALSE(held);
        const bool nothing =
            absent || value == false || value == 0 || value == 1 || (value.is_structured() && value.empty());
        CHECK(fields.says_something("x") == !nothing);
        CHECK_FALSE(fields.says_something("y"));
        CHECK(detail::says(value, "words") == (value == "words"));
    }
}

TEST_CASE("a fraction is read within its bounds, and refused beyond them and where it is none") {
    for (const double low : {0.0, 0.5})
        for (const double high : {1.0, 2.0})
            for (const double value : {-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0}) {
                const auto read = answered(value, [&](config_fields& f) { return f.real_or("x", 9, low, high); });
                const bool inside = value >= low && value <= high;
                CHECK(read.answer == (inside ? value : 9));
                CHECK(read.code == (inside ? error_code::none : error_code::out_of_range));
            }
}

TEST_CASE("a place of a list is read where there is one of the right kind") {
    const json object{{"x", {5, "b", 7}}, {"y", 3}};
    for (std::size_t i = 0; i < 4; ++i) {
        config_fields numbers{object}, words{object};
        CHECK(numbers.number_at("x", i, 1, 6) == (i == 0 ? 5 : 1));
        CHECK(numbers.error().code == (i == 0   ? error_code::none
                                       : i == 2 ? error_code::out_of_range
                                                : error_code::malformed));
        CHECK(words.text_at("x", i) == (i == 1 ? "b" : ""));
        CHECK(words.error().code == (i == 1 ? error_code::none : error_code::malformed));
    }
    config_fields none{object}, other{object};
    CHECK(none.number_at("z", 0, 1, 6) == 1);
    CHECK_FALSE(none.ok());
    CHECK(other.text_at("y", 0).empty());
    CHECK_FALSE(other.ok());
    for (const std::int64_t n : {5, 6, 7}) {
        config_fields fields{object};
        CHECK(fields.lists("x", n) == (n != 6));
        CHECK_FALSE(fields.lists("z", n));
        CHECK(fields.ok());
        CHECK_FALSE(fields.lists("y", n));
        CHECK_FALSE(fields.ok());
    }
}

TEST_CASE("the first name that a file has counts, and an error says that name, or all where none is there") {
    const detail::field_names names{"a", "b", "c"};
    CHECK(names.count == 3);
    const json object{{"b", 2}, {"c", 30}, {"d", nullptr}};
    config_fields fields{object};
    CHECK(fields.number(names, 0, 10) == 2);
    CHECK(fields.label(names) == "b");
    CHECK(fields.label("d") == "d");
    CHECK(fields.label({"x", "y"}) == "x");
    CHECK(fields.ok());
    for (const char* read : {"a", "b", "c"}) CHECK(fields.was_read(read));
    CHECK_FALSE(fields.was_read("d"));
    CHECK(fields.number("c", 0, 10) == 0);
    CHECK(fields.error().field == "c");
    CHECK(fields.error().value == "30");
    CHECK(fields.error().expected == "an integer from 0 to 10");
    CHECK(expected_of(object, {"x", "y", "z"}) == "an integer, under the name x or y or z");
    CHECK(expected_of(object, "x") == "an integer");
    CHECK(expected_of(object, {"x", "y"}) == "an integer, under the name x or y");
    CHECK(fields.label({"b", "c"}) == "b");
    CHECK(fields.label({"c", "b"}) == "c");
    config_fields remarked{object};
    CHECK(remarked.number_or("c", 1, 0, 10, ", as it is") == 0);
    CHECK(remarked.error().expected == "an integer from 0 to 10, as it is");
    remarked.fail(error_code::missing, "a", "the second");
    CHECK(remarked.error().field == "c");  // the first is kept
    remarked.keep(refused(error_code::missing, "e", "", "the third"));
    CHECK(remarked.error().field == "c");
    config_fields checked{object};
    checked.keep(done{});
    CHECK(checked.ok());
    checked.keep(refused(error_code::missing, "e", "", "it"));
    CHECK(checked.error().field == "e");
}

TEST_CASE("defaults stand for what is absent, not for what is null, and nothing of them was given") {
    const json object{{"a", 1}, {"n", nullptr}};
    config_fields fields{object};
    fields.fall_back_on({{"a", 5}, {"b", 6}, {"n", 7}});
    CHECK(fields.number_or("a", 0, 0, 10) == 1);
    CHECK(fields.number_or("b", 0, 0, 10) == 6);
    CHECK(fields.number_or({"c", "b"}, 0, 0, 10) == 6);
    CHECK(fields.number_or("n", 9, 0, 10) == 9);
    CHECK(fields.number_or({"n", "b"}, 9, 0, 10) == 9);
    CHECK(fields.number_or("d", 8, 0, 10) == 8);
    CHECK(fields.has("b"));
    CHECK_FALSE(fields.gives("b"));
    CHECK_FALSE(fields.says_something("b"));
}

TEST_CASE("an object within another one may leave out what its class sets, and its errors have the path to it") {
    const json object{{"a", 50}};
    config_fields inner{object, "outer.inner"}, outer{object};
    CHECK(inner.number_nested("b", 4, 0, 10) == 4);
    CHECK(inner.ok());
    CHECK(inner.number_nested("a", 4, 0, 100) == 50);
    CHECK(inner.number_nested("a", 4, 0, 10) == 0);
    CHECK(inner.error().field == "outer.inner.a");
    CHECK(outer.number_nested("b", 4, 0, 10) == 0);
    CHECK(outer.error().code == error_code::missing);
    CHECK(outer.error().field == "b");
}

TEST_CASE("an error shows what stands in a field: text in quotes, lists and objects by their kind") {
    const auto value_of = [](const json& value) {
        const json object{{"x", value}};
        config_fields fields{object};
        fields.fail(error_code::malformed, "x", "something else");
        return std::string{fields.error().value.view()};
    };
    CHECK(value_of("words") == "\"words\"");
    CHECK(value_of(std::string(200, 'w')) == "\"" + std::string(90, 'w') + "\"");
    CHECK(value_of({1, 2}) == "a list");
    CHECK(value_of(json::object()) == "an object");
    CHECK(value_of(2.5) == "2.5");
    CHECK(value_of(true) == "true");
    CHECK(value_of(nullptr) == "absent");
    CHECK(detail::shown("\xff") == "\"\xef\xbf\xbd\"");  // no UTF-8
}

TEST_CASE("the largest number is remembered with its field, for the error where a product overflows") {
    const json object{{"a", 7}, {"b", 100}, {"c", 30}, {"d", -500}, {"e", 100}};
    config_fields fields{object};
    CHECK(fields.largest_value() == 0);
    std::int64_t most = 0;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        const std::int64_t n = fields.number(name, -1000, 1000);
        most = n > most ? n : most;
        CHECK(fields.largest_value() == most);
    }
    CHECK(fields.largest_field() == "b");
}

TEST_CASE("of two names the first that a file has is the label of the field, and both are told where none is there") {
    const json both{{"width", "?"}, {"hidden_size", "?"}};
    const config_fields fields{both};
    CHECK(fields.label({"hidden_size", "width"}) == text<63>{"hidden_size"});
    CHECK(fields.label({"width", "hidden_size"}) == text<63>{"width"});
    const json empty = json::object();
    config_fields none{empty};
    none.number({"hidden_size", "width"}, 1, 10);
    CHECK(none.error().expected == text<191>{"an integer, under the name hidden_size or width"});
}
