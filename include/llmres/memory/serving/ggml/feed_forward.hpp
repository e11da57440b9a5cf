// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/attention.hpp>
#include <llmres/models/layer.hpp>
#include <utility>

/// Feed-forwards in a graph of ggml, routed or not.
namespace llmres::inline v0::detail {

/// Lays out what is between the norm of a layer's second half and its residual sum, too.
class graph_with_feed_forward : public graph_with_attention {
protected:
    using graph_with_attention::graph_with_attention;

    constexpr void add_products_of_feed_forward(const layer_operation& o, const graph_layer& l) {
        if (o.weights[0] == weight_role::projector || o.weights[0] == weight_role::shared_gate) return;
        if (o.weights[0] == weight_role::router) {
            at(operand_name::logits_of_experts) = add_rows(l.kind.feed_forward.experts.count);
        } else if (o.weights[0] != weight_role::down_proj) {
            return o.routed ? add_routed_products(o, l) : add_gate_and_up(o);
        } else if (!o.routed) {
            const tensor down = add_rows(shape.hidden);
            free(operand_name::activated);
            if (o.shared)  // added to the routed experts' output in its place
                free(down);
            else
                at(operand_name::fed) = down;
        } else if (l.place != expert_place::first_gpu) {
            const bool stacked = l.place != expert_place::host;
            const tensor down = stacked ? add(l.down_stack) : tensor{};
            at(operand_name::expert_output) = add_rows(l.kind.feed_forward.experts.per_token * shape.hidden);
            free(down);
            if (stacked) free(operand_name::activated);
        } else {
            at(operand_name::expert_output) = {};
        }
    }
    constexpr void add_gate_and_up(const layer_operation& o) {
        if (options.joined_gate) {  // halves are copied, or one operation reads both
            const tensor both = add_rows(o.writes[0].width + o.writes[1].width);
            free(operand_name::normed);
            if (options.writes.gated_apart) {
                at(operand_name::gate) = both;
                return;
            }
            at(operand_name::gate) = add_rows(o.writes[0].width);
            at(operand_name::up) = add_rows(o.writes[1].width);
            free(both);
            return;
        }
        at(operand_name::gate) = add_rows(o.writes[0].width);
        at(operand_name::up) = add_rows(o.writes[1].width);
        free(operand_name::normed);
    }
    constexpr void activate(const layer_operation& o) {
        if (!options.fused && !options.writes.gated_apart) {
            free(operand_name::up);
            std::swap(at(operand_name::activated), at(operand_name::gate));
            return;
        }
        at(operand_name::activated) = add_rows(o.writes[0].width);
        free(operand_name::gate);
        free(operand_name::up);
    }
    /// The order of experts by score.
    constexpr void add_choice(const experts& e) {
        const tensor biased = e.score_bias ? add_rows(e.count) : tensor{};
        order = add_rows(e.count);
        free(biased);
        if (!options.fused) weigh(e);
    }
    constexpr void weigh(const experts& e) {
        weights = add_rows(e.per_token);
        free(operand_name::logits_of_experts);
        free(add_rows(1));  // their sum
    }
    /// Gate and up of routed experts: one operation that needs both stacks of weights, or one after the other. Experts
    /// on the host are computed there.
    constexpr void add_routed_products(const layer_operation& o, const graph_layer& l) {
        const experts& e = l.kind.feed_forward.experts;
        if (l.place == expert_place::host || l.place == expert_place::first_gpu) {
            if (e.shared_width == 0) free(operand_name::normed);
            return;
        }
        first_stack = add(l.gate_stack);
        if (options.fused) {
            second_stack = add(l.gate_stack);
            return;
        }
        at(operand_name::up) = add_rows(e.per_token * o.writes[1].width);
        free(first_stack);
        const tensor stack = add(l.gate_stack);
        at(operand_name::gate) = add_rows(e.per_token * o.writes[0].width);
        free(stack);
        if (e.shared_width == 0) free(operand_name::normed);
    }
    constexpr void activate_routed(const layer_operation& o, const graph_layer& l) {
        const experts& e = l.kind.feed_forward.experts;
        if (l.place == expert_place::host || l.place == expert_place::first_gpu) return;
        if (options.fused) {
            at(operand_name::activated) = add_rows(e.per_token * o.writes[0].width);
            free(first_stack);
            free(second_stack);
        } else if (options.writes.gated_apart) {
            at(operand_name::activated) = add_rows(e.per_token * o.writes[0].width);
            free(operand_name::gate);
            free(operand_name::up);
        } else {
            free(operand_name::gate);
            std::swap(at(operand_name::activated), at(operand_name::up));
        }
        if (e.shared_width == 0) free(operand_name::normed);
    }
    /// The sum of the experts' outputs, which come back from the host where they are computed there.
    constexpr void add_combined(const experts& e) {
        if (options.fused) weigh(e);
        free(order);
        free(weights);
        at(operand_name::fed) = add_rows(shape.hidden);
        free(operand_name::expert_output);
    }

private:
    tensor order{}, weights{}, first_stack{}, second_stack{};  ///< of routed experts
};

}  // namespace llmres::inline v0::detail
