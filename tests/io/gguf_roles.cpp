// SPDX-License-Identifier: MIT
#include <llmres/io/gguf_model.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("tensors' names give roles and layers") {
    CHECK(*gguf_role("blk.12.ffn_down_exps.weight") == weight_role::down_proj);
    CHECK(*gguf_role("blk.3.ffn_up.5.weight") == weight_role::up_proj);
    CHECK(*gguf_role("blk.3.ffn_gate_inp.weight") == weight_role::router);
    CHECK(*gguf_role("blk.3.attn_k_b.weight") == weight_role::kv_b_proj);
    CHECK(*gguf_role("blk.3.attn_k.bias") == weight_role::bias);
    CHECK(*gguf_role("output_norm.weight") == weight_role::norm);
    CHECK(*gguf_role("rope_freqs.weight") == weight_role::values);
    for (const char* none :
         {"", "blk", "blk.", "blk.1", "blk.1.", "blk.x.attn_q.weight", "blk.1.weight", "blk.1.ffn_x.weight", "v.patch"})
        CHECK_FALSE(gguf_role(none));
    CHECK(gguf_layer("blk.17.attn_q.weight") == 17);
    CHECK(gguf_layer("blk.1234567.attn_q.weight") == -1);
    CHECK(gguf_layer("output.weight") == -1);
}

TEST_CASE("bytes of a GGUF file are summed by role, over layers and experts; unknown names stand apart") {
    gguf_file file;
    file.tensors = {{.name = "token_embd.weight", .size = bytes(2100)},
                    {.name = "blk.0.ffn_gate_exps.weight", .size = bytes(300)},
                    {.name = "blk.0.ffn_gate_shexp.weight", .size = bytes(20)},
                    {.name = "blk.1.ffn_gate.weight", .size = bytes(100)},
                    {.name = "blk.1.attn_norm.weight", .size = bytes(16)},
                    {.name = "output_norm.weight", .size = bytes(4)},
                    {.name = "v.patch", .size = bytes(8)},
                    {.name = "mm.0.weight", .size = bytes(1)}};
    const auto roles = gguf_bytes_by_role(file);
    CHECK(roles.size() == 4);
    CHECK(roles.at("embed_tokens") == bytes(2100));
    CHECK(roles.at("gate_proj") == bytes(420));
    CHECK(roles.at("norm") == bytes(20));
    CHECK(roles.at("other") == bytes(9));
}
