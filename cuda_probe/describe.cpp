// SPDX-License-Identifier: MIT
#include "describe.hpp"

#include <charconv>
#include <llmres/io/device_json.hpp>

namespace llmres::probe {

reading<nvml::handle> join(const nvml& driver, device& live) {
    const std::string uuid{live.identity.uuid.value.view()};
    const std::string pci{live.identity.pci_bus_id.value.view()};
    if (uuid.starts_with("GPU-")) {
        if (const auto whole = driver.find(uuid, ""); whole) return whole;
        const std::string instance = "MIG-" + uuid.substr(4);
        if (const auto part = driver.find(instance, ""); part) {
            live.identity.uuid = text<63>{instance};
            return part;
        }
    }
    return driver.find(uuid, pci);
}

namespace {

/// What nobody has read, NVML would have told: its absence is the reason.
void without_nvml(device& live, const text<95>& why) {
    const auto explain = [&](auto& section) {
        llmres::detail::each_field(section, [&](const char*, auto& field) {
            if (!field && field.why == "not read") field.why = why;
        });
    };
    explain(live.identity), explain(live.software), explain(live.memory), explain(live.compute), explain(live.power),
        explain(live.pcie);
    live.process_count.why = live.nvlinks_active.why = why;
    if (!live.memory.cuda_free) live.memory.cuda_free.why = "no context was opened";
}

}  // namespace

std::vector<device> describe_all(cuda_api& cuda, const nvml& driver, std::int32_t count) {
    std::vector<device> all;
    for (std::int32_t i = 0; i < count; ++i) {
        device live;
        cuda.describe(i, live);
        if (const auto handle = join(driver, live); handle) {
            driver.describe(*handle, live);
        } else {
            without_nvml(live, handle.why);
        }
        all.push_back(live);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < all.size(); ++j) {
            if (i == j) continue;
            device_peer other;
            other.uuid = all[j].identity.uuid.value_or("");
            cuda.describe_peer(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), other);
            const auto a = join(driver, all[i]);
            const auto b = join(driver, all[j]);
            other.topology = a && b ? driver.topology(*a, *b) : reading<text<31>>::unavailable(a ? b.why : a.why);
            other.bandwidth = reading<measured<byte_rate>>::unavailable("not measured");
            all[i].peers.push(other);
        }
    }
    return all;
}

void read_free(cuda_api& cuda, std::int32_t index, device& live) {
    const problem wrong = cuda.open_context(index);
    const auto now = wrong.empty() ? cuda.memory() : reading<memory_state>::unavailable(wrong);
    live.memory.cuda_free = then(now, [](const memory_state& state) { return state.free; });
}

std::vector<device> describe_hidden(const nvml& driver, const std::vector<device>& seen) {
    std::vector<device> hidden;
    const auto count = driver.device_count();
    for (std::int32_t i = 0; count && i < *count; ++i) {
        const auto handle = driver.by_index(i);
        if (!handle) continue;
        device live;
        live.identity.index_cuda = reading<std::int32_t>::unavailable("CUDA does not show this device to this process");
        driver.describe(*handle, live);
        bool known = false;
        for (const device& other : seen)
            known = known || (live.identity.uuid && (other.identity.uuid == live.identity.uuid ||
                                                     other.identity.mig_parent_uuid == live.identity.uuid));
        if (!known) hidden.push_back(live);
    }
    return hidden;
}

result<std::size_t> select(const std::vector<device>& devices, const std::string& asked) {
    if (asked.empty()) return std::size_t{0};
    std::int64_t index = 0;
    const auto [end, code] = std::from_chars(asked.data(), asked.data() + asked.size(), index);
    if (code == std::errc{} && end == asked.data() + asked.size()) {
        if (const status ok = in_range("device", index, 0, static_cast<std::int64_t>(devices.size()) - 1); !ok)
            return ok.error();
        return static_cast<std::size_t>(index);
    }
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i].identity.uuid && devices[i].identity.uuid.value == std::string_view{asked}) return i;
    return refused(error_code::unknown, "device", asked, "an index, or the UUID of a device that `list` shows");
}

}  // namespace llmres::probe
