// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <llmres/answers/purchase.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <utility>

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
    wrong[0].most_in_machine = wrong[1].most_in_machine = 1;  // enough
    std::array<purchase, 2> bought{};
    CHECK(what_to_buy(chat, wrong, {.budget = currency(40'000)}, bought).value() == 2);
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

TEST_CASE("of purchases that are as good the cheaper comes first, and of equal prices the first offer") {
    const gpu_offer dear{.card = gpus::rtx_4090, .price = currency(2'500)};
    const gpu_offer cheap{.card = gpus::rtx_4090, .price = currency(2'000)};
    std::array<purchase, 2> best{};
    const purchase_request r{.budget = currency(12'000)};
    REQUIRE(what_to_buy(chat, std::array{dear, cheap}, r, best).value() == 2);
    CHECK(best[0].score == best[1].score);
    CHECK(best[0].offer == 1);
    CHECK(best[1].offer == 0);
    CHECK(best[0].cost < best[1].cost);
    REQUIRE(what_to_buy(chat, std::array{cheap, dear}, r, best).value() == 2);
    CHECK(best[0].offer == 0);
    REQUIRE(what_to_buy(chat, std::array{cheap, cheap}, r, best).value() == 2);
    CHECK(best[0].offer == 0);
    CHECK(best[1].offer == 1);
}

TEST_CASE(
    "a full machine is followed by another one: what keeps a purchase small is its price, or that there is none") {
    const gpu_offer card{.card = gpus::rtx_4090, .price = currency(2'000)};
    purchase_request r{.budget = currency(15'999), .machine = currency(3'000), .most_machines = 2};
    // Two machines with as many GPUs each: 10,000 with one, 14,000 with two, 18,000 with three.
    const purchase two = most_of(card, r);
    CHECK(two.gpus == 4);
    CHECK(two.bound == purchase_bound::budget);
    r.budget = currency(11'000);  // one full machine, of which a second would cost as much
    const purchase full = most_of(card, r);
    CHECK(full.gpus == 4);
    CHECK(full.machines == 1);
    CHECK(full.bound == purchase_bound::budget);
    r.most_machines = 1;
    CHECK(most_of(card, r).bound == purchase_bound::room);
    r.budget = currency(21'999);  // three in each of two machines are six, and eight cost more
    r.most_machines = 2;
    CHECK(most_of(card, r).gpus == 6);
    CHECK(most_of(card, r).machines == 2);
    CHECK(most_of(card, r).bound == purchase_bound::budget);
    r.budget = currency(22'000);
    CHECK(most_of(card, r).gpus == 8);
    CHECK(most_of(card, r).bound == purchase_bound::room);
}

TEST_CASE("a budget, a limit of power and a machine that are just enough buy what they are enough for") {
    const gpu_offer card{.card = gpus::rtx_4090, .price = currency(2'000), .most_in_machine = 3};
    purchase_request r{.budget = currency(7'000), .machine = currency(3'000)};
    CHECK(most_of(card, r).gpus == 2);
    r.budget = currency(6'999);
    CHECK(most_of(card, r).gpus == 1);
    CHECK(most_of(card, r).bound == purchase_bound::budget);
    r.budget = currency(90'000);
    r.power = *card.card.board_power * 2.0;
    CHECK(most_of(card, r).gpus == 2);
    CHECK(most_of(card, r).bound == purchase_bound::board_power);
    r.power = *card.card.board_power * 3.0;
    CHECK(most_of(card, r).gpus == 3);
    CHECK(most_of(card, r).bound == purchase_bound::room);
    // One GPU's board and the cheapest machine are enough to ask.
    std::array<purchase, 1> best{};
    r.power = card.card.board_power;
    r.budget = currency(5'000);
    REQUIRE(what_to_buy(chat, std::array{card}, r, best).value() == 1);
    CHECK(best[0].gpus == 1);
}

TEST_CASE("the largest batch is that of the layout with most sequences, and of training over all its ranks") {
    const auto largest = [](const job& j, std::int32_t gpus) {
        const cluster c = standard_cluster(trains(j) ? gpus::h100_sxm5_80gb : gpus::rtx_4090, gpus).value();
        std::pair<std::int64_t, layout> most;  // with the first layout that has as many
        for_each_layout(j, layout_space{}, c, [&](const layout& l) {
            const result<std::int64_t> batch = max_batch(j, l, c);
            const std::int64_t all = batch ? *batch * (trains(j) ? l.all_data_ranks() : 1) : 0;
            if (plan(j, l, c) && all > most.first) most = {all, l};
            return false;
        });
        return most;
    };
    const job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(1024)};
    job few_slots = chat;  // as many sequences in each layout
    few_slots.options.max_num_seqs = 2;
    for (const job& j : {chat, trained, few_slots}) {
        std::array<purchase, 1> best{};
        const gpu_offer& card = two_cards[trains(j) ? 1 : 0];
        const purchase_request r{.budget = card.price * 2.0, .objective = purchase_objective::largest_batch};
        REQUIRE(what_to_buy(j, std::array{card}, r, best).value() == 1);
        if (trains(j)) CHECK(best[0].layout.all_data_ranks() == 2);
        const auto one = largest(j, 1), two = largest(j, 2);
        const std::int64_t most = std::max(one.first, two.first);
        CHECK(best[0].batch == most);
        CHECK(best[0].layout == (one.first == most ? one.second : two.second));
        CHECK(best[0].score == static_cast<double>(most));
        CHECK(best[0].tokens_per_second == token_rate{});
    }
}

TEST_CASE("tokens for the money are divided by all that is paid, and bounded though they are less than one a second") {
    std::array<purchase, 1> best{};
    const gpu_offer dear{.card = gpus::rtx_4090, .price = currency(2'000'000)};
    const purchase_request r{
        .budget = currency(2'000'500), .machine = currency(500), .objective = purchase_objective::throughput_per_price};
    REQUIRE(what_to_buy(chat, std::array{dear}, r, best).value() == 1);
    CHECK(best[0].score < 1);
    CHECK(best[0].score == doctest::Approx(best[0].tokens_per_second.in(tokens_per_s) / 2'000'500));
    CHECK(best[0].bound == purchase_bound::budget);
}

TEST_CASE("what is bought has the machine's memory and the link that is named, or what is usual where none is") {
    gpu_offer offer = two_cards[1];
    const purchase two{.gpus = 16, .machines = 2};
    const cluster usual = cluster_of(offer, two, {}).value();
    const cluster standard = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    CHECK(usual.host.memory == standard.host.memory);
    CHECK(usual.host.link.id == standard.host.link.id);
    CHECK_FALSE(usual.host.link.id.empty());
    CHECK(usual.scale_out.id == standard.scale_out.id);
    CHECK(usual.gpus_per_node == 8);
    offer.host.memory = gib(123);
    const cluster named = cluster_of(offer, two, {.between = links::eth_10g}).value();
    CHECK(named.host.memory == gib(123));
    CHECK(named.scale_out.id == links::eth_10g.id);
}

TEST_CASE("what forbids a first GPU is what one machine with one GPU would break, whatever more would") {
    gpu_offer single{.card = gpus::rtx_4090, .price = currency(2'000), .most_in_machine = 1};
    CHECK(most_of(single, {.budget = currency(1'000)}).bound == purchase_bound::budget);
    CHECK(most_of(single, {.budget = currency(9'000), .power = watts(100)}).bound == purchase_bound::board_power);
    CHECK(most_of(single, {.budget = currency(9'000), .most_machines = 0}).bound == purchase_bound::room);
    CHECK(most_of(single, {.budget = currency(9'000)}).gpus == 1);
    single.most_in_machine = 0;
    CHECK(most_of(single, {.budget = currency(9'000), .most_machines = 2}).bound == purchase_bound::room);
    single.most_in_machine = 1;
    CHECK(most_of(single, {.budget = currency(9'000)}).bound == purchase_bound::room);
}

TEST_CASE("purchases are told apart by their score, then by what they cost, then by the offer") {
    for (const double score : {1.0, 2.0, 3.0})
        for (const int cost : {1, 2, 3})
            for (const std::size_t offer : {0U, 1U, 2U}) {
                const purchase a{.offer = offer, .cost = currency(cost), .score = score};
                const purchase b{.offer = 1, .cost = currency(2), .score = 2.0};
                CHECK(detail::better(a, b) == (score != 2 ? score > 2 : cost != 2 ? cost < 2 : offer < 1));
            }
}

TEST_CASE("a purchase has the layout that a search finds, and of as many GPUs the fewest machines") {
    std::array<purchase, 1> best{};
    REQUIRE(what_to_buy(chat, std::array{two_cards[0]}, {.budget = currency(8'000)}, best).value() == 1);
    const found_layout found = search(chat, *standard_cluster(gpus::rtx_4090, best[0].gpus)).value();
    CHECK(best[0].layout == found.plan.layout);
    CHECK(best[0].layout.gpus() > 1);
    const purchase four = most_of(two_cards[0], {.budget = currency(8'000), .most_machines = 4});
    CHECK(four.gpus == 4);
    CHECK(four.machines == 1);
    CHECK(refusal_of({.budget = currency(10'000), .power = watts(0)}, two_cards).expected == "watts above 0");
    CHECK(refusal_of({.budget = currency(10'000), .power = watts(-1)}, two_cards).expected == "watts above 0");
}
