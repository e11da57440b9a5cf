// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/memo.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How is a job distributed over GPUs?
namespace llmres::inline v0 {

/// How ranks that share a sequence exchange keys and values (Transformer Engine's cp_comm_type).
enum class cp_communication : std::uint8_t {
    p2p,         ///< from neighbour to neighbour, a part at a time (ring attention)
    all_gather,  ///< all of them at once
    a2a,         ///< the sequence is exchanged for heads (Ulysses)
};
/// The names of the ways, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<cp_communication>{"p2p", "all_gather", "a2a"};

/// Degrees of parallelism. One replica has tensor x pipeline x data x context_parallel GPUs. Experts are distributed
/// over GPUs that the data, context and tensor degrees already count (Megatron-Core's expert model parallelism).
struct layout {
    std::int32_t tensor = 1;            ///< ranks that share each matrix product
    bool sequence_parallel = false;     ///< norms and residuals are partitioned over the tensor ranks too
    std::int32_t pipeline = 1;          ///< stages of consecutive layers
    std::int32_t virtual_pipeline = 1;  ///< interleaved chunks of layers that a stage holds
    std::int32_t data = 1;              ///< ranks that each take their own samples
    std::int32_t context_parallel = 1;  ///< ranks that share each sequence
    std::int32_t expert = 1;            ///< ranks that share the routed experts of a layer
    std::int32_t expert_tensor = 0;     ///< ranks that share each routed expert; 0: as `tensor`
    /// ZeRO stage: 1 shards optimizer states over data ranks, 2 gradients too, 3 weights too.
    std::int32_t zero = 0;
    /// Copies of what ZeRO shards, among the data ranks: hybrid sharding (FSDP's HYBRID_SHARD, Megatron-Core's
    /// num-distributed-optimizer-instances).
    std::int32_t shard_replicas = 1;
    /// With virtual_pipeline: micro-batches of one chunk before the next chunk's; 0: as `pipeline` (Megatron-Core's
    /// microbatch-group-size-per-virtual-pipeline-stage).
    std::int32_t micro_batch_group = 0;
    /// Order of the passes of training.
    pipeline_schedule schedule = pipeline_schedule::one_forward_one_backward;
    stage_list stages{};  ///< layers of each stage, or of each chunk of one; default: partitioned evenly
    /// Layers of the first stage, where the other stages share the rest; 0: as the others.
    std::int32_t first_stage_layers = 0;
    /// Layers of the last stage, alike (Megatron-Core's num-layers-in-last-pipeline-stage).
    std::int32_t last_stage_layers = 0;
    /// The embedding counts as a layer of the first stage (account-for-embedding-in-pipeline-split).
    bool embedding_as_layer = false;
    /// The loss counts as a layer of the last stage (account-for-loss-in-pipeline-split).
    bool loss_as_layer = false;
    cp_communication cp_comm_type = cp_communication::p2p;  ///< how context-parallel ranks share keys and values
    std::int32_t replicas = 1;                              ///< independent copies of all this

    /// Whether stages hold consecutive layers, and as equal numbers of them as possible.
    constexpr bool deals_evenly() const {
        return stages.chunks == 0 && first_stage_layers + last_stage_layers == 0 && !embedding_as_layer &&
               !loss_as_layer && schedule != pipeline_schedule::zb_v;
    }
    /// Chunks of layers that a pipeline consists of.
    constexpr std::int32_t chunks() const { return pipeline * virtual_pipeline; }
    /// The stage of a chunk.
    constexpr std::int32_t stage_of(std::int32_t chunk) const {
        const std::int32_t at = chunk % pipeline;
        return schedule == pipeline_schedule::zb_v && chunk / pipeline % 2 == 1 ? pipeline - 1 - at : at;
    }
    /// The stage of the head.
    constexpr std::int32_t last_stage() const { return schedule == pipeline_schedule::zb_v ? 0 : pipeline - 1; }

