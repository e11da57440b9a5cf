// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/io/job_fields.hpp>
#include <set>
#include <string>

using namespace llmres;

TEST_CASE("a key is listed once in its object, with a heading and a line of help") {
    std::set<std::string> keys;
    for (const job_field& field : job_fields) {
        CAPTURE(field.name);
        CHECK(keys.insert(std::string{field.object} + "." + std::string{field.name}).second);
        CHECK_FALSE(field.name.empty());
        CHECK_FALSE(field.group.empty());
        CHECK_FALSE(field.help.empty());
    }
}

TEST_CASE("bounds are those of numbers, and in order") {
    for (const job_field& field : job_fields) {
        CAPTURE(field.name);
        const bool number = field.type == field_type::integer || field.type == field_type::real;
        if (number)
            CHECK(field.low <= field.high);
        else
            CHECK(field.high == 0);
    }
}

TEST_CASE("a key is found in its object alone") {
    REQUIRE(find_job_field("layout", "tensor") != nullptr);
    CHECK(find_job_field("layout", "tensor")->low == 1);
    CHECK(find_job_field("", "tensor") == nullptr);
    CHECK(find_job_field("layout", "tensors") == nullptr);
}
