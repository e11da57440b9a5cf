// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <llmres/answers/purchase.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

const job chat{
    .model = models::llama_3_1_8b, .batch = 4, .prompt = tokens(512), .output = tokens(512), .runtime = runtimes::vllm};
const std::array two_cards{gpu_offer{.card = gpus::rtx_4090, .price = currency(2'000)},
                           gpu_offer{.card = gpus::h100_sxm5_80gb, .price = currency(30'000)}};

error refusal_of(const purchase_request& r, std::span<const gpu_offer> offers) {
    std::array<purchase, 2> best{};
    const result<std::size_t> count = what_to_buy(chat, offers, r, best);
    REQUIRE_FALSE(count.has_value());
    return count.error();
}

}  // namespace

TEST_CASE("what is bought is what no other number of the offered GPUs beats") {
    std::array<purchase, 2> best{};
    const purchase_request r{.budget = currency(70'000), .machine = currency(3'000)};
    const result<std::size_t> count = what_to_buy(chat, two_cards, r, best);
    REQUIRE(count);
    REQUIRE(*count == 2);
    CHECK(best[0].offer == 1);
    CHECK(best[0].cost <= r.budget);
    double most = 0;
    for (std::int32_t n = 1; n <= 2; ++n) {  // three H100 cost too much
        const result<found_layout> found = search(chat, *standard_cluster(gpus::h100_sxm5_80gb, n));
        REQUIRE(found);
        const double rate = found->plan.speed.tokens_per_second.in(tokens_per_s);
        if (rate > most) most = rate;
    }
    CHECK(best[0].tokens_per_second.in(tokens_per_s) == doctest::Approx(most));
    CHECK(best[0].score >= best[1].score);
}

TEST_CASE("a purchase says what keeps it from being larger") {
    std::array<purchase, 1> best{};
    const auto bound = [&](const purchase_request& r, gpu_offer offered) {
        const std::array offers{offered};
        const result<std::size_t> count = what_to_buy(chat, offers, r, best);
        REQUIRE(count);
        REQUIRE(*count == 1);
        return best[0].bound;
    };
    const gpu_offer card = two_cards[0];
    CHECK(bound({.budget = currency(9'000), .machine = currency(4'000)}, card) == purchase_bound::budget);
    CHECK(best[0].gpus == 2);
    CHECK(bound({.budget = currency(90'000)}, card) == purchase_bound::room);
    CHECK(best[0].gpus == 4);
    CHECK(bound({.budget = currency(90'000), .power = watts(1'000)}, card) == purchase_bound::board_power);
    CHECK(best[0].gpus == 2);
    // Four sequences, one to a replica: a fifth GPU has nothing to do.
    gpu_offer crowded = card;
    crowded.most_in_machine = 8;
    CHECK(bound({.budget = currency(90'000), .objective = purchase_objective::throughput_per_price}, crowded) ==
          purchase_bound::none);
}

TEST_CASE("several machines hold what one has no room for") {
    job large = chat;
    large.model = models::llama_3_1_70b;
    const std::array offers{gpu_offer{.card = gpus::rtx_4090, .price = currency(2'000)}};
    std::array<purchase, 1> best{};
    purchase_request r{.budget = currency(60'000), .machine = currency(3'000)};
    CHECK(what_to_buy(large, offers, r, best).value() == 0);
    r.most_machines = 4;
    REQUIRE(what_to_buy(large, offers, r, best).value() == 1);
    CHECK(best[0].machines > 1);
    CHECK(best[0].gpus % best[0].machines == 0);
    CHECK(best[0].cost == currency(3'000) * best[0].machines + currency(2'000) * best[0].gpus);
    const token_rate slow = best[0].tokens_per_second;
    r.between = links::eth_10g;
    REQUIRE(what_to_buy(large, offers, r, best).value() == 1);
    CHECK(best[0].tokens_per_second < slow);
}

TEST_CASE("a job that fits on nothing that the budget pays for buys nothing") {
    job large = chat;
    large.model = models::llama_3_1_405b;
    std::array<purchase, 2> best{};
    const result<std::size_t> count = what_to_buy(large, two_cards, {.budget = currency(12'000)}, best);
    REQUIRE(count);
    CHECK(*count == 0);
}

TEST_CASE("wrong prices and budgets are refused by name") {
    CHECK(refusal_of({.budget = currency(1'999)}, two_cards).field == "budget");
    CHECK(refusal_of({.budget = currency(4'999), .machine = currency(3'000)}, two_cards)
              .expected.view()
              .ends_with("5000"));
    CHECK(refusal_of({.budget = currency(10'000), .machine = currency(-1)}, two_cards).field == "machine");
    CHECK(refusal_of({.budget = currency(10'000)}, {}).field == "offers");
    std::array wrong = two_cards;
    wrong[1].price = currency(-5);
    CHECK(refusal_of({.budget = currency(10'000)}, wrong).field == "price");
    wrong[1].price = currency(std::numeric_limits<double>::quiet_NaN());
    CHECK(refusal_of({.budget = currency(10'000)}, wrong).field == "price");
    CHECK(refusal_of({.budget = currency(std::numeric_limits<double>::quiet_NaN())}, two_cards).field == "budget");
    wrong = two_cards;
    wrong[0].most_in_machine = 0;
    CHECK(refusal_of({.budget = currency(10'000)}, wrong).field == "most_in_machine");
    CHECK(refusal_of({.budget = currency(10'000), .most_machines = 0}, two_cards).field == "most_machines");
    CHECK(refusal_of({.budget = currency(10'000), .power = watts(100)}, two_cards).field == "power");
    CHECK(refusal_of({.budget = currency(10'000), .power = watts(-1)}, two_cards).field == "power");
    wrong = two_cards;
    wrong[0].card.board_power = {};
    CHECK(refusal_of({.budget = currency(10'000), .power = watts(900)}, wrong).value == "rtx-4090");
    job none = chat;
    none.batch = 0;
    std::array<purchase, 1> best{};
    CHECK(what_to_buy(none, two_cards, {.budget = currency(10'000)}, best).error().field == "batch");
}

TEST_CASE("the most GPUs of one kind that can be had, and what forbids more") {
    const auto most = [](const purchase_request& r) { return most_of(two_cards[0], r); };
    const purchase paid = most({.budget = currency(5'000)});
    CHECK(paid.gpus == 2);
    CHECK(paid.cost == currency(4'000));
    CHECK(paid.bound == purchase_bound::budget);
    CHECK(most({.budget = currency(70'000)}).bound == purchase_bound::room);
    const purchase_request three{.budget = currency(70'000), .machine = currency(3'000), .most_machines = 3};
    const purchase filled = most(three);
    CHECK(filled.gpus == 12);
    CHECK(filled.machines == 3);
    CHECK(filled.cost == currency(3 * 3'000 + 12 * 2'000));
    const result<cluster> built = cluster_of(two_cards[0], filled, three);
    REQUIRE(built);
    CHECK(built->gpus == 12);
    CHECK(built->gpus_per_node == 4);
    const purchase none = most({.budget = currency(1'999)});
    CHECK(none.gpus == 0);
    CHECK(none.bound == purchase_bound::budget);
    CHECK(most({.budget = currency(70'000), .power = watts(1'000)}).bound == purchase_bound::board_power);
}

TEST_CASE("a purchase of which nothing is said is of no GPU, in one machine, and holds nothing") {
    purchase none;
    CHECK(none.offer == 0);
    CHECK(none.gpus == 0);
    CHECK(none.machines == 1);
    CHECK(none.batch == 0);
    CHECK(none.score == 0);
    CHECK(none.bound == purchase_bound::none);
}
