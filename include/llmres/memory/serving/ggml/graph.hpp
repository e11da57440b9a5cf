// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/buffer.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>
#include <utility>

/// The compute buffer of a graph whose tensors are many and large, laid out as ggml does it: tensor by tensor in the
/// order of the graph. Where a few tensors rule, the fuller half of a layer is enough (memory/serving/step.hpp); where
/// latent attention expands its keys and values, what lies between the others' holes decides. A plan takes 2 to 5 us
/// with it, and 15 where keys are expanded in many parts.
namespace llmres::inline v0::detail {

/// Where routed experts are computed, seen from one GPU.
enum class expert_place : std::uint8_t {
    here,       ///< where their weights are
    host,       ///< by the CPU
    copied,     ///< here, with weights that come from the host
    first_gpu,  ///< likewise, but not here: the scheduler gives such work to the first GPU
                ///< (ggml_backend_sched_backend_id_from_cur)
};

/// One layer in a graph: what its place in it decides.
struct graph_layer {
    const layer& kind;             ///< with the heads of this GPU
    bool expands = false;          ///< latent attention expands keys and values of the whole context
    bool last = false;             ///< the GPU's last: positions are freed
    bool computes_logits = false;  ///< the model's last: the mask is freed, and rows are picked for the logits
    expert_place place = expert_place::here;
    byte_count gate_stack{};  ///< of all experts' weights, where they are copied: of the gate, and of the way down
    byte_count down_stack{};
};

/// How a version of llama.cpp writes its graphs.
struct graph_options {
    bool flash = true;
    bool fused = false;  ///< norms with their weights, gates with their products, sums of experts (ik_llama.cpp; -fmoe)
    byte_count part_limit{};        ///< -amb
    bool all_parts = false;         ///< are made before the first of them is read
    bool unpacked = false;          ///< the cache is quantised, and its rotary part is unpacked first
    bool first = true;              ///< of the GPUs: it casts the mask, others get it in 16 bit
    std::int32_t input_copies = 1;  ///< of all inputs, kept where GPUs work on several batches at once
};

/// One GPU's part of a graph: a fold over the operations of its layers. Each operation's output is added to the buffer,
/// then the inputs that no later one reads are freed.
class ggml_graph {
public:
    std::int64_t tokens_at_once;
    std::int64_t cells;
    std::int64_t hidden;
    graph_options options;
    ggml_buffer buffer{};

    constexpr ggml_graph(std::int64_t tokens, std::int64_t cache_cells, std::int64_t hidden_width,
                         const graph_options& how)
        : tokens_at_once{tokens}, cells{cache_cells}, hidden{hidden_width}, options{how} {}

    using tensor = ggml_buffer::tensor;
    constexpr byte_count rows_of(std::int64_t width) const { return bytes(4) * tokens_at_once * width; }

    constexpr void begin() {
        const byte_count mask_size = bytes(options.flash && !options.first ? 2 : 4) * cells * tokens_at_once;
        mask_is_wide = options.flash && options.first;
        if (options.input_copies > 1) {  // these are never freed
            for (std::int32_t i = 0; i < options.input_copies; ++i)
                buffer.add(rows_of(hidden)), buffer.add(rows_of(1)), buffer.add(mask_size);
            return;
        }
        at(operand_name::stream) = buffer.add(rows_of(hidden));
        positions = buffer.add(rows_of(1));
        mask = buffer.add(mask_size);
    }

    constexpr void add_layer(const graph_layer& l) {
        for_each_layer_operation(l.kind, hidden, {}, [&](const layer_operation& o) { add(o, l); });
    }

    constexpr void add_logits(std::int64_t vocabulary) {
        if (options.fused) {
            const tensor normed = buffer.add(rows_of(hidden));
            free(operand_name::stream);
            at(operand_name::stream) = normed;
        }
        buffer.add(rows_of(vocabulary));
        free(operand_name::stream);
    }

private:
    static constexpr std::size_t most_parts = 256;
    static constexpr std::size_t names = static_cast<std::size_t>(operand_name::fed) + 1;

    constexpr tensor& at(operand_name name) { return tensors[static_cast<std::size_t>(name)]; }
    constexpr void free(operand_name name) {
        buffer.free(at(name));
        at(name) = {};
    }

