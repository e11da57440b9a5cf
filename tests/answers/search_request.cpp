// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <cstdint>
#include <llmres/answers/search_request.hpp>
#include <llmres/models/llama.hpp>
#include <set>
#include <tuple>
#include <vector>

using namespace llmres;

TEST_CASE("a job takes what a search chose, and keeps the rest") {
    const job asked{.batch = 2, .context = tokens(4096)};
    const job chosen = with_choice(asked, {.batch = 8, .recompute = recompute::full});
    CHECK(chosen.batch == 8);
    CHECK(chosen.recompute == recompute::full);
    CHECK(chosen.context == asked.context);
}

TEST_CASE("a format of weights that a search chooses takes the place of a GGUF file") {
    const job file{.weights = q4_k, .gguf = gguf_mix{.quantisation = gguf_quantisation::Q4_K_M}};
    CHECK(with_choice(file, choice_of(file)).gguf);
    job_choice other = choice_of(file);
    other.weights = bf16;
    CHECK_FALSE(with_choice(file, other).gguf);
    search_space s;
    s.weights = {.list = {bf16, q4_k}, .count = 2};
    job tried = file;
    detail::for_each_choice(s, file, tried, [&] {
        CHECK(bool{tried.gguf} == (*tried.weights == q4_k));
        return false;
    });
}

TEST_CASE("a training job's choices are each tried once") {
    job given{.task = task::pretraining, .global_batch = 48};
    const auto count = [&](const search_space& s) {
        std::int64_t tried = 0;
        job j = given;
        detail::for_each_choice(s, given, j, [&] { return ++tried, false; });
        return tried;
    };
    CHECK(count({}) == 1);
    CHECK(count({.micro_batch = true}) == 10);  // 1, 2, 3, 4, 6, 8, 12, 16, 24, 48
    CHECK(count({.recompute = true}) == 3);
    CHECK(count({.recompute_parts = true}) == 12);
    CHECK(count({.offload = true}) == 4);
    CHECK(count({.offload = true, .offload_parameters = true}) == 8);
    given.global_batch = 0;
    CHECK(count({.micro_batch = true}) == 7);  // 1, 2, 4, ... 64
}

TEST_CASE("a visit that returns true ends the choices, whatever they vary") {
    search_space everything{.micro_batch = true, .recompute = true, .offload = true, .offload_parameters = true};
    everything.max_batch = 4;
    everything.weights = {.list = {bf16, fp8_e4m3}, .count = 2};
    everything.kv_cache = {.list = {bf16, fp8_e4m3}, .count = 2};
    search_space parts = everything;
    parts.recompute_parts = true;
    const job training{.task = task::pretraining, .global_batch = 2}, serving{};
    for (const auto& [given, s, all] : {std::tuple{training, everything, 2 * 3 * 8}, std::tuple{training, parts, 192},
                                        std::tuple{serving, everything, 3 * 2 * 2}})
        for (int last = 1; last <= all + 1; ++last) {
            int tried = 0;
            job j = given;
            CHECK(detail::for_each_choice(s, given, j, [&] { return ++tried == last; }) == (last <= all));
            CHECK(tried == (last <= all ? last : all));
        }
}

TEST_CASE("of what may lie in main memory each combination is tried once, beside what the job keeps there") {
    const job given{.task = task::pretraining, .offload = {.activations = offload_place::nvme}};
    std::vector<offload> tried;
    job j = given;
    detail::for_each_choice({.offload = true, .offload_parameters = true}, given, j,
                            [&] { return tried.push_back(j.offload), false; });
    constexpr offload_place none = offload_place::none, host = offload_place::host, nvme = offload_place::nvme;
    REQUIRE(tried.size() == 8);
    for (const std::size_t i : {0U, 4U}) {
        const offload_place weights = i == 0 ? none : host;
        CHECK(tried[i] == offload{.optimizer = none, .parameters = weights, .activations = nvme});
        CHECK(tried[i + 1] == offload{.optimizer = host, .parameters = weights, .activations = nvme});
        CHECK(tried[i + 2] == offload{.optimizer = none, .parameters = weights, .activations = host});
        CHECK(tried[i + 3] == offload{.optimizer = host, .parameters = weights, .activations = host});
    }
}

TEST_CASE("micro-batches divide the global batch, and have 64 sequences at most") {
    const auto sizes_of = [](std::int64_t global_batch) {
        const job given{.task = task::pretraining, .global_batch = global_batch};
        std::vector<std::int64_t> sizes;
        job j = given;
        detail::for_each_choice({.micro_batch = true}, given, j, [&] { return sizes.push_back(j.micro_batch), false; });
        return sizes;
    };
    CHECK(sizes_of(1) == std::vector<std::int64_t>{1});
    CHECK(sizes_of(65) == std::vector<std::int64_t>{1, 5, 13});
    CHECK(sizes_of(64 * 65) == std::vector<std::int64_t>{1, 2, 4, 5, 8, 10, 13, 16, 20, 26, 32, 40, 52, 64});
}

