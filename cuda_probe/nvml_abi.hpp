// SPDX-License-Identifier: MIT
#pragma once

/// The part of NVML's binary interface that the probe calls, declared by ourselves because nvml.h comes with neither
/// every toolkit nor Debian. Facts: NVIDIA's NVML API reference; struct layouts as NVIDIA's Python binding states them.
/// NVML only ever adds versioned functions, so a declaration stays right once it is.
namespace llmres::probe::nvml_abi {

using device_handle = struct opaque_device*;
using code = int;

inline constexpr code success = 0;
inline constexpr code not_supported = 3;
inline constexpr code no_permission = 4;
inline constexpr code not_found = 6;
inline constexpr code insufficient_size = 7;

inline constexpr unsigned clock_sm = 1;
inline constexpr unsigned clock_memory = 2;
inline constexpr unsigned temperature_gpu = 0;
inline constexpr unsigned threshold_slowdown = 1;
inline constexpr unsigned long long not_available = ~0ULL;

inline constexpr unsigned remote_gpu = 0;
inline constexpr unsigned remote_npu = 1;
inline constexpr unsigned remote_switch = 2;

struct memory_v2 {
    unsigned version = static_cast<unsigned>(sizeof(memory_v2)) | (2U << 24);
    unsigned long long total = 0;
    unsigned long long reserved = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;  ///< reserved included
};
static_assert(sizeof(memory_v2) == 40);

struct bar1_memory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

struct pci_info {
    char bus_id_legacy[16]{};
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned pci_device_id = 0;
    unsigned pci_subsystem_id = 0;
    char bus_id[32]{};
};
static_assert(sizeof(pci_info) == 68);

struct process_info {
    unsigned pid = 0;
    unsigned long long used = 0;
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
};
static_assert(sizeof(process_info) == 24);

using no_argument = code();
using text_of_system = code(char*, unsigned);
using number_of_system = code(unsigned*);
using device_by_index = code(unsigned, device_handle*);
using device_by_text = code(const char*, device_handle*);
using device_of_device = code(device_handle, device_handle*);
using text_of_device = code(device_handle, char*, unsigned);
using number_of_device = code(device_handle, unsigned*);
using two_numbers_of_device = code(device_handle, unsigned*, unsigned*);
using number_by_kind = code(device_handle, unsigned, unsigned*);
using wide_of_device = code(device_handle, unsigned long long*);
using memory_of_device = code(device_handle, memory_v2*);
using bar1_of_device = code(device_handle, bar1_memory*);
using pci_of_device = code(device_handle, pci_info*);
using pci_of_link = code(device_handle, unsigned, pci_info*);
using remapped_of_device = code(device_handle, unsigned*, unsigned*, unsigned*, unsigned*);
using processes_of_device = code(device_handle, unsigned*, process_info*);
using level_between = code(device_handle, device_handle, int*);

}  // namespace llmres::probe::nvml_abi
