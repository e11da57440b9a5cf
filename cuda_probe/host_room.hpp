// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <fstream>
#include <llmres/hardware/device.hpp>
#include <optional>
#include <string>

/// How much of a device's memory is the host's to give: on integrated GPUs (Jetson, GB10) the two are one, and under
/// WSL2 the host pages for the device. What is allocated beyond that is taken from every process of the machine.
namespace llmres::probe {

/// `MemAvailable` of /proc/meminfo. `root`: where the kernel's files are; another folder in tests.
inline std::optional<byte_count> available_on_host(const std::string& root = "") {
    std::ifstream in{root + "/proc/meminfo"};
    std::string key, unit;
    for (std::int64_t value = 0; in >> key >> value; std::getline(in, unit))
        if (key == "MemAvailable:") return kib(value);
    return {};
}

/// What the cgroup's limit leaves (version 2; version 1 where there is none): no value where it sets none.
inline std::optional<byte_count> left_by_cgroup(const std::string& root = "") {
    for (const auto& [limit, used] :
         {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
          std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
        std::int64_t allowed = 0, taken = 0;
        const bool said = (std::ifstream{root + limit} >> allowed) && (std::ifstream{root + used} >> taken);
        if (said && allowed < (std::int64_t{1} << 60)) return bytes(std::max<std::int64_t>(allowed - taken, 0));
    }
    return {};
}

/// What may be allocated on that device so that the host keeps what others need: no value where the device's memory is
/// its own. 256 MiB are left to the host.
inline std::optional<byte_count> host_room(const device& live, const std::string& root = "") {
    std::string release;
    std::getline(std::ifstream{root + "/proc/sys/kernel/osrelease"}, release);
    const bool under_wsl = release.find("icrosoft") != std::string::npos;
    if (!live.memory.allocation.integrated.value_or(false) && !under_wsl) return {};
    std::optional<byte_count> least = available_on_host(root);
    if (const auto limit = left_by_cgroup(root); limit && (!least || *limit < *least)) least = limit;
    if (!least) return byte_count{};  // a host that does not say what it has is asked for nothing
    return *least > mib(256) ? *least - mib(256) : byte_count{};
}

}  // namespace llmres::probe
