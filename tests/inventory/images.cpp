// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/images.hpp>
#include <llmres/models/diffusion.hpp>

using namespace llmres;

namespace {

struct sums {
    double products = 0, attention = 0;  ///< FLOPs
    double traffic = 0;                  ///< bytes
    std::int64_t kernels = 0;
};

sums sums_of(const unet& network, const image_request& asked) {
    sums s;
    for_each_operation(network, asked, [&](const operation& o, std::size_t pass) {
        CHECK(pass == 0);
        (o.kind == operation_kind::attention ? s.attention : s.products) += o.flops.in(flops);
        s.traffic += static_cast<double>((o.read + o.written).in(bytes));
        ++s.kernels;
    });
    return s;
}

}  // namespace

TEST_CASE("a pass through a UNet multiplies by each weight once for each position it is used at") {
    // One level: every weight but those of time and text is used at all 64 x 64 positions.
    const unet flat{.levels = 1, .channels = {320}, .depth = {0}, .blocks = 1, .middle_depth = 0};
    double once = 0, everywhere = 0;
    for_each_placed_weight(flat, [&](const weight& w, const unet_place& at) {
        if (w.role == weight_role::bias || w.role == weight_role::norm) return;
        (at.input == unet_input::image ? everywhere : once) += static_cast<double>(w.count().in(parameters));
    });
    const sums s = sums_of(flat, {.width = 512, .height = 512, .guided = false});
    CHECK(s.products == doctest::Approx(2 * (everywhere * 64 * 64 + once)));
    CHECK(s.attention == 0);
}

TEST_CASE("a convolution reads each feature of its input once, and what follows a norm reads two tensors") {
    // Implicit GEMM: a filter of 3 x 3 reads a position nine times from the cache. A norm reads and writes its tensor;
    // the activation behind it, or the sum that its branch ends in, reads two and writes one. 16 bits each.
    const unet flat{.levels = 1, .channels = {320}, .depth = {0}, .blocks = 1, .middle_depth = 0};
    double moved = 0;
    for_each_placed_weight(flat, [&](const weight& w, const unet_place& at) {
        if (w.role == weight_role::bias) return;
        const double n = at.input == unet_input::image ? 64 * 64 : at.input == unet_input::text ? 77 : 1;
        const auto rows = static_cast<double>(w.rows), columns = static_cast<double>(w.columns);
        const auto copies = static_cast<double>(w.copies);
        if (w.role == weight_role::norm)
            moved += copies / 2 * n * columns * (2 + 3);
        else
            moved += copies * (rows * columns + n * (w.role == weight_role::conv ? columns / 9 : columns) + n * rows);
    });
    CHECK(sums_of(flat, {.width = 512, .height = 512, .guided = false}).traffic == doctest::Approx(2 * moved));
}

TEST_CASE("Stable Diffusion XL computes what is published of it") {
    // 5,979,098 MFLOP at 1024 x 1024 pixels, attention's own products apart (diffusers/benchmarks on the Hub,
    // collated_results.csv: what a profiler of modules counts of SDXL's UNet).
    const sums large = sums_of(models::stable_diffusion_xl, {.guided = false});
    CHECK(large.products == doctest::Approx(5.979098e12).epsilon(0.005));
    // 10 blocks at 64 x 64 positions and 640 features, 60 at 32 x 32 and 1,280; keys are positions, and 77 tokens.
    CHECK(large.attention ==
          doctest::Approx(4.0 * (10 * 4096.0 * (4096 + 77) * 640 + 60 * 1024.0 * (1024 + 77) * 1280)));
}

TEST_CASE("images and guidance multiply what is computed, not the weights that are read") {
    const sums one = sums_of(models::stable_diffusion_xl, {.guided = false});
    const sums two = sums_of(models::stable_diffusion_xl, {.images = 2, .guided = false});
    const sums guided = sums_of(models::stable_diffusion_xl, {});
    CHECK(two.products == doctest::Approx(2 * one.products));
    CHECK(two.attention == doctest::Approx(2 * one.attention));
    CHECK(two.traffic < 2 * one.traffic);
    CHECK(guided.products == two.products);
    CHECK(guided.traffic == two.traffic);
    CHECK(one.kernels == two.kernels);
}

TEST_CASE("sides that the levels do not divide are rounded up, as strided convolutions do") {
    const sums whole = sums_of(models::stable_diffusion_xl, {.width = 896, .height = 1280});
    const sums cut = sums_of(models::stable_diffusion_xl, {.width = 888, .height = 1280});
    CHECK(cut.products < whole.products);
    CHECK(cut.products > whole.products * 111 / 112);  // the lower levels are as wide
}

TEST_CASE("attention that is written out moves its scores, and computes as much") {
    const sums fused = sums_of(models::stable_diffusion_xl, {});
    const sums eager = sums_of(models::stable_diffusion_xl, {.attention = attention_kernel::eager});
    CHECK(eager.attention == fused.attention);
    // At least one read and one write of each score of 10 and 20 heads, in 16 bits.
    const double scores = 2.0 * 2 * (10 * 10 * 4096.0 * 4096 + 60 * 20 * 1024.0 * 1024);
    CHECK(eager.traffic - fused.traffic > 2 * scores);
}
