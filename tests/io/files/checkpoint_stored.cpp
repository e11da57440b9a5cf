// SPDX-License-Identifier: MIT
#include <llmres/io/files/checkpoint_stored.hpp>

#include <doctest/doctest.h>

#include <llmres/models/kv_cache.hpp>
#include <span>
#include <string>
#include <utility>

#include "unknown_checkpoints.hpp"

using namespace unknown_checkpoints;

TEST_CASE("a new model_type with Llama's tensors has Llama's bytes, heads and cache") {
    const checkpoint files;
    const auto found = files.read();
    REQUIRE(found);
    const model& m = found->model;
    CHECK(m.from_tensors);
    CHECK(m.architecture == "brand_new");
    CHECK(planned(m) == files.stored());
    const model known = *read_hf_config(model_files::llama_config().dump());
    CHECK(count_parameters(m) == count_parameters(known));
    CHECK(kv_bytes_per_token(m, fp16) == kv_bytes_per_token(known, fp16));
    CHECK(m.layers.size == 4);
    CHECK(m.layers[0].feed_forward.width == 512);
}

TEST_CASE("tensors that no name explains are counted, in layers and outside of them") {
    const checkpoint files{[](json& tensors) {
        for (int i = 0; i < 4; ++i)
            tensors["model.layers." + std::to_string(i) + ".wormhole.beta"] = tensor_of({1000 + i, 7});
        tensors["vision_tower.blocks.0.mystery.weight"] = tensor_of({100, 300});
        tensors["model.layers.4.self_attn.q_proj.weight"] = tensor_of({256, 256});  // predicts further tokens
    }};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(planned(found->model) == files.stored());
    CHECK(weight_bytes(found->model, formats_of(found->model)) == files.stored() - bytes(2 * 256 * 256));
    CHECK(found->model.layers.kind_count == 4);
    CHECK(found->model.layers[0].attention.heads == 8);
}

TEST_CASE("an index alone gives its total, shared by the layers") {
    folder files;
    files.file("config.json", new_config().dump());
    json map = json::object();
    const std::string whole = model_files::llama_safetensors();
    const auto listed = read_safetensors(std::as_bytes(std::span{whole}));
    REQUIRE(listed);
    for (const safetensors_tensor& t : listed->tensors) map[t.name] = "model-00001-of-00001.safetensors";
    const std::int64_t total = listed->tensor_bytes().in(bytes) + 400000;
    files.file("model.safetensors.index.json", json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump());
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.from_tensors);
    CHECK(found->model.layers[0].attention.kv_heads == 2);
    CHECK(planned(found->model).in(bytes) >= total);
    CHECK(planned(found->model).in(bytes) < total + 100);
}

TEST_CASE("without tensors beside it a config of an unknown type is refused as before, and so is one that is wrong") {
    folder files;
    files.file("config.json", new_config().dump());
    CHECK(files.read().error().field == "model_type");
    json config = new_config();
    config["num_hidden_layers"] = 40;
    const checkpoint fewer{{}, config};
    CHECK(fewer.read().error().field == "num_hidden_layers");
    json wrong = model_files::llama_config();
    wrong["num_attention_heads"] = "many";
    const checkpoint malformed{{}, wrong};
    CHECK(malformed.read().error().field == "num_attention_heads");
}

