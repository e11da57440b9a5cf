// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/feed_forward.hpp>
#include <utility>

/// The compute buffer of a graph whose tensors are many and large, laid out as ggml does it: tensor by tensor in the
/// order of the graph. Where a few tensors rule, the fuller half of a layer is enough (memory/serving/step.hpp); where
/// latent attention expands its keys and values, what lies between the others' holes decides. A plan takes 2 to 4 us
/// with it, and 15 where keys are expanded in many parts.
namespace llmres::inline v0::detail {

/// One GPU's part of a graph: a fold over the operations of its layers. Each operation's output is added to the buffer,
/// then the inputs that no later one reads are freed.
class ggml_graph : public graph_with_feed_forward {
public:
    using graph_with_feed_forward::graph_with_feed_forward;

    /// Writes the steps of a layer, which lay_out() takes. (Of a layer with too many, it takes the first ones itself.)
    constexpr void write_layer(const graph_layer& l, layer_steps& steps) {
        begin_layer(steps, l);
        for_each_layer_operation(l.kind, shape.hidden, {}, [&](const layer_operation& o) { add(o, l); });
        end_layer();
    }
    constexpr void add_layer(const graph_layer& l) {
        layer_steps steps;
        write_layer(l, steps);
        lay_out(steps, conditions_of(l));
    }

    constexpr void add_logits(std::int64_t vocabulary) {
        if (options.fused) {
            const ggml_buffer::tensor normed = lay_out_rows(shape.hidden);
            buffer.free(stream_place());
            stream_place() = normed;
        }
        lay_out_rows(vocabulary);
        buffer.free(stream_place());
    }

private:
    constexpr void add(const layer_operation& o, const graph_layer& l) {
        switch (o.code) {
            case operation_code::norm: return add_norm(o);
            case operation_code::products:
                return o.half == layer_half::attention ? add_products_of_attention(o, l)
                                                       : add_products_of_feed_forward(o, l);
            case operation_code::attention:
                return l.expands                                         ? attend_expanded(l)
                       : l.kind.attention.kind == attention_kind::latent ? attend_latent(l)
                                                                         : attend(o, l);
            case operation_code::route: return add_choice(l.kind.feed_forward.experts);
            case operation_code::activation: return o.routed ? activate_routed(o, l) : activate(o);
            case operation_code::combine: return add_combined(l.kind.feed_forward.experts);
            case operation_code::residual_sum: return add_to_stream(o.reads[0].name);
            case operation_code::scan: return scan(l);
            default:  // head norms follow their products; the rest is in no model whose graph is laid out
                return;
        }
    }

    /// In the place of what is added. Where rows are picked for the logits, those of the stream are, too.
    constexpr void add_to_stream(operand_name added) {
        if (picks_stream) pick_rows(at(operand_name::stream));
        picks_stream = false;
        free(operand_name::stream);
        std::swap(at(operand_name::stream), at(added));
    }

    /// A norm of the stream makes a tensor. One of a half's output takes its place, but for a fused one.
    constexpr void add_norm(const layer_operation& o) {
        const operand_name to = o.writes[0].name;
        if (to == operand_name::normed) {
            at(to) = add_rows(shape.hidden);
        } else if (options.fused) {
            const tensor after = add_rows(shape.hidden);
            free(to);
            at(to) = after;
        }
    }
};

}  // namespace llmres::inline v0::detail
