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
#include <span>
#include <string>
#include <system_error>
#include <utility>
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

TEST_CASE("latent attention is known by its tensors, and its ranks by the usual fields") {
    json config = new_config();
    config.update({{"kv_lora_rank", 64},
                   {"q_lora_rank", 96},
                   {"qk_rope_head_dim", 16},
                   {"qk_nope_head_dim", 32},
                   {"v_head_dim", 24}});
    const auto change = [](json& tensors) {
        for (int i = 0; i < 4; ++i) {
            const std::string attention = "model.layers." + std::to_string(i) + ".self_attn.";
            for (const char* name : {"k_proj", "v_proj"}) tensors.erase(attention + name + ".weight");
            tensors[attention + "kv_a_proj_with_mqa.weight"] = tensor_of({80, 256});
            tensors[attention + "kv_b_proj.weight"] = tensor_of({8 * 56, 64});
        }
    };
    const checkpoint files{change, config};
    const auto found = files.read();
    REQUIRE(found);
    const attention& a = found->model.layers[0].attention;
    CHECK(a.kind == attention_kind::latent);
    CHECK(a.kv_rank == 64);
    CHECK(a.q_rank == 96);
    CHECK(a.rope_dim == 16);
    CHECK(a.head_dim == 32);
    CHECK(a.value_dim == 24);
    CHECK(a.kv_heads == 8);
    // 64 + 16 values a token in each of four layers.
    CHECK(kv_bytes_per_token(found->model, fp16) * tokens(1) == bytes(4 * 80 * 2));
    CHECK(planned(found->model) == files.stored());
    config.erase("kv_lora_rank");
    CHECK(checkpoint{change, config}.read().error().field == "kv_lora_rank");
}

TEST_CASE("queries, keys and values in one tensor are attention too") {
    const checkpoint files{[](json& tensors) {
        for (int i = 0; i < 4; ++i) {
            const std::string attention = "model.layers." + std::to_string(i) + ".self_attn.";
            for (const char* name : {"q_proj", "k_proj", "v_proj"}) tensors.erase(attention + name + ".weight");
            tensors[attention + "qkv_proj.weight"] = tensor_of({384, 256});
        }
    }};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].attention.kv_heads == 2);
    CHECK(found->model.layers[0].attention.head_dim == 32);
    CHECK(planned(found->model) == files.stored());
}

TEST_CASE("layers whose keys have another size than the config says have other heads, or wider ones") {
    const auto keys_of = [](std::int64_t rows) {
        return checkpoint{
            [rows](json& tensors) { tensors["model.layers.3.self_attn.k_proj.weight"] = tensor_of({rows, 256}); }}
            .read()
            ->model;
    };
    CHECK(keys_of(64).layers[3].attention == keys_of(64).layers[0].attention);
    CHECK(keys_of(256).layers[3].attention.kv_heads == 8);  // as many as queries
    CHECK(keys_of(256).layers[3].attention.head_dim == 32);
    CHECK(keys_of(0).layers[3].attention.kv_heads == 2);  // of no rows nothing follows but their width
    const model fewer = keys_of(32);
    CHECK(fewer.layers[3].attention.kv_heads == 1);
    CHECK(fewer.layers[3].attention.head_dim == 32);
    CHECK(fewer.layers[0].attention.kv_heads == 2);
    // Three heads do not divide eight, and 16 heads are more than the queries have: each of the two is wider.
    CHECK(keys_of(96).layers[3].attention.head_dim == 48);
    CHECK(keys_of(512).layers[3].attention.head_dim == 256);
    CHECK(keys_of(80).layers[3].attention.head_dim == 40);
    CHECK(keys_of(81).layers[3].attention == fewer.layers[0].attention);  // of neither: as the config says
}

