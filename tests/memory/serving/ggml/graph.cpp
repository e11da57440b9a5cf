// SPDX-License-Identifier: MIT
// Whole buffers against logs of llama.cpp and ik_llama.cpp are in test_llama_cpp.cpp.
#include <llmres/memory/serving/ggml/graph.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>
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

TEST_CASE("the smallest hole that holds a tensor is taken, of equal ones the last; what lies at the end is no hole") {
    ggml_buffer buffer;
    std::vector<ggml_buffer::tensor> made;
    for (const std::int64_t size : {3, 1, 2, 1, 2, 1, 4, 1}) made.push_back(buffer.add(bytes(128 * size)));
    for (const std::size_t k : {0U, 2U, 4U, 6U}) buffer.free(made[k]);  // holes of 3, 2, 2 and 4
    CHECK(buffer.add(bytes(1)).offset == 128 * 7);
    CHECK(buffer.add(bytes(129)).offset == 128 * 4);
    CHECK(buffer.add(bytes(400)).offset == 128 * 10);  // 400 bytes are 4 units
    CHECK(buffer.add(bytes(128 * 3)).offset == 0);
    CHECK(buffer.add(bytes(128)).offset == 128 * 8);
    CHECK(buffer.peak() == bytes(128 * 15));
    CHECK(buffer.in_holes() == byte_count{});  // when the peak was reached
    // Freed tensors of no size leave nothing; nothing is found beyond 64 TiB.
    for (int k = 0; k < 300; ++k) buffer.free({});
    buffer.free(made[3]);
    CHECK(buffer.add(bytes(128)).offset == made[3].offset);
    ggml_buffer large;
    CHECK(large.add(tib(64)).size == tib(64).in(bytes));
    CHECK(large.peak() == tib(64));
    CHECK(large.add(tib(64) + bytes(1)).size == 0);
    CHECK(large.peak() == (byte_count::max)());
}

TEST_CASE("beyond 256 holes a freed tensor is not used again, unless it touches a hole") {
    ggml_buffer buffer;
    std::vector<ggml_buffer::tensor> made;
    for (int k = 0; k < 700; ++k) made.push_back(buffer.add(bytes(128)));
    for (std::size_t k = 0; k < 512; k += 2) buffer.free(made[k]);  // 256 holes
    buffer.free(made[600]);
    buffer.free(made[699]);  // at the end, which comes back
    CHECK(buffer.add(bytes(256)).offset == 128 * 699);
    buffer.free(made[1]);  // joins two holes
    CHECK(buffer.add(bytes(384)).offset == 0);
    for (std::int64_t k = 510; k >= 4; k -= 2) CHECK(buffer.add(bytes(128)).offset == 128 * k);
    CHECK(buffer.add(bytes(128)).offset == 128 * 701);
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

// ---- What is alive at the fullest moment, by hand ----
// A step of 32 tokens: one fp32 feature of all of them is 128 bytes, the allocator's unit. In each case one tensor is
// far larger than the rest, so that the buffer is at its largest when this tensor is made; what is alive then is summed
// up beside it: the hidden width H = 10, a position 1, a mask of C cells in fp32, or half of that in 16 bits.

namespace {

constexpr std::int64_t H = 10, C = 64, T = 2;  ///< T: experts of a token

std::int64_t units(byte_count b) { return b.in(bytes) / 128; }

/// Of the layer alone, or of the given options and cells.
struct small_graph {
    layer kind{};
    graph_options how{};
    std::int64_t cells = C;
    std::int64_t window_cells = 0;
    std::int64_t value_rows = 0;
    std::int64_t vocabulary = 0;
    std::int64_t scored = 32;
    std::int64_t hidden = H;
    std::int64_t sequences = 32;
    std::int32_t layers = 1;
    graph_layer last{.kind = kind};  ///< what the last layer is beside its kind

    ggml_graph laid_out() const {
        ggml_graph graph{{.tokens = 32,
                          .cells = cells,
                          .window_cells = window_cells,
                          .scored = scored,
                          .sequences = sequences,
                          .hidden = hidden,
                          .value_rows = value_rows},
                         how};
        graph.begin();
        for (std::int32_t i = 0; i + 1 < layers; ++i) graph.add_layer({.kind = kind, .expands = last.expands});
        graph.add_layer({.kind = kind,
                         .expands = last.expands,
                         .last = last.last,
                         .last_of_mask = last.last_of_mask,
                         .computes_logits = last.computes_logits,
                         .place = last.place,
                         .gate_stack = last.gate_stack,
                         .down_stack = last.down_stack});
        if (vocabulary > 0) graph.add_logits(vocabulary);
        return graph;
    }
    /// In units, at the fullest moment.
    std::int64_t alive() const {
        const ggml_graph graph = laid_out();
        return units(graph.buffer.peak() - graph.buffer.in_holes());
    }
};

layer dense(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t inner) {
    return {.attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim},
            .feed_forward = {.width = inner}};
}
layer routed(const experts& e) {
    return {.attention = {.heads = 2, .kv_heads = 1, .head_dim = 3}, .feed_forward = {.experts = e}};
}

}  // namespace

