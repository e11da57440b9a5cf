// SPDX-License-Identifier: MIT
#include "uses_llmres.hpp"

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace llmres;

result<bool> model_of_config_fits(const char* config_json) {
    std::ifstream file{config_json};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const result<model> read = read_hf_config(text);
    if (!read) return read.error();
    return fits({.model = *read, .runtime = runtimes::vllm}, {}, {.gpu = gpus::h100_sxm5_80gb});
}

const version_number* version_seen_elsewhere() { return &version; }
