// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// What a frozen model does not save: its input requires no gradient, so the operations up to the first adapters save
/// nothing for one. Runtimes that recompute layers have the embedding's output require gradients, and save it all
/// (peft, `prepare_model_for_kbit_training`; transformers, `enable_input_require_grads`).
namespace llmres::inline v0::detail {

/// True if no gradient may reach the first layers of a model: it is frozen, and its adapters stand in layers.
constexpr bool begins_late(const training_context& context) {
    return context.adapter.trains() && !context.adapter.prompts_layers() && !context.input_requires_grad;
}

/// Layers at the beginning of a frozen model that no gradient reaches: those before its first adapters.
constexpr std::int32_t unreached_layers(const model& m, const training_context& context) {
    std::int32_t layers = 0;
    if (context.input_requires_grad) return layers;
    for (; layers < m.layers.size; ++layers) {
        gradient_flow flow{input_gradient::none};
        for_each_layer_operation(m.layers[layers], m.hidden, context.code,
                                 [&](const layer_operation& o) { flow.pass(o, context.adapter); });
        if (flow.reaches(operand_name::stream)) break;
    }
    return layers;
}

/// Copies in the compute format that autocast makes of those frozen weights and adapters' matrices A whose input
/// requires no gradient: they would pass it on. (All copies are counted with the weights.)
constexpr byte_count unsaved_copies(const layer& first, std::int64_t hidden, const training_context& context) {
    byte_count size;
    if (!context.autocast) return size;
    const precision& compute = context.formats.compute;
    const bool frozen_too = !is_packed(context.formats.weights) && !(context.formats.weights == compute);
    const bool adapters_too = !(context.formats.adapters == compute);
    gradient_flow flow{input_gradient::none};
    for_each_layer_operation(first, hidden, context.code, [&](const layer_operation& o) {
        for (std::size_t i = 0; i < o.products() && !flow.reaches(o.reads[0].name) && !o.routed; ++i) {
            if (frozen_too) size += size_of(compute, o.writes[i].width, o.reads[0].width);
            if (adapters_too && context.adapter.adapts(o.weights[i]) &&
                !shares_input_matrix(o.weights[i], context.adapter, context.code))
                size += size_of(compute, context.adapter.rank, o.reads[0].width);
        }
        flow.pass(o, context.adapter);
    });
    return size;
}

/// Bytes that a layer would save if its input required a gradient, and does not: of what a job keeps, not of parts that
/// are recomputed or offloaded either way. (Recomputation by product stores products whether gradients reach them or
/// not: torch/utils/checkpoint.py, _CachingTorchDispatchMode.)
constexpr byte_count unsaved_by(const layer& first, const job& j, std::int64_t hidden, const training_context& context,
                                const layer_split& l) {
    if (keeps_by_product(j)) return {};
    byte_count all, some;
    const auto count = [&](const activation& a, byte_count& sum) {
        if (named_parts::keeps(a, j)) sum += local_bytes(a, l);
    };
    const auto count_all = [&](const activation& a) { count(a, all); };
    const auto count_some = [&](const activation& a) { count(a, some); };
    show_saved(first, hidden, context, gradient_flow{input_gradient::required}, visiting<activation>(count_all));
    show_saved(first, hidden, context, gradient_flow{input_gradient::none}, visiting<activation>(count_some));
    return all - some + unsaved_copies(first, hidden, context);
}

}  // namespace llmres::inline v0::detail
