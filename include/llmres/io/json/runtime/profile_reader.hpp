// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/runtime/constant_ref.hpp>
#include <llmres/io/json/runtime/fields.hpp>
#include <llmres/io/json/runtime/names.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/errors.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/nearest.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Reads a runtime profile from JSON. Apart from io/runtime_json.hpp, which writes profiles too, since reading a job
/// needs no writer.
namespace llmres::inline v0 {

/// Where the constants of a profile come from.
struct profile_origin {
    std::vector<std::string> versions{};           ///< of the software, as logs printed them
    std::vector<std::string> gpus{};               ///< on which it was measured
    std::int64_t rows = 0;                         ///< published rows or logs behind it: of the figure that has most
    std::int64_t measurements = 0;                 ///< figures of them that its constants were held against
    std::int64_t times = 0;                        ///< published jobs whose times were measured
    std::map<std::string, std::string> sources{};  ///< by constant ("process.cuda_graphs"): "12 logs"; others inherited
    friend bool operator==(const profile_origin&, const profile_origin&) = default;
};

/// A profile as data.
struct runtime_profile {
    llmres::runtime runtime{};  ///< the constants
    std::string from{};         ///< the profile that gives what the document leaves out; empty: defaults do
    profile_origin origin{};    ///< where the constants come from
};

/// How a runtime, as a document or a command line names it, becomes a profile.
using runtime_finder = std::function<result<runtime_profile>(std::string_view name)>;

/// The runtime_finder that opens no file: a compiled profile, as find_runtime() understands names.
inline result<runtime_profile> find_compiled_profile(std::string_view name);

/// Reads a profile. A field may also stand outside its part where no other part has one of that name: {"from":
/// "vllm@0.19", "cuda_graphs": 0}. Refused by name: unknown fields, other types, values out of bounds, intervals whose
/// ends are not in order.
template <std::same_as<nlohmann::json> Json>
result<runtime_profile> read_runtime_profile(const Json& document, const runtime_finder& find = find_compiled_profile);
/// Reads a profile as text.
inline result<runtime_profile> read_runtime_profile(std::string_view document,
                                                    const runtime_finder& find = find_compiled_profile);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Reads constants. The first refusal is kept.
class constant_reader {
public:
    status checked() const {
        if (error_.code == error_code::none) return done{};
        return error_;
    }

    /// The fields of a part.
    void part(const nlohmann::json& said, const std::string& path, const std::vector<constant_ref>& fields) {
        if (!said.is_object()) return refuse(path, said, "an object");
        for (const auto& entry : said.items()) {
            const constant_ref* into = find(fields, entry.key());
            if (into == nullptr) {
                std::vector<std::string_view> known;
                known.reserve(fields.size());
                for (const constant_ref& c : fields) known.push_back(c.field->name);
                return refuse(below(path, entry.key()), entry.value(), such_as("a field", nearest(entry.key(), known)),
                              error_code::unknown);
            }
            read(entry.value(), below(path, entry.key()), *into);
        }
    }

private:
    void refuse(const std::string& path, const nlohmann::json& said, std::string_view expected,
                error_code code = error_code::malformed) {
        if (error_.code == error_code::none)
            error_ = llmres::error{code, std::string_view{path}, std::string_view{shown(said)}, expected};
    }

    static std::string below(std::string path, std::string_view key) { return path.append(".").append(key); }
    static const constant_ref* find(const std::vector<constant_ref>& fields, std::string_view key) {
        for (const constant_ref& c : fields)
            if (c.field->name == key) return &c;
        return nullptr;
    }