    /// Ranks that share each routed expert.
    constexpr std::int32_t expert_tensor_ranks() const { return expert_tensor > 0 ? expert_tensor : tensor; }
    /// GPUs of one replica; the end of the range where the product leaves 64 bits.
    constexpr std::int64_t gpus_per_replica() const {
        return detail::product(std::int64_t{tensor} * pipeline, std::int64_t{data} * context_parallel);
    }
    /// GPUs of all replicas; the end of the range where the product leaves 64 bits.
    constexpr std::int64_t gpus() const { return detail::product(gpus_per_replica(), std::int64_t{replicas}); }
    /// Data ranks of all replicas.
    constexpr std::int64_t all_data_ranks() const { return std::int64_t{data} * replicas; }
    /// Ranks that hold the same dense weights, and so share their gradients and, under ZeRO, their state.
    constexpr std::int64_t dense_data_ranks() const { return std::int64_t{data} * context_parallel; }
    /// Ranks that hold the same routed experts' weights, and so share their gradients.
    constexpr std::int64_t expert_data_ranks() const {
        return std::int64_t{data} * context_parallel * tensor / (std::int64_t{expert} * expert_tensor_ranks());
    }
    /// Ranks that ZeRO shards the dense weights' state over.
    constexpr std::int64_t dense_shard_ranks() const {
        return shard_replicas == 1 ? dense_data_ranks() : dense_data_ranks() / shard_replicas;
    }
    /// Ranks that ZeRO shards the routed experts' state over.
    constexpr std::int64_t expert_shard_ranks() const {
        const std::int64_t ranks = expert_data_ranks();
        return shard_replicas == 1 ? ranks : ranks > shard_replicas ? ranks / shard_replicas : 1;
    }
    friend constexpr bool operator==(const layout&, const layout&) = default;
};

namespace detail {

/// The degrees of a layout with their bounds, for those who check them, read them and describe them.
constexpr std::array<bounded_field, 11> numbers_of(const layout& l) {
    return {{{"layout.tensor", l.tensor, 1, most::gpus},
             {"layout.pipeline", l.pipeline, 1, most::gpus},
             {"layout.virtual_pipeline", l.virtual_pipeline, 1, most::gpus},
             {"layout.data", l.data, 1, most::gpus},
             {"layout.context_parallel", l.context_parallel, 1, most::gpus},
             {"layout.expert", l.expert, 1, most::gpus},
             {"layout.expert_tensor", l.expert_tensor, 0, most::gpus},
             {"layout.zero", l.zero, 0, 3},
             {"layout.shard_replicas", l.shard_replicas, 1, most::gpus},
             {"layout.micro_batch_group", l.micro_batch_group, 0, most::gpus},
             {"layout.replicas", l.replicas, 1, most::gpus}}};
}

}  // namespace detail

/// The part of a layout that the tensors of one layer depend on: which share of each a GPU has. Two layouts of the same
/// split have the same activations, whatever their data ranks and pipeline stages.
struct layer_split {
    std::int32_t tensor = 1;                                ///< ranks that share each matrix product
    std::int32_t context_parallel = 1;                      ///< ranks that share each sequence
    std::int32_t expert = 1;                                ///< ranks that share the routed experts of a layer
    std::int32_t expert_tensor = 1;                         ///< ranks that share each routed expert
    cp_communication cp_comm_type = cp_communication::p2p;  ///< how context-parallel ranks share keys and values
    bool sequence_parallel = false;                         ///< norms and residuals are partitioned, too
    bool has_stages = false;                                ///< other GPUs have other layers
    bool gathers_weights = false;                           ///< ZeRO 3: a layer's weights are gathered to compute it

    constexpr layer_split() = default;
    /// The split of a layout, which stands for it wherever one is asked for.
    constexpr explicit(false) layer_split(const layout& l)
        : tensor{l.tensor},
          context_parallel{l.context_parallel},
          expert{l.expert},
          expert_tensor{l.expert_tensor_ranks()},
          cp_comm_type{l.cp_comm_type},
          sequence_parallel{l.sequence_parallel},
          has_stages{l.pipeline > 1},
          gathers_weights{l.zero >= 3} {}

    /// Tells most splits apart: where values by split are looked up.
    constexpr std::uint64_t mix() const {
        return detail::mixed(tensor, context_parallel, expert, expert_tensor, cp_comm_type,
                             sequence_parallel + 2 * has_stages + 4 * gathers_weights);
    }
    friend constexpr bool operator==(const layer_split&, const layer_split&) = default;
};

/// Sharding of weights, gradients and optimizer states by ZeRO.
struct zero_split {
    std::int32_t zero = 0;          ///< the stage: layout::zero
    std::int64_t dense_ranks = 1;   ///< that dense weights' state is sharded over
    std::int64_t expert_ranks = 1;  ///< that routed experts' state is sharded over