TEST_CASE("eager scores stand beside the stream, positions, the mask and queries") {
    const std::int64_t cells = 1024, scores = 2 * cells, query = 6;
    small_graph g{.kind = dense(2, 1, 3, 5), .how = {.flash = false}, .cells = cells};
    CHECK(g.alive() == H + 1 + cells + query + scores);
    g.how.fused = true;
    CHECK(g.alive() == H + 1 + cells + query + scores);
    g.last.last = true;  // positions have been read
    CHECK(g.alive() == H + cells + query + scores);
    g.last.last_of_mask = true;  // but this layer reads the mask
    CHECK(g.alive() == H + cells + query + scores);
    g.layers = 3;  // the layers before the last have positions still
    CHECK(g.alive() == H + 1 + cells + query + scores);

    // Indices of 8 bytes for the widest layer's values; masks of layers with a window, whose scores are of its cells.
    small_graph two{.kind = dense(2, 1, 3, 5), .how = {.flash = false}, .cells = cells, .value_rows = 7};
    CHECK(two.alive() == H + 1 + cells + query + scores);
    two.how.writes.value_rows = true;
    CHECK(two.alive() == H + 1 + cells + 2 * 7 + query + scores);
    two.window_cells = 512;
    CHECK(two.alive() == H + 1 + cells + 512 + 2 * (2 * 7) + query + scores);
    two.kind.attention.window = tokens(400);
    CHECK(two.alive() == H + 1 + cells + 512 + 2 * (2 * 7) + query + 2 * 512);
    // The last layer that reads a mask frees it with its indices, and those of the other cells stay.
    two.last.last_of_mask = true;
    two.kind.feed_forward.width = 1500;
    CHECK(two.alive() == 2 * H + 1 + cells + 2 * 7 + 2 * 1500);
    two.kind.attention.window = {};
    CHECK(two.alive() == 2 * H + 1 + 512 + 2 * 7 + 2 * 1500);
    two.last.last_of_mask = false;
    CHECK(two.alive() == 2 * H + 1 + cells + 512 + 2 * (2 * 7) + 2 * 1500);
    two.kind.attention.window = tokens(400);
    two.kind.feed_forward.width = 5;
    two.window_cells = 0;  // one mask for all
    CHECK(two.alive() == H + 1 + cells + 2 * 7 + query + scores);
    two.how.flash = true;
    two.how.first = false;  // no indices; the mask in 16 bits
    two.kind.feed_forward.width = 1000;
    CHECK(two.alive() == 2 * H + 1 + cells / 2 + 2 * 1000);
}

