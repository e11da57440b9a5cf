// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/models/all.hpp>
#include <optional>
#include <string>
#include <utility>

#include "../words.hpp"

/// The models of measured serving memory: presets under the names that people give them, and shapes of models that are
/// none.
namespace serving {

using namespace llmres;
using namespace words;

/// The model that a row names; none where it is no preset and its shape is not here.
inline std::optional<model> model_of(const std::string& written);

// ---- shapes from config.json ----------------------------------------------------------------------------------------

struct shape {
    std::int32_t layers;
    std::int64_t hidden, heads, kv_heads, head_dim, width, vocabulary;
    bool tied = false;   ///< the head is the embedding
    bool bias = false;   ///< of queries, keys and values
    bool plain = false;  ///< the feed-forward block has two matrices
};

/// A model whose written name has the words.
struct named_shape {
    const char* word;
    const char* name;
    serving::shape shape;
    const char* also = "";
};

// clang-format off
inline constexpr named_shape shapes[] = {
    //                                          layers hidden heads kv dim  width  vocabulary tied bias plain
    {"qwen-1.8b",          "qwen-1.8b",          {24,  2048,  16,  16, 128,  5504, 151936, false, true}},
    {"qwen-7b",            "qwen-7b",            {32,  4096,  32,  32, 128, 11008, 151936, false, true}},
    {"qwen-14b",           "qwen-14b",           {40,  5120,  40,  40, 128, 13696, 152064, false, true}},
    {"qwen-72b",           "qwen-72b",           {80,  8192,  64,  64, 128, 24576, 152064, false, true}},
    {"qwen1.5-72b",        "qwen1.5-72b",        {80,  8192,  64,  64, 128, 24576, 152064, false, true}},
    {"mpt-7b",             "mpt-7b",             {32,  4096,  32,  32, 128, 16384,  50432, true, false, true}},
    {"mpt-30b",            "mpt-30b",            {48,  7168,  64,  64, 112, 28672,  50432, true, false, true}},
    {"falcon-7b",          "falcon-7b",          {32,  4544,  71,   1,  64, 18176,  65024, true, false, true}},
    {"falcon-40b",         "falcon-40b",         {60,  8192, 128,   8,  64, 32768,  65024, true, false, true}},
    {"deepseek-coder-33b", "deepseek-coder-33b", {62,  7168,  56,   8, 128, 19200,  32256}},
    {"chatglm2-6b",        "chatglm2-6b",        {28,  4096,  32,   2, 128, 13696,  65024, false, true}},
    {"chatglm3-6b",        "chatglm2-6b",        {28,  4096,  32,   2, 128, 13696,  65024, false, true}},
    {"glm-4-9b-chat-1m",   "glm-4-9b-1m",        {40,  4096,  32,   4, 128, 13696, 151552, false, true}},
    {"glm-4-9b",           "glm-4-9b",           {40,  4096,  32,   2, 128, 13696, 151552, false, true}},
    {"glm-4-32b",          "glm-4-32b",          {61,  6144,  48,   2, 128, 23040, 151552}},
    {"glm z1 32b",         "glm-4-32b",          {61,  6144,  48,   2, 128, 23040, 151552}},
    {"baichuan2-7b",       "baichuan2-7b",       {32,  4096,  32,  32, 128, 11008, 125696}},
    {"baichuan2-13b",      "baichuan2-13b",      {40,  5120,  40,  40, 128, 13696, 125696}},
    {"openllama-3b",       "openllama-3b",       {26,  3200,  32,  32, 100,  8640,  32000}},
};
// clang-format on

inline model of_shape(const char* name, const shape& s) {
    model m;
    m.name = name;
    m.vocabulary = s.vocabulary;
    m.hidden = s.hidden;
    m.tied_head = s.tied;
    layer l;
    l.attention = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.head_dim, .qkv_bias = s.bias};
    l.feed_forward = {.kind = s.plain ? feed_forward_kind::plain : feed_forward_kind::gated, .width = s.width};
    m.layers = layer_stack(s.layers, l);
    return m;
}

inline model glm_4v_9b() {
    model m = of_shape("glm-4v-9b", {40, 4096, 32, 2, 128, 13696, 151552, false, true});
    encoder eva{.hidden = 1792, .layers = 63};  // EVA2-CLIP-E: 4.4 billion parameters
    eva.block.attention = {.heads = 16, .kv_heads = 16, .head_dim = 112, .qkv_bias = true};
    eva.block.feed_forward = {.kind = feed_forward_kind::plain, .width = 15360, .bias = true};
    m.encoders[0] = eva;
    return m;
}

