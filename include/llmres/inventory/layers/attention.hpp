// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layer_parts.hpp>
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
           is_masked(a, context) || context.code.attention.given.mask;
}

/// What a layer's tokens attend to.
enum class attention_to : std::uint8_t {
    itself,   ///< the sequence that they are in
    encoder,  ///< an encoder's output
};

/// Whether sdpa computes attention by plain products, in fp32 (attention.cpp, _scaled_dot_product_attention_math): no
/// kernel takes one head of keys that is broadcast to all queries beside a mask, nor a mask whose columns do not lie
/// side by side (sdp_utils_cpp.h, check_last_dim_stride_equals_1_dense), as T5's biases of scores do not, which an
/// embedding gives row by row.
constexpr bool falls_to_products(const attention& a, const training_context& context, attention_to seen) {
    const bool broadcasts = context.code.attention.given.mask && a.heads > 1 && a.kv_heads == 1;
    const bool biased = context.code.attention.biased_scores && seen == attention_to::itself;
    return context.attention.kernel == attention_kernel::sdpa && (broadcasts || biased);
}

constexpr score_code score_code_of(const attention& a, const training_context& context, attention_to seen) {
    if (context.attention.kernel == attention_kernel::eager || falls_to_products(a, context, seen))
        return score_code::by_pair;
    if (context.attention.kernel == attention_kernel::flash) return score_code::flash;
    if (context.attention.kernel == attention_kernel::cudnn) return score_code::tiled;
    const bool one_width = a.query_width() == a.value_width();
    if (!context.formats.fp32_compute && one_width && !context.code.attention.biased_scores && !is_masked(a, context) &&
        !context.code.attention.given.mask && a.query_width() <= 256)
        return score_code::flash;
    // Kernels for fp32 know nothing of shared heads.
    const bool shares = a.kind == attention_kind::grouped && a.kv_heads != a.heads && !repeats_heads(a, context) &&
                        !is_masked(a, context);
    return shares ? score_code::by_pair : score_code::tiled;
}

/// Whether one kernel scales and masks scores and takes their softmax.
constexpr bool fuses_softmax(const training_context& context) { return context.runtime.kernels.fuses_norms(); }

/// Whether eager attention's softmax is fp32 beside narrower products: as written, as autocast has it, or as the mask
/// makes the scores that are added to it.
constexpr bool widens_scores(const training_context& context) {
    const softmax_format format = context.code.attention.softmax;
    const bool autocast = context.autocast && (format != softmax_format::of_scores || context.formats.fp32_stream);
    return !fuses_softmax(context) && (format == softmax_format::wide || autocast || context.formats.fp32_compute);
}

/// What attention by pairs saves of its scores. The factor of the values is needed for their gradient alone.
constexpr void save_scores(const attention& a, std::int64_t pairs, attention_to seen, const gradient_flow& flow,
                           const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    constexpr auto split = activation_split::tensor;
    const bool drops = context.dropout && context.code.dropout.probabilities;
    const bool products = falls_to_products(a, context, seen);
    const bool widens = products || widens_scores(context);
    if (flow.reaches(operand_name::query) || flow.reaches(operand_name::key)) {
        if (context.code.attention.caps_scores && context.attention.kernel == attention_kernel::eager)
            save.put(role::probabilities, pairs, context.formats.compute, split, attention);
        save.put(role::probabilities, pairs, widens ? fp32 : context.formats.compute, split, attention);
        // Which of them dropout leaves: a part of the core that is recomputed.
        if (drops) save.put(role::probabilities, pairs, int8, split, attention);
    }
    // What multiplies the values: dropped out, or returned to the compute format.
    if ((drops || (widens && !products && !context.formats.fp32_compute)) && flow.reaches(operand_name::value))
        save.put(role::probabilities, pairs, products ? fp32 : context.formats.compute, split, norm);
}

/// Sequences of an attention: keys and values of `own_keys` tokens of each are here, of the `keys` that are attended
/// to.
struct attended_tokens {
    std::int64_t own_keys;
    std::int64_t keys;
    attention_to what;
};

