// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/io/runtime_json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// What each constant of a runtime profile means, in which unit it is, and where its value in a profile comes from:
/// from the table of fields that profiles are read and written by (io/json/runtime/fields.hpp).
namespace llmres::inline v0::detail {

/// A constant of a profile: a field that is no part.
struct profile_constant {
    std::string path{};         ///< in a profile as data: "process.cuda_graphs"
    std::string_view means{};   ///< what it counts or says
    std::string unit{};         ///< "bytes"; what it may be, where it is no number
    bool has_bounds = false;    ///< low, expected and high; else one value
    std::string_view header{};  ///< the header of llmres/runtimes that declares it, and says more
};

/// The header of llmres/runtimes that holds a compiled profile: its own name's, or that of the software it is kin to.
inline std::string header_of(const runtime& compiled) {
    std::string name{compiled.identity.name.view()};
    for (const auto& [own, header] : headers_of_kin)
        if (name == own) name = header;
    for (char& c : name)
        if (c == '.' || c == '-') c = '_';
    return name + ".hpp";
}

/// The unit of a field: what its C++ type says, or else its table.
template <class Value>
std::string unit_of(const profile_field& field) {
    if constexpr (is_interval<Value>) {
        return unit_of<decltype(Value{}.expected)>(field);
    } else if constexpr (is_maybe<Value>) {
        return unit_of<std::remove_cvref_t<decltype(Value{}.value)>>(field);
    } else if constexpr (std::is_same_v<Value, byte_count>) {
        return "bytes";
    } else if constexpr (std::is_same_v<Value, token_count>) {
        return "tokens";
    } else if constexpr (std::is_same_v<Value, duration>) {
        return "seconds";
    } else if constexpr (std::is_same_v<Value, bool>) {
        return "true or false";
    } else if constexpr (std::is_enum_v<Value>) {
        std::string all;
        for (const std::string_view name : names_of<Value>) all.append(all.empty() ? "" : ", ").append(name);
        return "one of " + all;
    } else if constexpr (std::is_same_v<Value, decltype(runtime_cache::default_fraction)>) {
        std::string all;
        for (const named_fraction& f : named_fractions) all.append(all.empty() ? "" : ", ").append(f.name);
        return "one of " + all;
    } else if constexpr (std::is_arithmetic_v<Value>) {
        return std::string{field.unit};
    } else if constexpr (is_text<Value>) {
        return "text";
    } else if constexpr (std::is_same_v<Value, runtime_version>) {
        return "version";
    } else if constexpr (std::is_same_v<Value, precision>) {
        return "format";
    } else if constexpr (std::is_same_v<Value, format_set>) {
        return "list of families of formats";
    } else if constexpr (std::is_same_v<Value, const launcher*>) {
        return "name";
    } else {
        static_assert(std::is_same_v<Value, knob_list>);
        return "object of names";
    }
}

/// Calls visit(path, field, member) for each constant of a part, parts within it included. Of several classes of
/// devices the first stands for all: "step.larger_devices[].from".
template <class Part, class Visit>
void each_constant(const std::string& path, const Part& part, const Visit& visit) {
    each_field(part, [&](const profile_field& field, const auto& member) {
        using value = std::remove_cvref_t<decltype(member)>;
        const std::string here = (path.empty() ? "" : path + ".") + std::string{field.name};
        if constexpr (is_part<value>)
            each_constant(here, member, visit);
        else if constexpr (std::is_same_v<value, std::array<device_default, 3>>)
            each_constant(here + "[]", member[0], visit);
        else
            visit(here, field, member);
    });
}

/// All constants of a profile, in its order.
inline std::vector<profile_constant> profile_constants() {
    std::vector<profile_constant> all;
    std::size_t part_number = 0;
    each_field(no_runtime, [&](const profile_field& part_field, const auto& part) {
        const std::string_view header = headers_of_parts[part_number++];
        each_constant(std::string{part_field.name}, part,
                      [&](const std::string& path, const profile_field& field, const auto& member) {
                          using value = std::remove_cvref_t<decltype(member)>;
                          all.push_back({path, field.means, unit_of<value>(field), is_interval<value>, header});
                      });
    });
    return all;
}

/// A constant by its path, or by its own name where no other has that name; null where there is none.
inline const profile_constant* find_constant(const std::vector<profile_constant>& all, std::string_view named) {
    const profile_constant* found = nullptr;
    for (const profile_constant& c : all) {
        if (c.path == named) return &c;
        if (!std::string_view{c.path}.ends_with("." + std::string{named})) continue;
        if (found != nullptr) return nullptr;
        found = &c;
    }
    return found;
}

/// A constant's value, as profiles as data have it; of classes of devices all values, as a list.
inline json_value value_at(const json_value& profile, std::string_view path) {
    const std::size_t end = path.find('.');
    std::string key{path.substr(0, end)};
    const bool each = key.ends_with("[]");
    if (each) key.resize(key.size() - 2);
    const json_value& value = profile.at(key);
    if (end == std::string_view::npos) return value;
    if (!each) return value_at(value, path.substr(end + 1));
    json_value all = json_value::array();
    for (const json_value& element : value) all.push_back(value_at(element, path.substr(end + 1)));
    return all;
}

/// Where the values of a profile's constants come from.
class constant_sources {
public:
    // (JSON in braces is a list of one element to GCC.)
    explicit constant_sources(const runtime_profile& profile)
        : origin_{profile.origin},
          own_(constants_to_json(profile.runtime)),
          default_(constants_to_json(no_runtime)),
          base_(own_) {
        for (const runtime* compiled : runtimes::all)
            if (*compiled == profile.runtime) take(*compiled);
        if (!profile.from.empty())
            if (const auto from = find_compiled_profile(profile.from)) take(from->runtime);
    }
    /// "12 logs", "this profile", "llmres/runtimes/vllm.hpp (vllm 0.18 and 0.19)", or the default of its part.
    std::string source_of(const profile_constant& c) const {
        if (const auto learnt = origin_.sources.find(c.path); learnt != origin_.sources.end()) return learnt->second;
        const json_value value = value_at(own_, c.path);
        if (header_.empty() || value != value_at(base_, c.path)) return "this profile";
        if (value == value_at(default_, c.path)) return "default of llmres/runtimes/" + std::string{c.header};
        return header_;
    }

private:
    void take(const runtime& compiled) {
        base_ = constants_to_json(compiled);
        header_ = "llmres/runtimes/" + header_of(compiled) + " (" + std::string{compiled.identity.name.view()} + " " +
                  std::string{compiled.identity.versions.view()} + ")";
    }

