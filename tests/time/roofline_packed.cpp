// SPDX-License-Identifier: MIT
// What products take whose weights are stored as integers, by whose kernels compute them.
#include <doctest/doctest.h>

#include <cmath>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/glm.hpp>
#include <llmres/models/others.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/time/roofline.hpp>

using namespace llmres;

namespace {

/// One kernel on one GPU.
struct one_kernel {
    cluster on;
    runtime_launches launches{};
    layout alone{};

    explicit one_kernel(const gpu& card, packed_code packed = packed_code::streamed)
        : on{standard_cluster(card, 1).value()}, launches{.packed = packed} {}
    detail::priced_pass takes(const operation& o, bool runs_long = false) const {
        detail::pricer price{alone, on, on.gpu, default_efficiency, launches, {runs_long}};
        price(o, 0);
        return price.sum[0];
    }
    double busy(const operation& o, bool runs_long = false) const {
        const detail::priced_pass t = takes(o, runs_long);
        return (t.compute + t.memory).in(seconds);
    }
};

/// Tokens times a weight whose integers take so many bytes each.
operation packed_product(std::int64_t tokens, std::int64_t rows, std::int64_t columns, double bytes_each = 0.5) {
    const double weights = static_cast<double>(rows) * static_cast<double>(columns);
    return {.flops = flops(2.0 * static_cast<double>(tokens) * weights),
            .read = bytes(static_cast<std::int64_t>(weights * bytes_each)),
            .tokens = tokens,
            .rows = rows,
            .columns = columns,
            .packed = true};
}

constexpr double marlin_rate = 128 / (9.25 / 4);  // weights a clock and multiprocessor

}  // namespace

TEST_CASE("while decoding, simple kernels unpack five integer weights a clock and multiprocessor") {
    const operation o = packed_product(1, 40'000, 40'000);
    const one_kernel streamed{gpus::a100_sxm4_80gb}, simple{gpus::a100_sxm4_80gb, packed_code::simple};
    const double read = 0.8e9 / (2039e9 * 0.797);
    CHECK(streamed.busy(o) == doctest::Approx(read).epsilon(1e-3));
    CHECK(simple.busy(o) == doctest::Approx(1.6e9 / (108 * 1.41e9 * 5)).epsilon(1e-3));
    CHECK(simple.busy(o, true) == doctest::Approx(read).epsilon(1e-2));  // prompts unpack a weight for many tokens
    CHECK(simple.takes(o).floors == streamed.takes(o).floors);
    operation plain = o;
    plain.packed = false;
    CHECK(simple.busy(plain) == doctest::Approx(read).epsilon(1e-3));
    const operation wide = packed_product(1, 40'000, 40'000, 8);  // the memory takes longer
    CHECK(simple.busy(wide) == doctest::Approx(16 * read).epsilon(1e-3));
    one_kernel unknown{gpus::a100_sxm4_80gb, packed_code::simple};
    unknown.on.gpu.boost_clock = {};
    unknown.on.gpu.cuda_cores = {};  // 128 of a multiprocessor, as often as the rate of fp32 needs
    CHECK(unknown.busy(o) == doctest::Approx(1.6e9 / (19.5e12 / (2 * 128) * 5)).epsilon(1e-3));
    unknown.on.gpu.rates.fp32 = {};
    CHECK(unknown.busy(o) == doctest::Approx(read).epsilon(1e-3));  // no clock is known: what the memory gives
}

