// SPDX-License-Identifier: MIT
// What is there before the first step is what the plan sums up: weights, adapters, a reference, gradients that are kept
// in buffers, and the libraries' workspaces.
#include <llmres/memory/events/start.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <map>
#include <string>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;

namespace {

struct followed final : event_visitor {
    mutable std::map<std::int64_t, byte_count> groups;
    mutable byte_count alive{}, peak{};
    void allocate(std::int64_t group, byte_count size, tensor_stream) const override {
        groups[group] += size, alive += size;
        if (alive > peak) peak = alive;
    }
    void release(std::int64_t group) const override { alive -= groups[group], groups[group] = {}; }
    byte_count of(tensor_group group) const { return groups[static_cast<std::int64_t>(group)]; }
};

struct started {
    job asked;
    layout cut;
    folded_job folded;
    training_stage here;
    followed seen{};
    event_writer writer;

    started(const job& j, const layout& l, sharing_rank rank = sharing_rank::first)
        : asked{j},
          cut{l},
          folded{asked, cut},
          here{training_stage_of(folded, placement_of(asked, cut, 0))},
          writer{folded, here, seen, rank} {
        start_events{writer}.write();
    }
    started(const started&) = delete;
    byte_count held() const { return here.weights.all.weights + here.weights.all.adapter; }
};

const adapter lora{.kind = adapter_kind::lora, .rank = 4};
// Of the small job: queries and o_proj of 64 x 64, keys and values of 32 x 64, three matrices of 160 x 64, two norms;
// two layers, the embedding, the head and the last norm.
constexpr std::int64_t of_layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64 + 2 * 64;
constexpr std::int64_t parameters_here = 2 * of_layer + 2 * 1000 * 64 + 64;

}  // namespace

TEST_CASE("weights last, with what an adapter adds to them and a reference as large; all else is freed") {
    job j = small(runtimes::huggingface);
    const auto lasting = [](const started& s) {
        CHECK(s.seen.alive == s.seen.of(tensor_group::lasting));
        return s.seen.alive;
    };
    CHECK(lasting({j, {}}) == bytes(2) * parameters_here);
    j.preference = preference_method::dpo;
    j.model.layers = small(runtimes::huggingface).model.layers;
    REQUIRE(loads_reference(j));
    CHECK(lasting({j, {}}) == bytes(4) * parameters_here);
    // FSDP1 has a rank's part of both.
    job flat = j;
    flat.runtime.sharding.code = sharding_code::fsdp1;
    CHECK(lasting({flat, {.data = 2, .zero = 3}}) == bytes(2) * parameters_here);
    // LoRA's reference is the model without the adapter. It adds 4 (rows + columns) to each matrix of a layer.
    j.adapter = lora;
    REQUIRE_FALSE(loads_reference(j));
    const std::int64_t added = 2 * 4 * (2 * (64 + 64) + 2 * (32 + 64) + 3 * (160 + 64));
    CHECK(lasting({j, {}}) == bytes(2) * parameters_here + bytes(4) * added);
    flat.preference = preference_method::none;
    flat.adapter = lora;
    const started part{flat, {.data = 2, .zero = 3}};
    CHECK(lasting(part) == bytes(1) * parameters_here + bytes(2) * added);
}

TEST_CASE("a teacher is as many tensors as it has layers, and as large as its own weights") {
    job j = small(runtimes::huggingface);
    j.preference = preference_method::gkd;
    j.beta = 0.5;
    model taught = j.model;
    taught.layers = {4, j.model.layers.kinds[0]};
    j.teacher = teacher_of(taught, bf16);
    const byte_count weights = bytes(2) * (4 * of_layer + 2 * 1000 * 64 + 64);
    CHECK(j.teacher.held == weights);
    CHECK(started{j, {}}.seen.alive == bytes(2) * parameters_here + weights);
}

TEST_CASE(
    "Megatron-Core's buffers take the weights' place, with gradients in fp32, and master weights where they are kept") {
    const job j = small(runtimes::megatron);
    CHECK(started{j, {}}.seen.alive == bytes(2 + 4) * parameters_here);
    // The distributed optimizer makes a rank's half of the master weights at once, and the weights are there twice
    // while their buffer is filled.
    const started moved{j, {.data = 2, .zero = 1}};
    CHECK(moved.seen.alive == bytes(2 + 4 + 2) * parameters_here);
    CHECK(moved.seen.peak >= bytes(2 + 2 + 4) * parameters_here);
    job wide = j;
    wide.weights = fp32;
    CHECK(started{wide, {.data = 2, .zero = 1}}.seen.alive == bytes(4 + 4) * parameters_here);
    // Of a frozen model the adapter alone has gradients.
    job adapted = j;
    adapted.adapter = lora;
    const started frozen{adapted, {.data = 2, .zero = 1}};
    const training_state& all = frozen.here.weights.all;
    CHECK(frozen.seen.alive - frozen.held() - all.gradients.kept < all.adapter);
    CHECK(frozen.seen.alive >= frozen.held() + all.gradients.kept);
}

TEST_CASE(
    "tables of which positions see each other last beside the weights: a byte for each pair, once or in each layer") {
    job j = small(runtimes::huggingface);
    j.runtime.process.workspace = bytes(777);
    CHECK(started{j, {}}.seen.alive == bytes(2) * parameters_here + bytes(777));
    j.runtime.process = {};
    j.model.max_context = tokens(50);
    const struct {
        const char* architecture;
        std::int64_t tables;
    } families[] = {{"llama", 0}, {"gpt_bigcode", 1}, {"gpt_neo", 2}};
    for (const auto& family : families) {
        CAPTURE(std::string{family.architecture});
        job named = j;
        named.model.architecture = family.architecture;
        CHECK(started{named, {}}.seen.alive == bytes(2) * parameters_here + bytes(50 * 50) * family.tables);
    }
}
