// SPDX-License-Identifier: MIT
// The layers of a checkpoint whose model_type no table knows, by the shapes of its tensors.
#include <llmres/io/files/checkpoint_stored.hpp>

#include <doctest/doctest.h>

#include <llmres/models/kv_cache.hpp>
#include <string>
#include <vector>

#include "unknown_checkpoints.hpp"

using namespace unknown_checkpoints;

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
