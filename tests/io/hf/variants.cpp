// SPDX-License-Identifier: MIT
// Variants within a family, by the fields of transformers' configuration classes: what each layer becomes.
#include <llmres/io/hf_config.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

/// A small model of a family, with more fields.
json config_of(const std::string& family, const json& more = json::object()) {
    json config{{"model_type", family},      {"vocab_size", 1000},         {"hidden_size", 512},
                {"num_hidden_layers", 4},    {"num_attention_heads", 8},   {"num_key_value_heads", 2},
                {"intermediate_size", 1024}, {"tie_word_embeddings", true}};
    config.update(more);
    return config;
}

model read(const json& config) {
    const result<model> found = read_hf_config(config.dump());
    CAPTURE(config.dump());
    REQUIRE_MESSAGE(found, found.error().field.view(), ": ", found.error().value.view(), ", expected ",
                    found.error().expected.view());
    return *found;
}

std::string refusal_of(const json& config) { return std::string{read_hf_config(config.dump()).error().field.view()}; }

}  // namespace

TEST_CASE("Nemotron-NAS: layers without attention, with a matrix in its place, and with heads in groups") {
    const json block{{"attention", {{"n_heads_in_group", 4}}}, {"ffn", {{"ffn_mult", 3.0}}}};
    const json skipped{{"attention", {{"no_op", true}}}, {"ffn", {{"ffn_mult", 3.0}}}};
    const json linear{{"attention", {{"replace_with_linear", true}}}, {"ffn", {{"replace_with_linear", true}}}};
    const json no_ffn{{"attention", {{"n_heads_in_group", 8}}}, {"ffn", {{"no_op", true}}}};
    const json config = config_of("nemotron-nas", {{"block_configs", {block, skipped, linear, no_ffn}}});
    const model m = read(config);
    CHECK(m.layers[0].attention.kv_heads == 2);
    CHECK(m.layers[0].feed_forward.width == 1024);  // 2 / 3 x 3 x 512
    CHECK(m.layers[1].attention.kind == attention_kind::none);
    CHECK(m.layers[1].feed_forward.width == 1024);
    CHECK(m.layers[2].attention.kind == attention_kind::none);
    CHECK(m.layers[2].feed_forward.kind == feed_forward_kind::none);
    CHECK(m.layers[2].more_values == 2 * 512 * 512);
    CHECK(m.layers[3].attention.kv_heads == 1);
    CHECK(m.layers[3].feed_forward.kind == feed_forward_kind::none);

    const auto with = [&](const json& first) {
        json changed = config;
        changed["block_configs"][0] = first;
        return changed;
    };
    CHECK(refusal_of(with({{"attention", {{"n_heads_in_group", 3}}}, {"ffn", {{"ffn_mult", 3.0}}}})) ==
          "block_configs.n_heads_in_group");
    CHECK(refusal_of(with({{"attention", json::object()}, {"ffn", {{"ffn_mult", 3.0}}}})) ==
          "block_configs.n_heads_in_group");
    CHECK(refusal_of(with({{"attention", {{"no_op", true}}}, {"ffn", {{"ffn_mult", "wide"}}}})) ==
          "block_configs.ffn_mult");
    CHECK(refusal_of(with({{"attention", {{"no_op", true}}}})) == "block_configs");
    CHECK(refusal_of(with({{"attention", 7}, {"ffn", 7}})) == "block_configs");
    json fewer = config;
    fewer["block_configs"].erase(3);
    CHECK(refusal_of(fewer) == "block_configs");
    fewer.erase("block_configs");
    CHECK(refusal_of(fewer) == "block_configs");
}

TEST_CASE("ChatGLM: the first one has biases, LayerNorms and a plain feed-forward") {
    json first = config_of("chatglm", {{"position_encoding_2d", true}});
    CHECK(read(first).layers[0].feed_forward.kind == feed_forward_kind::plain);
    CHECK(read(first).layers[0].feed_forward.bias);
    CHECK(read(first).layers[0].norm == norm_kind::layer);
    const model later = read(config_of("chatglm"));
    CHECK(later.layers[0].feed_forward.kind == feed_forward_kind::gated);
    CHECK(later.final_norm == norm_kind::rms);
    CHECK(read(config_of("chatglm", {{"post_layer_norm", false}})).final_norm == norm_kind::none);
}

