// SPDX-License-Identifier: MIT
// How keys and tensors of a GGUF file become fields of a model, by files of one architecture each.
#include <llmres/io/files/gguf_model.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <llmres/io/files/stored_weights.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../fuzz/gguf_writer.hpp"

using namespace llmres;

namespace {

using numbers = std::map<std::string, std::uint32_t>;

result<gguf_file> read(const gguf_writer& w) {
    const std::string file = w.bytes();
    return read_gguf(std::as_bytes(std::span{file}));
}

/// A file of two layers of 256 features, 4 heads and 2 KV heads, with further numbers; 0: without that key.
gguf_writer file_of(const std::string& architecture, const numbers& further = {}) {
    numbers all{{"embedding_length", 256},
                {"block_count", 2},
                {"feed_forward_length", 512},
                {"attention.head_count", 4},
                {"attention.head_count_kv", 2}};
    for (const auto& [key, number] : further) all[key] = number;
    gguf_writer w;
    w.text("general.architecture", architecture);
    for (const auto& [key, number] : all)
        if (number > 0) w.integer(architecture + "." + key, number);
    w.tensor("token_embd.weight", {256, 16});
    return w;
}

model described(const gguf_writer& w) {
    const auto file = read(w);
    REQUIRE(file);
    const auto found = describe_gguf(*file);
    CAPTURE(found.error().field);
    REQUIRE(found);
    return *found;
}

error error_of(const gguf_writer& w) {
    const auto file = read(w);
    REQUIRE(file);
    return describe_gguf(*file).error();
}

}  // namespace

TEST_CASE("a llama with one expert is a mixture, and the experts of a token are the same in all layers") {
    const model one = described(file_of("llama", {{"expert_count", 1}, {"expert_used_count", 1}}));
    CHECK(one.architecture == "mixtral");
    CHECK(one.layers[0].feed_forward.experts.count == 1);
    gguf_writer varied = file_of("llama", {{"expert_count", 4}});
    varied.integers("llama.expert_used_count", {0, 2});
    CHECK(error_of(varied).field == "llama.expert_used_count");
}

TEST_CASE("layers that predict further tokens are none of the model's, whose number is an integer") {
    CHECK(described(file_of("llama", {{"nextn_predict_layers", 1}})).layers.size == 1);
    gguf_writer words = file_of("llama"), none = file_of("llama"), each = file_of("llama");
    words.text("llama.nextn_predict_layers", "one");
    CHECK(described(words).layers.size == 2);
    none.integers("llama.nextn_predict_layers", {});
    CHECK(described(none).layers.size == 2);
    each.integers("llama.nextn_predict_layers", {1, 0});
    CHECK(described(each).layers.size == 1);
    const model glm = described(file_of("glm4moe", {{"expert_count", 4},
                                                    {"expert_used_count", 2},
                                                    {"expert_shared_count", 1},
                                                    {"expert_feed_forward_length", 64},
                                                    {"leading_dense_block_count", 1},
                                                    {"attention.key_length", 64}}));
    CHECK(glm.prediction.layers == 0);
}

TEST_CASE("a name is the file's, and without one the architecture's") {
    gguf_writer named = file_of("llama");
    named.text("general.name", "Small");
    CHECK(described(named).name == "Small");
    CHECK(described(file_of("llama")).name == "llama");
    gguf_writer factors = file_of("llama");
    for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) factors.tensor(name, {32});
    CHECK(described(factors).rope.vectors == 2);
    CHECK(described(factors).rope.width == 32);
    CHECK(described(file_of("llama")).rope.vectors == 0);
}

TEST_CASE("a field that only the last of two keys could give is missing under that") {
    const gguf_writer w = file_of("llama4", {{"expert_count", 4}, {"expert_used_count", 1}});
    CHECK(error_of(w).code == error_code::missing);
    CHECK(error_of(w).field == "llama4.expert_feed_forward_length");
}

