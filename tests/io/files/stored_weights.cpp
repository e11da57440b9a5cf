// SPDX-License-Identifier: MIT
// Descriptions that are weighed against the tensors of a file, and where the two depart.
#include <llmres/io/files/stored_weights.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/gguf.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/weight_formats.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../../model_files.hpp"

using namespace llmres;

namespace {

const gguf_mix q4_k_m = *find_gguf_mix("mix", "Q4_K_M");
const model llama = *read_hf_config(model_files::llama_config().dump());

result<gguf_file> read(const gguf_writer& w) {
    const std::string file = w.bytes();
    return read_gguf(std::as_bytes(std::span{file}));
}

model_source source_of(const gguf_file& file) {
    const auto found = model_source_of(file);
    REQUIRE(found);
    return *found;
}

/// The keys of llama_gguf(), but for one, and a table of tokens.
gguf_writer keys_of_llama(std::string_view without = "", std::uint32_t file_type = 15) {
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.integer("general.file_type", file_type);
    for (const auto& [key, value] : {std::pair{"embedding_length", 256u},
                                     {"block_count", 4u},
                                     {"feed_forward_length", 512u},
                                     {"attention.head_count", 8u},
                                     {"attention.head_count_kv", 2u}})
        if (key != without) w.integer(std::string{"llama."} + key, value);
    w.tensor("token_embd.weight", {256, 1000}, gguf_type::Q4_K);
    return w;
}

}  // namespace

TEST_CASE("a description is of a file that stores as much, or a little more in some layers") {
    const auto source_with = [](std::string_view name, std::int64_t parts) {
        // A vector of `parts` thousandths of a layer.
        gguf_writer w = model_files::llama_gguf(q4_k_m);
        const std::int64_t layer = gguf_layer_bytes(llama, q4_k_m, 0).in(bytes);
        if (parts > 0) w.tensor(name, {static_cast<std::uint64_t>(layer * parts / 1000 / 32 * 8)});
        const auto file = read(w);
        const model_source source = source_of(*file);
        if (parts > 0 && name.starts_with("blk."))
            CHECK((source.model.from_tensors || source.model.layers[0].more_values > 0));
        CHECK(gguf_tensor_bytes(source.model, *source.gguf) == file->tensor_bytes());
        return source.model;
    };
    CHECK_FALSE(source_with("", 0).from_tensors);
    CHECK(source_with("", 0).layers.kind_count == 1);
    const model heavier = source_with("blk.0.wormhole.weight", 45);
    CHECK_FALSE(heavier.from_tensors);
    CHECK(heavier.layers.kind_count == 2);
    CHECK(heavier.layers[1].more_values == 0);
    CHECK(source_with("blk.0.wormhole.weight", 75).from_tensors);  // more than a twentieth
    CHECK(source_with("wormhole.weight", 75).from_tensors);
}

TEST_CASE("outside the layers a description stores what the file does, to the padding of each tensor") {
    // One layer of 32 features, whose table of tokens is as large as its padding matters.
    constexpr layer narrow{.attention = {.heads = 1, .kv_heads = 1, .head_dim = 32}, .feed_forward = {.width = 32}};
    const model tiny{.architecture = "llama", .vocabulary = 4, .hidden = 32, .layers = {1, narrow}};
    const gguf_mix mix = *find_gguf_mix("mix", "F32");
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.integer("general.file_type", 0);
    for (const auto& [key, value] : {std::pair{"embedding_length", 32u},
                                     {"block_count", 1u},
                                     {"feed_forward_length", 32u},
                                     {"attention.head_count", 1u},
                                     {"attention.head_count_kv", 1u}})
        w.integer(std::string{"llama."} + key, value);
    w.tensors_of(tiny, mix);
    CHECK_FALSE(source_of(*read(w)).model.from_tensors);
    w.tensor("blk.1.attn_q.weight", {32, 32});  // of a layer that the file does not count
    CHECK_FALSE(source_of(*read(w)).model.from_tensors);
    CHECK(source_of(*read(w)).model.layers.size == 1);
}

TEST_CASE("a file's own types are planned, whatever it is called; one that lacks a matrix is of no such model") {
    const auto eight_bits = [](std::string_view without) {
        gguf_writer w = keys_of_llama();
        for (int i = 0; i < 4; ++i) {
            const std::string layer = "blk." + std::to_string(i) + ".";
            for (const auto& [name, rows, columns] : {std::tuple{"attn_q", 256u, 256u},
                                                      {"attn_k", 64u, 256u},
                                                      {"attn_v", 64u, 256u},
                                                      {"attn_output", 256u, 256u},
                                                      {"ffn_gate", 512u, 256u},
                                                      {"ffn_up", 512u, 256u},
                                                      {"ffn_down", 256u, 512u}})
                if (layer + name != without) w.tensor(layer + name + ".weight", {columns, rows}, gguf_type::Q8_0);
            for (const char* name : {"attn_norm", "ffn_norm"}) w.tensor(layer + name + ".weight", {256});
        }
        w.tensor("output_norm.weight", {256});
        return w;
    };
    const auto file = read(eight_bits(""));
    const model_source source = source_of(*file);
    CHECK_FALSE(source.model.from_tensors);
    CHECK(source.model.weights == q8_0);
    CHECK(source.model.tied_head);
    CHECK(gguf_tensor_bytes(source.model, *source.gguf) == file->tensor_bytes());
    for (const char* lacking : {"blk.3.attn_v", "blk.0.ffn_gate"})
        CHECK(source_of(*read(eight_bits(lacking))).model.from_tensors);
}

