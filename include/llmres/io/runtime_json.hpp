// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/io/json/field_writer.hpp>
#include <llmres/io/json/runtime/constant_ref.hpp>
#include <llmres/io/json/runtime/names.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

/// Runtime profiles as JSON, each constant under the name of its C++ field: {"from": "vllm@0.19", "process":
/// {"cuda_graphs": {"low": 0, "expected": 419430400, "high": 838860800}}}. Sizes are bytes and times seconds. What a
/// document leaves out is as in the profile that `from` names. read_runtime_profile() reads them.
namespace llmres::inline v0 {

/// A profile as JSON, with every field.
inline json_value to_json(const runtime_profile& profile);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline std::string version_text(const runtime_version& v) {
    return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

/// A constant as data. What needs no more than its address is only read.
inline json_value constant_to_json(const constant_ref& c);

/// The constants of a part, by name.
inline json_value part_to_json(const std::vector<constant_ref>& constants) {
    json_value part = json_value::object();
    for (const constant_ref& c : constants) part[std::string{c.field->name}] = constant_to_json(c);
    return part;
}

/// One number where all three are equal.
inline json_value bounds_to_json(const std::vector<constant_ref>& ends) {
    return ends[0].at_most(ends[1]) && ends[2].at_most(ends[0]) ? constant_to_json(ends[0]) : part_to_json(ends);
}

inline json_value families_to_json(const format_set& families) {
    json_value named = json_value::array();
    const auto& names = names_of<format_family>;
    for (std::size_t i = 1; i < names.size(); ++i)
        if (families.contains(static_cast<format_family>(i))) named.push_back(std::string{names[i]});
    return named;
}

inline json_value knobs_to_json(const knob_list& knobs) {
    json_value named = json_value::object();
    for (const knob& k : knobs) named[std::string{k.name}] = std::string{name_of(k.setting)};
    return named;
}

inline json_value fraction_to_json(decltype(runtime_cache::default_fraction) choose) {
    for (const named_fraction& f : named_fractions)
        if (f.choose == choose) return std::string{f.name};
    return {};
}

inline json_value classes_to_json(std::array<device_default, 3>& classes) {
    json_value all = json_value::array();
    for (device_default& d : classes) all.push_back(part_to_json(constants_in(d)));
    return all;
}

inline json_value constant_to_json(const constant_ref& c) {
    switch (c.type->kind) {
        case constant_kind::part: return part_to_json(c.inside());
        case constant_kind::interval: return bounds_to_json(c.inside());
        case constant_kind::maybe: return c.whole() != 0 ? constant_to_json(c.inside().front()) : json_value{};
        case constant_kind::words: return std::string{c.type->words(c.at)};
        case constant_kind::version:
            return c.as<runtime_version>() == runtime_version{} ? json_value{}
                                                                : json_value(version_text(c.as<runtime_version>()));
        case constant_kind::families: return families_to_json(c.as<format_set>());
        case constant_kind::knobs: return knobs_to_json(c.as<knob_list>());
        case constant_kind::launcher: {
            const launcher* const its = c.as<const launcher*>();
            return its == nullptr ? json_value{} : json_value(std::string{its->name});
        }
        case constant_kind::fraction: return fraction_to_json(c.as<decltype(runtime_cache::default_fraction)>());
        case constant_kind::classes: return classes_to_json(c.as<std::array<device_default, 3>>());
        default: return value_to_json(*c.type, c.at);
    }
}

/// All constants of a profile.
inline json_value constants_to_json(llmres::runtime profile) { return part_to_json(constants_in(profile)); }

}  // namespace detail

/// Where a profile comes from, as JSON.
inline json_value to_json(const profile_origin& origin) {
    const auto list = [](const std::vector<std::string>& words) {
        json_value made = json_value::array();
        for (const std::string& each : words) made.push_back(each);
        return made;
    };
    json_value sources = json_value::object();
    for (const auto& [constant, source] : origin.sources) sources[constant] = source;
    return detail::json_object({{"versions", list(origin.versions)},
                                {"gpus", list(origin.gpus)},
                                {"rows", origin.rows},
                                {"measurements", origin.measurements},
                                {"times", origin.times},
                                {"sources", std::move(sources)}});
}

inline json_value to_json(const runtime_profile& profile) {
    json_value document = json_value::object();
    if (!profile.from.empty()) document["from"] = profile.from;
    document["origin"] = to_json(profile.origin);
    document.update(detail::constants_to_json(profile.runtime));
    return document;
}

}  // namespace llmres::inline v0
