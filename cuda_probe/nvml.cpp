// SPDX-License-Identifier: MIT
// How NVML is asked, answers that are checked before they are believed, and what of them goes into the descriptor.
#include "nvml.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace llmres::probe {

using namespace nvml_abi;

namespace {

constexpr code unknown_function = 13;
constexpr unsigned long long most_memory = 1ULL << 44;  // 16 TiB: no GPU is near

// Names of NVML's enumerators, in their order.
constexpr const char* topologies[] = {"internal",    "single_switch", "multiple_switches",
                                      "host_bridge", "node",          "system"};
constexpr const char* compute_modes[] = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
constexpr const char* throttles[] = {"gpu_idle",      "application_clocks",  "sw_power_cap",        "hw_slowdown",
                                     "sync_boost",    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake",
                                     "display_clocks"};

template <class T>
reading<T> implausible(unsigned long long number) {
    return reading<T>::unavailable("NVML: implausible value " + std::to_string(number));
}

/// The name of a number, of which each is `step` above the one before; a number that has none is not believed.
template <class Number, std::size_t N>
reading<text<31>> named(const reading<Number>& raw, const char* const (&names)[N], int step = 1) {
    return then(raw, [&](Number number) {
        const auto index = static_cast<std::size_t>(number) / static_cast<std::size_t>(step);
        const bool has_name = index < N && static_cast<int>(number) % step == 0;
        return has_name ? reading<text<31>>{text<31>{names[index]}}
                        : implausible<text<31>>(static_cast<unsigned long long>(number));
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
code call(const nvml_library& driver, const char* name, Arguments... arguments) {
    auto* const function = reinterpret_cast<nvml_abi::code (*)(Arguments...)>(driver.functions.find(name));
    return driver.unusable.empty() && function != nullptr ? function(arguments...) : unknown_function;
}
/// NVML's own words for a code.
std::string reason_of(const nvml_library& driver, code said) {
    if (!driver.unusable.empty()) return driver.unusable;
    auto* const words = reinterpret_cast<const char* (*)(code)>(driver.functions.find("nvmlErrorString"));
    return "NVML: " + (words != nullptr ? std::string{words(said)} : "error " + std::to_string(said));
}
template <class Answer>
reading<Answer> answer_of(const nvml_library& driver, code said, const Answer& answer) {
    return said == success ? reading<Answer>{answer} : reading<Answer>::unavailable(reason_of(driver, said));
}
/// A function's answer, which is its last argument, or why there is none.
template <class Answer, class... Arguments>
reading<Answer> ask(const nvml_library& driver, const char* name, Answer answer, Arguments... arguments) {
    const code said = call(driver, name, arguments..., &answer);
    return answer_of(driver, said, answer);
}
template <std::size_t N, class... Arguments>
reading<text<N>> ask_text(const nvml_library& driver, const char* name, Arguments... arguments) {
    std::array<char, 96> room{};
    const code said = call(driver, name, arguments..., room.data(), static_cast<unsigned>(room.size()));
    return then(answer_of(driver, said, room), [](const auto& read) { return readable<N>(read.data(), read.size()); });
}

/// What a process holds, where the driver shows it.
reading<byte_count> used_by(const process_info& process) {
    if (process.used == not_available) return reading<byte_count>::unavailable("NVML: the driver does not tell");
    return process.used > most_memory ? implausible<byte_count>(process.used) : size_of(process.used);
}

/// One device, asked by the names of NVML's functions.
struct asked_device {
    const nvml_library& driver;
    nvml::handle device;

    template <class Answer, class... More>
    reading<Answer> tells(const char* name, Answer answer, More... more) const {
        return then(device, [&](device_handle one) { return ask(driver, name, answer, one, more...); });
    }
    template <std::size_t N>
    reading<text<N>> words(const char* name) const {
        return then(device, [&](device_handle one) { return ask_text<N>(driver, name, one); });
    }
    template <class... More>
    reading<std::int32_t> number(const char* name, unsigned low, unsigned high, More... more) const {
        return bounded(tells(name, 0U, more...), low, high);
    }
    reading<frequency> clock(const char* name, unsigned kind) const {
        return then(number(name, 1, 20'000, kind), [](std::int32_t found) { return mhz(found); });
    }
    reading<power> watts_of(const char* name) const {
        return then(number(name, 1, 10'000'000), [](std::int32_t milliwatts) { return watts(milliwatts / 1000.0); });
    }
    /// The card that an instance is part of, or itself.
    asked_device whole_card() const {
        if (tells("nvmlDeviceIsMigDeviceHandle", 0U).value_or(0) != 1) return *this;
        const auto parent = tells("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device_handle{});
        return {driver, parent.value_or(nullptr) != nullptr ? parent : device};
    }
    /// Several numbers of one function.
    template <std::size_t N>
    reading<std::array<unsigned, N>> numbers(const char* name) const {
        return then(device, [&](device_handle one) {
            std::array<unsigned, N> all{};
            const auto call_with = [&](auto&... each) { return call(driver, name, one, &each...); };
            return answer_of(driver, std::apply(call_with, all), all);
        });
    }
    /// Why clocks are lowered; drivers before 535 know the second name.
    reading<unsigned long long> throttled() const {
        constexpr const char* since_535 = "nvmlDeviceGetCurrentClocksEventReasons";
        const bool knows = driver.functions.find(since_535) != nullptr;
        return tells(knows ? since_535 : "nvmlDeviceGetCurrentClocksThrottleReasons", 0ULL);
    }
    reading<memory_v2> memory() const {
        const auto sane = [](const memory_v2& read) {
            if (read.total == 0 || read.total > most_memory) return implausible<memory_v2>(read.total);
            for (const unsigned long long part : {read.used, read.free, read.reserved})
                if (part > read.total) return implausible<memory_v2>(part);
            return reading<memory_v2>{read};
        };
        return then(tells("nvmlDeviceGetMemoryInfo_v2", memory_v2{}), sane);
    }
    /// Who computes, and who draws or is a client of MPS, which have lists of their own that instances and servers may
    /// lack; who is in two has one memory.
    reading<std::vector<process_info>> processes() const {
        auto all = listed("nvmlDeviceGetComputeRunningProcesses_v3");
        if (!all) return all;
        for (const char* more :
             {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"})
            for (const process_info& one : listed(more).value_or({}))
                if (std::none_of(all.value.begin(), all.value.end(), [&](const auto& p) { return p.pid == one.pid; }))
                    all.value.push_back(one);
        return all;
    }

private:
    /// One of the driver's lists of processes.
    reading<std::vector<process_info>> listed(const char* name) const {
        return then(device, [&](device_handle one) {
            std::vector<process_info> room(4096);  // more than a device has
            auto number = static_cast<unsigned>(room.size());
            const code said = call(driver, name, one, &number, room.data());
            if (number > room.size()) return implausible<std::vector<process_info>>(number);
            room.resize(number);
            return answer_of(driver, said, room);
        });
    }
};

/// What CUDA could not say for a reason of its own keeps that.
template <class T>
void fill(reading<T>& field, const reading<T>& found) {
    if (!field && (found || field.why == "not read")) field = found;
}

void describe_identity(const asked_device& one, const asked_device& card, device& into) {
    device_identity& id = into.identity;
    fill(id.uuid, one.words<63>("nvmlDeviceGetUUID"));
    const auto name = one.words<63>("nvmlDeviceGetName");
    fill(id.name, name);
    fill(id.board_part_number, card.words<31>("nvmlDeviceGetBoardPartNumber"));
    fill(id.index_nvml, card.number("nvmlDeviceGetIndex", 0, 1023));
    fill(id.pci_bus_id, bus_id(card.tells("nvmlDeviceGetPciInfo_v3", pci_info{})));
    id.mig_enabled =
        then(card.numbers<2>("nvmlDeviceGetMigMode"), [](const auto& numbers) { return flag(numbers[0]); });
    if (card.device != one.device) {
        id.mig_parent_uuid = card.words<63>("nvmlDeviceGetUUID");
        // The profile is the end of the instance's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
        const std::string_view full = name ? name.value.view() : std::string_view{};
        const auto at = full.rfind("MIG ");
        id.mig_profile = at == full.npos ? reading<text<31>>::unavailable("not in the instance's name")
                                         : reading<text<31>>{text<31>{full.substr(at + 4)}};
    } else {
        id.mig_parent_uuid.why = id.mig_profile.why = one.device ? text<95>{"not a MIG instance"} : one.device.why;
    }

    device_software& sw = into.software;
    fill(sw.driver_version, ask_text<31>(card.driver, "nvmlSystemGetDriverVersion"));
    fill(sw.nvml_version, ask_text<31>(card.driver, "nvmlSystemGetNVMLVersion"));
    fill(sw.vbios_version, card.words<31>("nvmlDeviceGetVbiosVersion"));
    fill(sw.persistence_mode, flag(card.tells("nvmlDeviceGetPersistenceMode", 0U)));
    sw.compute_mode = named(card.tells("nvmlDeviceGetComputeMode", 0U), compute_modes);
}

/// Memory and who holds it.
void describe_memory(const asked_device& one, const asked_device& card, const reading<memory_v2>& all, device& into) {
    device_memory& m = into.memory;
    m.nvml_total = then(all, [](const memory_v2& read) { return size_of(read.total); });
    m.nvml_reserved = then(all, [](const memory_v2& read) { return size_of(read.reserved); });
    m.nvml_used = then(all, used_of);
    m.nvml_free = then(all, [](const memory_v2& read) { return size_of(read.free); });

    const auto ecc = card.numbers<2>("nvmlDeviceGetEccMode");
    m.ecc_enabled = then(ecc, [](const auto& modes) { return flag(modes[0]); });
    m.ecc_pending = then(ecc, [](const auto& modes) { return flag(modes[1]); });
    const auto rows = card.numbers<4>("nvmlDeviceGetRemappedRows");
    m.remapped_rows_correctable = then(rows, [](const auto& numbers) { return bounded(numbers[0], 0, 1'000'000); });
    m.remapped_rows_uncorrectable = then(rows, [](const auto& numbers) { return bounded(numbers[1], 0, 1'000'000); });
    m.remapping_pending = then(rows, [](const auto& numbers) { return flag(numbers[2]); });
    m.remapping_failed = then(rows, [](const auto& numbers) { return flag(numbers[3]); });

    const auto everyone = one.processes();
    into.process_count = then(everyone, [](const auto& list) { return static_cast<std::int32_t>(list.size()); });
    for (const process_info& process : everyone.value)  // the first that there is room for
        into.processes.push({static_cast<std::int64_t>(process.pid), used_by(process)});
}

void describe_power(const asked_device& card, device& into) {
    device_compute& c = into.compute;
    c.sm_clock_now = card.clock("nvmlDeviceGetClockInfo", clock_sm);
    c.sm_clock_max = card.clock("nvmlDeviceGetMaxClockInfo", clock_sm);
    c.memory_clock_now = card.clock("nvmlDeviceGetClockInfo", clock_memory);
    c.memory_clock_max = card.clock("nvmlDeviceGetMaxClockInfo", clock_memory);
    device_power& p = into.power;
    p.draw = card.watts_of("nvmlDeviceGetPowerUsage");
    p.limit = card.watts_of("nvmlDeviceGetEnforcedPowerLimit");
    p.limit_default = card.watts_of("nvmlDeviceGetPowerManagementDefaultLimit");
    p.temperature_celsius = card.number("nvmlDeviceGetTemperature", 0, 150, temperature_gpu);
    p.slowdown_celsius = card.number("nvmlDeviceGetTemperatureThreshold", 1, 200, threshold_slowdown);
    p.throttle_reasons = then(card.throttled(), throttle_reason_names);
}

void describe_links(const asked_device& card, device& into) {
    device_pcie& pcie = into.pcie;
    pcie.generation_now = card.number("nvmlDeviceGetCurrPcieLinkGeneration", 1, 8);
    pcie.generation_max = card.number("nvmlDeviceGetMaxPcieLinkGeneration", 1, 8);
    pcie.width_now = card.number("nvmlDeviceGetCurrPcieLinkWidth", 1, 32);
    pcie.width_max = card.number("nvmlDeviceGetMaxPcieLinkWidth", 1, 32);
    pcie.numa_node = card.number("nvmlDeviceGetNumaNodeId", 0, 4095);

    for (unsigned link = 0; link < 36; ++link) {  // more than a device has; those that are not there do not answer
        const auto active = flag(card.tells("nvmlDeviceGetNvLinkState", 0U, link));
        if (active) into.nvlinks_active = into.nvlinks_active.value + (*active ? 1 : 0);
        if (link == 0 && !active) into.nvlinks_active.why = active.why;
    }
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

nvml::nvml(const std::string& library) : driver_{shared_library{library}} {
    const code said = call(driver_, "nvmlInit_v2");
    if (!driver_.functions)
        driver_.unusable = "NVML: " + driver_.functions.reason();
    else if (said == unknown_function)
        driver_.unusable = "NVML: " + library + " has no nvmlInit_v2";
    else if (said != success)
        driver_.unusable = reason_of(driver_, said);
    const auto cards = device_count();
    for (std::int32_t i = 0; cards && i < *cards; ++i)
        if (const handle card = by_index(i)) at_start_.emplace(*card, asked_device{driver_, card}.memory());
}

nvml::~nvml() { call(driver_, "nvmlShutdown"); }

reading<std::int32_t> nvml::device_count() const { return bounded(ask(driver_, "nvmlDeviceGetCount_v2", 0U), 0, 1024); }

nvml::handle nvml::by_index(std::int32_t index) const {
    return ask(driver_, "nvmlDeviceGetHandleByIndex_v2", device_handle{}, static_cast<unsigned>(index));
}

nvml::handle nvml::find(std::string_view uuid, std::string_view pci_bus_id) const {
    const auto found_by = [&](const char* name, const std::string& key) {
        const handle found = ask(driver_, name, device_handle{}, key.c_str());
        return found && *found == nullptr ? handle::unavailable("NVML: no such device") : found;
    };
    const auto found = found_by("nvmlDeviceGetHandleByUUID", std::string{uuid});
    if (found || pci_bus_id.empty() || uuid.starts_with("MIG-")) return found;  // the address would be the whole card's
    return found_by("nvmlDeviceGetHandleByPciBusId_v2", std::string{pci_bus_id});
}

reading<memory_v2> nvml::memory_at_start(const handle& which) const {
    const auto found = at_start_.find(which.value);
    return found != at_start_.end() ? found->second : asked_device{driver_, which}.memory();
}

reading<byte_count> nvml::used_at_start(const handle& which) const { return then(memory_at_start(which), used_of); }

reading<byte_count> nvml::used(const handle& which) const {
    return then(asked_device{driver_, which}.memory(), used_of);
}

reading<byte_count> nvml::used_by_others(const handle& which) const {
    return then(asked_device{driver_, which}.processes(), [](const std::vector<process_info>& all) {
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

reading<text<31>> nvml::topology(const handle& a, const handle& b) const {
    const auto common = [&](device_handle one) {
        return asked_device{driver_, a}.tells("nvmlDeviceGetTopologyCommonAncestor", -1, one);
    };
    return named(then(b, common), topologies, 10);
}

void nvml::describe(const handle& which, device& into) const {
    const asked_device one{driver_, which}, card = one.whole_card();
    describe_identity(one, card, into);
    describe_memory(one, card, memory_at_start(which), into);
    describe_power(card, into);
    describe_links(card, into);
}

nvml::state nvml::now(const handle& which) const {
    const asked_device card = asked_device{driver_, which}.whole_card();
    state now{card.clock("nvmlDeviceGetClockInfo", clock_sm), card.watts_of("nvmlDeviceGetPowerUsage"),
              card.throttled()};
    now.throttled.value &= ~1ULL;  // idle
    return now;
}

}  // namespace llmres::probe
