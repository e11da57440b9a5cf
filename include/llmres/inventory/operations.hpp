// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/products.hpp>
#include <llmres/inventory/operation.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The inventory of operations: what one forward pass of tokens through a layer computes, moves and exchanges. Matrix
/// products follow from the weights; times are folds over this.
namespace llmres::inline v0 {

namespace detail {

/// How often the scores of all pairs of tokens pass memory where they are tensors, in units of their format: written,
/// read and written by the softmax, read; with dropout once more, and a mask of a byte. The backward pass moves them
/// twice as often. Kernels of their own besides read and write them to scale and to mask them, write the softmax in
/// fp32, and read that to cast it: 12 in all. Back: the probabilities' gradients are written, cast to fp32, and read
/// with the softmax to write those of the scores, which are cast, scaled, and read by two products, while a third reads
/// the probabilities: 18 (transformers: models/llama/modeling_llama.py, eager_attention_forward).
constexpr double score_traffic(const token_pass& pass) {
    const double with_dropout = pass.dropout ? 2.5 : 0.0;
    if (pass.scores == pair_scores::apart)
        return (pass.backward ? 18.0 : 12.0) + with_dropout * (pass.backward ? 2.0 : 1.0);
    return (4.0 + with_dropout) * (pass.backward ? 2.0 : 1.0);
}

template <class Visit>
constexpr void visit_attention_core(const attention& a, const operation_formats& formats, const token_pass& pass,
                                    std::size_t index, const layer_split& l, Visit& visit) {
    const std::int64_t n = pass.tokens.all();
    token_count kept = kept_tokens(a, tokens(pass.tokens.keys));
    // An indexer scores all entries, and attention reads those that it chooses.
    const token_count entries = compressed_entries(a, tokens(pass.tokens.keys));
    if (a.indexer.selected > token_count{} && entries > a.indexer.selected) kept = kept - entries + a.indexer.selected;
    // A prompt's token sees on average half of what comes before the prompt's end, and all that was cached. Scores
    // that are written out are those of all pairs.
    const bool writes_scores =
        pass.scores != pair_scores::in_registers || (!pass.decode && a.wider_than(pass.widest_fused_head));
    const bool every_pair = pass.decode || writes_scores;
    const std::int64_t keys = kept.in(tokens), before = pass.cached < keys ? pass.cached : keys;
    const double seen = static_cast<double>(every_pair ? 2 * keys : keys + before) / 2.0;
    const std::int64_t heads = ceil_quotient(a.heads, l.tensor);
    // Decoding latent attention works on the compressed vector itself (DeepSeek-V2 section 2.1.3).
    const bool absorbed = pass.decode && a.kind == attention_kind::latent;
    const std::int64_t query = heads * (absorbed ? a.kv_rank + a.rope_dim : a.query_width());
    const std::int64_t value = heads * (absorbed ? a.kv_rank : a.value_width());
    const bytes_per_token cached = formats.kv_cache_values
                                       ? kv_bytes_per_token(a, formats.kv_cache, *formats.kv_cache_values, l.tensor)
                                       : kv_bytes_per_token(a, formats.kv_cache, l.tensor);
    // Fused attention recomputes the scores in its backward pass: five products for two (arXiv 2205.14135 appendix B).
    const double products = !pass.backward ? 1.0 : writes_scores ? 2.0 : 2.5;
    const double pairs = static_cast<double>(n) * seen;
    operation o{
        .kind = operation_kind::attention,
        .arithmetic = formats.compute.arithmetic,
        .flops = flops(2.0 * products * pairs * static_cast<double>(query + value)),
        .read = cached * kept * pass.tokens.sequences + size_of(formats.compute, n, query),
        .written = size_of(formats.compute, n, value),
        .tokens = n,
        // Few queries of many keys: the keys are split over the GPU (flash-decoding; FlashInfer's
        // BatchPrefillWithPagedKVCache and FlashAttention 3 do so for prompts that are cached in part).
        .blocks = pass.decode || pass.cached > 0 ? 1e9 : static_cast<double>(heads) * static_cast<double>(n) / 128.0};
    if (pass.backward) o.counted = 2.0 / products, o.pass = product_pass::input_gradients;
    if (pass.backward) o.read += o.read, o.written += o.written;
    if (pass.copies_cache) {
        const std::int64_t shared = a.kv_heads > 0 ? ceil_quotient(a.heads, a.kv_heads) : 1;
        const byte_count all = cached * kept * pass.tokens.sequences;
        visit(operation{.kind = operation_kind::elementwise, .read = all * 2, .written = all * (1 + shared)}, index);
        o.read += all * (shared - 1);
        o.blocks = static_cast<double>(heads) * static_cast<double>(pass.tokens.sequences);  // keys are not split
    }
    if (writes_scores) o.read += scaled_up(size_of(formats.compute, n, heads * kept.in(tokens)), score_traffic(pass));
    visit(o, index);
}

/// Calls visit(operation, p) for what a layer computes beside its products with weights.
template <class Passes, class Visit>
constexpr void visit_between_projections(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                         const Passes& passes, const layer_split& over, Visit& visit) {
    // Every tensor between the products is written once and read once, and is as large as there are tokens.
    byte_count a_token;
    for_each_live_activation(l, hidden, token_shape{}, attention_kernel::flash, formats.compute,
                             [&](const activation& a, layer_half) { a_token += local_bytes(a, over); });
    for (std::size_t p = 0; p < passes.size(); ++p) {
        if (l.attention.kind != attention_kind::none)
            visit_attention_core(l.attention, formats, passes[p], p, over, visit);
        // The backward pass reads what was saved and gradients of outputs, and writes gradients of inputs.
        const byte_count between = a_token * (passes[p].tokens.all() * (passes[p].backward ? 2 : 1));
        visit(operation{.kind = operation_kind::elementwise,
                        .arithmetic = formats.compute.arithmetic,
                        .read = between,
                        .written = between},
              p);
    }
}

}  // namespace detail

/// Calls visit(operation, p) for everything one layer computes, forward, on one rank, p being the pass it belongs to.
/// `passes`: token_passes, or an array of token_pass. They share the layer's weights, so that asking for several at
/// once is little more than for one.
template <class Passes, class Visit>
constexpr void for_each_operation(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                  const Passes& passes, const layer_split& over, Visit&& visit) {
    detail::visit_projections(l, hidden, formats, passes, over, visit);
    detail::visit_between_projections(l, hidden, formats, passes, over, visit);
}

/// Calls visit(operation, p) for the head, which is as wide as the embedding. (Looking up embeddings computes nothing.)
template <class Passes, class Visit>
constexpr void for_each_head_operation(const model& m, const operation_formats& formats, const Passes& passes,
                                       const layer_split& over, Visit&& visit) {
    const weight head{.role = weight_role::lm_head,
                      .rows = scored_vocabulary(m),
                      .columns = embedding_width_of(m),
                      .split = weight_split::rows};
    detail::visit_projection(head, formats, passes, over, detail::projection_place::head, visit);
    for (std::size_t p = 0; p < passes.size(); ++p) {
        if (!passes[p].training) continue;
        // The loss in fp32: a copy, its softmax and the sum read and write the logits about six times, a fused loss
        // twice; and so does the backward pass.
        const byte_count logits =
            size_of(fp32, passes[p].scored, detail::ceil_quotient(scored_vocabulary(m), over.tensor));
        if (const std::int32_t times = formats.divergence[passes[p].backward ? 1 : 0]; times > 0) {
            const byte_count all = formats.autocast ? logits : div_up(logits * formats.compute.element_bytes, 4);
            visit(operation{.kind = operation_kind::elementwise,
                            .read = div_up(all * (2 * times), 3),
                            .written = div_up(all * times, 3)},
                  p);
            continue;
        }
        visit(operation{.kind = operation_kind::elementwise,
                        .read = formats.fused_loss ? div_up(logits, 2) : logits * 2,
                        .written = formats.fused_loss ? div_up(logits, 2) : logits},
              p);
    }
}

/// The part of a layout that the exchanges of one layer depend on.
struct exchange_split : layer_split {
    bool same_tokens = true;  ///< every rank that shares the experts has the same tokens

