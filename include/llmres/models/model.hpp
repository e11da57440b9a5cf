// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/format_families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// What is a model? Its embedding, its layers, its head, and what stands beside them. Dimensions are plain integers
/// (features, heads, experts); everything countable about a model follows from them (models/parameters.hpp,
/// models/kv_cache.hpp, inventory/activation.hpp, inventory/operations.hpp).
namespace llmres::inline v0 {

/// What a weight is for, named as in Hugging Face's modules.
enum class weight_role : std::uint8_t {
    embed_tokens,  ///< token embedding
    q_proj,        ///< query projection
    k_proj,        ///< key projection
    v_proj,        ///< value projection
    o_proj,        ///< output projection of attention
    q_a_proj,      ///< latent attention: compresses the query
    q_b_proj,      ///< latent attention: expands the query to heads
    kv_a_proj,     ///< latent attention: compresses keys and values, and projects the shared key's position part
    kv_b_proj,     ///< latent attention: expands keys and values to heads
    gate_proj,     ///< gate of a gated feed-forward
    up_proj,       ///< first matrix of a feed-forward
    down_proj,     ///< last matrix of a feed-forward
    router,        ///< chooses experts
    shared_gate,   ///< gate of the shared experts
    bias,          ///< biases of linear layers
    norm,          ///< weights and biases of norms
    lm_head,       ///< output head
    in_proj,       ///< recurrences: projection to the inner channels
    out_proj,      ///< recurrences: projection back to the hidden features
    conv,          ///< convolutions over time, and stems of encoders
    state,         ///< decay, step and skip of a recurrence
    attn_gate,     ///< gate on attention's output
    indexer,       ///< sparse attention: chooses the tokens to read
    positions,     ///< learned positions, token types, class tokens, attention biases by distance
    projector,     ///< from the features of one part to those of another
    classifier,    ///< poolers, and heads for tasks
    values,        ///< scales, gates and sinks, which are no matrices
};
/// The names of the roles, in their order.
template <>
inline constexpr std::array<std::string_view, 27> names_of<weight_role>{
    "embed_tokens", "q_proj",    "k_proj",    "v_proj",    "o_proj",     "q_a_proj", "q_b_proj",
    "kv_a_proj",    "kv_b_proj", "gate_proj", "up_proj",   "down_proj",  "router",   "shared_gate",
    "bias",         "norm",      "lm_head",   "in_proj",   "out_proj",   "conv",     "state",
    "attn_gate",    "indexer",   "positions", "projector", "classifier", "values"};

static_assert(names_of<weight_role>.size() <= 64, "one bit for each role");

/// Where in a model a tensor outside the layers stands.
enum class model_part : std::uint8_t {
    input,   ///< before the layers: positions, patches, stems and projectors of vision towers
    output,  ///< after the layers: poolers
    apart,   ///< in the published file, but in no count of the model: pretraining heads
};

/// Tensors of one shape outside the layers.
struct extra_weight {
    weight_role role = weight_role::values;  ///< what they are for
    model_part part = model_part::input;     ///< where they are
    bool bias = false;                       ///< each has a bias for every row
    std::int64_t rows = 1;                   ///< output features of one
    std::int64_t columns = 1;                ///< input features of one
    std::int64_t copies = 1;                 ///< how many there are
};

/// How an image's processor resizes what is not as large as the largest image.
enum class image_resize : std::uint8_t {
    to_largest,  ///< to the largest, or by a rule that is not described: each counts as the largest
    to_area,     ///< sides to multiples of a token's, within bounds of the area (Qwen)
    to_edge,     ///< only what is longer than the longest side is scaled (Pixtral)
};

/// A second stack of equal layers, whose output the decoder reads: a text or audio encoder, a vision tower. Its stem,
/// positions and projector are `extras` of the model.
struct encoder {
    std::int64_t hidden = 0;  ///< features of its residual stream
    std::int32_t layers = 0;  ///< how many layers; 0: there is no encoder
    layer block{};            ///< each of its layers
    bool quantised = true;    ///< quantised checkpoints quantise it too; vision towers they do not
    /// Tokens that it outputs for one input (an image, 30 s of audio); 0: as many as go in, or unknown.
    token_count output{};
    token_count image_patches{};  ///< patches of the largest image that its processor allows; 0: unknown
    token_count image_tokens{};   ///< tokens of that image that the decoder reads
    /// How its processor resizes smaller images (models/images.hpp).
    image_resize resize = image_resize::to_largest;
    token_count least_image_tokens{};  ///< tokens of the smallest image, to which smaller ones are scaled up
    std::int32_t windowed_layers = 0;  ///< layers in which a patch sees its window alone, not all of its image
    token_count window_patches{};      ///< patches of such a window
    /// Coordinates by which the decoder's layers rotate the tokens of an image: 1 as those of text, or 3 where frame,
    /// row and column are rotated apart (Qwen's M-RoPE, mrope_section).
    std::int32_t position_axes = 1;
};

/// Multi-token prediction: layers of their own that predict tokens further ahead (DeepSeek-V3 report, section 2.2).
/// They are counted apart from the model.
struct prediction {
    std::int32_t layers = 0;     ///< depths of prediction; 0: none
    layer block{};               ///< the layer of one depth
    std::int32_t norms = 0;      ///< norms of the hidden width beside the block's own, for each depth
    bool own_embedding = false;  ///< the file stores a copy of the embedding
    bool own_head = false;       ///< the file stores a copy of the head
};

/// Vectors of fp32 rotary factors that llama.cpp's converter makes of a config's `rope_scaling` and stores, though no
/// checkpoint has them: one (`rope_freqs`) for Llama 3.1's scaling, two (`rope_factors_long`, `rope_factors_short`) for
/// LongRoPE, each as wide as half the rotated part of a head. Not counted: they are no parameters.
struct rope_factors {
    std::int32_t vectors = 0;  ///< vectors in a GGUF file
    std::int32_t width = 0;    ///< elements of each
    /// Rows of the runtime's position tables, in multiples of the context: more than 1 where positions are scaled
    /// linearly.
    std::int32_t contexts = 1;
};

/// What a model makes of the last layer's output, and so whether tokens of earlier steps are ever read again.
enum class head_kind : std::uint8_t {
    next_token,  ///< generates: the next token is predicted from keys and values that are cached
    pooled,      ///< a decoder that embeds or scores a whole text: each token sees those before it, none is generated
    encoder,     ///< every token or patch sees all others: nothing is generated, and no runtime caches anything
    masked_lm,   ///< an encoder that predicts the tokens that are masked, as it was pretrained
};
/// The names of the kinds, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<head_kind>{"next_token", "pooled", "encoder", "masked_lm"};

/// The end of a model.
struct output_head {
    bool bias = false;                       ///< the output head has a bias
    head_kind kind = head_kind::next_token;  ///< what it is for
};

/// The format of the cache that a checkpoint is calibrated for: its files have the scales.
struct calibrated_cache {
    cache_calibrator by = cache_calibrator::none;  ///< the tool that calibrated it
    precision format = bf16;                       ///< format of its keys and values
};

/// Weights that a checkpoint stores in other formats than `weights`. What it does not quantise in a layer is
/// `layer::quantised`.
struct mixed_formats {
    maybe<precision> attention{};     ///< projections of attention and recurrences
    maybe<precision> feed_forward{};  ///< dense feed-forwards and shared experts
    /// Down projections of routed experts, which recipes for GGUF files keep in more bits.
    maybe<precision> experts_down{};
    maybe<precision> head{};       ///< the output head, which otherwise is not quantised
    maybe<precision> rest{};       ///< what is not quantised, where that is not in 16 bits
    std::uint64_t wide_roles = 0;  ///< one bit for each weight_role: matrices of these roles are not quantised
    calibrated_cache cache{};      ///< format of the cache that its files are calibrated for

