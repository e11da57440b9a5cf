// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <utility>

#include "../words.hpp"
#include "megatron.hpp"
#include "run.hpp"

/// What each publisher ran: the engine, its version and its settings, from their programs and what they wrote beside
/// the figures; never from what was measured.
namespace training_runs {

using namespace llmres;
using namespace words;

/// Sets what the publisher of a run's series is known to have done.
inline void as_published(const cells& c, run& r);

inline bool is_lora(const cells& c) { return has(c.text("method"), "lora"); }

/// The optimizer's copy of the weights and its states are in fp32.
inline void updates_in_fp32(job& j) { j.master_weights = fp32, j.optimizer_states = fp32; }

// ---- Megatron-Core --------------------------------------------------------------------------------------------------

inline void megatron(const cells& c, run& r) {
    const std::string formats = c.text("precision");
    const std::string notes = c.text("notes");
    job& j = r.what;
    j.runtime = runtimes::megatron;
    llmres::runtime& e = j.runtime;
    j.weights = has(formats, "fp16") ? fp16 : has(formats, "fp32; fp8") ? fp32 : bf16;
    j.compute = *j.weights;
    updates_in_fp32(j);
    j.dropout = c.number("dropout") != 0;
    read_megatron(notes, j, r.over);
    j.mtp_layers = static_cast<std::int32_t>(c.number("mtp"));
    j.mtp_use_repeated_layer = has(notes, "mtp-use-repeated-layer=True");
    if (has(notes, "grad-reduce-in-bf16=True")) j.gradients = bf16;
    e.kernels.use_fused_weighted_squared_relu = has(notes, "use-fused-weighted-squared-relu=True");
    if (r.series == "megatron_golden" && !has(notes, "moe-grouped-gemm")) e.kernels.experts = expert_code::sequential;
    if (c.number("accumulate") == 0) e.kernels.linear = linear_code::plain;
    if (c.number("ce_fusion") != 0)
        e.kernels.loss.code = r.series == "megatron_b200" || has(notes, "fusion-impl=te")
                                  ? loss_code::transformer_engine
                                  : loss_code::vocabulary_parallel_fused;
    if (c.text("attention") == "TE default") j.attention = attention_kernel::flash;
    r.last_stage = r.series == "megatron_golden";
}

inline void megatron_bridge(const cells& c, run& r) {
    const std::string formats = c.text("precision");
    const std::string parallel = c.text("parallel");
    job& j = r.what;
    j.runtime = runtimes::megatron;
    if (const auto n = after(parallel, "VPP=")) r.over.virtual_pipeline = static_cast<std::int32_t>(*n);
    if (has(formats, "dist-opt")) r.over.zero = 1;
    if (has(formats, "FP8 current scaling")) j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    updates_in_fp32(j);
    j.attention = attention_kernel::flash;
}

// ---- torchtitan and torchao -----------------------------------------------------------------------------------------

/// When that torchtitan was built: the date of its commit, or of the PyTorch that the publisher names beside it.
inline std::string torchtitan_date(const std::string& framework) {
    static constexpr std::pair<const char*, const char*> known[] = {
        {"9dec370", "2024-12-26"},     {"e7c0cae", "2025-06-11"},     {"fca8ab7be", "2026-03"},
        {"torch 2.7.0a0", "2025-03"},  {"torch 2.8.0", "2025-06"},    {"torch 2.9.0", "2025-09"},
        {"custom RMSNorm", "2025-03"}, {"reference cycle", "2025-03"}};
    for (const auto& [part, date] : known)
        if (has(framework, part)) return date;
    const std::size_t at = framework.find("torchtitan ");
    const std::size_t year = framework.find("20", at == std::string::npos ? 0 : at);
    return year == std::string::npos ? "2025-03" : framework.substr(year, 7);
}

inline runtime torchtitan_of(const std::string& built) {
    if (built < "2025-04-02") return runtimes::torchtitan_0_0;
    if (built < "2025-07-28") return runtimes::torchtitan_0_1;
    if (built < "2025-12-01") return runtimes::torchtitan_0_2;
    return runtimes::torchtitan;
}

inline void torchtitan(const cells& c, run& r) {
    const std::string framework = c.text("framework");
    const std::string built = torchtitan_date(framework);
    const bool one_graph =
        has(framework, "graph_trainer") || has(framework, "compiler_toolkit") || has(c.text("notes"), "case graph");
    job& j = r.what;
    j.runtime = one_graph ? runtimes::graph_trainer : torchtitan_of(built);
    llmres::runtime& e = j.runtime;
    // What its passes.py did before it took over torchtitan's list of operations (#2689).
    if (one_graph && built < "2026-03-24") e.kernels.checkpointing.selective = selective_code::all_but_odd_products;
    // Nodes are joined by multinode_trainer.slurm, which asks for no expandable segments; ROCm has none.
    j.runtime.allocator.expandable_segments = r.over.gpus() <= 8 && !has(c.text("gpu"), "MI300");
    j.weights = fp32, j.compute = bf16;
    updates_in_fp32(j);
    j.attention = has(c.text("gpu"), "B200") ? attention_kernel::cudnn : attention_kernel::sdpa;
    j.optimizer = adamw_fused;
    r.over.zero = 3;
    if (has(framework, "chunked")) e.kernels.loss.code = loss_code::chunked;
    if (has(c.text("parallel"), "never")) e.sharding.reshards_after_forward = false;
    e.kernels.compilation.layers = has(framework, "compile") && !has(framework, "compile?") && !one_graph;
    r.defective = has(framework, "without fix") || has(framework, "saved abs(W)");
}

// ---- transformers, PEFT and accelerate ------------------------------------------------------------------------------

/// foundation-model-stack/fms-acceleration.
inline void fms(const cells& c, run& r) {
    const std::string framework = c.text("framework");
    const std::string method = c.text("method");
    const std::string name = c.text("model");
    const bool autocast = has(c.text("precision"), "AMP");
    job& j = r.what;
    // refs/requirements_*.txt: transformers 4.48.1 and 4.45.2.
    j.runtime = r.series == "fms_a100_80gb" ? runtimes::huggingface_4_49 : runtimes::huggingface_4_45;
    llmres::runtime& e = j.runtime;
    if (has(framework, "foak")) e.kernels.norm = norm_code::fused, e.kernels.loss.code = loss_code::triton;
    if (framework.ends_with("-liger")) e.kernels.loss.code = loss_code::fused_linear;
    j.autocast = autocast;
    e.kernels.loss.narrow = has(name, "santacoder");
    e.kernels.fp32_stream = has(framework, "baseline-peft-bnb");
    if (is_lora(c)) j.adapter.dropout = 0.1;         // scripts/benchmarks/scenarios*.yaml
    if (has(method, "bnb")) j.weights = nf4_double;  // bnb_4bit_use_double_quant in framework_plugin_bnb.py
    // The original checkpoints: TheBloke's of these two have one group a row.
    if (has(method, "gptq") && (has(name, "70b") || has(name, "Mixtral"))) j.weights = gptq(4, whole_row);
    // accelerate keeps what is trained in fp32 under FSDP, and gathers it in the autocast type.
    if (r.over.zero > 0 && has(method, "full") && autocast) {
        j.weights = fp32;
        updates_in_fp32(j);
        j.autocast = false, e.kernels.casts_weights = false;
    }
    if (is_lora(c) && has(method, "q_proj")) j.adapter.targets = attention_linears;
}

inline void swift(const cells& c, run& r) {
    const std::string name = c.text("model");
    job& j = r.what;
    j.runtime = runtimes::huggingface_4_42;  // transformers 4.36
    j.global_batch = 16 * j.micro_batch;
    j.varied_lengths = true;  // 3234 +- 2548 tokens; what is longer than max_length is left out, the rest not packed
    j.mean_length = tokens(3234);
    // Their own code of 2023 has no flash attention, whatever the flag (modeling_chatglm.py, modeling_baichuan.py).
    if (has(name, "chatglm3") || has(name, "baichuan2-13b")) j.attention = attention_kernel::eager;
    if (has(c.text("parallel"), "naive")) {  // the figure is the first GPU's
        r.over.pipeline = 2, r.over.data = 1;
        r.first_stage = true;
    }
    if (is_lora(c)) j.adapter.targets = {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};
}

/// AnswerDotAI/fsdp_qlora: its train.py, and the notebooks that profile a smaller model.
inline void fsdp_qlora(const cells& c, run& r) {
    constexpr role_set all_but_output{weight_role::q_proj,    weight_role::k_proj,  weight_role::v_proj,
                                      weight_role::gate_proj, weight_role::up_proj, weight_role::down_proj};
    constexpr role_set of_llama{weight_role::q_proj, weight_role::v_proj};  // peft's own choice
    const bool profile = r.series == "fsdp_qlora_profile";
    const bool hqq = has(c.text("method"), "hqq");
    job& j = r.what;
    j.runtime = runtimes::huggingface_4_42;  // early 2024
    llmres::runtime& e = j.runtime;
    e.kernels.fp32_adapters = false;
    e.kernels.fp32_stream = false;  // neither train.py nor the notebooks call peft's prepare_model_for_kbit_training
    e.kernels.checkpointing.inside_units = true;
    if (has(c.text("recompute"), "non-reentrant")) e.kernels.checkpointing.reentrant = false;
    if (hqq) e.kernels.four_bit_keeps_inputs = false;  // products of its own
    if (profile) {
        e.kernels.loss.code = loss_code::mean;  // nbs/00-profile_lora_qlora.ipynb: output.logits.mean().backward()
        j.model.max_context = tokens(2048);     // LlamaConfig's default
    } else if (has(c.text("method"), "nf4")) {
        j.weights = nf4_double;  // bnb.nn.Linear4bit's compress_statistics, which train.py leaves on
    }
    if (!is_lora(c)) return;
    j.adapter.targets = hqq ? all_linears : profile ? of_llama : all_but_output;
    j.adapter.dropout = 0.1;
}

// ---- LitGPT and torchtune -------------------------------------------------------------------------------------------

inline void litgpt(const cells& c, run& r) {
    const std::string method = c.text("method");
    job& j = r.what;
    j.runtime = runtimes::litgpt;
    if (has(c.text("precision"), "mixed")) j.weights = fp32, updates_in_fp32(j);
    j.global_batch = 128;
    if (is_lora(c)) j.adapter.targets = {weight_role::q_proj, weight_role::v_proj}, j.adapter.dropout = 0.05;
    if (has(method, "Adapter"))
        j.adapter = {.kind = has(method, "v2") ? adapter_kind::llama_adapter_v2 : adapter_kind::llama_adapter,
                     .rank = 10};
}

/// Each row adds to the one before: packed, compiled, loss in chunks, recomputed, ...
inline void torchtune(const cells& c, run& r) {
    const std::string framework = c.text("framework");
    const bool compiled = !has(framework, "+packed");
    job& j = r.what;
    j.runtime = runtimes::torchtune;
    j.runtime.kernels.compilation.layers = compiled;
    if (compiled && !has(framework, "+compile")) j.runtime.kernels.loss.code = loss_code::chunked;
    const bool in_backward = j.optimizer.in_backward;
    if (c.text("optimizer") == "AdamW bf16") j.optimizer = adamw_fused;  // recipes/configs: fused: True
    if (has(c.text("optimizer"), "AdamW8bit") &&
        !j.optimizer.paged) {  // torchao's, as memory_optimizations.rst names it
        j.optimizer = adamw_8bit_torchao;
        j.optimizer.in_backward = in_backward;
    }
}

// ---- DeepSpeed and nanotron -----------------------------------------------------------------------------------------

inline void deepspeed(const cells& c, run& r) {
    const std::string framework = c.text("framework");
    job& j = r.what;
    j.runtime = runtimes::deepspeed;
    // Liger patches norms and gated products as well (transformers/monkey_patch.py, apply_liger_kernel_to_llama).
    if (has(framework, "Liger") && !has(framework, "no Liger")) {
        j.runtime.kernels.loss.code = loss_code::fused_linear;
        j.runtime.kernels.norm = norm_code::fused;
        j.runtime.kernels.gate = gate_code::fused;
    }
    if (r.series == "deepspeed")
        j.runtime.sharding.reduce_bucket_size = 50'000'000;  // DeepSpeedExamples, bf16_master_weight/configs
    j.master_weights = j.optimizer_states = has(c.text("precision"), "bf16 master") ? bf16 : fp32;
    j.attention = attention_kernel::flash;
}

/// Megatron-DeepSpeed of 2022: Megatron's fused layers; DeepSpeed's BF16_Optimizer keeps fp32 gradients beside the bf16
/// ones.
inline void megatron_deepspeed(const cells& c, run& r) {
    job& j = r.what;
    j.runtime = runtimes::deepspeed;
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.loss.code = loss_code::vocabulary_parallel;
    j.runtime.sharding.keeps_gradients = true;
    // CUDA 11 loads every kernel: 1.78 GiB (overheads.csv, O-001: torch 1.10 on an A100).
    j.runtime.process.context = {mib(1200), mib(1823), mib(2300)};
    if (has(c.text("precision"), "BF16_Optimizer"))
        j.gradients = precision{"bf16_and_fp32", arithmetic_kind::bf16, {{{1, 1, 6}}}};
    updates_in_fp32(j);
    j.attention = attention_kernel::eager;
    j.dropout = true;
}

/// nanotron (src/nanotron/nn, parallel/tensor_parallel): fused norms, flash attention, fp32 gradient accumulators, a
/// sharded cross entropy in steps; reduce-scatter mode keeps what column-parallel products gathered.
inline void nanotron(const cells&, run& r) {
    job& j = r.what;
    j.runtime = runtimes::pytorch;
    llmres::runtime& e = j.runtime;
    e.kernels.norm = norm_code::fused;
    e.kernels.loss.code = loss_code::eager_shifted;  // fp32 logits, the same less their maximum, and the exponentials
    e.kernels.keeps_gathered_inputs = true;
    e.sharding.keeps_gradients = true;
    e.optimizer.foreach_tensors = false;
    j.gradients = fp32;
    updates_in_fp32(j);
    j.attention = attention_kernel::flash;
}

// ---- by series ------------------------------------------------------------------------------------------------------

struct publisher {
    const char* series;  ///< what its name begins with
    void (*set)(const cells&, run&);
};

// clang-format off
inline constexpr publisher publishers[] = {
    {"megatron",        megatron},
    {"mbridge_70b",     megatron_bridge},
    {"torchtitan",      torchtitan},
    {"torchao",         torchtitan},
    {"fms",             fms},
    {"swift",           swift},
    {"fsdp_qlora",      fsdp_qlora},
    {"litgpt",          litgpt},
    {"issues",          litgpt},
    {"torchtune_flags", torchtune},
    {"stas_h200_b200",  deepspeed},
    {"deepspeed",       deepspeed},
    {"bloom_prequel",   megatron_deepspeed},
    {"ultrascale",      nanotron},
};
// clang-format on

inline void as_published(const cells& c, run& r) {
    for (const publisher& p : publishers)
        if (r.series.starts_with(p.series)) return p.set(c, r);
}

}  // namespace training_runs
