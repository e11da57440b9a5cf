// SPDX-License-Identifier: MIT
// What the subcommands share: ways to end, ways to write, and devices as CUDA and NVML see them together.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <llmres/io/device_json.hpp>
#include <llmres/io/files.hpp>
#include <llmres/values/version.hpp>

#include "commands.hpp"

namespace llmres::probe {

std::string job_text(const job_request& request) {
    return names_file(request) ? read_job_text(request.model).value() : document_of(request);
}

void write_json(const nlohmann::ordered_json& document, const std::string& path) {
    const std::string written = document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (path.empty() || path == "-") {
        std::cout << written << std::flush;
        return;
    }
    std::ofstream out{path, std::ios::binary};
    out << written << std::flush;
    if (!out) throw ending{exit_usage, "json: " + path + " cannot be written"};
}

device_file file_of(std::vector<device> devices) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return {text<31>{fmt::format("{}.{}.{}", version.major, version.minor, version.patch)},
            text<31>{fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now)}, std::move(devices)};
}

namespace {

/// The NVML handle of a device that CUDA described: by UUID, as a whole card or as an instance (whose UUID then
/// replaces the guess in the descriptor), else by PCI address.
nvml::handle nvml_handle_of(const nvml& driver, device& live) {
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

/// The devices that CUDA lets this process use, so many as it said.
std::vector<device> describe_all(cuda_api& cuda, const nvml& driver, std::int32_t count) {
    std::vector<device> all;
    std::vector<nvml::handle> handles;
    for (std::int32_t i = 0; i < count; ++i) {
        device& live = all.emplace_back();
        live.memory.cuda_free.why = "no context was opened";
        cuda.describe(i, live);
        driver.describe(handles.emplace_back(nvml_handle_of(driver, live)), live);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < all.size(); ++j)
            if (i != j)
                all[i].peers.push({all[j].identity.uuid.value_or(""), driver.topology(handles[i], handles[j]),
                                   reading<measured<byte_rate>>::unavailable("not measured")});
    return all;
}

/// Which device `asked` names: a CUDA index or a UUID; the first if nothing was asked. Refuses by name.
std::size_t select(const std::vector<device>& devices, const std::string& asked) {
    if (asked.empty()) return 0;
    std::int64_t index = 0;
    const auto [end, code] = std::from_chars(asked.data(), asked.data() + asked.size(), index);
    if (code == std::errc{} && end == asked.data() + asked.size()) {
        in_range("device", index, 0, static_cast<std::int64_t>(devices.size()) - 1).value();
        return static_cast<std::size_t>(index);
    }
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i].identity.uuid && devices[i].identity.uuid.value == std::string_view{asked}) return i;
    throw exception{
        refused(error_code::unknown, "device", asked, "an index, or the UUID of a device that `describe` shows")};
}

}  // namespace

workplace::workplace(const options& o) : stop{o.timeout_s} {
    device_total total{.why = text<127>{o.simulate + " holds none"}};
    if (!o.simulate.empty()) {
        recorded = read_device_file(o.simulate).value();
        devices = recorded.devices;
    } else {
        total = cuda->device_count();
        devices = describe_all(*cuda, driver, total.count);
    }
    if (devices.empty()) {
        const std::string why{total.why.view()};
        if (total.fault) throw ending{exit_internal, why};
        std::cout << to_json(device_file{}).dump() << "\n";
        throw ending{exit_no_device, "no device: " + why};
    }
    index = select(devices, o.device);
    handle = nvml_handle_of(driver, live());
}

}  // namespace llmres::probe
