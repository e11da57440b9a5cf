// SPDX-License-Identifier: MIT
// Writes the binary seeds: make_seeds FOLDER (tests/fuzz/corpus). The JSON seeds are kept as they are.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <llmres/models/gguf/mix.hpp>
#include <string>

#include "../gguf_writer.hpp"

using namespace llmres;

namespace {

void write(const std::filesystem::path& path, const std::string& content) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << content;
}

model tiny(bool routed) {
    layer l{.attention = {.heads = 2, .kv_heads = 1, .head_dim = 8}, .feed_forward = {.width = 32}};
    if (routed) l.feed_forward.experts = {.count = 2, .per_token = 1, .width = 32};
    return {.architecture = "llama", .vocabulary = 8, .hidden = 32, .layers = {1, l}};
}

std::string gguf(const char* architecture, const char* quantisation, bool routed) {
    gguf_writer w;
    const std::string prefix = std::string{architecture} + ".";
    w.text("general.architecture", architecture);
    w.text("general.name", "tiny");
    w.integer("general.file_type", 2);
    w.flag("tokenizer.ggml.add_bos_token", 1);
    w.real(prefix + "rope.freq_base", 10000.0f);
    w.texts("tokenizer.ggml.tokens", {"a", "b"});
    w.integers("tokenizer.ggml.token_type", {1, 1});
    w.integer(prefix + "context_length", 128);
    w.integer(prefix + "embedding_length", 32);
    w.integer(prefix + "block_count", 1);
    w.integer(prefix + "feed_forward_length", 32);
    w.integer(prefix + "attention.head_count", 2);
    w.integers(prefix + "attention.head_count_kv", {1});
    w.integer(prefix + "attention.key_length", 8);
    if (routed) {
        w.integer(prefix + "expert_count", 2);
        w.integer(prefix + "expert_used_count", 1);
        w.integer(prefix + "expert_feed_forward_length", 32);
    }
    w.tensors_of(tiny(routed), *find_gguf_mix("seed", quantisation));
    return w.bytes();
}

std::string safetensors(const std::string& header, std::size_t data) {
    std::string file(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(file.data(), &length, 8);
    return file + header + std::string(data, '\0');
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: make_seeds FOLDER\n";
        return 2;
    }
    const std::filesystem::path to = argv[1];
    write(to / "gguf/llama", gguf("llama", "Q4_0", false));
    write(to / "gguf/mixtral", gguf("llama", "Q8_0", true));
    write(to / "gguf/qwen3moe", gguf("qwen3moe", "Q5_1", true));
    write(to / "gguf/gemma2", gguf("gemma2", "F16", false));
    write(to / "gguf/empty", gguf_writer{}.bytes());
    gguf_writer split;
    split.integer("split.no", 0);
    split.integer("split.count", 2);
    split.integer("general.alignment", 64);
    split.tensor("a", {8});
    write(to / "gguf/split", split.bytes());
    write(to / "safetensors/empty", safetensors("{}", 0));
    write(
        to / "safetensors/plain",
        safetensors(
            R"({"__metadata__":{"format":"pt"},"lm_head.weight":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]}})",
            16));
    write(
        to / "safetensors/quantised",
        safetensors(
            R"({"l.0.q_proj.weight":{"dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16]},"l.0.q_proj.weight_scale_inv":)"
            R"({"dtype":"F32","shape":[],"data_offsets":[16,20]},"l.0.mlp.experts.gate_up_proj_blocks":{"dtype":"U8","shape":[1,2,2],)"
            R"("data_offsets":[20,24]},"x":{"dtype":"F4","shape":[0],"data_offsets":[24,24]}}  )",
            24));
    return 0;
}
