// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdio>

#include "cuda_memory.cuh"

/// What the runtime says of a device without opening it. CUDA 13 took clocks and compute mode out of cudaDeviceProp, so
/// attributes are asked one by one, which also gives each its own reason where it cannot be read.
namespace llmres::probe {

inline reading<std::int32_t> attribute(int device, cudaDeviceAttr which) {
    return number_of("cudaDeviceGetAttribute",
                     [&](int* value) { return cudaDeviceGetAttribute(value, which, device); });
}

inline bool is_set(int value) { return value != 0; }

inline const char* architecture_of(int major, int minor) {
    if (major == 7) return minor >= 5 ? "turing" : "volta";
    if (major == 8) return minor >= 9 ? "ada" : "ampere";
    return major == 9 ? "hopper" : major >= 10 && major <= 12 ? "blackwell" : "unknown";
}

/// "GPU-..." of a MIG instance, too: NVML is asked which it is (nvml_handle_of() of common.cpp).
inline text<63> uuid_text(const char* raw) {
    std::string made{"GPU"};
    for (int i = 0; i < 16; ++i) {
        std::array<char, 4> digits{};
        const bool first = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        std::snprintf(digits.data(), digits.size(), first ? "-%02x" : "%02x", static_cast<unsigned char>(raw[i]));
        made += digits.data();
    }
    return text<63>{made};
}

inline void describe_device(int device, device_identity& id, device_memory& memory, device_compute& compute) {
    id.index_cuda = device;
    const auto about = reading_of([&] {
        cudaDeviceProp all{};
        must("cudaGetDeviceProperties", cudaGetDeviceProperties(&all, device));
        return all;
    });
    const auto told = [&](auto&& fact) { return then(about, fact); };
    id.uuid = told([&](const auto& all) {
        // The newer driver function gives an instance's own UUID, the property may give the card's.
        auto* const own_uuid = driver_function<decltype(cuDeviceGetUuid)>("cuDeviceGetUuid", 11040);
        CUuuid own{};
        const bool has_own = own_uuid != nullptr && own_uuid(&own, device) == CUDA_SUCCESS;
        return uuid_text(has_own ? own.bytes : all.uuid.bytes);
    });
    id.name = told([](const auto& all) { return text<63>{std::string_view{all.name}}; });
    id.architecture = told([](const auto& all) { return text<31>{architecture_of(all.major, all.minor)}; });
    memory.cuda_total = told([](const auto& all) { return bytes(static_cast<std::int64_t>(all.totalGlobalMem)); });
    compute.capability_major = told([](const auto& all) { return std::int32_t{all.major}; });
    compute.capability_minor = told([](const auto& all) { return std::int32_t{all.minor}; });
    id.pci_bus_id = reading_of([&] {
        std::array<char, 32> room{};
        must("cudaDeviceGetPCIBusId", cudaDeviceGetPCIBusId(room.data(), static_cast<int>(room.size()), device));
        return text<31>{std::string_view{room.data()}};
    });
    compute.sm_count = attribute(device, cudaDevAttrMultiProcessorCount);
    memory.l2_cache = then(attribute(device, cudaDevAttrL2CacheSize), [](int size) { return bytes(size); });
    memory.bus_width_bits = attribute(device, cudaDevAttrGlobalMemoryBusWidth);
    memory.allocation.memory_pools_supported = then(attribute(device, cudaDevAttrMemoryPoolsSupported), is_set);
    memory.allocation.managed_memory = then(attribute(device, cudaDevAttrManagedMemory), is_set);
    memory.allocation.pageable_memory_access = then(attribute(device, cudaDevAttrPageableMemoryAccess), is_set);
    memory.allocation.integrated = then(attribute(device, cudaDevAttrIntegrated), is_set);
    // Granularity needs an initialised driver, which counting devices has seen to, but no context.
    memory.allocation.granularity_minimum = reading_of([&] {
        virtual_memory here;
        here.open(device);
        return here.granularity();
    });
    memory.allocation.virtual_memory_supported = memory.allocation.granularity_minimum.known;
}

}  // namespace llmres::probe
