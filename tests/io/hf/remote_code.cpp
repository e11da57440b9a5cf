// SPDX-License-Identifier: MIT
// Models whose classes their authors publish beside the weights (`trust_remote_code`), so that no class of transformers
// counts them: totals of the checkpoints' files on Hugging Face, and sums by hand of what the classes make.
#include <llmres/io/hf_config.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

using namespace llmres;
using nlohmann::json;

namespace {

/// A configuration of equal layers.
json config_of(const char* type, int vocabulary, int hidden, int layers, int heads, int kv_heads, int width,
               const json& more = json::object()) {
    json config = {{"model_type", type},          {"vocab_size", vocabulary},     {"hidden_size", hidden},
                   {"num_hidden_layers", layers}, {"num_attention_heads", heads}, {"num_key_value_heads", kv_heads},
                   {"intermediate_size", width},  {"tie_word_embeddings", false}};
    config.merge_patch(more);
    return config;
}

std::int64_t count_of(const json& config) {
    CAPTURE(config.dump());
    const result<model> read = read_hf_config(config.dump());
    REQUIRE_MESSAGE(read, read.error().field.view(), " is ", read.error().value.view(), "; expected ",
                    read.error().expected.view());
    return count_parameters(*read).in(parameters);
}

}  // namespace

TEST_CASE("dense models count what their checkpoints hold") {
    CHECK(count_of(config_of("Yi", 64000, 4096, 32, 32, 4, 11008)) == 6'061'035'520);
    CHECK(count_of(config_of("aquila", 100008, 4096, 32, 32, 32, 11008)) == 7'295'537'152);
    CHECK(count_of(config_of("internlm2", 92544, 4096, 32, 32, 8, 14336, {{"bias", false}})) == 7'737'708'544);
    CHECK(count_of(config_of("internlm", 103168, 4096, 32, 32, 32, 11008, {{"bias", true}})) == 7'321'948'160);
    CHECK(count_of(config_of("baichuan", 64000, 4096, 32, 32, 32, 11008)) == 7'000'559'616);
    CHECK(count_of(config_of("baichuan", 125696, 5120, 40, 40, 40, 13696)) == 13'896'668'160);
    CHECK(count_of(config_of("orion", 84608, 5120, 40, 40, 40, 15360)) == 14'498'703'360);
    CHECK(count_of(config_of("stablelm_epoch", 50304, 2560, 32, 32, 32, 6912)) == 2'795'443'200);
    CHECK(count_of(config_of("minicpm", 122753, 2304, 40, 36, 36, 5760, {{"tie_word_embeddings", true}})) ==
          2'724'880'896);
    // Phi-3-small: LayerNorms with biases, biases of all products, and the embedding once.
    CHECK(count_of(config_of(
              "phi3small", 100352, 4096, 32, 32, 8, 14336,
              {{"intermediate_size", nullptr}, {"ff_intermediate_size", 14336}, {"tie_word_embeddings", true}})) ==
          7'392'272'384);
}

TEST_CASE("Open-Assistant's reward model is Pythia with a score in the place of the head") {
    const json config = {{"model_type", "gpt_neox_reward_model"},
                         {"architectures", {"GPTNeoXRewardModel"}},
                         {"vocab_size", 50288},
                         {"hidden_size", 2048},
                         {"num_hidden_layers", 24},
                         {"num_attention_heads", 16},
                         {"intermediate_size", 8192},
                         {"rotary_pct", 0.25},
                         {"tie_word_embeddings", false},
                         {"max_position_embeddings", 2048}};
    // Pythia 1.4B has 1,414,647,808, of which embedding and head are 50,304 rows each.
    CHECK(count_of(config) == 1'414'647'808 - 2 * 50304 * 2048 + 50288 * 2048 + 2048 + 1);
    CHECK(read_hf_config(config.dump())->head.kind == head_kind::pooled);
}

TEST_CASE("Nomic's BERT: gated without biases, or experts in every second layer beside feed-forwards with biases") {
    const json shape = {{"model_type", "nomic_bert"},
                        {"vocab_size", 1000},
                        {"n_embd", 64},
                        {"n_layer", 4},
                        {"n_head", 4},
                        {"n_inner", 256},
                        {"type_vocab_size", 1},
                        {"architectures", {"NomicBertModel"}}};
    const auto with = [&](const json& more) {
        json config = shape;
        config.merge_patch(more);
        return config;
    };
    // An embedding with one type and a norm; a layer of four projections, two norms and three matrices.
    const int embeddings = 1000 * 64 + 64 + 128, attention = 4 * 64 * 64, norms = 4 * 64;
    CHECK(count_of(shape) == embeddings + 4 * (attention + norms + 3 * 64 * 256));
    const json second = {{"activation_function", "gelu"}, {"qkv_proj_bias", true}, {"mlp_fc1_bias", true},
                         {"mlp_fc2_bias", true},          {"num_experts", 8},      {"moe_top_k", 2},
                         {"moe_every_n_layers", 2}};
    const int dense = 2 * 64 * 256 + 256 + 64, routed = 8 * 2 * 64 * 256 + 8 * 64 + 64;
    CHECK(count_of(with(second)) == embeddings + 4 * (attention + 4 * 64 + norms) + 2 * (dense + routed));
    const model m = read_hf_config(with(second).dump()).value();
    CHECK(m.head.kind == head_kind::encoder);
    CHECK_FALSE(m.layers[0].feed_forward.routed());
    CHECK(m.layers[1].feed_forward.experts.per_token == 2);

    const auto field = [&](const json& more) { return read_hf_config(with(more).dump()).error().field; };
    CHECK(field({{"num_experts", 8}}) == "moe_every_n_layers");
    CHECK(field({{"mlp_fc1_bias", true}, {"mlp_fc2_bias", false}}) == "mlp_fc2_bias");
    CHECK(field({{"prenorm", true}}) == "prenorm");
    CHECK(field({{"parallel_block", true}}) == "parallel_block");
}

TEST_CASE("models of experts count what their checkpoints hold") {
    // DBRX: matrices of 16 experts, LayerNorms without biases; the fields of both halves in objects of their own.
    CHECK(count_of({{"model_type", "dbrx"},
                    {"vocab_size", 100352},
                    {"d_model", 6144},
                    {"n_layers", 40},
                    {"n_heads", 48},
                    {"tie_word_embeddings", false},
                    {"attn_config", {{"kv_n_heads", 8}}},
                    {"ffn_config", {{"moe_num_experts", 16}, {"moe_top_k", 4}, {"ffn_hidden_size", 10752}}}}) ==
          131'596'523'520);
    // DeepSeekMoE 16B: the first layer is dense, two shared experts beside 64.
    CHECK(count_of(config_of("deepseek", 102400, 2048, 28, 16, 16, 10944,
                             {{"moe_intermediate_size", 1408},
                              {"n_routed_experts", 64},
                              {"n_shared_experts", 2},
                              {"num_experts_per_tok", 6},
                              {"first_k_dense_replace", 1}})) == 16'375'728'128);
    // Grok-1: four norms a layer, eight experts, and the embedding once.
    CHECK(count_of(config_of("grok-1", 131072, 6144, 64, 48, 8, 32768,
                             {{"num_experts", 8}, {"num_experts_per_tok", 2}, {"tie_word_embeddings", true}})) ==
          315'684'820'992);
}

TEST_CASE("fields of these classes change the counts as their matrices do") {
    const auto hunyuan = [](const json& more) {
        return count_of(config_of("hunyuan", 1000, 512, 4, 8, 2, 1024, more));
    };
    const std::int64_t plain = hunyuan(json::object());
    CHECK(hunyuan({{"use_qk_norm", true}}) == plain + 4 * 2 * 64);
    // Every other layer reads the keys and values of the one before.
    CHECK(hunyuan({{"use_cla", true}, {"cla_share_factor", 2}}) == plain - 2 * 2 * 512 * 128);
    // One expert is a dense feed-forward.
    CHECK(hunyuan({{"num_experts", 1}}) == plain);
    // DeepSeek-V2's small siblings have plain attention.
    const json small = {{"moe_intermediate_size", 256},
                        {"n_routed_experts", 4},
                        {"num_experts_per_tok", 2},
                        {"first_k_dense_replace", 4},
                        {"n_shared_experts", 1}};
    json without = small;
    without["use_mla"] = false;
    CHECK(count_of(config_of("deepseek_v2", 1000, 512, 4, 8, 8, 1024, without)) ==
          2 * 512'000 + 512 + 4 * (4 * 512 * 512 + 3 * 512 * 1024 + 2 * 512));
}

TEST_CASE("no number of one is out of its range, in any field of any family") {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/data/configs/families.json"};
    std::ifstream registered{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_registry.jsonl"};
    std::vector<json> configs;
    for (const json& row : json::parse(file)) configs.push_back(row["config"]);
    for (std::string line; std::getline(registered, line);) {
        const json row = json::parse(line);
        if (row["variant"] == 1) configs.push_back(row["config"]);
    }
    std::set<std::string> refused;
    int tried = 0;
    const auto with_one = [&](const json& config, const json::json_pointer& field) {
        json changed = config;
        changed[field] = 1;
        const result<model> read = read_hf_config(changed.dump());
        ++tried;
        if (!read && read.error().code == error_code::out_of_range && read.error().value == "1")
            refused.insert(config["model_type"].get<std::string>() + " " + field.to_string());
    };
    for (const json& config : configs)
        for (const auto& [name, value] : config.items()) {
            const json::json_pointer field = json::json_pointer{} / name;
            if (value.is_number_integer()) with_one(config, field);
            if (value.is_object())
                for (const auto& [inner, number] : value.items())
                    if (number.is_number_integer()) with_one(config, field / inner);
        }
    CHECK(tried > 3000);
    // A picture of one pixel has no patch; widths of gated products are halved; some of Ovis' visual words are marks.
    for (const std::string& field : refused) {
        CAPTURE(field);
        CHECK((field.ends_with("/image_size") || field == "cohere2_vision /alignment_intermediate_size" ||
               field == "moshi /ffn_dim" || field == "recurrent_gemma /intermediate_size" ||
               field == "ovis2 /vision_config/vocab_size"));
    }
}
