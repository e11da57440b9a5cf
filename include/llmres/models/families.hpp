// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/values/maybe.hpp>
#include <string_view>

/// Families of models: one row each for what hangs on the name, and on nothing that a configuration says.
namespace llmres::inline v0 {

/// Layout of a family in a GGUF file, and its types (llama.cpp: llama-arch.cpp, llama-model.cpp, llama-quant.cpp).
struct gguf_family {
    bool joined_heads = false;        ///< queries, keys and values are one tensor
    bool joined_gate = false;         ///< gate and way up are one tensor
    bool falcon_types = false;        ///< the output matrix and the way down have types of their own
    bool wider_values_at_80 = false;  ///< of 80 layers with grouped-query attention, values have wider types
};

/// A family of models.
struct family {
    std::string_view architecture{};   ///< Hugging Face's `model_type`
    maybe<modeling> modules{};         ///< how transformers writes them; unknown: not read, and computed as Llama's
    gguf_family gguf{};                ///< in a GGUF file
    bool stores_joined_heads = false;  ///< checkpoints have one matrix of queries, keys and values, which AutoAWQ's
                                       ///< fused modules take as it is (awq/models/falcon.py, mpt.py)
};

/// The row of a model's family. One without modules, where no row has its name.
constexpr const family& family_of(const model& m);

/// The modules of a model's architecture: Llama's, where its own are not known.
constexpr const modeling& modeling_of(const model& m);

/// True if the modules of its architecture are known. A model without an architecture is what its layers say.
constexpr bool is_described(const model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr family unknown_family{};
/// Qwen3-Next's modules.
inline constexpr modeling roberta_modules{
    .norms = {.after_sum = true},
    .attention = {.causal = false, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
    .loss = {.fp32_logits = false},
    .dropout = {.embedding = true, .classifier = true},
    .saved_indices = 1};
inline constexpr modeling qwen3_next_modules{.norms = {.form = norm_form::wide_weight},
                                             .attention = {.gated_queries = true, .heads_first = true},
                                             .feed_forward = {.shared_first = true}};
/// Qwen3.5's, which make by four products what those make by two.
inline constexpr modeling qwen3_5_modules = [] {
    modeling m = qwen3_next_modules;
    m.separate_projections = true;
    return m;
}();
inline constexpr std::array all_families{
    // Their modules keep what Llama's do: tracked, or with the same modeling code but for their names.
    family{.architecture = "llama", .modules = modeling{}, .gguf = {.wider_values_at_80 = true}},
    family{.architecture = "Yi", .modules = modeling{}},
    family{.architecture = "aquila", .modules = modeling{}},
    family{.architecture = "mistral", .modules = modeling{}},
    family{.architecture = "ministral", .modules = modeling{}},
    family{.architecture = "qwen2", .modules = modeling{}, .gguf = {.wider_values_at_80 = true}},
    family{.architecture = "qwen3", .modules = modeling{}},
    family{.architecture = "qwen3_moe", .modules = modeling{}},
    family{.architecture = "olmoe", .modules = modeling{}},
    family{.architecture = "smollm3", .modules = modeling{}},
    family{.architecture = "seed_oss", .modules = modeling{}},
    family{.architecture = "starcoder2", .modules = modeling{}},
    family{.architecture = "qwen2_vl_text", .modules = modeling{}},
    family{.architecture = "qwen2_5_vl_text", .modules = modeling{}},
    family{.architecture = "qwen3_vl_text", .modules = modeling{}},
    family{.architecture = "qwen3_vl_moe_text", .modules = modeling{}},
    // Their modules are others.
    family{.architecture = "gemma", .modules = modeling{.norms = {.form = norm_form::wide_weight}}},
    family{.architecture = "gemma2",
           .modules = modeling{.norms = {.form = norm_form::wide_weight},
                               .attention = {.caps_scores = true},
                               .loss = {.caps_logits = true}}},
    family{.architecture = "gemma3_text",
           .modules = modeling{.norms = {.form = norm_form::wide_weight}, .attention = {.rotary_tables = 2}}},
    family{
        .architecture = "phi3",
        .modules = modeling{.attention = {.joined_heads = true, .heads_first = true}, .feed_forward = {.joined = true}},
        .gguf = {.joined_heads = true, .joined_gate = true}},
    family{.architecture = "gpt2",
           .modules =
               modeling{
                   .norms = {.registered_first = true},
                   .attention = {.joined_heads = true, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
                   .feed_forward = {.plain_activation = activation_form::composed},
                   .dropout = {.embedding = true},
                   .frames = {.embeddings = 2,
                              .shared_positions = true,
                              .attention_output = true,
                              .casts_probabilities = true},
                   .saved_indices = 1},
           .gguf = {.joined_heads = true}},
    family{.architecture = "gpt_neox",
           .modules = modeling{.norms = {.one_input = true, .registered_first = true},
                               .attention = {.joined_heads = true, .heads_first = true}},
           .gguf = {.joined_heads = true}},
    family{.architecture = "opt",
           .modules = modeling{.attention = {.rotary = false},
                               .feed_forward = {.plain_activation = activation_form::from_output},
                               .dropout = {.probabilities = false},
                               .frames = {.embeddings = 2, .frees_normed = true},
                               .saved_indices = 1}},
    family{.architecture = "bloom",
           .modules = modeling{.attention = {.joined_heads = true, .rotary = false},
                               .feed_forward = {.plain_activation = activation_form::function},
                               .frames = {.joined_heads = true, .plain_scores = true, .earlier_probabilities = true}},
           .gguf = {.joined_heads = true}},
    family{.architecture = "falcon",
           .modules = modeling{.norms = {.one_input = true},
                               .attention = {.joined_heads = true,
                                             .softmax = softmax_format::as_autocast_has_it,
                                             .given = {.mask = true, .copied_values = true}},
                               .frames = {.plain_scores = true},
                               .multiplies_views = true},
           .gguf = {.joined_heads = true, .falcon_types = true},
           .stores_joined_heads = true},
    family{.architecture = "arcee",
           .modules = modeling{.feed_forward = {.plain_activation = activation_form::squared}}},
    family{.architecture = "nemotron",
           .modules = modeling{.norms = {.casts_input = true},  // NemotronLayerNorm1P, _cast_if_autocast_enabled
                               .attention = {.heads_first = true},
                               .feed_forward = {.plain_activation = activation_form::squared}}},
    family{.architecture = "qwen2_moe", .modules = modeling{.feed_forward = {.shared_first = true}}},
    family{.architecture = "deepseek_v2",
           .modules = modeling{.feed_forward = {.fp32_router = true, .fp32_scores = true}}},
    family{.architecture = "deepseek_v3",
           .modules = modeling{.feed_forward = {.fp32_router = true, .fp32_scores = true}}},
    // Kimi K2 ships DeepSeek-V3's modeling code, whose router refuses to train (modeling_deepseek.py, MoEGate: assert
    // not self.training); its guide names the type deepseek_v3 for software that does not know its own
    // (docs/deploy_guidance.md), which is transformers' code.
    family{.architecture = "kimi_k2", .modules = modeling{.feed_forward = {.fp32_router = true, .fp32_scores = true}}},
    family{.architecture = "mixtral", .modules = modeling{.feed_forward = {.fp32_scores = true}}},
    family{.architecture = "bert",
           .modules =
               modeling{.norms = {.after_sum = true},
                        .attention = {.causal = false, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
                        .loss = {.fp32_logits = false},
                        .dropout = {.embedding = true}}},
    family{.architecture = "vit",
           .modules = modeling{.attention = {.causal = false, .rotary = false},
                               .loss = {.fp32_logits = false},
                               .class_token = true}},
    family{.architecture = "t5",
           .modules =
               modeling{
                   .norms = {.form = norm_form::narrow_scale},
                   .attention = {.softmax = softmax_format::as_autocast_has_it, .biased_scores = true, .rotary = false},
                   .feed_forward = {.activation = activation_form::composed,
                                    .plain_activation = activation_form::from_output},
                   .loss = {.fp32_logits = false},
                   .dropout = {.inner = true, .embedding = true, .final = true},
                   .frames = {.embeddings = 1}}},
    family{
        .architecture = "whisper",
        .modules =
            modeling{.attention = {.heads_first = true, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
                     .loss = {.fp32_logits = false},
                     .frames = {.embeddings = 2, .frees_normed = true},
                     .saved_indices = 1,
                     .fixed_positions = true}},
    family{.architecture = "roberta", .modules = roberta_modules},
    // modeling_xlm_roberta.py and modeling_camembert.py are made from modeling_roberta.py.
    family{.architecture = "xlm-roberta", .modules = roberta_modules},
    family{.architecture = "camembert", .modules = roberta_modules},
    family{.architecture = "glm",
           .modules = modeling{.attention = {.heads_first = true}, .feed_forward = {.joined = true}},
           .gguf = {.joined_gate = true}},
    family{.architecture = "glm4",
           .modules = modeling{.attention = {.heads_first = true}, .feed_forward = {.joined = true}},
           .gguf = {.joined_gate = true}},
    family{.architecture = "stablelm",
           .modules = modeling{.attention = {.heads_first = true},
                               .frames = {.attention_input = true, .attention_output = true}}},
    family{.architecture = "phi",
           .modules = modeling{.norms = {.one_input = true},
                               .attention = {.heads_first = true},
                               .feed_forward = {.plain_activation = activation_form::composed}},
           .gguf = {.joined_heads = true}},
    family{.architecture = "gptj",
           .modules = modeling{.norms = {.one_input = true, .registered_first = true},
                               .attention = {.fp32_heads = true},
                               .feed_forward = {.plain_activation = activation_form::composed},
                               .frames = {.earlier_probabilities = true}}},
    family{
        .architecture = "olmo",
        .modules = modeling{.norms = {.form = norm_form::wide_kernel}, .attention = {.given = {.fp32_tables = true}}}},
    family{
        .architecture = "olmo2",
        .modules = modeling{.norms = {.form = norm_form::wide_product}, .attention = {.given = {.fp32_tables = true}}}},
    family{.architecture = "cohere",
           .modules =
               modeling{.norms = {.form = norm_form::wide_mean, .one_input = true}, .loss = {.scales_logits = true}}},
    family{.architecture = "granite", .modules = modeling{.loss = {.scales_logits = true}, .scales_embedding = true}},
    family{.architecture = "gpt_oss",
           .modules = modeling{.norms = {.form = norm_form::wide_product},
                               .attention = {.softmax = softmax_format::of_scores},
                               .feed_forward = {.clamped_experts = true},
                               .frames = {.plain_scores = true}}},
    family{.architecture = "gpt_bigcode",
           .modules = modeling{.norms = {.registered_first = true},
                               .attention = {.joined_heads = true, .rotary = false},
                               .dropout = {.embedding = true},
                               .frames = {.embeddings = 2, .shared_positions = true, .attention_output = true},
                               .mask_table = mask_buffer::one,
                               .saved_indices = 1},
           .gguf = {.joined_heads = true}},
    family{.architecture = "gpt_neo",
           .modules = modeling{.attention = {.fp32_heads = true, .rotary = false},
                               .feed_forward = {.plain_activation = activation_form::composed},
                               .frames = {.embeddings = 2,
                                          .shared_positions = true,
                                          .attention_output = true,
                                          .earlier_probabilities = true},
                               .mask_table = mask_buffer::each_layer,
                               .saved_indices = 1}},
    family{.architecture = "mamba2", .modules = modeling{.loss = {.returns_fp32 = true}, .fp32_residual = true}},
    family{.architecture = "bamba", .modules = modeling{.attention = {.heads_first = true}}},
    family{.architecture = "qwen3_next", .modules = qwen3_next_modules},
    family{.architecture = "qwen3_5_text", .modules = qwen3_5_modules},
    family{.architecture = "qwen3_5", .modules = qwen3_5_modules},
    family{.architecture = "qwen3_5_moe_text", .modules = qwen3_5_modules},
    family{.architecture = "qwen3_5_moe", .modules = qwen3_5_modules},
    // Nobody has read or tracked how their modules are written.
    family{.architecture = "RefinedWeb",
           .gguf = {.joined_heads = true, .falcon_types = true},
           .stores_joined_heads = true},
    family{.architecture = "RefinedWebModel",
           .gguf = {.joined_heads = true, .falcon_types = true},
           .stores_joined_heads = true},
    family{.architecture = "mpt", .gguf = {.joined_heads = true}, .stores_joined_heads = true},
    family{.architecture = "qwen", .gguf = {.joined_heads = true}},
    family{.architecture = "dbrx", .gguf = {.joined_heads = true}},
    family{.architecture = "chatglm", .gguf = {.joined_heads = true, .joined_gate = true}},
    family{.architecture = "codeshell", .gguf = {.joined_heads = true}},
    family{.architecture = "qwen2_vl", .gguf = {.wider_values_at_80 = true}},
    family{.architecture = "qwen2_5_vl", .gguf = {.wider_values_at_80 = true}},
    family{.architecture = "nemotron-nas", .gguf = {.wider_values_at_80 = true}},
    family{.architecture = "deci", .gguf = {.wider_values_at_80 = true}},
};

/// True if each family has one row.
constexpr bool has_one_row_each() {
    for (std::size_t i = 0; i < all_families.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (all_families[i].architecture == all_families[k].architecture) return false;
    return true;
}
static_assert(has_one_row_each());

}  // namespace detail

constexpr const family& family_of(const model& m) {
    for (const family& one : detail::all_families)
        if (m.architecture == one.architecture) return one;
    return detail::unknown_family;
}

constexpr const modeling& modeling_of(const model& m) { return family_of(m).modules.value; }

constexpr bool is_described(const model& m) {
    return !m.from_tensors && (m.architecture.empty() || family_of(m).modules.known);
}

}  // namespace llmres::inline v0
