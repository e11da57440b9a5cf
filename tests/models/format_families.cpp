// SPDX-License-Identifier: MIT
#include <llmres/models/format_families.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>
#include <utility>

using namespace llmres;

TEST_CASE("formats belong to families by their names") {
    using f = format_family;
    for (const auto& [name, family] : {std::pair{"bf16", f::plain},
                                       {"fp8_e4m3", f::eight_bit_float},
                                       {"int8", f::eight_bit},
                                       {"mxfp4", f::microscaling},
                                       {"nvfp4", f::microscaling},
                                       {"nf4", f::bitsandbytes},
                                       {"q4_k", f::gguf},
                                       {"iq3_xxs", f::gguf},
                                       {"tq1_0", f::gguf},
                                       {"mxfp4_gguf", f::gguf}})
        CHECK_MESSAGE(family_of(find_precision("weights", name).value()) == family, name);
    CHECK(family_of(gptq(4, 128)) == f::gptq_words);
    CHECK(family_of(mlx(4, 64)) == f::mlx);
}

TEST_CASE("a set of families holds those it lists and plain formats, and leaves out what it is without") {
    using f = format_family;
    constexpr format_set gguf{f::gguf, f::gguf_ik};
    static_assert(gguf.contains(f::gguf) && gguf.contains(f::plain) && !gguf.contains(f::awq_words));
    static_assert(all_formats.contains(f::half_quadratic) && all_formats.contains(f::eight_bit_float));
    static_assert(all_formats.contains(f::mlx) && !all_formats.without(gguf).contains(f::gguf_ik));
    static_assert(gguf.without(gguf) == format_set{});
    CHECK(examples_of(gguf) == "bf16, q4_k_m, iq4_k");
    CHECK(examples_of(all_formats).view().size() < 191 - 42);  // room for the words before them
}
