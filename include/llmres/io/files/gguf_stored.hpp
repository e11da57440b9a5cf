// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/files/stored_layers.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The model of a GGUF file whose architecture no formula describes: weights as they are stored, shapes from the
/// tensors, and caches from the metadata that llama.cpp allocates them by (llama-hparams.cpp: n_embd_k_gqa, n_embd_r,
/// n_embd_s).
namespace llmres::inline v0::detail::gguf {

/// Tensors that belong together, by what their names say behind the layer's number.
struct tensor_group {
    std::map<std::string_view, const gguf_tensor_info*> by_name{};
    byte_count size{};  ///< with the padding of each

    void add(std::string_view name, const gguf_tensor_info& tensor) {
        size += aligned_up(tensor.size, bytes(32));
        if (name.ends_with(".weight")) name.remove_suffix(std::string_view{".weight"}.size());
        by_name.emplace(name, &tensor);
    }
    const gguf_tensor_info* find(std::string_view name) const {
        const auto found = by_name.find(name);
        return found == by_name.end() ? nullptr : found->second;
    }
    bool has(std::string_view name) const { return find(name) != nullptr; }
    bool has_any(std::initializer_list<std::string_view> names) const {
        return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return has(name); });
    }
    bool has_family(std::string_view prefix) const {
        const auto found = by_name.lower_bound(prefix);
        return found != by_name.end() && found->first.starts_with(prefix);
    }
    /// A side of a tensor (0: the length of its rows); 0 where there is no such tensor.
    std::int64_t side(std::string_view name, std::size_t dimension) const {
        const gguf_tensor_info* found = find(name);
        return found == nullptr ? 0 : static_cast<std::int64_t>(found->shape[dimension]);
    }
};

/// The bytes of a layer of that shape in the place of layer `index`.
inline byte_count bytes_alone(const model& m, const gguf_mix& mix, const layer& shape, std::int32_t index) {
    model alone = m;
    alone.layers = {1, shape};
    gguf_mix of_layer = mix;
    of_layer.stored.of_layer[0] = mix.stored.of_layer[static_cast<std::size_t>(index)];
    return gguf_layer_bytes(alone, of_layer, 0);
}

/// Reads such a model.
class stored_reader {
public:
    explicit stored_reader(const gguf_file& file)
        : file_{file}, architecture_{file.text_or("general.architecture", "")} {}

    result<model> read(const gguf_mix& mix) {
        if (architecture_ == "clip")
            return refused(error_code::unsupported, "general.architecture", "clip",
                           "the file of the language model that this tower (mmproj) belongs to");
        sort();
        model m = frame();
        if (layers_.empty() && ok())
            fail(refused(error_code::missing, "blk.0", "absent", "tensors of layers, such as blk.0.attn_k.weight"));
        std::vector<stored_layer> layers;
        for (std::size_t i = 0; i < layers_.size() && ok(); ++i)
            layers.push_back({layer_of(layers_[i], i, m.hidden), layers_[i].size});
        for (const stored_layer& l : layers)
            if (const status valid = detail::validate(l.shape); !valid) fail(valid.error());
        if (!ok()) return failed_;
        return filled(m, mix, std::move(layers));
    }

private:
    bool ok() const { return failed_.code == error_code::none; }
    void fail(const error& what) {
        if (ok()) failed_ = what;
    }
    std::string key(std::string_view name) const { return std::string{architecture_} + "." + std::string{name}; }

    /// A number of the metadata, of layer `i` where each has its own.
    std::int64_t number(std::string_view name, std::int64_t fallback, std::size_t i = 0) {
        const gguf_value* found = file_.find(key(name));
        if (found == nullptr) return fallback;
        std::int64_t value = found->integer;
        if (found->is == gguf_value::kind::array) {
            if (i >= found->integers.size()) return fallback;
            value = found->integers[i];
        } else if (found->is != gguf_value::kind::integer) {
            return fallback;
        }
        if (value >= 0 && value <= most) return value;
        fail(refused(error_code::out_of_range, printable(key(name)), value, "an integer from 0 to 2^40"));
        return fallback;
    }
    std::int64_t needed(std::string_view name, std::size_t i = 0) {
        const std::int64_t value = number(name, 0, i);
        if (value == 0) fail(refused(error_code::missing, printable(key(name)), "absent", "a positive integer"));
        return value;
    }

