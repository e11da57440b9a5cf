// SPDX-License-Identifier: MIT
// Seed cases A3, A6, D4 and D5: how fast GPUs are for a job, and for the money.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <llmres/answers/purchase.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/time/images.hpp>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;

TEST_CASE("A3: the larger the batch, the more the H100's memory is worth against a 4090") {
    job j{.model = models::llama_3_8b, .prompt = tokens(256), .output = tokens(256), .runtime = runtimes::vllm_v1_9};
    const auto rate = [&](const gpu& card) {
        const auto p = plan(j, layout{}, *standard_cluster(card, 1));
        REQUIRE(p);
        CHECK(p->verdict == verdict::fits);
        return p->speed.tokens_per_second.in(tokens_per_s);
    };
    double before = 0;
    for (j.batch = 1; j.batch <= 64; j.batch *= 2) {
        CAPTURE(j.batch);
        const double ratio = rate(gpus::h100_pcie_80gb) / rate(gpus::rtx_4090);
        CHECK(ratio > before);
        before = ratio;
    }
    CHECK(before > 2.0);
}

namespace {

constexpr std::array names{"H100 PCIe", "A100 SXM",  "A100 PCIe", "RTX 4090",     "L40S",        "RTX 6000 Ada",
                           "L40",       "RTX A6000", "A40",       "RTX A5000",    "RTX 3090",    "RTX 4000 Ada",
                           "RTX A4500", "L4",        "RTX A4000", "RTX 2000 Ada", "RTX 4070 Ti", "RTX 4080"};

/// Each of them alone, all at one price: most have none in the notes.
std::vector<gpu_offer> offers_of_all() {
    std::vector<gpu_offer> offers;
    for (const std::string_view name : names)
        offers.push_back({.card = find_gpu(name).value(), .price = currency(20'000), .most_in_machine = 1});
    return offers;
}

std::vector<std::string> ranked(const job& j, const std::vector<gpu_offer>& offers, purchase_objective o) {
    std::vector<purchase> best(offers.size());
    const result<std::size_t> count = what_to_buy(j, offers, {.budget = currency(1'000'000), .objective = o}, best);
    REQUIRE(count);
    std::vector<std::string> order;
    for (std::size_t i = 0; i < *count; ++i) order.emplace_back(offers[best[i].offer].card.id.view());
    return order;
}

}  // namespace

TEST_CASE("A6: the 18 GPUs by speed and by speed per price, for LoRA and for batch inference of Llama 3 8B") {
    const job served{.model = models::llama_3_8b,
                     .weights = awq(4, 128),
                     .batch = 4,
                     .prompt = tokens(512),
                     .output = tokens(512),
                     .runtime = runtimes::vllm_v1_9};
    const job tuned{.model = models::llama_3_8b,
                    .task = task::finetuning,
                    .weights = nf4_double,
                    .sequence = tokens(768),
                    .recompute = recompute::full,
                    .adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = all_linears},
                    .runtime = runtimes::huggingface};
    for (const job& j : {served, tuned}) {
        CAPTURE(j.task == task::finetuning);
        const auto by_speed = ranked(j, offers_of_all(), purchase_objective::throughput);
        REQUIRE(by_speed.size() == names.size());  // 4 bits fit them all
        CHECK(by_speed[0] == gpus::h100_pcie_80gb.id.view());
        CHECK(by_speed[1] == gpus::a100_sxm4_80gb.id.view());
        CHECK(by_speed.back() == gpus::rtx_2000_ada.id.view());
    }
    // Prices of the notes, in yuan: where the caller has them, the order is another.
    std::vector<gpu_offer> priced{{.card = gpus::rtx_a6000, .price = currency(27'500), .most_in_machine = 1},
                                  {.card = gpus::rtx_3090, .price = currency(8'500), .most_in_machine = 1},
                                  {.card = gpus::rtx_4090, .price = currency(15'000), .most_in_machine = 1},
                                  {.card = gpus::rtx_6000_ada, .price = currency(51'000), .most_in_machine = 1},
                                  {.card = gpus::a100_pcie_80gb, .price = currency(120'000), .most_in_machine = 1}};
    for (const job& j : {served, tuned}) {
        const auto for_money = ranked(j, priced, purchase_objective::throughput_per_price);
        REQUIRE(for_money.size() == 5);
        CHECK(for_money[0] == gpus::rtx_3090.id.view());
        CHECK(for_money[1] == gpus::rtx_4090.id.view());  // tuned, 6 % behind: beside adapters memory traffic decides
        CHECK(for_money.back() == gpus::a100_pcie_80gb.id.view());
    }
}

TEST_CASE("D4: in fp32 a 4090 makes 40 times as much for the money as an A100 of ten times its price") {
    const gpu& a100 = gpus::a100_sxm4_80gb;
    const gpu& consumer = gpus::rtx_4090;
    const gpu& h100 = gpus::h100_sxm5_80gb;
    CHECK(a100.rates.fp32->in(tflops) == doctest::Approx(19.5));
    CHECK(consumer.rates.fp32->in(tflops) == doctest::Approx(83).epsilon(0.01));
    const auto for_the_money = [](const flop_rate& rate, double price) { return rate.in(tflops) / price; };
    CHECK(for_the_money(*consumer.rates.fp32, 1) / for_the_money(*a100.rates.fp32, 10) ==
          doctest::Approx(42.5).epsilon(0.02));
    // In the 16 bits that models compute in, it is 5 times as much: the note's rate is not the one that counts.
    CHECK(for_the_money(*consumer.rates.bf16, 1) / for_the_money(*a100.rates.bf16, 10) ==
          doctest::Approx(5.3).epsilon(0.02));
    CHECK(for_the_money(*consumer.rates.bf16, 1) / for_the_money(*h100.rates.bf16, 20) ==
          doctest::Approx(3.3).epsilon(0.05));
}

TEST_CASE("D5: images of Stable Diffusion XL are planned within 30 % on a 4090; the note's A100 is half as fast") {
    // 888 x 1280 pixels, 50 steps: 11.5 s on A100 and 11.4 s on a 4090; eight images 87 s and 80 s. Which software made
    // them is not said; attention whose scores are written out is what web interfaces of 2023 did by default.
    const auto planned = [](const gpu& card, std::int64_t images) {
        const image_request asked{
            .width = 888, .height = 1280, .images = images, .steps = 50, .attention = attention_kernel::eager};
        const auto t =
            image_time(models::stable_diffusion_xl, asked, *standard_cluster(card, 1), runtimes::pytorch.launches);
        REQUIRE(t);
        return t->total();
    };
    const gpu& consumer = gpus::rtx_4090;
    const gpu& a100 = gpus::a100_pcie_40gb;
    CHECK(planned(consumer, 1).expected.in(seconds) == doctest::Approx(11.4).epsilon(0.3));
    CHECK(planned(consumer, 8).expected.in(seconds) == doctest::Approx(80).epsilon(0.3));
    for (const std::int64_t images : {1, 8}) {
        const double measured = images == 1 ? 11.4 : 80;
        CHECK(planned(consumer, images).low.in(seconds) < measured);
        CHECK(planned(consumer, images).high.in(seconds) > measured);
    }
    // An A100 multiplies and moves nearly twice as much a second. That it was no faster, with one image and with eight,
    // no rate of its sheet explains: it took 1.7 times what is expected, as much more as what it could have done.
    CHECK(*a100.rates.fp16 / *consumer.rates.fp16 > 1.8);
    CHECK(a100.memory.bandwidth / consumer.memory.bandwidth > 1.5);
    CHECK(planned(a100, 1).high.in(seconds) > 11.5 * 0.9);
    CHECK(planned(a100, 8).high.in(seconds) > 87 * 0.9);
    CHECK(11.5 / planned(a100, 1).expected.in(seconds) == doctest::Approx(1.7).epsilon(0.05));
    CHECK(87 / planned(a100, 8).expected.in(seconds) == doctest::Approx(1.7).epsilon(0.05));
    // In fp16 the weights fit both, text encoders beside them; a batch shares little, as weights are not the traffic.
    CHECK(approx(weight_bytes(models::stable_diffusion_xl, {})) < approx(consumer.memory.fitted) * 0.3);
    CHECK(planned(consumer, 8).expected / planned(consumer, 1).expected == doctest::Approx(80 / 11.4).epsilon(0.15));
}
