// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llmres/gpus.hpp>
#include <llmres/models.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../csv.hpp"

/// Published training measurements as jobs: data/training_runs.csv, one mapping a series. The mapping says what the
/// publisher wrote down (framework, precision, batch), never what was measured.
namespace training_runs {

using namespace llmres;

struct run {
    std::string id;
    std::string series;
    job what{};
    layout over{};
    cluster on{};
    double allocated = 0;  // GiB; 0: not measured
    double reserved = 0;
    double smi = 0;
    double unstated = 0;  // the publisher does not say which
    bool out_of_memory = false;
    bool defective = false;   // published to show a fault of the engine, which no plan foresees
    bool first_stage = false;
    bool last_stage = false;  // the counter is that of the last pipeline stage, not of the busiest
};

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct cells {
    const csv::row& row;
    std::string text(const char* name) const {
        const auto found = row.find(name);
        return found == row.end() ? std::string{} : found->second;
    }
    std::int64_t number(const char* name, std::int64_t otherwise = 0) const {
        const std::string t = text(name);
        return t.empty() || t == "=heads" ? otherwise : std::atoll(t.c_str());
    }
    double real(const char* name) const { return std::atof(text(name).c_str()); }
};

/// The value of a Megatron-Core argument among a row's notes, "name=value;..."; empty if it was not given.
inline std::string argument(const std::string& notes, const std::string& name) {
    const std::size_t at = (";" + notes).find(";" + name + "=");
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size() + 1;
    return notes.substr(from, notes.find(';', from) - from);
}

/// What Megatron-Core was told of pipeline, prediction and optimizer.
inline void read_megatron(const std::string& notes, job& j, layout& l) {
    const auto number = [&](const char* name) { return static_cast<std::int32_t>(std::atoi(argument(notes, name).c_str())); };
    training_engine& e = j.runtime.training;
    if (const result<stage_list> stages = read_stages(argument(notes, "pipeline-model-parallel-layout")); stages && stages->chunks > 1) {
        l.stages = *stages;
        l.virtual_pipeline = stages->chunks / l.pipeline;
    }
    l.first_stage_layers = number("num-layers-in-first-pipeline-stage");
    l.last_stage_layers = number("num-layers-in-last-pipeline-stage");
    l.embedding_as_layer = has(notes, "account-for-embedding-in-pipeline-split=True");
    l.loss_as_layer = has(notes, "account-for-loss-in-pipeline-split=True");
    if (has(notes, "cp-comm-type=a2a")) l.cp_comm_type = cp_communication::a2a;
    if (has(notes, "cp-comm-type=all_gather")) l.cp_comm_type = cp_communication::all_gather;
    if (has(notes, "optimizer=muon") || has(notes, "optimizer=dist_muon")) j.optimizer = muon;
    e.layer_wise_param_layout = !has(notes, "no-use-layer-wise-param-layout=True");
    e.defer_embedding_wgrad_compute = has(notes, "defer-embedding-wgrad-compute=True");
    e.wgrad_deferral_limit = number("wgrad-deferral-limit");
    j.steps = number("train-iters");
    if (!argument(notes, "fp8-format").empty()) {  // --fp8-recipe is delayed unless given
        const std::string recipe = argument(notes, "fp8-recipe");
        e.fp8_recipe = fp8_recipe::delayed;
        for (std::size_t i = 0; i < fp8_recipe_names.size(); ++i)
            if (fp8_recipe_names[i] == recipe) e.fp8_recipe = static_cast<fp8_recipe>(i);
        e.fp8_param_gather = has(notes, "fp8-param-gather=True");
    }
    const auto modules = [&](const char* name, layer_module_set among) {
        std::string names = argument(notes, name);  // "[layernorm moe_act]", or one alone
        std::erase_if(names, [](char c) { return c == '[' || c == ']'; });
        std::replace(names.begin(), names.end(), ' ', ',');
        const auto found = find_modules(names, among, name);
        return found ? *found : layer_module_set{};
    };
    if (!argument(notes, "recompute-modules").empty()) j.recompute_modules = modules("recompute-modules", recomputed_modules);
    if (has(notes, "fine-grained-activation-offloading=True")) j.offload.modules = modules("offload-modules", offloaded_modules);
}

/// What Megatron-Core was told of its model.
inline void add_megatron_shape(const cells& c, model& m, layer& l) {
    const bool bias = c.number("bias") != 0;
    l.norm = c.text("norm") == "RMSNorm" ? norm_kind::rms : norm_kind::layer;
    l.feed_forward.kind = c.number("glu") != 0 ? feed_forward_kind::gated : feed_forward_kind::plain;
    l.feed_forward.bias = l.attention.qkv_bias = l.attention.output_bias = bias;
    if (c.number("qk_norm") != 0 && c.number("kv_rank") == 0) l.attention.qk_norm = query_key_norm::shared;
    m.tied_head = c.number("tied") != 0;
    if (c.number("positions") > 0) m.add({.role = weight_role::positions, .rows = c.number("positions"), .columns = m.hidden});
    if (c.number("kv_rank") > 0) {
        l.attention.kind = attention_kind::latent;
        l.attention.q_rank = c.number("q_rank");
        l.attention.kv_rank = c.number("kv_rank");
        l.attention.rope_dim = c.number("rope_dim");
        l.attention.value_dim = c.number("v_dim");
    }
}

/// What the notes say of an architecture: "GPT-NeoX parallel residual; LayerNorm; GELU; untied".
inline void add_noted_shape(const cells& c, model& m, layer& l) {
    const std::string notes = c.text("notes");
    const std::string arch = has(notes, "arch: ") ? notes.substr(notes.find("arch: ") + 6) : has(c.text("model"), "BLOOM") ? "GELU, tied" : notes;
    m.tied_head = has(arch, "tied") && !has(arch, "untied");
    l.attention.qkv_bias = has(arch, "qkv bias");
    if (has(arch, "qk-norm")) l.attention.qk_norm = query_key_norm::shared;
    if (has(arch, "head_dim ")) l.attention.head_dim = std::atoll(arch.c_str() + arch.find("head_dim ") + 9);
    if (has(arch, "GELU") || has(arch, "LayerNorm")) {
        l.norm = norm_kind::layer;
        l.feed_forward.kind = feed_forward_kind::plain;
        l.feed_forward.bias = l.attention.output_bias = l.attention.qkv_bias = true;
    }
    if (has(arch, "GPT-NeoX")) m.architecture = "gpt_neox";
    if (has(arch, "gpt_bigcode")) m.add({.role = weight_role::positions, .rows = 2048, .columns = m.hidden});
    if (std::int64_t count = 0, chosen = 0; std::sscanf(arch.c_str(), "%ld experts top-%ld", &count, &chosen) == 2)
        l.feed_forward.experts = {.count = count, .per_token = chosen, .width = std::exchange(l.feed_forward.width, 0)};
}

/// The library's model of that name, if its columns agree; else what columns and notes tell.
inline model shape_of(const cells& c) {
    const auto count = static_cast<std::int32_t>(c.number("layers"));
    if (const result<model> known = find_model(c.text("model"));
        known && known->hidden == c.number("hidden") && known->layers.size == count && known->vocabulary == c.number("vocab"))
        return *known;
    model m{.name = "measured", .architecture = "llama", .vocabulary = c.number("vocab"), .hidden = c.number("hidden")};
    layer l;
    l.attention.heads = c.number("heads");
    l.attention.kv_heads = c.number("kv_heads", l.attention.heads);
    l.attention.head_dim = c.number("head_dim", m.hidden / l.attention.heads);
    l.feed_forward.width = c.number("ffn");
    if (c.text("series").starts_with("megatron")) add_megatron_shape(c, m, l);
    else add_noted_shape(c, m, l);
    layer dense = l;
    std::int64_t moe_layers = c.number("moe_layers");
    if (c.number("experts") > 0)
        l.feed_forward.experts = {.count = c.number("experts"), .per_token = c.number("topk"), .width = c.number("moe_ffn"),
                                  .shared_width = c.number("shared_ffn")};
    if (has(c.text("notes"), "MLA kv_lora")) {
        std::int64_t rank = 0, key = 0, rope = 0, value = 0, first = 0, experts = 0, width = 0, chosen = 0, shared = 0;
        const std::string notes = c.text("notes");
        if (std::sscanf(notes.c_str() + notes.find("MLA kv_lora"), "MLA kv_lora %ld nope%ld rope%ld v%ld; %ld dense + %ld MoE layers; %ld routed(%ld) top%ld + %ld shared",
                        &rank, &key, &rope, &value, &first, &moe_layers, &experts, &width, &chosen, &shared) == 10) {
            dense.attention = l.attention = {.kind = attention_kind::latent, .heads = l.attention.heads, .kv_heads = l.attention.heads,
                                             .head_dim = key, .kv_rank = rank, .rope_dim = rope, .value_dim = value};
            l.feed_forward.experts = {.count = experts, .per_token = chosen, .width = width, .shared_width = shared * width};
        }
    }
    if (l.feed_forward.routed()) l.feed_forward.width = 0;
    const auto routed = static_cast<std::int32_t>(l.feed_forward.routed() && moe_layers > 0 ? moe_layers : count);
    m.final_norm = l.norm;
    if (count > routed) m.layers.append(count - routed, dense);
    m.layers.append(routed, l);
    return m;
}

inline cluster cluster_of(const std::string& named, std::int64_t gpus) {
    static const std::vector<std::pair<const char*, const char*>> table{
        {"A100-SXM4-40GB", "a100-sxm4-40gb"}, {"A100 40GB", "a100-sxm4-40gb"}, {"A100 80GB", "a100-sxm4-80gb"},
        {"DGX A100", "a100-sxm4-80gb"}, {"H100 96GB", "h100-sxm5-96gb"}, {"H100 80/96GB", "h100-sxm5-96gb"}, {"H100", "h100-sxm5-80gb"},
        {"H200", "h200-sxm-141gb"}, {"GB200", "gb200"}, {"B200", "b200-sxm"}, {"178 GiB", "b200-sxm"}, {"3090", "rtx-3090"},
        {"4090", "rtx-4090"}, {"MI300X", "mi300x"}, {"16GB", "v100-sxm2-16gb"}};
    cluster c{.gpus = static_cast<std::int32_t>(gpus)};
    for (const auto& [part, id] : table)
        if (has(named, part)) {
            if (const auto found = find_gpu(id)) {
                c.gpu = *found;
                if (has(named, "96GB")) c.gpu = with_memory(c.gpu, gib(96));
                break;
            }
        }
    if (c.gpu.memory.fitted <= byte_count{}) c.gpu = *find_gpu("h100-sxm5-80gb");
    return c;
}

/// When that torchtitan was built: the date of its commit, or of the PyTorch that the publisher names beside it.
inline std::string torchtitan_date(const std::string& framework) {
    static const std::vector<std::pair<const char*, const char*>> known{
        {"9dec370", "2024-12-26"}, {"e7c0cae", "2025-06-11"}, {"fca8ab7be", "2026-03"}, {"torch 2.7.0a0", "2025-03"},
        {"torch 2.8.0", "2025-06"}, {"torch 2.9.0", "2025-09"}, {"custom RMSNorm", "2025-03"}, {"reference cycle", "2025-03"}};
    for (const auto& [part, date] : known)
        if (has(framework, part)) return date;
    const std::size_t at = framework.find("torchtitan ");
    const std::size_t year = framework.find("20", at == std::string::npos ? 0 : at);
    return year == std::string::npos ? "2025-03" : framework.substr(year, 7);
}

/// Micro-batches in "128/micro_batch" and "GBS 32" as in plain numbers.
inline run run_of(const csv::row& row) {
    const cells c{row};
    run r{.id = c.text("id"), .series = c.text("series")};
    const std::string method = c.text("method");
    const std::string formats = c.text("precision");
    const std::string framework = c.text("framework");
    const std::string tuned = c.text("optimizer");
    const std::string attention = c.text("attention");
    job& j = r.what;
    layout& l = r.over;
    j.model = shape_of(c);
    j.task = method == "full pre-training" ? task::pretraining : task::finetuning;
    j.sequence = tokens(c.number("seq"));
    if (has(c.text("model"), "santacoder")) j.sequence = tokens(2048);  // its positions end there, so packing to 4096 cannot hold: inferred
    j.micro_batch = c.number("micro_batch", 1);
    l.tensor = static_cast<std::int32_t>(c.number("tp", 1));
    l.sequence_parallel = (c.number("sp") != 0 || has(c.text("parallel"), "sequence parallel")) && l.tensor > 1;
    l.pipeline = static_cast<std::int32_t>(c.number("pp", 1));
    l.virtual_pipeline = static_cast<std::int32_t>(c.number("vpp", 1));
    l.data = static_cast<std::int32_t>(c.number("dp", 1));
    l.context_parallel = static_cast<std::int32_t>(c.number("cp", 1));
    l.expert = static_cast<std::int32_t>(c.number("ep", 1));
    if (l.expert > 1 || l.tensor > 1) l.expert_tensor = static_cast<std::int32_t>(c.number("etp", 1));
    l.zero = static_cast<std::int32_t>(c.number("zero"));
    l.micro_batch_group = static_cast<std::int32_t>(c.number("group"));
    l.shard_replicas = static_cast<std::int32_t>(c.number("shard_replicas", 1));
    j.global_batch = c.number("global_batch") > 0 ? c.number("global_batch") : j.micro_batch * l.data;
    j.weights = bf16;
    j.compute = bf16;
    if (has(formats, "float16") || has(formats, "fp16")) j.compute = fp16, j.weights = fp16;
    j.attention = has(attention, "lash") ? attention_kernel::flash : has(attention, "nfused") || has(attention, "eager") ? attention_kernel::eager : attention_kernel::sdpa;
    const std::string again = c.text("recompute");
    j.recompute = has(again, "full") ? recompute::full : has(again, "selective") ? recompute::selective : recompute::none;
    // What is trained in 16 bits alone: weights, gradients and states.
    j.master_weights = *j.weights;
    j.optimizer_states = *j.weights;
    if (has(tuned, "Paged")) j.optimizer = paged_adamw;
    if (has(tuned, "8bit")) j.optimizer = adamw_8bit;
    if (has(tuned, "in_bwd")) j.optimizer.in_backward = true, j.optimizer.temporaries = 0;
    if (tuned == "none") j.optimizer = sgd;
    if (has(c.text("offload"), "activations CPU")) j.offload.activations = offload_place::host;
    if (has(c.text("offload"), "optimizer CPU")) j.offload.optimizer = offload_place::host;
    if (has(c.text("offload"), "CPU params")) j.offload.parameters = offload_place::host;
    const bool lora = has(method, "lora");
    if (lora) {
        j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = attention_linears};
        if (const auto at = method.find(" r"); at != std::string::npos && method[at + 2] >= '0' && method[at + 2] <= '9')
            j.adapter.rank = std::atoll(method.c_str() + at + 2);
    }
    if (has(method, "nf4-dq"))
        j.weights = nf4_double;
    else if (has(method, "nf4") || has(method, "bnb") || has(method, "hqq"))
        j.weights = nf4;
    else if (has(method, "gptq"))
        j.weights = has(method, "int8") ? gptq(8, 128) : gptq(4, 128);

