// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>

using namespace llmres;

namespace {

std::int64_t total(const layer& l, std::int64_t hidden) {
    parameter_count sum;
    for_each_weight(l, hidden, [&](const weight& w) { sum += w.count(); });
    return sum.in(parameters);
}

const layer plain{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 8}, .feed_forward = {.width = 100}};

}  // namespace

TEST_CASE("a grouped-query layer has q, k, v, o, three feed-forward matrices and two norms") {
    CHECK(total(plain, 32) == 32 * 32 + 2 * (16 * 32) + 32 * 32 + 3 * 100 * 32 + 2 * 32);
}

TEST_CASE("biases, norms of queries and keys, sinks and gates count where they are") {
    const std::int64_t base = total(plain, 32);
    layer l = plain;
    l.attention.qkv_bias = true;
    CHECK(total(l, 32) == base + 32 + 16 + 16);
    l.attention.keys = key_projection::unbiased;
    CHECK(total(l, 32) == base + 32 + 16);
    l = plain;
    l.attention.output_bias = true;
    CHECK(total(l, 32) == base + 32);
    l = plain;
    l.attention.qk_norm = query_key_norm::shared;
    CHECK(total(l, 32) == base + 2 * 8);
    l.attention.qk_norm = query_key_norm::full;
    CHECK(total(l, 32) == base + 32 + 16);
    l = plain;
    l.attention.sinks = true;
    CHECK(total(l, 32) == base + 4);
    l = plain;
    l.attention.gate = output_gate::features;
    CHECK(total(l, 32) == base + 32 * 32);
    l.attention.gate = output_gate::heads;
    CHECK(total(l, 32) == base + 4 * 32);
    l = plain;
    l.feed_forward.bias = true;
    CHECK(total(l, 32) == base + 100 + 100 + 32);
    l = plain;
    l.norm = norm_kind::layer;
    CHECK(total(l, 32) == base + 2 * 32);
    l.norm_before_feed_forward = false;
    CHECK(total(l, 32) == base);
}

TEST_CASE("a layer that shares an earlier layer's keys and values projects none") {
    layer l = plain;
    l.attention.kv = kv_source::shared;
    CHECK(total(l, 32) == total(plain, 32) - 2 * 16 * 32);
    l.attention.kv = kv_source::shared_unused;
    CHECK(total(l, 32) == total(plain, 32));
    l = plain;
    l.attention.keys = key_projection::also_values;
    CHECK(total(l, 32) == total(plain, 32) - 16 * 32);
}

TEST_CASE(
    "cross-attention beside self-attention doubles the projections and adds a norm; instead of it, adds nothing") {
    layer l = plain;
    l.attention.cross = cross_attention::beside;
    CHECK(total(l, 32) == total(plain, 32) + 2 * 32 * 32 + 2 * 16 * 32 + 32);
    l.attention.cross = cross_attention::instead;
    CHECK(total(l, 32) == total(plain, 32));
    l.cross_width = 64;
    CHECK(total(l, 32) == total(plain, 32) + 2 * 16 * 32);
}

TEST_CASE("latent attention compresses and expands") {
    const layer l{.attention = {.kind = attention_kind::latent,
                                .heads = 4,
                                .head_dim = 8,
                                .q_rank = 12,
                                .kv_rank = 6,
                                .rope_dim = 2,
                                .value_dim = 7},
                  .feed_forward = no_feed_forward,
                  .norm = norm_kind::none};
    CHECK(total(l, 32) == 12 * 32 + 12 + 4 * 10 * 12 + (6 + 2) * 32 + 6 + 4 * (8 + 7) * 6 + 32 * 4 * 7);
}

TEST_CASE("routed experts count all of them; active parameters only those a token passes") {
    model m{.vocabulary = 10, .hidden = 32, .layers = {1, plain}};
    m.layers.kinds[0].feed_forward.experts = {
        .count = 8, .per_token = 2, .width = 50, .shared_width = 60, .shared_gate = true, .score_bias = true};
    const std::int64_t attention = 32 * 32 * 2 + 2 * 16 * 32 + 2 * 32;
    const std::int64_t rest = 2 * 10 * 32 + 32 + attention + 8 * 32 + 8 + 3 * 60 * 32 + 32;
    CHECK(count_parameters(m) == parameters(rest + 8 * 3 * 50 * 32));
    CHECK(count_active_parameters(m) == parameters(rest + 2 * 3 * 50 * 32));
    m.layers.kinds[0].feed_forward.experts.latent = 16;
    CHECK(count_parameters(m) == parameters(rest + 8 * 3 * 50 * 16 + 2 * 16 * 32));
}

