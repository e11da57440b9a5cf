// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/memory/serving/ggml/buffer.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/units.hpp>

/// The compute buffer of a graph whose tensors are many and large, laid out as ggml does it: tensor by tensor in the
/// order of the graph. Where a few tensors rule, the fuller half of a layer is enough (step.hpp); where latent
/// attention expands its keys and values, what lies between the others' holes decides. A plan takes 2 to 5 us with it,
/// and 15 where keys are expanded in many parts.
namespace llmres::inline v0::detail {

/// Where routed experts are computed, seen from one GPU.
enum class expert_place : std::uint8_t {
    here,       ///< where their weights are
    host,       ///< by the CPU
    copied,     ///< here, with weights that come from the host
    first_gpu,  ///< likewise, but not here: the scheduler gives such work to the first GPU
                ///< (ggml_backend_sched_backend_id_from_cur)
};
/// One GPU's part of a graph, layer after layer.
struct ggml_graph {
    std::int64_t tokens_at_once = 0;
    std::int64_t cells = 0;
    std::int64_t hidden = 0;
    bool flash = true;
    bool fused = false;  ///< norms with their weights, gates with their products, sums of experts (ik_llama.cpp; -fmoe)
    byte_count part_limit{};  ///< -amb
    bool all_parts = false;   ///< are made before the first of them is read
    bool unpacked = false;    ///< the cache is quantised, and its rotary part is unpacked first
    bool first = true;        ///< of the GPUs: it casts the mask, others get it in 16 bit
    std::int32_t turns = 1;   ///< copies of all inputs that are kept, where GPUs take turns
    ggml_buffer buffer{};

    using tensor = ggml_buffer::tensor;
    constexpr byte_count rows_of(std::int64_t width) const { return bytes(4) * tokens_at_once * width; }

    constexpr void begin() {
        const byte_count mask_size = bytes(flash && !first ? 2 : 4) * cells * tokens_at_once;
        mask_is_wide = flash && first;
        if (turns > 1) {  // what is kept is never freed
            for (std::int32_t i = 0; i < turns; ++i)
                buffer.add(rows_of(hidden)), buffer.add(rows_of(1)), buffer.add(mask_size);
            return;
        }
        residual = buffer.add(rows_of(hidden));
        positions = buffer.add(rows_of(1));
        mask = buffer.add(mask_size);
    }

    /// Attention with heads of its own, `heads` and `kv_heads` of them on this GPU. Ends with its output added to the
    /// residual. The GPU's `last` layer gives positions back, the model's last (`scored`) the mask as well.
    constexpr void attend(const attention& a, std::int64_t heads, std::int64_t kv_heads, bool norm_after, bool last,
                          bool scored) {
        const tensor input = buffer.add(rows_of(hidden));
        const tensor queries = projected(heads * a.query_width(), a.qk_norm != query_key_norm::none);
        const tensor keys = projected(kv_heads * a.query_width(), a.qk_norm != query_key_norm::none);
        if (last) buffer.free(positions);
        const tensor values = buffer.add(rows_of(kv_heads * a.value_width()));
        buffer.free(input);
        buffer.free(keys);
        buffer.free(values);
        tensor output{};
        if (flash) {
            cast_mask();
            output = buffer.add(rows_of(heads * a.value_width()));
            buffer.free(queries);
        } else {
            const tensor scores = buffer.add(rows_of(heads * cells));
            buffer.free(queries);
            const tensor by_heads = buffer.add(rows_of(heads * a.value_width()));
            buffer.free(scores);
            output = buffer.add(rows_of(heads * a.value_width()));
            buffer.free(by_heads);
        }
        if (scored) buffer.free(mask);
        project(output, norm_after, scored);
    }

    /// Prompts through latent attention that makes keys and values of the whole context again (ik_llama.cpp:
    /// build_deepseek2 with -mla 2 or 3 and -fa). Of each part of the heads the fp32 product, its keys and values in 16
    /// bit and the keys joined with their rotary part are made; the mask is cast when it is first read.
    constexpr void attend_expanded(const attention& a, std::int64_t heads, bool last, bool scored) {
        const tensor queries = latent_queries(store_latent(a), a, heads, last);
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
            if (i + 1 == parts && scored) buffer.free(mask);
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
            if (!all_parts) read(i);
        }
        for (std::size_t i = 0; all_parts && i < parts; ++i) read(i);
        project(joined, false, scored);
    }

    constexpr void feed_forward(std::int64_t width, bool norm_after) {
        add_to_residual(normed(gated(buffer.add(rows_of(hidden)), width), norm_after));
    }

    /// Routed experts. Those on the host are computed there, and their outputs come back; or stacks of their weights,
    /// of these sizes for the gate and for the way down, are copied to the first GPU, which hands others their sum.
    constexpr void route(const experts& e, expert_place place, byte_count gate = {}, byte_count down_stack = {}) {
        const tensor normed = buffer.add(rows_of(hidden));
        const tensor scores = buffer.add(rows_of(e.count));
        const tensor biased = e.score_bias ? buffer.add(rows_of(e.count)) : tensor{};
        const tensor order = buffer.add(rows_of(e.count));
        buffer.free(biased);
        const bool shared = e.shared_width > 0;
        tensor weights{}, made{};
        if (!fused) weights = weigh(e, scores);
        if (place == expert_place::host || place == expert_place::first_gpu) {
            if (!shared) buffer.free(normed);
            if (place == expert_place::host) made = buffer.add(rows_of(e.per_token * hidden));
        } else {
            const tensor inner = copied_gate(e, gate);
            if (!shared) buffer.free(normed);
            const tensor down = buffer.add(down_stack);
            made = buffer.add(rows_of(e.per_token * hidden));
            buffer.free(down);
            buffer.free(inner);
        }
        if (fused) weights = weigh(e, scores);
        buffer.free(order);
        buffer.free(weights);
        const tensor sum = buffer.add(rows_of(hidden));
        buffer.free(made);
        if (shared) buffer.free(gated(normed, e.shared_width));
        add_to_residual(sum);
    }

