// SPDX-License-Identifier: MIT
// Patches and tokens of an image, by the arithmetic of each family's processor (transformers 5.17,
// models/*/processing_*.py and image_processing_*.py) or the figures that its paper or model card gives.
#include <llmres/io/hf_config.hpp>

#include <doctest/doctest.h>

#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace llmres;
using nlohmann::json;

namespace {

/// A multimodal model with a small text model, or its type's own where that has other fields, and these fields of its
/// image encoder and beside it.
json config_of(const std::string& type, const json& vision, const json& beside = json::object()) {
    const json small{{"vocab_size", 1000},       {"hidden_size", 256},       {"num_hidden_layers", 2},
                     {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"intermediate_size", 512}};
    json config{{"model_type", type}, {"text_config", json::object()}, {"vision_config", vision}};
    for (const char* without_defaults : {"cohere2_vision", "exaone4_5", "lfm2_vl"})
        if (type == without_defaults) config["text_config"] = small;
    config.update(beside);
    return config;
}

encoder tower_of(const json& config, std::size_t place = 0) {
    const result<model> read = read_hf_config(config.dump());
    CAPTURE(config.dump());
    REQUIRE_MESSAGE(read, read.error().field.view(), ": ", read.error().value.view(), ", expected ",
                    read.error().expected.view());
    return read->encoders[place];
}

struct image_case {
    const char* type;
    json vision, beside;
    std::int64_t patches, tokens;
};

}  // namespace