TEST_CASE("a serving job's formats and batches are those of the space, or its own") {
    const job given{.weights = fp16, .kv_cache = fp8_e5m2, .batch = 3};
    const auto choices_of = [&](const search_space& s) {
        std::vector<job_choice> choices;
        job j = given;
        detail::for_each_choice(s, given, j, [&] { return choices.push_back(choice_of(j)), false; });
        return choices;
    };
    const auto choice = [&](std::int64_t batch, const precision& weights, const precision& kv_cache) {
        job j = given;
        j.batch = batch, j.weights = weights, j.kv_cache = kv_cache;
        return choice_of(j);
    };
    CHECK(choices_of({}) == std::vector{choice(3, fp16, fp8_e5m2)});
    CHECK(choices_of({.max_batch = 1}) == std::vector{choice(1, fp16, fp8_e5m2)});
    CHECK(choices_of({.max_batch = 5}) ==
          std::vector{choice(1, fp16, fp8_e5m2), choice(2, fp16, fp8_e5m2), choice(4, fp16, fp8_e5m2)});
    CHECK(choices_of({.weights = {.list = {bf16}, .count = 1}}) == std::vector{choice(3, bf16, fp8_e5m2)});
    CHECK(choices_of({.kv_cache = {.list = {bf16}, .count = 1}}) == std::vector{choice(3, fp16, bf16)});
    CHECK(choices_of(
              {.weights = {.list = {bf16, fp8_e4m3}, .count = 2}, .kv_cache = {.list = {int8, fp16}, .count = 2}}) ==
          std::vector{choice(3, bf16, int8), choice(3, bf16, fp16), choice(3, fp8_e4m3, int8),
                      choice(3, fp8_e4m3, fp16)});
}

TEST_CASE("what nobody chose is one sequence, and every layer where layers are recomputed") {
    const job_choice none;
    CHECK(none.batch == 1);
    CHECK(none.micro_batch == 1);
    CHECK(none.recompute_every == 1);
}

TEST_CASE("a choice that is taken back is the job's own") {
    const job j{.task = task::pretraining,
                .micro_batch = 3,
                .recompute = recompute::full,
                .recompute_modules = layer_part::mlp,
                .recompute_every = 4,
                .offload = {.parameters = offload_place::host}};
    CHECK(choice_of(with_choice(job{}, choice_of(j))) == choice_of(j));
    CHECK(choice_of(j).recompute_every == 4);
}

TEST_CASE("objectives have names") { CHECK(name_of(objective::energy_per_token) == "energy_per_token"); }

TEST_CASE("a search tries no recomputation, each set of three modules, and every eighth to each layer whole") {
    const job given{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    job tried = given;
    std::set<std::vector<bool>> modules;
    std::multiset<std::int32_t> whole;
    int none = 0, visits = 0;
    detail::for_each_recomputation({.recompute_parts = true}, given, tried, [&] {
        const layer_part_set& of = tried.recompute_modules;
        if (tried.recompute == recompute::selective)
            modules.insert({of.has(layer_part::core_attn), of.has(layer_part::layernorm), of.has(layer_part::mlp)});
        if (tried.recompute == recompute::full) whole.insert(tried.recompute_every);
        none += tried.recompute == recompute::none;
        ++visits;
        return false;
    });
    CHECK(none == 1);
    CHECK(modules.size() == 7);
    CHECK_FALSE(modules.contains({false, false, false}));
    CHECK(whole == std::multiset<std::int32_t>{1, 2, 4, 8});
    CHECK(visits == 1 + 7 + 4);
}

TEST_CASE("a layout of which nothing is said scores nothing, and a size that is not searched is the job's own") {
    CHECK(found_layout{}.score == 0);
    CHECK(found_layout{}.next_score == 0);
    const search_counts none;
    for (const std::int64_t count : {none.tried, none.refused, none.too_large, none.too_slow, none.skipped, none.kept})
        CHECK(count == 0);
    job given{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(512), .micro_batch = 3};
    job tried = given;
    tried.micro_batch = 8;
    std::vector<std::int64_t> seen;
    detail::for_each_micro_batch({}, given, tried, [&] { return seen.push_back(tried.micro_batch), false; });
    CHECK(seen == std::vector<std::int64_t>{3});
}
