// SPDX-License-Identifier: MIT
// Which field does a plan name that cannot be made?
#include <doctest/doctest.h>

#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>

using namespace llmres;

namespace {

const cluster four_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
const job chat{.model = models::llama_3_1_70b, .batch = 8, .context = tokens(4096)};

error refusal_of(const job& j, const layout& l, const cluster& c) {
    const result<job_plan> p = plan(j, l, c);
    CHECK_FALSE(p.has_value());
    return p.error();
}

}  // namespace

TEST_CASE("a layout that cannot be is refused by the name of its field") {
    CHECK(refusal_of(chat, {.tensor = 3}, four_h100).field == "layout.tensor");
    CHECK(refusal_of(chat, {.tensor = 3}, four_h100).code == error_code::inconsistent);
    CHECK(refusal_of(chat, {.pipeline = 81}, standard_cluster(gpus::h100_sxm5_80gb, 128).value()).field ==
          "layout.pipeline");
    CHECK(refusal_of(chat, {.tensor = 8}, four_h100).field == "layout");
    CHECK(refusal_of(chat, {.tensor = 0}, four_h100).field == "layout.tensor");
    CHECK(refusal_of(chat, {.zero = 4}, four_h100).field == "layout.zero");
    CHECK(refusal_of(chat, {.data = -1}, four_h100).field == "layout.data");
    CHECK(
        refusal_of({.model = models::mixtral_8x7b, .context = tokens(1)}, {.data = 3, .expert = 3}, four_h100).field ==
        "layout.expert");
}

TEST_CASE("a job that cannot be is refused by the name of its field") {
    job j = chat;
    j.batch = 0;
    CHECK(refusal_of(j, {}, four_h100).field == "batch");
    j = chat;
    j.context = tokens(131'073);
    CHECK(refusal_of(j, {}, four_h100).field == "context");
    j = chat;
    j.prompt = tokens(4096);
    j.output = tokens(1);
    CHECK(refusal_of(j, {}, four_h100).field == "context");
    j = {.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(-1)};
    j.micro_batch = 0;
    CHECK(refusal_of(j, {}, four_h100).field == "micro_batch");
    j = chat;
    j.model.hidden = 0;
    CHECK(refusal_of(j, {}, four_h100).field == "hidden");
}

TEST_CASE("a cluster that cannot be is refused by the name of its field") {
    cluster c = four_h100;
    c.gpus = 0;
    CHECK(refusal_of(chat, {}, c).field == "cluster.gpus");
    c = four_h100;
    c.scale_up = {};
    CHECK(refusal_of(chat, {}, c).field == "cluster.scale_up");
    c = {.gpu = {.id = "unknown", .memory = {.fitted = gib(8)}}};
    CHECK(refusal_of(chat, {}, c).field == "cluster.gpu.memory.bandwidth");
}

TEST_CASE("sizes beyond 2^63 bytes are an overflow, never a small number") {
    job j{.model = models::llama_3_1_405b, .context = tokens(131'072)};
    j.batch = std::int64_t{1} << 24;
    j.model.max_context = {};
    j.context = tokens(std::int64_t{1} << 40);
    CHECK(refusal_of(j, {}, four_h100).code == error_code::overflow);
    j = {.model = models::llama_3_1_405b, .task = task::pretraining, .attention = attention_kernel::eager};
    j.sequence = tokens(std::int64_t{1} << 32);  // 126 layers of 128 heads, and 2^64 scores a head
    j.model.max_context = {};
    CHECK(refusal_of(j, {}, four_h100).field == "memory");
}
