// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/remembered.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

#include "ggml_job.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

/// llama.cpp with a dense model, steps of 64 tokens against caches of 1,024 cells.
struct laid_out_job {
    job asked = ggml_jobs::laid_out(64, 4096, 64);
    layout how{};
    bool end = true;

    laid_out_job() {
        asked.model.layers = {
            4, {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 128}}};
    }

    template <class Read>
    auto with(Read&& read) const {
        const detail::serving_step step{asked, asked.runtime, how};
        const serving_weights weights{asked, how, asked.runtime, nullptr};
        const stage_range all{0, asked.model.layers.size};
        return read(stage_graph{asked, how, asked.runtime, step, weights, all, 0, end, end});
    }
    byte_count peak() const {
        return with([](const stage_graph& g) { return g.peak(g.key()).all().expected; });
    }
    byte_count peak(remembered_graphs& graphs) const {
        return with([&](const stage_graph& g) { return graphs.peak_of(g).all().expected; });
    }
    detail::serving_step step() const { return {asked, asked.runtime, how}; }
};

/// A change that no key tells: a graph of such a job is another, but is taken for the remembered one.
void widen(laid_out_job& j) { j.asked.model.vocabulary = 8192; }

}  // namespace

TEST_CASE("a graph is laid out once, and anew where its tokens, its layout or its layers are others") {
    remembered_graphs graphs;
    laid_out_job j;
    const byte_count first = j.peak(graphs);
    CHECK(first == j.peak());
    widen(j);
    CHECK(j.peak() != first);
    CHECK(j.peak(graphs) == first);
    const auto anew = [&](const std::function<void(laid_out_job&)>& change) {
        laid_out_job other = j;
        change(other);
        remembered_graphs copy = graphs;
        CHECK(other.peak(copy) == other.peak());
        CHECK(j.peak(copy) == first);  // and the other one is still known
    };
    anew([](laid_out_job& o) { set_batched_tokens(o.asked.runtime.step, tokens(128)); });
    anew([](laid_out_job& o) { o.how.tensor = 2; });
    anew([](laid_out_job& o) { o.how.context_parallel = 2; });
    anew([](laid_out_job& o) { o.how.pipeline = 2; });
    anew([](laid_out_job& o) { o.asked.batch = 3; });
    anew([](laid_out_job& o) { o.end = false; });
    anew([](laid_out_job& o) { o.asked.model.layers = o.asked.model.layers.first(1); });
    graphs.clear();
    CHECK(j.peak(graphs) == j.peak());
}

TEST_CASE("the last twelve graphs are known") {
    remembered_graphs graphs;
    const auto of = [](std::int64_t tokens_of_step) {
        laid_out_job j;
        set_batched_tokens(j.asked.runtime.step, tokens(tokens_of_step));
        return j;
    };
    const auto knows = [&](std::int64_t tokens_of_step) {
        laid_out_job other = of(tokens_of_step);
        widen(other);
        remembered_graphs copy = graphs;
        return other.peak(copy) == of(tokens_of_step).peak();
    };
    for (std::int64_t i = 1; i <= 12; ++i) of(16 * i).peak(graphs);
    for (std::int64_t i = 1; i <= 12; ++i) CHECK(knows(16 * i));
    for (std::int64_t more = 1; more <= 14; ++more) {  // each takes the place of the oldest
        of(16 * (12 + more)).peak(graphs);
        for (std::int64_t i = 1; i <= 12 + more; ++i) CHECK(knows(16 * i) == (i > more));
    }
}

TEST_CASE("a graph's conditions are the step's tokens and sequences, and the part of the layout that cuts tensors") {
    laid_out_job j;
    const graph_conditions one = conditions_of(j.step());
    CHECK(one.shape == j.step().shape);
    CHECK(one.sequences == 1);
    CHECK(one.tensor == 1);
    CHECK_FALSE(one.pipelined);
    j.how = {.tensor = 2, .pipeline = 2, .context_parallel = 4};
    const graph_conditions cut = conditions_of(j.step());
    CHECK(cut.tensor == 2);
    CHECK(cut.context_parallel == 4);
    CHECK(cut.pipelined);
    j.how.data = 2;
    j.asked.batch = 6;
    CHECK(conditions_of(j.step()).sequences == 3);  // of each data rank
}

TEST_CASE("a layer of a served job is known by its kind, its layout, and the tokens of a step") {
    laid_out_job j;
    const auto words = [&](std::int32_t kind, std::int64_t sequences = 1) {
        return key_of_layer(j.step(), sequences, kind).in_words();
    };
    const auto first = words(0);
    CHECK(first == words(0));
    CHECK_FALSE(first == words(1));
    CHECK_FALSE(first == words(0, 2));
    CHECK(key_of_layer(j.step(), 5, 3).dense_ranks == 5);
    detail::serving_step step = j.step();
    CHECK(key_of_layer(step, 1, 3).expert_ranks == step.shape.length);
    // One sequence's chunk and a token of each of many are folded for each kind.
    step.shape.sequences = 1;
    const std::int32_t alone = key_of_layer(step, 1, 3).what, next = key_of_layer(step, 1, 4).what;
    step.shape.sequences = 2;
    const std::int32_t many = key_of_layer(step, 1, 3).what;
    CHECK(many != alone);
    CHECK(many != next);
    j.how.tensor = 2;
    CHECK_FALSE(first == words(0));
}

