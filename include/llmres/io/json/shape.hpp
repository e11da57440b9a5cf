// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// Models that a job document describes by their shape, under the names of the fields of models/model.hpp and
/// models/layer.hpp, where there is neither a preset nor a config.json.
namespace llmres::inline v0::detail {

/// Reads the shape of a model from one object and those inside it. The first error is kept.
class shape_reader {
public:
    explicit shape_reader(const nlohmann::json& object) : object_{object} {}

    result<model> read() {
        config_fields top{object_, "model"};
        model m{.name = top.text_or("name", "described"), .architecture = top.text_or("architecture", "llama")};
        m.hidden = top.number("hidden", 1, widest);
        m.vocabulary = top.number("vocabulary", 1, widest);
        m.max_context = tokens(top.number_or("max_context", 0, 0, std::int64_t{1} << 40));
        m.tied_head = top.flag_or("tied_head", false);
        if (const std::int64_t positions = top.number_or("positions", 0, 0, widest); positions > 0)
            m.add({.role = weight_role::positions, .rows = positions, .columns = m.hidden});
        layer whole{.norm = chosen(top, "norm", norm_names, norm_kind::rms)};
        m.final_norm = whole.norm;
        const bool mixes = top.holds_text("layers") && top.text_or("layers", "").find('*') == std::string_view::npos;
        if (!mixes || top.has("attention")) whole.attention = read_attention(top, m.hidden);
        whole.feed_forward = read_feed_forward(top);
        whole.norm_before_feed_forward = whole.feed_forward.kind != feed_forward_kind::none;
        const recurrent scan = read_recurrent(top);
        if (top.holds_text("layers"))
            add_letters(top, whole, scan, m);
        else
            add_layers(top, whole, m);
        refuse_unread(top, object_, "model");
        if (error_.code != error_code::none) return error_;
        if (const status s = validate(m); !s) return within(s.error());
        return m;
    }

private:
    static constexpr std::array<std::string_view, 4> norm_names{"none", "rms", "layer", "layer_without_bias"};

    void keep(const config_fields& fields) {
        if (error_.code == error_code::none && !fields.ok()) error_ = fields.error();
    }
    static llmres::error within(llmres::error e) {
        text<63> field{"model."};
        field.append(e.field.view());
        e.field = field;
        return e;
    }
    /// One of the names of an enumeration.
    template <class Enum, std::size_t N>
    static Enum chosen(config_fields& fields, const char* name, const std::array<std::string_view, N>& names,
                       Enum otherwise) {
        if (!fields.has(name)) return otherwise;
        const std::string_view given = fields.text_or(name, "");
        for (std::size_t i = 0; i < N; ++i)
            if (names[i] == given) return static_cast<Enum>(i);
        text<191> expected{"one of"};
        for (std::size_t i = 0; i < N; ++i) {
            expected.append(i == 0 ? " " : ", ");
            expected.append(names[i]);
        }
        fields.fail(error_code::unknown, name, expected);
        return otherwise;
    }
    /// Refuses keys that nothing has asked for.
    void refuse_unread(config_fields& fields, const nlohmann::json& object, std::string_view path) {
        for (const auto& [key, value] : object.items())
            if (!fields.was_read(key.c_str()))
                fields.fail(refused(error_code::unknown, std::string{path} + "." + key, shown(value),
                                    "a field of a model's shape (docs/program.md)"));
        keep(fields);
    }

    attention read_attention(config_fields& top, std::int64_t hidden) {
        const nlohmann::json* given = top.object("attention");
        if (given == nullptr) {
            top.fail(error_code::missing, "attention", "an object with heads");
            return {};
        }
        config_fields in{*given, "model.attention"};
        attention a;
        const bool latent = in.has("kv_rank");
        a.kind = latent ? attention_kind::latent : attention_kind::grouped;
        a.heads = in.number("heads", 1, 65536);
        a.kv_heads = in.number_or("kv_heads", a.heads, 1, 65536);
        a.head_dim = in.number_or("head_dim", std::max<std::int64_t>(hidden / a.heads, 1), 1, 65536);
        a.qkv_bias = in.flag_or("qkv_bias", false);
        a.output_bias = in.flag_or("output_bias", false);
        constexpr std::array<std::string_view, 3> norms{"none", "shared", "full"};
        a.qk_norm = chosen(in, "qk_norm", norms, query_key_norm::none);
        a.window = tokens(in.number_or("window", 0, 0, std::int64_t{1} << 40));
        a.kv_rank = in.number_or("kv_rank", 0, 1, widest);
        if (latent) {
            a.q_rank = in.number_or("q_rank", 0, 0, widest);
            a.rope_dim = in.number_or("rope_dim", 0, 0, 65536);
            a.value_dim = in.number_or("value_dim", 0, 0, 65536);
        }
        refuse_unread(in, *given, "model.attention");
        return a;
    }

