// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The inventory of a gated delta net's mixer between its projections, by scan_code: a convolution, the gated delta
/// rule over chunks of 64 tokens, and a gated norm. As plain PyTorch writes it (transformers 5.17,
/// models/qwen3_next/modeling_qwen3_next.py, torch_chunk_gated_delta_rule), the rule is in fp32, keys are copied to all
/// value heads, and chunks follow each other in a loop. flash-linear-attention's kernels (fla 0.6,
/// ops/gated_delta_rule/chunk.py, ChunkGatedDeltaRuleFunction) keep what the rule reads and recompute the rest.
namespace llmres::inline v0::detail {

/// Sizes of one layer's rule, in elements. Sequences are padded to whole chunks.
struct delta_shape {
    static constexpr std::int64_t chunk = 64;  ///< tokens of a chunk

    std::int64_t tokens;       ///< as they are
    std::int64_t padded;       ///< in whole chunks
    std::int64_t chunks;       ///< of a sequence
    std::int64_t key_width;    ///< features of the keys of all value heads
    std::int64_t value_width;  ///< features of all value heads
    std::int64_t heads;        ///< value heads
    std::int64_t pairs;        ///< padded tokens x tokens of a chunk x heads
    std::int64_t state;        ///< of all sequences and heads, at one end of a chunk

    constexpr delta_shape(const recurrent& r, const token_shape& s)
        : tokens{s.all()},
          padded{s.sequences * ceil_quotient(s.length, chunk) * chunk},
          chunks{ceil_quotient(s.length, chunk)},
          key_width{r.heads * r.state},
          value_width{r.inner()},
          heads{r.heads},
          pairs{product(padded, chunk * r.heads)},
          state{product(s.sequences * r.inner(), r.state)} {}
};

/// Writes the tensors of a mixer: those of the rule, and of what stands before it, live until the backward pass of the
/// mixer begins, those of the gated norm not so long.
struct delta_writer {
    const layer_writer& save;
    const training_context& context = save.context;

