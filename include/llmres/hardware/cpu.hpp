// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What does a host's own processor do where there is no GPU?
namespace llmres::inline v0 {

/// A host's processor as the only device of a job, as llama.cpp runs without a GPU: all of main memory, its bandwidth
/// (60 GB/s where it is not known: two channels of DDR5-5600 read at two thirds of their peak), and 32 fp32 operations
/// a cycle (two AVX2 units for fused multiply and add) at 3.5 GHz on each core (8 where not known). Refuses a host of
/// unknown memory.
constexpr result<gpu> cpu_of(const host& machine) {
    if (machine.memory <= byte_count{})
        return refused(error_code::missing, "cluster.host.memory", "absent",
                       "the size of main memory, for a CPU alone (--host_memory 64GB)");
    const std::int32_t cores = machine.cores > 0 ? machine.cores : 8;
    gpu card{};
    card.id = std::string_view{"cpu"};
    card.name = std::string_view{"CPU"};
    card.vendor = gpu_vendor::other;
    card.memory = {.marketing = machine.memory, .fitted = machine.memory, .type = "DDR unified"};
    card.memory.reported = card.memory.cuda_visible = machine.memory;
    card.memory.bandwidth = machine.bandwidth > byte_rate{} ? machine.bandwidth : gb_per_s(60);
    card.rates.fp32 = tflops(32 * 3.5e-3 * cores);
    card.links.scale_up_domain = 1;
    return card;
}

}  // namespace llmres::inline v0
