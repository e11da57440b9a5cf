// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/io/hf/quantization/config.hpp>
#include <llmres/models/weight_formats.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// A small model of every kind of layer, and a quantization_config read for it.
namespace quantization_tests {

using namespace llmres;
using namespace llmres::detail;

/// Attention and recurrences, a dense layer in front, routed and shared experts behind it; and a layer that predicts
/// ahead.
inline model blank(std::int32_t layers = 4) {
    layer dense;
    dense.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16};
    dense.feed_forward.width = 128;
    layer routed = dense;
    routed.feed_forward.experts = {.count = 4, .per_token = 2, .width = 32, .shared_width = 64};
    layer recurring = routed;
    recurring.attention = no_attention;
    recurring.recurrent = {
        .kind = recurrent_kind::mamba2, .heads = 4, .head_dim = 16, .key_heads = 1, .state = 8, .kernel = 4};
    model m{.vocabulary = 100, .hidden = 64};
    m.layers.append(1, dense);
    m.layers.append(layers - 2, routed);
    m.layers.append(1, recurring);
    m.prediction = {.layers = 1, .block = routed, .norms = 3};
    return m;
}

inline result<model> read_model(const std::string& quantization) {
    model m = blank();
    const status read = read_quantization_config(nlohmann::json::parse(quantization), bf16, m);
    if (!read) return read.error();
    CHECK(validate(m));
    return m;
}

inline result<weight_formats> read(const std::string& quantization) {
    const result<model> m = read_model(quantization);
    if (!m) return m.error();
    return formats_of(*m);
}

/// The format of a projection of a layer, as its weights give it.
inline precision format_in(const model& m, int layer_index, weight_role role, bool routed = false) {
    precision found{};
    for_each_weight(m.layers[layer_index], m.hidden, [&](const weight& w) {
        if (w.role == role && w.routed == routed && w.rows > 1) found = formats_of(m).of(w);
    });
    return found;
}

inline void refuses(const std::string& quantization, error_code code, std::string_view field) {
    const auto found = read(quantization);
    CAPTURE(quantization);
    CAPTURE(found.error().value.view());
    CHECK(found.error().code == code);
    CHECK(found.error().field == field);
    CHECK_FALSE(found.error().expected.empty());
}

constexpr weight matrix(weight_role role, bool routed = false) {
    return {.role = role, .routed = routed, .quantised = true};
}

/// A compressed-tensors config of one group.
inline std::string packed(const std::string& weights, const std::string& format,
                          const std::string& rest = "\"ignore\": [\"lm_head\"]") {
    return "{\"quant_method\": \"compressed-tensors\", \"format\": \"" + format +
           "\", \"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], \"weights\": " + weights + "}}, " + rest +
           "}";
}

}  // namespace quantization_tests
