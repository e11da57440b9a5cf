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

constexpr code unknown_function = 13;
constexpr unsigned long long most_memory = 1ULL << 44;  // 16 TiB: no GPU is near

/// A number of NVML's enumerations, and what it means.
struct named_number {
    int number;
    const char* name;
};
constexpr named_number reasons[] = {{1, "NVML: not initialised"},
                                    {2, "NVML: argument refused"},
                                    {not_supported, "NVML: not supported on this device"},
                                    {no_permission, "NVML: no permission"},
                                    {not_found, "NVML: not found"},
                                    {insufficient_size, "NVML: answer too large"},
                                    {9, "NVML: driver not loaded"},
                                    {10, "NVML: timed out"},
                                    {unknown_function, "NVML: function not known to this driver"},
                                    {15, "NVML: the GPU is lost (fell off the bus)"},
                                    {16, "NVML: the GPU needs a reset"},
                                    {18, "NVML: library and driver differ in version"},
                                    {999, "NVML: unknown error"}};
constexpr named_number topologies[] = {{0, "internal"},     {10, "single_switch"}, {20, "multiple_switches"},
                                       {30, "host_bridge"}, {40, "node"},          {50, "system"}};
constexpr named_number compute_modes[] = {
    {0, "default"}, {1, "exclusive_thread"}, {2, "prohibited"}, {3, "exclusive_process"}};
constexpr named_number remote_types[] = {{remote_gpu, "gpu"}, {remote_npu, "npu"}, {remote_switch, "switch"}};
constexpr const char* throttles[] = {"gpu_idle",      "application_clocks",  "sw_power_cap",        "hw_slowdown",
                                     "sync_boost",    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake",
                                     "display_clocks"};

/// "NVML: no permission" and the like.
text<95> nvml_reason(code code) {
    for (const named_number& one : reasons)
        if (one.number == code) return one.name;
    return text<95>{"NVML: error " + std::to_string(code)};
}

template <class T>
reading<T> implausible(unsigned long long number) {
    return reading<T>::unavailable("NVML: implausible value " + std::to_string(number));
}

/// The name of a number; a number that has none is not believed.
template <class Number, std::size_t N>
reading<text<31>> named(const reading<Number>& raw, const named_number (&table)[N]) {
    return then(raw, [&](Number number) {
        for (const named_number& one : table)
            if (one.number == static_cast<int>(number)) return reading<text<31>>{text<31>{one.name}};
        return implausible<text<31>>(static_cast<unsigned long long>(number));
    });
}