TEST_CASE("the weights beside the layers are known by what lies there: each of 36 placements is another") {
    const layout one{};
    const auto key = [&](int number) {
        return key_of_ends(one, {.embeddings = number % 3,
                                 .beside_embedding = number / 3 % 2 > 0,
                                 .output = number / 6 % 2 > 0,
                                 .predictions = number / 12})
            .in_words();
    };
    for (int a = 0; a < 36; ++a)
        for (int b = 0; b < 36; ++b) CHECK((key(a) == key(b)) == (a == b));
    CHECK_FALSE(key_of_ends({.tensor = 2}, {}).in_words() == key_of_ends(one, {}).in_words());
}

TEST_CASE("caches of layers are known by the ranks that share a sequence, by stages, and by the sequences of a rank") {
    const auto words = [](const layout& l, std::int64_t sequences) { return key_of_caches(l, sequences).in_words(); };
    const auto first = words({}, 1);
    CHECK(first == words({.data = 2, .expert = 2}, 1));
    CHECK_FALSE(first == words({}, 2));
    CHECK_FALSE(first == words({.pipeline = 2}, 1));  // each stage has a step's tokens in flight
    CHECK_FALSE(first == words({.tensor = 2}, 1));
    CHECK_FALSE(first == words({.context_parallel = 2}, 1));
}

TEST_CASE("stages are known by all of the layout that deals layers and cuts weights, by their step, and which it is") {
    const auto words = [](const layout& l, std::int64_t step = 1) { return key_of_stages(l, step).in_words(); };
    const auto first = words({});
    CHECK(first == words({.data = 2}));
    CHECK_FALSE(first == words({}, 2));
    for (const layout& other : {layout{.tensor = 2}, layout{.pipeline = 2}, layout{.context_parallel = 2},
                                layout{.expert = 2}, layout{.first_stage_layers = 1}, layout{.last_stage_layers = 1}})
        CHECK_FALSE(first == words(other));
    CHECK(first.of(0) == first);
    CHECK_FALSE(first.of(1) == first);
    CHECK_FALSE(first.of(1) == first.of(2));
    CHECK(words({.tensor = 2}).of(1).of(0) == words({.tensor = 2}));
    CHECK(first.of(3) == [] {
        fold_key third = key_of_stages({}, 1);
        third.what = 3;
        return third.in_words();
    }());
}

TEST_CASE(
    "a step has the number of the one before it if it has the same tokens and, where graphs are laid out, sequences") {
    laid_out_job j;
    numbered_steps numbers;
    const auto number = [&] { return numbers.number_of(j.step()); };
    const std::int64_t first = number();
    CHECK(number() == first);
    j.how.tensor = 2;
    CHECK(number() == first);
    j.asked.batch = 3;
    const std::int64_t three = number();
    CHECK(three != first);
    CHECK(number() == three);
    set_batched_tokens(j.asked.runtime.step, tokens(128));
    const std::int64_t longer = number();
    CHECK(longer != three);
    CHECK(longer != first);

    job profiled = j.asked;  // of which the batch changes nothing
    profiled.runtime = {};
    profiled.runtime.step = {.max_batched_tokens = tokens(2048), .profiles = true};
    profiled.runtime.step.logits.rows = scored_tokens::profiled;
    profiled.runtime.step.max_num_seqs = 256;
    const auto of_batch = [&](std::int64_t batch) {
        profiled.batch = batch;
        return numbers.number_of({profiled, profiled.runtime, j.how});
    };
    const std::int64_t few = of_batch(1);
    CHECK(of_batch(256) == few);
    CHECK(of_batch(257) != few);  // as many rows of logits
    const std::int64_t again = of_batch(1);
    profiled.runtime.serving_kernels.graph.laid_out = true;
    CHECK(of_batch(1) != again);
    const std::int64_t alone = of_batch(1);
    CHECK(of_batch(2) != alone);
}

TEST_CASE("what is remembered of a served job is forgotten whole") {
    serving_folds folds;
    int made = 0;
    const auto fold = [&] {
        folds.kinds.get({}, [&] { return ++made, weights_of_kind{}; });
        folds.layers.get({}, [&] { return ++made, serving_layer{}; });
        folds.ends.get({}, [&] { return ++made, byte_count{}; });
        folds.first_weights.get({}, [&] { return ++made, byte_count{}; });
        folds.caches.get({}, [&] { return ++made, by_kind<sequence_caches>{}; });
        folds.stages.get({}, [&] { return ++made, stage_without_caches{}; });
    };
    fold();
    CHECK(made == 6);
    fold();
    CHECK(made == 6);
    folds.device = runtime{};
    laid_out_job j;
    const byte_count first = j.peak(folds.graphs);
    widen(j);
    CHECK(j.peak(folds.graphs) == first);
    folds.clear();
    CHECK_FALSE(folds.device.known);
    CHECK(j.peak(folds.graphs) == j.peak());
    fold();
    CHECK(made == 12);
}
