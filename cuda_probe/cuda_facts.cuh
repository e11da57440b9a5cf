// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdio>

#include "cuda_memory.cuh"

/// What the runtime says of a device without opening it. CUDA 13 took clocks and compute mode out of cudaDeviceProp, so
/// attributes are asked one by one, which also gives each its own reason where it cannot be read.
namespace llmres::probe {

inline reading<std::int32_t> attribute(int device, cudaDeviceAttr which) {
    return reading_of([&] {
        int value = 0;
        must("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&value, which, device));
        return std::int32_t{value};
    });
}

inline reading<bool> flag_attribute(int device, cudaDeviceAttr which) {
    const auto raw = attribute(device, which);
    return raw ? reading<bool>{*raw != 0} : reading<bool>::unavailable(raw.why);
}

/// kHz, as CUDA counts clocks.
inline reading<frequency> clock_attribute(int device, cudaDeviceAttr which) {
    const auto raw = attribute(device, which);
    if (!raw) return reading<frequency>::unavailable(raw.why);
    if (*raw <= 0) return reading<frequency>::unavailable("CUDA: the driver does not tell");
    return hertz(1000.0 * *raw);
}

inline const char* architecture_of(int major, int minor) {
    switch (major) {
        case 7:
            return minor >= 5 ? "turing" : "volta";
        case 8:
            return minor >= 9 ? "ada" : "ampere";
        case 9:
            return "hopper";
        case 10:
        case 11:
        case 12:
            return "blackwell";
        default:
            return "unknown";
    }
}

inline text<63> uuid_text(const unsigned char* raw) {
    std::array<char, 48> digits{};
    std::size_t at = 0;
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) digits[at++] = '-';
        std::snprintf(digits.data() + at, 3, "%02x", raw[i]);
        at += 2;
    }
    text<63> made{"GPU-"};  // of a MIG instance "MIG-": describe.cpp asks NVML which it is
    made.append(std::string_view{digits.data(), at});
    return made;
}

inline void describe_device(int device, device_identity& id, device_memory& memory, device_compute& compute) {
    id.index_cuda = device;
    cudaDeviceProp about{};
    const problem wrong = problem_of([&] { must("cudaGetDeviceProperties", cudaGetDeviceProperties(&about, device)); });
    if (wrong.empty()) {
        // The newer driver function gives an instance's own UUID, the property may give the card's.
        decltype(cuDeviceGetUuid)* own_uuid = nullptr;
        resolve_driver(own_uuid, "cuDeviceGetUuid", 11040);
        CUuuid own{};
        const bool told = own_uuid != nullptr && own_uuid(&own, device) == CUDA_SUCCESS;
        id.uuid = uuid_text(reinterpret_cast<const unsigned char*>(told ? own.bytes : about.uuid.bytes));
        id.name = text<63>{std::string_view{about.name}};
        id.architecture = text<31>{architecture_of(about.major, about.minor)};
        memory.cuda_total = bytes(static_cast<std::int64_t>(about.totalGlobalMem));
        compute.capability_major = about.major;
        compute.capability_minor = about.minor;
    } else {
        id.uuid = reading<text<63>>::unavailable(wrong);
        id.name = reading<text<63>>::unavailable(wrong);
        id.architecture = reading<text<31>>::unavailable(wrong);
        memory.cuda_total = reading<byte_count>::unavailable(wrong);
        compute.capability_major = reading<std::int32_t>::unavailable(wrong);
        compute.capability_minor = reading<std::int32_t>::unavailable(wrong);
    }
    id.pci_bus_id = reading_of([&] {
        std::array<char, 32> room{};
        must("cudaDeviceGetPCIBusId", cudaDeviceGetPCIBusId(room.data(), static_cast<int>(room.size()), device));
        return text<31>{std::string_view{room.data()}};
    });
    compute.sm_count = attribute(device, cudaDevAttrMultiProcessorCount);
    compute.sm_clock_max = clock_attribute(device, cudaDevAttrClockRate);
    compute.memory_clock_max = clock_attribute(device, cudaDevAttrMemoryClockRate);
    const auto l2 = attribute(device, cudaDevAttrL2CacheSize);
    memory.l2_cache = l2 ? reading<byte_count>{bytes(*l2)} : reading<byte_count>::unavailable(l2.why);
    memory.bus_width_bits = attribute(device, cudaDevAttrGlobalMemoryBusWidth);
    if (compute.memory_clock_max && memory.bus_width_bits)
        memory.theoretical_bandwidth =
            bytes_per_s(2.0 * compute.memory_clock_max->in(hertz) * *memory.bus_width_bits / 8);
    else
        memory.theoretical_bandwidth = reading<byte_rate>::unavailable("memory clock or bus width unknown");
    memory.allocation.memory_pools_supported = flag_attribute(device, cudaDevAttrMemoryPoolsSupported);
    memory.allocation.managed_memory = flag_attribute(device, cudaDevAttrManagedMemory);
    memory.allocation.pageable_memory_access = flag_attribute(device, cudaDevAttrPageableMemoryAccess);
    memory.allocation.integrated = flag_attribute(device, cudaDevAttrIntegrated);
    // Granularity needs an initialised driver, which counting devices has seen to, but no context.
    const auto granularity = [&](CUmemAllocationGranularity_flags which) {
        return reading_of([&] {
            virtual_memory here;
            here.open(device);
            return bytes(static_cast<std::int64_t>(here.granularity(which)));
        });
    };
    memory.allocation.granularity_minimum = granularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    memory.allocation.granularity_recommended = granularity(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    memory.allocation.virtual_memory_supported = memory.allocation.granularity_minimum.known;
}

}  // namespace llmres::probe
