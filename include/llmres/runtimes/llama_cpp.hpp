// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/runtimes/runtime.hpp>
#include <string_view>

/// llama.cpp: one graph, laid out at start for n_ubatch tokens against all cells, in fp32; keys and values go straight
/// to the cache. Its tensors are laid out one by one (memory/serving/ggml; tests/validation/llama_cpp.cpp holds it
/// against b5353 to b11549). Until 2024 its compute buffer on a GPU was the fullest of (logs of b1671 on, to 0.01 MiB)
///     attention   4 ubatch (4 n_embd + n_ctx (n_head + 1))      without flash attention; 3 n_embd until 2024
///     feed-forward  4 ubatch (2 n_embd + 2 n_ff + n_ctx)
///     head        4 ubatch (n_embd + n_vocab)
/// and with layers split over GPUs, four copies of masks and layer inputs beside it. The token table stays on the host.
/// Versions are build numbers: b2824 is {2824}.
namespace llmres::inline v0::runtimes {

namespace detail {

/// Of llama.cpp and of ik_llama.cpp.
inline constexpr std::array both_llama_cpp_knobs{
    knob{"ubatch_size", knob_setting::batched_tokens},  knob{"parallel", knob_setting::sequences},
    knob{"n_gpu_layers", knob_setting::gpu_layers},     knob{"flash_attn", knob_setting::flash_attention},
    knob{"cpu_moe", knob_setting::experts_on_host},     knob{"n_cpu_moe", knob_setting::host_expert_layers},
    knob{"no_op_offload", knob_setting::host_computes}, knob{"no_mmap", knob_setting::no_mapped_weights},
};

inline constexpr auto llama_cpp_knobs = with_knobs(both_llama_cpp_knobs, knob{"swa_full", knob_setting::whole_windows});

/// The fork keeps whole windows without an option for it. Its `--swa-compress` (pull request 2266) is for openPangu,
/// DeepSeek-V4 and Laguna alone, which are not described here.
inline constexpr auto ik_llama_cpp_knobs =
    with_knobs(both_llama_cpp_knobs, knob{"attn_max_batch", knob_setting::latent_part},
               knob{"mla_use", knob_setting::latent_use}, knob{"run_time_repack", knob_setting::repacks_on_host});

/// Names are those of common/arg.cpp. The context is divided over slots, and a head on a GPU counts as a layer of the
/// last (llama-model.cpp: act_gpu_layers).
inline constexpr std::array llama_cpp_words{
    launch_word{"--n-gpu-layers", launch_figure::gpu_layers},
    launch_word{"--n-cpu-moe", launch_figure::host_expert_layers, launch_form::some},
    launch_word{"--cpu-moe", launch_figure::all_experts_on_host, launch_form::words},
    launch_word{"--split-mode row", launch_figure::split_by_rows, launch_form::words},
    launch_word{"--split-mode layer", launch_figure::split_by_layers, launch_form::words},
    launch_word{"--split-mode none", launch_figure::one_gpu_of_several, launch_form::words},
    launch_word{"--ctx-size", launch_figure::context_of_all},
    launch_word{"--parallel", launch_figure::sequences_of_rank},
    launch_word{"--tensor-split", launch_figure::head_on_gpu, launch_form::layers_of_stages},
    launch_word{"--cache-type-k", launch_figure::key_type, launch_form::format},
    launch_word{"--cache-type-v", launch_figure::value_type, launch_form::format},
    launch_word{"--flash-attn on", launch_figure::flash_attention, launch_form::words},
    launch_word{"--flash-attn off", launch_figure::no_flash_attention, launch_form::words},
    launch_word{"--batch-size", launch_figure::batch_of_steps, launch_form::some},
    launch_word{"--ubatch-size", launch_figure::batched_tokens, launch_form::some},
    launch_word{"--embedding", launch_figure::pools, launch_form::words},
    launch_word{"--reranking", launch_figure::reranks, launch_form::words},
    launch_word{"--swa-full", launch_figure::whole_windows, launch_form::words},
    launch_word{"--no-mmap", launch_figure::copied_weights, launch_form::words},
    launch_word{"--rope-scaling yarn --rope-scale", launch_figure::rope_factor, launch_form::part},
    launch_word{"--model-draft DRAFT", launch_figure::draft_model, launch_form::words},
    launch_word{"--draft-max", launch_figure::drafted_tokens, launch_form::some},
};
inline constexpr launcher llama_cpp_launcher{"llama.cpp", "llama-server --model MODEL", llama_cpp_words};

inline constexpr runtime llama_cpp_base{
    .identity{
        .name = "llama.cpp", .work = runtime_work::serving, .knobs = llama_cpp_knobs, .launcher = &llama_cpp_launcher},
    .launches{
        .small_kernels = 8,
        // In-sample. Of the matrix-vector kernels (ggml-cuda's mmv and mmvq, Metal's mul_mv): what 60 rows of
        // generation show on A100, H100 and M1 Max, whose memory could give 1.5 to 2.2 times as much. A product of many
        // tokens is one of three kinds of kernels, by card, build and format (ggml-cuda.cu): their own on quantised
        // weights, cuBLAS's on weights that are dequantised first, in 16 or 32 bits.
        .prompts = {0.7, 1.0, 2.0},
        .stages = stage_overlap::chunks,  // ggml_backend_sched's copies of inputs
        .bytes_a_clock = 6.2,
        .packed = packed_code::dequantised,
    },
    .process{
        // nvidia-smi less the buffers: 0.75 GiB on an RTX 6000 Ada whatever the layers, 0.5 to 1.2 elsewhere. An
        // A100 1.1 to 1.3 GiB less what its driver keeps, an RTX 3090 with a desktop 1.4.
        .context = {mib(250), mib(600), mib(1000)},
        .workspace = {mib(0), mib(100), mib(400)},  // cuBLAS, and pools for dequantised tiles
        .communicator = {},
    },
    .allocator{.code = allocator_code::device},
    .accuracy{.activations = {0.98, 1.0, 1.04}},
    .loading{
        .formats = {format_family::gguf},
        .caches{.formats = {format_family::gguf}, .narrow_values_by_flash = true},
        .embedding_on_host = true,
        .maps_weights = true,
        .host_experts{
            .copied = true,  // ggml_backend_cuda_device_offload_op: from 32 tokens on
        },
        .fetches_quantised = true,
    },
    .cache{.pool = cache_pool::allotted,
           .block = tokens(32),
           .windows = window_cells::whole,
           .expands_latent = true,
           .states = state_cells::wide},
    .step{
        .max_batched_tokens = tokens(512),  // n_ubatch
        .whole_encoded = true,              // tools/server/server-context.cpp: "increase the physical batch size"
        .logits{.rows = scored_tokens::chunk, .bytes = {4.0, 4.0, 4.0}, .to_host = true},
    },
    .serving_kernels{
        .fp32_activations = true,
        .written_in_place = true,
        .graph{.laid_out = true, .all_states = true, .copies_states = true, .flash_block = tokens(256)},
        .attention_mask = true,
        .flash_attention = false,
        .feed_forward_under_logits = true,
        .without_bf16 = bf16_code::takes_fp16,  // ggml-cuda.cu: ggml_cuda_op_mul_mat_cublas
    },
    // --split-mode layer, the default
    .layouts{.tensor = false, .expert = false, .source = "common/arg.cpp: --split-mode is none, layer or row"},
    .devices{.amd = device_support::unmeasured,
             .intel = device_support::unmeasured,
             .gaudi = device_support::absent,
             .google = device_support::absent,
             .aws = device_support::absent,
             .huawei = device_support::unmeasured,
             .cambricon = device_support::absent,
             .hygon = device_support::unmeasured,
             .moore_threads = device_support::unmeasured,
             .source = "docs/build.md: CUDA, Metal, HIP, Vulkan, SYCL, CANN, MUSA"},
};

/// Until b1842 GPUs shared the rows of each matrix, and nothing else (pull request 4766 brought --split-mode).
constexpr runtime llama_cpp_in_rows(runtime r) {
    r.layouts.rows = row_split::always_beside_first;
    return r;
}
/// Until then attention's output took the place of its queries.
constexpr runtime llama_cpp_first() {
    runtime r = llama_cpp_base;
    r.layouts.rows = row_split::beside_first;
    r.launches.stages = stage_overlap::none;  // chunks since pull request 6017, of March 2024
    r.serving_kernels.output_over_query = true;
    r.serving_kernels.graph.laid_out = false;
    return r;
}
/// Since March 2024 GPUs take turns at micro-batches (pull request 6017).
constexpr runtime llama_cpp_turns() {
    runtime r = llama_cpp_base;
    r.step.copies = 4;
    return r;
}
/// With --split-mode row the first GPU had all but the matrices until pull request 10026, of 30 October 2024; which
/// build was its first is not known here, so profiles up to b4000 count as before it.
constexpr runtime llama_cpp_main_gpu() {
    runtime r = llama_cpp_turns();
    r.layouts.rows = row_split::beside_first;
    return r;
}
/// Since April 2025 latent attention reads its cache as it is (12801). Until January 2026 (19067) values had a cache of
/// their own beside it: 68 MiB where the latent takes 36, as b6900 prints. Which build was the first without is not
/// known here, so profiles up to b9479 count them.
constexpr runtime llama_cpp_latent() {
    runtime r = llama_cpp_turns();
    // Their own kernels for quantised weights came in June 2024 (pull request 8075), which build is not known here;
    // what they reach is measured under b11549 (tests/validation/llama_cpp_jobs.cpp).
    r.launches.packed = packed_code::ggml;
    // Prompts have no CUDA graphs: 0.5 to 0.8 ms a layer of 1B on an H100's host.
    r.launches.eager_layer = {microseconds(500), microseconds(720), microseconds(1000)};
    r.serving_kernels.latent.absorbed = true;
    r.cache.expands_latent = false;
    r.cache.latent_values = true;
    return r;
}
/// Since May 2025 windowed layers keep window and micro-batch only (13194).
constexpr runtime llama_cpp_windows() {
    runtime r = llama_cpp_latent();
    r.cache.windows = window_cells::window_batch;
    return r;
}
/// Since August 2025 flash attention wherever the device has it (15434: `-fa auto`).
constexpr runtime llama_cpp_flash() {
    runtime r = llama_cpp_windows();
    r.serving_kernels.flash_attention = true;
    r.serving_kernels.graph = {.laid_out = true, .gated_apart = true, .value_rows = true, .flash_block = tokens(256)};
    return r;
}
/// For a week of October and November 2025 caches were not padded (16812, until 17046), as b6900 prints. The build of
/// either is not known here; later profiles pad. Since September 2025 a graph's buffer is several where the driver
/// allocates none as large (15815); profiles up to b6888 count it as one.
constexpr runtime llama_cpp_unpadded() {
    runtime r = llama_cpp_flash();
    r.cache.block = tokens(1);
    r.serving_kernels.graph.flash_block = {};
    r.allocator.splits_buffers = true;
    return r;
}
/// Since November 2025 the server has four slots where `--parallel` names no other number, which share all cells
/// (16736). Windows and recurrent states are there once a slot. Since December it takes fewer layers or a shorter
/// context where what it was not told does not leave 1 GiB free (16653: `--fit`); a plan is of what it was told, and of
/// what fits where the job asks for that (answers/capacity.hpp, fit_to_memory()).
constexpr runtime llama_cpp_slots() {
    runtime r = llama_cpp_flash();
    r.allocator.splits_buffers = true;
    r.loading.fits_memory = true;
    r.cache.block = tokens(256);  // whatever the kernel (17046)
    r.serving_kernels.graph.flash_block = {};
    r.step.max_num_seqs = 4;
    r.serving_kernels.graph.values_first = true;
    r.serving_kernels.graph.inputs_of_embedding = 1;
    return r;
}
/// Without the values' cache of latent attention: b8672 and later (llama_cpp_latent). Quantised keys and values are
/// rotated since April 2026 (21038), and states of all slots pass the graph. Since the end of 2025 `--n-gpu-layers`
/// brings the head to a GPU before the layers (18148); the build is not known here, so profiles up to b8671 do not.
constexpr runtime llama_cpp_keys_alone() {
    runtime r = llama_cpp_slots();
    r.cache.latent_values = false;
    r.loading.head_first = true;
    r.serving_kernels.graph.rotates_quantised = true;
    r.serving_kernels.graph.all_states = true;
    // Pull request 19378, of April 2026, which calls it experimental: for some architectures, with flash attention.
    r.layouts.untried.tensor = true;
    r.layouts.source = "common/arg.cpp: --split-mode is none, layer, row or, EXPERIMENTAL, tensor";
    return r;
}
/// Since June 2026 the server makes room for the scores of one token a slot, not of a whole micro-batch (23861; between
/// b9452 and b9479). Layers are the fullest then, and no log of them was found.
constexpr runtime llama_cpp_last_scores() {
    runtime r = llama_cpp_keys_alone();
    r.step.logits.rows = scored_tokens::last;
    r.serving_kernels.graph.narrow_masks = true;
    r.accuracy.activations = {0.98, 1.0, 1.04};
    return r;
}
/// Between b11063 and b11549 embeddings and tokens were given in one batch.
constexpr runtime llama_cpp_mixed_inputs() {
    runtime r = llama_cpp_last_scores();
    r.serving_kernels.graph.inputs_of_embedding = 2;
    return r;
}

/// ik_llama.cpp, the fork for latent attention and experts on the host: full cells, no copies for taking turns beyond
/// masks and inputs, and with -mla 2 or 3 keys and values expanded for the whole context, or without flash attention
/// scores of the latent (build_deepseek2), in parts of -amb MiB (256
/// since August 2026, all at once until then; its guides give 512). Versions are build numbers, as llama.cpp's.
constexpr runtime ik_llama_cpp_as(std::string_view versions, std::int32_t since, std::int32_t before) {
    runtime r = for_versions(llama_cpp_flash(), versions, {since}, {before});
    r.identity.name = "ik_llama.cpp";
    r.identity.knobs = ik_llama_cpp_knobs;
    r.identity.launcher = nullptr;
    r.loading.formats = {format_family::gguf, format_family::gguf_ik};
    r.loading.caches = {.formats = r.loading.formats};  // latent attention caches quantised latents without -fa
    r.cache.windows = window_cells::whole;
    r.cache.latent_values = false;
    r.serving_kernels.graph = {.laid_out = true, .flash_block = tokens(256)};
    r.serving_kernels.latent.expanded = r.serving_kernels.latent.scores = mib(before == 0 ? 256 : 512);
    r.serving_kernels.latent.copies_values = true;
    r.serving_kernels.latent.expands_all = since < 4156;  // commit b85a2a5
    r.loading.host_experts.fused_gates = true;
    // Pull request 405 added what is fused to what comes from the host (until then, the way down alone), 520 counts by
    // expert.
    r.loading.host_experts.copied = since >= 3683;
    r.loading.host_experts.copied_by_expert = since >= 3745;
    r.accuracy.activations = {0.95, 1.0, 1.15};
    r.devices.apple = device_support::unmeasured;
    r.devices.huawei = r.devices.hygon = r.devices.moore_threads = device_support::absent;
    r.devices.source = "README.md: CUDA and CPUs are maintained; Metal, ROCm and Vulkan may work";
    // Since December 2025 (pull request 1022), in the middle of b3745 to b4155.
    if (since >= 3745) r.layouts.untried.tensor = true;
    if (since >= 3745) r.layouts.source = "common/common.cpp: --split-mode is none, layer, row or graph";
    return r;
}

}  // namespace detail

inline constexpr runtime llama_cpp_2023 =
    for_versions(detail::llama_cpp_in_rows(detail::llama_cpp_first()), "b1600 to b1841", {}, {1842});
inline constexpr runtime llama_cpp_2399 = for_versions(detail::llama_cpp_first(), "b1842 to b2399", {1842}, {2400});
inline constexpr runtime llama_cpp_2024 = for_versions(detail::llama_cpp_main_gpu(), "b2400 to b4000", {2400}, {4001});
inline constexpr runtime llama_cpp_5139 = for_versions(detail::llama_cpp_turns(), "b4001 to b5139", {4001}, {5140});
inline constexpr runtime llama_cpp_5426 = for_versions(detail::llama_cpp_latent(), "b5140 to b5426", {5140}, {5427});
inline constexpr runtime llama_cpp_2025 = for_versions(detail::llama_cpp_windows(), "b5427 to b6324", {5427}, {6325});
inline constexpr runtime llama_cpp_6888 = for_versions(detail::llama_cpp_flash(), "b6325 to b6888", {6325}, {6889});
inline constexpr runtime llama_cpp_6929 = for_versions(detail::llama_cpp_unpadded(), "b6889 to b6929", {6889}, {6930});
inline constexpr runtime llama_cpp_8671 = for_versions(detail::llama_cpp_slots(), "b6930 to b8671", {6930}, {8672});
inline constexpr runtime llama_cpp_9479 =
    for_versions(detail::llama_cpp_keys_alone(), "b8672 to b9479", {8672}, {9480});
inline constexpr runtime llama_cpp_11063 =
    for_versions(detail::llama_cpp_last_scores(), "b9480 to b11063", {9480}, {11064});
inline constexpr runtime llama_cpp = for_versions(detail::llama_cpp_mixed_inputs(), "b11064 and later", {11064});

inline constexpr runtime ik_llama_cpp = detail::ik_llama_cpp_as("b4156 and later", 4156, 0);
inline constexpr runtime ik_llama_cpp_4155 = detail::ik_llama_cpp_as("b3745 to b4155", 3745, 4156);
inline constexpr runtime ik_llama_cpp_3744 = detail::ik_llama_cpp_as("b3683 to b3744", 3683, 3745);
inline constexpr runtime ik_llama_cpp_3682 = detail::ik_llama_cpp_as("b3500 to b3682", 3500, 3683);

inline constexpr std::array all_llama_cpp{&llama_cpp,      &llama_cpp_11063,   &llama_cpp_9479,    &llama_cpp_8671,
                                          &llama_cpp_6929, &llama_cpp_6888,    &llama_cpp_2025,    &llama_cpp_5426,
                                          &llama_cpp_5139, &llama_cpp_2024,    &llama_cpp_2399,    &llama_cpp_2023,
                                          &ik_llama_cpp,   &ik_llama_cpp_4155, &ik_llama_cpp_3744, &ik_llama_cpp_3682};

}  // namespace llmres::inline v0::runtimes
