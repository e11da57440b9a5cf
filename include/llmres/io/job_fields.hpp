// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// The keys of a job document, in one place for its reader, the command line and their help.
namespace llmres::inline v0 {

enum class field_type : std::uint8_t { integer, real, flag, text };

/// A key of the job document, what it holds and where.
struct job_field {
    std::string_view
        object;  ///< "", "lengths", "adapter", "offload", "layout", "cluster", "host" (in the cluster) or "runtime"
    std::string_view group;  ///< the heading of its flag in the help
    std::string_view name;
    field_type type = field_type::integer;
    double low = 0;  ///< of a number. (Integers up to 2^62 that are powers of two: exact.)
    double high = 0;
    std::string_view help;
};

/// Every key there is, in the order in which people read them. The command line makes a flag of each.
// clang-format off
inline constexpr std::array job_fields = [] {
    using enum field_type;
    // The bounds that validate() has for the C++ values.
    constexpr double most_sequences = 1 << 24;
    constexpr double most_global_batch = static_cast<double>(std::int64_t{1} << 32);
    constexpr double most_tokens = static_cast<double>(std::int64_t{1} << 40);
    constexpr double most_bytes = static_cast<double>(std::int64_t{1} << 62);
    constexpr double most_gpus = 1 << 20;
    constexpr double most_layers = 256;
    return std::array{
        job_field{"", "Job", "task", text, 0, 0, "serving, pretraining or finetuning; default serving"},
        job_field{"", "Job", "weights", text, 0, 0, "precision of the weights, or a GGUF mix such as q4_k_m; default: as published"},
        job_field{"", "Job", "compute", text, 0, 0, "precision of activations; default bf16. Training in fp8_e4m3: products cast what they read (torchao)"},
        job_field{"", "Job", "attention", text, 0, 0, "eager, sdpa, flash or cudnn; default sdpa"},
        job_field{"", "Serving", "kv_cache", text, 0, 0, "precision of the KV cache; default: as compute"},
        job_field{"", "Serving", "kv_cache_values", text, 0, 0, "precision of the cache's values, where another than its keys'; default: as kv_cache"},
        job_field{"", "Serving", "batch", integer, 1, most_sequences, "sequences in flight; default 1"},
        job_field{"", "Serving", "prompt", integer, 0, most_tokens, "tokens of a prompt; default: what context leaves beside output"},
        job_field{"", "Serving", "output", integer, 0, most_tokens, "tokens generated for a prompt"},
        job_field{"", "Serving", "context", integer, 0, most_tokens, "tokens a sequence may reach; default: prompt + output, or the model's own"},
        job_field{"", "Serving", "max_batched_tokens", integer, 0, most_tokens, "prompt tokens computed in one step; default: the runtime's"},
        job_field{"lengths", "Serving", "mean", integer, 1, most_tokens, "tokens that sequences hold on average: the answer says how many such run at once"},
        job_field{"lengths", "Serving", "longest", integer, 1, most_tokens, "tokens of the longest of them; default: the mean"},
        job_field{"", "Training", "sequence", integer, 0, most_tokens, "tokens of a sequence; default: the model's context"},
        job_field{"", "Training", "micro_batch", integer, 1, most_sequences, "sequences a data rank computes at once; default 1"},
        job_field{"", "Training", "global_batch", integer, 0, most_global_batch, "sequences in one optimizer step; default: one micro-batch a data rank"},
        job_field{"", "Training", "optimizer", text, 0, 0, "adamw (default), adamw_8bit, adafactor, sgd, lion, muon, ...: an unknown name gets the nearest"},
        job_field{"", "Training", "gradients", text, 0, 0, "precision of gradients; default: as the weights"},
        job_field{"", "Training", "master_weights", text, 0, 0, "precision of the optimizer's own copy; default: fp32 beside narrower weights"},
        job_field{"", "Training", "optimizer_states", text, 0, 0, "precision of the optimizer's moments; default fp32"},
        job_field{"", "Training", "recompute", text, 0, 0, "none, selective or full; default none"},
        job_field{"", "Training", "recompute_modules", text, 0, 0, "with selective: core_attn (default), layernorm, mla_up_proj, moe_act, mlp, moe, shared_experts"},
        job_field{"", "Training", "recompute_every", integer, 1, most_layers, "with full recomputation: of every n-th layer only; default 1"},
        job_field{"", "Training", "autocast", flag, 0, 0, "cast at each operation; default: where weights are wider than compute"},
        job_field{"", "Training", "dropout", flag, 0, 0, "of residuals and attention"},
        job_field{"", "Training", "varied_lengths", flag, 0, 0, "samples are cut at sequence, but neither packed nor padded to it"},
        job_field{"", "Training", "mean_length", integer, 0, most_tokens, "with varied_lengths: tokens of a sample on average, before any is cut; default: spread evenly"},
        job_field{"", "Training", "expert_load", real, 1, 1024, "tokens of the busiest rank's experts, over the mean; default 1"},
        job_field{"", "Training", "ema", flag, 0, 0, "keep an average of the weights too, in fp32"},
        job_field{"", "Training", "mtp_layers", integer, 0, most_layers, "depths of multi-token prediction trained with the model; default 0"},
        job_field{"", "Training", "mtp_use_repeated_layer", flag, 0, 0, "... all of them with the weights of one"},
        job_field{"", "Training", "steps", integer, 0, most_tokens, "optimizer steps taken; default: many. In the first, states come after the backward pass"},
        job_field{"adapter", "Adapter", "kind", text, 0, 0, "lora, rslora, dora, ia3, prompt, llama_adapter or llama_adapter_v2: trained beside a frozen model"},
        job_field{"adapter", "Adapter", "rank", integer, 0, 65536, "of its factors; of prompt: trained tokens"},
        job_field{"adapter", "Adapter", "targets", text, 0, 0, "all-linear (default), attention, or modules: q_proj,v_proj"},
        job_field{"adapter", "Adapter", "dropout", real, 0, 1, "of the adapter's input; default 0"},
        job_field{"offload", "Offload", "optimizer", text, 0, 0, "none, host or nvme: states and master weights"},
        job_field{"offload", "Offload", "parameters", text, 0, 0, "none, host or nvme: shards of the weights"},
        job_field{"offload", "Offload", "activations", text, 0, 0, "none, host or nvme: what the backward pass needs"},
        job_field{"offload", "Offload", "modules", text, 0, 0, "whose inputs go to main memory: attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act"},
        job_field{"offload", "Offload", "pinned", flag, 0, 0, "main memory is page-locked, in blocks of powers of two"},
        job_field{"layout", "Layout", "tensor", integer, 1, most_gpus, "ranks that share each matrix product"},
        job_field{"layout", "Layout", "sequence_parallel", flag, 0, 0, "split norms and residuals over the tensor ranks too"},
        job_field{"layout", "Layout", "pipeline", integer, 1, most_gpus, "stages of consecutive layers"},
        job_field{"layout", "Layout", "virtual_pipeline", integer, 1, most_gpus, "interleaved chunks of layers a stage holds"},
        job_field{"layout", "Layout", "data", integer, 1, most_gpus, "ranks that each take their own samples"},
        job_field{"layout", "Layout", "context_parallel", integer, 1, most_gpus, "ranks that share each sequence"},
        job_field{"layout", "Layout", "expert", integer, 1, most_gpus, "ranks that share the routed experts of a layer"},
        job_field{"layout", "Layout", "expert_tensor", integer, 0, most_gpus, "ranks that share each routed expert; default: as tensor"},
        job_field{"layout", "Layout", "zero", integer, 0, 3, "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too"},
        job_field{"layout", "Layout", "shard_replicas", integer, 1, most_gpus, "copies of what ZeRO shards: hybrid sharding; default 1"},
        job_field{"layout", "Layout", "micro_batch_group", integer, 0, most_gpus, "micro-batches of a chunk before the next chunk's; default: as pipeline"},
        job_field{"layout", "Layout", "schedule", text, 0, 0, "1f1b (default), gpipe, zb_h1, zb_h2 or zb_v: when a stage computes which micro-batch"},
        job_field{"layout", "Layout", "stages", text, 0, 0, "layers of each stage, or chunk: 20|22|22|16, or as Megatron-Core writes it: Et*3|(tt|)*6mL"},
        job_field{"layout", "Layout", "first_stage_layers", integer, 0, most_gpus, "layers of the first stage; default: as the others"},
        job_field{"layout", "Layout", "last_stage_layers", integer, 0, most_gpus, "layers of the last stage; default: as the others"},
        job_field{"layout", "Layout", "embedding_as_layer", flag, 0, 0, "the embedding is dealt as a layer of the first stage"},
        job_field{"layout", "Layout", "loss_as_layer", flag, 0, 0, "the loss is dealt as a layer of the last stage"},
        job_field{"layout", "Layout", "cp_comm_type", text, 0, 0, "p2p (default), all_gather or a2a: how context-parallel ranks share keys and values"},
        job_field{"layout", "Layout", "replicas", integer, 1, most_gpus, "independent copies of all this"},
        job_field{"cluster", "Cluster", "gpu", text, 0, 0, "a GPU of `llmres gpus`, or a MIG slice of one: h100/1g.10gb"},
        job_field{"cluster", "Cluster", "device", text, 0, 0, "instead of gpu: a file of `llmres-probe calibrate`, with what this very GPU has free and does"},
        job_field{"cluster", "Cluster", "gpus", integer, 1, most_gpus, "how many; default 1"},
        job_field{"cluster", "Cluster", "gpus_per_node", integer, 0, most_gpus, "GPUs in one host; default 8, or what one fabric joins"},
        job_field{"cluster", "Cluster", "scale_up", text, 0, 0, "the link inside a node; default: the GPU's own"},
        job_field{"cluster", "Cluster", "scale_out", text, 0, 0, "the link between nodes, for each GPU; default ib-ndr-400"},
        job_field{"cluster", "Cluster", "in_use", integer, 0, most_bytes, "bytes that others already hold on each GPU"},
        job_field{"host", "Cluster", "memory", integer, 0, most_bytes, "bytes of a host's memory"},
        job_field{"host", "Cluster", "bandwidth", real, 0, 1e18, "bytes a second of a host's memory, for offloading; default: 34 to 369 GB/s, 164 expected"},
        job_field{"host", "Cluster", "cores", integer, 0, most_gpus, "CPU cores of a host"},
        job_field{"host", "Cluster", "link", text, 0, 0, "the link between a GPU and its host; default: the GPU's PCIe, whole"},
        job_field{"runtime", "Runtime", "runtime", text, 0, 0, "an engine of `llmres runtimes`, with a version if you like: vllm, vllm@0.9.2; default none"},
        job_field{"runtime", "Runtime", "gpu_memory_utilization", real, 0, 1, "part of the GPU that the engine lets itself use"},
        job_field{"runtime", "Runtime", "kv_block", integer, 0, most_sequences, "tokens that a block of the cache holds"},
        job_field{"runtime", "Runtime", "max_num_seqs", integer, 0, most_sequences, "sequences in one step"},
        job_field{"runtime", "Runtime", "flash_attention", flag, 0, 0, "whether the engine computes attention tile by tile, whatever `attention` says"},
        job_field{"runtime", "Runtime", "gpu_layers", integer, 0, 65536, "the last n layers are on GPUs, the others on the host; default: all"},
        job_field{"runtime", "Runtime", "embedding_on_host", flag, 0, 0, "the token table is read from main memory"},
        job_field{"runtime", "Runtime", "experts_on_host", flag, 0, 0, "routed experts are computed by the CPU"},
        job_field{"runtime", "Runtime", "max_loras", integer, 0, 65536, "adapters that are resident at once"},
        job_field{"runtime", "Runtime", "max_lora_rank", integer, 1, 65536, "the largest rank among them"},
        job_field{"runtime", "Runtime", "encoder_tokens", integer, 0, most_tokens, "patches of images that pass the vision tower at once; default: none"},
        job_field{"runtime", "Runtime", "speculates_ahead", flag, 0, 0, "the model's own prediction layers are loaded"},
        job_field{"runtime", "Runtime", "draft", text, 0, 0, "a model that drafts tokens for this one to check: its weights and cache are there too"},
        job_field{"runtime", "Runtime", "loss", text, 0, 0, "training: eager, eager_shifted, triton, chunked, fused_linear, vocabulary_parallel, ..."},
        job_field{"runtime", "Runtime", "scan", text, 0, 0, "training: plain, fused (mamba-ssm, as transformers calls it) or fused_to_gate (as Megatron-Core does)"},
        job_field{"runtime", "Runtime", "use_fused_weighted_squared_relu", flag, 0, 0, "training: plain routed experts weigh what they activate in one kernel"},
        job_field{"runtime", "Runtime", "expandable_segments", flag, 0, 0, "training: PyTorch's allocator joins freed blocks (PYTORCH_ALLOC_CONF)"},
        job_field{"runtime", "Runtime", "compiled", flag, 0, 0, "training: layers pass torch.compile, and the loss where the engine has it so"},
        job_field{"runtime", "Runtime", "compiled_loss", flag, 0, 0, "training: an eager or chunked loss as torch.compile fuses it"},
        job_field{"runtime", "Runtime", "fused_norms", flag, 0, 0, "training: norms are one kernel each"},
        job_field{"runtime", "Runtime", "reshard_after_forward", flag, 0, 0, "training: ZeRO 3 lets layers go between the passes"},
        job_field{"runtime", "Runtime", "fp8_recipe", text, 0, 0, "training: none (default), delayed, tensorwise, blockwise or mxfp8: linear layers compute in 8 bits, and keep 8-bit copies (Transformer Engine)"},
        job_field{"runtime", "Runtime", "fp8_param_gather", flag, 0, 0, "training: ... and their weights are 8-bit alone"},
        job_field{"runtime", "Runtime", "layer_wise_param_layout", flag, 0, 0, "training: muon's states are sharded by whole tensors for the layers' matrices alone"},
        job_field{"runtime", "Runtime", "defer_embedding_wgrad_compute", flag, 0, 0, "training: the head's gradient is computed when the pipeline drains"},
        job_field{"runtime", "Runtime", "wgrad_deferral_limit", integer, 0, most_gpus, "training: ... of so many micro-batches; default: of all"},
        job_field{"runtime", "Runtime", "reduce_bucket_size", integer, 0, most_tokens, "training: values of gradients that DeepSpeed exchanges at once; default 5e8"},
        job_field{"runtime", "Runtime", "sub_group_size", integer, 0, most_tokens, "training: ... and that a rank steps at once under ZeRO 3; default 1e9"},
    };
}();
// clang-format on

/// The key of that name in that object; nullptr if there is none.
constexpr const job_field* find_job_field(std::string_view object, std::string_view name) {
    for (const job_field& f : job_fields)
        if (f.object == object && f.name == name) return &f;
    return nullptr;
}

/// A field's name on the command line, without the dashes: some need to say whose they are.
inline std::string flag_of(const job_field& f) {
    const bool says_whose =
        f.object == "host" || f.object == "adapter" || f.object == "offload" || f.object == "lengths";
    return (says_whose ? std::string{f.object} + "_" : "") + std::string{f.name};
}

}  // namespace llmres::inline v0
