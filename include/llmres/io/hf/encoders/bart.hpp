// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/encoders/encoders.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// BART and its kin: encoders with decoders of one hidden size. A class that ends in ForCausalLM is the decoder alone,
/// which keeps the weights of its cross-attention.
namespace llmres::inline v0::detail::hf {

/// How a family departs from BART (transformers, src/transformers/models/*/modeling_*.py).
struct bart_form {
    std::int64_t vocabulary = 50265;   ///< in a nested object that does not say
    std::int64_t position_offset = 2;  ///< rows that a table of positions has more than positions
    bool embedding_norms = true;       ///< a norm after the embeddings of encoder and decoder
    bool final_norms = false;          ///< norms after the last layer of encoder and decoder
    bool attention_bias = true;        ///< projections of attention have biases
    bool key_bias = true;              ///< and so have those of keys
    bool untied_alone = false;         ///< the decoder alone has a head of its own
};

inline constexpr field_names decoder_layers_field{"decoder_layers", "num_decoder_layers"};
inline constexpr field_names encoder_layers_field{"encoder_layers", "num_encoder_layers"};
inline constexpr field_names decoder_heads_field{"decoder_attention_heads", "num_decoder_attention_heads"};
inline constexpr field_names encoder_heads_field{"encoder_attention_heads", "num_encoder_attention_heads"};

/// Encoder and decoder, each with its own layers, heads and feed-forward width; of a class that generates, the decoder.
inline model read_seq2seq(config_fields& c, const bart_form& form) {
    model m;
    m.vocabulary = c.number_nested("vocab_size", form.vocabulary, 1, most_features);
    m.hidden = feature_count(c, {"d_model", "hidden_size"});
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    const auto half = [&](const field_names& heads_name, const char* width_name) {
        const std::int64_t heads = read_head_count(c, heads_name, m.hidden);
        layer l = transformer_layer(heads, m.hidden, feature_count(c, width_name));
        l.attention.qkv_bias = l.attention.output_bias = form.attention_bias;
        if (!form.key_bias) l.attention.keys = key_projection::unbiased;
        return l;
    };
    if (is_architecture(c, "ForCausalLM")) {
        m.tied_head = m.tied_head && !form.untied_alone;
    } else {
        m.encoders[0] = {
            .hidden = m.hidden,
            .layers = static_cast<std::int32_t>(c.number(encoder_layers_field, 1, layer_stack::max_layers)),
            .block = half(encoder_heads_field, "encoder_ffn_dim")};
    }
    layer decoder = half(decoder_heads_field, "decoder_ffn_dim");
    decoder.attention.cross = cross_attention::beside;
    m.layers.append(static_cast<std::int32_t>(c.number(decoder_layers_field, 1, layer_stack::max_layers)), decoder);
    return m;
}

inline model read_bart_like(config_fields& c, const bart_form& form) {
    model m = read_seq2seq(c, form);
    const std::int64_t halves = m.encoders[0].layers > 0 ? 2 : 1;
    m.max_context = tokens(c.number_or("max_position_embeddings", 1024, 1, most_features - 2));
    m.add(positions(m.max_context.in(tokens) + form.position_offset, m.hidden, halves));
    if (form.embedding_norms) m.add({.role = weight_role::norm, .columns = m.hidden, .copies = 2 * halves});
    m.final_norm = form.final_norms ? norm_kind::layer : norm_kind::none;
    if (form.final_norms && halves == 2) m.add(layer_norm(m.hidden));
    add_classifier(c, m);
    return m;
}

inline model read_bart(config_fields& c) { return read_bart_like(c, {}); }
inline model read_mbart(config_fields& c) { return read_bart_like(c, {.final_norms = true}); }
inline model read_pegasus(config_fields& c) {
    return read_bart_like(c, {.position_offset = 0, .embedding_norms = false, .final_norms = true});
}
inline model read_blenderbot_small(config_fields& c) { return read_bart_like(c, {.position_offset = 0}); }
/// BigBird-Pegasus: attention without biases unless `use_bias` is true.
inline model read_bigbird_pegasus(config_fields& c) {
    return read_bart_like(c,
                          {.position_offset = 0, .attention_bias = c.flag_or("use_bias", false), .untied_alone = true});
}
/// Marian: stored sinusoids, no norms outside the layers; a bias of the head where it translates.
inline model read_marian(config_fields& c) {
    model m = read_bart_like(c, {.position_offset = 0, .embedding_norms = false});
    if (!c.flag_or("share_encoder_decoder_embeddings", true))
        c.fail(error_code::unsupported, "share_encoder_decoder_embeddings", "true");
    return m;
}
/// MVP: BART; its trained prompts are not described.
inline model read_mvp(config_fields& c) {
    refuse_flag(c, "use_prompt");
    return read_bart(c);
}

/// TrOCR's decoder, which reads the features of an image encoder in a config of its own.
inline model read_trocr(config_fields& c) {
    model m = read_seq2seq(c, {});
    m.encoders[0] = {};
    for (layer& l : m.layers.kinds)
        if (l.attention.heads > 0) l.cross_width = c.number_or("cross_attention_hidden_size", 0, 0, most_features);
    m.max_context = tokens(c.number_or("max_position_embeddings", 512, 1, most_features - 2));
    if (c.flag_or("use_learned_position_embeddings", true)) m.add(positions(m.max_context.in(tokens) + 2, m.hidden));
    if (c.flag_or("layernorm_embedding", true)) m.add(layer_norm(m.hidden));
    m.final_norm = norm_kind::none;
    return m;
}

/// ProphetNet: attention by n-grams, whose relative positions a linear layer predicts in every layer of the decoder;
/// norms after the embeddings, tables of positions, and embeddings of the n-grams.
inline model read_prophetnet(config_fields& c) {
    if (!c.flag_or("add_cross_attention", true))
        c.fail(error_code::unsupported, "add_cross_attention", "true: a decoder without it is not described");
    model m = read_seq2seq(c, {});
    const std::int64_t halves = m.encoders[0].layers > 0 ? 2 : 1;
    m.max_context = tokens(feature_count(c, "max_position_embeddings", 512));
    const std::int64_t buckets = feature_count(c, "num_buckets", 32);
    for (layer& l : m.layers.kinds)
        if (l.attention.heads > 0) l.more_values = buckets * l.attention.heads * (m.hidden + 1);
    m.add(positions(m.max_context.in(tokens), m.hidden, halves));
    m.add(positions(c.number_or("ngram", 2, 1, 64), m.hidden));
    m.add({.role = weight_role::norm, .columns = m.hidden, .copies = 2 * halves});
    m.final_norm = norm_kind::none;
    return m;
}

/// Whisper: two convolutions over the spectrogram, stored tables of positions, keys without bias.
inline model read_whisper(config_fields& c) {
    model m = read_seq2seq(c, {.vocabulary = 51865, .key_bias = false});
    const std::int64_t frames = feature_count(c, "max_source_positions", 1500);
    m.max_context = tokens(feature_count(c, "max_target_positions", 448));
    m.final_norm = norm_kind::layer;
    const std::int64_t bands = c.number_or("num_mel_bins", 80, 1, 65536);
    if (m.encoders[0].layers > 0) {
        m.encoders[0].output = tokens(frames);
        m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * bands});
        m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * m.hidden});
        m.add(positions(frames, m.hidden));
    }
    m.add(positions(m.max_context.in(tokens), m.hidden));
    if (m.encoders[0].layers > 0) m.add(layer_norm(m.hidden));
    return m;
}

}  // namespace llmres::inline v0::detail::hf
