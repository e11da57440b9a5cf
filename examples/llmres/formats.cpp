// SPDX-License-Identifier: MIT
// llmres formats, links: the number formats and the interconnects of the library.
#include "commands.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace program {
namespace {

/// Formats with parameters, as their usual checkpoints have them.
constexpr std::array<std::string_view, 9> usual_parameters{"gptq_int4_g128",   "gptq_int8_g128", "awq_int4_g128",
                                                           "packed_int4_g128", "hqq_int4_g64",   "exl2_4.0bpw",
                                                           "exl3_4.0bpw",      "mlx_int4_g64",   "mlx_int8_g64"};

/// The engines of which a version loads weights of a family. A profile without a loader of checkpoints (`none`,
/// frameworks for training) says nothing of formats, and is left out.
std::vector<std::string_view> engines_with(llmres::format_family family) {
    std::vector<std::string_view> names;
    for (const llmres::runtime* r : llmres::runtimes::all) {
        const std::string_view name = r->identity.name.view();
        const bool describes = !(r->loading.formats == llmres::all_formats);
        const bool known = std::find(names.begin(), names.end(), name) != names.end();
        if (describes && !known && loads(r->loading, family)) names.push_back(name);
    }
    return names;
}

llmres::json_value format_row(std::string_view name, std::string_view kind, double bits, llmres::format_family family) {
    llmres::json_value also = llmres::json_value::array();
    for (const llmres::precision_alias& alias : llmres::precision_aliases)
        if (alias.format == name) also.push_back(alias.name);
    return {
        {"name", name}, {"kind", kind}, {"bits_per_weight", bits}, {"also", also}, {"engines", engines_with(family)}};
}

/// Every format, and every GGUF mix with the bits of a weight that it has in a model's file.
llmres::json_value all_formats_of(const llmres::model& m) {
    llmres::json_value rows = llmres::json_value::array();
    const auto add = [&](const llmres::precision& p) {
        rows.push_back(format_row(p.name.view(), "precision", bits_per_element(p), family_of(p)));
    };
    for (const llmres::precision& p : llmres::precisions) add(p);
    for (const std::string_view name : usual_parameters)
        if (const auto p = llmres::find_precision("format", name)) add(*p);
    for (const llmres::precision& p : llmres::ik_precisions) add(p);
    const double count = static_cast<double>(llmres::count_parameters(m).in(llmres::parameters));
    for (int i = 0; i <= static_cast<int>(llmres::gguf_quantisation::MXFP4_MOE); ++i) {
        const llmres::gguf_mix mix{.quantisation = static_cast<llmres::gguf_quantisation>(i)};
        const double size = static_cast<double>(gguf_tensor_bytes(m, mix).in(llmres::bytes));
        rows.push_back(format_row(llmres::mix_name(mix), "GGUF mix", 8 * size / count, llmres::format_family::gguf));
    }
    return rows;
}

std::string joined(const llmres::json_value& names) {
    return fmt::format("{}", fmt::join(names.get<std::vector<std::string>>(), ", "));
}

llmres::json_value to_json(const llmres::link& l) {
    const auto rate = [](const auto& r) {
        return r ? llmres::json_value((*r).in(llmres::bytes_per_s)) : llmres::json_value(nullptr);
    };
    return {{"id", l.id.view()},
            {"kind", name_of(l.kind)},
            {"generation", l.generation.view()},
            {"lanes", l.lanes ? llmres::json_value(*l.lanes) : llmres::json_value(nullptr)},
            {"members", l.members ? llmres::json_value(*l.members) : llmres::json_value(nullptr)},
            {"raw", l.raw.in(llmres::bytes_per_s)},
            {"both_directions", rate(l.both_directions)},
            {"achievable", l.achievable ? llmres::json_value(*l.achievable) : llmres::json_value(nullptr)},
            {"bandwidth", l.bandwidth().in(llmres::bytes_per_s)},
            {"latency", l.latency ? llmres::json_value((*l.latency).in(llmres::seconds)) : llmres::json_value(nullptr)},
            {"all_reduce", rate(l.all_reduce)},
            {"scope", l.scope.view()},
            {"confidence", l.confidence.view()},
            {"sources", l.sources.view()}};
}

}  // namespace

int run_formats(const table_options& o) {
    const llmres::model m =
        accept(llmres::find_model_source(o.model.empty() ? std::string{"llama-3.1-8b"} : o.model)).model;
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    for (const llmres::json_value& row : all_formats_of(m)) {
        const auto name = row["name"].get<std::string>();
        const auto kind = row["kind"].get<std::string>();
        const std::string also = joined(row["also"]);
        if (!holds_all(fmt::format("{} {} {}", name, kind, also), o.id)) continue;
        table.push_back({name, kind, fmt::format("{:.4g}", row["bits_per_weight"].get<double>()), also,
                         row["engines"].size() == engines_with(llmres::format_family::plain).size()
                             ? std::string{"all"}
                             : joined(row["engines"])});
        rows.push_back(row);
    }
    if (rows.empty()) accept(llmres::find_precision("format", o.id));  // refuses with the nearest
    if (o.json) {
        print_answer("formats", {{"formats", rows}});
        return fits;
    }
    print_table({{"name"}, {"kind"}, {"bits a weight", true}, {"also"}, {"engines"}}, table);
    fmt::print("\nGGUF mixes in {}: the whole file over its parameters. Scales and zero points are counted.\n",
               plain(std::string{m.name.view()}));
    return fits;
}

int run_links(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    for (const llmres::link* l : llmres::links::all) {
        if (!holds_all(fmt::format("{} {} {}", l->id.view(), name_of(l->kind), l->scope.view()), o.id)) continue;
        rows.push_back(to_json(*l));
        table.push_back({std::string{l->id.view()}, to_string(l->raw), to_string(l->bandwidth()),
                         l->latency ? to_string(*l->latency) : std::string{"-"},
                         l->all_reduce ? to_string(*l->all_reduce) : std::string{},
                         l->members ? fmt::format("{}", *l->members) : std::string{}, std::string{l->scope.view()},
                         fmt::format("{} ({})", l->sources.view(), l->confidence.view())});
    }
    if (rows.empty()) accept(llmres::find_link(o.id));  // refuses with the nearest
    if (o.json) {
        print_answer("links", {{"links", rows}});
        return fits;
    }
    print_table({{"link"},
                 {"one way", true},
                 {"reached", true},
                 {"latency", true},
                 {"all-reduce", true},
                 {"members", true},
                 {"joins"},
                 {"source"}},
                table);
    return fits;
}

}  // namespace program
