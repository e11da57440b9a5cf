// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../../fuzz/gguf_writer.hpp"

using namespace llmres;

namespace {

/// A file with the metadata and tensors that llama.cpp's converter wrote.
gguf_writer written(const nlohmann::json& converted) {
    gguf_writer w;
    for (const auto& [key, value] : converted["keys"].items()) {
        if (value.is_string()) {
            w.text(key, value.get<std::string>());
        } else if (value.is_boolean()) {
            w.flag(key, value.get<bool>() ? 1 : 0);
        } else if (value.is_number_integer()) {
            w.integer(key, value.get<std::uint32_t>());
        } else if (value.is_array() && !value.empty() && (value[0].is_number_integer() || value[0].is_boolean())) {
            std::vector<std::int32_t> numbers;
            for (const auto& one : value)
                numbers.push_back(one.is_boolean() ? one.get<bool>() : one.get<std::int32_t>());
            w.integers(key, numbers);
        }
    }
    for (const auto& tensor : converted["tensors"])
        w.tensor(tensor[0].get<std::string>(), tensor[1].get<std::vector<std::uint64_t>>(),
                 static_cast<gguf_type>(tensor[2].get<int>()));
    return w;
}

result<gguf_file> read(const gguf_writer& w) {
    const std::string file = w.bytes();
    return read_gguf(std::as_bytes(std::span{file}));
}

/// Architectures whose layers are unequal, by numbers for each of them or by which tensors they have: their files are
/// asked about by themselves.
const std::set<std::string> unequal{"gemma3n", "gemma4", "hy_v3", "lfm2", "minicpm3", "nemotron_h"};

/// The bytes of the file without the layers that predict further tokens.
byte_count loaded_bytes(const gguf_file& file, const model& m) {
    byte_count total;
    for (const gguf_tensor_info& tensor : file.tensors)
        if (gguf_layer(tensor.name) < m.layers.size) total += aligned_up(tensor.size, bytes(32));
    return total;
}

/// Which of the architectures were described, and which planned by their tensors.
struct described_architectures {
    std::set<std::string> described{};
    std::set<std::string> by_tensors{};
};

/// Compares the files of architectures that are unequal, or of all others, with what their config.json describes.
described_architectures compare(bool of_unequal) {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/validation/data/gguf_headers.jsonl"};
    described_architectures seen;
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json converted = nlohmann::json::parse(line);
        const std::string architecture = converted["keys"]["general.architecture"];
        if ((unequal.count(architecture) > 0) != of_unequal) continue;
        CAPTURE(converted["config"].dump());
        const auto header = read(written(converted));
        REQUIRE(header);
        const auto config = detail::hf::read_config(converted["config"]);
        REQUIRE(config);
        const auto source = model_source_of(*header);
        REQUIRE(source);
        model wanted = *config, found = source->model;
        // llama.cpp does not run the layers that predict further tokens. The converter always ties Gemma's head; the
        // architecture `llama` has no window (Mistral).
        wanted.prediction = found.prediction = {};
        wanted.rope = found.rope = {};
        if (architecture.starts_with("gemma")) wanted.tied_head = true;
        if (architecture == "llama")
            for (layer& l : wanted.layers.kinds) l.attention.window = {};
        (found.from_tensors ? seen.by_tensors : seen.described).insert(architecture);
        if (found.from_tensors) continue;  // shapes that no key of the converter gives
        for (const std::int32_t length : {1, 100, 10000})
            CHECK(kv_cache_bytes(found, fp16, tokens(length)) == kv_cache_bytes(wanted, fp16, tokens(length)));
        CHECK(recurrent_state_bytes(found) == recurrent_state_bytes(wanted));
        CHECK(found.tied_head == wanted.tied_head);
        CHECK(count_parameters(found) == count_parameters(wanted));
        const std::int64_t stored = loaded_bytes(*header, found).in(bytes);
        const std::int64_t apart = gguf_tensor_bytes(found, *source->gguf).in(bytes)-stored;
        CHECK((apart < 0 ? -apart : apart) * 1000 <= stored);
    }
    std::string rest;
    for (const std::string& name : seen.by_tensors)
        if (seen.described.count(name) == 0) rest += name + " ";
    CHECK(rest.empty());
    return seen;
}

}  // namespace

TEST_CASE("files that llama.cpp's converters make of small models with unequal layers are as their config.json") {
    CHECK(compare(true).described == unequal);
}

TEST_CASE("files that llama.cpp's converters make of other small models are described as their config.json is") {
    const std::set<std::string> described = compare(false).described;
    for (const char* name : {"chatglm", "glm4", "glm4moe", "gpt-oss", "granite", "granitehybrid", "granitemoe",
                             "llama4", "minimax-m2", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next"}) {
        CAPTURE(name);
        CHECK(described.count(name) == 1);
    }
    MESSAGE("architectures that are described as their config.json: " << described.size());
}
