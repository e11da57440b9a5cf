// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/io/quantization_config.hpp>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

result<weight_formats> read(const std::string& quantization, int layers = 4) {
    return read_quantization_config(json::parse("{\"num_hidden_layers\": " + std::to_string(layers) +
                                                ", \"quantization_config\": " + quantization + "}"),
                                    bf16);
}

void refuses(const std::string& quantization, error_code code, std::string_view field) {
    const auto found = read(quantization);
    CAPTURE(quantization);
    CAPTURE(found.error().value.view());
    CHECK(found.error().code == code);
    CHECK(found.error().field == field);
    CHECK_FALSE(found.error().expected.empty());
}

constexpr weight matrix(weight_role role, bool routed = false) {
    return {.role = role, .routed = routed, .quantised = true};
}

/// A compressed-tensors config of one group.
std::string packed(const std::string& weights, const std::string& format,
                   const std::string& rest = "\"ignore\": [\"lm_head\"]") {
    return "{\"quant_method\": \"compressed-tensors\", \"format\": \"" + format +
           "\", \"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], \"weights\": " + weights + "}}, " + rest +
           "}";
}

}  // namespace

TEST_CASE("without a quantization_config everything is in the stored format") {
    CHECK(read_quantization_config(json::object(), fp16)->matrices == fp16);
    CHECK(read_quantization_config(json::parse(R"({"quantization_config": null})"), bf16)->rest == bf16);
    CHECK(read_quantization_config(json::array(), bf16)->rest == bf16);
    CHECK(read_quantization_config(json::parse(R"({"quantization_config": []})"), bf16).error().field ==
          "quantization_config");
    const auto nested = read_quantization_config(
        json::parse(R"({"text_config": {"quantization_config": {"quant_method": "mxfp4"}}})"), bf16);
    CHECK(nested->matrices == mxfp4);
}

TEST_CASE("fp8: blocks, one scale a tensor, one a channel") {
    CHECK(
        read(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"})")->matrices ==
        fp8_block);
    const auto other = read(R"({"quant_method": "fp8", "weight_block_size": [64, 32]})");
    CHECK(other->matrices.name == "fp8_block64x32");
    CHECK(size_of(other->matrices, 64, 64) == bytes(64 * 64 + 2 * 4));
    CHECK(read(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})")->matrices == fp8_tensor);
    CHECK(read(R"({"quant_method": "fp8", "activation_scheme": "static"})")->matrices == fp8_tensor_static);
    CHECK(read(R"({"quant_method": "fbgemm_fp8"})")->matrices == fp8_channel);
    CHECK(read(R"({"quant_method": "fp8"})")->rest == bf16);
    refuses(R"({"quant_method": "fp8", "weight_block_size": [128]})", error_code::malformed,
            "quantization_config.weight_block_size");
    refuses(R"({"quant_method": "fp8", "weight_block_size": [0, 128]})", error_code::out_of_range,
            "quantization_config.weight_block_size");
}

TEST_CASE("gptq and awq: bits and groups") {
    CHECK(read(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": true})")->matrices ==
          gptq(4, 128));
    CHECK(read(R"({"quant_method": "gptq", "bits": 8, "group_size": -1})")->matrices == gptq(8, whole_row));
    CHECK(read(R"({"quant_method": "gptq", "bits": 4, "lm_head": true})")->head.value == gptq(4, 128));
    CHECK(read(R"({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true, "version": "gemm"})")
              ->matrices == awq(4, 64));
    CHECK(read(R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 128})")->matrices == awq(4, 128));
    refuses(R"({"quant_method": "gptq", "group_size": 128})", error_code::missing, "quantization_config.bits");
    refuses(R"({"quant_method": "gptq", "bits": 5})", error_code::unsupported, "quantization_config.bits");
    refuses(R"({"quant_method": "gptq", "bits": 4, "group_size": 0})", error_code::out_of_range,
            "quantization_config.group_size");
    refuses(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})", error_code::unsupported,
            "quantization_config.checkpoint_format");
    refuses(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*": {}}})", error_code::unsupported,
            "quantization_config.dynamic");
    refuses(R"({"quant_method": "awq", "bits": 3})", error_code::out_of_range, "quantization_config.bits");
}

TEST_CASE("bitsandbytes: eight bits, nf4 and fp4, with and without double quantisation") {
    CHECK(read(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})")->matrices == bnb_int8);
    CHECK(read(R"({"quant_method": "bitsandbytes", "_load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})")->matrices ==
          nf4);
    CHECK(
        read(
            R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true})")
            ->matrices == nf4_double);
    CHECK(read(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})")->matrices == fp4);
    refuses(R"({"quant_method": "bitsandbytes"})", error_code::inconsistent, "quantization_config.load_in_4bit");
    refuses(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": true})", error_code::inconsistent,
            "quantization_config.load_in_4bit");
    refuses(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "af4"})",
            error_code::unknown, "quantization_config.bnb_4bit_quant_type");
    refuses(R"({"quant_method": "bitsandbytes", "load_in_4bit": "yes"})", error_code::malformed,
            "quantization_config.load_in_4bit");
}

