// SPDX-License-Identifier: MIT
// Layers that predict further tokens: what all depths keep is what one keeps, as many times (DeepSeek-V3 report,
// section 2.2: each depth has a block, a projection and norms of its own, and shares embedding and head).
#include <llmres/memory/training/prediction.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/runtimes/megatron.hpp>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;
using training_jobs::small;

namespace {

prediction_memory of_depths(std::int32_t depths, const optimizer& o = adamw_fused) {
    job j = small(runtimes::megatron);
    j.optimizer = o;
    j.model.prediction = {.layers = depths, .block = j.model.layers.kinds[0]};
    j.mtp_layers = depths;
    const layout one{};
    const training_context context{j, one};
    const weight_training how{j, one, context};
    return prediction_memory_of(j, one, context, how, byte_count{});
}

}  // namespace

TEST_CASE("depths keep as many times what one does: activations, logits and weights") {
    const prediction_memory one = of_depths(1);
    CHECK(one.kept > byte_count{});
    // fp32 logits of eight tokens and a thousand words (Megatron-Core's loss over 16-bit logits copies them).
    CHECK(one.logits >= bytes(2 * 8 * 1000));
    // A block of 64 x 64 twice, 32 x 64 twice, 160 x 64 three times and two norms; two widths to one; three norms.
    const std::int64_t depth = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64 + 2 * 64 + 2 * 64 * 64 + 3 * 64;
    CHECK(one.state.weights == bytes(2) * depth);
    for (const std::int32_t depths : {2, 3}) {
        const prediction_memory all = of_depths(depths);
        CHECK(all.kept == one.kept * depths);
        CHECK(all.logits == one.logits * depths);
        CHECK(all.state.weights == one.state.weights * depths);
        CHECK(all.state.gradients.kept == one.state.gradients.kept * depths);
    }
    CHECK(of_depths(0).kept == byte_count{});
    CHECK(of_depths(0).state.weights == byte_count{});
}

TEST_CASE("what is updated last of a depth is what the next tensor's update overlaps") {
    // A loop over tensors makes two of each in fp32: of the last, a vector of 64, or a matrix.
    const prediction_memory looped = of_depths(1, adamw_loop);
    CHECK(looped.state.optimizer.last_step > byte_count{});
    CHECK(looped.state.optimizer.last_step <= bytes(4 * 2 * 160 * 64));
    CHECK(of_depths(2, adamw_loop).state.optimizer.last_step == looped.state.optimizer.last_step);
}