    constexpr void add(const layer_operation& o, const graph_layer& l) {
        switch (o.code) {
            case operation_code::norm:
                return add_norm(o);
            case operation_code::products:
                return add_products(o, l);
            case operation_code::attention:
                return l.expands ? attend_expanded(l) : attend(o, l);
            case operation_code::route:
                return add_choice(l.kind.feed_forward.experts);
            case operation_code::activation:
                return o.routed ? activate_routed(o, l) : activate(o);
            case operation_code::combine:
                return add_combined(l.kind.feed_forward.experts);
            case operation_code::residual_sum:
                return add_to_stream(o.reads[0].name);
            default:  // head norms follow their products; the rest is in no model whose graph is laid out
                return;
        }
    }

    /// In the place of what is added. Where rows are picked for the logits, those of the stream are, too.
    constexpr void add_to_stream(operand_name added) {
        if (picks_stream) {
            const tensor picked = buffer.add(rows_of(hidden));
            free(operand_name::stream);
            at(operand_name::stream) = picked;
            picks_stream = false;
        }
        free(operand_name::stream);
        std::swap(at(operand_name::stream), at(added));
    }

    /// A norm of the stream makes a tensor. One of a half's output takes its place, but for a fused one.
    constexpr void add_norm(const layer_operation& o) {
        const operand_name to = o.writes[0].name;
        if (to == operand_name::normed) {
            at(to) = buffer.add(rows_of(hidden));
        } else if (options.fused) {
            const tensor after = buffer.add(rows_of(hidden));
            free(to);
            at(to) = after;
        }
    }
    /// What the products of a half read is freed with the last that read it: the other half may, too.
    constexpr void free_normed(const layer& l) {
        if (l.norm_before_feed_forward || !l.norm_before_attention) free(operand_name::normed);
    }

    constexpr void add_products(const layer_operation& o, const graph_layer& l) {
        if (o.half == layer_half::attention) {
            if (o.weights[0] == weight_role::o_proj) return project(l.computes_logits);
            if (!l.expands && o.weights[0] == weight_role::q_proj) add_heads(o, l);  // gates are not laid out
            return;
        }
        if (o.weights[0] == weight_role::projector) return;
        if (o.weights[0] == weight_role::router) {
            at(operand_name::logits_of_experts) = buffer.add(rows_of(l.kind.feed_forward.experts.count));
        } else if (o.weights[0] != weight_role::down_proj) {
            return o.routed ? add_routed_products(o, l) : add_gate_and_up(o);
        } else if (!o.routed) {
            const tensor down = buffer.add(rows_of(hidden));
            free(operand_name::activated);
            if (o.shared)  // added to the routed experts' output in its place
                buffer.free(down);
            else
                at(operand_name::fed) = down;
        } else if (l.place != expert_place::first_gpu) {
            const bool stacked = l.place != expert_place::host;
            const tensor down = stacked ? buffer.add(l.down_stack) : tensor{};
            at(operand_name::expert_output) = buffer.add(rows_of(l.kind.feed_forward.experts.per_token * hidden));
            buffer.free(down);
            if (stacked) free(operand_name::activated);
        } else {
            at(operand_name::expert_output) = {};
        }
    }

    // ---- attention ----

