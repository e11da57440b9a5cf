// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/mixed_gpus.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>

/// Which command starts a job in a layout under its runtime?
namespace llmres::inline v0 {

/// The command that starts the job in that layout, with the runtime's own names for its degrees, batch and lengths;
/// MODEL, and for a training script everything that is not about size, is the caller's. Empty for a runtime whose
/// launcher is not known here. Names are those of vLLM's engine/arg_utils.py, SGLang's server_args.py, TensorRT-LLM's
/// commands/serve.py, llama.cpp's common/arg.cpp, Megatron-LM's training/arguments.py and torchtitan's
/// config/job_config.py.
inline std::string launch_command(const job& j, const layout& l, const cluster& c);

/// The command for layers that are dealt to GPUs that differ; empty for a runtime that takes no such shares.
inline std::string launch_command(const job& j, const dealt_layers& dealt);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A command that grows by flags.
struct command_line {
    std::string text;

    void flag(std::string_view name) { text += " " + std::string{name}; }
    void flag(std::string_view name, std::int64_t value) {
        text += " " + std::string{name} + " " + std::to_string(value);
    }
    /// A degree, which launchers take to be 1 where they are not told.
    void degree(std::string_view name, std::int64_t value) {
        if (value > 1) flag(name, value);
    }
};

/// The layers of each stage, with commas; the last has `more` beside its own.
inline std::string stage_sizes(const job& j, const layout& l, std::int32_t more = 0) {
    std::string sizes;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        if (stage > 0) sizes += ',';
        const std::int32_t layers = count_layers_of_stage(l, j.model.layers.size, stage);
        sizes += std::to_string(layers + (stage == l.pipeline - 1 ? more : 0));
    }
    return sizes;
}

/// The environment that tells an engine of Python how many layers each stage has, where they differ.
inline std::string partition(std::string_view variable, const job& j, const layout& l) {
    if (l.deals_evenly()) return {};
    return std::string{variable}.append(1, '=').append(stage_sizes(j, l)).append(1, ' ');
}

/// 1 where the head is on a GPU, which llama.cpp's split counts as a layer of the last (llama-model.cpp:
/// act_gpu_layers).
inline std::int32_t heads_on_gpus(const job& j) { return host_part_of(j).head ? 0 : 1; }

inline std::string vllm_command(const job& j, const layout& l) {
    command_line line{partition("VLLM_PP_LAYER_PARTITION", j, l).append("vllm serve MODEL")};
    line.degree("--tensor-parallel-size", l.tensor);
    line.degree("--pipeline-parallel-size", l.pipeline);
    line.degree("--data-parallel-size", l.all_data_ranks());
    if (l.expert > 1) line.flag("--enable-expert-parallel");
    line.flag("--max-model-len", context_of(j).in(tokens));
    line.flag("--max-num-seqs", sequences_per_rank(j, l));
    if (j.weights && *j.weights == fp8_e4m3 && !(j.model.weights == fp8_e4m3)) line.flag("--quantization fp8");
    if (j.kv_cache && *j.kv_cache == fp8_e4m3) line.flag("--kv-cache-dtype fp8");
    return line.text;
}

/// With whole experts on ranks SGLang counts the ranks of attention among its tensor ranks (--enable-dp-attention).
inline std::string sglang_command(const job& j, const layout& l) {
    command_line line{
        partition("SGLANG_PP_LAYER_PARTITION", j, l).append("python -m sglang.launch_server --model-path MODEL")};
    const bool shared = l.expert > 1;
    line.degree("--tp-size", std::int64_t{l.tensor} * (shared ? l.data : 1));
    line.degree("--pp-size", l.pipeline);
    line.degree("--dp-size", l.all_data_ranks());
    if (shared && l.data > 1) line.flag("--enable-dp-attention");
    line.degree("--ep-size", l.expert);
    line.flag("--context-length", context_of(j).in(tokens));
    line.flag("--max-running-requests", j.batch);
    return line.text;
}

inline std::string tensorrt_llm_command(const job& j, const layout& l) {
    command_line line{"trtllm-serve MODEL"};
    line.degree("--tp_size", l.tensor);
    line.degree("--pp_size", l.pipeline);
    line.degree("--ep_size", l.expert);
    line.flag("--max_batch_size", sequences_per_rank(j, l));
    line.flag("--max_seq_len", context_of(j).in(tokens));
    return line.text;
}