TEST_CASE("Gemma 4's global layers have the fewest KV heads, and its last ones the widest feed-forwards") {
    const numbers base{{"block_count", 3},
                       {"attention.head_count_kv", 0},
                       {"feed_forward_length", 0},
                       {"attention.key_length", 64},
                       {"attention.key_length_swa", 32},
                       {"attention.shared_kv_layers", 1},
                       {"attention.sliding_window", 128}};
    gguf_writer unequal = file_of("gemma4", base);
    unequal.integers("gemma4.attention.sliding_window_pattern", {1, 0, 0});
    gguf_writer equal = unequal;
    unequal.integers("gemma4.attention.head_count_kv", {2, 1, 1});
    unequal.integers("gemma4.feed_forward_length", {320, 320, 640});
    const model found = described(unequal);
    CHECK(found.layers[0].attention.window == tokens(128));
    CHECK(found.layers[0].attention.head_dim == 32);
    CHECK(found.layers[1].attention.window == token_count{});
    CHECK(found.layers[1].attention.head_dim == 64);
    CHECK(found.layers[0].feed_forward.width == 320);
    CHECK(found.layers[1].feed_forward.width == 320);
    CHECK(found.layers[2].feed_forward.width == 640);
    // KV heads of global layers are read where keys serve as values there.
    unequal.tensor("blk.0.attn_k.weight", {256, 64});
    unequal.tensor("blk.0.attn_v.weight", {256, 64});
    unequal.tensor("blk.1.attn_k.weight", {256, 64});
    unequal.tensor("mm.attn_k.weight", {256, 64});
    CHECK(described(unequal).layers[0].attention.kv_heads == 2);
    CHECK(described(unequal).layers[1].attention.kv_heads == 1);
    CHECK(described(unequal).layers[1].attention.keys == key_projection::also_values);

    CHECK(error_of(equal).field == "gemma4.feed_forward_length");  // of no layer, or of a list of none
    gguf_writer none = equal;
    none.integers("gemma4.feed_forward_length", {});
    CHECK(error_of(none).field == "gemma4.feed_forward_length");
    equal.integer("gemma4.feed_forward_length", 320);
    equal.tensor("mm.attn_k.weight", {256, 64});
    gguf_writer first = equal;
    CHECK(described(equal).layers[2].feed_forward.width == 320);
    for (const int i : {0, 1}) {
        CHECK(described(equal).layers[i].attention.kv_heads == 4);  // no key says how many
        CHECK(described(equal).layers[i].attention.keys == key_projection::plain);
    }
    first.tensor("blk.0.attn_k.weight", {256, 64});  // the first layer alone has keys for values
    CHECK(described(first).layers[1].attention.keys == key_projection::also_values);
}

TEST_CASE("ranks are rows of the first matrix of that name") {
    const auto features_with = [](const std::vector<std::vector<std::uint64_t>>& shapes) {
        gguf_writer w = file_of("gemma3n", {{"attention.key_length", 64}, {"attention.sliding_window", 128}});
        for (std::size_t i = 0; i < shapes.size(); ++i)
            w.tensor("blk." + std::to_string(i) + ".laurel_l.weight", shapes[i]);
        return described(w).layers[0].more_features;
    };
    const std::int64_t without_rank = features_with({{256, 1}}) - 2;
    CHECK(features_with({{256, 16}}) == without_rank + 2 * 16);
    CHECK(features_with({{256}, {256, 8}}) == without_rank + 2 * 8);  // a vector is no matrix
    CHECK(features_with({}) == without_rank + 2 * 64);                // of the configuration's class
}

TEST_CASE("widths of values are columns over heads") {
    const auto latent = [](std::uint32_t heads, std::uint64_t columns) {
        gguf_writer w = file_of("minicpm3", {{"attention.head_count", heads},
                                             {"attention.head_count_kv", heads},
                                             {"attention.q_lora_rank", 96},
                                             {"attention.kv_lora_rank", 64},
                                             {"attention.key_length", 48},
                                             {"rope.dimension_count", 16}});
        if (columns > 0) w.tensor("blk.0.attn_output.weight", {columns, 256});
        return w;
    };
    CHECK(described(latent(4, 192)).layers[0].attention.value_dim == 48);
    CHECK(described(latent(1, 48)).layers[0].attention.value_dim == 48);
    CHECK(error_of(latent(0, 192)).field == "minicpm3.attention.head_count");
    CHECK(error_of(latent(1, 0)).code != error_code::none);
}

TEST_CASE("layers before the first router are dense, though that is the first layer's") {
    const auto dense = [](const std::vector<int>& routed) {
        gguf_writer w = file_of("hy_v3", {{"expert_count", 4},
                                          {"expert_used_count", 2},
                                          {"expert_feed_forward_length", 64},
                                          {"expert_shared_feed_forward_length", 64},
                                          {"attention.key_length", 64}});
        for (const int i : routed) w.tensor("blk." + std::to_string(i) + ".ffn_gate_inp.weight", {256, 4});
        w.tensor("mm.ffn_gate_inp.weight", {256, 4});
        return described(w);
    };
    CHECK(dense({0, 1}).layers[0].feed_forward.experts.count == 4);
    CHECK(dense({1}).layers[0].feed_forward.experts.count == 0);
    CHECK(dense({1}).layers[1].feed_forward.experts.count == 4);
}