TEST_CASE("compressed-tensors: packed integers, int8 and fp8 by channel, nvfp4, mxfp4") {
    CHECK(read(packed(R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true})",
                      "pack-quantized"))
              ->matrices == packed_int(4, 32));
    CHECK(
        read(
            packed(
                R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": false, "actorder": "group"})",
                "pack-quantized"))
            ->matrices == packed_int(4, 128, true, true));
    CHECK(read(packed(R"({"num_bits": 8, "type": "int", "strategy": "channel"})", "int-quantized"))->matrices ==
          int8_channel_s16);
    CHECK(read(packed(R"({"num_bits": 8, "type": "float", "strategy": "channel"})", "float-quantized"))->matrices ==
          fp8_channel_s16);
    CHECK(read(packed(R"({"num_bits": 8, "type": "float", "strategy": "tensor"})", "float-quantized"))->matrices ==
          fp8_tensor);
    CHECK(read(packed(R"({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16})",
                      "nvfp4-pack-quantized"))
              ->matrices == nvfp4);
    CHECK(read(packed(R"({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32})",
                      "mxfp4-pack-quantized"))
              ->matrices == mxfp4);
    const std::string weights = R"({"num_bits": 8, "type": "float", "strategy": "channel"})";
    CHECK_FALSE(read(packed(weights, "float-quantized"))->head);
    CHECK(read(packed(weights, "float-quantized", "\"ignore\": []"))->head.value ==
          fp8_channel_s16);  // a linear layer like any other
    refuses(packed(R"({"num_bits": 6, "type": "int"})", "pack-quantized"), error_code::unsupported,
            "quantization_config.config_groups.group_0.num_bits");
    refuses(packed(R"({"type": "int"})", "pack-quantized"), error_code::missing,
            "quantization_config.config_groups.group_0.num_bits");
    refuses(R"({"quant_method": "compressed-tensors", "config_groups": {}})", error_code::missing,
            "quantization_config.config_groups");
    refuses(R"({"quant_method": "compressed-tensors", "config_groups": {"a": 7}})", error_code::malformed,
            "quantization_config.config_groups");
    refuses(R"({"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": ["Linear"]}}})",
            error_code::missing, "quantization_config.config_groups.a.weights");
}

TEST_CASE("modelopt: one algorithm, or one for each place") {
    CHECK(read(R"({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["lm_head"]})")->matrices ==
          fp8_tensor_static);
    CHECK(read(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})")->matrices == nvfp4_static);
    CHECK(read(R"({"quant_algo": "FP8", "ignore": ["lm_head"]})")->matrices == fp8_tensor_static);
    const auto mixed = read(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "model.layers.0.self_attn.q_proj": {"quant_algo": "MXFP8"}, "model.layers.0.mlp.down_proj": {"quant_algo": "FP8"},
        "model.layers.1.mlp.experts": {"quant_algo": "NVFP4"}}})");
    CHECK(mixed->of(matrix(weight_role::q_proj)) == mxfp8);
    CHECK(mixed->of(matrix(weight_role::down_proj)) == fp8_tensor_static);
    CHECK(mixed->of(matrix(weight_role::down_proj, true)) == nvfp4_static);
    refuses(R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})", error_code::unsupported,
            "quantization_config.quant_algo");
    refuses(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})", error_code::missing,
            "quantization_config.quantized_layers");
    refuses(
        R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"layers.0.mlp": {"quant_algo": "FP8"}, "layers.1.mlp": {"quant_algo": "NVFP4"}}})",
        error_code::unsupported, "quantization_config.quantized_layers");
}

TEST_CASE("hqq, exl2, exl3, eetq, bitnet, mxfp4") {
    CHECK(read(R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}})")
              ->matrices == hqq(4, 64));
    refuses(R"({"quant_method": "hqq", "quant_config": {"self_attn": {}}})", error_code::unsupported,
            "quantization_config.quant_config");
    refuses(R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 5, "group_size": 64}}})",
            error_code::unsupported, "quantization_config.quant_config.weight_quant_params.nbits");
    const auto exl = read(R"({"quant_method": "exl2", "bits": 4.25, "head_bits": 6})");
    CHECK(exl->matrices.name == "exl2_4.25bpw");
    CHECK(exl->head.value.name == "exl2_6bpw");
    CHECK(read(R"({"quant_method": "exl3", "bits": 3.0})")->matrices == exl3(3000));
    refuses(R"({"quant_method": "exl2", "bits": "4"})", error_code::out_of_range, "quantization_config.bits");
    refuses(R"({"quant_method": "exl2", "bits": 1e300})", error_code::out_of_range, "quantization_config.bits");
    refuses(R"({"quant_method": "exl2"})", error_code::missing, "quantization_config.bits");
    CHECK(read(R"({"quant_method": "eetq"})")->matrices == int8_channel_s16);
    CHECK(read(R"({"quant_method": "bitnet"})")->matrices == ternary);
    refuses(R"({"quant_method": "bitnet", "quantization_mode": "online"})", error_code::unsupported,
            "quantization_config.quantization_mode");
    CHECK(read(R"({"quant_method": "mxfp4"})")->matrices == mxfp4);
}