/// llama.cpp divides the context that it is given over its slots.
inline std::string llama_cpp_command(const job& j, const layout& l) {
    command_line line{"llama-server --model MODEL"};
    line.flag("--n-gpu-layers", j.options.gpu_layers.value_or(j.model.layers.size + 1));
    if (j.options.host_expert_layers > 0)
        line.flag("--n-cpu-moe", j.options.host_expert_layers);
    else if (j.options.experts_on_host)
        line.flag("--cpu-moe");
    if (l.pipeline > 1) line.flag(j.options.splits_rows ? "--split-mode row" : "--split-mode layer");
    line.flag("--ctx-size", context_of(j).in(tokens)*sequences_per_rank(j, l));
    line.flag("--parallel", sequences_per_rank(j, l));
    if (!l.deals_evenly()) line.flag("--tensor-split " + stage_sizes(j, l, heads_on_gpus(j)));
    return line.text;
}

/// torchrun over the nodes that a layout takes.
inline command_line torchrun(const layout& l, const cluster& c) {
    const std::int64_t each = l.gpus() < c.node_size() ? l.gpus() : c.node_size();
    command_line line{"torchrun"};
    line.degree("--nnodes", ceil_quotient(l.gpus(), each));
    line.flag("--nproc-per-node", each);
    return line;
}

inline std::string megatron_command(const job& j, const layout& l, const cluster& c) {
    command_line line = torchrun(l, c);
    line.flag("pretrain_gpt.py");
    line.flag("--tensor-model-parallel-size", l.tensor);
    if (l.sequence_parallel) line.flag("--sequence-parallel");
    line.flag("--pipeline-model-parallel-size", l.pipeline);
    line.degree("--num-virtual-stages-per-pipeline-rank", l.virtual_pipeline);
    if (l.embedding_as_layer) line.flag("--account-for-embedding-in-pipeline-split");
    if (l.loss_as_layer) line.flag("--account-for-loss-in-pipeline-split");
    if (l.first_stage_layers > 0) line.flag("--decoder-first-pipeline-num-layers", l.first_stage_layers);
    if (l.last_stage_layers > 0) line.flag("--decoder-last-pipeline-num-layers", l.last_stage_layers);
    line.degree("--context-parallel-size", l.context_parallel);
    line.degree("--expert-model-parallel-size", l.expert);
    if (l.expert > 1) line.flag("--expert-tensor-parallel-size", l.expert_tensor_ranks());
    if (l.zero > 0) line.flag("--use-distributed-optimizer");
    line.flag("--micro-batch-size", j.micro_batch);
    line.flag("--global-batch-size", j.global_batch > 0 ? j.global_batch : sequences_at_once(j, l));
    line.flag("--seq-length", sequence_of(j).in(tokens));
    if (j.recompute == recompute::full) {
        line.flag("--recompute-granularity full --recompute-method uniform --recompute-num-layers", 1);
    } else if (j.recompute == recompute::selective) {
        line.flag("--recompute-granularity selective");
    }
    return line.text;
}

inline std::string torchtitan_command(const job& j, const layout& l, const cluster& c) {
    command_line line = torchrun(l, c);
    line.flag("-m torchtitan.train");
    line.flag("--parallelism.tensor_parallel_degree", l.tensor);
    line.flag("--parallelism.pipeline_parallel_degree", l.pipeline);
    line.flag("--parallelism.context_parallel_degree", l.context_parallel);
    line.flag("--parallelism.expert_parallel_degree", l.expert);
    line.flag(l.zero > 0 ? "--parallelism.data_parallel_shard_degree" : "--parallelism.data_parallel_replicate_degree",
              l.all_data_ranks());
    line.flag("--training.local_batch_size", j.micro_batch);
    line.flag("--training.seq_len", sequence_of(j).in(tokens));
    return line.text;
}

}  // namespace detail

inline std::string launch_command(const job& j, const layout& l, const cluster& c) {
    const std::string_view name = j.runtime.identity.name.view();
    if (name == "vllm") return detail::vllm_command(j, l);
    if (name == "sglang") return detail::sglang_command(j, l);
    if (name == "tensorrt-llm") return detail::tensorrt_llm_command(j, l);
    if (name == "llama.cpp") return detail::llama_cpp_command(j, l);
    if (name == "megatron") return detail::megatron_command(j, l, c);
    if (name == "torchtitan") return detail::torchtitan_command(j, l, c);
    return {};
}

inline std::string launch_command(const job& j, const dealt_layers& dealt) {
    if (j.runtime.identity.name != "llama.cpp") return {};
    job placed = j;
    if (dealt.on_host > 0)
        placed.options.gpu_layers = j.model.layers.size - dealt.on_host + (dealt.head_on_host ? 0 : 1);
    const layout one_after_another{.pipeline = static_cast<std::int32_t>(dealt.gpus)};
    std::string line = detail::llama_cpp_command(placed, one_after_another);
    for (std::size_t i = 0; i < dealt.gpus; ++i) {
        const std::int32_t head = i + 1 == dealt.gpus ? detail::heads_on_gpus(placed) : 0;
        line += (i == 0 ? " --tensor-split " : ",") + std::to_string(dealt.shares[i].layers() + head);
    }
    return line;
}

}  // namespace llmres::inline v0