TEST_CASE("a recurrence counts its projections, convolution and states") {
    layer l{.attention = no_attention, .feed_forward = no_feed_forward, .norm = norm_kind::none};
    l.recurrent = {.kind = recurrent_kind::mamba,
                   .heads = 64,
                   .head_dim = 1,
                   .state = 4,
                   .rank = 3,
                   .kernel = 4,
                   .conv_bias = true};
    CHECK(total(l, 32) == 128 * 32 + 64 * 5 + (3 + 8) * 64 + 64 * 3 + 64 + 64 * 4 + 64 + 32 * 64);
    l.recurrent = {.kind = recurrent_kind::mamba2,
                   .heads = 8,
                   .head_dim = 8,
                   .key_heads = 2,
                   .state = 4,
                   .kernel = 4,
                   .conv_bias = true};
    CHECK(total(l, 32) == (2 * 64 + 2 * 2 * 4 + 8) * 32 + (64 + 16) * 5 + 3 * 8 + 64 + 32 * 64);
    l.recurrent = {
        .kind = recurrent_kind::delta_net, .heads = 8, .head_dim = 8, .key_heads = 2, .state = 4, .kernel = 4};
    CHECK(total(l, 32) == (2 * 8 + 2 * 64 + 2 * 8) * 32 + (16 + 64) * 4 + 2 * 8 + 8 + 32 * 64);
    l.recurrent = {.kind = recurrent_kind::lightning, .heads = 4, .head_dim = 8, .state = 8};
    CHECK(total(l, 32) == 5 * 32 * 32 + 32);
    l.recurrent = {.kind = recurrent_kind::short_conv, .heads = 32, .head_dim = 1, .kernel = 3};
    CHECK(total(l, 32) == 4 * 32 * 32 + 3 * 32);
}

TEST_CASE("a tied head is the embedding, counted once") {
    model m{.vocabulary = 1000, .hidden = 32, .layers = {2, plain}};
    const parameter_count untied = count_parameters(m);
    m.tied_head = true;
    CHECK(untied - count_parameters(m) == parameters(1000 * 32));
    m.head.bias = true;
    CHECK(untied - count_parameters(m) == parameters(1000 * 31));
}

TEST_CASE("a narrow embedding is projected to the hidden size and back") {
    model m{.vocabulary = 1000, .hidden = 32, .layers = {2, plain}, .tied_head = true};
    const parameter_count wide = count_parameters(m);
    m.embedding_width = 16;
    CHECK(wide - count_parameters(m) == parameters(1000 * 16 - 2 * 16 * 32));
}

TEST_CASE("towers and extra tensors belong to the model; heads for pretraining and layers that predict ahead do not") {
    model m{.vocabulary = 1000, .hidden = 32, .layers = {2, plain}};
    const parameter_count base = count_parameters(m);
    m.encoders[0] = {.hidden = 32, .layers = 3, .block = plain};
    m.add({.role = weight_role::projector, .bias = true, .rows = 32, .columns = 7});
    CHECK(count_parameters(m) == base + parameters(3 * total(plain, 32) + 32 * 7 + 32));
    const parameter_count whole = count_parameters(m);
    m.add({.role = weight_role::classifier, .part = model_part::apart, .rows = 2, .columns = 32});
    m.prediction = {.layers = 1, .block = plain, .norms = 3, .own_embedding = true, .own_head = true};
    CHECK(count_parameters(m) == whole);
    CHECK(count_prediction_parameters(m) == parameters(total(plain, 32) + 2 * 32 * 32 + 3 * 32 + 2 * 1000 * 32));
    CHECK(count_stored_parameters(m) == whole + count_prediction_parameters(m) + parameters(64));
}

TEST_CASE("sharding loses no parameter of any model, and none is doubled where all divides") {
    for (const model* m : models::all) {
        for (const int ranks : {1, 2, 3, 8}) {
            for_each_weight(*m, [&](const weight& w, std::int64_t) {
                const weight part =
                    local_part(w, layout{.tensor = ranks, .data = ranks, .expert = ranks, .expert_tensor = 1});
                const std::int64_t holders = w.routed ? ranks : w.split == weight_split::replicated ? 1 : ranks;
                CHECK_MESSAGE(part.count() * holders >= w.count(), m->name.view(), " ", name_of(w.role), " over ",
                              ranks);
                CHECK(part.count() <= w.count());
                const std::int64_t cut = w.routed                           ? w.copies
                                         : w.split == weight_split::rows    ? w.rows / w.granule
                                         : w.split == weight_split::columns ? w.columns / w.granule
                                                                            : holders;
                if (cut % holders == 0) CHECK(part.count() * holders == w.count());
            });
        }
    }
}

