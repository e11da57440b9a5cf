// SPDX-License-Identifier: MIT
// A libnvidia-ml.so.1 for tests: two whole GPUs and one instance of a third, or, by the environment variable
// LLMRES_FAKE_NVML, a driver that fails, that supports nothing, that permits nothing, or that talks nonsense.
// Everything it says is made up.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "nvml.hpp"

using namespace llmres::probe::nvml_abi;

namespace llmres::probe::nvml_abi {
struct opaque_device {
    const char* uuid;
    const char* name;
    const char* pci;
    unsigned index;
    bool instance;
};
}  // namespace llmres::probe::nvml_abi

namespace {

// Codes of nvmlReturn_t that a driver answers with.
constexpr code not_supported = 3, no_permission = 4, not_found = 6, insufficient_size = 7;

opaque_device gpus[] = {
    {"GPU-51515151-0000-4000-8000-000000000000", "Simulated device", "00000000:01:00.0", 0, false},
    {"GPU-51515151-0000-4000-8000-000000000001", "Simulated device", "00000000:02:00.0", 1, false},
    {"GPU-51515151-0000-4000-8000-000000000002", "Simulated device", "00000000:03:00.0", 2, false},
};
opaque_device instance = {"MIG-51515151-0000-4000-8000-0000000000a0", "Simulated device MIG 1g.10gb",
                          "00000000:03:00.0", 2, true};

enum class mood { good, errors, unsupported, unpermitted, nonsense, init_fails, lost };

mood now() {
    const char* said = std::getenv("LLMRES_FAKE_NVML");
    const std::string_view name = said ? said : "good";
    if (name == "errors") return mood::errors;
    if (name == "unsupported") return mood::unsupported;
    if (name == "no_permission") return mood::unpermitted;
    if (name == "nonsense") return mood::nonsense;
    if (name == "init_fails") return mood::init_fails;
    if (name == "lost") return mood::lost;
    return mood::good;
}

/// The questions about devices, whose number is told in the end: in the file that LLMRES_FAKE_NVML_LOG names.
struct questions {
    std::atomic<int> asked{0};
    ~questions() {
        if (const char* log = std::getenv("LLMRES_FAKE_NVML_LOG"))
            if (std::FILE* file = std::fopen(log, "w")) {
                std::fprintf(file, "%d\n", asked.load());
                std::fclose(file);
            }
    }
};
questions all;

/// What the mood makes of any question about a device; success if it may be answered.
code allowed() {
    static const char* const fails = std::getenv("LLMRES_FAKE_NVML_FAIL");  // this question is not answered
    if (++all.asked == (fails != nullptr ? std::atoi(fails) : 0)) return 999;
    switch (now()) {
        case mood::errors: return 999;
        case mood::unsupported: return not_supported;
        case mood::unpermitted: return no_permission;
        case mood::lost: return 15;
        default: return success;
    }
}
bool mad() { return now() == mood::nonsense; }

code say(char* room, unsigned length, const char* words) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    if (mad()) {
        std::memset(room, 0xC3, length);  // neither text nor terminated
        return success;
    }
    if (std::strlen(words) + 1 > length) return insufficient_size;
    std::strcpy(room, words);
    return success;
}
code say(unsigned* into, unsigned number, unsigned madness = 0xdeadbeef) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    *into = mad() ? madness : number;
    return success;
}

}  // namespace

