// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// TensorRT-LLM: engine, execution context and buffers come first, and the cache takes a fraction of what is still
/// free.
namespace llmres::inline v0::runtimes {

namespace detail {

inline constexpr std::array tensorrt_llm_knobs{
    knob{"max_num_tokens", knob_setting::batched_tokens},
    knob{"max_batch_size", knob_setting::sequences},
    knob{"tokens_per_block", knob_setting::cache_block},
    knob{"max_tokens", knob_setting::cache_tokens},  // KvCacheConfig
    knob{"max_tokens_in_paged_kv_cache", knob_setting::cache_tokens},
};

/// Names are those of commands/serve.py.
inline constexpr std::array tensorrt_llm_words{
    launch_word{"--tp_size", launch_figure::tensor_ranks, launch_form::degree},
    launch_word{"--pp_size", launch_figure::pipeline_stages, launch_form::degree},
    launch_word{"--ep_size", launch_figure::expert_ranks, launch_form::degree},
    launch_word{"--max_batch_size", launch_figure::sequences_set, launch_form::some},
    launch_word{"--max_seq_len", launch_figure::context},
    launch_word{"--kv_cache_free_gpu_memory_fraction", launch_figure::cache_fraction, launch_form::part},
    launch_word{"--max_num_tokens", launch_figure::batched_tokens, launch_form::some},
};
inline constexpr launcher tensorrt_llm_launcher{"tensorrt-llm", "trtllm-serve MODEL", tensorrt_llm_words};

inline constexpr runtime tensorrt_llm_base{
    .identity{.name = "tensorrt-llm",
              .work = runtime_work::serving,
              .versions = "up to 0.21",
              .before = {1, 0, 0},
              .knobs = tensorrt_llm_knobs,
              .launcher = &tensorrt_llm_launcher},
    .launches{
        // Kernels of one CUDA graph start while those before them end (programmatic dependent launch). In-sample: held
        // against measured times in docs/accuracy.md; what a request takes is assumed.
        .step = {microseconds(70), microseconds(100), microseconds(250)},
        .request = {milliseconds(5), milliseconds(25), milliseconds(140)},
        .floors = 0.5,
        .joined = true,
        .own_all_reduce = true,
        .stages = stage_overlap::sequences,  // pyexecutor/py_executor.py: num_micro_batches
        .experts = routed_code::blackwell,
    },
    .process{
        // Total less available before the cache, less engine, context and buffers: 0.7 GiB on an H100 (its memory
        // document).
        .context = {mib(400), mib(700), mib(1100)},
        // Runtime and decoder buffers: 43 + 180 MB there; up to 1 GiB more under Optimum.
        .workspace = {mib(40), mib(220), mib(1200)},
        .communicator = {mib(300), mib(600), mib(1500)},  // assumed: NCCL and its own all-reduce buffers
    },
    .allocator{.code = allocator_code::stream_ordered, .fragmentation = {0.0, 0.0, 0.02}},  // assumed
    .accuracy{.activations = {0.6, 1.0, 1.5}},  // assumed: the compiler lays its buffers out itself
    .loading{
        .formats = {format_family::eight_bit_float, format_family::eight_bit, format_family::microscaling,
                    format_family::gptq_words, format_family::awq_words},
        // llmapi/llm_args.py: KvCacheConfig.dtype; int8 of the first engines (examples/quantization)
        .caches{.formats = {format_family::eight_bit_float, format_family::eight_bit, format_family::microscaling}},
        .calibrated = cache_calibrator::modelopt},  // llmapi/llm_args.py: KvCacheConfig.dtype is "auto"
    .cache{
        .pool = cache_pool::share_of_free,
        .fraction = 0.9,
        .fraction_name = "free_gpu_memory_fraction",
        .block = tokens(32),
        .shares_prefixes = true,  // llmapi/llm_args.py: KvCacheConfig.enable_block_reuse
    },
    .step{
        .max_batched_tokens = tokens(8192),  // max_num_tokens: the execution context is laid out for it
        .max_num_seqs = 2048,                // max_batch_size
        .profiles = true,
        // 16-bit scores, and their fp32 copy in the bounds (assumed).
        .logits{.rows = scored_tokens::profiled, .bytes = {2.0, 4.0, 8.0}},
    },
    .serving_kernels{.flash_attention = true, .more_hidden = 1},
    // layers/attention.py and linear.py assert divisors; the vocabulary is padded to the ranks (pad_vocab_size)
    .layouts{.split{.refuses_uneven = true},
             .untried{.context_parallel = true},  // of some models and attention back ends
             .source = "mapping.py: tp_size, pp_size, cp_size, moe_ep_size"},
    // Its support matrix: fp8 on Ada and Hopper, NVFP4 on Blackwell. Earlier releases listed Volta.
    .devices =
        [] {
            runtime_devices d = cuda_alone;
            d.least = {7, 0};
            d.fp8 = d.fp8_cache = {8, 9};
            d.nvfp4 = d.nvfp4_cache = {10, 0};
            d.source = "docs/source/reference/support-matrix.md: hardware and precision by architecture";
            return d;
        }(),
};
/// From 1.0 on models run in PyTorch: 0.3 to 4.5 GiB more were held beside the cache in two logs. The cache is still a
/// fraction of what a profiling run leaves, and at most max_tokens (_torch/pyexecutor/_util.py: KvCacheCreator).
constexpr runtime tensorrt_llm_on_pytorch() {
    runtime r = tensorrt_llm_base;
    // Only its own kernels start before those before them have ended; PyTorch's and cuBLAS's wait.
    r.launches.floors = 0.7;
    r.process.workspace.high = mib(4608);
    r.devices.least = {8, 0};  // supported-hardware: Ampere to Blackwell
    return r;
}

}  // namespace detail

inline constexpr runtime tensorrt_llm = for_versions(detail::tensorrt_llm_on_pytorch(), "1.0 and later", {1, 0, 0});
inline constexpr runtime tensorrt_llm_0 = detail::tensorrt_llm_base;
inline constexpr std::array all_tensorrt_llm{&tensorrt_llm, &tensorrt_llm_0};

}  // namespace llmres::inline v0::runtimes