TEST_CASE("flash attention's mask is cast once, on the first GPU of versions that do not have it in 16 bits") {
    const std::int64_t cells = 1024, query = 6;
    small_graph g{.kind = dense(2, 1, 3, 5), .cells = cells};
    CHECK(g.alive() == H + 1 + cells + query + cells / 2);
    g.layers = 3;
    CHECK(g.alive() == H + 1 + cells + query + cells / 2);
    g.kind.attention.window = tokens(400);
    g.window_cells = 512;
    CHECK(g.alive() == H + 1 + cells + 512 + query + 512 / 2);
    // Behind the first layer the cast alone is left; one that nothing reads any more is freed.
    small_graph later{.kind = dense(2, 1, 3, 4096), .cells = cells};
    CHECK(later.alive() == 2 * H + 1 + cells / 2 + 2 * 4096);
    later.how.first = false;
    CHECK(later.alive() == 2 * H + 1 + cells / 2 + 2 * 4096);
    later.how = {.writes = {.narrow_masks = true}};
    CHECK(later.alive() == 2 * H + 1 + cells / 2 + 2 * 4096);
    later.how = {.flash = false};
    CHECK(later.alive() == 2 * H + 1 + cells + 2 * 4096);
    later.last.last_of_mask = true;
    CHECK(later.alive() == 2 * H + 1 + 2 * 4096);
}

TEST_CASE("queries and keys are tensors before and after their rotation; a fused one takes their place") {
    const std::int64_t wide = 3000;
    const auto keys = [&](const graph_options& how, bool last = false) {
        small_graph g{.kind = dense(1, 1, wide, 5), .how = how};
        g.kind.attention.heads = 1;
        g.last.last = last;
        return g.alive();
    };
    // The query is as wide as keys and values.
    const std::int64_t inputs = 2 * H + C;
    CHECK(keys({}) == inputs + 1 + 3 * wide);
    CHECK(keys({}, true) == inputs + 1 + 3 * wide);  // keys' rotation reads positions
    CHECK(keys({.writes = {.values_first = true}}) == inputs + 1 + 4 * wide);
    CHECK(keys({.fused = true}) == inputs + 1 + 3 * wide);
    CHECK(keys({.fused = true}, true) == inputs + 3 * wide);
    const graph_options rotates{.writes = {.rotates_quantised = true}, .unpacked = true};
    CHECK(keys(rotates) == inputs + 1 + 4 * wide);  // query, keys, values and their rotation
    CHECK(keys(rotates, true) == inputs + 4 * wide);
    CHECK(keys({.writes = {.rotates_quantised = true}}) == inputs + 1 + 3 * wide);  // a cache of 16 bits
    CHECK(keys({.unpacked = true}) == inputs + 1 + 3 * wide);
    // A norm makes a tensor of its own in any case.
    small_graph normed{.kind = dense(1, 1, wide, 5), .how = {.fused = true, .writes = {.values_first = true}}};
    CHECK(normed.alive() == inputs + 1 + 3 * wide);
    normed.kind.attention.qk_norm = query_key_norm::shared;
    CHECK(normed.alive() == inputs + 1 + 4 * wide);
    // Of queries alone, attention's output: the place before their rotation has been taken by the mask's cast.
    small_graph queries{.kind = dense(1000, 1, 3, 5)};
    CHECK(queries.alive() == H + 1 + C / 2 + 2 * wide);
}

TEST_CASE("one matrix for queries, keys and values: parts are copied before they are rotated, until views could be") {
    const std::int64_t wide = 3000, inputs = H + 1 + C;  // what was normed is freed with the product
    const auto alive = [&](const graph_options& how) {
        return small_graph{.kind = dense(1, 1, wide, 5), .how = how}.alive();
    };
    CHECK(alive({.joined_heads = true}) == inputs + 3 * wide + wide + 2 * wide);
    CHECK(alive({.writes = {.gated_apart = true}, .joined_heads = true}) == inputs + 3 * wide + 2 * wide);
    CHECK(alive({.writes = {.gated_apart = true, .rotates_quantised = true}, .joined_heads = true, .unpacked = true}) ==
          inputs + 3 * wide + wide + 2 * wide);
    CHECK(alive({.writes = {.gated_apart = true}, .joined_heads = true, .unpacked = true}) ==
          inputs + 3 * wide + 2 * wide);
}

