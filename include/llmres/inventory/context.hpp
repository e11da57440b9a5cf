// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/families.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/teacher.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What of a job and a layout decides what a layer keeps for its backward pass, resolved once.
namespace llmres::inline v0 {

/// Whether operations cast what they read, as torch.autocast has them do.
constexpr bool autocasts(const job& j) {
    return j.autocast.value_or(j.runtime.kernels.casts_weights && weights_of(j) == fp32 && !(j.compute == fp32));
}

/// The teacher of a job as a job of its own: a reference that is computed beside the same sequences, under the same
/// autocast.
constexpr job job_of_teacher(const job& j) {
    job taught = j;
    taught.model = model_of(j.teacher);
    taught.weights = j.teacher.weights;
    taught.teacher = {};
    taught.preference = preference_method::kto;  // whose samples are single sequences
    taught.adapter = {};
    taught.recompute = recompute::none;
    taught.offload = {};
    taught.autocast = autocasts(j);
    return taught;
}

/// The job's adapter, which touches routed experts unless the runtime stacks their weights in bare parameters, and
/// attention's gate where it is one layer with the queries.
constexpr adapter adapter_of(const job& j) {
    adapter a = j.adapter;
    if (modeling_of(j.model).attention.gated_queries && a.targets.contains(weight_role::q_proj))
        a.targets.insert(weight_role::attn_gate);
    if (!a.experts) a.experts = !stacks_weights(j.runtime.kernels.experts);
    return a;
}

/// Whether the adapter's targets are layers of routed experts, too, which it does not touch.
constexpr bool leaves_out_experts(const job& j) {
    const adapter a = adapter_of(j);
    if (!a.trains() || j.adapter.experts || *a.experts || !has_experts(j.model)) return false;
    return a.touches(weight_role::gate_proj) || a.touches(weight_role::up_proj) || a.touches(weight_role::down_proj);
}

/// The kernel that PyTorch's scaled_dot_product_attention tries first.
enum class sdpa_backend : std::uint8_t {
    flash,  ///< FlashAttention, then the memory-efficient kernel
    cudnn,  ///< cuDNN's
};

/// The kernel that it tries first on a GPU: cuDNN's from compute capability 9.0 on (sdp_utils.cpp,
/// check_prefer_cudnn_attention).
constexpr sdpa_backend sdpa_backend_of(const gpu& card) {
    const bool hopper = card.vendor == gpu_vendor::nvidia && card.capability >= compute_capability{9, 0};
    return hopper ? sdpa_backend::cudnn : sdpa_backend::flash;
}

/// The formats of what a layer computes with.
struct training_formats {
    const precision& weights;    ///< of weights
    const precision& compute;    ///< of what products multiply
    const precision& stream;     ///< of the residual stream, and of the outputs of norms
    const precision& embedding;  ///< of the embedding's output
    const precision& adapters;   ///< of adapters' weights
    const precision& outputs;    ///< of the outputs of linear layers
    const precision& inputs;     ///< in which linear layers save their inputs: 8 bits under an FP8 recipe
    bool fp32_compute;           ///< products multiply in fp32
    bool fp32_stream;            ///< the residual stream is fp32
    bool stream_is_compute;      ///< the stream has the format that products multiply in
    bool fp32_outputs;           ///< beside 16-bit products: bitsandbytes returns its input's format

