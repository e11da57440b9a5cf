// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <llmres/memory_training.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <string>

#include "../csv.hpp"

/// The rows of data/pytorch_runs.csv (see pytorch/README.md) as jobs.
namespace pytorch_runs {

using namespace llmres;

struct row {
    const csv::row& cells;
    std::string text(const char* name) const {
        const auto found = cells.find(name);
        return found == cells.end() ? std::string{} : found->second;
    }
    std::int64_t number(const char* name) const { return std::atoll(text(name).c_str()); }
};

/// The families whose operations the inventory of training/saved.hpp describes.
inline bool described(const row& r) {
    const std::string family = r.text("family");
    if (r.text("method") == "qlora" || !find_optimizer(r.text("optimizer"))) return false;
    for (const char* known : {"llama", "mistral", "qwen2", "qwen3"})
        if (family == known) return true;
    return false;
}

inline model model_of(const row& r) {
    const std::string family = r.text("family");
    model m{.name = "reference", .vocabulary = r.number("vocab"), .hidden = r.number("hidden")};
    layer l;
    l.attention = {.heads = r.number("heads"), .kv_heads = r.number("kv_heads"), .head_dim = r.number("head_dim"), .qkv_bias = family == "qwen2"};
    l.attention.window = tokens(r.number("window"));
    if (family == "qwen3") l.attention.qk_norm = query_key_norm::shared;
    l.feed_forward.width = r.number("intermediate");
    m.layers.append(static_cast<std::int32_t>(r.number("layers")), l);
    return m;
}

inline job job_of(const row& r) {
    const auto format = [&](const char* name) {
        const std::string t = r.text(name);
        return t == "float32" ? fp32 : t == "float16" ? fp16 : bf16;
    };
    job j{.model = model_of(r), .task = task::finetuning};
    j.runtime = runtimes::huggingface;
    j.runtime.training.shared_heads = true;  // transformers 5 hands grouped heads to sdpa as they are
    j.runtime.training.loss = loss_code::eager;
    j.runtime.workspace = {};
    j.weights = format("param_dtype");
    j.autocast = !r.text("autocast_dtype").empty();
    j.compute = *j.autocast ? format("autocast_dtype") : *j.weights;
    j.master_weights = *j.weights;
    j.optimizer_states = *j.weights;
    j.sequence = tokens(r.number("sequence"));
    j.micro_batch = r.number("batch");
    j.attention = r.text("attention") == "eager" ? attention_kernel::eager : attention_kernel::sdpa;
    j.recompute = r.text("recompute") == "full" ? recompute::full : recompute::none;
    const std::string method = r.text("method");
    if (method != "full") {
        j.adapter = {.kind = method == "dora" ? adapter_kind::dora : adapter_kind::lora, .rank = r.number("lora_rank"),
                     .targets = r.text("lora_targets") == "linear" ? all_linears : role_set{weight_role::q_proj, weight_role::v_proj},
                     .dropout = std::atof(r.text("lora_dropout").c_str())};
    }
    if (const auto o = find_optimizer(r.text("optimizer"))) j.optimizer = *o;
    return j;
}

}  // namespace pytorch_runs