TEST_CASE("more layers, width, experts or vocabulary never count less") {
    const model base{.vocabulary = 100, .hidden = 32, .layers = {2, plain}};
    const auto grows = [&](auto change) {
        model m = base;
        change(m);
        return count_parameters(m) > count_parameters(base);
    };
    CHECK(grows([](model& m) { m.vocabulary += 1; }));
    CHECK(grows([](model& m) { m.hidden += 1; }));
    CHECK(grows([](model& m) { m.layers.append(1, m.layers[0]); }));
    CHECK(grows([](model& m) { m.layers.kinds[0].feed_forward.width += 1; }));
    CHECK(grows([](model& m) { m.layers.kinds[0].attention.kv_heads += 2; }));
}

TEST_CASE("a count beyond 63 bits saturates and never turns small") {
    model m{.vocabulary = 100, .hidden = std::int64_t{1} << 24, .layers = {256, plain}};
    m.layers.kinds[0].feed_forward.experts = {.count = 65536, .per_token = 1, .width = std::int64_t{1} << 24};
    CHECK(is_saturated(count_parameters(m)));
}

TEST_CASE("compressed attention has one key, queries and an output through lower ranks, and what pools its entries") {
    const std::int64_t hidden = 32;
    layer l{.attention = {.kind = attention_kind::compressed,
                          .heads = 4,
                          .kv_heads = 1,
                          .head_dim = 8,
                          .q_rank = 10,
                          .rope_dim = 4,
                          .window = tokens(16),
                          .compressed = {.output_groups = 2, .output_rank = 6}},
            .feed_forward = no_feed_forward,
            .norm = norm_kind::none};
    const std::int64_t window = (10 * hidden + 10) + 10 * 4 * 8  // queries
                                + (8 * hidden + 8)               // the key
                                + 2 * 6 * (4 * 8 / 2) + hidden * 2 * 6;
    CHECK(total(l, hidden) == window);
    l.attention.compressed.ratio = 128;  // contents and gates, positions in the entry, and a norm
    CHECK(total(l, hidden) == window + 2 * 8 * hidden + 128 * 8 + 8);
    l.attention.compressed.ratio = 4;
    l.attention.compressed.windows = 2;  // which overlap
    CHECK(total(l, hidden) == window + 2 * 2 * 8 * hidden + 4 * 2 * 8 + 8);
    l.attention.indexer = {.heads = 3, .head_dim = 5};  // with entries of its own
    CHECK(total(l, hidden) ==
          window + 2 * 2 * 8 * hidden + 4 * 2 * 8 + 8 + 3 * 5 * 10 + 3 * hidden + 2 * 2 * 5 * hidden + 4 * 2 * 5 + 5);
}

TEST_CASE("hyper-connections mix the copies of the stream by fp32 weights, twice a layer") {
    layer l = plain;
    l.streams = 4;
    CHECK(total(l, 32) == total(plain, 32));  // copies that are kept have no weights
    l.mixes = stream_mix::ends;
    CHECK(total(l, 32) == total(plain, 32) + 2 * (8 * 4 * 32 + 8 + 2));  // an input and an output of four
    l.mixes = stream_mix::between_too;
    // two inputs and a matrix of four by four: 24 rows over all streams, their biases and three scales
    CHECK(total(l, 32) == total(plain, 32) + 2 * (24 * 4 * 32 + 24 + 3));
    byte_count fp32_bytes;
    for_each_weight(l, 32, [&](const weight& w) {
        if (w.fp32) fp32_bytes += size_of(w, formats_for(fp8_e4m3));
    });
    CHECK(fp32_bytes == bytes(4 * 2 * (24 * 4 * 32 + 24 + 3)));
}

TEST_CASE("what attention reads of another sequence is as wide as the layer says") {
    layer l = plain;
    l.attention.cross = cross_attention::instead;
    const std::int64_t narrow = total(l, 32);
    l.cross_width = 64;
    CHECK(total(l, 32) == narrow + 2 * 16 * (64 - 32));
}

TEST_CASE("Kimi delta attention's output gate goes through a lower rank, or at once") {
    layer l{.attention = no_attention,
            .recurrent = {.kind = recurrent_kind::delta_net,
                          .heads = 4,
                          .head_dim = 8,
                          .key_heads = 4,
                          .state = 8,
                          .rank = 8,
                          .kernel = 4}};
    const std::int64_t through = total(l, 64), inner = 4 * 8;
    l.recurrent.whole_gate = true;
    CHECK(total(l, 64) == through - 8 * (64 + inner) + 64 * inner);
}

TEST_CASE("where nothing is normed no weight is shown") {
    int shown = 0;
    const auto count = [&](const weight&) { ++shown; };
    const auto visit = visiting<weight>(count);
    detail::weight_list{visit}.norms(norm_kind::none, 64, 2);
    detail::weight_list{visit}.norms(norm_kind::rms, 64, 0);
    CHECK(shown == 0);
    detail::weight_list{visit}.norms(norm_kind::layer, 64, 2);
    CHECK(shown == 1);
}
