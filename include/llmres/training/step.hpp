// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/training_engine.hpp>

/// What of a job and a layout decides what a layer keeps for its backward pass, resolved once.
namespace llmres {

/// Whether operations cast what they read, as torch.autocast has them do.
constexpr bool autocasts(const job& j) {
    return j.autocast.value_or(j.runtime.training.casts_weights && weights_of(j) == fp32 && !(j.compute == fp32));
}

struct training_step {
    token_shape tokens;
    attention_kernel kernel;
    const training_engine& engine;
    const llmres::adapter& adapter;
    bool autocast;
    bool frozen;     ///< the model's own weights are not trained
    bool dropout;
    bool keeps_inputs;  ///< of frozen 4-bit weights: bitsandbytes saves them though only the weight is needed (autograd/_functions.py)
    double expert_load;
    std::int64_t expert_gather;  ///< tensor ranks that share each expert, and so see each other's tokens
    const precision& weights;
    const precision& compute;
    const precision& stream;   ///< of the residual stream and of what norms put out
    const precision& adapted;  ///< of adapters
    bool casts;         ///< each linear layer casts what it reads of the stream
    bool copies;        ///< each adapter copies its input to its own format
    bool wide;          ///< computed in fp32

    constexpr training_step(const job& j, const layout& l)
        : tokens{j.micro_batch, detail::ceil_quotient(sequence_of(j).in(llmres::tokens), l.context_parallel),
                 sequence_of(j).in(llmres::tokens)},
          kernel{j.attention},
          engine{j.runtime.training},
          adapter{j.adapter},
          autocast{autocasts(j)},
          frozen{j.adapter.trains()},
          dropout{j.dropout},
          keeps_inputs{weights_of(j).name.view().starts_with("nf4") || weights_of(j).name.view().starts_with("fp4")},
          expert_load{j.expert_load},
          expert_gather{l.expert_tensor_ranks()},
          weights{weights_of(j)},
          compute{j.compute},
          // The token embedding is no operation that autocast casts, so the stream has its format.
          stream{(autocast && weights_of(j) == fp32) || j.runtime.training.fp32_stream ? fp32 : j.compute},
          adapted{engine.fp32_adapters ? fp32 : j.compute},
          casts{autocast && !(stream == compute)},
          copies{autocast || !(adapted == compute)},
          wide{compute == fp32} {}

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
        if (of == nullptr) return 0;
        switch (role) {
            case weight_role::q_proj: return of->attention.heads * of->attention.query_width();
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
    /// gradient; the fp32 input serves the rest. torch.nn.LayerNorm is one kernel in every engine.
    constexpr void norm(std::int64_t n, std::int64_t width, norm_kind kind, activation_split split, backward_point until,
                        backward_point weight_until) const {
        if (kind == norm_kind::none) return;
        const bool one_kernel = step.engine.norm == norm_code::fused || kind != norm_kind::rms;
        put(activation_role::norm_input, n * width, one_kernel ? step.stream : fp32, split, until);
        put(activation_role::norm_statistics, kind == norm_kind::rms ? n : 2 * n, fp32, split, until);
        if (!one_kernel && !step.frozen) put(activation_role::normalised, n * width, step.stream, split, weight_until);
    }

    /// What linear layers that read one tensor keep of it. Under autocast each casts the stream for itself; a frozen
    /// weight needs no input for its gradient; each adapter has a copy in its own format, or after its own dropout.
    template <std::size_t N>
    constexpr void inputs(const std::array<weight_role, N>& roles, std::int64_t elements, std::int64_t n, bool from_stream,
                          activation_split split, backward_point until) const {
        bool shared = false;
        const bool casts = step.casts && from_stream;
        for (const weight_role role : roles) {
            const bool adapted = step.adapter.adapts(role);
            if (!step.frozen) {
                if (casts)
                    put(activation_role::linear_input, elements, step.compute, split, until);
                else
                    shared = true;
            }
            if (step.keeps_inputs) shared = true;
            if (!adapted) continue;
            const bool drops = step.adapter.dropout > 0;
            const precision& copied = step.autocast ? step.compute : step.adapted;
            if (drops || step.copies)
                put(activation_role::adapter, elements, copied, split, until);
            else
                shared = true;
            if (drops) put(activation_role::mask, elements, int8, split, until);
            // Its magnitude scales the sum of what the weight and the adapter put out.
            if (step.adapter.kind == adapter_kind::dora)
                put(activation_role::adapter, 2 * n * outputs(role), step.compute, split, until);
            put(activation_role::adapter, n * step.adapter.rank, copied, activation_split::whole, until);
        }
        if (shared) put(activation_role::linear_input, elements, step.compute, split, until);
    }
};

}  // namespace detail

}  // namespace llmres
