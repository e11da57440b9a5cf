// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/memory/training/layer/forward.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What recomputation and offloading keep of a layer: its input, and of what operations save what no second run makes.
namespace llmres::inline v0::detail {

/// Whether a role's product adds a bias.
constexpr bool adds_bias(const layer& l, weight_role role) {
    if (role == weight_role::o_proj) return l.attention.output_bias;
    return is_feed_forward(role) ? l.feed_forward.bias : l.attention.qkv_bias;
}

/// What selective recomputation by operation keeps of a layer: its input, attention's output, products or every second
/// one, and what experts exchange.
constexpr byte_count products_kept(const layer& kind, std::int64_t hidden, const layer_split& l,
                                   const training_context& context) {
    const std::int64_t n = context.tokens.all();
    byte_count kept;
    const auto keep = [&](activation_role role, std::int64_t elements, const precision& format,
                          activation_split split) { kept += local_bytes({role, elements, format, split}, l); };
    keep(activation_role::residual, n * hidden, context.residual(kind.norm), activation_split::sequence);
    std::int32_t products = 0;
    const bool every = context.runtime.kernels.checkpointing.selective == selective_code::all_but_products;
    const bool cudnn_recomputed =
        context.runtime.kernels.checkpointing.recomputes_cudnn && context.attention.kernel == attention_kernel::cudnn;
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) {
        if (o.code == operation_code::attention && !o.crosses && !cudnn_recomputed) {
            keep(activation_role::attention_output, n * o.writes[0].width, context.formats.compute, o.writes[0].split);
            keep(activation_role::softmax_statistics, n * kind.attention.heads, fp32, o.writes[0].split);
        }
        // What all-to-all brings to the experts, and back (torchtitan/distributed/activation_checkpoint.py,
        // _op_sac_save_list).
        if (o.code == operation_code::combine && l.expert > 1)
            keep(activation_role::expert_output, 2 * n * kind.feed_forward.experts.per_token * o.reads[0].width,
                 context.formats.compute, o.reads[0].split);
        for (std::size_t i = 0; i < o.products() && !o.routed; ++i) {
            const weight_role role = o.weights[i];
            // With a bias it is another operator, aten::addmm, which is not kept.
            if (role == weight_role::router || adds_bias(kind, role) || (++products % 2 == 0 && !every)) continue;
            // No gradient needs the output of the last product.
            if ((context.runtime.kernels.compilation.layers || every) && role == weight_role::down_proj) continue;
            keep(activation_role::product, n * o.writes[i].width, context.formats.compute, o.writes[i].split);
        }
    });
    return kept;
}

/// What the products of a layer read, but for those of routed experts.
constexpr byte_count product_inputs(const layer& kind, std::int64_t hidden, const layer_split& l,
                                    const training_context& context) {
    byte_count all;
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) {
        if (o.products() == 0 || o.routed || o.reads_again || o.weights[0] == weight_role::router) return;
        all += local_bytes({activation_role::linear_input, context.tokens.all() * o.reads[0].width,
                            context.formats.compute, o.reads[0].split},
                           l);
    });
    return all;
}

/// What becomes of the tensors that a job's layers save.
constexpr saved_tensors saved_tensors_of(const job& j, const training_context& context) {
    const bool moves_inputs = context.recomputes && j.offload.activations != offload_place::none &&
                              context.runtime.kernels.checkpointing.offloads_at_once;
    return moves_inputs                                   ? saved_tensors::inputs_moved
           : context.recomputes || keeps_by_product(j)    ? saved_tensors::recomputed
           : j.offload.activations != offload_place::none ? saved_tensors::moved
                                                          : saved_tensors::stay;
}

/// Whether what layers save comes back tensor by tensor. Recomputed layers are whole on the GPU: their input alone was
/// offloaded.
constexpr bool reads_back_by_tensor(const job& j, const training_context& context) {
    return saved_tensors_of(j, context) == saved_tensors::moved &&
           context.runtime.kernels.checkpointing.offloads_at_once;
}

/// What a recomputed layer holds throughout its backward pass beside all that it saves: its input, unless the layer
/// saves it as it is. The checkpoint keeps it with the graph (torch/utils/checkpoint.py, _NoopSaveInputs), or in its
/// own backward pass (CheckpointFunction.backward, detached_inputs); the former lets go of one that comes from main
/// memory when the layer has been recomputed.
constexpr byte_count input_beside_saved(const layer& kind, const job& j, const training_context& context,
                                        byte_count checkpoint) {
    const bool goes_back =
        j.offload.activations != offload_place::none && !context.runtime.kernels.checkpointing.reentrant;
    return context.recomputes && !goes_back && !keeps_input(kind, context) ? checkpoint : byte_count{};
}

/// What a recomputed layer put out, as large as its input: a reentrant checkpoint refers to it until its backward pass
/// is done (torch/utils/checkpoint.py, CheckpointFunction.backward, `outputs`); another one drops it.
constexpr byte_count output_beside_saved(const training_context& context, byte_count checkpoint) {
    return context.recomputes && context.runtime.kernels.checkpointing.reentrant ? checkpoint : byte_count{};
}

}  // namespace llmres::inline v0::detail
