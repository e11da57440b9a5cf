// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What an engine adds to the tensors: its context, its workspaces, the way it hands out and holds on to memory.
/// Each constant of a profile (runtimes/*.hpp) names its source, and a profile is true for the versions it names.
namespace llmres::inline v0 {

/// Numbers of a release, or of a build: "0.8.5.post1" is {0, 8, 5}, "b2824" is {2824}.
struct engine_version {
    std::int32_t major = 0;
    std::int32_t minor = 0;
    std::int32_t patch = 0;
    friend constexpr auto operator<=>(const engine_version&, const engine_version&) = default;
};

/// How an engine comes by the memory of its cache.
enum class cache_pool : std::uint8_t {
    grows,               ///< with each token, or for this job exactly
    allotted,            ///< at start, for all sequences at their full context, as one run of cells (llama.cpp)
    share_of_total,      ///< what weights and a profiling run leave of a fraction of the device (vLLM)
    share_with_weights,  ///< weights and cache are a fraction of what was free at start (SGLang)
    share_of_free,       ///< a fraction of what is free once all else is there (TensorRT-LLM, LMDeploy)
};

/// Tokens that are kept of a layer that looks back over a window only.
enum class window_cells : std::uint8_t {
    window,        ///< the window
    whole,         ///< the whole context
    window_batch,  ///< the window, and the tokens computed in one step (llama.cpp)
    longer_part,   ///< prompt or output, whichever is longer: older tokens roll out of the cache (AutoAWQ to 0.1)
};

/// Positions whose scores over the vocabulary are alive at once.
enum class scored_tokens : std::uint8_t {
    last,      ///< one a sequence of the job
    profiled,  ///< one a sequence that the engine admits: its profiling run scores max_num_seqs
    chunk,     ///< all tokens computed in one step
    prompt,    ///< all tokens of all prompts
};

/// Images that an engine's profiling run makes of models that see.
enum class profiled_images : std::uint8_t {
    none,
    tower,  ///< as many of the largest as make the tokens of a step, and at least one, pass the tower
    whole,  ///< one of the largest passes the tower, and its tokens the layers
};

/// Tables of rotary positions that stay on the GPU, in 16 bit where nothing else is said.
enum class rope_tables : std::uint8_t {
    computed,  ///< none: made anew in each step
    shared,    ///< one a model, cosines and sines of half a head's width each (vLLM)
    own,       ///< every layer its own, both of the whole width (transformers to 4.44)
    cached,    ///< every layer its own, complex numbers of two fp32, for twice the tokens its cache has room for
               ///< (AutoAWQ)
};

/// What an engine takes by itself on devices of a size and more.
struct device_default {
    byte_count from{};                 ///< 0: there is no such class
    token_count max_batched_tokens{};  ///< 0: as below that size
    std::int64_t max_num_seqs = 0;     ///< likewise
};

/// Up to three such classes, ascending. (GCC 12 leaves unset what a list of elements omits; here none is omitted.)
constexpr std::array<device_default, 3> device_classes(device_default first = device_default{},
                                                       device_default second = device_default{},
                                                       device_default third = device_default{}) {
    return {first, second, third};
}

/// What an engine is for.
enum class engine_work : std::uint8_t { any, serving, training };

struct runtime {
    text<23> name{};
    engine_work work = engine_work::any;
    text<31> versions{};      ///< the versions the constants were taken from
    engine_version since{};   ///< the first of them
    engine_version before{};  ///< the first that they no longer hold for; zero: none known

    // Per GPU, whatever the job.
    interval<byte_count> context{};           ///< CUDA context and loaded kernels
    interval<byte_count> workspace{};         ///< library handles: cuBLAS, attention kernels
    interval<byte_count> expert_workspace{};  ///< of routed experts' grouped products
    /// NCCL, once for each group of more than one rank that the GPU is in. When serving it is a pair's, and as much
    /// again for each doubling of it: 0.48 to 0.72 GiB for two ranks (vLLM's logs), 1.45 for eight (ml-engineering,
    /// after the first barrier).
    interval<byte_count> communicator{};
    bool communicator_once = false;  ///< it was measured whole, whatever the group; stages of a pipeline have theirs
                                     ///< before the engine looks (vLLM from 0.11.1)
    /// On Hopper and Blackwell, where nothing but a layer is split: all-reduces joined with the norm behind them
    /// (vLLM's fuse_allreduce_rms).
    interval<byte_count> fused_all_reduce{};

    /// What the allocator holds beyond what it handed out, as a part of the latter.
    interval<double> fragmentation{};
    interval<double> joined_fragmentation{0.0, 0.01, 0.06};  ///< the same with expandable segments
    bool expandable_segments =
        false;  ///< PYTORCH_ALLOC_CONF=expandable_segments:True: freed blocks join, whatever they were asked for
    interval<double>
        churn{};  ///< training: the same as a part of activations, which come and go (logits are few and large)
    bool segments =
        false;  ///< tensors of 10 MiB and more are segments in steps of 2 MiB, a tail of up to 1 MiB included (PyTorch)
    bool hoards = false;  ///< blocks of one phase are kept while the next asks for others: peaks add up in what is held

