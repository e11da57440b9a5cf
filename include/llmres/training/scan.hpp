// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/layer.hpp>
#include <llmres/training/step.hpp>

/// The inventory of Mamba 2's scan as plain PyTorch writes it (transformers, models/mamba2/modeling_mamba2.py,
/// mamba2_chunk_scan): everything in fp32 over chunks of tokens, products spelt out as broadcasts and sums. The fused CUDA
/// kernels of mamba-ssm keep far less; no engine here is taken to have them.
namespace llmres::detail {

/// Sizes of one layer's scan. Sequences are padded to whole chunks.
struct scan_shape {
    std::int64_t tokens;   ///< as they are
    std::int64_t padded;   ///< in whole chunks
    std::int64_t inner;    ///< features of all heads
    std::int64_t keys;     ///< features of all heads' B, and C: copied to every head
    std::int64_t pairs;    ///< padded tokens x tokens of a chunk x heads
    std::int64_t states;   ///< at the ends of chunks, and at the start
    std::int64_t chunk_pairs;  ///< decays from each of these to each, of all heads

    constexpr scan_shape(const recurrent& r, const token_shape& s)
        : tokens{s.all()},
          padded{s.sequences * ceil_quotient(s.length, r.chunk) * r.chunk},
          inner{r.inner()},
          keys{r.heads * r.state},
          pairs{product(padded, r.chunk * r.heads)},
          states{product(s.sequences * (ceil_quotient(s.length, r.chunk) + 1), inner * r.state)},
          chunk_pairs{product(product(s.sequences * r.heads, ceil_quotient(s.length, r.chunk) + 1), ceil_quotient(s.length, r.chunk) + 1)} {}
};

template <class Visit>
constexpr void save_scan(const recurrent& r, std::int64_t hidden, norm_kind kind, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_step& step = save.step;
    const scan_shape s{r, step.tokens};
    constexpr auto split = activation_split::tensor;
    const auto wide = [&](std::int64_t elements, backward_point until) { save.put(role::recurrence, elements, fp32, split, until); };
    save.inputs(std::array{weight_role::in_proj}, s.tokens * hidden, s.tokens, step.casts(kind), activation_split::sequence, attention);
    // The convolution reads a view of what the projection put out, or a copy that autocast made.
    const std::int64_t projected = 2 * s.inner + 2 * r.key_heads * r.state + r.heads;
    save.put(role::recurrence, s.tokens * (step.casts(kind) ? r.conv_channels() : projected), step.compute, split, attention);
    save.put(role::recurrence, product(s.tokens + step.tokens.sequences * (r.kernel - 1), r.conv_channels()), step.compute, split, attention);
    wide(3 * s.tokens * r.heads, attention);  // steps: biased, softplus, clamped
    // Inputs, which in fp32 are a view of what the convolution's activation put out; padded for the skip connection.
    wide(s.tokens * (step.wide ? r.conv_channels() : s.inner), attention);
    if (!step.frozen) wide(product(s.padded, s.inner), attention);
    wide(product(2 * s.padded, s.keys), attention);  // B and C
    wide(s.pairs, attention);                        // decays within a chunk
    save.put(role::mask, 2 * r.chunk * r.chunk, int8, activation_split::whole, attention);
    wide(product<std::int64_t>(2, s.pairs), norm);   // C B, and with decays
    wide(product(s.padded, s.inner), norm);          // inputs, times steps
    wide(product(s.padded, s.keys), norm);           // B with decays to the chunk's end
    wide(product(2 * s.padded, r.heads), norm);      // these, and those from its start
    wide(sum(product<std::int64_t>(2, s.states), s.chunk_pairs), norm);
    wide(product(s.padded, s.inner), norm);          // outputs from states
    // The gated norm: what the scan put out, padded; the activated gate, their product, and its fp32 copies.
    wide(sum(product(s.padded + (4 - step.frozen - step.wide) * s.tokens, s.inner), s.tokens), norm);
    save.inputs(std::array{weight_role::out_proj}, s.tokens * s.inner, s.tokens, false, split, norm);
}

/// C times B for every pair of tokens and feature, summed afterwards: its backward pass makes two such tensors, one for
/// each factor.
template <class Visit>
constexpr void pass_back_scan(const recurrent& r, const layer_writer<Visit>& hold) {
    const scan_shape s{r, hold.step.tokens};
    const std::int64_t of_pairs = product(product<std::int64_t>(2, s.pairs), r.state + 1);
    hold.put(activation_role::gradient, sum(of_pairs, product(s.padded, 3 * s.keys + 2 * s.inner)), fp32, activation_split::tensor, backward_point::attention);
}

}  // namespace llmres::detail
