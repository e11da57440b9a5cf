// SPDX-License-Identifier: MIT
// Methods of a quantization_config: bits, groups and formats of each.
#include <doctest/doctest.h>

#include "reading.hpp"

#include <string>

using namespace llmres;
using namespace llmres::detail;
using namespace quantization_tests;
using nlohmann::json;

TEST_CASE("what is not quantised stays in the stored format") {
    model m = blank();
    REQUIRE(read_quantization_config(json::parse(R"({"quant_method": "fp8"})"), fp32, m));
    CHECK(formats_of(m).rest == fp32);
    CHECK(read(R"({"quant_method": "fp8"})")->rest == bf16);
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
    refuses(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*self_attn.*": {"bits": 7}}})",
            error_code::unsupported, "quantization_config.dynamic");
    const auto dynamic =
        read_model(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*shared_expert.*": {}, "-:.*mtp.*": {},
        "+:.*self_attn.*": {"bits": 8, "group_size": 32}, ".*mamba.*": {"bits": 8, "group_size": 32}}})");
    REQUIRE(dynamic);
    CHECK(format_in(*dynamic, 1, weight_role::up_proj) == bf16);
    CHECK(format_in(*dynamic, 0, weight_role::up_proj) == gptq(4, 128));
    CHECK(format_in(*dynamic, 1, weight_role::up_proj, true) == gptq(4, 128));
    CHECK(format_in(*dynamic, 1, weight_role::o_proj) == gptq(8, 32));
    CHECK(dynamic->prediction.block.quantised == quantised_part::none);
    const auto listed = read_model(
        R"({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [["self_attn.k_proj", "self_attn.v_proj",
        "self_attn.q_proj"], ["self_attn.o_proj"], ["mlp.up_proj", "mlp.gate_proj"], "mlp.down_proj"]})");
    REQUIRE(listed);
    CHECK(format_in(*listed, 1, weight_role::o_proj) == gptq(4, 128));
    CHECK(format_in(*listed, 1, weight_role::up_proj, true) == bf16);
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
            ->matrices == packed_int(4, 128, {.zero_points = true, .group_index = true}));
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
        "model.layers.*.self_attn": {"quant_algo": "MXFP8"}, "model.layers.0.mlp.down_proj": {"quant_algo": "FP8"},
        "model.layers.0.mlp.gate_proj": {"quant_algo": "FP8"}, "model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
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

TEST_CASE("modelopt and compressed-tensors name the format of the cache that they calibrated, others do not") {
    const auto cache = [](const std::string& method, const std::string& entry) {
        const result<model> m = read_model(R"({"quant_method": ")" + method + R"(", "quant_algo": "FP8", "bits": 4,
            "w_bit": 4, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float",
            "strategy": "channel"}, "input_activations": {"dynamic": true}}})" +
                                           entry + "}");
        REQUIRE(m);
        CHECK(m->mixed.cache.format == (m->mixed.cache.by == cache_calibrator::none ? bf16 : fp8_e4m3));
        return m->mixed.cache.by;
    };
    const std::string scheme = R"(, "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": false})";
    using by = cache_calibrator;
    CHECK(cache("modelopt", scheme) == by::modelopt);
    CHECK(cache("modelopt", R"(, "kv_cache_scheme": "FP8")") == by::modelopt);
    CHECK(cache("modelopt", R"(, "kv_cache_quant_algo": "FP8")") == by::modelopt);
    CHECK(cache("modelopt", R"(, "kv_cache_scheme": null, "kv_cache_quant_algo": "fp8")") == by::modelopt);
    CHECK(cache("compressed-tensors", scheme) == by::compressed_tensors);
    CHECK(cache("compressed-tensors", R"(, "kv_cache_scheme": {"type": "float"})") == by::compressed_tensors);
    for (const char* none :
         {"", R"(, "kv_cache_scheme": null)", R"(, "kv_cache_quant_algo": null)", R"(, "kv_cache_quant_algo": "NVFP4")",
          R"(, "kv_cache_scheme": {})", R"(, "kv_cache_scheme": {"num_bits": 4, "type": "float"})",
          R"(, "kv_cache_scheme": {"num_bits": 8, "type": "int"})",
          R"(, "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": true})"})
        for (const char* method : {"modelopt", "compressed-tensors"}) {
            CAPTURE(none);
            CHECK(cache(method, none) == by::none);
        }
    CHECK(cache("compressed-tensors", R"(, "kv_cache_quant_algo": "FP8")") == by::none);
    CHECK(cache("awq", scheme) == by::none);
    CHECK(read_model(R"({"quant_algo": "FP8", "kv_cache_scheme": "FP8"})")->mixed.cache.by == by::none);
    refuses(R"({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": {"num_bits": "8"}})",
            error_code::malformed, "quantization_config.kv_cache_scheme.num_bits");
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

