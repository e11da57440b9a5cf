// SPDX-License-Identifier: MIT
#include <llmres/runtimes/cache.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/all.hpp>
#include <vector>

using namespace llmres;

TEST_CASE("a pool that is a share of the device has a fraction; one that grows or is allotted has none") {
    CHECK(takes_fraction(runtimes::vllm.cache));
    CHECK(takes_fraction(runtimes::sglang.cache));
    CHECK(takes_fraction(runtimes::tensorrt_llm.cache));
    CHECK_FALSE(takes_fraction(runtimes::llama_cpp.cache));
    CHECK_FALSE(takes_fraction(runtimes::pytorch.cache));
}

TEST_CASE("llama.cpp caches the latent itself since it absorbs the expansion, and keeps all recurrent state in fp32") {
    CHECK(runtimes::llama_cpp_2024.cache.expands_latent);
    CHECK_FALSE(runtimes::llama_cpp.cache.expands_latent);
    CHECK_FALSE(runtimes::ik_llama_cpp.cache.expands_latent);
    for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama, &runtimes::ik_llama_cpp})
        CHECK(r->cache.states == state_cells::wide);
    CHECK(runtimes::vllm.cache.states == state_cells::published);
}

TEST_CASE(
    "captured sizes are those of the ranges up to the largest, which itself may be one, and are counted as listed") {
    const std::vector<std::vector<size_range>> tables{{{1, 1, 1}, {2, 8, 2}, {16, 40, 8}, {48, 1 << 20, 16}},
                                                      {{3, 20, 4}, {30, 90, 7}}};
    for (const std::vector<size_range>& ranges : tables)
        for (std::int64_t largest = 0; largest < 130; ++largest)
            for (const bool takes_largest : {false, true}) {
                CAPTURE(largest);
                CAPTURE(takes_largest);
                std::vector<std::int64_t> expected;
                for (std::int64_t size = 1; size <= largest; ++size) {
                    bool is_captured = size == largest && takes_largest;
                    for (const size_range& r : ranges)
                        if (size >= r.first && size <= r.last && (size - r.first) % r.step == 0) is_captured = true;
                    if (is_captured) expected.push_back(size);
                }
                const captured_sizes sizes{.ranges = ranges, .largest = largest, .takes_largest = takes_largest};
                std::vector<std::int64_t> listed;
                sizes.for_each([&](std::int64_t size) { listed.push_back(size); });
                CHECK(listed == expected);
                CHECK(sizes.count() == static_cast<std::int64_t>(listed.size()));
            }
}

TEST_CASE("facts of which nothing is said are those of a dense model of text on one GPU of no known capability") {
    const start_facts nothing;
    CHECK(nothing.capability == 0);
    CHECK(nothing.tensor * nothing.attention_ranks * nothing.pipeline == 1);
    CHECK_FALSE((nothing.latent || nothing.routed || nothing.images));
    CHECK(nothing.image_layers == 0);
    CHECK(nothing.image_hidden == 0);
    CHECK(nothing.sequences == 0);
    CHECK(nothing.captures);
    CHECK(nothing.drafts == drafting::none);
    const size_range one;
    CHECK((one.first == 1 && one.last == 1 && one.step == 1));
}

TEST_CASE("where no ranges are said nothing is captured, whatever the largest") {
    for (const bool takes_largest : {false, true}) {
        const captured_sizes none{.ranges = {}, .largest = 100, .takes_largest = takes_largest};
        CHECK(none.count() == 0);
        bool called = false;
        none.for_each([&](std::int64_t) { called = true; });
        CHECK_FALSE(called);
    }
}

TEST_CASE("choices of which nothing is said capture nothing, and leave windows what they are") {
    const start_choices nothing;
    CHECK_FALSE(nothing.fraction);
    CHECK_FALSE(nothing.whole_windows);
    CHECK(nothing.decode.count() == 0);
    const std::vector<size_range> one{size_range{}};  // one size, of one
    CHECK((captured_sizes{.ranges = one}.count()) == 0);
    CHECK((captured_sizes{.ranges = one, .largest = 9}.count()) == 1);
    CHECK((captured_sizes{.ranges = one, .largest = 1}.count()) == 1);
}
