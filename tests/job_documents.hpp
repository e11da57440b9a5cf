// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

/// A job document for each field that documents have.
namespace job_documents {

using namespace llmres;
using nlohmann::json;

inline const std::string devices = LLMRES_SOURCE_DIR "/tests/data/devices/";
inline const std::string h100_file = devices + "synthetic-h100-sxm5-80gb.json";

inline std::string content_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

inline json minimal() { return {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "rtx-4090"}}}}; }

/// What must have been answered; otherwise the error is shown.
template <class T>
T answered(const result<T>& given) {
    const error& e = given.error();
    INFO(std::string{e.field.view()} << " is " << std::string{e.value.view()} << ": "
                                     << std::string{e.expected.view()});
    REQUIRE(given);
    return *given;
}

inline plan_request read(const json& document, const std::filesystem::path& folder = {}) {
    CAPTURE(document.dump());
    return answered(read_job(document, folder));
}

/// With the document's layout, or with one that the planner chooses.
inline job_plan planned(const plan_request& asked) {
    return answered(asked.layout ? plan(asked.job, *asked.layout, asked.cluster) : plan(asked.job, asked.cluster));
}

/// A value other than the default for a field, and what it must have set.
struct example {
    json value;
    std::function<bool(const plan_request&)> seen;
};

