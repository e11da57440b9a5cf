// SPDX-License-Identifier: MIT
// llmres model: a model's architecture, exact counts and sizes; for a file of weights, also what it stores.
#include "commands.hpp"

#include <fmt/format.h>
#include <cstdint>
#include <llmres/io/files.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <variant>

namespace program {
namespace {

void print_stored(const llmres::json_value& stored) {
    const auto size = [](const llmres::json_value& v) {
        return llmres::to_string(llmres::bytes(v.get<std::int64_t>()));
    };
    fmt::print("\n{:<20} {:>20} in the file: {}\n", "stored", stored["tensors"].get<std::int64_t>(),
               size(stored["tensors"]));
    for (const auto& [role, bytes] : stored["by_role"].items())
        fmt::print("  {:<18} {:>20}\n", role, bytes.get<std::int64_t>());
    if (stored["differences"].empty()) fmt::print("{:<20} {:>20}\n", "as predicted", "to the byte");
    for (const auto& d : stored["differences"])
        fmt::print("  {}{}: {} predicted, {} stored\n", d["what"].get<std::string>(),
                   d["layer"].is_null() ? "" : fmt::format(" of layer {}", d["layer"].get<int>()), size(d["predicted"]),
                   size(d["stored"]));
}

void print(const llmres::json_value& m) {
    fmt::print("{} ({})\n\n", plain(m["name"].get<std::string>()), plain(m["architecture"].get<std::string>()));
    const auto total = m["parameters"]["total"].get<std::int64_t>();
    fmt::print("{:<20} {:>20}: {}\n", "parameters", total, to_string(llmres::parameters(total)));
    for (const auto& [role, count] : m["parameters"]["by_role"].items())
        fmt::print("  {:<18} {:>20}\n", role, count.get<std::int64_t>());
    if (m["parameters"]["stored"] != m["parameters"]["total"])
        fmt::print("{:<20} {:>20}\n", "stored in its files", m["parameters"]["stored"].get<std::int64_t>());
    fmt::print("{:<20} {:>20}\n", "active for a token", m["parameters"]["active"].get<std::int64_t>());
    const auto weights = llmres::bytes(m["weights_bytes"].get<std::int64_t>());
    fmt::print("\n{:<20} {:>20} bytes in {}: {}\n", "weights", weights.in(llmres::bytes),
               m["weights"].get<std::string>(), llmres::to_string(weights));
    if (!m.contains("kv_cache")) return;  // a denoiser
    fmt::print("{:<20} {:>20} bytes a token in {}\n", "KV cache", m["kv_bytes_per_token"].get<std::int64_t>(),
               m["kv_cache"].get<std::string>());
    if (!m["max_context"].is_null())
        fmt::print("{:<20} {:>20} tokens\n", "context", m["max_context"].get<std::int64_t>());
    for (const auto& kind : m["layers"])
        fmt::print("{:<20} {:>20} x {}\n", "layers", kind["count"].get<int>(), kind["kind"].get<std::string>());
    if (m.contains("stored")) print_stored(m["stored"]);
}

/// The mix of the GGUF file that --weights names or the source is; nothing for other formats.
llmres::maybe<llmres::gguf_mix> mix_of(const model_options& o, const llmres::model_source& source) {
    llmres::maybe<llmres::gguf_mix> mix = o.weights.empty() ? source.gguf : llmres::find_file_mix(o.weights);
    if ((o.importance_matrix || o.tied_head_stored) && (!mix || o.weights.empty()))
        throw refusal{llmres::refused(llmres::error_code::inconsistent,
                                      o.importance_matrix ? "importance_matrix" : "tied_head_stored", "given",
                                      "--weights with a GGUF mix beside it, such as q4_k_m")};
    if (!mix) return mix;
    llmres::gguf_mix made = *mix;
    made.importance_matrix = made.importance_matrix || o.importance_matrix;
    made.tied_head_stored = made.tied_head_stored || o.tied_head_stored;
    return made;
}

}  // namespace

int run_model(const model_options& o) {
    if (const auto network = accept(llmres::find_denoiser(o.source))) {
        const llmres::json_value described = std::visit(
            [&](const auto& n) {
                return llmres::to_json(
                    n, llmres::formats_for(o.weights.empty() ? n.weights
                                                             : accept(llmres::find_precision("weights", o.weights))));
            },
            *network);
        if (o.json)
            print_answer("model", described);
        else
            print(described);
        return fits;
    }
    const llmres::model_source source = accept(llmres::find_model_source(o.source));
    const llmres::model& m = source.model;
    if (!source.warning.empty()) tell(plain(source.warning));
    const llmres::precision kv_cache =
        o.kv_cache.empty() ? llmres::bf16 : accept(llmres::find_precision("kv_cache", o.kv_cache));
    const llmres::maybe<llmres::gguf_mix> mix = mix_of(o, source);
    const llmres::precision weights =
        o.weights.empty() || mix ? m.weights : accept(llmres::find_precision("weights", o.weights));
    const llmres::weight_formats formats = o.weights.empty() ? llmres::formats_of(m) : llmres::formats_for(weights);
    llmres::json_value described = mix ? llmres::to_json(m, *mix, kv_cache) : llmres::to_json(m, formats, kv_cache);
    if (llmres::holds_weights(o.source))
        described["stored"] = llmres::to_json(accept(llmres::read_stored_weights(o.source, source)));
    if (o.json)
        print_answer("model", described);
    else
        print(described);
    return fits;
}

}  // namespace program
