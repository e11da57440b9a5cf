// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/units.hpp>

/// Recomputation and offloading of named parts of a layer: which of them saved each tensor.
namespace llmres::inline v0::detail {

/// Says of the tensors of one layer, in the order in which for_each_saved_activation() shows them, whose they are.
class module_finder {
public:
    constexpr module_finder(const layer& of, std::int64_t hidden, const training_context& context)
        : latent_{of.attention.kind == attention_kind::latent},
          recurrent_{of.recurrent.kind != recurrent_kind::none},
          routed_{of.feed_forward.routed()},
          stream_{context.tokens.all() * hidden} {}

    /// The module that the tensor is an input of, and those whose recomputation makes it again.
    struct found {
        layer_part_set input_of{};
        layer_part_set made_by{};
    };

    constexpr found find(const activation& a) {
        using enum layer_part;
        using role = activation_role;
        const bool in_attention = a.until == backward_point::attention || a.until == backward_point::attention_norm;
        const bool in_feed_forward = a.until == backward_point::inner || a.until == backward_point::output;
        // No part of a recurrence has a name (Megatron-Core, core/ssm/mamba_layer.py).
        const bool of_norm = a.role == role::norm_input || a.role == role::norm_statistics;
        if (recurrent_ && (in_attention || (a.until == backward_point::norm && !of_norm))) return {};
        switch (a.role) {
            case role::norm_input:
            case role::norm_statistics:
                if (a.until == backward_point::attention_norm) return {attn_norm, {}};
                if (a.until == backward_point::norm) return {mlp_norm, {}};
                return {{}, latent_ && in_attention ? layer_part_set{mla_up_proj} : layer_part_set{}};
            case role::query:
            case role::key:
            case role::value:
                return {core_attn, latent_ ? layer_part_set{mla_up_proj} : layer_part_set{}};
            case role::probabilities:
                return {core_attn, core_attn};
            case role::softmax_statistics:
                return {core_attn, core_attn};
            case role::attention_output:
                return {attn_proj, {}};
            case role::linear_input:
                if (in_attention) {
                    if (latent_ && a.elements != stream_) return {{}, mla_up_proj};
                    return {qkv_linear, layernorm};
                }
                if (!in_feed_forward) return {attn_proj, {}};
                if (!routed_) return a.until == backward_point::inner ? found{{}, layernorm} : found{{}, mlp};
                return in_experts(a);
            default:
                break;
        }
        if (!in_feed_forward || a.role == role::mask) return {};
        if (!routed_) return {{}, mlp};
        return in_experts(a);
    }

private:
    /// Scores and the router's input come first, then the routed experts' own, their input, and the shared experts'.
    constexpr found in_experts(const activation& a) {
        using enum layer_part;
        using role = activation_role;
        if (a.role == role::router) return {{}, moe};
        if (a.role == role::linear_input && a.until == backward_point::output && !seen_router_input_)
            return {{}, moe};  // of latent features
        const bool first_input =
            a.role == role::linear_input && a.until == backward_point::inner && !seen_router_input_;
        if (first_input) {
            seen_router_input_ = true;
            return {{}, layernorm};
        }
        if (seen_expert_input_) return {{}, {shared_experts, moe}};
        if (a.role == role::linear_input && a.until == backward_point::inner) {
            seen_expert_input_ = true;
            return {expert_fc1, moe};
        }
        // What the activation put out, and before the score weighed it.
        if (a.role == role::linear_input || a.role == role::gate_activation) return {{}, {moe_act, moe}};
        return {moe_act, moe};
    }

    bool latent_;
    bool recurrent_;
    bool routed_;
    std::int64_t stream_;
    bool seen_router_input_ = false;
    bool seen_expert_input_ = false;
};

/// Of what one layer saves: what is recomputed, and what is in main memory.
struct named_parts {
    byte_count again{};
    byte_count away{};
};

constexpr bool names_parts(const job& j) {
    return !j.offload.modules.empty() ||
           (j.recompute == recompute::selective && !(j.recompute_modules == layer_part_set{layer_part::core_attn}));
}

constexpr named_parts named_parts_of(const layer& kind, const job& j, const layout& l,
                                     const training_context& context) {
    named_parts parts;
    module_finder finder{kind, j.model.hidden, context};
    const std::uint16_t again = j.recompute == recompute::selective ? j.recompute_modules.bits : std::uint16_t{0};
    for_each_saved_activation(kind, j.model.hidden, context, [&](const activation& a) {
        const auto of = finder.find(a);
        if ((of.made_by.bits & again) != 0)
            parts.again += local_bytes(a, l);
        else if ((of.input_of.bits & j.offload.modules.bits) != 0)
            parts.away += local_bytes(a, l);
    });
    return parts;
}

}  // namespace llmres::inline v0::detail
