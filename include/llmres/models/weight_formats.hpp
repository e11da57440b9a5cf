// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/parameters.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>

/// In which format is each weight of a checkpoint stored, and how many bytes follow?
namespace llmres::inline v0 {

namespace detail {

constexpr bool is_feed_forward(weight_role role) {
    return role == weight_role::gate_proj || role == weight_role::up_proj || role == weight_role::down_proj;
}

/// Of attention or of a feed-forward, the router apart.
constexpr bool is_layer_projection(weight_role role) {
    return role >= weight_role::q_proj && role <= weight_role::down_proj;
}

}  // namespace detail

/// The formats of weight_formats where they lie, which must last as long: small to hand on, and null where a checkpoint
/// makes no exception.
struct weight_format_view {
    const precision* matrices = &bf16;        ///< weight_formats::matrices
    const precision* rest = &bf16;            ///< weight_formats::rest
    const precision* attention = nullptr;     ///< weight_formats::attention
    const precision* feed_forward = nullptr;  ///< weight_formats::feed_forward
    const precision* experts_down = nullptr;  ///< weight_formats::experts_down
    const precision* head = nullptr;          ///< weight_formats::head
    const precision* embedding = nullptr;     ///< weight_formats::embedding
    std::uint64_t wide_roles = 0;             ///< weight_formats::wide_roles
    /// No projection is left in `rest`: a GGUF file quantises those, too, that the published checkpoint leaves wide
    /// (gpt-oss: attention).
    bool quantises_all = false;

    /// The format of a weight.
    constexpr const precision& of(const weight& w) const {
        if (w.fp32) return fp32;
        if (w.role == weight_role::lm_head && head) return *head;
        if (w.role == weight_role::embed_tokens && embedding) return *embedding;
        const bool quantised = w.quantised || (quantises_all && detail::is_layer_projection(w.role));
        if (!quantised || (wide_roles >> static_cast<unsigned>(w.role) & 1) != 0) return *rest;
        if (w.routed && w.role == weight_role::down_proj && experts_down) return *experts_down;
        if (detail::is_feed_forward(w.role)) return feed_forward && !w.routed ? *feed_forward : *matrices;
        return attention && w.role != weight_role::projector ? *attention : *matrices;
    }
};

/// The format of each weight of a checkpoint: of matrices inside the layers, of the rest, and of the exceptions that
/// quantised checkpoints make.
struct weight_formats {
    precision matrices = bf16;        ///< matrices inside the layers
    precision rest = bf16;            ///< everything else: embedding, head, norms, biases, routers
    maybe<precision> attention{};     ///< projections of attention and recurrences, if not as `matrices`
    maybe<precision> feed_forward{};  ///< dense feed-forwards and shared experts, if not as `matrices`
    maybe<precision> experts_down{};  ///< down projections of routed experts, if not as `matrices`
    maybe<precision> head{};          ///< the output head, if not as `rest`
    maybe<precision> embedding{};     ///< the token embedding, if not as `rest`
    std::uint64_t wide_roles = 0;     ///< one bit for each weight_role: matrices of these roles are in `rest`

    /// These formats by reference.
    constexpr weight_format_view view() const& {
        return {&matrices,
                &rest,
                pointer_to(attention),
                pointer_to(feed_forward),
                pointer_to(experts_down),
                pointer_to(head),
                pointer_to(embedding),
                wide_roles};
    }
    weight_format_view view() const&& = delete;  // it refers to them
    /// The format of a weight.
    constexpr const precision& of(const weight& w) const { return view().of(w); }
};

namespace detail {

constexpr weight_formats copy_of(const weight_format_view& v) {
    const auto one = [](const precision* p) { return p ? maybe<precision>{*p} : maybe<precision>{}; };
    return {*v.matrices,         *v.rest,     one(v.attention), one(v.feed_forward),
            one(v.experts_down), one(v.head), one(v.embedding), v.wide_roles};
}

/// formats_for(), by reference.
constexpr weight_format_view view_for(const precision& weights, const precision& wide) {
    weight_format_view formats{.matrices = &weights, .rest = is_wide(weights) ? &weights : &wide};
    if (weights.name.starts_with("mlx_")) formats.head = formats.embedding = &weights;
    return formats;
}

/// formats_of(), by reference.
constexpr weight_format_view view_of(const model& m, const precision& weights, const precision& wide) {
    weight_format_view formats = view_for(weights, wide);
    if (!m.mixed.any()) return formats;
    formats.attention = pointer_to(m.mixed.attention);
    formats.feed_forward = pointer_to(m.mixed.feed_forward);
    formats.experts_down = pointer_to(m.mixed.experts_down);
    formats.head = pointer_to(m.mixed.head);
    formats.wide_roles = m.mixed.wide_roles;
    return formats;
}

}  // namespace detail

/// The formats of a checkpoint in one format. A 16-bit or wider one holds all weights; a quantised one keeps embedding,
/// head, norms and routers in `wide`. (MLX quantises embedding and head as well: mlx.nn.quantize.)
constexpr weight_formats formats_for(const precision& weights, const precision& wide = bf16) {
    return detail::copy_of(detail::view_for(weights, wide));
}

/// The formats of a checkpoint whose matrices are in `weights` and what is not quantised in `wide`, with the exceptions
/// that the published one makes.
constexpr weight_formats formats_of(const model& m, const precision& weights, const precision& wide) {
    return detail::copy_of(detail::view_of(m, weights, wide));
}
/// The formats of the published checkpoint.
constexpr weight_formats formats_of(const model& m) { return formats_of(m, m.weights, m.mixed.rest.value_or(bf16)); }

/// Bytes of all copies of a weight.
constexpr byte_count size_of(const weight& w, const weight_format_view& formats) {
    return size_of(formats.of(w), w.rows, w.columns) * w.copies;
}
/// Bytes of all copies of a weight.
constexpr byte_count size_of(const weight& w, const weight_formats& formats) { return size_of(w, formats.view()); }
/// Bytes of the weights of a model, as count_parameters() counts them.
constexpr byte_count weight_bytes(const model& m, const weight_formats& formats) {
    byte_count total;
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { total += size_of(w, formats) * layers; });
    return total;
}

/// Bytes of all tensors that the published file holds, prediction layers and pretraining heads included.
constexpr byte_count stored_bytes(const model& m, const weight_formats& formats) {
    byte_count total = weight_bytes(m, formats);
    for_each_prediction_weight(m, [&](const weight& w) { total += size_of(w, formats) * m.prediction.layers; });
    for_each_apart_weight(m, [&](const weight& w) { total += size_of(w, formats); });
    return total;
}

/// Scales that the published file holds beside fp8 or int8 values. Totals that repositories publish count them or not;
/// count_parameters() never does. Zero for formats that pack several values into a word.
constexpr parameter_count count_scales(const model& m, const weight_formats& formats) {
    parameter_count total;
    const auto add = [&](const weight& w, std::int64_t layers) {
        const precision& format = formats.of(w);
        if (format.parts[0].rows != 1 || format.parts[0].columns != 1) return;
        std::int64_t elements = format.tensor_bytes / 4;
        for (std::size_t part = 1; part < format.parts.size() && format.parts[part].bytes != 0; ++part) {
            precision alone{};
            alone.parts[0] = format.parts[part];
            elements += size_of(alone, w.rows, w.columns).in(bytes) / format.parts[part].bytes;
        }
        total += parameters(elements) * w.copies * layers;
    };
    for_each_weight(m, add);
    for_each_prediction_weight(m, [&](const weight& w) { add(w, m.prediction.layers); });
    return total;
}

}  // namespace llmres::inline v0
