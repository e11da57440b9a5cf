// SPDX-License-Identifier: MIT
// The GPUs of this machine, by NVML; or of another, by what its tools printed.
#include "machine.hpp"

#include "commands.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <llmres/hardware/device.hpp>
#include <llmres/io/json/cluster/machine.hpp>
#include <llmres/values/to_string.hpp>
#include <nvml.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace program {
namespace {

using field = std::pair<const char*, std::string>;

llmres::machine_gpu listed(const llmres::device& d) {
    llmres::machine_gpu one;
    if (d.identity.name) one.name = d.identity.name->view();
    if (d.memory.nvml_total) one.memory = *d.memory.nvml_total;
    one.in_use = held_by_others(d);
    if (d.power.limit) one.power_limit = *d.power.limit;
    one.is_split_by_mig = d.identity.mig_enabled.value_or(false);
    return one;
}

/// Whether CUDA shows a device to programs: CUDA_VISIBLE_DEVICES lists indices or beginnings of UUIDs. Indices are
/// taken in the order of the bus.
bool is_visible(const llmres::device& d, std::int32_t index) {
    const char* listed_devices = std::getenv("CUDA_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe): one thread
    if (listed_devices == nullptr) return true;
    const std::string uuid{d.identity.uuid ? d.identity.uuid->view() : std::string_view{}};
    for (const std::string_view one : llmres::detail::parts_of(listed_devices, ','))
        if (one == std::to_string(index) || (one.starts_with("GPU-") && uuid.starts_with(one))) return true;
    return false;
}

/// Main memory that is available, as Linux tells it.
llmres::maybe<llmres::byte_count> available_memory() {
    std::ifstream in{"/proc/meminfo"};
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("MemAvailable:"))
            return llmres::detail::size_in(llmres::detail::trimmed_text(std::string_view{line}.substr(13)),
                                           llmres::kib(1));
    return {};
}

/// This machine. Refused without NVML, and without a GPU that is visible.
llmres::machine this_machine() {
    const llmres::probe::nvml driver;
    const auto refuse = [](const std::string& why) {
        throw refusal{llmres::refused(llmres::error_code::io, "gpu", "auto: " + why,
                                      "an NVIDIA GPU and its driver; for others the name, or a FILE with what rocm-smi "
                                      "--showproductname --showmeminfo vram --json or system_profiler prints")};
    };
    if (!driver.reason().empty()) refuse(driver.reason());
    const llmres::reading<std::int32_t> count = driver.device_count();
    if (!count) refuse(std::string{count.why.view()});
    llmres::machine m{.source = "NVML", .host_memory = available_memory()};
    for (std::int32_t i = 0; i < *count; ++i) {
        llmres::device d;
        driver.describe(driver.by_index(i), d);
        if (is_visible(d, i)) m.gpus.push_back(listed(d));
    }
    if (m.gpus.empty()) refuse("NVML: no GPU that CUDA_VISIBLE_DEVICES leaves");
    return m;
}

std::string text_in(const std::string& file) {
    if (file == "-") return {std::istreambuf_iterator<char>{std::cin}, {}};
    std::ifstream in{file, std::ios::binary};
    std::error_code failed;
    if (!in || std::filesystem::is_directory(file, failed))
        throw refusal{llmres::refused(llmres::error_code::io, "gpu", file, "a file that can be read")};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The machine that a word of --gpu names: this one, or that of a file.
llmres::machine machine_named(const std::string& word) {
    if (word == "auto") return this_machine();
    const llmres::result<llmres::machine> m = llmres::read_machine(text_in(word));
    if (!m)
        throw refusal{llmres::refused(m.error().code, "gpu", word + " (" + std::string{m.error().value.view()} + ")",
                                      m.error().expected.view())};
    return *m;
}

/// A size as it is typed.
std::string typed_size(llmres::byte_count size) {
    return fmt::format("{}MiB", (size + llmres::mib(1) - llmres::bytes(1)).in(llmres::bytes) / (std::int64_t{1} << 20));
}

/// The fields of a job document that say these cards.
std::vector<field> fields_of(const llmres::machine& m, const llmres::machine_cards& cards) {
    std::vector<field> all;
    if (cards.kinds.size() == 1) {
        all = {{"gpu", std::string{cards.kinds[0].first.id.view()}}, {"gpus", std::to_string(cards.kinds[0].second)}};
    } else {
        std::string names;
        for (const auto& [card, count] : cards.kinds)
            names += fmt::format("{}{}:{}", names.empty() ? "" : ",", card.id.view(), count);
        all = {{"gpu", names}};
    }
    if (cards.gpu_memory) all.emplace_back("gpu_memory", typed_size(*cards.gpu_memory));
    if (cards.in_use > llmres::byte_count{}) all.emplace_back("in_use", typed_size(cards.in_use));
    if (cards.power_limit) all.emplace_back("power_limit", fmt::format("{:g}", cards.power_limit->in(llmres::watts)));
    if (m.host_memory) all.emplace_back("host_memory", typed_size(*m.host_memory));
    return all;
}

std::string flags_of(const std::vector<field>& fields) {
    std::string line;
    for (const auto& [name, value] : fields) line += fmt::format("{}--{} {}", line.empty() ? "" : " ", name, value);
    return line;
}

/// Whether a word is a file, and no name that --gpu takes: a file that is called h100 does not hide the GPU.
bool is_listing(const std::string& word) {
    std::error_code failed;
    if (word == "any" || word == "cpu" || llmres::find_gpu(word)) return false;
    return std::filesystem::is_regular_file(word, failed);
}

}  // namespace

void take_machine(plan_options& o) {
    const auto asked = o.fields.find("gpu");
    if (asked == o.fields.end()) return;
    const std::string word = asked->second;
    if (word != "auto" && word != "-" && !is_listing(word)) return;
    if (word == "-" && o.source == "-")
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "gpu", word,
                                      "a file, where the job stands on standard input")};
    const llmres::machine m = machine_named(word);
    o.fields.erase(asked);
    std::vector<field> taken;
    for (const field& f : fields_of(m, accept(cards_of(m))))
        if (o.fields.try_emplace(f.first, f.second).second) taken.push_back(f);
    tell(fmt::format("{}: {}", m.source, flags_of(taken)));
}

