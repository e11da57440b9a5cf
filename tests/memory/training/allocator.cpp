// SPDX-License-Identifier: MIT
// Against the allocator's own rules: tests/validation/caching_allocator.cpp and deepspeed_streams.cpp.
#include <llmres/memory/training/allocator.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;
using namespace llmres::detail;

namespace {

/// Log-normal lengths of mean 1, whose logarithm has a standard deviation of 0.7.
constexpr double spread = 0.7;
double standardised(double x) { return (std::log(x) + spread * spread / 2) / spread; }
double part_below(double x) { return std::erfc(-standardised(x) / std::sqrt(2.0)) / 2; }

/// By its definition: the sum over k up to 30 of E[longest of k] / k, less E[longest of 30], over the cut, of lengths
/// below the cut. E[longest of k] is the integral of 1 - F(x)^k from 0 to the cut.
double earlier_longest(double cut) {
    constexpr int steps = 2000;
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
        const double below = part_below((i + 0.5) / steps * cut) / part_below(cut);
        double power = 1, of_all = 0;
        for (int k = 1; k <= 30; ++k) {
            power *= below;
            of_all += (1 - power) / k;
        }
        sum += (of_all - (1 - power)) / steps;
    }
    return sum;
}
double harmonic(double n) {
    double sum = 0;
    for (int k = 1; k <= n; ++k) sum += 1.0 / k;
    return sum;
}

void check_interval(const interval<byte_count>& found, double low, double expected, double high) {
    const auto is = [](byte_count b, double want) { return std::abs(b.in(mib)-want) < 0.001 * (want + 1); };
    INFO(found.low.in(mib), " ", found.expected.in(mib), " ", found.high.in(mib));
    CHECK(is(found.low, low));
    CHECK(is(found.expected, expected));
    CHECK(is(found.high, high));
}

/// A step of LoRA on Llama 3.1 8B.
struct small_step {
    job asked{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(2048)};
    layout how{};

    idle_blocks at(const stage_peak& peak) const { return idle_blocks_at(folded_job{asked, how}, peak); }
    idle_blocks of(const stage_peak& peak) const { return idle_blocks_of(folded_job{asked, how}, peak); }
};

}  // namespace

TEST_CASE("a table over powers of two is linear between them, and constant beyond") {
    constexpr std::array<double, 9> table{0, 1, 2, 3, 5, 8, 6, 7, 9};
    for (std::size_t i = 0; i < table.size(); ++i)
        CHECK(between_powers(table, 0.0625 * static_cast<double>(1 << i)) == doctest::Approx(table[i]));
    CHECK(between_powers(table, 0.0) == 0.0);
    CHECK(between_powers(table, 0.09375) == doctest::Approx(0.5));
    CHECK(between_powers(table, 1.25) == doctest::Approx(5.75));
    CHECK(between_powers(table, 12.0) == doctest::Approx(8.0));
    CHECK(between_powers(table, 1000.0) == 9.0);
}

TEST_CASE("lengths of the samples that were the longest so far are those of the distribution") {
    for (double cut = 0.0625; cut <= 16; cut *= 2) {
        INFO(cut);
        CHECK(sum_of_earlier_longest(cut) == doctest::Approx(earlier_longest(cut)).epsilon(0.004));
    }
    CHECK(sum_of_earlier_longest(0) == doctest::Approx(harmonic(31) - 2).epsilon(0.02));
    CHECK(sum_of_earlier_longest(-1) == sum_of_earlier_longest(0));
}

TEST_CASE("after many samples: as harmonic numbers grow, until one of the largest size has come") {
    // Uniform lengths: a sample in `sizes` is of the largest size, and a sum of n is H(n + 1) - 2.
    for (const double sizes : {40.0, 60.0, 119.0, 500.0, 2000.0, 1e9}) {
        INFO(sizes);
        const double samples = 1 / (1e-4 + 1 / sizes);
        CHECK(sum_after_many(0, sizes) == doctest::Approx(harmonic(samples + 1) - 2).epsilon(0.03));
    }
    for (const double sizes : {0.0, 1.0, 20.0, 30.0}) CHECK(sum_after_many(0, sizes) == 2.0);
    // Others: the density at the cut over the mean one.
    for (const double cut : {0.125, 0.5, 1.0, 2.0}) {
        const double at = standardised(cut);
        const double density = std::exp(-at * at / 2) / std::sqrt(2 * std::acos(-1.0)) / spread / part_below(cut);
        const double samples = 1 / (1e-4 + density / 800);
        INFO(cut);
        CHECK(sum_after_many(cut, 800) ==
              doctest::Approx(sum_of_earlier_longest(cut) + std::log(samples / 30)).epsilon(0.04));
    }
}