    /// True if a weight departs from `weights`.
    constexpr bool any() const { return attention || feed_forward || experts_down || head || rest || wide_roles != 0; }
};

/// A language model, or an encoder: tokens (or patches) in, layers, head.
struct model {
    static constexpr std::size_t max_encoders = 2;  ///< encoders at most
    static constexpr std::size_t max_extras = 32;   ///< extra weights at most

    text<63> name{};              ///< its id: "llama-3.1-8b"
    text<31> architecture{};      ///< the family, Hugging Face's `model_type`
    std::int64_t vocabulary = 0;  ///< rows of the token embedding; 0: it reads no tokens (a vision model)
    /// Rows of the embedding in a GGUF file, where the rows without a token are cut off; 0: all.
    std::int64_t tokenizer = 0;
    std::int64_t hidden = 0;                ///< features of the residual stream
    layer_stack layers{};                   ///< its layers, in order
    token_count max_context{};              ///< tokens of the longest sequence it was trained for; 0: unknown
    rope_factors rope{};                    ///< rotary factors in GGUF files
    bool tied_head = false;                 ///< the output head is the token embedding, or there is no head
    output_head head{};                     ///< what is made of the last layer's output
    norm_kind final_norm = norm_kind::rms;  ///< the norm after the last layer
    /// Features of the token embedding, with projections to and from hidden; 0: hidden.
    std::int64_t embedding_width = 0;
    precision weights = bf16;                      ///< format of the published linear weights
    mixed_formats mixed{};                         ///< weights that are published in other formats
    maybe<parameter_count> published{};            ///< the publisher's total, which count_parameters() is compared with
    std::array<encoder, max_encoders> encoders{};  ///< encoders and vision towers
    llmres::prediction prediction{};               ///< layers that predict further tokens
    /// Tensors outside the layers; the first `extra_count` are in use.
    std::array<extra_weight, max_extras> extras{};
    std::int32_t extra_count = 0;  ///< extra weights in use
    /// No formula describes it: layers and formats were read from the tensors that its files store.
    bool from_tensors = false;

