// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// The inventory of operations: what one forward pass of tokens through a layer computes, moves and exchanges. Matrix
/// products follow from the weights; times are folds over this.
namespace llmres::inline v0 {

/// What a kernel computes.
enum class operation_kind : std::uint8_t {
    projection,   ///< a matrix product with a weight
    attention,    ///< queries with keys, probabilities with values
    elementwise,  ///< everything between them: norms, rotary embedding, activation functions, residual sums
};

/// One kind of kernel on one rank.
struct operation {
    operation_kind kind = operation_kind::projection;    ///< what it computes
    weight_role role = weight_role::q_proj;              ///< of a projection
    arithmetic_kind arithmetic = arithmetic_kind::bf16;  ///< the arithmetic it is computed in
    flop_count flops{};                                  ///< a multiplication and an addition are two
    byte_count read{};                                   ///< weights or cache, and inputs
    byte_count written{};                                ///< outputs
};

/// An exchange that the pass waits for.
struct exchange {
    /// The ranks that exchange.
    enum class group : std::uint8_t { tensor, expert };
    collective_kind kind = collective_kind::all_reduce;  ///< how they exchange
    group among = group::tensor;                         ///< which ranks do
    byte_count message{};                                ///< the whole tensor
};

/// Tokens on their way through the layers.
struct token_pass {
    token_shape tokens{};     ///< on this rank; `keys` is what they attend to
    std::int64_t scored = 0;  ///< positions that pass the head
    bool decode = false;      ///< one token a sequence, keys and values from the cache
};

/// In which formats they pass.
struct operation_formats {
    precision compute = bf16;            ///< activations
    precision kv_cache = bf16;           ///< keys in the cache
    weight_formats weights{};            ///< weights
    maybe<precision> kv_cache_values{};  ///< where values are not stored as keys are
    maybe<arithmetic_kind> linear{};  ///< what the layers' products with weights compute in, where it is not `compute`:
                                      ///< those of training in 8 bits

