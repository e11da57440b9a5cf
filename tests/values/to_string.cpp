// SPDX-License-Identifier: MIT
#include <llmres/values/to_string.hpp>

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "../properties.hpp"

using namespace llmres;

TEST_CASE("bytes are binary, with three digits, and exact when small") {
    CHECK(to_string(bytes(0)) == "0 B");
    CHECK(to_string(bytes(1)) == "1 B");
    CHECK(to_string(bytes(512)) == "512 B");
    CHECK(to_string(bytes(1023)) == "1023 B");
    CHECK(to_string(kib(1)) == "1 KiB");
    CHECK(to_string(bytes(1025)) == "1.00 KiB");
    CHECK(to_string(bytes(1536)) == "1.5 KiB");
    CHECK(to_string(mib(81559)) == "79.6 GiB");
    CHECK(to_string(gib(80)) == "80 GiB");
    CHECK(to_string(gib(80) - bytes(1)) == "80.0 GiB");
    CHECK(to_string(mib(1000)) == "1000 MiB");
    CHECK(to_string(mib(1) - bytes(1)) == "1.00 MiB");  // not 1024 KiB
    CHECK(to_string(tib(1) - bytes(1)) == "1.00 TiB");
    CHECK(to_string(tib(1500)) == "1.46 PiB");
}

