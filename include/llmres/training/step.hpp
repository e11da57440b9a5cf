// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/gpu.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/modules.hpp>
#include <llmres/training_engine.hpp>

/// What of a job and a layout decides what a layer keeps for its backward pass, resolved once.
namespace llmres {

/// Whether operations cast what they read, as torch.autocast has them do.
constexpr bool autocasts(const job& j) {
    return j.autocast.value_or(j.runtime.training.casts_weights && weights_of(j) == fp32 && !(j.compute == fp32));
}

/// Whether PyTorch puts cuDNN's attention first: from compute capability 9.0 on (sdp_utils.cpp, check_prefer_cudnn_attention).
constexpr bool prefers_cudnn_attention(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia && card.capability >= compute_capability{9, 0};
}

struct training_step {
    const module_code& code;
    token_shape tokens;
    attention_kernel kernel;
    const training_engine& engine;
    const llmres::adapter& adapter;
    bool autocast;
    bool frozen;     ///< the model's own weights are not trained
    bool follows_input;  ///< gradients reach what the embedding puts out: it is trained, a prompt before it is, or layers
                         ///< that are computed again ask for them
    bool dropout;
    bool recomputes;    ///< whole layers
    bool four_bit;      ///< bitsandbytes multiplies by the weights
    bool expands;       ///< quantised weights are made whole for each product (GPTQ's kernels unpack them inside)
    bool keeps_inputs;  ///< ... and saves what it reads, though only the weight is needed
    double expert_load;
    std::int64_t context_ranks;  ///< that share each sequence
    cp_communication exchange;   ///< ... and how they see each other's keys and values
    std::int64_t expert_gather;  ///< tensor ranks that share each expert, and so see each other's tokens
    bool wide;          ///< computed in fp32
    bool wide_stream;   ///< the stream is
    bool narrow_stream; ///< the stream has the format of computation
    bool wide_inner;    ///< linear layers put out more than they compute in: bitsandbytes returns the format that went in
    bool copies;        ///< each adapter copies its input to its own format
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
          tokens{j.micro_batch, detail::ceil_quotient(computed_tokens(j).in(llmres::tokens), l.context_parallel), computed_tokens(j).in(llmres::tokens)},
          kernel{j.attention},
          engine{j.runtime.training},
          adapter{j.adapter},
          autocast{autocasts(j)},
          frozen{j.adapter.trains()},
          follows_input{!frozen || j.adapter.kind == adapter_kind::prompt || j.recompute == recompute::full},
          dropout{j.dropout},
          recomputes{j.recompute == recompute::full},
          four_bit{weights_of(j).name.view().starts_with("nf4") || weights_of(j).name.view().starts_with("fp4")},
          expands{is_packed(weights_of(j)) && !weights_of(j).name.view().starts_with("gptq")},
          keeps_inputs{four_bit && j.runtime.training.four_bit_keeps_inputs},
          expert_load{j.expert_load},
          context_ranks{l.context_parallel},
          exchange{l.cp_comm_type},
          expert_gather{l.expert_tensor_ranks()},
          wide{j.compute == fp32},
          // The token embedding is no operation that autocast casts, so the stream has its format.
          wide_stream{wide || (j.runtime.training.fp32_stream && four_bit && frozen && l.zero < 3) || (autocast && weights_of(j) == fp32)},
          narrow_stream{wide || !wide_stream},
          wide_inner{four_bit && !narrow_stream},
          copies{autocast || (j.runtime.training.fp32_adapters && !wide)},
          weights{weights_of(j)},
          compute{activations_of(j)},
          stream{wide_stream ? fp32 : activations_of(j)},
          adapted{j.runtime.training.fp32_adapters ? fp32 : activations_of(j)},
          inner{wide_inner ? fp32 : activations_of(j)},
          kept{engine.fp8_recipe == fp8_recipe::none ? activations_of(j) : engine.fp8_recipe >= fp8_recipe::blockwise ? mxfp8 : fp8_e4m3},
          read{j.model.encoders[0].output > token_count{} ? j.model.encoders[0].output.in(llmres::tokens) : tokens.keys},
          splits_vocabulary{l.tensor > 1},
          joined_heads{code.joined_heads || engine.joined_heads},
          cudnn_attention{cudnn} {}