extern "C" {

code nvmlInit_v2() { return now() == mood::init_fails ? 9 : success; }
code nvmlShutdown() { return success; }
const char* nvmlErrorString(code said) {
    switch (said) {
        case not_supported: return "Not Supported";
        case no_permission: return "Insufficient Permissions";
        case not_found: return "Not Found";
        case 9: return "Driver Not Loaded";
        case 13: return "Function Not Found";
        case 15: return "GPU is lost";
        default: return "Unknown Error";
    }
}
code nvmlSystemGetDriverVersion(char* room, unsigned length) { return say(room, length, "580.00.00"); }
code nvmlSystemGetNVMLVersion(char* room, unsigned length) { return say(room, length, "13.580.00"); }
code nvmlDeviceGetCount_v2(unsigned* count) { return say(count, 3); }
code nvmlDeviceGetHandleByIndex_v2(unsigned index, device_handle* into) {
    if (index >= 3) return not_found;
    *into = &gpus[index];
    return success;
}
code nvmlDeviceGetHandleByUUID(const char* uuid, device_handle* into) {
    if (std::string_view{uuid} == instance.uuid) return *into = &instance, success;
    for (opaque_device& gpu : gpus)
        if (std::string_view{uuid} == gpu.uuid) return *into = &gpu, success;
    return not_found;
}
code nvmlDeviceGetHandleByPciBusId_v2(const char* pci, device_handle* into) {
    for (opaque_device& gpu : gpus)
        if (std::string_view{pci} == gpu.pci) return *into = &gpu, success;
    return not_found;
}
code nvmlDeviceIsMigDeviceHandle(device_handle d, unsigned* is) { return *is = d->instance ? 1 : 0, success; }
code nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device_handle d, device_handle* into) {
    return d->instance ? (*into = &gpus[2], success) : 2;
}
code nvmlDeviceGetMigMode(device_handle d, unsigned* mode, unsigned* pending) {
    *pending = 0;
    return say(mode, d->index == 2 ? 1 : 0);
}
code nvmlDeviceGetUUID(device_handle d, char* room, unsigned length) { return say(room, length, d->uuid); }
code nvmlDeviceGetName(device_handle d, char* room, unsigned length) {
    const char* card = std::getenv("LLMRES_FAKE_NVML_NAME");  // of all whole cards
    return say(room, length, card != nullptr && !d->instance ? card : d->name);
}
code nvmlDeviceGetBoardPartNumber(device_handle, char* room, unsigned length) { return say(room, length, ""); }
code nvmlDeviceGetVbiosVersion(device_handle, char* room, unsigned length) {
    return say(room, length, "00.00.00.00.00");
}
code nvmlDeviceGetIndex(device_handle d, unsigned* index) { return say(index, d->index); }
code nvmlDeviceGetPersistenceMode(device_handle, unsigned* mode) { return say(mode, 1); }
code nvmlDeviceGetComputeMode(device_handle, unsigned* mode) { return say(mode, 0); }
code nvmlDeviceGetPciInfo_v3(device_handle d, pci_info* into) { return say(into->bus_id, sizeof into->bus_id, d->pci); }
code nvmlDeviceGetMemoryInfo_v2(device_handle d, memory_v2* into) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    if (into->version != (40U | (2U << 24))) return 25;
    if (mad()) {
        into->total = 1ULL << 30;
        into->used = ~0ULL;
        into->free = 1ULL << 50;
        into->reserved = 7;
        return success;
    }
    const char* simulated = std::getenv("LLMRES_SIMULATED");  // as make_cuda() reads it
    const bool large = simulated && std::string_view{simulated} == "large";
    into->total = large ? 81559ULL << 20 : (d->instance ? 10ULL : 24ULL) << 30;
    into->reserved = 500ULL << 20;
    // A context opened between two questions, of so many times 100 MiB, where a test says so.
    static unsigned long long asked = 0;
    const char* grows = std::getenv("LLMRES_FAKE_NVML_GROWS");
    into->used = (700ULL + (grows ? 100 * std::strtoull(grows, nullptr, 10) * asked++ : 0)) << 20;
    into->free = into->total - into->used;
    return success;
}
code nvmlDeviceGetEccMode(device_handle, unsigned* mode, unsigned* pending) {
    *pending = mad() ? 77 : 1;
    return say(mode, 1);
}
code nvmlDeviceGetRemappedRows(device_handle, unsigned* a, unsigned* b, unsigned* c, unsigned* d) {
    *b = *c = *d = mad() ? 0xffffffff : 0;
    return say(a, 2);
}
code nvmlDeviceGetClockInfo(device_handle, unsigned kind, unsigned* mhz) {
    return say(mhz, kind == clock_sm ? 345 : 2619);
}
code nvmlDeviceGetMaxClockInfo(device_handle, unsigned kind, unsigned* mhz) {
    return say(mhz, kind == clock_sm ? 1980 : 2619);
}
code nvmlDeviceGetPowerUsage(device_handle, unsigned* milliwatts) { return say(milliwatts, 71'500); }
code nvmlDeviceGetEnforcedPowerLimit(device_handle, unsigned* milliwatts) { return say(milliwatts, 700'000); }
code nvmlDeviceGetPowerManagementDefaultLimit(device_handle, unsigned* milliwatts) { return say(milliwatts, 700'000); }
code nvmlDeviceGetTemperature(device_handle, unsigned, unsigned* celsius) { return say(celsius, 33); }
code nvmlDeviceGetTemperatureThreshold(device_handle, unsigned, unsigned* celsius) { return say(celsius, 89); }
code nvmlDeviceGetCurrentClocksThrottleReasons(device_handle, unsigned long long* mask) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    *mask = mad() ? ~0ULL : 5;
    return success;
}
code nvmlDeviceGetCurrPcieLinkGeneration(device_handle, unsigned* generation) { return say(generation, 1); }
code nvmlDeviceGetMaxPcieLinkGeneration(device_handle, unsigned* generation) { return say(generation, 5); }
code nvmlDeviceGetCurrPcieLinkWidth(device_handle, unsigned* width) { return say(width, 16); }
code nvmlDeviceGetMaxPcieLinkWidth(device_handle, unsigned* width) { return say(width, 16); }
code nvmlDeviceGetNvLinkState(device_handle, unsigned link, unsigned* active) {
    if (link >= 4) return 2;
    return say(active, link == 3 ? 0 : 1);
}
code nvmlDeviceGetComputeRunningProcesses_v3(device_handle, unsigned* count, process_info* into) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    if (mad()) {
        *count = 4'000'000'000;
        return success;
    }
    if (std::getenv("LLMRES_FAKE_NVML_ALONE")) return *count = 0, success;  // as in a container that hides them
    if (*count < 3) return *count = 3, insufficient_size;
    *count = 3;
    into[0] = {static_cast<unsigned>(getpid()), 300ULL << 20, 0, 0};
    into[1] = {4242, 100ULL << 20, 0, 0};
    const char* hidden = std::getenv("LLMRES_FAKE_NVML_HIDDEN");
    into[2] = {4243, hidden ? not_available : 50ULL << 20, 0, 0};
    return success;
}
/// A display, and one that computes too.
code nvmlDeviceGetGraphicsRunningProcesses_v3(device_handle d, unsigned* count, process_info* into) {
    if (d->instance) return not_supported;
    if (const code wrong = allowed(); wrong != success) return wrong;
    if (mad() || std::getenv("LLMRES_FAKE_NVML_ALONE")) return *count = 0, success;
    *count = 2;
    into[0] = {4242, 100ULL << 20, 0, 0};
    into[1] = {4300, 30ULL << 20, 0, 0};
    return success;
}
code nvmlDeviceGetTopologyCommonAncestor(device_handle, device_handle, int* level) {
    if (const code wrong = allowed(); wrong != success) return wrong;
    *level = mad() ? -5 : 20;
    return success;
}

}  // extern "C"
