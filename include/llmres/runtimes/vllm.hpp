// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// vLLM: a fraction of the visible memory is the budget, and what weights and a profiling run leave of it is the cache.
/// How that run is made and what it counts changed with its releases (worker.py: determine_num_available_blocks; from
/// 0.8 on v1/worker/gpu_worker.py: determine_available_memory, and gpu_model_runner.py: profile_run). Its peak is a
/// layer on max_num_batched_tokens, or the sampler on max_num_seqs whatever the model. What processes, groups of GPUs
/// and CUDA graphs take is In-sample, read off logs: docs/sources.md has each constant.
namespace llmres::inline v0::runtimes {

namespace detail {

/// The sampler sorts all scores: 16-bit ones, their copy in fp32 and the sorted values; 64-bit indices before and
/// after; and a radix sort's second buffers of both: 2 + 4 + 4 + 8 + 8 + 4 + 8 bytes (PyTorch's Sort.cu:
/// segmented_sort_pairs). Logs of 0.6.4 to 0.16 agree to 10 MiB, from 0.6 to 70 billion parameters, one GPU or two.
inline constexpr interval<double> sorted_scores{38.0, 38.0, 39.2};
/// Kernels filter without a sort (Triton in place, with a row of scores a multiprocessor; FlashInfer into another
/// tensor), and probabilities and their noise, or two steps of them, follow: 2 + 4 + 4 + 4. Logs of 29 models under
/// 0.19 agree to 15 MiB.
inline constexpr interval<double> filtered_scores{14.0, 14.0, 15.5};
/// The second model runner scores nothing but the 16-bit values while it profiles (worker/gpu/model_runner.py:
/// _dummy_sampler_run), and draws in blocks.
inline constexpr interval<double> plain_scores{2.0, 2.3, 6.0};

inline constexpr std::array vllm_knobs{
    knob{"max_num_batched_tokens", knob_setting::batched_tokens},
    knob{"block_size", knob_setting::cache_block},
    knob{"kv_cache_memory_bytes", knob_setting::cache_bytes},
    knob{"num_gpu_blocks_override", knob_setting::cache_blocks},
    knob{"max_loras", knob_setting::max_loras},
    knob{"max_lora_rank", knob_setting::max_lora_rank},
    knob{"enforce_eager", knob_setting::no_cuda_graphs},
    knob{"max_seq_len_to_capture", knob_setting::graph_context},
    knob{"async_scheduling", knob_setting::overlaps_steps},
    knob{"enable_prefix_caching", knob_setting::shares_prefixes},
};

/// Names are those of engine/arg_utils.py.
inline constexpr std::array vllm_words{
    launch_word{"--tensor-parallel-size", launch_figure::tensor_ranks, launch_form::degree},
    launch_word{"--pipeline-parallel-size", launch_figure::pipeline_stages, launch_form::degree},
    launch_word{"--data-parallel-size", launch_figure::data_ranks, launch_form::degree},
    launch_word{"--enable-expert-parallel", launch_figure::deals_experts, launch_form::words},
    launch_word{"--max-model-len", launch_figure::context},
    launch_word{"--max-num-seqs", launch_figure::sequences_set, launch_form::some},
    launch_word{"--quantization fp8", launch_figure::weights_cast_to_fp8, launch_form::words},
    launch_word{"--kv-cache-dtype", launch_figure::cache_format, launch_form::format},
    launch_word{"--gpu-memory-utilization", launch_figure::cache_fraction, launch_form::part},
    launch_word{"--max-num-batched-tokens", launch_figure::batched_tokens, launch_form::some},
    launch_word{"--block-size", launch_figure::cache_block, launch_form::some},
    launch_word{"--kv-cache-memory-bytes", launch_figure::cache_bytes, launch_form::some},
    launch_word{"--num-gpu-blocks-override", launch_figure::cache_blocks, launch_form::some},
    launch_word{"--enable-lora --max-loras", launch_figure::resident_adapters, launch_form::some},
    launch_word{"--max-lora-rank", launch_figure::adapter_rank, launch_form::some},
    launch_word{"--runner pooling", launch_figure::pools, launch_form::words},
    // changes nothing of a class that classifies by itself (model_executor/models/adapters.py: as_seq_cls_model)
    launch_word{"--convert classify", launch_figure::classifies, launch_form::words},
    launch_word{"--enforce-eager", launch_figure::eager, launch_form::words},
    launch_word{"--no-enable-prefix-caching", launch_figure::whole_prompts, launch_form::words},
    launch_word{"--enable-prefix-caching", launch_figure::shared_prefixes, launch_form::words},
    launch_word{"--speculative-config", launch_figure::speculation, launch_form::vllm_object},
};
inline constexpr launcher vllm_launcher{"vllm", "vllm serve MODEL", vllm_words, process_starter::itself,
                                        "VLLM_PP_LAYER_PARTITION"};

inline constexpr runtime vllm_base{
    .identity{.name = "vllm", .work = runtime_work::serving, .knobs = vllm_knobs, .launcher = &vllm_launcher},
    .launches{
        // Scheduler and sampler between steps, and the request's way through the API server (V1).
        .step = {microseconds(200), microseconds(400), microseconds(1000)},
        .request = {milliseconds(10), milliseconds(30), milliseconds(140)},
        .joined = true,                 // QKVParallelLinear, MergedColumnParallelLinear
        .own_all_reduce = true,         // device_communicators/custom_all_reduce.py
        .stages = stage_overlap::both,  // v1/engine/core.py: step_with_batch_queue
        .packed = packed_code::marlin,
        .joins_casts = true,  // input_quant_fp8.py: torch.compile sees the cast's own operations (pull request 19830)
        .experts = routed_code::blackwell,  // FlashInfer's
    },
    .process{
        // Total less free at start, which stands outside the budget: 0.19 GiB on an L4, 0.34 on 48 GB, 0.45 to 0.49 on
        // 24 to 40 GB, 0.60 on an H200.
        .context = {mib(190), mib(460), mib(620)},
        // Logged as non-torch memory with one GPU: 0.02 to 0.14 GiB.
        .workspace = {mib(10), mib(100), mib(200)},
        // CUDABlas.cpp: 2 of 4 MiB and 8 of 16 KiB; 32 MiB from Hopper on (on_device)
        .product_workspace = kib(8320),
        // The growth of non-torch memory from one GPU to two: 0.42 to 0.72 GiB; NCCL's channels and the custom
        // all-reduce.
        .communicator = {mib(400), mib(480), mib(1200)},
        // 0.1 to 0.55 GiB up to 20 B on one GPU, 0.7 on a 4 B of 2025; captured after the cache is allotted, on top of
        // it.
        .cuda_graphs = {mib(0), mib(400), mib(800)},
    },
    .allocator{.fragmentation = {0.0, 0.0, 0.005}, .rounds_to_segments = true},
    .accuracy{.activations = {0.95, 1.02, 1.10}},
    .loading{
        .formats = all_formats.without(
            {format_family::mlx, format_family::exllama2, format_family::exllama3, format_family::gguf_ik}),
        // config/cache.py: CacheDType, without those of 2026 that have names of their own (TurboQuant and others)
        .caches{.formats = {format_family::eight_bit_float, format_family::eight_bit, format_family::microscaling}},
        // RotaryEmbedding.cos_sin_cache: what Llama 3.1 loads beyond its parameters, to 0.1 MiB
        .rope = rope_tables::shared,
        .mxfp4{.padded = true},
        .projections = projection_tensors::fused,  // QKVParallelLinear, MergedColumnParallelLinear
        // Marlin's workspaces, zeros in its order, and blocks that are less than 10 MiB: 0.3 % in two logs
        .repacked = 0.005,
        // qwen2_5_vl.py and internvl.py, __init__: no rank is asked before the tower is made, as it is for layers
        .towers_everywhere = true,
    },
    .cache{.pool = cache_pool::share_of_total,
           .fraction = 0.9,
           .refuses_less = true,
           .block = tokens(16),
           .shares_prefixes = true},  // engine/arg_utils.py: enable_prefix_caching, by default since 0.8 (V1)
    .step{
        // EngineArgs.get_batch_defaults, API server (the LLM class takes 8192 and 16384 tokens).
        .max_batched_tokens = tokens(2048),
        // config/model.py: is_chunked_prefill_supported; engine/arg_utils.py: max_num_batched_tokens is at least
        // max_model_len then
        .whole_encoded = true,
        .max_num_seqs = 256,
        .larger_devices = device_classes({gib(70), tokens(8192), 1024}),
        .a100_is_small = true,
        .profiles = true,
        .images = profiled_images::tower,
        .logits{
            .rows = scored_tokens::profiled,
            .bytes = sorted_scores,
            // fewer than 128 rows are sorted as one: segmented_sort_pairs_by_full_sort takes 50 bytes
            .few_rows_bytes = 12.0,
            // the rows, and random ones in their place (gpu_model_runner.py: _dummy_sampler_run)
            .hidden_vectors = 2,
        },
    },
    .serving_kernels{
        .flash_attention = true,
        // Measured 1.00 to 1.06 of 3 d_ff + 3 hidden a token: 10 000 to 32 768 tokens, three models.
        .more_hidden = 1,
        .copies_int8 = true,
        .loads_in_compute = true,  // config/model.py: _resolve_auto_dtype
        // platforms/cuda.py: supported_dtypes, of which `auto` takes the first, and check_if_supports_dtype
        .without_bf16 = bf16_code::refuses,
    },
    // vocab_parallel_embedding.py, DEFAULT_VOCAB_PADDING_SIZE
    // config/model.py: verify_with_parallel_config (attention heads); models/llama.py: LlamaAttention (key-value heads,
    // copied where ranks are more); layers/linear.py (widths) and layers/vocab_parallel_embedding.py: divide()
    // fp8_utils.py: validate_fp8_block_shape(); fp8.py: Fp8MoEMethod; awq.py and gptq.py: create_weights()
    .layouts{.split{.vocabulary_multiple = 64, .refuses_uneven = true, .refuses_cut_blocks = true},
             .source = "engine/arg_utils.py: tensor, pipeline and data ranks, and enable_expert_parallel"},
    // Ports are those of docs/getting_started/installation, and the vendors' own: vllm-ascend, vllm-mlu, vllm-musa. The
    // cache in NVFP4: flashinfer.py, supports_kv_cache_dtype(): is_device_capability_family(100). AMD's fp8: of the
    // kernels that kernels/linear/__init__.py lists for ROCm those for a scale a tensor or channel need gfx942, gfx950
    // or gfx12 (scaled_mm/rocm.py, pytorch.py and aiter.py: is_supported); Triton's, for a scale a block, run on any.
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.apple = device_support::absent;
            d.least = {7, 0};
            d.fp8 = d.awq = {7, 5};
            d.nvfp4_cache = {10, 0};
            d.nvfp4_cache_gap.from = {11, 0};
            d.fp8_by_arithmetic = true;
            d.source = "docs/getting_started/installation, quantization/*.py: get_min_capability()";
            return d;
        }(),
};

// ---- the first engine (V0) ------------------------------------------------------------------------------------------

/// Whole prompts up to 32k, whatever the device; chunks beyond, and then nothing is sampled while profiling but the
/// 16-bit scores.
constexpr runtime vllm_v0_base() {
    runtime r = vllm_base;
    r.cache.refuses_less = r.cache.shares_prefixes = false;
    r.step.max_batched_tokens = tokens(512);
    r.step.larger_devices = device_classes();
    r.step.images = profiled_images::whole;  // dummy_data_for_profiling pads a prompt to its image
    r.step.chunked_beyond = tokens(32768);
    r.step.logits.chunked_bytes = {2.0, 2.0, 4.0};
    r.cache.windows = window_cells::whole;
    r.step.logits.hidden_vectors = 0;
    r.process.workspace = {mib(10), mib(60), mib(220)};
    // The first engine prepares inputs and samples in Python between steps: 2.2 to 3.8 ms under 0.4.2 and 0.6.3 where
    // the GPU takes less (Qwen's tables, A100).
    r.launches.step = {microseconds(1700), microseconds(2300), microseconds(3800)};
    // Prompts, and sequences beyond max_seq_len_to_capture (8192 by default), run without CUDA graphs: 0.3 to 0.4 ms a
    // layer (Qwen's tables under 0.4.2, from 14,336 tokens on).
    r.launches.eager_layer = {microseconds(250), microseconds(350), microseconds(480)};
    r.launches.graph_context = tokens(8192);
    r.launches.joins_casts = false;
    r.launches.stages = stage_overlap::sequences;  // engine/async_llm_engine.py: virtual engines
    return r;
}
/// 0.3 to 0.6.3 took what the device had lost since vLLM's start, and so all that torch's allocator held at the
/// end of the profiling run.
constexpr runtime vllm_v0_reserved() {
    runtime r = vllm_v0_base();
    r.process.workspace = {mib(10), mib(300), mib(400)};
    r.allocator.fragmentation = {0.0, 0.01, 0.05};
    return r;
}
/// Until then the device had to be vLLM's alone: its context and all that others held counted too (0.2.5 to
/// 0.2.7). Over what torch had allocated that was 0.77 GiB on one A100, and 13.1 on each of four (vllm pull request
/// 2031: 7351 blocks for 7449, 20865 for 31615).
constexpr runtime vllm_v0_whole_device() {
    runtime r = vllm_v0_reserved();
    // CUDA graphs came with 0.2.6 (pull request 1926), all-reduces of its own with 0.3.0 (2192); its 4-bit kernels are
    // AutoAWQ's and ExLlama's (csrc/quantization), as under runtimes/huggingface_serving.hpp.
    r.launches.layer = r.launches.eager_layer;
    r.launches.graph_context = {};
    r.launches.own_all_reduce = false;
    r.launches.packed = packed_code::simple;
    r.process.context = {};
    r.process.workspace = {mib(400), mib(785), mib(1536)};
    r.process.communicator = {mib(1024), mib(6310), mib(6900)};
    r.layouts.pipeline = false;
    r.layouts.source = "config.py: ParallelConfig._verify_args() raises NotImplementedError for stages";
    r.devices = cuda_alone;
    r.devices.amd = device_support::unmeasured;
    r.devices.least = {7, 0};
    r.devices.awq = {7, 5};
    r.devices.source = "docs/source/getting_started: CUDA from compute capability 7.0 on, and ROCm";
    return r;
}
/// 0.6.4 takes torch's peak, and all else that the device has lost, its context included: 0.35 GiB on an RTX 3090.
constexpr runtime vllm_v0_with_context() {
    runtime r = vllm_v0_base();
    r.process.context = {};
    r.process.workspace = {mib(200), mib(358), mib(820)};
    return r;
}
/// The same, and its check counted twice for a while: 1.79 GiB on one H100, 3.58 on each of two (vllm pull request of
/// December 2024).
constexpr runtime vllm_v0_counts_all() {
    runtime r = vllm_v0_base();
    r.process.context = {};
    r.process.workspace = {mib(1200), mib(1833), mib(1950)};
    r.process.communicator = {mib(1200), mib(1833), mib(1950)};
    return r;
}
/// Chunks of 2048 tokens.
constexpr runtime vllm_v0_increases() {
    runtime r = vllm_v0_base();
    r.step.max_batched_tokens = tokens(2048);
    return r;
}

// ---- the second engine (V1) -----------------------------------------------------------------------------------------

/// 0.8 takes all that the device has lost beside torch's own memory, its context and other processes included, and asks
/// for no free memory (v1/worker/gpu_worker.py: determine_available_memory). As in 0.6.4 that is 0.35 GiB on an RTX
/// 3090; 0.9 on an RTX 4090 D of which it is not known what else it held.
constexpr runtime vllm_counts_device() {
    runtime r = vllm_base;
    r.cache.refuses_less = false;
    r.process.context = {};
    r.process.workspace = {mib(200), mib(358), mib(1024)};
    return r;
}
/// Up to 0.8.3 a thousand sequences are admitted on every device, so that the profiling run sorts 1024 rows of scores:
/// 5.5 GiB of a vocabulary of 152,000 words (arg_utils.py: default_max_num_seqs; pull request 16158, of 7 April 2025,
/// went back to 256). Devices are large by name, H100 and H200 alone (pull request 12369); B200 and MI300X, which these
/// releases took for small, count by their size here.
constexpr runtime vllm_thousand_sequences() {
    runtime r = vllm_counts_device();
    r.step.max_num_seqs = 1024;
    return r;
}
/// 0.8.5 goes by the size of the memory, the A100's 80 GB included (pull request 17073); 0.9 leaves it out again
/// (pull request 17885).
constexpr runtime vllm_first_of_second() {
    runtime r = vllm_counts_device();
    r.step.a100_is_small = false;
    r.launches.joins_casts = false;
    return r;
}
/// FlashInfer samples where it is installed, as in the published images; else the scores are sorted
/// (topk_topp_sampler.py: VLLM_USE_FLASHINFER_SAMPLER is not False).
constexpr runtime vllm_sorts_or_not() {
    runtime r = vllm_base;
    r.step.logits.bytes.low = filtered_scores.low;
    return r;
}
/// It must be asked to, so that scores are sorted. The device is looked at when NCCL is there already: what a group of
/// GPUs takes then is 0.42 GiB on two H100.
constexpr runtime vllm_looks_late() {
    runtime r = vllm_base;
    r.process.communicator = {mib(200), mib(430), mib(900)};
    r.process.communicator_once = true;
    // Since 0.12 (prefill_context_parallel_size), which few attention back ends take.
    r.layouts.untried.context_parallel = true;
    r.layouts.source = "config/parallel.py: tensor, pipeline, data, expert and prefill context ranks";
    r.devices.apple = device_support::unmeasured;  // vllm-metal, since December 2025
    return r;
}
/// Triton's kernel filters, and all-reduces are joined with norms by default. That takes 1.40 to 1.55 GiB more of two
/// H100 and of four.
constexpr runtime vllm_filters() {
    runtime r = vllm_looks_late();
    r.step.logits.bytes = filtered_scores;
    r.step.logits.few_rows_bytes = 0.0;
    r.step.logits.filter_rows = 128;
    // ptxas for the kernel as Triton 3.6 compiles it (topk_topp_triton.py: _topk_topp_kernel): 1888 bytes a thread on
    // sm_90, 1864 on sm_89 and 2824 on sm_80 where rows of logits are aligned to nothing, 1504 where to two of them;
    // less than 1 KiB where to four.
    r.step.logits.filter_stack = {bytes(480), bytes(864), bytes(1800)};
    r.loading.mxfp4.pads_values = true;
    // utils/torch_utils.py: resolve_kv_cache_dtype_string, layers/attention/attention.py; 0.14 has the first alone.
    r.loading.calibrated = cache_calibrator::compressed_tensors;
    r.serving_kernels.keeps_expert_scratch = true;  // from 0.13 on, of which no log is at hand
    r.process.fused_all_reduce = {mib(500), mib(1450), mib(1650)};
    r.process.cuda_graphs = {mib(400), mib(1000), mib(1950)};  // 0.51 to 1.85 GiB of 29 models on an H100
    return r;
}
/// Two graphs of each kind are captured while it profiles, and what the driver keeps of them counts: 0.12 GiB on an
/// H100, whatever the model (0.2 more of two), 0.5 on an RTX 4090.
constexpr runtime vllm_samples_graphs() {
    runtime r = vllm_filters();
    r.loading.ends = {.by_predictions = true, .by_adapters = true, .by_every_stage = true};
    r.process.workspace = {mib(50), mib(256), mib(650)};
    r.process.stage_workspace = {mib(10), mib(72), mib(650)};  // logs of two stages and of four
    return r;
}
/// Sizes that CUDA graphs are captured for.
inline constexpr std::array vllm_graph_sizes{size_range{1, 2, 1}, size_range{4, 8, 4}, size_range{16, 248, 8},
                                             size_range{256, 1024, 16}};

/// Captured sizes: to twice the tokens of a step that decodes, at most to 512 or `on_blackwell`, on datacenter
/// Blackwell; to 1,024 of gpt-oss, whatever the sequences; and a whole step, where it is no larger than these
/// (config/vllm.py: _set_cudagraph_sizes; models/config.py: GptOssForCausalLMConfig). Sizes of drafted tokens are
/// rounded up to multiples, which makes a few of them equal.
template <std::int64_t on_blackwell>
constexpr start_choices vllm_choices(const start_facts& f) {
    const std::int64_t sequences = f.sequences > 0 ? f.sequences : f.usual_sequences;
    std::int64_t largest = 2 * sequences * (1 + f.drafted);
    const std::int64_t most = f.capability == 10 ? on_blackwell : 512;
    if (largest > most) largest = most;
    if (f.architecture == "gpt_oss") largest = 1024;
    if (largest > f.step.in(tokens)) largest = f.step.in(tokens);
    start_choices chosen;
    if (f.captures)
        chosen.decode = {.ranges = vllm_graph_sizes, .largest = largest, .takes_largest = largest == f.step.in(tokens)};
    return chosen;
}

/// That sample is the estimate that is deducted (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS): 0.5 to 1.8 GiB as 0.19
/// printed it, 18 to 27 MiB a dense layer with graphs of 51 sizes. From 0.21 on FlashInfer samples where it can.
constexpr runtime vllm_graphs_deducted() {
    runtime r = vllm_samples_graphs();
    r.cache.fraction = 0.92;
    r.step.logits.filter_rows = 0;
    r.cache.graphs_deducted = true;
    r.cache.default_fraction = vllm_choices<512>;
    // vLLM's own planner says so of seven models with windows or chunks (0.26.0). (Gemma 4 keeps the whole context in
    // every layer before 0.21.)
    r.cache.windows = window_cells::grouped;
    // models/deepseek_v4/attention.py: _resolve_dsv4_kv_cache_dtype(); FlashInfer's back end, where it is asked for,
    // has another.
    r.serving_kernels.latent.compressed_in_fp8 = true;
    r.serving_kernels.latent.scaled = scaled_latents::anywhere;  // flashmla_sparse.py
    r.serving_kernels.latent.sparse_block = tokens(64);  // there and flashinfer_mla_sparse.py: supported block sizes
    r.serving_kernels.latent.not_in_nvfp4 = true;        // config/vllm.py
    // mamba_utils.py: MambaStateDtypeCalculator. Graphs of decoding whole are captured for max_num_seqs sequences, each
    // with a block of states (config/compilation.py: resolve_cudagraph_mode_and_sizes; pull request 38270).
    r.cache.states = state_cells::published;
    r.cache.needs_state_blocks = true;
    r.process.cuda_graphs = {mib(0), mib(0), mib(700)};
    r.process.layer_graphs = {mib(2), mib(22), mib(28)};
    return r;
}
/// One architecture goes to the second model runner from 0.22 on, three under 0.23 and six under 0.24, dense models and
/// some with experts from 0.25 on (config/vllm.py: _is_default_v2_model_runner_model), and all from 0.29 on
/// (use_v2_model_runner). It deducts no graphs up to 0.28: the low bound. Qwen3-0.6B's whole peak is 0.27 GiB.
constexpr runtime vllm_two_runners(plain_models of_second) {
    runtime r = vllm_graphs_deducted();
    r.step.logits.dense_bytes = plain_scores;
    r.step.logits.plainly_scored = of_second;
    return r;
}
/// Blocks outside a window are freed once the steps that may read them have ended, so that a windowed layer needs room
/// for the tokens of every step in flight (config/vllm.py: max_in_flight_tokens; pull request 47728). With asynchronous
/// scheduling, the default, that is one step more than a pipeline has stages.
constexpr runtime vllm_reserves_in_flight() {
    runtime r = vllm_two_runners(plain_models::dense_and_some);
    r.cache.in_flight = steps_in_flight::stages_ahead;
    return r;
}
/// The loss of the device before and after the run, and the run's peak over what it left.
constexpr runtime vllm_consumed() {
    runtime r = vllm_reserves_in_flight();
    r.process.workspace = {mib(10), mib(200), mib(650)};
    r.step.larger_devices[1] = {gib(160), tokens(16384), 1024};
    r.devices.least = {7, 5};  // gpu.cuda.inc.md: compute capability 7.5 or higher
    return r;
}
/// Prefixes are shared by models with recurrences, too: of each state the last whole block's is kept beside the one
/// that grows (models/config.py: MambaModelConfig, mamba_cache_mode "align"; kv_cache_interface.py: MambaSpec). The
/// largest size that is captured on datacenter Blackwell is twice what it was (config/vllm.py: _set_cudagraph_sizes).
constexpr runtime vllm_keeps(kept_states kept) {
    runtime r = vllm_consumed();
    r.cache.kept = kept;
    r.cache.default_fraction = vllm_choices<1024>;
    return r;
}
/// The first runner is left to what the second cannot do.
constexpr runtime vllm_second_runner(kept_states kept) {
    runtime r = vllm_keeps(kept);
    r.step.logits.plainly_scored = plain_models::all;
    return r;
}
/// FlashAttention 2 reads caches in NVFP4 before datacenter Blackwell, and on Blackwell's other GPUs (flashinfer.py:
/// _nvfp4_kv_on_fa2); not with heads of 64 features, which is not refused here.
constexpr runtime vllm_narrow_caches(kept_states kept) {
    runtime r = vllm_second_runner(kept);
    r.devices.nvfp4_cache = {8, 0};
    r.devices.nvfp4_cache_gap.to = {12, 0};
    return r;
}

}  // namespace detail

