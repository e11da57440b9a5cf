// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// ExLlama: the cache is allotted for max_seq_len at load, and prompts pass in chunks of max_input_len. Buffers for the
/// states of such a chunk and for one dequantised matrix are there from load on, however short the context is
/// (exllamav2's scratch_space_fixed: mlp.py, attn.py, linear.py). Bounds of activations are In-sample: 17 published
/// rows.
namespace llmres::inline v0::runtimes {

namespace detail {

inline constexpr std::array exllama_knobs{
    knob{"max_input_len", knob_setting::batched_tokens},
};

inline constexpr std::array exllamav3_knobs{
    knob{"max_chunk_size", knob_setting::batched_tokens},
    knob{"cache_size", knob_setting::cache_tokens},  // examples/model_init.py
};

inline constexpr runtime exllama_base{
    .identity{.name = "exllama",
              .work = runtime_work::serving,
              .versions = "v2 and v3",
              .since = {2, 0, 0},
              .knobs = exllama_knobs},
    .process{
        .context = {mib(300), mib(480), mib(900)}, .workspace = {mib(8), mib(32), mib(200)},  // cuBLAS
    },
    .allocator{.fragmentation = {0.0, 0.01, 0.05}},
    .accuracy{.activations = {0.8, 1.0, 1.3}},
    .loading{
        .formats = {format_family::gptq_words, format_family::exllama2, format_family::exllama3},
        // cache.py: 16 bits, and groups of 32 values in 4, 6 and 8 bits with a scale of 16, as large as GGUF's types
        .caches{.formats = {format_family::gguf, format_family::gguf_ik}},
        .embedding_on_host = true},
    .cache{.pool = cache_pool::allotted, .block = tokens(256), .windows = window_cells::whole},
    .step{
        .max_batched_tokens = tokens(2048),  // max_input_len
        .profiles = true,
        .logits{.bytes = {4.0, 6.0, 8.0}},
    },
    .serving_kernels{.flash_attention = true, .dequantised_from = 0},
    .layouts{.tensor = false,
             .expert = false,
             .untried{.tensor = true},
             .source = "model.py: gpu_split gives whole layers; load_tp() since 0.1.9"},
    .devices =
        [] {
            runtime_devices d = cuda_alone;
            d.amd = device_support::unmeasured;
            d.source = "README.md, setup.py: CUDA, and ROCm by hipify";
            return d;
        }(),
};

constexpr runtime exllama_second() {
    runtime r = exllama_base;
    r.identity.name = "exllamav2";
    return r;
}
/// Until commit 51e9663 (May 2024) the buffers had room for the fp32 scores of a whole chunk.
constexpr runtime exllama_all_scores() {
    runtime r = exllama_second();
    r.step.logits.rows = scored_tokens::chunk;
    r.step.logits.bytes = {4.0, 4.0, 6.0};
    r.layouts.untried = {};
    r.layouts.source = "model.py: gpu_split gives whole layers";
    return r;
}

/// The third has its cache in pages of 256 tokens, and unpacks one matrix to 16 bit where more than 144 rows pass
/// (exllamav3: constants.py, modules/quant/exl3.py). No table of measurements was found.
constexpr runtime exllama_third() {
    runtime r = exllama_base;
    r.identity.name = "exllamav3";
    r.identity.knobs = exllamav3_knobs;
    r.loading.formats = {format_family::exllama3};
    r.serving_kernels.dequantised_from = 145;
    r.accuracy.activations = {0.6, 1.0, 1.5};
    r.layouts.untried.expert = true;
    r.devices = cuda_alone;
    r.devices.source = "README.md: CUDA; ROCm is on the to-do list";
    r.layouts.source = "README.md: tensor and expert parallelism since 0.0.6, beside layers on several GPUs";
    return r;
}

/// The first one kept scores for max_attention_size = 2048 x 2048 pairs a head in 16 bit, and the token table on the
/// GPU.
constexpr runtime exllama_first() {
    runtime r = exllama_base;
    r.loading.caches.formats = {};
    r.cache.block = {};
    r.step.profiles = false;
    r.serving_kernels.flash_attention = false;
    r.serving_kernels.score_bytes = 2;
    r.accuracy.activations = {0.7, 1.0,
                              1.3};  // prompts that leave room for 128 tokens more have an eighth fewer scores
    r.loading.embedding_on_host = false;
    r.layouts.untried = {};
    r.layouts.source = "model.py: auto_map gives whole layers";
    return r;
}

}  // namespace detail

inline constexpr runtime exllama = detail::exllama_base;
inline constexpr runtime exllama_v1 = for_versions(detail::exllama_first(), "v1 (2023)", {}, {2, 0, 0});
/// The same by the numbers of the exllamav2 package.
inline constexpr runtime exllamav2 = for_versions(detail::exllama_second(), "0.0.22 and later", {0, 0, 22});
inline constexpr runtime exllamav2_2023 = for_versions(detail::exllama_all_scores(), "0.0.6 to 0.0.21", {}, {0, 0, 22});
inline constexpr runtime exllamav3 = for_versions(detail::exllama_third(), "0.0.1 and later", {0, 0, 1});
inline constexpr std::array all_exllama{&exllama, &exllama_v1, &exllamav2, &exllamav2_2023, &exllamav3};

}  // namespace llmres::inline v0::runtimes
