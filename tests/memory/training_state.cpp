// SPDX-License-Identifier: MIT
#include <llmres/memory/training_state.hpp>

#include <doctest/doctest.h>

#include <type_traits>

#include "../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("a state is a value: trivially copyable, and empty unless something is added") {
    static_assert(std::is_trivially_copyable_v<training_state>);
    static_assert(std::is_aggregate_v<training_state>);
    static_assert(training_state{}.weights == byte_count{});
}

TEST_CASE("layers add up, but for what one tensor needs at a time") {
    const training_state one{.weights = mib(2),
                             .gathered = mib(3),
                             .largest = mib(5),
                             .dummies = mib(7),
                             .host = mib(11),
                             .gradients = {.kept = mib(13), .whole = mib(17)},
                             .optimizer = {.states = mib(19), .temporaries = mib(23), .largest_step = mib(29)},
                             .casts = {.all = mib(31)}};
    training_state three;
    three.add(one, 3);
    CHECK(three.weights == mib(6));
    CHECK(three.gathered == mib(9));
    CHECK(three.host == mib(33));
    CHECK(three.gradients.kept == mib(39));
    CHECK(three.gradients.whole == mib(51));
    CHECK(three.optimizer.states == mib(57));
    CHECK(three.optimizer.temporaries == mib(69));
    CHECK(three.casts.all == mib(93));
    CHECK(three.largest == mib(5));
    CHECK(three.dummies == mib(7));
    CHECK(three.optimizer.largest_step == mib(29));
    training_state dealt;
    dealt.add({.dummies = mib(3), .nvme = mib(37)}, 3);
    CHECK(dealt.nvme == mib(111));
    dealt.add({.dummies = mib(2)}, 1);
    CHECK(dealt.dummies == mib(3));
    three.add({.largest = mib(4), .optimizer = {.largest_step = mib(30)}}, 1);
    CHECK(three.largest == mib(5));
    CHECK(three.optimizer.largest_step == mib(30));
}

TEST_CASE("a model's state is that of its layers and ends: Adafactor's step needs as much as its largest tensor") {
    job j = full();
    j.optimizer = adafactor;
    job half = j;
    half.model.layers = j.model.layers.first(16);
    const training_state whole = training_state_of(j, {}), of_half = training_state_of(half, {});
    REQUIRE(whole.optimizer.largest_step > byte_count{});
    CHECK(whole.optimizer.largest_step == of_half.optimizer.largest_step);
    CHECK(whole.largest == of_half.largest);
    CHECK(whole.weights > of_half.weights);
}