TEST_CASE("other methods are refused by name") {
    refuses(R"({"quant_method": "aqlm"})", error_code::unsupported, "quantization_config.quant_method");
    refuses(R"({"quant_method": "gtpq"})", error_code::unknown, "quantization_config.quant_method");
    CHECK(read(R"({"quant_method": "gtpq"})").error().expected.view().find("gptq") != std::string_view::npos);
    refuses("{}", error_code::missing, "quantization_config.quant_method");
    refuses(R"({"quant_method": 7})", error_code::malformed, "quantization_config.quant_method");
}

TEST_CASE("what the lists leave in 16 bits, by place") {
    const auto gpt_oss = read(
        R"({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})");
    CHECK(gpt_oss->of(matrix(weight_role::q_proj)) == bf16);
    CHECK(gpt_oss->of(matrix(weight_role::up_proj, true)) == mxfp4);

    const auto experts_only = read(packed(
        R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32})", "pack-quantized",
        R"("ignore": ["re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*", "re:.*vision_tower.*"])"));
    REQUIRE(experts_only);
    CHECK(experts_only->of(matrix(weight_role::kv_a_proj)) == bf16);
    CHECK(experts_only->of(matrix(weight_role::up_proj)) == bf16);
    CHECK(experts_only->of(matrix(weight_role::up_proj, true)) == packed_int(4, 32));
    CHECK_FALSE(experts_only->head);

    // Every layer by its number: as good as a pattern. Whole layers fill the gaps.
    const auto listed = read(
        R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0*", "model.layers.1.self_attn*",
        "model.layers.2.self_attn*", "model.layers.3.self_attn*", "model.layers.1.mlp.shared_experts*", "model.layers.2.mlp.shared_experts*",
        "model.layers.3.mlp.shared_experts*", "model.layers.4*"]})");
    REQUIRE(listed);
    CHECK(listed->of(matrix(weight_role::o_proj)) == bf16);
    CHECK(listed->of(matrix(weight_role::down_proj)) == bf16);
    CHECK(listed->of(matrix(weight_role::down_proj, true)) == nvfp4_static);

    const auto one_role = read(
        R"({"quant_method": "fp8", "ignored_layers": ["model.layers.0.self_attn.o_proj", "model.layers.1.self_attn.o_proj",
        "model.layers.2.self_attn.o_proj", "model.layers.3.self_attn.o_proj"]})");
    REQUIRE(one_role);
    CHECK(one_role->of(matrix(weight_role::o_proj)) == bf16);
    CHECK(one_role->of(matrix(weight_role::q_proj)) == fp8_tensor);

    const auto routers = read(
        R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.mlp.gate", "model.layers.0.input_layernorm", "lm_head", "mtp.fc"]})");
    CHECK(routers->of(matrix(weight_role::q_proj)) == fp8_tensor);

    const auto no_experts = read(R"({"quant_method": "fp8", "modules_to_not_convert": ["experts"]})");
    CHECK(no_experts->of(matrix(weight_role::up_proj, true)) == bf16);
    CHECK(no_experts->of(matrix(weight_role::up_proj)) == fp8_tensor);
    CHECK(no_experts->of(matrix(weight_role::q_proj)) == fp8_tensor);
}

TEST_CASE("a module quantised in some layers and not in others is refused by name") {
    refuses(R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.2.self_attn"]})",
            error_code::unsupported, "quantization_config.modules_to_not_convert");
    refuses(R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.2"]})", error_code::unsupported,
            "quantization_config.modules_to_not_convert");
    refuses(R"({"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["down_proj"]})", error_code::unsupported,
            "quantization_config.modules_to_not_convert");
    refuses(R"({"quant_method": "fp8", "ignore": ["something.else"]})", error_code::unsupported,
            "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": ["re:.*"]})", error_code::unsupported, "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": "lm_head"})", error_code::malformed, "quantization_config.ignore");
    refuses(R"({"quant_method": "fp8", "ignore": [7]})", error_code::malformed, "quantization_config.ignore");
}