    /// Puts each tensor into its layer, or into what stands before or after the layers.
    void sort() {
        for (const gguf_tensor_info& tensor : file_.tensors) {
            const std::string_view name = tensor.name;
            const std::int32_t index = gguf_layer(name);
            if (index >= 0 && index < layer_stack::max_layers) {
                const auto place = static_cast<std::size_t>(index);
                if (layers_.size() <= place) layers_.resize(place + 1);
                layers_[place].add(name.substr(name.find('.', 4) + 1), tensor);
            } else {
                const bool read_first = name.starts_with("token_") || name.starts_with("position_embd") ||
                                        name.starts_with("per_layer_token_embd");
                (read_first ? input_ : output_).add(name, tensor);
            }
        }
    }

    model frame() {
        model m;
        m.architecture = architecture_;
        const std::string_view name = file_.text_or("general.name", architecture_);
        m.name = std::string_view{printable(name)};
        m.from_tensors = true;
        m.hidden = needed("embedding_length");
        m.vocabulary = input_.side("token_embd", 1);
        if (m.vocabulary == 0) fail(refused(error_code::missing, "token_embd.weight", "absent", "a token embedding"));
        m.max_context = tokens(number("context_length", 0));
        m.tied_head = !output_.has("output");
        m.final_norm = output_.has("output_norm") ? norm_kind::rms : norm_kind::none;
        return m;
    }

    layer layer_of(const tensor_group& own, std::size_t i, std::int64_t hidden) {
        layer l;
        l.attention = attention_of(own, i, hidden);
        l.recurrent = recurrence_of(own, i, hidden);
        l.feed_forward = feed_forward_of(own, i, hidden);
        l.norm_before_attention = own.has("attn_norm");
        l.norm_after_attention = own.has("post_attention_norm");
        l.norm_before_feed_forward = own.has("ffn_norm");
        l.norm_after_feed_forward = own.has("post_ffw_norm");
        return l;
    }

    attention attention_of(const tensor_group& own, std::size_t i, std::int64_t hidden) {
        const bool latent = own.has("attn_kv_a_mqa");
        // Recurrent layers of Qwen3-Next have attn_qkv too; those of Kimi Linear have attn_k, and no KV heads.
        const bool keys = own.has("attn_k") || (own.has("attn_qkv") && !own.has_family("ssm_"));
        const std::int64_t queries = number("attention.head_count", 0, i);
        const std::int64_t heads_of_keys = number("attention.head_count_kv", queries, i);
        if ((!latent && !keys && !own.has("attn_q")) || heads_of_keys == 0) return no_attention;
        attention a;
        a.heads = needed("attention.head_count", i);
        a.kv_heads = heads_of_keys;
        if (!ok()) return no_attention;
        a.window = window_of(i);
        a.head_dim = number("attention.key_length", hidden / a.heads);
        a.value_dim = number("attention.value_length", a.head_dim);
        if (a.window > token_count{}) {  // Gemma 4's heads are narrower where they have a window
            a.head_dim = number("attention.key_length_swa", a.head_dim);
            a.value_dim = number("attention.value_length_swa", a.value_dim);
        }
        if (latent) {
            make_latent(a, own);
        } else if (!keys || i + static_cast<std::size_t>(number("attention.shared_kv_layers", 0)) >= layers_.size()) {
            a.kv = keys ? kv_source::shared_unused : kv_source::shared;
        } else if (!own.has("attn_v") && !own.has("attn_qkv")) {
            a.keys = key_projection::also_values;
        }
        if (own.has_any({"attn_q_norm", "attn_k_norm"}) && own.side("attn_q_norm", 0) == a.head_dim &&
            own.side("attn_k_norm", 0) == a.head_dim)
            a.qk_norm = query_key_norm::shared;
        a.sinks = own.has("attn_sinks");
        if (own.has("cross_attn_k")) a.cross = cross_attention::beside;
        return a;
    }
    void make_latent(attention& a, const tensor_group& own) {
        a.kind = attention_kind::latent;
        a.kv_rank = needed("attention.kv_lora_rank");
        a.rope_dim = own.side("attn_kv_a_mqa", 1) - a.kv_rank;
        a.q_rank = own.side("attn_q_a", 1);
        const std::int64_t width = number("attention.key_length_mla", a.head_dim);
        a.head_dim = width - a.rope_dim;
        a.value_dim = number("attention.value_length_mla", a.value_dim);
        const std::int64_t heads = own.side("indexer.proj", 1);
        if (heads > 0)
            a.indexer = {.heads = heads,
                         .head_dim = own.side("indexer.attn_k", 1),
                         .selected = tokens(number("attention.indexer.top_k", 0))};
    }
    /// The window that the file gives layer `i`. Where it does not say which layers have one, none is taken to.
    token_count window_of(std::size_t i) {
        const gguf_value* pattern = file_.find(key("attention.sliding_window_pattern"));
        const bool says = pattern != nullptr && pattern->is == gguf_value::kind::array && i < pattern->integers.size();
        return says && pattern->integers[i] != 0 ? tokens(number("attention.sliding_window", 0)) : token_count{};
    }

