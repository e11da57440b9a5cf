// SPDX-License-Identifier: MIT
// Reads YAML by yaml-cpp and TOML by toml++, each as far as the program was built with it.
#include "config_file.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>
#if LLMRES_YAML
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#include <sstream>
#endif
#if LLMRES_TOML
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
#endif

namespace program {
namespace {

constexpr std::size_t most_config_bytes = std::size_t{1} << 20;
constexpr std::size_t most_config_values = 20'000;
constexpr std::size_t most_config_depth = 32;

refusal not_read(const std::string& file, std::string_view expected) {
    return refusal{llmres::refused(llmres::error_code::malformed, "config", file, expected)};
}

std::string content_of(const std::string& file) {
    std::error_code none;
    std::ifstream in{file, std::ios::binary};
    if (!in || !std::filesystem::is_regular_file(file, none))
        throw refusal{llmres::refused(llmres::error_code::io, "config", file, "a file that can be read")};
    std::string text(most_config_bytes + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > most_config_bytes)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "config", file, "at most 1 MiB")};
    return text;
}

/// Counts the values of a file, so that a short file cannot stand for a huge one.
class value_count {
public:
    explicit value_count(const std::string& file) : file_{file} {}

    void add(std::size_t values) {
        count_ += values;
        if (count_ > most_config_values)
            throw refusal{llmres::refused(llmres::error_code::out_of_range, "config", file_,
                                          "at most 20,000 values, aliases included")};
    }
    void check_depth(std::size_t depth) const {
        if (depth > most_config_depth)
            throw refusal{llmres::refused(llmres::error_code::out_of_range, "config", file_,
                                          "objects in objects at most 32 deep")};
    }

private:
    const std::string& file_;
    std::size_t count_ = 0;
};

#if LLMRES_YAML
std::size_t values_in(const nlohmann::json& value) {
    std::size_t count = 1;
    if (value.is_structured())
        for (const nlohmann::json& inner : value) count += values_in(inner);
    return count;
}

/// Makes JSON of what a YAML parser meets; scalars stay text.
class yaml_reader : public YAML::EventHandler {
public:
    explicit yaml_reader(const std::string& file) : count_{file} {}

    nlohmann::json& read() { return root_; }

    void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t anchor) override { put(nullptr, anchor); }
    void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t anchor) override {
        const auto named = anchored_.find(anchor);
        const nlohmann::json value = named == anchored_.end() ? nlohmann::json{} : named->second;
        count_.add(values_in(value));
        put(value, 0);
    }
    void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                  const std::string& value) override {
        put(value, anchor);
    }
    void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        open(nlohmann::json::array(), anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        open(nlohmann::json::object(), anchor);
    }
    void OnMapEnd() override { close(); }

private:
    /// A list or an object that is not closed yet.
    struct opened {
        nlohmann::json value;
        YAML::anchor_t anchor = 0;
        std::string key{};
        bool has_key = false;
    };

    void open(nlohmann::json value, YAML::anchor_t anchor) {
        open_.push_back({std::move(value), anchor});
        count_.check_depth(open_.size());
    }
    void close() {
        opened last = std::move(open_.back());
        open_.pop_back();
        put(std::move(last.value), last.anchor);
    }
    void put(nlohmann::json value, YAML::anchor_t anchor) {
        count_.add(1);
        if (anchor != 0) anchored_[anchor] = value;
        if (open_.empty()) {
            root_ = std::move(value);
            return;
        }
        opened& in = open_.back();
        if (in.value.is_array()) {
            in.value.push_back(std::move(value));
        } else if (!in.has_key) {
            in.key = value.is_string() ? value.get<std::string>() : value.dump();
            in.has_key = true;
        } else {
            in.has_key = false;
            if (in.key == "<<")
                merge(in.value, value);
            else
                in.value[in.key] = std::move(value);
        }
    }
    /// `<<: *base`: the keys of another object, which those that stand here go over.
    static void merge(nlohmann::json& object, const nlohmann::json& value) {
        if (value.is_array())
            for (const nlohmann::json& one : value) merge(object, one);
        if (value.is_object())
            for (const auto& [key, inner] : value.items())
                if (!object.contains(key)) object[key] = inner;
    }

    value_count count_;
    std::vector<opened> open_{};
    std::map<YAML::anchor_t, nlohmann::json> anchored_{};
    nlohmann::json root_{};
};

