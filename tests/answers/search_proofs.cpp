// SPDX-License-Identifier: MIT
// A search against a plain loop that plans each layout alone. The suite proves small spaces; LLMRES_WHOLE_SPACES=1
// build/gcc/tests/tests_of_answers --source-file=*search_proofs.cpp proves three large ones, which takes minutes, and
// prints what they hold.
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <utility>
#include <vector>

#include "../sanitized.hpp"
#include "plain_space.hpp"

using namespace llmres;
using plain_space::planned;

namespace {

/// A grid as estimators of layouts describe it: tensor ranks to 32 that divide heads and GPUs, with and without
/// sequence parallelism; stages and chunks that divide the layers; all GPUs; micro-batches to 64 that divide a rank's
/// samples; three recomputations; ZeRO 0 to 2; optimizer and activations on the GPU or the host.
struct grid_counts {
    std::int64_t all = 0, other_nodes = 0, no_sequence = 0, ragged = 0, zero_with_stages = 0, searched = 0;
};

/// What a plain loop finds.
struct plain_answer {
    grid_counts grid{};                                ///< layouts of the grid, by why a search tries them not
    std::int64_t on_all = 0, on_any = 0, refused = 0;  ///< layouts of the search: on all GPUs, on any number
    std::vector<planned> fitting{};                    ///< of these, on any number of GPUs
    planned best_outside{};                            ///< the fastest of the grid that is not searched
};

class plain_loop {
public:
    plain_loop(const job& j, const cluster& c) : given_{j}, tried_{j}, c_{c} {}

    plain_answer run() {
        const std::int32_t layers = given_.model.layers.size;
        for (std::int32_t places = 0; places < 4; ++places)
            for (const recompute r : {recompute::none, recompute::selective, recompute::full})
                for (std::int64_t m = 1; m <= 64; ++m) {
                    tried_.offload.optimizer = places % 2 == 1 ? offload_place::host : offload_place::none;
                    tried_.offload.activations = places > 1 ? offload_place::host : offload_place::none;
                    tried_.recompute = r;
                    tried_.micro_batch = m;
                    if (given_.global_batch % m != 0) continue;
                    for (std::int32_t t = 1; t <= 32; ++t)
                        for (std::int32_t p = 1; p <= layers && t * p <= c_.gpus; ++p)
                            for (std::int32_t v = 1; v <= layers / p; ++v)
                                data_ranks({.tensor = t, .pipeline = p, .virtual_pipeline = v});
                }
        return std::move(found_);
    }

private:
    void data_ranks(layout l) {
        const std::int32_t layers = given_.model.layers.size;
        if (l.pipeline == 1 && l.virtual_pipeline > 1) return;
        if (layers % l.chunks() != 0) {
            if ((layers + 2) % l.chunks() == 0)
                l.embedding_as_layer = l.loss_as_layer = true;
            else if (l.virtual_pipeline > 1)
                return;
            else
                l.last_stage_layers = layers - (layers + l.pipeline - 1) / l.pipeline * (l.pipeline - 1);
        }
        for (l.data = 1; l.gpus() <= c_.gpus; ++l.data)
            if (given_.global_batch % (l.data * tried_.micro_batch) == 0) experts(l);
    }
    void experts(layout l) {
        const auto most = static_cast<std::int32_t>(detail::most_experts(given_.model));
        shards(l);
        for (l.expert = 2; l.expert <= most; ++l.expert)
            for (const std::int32_t split : {1, l.tensor}) {
                l.expert_tensor = split;
                shards(l);
                if (l.tensor == 1) break;
            }
    }
    void shards(layout l) {
        for (l.zero = 0; l.zero <= 3; ++l.zero)
            for (const bool sequence : {false, true}) {
                if (sequence && l.tensor == 1) continue;
                l.sequence_parallel = sequence;
                meet(l);
            }
    }
    /// Whether the grid has a layout.
    bool in_grid(const layout& l) const {
        return l.gpus() == c_.gpus && given_.model.layers.kinds[0].attention.heads % l.tensor == 0 &&
               given_.model.layers.size % l.chunks() == 0 && l.zero <= (l.data > 1 ? 2 : 0) && l.expert == 1;
    }
    void meet(const layout& l) {
        const bool searched = plain_space::is_searched(tried_, l, c_);
        const bool grid = in_grid(l);
        if (grid) count(l, searched);
        if (!searched && !grid) return;
        const result<job_plan> p = plan(tried_, l, c_);
        if (searched) ++(l.gpus() == c_.gpus ? found_.on_all : found_.on_any);
        if (!p) {
            if (searched) ++found_.refused;
            return;
        }
        if (p->verdict != verdict::fits) return;
        const planned made = plain_space::of(tried_, *p);
        if (searched)
            found_.fitting.push_back(made);
        else if (found_.best_outside.score == 0 || plain_space::before(made, found_.best_outside))
            found_.best_outside = made;
    }
    void count(const layout& l, bool searched) {
        grid_counts& g = found_.grid;
        ++g.all;
        if (searched)
            ++g.searched;
        else if (c_.node_size() % l.tensor != 0)
            ++g.other_nodes;
        else if (!l.sequence_parallel && l.tensor > 1)
            ++g.no_sequence;
        else if (l.zero > 1 && l.pipeline > 1)
            ++g.zero_with_stages;
        else
            ++g.ragged;
    }

