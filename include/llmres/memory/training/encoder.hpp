// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/frozen.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/stage_weights.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// What is trained beside the layers: an encoder, and blocks that predict further tokens.
namespace llmres::inline v0::detail {

/// The stack that a decoder attends to, on the first stage.
struct encoder_memory {
    byte_count kept{};             ///< by its layers, its stem and its last norm
    byte_count behind{};           ///< of `kept`, by all layers but the first, and by what follows them
    byte_count above{};            ///< what a layer's backward pass holds beyond what the layer keeps
    byte_count output{};           ///< the gradient of what it puts out
    byte_count gradients{};        ///< of its weights
    byte_count first_gradients{};  ///< ... of one layer and the stem
    bool reads_tokens = false;     ///< through the decoder's embedding
};

constexpr token_shape encoder_tokens(const encoder& e, const training_context& context) {
    token_shape s = context.tokens;
    if (e.output > token_count{}) s.length = s.keys = e.output.in(tokens);
    return s;
}

constexpr encoder_memory encoder_memory_of(const job& j, const layout& l, const training_context& decoder,
                                           state_fold& fold) {
    encoder_memory found;
    const model& m = j.model;
    for (const encoder& e : m.encoders) {
        if (e.layers == 0) continue;
        training_context context = decoder;
        context.tokens = encoder_tokens(e, decoder);
        fold.sum = {};
        // As input_state() has it: what is no low-rank adapter goes beside the decoder's layers alone.
        const bool trained = !context.frozen || context.adapter.low_rank();
        const auto add = [&](const weight& w) { fold(w, trained); };
        for_each_weight(e.block, e.hidden, add);
        const training_layer layer = training_layer_of(e.block, j, l, context, fold.sum);
        const byte_count unsaved =
            context.input_requires_grad ? byte_count{} : unsaved_by(e.block, e.hidden, context, l).size;
        found.kept += layer.kept * e.layers -
                      (unsaved < layer.kept ? unsaved : layer.kept);  // of what recomputation leaves of it
        if (layer.fresh_peak - layer.kept > found.above) found.above = layer.fresh_peak - layer.kept;
        found.gradients += fold.sum.gradients * e.layers;
        found.first_gradients = fold.sum.gradients;
        fold.sum = {};
        for_each_stem_weight(m, add);
        found.first_gradients += fold.sum.gradients;
        found.gradients += fold.sum.gradients;
        found.behind += layer.kept * (e.layers - 1);
        const auto count = [&](const activation& a) { found.kept += local_bytes(a, l); };
        const layer_writer<const decltype(count)> save{context, count};
        found.reads_tokens = !has_extra(m, weight_role::conv);
        if (found.reads_tokens) save_embedding(e.hidden, false, save);
        save_score_bias(e.block.attention, save);
        save_final_dropout(e.hidden, save);
        save_extra_norms(m, model_part::input, context.tokens.all(), save);
        save_stem(m, save);
        found.output += local_bytes({activation_role::gradient, context.tokens.all() * e.hidden, context.formats.stream,
                                     activation_split::sequence},
                                    l);
    }
    return found;
}

}  // namespace llmres::inline v0::detail
