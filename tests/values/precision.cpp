// SPDX-License-Identifier: MIT
#include <llmres/values/precision.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using namespace llmres;

TEST_CASE("plain formats take their width") {
    CHECK(size_of(fp64, 3, 5) == bytes(120));
    CHECK(size_of(fp32, 3, 5) == bytes(60));
    CHECK(size_of(tf32, 3, 5) == bytes(60));
    CHECK(size_of(bf16, 3, 5) == bytes(30));
    CHECK(size_of(fp16, 4096, 4096) == mib(32));
    CHECK(size_of(fp8_e4m3, 3, 5) == bytes(15));
    CHECK(size_of(int8, 3, 5) == bytes(15));
    CHECK(size_of(int4, 3, 5) == bytes(8));  // two share a byte, and the last has one to itself
}

TEST_CASE("an empty tensor takes nothing but what is stored once a tensor") {
    for (const precision& format : {fp32, bf16, int4, mxfp4, fp8_block}) CHECK(size_of(format, 0, 0) == bytes(0));
    CHECK(size_of(nvfp4, 0, 0) == bytes(4));
}

TEST_CASE("block formats pay for every block begun") {
    CHECK(size_of(fp8_block, 128, 128) == bytes(128 * 128 + 4));
    CHECK(size_of(fp8_block, 129, 128) == bytes(129 * 128 + 8));
    CHECK(size_of(mxfp8, 1, 33) == bytes(33 + 2));
    CHECK(size_of(mxfp4, 2, 32) == bytes(2 * (16 + 1)));
    CHECK(size_of(nvfp4, 2, 16) == bytes(2 * (8 + 1) + 4));
}

TEST_CASE("NF4 blocks run over the flattened tensor") {
    CHECK(size_of(nf4, 2, 32) == bytes(32 + 4 + 64));
    CHECK(size_of(nf4, 1, 65) == bytes(33 + 8 + 64));
    CHECK(size_of(nf4_double, 256, 64) == bytes(256 * 32 + 256 + 4 + nf4_double.tensor_bytes));
}

TEST_CASE("the bits an element takes on average are the format's nominal ones") {
    CHECK(bits_per_element(bf16) == 16.0);
    CHECK(bits_per_element(int4) == 4.0);
    CHECK(bits_per_element(mxfp8) == 8.25);
    CHECK(bits_per_element(mxfp4) == 4.25);
    CHECK(bits_per_element(nvfp4) == 4.5);
    CHECK(bits_per_element(nf4) == 4.5);
    CHECK(bits_per_element(nf4_double) == doctest::Approx(4.127).epsilon(1e-4));
    CHECK(bits_per_element(fp8_block) == doctest::Approx(8.00195).epsilon(1e-5));
}

TEST_CASE("sizes grow with the tensor, and saturate instead of wrapping") {
    for (const precision& format : {fp32, bf16, int8, int4, mxfp4, nvfp4, nf4, fp8_block}) {
        CAPTURE(format.name.view());
        for (std::int64_t n = 1; n < 300; ++n) {
            CHECK(size_of(format, n, 7) <= size_of(format, n + 1, 7));
            CHECK(size_of(format, 7, n) <= size_of(format, 7, n + 1));
        }
    }
    for (const precision& format : {fp32, bf16, int8, mxfp4, nvfp4, fp8_block})
        CHECK(is_saturated(size_of(format, std::int64_t{1} << 62, std::int64_t{1} << 62)));
}

TEST_CASE("rows split among GPUs add up to the whole, where blocks do not cross the cut") {
    for (const precision& format : {bf16, int8, mxfp4, nvfp4, fp8_block})
        for (const std::int64_t ways : {1, 2, 4, 8}) {
            const byte_count once = bytes(format.tensor_bytes);
            const byte_count share = size_of(format, 1024 / ways, 512) - once;
            CHECK(share * ways == size_of(format, 1024, 512) - once);
        }
}

TEST_CASE("every kind of arithmetic has a name") {
    CHECK(name_of(arithmetic_kind::fp64) == "fp64");
    CHECK(name_of(arithmetic_kind::bf16) == "bf16");
    CHECK(name_of(arithmetic_kind::int4) == "int4");
}

TEST_CASE("elements are of whole bytes where a format stores nothing beside values, of tiles or of the tensor") {
    precision stored{.name = "stored", .parts = {{{1, 1, 2}}}};
    CHECK(stored.element_bytes == 2);
    CHECK((precision{.name = "table", .parts = stored.parts, .tensor_bytes = 4}.element_bytes) == 0);
    stored.parts[1] = {1, 32, 1};
    CHECK((precision{.name = "scales", .parts = stored.parts}.element_bytes) == 0);
}

TEST_CASE("a mean width is in lowest terms: so many bytes for so many values") {
    const auto is = [](std::int32_t millibits, std::int32_t values, std::int32_t size) {
        const tile made = detail::mean_width(millibits);
        return made.rows == tile::flat && made.columns == values && made.bytes == size;
    };
    CHECK(is(8000, 1, 1));
    CHECK(is(4000, 2, 1));
    CHECK(is(4500, 16, 9));   // 9 bytes for 16 values of 4.5 bits
    CHECK(is(3125, 64, 25));  // 200 bits for 64 values
    CHECK(is(2001, 8000, 2001));
}
