// SPDX-License-Identifier: MIT
// Whole buffers against logs of llama.cpp and ik_llama.cpp are in test_llama_cpp.cpp.
#include <llmres/memory/serving/ggml/graph.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr attention grouped_attention{.heads = 32, .kv_heads = 8, .head_dim = 128};
constexpr std::int64_t hidden = 4096, width = 14336;

ggml_graph graph_of(std::int64_t tokens_at_once, std::int64_t cells, const graph_options& options) {
    ggml_graph graph{{.tokens = tokens_at_once, .cells = cells, .scored = tokens_at_once, .hidden = hidden}, options};
    graph.begin();
    return graph;
}

/// So many layers of Llama 3.1 8B, then the logits.
byte_count peak_of(std::int32_t layers, std::int64_t tokens_at_once, std::int64_t cells, bool flash, bool fused = false,
                   std::int64_t vocabulary = 0) {
    ggml_graph graph = graph_of(tokens_at_once, cells, {.flash = flash, .fused = fused});
    const layer kind{.attention = grouped_attention, .feed_forward = {.width = width}};
    for (std::int32_t i = 0; i < layers; ++i) {
        const bool last = i + 1 == layers;
        graph.add_layer({.kind = kind, .last = last, .last_of_mask = last, .computes_logits = last});
    }
    if (vocabulary > 0) graph.add_logits(vocabulary);
    return graph.buffer.peak();
}

}  // namespace

TEST_CASE(
    "whatever is added and freed, tensors that live lie apart, on 128 bytes, below the peak; freed, all is one hole "
    "again") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random{seed};
        ggml_buffer buffer;
        std::vector<ggml_buffer::tensor> live;
        std::int64_t most = 0;
        for (int i = 0; i < 400; ++i) {
            if (live.size() < 2 || random() % 5 < 3) {
                live.push_back(buffer.add(bytes(static_cast<std::int64_t>(1 + random() % 5000))));
            } else {
                const std::size_t at = random() % live.size();
                buffer.free(live[at]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
            std::int64_t sum = 0;
            bool sound = true;
            for (std::size_t a = 0; a < live.size(); ++a) {
                const auto& [offset, size] = live[a];
                sum += size;
                sound = sound && offset % 128 == 0 && size % 128 == 0 && bytes(offset + size) <= buffer.peak();
                for (std::size_t b = 0; b < a; ++b)
                    sound = sound && (offset + size <= live[b].offset || live[b].offset + live[b].size <= offset);
            }
            REQUIRE(sound);
            if (sum > most) most = sum;
            REQUIRE(buffer.peak() >= bytes(most));
        }
        const byte_count before = buffer.peak();
        for (const auto& t : live) buffer.free(t);
        CHECK(buffer.add(before).offset == 0);
        CHECK(buffer.peak() == before);
    }
}

TEST_CASE("larger tensors may take a smaller buffer, never one below what the smaller ones took beside holes") {
    int smaller_buffers = 0;
    for (unsigned seed = 1; seed <= 400; ++seed) {
        std::mt19937 random{seed};
        ggml_buffer of_smaller, of_larger;
        std::vector<ggml_buffer::tensor> smaller, larger;
        std::int64_t most = 0, alive = 0;
        for (int i = 0; i < 60; ++i) {
            if (smaller.size() < 2 || random() % 5 < 3) {
                const auto size = static_cast<std::int64_t>(1 + random() % 5000);
                smaller.push_back(of_smaller.add(bytes(size)));
                larger.push_back(of_larger.add(bytes(size + static_cast<std::int64_t>(random() % 300))));
                alive += smaller.back().size;
            } else {
                const auto at = static_cast<std::ptrdiff_t>(random() % smaller.size());
                alive -= smaller[static_cast<std::size_t>(at)].size;
                of_smaller.free(smaller[static_cast<std::size_t>(at)]), smaller.erase(smaller.begin() + at);
                of_larger.free(larger[static_cast<std::size_t>(at)]), larger.erase(larger.begin() + at);
            }
            if (alive > most) most = alive;
        }
        CHECK(of_smaller.peak() - of_smaller.in_holes() <= bytes(most));
        CHECK(of_larger.peak() >= of_smaller.peak() - of_smaller.in_holes());
        smaller_buffers += of_larger.peak() < of_smaller.peak();
    }
    CHECK(smaller_buffers > 0);
}