inline constexpr runtime vllm_v0_2 = for_versions(detail::vllm_v0_whole_device(), "0.2 (V0)", {}, {0, 3, 0});
inline constexpr runtime vllm_v0_3 =
    for_versions(detail::vllm_v0_reserved(), "0.3 to 0.6.3 (V0)", {0, 3, 0}, {0, 6, 4});
inline constexpr runtime vllm_v0 = for_versions(detail::vllm_v0_with_context(), "0.6.4 (V0)", {0, 6, 4}, {0, 6, 5});
inline constexpr runtime vllm_v0_6 =
    for_versions(detail::vllm_v0_counts_all(), "0.6.5 and 0.6.6 (V0)", {0, 6, 5}, {0, 7, 0});
/// 0.8 to 0.10 ran it under VLLM_USE_V1=0.
inline constexpr runtime vllm_v0_7 =
    for_versions(detail::vllm_v0_increases(), "0.7 to 0.10 (V0)", {0, 7, 0}, {0, 8, 0});
inline constexpr runtime vllm_v1_8_0 =
    for_versions(detail::vllm_thousand_sequences(), "0.8.0 to 0.8.3 (V1)", {0, 8, 0}, {0, 8, 4});
inline constexpr runtime vllm_v1_8_4 = for_versions(detail::vllm_counts_device(), "0.8.4 (V1)", {0, 8, 4}, {0, 8, 5});
inline constexpr runtime vllm_v1 = for_versions(detail::vllm_first_of_second(), "0.8.5 (V1)", {0, 8, 5}, {0, 9, 0});
inline constexpr runtime vllm_v1_9 =
    for_versions(detail::vllm_sorts_or_not(), "0.9 to 0.11.0 (V1)", {0, 9, 0}, {0, 11, 1});
