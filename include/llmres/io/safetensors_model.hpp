// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/io/files/roles.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/maybe.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the tensors of a checkpoint are for, by their names, and how what is stored differs from what a config
/// predicts.
namespace llmres::inline v0 {

/// What a tensor is for, by the name that Hugging Face's modules give it; nothing for names of no described family.
inline maybe<weight_role> safetensors_role(std::string_view name);

/// Bytes by role, scales and packed parts with the weight they belong to; what has no role we know stands under
/// "other".
inline std::map<std::string_view, byte_count> safetensors_bytes_by_role(const safetensors_checkpoint& checkpoint);

/// Bytes of one sort of weight, over all layers, that were predicted and are stored.
struct safetensors_difference {
    std::string what{};
    byte_count predicted{};
    byte_count stored{};
};
/// Where the files depart from the prediction, prediction layers and pretraining heads included. Gate and up count as
/// one, and so do queries, keys and values, for checkpoints may fuse them; and what attention and recurrences project
/// back.
inline std::vector<safetensors_difference> compare_safetensors(const safetensors_checkpoint& checkpoint, const model& m,
                                                               const weight_formats& formats);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::safetensors {

/// The last part of a module's name, in the families that safetensors hold (transformers' model classes).
inline constexpr std::array modules{
    named_role{"embed_tokens", weight_role::embed_tokens}, named_role{"wte", weight_role::embed_tokens},
    named_role{"word_embeddings", weight_role::embed_tokens}, named_role{"embed_in", weight_role::embed_tokens},
    named_role{"tok_embeddings", weight_role::embed_tokens}, named_role{"lm_head", weight_role::lm_head},
    named_role{"embed_out", weight_role::lm_head}, named_role{"output_layer", weight_role::lm_head},
    named_role{"q_proj", weight_role::q_proj}, named_role{"k_proj", weight_role::k_proj},
    named_role{"v_proj", weight_role::v_proj}, named_role{"qkv_proj", weight_role::q_proj},
    named_role{"query_key_value", weight_role::q_proj}, named_role{"c_attn", weight_role::q_proj},
    named_role{"Wqkv", weight_role::q_proj}, named_role{"W_pack", weight_role::q_proj},
    named_role{"o_proj", weight_role::o_proj}, named_role{"q_a_proj", weight_role::q_a_proj},
    named_role{"q_b_proj", weight_role::q_b_proj}, named_role{"kv_a_proj_with_mqa", weight_role::kv_a_proj},
    named_role{"kv_b_proj", weight_role::kv_b_proj}, named_role{"gate_proj", weight_role::gate_proj},
    named_role{"gate_up_proj", weight_role::gate_proj}, named_role{"up_proj", weight_role::up_proj},
    named_role{"fc1", weight_role::up_proj}, named_role{"dense_h_to_4h", weight_role::up_proj},
    named_role{"c_fc", weight_role::up_proj}, named_role{"down_proj", weight_role::down_proj},
    named_role{"fc2", weight_role::down_proj}, named_role{"dense_4h_to_h", weight_role::down_proj},
    named_role{"w1", weight_role::gate_proj}, named_role{"w3", weight_role::up_proj},
    named_role{"w2", weight_role::down_proj}, named_role{"gate", weight_role::router},
    named_role{"router", weight_role::router}, named_role{"shared_expert_gate", weight_role::shared_gate},
    named_role{"sinks", weight_role::values}, named_role{"out_proj", weight_role::o_proj},
    named_role{"in_proj", weight_role::in_proj}, named_role{"in_proj_qkvz", weight_role::in_proj},
    named_role{"in_proj_ba", weight_role::in_proj}, named_role{"in_proj_qkv", weight_role::in_proj},
    named_role{"in_proj_z", weight_role::in_proj}, named_role{"in_proj_a", weight_role::in_proj},
    named_role{"in_proj_b", weight_role::in_proj}, named_role{"x_proj", weight_role::in_proj},
    named_role{"dt_proj", weight_role::in_proj}, named_role{"conv1d", weight_role::conv},
    named_role{"A_log", weight_role::state}, named_role{"D", weight_role::state},
    named_role{"dt_bias", weight_role::state}, named_role{"wpe", weight_role::positions},
    named_role{"embed_positions", weight_role::positions}, named_role{"position_embedding", weight_role::positions},
    named_role{"position_embeddings", weight_role::positions},
    named_role{"token_type_embeddings", weight_role::positions}, named_role{"patch_embedding", weight_role::conv},
    // of layers that predict ahead
    named_role{"eh_proj", weight_role::projector}, named_role{"fc", weight_role::projector},
    named_role{"head", weight_role::lm_head}};

/// What attention and recurrences project back is counted together as well.
inline std::string sort_of(weight_role role) {
    return llmres::detail::sort_of(role == weight_role::out_proj ? weight_role::o_proj : role);
}

}  // namespace detail::safetensors

inline maybe<weight_role> safetensors_role(std::string_view name) {
    // From the back: the parameter's name and perhaps its part (`weight.absmax`), then the module.
    bool first = true;
    while (!name.empty()) {
        const std::size_t dot = name.rfind('.');
        const std::string_view part = dot == std::string_view::npos ? name : name.substr(dot + 1);
        if (first && part == "bias") {
            const std::string_view owner = dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
            return owner.find("norm") != std::string_view::npos || owner.find("ln_") != std::string_view::npos
                       ? weight_role::norm
                       : weight_role::bias;
        }
        if (first && part == "e_score_correction_bias") return weight_role::bias;
        if (part.ends_with("norm") || part.find("layernorm") != std::string_view::npos || part.starts_with("ln_"))
            return weight_role::norm;
        if (const maybe<weight_role> role = detail::role_in(detail::safetensors::modules, part)) return role;
        if (first && part.ends_with("_proj_bias")) return weight_role::bias;
        // gpt-oss keeps its experts' parts under names of their own: gate_up_proj_blocks, down_proj_scales
        for (const std::string_view tail : {"_blocks", "_scales"})
            if (first && part.ends_with(tail))
                if (const maybe<weight_role> role =
                        detail::role_in(detail::safetensors::modules, part.substr(0, part.size() - tail.size())))
                    return role;
        if (dot == std::string_view::npos) break;
        // No module of a weight lies more than three names up.
        name = name.substr(0, dot);
        first = false;
        if (part.find_first_not_of("0123456789") == std::string_view::npos) break;
    }
    return {};
}

inline std::map<std::string_view, byte_count> safetensors_bytes_by_role(const safetensors_checkpoint& checkpoint) {
    return detail::bytes_by_role(checkpoint.tensors, safetensors_role, &safetensors_tensor::size);
}

inline std::vector<safetensors_difference> compare_safetensors(const safetensors_checkpoint& checkpoint, const model& m,
                                                               const weight_formats& formats) {
    std::map<std::string, std::pair<byte_count, byte_count>> found;  // predicted, stored
    const auto predict = [&](const weight& w, std::int64_t layers) {
        found[detail::safetensors::sort_of(w.role)].first += size_of(w, formats) * layers;
    };
    for_each_weight(m, predict);
    for_each_prediction_weight(m, [&](const weight& w) { predict(w, m.prediction.layers); });
    const auto apart = [&](const weight& w) { predict(w, 1); };
    llmres::detail::visit_extras(m, model_part::apart, apart);
    for (const safetensors_tensor& tensor : checkpoint.tensors) {
        const maybe<weight_role> role = safetensors_role(tensor.name);
        found[role ? detail::safetensors::sort_of(role.value) : "other"].second += tensor.size();
    }
    std::vector<safetensors_difference> differences;
    for (const auto& [what, both] : found)
        if (both.first != both.second) differences.push_back({what, both.first, both.second});
    return differences;
}

}  // namespace llmres::inline v0