    const job& given_;
    job tried_;
    const cluster& c_;
    plain_answer found_{};
};

struct answer {
    std::vector<found_layout> best{}, front{};
    search_counts counts{};
};

answer searched(const job& j, const cluster& c, std::int32_t least_gpus, bool skip) {
    search_request r{.space = {.micro_batch = true, .recompute = true, .offload = true}, .skip_slower = skip};
    r.space.layouts.least_gpus = least_gpus;
    r.space.layouts.context_parallel = false;
    answer a{.best = std::vector<found_layout>(10), .front = std::vector<found_layout>(128)};
    const auto go_on = [](const search_counts&) { return true; };
    a.counts = search(j, c, r, a.best, a.front, objective::fewest_gpus, go_on).value();
    a.best.resize(a.counts.best);
    a.front.resize(a.counts.front);
    return a;
}

void check_same(const std::vector<planned>& plain, const std::vector<found_layout>& found) {
    REQUIRE(plain.size() >= found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(plain_space::same(plain[i], found[i]));
    }
}

/// Proves the best ten and the front of a space, on all GPUs and on any number of them, with and without skipping.
plain_answer prove(const job& j, const cluster& c) {
    plain_answer plain = plain_loop{j, c}.run();
    std::vector<planned> on_all;
    for (const planned& p : plain.fitting)
        if (p.layout.gpus() == c.gpus) on_all.push_back(p);
    std::sort(on_all.begin(), on_all.end(), plain_space::before);
    std::sort(plain.fitting.begin(), plain.fitting.end(), plain_space::before);
    const std::vector<planned> front = plain_space::front_of(plain.fitting);
    for (const bool skip : {false, true}) {
        CAPTURE(skip);
        const answer all = searched(j, c, c.gpus, skip);
        CHECK(all.counts.tried == plain.on_all);
        CHECK(all.counts.best == std::min<std::size_t>(10, on_all.size()));
        check_same(on_all, all.best);
        const answer any = searched(j, c, 1, skip);
        CHECK(any.counts.tried == plain.on_all + plain.on_any);
        CHECK(any.counts.refused == plain.refused);
        CHECK(any.counts.best == std::min<std::size_t>(10, plain.fitting.size()));
        check_same(plain.fitting, any.best);
        CHECK(any.front.size() == front.size());
        check_same(front, any.front);
        if (skip) continue;
        CHECK(all.counts.kept == static_cast<std::int64_t>(on_all.size()));
        CHECK(any.counts.kept == static_cast<std::int64_t>(plain.fitting.size()));
    }
    return plain;
}

job pretraining(const model& m, std::int64_t global_batch) {
    return {.model = m,
            .task = task::pretraining,
            .sequence = tokens(2048),
            .global_batch = global_batch,
            .runtime = runtimes::megatron};
}
cluster a100(std::int32_t gpus) {
    cluster made = standard_cluster(gpus::a100_sxm4_80gb, gpus).value();
    made.host = {.memory = tib(2), .bandwidth = gb_per_s(300), .cores = 128, .link = made.host.link};
    return made;
}
model cut(model m, std::int32_t layers) {
    m.layers = m.layers.first(layers);
    return m;
}

void print(const char* name, const plain_answer& a) {
    const auto n = [](std::int64_t count) { return static_cast<long long>(count); };
    const grid_counts& g = a.grid;
    std::printf("%s\n  searched on all GPUs %lld, on any number %lld; %zu fit, %zu on the front\n", name, n(a.on_all),
                n(a.on_all + a.on_any), a.fitting.size(), plain_space::front_of(a.fitting).size());
    std::printf(
        "  the grid has %lld: %lld searched; not: %lld with tensor ranks across nodes, %lld without sequence "
        "parallelism, %lld ZeRO 2 with stages, %lld interleaved with a remainder of micro-batches\n",
        n(g.all), n(g.searched), n(g.other_nodes), n(g.no_sequence), n(g.zero_with_stages), n(g.ragged));
    if (!a.fitting.empty()) std::printf("  the best takes %.3f s a step", a.fitting[0].step);
    if (const planned& o = a.best_outside; o.score > 0)
        std::printf(
            "; of the grid and not searched, %.3f s (tensor %d%s, pipeline %d, interleave %d, data %d, ZeRO %d, "
            "micro-batch %lld)",
            o.step, o.layout.tensor, o.layout.sequence_parallel ? " with sequence" : "", o.layout.pipeline,
            o.layout.virtual_pipeline, o.layout.data, o.layout.zero, n(o.choice.micro_batch));
    std::printf("\n");
}

bool whole_spaces() { return std::getenv("LLMRES_WHOLE_SPACES") != nullptr; }

void prove_large_spaces() {
    const plain_answer big = prove(pretraining(models::gpt3_175b, 1024), a100(1024));
    print("GPT-3 175B on 1,024 A100 at a global batch of 1,024", big);
    CHECK(big.grid.all == 67'764);
    const plain_answer small = prove(pretraining(models::gpt3_175b, 48), a100(48));
    print("GPT-3 175B on 48 A100 at a global batch of 48", small);
    CHECK(small.grid.all == 75'396);
    const plain_answer routed = prove(pretraining(models::mixtral_8x7b, 512), a100(128));
    print("Mixtral 8x7B on 128 A100 at a global batch of 512", routed);
}

}  // namespace

TEST_CASE("the best ten and the front of a space are those of a plain loop, ties included") {
    if (whole_spaces()) return prove_large_spaces();
    const plain_answer dense = prove(pretraining(cut(models::gpt3_175b, sanitized ? 4 : 8), 8), a100(8));
    CHECK(dense.fitting.size() > 100);
    const plain_answer routed = prove(pretraining(cut(models::mixtral_8x7b, 4), 8), a100(8));
    CHECK(routed.fitting.size() > 100);
}
