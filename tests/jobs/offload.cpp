// SPDX-License-Identifier: MIT
#include <llmres/jobs/offload.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("what goes to main memory is told from what goes to disks") {
    CHECK_FALSE(offload{}.to_host());
    CHECK_FALSE(offload{.optimizer = offload_place::nvme, .parameters = offload_place::nvme}.to_host());
    CHECK_FALSE(offload{.pinned = true}.to_host());
    CHECK(offload{.optimizer = offload_place::host}.to_host());
    CHECK(offload{.parameters = offload_place::host}.to_host());
    CHECK(offload{.activations = offload_place::host}.to_host());
    CHECK(offload{.modules = layer_part::core_attn}.to_host());
    CHECK(name_of(offload_place::nvme) == "nvme");
}
