// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <llmres/hardware/gpus/all.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../csv.hpp"
#include "../words.hpp"
#include "publishers.hpp"
#include "run.hpp"
#include "shapes.hpp"

/// Published training measurements as jobs, layouts and clusters: tests/validation/data/training_runs.csv, or another
/// table of its columns. What the columns say comes first, then what is known of who published it (publishers.hpp).
namespace training_runs {

using namespace llmres;
using namespace words;

inline run run_of(const csv::row& row);

inline std::vector<run> all(const std::string& file = LLMRES_SOURCE_DIR "/tests/validation/data/training_runs.csv") {
    std::vector<run> runs;
    for (const csv::row& row : csv::read(file)) runs.push_back(run_of(row));
    return runs;
}

inline cluster cluster_of(const std::string& named, std::int64_t gpus) {
    static constexpr std::pair<const char*, const char*> table[] = {{"A100-SXM4-40GB", "a100-sxm4-40gb"},
                                                                    {"A100 40GB", "a100-sxm4-40gb"},
                                                                    {"A100 80GB", "a100-sxm4-80gb"},
                                                                    {"DGX A100", "a100-sxm4-80gb"},
                                                                    {"H100 96GB", "h100-sxm5-96gb"},
                                                                    {"H100 80/96GB", "h100-sxm5-96gb"},
                                                                    {"H100", "h100-sxm5-80gb"},
                                                                    {"H200", "h200-sxm-141gb"},
                                                                    {"GB200", "gb200"},
                                                                    {"B200", "b200-sxm"},
                                                                    {"178 GiB", "b200-sxm"},
                                                                    {"3090", "rtx-3090"},
                                                                    {"4090", "rtx-4090"},
                                                                    {"MI300X", "mi300x"},
                                                                    {"16GB", "v100-sxm2-16gb"}};
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

inline layout layout_of(const cells& c) {
    const auto ranks = [&](const char* column, std::int64_t otherwise = 1) {
        return static_cast<std::int32_t>(c.number(column, otherwise));
    };
    layout l;
    l.tensor = ranks("tp");
    l.sequence_parallel = (c.number("sp") != 0 || has(c.text("parallel"), "sequence parallel")) && l.tensor > 1;
    l.pipeline = ranks("pp");
    l.virtual_pipeline = ranks("vpp");
    l.data = ranks("dp");
    l.context_parallel = ranks("cp");
    l.expert = ranks("ep");
    if (l.expert > 1 || l.tensor > 1) l.expert_tensor = ranks("etp");
    l.zero = ranks("zero", 0);
    l.micro_batch_group = ranks("group", 0);
    l.shard_replicas = ranks("shard_replicas");
    return l;
}

/// What is trained in 16 bits alone: weights, gradients and states. Quantized weights are frozen under an adapter.
inline void set_formats(const cells& c, job& j) {
    const std::string formats = c.text("precision");
    const std::string method = c.text("method");
    const precision half = has(formats, "float16") || has(formats, "fp16") ? fp16 : bf16;
    j.weights = j.master_weights = half;
    j.compute = j.optimizer_states = half;
    if (has(method, "nf4-dq"))
        j.weights = nf4_double;
    else if (has(method, "nf4") || has(method, "bnb") || has(method, "hqq"))
        j.weights = nf4;
    else if (has(method, "gptq"))
        j.weights = has(method, "int8") ? gptq(8, 128) : gptq(4, 128);
}

inline void set_optimizer(const cells& c, job& j) {
    const std::string tuned = c.text("optimizer");
    const std::string offload = c.text("offload");
    if (has(tuned, "Paged")) j.optimizer = paged_adamw;
    if (has(tuned, "8bit")) j.optimizer = adamw_8bit;
    if (has(tuned, "in_bwd")) j.optimizer.in_backward = true, j.optimizer.temporaries = 0;
    if (tuned == "none") j.optimizer = sgd;
    if (has(offload, "activations CPU")) j.offload.activations = offload_place::host;
    if (has(offload, "optimizer CPU")) j.offload.optimizer = offload_place::host;
    if (has(offload, "CPU params")) j.offload.parameters = offload_place::host;
}

inline attention_kernel attention_of(const std::string& written) {
    if (has(written, "lash")) return attention_kernel::flash;
    if (has(written, "nfused") || has(written, "eager")) return attention_kernel::eager;
    return attention_kernel::sdpa;
}

/// "lora r16 on q_proj".
inline adapter lora_of(const std::string& method) {
    adapter a{.kind = adapter_kind::lora, .rank = 8, .targets = attention_linears};
    if (const auto at = method.find(" r"); at != std::string::npos && method[at + 2] >= '0' && method[at + 2] <= '9')
        a.rank = std::atoll(method.c_str() + at + 2);
    return a;
}

inline run run_of(const csv::row& row) {
    const cells c{row};
    run r{.id = c.text("id"), .series = c.text("series")};
    const std::string method = c.text("method");
    const std::string again = c.text("recompute");
    r.over = layout_of(c);
    job& j = r.what;
    j.model = shape_of(c);
    j.task = method == "full pre-training" ? task::pretraining : task::finetuning;
    j.sequence = tokens(c.number("seq"));
    // Its positions end there, so packing to 4096 cannot hold: inferred.
    if (has(c.text("model"), "santacoder")) j.sequence = tokens(2048);
    j.micro_batch = c.number("micro_batch", 1);
    j.global_batch = c.number("global_batch") > 0 ? c.number("global_batch") : j.micro_batch * r.over.data;
    j.attention = attention_of(c.text("attention"));
    j.recompute = has(again, "full")        ? recompute::full
                  : has(again, "selective") ? recompute::selective
                                            : recompute::none;
    set_formats(c, j);
    set_optimizer(c, j);
    if (is_lora(c)) j.adapter = lora_of(method);
    as_published(c, r);
    r.on = cluster_of(c.text("gpu"), r.over.gpus());
    r.allocated = c.real("allocated_gib") > 0 ? c.real("allocated_gib") : c.real("active_gib");
    r.reserved = c.real("reserved_gib");
    r.smi = c.real("nvidia_smi_mib") / 1024;
    r.unstated = c.real("unstated_gib");
    r.out_of_memory = c.text("oom") == "yes";
    return r;
}

}  // namespace training_runs
