// SPDX-License-Identifier: MIT
// llmres gpus, models, runtimes: the tables of the library.
#include "commands.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/device_json.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/json/runtime/constants.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/runtime_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/errors.hpp>
#include <llmres/values/to_string.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace program {
namespace {

/// A figure of a GPU's datasheet as people read it.
std::string sheet_text(const std::string& key, const llmres::json_value& value) {
    if (value.is_null()) return "unknown";
    if (value.is_string()) return value.get<std::string>();
    if (key == "memory_marketing") return to_string(llmres::bytes(value.get<std::int64_t>()), llmres::prefix::decimal);
    if (key == "memory_bandwidth") return to_string(llmres::bytes_per_s(value.get<double>()));
    if (key.starts_with("memory_")) return to_string(llmres::bytes(value.get<std::int64_t>()));
    if (key == "board_power") return fmt::format("{} W", value.get<double>());
    if (!value.is_number_float()) return value.dump();
    const double rate = value.get<double>();
    return rate > 0 ? to_string(llmres::flops_per_s(rate)) : "none";
}

/// What stands behind a profile's error: how much its number says.
std::string_view why(const llmres::profile_error& e) {
    if (e.mean > 0.5 && e.figure == "pool")
        return "a pool is what all else leaves: of a small one, a small error of the GPU is a large part";
    if (e.mean > 0.5) return "of figures that are small beside the GPU's memory";
    if (e.rows < 3) return "too few rows to say how far others are";
    return "";
}

/// Prints a profile with its errors.
void print_profile(const llmres::runtime& r, std::span<const llmres::profile_error> errors) {
    fmt::print("{} {}\n", r.identity.name.view(), r.identity.versions.view());
    if (errors.empty()) {
        fmt::print(
            "  unmeasured: of these versions docs/accuracy.md has no row; docs/sources.md says what they rest on\n");
        return;
    }
    std::vector<table_row> rows;
    for (const llmres::profile_error& e : errors)
        rows.push_back({std::string{e.figure}, fmt::format("{}", e.rows), fmt::format("{:.2f} %", 100 * e.mean),
                        fmt::format("{:+.2f} %", 100 * e.bias), fmt::format("{:+.1f} %", 100 * e.worst),
                        fmt::format("{} of {}", e.inside, e.rows), std::string{why(e)}});
    print_table({{"figure"},
                 {"rows", true},
                 {"off", true},
                 {"with its sign", true},
                 {"at worst", true},
                 {"in bounds", true},
                 {"note"}},
                rows);
}

/// Prints each constant of a profile with its value, unit, source and meaning.
void print_constants(const llmres::runtime_profile& profile, bool as_json) {
    const auto values = llmres::detail::constants_to_json(profile.runtime);
    const llmres::detail::constant_sources sources{profile};
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    for (const auto& c : llmres::detail::profile_constants()) {
        const auto value = llmres::detail::value_at(values, c.path);
        rows.push_back({{"constant", c.path},
                        {"value", value},
                        {"unit", c.unit},
                        {"bounds", c.has_bounds},
                        {"source", sources.source_of(c)},
                        {"means", c.means}});
        constexpr std::size_t longest = 60;
        std::string shown = value.dump();
        if (value.is_object() && value.contains("low"))
            shown = fmt::format("{} ({} to {})", value["expected"].dump(), value["low"].dump(), value["high"].dump());
        else if (shown.size() > longest)
            shown.replace(longest, std::string::npos, " ...");
        const bool says_unit = !c.unit.starts_with("one of ") && c.unit != "true or false";
        table.push_back({c.path, shown, says_unit ? c.unit : "", sources.source_of(c), std::string{c.means}});
    }
    if (as_json)
        print_answer("constants", {{"name", profile.runtime.identity.name.view()},
                                   {"versions", profile.runtime.identity.versions.view()},
                                   {"constants", rows}});
    else
        print_table({{"constant"}, {"value"}, {"unit"}, {"source"}, {"means"}}, table);
}

}  // namespace

