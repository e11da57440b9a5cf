// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/model.hpp>

/// How a job is spread over GPUs.
namespace llmres {

/// Degrees of parallelism. One replica takes tensor x pipeline x data x context_parallel GPUs. Experts are spread over
/// GPUs that the data, context and tensor dimensions already count (Megatron-Core's expert model parallelism).
struct layout {
    std::int32_t tensor = 1;            ///< ranks that share each matrix product
    bool sequence_parallel = false;     ///< norms and residuals are split over the tensor ranks too
    std::int32_t pipeline = 1;          ///< stages of consecutive layers
    std::int32_t virtual_pipeline = 1;  ///< chunks of layers a stage holds, interleaved
    std::int32_t data = 1;              ///< ranks that each take their own samples
    std::int32_t context_parallel = 1;  ///< ranks that share each sequence
    std::int32_t expert = 1;            ///< ranks that share the routed experts of a layer
    std::int32_t expert_tensor = 0;     ///< ranks that share each routed expert; 0: as `tensor`
    std::int32_t zero = 0;              ///< ZeRO stage: 1 shards optimizer states over data, 2 gradients too, 3 weights too
    std::int32_t shard_replicas = 1;    ///< copies of what ZeRO shards, among the data ranks: hybrid sharding (FSDP's HYBRID_SHARD,
                                        ///< Megatron-Core's num-distributed-optimizer-instances)
    std::int32_t micro_batch_group = 0; ///< with virtual_pipeline: micro-batches of one chunk before the next chunk's; 0: as `pipeline`
                                        ///< (Megatron-Core's microbatch-group-size-per-virtual-pipeline-stage)
    std::int32_t replicas = 1;          ///< independent copies of all this

    constexpr std::int32_t expert_tensor_ranks() const { return expert_tensor > 0 ? expert_tensor : tensor; }
    /// GPUs of one replica.
    constexpr std::int64_t gpus_per_replica() const {
        return std::int64_t{tensor} * pipeline * data * context_parallel;
    }
    constexpr std::int64_t gpus() const { return gpus_per_replica() * replicas; }
    /// Ranks that hold the same dense weights, and so share their gradients and, under ZeRO, their state.
    constexpr std::int64_t dense_data_ranks() const { return std::int64_t{data} * context_parallel; }
    /// The same for the routed experts' weights.
    constexpr std::int64_t expert_data_ranks() const {
        return std::int64_t{data} * context_parallel * tensor / (std::int64_t{expert} * expert_tensor_ranks());
    }
    /// Ranks that ZeRO shards the dense weights' state over, and the routed experts'.
    constexpr std::int64_t dense_shard_ranks() const { return shard_replicas == 1 ? dense_data_ranks() : dense_data_ranks() / shard_replicas; }
    constexpr std::int64_t expert_shard_ranks() const {
        const std::int64_t ranks = expert_data_ranks();
        return shard_replicas == 1 ? ranks : ranks > shard_replicas ? ranks / shard_replicas : 1;
    }
    friend constexpr bool operator==(const layout&, const layout&) = default;
};

/// Layers [first, last) of one pipeline stage.
struct stage_range {
    std::int32_t first = 0;
    std::int32_t last = 0;
    constexpr std::int32_t size() const { return last - first; }
};

/// From the first layer of a kind in `among` to the last.
constexpr stage_range span_of(const layer_stack& layers, std::int32_t kind, stage_range among) {
    const auto is = [&](std::int32_t i) { return layers.order[static_cast<std::size_t>(i)] == kind; };
    while (among.first < among.last && !is(among.first)) ++among.first;
    while (among.first < among.last && !is(among.last - 1)) --among.last;
    return among;
}

/// Layers are dealt as evenly as they go; the first stages take one more where they do not. (With interleaving, a stage
/// holds as many layers, in `virtual_pipeline` chunks.)
constexpr stage_range stage_layers(std::int32_t layers, std::int32_t stages, std::int32_t stage) {
    const std::int32_t each = layers / stages;
    const std::int32_t more = layers % stages;
    const std::int32_t first = stage * each + (stage < more ? stage : more);
    return {first, first + each + (stage < more ? 1 : 0)};
}

/// A layout that this model cannot be cut into: degrees below one, heads or layers that do not go round.
constexpr status validate(const layout& l, const model& m) {
    constexpr std::int32_t most = 1 << 20;
    if (const status s = detail::all_in_range(
            std::array{detail::bounded_field{"layout.tensor", l.tensor, 1, most},
                       detail::bounded_field{"layout.pipeline", l.pipeline, 1, most},
                       detail::bounded_field{"layout.virtual_pipeline", l.virtual_pipeline, 1, most},
                       detail::bounded_field{"layout.data", l.data, 1, most},
                       detail::bounded_field{"layout.context_parallel", l.context_parallel, 1, most},
                       detail::bounded_field{"layout.expert", l.expert, 1, most},
                       detail::bounded_field{"layout.expert_tensor", l.expert_tensor, 0, most},
                       detail::bounded_field{"layout.zero", l.zero, 0, 3},
                       detail::bounded_field{"layout.shard_replicas", l.shard_replicas, 1, most},
                       detail::bounded_field{"layout.micro_batch_group", l.micro_batch_group, 0, most},
                       detail::bounded_field{"layout.replicas", l.replicas, 1, most}});
        !s)
        return s;
    if (l.dense_data_ranks() % l.shard_replicas != 0)
        return refused(error_code::inconsistent, "layout.shard_replicas", l.shard_replicas, "a divisor of data x context_parallel");
    if (l.micro_batch_group > 0 && (l.virtual_pipeline == 1 || l.micro_batch_group < l.pipeline))
        return refused(error_code::inconsistent, "layout.micro_batch_group", l.micro_batch_group, "at least `pipeline`, with virtual_pipeline above 1");
    if (l.gpus() > most) return refused(error_code::out_of_range, "layout", l.gpus(), "at most 1048576 GPUs");
    if (std::int64_t{l.pipeline} * l.virtual_pipeline > m.layers.size) {
        text<191> expected{"at most one pipeline stage (or chunk) a layer: "};
        expected.append(detail::digits(m.layers.size));
        return refused(error_code::out_of_range, "layout.pipeline", std::int64_t{l.pipeline} * l.virtual_pipeline, expected);
    }
    if (l.sequence_parallel && l.tensor == 1)
        return refused(error_code::inconsistent, "layout.sequence_parallel", "true", "tensor parallelism above 1");
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const layer& kind = m.layers.kinds[static_cast<std::size_t>(k)];
        if (kind.attention.kind != attention_kind::none && kind.attention.heads % l.tensor != 0) {
            text<191> expected{"a divisor of the model's attention heads, "};
            expected.append(detail::digits(kind.attention.heads));
            return refused(error_code::inconsistent, "layout.tensor", l.tensor, expected);
        }
        const llmres::experts& moe = kind.feed_forward.experts;
        if (moe.count > 0 && moe.count % l.expert != 0) {
            text<191> expected{"a divisor of the model's routed experts, "};
            expected.append(detail::digits(moe.count));
            return refused(error_code::inconsistent, "layout.expert", l.expert, expected);
        }
    }
    if (l.dense_data_ranks() * l.tensor % (std::int64_t{l.expert} * l.expert_tensor_ranks()) != 0)
        return refused(error_code::inconsistent, "layout.expert", l.expert,
                       "expert x expert_tensor that divides data x context_parallel x tensor");
    return done{};
}

}  // namespace llmres
