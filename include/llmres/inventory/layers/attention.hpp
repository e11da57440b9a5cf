// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What attention saves for its backward pass, and what that makes.
namespace llmres::inline v0::detail {

/// Which of PyTorch's kernels computes attention (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
enum class score_code : std::uint8_t {
    by_pair,  ///< scores of every pair of tokens are a tensor
    flash,
    tiled,  ///< memory-efficient, or cuDNN's: takes masks, and heads of different widths
};

/// A window that bites needs a mask.
constexpr bool is_masked(const attention& a, const training_context& context) {
    return a.window > token_count{} && a.window.in(tokens) <= context.tokens.keys;
}

/// Whether keys and values are repeated for every query head. (transformers repeats where a mask is needed, and one
/// single head as a view.)
constexpr bool repeats_heads(const attention& a, const training_context& context) {
    if (a.kind == attention_kind::latent) return true;
    if (a.kv_heads == 1 || context.attention.kernel == attention_kernel::flash) return false;
    return context.attention.kernel == attention_kernel::eager || !context.runtime.kernels.shared_heads ||
           is_masked(a, context);
}

constexpr score_code score_code_of(const attention& a, const training_context& context) {
    if (context.attention.kernel == attention_kernel::eager) return score_code::by_pair;
    if (context.attention.kernel == attention_kernel::flash) return score_code::flash;
    if (context.attention.kernel == attention_kernel::cudnn) return score_code::tiled;
    const bool one_width = a.query_width() == a.value_width();
    if (!context.formats.fp32_compute && one_width && !context.code.attention.biased_scores && !is_masked(a, context) &&
        a.query_width() <= 256)
        return score_code::flash;
    // Kernels for fp32 know nothing of shared heads.
    const bool shares = a.kind == attention_kind::grouped && a.kv_heads != a.heads && !repeats_heads(a, context) &&
                        !is_masked(a, context);
    return shares ? score_code::by_pair : score_code::tiled;
}

/// Whether eager attention's softmax is fp32 beside narrower products: as written, or as autocast has it.
constexpr bool widens_scores(const training_context& context) {
    const bool one_kernel = context.runtime.kernels.fuses_norms();
    return !one_kernel && (context.code.attention.fp32_softmax || context.autocast || context.formats.fp32_compute);
}

template <class Visit>
constexpr void save_scores(std::int64_t pairs, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    constexpr auto split = activation_split::tensor;
    const bool drops = context.dropout && context.code.dropout.probabilities;
    if (context.code.attention.caps_scores && context.attention.kernel == attention_kernel::eager)
        save.put(role::probabilities, pairs, context.formats.compute, split, attention);
    const bool widens = widens_scores(context);
    save.put(role::probabilities, pairs, widens ? fp32 : context.formats.compute, split, attention);
    if (drops)
        save.put(role::probabilities, pairs, int8, split,
                 attention);  // which of them: a part of the core that is computed again
    // What multiplies the values: dropped out, or returned to the compute format.
    if (drops || (widens && !context.formats.fp32_compute))
        save.put(role::probabilities, pairs, context.formats.compute, split, norm);
}

/// `own_keys`: tokens of a sequence whose keys and values are here, of the `keys` that are attended to. True if what
/// the output projection reads is kept.
template <class Visit>
constexpr bool save_heads(const attention& a, std::int64_t own_keys, std::int64_t keys,
                          const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    const std::int64_t m = context.tokens.sequences * own_keys;
    const score_code scores = score_code_of(a, context);
    const bool eager = scores == score_code::by_pair;
    const bool repeats = repeats_heads(a, context) ||
                         (eager && (a.kv_heads != 1 || context.attention.kernel != attention_kernel::eager));
    const std::int64_t kv_heads = repeats ? a.heads : a.kv_heads;
    // One head is repeated as a view, which a cast of turned keys, or of wide values, makes whole.
    const bool viewed = a.kv_heads == 1 && !repeats && (eager || is_masked(a, context));
    const std::int64_t key_heads = viewed && context.autocast && context.formats.fp32_stream ? a.heads : kv_heads;
    const std::int64_t value_heads = viewed && context.formats.fp32_outputs ? a.heads : kv_heads;
    constexpr auto split = activation_split::tensor;
    const backward_point of_values = eager ? norm : attention;
    // Views of one product keep all of it, unless they are cast, or copied to lie head by head.
    const bool casts = context.formats.fp32_outputs;
    const bool joined = context.attention.joined_heads && !casts && !(eager && context.tokens.sequences > 1);
    const std::int64_t query = n * a.heads * a.query_width();
    if (context.code.attention.rotary || !joined) {
        save.put(role::query, query, context.formats.compute, split, attention);
        save.put(role::key, m * key_heads * a.query_width(), context.formats.compute, split, attention);
    }
    if (joined)
        save.put(role::value, query + m * a.kv_heads * (a.query_width() + a.value_width()), context.formats.compute,
                 split, of_values);
    else if (a.kind == attention_kind::latent &&
             context.runtime.kernels.norm == norm_code::eager)  // views of one product
        save.put(role::value, m * a.heads * (a.head_dim + a.value_width()), context.formats.compute, split, of_values);
    else
        save.put(role::value, m * value_heads * a.value_width(), context.formats.compute, split, of_values);
    if (eager) {
        save_scores(product(product(context.tokens.sequences, a.heads), product(context.tokens.length, keys)), save);
    } else {
        save.put(role::softmax_statistics, n * a.heads, fp32, split, attention);
        // The mask becomes one to add, for each layer.
        if (context.attention.kernel != attention_kernel::flash && is_masked(a, context) &&
            context.runtime.kernels.shared_heads)
            save.put(role::mask, product(n, keys), context.formats.compute, activation_split::whole, attention);
        save.put(role::attention_output, n * a.heads * a.value_width(), context.formats.compute, split, attention);
    }
    // The output projection reads attention's own output, or the copy that puts a token's heads side by side.
    // (cuDNN's output lies as the queries do, and those of two parts are joined head by head: Attention.cpp,
    // alloc_with_matching_layout.)
    const bool by_heads = a.kind == attention_kind::latent && context.attention.sdpa == sdpa_backend::cudnn &&
                          context.attention.kernel == attention_kernel::sdpa;
    const bool copied = eager || (scores == score_code::flash && context.code.attention.heads_first) || by_heads;
    const bool reads = !context.frozen || context.quantised.keeps_inputs;
    if ((copied || context.narrows()) && reads)
        save.put(role::attention_output, n * a.heads * a.value_width(), context.formats.inputs, split, norm);
    return !copied || reads;
}

template <class Visit>
constexpr void save_attention(const llmres::attention& a, std::int64_t hidden, norm_kind kind,
                              const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    const bool casts = context.casts(kind);
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    if (a.kind == attention_kind::latent) {
        if (a.q_rank > 0) {
            save.inputs(std::array{role::q_a_proj, role::kv_a_proj}, n * hidden, n, casts, by_sequence, attention);
            save.narrow_norm(n, a.q_rank, by_sequence, attention);
            save.inputs(std::array{role::q_b_proj}, n * a.q_rank, n, context.formats.fp32_outputs, by_sequence,
                        attention);
        } else {
            save.inputs(std::array{role::q_proj, role::kv_a_proj}, n * hidden, n, casts, by_sequence, attention);
        }
        save.narrow_norm(n, a.kv_rank, by_sequence, attention);
        save.inputs(std::array{role::kv_b_proj}, n * a.kv_rank, n, context.formats.fp32_outputs, by_sequence,
                    attention);
    } else {
        save.inputs(std::array{role::q_proj, role::k_proj, role::v_proj}, n * hidden, n, casts, by_sequence, attention,
                    context.attention.joined_heads);
        if (context.adapter.kind == adapter_kind::ia3)  // what its scales multiply (peft/tuners/ia3/layer.py)
            save.put(activation_role::adapter, n * a.kv_heads * (a.query_width() + a.value_width()),
                     context.formats.outputs, by_tensor, attention);
        if (a.qk_norm != query_key_norm::none) {
            save.narrow_norm(n, a.heads * a.head_dim, by_tensor, attention, a.head_dim);
            save.narrow_norm(n, a.kv_heads * a.head_dim, by_tensor, attention, a.head_dim);
        }
    }
    const bool kept = save_heads(a, context.tokens.length, context.tokens.keys, save);
    if (context.code.attention.biased_scores && score_code_of(a, context) != score_code::by_pair) {
        // One bias for all layers, but each casts it, and each of a decoder masks it.
        const std::int64_t pairs = product(context.tokens.length, context.tokens.keys);
        const bool masks = a.cross != cross_attention::none;
        if (masks || (context.autocast && context.formats.fp32_stream))
            save.put(activation_role::mask, product(pairs, a.heads), context.formats.compute, by_tensor, attention);
        if (masks && !context.frozen) save.put(activation_role::mask, pairs, int8, activation_split::whole, attention);
    }
    if (a.gate == output_gate::features) {
        save.put(activation_role::gate, 2 * n * a.heads * a.value_width(), context.formats.compute, by_tensor, norm);
    }
    // The output projection reads attention's own output: only what adapters make of it is more.
    if (context.adapter.adapts(role::o_proj))
        save.inputs(std::array{role::o_proj}, n * a.heads * a.value_width(), n, false, by_tensor, norm, false, kept);
    if (context.dropout) save.put(activation_role::mask, n * hidden, int8, by_sequence, norm);
    if (context.adapter.prompts_layers()) {
        // What its gate multiplies; a sum of two, which 4-bit products keep; what a scale multiplies.
        const std::int64_t output = n * a.heads * a.value_width();
        save.put(activation_role::adapter, output * (context.quantised.keeps_inputs ? 2 : 1), context.formats.compute,
                 by_tensor, norm);
        if (context.adapter.kind == adapter_kind::llama_adapter_v2)
            save.put(activation_role::adapter, n * hidden, context.formats.compute, by_sequence, norm);
    }
}

/// Attention to what the encoder put out: keys and values are of its tokens. (Its output itself is one for all layers.)
template <class Visit>
constexpr void save_cross_attention(const layer& l, std::int64_t hidden, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_context& context = save.context;
    const llmres::attention& a = l.attention;
    const std::int64_t n = context.tokens.all();
    const std::int64_t m = context.tokens.sequences * context.encoder_tokens;
    constexpr auto split = activation_split::sequence;
    save.norm(n, hidden, l.norm, split, attention_norm, attention);
    save.inputs(std::array{role::q_proj}, n * hidden, n, context.casts(l.norm), split, attention);
    const bool own = context.autocast || context.frozen;
    if (own)
        save.inputs(std::array{role::k_proj, role::v_proj}, m * hidden, m, context.casts(l.norm), split, attention);
    const bool kept = save_heads(a, context.encoder_tokens, context.encoder_tokens, save);
    if (context.adapter.adapts(role::o_proj))
        save.inputs(std::array{role::o_proj}, n * a.heads * a.value_width(), n, false, activation_split::tensor, norm,
                    false, kept);
    if (context.dropout) save.put(activation_role::mask, n * hidden, int8, split, norm);
}

/// What context-parallel ranks exchange for one attention, beside what it makes on one rank (Transformer Engine,
/// dot_product_attention/context_parallel.py): a ring holds each part of keys and values that came by in the forward
/// pass, and what it put out for each; in the backward pass two pairs of keys and values with their gradients, and one
/// sum of the queries'.
template <class Visit>
constexpr void exchange_keys(const attention& a, std::int64_t made, const layer_writer<Visit>& hold) {
    const training_context& context = hold.context;
    const std::int64_t n = context.tokens.all();
    const std::int64_t kv_heads = a.kind == attention_kind::latent ? a.heads : a.kv_heads;
    const std::int64_t queries = n * a.heads * a.query_width();
    const std::int64_t keys = n * kv_heads * (a.query_width() + a.value_width());
    const std::int64_t output = n * a.heads * a.value_width();
    std::int64_t held = 0;
    switch (context.attention.exchange) {
        case cp_communication::p2p: {
            const std::int64_t forward = product(context.attention.context_ranks, keys + output) - made;
            held = forward > 4 * keys + queries ? forward : 4 * keys + queries;
            break;
        }
        case cp_communication::all_gather:
            held = 2 * product(context.attention.context_ranks, keys);
            break;  // and their gradients, before they are summed
        case cp_communication::a2a:
            held = queries + keys + output;
            break;  // as they came, and as they go
    }
    hold.put(activation_role::gradient, held, context.formats.compute, activation_split::tensor,
             backward_point::attention);
}

}  // namespace llmres::inline v0::detail
