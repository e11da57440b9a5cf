// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/runtime/constant_ref.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/precision.hpp>
#include <string>
#include <string_view>

/// Writes C++ fields of jobs, layouts, clusters and runtimes under their keys, as the rows of io/job_fields.hpp say. A
/// layout is little else.
namespace llmres::inline v0 {

namespace detail {

/// A value of a type that job documents have.
inline json_value value_to_json(const constant_type& type, void* at) {
    switch (type.kind) {
        case constant_kind::flag: return type.whole(at) != 0;
        case constant_kind::real:
        case constant_kind::seconds: return type.real(at);
        case constant_kind::choice: return std::string{type.names[static_cast<std::size_t>(type.whole(at))]};
        case constant_kind::format: return std::string{static_cast<const precision*>(at)->name.view()};
        case constant_kind::maybe:
            return type.whole(at) != 0 ? value_to_json(*type.if_known, type.inside(at).front().at) : json_value{};
        default: return type.whole(at);
    }
}

inline void write_members_of(json_value& out, const job_field_rows::owner_id* owner, void* now, void* usual,
                             std::string_view but) {
    for (const job_field& f : job_fields) {
        const field_place& p = f.place;
        if (p.owner == owner && f.group != but && (p.always_told || !p.equal(p.in(now), p.in(usual))))
            out[std::string{f.name}] = value_to_json(*p.type, p.in(now));
    }
}
/// Adds each key that has a C++ field in this struct, but those of one group: where the row says so, or the value is
/// not the usual one.
template <class Owner>
void write_members(json_value& out, Owner now, Owner usual = {}, std::string_view but = {}) {
    write_members_of(out, &job_field_rows::id_of<Owner>, &now, &usual, but);
}

}  // namespace detail

/// The layers of each pipeline stage or chunk, as read_stages() reads them: 20|22|22|16.
inline std::string to_text(const stage_list& stages) {
    std::string shown;
    for (std::size_t c = 0; c < stages.chunks; ++c)
        shown += (c > 0 ? "|" : "") + std::to_string(stages.layers[c]) + (stages.prediction == c + 1 ? "m" : "");
    return shown;
}

/// A layout. Keys of an uneven split of layers over stages are there only where the split is uneven.
inline json_value to_json(const layout& l) {
    json_value shown = json_value::object();
    detail::write_members(shown, l);
    shown["expert_tensor"] = l.expert_tensor_ranks();
    if (l.stages.chunks > 0) shown["stages"] = to_text(l.stages);
    return shown;
}

}  // namespace llmres::inline v0