TEST_CASE("layers of more types than patterns are described within a fiftieth") {
    // Types of 4.5 and 5.5 bits: keys and values of another type are 1 % of a layer.
    const std::array types{gguf_type::Q5_K, gguf_type::Q5_0, gguf_type::IQ4_NL, gguf_type::Q4_K, gguf_type::Q4_0};
    gguf_writer w = keys_of_llama("block_count");
    w.integer("llama.block_count", 20);
    for (std::size_t i = 0; i < 20; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t columns, gguf_type type) {
            w.tensor(layer + name + ".weight", {columns, rows}, type);
        };
        matrix("attn_q", 256, 256, gguf_type::Q4_K);
        matrix("attn_k", 64, 256, types[i % 5]);
        matrix("attn_v", 64, 256, types[i / 5]);
        matrix("attn_output", 256, 256, gguf_type::Q4_K);
        matrix("ffn_gate", 512, 256, gguf_type::Q4_K);
        matrix("ffn_up", 512, 256, gguf_type::Q4_K);
        matrix("ffn_down", 256, 512, gguf_type::Q4_K);
        for (const char* name : {"attn_norm", "ffn_norm"}) w.tensor(layer + name + ".weight", {256});
    }
    w.tensor("output_norm.weight", {256});
    const auto file = read(w);
    const model_source source = source_of(*file);
    CHECK_FALSE(source.model.from_tensors);
    const std::int64_t stored = file->tensor_bytes().in(bytes);
    const std::int64_t planned = gguf_tensor_bytes(source.model, *source.gguf).in(bytes);
    CHECK(planned * 50 >= stored * 49);
    CHECK(planned * 50 <= stored * 51);
}

TEST_CASE("keys that describe no model are refused as such, before tensors are asked") {
    const auto error_of = [](const gguf_writer& w) { return model_source_of(*read(w)).error(); };
    CHECK(error_of(keys_of_llama("block_count")).field == "llama.block_count");
    gguf_writer heads = keys_of_llama("attention.head_count");
    heads.integer("llama.attention.head_count", 3);
    heads.tensor("blk.0.attn_k.weight", {256, 64});
    CHECK(error_of(heads).field == "llama.attention.head_count_kv");
    CHECK(error_of(heads).code == error_code::inconsistent);
    gguf_writer type;
    type.text("general.architecture", "new");
    type.integer("general.file_type", 4);
    type.tensor("token_embd.weight", {256, 16});
    CHECK(error_of(type).field == "general.file_type");
    CHECK(error_of(keys_of_llama("block_count", 4)).field == "llama.block_count");  // the first of two
    const model alone = source_of(*read(keys_of_llama())).model;  // a description, and no tensors of layers
    CHECK(alone.layers.size == 4);
    CHECK_FALSE(alone.from_tensors);
}

TEST_CASE("a GGUF file is held against what its quantisation stores, and against nothing where none is known") {
    gguf_mix other = q4_k_m;
    other.embedding = gguf_type::Q8_0;
    const auto file = read(model_files::llama_gguf(other));
    const model_source source = source_of(*file);
    CHECK(gguf_tensor_bytes(source.model, *source.gguf) == file->tensor_bytes());  // by its own types
    const stored_weights stored = weights_in(*file, source);
    CHECK(stored.files == file->size);
    byte_count unpadded;
    for (const gguf_tensor_info& tensor : file->tensors) unpadded += tensor.size;
    CHECK(stored.tensors == unpadded);
    REQUIRE(stored.differences.size() == 1);
    CHECK(stored.differences[0].what == "embed_tokens");
    CHECK(stored.differences[0].layer == -1);
    CHECK(stored.differences[0].stored == size_of(q8_0, 1000, 256));
    CHECK(weights_in(*file, {.model = source.model}).differences.empty());
    CHECK(stored_difference{}.layer == -1);
}

TEST_CASE("a checkpoint that holds what its model predicts has no differences, in all of its layers together") {
    const std::string content = model_files::llama_safetensors();
    const auto whole = read_safetensors(std::as_bytes(std::span{content}));
    REQUIRE(whole);
    CHECK(compare_safetensors(*whole, llama, formats_of(llama)).empty());
    CHECK(weights_in(*whole, {.model = llama}).differences.empty());
    CHECK(weights_in(*whole, {.model = llama}).tensors == whole->tensor_bytes());
}

TEST_CASE("projections out of recurrences and attention are one sort, and weights beside the model count once") {
    model m = llama;
    layer recurs = llama.layers[0];
    recurs.recurrent = {
        .kind = recurrent_kind::mamba2, .heads = 8, .head_dim = 32, .key_heads = 1, .state = 16, .kernel = 4};
    m.layers = {1, recurs};
    m.add({.role = weight_role::classifier, .part = model_part::apart, .columns = 10});
    bool has_outputs = false;
    for (const stored_difference& d : compare_safetensors({}, m, formats_of(m))) {
        CHECK(d.what != "out_proj");
        CHECK(d.stored == byte_count{});
        if (d.what == "classifier") CHECK(d.predicted == bytes(20));
        if (d.what == "o_proj") {
            has_outputs = true;
            CHECK(d.predicted == bytes(2 * 2 * 256 * 256));  // attention's and the recurrence's
        }
    }
    CHECK(has_outputs);
}
