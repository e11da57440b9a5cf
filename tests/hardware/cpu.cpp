// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/hardware/cpu.hpp>
#include <llmres/values/units.hpp>

using namespace llmres;

namespace {

constexpr host workstation() {
    host made{};
    made.memory = gib(64);
    made.cores = 16;
    made.bandwidth = gb_per_s(80);
    return made;
}

}  // namespace

TEST_CASE("a processor has all of its host's memory, at the host's bandwidth") {
    constexpr gpu card = cpu_of(workstation()).value();
    CHECK(card.memory.fitted == gib(64));
    CHECK(card.memory.cuda_visible == gib(64));
    CHECK(card.memory.bandwidth == gb_per_s(80));
}

TEST_CASE("its fp32 rate is 32 operations a cycle at 3.5 GHz on each core") {
    CHECK(cpu_of(workstation())->rates.fp32 == tflops(32 * 3.5e-3 * 16));
    host unknown_cores = workstation();
    unknown_cores.cores = 0;
    CHECK(cpu_of(unknown_cores)->rates.fp32 == tflops(32 * 3.5e-3 * 8));
}

TEST_CASE("an unknown bandwidth is taken as 60 GB/s") {
    host slow = workstation();
    slow.bandwidth = {};
    CHECK(cpu_of(slow)->memory.bandwidth == gb_per_s(60));
}

TEST_CASE("a host whose main memory is unknown is refused by that field") {
    const auto refusal = cpu_of(host{});
    REQUIRE_FALSE(refusal);
    CHECK(refusal.error().code == error_code::missing);
    CHECK(refusal.error().field.view() == "cluster.host.memory");
}