TEST_CASE("one matrix for heads: each part has its own width") {
    const std::int64_t inputs = H + 1 + C, one = 3000, value = 5000;
    // The values alone are wide: they are copied when the keys' copy is freed.
    small_graph g{.kind = dense(1, 1, 1, 5), .how = {.joined_heads = true}};
    g.kind.attention.value_dim = value;
    CHECK(g.alive() == inputs + (2 + value) + 2 + value);
    g.last.last = true;  // positions have been read
    CHECK(g.alive() == inputs - 1 + (2 + value) + 2 + value);
    // Two query heads and a key head.
    g.last.last = false;
    g.kind.attention = {.heads = 2, .kv_heads = 1, .head_dim = one};
    CHECK(g.alive() == inputs + 4 * one + 2 * (2 * one));
    g.how.joined_heads = false;
    CHECK(g.alive() == H + 1 + C / 2 + 2 * (2 * one));
    // Four heads of keys and values for each of queries.
    g.kind.attention = {.heads = 1, .kv_heads = 4, .head_dim = one};
    g.how.joined_heads = true;
    CHECK(g.alive() == inputs + 9 * one + one + 2 * (4 * one));
}

TEST_CASE("gate and up stand beside what they read; the gate's product takes its place, or is a tensor beside both") {
    const std::int64_t wide = 3000, held = H + 1 + C / 2;
    const auto alive = [&](const graph_options& how) {
        return small_graph{.kind = dense(2, 1, 3, wide), .how = how}.alive();
    };
    CHECK(alive({}) == held + H + 2 * wide);
    CHECK(alive({.fused = true}) == held + 3 * wide);
    CHECK(alive({.writes = {.gated_apart = true}}) == held + 3 * wide);
    CHECK(alive({.joined_gate = true}) == held + 4 * wide);
    CHECK(alive({.writes = {.gated_apart = true}, .joined_gate = true}) == held + 3 * wide);
    // A parallel block's halves read one norm, which stays for the other half.
    small_graph parallel{.kind = dense(1, 1, wide, 5), .how = {.flash = false}, .cells = 9000};
    CHECK(parallel.alive() == H + 1 + 9000 + wide + 9000);
    parallel.kind.norm_before_feed_forward = false;
    CHECK(parallel.alive() == 2 * H + 1 + 9000 + wide + 9000);
    parallel.kind.norm_before_attention = false;
    CHECK(parallel.alive() == H + 1 + 9000 + wide + 9000);
}

TEST_CASE("logits of the scored rows stand beside these rows of the stream") {
    const std::int64_t words = 8000;
    small_graph g{.kind = dense(2, 1, 3, 5), .vocabulary = words, .scored = 8};
    g.last.last = true;
    CHECK(g.alive() == H + C / 2 + words);  // no rows were picked
    g.last.computes_logits = true;
    CHECK(g.alive() == 3 + C / 2 + words / 4);  // 8 rows of H, rounded up
    small_graph wide{.kind = dense(2, 1, 3, 5), .vocabulary = 32, .scored = 8, .hidden = 4000};
    wide.last.computes_logits = true;
    // Attention's output, the rows picked from it, and the stream; what was normed is freed.
    CHECK(wide.alive() == 4000 + 1 + C / 2 + 4000 + 1000);
    wide.last.computes_logits = false;
    CHECK(wide.alive() == 4000 + 1 + C / 2 + 6 + 4000);
    for (const bool fused : {false, true}) {
        small_graph all{.kind = dense(2, 1, 3, 5), .how = {.fused = fused}, .vocabulary = words, .scored = 32};
        all.last.last = all.last.last_of_mask = all.last.computes_logits = true;
        CHECK(all.alive() == H + words);
        all.scored = 8;
        CHECK(all.alive() == 3 + words / 4);  // 8 rows of H, rounded up
    }
}

TEST_CASE("where this device looks up the embedding, what it reads stays: once, or with the second table's rows") {
    const auto begun = [](std::int32_t inputs) {
        ggml_graph graph{{.tokens = 32, .cells = C, .hidden = H}, {.inputs_here = inputs}};
        graph.begin();
        const byte_count full = graph.buffer.peak();
        const auto next = graph.buffer.add(graph.rows_of(H));
        return std::pair{units(full), next.offset < full.in(bytes)};
    };
    CHECK(begun(0) == std::pair{H + 1 + C, false});
    CHECK(begun(1) == std::pair{2 * H + 1 + C, false});
    CHECK(begun(2) == std::pair{5 * H + 1 + C, true});  // of which two are freed
    ggml_graph copied{{.tokens = 32, .cells = C, .window_cells = 32, .hidden = H}, {.first = false, .input_copies = 3}};
    copied.begin();
    CHECK(units(copied.buffer.peak()) == 3 * (H + 1 + (C + 32) / 2));
}

