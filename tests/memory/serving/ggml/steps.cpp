// SPDX-License-Identifier: MIT
// The tensors of a layer of latent attention, step by step, as llama.cpp's and ik_llama.cpp's build_deepseek2 make
// them, and where each is freed.
#include <llmres/memory/serving/ggml/graph.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t hidden = 64, at_once = 2, cells = 1 << 18, heads = 4, rank = 96, rope = 8, plain = 24,
                       value = 40, inner = 160;
constexpr attention latent{.kind = attention_kind::latent,
                           .heads = heads,
                           .kv_heads = heads,
                           .head_dim = plain,
                           .kv_rank = rank,
                           .rope_dim = rope,
                           .value_dim = value};

/// The steps of a layer: `w96` makes a tensor of 96 features for each token, `b512` one of 512 bytes, `-w96` frees it;
/// `mask` and `positions` are those of the graph, `x>w64` is replaced by a tensor of its own; in brackets what must
/// hold of the layer.
std::string steps_of(const layer& kind, const graph_options& options, bool expands = false) {
    ggml_graph graph{{.tokens = at_once, .cells = cells, .scored = at_once, .hidden = hidden}, options};
    graph.begin();
    layer_steps steps;
    graph.write_layer({.kind = kind, .expands = expands}, steps);
    std::map<int, std::string> names{{1, "stream"}, {2, "positions"}, {3, "mask"}, {4, "window"}, {5, "rows"}};
    std::string text;
    for (std::size_t i = 0; i < steps.count; ++i) {
        const graph_step& s = steps.steps[i].value;
        const std::string name =
            s.of_rows ? "w" + std::to_string(s.size / (4 * at_once)) : "b" + std::to_string(s.size);
        std::string when;
        if (s.when == step_condition::last) when = "[last]";
        if (s.when == step_condition::last_of_mask) when = "[mask's last]";
        if (s.when == step_condition::computes_logits) continue;  // rows that are picked, in the place of all
        if (s.when == step_condition::wide_mask) when = "[wide]";
        if (s.does == step_action::add) names[s.number] = name, text += " " + name + when;
        if (s.does == step_action::free) text += " -" + names[s.number] + when;
        if (s.does == step_action::replace) text += " " + names[s.number] + ">" + name + when;
    }
    return text;
}
layer with(const attention& a) { return {.attention = a, .feed_forward = {.width = inner}}; }

/// How often the mask is read: once a part of the heads.
int parts_of(std::int64_t of_heads, const graph_options& options) {
    attention a = latent;
    a.heads = a.kv_heads = of_heads;
    const std::string text = steps_of(with(a), options, true);
    int parts = 0;
    for (std::size_t at = text.find("mask>"); at != text.npos; at = text.find("mask>", at + 1)) ++parts;
    return parts;
}

// The latent with its rotary part, which is rotated, and the latent's norm; both are joined and copied to the cache.
const std::string stored = " w104 w8 w96 -w104 w104 -w8 -w96 -w104";
// Of 262,144 cells and two tokens: the mask in 16 bits.
const std::string cast = " mask>b1048576[wide]", mask_is_read = " -mask[mask's last] -rows[mask's last]";
// The output projection; the residual sum takes its place; norm, gate and product, the way down.
const std::string after = " w64 -w160 -stream w64 w160 w160 -w64 -w160 w64 -w160 -w64";

}  // namespace

TEST_CASE("latent attention as the cache has it: queries as wide as the latent, joined with their rotary part") {
    // Four heads of 24 + 8 features; of the latent's 96, and of both.
    const std::string queries = " w128 w32 w384 -w128 w416 -w384 -w32";
    const std::string values = " w160 -w384 w160 -w160" + mask_is_read + after;
    CHECK(steps_of(with(latent), {}) ==
          " w64" + queries + stored + " -w64 -positions[last]" + cast + " w384 -w416" + values);
    attention low = latent;  // queries of a low rank
    for (const std::int64_t of : {1, 48}) {
        low.q_rank = of;
        const std::string name = "w" + std::to_string(of);
        CHECK(steps_of(with(low), {}) == " w64 " + name + " w128 -" + name + queries.substr(5) + stored +
                                             " -w64 -positions[last]" + cast + " w384 -w416" + values);
    }
    // Without flash attention: the latent's values transposed, 2 x 96 bytes a cell, and scores of four heads.
    CHECK(steps_of(with(latent), {.flash = false, .copies_values = true}) ==
          " w64" + queries + stored + " -w64 -positions[last] b50331648 w1048576 -w416 w384 -w1048576 -b50331648" +
              values);
    // Scores of 8 MiB in parts of 3 are three, and so two heads each.
    CHECK(steps_of(with(latent), {.flash = false, .part_limit = mib(3)}) ==
          " w64" + queries + stored +
              " -w64 -positions[last] w524288 w192 -w524288 w524288 -w416 w192 -w524288 w384 -w192 -w192" + values);
    // As large as the limit is no more than it; of one MiB each head is a part of its own.
    CHECK(steps_of(with(latent), {.flash = false, .part_limit = mib(8)}).find("w1048576") != std::string::npos);
    CHECK(steps_of(with(latent), {.flash = false, .part_limit = mib(1)}).find(" w262144 w96 ") != std::string::npos);
}

