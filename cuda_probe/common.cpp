// SPDX-License-Identifier: MIT
// What the subcommands share: ways to end, ways to write, and where devices come from.
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <llmres/io/files.hpp>
#include <llmres/values/version.hpp>

#include "commands.hpp"
#include "describe.hpp"

namespace llmres::probe {

result<std::string> job_text(const job_request& request) {
    if (!request.model.ends_with(".json")) return document_of(request);
    std::ifstream in{request.model, std::ios::binary};
    if (!in || std::filesystem::is_directory(request.model))
        return refused(error_code::io, "JOB", request.model, "a job document that can be read");
    return std::string{std::istreambuf_iterator<char>{in}, {}};
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

text<31> timestamp() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 24> room{};
    const std::size_t length = std::strftime(room.data(), room.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text<31>{std::string_view{room.data(), length}};
}

device_file file_of(std::vector<device> devices) {
    text<31> number;
    for (const std::int64_t part : {version.major, version.minor, version.patch}) {
        if (!number.empty()) number.append(".");
        number.append(std::to_string(part));
    }
    return {number, timestamp(), std::move(devices)};
}

int end_without_device(const device_total& none) {
    return none.fault ? end(exit_internal, std::string{none.why.view()})
                      : end_without_device(std::string{none.why.view()});
}

found_devices find_devices(const common_options& common, cuda_api& cuda, const nvml& driver) {
    if (!common.simulate.empty()) {
        const auto file = read_device_file(common.simulate);
        if (!file) return {{}, refuse(file.error())};
        if (file->devices.empty()) return {{}, end_without_device(common.simulate + " holds none")};
        return {file->devices, exit_done};
    }
    const device_total total = cuda.device_count();
    if (total.count == 0) return {{}, end_without_device(total)};
    return {describe_all(cuda, driver, total.count), exit_done};
}

}  // namespace llmres::probe