TEST_CASE("Marlin multiplies 16 tokens at least and unpacks each weight, beside the traffic") {
    const one_kernel a100{gpus::a100_sxm4_80gb, packed_code::marlin};
    const double weights = 8192.0 * 8192;
    const double read = weights / 2 / (2039e9 * 0.797), unpacked = weights / (108 * 1.41e9 * marlin_rate);
    const double multiplied = 2 * 16 * weights / (312e12 * 0.748);
    const auto both = [&](double computing) { return std::sqrt(computing * computing + read * read); };
    for (const std::int64_t n : {1, 5, 16})
        CHECK(a100.busy(packed_product(n, 8192, 8192)) == doctest::Approx(both(multiplied + unpacked)).epsilon(1e-3));
    CHECK(a100.busy(packed_product(48, 8192, 8192)) == doctest::Approx(both(3 * multiplied + unpacked)).epsilon(1e-3));
    // Beyond 64 tokens a weight is unpacked again for every 64 of them.
    CHECK(a100.busy(packed_product(128, 8192, 8192)) ==
          doctest::Approx(both(8 * multiplied + 2 * unpacked)).epsilon(1e-3));
    double before = 0;
    for (std::int64_t n = 1; n <= 512; ++n) {
        const double now = a100.busy(packed_product(n, 8192, 8192));
        CHECK(now >= before);
        before = now;
    }
    CHECK(a100.busy(packed_product(0, 8192, 8192)) == 0);
    // Eight bits are read for longer and multiplied alike.
    const double twice = std::sqrt(std::pow(multiplied + unpacked, 2) + 4 * read * read);
    CHECK(a100.busy(packed_product(1, 8192, 8192, 1)) == doctest::Approx(twice).epsilon(1e-3));
}

TEST_CASE("Marlin's instructions reach 0.69 of Hopper's tensor cores and 0.31 of Blackwell's, in prompts as well") {
    CHECK(reach_of_ampere(gpus::a100_sxm4_80gb) == 1);
    CHECK(reach_of_ampere(gpus::rtx_5090) == 1);
    const operation prompt = packed_product(1 << 16, 8192, 8192);
    for (const gpu& card : {gpus::h20_sxm5_96gb, gpus::b200_sxm_180gb}) {
        const double slower = card.id == gpus::h20_sxm5_96gb.id ? 0.35 / 0.51 : 0.16 / 0.51;
        CHECK(reach_of_ampere(card) == doctest::Approx(slower));
        const one_kernel dense{card}, marlin{card, packed_code::marlin};
        const double unpacked = 8192.0 * 8192 * (1 << 16) / 64 / (multiprocessor_clocks(card) * marlin_rate);
        CHECK(marlin.takes(prompt).compute.in(seconds) ==
              doctest::Approx(dense.takes(prompt).compute.in(seconds) / slower + unpacked).epsilon(1e-3));
    }
}

TEST_CASE("blocks of Marlin that share columns wait for each other, so that small products take longest") {
    const one_kernel a100{gpus::a100_sxm4_80gb, packed_code::marlin};
    const auto floor = [&](std::int64_t rows, std::int64_t columns) {
        return a100.takes(packed_product(1, rows, columns)).floors.in(microseconds);
    };
    CHECK(floor(896, 896) == doctest::Approx(3.8 + 0.8 * 7));       // as many blocks as tiles: 7 share a column
    CHECK(floor(5120, 5120) == doctest::Approx(3.8 + 0.8 * 2.7));   // 108 blocks, 40 columns of tiles
    CHECK(floor(5120, 27648) == doctest::Approx(3.8 + 0.8 * 2.7));  // columns beyond change nothing
    operation joined = packed_product(1, 896, 896);
    joined.joined = true;
    CHECK(a100.takes(joined).floors == duration{});
    CHECK(one_kernel{gpus::a100_sxm4_80gb}.takes(packed_product(1, 896, 896)).floors.in(microseconds) ==
          doctest::Approx(3.8));
}

TEST_CASE("runtimes that launch a kernel for each expert take two microseconds for each, chosen or not") {
    one_kernel h20{gpus::h20_sxm5_96gb, packed_code::marlin};
    operation o{.kind = operation_kind::experts, .flops = flops(1), .tokens = 8, .groups = 8};
    o.packed = true, o.each = 128;
    CHECK(h20.takes(o).floors.in(microseconds) == doctest::Approx(10.5));
    h20.launches.experts = routed_code::each;
    CHECK(h20.takes(o).floors.in(microseconds) == doctest::Approx(10.5 + 128 * 2.0 * 2 / 3));
    o.packed = false;  // in 8-bit floats one kernel computes all
    CHECK(h20.takes(o).floors.in(microseconds) == doctest::Approx(10.5));
}

