// SPDX-License-Identifier: MIT
// Our counts against those of transformers' own model classes, for small configurations of every family with fields
// left out as files leave them out: tests/validation/pytorch/count_reference.py makes the table.
#include <doctest/doctest.h>

#include <fstream>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/parameters.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "../../validation/registry.hpp"

using namespace llmres;

TEST_CASE("a configuration counts as the model that transformers builds of it") {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_counts.jsonl"};
    std::set<std::string> families;
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
        const auto row = nlohmann::json::parse(line);
        const std::string config = row["config"].dump();
        CAPTURE(config);
        families.insert(row["config"]["model_type"].get<std::string>());
        const auto read = read_hf_config(config);
        REQUIRE_MESSAGE(read, read.error().field.view(), " is ", read.error().value.view(), "; expected ",
                        read.error().expected.view());
        CHECK(count_parameters(*read).in(parameters) == row["parameters"].get<std::int64_t>());
    }
    CHECK(rows >= 490);
    CHECK(families.size() >= 98);
}

TEST_CASE(
    "no type of transformers' registries that was read is read no longer, and the others are refused by a field") {
    const auto all = registry::coverage_of_transformers();
    REQUIRE(all.size() == 3);
    CHECK(all.at("causal_lm").read >= 152);
    CHECK(all.at("causal_lm").equal >= 150);
    CHECK(all.at("image_text_to_text").read >= 58);
    CHECK(all.at("image_text_to_text").equal >= 58);
    CHECK(all.at("seq_to_seq_causal_lm").read >= 11);
    CHECK(all.at("seq_to_seq_causal_lm").equal >= 11);
    // Where a count is another, the class and the checkpoints differ (pytorch/count_reference.py): LongCat's class has
    // weights for experts that compute nothing, DeepSeek-V4's has tables of experts as buffers, which files store and
    // publishers count.
    for (const auto& [name, c] : all)
        for (const std::string& departing : c.departing)
            CHECK((departing.starts_with("longcat_flash") || departing.starts_with("deepseek_v4")));
    for (const auto& [name, c] : all)
        for (const std::string& refused : c.refused) {
            CAPTURE(refused);
            CHECK_FALSE(refused.ends_with(": "));
        }
}

TEST_CASE(
    "layer types that a file leaves out are those that its class makes, and its longest context is what it says") {
    // The default configurations list the types that their classes made of periods and positions.
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_registry.jsonl"};
    int listed = 0, contexts = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        nlohmann::json config = row["config"];
        const auto given = read_hf_config(config.dump());
        if (!given) continue;
        CAPTURE(row["model_type"].get<std::string>());
        CAPTURE(row["variant"].dump());
        nlohmann::json& text = config.contains("text_config") ? config["text_config"] : config;
        if (const auto most = text.find("max_position_embeddings"); most != text.end() && most->is_number_integer()) {
            // Positions of RoBERTa's kin begin behind the padding token's (create_position_ids_from_input_ids).
            static const std::set<std::string> behind_padding{"roberta",      "camembert",      "xlm-roberta",
                                                              "xmod",         "xlm-roberta-xl", "roberta-prelayernorm",
                                                              "data2vec-text"};
            const bool is_behind = behind_padding.contains(row["model_type"].get<std::string>());
            const std::int64_t none = is_behind ? text.value("pad_token_id", std::int64_t{1}) + 1 : 0;
            CHECK(given->max_context.in(tokens) == most->get<std::int64_t>() - none);
            ++contexts;
        }
        if (!text.contains("layer_types") || !text["layer_types"].is_array()) continue;
        text.erase("layer_types");
        const auto made = read_hf_config(config.dump());
        if (row["model_type"] == "granitemoehybrid") {  // whose files all have them: its default has no attention
            CHECK(made.error().field == "layer_types");
            continue;
        }
        REQUIRE_MESSAGE(made, made.error().field.view());
        REQUIRE(made->layers.size == given->layers.size);
        for (int i = 0; i < made->layers.size; ++i) CHECK(made->layers[i] == given->layers[i]);
        ++listed;
    }
    CHECK(listed >= 203);
    CHECK(contexts >= 400);
}

namespace {

/// Changes with which transformers' class is no model that anyone has.
bool is_nobodys(const std::string& type, const std::string& patch) {
    const auto has = [&](const char* words) { return patch.find(words) != std::string::npos; };
    return type == "longcat_flash" ||  // its class has weights for experts that compute nothing
           (has("\"tie_word_embeddings\":false") && !has("text_config")) ||  // unties embeddings of encoder and decoder
           (has("\"tie_word_embeddings\":null") && !has("text_config")) ||   // every file of transformers 5 has it
           has("\"out_hidden_size\":null") ||  // a merger that does not fit its text model: 3,584 features
           (type == "qwen2_vl" && has("\"vision_config\":{\"hidden_size\":null")) ||  // the same
           has("\"patch_size\":[14,14,14]") ||                                        // no patch of an image
           (type == "xlstm" && has("\"hidden_size\":8192")) ||       // beside an `embedding_dim` of 4,096
           (type == "ovis2" && has("{\"hidden_size\":null}")) ||     // beside visual words of 3,072
           (type == "helium" && !has("null")) ||                     // heads that do not fill the hidden size
           (type == "gpt_bigcode" && has("multi_query")) ||          // beside `num_key_value_heads` of 1
           (type == "hy_v4" && has("indexer_types")) ||              // which every file of Hunyuan 4 has
           has("\"per_layer_config\":{\"3\":{\"head_dim\":null}}");  // Gemma 4 says it of each layer
}

}  // namespace

TEST_CASE("one field more, less or other in a configuration changes the count as it changes transformers' model") {
    const std::string data = LLMRES_SOURCE_DIR "/tests/validation/data/";
    std::map<std::string, nlohmann::json> configs;
    const auto key_of = [](const nlohmann::json& row) {
        return row["registry"].get<std::string>() + row["model_type"].get<std::string>() + row["variant"].dump();
    };
    std::ifstream registered{data + "transformers_registry.jsonl"};
    for (std::string line; std::getline(registered, line);) {
        const auto row = nlohmann::json::parse(line);
        configs[key_of(row)] = row["config"];
    }
    int types = 0, read = 0, refused = 0;
    std::ifstream lines{data + "transformers_fields.jsonl"};
    for (std::string line; std::getline(lines, line); ++types) {
        const auto row = nlohmann::json::parse(line);
        CAPTURE(row["model_type"].get<std::string>());
        const nlohmann::json& config = configs.at(key_of(row));
        for (const auto& change : row["changes"]) {
            nlohmann::json changed = config;
            changed.merge_patch(change[0]);
            const auto model = read_hf_config(changed.dump());
            CAPTURE(change[0].dump());
            (model ? read : refused) += 1;
            if (model && !is_nobodys(row["model_type"], change[0].dump()))
                CHECK(count_parameters(*model).in(parameters) == change[1].get<std::int64_t>());
        }
    }
    CHECK(types >= 172);
    CHECK(read >= 4200);
    CHECK(refused <= 640);  // fields that the type must have, and structures that are not described
}