    constexpr zero_split() = default;
    /// The split of a layout, which stands for it wherever a split is asked for.
    constexpr explicit(false) zero_split(const layout& l)
        : zero{l.zero},
          dense_ranks{l.zero > 0 ? l.dense_shard_ranks() : 1},
          expert_ranks{l.zero > 0 ? l.expert_shard_ranks() : 1} {}

    /// Tells most splits apart: where values by split are looked up.
    constexpr std::uint64_t mix() const { return detail::mixed(zero, dense_ranks, expert_ranks); }
    friend constexpr bool operator==(const zero_split&, const zero_split&) = default;
};

/// The part of a layout that deals layers to pipeline stages, where no list says which layers each stage holds.
struct stage_split {
    std::int32_t pipeline = 1;            ///< stages
    std::int32_t virtual_pipeline = 1;    ///< chunks of layers that a stage holds
    std::int32_t first_stage_layers = 0;  ///< layers of the first stage; 0: as the others
    std::int32_t last_stage_layers = 0;   ///< layers of the last stage; 0: as the others
    bool embedding_as_layer = false;      ///< the embedding counts as a layer
    bool loss_as_layer = false;           ///< the loss counts as a layer
    bool in_a_v = false;                  ///< stages hold two chunks in the shape of a V

    constexpr stage_split() = default;
    /// The split of a layout, which stands for it wherever a split is asked for.
    constexpr explicit(false) stage_split(const layout& l)
        : pipeline{l.pipeline},
          virtual_pipeline{l.virtual_pipeline},
          first_stage_layers{l.first_stage_layers},
          last_stage_layers{l.last_stage_layers},
          embedding_as_layer{l.embedding_as_layer},
          loss_as_layer{l.loss_as_layer},
          in_a_v{l.schedule == pipeline_schedule::zb_v} {}