TEST_CASE("compressed-tensors: every described combination of type, bits, strategy and format") {
    const auto of = [](const std::string& weights, const std::string& format = "") {
        const auto found = read(packed(weights, format));
        CAPTURE(weights);
        REQUIRE(found);
        return found->matrices;
    };
    // Blocks of DeepSeek's size unless the file says another one.
    CHECK(of(R"({"num_bits": 8, "type": "float", "strategy": "block"})", "float-quantized") == fp8_block);
    const precision block =
        of(R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [64, 128]})", "float-quantized");
    CHECK(block.name == "fp8_block64x128");
    CHECK(size_of(block, 128, 256) == bytes(128 * 256 + 2 * 2 * 4));
    CHECK(of(R"({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32})", "mxfp8-quantized") == mxfp8);
    CHECK(of(R"({"num_bits": 4, "type": "float", "group_size": 32})", "float-quantized") == mxfp4);
    for (const int width : {2, 3, 4, 8}) {
        const std::string settings = R"({"num_bits": )" + std::to_string(width) + R"(, "type": "int", "strategy": )";
        CHECK(of(settings + R"("channel"})", "pack-quantized") == packed_int(width, whole_row));
        CHECK(of(settings + R"("group", "group_size": 64})", "pack-quantized") == packed_int(width, 64));
    }
    // Without a format weights alone are packed, and those whose inputs are quantised too are not.
    CHECK(of(R"({"num_bits": 8, "strategy": "channel"})") == packed_int(8, whole_row));
    const auto with_inputs =
        read(R"({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"a": {
        "targets": ["Linear"], "weights": {"num_bits": 8, "strategy": "channel"}, "input_activations": {"num_bits": 8}}}})");
    CHECK(with_inputs->matrices == int8_channel_s16);
    CHECK(of(R"({"num_bits": 8, "type": "int", "strategy": "tensor"})", "int-quantized") == int8_tensor);
    // The order of activations within a group takes an index; other orders take none.
    CHECK(of(R"({"num_bits": 4, "group_size": 128, "actorder": "weight"})", "pack-quantized") == packed_int(4, 128));
    const auto nvfp4_inputs =
        read(R"({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"a": {
        "targets": ["Linear"], "format": "nvfp4-pack-quantized",
        "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
        "input_activations": {"num_bits": 4, "type": "float", "dynamic": "local"}}}})");
    CHECK(nvfp4_inputs->matrices == nvfp4_static);
}

TEST_CASE("compressed-tensors: combinations without a described size are refused by the bits") {
    for (const char* weights :
         {R"({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 64})",
          R"({"num_bits": 4, "type": "float", "strategy": "channel"})", R"({"num_bits": 2, "type": "float"})",
          R"({"num_bits": 4, "type": "int", "strategy": "tensor"})", R"({"num_bits": 4, "type": "complex"})",
          R"({"num_bits": 8, "type": "complex"})", R"({"num_bits": 5, "type": "int", "strategy": "channel"})"})
        refuses(packed(weights, "pack-quantized"), error_code::unsupported,
                "quantization_config.config_groups.group_0.num_bits");
    refuses(packed(R"({"num_bits": 8, "type": "int", "strategy": "block"})", "int-quantized"), error_code::unsupported,
            "quantization_config.config_groups.group_0.num_bits");
}

TEST_CASE("groups name their targets; what is no group or no name is refused") {
    const auto groups = [](const std::string& more) {
        return R"({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"a": {"weights":
            {"num_bits": 8, "type": "float", "strategy": "channel"})" +
               more;
    };
    for (const char* all : {R"(, "targets": ["Linear*"]}}})", R"(, "targets": ["FusedMoE"]}}})",
                            R"(, "targets": []}}})", R"(, "targets": "Linear"}}})", "}}}"}) {
        CAPTURE(all);
        CHECK(read(groups(all))->matrices == fp8_channel_s16);
    }
    const std::string field = "quantization_config.config_groups";
    refuses(groups(R"(, "targets": [7]}}})"), error_code::malformed, field);
    refuses(groups(R"(, "format": 7}}})"), error_code::malformed, field + ".a.format");
    refuses(groups(R"(}, "b": {"weights": {"num_bits": 8, "type": "float"}}}})"), error_code::unsupported, field);
    refuses(R"({"quant_method": "compressed-tensors"})", error_code::missing, field);
    // In modelopt's groups the head is no linear layer.
    const auto modelopt = read(R"({"quant_method": "modelopt", "config_groups": {"a": {"targets": ["Linear"],
        "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}})");
    CHECK(modelopt->matrices == nvfp4);
    CHECK_FALSE(modelopt->head);
}

