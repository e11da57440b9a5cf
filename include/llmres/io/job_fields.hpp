// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/storage.hpp>
#include <llmres/io/json/runtime/constant_ref.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/runtime_checks.hpp>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// The keys of a job document, a row each, from which documents are read and written, and the options of the command
/// line, their help and the JSON Schema are made. Bounds stand beside the C++ fields, where validate() has them, too.
namespace llmres::inline v0 {

/// The type of a field.
enum class field_type : std::uint8_t { integer, real, flag, text };

namespace detail {

namespace job_field_rows {
struct owner_id;
}

/// The C++ field that holds a key's value as it is.
struct field_place {
    const job_field_rows::owner_id* owner = nullptr;  ///< of the struct that it is in; null: read and written by hand
    const constant_type* type = nullptr;
    void* (*in)(void*) = nullptr;                       ///< where it is in such a struct
    bool (*equal)(const void*, const void*) = nullptr;  ///< whether two of its values are
    bool always_told = false;  ///< an answer has it always; else where it is not as in a struct that nobody set
};

}  // namespace detail

/// A key of the job document, what it holds and where.
struct job_field {
    /// The object that holds the key: "" for the document itself, "lengths", "adapter", "offload", "layout", "cluster",
    /// "host" (in the cluster), "prefill", "runtime", "rollout", "storage", "checkpoint", "run" or "cost".
    literal object;
    literal group;                          ///< the heading of its flag in the help
    literal name;                           ///< its key, and its flag
    field_type type = field_type::integer;  ///< its type
    double low = 0;   ///< the least number; integers here are powers of two up to 2^62, which a double holds exactly
    double high = 0;  ///< its upper bound
    literal help;     ///< one line for --help
    detail::field_place place{};  ///< the C++ field
};

namespace detail::job_field_rows {

// ---- what a row's C++ field says of it ------------------------------------------------------------------------------

/// Stands for a struct, with the object of the document that holds its fields.
struct owner_id {
    literal object;
};
template <class Owner>
inline constexpr owner_id id_of{};
template <>
inline constexpr owner_id id_of<layout>{"layout"};
template <>
inline constexpr owner_id id_of<adapter>{"adapter"};
template <>
inline constexpr owner_id id_of<offload>{"offload"};
template <>
inline constexpr owner_id id_of<cluster>{"cluster"};
template <>
inline constexpr owner_id id_of<host>{"host"};
template <>
inline constexpr owner_id id_of<runtime>{"runtime"};
template <>
inline constexpr owner_id id_of<serving_options>{"runtime"};
template <>
inline constexpr owner_id id_of<rollout>{"rollout"};
template <>
inline constexpr owner_id id_of<training_run>{"run"};
template <>
inline constexpr owner_id id_of<tariff>{"cost"};
template <>
inline constexpr owner_id id_of<checkpoint_request>{"checkpoint"};
template <>
inline constexpr owner_id id_of<storage>{"storage"};

template <class Owner, class Value>
Owner owner_of(Value Owner::*);

/// The address of a struct's field, or of a field of that field, and so on.
template <auto Field, auto... Inner, class Owner>
constexpr auto* member_of(Owner* owner) {
    auto& member = owner->*Field;
    if constexpr (sizeof...(Inner) == 0)
        return &member;
    else
        return member_of<Inner...>(&member);
}
template <class Owner, auto Field, auto... Inner>
constexpr void* address_of(void* owner) {
    return member_of<Field, Inner...>(static_cast<Owner*>(owner));
}
template <class Owner, auto Field, auto... Inner>
using value_of = std::remove_cvref_t<decltype(*member_of<Field, Inner...>(static_cast<Owner*>(nullptr)))>;

template <class Value>
constexpr bool equal_values(const void* a, const void* b) {
    return *static_cast<const Value*>(a) == *static_cast<const Value*>(b);
}

/// A C++ field, by its name: at<&job::batch>, or at<&runtime::cache, &runtime_cache::block>.
template <auto Field, auto... Inner>
inline constexpr field_place at{.owner = &id_of<decltype(owner_of(Field))>,
                                .type = &constant_type_of<value_of<decltype(owner_of(Field)), Field, Inner...>>,
                                .in = address_of<decltype(owner_of(Field)), Field, Inner...>,
                                .equal = equal_values<value_of<decltype(owner_of(Field)), Field, Inner...>>};

constexpr field_type field_type_of(const constant_type& type) {
    switch (type.kind) {
        case constant_kind::flag: return field_type::flag;
        case constant_kind::whole:
        case constant_kind::bytes:
        case constant_kind::tokens: return field_type::integer;
        case constant_kind::real:
        case constant_kind::seconds: return field_type::real;
        case constant_kind::maybe: return field_type_of(*type.if_known);
        default: return field_type::text;
    }
}

/// Sets the bounds that validate() has for a field, and returns whether there are some.
template <class Numbers>
constexpr bool take_bounds(job_field& f, const Numbers& numbers) {
    for (const auto& n : numbers) {
        const literal path{n.name};  // object.name
        const std::size_t before = f.object.empty() ? 0 : f.object.size() + 1;
        if (path.size() != before + f.name.size() || !path.ends_with(f.name) || !path.starts_with(f.object)) continue;
        f.low = static_cast<double>(n.low);
        f.high = static_cast<double>(n.high);
        return true;
    }
    return false;
}
inline constexpr auto layout_numbers = numbers_of(layout{});
inline constexpr auto cluster_numbers = numbers_of(cluster{});
inline constexpr auto runtime_numbers = numbers_of(no_runtime, serving_options{});
inline constexpr auto runtime_reals = reals_of(serving_options{});
inline constexpr auto serving_numbers = serving_numbers_of(job{});
inline constexpr auto training_numbers = training_numbers_of(job{});
inline constexpr auto job_reals = reals_of(job{});
inline constexpr auto storage_reals = reals_of(storage{});
inline constexpr auto checkpoint_numbers = numbers_of(checkpoint_request{});

/// The row of a C++ field, whose bounds validate() does not have.
consteval job_field field(const field_place& place, literal group, literal name, double low, double high,
                          literal help) {
    return {place.owner->object, group, name, field_type_of(*place.type), low, high, help, place};
}
void number_without_bounds();
/// The row of a C++ field. A number without bounds does not compile.
consteval job_field field(const field_place& place, literal group, literal name, literal help) {
    job_field f = field(place, group, name, 0, 0, help);
    if (f.type == field_type::flag || f.type == field_type::text) return f;
    const bool bounded =
        take_bounds(f, layout_numbers) || take_bounds(f, cluster_numbers) || take_bounds(f, runtime_numbers) ||
        take_bounds(f, runtime_reals) || take_bounds(f, serving_numbers) || take_bounds(f, training_numbers) ||
        take_bounds(f, job_reals) || take_bounds(f, storage_reals) || take_bounds(f, checkpoint_numbers);
    if (!bounded) number_without_bounds();
    return f;
}
/// The row of a C++ field that every answer tells, also where it is as nobody set it.
consteval job_field told(job_field f) {
    f.place.always_told = true;
    return f;
}
/// The row of what is read and written by hand: a name of a table, what sets several C++ fields, or what hangs on
/// others.
consteval job_field by_hand(literal object, literal group, literal name, field_type type, literal help) {
    return {object, group, name, type, 0, 0, help};
}
consteval job_field by_hand(literal object, literal group, literal name, field_type type, double low, double high,
                            literal help) {
    return {object, group, name, type, low, high, help};
}

// ---- the rows -------------------------------------------------------------------------------------------------------

using enum field_type;

inline constexpr double most_bytes = static_cast<double>(std::int64_t{1} << 62);
inline constexpr double most_trained = static_cast<double>(std::int64_t{1} << 61);  // tokens and samples of a run
inline constexpr double most_seconds = 1e12;
inline constexpr double most_money = 1e12;

// clang-format off
inline constexpr std::array all{
    by_hand("", "Job", "task", text,
        "serving, pretraining or finetuning; embedding, reranking or classification: serving with that head; dpo, kto, "
        "orpo, simpo, cpo, reward, gkd, grpo, rloo, reinforce or ppo: finetuning by that method; default: serving"),
    by_hand("", "Job", "head", text,
        "what the model makes of its last layer: embedding, classification, reranking or masked_lm; default: as its "
        "files say"),
    by_hand("", "Job", "labels", integer, 1, 1 << 20, "classes of head classification; default: 2"),
    by_hand("", "Job", "weights", text,
        "precision of the weights, or a GGUF mix such as q4_k_m; default: as published, but q4_k_m under llama.cpp and "
        "Ollama"),
    by_hand("", "Job", "experts_down", text,
        "precision of the routed experts' down projections, where a recipe stores them in another than weights "
        "(llama-quantize --tensor-type ffn_down_exps=TYPE)"),
    told(field(at<&job::compute>, "Job", "compute",
        "precision of the arithmetic and of activations; default: bf16, or fp16 on a GPU that has no bf16 arithmetic; "
        "under huggingface fp32 in training where the weights are. fp8_e4m3 in training: inputs of matrix products are "
        "cast to it (torchao)")),
    told(field(at<&job::attention>, "Job", "attention",
        "attention kernel: eager, sdpa, flash or cudnn; default: sdpa")),
    field(at<&job::expert_load>, "Job", "expert_load",
        "tokens routed to the busiest rank's experts, divided by the mean over ranks; default: 1"),
    field(at<&job::kv_cache>, "Serving", "kv_cache",
        "precision of the KV cache; default: as the checkpoint is calibrated, else compute"),
    field(at<&job::kv_cache_values>, "Serving", "kv_cache_values",
        "precision of the cached values, where it differs from that of the keys; default: as kv_cache"),
    told(field(at<&job::batch>, "Serving", "batch", "sequences in flight; default: 1")),
    field(at<&job::prompt>, "Serving", "prompt", "tokens of a prompt; default: context less output"),
    by_hand("", "Serving", "image", text,
        "WIDTHxHEIGHT in pixels of each image of a prompt: the tokens that the model's processor makes of it are added "
        "to those of prompt, and the vision tower computes its patches"),
    by_hand("", "Serving", "images", integer, 0, most::sequences,
        "images of each prompt; default: 1 where image says their size, else 0"),
    by_hand("", "Serving", "image_patches", integer, 0, most::tokens,
        "patches of each image, whose tokens are among those of prompt; default: of image"),
    told(field(at<&job::output>, "Serving", "output", "tokens generated for each prompt; default: 0")),
    field(at<&job::context>, "Serving", "context",
        "tokens that a sequence may reach; default: prompt + output, or the model's longest"),
    field(at<&job::prefix_hit_rate>, "Serving", "prefix_hit_rate",
        "part of a prompt's tokens that the cache holds from earlier requests (prefix caching), 0 to 1; default: 0"),
    field(at<&job::shared_prefix>, "Serving", "shared_prefix",
        "tokens that all prompts in flight begin with, in the cache once where the runtime shares them; default: 0"),
    field(at<&job::max_batched_tokens>, "Serving", "max_batched_tokens",
        "prompt tokens computed in one step; default: the runtime's"),
    by_hand("lengths", "Serving", "mean", integer, 1, most::tokens,
        "mean tokens of a sequence: the answer says how many such sequences run at once"),
    by_hand("lengths", "Serving", "longest", integer, 1, most::tokens,
        "tokens of the longest sequence; default: lengths_mean"),
    field(at<&job::sequence>, "Training", "sequence",
        "tokens of a training sequence; default: the model's longest context, but at most 2048 in finetuning"),
    field(at<&job::pad_to_multiple_of>, "Training", "pad_to_multiple_of",
        "tokens to a multiple of which each sequence is padded (the collators of transformers and torchtune); "
        "default: 1"),
    told(field(at<&job::micro_batch>, "Training", "micro_batch",
        "sequences that a data-parallel rank computes at once (pairs where preferences are learned); "
        "default: 1")),
    told(field(at<&job::global_batch>, "Training", "global_batch",
        "sequences (or pairs) in one optimizer step; default: one micro-batch for each data-parallel rank")),
    field(at<&job::preference>, "Training", "preference",
        "how preferred answers are learned, two of a prompt a sample: dpo, orpo, simpo, cpo, reward; of single "
        "answers: kto, from a teacher gkd, or from rollouts grpo, rloo, reinforce, ppo; default: none, the next token "
        "is"),
    field(at<&job::reference>, "Training", "reference",
        "where a reference's log-probabilities are from: loaded (another model), offloaded (one in main memory), "
        "adapters_off, precomputed or none; default: of dpo, kto, rloo and ppo adapters_off beside an adapter, else "
        "loaded; of grpo and reinforce none"),
    by_hand("", "Training", "teacher", text,
        "the model whose probabilities gkd learns from, as `model` names one: of as many words as the student"),
    by_hand("", "Training", "teacher_weights", text,
        "precision of the teacher's weights; default: as published"),
    field(at<&job::beta>, "Training", "beta",
        "gkd: the teacher's weight in the mixture that both models are held against, 0 to 1; 0 and 1: each is held "
        "against the other; default: 0.5"),
    by_hand("", "Training", "optimizer", text,
        "adamw, adamw_8bit, adafactor, sgd, lion, muon and others (an unknown name is answered with the nearest); "
        "default: adamw"),
    by_hand("", "Training", "optimizer_in_bwd", flag,
        "each tensor is updated as soon as its gradient exists, which is then freed (torchtune's optimizer_in_bwd)"),
    by_hand("", "Training", "gradients", text, "precision of the gradients; default: as the weights"),
    by_hand("", "Training", "master_weights", text,
        "precision of the optimizer's own copy of the weights, or none; default: fp32 where the weights have 16 bits "
        "or fewer, but none under torchtune, huggingface and litgpt"),
    field(at<&job::optimizer_states>, "Training", "optimizer_states",
        "precision of the optimizer's moments; default: fp32, but under torchtune, huggingface and litgpt as the "
        "weights"),
    told(field(at<&job::recompute>, "Training", "recompute",
        "activations computed a second time in the backward pass: none, selective or full; default: none")),
    by_hand("", "Training", "recompute_modules", text,
        "modules that selective recomputation recomputes: core_attn, layernorm, mla_up_proj, moe_act, mlp, moe, "
        "shared_experts; default: core_attn"),
    told(field(at<&job::recompute_every>, "Training", "recompute_every",
        "n: full recomputation recomputes every n-th layer only; default: 1")),
    told(field(at<&job::autocast>, "Training", "autocast",
        "mixed precision casts weights at each operation; default: true where weights are wider than compute")),
    told(field(at<&job::dropout>, "Training", "dropout",
        "dropout of residuals and attention is on, and its masks are saved")),
    told(field(at<&job::varied_lengths>, "Training", "varied_lengths",
        "samples differ in length: they are cut at sequence, but neither packed nor padded to it")),
    field(at<&job::mean_length>, "Training", "mean_length",
        "mean tokens of a sample before it is cut, with varied_lengths; default: lengths spread evenly up to sequence"),
    told(field(at<&job::ema>, "Training", "ema", "an exponential moving average of the weights is kept in fp32")),
    field(at<&job::mtp_layers>, "Training", "mtp_layers",
        "depths of multi-token prediction that are trained with the model; default: 0"),
    field(at<&job::mtp_use_repeated_layer>, "Training", "mtp_use_repeated_layer",
        "all depths of multi-token prediction share the weights of one layer"),
    field(at<&job::steps>, "Training", "steps",
        "optimizer steps that are taken (in the first, optimizer states are allocated after the backward pass); "
        "default: many"),
    told(field(at<&adapter::kind>, "Adapter", "kind",
        "adapter trained beside the frozen model: lora, rslora, dora, ia3, prompt, llama_adapter or llama_adapter_v2")),
    told(field(at<&adapter::rank>, "Adapter", "rank", 0, 65536,
        "rank of the adapter's factors, default: 8; of prompt and llama_adapter: trained tokens")),
    by_hand("adapter", "Adapter", "targets", text,
        "weights that the adapter is attached to: all-linear, attention, or modules such as q_proj,v_proj; default: "
        "all-linear"),
    field(at<&adapter::experts>, "Adapter", "experts",
        "routed experts are among the targets; default: not where transformers 5 stacks them in bare parameters, "
        "which all-linear does not find"),
    told(field(at<&adapter::dropout>, "Adapter", "dropout", 0, 1, "dropout of the adapter's input; default: 0")),
    told(field(at<&offload::optimizer>, "Offload", "optimizer",
        "where optimizer states and master weights are kept: none (on the GPU), host or nvme; default: none")),
    told(field(at<&offload::parameters>, "Offload", "parameters",
        "where the shards of the weights are kept: none (on the GPU), host or nvme; default: none")),
    told(field(at<&offload::activations>, "Offload", "activations",
        "where activations saved for the backward pass are kept: none (on the GPU), host or nvme; default: none")),
    by_hand("offload", "Offload", "modules", text,
        "modules whose inputs are offloaded to main memory: attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, "
        "expert_fc1, moe_act"),
    told(field(at<&offload::pinned>, "Offload", "pinned",
        "offloaded tensors lie in page-locked memory, in blocks of powers of two")),
    told(field(at<&layout::tensor>, "Layout", "tensor",
        "tensor-parallel ranks: they split every matrix product; default: 1")),
    told(field(at<&layout::sequence_parallel>, "Layout", "sequence_parallel",
        "norms and residuals are split over the tensor-parallel ranks as well")),
    told(field(at<&layout::pipeline>, "Layout", "pipeline",
        "pipeline stages, each with consecutive layers; default: 1")),
    told(field(at<&layout::virtual_pipeline>, "Layout", "virtual_pipeline",
        "chunks of layers that each stage holds in an interleaved schedule; default: 1")),
    told(field(at<&layout::data>, "Layout", "data",
        "data-parallel ranks: each computes its own samples; default: as many as the GPUs have room for")),
    told(field(at<&layout::context_parallel>, "Layout", "context_parallel",
        "context-parallel ranks: they split every sequence; default: 1")),
    told(field(at<&layout::expert>, "Layout", "expert",
        "expert-parallel ranks: they split a layer's routed experts; default: 1")),
    field(at<&layout::expert_tensor>, "Layout", "expert_tensor",
        "tensor-parallel ranks of each routed expert; default: as tensor"),
    told(field(at<&layout::zero>, "Layout", "zero",
        "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too; default: 0")),
    told(field(at<&layout::shard_replicas>, "Layout", "shard_replicas",
        "replicas of the shards that ZeRO makes (hybrid sharding); default: 1")),
    told(field(at<&layout::micro_batch_group>, "Layout", "micro_batch_group",
        "micro-batches that a chunk computes before the next chunk computes any; default: as pipeline")),
    told(field(at<&layout::schedule>, "Layout", "schedule",
        "pipeline schedule: 1f1b, gpipe, zb_h1, zb_h2 or zb_v; default: 1f1b")),
    by_hand("layout", "Layout", "stages", text,
        "layers of each stage or chunk: 20|22|22|16, or as Megatron-Core writes it: Et*3|(tt|)*6mL; default: split "
        "evenly"),
    by_hand("layout", "Layout", "tensor_split", text,
        "layers of each pipeline stage by ratios, 3,1, the head counted as a layer (llama.cpp's --tensor-split)"),
    field(at<&layout::first_stage_layers>, "Layout", "first_stage_layers", 0, most::gpus,
        "layers of the first pipeline stage; default: as the others"),
    field(at<&layout::last_stage_layers>, "Layout", "last_stage_layers", 0, most::gpus,
        "layers of the last pipeline stage; default: as the others"),
    field(at<&layout::embedding_as_layer>, "Layout", "embedding_as_layer",
        "the embedding counts as a layer of the first stage when layers are split over stages"),
    field(at<&layout::loss_as_layer>, "Layout", "loss_as_layer",
        "the loss counts as a layer of the last stage when layers are split over stages"),
    told(field(at<&layout::cp_comm_type>, "Layout", "cp_comm_type",
        "how context-parallel ranks exchange keys and values: p2p, all_gather or a2a; default: p2p")),
    told(field(at<&layout::replicas>, "Layout", "replicas",
        "independent copies of the whole model; default: 1")),
    by_hand("cluster", "Cluster", "gpu", text,
        "a GPU of `llmres gpus`, a MIG slice of one (h100/1g.10gb), or cpu: the host's processor alone"),
    by_hand("cluster", "Cluster", "device", text,
        "in place of gpu: a file of `llmres-probe calibrate`, with the free memory and measured speed of one GPU"),
    by_hand("cluster", "Cluster", "gpu_memory", integer, 1, most_bytes,
        "bytes that processes can allocate on each GPU (CUDA's total), or that an Apple GPU shares with its host; "
        "default: the GPU's own"),
    by_hand("cluster", "Cluster", "gpu_bandwidth", real, 1, 1e18,
        "bytes per second of each GPU's memory; default: the GPU's own"),
    by_hand("cluster", "Cluster", "gpu_flops", real, 1, 1e21,
        "peak dense 16-bit operations per second of each GPU; default: the GPU's own"),
    by_hand("cluster", "Cluster", "gpus", integer, 1, most::gpus,
        "GPUs in the cluster; default: as many as the layout has, or 1"),
    field(at<&cluster::gpus_per_node>, "Cluster", "gpus_per_node",
        "GPUs in one host; default: 8, or as many as one scale-up fabric connects"),
    by_hand("cluster", "Cluster", "scale_up", text, "link between the GPUs of a node; default: the GPU's own"),
    by_hand("cluster", "Cluster", "scale_out", text, "link between nodes, for each GPU; default: ib-ndr-400"),
    field(at<&cluster::gpus_per_adapter>, "Cluster", "gpus_per_adapter",
        "GPUs of a node that share one link to other nodes; default: 1"),
    field(at<&cluster::power_limit>, "Cluster", "power_limit", 1, 100000,
        "watts that each GPU may take, where it is set below the board's own limit (nvidia-smi -pl); default: the "
        "board's"),
    field(at<&cluster::in_use>, "Cluster", "in_use", 0, most_bytes,
        "bytes of each GPU that other processes hold; default: 0"),
    field(at<&host::memory>, "Cluster", "memory", 0, most_bytes, "bytes of a host's main memory; default: unknown"),
    field(at<&host::bandwidth>, "Cluster", "bandwidth", 0, 1e18,
        "bytes per second of a host's main memory, for offloading; default: 34 to 369 GB/s, 164 GB/s expected; beside"
        " a consumer card 34 to 82 GB/s, 61 GB/s expected"),
    field(at<&host::cores>, "Cluster", "cores", 0, most::gpus, "CPU cores of a host; default: unknown"),
    by_hand("host", "Cluster", "link", text,
        "link between a GPU and its host; default: the GPU's PCIe link, not shared"),
    by_hand("runtime", "Runtime", "runtime", text,
        "software that runs the job: a name of `llmres runtimes`, with or without a version (vllm, vllm@0.9.2), or "
        "the FILE.json of a profile; default: none"),
    by_hand("runtime", "Runtime", "gpu_memory_utilization", real, 0, 1,
        "fraction of the GPU that the runtime may use"),
    field(at<&runtime::cache, &runtime_cache::block>, "Runtime", "kv_block", "tokens in a block of the KV cache"),
    field(at<&serving_options::max_num_seqs>, "Runtime", "max_num_seqs",
        "sequences that the runtime computes in one step at most"),
    field(at<&runtime::serving_kernels, &serving_kernels::flash_attention>, "Runtime", "flash_attention",
        "whether the runtime computes attention tile by tile, whatever `attention` says"),
    field(at<&serving_options::gpu_layers>, "Runtime", "gpu_layers",
        "layers on GPUs, counted from the last; the others run on the host; auto: chosen as --fit does; "
        "default: all"),
    by_hand("runtime", "Runtime", "fit", flag,
        "layers, experts and context that are not given are chosen so that 1 GiB of each GPU stays free, as llama.cpp "
        "does"),
    field(at<&runtime::loading, &runtime_loading::embedding_on_host>, "Runtime", "embedding_on_host",
        "the token embedding is read from main memory"),
    field(at<&serving_options::experts_on_host>, "Runtime", "experts_on_host",
        "routed experts are computed by the CPU"),
    field(at<&serving_options::splits_rows>, "Runtime", "split_rows",
        "the GPUs of a pipeline share the rows of each matrix (--split-mode row; builds before b1842 always do)"),
    field(at<&serving_options::backend>, "Runtime", "ggml_backend",
        "ggml's code on GPUs: native (CUDA, HIP, Metal: the vendor's) or vulkan; default: native"),
    field(at<&serving_options::largest_buffer>, "Runtime", "largest_buffer", 0, most_bytes,
        "bytes of the largest single buffer that the driver allocates; default: 4 GiB under vulkan, else any"),
    field(at<&serving_options::max_loras>, "Runtime", "max_loras", "LoRA adapters that are resident at once"),
    field(at<&serving_options::max_lora_rank>, "Runtime", "max_lora_rank",
        "largest rank of the resident LoRA adapters"),
    field(at<&serving_options::encoder_tokens>, "Runtime", "encoder_tokens",
        "image patches that the vision tower computes at once; default: none"),
    field(at<&serving_options::speculates_ahead>, "Runtime", "speculates_ahead",
        "the model's own multi-token prediction layers are loaded, to speculate"),
    field(at<&serving_options::rope_scaling>, "Runtime", "rope_scaling",
        "factor by which the runtime extends the model's own context (YaRN), so that a longer `context` is planned; "
        "default: 1"),
    by_hand("runtime", "Runtime", "draft", text,
        "a draft model for speculative decoding: its weights and KV cache are on the GPUs as well"),
    field(at<&serving_options::draft_tokens>, "Runtime", "draft_tokens",
        "tokens that are drafted for each step, by draft, speculates_ahead or a look-up in the text; default: 0"),
    field(at<&serving_options::acceptance>, "Runtime", "acceptance",
        "part of the drafted tokens that the model accepts, 0 to 1; needed with draft_tokens"),
    field(at<&runtime::kernels, &training_kernels::loss, &training_loss::code>, "Runtime", "loss",
        "training: how the loss is computed: eager, eager_shifted, triton, chunked, fused_linear, vocabulary_parallel"
        " and others"),
    field(at<&runtime::kernels, &training_kernels::scan>, "Runtime", "scan",
        "training: how recurrences are computed: plain, fused (mamba-ssm; flash-linear-attention and causal-conv1d; as "
        "in transformers) or fused_to_gate (as in Megatron-Core)"),
    field(at<&runtime::kernels, &training_kernels::use_fused_weighted_squared_relu>, "Runtime",
        "use_fused_weighted_squared_relu",
        "training: routed experts without a gate apply activation and routing weight in one kernel"),
    field(at<&runtime::allocator, &runtime_allocator::expandable_segments>, "Runtime", "expandable_segments",
        "training: PyTorch's allocator uses expandable segments (PYTORCH_ALLOC_CONF), so that freed blocks join"),
    field(at<&runtime::kernels, &training_kernels::compilation, &compilation::layers>, "Runtime", "compiled",
        "training: layers are compiled by torch.compile, and the loss where the runtime compiles it with them"),
    field(at<&runtime::kernels, &training_kernels::compilation, &compilation::loss>, "Runtime", "compiled_loss",
        "training: an eager or chunked loss is compiled by torch.compile"),
    by_hand("runtime", "Runtime", "fused_norms", flag, "training: each norm is one kernel"),
    by_hand("runtime", "Runtime", "fused_gates", flag,
        "training: activation and product of a gated feed-forward are one kernel (Liger's, where the runtime has none "
        "of its own)"),
    field(at<&runtime::kernels, &training_kernels::experts>, "Runtime", "experts",
        "training: how routed experts are computed: modules (transformers 4), loop, grouped or batched (transformers "
        "5's experts_implementation eager, grouped_mm, batched_mm), dispatched, permuted or sequential"),
    field(at<&runtime::kernels, &training_kernels::checkpointing, &checkpointing::selective>, "Runtime", "selective",
        "training: what selective recomputation recomputes: attention_core, all_but_odd_products or all_but_products;"
        " default: the runtime's"),
    field(at<&runtime::kernels, &training_kernels::checkpointing, &checkpointing::offloads_at_once>, "Runtime",
        "save_on_cpu",
        "training: each offloaded activation goes to the host as it is made (torch.autograd.graph.save_on_cpu)"),
    field(at<&runtime::kernels, &training_kernels::loss, &training_loss::narrow>, "Runtime", "narrow_loss",
        "huggingface, training: the loss reads 16-bit logits as they are (the heads of GPT-2 and "
        "GPT-BigCode before transformers 4.50)"),
    field(at<&runtime::kernels, &training_kernels::loss, &training_loss::holds_outputs>, "Runtime", "holds_outputs",
        "huggingface, training: the training loop keeps what the model returned, its logits too, until the step is "
        "done; transformers' Trainer does not"),
    field(at<&runtime::kernels, &training_kernels::fp32_stream>, "Runtime", "fp32_stream",
        "huggingface, training: embedding, norms and head are fp32 beside 4-bit weights (peft's "
        "prepare_model_for_kbit_training)"),
    field(at<&runtime::kernels, &training_kernels::fp32_adapters>, "Runtime", "fp32_adapters",
        "huggingface, training: adapters are fp32 beside narrower weights (peft's "
        "autocast_adapter_dtype)"),
    field(at<&runtime::loading, &runtime_loading::training, &loaded_for_training::published_reference>, "Runtime",
        "published_reference",
        "huggingface, training: a loaded reference keeps the format of the checkpoint beside wider trained weights "
        "(LLaMA-Factory)"),
    by_hand("runtime", "Runtime", "fused_adapters", flag,
        "huggingface, training: adapters and the products beside them are one function, which saves no mask of dropout "
        "(fms-acceleration's fused ops)"),
    field(at<&runtime::kernels, &training_kernels::four_bit_keeps_inputs>, "Runtime", "four_bit_keeps_inputs",
        "huggingface and litgpt, training: 4-bit products save their inputs (bitsandbytes "
        "before 0.43.2)"),
    field(at<&runtime::kernels, &training_kernels::checkpointing, &checkpointing::reentrant>, "Runtime",
        "use_reentrant",
        "huggingface, training: full recomputation by torch's reentrant checkpoint"),
    field(at<&runtime::kernels, &training_kernels::checkpointing, &checkpointing::inside_units>, "Runtime",
        "checkpoints_inside_units",
        "huggingface, training: checkpoints lie inside FSDP's units (apply_activation_checkpointing "
        "after wrapping)"),
    by_hand("runtime", "Runtime", "fully_shard", flag,
        "huggingface, training: ZeRO 2 and 3 are FSDP2, with units of the embedding and of the head, as transformers "
        "has them unless told otherwise since 5.10; else FSDP1"),
    by_hand("runtime", "Runtime", "gradient_accumulation_fusion", flag,
        "megatron, training: products add weight gradients to their buffer; else each is a tensor first"),
    field(at<&runtime::launches, &runtime_launches::attention>, "Runtime", "attention_kernels",
        "training: tuned (cuDNN, Transformer Engine, FlashAttention 3), flash_2 or flash_1; default: what the runtime "
        "uses"),
    by_hand("runtime", "Runtime", "cuda", integer, 11, 14,
        "training: major version of CUDA that PyTorch was built for: 11 loads all kernels into its context; default: "
        "12 and later"),
    field(at<&runtime::sharding, &training_sharding::reshards_after_forward>, "Runtime", "reshard_after_forward",
        "training: ZeRO 3 frees gathered weights after the forward pass and gathers them again for the backward pass"),
    field(at<&runtime::sharding, &training_sharding::sync_each_batch>, "Runtime", "sync_each_batch",
        "huggingface, litgpt and pytorch, training: ZeRO 2 and 3 (FSDP) shard gradients after each micro-batch; else "
        "they stay whole on each GPU until the last one; default: false for huggingface and litgpt"),
    field(at<&runtime::sharding, &training_sharding::gradient_as_bucket_view>, "Runtime", "gradient_as_bucket_view",
        "huggingface, litgpt and pytorch, training: gradients are views of DDP's buckets; else the buckets are as "
        "large beside them; default: false"),
    field(at<&runtime::kernels, &training_kernels::fp8, &fp8_training::recipe>, "Runtime", "fp8_recipe",
        "training: linear layers compute in fp8 and keep fp8 copies (Transformer Engine): none, delayed, tensorwise, "
        "blockwise or mxfp8; default: none"),
    field(at<&runtime::kernels, &training_kernels::fp8, &fp8_training::param_gather>, "Runtime", "fp8_param_gather",
        "training: with an fp8_recipe, linear weights are stored and gathered in fp8 alone"),
    field(at<&runtime::optimizer, &optimizer_step::layer_wise_param_layout>, "Runtime", "layer_wise_param_layout",
        "training: muon's states are sharded by whole tensors for the layers' matrices alone"),
    field(at<&runtime::pipeline, &training_pipeline::defer_embedding_wgrad_compute>, "Runtime",
        "defer_embedding_wgrad_compute",
        "training: the output head's weight gradient is computed when the pipeline drains"),
    field(at<&runtime::pipeline, &training_pipeline::wgrad_deferral_limit>, "Runtime", "wgrad_deferral_limit", 0,
        most::gpus,
        "training: micro-batches whose head gradient defer_embedding_wgrad_compute defers; default: all"),
    field(at<&runtime::sharding, &training_sharding::deepspeed, &deepspeed_zero::reduce_bucket_size>, "Runtime",
        "reduce_bucket_size", 0, most::tokens,
        "training: gradient values that DeepSpeed reduces at once; default: 5e8"),
    field(at<&runtime::sharding, &training_sharding::deepspeed, &deepspeed_zero::overlap_comm>, "Runtime",
        "overlap_comm",
        "training: DeepSpeed exchanges gradients while the backward pass goes on, with two buckets under ZeRO 1 and 2"),
    field(at<&runtime::sharding, &training_sharding::deepspeed, &deepspeed_zero::sub_group_size>, "Runtime",
        "sub_group_size", 0, most::tokens,
        "training: values that a rank of ZeRO 3 (DeepSpeed) updates at once in the optimizer step; default: 1e9"),
    by_hand("prefill", "Prefill", "gpus", integer, 0, most::gpus,
        "GPUs of their own that compute the prompts (prefill), where the job's GPUs generate (decode); 0: as many as "
        "these"),
    by_hand("prefill", "Prefill", "gpu", text, "the kind of these GPUs; default: as the job's"),
    by_hand("prefill", "Prefill", "tensor", integer, 1, most::gpus,
        "tensor-parallel ranks of these GPUs; default: the planner's choice"),
    by_hand("rollout", "Rollout", "engine", text,
        "grpo, rloo, reinforce, ppo: what generates the answers: vllm, sglang or transformers (the trainer's own "
        "model), or a runtime with what it is asked; default: the trainer's, else vllm"),
    field(at<&rollout::generations>, "Rollout", "generations", 1, most::sequences,
        "answers to each prompt; default: 8, of rloo under trl 2, of reinforce and ppo 1"),
    field(at<&rollout::answers>, "Rollout", "answers", 1, most::sequences,
        "answers of one rollout, over all GPUs; default: those of one optimizer step (global_batch)"),
    by_hand("rollout", "Rollout", "prompt", integer, 1, most::tokens, "tokens of a prompt; default: 512"),
    by_hand("rollout", "Rollout", "output", integer, 1, most::tokens,
        "tokens of the longest answer (max_completion_length); default: 512"),
    field(at<&rollout::mean_output>, "Rollout", "mean_output", 0, most::tokens,
        "tokens of an answer on average; default: all are as long as rollout_output"),
    field(at<&rollout::num_iterations>, "Rollout", "num_iterations", 1, 1024,
        "how often each answer is trained on; default: 1"),
    field(at<&rollout::scores_again>, "Rollout", "scores_again",
        "the trainer computes the log-probabilities of what was generated once more before it trains; default: true "
        "where an engine beside it generates"),
    field(at<&rollout::remove_padding>, "Rollout", "remove_padding",
        "the trainer packs answers, so that its time is that of their mean length, not of the longest; default: true "
        "under verl"),
    by_hand("rollout", "Rollout", "reward", text,
        "trl, openrlhf: the model that scores the answers, on each GPU that trains; default: functions score them"),
    by_hand("rollout", "Rollout", "weights", text, "precision of the engine's weights; default: as published"),
    by_hand("rollout", "Rollout", "kv_cache", text, "precision of the engine's caches; default: the engine's"),
    by_hand("rollout", "Rollout", "tensor", integer, 1, most::gpus,
        "tensor-parallel ranks of the engine; default: 1, each GPU one engine"),
    by_hand("rollout", "Rollout", "gpu_memory_utilization", real, 0, 1,
        "part of each GPU that the engine takes; default: the trainer's for it, else the engine's"),
    by_hand("rollout", "Rollout", "max_num_seqs", integer, 1, most::sequences,
        "sequences that the engine computes at once; default: the trainer's for it, else the engine's"),
    by_hand("rollout", "Rollout", "max_num_batched_tokens", integer, 1, most::tokens,
        "tokens that the engine computes in one step; default: the trainer's for it, else the engine's"),
    field(at<&rollout::sleep>, "Rollout", "sleep",
        "what the engine gives back of the GPUs while others train: awake (nothing), level_1 (caches, and weights to "
        "main memory) or level_2 (both); default: the trainer's, else awake"),
    field(at<&rollout::trainer>, "Rollout", "trainer",
        "what the trainer leaves in main memory while answers are generated: awake (nothing), optimizer or all; "
        "default: awake"),
    by_hand("rollout", "Rollout", "gpus", integer, 1, most::gpus,
        "GPUs of the engine's own; default: it shares those that train"),
    by_hand("rollout", "Rollout", "gpu", text, "the kind of these; default: as those that train"),
    field(at<&rollout::asynchronous>, "Rollout", "asynchronous",
        "the engine generates the next answers on its own GPUs while these are trained on"),
    field(at<&storage::bandwidth>, "Storage", "bandwidth",
        "bytes per second (2GB/s) of the storage, for one node: the answer says how long weights are loaded from it, "
        "and checkpoints written to it"),
    field(at<&storage::total_bandwidth>, "Storage", "total_bandwidth",
        "bytes per second (40GB/s) of a file system that all nodes share; default: each node has its own"),
    field(at<&checkpoint_request::files>, "Storage", "files",
        "training: the process that writes what ranks share of a checkpoint: gathered (one, in whole tensors: "
        "FULL_STATE_DICT) or sharded (each its part); default: the runtime's"),
    field(at<&checkpoint_request::weights_only>, "Storage", "weights_only",
        "training: checkpoints without the optimizer's states (transformers: save_only_model)"),
    field(at<&checkpoint_request::mode>, "Storage", "mode",
        "training: until when a checkpoint stops it: sync (it is written), async or async_with_pinned_mem (it is in "
        "main memory); default: sync"),
    field(at<&checkpoint_request::keep>, "Storage", "keep",
        "training: the last so many checkpoints are kept (save_total_limit, keep_latest_k)"),
    field(at<&training_run::trained>, "Run", "tokens", 1, most_trained,
        "tokens to train on, 15T: the answer says how many steps, days and GPU hours they take"),
    field(at<&training_run::epochs>, "Run", "epochs", 0, 1e9, "passes over the samples; default: 1"),
    field(at<&training_run::samples>, "Run", "samples", 1, most_trained,
        "in place of tokens: samples of an epoch, each a sequence; of rollouts prompts, each with its answers"),
    field(at<&training_run::sample_tokens>, "Run", "sample_tokens", 0, most::tokens,
        "mean tokens of a sample, where samples are packed into sequences; default: a sample is a sequence"),
    field(at<&training_run::mtbf>, "Run", "mtbf", 0, most_seconds,
        "seconds (3h, 2d) between two failures on average, of all GPUs together: the answer says the goodput"),
    field(at<&training_run::gpu_mtbf>, "Run", "gpu_mtbf", 0, most_seconds,
        "in place of mtbf: seconds between two failures of one GPU on average"),
    field(at<&training_run::checkpoint>, "Run", "checkpoint", 0, most_seconds,
        "seconds that training stands still for each checkpoint; default: as storage_bandwidth writes it"),
    field(at<&training_run::checkpoint_interval>, "Run", "checkpoint_interval", 0, most_seconds,
        "seconds of training between two checkpoints; default: the best for mtbf (Daly)"),
    field(at<&training_run::restart>, "Run", "restart", 0, most_seconds,
        "seconds from a failure until training goes on; default: 0"),
    by_hand("cost", "Cost", "currency", text,
        "currency of all prices, as ISO 4217 names it: USD, EUR; default: as prices have it ($2.50/h), else none"),
    field(at<&tariff::gpu_hour>, "Cost", "gpu_hour", 0, most_money,
        "rent of one GPU for an hour, 2.5 or '$2.50/h': the answer says what a run and a million tokens cost"),
    field(at<&tariff::gpu_price>, "Cost", "gpu_price", 0, most_money,
        "price of one GPU that is bought, with its share of a machine; needs gpu_life"),
    by_hand("cost", "Cost", "gpu_life", real, 0, 1000, "years (4y) that a bought GPU is used for"),
    field(at<&tariff::electricity>, "Cost", "electricity", 0, most_money, "price of a kilowatt-hour, $0.12/kWh"),
    field(at<&tariff::pue>, "Cost", "pue", 1, 100,
        "power usage effectiveness of the site: the answer says joules and kilowatt-hours; default: 1"),
    field(at<&tariff::gpu_power>, "Cost", "gpu_power", 0, 1e6,
        "watts that one GPU draws with its share of a machine; default: its board's limit, or power_limit"),
    by_hand("cost", "Cost", "carbon", real, 0, 1e6, "grams of carbon dioxide of a kilowatt-hour, 400g/kWh"),
    by_hand("cost", "Cost", "prices", text,
        "a table of prices (JSON file; in a document the table itself) by GPU and by instance, from which the "
        "cluster's GPU is taken"),
};

// clang-format on

}  // namespace detail::job_field_rows

/// Every key there is, in the order in which people read them. The command line makes a flag of each.
inline constexpr const auto& job_fields = detail::job_field_rows::all;

/// The key of that name in that object; nullptr if there is none.
constexpr const job_field* find_job_field(std::string_view object, std::string_view name) {
    for (const job_field& f : job_fields)
        if (f.object == object && f.name == name) return &f;
    return nullptr;
}

/// The name of a field's flag without the dashes: host_memory, for the object and the key, where the key alone would
/// not say enough.
inline std::string flag_of(const job_field& f) {
    const bool says_whose = f.object == "host" || f.object == "adapter" || f.object == "offload" ||
                            f.object == "lengths" || f.object == "gpu" || f.object == "storage" ||
                            f.object == "checkpoint" || f.object == "rollout" || f.object == "prefill";
    return (says_whose ? std::string{f.object} + "_" : "") + std::string{f.name};
}

}  // namespace llmres::inline v0