TEST_CASE("Mamba 2 may have one head, and LFM2's feed-forwards are as wide as the file says") {
    const model mamba = described(file_of("mamba2", {{"attention.head_count", 0},
                                                     {"attention.head_count_kv", 0},
                                                     {"feed_forward_length", 0},
                                                     {"ssm.inner_size", 512},
                                                     {"ssm.state_size", 16},
                                                     {"ssm.conv_kernel", 4},
                                                     {"ssm.group_count", 1},
                                                     {"ssm.time_step_rank", 1}}));
    CHECK(mamba.layers[0].recurrent.heads == 1);
    CHECK(mamba.layers[0].recurrent.head_dim == 512);
    // Two thirds of 768, as the configuration's class makes of it, are 512.
    gguf_writer lfm =
        file_of("lfm2", {{"attention.head_count_kv", 0}, {"shortconv.l_cache", 3}, {"feed_forward_length", 768}});
    lfm.integers("lfm2.attention.head_count_kv", {0, 2});
    const model convolved = described(lfm);
    CHECK(convolved.layers[0].recurrent.kind == recurrent_kind::short_conv);
    CHECK(convolved.layers[1].attention.kv_heads == 2);
    for (const int i : {0, 1}) CHECK(convolved.layers[i].feed_forward.width == 768);
}

TEST_CASE("biases are there where one of their tensors is, and fields of an object in that") {
    for (const char* name : {"blk.1.attn_q.bias", "blk.0.attn_qkv.bias"}) {
        gguf_writer w = file_of("llama");
        w.tensor(name, {256});
        CHECK(described(w).layers[0].attention.qkv_bias);
    }
    gguf_writer weight = file_of("llama");
    weight.tensor("blk.0.attn_q.weight", {256, 256});
    CHECK_FALSE(described(weight).layers[0].attention.qkv_bias);
    const model dbrx = described(file_of("dbrx", {{"expert_count", 8}, {"expert_used_count", 3}}));
    CHECK(dbrx.layers[0].attention.kv_heads == 2);
    CHECK(dbrx.layers[0].feed_forward.experts.count == 8);
    CHECK(dbrx.layers[0].feed_forward.experts.per_token == 3);
    CHECK(dbrx.layers[0].feed_forward.experts.width == 512);
}

TEST_CASE("a pattern of windows has a number for each layer, and one for fewer is refused") {
    const auto with = [](const std::vector<std::int32_t>& pattern) {
        gguf_writer w = file_of("gemma3", {{"attention.sliding_window", 128}, {"attention.key_length", 64}});
        w.integers("gemma3.attention.sliding_window_pattern", pattern);
        return w;
    };
    CHECK(described(with({0, 1})).layers[0].attention.window == token_count{});
    CHECK(described(with({0, 1})).layers[1].attention.window == tokens(128));
    CHECK(described(with({1, 0, 1})).layers[1].attention.window == token_count{});
    CHECK(error_of(with({1})).field == "gemma3.attention.sliding_window_pattern");
}

TEST_CASE("the file says its quantisation by a number, which may be guessed, and else by most values") {
    const auto mix_of = [](std::int64_t number, gguf_type type) {
        gguf_writer w;
        if (number >= 0) w.integer("general.file_type", static_cast<std::uint32_t>(number));
        w.tensor("blk.0.attn_q.weight", {256, 256}, type);
        const auto mix = gguf_mix_of(*read(w));
        REQUIRE(mix);
        return mix->quantisation;
    };
    CHECK(mix_of(0, gguf_type::F16) == gguf_quantisation::F32);
    CHECK(mix_of(1, gguf_type::Q4_K) == gguf_quantisation::F16);
    CHECK(mix_of(1024, gguf_type::Q4_K) == gguf_quantisation::F32);
    CHECK(mix_of(1024 + 15, gguf_type::F16) == gguf_quantisation::Q4_K_M);
    CHECK(mix_of(-1, gguf_type::Q6_K) == gguf_quantisation::Q6_K);
}

