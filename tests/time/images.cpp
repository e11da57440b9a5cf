// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/time/images.hpp>

using namespace llmres;

namespace {

const cluster one = standard_cluster(gpus::h100_sxm5_80gb, 1).value();

double seconds_of(const image_request& asked, const cluster& c = one, const runtime_launches& by = {}) {
    return image_time(models::stable_diffusion_xl, asked, c, by).value().total().expected.in(seconds);
}

}  // namespace

TEST_CASE("images take as long as their steps, and what is guided nearly twice as long") {
    image_request asked;
    const double fifty = seconds_of(asked);
    asked.steps = 100;
    CHECK(seconds_of(asked) == doctest::Approx(2 * fifty));
    asked.steps = 50;
    asked.guided = false;
    CHECK(seconds_of(asked) < 0.65 * fifty);
    CHECK(seconds_of(asked) > 0.5 * fifty);
}

TEST_CASE("no image gets quicker where it is larger, where there are more, and where attention is written out") {
    const double usual = seconds_of({});
    CHECK(seconds_of({.width = 1032}) > usual);
    CHECK(seconds_of({.height = 1032}) > usual);
    CHECK(seconds_of({.text = 154}) > usual);
    CHECK(seconds_of({.attention = attention_kernel::eager}) > usual);
    const double eight = seconds_of({.images = 8});
    CHECK(eight > 6 * usual);
    CHECK(eight < 8 * usual);  // the weights are read once for all
}

TEST_CASE("no image gets slower on a GPU with more bandwidth or a higher rate") {
    const double usual = seconds_of({});
    cluster faster = one;
    faster.gpu.memory.bandwidth = faster.gpu.memory.bandwidth * 2;
    CHECK(seconds_of({}, faster) < usual);
    faster = one;
    faster.gpu.rates.fp16 = *faster.gpu.rates.fp16 * 2;
    CHECK(seconds_of({}, faster) <= usual);
}

TEST_CASE("where the CPU issues blocks more slowly than the GPU computes them, a step takes what it takes") {
    runtime_launches slow{.layer = seconds(1)};
    // 17 residual blocks, 70 transformer blocks.
    CHECK(seconds_of({.steps = 1}, one, slow) == doctest::Approx(87));
    CHECK(seconds_of({}, one, runtimes::pytorch.launches) >= seconds_of({}));
}

TEST_CASE("what is not known of a GPU widens the bounds of images, too") {
    cluster unknown = one;
    unknown.gpu.board_power = {};
    const auto with = image_time(models::stable_diffusion_xl, {}, one).value().total();
    const auto without = image_time(models::stable_diffusion_xl, {}, unknown).value().total();
    CHECK(without.high / without.expected > with.high / with.expected);
}

TEST_CASE("impossible images are refused by the name of their field") {
    const auto error = [](const image_request& asked, const cluster& c = one) {
        return image_time(models::stable_diffusion_xl, asked, c).error();
    };
    CHECK(error({.width = 0}).field == "width");
    CHECK(error({.height = -1}).field == "height");
    CHECK(error({.images = 0}).field == "images");
    CHECK(error({.steps = 0}).field == "steps");
    CHECK(error({.text = 0}).field == "text");
    CHECK(error({.compute = nvfp4}).field == "compute");  // Hopper has no such units
    cluster unrated = one;
    unrated.gpu.rates = {.fp64 = tflops(10)};
    CHECK(error({}, unrated).field == "cluster.gpu.rates");
    unet nothing;
    CHECK(image_time(nothing, {}, one).error().field == "levels");
}

TEST_CASE("times of images are constant expressions") {
    constexpr auto t = image_time(models::stable_diffusion_xl, {.images = 2}, cluster{.gpu = gpus::a100_sxm4_80gb});
    static_assert(t && t->total().expected > seconds(1));
}

TEST_CASE("a network with more blocks has more to issue") {
    unet larger = models::stable_diffusion_xl;
    larger.blocks = 3;
    // Two blocks beside the levels and ten in the middle; at each of three levels three blocks on the way down and four
    // on the way up, each with none, two or ten transformer blocks behind it.
    CHECK(detail::unet_blocks(larger) == 2 + 10 + 7 * (1 + 3 + 11));
    CHECK(detail::unet_blocks(models::stable_diffusion_xl) == 2 + 10 + 5 * (1 + 3 + 11));
}

TEST_CASE("no kernel of an image takes less than its floor") {
    double floors = 0;
    for_each_operation(models::stable_diffusion_xl, {}, [&](const operation& o, std::size_t) {
        if (o.kind == operation_kind::elementwise)
            floors += 2;
        else if (o.kind == operation_kind::attention)
            floors += 10.7;
        else if (!o.joined)
            floors += 3.8;
    });
    const time_breakdown step = image_time(models::stable_diffusion_xl, {.steps = 1}, one).value();
    CHECK(step[time_term::launch].expected.in(microseconds) == doctest::Approx(floors));
}

TEST_CASE("images keep a GPU busy for long: its power limits them, but for a GPU whose rates were measured") {
    cluster limited = one;
    limited.power_limit = watts(100);
    CHECK(seconds_of({}, limited) > 2 * seconds_of({}));
    cluster measured = one;
    measured.gpu.measured = {.bandwidth = gb_per_s(3000), .fp16 = tflops(650)};
    cluster unknown = measured;
    unknown.gpu.board_power = {};
    const auto of = [](const cluster& c) { return image_time(models::stable_diffusion_xl, {}, c).value().total(); };
    CHECK(of(unknown) == of(measured));
}
