// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/runtimes/runtime.hpp>
#include <span>
#include <string_view>

/// SGLang: weights and cache together take a fraction of what was free at start; activations and CUDA graphs live in
/// the rest. Where no fraction is named, it is chosen by device and layout (server_args.py), in another way every few
/// releases.
namespace llmres::inline v0::runtimes {

namespace detail {

/// A part, rounded as SGLang does: to three decimal places.
constexpr double three_places(double part) {
    const double thousands = part * 1000.0;
    return static_cast<double>(static_cast<std::int64_t>(thousands < 0 ? thousands - 0.5 : thousands + 0.5)) / 1000.0;
}
/// The part of a device that is left beside so many MiB.
constexpr double without_mib(byte_count device, double left) {
    const double all = static_cast<double>(times_in(mib(1), device));
    return three_places((all - left) / all);
}

/// Models that SGLang serves without their tower unless it is told --enable-multimodal
/// (configs/model_config.py: mm_disabled_models).
constexpr bool sees_images(const start_facts& f) {
    return f.images && f.architecture != "gemma3" && f.architecture != "llama4" && f.architecture != "step3_vl";
}

/// The part of the fraction that a vision tower leaves from 0.4.10 on (adjust_mem_fraction_for_vlm()): 0.95, and more
/// or less by layers x width^2 over those of ViT-L/14. A config that calls its layers otherwise counts as having 24.
constexpr double beside_tower(const start_facts& f) {
    const double width = static_cast<double>(f.image_hidden);
    const double layers = f.image_layers > 0 ? f.image_layers : 24;
    const double factor = 1.0 - 0.1 * (layers * width * width / (24.0 * 1024.0 * 1024.0) - 1.0);
    return 0.95 * (factor < 0.8 ? 0.8 : factor > 1.05 ? 1.05 : factor);
}
/// That part up to 0.4.9 (model_runner.py: is_multimodal; 0.95 until 0.4.4).
inline constexpr double beside_any_tower = 0.90;

/// The fraction by the GPUs of the layout, 0.3's table but for eight (0.83).
constexpr double fraction_of_ranks(std::int32_t ranks) {
    return ranks >= 16 ? 0.79 : ranks >= 8 ? 0.81 : ranks >= 4 ? 0.85 : ranks >= 2 ? 0.87 : 0.88;
}
/// Up to 0.4.5: by the GPUs alone.
constexpr start_choices sglang_by_ranks(const start_facts& f) {
    return {.fraction = fraction_of_ranks(f.tensor * f.pipeline) * (sees_images(f) ? beside_any_tower : 1.0),
            .whole_windows = true};
}
/// 0.4.6 and 0.4.7: by the GPUs up to 80 GiB, 0.88 beyond. Devices over 96 GiB leave less, by what a GPU of 48 GiB
/// would leave, but at least 18 GiB, 20 where tokens are drafted; Blackwell's over 180,000 MiB take 0.79.
constexpr start_choices sglang_by_ranks_and_size(const start_facts& f) {
    const auto device = static_cast<double>(times_in(mib(1), f.device));
    const bool drafts = f.drafts != drafting::none;
    double fraction = f.device <= gib(80) ? fraction_of_ranks(f.tensor * f.pipeline) : 0.88;
    if (device > 180'000 && f.capability > 0) {
        fraction = 0.79;
    } else if (f.device > gib(96)) {
        const double by_share = fraction + 48 * 1024 * (1 - fraction) / device;
        const double beside_graphs = (device - 1024 * (drafts ? 20 : 18)) / device;
        fraction = by_share < beside_graphs ? by_share : beside_graphs;
    } else if (drafts) {
        fraction *= 0.95;
    }
    return {.fraction = fraction * (sees_images(f) ? beside_any_tower : 1.0), .whole_windows = true};
}
/// 0.4.8 to 0.5.2: what devices of a size leave, and some more for each GPU, for drafts (2 GiB; 6 for a draft model,
/// which 0.5.2 has first) and where ranks compute attention apart (4 GiB).
template <bool ByTower>
constexpr start_choices sglang_by_size(const start_facts& f) {
    const double ranks = f.tensor * f.pipeline;
    double gibibytes = f.device < gib(35)    ? 2.8 + ranks / 10
                       : f.device < gib(90)  ? 9.5 + ranks / 2
                       : f.device < gib(160) ? 12.0 + ranks / 2
                                             : 32.0;
    if (f.drafts != drafting::none) gibibytes += f.drafts == drafting::model ? 6 : 2;
    if (f.attention_ranks > 1) gibibytes += 4;
    const double tower = !sees_images(f) ? 1.0 : ByTower ? beside_tower(f) : beside_any_tower;
    return {.fraction = without_mib(f.device, gibibytes * 1024) * tower, .whole_windows = true};
}

/// Graphs that compute prompts. They take 8 MiB for each size, or 1,536 with latent attention.
enum class prompt_graphs : std::uint8_t {
    none,      ///< not unless --enable-piecewise-cuda-graph is said (up to 0.5.9)
    compiled,  ///< compiled piece by piece (tc_piecewise, 0.5.10 to 0.5.14)
    broken,    ///< broken at each attention (breakable)
};

/// Prompts that graphs compute.
struct sglang_prompt_rules {
    prompt_graphs kind = prompt_graphs::broken;  ///< How they are captured.
    bool of_latent = true;                       ///< With latent attention, too. (Not in 0.5.15 to 0.5.18.)
    bool of_stages = false;                      ///< On stages of a pipeline, too. (In 0.5.15 to 0.5.18.)
    bool of_apart = true;                        ///< Where ranks compute attention apart, too. (From 0.5.17 on.)
    /// Models with routed experts on datacenter Blackwell, too. (Not up to 0.5.12: flashinfer_trtllm.)
    bool of_blackwell_experts = true;
    bool of_drafts = true;       ///< Where tokens are drafted, too. (Not in 0.5.10.)
    bool of_their_own = false;   ///< Without graphs of decoding, too. (0.5.10 to 0.5.13.)
    bool up_to_context = false;  ///< Up to the context that the caller names. (0.5.13 to 0.5.16.)
    /// The most tokens of such a graph with latent attention: 2,048; 8,192 from 0.5.23 on.
    std::int64_t latent = 8192;
};

/// Differences between releases since 0.5.3 in how SGLang sets memory apart (server_args.py, from 0.5.19 on
/// arg_groups/memory_hook.py: handle_gpu_memory_settings; tests/validation/sglang holds every release's answers).
struct sglang_rules {
    /// Sequences of the largest graph on devices below 35 GiB, with fewer than four tensor ranks and with more: 16 and
    /// 80; 24 in 0.5.4.post3 and from 0.5.5 on; 48 and 160 from 0.5.20 on.
    std::int64_t small_graphs = 48, small_graphs_split = 160;
    bool early_drafts = false;  ///< Drafted tokens have the sizes of first_drafted_sizes. (To 0.5.4.)
    std::int64_t middle = 20;   ///< GiB of devices from which on chunks have 4,096 tokens; 35 to 0.5.19.
    scaled_latents latents = scaled_latents::on_hopper;        ///< Formats of sparse latents: scaled from 0.5.5 on.
    cache_calibrator calibrated = cache_calibrator::modelopt;  ///< Calibrated caches: read from 0.5.5 on.
    sglang_prompt_rules prompts{};                             ///< Which prompts are computed by graphs.
    /// MiB for EAGLE's layers: 2,048; 4,096 from 0.5.10 on; none from 0.5.14 on, where the cache makes room for them.
    /// A draft model takes 6,144 as long.
    std::int64_t drafting_layers = 0;
    /// Graphs that are not captured take none. (From 0.5.15 on.)
    bool without_graphs = true;
    /// No graph has more sequences than max_running_requests. (From 0.5.22 on.)
    bool up_to_sequences = true;
    /// Models whose windows have a pool of their own: none up to 0.5.7, four families up to 0.5.10.
    std::int32_t windowed = 2;
    /// The largest size is captured whatever it is. (From 0.5.10 on.)
    bool takes_largest = true;
};

/// Sizes of graphs (generate_decode_cuda_graph_batch_sizes(), generate_prefill_cuda_graph_batch_sizes()).
inline constexpr std::int64_t without_end = std::int64_t{1} << 40;
inline constexpr std::array decode_sizes{size_range{1, 1, 1},      size_range{2, 2, 1},
                                         size_range{4, 12, 4},     size_range{16, 256, 8},
                                         size_range{272, 496, 16}, size_range{512, without_end, 32}};
inline constexpr std::array drafted_sizes{size_range{1, 8, 1}, size_range{10, 32, 2}, size_range{40, 64, 4},
                                          size_range{72, 256, 8}, size_range{272, without_end, 16}};
/// Up to 0.5.4 a range ended before 64.
inline constexpr std::array first_drafted_sizes{size_range{1, 8, 1}, size_range{10, 32, 2}, size_range{40, 60, 4},
                                                size_range{72, 256, 8}, size_range{272, without_end, 16}};
inline constexpr std::array prefill_sizes{size_range{4, 32, 4},        size_range{48, 256, 16},
                                          size_range{288, 512, 32},    size_range{576, 1024, 64},
                                          size_range{1280, 4096, 256}, size_range{4608, without_end, 512}};

/// Models whose layers with windows have a pool of their own; others keep their whole context (configs/model_config.py:
/// is_hybrid_swa_model(), here by the beginnings of `model_type`).
template <sglang_rules Rules>
constexpr bool pools_windows(const start_facts& f) {
    constexpr std::array first{"llama4", "gpt_oss", "mimo_v2", "step3p5"};
    constexpr std::array later{"gemma4", "deepseek_v4", "laguna", "step3p7", "mellum", "muse_glimmer", "inkling"};
    const auto any_of = [&](const auto& names) {
        for (const std::string_view name : names)
            if (f.architecture.starts_with(name)) return true;
        return false;
    };
    return (Rules.windowed > 0 && any_of(first)) || (Rules.windowed > 1 && any_of(later));
}

/// Sequences of the largest graph.
template <sglang_rules Rules>
constexpr std::int64_t largest_graph(const start_facts& f) {
    const bool few = f.tensor < 4;
    const std::int64_t most = f.device < gib(20)    ? 8
                              : f.device < gib(35)  ? (few ? Rules.small_graphs : Rules.small_graphs_split)
                              : f.device < gib(60)  ? (few ? 32 : 160)
                              : f.device < gib(160) ? (few ? 256 : 512)
                                                    : 512;
    return Rules.up_to_sequences && f.sequences > 0 && f.sequences < most ? f.sequences : most;
}

/// Graphs of prompts that memory is set apart for.
template <sglang_rules Rules>
constexpr captured_sizes prefill_graphs(const start_facts& f) {
    if (Rules.prompts.kind == prompt_graphs::none || sees_images(f) || (!Rules.prompts.of_their_own && !f.captures))
        return {};
    if (f.latent && !Rules.prompts.of_latent) return {};
    if (f.pipeline > 1 && !Rules.prompts.of_stages) return {};
    if (f.drafts != drafting::none && !Rules.prompts.of_drafts) return {};
    if (f.attention_ranks > 1 && !Rules.prompts.of_apart) return {};
    if (Rules.prompts.kind == prompt_graphs::compiled && f.architecture == "qwen3_next") return {};
    std::int64_t largest = f.step.in(tokens);
    if (f.latent && (largest > Rules.prompts.latent || Rules.prompts.latent < 8192)) largest = Rules.prompts.latent;
    if (f.cache > token_count{} && f.cache.in(tokens) < largest) largest = f.cache.in(tokens);
    if (Rules.prompts.up_to_context && f.context > token_count{} && f.context.in(tokens) < largest)
        largest = f.context.in(tokens);
    return {.ranges = prefill_sizes, .largest = largest};
}

/// Models of DeepseekV3ForCausalLM.
constexpr bool is_deepseek_v3(const start_facts& f) {
    return f.architecture == "deepseek_v3" || f.architecture == "kimi_k2";
}

/// True if graphs of prompts are captured after all: kernels of datacenter Blackwell come without, up to 0.5.12 for
/// routed experts (flashinfer_trtllm), from 0.5.15 on for DeepSeek-V3's attention (trtllm_mla).
template <sglang_rules Rules>
constexpr bool captures_prefill(const start_facts& f) {
    if (f.capability != 10) return true;
    if (!Rules.prompts.of_blackwell_experts) return !f.routed || f.architecture == "gpt_oss";
    return Rules.prompts.kind == prompt_graphs::compiled || !is_deepseek_v3(f);
}

/// Since 0.5.3: 1.5 MiB for each token of a chunk, 2 for each sequence of the largest graph, 512 beside them and 128 a
/// GPU; at least 10 GiB of devices over 60. Where ranks compute attention apart, 3 more for each of its sequences and
/// ranks, and 4.5 where a graph has more than 300 (server_args.py: enable_dp_attention).
template <sglang_rules Rules>
constexpr start_choices sglang_by_step(const start_facts& f) {
    const std::int64_t largest = largest_graph<Rules>(f);
    const captured_sizes prefill = prefill_graphs<Rules>(f);
    const auto graphs = static_cast<double>(largest);
    double left = 512 + static_cast<double>(f.step < tokens(2048) ? 2048 : f.step.in(tokens)) * 1.5;
    left += f.tensor * f.pipeline * 128;
    if (f.captures || !Rules.without_graphs) left += graphs * 2;
    if (f.attention_ranks > 1) left += graphs * f.attention_ranks * (largest > 300 ? 4.5 : 3.0);
    if (!prefill.ranges.empty()) left += f.latent ? 1536.0 : static_cast<double>(prefill.count()) * 8;
    if (f.device > gib(60) && left < 10240) left = 10240;
    if (Rules.drafting_layers > 0 && f.drafts == drafting::layers) left += static_cast<double>(Rules.drafting_layers);
    if (Rules.drafting_layers > 0 && f.drafts == drafting::model) left += 6144;
    start_choices chosen{
        .fraction = without_mib(f.device, left), .whole_windows = !pools_windows<Rules>(f), .prefill = prefill};
    if (sees_images(f)) chosen.fraction = *chosen.fraction * beside_tower(f);
    const std::span<const size_range> drafted =
        Rules.early_drafts ? std::span<const size_range>{first_drafted_sizes} : drafted_sizes;
    if (f.captures)
        chosen.decode = {.ranges = f.drafts == drafting::none ? std::span<const size_range>{decode_sizes} : drafted,
                         .largest = largest,
                         .takes_largest = Rules.takes_largest};
    const std::int64_t step = f.step.in(tokens) / f.attention_ranks;
    if (chosen.prefill.largest > step && f.attention_ranks > 1) chosen.prefill.largest = step;
    if (!captures_prefill<Rules>(f)) chosen.prefill = {};
    return chosen;
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
    launch_word{"--is-embedding", launch_figure::pools, launch_form::words},
    launch_word{"--tp-size", launch_figure::tensor_ranks_and_shared, launch_form::degree},
    launch_word{"--pp-size", launch_figure::pipeline_stages, launch_form::degree},
    launch_word{"--dp-size", launch_figure::data_ranks, launch_form::degree},
    launch_word{"--enable-dp-attention", launch_figure::data_shares_experts, launch_form::words},
    launch_word{"--ep-size", launch_figure::expert_ranks, launch_form::degree},
    launch_word{"--context-length", launch_figure::context},
    launch_word{"--max-running-requests", launch_figure::sequences_set, launch_form::some},
    launch_word{"--quantization fp8", launch_figure::weights_cast_to_fp8, launch_form::words},
    launch_word{"--kv-cache-dtype", launch_figure::cache_format, launch_form::format},
    launch_word{"--mem-fraction-static", launch_figure::cache_fraction, launch_form::part},
    launch_word{"--chunked-prefill-size", launch_figure::batched_tokens, launch_form::some},
    launch_word{"--page-size", launch_figure::cache_block, launch_form::some},
    launch_word{"--max-total-tokens", launch_figure::cache_tokens, launch_form::some},
    launch_word{"--disable-cuda-graph", launch_figure::eager, launch_form::words},
    launch_word{"--enable-lora --max-loras-per-batch", launch_figure::resident_adapters, launch_form::some},
    launch_word{"--max-lora-rank", launch_figure::adapter_rank, launch_form::some},
    // arg_groups/speculative_hook.py: NEXTN is EAGLE by the model's own layers; steps, breadth and verified tokens are
    // said together, or chosen by the engine
    launch_word{"--speculative-algorithm NEXTN", launch_figure::own_predictions, launch_form::words},
    launch_word{"--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT", launch_figure::draft_model,
                launch_form::words},
    launch_word{"--speculative-algorithm NGRAM", launch_figure::looked_up_tokens, launch_form::words},
    launch_word{"--speculative-eagle-topk 1 --speculative-num-steps", launch_figure::drafting_steps, launch_form::some},
    launch_word{"--speculative-num-draft-tokens", launch_figure::verified_tokens, launch_form::some},
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
             // server_args.py: kv_cache_dtype
             .caches{.formats = {format_family::eight_bit_float, format_family::microscaling}},
             .rope = rope_tables::shared,
             .projections = projection_tensors::fused,
             .calibrated = cache_calibrator::modelopt},  // mem_cache/kv_cache_dtype.py: configure_kv_cache_dtype
    .cache{
        .pool = cache_pool::share_with_weights,
        .default_fraction = sglang_by_step<sglang_rules{}>,
        .fraction_name = "mem_fraction_static",
        .block = tokens(1),
        // server_args.py: swa_full_tokens_ratio; a log of Gemma 4 has 644,444 tokens for 805,556
        .window_part = 0.8,
        .shares_prefixes = true,  // server_args.py: disable_radix_cache is False
    },
    .step{
        .max_batched_tokens = tokens(2048),  // chunked_prefill_size
        .larger_devices = device_classes({gib(20), tokens(4096)}, {gib(60), tokens(8192)}, {gib(160), tokens(16384)}),
        .logits{.bytes = {6.0, 8.0, 12.0}},  // assumed: 16-bit scores, their fp32 copy, and the sampler's
    },
    .serving_kernels{
        .flash_attention = true,
        .latent{.scaled = scaled_latents::on_hopper},  // kv_cache_configurator.py: calculate_mla_kv_cache_dim()
        .more_hidden = 1,
        .loads_in_compute = true,               // configs/model_config.py: _get_and_verify_dtype
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
            // srt/arg_groups/kv_cache_hook.py, handle_kv4_compatibility: "Blackwell SM100 or SM120"
            d.nvfp4_cache = {10, 0};
            d.fp8 = d.nvfp4 = {8, 0};  // layers/quantization/fp8.py and modelopt_quant.py: get_min_capability()
            d.source = "docs/hardware-platforms; docs/start/install.md: FlashInfer needs sm75 and above";
            return d;
        }(),
};

/// The rules of each release that changed them, each as it differs from the one after it.
template <class Change>
constexpr sglang_rules before(sglang_rules later, const Change& change) {
    change(later);
    return later;
}
inline constexpr sglang_rules sglang_rules_0_5_22 = before({}, [](sglang_rules& r) { r.prompts.latent = 2048; });
inline constexpr sglang_rules sglang_rules_0_5_20 =
    before(sglang_rules_0_5_22, [](sglang_rules& r) { r.up_to_sequences = false; });
inline constexpr sglang_rules sglang_rules_0_5_19 = before(sglang_rules_0_5_20, [](sglang_rules& r) {
    r.small_graphs = 24;
    r.small_graphs_split = 80;
    r.middle = 35;
});
inline constexpr sglang_rules sglang_rules_0_5_17 = before(sglang_rules_0_5_19, [](sglang_rules& r) {
    r.prompts.of_latent = false;
    r.prompts.of_stages = true;
});
inline constexpr sglang_rules sglang_rules_0_5_15 = before(sglang_rules_0_5_17, [](sglang_rules& r) {
    r.prompts.up_to_context = true;
    r.prompts.of_apart = false;
});
inline constexpr sglang_rules sglang_rules_0_5_14 = before(sglang_rules_0_5_15, [](sglang_rules& r) {
    r.prompts.kind = prompt_graphs::compiled;
    r.prompts.of_latent = true;
    r.prompts.of_stages = r.without_graphs = false;
});
inline constexpr sglang_rules sglang_rules_0_5_13 = before(sglang_rules_0_5_14, [](sglang_rules& r) {
    r.drafting_layers = 4096;
    r.prompts.of_their_own = true;
});
inline constexpr sglang_rules sglang_rules_0_5_11 = before(
    sglang_rules_0_5_13, [](sglang_rules& r) { r.prompts.up_to_context = r.prompts.of_blackwell_experts = false; });
inline constexpr sglang_rules sglang_rules_0_5_10 = before(sglang_rules_0_5_11, [](sglang_rules& r) {
    r.prompts.of_drafts = false;
    r.windowed = 1;
});
inline constexpr sglang_rules sglang_rules_0_5_8 = before(sglang_rules_0_5_10, [](sglang_rules& r) {
    r.prompts.kind = prompt_graphs::none;
    r.takes_largest = false;
    r.drafting_layers = 2048;
    r.latents = scaled_latents::anywhere;
});
inline constexpr sglang_rules sglang_rules_0_5_5 = before(sglang_rules_0_5_8, [](sglang_rules& r) { r.windowed = 0; });
inline constexpr sglang_rules sglang_rules_0_5_3 = before(sglang_rules_0_5_5, [](sglang_rules& r) {
    r.small_graphs = 16;
    r.early_drafts = true;
    r.latents = scaled_latents::nowhere;
    r.calibrated = cache_calibrator::none;  // 0.5.5 reads it of FP8 and NVFP4 checkpoints, 0.5.3 of the latter alone
});

/// A profile that starts by the rules of some versions.
template <sglang_rules Rules>
constexpr runtime sglang_of(std::string_view versions, std::int32_t since, std::int32_t until) {
    runtime r = sglang_base;
    r.cache.default_fraction = sglang_by_step<Rules>;
    r.serving_kernels.latent.scaled = Rules.latents;
    r.loading.calibrated = Rules.calibrated;
    r.step.larger_devices[0].from = gib(Rules.middle);
    return for_versions(r, versions, {0, 5, since}, {0, 5, until});
}

/// Before 0.5.3: no pool of windows, sparse latents or ranks of a context.
constexpr runtime sglang_before_steps(start_choices (*choose)(const start_facts&)) {
    runtime r = sglang_base;
    r.cache.default_fraction = choose;
    r.cache.window_part = {};
    r.serving_kernels.latent.scaled = scaled_latents::nowhere;
    r.loading.calibrated = cache_calibrator::none;
    r.step.larger_devices = device_classes({gib(35), tokens(8192)}, {gib(160), tokens(16384)});
    r.layouts.untried = {};
    r.layouts.source = "server_args.py: tp_size, pp_size, dp_size and ep_size";
    r.devices.apple = device_support::absent;
    return r;
}
constexpr runtime sglang_by_gpus(start_choices (*choose)(const start_facts&)) {
    runtime r = sglang_before_steps(choose);
    // layers/quantization/gptq.py: GPTQMarlinConfig.get_quant_method gives routed experts vLLM's GPTQMarlinMoEMethod
    r.launches.experts = routed_code::each;
    r.devices.google = device_support::absent;
    r.step.larger_devices = device_classes({mib(25'000), tokens(8192)});
    return r;
}
constexpr runtime sglang_by_gpus_and_size() {
    runtime r = sglang_by_gpus(sglang_by_ranks_and_size);
    r.step.larger_devices = device_classes({mib(25'000), tokens(8192)}, {mib(180'001), tokens(16384)});
    return r;
}

}  // namespace detail

inline constexpr runtime sglang = for_versions(detail::sglang_base, "0.5.23 and later", {0, 5, 23});
inline constexpr runtime sglang_0_5_22 = detail::sglang_of<detail::sglang_rules_0_5_22>("0.5.22", 22, 23);
inline constexpr runtime sglang_0_5_21 = detail::sglang_of<detail::sglang_rules_0_5_20>("0.5.20 and 0.5.21", 20, 22);
inline constexpr runtime sglang_0_5_19 = detail::sglang_of<detail::sglang_rules_0_5_19>("0.5.19", 19, 20);
inline constexpr runtime sglang_0_5_18 = detail::sglang_of<detail::sglang_rules_0_5_17>("0.5.17 and 0.5.18", 17, 19);
inline constexpr runtime sglang_0_5_16 = detail::sglang_of<detail::sglang_rules_0_5_15>("0.5.15 and 0.5.16", 15, 17);
inline constexpr runtime sglang_0_5_14 = detail::sglang_of<detail::sglang_rules_0_5_14>("0.5.14", 14, 15);
inline constexpr runtime sglang_0_5_13 = detail::sglang_of<detail::sglang_rules_0_5_13>("0.5.13", 13, 14);
inline constexpr runtime sglang_0_5_12 = detail::sglang_of<detail::sglang_rules_0_5_11>("0.5.11 and 0.5.12", 11, 13);
inline constexpr runtime sglang_0_5_10 = detail::sglang_of<detail::sglang_rules_0_5_10>("0.5.10", 10, 11);
inline constexpr runtime sglang_0_5_9 = detail::sglang_of<detail::sglang_rules_0_5_8>("0.5.8 and 0.5.9", 8, 10);
inline constexpr runtime sglang_0_5_7 = detail::sglang_of<detail::sglang_rules_0_5_5>("0.5.5 to 0.5.7", 5, 8);
inline constexpr runtime sglang_0_5_4 = detail::sglang_of<detail::sglang_rules_0_5_3>("0.5.3 and 0.5.4", 3, 5);
inline constexpr runtime sglang_0_5_2 =
    for_versions(detail::sglang_before_steps(detail::sglang_by_size<true>), "0.4.10 to 0.5.2", {0, 4, 10}, {0, 5, 3});
inline constexpr runtime sglang_0_4_9 =
    for_versions(detail::sglang_before_steps(detail::sglang_by_size<false>), "0.4.8 and 0.4.9", {0, 4, 8}, {0, 4, 10});
inline constexpr runtime sglang_0_4_7 =
    for_versions(detail::sglang_by_gpus_and_size(), "0.4.6 and 0.4.7", {0, 4, 6}, {0, 4, 8});
inline constexpr runtime sglang_0_4 =
    for_versions(detail::sglang_by_gpus(detail::sglang_by_ranks), "up to 0.4.5", {}, {0, 4, 6});
inline constexpr std::array all_sglang{&sglang,        &sglang_0_5_22, &sglang_0_5_21, &sglang_0_5_19, &sglang_0_5_18,
                                       &sglang_0_5_16, &sglang_0_5_14, &sglang_0_5_13, &sglang_0_5_12, &sglang_0_5_10,
                                       &sglang_0_5_9,  &sglang_0_5_7,  &sglang_0_5_4,  &sglang_0_5_2,  &sglang_0_4_9,
                                       &sglang_0_4_7,  &sglang_0_4};

}  // namespace llmres::inline v0::runtimes
