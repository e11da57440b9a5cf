// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <llmres/io/safetensors.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../model_files.hpp"

using namespace llmres;

namespace {

std::string file_of(const std::string& header, std::size_t data) {
    std::string file(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(file.data(), &length, 8);
    return file + header + std::string(data, '\0');
}

result<safetensors_checkpoint> read(const std::string& file) {
    return read_safetensors(std::as_bytes(std::span{file}));
}

void refuses(const std::string& header, std::size_t data, error_code code, std::string_view field) {
    const auto found = read(file_of(header, data));
    CAPTURE(header.substr(0, 200));
    CAPTURE(found.error().value.view());
    CHECK(found.error().code == code);
    CHECK(found.error().field == field);
    CHECK_FALSE(found.error().expected.empty());
}

const std::string good =
    R"({"__metadata__":{"format":"pt"},)"
    R"("model.embed_tokens.weight":{"dtype":"BF16","shape":[10,4],"data_offsets":[0,80]},)"
    R"("model.layers.0.self_attn.q_proj.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[80,96]},)"
    R"("model.layers.0.self_attn.q_proj.weight_scale_inv":{"dtype":"F32","shape":[1,1],"data_offsets":[96,100]},)"
    R"("model.norm.weight":{"dtype":"BF16","shape":[4],"data_offsets":[100,108]},)"
    R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[108,112]}}   )";

}  // namespace

TEST_CASE("a header gives tensors and exact bytes, and nothing else is read") {
    const auto found = read(file_of(good, 112));
    REQUIRE(found);
    REQUIRE(found->tensors.size() == 5);
    CHECK(found->tensor_bytes() == bytes(112));
    CHECK(found->elements() == parameters(40 + 16 + 1 + 4 + 1));
    CHECK(found->header + found->tensor_bytes() == found->size);
}

TEST_CASE("a file cut anywhere is refused by name") {
    const std::string whole = file_of(good, 112);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        const auto found = read(whole.substr(0, length));
        REQUIRE_FALSE(found);
        CHECK_FALSE(found.error().field.empty());
    }
    CHECK_FALSE(read(whole + "x"));
}

TEST_CASE("a header longer than the file, or than any header, is refused before it is read") {
    for (const std::uint64_t length :
         {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{100'000'001}, std::uint64_t{1000}}) {
        std::string file = file_of("{}", 0);
        std::memcpy(file.data(), &length, 8);
        CHECK(read(file).error().code == error_code::out_of_range);
        CHECK(read(file).error().field == "safetensors.header");
    }
}

TEST_CASE("what is no header is refused by name") {
    for (const char* wrong : {"", " ", "[]", "7", "\"text\"", "null", "true", "{\"a\":1}", "{\"a\":[]}", "{\"a\":null}",
                              "{\"a\":{}", "{\"a\"}"}) {
        CAPTURE(wrong);
        CHECK_FALSE(read(file_of(wrong, 0)));
    }
    refuses("{\"a\":\"b\"}", 0, error_code::malformed, "safetensors.header");
    CHECK(read(file_of("{}", 0)));
    CHECK(read(file_of("{\"__metadata__\":{}}", 0)));
    refuses("{\"__metadata__\":{\"a\":1}}", 0, error_code::malformed, "__metadata__");
    refuses("{\"__metadata__\":{\"a\":{}}}", 0, error_code::malformed, "__metadata__");
}

TEST_CASE("a hundred thousand levels of nesting are refused, not descended") {
    refuses(std::string(100000, '['), 0, error_code::malformed, "safetensors.header");
    std::string objects = "{\"a\":";
    for (int i = 0; i < 100000; ++i) objects += "{\"shape\":";
    refuses(objects, 0, error_code::malformed, "a");
    refuses("{\"a\":{\"shape\":" + std::string(100000, '['), 0, error_code::malformed, "a");
}

