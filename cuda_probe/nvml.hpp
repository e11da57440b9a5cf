// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/device.hpp>
#include <map>
#include <string>
#include <vector>

#include "shared_library.hpp"

namespace llmres::probe {

/// The part of NVML's binary interface that the probe knows, declared by ourselves because nvml.h comes with neither
/// every toolkit nor Debian. Facts: NVIDIA's NVML API reference; struct layouts as NVIDIA's Python binding states them.
/// NVML only ever adds versioned functions, so a declaration stays right once it is. tests/probe/vendor_abi.cpp holds
/// these, and how functions are called, against nvml.h.
namespace nvml_abi {

using device_handle = struct opaque_device*;
using code = int;

inline constexpr code success = 0;

inline constexpr unsigned clock_sm = 1;
inline constexpr unsigned clock_memory = 2;
inline constexpr unsigned temperature_gpu = 0;
inline constexpr unsigned threshold_slowdown = 1;
inline constexpr unsigned long long not_available = ~0ULL;

struct memory_v2 {
    unsigned version = static_cast<unsigned>(sizeof(memory_v2)) | (2U << 24);
    unsigned long long total = 0;
    unsigned long long reserved = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;  ///< reserved included
};
static_assert(sizeof(memory_v2) == 40);

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

}  // namespace nvml_abi

/// NVML's functions, and why they may not be called: it could not be loaded, or it does not start.
struct nvml_library {
    shared_library functions;
    std::string unusable{};
};

/// The driver's management library, loaded at run time. Nothing here throws or fails: what NVML cannot tell, or tells
/// implausibly, is a reading without a value that says why.
class nvml {
public:
    /// A device that NVML has, or why it has none, which then answers all that is asked of it.
    using handle = reading<nvml_abi::device_handle>;

    explicit nvml(const std::string& library = "libnvidia-ml.so.1");
    ~nvml();
    nvml(const nvml&) = delete;
    nvml& operator=(const nvml&) = delete;

    /// Why it is not usable; empty if it is.
    const std::string& reason() const { return driver_.unusable; }

    reading<std::int32_t> device_count() const;
    handle by_index(std::int32_t index) const;
    /// By UUID ("GPU-..." or "MIG-..."), which holds whatever order CUDA numbers devices in; else by PCI address.
    handle find(std::string_view uuid, std::string_view pci_bus_id) const;

    /// Puts everything NVML knows of the device into the descriptor; what CUDA said before is not overwritten.
    void describe(const handle& which, device& into) const;

    /// Bytes in use on the device by anyone, the driver's own included.
    reading<byte_count> used(const handle& which) const;
    /// The same when this object was made, which is before anyone here touched CUDA: some of its calls open a context
    /// unasked. Of a MIG instance, now.
    reading<byte_count> used_at_start(const handle& which) const;
    /// Bytes that processes other than this one hold, where the driver shows them.
    reading<byte_count> used_by_others(const handle& which) const;
    /// What the device does now: its clock, its power, and why clocks are lowered (a mask; not that it is idle).
    struct state {
        reading<frequency> sm_clock{};
        reading<power> draw{};
        reading<unsigned long long> throttled{};
    };
    state now(const handle& which) const;
    /// "internal", "single_switch", ... "system": how far apart two devices sit.
    reading<text<31>> topology(const handle& a, const handle& b) const;

private:
    reading<nvml_abi::memory_v2> memory_at_start(const handle& which) const;

    nvml_library driver_;
    std::map<nvml_abi::device_handle, reading<nvml_abi::memory_v2>> at_start_;
};

/// Names of a throttle-reason mask, comma between; "none" for 0.
text<95> throttle_reason_names(unsigned long long mask);

}  // namespace llmres::probe