    profile_origin origin_{};
    json_value own_{};
    json_value default_{};
    json_value base_{};
    std::string header_{};
};

// ---- the schema of profiles -----------------------------------------------------------------------------------------

/// What a constant takes as JSON.
template <class Value>
json_value schema_of_constant() {
    if constexpr (is_interval<Value>) {
        const json_value one = schema_of_constant<decltype(Value{}.expected)>();
        return {{"anyOf", json_value::array({one,
                                             {{"type", "object"},
                                              {"required", {"low", "expected", "high"}},
                                              {"properties", {{"low", one}, {"expected", one}, {"high", one}}},
                                              {"additionalProperties", false}}})}};
    } else if constexpr (is_maybe<Value>) {
        return {{"anyOf", json_value::array({schema_of_constant<std::remove_cvref_t<decltype(Value{}.value)>>(),
                                             {{"type", "null"}}})}};
    } else if constexpr (std::is_same_v<Value, bool>) {
        return {{"type", "boolean"}};
    } else if constexpr (std::is_enum_v<Value>) {
        return {{"enum", names_of<Value>}};
    } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, duration>) {
        return {{"type", "number"}, {"minimum", 0}};
    } else if constexpr (std::is_integral_v<Value> || std::is_same_v<Value, byte_count> ||
                         std::is_same_v<Value, token_count>) {
        return {{"type", "integer"}, {"minimum", 0}};
    } else if constexpr (std::is_same_v<Value, format_set>) {
        return {{"type", "array"}, {"items", {{"enum", names_of<format_family>}}}};
    } else if constexpr (std::is_same_v<Value, knob_list>) {
        return {{"type", "object"}, {"additionalProperties", {{"enum", names_of<knob_setting>}}}};
    } else if constexpr (std::is_same_v<Value, decltype(runtime_cache::default_fraction)> ||
                         std::is_same_v<Value, runtime_version> || std::is_same_v<Value, const launcher*>) {
        return {{"type", {"string", "null"}}};
    } else {
        return {{"type", "string"}};
    }
}

template <class Part>
json_value schema_of_part(const Part& part) {
    json_value fields = json_value::object();
    each_field(part, [&](const profile_field& field, const auto& member) {
        using value = std::remove_cvref_t<decltype(member)>;
        json_value& schema = fields[std::string{field.name}];
        schema["description"] = field.means;
        if constexpr (is_part<value>) {
            schema.update(schema_of_part(member));
        } else if constexpr (std::is_same_v<value, std::array<device_default, 3>>) {
            schema.update({{"type", "array"}, {"maxItems", 3}, {"items", schema_of_part(member[0])}});
        } else {
            const std::string unit = unit_of<value>(field);
            if (!unit.starts_with("one of ") && unit != "true or false")
                schema["description"] = std::string{field.means} + " (" + unit + ")";
            schema.update(schema_of_constant<value>());
        }
    });
    return {{"type", "object"}, {"properties", fields}, {"additionalProperties", false}};
}

/// The JSON Schema of profiles as data. A constant may stand outside its part, which the schema does not hold.
inline json_value profile_schema() {
    const json_value texts{{"type", "array"}, {"items", {{"type", "string"}}}};
    json_value schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"$comment",
                       "Printed by `llmres schema profile`, from the table of a profile's fields "
                       "(io/json/runtime/fields.hpp)."},
                      {"title", "A runtime profile of llmres"}};
    schema.update(schema_of_part(no_runtime));
    json_value& fields = schema["properties"];
    fields["from"] = {{"description", "the profile that gives what this one leaves out"}, {"type", "string"}};
    fields["origin"] = {{"description", "where the constants come from"},
                        {"type", "object"},
                        {"properties",
                         {{"versions", texts},
                          {"gpus", texts},
                          {"rows", {{"type", "integer"}, {"minimum", 0}}},
                          {"measurements", {{"type", "integer"}, {"minimum", 0}}},
                          {"times", {{"type", "integer"}, {"minimum", 0}}},
                          {"sources", {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}}}},
                        {"additionalProperties", false}};
    return schema;
}

}  // namespace llmres::inline v0::detail
