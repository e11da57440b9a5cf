// SPDX-License-Identifier: MIT
#include <llmres/memory/training/allocator.hpp>
#include <llmres/memory/training/fsdp.hpp>

#include <doctest/doctest.h>

using namespace llmres;
using namespace llmres::detail;

namespace {

training_state gathered_in(std::int64_t gathered) {
    training_state s;
    s.gathered = mib(gathered);
    s.gradients.whole = mib(2 * gathered);
    return s;
}

}  // namespace

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