inline model qwen2_57b_a14b() {
    model m = of_shape("qwen2-57b-a14b", {28, 3584, 28, 4, 128, 0, 151936, false, true});
    layer l = m.layers[0];
    l.feed_forward.experts = {.count = 64, .per_token = 8, .width = 2560, .shared_width = 20480, .shared_gate = true};
    m.layers = layer_stack(28, l);
    return m;
}

inline model gpt_oss_20b() {
    model m = of_shape("gpt-oss-20b", {24, 2880, 64, 8, 64, 0, 201088, false, true});
    layer l = m.layers[0];
    l.attention.output_bias = l.attention.sinks = true;
    l.attention.window = tokens(128);
    l.feed_forward.bias = true;
    l.feed_forward.experts = {.count = 32, .per_token = 4, .width = 2880, .router_bias = true};
    m.layers = alternating(24, 2, l);
    return m;
}

/// DeepSeek-V3's layers with half the heads, one dense layer and 384 experts.
inline std::optional<model> kimi_k2() {
    const auto v3 = find_model("deepseek-v3");
    if (!v3) return {};
    model m = *v3;
    layer_stack stack;
    for (int i = 0; i < m.layers.size; ++i) {
        layer l = m.layers[i];
        l.attention.heads = 64;
        if (i > 0 && !l.feed_forward.routed()) l = stack.size > 1 ? stack[1] : l;
        if (l.feed_forward.routed()) l.feed_forward.experts.count = 384;
        stack.append(1, l);
    }
    m.layers = stack;
    m.vocabulary = 163840;
    m.name = "kimi-k2";
    return m;
}

inline std::optional<model> shaped(const std::string& n) {
    for (const named_shape& s : shapes)
        if (has(n, s.word) && has(n, s.also)) return of_shape(s.name, s.shape);
    if (has(n, "glm-4v-9b")) return glm_4v_9b();
    if (has(n, "qwen2-57b")) return qwen2_57b_a14b();
    if (has(n, "gpt-oss-20b")) return gpt_oss_20b();
    if (has(n, "kimi-k2")) return kimi_k2();
    return {};
}

// ---- presets --------------------------------------------------------------------------------------------------------

/// What a name begins with, and the preset it means.
// clang-format off
inline constexpr std::pair<const char*, const char*> other_names[] = {
    {"deepseek-r1-distill",      "r1-distill"},
    {"deepseek-r1",              "deepseek-r1"},
    {"deepseek-v3",              "deepseek-v3"},
    {"deepseek-llm-7b",          "deepseek-llm-7b"},
    {"llama-33b",                "llama-30b"},
    {"qwen3-235b-a22b",          "qwen3-235b-a22b"},
    {"mistral-small-3.",         "mistral-small-3.1-24b"},
    {"mistral-small-3",          "mistral-small-24b"},
    {"mistral-7b-instruct-v0.1", "mistral-7b-v0.1"},
    {"mistral-7b-instruct",      "mistral-7b-v0.3"},
    {"mistral-7b",               "mistral-7b-v0.1"},
    {"qwen3-reranker-0.6b",      "qwen3-0.6b"},
    {"qwen2-0.5b",               "qwen2.5-0.5b"},
    {"qwen2-1.5b",               "qwen2.5-1.5b"},
    {"qwen2-72b",                "qwen2.5-72b"},
    {"mixtral-8x7b",             "mixtral-8x7b"},
    {"llama-3.1-8b",             "llama-3.1-8b"},
    {"granite-3.1-8b",           "granite-3.3-8b"},
    {"granite-3.1-2b",           "granite-3.0-2b"},
};
// clang-format on

inline std::string preset_name(const std::string& n) {
    for (const auto& [from, to] : other_names)
        if (n.starts_with(from)) {
            const bool distilled = std::string{to} == "r1-distill";  // of which model, the rest says
            return distilled ? to + n.substr(std::string{from}.size()) : to;
        }
    return n;
}

inline std::optional<model> model_of(const std::string& written) {
    std::string n = lower(written);
    if (const auto open = n.find(" ("); open != std::string::npos) n.resize(open);
    if (const auto open = n.find('('); open != std::string::npos) n.resize(open);
    if (auto m = shaped(n)) return m;
    std::replace(n.begin(), n.end(), ' ', '-');
    std::replace(n.begin(), n.end(), '_', '-');
    for (const char* head : {"meta-", "ibm-granite-", "unsloth-"})
        if (n.starts_with(head)) n.erase(0, std::string{head}.size());
    std::string best = preset_name(n);
    while (!best.empty()) {  // drop "-instruct", "-chat", "-0528" from the end until a preset is met
        if (const auto m = find_model(best)) return *m;
        const auto dash = best.rfind('-');
        if (dash == std::string::npos) break;
        best.resize(dash);
    }
    return {};
}

}  // namespace serving
