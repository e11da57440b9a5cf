// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/frozen.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// Memory of the encoder that a decoder attends to, in training.
namespace llmres::inline v0::detail {

/// What an encoder takes on the first stage.
struct encoder_memory {
    std::int32_t layers = 0;
    byte_count kept{};             ///< saved by its layers, its stem and its last norm
    byte_count behind{};           ///< of `kept`, by all layers but the first, and by what follows them
    byte_count above{};            ///< what a layer's backward pass holds beyond what the layer keeps
    byte_count forward{};          ///< what a layer's forward pass holds beyond what the layer keeps
    byte_count casts{};            ///< casts of its weights that autocast keeps
    byte_count output{};           ///< the gradient of its output
    byte_count gradients{};        ///< of its weights
    byte_count first_gradients{};  ///< of its first layer and its stem
    byte_count last_step{};        ///< of its weights: optimizer_memory::last_step
    bool reads_tokens = false;     ///< through the decoder's embedding
};

constexpr counted_tokens encoder_tokens(const encoder& e, const training_context& context) {
    if (e.output <= token_count{}) return context.tokens;
    return token_shape{context.tokens.sequences, e.output.in(tokens), e.output.in(tokens)};
}

/// Calls visit(weight) for the convolutions before the layers.
template <class Visit>
constexpr void for_each_stem_weight(const model& m, Visit& visit) {
    for (const extra_weight& e : m.extra_weights()) {
        if (e.part == model_part::input && e.role == weight_role::conv)
            visit(weight{.role = e.role, .rows = e.rows, .columns = e.columns});
    }
}

/// What an encoder saves beside its layers.
constexpr byte_count saved_beside_encoder_layers(const model& m, const encoder& e, const training_context& context,
                                                 const layer_split& l) {
    byte_count saved;
    const auto count = [&](const activation& a) { saved += local_bytes(a, l); };
    const auto counted = visiting<activation>(count);
    const layer_writer save{context, counted};
    if (!has_extra(m, weight_role::conv)) save_embedding(e.hidden, embedded::as_stored, save);
    save_score_bias(e.block.attention, save);
    save_final_dropout(e.hidden, save);
    save_extra_norms(m, model_part::input, context.tokens.all(), save);
    save_stem(m, save);
    return saved;
}

/// `last_step`: temporaries of the tensor that the optimizer updates before the encoder's.
constexpr encoder_memory encoder_memory_of(const job& j, const layer_split& l, const training_context& decoder,
                                           const weight_training& how, byte_count last_step) {
    encoder_memory found{.last_step = last_step, .reads_tokens = !has_extra(j.model, weight_role::conv)};
    const model& m = j.model;
    // What is no low-rank adapter is put beside the decoder's layers alone.
    const weight_place place =
        !decoder.frozen || decoder.adapter.low_rank() ? weight_place::layer : weight_place::input;
    for (const encoder& e : m.encoders) {
        if (e.layers == 0) continue;
        training_context context = decoder;
        context.tokens = encoder_tokens(e, decoder);
        context.attention.adds_mask = false;
        const training_state block = training_state_of(e.block, e.hidden, how, found.last_step, place);
        weight_fold stem{how, place, block.optimizer.last_step};
        for_each_stem_weight(m, stem);
        const training_layer layer = training_layer_of(e.block, j, l, context, block);
        // Of what recomputation leaves, what a frozen first layer does not save.
        const byte_count unsaved =
            context.input_requires_grad ? byte_count{} : unsaved_by(e.block, j, e.hidden, context, l);
        found.kept += layer.kept * e.layers - (unsaved < layer.kept ? unsaved : layer.kept) +
                      saved_beside_encoder_layers(m, e, context, l);
        found.behind += layer.kept * (e.layers - 1);
        if (layer.fresh_peak - layer.kept > found.above) found.above = layer.fresh_peak - layer.kept;
        found.casts += block.casts.cached * e.layers;
        // Beside it, the code refers to what its dropout or its positions were applied to.
        const byte_count before = size_of(context.formats.stream, context.tokens.all(), e.hidden) *
                                  (context.code.frames.embeddings > 0 ? 1 : 0);
        const byte_count own_casts = context.recomputes ? block.casts.cached : byte_count{};  // among `casts`
        if (layer.in_forward + before - own_casts > found.forward)
            found.forward = layer.in_forward + before - own_casts;
        found.output += local_bytes({activation_role::gradient, context.tokens.all() * e.hidden, context.formats.stream,
                                     activation_split::sequence},
                                    l);
        found.gradients += block.gradients.kept * e.layers + stem.state().gradients.kept;
        found.first_gradients = block.gradients.kept + stem.state().gradients.kept;
        found.last_step = stem.state().optimizer.last_step;
        found.layers += e.layers;
    }
    return found;
}

}  // namespace llmres::inline v0::detail
