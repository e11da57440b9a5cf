// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/values/precision.hpp>

/// Writes the entries of one layer: what its norms and linear layers keep.
namespace llmres::inline v0::detail {

/// Writes the entries of one layer.
template <class Visit>
struct layer_writer {
    const training_context& context;
    Visit& visit;
    const layer* of = nullptr;  ///< for the outputs of its linear layers
    std::int64_t hidden = 0;

    constexpr std::int64_t outputs(weight_role role) const {
        if (of == nullptr) return hidden;
        switch (role) {
            case weight_role::q_proj:
            case weight_role::q_b_proj:
                return of->attention.heads * of->attention.query_width();
            case weight_role::q_a_proj:
                return of->attention.q_rank;
            case weight_role::kv_a_proj:
                return of->attention.kv_rank + of->attention.rope_dim;
            case weight_role::kv_b_proj:
                return of->attention.heads * (of->attention.head_dim + of->attention.value_width());
            case weight_role::in_proj:
                return 2 * of->recurrent.inner() + 2 * of->recurrent.key_heads * of->recurrent.state +
                       of->recurrent.heads;
            case weight_role::k_proj:
                return of->attention.kv_heads * of->attention.query_width();
            case weight_role::v_proj:
                return of->attention.kv_heads * of->attention.value_width();
            case weight_role::gate_proj:
            case weight_role::up_proj:
                return of->feed_forward.routed() ? of->feed_forward.experts.width : of->feed_forward.width;
            default:
                return hidden;
        }
    }

    constexpr void put(activation_role role, std::int64_t elements, const precision& format, activation_split split,
                       backward_point until) const {
        if (elements > 0) visit(activation{role, elements, format, split, until});
    }

    /// A norm over `width` features of each of n positions. What its weight multiplies is needed for the weight's own
    /// gradient; the fp32 input serves the rest. torch.nn.LayerNorm is one kernel in every engine. `own_input`: nothing
    /// else has kept what it reads.
    constexpr void norm(std::int64_t n, std::int64_t width, norm_kind kind, activation_split split,
                        backward_point until, backward_point weight_until, bool own_input = true) const {
        if (kind == norm_kind::none) return;
        const bool rms = kind == norm_kind::rms;
        const bool one_kernel = context.runtime.kernels.fuses_norms() || !rms;
        if (own_input)
            put(activation_role::norm_input, n * width, one_kernel ? context.normed(kind) : fp32, split, until);
        put(activation_role::norm_statistics, rms ? n : 2 * n, fp32, split, until);
        if (context.widens_stream(kind)) put(activation_role::weight, 2 * width, fp32, activation_split::whole, until);
        if (one_kernel) return;
        const norm_form form = context.code.norms.form;
        if (form == norm_form::wide_weight) put(activation_role::weight, width, fp32, activation_split::whole, until);
        if (form == norm_form::narrow_scale && !context.formats.fp32_stream)
            put(activation_role::norm_input, n * width, context.formats.stream, split, until);
        if (!context.frozen || context.adapter.kind == adapter_kind::llama_adapter_v2)
            put(activation_role::normalised, n * width, form == norm_form::wide_weight ? fp32 : context.formats.stream,
                split, weight_until);
    }

    /// An RMS norm of what a linear layer put out, over heads of `group` features (0: over all of them).
    constexpr void narrow_norm(std::int64_t n, std::int64_t width, activation_split split, backward_point until,
                               std::int64_t group = 0) const {
        const bool one_kernel = context.runtime.kernels.fuses_norms();
        put(activation_role::norm_input, n * width, one_kernel ? context.formats.outputs : fp32, split, until);
        put(activation_role::norm_statistics, group > 0 ? n * width / group : n, fp32, split, until);
        const bool wide = context.code.norms.form == norm_form::wide_weight;
        if (!one_kernel && !context.frozen)
            put(activation_role::normalised, n * width, wide ? fp32 : context.formats.outputs, split, until);
    }

    /// What linear layers keep that read one tensor. Where autocast finds it wider, each casts it for itself; a frozen
    /// weight needs no input for its gradient; each adapter has a copy in its own format, or after its own dropout.
    /// `joined`: they are one layer; `kept`: something keeps what they read as it is.
    template <std::size_t N>
    constexpr void inputs(const std::array<weight_role, N>& roles, std::int64_t elements, std::int64_t n, bool casts,
                          activation_split split, backward_point until, bool joined = false, bool kept = false) const {
        if (context.runtime.kernels.keeps_gathered_inputs && split == activation_split::sequence)
            split = activation_split::whole;
        bool shared = context.quantised.keeps_inputs || (!context.frozen && !casts);
        if (casts && !context.frozen)
            put(activation_role::linear_input, elements * (joined ? 1 : std::int64_t{N}), context.formats.inputs, split,
                until);
        if (context.frozen && joined) {
            std::int64_t width = 0;
            for (const weight_role role : roles) width += outputs(role);
            if (context.adapter.adapts(roles[0])) shared = adapts(elements, n, width, casts, split, until) || shared;
            if (context.runtime.kernels.joined_heads) {
                std::int64_t adapted = 0;
                for (const weight_role role : roles) adapted += context.adapter.adapts(role) ? outputs(role) : 0;
                put(activation_role::adapter, n * adapted, context.formats.compute, split, until);
            }
        } else if (context.frozen) {
            for (const weight_role role : roles)
                if (context.adapter.adapts(role))
                    shared = adapts(elements, n, outputs(role), casts, split, until) || shared;
        }
        if (shared && !kept) put(activation_role::linear_input, elements, context.formats.inputs, split, until);
        // What its scale multiplies.
        if (context.adapter.kind == adapter_kind::llama_adapter_v2)
            for (const weight_role role : roles)
                put(activation_role::adapter, n * outputs(role), context.formats.compute, split, until);
    }

private:
    /// What one adapter keeps; true if it reads its layer's input as it is. PEFT widens that input to the adapter's
    /// format, beside 4-bit layers only without autocast (tuners/lora/bnb.py), which `casts` it back.
    constexpr bool adapts(std::int64_t elements, std::int64_t n, std::int64_t width, bool casts, activation_split split,
                          backward_point until) const {
        const bool drops = context.adapter.dropout > 0;
        const precision& copied = context.autocast ? context.formats.compute : context.formats.adapters;
        const bool copies =
            drops || (context.quantised.four_bit && context.autocast ? casts : context.copies_adapter_inputs);
        if (copies) put(activation_role::adapter, elements, copied, split, until);
        if (drops) put(activation_role::mask, elements, int8, split, until);
        // Its magnitude over the norm scales what the adapter puts out, and less one what the weight does (dora.py).
        if (context.adapter.kind == adapter_kind::dora) {
            put(activation_role::adapter, 2 * n * width, context.formats.compute, split, until);
            put(activation_role::adapter, 3 * width, context.formats.adapters, split, until);
        }
        put(activation_role::adapter, n * context.adapter.rank, copied, activation_split::whole, until);
        return !copies;
    }
};

}  // namespace llmres::inline v0::detail