TEST_CASE("samples of many lengths: old blocks of logits by that sum, of the rest by the simulation's parts") {
    const idle_blocks all = blocks_of_varied_lengths(mib(300), mib(100));
    check_interval(all.releasable, 0, 200 + 100 * 2.0, 3 * 200 + 100 * sum_after_many(0, 50));  // 50 steps of 2 MiB
    check_interval(all.fragmented, 0, 30, 45);
    const idle_blocks cut = blocks_of_varied_lengths(mib(300), mib(100), 1.0);
    check_interval(cut.releasable, 0, 200 + 100 * 2.152, 3 * 200 + 100 * sum_after_many(1.0, 50));
    const idle_blocks kept = blocks_of_varied_lengths(mib(300), mib(100), 0, false);
    check_interval(kept.releasable, 0, 0.3 * 200 + 200, 1.1 * 200 + 100 * sum_after_many(0, 50));
    check_interval(kept.fragmented, 0, 0.16 * 300, 0.25 * 300);
    // No more sizes than tokens, where there are fewer tokens than steps.
    check_interval(blocks_of_varied_lengths(mib(3000), mib(1000), 0, true, tokens(100)).releasable, 0, 4000,
                   3 * 2000 + 1000 * sum_after_many(0, 100));
    check_interval(blocks_of_varied_lengths(mib(3000), mib(1000), 0, true, tokens(900)).releasable, 0, 4000,
                   3 * 2000 + 1000 * sum_after_many(0, 500));
    check_interval(blocks_of_varied_lengths(mib(50), mib(100)).releasable, 0, 200, 100 * sum_after_many(0, 50));
}

TEST_CASE("blocks left by FSDP1's wrapping: of those that a step goes beyond, 30 % are expected to be of no use") {
    check_interval(unused_after_wrapping(mib(100), mib(50)), 0, 0, 100);
    check_interval(unused_after_wrapping(mib(100), mib(150)), 0, 15, 100);
    check_interval(unused_after_wrapping(mib(100), mib(400)), 0, 30, 100);
    small_step s;
    s.asked.runtime.allocator.caches_freed_blocks = true;
    stage_peak peak{.point = peak_point::loss_forward, .size = mib(900), .reserved = mib(940), .transient = mib(400)};
    peak.wrapping = mib(100);
    check_interval(s.of(peak).releasable, 2, 30, 140);
    peak.reserved = mib(980);
    check_interval(s.of(peak).releasable, 4, 40, 180);
}

TEST_CASE(
    "blocks that one phase leaves and no other uses: half of one stream's, all where ranks exchange; none surely in "
    "the "
    "optimizer's step") {
    small_step s;
    stage_peak peak{
        .point = peak_point::loss_forward, .size = mib(900), .reserved = mib(1000), .activations = mib(400)};
    peak.tensors.activations = mib(300);
    // An allocator that returns what is freed holds no idle blocks, only what lies between.
    s.asked.runtime.allocator.caches_freed_blocks = false;
    check_interval(s.at(peak).fragmented, 100, 100, 100);
    check_interval(s.at(peak).releasable, 0, 0, 0);
    s.asked.runtime.allocator.caches_freed_blocks = true;
    s.asked.runtime.allocator.activation_fragmentation = {0.0, 0.1, 0.3};
    // Gaps are of the 100 MiB of activations that are freed by then.
    check_interval(s.at(peak).fragmented, 0, 10, 10);
    check_interval(s.at(peak).releasable, 5, 50, 120);
    s.how.data = 2;
    check_interval(s.at(peak).releasable, 25, 100, 120);
    peak.point = peak_point::optimizer_step;
    check_interval(s.at(peak).releasable, 0, 100, 120);
    s.how.data = 1;
    check_interval(s.at(peak).releasable, 0, 50, 120);
    peak.reserved = mib(800);
    check_interval(s.at(peak).releasable, 0, 0, 20);
    s.asked.runtime.allocator.expandable_segments = true;
    check_interval(s.at(peak).fragmented, 0, 0, 0);
    peak.tensors.activations = mib(400);
    check_interval(s.at(peak).releasable, 0, 0, 0);
    CHECK(s.of(peak).releasable.high == byte_count{});
}

TEST_CASE("blocks that one phase leaves serve longer samples, too: the larger of both, and nothing surely") {
    small_step s;
    s.asked.runtime.allocator.caches_freed_blocks = true;
    s.asked.varied_lengths = true;
    s.asked.recompute = recompute::full;
    stage_peak peak{.point = peak_point::loss_forward,
                    .size = mib(900),
                    .reserved = mib(1000),
                    .transient = mib(300),
                    .logits = mib(100)};
    const double most = 600 + 100 * sum_after_many(0, 50);
    check_interval(s.of(peak).releasable, 0, 400, most);
    check_interval(s.of(peak).fragmented, 0, 30, 45);
    peak.reserved = mib(3000);
    check_interval(s.of(peak).releasable, 0, 1050, 2100);
    s.asked.mean_length = tokens(1024);  // cut at twice the mean
    peak.reserved = mib(900);
    check_interval(s.of(peak).releasable, 0, 200 + 166.5, 600 + 100 * sum_after_many(2.0, 50));
    s.asked.recompute = recompute::none;
    check_interval(s.of(peak).releasable, 0, 60 + 166.5, 220 + 100 * sum_after_many(2.0, 50));
}

