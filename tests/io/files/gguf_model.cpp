// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/model_source.hpp>
#include <string>
#include <utility>

#include "../../fuzz/gguf_writer.hpp"

using namespace llmres;

namespace {

constexpr layer block{.attention = {.heads = 8, .kv_heads = 2, .head_dim = 64}, .feed_forward = {.width = 1536}};
constexpr model small{.architecture = "llama", .vocabulary = 1000, .hidden = 512, .layers = {16, block}};

gguf_writer header(const model& m, std::string_view architecture) {
    gguf_writer w;
    const std::string prefix = std::string{architecture} + ".";
    const attention& a = m.layers[0].attention;
    const auto integer = [&](const char* key, std::int64_t value) {
        w.integer(prefix + key, static_cast<std::uint32_t>(value));
    };
    w.text("general.architecture", architecture);
    w.text("general.name", "Small");
    w.integer("general.file_type", 15);
    integer("context_length", 4096);
    integer("embedding_length", m.hidden);
    integer("block_count", m.layers.size);
    integer("feed_forward_length", m.layers[0].feed_forward.width);
    integer("attention.head_count", a.heads);
    integer("attention.head_count_kv", a.kv_heads);
    integer("attention.key_length", a.head_dim);
    return w;
}

result<gguf_file> read(const gguf_writer& w) {
    const std::string file = w.bytes();
    return read_gguf(std::as_bytes(std::span{file}));
}

}  // namespace

TEST_CASE("metadata of the llama family describes the model, to the parameter") {
    gguf_writer w = header(small, "llama");
    w.tensors_of(small, *find_gguf_mix("mix", "Q4_K_M"));
    const auto file = read(w);
    REQUIRE(file);
    const auto found = describe_gguf(*file);
    REQUIRE(found);
    CHECK(found->name == "Small");
    CHECK(count_parameters(*found) == count_parameters(small));
    CHECK(count_parameters(*found) == file->elements());
    CHECK(found->max_context == tokens(4096));
    CHECK_FALSE(found->tied_head);
}

TEST_CASE("other families are described through the same reader") {
    model tied = small;
    tied.tied_head = true;
    for (const char* architecture : {"qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3"}) {
        CAPTURE(architecture);
        gguf_writer w = header(tied, architecture);
        w.tensors_of(tied, *find_gguf_mix("mix", "Q8_0"));
        const auto found = describe_gguf(*read(w));
        REQUIRE(found);
        CHECK(found->tied_head);
        CHECK(found->layers.size == 16);
    }
    model routed = small;
    layer l = block;
    l.feed_forward.experts = {.count = 8, .per_token = 2, .width = 1536};
    routed.layers = {16, l};
    gguf_writer w = header(small, "llama");
    w.integer("llama.expert_count", 8);
    w.integer("llama.expert_used_count", 2);
    w.tensors_of(routed, *find_gguf_mix("mix", "Q4_K_M"));
    const auto described = describe_gguf(*read(w));
    REQUIRE(described);
    CHECK(described->architecture == "mixtral");
    CHECK(count_parameters(*described) == count_parameters(routed));
}

TEST_CASE("latent attention is read from old and new keys alike") {
    const auto latent = [](bool absorbed) {
        gguf_writer w;
        w.text("general.architecture", "deepseek2");
        const auto integer = [&](const char* key, std::uint32_t value) {
            w.integer(std::string{"deepseek2."} + key, value);
        };
        integer("embedding_length", 2048);
        integer("block_count", 27);
        integer("feed_forward_length", 10944);
        integer("attention.head_count", 16);
        integer("attention.head_count_kv", absorbed ? 1 : 16);
        integer("attention.kv_lora_rank", 512);
        integer("rope.dimension_count", 64);
        integer("attention.key_length", absorbed ? 576 : 192);
        integer("attention.value_length", absorbed ? 512 : 128);
        if (absorbed) {
            integer("attention.key_length_mla", 192);
            integer("attention.value_length_mla", 128);
        }
        integer("leading_dense_block_count", 1);
        integer("expert_count", 64);
        integer("expert_used_count", 6);
        integer("expert_shared_count", 2);
        integer("expert_feed_forward_length", 1408);
        w.tensor("token_embd.weight", {2048, 102400}, gguf_type::Q4_K);
        w.tensor("output.weight", {2048, 102400}, gguf_type::Q4_K);
        w.with_data = true;
        return describe_gguf(*read(w));
    };
    for (const bool absorbed : {false, true}) {
        const auto found = latent(absorbed);
        REQUIRE(found);
        CHECK(count_parameters(*found) == parameters(15706484224));  // DeepSeek-V2-Lite
    }
}

TEST_CASE("what is not described is refused by name") {
    gguf_writer w = header(small, "rwkv6");
    w.tensor("token_embd.weight", {512, 1000});
    CHECK(describe_gguf(*read(w)).error().code == error_code::unsupported);
    CHECK(describe_gguf(*read(w)).error().value == "rwkv6");
    gguf_writer none;
    CHECK(describe_gguf(*read(none)).error().field == "general.architecture");
    CHECK(describe_gguf(*read(header(small, "llama"))).error().field == "token_embd.weight");
    gguf_writer varied;
    varied.text("general.architecture", "llama");
    varied.integers("llama.attention.head_count_kv", {8, 4});
    varied.tensor("token_embd.weight", {512, 1000});
    CHECK(describe_gguf(*read(varied)).error().field == "llama.attention.head_count_kv");
    gguf_writer missing;
    missing.text("general.architecture", "llama");
    missing.tensor("token_embd.weight", {512, 1000});
    CHECK(describe_gguf(*read(missing)).error().field == "llama.embedding_length");
}

