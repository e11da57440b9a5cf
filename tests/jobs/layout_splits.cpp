// SPDX-License-Identifier: MIT
// What a degree splits evenly, and what a runtime does not run.
#include <llmres/jobs/layouts.hpp>

#include <doctest/doctest.h>

#include <llmres/jobs/checks.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <string>
#include <utility>

#include "walked_jobs.hpp"

using namespace llmres;
using namespace walked_jobs;

TEST_CASE("what keeps a tensor degree from splitting a model evenly is named with its size, one of it being enough") {
    layout_rules rules;
    const auto part = [&](const model& m, std::int32_t tensor) {
        const detail::uneven_part found = detail::uneven_under(m, rules, tensor);
        return std::string{found.what} + " " + std::to_string(found.size);
    };
    model m = models::llama_3_1_8b;
    CHECK(part(m, 8) == " 0");
    m.vocabulary = 1001;
    CHECK(part(m, 8) == " 0");  // it is padded to a multiple of the ranks
    rules.split.vocabulary_multiple = 1;
    CHECK(part(m, 8) == "rows of the padded vocabulary 1001");
    rules.split.vocabulary_multiple = 64;
    CHECK(part(m, 8) == " 0");
    CHECK(part(m, 1) == " 0");
    rules.split.vocabulary_multiple = 0;
    for (layer& kind : m.layers.kinds) kind.attention.kv_heads = 1;
    CHECK(part(m, 8) == " 0");  // copied
    rules.split.copies_kv_heads = false;
    CHECK(part(m, 8) == "key-value heads 1");
    for (layer& kind : m.layers.kinds) kind.attention.kv_heads = 0;
    CHECK(part(m, 8) == " 0");
    rules.split.copies_kv_heads = true;
    CHECK(part(m, 8) == " 0");
    for (layer& kind : m.layers.kinds) kind.attention = {.kind = attention_kind::none, .heads = 7, .kv_heads = 7};
    CHECK(part(m, 8) == " 0");  // no heads are there
    model moe = models::deepseek_v2_lite;
    for (layer& kind : moe.layers.kinds) kind.feed_forward.experts.shared_width = 2818;
    CHECK(part(moe, 4) == "shared experts' features 2818");
    rules.split.pads_width = true;
    CHECK(part(moe, 4) == " 0");
}

TEST_CASE("a runtime for powers of two takes no other tensor ranks") {
    layout_rules rules;
    rules.split.pads_width = rules.split.power_of_two = true;
    model m = models::llama_3_1_8b;
    for (layer& kind : m.layers.kinds) kind.attention.heads = kind.attention.kv_heads = 24;
    for (const auto& [tensor, splits] : {std::pair{1, true}, {2, true}, {3, false}, {4, true}, {6, false}, {8, true}})
        CHECK(detail::splits_evenly(m, rules, tensor) == splits);
    rules.split.power_of_two = false;
    for (const std::int32_t tensor : {1, 2, 3, 4, 6, 8}) CHECK(detail::splits_evenly(m, rules, tensor));
    rules.tensor = false;
    CHECK(detail::splits_evenly(m, rules, 1));
    CHECK_FALSE(detail::splits_evenly(m, rules, 2));
}

TEST_CASE("a model of one expert is shared by one rank, and one of none likewise") {
    model m = models::mixtral_8x7b;
    for (layer& kind : m.layers.kinds) kind.feed_forward.experts.count = 1;
    CHECK(detail::splits_experts(m, 1, 1));
    CHECK_FALSE(detail::splits_experts(m, 2, 1));
    CHECK(detail::splits_experts(models::llama_3_1_8b, 1, 8));
    CHECK_FALSE(detail::splits_experts(models::llama_3_1_8b, 2, 1));
    CHECK_FALSE(detail::splits_experts(models::mixtral_8x7b, 1, 9));
}

TEST_CASE("stages that a caller describes stay as they are, and those of a naive pipeline, too") {
    job j = training(cut(models::llama_3_1_8b, 6), 24);
    layout given{.pipeline = 4, .last_stage_layers = 3};
    const layout before = given;
    CHECK(detail::split_stages(j, given));
    CHECK(given == before);
    layout five{.pipeline = 5};  // neither divides 6 nor 8
    CHECK_FALSE(detail::split_stages(j, five));
    j.runtime.pipeline.naive = true;
    five = {.pipeline = 5};
    CHECK(detail::split_stages(j, five));
    CHECK(five == layout{.pipeline = 5});
    layout one{.virtual_pipeline = 2};
    CHECK_FALSE(detail::split_stages(j, one));
    j.runtime.pipeline.naive = false;
    layout eight{.pipeline = 8};  // of which the embedding and the loss would be two
    CHECK_FALSE(detail::split_stages(j, eight));
}

TEST_CASE("the first degree that a runtime does not have is named before one that it may have") {
    job j = training(models::mixtral_8x7b, 64);
    j.runtime.layouts = {};
    j.runtime.layouts.tensor = j.runtime.layouts.pipeline = j.runtime.layouts.expert = false;
    j.runtime.layouts.untried = {.tensor = true, .pipeline = true};
    const layout all{.tensor = 2, .pipeline = 3, .data = 4, .expert = 4};
    CHECK(unrun_degree_of(j, all).name == "expert");
    CHECK(unrun_degree_of(j, all).degree == 4);
    CHECK_FALSE(unrun_degree_of(j, all).untried);
    const layout may{.tensor = 2, .pipeline = 3};
    CHECK(unrun_degree_of(j, may).name == "tensor");
    CHECK(unrun_degree_of(j, may).degree == 2);
    CHECK(unrun_degree_of(j, may).untried);
    unrun_degree none = unrun_degree_of(j, {});
    CHECK(none.name.empty());
    CHECK(none.degree == 1);
    CHECK_FALSE(none.untried);
    CHECK(unrun_degree{}.degree == 1);
    CHECK(cut_blocks{}.size + cut_blocks{}.block == 0);
}