    /// Tensors outside the layers.
    constexpr std::span<const extra_weight> extra_weights() const {
        return {extras.data(), static_cast<std::size_t>(extra_count)};
    }
    /// Adds tensors outside the layers; false if there is no room.
    constexpr bool add(const extra_weight& extra) {
        if (extra_count == static_cast<std::int32_t>(max_extras)) return false;
        extras[static_cast<std::size_t>(extra_count++)] = extra;
        return true;
    }
};

/// A model of the same shape under another name: a distillation, a finetune. Its published total is unknown.
constexpr model renamed(model m, std::string_view name) {
    m.name = name;
    m.published = {};
    return m;
}

/// The model with the head that its encoder was pretrained with, which predicts masked tokens, in place of the pooler:
/// transformers' ForMaskedLM. Nothing if its publisher's files hold no such head.
constexpr maybe<model> with_masked_lm_head(model m) {
    bool found = false;
    std::int32_t kept = 0;
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        extra_weight e = m.extras[static_cast<std::size_t>(i)];
        const bool transforms = e.role == weight_role::classifier && e.rows == m.hidden;
        const bool pools = e.role == weight_role::classifier && e.part == model_part::output;
        const bool next_sentence = e.part == model_part::apart && e.role == weight_role::classifier && !transforms;
        if (pools || next_sentence) continue;
        if (e.part == model_part::apart && e.role == weight_role::bias) {
            m.head.bias = true;
            continue;
        }
        found = found || (e.part == model_part::apart && transforms);
        if (e.part == model_part::apart) e.part = model_part::output;
        m.extras[static_cast<std::size_t>(kept++)] = e;
    }
    for (std::int32_t i = kept; i < m.extra_count; ++i) m.extras[static_cast<std::size_t>(i)] = {};
    m.extra_count = kept;
    m.published = {};
    m.head.kind = head_kind::masked_lm;
    return found ? maybe<model>{m} : maybe<model>{};
}

