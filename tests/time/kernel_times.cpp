// SPDX-License-Identifier: MIT
#include <llmres/time/kernel_times.hpp>

#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

const cluster one{.gpu = gpus::h100_sxm5_80gb};

/// The sum over all kernels of a pass.
template <class Value>
auto sum(const kernel_times& kernels, step_pass pass, Value value) {
    auto all = value(kernel_time{});
    for (const kernel_time& k : kernels.all())
        if (k.pass == pass) all += value(k);
    return all;
}
const auto time_of_kernel = [](const kernel_time& k) { return k.time; };
const auto flops_of_kernel = [](const kernel_time& k) { return k.flops; };

}  // namespace

TEST_CASE("kernels of a decoding step take what the step takes in arithmetic and memory traffic") {
    for (const std::int32_t degree : {1, 4}) {
        const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
        const job j{.model = models::llama_3_1_8b,
                    .batch = 16,
                    .prompt = tokens(1000),
                    .output = tokens(200),
                    .runtime = runtimes::vllm};
        const layout l{.tensor = degree};
        const kernel_times kernels = kernel_times_of(j, l, c);
        const job_speed speed = speed_of(j, l, c, memory_of(j, l, c));
        for (const auto& [pass, whole] :
             {std::pair{step_pass::decode, speed.step}, std::pair{step_pass::prefill, speed.prefill}}) {
            const duration working = whole[time_term::compute].expected + whole[time_term::memory].expected;
            CHECK(sum(kernels, pass, time_of_kernel).in(seconds) == doctest::Approx(working.in(seconds)));
        }
        CHECK(sum(kernels, step_pass::decode, flops_of_kernel).in(flops)*degree ==
              doctest::Approx(speed.flops.in(flops)));
    }
}

TEST_CASE("a backward pass computes its products twice, and attention two and a half times") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const kernel_times kernels = kernel_times_of(j, layout{}, one);
    REQUIRE(kernels.count == 8);
    for (std::size_t k = 0; k < 4; ++k) {
        const kernel_time& forward = kernels.storage[k];
        const kernel_time& backward = kernels.storage[k + 4];
        CHECK(forward.pass == step_pass::forward);
        CHECK(backward.pass == step_pass::backward);
        CHECK(forward.kind == backward.kind);
        if (forward.kind == operation_kind::elementwise) continue;
        CHECK(backward.flops / forward.flops == doctest::Approx(forward.kind == operation_kind::attention ? 2.5 : 2.0));
    }
}

TEST_CASE("no kernel is above the roof, and decoding lies under its slope") {
    for (const model& m : {models::llama_3_1_8b, models::deepseek_v3}) {
        const job j{.model = m, .batch = 4, .prompt = tokens(2000), .output = tokens(100), .runtime = runtimes::vllm};
        const double moves = one.gpu.memory.bandwidth.in(bytes_per_s);
        const kernel_times kernels = kernel_times_of(j, layout{}, one);
        for (const kernel_time& k : kernels.all()) {
            CAPTURE(name_of(k.pass));
            CAPTURE(static_cast<int>(k.kind));
            CHECK(k.rate().in(flops_per_s) <= matrix_rate(one.gpu, k.arithmetic).in(flops_per_s));
            CHECK(k.rate().in(flops_per_s) <= k.intensity() * moves);
            if (k.pass == step_pass::decode && k.kind == operation_kind::projection)
                CHECK(k.rate().in(flops_per_s) > 0.5 * k.intensity() * moves);
            if (k.kind == operation_kind::elementwise) CHECK(k.intensity() == 0);
        }
    }
}

TEST_CASE("on a measured GPU kernels reach as much less of the bandwidth than reads as by the datasheet") {
    cluster measured = one;
    measured.gpu.measured.bandwidth = one.gpu.memory.bandwidth * 0.5;
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    const kernel_time fast = kernel_times_of(j, layout{}, one).storage[0];
    const kernel_time slow = kernel_times_of(j, layout{}, measured).storage[0];
    CHECK(slow.time.in(seconds) / fast.time.in(seconds) == doctest::Approx(reads_of_bandwidth / 0.5).epsilon(0.01));
}

TEST_CASE("a product moves its weight, its inputs and its outputs; what moves nothing has no intensity and no rate") {
    const job j{.model = models::llama_3_1_8b, .batch = 16, .prompt = tokens(1000), .output = tokens(200)};
    const kernel_times kernels = kernel_times_of(j, layout{}, one);
    for (const kernel_time& k : kernels.all())
        if (k.head && k.pass == step_pass::decode)
            CHECK(k.moved == bytes(2 * (std::int64_t{128256} * 4096 + 16 * (4096 + 128256))));
    CHECK(kernel_time{}.intensity() == 0);
    CHECK(kernel_time{}.rate() == flop_rate{});
}

TEST_CASE("a step of training runs the kernels of all layers, the first one included") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const kernel_times kernels = kernel_times_of(j, layout{}, one);
    // Two FLOPs for each of 6,979,321,856 weights of layers and token, forward.
    for (const kernel_time& k : kernels.all())
        if (k.kind == operation_kind::projection && k.pass == step_pass::forward && !k.head)
            CHECK(k.flops.in(flops) == doctest::Approx(2.0 * 6979321856.0 * 4096));
}
