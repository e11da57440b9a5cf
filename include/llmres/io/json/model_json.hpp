// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/writer.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// Models and files of weights as JSON.
namespace llmres::inline v0 {

struct stored_weights;

namespace detail {

inline void add_to_role(json_value& roles, const weight& w, std::int64_t layers) {
    const std::int64_t counted = (w.count() * layers).in(parameters);
    const std::string role{name_of(w.role)};
    roles[role] = roles.contains(role) ? roles[role].get<std::int64_t>() + counted : counted;
}

/// Parameters that published totals may include beside the model's own: layers of multi-token prediction, heads of
/// pretraining, scales of a quantised checkpoint, and the copy of a tied head that some files store.
inline json_value counts_apart(const model& m, parameter_count scales) {
    const parameter_count ahead = count_prediction_parameters(m);
    return detail::json_object({{"prediction", ahead.in(parameters)},
                                {"pretraining_heads", (count_apart_parameters(m) - ahead).in(parameters)},
                                {"scales", scales.in(parameters)},
                                {"tied_head", m.tied_head ? m.vocabulary * embedding_width_of(m) : 0}});
}

inline json_value described(const model& m, std::string_view weights, byte_count size, const precision& kv_cache,
                            const json_value& apart) {
    json_value roles = json_value::object();
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { add_to_role(roles, w, layers); });
    json_value kinds = json_value::array();
    const auto counts = m.layers.counts();
    for (std::size_t k = 0; k < m.layers.distinct().size(); ++k)
        kinds.push_back(detail::json_object({{"kind", kind_name(m.layers.kinds[k]).view()}, {"count", counts[k]}}));
    return detail::json_object(
        {{"name", m.name.view()},
         {"architecture", m.architecture.view()},
         {"parameters", detail::json_object({{"total", count_parameters(m).in(parameters)},
                                             {"stored", count_stored_parameters(m).in(parameters)},
                                             {"active", count_active_parameters(m).in(parameters)},
                                             {"by_role", roles},
                                             {"apart", apart}})},
         {"weights", weights},
         {"weights_bytes", size.in(bytes)},
         {"kv_cache", kv_cache.name.view()},
         {"kv_bytes_per_token", kv_bytes_per_token(m, kv_cache).in(bytes_a_token)},
         {"max_context", m.max_context > token_count{} ? json_value(m.max_context.in(tokens)) : json_value(nullptr)},
         {"layers", kinds}});
}

}  // namespace detail

/// A model in the formats of a checkpoint, as `llmres model` prints it.
inline json_value to_json(const model& m, const weight_formats& formats, const precision& kv_cache) {
    json_value made = detail::described(m, formats.matrices.name, weight_bytes(m, formats), kv_cache,
                                        detail::counts_apart(m, count_scales(m, formats)));
    made["stored_bytes"] = stored_bytes(m, formats).in(bytes);
    return made;
}
/// A model in the mix of a GGUF file, as `llmres model` prints it.
inline json_value to_json(const model& m, const gguf_mix& mix, const precision& kv_cache) {
    return detail::described(m, mix_name(mix), gguf_tensor_bytes(m, mix), kv_cache, detail::counts_apart(m, {}));
}

/// The denoising network of a diffusion model, as `llmres model` prints it.
template <class Network>
    requires std::same_as<Network, unet> || std::same_as<Network, flow_transformer>
json_value to_json(const Network& network, const weight_formats& formats) {
    json_value roles = json_value::object();
    for_each_weight(network, [&](const weight& w) { detail::add_to_role(roles, w, 1); });
    const std::int64_t total = count_parameters(network).in(parameters);
    return detail::json_object(
        {{"name", network.name.view()},
         {"architecture", std::same_as<Network, unet> ? "unet" : "flow_transformer"},
         {"parameters",
          detail::json_object({{"total", total}, {"stored", total}, {"active", total}, {"by_role", roles}})},
         {"weights", formats.matrices.name.view()},
         {"weights_bytes", weight_bytes(network, formats).in(bytes)}});
}

/// What a file of weights holds. (A template, so that only who has read one with io/files.hpp compiles its type.)
template <std::same_as<stored_weights> Stored>
json_value to_json(const Stored& s) {
    json_value roles = json_value::object();
    for (const auto& [role, size] : s.by_role) roles[role] = size.in(bytes);
    json_value differences = json_value::array();
    for (const auto& d : s.differences)
        differences.push_back(detail::json_object({{"what", d.what},
                                                   {"layer", d.layer < 0 ? json_value(nullptr) : json_value(d.layer)},
                                                   {"predicted", d.predicted.in(bytes)},
                                                   {"stored", d.stored.in(bytes)}}));
    return detail::json_object({{"files", s.files.in(bytes)},
                                {"tensors", s.tensors.in(bytes)},
                                {"by_role", roles},
                                {"differences", differences}});
}

}  // namespace llmres::inline v0
