// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/runtime/constant_ref.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Reads the objects of a job document, field by field; a key that job_fields does not name is refused.
namespace llmres::inline v0::detail {

/// The names of an enumeration, with commas between them.
template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& names) {
    std::string all;
    for (const std::string_view name : names) all.append(all.empty() ? "" : ", ").append(name);
    return all;
}

/// Where an object stands in the document.
constexpr std::string_view object_path(std::string_view object) { return object == "host" ? "cluster.host" : object; }

/// What may stand in place of a key that an object does not have: what it resembles, or, of the document itself, the
/// object that has such a key.
inline text<191> known_instead(std::string_view key, std::string_view where,
                               const std::vector<std::string_view>& known) {
    for (const job_field& f : job_fields)
        if (where.empty() && f.name == key && !f.object.empty()) {
            text<191> elsewhere{object_path(f.object)};
            elsewhere.append(".");
            elsewhere.append(key);
            return elsewhere;
        }
    const nearest_names names = nearest(key, known);
    return such_as(names.empty() ? "a field of `llmres schema`" : "a field", names);
}

/// Refuses the keys of an object that no job_field names.
inline status known_keys(const nlohmann::json& object, std::string_view where,
                         std::initializer_list<std::string_view> others) {
    std::vector<std::string_view> known{others};
    for (const job_field& f : job_fields)
        if (f.object == where) known.push_back(f.name);
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        text<63> field{object_path(where)};
        if (!field.empty()) field.append(".");
        field.append(key);
        return refused(error_code::unknown, field, shown(value), known_instead(key, where, known));
    }
    return done{};
}

/// Reads the fields of one object of a job document into C++ fields of the same name, with the bounds of job_fields.
class job_reader {
public:
    job_reader(const nlohmann::json& object, std::string_view where)
        : fields_{object, object_path(where)}, where_{where} {}

    /// Reads each key that has a C++ field in this struct.
    template <class Owner>
    void members(Owner& into) {
        members_of(&job_field_rows::id_of<Owner>, &into);
    }
    /// Reads a key, if the object has it.
    template <class Value>
    void value(const char* name, Value& into) {
        if (fields_.has(name)) read(described(name), constant_type_of<Value>, &into);
    }
    /// A row of a table, by its name.
    template <class T, class Find>
    void named(const char* name, T& into, Find&& find) {
        if (!fields_.has(name)) return;
        const std::string_view typed = fields_.text_or(name, "");
        if (!fields_.ok()) return;
        take(into, find(typed));
    }
    /// Rows of a table, by their names: a string with commas between them, or a list.
    template <class T, class Find>
    void names(const char* name, T& into, Find&& find) {
        if (!fields_.holds_list(name)) return named(name, into, find);
        std::string joined;
        for (std::size_t i = 0; i < fields_.list(name)->size() && fields_.ok(); ++i) {
            if (i > 0) joined += ',';
            joined += fields_.text_at(name, i);
        }
        if (fields_.ok()) take(into, find(joined));
    }
    config_fields& fields() { return fields_; }
    const config_fields& fields() const { return fields_; }
    status checked() const {
        if (fields_.ok()) return done{};
        return fields_.error();
    }

private:
    template <class T>
    void take(T& into, const result<T>& found) {
        if (found)
            into = *found;
        else
            fields_.fail(found.error());
    }
    void members_of(const job_field_rows::owner_id* owner, void* into) {
        for (const job_field& f : job_fields)
            if (f.place.owner == owner && fields_.has(f.name.c_str())) read(f, *f.place.type, f.place.in(into));
    }
    /// Reads a key that is there.
    void read(const job_field& f, const constant_type& type, void* into) {
        const char* const name = f.name.c_str();
        switch (type.kind) {
            case constant_kind::flag: return type.set_whole(into, fields_.flag_or(name, false));
            case constant_kind::whole:
            case constant_kind::bytes:
            case constant_kind::tokens:
                return type.set_whole(into, fields_.number_or(name, 0, static_cast<std::int64_t>(f.low),
                                                              static_cast<std::int64_t>(f.high), default_of(f)));
            case constant_kind::real:
            case constant_kind::seconds: return type.set_real(into, real(f, type.real(into)));
            case constant_kind::choice: return type.set_whole(into, choice(name, type));
            case constant_kind::format:
                return named(name, *static_cast<precision*>(into),
                             [&](std::string_view typed) { return find_precision(fields_.label(name), typed); });
            default:  // a value that may be unknown
                type.set_whole(into, 1);
                return read(f, *type.if_known, type.inside(into).front().at);
        }
    }
    double real(const job_field& f, double fallback) {
        const char* const name = f.name.c_str();
        const double read = fields_.real_or(name, fallback, -1e300, 1e300);
        if (read >= f.low && read <= f.high) return read;
        text<191> expected{"a number from "};
        append_bound(expected, f.low);
        expected.append(" to ");
        append_bound(expected, f.high);
        fields_.fail(error_code::out_of_range, name, expected);
        return fallback;
    }
    /// The number of one of the names of an enumeration.
    std::int64_t choice(const char* name, const constant_type& type) {
        const std::string_view typed = fields_.text_or(name, "");
        std::string all{"one of "};
        for (std::size_t i = 0; i < type.names.size(); ++i) {
            if (type.names[i] == typed) return static_cast<std::int64_t>(i);
            all.append(i == 0 ? "" : ", ").append(type.names[i]);
        }
        fields_.fail(error_code::unknown, name, all);
        return 0;
    }
    /// A field's bound as a person writes it: 4096, or 1e+21 where an integer has no room for it.
    template <std::size_t N>
    static void append_bound(llmres::text<N>& expected, double bound) {
        if (bound > -9e18 && bound < 9e18)
            expected.append(digits(static_cast<std::int64_t>(bound)));
        else
            expected.append(nlohmann::json(bound).dump());
    }
    /// What a field is where it is left out, from the end of its help: "; default: 1".
    static std::string_view default_of(const job_field& f) {
        const std::size_t at = f.help.find("; default: ");
        return at == std::string_view::npos ? std::string_view{} : f.help.substr(at);
    }
    /// The row of job_fields. A field without one is a mistake in this library, not in the document.
    const job_field& described(const char* name) {
        static constexpr job_field none{"", "", "", field_type::integer, 0, 0, ""};
        if (const job_field* f = find_job_field(where_, name)) return *f;
        fields_.fail(error_code::unknown, name, "a field that job_fields describes");
        return none;
    }

    config_fields fields_;
    std::string_view where_;
};

}  // namespace llmres::inline v0::detail
