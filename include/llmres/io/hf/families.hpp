// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/io/hf/defaults.hpp>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/hf/encoders/bart.hpp>
#include <llmres/io/hf/encoders/bert.hpp>
#include <llmres/io/hf/encoders/encoders.hpp>
#include <llmres/io/hf/experts.hpp>
#include <llmres/io/hf/gemma.hpp>
#include <llmres/io/hf/gpt.hpp>
#include <llmres/io/hf/hybrid.hpp>
#include <llmres/io/hf/latent.hpp>
#include <llmres/io/hf/mixed.hpp>
#include <llmres/io/hf/quantization/config.hpp>
#include <llmres/io/hf/rare.hpp>
#include <llmres/io/hf/vision/clip.hpp>
#include <llmres/io/hf/vision/image_to_text.hpp>
#include <llmres/io/hf/vision/known_towers.hpp>
#include <llmres/io/hf/vision/own_towers.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/nearest.hpp>
#include <string>
#include <string_view>

/// Every `model_type` with the function that reads its config.json, and what the readers have in common.
namespace llmres::inline v0::detail::hf {

/// A `model_type` with the function that reads its config.json.
struct family {
    std::string_view model_type;
    model (*read)(config_fields&);
    constexpr operator std::string_view() const { return model_type; }  // NOLINT(google-explicit-constructor)
};

// clang-format off
inline constexpr std::array families{
    // dense
    family{"llama", read_llama}, family{"Yi", read_llama}, family{"aquila", read_llama},
    family{"internlm", read_plain_llama}, family{"internlm2", read_plain_llama}, family{"internlm3", read_internlm3},
    family{"baichuan", read_plain_llama}, family{"mistral", read_mistral}, family{"ministral", read_mistral},
    family{"ministral3", read_mistral},
    // Phi-3: fused projections have as many values as llama's, and every layer may have a window as in mistral.
    family{"phi3", read_mistral}, family{"granite", read_llama}, family{"smollm3", read_llama},
    family{"ernie4_5", read_ernie4_5}, family{"qwen", read_qwen}, family{"qwen2", read_qwen2},
    family{"qwen2_vl_text", read_qwen2}, family{"qwen2_5_vl_text", read_qwen2}, family{"qwen3", read_qwen3},
    family{"qwen3_vl_text", read_qwen3}, family{"gemma", read_gemma}, family{"gemma2", read_gemma2},
    family{"gemma3_text", read_gemma3_text}, family{"glm", read_glm}, family{"glm4", read_glm4},
    family{"chatglm", read_chatglm}, family{"mimo", read_mimo}, family{"seed_oss", read_seed_oss},
    family{"olmo", read_olmo}, family{"olmo2", read_olmo2}, family{"olmo3", read_olmo2},
    family{"exaone4", read_exaone4}, family{"cohere", read_cohere}, family{"cohere2", read_cohere},
    family{"stablelm", read_stablelm}, family{"stablelm_epoch", read_stablelm}, family{"starcoder2", read_starcoder2},
    family{"nemotron", read_nemotron}, family{"nemotron-nas", read_nemotron_nas}, family{"arcee", read_arcee},
    family{"apertus", read_apertus}, family{"orion", read_orion}, family{"phi", read_phi},
    family{"phi-msft", read_phi}, family{"mixformer-sequential", read_phi}, family{"phi3small", read_phi3small},
    family{"hunyuan", read_hunyuan}, family{"hunyuan_v1_dense", read_hunyuan}, family{"hunyuan_v1_moe", read_hunyuan},
    family{"helium", read_helium}, family{"cwm", read_cwm}, family{"vaultgemma", read_vaultgemma},
    family{"granite_swa", read_granite_swa}, family{"hyperclovax", read_hyperclovax}, family{"jais2", read_nemotron},
    // descended from GPT-2
    family{"gpt2", read_gpt2}, family{"gpt_bigcode", read_gpt_bigcode}, family{"gpt-sw3", read_gpt2},
    family{"openai-gpt", read_openai_gpt}, family{"gpt_neo", read_gpt_neo}, family{"gptj", read_gptj},
    family{"codegen", read_gptj}, family{"gpt_neox", read_gpt_neox},
    family{"gpt_neox_reward_model", read_gpt_neox_reward}, family{"bloom", read_bloom},
    family{"opt", read_opt}, family{"falcon", read_falcon}, family{"RefinedWeb", read_falcon},
    family{"RefinedWebModel", read_falcon}, family{"mpt", read_mpt},
    // routed experts, latent attention
    family{"mixtral", read_mixtral}, family{"phimoe", read_phimoe}, family{"granitemoe", read_granitemoe},
    family{"granitemoeshared", read_granitemoe}, family{"minicpm", read_minicpm},
    family{"minimax_m2", read_minimax_m2}, family{"olmoe", read_olmoe}, family{"gpt_oss", read_gpt_oss},
    family{"grok-1", read_grok}, family{"dbrx", read_dbrx}, family{"qwen2_moe", read_qwen2_moe},
    family{"qwen3_moe", read_qwen3_moe}, family{"qwen3_vl_moe_text", read_qwen3_moe},
    family{"deepseek", read_deepseek}, family{"glm4_moe", read_glm4_moe}, family{"dots1", read_dots1},
    family{"ernie4_5_moe", read_ernie4_5_moe}, family{"llama4_text", read_llama4}, family{"arctic", read_arctic},
    family{"deepseek_v2", read_deepseek_v2}, family{"deepseek_v3", read_deepseek_v3},
    family{"deepseek_v32", read_deepseek_v3}, family{"deepseek_v4", read_deepseek_v4},
    family{"deepseek_ref", read_deepseek_v4}, family{"kimi_k2", read_deepseek_v3},
    family{"glm_moe_dsa", read_glm_moe_dsa}, family{"longcat_flash", read_longcat},
    family{"mimo_v2_flash", read_mimo_v2}, family{"step3p5", read_step3p5}, family{"step3p7", read_step3p5},
    family{"bailing_moe", read_bailing_moe},
    family{"bailing_moe_v2", read_bailing_moe_v2}, family{"exaone_moe", read_exaone_moe},
    family{"flex_olmo", read_flex_olmo}, family{"granitemoe_swa", read_granitemoe_swa}, family{"mellum", read_mellum},
    family{"hy_v3", read_dots1}, family{"glm4_moe_lite", read_glm4_moe_lite}, family{"minicpm3", read_dense_latent},
    family{"youtu", read_dense_latent},
    // recurrences and hybrids
    family{"mamba", read_mamba}, family{"falcon_mamba", read_mamba}, family{"mamba2", read_mamba2},
    family{"jamba", read_jamba}, family{"bamba", read_bamba}, family{"nemotron_h", read_nemotron_h},
    family{"granitemoehybrid", read_granite_hybrid}, family{"qwen3_next", read_qwen3_next},
    family{"qwen3_5_text", read_qwen3_5}, family{"qwen3_5_moe_text", read_qwen3_5},
    family{"minimax_text_01", read_minimax_01}, family{"minimax", read_minimax_01}, family{"lfm2", read_lfm2},
    family{"lfm2_moe", read_lfm2}, family{"rwkv5", read_rwkv5},
    // encoders, and encoders with decoders
    family{"bert", read_bert}, family{"roberta", read_roberta}, family{"xlm-roberta", read_roberta},
    family{"camembert", read_roberta}, family{"distilbert", read_distilbert}, family{"t5", read_t5},
    family{"mt5", read_mt5}, family{"umt5", read_umt5}, family{"bart", read_bart}, family{"mbart", read_mbart},
    family{"whisper", read_whisper}, family{"vit", read_vit}, family{"xlm-roberta-xl", read_xlm_roberta_xl},
    family{"roberta-prelayernorm", read_roberta_prelayernorm}, family{"data2vec-text", read_roberta},
    family{"megatron-bert", read_megatron_bert}, family{"ernie", read_ernie}, family{"electra", read_electra},
    family{"big_bird", read_big_bird}, family{"bert-generation", read_bert_generation},
    family{"roc_bert", read_roc_bert}, family{"nomic_bert", read_nomic_bert}, family{"roformer", read_roformer},
    family{"xmod", read_xmod}, family{"xlm", read_xlm}, family{"xlnet", read_xlnet}, family{"plbart", read_bart},
    family{"mvp", read_mvp}, family{"pegasus", read_pegasus}, family{"marian", read_marian},
    family{"blenderbot", read_pegasus}, family{"blenderbot-small", read_blenderbot_small},
    family{"bigbird_pegasus", read_bigbird_pegasus},
    family{"trocr", read_trocr}, family{"prophetnet", read_prophetnet},
    // decoders that few run
    family{"xglm", read_xglm}, family{"biogpt", read_biogpt}, family{"ctrl", read_ctrl},
    family{"gpt_neox_japanese", read_gpt_neox_japanese}, family{"persimmon", read_persimmon},
    family{"cpmant", read_cpmant}, family{"bitnet", read_bitnet}, family{"diffllama", read_diffllama},
    family{"doge", read_doge}, family{"nanochat", read_nanochat},
    family{"modernbert-decoder", read_modernbert_decoder}, family{"moshi", read_moshi}, family{"jetmoe", read_jetmoe},
    family{"rwkv", read_rwkv4}, family{"xlstm", read_xlstm},
    // of 2025 and 2026
    family{"afmoe", read_afmoe}, family{"aria_text", read_aria_text}, family{"axk1", read_axk1},
    family{"axk2", read_axk2}, family{"mistral4", read_mistral4}, family{"cohere2_moe", read_cohere2_moe},
    family{"laguna", read_laguna}, family{"minimax_m3", read_minimax_m3}, family{"minimax_m3_vl_text", read_minimax_m3},
    family{"solar_open", read_solar_open}, family{"olmo_hybrid", read_olmo_hybrid},
    family{"falcon_h1", read_falcon_h1}, family{"kimi_linear", read_kimi_linear}, family{"hy_v4", read_hy_v4},
    family{"zaya", read_zaya}, family{"inkling_text", read_inkling_text}, family{"gemma3n_text", read_gemma3n_text},
    family{"gemma4_text", read_gemma4_text}, family{"gemma4_unified_text", read_gemma4_unified_text},
    family{"recurrent_gemma", read_recurrent_gemma}, family{"git", read_git},
    // text models inside multimodal ones
    family{"glm4v_text", read_glm4}, family{"glm4v_moe_text", read_glm4_moe}, family{"glm_ocr_text", read_glm4},
    family{"cosmos3_edge_text", read_arcee}, family{"paddleocr_vl_text", read_ernie4_5},
    family{"muse_glimmer_text", read_muse_text}, family{"qwen2_5_omni_text", read_qwen2},
    family{"blip_text_model", read_blip_text}, family{"kosmos_2_text_model", read_kosmos2_text},
    family{"kosmos_2_5_text_model", read_kosmos2_5_text}, family{"pix2struct_text_model", read_pix2struct_text},
    // models with vision towers of their own, and text models that exist only inside multimodal ones
    family{"phi4_multimodal_text", read_mistral},
    family{"phi3_v", read_phi3_vision}, family{"mllama_text_model", read_mllama_text},
    family{"clip_text_model", read_clip_text}, family{"clip_vision_model", read_clip_vision},
    family{"siglip_text_model", read_siglip_text}, family{"siglip_vision_model", read_siglip_vision},
};

// clang-format on

/// A multimodal `model_type`: the type of the text model nested in it where the file does not say, and the function
/// that adds the tower.
struct multimodal_family {
    std::string_view model_type;
    std::string_view text_type;
    void (*add)(config_fields&, model&);
    constexpr operator std::string_view() const { return model_type; }  // NOLINT(google-explicit-constructor)
};

inline constexpr std::array multimodal_families{
    multimodal_family{"gemma3", "gemma3_text", add_gemma3_vision},
    multimodal_family{"paligemma", "gemma", add_paligemma_vision},
    multimodal_family{"llava", "llama", add_llava_vision},
    multimodal_family{"llava_next", "llama", add_llava_next_vision},
    multimodal_family{"llava_onevision", "qwen2", add_llava_next_vision},
    multimodal_family{"mistral3", "mistral", add_mistral3_vision},
    multimodal_family{"ministral3", "ministral3", add_mistral3_vision},
    multimodal_family{"llama4", "llama4_text", add_llama4_vision},
    multimodal_family{"mllama", "mllama_text_model", add_mllama_vision},
    multimodal_family{"qwen2_vl", "qwen2_vl_text", add_qwen2_vision},
    multimodal_family{"qwen2_5_vl", "qwen2_5_vl_text", add_qwen2_5_vision},
    multimodal_family{"qwen3_vl", "qwen3_vl_text", add_qwen3_vision},
    multimodal_family{"qwen3_vl_moe", "qwen3_vl_moe_text", add_qwen3_vision},
    multimodal_family{"qwen3_5", "qwen3_5_text", add_qwen3_5_vision},
    multimodal_family{"qwen3_5_moe", "qwen3_5_moe_text", add_qwen3_5_vision},
    multimodal_family{"idefics3", "llama", add_idefics3_vision},
    multimodal_family{"smolvlm", "llama", add_idefics3_vision},
    multimodal_family{"shieldgemma2", "gemma3_text", add_gemma3_vision},
    multimodal_family{"gemma3n", "gemma3n_text", add_gemma3n_towers},
    multimodal_family{"gemma4", "gemma4_text", add_gemma4_towers},
    multimodal_family{"gemma4_unified", "gemma4_unified_text", add_gemma4_vision},
    multimodal_family{"llava_next_video", "llama", add_llava_next_vision},
    multimodal_family{"video_llava", "llama", add_video_llava_vision},
    multimodal_family{"vipllava", "llama", add_vipllava_vision},
    multimodal_family{"lighton_ocr", "qwen3", add_mistral3_vision},
    multimodal_family{"deepseek_vl", "llama", add_deepseek_vl_vision},
    multimodal_family{"deepseek_vl_hybrid", "llama", add_deepseek_vl_hybrid_vision},
    multimodal_family{"cohere2_vision", "cohere2", add_cohere2_vision},
    multimodal_family{"lfm2_vl", "lfm2", add_lfm2_vl_vision},
    multimodal_family{"cosmos3_edge", "cosmos3_edge_text", add_cosmos3_edge_vision},
    multimodal_family{"cosmos3_omni", "qwen3_vl_text", add_qwen3_vision},
    multimodal_family{"paddleocr_vl", "paddleocr_vl_text", add_paddleocr_vision},
    multimodal_family{"video_llama_3", "qwen2", add_video_llama3_vision},
    multimodal_family{"aria", "aria_text", add_aria_vision},
    multimodal_family{"idefics2", "mistral", add_idefics2_vision},
    multimodal_family{"internvl", "qwen2", add_internvl_vision},
    multimodal_family{"qianfan_ocr", "qwen3", add_qianfan_vision},
    multimodal_family{"glm4v", "glm4v_text", add_glm4v_vision},
    multimodal_family{"glm46v", "glm4v_text", add_glm4v_vision},
    multimodal_family{"glmga", "glm4v_text", add_glm4v_vision},
    multimodal_family{"glm4v_moe", "glm4v_moe_text", add_glm4v_vision},
    multimodal_family{"glm_ocr", "glm_ocr_text", add_glm_ocr_vision},
    multimodal_family{"kimi_k25", "deepseek_v3", add_kimi_vision},
    multimodal_family{"kimi_k3", "kimi_linear", add_kimi_k3_vision},
    multimodal_family{"muse_glimmer", "muse_glimmer_text", add_muse_vision},
    multimodal_family{"minimax_m3_vl", "minimax_m3_vl_text", add_minimax_m3_vision},
    multimodal_family{"step3p7", "step3p5", add_step3p7_vision},
    multimodal_family{"ovis2", "qwen2", add_ovis2_vision},
    multimodal_family{"minicpmv4_6", "qwen3_5_text", add_minicpmv_vision},
    multimodal_family{"got_ocr2", "qwen2", add_got_ocr2_vision},
    multimodal_family{"pp_chart2table", "qwen2", add_got_ocr2_vision},
    multimodal_family{"exaone4_5", "exaone4", add_exaone4_5_vision},
    multimodal_family{"qwen2_5_omni_thinker", "qwen2_5_omni_text", add_qwen2_5_omni},
    multimodal_family{"phi4_multimodal", "phi4_multimodal_text", add_phi4_multimodal},
    multimodal_family{"fuyu", "persimmon", add_fuyu_vision},
    multimodal_family{"blip", "blip_text_model", add_blip_vision},
    multimodal_family{"blip-2", "opt", add_blip2_vision},
    multimodal_family{"instructblip", "opt", add_instructblip_vision},
    multimodal_family{"instructblipvideo", "opt", add_instructblip_vision},
    multimodal_family{"kosmos-2", "kosmos_2_text_model", add_kosmos2_vision},
    multimodal_family{"kosmos-2.5", "kosmos_2_5_text_model", add_kosmos2_5_vision},
    multimodal_family{"pix2struct", "pix2struct_text_model", add_pix2struct_vision},
    multimodal_family{"clip", "clip_text_model", add_clip_vision},
    multimodal_family{"siglip", "siglip_text_model", add_siglip_vision},
};

inline constexpr field_names nested_field{"text_config", "llm_config", "language_config"};
inline constexpr field_names type_field{"model_type"};

// clang-format off
/// Fields of structures that change a count. A reader that never asked for one of these does not know the structure: a
/// file that has the field is refused.
inline constexpr std::array structural_fields{
    "kv_lora_rank", "o_lora_rank", "n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts",
    "n_shared_experts", "moe_intermediate_size", "shared_expert_intermediate_size", "moe_latent_size",
    "hybrid_override_pattern", "layers_block_type", "attn_type_list", "block_configs", "ssm_state_size",
    "mamba_d_state", "state_size", "cross_attention_layers", "num_kv_shared_layers", "use_cla", "use_qk_norm",
    "qk_layernorm", "index_n_heads", "indexer_types", "attention_bias", "mlp_bias", "num_nextn_predict_layers",
    "mtp_num_hidden_layers", "altup_num_inputs", "hidden_size_per_layer_input", "laurel_rank", "vision_config",
    "audio_config", "attention_k_eq_v", "sparse_attention_config", "hc_mult", "attn_output_gate", "lm_head_bias",
    "word_embed_proj_dim", "embedding_size", "global_head_dim", "add_cross_attention", "zero_expert_num",
    "linear_num_value_heads", "adapter_layers", "use_mem_rope", "num_mem_blocks", "layer_types"};
// clang-format on

/// A structural field with which files of a type repeat what the type has anyway: true, or 1 for every layer.
struct meant_field {
    std::string_view model_type;
    std::string_view field;
};
inline constexpr std::array meant_fields{
    meant_field{"qwen3", "use_qk_norm"},       meant_field{"qwen3_moe", "use_qk_norm"},
    meant_field{"qwen3_next", "use_qk_norm"},  meant_field{"minimax_m2", "attn_type_list"},
    meant_field{"olmo2", "use_qk_norm"},       meant_field{"olmoe", "use_qk_norm"},
    meant_field{"gemma3_text", "use_qk_norm"}, meant_field{"exaone4", "use_qk_norm"},
};

/// Whether a field says no more than what the type means.
inline bool is_meant(const nlohmann::json& value, std::string_view model_type, std::string_view field) {
    const auto says_yes = [](const nlohmann::json& v) {
        return (v.is_boolean() && v.get<bool>()) || (v.is_number_integer() && v.get<std::int64_t>() == 1);
    };
    for (const meant_field& meant : meant_fields)
        if (meant.model_type == model_type && meant.field == field)
            return value.is_array() ? std::all_of(value.begin(), value.end(), says_yes) : says_yes(value);
    return false;
}

inline void refuse_unread_structure(config_fields& c, const nlohmann::json& object, std::string_view model_type) {
    for (const char* name : structural_fields) {
        if (c.was_read(name) || !c.says_something(name) || is_meant(object.at(name), model_type, name)) continue;
        if (std::string_view{name} == "layer_types") {
            // Accepted where all layers are of the only kind that the family has.
            const nlohmann::json* types = c.list("layer_types");
            for (std::size_t i = 0; types != nullptr && i < types->size() && c.ok(); ++i)
                (void)layer_is(c, "sliding_attention", static_cast<std::int64_t>(i));
            continue;
        }
        c.fail(error_code::unsupported, name, "absent: this model_type is described without it");
    }
}

template <class Table>
const auto* find_type(const Table& table, std::string_view model_type) {
    for (const auto& entry : table)
        if (entry.model_type == model_type) return &entry;
    return static_cast<decltype(table.data())>(nullptr);
}

/// The error of an unknown `model_type`, with the nearest known ones.
inline error unknown_type(const config_fields& c, std::string_view type) {
    std::array<std::string_view, families.size() + multimodal_families.size()> names{};
    std::size_t count = 0;
    for (const family& f : families) names[count++] = f.model_type;
    for (const multimodal_family& f : multimodal_families) names[count++] = f.model_type;
    const nearest_names alike = nearest(type, names);
    return {type.empty() ? error_code::missing : error_code::unknown, c.label(type_field), type,
            alike.empty()
                ? text<191>{"a model_type that is described, such as llama, or its .safetensors files or their "
                            "index beside config.json, whose tensors are counted"}
                : such_as("a model_type that is described,", alike)};
}

/// Refuses a file whose outer object gives another shape than the text model nested in it.
inline void refuse_contradiction(config_fields& outer, config_fields& inner, std::string_view outer_type) {
    // Of these types the outer hidden size is not the text model's: of Ovis 2 it is that of visual words, of PaliGemma
    // nothing reads it.
    const bool apart = outer_type == "ovis2" || outer_type == "paligemma";
    constexpr std::array shapes{hidden_field,   layers_field, heads_field,
                                kv_heads_field, width_field,  field_names{"head_dim"}};
    for (const field_names& field : shapes) {
        if (!outer.has(field) || !inner.has(field)) continue;
        if (apart && field.names[0] == hidden_field.names[0]) continue;
        const std::int64_t outside = outer.number(field, 0, most_features);
        const std::int64_t inside = inner.number(field, 0, most_features);
        if (outer.ok() && inner.ok() && outside != inside) {
            text<191> expected{"the value of "};
            expected.append(inner.label(field));
            expected.append(", ");
            expected.append(digits(inside));
            outer.fail(error_code::inconsistent, field, expected);
        }
    }
}

/// Reads how many features of a head rotary embeddings rotate, for all layers whose heads are not split into parts with
/// and without position.
inline void read_rotated(config_fields& c, model& m) {
    constexpr field_names part_field{"partial_rotary_factor", "rotary_pct"};
    constexpr field_names positions_field{"rope_parameters", "rope_scaling"};
    const std::int64_t features = c.number_or("rotary_dim", 0, 0, most_heads);
    double part = c.real_or(part_field, 1, 0, 1);
    if (c.holds_object(positions_field)) {
        config_fields positions{*c.object(positions_field), "rope_parameters"};
        if (positions.has(part_field)) part = positions.real_or(part_field, part, 0, 1);
        if (!positions.ok())
            return c.fail(error_code::malformed, positions_field, "a partial_rotary_factor from 0 to 1");
    }
    const auto set = [&](attention& a) {
        if (a.kind != attention_kind::grouped) return;
        const std::int64_t said =
            features > 0 ? features : static_cast<std::int64_t>(static_cast<double>(a.head_dim) * part);
        a.rope_dim = said > 0 && said < a.head_dim ? said : 0;
    };
    for (layer& kind : std::span{m.layers.kinds}.first(static_cast<std::size_t>(m.layers.kind_count)))
        set(kind.attention);
    set(m.prediction.block.attention);
}

/// The tensors of rotary factors that a GGUF file of the model has (convert_hf_to_gguf.py: LlamaModel and
/// Phi3MiniModel, generate_extra_tensors).
inline rope_factors read_rope_factors(config_fields& c, const model& m) {
    constexpr field_names scaling_field{"rope_scaling", "rope_parameters"};
    constexpr field_names kind_field{"rope_type", "type"};
    if (!c.holds_object(scaling_field)) return {};
    config_fields s{*c.object(scaling_field), "rope_scaling"};
    if (s.holds_text(kind_field) && s.text_or(kind_field, "") == "llama3" && m.layers.size > 0)
        return {.vectors = 1, .width = static_cast<std::int32_t>(m.layers[0].attention.head_dim / 2)};
    if (s.holds_list("long_factor"))
        return {.vectors = 2, .width = static_cast<std::int32_t>(s.list("long_factor")->size())};
    // Linear scaling stretches the table of positions; layers with a window have a table of their own (Gemma 3).
    if (s.holds_text(kind_field) && s.text_or(kind_field, "") == "linear" && s.has("factor")) {
        bool windows = false;
        for (const layer& kind : m.layers.distinct()) windows = windows || kind.attention.window > token_count{};
        return {.contexts = static_cast<std::int32_t>(s.real_or("factor", 1, 1, 1024)) + (windows ? 1 : 0)};
    }
    return {};
}

/// Types whose text model is a class with a head of its own, which its own object ties.
inline constexpr std::array<std::string_view, 3> types_with_own_heads{"llama4", "kosmos-2", "kosmos-2.5"};
/// Types whose heads are tied where either object says so.
inline constexpr std::array<std::string_view, 6> types_tied_by_either{
    "glm4v_moe", "llava", "llava_next_video", "llava_onevision", "minimax_m3_vl", "video_llama_3"};

/// True if the outermost object says whether the head is tied. From transformers 5 on it does, where a model is
/// multimodal, but of the types above.
inline bool outer_object_ties(config_fields& outer, config_fields& inner, std::string_view outer_type) {
    if (!outer.gives("tie_word_embeddings")) return false;
    if (!inner.gives("tie_word_embeddings")) return true;
    const std::string_view version = outer.text_or("transformers_version", "");
    if (version.empty() || version.front() < '5' || version.front() > '9') return false;
    if (std::find(types_with_own_heads.begin(), types_with_own_heads.end(), outer_type) != types_with_own_heads.end())
        return false;
    const bool either =
        std::find(types_tied_by_either.begin(), types_tied_by_either.end(), outer_type) != types_tied_by_either.end();
    return !either || !inner.flag_or("tie_word_embeddings", false);
}

/// True if `moe_quant_algo` is the format of the experts alone, beside matrices in blocks of 8 bits (NVIDIA's copies of
/// DeepSeek-V4).
inline bool says_format_of_experts(const nlohmann::json& quantization) {
    return quantization.contains("moe_quant_algo") && quantization["moe_quant_algo"] == "NVFP4" &&
           quantization.contains("weight_block_size");
}

/// Reads how weights are quantised, from the outer object or the text model's. MLX's own object has no name of a
/// method; mlx-lm writes it under both names.
inline status read_quantization(config_fields& outer, config_fields& inner, model& m) {
    constexpr field_names quantization_field{"quantization_config"};
    constexpr field_names mlx_field{"quantization"};
    const nlohmann::json* outside = outer.object(quantization_field);
    const nlohmann::json* quantization = outside != nullptr ? outside : inner.object(quantization_field);
    if (!inner.ok()) return inner.error();
    if (!outer.ok()) return outer.error();
    nlohmann::json of_mlx;
    if (const nlohmann::json* found = outer.holds_object(mlx_field) ? outer.object(mlx_field) : nullptr;
        found != nullptr && found->contains("bits") && found->contains("group_size") &&
        (quantization == nullptr || !quantization->contains("quant_method"))) {
        of_mlx = *found;
        if (!of_mlx.contains("quant_method")) of_mlx["quant_method"] = std::string{"mlx"};
        quantization = &of_mlx;
    }
    if (quantization == nullptr) return done{};
    nlohmann::json beside_experts;
    if (says_format_of_experts(*quantization)) {
        beside_experts = *quantization;
        for (const char* of_experts : {"quant_algo", "moe_quant_algo", "config_groups", "quantized_layers", "ignore"})
            beside_experts.erase(of_experts);
        quantization = &beside_experts;
    }
    return read_quantization_config(*quantization, precision{m.weights}, m);
}

/// Types whose layers see all tokens, unless the file was saved from a class that generates.
inline constexpr std::array<std::string_view, 26> encoder_types{"bert",
                                                                "roberta",
                                                                "xlm-roberta",
                                                                "camembert",
                                                                "distilbert",
                                                                "vit",
                                                                "xlm-roberta-xl",
                                                                "roberta-prelayernorm",
                                                                "data2vec-text",
                                                                "megatron-bert",
                                                                "ernie",
                                                                "electra",
                                                                "big_bird",
                                                                "bert-generation",
                                                                "roc_bert",
                                                                "nomic_bert",
                                                                "roformer",
                                                                "xmod",
                                                                "xlm",
                                                                "xlnet",
                                                                "clip_text_model",
                                                                "clip_vision_model",
                                                                "siglip_text_model",
                                                                "siglip_vision_model",
                                                                "clip",
                                                                "siglip"};

/// Endings of the names of classes that embed, score or classify. (vLLM, config/model.py: _SUFFIX_TO_DEFAULTS; Jina's.)
inline constexpr std::array<std::string_view, 10> pooling_classes{
    "JinaEmbeddingsV4Model",  "ForTextEncoding",     "EmbeddingModel",    "ForSequenceClassification",
    "ForTokenClassification", "ForRewardModel",      "ForRewardModeling", "RewardModel",
    "ClassificationModel",    "ForSequenceEmbedding"};

/// What a model of that type is for, by the class that it was saved from.
inline head_kind head_kind_of(config_fields& outer, std::string_view type, const model& m) {
    for (const std::string_view encoder : encoder_types)
        if (type == encoder) return generates(outer) ? head_kind::next_token : head_kind::encoder;
    const bool decodes = m.encoders[0].layers > 0;
    if (!decodes && is_architecture(outer, "EncoderModel")) return head_kind::encoder;
    for (const std::string_view name : pooling_classes)
        if (is_architecture(outer, name)) return head_kind::pooled;
    return head_kind::next_token;
}

/// The scores of a decoder that classifies: of its last token without a bias, of each token with one
/// (transformers/modeling_layers.py: GenericForSequenceClassification, GenericForTokenClassification).
inline void add_scores(config_fields& outer, config_fields& inner, model& m) {
    if (classes_of(m) > 0) return;  // the reader of its type has counted them
    const bool of_tokens = is_architecture(outer, "ForTokenClassification");
    if (!of_tokens && !is_architecture(outer, "ForSequenceClassification")) return;
    m.add({.role = weight_role::classifier,
           .part = model_part::output,
           .bias = of_tokens,
           .rows = label_count(inner),
           .columns = m.hidden});
}

/// The format of routed experts that are stored in fewer bits than the other matrices (DeepSeek-V4: `expert_dtype`;
/// NVIDIA's copies of it: `moe_quant_algo`).
inline void read_expert_format(config_fields& c, model& m) {
    const nlohmann::json* quantization = c.object("quantization_config");
    const bool nvfp4_experts = quantization != nullptr && says_format_of_experts(*quantization);
    const std::string_view stored = c.text_or("expert_dtype", "fp8");
    if (stored != "fp8" && stored != "fp4") c.fail(error_code::unsupported, "expert_dtype", "fp8 or fp4");
    if (!nvfp4_experts && stored != "fp4") return;
    m.mixed.attention = m.mixed.feed_forward = m.weights;
    m.weights = nvfp4_experts ? nvfp4_static : mxfp4;
}

inline result<model> read_config(const nlohmann::json& document) {
    config_fields outer{document};
    const std::string_view outer_type = outer.text_or(type_field, "");
    const nlohmann::json* nested = outer.object(nested_field);
    if (!outer.ok()) return outer.error();

    // A file with a vision tower is multimodal whether its text model is nested or not (Qwen2-VL's is not).
    const multimodal_family* whole = find_type(multimodal_families, outer_type);
    if (nested == nullptr && !outer.has(vision_field)) whole = nullptr;
    std::string_view type = outer_type;
    config_fields inner{document};
    if (nested != nullptr) {
        if (whole == nullptr) return unknown_type(outer, outer_type);
        inner = config_fields{*nested, outer.label(nested_field)};
        type = inner.text_or(type_field, whole->text_type);
        refuse_contradiction(outer, inner, outer_type);
    } else if (whole != nullptr) {
        type = whole->text_type;
    }
    const family* found = find_type(families, type);
    if (found == nullptr) return unknown_type(inner, type);
    inner.fall_back_on(defaults_of(type, nested != nullptr));
    model m = found->read(inner);
    if (nested != nullptr && outer_object_ties(outer, inner, outer_type))
        m.tied_head = outer.flag_or("tie_word_embeddings", false);
    if (inner.ok() && whole != nullptr) {
        if (nested == nullptr)
            for (const field_names& tower : {vision_field, audio_field}) (void)inner.has(tower);
        whole->add(outer, m);
    }
    if (inner.ok()) refuse_unread_structure(inner, nested != nullptr ? *nested : document, type);
    if (nested != nullptr && inner.ok()) {
        for (const char* other : {"audio_config", "vision_config"})
            if (!outer.was_read(other) && outer.says_something(other))
                outer.fail(error_code::unsupported, other, "absent: this model_type is described without it");
    }

    m.head.kind = head_kind_of(outer, type, m);
    if (m.head.kind == head_kind::pooled) {
        m.tied_head = true;
        add_scores(outer, inner, m);
    }
    m.rope = read_rope_factors(inner, m);
    read_rotated(inner, m);
    if (!inner.ok()) return inner.error();
    // Where a config.json of Gemma 3 does not give the vocabulary, GGUF files hold the tokenizer's rows of the
    // embedding alone (convert_hf_to_gguf.py: Gemma3Model cuts the rows beyond it).
    if (outer_type == "gemma3" && !inner.gives("vocab_size")) m.tokenizer = 262144;
    m.architecture = outer_type.empty() ? type : outer_type;
    const std::string_view full_name = outer.text_or("_name_or_path", outer_type);
    m.name = full_name.substr(full_name.find_last_of('/') + 1);
    m.weights = read_dtype(outer, read_dtype(inner, m.weights));
    if (const status read = read_quantization(outer, inner, m); !read) return read.error();
    read_expert_format(inner, m);
    if (!inner.ok()) return inner.error();
    if (const status valid = validate(m); !valid) return valid.error();
    if (is_saturated(count_stored_parameters(m)))
        return refused(error_code::overflow, inner.largest_field(), inner.largest_value(),
                       "fewer than 2^63 parameters in all");
    return m;
}

}  // namespace llmres::inline v0::detail::hf
