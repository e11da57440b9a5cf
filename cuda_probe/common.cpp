// SPDX-License-Identifier: MIT
// What the subcommands share: ways to end, ways to write, and where devices come from.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <llmres/io/files.hpp>
#include <llmres/values/version.hpp>

#include "commands.hpp"
#include "describe.hpp"

namespace llmres::probe {

result<std::string> job_text(const job_request& request) {
    return request.model.ends_with(".json") ? read_text(request.model, "JOB", "a job document that can be read")
                                            : result<std::string>{document_of(request)};
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

int end_without_device(const std::string& why) {
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

int end_without_device(const device_total& none) {
    return none.fault ? end(exit_internal, std::string{none.why.view()})
                      : end_without_device(std::string{none.why.view()});
}

workplace::workplace(const options& o) {
    if (!o.simulate.empty()) {
        const auto file = read_device_file(o.simulate);
        if (!file)
            exit = refuse(file.error());
        else if (file->devices.empty())
            exit = end_without_device(o.simulate + " holds none");
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
