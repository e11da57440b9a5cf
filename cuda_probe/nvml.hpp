// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/device.hpp>
#include <map>
#include <memory>
#include <string>

#include "nvml_abi.hpp"
#include "shared_library.hpp"

namespace llmres::probe {

/// The driver's management library, loaded at run time. Nothing here throws or fails: what NVML cannot tell, or tells
/// implausibly, is a reading without a value that says why.
class nvml {
public:
    struct functions;  ///< nvml_call.hpp
    using handle = nvml_abi::device_handle;

    explicit nvml(const std::string& library = "libnvidia-ml.so.1");
    ~nvml();
    nvml(const nvml&) = delete;
    nvml& operator=(const nvml&) = delete;

    bool usable() const { return reason_.empty(); }
    /// Why it is not usable; empty if it is.
    const std::string& reason() const { return reason_; }

    reading<std::int32_t> device_count() const;
    reading<handle> by_index(std::int32_t index) const;
    /// By UUID ("GPU-..." or "MIG-..."), which holds whatever order CUDA numbers devices in; else by PCI address.
    reading<handle> find(std::string_view uuid, std::string_view pci_bus_id) const;

    /// Puts everything NVML knows of the device into the descriptor; what CUDA said before is not overwritten.
    void describe(handle which, device& into) const;
    /// Memory and who holds it: sizes as they were when this object was made.
    void describe_memory(handle which, device& into) const;

    /// Bytes in use on the device by anyone, the driver's own included.
    reading<byte_count> used(handle which) const;
    /// The same when this object was made, which is before anyone here touched CUDA: some of its calls open a context
    /// unasked. Of a MIG instance, now.
    reading<byte_count> used_at_start(handle which) const;
    /// Bytes that processes other than this one hold, where the driver shows them.
    reading<byte_count> used_by_others(handle which) const;
    /// What the device does now: its clock, its power, and why clocks are lowered (a mask; not that it is idle).
    struct state {
        reading<frequency> sm_clock{};
        reading<power> draw{};
        reading<unsigned long long> throttled{};
    };
    state now(handle which) const;
    /// "internal", "single_switch", ... "system": how far apart two devices sit.
    reading<text<31>> topology(handle a, handle b) const;

private:
    reading<nvml_abi::memory_v2> memory(handle which) const;
    reading<nvml_abi::memory_v2> memory_at_start(handle which) const;
    reading<short_list<device_process, 32>> processes(handle which, reading<std::int32_t>& count) const;
    void describe_identity(handle which, device& into) const;
    void describe_links(handle which, device& into) const;
    void describe_power(handle which, device& into) const;
    handle whole_card(handle which) const;

    shared_library library_;
    std::unique_ptr<functions> call_;
    std::string reason_;
    std::map<handle, reading<nvml_abi::memory_v2>> at_start_;
};

/// "NVML: no permission" and the like.
text<95> nvml_reason(nvml_abi::code code);
/// Names of a throttle-reason mask, comma between; "none" for 0.
text<95> throttle_reason_names(unsigned long long mask);

}  // namespace llmres::probe
