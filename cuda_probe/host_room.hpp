// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <llmres/hardware/device.hpp>
#include <optional>
#include <string>

/// How much of a device's memory is the host's to give: on integrated GPUs (Jetson, GB10) the two are one, and under
/// WSL2 the host pages for the device. Whoever takes more there takes it from every process of the machine.
namespace llmres::probe {

/// Where the kernel says what is left; another root in tests.
struct host_files {
    std::string root = "";
};

/// `MemAvailable` of /proc/meminfo.
inline std::optional<byte_count> available_on_host(const host_files& files = {}) {
    std::ifstream in{files.root + "/proc/meminfo"};
    std::string key, unit;
    for (std::int64_t value = 0; in >> key >> value; std::getline(in, unit))
        if (key == "MemAvailable:") return kib(value);
    return {};
}

/// What the cgroup's limit leaves (version 2; version 1 where there is none): no value where it sets none.
inline std::optional<byte_count> left_by_cgroup(const host_files& files = {}) {
    const auto number = [&](const char* path) -> std::optional<std::int64_t> {
        std::ifstream in{files.root + path};
        std::int64_t value = 0;
        return in >> value ? std::optional{value} : std::nullopt;
    };
    for (const auto& [limit, used] :
         {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
          std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
        const auto most = number(limit);
        const auto now = number(used);
        if (most && now && *most < (std::int64_t{1} << 60)) return bytes(*most > *now ? *most - *now : 0);
    }
    return {};
}

/// True under the Windows Subsystem for Linux.
inline bool under_wsl(const host_files& files = {}) {
    std::ifstream in{files.root + "/proc/sys/kernel/osrelease"};
    std::string release;
    std::getline(in, release);
    return release.find("icrosoft") != std::string::npos;
}

/// What may be allocated on that device so that the host keeps what others need: no value where the device's memory is
/// its own. 256 MiB are left to the host.
inline std::optional<byte_count> host_room(const device& live, const host_files& files = {}) {
    const auto shared = live.memory.allocation.integrated;
    if (!(shared && *shared) && !under_wsl(files)) return {};
    std::optional<byte_count> least = available_on_host(files);
    if (const auto limit = left_by_cgroup(files); limit && (!least || *limit < *least)) least = limit;
    if (!least) return byte_count{};  // a host that does not say what it has is asked for nothing
    return *least > mib(256) ? *least - mib(256) : byte_count{};
}

}  // namespace llmres::probe
