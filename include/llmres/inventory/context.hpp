// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What of a job and a layout decides what a layer keeps for its backward pass, resolved once.
namespace llmres::inline v0 {

/// Whether operations cast what they read, as torch.autocast has them do.
constexpr bool autocasts(const job& j) {
    return j.autocast.value_or(j.runtime.kernels.casts_weights && weights_of(j) == fp32 && !(j.compute == fp32));
}

/// Whether PyTorch puts cuDNN's attention first: from compute capability 9.0 on (sdp_utils.cpp,
/// check_prefer_cudnn_attention).
constexpr bool prefers_cudnn_attention(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia && card.capability >= compute_capability{9, 0};
}

struct training_step {
    const module_code& code;
    token_shape tokens;
    attention_kernel kernel;
    const llmres::runtime& runtime;
    const llmres::adapter& adapter;
    bool autocast;
    bool frozen;         ///< the model's own weights are not trained
    bool follows_input;  ///< gradients reach what the embedding puts out: it is trained, a prompt before it is, or
                         ///< layers that are computed again ask for them
    bool dropout;
    bool recomputes;    ///< whole layers
    bool four_bit;      ///< bitsandbytes multiplies by the weights
    bool expands;       ///< quantised weights are made whole for each product (GPTQ's kernels unpack them inside)
    bool keeps_inputs;  ///< ... and saves what it reads, though only the weight is needed
    double expert_load;
    std::int64_t context_ranks;  ///< that share each sequence
    cp_communication exchange;   ///< ... and how they see each other's keys and values
    std::int64_t expert_gather;  ///< tensor ranks that share each expert, and so see each other's tokens
    bool wide;                   ///< computed in fp32
    bool wide_stream;            ///< the stream is
    bool narrow_stream;          ///< the stream has the format of computation
    bool wide_inner;  ///< linear layers put out more than they compute in: bitsandbytes returns the format that went in
    bool copies;      ///< each adapter copies its input to its own format
    const precision& weights;
    const precision& compute;
    const precision& stream;   ///< of the residual stream and of what norms put out
    const precision& adapted;  ///< of adapters
    const precision& inner;    ///< of what linear layers put out
    const precision& kept;     ///< of what they keep of their inputs
    std::int64_t read;         ///< tokens of the sequence that cross-attention reads
    bool splits_vocabulary;    ///< tensor ranks share the logits
    bool joined_heads;         ///< one product makes queries, keys and values
    bool cudnn_attention;      ///< is PyTorch's first choice

    constexpr training_step(const job& j, const layout& l, bool cudnn = false)
        : code{module_code_of(j.model)},
          tokens{j.micro_batch, detail::ceil_quotient(computed_tokens(j).in(llmres::tokens), l.context_parallel),
                 computed_tokens(j).in(llmres::tokens)},
          kernel{j.attention},
          runtime{j.runtime},
          adapter{j.adapter},
          autocast{autocasts(j)},
          frozen{j.adapter.trains()},
          follows_input{!frozen || j.adapter.kind == adapter_kind::prompt || j.recompute == recompute::full},
          dropout{j.dropout},
          recomputes{j.recompute == recompute::full},
          four_bit{weights_of(j).name.view().starts_with("nf4") || weights_of(j).name.view().starts_with("fp4")},
          expands{is_packed(weights_of(j)) && !weights_of(j).name.view().starts_with("gptq")},
          keeps_inputs{four_bit && j.runtime.kernels.four_bit_keeps_inputs},
          expert_load{j.expert_load},
          context_ranks{l.context_parallel},
          exchange{l.cp_comm_type},
          expert_gather{l.expert_tensor_ranks()},
          wide{j.compute == fp32},
          // The token embedding is no operation that autocast casts, so the stream has its format.
          wide_stream{wide || (j.runtime.kernels.fp32_stream && four_bit && frozen && l.zero < 3) ||
                      (autocast && weights_of(j) == fp32)},
          narrow_stream{wide || !wide_stream},
          wide_inner{four_bit && !narrow_stream},
          copies{autocast || (j.runtime.kernels.fp32_adapters && !wide)},
          weights{weights_of(j)},
          compute{activations_of(j)},
          stream{wide_stream ? fp32 : activations_of(j)},
          adapted{j.runtime.kernels.fp32_adapters ? fp32 : activations_of(j)},
          inner{wide_inner ? fp32 : activations_of(j)},
          kept{runtime.kernels.fp8.recipe == fp8_recipe::none        ? activations_of(j)
               : runtime.kernels.fp8.recipe >= fp8_recipe::blockwise ? mxfp8
                                                                     : fp8_e4m3},
          read{j.model.encoders[0].output > token_count{} ? j.model.encoders[0].output.in(llmres::tokens)
                                                          : tokens.keys},
          splits_vocabulary{l.tensor > 1},
          joined_heads{code.joined_heads || runtime.kernels.joined_heads},
          cudnn_attention{cudnn} {}

    training_step(const job&&, const layout&, bool = false) = delete;  // it refers into the job

    /// What a norm puts out: autocast computes torch's own layer norm in fp32.
    constexpr const precision& normed(norm_kind kind) const { return widens(kind) ? fp32 : stream; }
    /// Whether each linear layer that reads what a norm put out casts it for itself.
    constexpr bool casts(norm_kind kind) const { return autocast && (!narrow_stream || widens(kind)); }

    constexpr bool widens(norm_kind kind) const {
        return autocast && kind != norm_kind::rms && kind != norm_kind::none;
    }

    /// Whether a norm reads an fp32 copy of the stream, which it keeps as its own.
    constexpr bool widens_stream(norm_kind kind) const { return widens(kind) && !wide_stream; }

    /// Whether linear layers make 8-bit copies of what they read.
    constexpr bool narrows() const { return runtime.kernels.fp8.recipe != fp8_recipe::none; }

    constexpr bool trained(weight_role role) const { return !frozen || adapter.adapts(role); }
};

}  // namespace llmres::inline v0
