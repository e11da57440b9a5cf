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
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/memo.hpp>
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

/// The tokens of a step.
struct step_tokens {
    token_shape shape{};
    std::int64_t rows = 0;       ///< of logits
    std::int64_t sequences = 0;  ///< of a rank, where a graph is laid out for them

    constexpr step_tokens() = default;
    /// The tokens of a step.
    constexpr explicit step_tokens(const serving_step& step)
        : shape{step.shape},
          rows{step.rows},
          sequences{step.runtime.serving_kernels.graph.laid_out || step.runtime.loading.host_experts.copied
                        ? sequences_per_rank(step.job, step.layout)
                        : 0} {}

    constexpr std::uint64_t mix() const { return mixed(shape.sequences, shape.length, shape.keys, rows, sequences); }
    friend constexpr bool operator==(const step_tokens&, const step_tokens&) = default;
};

/// Key of the weights of a kind of layer, or of a place beside the layers: all that they depend on.
struct weights_fold {
    layer_split split{};
    std::int32_t of = 0;  ///< the kind of layer, the place beside the layers (number_of_end()), or the number of stages

    constexpr std::uint64_t mix() const { return mixed(split.mix(), of); }
    friend constexpr bool operator==(const weights_fold&, const weights_fold&) = default;
};

/// Key of a kind of layer with the activations of a step: all that both depend on.
struct serving_layer_fold {
    weights_fold weights{};
    token_shape shape{};
    std::int64_t sequences = 0;

    constexpr std::uint64_t mix() const { return mixed(weights.mix(), shape.sequences, shape.length, sequences); }
    friend constexpr bool operator==(const serving_layer_fold&, const serving_layer_fold&) = default;
};

/// Key of the caches of a rank's layers: all that they depend on.
struct caches_fold {
    std::int32_t tensor = 1;
    std::int32_t context_parallel = 1;
    std::int32_t pipeline = 1;
    std::int64_t sequences = 0;

    constexpr std::uint64_t mix() const { return mixed(tensor, context_parallel, pipeline, sequences); }
    friend constexpr bool operator==(const caches_fold&, const caches_fold&) = default;
};

/// Key of a pipeline stage without its caches: all that it depends on. Precondition: no list says which layers each
/// stage holds.
struct stage_fold {
    layer_split split{};
    stage_split stages{};
    step_tokens step{};
    std::int32_t stage = 0;

    constexpr std::uint64_t mix() const { return mixed(split.mix(), stages.mix(), step.mix(), stage); }
    friend constexpr bool operator==(const stage_fold&, const stage_fold&) = default;
};

/// Key of the graph of a stage: all that it depends on.
struct graph_fold {
    stage_graph_key stage{};
    token_shape shape{};
    std::int64_t sequences = 0;
    std::int32_t tensor = 1;
    std::int32_t context_parallel = 1;
    bool pipelined = false;

    constexpr explicit graph_fold(const stage_graph& graph)
        : stage{graph.key()},
          shape{graph.step.shape},
          sequences{sequences_per_rank(graph.job, graph.layout)},
          tensor{graph.layout.tensor},
          context_parallel{graph.layout.context_parallel},
          pipelined{graph.layout.pipeline > 1} {}
    constexpr graph_fold() = default;

    constexpr std::uint64_t mix() const {
        return mixed(shape.sequences, shape.length, sequences, tensor, context_parallel, stage.layers.count,
                     stage.first + 2 * stage.end + 4 * stage.computes_logits + 8 * pipelined);
    }
    friend constexpr bool operator==(const graph_fold&, const graph_fold&) = default;
};

/// The layers of a job's GGUF file as the tensor ranks of the last layout cut them.
class remembered_file {
public:
    constexpr const file_layers& layers(const llmres::job& j, const llmres::runtime& r, std::int32_t tensor) {
        if (!known_ || layers_.value.tensor_ranks() != tensor) {
            const auto cut = [&] { return file_layers{j, r, tensor}; };
            layers_ = slot<file_layers>{made_by{}, cut};
        }
        known_ = true;
        return layers_.value;
    }
    constexpr void clear() { known_ = false; }

private:
    bool known_ = false;
    slot<file_layers> layers_;
};

/// What is remembered of a job that is served, on GPUs of one kind. The batch may change, but no format.
struct serving_folds {
    slot<runtime> device;  ///< the job's on the GPUs, but for what it takes in one layout alone
    bool has_device = false;
    memo<weights_fold, weights_of_kind> kinds;           ///< of a kind of layer
    memo<serving_layer_fold, serving_layer> layers;      ///< of a kind of layer, with what its tokens need
    memo<caches_fold, by_kind<sequence_caches>> caches;  ///< of layers of each kind
    memo<stage_fold, stage_without_caches, 256> stages;  ///< of stages of several
    memo<weights_fold, byte_count> ends;                 ///< of the weights beside the layers
    memo<weights_fold, byte_count, 128> first_weights;   ///< of the first stage
    memo<graph_fold, step_peak, 16> graphs;              ///< that ggml lays out
    remembered_file file;

    constexpr explicit serving_folds(folds_are folds = folds_are::made_anew)
        : kinds{folds}, layers{folds}, caches{folds}, stages{folds}, ends{folds}, first_weights{folds}, graphs{folds} {}

    /// Forgets what depends on the format of the cache.
    constexpr void forget_cache_format() {
        caches.clear();
        stages.clear();
        graphs.clear();
    }
    constexpr void clear() {
        forget_cache_format();
        has_device = false;
        kinds.clear();
        layers.clear();
        ends.clear();
        first_weights.clear();
        file.clear();
    }
};

/// Number of the weights that stand on a stage beside the layers: another for each combination.
constexpr std::int32_t number_of_end(const placement& here) {
    return here.embeddings + 4 * int{here.beside_embedding} + 8 * int{here.output} + 16 * int{here.tower_file} +
           32 * here.predictions;
}

}  // namespace llmres::inline v0::detail