TEST_CASE("bytes are decimal on request") {
    CHECK(to_string(gib(80), prefix::decimal) == "85.9 GB");
    CHECK(to_string(bytes(999), prefix::decimal) == "999 B");
    CHECK(to_string(bytes(999'999), prefix::decimal) == "1.00 MB");
    CHECK(to_string(gb(140), prefix::decimal) == "140 GB");
}

TEST_CASE("negative sizes keep their sign") {
    CHECK(to_string(bytes(-512)) == "-512 B");
    CHECK(to_string(bytes(0) - mib(81559)) == "-79.6 GiB");
    CHECK(to_string(bytes(0) - gib(80), prefix::decimal) == "-85.9 GB");
    CHECK(to_string(bytes(-1234), exactly) == "-1,234 B");
}

TEST_CASE("a count that hit the end of its range says so") {
    CHECK(to_string(byte_count::max()) == "8 EiB or more");
    CHECK(to_string(byte_count::max(), prefix::decimal) == "9.22 EB or more");
    CHECK(to_string(byte_count::max(), exactly) == "9,223,372,036,854,775,807 B or more");
    CHECK(to_string(bytes(properties::smallest)) == "-8 EiB or less");
    CHECK(to_string(bytes(properties::smallest), exactly) == "-9,223,372,036,854,775,808 B or less");
    CHECK(to_string(parameter_count::max()).ends_with("or more"));
    CHECK(to_string(token_count::max()).ends_with("or more"));
}

TEST_CASE("every digit on request") {
    CHECK(to_string(gib(80), exactly) == "85,899,345,920 B");
    CHECK(to_string(parameters(8'030'261'248), exactly) == "8,030,261,248");
    CHECK(to_string(parameters(999), exactly) == "999");
    CHECK(to_string(tokens(4096), exactly) == "4,096 tokens");
    CHECK(to_string(bytes_a_token(131'072), exactly) == "131,072 B/token");
}

TEST_CASE("parameters are spoken of in billions") {
    CHECK(to_string(parameters(0)) == "0");
    CHECK(to_string(parameters(999)) == "999");
    CHECK(to_string(parameters(20'971'520)) == "21.0 M");
    CHECK(to_string(parameters(8'030'261'248)) == "8.03 B");
    CHECK(to_string(parameters(70'000'000'000)) == "70 B");
    CHECK(to_string(parameters(671'026'419'200)) == "671 B");
    CHECK(to_string(parameters(1'800'000'000'000)) == "1.8 T");
    CHECK(to_string(parameters(999'999'999'999)) == "1.00 T");
}

TEST_CASE("tokens are counted out while they are few") {
    CHECK(to_string(tokens(0)) == "0 tokens");
    CHECK(to_string(tokens(1)) == "1 token");
    CHECK(to_string(tokens(4096)) == "4096 tokens");
    CHECK(to_string(tokens(131'072)) == "131,072 tokens");
    CHECK(to_string(tokens(15'000'000'000'000)) == "15 T tokens");
    CHECK(to_string(bytes_a_token(131'072)) == "128 KiB/token");
    CHECK(to_string(bits(9)) == "9 bits");
}

TEST_CASE("rates are decimal, as vendors print them") {
    CHECK(to_string(gb_per_s(3350)) == "3.35 TB/s");
    CHECK(to_string(gb_per_s(900)) == "900 GB/s");
    CHECK(to_string(gb_per_s(31.508)) == "31.5 GB/s");
    CHECK(to_string(bytes_per_s(0)) == "0 B/s");
    CHECK(to_string(bytes_per_s(0.5)) == "0.5 B/s");
    CHECK(to_string(tflops(989.4)) == "989 TFLOP/s");
    CHECK(to_string(tflops(2250)) == "2.25 PFLOP/s");
    CHECK(to_string(tflops(0.4202)) == "420 GFLOP/s");
    CHECK(to_string(mhz(1980)) == "1.98 GHz");
}

TEST_CASE("work is counted up to training runs and beyond") {
    CHECK(to_string(flops(6.5e18)) == "6.5 EFLOP");
    CHECK(to_string(flops(3.8e25)) == "38 YFLOP");
    CHECK(to_string(flops(1.234e30)) == "1.23e+30 FLOP");
    CHECK(to_string(flops(-2e12)) == "-2 TFLOP");
}

TEST_CASE("tokens per second show whole tokens from a hundred up") {
    CHECK(to_string(tokens_per_s(0)) == "0 tokens/s");
    CHECK(to_string(tokens_per_s(0.123456)) == "0.123 tokens/s");
    CHECK(to_string(tokens_per_s(12.34)) == "12.3 tokens/s");
    CHECK(to_string(tokens_per_s(999.4)) == "999 tokens/s");
    CHECK(to_string(tokens_per_s(999.6)) == "1000 tokens/s");
    CHECK(to_string(tokens_per_s(1234.4)) == "1234 tokens/s");
    CHECK(to_string(tokens_per_s(56789.0)) == "56,789 tokens/s");
    CHECK(to_string(tokens_per_s(1.5e6)) == "1.5 M tokens/s");
    CHECK(to_string(tokens_per_s(-1234.0)) == "-1234 tokens/s");
}

TEST_CASE("times take the unit that people would") {
    CHECK(to_string(seconds(0)) == "0 s");
    CHECK(to_string(seconds(2.5e-10)) == "0.25 ns");
    CHECK(to_string(microseconds(2.25)) == "2.25 us");
    CHECK(to_string(milliseconds(12.345)) == "12.3 ms");
    CHECK(to_string(milliseconds(999.9)) == "1.00 s");
    CHECK(to_string(seconds(51)) == "51 s");
    CHECK(to_string(seconds(59.99)) == "1.00 min");
    CHECK(to_string(seconds(150)) == "2.5 min");
    CHECK(to_string(hours(3.75)) == "3.75 h");
    CHECK(to_string(seconds(25'000 * 30)) == "8.68 days");
    CHECK(to_string(seconds(-0.0123)) == "-12.3 ms");
}

TEST_CASE("power and energy") {
    CHECK(to_string(watts(700)) == "700 W");
    CHECK(to_string(watts(10'200)) == "10.2 kW");
    CHECK(to_string(watts(0)) == "0 W");
    CHECK(to_string(joules(3.6e6)) == "3.6 MJ");
    CHECK(to_string(joules(0.005)) == "0.005 J");
}

TEST_CASE("money shows hundredths, and three digits where that is too coarse") {
    CHECK(to_string(currency(0)) == "0");
    CHECK(to_string(currency(2.5)) == "2.50");
    CHECK(to_string(currency(27'500)) == "27,500.00");
    CHECK(to_string(currency(1999.999)) == "2000.00");
    CHECK(to_string(currency(-2.5)) == "-2.50");
    CHECK(to_string(currency(0.00025)) == "0.00025");
    CHECK(to_string(currency(0.123456)) == "0.123");
    CHECK(to_string(currency(0.999)) == "1.00");
}

TEST_CASE("what is not a number says so") {
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(to_string(seconds(infinity)) == "inf s");
    CHECK(to_string(seconds(-infinity)) == "-inf s");
    CHECK(to_string(tflops(std::nan(""))) == "nan FLOP/s");
    CHECK(to_string(gb(1) / gb_per_s(0)) == "inf s");
    CHECK(to_string(currency(infinity)) == "inf");
    CHECK(to_string(tokens_per_s(infinity)) == "inf tokens/s");
}

TEST_CASE("tiny and huge values stay legible") {
    CHECK(to_string(seconds(1e-300)).size() < 24);
    CHECK(to_string(tflops(1e290)).size() < 24);
    CHECK(to_string(seconds(1e300)).size() < 24);
    CHECK(to_string(currency(1e300)).size() < 24);
}

TEST_CASE("the text is within half a unit of the third digit") {
    properties::generator random;
    for (int i = 0; i < 5000; ++i) {
        const double x = std::ldexp(static_cast<double>(random.bits()), static_cast<int>(random.bits() % 70) - 74);
        const std::string shown = to_string(watts(x));
        CAPTURE(x);
        CAPTURE(shown);
        char* after = nullptr;
        double back = std::strtod(shown.c_str(), &after);
        const std::string unit{after};
        for (const auto& [name, factor] :
             {std::pair{" W", 1.0}, std::pair{" kW", 1e3}, std::pair{" MW", 1e6}, std::pair{" GW", 1e9},
              std::pair{" TW", 1e12}, std::pair{" PW", 1e15}, std::pair{" EW", 1e18}})
            if (unit == name) back *= factor;
        if (x < 1e-10) continue;  // below what is shown
        CHECK(std::abs(back - x) <= 0.00501 * x);
    }
}

TEST_CASE("the locale does not matter") {
    for (const char* name : {"de_DE.UTF-8", "de_DE", "C.UTF-8"})
        if (std::setlocale(LC_ALL, name) != nullptr) break;
    CHECK(to_string(gb_per_s(3350)) == "3.35 TB/s");
    CHECK(to_string(gib(80), exactly) == "85,899,345,920 B");
    std::setlocale(LC_ALL, "C");
}

TEST_CASE("what is written can be a constant") {
    static_assert(detail::scaled(3.35e12, detail::decimal, "B/s") == "3.35 TB/s");
    static_assert(detail::grouped(85'899'345'920) == "85,899,345,920");
}
