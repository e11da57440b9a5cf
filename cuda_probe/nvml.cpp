// SPDX-License-Identifier: MIT
// How NVML is asked, answers that are checked before they are believed, and what of them goes into the descriptor.
#include "nvml.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cuda_api.hpp"

namespace llmres::probe {

using namespace nvml_abi;

namespace {

/// A number of NVML's enumerations, and what it means.
struct named_number {
    int number;
    const char* name;
};
template <std::size_t N>
const char* name_in(const std::array<named_number, N>& table, int number) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.number == number; });
    return found != table.end() ? found->name : nullptr;
}

constexpr std::array<named_number, 13> reasons{{{1, "NVML: not initialised"},
                                                {2, "NVML: argument refused"},
                                                {not_supported, "NVML: not supported on this device"},
                                                {no_permission, "NVML: no permission"},
                                                {not_found, "NVML: not found"},
                                                {insufficient_size, "NVML: answer too large"},
                                                {9, "NVML: driver not loaded"},
                                                {10, "NVML: timed out"},
                                                {13, "NVML: function not known to this driver"},
                                                {15, "NVML: the GPU is lost (fell off the bus)"},
                                                {16, "NVML: the GPU needs a reset"},
                                                {18, "NVML: library and driver differ in version"},
                                                {999, "NVML: unknown error"}}};
constexpr std::array<named_number, 6> topologies{{{0, "internal"},
                                                  {10, "single_switch"},
                                                  {20, "multiple_switches"},
                                                  {30, "host_bridge"},
                                                  {40, "node"},
                                                  {50, "system"}}};

}  // namespace

text<95> nvml_reason(code code) {
    if (const char* known = name_in(reasons, code)) return text<95>{known};
    text<95> other{"NVML: error "};
    other.append(llmres::detail::digits(code));
    return other;
}

text<95> throttle_reason_names(unsigned long long mask) {
    constexpr std::array<const char*, 9> names{
        "gpu_idle",      "application_clocks",  "sw_power_cap",        "hw_slowdown",
        "sync_boost",    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake",
        "display_clocks"};
    text<95> all;
    for (std::size_t bit = 0; bit < 64; ++bit) {
        if (((mask >> bit) & 1U) == 0) continue;
        if (!all.empty()) all.append(",");
        all.append(bit < names.size() ? names[bit] : "other");
    }
    return all.empty() ? text<95>{"none"} : all;
}

namespace {

template <class T>
reading<T> implausible(unsigned long long number) {
    text<95> why{"NVML: implausible value "};
    why.append(std::to_string(number));
    return reading<T>::unavailable(why);
}

constexpr code unknown_function = 13;

/// Calls the function of that name with arguments that have its very types.
template <class... Arguments>
code call(const shared_library& driver, const char* name, Arguments... arguments) {
    auto* const function = reinterpret_cast<nvml_abi::code (*)(Arguments...)>(driver.find(name));
    return function != nullptr ? function(arguments...) : unknown_function;
}

/// A function's answer, or why there is none.
template <class Answer, class... Arguments>
reading<Answer> ask(const shared_library& driver, const char* name, Answer answer, Arguments... arguments) {
    const code said = call(driver, name, arguments..., &answer);
    return said == success ? reading<Answer>{answer} : reading<Answer>::unavailable(nvml_reason(said));
}

/// The answers of a function that gives several numbers.
template <std::size_t N>
reading<std::array<unsigned, N>> ask_numbers(const shared_library& driver, const char* name, nvml::handle which) {
    std::array<unsigned, N> all{};
    const code said = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return call(driver, name, which, &all[I]...);
    }(std::make_index_sequence<N>{});
    return said == success ? reading<std::array<unsigned, N>>{all}
                           : reading<std::array<unsigned, N>>::unavailable(nvml_reason(said));
}

/// A number within bounds; a driver that answers out of them is not believed.
reading<std::int32_t> bounded(const reading<unsigned>& raw, unsigned low, unsigned high) {
    return then(raw, [&](unsigned number) {
        return number < low || number > high ? implausible<std::int32_t>(number)
                                             : reading<std::int32_t>{static_cast<std::int32_t>(number)};
    });
}

