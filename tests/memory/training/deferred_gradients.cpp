// SPDX-License-Identifier: MIT
#include <llmres/memory/training/deferred_gradients.hpp>

#include <doctest/doctest.h>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t positions = 16;
constexpr std::int64_t hidden = 4;

/// One head, and a gated feed-forward of 8.
layer small() {
    layer l;
    l.attention = {.heads = 1, .kv_heads = 1, .head_dim = 4};
    l.feed_forward = {.kind = feed_forward_kind::gated, .width = 8};
    return l;
}
job training(const layer& l) {
    return {.model = {.vocabulary = 10, .hidden = hidden, .layers = {1, l}},
            .task = task::pretraining,
            .sequence = tokens(positions)};
}

}  // namespace

TEST_CASE("gradients of weights need each product's input once, and the gradient of each product's output") {
    const job j = training(small());
    const layout l;
    const training_context context{j, l};
    // inputs: of q, k and v; of o; of gate and up; of down. Gradients: of q, k, v and o, of gate and up, of down.
    const std::int64_t values = (4 + 4 + 4 + 8) + (4 + 4 + 4 + 4 + 8 + 8 + 4);
    CHECK(detail::needed_by_weights(small(), hidden, context, l) == bytes(2 * positions * values));
}

TEST_CASE("tensor ranks share what lies between two products, and with sequence parallelism all of it") {
    const job j = training(small());
    const layout whole;
    const layout halves{.tensor = 2};
    const layout sequence{.tensor = 2, .sequence_parallel = true};
    const byte_count alone = detail::needed_by_weights(small(), hidden, training_context{j, whole}, whole);
    const byte_count shared = detail::needed_by_weights(small(), hidden, training_context{j, halves}, halves);
    CHECK(shared < alone);
    CHECK(shared * 2 > alone);
    CHECK(detail::needed_by_weights(small(), hidden, training_context{j, sequence}, sequence) * 2 == alone);
}

TEST_CASE(
    "a head that is put off keeps its input of every micro-batch but the last, and gradients of logits up to the "
    "limit") {
    job j = training(small());
    const layout l;
    const byte_count input = bytes(2 * positions * hidden);
    const byte_count gradient = bytes(2 * positions * 10);
    CHECK(detail::deferred_head(j.model, training_context{j, l}, l, 1) == bytes(0));
    CHECK(detail::deferred_head(j.model, training_context{j, l}, l, 4) == input * 3 + gradient * 3);
    j.runtime.pipeline.wgrad_deferral_limit = 2;
    CHECK(detail::deferred_head(j.model, training_context{j, l}, l, 4) == input * 3 + gradient * 2);
    j.runtime.pipeline.wgrad_deferral_limit = 1;
    CHECK(detail::deferred_head(j.model, training_context{j, l}, l, 4) == input * 3 + gradient);
}