TEST_CASE("fewer heads of keys are found whatever the heads that the config says, and one alone may be wider") {
    const auto keys_of = [](std::int64_t kv_heads, std::int64_t head_dim, std::int64_t rows) {
        json config = new_config();
        config["num_key_value_heads"] = kv_heads;
        config["head_dim"] = head_dim;
        return checkpoint{
            [&](json& tensors) { tensors["model.layers.3.self_attn.k_proj.weight"] = tensor_of({rows, 256}); }, config}
            .read()
            ->model.layers[3]
            .attention;
    };
    CHECK(keys_of(4, 1, 2).kv_heads == 2);
    CHECK(keys_of(4, 1, 2).head_dim == 1);
    CHECK(keys_of(1, 32, 1).head_dim == 1);
    CHECK(keys_of(1, 32, 80).kv_heads == 1);
    CHECK(keys_of(1, 32, 80).head_dim == 80);
}

TEST_CASE("layer_types gives a window to the layers that slide") {
    json config = new_config();
    config["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention"};
    config["sliding_window"] = 128;
    const auto found = checkpoint{{}, config}.read();
    REQUIRE(found);
    for (const int i : {0, 2}) CHECK(found->model.layers[i].attention.window == tokens(128));
    for (const int i : {1, 3}) CHECK(found->model.layers[i].attention.window == token_count{});
}

TEST_CASE("a layer with attention beside a recurrence has both where a field gives the state") {
    const auto change = [](json& tensors) {
        tensors["model.layers.1.mamba.A_log"] = tensor_of({16});
        tensors["model.layers.1.mamba.in_proj.weight"] = tensor_of({1200, 256});
        tensors["model.layers.2.short_conv.weight"] = tensor_of({256, 4});
        tensors["model.layers.3.mixer.conv1d.weight"] = tensor_of({256, 4});
    };
    // A convolution beside attention that no field describes is only counted.
    const checkpoint silent{change};
    const auto without = silent.read();
    REQUIRE(without);
    for (int i = 0; i < 4; ++i) CHECK(without->model.layers[i].recurrent.kind == recurrent_kind::none);
    CHECK(planned(without->model) == silent.stored());
    json config = new_config();
    config.update({{"mamba_d_state", 16}, {"mamba_n_heads", 4}, {"mamba_d_head", 64}, {"mamba_d_conv", 2}});
    const checkpoint files{change, config};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].recurrent.kind == recurrent_kind::none);
    for (const int i : {1, 2, 3}) {
        CHECK(found->model.layers[i].recurrent.heads == 4 * 64);
        CHECK(found->model.layers[i].recurrent.kernel == 2);
        CHECK(found->model.layers[i].attention.kv_heads == 2);
    }
    CHECK(planned(found->model) == files.stored());
    // Heads without their width say nothing: the expansion does.
    for (const char* field : {"mamba_n_heads", "mamba_d_head"}) {
        json half = config;
        half.erase(field);
        half.erase("intermediate_size");
        half["mamba_expand"] = 3;
        const auto expanded = checkpoint{change, half}.read();
        REQUIRE(expanded);
        CHECK(expanded->model.layers[1].recurrent.heads == 3 * 256);
    }
}

TEST_CASE("keys beside a state are a recurrence's, not attention's") {
    json config = new_config();
    config["linear_key_head_dim"] = 32;
    const checkpoint files{[](json& tensors) {
                               for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
                                   tensors.erase(std::string{"model.layers.0.self_attn."} + name + ".weight");
                                   tensors[std::string{"model.layers.0.linear_attn."} + name + ".weight"] =
                                       tensor_of({256, 256});
                               }
                               tensors["model.layers.0.linear_attn.time_decay"] = tensor_of({8});
                           },
                           config};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].attention.kind == attention_kind::none);
    CHECK(found->model.layers[0].recurrent.state == 32);
    CHECK(planned(found->model) == files.stored());
}