    /// A recurrence by the size of its state, as llama.cpp computes it from the same metadata.
    recurrent recurrence_of(const tensor_group& own, std::size_t i, std::int64_t hidden) {
        recurrent r{.kind = recurrent_kind::undescribed};
        if (own.has_family("time_mix_")) {
            r.head_dim = r.state = needed("wkv.head_size");
            r.heads = r.state > 0 ? hidden / r.state : 0;
            r.kernel = number("token_shift_count", 2) + 1;
        } else if (own.has_family("shortconv.")) {
            r.heads = hidden;
            r.head_dim = 1;
            r.kernel = needed("shortconv.l_cache");
        } else if (own.has_family("ssm_") && number("kda.head_dim", 0) > 0) {
            r.heads = r.key_heads = needed("attention.head_count", i);
            r.head_dim = r.state = number("kda.head_dim", 0);
            r.kernel = needed("ssm.conv_kernel");
        } else if (own.has_family("ssm_")) {
            r.heads = needed("ssm.inner_size");
            r.head_dim = 1;
            r.state = needed("ssm.state_size");
            r.key_heads = number("ssm.group_count", 0);
            r.kernel = needed("ssm.conv_kernel");
        } else {
            return {};
        }
        return r;
    }

    feed_forward feed_forward_of(const tensor_group& own, std::size_t i, std::int64_t hidden) {
        // A fused tensor of gate and up has twice as many rows as the inner width.
        const auto is_gated = [&](const std::string& kind, std::int64_t width) {
            return own.has("ffn_gate" + kind) || own.has("ffn_gate_up" + kind) ||
                   own.side("ffn_up" + kind, 1) == 2 * width;
        };
        feed_forward f;
        f.width = own.side("ffn_down", 0);
        const std::int64_t experts = own.side("ffn_down_exps", 2);
        if (experts > 0 && own.side("ffn_down_exps", 1) == hidden) {
            f.experts.count = experts;
            f.experts.per_token = needed("expert_used_count", i);
            f.experts.width = own.side("ffn_down_exps", 0);
            f.experts.shared_width = own.side("ffn_down_shexp", 0) + std::exchange(f.width, 0);
            f.experts.score_bias = own.has("exp_probs_b.bias");
            f.kind = is_gated("_exps", f.experts.width) ? feed_forward_kind::gated : feed_forward_kind::plain;
        } else {
            f.kind = f.width == 0            ? feed_forward_kind::none
                     : is_gated("", f.width) ? feed_forward_kind::gated
                                             : feed_forward_kind::plain;
        }
        return f;
    }

    /// The model with the bytes that the file stores.
    result<model> filled(model m, const gguf_mix& mix, std::vector<stored_layer> layers) const {
        constexpr std::int64_t value = 4;  // what is no matrix is stored in fp32
        const auto size = [&](const layer& shape, std::int32_t index) { return bytes_alone(m, mix, shape, index); };
        const result<layer_stack> stack = fitted_layers(std::move(layers), value, size);
        if (!stack) return stack.error();
        m.layers = *stack;
        const byte_count before = gguf_input_bytes(m, mix), after = gguf_output_bytes(m, mix);
        add_values(m, weight_role::positions, model_part::input, values_in(beyond(input_.size, before), value));
        add_values(m, weight_role::values, model_part::output, values_in(beyond(output_.size, after), value));
        if (const status valid = validate(m); !valid) return valid.error();
        return m;
    }

    static constexpr std::int64_t most = std::int64_t{1} << 40;
    const gguf_file& file_;
    std::string_view architecture_;
    std::vector<tensor_group> layers_{};
    tensor_group input_{};
    tensor_group output_{};
    error failed_{};
};

