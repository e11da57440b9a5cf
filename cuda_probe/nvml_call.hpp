// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "cuda_api.hpp"
#include "nvml.hpp"

/// How NVML is called: the functions that were found, and answers that are checked before they are believed.
namespace llmres::probe {

struct nvml::functions {
    const shared_library& from;
    symbol<nvml_abi::no_argument> init{from, "nvmlInit_v2"};
    symbol<nvml_abi::no_argument> shutdown{from, "nvmlShutdown"};
    symbol<nvml_abi::text_of_system> driver_version{from, "nvmlSystemGetDriverVersion"};
    symbol<nvml_abi::text_of_system> nvml_version{from, "nvmlSystemGetNVMLVersion"};
    symbol<nvml_abi::number_of_system> count{from, "nvmlDeviceGetCount_v2"};
    symbol<nvml_abi::device_by_index> by_index{from, "nvmlDeviceGetHandleByIndex_v2"};
    symbol<nvml_abi::device_by_text> by_uuid{from, "nvmlDeviceGetHandleByUUID"};
    symbol<nvml_abi::device_by_text> by_pci{from, "nvmlDeviceGetHandleByPciBusId_v2"};
    symbol<nvml_abi::device_of_device> parent_of_mig{from, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"};
    symbol<nvml_abi::number_of_device> is_mig{from, "nvmlDeviceIsMigDeviceHandle"};
    symbol<nvml_abi::two_numbers_of_device> mig_mode{from, "nvmlDeviceGetMigMode"};
    symbol<nvml_abi::text_of_device> uuid{from, "nvmlDeviceGetUUID"};
    symbol<nvml_abi::text_of_device> name{from, "nvmlDeviceGetName"};
    symbol<nvml_abi::text_of_device> part_number{from, "nvmlDeviceGetBoardPartNumber"};
    symbol<nvml_abi::text_of_device> vbios{from, "nvmlDeviceGetVbiosVersion"};
    symbol<nvml_abi::number_of_device> index{from, "nvmlDeviceGetIndex"};
    symbol<nvml_abi::number_of_device> persistence{from, "nvmlDeviceGetPersistenceMode"};
    symbol<nvml_abi::number_of_device> compute_mode{from, "nvmlDeviceGetComputeMode"};
    symbol<nvml_abi::pci_of_device> pci{from, "nvmlDeviceGetPciInfo_v3"};
    symbol<nvml_abi::memory_of_device> memory{from, "nvmlDeviceGetMemoryInfo_v2"};
    symbol<nvml_abi::bar1_of_device> bar1{from, "nvmlDeviceGetBAR1MemoryInfo"};
    symbol<nvml_abi::two_numbers_of_device> ecc{from, "nvmlDeviceGetEccMode"};
    symbol<nvml_abi::remapped_of_device> remapped{from, "nvmlDeviceGetRemappedRows"};
    symbol<nvml_abi::number_by_kind> clock{from, "nvmlDeviceGetClockInfo"};
    symbol<nvml_abi::number_by_kind> max_clock{from, "nvmlDeviceGetMaxClockInfo"};
    symbol<nvml_abi::number_of_device> power_draw{from, "nvmlDeviceGetPowerUsage"};
    symbol<nvml_abi::number_of_device> power_limit{from, "nvmlDeviceGetEnforcedPowerLimit"};
    symbol<nvml_abi::number_of_device> power_default{from, "nvmlDeviceGetPowerManagementDefaultLimit"};
    symbol<nvml_abi::number_by_kind> temperature{from, "nvmlDeviceGetTemperature"};
    symbol<nvml_abi::number_by_kind> threshold{from, "nvmlDeviceGetTemperatureThreshold"};
    symbol<nvml_abi::wide_of_device> throttle{from, "nvmlDeviceGetCurrentClocksEventReasons",
                                              "nvmlDeviceGetCurrentClocksThrottleReasons"};
    symbol<nvml_abi::number_of_device> pcie_generation{from, "nvmlDeviceGetCurrPcieLinkGeneration"};
    symbol<nvml_abi::number_of_device> pcie_generation_max{from, "nvmlDeviceGetMaxPcieLinkGeneration"};
    symbol<nvml_abi::number_of_device> pcie_width{from, "nvmlDeviceGetCurrPcieLinkWidth"};
    symbol<nvml_abi::number_of_device> pcie_width_max{from, "nvmlDeviceGetMaxPcieLinkWidth"};
    symbol<nvml_abi::number_of_device> numa{from, "nvmlDeviceGetNumaNodeId"};
    symbol<nvml_abi::number_by_kind> link_state{from, "nvmlDeviceGetNvLinkState"};
    symbol<nvml_abi::number_by_kind> link_version{from, "nvmlDeviceGetNvLinkVersion"};
    symbol<nvml_abi::pci_of_link> link_remote{from, "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
    symbol<nvml_abi::number_by_kind> link_remote_type{from, "nvmlDeviceGetNvLinkRemoteDeviceType"};
    symbol<nvml_abi::processes_of_device> processes{from, "nvmlDeviceGetComputeRunningProcesses_v3"};  ///< of CUDA
    symbol<nvml_abi::processes_of_device> graphics_processes{from, "nvmlDeviceGetGraphicsRunningProcesses_v3"};
    symbol<nvml_abi::processes_of_device> mps_processes{from, "nvmlDeviceGetMPSComputeRunningProcesses_v3"};
    symbol<nvml_abi::level_between> topology{from, "nvmlDeviceGetTopologyCommonAncestor"};
};

template <class T>
reading<T> implausible(unsigned long long number) {
    text<95> why{"NVML: implausible value "};
    why.append(std::to_string(number));
    return reading<T>::unavailable(why);
}

/// A function's answer, or why there is none.
template <class Function, class Answer, class... Arguments>
reading<Answer> ask(const symbol<Function>& function, Answer answer, Arguments... arguments) {
    if (function == nullptr) return reading<Answer>::unavailable("NVML: function not known to this driver");
    const nvml_abi::code code = function(arguments..., &answer);
    if (code != nvml_abi::success) return reading<Answer>::unavailable(nvml_reason(code));
    return answer;
}

/// A number within bounds; a driver that answers out of them is not believed.
inline reading<std::int32_t> bounded(const reading<unsigned>& raw, unsigned low, unsigned high) {
    return then(raw, [&](unsigned number) {
        return number < low || number > high ? implausible<std::int32_t>(number)
                                             : reading<std::int32_t>{static_cast<std::int32_t>(number)};
    });
}

inline reading<bool> flag(const reading<unsigned>& raw) {
    return then(bounded(raw, 0, 1), [](std::int32_t number) { return number == 1; });
}

/// Printable and not empty, or it is no text.
template <std::size_t N>
reading<text<N>> readable(const char* characters, std::size_t room) {
    std::size_t length = 0;
    while (length < room && characters[length] != '\0') {
        if (characters[length] < ' ' || characters[length] > '~')
            return reading<text<N>>::unavailable("NVML: unreadable text");
        ++length;
    }
    if (length == room) return reading<text<N>>::unavailable("NVML: unterminated text");
    if (length == 0) return reading<text<N>>::unavailable("NVML: empty text");
    return text<N>{std::string_view{characters, length}};
}

template <std::size_t N, class Function, class... Arguments>
reading<text<N>> ask_text(const symbol<Function>& function, Arguments... arguments) {
    std::array<char, 96> room{};
    if (function == nullptr) return reading<text<N>>::unavailable("NVML: function not known to this driver");
    const nvml_abi::code code = function(arguments..., room.data(), static_cast<unsigned>(room.size()));
    if (code != nvml_abi::success) return reading<text<N>>::unavailable(nvml_reason(code));
    return readable<N>(room.data(), room.size());
}

inline reading<frequency> clock_of(const reading<unsigned>& megahertz) {
    return then(bounded(megahertz, 1, 20'000), [](std::int32_t number) { return mhz(number); });
}

inline reading<power> power_of(const reading<unsigned>& milliwatts) {
    return then(bounded(milliwatts, 1, 10'000'000), [](std::int32_t number) { return watts(number / 1000.0); });
}

template <class T>
void fill(reading<T>& field, const reading<T>& found) {
    if (!field) field = found;
}

inline constexpr unsigned long long most_memory = 1ULL << 44;  // 16 TiB: no GPU is near

}  // namespace llmres::probe