TEST_CASE("shared experts stand beside routed ones, and without routed ones they are dense") {
    const auto change = [](bool routed) {
        return [routed](json& tensors) {
            for (int i = 0; i < 4; ++i) {
                const std::string mlp = "model.layers." + std::to_string(i) + ".mlp.";
                for (const char* name : {"gate_proj", "up_proj", "down_proj"}) tensors.erase(mlp + name + ".weight");
                for (const char* name : {"gate_proj", "up_proj", "down_proj"})
                    tensors[mlp + "shared_experts." + name + ".weight"] = tensor_of({64, 256});
                if (!routed) continue;
                tensors[mlp + "up_proj"] = tensor_of({8, 256, 128});  // stacked, and no gate beside it
                tensors[mlp + "down_proj"] = tensor_of({8, 128, 256});
                tensors[mlp + "up_proj_bias"] = tensor_of({8, 128});
            }
        };
    };
    json config = new_config();
    config["moe_top_k"] = 2;
    const checkpoint both{change(true), config};
    const auto found = both.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].feed_forward.experts.count == 8);
    CHECK(found->model.layers[0].feed_forward.experts.width == 128);
    CHECK(found->model.layers[0].feed_forward.kind == feed_forward_kind::plain);
    CHECK(found->model.layers[0].feed_forward.experts.shared_width > 0);
    CHECK(planned(found->model) == both.stored());
    config.erase("moe_top_k");
    CHECK(checkpoint{change(true), config}.read().error().field == "num_experts_per_tok");
    const checkpoint alone{change(false)};
    CHECK(alone.read()->model.layers[0].feed_forward.experts.count == 0);
    CHECK(alone.read()->model.layers[0].feed_forward.width == 64);
    CHECK(planned(alone.read()->model) == alone.stored());
}

TEST_CASE("feed-forwards without a gate, and layers without any") {
    const checkpoint plain{[](json& tensors) {
        for (int i = 0; i < 4; ++i) tensors.erase("model.layers." + std::to_string(i) + ".mlp.gate_proj.weight");
        for (const char* name : {"up_proj", "down_proj"})
            tensors.erase(std::string{"model.layers.3.mlp."} + name + ".weight");
    }};
    const auto found = plain.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].feed_forward.kind == feed_forward_kind::plain);
    CHECK(found->model.layers[0].feed_forward.width == 512);
    CHECK(found->model.layers[3].feed_forward.kind == feed_forward_kind::none);
    CHECK(planned(found->model) == plain.stored());
}

TEST_CASE("a layer without norms keeps its feed-forward, and one of a single feature has that") {
    const checkpoint files{[](json& tensors) {
        for (int i = 0; i < 4; ++i) {
            const std::string layer = "model.layers." + std::to_string(i) + ".";
            tensors.erase(layer + "input_layernorm.weight");
            tensors.erase(layer + "post_attention_layernorm.weight");
        }
        tensors["model.layers.3.mlp.gate_proj.weight"] = tensor_of({1, 256});
        tensors["model.layers.3.mlp.up_proj.weight"] = tensor_of({1, 256});
        tensors["model.layers.3.mlp.down_proj.weight"] = tensor_of({256, 1});
    }};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].feed_forward.width == 512);
    CHECK(found->model.layers[3].feed_forward.width == 1);
    CHECK(planned(found->model) == files.stored());
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

TEST_CASE("a recurrence may have one head, one feature, one tap or no width that counts") {
    const auto change = [](json& tensors) { tensors["model.layers.1.mamba.A_log"] = tensor_of({16}); };
    const auto recurrence_of = [&](const json& fields) {
        json config = new_config();
        config["mamba_d_state"] = 16;
        config.update(fields);
        const auto found = checkpoint{change, config}.read();
        REQUIRE(found);
        return found->model.layers[1].recurrent;
    };
    CHECK(recurrence_of({{"mamba_n_heads", 1}, {"mamba_d_head", 64}}).heads == 64);
    CHECK(recurrence_of({{"mamba_n_heads", 64}, {"mamba_d_head", 1}}).heads == 64);
    CHECK(recurrence_of({{"mamba_n_heads", 64}, {"mamba_d_head", 0}, {"mamba_d_ssm", 1}}).heads == 1);
    CHECK(recurrence_of({{"mamba_d_state", 1}}).state == 1);
    CHECK(recurrence_of({{"mamba_d_conv", 1}}).kernel == 1);
    CHECK(recurrence_of(json::object()).kernel == 4);
}

