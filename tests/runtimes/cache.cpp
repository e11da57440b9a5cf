// SPDX-License-Identifier: MIT
#include <llmres/runtimes/cache.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

using namespace llmres;

TEST_CASE("a pool that is a share of the device has a fraction; one that grows or is allotted has none") {
    CHECK(takes_fraction(runtimes::vllm.cache));
    CHECK(takes_fraction(runtimes::sglang.cache));
    CHECK(takes_fraction(runtimes::tensorrt_llm.cache));
    CHECK_FALSE(takes_fraction(runtimes::llama_cpp.cache));
    CHECK_FALSE(takes_fraction(runtimes::pytorch.cache));
}

TEST_CASE("the fraction is the named one, else the one that the runtime chooses on the device") {
    runtime_cache c{.pool = cache_pool::share_with_weights};
    const start_facts large{.device = gib(80)}, small{.device = gib(24), .tensor = 2}, tiny{.device = gib(1)};
    CHECK_FALSE(fraction_on(c, large));
    c.default_fraction = [](const start_facts& f) {
        return start_choices{.fraction = f.device > gib(40) ? 0.9 : f.device > gib(2) ? 0.8 / f.tensor : -0.5};
    };
    CHECK(fraction_on(c, large) == maybe<double>{0.9});
    CHECK(fraction_on(c, small) == maybe<double>{0.4});
    CHECK(fraction_on(c, tiny) == maybe<double>{0.0});
    c.fraction = 0.5;
    CHECK(fraction_on(c, large) == maybe<double>{0.5});
}

TEST_CASE("llama.cpp caches the latent itself since it absorbs the expansion, and keeps all recurrent state in fp32") {
    CHECK(runtimes::llama_cpp_2024.cache.expands_latent);
    CHECK_FALSE(runtimes::llama_cpp.cache.expands_latent);
    CHECK_FALSE(runtimes::ik_llama_cpp.cache.expands_latent);
    for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama, &runtimes::ik_llama_cpp})
        CHECK(r->cache.states == state_cells::wide);
    CHECK(runtimes::vllm.cache.states == state_cells::published);
}