TEST_CASE("tensors that go in the reverse of the order they came leave no holes") {
    ggml_buffer buffer;
    std::vector<ggml_buffer::tensor> stack;
    for (const std::int64_t size : {1000, 64, 5000, 128}) stack.push_back(buffer.add(bytes(size)));
    CHECK(buffer.peak() == bytes(1024 + 128 + 5120 + 128));
    while (!stack.empty()) buffer.free(stack.back()), stack.pop_back();
    CHECK(buffer.add(bytes(6000)).offset == 0);
    CHECK(buffer.peak() == bytes(1024 + 128 + 5120 + 128));
}

TEST_CASE("a step's inputs: hidden states, positions and a mask in fp32; once for each copy that is kept") {
    const std::int64_t n = 512, cells = 4096;
    const byte_count inputs = bytes(4) * (n * hidden) + bytes(4) * n + bytes(4) * (n * cells);
    CHECK(graph_of(n, cells, {}).buffer.peak() == inputs);
    CHECK(graph_of(n, cells, {.first = false}).buffer.peak() ==
          inputs - bytes(2) * (n * cells));  // others get the mask as it was cast
    CHECK(graph_of(n, cells, {.input_copies = 4}).buffer.peak() == inputs * 4);
}

TEST_CASE("a layer's fullest moment by hand: eager scores of every head and cell, or gate and up beside their input") {
    // Inputs stay; at the scores: the residual is one of them, and queries; keys and values have gone to the cache.
    const std::int64_t n = 512, cells = 8192;
    const byte_count inputs = bytes(4) * (n * hidden + n + n * cells);
    const byte_count scores = bytes(4) * (n * cells * 32);
    const byte_count queries = bytes(4) * (n * 4096);
    const byte_count eager = peak_of(3, n, cells, false);
    CHECK(eager >= inputs + scores + queries);
    CHECK(eager <= inputs + scores + queries * 5);
    // Flash attention has no such scores: then gate and up, of 14336 features each, rule.
    const byte_count flash = peak_of(3, n, cells, true);
    CHECK(flash < eager);
    CHECK(flash >= bytes(4) * (n * (2 * width + 2 * hidden)));
}

TEST_CASE("layers of one kind repeat themselves from the second on: their number moves no peak") {
    for (const bool flash : {false, true})
        for (const bool fused : {false, true})
            for (const std::int64_t n : {1, 64, 512})
                for (const std::int64_t cells : {256, 4096, 32768}) {
                    const byte_count three = peak_of(3, n, cells, flash, fused, 128256);
                    for (const std::int32_t layers : {4, 7, 32})
                        CHECK(peak_of(layers, n, cells, flash, fused, 128256) == three);
                }
}

TEST_CASE("more tokens, cells or words never take less") {
    for (const bool flash : {false, true}) {
        CHECK(peak_of(4, 512, 8192, flash) > peak_of(4, 256, 8192, flash));
        CHECK(peak_of(4, 512, 8192, flash) > peak_of(4, 512, 4096, flash));
        CHECK(peak_of(4, 512, 8192, flash, false, 256000) >= peak_of(4, 512, 8192, flash, false, 32000));
    }
    // Each score is fp32.
    CHECK(peak_of(4, 512, 256, true, false, 256000) - peak_of(4, 512, 256, true, false, 128000) ==
          bytes(4) * (512 * 128000));
}

TEST_CASE("stacks of experts that are copied stand beside a step; computed on the host, their outputs alone") {
    const experts e{.count = 64, .per_token = 8, .width = 1024};
    const auto peak = [&](expert_place place, byte_count stack) {
        ggml_graph graph = graph_of(512, 256, {});
        const layer kind{.attention = grouped_attention, .feed_forward = {.experts = e}};
        for (int i = 0; i < 3; ++i)
            graph.add_layer({.kind = kind,
                             .last = i == 2,
                             .computes_logits = i == 2,
                             .place = place,
                             .gate_stack = stack,
                             .down_stack = stack});
        return graph.buffer.peak();
    };
    CHECK(peak(expert_place::copied, gib(1)) >= gib(1));
    CHECK(peak(expert_place::copied, gib(2)) - peak(expert_place::copied, gib(1)) == gib(1));  // one stack at a time
    CHECK(peak(expert_place::host, gib(1)) < gib(1));
    CHECK(peak(expert_place::host, {}) >= bytes(4) * (512 * 8 * hidden));
    CHECK(peak(expert_place::first_gpu, {}) < peak(expert_place::host, {}));
}