    constexpr void rule(std::int64_t elements, const precision& format) const {
        save.put(activation_role::recurrence, elements, format, activation_split::tensor, backward_point::attention);
    }
    constexpr void norm(std::int64_t elements, const precision& format) const {
        save.put(activation_role::recurrence, elements, format, activation_split::tensor, backward_point::norm);
    }
};

/// Before the rule: the convolution's input, which PyTorch's does not keep for a frozen kernel, and its output, which
/// causal-conv1d computes again; the step of each head; and of decays a softplus and what it read, of which a frozen
/// weight needs the latter alone.
constexpr void save_before_rule(const recurrent& r, const delta_writer& save) {
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    const bool plain = context.runtime.kernels.scan == scan_code::plain;
    if (!context.frozen || !plain) save.rule(product(n, r.conv_channels()), context.formats.compute);
    if (plain)  // with the tokens that it pads
        save.rule(product(n + context.tokens.sequences * (r.kernel - 1), r.conv_channels()), context.formats.compute);
    save.rule(n * r.heads, context.formats.compute);
    save.rule(n * r.heads, fp32);
    if (!context.frozen) save.rule((n + 2) * r.heads, fp32);
}

/// ChunkGatedDeltaRuleFunction.forward: queries and keys after their norm, with its statistics, values, decays summed
/// over each chunk, and the inverse of each chunk's system.
constexpr void save_fused_rule(const delta_shape& s, const delta_writer& save) {
    save.rule(product(s.tokens, 2 * s.key_width + s.value_width + s.heads * delta_shape::chunk),
              save.context.formats.compute);
    save.rule(3 * s.tokens * s.heads, fp32);
}

/// torch_chunk_gated_delta_rule. Under autocast each product keeps casts of what it reads, chunk by chunk in the loop;
/// without, the tensors themselves. The first state is zero, and the last one is not read.
constexpr void save_plain_rule(const delta_shape& s, const delta_writer& save) {
    const training_context& context = save.context;
    const precision& compute = context.formats.compute;
    const std::int64_t but_one = s.padded - s.padded / s.chunks;                // tokens of all chunks but one
    save.rule(product(s.tokens, 2 * s.key_width), fp32);                        // queries and keys before their norm
    save.rule(2 * s.tokens * s.heads, fp32);                                    // its statistics
    save.rule(product(s.padded, s.key_width + s.value_width + s.heads), fp32);  // keys, values, steps
    save.save.put(activation_role::mask, delta_shape::chunk * delta_shape::chunk, int8, activation_split::whole,
                  backward_point::attention);
    save.rule(product(s.padded, 2 * s.key_width + 3 * s.heads), fp32);  // queries, keys times steps, decays
    save.rule(product(s.padded, s.key_width + s.value_width), fp32);    // both solutions of the system
    save.rule(product(context.tokens.sequences * s.chunks, s.heads), fp32);
    if (context.autocast) {
        save.rule(product<std::int64_t>(2, s.pairs), fp32);     // decays, and the system
        save.rule(product<std::int64_t>(3, s.pairs), compute);  // products of a chunk's keys with others
        // Keys twice, keys times steps, and queries; then states, keys and values of each chunk.
        save.rule(product(s.padded, 4 * s.key_width + s.value_width), compute);
        save.rule(product<std::int64_t>(2 * s.chunks, s.state), compute);
        save.rule(product<std::int64_t>(s.chunks - 1, s.state), fp32);
        save.rule(product(but_one, 3 * s.key_width + s.value_width), compute);
        return;
    }
    save.rule(product<std::int64_t>(5, s.pairs), fp32);
    save.rule(product(s.chunks, s.state), fp32);
    save.rule(product(s.padded, s.value_width), fp32);
    // Queries and keys with their decays. In fp32, where nothing was cast, heads lie behind tokens, so that products
    // copy what they read: keys twice, queries, and keys times steps.
    save.rule(product(context.formats.fp32_compute ? but_one : s.padded, 2 * s.key_width), fp32);
    if (context.formats.fp32_compute) save.rule(product(s.padded, 4 * s.key_width), fp32);
}

/// The gated norm: its input, statistics, what its weight multiplied and what that made, the gate, activated, too.
constexpr void save_gated_norm(const delta_shape& s, const delta_writer& save) {
    const training_context& context = save.context;
    save.norm(s.tokens * (s.value_width + s.heads), fp32);
    if (!context.frozen) save.norm(s.tokens * s.value_width, context.formats.compute);
    save.norm(s.tokens * s.value_width, context.autocast ? fp32 : context.formats.compute);
    save.norm(product<std::int64_t>(2, s.tokens * s.value_width), fp32);
}

/// Values of one chunk and head that transformers before 5.17 keeps beside those, in plain PyTorch: its system was
/// solved in place, row by row, and autograd keeps each row and the rows above it (4.57 to 5.16,
/// torch_chunk_gated_delta_rule: row.unsqueeze(-1) * sub).
constexpr std::int64_t solved_by_rows() {
    std::int64_t values = 0;
    for (std::int64_t i = 1; i < delta_shape::chunk; ++i) values += i * i + i;
    return values;
}

/// Shows each tensor that the mixer saves between its projections.
constexpr void save_delta_net(const recurrent& r, const layer_writer& to) {
    const delta_shape s{r, to.context.tokens};
    const delta_writer save{to};
    save_before_rule(r, save);
    if (to.context.runtime.kernels.scan == scan_code::plain)
        save_plain_rule(s, save);
    else
        save_fused_rule(s, save);
    save_gated_norm(s, save);
}

/// Shows the tensors of a mixer when it is fullest in its forward pass, saved or not. In plain PyTorch that is where
/// keys are scaled by their decays, before the loop over chunks: queries, keys and values each several times, pairs
/// three times. In flash-linear-attention, where the rule's output is made (chunk_gated_delta_rule_fwd): what it saves,
/// keys and values for states, states at the ends of chunks, new values, the output. Beside either, in the format of
/// products, the convolution's output, the gate, and queries and keys copied to all value heads; and the first
/// projection, where the gate is a part of it.
constexpr void pass_forward_delta_net(const recurrent& r, const layer_writer& hold) {
    const delta_shape s{r, hold.context.tokens};
    const precision& compute = hold.context.formats.compute;
    const delta_writer made{hold};
    made.rule(product(s.tokens, r.conv_channels() + s.value_width + 2 * s.key_width), compute);
    if (!hold.context.code.separate_projections)
        made.rule(product(s.tokens, r.conv_channels() + s.value_width), compute);
    if (hold.context.runtime.kernels.scan == scan_code::plain)
        return made.rule(sum(product(s.padded, 6 * s.key_width + 4 * s.value_width), product<std::int64_t>(3, s.pairs)),
                         fp32);
    made.rule(product(s.tokens, 3 * s.key_width + 4 * s.value_width + s.heads * delta_shape::chunk), compute);
    made.rule(product(s.chunks, s.state), compute);
}

/// Shows the tensors that the rule's backward pass makes. In plain PyTorch, in the loop over chunks, gradients of what
/// all chunks read, and zeros of one tensor's size for each of them. In chunk_gated_delta_rule_bwd, all that its calls
/// return: keys and values for states, states and their gradients at the ends of chunks, new values and two gradients
/// of them, gradients of queries and of keys three times; and the gradient of its output.
constexpr void pass_back_delta_net(const recurrent& r, const layer_writer& hold) {
    const delta_shape s{r, hold.context.tokens};
    const auto put = [&](std::int64_t elements, const precision& format) {
        hold.put(activation_role::gradient, elements, format, activation_split::tensor, backward_point::attention);
    };
    if (hold.context.runtime.kernels.scan == scan_code::plain)
        return put(sum(product(s.padded, 4 * s.key_width + 2 * s.value_width), s.pairs), fp32);
    put(product(s.tokens, 5 * s.key_width + 5 * s.value_width), hold.context.formats.compute);
    put(product(2 * s.chunks, s.state), hold.context.formats.compute);
    put(4 * s.tokens * s.heads, fp32);
}

}  // namespace llmres::inline v0::detail
