// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
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
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

template <class Value>
inline constexpr bool is_interval = false;
template <class T>
inline constexpr bool is_interval<interval<T>> = true;
template <class Value>
inline constexpr bool is_maybe = false;
template <class T>
inline constexpr bool is_maybe<maybe<T>> = true;
template <class Value>
inline constexpr bool is_text = false;
template <std::size_t N>
inline constexpr bool is_text<text<N>> = true;

/// Reads constants. The first refusal is kept.
class constant_reader {
public:
    status checked() const {
        if (error_.code == error_code::none) return done{};
        return error_;
    }

    template <class Value>
    void read(const nlohmann::json& said, const std::string& path, Value& into) {
        if constexpr (is_part<Value>) {
            part(said, path, into);
        } else if constexpr (is_interval<Value>) {
            bounds(said, path, into);
        } else if constexpr (is_maybe<Value>) {
            if (said.is_null()) return void(into = {});
            into.known = true;
            read(said, path, into.value);
        } else if constexpr (std::is_same_v<Value, bool>) {
            if (!said.is_boolean()) return refuse(path, said, "true or false");
            into = said.get<bool>();
        } else if constexpr (std::is_integral_v<Value>) {
            into = static_cast<Value>(whole(said, path, (std::numeric_limits<Value>::max)()));
        } else if constexpr (std::is_same_v<Value, double>) {
            into = real(said, path);
        } else if constexpr (std::is_same_v<Value, byte_count>) {
            into = bytes(whole(said, path, std::int64_t{1} << 50));
        } else if constexpr (std::is_same_v<Value, token_count>) {
            into = tokens(whole(said, path, std::int64_t{1} << 40));
        } else if constexpr (std::is_same_v<Value, duration>) {
            into = seconds(real(said, path));
        } else if constexpr (std::is_enum_v<Value>) {
            choice(said, path, into);
        } else {
            other(said, path, into);
        }
    }

private:
    void refuse(const std::string& path, const nlohmann::json& said, std::string_view expected,
                error_code code = error_code::malformed) {
        if (error_.code == error_code::none)
            error_ = llmres::error{code, std::string_view{path}, std::string_view{shown(said)}, expected};
    }

    static std::string below(std::string path, std::string_view key) { return path.append(".").append(key); }

    template <class Part>
    void part(const nlohmann::json& said, const std::string& path, Part& into) {
        if (!said.is_object()) return refuse(path, said, "an object");
        for (const auto& entry : said.items()) {
            const std::string& key = entry.key();
            const nlohmann::json& value = entry.value();
            bool known = false;
            each_field(into, [&](const profile_field& named, auto& field) {
                if (named.name != key) return;
                known = true;
                read(value, below(path, key), field);
            });
            if (!known)
                return refuse(below(path, key), value, such_as("a field", nearest(key, profile_field_names<Part>())),
                              error_code::unknown);
        }
    }

    template <class T>
    void bounds(const nlohmann::json& said, const std::string& path, interval<T>& into) {
        if (!said.is_object()) {
            T exact{};
            read(said, path, exact);
            into = interval<T>{exact};
            return;
        }
        for (const auto& [key, value] : said.items()) {
            if (key == "low")
                read(value, path + ".low", into.low);
            else if (key == "expected")
                read(value, path + ".expected", into.expected);
            else if (key == "high")
                read(value, path + ".high", into.high);
            else
                return refuse(below(path, key), value, "low, expected and high", error_code::unknown);
        }
        if (said.size() != 3) return refuse(path, said, "low, expected and high", error_code::missing);
        if (!(into.low <= into.expected && into.expected <= into.high))
            refuse(path, said, "low, expected and high in this order", error_code::inconsistent);
    }