TEST_CASE("the tokens of an image are those that its processor puts into the prompt") {
    const json siglip_384{{"image_size", 384}, {"patch_size", 14}};
    const std::vector<image_case> cases{
        // Patches as they are: (336 / 14)^2, and so on.
        {"llava", {{"image_size", 336}, {"patch_size", 14}}, json::object(), 576, 576},
        {"llava_next", {{"image_size", 336}, {"patch_size", 14}}, json::object(), 576, 576},
        {"vipllava", {{"image_size", 336}, {"patch_size", 14}}, json::object(), 576, 576},
        {"video_llava", {{"image_size", 224}, {"patch_size", 14}}, json::object(), 256, 256},
        {"paligemma", {{"image_size", 448}, {"patch_size", 14}}, json::object(), 1024, 1024},
        {"deepseek_vl", {{"image_size", 384}, {"patch_size", 16}}, json::object(), 576, 576},
        {"llava", {{"image_size", {336, 336}}, {"patch_size", 14}}, json::object(), 576, 576},
        // Squares of patches that are merged: two by two, or as the file says.
        {"internvl", {{"image_size", {448, 448}}, {"patch_size", {14, 14}}}, json::object(), 1024, 256},
        {"internvl", {{"image_size", 448}}, {{"downsample_ratio", 0.25}}, 1024, 64},
        {"internvl", {{"image_size", 448}}, {{"downsample_ratio", 1.0}}, 1024, 1024},
        {"cohere2_vision", {{"image_size", 512}, {"patch_size", 16}}, json::object(), 1024, 256},
        {"cohere2_vision", {{"image_size", 512}, {"patch_size", 16}}, {{"downsample_factor", 4}}, 1024, 64},
        {"lfm2_vl", {{"num_patches", 1024}}, json::object(), 1024, 256},
        {"lfm2_vl", json::object(), {{"downsample_factor", 4}}, 256, 16},
        {"cosmos3_edge", {{"num_patches", 1024}}, json::object(), 1024, 256},
        {"paddleocr_vl", siglip_384, json::object(), 729, 182},
        {"glm4v", {{"image_size", 336}}, json::object(), 576, 144},
        {"glm4v", {{"image_size", 336}, {"spatial_merge_size", 3}}, json::object(), 576, 64},
        // 169 tokens of an image of 364 pixels (Idefics 3), 64 of one of 512 (SmolVLM).
        {"idefics3", {{"image_size", 364}, {"patch_size", 14}}, json::object(), 676, 169},
        {"smolvlm", {{"image_size", 512}, {"patch_size", 16}}, {{"scale_factor", 4}}, 1024, 64},
        // Step 3.7 halves the sides twice: 52 x 52 patches are 13 x 13 tokens.
        {"step3p7", {{"image_size", 728}, {"patch_size", 14}}, json::object(), 2704, 169},
        // Four patches in a window, then four windows: 64 tokens of 448 pixels; one merge more leaves a quarter.
        {"minicpmv4_6", {{"image_size", 448}, {"patch_size", 14}}, json::object(), 1024, 64},
        {"minicpmv4_6", {{"image_size", 448}, {"patch_size", 14}}, {{"merger_times", 2}}, 1024, 16},
        // SAM's tower sees 64 x 64 patches, its neck halves the sides twice: 256 tokens (GOT-OCR 2.0's paper).
        {"got_ocr2", {{"image_size", 1024}}, json::object(), 4096, 256},
        // Llama 4: 16 tiles of 336 pixels and the whole image, each with a class token; a quarter of the patches is
        // left, 144 of a tile.
        {"llama4", {{"image_size", 336}}, json::object(), 17 * (576 + 1), 17 * 144},
        // Pixtral: a token for each square of two by two patches, and one that ends each row of squares: 55 x 55 + 55.
        {"mistral3", {{"image_size", 1540}, {"patch_size", 14}}, json::object(), 12100, 3080},
        {"mistral3", {{"image_size", 1536}, {"patch_size", 16}}, {{"spatial_merge_size", 4}}, 9216, 24 * 24 + 24},
        // Qwen's processors allow 12,845,056 pixels in patches of 14, 16,777,216 in patches of 16.
        {"qwen2_vl", {{"patch_size", 14}}, json::object(), 12845056 / 196, 16384},
        {"qwen2_5_vl", {{"patch_size", 14}}, json::object(), 12845056 / 196, 16384},
        {"qwen3_vl", {{"patch_size", 16}}, json::object(), 16777216 / 256, 16384},
        {"qwen3_vl", {{"spatial_merge_size", 4}}, json::object(), 65536, 4096},
        // Learned queries read the patches: as many tokens as there are queries.
        {"gemma3", {{"image_size", 896}, {"patch_size", 14}}, json::object(), 4096, 256},
        {"gemma3", {{"image_size", 896}, {"patch_size", 14}}, {{"mm_tokens_per_image", 64}}, 4096, 64},
        {"blip-2", json::object(), json::object(), 256, 32},
        {"instructblip", json::object(), {{"num_query_tokens", 48}}, 256, 48},
        {"kosmos-2", json::object(), json::object(), 256, 64},
        {"kosmos-2", json::object(), {{"latent_query_num", 100}}, 256, 100},
        {"kosmos-2.5", json::object(), json::object(), 0, 2048},
        {"idefics2", {{"image_size", 980}, {"patch_size", 14}}, json::object(), 4900, 64},
        {"idefics2",
         {{"image_size", 980}, {"patch_size", 14}},
         {{"perceiver_config", {{"resampler_n_latents", 128}}}},
         4900,
         128},
        {"aria", {{"image_size", 980}, {"patch_size", 14}}, json::object(), 4900, 256},
        {"aria",
         {{"image_size", 490}, {"patch_size", 14}},
         {{"projector_patch_to_query_dict", {{"1225", 128}}}},
         1225,
         128},
    };
    for (const image_case& one : cases) {
        CAPTURE(one.type);
        const encoder e = tower_of(config_of(one.type, one.vision, one.beside));
        CHECK(e.image_patches == tokens(one.patches));
        CHECK(e.image_tokens == tokens(one.tokens));
        if (e.output > token_count{}) CHECK(e.output == e.image_tokens);
    }
}