    /// The arithmetic of the layers' products with weights.
    constexpr arithmetic_kind linear_arithmetic() const { return linear ? *linear : compute.arithmetic; }
};

namespace detail {

/// Narrow floats multiply in their own units; integers and codebooks are unpacked to the compute format first.
constexpr arithmetic_kind arithmetic_of(const precision& stored, arithmetic_kind compute) {
    switch (stored.arithmetic) {
        case arithmetic_kind::fp8:
        case arithmetic_kind::fp6:
        case arithmetic_kind::fp4:
            return stored.arithmetic;
        default:
            return compute;
    }
}

/// Experts of this rank that at least one of n tokens is routed to, if they choose evenly: E (1 - (1 - k/E)^n).
constexpr double experts_touched(const weight& w, std::int64_t local_copies, std::int64_t n) {
    const double chance = 1.0 - static_cast<double>(w.active) / static_cast<double>(w.copies);
    double missed = 1.0;
    for (double factor = chance; n > 0; n /= 2, factor *= factor)
        if (n % 2 == 1) missed *= factor;
    return static_cast<double>(local_copies) * (1.0 - missed);
}

/// `head`: the scored positions pass, not all.
template <std::size_t N, class Visit>
constexpr void visit_projection(const weight& whole, const operation_formats& formats,
                                const std::array<token_pass, N>& passes, const layout& l, bool head, Visit& visit) {
    if (whole.rows == 1) return;  // vectors: norms and biases
    const weight_shape part = local_shape(whole, l);
    const precision& format = formats.weights.of(whole);
    const byte_count weights = size_of(format, part.rows, part.columns);
    const arithmetic_kind arithmetic =
        arithmetic_of(format, head ? formats.compute.arithmetic : formats.linear_arithmetic());
    const byte_count in = size_of(formats.compute, 1, part.columns);  // of one token
    const byte_count out = size_of(formats.compute, 1, part.rows);
    const double flops_a_token = 2.0 * static_cast<double>(part.rows) * static_cast<double>(part.columns);
    for (std::size_t p = 0; p < N; ++p) {
        const std::int64_t here = head ? passes[p].scored : passes[p].tokens.all();
        // Routed tokens of all ranks meet at their experts; ranks that hold copies of the same tokens share the work.
        const std::int64_t n =
            whole.routed ? ceil_quotient(here * whole.active * l.expert_tensor_ranks(), l.tensor) : here;
        visit(
            operation{.kind = operation_kind::projection,
                      .role = whole.role,
                      .arithmetic = arithmetic,
                      .flops = flops(flops_a_token * static_cast<double>(n)),
                      .read = (whole.routed ? scaled_up(weights, experts_touched(whole, part.copies, here)) : weights) +
                              in * n,
                      .written = out * n},
            p);
    }
}

template <class Visit>
constexpr void visit_attention_core(const attention& a, const operation_formats& formats, const token_pass& pass,
                                    std::size_t index, const layout& l, Visit& visit) {
    const std::int64_t n = pass.tokens.all();
    const token_count kept = kept_tokens(a, tokens(pass.tokens.keys));
    // A prompt's token sees on average half of what comes before the prompt's end.
    const double seen = static_cast<double>(kept.in(tokens)) / (pass.decode ? 1.0 : 2.0);
    const std::int64_t heads = ceil_quotient(a.heads, l.tensor);
    // Decoding latent attention works on the compressed vector itself (DeepSeek-V2 section 2.1.3).
    const bool absorbed = pass.decode && a.kind == attention_kind::latent;
    const std::int64_t query = heads * (absorbed ? a.kv_rank + a.rope_dim : a.query_width());
    const std::int64_t value = heads * (absorbed ? a.kv_rank : a.value_width());
    const bytes_per_token cached = formats.kv_cache_values
                                       ? kv_bytes_per_token(a, formats.kv_cache, *formats.kv_cache_values, l.tensor)
                                       : kv_bytes_per_token(a, formats.kv_cache, l.tensor);
    visit(operation{.kind = operation_kind::attention,
                    .arithmetic = formats.compute.arithmetic,
                    .flops = flops(2.0 * static_cast<double>(n) * seen * static_cast<double>(query + value)),
                    .read = cached * kept * pass.tokens.sequences + size_of(formats.compute, n, query),
                    .written = size_of(formats.compute, n, value)},
          index);
}

}  // namespace detail

/// Calls visit(operation, p) for everything one layer computes, forward, on one rank, p being the pass it belongs to.
/// Passes share the layer's weights, so that asking for several at once is little more than for one.
template <std::size_t N, class Visit>
constexpr void for_each_operation(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                  const std::array<token_pass, N>& passes, const layout& over, Visit&& visit) {
    for_each_weight(l, hidden,
                    [&](const weight& w) { detail::visit_projection(w, formats, passes, over, false, visit); });
    // Every tensor between the products is written once and read once, and is as large as there are tokens.
    byte_count a_token;
    for_each_live_activation(l, hidden, token_shape{}, attention_kernel::flash, formats.compute,
                             [&](const activation& a, layer_half) { a_token += local_bytes(a, over); });
    for (std::size_t p = 0; p < N; ++p) {
        if (l.attention.kind != attention_kind::none)
            detail::visit_attention_core(l.attention, formats, passes[p], p, over, visit);
        const byte_count between = a_token * passes[p].tokens.all();
        visit(operation{.kind = operation_kind::elementwise,
                        .arithmetic = formats.compute.arithmetic,
                        .read = between,
                        .written = between},
              p);
    }
}

/// Calls visit(operation, p) for the head, which is as wide as the embedding. (Looking up embeddings computes nothing.)
template <std::size_t N, class Visit>
constexpr void for_each_head_operation(const model& m, const operation_formats& formats,
                                       const std::array<token_pass, N>& passes, const layout& over, Visit&& visit) {
    const weight head{.role = weight_role::lm_head,
                      .rows = m.vocabulary,
                      .columns = embedding_width_of(m),
                      .split = weight_split::rows};
    detail::visit_projection(head, formats, passes, over, true, visit);
}

/// Calls visit(exchange) for what the ranks of one layer send each other while the tokens pass forward. Tensor
/// parallelism sums partial results before each residual sum (arXiv 1909.08053 section 3); expert parallelism sends
/// tokens to their experts and back, and needs no sum then. The backward pass has as many.
template <class Visit>
constexpr void for_each_exchange(const layer& l, std::int64_t hidden, const precision& compute, const token_shape& s,
                                 const layout& over, Visit&& visit) {
    const bool spread = l.feed_forward.routed() && over.expert > 1;
    if (over.tensor == 1 && !spread) return;
    const int fed = l.feed_forward.kind != feed_forward_kind::none && !spread;
    for (int sums = over.tensor > 1 ? detail::mixing_sums(l) + fed : 0; sums > 0; --sums)
        visit(exchange{collective_kind::all_reduce, exchange::group::tensor, size_of(compute, s.all(), hidden)});
    if (!spread) return;
    const experts& e = l.feed_forward.experts;
    const byte_count routed = size_of(compute, s.all(), e.features(hidden)) * e.per_token;
    for (int i = 0; i < 2; ++i) visit(exchange{collective_kind::all_to_all, exchange::group::expert, routed});
}

}  // namespace llmres::inline v0