TEST_CASE("FSDP1 gathers two units on a stream of its own, but for the backward pass, which has them counted") {
    small_step s;
    s.asked.runtime = runtimes::huggingface;
    s.how = {.data = 4, .zero = 3};
    const folded_job f{s.asked, s.how};
    stage_peak peak{.point = peak_point::loss_forward, .size = mib(900), .reserved = mib(1000)};
    const byte_count units = f.widest.gathered * 2;
    CHECK(units > byte_count{});
    CHECK(s.at(peak).releasable.high == mib(100) + units);
    peak.point = peak_point::last_layer_backward;
    CHECK(s.at(peak).releasable.high == mib(100));
    s.how.zero = 2;
    peak.point = peak_point::loss_forward;
    CHECK(s.at(peak).releasable.high == mib(100));
}

TEST_CASE("DeepSpeed: checkpoints' gaps, a tenth of activations that are recomputed, and blocks of loaded weights") {
    small_step s;
    stage_peak peak{.point = peak_point::last_layer_backward, .size = mib(900), .reserved = mib(1000)};
    peak.activations = peak.tensors.activations = mib(200);
    peak.cut = mib(7);
    peak.flattened = mib(11);
    s.asked.recompute = recompute::full;
    const auto gaps = [&] { return deepspeed_gaps(folded_job{s.asked, s.how}, peak); };
    check_interval(gaps(), 7, 18, 18 + 20);
    s.asked.recompute_every = 2;
    check_interval(gaps(), 7, 18, 18 + 54);
    s.asked.recompute_every = 1;
    s.asked.recompute = recompute::none;
    check_interval(gaps(), 7, 18, 18 + 54);
    s.asked.runtime.allocator.caches_freed_blocks = true;
    check_interval(s.at(peak).fragmented, 0, 0, 0);
    s.asked.runtime.allocator.gaps_by_step = true;
    check_interval(s.at(peak).fragmented, 7, 18, 18 + 54);
    s.asked.runtime.allocator.expandable_segments = true;
    check_interval(s.at(peak).fragmented, 0, 0, 0);
    // With the blocks of the weights as they were loaded more was held at once: they are there if they are more.
    peak.loaded = mib(950);
    check_interval(s.at(peak).releasable, 5, 50, 100);
    peak.loaded = mib(1200);
    check_interval(s.at(peak).releasable, 5, 300, 300);
}

TEST_CASE("DeepSpeed's ZeRO 3: blocks of weights and gradients that wait for another stream") {
    small_step s;
    s.asked.runtime = runtimes::deepspeed;
    s.asked.runtime.allocator.caches_freed_blocks = true;
    s.asked.attention = attention_kernel::flash;
    s.how = {.data = 4, .zero = 3};
    stage_peak peak{.point = peak_point::last_layer_backward, .size = mib(900), .reserved = mib(1000)};
    peak.details.gathered = gib(16);
    peak.details.reduced = gib(16);
    for (const bool waits : {false, true})
        for (const std::int64_t unused : {100, 100'000}) {
            peak.reserved = peak.size + mib(unused);
            s.asked.runtime.kernels.modules = waits ? module_code::transformers : module_code::own;
            const folded_job f{s.asked, s.how};
            REQUIRE(waits_in_attention(f.job, f.context) == waits);
            const interval<byte_count> weights =
                late_weights_of(f.job, f.layout, f.context, gib(16), f.widest.gathered);
            const byte_count gradients = late_gradients_of(f.job, f.context, gib(16), f.widest.gradients.whole);
            const byte_count bucket = bucket_of(f.job, f.context, gib(16));
            REQUIRE(bucket > byte_count{});
            REQUIRE(f.widest.gathered > byte_count{});
            const idle_blocks idle = s.at(peak);
            const byte_count held = gradients > mib(unused) ? gradients : mib(unused);
            CHECK(idle.releasable.expected == weights.expected + held);
            // At most one layer's weights are joined besides, and two further buckets.
            const byte_count joined = f.widest.gathered + bucket + bucket;
            if (waits) {
                CHECK(idle.releasable.low == mib(unused) + weights.low);
                CHECK(idle.releasable.high == weights.expected + held + joined);
                CHECK(idle.buckets == bucket);
            } else {
                const byte_count most = scaled_up(gradients, 1.0 + 1.0 / reductions_under_way);
                CHECK(idle.releasable.high == (most > mib(unused) ? most : mib(unused)) + weights.high + joined);
                CHECK(idle.buckets == weights.expected + gradients);
            }
        }
    // Other stages of ZeRO, and one rank, have none of it.
    peak.reserved = mib(1000);
    for (const layout& other : {layout{.data = 4, .zero = 2}, layout{.zero = 3}}) {
        s.how = other;
        CHECK(s.at(peak).buckets == byte_count{});
        CHECK(s.at(peak).releasable.high == mib(100));
    }
    s.how = {.data = 2, .zero = 3};
    CHECK(s.at(peak).buckets > byte_count{});
}
