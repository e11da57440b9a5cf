// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/layout.hpp>
#include <llmres/model.hpp>
#include <llmres/parameters.hpp>
#include <llmres/training/in_flight.hpp>
#include <llmres/training/layer_memory.hpp>
#include <llmres/training/step.hpp>

/// What stages hold of micro-batches in flight: of unequal chunks, and for gradients of weights that are put off.
namespace llmres::detail {

/// Of a zero-bubble schedule's micro-batches that have passed back, what gradients of weights still need: each product's
/// input and the gradient of its output (arXiv 2401.10241 section 2.3, M_W).
constexpr byte_count needed_by_weights(const layer& kind, std::int64_t hidden, const training_step& step, const layout& l) {
    byte_count needed;
    const std::int64_t n = step.tokens.all();
    const auto count = [&](std::int64_t values, activation_split split) {
        needed += local_bytes({activation_role::linear_input, n * values, step.compute, split}, l);
    };
    for_each_weight(kind, hidden, [&](const weight& w) {
        if (w.rows == 1 || w.columns == 1) return;
        const std::int64_t passed = w.routed ? kind.feed_forward.experts.per_token : 1;
        const bool by_rows = w.split == weight_split::rows;
        count(passed * w.rows, by_rows ? activation_split::tensor : activation_split::sequence);
        const bool shares = w.role == weight_role::k_proj || w.role == weight_role::v_proj || w.role == weight_role::kv_a_proj ||
                            (w.role == weight_role::up_proj && kind.feed_forward.kind == feed_forward_kind::gated) || w.role == weight_role::router;
        if (!shares) count(passed * w.columns, by_rows ? activation_split::sequence : activation_split::tensor);
    });
    return needed;
}

/// What a stage whose chunks differ holds of its micro-batches, as micro-batches of all it keeps.
constexpr double in_flight_unevenly(const layer_stack& by_stage, const layout& l, stage_range range, std::int32_t stage, std::int64_t rounds,
                                    const std::array<training_layer, layer_stack::max_kinds>& layers) {
    std::array<double, stage_list::max_chunks> sizes{};
    std::size_t chunk = 0;
    std::int32_t at = range.first;
    for_each_chunk(l, by_stage.size, stage, [&](stage_range here, std::int32_t) {
        for (std::int32_t i = 0; i < here.size(); ++i, ++at) {
            const auto kept = layers[by_stage.order[static_cast<std::size_t>(at)]].kept;
            sizes[chunk % sizes.size()] += kept.in(gib);
        }
        ++chunk;
    });
    return in_flight_unevenly(l, stage, rounds, sizes);
}

/// What the last stage keeps where the head's gradient is put off: the head's input, and the gradient of the logits.
constexpr byte_count put_off_head(const model& m, const training_step& step, const layout& l, std::int64_t rounds) {
    const std::int64_t others = rounds - 1;  // the last one's are counted with the loss
    const std::int64_t limit = step.engine.wgrad_deferral_limit;
    const std::int64_t gradients = limit > 0 && limit < others ? limit : others;
    const std::int64_t n = step.tokens.all();
    return local_bytes({activation_role::linear_input, n * m.hidden, step.compute, activation_split::sequence}, l) * others +
           local_bytes({activation_role::logits_gradient, product(n, m.vocabulary), step.compute, activation_split::tensor}, l) * gradients;
}

}  // namespace llmres::detail
