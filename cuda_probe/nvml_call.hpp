// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "nvml.hpp"

/// How NVML is called: the functions that were found, and answers that are checked before they are believed.
namespace llmres::probe {

struct nvml::functions {
    nvml_abi::no_argument* init = nullptr;
    nvml_abi::no_argument* shutdown = nullptr;
    nvml_abi::text_of_system* driver_version = nullptr;
    nvml_abi::text_of_system* nvml_version = nullptr;
    nvml_abi::number_of_system* count = nullptr;
    nvml_abi::device_by_index* by_index = nullptr;
    nvml_abi::device_by_text* by_uuid = nullptr;
    nvml_abi::device_by_text* by_pci = nullptr;
    nvml_abi::device_of_device* parent_of_mig = nullptr;
    nvml_abi::number_of_device* is_mig = nullptr;
    nvml_abi::two_numbers_of_device* mig_mode = nullptr;
    nvml_abi::text_of_device* uuid = nullptr;
    nvml_abi::text_of_device* name = nullptr;
    nvml_abi::text_of_device* part_number = nullptr;
    nvml_abi::text_of_device* vbios = nullptr;
    nvml_abi::number_of_device* index = nullptr;
    nvml_abi::number_of_device* persistence = nullptr;
    nvml_abi::number_of_device* compute_mode = nullptr;
    nvml_abi::pci_of_device* pci = nullptr;
    nvml_abi::memory_of_device* memory = nullptr;
    nvml_abi::bar1_of_device* bar1 = nullptr;
    nvml_abi::two_numbers_of_device* ecc = nullptr;
    nvml_abi::remapped_of_device* remapped = nullptr;
    nvml_abi::number_by_kind* clock = nullptr;
    nvml_abi::number_by_kind* max_clock = nullptr;
    nvml_abi::number_of_device* power_draw = nullptr;
    nvml_abi::number_of_device* power_limit = nullptr;
    nvml_abi::number_of_device* power_default = nullptr;
    nvml_abi::number_by_kind* temperature = nullptr;
    nvml_abi::number_by_kind* threshold = nullptr;
    nvml_abi::wide_of_device* throttle = nullptr;
    nvml_abi::number_of_device* pcie_generation = nullptr;
    nvml_abi::number_of_device* pcie_generation_max = nullptr;
    nvml_abi::number_of_device* pcie_width = nullptr;
    nvml_abi::number_of_device* pcie_width_max = nullptr;
    nvml_abi::number_of_device* numa = nullptr;
    nvml_abi::number_by_kind* link_state = nullptr;
    nvml_abi::number_by_kind* link_version = nullptr;
    nvml_abi::pci_of_link* link_remote = nullptr;
    nvml_abi::number_by_kind* link_remote_type = nullptr;
    nvml_abi::processes_of_device* processes = nullptr;  ///< of CUDA
    nvml_abi::processes_of_device* graphics_processes = nullptr;
    nvml_abi::processes_of_device* mps_processes = nullptr;
    nvml_abi::level_between* topology = nullptr;
};

template <class T>
reading<T> implausible(unsigned long long number) {
    text<95> why{"NVML: implausible value "};
    why.append(std::to_string(number));
    return reading<T>::unavailable(why);
}

/// A function's answer, or why there is none.
template <class Function, class Answer, class... Arguments>
reading<Answer> ask(Function* function, Answer answer, Arguments... arguments) {
    if (function == nullptr) return reading<Answer>::unavailable("NVML: function not known to this driver");
    const nvml_abi::code code = function(arguments..., &answer);
    if (code != nvml_abi::success) return reading<Answer>::unavailable(nvml_reason(code));
    return answer;
}

/// A number within bounds; a driver that answers out of them is not believed.
inline reading<std::int32_t> bounded(const reading<unsigned>& raw, unsigned low, unsigned high) {
    if (!raw) return reading<std::int32_t>::unavailable(raw.why);
    if (*raw < low || *raw > high) return implausible<std::int32_t>(*raw);
    return static_cast<std::int32_t>(*raw);
}

inline reading<bool> flag(const reading<unsigned>& raw) {
    const auto number = bounded(raw, 0, 1);
    return number ? reading<bool>{*number == 1} : reading<bool>::unavailable(number.why);
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
reading<text<N>> ask_text(Function* function, Arguments... arguments) {
    std::array<char, 96> room{};
    if (function == nullptr) return reading<text<N>>::unavailable("NVML: function not known to this driver");
    const nvml_abi::code code = function(arguments..., room.data(), static_cast<unsigned>(room.size()));
    if (code != nvml_abi::success) return reading<text<N>>::unavailable(nvml_reason(code));
    return readable<N>(room.data(), room.size());
}

inline reading<frequency> clock_of(const reading<unsigned>& megahertz) {
    const auto number = bounded(megahertz, 1, 20'000);
    return number ? reading<frequency>{mhz(*number)} : reading<frequency>::unavailable(number.why);
}

inline reading<power> power_of(const reading<unsigned>& milliwatts) {
    const auto number = bounded(milliwatts, 1, 10'000'000);
    return number ? reading<power>{watts(*number / 1000.0)} : reading<power>::unavailable(number.why);
}

template <class T>
void fill(reading<T>& field, const reading<T>& found) {
    if (!field) field = found;
}

inline constexpr unsigned long long most_memory = 1ULL << 44;  // 16 TiB: no GPU is near

}  // namespace llmres::probe
