// SPDX-License-Identifier: MIT
// Which modules a quantization_config leaves in 16 bits or gives a format of their own, layer by layer.
#include <doctest/doctest.h>

#include "reading.hpp"

#include <string>

using namespace llmres;
using namespace llmres::detail;
using namespace quantization_tests;
using nlohmann::json;

TEST_CASE("what the lists leave in 16 bits, by place") {
    const auto gpt_oss = read_model(
        R"({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})");
    REQUIRE(gpt_oss);
    CHECK(format_in(*gpt_oss, 1, weight_role::q_proj) == bf16);
    CHECK(format_in(*gpt_oss, 1, weight_role::up_proj, true) == mxfp4);

    const auto experts_only = read_model(packed(
        R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32})", "pack-quantized",
        R"("ignore": ["re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*", "re:.*vision_tower.*"])"));
    REQUIRE(experts_only);
    CHECK(format_in(*experts_only, 1, weight_role::o_proj) == bf16);
    CHECK(format_in(*experts_only, 0, weight_role::up_proj) == bf16);
    CHECK(format_in(*experts_only, 1, weight_role::up_proj) == bf16);
    CHECK(format_in(*experts_only, 1, weight_role::up_proj, true) == packed_int(4, 32));
    CHECK(format_in(*experts_only, 3, weight_role::out_proj) ==
          packed_int(4, 32));  // a recurrence, which no word names
    CHECK_FALSE(formats_of(*experts_only).head);

    const auto one_role = read_model(
        R"({"quant_method": "fp8", "ignored_layers": ["model.layers.0.self_attn.o_proj", "model.layers.1.self_attn.o_proj",
        "model.layers.2.self_attn.o_proj", "model.layers.4.self_attn.o_proj"]})");
    REQUIRE(one_role);
    CHECK(format_in(*one_role, 2, weight_role::o_proj) == bf16);
    CHECK(format_in(*one_role, 2, weight_role::q_proj) == fp8_tensor);

    const auto fused =
        read_model(R"({"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["qkv_proj", "down_proj"]})");
    REQUIRE(fused);
    for (const weight_role role :
         {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj, weight_role::down_proj})
        CHECK(format_in(*fused, 1, role) == bf16);
    CHECK(format_in(*fused, 1, weight_role::o_proj) == awq(4, 128));
    CHECK(format_in(*fused, 1, weight_role::down_proj, true) == bf16);

    const auto routers = read_model(
        R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.mlp.gate", "model.layers.0.input_layernorm", "lm_head", "mtp.fc"]})");
    CHECK(format_in(*routers, 1, weight_role::gate_proj, true) == fp8_tensor);
    // "re:.*gate$" means routers alone as well: no projection's name ends so.
    const auto ending = read_model(R"({"quant_method": "fp8", "ignore": ["re:.*gate$", "lm_head"]})");
    REQUIRE(ending);
    CHECK(format_in(*ending, 1, weight_role::gate_proj, true) == fp8_tensor);

    const auto no_experts = read_model(R"({"quant_method": "fp8", "modules_to_not_convert": ["experts"]})");
    CHECK(format_in(*no_experts, 1, weight_role::up_proj, true) == bf16);
    CHECK(format_in(*no_experts, 1, weight_role::up_proj) == fp8_tensor);
    CHECK(format_in(*no_experts, 1, weight_role::q_proj) == fp8_tensor);

    const auto no_block = read_model(R"({"quant_method": "fp8", "modules_to_not_convert": ["mlp"]})");
    CHECK(format_in(*no_block, 0, weight_role::up_proj) == bf16);
    CHECK(format_in(*no_block, 1, weight_role::up_proj) == bf16);
    CHECK(format_in(*no_block, 1, weight_role::up_proj, true) == bf16);
    CHECK(no_block->weights == fp8_tensor);
    CHECK(format_in(*no_block, 1, weight_role::q_proj) == fp8_tensor);
}

TEST_CASE("layers are left whole or in part, each by its number") {
    const auto some = read_model(
        R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0*", "model.layers.1.self_attn*",
        "model.layers.2.mlp.shared_experts*", "model.layers.4*"]})");
    REQUIRE(some);
    CHECK(some->layers[0].quantised == quantised_part::none);
    CHECK(format_in(*some, 1, weight_role::o_proj) == bf16);
    CHECK(format_in(*some, 1, weight_role::down_proj) == nvfp4_static);
    CHECK(format_in(*some, 2, weight_role::o_proj) == nvfp4_static);
    CHECK(format_in(*some, 2, weight_role::down_proj) == bf16);
    CHECK(format_in(*some, 2, weight_role::down_proj, true) == nvfp4_static);
    CHECK(some->layers[3].quantised == quantised_part::matrices);
    CHECK(some->prediction.block.quantised == quantised_part::none);  // numbered on behind the last
    CHECK(weight_bytes(*some, formats_of(*some)) > weight_bytes(blank(), formats_for(nvfp4_static)));
    CHECK(weight_bytes(*some, formats_of(*some)) < weight_bytes(blank(), formats_for(bf16)));

    model many = blank(24);
    REQUIRE(
        read_quantization_config(json::parse(R"({"quant_method": "fp8", "ignore": ["model.layers.1*"]})"), bf16, many));
    for (int i = 0; i < 24; ++i)
        CHECK((many.layers[i].quantised == quantised_part::none) == (i == 1 || (i >= 10 && i < 20)));

    for (const char* words : {"mtp*", "mtp.layers.0*", "re:.*mtp.*", "model.layers.4.*"}) {
        const auto ahead = read_model(std::string{R"({"quant_method": "fp8", "ignore": [")"} + words + "\"]}");
        REQUIRE(ahead);
        CHECK(ahead->prediction.block.quantised == quantised_part::none);
        CHECK(ahead->layers[0].quantised == quantised_part::matrices);
    }
    const auto part =
        read_model(R"({"quant_method": "fp8", "ignore": ["mtp.layers.0.self_attn*", "mtp.layers.0.mlp.gate"]})");
    CHECK(part->prediction.block.quantised == quantised_part::feed_forward);
}