    if (r.series.starts_with("megatron")) {
        j.runtime = runtimes::megatron;
        training_engine& e = j.runtime.training;
        j.weights = has(formats, "fp16") ? fp16 : has(formats, "fp32; fp8") ? fp32 : bf16;
        j.compute = *j.weights;
        j.master_weights = fp32;
        j.optimizer_states = fp32;
        j.dropout = c.number("dropout") != 0;
        read_megatron(c.text("notes"), j, l);
        j.mtp_layers = static_cast<std::int32_t>(c.number("mtp"));
        if (r.series == "megatron_golden" && !has(c.text("notes"), "moe-grouped-gemm")) e.experts = expert_code::loop;
        if (c.number("accumulate") == 0) e.linear = linear_code::plain;
        if (c.number("ce_fusion") != 0)
            e.loss = r.series == "megatron_b200" || has(c.text("notes"), "fusion-impl=te") ? loss_code::transformer_engine
                                                                                         : loss_code::vocabulary_parallel_fused;
        if (attention == "TE default") j.attention = attention_kernel::flash;
        r.last_stage = r.series == "megatron_golden";
    } else if (r.series == "torchtitan" || r.series == "torchao") {
        const std::string built = torchtitan_date(framework);
        j.runtime = built < "2025-04-02" ? runtimes::torchtitan_0_0 : built < "2025-07-28" ? runtimes::torchtitan_0_1
                  : built < "2025-12-01" ? runtimes::torchtitan_0_2 : runtimes::torchtitan;
        const bool one_graph = has(framework, "graph_trainer") || has(framework, "compiler_toolkit") || has(c.text("notes"), "case graph");
        if (one_graph) j.runtime = runtimes::graph_trainer;
        // What its passes.py did before it took over torchtitan's list of operations (#2689).
        if (one_graph && built < "2026-03-24") j.runtime.training.selective = selective_code::all_but_odd_products;
        // Nodes are joined by multinode_trainer.slurm, which asks for no expandable segments; ROCm has none.
        j.runtime.expandable_segments = l.gpus() <= 8 && !has(c.text("gpu"), "MI300");
        j.weights = fp32, j.compute = bf16, j.master_weights = fp32, j.optimizer_states = fp32;
        j.attention = has(c.text("gpu"), "B200") ? attention_kernel::cudnn : attention_kernel::sdpa;
        j.optimizer = adamw_fused;
        l.zero = 3;
        training_engine& e = j.runtime.training;
        if (has(framework, "chunked")) e.loss = loss_code::chunked;
        r.defective = has(framework, "without fix") || has(framework, "saved abs(W)");
        if (has(c.text("parallel"), "never")) e.reshards_after_forward = false;
        e.compiled = has(framework, "compile") && !has(framework, "compile?") && !one_graph;
    } else if (r.series.starts_with("fms")) {
        // refs/requirements_*.txt: transformers 4.48.1 and 4.45.2.
        j.runtime = r.series == "fms_a100_80gb" ? runtimes::huggingface_4_49 : runtimes::huggingface_4_45;
        training_engine& e = j.runtime.training;
        if (has(framework, "foak")) e.norm = norm_code::fused, e.loss = loss_code::triton;
        if (framework.ends_with("-liger")) e.loss = loss_code::fused_linear;
        j.autocast = has(formats, "AMP");
        e.narrow_loss = has(c.text("model"), "santacoder");
        if (lora) j.adapter.dropout = 0.1;         // scripts/benchmarks/scenarios*.yaml
        if (has(method, "bnb")) j.weights = nf4_double;  // bnb_4bit_use_double_quant in framework_plugin_bnb.py
        // The original checkpoints: TheBloke's of these two have one group a row.
        if (has(method, "gptq") && (has(c.text("model"), "70b") || has(c.text("model"), "Mixtral"))) j.weights = gptq(4, whole_row);
        e.fp32_stream = has(framework, "baseline-peft-bnb");
        if (l.zero > 0) {
            // accelerate keeps what is trained in fp32 under FSDP, and gathers it in the autocast type.
            if (has(method, "full") && has(formats, "AMP")) {
                j.weights = fp32, j.master_weights = fp32, j.optimizer_states = fp32;
                j.autocast = false, e.casts_weights = false;
            }
        }
        if (lora && has(method, "q_proj")) j.adapter.targets = attention_linears;
    } else if (r.series == "swift") {
        j.runtime = runtimes::huggingface_4_42;  // transformers 4.36
        j.global_batch = 16 * j.micro_batch;
        j.varied_lengths = true;  // 3234 +- 2548 tokens; what is longer than max_length is left out, the rest not packed
        // Their own code of 2023 has no flash attention, whatever the flag (modeling_chatglm.py, modeling_baichuan.py).
        if (has(c.text("model"), "chatglm3") || has(c.text("model"), "baichuan2-13b")) j.attention = attention_kernel::eager;
        if (has(c.text("parallel"), "naive")) {  // the figure is the first GPU's
            l.pipeline = 2, l.data = 1;
            r.first_stage = true;
        }
        if (lora) j.adapter.targets = {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};
    } else if (r.series == "litgpt" || r.series == "issues") {
        j.runtime = runtimes::litgpt;
        if (has(formats, "mixed")) j.weights = fp32, j.master_weights = fp32, j.optimizer_states = fp32;
        j.global_batch = 128;
        if (lora) j.adapter.targets = {weight_role::q_proj, weight_role::v_proj}, j.adapter.dropout = 0.05;
        if (has(method, "Adapter")) j.adapter = {.kind = has(method, "v2") ? adapter_kind::llama_adapter_v2 : adapter_kind::llama_adapter, .rank = 10};
    } else if (r.series.starts_with("fsdp_qlora")) {
        j.runtime = runtimes::huggingface_4_42;  // early 2024
        j.runtime.training.fp32_adapters = false;
        j.runtime.training.fp32_stream = false;  // neither train.py nor the notebooks call peft's prepare_model_for_kbit_training
        if (has(again, "non-reentrant")) j.runtime.training.reentrant_checkpoints = false;
        if (has(method, "hqq")) j.runtime.training.four_bit_keeps_inputs = false;  // products of its own
        if (r.series == "fsdp_qlora_profile") j.runtime.training.loss = loss_code::mean;  // nbs/00-profile_lora_qlora.ipynb: output.logits.mean().backward()
        if (lora) j.adapter.targets = r.series == "fsdp_qlora" ? role_set{weight_role::q_proj, weight_role::k_proj, weight_role::v_proj, weight_role::gate_proj, weight_role::up_proj, weight_role::down_proj} : all_linears;
    } else if (r.series == "torchtune_flags") {
        // Each row adds to the one before: packed, compiled, loss in chunks, recomputed, ...
        j.runtime = runtimes::torchtune;
        training_engine& e = j.runtime.training;
        e.compiled = !has(framework, "+packed");
        if (!has(framework, "+packed") && !has(framework, "+compile")) e.loss = loss_code::chunked;
        if (tuned == "AdamW bf16") j.optimizer = adamw_fused;  // recipes/configs: fused: True
    } else if (r.series == "stas_h200_b200" || r.series == "deepspeed") {
        j.runtime = runtimes::deepspeed;
        // Liger patches norms and gated products as well (transformers/monkey_patch.py, apply_liger_kernel_to_llama).
        if (has(framework, "Liger") && !has(framework, "no Liger")) {
            j.runtime.training.loss = loss_code::fused_linear;
            j.runtime.training.norm = norm_code::fused;
            j.runtime.training.gate = gate_code::fused;
        }
        j.master_weights = r.series == "deepspeed" ? bf16 : fp32;
        j.optimizer_states = r.series == "deepspeed" ? bf16 : fp32;
        j.attention = attention_kernel::flash;
    } else if (r.series == "bloom_prequel") {
        // Megatron-DeepSpeed of 2022: Megatron's fused layers; DeepSpeed's BF16_Optimizer keeps fp32 gradients beside the bf16 ones.
        j.runtime = runtimes::deepspeed;
        j.runtime.training.norm = norm_code::fused;
        j.runtime.training.loss = loss_code::vocabulary_parallel;
        j.runtime.training.keeps_gradients = true;
        // CUDA 11 loads every kernel: 1.78 GiB (overheads.csv, O-001: torch 1.10 on an A100).
        j.runtime.context = {mib(1200), mib(1823), mib(2300)};
        if (has(formats, "BF16_Optimizer")) j.gradients = precision{"bf16_and_fp32", arithmetic_kind::bf16, {{{1, 1, 6}}}};
        j.master_weights = fp32;
        j.optimizer_states = fp32;
        j.attention = attention_kernel::eager;
        j.dropout = true;
    } else if (r.series == "ultrascale") {
        // nanotron (src/nanotron/nn, parallel/tensor_parallel): fused norms, flash attention, fp32 gradient accumulators, a sharded
        // cross entropy in steps; reduce-scatter mode keeps what column-parallel products gathered.
        j.runtime = runtimes::pytorch;
        training_engine& e = j.runtime.training;
        e.norm = norm_code::fused;
        e.loss = loss_code::eager_shifted;  // fp32 logits, the same less their maximum, and the exponentials
        e.keeps_gathered_inputs = true;
        e.keeps_gradients = true;
        e.foreach_optimizer = false;
        j.gradients = fp32;
        j.master_weights = fp32;
        j.optimizer_states = fp32;
        j.attention = attention_kernel::flash;
    } else if (r.series == "mbridge_70b") {
        j.runtime = runtimes::megatron;
        if (const auto at = c.text("parallel").find("VPP="); at != std::string::npos) l.virtual_pipeline = std::atoi(c.text("parallel").c_str() + at + 4);
        if (has(formats, "dist-opt")) l.zero = 1;
        if (has(formats, "FP8 current scaling")) j.runtime.training.fp8_recipe = fp8_recipe::tensorwise;
        j.master_weights = fp32;
        j.optimizer_states = fp32;
        j.attention = attention_kernel::flash;
    }
    r.on = cluster_of(c.text("gpu"), l.gpus());
    r.allocated = c.real("allocated_gib") > 0 ? c.real("allocated_gib") : c.real("active_gib");
    r.reserved = c.real("reserved_gib");
    r.smi = c.real("nvidia_smi_mib") / 1024;
    r.unstated = c.real("unstated_gib");
    r.out_of_memory = c.text("oom") == "yes";
    return r;
}