TEST_CASE("Hunyuan: layers share keys and values in groups, and experts may stand alone") {
    const model shared = read(config_of("hunyuan", {{"use_cla", true}, {"cla_share_factor", 2}}));
    for (int i = 0; i < 4; ++i)
        CHECK(shared.layers[i].attention.kv == (i % 2 == 0 ? kv_source::own : kv_source::shared));
    const json mixed = config_of("hunyuan", {{"num_experts", 4}, {"moe_topk", 2}, {"num_shared_expert", 1}});
    CHECK(read(mixed).layers[0].feed_forward.experts.shared_width == 1024);
    json alone = mixed;
    alone["use_mixed_mlp_moe"] = false;
    CHECK(read(alone).layers[0].feed_forward.experts.shared_width == 0);
    CHECK(read(alone).layers[0].feed_forward.experts.count == 4);
}

TEST_CASE("Laguna: gates for heads or for features, dense layers by name") {
    const json base{{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 256}, {"head_dim", 64}};
    const auto with = [&](const json& more) {
        json config = config_of("laguna", base);
        config.update(more);
        return config;
    };
    for (const json& heads : {json(true), json("per-head")})
        CHECK(read(with({{"gating", heads}})).layers[0].attention.gate == output_gate::heads);
    for (const json& features : {json(false), json("per-feature")})
        CHECK(read(with({{"gating", features}})).layers[0].attention.gate == output_gate::unbiased_features);
    const model m = read(with({{"mlp_layer_types", {"dense", "sparse", "moe", "dense"}}}));
    for (const int i : {0, 3}) CHECK(m.layers[i].feed_forward.experts.count == 0);
    for (const int i : {1, 2}) CHECK(m.layers[i].feed_forward.experts.count == 4);
    CHECK(refusal_of(with({{"mlp_layer_types", {"dense", "thin", "moe", "dense"}}})) == "mlp_layer_types");
    CHECK(refusal_of(with({{"mlp_layer_types", {"dense"}}})) == "mlp_layer_types");
}

TEST_CASE("MiniMax-M3: which layers are routed and which have an indexer, by lists") {
    const json config = config_of("minimax_m3", {{"num_local_experts", 4},
                                                 {"num_experts_per_tok", 2},
                                                 {"intermediate_size", 256},
                                                 {"dense_intermediate_size", 1024},
                                                 {"head_dim", 64},
                                                 {"moe_layer_freq", {0, 1, 1, 1}},
                                                 {"sparse_attention_config",
                                                  {{"sparse_attention_freq", {0, 0, 1, 1}},
                                                   {"sparse_num_index_heads", 2},
                                                   {"sparse_index_dim", 64},
                                                   {"sparse_topk_blocks", 4},
                                                   {"sparse_block_size", 128}}}});
    const model m = read(config);
    CHECK(m.layers[0].feed_forward.experts.count == 0);
    CHECK(m.layers[0].feed_forward.width == 1024);
    CHECK(m.layers[1].feed_forward.experts.count == 4);
    CHECK(m.layers[1].attention.indexer.heads == 0);
    CHECK(m.layers[2].attention.indexer.heads == 2);
    CHECK(m.layers[2].attention.indexer.selected == tokens(512));
    json other = config;
    other["qk_norm_type"] = "per_layer";
    CHECK(refusal_of(other) == "qk_norm_type");
}

TEST_CASE("Falcon H1: the state-space model's width is that of its heads") {
    const json config = config_of("falcon_h1", {{"mamba_d_ssm", 1024},
                                                {"mamba_n_heads", 16},
                                                {"mamba_d_head", 64},
                                                {"mamba_d_state", 32},
                                                {"mamba_n_groups", 1},
                                                {"mamba_d_conv", 4},
                                                {"head_dim", 64}});
    CHECK(read(config).layers[0].recurrent.inner() == 1024);
    json other = config;
    other["mamba_d_ssm"] = 2048;
    CHECK(refusal_of(other) == "mamba_d_ssm");
    other["mamba_n_heads"] = "many";
    CHECK(refusal_of(other) == "mamba_n_heads");
}