TEST_CASE("routers in 16 bits and whole expansions of latent attention are of older files") {
    const auto mix_of = [](gguf_type router, const char* expansion) {
        gguf_writer w;
        w.integer("general.file_type", 15);
        w.tensor("mm.0.weight", {256, 4}, gguf_type::F16);
        w.tensor("blk.0.ffn_gate_inp.weight", {256, 4}, router);
        w.tensor("blk.0.attn_q.weight", {256, 4}, gguf_type::F16);
        w.tensor(expansion, {256, 4});
        return *gguf_mix_of(*read(w));
    };
    CHECK(mix_of(gguf_type::F16, "blk.0.attn_k_b.weight").router_in_16_bits);
    CHECK_FALSE(mix_of(gguf_type::F32, "blk.0.attn_k_b.weight").router_in_16_bits);
    CHECK(mix_of(gguf_type::F32, "blk.0.attn_kv_b.weight").latent_expansion_whole);
    for (const char* other : {"blk.0.attn_k_b.weight", "mm.attn_kv_b.weight"})
        CHECK_FALSE(mix_of(gguf_type::F32, other).latent_expansion_whole);
}

TEST_CASE("types are those of matrices of the layers, stacked or not, and of the ends") {
    gguf_writer w;
    w.tensor("token_embd.weight", {256, 4}, gguf_type::Q6_K);
    w.tensor("output.weight", {256, 4}, gguf_type::Q5_K);
    for (int i = 0; i < 20; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        w.tensor(layer + "ffn_up_exps.weight", {256, 4, 2}, gguf_type::Q4_K);
        w.tensor(layer + "ffn_up_shexp.weight", {256, 4}, gguf_type::Q8_0);
        w.tensor(layer + "ffn_gate_inp.weight", {256, 2}, gguf_type::F16);
        w.tensor(layer + "attn_sinks.weight", {4});
    }
    w.tensor("blk.256.attn_q.weight", {256, 256}, gguf_type::F16);  // beyond the last layer that a model may have
    const auto file = read(w);
    REQUIRE(file);
    const gguf_stored_types stored = gguf_stored_types_of(*file);
    CHECK(*stored.embedding == gguf_type::Q6_K);
    CHECK(*stored.output == gguf_type::Q5_K);
    CHECK(stored.count == 1);
    for (const int i : {0, 19}) {
        CHECK(*stored.type_of(i, weight_role::up_proj, true) == gguf_type::Q4_K);
        CHECK(*stored.type_of(i, weight_role::up_proj, false) == gguf_type::Q8_0);
        CHECK_FALSE(stored.type_of(i, weight_role::router, false));
    }
    CHECK(gguf_main_format(*file) == q4_k);
}

TEST_CASE("the main format is that of matrices, whose roles need not be known; a file without any has 16 bits") {
    gguf_writer vectors;
    vectors.tensor("token_embd.weight", {256, 4}, gguf_type::Q6_K);
    vectors.tensor("blk.0.attn_sinks.weight", {4});
    vectors.tensor("blk.0.ffn_gate_inp.weight", {256, 4});
    CHECK(gguf_main_format(*read(vectors)) == bf16);
    CHECK_FALSE(gguf_mix_of(*read(vectors)));
    gguf_writer rwkv;  // no name of its matrices is one of attention's
    rwkv.tensor("blk.0.time_mix_key.weight", {256, 256}, gguf_type::Q4_K);
    rwkv.tensor("blk.0.ffn_down.weight", {256, 16}, gguf_type::Q6_K);
    CHECK(gguf_main_format(*read(rwkv)) == q4_k);
    CHECK(gguf_mix_of(*read(rwkv))->quantisation == gguf_quantisation::Q4_K_M);
}

TEST_CASE("the nearest pattern is the one that agrees with most matrices, wherever it stands") {
    gguf_stored_types stored;
    stored.count = 3;
    const auto set = [](gguf_stored_types::pattern& p, std::array<int, 3> types) {
        constexpr std::array roles{weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};
        for (std::size_t i = 0; i < 3; ++i)
            p[gguf_stored_types::place(roles[i], false)] = static_cast<std::uint8_t>(types[i]);
    };
    set(stored.patterns[0], {1, 2, 3});
    set(stored.patterns[1], {1, 5, 6});
    set(stored.patterns[2], {7, 8, 9});
    const auto nearest = [&](std::array<int, 3> types) {
        gguf_stored_types::pattern wanted{};
        set(wanted, types);
        return llmres::detail::gguf::nearest_pattern(stored, wanted);
    };
    CHECK(nearest({1, 2, 4}) == 0);
    CHECK(nearest({1, 5, 4}) == 1);
    CHECK(nearest({1, 8, 9}) == 2);
}
