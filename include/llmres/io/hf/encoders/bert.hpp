// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/encoders/encoders.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// BERT and its kin: encoders of text, and the classes that generate text with them.
namespace llmres::inline v0::detail::hf {

/// How a family departs from BERT (transformers, src/transformers/models/*/modeling_*.py).
struct bert_form {
    std::int64_t types = 2;      ///< token types where the file does not say
    bool norm_first = false;     ///< norms before attention and feed-forward, and one after the last layer
    bool embedding_norm = true;  ///< a norm of the embeddings
    bool next_sentence = false;  ///< pretraining predicts the next sentence
    bool always_pools = false;   ///< the class that generates has the pooler as well
    bool after_padding = false;  ///< positions begin behind the padding token's (create_position_ids_from_input_ids)
};

/// Whether the file was saved from a class that predicts the next token.
inline bool generates(config_fields& c) {
    return is_architecture(c, "ForCausalLM") || is_architecture(c, "LMHeadModel") ||
           is_architecture(c, "BertGenerationDecoder");
}

inline extra_weight head_transform(std::int64_t width, std::int64_t hidden, model_part part) {
    return {.role = weight_role::classifier, .part = part, .bias = true, .rows = width, .columns = hidden};
}

/// The heads of BERT's kin: of the class that generates, part of the model; of pretraining, weights of their own in the
/// file.
inline void add_bert_heads(config_fields& c, model& m, const bert_form& form) {
    const bool generating = generates(c);
    if (!generating || form.always_pools) m.add(head_transform(m.hidden, m.hidden, model_part::output));
    if (generating) {
        m.head.bias = true;
        m.add(head_transform(m.hidden, m.hidden, model_part::output));
        m.add(layer_norm(m.hidden, model_part::output));
    } else if (is_architecture(c, "ForMaskedLM") || is_architecture(c, "ForPreTraining")) {
        m.add(head_transform(m.hidden, m.hidden, model_part::apart));
        m.add(layer_norm(m.hidden, model_part::apart));
        m.add({.role = weight_role::bias, .part = model_part::apart, .columns = m.vocabulary});
        if (form.next_sentence) m.add(head_transform(2, m.hidden, model_part::apart));
    }
    add_classifier(c, m);
}

/// The frame of BERT's kin, and their layers. Cross-attention that some classes can have is not described.
inline model read_bert_frame(config_fields& c, const bert_form& form) {
    model m = read_frame(c);
    m.tied_head = true;
    m.final_norm = form.norm_first ? norm_kind::layer : norm_kind::none;
    const std::int64_t heads = read_head_count(c, heads_field, m.hidden);
    refuse_flag(c, "add_cross_attention");
    return stack_of(c, m, transformer_layer(heads, m.hidden, feature_count(c, width_field)));
}

/// Embeddings of positions and token types, `width` features wide, and their norm.
inline void add_bert_embeddings(config_fields& c, model& m, const bert_form& form, std::int64_t width) {
    m.add(positions(feature_count(c, context_field, 512), width));
    const std::int64_t types = c.number_or("type_vocab_size", form.types, 0, 1024);
    if (types > 0) m.add(positions(types, width));
    if (form.embedding_norm) m.add(layer_norm(width));
}

inline model read_bert_like(config_fields& c, const bert_form& form) {
    model m = read_bert_frame(c, form);
    add_bert_embeddings(c, m, form, m.hidden);
    add_bert_heads(c, m, form);
    const token_count before = tokens(form.after_padding ? c.number_or("pad_token_id", 1, -1, 1 << 24) + 1 : 0);
    if (before < m.max_context) m.max_context -= before;
    return m;
}

inline model read_bert(config_fields& c) { return read_bert_like(c, {.next_sentence = true}); }
inline model read_roberta(config_fields& c) { return read_bert_like(c, {.after_padding = true}); }
inline model read_megatron_bert(config_fields& c) {
    return read_bert_like(c, {.norm_first = true, .embedding_norm = false, .next_sentence = true});
}
inline model read_roberta_prelayernorm(config_fields& c) {
    return read_bert_like(c, {.norm_first = true, .after_padding = true});
}
inline model read_xlm_roberta_xl(config_fields& c) {
    return read_bert_like(c, {.types = 1, .norm_first = true, .embedding_norm = false, .after_padding = true});
}
inline model read_big_bird(config_fields& c) {
    model m = read_bert_like(c, {.next_sentence = true, .always_pools = true});
    const bool bias = c.flag_or("use_bias", true);
    for (layer& l : m.layers.kinds) l.attention.qkv_bias = bias;
    return m;
}
/// BertGeneration: no token types; its decoder's head is the embedding and a bias.
inline model read_bert_generation(config_fields& c) {
    model m = read_bert_frame(c, {});
    add_bert_embeddings(c, m, {.types = 0}, m.hidden);
    if (generates(c)) m.head.bias = true;
    return m;
}

/// ERNIE of 2019: BERT, with an embedding of tasks where `use_task_id` is true.
inline model read_ernie(config_fields& c) {
    model m = read_bert(c);
    const std::int64_t tasks = c.number_or("task_type_vocab_size", 3, 1, 1024);
    if (c.flag_or("use_task_id", false)) m.add(positions(tasks, m.hidden));
    return m;
}

/// ELECTRA: embeddings of a width of their own, projected with biases. Where they are narrower than the model, only the
/// class that generates is described.
inline model read_electra(config_fields& c) {
    model m = read_bert_frame(c, {});
    const std::int64_t width = feature_count(c, "embedding_size", 128);
    add_bert_embeddings(c, m, {}, width);
    if (!generates(c)) {
        constexpr field_names saved_from{"architectures"};
        c.fail(error_code::unsupported, saved_from, "ElectraForCausalLM: other heads of ELECTRA are not described");
        return m;
    }
    if (width != m.hidden) {
        m.embedding_width = width;  // the head's linear layer is the projection back
        m.add({.role = weight_role::bias, .columns = m.hidden});
        m.add({.role = weight_role::bias, .part = model_part::output, .columns = width});
    } else {
        m.add(head_transform(width, m.hidden, model_part::output));
    }
    m.add(layer_norm(width, model_part::output));
    m.head.bias = true;
    return m;
}

/// RoCBert: embeddings of pronunciation and shape, concatenated with those of tokens and mapped to the hidden size.
inline model read_roc_bert(config_fields& c) {
    model m = read_bert(c);
    std::int64_t joined = m.hidden;
    const auto embed = [&](const char* enabled, const char* rows, std::int64_t usual_rows, const char* columns,
                           std::int64_t usual_columns) {
        const std::int64_t count = feature_count(c, rows, usual_rows);
        const std::int64_t width = feature_count(c, columns, usual_columns);
        m.add(positions(count, width));  // which the class makes in any case
        if (c.flag_or(enabled, true)) joined += width;
    };
    embed("enable_pronunciation", "pronunciation_vocab_size", 910, "pronunciation_embed_dim", 768);
    embed("enable_shape", "shape_vocab_size", 24858, "shape_embed_dim", 512);
    if (c.flag_or("concat_input", true))
        m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = joined});
    return m;
}