reading<bool> flag(const reading<unsigned>& raw) {
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

template <std::size_t N, class... Arguments>
reading<text<N>> ask_text(const shared_library& driver, const char* name, Arguments... arguments) {
    std::array<char, 96> room{};
    const code said = call(driver, name, arguments..., room.data(), static_cast<unsigned>(room.size()));
    return said == success ? readable<N>(room.data(), room.size()) : reading<text<N>>::unavailable(nvml_reason(said));
}

reading<frequency> clock_of(const reading<unsigned>& megahertz) {
    return then(bounded(megahertz, 1, 20'000), [](std::int32_t number) { return mhz(number); });
}

reading<power> power_of(const reading<unsigned>& milliwatts) {
    return then(bounded(milliwatts, 1, 10'000'000), [](std::int32_t number) { return watts(number / 1000.0); });
}

template <class T>
void fill(reading<T>& field, const reading<T>& found) {
    if (!field) field = found;
}

constexpr unsigned long long most_memory = 1ULL << 44;  // 16 TiB: no GPU is near

byte_count used_of(const memory_v2& all) { return bytes(static_cast<std::int64_t>(all.used)); }

/// Why clocks are lowered; drivers before 535 know the second name.
reading<unsigned long long> throttled(const shared_library& driver, nvml::handle card) {
    const auto found = ask(driver, "nvmlDeviceGetCurrentClocksEventReasons", 0ULL, card);
    return driver.find("nvmlDeviceGetCurrentClocksEventReasons") != nullptr
               ? found
               : ask(driver, "nvmlDeviceGetCurrentClocksThrottleReasons", 0ULL, card);
}

/// One of the driver's lists of processes.
reading<std::vector<process_info>> listed(const shared_library& driver, const char* name, nvml::handle which) {
    using answer = reading<std::vector<process_info>>;
    std::vector<process_info> room(64);
    for (int attempt = 0; attempt < 3; ++attempt) {
        auto number = static_cast<unsigned>(room.size());
        const code said = call(driver, name, which, &number, room.data());
        if (number > 65'536) return answer::unavailable(implausible<bool>(number).why);
        if (said == insufficient_size) {  // more came in between: ask again with room for them
            room.resize(number * 2 + 8);
            continue;
        }
        if (said != success) return answer::unavailable(nvml_reason(said));
        if (number > room.size()) return answer::unavailable(implausible<bool>(number).why);
        room.resize(number);
        return room;
    }
    return answer::unavailable("NVML: the list of processes kept growing");
}

}  // namespace

nvml::nvml(const std::string& library) : library_{library} {
    const code said = call(library_, "nvmlInit_v2");
    if (!library_)
        reason_ = "NVML: " + library_.reason();
    else if (said == unknown_function)
        reason_ = "NVML: " + library + " has no nvmlInit_v2";
    else if (said != success)
        reason_ = nvml_reason(said).view();
    const auto cards = device_count();
    for (std::int32_t i = 0; cards && i < *cards; ++i)
        if (const auto card = by_index(i)) at_start_.emplace(*card, memory(*card));
}

nvml::~nvml() {
    if (usable()) call(library_, "nvmlShutdown");
}

reading<std::int32_t> nvml::device_count() const {
    if (!usable()) return reading<std::int32_t>::unavailable(reason_);
    return bounded(ask(library_, "nvmlDeviceGetCount_v2", 0U), 0, 1024);
}

reading<nvml::handle> nvml::by_index(std::int32_t index) const {
    if (!usable()) return reading<handle>::unavailable(reason_);
    return ask(library_, "nvmlDeviceGetHandleByIndex_v2", handle{}, static_cast<unsigned>(index));
}

reading<nvml::handle> nvml::find(std::string_view uuid, std::string_view pci_bus_id) const {
    if (!usable()) return reading<handle>::unavailable(reason_);
    const std::string by_uuid{uuid};
    const auto found = ask(library_, "nvmlDeviceGetHandleByUUID", handle{}, by_uuid.c_str());
    if (found && *found != nullptr) return found;
    if (pci_bus_id.empty() || uuid.starts_with("MIG-")) return found;  // the address would be the whole card's
    const std::string by_pci{pci_bus_id};
    const auto there = ask(library_, "nvmlDeviceGetHandleByPciBusId_v2", handle{}, by_pci.c_str());
    return there && *there == nullptr ? reading<handle>::unavailable("NVML: not found") : there;
}

nvml::handle nvml::whole_card(handle which) const {
    const auto mig = ask(library_, "nvmlDeviceIsMigDeviceHandle", 0U, which);
    if (mig.value_or(0) != 1) return which;
    const auto parent = ask(library_, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle{}, which);
    return parent && *parent != nullptr ? *parent : which;
}

reading<memory_v2> nvml::memory(handle which) const {
    if (!usable()) return reading<memory_v2>::unavailable(reason_);
    const auto raw = ask(library_, "nvmlDeviceGetMemoryInfo_v2", memory_v2{}, which);
    if (!raw) return raw;
    if (raw->total == 0 || raw->total > most_memory) return implausible<memory_v2>(raw->total);
    for (const unsigned long long part : {raw->used, raw->free, raw->reserved})
        if (part > raw->total) return implausible<memory_v2>(part);
    return raw;
}

reading<memory_v2> nvml::memory_at_start(handle which) const {
    const auto found = at_start_.find(which);
    return found != at_start_.end() ? found->second : memory(which);
}

reading<byte_count> nvml::used_at_start(handle which) const { return then(memory_at_start(which), used_of); }

reading<byte_count> nvml::used(handle which) const { return then(memory(which), used_of); }

reading<short_list<device_process, 32>> nvml::processes(handle which, reading<std::int32_t>& count) const {
    using list = reading<short_list<device_process, 32>>;
    const auto none = [&count](std::string_view why) {
        count = reading<std::int32_t>::unavailable(why);
        return list::unavailable(why);
    };
    if (!usable()) return none(reason_);
    auto all = listed(library_, "nvmlDeviceGetComputeRunningProcesses_v3", which);
    if (!all) return none(all.why);
    // Displays and clients of MPS have lists of their own, which instances and servers may lack; who is in two has one
    // memory.
    for (const char* more : {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"})
        for (const process_info& one : listed(library_, more, which).value)
            if (std::none_of(all.value.begin(), all.value.end(),
                             [&](const process_info& p) { return p.pid == one.pid; }))
                all.value.push_back(one);
    short_list<device_process, 32> found;
    for (const process_info& process : *all) {
        device_process one;
        one.pid = process.pid;
        one.used = process.used == not_available ? reading<byte_count>::unavailable("NVML: the driver does not tell")
                   : process.used > most_memory  ? implausible<byte_count>(process.used)
                                                 : bytes(static_cast<std::int64_t>(process.used));
        if (!found.push(one)) break;  // process_count still tells how many there are
    }
    count = static_cast<std::int32_t>(all->size());
    return found;
}

reading<byte_count> nvml::used_by_others(handle which) const {
    reading<std::int32_t> count;
    const auto all = processes(which, count);
    if (!all) return reading<byte_count>::unavailable(all.why);
    byte_count others{};
    const auto self = static_cast<std::int64_t>(getpid());
    for (const device_process& one : *all) {
        if (one.pid == self) continue;
        if (!one.used) return reading<byte_count>::unavailable(one.used.why);
        others += *one.used;
    }
    return others;
}

reading<text<31>> nvml::topology(handle a, handle b) const {
    if (!usable()) return reading<text<31>>::unavailable(reason_);
    const auto level = ask(library_, "nvmlDeviceGetTopologyCommonAncestor", -1, a, b);
    return then(level, [](int number) {
        const char* name = name_in(topologies, number);
        return name != nullptr ? reading<text<31>>{text<31>{name}}
                               : implausible<text<31>>(static_cast<unsigned long long>(number));
    });
}

void nvml::describe(handle which, device& into) const {
    describe_identity(which, into);
    describe_memory(which, into);
    describe_power(which, into);
    describe_links(which, into);
}

void nvml::describe_identity(handle which, device& into) const {
    const handle card = whole_card(which);
    device_identity& id = into.identity;
    fill(id.uuid, ask_text<63>(library_, "nvmlDeviceGetUUID", which));
    const auto name = ask_text<63>(library_, "nvmlDeviceGetName", which);
    fill(id.name, name);
    fill(id.board_part_number, ask_text<31>(library_, "nvmlDeviceGetBoardPartNumber", card));
    fill(id.index_nvml, bounded(ask(library_, "nvmlDeviceGetIndex", 0U, card), 0, 1023));
    const auto bus_id = [](const pci_info& pci) { return readable<31>(pci.bus_id, sizeof pci.bus_id); };
    fill(id.pci_bus_id, then(ask(library_, "nvmlDeviceGetPciInfo_v3", pci_info{}, card), bus_id));
    const auto first = [](const auto& numbers) { return flag(numbers[0]); };
    id.mig_enabled = then(ask_numbers<2>(library_, "nvmlDeviceGetMigMode", card), first);
    if (card != which) {
        id.mig_parent_uuid = ask_text<63>(library_, "nvmlDeviceGetUUID", card);
        // The profile is the end of the instance's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
        const std::string_view full = name ? name.value.view() : std::string_view{};
        const auto at = full.rfind("MIG ");
        id.mig_profile = at == std::string_view::npos ? reading<text<31>>::unavailable("not in the instance's name")
                                                      : reading<text<31>>{text<31>{full.substr(at + 4)}};
    } else {
        id.mig_parent_uuid = reading<text<63>>::unavailable("not a MIG instance");
        id.mig_profile = reading<text<31>>::unavailable("not a MIG instance");
    }

    device_software& sw = into.software;
    fill(sw.driver_version, ask_text<31>(library_, "nvmlSystemGetDriverVersion"));
    fill(sw.nvml_version, ask_text<31>(library_, "nvmlSystemGetNVMLVersion"));
    fill(sw.vbios_version, ask_text<31>(library_, "nvmlDeviceGetVbiosVersion", card));
    fill(sw.persistence_mode, flag(ask(library_, "nvmlDeviceGetPersistenceMode", 0U, card)));
    constexpr std::array<const char*, 4> modes{"default", "exclusive_thread", "prohibited", "exclusive_process"};
    const auto found = bounded(ask(library_, "nvmlDeviceGetComputeMode", 0U, card), 0, 3);
    fill(sw.compute_mode, then(found, [&](std::int32_t i) { return text<31>{modes[static_cast<std::size_t>(i)]}; }));
}

void nvml::describe_memory(handle which, device& into) const {
    const handle card = whole_card(which);
    device_memory& m = into.memory;
    const auto all = memory_at_start(which);
    const auto part = [&all](unsigned long long memory_v2::* field) {
        return then(all, [&](const memory_v2& read) { return bytes(static_cast<std::int64_t>(read.*field)); });
    };
    m.nvml_total = part(&memory_v2::total);
    m.nvml_reserved = part(&memory_v2::reserved);
    m.nvml_used = part(&memory_v2::used);
    m.nvml_free = part(&memory_v2::free);

    const auto bar1 =
        then(ask(library_, "nvmlDeviceGetBAR1MemoryInfo", bar1_memory{}, card), [](const bar1_memory& read) {
            const bool sane = read.total > 0 && read.total <= most_memory && read.used <= read.total;
            return sane ? reading<bar1_memory>{read} : implausible<bar1_memory>(read.total);
        });
    m.bar1_total = then(bar1, [](const bar1_memory& read) { return bytes(static_cast<std::int64_t>(read.total)); });
    m.bar1_used = then(bar1, [](const bar1_memory& read) { return bytes(static_cast<std::int64_t>(read.used)); });

    const auto ecc = ask_numbers<2>(library_, "nvmlDeviceGetEccMode", card);
    m.ecc_enabled = then(ecc, [](const auto& modes) { return flag(modes[0]); });
    m.ecc_pending = then(ecc, [](const auto& modes) { return flag(modes[1]); });
    const auto rows = ask_numbers<4>(library_, "nvmlDeviceGetRemappedRows", card);
    m.remapped_rows_correctable = then(rows, [](const auto& numbers) { return bounded(numbers[0], 0, 1'000'000); });
    m.remapped_rows_uncorrectable = then(rows, [](const auto& numbers) { return bounded(numbers[1], 0, 1'000'000); });
    m.remapping_pending = then(rows, [](const auto& numbers) { return flag(numbers[2]); });
    m.remapping_failed = then(rows, [](const auto& numbers) { return flag(numbers[3]); });

    if (const auto list = processes(which, into.process_count)) into.processes = *list;
}

void nvml::describe_power(handle which, device& into) const {
    const handle card = whole_card(which);
    fill(into.compute.sm_clock_now, clock_of(ask(library_, "nvmlDeviceGetClockInfo", 0U, card, clock_sm)));
    fill(into.compute.sm_clock_max, clock_of(ask(library_, "nvmlDeviceGetMaxClockInfo", 0U, card, clock_sm)));
    fill(into.compute.memory_clock_now, clock_of(ask(library_, "nvmlDeviceGetClockInfo", 0U, card, clock_memory)));
    fill(into.compute.memory_clock_max, clock_of(ask(library_, "nvmlDeviceGetMaxClockInfo", 0U, card, clock_memory)));
    into.power.draw = power_of(ask(library_, "nvmlDeviceGetPowerUsage", 0U, card));
    into.power.limit = power_of(ask(library_, "nvmlDeviceGetEnforcedPowerLimit", 0U, card));
    into.power.limit_default = power_of(ask(library_, "nvmlDeviceGetPowerManagementDefaultLimit", 0U, card));
    into.power.temperature_celsius =
        bounded(ask(library_, "nvmlDeviceGetTemperature", 0U, card, temperature_gpu), 0, 150);
    into.power.slowdown_celsius =
        bounded(ask(library_, "nvmlDeviceGetTemperatureThreshold", 0U, card, threshold_slowdown), 1, 200);
    into.power.throttle_reasons = then(throttled(library_, card), throttle_reason_names);
}

nvml::state nvml::now(handle which) const {
    const handle card = whole_card(which);
    state now{clock_of(ask(library_, "nvmlDeviceGetClockInfo", 0U, card, clock_sm)),
              power_of(ask(library_, "nvmlDeviceGetPowerUsage", 0U, card)), throttled(library_, card)};
    now.throttled.value &= ~1ULL;  // idle
    return now;
}

void nvml::describe_links(handle which, device& into) const {
    const handle card = whole_card(which);
    into.pcie.generation_now = bounded(ask(library_, "nvmlDeviceGetCurrPcieLinkGeneration", 0U, card), 1, 8);
    into.pcie.generation_max = bounded(ask(library_, "nvmlDeviceGetMaxPcieLinkGeneration", 0U, card), 1, 8);
    into.pcie.width_now = bounded(ask(library_, "nvmlDeviceGetCurrPcieLinkWidth", 0U, card), 1, 32);
    into.pcie.width_max = bounded(ask(library_, "nvmlDeviceGetMaxPcieLinkWidth", 0U, card), 1, 32);
    fill(into.pcie.numa_node, bounded(ask(library_, "nvmlDeviceGetNumaNodeId", 0U, card), 0, 4095));

    into.nvlinks.count = 0;
    std::int32_t active = 0;
    text<95> why{"NVML: no link answered"};
    for (unsigned link = 0; link < into.nvlinks.capacity; ++link) {
        const auto is_active = flag(ask(library_, "nvmlDeviceGetNvLinkState", 0U, card, link));
        if (!is_active) {  // not there, or past the last; the first answer is the reason if there is none at all
            if (link == 0) why = is_active.why;
            continue;
        }
        device_nvlink one;
        one.link = static_cast<std::int32_t>(link);
        one.active = is_active;
        if (*is_active) {
            ++active;
            one.version = bounded(ask(library_, "nvmlDeviceGetNvLinkVersion", 0U, card, link), 1, 64);
            one.remote_pci_bus_id =
                then(ask(library_, "nvmlDeviceGetNvLinkRemotePciInfo_v2", pci_info{}, card, link),
                     [](const pci_info& pci) { return readable<31>(pci.bus_id, sizeof pci.bus_id); });
            one.remote_type =
                then(ask(library_, "nvmlDeviceGetNvLinkRemoteDeviceType", 0U, card, link), [](unsigned type) {
                    return type == remote_gpu      ? reading<text<31>>{text<31>{"gpu"}}
                           : type == remote_npu    ? reading<text<31>>{text<31>{"npu"}}
                           : type == remote_switch ? reading<text<31>>{text<31>{"switch"}}
                                                   : implausible<text<31>>(type);
                });
        } else {
            one.version = reading<std::int32_t>::unavailable("link inactive");
            one.remote_pci_bus_id = reading<text<31>>::unavailable("link inactive");
            one.remote_type = reading<text<31>>::unavailable("link inactive");
        }
        into.nvlinks.push(one);
    }
    into.nvlinks_active =
        into.nvlinks.empty() ? reading<std::int32_t>::unavailable(why) : reading<std::int32_t>{active};
}

}  // namespace llmres::probe
