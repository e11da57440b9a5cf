// SPDX-License-Identifier: MIT
#pragma once

#include "fuzz/gguf_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/qwen.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

/// A small Llama as the files that describe or hold it.
namespace model_files {

/// A config.json that is read, to spoil.
inline nlohmann::json llama_config() {
    return {{"model_type", "llama"},       {"hidden_size", 256},
            {"num_hidden_layers", 4},      {"num_attention_heads", 8},
            {"num_key_value_heads", 2},    {"intermediate_size", 512},
            {"vocab_size", 1000},          {"max_position_embeddings", 2048},
            {"tie_word_embeddings", false}};
}

/// A safetensors file: the header's length (or another), the header, and as many zeros.
inline std::string safetensors(const std::string& header, std::size_t data_bytes, std::uint64_t length = 0) {
    std::string file;
    gguf_writer::put(file, length > 0 ? length : std::uint64_t{header.size()});
    return file + header + std::string(data_bytes, '\0');
}

/// Tensors one behind another.
inline llmres::safetensors_checkpoint checkpoint_of(
    std::initializer_list<std::pair<const char*, std::uint64_t>> sizes) {
    llmres::safetensors_checkpoint made;
    std::uint64_t at = 0;
    for (const auto& [name, size] : sizes) {
        made.tensors.push_back({.name = name, .begin = at, .end = at + size});
        at += size;
    }
    return made;
}

/// Every tensor of llama_config() in 16 bit, by the names of transformers; `change` may spoil the list.
inline std::string llama_safetensors(const std::function<void(nlohmann::json&)>& change = {}) {
    nlohmann::json tensors = nlohmann::json::object();
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
        tensors[name] = {{"dtype", "BF16"}, {"shape", shape}};
    };
    add("model.embed_tokens.weight", {1000, 256});
    for (int i = 0; i < 4; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        add(layer + "self_attn.q_proj.weight", {256, 256});
        add(layer + "self_attn.k_proj.weight", {64, 256});
        add(layer + "self_attn.v_proj.weight", {64, 256});
        add(layer + "self_attn.o_proj.weight", {256, 256});
        add(layer + "mlp.gate_proj.weight", {512, 256});
        add(layer + "mlp.up_proj.weight", {512, 256});
        add(layer + "mlp.down_proj.weight", {256, 512});
        add(layer + "input_layernorm.weight", {256});
        add(layer + "post_attention_layernorm.weight", {256});
    }
    add("model.norm.weight", {256});
    add("lm_head.weight", {1000, 256});
    if (change) change(tensors);
    std::size_t at = 0;
    for (auto& [name, tensor] : tensors.items()) {
        std::size_t size = tensor["dtype"] == "F32" ? 4 : 2;
        for (const nlohmann::json& side : tensor["shape"]) size *= side.get<std::size_t>();
        tensor["data_offsets"] = {at, at + size};
        at += size;
    }
    return safetensors(tensors.dump(), at);
}

/// The same model as a GGUF file.
inline gguf_writer llama_gguf(const llmres::gguf_mix& mix) {
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.integer("general.file_type", 15);
    for (const auto& [key, value] : {std::pair{"embedding_length", 256u},
                                     {"block_count", 4u},
                                     {"feed_forward_length", 512u},
                                     {"context_length", 2048u},
                                     {"attention.head_count", 8u},
                                     {"attention.head_count_kv", 2u}})
        w.integer(std::string{"llama."} + key, value);
    w.tensors_of(*llmres::read_hf_config(llama_config().dump()), mix);
    return w;
}

/// The header of Qwen3-8B's GGUF file in a mix, which says the file type that is given.
inline std::string qwen3_8b_gguf_header(const llmres::gguf_mix& mix, std::uint32_t file_type) {
    gguf_writer w;
    w.text("general.architecture", "qwen3");
    w.integer("general.file_type", file_type);
    for (const auto& [key, value] : {std::pair{"embedding_length", 4096u},
                                     {"block_count", 36u},
                                     {"feed_forward_length", 12288u},
                                     {"context_length", 40960u},
                                     {"attention.head_count", 32u},
                                     {"attention.head_count_kv", 8u},
                                     {"attention.key_length", 128u}})
        w.integer(std::string{"qwen3."} + key, value);
    w.tensors_of(llmres::models::qwen3_8b, mix);
    w.with_data = false;
    return w.bytes();
}

/// Writes a header, and behind it 10 GiB that take no room on the disk.
inline void write_with_room(const std::string& path, const std::string& header) {
    std::ofstream{path, std::ios::binary} << header;
    std::filesystem::resize_file(path, header.size() + (std::uintmax_t{10} << 30));
}

}  // namespace model_files