/// Printable and not empty, or it is no text.
template <std::size_t N>
reading<text<N>> readable(const char* characters, std::size_t room) {
    const std::string_view all{characters, room};
    const std::string_view words = all.substr(0, all.find('\0'));
    if (std::any_of(words.begin(), words.end(), [](char c) { return c < ' ' || c > '~'; }))
        return reading<text<N>>::unavailable("NVML: unreadable text");
    if (words.size() == room) return reading<text<N>>::unavailable("NVML: unterminated text");
    if (words.empty()) return reading<text<N>>::unavailable("NVML: empty text");
    return text<N>{words};
}
reading<text<31>> bus_id(const reading<pci_info>& raw) {
    return then(raw, [](const pci_info& pci) { return readable<31>(pci.bus_id, sizeof pci.bus_id); });
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
byte_count size_of(unsigned long long number) { return bytes(static_cast<std::int64_t>(number)); }
byte_count used_of(const memory_v2& all) { return size_of(all.used); }

/// Calls the function of that name with arguments that have its very types.
template <class... Arguments>
code call(const shared_library& driver, const char* name, Arguments... arguments) {
    auto* const function = reinterpret_cast<nvml_abi::code (*)(Arguments...)>(driver.find(name));
    return function != nullptr ? function(arguments...) : unknown_function;
}
template <class Answer>
reading<Answer> answer_of(code said, const Answer& answer) {
    return said == success ? reading<Answer>{answer} : reading<Answer>::unavailable(nvml_reason(said));
}
/// A function's answer, which is its last argument, or why there is none.
template <class Answer, class... Arguments>
reading<Answer> ask(const shared_library& driver, const char* name, Answer answer, Arguments... arguments) {
    return answer_of(call(driver, name, arguments..., &answer), answer);
}
template <std::size_t N, class... Arguments>
reading<text<N>> ask_text(const shared_library& driver, const char* name, Arguments... arguments) {
    std::array<char, 96> room{};
    const code said = call(driver, name, arguments..., room.data(), static_cast<unsigned>(room.size()));
    return said == success ? readable<N>(room.data(), room.size()) : reading<text<N>>::unavailable(nvml_reason(said));
}

/// One card, asked for what is told in a number.
struct card_of {
    const shared_library& driver;
    nvml::handle card;

    template <class... More>
    reading<std::int32_t> number(const char* name, unsigned low, unsigned high, More... more) const {
        return bounded(ask(driver, name, 0U, card, more...), low, high);
    }
    reading<frequency> clock(const char* name, unsigned kind) const {
        return then(number(name, 1, 20'000, kind), [](std::int32_t found) { return mhz(found); });
    }
    reading<power> watts_of(const char* name) const {
        return then(number(name, 1, 10'000'000), [](std::int32_t milliwatts) { return watts(milliwatts / 1000.0); });
    }
    /// Several numbers of one function.
    template <std::size_t N>
    reading<std::array<unsigned, N>> numbers(const char* name) const {
        std::array<unsigned, N> all{};
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            const code said = call(driver, name, card, &all[I]...);
            return answer_of(said, all);
        }(std::make_index_sequence<N>{});
    }
    /// Why clocks are lowered; drivers before 535 know the second name.
    reading<unsigned long long> throttled() const {
        constexpr const char* since_535 = "nvmlDeviceGetCurrentClocksEventReasons";
        return ask(driver, driver.find(since_535) != nullptr ? since_535 : "nvmlDeviceGetCurrentClocksThrottleReasons",
                   0ULL, card);
    }
};

template <class T>
void fill(reading<T>& field, const reading<T>& found) {
    if (!field) field = found;
}

/// One of the driver's lists of processes.
reading<std::vector<process_info>> listed(const shared_library& driver, const char* name, nvml::handle which) {
    std::vector<process_info> room(4096);  // more than a device has
    auto number = static_cast<unsigned>(room.size());
    const code said = call(driver, name, which, &number, room.data());
    if (number > room.size()) return reading<std::vector<process_info>>::unavailable(implausible<bool>(number).why);
    room.resize(number);
    return answer_of(said, room);
}

reading<byte_count> used_by(const process_info& process) {
    if (process.used == not_available) return reading<byte_count>::unavailable("NVML: the driver does not tell");
    return process.used > most_memory ? implausible<byte_count>(process.used) : size_of(process.used);
}

}  // namespace

text<95> throttle_reason_names(unsigned long long mask) {
    text<95> all;
    for (std::size_t bit = 0; bit < 64; ++bit) {
        if (((mask >> bit) & 1U) == 0) continue;
        if (!all.empty()) all.append(",");
        all.append(bit < std::size(throttles) ? throttles[bit] : "other");
    }
    return all.empty() ? text<95>{"none"} : all;
}

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
    constexpr handle none = nullptr;
    const std::string by_uuid{uuid};
    const auto found = ask(library_, "nvmlDeviceGetHandleByUUID", none, by_uuid.c_str());
    if (found && *found != nullptr) return found;
    if (pci_bus_id.empty() || uuid.starts_with("MIG-")) return found;  // the address would be the whole card's
    const std::string by_pci{pci_bus_id};
    const auto there = ask(library_, "nvmlDeviceGetHandleByPciBusId_v2", none, by_pci.c_str());
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

reading<std::vector<process_info>> nvml::processes(handle which) const {
    if (!usable()) return reading<std::vector<process_info>>::unavailable(reason_);
    auto all = listed(library_, "nvmlDeviceGetComputeRunningProcesses_v3", which);
    if (!all) return all;
    // Displays and clients of MPS have lists of their own, which instances and servers may lack; who is in two has one
    // memory.
    for (const char* more : {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"})
        for (const process_info& one : listed(library_, more, which).value_or({}))
            if (std::none_of(all.value.begin(), all.value.end(), [&](const auto& p) { return p.pid == one.pid; }))
                all.value.push_back(one);
    return all;
}

reading<byte_count> nvml::used_by_others(handle which) const {
    return then(processes(which), [](const std::vector<process_info>& all) {
        byte_count others{};
        for (const process_info& one : all) {
            if (static_cast<pid_t>(one.pid) == getpid()) continue;
            const auto used = used_by(one);
            if (!used) return used;
            others += *used;
        }
        return reading<byte_count>{others};
    });
}

reading<text<31>> nvml::topology(handle a, handle b) const {
    if (!usable()) return reading<text<31>>::unavailable(reason_);
    return named(ask(library_, "nvmlDeviceGetTopologyCommonAncestor", -1, a, b), topologies);
}

void nvml::describe(handle which, device& into) const {
    describe_identity(which, into);
    describe_memory(which, into);
    describe_power(which, into);
    describe_links(which, into);
}

void nvml::describe_identity(handle which, device& into) const {
    const handle card = whole_card(which);
    const card_of ask_card{library_, card};
    device_identity& id = into.identity;
    fill(id.uuid, ask_text<63>(library_, "nvmlDeviceGetUUID", which));
    const auto name = ask_text<63>(library_, "nvmlDeviceGetName", which);
    fill(id.name, name);
    fill(id.board_part_number, ask_text<31>(library_, "nvmlDeviceGetBoardPartNumber", card));
    fill(id.index_nvml, ask_card.number("nvmlDeviceGetIndex", 0, 1023));
    fill(id.pci_bus_id, bus_id(ask(library_, "nvmlDeviceGetPciInfo_v3", pci_info{}, card)));
    id.mig_enabled =
        then(ask_card.numbers<2>("nvmlDeviceGetMigMode"), [](const auto& numbers) { return flag(numbers[0]); });
    if (card != which) {
        id.mig_parent_uuid = ask_text<63>(library_, "nvmlDeviceGetUUID", card);
        // The profile is the end of the instance's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
        const std::string_view full = name ? name.value.view() : std::string_view{};
        const auto at = full.rfind("MIG ");
        id.mig_profile = at == std::string_view::npos ? reading<text<31>>::unavailable("not in the instance's name")
                                                      : reading<text<31>>{text<31>{full.substr(at + 4)}};
    } else {
        id.mig_parent_uuid.why = id.mig_profile.why = "not a MIG instance";
    }

    device_software& sw = into.software;
    fill(sw.driver_version, ask_text<31>(library_, "nvmlSystemGetDriverVersion"));
    fill(sw.nvml_version, ask_text<31>(library_, "nvmlSystemGetNVMLVersion"));
    fill(sw.vbios_version, ask_text<31>(library_, "nvmlDeviceGetVbiosVersion", card));
    fill(sw.persistence_mode, flag(ask(library_, "nvmlDeviceGetPersistenceMode", 0U, card)));
    fill(sw.compute_mode, named(ask(library_, "nvmlDeviceGetComputeMode", 0U, card), compute_modes));
}

void nvml::describe_memory(handle which, device& into) const {
    const handle card = whole_card(which);
    const card_of ask_card{library_, card};
    device_memory& m = into.memory;
    const auto all = memory_at_start(which);
    const auto part = [&all](unsigned long long memory_v2::* field) {
        return then(all, [&](const memory_v2& read) { return size_of(read.*field); });
    };
    m.nvml_total = part(&memory_v2::total);
    m.nvml_reserved = part(&memory_v2::reserved);
    m.nvml_used = part(&memory_v2::used);
    m.nvml_free = part(&memory_v2::free);

    const auto sane = [](const bar1_memory& read) {
        const bool believed = read.total > 0 && read.total <= most_memory && read.used <= read.total;
        return believed ? reading<bar1_memory>{read} : implausible<bar1_memory>(read.total);
    };
    const auto bar1 = then(ask(library_, "nvmlDeviceGetBAR1MemoryInfo", bar1_memory{}, card), sane);
    m.bar1_total = then(bar1, [](const bar1_memory& read) { return size_of(read.total); });
    m.bar1_used = then(bar1, [](const bar1_memory& read) { return size_of(read.used); });

    const auto ecc = ask_card.numbers<2>("nvmlDeviceGetEccMode");
    m.ecc_enabled = then(ecc, [](const auto& modes) { return flag(modes[0]); });
    m.ecc_pending = then(ecc, [](const auto& modes) { return flag(modes[1]); });
    const auto rows = ask_card.numbers<4>("nvmlDeviceGetRemappedRows");
    m.remapped_rows_correctable = then(rows, [](const auto& numbers) { return bounded(numbers[0], 0, 1'000'000); });
    m.remapped_rows_uncorrectable = then(rows, [](const auto& numbers) { return bounded(numbers[1], 0, 1'000'000); });
    m.remapping_pending = then(rows, [](const auto& numbers) { return flag(numbers[2]); });
    m.remapping_failed = then(rows, [](const auto& numbers) { return flag(numbers[3]); });

    const auto everyone = processes(which);
    into.process_count = then(everyone, [](const auto& list) { return static_cast<std::int32_t>(list.size()); });
    for (const process_info& one : everyone.value)  // the first that there is room for
        into.processes.push({static_cast<std::int64_t>(one.pid), used_by(one)});
}

void nvml::describe_power(handle which, device& into) const {
    const card_of card{library_, whole_card(which)};
    device_compute& c = into.compute;
    fill(c.sm_clock_now, card.clock("nvmlDeviceGetClockInfo", clock_sm));
    fill(c.sm_clock_max, card.clock("nvmlDeviceGetMaxClockInfo", clock_sm));
    fill(c.memory_clock_now, card.clock("nvmlDeviceGetClockInfo", clock_memory));
    fill(c.memory_clock_max, card.clock("nvmlDeviceGetMaxClockInfo", clock_memory));
    device_power& p = into.power;
    p.draw = card.watts_of("nvmlDeviceGetPowerUsage");
    p.limit = card.watts_of("nvmlDeviceGetEnforcedPowerLimit");
    p.limit_default = card.watts_of("nvmlDeviceGetPowerManagementDefaultLimit");
    p.temperature_celsius = card.number("nvmlDeviceGetTemperature", 0, 150, temperature_gpu);
    p.slowdown_celsius = card.number("nvmlDeviceGetTemperatureThreshold", 1, 200, threshold_slowdown);
    p.throttle_reasons = then(card.throttled(), throttle_reason_names);
}

nvml::state nvml::now(handle which) const {
    const card_of card{library_, whole_card(which)};
    state now{card.clock("nvmlDeviceGetClockInfo", clock_sm), card.watts_of("nvmlDeviceGetPowerUsage"),
              card.throttled()};
    now.throttled.value &= ~1ULL;  // idle
    return now;
}

void nvml::describe_links(handle which, device& into) const {
    const card_of card{library_, whole_card(which)};
    device_pcie& pcie = into.pcie;
    pcie.generation_now = card.number("nvmlDeviceGetCurrPcieLinkGeneration", 1, 8);
    pcie.generation_max = card.number("nvmlDeviceGetMaxPcieLinkGeneration", 1, 8);
    pcie.width_now = card.number("nvmlDeviceGetCurrPcieLinkWidth", 1, 32);
    pcie.width_max = card.number("nvmlDeviceGetMaxPcieLinkWidth", 1, 32);
    fill(pcie.numa_node, card.number("nvmlDeviceGetNumaNodeId", 0, 4095));

    into.nvlinks.count = 0;
    std::int32_t active = 0;
    into.nvlinks_active.why = "NVML: no link answered";
    for (unsigned link = 0; link < into.nvlinks.capacity; ++link) {
        device_nvlink one;
        one.link = static_cast<std::int32_t>(link);
        one.active = flag(ask(library_, "nvmlDeviceGetNvLinkState", 0U, card.card, link));
        if (!one.active) {  // not there, or past the last; the first answer is the reason if there is none at all
            if (link == 0) into.nvlinks_active.why = one.active.why;
            continue;
        }
        one.version.why = one.remote_pci_bus_id.why = one.remote_type.why = "link inactive";
        if (*one.active) {
            ++active;
            one.version = card.number("nvmlDeviceGetNvLinkVersion", 1, 64, link);
            one.remote_pci_bus_id =
                bus_id(ask(library_, "nvmlDeviceGetNvLinkRemotePciInfo_v2", pci_info{}, card.card, link));
            one.remote_type =
                named(ask(library_, "nvmlDeviceGetNvLinkRemoteDeviceType", 0U, card.card, link), remote_types);
        }
        into.nvlinks.push(one);
    }
    if (!into.nvlinks.empty()) into.nvlinks_active = active;
}

}  // namespace llmres::probe