    void read(const nlohmann::json& said, const std::string& path, const constant_ref& into) {
        switch (into.type->kind) {
            case constant_kind::part: return part(said, path, into.inside());
            case constant_kind::interval: return bounds(said, path, into.inside());
            case constant_kind::maybe:
                into.type->set_whole(into.at, !said.is_null());
                return said.is_null() ? void() : read(said, path, into.inside().front());
            case constant_kind::flag:
                if (!said.is_boolean()) return refuse(path, said, "true or false");
                return into.type->set_whole(into.at, said.get<bool>());
            case constant_kind::whole:
            case constant_kind::bytes:
            case constant_kind::tokens: return into.type->set_whole(into.at, whole(said, path, into.type->most));
            case constant_kind::real:
            case constant_kind::seconds: return into.type->set_real(into.at, real(said, path));
            case constant_kind::choice:
                return into.type->set_whole(into.at, choice(said, path, into.type->names, into.whole()));
            case constant_kind::words: return words(said, path, into);
            default: return other(said, path, into);
        }
    }
    /// What is neither a number nor a name.
    void other(const nlohmann::json& said, const std::string& path, const constant_ref& into) {
        switch (into.type->kind) {
            case constant_kind::version: return version(said, path, into.as<runtime_version>());
            case constant_kind::format: return format(said, path, into.as<precision>());
            case constant_kind::families: return families(said, path, into.as<format_set>());
            case constant_kind::knobs: return knobs(said, path, into.as<knob_list>());
            case constant_kind::launcher: return launched_by(said, path, into.as<const launcher*>());
            case constant_kind::fraction:
                return fraction(said, path, into.as<decltype(runtime_cache::default_fraction)>());
            default: return classes(said, path, into.as<std::array<device_default, 3>>());
        }
    }

    /// Low, expected and high, or one number for all three.
    void bounds(const nlohmann::json& said, const std::string& path, const std::vector<constant_ref>& ends) {
        if (!said.is_object()) {
            for (const constant_ref& end : ends) read(said, path, end);
            return;
        }
        for (const auto& entry : said.items()) {
            const constant_ref* end = find(ends, entry.key());
            if (end == nullptr)
                return refuse(below(path, entry.key()), entry.value(), "low, expected and high", error_code::unknown);
            read(entry.value(), below(path, entry.key()), *end);
        }
        if (said.size() != 3) return refuse(path, said, "low, expected and high", error_code::missing);
        for (std::size_t i = 0; i < 2; ++i)
            if (!ends[i].at_most(ends[i + 1]))
                return refuse(path, said, "low, expected and high in this order", error_code::inconsistent);
    }