int run_gpus(const table_options& o) {
    bool several = false;
    for (const llmres::gpu* card : llmres::gpus::all) several = several || holds_all(card->id, o.id);
    if (!o.id.empty() && (llmres::find_gpu(o.id) || !several)) {  // the refusal names the nearest
        const llmres::json_value sheet = llmres::to_json(accept(llmres::find_gpu(o.id)));
        if (o.json)
            print_answer("gpu", sheet);
        else
            for (const auto& [key, value] : sheet.items()) fmt::print("{:<20} {}\n", key, sheet_text(key, value));
        return fits;
    }
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    for (const llmres::gpu* card : llmres::gpus::all) {
        if (!holds_all(card->id, o.id)) continue;
        rows.push_back(llmres::to_json(*card));
        table.push_back(
            {std::string{card->id.view()}, std::string{card->name.view()}, to_string(card->memory.fitted),
             to_string(card->memory.bandwidth),
             card->rates.bf16 && card->rates.bf16.value > llmres::flop_rate{} ? to_string(*card->rates.bf16) : "-"});
    }
    if (o.json)
        print_answer("gpus", {{"gpus", rows}});
    else
        print_table({{"gpu"}, {"name"}, {"memory", true}, {"bandwidth", true}, {"dense bf16", true}}, table);
    return fits;
}

int run_models(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    std::vector<table_row> table;
    const auto show = [&](const llmres::model& m) {
        rows.push_back(llmres::to_json(m, llmres::formats_of(m), llmres::bf16));
        table.push_back({std::string{m.name.view()}, std::string{m.architecture.view()},
                         to_string(llmres::count_parameters(m)), to_string(llmres::count_active_parameters(m)),
                         to_string(weight_bytes(m, llmres::formats_of(m))), std::string{m.weights.name.view()},
                         to_string(kv_bytes_per_token(m, llmres::bf16))});
    };
    bool one = false;
    for (const llmres::model* m : llmres::models::all) one = one || m->name == o.id;
    for (const llmres::model* m : llmres::models::all)
        if (one ? m->name == o.id : holds_all(m->name, o.id)) show(*m);
    if (rows.empty())
        show(accept(llmres::find_model(o.id)));  // if it is no preset either, the refusal names the nearest
    if (o.json && one)
        print_answer("model", rows[0]);
    else if (o.json)
        print_answer("models", {{"models", rows}});
    else
        print_table({{"model"},
                     {"architecture"},
                     {"parameters", true},
                     {"active", true},
                     {"weights", true},
                     {"format"},
                     {"KV cache in bf16", true}},
                    table);
    return fits;
}

int run_runtimes(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    if (o.profile) {
        print_json(llmres::to_json(accept(llmres::find_profile(o.id.empty() ? "none" : o.id))));
        return fits;
    }
    if (o.constants) {
        print_constants(accept(llmres::find_profile(o.id.empty() ? "none" : o.id)), o.json);
        return fits;
    }
    const bool versioned = o.id.find('@') != std::string::npos;
    const llmres::runtime asked = o.id.empty() ? llmres::no_runtime : accept(llmres::find_runtime(o.id));
    std::vector<table_row> table;
    for (const llmres::runtime* r : llmres::runtimes::all) {
        if (!o.id.empty() && (r->identity.name != asked.identity.name || (versioned && !(*r == asked)))) continue;
        const auto errors = llmres::errors_of(*r);
        llmres::json_value checked = llmres::json_value::array();
        for (const llmres::profile_error& e : errors) {
            checked.push_back({{"figure", e.figure},
                               {"rows", e.rows},
                               {"mean_error", e.mean},
                               {"bias", e.bias},
                               {"worst", e.worst},
                               {"inside", e.inside}});
        }
        if (!o.json && !o.id.empty()) print_profile(*r, errors);
        const std::int64_t behind = llmres::rows_behind(errors);
        table.push_back({std::string{r->identity.name.view()}, std::string{r->identity.versions.view()},
                         fmt::format("{}", behind), std::string{llmres::evidence_of(behind)}});
        rows.push_back({{"name", r->identity.name.view()},
                        {"versions", r->identity.versions.view()},
                        {"evidence", llmres::evidence_of(behind)},
                        {"checked", std::move(checked)}});
    }
    if (o.json)
        print_answer("runtimes", {{"runtimes", rows}});
    else if (o.id.empty())
        print_table({{"runtime"}, {"versions"}, {"measurements", true}, {"evidence"}}, table);
    return fits;
}

}  // namespace program
