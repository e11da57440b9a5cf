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

TEST_CASE("what is remembered between layouts is what each would be made anew, for kinds, adapters and class tokens") {
    const layer plain{.attention = {.heads = 4, .kv_heads = 4, .head_dim = 64}, .feed_forward = {.width = 1024}};
    layer wider = plain;
    wider.feed_forward.width = 2048;
    for (const bool adapted : {false, true})
        for (const char* architecture : {"llama", "vit"})
            for (const optimizer& o : {adamw, adafactor, muon}) {
                job asked{.model = {.vocabulary = 1000, .hidden = 256},
                          .task = task::finetuning,
                          .weights = bf16,
                          .sequence = tokens(512),
                          .optimizer = o};
                asked.model.layers = layer_stack{}.then(2, plain).then(2, wider);
                asked.model.architecture = architecture;
                if (adapted) asked.adapter = {.kind = adapter_kind::dora, .rank = 8};
                training_folds folds{folds_are::kept};
                for (const layout& l :
                     {layout{}, layout{.context_parallel = 2}, layout{.data = 2, .zero = 1}, layout{.pipeline = 2},
                      layout{.tensor = 2}, layout{.tensor = 2, .sequence_parallel = true}, layout{.data = 2, .zero = 3},
                      layout{.context_parallel = 4}, layout{.tensor = 2, .pipeline = 2, .context_parallel = 2}}) {
                    const folded_job kept{asked, l, asked.model.layers, sdpa_backend::flash, folds};
                    const folded_job fresh{asked, l, asked.model.layers, sdpa_backend::flash};
                    for (std::size_t k = 0; k < 2; ++k) {
                        const training_layer &a = kept.layers[k], &b = fresh.layers[k];
                        CHECK(a.saved == b.saved);
                        CHECK(a.kept == b.kept);
                        CHECK(a.peak == b.peak);
                        CHECK(a.fresh_peak == b.fresh_peak);
                        CHECK(a.recomputed == b.recomputed);
                        CHECK(a.state.weights == b.state.weights);
                        CHECK(a.state.gathered == b.state.gathered);
                        CHECK(a.state.adapter == b.state.adapter);
                        CHECK(a.state.gradients.kept == b.state.gradients.kept);
                        CHECK(a.state.optimizer.states == b.state.optimizer.states);
                        CHECK(a.state.optimizer.largest_step == b.state.optimizer.largest_step);
                        CHECK(a.state.magnitudes.other == b.state.magnitudes.other);
                    }
                    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
                        const end_states a = states_of_ends(kept, placement_of(asked, l, stage)),
                                         b = states_of_ends(fresh, placement_of(asked, l, stage));
                        CHECK(a.ends.weights == b.ends.weights);
                        CHECK(a.input.gradients.kept == b.input.gradients.kept);
                        CHECK(a.output.weights == b.output.weights);
                    }
                    CHECK(kept.ends.loss.head == fresh.ends.loss.head);
                    CHECK(kept.ends.before_layers == fresh.ends.before_layers);
                }
                folds.clear();
                CHECK(folds.code == nullptr);
            }
}
