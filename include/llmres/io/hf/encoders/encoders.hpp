// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Encoders (BERT, ViT and their like), and encoders with decoders (T5, BART, Whisper).
namespace llmres::inline v0::detail::hf {

/// A layer of the original transformer: biases everywhere, LayerNorms, a feed-forward without a gate.
inline layer transformer_layer(std::int64_t heads, std::int64_t hidden, std::int64_t width) {
    layer l;
    l.attention = {.heads = heads, .kv_heads = heads, .head_dim = heads > 0 ? hidden / heads : 0};
    l.attention.qkv_bias = l.attention.output_bias = true;
    l.feed_forward = {.kind = feed_forward_kind::plain, .width = width, .bias = true};
    l.norm = norm_kind::layer;
    return l;
}

/// Whether the file was saved from the class of that name.
inline bool is_architecture(config_fields& c, std::string_view suffix) {
    const nlohmann::json* names = c.list("architectures");
    if (names == nullptr) return false;
    for (const nlohmann::json& name : *names)
        if (const auto* text = name.get_ptr<const nlohmann::json::string_t*>())
            if (text->size() >= suffix.size() && std::string_view{*text}.substr(text->size() - suffix.size()) == suffix)
                return true;
    return false;
}

/// The classes of a classifier: the number of labels, two where the file does not say.
inline std::int64_t label_count(config_fields& c) {
    if (const nlohmann::json* labels = c.object("id2label")) return static_cast<std::int64_t>(labels->size());
    return feature_count(c, "num_labels", 2);
}

inline void add_classifier(config_fields& c, model& m) {
    if (!is_architecture(c, "Classification")) return;
    m.add({.role = weight_role::classifier,
           .part = model_part::output,
           .bias = true,
           .rows = label_count(c),
           .columns = m.hidden});
}

// ---- encoders with decoders

/// How the versions of T5 differ.
struct t5_form {
    bool first_version = false;        ///< 1.0: a head tied to the embedding, a feed-forward without a gate
    std::int64_t vocabulary = 250112;  ///< of a file that does not say
    bool bias_in_each_layer = false;   ///< each layer has a bias by distance of its own
};

/// T5: a learned bias by distance that all layers of a stack share (UMT5: one for each layer); RMS norms; a gated
/// feed-forward in version 1.1. The encoder alone where the file says T5EncoderModel.
inline model read_t5_like(config_fields& c, const t5_form& form) {
    model m;
    m.vocabulary = feature_count(c, vocabulary_field, form.vocabulary);
    m.hidden = c.number_nested("d_model", 512, 1, most_features);
    m.max_context = tokens(c.number_or(context_field, 0, 0, most_tokens));
    const std::int64_t heads = c.number_nested("num_heads", 8, 1, most_heads);
    layer block;
    block.attention = {.heads = heads, .kv_heads = heads, .head_dim = c.number_or("d_kv", 64, 1, most_heads)};
    block.feed_forward.width = c.number_nested("d_ff", 2048, 1, most_features);
    const std::string_view activation = c.text_or("feed_forward_proj", form.first_version ? "relu" : "gated-gelu");
    if (activation.substr(0, 5) != "gated") block.feed_forward.kind = feed_forward_kind::plain;
    const std::int64_t buckets = feature_count(c, "relative_attention_num_buckets", 32);
    if (form.bias_in_each_layer) block.more_values = buckets * heads;
    const auto stack_bias = [&] {
        if (!form.bias_in_each_layer) m.add(positions(buckets, heads));
    };
    const std::int64_t layers = c.number_nested("num_layers", 6, 1, layer_stack::max_layers);
    const std::int64_t decoder_layers = c.number_or("num_decoder_layers", layers, 1, layer_stack::max_layers);
    stack_bias();
    if (is_architecture(c, "EncoderModel")) {
        m.tied_head = true;
        m.layers.append(static_cast<std::int32_t>(layers), block);
        return m;
    }
    m.tied_head = c.flag_or("tie_word_embeddings", form.first_version);
    m.encoders[0] = {.hidden = m.hidden, .layers = static_cast<std::int32_t>(layers), .block = block};
    m.add({.role = weight_role::norm, .columns = m.hidden});
    stack_bias();
    block.attention.cross = cross_attention::beside;
    m.layers.append(static_cast<std::int32_t>(decoder_layers), block);
    return m;
}
inline model read_t5(config_fields& c) { return read_t5_like(c, {.first_version = true, .vocabulary = 32128}); }
inline model read_mt5(config_fields& c) { return read_t5_like(c, {}); }
inline model read_umt5(config_fields& c) { return read_t5_like(c, {.bias_in_each_layer = true}); }

// ---- images

/// The number of patches of a square image.
inline std::int64_t patch_count(config_fields& c, std::int64_t image, std::int64_t patch) {
    const std::int64_t side = c.number_or("image_size", image, 1, 65536) / c.number_or("patch_size", patch, 1, 65536);
    if (side < 1 || side > 4096) c.fail(error_code::out_of_range, "image_size", "1 to 4096 patches a side");
    return side * side;
}

/// The convolution that makes patches into features.
inline extra_weight patch_embedding(config_fields& c, std::int64_t hidden, std::int64_t patch, bias_term bias,
                                    std::int64_t frames = 1) {
    const std::int64_t side = c.number_or({"patch_size", "spatial_patch_size"}, patch, 1, 1024);
    return {.role = weight_role::conv,
            .bias = bias == bias_term::added,
            .rows = hidden,
            .columns = c.number_or({"num_channels", "in_channels", "in_chans"}, 3, 1, 1024) * frames * side * side};
}

/// ViT: a class token, learned positions, a final norm. The classifier belongs to a checkpoint's task and is not
/// counted.
inline model read_vit(config_fields& c) {
    model m;
    m.hidden = feature_count(c, hidden_field);
    m.tied_head = true;
    m.final_norm = norm_kind::layer;
    const std::int64_t heads = read_head_count(c, heads_field, m.hidden);
    layer l = transformer_layer(heads, m.hidden, feature_count(c, width_field));
    l.attention.qkv_bias = c.flag_or("qkv_bias", true);
    const std::int64_t patches = patch_count(c, 224, 16);
    m.add(patch_embedding(c, m.hidden, 16, bias_term::added));
    m.add(positions(patches + 2, m.hidden));  // with the class token and its position
    add_classifier(c, m);
    return stack_of(c, m, l);
}

}  // namespace llmres::inline v0::detail::hf