TEST_CASE("modelopt under its other names, and algorithms of modules that are none") {
    CHECK(read(R"({"quant_method": "modelopt_fp4", "quant_algo": "NVFP4"})")->matrices == nvfp4_static);
    CHECK(read(R"({"quant_method": "fp8", "quant_algo": "FP8_PB_WO"})")->matrices == fp8_block);
    refuses(R"({"quant_method": "modelopt"})", error_code::unsupported, "quantization_config.quant_algo");
    const auto of_module = [](const std::string& algorithm) {
        return R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"layers.*.mlp": )" +
               algorithm + "}}";
    };
    for (const char* none : {"7", "{}", R"({"quant_algo": 7})"})
        refuses(of_module(none), error_code::malformed, "quantization_config.quantized_layers");
    refuses(of_module(R"({"quant_algo": "INT3"})"), error_code::unsupported, "quantization_config.quantized_layers");
    refuses(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "somewhere.else": {"quant_algo": "FP8"}}})",
            error_code::unsupported, "quantization_config.quantized_layers");
}

TEST_CASE("gptq: every width, the second checkpoint format, and settings of single modules") {
    for (const int width : {2, 3, 4, 8})
        CHECK(read(R"({"quant_method": "gptq", "checkpoint_format": "gptq_v2", "bits": )" + std::to_string(width) + "}")
                  ->matrices == gptq(width, 128));
    const auto dynamic = [](const std::string& size, const std::string& settings) {
        return R"({"quant_method": "gptq", "bits": 4, "group_size": )" + size + R"(, "dynamic": {".*self_attn.*": )" +
               settings + R"(, ".*mamba.*": )" + settings + "}}";
    };
    CHECK(format_in(*read_model(dynamic("128", R"({"group_size": -1})")), 1, weight_role::o_proj) ==
          gptq(4, whole_row));
    CHECK(format_in(*read_model(dynamic("-1", R"({"bits": 8})")), 1, weight_role::o_proj) == gptq(8, whole_row));
    for (const char* settings : {R"({"group_size": 0})", R"({"bits": 5})", R"({"bits": 6})"})
        refuses(dynamic("128", settings), error_code::unsupported, "quantization_config.dynamic");
    refuses(dynamic("128", R"({"bits": 9})"), error_code::out_of_range, "quantization_config.dynamic.bits");
    refuses(R"({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [[7]]})", error_code::unsupported,
            "quantization_config.modules_in_block_to_quantize");
    refuses(R"({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": "all"})", error_code::malformed,
            "quantization_config.modules_in_block_to_quantize");
}

TEST_CASE("fp4 with double quantisation, and widths that HQQ and EXL have not") {
    CHECK(read(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true})")
              ->matrices == fp4_double);
    const auto with = [](const std::string& settings) {
        return R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": )" + settings + "}}";
    };
    for (const char* width : {"6", "7"})
        refuses(with(R"({"nbits": )" + std::string{width} + R"(, "group_size": 64})"), error_code::unsupported,
                "quantization_config.quant_config.weight_quant_params.nbits");
    refuses(with(R"({"group_size": 64})"), error_code::missing,
            "quantization_config.quant_config.weight_quant_params.nbits");
    refuses(with("7"), error_code::unsupported, "quantization_config.quant_config");
    refuses(R"({"quant_method": "hqq"})", error_code::unsupported, "quantization_config.quant_config");
    refuses(R"({"quant_method": "exl3"})", error_code::missing, "quantization_config.bits");
}

TEST_CASE("MLX: modules of their own settings, and modules that are not quantised") {
    const auto with = [](const std::string& more) {
        return R"({"quant_method": "mlx", "bits": 4, "group_size": 64, )" + more + "}";
    };
    CHECK(read(with(R"("model.embed_tokens": {"bits": 4, "group_size": 64}, "mlp.gate": true)"))->matrices ==
          mlx(4, 64));
    CHECK(read(with(R"("somewhere.else": {"bits": 4, "group_size": 64})"))->matrices == mlx(4, 64));
    const auto left = read_model(with(R"("mlp.shared_expert": false)"));
    REQUIRE(left);
    CHECK(format_in(*left, 1, weight_role::up_proj) == bf16);
    CHECK(format_in(*left, 1, weight_role::up_proj, true) == mlx(4, 64));
    refuses(with(R"("mlp.gate": {"bits": 9, "group_size": 64})"), error_code::out_of_range, "quantization.bits");
    refuses(with(R"("somewhere.else": false)"), error_code::unsupported, "quantization_config.somewhere.else");
}