/// The file with the layers of its decoder under the names of layers; of an encoder alone, those of the encoder (T5).
inline gguf_file with_plain_names(gguf_file file) {
    const bool decodes = std::any_of(file.tensors.begin(), file.tensors.end(),
                                     [](const gguf_tensor_info& own) { return own.name.starts_with("dec.blk."); });
    for (gguf_tensor_info& tensor : file.tensors)
        if (tensor.name.starts_with(decodes ? "dec." : "enc.")) tensor.name.erase(0, 4);
    return file;
}

/// Types for the parts that a fused tensor stands for.
inline gguf_stored_types with_fused_types(gguf_stored_types stored) {
    for (std::size_t i = 0; i < stored.count; ++i)
        for (const bool stacked : {false, true}) {
            const auto type_of = [&](weight_role role) -> std::uint8_t& {
                return stored.patterns[i][gguf_stored_types::place(role, stacked)];
            };
            const auto fill = [&](weight_role from, std::initializer_list<weight_role> parts) {
                for (const weight_role part : parts)
                    if (type_of(part) == 0) type_of(part) = type_of(from);
            };
            fill(weight_role::v_proj, {weight_role::q_proj, weight_role::k_proj});
            fill(weight_role::k_proj, {weight_role::v_proj});
            fill(weight_role::q_proj, {weight_role::attn_gate});
            // A recurrence's queries, keys and values have the name of attention's.
            fill(weight_role::v_proj, {weight_role::in_proj});
            fill(weight_role::up_proj, {weight_role::gate_proj});
            fill(weight_role::gate_proj, {weight_role::up_proj});
        }
    return stored;
}

/// The layers of a description, each as heavy as its tensors: what a layer stores beyond its description counts among
/// its values. Nothing where the description is of another model: it has heavier layers, layers that are a twentieth
/// lighter, or other tensors outside them. Equal is what differs by less than a thousandth; a fiftieth in files with
/// more kinds of layers than patterns.
class described_weights {
public:
    described_weights(const gguf_file& file, const model& m, const gguf_mix& mix)
        : model_{m}, mix_{mix}, layers_(static_cast<std::size_t>(m.layers.size)) {
        for (const gguf_tensor_info& tensor : file.tensors) {
            const std::int32_t layer = gguf_layer(tensor.name);
            if (layer < 0) outside_ += aligned_up(tensor.size, bytes(32));
            if (layer >= 0 && layer < m.layers.size)
                layers_[static_cast<std::size_t>(layer)] += aligned_up(tensor.size, bytes(32));
        }
    }

    maybe<model> as_stored() const {
        if (!is_near(gguf_input_bytes(model_, mix_) + gguf_output_bytes(model_, mix_), outside_)) return {};
        bool alike = true;
        std::vector<stored_layer> weighed;
        for (std::int32_t i = 0; i < model_.layers.size; ++i) {
            const byte_count stored = layers_[static_cast<std::size_t>(i)];
            const byte_count described = gguf_layer_bytes(model_, mix_, i);
            const bool equal = is_near(described, stored);
            if (!equal && (described > stored || described * 20 < stored * 19)) return {};
            alike = alike && equal;
            weighed.push_back({model_.layers[i], (std::max)(described, stored)});
        }
        if (alike) return model_;
        const result<layer_stack> stack = fitted_layers(std::move(weighed), 4, [&](const layer& shape, std::int32_t i) {
            return bytes_alone(model_, mix_, shape, i);
        });
        if (!stack) return {};
        model m = model_;
        m.layers = *stack;
        return m;
    }

private:
    bool is_near(byte_count described, byte_count stored) const {
        const std::int64_t parts = mix_.stored.count == gguf_stored_types::most_patterns ? 50 : 1000;
        const byte_count apart = described > stored ? described - stored : stored - described;
        return apart * parts <= stored;
    }

    const model& model_;
    const gguf_mix& mix_;
    std::vector<byte_count> layers_;
    byte_count outside_{};
};

/// The model that the tensors of a file make, whatever its architecture, with the types that they are stored in.
inline result<model> model_from_tensors(const gguf_file& given, gguf_mix& mix) {
    const gguf_file file = with_plain_names(given);
    mix.stored = with_fused_types(gguf_stored_types_of(file));
    return stored_reader{file}.read(mix);
}

}  // namespace llmres::inline v0::detail::gguf
