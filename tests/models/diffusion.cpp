// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/io/files.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/diffusion.hpp>
#include <string>
#include <type_traits>
#include <vector>

using namespace llmres;

namespace {

const std::string small_unet = R"({"_class_name": "UNet2DConditionModel", "block_out_channels": [32, 64],
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"], "cross_attention_dim": 16})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("denoising networks count what their publishers count") {
    static_assert(count_parameters(models::stable_diffusion_1_5) == *models::stable_diffusion_1_5.published);
    static_assert(count_parameters(models::stable_diffusion_xl) == *models::stable_diffusion_xl.published);
    static_assert(count_parameters(models::flux_1_dev) == *models::flux_1_dev.published);
    static_assert(std::is_trivially_copyable_v<unet> && std::is_trivially_copyable_v<flow_transformer>);
}

TEST_CASE("FLUX in bf16 is two bytes a parameter, as its file is") {
    CHECK(weight_bytes(models::flux_1_dev, {}) == bytes(23'802'816'640));
}

TEST_CASE("a network without guidance lacks the two linears that embed it") {
    CHECK(count_parameters(models::flux_1_dev) - count_parameters(models::flux_1_schnell) ==
          parameters(3072 * 256 + 3072 + 3072 * 3072 + 3072));
}

TEST_CASE("a UNet is read from its config") {
    const auto read = read_hf_unet(small_unet);
    REQUIRE(read);
    CHECK(read->levels == 2);
    CHECK(read->depth[0] == 1);
    CHECK(read->depth[1] == 0);
    CHECK(read->middle_depth == 1);
    CHECK(count_parameters(*read_hf_unet(replaced(small_unet, "[32, 64]", "[32, 96]"))) > count_parameters(*read));
}

TEST_CASE("a network of another class, or with blocks that are not described, is refused by name") {
    CHECK(read_hf_unet(R"({"_class_name": "UNet3D"})").error().field == "_class_name");
    CHECK(read_hf_unet("{}").error().code == error_code::missing);
    CHECK(read_hf_unet("[]").error().code == error_code::malformed);
    CHECK(read_hf_unet(replaced(small_unet, "\"DownBlock2D\"", "\"AttnDownBlock2D\"")).error().field ==
          "down_block_types");
    CHECK(read_hf_unet(replaced(small_unet, "[32, 64]", "[]")).error().field == "block_out_channels");
    CHECK(read_hf_unet(replaced(small_unet, "[32, 64]", "[32, -1]")).error().field == "block_out_channels");
    CHECK(read_hf_unet(replaced(small_unet, "[32, 64]", "[32]")).error().code == error_code::none);
    CHECK(read_hf_flow_transformer(small_unet).error().field == "_class_name");
    CHECK(read_hf_flow_transformer(R"({"_class_name": "FluxTransformer2DModel", "num_layers": "x"})").error().field ==
          "num_layers");
}

TEST_CASE("a denoiser is found by the name people type, and by its class in a config") {
    for (const char* name : {"SDXL", "stable-diffusion-xl", "stabilityai/stable-diffusion-xl-base-1.0"}) {
        const auto found = find_denoiser(name);
        REQUIRE(found);
        REQUIRE_MESSAGE(*found, name);
        CHECK(count_parameters(std::get<unet>(**found)) == parameters(2'567'463'684));
    }
    CHECK(std::holds_alternative<flow_transformer>(**find_denoiser("FLUX.1-dev")));
    CHECK_FALSE(*find_denoiser("llama-3.1-8b"));
    CHECK_FALSE(*find_denoiser("nosuch/config.json"));
    CHECK(std::holds_alternative<unet>(*read_hf_denoiser(small_unet)));
    CHECK(read_hf_denoiser(R"({"_class_name": "PixArtTransformer2DModel"})").error().code == error_code::unsupported);
    CHECK_FALSE(read_hf_denoiser(R"({"_class_name": "UNet2DConditionModel"})"));
    CHECK(read_hf_denoiser("{}").error().code == error_code::missing);
}

TEST_CASE("a flow transformer without blocks or text has its embeddings and its ends") {
    // Two features: patches of three channels in (2 x 3 + 2) and out (shift and scale 4 x 2 + 4, then 3 x 2 + 3), the
    // bias of the text (2), the time's 256 frequencies (2 x 256 + 2 and 2 x 2 + 2) and the pooled text (2 and 6).
    const flow_transformer ends{.in_channels = 3, .heads = 1, .head_dim = 2};
    CHECK(count_parameters(ends) == parameters(8 + 12 + 9 + 2 + 514 + 6 + 2 + 6));
}

TEST_CASE("a network of a single resolution begins with a convolution over nine pixels of the latent image") {
    const unet one{.levels = 1, .channels = {32}, .blocks = 1, .middle_depth = 0};
    std::vector<weight> shown;
    for_each_weight(one, [&](const weight& w) { shown.push_back(w); });
    REQUIRE_FALSE(shown.empty());
    CHECK(shown[0].rows == 32);
    CHECK(shown[0].columns == 9 * 4);
}