TEST_CASE("Kimi Linear: the delta rule's heads by an object of their own, full layers numbered from one") {
    const json config = config_of("kimi_linear", {{"kv_lora_rank", 64},
                                                  {"qk_nope_head_dim", 32},
                                                  {"qk_rope_head_dim", 16},
                                                  {"v_head_dim", 32},
                                                  {"num_experts", 4},
                                                  {"num_experts_per_token", 2},
                                                  {"moe_intermediate_size", 256},
                                                  {"num_shared_experts", 1},
                                                  {"first_k_dense_replace", 1},
                                                  {"linear_attn_config",
                                                   {{"num_heads", 4},
                                                    {"head_dim", 32},
                                                    {"short_conv_kernel_size", 3},
                                                    {"full_attn_layers", {2, 4}},
                                                    {"kda_layers", {1, 3}}}}});
    const model m = read(config);
    for (const int i : {0, 2}) {
        CHECK(m.layers[i].attention.kind == attention_kind::none);
        CHECK(m.layers[i].recurrent.heads == 4);
        CHECK(m.layers[i].recurrent.state == 32);
        CHECK(m.layers[i].recurrent.kernel == 3);
    }
    for (const int i : {1, 3}) {
        CHECK(m.layers[i].attention.kind == attention_kind::latent);
        CHECK(m.layers[i].recurrent.kind == recurrent_kind::none);
    }
}

// ---- Families that a published model alone would not tell apart: by hand, of the modules of their modeling files.
// config_of() has heads of 64 features: queries and output 512 x 512, keys and values 128 x 512.

namespace {

constexpr std::int64_t H = 512, words = 1000, in_attention = 2 * H * H + 2 * 128 * H, norm = H;
constexpr std::int64_t gated(std::int64_t width) { return 3 * H * width; }

std::int64_t count_of(const json& config) { return count_parameters(read(config)).in(parameters); }

}  // namespace

TEST_CASE("Arctic: every moe_layer_frequency-th layer is routed, beside a dense feed-forward of the model's width") {
    const json routed{{"num_local_experts", 8}, {"num_experts_per_tok", 2}};
    const auto with = [&](const json& more) {
        json config = config_of("arctic", routed);
        config.update(more);
        return config;
    };
    const model m = read(with({{"moe_layer_frequency", 2}}));
    for (int i = 0; i < 4; ++i) CHECK(m.layers[i].feed_forward.experts.count == (i % 2 == 1 ? 8 : 0));
    const std::int64_t dense = in_attention + gated(1024) + 2 * norm;
    const std::int64_t sparse = in_attention + 8 * gated(1024) + 8 * H + 2 * norm;
    CHECK(count_of(with(json::object())) == words * H + norm + 2 * dense + 2 * sparse);  // the class's frequency is 2
    CHECK(count_of(with({{"moe_layer_frequency", 1}})) == words * H + norm + 4 * sparse);
    CHECK(count_of(with({{"moe_layer_frequency", 3}})) == words * H + norm + 3 * dense + sparse);
    CHECK(count_of(with({{"parallel_attn_mlp_res", true}})) ==
          words * H + norm + 2 * dense + 2 * (sparse + gated(H) + norm));
}

TEST_CASE("K-EXAONE lists its layers, and writes their pattern as letters beside the list") {
    json config =
        config_of("exaone_moe",
                  {{"num_experts", 8},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 128},
                   {"num_shared_experts", 1},
                   {"first_k_dense_replace", 1},
                   {"sliding_window", 128},
                   {"sliding_window_pattern", "LLLG"},
                   {"layer_types", {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}});
    const auto windows = [](const model& m) {
        std::string shown;
        for (int i = 0; i < m.layers.size; ++i) shown += m.layers[i].attention.window > token_count{} ? 'w' : '-';
        return shown;
    };
    CHECK(windows(read(config)) == "w-w-");
    config.erase("layer_types");
    CHECK(windows(read(config)) == "www-");  // a letter for each of four layers
    config["sliding_window_pattern"] = "LGLG";
    CHECK(refusal_of(config) == "sliding_window_pattern");
    config["sliding_window_pattern"] = 2;
    CHECK(windows(read(config)) == "w-w-");
    config["sliding_window_pattern"] = 4;
    CHECK(windows(read(config)) == "www-");
}