TEST_CASE("vocabulary and head are those of the tensors, and not of tensors in towers or without a name's meaning") {
    json config = new_config();
    config["vocab_size"] = 900;
    config["tie_word_embeddings"] = true;  // as configs of models that untie say when they leave the class's default
    const auto model_with = [](const std::function<void(json&)>& change, const json& of) {
        return checkpoint{change, of}.read()->model;
    };
    const model padded = model_with({}, config);
    CHECK(padded.vocabulary == 1000);
    CHECK_FALSE(padded.tied_head);
    config["tie_word_embeddings"] = false;
    const model towers = model_with(
        [](json& tensors) {
            tensors.erase("lm_head.weight");
            tensors["talker.0.lm_head.weight"] = tensor_of({50, 16});
            tensors["mystery"] = tensor_of({2, 3, 5});
        },
        config);
    CHECK(towers.vocabulary == 1000);
    CHECK(towers.tied_head);
    const model volume =
        model_with([](json& tensors) { tensors["model.embed_tokens.weight"] = tensor_of({10, 100, 256}); }, config);
    CHECK(volume.vocabulary == 900);
    CHECK(model_with([](json& tensors) { tensors.erase("model.embed_tokens.weight"); }, config).vocabulary == 900);
    config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
    CHECK(model_with({}, config).vocabulary == 900);  // rows may be packed
}

TEST_CASE("a name is what stands before the layer's number, the number, and what follows") {
    using llmres::detail::safetensors::split_name;
    const auto is = [](std::string_view name, std::string_view prefix, std::int64_t layer, std::string_view rest) {
        const auto split = split_name(name);
        return split.prefix == prefix && split.layer == layer && split.rest == rest;
    };
    CHECK(is("model.layers.0.mlp.up_proj.weight", "model.layers.", 0, "mlp.up_proj.weight"));
    CHECK(is("model.layers.127.x", "model.layers.", 127, "x"));
    CHECK(is("h.12", "h.", 12, ""));
    CHECK(is("7.mlp.0.weight", "", 7, "mlp.0.weight"));
    CHECK(is("layers.99999.x", "layers.", 99999, "x"));
    for (const char* none : {"lm_head.weight", "layers.100000.x", "l1.x", "1a.x", "ends.", "two..dots", ""}) {
        CAPTURE(none);
        CHECK(split_name(none).layer < 0);
        CHECK(split_name(none).prefix == none);
    }
}

TEST_CASE("a checkpoint of more kinds of layers than a model may have is refused as that") {
    json config = new_config();
    config["num_hidden_layers"] = 16;
    const checkpoint files{[](json& tensors) {
                               for (int i = 0; i < 16; ++i) {
                                   const std::string layer = "model.layers." + std::to_string(i) + ".self_attn.";
                                   tensors[layer + "k_proj.weight"] = tensor_of({64 + 2 * i, 256});
                                   tensors[layer + "o_proj.weight"] = tensor_of({1024, 256});
                                   tensors[layer + "v_proj.weight"] = tensor_of({1024, 256});
                               }
                           },
                           config};
    CHECK(files.read().error().code == error_code::unsupported);
    CHECK(files.read().error().field == "layers");
    CHECK(files.read().error().value == "16");
}

TEST_CASE("the first field that is wrong is named, of the config before its checkpoint and of the outer one first") {
    const std::string content = model_files::llama_safetensors();
    const auto tensors = read_safetensors(std::as_bytes(std::span{content}));
    REQUIRE(tensors);
    const auto read = [&](const json& config) {
        return llmres::detail::safetensors::stored_reader{config, *tensors}.read();
    };
    CHECK(read(new_config())->name == "brand_new");
    json config = new_config();
    config["num_hidden_layers"] = 40;
    config.erase("hidden_size");
    CHECK(read(config).error().field == "hidden_size");
    CHECK(read({{"model_type", "brand_new_vl"}, {"torch_dtype", 7}, {"text_config", new_config()}}).error().field ==
          "torch_dtype");
    config = new_config();
    config.erase("num_attention_heads");
    CHECK(read({{"model_type", "brand_new_vl"}, {"torch_dtype", 7}, {"text_config", config}}).error().field ==
          "torch_dtype");
    config = new_config();
    config[""] = json::object();  // a field of no name is none of those that hold a text model
    CHECK(read(config));
}

