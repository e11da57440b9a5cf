// SPDX-License-Identifier: MIT
#include <llmres/io/svg/form.hpp>

#include <doctest/doctest.h>
#include <llmres/values/text.hpp>

#include <array>
#include <cstdio>
#include <string>

using llmres::detail::filled;

TEST_CASE("values stand in the places of a form, in order or by number, and two braces are one") {
    CHECK(filled("no place") == "no place");
    CHECK(filled("{} of {}", 3, std::string{"four"}) == "3 of four");
    CHECK(filled("{0}{1}{0}", "a", llmres::text<7>{"b"}) == "aba");
    CHECK(filled(".a {{ b: {}; }}", -1) == ".a { b: -1; }");
    CHECK(filled("{0:.0f} {0:.0f} {1}", 2.0, "x") == "2 2 x");
    CHECK(filled("{}", "") == "");
    CHECK(filled("{} {}", "one") == "one ");
}

TEST_CASE("numbers are written as printf writes them") {
    for (const double number :
         {0.0, -0.0, 0.05, 0.25, 1.0, 9.96, 12.5, -3.14159, 99.95, 1e-7, 123456.5, 1234567.0, 6.02e23, 1e300, 5e-324}) {
        CAPTURE(number);
        const auto printed = [&](const char* form) {
            std::array<char, 400> text{};
            std::snprintf(text.data(), text.size(), form, number);
            return std::string{text.data()};
        };
        CHECK(filled("{:.1f}", number) == printed("%.1f"));
        CHECK(filled("{:.0f}", number) == printed("%.0f"));
        CHECK(filled("{:.3g}", number) == printed("%.3g"));
        CHECK(filled("{:.6g}", number) == printed("%.6g"));
        CHECK(filled("{:g}", number) == printed("%g"));
    }
    CHECK(filled("{} {}", 0.1, 65536) == "0.1 65536");
}