nlohmann::json read_yaml(const std::string& file, const std::string& text) {
    yaml_reader reader{file};
    try {
        std::istringstream in{text};
        YAML::Parser parser{in};
        parser.HandleNextDocument(reader);
    } catch (const YAML::Exception& e) {
        throw not_read(fmt::format("{}, line {}", file, e.mark.line + 1), "YAML: " + e.msg);
    }
    return std::move(reader.read());
}
#else
nlohmann::json read_yaml(const std::string& file, const std::string& /*text*/) {
    throw refusal{llmres::refused(llmres::error_code::unsupported, "config", file,
                                  "a program that was built with yaml-cpp (libyaml-cpp-dev)")};
}
#endif

#if LLMRES_TOML
nlohmann::json json_of(const toml::node& node, value_count& count, std::size_t depth) {
    count.add(1);
    count.check_depth(depth);
    if (const toml::table* table = node.as_table()) {
        nlohmann::json object = nlohmann::json::object();
        for (const auto& [key, value] : *table) object[std::string{key.str()}] = json_of(value, count, depth + 1);
        return object;
    }
    if (const toml::array* array = node.as_array()) {
        nlohmann::json list = nlohmann::json::array();
        for (const toml::node& value : *array) list.push_back(json_of(value, count, depth + 1));
        return list;
    }
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return number->get();
    if (const auto* real = node.as_floating_point()) return real->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    return "a date";
}

nlohmann::json read_toml(const std::string& file, const std::string& text) {
    // Its tables free each other one in the other: a key of 100,000 parts would exhaust the stack.
    constexpr std::ptrdiff_t most_dots = 1'000;
    for (std::string_view rest = text; !rest.empty();)
        if (const std::string_view line = llmres::detail::taken_before(rest, "\n");
            std::ranges::count(line, '.') > most_dots)
            throw refusal{
                llmres::refused(llmres::error_code::out_of_range, "config", file, "at most 1,000 dots in a line")};
    const toml::parse_result read = toml::parse(text, file);
    if (!read)
        throw not_read(fmt::format("{}, line {}", file, read.error().source().begin.line),
                       fmt::format("TOML: {}", read.error().description()));
    value_count count{file};
    return json_of(read.table(), count, 0);
}
#else
nlohmann::json read_toml(const std::string& file, const std::string& /*text*/) {
    throw refusal{llmres::refused(llmres::error_code::unsupported, "config", file,
                                  "a program that was built with toml++ (libtomlplusplus-dev)")};
}
#endif

std::string text_of_value(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void take_values(settings& all, const nlohmann::json& object, const std::string& before) {
    for (const auto& [key, value] : object.items()) {
        const std::string path = before + key;
        if (value.is_null()) continue;
        if (value.is_object()) {
            take_values(all, value, path + ".");
        } else if (value.is_array()) {
            const bool plain_list = std::ranges::none_of(value, [](const auto& v) { return v.is_structured(); });
            std::string list;
            for (const nlohmann::json& one : value) list += (list.empty() ? "" : ",") + text_of_value(one);
            all[path] = plain_list ? list : fmt::format("a list of {}", value.size());
        } else {
            all[path] = text_of_value(value);
        }
    }
}

}  // namespace

bool is_config_file(std::string_view name) {
    return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".toml");
}

settings read_config_file(const std::string& file) {
    const std::string text = content_of(file);
    const nlohmann::json root = file.ends_with(".toml") ? read_toml(file, text) : read_yaml(file, text);
    if (!root.is_object()) throw not_read(file, "keys with values");
    settings all;
    take_values(all, root, "");
    return all;
}

}  // namespace program
