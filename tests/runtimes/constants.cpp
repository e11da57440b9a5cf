// SPDX-License-Identifier: MIT
// docs/sources.md lists where the constants of the profiles come from: those that were measured, or assumed, have
// bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace llmres;

namespace {

std::string in_figures(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

template <class T, class Convert>
std::string written(const interval<T>& i, const Convert& convert, const char* unit) {
    return in_figures(convert(i.low)) + ", " + in_figures(convert(i.expected)) + ", " + in_figures(convert(i.high)) +
           unit;
}

/// Constants with their values as the table writes them, and the profiles that have each.
using constants = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

/// The fields of one profile that have bounds.
class bounded_fields {
public:
    bounded_fields(constants& found, const runtime& of) : found_{found}, name_{of.identity.name.view()} {
        process(of.process);
        launches(of.launches);
        add("allocator.fragmentation", of.allocator.fragmentation);
        add("allocator.expandable_fragmentation", of.allocator.expandable_fragmentation);
        add("allocator.activation_fragmentation", of.allocator.activation_fragmentation);
        add("accuracy.activations", of.accuracy.activations);
        add("accuracy.undescribed", of.accuracy.undescribed);
        add("accuracy.logits", of.accuracy.logits);
        add("step.logits.bytes", of.step.logits.bytes);
        add("step.logits.chunked_bytes", of.step.logits.chunked_bytes);
        add("step.logits.dense_bytes", of.step.logits.dense_bytes);
        add("step.logits.filter_stack", of.step.logits.filter_stack);
        add("pipeline.layer_of_rank", of.pipeline.layer_of_rank);
        if (of.loading.repacked > 0) put("loading.repacked", in_figures(of.loading.repacked));
    }

private:
    void process(const runtime_process& p) {
        add("process.context", p.context);
        add("process.workspace", p.workspace);
        add("process.stage_workspace", p.stage_workspace);
        add("process.expert_workspace", p.expert_workspace);
        add("process.communicator", p.communicator);
        add("process.fused_all_reduce", p.fused_all_reduce);
        add("process.cuda_graphs", p.cuda_graphs);
        add("process.layer_graphs", p.layer_graphs);
    }
    void launches(const runtime_launches& l) {
        add("launches.layer", l.layer);
        add("launches.eager_layer", l.eager_layer);
        add("launches.narrow_product", l.narrow_product);
        add("launches.looped_expert", l.looped_expert);
        add("launches.step", l.step);
        add("launches.request", l.request);
        add("launches.prompts", l.prompts);
        if (l.floors < 1) put("launches.floors", in_figures(l.floors));
        if (l.bytes_a_clock > 0) put("launches.bytes_a_clock", in_figures(l.bytes_a_clock));
    }
    template <class T>
    void add(const char* field, const interval<T>& i) {
        if (i.low == i.expected && i.expected == i.high) return;
        if constexpr (std::is_same_v<T, byte_count>) {
            const bool whole = i.expected.in(bytes) % mib(1).in(bytes) == 0;
            put(field, whole ? written(
                                   i, [](byte_count b) { return b.in(mib); }, " MiB")
                             : written(i, [](byte_count b) { return static_cast<double>(b.in(bytes)); }, " B"));
        } else if constexpr (std::is_same_v<T, duration>) {
            put(field, written(i, [](duration d) { return d.in(microseconds); }, " us"));
        } else {
            put(field, written(i, [](double d) { return d; }, ""));
        }
    }
    void put(const std::string& field, const std::string& value) { found_[{field, value}].emplace(name_); }

    constants& found_;
    std::string_view name_;
};

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string trimmed(const std::string& cell) {
    const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
    return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, at);) parts.push_back(trimmed(part));
    return parts;
}

/// The rows of the table between two markers: the cells of each.
std::vector<std::vector<std::string>> table(const std::string& marker) {
    const std::string page = content_of(LLMRES_SOURCE_DIR "/docs/sources.md");
    const auto first = page.find("<!-- " + marker + " -->"), last = page.find("<!-- /" + marker + " -->");
    REQUIRE(last != std::string::npos);
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines{page.substr(first, last - first)};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("| ")) rows.push_back(split(line.substr(1), '|'));
    rows.erase(rows.begin());  // its head
    return rows;
}

const std::set<std::string> kinds{"in-sample", "measured", "source", "assumed"};

}  // namespace

TEST_CASE("every constant of a profile that has bounds is in the table of their origins, and nothing else is") {
    constants found;
    for (const runtime* profile : runtimes::all) bounded_fields{found, *profile};
    constants listed;
    for (const std::vector<std::string>& row : table("constants")) {
        REQUIRE(row.size() == 5);
        INFO(row[0] << " " << row[1]);
        CHECK(kinds.contains(row[3]));
        CHECK_FALSE(row[4].empty());
        for (const std::string& name : split(row[2], ',')) CHECK(listed[{row[0], row[1]}].insert(name).second);
    }
    for (const auto& [constant, profiles] : found) {
        INFO(constant.first << " " << constant.second);
        for (const std::string& name : profiles) {
            INFO(name);
            CHECK(listed[constant].contains(name));
        }
    }
    for (const auto& [constant, profiles] : listed) {
        INFO(constant.first << " " << constant.second);
        for (const std::string& name : profiles) {
            INFO(name);
            CHECK((found.contains(constant) && found.at(constant).contains(name)));
        }
    }
}

TEST_CASE("every header that says In-sample is in the table of what was read off rows, and every one there says it") {
    std::set<std::string> listed, marked;
    for (const std::vector<std::string>& row : table("in-sample")) {
        REQUIRE(row.size() == 3);
        listed.insert(row[0]);
    }
    const std::filesystem::path root = std::filesystem::path{LLMRES_SOURCE_DIR} / "include" / "llmres";
    for (const auto& entry : std::filesystem::recursive_directory_iterator{root})
        if (entry.path().extension() == ".hpp" && content_of(entry.path()).find("In-sample") != std::string::npos)
            marked.insert(std::filesystem::relative(entry.path(), root).generic_string());
    CHECK(listed == marked);
}
