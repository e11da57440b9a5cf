// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/runtimes/runtime.hpp>

/// SGLang: weights and cache together take a fraction of what was free at start; activations and CUDA graphs live in
/// the rest. Where no fraction is named, it is chosen by device and layout (server_args.py), in another way every few
/// releases.
namespace llmres::inline v0::runtimes {

namespace detail {

/// As SGLang rounds it.
constexpr double three_places(double part) {
    return static_cast<double>(static_cast<std::int64_t>(part * 1000.0 + 0.5)) / 1000.0;
}
constexpr double without_mib(byte_count device, double left) {
    const double all = static_cast<double>(times_in(mib(1), device));
    return all > left ? three_places((all - left) / all) : 0.0;
}

/// Up to 0.4.8: by the GPUs alone, 0.3's table but for eight (0.83).
constexpr double sglang_by_ranks(byte_count, token_count, std::int32_t tensor, std::int32_t pipeline) {
    const std::int32_t ranks = tensor * pipeline;
    return ranks >= 16 ? 0.79 : ranks >= 8 ? 0.81 : ranks >= 4 ? 0.85 : ranks >= 2 ? 0.87 : 0.88;
}
/// 0.4.9 to 0.5.2: what devices of a size leave, and some more for each GPU.
constexpr double sglang_by_size(byte_count device, token_count, std::int32_t tensor, std::int32_t pipeline) {
    const double ranks = tensor * pipeline;
    const double gibibytes = device < gib(35)    ? 2.8 + ranks / 10
                             : device < gib(90)  ? 9.5 + ranks / 2
                             : device < gib(160) ? 12.0 + ranks / 2
                                                 : 32.0;
    return without_mib(device, gibibytes * 1024);
}
/// Since 0.5.3: 1.5 MiB for each token of a chunk, 2 for each sequence of the largest graph, 512 beside them and 128 a
/// GPU; at least 10 GiB of devices over 60.
constexpr double sglang_by_step(byte_count device, token_count step, std::int32_t tensor, std::int32_t pipeline) {
    const bool few = tensor < 4;
    const double sequences = device < gib(20)    ? 8
                             : device < gib(35)  ? (few ? 24 : 80)
                             : device < gib(60)  ? (few ? 32 : 160)
                             : device < gib(160) ? (few ? 256 : 512)
                                                 : 512;
    const double chunk = static_cast<double>(step < tokens(2048) ? 2048 : step.in(tokens));
    const double left = 512 + chunk * 1.5 + sequences * 2 + tensor * pipeline * 128;
    return without_mib(device, device > gib(60) && left < 10240 ? 10240 : left);
}

inline constexpr std::array sglang_knobs{
    knob{"chunked_prefill_size", knob_setting::batched_tokens},
    knob{"page_size", knob_setting::cache_block},
    knob{"max_total_tokens", knob_setting::cache_tokens},
    knob{"max_running_requests", knob_setting::sequences},
    knob{"swa_full_tokens_ratio", knob_setting::window_part},
    knob{"disable_cuda_graph", knob_setting::no_cuda_graphs},
};

/// Names are those of server_args.py. With whole experts on ranks the ranks of attention count among its tensor ranks
/// (--enable-dp-attention).
inline constexpr std::array sglang_words{
    launch_word{"--tp-size", launch_figure::tensor_ranks_and_shared, launch_form::degree},
    launch_word{"--pp-size", launch_figure::pipeline_stages, launch_form::degree},
    launch_word{"--dp-size", launch_figure::data_ranks, launch_form::degree},
    launch_word{"--enable-dp-attention", launch_figure::data_shares_experts, launch_form::words},
    launch_word{"--ep-size", launch_figure::expert_ranks, launch_form::degree},
    launch_word{"--context-length", launch_figure::context},
    launch_word{"--max-running-requests", launch_figure::sequences},
};
inline constexpr launcher sglang_launcher{"sglang", "python -m sglang.launch_server --model-path MODEL", sglang_words,
                                          process_starter::itself, "SGLANG_PP_LAYER_PARTITION"};

inline constexpr runtime sglang_base{
    .identity{.name = "sglang", .work = runtime_work::serving, .knobs = sglang_knobs, .launcher = &sglang_launcher},
    .launches{
        // In-sample, of a step and of a request: docs/accuracy.md, "under load, SGLang", holds them against measured
        // times.
        .step = {microseconds(200), microseconds(400), microseconds(1000)},
        .request = {milliseconds(20), milliseconds(60), milliseconds(140)},
        .joined = true,
        .own_all_reduce = true,
        .stages = stage_overlap::both,  // scheduler_pp_mixin.py: event_loop_pp
        .packed = packed_code::marlin,
    },
    .process{
        // As vLLM's, which is PyTorch's: 0.38 and 0.60 GiB on two H100, where up to 0.09 more went while weights
        // loaded.
        .context = {mib(190), mib(460), mib(768)},
        .workspace = {mib(10), mib(400), mib(900)},  // FlashInfer's workspace is 384 MiB (global_config.py)
        // "Init torch distributed ends. mem usage": 0.13 GiB of each of four L4, which have no all-reduce of SGLang's
        // own, and nothing of four RTX 4090; 1.8 to 2.0 of each of eight H200, whose NVLink that and NVLS use.
        .communicator = {mib(0), mib(130), mib(1600)},
        .communicator_once = true,
        .fused_all_reduce = {mib(200), mib(1300), mib(1900)},
        // Assumed: graphs as vLLM prints them.
        .cuda_graphs = {mib(200), mib(900), mib(2500)},
    },
    .allocator{.fragmentation = {0.0, 0.0, 0.01}, .rounds_to_segments = true},  // assumed: about vLLM's
    .accuracy{.activations = {0.9, 1.0, 1.15}},  // assumed: no log prints its activations
    .loading{.formats = all_formats.without({format_family::mlx, format_family::exllama2, format_family::exllama3,
                                             format_family::gguf_ik, format_family::half_quadratic}),
             .rope = rope_tables::shared,
             .projections = projection_tensors::fused},
    .cache{
        .pool = cache_pool::share_with_weights,
        .default_fraction = sglang_by_step,
        .fraction_name = "mem_fraction_static",
        .block = tokens(1),
        // server_args.py: swa_full_tokens_ratio; a log of Gemma 4 has 644,444 tokens for 805,556
        .window_part = 0.8,
        .shares_prefixes = true,  // server_args.py: disable_radix_cache is False
    },
    .step{
        .max_batched_tokens = tokens(2048),  // chunked_prefill_size
        .larger_devices = device_classes({gib(35), tokens(4096)}, {gib(60), tokens(8192)}, {gib(160), tokens(16384)}),
        .logits{.bytes = {6.0, 8.0, 12.0}},  // assumed: 16-bit scores, their fp32 copy, and the sampler's
    },
    .serving_kernels{
        .flash_attention = true,
        .more_hidden = 1,
        .without_bf16 = bf16_code::takes_fp16,  // model_executor/model_runner.py: below compute capability 8.0
    },
    // layers/vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE
    // models/llama.py, layers/linear.py and layers/vocab_parallel_embedding.py assert what vLLM's do
    // quantization/fp8_utils.py, fp8.py, awq.py and gptq.py refuse what vLLM's do
    .layouts{.split{.vocabulary_multiple = 64, .refuses_uneven = true, .refuses_cut_blocks = true},
             .untried{.context_parallel = true},  // attn_cp_size, of DeepSeek's sparse attention
             .source = "server_args.py: tp_size, pp_size, dp_size, ep_size, attn_cp_size"},
    // Hardware platforms of its documentation (AMD, Ascend, TPU, XPU), `--device hpu` and `musa`, and since 2026 MLX.
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.aws = d.cambricon = device_support::absent;
            d.least = {7, 5};
            d.source = "docs/hardware-platforms; docs/start/install.md: FlashInfer needs sm75 and above";
            return d;
        }(),
};

constexpr runtime sglang_sizes() {
    runtime r = sglang_base;
    r.cache.default_fraction = sglang_by_size;
    r.cache.window_part = {};
    r.step.larger_devices = device_classes({gib(35), tokens(8192)}, {gib(160), tokens(16384)});
    r.layouts.untried = {};
    r.layouts.source = "server_args.py: tp_size, pp_size, dp_size and ep_size";
    r.devices.apple = device_support::absent;
    return r;
}
constexpr runtime sglang_ranks() {
    runtime r = sglang_base;
    r.cache.default_fraction = sglang_by_ranks;
    r.cache.window_part = {};
    r.step.larger_devices = device_classes({mib(25'000), tokens(8192)});
    // layers/quantization/gptq.py: GPTQMarlinConfig.get_quant_method gives routed experts vLLM's GPTQMarlinMoEMethod
    r.launches.experts = routed_code::each;
    r.layouts.untried = {};
    r.layouts.source = "server_args.py: tp_size, pp_size, dp_size and ep_size";
    r.devices.apple = r.devices.google = device_support::absent;
    return r;
}

}  // namespace detail

inline constexpr runtime sglang = for_versions(detail::sglang_base, "0.5.3 and later", {0, 5, 3});
inline constexpr runtime sglang_0_5_2 = for_versions(detail::sglang_sizes(), "0.4.9 to 0.5.2", {0, 4, 9}, {0, 5, 3});
inline constexpr runtime sglang_0_4 = for_versions(detail::sglang_ranks(), "up to 0.4.8", {}, {0, 4, 9});
inline constexpr std::array all_sglang{&sglang, &sglang_0_5_2, &sglang_0_4};

}  // namespace llmres::inline v0::runtimes
