// SPDX-License-Identifier: MIT
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>

#include <doctest/doctest.h>

#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <map>

using namespace llmres;

namespace {

/// Elements of a layer's half by role, for two sequences of 100 tokens that see 300.
std::map<activation_role, std::int64_t> live(const model& m, layer_half wanted,
                                             attention_kernel kernel = attention_kernel::flash) {
    std::map<activation_role, std::int64_t> found;
    for_each_live_activation(m.layers[m.layers.size - 1], m.hidden, {.sequences = 2, .length = 100, .keys = 300},
                             kernel, bf16, [&](const activation& a, layer_half half) {
                                 if (half == wanted) found[a.role] += a.elements;
                             });
    return found;
}

}  // namespace

TEST_CASE("attention of Llama 3.1 8B: 32 heads of queries, 8 of keys and values, of 128") {
    const auto found = live(models::llama_3_1_8b, layer_half::attention);
    const std::map<activation_role, std::int64_t> expected{
        {activation_role::residual, 200 * 4096},  {activation_role::linear_input, 200 * 4096},
        {activation_role::query, 200 * 32 * 128}, {activation_role::key, 200 * 8 * 128},
        {activation_role::value, 200 * 8 * 128},  {activation_role::attention_output, 200 * 32 * 128}};
    CHECK(found == expected);
}

TEST_CASE("eager attention holds a score for each pair of tokens and head") {
    const auto found = live(models::llama_3_1_8b, layer_half::attention, attention_kernel::eager);
    CHECK(found.at(activation_role::probabilities) == std::int64_t{2} * 32 * 100 * 300);
}

TEST_CASE("latent attention expands keys of 128 + 64 and values of 128 for all of DeepSeek-V3's 128 heads") {
    const auto found = live(models::deepseek_v3, layer_half::attention);
    CHECK(found.at(activation_role::query) == std::int64_t{200} * 128 * 192);
    CHECK(found.at(activation_role::key) == std::int64_t{200} * 128 * 192);
    CHECK(found.at(activation_role::value) == std::int64_t{200} * 128 * 128);
}

TEST_CASE("a gated feed-forward has gate, up and their product; a routed one for each expert that a token meets") {
    const auto dense = live(models::llama_3_1_8b, layer_half::feed_forward);
    for (const auto role : {activation_role::gate, activation_role::up, activation_role::product})
        CHECK(dense.at(role) == 200 * 14336);
    CHECK_FALSE(dense.contains(activation_role::expert_output));
    const auto routed = live(models::mixtral_8x7b, layer_half::feed_forward);
    CHECK(routed.at(activation_role::up) == 200 * 2 * 14336);
    CHECK(routed.at(activation_role::expert_output) == 200 * 2 * 4096);
}

TEST_CASE("tensor ranks share what is cut by heads or width, and the residual stream with sequence parallelism alone") {
    const activation query{activation_role::query, 1001, bf16, activation_split::tensor};
    const activation residual{activation_role::residual, 1001, bf16, activation_split::sequence};
    const activation gathered{activation_role::linear_input, 1001, bf16, activation_split::whole};
    const layout cut{.tensor = 4};
    const layout sequence{.tensor = 4, .sequence_parallel = true};
    CHECK(local_bytes(query, cut) == bytes(2) * 251);  // the largest rank's part
    CHECK(local_bytes(residual, cut) == bytes(2002));
    CHECK(local_bytes(residual, sequence) == bytes(2) * 251);
    CHECK(local_bytes(gathered, sequence) == bytes(2002));
    CHECK(local_bytes(query, layout{}) == bytes(2002));
}

TEST_CASE("every role has a name of its own") {
    for (std::size_t i = 0; i < names_of<activation_role>.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK(names_of<activation_role>[i] != names_of<activation_role>[j]);
    static_assert(name_of(activation_role::weight) == "weight");
}

TEST_CASE("of what nobody says more an activation is one of all tokens, and a shape is one token that sees itself") {
    const activation plain{activation_role::residual, 8, bf16, activation_split::whole};
    CHECK_FALSE(plain.routed);
    CHECK(plain.until == backward_point::attention_norm);
    CHECK(token_shape{}.all() == 1);
    CHECK(token_shape{}.keys == 1);
}