/// Whether a model predicts tokens one after another. One that does not, embeds, scores or classifies its whole input.
constexpr bool generates(const model& m) { return m.head.kind == head_kind::next_token; }

/// Rows of the head that scores tokens: the vocabulary of a model that predicts some, else 0.
constexpr std::int64_t scored_vocabulary(const model& m) {
    return generates(m) || m.head.kind == head_kind::masked_lm ? m.vocabulary : 0;
}

/// Whether the head that scores tokens is the token embedding.
constexpr bool shares_embedding(const model& m) { return m.tied_head && scored_vocabulary(m) > 0; }

/// A decoder without its head, which embeds or scores texts.
constexpr model pooled(model m) {
    if (generates(m)) m.head.kind = head_kind::pooled;
    m.tied_head = true;
    m.published = {};
    return m;
}

/// Whether tensors after the layers score the classes of a whole input. (A square one transforms what they read.)
constexpr bool scores_classes(const model& m, const extra_weight& e) {
    return e.role == weight_role::classifier && e.part == model_part::output && e.rows != m.hidden;
}

/// Classes that a model scores of a whole input; 0: it is no classifier.
constexpr std::int64_t classes_of(const model& m) {
    for (const extra_weight& e : m.extra_weights())
        if (scores_classes(m, e)) return e.rows;
    return 0;
}

/// The model as a classifier of whole inputs, or with one class as a reranker or reward model: transformers'
/// ForSequenceClassification. A decoder's scores have no bias (modeling_layers.py: GenericForSequenceClassification).
constexpr model classifier(model m, std::int64_t classes) {
    m = pooled(m);
    for (extra_weight& e : m.extras)
        if (scores_classes(m, e)) return e.rows = classes, m;
    m.add({.role = weight_role::classifier,
           .part = model_part::output,
           .bias = m.head.kind == head_kind::encoder,
           .rows = classes,
           .columns = m.hidden});
    return m;
}

/// Features of the token embedding.
constexpr std::int64_t embedding_width_of(const model& m) {
    return m.embedding_width > 0 ? m.embedding_width : m.hidden;
}

/// Elements of the widest tensor that one token passes, in the decoder or in an encoder. A double, so that checks can
/// tell sizes that fit 64 bits from those that do not.
constexpr double widest_activation(const model& m);

/// Whether some layer routes tokens to experts.
constexpr bool has_experts(const model& m) {
    for (const layer& kind : m.layers.distinct())
        if (kind.feed_forward.routed()) return true;
    return false;
}

/// Whether some layer keeps a recurrent state.
constexpr bool has_recurrence(const model& m) {
    for (const layer& kind : m.layers.distinct())
        if (kind.recurrent.kind != recurrent_kind::none) return true;
    return false;
}
/// True if a layer caches latents in place of keys and values.
constexpr bool has_latent_attention(const model& m) {
    for (const layer& kind : m.layers.distinct())
        if (kind.attention.kind == attention_kind::latent) return true;
    return false;
}

