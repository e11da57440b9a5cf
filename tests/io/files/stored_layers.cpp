// SPDX-License-Identifier: MIT
// Layers that weigh what files store, also where they are of more kinds than a stack holds.
#include <llmres/io/files/stored_layers.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace llmres;

namespace {

/// What a made-up layer takes: ten values a head, three a feature of its feed-forward, one where that has a second
/// norm, and its further values.
byte_count predicted(const layer& l, std::int32_t) {
    return bytes(2) *
           (10 * l.attention.heads + 3 * l.feed_forward.width + (l.norm_after_feed_forward ? 1 : 0) + l.more_values);
}

detail::stored_layer stored(std::int64_t heads, std::int64_t width, std::int64_t further_values) {
    detail::stored_layer l;
    l.shape.attention.heads = heads;
    l.shape.feed_forward.width = width;
    l.stored = predicted(l.shape, 0) + bytes(2) * further_values;
    return l;
}

byte_count all_of(const std::vector<detail::stored_layer>& layers) {
    byte_count sum;
    for (const detail::stored_layer& l : layers) sum += l.stored;
    return sum;
}

byte_count all_of(const layer_stack& stack) {
    byte_count sum;
    for (std::int32_t i = 0; i < stack.size; ++i) sum += predicted(stack[i], i);
    return sum;
}

result<layer_stack> fitted(const std::vector<detail::stored_layer>& layers) {
    return detail::fitted_layers(layers, 2, predicted);
}

}  // namespace

TEST_CASE("what tensors hold beyond a layer's shape is its own where kinds are few") {
    const std::vector layers{stored(8, 100, 0), stored(8, 100, 7), stored(8, 100, 0)};
    const auto stack = fitted(layers);
    REQUIRE(stack);
    CHECK((*stack)[0].more_values == 0);
    CHECK((*stack)[1].more_values == 7);
    CHECK(all_of(*stack) == all_of(layers));
}

TEST_CASE("layers of one shape share their values where they would be too many kinds") {
    std::vector<detail::stored_layer> layers;
    for (std::int64_t i = 0; i < 20; ++i) layers.push_back(stored(i < 10 ? 8 : 16, 100, i));
    const auto stack = fitted(layers);
    REQUIRE(stack);
    CHECK((*stack)[0].more_values == 5);    // 0 to 9 are 4.5 on average
    CHECK((*stack)[19].more_values == 15);  // 10 to 19 are 14.5
    CHECK(all_of(*stack) >= all_of(layers));
    CHECK(all_of(*stack) < all_of(layers) + bytes(2 * 20));  // less than a value a layer is rounded up
    for (auto& l : layers) l.shape.feed_forward.width = l.shape.attention.heads == 8 ? 90 : 80;
    CHECK((*fitted(layers))[0].feed_forward.width == 90);  // of few shapes each keeps its own
    CHECK((*fitted(layers))[19].feed_forward.width == 80);
    for (auto& l : layers) l.shape.feed_forward.width = 100;
    layers[0].stored += bytes(2 * 5);   // 50 among ten
    layers[19].stored -= bytes(2 * 4);  // 141 among ten
    CHECK((*fitted(layers))[0].more_values == 5);
    CHECK((*fitted(layers))[19].more_values == 15);
}

TEST_CASE("layers whose feed-forwards alone differ get the narrowest, and the rest of each as values") {
    std::vector<detail::stored_layer> layers;
    for (std::int64_t i = 0; i < 20; ++i) layers.push_back(stored(8, 100 + i, 0));
    const auto stack = fitted(layers);
    REQUIRE(stack);
    for (const std::int32_t i : {0, 7, 19}) {
        CHECK((*stack)[i].feed_forward.width == 100);
        CHECK((*stack)[i].more_values == 29);  // three for each further feature, 9.5 of them on average
    }
    CHECK(all_of(*stack) >= all_of(layers));
    CHECK(all_of(*stack) < all_of(layers) + bytes(2 * 20));
}

TEST_CASE("the narrowest is one of layers that are alike otherwise, whichever it is") {
    std::vector<detail::stored_layer> layers;
    for (std::int64_t i = 0; i < 20; ++i) layers.push_back(stored(i < 10 ? 8 : 16, i < 10 ? 200 - i : 100 + i, 7));
    const auto stack = fitted(layers);
    REQUIRE(stack);
    CHECK((*stack)[0].feed_forward.width == 191);
    CHECK((*stack)[9].feed_forward.width == 191);
    CHECK((*stack)[0].more_values == 21);  // 7, and three times 4.5
    CHECK((*stack)[19].feed_forward.width == 110);
    CHECK((*stack)[19].more_values == 21);
    CHECK(all_of(*stack) >= all_of(layers));
}

TEST_CASE("values outside the layers are rows of 2^20, and what is left of them") {
    const auto added = [](std::int64_t values) {
        model m;
        detail::add_values(m, weight_role::values, model_part::output, values);
        std::int64_t total = 0;
        for (const extra_weight& e : m.extra_weights()) {
            CHECK(e.part == model_part::output);
            total += e.rows * e.columns * e.copies;
        }
        return total;
    };
    for (const std::int64_t values : {0, 1, 5, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20}) {
        CAPTURE(values);
        CHECK(added(values) == values);
    }
}

TEST_CASE("layers of more kinds than that are refused") {
    std::vector<detail::stored_layer> layers;
    for (std::int64_t i = 0; i < 20; ++i) layers.push_back(stored(8 + i, 100, 0));
    const auto stack = fitted(layers);
    REQUIRE_FALSE(stack);
    CHECK(stack.error().code == error_code::unsupported);
    CHECK(stack.error().field == "layers");
}

TEST_CASE("a shape that predicts more than a layer stores loses its feed-forward") {
    detail::stored_layer wrong = stored(8, 100, 0);
    wrong.stored = bytes(2) * (10 * 8 + 30);
    wrong.shape.norm_after_feed_forward = true;
    const auto stack = fitted({wrong});
    REQUIRE(stack);
    CHECK((*stack)[0].feed_forward == no_feed_forward);
    CHECK_FALSE((*stack)[0].norm_before_feed_forward);
    CHECK_FALSE((*stack)[0].norm_after_feed_forward);
    CHECK((*stack)[0].more_values == 30);
}