/// Whether the output projection reads a copy of attention's output, in which a token's heads lie side by side.
/// (cuDNN's output lies as the queries do, and those of two parts are joined head by head: Attention.cpp,
/// alloc_with_matching_layout.)
constexpr bool copies_output(const attention& a, const training_context& context, attention_to seen) {
    const score_code scores = score_code_of(a, context, seen);
    const bool by_heads = a.kind == attention_kind::latent && context.attention.sdpa == sdpa_backend::cudnn &&
                          context.attention.kernel == attention_kernel::sdpa;
    return scores == score_code::by_pair || (scores == score_code::flash && context.code.attention.heads_first) ||
           by_heads;
}

/// Queries, keys and values. A product of two saves one factor for the other's gradient; one kernel saves all three.
constexpr void save_heads(const attention& a, const attended_tokens& seen, const gradient_flow& flow,
                          const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    const std::int64_t m = context.tokens.sequences * seen.own_keys;
    const bool eager = score_code_of(a, context, seen.what) == score_code::by_pair;
    const bool products = falls_to_products(a, context, seen.what);
    const bool repeats =
        repeats_heads(a, context) ||
        (eager && !products && (a.kv_heads != 1 || context.attention.kernel != attention_kernel::eager));
    // A batched product reads one head for all queries as a view, but of several sequences as a copy (Matmul: reshape).
    const bool spreads = products && context.tokens.sequences > 1;
    const std::int64_t kv_heads = repeats || spreads ? a.heads : a.kv_heads;
    // One head is repeated as a view, which a cast of rotated keys, or of fp32 values, makes whole.
    const bool viewed = a.kv_heads == 1 && !repeats && (eager || is_masked(a, context)) &&
                        !context.code.attention.given.copied_values;  // which broadcasts it inside of the product
    const std::int64_t key_heads = viewed && context.autocast && context.formats.fp32_stream ? a.heads : kv_heads;
    const std::int64_t value_heads = viewed && context.formats.fp32_outputs ? a.heads : kv_heads;
    constexpr auto split = activation_split::tensor;
    const backward_point of_values = eager ? norm : attention;
    // Views of one product keep all of it, unless they are cast, or copied to lie head by head.
    const bool casts = context.formats.fp32_outputs;
    const joined_heads_code code = context.runtime.kernels.joined_heads;
    const bool spread = code == joined_heads_code::views && repeats && a.kv_heads < a.heads;
    const bool copied =
        context.code.attention.given.copied_values || ((code == joined_heads_code::copies || spread) && a.kv_heads > 1);
    const bool joined = context.attention.joined_heads && !copied && !casts && !(eager && context.tokens.sequences > 1);
    const std::int64_t query = n * a.heads * a.query_width();
    const precision& format = products ? fp32 : context.formats.compute;
    if (context.code.attention.rotary || !joined) {
        const precision& scored = eager && context.code.attention.fp32_heads && !context.autocast ? fp32 : format;
        if (!eager || flow.reaches(operand_name::key)) save.put_input(role::query, query, scored, split, attention);
        if (!eager || flow.reaches(operand_name::query))
            save.put_input(role::key, m * key_heads * a.query_width(), scored, split, attention);
    }
    const bool views =
        a.kind == attention_kind::latent && context.runtime.kernels.latent_values == latent_value_code::view;
    const std::int64_t values = joined  ? query + m * a.kv_heads * (a.query_width() + a.value_width())
                                : views ? m * a.heads * (a.head_dim + a.value_width())
                                        : m * value_heads * a.value_width();
    save.put_input(role::value, values, format, split, of_values);
}

/// Attention itself: queries with keys, softmax, probabilities with values.
constexpr void save_attention(const attention& a, const attended_tokens& seen, const gradient_flow& flow,
                              const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    constexpr auto split = activation_split::tensor;
    save_heads(a, seen, flow, save);
    const token_shape& t = context.tokens;
    if (score_code_of(a, context, seen.what) == score_code::by_pair)
        return save_scores(a, product(product(t.sequences, a.heads), product(t.length, seen.keys)), seen.what, flow,
                           save);
    save.put(role::softmax_statistics, n * a.heads, fp32, split, attention);
    layer_writer beside = save;
    beside.parts = {};
    // The mask becomes one to add, for each layer.
    const bool masked = is_masked(a, context) && context.runtime.kernels.shared_heads;
    if (context.attention.kernel != attention_kernel::flash && (masked || context.code.attention.given.mask))
        beside.put(role::mask, product(n, seen.keys), context.formats.compute, activation_split::whole, attention);
    beside.parts = {{}, layer_part::attn_proj, {}};
    beside.put(role::attention_output, n * a.heads * a.value_width(), context.formats.compute, split, attention);
}