TEST_CASE("several formats in one checkpoint: each weight has its own, and the head too") {
    const std::string eight =
        R"({"weights": {"num_bits": 8, "type": "float"}, "input_activations": {"num_bits": 8, "type": "float", "dynamic": false}, )";
    const std::string four = R"({"weights": {"num_bits": 4, "type": "float", "group_size": 16}, )";
    const auto mixed = read_model(
        R"({"quant_method": "modelopt", "config_groups": {"group_0": )" + eight +
        R"("targets": ["re:.*layers\\.\\d+\\.self_attn\\.(q|k|v|o)_proj", "model.layers.3.mamba.in_proj", "model.layers.3.mamba.out_proj"]},
        "group_1": )" +
        four + R"("targets": ["lm_head", "re:.*(gate|up|down)_proj"]}}, "ignore": ["mtp*"]})");
    REQUIRE_MESSAGE(mixed, mixed.error().value.view());
    CHECK(format_in(*mixed, 0, weight_role::q_proj) == fp8_tensor_static);
    CHECK(format_in(*mixed, 3, weight_role::out_proj) == fp8_tensor_static);
    CHECK(format_in(*mixed, 0, weight_role::down_proj) == nvfp4);
    CHECK(format_in(*mixed, 2, weight_role::down_proj, true) == nvfp4);
    CHECK(mixed->prediction.block.quantised == quantised_part::none);
    CHECK(mixed->mixed.head.value == nvfp4);
    CHECK(mixed->weights == nvfp4);
    byte_count by_hand;
    for_each_weight(*mixed, [&](const weight& w, std::int64_t layers) {
        const bool ends = w.role == weight_role::embed_tokens || w.role == weight_role::router || w.rows == 1 ||
                          w.role == weight_role::conv || w.role == weight_role::state;
        const bool mixer = w.role == weight_role::q_proj || w.role == weight_role::k_proj ||
                           w.role == weight_role::v_proj || w.role == weight_role::o_proj ||
                           w.role == weight_role::in_proj || w.role == weight_role::out_proj;
        by_hand += size_of(ends || w.role == weight_role::norm ? bf16
                           : mixer                             ? fp8_tensor_static
                                                               : nvfp4,
                           w.rows, w.columns) *
                   w.copies * layers;
    });
    CHECK(weight_bytes(*mixed, formats_of(*mixed)) == by_hand);
}

TEST_CASE("Gemma 4's experts stand beside the mlp that a list leaves in 16 bits") {
    const std::string quantization = R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
        "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}},
        "ignore": ["lm_head", "model.language_model.layers.*.mlp*", "model.language_model.layers.*.router*",
                   "model.language_model.layers.*.self_attn*", "model.language_model.layers.*.linear_attn*"]})";
    model m = blank();
    m.prediction = {};
    m.architecture = "gemma4";
    REQUIRE(read_quantization_config(json::parse(quantization), bf16, m));
    CHECK(format_in(m, 2, weight_role::gate_proj, true) == nvfp4_static);
    CHECK(format_in(m, 2, weight_role::gate_proj) == bf16);
    CHECK(format_in(m, 2, weight_role::q_proj) == bf16);
    CHECK(m.weights == nvfp4_static);
}

TEST_CASE("experts named one by one count when all of them are named") {
    const auto experts = [](int count) {
        std::string layers;
        for (int layer = 1; layer < 5; ++layer)
            for (int expert = 0; expert < count; ++expert)
                layers += (layers.empty() ? "\"" : ", \"") + std::string{"model.layers."} + std::to_string(layer) +
                          ".mlp.experts." + std::to_string(expert) +
                          ".w1\": {\"quant_algo\": \"NVFP4\"}, \"model.layers." + std::to_string(layer) +
                          ".mlp.experts." + std::to_string(expert) +
                          ".w2\": {\"quant_algo\": \"NVFP4\"}, \"model.layers." + std::to_string(layer) +
                          ".mlp.experts." + std::to_string(expert) + ".w3\": {\"quant_algo\": \"NVFP4\"}";
        return R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {)" + layers + "}}";
    };
    const auto all = read_model(experts(4));
    REQUIRE(all);
    CHECK(format_in(*all, 2, weight_role::gate_proj, true) == nvfp4_static);
    CHECK(format_in(*all, 2, weight_role::gate_proj) == bf16);
    refuses(experts(3), error_code::unsupported, "quantization_config.quantized_layers");
}

TEST_CASE("what a list says in other words, or says of some projections only, is refused by name") {
    refuses(R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.2.self_attn.o_proj"]})",
            error_code::unsupported, "quantization_config.modules_to_not_convert");
    for (const char* words :
         {"something.else", "self_attn.something", "re:.*layers\\\\.[0-3]\\\\..*", "re:.*(q|(k))_proj", "re:.*(q_proj"})
        refuses(std::string{R"({"quant_method": "fp8", "ignore": [")"} + words + "\"]}", error_code::unsupported,
                "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": ["re:.*"]})", error_code::unsupported, "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": "lm_head"})", error_code::malformed, "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": [7]})", error_code::malformed, "quantization_config.ignore");
}