TEST_CASE("DBRX: LayerNorms without biases, before attention and feed-forward and at the end") {
    const model m = read({{"model_type", "dbrx"},
                          {"vocab_size", words},
                          {"d_model", H},
                          {"n_layers", 4},
                          {"n_heads", 8},
                          {"tie_word_embeddings", true},
                          {"attn_config", {{"kv_n_heads", 2}}},
                          {"ffn_config", {{"ffn_hidden_size", 1024}, {"moe_num_experts", 8}, {"moe_top_k", 2}}}});
    for (int i = 0; i < 4; ++i) CHECK(m.layers[i].norm == norm_kind::layer_without_bias);
    CHECK(m.final_norm == norm_kind::layer_without_bias);
    CHECK(count_parameters(m).in(parameters) ==
          words * H + norm + 4 * (in_attention + 8 * gated(1024) + 8 * H + 2 * norm));
}

TEST_CASE("biases of InternLM 3, MiMo and Ling stand where their classes put them") {
    const std::int64_t plain = words * H + norm + 4 * (in_attention + gated(1024) + 2 * norm);
    const std::int64_t of_qkv = 4 * (512 + 2 * 128), of_output = 4 * H, of_mlp = 4 * (2 * 1024 + H);
    CHECK(count_of(config_of("internlm3")) == plain);
    CHECK(count_of(config_of("internlm3", {{"qkv_bias", true}})) == plain + of_qkv);
    CHECK(count_of(config_of("internlm3", {{"bias", true}})) == plain + of_output + of_mlp);
    CHECK(count_of(config_of("mimo")) == plain + of_qkv);  // as Qwen 2, of which it is derived
    CHECK(count_of(config_of("mimo", {{"attention_bias", false}})) == plain);

    const json routed{{"num_experts", 8},
                      {"num_experts_per_tok", 2},
                      {"moe_intermediate_size", 128},
                      {"num_shared_experts", 2},
                      {"first_k_dense_replace", 1}};
    const std::int64_t ling =
        words * H + norm + 4 * (in_attention + 2 * norm) + gated(1024) + 3 * (8 * gated(128) + gated(2 * 128) + 8 * H);
    CHECK(count_of(config_of("bailing_moe", routed)) == ling);
    json biased = config_of("bailing_moe", routed);
    biased["use_qkv_bias"] = true;
    CHECK(count_of(biased) == ling + of_qkv);
}

TEST_CASE("RWKV 5: heads of 64 features, each with a state of 64 by 64, and channels of 3.5 times the width") {
    const json config{{"model_type", "rwkv5"}, {"vocab_size", words}, {"hidden_size", H}, {"num_hidden_layers", 4}};
    const model m = read(config);
    for (int i = 0; i < 4; ++i) {
        CHECK(m.layers[i].recurrent.heads == 8);
        CHECK(m.layers[i].recurrent.head_dim == 64);
        CHECK(m.layers[i].recurrent.state == 64);
        CHECK(m.layers[i].feed_forward.width == 1792);
    }
    // Time mixing: five matrices, decays, first terms, four mixes and a GroupNorm; channel mixing: three matrices and
    // two mixes; two LayerNorms. A LayerNorm behind the embedding and one before the head, which is never tied.
    const std::int64_t of_layer = 5 * H * H + H + H + 4 * H + 2 * H + 2 * 1792 * H + H * H + 2 * H + 4 * H;
    CHECK(count_parameters(m).in(parameters) == 2 * words * H + 4 * H + 4 * of_layer);
    json wider = config;
    wider["attention_hidden_size"] = 1024;
    CHECK(read(wider).layers[0].recurrent.heads == 16);
    wider["head_size"] = 128;
    CHECK(read(wider).layers[0].recurrent.heads == 8);
    CHECK(read(wider).layers[0].recurrent.state == 128);
}

