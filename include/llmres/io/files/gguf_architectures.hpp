// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The architectures of llama.cpp (src/llama-arch.cpp) that a reader of config.json describes, and under which keys or
/// in which tensors a GGUF file has the fields that the reader asks for. Keys are those that llama.cpp's converters
/// write (conversion/*.py, gguf-py/gguf/constants.py: Keys), without the architecture's name before them.
namespace llmres::inline v0::detail::gguf::known {

/// Where a field of a config.json comes from.
enum class field_source : std::uint8_t {
    none,
    number,      ///< the integer under `key`, or else under `other`; none where the file has neither
    least,       ///< the smallest of the integers under `key`, one for each layer
    varies,      ///< whether layers have different integers under `key`
    rows,        ///< rows of the tensor whose name ends with `key`
    without,     ///< layers that have no tensor `key`
    columns,     ///< columns of the tensor whose name ends with `key` over the integer under `other`
    lacks,       ///< whether a layer that has a tensor `key` has no tensor `other`
    quotient,    ///< the integer under `key` over that under `other`
    difference,  ///< the integer under `key`, or else under `or_else`, less that under `other`
    present,     ///< whether the file has a tensor whose name ends with `key`, or with `other`
    absent,      ///< whether it has none
    kinds,       ///< a word for each layer: `other` where its number under `key` is 0, `or_else` elsewhere
    zero,        ///< 0
    off,         ///< false
};

/// A field of a config.json (`a.b`: field b of object a), and where it comes from. An empty word leaves what is there.
struct described_field {
    std::string_view field{};
    field_source source = field_source::none;
    std::string_view key{};
    std::string_view other{};
    std::string_view or_else{};
};

/// Writes fields of one source down.
struct fields_from {
    field_source source;
    constexpr described_field operator()(std::string_view field, std::string_view key = {}, std::string_view other = {},
                                         std::string_view or_else = {}) const {
        return {field, source, key, other, or_else};
    }
};
inline constexpr fields_from number{field_source::number}, least{field_source::least}, varies{field_source::varies},
    rows{field_source::rows}, without{field_source::without}, columns{field_source::columns},
    lacks{field_source::lacks}, quotient{field_source::quotient}, difference{field_source::difference},
    present{field_source::present}, absent{field_source::absent}, kinds{field_source::kinds}, zero{field_source::zero},
    off{field_source::off};

/// An architecture, and the `model_type` whose reader describes it. Of several rows the first holds whose `needs` is
/// empty, a key with a positive number, or the end of a tensor's name.
struct described_architecture {
    std::string_view name;
    std::string_view model_type;
    std::string_view needs{};
    std::array<described_field, 18> fields{};
};

// clang-format off

// Fields that several families share.
inline constexpr described_field window = number("sliding_window", "attention.sliding_window");
inline constexpr described_field windows =
    kinds("layer_types", "attention.sliding_window_pattern", "full_attention", "sliding_attention");
inline constexpr described_field attention_bias = present("attention_bias", "attn_q.bias", "attn_qkv.bias");
inline constexpr described_field per_token = number("num_experts_per_tok", "expert_used_count");
inline constexpr described_field local_experts = number("num_local_experts", "expert_count");
inline constexpr described_field experts_of_qwen = number("num_experts", "expert_count");
inline constexpr described_field routed_experts = number("n_routed_experts", "expert_count");
inline constexpr described_field expert_width = number("moe_intermediate_size", "expert_feed_forward_length");
inline constexpr described_field expert_width_alone =
    number("intermediate_size", "expert_feed_forward_length", "feed_forward_length");
inline constexpr described_field shared_experts = number("n_shared_experts", "expert_shared_count");
inline constexpr described_field shared_width = number("shared_intermediate_size", "expert_shared_feed_forward_length");
inline constexpr described_field shared_expert_width =
    number("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
inline constexpr described_field dense_first = number("first_k_dense_replace", "leading_dense_block_count");
inline constexpr described_field no_prediction = zero("num_nextn_predict_layers");
inline constexpr described_field latent_bias = present("attention_bias", "attn_kv_a_mqa.bias");
inline constexpr described_field query_rank = number("q_lora_rank", "attention.q_lora_rank");
inline constexpr described_field latent_rank = number("kv_lora_rank", "attention.kv_lora_rank");
inline constexpr described_field rotary_width = number("qk_rope_head_dim", "rope.dimension_count");
// Files with absorbed projections give the widths of the heads under keys that end in _mla.
inline constexpr described_field plain_width =
    difference("qk_nope_head_dim", "attention.key_length_mla", "rope.dimension_count", "attention.key_length");
inline constexpr described_field value_width =
    number("v_head_dim", "attention.value_length_mla", "attention.value_length");
inline constexpr described_field index_heads = number("index_n_heads", "attention.indexer.head_count");
inline constexpr described_field index_width = number("index_head_dim", "attention.indexer.key_length");
inline constexpr described_field index_top = number("index_topk", "attention.indexer.top_k");
inline constexpr described_field value_heads = number("linear_num_value_heads", "ssm.time_step_rank");
inline constexpr described_field value_head_width =
    quotient("linear_value_head_dim", "ssm.inner_size", "ssm.time_step_rank");
inline constexpr described_field key_heads = number("linear_num_key_heads", "ssm.group_count");
inline constexpr described_field key_head_width = number("linear_key_head_dim", "ssm.state_size");
inline constexpr described_field linear_kernel = number("linear_conv_kernel_dim", "ssm.conv_kernel");
inline constexpr described_field full_interval = number("full_attention_interval", "full_attention_interval");
inline constexpr described_field recurrent_layers =
    kinds("layer_types", "attention.recurrent_layers", "full_attention", "linear_attention");
inline constexpr described_field shared_keys = number("num_kv_shared_layers", "attention.shared_kv_layers");
inline constexpr described_field layer_embedding =
    number("hidden_size_per_layer_input", "embedding_length_per_layer_input");
inline constexpr described_field layer_embedding_rows =
    rows("vocab_size_per_layer_input", "per_layer_token_embd.weight");
inline constexpr described_field mamba_heads = number("mamba_n_heads", "ssm.time_step_rank");
inline constexpr described_field mamba_width = quotient("mamba_d_head", "ssm.inner_size", "ssm.time_step_rank");
inline constexpr described_field mamba_groups = number("mamba_n_groups", "ssm.group_count");
inline constexpr described_field mamba_state = number("mamba_d_state", "ssm.state_size");
inline constexpr described_field mamba_kernel = number("mamba_d_conv", "ssm.conv_kernel");
inline constexpr described_field mamba_conv_bias = present("mamba_conv_bias", "ssm_conv1d.bias");
inline constexpr described_field inner_width = number("intermediate_size", "ssm.inner_size");
inline constexpr described_field state_size = number("state_size", "ssm.state_size");
inline constexpr described_field conv_kernel = number("conv_kernel", "ssm.conv_kernel");
inline constexpr described_field conv_bias = present("use_conv_bias", "ssm_conv1d.bias");

inline constexpr std::array architectures{
    described_architecture{"llama", "mixtral", "expert_count", {local_experts, per_token, attention_bias}},
    described_architecture{"llama", "llama", "", {attention_bias}},
    described_architecture{"llama4", "llama4_text", "expert_count", {local_experts, per_token, attention_bias,
        number("intermediate_size", "expert_feed_forward_length"),
        number("intermediate_size_mlp", "feed_forward_length"),
        number("interleave_moe_layer_step", "interleave_moe_layer_step")}},
    described_architecture{"mistral3", "ministral3", ""},
    described_architecture{"qwen", "qwen", ""},
    described_architecture{"qwen2", "qwen2", ""},
    described_architecture{"qwen2vl", "qwen2_vl_text", ""},
    described_architecture{"qwen3", "qwen3", "", {attention_bias}},
    described_architecture{"qwen3vl", "qwen3_vl_text", "", {attention_bias}},
    described_architecture{"qwen2moe", "qwen2_moe", "", {experts_of_qwen, per_token, expert_width,
        shared_expert_width, present("qkv_bias", "attn_q.bias")}},
    described_architecture{"qwen3moe", "qwen3_moe", "", {experts_of_qwen, per_token, expert_width,
        shared_expert_width, attention_bias}},
    described_architecture{"qwen3vlmoe", "qwen3_vl_moe_text", "", {experts_of_qwen, per_token, expert_width,
        attention_bias}},
    described_architecture{"qwen3next", "qwen3_next", "", {experts_of_qwen, per_token, expert_width,
        shared_expert_width, value_heads, value_head_width, key_heads, key_head_width, linear_kernel, full_interval,
        recurrent_layers, no_prediction, attention_bias}},
    described_architecture{"qwen35", "qwen3_5_text", "", {value_heads, value_head_width, key_heads, key_head_width,
        linear_kernel, full_interval, recurrent_layers, no_prediction, attention_bias}},
    described_architecture{"qwen35moe", "qwen3_5_moe_text", "", {experts_of_qwen, per_token, expert_width,
        shared_expert_width, value_heads, value_head_width, key_heads, key_head_width, linear_kernel, full_interval,
        recurrent_layers, no_prediction, attention_bias}},
    described_architecture{"gemma", "gemma", "", {attention_bias}},
    described_architecture{"gemma2", "gemma2", "", {window, attention_bias}},
    described_architecture{"gemma3", "gemma3_text", "", {window, windows, attention_bias}},
    described_architecture{"gemma3n", "gemma3n_text", "", {window, windows, shared_keys, layer_embedding,
        layer_embedding_rows, number("altup_num_inputs", "altup.num_inputs"), rows("laurel_rank", "laurel_l.weight")}},
    described_architecture{"gemma4", "gemma4_text", "", {window, windows, shared_keys, layer_embedding,
        layer_embedding_rows, number("head_dim", "attention.key_length_swa"),
        number("global_head_dim", "attention.key_length"),
        least("num_global_key_value_heads", "attention.head_count_kv"),
        lacks("attention_k_eq_v", "attn_k.weight", "attn_v.weight"), least("intermediate_size", "feed_forward_length"),
        varies("use_double_wide_mlp", "feed_forward_length"), present("enable_moe_block", "ffn_gate_inp.weight"),
        experts_of_qwen, number("top_k_experts", "expert_used_count"), expert_width}},
    described_architecture{"gpt-oss", "gpt_oss", "", {local_experts, per_token, expert_width_alone, window,
        attention_bias}},
    described_architecture{"glm4", "glm4", "", {attention_bias}},
    described_architecture{"glm4moe", "glm4_moe", "", {routed_experts, per_token, expert_width, shared_experts,
        dense_first, attention_bias, present("use_qk_norm", "attn_q_norm.weight"), no_prediction}},
    described_architecture{"chatglm", "glm", "", {attention_bias}},
    described_architecture{"granite", "granite", "", {attention_bias, present("mlp_bias", "ffn_up.bias")}},
    described_architecture{"granitemoe", "granitemoeshared", "", {local_experts, per_token, shared_width,
        attention_bias}},
    described_architecture{"granitehybrid", "granitemoehybrid", "", {local_experts, per_token, shared_width,
        attention_bias, kinds("layer_types", "attention.head_count_kv", "mamba", "attention"), mamba_heads,
        mamba_width, mamba_groups, mamba_state, mamba_kernel, mamba_conv_bias,
        present("mamba_proj_bias", "ssm_in.bias")}},
    described_architecture{"minimax-m2", "minimax_m2", "", {local_experts, per_token, expert_width_alone}},
    described_architecture{"nemotron", "nemotron", "", {attention_bias, present("mlp_bias", "ffn_up.bias")}},
    described_architecture{"jais2", "jais2", "", {attention_bias, present("mlp_bias", "ffn_up.bias")}},
    described_architecture{"nemotron_h", "nemotron_h", "",
        { kinds("layers_block_type", "attention.head_count_kv", "mamba", "attention"),
        kinds("layers_block_type", "feed_forward_length", "", "mlp"),
        number("mamba_num_heads", "ssm.time_step_rank"),
        quotient("mamba_head_dim", "ssm.inner_size", "ssm.time_step_rank"), number("n_groups", "ssm.group_count"),
        number("ssm_state_size", "ssm.state_size"), conv_kernel, conv_bias, present("use_bias", "ssm_in.bias"),
        attention_bias, present("mlp_bias", "ffn_up.bias"), no_prediction}},
    described_architecture{"nemotron_h_moe", "nemotron_h", "",
        { kinds("layers_block_type", "attention.head_count_kv", "mamba", "attention"),
        kinds("layers_block_type", "feed_forward_length", "", "moe"),
        number("mamba_num_heads", "ssm.time_step_rank"),
        quotient("mamba_head_dim", "ssm.inner_size", "ssm.time_step_rank"), number("n_groups", "ssm.group_count"),
        number("ssm_state_size", "ssm.state_size"), conv_kernel, conv_bias, present("use_bias", "ssm_in.bias"),
        attention_bias, routed_experts, per_token, expert_width,
        number("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"),
        number("moe_latent_size", "moe_latent_size"), no_prediction}},
    described_architecture{"phi2", "phi", ""},
    described_architecture{"phi3", "phi3", "", {window}},
    described_architecture{"phimoe", "phimoe", "", {local_experts, per_token, attention_bias,
        present("lm_head_bias", "output.bias")}},
    described_architecture{"gpt2", "gpt2", ""},
    described_architecture{"mpt", "mpt", "", {number("attn_config.kv_n_heads", "attention.head_count_kv"),
        absent("no_bias", "attn_output.bias")}},
    described_architecture{"gptneox", "gpt_neox", "", {attention_bias}},
    described_architecture{"starcoder", "gpt_bigcode", ""},
    described_architecture{"starcoder2", "starcoder2", "", {present("use_bias", "attn_output.bias")}},
    described_architecture{"bloom", "bloom", ""},
    described_architecture{"falcon", "falcon", "", {present("new_decoder_architecture", "attn_norm_2.weight")}},
    described_architecture{"baichuan", "baichuan", ""},
    described_architecture{"internlm2", "internlm2", "", {present("bias", "attn_q.bias")}},
    described_architecture{"orion", "orion", ""},
    described_architecture{"stablelm", "stablelm", "", {present("use_qkv_bias", "attn_q.bias"),
        present("qk_layernorm", "attn_q_norm.weight"), absent("use_parallel_residual", "ffn_norm.weight")}},
    described_architecture{"minicpm", "minicpm", "", {number("num_experts", "expert_count"), per_token}},
    described_architecture{"minicpm3", "minicpm3", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, columns("v_head_dim", "attn_output.weight", "attention.head_count")}},
    described_architecture{"command-r", "cohere", "", {attention_bias,
        present("use_qk_norm", "attn_q_norm.weight")}},
    described_architecture{"cohere2", "cohere2", "", {window, windows, attention_bias}},
    described_architecture{"olmo", "olmo", "", {attention_bias}},
    described_architecture{"olmo2", "olmo2", "", {window, windows, attention_bias}},
    described_architecture{"olmoe", "olmoe", "", {experts_of_qwen, per_token, attention_bias}},
    described_architecture{"dbrx", "dbrx", "", {number("attn_config.kv_n_heads", "attention.head_count_kv"),
        number("ffn_config.moe_num_experts", "expert_count"), number("ffn_config.moe_top_k", "expert_used_count"),
        number("ffn_config.ffn_hidden_size", "feed_forward_length")}},
    described_architecture{"grok", "grok-1", "", {local_experts, per_token, expert_width_alone}},
    described_architecture{"arctic", "arctic", "", {local_experts, per_token,
        present("parallel_attn_mlp_res", "ffn_norm_exps.weight")}},
    described_architecture{"deepseek", "deepseek", "", {routed_experts, per_token, expert_width, shared_experts,
        dense_first}},
    described_architecture{"deepseek2", "deepseek_v3", "exp_probs_b.bias", {query_rank, latent_rank, latent_bias,
        rotary_width, plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first,
        no_prediction}},
    described_architecture{"deepseek2", "deepseek_v2", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first}},
    described_architecture{"deepseek32", "deepseek_v32", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first,
        no_prediction, index_heads, index_width, index_top}},
    described_architecture{"glm-dsa", "glm_moe_dsa", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first,
        no_prediction, index_heads, index_width, index_top,
        kinds("indexer_types", "attention.indexer.types", "shared", "full")}},
    described_architecture{"mistral4", "mistral4", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first}},
    described_architecture{"dots1", "dots1", "", {routed_experts, per_token, expert_width, shared_experts,
        dense_first, attention_bias}},
    described_architecture{"ernie4_5", "ernie4_5", "", {present("use_bias", "attn_q.bias")}},
    described_architecture{"paddleocr", "ernie4_5", "", {present("use_bias", "attn_q.bias")}},
    described_architecture{"ernie4_5-moe", "ernie4_5_moe", "", {number("moe_num_experts", "expert_count"),
        number("moe_k", "expert_used_count"), expert_width, number("moe_num_shared_experts", "expert_shared_count"),
        number("moe_layer_start_index", "leading_dense_block_count"),
        number("moe_layer_interval", "interleave_moe_layer_step"), present("use_bias", "attn_q.bias")}},
    described_architecture{"bailingmoe", "bailing_moe", "", {experts_of_qwen, per_token, expert_width,
        number("num_shared_experts", "expert_shared_count"), dense_first,
        present("use_qkv_bias", "attn_q.bias", "attn_qkv.bias"), no_prediction}},
    described_architecture{"bailingmoe2", "bailing_moe_v2", "", {experts_of_qwen, per_token, expert_width,
        number("num_shared_experts", "expert_shared_count"), dense_first,
        present("use_qkv_bias", "attn_q.bias", "attn_qkv.bias"), no_prediction}},
    described_architecture{"hunyuan-dense", "hunyuan_v1_dense", "", {attention_bias,
        present("use_qk_norm", "attn_q_norm.weight")}},
    described_architecture{"hunyuan_vl", "hunyuan_v1_dense", "", {attention_bias,
        present("use_qk_norm", "attn_q_norm.weight")}},
    described_architecture{"hy_v3", "hy_v3", "", {routed_experts, per_token, expert_width,
        quotient("n_shared_experts", "expert_shared_feed_forward_length", "expert_feed_forward_length"),
        without("first_k_dense_replace", "ffn_gate_inp.weight"), attention_bias}},
    described_architecture{"hunyuan-moe", "hunyuan_v1_moe", "", {experts_of_qwen,
        number("moe_topk", "expert_used_count"), expert_width, number("num_shared_expert", "expert_shared_count"),
        attention_bias, present("use_qk_norm", "attn_q_norm.weight")}},
    described_architecture{"afmoe", "afmoe", "", {experts_of_qwen, per_token, expert_width,
        number("num_shared_experts", "expert_shared_count"), number("num_dense_layers", "leading_dense_block_count"),
        window, windows, attention_bias}},
    described_architecture{"mellum", "mellum", "", {experts_of_qwen, per_token, expert_width, window, windows,
        attention_bias}},
    described_architecture{"exaone4", "exaone4", "", {window, windows}},
    described_architecture{"exaone-moe", "exaone_moe", "", {experts_of_qwen, per_token, expert_width,
        number("num_shared_experts", "expert_shared_count"), dense_first, window, windows}},
    described_architecture{"smollm3", "smollm3", "", {attention_bias}},
    described_architecture{"arcee", "arcee", "", {attention_bias, present("mlp_bias", "ffn_up.bias")}},
    described_architecture{"seed_oss", "seed_oss", "", {attention_bias,
        present("attention_out_bias", "attn_output.bias")}},
    described_architecture{"apertus", "apertus", "", {attention_bias}},
    described_architecture{"lfm2", "lfm2", "",
        {kinds("layer_types", "attention.head_count_kv", "conv", "full_attention"), off("block_auto_adjust_ff_dim"),
        number("conv_L_cache", "shortconv.l_cache")}},
    described_architecture{"lfm2moe", "lfm2_moe", "",
        {kinds("layer_types", "attention.head_count_kv", "conv", "full_attention"), off("block_auto_adjust_ff_dim"),
        number("conv_L_cache", "shortconv.l_cache"), experts_of_qwen, per_token, expert_width,
        number("num_dense_layers", "leading_dense_block_count")}},
    described_architecture{"mamba", "mamba", "", {inner_width, state_size, conv_kernel,
        number("time_step_rank", "ssm.time_step_rank"), conv_bias, present("use_bias", "ssm_in.bias")}},
    described_architecture{"mamba2", "mamba2", "", {inner_width, state_size, conv_kernel,
        number("num_heads", "ssm.time_step_rank"), quotient("head_dim", "ssm.inner_size", "ssm.time_step_rank"),
        number("n_groups", "ssm.group_count"), conv_bias, present("use_bias", "ssm_in.bias")}},
    described_architecture{"jamba", "jamba", "",
        {kinds("layers_block_type", "attention.head_count_kv", "mamba", "attention"), experts_of_qwen, per_token,
        mamba_state, mamba_kernel, number("mamba_dt_rank", "ssm.time_step_rank"),
        quotient("mamba_expand", "ssm.inner_size", "embedding_length"), mamba_conv_bias,
        present("mamba_proj_bias", "ssm_in.bias")}},
    described_architecture{"falcon-h1", "falcon_h1", "", {mamba_heads, mamba_width, mamba_groups, mamba_state,
        mamba_kernel, mamba_conv_bias, number("mamba_d_ssm", "ssm.inner_size"),
        present("mamba_rms_norm", "ssm_norm.weight"), attention_bias}},
    described_architecture{"kimi-linear", "kimi_linear", "", {query_rank, latent_rank, latent_bias, rotary_width,
        plain_width, value_width, routed_experts, per_token, expert_width, shared_experts, dense_first,
        number("linear_num_heads", "attention.head_count"), number("linear_head_dim", "kda.head_dim"), linear_kernel,
        kinds("layer_types", "attention.head_count_kv", "linear_attention", "full_attention")}},
};

// clang-format on

}  // namespace llmres::inline v0::detail::gguf::known
