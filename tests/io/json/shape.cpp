// SPDX-License-Identifier: MIT
// Models that a job describes by their shape, by hand.
#include <llmres/io/json/shape.hpp>

#include <doctest/doctest.h>

#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

const json small = {{"hidden", 64},
                    {"vocabulary", 1000},
                    {"layers", 3},
                    {"attention", {{"heads", 4}, {"kv_heads", 2}}},
                    {"feed_forward", {{"width", 160}}}};

json with(const char* pointer, const json& value, json document = small) {
    document[json::json_pointer{pointer}] = value;
    return document;
}

result<model> read(const json& document) { return detail::shape_reader{document}.read(); }

std::int64_t count_of(const json& document) {
    const result<model> m = read(document);
    REQUIRE_MESSAGE(m, m.error().field.view(), ": ", m.error().expected.view());
    return count_parameters(*m).in(parameters);
}

std::string refused_field(const json& document) {
    const result<model> m = read(document);
    return m ? "read" : std::string{m.error().field.view()};
}

// Embedding and head; q and o of 4 heads and k and v of 2, of 16 features each; gate, up and down; two norms.
constexpr std::int64_t ends = 2 * 1000 * 64 + 64;
constexpr std::int64_t attention_weights = 2 * 64 * 64 + 2 * 64 * 32;
constexpr std::int64_t one_layer = attention_weights + 3 * 64 * 160 + 2 * 64;

}  // namespace

