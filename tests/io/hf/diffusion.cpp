// SPDX-License-Identifier: MIT
// Denoising networks from their config.json, against the totals of their publishers' files.
#include <llmres/io/hf_config.hpp>

#include <doctest/doctest.h>

#include <llmres/io/hf/diffusion.hpp>
#include <llmres/models/diffusion.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

using namespace llmres;
using nlohmann::json;

namespace {

/// unet/config.json of stable-diffusion-v1-5, but for what equals diffusers' defaults.
const json stable_diffusion_1_5 = {
    {"_class_name", "UNet2DConditionModel"},
    {"block_out_channels", {320, 640, 1280, 1280}},
    {"down_block_types", {"CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"}},
    {"cross_attention_dim", 768}};

/// unet/config.json of stable-diffusion-xl-base-1.0.
const json stable_diffusion_xl = {{"_class_name", "UNet2DConditionModel"},
                                  {"in_channels", 4},
                                  {"out_channels", 4},
                                  {"layers_per_block", 2},
                                  {"block_out_channels", {320, 640, 1280}},
                                  {"down_block_types", {"DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"}},
                                  {"transformer_layers_per_block", {1, 2, 10}},
                                  {"cross_attention_dim", 2048},
                                  {"addition_embed_type", "text_time"},
                                  {"projection_class_embeddings_input_dim", 2816},
                                  {"class_embed_type", nullptr},
                                  {"encoder_hid_dim", nullptr},
                                  {"attention_type", "default"}};

json with(json document, const char* field, const json& value) {
    document[field] = value;
    return document;
}

parameter_count count_of(const json& document) {
    const result<denoiser> read = read_hf_denoiser(document.dump());
    REQUIRE(read);
    return std::visit([](const auto& network) { return count_parameters(network); }, *read);
}

error error_of(const json& document) { return read_hf_denoiser(document.dump()).error(); }

}  // namespace

TEST_CASE("a UNet counts what its publisher's file holds") {
    CHECK(count_of(stable_diffusion_1_5) == parameters(859'520'964));
    CHECK(count_of(stable_diffusion_xl) == parameters(2'567'463'684));
    CHECK(read_hf_unet(stable_diffusion_xl.dump())->name == "unet");
}

TEST_CASE("a flow transformer without fields is diffusers' default, which is FLUX.1-schnell") {
    const json flux = {{"_class_name", "FluxTransformer2DModel"}};
    CHECK(count_of(with(flux, "guidance_embeds", true)) == parameters(11'901'408'320));
    // Without guidance the two linear layers of its embedding are missing.
    CHECK(count_of(flux) == parameters(11'901'408'320 - (3072 * 256 + 3072 + 3072 * 3072 + 3072)));
    json given = flux;
    for (const auto& [field, value] :
         {std::pair{"in_channels", 64}, std::pair{"num_attention_heads", 24}, std::pair{"attention_head_dim", 128},
          std::pair{"num_layers", 19}, std::pair{"num_single_layers", 38}, std::pair{"joint_attention_dim", 4096},
          std::pair{"pooled_projection_dim", 768}})
        given[field] = value;
    CHECK(count_of(given) == count_of(flux));
}

TEST_CASE("one more channel of input or output is one row of a convolution of 3 x 3") {
    const auto more = [](const char* field, int value) {
        return count_of(with(stable_diffusion_1_5, field, value)) - count_of(stable_diffusion_1_5);
    };
    CHECK(more("in_channels", 5) == parameters(9 * 320));
    CHECK(more("out_channels", 5) == parameters(9 * 320 + 1));  // and its bias
}

TEST_CASE("a UNet has one to six levels, of which each says how wide it is and whether it attends") {
    json levels = stable_diffusion_1_5;
    const auto of_levels = [&](std::size_t count) {
        levels["block_out_channels"] = json(std::vector<int>(count, 64));
        levels["down_block_types"] = json(std::vector<std::string>(count, "DownBlock2D"));
        return read_hf_unet(levels.dump());
    };
    for (const std::size_t count : {1u, 2u, 6u}) {
        const auto read = of_levels(count);
        REQUIRE(read);
        CHECK(read->levels == static_cast<std::int32_t>(count));
    }
    for (const std::size_t count : {0u, 7u, 200u}) {
        const auto read = of_levels(count);
        REQUIRE_FALSE(read);
        CHECK(read.error().field == "block_out_channels");
    }
    CHECK(error_of({{"_class_name", "UNet2DConditionModel"}}).field == "block_out_channels");
    CHECK(error_of(with(stable_diffusion_1_5, "down_block_types", {"DownBlock2D"})).field == "down_block_types");
    CHECK(error_of(with(stable_diffusion_xl, "transformer_layers_per_block", {1, 2})).field ==
          "transformer_layers_per_block");
    // The middle is as deep as the lowest level, though that does not attend.
    const auto read = read_hf_unet(with(stable_diffusion_1_5, "transformer_layers_per_block", {1, 1, 1, 3}).dump());
    REQUIRE(read);
    CHECK(read->depth[2] == 1);
    CHECK(read->depth[3] == 0);
    CHECK(read->middle_depth == 3);
}

TEST_CASE("what a UNet is described without is refused by its field") {
    for (const auto& [field, value] :
         {std::pair{"class_embed_type", json("timestep")}, std::pair{"encoder_hid_dim", json(768)},
          std::pair{"time_cond_proj_dim", json(256)}, std::pair{"attention_type", json("gated")}}) {
        CAPTURE(field);
        CHECK(error_of(with(stable_diffusion_1_5, field, value)).field == field);
    }
    CHECK(error_of(with(stable_diffusion_1_5, "addition_embed_type", "text_time")).field ==
          "projection_class_embeddings_input_dim");
    CHECK(error_of({{"_class_name", "PixArtTransformer2DModel"}}).code == error_code::unsupported);
    CHECK(error_of(json::array()).code == error_code::malformed);
    CHECK(read_hf_flow_transformer(stable_diffusion_1_5.dump()).error().value == "UNet2DConditionModel");
    CHECK(read_hf_unet("{}").error().code == error_code::missing);
}

TEST_CASE("numbers of levels are read between their limits, from lists and alone") {
    const auto expected = [](const json& document) { return std::string{error_of(document).expected.view()}; };
    for (const json& depth : {json(-1), json({1, -1, 10})})
        CHECK(expected(with(stable_diffusion_xl, "transformer_layers_per_block", depth)) ==
              "an integer from 0 to 1048576");
    CHECK(expected(with(stable_diffusion_xl, "block_out_channels", {0, 640, 1280})) == "an integer from 1 to 1048576");
    for (const int levels : {0, 7, 100, 101}) {
        const json wide(static_cast<std::size_t>(levels), 320);
        CHECK(expected(with(stable_diffusion_xl, "block_out_channels", wide)) == "a list of 1 to 6 widths");
    }
    const json no_depth = with(stable_diffusion_xl, "transformer_layers_per_block", {0, 0, 0});
    CHECK(error_of(no_depth).expected.view().find("an integer from") == std::string_view::npos);
}
