// SPDX-License-Identifier: MIT
// llmres gpus, models, runtimes: the tables of the library.
#include "commands.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/device_json.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/runtime_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/errors.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>

namespace program {
int run_gpus(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    if (!o.id.empty()) {
        const llmres::gpu card = accept(llmres::find_gpu(o.id));
        const llmres::json_value sheet = llmres::to_json(card);
        if (o.json)
            print_answer("gpu", sheet);
        else
            for (const auto& [key, value] : sheet.items()) fmt::print("{:<20} {}\n", key, value.dump());
        return fits;
    }
    for (const llmres::gpu* card : llmres::gpus::all) {
        if (o.json) {
            rows.push_back(llmres::to_json(*card));
            continue;
        }
        fmt::print(
            "{:<36} {:<40} {:>9}  {:>10}  {:>13}\n", card->id.view(), card->name.view(), to_string(card->memory.fitted),
            to_string(card->memory.bandwidth),
            card->rates.bf16 && card->rates.bf16.value > llmres::flop_rate{} ? to_string(*card->rates.bf16) : "-");
    }
    if (o.json) print_answer("gpus", {{"gpus", rows}});
    return fits;
}

int run_models(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    const auto show = [&](const llmres::model& m) {
        rows.push_back(llmres::to_json(m, llmres::formats_of(m), llmres::bf16));
        if (o.json) return;
        fmt::print("{:<40} {:<14} {:>18} parameters\n", m.name.view(), m.architecture.view(),
                   llmres::count_parameters(m).in(llmres::parameters));
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
    return fits;
}

int run_runtimes(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    if (o.profile) {
        print_json(llmres::to_json(accept(llmres::find_profile(o.id.empty() ? "none" : o.id))));
        return fits;
    }
    const bool versioned = o.id.find('@') != std::string::npos;
    const llmres::runtime asked = o.id.empty() ? llmres::no_runtime : accept(llmres::find_runtime(o.id));
    for (const llmres::runtime* r : llmres::runtimes::all) {
        if (!o.id.empty() && (r->identity.name != asked.identity.name || (versioned && !(*r == asked)))) continue;
        llmres::json_value checked = llmres::json_value::array();
        for (const llmres::profile_error& e : llmres::errors_of(*r))
            checked.push_back({{"figure", e.figure},
                               {"rows", e.rows},
                               {"mean_error", e.mean},
                               {"bias", e.bias},
                               {"worst", e.worst},
                               {"inside", e.inside}});
        if (!o.json) {
            fmt::print("{:<20} {}\n", r->identity.name.view(), r->identity.versions.view());
            for (const auto& e : checked)
                if (!o.id.empty())
                    fmt::print(
                        "  {:<12} {:>4} measured: {:.2f} % off on average ({:+.2f} % with its sign, {:+.1f} % at "
                        "worst), {} within the bounds\n",
                        e["figure"].get<std::string>(), e["rows"].get<int>(), 100 * e["mean_error"].get<double>(),
                        100 * e["bias"].get<double>(), 100 * e["worst"].get<double>(), e["inside"].get<int>());
            if (!o.id.empty() && checked.empty()) fmt::print("  not measured\n");
        }
        rows.push_back({{"name", r->identity.name.view()},
                        {"versions", r->identity.versions.view()},
                        {"checked", std::move(checked)}});
    }
    if (o.json) print_answer("runtimes", {{"runtimes", rows}});
    return fits;
}

}  // namespace program
