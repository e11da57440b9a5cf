// SPDX-License-Identifier: MIT
#include "nvml.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "nvml_call.hpp"

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

byte_count used_of(const memory_v2& all) { return bytes(static_cast<std::int64_t>(all.used)); }

}  // namespace

text<95> nvml_reason(code code) {
    if (const char* known = name_in(reasons, code)) return text<95>{known};
    text<95> other{"NVML: error "};
    other.append(llmres::detail::digits(code));
    return other;
}

nvml::nvml(const std::string& library) : library_{library}, call_{std::make_unique<functions>(library_)} {
    if (!library_) {
        reason_ = "NVML: " + library_.reason();
        return;
    }
    const functions& c = *call_;
    if (c.init == nullptr) {
        reason_ = "NVML: " + library + " has no nvmlInit_v2";
        return;
    }
    const code code = c.init();
    if (code != success) reason_ = nvml_reason(code).view();
    const auto cards = device_count();
    for (std::int32_t i = 0; cards && i < *cards; ++i)
        if (const auto card = by_index(i)) at_start_.emplace(*card, memory(*card));
}

nvml::~nvml() {
    if (usable() && call_->shutdown != nullptr) call_->shutdown();
}

reading<std::int32_t> nvml::device_count() const {
    if (!usable()) return reading<std::int32_t>::unavailable(reason_);
    return bounded(ask(call_->count, 0U), 0, 1024);
}

reading<nvml::handle> nvml::by_index(std::int32_t index) const {
    if (!usable()) return reading<handle>::unavailable(reason_);
    return ask(call_->by_index, handle{}, static_cast<unsigned>(index));
}

reading<nvml::handle> nvml::find(std::string_view uuid, std::string_view pci_bus_id) const {
    if (!usable()) return reading<handle>::unavailable(reason_);
    const std::string by_uuid{uuid};
    const auto found = ask(call_->by_uuid, handle{}, by_uuid.c_str());
    if (found && *found != nullptr) return found;
    if (pci_bus_id.empty() || uuid.starts_with("MIG-")) return found;  // the address would be the whole card's
    const std::string by_pci{pci_bus_id};
    const auto there = ask(call_->by_pci, handle{}, by_pci.c_str());
    return there && *there == nullptr ? reading<handle>::unavailable("NVML: not found") : there;
}

nvml::handle nvml::whole_card(handle which) const {
    const auto mig = ask(call_->is_mig, 0U, which);
    if (mig.value_or(0) != 1) return which;
    const auto parent = ask(call_->parent_of_mig, handle{}, which);
    return parent && *parent != nullptr ? *parent : which;
}

reading<memory_v2> nvml::memory(handle which) const {
    if (!usable()) return reading<memory_v2>::unavailable(reason_);
    const auto raw = ask(call_->memory, memory_v2{}, which);
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

namespace {

/// One of the driver's lists of processes.
reading<std::vector<process_info>> listed(processes_of_device* list, nvml::handle which) {
    using answer = reading<std::vector<process_info>>;
    if (list == nullptr) return answer::unavailable("NVML: function not known to this driver");
    std::vector<process_info> room(64);
    for (int attempt = 0; attempt < 3; ++attempt) {
        auto number = static_cast<unsigned>(room.size());
        const code code = list(which, &number, room.data());
        if (number > 65'536) return answer::unavailable(implausible<bool>(number).why);
        if (code == insufficient_size) {  // more came in between: ask again with room for them
            room.resize(number * 2 + 8);
            continue;
        }
        if (code != success) return answer::unavailable(nvml_reason(code));
        if (number > room.size()) return answer::unavailable(implausible<bool>(number).why);
        room.resize(number);
        return room;
    }
    return answer::unavailable("NVML: the list of processes kept growing");
}

}  // namespace

reading<short_list<device_process, 32>> nvml::processes(handle which, reading<std::int32_t>& count) const {
    using list = reading<short_list<device_process, 32>>;
    const auto none = [&count](std::string_view why) {
        count = reading<std::int32_t>::unavailable(why);
        return list::unavailable(why);
    };
    if (!usable()) return none(reason_);
    auto all = listed(call_->processes, which);
    if (!all) return none(all.why);
    // Displays and clients of MPS have lists of their own, which instances and servers may lack; who is in two has one
    // memory.
    for (processes_of_device* more : {call_->graphics_processes, call_->mps_processes})
        for (const process_info& one : listed(more, which).value)
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
    const auto level = ask(call_->topology, -1, a, b);
    return then(level, [](int number) {
        const char* name = name_in(topologies, number);
        return name != nullptr ? reading<text<31>>{text<31>{name}}
                               : implausible<text<31>>(static_cast<unsigned long long>(number));
    });
}

}  // namespace llmres::probe
