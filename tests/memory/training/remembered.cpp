// SPDX-License-Identifier: MIT
#include <llmres/memory/training/remembered.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <llmres/memory/training/stage.hpp>
#include <utility>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

namespace {

/// How often values are made, and that what is remembered of a key was made for it.
template <std::size_t Slots>
struct counting_folds {
    detail::remembered<std::int64_t, Slots> values{};
    int made = 0;

    /// Whether the value of a key is remembered.
    bool knows(const fold_key& key) {
        const int before = made;
        const std::int64_t value = values.get(key, [&] { return ++made, key.dense_ranks * 1000 + key.what; });
        CHECK(value == key.dense_ranks * 1000 + key.what);
        return made == before;
    }
};

/// Every change of one field of a key.
std::vector<fold_key> changed_keys() {
    std::vector<fold_key> all;
    const auto change = [&](auto fold_key::* field, auto value) {
        fold_key key;
        key.*field = value;
        all.push_back(key);
    };
    for (std::int32_t fold_key::* field :
         {&fold_key::what, &fold_key::tensor, &fold_key::context_parallel, &fold_key::expert, &fold_key::expert_tensor,
          &fold_key::pipeline, &fold_key::virtual_pipeline, &fold_key::first_stage_layers,
          &fold_key::last_stage_layers})
        for (const std::int32_t value : {2, 3, 64, -5}) change(field, value);
    for (const std::int32_t stage : {1, 2, 3}) change(&fold_key::zero, stage);
    for (std::int64_t fold_key::* field : {&fold_key::dense_ranks, &fold_key::expert_ranks})
        for (const std::int64_t value : {2, 3, 64}) change(field, value);
    for (bool fold_key::* field : {&fold_key::sequence_parallel, &fold_key::same_tokens, &fold_key::embedding_as_layer,
                                   &fold_key::loss_as_layer, &fold_key::in_a_v})
        change(field, true);
    for (const cp_communication exchange : {cp_communication::p2p, cp_communication::all_gather, cp_communication::a2a})
        if (exchange != cp_communication{}) change(&fold_key::exchange, exchange);
    return all;
}

/// A key of a layout, where one of its fields is changed.
template <class Key>
bool depends(const Key& key, const std::function<void(layout&)>& change, const layout& from = {.data = 2}) {
    layout to = from;
    change(to);
    return !(key(from).in_words() == key(to).in_words());
}

}  // namespace

TEST_CASE("a value is made once for a key, and anew when all is forgotten") {
    counting_folds<64> c;
    const fold_key key{.what = 3, .dense_ranks = 7};
    CHECK_FALSE(c.knows(key));
    CHECK(c.knows(key));
    CHECK_FALSE(c.knows({.what = 4, .dense_ranks = 7}));
    CHECK(c.knows(key));
    CHECK(c.knows({.what = 4, .dense_ranks = 7}));
    CHECK(c.made == 2);
    c.values.clear();
    CHECK_FALSE(c.knows(key));
    CHECK(c.knows(key));
    CHECK_FALSE(c.knows({.what = 4, .dense_ranks = 7}));
    CHECK(c.made == 4);
}

TEST_CASE("four keys of the same slots are all known, a fifth takes the place of one") {
    counting_folds<4> c;
    for (std::int32_t what = 1; what <= 4; ++what) CHECK_FALSE(c.knows({.what = what}));
    for (std::int32_t what = 1; what <= 4; ++what) CHECK(c.knows({.what = what}));
    CHECK(c.made == 4);
    for (std::int32_t what = 5; what <= 40; ++what) {
        CHECK_FALSE(c.knows({.what = what}));
        CHECK(c.knows({.what = what}));
    }
    // Of the last keys four are known, the newest among them. (To ask for another would make room for it.)
    int known = 0;
    for (std::int32_t what = 1; what <= 40; ++what) {
        counting_folds<4> copy = c;
        known += copy.knows({.what = what});
    }
    CHECK(known == 4);
}

TEST_CASE("where there is one key beside others of the same slots, none that is known is replaced") {
    counting_folds<64> c;
    for (std::int32_t what = 0; what < 12; ++what) c.knows({.what = what});
    const int made = c.made;
    CHECK(made == 12);
    for (int times = 0; times < 3; ++times)
        for (std::int32_t what = 0; what < 12; ++what) c.knows({.what = what});
    CHECK(c.made <= made * 2);  // some twelve of 64 may share four slots, not most
}

