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
#include <llmres/runtimes/serving_kernels.hpp>
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
    bool last_of_mask = false;     ///< no later layer of the model reads the same mask
    bool computes_logits = false;  ///< the model's last: rows are picked for the logits
    expert_place place = expert_place::here;
    byte_count gate_stack{};  ///< of all experts' weights, where they are copied: of the gate, and of the way down
    byte_count down_stack{};
};

/// Tokens of a step, and cells of the caches that they attend to.
struct graph_shape {
    std::int64_t tokens = 0;
    std::int64_t cells = 0;
    std::int64_t window_cells = 0;  ///< of layers with a window, where these have a mask of their own; 0: they have not
    std::int64_t scored = 0;        ///< tokens that logits are computed of
    std::int64_t sequences = 1;     ///< that have a recurrent state
    std::int64_t hidden = 0;
    std::int64_t value_rows = 0;  ///< features of the widest layer's values, whose cells are written one by one
};

/// How a version of llama.cpp writes its graphs.
struct graph_options {
    bool flash = true;
    bool fused = false;  ///< norms with their weights, gates with their products, sums of experts (ik_llama.cpp; -fmoe)
    ggml_graphs writes{};
    std::int32_t inputs_here = 0;   ///< writes.inputs_of_embedding, where the embedding is looked up on this device
    bool joined_heads = false;      ///< files have one matrix for queries, keys and values
    bool joined_gate = false;       ///< files have one matrix for a feed-forward's gate and product
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
    graph_shape shape;
    graph_options options;
    ggml_buffer buffer{};

    constexpr ggml_graph(const graph_shape& of_step, const graph_options& how)
        : shape{of_step}, options{how}, rows{of_step.tokens} {}

    using tensor = ggml_buffer::tensor;
    constexpr byte_count rows_of(std::int64_t width) const { return column * width; }

    constexpr void begin() {
        const bool wide = options.flash && options.first && !options.writes.narrow_masks;
        const std::int64_t each = options.flash && !wide ? 2 : 4;
        masks[0] = {.cells = shape.cells, .wide = wide};
        masks[1] = {.cells = shape.window_cells, .wide = wide};
        if (options.input_copies > 1) {  // these are never freed
            for (std::int32_t i = 0; i < options.input_copies; ++i) {
                add_rows(shape.hidden), add_rows(1);
                for (const graph_mask& m : masks) buffer.add(bytes(each) * m.cells * rows);
            }
            return;
        }
        const std::int32_t here = options.inputs_here;
        const tensor rows_read = here > 1 ? add_rows(shape.hidden) : tensor{};
        if (here > 0) add_rows(shape.hidden);
        if (here == 0) at(operand_name::stream) = add_rows(shape.hidden);
        positions = add_rows(1);
        for (graph_mask& m : masks) {
            if (m.cells == 0) continue;
            if (options.writes.value_rows && !options.flash)
                m.value_rows = buffer.add(bytes(8) * rows * shape.value_rows);
            m.values = buffer.add(bytes(each) * m.cells * rows);
        }
        if (here > 0) at(operand_name::stream) = add_rows(shape.hidden);
        if (here <= 1) return;
        const tensor looked_up = add_rows(shape.hidden);
        add_rows(shape.hidden);  // read through a view alone, which frees nothing
        buffer.free(rows_read);
        buffer.free(looked_up);
    }

    constexpr void add_layer(const graph_layer& l) {
        for_each_layer_operation(l.kind, shape.hidden, {}, [&](const layer_operation& o) { add(o, l); });
    }

    constexpr void add_logits(std::int64_t vocabulary) {
        if (options.fused) {
            const tensor normed = add_rows(shape.hidden);
            free(operand_name::stream);
            at(operand_name::stream) = normed;
        }
        add_rows(vocabulary);
        free(operand_name::stream);
    }

private:
    /// Of tokens by cells; and the numbers of the cells that values are written to, one by one.
    struct graph_mask {
        tensor values{}, value_rows{};
        std::int64_t cells = 0;
        bool wide = false;  ///< flash attention has yet to make it 16-bit
    };
    static constexpr std::size_t most_parts = 256;
    static constexpr std::size_t names = static_cast<std::size_t>(operand_name::fed) + 1;