    /// The formats of a job.
    constexpr training_formats(const job& j, const precision& compute_format, bool fp32_embedding,
                               bool fp32_residual_stream, bool four_bit)
        : weights{weights_of(j)},
          compute{compute_format},
          stream{fp32_residual_stream ? fp32 : compute_format},
          embedding{fp32_embedding ? fp32 : compute_format},
          adapters{adapter_format_of(j)},
          outputs{four_bit && fp32_residual_stream && !(j.compute == fp32) ? fp32 : compute_format},
          inputs{j.runtime.kernels.fp8.recipe == fp8_recipe::none        ? compute_format
                 : j.runtime.kernels.fp8.recipe >= fp8_recipe::blockwise ? mxfp8
                                                                         : fp8_e4m3},
          fp32_compute{j.compute == fp32},
          fp32_stream{fp32_residual_stream},
          stream_is_compute{fp32_compute || !fp32_stream},
          fp32_outputs{four_bit && !stream_is_compute} {}
};

/// How attention is computed on this GPU.
struct attention_context {
    attention_kernel kernel;     ///< as the job names it
    sdpa_backend sdpa;           ///< the kernel that `sdpa` stands for
    bool joined_heads;           ///< one product makes queries, keys and values
    std::int64_t context_ranks;  ///< GPUs that share each sequence
    cp_communication exchange;   ///< how these see each other's keys and values
    bool adds_mask;              ///< eager attention to the sequence itself adds a mask to its scores
};

/// How routed experts are spread.
struct expert_context {
    double load;                ///< tokens of the busiest rank's experts over the mean
    std::int64_t tensor_ranks;  ///< tensor ranks that share each expert, and so see each other's tokens
};

/// How products with quantised weights are computed.
struct quantised_context {
    bool four_bit;      ///< bitsandbytes multiplies by four-bit weights
    bool expanded;      ///< a weight is expanded whole for each product (GPTQ's kernels unpack it inside)
    bool keeps_inputs;  ///< products save their inputs, though only the weight is needed
    /// Products are PyTorch's own, of the expanded weight, which autograd saves for its input's gradient (HQQ,
    /// hqq/core/quantize.py, HQQLinear.forward_pytorch, its backend unless another is set).
    bool saves_weights;
    bool scaled;  ///< 16-bit weights are scaled in fp32 and cast to 8 bits for each product (torchao)
    bool words;   ///< GPTQ's weights, packed into words beside scales
};

/// Which of a student's and its teacher's distributions is held against which.
enum class divergence_kind : std::uint8_t {
    none,        ///< there is no teacher
    mixed,       ///< both against a mixture of them
    of_teacher,  ///< the teacher's against the student's
    of_student,  ///< the student's against the teacher's
};
/// The divergence that a job minimises: `none` unless it learns from a teacher.
constexpr divergence_kind divergence_of(const job& j) {
    if (!learns_from_teacher(j.preference)) return divergence_kind::none;
    return j.beta <= 0   ? divergence_kind::of_teacher
           : j.beta >= 1 ? divergence_kind::of_student
                         : divergence_kind::mixed;
}

/// The tokens that pass at once on one rank, all of them counted once: each tensor of a layer asks how many there are.
struct counted_tokens : token_shape {
    /// The same tokens.
    constexpr explicit(false) counted_tokens(const token_shape& s) : token_shape{s}, all_{s.all()} {}
    /// Tokens of all sequences.
    constexpr std::int64_t all() const { return all_; }

private:
    std::int64_t all_;
};

/// What decides how a layer is trained.
struct training_context {
    const modeling& code;            ///< how the model's modules are written
    const llmres::runtime& runtime;  ///< the runtime
    llmres::adapter adapter;         ///< the adapter, with its default for routed experts
    counted_tokens tokens;           ///< tokens of a micro-batch
    std::int64_t encoder_tokens;     ///< of each sequence that cross-attention reads
    quantised_context quantised;     ///< products with quantised weights
    bool autocast;                   ///< operations cast their inputs
    bool frozen;                     ///< the model's own weights are not trained
    /// Gradients reach the embedding's output: it is trained, a prompt stands before it, or layers are recomputed
    /// whole.
    bool input_requires_grad;
    bool dropout;                 ///< there is dropout
    bool recomputes;              ///< whole layers
    bool copies_adapter_inputs;   ///< each adapter copies its input to its own format
    bool splits_vocabulary;       ///< tensor ranks share the logits
    training_formats formats;     ///< formats
    attention_context attention;  ///< attention
    expert_context experts;       ///< routed experts
    std::int64_t scored;          ///< positions of `tokens` that the loss scores
    divergence_kind divergence;   ///< what the loss is of a student's and its teacher's distributions

    /// The context of a job in a layout, on a GPU whose first choice of attention kernels is `sdpa`.
    constexpr training_context(const job& j, const layer_split& l, sdpa_backend sdpa = sdpa_backend::flash)
        : training_context{j, l, sdpa, modeling_of(j.model)} {}

