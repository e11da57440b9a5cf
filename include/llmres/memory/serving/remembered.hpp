// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/ggml/stage.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/memory/training/remembered.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// What the evaluations of one serving job in many layouts have in common: folds over weights, the layers of a file,
/// and graphs that ggml lays out, each kept by the part of job and layout that it depends on.
namespace llmres::inline v0::detail {

/// The weights of one layer of a kind on one GPU.
struct weights_of_kind {
    layer_bytes weights{};
    byte_count adapters{};
    byte_count more{};    ///< joined copies, and experts as their kernels want them
    byte_count padded{};  ///< beyond those, where other kernels are there
};

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct serving_layer {
    weights_of_kind held{};
    byte_count live{};  ///< activations at the fuller of the layer's halves
};

/// Caches of attention and states of recurrences.
struct sequence_caches {
    allotment cache{};
    byte_count state{};

    constexpr byte_count allocated() const { return cache.allocated + state; }
};

/// One GPU's share, before the engine adds to it.
struct serving_stage {
    byte_count weights{};
    byte_count adapters{};
    allotment cache{};
    byte_count state{};
    byte_count live{};
    bool last = false;
    std::int32_t index = 0;
    byte_count more_weights{};    ///< expected beside them: joined copies, padding
    byte_count padded_weights{};  ///< beyond those, where other kernels are there
    byte_count maybe_weights{};   ///< that some checkpoints hold, and the padded ones
    step_peak peak{};             ///< the fullest moment of a step

    constexpr void hold(const sequence_caches& of_sequences) {
        cache = of_sequences.cache;
        state = of_sequences.state;
    }
    constexpr byte_count held() const { return weights + more_weights + adapters + cache.allocated + state; }
};

/// A stage but for what its sequences keep: the same for every batch, as long as a step has the same tokens.
struct stage_without_caches {
    serving_stage stage{};
    kind_counts counts{};
    std::int32_t predictions = 0;
    std::int32_t next = 0;  ///< the next stage that may need more
};

/// Numbers the steps of evaluations one behind the other: one of the same tokens as the last has its number.
class numbered_steps {
public:
    constexpr std::int64_t number_of(const serving_step& step) {
        const bool laid_out = step.runtime.serving_kernels.graph.laid_out || step.runtime.loading.host_experts.copied;
        const tokens_of_step now{step.shape, step.rows, laid_out ? sequences_per_rank(step.job, step.layout) : 0};
        if (number_ == 0 || now != last_) ++number_;
        last_ = now;
        return number_;
    }

private:
    struct tokens_of_step {
        token_shape shape{};
        std::int64_t rows = 0;
        std::int64_t sequences = 0;  ///< that a graph is laid out for
        friend constexpr bool operator==(const tokens_of_step&, const tokens_of_step&) = default;
    };
    tokens_of_step last_{};
    std::int64_t number_ = 0;
};

/// What a graph follows from beside its stage: the tokens of a step, and the part of the layout that cuts its tensors.
struct graph_conditions {
    token_shape shape{};
    std::int64_t sequences = 0;
    std::int32_t tensor = 1;
    std::int32_t context_parallel = 1;
    bool pipelined = false;

    friend constexpr bool operator==(const graph_conditions&, const graph_conditions&) = default;
};
constexpr graph_conditions conditions_of(const serving_step& step) {
    return {.shape = step.shape,
            .sequences = sequences_per_rank(step.job, step.layout),
            .tensor = step.layout.tensor,
            .context_parallel = step.layout.context_parallel,
            .pipelined = step.layout.pipeline > 1};
}

/// The last graphs that were laid out.
class remembered_graphs {
public:
    constexpr const step_peak& peak_of(const stage_graph& graph) {
        const stage_graph_key key = graph.key();
        const graph_conditions conditions = conditions_of(graph.step);
        for (std::size_t i = 0; i < known_; ++i)
            if (entries_[i].key == key && entries_[i].conditions == conditions) return entries_[i].peak;
        entry& at = entries_[next_];
        at = {key, conditions, graph.peak(key)};
        next_ = (next_ + 1) % most;
        if (known_ < most) ++known_;
        return at.peak;
    }
    constexpr void clear() { known_ = next_ = 0; }

private:
    struct entry {
        stage_graph_key key{};
        graph_conditions conditions{};
        step_peak peak{};
    };
    static constexpr std::size_t most = 12;
    entry entries_[most]{};
    std::size_t known_ = 0;
    std::size_t next_ = 0;
};

/// The layers of a job's GGUF file as the tensor ranks of the last layout cut them.
class remembered_file {
public:
    constexpr const file_layers& layers(const llmres::job& j, const llmres::runtime& r, std::int32_t tensor) {
        if (!known_ || layers_.tensor_ranks() != tensor) layers_ = file_layers{j, r, tensor};
        known_ = true;
        return layers_;
    }
    constexpr void clear() { known_ = false; }

private:
    bool known_ = false;
    file_layers layers_{};
};

/// What is remembered of a job that is served, on GPUs of one kind. The batch may change, but no format.
struct serving_folds {
    maybe<runtime> device;                        ///< the job's on the GPUs, but for what it takes in one layout alone
    remembered<weights_of_kind> kinds;            ///< of a kind of layer
    remembered<serving_layer> layers;             ///< of a kind of layer, with what its tokens need
    remembered<by_kind<sequence_caches>> caches;  ///< of layers of each kind
    numbered_steps steps;                         ///< by which stages are known
    remembered<stage_without_caches, 256> stages;
    remembered<byte_count> ends;                ///< of the weights beside the layers
    remembered<byte_count, 128> first_weights;  ///< of the first stage
    remembered_graphs graphs;
    remembered_file file;

    /// Forgets what depends on the format of the cache.
    constexpr void forget_cache_format() {
        caches.clear();
        stages.clear();
        graphs.clear();
    }
    constexpr void clear() {
        forget_cache_format();
        device.known = false;
        kinds.clear();
        layers.clear();
        ends.clear();
        first_weights.clear();
        file.clear();
    }
};

/// The part of a layout and of a step that a layer of a kind depends on.
constexpr fold_key key_of_layer(const serving_step& step, std::int64_t sequences, std::int32_t kind) {
    fold_key key = without_shards(step.layout, 2 * kind + (step.shape.sequences == 1 ? 0 : 1));
    key.dense_ranks = sequences;
    key.expert_ranks = step.shape.length;
    return key;
}

/// What the caches of layers depend on.
constexpr fold_key key_of_caches(const layout& l, std::int64_t sequences) {
    return {
        .tensor = l.tensor, .context_parallel = l.context_parallel, .dense_ranks = sequences, .pipeline = l.pipeline};
}

/// What stages depend on, but for their caches, beside which of them it is. Precondition: no list says what each holds.
constexpr fold_key key_of_stages(const layout& l, std::int64_t step) {
    fold_key key = with_stages(l);
    key.dense_ranks = step;
    return key;
}

/// The part of a layout and of a stage that the weights beside the layers depend on.
constexpr fold_key key_of_ends(const layout& l, const placement& here) {
    return without_shards(
        l, here.embeddings + 4 * int{here.beside_embedding} + 8 * int{here.output} + 16 * here.predictions);
}

}  // namespace llmres::inline v0::detail