TEST_CASE("routed experts: router's scores, their order, and gate, up and output of each choice of a token") {
    const std::int64_t held = H + 1 + C / 2;
    const auto alive = [&](const experts& e, const graph_options& how = {}, expert_place place = expert_place::here,
                           std::int64_t gate_stack = 0, std::int64_t down_stack = 0) {
        small_graph g{.kind = routed(e), .how = how};
        g.last.place = place;
        g.last.gate_stack = bytes(128) * gate_stack;
        g.last.down_stack = bytes(128) * down_stack;
        return g.alive();
    };
    const std::int64_t many = 2000, wide = 2000;
    CHECK(alive({.count = many, .per_token = T, .width = 3}) == held + H + 2 * many);
    CHECK(alive({.count = many, .per_token = T, .width = 3, .score_bias = true}) == held + H + 3 * many);
    const experts e{.count = 7, .per_token = T, .width = wide};
    const experts shared{.count = 7, .per_token = T, .width = wide, .shared_width = 4};
    const std::int64_t chosen = 7 + T;  // the order and the weights
    CHECK(alive(e) == held + H + chosen + 2 * T * wide);
    CHECK(alive(e, {.writes = {.gated_apart = true}}) == held + chosen + 3 * T * wide);
    CHECK(alive(shared, {.writes = {.gated_apart = true}}) == held + H + chosen + 3 * T * wide);
    const std::int64_t stack = 50000;
    // One stack at a time, the second in the place of the first; fused, both at once, while the scores stay.
    CHECK(alive(e, {}, expert_place::copied, stack) == held + H + chosen + 2 * T * wide + stack);
    CHECK(alive(e, {.fused = true}, expert_place::copied, stack) == held + H + 7 + 7 + T * wide + 2 * stack);
    CHECK(alive(e, {}, expert_place::copied, 0, stack) == held + chosen + T * wide + stack);
    CHECK(alive(shared, {}, expert_place::copied, 0, stack) == held + H + chosen + T * wide + stack);
    // On the host nothing of the experts' inner width is here.
    small_graph host{.kind = routed(e), .hidden = 4000};
    for (const bool beside : {false, true}) {
        host.kind = routed(beside ? shared : e);
        host.last.place = expert_place::host;
        // Shared experts read the norm, too: its place is not free for the sum of the outputs.
        CHECK(host.alive() == (beside ? 4000 * 3 + 1 + C / 2 + T * 4000 : 4000 + 1 + C / 2 + chosen + T * 4000));
        host.last.place = expert_place::first_gpu;
        CHECK(host.alive() == (beside ? 3 * 4000 + 1 + C / 2 : 2 * 4000 + 1 + C / 2 + 6));
    }
}