    constexpr void score(std::int64_t vocabulary) {
        if (fused) {
            const tensor normed = buffer.add(rows_of(hidden));
            buffer.free(residual);
            residual = normed;
        }
        buffer.add(rows_of(vocabulary));
        buffer.free(residual);
    }

    // What is alive between the calls.
    tensor residual{}, positions{}, mask{};
    bool mask_is_wide = false;

    // ---- within ----

    static constexpr std::size_t most_parts = 256;

    constexpr byte_count product(const attention& a, std::int64_t heads) const {
        return bytes(4) * cells * heads * (a.head_dim + a.value_width());
    }
    static constexpr std::int64_t whole_mib(byte_count b) { return b.in(bytes) >> 20; }

    /// The fewest parts whose product fits; halves of halves until 2026.
    constexpr std::int64_t heads_of_a_part(const attention& a, std::int64_t heads) const {
        const std::int64_t limit = whole_mib(part_limit);
        if (limit == 0) return heads;
        std::int64_t parts = 1;
        if (all_parts)
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
    /// Queries or keys, and what follows. A norm or a rotation that reads a view makes a tensor of its own
    /// (ggml-alloc.c: a view has no offset yet); the fused rotation takes its place.
    constexpr tensor projected(std::int64_t width, bool normed) {
        const tensor made = buffer.add(rows_of(width));
        if (!normed && fused) return made;
        const tensor after = buffer.add(rows_of(width));
        buffer.free(made);
        return after;
    }
    /// Attention's last product. Where rows are picked for the scores, all are, as the graph is laid out.
    constexpr void project(const tensor& attended, bool norm_after, bool scored) {
        tensor output = buffer.add(rows_of(hidden));
        buffer.free(attended);
        if (scored) {
            const tensor picked = buffer.add(rows_of(hidden));
            buffer.free(output);
            output = normed(picked, norm_after);
            const tensor other = buffer.add(rows_of(hidden));
            buffer.free(residual);
            residual = other;
        } else {
            output = normed(output, norm_after);
        }
        add_to_residual(output);
    }
    constexpr tensor normed(const tensor& output, bool wanted) {
        if (!wanted || !fused) return output;
        const tensor after = buffer.add(rows_of(hidden));
        buffer.free(output);
        return after;
    }
    constexpr void add_to_residual(const tensor& sum) {
        buffer.free(residual);
        residual = sum;
    }
    constexpr tensor gated(const tensor& input, std::int64_t width) {
        const tensor gate = buffer.add(rows_of(width)), up = buffer.add(rows_of(width));
        buffer.free(input);
        const tensor inner = joined_gate(gate, up, width);
        const tensor down = buffer.add(rows_of(hidden));
        buffer.free(inner);
        return down;
    }
    constexpr tensor joined_gate(const tensor& gate, const tensor& up, std::int64_t width) {
        if (!fused) {
            buffer.free(up);
            return gate;
        }
        const tensor both = buffer.add(rows_of(width));
        buffer.free(gate);
        buffer.free(up);
        return both;
    }
    /// Gate and up of routed experts: one operation that needs both stacks, or one after the other.
    constexpr tensor copied_gate(const experts& e, byte_count copied) {
        const std::int64_t width = e.per_token * e.width;
        const tensor first_stack = buffer.add(copied);
        if (fused) {
            const tensor second_stack = buffer.add(copied);
            const tensor inner = buffer.add(rows_of(width));
            buffer.free(first_stack);
            buffer.free(second_stack);
            return inner;
        }
        const tensor up = buffer.add(rows_of(width));
        buffer.free(first_stack);
        const tensor second_stack = buffer.add(copied);
        const tensor gate = buffer.add(rows_of(width));
        buffer.free(second_stack);
        buffer.free(gate);
        return up;
    }
    constexpr tensor weigh(const experts& e, const tensor& scores) {
        const tensor weights = buffer.add(rows_of(e.per_token));
        buffer.free(scores);
        buffer.free(buffer.add(rows_of(1)));  // their sum
        return weights;
    }

    /// The norm, and what goes to the cache.
    constexpr tensor store_latent(const attention& a) {
        const tensor normed = buffer.add(rows_of(hidden));
        const tensor both = buffer.add(rows_of(a.kv_rank + a.rope_dim));
        const tensor rotated = buffer.add(rows_of(a.rope_dim));
        const tensor latent = buffer.add(rows_of(a.kv_rank));
        buffer.free(both);
        const tensor joined = buffer.add(rows_of(a.kv_rank + a.rope_dim));
        buffer.free(rotated);
        buffer.free(latent);
        buffer.free(joined);
        return normed;
    }
    constexpr tensor latent_queries(tensor input, const attention& a, std::int64_t heads, bool last) {
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
        const tensor one = unpacked ? buffer.add(bytes(2) * cells * a.rope_dim) : tensor{};
        const tensor repeated = buffer.add(bytes(2) * cells * a.rope_dim * part);
        buffer.free(one);
        return repeated;
    }
};

}  // namespace llmres::inline v0::detail