    constexpr exchange_split() = default;
    /// The split of a layout, which stands for it wherever a split is asked for.
    constexpr explicit(false) exchange_split(const layout& l)
        : layer_split{l},
          same_tokens{l.expert == 1 || (l.data * l.context_parallel * l.replicas == 1 && !l.sequence_parallel)} {}

    friend constexpr bool operator==(const exchange_split&, const exchange_split&) = default;
};

/// Calls visit(exchange) for what the ranks of one layer send each other while the tokens pass forward. Tensor
/// parallelism sums partial results before each residual sum (arXiv 1909.08053 section 3), or scatters the sum and
/// gathers it again under sequence parallelism (arXiv 2205.05198), which moves as much; expert parallelism sends tokens
/// to their experts and back, and needs no sum then; context parallelism exchanges keys and values, or under `a2a` the
/// sequence for heads before attention and back behind it. The backward pass has as many.
template <class Visit>
constexpr void for_each_exchange(const layer& l, std::int64_t hidden, const precision& compute, const token_shape& s,
                                 const exchange_split& over, Visit&& visit) {
    // Where every expert rank has the same tokens, each computes what its experts add and the sum is one all-reduce, as
    // without expert parallelism (vLLM's fused_moe/layer.py, TensorRT-LLM's fused_moe: no all-to-all without attention
    // data parallelism).
    const bool spread = l.feed_forward.routed() && over.expert > 1 && !over.same_tokens;
    if (over.context_parallel > 1 && l.attention.kind != attention_kind::none) {
        const std::int64_t width = detail::ceil_quotient(l.attention.kv_heads, over.tensor) *
                                   (l.attention.query_width() + l.attention.value_width());
        if (over.cp_comm_type == cp_communication::a2a) {
            const std::int64_t heads = detail::ceil_quotient(l.attention.heads, over.tensor);
            const std::int64_t all = width + heads * (l.attention.query_width() + l.attention.value_width());
            visit(exchange{collective_kind::all_to_all, exchange::group::context, size_of(compute, s.all(), all)});
        } else {
            visit(exchange{collective_kind::all_gather, exchange::group::context,
                           size_of(compute, s.all() * over.context_parallel, width)});
        }
    }
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
