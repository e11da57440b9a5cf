// SPDX-License-Identifier: MIT
// What the subcommands share: ways to end, ways to write, and devices as CUDA and NVML see them together.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <llmres/io/device_json.hpp>
#include <llmres/io/files.hpp>
#include <llmres/values/version.hpp>

#include "commands.hpp"

namespace llmres::probe {

result<std::string> job_text(const job_request& request) {
    return request.model.ends_with(".json") ? read_job_text(request.model) : result<std::string>{document_of(request)};
}

int refuse(const error& wrong) {
    std::cerr << "llmres-probe: " << wrong.field.view() << ": " << name_of(wrong.code);
    if (!wrong.value.empty()) std::cerr << " (" << wrong.value.view() << ")";
    std::cerr << "; expected " << wrong.expected.view() << "\n";
    return exit_usage;
}

int end(exit_code code, const std::string& why) {
    if (!why.empty()) std::cerr << "llmres-probe: " << why << "\n";
    return code;
}

int end_without_device(const device_total& none) {
    const std::string why{none.why.view()};
    if (none.fault) return end(exit_internal, why);
    std::cout << to_json(device_file{}).dump() << "\n";
    return end(exit_no_device, "no device: " + why);
}

bool write_json(const nlohmann::ordered_json& document, const std::string& path) {
    const std::string written = document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (path.empty() || path == "-") {
        std::cout << written << std::flush;
        return true;
    }
    std::ofstream out{path, std::ios::binary};
    out << written << std::flush;
    if (!out) std::cerr << "llmres-probe: json: " << path << " cannot be written\n";
    return static_cast<bool>(out);
}

device_file file_of(std::vector<device> devices) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return {text<31>{fmt::format("{}.{}.{}", version.major, version.minor, version.patch)},
            text<31>{fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", now)}, std::move(devices)};
}

namespace {

/// The NVML handle of a device that CUDA described: by UUID, as a whole card or as an instance (whose UUID then
/// replaces the guess in the descriptor), else by PCI address.
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

namespace {

/// Which device `asked` names: a CUDA index or a UUID; the first if nothing was asked. Refuses by name.
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

}  // namespace

workplace::workplace(const options& o) : stop{o.timeout_s} {
    if (!o.simulate.empty()) {
        const auto file = read_device_file(o.simulate);
        if (!file)
            exit = refuse(file.error());
        else if (file->devices.empty())
            exit = end_without_device({.why = text<127>{o.simulate + " holds none"}});
        else
            devices = file->devices;
    } else if (const device_total total = cuda->device_count(); total.count == 0) {
        exit = end_without_device(total);
    } else {
        devices = describe_all(*cuda, driver, total.count);
    }
    if (devices.empty()) return;
    if (const auto which = select(devices, o.device); which) {
        index = *which;
        handle = join(driver, live());
    } else {
        exit = refuse(which.error());
        devices.clear();
    }
}

}  // namespace llmres::probe
