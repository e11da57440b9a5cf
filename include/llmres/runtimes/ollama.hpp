// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/llama_cpp.hpp>

/// Ollama runs llama.cpp's graph with cells for OLLAMA_NUM_PARALLEL sequences of its context: 4096 tokens by default,
/// or by the memory there is: 4k below 24 GiB, 32k below 48, 256k above (since 0.15).
namespace llmres::runtimes {

constexpr runtime ollama_as() {
    runtime r = llama_cpp_2025;
    r.name = "ollama";
    r.versions = "0.9 to 0.15";
    r.since = {0, 9, 0};
    r.before = {};
    // It spreads over GPUs only what one does not hold, and asks for a margin of its own (OLLAMA_GPU_OVERHEAD apart).
    r.workspace = {mib(0), mib(128), mib(512)};
    return r;
}
inline constexpr runtime ollama = ollama_as();

}  // namespace llmres::runtimes