    /// The same, where it is known how the model's modules are written.
    constexpr training_context(const job& j, const layer_split& l, sdpa_backend sdpa, const modeling& written)
        : code{written},
          runtime{j.runtime},
          adapter{adapter_of(j)},
          tokens{token_shape{computed_sequences(j),
                             detail::ceil_quotient(computed_tokens(j).in(llmres::tokens), l.context_parallel),
                             computed_tokens(j).in(llmres::tokens)}},
          encoder_tokens{j.model.encoders[0].output > token_count{} ? j.model.encoders[0].output.in(llmres::tokens)
                                                                    : tokens.keys},
          quantised{quantised_products(j)},
          autocast{autocasts(j)},
          frozen{j.adapter.trains()},
          input_requires_grad{!frozen || j.adapter.kind == adapter_kind::prompt || j.recompute == recompute::full},
          dropout{j.dropout},
          recomputes{j.recompute == recompute::full},
          copies_adapter_inputs{autocast || (j.runtime.kernels.fp32_adapters && !(j.compute == fp32))},
          splits_vocabulary{l.tensor > 1},
          formats{j, activations_of(j), has_fp32_embedding(j, l),
                  has_fp32_embedding(j, l) || (autocast && !code.norms.after_sum && norms_embedding(j.model)),
                  quantised.four_bit},
          attention{j.attention,
                    sdpa,
                    code.attention.joined_heads || j.adapter.joined_heads ||
                        runtime.kernels.joined_heads != joined_heads_code::by_model,
                    l.context_parallel,
                    l.cp_comm_type,
                    code.attention.causal},
          experts{j.expert_load, l.expert_tensor},
          scored{scored_positions(j, tokens)},
          divergence{divergence_of(j)} {}

    training_context(const job&&, const layer_split&,
                     sdpa_backend = sdpa_backend::flash) = delete;  // it refers into the job

    /// Positions that the loss scores: of all sequences, or of their answers where only these are learned from.
    static constexpr std::int64_t scored_positions(const job& j, const token_shape& computed) {
        const std::int64_t each = j.scored.in(llmres::tokens);
        if (each <= 0 || each >= computed.keys) return computed.all();
        return detail::product(computed.sequences, detail::ceil_quotient(each * computed.length, computed.keys));
    }
    /// The format of a norm's output: autocast computes torch's own layer norm in fp32.
    constexpr const precision& normed(norm_kind kind) const {
        return widens(kind) ? fp32 : casts_norm_inputs() ? formats.compute : formats.stream;
    }
    /// The format of what layers hand on: sums, or after them the norm's output.
    constexpr const precision& residual(norm_kind kind) const {
        return code.fp32_residual ? fp32 : code.norms.after_sum ? normed(kind) : formats.stream;
    }
    /// Whether each linear layer that reads a norm's output casts it for itself.
    constexpr bool casts(norm_kind kind) const {
        return autocast && !casts_norm_inputs() && (!formats.stream_is_compute || widens(kind));
    }

    /// Whether norms read copies of the stream in the format that products compute in.
    constexpr bool casts_norm_inputs() const { return autocast && code.norms.casts_input; }

    /// Whether autocast computes a norm in fp32.
    constexpr bool widens(norm_kind kind) const {
        return autocast && !code.norms.casts_input && kind != norm_kind::rms && kind != norm_kind::none;
    }

    /// Whether a norm reads an fp32 copy of the stream, which it saves as its own.
    constexpr bool widens_stream(norm_kind kind) const { return widens(kind) && !formats.fp32_stream; }

    /// Whether linear layers make 8-bit copies of their inputs.
    constexpr bool narrows() const { return runtime.kernels.fp8.recipe != fp8_recipe::none; }

private:
    /// Whether the embedding is followed by a layer norm, which autocast computes in fp32.
    static constexpr bool norms_embedding(const model& m) {
        for (const extra_weight& e : m.extra_weights()) {
            if (e.part == model_part::input && e.role == weight_role::norm && e.copies > 1)
                return m.encoders[0].layers == 0;  // a weight and a bias
        }
        return false;
    }
    static constexpr quantised_context quantised_products(const job& j) {
        const precision& stored = weights_of(j);
        const format_family family = family_of(stored);
        const bool four_bit = family == format_family::bitsandbytes && !(stored == bnb_int8);
        return {four_bit,
                is_packed(stored) && family != format_family::gptq_words,
                four_bit && j.runtime.kernels.four_bit_keeps_inputs,
                family == format_family::half_quadratic,
                j.compute.arithmetic == arithmetic_kind::fp8 && j.runtime.kernels.fp8.recipe == fp8_recipe::none &&
                    !j.runtime.kernels.compilation.layers,
                family == format_family::gptq_words};
    }
    /// The token embedding is no operation that autocast casts, so it and the stream have its format. Beside weights
    /// of bitsandbytes, PEFT widens what has 16 bits (peft 0.21, utils/other.py: prepare_model_for_kbit_training).
    constexpr bool has_fp32_embedding(const job& j, const layer_split& l) const {
        const bool by_bitsandbytes = family_of(weights_of(j)) == format_family::bitsandbytes;
        return j.compute == fp32 ||
               (j.runtime.kernels.fp32_stream && by_bitsandbytes && frozen && !l.gathers_weights) ||
               (autocast && weights_of(j) == fp32);
    }
};

}  // namespace llmres::inline v0
