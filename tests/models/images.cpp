// SPDX-License-Identifier: MIT
#include <llmres/models/images.hpp>

#include <doctest/doctest.h>

#include <llmres/models/gemma.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>

using namespace llmres;

namespace {

image_parts parts(std::int64_t patches, std::int64_t read) { return {tokens(patches), tokens(read)}; }

}  // namespace

TEST_CASE("Qwen rounds sides to multiples of two patches, within the bounds of the area") {
    // smart_resize() of transformers 5, by hand. 1280 / 28 = 45.7 and 720 / 28 = 25.7: 46 x 26 tokens of four patches.
    CHECK(parts_of_image(models::qwen2_5_vl_7b, 1280, 720) == parts(4 * 46 * 26, 46 * 26));
    CHECK(parts_of_image(models::qwen2_5_vl_7b, 720, 1280) == parts(4 * 46 * 26, 46 * 26));
    // In patches of 16: 1280 / 32 = 40, and 720 / 32 = 22.5, which Python rounds to the even 22.
    CHECK(parts_of_image(models::qwen3_vl_8b, 1280, 720) == parts(4 * 40 * 22, 40 * 22));
    CHECK(parts_of_image(models::qwen3_vl_8b, 1280, 752) == parts(4 * 40 * 24, 40 * 24));  // 23.5 to the even 24
    CHECK(parts_of_image(models::qwen2_5_vl_7b, 224, 224) == parts(256, 64));
    // 8000 x 6000 has 48 million pixels of at most 16384 x 784: scaled by 0.5173, down to whole tokens.
    // 8000 x 0.5173 / 28 = 147.8 and 6000 x 0.5173 / 28 = 110.9.
    CHECK(parts_of_image(models::qwen2_5_vl_7b, 8000, 6000) == parts(4 * 147 * 110, 147 * 110));
    // 10 x 10 is scaled up to 56 x 56: two tokens a side. In patches of 16 to 256 x 256: eight.
    CHECK(parts_of_image(models::qwen2_5_vl_7b, 10, 10) == parts(16, 4));
    CHECK(parts_of_image(models::qwen3_vl_8b, 10, 10) == parts(256, 64));
    // 100 x 20: scaled by sqrt(65536 / 2000) = 5.724, up to whole tokens: 572.4 / 32 = 17.9 and 114.5 / 32 = 3.6.
    CHECK(parts_of_image(models::qwen3_vl_8b, 100, 20) == parts(4 * 18 * 4, 18 * 4));
}

TEST_CASE("no image of Qwen's is larger than the largest, and none smaller than the smallest") {
    for (const model* m : {&models::qwen2_5_vl_7b, &models::qwen3_vl_8b})
        for (std::int64_t width = 1; width <= longest_image_side; width = width * 3 + 1)
            for (std::int64_t height = 1; height <= longest_image_side; height = height * 5 + 2) {
                CAPTURE(width);
                CAPTURE(height);
                const image_parts p = parts_of_image(*m, width, height);
                CHECK(p.tokens > token_count{});
                CHECK(p.patches == p.tokens * 4);
                const bool extreme = width > 200 * height || height > 200 * width;  // which the processor refuses
                if (!extreme) CHECK(p.tokens <= m->encoders[0].image_tokens);
                CHECK(p.tokens >= m->encoders[0].least_image_tokens);
            }
}

TEST_CASE("Mistral scales what is longer than 1540 pixels, and ends each row with a token") {
    // Patches of 14, of which four are a token: 1280 / 28 and 720 / 28, rounded up.
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 1280, 720) == parts(4 * 46 * 26, 26 * 47));
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 720, 1280) == parts(4 * 46 * 26, 46 * 27));
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 1540, 1540) == parts(12100, 3080));
    // 4000 x 3000 becomes 1540 x 1155: 55 x 42 tokens (41.25, up).
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 4000, 3000) == parts(4 * 55 * 42, 42 * 56));
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 1, 1) == parts(4, 2));
    CHECK(parts_of_image(models::mistral_small_3_1_24b, 100'000, 10) == parts(4 * 55, 56));
}

TEST_CASE("an image counts as the largest where its processor makes it so, or its rule is not described") {
    // Gemma 3 makes all images squares of 896 pixels: 256 tokens.
    CHECK(parts_of_image(models::gemma_3_27b, 1280, 720) == parts(4096, 256));
    CHECK(parts_of_image(models::llama_4_scout, 1280, 720) == parts(9809, 2448));
    CHECK(parts_of_image(models::llama_3_1_8b, 1280, 720) == parts(0, 0));  // which sees no images
}
