// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/memory/training.hpp>
#include <llmres/models/llama.hpp>

#include "../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("an adapter's states are of the adapter alone") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(training_state_of(j, {}).optimizer.states < gib(1));
    CHECK(peak(j) < peak(full()));
}
TEST_CASE("a frozen model saves nothing before its first adapters") {
    job j = full();
    j.model.layers = {1, models::llama_3_1_8b.layers[0]};
    const auto saved = [&](const adapter& a) {
        j.adapter = a;
        return saved_activations(j, {});
    };
    const byte_count attention = saved({.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::v_proj}});
    const byte_count feed_forward = saved({.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::up_proj}});
    CHECK(feed_forward < attention);  // no queries, keys or values
}
TEST_CASE("IA3 keeps what its scales multiply: keys, values, the feed-forward's inner features in fp32") {
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 8};
    j.sequence = tokens(4096 - 8);
    const byte_count prompt = saved_activations(j, {});
    j.adapter = {.kind = adapter_kind::ia3};
    j.sequence = tokens(4096);
    const std::int64_t n = 4096;
    const byte_count first_norm = size_of(fp32, n, 4096) + size_of(fp32, 1, n);  // gradients do not reach it
    CHECK(saved_activations(j, {}) + first_norm ==
          prompt + (size_of(bf16, n, 2 * 1024) + size_of(fp32, n, 14336)) * 32);
}
TEST_CASE("a trained prompt has gradients and states of its own, and lengthens each sequence") {
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 20};
    const byte_count added = size_of(fp32, 20, 4096);
    CHECK(training_state_of(j, {}).adapter == added);
    CHECK(training_state_of(j, {}).gradients.kept == added);
    CHECK(training_state_of(j, {}).optimizer.states == added * 2);
    const training_context context{j, {}};
    CHECK(context.tokens.all() == 4096 + 20);
}
