// SPDX-License-Identifier: MIT
// llmres model: what a model is, counted exactly.
#include "commands.hpp"

#include <fmt/format.h>
#include <llmres/format.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/plan_json.hpp>
#include <string>

namespace program {
namespace {

void print(const llmres::json_value& m, const llmres::weight_formats& formats) {
    fmt::print("{} ({})\n\n", m["name"].get<std::string>(), m["architecture"].get<std::string>());
    fmt::print("{:<20} {:>20}\n", "parameters", m["parameters"]["total"].get<std::int64_t>());
    for (const auto& [role, count] : m["parameters"]["by_role"].items())
        fmt::print("  {:<18} {:>20}\n", role, count.get<std::int64_t>());
    fmt::print("{:<20} {:>20}\n", "active for a token", m["parameters"]["active"].get<std::int64_t>());
    const auto weights = llmres::bytes(m["weights_bytes"].get<std::int64_t>());
    fmt::print("\n{:<20} {:>20} in {}, {} in all else: {}\n", "weights", weights.in(llmres::bytes),
               formats.matrices.name.view(), formats.rest.name.view(), llmres::to_string(weights));
    fmt::print("{:<20} {:>20} bytes a token in {}\n", "KV cache", m["kv_bytes_per_token"].get<std::int64_t>(),
               m["kv_cache"].get<std::string>());
    if (!m["max_context"].is_null()) fmt::print("{:<20} {:>20} tokens\n", "context", m["max_context"].get<std::int64_t>());
    for (const auto& kind : m["layers"])
        fmt::print("{:<20} {:>20} x {}\n", "layers", kind["count"].get<int>(), kind["kind"].get<std::string>());
}

}  // namespace

int run_model(const model_options& o) {
    const llmres::model m = accept(llmres::find_model_source(o.source));
    const llmres::precision weights = o.weights.empty() ? m.weights : accept(llmres::find_precision("weights", o.weights));
    const llmres::precision kv_cache =
        o.kv_cache.empty() ? llmres::bf16 : accept(llmres::find_precision("kv_cache", o.kv_cache));
    const llmres::weight_formats formats = llmres::formats_for(weights);
    const llmres::json_value described = llmres::to_json(m, formats, kv_cache);
    if (o.json)
        fmt::print("{}\n", described.dump(2));
    else
        print(described, formats);
    return fits;
}

}  // namespace program
