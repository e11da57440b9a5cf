// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <llmres/inventory/placement.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <string>
#include <string_view>

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

// ---- the models, as families.py configures them ---------------------------------------------------------------------

inline layer decoder_layer(const row& r) {
    layer l;
    l.attention = {.heads = r.number("heads"), .kv_heads = r.number("kv_heads"), .head_dim = r.number("head_dim")};
    l.feed_forward.width = r.number("intermediate");
    return l;
}

inline void add_positions(model& m, std::int64_t rows) {
    m.add({.role = weight_role::positions, .rows = rows, .columns = m.hidden});
}

/// Layers of the first transformer, and of GPT-2: LayerNorms and biases, a plain feed-forward.
inline layer biased_layer(const row& r) {
    layer l = decoder_layer(r);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = true;
    l.feed_forward.kind = feed_forward_kind::plain;
    l.norm = norm_kind::layer;
    return l;
}

inline recurrent mamba2_of(const row& r) {
    return {.kind = recurrent_kind::mamba2,
            .heads = r.number("ssm_heads"),
            .head_dim = r.number("ssm_head_dim"),
            .key_heads = r.number("ssm_groups"),
            .state = r.number("state"),
            .kernel = r.number("conv_kernel"),
            .conv_bias = true};
}

inline model model_of(const row& r) {
    const std::string family = r.text("family");
    const auto count = static_cast<std::int32_t>(r.number("layers"));
    model m{.name = "reference", .vocabulary = r.number("vocab"), .hidden = r.number("hidden")};
    m.architecture = family == "gemma3" ? "gemma3_text" : family.c_str();
    layer l = decoder_layer(r);
    const token_count window = tokens(r.number("window"));
    if (family == "mistral") l.attention.window = window;
    if (family == "qwen2") l.attention.qkv_bias = true;
    if (family == "qwen3" || family == "qwen3_moe" || family == "gemma3") l.attention.qk_norm = query_key_norm::shared;
    if (r.number("experts") > 0)
        l.feed_forward.experts = {.count = r.number("experts"),
                                  .per_token = r.number("experts_per_token"),
                                  .width = r.number("expert_intermediate")};
    if (family == "gemma2" || family == "gemma3") {
        l.norm_after_attention = l.norm_after_feed_forward = true;
        l.attention.window = window;
        m.layers = alternating(count, family == "gemma2" ? 2 : 6, l);
        return m;
    }
    if (family == "gpt2" || family == "gpt_neox" || family == "opt") {
        l = biased_layer(r);
        m.final_norm = norm_kind::layer;
        m.tied_head = family != "gpt_neox";
        if (m.tied_head) add_positions(m, family == "opt" ? 8194 : 8192);
    }
    if (family == "deepseek_v3") {
        l.attention = {.kind = attention_kind::latent,
                       .heads = r.number("heads"),
                       .head_dim = r.number("qk_nope_head_dim"),
                       .q_rank = r.number("q_lora_rank"),
                       .kv_rank = r.number("kv_lora_rank"),
                       .rope_dim = r.number("qk_rope_head_dim"),
                       .value_dim = r.number("v_head_dim")};
        layer dense = l;
        dense.feed_forward.experts = {};
        l.feed_forward.experts.shared_width = r.number("shared_expert_intermediate");
        m.layers.append(static_cast<std::int32_t>(r.number("dense_layers")), dense);
        m.layers.append(count - static_cast<std::int32_t>(r.number("dense_layers")), l);
        return m;
    }
    if (family == "bert") {
        l = biased_layer(r);
        m.tied_head = m.head_bias = true;
        m.final_norm = norm_kind::none;
        add_positions(m, 4096);
        add_positions(m, 2);
        m.add({.role = weight_role::norm, .columns = m.hidden, .copies = 2});
        m.add({.role = weight_role::classifier,
               .part = model_part::output,
               .bias = true,
               .rows = m.hidden,
               .columns = m.hidden});
        m.add({.role = weight_role::norm, .part = model_part::output, .columns = m.hidden, .copies = 2});
    }
    if (family == "vit") {
        l = biased_layer(r);
        m.tied_head = true;
        m.final_norm = norm_kind::layer;
        const std::int64_t side = r.number("image") / r.number("patch");
        m.add({.role = weight_role::conv,
               .bias = true,
               .rows = m.hidden,
               .columns = 3 * r.number("patch") * r.number("patch")});
        add_positions(m, side * side + 2);
        m.add({.role = weight_role::classifier,
               .part = model_part::output,
               .bias = true,
               .rows = 1000,
               .columns = m.hidden});
    }
    if (family == "t5") {
        m.tied_head = true;  // transformers 5 ties it, whatever the configuration says
        m.encoders[0] = {.hidden = m.hidden, .layers = count, .block = l};
        m.add({.role = weight_role::norm, .columns = m.hidden});
        m.add({.role = weight_role::positions, .rows = 32, .columns = r.number("heads"), .copies = 2});
        l.attention.cross = cross_attention::beside;
        m.layers.append(static_cast<std::int32_t>(r.number("decoder_layers")), l);
        return m;
    }
    if (family == "whisper") {
        l = biased_layer(r);
        l.attention.keys = key_projection::unbiased;
        m.tied_head = true;
        m.final_norm = norm_kind::layer;
        m.encoders[0] = {.hidden = m.hidden, .layers = count, .block = l, .output = tokens(1500)};
        m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * 80});
        m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * m.hidden});
        add_positions(m, 1500);
        add_positions(m, 448);
        m.add({.role = weight_role::norm, .columns = m.hidden, .copies = 2});
        l.attention.cross = cross_attention::beside;
        m.layers.append(static_cast<std::int32_t>(r.number("decoder_layers")), l);
        return m;
    }
    if (family == "mamba2") {
        l = {.attention = no_attention, .recurrent = mamba2_of(r), .feed_forward = no_feed_forward};
        l.norm_before_feed_forward = false;
    }
    if (family == "bamba") {
        layer mixing = l;
        mixing.attention = no_attention;
        mixing.recurrent = mamba2_of(r);
        for (std::int32_t i = 0; i < count; ++i) m.layers.append(1, i % 2 == 1 ? l : mixing);
        return m;
    }
    m.layers.append(count, l);
    return m;
}

