// SPDX-License-Identifier: MIT
#include <llmres/memory/training/remembered.hpp>

#include <doctest/doctest.h>

#include <llmres/memory/training/stage.hpp>
#include <utility>

using namespace llmres;
using namespace llmres::detail;

TEST_CASE(
    "what weights' states depend on is all that activations do, and ZeRO's shards; their mixes differ as they do") {
    const layer_fold one{layout{.tensor = 2}, 1};
    for (const layer_fold& other :
         {layer_fold{layout{.tensor = 4}, 1}, layer_fold{layout{.tensor = 2}, 2},
          layer_fold{layout{.tensor = 2}, 1, sdpa_backend::cudnn}, layer_fold{layout{.tensor = 2}, 1, {}, 4},
          layer_fold{layout{.tensor = 2}, 1, {}, 0, true}}) {
        CHECK_FALSE(one == other);
        CHECK(one.mix() != other.mix());
        CHECK_FALSE(state_fold{one, {}} == state_fold{other, {}});
        CHECK(state_fold{one, {}}.mix() != state_fold{other, {}}.mix());
    }
    CHECK_FALSE(state_fold{one, layout{.data = 4, .zero = 1}} == state_fold{one, {}});
    CHECK(state_fold{one, layout{.data = 4, .zero = 1}}.mix() != state_fold{one, {}}.mix());
}

TEST_CASE("a job's layouts fold what they have in common once: what is remembered is not made of the job anew") {
    job asked{.model = {.vocabulary = 1000, .hidden = 256},
              .task = task::pretraining,
              .weights = bf16,
              .sequence = tokens(512)};
    asked.model.layers = {4,
                          {.attention = {.heads = 4, .kv_heads = 4, .head_dim = 64}, .feed_forward = {.width = 1024}}};
    training_folds folds{folds_are::kept};
    const auto fold = [&](const layout& l) {
        const folded_job f{asked, l, asked.model.layers, sdpa_backend::flash, folds};
        return std::pair{f.layers[0], f.ends.loss.head};
    };
    const auto fresh = [&](const layout& l) { return folded_job{asked, l}.layers[0]; };
    const auto [first, head] = fold({.data = 4});
    CHECK(folds.code != nullptr);
    CHECK(first.saved == fresh({.data = 4}).saved);
    asked.model.layers.kinds[0].feed_forward.width = 2048;  // another job: only what is made anew shows it
    asked.model.vocabulary = 2000;
    const auto [again, same_head] = fold({.data = 8});
    CHECK(again.saved == first.saved);
    CHECK(again.state.weights == first.state.weights);
    CHECK(same_head == head);
    // Shards are of the state alone.
    const auto [sharded, head_of_sharded] = fold({.data = 8, .zero = 1});
    CHECK(sharded.saved == first.saved);
    CHECK(sharded.state.weights == fresh({.data = 8, .zero = 1}).state.weights);
    CHECK(sharded.state.optimizer.states == fresh({.data = 8, .zero = 1}).state.optimizer.states);
    CHECK(head_of_sharded == head);
    // Tensor ranks cut all of it.
    const auto [cut, head_of_cut] = fold({.tensor = 2});
    CHECK(cut.saved == fresh({.tensor = 2}).saved);
    CHECK(cut.state.weights == fresh({.tensor = 2}).state.weights);
    CHECK(head_of_cut == folded_job{asked, layout{.tensor = 2}}.ends.loss.head);
    folds.clear();
    CHECK(folds.code == nullptr);
    const auto [anew, new_head] = fold({.data = 4});
    CHECK(anew.saved == fresh({.data = 4}).saved);
    CHECK(anew.state.weights == fresh({.data = 4}).state.weights);
    CHECK(new_head == folded_job{asked, layout{.data = 4}}.ends.loss.head);
    CHECK(new_head > head);
}