    /// Queries, keys and values; the latter two go to the cache.
    constexpr void add_heads(const layer_operation& o, const graph_layer& l) {
        const bool normed = l.kind.attention.qk_norm != query_key_norm::none;
        at(operand_name::query) = rotated(o.writes[0].width, normed);
        const tensor keys = rotated(o.writes[1].width, normed);
        if (l.last) buffer.free(positions);
        const tensor values = buffer.add(rows_of(o.writes[2].width));
        free_normed(l.kind);
        buffer.free(keys);
        buffer.free(values);
    }
    /// Queries or keys, and what follows. A norm or a rotation that reads a view makes a tensor of its own
    /// (ggml-alloc.c: a view has no offset yet); the fused rotation takes its place.
    constexpr tensor rotated(std::int64_t width, bool normed) {
        const tensor made = buffer.add(rows_of(width));
        if (!normed && options.fused) return made;
        const tensor after = buffer.add(rows_of(width));
        buffer.free(made);
        return after;
    }
    constexpr void attend(const layer_operation& o, const graph_layer& l) {
        const byte_count output = rows_of(o.writes[0].width);
        if (options.flash) {
            cast_mask();
            at(operand_name::attended) = buffer.add(output);
            free(operand_name::query);
        } else {
            const tensor scores = buffer.add(rows_of(l.kind.attention.heads * cells));
            free(operand_name::query);
            const tensor by_heads = buffer.add(output);
            buffer.free(scores);
            at(operand_name::attended) = buffer.add(output);
            buffer.free(by_heads);
        }
        if (l.computes_logits) buffer.free(mask);
    }
    /// Attention's last product. Where rows are picked for the logits, all are, as the graph is laid out.
    constexpr void project(bool picks_rows) {
        tensor output = buffer.add(rows_of(hidden));
        free(operand_name::attended);
        if (picks_rows) {
            const tensor picked = buffer.add(rows_of(hidden));
            buffer.free(output);
            output = picked;
        }
        at(operand_name::mixed) = output;
        picks_stream = picks_rows;
    }
    /// Prompts through latent attention that expands keys and values of the whole context (ik_llama.cpp:
    /// build_deepseek2 with -mla 2 or 3 and -fa). Of each part of the heads the fp32 product, its keys and values in 16
    /// bit and the keys joined with their rotary part are made; the mask is cast when it is first read.
    constexpr void attend_expanded(const graph_layer& l) {
        const attention& a = l.kind.attention;
        const std::int64_t heads = a.heads;
        store_latent(a);
        const tensor queries = latent_queries(a, l.last);
        const std::int64_t part = heads_of_a_part(a, heads);
        const std::size_t parts = static_cast<std::size_t>(heads / part);
        std::array<tensor, most_parts> keys, values;  // set before they are read
        tensor rotary{}, joined{};
        const auto read = [&](std::size_t i) {
            cast_mask();
            const tensor one = buffer.add(rows_of(part * a.value_width()));
            if (i + 1 == parts) buffer.free(queries);
            buffer.free(keys[i]);
            buffer.free(values[i]);
            if (i + 1 == parts && l.computes_logits) buffer.free(mask);
            if (i == 0) {
                joined = one;
                return;
            }
            const tensor more = buffer.add(rows_of(part * a.value_width() * static_cast<std::int64_t>(i + 1)));
            buffer.free(joined);
            buffer.free(one);
            joined = more;
        };
        for (std::size_t i = 0; i < parts; ++i) {
            const tensor both = buffer.add(product(a, part));
            const tensor key = buffer.add(bytes(2) * cells * part * a.head_dim);
            values[i] = buffer.add(bytes(2) * cells * part * a.value_width());
            buffer.free(both);
            if (i == 0) rotary = repeated_rotary(a, part);
            keys[i] = buffer.add(bytes(2) * cells * part * a.query_width());
            if (i + 1 == parts) buffer.free(rotary);
            buffer.free(key);
            if (!options.all_parts) read(i);
        }
        for (std::size_t i = 0; options.all_parts && i < parts; ++i) read(i);
        at(operand_name::attended) = joined;
    }

    constexpr byte_count product(const attention& a, std::int64_t heads) const {
        return bytes(4) * cells * heads * (a.head_dim + a.value_width());
    }
    static constexpr std::int64_t whole_mib(byte_count b) { return b.in(bytes) >> 20; }

    /// The fewest parts whose product fits; halves of halves until 2026.
    constexpr std::int64_t heads_of_a_part(const attention& a, std::int64_t heads) const {
        const std::int64_t limit = whole_mib(options.part_limit);
        if (limit == 0) return heads;
        std::int64_t parts = 1;
        if (options.all_parts)
            while (heads / parts % 2 == 0 && whole_mib(product(a, heads)) / parts > limit) parts *= 2;
        else
            while (parts < heads && (heads % parts != 0 || whole_mib(product(a, heads)) / parts > limit)) ++parts;
        return parts <= static_cast<std::int64_t>(most_parts) ? heads / parts : heads;
    }
    constexpr void cast_mask() {
        if (!mask_is_wide) return;
        const tensor wide = mask;
        mask = buffer.add(bytes(2) * cells * tokens_at_once);
        buffer.free(wide);
        mask_is_wide = false;
    }
    // ---- feed-forward ----

