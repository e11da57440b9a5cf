// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdlib>
#include <llmres/memory/memory.hpp>
#include <llmres/values/precision.hpp>
#include <string>
#include <vector>

#include "../csv.hpp"

/// Published measurements of one kernel's forward and backward pass (Liger-Kernel,
/// benchmark/data/all_benchmark_data.csv) held against the inventory that the training memory is a sum of. A benchmark
/// keeps tensors of its own beside what the kernel saves and makes: each case names them.
namespace kernels {

using namespace llmres;
using namespace llmres::detail;

struct run {
    std::string id, kernel, provider, mode;
    std::int64_t tokens = 0, width = 0, hidden = 0;
    double mib = 0;
};

inline std::vector<run> all() {
    std::vector<run> runs;
    for (const csv::row& r : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/kernel_memory.csv")) {
        const auto number = [&](const char* name) { return std::atoll(r.at(name).c_str()); };
        runs.push_back({r.at("id"), r.at("kernel"), r.at("provider"), r.at("mode"), number("tokens"), number("width"),
                        number("hidden"), std::atof(r.at("mib").c_str())});
    }
    return runs;
}

inline job job_of(const run& r, const precision& format) {
    job j{.task = task::pretraining, .weights = format, .compute = format, .sequence = tokens(r.tokens)};
    j.runtime.kernels.norm = norm_code::fused;
    return j;
}

/// Bytes of the loss's own tensors at its fullest moment: not what the final norm and the head keep of their inputs.
inline byte_count loss_bytes(const run& r, const precision& format, loss_code code) {
    job j = job_of(r, format);
    j.model = {.vocabulary = r.width, .hidden = r.hidden > 0 ? r.hidden : 1};
    j.runtime.kernels.loss.code = code;
    j.runtime.kernels.loss.returns_logits = false;
    std::array<byte_count, 5> at{};
    for_each_loss_activation(j.model, training_context{j, {}}, [&](const activation& a, loss_point point) {
        const bool in_backward = a.role == activation_role::gradient && point == loss_point::head;
        if (!in_backward && a.role != activation_role::linear_input)
            at[static_cast<std::size_t>(point)] += local_bytes(a, {});
    });
    const byte_count forward = at[static_cast<std::size_t>(loss_point::forward)];
    const byte_count gradient = at[static_cast<std::size_t>(loss_point::gradient)];
    return at[static_cast<std::size_t>(loss_point::kept)] + (forward > gradient ? forward : gradient);
}

/// What a layer saves, and what its backward pass makes at one point.
inline byte_count layer_bytes(const run& r, const layer& l, const precision& format, gate_code gate, bool backward,
                              backward_point at) {
    job j = job_of(r, format);
    j.runtime.kernels.gate = gate;
    const training_context context{j, {}};
    byte_count total;
    const std::int64_t hidden = r.hidden > 0 ? r.hidden : r.width;
    for_each_saved_activation(l, hidden, context, [&](const activation& a) { total += local_bytes(a, {}); });
    if (backward)
        for_each_gradient_activation(l, hidden, context, [&](const activation& a) {
            if (a.until == at) total += local_bytes(a, {});
        });
    return total;
}

/// cuBLAS's workspace before Hopper (CublasHandlePool.cpp, :4096:2:16:8), on the stream of the caller and of the
/// backward pass.
inline constexpr byte_count cublas = bytes(8519680) * 2;

inline byte_count predicted(const run& r) {
    const byte_count logits = size_of(fp32, r.tokens, r.width);
    if (r.kernel == "cross_entropy" || r.kernel == "megatron_cross_entropy") {
        if (r.provider == "huggingface")
            return loss_bytes(r, fp32, loss_code::eager) + logits * 2;  // the logits and their gradient
        const byte_count in_place =
            loss_bytes(r, fp32, loss_code::triton);  // the logits, and the copy that shifting them takes
        if (r.provider == "liger") return r.kernel == "cross_entropy" ? in_place - logits : in_place;
        if (r.provider == "megatron-fused") return loss_bytes(r, fp32, loss_code::vocabulary_parallel_fused);
        return loss_bytes(r, fp32, loss_code::vocabulary_parallel) +
               logits;  // the logits become their gradient, which a leaf copies
    }
    if (r.kernel == "fused_linear_cross_entropy") {
        const byte_count head = size_of(bf16, r.width, r.hidden);
        const byte_count input = size_of(bf16, r.tokens, r.hidden);
        // In 16 bits throughout: half of what fp32 takes. Head and input, each with a gradient and another being made.
        if (r.provider == "huggingface")
            return div_up(loss_bytes(r, fp32, loss_code::eager), 2) + head * 3 + input * 2 + cublas;
        return loss_bytes(r, bf16, loss_code::fused_linear) + (head + input) * 3 +
               cublas;  // the gradients of this pass are the kernel's
    }
    if (r.kernel == "layer_norm" || r.kernel == "megatron_rms_norm") {
        const bool wide = r.kernel == "layer_norm";
        layer l;
        l.attention.kind = attention_kind::none;
        l.feed_forward.kind = feed_forward_kind::none;
        l.norm = wide ? norm_kind::layer : norm_kind::rms;
        l.norm_before_feed_forward = false;
        const precision& format = wide ? fp32 : bf16;
        // And the input's gradient of the pass before.
        return layer_bytes(r, l, format, gate_code::eager, true, backward_point::attention_norm) +
               size_of(format, r.tokens, r.width);
    }
    // A gated MLP. The benchmark retains the graph: nothing saved is freed while the backward pass runs.
    layer l;
    l.attention.kind = attention_kind::none;
    l.norm = norm_kind::none;
    l.feed_forward = {.kind = feed_forward_kind::gated, .width = r.width};
    const byte_count weight = size_of(bf16, r.width, r.hidden);
    const byte_count output = size_of(bf16, r.tokens, r.hidden);
    const gate_code gate = r.provider == "liger" ? gate_code::in_place : gate_code::eager;
    if (r.mode == "forward")
        return layer_bytes(r, l, bf16, gate, false, backward_point::inner) + weight * 3 + output + cublas;
    // Weights and their gradients, the output, the input's gradient; then the gradient of up's weight is made anew, and
    // that of its input, when the activated product's is gone; last of gate's, and their sum, when up's is gone, too.
    const byte_count wide = size_of(bf16, r.tokens, r.width);
    const byte_count inner =
        layer_bytes(r, l, bf16, gate, true, backward_point::inner) + weight * 6 + output * 2 + cublas;
    const byte_count at_up = inner - wide + weight + output;
    const byte_count at_gate = at_up + output * 2 - (gate == gate_code::in_place ? byte_count{} : wide);
    const byte_count later = at_up > at_gate ? at_up : at_gate;
    return inner > later ? inner : later;
}

}  // namespace kernels