    std::int64_t whole(const nlohmann::json& said, const std::string& path, std::int64_t most) {
        constexpr std::string_view expected = "a whole number from 0 up to the field's bound";
        if (!said.is_number_integer()) return refuse(path, said, expected), 0;
        const bool below = !said.is_number_unsigned() && said.get<std::int64_t>() < 0;
        if (below || said.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
            return refuse(path, said, expected, error_code::out_of_range), 0;
        return said.get<std::int64_t>();
    }
    double real(const nlohmann::json& said, const std::string& path) {
        constexpr std::string_view expected = "a number from 0 to 1e15";
        if (!said.is_number()) return refuse(path, said, expected), 0;
        const double number = said.get<double>();
        if (!(number >= 0 && number <= 1e15)) return refuse(path, said, expected, error_code::out_of_range), 0;
        return number;
    }
    /// The number of a name; `otherwise` where it is none.
    std::int64_t choice(const nlohmann::json& said, const std::string& path, std::span<const std::string_view> names,
                        std::int64_t otherwise) {
        for (std::size_t i = 0; i < names.size(); ++i)
            if (said.is_string() && said.get_ref<const std::string&>() == names[i]) return static_cast<std::int64_t>(i);
        std::string all;
        for (const std::string_view name : names) all.append(all.empty() ? "one of " : ", ").append(name);
        refuse(path, said, all, said.is_string() ? error_code::unknown : error_code::malformed);
        return otherwise;
    }
    void words(const nlohmann::json& said, const std::string& path, const constant_ref& into) {
        const std::int64_t most = into.type->most;
        if (!said.is_string() || said.get_ref<const std::string&>().size() > static_cast<std::size_t>(most))
            return refuse(path, said, "a string of at most " + std::to_string(most) + " characters");
        into.type->set_words(into.at, said.get_ref<const std::string&>());
    }
    void version(const nlohmann::json& said, const std::string& path, runtime_version& into) {
        if (said.is_null()) return void(into = {});
        const maybe<runtime_version> found =
            said.is_string() ? read_version(said.get_ref<const std::string&>()) : maybe<runtime_version>{};
        if (!found) return refuse(path, said, "a version in numbers, such as \"0.19.0\", or null");
        into = *found;
    }
    void format(const nlohmann::json& said, const std::string& path, precision& into) {
        if (!said.is_string()) return refuse(path, said, "the name of a format");
        const result<precision> found = find_precision(path, said.get_ref<const std::string&>());
        if (found)
            into = *found;
        else if (error_.code == error_code::none)
            error_ = found.error();
    }
    void families(const nlohmann::json& said, const std::string& path, format_set& into) {
        if (!said.is_array()) return refuse(path, said, "a list of families of formats");
        into = {};
        for (const nlohmann::json& entry : said) {
            constexpr std::int64_t plain{};
            const std::int64_t family = choice(entry, path, names_of<format_family>, plain);
            if (family != plain) into.bits |= std::uint32_t{1} << static_cast<unsigned>(family);
        }
    }
    /// Whether an object has the names of these knobs, and each says what the knob sets.
    static bool says_knobs(const nlohmann::json& said, const knob_list& knobs) {
        for (const knob& k : knobs)
            if (said.find(k.name) == said.end()) return false;
        for (const auto& entry : said.items()) {
            std::string_view setting;
            for (const knob& k : knobs)
                if (k.name == entry.key()) setting = name_of(k.setting);
            if (setting.empty() || !says(entry.value(), setting)) return false;
        }
        return said.is_object();
    }
    /// Knobs lie in tables of the library: a profile has those of one of them.
    void knobs(const nlohmann::json& said, const std::string& path, knob_list& into) {
        for (const llmres::runtime* known : runtimes::all)
            if (says_knobs(said, known->identity.knobs)) return void(into = known->identity.knobs);
        refuse(path, said, "the knobs of a runtime of `llmres runtimes`", error_code::unknown);
    }
    /// As knobs: a profile has the launcher of one of the library's profiles.
    void launched_by(const nlohmann::json& said, const std::string& path, const launcher*& into) {
        if (said.is_null()) return void(into = nullptr);
        for (const llmres::runtime* known : runtimes::all)
            if (const launcher* its = known->identity.launcher; its != nullptr && says(said, its->name))
                return void(into = its);
        refuse(path, said, "null, or the launcher of a runtime of `llmres runtimes`", error_code::unknown);
    }
    void fraction(const nlohmann::json& said, const std::string& path,
                  decltype(runtime_cache::default_fraction)& into) {
        if (said.is_null()) return void(into = nullptr);
        for (const named_fraction& f : named_fractions)
            if (said.is_string() && said.get_ref<const std::string&>() == f.name) return void(into = f.choose);
        std::string names;
        for (const named_fraction& f : named_fractions) names.append(names.empty() ? "" : ", ").append(f.name);
        refuse(path, said, "null, or a rule: " + names, error_code::unknown);
    }
    void classes(const nlohmann::json& said, const std::string& path, std::array<device_default, 3>& into) {
        if (!said.is_array() || said.size() > into.size()) return refuse(path, said, "a list of at most 3 classes");
        into = device_classes();
        for (std::size_t i = 0; i < said.size(); ++i)
            part(said[i], path + "[" + std::to_string(i) + "]", constants_in(into[i]));
    }

    llmres::error error_{};
};

/// Where a constant stands that a document names without its part: "process" for cuda_graphs. Empty where no part or
/// several have it.
inline std::string part_with(std::string_view key) {
    std::string found;
    bool several = false;
    llmres::runtime any{};
    for (const constant_ref& part : constants_in(any))
        for (const constant_ref& c : part.inside()) {
            if (c.field->name != key) continue;
            several = several || !found.empty();
            found = part.field->name;
        }
    return several ? std::string{} : found;
}

inline status read_texts(const nlohmann::json& object, const char* key, std::vector<std::string>& into) {
    const auto found = object.find(key);
    if (found == object.end()) return done{};
    const auto refuse = [&] {
        return refused(error_code::malformed, std::string{"origin."} + key, shown(*found), "a list of strings");
    };
    if (!found->is_array()) return refuse();
    for (const nlohmann::json& entry : *found) {
        if (!entry.is_string()) return refuse();
        into.push_back(entry.get<std::string>());
    }
    return done{};
}

inline status read_count(const nlohmann::json& said, const char* key, std::int64_t& into) {
    const auto found = said.find(key);
    if (found == said.end()) return done{};
    const bool counts = found->is_number_integer() && (found->is_number_unsigned() || found->get<std::int64_t>() >= 0);
    if (!counts || found->get<std::uint64_t>() > (std::uint64_t{1} << 40))
        return refused(error_code::malformed, std::string{"origin."} + key, shown(*found), "a number from 0");
    into = found->get<std::int64_t>();
    return done{};
}

inline status read_origin(const nlohmann::json& said, profile_origin& into) {
    if (!said.is_object()) return refused(error_code::malformed, "origin", shown(said), "an object");
    into = {};
    for (const auto& [key, value] : said.items())
        if (key != "versions" && key != "gpus" && key != "rows" && key != "measurements" && key != "times" &&
            key != "sources")
            return refused(error_code::unknown, "origin." + key, shown(value),
                           "versions, gpus, rows, measurements, times or sources");
    if (const status s = read_texts(said, "versions", into.versions); !s) return s;
    if (const status s = read_texts(said, "gpus", into.gpus); !s) return s;
    if (const status s = read_count(said, "rows", into.rows); !s) return s;
    if (const status s = read_count(said, "measurements", into.measurements); !s) return s;
    if (const status s = read_count(said, "times", into.times); !s) return s;
    if (const auto sources = said.find("sources"); sources != said.end()) {
        if (!sources->is_object())
            return refused(error_code::malformed, "origin.sources", shown(*sources), "an object of strings");
        for (const auto& [constant, source] : sources->items()) {
            if (!source.is_string())
                return refused(error_code::malformed, "origin.sources." + constant, shown(source), "a string");
            into.sources[constant] = source.get<std::string>();
        }
    }
    return done{};
}

}  // namespace detail

inline result<runtime_profile> find_compiled_profile(std::string_view name) {
    const result<runtime> found = find_runtime(name);
    if (!found) return found.error();
    runtime_profile profile{*found, {}, {}};
    profile.origin.versions.emplace_back(found->identity.versions.view());
    std::set<std::string_view> gpus;
    profile.origin.rows = rows_behind(errors_of(*found));
    profile.origin.times = timed_rows_of(*found);
    for (const profile_error& e : errors_of(*found)) {
        profile.origin.measurements += e.rows;
        for (std::string_view rest = e.gpus; !rest.empty();) {
            const std::size_t comma = rest.find(", ");
            gpus.insert(rest.substr(0, comma));
            rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 2);
        }
    }
    profile.origin.gpus.assign(gpus.begin(), gpus.end());
    return profile;
}