TEST_CASE("Marlin multiplies whole blocks of 16 tokens where arithmetic takes longest") {
    const one_kernel a100{gpus::a100_sxm4_80gb, packed_code::marlin};
    const auto computes = [&](std::int64_t n) {
        operation o = packed_product(n, 8192, 8192);
        o.read = {};
        return a100.takes(o).compute.in(seconds);
    };
    const double weights = 8192.0 * 8192;
    const double block = 2 * 16 * weights / (312e12 * 0.748), unpacked = weights / (108 * 1.41e9 * marlin_rate);
    CHECK(computes(1) == doctest::Approx(block + unpacked));
    CHECK(computes(8) == doctest::Approx(block + unpacked));
    CHECK(computes(32) == doctest::Approx(2 * block + unpacked));
}

TEST_CASE("prompts unpack a weight for many tokens at once: it takes them no longer than to read it") {
    const one_kernel simple{gpus::a100_sxm4_80gb, packed_code::simple};
    operation o = packed_product(1, 40'000, 40'000);
    const double read = 0.8e9 / (2039e9 * 0.797), unpacking = 1.6e9 / (108 * 1.41e9 * 5);
    CHECK(simple.takes(o, true).memory.in(seconds) == doctest::Approx(read).epsilon(1e-2));
    CHECK(simple.takes(o).memory.in(seconds) == doctest::Approx(unpacking).epsilon(1e-3));
}

TEST_CASE("Marlin's product of no tokens is no kernel") {
    const one_kernel marlin{gpus::a100_sxm4_80gb, packed_code::marlin};
    const detail::priced_pass none = marlin.takes(packed_product(0, 4096, 4096));
    CHECK(none.floors == duration{});
    CHECK(none.compute + none.memory == duration{});
    CHECK(marlin.takes(packed_product(1, 0, 4096)).floors == duration{});
    CHECK(marlin.takes(packed_product(1, 4096, 4096)).floors > microseconds(3.8));
}

TEST_CASE("ggml multiplies few tokens by vectors, each of which multiplies anew what is read once") {
    const one_kernel h100{gpus::h100_sxm5_80gb, packed_code::ggml};
    const double weights = 4096.0 * 4096, clocks = 132 * 1.98e9;
    const double unpacked = weights / (13 * clocks), more = 2 * weights / (100 * clocks);
    for (const std::int64_t n : {1, 2, 5, 8}) {
        const detail::priced_pass t = h100.takes(packed_product(n, 4096, 4096));
        CHECK(t.memory.in(seconds) == doctest::Approx(unpacked).epsilon(1e-3));
        CHECK(t.compute.in(seconds) == doctest::Approx(more * static_cast<double>(n - 1)).epsilon(1e-3));
    }
    const operation wide = packed_product(1, 4096, 4096, 1.0625);  // Q8_0: the memory takes longer
    CHECK(h100.busy(wide) == doctest::Approx(weights * 1.0625 / (3352e9 * 0.797)).epsilon(1e-3));
}

TEST_CASE("ggml unpacks a weight for each tile of at most 128 tokens, which it multiplies whole") {
    const one_kernel h100{gpus::h100_sxm5_80gb, packed_code::ggml};
    const double weights = 4096.0 * 4096, clocks = 132 * 1.98e9;
    // Int8 at what Ampere's instructions reach of Hopper's peak, and scales of blocks by CUDA cores.
    const double a_flop = 1 / (1979e12 * 0.655 * 0.35 / 0.51) + 1 / (2000 * clocks);
    const auto tile = [&](double wide) { return weights * (2 / (13 * clocks) + 2 * wide * a_flop); };
    const auto computed = [&](std::int64_t n) { return h100.takes(packed_product(n, 4096, 4096)).compute.in(seconds); };
    CHECK(computed(9) == doctest::Approx(tile(9)).epsilon(2e-3));
    CHECK(computed(128) == doctest::Approx(tile(128)).epsilon(2e-3));
    CHECK(computed(129) == doctest::Approx(2 * tile(128)).epsilon(2e-3));
    CHECK(computed(512) == doctest::Approx(4 * tile(128)).epsilon(2e-3));
    // Inputs are read in fp32 and written in int8 with scales.
    const double quantised = 512 * 4096 * 5.1 / (3352e9 * 0.70);
    CHECK(h100.takes(packed_product(512, 4096, 4096)).memory.in(seconds) == doctest::Approx(quantised).epsilon(2e-3));
}

