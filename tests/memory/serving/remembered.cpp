// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/remembered.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

#include "ggml_job.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

using graph_memo = memo<graph_fold, step_peak, 16>;

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
    byte_count peak(graph_memo& graphs) const {
        return with([&](const stage_graph& g) {
            return graphs.get(graph_fold{g}, [&] { return g.peak(g.key()); }).all().expected;
        });
    }
    graph_fold fold() const {
        return with([](const stage_graph& g) { return graph_fold{g}; });
    }
    detail::serving_step step() const { return {asked, asked.runtime, how}; }
};

/// A change that no key tells: a graph of such a job is another, but is taken for the remembered one.
void widen(laid_out_job& j) { j.asked.model.vocabulary = 8192; }

}  // namespace

TEST_CASE("a graph is laid out once, and anew where its tokens, its layout or its layers are others") {
    graph_memo graphs{folds_are::kept};
    laid_out_job j;
    const byte_count first = j.peak(graphs);
    CHECK(first == j.peak());
    widen(j);
    CHECK(j.peak() != first);
    CHECK(j.peak(graphs) == first);
    const auto anew = [&](const std::function<void(laid_out_job&)>& change) {
        laid_out_job other = j;
        change(other);
        CHECK(other.peak(graphs) == other.peak());
        CHECK(j.peak(graphs) == first);  // and the other one is still known
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

TEST_CASE("a graph's key has the step's tokens and sequences, and the part of the layout that cuts tensors") {
    laid_out_job j;
    const graph_fold one = j.fold();
    CHECK(one.shape == j.step().shape);
    CHECK(one.sequences == 1);
    CHECK(one.tensor == 1);
    CHECK_FALSE(one.pipelined);
    j.how = {.tensor = 2, .pipeline = 2, .context_parallel = 4};
    const graph_fold cut = j.fold();
    CHECK(cut.tensor == 2);
    CHECK(cut.context_parallel == 4);
    CHECK(cut.pipelined);
    CHECK(cut.mix() != one.mix());
    j.how.data = 2;
    j.asked.batch = 6;
    CHECK(j.fold().sequences == 3);  // of each data rank
}

TEST_CASE("the weights beside the layers are known by what lies there: each of 36 placements is another") {
    const auto number = [](int of) {
        return number_of_end({.embeddings = of % 3,
                              .beside_embedding = of / 3 % 2 > 0,
                              .output = of / 6 % 2 > 0,
                              .predictions = of / 12});
    };
    for (int a = 0; a < 36; ++a)
        for (int b = 0; b < 36; ++b) CHECK((number(a) == number(b)) == (a == b));
}

TEST_CASE("steps are alike with the same tokens and, where graphs are laid out, sequences") {
    laid_out_job j;
    const auto tokens_of = [&] { return step_tokens{j.step()}; };
    const step_tokens first = tokens_of();
    j.how.tensor = 2;
    CHECK(tokens_of() == first);
    j.asked.batch = 3;
    const step_tokens three = tokens_of();
    CHECK_FALSE(three == first);
    CHECK(three.mix() != first.mix());
    set_batched_tokens(j.asked.runtime.step, tokens(128));
    CHECK_FALSE(tokens_of() == three);
    CHECK_FALSE(tokens_of() == first);

    job profiled = j.asked;  // of which the batch changes nothing
    profiled.runtime = {};
    profiled.runtime.step = {.max_batched_tokens = tokens(2048), .profiles = true};
    profiled.runtime.step.logits.rows = scored_tokens::profiled;
    profiled.runtime.step.max_num_seqs = 256;
    const auto of_batch = [&](std::int64_t batch) {
        profiled.batch = batch;
        return step_tokens{detail::serving_step{profiled, profiled.runtime, j.how}};
    };
    const step_tokens few = of_batch(1);
    CHECK(of_batch(256) == few);
    CHECK_FALSE(of_batch(257) == few);  // as many rows of logits
    profiled.runtime.serving_kernels.graph.laid_out = true;
    CHECK_FALSE(of_batch(1) == few);
    CHECK_FALSE(of_batch(2) == of_batch(1));
}

TEST_CASE("what is remembered of a served job is forgotten whole") {
    serving_folds folds{folds_are::kept};
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
    folds.device = slot{runtime{}};
    folds.has_device = true;
    laid_out_job j;
    const byte_count first = j.peak(folds.graphs);
    widen(j);
    CHECK(j.peak(folds.graphs) == first);
    folds.clear();
    CHECK_FALSE(folds.has_device);
    CHECK(j.peak(folds.graphs) == j.peak());
    fold();
    CHECK(made == 12);
}
