// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/model.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// What a config.json is read as, as JSON: all fields of the model that are not what a model has anyway.
namespace recorded {

using nlohmann::json;

/// The fields of an object that differ from those of another of its kind.
class fields {
public:
    template <class T>
    fields& put(const char* name, const T& value, const T& usual) {
        if (value == usual) return *this;
        if constexpr (std::is_enum_v<T>)
            object_[name] = static_cast<int>(value);
        else if constexpr (std::is_same_v<T, llmres::token_count>)
            object_[name] = value.in(llmres::tokens);
        else if constexpr (std::is_same_v<T, llmres::precision>)
            object_[name] = std::string{value.name.view()};
        else
            object_[name] = value;
        return *this;
    }
    void put(const char* name, const json& inner) {
        if (!inner.empty()) object_[name] = inner;
    }
    json taken() { return std::move(object_); }

private:
    json object_ = json::object();
};

inline json described(const llmres::attention& a) {
    const llmres::attention d{};
    return fields{}
        .put("kind", a.kind, d.kind)
        .put("heads", a.heads, d.heads)
        .put("kv_heads", a.kv_heads, d.kv_heads)
        .put("head_dim", a.head_dim, d.head_dim)
        .put("q_rank", a.q_rank, d.q_rank)
        .put("kv_rank", a.kv_rank, d.kv_rank)
        .put("rope_dim", a.rope_dim, d.rope_dim)
        .put("value_dim", a.value_dim, d.value_dim)
        .put("qkv_bias", a.qkv_bias, d.qkv_bias)
        .put("output_bias", a.output_bias, d.output_bias)
        .put("qk_norm", a.qk_norm, d.qk_norm)
        .put("window", a.window, d.window)
        .put("chunked", a.chunked, d.chunked)
        .put("keys", a.keys, d.keys)
        .put("sinks", a.sinks, d.sinks)
        .put("gate", a.gate, d.gate)
        .put("kv", a.kv, d.kv)
        .put("cross", a.cross, d.cross)
        .put("index_heads", a.indexer.heads, d.indexer.heads)
        .put("index_head_dim", a.indexer.head_dim, d.indexer.head_dim)
        .put("index_selected", a.indexer.selected, d.indexer.selected)
        .put("index_weighed", a.indexer.weighed, d.indexer.weighed)
        .put("index_quantised", a.indexer.quantised, d.indexer.quantised)
        .put("ratio", a.compressed.ratio, d.compressed.ratio)
        .put("windows", a.compressed.windows, d.compressed.windows)
        .put("output_groups", a.compressed.output_groups, d.compressed.output_groups)
        .put("output_rank", a.compressed.output_rank, d.compressed.output_rank)
        .taken();
}

inline json described(const llmres::recurrent& r) {
    const llmres::recurrent d{};
    return fields{}
        .put("kind", r.kind, d.kind)
        .put("heads", r.heads, d.heads)
        .put("head_dim", r.head_dim, d.head_dim)
        .put("key_heads", r.key_heads, d.key_heads)
        .put("state", r.state, d.state)
        .put("rank", r.rank, d.rank)
        .put("kernel", r.kernel, d.kernel)
        .put("chunk", r.chunk, d.chunk)
        .put("bias", r.bias, d.bias)
        .put("conv_bias", r.conv_bias, d.conv_bias)
        .put("inner_norms", r.inner_norms, d.inner_norms)
        .put("output_norm", r.output_norm, d.output_norm)
        .put("whole_gate", r.whole_gate, d.whole_gate)
        .put("fp32_state", r.fp32_state, d.fp32_state)
        .taken();
}

inline json described(const llmres::feed_forward& f) {
    const llmres::feed_forward d{};
    const llmres::experts& e = f.experts;
    return fields{}
        .put("kind", f.kind, d.kind)
        .put("width", f.width, d.width)
        .put("bias", f.bias, d.bias)
        .put("experts", e.count, d.experts.count)
        .put("per_token", e.per_token, d.experts.per_token)
        .put("expert_width", e.width, d.experts.width)
        .put("shared_width", e.shared_width, d.experts.shared_width)
        .put("shared_gate", e.shared_gate, d.experts.shared_gate)
        .put("score_bias", e.score_bias, d.experts.score_bias)
        .put("router_bias", e.router_bias, d.experts.router_bias)
        .put("idle", e.idle, d.experts.idle)
        .put("latent", e.latent, d.experts.latent)
        .taken();
}

inline json described(const llmres::layer& l) {
    const llmres::layer d{};
    fields f;
    f.put("attention", described(l.attention));
    f.put("recurrent", described(l.recurrent));
    f.put("feed_forward", described(l.feed_forward));
    return f.put("norm", l.norm, d.norm)
        .put("norm_before_attention", l.norm_before_attention, d.norm_before_attention)
        .put("norm_after_attention", l.norm_after_attention, d.norm_after_attention)
        .put("norm_before_feed_forward", l.norm_before_feed_forward, d.norm_before_feed_forward)
        .put("norm_after_feed_forward", l.norm_after_feed_forward, d.norm_after_feed_forward)
        .put("more_norms", l.more_norms, d.more_norms)
        .put("more_features", l.more_features, d.more_features)
        .put("more_values", l.more_values, d.more_values)
        .put("cross_width", l.cross_width, d.cross_width)
        .put("streams", l.streams, d.streams)
        .put("mixes", l.mixes, d.mixes)
        .put("quantised", l.quantised, d.quantised)
        .taken();
}

inline json described(const llmres::encoder& e) {
    const llmres::encoder d{};
    fields f;
    f.put("block", described(e.block));
    return f.put("hidden", e.hidden, d.hidden)
        .put("layers", e.layers, d.layers)
        .put("quantised", e.quantised, d.quantised)
        .put("output", e.output, d.output)
        .put("image_patches", e.image_patches, d.image_patches)
        .put("image_tokens", e.image_tokens, d.image_tokens)
        .put("position_axes", e.position_axes, d.position_axes)
        .taken();
}

inline json described(const llmres::prediction& p) {
    const llmres::prediction d{};
    fields f;
    if (p.layers > 0) f.put("block", described(p.block));
    return f.put("layers", p.layers, d.layers)
        .put("norms", p.layers > 0 ? p.norms : 0, 0)
        .put("own_embedding", p.layers > 0 && p.own_embedding, false)
        .put("own_head", p.layers > 0 && p.own_head, false)
        .taken();
}

/// The kinds of the layers, and which layer is of which: "3a b" is three of the first kind and one of the second.
inline void describe_layers(const llmres::layer_stack& layers, json& described_model) {
    std::string order;
    std::vector<llmres::layer> kinds;
    char last = ' ';
    int run = 0;
    const auto end_run = [&] {
        if (run > 0) order += (order.empty() ? "" : " ") + (run > 1 ? std::to_string(run) : "") + last;
    };
    for (int i = 0; i < layers.size; ++i) {
        std::size_t kind = 0;
        while (kind < kinds.size() && !(kinds[kind] == layers[i])) ++kind;
        if (kind == kinds.size()) kinds.push_back(layers[i]);
        const char letter = static_cast<char>('a' + kind);
        if (letter != last) end_run();
        run = letter == last ? run + 1 : 1;
        last = letter;
    }
    end_run();
    described_model["layers"] = order;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
        described_model[std::string(1, static_cast<char>('a' + kind))] = described(kinds[kind]);
}

/// An extra weight as one word: role, part, rows by columns, copies, bias.
inline std::string described(const llmres::extra_weight& w) {
    return std::string{llmres::names_of<llmres::weight_role>[static_cast<std::size_t>(w.role)]} + " " +
           std::to_string(w.copies) + "x" + std::to_string(w.rows) + "x" + std::to_string(w.columns) +
           (w.bias ? " bias" : "") + (w.part == llmres::model_part::output ? " output" : "") +
           (w.part == llmres::model_part::apart ? " apart" : "");
}

inline json described(const llmres::model& m) {
    const llmres::model d{};
    fields f;
    f.put("encoder", described(m.encoders[0]));
    f.put("second_encoder", described(m.encoders[1]));
    f.put("prediction", described(m.prediction));
    json extras = json::array();
    for (const llmres::extra_weight& w : m.extra_weights()) extras.push_back(described(w));
    f.put("extras", extras);
    const auto format = [&](const char* name, const llmres::maybe<llmres::precision>& p) {
        if (p) f.put(name, json(std::string{p->name.view()}));
    };
    format("mixed_attention", m.mixed.attention);
    format("mixed_feed_forward", m.mixed.feed_forward);
    format("mixed_head", m.mixed.head);
    format("mixed_rest", m.mixed.rest);
    json whole = f.put("vocabulary", m.vocabulary, d.vocabulary)
                     .put("tokenizer", m.tokenizer, d.tokenizer)
                     .put("hidden", m.hidden, d.hidden)
                     .put("max_context", m.max_context, d.max_context)
                     .put("rope_vectors", m.rope.vectors, d.rope.vectors)
                     .put("rope_width", m.rope.width, d.rope.width)
                     .put("rope_contexts", m.rope.contexts, d.rope.contexts)
                     .put("tied_head", m.tied_head, d.tied_head)
                     .put("head_bias", m.head.bias, d.head.bias)
                     .put("head_kind", m.head.kind, d.head.kind)
                     .put("final_norm", m.final_norm, d.final_norm)
                     .put("embedding_width", m.embedding_width, d.embedding_width)
                     .put("weights", m.weights, d.weights)
                     .put("wide_roles", m.mixed.wide_roles, d.mixed.wide_roles)
                     .taken();
    whole["name"] = std::string{m.name.view()};
    whole["architecture"] = std::string{m.architecture.view()};
    describe_layers(m.layers, whole);
    return whole;
}

/// What a config.json is read as: the model, or the field that refuses it.
inline json reading_of(const json& config) {
    const llmres::result<llmres::model> read = llmres::read_hf_config(config.dump());
    if (read) return described(*read);
    return {{"refused", std::string{read.error().field.view()}},
            {"expected", std::string{read.error().expected.view()}}};
}

/// The merge patch (RFC 7386) that makes one object of another.
inline json patch_between(const json& from, const json& to) {
    json patch = json::object();
    for (const auto& item : from.items())
        if (!to.contains(item.key())) patch[item.key()] = nullptr;
    for (const auto& item : to.items()) {
        const auto before = from.find(item.key());
        if (before == from.end())
            patch[item.key()] = item.value();
        else if (before->is_object() && item.value().is_object()) {
            if (const json inner = patch_between(*before, item.value()); !inner.empty()) patch[item.key()] = inner;
        } else if (*before != item.value())
            patch[item.key()] = item.value();
    }
    return patch;
}

/// The answer to a change of a configuration: what it changes in the model, or how it is refused.
inline json answer_to(const json& config, const json& model, const json& change) {
    json changed = config;
    changed.merge_patch(change);
    const json reading = reading_of(changed);
    return reading.contains("refused") ? reading : patch_between(model, reading);
}

/// A line with its answers: {"config": ..., "model": ..., "changes": [[change, answer], ...]}.
inline json answered_reading(const json& line) {
    json answers = {{"config", line["config"]}, {"model", reading_of(line["config"])}, {"changes", json::array()}};
    for (const json& change : line["changes"])
        answers["changes"].push_back({change[0], answer_to(line["config"], answers["model"], change[0])});
    return answers;
}

}  // namespace recorded
