// SPDX-License-Identifier: MIT
#include <llmres/memory/training/allocator.hpp>
#include <llmres/memory/training/fsdp.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <llmres/memory/training.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

namespace {

training_state gathered_in(std::int64_t gathered) {
    training_state s;
    s.gathered = mib(gathered);
    s.gradients.whole = mib(2 * gathered);
    return s;
}

/// FSDP1's rule, replayed: units in the order in which their forward passes ended, each layer's after those of its
/// trained matrices. The backward pass of a unit gathers it, and the unit before it in that order unless that one has
/// been differentiated (_runtime_utils.py, _pre_backward_hook, _prefetch_handle); a unit is freed after its own.
struct gathered_layers {
    int before_matrices;  ///< while all of a layer but its trained matrices is differentiated
    int at_first_matrix;  ///< while the matrix is that the forward pass began with
};
gathered_layers gathered_layers_of(int layers, int matrices, int layer) {
    const int units = matrices + 1;  // of a layer
    std::vector<bool> gathered(static_cast<std::size_t>(layers * units)), done = gathered;
    const auto begin = [&](int unit) {
        gathered[static_cast<std::size_t>(unit)] = true;
        if (unit > 0 && !done[static_cast<std::size_t>(unit - 1)]) gathered[static_cast<std::size_t>(unit - 1)] = true;
    };
    const auto end = [&](int unit) {
        done[static_cast<std::size_t>(unit)] = true;
        gathered[static_cast<std::size_t>(unit)] = false;
    };
    const auto count = [&] {
        int all = 0;
        for (int i = 0; i < layers; ++i) all += gathered[static_cast<std::size_t>(i * units + matrices)] ? 1 : 0;
        return all;
    };
    gathered_layers seen{};
    for (int i = layers; i-- > layer;) {
        const int own = i * units + matrices;
        begin(own);
        seen.before_matrices = count();
        for (int m = own; m-- > i * units;) begin(m), seen.at_first_matrix = count(), end(m);
        end(own);
    }
    return seen;
}

/// Mistral 7B with adapters on two ranks, and logits that no other point stands back behind.
job adapted(const runtime& r) {
    job j{.model = models::mistral_7b_v0_1, .task = task::finetuning, .sequence = tokens(8192)};
    j.recompute = recompute::full;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    j.attention = attention_kernel::flash;
    j.runtime = r;
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    j.micro_batch = 4;
    return j;
}

byte_count communication_of(job j, adapted_layer_units units) {
    j.runtime.sharding.adapted_layers = units;
    const memory_breakdown m = training_memory(j, {.data = 2, .zero = 3});
    CHECK(m.phase == phase::backward);
    return m[memory_term::communication].expected;
}

}  // namespace

TEST_CASE("where each trained matrix is a unit, FSDP1 gathers the layer before when it comes to the first of them") {
    for (const int layer : {7, 3, 1}) {
        CHECK(gathered_layers_of(8, 0, layer).before_matrices == 2);
        CHECK(gathered_layers_of(8, 14, layer).before_matrices == 1);
        CHECK(gathered_layers_of(8, 14, layer).at_first_matrix == 2);
    }
    CHECK(gathered_layers_of(8, 0, 0).before_matrices == 1);
    CHECK(gathered_layers_of(8, 14, 0).at_first_matrix == 1);
}

TEST_CASE("one layer is gathered in the backward pass where trained matrices are units, and where it is the first") {
    const job last = adapted(runtimes::huggingface);  // all checkpoints are there when the last layer is differentiated
    const byte_count apart = communication_of(last, adapted_layer_units::by_trained_matrix);
    const byte_count together = communication_of(last, adapted_layer_units::one);
    const byte_count layer = bytes(2) * 218'112'000;  // bf16
    CHECK(together - apart > layer);
    CHECK(together - apart < scaled_up(layer, 1.02));  // and its adapters, in fp32
    // Gradients of the layers' inputs are kept until the first one's backward pass, before which no layer is.
    const job first = adapted(runtimes::huggingface_4_57);
    CHECK(communication_of(first, adapted_layer_units::one) ==
          communication_of(first, adapted_layer_units::by_trained_matrix));
}

TEST_CASE("where both ends are units of their own, only the head is gathered when the loss is computed") {
    job j{.model = {.vocabulary = 10, .hidden = 4, .layers = {1, layer{}}},
          .task = task::pretraining,
          .sequence = tokens(16)};
    const layout l{.data = 2, .zero = 3};
    const auto input = gathered_in(30), output = gathered_in(20), both = gathered_in(50), block = gathered_in(10);

    const auto roots = detail::gathering_of(training_context{j, l}, input, output, both, block, false);
    CHECK(roots.after_forward == mib(60));  // the root's, and the last layer
    CHECK(roots.throughout == mib(50));
    CHECK(roots.buffers == mib(60));
    CHECK(roots.reduced == mib(30));  // a layer's and the head's
    CHECK(roots.last == mib(130));

    j.runtime.sharding.separate_ends = true;
    const auto apart = detail::gathering_of(training_context{j, l}, input, output, both, block, false);
    CHECK(apart.after_forward == mib(20));
    CHECK(apart.throughout == mib(0));
    CHECK(apart.buffers == mib(40));  // two units in turn: a layer and the larger end
    CHECK(apart.reduced == mib(10));
    CHECK(apart.last == mib(90));

    const auto tied = detail::gathering_of(training_context{j, l}, input, output, both, block, true);
    CHECK(tied.throughout == roots.throughout);  // one tensor is one unit
}

TEST_CASE("of the blocks that wrapping leaves, a step finds none to all too small, and no more than it is short of") {
    const byte_count left = detail::left_by_wrapping(mib(10), mib(5));
    CHECK(left == mib(45));
    const auto none = detail::unused_after_wrapping(left, mib(40));
    CHECK(none.expected == bytes(0));
    CHECK(none.low == bytes(0));
    CHECK(none.high == left);
    CHECK(detail::unused_after_wrapping(left, mib(55)).expected == mib(3));
    CHECK(detail::unused_after_wrapping(left, mib(1000)).expected == scaled_down(left, 0.3));
}
