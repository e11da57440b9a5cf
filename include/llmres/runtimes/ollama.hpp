// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/llama_cpp.hpp>

/// Ollama runs llama.cpp's graph with cells for OLLAMA_NUM_PARALLEL sequences of its context (one by default): 4096
/// tokens, or since 0.15.5 by the memory there is: 4k below 23 GiB, 32k below 47, 256k above (server/routes.go). Since
/// 0.30 it starts upstream's llama-server, with flash attention wherever the device has it and steps of num_batch = 512
/// tokens (llm/llama_server.go); before, an engine of its own with that graph, and flash attention where asked for.
namespace llmres::inline v0::runtimes {

namespace detail {

inline constexpr auto ollama_knobs =
    with_knobs(llama_cpp_knobs, knob{"num_batch", knob_setting::batched_tokens},
               knob{"num_gpu", knob_setting::gpu_layers}, knob{"num_parallel", knob_setting::sequences});

constexpr runtime ollama_with(runtime r) {
    r.identity.name = "ollama";
    r.identity.knobs = ollama_knobs;
    r.identity.launcher = nullptr;  // its server is started once, and loads what it is asked for
    // It spreads over GPUs only what one does not hold, and asks for a margin of its own (OLLAMA_GPU_OVERHEAD apart).
    r.process.workspace = {mib(0), mib(128), mib(512)};
    r.step.max_num_seqs = 0;  // it names `--parallel`
    // It starts its server with num_ctx x OLLAMA_NUM_PARALLEL tokens of context (its FAQ; server/sched.go), which
    // llama-server divides: gpt-oss-120b with two slots has 9,306 MiB of caches, windows with cells for a step in each
    // (ollama#16416).
    r.cache.slots = slot_cells::apart;
    r.step.context = tokens(4096);
    r.step.larger_devices =
        device_classes({.from = gib(23), .context = tokens(32768)}, {.from = gib(47), .context = tokens(262144)});
    r.loading.fits_memory = false;  // its own choice of layers is not modelled
    r.layouts.untried = {};
    r.devices.huawei = r.devices.hygon = device_support::absent;
    r.devices.least = {5, 0};
    r.devices.source = "docs/gpu.md: CUDA from compute capability 5.0 on, ROCm, Metal, Vulkan";
    r.layouts.source = "llm/server.go: layers are assigned to GPUs, and no split mode is passed on";
    // Towers are among the tensors of a file: before 0.30 they are loaded with the head (ml/backend/ggml/ggml.go, New:
    // names that begin with "v." or "mm.").
    r.loading.own_library = true;
    return r;
}

/// Its own engine has one run of cells for all (kvcache/causal.go: maxSequences * capacity).
constexpr runtime ollama_of_its_own() {
    runtime r = ollama_with(llama_cpp_2025);
    r.cache.slots = slot_cells::of_slots;
    return r;
}

}  // namespace detail

/// LLAMA_CPP_VERSION: 0.30.0 has b9452, 0.30.1 b9479, 0.30.4 b9493.
inline constexpr runtime ollama = for_versions(detail::ollama_with(llama_cpp), "0.30.4 and later", {0, 30, 4});
inline constexpr runtime ollama_0_30 =
    for_versions(detail::ollama_with(llama_cpp_9479), "0.30.0 to 0.30.3", {0, 30, 0}, {0, 30, 4});
inline constexpr runtime ollama_0_29 = for_versions(detail::ollama_of_its_own(), "0.9 to 0.29", {0, 9, 0}, {0, 30, 0});
inline constexpr std::array all_ollama{&ollama, &ollama_0_30, &ollama_0_29};

}  // namespace llmres::inline v0::runtimes