TEST_CASE("a model inside the config is that of a text model, with the outer type's name") {
    const json inner = new_config();
    const checkpoint files{{}, {{"model_type", "brand_new_vl"}, {"text_config", inner}}};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.architecture == "brand_new_vl");
    CHECK(found->model.layers[0].attention.kv_heads == 2);
    json quantised = inner;
    quantised["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 5}};
    CHECK(checkpoint{{}, {{"model_type", "brand_new_vl"}, {"text_config", quantised}}}.read().error().field ==
          "quantization_config.bits");
    CHECK_FALSE(checkpoint{{}, {{"model_type", "brand_new_vl"}, {"text_config", 7}}}.read());
}

TEST_CASE("the format of most bytes is the model's where no field says it") {
    for (const auto& [stored, format] : {std::pair{"F16", fp16}, {"F32", fp32}, {"BF16", bf16}}) {
        CAPTURE(stored);
        const std::string dtype = stored;
        const checkpoint files{[&](json& tensors) {
            for (json& tensor : tensors) tensor["dtype"] = dtype;
        }};
        const auto found = files.read();
        REQUIRE(found);
        CHECK(found->model.weights == format);
        CHECK(planned(found->model) == files.stored());
    }
    const checkpoint mixed{[](json& tensors) {
        tensors["model.layers.0.mlp.gate.weight"] = {{"dtype", "F32"}, {"shape", {8, 256}}};
        tensors["model.layers.0.nothing"] = {{"dtype", "F8_E4M3"}, {"shape", {0}}};
    }};
    CHECK(mixed.read()->model.weights == bf16);
    json config = new_config();
    config["torch_dtype"] = "float32";
    CHECK(checkpoint{{}, config}.read()->model.weights == fp32);
}

TEST_CASE("of an index that states less than is predicted, or nothing, the prediction stands") {
    const std::string whole = model_files::llama_safetensors();
    const auto listed = read_safetensors(std::as_bytes(std::span{whole}));
    REQUIRE(listed);
    json map = json::object();
    for (const safetensors_tensor& t : listed->tensors) map[t.name] = "model-00001-of-00001.safetensors";
    for (const json& metadata : {json::object(), json{{"total_size", 1000}}, json{{"total_size", 1500000}}}) {
        CAPTURE(metadata);
        folder files;
        files.file("config.json", new_config().dump());
        files.file("model.safetensors.index.json", json{{"metadata", metadata}, {"weight_map", map}}.dump());
        const auto found = files.read();
        REQUIRE(found);
        CHECK(planned(found->model) >= listed->tensor_bytes() - bytes(20000));  // norms are no fields of the config
        CHECK(planned(found->model) <= listed->tensor_bytes());
    }
}

TEST_CASE("the decoder is the list of the most bytes that begins with zero") {
    json config = new_config();
    config["num_hidden_layers"] = 2;
    const checkpoint files{[](json& tensors) {
                               for (const char* list : {"vision.blocks.", "later.blocks."})
                                   for (int i = 0; i < 4; ++i)
                                       tensors[list + std::to_string(i + (*list == 'l' ? 1 : 0)) + ".mlp.fc1.weight"] =
                                           tensor_of({*list == 'l' ? 4096 : 16, 256});
                               for (int i = 0; i < 20; ++i)
                                   for (int k = 0; k < 20; ++k)  // many, and small
                                       tensors["audio." + std::to_string(i) + ".t" + std::to_string(k)] =
                                           tensor_of({2});
                               tensors["model.layers."] = tensor_of({3});
                               tensors["123456.no.layer"] = tensor_of({3});  // too long for a number of layers
                               tensors["ends.7"] = tensor_of({3});
                               tensors["two..dots"] = tensor_of({3});
                           },
                           config};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers.size == 2);
    for (const int i : {0, 1}) {
        CHECK(found->model.layers[i].attention.heads == 8);
        CHECK(found->model.layers[i].feed_forward.width == 512);
        CHECK(found->model.layers[i].more_values == 2 * 256);  // its norms
    }
    CHECK(planned(found->model) == files.stored());
    // Two of four layers predict further tokens.
    CHECK(weight_bytes(found->model, formats_of(found->model)) < files.stored());
}