    /// Tells most splits apart: where values by split are looked up.
    constexpr std::uint64_t mix() const {
        return detail::mixed(pipeline, virtual_pipeline, first_stage_layers, last_stage_layers,
                             embedding_as_layer + 2 * loss_as_layer + 4 * in_a_v);
    }
    friend constexpr bool operator==(const stage_split&, const stage_split&) = default;
};

/// Layers [first, last) of one pipeline stage.
struct stage_range {
    std::int32_t first = 0;  ///< the first layer
    std::int32_t last = 0;   ///< the layer behind the last
    /// Layers in the range.
    constexpr std::int32_t size() const { return last - first; }
};

/// The range from the first layer of a kind in `among` to the last of it.
constexpr stage_range span_of(const layer_stack& layers, std::int32_t kind, stage_range among) {
    const auto is = [&](std::int32_t i) { return layers.order[static_cast<std::size_t>(i)] == kind; };
    while (among.first < among.last && !is(among.first)) ++among.first;
    while (among.first < among.last && !is(among.last - 1)) --among.last;
    return among;
}

/// The layers of a stage where all stages have equally many, or the first ones one more. (With interleaving, a stage
/// holds as many layers, in `virtual_pipeline` chunks.)
constexpr stage_range stage_layers(std::int32_t layers, std::int32_t stages, std::int32_t stage) {
    const std::int32_t each = layers / stages;
    const std::int32_t more = layers % stages;
    const std::int32_t first = stage * each + (stage < more ? stage : more);
    return {first, first + each + (stage < more ? 1 : 0)};
}

/// Layers of one chunk of a pipeline that is not partitioned evenly.
constexpr std::int32_t chunk_layers(const layout& l, std::int32_t layers, std::int32_t chunk) {
    if (l.stages.chunks > 0) return l.stages.layers[static_cast<std::size_t>(chunk)];
    const std::int32_t stage = l.stage_of(chunk);
    const std::int32_t given = l.first_stage_layers + l.last_stage_layers;
    if (given > 0) {
        const std::int32_t others = l.pipeline - (l.first_stage_layers > 0) - (l.last_stage_layers > 0);
        std::int32_t of_stage = others > 0 ? (layers - given) / others : 0;
        if (stage == 0 && l.first_stage_layers > 0) of_stage = l.first_stage_layers;
        if (stage == l.pipeline - 1 && l.last_stage_layers > 0) of_stage = l.last_stage_layers;
        return of_stage / l.virtual_pipeline;
    }
    const std::int32_t all = layers + l.embedding_as_layer + l.loss_as_layer;
    return stage_layers(all, l.chunks(), chunk).size() - (l.embedding_as_layer && chunk == 0) -
           (l.loss_as_layer && chunk == l.chunks() - 1);
}

/// The layers of one chunk of a pipeline that is not partitioned evenly, in the order of the model.
constexpr stage_range chunk_range(const layout& l, std::int32_t layers, std::int32_t chunk) {
    const std::int32_t given = l.first_stage_layers + l.last_stage_layers;
    if (l.stages.chunks == 0 && given == 0) {
        const stage_range counted = stage_layers(layers + l.embedding_as_layer + l.loss_as_layer, l.chunks(), chunk);
        return {chunk == 0 ? 0 : counted.first - l.embedding_as_layer,
                chunk == l.chunks() - 1 ? layers : counted.last - l.embedding_as_layer};
    }
    std::int32_t first = 0;
    if (l.stages.chunks == 0 && l.virtual_pipeline == 1)  // all between the first and this one are alike
        first = chunk == 0 ? 0 : chunk_layers(l, layers, 0) + (chunk - 1) * chunk_layers(l, layers, 1);
    else
        for (std::int32_t before = 0; before < chunk; ++before) first += chunk_layers(l, layers, before);
    return {first, first + chunk_layers(l, layers, chunk)};
}

/// Calls visit(range, chunk) for each chunk of layers of one stage.
template <class Visit>
constexpr void for_each_chunk(const layout& l, std::int32_t layers, std::int32_t stage, Visit&& visit) {
    if (l.deals_evenly()) return visit(stage_layers(layers, l.pipeline, stage), stage);
    for (std::int32_t chunk = stage; chunk < l.chunks(); chunk += l.pipeline) {
        const bool back = l.schedule == pipeline_schedule::zb_v && chunk / l.pipeline % 2 == 1;
        const std::int32_t here = back ? chunk + l.pipeline - 1 - 2 * stage : chunk;
        visit(chunk_range(l, layers, here), here);
    }
}

/// Layers of one stage.
constexpr std::int32_t count_layers_of_stage(const layout& l, std::int32_t layers, std::int32_t stage) {
    std::int32_t count = 0;
    for_each_chunk(l, layers, stage, [&](stage_range range, std::int32_t) { count += range.size(); });
    return count;
}

/// Whether a stage has as many layers of each kind as the one before it. False, too, where that takes a closer look: in
/// models of several kinds of layers whose stages are not partitioned evenly.
constexpr bool repeats_layers_before(const layer_stack& layers, const layout& l, std::int32_t stage) {
    if (stage == 0) return false;
    if (!l.deals_evenly())
        return layers.kind_count == 1 &&
               count_layers_of_stage(l, layers.size, stage - 1) == count_layers_of_stage(l, layers.size, stage);
    if (stage == layers.size % l.pipeline) return false;  // the stages before it have one more
    if (layers.kind_count == 1) return true;
    const stage_range before = stage_layers(layers.size, l.pipeline, stage - 1);
    const stage_range here = stage_layers(layers.size, l.pipeline, stage);
    return layers.alike(before.first, here.first, here.size());
}

/// Layers of the stage with the most.
constexpr std::int32_t most_layers(const layout& l, std::int32_t layers) {
    if (l.deals_evenly()) return stage_layers(layers, l.pipeline, 0).size();
    std::int32_t most = 0;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage)
        if (const std::int32_t here = count_layers_of_stage(l, layers, stage); here > most) most = here;
    return most;
}

/// The layers in the order of the stages, so that those of a stage are consecutive: layers_of_stage() is their range.
constexpr layer_stack ordered_by_stage(const layer_stack& layers, const layout& l) {
    layer_stack by_stage = layers;
    std::size_t next = 0;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage)
        for_each_chunk(l, layers.size, stage, [&](stage_range range, std::int32_t) {
            for (std::int32_t i = range.first; i < range.last; ++i)
                by_stage.order[next++] = layers.order[static_cast<std::size_t>(i)];
        });
    return by_stage;
}

/// The layers of a stage in the order of ordered_by_stage().
constexpr stage_range layers_of_stage(const layout& l, std::int32_t layers, std::int32_t stage) {
    if (l.deals_evenly()) return stage_layers(layers, l.pipeline, stage);
    if (l.virtual_pipeline == 1) return chunk_range(l, layers, stage);
    stage_range range;
    for (std::int32_t chunk = 0; chunk < l.chunks(); ++chunk) {
        const std::int32_t on = l.stage_of(chunk);
        if (on > stage) continue;
        const std::int32_t here = chunk_layers(l, layers, chunk);
        range.last += here;
        if (on < stage) range.first += here;
    }
    return range;
}

}  // namespace llmres::inline v0
