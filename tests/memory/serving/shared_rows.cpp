// SPDX-License-Identifier: MIT
// GPUs that share the rows of each matrix: llama.cpp's --split-mode row (docs of its server; pull request 10026 says
// what the first GPU held before it, and what each has since).
#include <llmres/memory/serving/shared_rows.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/memory/serving.hpp>

#include "ggml_job.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t hidden = 64, words = 4096, q = 64, k = 32, inner = 128;
constexpr layout three{.pipeline = 3};

job split_job(row_split rows) {
    job j = ggml_jobs::laid_out(hidden, words, 64);
    j.model.layers = {6, {.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = inner}}};
    j.runtime.layouts.rows = rows;
    j.options.splits_rows = true;
    return j;
}
serving_stage stage_of(const job& j, const layout& l, std::int32_t gpu) {
    serving_folds folds;
    return row_sharing_gpus{j, l, j.runtime, folds}.stage(gpu);
}
serving_stage alone(const job& j) {
    serving_folds folds;
    const layout one{};
    return serving_stages{j, one, j.runtime, folds}.fold_layers().stage(placement_of(j, one, 0));
}

// Six layers of queries and o_proj, keys and values, three matrices; embedding and head, in 16 bits; 13 norms.
constexpr std::int64_t matrices = 6 * (2 * q * hidden + 2 * k * hidden + 3 * inner * hidden) + 2 * words * hidden;
constexpr std::int64_t norms = 13 * hidden;

}  // namespace

TEST_CASE("rows are shared by the GPUs of several that are asked for it, and by none else") {
    job j = split_job(row_split::beside_layers);
    CHECK(shares_rows(j, three));
    CHECK_FALSE(shares_rows(j, {}));
    j.options.splits_rows = false;
    CHECK_FALSE(shares_rows(j, three));
    j.runtime.layouts.rows = row_split::always_beside_first;
    CHECK(shares_rows(j, three));
}

TEST_CASE("where the first GPU holds the rest, the others have their part of matrices alone") {
    const job j = split_job(row_split::beside_first);
    const serving_stage whole = alone(j);
    const byte_count vectors = bytes(4) * norms;
    const serving_stage first = stage_of(j, three, 0);
    const byte_count part = div_up(whole.weights - vectors, 3);
    CHECK(part >= div_up(bytes(2) * matrices, 3) - vectors);
    CHECK(part <= div_up(bytes(2) * matrices, 3));
    CHECK(first.weights == part + vectors);
    CHECK(first.cache.allocated == whole.cache.allocated);
    CHECK(first.peak.all() == whole.peak.all());
    CHECK(first.last == whole.last);
    CHECK(first.index == 0);
    for (const std::int32_t gpu : {1, 2}) {
        const serving_stage other = stage_of(j, three, gpu);
        CHECK(other.weights == part);
        CHECK(other.cache.allocated == byte_count{});
        CHECK(other.peak.all().expected == byte_count{});
        CHECK_FALSE(other.last);
        CHECK(other.index == gpu);
        CHECK(other.held() == part);
    }
    // The busiest is the first, whichever it is asked of.
    CHECK(serving_memory(j, three).stage == 0);
    serving_folds folds;
    const row_sharing_gpus gpus{j, three, j.runtime, folds};
    CHECK(gpus.busiest().expected() == gpus.memory(0).expected());
    CHECK(gpus.of(0).layers.size() == 6);
    CHECK(gpus.of(0).stage == 0);
    CHECK(gpus.of(2).layers.size() == 0);
    CHECK(gpus.of(2).stage == 2);
    CHECK(gpus.stages().layout.pipeline == 1);
    CHECK(gpus.phases(0).load >= first.weights);
    CHECK(gpus.phases(1).load == part);
}

TEST_CASE("else each GPU has caches and a step's buffer of its own layers beside its part of matrices") {
    const job j = split_job(row_split::beside_layers);
    const serving_stage whole = alone(j);
    byte_count cached;
    for (std::int32_t gpu = 0; gpu < 3; ++gpu) {
        const serving_stage one = stage_of(j, three, gpu);
        CHECK(one.weights == div_up(whole.weights, 3));
        CHECK(one.peak.all().expected > byte_count{});
        CHECK(one.index == gpu);
        CHECK(one.last == (gpu == 2));
        cached += one.cache.allocated;
    }
    CHECK(cached == whole.cache.allocated);
    serving_folds folds;
    const row_sharing_gpus gpus{j, three, j.runtime, folds};
    CHECK(gpus.stages().layout.pipeline == 3);
    CHECK(gpus.of(1).layers.size() == 2);
    const memory_breakdown busiest = gpus.busiest();
    for (std::int32_t gpu = 0; gpu < 3; ++gpu) CHECK(gpus.memory(gpu).expected() <= busiest.expected());
    CHECK(gpus.memory(busiest.stage).expected() == busiest.expected());
}

TEST_CASE("routed experts lie whole with their layers, and are no part of what is shared") {
    job j = split_job(row_split::beside_layers);
    const layer plain = j.model.layers.kinds[0];
    layer routed = plain;
    routed.feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 96}};
    // Two plain layers on the first GPU, and experts on the other two, in one kind that comes second.
    j.model.layers = layer_stack{}.then(3, plain).then(3, routed);
    const std::int64_t of_layer = 8 * 3 * 96 * hidden;
    const serving_stage whole = alone(j);
    const byte_count shared = div_up(whole.weights - bytes(2) * (3 * of_layer), 3);
    CHECK(stage_of(j, three, 0).weights == shared);
    CHECK(stage_of(j, three, 1).weights == shared + bytes(2) * of_layer);
    CHECK(stage_of(j, three, 2).weights == shared + bytes(2) * (2 * of_layer));
    CHECK(serving_memory(j, three).stage == 2);
    // The first GPU that holds the rest shares experts as other matrices.
    j.runtime.layouts.rows = row_split::beside_first;
    CHECK(stage_of(j, three, 1).weights == stage_of(j, three, 2).weights);
}

TEST_CASE("a layout that says which layers each stage has is one GPU's for the whole, and inputs are there once") {
    job j = split_job(row_split::beside_first);
    layout listed = three;
    listed.stages = read_stages("1|2|3").value();
    CHECK(stage_of(j, listed, 0).weights == stage_of(j, three, 0).weights);
    CHECK(stage_of(j, listed, 0).cache.allocated == stage_of(j, three, 0).cache.allocated);
    const serving_stage once = stage_of(j, three, 0);
    j.runtime.step.copies = 4;
    CHECK(stage_of(j, three, 0).peak.all() == once.peak.all());
    // A list moves layers, and their caches, where each GPU has its own.
    j.runtime.layouts.rows = row_split::beside_layers;
    const byte_count layer = div_up(alone(j).cache.allocated, 6);
    CHECK(stage_of(j, listed, 0).cache.allocated == layer);
    CHECK(stage_of(j, listed, 2).cache.allocated == layer * 3);
}