TEST_CASE("a file that holds what was predicted has no differences; one tensor in another type is named") {
    const gguf_mix mix = *find_gguf_mix("mix", "Q4_K_M");
    model scaled = small;
    scaled.rope = {.vectors = 1, .width = 32};
    gguf_writer same = header(scaled, "llama");
    same.tensors_of(scaled, mix);
    const auto file = read(same);
    REQUIRE(file);
    CHECK(gguf_mix_of(*file)->quantisation == gguf_quantisation::Q4_K_M);
    CHECK(describe_gguf(*file)->rope.width == 32);
    CHECK(compare_gguf(*file, *describe_gguf(*file), *gguf_mix_of(*file)).empty());
    CHECK(file->tensor_bytes() == gguf_tensor_bytes(scaled, mix));

    gguf_mix other = mix;
    other.embedding = gguf_type::Q8_0;
    gguf_writer changed = header(small, "llama");
    changed.tensors_of(small, other);
    changed.tensor("v.extra", {7});
    const auto differences = compare_gguf(*read(changed), small, mix);
    REQUIRE(differences.size() == 2);
    CHECK(differences[0].what == "embed_tokens");
    CHECK(differences[0].predicted == size_of(q4_k, 1000, 512));
    CHECK(differences[0].stored == size_of(q8_0, 1000, 512));
    CHECK(differences[1].what == "v.extra");
    CHECK(differences[1].predicted == bytes(0));
}

TEST_CASE("an unknown file type is refused by name") {
    gguf_writer w;
    w.integer("general.file_type", 4);
    CHECK(gguf_mix_of(*read(w)).error().field == "general.file_type");
    CHECK(gguf_mix_of(*read(gguf_writer{})).error().code == error_code::unknown);
    gguf_writer guessed;
    guessed.integer("general.file_type", 1024 + 7);
    CHECK(gguf_mix_of(*read(guessed))->quantisation == gguf_quantisation::Q8_0);
}

TEST_CASE("a file that does not say its file type has the medium mix of the type of most values") {
    for (const auto& [type, quantisation] : {std::pair{gguf_type::Q4_K, gguf_quantisation::Q4_K_M},
                                             {gguf_type::Q3_K, gguf_quantisation::Q3_K_M},
                                             {gguf_type::Q8_0, gguf_quantisation::Q8_0},
                                             {gguf_type::IQ4_XS, gguf_quantisation::IQ4_XS},
                                             {gguf_type::IQ3_S, gguf_quantisation::IQ3_M}}) {
        gguf_writer w;
        w.tensor("token_embd.weight", {512, 1000}, gguf_type::F16);
        w.tensor("blk.0.attn_k.weight", {512, 512}, gguf_type::Q6_K);
        w.tensor("blk.0.ffn_up.weight", {512, 1024}, type);
        w.tensor("blk.999999.ffn_up.weight", {512, 4096}, gguf_type::F32);
        const auto mix = gguf_mix_of(*read(w));
        REQUIRE(mix);
        CHECK(mix->quantisation == quantisation);
        CHECK_FALSE(mix->importance_matrix);
    }
}

TEST_CASE("a file says whether it was quantised with an importance matrix") {
    gguf_writer by_file, by_entries;
    by_file.integer("general.file_type", 15);
    by_file.text("quantize.imatrix.file", "imatrix.dat");
    by_entries.integer("general.file_type", 15);
    by_entries.integer("quantize.imatrix.entries_count", 224);
    CHECK(gguf_mix_of(*read(by_file))->importance_matrix);
    CHECK(gguf_mix_of(*read(by_entries))->importance_matrix);
}

TEST_CASE("of more kinds of layers than patterns, each has the nearest one") {
    const std::array types{gguf_type::Q4_K, gguf_type::Q5_K, gguf_type::Q6_K, gguf_type::Q8_0, gguf_type::F16};
    gguf_writer w;
    for (std::size_t i = 0; i < 18; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        w.tensor(layer + "attn_k.weight", {256, 256}, types[i % 5]);
        w.tensor(layer + "attn_v.weight", {256, 256}, types[i / 5]);
        w.tensor(layer + "attn_q.weight", {256, 256}, gguf_type::Q4_K);
    }
    const gguf_stored_types stored = gguf_stored_types_of(*read(w));
    CHECK(stored.count == gguf_stored_types::most_patterns);
    for (std::int32_t i = 0; i < 18; ++i) {
        const auto index = static_cast<std::size_t>(i);
        const bool keys = *stored.type_of(i, weight_role::k_proj, false) == types[index % 5];
        const bool values = *stored.type_of(i, weight_role::v_proj, false) == types[index / 5];
        CHECK(*stored.type_of(i, weight_role::q_proj, false) == gguf_type::Q4_K);
        CHECK((i < 16 ? keys && values : keys || values));
    }
}

TEST_CASE("metadata of another type than an integer is refused by its key") {
    gguf_writer none;
    none.text("general.architecture", "llama");
    none.integer("llama.embedding_length", 512);
    none.tensor("token_embd.weight", {512, 1000});
    for (const bool as_list : {false, true}) {
        gguf_writer w = none;
        if (as_list)
            w.integers("llama.block_count", {});
        else
            w.text("llama.block_count", "many");
        CHECK(describe_gguf(*read(w)).error().field == "llama.block_count");
        CHECK(describe_gguf(*read(w)).error().value == "not one integer");
    }
}

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