/// Refuses dimensions that are zero or beyond any model, query heads that are no multiple of key-value heads, and more
/// experts for a token than there are.
constexpr status validate(const model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether a linear layer or a convolution adds a bias to its output.
enum class bias_term : bool { none, added };

/// Three orders of magnitude beyond any known model, and small enough that every product of two dimensions fits 63
/// bits.
inline constexpr std::int64_t widest = std::int64_t{1} << 24;

constexpr status validate(const attention& a, const compressed_keys& c) {
    if (const status s = all_in_range(bounded_field{"attention.q_rank", a.q_rank, 1, widest},
                                      bounded_field{"attention.compressed.ratio", c.ratio, 0, 65536},
                                      bounded_field{"attention.compressed.windows", c.windows, 1, 2},
                                      bounded_field{"attention.compressed.output_rank", c.output_rank, 1, 65536},
                                      bounded_field{"attention.compressed.output_groups", c.output_groups, 1, a.heads});
        !s)
        return s;
    if (a.heads % c.output_groups != 0)
        return refused(error_code::inconsistent, "attention.compressed.output_groups", c.output_groups,
                       "a divisor of attention.heads");
    return done{};
}

constexpr status validate(const attention& a) {
    if (a.kind == attention_kind::none) return done{};
    if (const status s = all_in_range(bounded_field{"attention.heads", a.heads, 1, 65536},
                                      bounded_field{"attention.head_dim", a.head_dim, 1, 65536},
                                      bounded_field{"attention.value_dim", a.value_dim, 0, 65536},
                                      bounded_field{"attention.rope_dim", a.rope_dim, 0, 65536},
                                      bounded_field{"attention.q_rank", a.q_rank, 0, widest},
                                      bounded_field{"attention.indexer.heads", a.indexer.heads, 0, 65536},
                                      bounded_field{"attention.indexer.head_dim", a.indexer.head_dim, 0, 65536},
                                      bounded_field{"attention.window", a.window.in(tokens), 0, std::int64_t{1} << 40});
        !s)
        return s;
    if (a.kind == attention_kind::latent) return in_range("attention.kv_rank", a.kv_rank, 1, widest);
    if (const status s = in_range("attention.kv_heads", a.kv_heads, 1, a.heads); !s) return s;
    if (a.heads % a.kv_heads != 0)
        return refused(error_code::inconsistent, "attention.kv_heads", a.kv_heads, "a divisor of attention.heads");
    if (a.kind == attention_kind::compressed) return validate(a, a.compressed);
    return done{};
}

constexpr status validate(const recurrent& r) {
    if (r.kind == recurrent_kind::none) return done{};
    return all_in_range(
        bounded_field{"recurrent.heads", r.heads, 1, widest}, bounded_field{"recurrent.head_dim", r.head_dim, 1, 65536},
        bounded_field{"recurrent.key_heads", r.key_heads, 0, 65536},
        bounded_field{"recurrent.state", r.state, 0, 65536}, bounded_field{"recurrent.rank", r.rank, 0, widest},
        bounded_field{"recurrent.kernel", r.kernel, 0, 65536}, bounded_field{"recurrent.chunk", r.chunk, 1, 65536});
}

constexpr status validate(const feed_forward& f) {
    if (f.kind == feed_forward_kind::none) return done{};
    if (!f.routed()) return in_range("feed_forward.width", f.width, 1, widest);
    return all_in_range(bounded_field{"experts.count", f.experts.count, 1, 65536},
                        bounded_field{"experts.per_token", f.experts.per_token, 1, f.experts.count},
                        bounded_field{"experts.width", f.experts.width, 1, widest},
                        bounded_field{"experts.idle", f.experts.idle, 0, 65536},
                        bounded_field{"experts.latent", f.experts.latent, 0, widest},
                        bounded_field{"experts.shared_width", f.experts.shared_width, 0, widest});
}

constexpr status validate(const layer& l) {
    if (const status s = validate(l.attention); !s) return s;
    if (const status s = validate(l.recurrent); !s) return s;
    if (const status s = validate(l.feed_forward); !s) return s;
    return all_in_range(bounded_field{"layer.more_norms", l.more_norms, 0, 64},
                        bounded_field{"layer.cross_width", l.cross_width, 0, widest},
                        bounded_field{"layer.streams", l.streams, 1, 64},
                        bounded_field{"layer.more_features", l.more_features, 0, widest},
                        bounded_field{"layer.more_values", l.more_values, 0, std::int64_t{1} << 32});
}

/// Elements of the widest tensor that one token passes in a layer.
constexpr double widest_activation(const layer& l, std::int64_t hidden) {
    const auto features = [](auto... n) { return (static_cast<double>(n) + ...); };
    double most = features(hidden);
    const auto consider = [&](double elements) { most = elements > most ? elements : most; };
    const attention& a = l.attention;
    consider(features(l.streams) * features(hidden));
    consider(features(a.heads) * features(a.query_width(), a.value_width()));
    if (a.kind == attention_kind::latent) consider(features(a.q_rank, a.kv_rank));
    if (a.indexer.heads > 0) consider(features(a.indexer.heads) * features(a.indexer.head_dim));
    const recurrent& r = l.recurrent;
    if (r.kind != recurrent_kind::none)
        consider(features(r.heads) * features(r.head_dim, r.state) + 2.0 * features(r.key_heads) * features(r.state));
    const feed_forward& f = l.feed_forward;
    if (!f.routed()) {
        consider(features(f.width, hidden));
        return most;
    }
    const experts& e = f.experts;
    consider(features(e.per_token) * features(f.width, e.width, e.shared_width, e.latent, hidden));
    consider(2.0 * features(e.count, e.idle));
    return most;
}

}  // namespace detail

