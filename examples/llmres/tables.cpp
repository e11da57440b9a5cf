// SPDX-License-Identifier: MIT
// llmres gpus, models, runtimes: what the library knows.
#include "commands.hpp"

#include <fmt/format.h>
#include <llmres/format.hpp>
#include <llmres/gpus.hpp>
#include <llmres/io/gpu_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models.hpp>
#include <llmres/runtimes.hpp>
#include <string>

namespace program {
namespace {

void print_json(const llmres::json_value& value) { fmt::print("{}\n", value.dump(2)); }

}  // namespace

int run_gpus(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    if (!o.id.empty()) {
        const llmres::gpu card = accept(llmres::find_gpu(o.id));
        const llmres::json_value sheet = llmres::to_json(card);
        if (o.json) print_json(sheet);
        else for (const auto& [key, value] : sheet.items()) fmt::print("{:<20} {}\n", key, value.dump());
        return fits;
    }
    for (const llmres::gpu* card : llmres::gpus::all) {
        if (o.json) {
            rows.push_back(llmres::to_json(*card));
            continue;
        }
        fmt::print("{:<36} {:<40} {:>9}  {:>10}  {:>13}\n", card->id.view(), card->name.view(),
                   to_string(card->memory.fitted), to_string(card->memory.bandwidth),
                   card->rates.bf16 && card->rates.bf16.value > llmres::flop_rate{} ? to_string(*card->rates.bf16) : "-");
    }
    if (o.json) print_json(rows);
    return fits;
}

int run_models(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    for (const llmres::model* m : llmres::models::all) {
        if (!o.id.empty() && m->name != o.id) continue;
        if (o.json)
            rows.push_back(llmres::to_json(*m, llmres::formats_for(m->weights), llmres::bf16));
        else
            fmt::print("{:<40} {:<14} {:>18} parameters\n", m->name.view(), m->architecture.view(),
                       llmres::count_parameters(*m).in(llmres::parameters));
    }
    if (!o.id.empty()) accept(llmres::find_model(o.id));
    if (o.json) print_json(o.id.empty() ? rows : rows[0]);
    return fits;
}

int run_runtimes(const table_options& o) {
    llmres::json_value rows = llmres::json_value::array();
    if (!o.id.empty()) accept(llmres::find_runtime(o.id));
    for (const llmres::runtime* r : llmres::runtimes::all) {
        if (!o.id.empty() && r->name != o.id) continue;
        if (o.json)
            rows.push_back({{"name", r->name.view()}, {"versions", r->versions.view()}});
        else
            fmt::print("{:<20} {}\n", r->name.view(), r->versions.view());
    }
    if (o.json) print_json(o.id.empty() ? rows : rows[0]);
    return fits;
}

}  // namespace program