    std::int64_t whole(const nlohmann::json& said, const std::string& path, std::int64_t most) {
        constexpr std::string_view expected = "a whole number from 0 up to the field's bound";
        if (!said.is_number_integer()) return refuse(path, said, expected), 0;
        if (said.is_number_unsigned() ? said.get<std::uint64_t>() > static_cast<std::uint64_t>(most)
                                      : said.get<std::int64_t>() < 0)
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
    template <class Enum>
    void choice(const nlohmann::json& said, const std::string& path, Enum& into) {
        constexpr auto names = names_of(Enum{});
        for (std::size_t i = 0; i < names.size(); ++i)
            if (said.is_string() && said.get_ref<const std::string&>() == names[i])
                return void(into = static_cast<Enum>(i));
        std::string all;
        for (const std::string_view name : names) all.append(all.empty() ? "one of " : ", ").append(name);
        refuse(path, said, all, said.is_string() ? error_code::unknown : error_code::malformed);
    }

    template <std::size_t N>
    void other(const nlohmann::json& said, const std::string& path, text<N>& into) {
        if (!said.is_string() || said.get_ref<const std::string&>().size() > N)
            return refuse(path, said, "a string of at most " + std::to_string(N) + " characters");
        into = std::string_view{said.get_ref<const std::string&>()};
    }
    void other(const nlohmann::json& said, const std::string& path, runtime_version& into) {
        if (said.is_null()) return void(into = {});
        const maybe<runtime_version> found =
            said.is_string() ? read_version(said.get_ref<const std::string&>()) : maybe<runtime_version>{};
        if (!found) return refuse(path, said, "a version in numbers, such as \"0.19.0\", or null");
        into = *found;
    }
    void other(const nlohmann::json& said, const std::string& path, precision& into) {
        if (!said.is_string()) return refuse(path, said, "the name of a format");
        const result<precision> found = find_precision(path, said.get_ref<const std::string&>());
        if (found)
            into = *found;
        else if (error_.code == error_code::none)
            error_ = found.error();
    }
    void other(const nlohmann::json& said, const std::string& path, format_set& into) {
        if (!said.is_array()) return refuse(path, said, "a list of families of formats");
        into = {};
        for (const nlohmann::json& entry : said) {
            format_family family{};
            choice(entry, path, family);
            if (family != format_family::plain) into.bits |= std::uint32_t{1} << static_cast<unsigned>(family);
        }
    }
    /// Knobs lie in tables of the library: a profile has those of one of them.
    void other(const nlohmann::json& said, const std::string& path, knob_list& into) {
        constexpr auto settings = names_of(knob_setting{});
        for (const llmres::runtime* known : runtimes::all) {
            nlohmann::json knobs = nlohmann::json::object();
            for (const knob& k : known->identity.knobs)
                knobs[std::string{k.name}] = settings[static_cast<std::size_t>(k.setting)];
            if (knobs == said) return void(into = known->identity.knobs);
        }
        refuse(path, said, "the knobs of a runtime of `llmres runtimes`", error_code::unknown);
    }
    void other(const nlohmann::json& said, const std::string& path, decltype(runtime_cache::default_fraction)& into) {
        if (said.is_null()) return void(into = nullptr);
        for (const named_fraction& f : named_fractions)
            if (said.is_string() && said.get_ref<const std::string&>() == f.name) return void(into = f.choose);
        refuse(path, said, "null, or one of sglang_by_step, sglang_by_size, sglang_by_ranks", error_code::unknown);
    }
    void other(const nlohmann::json& said, const std::string& path, std::array<device_default, 3>& into) {
        if (!said.is_array() || said.size() > into.size()) return refuse(path, said, "a list of at most 3 classes");
        into = device_classes();
        for (std::size_t i = 0; i < said.size(); ++i) part(said[i], path + "[" + std::to_string(i) + "]", into[i]);
    }

    llmres::error error_{};
};

/// Where a constant stands that a document names without its part: "process" for cuda_graphs. Empty where no part or
/// several have it.
inline std::string part_with(std::string_view key) {
    std::string found;
    bool several = false;
    llmres::runtime any{};
    each_field(any, [&](const profile_field& part_field, auto& part) {
        each_field(part, [&](const profile_field& field, auto&) {
            if (field.name != key) return;
            several = several || !found.empty();
            found = part_field.name;
        });
    });
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
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > (std::uint64_t{1} << 40))
        return refused(error_code::malformed, std::string{"origin."} + key, shown(*found), "a number from 0");
    into = found->get<std::int64_t>();
    return done{};
}

inline status read_origin(const nlohmann::json& said, profile_origin& into) {
    if (!said.is_object()) return refused(error_code::malformed, "origin", shown(said), "an object");
    into = {};
    for (const auto& [key, value] : said.items())
        if (key != "versions" && key != "gpus" && key != "rows" && key != "measurements" && key != "sources")
            return refused(error_code::unknown, "origin." + key, shown(value),
                           "versions, gpus, rows, measurements or sources");
    if (const status s = read_texts(said, "versions", into.versions); !s) return s;
    if (const status s = read_texts(said, "gpus", into.gpus); !s) return s;
    if (const status s = read_count(said, "rows", into.rows); !s) return s;
    if (const status s = read_count(said, "measurements", into.measurements); !s) return s;
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
        read.read(whole, "runtime", profile.runtime);
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