constexpr double widest_activation(const model& m) {
    const std::int64_t ends = m.vocabulary > m.embedding_width ? m.vocabulary : m.embedding_width;
    double most = static_cast<double>(ends > m.hidden ? ends : m.hidden);
    const auto consider = [&](const layer& l, std::int64_t hidden) {
        const double elements = detail::widest_activation(l, hidden);
        most = elements > most ? elements : most;
    };
    for (const layer& kind : m.layers.distinct()) consider(kind, m.hidden);
    if (m.prediction.layers > 0) consider(m.prediction.block, m.hidden);
    for (const encoder& e : m.encoders)
        if (e.layers > 0) consider(e.block, e.hidden);
    for (const extra_weight& e : m.extra_weights()) {
        const double wider = static_cast<double>(e.rows > e.columns ? e.rows : e.columns);
        most = wider > most ? wider : most;
    }
    return most;
}

constexpr status validate(const model& m) {
    if (const status s = detail::all_in_range(
            detail::bounded_field{"vocabulary", m.vocabulary, m.tied_head ? 0 : 1, detail::widest},
            detail::bounded_field{"hidden", m.hidden, 1, detail::widest},
            detail::bounded_field{"layers", m.layers.size, 1, layer_stack::max_layers},
            detail::bounded_field{"embedding_width", m.embedding_width, 0, detail::widest},
            detail::bounded_field{"prediction.layers", m.prediction.layers, 0, layer_stack::max_layers},
            detail::bounded_field{"max_context", m.max_context.in(tokens), 0, std::int64_t{1} << 40});
        !s)
        return s;
    for (const layer& kind : m.layers.distinct())
        if (const status s = detail::validate(kind); !s) return s;
    if (m.prediction.layers > 0)
        if (const status s = detail::validate(m.prediction.block); !s) return s;
    for (const encoder& e : m.encoders) {
        if (e.layers == 0) continue;
        if (const status s = detail::all_in_range(
                detail::bounded_field{"encoder.layers", e.layers, 1, layer_stack::max_layers},
                detail::bounded_field{"encoder.hidden", e.hidden, 1, detail::widest},
                detail::bounded_field{"encoder.output", e.output.in(tokens), 0, std::int64_t{1} << 40},
                detail::bounded_field{"encoder.image_patches", e.image_patches.in(tokens), 0, std::int64_t{1} << 40},
                detail::bounded_field{"encoder.image_tokens", e.image_tokens.in(tokens), 0, std::int64_t{1} << 40},
                detail::bounded_field{"encoder.windowed_layers", e.windowed_layers, 0, e.layers},
                detail::bounded_field{"encoder.window_patches", e.window_patches.in(tokens), 0, std::int64_t{1} << 40});
            !s)
            return s;
        if (const status s = detail::validate(e.block); !s) return s;
    }
    for (const extra_weight& e : m.extra_weights()) {
        if (const status s = detail::all_in_range(detail::bounded_field{"extra.rows", e.rows, 1, detail::widest},
                                                  detail::bounded_field{"extra.columns", e.columns, 1, detail::widest},
                                                  detail::bounded_field{"extra.copies", e.copies, 1, 65536});
            !s)
            return s;
    }
    return done{};
}

}  // namespace llmres::inline v0