TEST_CASE("names that come twice are refused by name") {
    const std::string tensor = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    refuses("{\"a\":" + tensor + ",\"a\":" + tensor + "}", 0, error_code::inconsistent, "safetensors.tensor");
    refuses(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0, error_code::inconsistent,
            "a");
}

TEST_CASE("a tensor says its dtype, shape and place, and they agree") {
    refuses(R"({"t":{"dtype":"F32","shape":[2]}})", 8, error_code::missing, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", 8, error_code::unknown, "t");
    refuses(R"({"t":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8, error_code::unknown, "t");
    refuses(R"({"t":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, error_code::malformed, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, error_code::inconsistent, "t");
    refuses(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2, error_code::inconsistent, "t");
    CHECK(read(file_of(R"({"t":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", 2)));
    refuses(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8, error_code::overflow,
            "t");
    refuses(R"({"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
            error_code::out_of_range, "t");
}

TEST_CASE("a header may be of 16 MiB, and a tensor of sixteen dimensions or of six bits") {
    std::string header = "{}" + std::string(safetensors_limits::header - 2, ' ');
    CHECK(read(file_of(header, 0)));
    refuses(header + ' ', 0, error_code::out_of_range, "safetensors.header");
    CHECK(read(file_of(R"({"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4)));
    CHECK(read(file_of(R"({"t":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3)));
    refuses(R"({"t":{"dtype":"F32","shape":[576460752303423488],"data_offsets":[0,4]}})", 4, error_code::overflow, "t");
}

TEST_CASE("tensors may be listed in any order and hold nothing, and parts of bytes are no tensor") {
    const auto found = read(file_of(
        R"({"u":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
        R"("n":{"dtype":"F32","shape":[0,7],"data_offsets":[12,12]}})",
        12));
    REQUIRE(found);
    CHECK(found->tensors[0].name == "u");
    CHECK(found->tensors[2].size() == bytes(0));
    CHECK(found->files == 1);
    refuses(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, error_code::inconsistent, "t");
    CHECK(safetensors_tensor{}.size() == bytes(0));
    CHECK(safetensors_tensor{}.begin == 0);
    CHECK(safetensors_tensor{}.file == 0);
}

TEST_CASE("metadata are texts, wherever they stand, and tensors before and behind them are tensors") {
    const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
    const auto found = read(file_of("{\"a\":" + tensor + R"(,"__metadata__":{"format":"pt","shape":"none"}})", 4));
    REQUIRE(found);
    REQUIRE(found->tensors.size() == 1);
    CHECK(found->tensors[0].name == "a");
    CHECK(found->tensors[0].format == "F32");
    CHECK(found->tensors[0].shape == std::vector<std::uint64_t>{1});
    CHECK(found->tensors[0].end == 4);
    refuses(R"({"__metadata__":{"format":"pt"},"a":{"format":"pt"}})", 0, error_code::unknown, "a");
    refuses(R"({"__metadata__":{"a":"b","a":"c"}})", 0, error_code::inconsistent, "__metadata__");
    refuses(R"({"__metadata__":{"shape":[1]}})", 0, error_code::malformed, "__metadata__");
    refuses(R"({"a":{"dtype":[1],"shape":[1],"data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    refuses(R"({"a":{"dtype":"F32","shape":["F32"],"data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    refuses(R"({"a":{"dtype":"F32","shape":"F32","data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    refuses(R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    refuses(R"({"a":{"dtype":"F32","shape":[null],"data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    refuses(R"({"a":{"dtype":true,"shape":[1],"data_offsets":[0,4]}})", 4, error_code::malformed, "a");
    CHECK(read(file_of(R"({"a":{"dtype":true}})", 0)).error().value == "true");
    CHECK(read(file_of(R"({"a":{"dtype":false}})", 0)).error().value == "false");
}

TEST_CASE("names that cannot be shown are shown as something") {  // found by fuzzing
    refuses(R"({"":{"dtype":"F32"}})", 0, error_code::missing, "(empty)");
    refuses(R"({"\u0000\u001b[2J":{"dtype":"F32"}})", 0, error_code::missing, "??[2J");
}

TEST_CASE("a tensor beyond the file, over another, or with a gap before it is refused") {
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 8, error_code::out_of_range, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, error_code::out_of_range, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]}})", 8,
            error_code::out_of_range, "t");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, error_code::inconsistent,
            "safetensors.data");
    refuses(
        R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"u":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
        8, error_code::inconsistent, "safetensors.data");
    refuses(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, error_code::inconsistent,
            "safetensors.data");
}

TEST_CASE("tensors' names give roles, packed parts and scales with their weight") {
    const auto role = [](const char* name) { return safetensors_role(name); };
    CHECK(*role("model.layers.3.mlp.experts.7.down_proj.weight") == weight_role::down_proj);
    CHECK(*role("model.layers.3.mlp.experts.7.down_proj.qweight") == weight_role::down_proj);
    CHECK(*role("model.layers.3.mlp.down_proj.weight.quant_state.bitsandbytes__nf4") == weight_role::down_proj);
    CHECK(*role("model.layers.3.mlp.gate.weight") == weight_role::router);
    CHECK(*role("model.layers.3.mlp.gate.e_score_correction_bias") == weight_role::bias);
    CHECK(*role("model.layers.3.mlp.experts.gate_up_proj_blocks") == weight_role::gate_proj);
    CHECK(*role("model.layers.3.mlp.experts.gate_up_proj_bias") == weight_role::bias);
    CHECK(*role("model.layers.3.self_attn.q_proj.bias") == weight_role::bias);
    CHECK(*role("model.layers.3.self_attn.q_norm.weight") == weight_role::norm);
    CHECK(*role("model.layers.3.input_layernorm.weight") == weight_role::norm);
    CHECK(*role("transformer.h.0.ln_1.bias") == weight_role::norm);
    CHECK(*role("transformer.h.0.attn.c_attn.weight") == weight_role::q_proj);
    CHECK(*role("lm_head.weight") == weight_role::lm_head);
    CHECK(*role("lm_head") == weight_role::lm_head);
    CHECK(*role("bias") == weight_role::bias);
    CHECK(*role("model.norm.bias") == weight_role::norm);
    CHECK(*role("ln_f.bias") == weight_role::norm);
    CHECK(*role("transformer.ln_f.weight") == weight_role::norm);
    CHECK(*role("mlp.experts.down_proj_scales") == weight_role::down_proj);
    CHECK(*role("mlp.experts.e_score_correction_bias") == weight_role::bias);
    CHECK(*role("model.layers.0.self_attn.q_proj.lora.scale") == weight_role::q_proj);
    for (const char* none : {"head.0.weight", "x.down_proj_scales.y", "x.q_proj_bias.y", "bias.scale", "scales"})
        CHECK_FALSE(role(none));
    for (const char* none : {"", ".", "..", "weight", "model.layers.0.strange.weight", "vision.patch"})
        CHECK_FALSE(role(none));
}

TEST_CASE("bytes of a checkpoint are summed by role, scales with their weight; unknown names stand apart") {
    const auto roles =
        safetensors_bytes_by_role(model_files::checkpoint_of({{"model.embed_tokens.weight", 80},
                                                              {"model.layers.0.self_attn.q_proj.weight", 16},
                                                              {"model.layers.0.self_attn.q_proj.weight_scale_inv", 4},
                                                              {"model.norm.weight", 8},
                                                              {"scalar", 4}}));
    CHECK(roles.size() == 4);
    CHECK(roles.at("embed_tokens") == bytes(80));
    CHECK(roles.at("q_proj") == bytes(20));
    CHECK(roles.at("norm") == bytes(8));
    CHECK(roles.at("other") == bytes(4));
}
