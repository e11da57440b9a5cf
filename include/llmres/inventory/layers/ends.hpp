// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/visitor.hpp>

/// The inventory of what is saved outside the layers, but for the final norm, the head and the loss: embeddings, stems,
/// the transforms of heads. transformers' modelling code of the architecture says what there is; what decides is in the
/// model's `extras` and in its modeling.
namespace llmres::inline v0::detail {

/// What the norms among the extra weights of one part save. A norm of two copies has a weight and a bias.
constexpr void save_extra_norms(const model& m, model_part part, std::int64_t n, const layer_writer& save) {
    for (const extra_weight& e : m.extra_weights()) {
        if (e.part != part || e.role != weight_role::norm) continue;
        const norm_kind kind = e.copies > 1 ? norm_kind::layer : norm_kind::rms;
        save.norm(n, e.columns, kind, activation_split::sequence, backward_point::output, backward_point::output);
    }
}

/// What a stack's first layer reads: rows of the embedding as they are, or with positions, a factor, or made fp32.
enum class embedded : bool { as_stored, changed };

/// What a stack saves between its embedding and its first layer. PEFT has the output of a frozen embedding require
/// gradients (enable_input_require_grads), and autograd holds such a leaf; adding positions to it, a factor or
/// dropout makes another tensor.
constexpr void save_embedding(std::int64_t hidden, embedded rows, const layer_writer& save) {
    const training_context& context = save.context;
    const std::int64_t values = context.tokens.all() * hidden;
    if (!context.input_requires_grad || (!context.dropout && !context.frozen)) return;
    const bool drops = context.dropout && context.code.dropout.embedding;
    if (drops) save.put(activation_role::mask, values, int8, activation_split::sequence, backward_point::output);
    if (context.frozen && context.recomputes && (rows == embedded::changed || drops))
        save.put(activation_role::residual, values, context.formats.embedding, activation_split::sequence,
                 backward_point::output);
}

/// The mask of the dropout after the last norm of a stack.
constexpr void save_final_dropout(std::int64_t hidden, const layer_writer& save) {
    if (save.context.dropout && save.context.code.dropout.final)
        save.put(activation_role::mask, save.context.tokens.all() * hidden, int8, activation_split::sequence,
                 backward_point::output);
}

/// The indices, of 8 bytes, by which trained tables are looked up. Those of the tokens are the batch's own.
constexpr void save_indices(const layer_writer& save) {
    const training_context& context = save.context;
    if (context.frozen) return;
    const std::int64_t tokens = context.code.frames.shared_positions ? context.tokens.length : context.tokens.all();
    for (std::int32_t i = 0; i < context.code.saved_indices; ++i)
        save.put(activation_role::mask, product(std::int64_t{8}, tokens), int8, activation_split::whole,
                 backward_point::output);
}

/// The bias that is added to attention scores, one for all layers of a stack (T5). It is looked up in a table by the
/// distance of two tokens, and the look-up saves the distances; attention kernels save the bias of cross-attention
/// itself (layers/attention.hpp), plain products do not. Layers that are recomputed all read the same bias.
constexpr void save_score_bias(const attention& a, const layer_writer& save) {
    const training_context& context = save.context;
    if (!context.code.attention.biased_scores || a.kind == attention_kind::none) return;
    const bool decodes = a.cross == cross_attention::beside;
    const auto bias = [&](std::int64_t keys, const precision& format) {
        save.put(activation_role::mask, product(a.heads, product(context.tokens.length, keys)), format,
                 activation_split::tensor, backward_point::output);
    };
    if (context.recomputes) {
        bias(context.tokens.keys, context.formats.stream);
        if (decodes) bias(context.encoder_tokens, context.formats.compute);
        return;
    }
    if (!context.frozen)
        save.put(activation_role::mask, product(8 * context.tokens.length, context.tokens.keys), int8,
                 activation_split::whole, backward_point::output);
    if (context.attention.kernel == attention_kernel::eager) return;
    if (decodes) bias(context.encoder_tokens, context.formats.compute);
}

/// Whether the encoder's output is kept as it is: for every layer's keys and values, or to recompute them.
constexpr bool keeps_encoder_output(const training_context& context) {
    return context.recomputes || (!context.frozen && !context.autocast);
}

constexpr bool has_extra(const model& m, weight_role role) {
    for (const extra_weight& e : m.extra_weights())
        if (e.role == role && e.part == model_part::input) return true;
    return false;
}

/// What a stem of convolutions saves: one convolution over patches, or several over time (Whisper's, of three frames
/// each). Each of several saves its activation function's input, and the last halves the number of frames. Autocast
/// casts their weights, and the input of the first.
constexpr void save_stem(const model& m, const layer_writer& save) {
    const training_context& context = save.context;
    if (!context.input_requires_grad || m.extra_count == 0) return;
    std::int64_t left = 0;
    for (const extra_weight& e : m.extra_weights()) left += e.role == weight_role::conv;
    const bool over_time = left > 1;
    const bool casts = context.autocast && !context.frozen;
    bool reads = casts;
    for (const extra_weight& e : m.extra_weights()) {
        if (e.role != weight_role::conv) continue;
        const auto put = [&](activation_role role, std::int64_t values) {
            save.put(role, values, context.formats.compute, activation_split::whole, backward_point::output);
        };
        const std::int64_t frames = context.tokens.all() * (--left > 0 ? 2 : 1);
        if (casts && context.formats.fp32_stream) put(activation_role::weight, e.rows * e.columns);
        if (reads) put(activation_role::linear_input, frames * e.columns / (over_time ? 3 : 1));
        reads = false;
        if (over_time) put(activation_role::up, frames * e.rows);
        if (left > 0) put(activation_role::linear_input, frames * e.rows);
    }
}

/// Shows what stands before the layers.
constexpr void list_input_activations(const model& m, const training_context& context,
                                      const activation_visitor& visit) {
    const layer_writer save{context, visit};
    std::size_t first = 0;  // kind with attention
    while (first + 1 < static_cast<std::size_t>(m.layers.kind_count) &&
           m.layers.kinds[first].attention.kind == attention_kind::none)
        ++first;
    const attention& a = m.layers.kinds[first].attention;
    save_embedding(m.hidden,
                   embedded{m.embedding_width > 0 || context.code.scales_embedding ||
                            !(context.formats.embedding == context.formats.stream) ||
                            (context.frozen && has_extra(m, weight_role::positions))},
                   save);
    save_indices(save);
    save_score_bias(a, save);
    // Cosines and sines of the positions, for all layers.
    if (context.code.attention.rotary && a.kind != attention_kind::none)
        save.put(activation_role::query,
                 std::int64_t{2} * context.code.attention.rotary_tables * context.tokens.length * a.rotated_width(),
                 context.code.attention.given.fp32_tables ? fp32 : context.formats.stream, activation_split::whole,
                 backward_point::output);
    if (m.encoders[0].layers > 0 && keeps_encoder_output(context))
        save.put(activation_role::linear_input, context.tokens.sequences * context.encoder_tokens * m.hidden,
                 context.formats.stream, activation_split::sequence, backward_point::output);
    if (m.encoders[0].layers > 0) return;
    save_stem(m, save);
    if (context.input_requires_grad) save_extra_norms(m, model_part::input, context.tokens.all(), save);
}

/// Shows what stands after the layers: a transform before the head (BERT's), or a classifier.
constexpr void list_output_activations(const model& m, const training_context& context,
                                       const activation_visitor& visit) {
    const layer_writer save{context, visit};
    const std::int64_t n = context.tokens.all();
    save_final_dropout(m.hidden, save);
    save_extra_norms(m, model_part::output, n, save);
    bool pooled = false;  // behind another classifier
    for (const extra_weight& e : m.extra_weights()) {
        if (e.part != model_part::output || e.role != weight_role::classifier) continue;
        const bool scores = e.rows != m.hidden;
        if (context.frozen && scores) continue;  // no adapter stands beside them
        if (!context.frozen && context.autocast && context.formats.fp32_stream)
            save.put(activation_role::weight, e.rows * e.columns, context.formats.compute, activation_split::whole,
                     backward_point::output);
        if (context.adapter.adapts(weight_role::classifier) && context.autocast &&
            !(context.formats.adapters == context.formats.compute))
            save.put(activation_role::weight, context.adapter.rank * (e.rows + e.columns), context.formats.compute,
                     activation_split::whole, backward_point::output);
        // An encoder's classifier reads one token of each sequence: a view of all tokens, or a copy, and what follows
        // it reads that one alone. A decoder's scores every token.
        const bool copies = context.casts(m.final_norm) || context.autocast || pooled ||
                            (context.dropout && context.code.dropout.classifier) ||
                            (context.frozen && !(context.formats.adapters == context.formats.compute));
        const bool one_token = m.head.kind == head_kind::encoder && copies;
        pooled = true;
        save.products(at_point(backward_point::output,
                               products_of({}, whole_operand(operand_name::normed, m.hidden),
                                           {whole_operand(operand_name::mixed, m.hidden)}, {weight_role::classifier})),
                      {.elements = one_token ? context.tokens.sequences * m.hidden : n * m.hidden,
                       .n = n,
                       .casts = context.casts(m.final_norm)});
        if (e.rows == m.hidden && m.head.kind != head_kind::encoder)
            save.put(activation_role::up, n * m.hidden, context.formats.outputs, activation_split::sequence,
                     backward_point::output);
    }
}

/// Calls visit(activation) for what stands before the layers.
template <class Visit>
constexpr void for_each_input_activation(const model& m, const training_context& context, Visit&& visit) {
    list_input_activations(m, context, visiting<activation>(visit));
}

/// Calls visit(activation) for what stands after the layers.
template <class Visit>
constexpr void for_each_output_activation(const model& m, const training_context& context, Visit&& visit) {
    list_output_activations(m, context, visiting<activation>(visit));
}

}  // namespace llmres::inline v0::detail
