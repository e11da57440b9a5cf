// SPDX-License-Identifier: MIT
// What NVML knows of a device, put into the descriptor.
#include <array>

#include "nvml_call.hpp"

namespace llmres::probe {

using namespace nvml_abi;

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

void nvml::describe(handle which, device& into) const {
    describe_identity(which, into);
    describe_memory(which, into);
    describe_power(which, into);
    describe_links(which, into);
}

void nvml::describe_identity(handle which, device& into) const {
    const functions& c = *call_;
    const handle card = whole_card(which);
    device_identity& id = into.identity;
    fill(id.uuid, ask_text<63>(c.uuid, which));
    const auto name = ask_text<63>(c.name, which);
    fill(id.name, name);
    fill(id.board_part_number, ask_text<31>(c.part_number, card));
    fill(id.index_nvml, bounded(ask(c.index, 0U, card), 0, 1023));
    const auto bus_id = [](const pci_info& pci) { return readable<31>(pci.bus_id, sizeof pci.bus_id); };
    fill(id.pci_bus_id, then(ask(c.pci, pci_info{}, card), bus_id));

    unsigned mode = 0;
    unsigned pending = 0;
    const code code = c.mig_mode ? c.mig_mode(card, &mode, &pending) : 13;
    id.mig_enabled = code == success ? flag(mode) : reading<bool>::unavailable(nvml_reason(code));
    if (card != which) {
        id.mig_parent_uuid = ask_text<63>(c.uuid, card);
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
    fill(sw.driver_version, ask_text<31>(c.driver_version));
    fill(sw.nvml_version, ask_text<31>(c.nvml_version));
    fill(sw.vbios_version, ask_text<31>(c.vbios, card));
    fill(sw.persistence_mode, flag(ask(c.persistence, 0U, card)));
    constexpr std::array<const char*, 4> modes{"default", "exclusive_thread", "prohibited", "exclusive_process"};
    const auto found = bounded(ask(c.compute_mode, 0U, card), 0, 3);
    fill(sw.compute_mode, then(found, [&](std::int32_t i) { return text<31>{modes[static_cast<std::size_t>(i)]}; }));
}

void nvml::describe_memory(handle which, device& into) const {
    const functions& c = *call_;
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

    const auto bar1 = then(ask(c.bar1, bar1_memory{}, card), [](const bar1_memory& read) {
        const bool sane = read.total > 0 && read.total <= most_memory && read.used <= read.total;
        return sane ? reading<bar1_memory>{read} : implausible<bar1_memory>(read.total);
    });
    m.bar1_total = then(bar1, [](const bar1_memory& read) { return bytes(static_cast<std::int64_t>(read.total)); });
    m.bar1_used = then(bar1, [](const bar1_memory& read) { return bytes(static_cast<std::int64_t>(read.used)); });

    unsigned now = 0;
    unsigned pending = 0;
    const code ecc = c.ecc ? c.ecc(card, &now, &pending) : 13;
    m.ecc_enabled = ecc == success ? flag(now) : reading<bool>::unavailable(nvml_reason(ecc));
    m.ecc_pending = ecc == success ? flag(pending) : reading<bool>::unavailable(nvml_reason(ecc));

    std::array<unsigned, 4> rows{};
    const code remap = c.remapped ? c.remapped(card, &rows[0], &rows[1], &rows[2], &rows[3]) : 13;
    const auto row = [&](std::size_t i) {
        return remap == success ? reading<unsigned>{rows[i]} : reading<unsigned>::unavailable(nvml_reason(remap));
    };
    m.remapped_rows_correctable = bounded(row(0), 0, 1'000'000);
    m.remapped_rows_uncorrectable = bounded(row(1), 0, 1'000'000);
    m.remapping_pending = flag(row(2));
    m.remapping_failed = flag(row(3));

    if (const auto list = processes(which, into.process_count)) into.processes = *list;
}

void nvml::describe_power(handle which, device& into) const {
    const functions& c = *call_;
    const handle card = whole_card(which);
    fill(into.compute.sm_clock_now, clock_of(ask(c.clock, 0U, card, clock_sm)));
    fill(into.compute.sm_clock_max, clock_of(ask(c.max_clock, 0U, card, clock_sm)));
    fill(into.compute.memory_clock_now, clock_of(ask(c.clock, 0U, card, clock_memory)));
    fill(into.compute.memory_clock_max, clock_of(ask(c.max_clock, 0U, card, clock_memory)));
    into.power.draw = power_of(ask(c.power_draw, 0U, card));
    into.power.limit = power_of(ask(c.power_limit, 0U, card));
    into.power.limit_default = power_of(ask(c.power_default, 0U, card));
    into.power.temperature_celsius = bounded(ask(c.temperature, 0U, card, temperature_gpu), 0, 150);
    into.power.slowdown_celsius = bounded(ask(c.threshold, 0U, card, threshold_slowdown), 1, 200);
    into.power.throttle_reasons = then(ask(c.throttle, 0ULL, card), throttle_reason_names);
}

nvml::state nvml::now(handle which) const {
    const functions& c = *call_;
    const handle card = whole_card(which);
    state now{clock_of(ask(c.clock, 0U, card, clock_sm)), power_of(ask(c.power_draw, 0U, card)),
              ask(c.throttle, 0ULL, card)};
    now.throttled.value &= ~1ULL;  // idle
    return now;
}

void nvml::describe_links(handle which, device& into) const {
    const functions& c = *call_;
    const handle card = whole_card(which);
    into.pcie.generation_now = bounded(ask(c.pcie_generation, 0U, card), 1, 8);
    into.pcie.generation_max = bounded(ask(c.pcie_generation_max, 0U, card), 1, 8);
    into.pcie.width_now = bounded(ask(c.pcie_width, 0U, card), 1, 32);
    into.pcie.width_max = bounded(ask(c.pcie_width_max, 0U, card), 1, 32);
    fill(into.pcie.numa_node, bounded(ask(c.numa, 0U, card), 0, 4095));

    into.nvlinks.count = 0;
    std::int32_t active = 0;
    text<95> why{"NVML: no link answered"};
    for (unsigned link = 0; link < into.nvlinks.capacity; ++link) {
        const auto is_active = flag(ask(c.link_state, 0U, card, link));
        if (!is_active) {  // not there, or past the last; the first answer is the reason if there is none at all
            if (link == 0) why = is_active.why;
            continue;
        }
        device_nvlink one;
        one.link = static_cast<std::int32_t>(link);
        one.active = is_active;
        if (*is_active) {
            ++active;
            one.version = bounded(ask(c.link_version, 0U, card, link), 1, 64);
            one.remote_pci_bus_id = then(ask(c.link_remote, pci_info{}, card, link), [](const pci_info& pci) {
                return readable<31>(pci.bus_id, sizeof pci.bus_id);
            });
            one.remote_type = then(ask(c.link_remote_type, 0U, card, link), [](unsigned type) {
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