inline constexpr runtime vllm_v1_11 = for_versions(detail::vllm_looks_late(), "0.11.1 to 0.16", {0, 11, 1}, {0, 17, 0});
inline constexpr runtime vllm_v1_17 = for_versions(detail::vllm_filters(), "0.17", {0, 17, 0}, {0, 18, 0});
inline constexpr runtime vllm_v1_18 =
    for_versions(detail::vllm_samples_graphs(), "0.18 and 0.19", {0, 18, 0}, {0, 20, 0});
inline constexpr runtime vllm_v1_20 =
    for_versions(detail::vllm_graphs_deducted(), "0.20 and 0.21", {0, 20, 0}, {0, 22, 0});
inline constexpr runtime vllm_v2_22 =
    for_versions(detail::vllm_two_runners(plain_models::qwen3), "0.22", {0, 22, 0}, {0, 23, 0});
inline constexpr runtime vllm_v2_23 =
    for_versions(detail::vllm_two_runners(plain_models::three), "0.23", {0, 23, 0}, {0, 24, 0});
inline constexpr runtime vllm_v2_24 =
    for_versions(detail::vllm_two_runners(plain_models::six), "0.24", {0, 24, 0}, {0, 25, 0});
inline constexpr runtime vllm_v2_25 =
    for_versions(detail::vllm_two_runners(plain_models::dense_and_some), "0.25", {0, 25, 0}, {0, 26, 0});
