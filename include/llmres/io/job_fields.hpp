// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>

/// The keys of a job document, in one place for its reader, the command line and their help.
namespace llmres::inline v0 {

/// The type of a field.
enum class field_type : std::uint8_t { integer, real, flag, text };

/// A key of the job document, what it holds and where.
struct job_field {
    /// The object that holds the key: "" for the document itself, "lengths", "adapter", "offload", "layout", "cluster",
    /// "host" (in the cluster) or "runtime".
    literal object;
    literal group;                          ///< the heading of its flag in the help
    literal name;                           ///< its key, and its flag
    field_type type = field_type::integer;  ///< its type
    double low = 0;   ///< the least number; integers here are powers of two up to 2^62, which a double holds exactly
    double high = 0;  ///< its upper bound
    literal help;     ///< one line for --help
};

// clang-format off
namespace detail::job_field_rows {

using enum field_type;
// The bounds that validate() has for the C++ values.
inline constexpr double most_sequences = 1 << 24;
inline constexpr double most_global_batch = static_cast<double>(std::int64_t{1} << 32);
inline constexpr double most_tokens = static_cast<double>(std::int64_t{1} << 40);
inline constexpr double most_bytes = static_cast<double>(std::int64_t{1} << 62);
inline constexpr double most_gpus = 1 << 20;
inline constexpr double most_layers = 256;

inline constexpr std::array all{
    job_field{"", "Job", "task", text, 0, 0, "serving, pretraining or finetuning; default: serving"},
    job_field{"", "Job", "weights", text, 0, 0,
        "precision of the weights, or a GGUF mix such as q4_k_m; default: as published, but q4_k_m under llama.cpp and "
        "Ollama"},
    job_field{"", "Job", "experts_down", text, 0, 0,
        "precision of the routed experts' down projections, where a recipe stores them in another than weights "
        "(llama-quantize --tensor-type ffn_down_exps=TYPE)"},
    job_field{"", "Job", "compute", text, 0, 0,
        "precision of the arithmetic and of activations; default: bf16, or fp16 on a GPU that has no bf16 arithmetic. "
        "fp8_e4m3 in training: inputs of matrix products are cast to it (torchao)"},
    job_field{"", "Job", "attention", text, 0, 0, "attention kernel: eager, sdpa, flash or cudnn; default: sdpa"},
    job_field{"", "Job", "expert_load", real, 1, 1024,
        "tokens routed to the busiest rank's experts, divided by the mean over ranks; default: 1"},
    job_field{"", "Serving", "kv_cache", text, 0, 0, "precision of the KV cache; default: as compute"},
    job_field{"", "Serving", "kv_cache_values", text, 0, 0,
        "precision of the cached values, where it differs from that of the keys; default: as kv_cache"},
    job_field{"", "Serving", "batch", integer, 1, most_sequences, "sequences in flight; default: 1"},
    job_field{"", "Serving", "prompt", integer, 1, most_tokens, "tokens of a prompt; default: context less output"},
    job_field{"", "Serving", "output", integer, 0, most_tokens, "tokens generated for each prompt; default: 0"},
    job_field{"", "Serving", "context", integer, 1, most_tokens,
        "tokens that a sequence may reach; default: prompt + output, or the model's longest"},
    job_field{"", "Serving", "prefix_hit_rate", real, 0, 1,
        "part of a prompt's tokens that the cache holds from earlier requests (prefix caching), 0 to 1; default: 0"},
    job_field{"", "Serving", "shared_prefix", integer, 0, most_tokens,
        "tokens that all prompts in flight begin with, in the cache once where the runtime shares them; default: 0"},
    job_field{"", "Serving", "max_batched_tokens", integer, 0, most_tokens,
        "prompt tokens computed in one step; default: the runtime's"},
    job_field{"lengths", "Serving", "mean", integer, 1, most_tokens,
        "mean tokens of a sequence: the answer says how many such sequences run at once"},
    job_field{"lengths", "Serving", "longest", integer, 1, most_tokens,
        "tokens of the longest sequence; default: lengths_mean"},
    job_field{"", "Training", "sequence", integer, 1, most_tokens,
        "tokens of a training sequence; default: the model's longest context, but at most 2048 in finetuning"},
    job_field{"", "Training", "micro_batch", integer, 1, most_sequences,
        "sequences that a data-parallel rank computes at once; default: 1"},
    job_field{"", "Training", "global_batch", integer, 0, most_global_batch,
        "sequences in one optimizer step; default: one micro-batch for each data-parallel rank"},
    job_field{"", "Training", "optimizer", text, 0, 0,
        "adamw, adamw_8bit, adafactor, sgd, lion, muon and others (an unknown name is answered with the nearest); "
        "default: adamw"},
    job_field{"", "Training", "optimizer_in_bwd", flag, 0, 0,
        "each tensor is updated as soon as its gradient exists, which is then freed (torchtune's optimizer_in_bwd)"},
    job_field{"", "Training", "gradients", text, 0, 0, "precision of the gradients; default: as the weights"},
    job_field{"", "Training", "master_weights", text, 0, 0,
        "precision of the optimizer's own copy of the weights, or none; default: fp32 where the weights have 16 bits "
        "or fewer, but none under torchtune, huggingface and litgpt"},
    job_field{"", "Training", "optimizer_states", text, 0, 0,
        "precision of the optimizer's moments; default: fp32, but under torchtune, huggingface and litgpt as the "
        "weights"},
    job_field{"", "Training", "recompute", text, 0, 0,
        "activations computed a second time in the backward pass: none, selective or full; default: none"},
    job_field{"", "Training", "recompute_modules", text, 0, 0,
        "modules that selective recomputation recomputes: core_attn, layernorm, mla_up_proj, moe_act, mlp, moe, "
        "shared_experts; default: core_attn"},
    job_field{"", "Training", "recompute_every", integer, 1, most_layers,
        "n: full recomputation recomputes every n-th layer only; default: 1"},
    job_field{"", "Training", "autocast", flag, 0, 0,
        "mixed precision casts weights at each operation; default: true where weights are wider than compute"},
    job_field{"", "Training", "dropout", flag, 0, 0,
        "dropout of residuals and attention is on, and its masks are saved"},
    job_field{"", "Training", "varied_lengths", flag, 0, 0,
        "samples differ in length: they are cut at sequence, but neither packed nor padded to it"},
    job_field{"", "Training", "mean_length", integer, 0, most_tokens,
        "mean tokens of a sample before it is cut, with varied_lengths; default: lengths spread evenly up to sequence"},
    job_field{"", "Training", "ema", flag, 0, 0, "an exponential moving average of the weights is kept in fp32"},
    job_field{"", "Training", "mtp_layers", integer, 0, most_layers,
        "depths of multi-token prediction that are trained with the model; default: 0"},
    job_field{"", "Training", "mtp_use_repeated_layer", flag, 0, 0,
        "all depths of multi-token prediction share the weights of one layer"},
    job_field{"", "Training", "steps", integer, 0, most_tokens,
        "optimizer steps that are taken (in the first, optimizer states are allocated after the backward pass); "
        "default: many"},
    job_field{"adapter", "Adapter", "kind", text, 0, 0,
        "adapter trained beside the frozen model: lora, rslora, dora, ia3, prompt, llama_adapter or llama_adapter_v2"},
    job_field{"adapter", "Adapter", "rank", integer, 0, 65536,
        "rank of the adapter's factors, default: 8; of prompt and llama_adapter: trained tokens"},
    job_field{"adapter", "Adapter", "targets", text, 0, 0,
        "weights that the adapter is attached to: all-linear, attention, or modules such as q_proj,v_proj; default: "
        "all-linear"},
    job_field{"adapter", "Adapter", "experts", flag, 0, 0,
        "routed experts are among the targets; default: not where transformers 5 stacks them in bare parameters, "
        "which all-linear does not find"},
    job_field{"adapter", "Adapter", "dropout", real, 0, 1, "dropout of the adapter's input; default: 0"},
    job_field{"offload", "Offload", "optimizer", text, 0, 0,
        "where optimizer states and master weights are kept: none (on the GPU), host or nvme; default: none"},
    job_field{"offload", "Offload", "parameters", text, 0, 0,
        "where the shards of the weights are kept: none (on the GPU), host or nvme; default: none"},
    job_field{"offload", "Offload", "activations", text, 0, 0,
        "where activations saved for the backward pass are kept: none (on the GPU), host or nvme; default: none"},
    job_field{"offload", "Offload", "modules", text, 0, 0,
        "modules whose inputs are offloaded to main memory: attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, "
        "expert_fc1, moe_act"},
    job_field{"offload", "Offload", "pinned", flag, 0, 0,
        "offloaded tensors lie in page-locked memory, in blocks of powers of two"},
    job_field{"layout", "Layout", "tensor", integer, 1, most_gpus,
        "tensor-parallel ranks: they split every matrix product; default: 1"},
    job_field{"layout", "Layout", "sequence_parallel", flag, 0, 0,
        "norms and residuals are split over the tensor-parallel ranks as well"},
    job_field{"layout", "Layout", "pipeline", integer, 1, most_gpus,
        "pipeline stages, each with consecutive layers; default: 1"},
    job_field{"layout", "Layout", "virtual_pipeline", integer, 1, most_gpus,
        "chunks of layers that each stage holds in an interleaved schedule; default: 1"},
    job_field{"layout", "Layout", "data", integer, 1, most_gpus,
        "data-parallel ranks: each computes its own samples; default: as many as the GPUs have room for"},
    job_field{"layout", "Layout", "context_parallel", integer, 1, most_gpus,
        "context-parallel ranks: they split every sequence; default: 1"},
    job_field{"layout", "Layout", "expert", integer, 1, most_gpus,
        "expert-parallel ranks: they split a layer's routed experts; default: 1"},
    job_field{"layout", "Layout", "expert_tensor", integer, 0, most_gpus,
        "tensor-parallel ranks of each routed expert; default: as tensor"},
    job_field{"layout", "Layout", "zero", integer, 0, 3,
        "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too; default: 0"},
    job_field{"layout", "Layout", "shard_replicas", integer, 1, most_gpus,
        "replicas of the shards that ZeRO makes (hybrid sharding); default: 1"},
    job_field{"layout", "Layout", "micro_batch_group", integer, 0, most_gpus,
        "micro-batches that a chunk computes before the next chunk computes any; default: as pipeline"},
    job_field{"layout", "Layout", "schedule", text, 0, 0,
        "pipeline schedule: 1f1b, gpipe, zb_h1, zb_h2 or zb_v; default: 1f1b"},
    job_field{"layout", "Layout", "stages", text, 0, 0,
        "layers of each stage or chunk: 20|22|22|16, or as Megatron-Core writes it: Et*3|(tt|)*6mL; default: split "
        "evenly"},
    job_field{"layout", "Layout", "tensor_split", text, 0, 0,
        "layers of each pipeline stage by ratios, 3,1, the head counted as a layer (llama.cpp's --tensor-split)"},
    job_field{"layout", "Layout", "first_stage_layers", integer, 0, most_gpus,
        "layers of the first pipeline stage; default: as the others"},
    job_field{"layout", "Layout", "last_stage_layers", integer, 0, most_gpus,
        "layers of the last pipeline stage; default: as the others"},
    job_field{"layout", "Layout", "embedding_as_layer", flag, 0, 0,
        "the embedding counts as a layer of the first stage when layers are split over stages"},
    job_field{"layout", "Layout", "loss_as_layer", flag, 0, 0,
        "the loss counts as a layer of the last stage when layers are split over stages"},
    job_field{"layout", "Layout", "cp_comm_type", text, 0, 0,
        "how context-parallel ranks exchange keys and values: p2p, all_gather or a2a; default: p2p"},
    job_field{"layout", "Layout", "replicas", integer, 1, most_gpus,
        "independent copies of the whole model; default: 1"},
    job_field{"cluster", "Cluster", "gpu", text, 0, 0,
        "a GPU of `llmres gpus`, a MIG slice of one (h100/1g.10gb), or cpu: the host's processor alone"},
    job_field{"cluster", "Cluster", "device", text, 0, 0,
        "in place of gpu: a file of `llmres-probe calibrate`, with the free memory and measured speed of one GPU"},
    job_field{"cluster", "Cluster", "gpu_memory", integer, 1, most_bytes,
        "bytes that processes can allocate on each GPU (CUDA's total), or that an Apple GPU shares with its host; "
        "default: the GPU's own"},
    job_field{"cluster", "Cluster", "gpu_bandwidth", real, 1, 1e18,
        "bytes per second of each GPU's memory; default: the GPU's own"},
    job_field{"cluster", "Cluster", "gpu_flops", real, 1, 1e21,
        "peak dense 16-bit operations per second of each GPU; default: the GPU's own"},
    job_field{"cluster", "Cluster", "gpus", integer, 1, most_gpus,
        "GPUs in the cluster; default: as many as the layout has, or 1"},
    job_field{"cluster", "Cluster", "gpus_per_node", integer, 0, most_gpus,
        "GPUs in one host; default: 8, or as many as one scale-up fabric connects"},
    job_field{"cluster", "Cluster", "scale_up", text, 0, 0, "link between the GPUs of a node; default: the GPU's own"},
    job_field{"cluster", "Cluster", "scale_out", text, 0, 0, "link between nodes, for each GPU; default: ib-ndr-400"},
    job_field{"cluster", "Cluster", "gpus_per_adapter", integer, 1, most_gpus,
        "GPUs of a node that share one link to other nodes; default: 1"},
    job_field{"cluster", "Cluster", "power_limit", real, 1, 100000,
        "watts that each GPU may take, where it is set below the board's own limit (nvidia-smi -pl); default: the "
        "board's"},
    job_field{"cluster", "Cluster", "in_use", integer, 0, most_bytes,
        "bytes of each GPU that other processes hold; default: 0"},
    job_field{"host", "Cluster", "memory", integer, 0, most_bytes, "bytes of a host's main memory; default: unknown"},
    job_field{"host", "Cluster", "bandwidth", real, 0, 1e18,
        "bytes per second of a host's main memory, for offloading; default: 34 to 369 GB/s, 164 GB/s expected; beside"
        " a consumer card 34 to 82 GB/s, 61 GB/s expected"},
    job_field{"host", "Cluster", "cores", integer, 0, most_gpus, "CPU cores of a host; default: unknown"},
    job_field{"host", "Cluster", "link", text, 0, 0,
        "link between a GPU and its host; default: the GPU's PCIe link, not shared"},
    job_field{"runtime", "Runtime", "runtime", text, 0, 0,
        "software that runs the job: a name of `llmres runtimes`, with or without a version (vllm, vllm@0.9.2), or "
        "the FILE.json of a profile; default: none"},
    job_field{"runtime", "Runtime", "gpu_memory_utilization", real, 0, 1,
        "fraction of the GPU that the runtime may use"},
    job_field{"runtime", "Runtime", "kv_block", integer, 0, most_sequences, "tokens in a block of the KV cache"},
    job_field{"runtime", "Runtime", "max_num_seqs", integer, 0, most_sequences,
        "sequences that the runtime computes in one step at most"},
    job_field{"runtime", "Runtime", "flash_attention", flag, 0, 0,
        "whether the runtime computes attention tile by tile, whatever `attention` says"},
    job_field{"runtime", "Runtime", "gpu_layers", integer, 0, 65536,
        "layers on GPUs, counted from the last; the others run on the host; auto: chosen as --fit does; "
        "default: all"},
    job_field{"runtime", "Runtime", "fit", flag, 0, 0,
        "layers, experts and context that are not given are chosen so that 1 GiB of each GPU stays free, as llama.cpp "
        "does"},
    job_field{"runtime", "Runtime", "embedding_on_host", flag, 0, 0, "the token embedding is read from main memory"},
    job_field{"runtime", "Runtime", "experts_on_host", flag, 0, 0, "routed experts are computed by the CPU"},
    job_field{"runtime", "Runtime", "split_rows", flag, 0, 0,
        "the GPUs of a pipeline share the rows of each matrix (--split-mode row; builds before b1842 always do)"},
    job_field{"runtime", "Runtime", "ggml_backend", text, 0, 0,
        "ggml's code on GPUs: native (CUDA, HIP, Metal: the vendor's) or vulkan; default: native"},
    job_field{"runtime", "Runtime", "largest_buffer", integer, 0, most_bytes,
        "bytes of the largest single buffer that the driver allocates; default: 4 GiB under vulkan, else any"},
    job_field{"runtime", "Runtime", "max_loras", integer, 0, 65536, "LoRA adapters that are resident at once"},
    job_field{"runtime", "Runtime", "max_lora_rank", integer, 1, 65536, "largest rank of the resident LoRA adapters"},
    job_field{"runtime", "Runtime", "encoder_tokens", integer, 0, most_tokens,
        "image patches that the vision tower computes at once; default: none"},
    job_field{"runtime", "Runtime", "speculates_ahead", flag, 0, 0,
        "the model's own multi-token prediction layers are loaded, to speculate"},
    job_field{"runtime", "Runtime", "rope_scaling", real, 1, 1024,
        "factor by which the runtime extends the model's own context (YaRN), so that a longer `context` is planned; "
        "default: 1"},
    job_field{"runtime", "Runtime", "draft", text, 0, 0,
        "a draft model for speculative decoding: its weights and KV cache are on the GPUs as well"},
    job_field{"runtime", "Runtime", "draft_tokens", integer, 0, 1024,
        "tokens that are drafted for each step, by draft, speculates_ahead or a look-up in the text; default: 0"},
    job_field{"runtime", "Runtime", "acceptance", real, 0, 1,
        "part of the drafted tokens that the model accepts, 0 to 1; needed with draft_tokens"},
    job_field{"runtime", "Runtime", "loss", text, 0, 0,
        "training: how the loss is computed: eager, eager_shifted, triton, chunked, fused_linear, vocabulary_parallel"
        " and others"},
    job_field{"runtime", "Runtime", "scan", text, 0, 0,
        "training: how Mamba 2 is computed: plain, fused (mamba-ssm, as in transformers) or fused_to_gate (as in "
        "Megatron-Core)"},
    job_field{"runtime", "Runtime", "use_fused_weighted_squared_relu", flag, 0, 0,
        "training: routed experts without a gate apply activation and routing weight in one kernel"},
    job_field{"runtime", "Runtime", "expandable_segments", flag, 0, 0,
        "training: PyTorch's allocator uses expandable segments (PYTORCH_ALLOC_CONF), so that freed blocks join"},
    job_field{"runtime", "Runtime", "compiled", flag, 0, 0,
        "training: layers are compiled by torch.compile, and the loss where the runtime compiles it with them"},
    job_field{"runtime", "Runtime", "compiled_loss", flag, 0, 0,
        "training: an eager or chunked loss is compiled by torch.compile"},
    job_field{"runtime", "Runtime", "fused_norms", flag, 0, 0, "training: each norm is one kernel"},
    job_field{"runtime", "Runtime", "fused_gates", flag, 0, 0,
        "training: activation and product of a gated feed-forward are one kernel (Liger's, where the runtime has none "
        "of its own)"},
    job_field{"runtime", "Runtime", "experts", text, 0, 0,
        "training: how routed experts are computed: modules (transformers 4), loop, grouped or batched (transformers "
        "5's experts_implementation eager, grouped_mm, batched_mm), dispatched, permuted or sequential"},
    job_field{"runtime", "Runtime", "selective", text, 0, 0,
        "training: what selective recomputation recomputes: attention_core, all_but_odd_products or all_but_products;"
        " default: the runtime's"},
    job_field{"runtime", "Runtime", "save_on_cpu", flag, 0, 0,
        "training: each offloaded activation goes to the host as it is made (torch.autograd.graph.save_on_cpu)"},
    job_field{"runtime", "Runtime", "narrow_loss", flag, 0, 0,
        "huggingface, training: the loss reads 16-bit logits as they are (the heads of GPT-2 and "
        "GPT-BigCode before transformers 4.50)"},
    job_field{"runtime", "Runtime", "holds_outputs", flag, 0, 0,
        "huggingface, training: the training loop keeps what the model returned, its logits too, until the step is "
        "done; transformers' Trainer does not"},
    job_field{"runtime", "Runtime", "fp32_stream", flag, 0, 0,
        "huggingface, training: embedding, norms and head are fp32 beside 4-bit weights (peft's "
        "prepare_model_for_kbit_training)"},
    job_field{"runtime", "Runtime", "fp32_adapters", flag, 0, 0,
        "huggingface, training: adapters are fp32 beside narrower weights (peft's "
        "autocast_adapter_dtype)"},
    job_field{"runtime", "Runtime", "fused_adapters", flag, 0, 0,
        "huggingface, training: adapters and the products beside them are one function, which saves no mask of dropout "
        "(fms-acceleration's fused ops)"},
    job_field{"runtime", "Runtime", "four_bit_keeps_inputs", flag, 0, 0,
        "huggingface and litgpt, training: 4-bit products save their inputs (bitsandbytes "
        "before 0.43.2)"},
    job_field{"runtime", "Runtime", "use_reentrant", flag, 0, 0,
        "huggingface, training: full recomputation by torch's reentrant checkpoint"},
    job_field{"runtime", "Runtime", "checkpoints_inside_units", flag, 0, 0,
        "huggingface, training: checkpoints lie inside FSDP's units (apply_activation_checkpointing "
        "after wrapping)"},
    job_field{"runtime", "Runtime", "gradient_accumulation_fusion", flag, 0, 0,
        "megatron, training: products add weight gradients to their buffer; else each is a tensor first"},
    job_field{"runtime", "Runtime", "attention_kernels", text, 0, 0,
        "training: tuned (cuDNN, Transformer Engine, FlashAttention 3), flash_2 or flash_1; default: what the runtime "
        "uses"},
    job_field{"runtime", "Runtime", "cuda", integer, 11, 14,
        "training: major version of CUDA that PyTorch was built for: 11 loads all kernels into its context; default: "
        "12 and later"},
    job_field{"runtime", "Runtime", "reshard_after_forward", flag, 0, 0,
        "training: ZeRO 3 frees gathered weights after the forward pass and gathers them again for the backward pass"},
    job_field{"runtime", "Runtime", "sync_each_batch", flag, 0, 0,
        "huggingface, litgpt and pytorch, training: ZeRO 2 and 3 (FSDP) shard gradients after each micro-batch; else "
        "they stay whole on each GPU until the last one; default: false for huggingface and litgpt"},
    job_field{"runtime", "Runtime", "gradient_as_bucket_view", flag, 0, 0,
        "huggingface, litgpt and pytorch, training: gradients are views of DDP's buckets; else the buckets are as "
        "large beside them; default: false"},
    job_field{"runtime", "Runtime", "fp8_recipe", text, 0, 0,
        "training: linear layers compute in fp8 and keep fp8 copies (Transformer Engine): none, delayed, tensorwise, "
        "blockwise or mxfp8; default: none"},
    job_field{"runtime", "Runtime", "fp8_param_gather", flag, 0, 0,
        "training: with an fp8_recipe, linear weights are stored and gathered in fp8 alone"},
    job_field{"runtime", "Runtime", "layer_wise_param_layout", flag, 0, 0,
        "training: muon's states are sharded by whole tensors for the layers' matrices alone"},
    job_field{"runtime", "Runtime", "defer_embedding_wgrad_compute", flag, 0, 0,
        "training: the output head's weight gradient is computed when the pipeline drains"},
    job_field{"runtime", "Runtime", "wgrad_deferral_limit", integer, 0, most_gpus,
        "training: micro-batches whose head gradient defer_embedding_wgrad_compute defers; default: all"},
    job_field{"runtime", "Runtime", "reduce_bucket_size", integer, 0, most_tokens,
        "training: gradient values that DeepSpeed reduces at once; default: 5e8"},
    job_field{"runtime", "Runtime", "overlap_comm", flag, 0, 0,
        "training: DeepSpeed exchanges gradients while the backward pass goes on, with two buckets under ZeRO 1 and 2"},
    job_field{"runtime", "Runtime", "sub_group_size", integer, 0, most_tokens,
        "training: values that a rank of ZeRO 3 (DeepSpeed) updates at once in the optimizer step; default: 1e9"},
};

}  // namespace detail::job_field_rows
// clang-format on

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
                            f.object == "lengths" || f.object == "gpu";
    return (says_whose ? std::string{f.object} + "_" : "") + std::string{f.name};
}

}  // namespace llmres::inline v0
