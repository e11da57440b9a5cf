// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/io/json/runtime/fields.hpp>
#include <llmres/io/json/runtime/names.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

/// Runtime profiles as JSON, each constant under the name of its C++ field: {"from": "vllm@0.19", "process":
/// {"cuda_graphs": {"low": 0, "expected": 419430400, "high": 838860800}}}. Sizes are bytes and times seconds. What a
/// document leaves out is as in the profile that `from` names. read_runtime_profile() reads them.
namespace llmres::inline v0 {

/// A profile as JSON, with every field.
inline nlohmann::ordered_json to_json(const runtime_profile& profile);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

using profile_json = nlohmann::ordered_json;

inline std::string version_text(const runtime_version& v) {
    return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

template <class Value>
profile_json constant_to_json(const Value& value) {
    if constexpr (is_part<Value>) {
        profile_json part = profile_json::object();
        each_field(value, [&](const profile_field& known, const auto& field) {
            part[std::string{known.name}] = constant_to_json(field);
        });
        return part;
    } else if constexpr (is_interval<Value>) {
        if (value.low == value.expected && value.expected == value.high) return constant_to_json(value.expected);
        return {{"low", constant_to_json(value.low)},
                {"expected", constant_to_json(value.expected)},
                {"high", constant_to_json(value.high)}};
    } else if constexpr (is_maybe<Value>) {
        return value ? constant_to_json(*value) : profile_json{};
    } else if constexpr (std::is_enum_v<Value>) {
        return std::string{names_of(value)[static_cast<std::size_t>(value)]};
    } else if constexpr (std::is_same_v<Value, precision>) {
        return std::string{value.name.view()};
    } else if constexpr (is_text<Value>) {
        return std::string{value.view()};
    } else if constexpr (std::is_same_v<Value, byte_count>) {
        return value.in(bytes);
    } else if constexpr (std::is_same_v<Value, token_count>) {
        return value.in(tokens);
    } else if constexpr (std::is_same_v<Value, duration>) {
        return value.in(seconds);
    } else if constexpr (std::is_same_v<Value, runtime_version>) {
        return value == runtime_version{} ? profile_json{} : profile_json(version_text(value));
    } else if constexpr (std::is_same_v<Value, format_set>) {
        profile_json families = profile_json::array();
        const auto names = names_of(format_family{});
        for (std::size_t i = 1; i < names.size(); ++i)
            if (value.contains(static_cast<format_family>(i))) families.push_back(names[i]);
        return families;
    } else if constexpr (std::is_same_v<Value, knob_list>) {
        profile_json knobs = profile_json::object();
        for (const knob& k : value) knobs[std::string{k.name}] = constant_to_json(k.setting);
        return knobs;
    } else if constexpr (std::is_same_v<Value, decltype(runtime_cache::default_fraction)>) {
        for (const named_fraction& f : named_fractions)
            if (f.choose == value) return std::string{f.name};
        return {};
    } else if constexpr (std::is_same_v<Value, std::array<device_default, 3>>) {
        profile_json classes = profile_json::array();
        for (const device_default& d : value) classes.push_back(constant_to_json(d));
        return classes;
    } else {
        static_assert(std::is_arithmetic_v<Value>);
        return value;
    }
}

}  // namespace detail

/// Where a profile comes from, as JSON.
inline nlohmann::ordered_json to_json(const profile_origin& origin) {
    return {{"versions", origin.versions},
            {"gpus", origin.gpus},
            {"rows", origin.rows},
            {"measurements", origin.measurements},
            {"sources", origin.sources}};
}

inline nlohmann::ordered_json to_json(const runtime_profile& profile) {
    nlohmann::ordered_json document = nlohmann::ordered_json::object();
    if (!profile.from.empty()) document["from"] = profile.from;
    document["origin"] = to_json(profile.origin);
    document.update(detail::constant_to_json(profile.runtime));
    return document;
}

}  // namespace llmres::inline v0