    // The cache. Engines that allot a pool at start take a fraction, each by a name of its own.
    cache_pool pool = cache_pool::grows;
    maybe<double> gpu_memory_utilization{};  ///< that fraction; of the visible memory with pool `share_of_total`
    /// The fraction that the engine chooses where none is named: for a device (nvidia-smi's total), the tokens of its
    /// step and how many GPUs share a layer and the layers.
    double (*default_fraction)(byte_count device, token_count step, std::int32_t tensor,
                               std::int32_t pipeline) = nullptr;
    text<31> fraction_name{"gpu_memory_utilization"};
    bool refuses_less = false;     ///< does not start where less than the fraction of the whole is free
    bool graphs_deducted = false;  ///< CUDA graphs count into the fraction; else they come on top
    token_count kv_block{};        ///< tokens a cache block holds; 0: caches grow token by token
    window_cells windows = window_cells::window;
    bool whole_batches =
        false;  ///< all prompts pass before the first token is made: until then the cache holds no more
    std::int32_t cache_copies =
        1;  ///< of the whole cache while a token is added: what a step hands on beside what it read

    // What is computed in one step.
    token_count max_batched_tokens{};  ///< prompt tokens in one step; 0: a whole prompt
    std::int64_t max_num_seqs = 0;     ///< sequences in one step; 0: the engine's default, or those of the job
    std::int64_t default_max_num_seqs = 0;
    std::array<device_default, 3> larger_devices =
        device_classes();        ///< the defaults of both from a size on, ascending
    bool a100_is_small = false;  ///< larger_devices leaves the A100 out (vLLM)
    token_count
        chunked_beyond{};   ///< contexts up to this are computed whole, in at least 2048 tokens; 0: chunks always
    bool profiles = false;  ///< runs the largest step at start, and counts its peak whatever the job is
    profiled_images images = profiled_images::none;  ///< of that run

    // The peak of a step, as factors of the inventory in inventory/activation.hpp.
    bool fp32_activations = false;  ///< whatever the weights are in (ggml)
    bool written_in_place = false;  ///< keys and values go straight to the cache, products over their factors (ggml)
    bool latent_absorbed = false;   ///< latent attention reads its cache as it is: queries and outputs are made as wide
                                    ///< as the latent (ggml)
    byte_count latent_expanded{};  ///< latent attention expands keys and values of the whole context, heads in parts of
                                   ///< at most this in fp32
    bool expands_all = false;      ///< all parts before the first of them is read
    bool laid_out = false;  ///< the step's tensors in the graph's order, each in the hole that fits it (ggml-alloc.c);
                            ///< else the fuller half of a layer
    bool output_over_query = false;  ///< attention's output takes the place of its queries
    bool attention_mask = false;     ///< tokens x context: fp32, or 16 bit with flash attention (ggml)
    maybe<bool> flash_attention{};   ///< overrides the job's `attention`
    std::int32_t more_hidden = 0;    ///< vectors of the hidden width beside the inventory's
    bool dequantises = false;  ///< one matrix at a time, the head's as well, to 16 bit in a buffer of its own (ExLlama)
    std::int32_t dequantised_from = 0;            ///< where that many rows or more pass at once
    std::int32_t score_bytes = 4;                 ///< a pair of tokens and head, where attention is eager
    interval<double> activations{1.0, 1.0, 1.0};  ///< the truth over the inventory's sum
    interval<double> logits{};                    ///< training: the same of logits alone, where it is known better
    scored_tokens scored = scored_tokens::last;
    bool scores_return =
        false;  ///< GPUs that take turns at layers hand the scores, in fp32, back to the first (accelerate)
    interval<double> logits_bytes{6.0, 6.0, 6.0};  ///< alive for each score, the sampler's sort included
    interval<double> chunked_logits_bytes{};       ///< the same where `chunked_beyond` was passed; zero: the same
    interval<double>
        dense_logits_bytes{};        ///< the same of models without routed experts and recurrences; zero: the same
    double few_logits_bytes = 0.0;   ///< more of them where fewer than 128 rows are scored
    std::int32_t scored_hidden = 0;  ///< vectors of the hidden width beside each row that is scored
    std::int32_t filter_rows =
        0;  ///< rows of scores in fp32 that a kernel filters in, where 8 and more are scored: one a multiprocessor
    byte_count product_workspace{};  ///< of matrix products, from torch's allocator and so in its peak
                                     ///< (CUDABlas.cpp: 8.1 MiB, 32 from Hopper on)
    bool keeps_expert_scratch =
        false;  ///< what routed experts were computed in stays while scores are made (vLLM's WorkspaceManager)
    std::int32_t step_copies =
        1;  ///< of inputs and masks, where GPUs take turns at layers (ggml: GGML_SCHED_MAX_COPIES)
    interval<byte_count> cuda_graphs{};   ///< captured after start
    interval<byte_count> layer_graphs{};  ///< the same of each layer, beside those

