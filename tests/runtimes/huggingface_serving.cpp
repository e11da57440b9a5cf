// SPDX-License-Identifier: MIT
// transformers, AutoAWQ and ExLlama.
#include <llmres/runtimes/huggingface_serving.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <string>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("transformers allots tensors one by one until 4.50: matrices of Qwen2.5-14B carry a tail of a mebibyte") {
    job j = chat("qwen2.5-14b");
    j.runtime = find_runtime("transformers@4.51").value();
    const byte_count block = memory_of(j, layout{})[memory_term::weights].expected;
    j.runtime = find_runtime("transformers@4.46").value();
    const byte_count alone = memory_of(j, layout{})[memory_term::weights].expected;
    // 13824 x 5120 in 16 bit are 135 MiB, in steps of two; embedding and head of 152064 rows are 1485.
    CHECK(alone - block == mib(48 * 3 + 2));
}

TEST_CASE(
    "transformers until 4.44: a table of positions in every layer; until 4.41 the cache twice as a token is made") {
    job j = chat("qwen2.5-7b");
    j.model.max_context = tokens(32768);
    j.prompt = tokens(1);
    j.output = tokens(2048);
    j.context = {};
    const auto term = [&](const char* engine, memory_term t) {
        j.runtime = find_runtime(engine).value();
        return memory_of(j, layout{})[t].expected;
    };
    CHECK(term("transformers@4.44", memory_term::weights) - term("transformers@4.49", memory_term::weights) ==
          mib(28 * 16));
    CHECK(term("transformers@4.44", memory_term::kv_cache) == bytes(57344) * 2049);
    CHECK(term("transformers@4.38", memory_term::kv_cache) == bytes(57344) * 2049 * 2);
    CHECK(memory_of(j, layout{}).phase == phase::decode);
    j.prompt = tokens(16384);  // the scores of the whole prompt, in 16 and in 32 bit, beside the prompt's cache
    CHECK(term("transformers@4.38", memory_term::kv_cache) == bytes(57344) * 16384);
    CHECK(term("transformers@4.38", memory_term::logits) == bytes(6) * 152064 * 16384);
}

TEST_CASE(
    "AutoAWQ is fullest while it joins projections, or where a long prompt's scores are in 16 bit and twice in fp32") {
    job j = chat("llama-2-13b");
    j.weights = awq(4, 128);
    j.runtime = runtimes::autoawq;
    j.prompt = j.output = tokens(64);
    j.context = tokens(128);
    const memory_breakdown load = memory_of(j, layout{});
    CHECK(load.phase == phase::load);
    CHECK(load[memory_term::weights].expected - load[memory_term::weights].low <=
          size_of(awq(4, 128), 5120, 5120) * 3 * 40);
    CHECK(load[memory_term::activations].expected == bytes(0));
    j.prompt = j.output = tokens(2048);
    j.context = tokens(4096);
    const memory_breakdown step = memory_of(j, layout{});
    CHECK(step.phase == phase::prefill);
    const byte_count joined = size_of(awq(4, 128), 5120, 5120) * 3 * 40;
    const auto positions = [](std::int64_t cells) {
        return bytes(8) * (40LL * 128 * cells);
    };  // complex, twice the cells, half a head
    CHECK(load[memory_term::weights].expected - positions(128) ==
          step[memory_term::weights].expected - positions(4096) + joined);
    CHECK(step[memory_term::activations].expected == bytes(10) * (40LL * 2048 * 2048) + bytes(2) * (2048LL * 5120 * 7));
    // 0.1 kept as many cells as tokens are generated.
    job rolling = j;
    rolling.runtime = runtimes::autoawq_0_1;
    CHECK(memory_of(rolling, layout{})[memory_term::kv_cache].expected * 2 == step[memory_term::kv_cache].expected);
}

TEST_CASE(
    "ExLlamaV2's buffers are there from load on: one dequantised head, and until 2024 the scores of a whole chunk") {
    job j = chat("llama-2-13b");
    j.weights = exl2(4250);
    j.context = tokens(1);
    const byte_count head = bytes(2) * (32000LL * 5120), states = bytes(2) * (2048LL * 5120);
    j.runtime = runtimes::exllamav2_2023;
    CHECK(memory_of(j, layout{}).allocated.expected - memory_of(j, layout{})[memory_term::weights].expected -
              memory_of(j, layout{})[memory_term::kv_cache].expected ==
          bytes(4) * (32000LL * 2048) + head + states);
    j.runtime = runtimes::exllamav2;
    CHECK(memory_of(j, layout{})[memory_term::activations].expected +
              memory_of(j, layout{})[memory_term::logits].expected >=
          head);
    CHECK(memory_of(j, layout{}).allocated.expected < mib(8200));
    CHECK(find_runtime("exllamav2", "0.0.6", "runtime").value().identity.versions == "0.0.6 to 0.0.21");
    CHECK(find_runtime("exllamav2").value().identity.versions == "0.0.22 and later");
}
