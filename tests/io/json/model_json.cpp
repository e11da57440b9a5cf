// SPDX-License-Identifier: MIT
// Models as `llmres model` prints them, against counts of their tensors.
#include <llmres/io/json/model_json.hpp>

#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/gguf/mix.hpp>

using namespace llmres;

TEST_CASE("parameters by role add up to the model's, of every model") {
    for (const model* m : models::all) {
        CAPTURE(m->name.view());
        const json_value made = to_json(*m, weight_formats{}, bf16);
        std::int64_t sum = 0;
        for (const auto& [role, count] : made["parameters"]["by_role"].items()) sum += count.get<std::int64_t>();
        CHECK(sum == made["parameters"]["total"].get<std::int64_t>());
        CHECK(sum == count_parameters(*m).in(parameters));
        CHECK(made["parameters"]["active"].get<std::int64_t>() <= sum);
        std::int64_t layers = 0;
        for (const json_value& kind : made["layers"]) layers += kind["count"].get<std::int64_t>();
        CHECK(layers == m->layers.size);
    }
}

TEST_CASE("Llama 3.1 8B by role, in bf16 and in a mix of a GGUF file") {
    const model& m = models::llama_3_1_8b;
    const json_value made = to_json(m, weight_formats{}, bf16);
    const json_value& roles = made["parameters"]["by_role"];
    CHECK(roles["embed_tokens"] == 128256 * 4096);
    CHECK(roles["lm_head"] == 128256 * 4096);
    CHECK(roles["q_proj"] == 32 * 4096 * 4096);
    CHECK(roles["k_proj"] == 32 * 4096 * 1024);
    CHECK(roles["down_proj"] == 32 * 4096 * 14336);
    CHECK(roles["norm"] == 65 * 4096);
    CHECK(made["weights_bytes"] == 2 * 8'030'261'248);
    CHECK(made["kv_bytes_per_token"] == 131072);
    CHECK(made["max_context"] == 131072);
    CHECK(made["parameters"]["apart"]["tied_head"] == 0);
    CHECK(to_json(models::llama_3_2_1b, weight_formats{}, bf16)["parameters"]["apart"]["tied_head"] == 128256 * 2048);
    const json_value mixed = to_json(m, find_gguf_mix("weights", "Q8_0").value(), fp16);
    CHECK(mixed["weights"] == "q8_0");
    CHECK(mixed["parameters"]["by_role"] == roles);
    model unknown = m;
    unknown.max_context = {};
    CHECK(to_json(unknown, weight_formats{}, bf16)["max_context"].is_null());
}

TEST_CASE("parameters of a denoising network by role add up as well") {
    const json_value made = to_json(models::stable_diffusion_xl, weight_formats{});
    std::int64_t sum = 0;
    for (const auto& [role, count] : made["parameters"]["by_role"].items()) sum += count.get<std::int64_t>();
    CHECK(sum == 2'567'463'684);
    CHECK(made["architecture"] == "unet");
    CHECK(to_json(models::flux_1_dev, weight_formats{})["architecture"] == "flow_transformer");
}
