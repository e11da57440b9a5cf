// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/memory/serving/ggml/tensors.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>

/// Attention and recurrences in a graph of ggml.
namespace llmres::inline v0::detail {

/// Lays out what is between the norm of a layer's first half and its residual sum.
class graph_with_attention : public graph_tensors {
protected:
    using graph_tensors::graph_tensors;

    constexpr void add_products_of_attention(const layer_operation& o, const graph_layer& l) {
        if (o.weights[0] == weight_role::o_proj) return project(operand_name::attended);
        if (o.weights[0] == weight_role::out_proj) return project(operand_name::scanned);
        if (o.weights[0] == weight_role::in_proj) {
            at(operand_name::projected) = add_rows(o.writes[0].width);
            return free(operand_name::normed);
        }
        if (l.kind.attention.kind == attention_kind::latent) return;             // laid out with the attention itself
        if (!l.expands && o.weights[0] == weight_role::q_proj) add_heads(o, l);  // gates are not laid out
    }
    /// Queries, keys and values; the latter two go to the cache.
    constexpr void add_heads(const layer_operation& o, const graph_layer& l) {
        if (options.joined_heads) return add_joined_heads(o, l);
        const bool normed = l.kind.attention.qk_norm != query_key_norm::none;
        at(operand_name::query) = for_cache(rotated(o.writes[0].width, normed), o.writes[0].width);
        const auto made = [&] { return for_cache(add_rows(o.writes[2].width), o.writes[2].width); };
        const tensor first = options.writes.values_first ? made() : tensor{};
        const tensor keys = for_cache(rotated(o.writes[1].width, normed), o.writes[1].width);
        free_positions();
        const tensor values = options.writes.values_first ? first : made();
        free_normed(l.kind);
        free(keys);
        free(values);
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
            free(third);
            return for_cache(made, width);
        };
        at(operand_name::query) = turned(o.writes[0].width);
        const tensor keys = turned(o.writes[1].width);
        free_positions();
        const tensor values = copies || rotates() ? add_rows(o.writes[2].width) : tensor{};
        free(all);
        free(keys);
        free(values);
    }
    constexpr bool rotates() const { return options.unpacked && options.writes.rotates_quantised; }
    /// What is rotated for a quantised cache is another tensor.
    constexpr tensor for_cache(tensor made, std::int64_t width) {
        if (!rotates()) return made;
        const tensor after = add_rows(width);
        free(made);
        return after;
    }
    /// Queries or keys, and what follows. A norm or a rotation that reads a view makes a tensor of its own
    /// (ggml-alloc.c: a view has no offset yet); the fused rotation takes its place.
    constexpr tensor rotated(std::int64_t width, bool normed) {
        const tensor made = add_rows(width);
        if (!normed && options.fused) return made;
        const tensor after = add_rows(width);
        free(made);
        return after;
    }
    constexpr void attend(const layer_operation& o, const graph_layer& l) {
        const std::int64_t output = o.writes[0].width;
        if (options.flash) {
            cast_mask(reads_window_mask(l));
            const tensor attended = add_rows(output);
            free(operand_name::query);
            at(operand_name::attended) = for_cache(attended, o.writes[0].width);
        } else {
            const tensor scores = add_rows(l.kind.attention.heads * cells_of(l));
            free(operand_name::query);
            const tensor by_heads = add_rows(output);
            free(scores);
            at(operand_name::attended) = add_rows(output);
            free(by_heads);
        }
        free_mask(l);
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
        free(plain);
        const tensor queries = add_rows(heads * (rank + a.rope_dim));
        free(wide);
        free(rotary);
        store_latent(a);
        free(operand_name::normed);
        free_positions();
        tensor output{};
        if (options.flash) {
            cast_mask(reads_window_mask(l));
            output = add_rows(heads * rank);
            free(queries);
        } else {
            output = attend_in_parts(a, queries);
        }
        const tensor values = add_rows(heads * a.value_width());
        free(output);
        at(operand_name::attended) = add_rows(heads * a.value_width());
        free(values);
        free_mask(l);
    }
    /// Scores of the latent, in parts of so many heads that these fit (ik_llama.cpp: build_deepseek2, -amb), and what
    /// they weigh of it: its values, or their transposed copy.
    constexpr tensor attend_in_parts(const attention& a, tensor queries) {
        const std::int64_t heads = a.heads, rank = a.kv_rank;
        const tensor values = options.copies_values ? add(bytes(2) * shape.cells * rank) : tensor{};
        const std::int64_t limit = whole_mib(options.part_limit), all = whole_mib(rows_of(heads * shape.cells));
        const std::int64_t wanted = limit > 0 && all > limit ? ceil_quotient(all, limit) : 1;
        const std::int64_t part = ceil_quotient(heads, wanted < heads ? wanted : heads);
        tensor joined{};
        for (std::int64_t first = 0; first < heads; first += part) {
            const std::int64_t end = first + part < heads ? first + part : heads;
            const tensor scores = add_rows((end - first) * shape.cells);
            if (end == heads) free(queries);
            const tensor one = add_rows((end - first) * rank);
            free(scores);
            if (first == 0) {
                joined = one;
                continue;
            }
            const tensor more = add_rows(end * rank);
            free(joined);
            free(one);
            joined = more;
        }
        free(values);
        return joined;
    }
    /// A selective state space (llama.cpp: build_mamba2_layer, build_mamba_layer): the convolution's input joined with
    /// its state, its output, the scan's outputs with the new states, and the gate taken out of the projection. The
    /// first Mamba's projections of time step, B and C stand between.
    constexpr void scan(const graph_layer& l) {
        const recurrent& r = l.kind.recurrent;
        const bool first = r.kind == recurrent_kind::mamba;
        if (first) {
            at(operand_name::projected) = add_rows(2 * r.inner());
            free(operand_name::normed);
        }
        const std::int64_t channels = r.conv_channels();
        const byte_count kept = bytes(4) * channels * (r.kernel - 1) * shape.sequences;
        const byte_count scan_states = bytes(4) * r.inner() * r.state * shape.sequences;
        const tensor copied = options.writes.copies_states ? add(scan_states) : tensor{};
        const tensor state = add(kept);
        const tensor joined = add(rows_of(channels) + kept);
        free(state);
        const tensor convolved = add_rows(channels);
        free(joined);
        const tensor low = first ? add_rows(r.rank + 2 * r.state) : tensor{};
        const tensor part = first ? add_rows(r.rank) : tensor{};
        const tensor steps = add_rows(r.heads);
        free(part);
        const tensor scanned = add(rows_of(r.inner()) + scan_states);
        free(copied);
        free(steps);
        free(low);
        const tensor gate = add_rows(r.inner());
        free(operand_name::projected);
        const tensor skipped = first ? convolved : add_rows(r.inner());
        if (!first) free(convolved);
        free(scanned);
        at(operand_name::scanned) = add_rows(r.inner());
        free(gate);
        free(skipped);
        if (first) project(operand_name::scanned);
    }
    /// Attention's last product. Where rows are picked for the logits, all are, as the graph is laid out.
    constexpr void project(operand_name from) {
        const tensor output = add_rows(shape.hidden);
        free(from);
        pick_rows(output);
        at(operand_name::mixed) = output;
        picks_stream = true;
    }
    /// Prompts through latent attention that expands keys and values of the whole context (ik_llama.cpp:
    /// build_deepseek2 with -mla 2 or 3 and -fa). Of each part of the heads the fp32 product, its keys and values in 16
    /// bit and the keys joined with their rotary part are made; the mask is cast when it is first read.
    constexpr void attend_expanded(const graph_layer& l) {
        const attention& a = l.kind.attention;
        const std::int64_t heads = a.heads, cells = shape.cells;
        store_latent(a);
        const tensor queries = latent_queries(a);
        const std::int64_t part = heads_of_a_part(a, heads);
        const std::size_t parts = static_cast<std::size_t>(heads / part);
        std::array<tensor, most_parts> keys, values;  // set before they are read
        tensor rotary{}, joined{};
        constexpr bool window = false;  // all cells are read
        const auto read = [&](std::size_t i) {
            cast_mask(window);
            const tensor one = add_rows(part * a.value_width());
            if (i + 1 == parts) free(queries);
            free(keys[i]);
            free(values[i]);
            if (i + 1 == parts) free_mask(l);
            if (i == 0) {
                joined = one;
                return;
            }
            const tensor more = add_rows(part * a.value_width() * static_cast<std::int64_t>(i + 1));
            free(joined);
            free(one);
            joined = more;
        };
        for (std::size_t i = 0; i < parts; ++i) {
            const tensor both = add(product(a, part));
            const tensor key = add(bytes(2) * cells * part * a.head_dim);
            values[i] = add(bytes(2) * cells * part * a.value_width());
            free(both);
            if (i == 0) rotary = repeated_rotary(a, part);
            keys[i] = add(bytes(2) * cells * part * a.query_width());
            if (i + 1 == parts) free(rotary);
            free(key);
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
    /// The compressed keys and values, which go to the cache.
    constexpr void store_latent(const attention& a) {
        const tensor both = add_rows(a.kv_rank + a.rope_dim);
        const tensor rotated = add_rows(a.rope_dim);
        const tensor latent = add_rows(a.kv_rank);
        free(both);
        const tensor joined = add_rows(a.kv_rank + a.rope_dim);
        free(rotated);
        free(latent);
        free(joined);
    }
    /// Queries before their rotation; compressed ones are normed in their place.
    constexpr tensor plain_queries(const attention& a) {
        if (a.q_rank == 0) return add_rows(a.heads * a.query_width());
        const tensor low = add_rows(a.q_rank);
        const tensor made = add_rows(a.heads * a.query_width());
        free(low);
        return made;
    }
    constexpr tensor latent_queries(const attention& a) {
        const std::int64_t heads = a.heads;
        tensor input = at(operand_name::normed);
        at(operand_name::normed) = {};
        if (a.q_rank > 0) {
            const tensor low = add_rows(a.q_rank);
            free(input);
            input = add_rows(a.q_rank);
            free(low);
        }
        const tensor made = add_rows(heads * a.query_width());
        free(input);
        const tensor rotated = add_rows(heads * a.rope_dim);
        free_positions();
        const tensor joined = add_rows(heads * a.query_width());
        free(rotated);
        free(made);
        return joined;
    }
    /// The rotary part of all keys, once a head of the part.
    constexpr tensor repeated_rotary(const attention& a, std::int64_t part) {
        const tensor one = options.unpacked ? add(bytes(2) * shape.cells * a.rope_dim) : tensor{};
        const tensor repeated = add(bytes(2) * shape.cells * a.rope_dim * part);
        free(one);
        return repeated;
    }

    bool picks_stream = false;  ///< where logits are computed, the residual sum is of picked rows
};

}  // namespace llmres::inline v0::detail