inline std::vector<run> all(const std::string& file = LLMRES_SOURCE_DIR "/tests/validation/data/training_runs.csv") {
    std::vector<run> runs;
    for (const csv::row& row : csv::read(file))
        runs.push_back(run_of(row));
    return runs;
}

/// The memory of the GPU that was measured, if the job is one that can be sized.
inline maybe<memory_breakdown> predicted(const run& r) {
    if (r.defective || !validate(r.what) || !validate(r.over, r.what.model)) return {};
    memory_breakdown m = r.first_stage  ? training_memory(r.what, r.over, 0)
                         : r.last_stage ? training_memory(r.what, r.over, r.over.pipeline - 1)
                                        : training_memory(r.what, r.over);
    m.release_beyond(available_memory(r.on));
    return m;
}

/// How far predictions of one counter are from what was measured.
struct errors {
    int rows = 0;
    double sum = 0, bias = 0, worst = 0;
    int inside = 0;

    void add(const interval<byte_count>& predicted, double measured) {
        if (measured <= 0) return;
        const double e = predicted.expected.in(gib) / measured - 1;
        ++rows, sum += std::fabs(e), bias += e, worst = std::max(worst, std::fabs(e));
        inside += predicted.low.in(gib) <= measured * 1.0001 && measured * 0.9999 <= predicted.high.in(gib);
    }
    double mean() const { return rows > 0 ? sum / rows : 0; }
};

/// The verdicts and errors of one series.
struct score {
    std::map<std::string, errors> counters;
    int defective = 0;
    int ran = 0, failed = 0, ran_refused = 0, failed_fits = 0, tight = 0, refused = 0;

    /// The prediction, if the job is one that can be sized.
    maybe<memory_breakdown> add(const run& r) {
        const maybe<memory_breakdown> said = predicted(r);
        if (!said) {
            ++(r.defective ? defective : refused);
            return {};
        }
        const memory_breakdown& m = *said;
        if (!r.out_of_memory) {
            counters["allocated"].add(m.allocated, r.allocated);
            counters["reserved"].add(m.reserved, r.reserved);
            counters["nvidia-smi"].add(m.total(), r.smi);
            counters["unstated, taken as reserved"].add(m.reserved, r.unstated);
        }
        const byte_count usable = available_memory(r.on);
        const bool fits = m.total().high <= usable;
        const bool cannot = m.total().low > usable;
        ++(r.out_of_memory ? failed : ran);
        failed_fits += r.out_of_memory && fits;
        ran_refused += !r.out_of_memory && cannot;
        tight += !fits && !cannot;
        return m;
    }
};

}  // namespace training_runs