TEST_CASE("latent attention that reads its cache: queries in the latent's width, joined with their rotary part") {
    const std::int64_t rank = 2000, rope = 4, heads = 3, inputs = 2 * H + 1;
    layer kind{
        .attention = {.kind = attention_kind::latent, .heads = heads, .head_dim = 5, .kv_rank = rank, .rope_dim = rope},
        .feed_forward = {.width = 5}};
    small_graph g{.kind = kind};
    for (const bool values_first : {false, true}) {
        g.how.writes.values_first = values_first;
        CHECK(g.alive() == inputs + C + heads * rope + heads * rank + heads * (rank + rope));
    }
    g.kind.attention.q_rank = 6;  // compressed queries are freed before
    CHECK(g.alive() == inputs + C + heads * rope + heads * rank + heads * (rank + rope));
    // One head: what goes to the cache is more.
    g.kind.attention.heads = 1;
    CHECK(g.alive() == inputs + C + (rank + rope) + (rank + rope) + rope + rank);
    // Scores of all cells, and the cast of the mask.
    g.kind = kind;
    g.kind.attention.kv_rank = 8;
    g.cells = 6400;
    CHECK(g.alive() == H + 1 + g.cells + heads * (8 + rope) + g.cells / 2);
    g.how.flash = false;
    CHECK(g.alive() == H + 1 + g.cells + heads * (8 + rope) + heads * g.cells);
    g.last.last = g.last.last_of_mask = true;
    CHECK(g.alive() == H + g.cells + heads * (8 + rope) + heads * g.cells);
    // Values of each head and their copy.
    g.kind.attention.value_dim = 5000;
    g.cells = C;
    CHECK(g.alive() == H + C + 2 * heads * 5000);
    // Wide queries that are compressed before.
    g.kind = kind;
    g.kind.attention.kv_rank = 1;
    g.kind.attention.q_rank = 5000;
    CHECK(g.alive() == inputs + C + 5000 + heads * (5 + rope));
    g.kind.attention.q_rank = 0;
    g.kind.attention.head_dim = 5000;
    CHECK(g.alive() == H + C + 2 * heads * 5000);
}

TEST_CASE("prompts that expand the latent cache: a part's product in fp32, its keys and values in 16 bits") {
    const std::int64_t cells = 6400, heads = 4, dim = 3, rope = 2;
    const layer kind{
        .attention = {.kind = attention_kind::latent, .heads = heads, .head_dim = dim, .kv_rank = 4, .rope_dim = rope},
        .feed_forward = {.width = 5}};
    small_graph g{.kind = kind, .cells = cells};
    g.last.expands = true;
    const std::int64_t queries = heads * (dim + rope), held = H + 1 + cells + queries;
    const auto of_cells = [&](std::int64_t bytes_each) { return cells * bytes_each / 128; };
    CHECK(g.alive() == held + of_cells((4 + 2) * heads * (dim + dim)));
    // The product of all heads is 4 x 6400 x 24 bytes: less than a MiB; of a wider head 200 times that, in parts.
    g.kind.attention.head_dim = 600;
    g.kind.attention.value_dim = 600;
    const std::int64_t wide = H + 1 + cells + heads * (600 + rope);
    CHECK(g.alive() == wide + of_cells(6 * heads * 1200));
    g.how.part_limit = mib(59);  // 117 MiB in all, in whole MiB: two parts
    const std::int64_t half = heads / 2;
    // The second part: the mask has been cast, the first part's output and the rotary part of keys stay.
    CHECK(g.alive() == wide - cells / 2 + half * 600 + of_cells(2 * half * rope) + of_cells(6 * half * 1200));
    g.how.all_parts = true;  // the first part's keys and values wait, and the second's product finds no hole
    CHECK(g.alive() ==
          wide + of_cells(2 * half * rope) + of_cells(2 * half * (1200 + rope)) + of_cells(4 * half * 1200));
}

TEST_CASE("a selective state space: its convolution joins states with inputs, its scan returns new states") {
    // 32 sequences: a number for each of them is a unit, too.
    recurrent r{.kind = recurrent_kind::mamba2, .heads = 5, .head_dim = 2, .key_heads = 1, .state = 50, .kernel = 2};
    const std::int64_t inner = 10, channels = 10 + 2 * 50, states = inner * 50, projection = 2 * inner + 2 * 50 + 5;
    const std::int64_t held = H + 1 + C;
    small_graph g{.kind = {.attention = {.kind = attention_kind::none}, .recurrent = r, .feed_forward = {.width = 5}}};
    CHECK(g.alive() == held + projection + channels + 5 + inner + states);
    g.how.writes.copies_states = true;
    CHECK(g.alive() == held + projection + channels + 5 + inner + 2 * states);
    g.how.writes.copies_states = false;
    g.sequences = 64;
    CHECK(g.alive() == held + projection + channels + 5 + inner + 2 * states);
    g.sequences = 32;
    g.kind.recurrent.kernel = 40;  // the convolution's state and its copy before the inputs
    CHECK(g.alive() == held + projection + channels * 39 + (channels + channels * 39));

    // The first Mamba projects its steps, B and C from what was convolved.
    recurrent first{.kind = recurrent_kind::mamba, .heads = 10, .head_dim = 1, .state = 50, .rank = 3, .kernel = 2};
    g.kind.recurrent = first;
    CHECK(g.alive() == held + 2 * 10 + 10 + (3 + 2 * 50) + 10 + 10 + 500);
    g.kind.recurrent.rank = 4000;
    CHECK(g.alive() == held + 2 * 10 + 10 + (4000 + 2 * 50) + 4000 + 10);
}