TEST_CASE("a shape counts what its tensors have") {
    CHECK(count_of(small) == ends + 3 * one_layer);
    CHECK(count_of(with("/tied_head", true)) == ends + 3 * one_layer - 64'000);
    CHECK(count_of(with("/positions", 128)) == ends + 3 * one_layer + 128 * 64);
    CHECK(count_of(with("/norm", "layer")) == ends + 3 * one_layer + 7 * 64);  // biases
    CHECK(count_of(with("/norm", "layer_without_bias")) == count_of(small));
    CHECK(count_of(with("/norm", "rms")) == count_of(small));
    CHECK(count_of(with("/norm", "none")) == count_of(small) - 7 * 64);
    CHECK(count_of(with("/attention/kv_heads", nullptr)) == count_of(small) + 3 * 2 * 64 * 32);
    CHECK(count_of(with("/attention/head_dim", 32)) == ends + 3 * (one_layer + attention_weights));
    CHECK(count_of(with("/attention/qkv_bias", true)) == count_of(small) + 3 * (64 + 2 * 32));
    CHECK(count_of(with("/attention/output_bias", true)) == count_of(small) + 3 * 64);
    CHECK(count_of(with("/attention/qk_norm", "shared")) == count_of(small) + 3 * 2 * 16);
    CHECK(count_of(with("/attention/qk_norm", "full")) == count_of(small) + 3 * (64 + 32));
    CHECK(count_of(with("/feed_forward/kind", "plain")) == count_of(small) - 3 * 64 * 160);
    CHECK(count_of(with("/feed_forward/bias", true)) == count_of(small) + 3 * (2 * 160 + 64));
    CHECK(count_of(with("/feed_forward", nullptr)) == ends + 3 * (attention_weights + 64));
    CHECK(read(with("/name", "mine"))->name == "mine");
    CHECK(read(small)->name == "described");
    CHECK(read(with("/max_context", 4096))->max_context == tokens(4096));
    CHECK(read(with("/attention/window", 512))->layers[0].attention.window == tokens(512));
}

TEST_CASE("experts stand in all layers but the first that are dense") {
    json routed = with("/feed_forward/experts", {{"count", 8}, {"per_token", 2}, {"width", 32}});
    const std::int64_t experts = 8 * 3 * 64 * 32 + 8 * 64;  // and the router
    const std::int64_t around = attention_weights + 2 * 64;
    CHECK(count_of(routed) == ends + 3 * (around + experts));
    CHECK(count_of(with("/dense_layers", 1, routed)) == ends + one_layer + 2 * (around + experts));
    CHECK(count_of(with("/dense_layers", 3, routed)) == count_of(small));
    CHECK(refused_field(with("/dense_layers", 4, routed)) == "model.dense_layers");
    CHECK(count_of(with("/feed_forward/experts/shared_width", 48, routed)) == count_of(routed) + 3 * 3 * 64 * 48);
    routed["feed_forward"]["experts"]["shared_width"] = 48;
    CHECK(count_of(with("/feed_forward/experts/shared_gate", true, routed)) == count_of(routed) + 3 * 64);
    // A token reads two of eight.
    CHECK(count_active_parameters(*read(routed)).in(parameters) == count_of(routed) - 3 * 6 * 3 * 64 * 32);
}

TEST_CASE("latent attention is asked for by the rank of its keys and values, and its fields by nothing else") {
    const json latent =
        with("/attention",
             {{"heads", 4}, {"head_dim", 16}, {"kv_rank", 24}, {"q_rank", 40}, {"rope_dim", 8}, {"value_dim", 20}});
    // Down and up of queries, down of keys and values with the rotated part, up of both, output, and two norms.
    const std::int64_t weights = 64 * 40 + 40 * 4 * 24 + 64 * (24 + 8) + 24 * 4 * (16 + 20) + 4 * 20 * 64 + 40 + 24;
    CHECK(count_of(latent) == ends + 3 * (weights + 3 * 64 * 160 + 2 * 64));
    CHECK(count_of(with("/attention/q_rank", 0, latent)) ==
          count_of(latent) + 3 * (64 * 4 * 24 - 64 * 40 - 40 * 4 * 24 - 40));
    for (const char* field : {"q_rank", "rope_dim", "value_dim"})
        CHECK(refused_field(with((std::string{"/attention/"} + field).c_str(), 8)) ==
              std::string{"model.attention."} + field);
}

TEST_CASE("letters give each layer one part, and a depth that predicts what its block says") {
    json mixed = with("/layers", "M*-");
    mixed["recurrent"] = {{"heads", 4}, {"head_dim", 16}, {"key_heads", 1}, {"state", 8}};
    const result<model> m = read(mixed);
    REQUIRE(m);
    CHECK(m->layers.size == 3);
    CHECK(m->layers[0].recurrent.kind == recurrent_kind::mamba2);
    CHECK(m->layers[0].recurrent.kernel == 4);
    CHECK(m->layers[0].recurrent.chunk == 256);
    CHECK(m->layers[0].recurrent.conv_bias);
    CHECK(m->layers[1].recurrent.kind == recurrent_kind::none);
    CHECK(m->layers[1].attention.heads == 4);
    CHECK(m->layers[0].attention.heads == 0);
    CHECK(m->layers[2].feed_forward.width == 160);
    CHECK(m->layers[1].feed_forward.kind == feed_forward_kind::none);
    // An attention and a feed-forward of a layer each, with one norm.
    CHECK(count_of(with("/layers", "*-")) == ends + one_layer);
    CHECK(count_of(with("/layers", "**")) == ends + 2 * (attention_weights + 64));
    json predicts = with("/prediction", {{"layers", 2}, {"block", "*-"}}, with("/layers", "*-"));
    REQUIRE(read(predicts));
    CHECK(read(predicts)->prediction.layers == 2);
    for (const char* letters : {"", "MX", "M", "E"}) CHECK(refused_field(with("/layers", letters)) == "model.layers");
    CHECK(refused_field(with("/prediction/block", "", predicts)) == "model.prediction.block");
    CHECK(refused_field(with("/layers", std::string(257, '*'))) == "model.layers");
    CHECK(read(with("/layers", std::string(256, '*')))->layers.size == 256);
}

TEST_CASE("each number of a shape may be as small as one") {
    const json one = {
        {"hidden", 1},
        {"vocabulary", 1},
        {"layers", 1},
        {"attention", {{"heads", 1}, {"kv_heads", 1}, {"head_dim", 1}, {"window", 1}}},
        {"feed_forward",
         {{"width", 1}, {"experts", {{"count", 1}, {"per_token", 1}, {"width", 1}, {"shared_width", 1}}}}}};
    CHECK(refused_field(one) == "read");
    json scan = with("/layers", "M*", one);
    scan["recurrent"] = {{"heads", 1}, {"head_dim", 1}, {"key_heads", 1}, {"state", 1}, {"kernel", 1}, {"chunk", 1}};
    CHECK(refused_field(scan) == "read");
    CHECK(refused_field(with("/attention",
                             {{"heads", 1}, {"kv_rank", 1}, {"q_rank", 1}, {"rope_dim", 1}, {"value_dim", 1}}, one)) ==
          "read");
    for (const char* number : {"/hidden", "/vocabulary", "/layers", "/attention/heads", "/attention/kv_heads",
                               "/attention/head_dim", "/feed_forward/width"}) {
        std::string field = std::string{"model"} + number;
        for (char& c : field) c = c == '/' ? '.' : c;
        CHECK(refused_field(with(number, 0)) == field);
        CHECK(refused_field(with(number, "many")) == field);
    }
}

TEST_CASE("a field that a shape does not have, and a name of no kind, are refused with what there is") {
    CHECK(refused_field(with("/hiden", 64)) == "model.hiden");
    CHECK(refused_field(with("/attention/head", 4)) == "model.attention.head");
    CHECK(refused_field(with("/feed_forward/hidden", 4)) == "model.feed_forward.hidden");
    CHECK(refused_field(with("/feed_forward/experts", {{"count", 2}, {"per_token", 1}, {"width", 8}, {"x", 1}})) ==
          "model.feed_forward.experts.x");
    CHECK(refused_field(with("/attention", nullptr)) == "model.attention");
    const result<model> norm = read(with("/norm", "batch"));
    REQUIRE_FALSE(norm);
    CHECK(norm.error().field == "model.norm");
    CHECK(norm.error().expected == "one of none, rms, layer, layer_without_bias");
    CHECK(read(with("/feed_forward/kind", "x")).error().expected == "one of none, gated, plain");
    CHECK(read(with("/attention/qk_norm", "x")).error().expected == "one of none, shared, full");
}

TEST_CASE("the first of several mistakes is named, and a layer has either a width or experts") {
    CHECK(refused_field(with("/feed_forward", {{"width", 0}}, with("/attention", {{"heads", 0}}))) ==
          "model.attention.heads");
    json routed = with("/feed_forward/experts", {{"count", 4}, {"per_token", 2}, {"width", 32}});
    routed["dense_layers"] = 1;
    const model m = read(routed).value();
    CHECK(m.layers[0].feed_forward.width == 160);
    CHECK(m.layers[0].feed_forward.experts.count == 0);
    for (const std::int32_t i : {1, 2}) {
        CHECK(m.layers[i].feed_forward.width == 0);
        CHECK(m.layers[i].feed_forward.experts.count == 4);
    }
    routed.erase("dense_layers");
    routed["layers"] = "*-E";
    const model lettered = read(routed).value();
    CHECK(lettered.layers[0].feed_forward.kind == feed_forward_kind::none);
    CHECK(lettered.layers[1].feed_forward.width == 160);
    CHECK(lettered.layers[1].feed_forward.experts.count == 0);
    CHECK(lettered.layers[2].feed_forward.width == 0);
    CHECK(lettered.layers[2].feed_forward.experts.count == 4);
}
