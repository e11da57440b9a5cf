// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <llmres/io/files.hpp>
#include <llmres/models/weight_formats.hpp>
#include <string>
#include <vector>

#include "../../model_files.hpp"
#include "../../scratch.hpp"

/// Checkpoints of a model_type that no table knows, as their tensors and their config.json describe them.
namespace unknown_checkpoints {

using namespace llmres;
using nlohmann::json;

/// A checkpoint's folder, gone with the test.
struct folder : run_program::scratch {
    result<model_source> read() const { return find_model_source(path().string()); }
};

inline json new_config() {
    json config = model_files::llama_config();
    config["model_type"] = "brand_new";
    return config;
}

inline json tensor_of(const std::vector<std::int64_t>& shape) { return {{"dtype", "BF16"}, {"shape", shape}}; }

/// A checkpoint of a new model_type: that of llama_safetensors() with other tensors.
struct checkpoint : folder {
    std::string content;
    explicit checkpoint(const std::function<void(json&)>& change = {}, const json& config = new_config())
        : content{model_files::llama_safetensors(change)} {
        file("config.json", config.dump());
        file("model.safetensors", content);
    }
    byte_count stored() const { return load_safetensors(path())->tensor_bytes(); }
};

inline byte_count planned(const model& m) { return stored_bytes(m, formats_of(m)); }

}  // namespace unknown_checkpoints
