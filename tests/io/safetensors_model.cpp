// SPDX-License-Identifier: MIT
#include <llmres/io/safetensors_model.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

using namespace llmres;

namespace {

/// Tensors one behind another.
safetensors_checkpoint checkpoint_of(std::initializer_list<std::pair<const char*, std::uint64_t>> sizes) {
    safetensors_checkpoint made;
    std::uint64_t at = 0;
    for (const auto& [name, size] : sizes) {
        made.tensors.push_back({.name = name, .begin = at, .end = at + size});
        at += size;
    }
    return made;
}

/// One layer of 4 features, its head the embedding.
const model tiny{.vocabulary = 10,
                 .hidden = 4,
                 .layers = {1, {.attention = {.heads = 1, .kv_heads = 1, .head_dim = 4}, .feed_forward = {.width = 8}}},
                 .tied_head = true};

}  // namespace

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
    for (const char* none : {"", ".", "..", "weight", "model.layers.0.strange.weight", "vision.patch"})
        CHECK_FALSE(role(none));
}

TEST_CASE("bytes of a checkpoint are summed by role, scales with their weight; unknown names stand apart") {
    const auto roles = safetensors_bytes_by_role(checkpoint_of({{"model.embed_tokens.weight", 80},
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

TEST_CASE("fused tensors are what was predicted apart; what is stored otherwise is named") {
    safetensors_checkpoint stored = checkpoint_of({{"model.embed_tokens.weight", 80},
                                                   {"model.layers.0.self_attn.qkv_proj.weight", 96},
                                                   {"model.layers.0.self_attn.o_proj.weight", 32},
                                                   {"model.layers.0.mlp.gate_up_proj.weight", 128},
                                                   {"model.layers.0.mlp.down_proj.weight", 64},
                                                   {"model.layers.0.input_layernorm.weight", 8},
                                                   {"model.layers.0.post_attention_layernorm.weight", 8},
                                                   {"model.norm.weight", 8}});
    CHECK(compare_safetensors(stored, tiny, formats_for(bf16)).empty());
    stored.tensors.push_back({.name = "lm_head.weight", .begin = 424, .end = 504});
    const auto differences = compare_safetensors(stored, tiny, formats_for(bf16));
    REQUIRE(differences.size() == 1);
    CHECK(differences[0].what == "lm_head");
    CHECK(differences[0].predicted == bytes(0));
    CHECK(differences[0].stored == bytes(80));
}
