// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/io/gguf.hpp>
#include <llmres/io/stored_weights.hpp>
#include <llmres/maybe.hpp>
#include <llmres/model.hpp>
#include <map>
#include <string_view>

/// What the tensors of a GGUF file are for, by their names.
namespace llmres {

/// What a tensor is for, by its name; nothing for a name that no described family has.
inline maybe<weight_role> gguf_role(std::string_view name);
/// The layer in a tensor's name (`blk.7.`); -1 outside the layers.
inline std::int32_t gguf_layer(std::string_view name);

/// Bytes by role, without padding; what has no role we know stands under "other".
inline std::map<std::string_view, byte_count> gguf_bytes_by_role(const gguf_file& file);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::gguf {

/// What follows `blk.N.` and the roles it stands for (gguf-py's constants.py: TENSOR_NAMES).
inline constexpr std::array layer_roles{
    named_role{"attn_q", weight_role::q_proj},           named_role{"attn_k", weight_role::k_proj},
    named_role{"attn_v", weight_role::v_proj},           named_role{"attn_qkv", weight_role::v_proj},
    named_role{"attn_output", weight_role::o_proj},      named_role{"attn_q_a", weight_role::q_a_proj},
    named_role{"attn_q_b", weight_role::q_b_proj},       named_role{"attn_kv_a_mqa", weight_role::kv_a_proj},
    named_role{"attn_kv_b", weight_role::kv_b_proj},     named_role{"attn_k_b", weight_role::kv_b_proj},
    named_role{"attn_v_b", weight_role::kv_b_proj},      named_role{"ffn_gate", weight_role::gate_proj},
    named_role{"ffn_up", weight_role::up_proj},          named_role{"ffn_down", weight_role::down_proj},
    named_role{"ffn_gate_exps", weight_role::gate_proj}, named_role{"ffn_up_exps", weight_role::up_proj},
    named_role{"ffn_down_exps", weight_role::down_proj}, named_role{"ffn_gate_shexp", weight_role::gate_proj},
    named_role{"ffn_up_shexp", weight_role::up_proj},    named_role{"ffn_down_shexp", weight_role::down_proj},
    named_role{"ffn_gate_inp", weight_role::router},     named_role{"ffn_gate_inp_shexp", weight_role::shared_gate},
    named_role{"attn_sinks", weight_role::values},       named_role{"exp_probs_b", weight_role::bias}};

}  // namespace detail::gguf

inline std::int32_t gguf_layer(std::string_view name) {
    if (!name.starts_with("blk.")) return -1;
    name.remove_prefix(4);
    std::int32_t number = 0;
    std::size_t length = 0;
    for (; length < name.size() && length < 6 && name[length] >= '0' && name[length] <= '9'; ++length)
        number = number * 10 + (name[length] - '0');
    return length > 0 && length < name.size() && name[length] == '.' ? number : -1;
}

inline maybe<weight_role> gguf_role(std::string_view name) {
    if (name == "token_embd.weight") return weight_role::embed_tokens;
    if (name == "output.weight") return weight_role::lm_head;
    if (name == "rope_freqs.weight" || name.starts_with("rope_factors_")) return weight_role::values;
    if (name == "position_embd.weight" || name == "token_types.weight") return weight_role::positions;
    if (name.ends_with("_norm.weight") || name.ends_with("_norm.bias") || name.ends_with("_norm_2.weight"))
        return weight_role::norm;
    if (name.ends_with(".bias")) return weight_role::bias;
    if (gguf_layer(name) < 0 || !name.ends_with(".weight")) return {};
    name.remove_suffix(std::string_view{".weight"}.size());
    const std::size_t end = name.find('.', 4);
    if (end == std::string_view::npos) return {};
    name.remove_prefix(end + 1);
    // Experts in tensors of their own, as files of 2023 had them: ffn_up.3
    if (name.starts_with("ffn_")) name = name.substr(0, name.find('.'));
    return detail::role_in(detail::gguf::layer_roles, name);
}

inline std::map<std::string_view, byte_count> gguf_bytes_by_role(const gguf_file& file) {
    return detail::bytes_by_role(file.tensors, gguf_role, &gguf_tensor_info::size);
}

}  // namespace llmres
