// SPDX-License-Identifier: MIT
#include <llmres/memory/training/device_map.hpp>

#include <doctest/doctest.h>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

job tuning(const model& m, const runtime& r) {
    return {.model = m, .task = task::finetuning, .sequence = tokens(2048), .runtime = r};
}

}  // namespace

TEST_CASE("layers dealt by bytes are all dealt, in order; the first GPU has room left for the largest module") {
    for (const std::int32_t stages : {2, 3, 4, 7}) {
        CAPTURE(stages);
        const job j = tuning(models::llama_3_1_8b, runtimes::huggingface);
        const layout l{.pipeline = stages};
        REQUIRE(detail::takes_turns(j, l));
        std::int32_t next = 0;
        for (std::int32_t s = 0; s < stages; ++s) {
            const stage_range dealt = detail::layers_by_bytes(j, l, s);
            CHECK(dealt.first == next);
            CHECK(dealt.last >= dealt.first);
            next = dealt.last;
        }
        CHECK(next == j.model.layers.size);
        CHECK(detail::layers_by_bytes(j, l, 0).size() < detail::layers_by_bytes(j, l, 1).size());
    }
}

TEST_CASE("GPUs of one stage, and engines whose stages do not wait, deal layers evenly") {
    CHECK_FALSE(detail::takes_turns(tuning(models::llama_3_1_8b, runtimes::huggingface), {}));
    const job j = tuning(models::llama_3_1_8b, no_runtime);
    const layout l{.pipeline = 4};
    CHECK_FALSE(detail::takes_turns(j, l));
    for (std::int32_t s = 0; s < 4; ++s) CHECK(detail::training_counts(j, l, s)[0] == 8);
}

TEST_CASE("interleaved chunks count for the stage that has them") {
    const job j = tuning(models::llama_3_1_8b, no_runtime);
    const layout l{.pipeline = 4, .virtual_pipeline = 2};
    std::int32_t all = 0;
    for (std::int32_t s = 0; s < 4; ++s) all += detail::training_counts(j, l, s)[0];
    CHECK(all == 32);
}
