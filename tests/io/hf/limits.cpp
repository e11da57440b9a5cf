// SPDX-License-Identifier: MIT
// Between which limits each number of a configuration is read, whatever the family: tests/data/configs/limits.json.
#include <doctest/doctest.h>

#include <fstream>
#include <llmres/io/hf_config.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace llmres;
using namespace llmres::detail;
using nlohmann::json;

namespace {

/// What limits.json says of each number of a part of the configurations: `name`, `object.name`, or `type:name` where a
/// type departs from the others; `name[]` is an entry of a list.
std::map<std::string, std::string> read_limits(const char* part) {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/data/configs/limits.json"};
    const json table = json::parse(file)[part];
    std::map<std::string, std::string> limits;
    for (const auto& [range, names] : table.items())
        for (const json& name : names) CHECK(limits.emplace(name.get<std::string>(), range).second);
    return limits;
}

/// A configuration of every type: transformers' own classes, and the models of families.json.
std::vector<json> configurations() {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/data/configs/families.json"};
    std::ifstream registered{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_registry.jsonl"};
    std::vector<json> configs;
    for (std::string line; std::getline(registered, line);)
        if (const json row = json::parse(line); row["variant"] == 1) configs.push_back(row["config"]);
    for (const json& row : json::parse(file)) configs.push_back(row["config"]);
    return configs;
}

/// The readers of a configuration: of its text model, and of what stands beside it.
class readers {
public:
    explicit readers(const json& config) : config_{config}, outer_{config} {
        type = outer_.text_or(hf::type_field, "");
        tower = hf::find_type(hf::multimodal_families, type);
        nested_ = outer_.object(hf::nested_field);
        if (nested_ == nullptr && !outer_.has(hf::vision_field)) tower = nullptr;
        text_type = type;
        if (tower != nullptr) text_type = tower->text_type;
        if (nested_ != nullptr) text_type = config_fields{*nested_}.text_or(hf::type_field, text_type);
        family = hf::find_type(hf::families, text_type);
    }

    const json& text() const { return nested_ != nullptr ? *nested_ : config_; }
    config_fields fields_of(const json& object) const {
        config_fields fields = nested_ != nullptr ? config_fields{object, "text_config"} : config_fields{object};
        fields.fall_back_on(hf::defaults_of(text_type, nested_ != nullptr));
        return fields;
    }
    error read(const json& object) const {
        config_fields fields = fields_of(object);
        (void)family->read(fields);
        return fields.error();
    }
    error add(const json& config, model m) const {
        config_fields fields{config};
        tower->add(fields, m);
        return fields.error();
    }

    std::string type, text_type;
    const hf::family* family = nullptr;
    const hf::multimodal_family* tower = nullptr;

private:
    const json& config_;
    config_fields outer_;
    const json* nested_ = nullptr;
};

/// The range that an error of this field names; empty where the error is another.
std::string range_in(const error& e, std::string_view field) {
    constexpr std::string_view before = "an integer from ";
    const std::string_view label = e.field.view(), expected = e.expected.view();
    const bool of_field = label == field || (label.ends_with(field) && label[label.size() - field.size() - 1] == '.');
    return std::string{of_field && expected.starts_with(before) ? expected.substr(before.size()) : ""};
}

/// Asks readers for numbers that are too small, and holds their answers against the table.
class asking {
public:
    explicit asking(const char* part) : limits_{read_limits(part)} {
        for (const auto& [key, range] : limits_) {
            const std::size_t begin = key.find_last_of(".:") + 1;  // npos + 1 is 0
            names_.insert(key.substr(begin, key.find('[') - begin));
        }
    }

    /// The names of numbers that stand in the table, and with their objects.
    const std::set<std::string>& names() const { return names_; }

    template <class Read>
    void ask(const std::string& type, const std::string& path, const json& object, const std::string& name,
             const Read& read) {
        const std::string field = path + name;
        const bool of_both_kinds = limits_.contains(field + "[]");
        json changed = object;
        for (const bool listed : {false, true}) {
            changed[name] = listed ? json(std::vector<int>(64, -7)) : json(-7);
            const std::string range = range_in(read(changed), name);
            if (range.empty()) continue;
            std::string key = type + ":" + field;
            if (!limits_.contains(key)) key = listed && of_both_kinds ? field + "[]" : field;
            CAPTURE(type);
            CAPTURE(field);
            REQUIRE(limits_.contains(key));
            CHECK(range == limits_.at(key));
            seen_.insert(key);
        }
    }
    /// The same of the numbers in the objects of an object.
    template <class Read>
    void ask_inside(const std::string& type, const json& object, const Read& read) {
        for (const auto& item : object.items()) {
            const std::string& at = item.key();
            const json& inner = item.value();
            if (!inner.is_object() || at == "text_config" || at.starts_with("rope")) continue;
            const auto inside = [&](const json& changed) {
                json whole = object;
                whole[at] = changed;
                return read(whole);
            };
            for (const std::string& name : names_)
                if (inner.contains(name) || limits_.contains(at + "." + name)) ask(type, at + ".", inner, name, inside);
        }
    }
    /// The entries of the table that no reader was asked for.
    std::set<std::string> unseen() const {
        std::set<std::string> left;
        for (const auto& [key, range] : limits_)
            if (!seen_.contains(key)) left.insert(key);
        return left;
    }

private:
    std::map<std::string, std::string> limits_;
    std::set<std::string> names_, seen_;
};

}  // namespace

// The limits are those of all families, but of those that the table names.
TEST_CASE("each number of a text model is read between the limits of a table") {
    asking table{"text"};
    for (const json& config : configurations()) {
        const readers own{config};
        if (own.family == nullptr) continue;
        config_fields fields = own.fields_of(own.text());
        (void)own.family->read(fields);
        const auto read = [&](const json& text) { return own.read(text); };
        for (const std::string& name : table.names())
            if (fields.was_read(name.c_str())) table.ask(own.text_type, "", own.text(), name, read);
        json alone = own.text();
        alone.erase("vision_config");
        table.ask_inside(own.text_type, alone, read);
    }
    for (const std::string& key : table.unseen()) CHECK_MESSAGE(false, key);
}

TEST_CASE("each number of what stands beside a text model is read between the limits of a table") {
    asking table{"beside"};
    for (const json& config : configurations()) {
        const readers own{config};
        if (own.family == nullptr || own.tower == nullptr) continue;
        config_fields fields = own.fields_of(own.text()), outer{config};
        const model text = own.family->read(fields);
        model m = text;
        own.tower->add(outer, m);
        const auto add = [&](const json& whole) { return own.add(whole, text); };
        for (const std::string& name : table.names())
            if (outer.was_read(name.c_str())) table.ask(own.type, "", config, name, add);
        table.ask_inside(own.type, config, add);
    }
    for (const std::string& key : table.unseen()) CHECK_MESSAGE(false, key);
}

TEST_CASE("each number of Gemma's towers of audio is read between its limits") {
    const struct {
        const char* type;
        const char* field;
        const char* range;
    } numbers[] = {
        {"gemma4", "num_attention_heads", "1 to 1024"},    {"gemma4", "num_hidden_layers", "1 to 256"},
        {"gemma4", "conv_kernel_size", "1 to 64"},         {"gemma3n", "conf_num_attention_heads", "1 to 1536"},
        {"gemma3n", "conf_num_hidden_layers", "1 to 256"}, {"gemma3n", "conf_conv_kernel_size", "1 to 64"}};
    for (const auto& number : numbers) {
        json config{{"model_type", number.type},
                    {"text_config", {{"intermediate_size", 8192}}},
                    {"vision_config", json::object()},
                    {"audio_config", {{"hidden_size", std::string{number.type} == "gemma4" ? 1024 : 1536}}}};
        config["audio_config"][number.field] = -7;
        CAPTURE(number.field);
        CHECK(range_in(read_hf_config(config.dump()).error(), number.field) == number.range);
    }
}
