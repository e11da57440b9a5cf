// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <string_view>

/// How the fields that nearly all config.json files share are read. Field meanings and class defaults are those of the
/// model classes in Hugging Face transformers.
namespace llmres::inline v0::detail::hf {

inline constexpr std::int64_t most_features = widest;
inline constexpr std::int64_t most_heads = 65536;
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

inline constexpr field_names heads_field{"num_attention_heads", "n_head", "n_heads", "num_heads"};
inline constexpr field_names kv_heads_field{"num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads"};
inline constexpr field_names hidden_field{"hidden_size", "n_embd", "d_model", "n_embed"};
inline constexpr field_names layers_field{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
inline constexpr field_names width_field{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff",
                                         "inner_hidden_size"};
inline constexpr field_names vocabulary_field{"padded_vocab_size", "vocab_size"};
inline constexpr field_names context_field{
    "max_position_embeddings", "n_positions",    "max_seq_len",          "seq_length",
    "max_sequence_length",     "context_length", "max_target_positions", "n_ctx"};

/// A reader of an object inside a configuration, which gives its first error to the reader of the configuration. Where
/// there is no such object, its fields are as the model's class has them.
class nested_fields : public config_fields {
public:
    nested_fields(config_fields& outer, const field_names& field) : nested_fields{outer, field, outer.object(field)} {}
    ~nested_fields() {
        if (!ok()) outer_.fail(error());
    }
    nested_fields(const nested_fields&) = delete;
    nested_fields& operator=(const nested_fields&) = delete;

    /// Whether the configuration has the object.
    bool given() const { return given_; }

private:
    nested_fields(config_fields& outer, const field_names& field, const nlohmann::json* found)
        : config_fields{found != nullptr ? *found : nothing(), field.names[0]},
          outer_{outer},
          given_{found != nullptr} {}
    static const nlohmann::json& nothing() {
        static const nlohmann::json empty = nlohmann::json::object();
        return empty;
    }

    config_fields& outer_;
    bool given_;
};

/// Refuses a file that sets a flag whose structure no reader describes.
inline void refuse_flag(config_fields& c, const char* name) {
    if (c.flag_or(name, false)) c.fail(error_code::unsupported, name, "false");
}

/// A number of features or of rows.
inline std::int64_t feature_count(config_fields& c, const field_names& field) {
    return c.number(field, 1, most_features);
}
/// The same, or the fallback where the file does not say.
inline std::int64_t feature_count(config_fields& c, const field_names& field, std::int64_t fallback) {
    return c.number_or(field, fallback, 1, most_features);
}

/// One layer of so many has no window: `sliding_window_pattern`, as a number, or as a letter for each ("LLLG": three
/// local layers and a global one).
inline std::int64_t window_period(config_fields& c, std::int64_t fallback,
                                  const field_names& field = "sliding_window_pattern") {
    if (!c.holds_text(field)) return feature_count(c, field, fallback);
    const std::string_view letters = c.text_or(field, "");
    if (letters.find_first_not_of('L') == letters.size() - 1 && letters.ends_with('G'))
        return static_cast<std::int64_t>(letters.size());
    c.fail(error_code::malformed, field, "a number, or letters such as LLLG");
    return fallback;
}

inline std::int64_t layer_count(config_fields& c) { return c.number(layers_field, 1, layer_stack::max_layers); }

/// A stored table of positions, or of what else is looked up and added to the features, such as token types.
inline extra_weight positions(std::int64_t rows, std::int64_t columns, std::int64_t copies = 1) {
    return {.role = weight_role::positions, .rows = rows, .columns = columns, .copies = copies};
}

/// A LayerNorm outside the layers: weight and bias.
inline extra_weight layer_norm(std::int64_t width, model_part part = model_part::input) {
    return {.role = weight_role::norm, .part = part, .columns = width, .copies = 2};
}

/// Reads vocabulary, hidden size, longest context and whether the head is tied to the embedding.
inline model read_frame(config_fields& c) {
    model m;
    m.vocabulary = feature_count(c, vocabulary_field);
    m.hidden = feature_count(c, hidden_field);
    m.max_context = tokens(c.number_or(context_field, 0, 0, most_tokens));
    m.tied_head = c.flag_or("tie_word_embeddings", false);
    return m;
}

/// The formats of stored weights by the names of torch (`torch_dtype`).
inline precision read_dtype(config_fields& c, const precision& fallback) {
    constexpr field_names field{"torch_dtype", "dtype"};
    std::string_view name = c.text_or(field, "");
    if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
    if (name.empty() || name == "auto") return fallback;
    if (name == "bfloat16") return bf16;
    if (name == "float16" || name == "half") return fp16;
    if (name == "float32" || name == "float") return fp32;
    if (name == "float64") return fp64;
    if (name == "float8_e4m3fn") return fp8_e4m3;
    if (name == "float8_e5m2") return fp8_e5m2;
    c.fail(error_code::unknown, field, "bfloat16, float16 or float32");
    return fallback;
}

/// Refuses a hidden size that its heads do not divide.
inline void check_heads(config_fields& c, const field_names& field, std::int64_t heads, std::int64_t hidden) {
    if (!c.ok() || hidden % heads == 0) return;
    text<191> expected{"a divisor of the hidden size, "};
    expected.append(digits(hidden));
    c.fail(error_code::inconsistent, field, expected);
}

/// Reads how many heads a hidden size is divided into.
inline std::int64_t read_head_count(config_fields& c, const field_names& field, std::int64_t hidden) {
    const std::int64_t heads = c.number(field, 1, most_heads);
    check_heads(c, field, heads, hidden);
    return heads;
}

/// Reads heads, KV heads (absent: as many as heads) and the width of a head (absent: hidden size / heads).
inline attention read_heads(config_fields& c, std::int64_t hidden) {
    attention a;
    a.heads = c.number(heads_field, 1, most_heads);
    a.kv_heads = c.number_or(kv_heads_field, a.heads, 1, most_heads);
    a.head_dim = c.number_or({"head_dim", "attention_head_dim", "kv_channels"}, 0, 1, most_heads);
    if (!c.ok()) return a;
    if (a.heads % a.kv_heads != 0) {
        text<191> expected{"a divisor of the attention heads, "};
        expected.append(digits(a.heads));
        c.fail(error_code::inconsistent, kv_heads_field, expected);
    }
    if (a.head_dim == 0) {
        check_heads(c, heads_field, a.heads, hidden);
        a.head_dim = hidden / a.heads;
        if (a.head_dim > most_heads) c.fail(error_code::inconsistent, heads_field, "heads of at most 65536 features");
    }
    return a;
}

/// Calls make(i) for the layers in order.
template <class Make>
void read_layers(config_fields& c, model& m, std::int64_t count, Make make) {
    for (std::int64_t i = 0; i < count && c.ok(); ++i) {
        const layer made = make(i);
        if (c.ok() && !m.layers.append(1, made))
            c.fail(error_code::unsupported, layers_field, "at most 12 different kinds of layer");
    }
}

/// Calls change(i, layer) for the layers that were read, in order, and keeps what it makes of each.
template <class Change>
void change_layers(config_fields& c, model& m, Change change) {
    const layer_stack before = m.layers;
    m.layers = {};
    read_layers(c, m, before.size, [&](std::int64_t i) {
        layer l = before[static_cast<int>(i)];
        change(i, l);
        return l;
    });
}

/// Whether layer i is of that kind: by `layer_types` where the file has it, by the family's own rule otherwise, which
/// is no layer if none is given. A kind that is neither this nor full attention is refused.
inline bool layer_is(config_fields& c, std::string_view kind, std::int64_t i, bool by_rule = false) {
    if (!c.has("layer_types")) return by_rule;
    const std::string_view given = c.text_at("layer_types", static_cast<std::size_t>(i));
    if (given == kind) return true;
    if (given != "full_attention" && given != "attention" && c.ok()) {
        text<191> expected{"full_attention or "};
        expected.append(kind);
        c.fail({error_code::unsupported, c.label("layer_types"), given, expected});
    }
    return false;
}

inline token_count read_window(config_fields& c) { return tokens(c.number_or("sliding_window", 0, 0, most_tokens)); }

/// The biases that a family's configuration class has fields for. A field that it does not have is not read, and is
/// refused in a file.
enum class bias_fields : std::uint8_t { none, attention, attention_and_mlp };

/// A layer of the llama layout: gated feed-forward, two RMS norms, biases where the file asks for them.
inline layer read_llama_layer(config_fields& c, std::int64_t hidden, bias_fields biases = bias_fields::attention) {
    layer l;
    l.attention = read_heads(c, hidden);
    l.feed_forward.width = feature_count(c, width_field);
    if (biases != bias_fields::none)
        l.attention.qkv_bias = l.attention.output_bias = c.flag_or("attention_bias", false);
    if (biases == bias_fields::attention_and_mlp) l.feed_forward.bias = c.flag_or("mlp_bias", false);
    return l;
}

/// Of families whose second generation has other class defaults, the one that is read.
enum class generation : bool { first, second };

/// Parameters that join the streams of hyper-connections before a head: a weight of each, its bias, and a scale.
inline std::int64_t joining_weights(std::int64_t hidden, std::int64_t streams) {
    return streams * (streams * hidden + 1) + 1;
}

/// A model whose layers are all alike.
inline model stack_of(config_fields& c, model m, const layer& l) {
    m.layers.append(static_cast<std::int32_t>(layer_count(c)), l);
    return m;
}

/// The layer of each period that sees the whole context: its last; its first; its last, where the last layer ends a
/// period.
enum class whole_context : std::uint8_t { last, first, last_from_end };

/// A model whose layers have an attention window, except that one of every `period` layers sees the whole context (with
/// period 0, none does). `layer_types` of the file takes precedence.
inline model windowed_stack_of(config_fields& c, model m, layer l, std::int64_t period,
                               whole_context whole = whole_context::last) {
    const token_count window = read_window(c);
    const std::int64_t count = layer_count(c);
    const std::int64_t ahead = whole == whole_context::first ? 0 : whole == whole_context::last ? 1 : 1 - count;
    read_layers(c, m, count, [&](std::int64_t i) {
        const bool by_rule = period == 0 || (i + ahead) % period != 0;
        l.attention.window = layer_is(c, "sliding_attention", i, by_rule) ? window : token_count{};
        return l;
    });
    return m;
}

}  // namespace llmres::inline v0::detail::hf