    [[gnu::noinline]] constexpr tensor add_rows(std::int64_t width) { return buffer.add(rows_of(width)); }
    constexpr tensor& at(operand_name name) { return tensors[static_cast<std::size_t>(name)]; }
    constexpr void free(operand_name name) {
        buffer.free(at(name));
        at(name) = {};
    }

    constexpr void add(const layer_operation& o, const graph_layer& l) {
        switch (o.code) {
            case operation_code::norm: return add_norm(o);
            case operation_code::products: return add_products(o, l);
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
    constexpr graph_mask& mask_of(const graph_layer& l) {
        return masks[l.kind.attention.window > token_count{} && shape.window_cells > 0 ? 1 : 0];
    }

    /// In the place of what is added. Where rows are picked for the logits, those of the stream are, too.
    constexpr void add_to_stream(operand_name added) {
        if (picks_stream) {
            const tensor picked = add_rows(shape.hidden);
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
            at(to) = add_rows(shape.hidden);
        } else if (options.fused) {
            const tensor after = add_rows(shape.hidden);
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
            if (o.weights[0] == weight_role::o_proj) return project(operand_name::attended, l.computes_logits);
            if (o.weights[0] == weight_role::out_proj) return project(operand_name::scanned, l.computes_logits);
            if (o.weights[0] == weight_role::in_proj) {
                at(operand_name::projected) = add_rows(o.writes[0].width);
                return free(operand_name::normed);
            }
            if (l.kind.attention.kind == attention_kind::latent) return;  // laid out with the attention itself
            if (!l.expands && o.weights[0] == weight_role::q_proj) add_heads(o, l);  // gates are not laid out
            return;
        }
        if (o.weights[0] == weight_role::projector || o.weights[0] == weight_role::shared_gate) return;
        if (o.weights[0] == weight_role::router) {
            at(operand_name::logits_of_experts) = add_rows(l.kind.feed_forward.experts.count);
        } else if (o.weights[0] != weight_role::down_proj) {
            return o.routed ? add_routed_products(o, l) : add_gate_and_up(o);
        } else if (!o.routed) {
            const tensor down = add_rows(shape.hidden);
            free(operand_name::activated);
            if (o.shared)  // added to the routed experts' output in its place
                buffer.free(down);
            else
                at(operand_name::fed) = down;
        } else if (l.place != expert_place::first_gpu) {
            const bool stacked = l.place != expert_place::host;
            const tensor down = stacked ? buffer.add(l.down_stack) : tensor{};
            at(operand_name::expert_output) = add_rows(l.kind.feed_forward.experts.per_token * shape.hidden);
            buffer.free(down);
            if (stacked) free(operand_name::activated);
        } else {
            at(operand_name::expert_output) = {};
        }
    }

    // ---- attention ----

    /// Queries, keys and values; the latter two go to the cache.
    constexpr void add_heads(const layer_operation& o, const graph_layer& l) {
        if (options.joined_heads) return add_joined_heads(o, l);
        const bool normed = l.kind.attention.qk_norm != query_key_norm::none;
        at(operand_name::query) = for_cache(rotated(o.writes[0].width, normed), o.writes[0].width);
        const auto made = [&] { return for_cache(add_rows(o.writes[2].width), o.writes[2].width); };
        const tensor first = options.writes.values_first ? made() : tensor{};
        const tensor keys = for_cache(rotated(o.writes[1].width, normed), o.writes[1].width);
        if (l.last) buffer.free(positions);
        const tensor values = options.writes.values_first ? first : made();
        free_normed(l.kind);
        buffer.free(keys);
        buffer.free(values);
    }
    /// One product, of which queries and keys are rotated to tensors of their own, and values are a view; each third
    /// was copied first until views were rotated.
    constexpr void add_joined_heads(const layer_operation& o, const graph_layer& l) {
        const bool copies = !options.writes.gated_apart;
        const tensor all = add_rows(o.writes[0].width + o.writes[1].width + o.writes[2].width);
        free_normed(l.kind);
        const auto turned = [&](std::int64_t width) {
            const tensor third = copies ? add_rows(width) : tensor{};
            const tensor made = add_rows(width);
            buffer.free(third);
            return for_cache(made, width);
        };
        at(operand_name::query) = turned(o.writes[0].width);
        const tensor keys = turned(o.writes[1].width);
        if (l.last) buffer.free(positions);
        const tensor values = copies || rotates() ? add_rows(o.writes[2].width) : tensor{};
        buffer.free(all);
        buffer.free(keys);
        buffer.free(values);
    }
    constexpr bool rotates() const { return options.unpacked && options.writes.rotates_quantised; }
    /// What is rotated for a quantised cache is another tensor.
    constexpr tensor for_cache(tensor made, std::int64_t width) {
        if (!rotates()) return made;
        const tensor after = add_rows(width);
        buffer.free(made);
        return after;
    }
    /// Queries or keys, and what follows. A norm or a rotation that reads a view makes a tensor of its own
    /// (ggml-alloc.c: a view has no offset yet); the fused rotation takes its place.
    constexpr tensor rotated(std::int64_t width, bool normed) {
        const tensor made = add_rows(width);
        if (!normed && options.fused) return made;
        const tensor after = add_rows(width);
        buffer.free(made);
        return after;
    }
    constexpr void attend(const layer_operation& o, const graph_layer& l) {
        const byte_count output = rows_of(o.writes[0].width);
        if (options.flash) {
            cast_mask(mask_of(l));
            const tensor attended = buffer.add(output);
            free(operand_name::query);
            at(operand_name::attended) = for_cache(attended, o.writes[0].width);
        } else {
            const tensor scores = add_rows(l.kind.attention.heads * mask_of(l).cells);
            free(operand_name::query);
            const tensor by_heads = buffer.add(output);
            buffer.free(scores);
            at(operand_name::attended) = buffer.add(output);
            buffer.free(by_heads);
        }
        free_mask(l);
    }
    [[gnu::noinline]] constexpr void free_mask(const graph_layer& l) {
        if (!l.last_of_mask) return;
        buffer.free(mask_of(l).values);
        buffer.free(mask_of(l).value_rows);
    }
    /// Latent attention that reads its cache as it is (llama.cpp: build_deepseek2): queries as wide as the latent, and
    /// their rotary part, are joined; outputs of the latent's width are multiplied by the values' part of kv_b.
    constexpr void attend_latent(const graph_layer& l) {
        const attention& a = l.kind.attention;
        const std::int64_t heads = a.heads, rank = a.kv_rank;
        const tensor plain = plain_queries(a);
        const bool rotary_first = !options.writes.values_first;
        tensor rotary = rotary_first ? add_rows(heads * a.rope_dim) : tensor{};
        const tensor wide = add_rows(heads * rank);
        if (!rotary_first) rotary = add_rows(heads * a.rope_dim);
        buffer.free(plain);
        const tensor queries = add_rows(heads * (rank + a.rope_dim));
        buffer.free(wide);
        buffer.free(rotary);
        store_latent(a);
        free(operand_name::normed);
        if (l.last) buffer.free(positions);
        tensor output{};
        if (options.flash) {
            cast_mask(mask_of(l));
            output = add_rows(heads * rank);
            buffer.free(queries);
        } else {
            const tensor scores = add_rows(heads * shape.cells);
            buffer.free(queries);
            output = add_rows(heads * rank);
            buffer.free(scores);
        }
        const tensor values = add_rows(heads * a.value_width());
        buffer.free(output);
        at(operand_name::attended) = add_rows(heads * a.value_width());
        buffer.free(values);
        free_mask(l);
    }
    /// A selective state space (llama.cpp: build_mamba2_layer, build_mamba_layer): the convolution's input joined with
    /// its state, its output, the scan's outputs with the new states, and the gate taken out of the projection. The
    /// first Mamba's projections of time step, B and C stand between.
    [[gnu::cold]] constexpr void scan(const graph_layer& l) {
        const recurrent& r = l.kind.recurrent;
        const bool first = r.kind == recurrent_kind::mamba;
        if (first) {
            at(operand_name::projected) = add_rows(2 * r.inner());
            free(operand_name::normed);
        }
        const std::int64_t channels = r.conv_channels();
        const byte_count kept = bytes(4) * channels * (r.kernel - 1) * shape.sequences;
        const byte_count scan_states = bytes(4) * r.inner() * r.state * shape.sequences;
        const tensor copied = options.writes.copies_states ? buffer.add(scan_states) : tensor{};
        const tensor state = buffer.add(kept);
        const tensor joined = buffer.add(rows_of(channels) + kept);
        buffer.free(state);
        const tensor convolved = add_rows(channels);
        buffer.free(joined);
        const tensor low = first ? add_rows(r.rank + 2 * r.state) : tensor{};
        const tensor part = first ? add_rows(r.rank) : tensor{};
        const tensor steps = add_rows(r.heads);
        buffer.free(part);
        const tensor scanned = buffer.add(rows_of(r.inner()) + scan_states);
        buffer.free(copied);
        buffer.free(steps);
        buffer.free(low);
        const tensor gate = add_rows(r.inner());
        free(operand_name::projected);
        const tensor skipped = first ? convolved : add_rows(r.inner());
        if (!first) buffer.free(convolved);
        buffer.free(scanned);
        at(operand_name::scanned) = add_rows(r.inner());
        buffer.free(gate);
        buffer.free(skipped);
        if (first) project(operand_name::scanned, l.computes_logits);
    }
    /// Attention's last product. Where rows are picked for the logits, all are, as the graph is laid out.
    constexpr void project(operand_name from, bool picks_rows) {
        tensor output = add_rows(shape.hidden);
        free(from);
        if (picks_rows) {
            rows = shape.scored;
            column = bytes(4) * rows;
            const tensor picked = add_rows(shape.hidden);
            buffer.free(output);
            output = picked;
        }
        at(operand_name::mixed) = output;
        picks_stream = picks_rows;
    }
    /// Prompts through latent attention that expands keys and values of the whole context (ik_llama.cpp:
    /// build_deepseek2 with -mla 2 or 3 and -fa). Of each part of the heads the fp32 product, its keys and values in 16
    /// bit and the keys joined with their rotary part are made; the mask is cast when it is first read.
    [[gnu::cold]] constexpr void attend_expanded(const graph_layer& l) {
        const attention& a = l.kind.attention;
        const std::int64_t heads = a.heads, cells = shape.cells;
        store_latent(a);
        const tensor queries = latent_queries(a, l.last);
        const std::int64_t part = heads_of_a_part(a, heads);
        const std::size_t parts = static_cast<std::size_t>(heads / part);
        std::array<tensor, most_parts> keys, values;  // set before they are read
        tensor rotary{}, joined{};
        const auto read = [&](std::size_t i) {
            cast_mask(masks[0]);
            const tensor one = add_rows(part * a.value_width());
            if (i + 1 == parts) buffer.free(queries);
            buffer.free(keys[i]);
            buffer.free(values[i]);
            if (i + 1 == parts) free_mask(l);
            if (i == 0) {
                joined = one;
                return;
            }
            const tensor more = add_rows(part * a.value_width() * static_cast<std::int64_t>(i + 1));
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
        return bytes(4) * shape.cells * heads * (a.head_dim + a.value_width());
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
    [[gnu::noinline]] constexpr void cast_mask(graph_mask& mask) {
        if (!mask.wide) return;
        const tensor wide = mask.values;
        mask.values = buffer.add(bytes(2) * mask.cells * rows);
        buffer.free(wide);
        mask.wide = false;
    }
    // ---- feed-forward ----

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
            buffer.free(both);
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
        buffer.free(biased);
        if (!options.fused) weigh(e);
    }
    constexpr void weigh(const experts& e) {
        weights = add_rows(e.per_token);
        free(operand_name::logits_of_experts);
        buffer.free(add_rows(1));  // their sum
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
        at(operand_name::up) = add_rows(e.per_token * o.writes[1].width);
        buffer.free(first_stack);
        const tensor stack = buffer.add(l.gate_stack);
        at(operand_name::gate) = add_rows(e.per_token * o.writes[0].width);
        buffer.free(stack);
        if (e.shared_width == 0) free(operand_name::normed);
    }
    constexpr void activate_routed(const layer_operation& o, const graph_layer& l) {
        const experts& e = l.kind.feed_forward.experts;
        if (l.place == expert_place::host || l.place == expert_place::first_gpu) return;
        if (options.fused) {
            at(operand_name::activated) = add_rows(e.per_token * o.writes[0].width);
            buffer.free(first_stack);
            buffer.free(second_stack);
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
        buffer.free(order);
        buffer.free(weights);
        at(operand_name::fed) = add_rows(shape.hidden);
        free(operand_name::expert_output);
    }

    /// The compressed keys and values, which go to the cache.
    constexpr void store_latent(const attention& a) {
        const tensor both = add_rows(a.kv_rank + a.rope_dim);
        const tensor rotated = add_rows(a.rope_dim);
        const tensor latent = add_rows(a.kv_rank);
        buffer.free(both);
        const tensor joined = add_rows(a.kv_rank + a.rope_dim);
        buffer.free(rotated);
        buffer.free(latent);
        buffer.free(joined);
    }
    /// Queries before their rotation; compressed ones are normed in their place.
    constexpr tensor plain_queries(const attention& a) {
        if (a.q_rank == 0) return add_rows(a.heads * a.query_width());
        const tensor low = add_rows(a.q_rank);
        const tensor made = add_rows(a.heads * a.query_width());
        buffer.free(low);
        return made;
    }
    constexpr tensor latent_queries(const attention& a, bool last) {
        const std::int64_t heads = a.heads;
        tensor input = at(operand_name::normed);
        at(operand_name::normed) = {};
        if (a.q_rank > 0) {
            const tensor low = add_rows(a.q_rank);
            buffer.free(input);
            input = add_rows(a.q_rank);
            buffer.free(low);
        }
        const tensor made = add_rows(heads * a.query_width());
        buffer.free(input);
        const tensor rotated = add_rows(heads * a.rope_dim);
        if (last) buffer.free(positions);
        const tensor joined = add_rows(heads * a.query_width());
        buffer.free(rotated);
        buffer.free(made);
        return joined;
    }
    /// The rotary part of all keys, once a head of the part.
    constexpr tensor repeated_rotary(const attention& a, std::int64_t part) {
        const tensor one = options.unpacked ? buffer.add(bytes(2) * shape.cells * a.rope_dim) : tensor{};
        const tensor repeated = buffer.add(bytes(2) * shape.cells * a.rope_dim * part);
        buffer.free(one);
        return repeated;
    }

    std::array<tensor, names> tensors{};
    std::array<graph_mask, 2> masks{};  ///< of layers without and with a window
    tensor positions{}, order{}, weights{}, first_stack{}, second_stack{};
    std::int64_t rows;  ///< tokens that pass the layer; in the last one those that logits are computed of
    byte_count column = bytes(4) * rows;  ///< one fp32 feature of all of them
    bool picks_stream = false;            ///< the residual sum is of the rows that logits are computed of
};

}  // namespace llmres::inline v0::detail