TEST_CASE("a single expert is read of each token's layer, and a width of one from its field") {
    const auto change = [](json& tensors) {
        for (int i = 0; i < 4; ++i) {
            const std::string mlp = "model.layers." + std::to_string(i) + ".mlp.";
            for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
                tensors[mlp + "experts.0." + name + ".weight"] = tensors[mlp + name + ".weight"];
                tensors[mlp + "experts.1." + name + ".weight"] = tensors[mlp + name + ".weight"];
                tensors.erase(mlp + name + ".weight");
            }
        }
    };
    json config = new_config();
    config["num_experts_per_tok"] = 1;
    const checkpoint files{change, config};
    CHECK(files.read()->model.layers[0].feed_forward.experts.count == 2);
    CHECK(files.read()->model.layers[0].feed_forward.experts.per_token == 1);
    config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
    config["moe_intermediate_size"] = 1;
    CHECK(checkpoint{change, config}.read()->model.layers[0].feed_forward.experts.width == 1);
}

TEST_CASE("tensors of one layer add up: matrices alone make a width, and routed experts alone have numbers") {
    using namespace llmres::detail::safetensors;
    const auto tensor = [](const std::vector<std::uint64_t>& shape) {
        return safetensors_tensor{.format = "BF16", .shape = shape};
    };
    layer_sum sum;
    sum.add("mlp.up_proj.weight", tensor({4, 8}));
    sum.add("mlp.up_proj.scale", tensor({4}));
    sum.add("mlp.shared_experts.0.up_proj.weight", tensor({2, 8}));
    sum.add("self_attn.k_proj.weight", tensor({3, 8}));
    sum.add("self_attn.k_proj.scale", tensor({3}));
    tensor_group all = sum.sum();
    CHECK(all.parts[feed_forward_part::dense].elements == 32);
    CHECK(all.parts[feed_forward_part::shared].elements == 16);
    CHECK_FALSE(all.parts[feed_forward_part::dense].gated);
    CHECK(all.experts == 0);
    CHECK(all.shapes[weight_role::k_proj] == std::vector<std::uint64_t>{3, 8});
    CHECK_FALSE(all.recurs);
    for (const char* name : {"mlp.experts.0.up_proj.weight", "mlp.experts.1.up_proj.weight"})
        sum.add(name, tensor({16, 4, 4}));  // in blocks: the first side is no number of experts
    CHECK(sum.sum().experts == 2);
    layer_sum pair;  // two feed-forwards in turn
    for (const char* name : {"mlps.0.up_proj.weight", "mlps.1.up_proj.weight"}) pair.add(name, tensor({4, 8}));
    CHECK(pair.sum().experts == 0);
    CHECK(pair.sum().parts[feed_forward_part::dense].elements == 64);
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

TEST_CASE("where weights are packed, fields give the widths") {
    json config = new_config();
    config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
    config.update({{"num_experts", 4},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 96},
                   {"shared_expert_intermediate_size", 160}});
    const checkpoint files{[](json& tensors) {
                               const std::string mlp = "model.layers.1.mlp.";
                               for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
                                   tensors.erase(mlp + name + ".weight");
                                   tensors[mlp + "experts." + name] = tensor_of({96, 64});
                                   tensors[mlp + "shared_expert." + name + ".weight"] = tensor_of({160, 64});
                               }
                           },
                           config};
    const auto found = files.read();
    REQUIRE(found);
    CHECK(found->model.layers[0].feed_forward.width == 512);
    const experts& e = found->model.layers[1].feed_forward.experts;
    CHECK(e.count == 4);
    CHECK(e.width == 96);
    CHECK(e.shared_width == 160);
    CHECK(planned(found->model) == files.stored());
    config.erase("intermediate_size");
    CHECK(checkpoint{{}, config}.read().error().field == "intermediate_size");
    config["intermediate_size"] = 512;
    config["quantization_config"]["bits"] = 5;
    CHECK(checkpoint{{}, config}.read().error().field == "quantization_config.bits");
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