TEST_CASE("keys are as many as their fields' values: none is taken for another") {
    std::vector<fold_key> all = changed_keys();
    all.push_back({});
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < all.size(); ++k) CHECK((all[i].in_words() == all[k].in_words()) == (i == k));
    // Each word counts for the hash: keys that differ in one field begin at many slots.
    std::vector<bool> first(64);
    for (const fold_key& key : all) first[(key.in_words().hash() >> 48) % 64] = true;
    CHECK(std::count(first.begin(), first.end(), true) > 16);
}

TEST_CASE("a layer's activations depend on how its tensors are cut, and on formats of ZeRO 2 and 3, but on no stages") {
    const auto key = [](const layout& l) { return without_shards(l, 1); };
    CHECK(depends(key, [](layout& l) { l.tensor = 2; }));
    CHECK(depends(key, [](layout& l) { l.context_parallel = 2; }));
    CHECK(depends(key, [](layout& l) { l.expert = 2; }));
    CHECK(depends(key, [](layout& l) { l.expert_tensor = 2; }));
    CHECK(depends(key, [](layout& l) { l.sequence_parallel = true; }));
    CHECK(depends(key, [](layout& l) { l.cp_comm_type = cp_communication::a2a; }));
    CHECK(depends(key, [](layout& l) { l.zero = 3; }));
    CHECK(depends(key, [](layout& l) { l.zero = 2; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.zero = 1; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.data = 8; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.pipeline = 2; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.expert_tensor = 1; }));  // as many as tensor ranks
    CHECK_FALSE(without_shards({}, 1).in_words() == without_shards({}, 2).in_words());
}

TEST_CASE("the state of weights depends on ZeRO's stage and shards, of which there are none without it") {
    const auto key = [](const layout& l) { return with_shards(l, 1); };
    for (const std::int32_t zero : {1, 2, 3}) CHECK(depends(key, [&](layout& l) { l.zero = zero; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.data = 8; }));
    CHECK_FALSE(depends(key, [](layout& l) { l.shard_replicas = 2; }));
    const layout sharded{.data = 8, .zero = 1};
    CHECK(depends(key, [](layout& l) { l.data = 16; }, sharded));
    CHECK(depends(key, [](layout& l) { l.shard_replicas = 2; }, sharded));
    CHECK(key(sharded).dense_ranks == 8);
    CHECK(key({.data = 8, .expert = 4, .zero = 1}).expert_ranks == 2);
    CHECK(key({.data = 8, .expert = 4, .zero = 1}).dense_ranks == 8);
    CHECK(key({.data = 8, .expert = 4}).expert_ranks == 1);
}

TEST_CASE("the work of the stages depends on how layers are dealt") {
    CHECK(depends(with_stages, [](layout& l) { l.pipeline = 2; }));
    CHECK(depends(with_stages, [](layout& l) { l.virtual_pipeline = 2; }));
    CHECK(depends(with_stages, [](layout& l) { l.first_stage_layers = 2; }));
    CHECK(depends(with_stages, [](layout& l) { l.last_stage_layers = 2; }));
    CHECK(depends(with_stages, [](layout& l) { l.embedding_as_layer = true; }));
    CHECK(depends(with_stages, [](layout& l) { l.loss_as_layer = true; }));
    CHECK(depends(with_stages, [](layout& l) { l.schedule = pipeline_schedule::zb_v; }));
    CHECK(depends(with_stages, [](layout& l) { l.tensor = 2; }));
    CHECK_FALSE(depends(with_stages, [](layout& l) { l.schedule = pipeline_schedule::one_forward_one_backward; }));
    CHECK_FALSE(depends(with_stages, [](layout& l) { l.data = 8; }));
}

TEST_CASE("a job's layouts fold what they have in common once: what is remembered is not made of the job anew") {
    job asked{.model = {.vocabulary = 1000, .hidden = 256},
              .task = task::pretraining,
              .weights = bf16,
              .sequence = tokens(512)};
    asked.model.layers = {4,
                          {.attention = {.heads = 4, .kv_heads = 4, .head_dim = 64}, .feed_forward = {.width = 1024}}};
    training_folds folds;
    const auto fold = [&](const layout& l) {
        const folded_job f{asked, l, asked.model.layers, sdpa_backend::flash, &folds};
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