template <std::same_as<nlohmann::json> Json>
result<runtime_profile> read_runtime_profile(const Json& document, const runtime_finder& find) {
    if (!document.is_object())
        return refused(error_code::malformed, "runtime", detail::shown(document), "an object: a profile");
    runtime_profile profile;
    if (const auto from = document.find("from"); from != document.end()) {
        if (!from->is_string())
            return refused(error_code::malformed, "runtime.from", detail::shown(*from), "the name of a runtime");
        const result<runtime_profile> base = find(from->template get_ref<const std::string&>());
        if (!base) return base.error();
        profile = *base;
        profile.from = from->template get<std::string>();
    }
    detail::constant_reader read;
    for (const auto& [key, value] : document.items()) {
        if (key == "from") continue;
        if (key == "origin") {
            if (const status s = detail::read_origin(value, profile.origin); !s) return s.error();
            continue;
        }
        const std::string part = detail::part_with(key);
        constexpr auto parts = detail::profile_field_names<llmres::runtime>();
        const bool is_part = std::find(parts.begin(), parts.end(), std::string_view{key}) != parts.end();
        nlohmann::json whole = nlohmann::json::object();
        if (is_part || part.empty())
            whole[key] = value;
        else
            whole[part][key] = value;
        read.part(whole, "runtime", detail::constants_in(profile.runtime));
        if (const status s = read.checked(); !s) return s.error();
    }
    if (profile.runtime.identity.name.empty())
        return refused(error_code::missing, "runtime.identity.name", "absent",
                       "the name of the software, or a profile as from");
    return profile;
}

inline result<runtime_profile> read_runtime_profile(std::string_view document, const runtime_finder& find) {
    const result<json_document> parsed = parse_json_object(document, no_numbers::refused);
    if (!parsed) return parsed.error();
    return read_runtime_profile(parsed->root, find);
}

}  // namespace llmres::inline v0