/// Nomic's BERT: rotary positions alone, no pooler, and a gated feed-forward without biases; in its second version one
/// without a gate that has biases, or in every `moe_every_n_layers`-th layer experts that share one bias of their
/// output. From the code in its repositories (modeling_hf_nomic_bert.py) and transformers' class.
inline model read_nomic_bert(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = true;
    m.final_norm = norm_kind::none;
    refuse_flag(c, "prenorm");
    refuse_flag(c, "parallel_block");
    layer l = transformer_layer(read_head_count(c, heads_field, m.hidden), m.hidden, feature_count(c, width_field));
    const std::string_view activation = c.text_or("activation_function", "swiglu");
    if (activation == "swiglu" || activation == "geglu" || activation == "glu")
        l.feed_forward.kind = feed_forward_kind::gated;
    l.attention.qkv_bias = l.attention.output_bias = c.flag_or("qkv_proj_bias", false);
    l.feed_forward.bias = c.flag_or("mlp_fc1_bias", false);
    if (c.flag_or("mlp_fc2_bias", l.feed_forward.bias) != l.feed_forward.bias)
        c.fail(error_code::unsupported, "mlp_fc2_bias", "the value of mlp_fc1_bias");
    layer routed = l;
    experts& e = routed.feed_forward.experts;
    e.count = c.number_or("num_experts", 0, 0, most_heads);
    e.per_token = c.number_or("moe_top_k", 1, 1, most_heads);
    e.width = l.feed_forward.width;
    routed.feed_forward.width = 0;
    routed.feed_forward.bias = false;
    routed.more_values = m.hidden;
    const std::int64_t period = e.count > 0 ? c.number("moe_every_n_layers", 2, layer_stack::max_layers) : 2;
    read_layers(c, m, layer_count(c), [&](std::int64_t i) { return e.count > 0 && i % period == 1 ? routed : l; });
    const std::int64_t types = c.number_or("type_vocab_size", 2, 0, 1024);
    if (types > 0) m.add(positions(types, m.hidden));
    m.add(layer_norm(m.hidden));
    return m;
}