    feed_forward read_feed_forward(config_fields& top) {
        const nlohmann::json* given = top.object("feed_forward");
        if (given == nullptr) return no_feed_forward;
        config_fields in{*given, "model.feed_forward"};
        feed_forward f;
        constexpr std::array<std::string_view, 3> kinds{"none", "gated", "plain"};
        f.kind = chosen(in, "kind", kinds, feed_forward_kind::gated);
        f.width = in.number_or("width", 0, 1, widest);
        f.bias = in.flag_or("bias", false);
        if (const nlohmann::json* of_experts = in.object("experts")) {
            config_fields e{*of_experts, "model.feed_forward.experts"};
            f.experts = {.count = e.number("count", 1, 65536),
                         .per_token = e.number("per_token", 1, 65536),
                         .width = e.number("width", 1, widest),
                         .shared_width = e.number_or("shared_width", 0, 0, widest),
                         .shared_gate = e.flag_or("shared_gate", false),
                         .latent = e.number_or("latent", 0, 0, widest)};
            refuse_unread(e, *of_experts, "model.feed_forward.experts");
        }
        refuse_unread(in, *given, "model.feed_forward");
        return f;
    }

    recurrent read_recurrent(config_fields& top) {
        const nlohmann::json* given = top.object("recurrent");
        if (given == nullptr) return {};
        config_fields in{*given, "model.recurrent"};
        recurrent r{.kind = recurrent_kind::mamba2,
                    .heads = in.number("heads", 1, widest),
                    .head_dim = in.number("head_dim", 1, 65536),
                    .key_heads = in.number("key_heads", 1, 65536),
                    .state = in.number("state", 1, 65536),
                    .kernel = in.number_or("kernel", 4, 0, 65536),
                    .chunk = in.number_or("chunk", 256, 1, 65536),
                    .conv_bias = in.flag_or("conv_bias", true)};
        refuse_unread(in, *given, "model.recurrent");
        return r;
    }

    /// Equal layers; with experts, the first `dense_layers` of them without.
    void add_layers(config_fields& top, const layer& whole, model& m) {
        const auto count = static_cast<std::int32_t>(top.number("layers", 1, layer_stack::max_layers));
        layer dense = whole;
        dense.feed_forward.experts = {};
        layer routed = whole;
        if (!routed.feed_forward.routed()) {
            m.layers.append(count, whole);
            return;
        }
        routed.feed_forward.width = 0;
        const auto first = static_cast<std::int32_t>(top.number_or("dense_layers", 0, 0, count));
        if (first > 0) m.layers.append(first, dense);
        m.layers.append(count - first, routed);
    }

    /// What letters ask for, as in Megatron-Core's hybrid-layer-pattern: M Mamba 2, * attention, - a feed-forward, E
    /// experts. A layer has one; a depth that predicts further tokens may have two, one after the other.
    static layer lettered(std::string_view letters, const layer& whole, const recurrent& scan) {
        const auto has = [&](char letter) { return letters.find(letter) != std::string_view::npos; };
        layer l = whole;
        if (!has('*')) l.attention = no_attention;
        if (has('M')) l.recurrent = scan;
        if (has('E'))
            l.feed_forward.width = 0;
        else
            l.feed_forward.experts = {};
        if (!has('E') && !has('-')) l.feed_forward = no_feed_forward;
        l.norm_before_attention = has('*') || has('M');
        l.norm_before_feed_forward = l.feed_forward.kind != feed_forward_kind::none;
        return l;
    }
    /// Layers by letters, and those that predict further tokens.
    void add_letters(config_fields& top, const layer& whole, const recurrent& scan, model& m) {
        const std::string_view letters = top.text_or("layers", "");
        const auto known = [&](std::string_view some) {
            return !some.empty() && some.find_first_not_of("M*-E") == std::string_view::npos &&
                   (scan.kind != recurrent_kind::none || some.find('M') == std::string_view::npos) &&
                   (whole.feed_forward.routed() || some.find('E') == std::string_view::npos);
        };
        if (!known(letters) || letters.size() > layer_stack::max_layers)
            return top.fail(error_code::malformed, "layers",
                            "letters for at most 256 layers: M (with recurrent), *, - and E (with experts)");
        for (const char& letter : letters) m.layers.append(1, lettered({&letter, 1}, whole, scan));
        const nlohmann::json* given = top.object("prediction");
        if (given == nullptr) return;
        config_fields in{*given, "model.prediction"};
        m.prediction.layers = static_cast<std::int32_t>(in.number("layers", 1, layer_stack::max_layers));
        const std::string_view block = in.text_or("block", "");
        if (!known(block)) in.fail(error_code::malformed, "block", "letters, as those of model.layers");
        m.prediction.block = lettered(block, whole, scan);
        refuse_unread(in, *given, "model.prediction");
    }

    const nlohmann::json& object_;
    llmres::error error_{};
};

}  // namespace llmres::inline v0::detail