    training_step(const job&&, const layout&, bool = false) = delete;  // it refers into the job

    /// What a norm puts out: autocast computes torch's own layer norm in fp32.
    constexpr const precision& normed(norm_kind kind) const { return widens(kind) ? fp32 : stream; }
    /// Whether each linear layer that reads what a norm put out casts it for itself.
    constexpr bool casts(norm_kind kind) const { return autocast && (!narrow_stream || widens(kind)); }

    constexpr bool widens(norm_kind kind) const { return autocast && kind != norm_kind::rms && kind != norm_kind::none; }

    /// Whether a norm reads an fp32 copy of the stream, which it keeps as its own.
    constexpr bool widens_stream(norm_kind kind) const { return widens(kind) && !wide_stream; }

    /// Whether linear layers make 8-bit copies of what they read.
    constexpr bool narrows() const { return engine.fp8_recipe != fp8_recipe::none; }

    constexpr bool trained(weight_role role) const { return !frozen || adapter.adapts(role); }
};

namespace detail {

/// Writes the entries of one layer.
template <class Visit>
struct layer_writer {
    const training_step& step;
    Visit& visit;
    const layer* of = nullptr;  ///< for the outputs of its linear layers
    std::int64_t hidden = 0;

    constexpr std::int64_t outputs(weight_role role) const {
        if (of == nullptr) return hidden;
        switch (role) {
            case weight_role::q_proj:
            case weight_role::q_b_proj: return of->attention.heads * of->attention.query_width();
            case weight_role::q_a_proj: return of->attention.q_rank;
            case weight_role::kv_a_proj: return of->attention.kv_rank + of->attention.rope_dim;
            case weight_role::kv_b_proj: return of->attention.heads * (of->attention.head_dim + of->attention.value_width());
            case weight_role::in_proj:
                return 2 * of->recurrent.inner() + 2 * of->recurrent.key_heads * of->recurrent.state + of->recurrent.heads;
            case weight_role::k_proj: return of->attention.kv_heads * of->attention.query_width();
            case weight_role::v_proj: return of->attention.kv_heads * of->attention.value_width();
            case weight_role::gate_proj:
            case weight_role::up_proj: return of->feed_forward.routed() ? of->feed_forward.experts.width : of->feed_forward.width;
            default: return hidden;
        }
    }

    constexpr void put(activation_role role, std::int64_t elements, const precision& format, activation_split split,
                       backward_point until) const {
        if (elements > 0) visit(activation{role, elements, format, split, until});
    }

    /// A norm over `width` features of each of n positions. What its weight multiplies is needed for the weight's own
    /// gradient; the fp32 input serves the rest. torch.nn.LayerNorm is one kernel in every engine. `own_input`: nothing
    /// else has kept what it reads.
    constexpr void norm(std::int64_t n, std::int64_t width, norm_kind kind, activation_split split, backward_point until,
                        backward_point weight_until, bool own_input = true) const {
        if (kind == norm_kind::none) return;
        const bool rms = kind == norm_kind::rms;
        const bool one_kernel = step.engine.fuses_norms() || !rms;
        if (own_input) put(activation_role::norm_input, n * width, one_kernel ? step.normed(kind) : fp32, split, until);
        put(activation_role::norm_statistics, rms ? n : 2 * n, fp32, split, until);
        if (step.widens_stream(kind)) put(activation_role::weight, 2 * width, fp32, activation_split::whole, until);
        if (one_kernel) return;
        const norm_form form = step.code.norm;
        if (form == norm_form::wide_weight) put(activation_role::weight, width, fp32, activation_split::whole, until);
        if (form == norm_form::narrow_scale && !step.wide_stream) put(activation_role::norm_input, n * width, step.stream, split, until);
        if (!step.frozen || step.adapter.kind == adapter_kind::llama_adapter_v2)
            put(activation_role::normalised, n * width, form == norm_form::wide_weight ? fp32 : step.stream, split, weight_until);
    }