    constexpr void add_gate_and_up(const layer_operation& o) {
        at(operand_name::gate) = buffer.add(rows_of(o.writes[0].width));
        at(operand_name::up) = buffer.add(rows_of(o.writes[1].width));
        free(operand_name::normed);
    }
    constexpr void activate(const layer_operation& o) {
        if (!options.fused) {
            free(operand_name::up);
            std::swap(at(operand_name::activated), at(operand_name::gate));
            return;
        }
        at(operand_name::activated) = buffer.add(rows_of(o.writes[0].width));
        free(operand_name::gate);
        free(operand_name::up);
    }
    /// The order of experts by score.
    constexpr void add_choice(const experts& e) {
        const tensor biased = e.score_bias ? buffer.add(rows_of(e.count)) : tensor{};
        order = buffer.add(rows_of(e.count));
        buffer.free(biased);
        if (!options.fused) weigh(e);
    }
    constexpr void weigh(const experts& e) {
        weights = buffer.add(rows_of(e.per_token));
        free(operand_name::logits_of_experts);
        buffer.free(buffer.add(rows_of(1)));  // their sum
    }
    /// Gate and up of routed experts: one operation that needs both stacks of weights, or one after the other. Experts
    /// on the host are computed there.
    constexpr void add_routed_products(const layer_operation& o, const graph_layer& l) {
        const experts& e = l.kind.feed_forward.experts;
        if (l.place == expert_place::host || l.place == expert_place::first_gpu) {
            if (e.shared_width == 0) free(operand_name::normed);
            return;
        }
        first_stack = buffer.add(l.gate_stack);
        if (options.fused) {
            second_stack = buffer.add(l.gate_stack);
            return;
        }
        at(operand_name::up) = buffer.add(rows_of(e.per_token * o.writes[1].width));
        buffer.free(first_stack);
        const tensor stack = buffer.add(l.gate_stack);
        at(operand_name::gate) = buffer.add(rows_of(e.per_token * o.writes[0].width));
        buffer.free(stack);
    }
    constexpr void activate_routed(const layer_operation& o, const graph_layer& l) {
        const experts& e = l.kind.feed_forward.experts;
        if (l.place == expert_place::host || l.place == expert_place::first_gpu) return;
        if (options.fused) {
            at(operand_name::activated) = buffer.add(rows_of(e.per_token * o.writes[0].width));
            buffer.free(first_stack);
            buffer.free(second_stack);
        } else {
            free(operand_name::gate);
            std::swap(at(operand_name::activated), at(operand_name::up));
        }
        if (e.shared_width == 0) free(operand_name::normed);
    }
    /// The sum of the experts' outputs, which come back from the host where they are computed there.
    constexpr void add_combined(const experts& e) {
        if (options.fused) weigh(e);
        buffer.free(order);
        buffer.free(weights);
        at(operand_name::fed) = buffer.add(rows_of(hidden));
        free(operand_name::expert_output);
    }

    /// The compressed keys and values, which go to the cache.
    constexpr void store_latent(const attention& a) {
        const tensor both = buffer.add(rows_of(a.kv_rank + a.rope_dim));
        const tensor rotated = buffer.add(rows_of(a.rope_dim));
        const tensor latent = buffer.add(rows_of(a.kv_rank));
        buffer.free(both);
        const tensor joined = buffer.add(rows_of(a.kv_rank + a.rope_dim));
        buffer.free(rotated);
        buffer.free(latent);
        buffer.free(joined);
    }
    constexpr tensor latent_queries(const attention& a, bool last) {
        const std::int64_t heads = a.heads;
        tensor input = at(operand_name::normed);
        at(operand_name::normed) = {};
        if (a.q_rank > 0) {
            const tensor low = buffer.add(rows_of(a.q_rank));
            buffer.free(input);
            input = buffer.add(rows_of(a.q_rank));
            buffer.free(low);
        }
        const tensor made = buffer.add(rows_of(heads * a.query_width()));
        buffer.free(input);
        const tensor rotated = buffer.add(rows_of(heads * a.rope_dim));
        if (last) buffer.free(positions);
        const tensor joined = buffer.add(rows_of(heads * a.query_width()));
        buffer.free(rotated);
        buffer.free(made);
        return joined;
    }
    /// The rotary part of all keys, once a head of the part.
    constexpr tensor repeated_rotary(const attention& a, std::int64_t part) {
        const tensor one = options.unpacked ? buffer.add(bytes(2) * cells * a.rope_dim) : tensor{};
        const tensor repeated = buffer.add(bytes(2) * cells * a.rope_dim * part);
        buffer.free(one);
        return repeated;
    }

    std::array<tensor, names> tensors{};
    tensor positions{}, mask{}, order{}, weights{}, first_stack{}, second_stack{};
    bool mask_is_wide = false;
    bool picks_stream = false;  ///< the residual sum is of the rows that logits are computed of
};

}  // namespace llmres::inline v0::detail