/// RoFormer: rotary positions from a stored table as wide as a head.
inline model read_roformer(config_fields& c) {
    model m = read_bert_frame(c, {});
    if (feature_count(c, "embedding_size", m.hidden) != m.hidden)
        c.fail(error_code::unsupported, "embedding_size", "the hidden size");
    const std::int64_t rows = feature_count(c, context_field, 1536);
    m.add(positions(rows, m.layers[0].attention.head_dim));
    m.add(positions(c.number_or("type_vocab_size", 2, 1, 1024), m.hidden));
    m.add(layer_norm(m.hidden));
    if (!generates(c) && !is_architecture(c, "ForMaskedLM")) return m;
    m.add(head_transform(m.hidden, m.hidden, model_part::output));
    m.add(layer_norm(m.hidden, model_part::output));
    m.head.bias = true;
    return m;
}

/// X-MOD: RoBERTa with an adapter of two linear layers a language in every layer.
inline model read_xmod(config_fields& c) {
    const bool first = c.flag_or("pre_norm", false);
    model m = read_bert_like(c, {.norm_first = first, .after_padding = true});
    const nlohmann::json* languages = c.list("languages");
    const std::int64_t count = languages != nullptr ? static_cast<std::int64_t>(languages->size()) : 1;
    const std::int64_t narrow = m.hidden / c.number_or("adapter_reduction_factor", 2, 1, 1024);
    const std::int64_t norms = c.flag_or("adapter_layer_norm", false) ? 1 : 0;
    for (layer& l : m.layers.kinds)
        l.more_values = count * (2 * m.hidden * narrow + narrow + m.hidden + norms * 2 * m.hidden);
    return m;
}

/// DistilBERT: fields of its own names, no token types, no pooler.
inline model read_distilbert(config_fields& c) {
    model m;
    m.vocabulary = feature_count(c, "vocab_size");
    m.hidden = feature_count(c, "dim");
    m.max_context = tokens(feature_count(c, context_field, 512));
    m.tied_head = true;
    m.final_norm = norm_kind::none;
    m.add(positions(m.max_context.in(tokens), m.hidden));
    m.add(layer_norm(m.hidden));
    const std::int64_t heads = read_head_count(c, "n_heads", m.hidden);
    return stack_of(c, m, transformer_layer(heads, m.hidden, feature_count(c, "hidden_dim")));
}

/// XLM: BERT without token types; its head is the embedding and a bias.
inline model read_xlm(config_fields& c) {
    model m;
    m.vocabulary = feature_count(c, {"n_words", "vocab_size"});
    m.hidden = feature_count(c, "emb_dim");
    m.max_context = tokens(feature_count(c, context_field, 512));
    m.tied_head = true;
    m.head.bias = is_architecture(c, "LMHeadModel");
    m.final_norm = norm_kind::none;
    m.add(positions(m.max_context.in(tokens), m.hidden));
    const std::int64_t languages = c.number_or("n_langs", 1, 1, 65536);
    if (languages > 1 && c.flag_or("use_lang_emb", true)) m.add(positions(languages, m.hidden));
    m.add(layer_norm(m.hidden));
    const std::int64_t heads = read_head_count(c, "n_heads", m.hidden);
    return stack_of(c, m, transformer_layer(heads, m.hidden, 4 * m.hidden));
}

/// XLNet: attention with a projection of relative positions, and biases of its own for content, position and segment.
inline model read_xlnet(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = true;
    m.head.bias = is_architecture(c, "LMHeadModel");
    m.final_norm = norm_kind::none;
    const std::int64_t heads = c.number(heads_field, 1, most_heads);
    layer l = transformer_layer(heads, m.hidden, feature_count(c, "d_inner"));
    attention& a = l.attention;
    a.head_dim = c.number_or("d_head", a.head_dim, 1, most_heads);
    a.qkv_bias = a.output_bias = false;
    l.more_values = (m.hidden + 5) * heads * a.head_dim;  // r; three biases; embeddings of two segments
    m.add({.role = weight_role::values, .columns = m.hidden});
    return stack_of(c, m, l);
}

}  // namespace llmres::inline v0::detail::hf