TEST_CASE("a tile of ggml's routed experts is as wide as if all tokens chose the same one") {
    const one_kernel h100{gpus::h100_sxm5_80gb, packed_code::ggml};
    operation o = packed_product(64 * 8, 768, 2048);  // 64 tokens choose 8 of 128 experts each
    o.kind = operation_kind::experts;
    o.groups = 126, o.chosen = 8;
    const double clocks = 132 * 1.98e9, a_flop = 1 / (1979e12 * 0.655 * 0.35 / 0.51) + 1 / (2000 * clocks);
    const double each = 768.0 * 2048 * (2 / (13 * clocks) + 2 * 64 * a_flop);
    CHECK(h100.takes(o).compute.in(seconds) == doctest::Approx(126 * each).epsilon(2e-3));
    o.tokens = 8 * 8, o.flops = o.flops / 8.0, o.groups = 52;  // 8 tokens: vectors
    CHECK(h100.takes(o).memory.in(seconds) == doctest::Approx(52 * 768.0 * 2048 / (13 * clocks)).epsilon(2e-3));
}

TEST_CASE("without int8 arithmetic, a clock or a rate of fp32, ggml's products are those of the memory") {
    one_kernel v100{gpus::v100_sxm2_32gb, packed_code::ggml};
    CHECK(v100.busy(packed_product(1, 40'000, 40'000)) == doctest::Approx(0.8e9 / (900e9 * 0.797)).epsilon(1e-2));
    const operation o = packed_product(1, 40'000, 40'000);
    const double read = 0.8e9 / (3352e9 * 0.797);
    one_kernel unknown{gpus::h100_sxm5_80gb, packed_code::ggml};
    unknown.on.gpu.boost_clock = {};
    const double clocks = unknown.on.gpu.rates.fp32.value.in(flops_per_s) / (2 * 128);  // as often as fp32 needs
    CHECK(unknown.busy(o) == doctest::Approx(1.6e9 / (clocks * 13)).epsilon(1e-2));
    unknown.on.gpu.rates.fp32 = {};
    CHECK(unknown.busy(o) == doctest::Approx(read).epsilon(1e-2));
}

TEST_CASE("until June 2024 ggml wrote a quantised weight in 16 bits for more than 32 tokens, and cuBLAS summed in 16") {
    const one_kernel card{gpus::rtx_4090, packed_code::dequantised}, streamed{gpus::rtx_4090};
    const operation few = packed_product(32, 8192, 8192), many = packed_product(512, 8192, 8192);
    CHECK(card.busy(few) < streamed.busy(few) * 1.01);
    const double moved = 512 * (8192.0 + 8192) * 6 + 8192.0 * 8192 * 4;
    const double multiplied = 2 * 512 * 8192.0 * 8192 / (330.3e12 * 0.748);
    const detail::priced_pass t = card.takes(many);
    CHECK(t.memory.in(seconds) == doctest::Approx(moved / (1008e9 * 0.70)).epsilon(0.01));
    CHECK(t.compute.in(seconds) == doctest::Approx(multiplied).epsilon(0.02));
}

TEST_CASE("no term of a token whose experts are all its own is negative") {
    for (const model* m : {&models::glm_4_5, &models::kimi_k2, &models::qwen3_coder_480b_a35b})
        for (const std::int64_t batch : {1, 2, 4}) {
            job j{.model = *m, .weights = q4_0, .batch = batch, .runtime = runtimes::llama_cpp};
            j.context = tokens(1024);
            const job_speed speed = plan(j, {}, standard_cluster(gpus::h100_sxm5_80gb, 1).value())->speed;
            for (const interval<duration>& term : speed.step.terms) CHECK(term.low >= duration{});
            for (const interval<duration>& term : speed.prefill.terms) CHECK(term.low >= duration{});
            CHECK(speed.step[time_term::memory].low > duration{});
        }
}
