// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <llmres/memory/tensor_stream.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/runtimes/all.hpp>

#include "../training_jobs.hpp"

using namespace training_jobs;

TEST_CASE("what ranks keep of gradients is another stream's under FSDP1, and the weight's own stream's elsewhere") {
    const auto reduced = [](const runtime& r, const layout& l) {
        job j = full();
        j.runtime = r;
        byte_count sum;
        for_each_tensor_event(j, l, gpus::h100_sxm5_80gb, 0, 1, [&](const tensor_event& e) {
            if (e.stream == tensor_stream::reduction) sum += e.size;
        });
        return sum;
    };
    const layout sharded{.data = 8, .zero = 3};
    job j = full();
    j.runtime = runtimes::huggingface;
    CHECK(reduced(j.runtime, sharded).in(gib) ==
          doctest::Approx(training_state_of(j, sharded).gradients.kept.in(gib)).epsilon(0.001));
    CHECK(reduced(j.runtime, {}) == byte_count{});
    CHECK(reduced(runtimes::torchtitan, sharded) == byte_count{});
}