    // The weights, and where they are.
    rope_tables rope = rope_tables::computed;  ///< of every position up to the model's context
    bool embedding_on_host = false;            ///< the token table is read from main memory
    maybe<std::int32_t>
        gpu_layers{};              ///< the last n layers and, if n exceeds them, the head are on GPUs; all by default
    bool experts_on_host = false;  ///< routed experts are computed by the CPU (llama.cpp: --cpu-moe)
    std::int32_t host_expert_layers = 0;  ///< of that many first layers only (llama.cpp: --n-cpu-moe); 0: of all
    bool copies_experts = false;    ///< but in steps of 32 tokens and more one stack of them at a time comes to the GPU
    bool copies_by_expert = false;  ///< in steps of 32 tokens an expert and more
    bool fused_gates = false;  ///< gate and up are one operation: two stacks at a time, or none (ik_llama.cpp: -fmoe)
    bool head_again =
        false;  ///< quantised checkpoints of tied models may hold the head beside the embedding; FP8 ones do
    bool scales_mxfp4_again =
        false;  ///< experts in MXFP4 keep their scales beside those that were put in the kernels' order
    bool pads_mxfp4 =
        false;  ///< experts in MXFP4 are padded to 128 inner and 256 outer features, where kernels ask for it
    bool fuses_projections =
        false;  ///< queries, keys and values are one tensor, gate and up another: `segments` rounds the whole
    bool joins_projections =
        false;  ///< queries, keys and values are joined in new tensors, the old ones freed when all are (AutoAWQ)
    double repacked = 0.0;  ///< the part of quantised weights that kernels may hold again, fused or in another order
    bool towers_everywhere =
        false;  ///< each stage of a pipeline has vision and audio towers, though the first alone runs them

    // What a job may ask of it beside the model.
    std::int64_t max_loras = 0;  ///< adapters that are resident at once
    std::int64_t max_lora_rank = 16;
    bool speculates_ahead = false;  ///< the model's own prediction layers are loaded, and keep a cache
    byte_count draft_weights{};    ///< of a draft model (jobs/draft.hpp), split by the tensor ranks as the model is, on
                                   ///< the last stage
    bytes_per_token draft_kv{};    ///< of its cache, likewise
    token_count encoder_tokens{};  ///< patches that pass the vision tower at once, whatever the job's

    training_engine training{};  ///< how it writes what it trains

    friend constexpr bool operator==(const runtime& a, const runtime& b) {
        return a.name == b.name && a.versions == b.versions;
    }
};

/// True if the cache is a fraction of the device, and the engine has a knob for it.
constexpr bool takes_fraction(const runtime& r) {
    return r.pool == cache_pool::share_of_total || r.pool == cache_pool::share_with_weights ||
           r.pool == cache_pool::share_of_free;
}
/// A profile as that of some versions: from `since` on, and up to `before` where that is known.
constexpr runtime for_versions(runtime r, std::string_view versions, engine_version since, engine_version before = {}) {
    r.versions = versions;
    r.since = since;
    r.before = before;
    return r;
}
/// Names the tokens of a step, whatever the device.
constexpr void set_batched_tokens(runtime& r, token_count step) {
    r.max_batched_tokens = step;
    if (r.chunked_beyond > step) r.chunked_beyond = step;
    for (device_default& d : r.larger_devices) d.max_batched_tokens = {};
}

/// Ideal bytes: tensors and nothing else.
inline constexpr runtime no_runtime{.name = "none"};

/// The version that a text begins with: "0.8.5.post1", "v0.8", "b2824", "build 2824 (4426e298)"; none where it begins
/// with no number, and for a date ("2024-04"), which numbers no release.
constexpr maybe<engine_version> read_version(std::string_view written) {
    for (const std::string_view head : {"build ", "v", "b"})
        if (written.starts_with(head)) {
            written.remove_prefix(head.size());
            break;
        }
    const std::size_t digits = written.find_first_not_of("0123456789");
    const std::string_view rest = digits == std::string_view::npos ? std::string_view{} : written.substr(digits);
    if (written.empty() || digits == 0 ||
        (rest.starts_with('-') && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9'))
        return {};
    engine_version found;
    std::int32_t* const parts[] = {&found.major, &found.minor, &found.patch};
    std::size_t at = 0;
    for (std::int32_t* part : parts) {
        while (at < written.size() && written[at] >= '0' && written[at] <= '9' && *part < 100'000'000)
            *part = *part * 10 + (written[at++] - '0');
        if (at >= written.size() || written[at] != '.') break;
        ++at;
    }
    return found;
}
/// The same; zero where there is none.
constexpr engine_version to_version(std::string_view written) { return read_version(written).value_or({}); }

/// True if the profile is meant for that version.
constexpr bool covers(const runtime& r, engine_version asked) {
    return r.since <= asked && (r.before == engine_version{} || asked < r.before);
}

}  // namespace llmres::inline v0
