// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// The keys of a job document, in one place for its reader, the command line and their help.
namespace llmres {

enum class field_type : std::uint8_t { integer, real, flag, text };

/// A key of the job document, what it holds and where.
struct job_field {
    std::string_view object;  ///< "", "layout", "cluster", "host" (in the cluster) or "runtime"
    std::string_view name;
    field_type type = field_type::integer;
    std::string_view help;
};

/// Every key there is, in the order in which people read them. The command line makes a flag of each.
inline constexpr std::array job_fields{
    job_field{"", "task", field_type::text, "serving, pretraining or finetuning"},
    job_field{"", "weights", field_type::text, "precision of the weights; default: as published"},
    job_field{"", "kv_cache", field_type::text, "precision of the KV cache; default: that of compute"},
    job_field{"", "compute", field_type::text, "precision of activations; default bf16"},
    job_field{"", "gradients", field_type::text, "precision of gradients; default: that of the weights"},
    job_field{"", "master_weights", field_type::text, "precision of the optimizer's own copy; default fp32 beside 16-bit weights"},
    job_field{"", "optimizer_states", field_type::text, "precision of the optimizer's moments; default fp32"},
    job_field{"", "batch", field_type::integer, "sequences in flight (serving)"},
    job_field{"", "prompt", field_type::integer, "tokens of a prompt"},
    job_field{"", "output", field_type::integer, "tokens generated for a prompt"},
    job_field{"", "context", field_type::integer, "tokens a sequence may reach; default: prompt + output, or the model's"},
    job_field{"", "max_batched_tokens", field_type::integer, "prompt tokens computed in one step"},
    job_field{"", "sequence", field_type::integer, "tokens of a training sequence; default: the model's context"},
    job_field{"", "micro_batch", field_type::integer, "sequences a data rank computes at once"},
    job_field{"", "global_batch", field_type::integer, "sequences in one optimizer step"},
    job_field{"", "optimizer", field_type::text, "adamw, adam, sgd, sgd_momentum"},
    job_field{"", "attention", field_type::text, "eager, sdpa or flash"},
    job_field{"", "recompute", field_type::text, "none, selective or full"},
    job_field{"layout", "tensor", field_type::integer, "tensor-parallel ranks"},
    job_field{"layout", "sequence_parallel", field_type::flag, "split norms and residuals over the tensor ranks too"},
    job_field{"layout", "pipeline", field_type::integer, "pipeline stages"},
    job_field{"layout", "virtual_pipeline", field_type::integer, "interleaved chunks a stage"},
    job_field{"layout", "data", field_type::integer, "data-parallel ranks"},
    job_field{"layout", "context_parallel", field_type::integer, "ranks that share each sequence"},
    job_field{"layout", "expert", field_type::integer, "ranks that share a layer's experts"},
    job_field{"layout", "expert_tensor", field_type::integer, "ranks that share each expert; default: tensor"},
    job_field{"layout", "zero", field_type::integer, "ZeRO stage, 0 to 3"},
    job_field{"layout", "replicas", field_type::integer, "independent copies"},
    job_field{"cluster", "gpu", field_type::text, "a GPU of `llmres gpus`"},
    job_field{"cluster", "gpus", field_type::integer, "how many; default 1"},
    job_field{"cluster", "gpus_per_node", field_type::integer, "GPUs in one host; default 8, or what one fabric joins"},
    job_field{"cluster", "scale_up", field_type::text, "the link inside a node; default: the GPU's own"},
    job_field{"cluster", "scale_out", field_type::text, "the link between nodes, for each GPU; default ib-ndr-400"},
    job_field{"cluster", "in_use", field_type::integer, "bytes that others already hold on each GPU"},
    job_field{"host", "memory", field_type::integer, "bytes of host memory"},
    job_field{"host", "bandwidth", field_type::real, "bytes a second of host memory"},
    job_field{"host", "cores", field_type::integer, "CPU cores of a host"},
    job_field{"runtime", "runtime", field_type::text, "the engine: a runtime of `llmres runtimes`; default none"},
    job_field{"runtime", "gpu_memory_utilization", field_type::real, "part of the GPU that the engine lets itself use"},
};

/// A field's name on the command line, without the dashes.
inline std::string flag_of(const job_field& f) {
    return (f.object == "host" ? "host_" : "") + std::string{f.name};
}

}  // namespace llmres