// ---- the jobs -------------------------------------------------------------------------------------------------------

/// What families.py calls `attention` and `linear` in each family.
inline role_set targets_of(const row& r) {
    using role = weight_role;
    const std::string family = r.text("family");
    const bool linear = r.text("lora_targets") == "linear";
    if (family == "deepseek_v3")
        return linear ? role_set{role::q_a_proj, role::q_b_proj, role::kv_a_proj, role::kv_b_proj, role::o_proj}
                      : role_set{role::q_b_proj, role::kv_b_proj};
    if (family == "mamba2") return {role::in_proj};
    if (!linear)
        return modeling_of(model_of(r)).attention.joined_heads ? role_set{role::q_proj, role::k_proj, role::v_proj}
                                                               : role_set{role::q_proj, role::v_proj};
    role_set all{role::q_proj, role::k_proj, role::v_proj, role::o_proj};
    if (r.number("experts") > 0) return all;
    for (const role of : {role::gate_proj, role::up_proj, role::down_proj}) all.insert(of);
    if (family == "bert") all.insert(role::classifier);  // the head's own layer is called `dense` as well
    return all;
}

inline job job_of(const row& r) {
    const auto format = [&](const char* name) {
        const std::string t = r.text(name);
        return t == "float32" ? fp32 : t == "float16" ? fp16 : bf16;
    };
    const std::string method = r.text("method");
    const std::string family = r.text("family");
    job j{.model = model_of(r), .task = task::finetuning};
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.loss.code = loss_code::eager;
    const std::string experts = r.text("experts_implementation");
    if (experts == "eager") j.runtime.kernels.experts = expert_code::loop;
    if (experts == "batched_mm") j.runtime.kernels.experts = expert_code::batched;
    j.runtime.process.workspace = {};
    j.weights = format("param_dtype");
    j.autocast = !r.text("autocast_dtype").empty();
    j.compute = *j.autocast ? format("autocast_dtype") : *j.weights;
    j.master_weights = *j.weights;
    j.optimizer_states = *j.weights;
    j.sequence = tokens(r.number("sequence"));
    j.micro_batch = r.number("batch");
    j.attention = r.text("attention") == "eager" ? attention_kernel::eager : attention_kernel::sdpa;
    const std::string again = r.text("recompute");
    j.recompute = again == "none" ? recompute::none : again == "selective" ? recompute::selective : recompute::full;
    if (again.starts_with("every")) j.recompute_every = static_cast<std::int32_t>(std::atoi(again.c_str() + 5));
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_odd_products;
    if (r.text("loss") == "chunked") j.runtime.kernels.loss.code = loss_code::chunked;
    if (r.text("kernels") == "liger") {
        j.runtime.kernels.loss.code = loss_code::fused_linear;
        j.runtime.kernels.norm = norm_code::fused;
        j.runtime.kernels.gate = gate_code::fused;
    }
    if (r.text("kernels") == "float8") j.compute = fp8_e4m3;
    if (r.number("accumulate") > 1) j.global_batch = r.number("accumulate") * j.micro_batch;
    j.ema = r.text("average") == "True";
    if (r.text("offload") == "True")
        j.offload.activations = offload_place::host, j.runtime.kernels.checkpointing.offloads_at_once = true;
    j.dropout = family == "gpt2" || family == "opt" || family == "bert" || family == "t5";
    if (method != "full") {
        j.adapter = {.kind = method == "dora"     ? adapter_kind::dora
                             : method == "rslora" ? adapter_kind::rslora
                             : method == "ia3"    ? adapter_kind::ia3
                             : method == "prompt" ? adapter_kind::prompt
                                                  : adapter_kind::lora,
                     .rank = r.number("lora_rank"),
                     .targets = targets_of(r),
                     .dropout = std::atof(r.text("lora_dropout").c_str())};
    }
    if (method == "qlora") {
        j.weights = nf4_double;
        j.runtime.kernels.fp32_stream = true;  // prepare_model_for_kbit_training
        j.runtime.kernels.four_bit_keeps_inputs = false;
        j.model.tied_head = false;  // the reference's preparation makes each module's parameters anew, and so unties
    }
    if (const auto o = find_optimizer(r.text("optimizer"))) j.optimizer = *o;
    return j;
}