TEST_CASE("Qwen's models rotate the tokens of an image by frame, row and column, the others as those of text") {
    for (const char* type : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5", "exaone4_5"})
        CHECK(tower_of(config_of(type, json::object())).position_axes == 3);
    for (const char* type : {"llava", "gemma3", "internvl", "mistral3"})
        CHECK(tower_of(config_of(type, json::object())).position_axes == 1);
}

TEST_CASE("processors scale images by their area, or by their longer side; Qwen2.5's tower has windows") {
    for (const char* type : {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5", "exaone4_5"})
        CHECK(tower_of(config_of(type, json::object())).resize == image_resize::to_area);
    CHECK(tower_of(config_of("mistral3", json::object())).resize == image_resize::to_edge);
    CHECK(tower_of(config_of("gemma3", json::object())).resize == image_resize::to_largest);
    // preprocessor_config.json: min_pixels 3136 of 28 x 28, and 65536 of 32 x 32.
    CHECK(tower_of(config_of("qwen2_5_vl", json::object())).least_image_tokens == tokens(4));
    CHECK(tower_of(config_of("qwen3_vl", json::object())).least_image_tokens == tokens(64));
    // configuration_qwen2_5_vl.py: window_size 112 of patches of 14, fullatt_block_indexes [7, 15, 23, 31] of 32.
    const encoder usual = tower_of(config_of("qwen2_5_vl", json::object()));
    CHECK(usual.windowed_layers == 28);
    CHECK(usual.window_patches == tokens(64));
    const encoder other = tower_of(
        config_of("qwen2_5_vl", {{"depth", 20}, {"window_size", 56}, {"fullatt_block_indexes", json::array({9, 19})}}));
    CHECK(other.windowed_layers == 18);
    CHECK(other.window_patches == tokens(16));
    const encoder three = tower_of(config_of("qwen2_5_vl", {{"depth", 3}}));
    CHECK(three.windowed_layers == 0);
    CHECK(tower_of(config_of("qwen2_vl", json::object())).windowed_layers == 0);
}

TEST_CASE("a tower's file has the bytes of a published one, but for its keys") {
    // unsloth/Qwen3.5-0.8B-GGUF: mmproj-BF16.gguf has 207,346,528 bytes (unslothai/unsloth, pull request 5849).
    const json vision{{"depth", 12},     {"hidden_size", 768},      {"intermediate_size", 3072},
                      {"num_heads", 12}, {"out_hidden_size", 1024}, {"patch_size", 16}};
    const json text{{"hidden_size", 1024}};
    const result<model> read = read_hf_config(config_of("qwen3_5", vision, {{"text_config", text}}).dump());
    REQUIRE_MESSAGE(read, read.error().field.view());
    byte_count file;
    for_each_tower_weight(*read, [&](const weight& w) {
        file += size_of(detail::serving_weights::format_in_tower_file(w), w.rows, w.columns) * w.copies;
    });
    CHECK(file < bytes(207'346'528));
    CHECK(file > bytes(207'346'528 - 16'384));
}

TEST_CASE("what layers that attend to an image read: of each tile its patches and a class token, or queries") {
    // Llama 3.2 Vision: (560 / 14)^2 + 1 of each of four tiles (modeling_mllama.py).
    CHECK(tower_of(config_of("mllama", {{"image_size", 560}})).output == tokens(4 * (1600 + 1)));
    CHECK(tower_of(config_of("mllama", {{"image_size", 560}, {"max_num_tiles", 2}})).output == tokens(2 * (1600 + 1)));
    CHECK(tower_of(config_of("blip-2", json::object()), 1).output == tokens(32));
    CHECK(tower_of(config_of("idefics2", json::object()), 1).output == tokens(64));
    const encoder high = tower_of(config_of("deepseek_vl_hybrid", json::object()), 1);
    CHECK(high.image_patches == tokens(4096));
    CHECK(high.output == tokens(256));
}

TEST_CASE("an image without a patch, or with too many, is refused by its field") {
    for (const char* type : {"llava", "internvl", "llama4", "mistral3"})
        for (const json& vision :
             {json{{"image_size", 8}, {"patch_size", 16}}, json{{"image_size", 65536}, {"patch_size", 1}}}) {
            CAPTURE(type);
            const auto read = read_hf_config(config_of(type, vision).dump());
            REQUIRE_FALSE(read);
            CHECK(read.error().field.view().find("image_size") != std::string_view::npos);
        }
    // 4,096 patches a side are read.
    CHECK(tower_of(config_of("paligemma", {{"image_size", 4096}, {"patch_size", 1}})).image_patches ==
          tokens(4096 * 4096));
    CHECK(tower_of(config_of("mistral3", {{"image_size", 4096}, {"patch_size", 1}})).image_patches ==
          tokens(4096 * 4096));
}