/// One for every job_field, by object and name.
inline const std::map<std::string, example>& examples() {
    using r = const plan_request&;
    static const std::map<std::string, example> all{
        {".task", {"finetuning", [](r q) { return q.job.task == task::finetuning; }}},
        {".weights", {"fp8_e4m3", [](r q) { return q.job.weights == maybe<precision>{fp8_e4m3}; }}},
        {".compute", {"fp16", [](r q) { return q.job.compute == fp16; }}},
        {".attention", {"flash", [](r q) { return q.job.attention == attention_kernel::flash; }}},
        {".kv_cache", {"fp8_e5m2", [](r q) { return q.job.kv_cache == maybe<precision>{fp8_e5m2}; }}},
        {".kv_cache_values", {"q8_0", [](r q) { return q.job.kv_cache_values == maybe<precision>{q8_0}; }}},
        {".batch", {7, [](r q) { return q.job.batch == 7; }}},
        {".prompt", {7, [](r q) { return q.job.prompt == tokens(7); }}},
        {".output", {7, [](r q) { return q.job.output == tokens(7); }}},
        {".context", {7, [](r q) { return q.job.context == tokens(7); }}},
        {".shared_prefix", {100, [](r q) { return q.job.shared_prefix == tokens(100); }}},
        {".prefix_hit_rate", {0.25, [](r q) { return q.job.prefix_hit_rate == 0.25; }}},
        {".max_batched_tokens", {7, [](r q) { return q.job.max_batched_tokens == tokens(7); }}},
        {"lengths.mean", {7, [](r q) { return q.lengths && q.lengths->mean == tokens(7); }}},
        {"lengths.longest", {7, [](r q) { return q.lengths && q.lengths->longest == tokens(7); }}},
        {".sequence", {7, [](r q) { return q.job.sequence == tokens(7); }}},
        {".micro_batch", {7, [](r q) { return q.job.micro_batch == 7; }}},
        {".global_batch", {7, [](r q) { return q.job.global_batch == 7; }}},
        {".optimizer", {"sgd", [](r q) { return q.job.optimizer == sgd; }}},
        {".optimizer_in_bwd", {true, [](r q) { return q.job.optimizer.in_backward; }}},
        {".gradients", {"fp32", [](r q) { return q.job.gradients == maybe<precision>{fp32}; }}},
        {".master_weights", {"bf16", [](r q) { return q.job.master_weights == maybe<precision>{bf16}; }}},
        {".optimizer_states", {"bf16", [](r q) { return q.job.optimizer_states == maybe<precision>{bf16}; }}},
        {".recompute", {"full", [](r q) { return q.job.recompute == recompute::full; }}},
        {".recompute_modules",
         {"layernorm,moe_act",
          [](r q) { return q.job.recompute_modules == layer_part_set{layer_part::layernorm, layer_part::moe_act}; }}},
        {".recompute_every", {2, [](r q) { return q.job.recompute_every == 2; }}},
        {".autocast", {false, [](r q) { return q.job.autocast == maybe<bool>{false}; }}},
        {".dropout", {true, [](r q) { return q.job.dropout; }}},
        {".varied_lengths", {true, [](r q) { return q.job.varied_lengths; }}},
        {".mean_length", {7, [](r q) { return q.job.mean_length == tokens(7); }}},
        {".expert_load", {1.5, [](r q) { return q.job.expert_load == 1.5; }}},
        {".ema", {true, [](r q) { return q.job.ema; }}},
        {".mtp_layers", {1, [](r q) { return q.job.mtp_layers == 1; }}},
        {".mtp_use_repeated_layer", {true, [](r q) { return q.job.mtp_use_repeated_layer; }}},
        {".steps", {1, [](r q) { return q.job.steps == 1; }}},
        {"adapter.kind", {"lora", [](r q) { return q.job.adapter.kind == adapter_kind::lora; }}},
        {"adapter.rank", {7, [](r q) { return q.job.adapter.rank == 7; }}},
        {"adapter.targets",
         {"q_proj,v_proj",
          [](r q) { return q.job.adapter.targets == role_set{weight_role::q_proj, weight_role::v_proj}; }}},
        {"adapter.experts", {true, [](r q) { return q.job.adapter.experts == maybe<bool>{true}; }}},
        {"adapter.dropout", {0.1, [](r q) { return q.job.adapter.dropout == 0.1; }}},
        {"offload.optimizer", {"host", [](r q) { return q.job.offload.optimizer == offload_place::host; }}},
        {"offload.parameters", {"nvme", [](r q) { return q.job.offload.parameters == offload_place::nvme; }}},
        {"offload.activations", {"host", [](r q) { return q.job.offload.activations == offload_place::host; }}},
        {"offload.modules",
         {"core_attn,expert_fc1",
          [](r q) { return q.job.offload.modules == layer_part_set{layer_part::core_attn, layer_part::expert_fc1}; }}},
        {"offload.pinned", {true, [](r q) { return q.job.offload.pinned; }}},
        {"layout.tensor", {2, [](r q) { return q.layout->tensor == 2; }}},
        {"layout.sequence_parallel", {true, [](r q) { return q.layout->sequence_parallel; }}},
        {"layout.pipeline", {2, [](r q) { return q.layout->pipeline == 2; }}},
        {"layout.virtual_pipeline", {2, [](r q) { return q.layout->virtual_pipeline == 2; }}},
        {"layout.data", {2, [](r q) { return q.layout->data == 2; }}},
        {"layout.context_parallel", {2, [](r q) { return q.layout->context_parallel == 2; }}},
        {"layout.expert", {2, [](r q) { return q.layout->expert == 2; }}},
        {"layout.expert_tensor", {2, [](r q) { return q.layout->expert_tensor == 2; }}},
        {"layout.zero", {3, [](r q) { return q.layout->zero == 3; }}},
        {"layout.shard_replicas", {2, [](r q) { return q.layout->shard_replicas == 2; }}},
        {"layout.micro_batch_group", {16, [](r q) { return q.layout->micro_batch_group == 16; }}},
        {"layout.schedule", {"zb_h1", [](r q) { return q.layout->schedule == pipeline_schedule::zb_h1; }}},
        {"layout.stages",
         {"20|12", [](r q) { return q.layout->stages.chunks == 2 && q.layout->stages.layers[0] == 20; }}},
        {"layout.tensor_split",
         {"3,1", [](r q) { return q.layout->stages.chunks == 2 && q.layout->stages.layers[0] > 20; }}},
        {"layout.first_stage_layers", {7, [](r q) { return q.layout->first_stage_layers == 7; }}},
        {"layout.last_stage_layers", {6, [](r q) { return q.layout->last_stage_layers == 6; }}},
        {"layout.embedding_as_layer", {true, [](r q) { return q.layout->embedding_as_layer; }}},
        {"layout.loss_as_layer", {true, [](r q) { return q.layout->loss_as_layer; }}},
        {"layout.cp_comm_type", {"a2a", [](r q) { return q.layout->cp_comm_type == cp_communication::a2a; }}},
        {"layout.replicas", {2, [](r q) { return q.layout->replicas == 2; }}},
        {"cluster.gpu", {"h100-sxm5-80gb", [](r q) { return q.cluster.gpu.id == "h100-sxm5-80gb"; }}},
        {"cluster.device",
         {h100_file, [](r q) { return q.device == h100_file && q.cluster.gpu.name == "NVIDIA H100 80GB HBM3"; }}},
        {"cluster.gpu_memory", {gib(20).in(bytes), [](r q) { return usable_memory(q.cluster.gpu) == gib(20); }}},
        {"cluster.gpu_bandwidth", {9e11, [](r q) { return q.cluster.gpu.memory.bandwidth == gb_per_s(900); }}},
        {"cluster.gpu_flops", {9e13, [](r q) { return q.cluster.gpu.rates.bf16 == tflops(90); }}},
        {".experts_down", {"iq5_ks", [](r q) { return q.job.model.mixed.experts_down == maybe<precision>{iq5_ks}; }}},
        {"cluster.gpus", {5, [](r q) { return q.cluster.gpus == 5; }}},
        {"cluster.gpus_per_node", {2, [](r q) { return q.cluster.gpus_per_node == 2; }}},
        {"cluster.gpus_per_adapter", {2, [](r q) { return q.cluster.gpus_per_adapter == 2; }}},
        {"cluster.scale_up", {"pcie-gen3-x16", [](r q) { return q.cluster.scale_up.id == "pcie-gen3-x16"; }}},
        {"cluster.scale_out", {"ib-hdr-200", [](r q) { return q.cluster.scale_out.id == "ib-hdr-200"; }}},
        {"cluster.power_limit", {400, [](r q) { return q.cluster.power_limit == maybe<power>{watts(400)}; }}},
        {"cluster.in_use", {1000, [](r q) { return q.cluster.in_use == bytes(1000); }}},
        {"host.memory", {1000, [](r q) { return q.cluster.host.memory == bytes(1000); }}},
        {"host.bandwidth", {2.5e11, [](r q) { return q.cluster.host.bandwidth == bytes_per_s(2.5e11); }}},
        {"host.link", {"pcie-gen3-x4", [](r q) { return q.cluster.host.link.id == "pcie-gen3-x4"; }}},
        {"host.cores", {3, [](r q) { return q.cluster.host.cores == 3; }}},
        {"runtime.runtime", {"vllm", [](r q) { return q.job.runtime.identity.name == "vllm"; }}},
        {"runtime.gpu_memory_utilization",
         {0.5, [](r q) { return q.job.runtime.cache.fraction == maybe<double>{0.5}; }}},
        {"runtime.kv_block", {128, [](r q) { return q.job.runtime.cache.block == tokens(128); }}},
        {"runtime.max_num_seqs", {7, [](r q) { return q.job.options.max_num_seqs == 7; }}},
        {"runtime.flash_attention",
         {false, [](r q) { return q.job.runtime.serving_kernels.flash_attention == maybe<bool>{false}; }}},
        {"runtime.gpu_layers", {7, [](r q) { return q.job.options.gpu_layers == maybe<std::int32_t>{7}; }}},
        {"runtime.fit", {true, [](r q) { return q.fitted; }}},
        {"runtime.embedding_on_host", {false, [](r q) { return !q.job.runtime.loading.embedding_on_host; }}},
        {"runtime.experts_on_host", {true, [](r q) { return q.job.options.experts_on_host; }}},
        {"runtime.max_loras", {7, [](r q) { return q.job.options.max_loras == 7; }}},
        {"runtime.max_lora_rank", {7, [](r q) { return q.job.options.max_lora_rank == 7; }}},
        {"runtime.encoder_tokens", {7, [](r q) { return q.job.options.encoder_tokens == tokens(7); }}},
        {"runtime.rope_scaling", {4, [](r q) { return q.job.options.rope_scaling == 4; }}},
        {"runtime.loss",
         {"fused_linear", [](r q) { return q.job.runtime.kernels.loss.code == loss_code::fused_linear; }}},
        {"runtime.use_fused_weighted_squared_relu",
         {true, [](r q) { return q.job.runtime.kernels.use_fused_weighted_squared_relu; }}},
        {"runtime.attention_kernels",
         {"flash_1", [](r q) { return q.job.runtime.launches.attention == attention_code::flash_1; }}},
        {"runtime.scan", {"fused", [](r q) { return q.job.runtime.kernels.scan == scan_code::fused; }}},
        {"runtime.expandable_segments", {true, [](r q) { return q.job.runtime.allocator.expandable_segments; }}},
        {"runtime.compiled", {true, [](r q) { return q.job.runtime.kernels.compilation.layers; }}},
        {"runtime.compiled_loss", {true, [](r q) { return q.job.runtime.kernels.compilation.loss; }}},
        {"runtime.fused_norms", {true, [](r q) { return q.job.runtime.kernels.norm == norm_code::fused; }}},
        {"runtime.fused_gates", {true, [](r q) { return q.job.runtime.kernels.gate == gate_code::in_place; }}},
        {"runtime.experts", {"batched", [](r q) { return q.job.runtime.kernels.experts == expert_code::batched; }}},
        {"runtime.selective",
         {"all_but_products",
          [](r q) { return q.job.runtime.kernels.checkpointing.selective == selective_code::all_but_products; }}},
        {"runtime.save_on_cpu", {true, [](r q) { return q.job.runtime.kernels.checkpointing.offloads_at_once; }}},
        {"runtime.narrow_loss", {true, [](r q) { return q.job.runtime.kernels.loss.narrow; }}},
        {"runtime.holds_outputs", {true, [](r q) { return q.job.runtime.kernels.loss.holds_outputs; }}},
        {"runtime.fp32_stream", {false, [](r q) { return !q.job.runtime.kernels.fp32_stream; }}},
        {"runtime.fp32_adapters", {false, [](r q) { return !q.job.runtime.kernels.fp32_adapters; }}},
        {"runtime.fused_adapters", {true, [](r q) { return q.job.runtime.kernels.adapters == adapter_code::fused; }}},
        {"runtime.four_bit_keeps_inputs", {true, [](r q) { return q.job.runtime.kernels.four_bit_keeps_inputs; }}},
        {"runtime.use_reentrant", {true, [](r q) { return q.job.runtime.kernels.checkpointing.reentrant; }}},
        {"runtime.checkpoints_inside_units",
         {true, [](r q) { return q.job.runtime.kernels.checkpointing.inside_units; }}},
        {"runtime.gradient_accumulation_fusion",
         {false, [](r q) { return q.job.runtime.kernels.linear == linear_code::plain; }}},
        {"runtime.cuda", {11, [](r q) { return q.job.runtime.process.context.expected == mib(1823); }}},
        {"runtime.reshard_after_forward", {false, [](r q) { return !q.job.runtime.sharding.reshards_after_forward; }}},
        {"runtime.sync_each_batch", {true, [](r q) { return q.job.runtime.sharding.sync_each_batch; }}},
        {"runtime.gradient_as_bucket_view", {true, [](r q) { return q.job.runtime.sharding.gradient_as_bucket_view; }}},
        {"runtime.fp8_recipe",
         {"blockwise", [](r q) { return q.job.runtime.kernels.fp8.recipe == fp8_recipe::blockwise; }}},
        {"runtime.fp8_param_gather", {true, [](r q) { return q.job.runtime.kernels.fp8.param_gather; }}},
        {"runtime.layer_wise_param_layout",
         {false, [](r q) { return !q.job.runtime.optimizer.layer_wise_param_layout; }}},
        {"runtime.defer_embedding_wgrad_compute",
         {true, [](r q) { return q.job.runtime.pipeline.defer_embedding_wgrad_compute; }}},
        {"runtime.wgrad_deferral_limit", {2, [](r q) { return q.job.runtime.pipeline.wgrad_deferral_limit == 2; }}},
        {"runtime.reduce_bucket_size",
         {50000000, [](r q) { return q.job.runtime.sharding.deepspeed.reduce_bucket_size == 50000000; }}},
        {"runtime.overlap_comm", {true, [](r q) { return q.job.runtime.sharding.deepspeed.overlap_comm; }}},
        {"runtime.sub_group_size",
         {500000000, [](r q) { return q.job.runtime.sharding.deepspeed.sub_group_size == 500000000; }}},
        {"runtime.draft", {"llama-3.2-1b", [](r q) { return q.job.options.draft_kv == bytes_a_token(32768); }}},
        {"runtime.split_rows", {true, [](r q) { return q.job.options.splits_rows; }}},
        {"runtime.ggml_backend", {"vulkan", [](r q) { return q.job.options.backend == ggml_backend::vulkan; }}},
        {"runtime.largest_buffer", {1 << 30, [](r q) { return q.job.options.largest_buffer == gib(1); }}},
        {"runtime.draft_tokens", {3, [](r q) { return q.job.options.draft_tokens == 3; }}},
        {"runtime.acceptance", {0.25, [](r q) { return q.job.options.acceptance == maybe{0.25}; }}},
        {"runtime.speculates_ahead", {true, [](r q) { return q.job.options.speculates_ahead; }}},
    };
    return all;
}