// ---- scores ---------------------------------------------------------------------------------------------------------

/// Relative errors of one counter.
struct errors {
    int rows = 0;
    double sum = 0;
    double bias = 0;
    double worst = 0;

    void add(double error) {
        ++rows, sum += std::fabs(error), bias += error;
        if (std::fabs(error) > worst) worst = std::fabs(error);
    }
    double mean() const { return rows > 0 ? sum / rows : 0; }
};

/// Predicted over measured, less one; the batch itself is no part of a prediction.
struct outcome {
    double weights, gradients, states, saved, peak;
};

inline double error_of(byte_count predicted, std::int64_t measured) {
    if (measured == 0) return predicted == byte_count{} ? 0 : 1;
    return static_cast<double>(predicted.in(bytes)) / static_cast<double>(measured) - 1;
}

inline outcome outcome_of(const row& r, const job& j) {
    const training_state state = training_state_of(j, {});
    const sdpa_backend sdpa =
        r.text("gpu") == "sm90" || r.text("gpu") == "sm100" ? sdpa_backend::cudnn : sdpa_backend::flash;
    const byte_count saved = saved_activations(j, {}, 0, sdpa);
    // Of quantised models the reference counts scales, and bitsandbytes' tables of values, as static.
    const std::int64_t weights =
        r.text("method") == "qlora" ? r.number("static_bytes") - r.number("buffer_bytes") : r.number("param_bytes");
    return {.weights = error_of(state.weights + state.adapter, weights),
            .gradients = error_of(state.gradients.kept, r.number("gradient_bytes")),
            .states = error_of(state.optimizer.states, r.number("optimizer_bytes")),
            .saved = error_of(j.offload.activations == offload_place::none ? saved : saved - saved_by_layers(j, {}),
                              r.number("saved_activation_bytes")),
            .peak = error_of(detail::training_memory(j, {}, 0, 1, sdpa).ideal,
                             r.number("peak_bytes") - r.number("input_bytes"))};
}

struct family_scores {
    errors weights{}, gradients{}, states{}, saved{}, peak{};

    void add(const outcome& o) {
        weights.add(o.weights), gradients.add(o.gradients), states.add(o.states), saved.add(o.saved), peak.add(o.peak);
    }
};

}  // namespace pytorch_runs
