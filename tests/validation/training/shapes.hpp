// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llmres/models/all.hpp>
#include <string>
#include <utility>

#include "../words.hpp"
#include "run.hpp"

/// The models of published training runs.
namespace training_runs {

using namespace llmres;
using namespace words;

/// What Megatron-Core was told of its model.
inline void add_megatron_shape(const cells& c, model& m, layer& l) {
    const bool bias = c.number("bias") != 0;
    l.norm = c.text("norm") == "RMSNorm" ? norm_kind::rms : norm_kind::layer;
    l.feed_forward.kind = c.number("glu") != 0 ? feed_forward_kind::gated : feed_forward_kind::plain;
    l.feed_forward.bias = l.attention.qkv_bias = l.attention.output_bias = bias;
    if (c.number("qk_norm") != 0 && c.number("kv_rank") == 0) l.attention.qk_norm = query_key_norm::shared;
    m.tied_head = c.number("tied") != 0;
    if (c.number("positions") > 0)
        m.add({.role = weight_role::positions, .rows = c.number("positions"), .columns = m.hidden});
    if (c.number("kv_rank") > 0) {
        l.attention.kind = attention_kind::latent;
        l.attention.q_rank = c.number("q_rank");
        l.attention.kv_rank = c.number("kv_rank");
        l.attention.rope_dim = c.number("rope_dim");
        l.attention.value_dim = c.number("v_dim");
    }
}

/// A Mamba 2 layer of Megatron-Core: its chunks are of 128 tokens (megatron/core/ssm/mamba_mixer.py).
inline recurrent megatron_scan(const cells& c) {
    return {.kind = recurrent_kind::mamba2,
            .heads = c.number("mamba_heads"),
            .head_dim = c.number("mamba_head_dim"),
            .key_heads = c.number("mamba_groups"),
            .state = c.number("mamba_state"),
            .kernel = 4,
            .chunk = 128,
            .conv_bias = true};
}

/// What letters of a hybrid model's layers ask for: M, * and - or E, of which a layer has one; that which predicts
/// further tokens may have two, one after the other (megatron/core/models/hybrid/hybrid_layer_allocation.py).
inline layer hybrid_layer(const cells& c, const std::string& letters, const layer& dense, const experts& routed) {
    layer l = dense;
    if (!has(letters, "*")) l.attention = no_attention;
    if (has(letters, "M")) l.recurrent = megatron_scan(c);
    if (has(letters, "E"))
        l.feed_forward.width = 0, l.feed_forward.experts = routed;
    else if (!has(letters, "-"))
        l.feed_forward = no_feed_forward;
    const bool mixes = has(letters, "*") || has(letters, "M");
    l.norm_before_attention = mixes;
    l.norm_before_feed_forward = l.feed_forward.kind != feed_forward_kind::none;
    return l;
}

/// The layers of a hybrid model, one a letter.
inline void add_hybrid_layers(const cells& c, const layer& dense, const experts& routed, model& m) {
    for (const char letter : c.text("pattern")) m.layers.append(1, hybrid_layer(c, {letter}, dense, routed));
    if (!c.text("mtp_pattern").empty())
        m.prediction = {.layers = static_cast<std::int32_t>(c.number("mtp")),
                        .block = hybrid_layer(c, c.text("mtp_pattern"), dense, routed)};
}

/// What the notes say of an architecture: "GPT-NeoX parallel residual; LayerNorm; GELU; untied".
inline void add_noted_shape(const cells& c, model& m, layer& l) {
    const std::string notes = c.text("notes");
    const std::string arch = has(notes, "arch: ")            ? notes.substr(notes.find("arch: ") + 6)
                             : has(c.text("model"), "BLOOM") ? "GELU, tied"
                                                             : notes;
    m.tied_head = has(arch, "tied") && !has(arch, "untied");
    l.attention.qkv_bias = has(arch, "qkv bias");
    if (has(arch, "qk-norm")) l.attention.qk_norm = query_key_norm::shared;
    if (has(arch, "head_dim ")) l.attention.head_dim = std::atoll(arch.c_str() + arch.find("head_dim ") + 9);
    if (has(arch, "GELU") || has(arch, "LayerNorm")) {
        l.norm = norm_kind::layer;
        l.feed_forward.kind = feed_forward_kind::plain;
        l.feed_forward.bias = l.attention.output_bias = l.attention.qkv_bias = true;
    }
    if (has(arch, "GPT-NeoX")) m.architecture = "gpt_neox";
    if (has(arch, "gpt_bigcode")) m.add({.role = weight_role::positions, .rows = 2048, .columns = m.hidden});
    if (std::int64_t count = 0, chosen = 0; std::sscanf(arch.c_str(), "%ld experts top-%ld", &count, &chosen) == 2)
        l.feed_forward.experts = {.count = count, .per_token = chosen, .width = std::exchange(l.feed_forward.width, 0)};
}

/// The library's model of that name, if its columns agree; else what columns and notes tell.
inline model shape_of(const cells& c) {
    const auto count = static_cast<std::int32_t>(c.number("layers"));
    if (const result<model> known = find_model(c.text("model")); known && known->hidden == c.number("hidden") &&
                                                                 known->layers.size == count &&
                                                                 known->vocabulary == c.number("vocab"))
        return *known;
    model m{.name = "measured", .architecture = "llama", .vocabulary = c.number("vocab"), .hidden = c.number("hidden")};
    layer l;
    l.attention.heads = c.number("heads");
    l.attention.kv_heads = c.number("kv_heads", l.attention.heads);
    l.attention.head_dim = c.number("head_dim", m.hidden / l.attention.heads);
    l.feed_forward.width = c.number("ffn");
    if (c.text("series").starts_with("megatron"))
        add_megatron_shape(c, m, l);
    else
        add_noted_shape(c, m, l);
    layer dense = l;
    std::int64_t moe_layers = c.number("moe_layers");
    if (c.number("experts") > 0)
        l.feed_forward.experts = {.count = c.number("experts"),
                                  .per_token = c.number("topk"),
                                  .width = c.number("moe_ffn"),
                                  .shared_width = c.number("shared_ffn"),
                                  .latent = c.number("moe_latent")};
    if (has(c.text("notes"), "MLA kv_lora")) {
        std::int64_t rank = 0, key = 0, rope = 0, value = 0, first = 0, experts = 0, width = 0, chosen = 0, shared = 0;
        const std::string notes = c.text("notes");
        if (std::sscanf(
                notes.c_str() + notes.find("MLA kv_lora"),
                "MLA kv_lora %ld nope%ld rope%ld v%ld; %ld dense + %ld MoE layers; %ld routed(%ld) top%ld + %ld shared",
                &rank, &key, &rope, &value, &first, &moe_layers, &experts, &width, &chosen, &shared) == 10) {
            dense.attention = l.attention = {.kind = attention_kind::latent,
                                             .heads = l.attention.heads,
                                             .kv_heads = l.attention.heads,
                                             .head_dim = key,
                                             .kv_rank = rank,
                                             .rope_dim = rope,
                                             .value_dim = value};
            l.feed_forward.experts = {
                .count = experts, .per_token = chosen, .width = width, .shared_width = shared * width};
        }
    }
    if (!c.text("pattern").empty()) {
        add_hybrid_layers(c, dense, l.feed_forward.experts, m);
        m.final_norm = l.norm;
        return m;
    }
    if (l.feed_forward.routed()) l.feed_forward.width = 0;
    const auto routed = static_cast<std::int32_t>(l.feed_forward.routed() && moe_layers > 0 ? moe_layers : count);
    m.final_norm = l.norm;
    if (count > routed) m.layers.append(count - routed, dense);
    m.layers.append(routed, l);
    return m;
}

}  // namespace training_runs