TEST_CASE(
    "rotary embeddings rotate the part of a head that the config.json or its class names, all of it where none does") {
    const auto rotated = [](const std::string& family, const json& more) {
        const model m = read(config_of(family, more));
        return m.layers[0].attention.rotated_width();
    };
    CHECK(rotated("llama", json::object()) == 64);
    CHECK(rotated("llama", {{"partial_rotary_factor", 0.5}}) == 32);
    CHECK(rotated("llama", {{"partial_rotary_factor", 1.0}}) == 64);
    // transformers 5 has it among the parameters of positions, which go before.
    CHECK(rotated("llama", {{"partial_rotary_factor", 0.5}, {"rope_parameters", {{"partial_rotary_factor", 0.25}}}}) ==
          16);
    CHECK(rotated("stablelm", json::object()) == 16);
    CHECK(rotated("gpt_neox", json::object()) == 16);
    CHECK(rotated("gpt_neox", {{"rotary_pct", 1.0}}) == 64);  // RedPajama-INCITE
    CHECK(rotated("glm4", {{"head_dim", 128}}) == 64);
    CHECK(rotated("nemotron", json::object()) == 32);
    CHECK(rotated("phi3", {{"partial_rotary_factor", 0.75}}) == 48);
    CHECK(refusal_of(config_of("llama", {{"partial_rotary_factor", 2.0}})) == "partial_rotary_factor");
    for (const json& wrong : {json(2.0), json("half")})
        CHECK(refusal_of(config_of("llama", {{"rope_parameters", {{"partial_rotary_factor", wrong}}}})) ==
              "rope_parameters");
    const json latent{{"kv_lora_rank", 64},
                      {"qk_rope_head_dim", 32},
                      {"qk_nope_head_dim", 32},
                      {"v_head_dim", 64},
                      {"partial_rotary_factor", 0.5}};
    CHECK(rotated("deepseek_v3", latent) == 32);  // its part with position is rotated whole
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        for (const layer& kind : m->layers.distinct())
            CHECK(kind.attention.rotated_width() <= kind.attention.query_width());
    }
}

TEST_CASE("chunks of Mamba 2's scan are those of the configuration, or of its class: half as long in Nemotron-H") {
    // transformers' modeling_nemotron_h.py pads a prompt to whole chunks and has a decay for each pair of a chunk's
    // tokens. Published files of Nemotron-H and Nemotron 3 say 128 themselves.
    const auto chunk = [](const std::string& family, json fields) {
        fields.update({{"mamba_num_heads", 8}, {"mamba_head_dim", 128}, {"ssm_state_size", 32}});
        return read(config_of(family, fields)).layers.distinct()[0].recurrent.chunk;
    };
    const json letters{{"hybrid_override_pattern", "M-*-"}};
    CHECK(chunk("nemotron_h", letters) == 128);
    CHECK(chunk("nemotron_h", {{"hybrid_override_pattern", "M-*-"}, {"chunk_size", 64}}) == 64);
    const json kinds = json::array({"mamba", "attention", "mamba", "attention"});
    CHECK(chunk("granitemoehybrid", {{"layer_types", kinds}}) == 256);
    CHECK(chunk("granitemoehybrid", {{"layer_types", kinds}, {"mamba_chunk_size", 64}}) == 64);
    CHECK(read(config_of("mamba2", {{"head_dim", 128}, {"num_heads", 8}, {"chunk_size", 32}}))
              .layers.distinct()[0]
              .recurrent.chunk == 32);
    for (const model* m : {&models::nemotron_h_8b, &models::nemotron_nano_9b_v2, &models::nemotron_3_nano_30b_a3b,
                           &models::nemotron_3_super_120b_a12b, &models::nemotron_3_ultra_550b_a55b})
        CHECK(m->layers[0].recurrent.chunk == 128);
}

TEST_CASE("norms are those of the class that builds the model") {
    using enum norm_kind;
    const auto norm_of = [](const char* family) {
        const model m = read(config_of(family));
        CHECK(m.layers[0].norm == m.final_norm);
        return m.final_norm;
    };
    for (const char* family : {"llama", "qwen2", "qwen3", "gemma", "mistral", "phi3", "glm", "olmo2"}) {
        CAPTURE(family);
        CHECK(norm_of(family) == rms);
    }
    for (const char* family : {"starcoder2", "phi", "stablelm", "orion", "persimmon", "nemotron", "gpt_neox"}) {
        CAPTURE(family);
        CHECK(norm_of(family) == layer);
    }
    for (const char* family : {"cohere", "cohere2"}) {
        CAPTURE(family);
        CHECK(norm_of(family) == layer_without_bias);
    }
    const json experts{{"num_experts", 8}, {"num_experts_per_tok", 2}};
    CHECK(read(config_of("cohere2_moe", experts)).final_norm == layer_without_bias);
    CHECK(read(config_of("phi3small", {{"ff_intermediate_size", 1024}, {"intermediate_size", nullptr}})).final_norm ==
          layer);
}