TEST_CASE("MLX: bits and groups; what it mixes within one sort of weight is refused by name") {
    const auto whole = read(R"({"quant_method": "mlx", "bits": 4, "group_size": 64})");
    REQUIRE(whole);
    CHECK(whole->matrices == mlx(4, 64));
    CHECK(whole->embedding.value == mlx(4, 64));
    CHECK(read(R"({"quant_method": "mlx", "bits": 6, "group_size": 64})")->matrices == mlx(6, 64));
    CHECK_FALSE(read(R"({"quant_method": "mlx", "bits": 4, "group_size": 64,
                         "model.layers.0.mlp.down_proj": {"bits": 6, "group_size": 64}})"));
    refuses(R"({"quant_method": "mlx", "bits": 7, "group_size": 64})", error_code::unsupported,
            "quantization_config.bits");
    refuses(R"({"quant_method": "mlx", "bits": 4, "group_size": 32, "mode": "mxfp4"})", error_code::unsupported,
            "quantization_config.mode");
}

TEST_CASE("widths, groups and blocks are read between their limits") {
    const struct {
        const char* text;
        const char* expected;
    } wrong[] = {
        {R"({"quant_method": "gptq", "bits": 1})", "an integer from 2 to 8"},
        {R"({"quant_method": "gptq", "bits": 4, "group_size": -2})", "an integer from -1 to 1048576"},
        {R"({"quant_method": "awq", "bits": 4, "group_size": -2})", "an integer from -1 to 1048576"},
        {R"({"quant_method": "fp8", "weight_block_size": [0, 128]})", "an integer from 1 to 65536"},
        {R"({"quant_method": "fp8", "weight_block_size": [128, 0]})", "an integer from 1 to 65536"},
        {R"({"quant_method": "mlx", "bits": 1, "group_size": 64})", "an integer from 2 to 8"},
        {R"({"quant_method": "mlx", "bits": 4, "group_size": 31})", "an integer from 32 to 128"},
        {R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*mlp.*": {"bits": 1}}})", "an integer from 2 to 8"},
        {R"({"quant_method": "exl3", "bits": 0.999})", "from 1 to 8 bits a weight"},
        {R"({"quant_method": "exl3", "bits": 8.001})", "from 1 to 8 bits a weight"},
        {R"({"quant_method": "exl2", "bits": 4, "head_bits": 9})", "from 1 to 8 bits a weight"}};
    for (const auto& w : wrong) {
        CAPTURE(w.text);
        CHECK(read(w.text).error().expected == w.expected);
    }
    CHECK(read(R"({"quant_method": "fp8", "weight_block_size": [1, 128]})")->matrices.name == "fp8_block1x128");
    CHECK(read(R"({"quant_method": "fp8", "weight_block_size": [128, 1]})")->matrices.name == "fp8_block128x1");
    CHECK(read(R"({"quant_method": "gptq", "bits": 4, "group_size": 1})")->matrices == gptq(4, 1));
    for (const int width : {1, 8}) {
        CHECK(read(R"({"quant_method": "exl3", "bits": )" + std::to_string(width) + "}")->matrices ==
              exl3(width * 1000));
        CHECK(read(R"({"quant_method": "exl2", "bits": )" + std::to_string(width) + "}")->head.value == exl2(6000));
    }
}

TEST_CASE("the first thing that is wrong is named, whatever else is") {
    refuses(R"({"quant_method": "gptq", "bits": 5, "group_size": 0, "dynamic": 7, "ignore": [7]})",
            error_code::unsupported, "quantization_config.bits");
    refuses(R"({"quant_method": 7, "quant_algo": 7, "ignore": [7]})", error_code::malformed,
            "quantization_config.quant_method");
    refuses(R"({"quant_method": "fp8", "ignore": ["some.thing", 7]})", error_code::unsupported,
            "quantization_config.ignore");
    CHECK(read(R"({"quant_method": "fp8", "ignore": ["mlp.experts.0", "some.thing"]})").error().value == "some.thing");
}

TEST_CASE("other methods are refused by name") {
    refuses(R"({"quant_method": "aqlm"})", error_code::unsupported, "quantization_config.quant_method");
    refuses(R"({"quant_method": "gtpq"})", error_code::unknown, "quantization_config.quant_method");
    CHECK(read(R"({"quant_method": "gtpq"})").error().expected.view().find("gptq") != std::string_view::npos);
    refuses("{}", error_code::missing, "quantization_config.quant_method");
    refuses(R"({"quant_method": 7})", error_code::malformed, "quantization_config.quant_method");
}