TEST_CASE("latent attention that expands keys and values of all cells, in one part or several") {
    // A cell of a head: 4 x (24 + 40) bytes of the product, 2 x 24 of keys, 2 x 40 of values, 2 x 8 of the rotary part,
    // 2 x 32 of both keys together.
    const std::string queries = " w128 -w64 w32 -positions[last] w128 -w32 -w128";
    CHECK(steps_of(with(latent), {}, true) ==
          " w64" + stored + queries +
              " b268435456 b50331648 b83886080 -b268435456 b16777216 b67108864 -b16777216 -b50331648" + cast +
              " w160 -w128 -b67108864 -b83886080" + mask_is_read + after);
    attention low = latent;
    low.q_rank = 48;
    const std::string low_queries = " w48 -w64 w48 -w48 w128 -w48 w32 -positions[last] w128 -w32 -w128";
    const std::string product = " b134217728 b25165824 b41943040 -b134217728";
    const std::string read = cast + " w80";
    CHECK(steps_of(with(low), {.part_limit = mib(128)}, true) ==
          " w64" + stored + low_queries + product + " b8388608 b33554432 -b25165824" + read + " -b33554432 -b41943040" +
              product + " b33554432 -b8388608 -b25165824" + read + " -w128 -b33554432 -b41943040" + mask_is_read +
              " w160 -w80 -w80" + after);
    // All parts are made before the first is read; a quantised cache's rotary part is unpacked first.
    CHECK(steps_of(with(low), {.part_limit = mib(128), .all_parts = true, .unpacked = true}, true) ==
          " w64" + stored + low_queries + product + " b4194304 b8388608 -b4194304 b33554432 -b25165824" + product +
              " b33554432 -b8388608 -b25165824" + read + " -b33554432 -b41943040" + read +
              " -w128 -b33554432 -b41943040" + mask_is_read + " w160 -w80 -w80" + after);
    // Of four parts the outputs are joined one after the other: of two heads, three, and all.
    const std::string four = steps_of(with(latent), {.part_limit = mib(64)}, true);
    CHECK(four.find(" w80 -w40 -w40") < four.find(" w120 -w80 -w40"));
    CHECK(four.find(" w120 -w80 -w40") < four.find(" w160 -w120 -w40"));
    CHECK(four.find(" w160 -w120 -w40") != std::string::npos);
}

TEST_CASE("parts are the fewest that divide the heads and fit, or halves of halves; products are 64 MiB a head") {
    const auto fewest = [](std::int64_t of, std::int64_t limit) { return parts_of(of, {.part_limit = mib(limit)}); };
    const auto halves = [](std::int64_t of, std::int64_t limit) {
        return parts_of(of, {.part_limit = mib(limit), .all_parts = true});
    };
    CHECK(fewest(4, 0) == 1);
    CHECK(fewest(4, 256) == 1);
    CHECK(fewest(4, 255) == 2);
    CHECK(fewest(4, 127) == 4);
    CHECK(fewest(6, 130) == 3);
    CHECK(fewest(6, 127) == 6);
    CHECK(fewest(5, 300) == 5);
    CHECK(fewest(4, 1) == 4);
    CHECK(halves(4, 256) == 1);
    CHECK(halves(4, 255) == 2);
    CHECK(halves(6, 130) == 2);  // three heads are no two halves
    CHECK(halves(8, 129) == 4);
    CHECK(halves(5, 100) == 1);
}
