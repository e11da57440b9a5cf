// SPDX-License-Identifier: MIT
#include <llmres/io/files/checkpoint_stored.hpp>

#include <doctest/doctest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <llmres/io/files.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/weight_formats.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "../../model_files.hpp"
#include "../../scratch.hpp"

using namespace llmres;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A checkpoint's folder, gone with the test.
struct folder : run_program::scratch {
    result<model_source> read() const { return find_model_source(path().string()); }
};

json new_config() {
    json config = model_files::llama_config();
    config["model_type"] = "brand_new";
    return config;
}

json tensor_of(const std::vector<std::int64_t>& shape) { return {{"dtype", "BF16"}, {"shape", shape}}; }

/// A checkpoint of a new model_type: that of llama_safetensors() with other tensors.
struct checkpoint : folder {
    std::string content;
    explicit checkpoint(const std::function<void(json&)>& change = {}, const json& config = new_config())
        : content{model_files::llama_safetensors(change)} {
        file("config.json", config.dump());
        file("model.safetensors", content);
    }
    byte_count stored() const { return load_safetensors(path())->tensor_bytes(); }
};

byte_count planned(const model& m) { return stored_bytes(m, formats_of(m)); }

}  // namespace

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

TEST_CASE("experts are found whether each has tensors of its own or all share one") {
    for (const bool fused : {false, true}) {
        CAPTURE(fused);
        json config = new_config();
        config["num_experts_per_tok"] = 2;
        const checkpoint files{[&](json& tensors) {
                                   for (int i = 0; i < 4; ++i) {
                                       const std::string mlp = "model.layers." + std::to_string(i) + ".mlp.";
                                       for (const char* name : {"gate_proj", "up_proj", "down_proj"})
                                           tensors.erase(mlp + name + ".weight");
                                       tensors[mlp + "gate.weight"] = tensor_of({8, 256});
                                       for (int e = 0; e < (fused ? 0 : 8); ++e) {
                                           const std::string expert = mlp + "experts." + std::to_string(e) + ".";
                                           tensors[expert + "gate_proj.weight"] = tensor_of({128, 256});
                                           tensors[expert + "up_proj.weight"] = tensor_of({128, 256});
                                           tensors[expert + "down_proj.weight"] = tensor_of({256, 128});
                                       }
                                       if (!fused) continue;
                                       tensors[mlp + "experts.gate_up_proj"] = tensor_of({8, 256, 256});
                                       tensors[mlp + "experts.down_proj"] = tensor_of({8, 128, 256});
                                   }
                               },
                               config};
        const auto found = files.read();
        REQUIRE(found);
        const experts& e = found->model.layers[0].feed_forward.experts;
        CHECK(e.count == 8);
        CHECK(e.per_token == 2);
        CHECK(e.width == 128);
        CHECK(planned(found->model) == files.stored());
    }
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

TEST_CASE("a recurrence is known by its state; one whose state no field gives is refused by the field") {
    const auto change = [](json& tensors) {
        for (int i = 0; i < 2; ++i) {
            const std::string layer = "model.layers." + std::to_string(i) + ".";
            for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
                tensors.erase(layer + "self_attn." + name + ".weight");
            tensors[layer + "mixer.in_proj.weight"] = tensor_of({1200, 256});
            tensors[layer + "mixer.A_log"] = tensor_of({16});
        }
    };
    json config = new_config();
    const checkpoint silent{change, config};
    CHECK(silent.read().error().field == "ssm_state_size");
    config["ssm_state_size"] = 64;
    const checkpoint files{change, config};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].attention.kind == attention_kind::none);
    CHECK(found->model.layers[2].recurrent.kind == recurrent_kind::none);
    CHECK(state_shape_of(found->model.layers[0].recurrent).state == 512 * 64);
    CHECK(planned(found->model) == files.stored());
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