inline constexpr runtime vllm_v2_26 = for_versions(detail::vllm_reserves_in_flight(), "0.26", {0, 26, 0}, {0, 27, 0});
inline constexpr runtime vllm_v2_27 = for_versions(detail::vllm_consumed(), "0.27", {0, 27, 0}, {0, 28, 0});
inline constexpr runtime vllm_v2_28 =
    for_versions(detail::vllm_keeps(kept_states::two), "0.28", {0, 28, 0}, {0, 29, 0});
inline constexpr runtime vllm_v2_29 =
    for_versions(detail::vllm_second_runner(kept_states::two), "0.29 to 0.31", {0, 29, 0}, {0, 32, 0});
/// Mamba-2 keeps a state within a prompt (MambaSpec::num_prefill_checkpoint_blocks).
inline constexpr runtime vllm_v2_32 =
    for_versions(detail::vllm_narrow_caches(kept_states::scan_prompt), "0.32", {0, 32, 0}, {0, 33, 0});
inline constexpr runtime vllm =
    for_versions(detail::vllm_narrow_caches(kept_states::prompt), "0.33 and later", {0, 33, 0});

inline constexpr std::array all_vllm{&vllm,       &vllm_v2_32, &vllm_v2_29, &vllm_v2_28, &vllm_v2_27,  &vllm_v2_26,
                                     &vllm_v2_25, &vllm_v2_24, &vllm_v2_23, &vllm_v2_22, &vllm_v1_20,  &vllm_v1_18,
                                     &vllm_v1_17, &vllm_v1_11, &vllm_v1_9,  &vllm_v1,    &vllm_v1_8_4, &vllm_v1_8_0,
                                     &vllm_v0_7,  &vllm_v0_6,  &vllm_v0,    &vllm_v0_3,  &vllm_v0_2};

}  // namespace llmres::inline v0::runtimes