TEST_CASE("a layer leaves nothing but its stream: three of them have the same peak as twelve") {
    const recurrent second{
        .kind = recurrent_kind::mamba2, .heads = 5, .head_dim = 2, .key_heads = 1, .state = 5, .kernel = 2};
    const recurrent first{
        .kind = recurrent_kind::mamba, .heads = 10, .head_dim = 1, .state = 5, .rank = 3, .kernel = 2};
    const experts e{.count = 7, .per_token = T, .width = 9, .score_bias = true};
    const experts shared{.count = 7, .per_token = T, .width = 9, .shared_width = 4, .shared_gate = true};
    const attention low{
        .kind = attention_kind::latent, .heads = 4, .head_dim = 3, .q_rank = 5, .kv_rank = 4, .rope_dim = 2};
    attention high = low;
    high.q_rank = 0;
    attention normed = dense(2, 1, 3, 5).attention;
    normed.qk_norm = query_key_norm::full;
    layer parallel = dense(2, 1, 3, 5), after = dense(2, 1, 3, 5);
    parallel.norm_before_feed_forward = false;
    after.norm_after_attention = after.norm_after_feed_forward = true;
    const feed_forward plain{.width = 5};
    for (const layer& kind :
         {dense(2, 1, 3, 50), routed(e), routed(shared), parallel, after,
          layer{.attention = normed, .feed_forward = plain}, layer{.attention = low, .feed_forward = plain},
          layer{.attention = high, .feed_forward = plain},
          layer{.attention = no_attention, .recurrent = first, .feed_forward = plain},
          layer{.attention = no_attention, .recurrent = second, .feed_forward = plain}})
        for (unsigned choice = 0; choice < 1024; ++choice) {
            const auto is = [&](unsigned bit) { return (choice >> bit & 1) != 0; };
            small_graph g{.kind = kind,
                          .how = {.flash = is(0),
                                  .fused = is(1),
                                  .writes = {.gated_apart = is(2), .rotates_quantised = is(3), .values_first = is(3)},
                                  .joined_heads = is(4),
                                  .joined_gate = is(5),
                                  .part_limit = is(9) ? mib(1) : byte_count{},
                                  .all_parts = is(6),
                                  .unpacked = is(7)},
                          .cells = is(9) ? 25600 : C,
                          .layers = 3};
            g.last.place = is(8) ? expert_place::host : expert_place::here;
            g.last.expands = is(0) && is(1) && kind.attention.kind == attention_kind::latent;
            const byte_count three = g.laid_out().buffer.peak();
            g.layers = 12;
            REQUIRE(g.laid_out().buffer.peak() == three);
        }
}

TEST_CASE("experts of every layer that the first GPU computes leave nothing, and neither do copied stacks") {
    const experts shared{.count = 7, .per_token = T, .width = 9, .shared_width = 4};
    for (const expert_place place :
         {expert_place::here, expert_place::host, expert_place::copied, expert_place::first_gpu})
        for (const bool fused : {false, true})
            for (const bool apart : {false, true}) {
                const auto peak = [&](int layers) {
                    ggml_graph graph{{.tokens = 32, .cells = C, .hidden = H},
                                     {.fused = fused, .writes = {.gated_apart = apart}}};
                    graph.begin();
                    const byte_count stack = place == expert_place::copied ? bytes(12800) : byte_count{};
                    for (int k = 0; k < layers; ++k)
                        graph.add_layer(
                            {.kind = routed(shared), .place = place, .gate_stack = stack, .down_stack = stack});
                    return graph.buffer.peak();
                };
                CHECK(peak(3) == peak(40));
            }
}
