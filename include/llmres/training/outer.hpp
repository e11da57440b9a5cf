// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/model.hpp>
#include <llmres/training/saved.hpp>
#include <llmres/training/step.hpp>

/// The inventory of what is saved outside the layers, but for the final norm, the head and the loss: embeddings, stems,
/// the transforms of heads. transformers' modelling code of the architecture says what there is; what decides is in the
/// model's `extras` and in its module_code.
namespace llmres {

namespace detail {

/// The norms among the extra weights of one part: weight and bias are two copies.
template <class Visit>
constexpr void save_extra_norms(const model& m, model_part part, std::int64_t n, const layer_writer<Visit>& save) {
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part != part || e.role != weight_role::norm) continue;
        const norm_kind kind = e.copies > 1 ? norm_kind::layer : norm_kind::rms;
        save.norm(n, e.columns, kind, activation_split::sequence, backward_point::output, backward_point::output);
    }
}

/// Dropout of embeddings and of what the last norm puts out, and the bias of scores, of one stack.
template <class Visit>
constexpr void save_stack(const attention& a, std::int64_t hidden, bool before, const layer_writer<Visit>& save) {
    const training_step& step = save.step;
    const std::int64_t n = step.tokens.all();
    const auto mask = [&] { save.put(activation_role::mask, n * hidden, int8, activation_split::sequence, backward_point::output); };
    if (before && step.dropout && step.code.drops_embedding && !step.frozen) mask();
    if (!before && step.dropout && step.code.drops_final) mask();
    if (!before || !step.code.biased_scores || a.kind == attention_kind::none) return;
    // The distances are looked up in a table, which keeps them; the kernels of all layers keep one bias, unless each casts
    // or masks it. Layers that are computed again all read the one.
    const std::int64_t pairs = product(step.tokens.length, step.tokens.keys);
    const bool decodes = a.cross == cross_attention::beside;
    const auto bias = [&](std::int64_t keys, const precision& format) {
        save.put(activation_role::mask, product(a.heads, product(step.tokens.length, keys)), format, activation_split::tensor, backward_point::output);
    };
    if (step.recomputes) {
        bias(step.tokens.keys, step.stream);
        if (decodes) bias(step.read, step.compute);
        return;
    }
    if (!step.frozen) save.put(activation_role::mask, 8 * pairs, int8, activation_split::whole, backward_point::output);
    if (step.kernel == attention_kernel::eager || step.autocast) return;
    if (!decodes) bias(step.tokens.keys, step.compute);
    if (decodes) bias(step.read, step.compute);
}

/// A stem of convolutions over time (Whisper): each has its input, and its activation's. The last halves the frames.
template <class Visit>
constexpr void save_stem(const model& m, const layer_writer<Visit>& save) {
    std::int64_t left = 0;
    for (std::int32_t i = 0; i < m.extra_count; ++i) left += m.extras[static_cast<std::size_t>(i)].role == weight_role::conv;
    const bool strided = left > 1;
    for (std::int32_t i = 0; strided && i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.role != weight_role::conv) continue;
        const std::int64_t frames = save.step.tokens.all() * (--left > 0 ? 2 : 1);
        save.put(activation_role::up, frames * e.rows, save.step.compute, activation_split::whole, backward_point::output);
        if (left > 0) save.put(activation_role::linear_input, frames * e.rows, save.step.compute, activation_split::whole, backward_point::output);
    }
}

}  // namespace detail

/// Calls visit(activation) for what stands before the layers.
template <class Visit>
constexpr void for_each_input_activation(const model& m, const training_step& step, Visit&& visit) {
    const detail::layer_writer<Visit> save{step, visit};
    const attention& a = m.layers[0].attention;
    detail::save_stack(a, m.hidden, true, save);
    // Cosines and sines of the positions, one table each for all layers.
    if (step.code.rotary && a.kind != attention_kind::none && step.engine.norm == norm_code::eager)
        save.put(activation_role::query, 2 * step.tokens.length * (a.rope_dim > 0 ? a.rope_dim : a.head_dim), step.stream,
                 activation_split::whole, backward_point::output);
    if (m.encoders[0].layers > 0 && !step.frozen && !step.autocast)  // what the encoder put out, for every layer's keys and values
        save.put(activation_role::linear_input, step.tokens.sequences * step.read * m.hidden, step.compute, activation_split::sequence,
                 backward_point::output);
    if (m.encoders[0].layers == 0 && !step.frozen) detail::save_extra_norms(m, model_part::input, step.tokens.all(), save);
}

/// ... and after them: a transform before the head (BERT's), or a classifier.
template <class Visit>
constexpr void for_each_output_activation(const model& m, const training_step& step, Visit&& visit) {
    const detail::layer_writer<Visit> save{step, visit, nullptr, m.hidden};
    const std::int64_t n = step.tokens.all();
    detail::save_stack(m.layers[0].attention, m.hidden, false, save);
    detail::save_extra_norms(m, model_part::output, n, save);
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part != model_part::output || e.role != weight_role::classifier) continue;
        save.inputs(std::array{weight_role::classifier}, n * m.hidden, n, step.casts(m.final_norm), activation_split::sequence, backward_point::output);
        if (e.rows == m.hidden) save.put(activation_role::up, n * m.hidden, step.inner, activation_split::sequence, backward_point::output);
    }
}

}  // namespace llmres
