// SPDX-License-Identifier: MIT
// Which weights a stage has, one by one, and in which order: a hand-made model whose layers are told apart by the width
// of their feed-forwards.
#include <llmres/memory/events/trained_weights.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/megatron.hpp>
#include <string>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;

namespace {

constexpr std::int64_t hidden = 64;

/// So many layers, whose feed-forwards are 10, 20, 30, ... wide.
job widening(std::int32_t layers) {
    job j = small(runtimes::megatron, 0);
    const layer one{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 10}};
    j.model.layers = {};
    for (std::int32_t i = 0; i < layers; ++i) {
        layer wider = one;
        wider.feed_forward.width = 10 * (i + 1);
        REQUIRE(j.model.layers.then(1, wider).size == i + 1);
    }
    return j;
}

/// The stage's weights of one role: the layer's width in tens, as the bytes of down_proj say it, behind its position.
/// `e`: the embedding; `h`: the head; `n`: a norm outside of the layers.
std::string shown(const job& j, const layout& l, std::int32_t stage) {
    const training_context context{j, l};
    const weight_training how{j, l, context};
    std::string text;
    const auto in_layers = [](stage_range range, auto&& each) {
        for (std::int32_t i = range.first; i < range.last; ++i) each(i);
    };
    for_each_trained_weight(how, l, placement_of(j, l, stage), in_layers, [&](const trained_weight& w) {
        const std::int64_t values = w.kept.weights.in(bytes) / 2;  // in 16 bits
        if (w.role == weight_role::down_proj && w.place == weight_place::layer)
            text += std::to_string(w.position) + ":" + std::to_string(values / hidden / 10) + " ";
        if (w.place == weight_place::input && w.role == weight_role::embed_tokens && values == 1000 * hidden)
            text += "e ";
        if (w.place == weight_place::output && values == 1000 * hidden) text += "h ";
        if (w.place == weight_place::output && values == hidden) text += "n ";
        if (w.place == weight_place::prediction && w.role == weight_role::down_proj) text += "p ";
    });
    return text;
}

}  // namespace

TEST_CASE("stages that are dealt evenly have consecutive layers, the first the embedding, and the last norm and head") {
    const job j = widening(5);
    CHECK(shown(j, {}, 0) == "e 0:1 1:2 2:3 3:4 4:5 n h ");
    CHECK(shown(j, {.pipeline = 2}, 0) == "e 0:1 1:2 2:3 ");
    CHECK(shown(j, {.pipeline = 2}, 1) == "3:4 4:5 n h ");
}

TEST_CASE("a stage whose layers are not dealt evenly has those of its chunks") {
    // Seven layers and the loss are four chunks of two (Megatron-Core's account-for-loss-in-pipeline-split): the first
    // stage has layers 1, 2, 5 and 6, the second 3, 4 and 7.
    const job j = widening(7);
    const layout chunks{.pipeline = 2, .virtual_pipeline = 2, .loss_as_layer = true};
    CHECK(shown(j, chunks, 0) == "e 0:1 1:2 2:5 3:6 ");
    CHECK(shown(j, chunks, 1) == "4:3 5:4 6:7 n h ");
    // Three layers on the first stage, four on the last.
    const layout ends{.pipeline = 2, .first_stage_layers = 3};
    CHECK(shown(j, ends, 0) == "e 0:1 1:2 2:3 ");
    CHECK(shown(j, ends, 1) == "3:4 4:5 5:6 6:7 n h ");
    // The second half of a pipeline that turns back: the first stage has the first and the last chunk, and the head.
    const layout turned{.pipeline = 2, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v};
    const job eight = widening(8);
    CHECK(shown(eight, turned, 0) == "e 0:1 1:2 2:7 3:8 n h ");
    CHECK(shown(eight, turned, 1) == "4:3 5:4 6:5 7:6 ");
}

TEST_CASE("layers that predict further tokens stand behind the model's, on the last stage, one for each depth") {
    job j = widening(4);
    j.model.prediction = {.layers = 2, .block = j.model.layers.kinds[0]};
    j.mtp_layers = 2;
    CHECK(shown(j, {}, 0) == "e 0:1 1:2 2:3 3:4 p p n h ");
}
