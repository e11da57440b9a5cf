// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The inventory of Mamba 2's mixer, by scan_code. As plain PyTorch writes it (transformers,
/// models/mamba2/modeling_mamba2.py, mamba2_chunk_scan), everything is in fp32 over chunks of tokens, products spelt
/// out as broadcasts and sums. mamba-ssm's kernels (mamba_ssm/ops/triton/ssd_combined.py,
/// MambaSplitConv1dScanCombinedFn) keep the outputs of the first projection and of the scan, and recompute the
/// rest.
namespace llmres::inline v0::detail {

/// Sizes of one layer's scan. Sequences are padded to whole chunks.
struct scan_shape {
    std::int64_t tokens;       ///< as they are
    std::int64_t padded;       ///< in whole chunks
    std::int64_t inner;        ///< features of all heads
    std::int64_t keys;         ///< features of all heads' B, and C: copied to every head
    std::int64_t pairs;        ///< padded tokens x tokens of a chunk x heads
    std::int64_t states;       ///< at the ends of chunks, and at the start
    std::int64_t chunk_pairs;  ///< decays from each of these to each, of all heads

    constexpr scan_shape(const recurrent& r, const token_shape& s)
        : tokens{s.all()},
          padded{s.sequences * ceil_quotient(s.length, r.chunk) * r.chunk},
          inner{r.inner()},
          keys{r.heads * r.state},
          pairs{product(padded, r.chunk * r.heads)},
          states{product(s.sequences * (ceil_quotient(s.length, r.chunk) + 1), inner * r.state)},
          chunk_pairs{product(product(s.sequences * r.heads, ceil_quotient(s.length, r.chunk) + 1),
                              ceil_quotient(s.length, r.chunk) + 1)} {}
};

/// What MambaSplitConv1dScanCombinedFn.forward saves: its input, the scan's output before the gate, the norm's
/// statistics. Where it ends at the gate (megatron/core/ssm/mamba_mixer.py, _ssm_training), the gated output is kept by
/// the norm, and the norm's output by the projection. The norm is one of groups of heads (layernorm_gated.py).
constexpr void save_fused_scan(const recurrent& r, const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    constexpr auto split = activation_split::tensor;
    const bool to_gate = context.runtime.kernels.scan == scan_code::fused_to_gate;
    const backward_point normed = to_gate ? norm : attention;
    save.put(role::recurrence, n * projected(r), context.formats.compute, split, attention);
    save.put(role::recurrence, n * r.inner(), context.formats.compute, split, attention);
    save.put(role::recurrence, n * r.key_heads, fp32, split, normed);
    if (!to_gate) return;
    save.put(role::recurrence, n * r.inner(), context.formats.compute, split, norm);
}

constexpr void save_plain_scan(const recurrent& r, norm_kind kind, const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const scan_shape s{r, context.tokens};
    constexpr auto split = activation_split::tensor;
    const auto wide = [&](std::int64_t elements, backward_point until) {
        save.put(role::recurrence, elements, fp32, split, until);
    };
    // The convolution reads a view of the projection's output, or a copy that autocast made.
    save.put(role::recurrence, s.tokens * (context.casts(kind) ? r.conv_channels() : projected(r)),
             context.formats.compute, split, attention);
    save.put(role::recurrence, product(s.tokens + context.tokens.sequences * (r.kernel - 1), r.conv_channels()),
             context.formats.compute, split, attention);
    wide(3 * s.tokens * r.heads, attention);  // steps: biased, softplus, clamped
    // Inputs, which in fp32 are a view of the convolution's activated output; padded for the skip connection.
    wide(s.tokens * (context.formats.fp32_compute ? r.conv_channels() : s.inner), attention);
    if (!context.frozen) wide(product(s.padded, s.inner), attention);
    wide(product(2 * s.padded, s.keys), attention);  // B and C
    wide(s.pairs, attention);                        // decays within a chunk
    save.put(role::mask, 2 * r.chunk * r.chunk, int8, activation_split::whole, attention);
    wide(product<std::int64_t>(2, s.pairs), norm);  // C B, and with decays
    wide(product(s.padded, s.inner), norm);         // inputs, times steps
    wide(product(s.padded, s.keys), norm);          // B with decays to the chunk's end
    wide(product(2 * s.padded, r.heads), norm);     // these, and those from its start
    wide(sum(product<std::int64_t>(2, s.states), s.chunk_pairs), norm);
    wide(product(s.padded, s.inner), norm);  // outputs from states
    // The gated norm: the scan's output, padded; the activated gate, their product, and its fp32 copies.
    wide(sum(product(s.padded + (4 - context.frozen - context.formats.fp32_compute) * s.tokens, s.inner), s.tokens),
         norm);
}

/// What the scan saves between its two projections; `kind` is the norm before the first.
constexpr void save_scan(const recurrent& r, norm_kind kind, const layer_writer& save) {
    if (save.context.runtime.kernels.scan == scan_code::plain)
        save_plain_scan(r, kind, save);
    else
        save_fused_scan(r, save);
}

/// What MambaSplitConv1dScanCombinedFn.backward makes: the convolution's output recomputed, the gradients of it and of
/// its own input; then, in _mamba_chunk_scan_combined_bwd, decays, steps and C B in fp32, and states at the ends of
/// chunks. It is fullest either in _state_passing_bwd, with the states and their gradients in fp32 and in the compute
/// format, or in _chunk_scan_bwd_dcb, with the latter, the gradients of B and C in fp32, and that of C B before and
/// after it is summed over the programs that share it: one here, as where there are more heads and chunks than
/// multiprocessors.
constexpr void pass_back_fused_scan(const recurrent& r, const layer_writer& hold) {
    const training_context& context = hold.context;
    const token_shape& t = context.tokens;
    const std::int64_t n = t.all();
    const std::int64_t chunks = t.sequences * ceil_quotient(t.length, r.chunk);
    const std::int64_t padded = chunks * r.chunk;
    const std::int64_t states = product(chunks, r.inner() * r.state);
    const std::int64_t pairs = product(padded, r.chunk * r.key_heads);
    const std::int64_t steps = product(padded, r.heads);
    const std::int64_t keys = product(n, r.key_heads * r.state);
    const auto put = [&](std::int64_t elements, const precision& format) {
        hold.put(activation_role::gradient, elements, format, activation_split::tensor, backward_point::attention);
    };
    // Gradients of the output and of what was before the gate; before the norm and the output again, where these are
    // inside.
    const std::int64_t outputs = context.runtime.kernels.scan == scan_code::fused_to_gate ? 2 : 3;
    put(product(n, outputs * r.inner() + 2 * r.conv_channels() + projected(r) + r.heads), context.formats.compute);
    put(sum(product<std::int64_t>(2, steps), pairs), fp32);
    put(product<std::int64_t>(2, states), context.formats.compute);
    const std::int64_t passing =
        product<std::int64_t>(context.formats.fp32_compute ? 1 : 2, states);  // both in fp32, unless these are
    const std::int64_t scanning =
        sum(product<std::int64_t>(2, sum(pairs, keys)),
            product<std::int64_t>(3, steps));  // gradients of C B; of B and C; of steps and decays
    put(passing > scanning ? passing : scanning, fp32);
}

/// C times B for every pair of tokens and feature, summed afterwards: its backward pass makes two such tensors, one for
/// each factor.
constexpr void pass_back_scan(const recurrent& r, const layer_writer& hold) {
    if (hold.context.runtime.kernels.scan != scan_code::plain) return pass_back_fused_scan(r, hold);
    const scan_shape s{r, hold.context.tokens};
    const std::int64_t of_pairs = product(product<std::int64_t>(2, s.pairs), r.state + 1);
    hold.put(activation_role::gradient, sum(of_pairs, product(s.padded, 3 * s.keys + 2 * s.inner)), fp32,
             activation_split::tensor, backward_point::attention);
}

/// What the plain scan holds in its forward pass when C times B is made for every pair of tokens and feature: that, its
/// sum over the features, the decays of the pairs, B and C for every head, the inputs and what D adds, and the first
/// projection and the convolution's output.
constexpr void pass_forward_scan(const recurrent& r, const layer_writer& hold) {
    if (hold.context.runtime.kernels.scan != scan_code::plain) return;
    const scan_shape s{r, hold.context.tokens};
    const auto put = [&](std::int64_t elements, const precision& format) {
        hold.put(activation_role::recurrence, elements, format, activation_split::tensor, backward_point::attention);
    };
    put(sum(product(s.pairs, r.state + 2), product(s.padded, 2 * s.keys + 2 * s.inner)), fp32);
    put(product(s.tokens, projected(r) + r.conv_channels()), hold.context.formats.compute);
}

}  // namespace llmres::inline v0::detail