    /// An RMS norm of what a linear layer put out, over heads of `group` features (0: over all of them).
    constexpr void narrow_norm(std::int64_t n, std::int64_t width, activation_split split, backward_point until, std::int64_t group = 0) const {
        const bool one_kernel = step.engine.fuses_norms();
        put(activation_role::norm_input, n * width, one_kernel ? step.inner : fp32, split, until);
        put(activation_role::norm_statistics, group > 0 ? n * width / group : n, fp32, split, until);
        const bool wide = step.code.norm == norm_form::wide_weight;
        if (!one_kernel && !step.frozen) put(activation_role::normalised, n * width, wide ? fp32 : step.inner, split, until);
    }

    /// What linear layers keep that read one tensor. Where autocast finds it wider, each casts it for itself; a frozen
    /// weight needs no input for its gradient; each adapter has a copy in its own format, or after its own dropout.
    /// `joined`: they are one layer; `kept`: something keeps what they read as it is.
    template <std::size_t N>
    constexpr void inputs(const std::array<weight_role, N>& roles, std::int64_t elements, std::int64_t n, bool casts,
                          activation_split split, backward_point until, bool joined = false, bool kept = false) const {
        if (step.engine.keeps_gathered_inputs && split == activation_split::sequence) split = activation_split::whole;
        bool shared = step.keeps_inputs || (!step.frozen && !casts);
        if (casts && !step.frozen)
            put(activation_role::linear_input, elements * (joined ? 1 : std::int64_t{N}), step.kept, split, until);
        if (step.frozen && joined) {
            std::int64_t width = 0;
            for (const weight_role role : roles) width += outputs(role);
            if (step.adapter.adapts(roles[0])) shared = adapts(elements, n, width, casts, split, until) || shared;
            if (step.engine.joined_heads) {
                std::int64_t adapted = 0;
                for (const weight_role role : roles) adapted += step.adapter.adapts(role) ? outputs(role) : 0;
                put(activation_role::adapter, n * adapted, step.compute, split, until);
            }
        } else if (step.frozen) {
            for (const weight_role role : roles)
                if (step.adapter.adapts(role)) shared = adapts(elements, n, outputs(role), casts, split, until) || shared;
        }
        if (shared && !kept) put(activation_role::linear_input, elements, step.kept, split, until);
        // What its scale multiplies.
        if (step.adapter.kind == adapter_kind::llama_adapter_v2)
            for (const weight_role role : roles) put(activation_role::adapter, n * outputs(role), step.compute, split, until);
    }

private:
    /// What one adapter keeps; true if it reads its layer's input as it is. PEFT widens that input to the adapter's format,
    /// beside 4-bit layers only without autocast (tuners/lora/bnb.py), which `casts` it back.
    constexpr bool adapts(std::int64_t elements, std::int64_t n, std::int64_t width, bool casts, activation_split split, backward_point until) const {
        const bool drops = step.adapter.dropout > 0;
        const precision& copied = step.autocast ? step.compute : step.adapted;
        const bool copies = drops || (step.four_bit && step.autocast ? casts : step.copies);
        if (copies) put(activation_role::adapter, elements, copied, split, until);
        if (drops) put(activation_role::mask, elements, int8, split, until);
        // Its magnitude over the norm scales what the adapter puts out, and less one what the weight does (dora.py).
        if (step.adapter.kind == adapter_kind::dora) {
            put(activation_role::adapter, 2 * n * width, step.compute, split, until);
            put(activation_role::adapter, 3 * width, step.adapted, split, until);
        }
        put(activation_role::adapter, n * step.adapter.rank, copied, activation_split::whole, until);
        return !copies;
    }
};

}  // namespace detail

}  // namespace llmres