int run_machine(const machine_options& o) {
    const llmres::machine m = machine_named(o.file);
    const llmres::machine_cards cards = accept(cards_of(m));
    const std::vector<field> fields = fields_of(m, cards);
    if (o.json) {
        nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
        const auto known = [](const auto& value, const auto& unit) {
            return value ? nlohmann::ordered_json(value->in(unit)) : nlohmann::ordered_json(nullptr);
        };
        for (const llmres::machine_gpu& one : m.gpus)
            gpus.push_back({{"name", plain(one.name)},
                            {"memory", known(one.memory, llmres::bytes)},
                            {"in_use", known(one.in_use, llmres::bytes)},
                            {"power_limit", known(one.power_limit, llmres::watts)}});
        print_answer("machine", {{"source", m.source},
                                 {"gpus", gpus},
                                 {"host_memory", known(m.host_memory, llmres::bytes)},
                                 {"flags", flags_of(fields)}});
        return fits;
    }
    const auto known = [](const auto& value) { return value ? to_string(*value) : std::string{"unknown"}; };
    std::vector<table_row> rows;
    rows.reserve(m.gpus.size());
    for (const llmres::machine_gpu& one : m.gpus)
        rows.push_back({plain(one.name), known(one.memory), known(one.in_use),
                        one.power_limit ? fmt::format("{:g} W", one.power_limit->in(llmres::watts)) : "unknown"});
    print_table({{"GPU, by " + m.source}, {"memory", true}, {"in use", true}, {"power limit", true}}, rows);
    fmt::print("\nplan     llmres plan MODEL {}\n", flags_of(fields));
    return fits;
}

}  // namespace program