/// A runtime that has the knob.
inline std::string runtime_with(const job_field& f) {
    if (f.name == "fit") return "llama.cpp";
    const std::string_view having = runtimes_with(f.name);
    return having.empty() ? "vllm" : std::string{having.substr(0, having.find(','))};
}

/// A document that gives the field a value, and beside it what the field needs.
inline json with(const job_field& f, const json& value) {
    json document = minimal();
    const std::string name{f.name};
    if (f.group == "Training" || f.group == "Adapter" || f.group == "Offload") document["task"] = "pretraining";
    if (f.object.empty() || name == "runtime")
        document[name] = value;
    else if (f.object == "host")
        document["cluster"]["host"][name] = value;
    else if (f.object == "runtime")
        document["runtime"] = {{"name", runtime_with(f)}, {name, value}};
    else
        document[std::string{f.object}][name] = value;
    if (name == "device") document["cluster"].erase("gpu");
    if (name == "experts_down") document["weights"] = "iq4_ks";
    if (name == "draft_tokens") document["runtime"]["acceptance"] = 0.5;
    if (name == "acceptance") document["runtime"]["draft_tokens"] = 3;
    if (f.object == "lengths" && name == "longest") document["lengths"]["mean"] = 1;
    if (f.object == "adapter")
        document["adapter"].emplace(name == "kind" ? "rank" : "kind", name == "kind" ? json(8) : json("lora"));
    if (f.object == "adapter" && name != "rank" && name != "kind") document["adapter"]["rank"] = 8;
    if (name == "recompute_modules") document["recompute"] = "selective";
    return document;
}

}  // namespace job_documents