/// What attention to the sequence itself saves beside that: biases of scores, and prompts of each layer.
constexpr void save_beside_attention(const attention& a, std::int64_t hidden, const layer_writer& save) {
    constexpr auto scored = backward_point::attention, added = backward_point::norm;
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    constexpr auto by_tensor = activation_split::tensor;
    const precision& format = context.formats.compute;
    if (context.code.attention.biased_scores &&
        score_code_of(a, context, attention_to::itself) != score_code::by_pair) {
        // One bias for all layers, but each casts it, and each of a decoder masks it.
        const std::int64_t pairs = product(context.tokens.length, context.tokens.keys);
        const bool masks = a.cross != cross_attention::none;
        if (masks || (context.autocast && context.formats.fp32_stream))
            save.put(activation_role::mask, product(pairs, a.heads), format, by_tensor, scored);
        if (masks && !context.frozen) save.put(activation_role::mask, pairs, int8, activation_split::whole, scored);
    }
    if (context.adapter.prompts_layers()) {
        // What its gate multiplies; a sum of two, which 4-bit products keep; what a scale multiplies.
        const std::int64_t output = n * a.heads * a.value_width();
        save.put(activation_role::adapter, output * (context.quantised.keeps_inputs ? 2 : 1), format, by_tensor, added);
        if (context.adapter.kind == adapter_kind::llama_adapter_v2)
            save.put(activation_role::adapter, n * hidden, format, activation_split::sequence, added);
    }
}

/// What the output projection saves of attention's output, and what adapters make of it.
constexpr void save_output_projection(const attention& a, const layer_operation& o, const layer_writer& save) {
    const training_context& context = save.context;
    const std::int64_t n = context.tokens.all();
    const std::int64_t values = n * o.reads[0].width;
    const bool copied = copies_output(a, context, o.crosses ? attention_to::encoder : attention_to::itself);
    const bool reads = !context.frozen || context.quantised.keeps_inputs;
    if ((copied || context.narrows()) && reads)
        save.put_input(activation_role::attention_output, values, context.formats.inputs, activation_split::tensor,
                       o.at);
    if (context.adapter.adapts(weight_role::o_proj))
        save.products(o, {.elements = values, .n = n, .kept = !copied || reads});
}

/// What context-parallel ranks exchange for one attention, beside what it makes on one rank (Transformer Engine,
/// dot_product_attention/context_parallel.py): a ring holds each part of keys and values that came by in the forward
/// pass, and its output for each; in the backward pass two pairs of keys and values with their gradients, and one
/// sum of the queries'.
constexpr void exchange_keys(const attention& a, std::int64_t made, const layer_writer& hold) {
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
        case cp_communication::a2a: held = queries + keys + output; break;  // as they came, and as they go
    }
    hold.put(activation_role::gradient, held, context.formats.compute, activation_split::tensor,
             backward_point::attention);
}

/// What attention makes in its backward pass.
constexpr void pass_back_attention(const attention& a, const layer_writer& hold) {
    using enum backward_point;
    const training_context& context = hold.context;
    const token_shape& t = context.tokens;
    constexpr auto split = activation_split::tensor;
    const auto put = [&](std::int64_t elements, const precision& format) {
        hold.put(activation_role::gradient, elements, format, split, attention);
    };
    if (score_code_of(a, context, attention_to::itself) == score_code::by_pair) {
        const std::int64_t pairs = product(product(t.sequences, a.heads), product(t.length, t.keys));
        // The gradients of the softmax's output and input, and their product, which PyTorch's kernel makes before
        // (ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out).
        put(product<std::int64_t>(fuses_softmax(context) ? 2 : 3, pairs),
            widens_scores(context) || falls_to_products(a, context, attention_to::itself) ? fp32
                                                                                          : context.formats.compute);
        put(t.all() * a.heads * a.value_width(), context.formats.compute);
        // The gradient of the values of each query head, which one head of several sequences was copied to.
        if (falls_to_products(a, context, attention_to::itself) && a.kv_heads == 1 && t.sequences > 1)
            put(t.all() * a.heads * a.value_width(), fp32);
        return;
    }
    const std::int64_t made = 2 * t.all() * a.heads * (a.query_width() + a.value_width());
    put(made, context.formats.compute);
    if (context.attention.context_ranks > 1) exchange_keys(a, made, hold);
}

}  // namespace llmres::inline v0::detail
