// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/text.hpp>

/// Which layouts a runtime runs. A search tries these alone. What a caller lays out is
/// held against the same rules: a degree that the runtime does not have does not fit (reason layout_not_run), one that
/// it may run and of which no run is known is tight at best (layout_unproven), and tensor ranks with which it does not
/// start are refused (jobs/checks.hpp). Ranks that serve without sharing anything, data ranks and replicas, are
/// processes of their own: every runtime runs them. `none` and `pytorch` run every degree: what a caller builds on
/// PyTorch is the caller's.
namespace llmres::inline v0 {

/// How a runtime splits heads, widths and the vocabulary over tensor ranks.
struct tensor_split {
    bool copies_kv_heads = true;  ///< More tensor ranks than key-value heads, which are then copied.
    bool pads_width = false;      ///< The width of feed-forwards is padded to a multiple of the tensor ranks.
    bool power_of_two = false;    ///< Tensor ranks are a power of two.
    /// The vocabulary is padded to a multiple of this before it is split evenly over the tensor ranks; 0: to a multiple
    /// of theirs. Unit: words.
    std::int32_t vocabulary_multiple = 0;
    /// Does not start with tensor ranks over which heads, widths or the vocabulary are not split evenly.
    bool refuses_uneven = false;
    /// Does not start where tensor ranks cut a block or group of weights that share a scale.
    bool refuses_cut_blocks = false;
};

/// Degrees that a runtime does not have in every version or for every model, or calls experimental, and of which no run
/// is known here. A search tries none of them.
struct untried_degrees {
    bool tensor = false;             ///< Tensor ranks may run, and no run is known.
    bool pipeline = false;           ///< Pipeline stages may run, and no run is known.
    bool sequence_parallel = false;  ///< Training: sequence parallelism may run, and no run is known.
    bool context_parallel = false;   ///< Context-parallel ranks may run, and no run is known.
    bool expert = false;             ///< Expert ranks may run, and no run is known.
};

/// What lies where if the GPUs of a pipeline share the rows of each matrix.
enum class row_split : std::uint8_t {
    beside_layers,       ///< where a caller asks for it; each GPU has caches, norms and routed experts of its layers
    beside_first,        ///< where a caller asks for it; the first GPU has all that is no matrix, and a step's buffer
    always_beside_first  ///< the same whether or not a caller asks for it: there is no other way
};

/// The ways in which a runtime distributes a job over GPUs.
struct layout_rules {
    bool tensor = true;             ///< Matrix products are split over ranks.
    bool pipeline = true;           ///< Layers are split into stages.
    bool virtual_pipeline = false;  ///< Training: a stage may hold several chunks of layers (interleaving).
    /// Training: norms and residuals are split over the tensor ranks too. (arXiv 2205.05198.)
    bool sequence_parallel = false;
    bool context_parallel = false;  ///< Sequences are split over ranks.
    bool expert = true;             ///< Ranks have whole routed experts.
    /// Training: stages with unequal numbers of layers, where the embedding or the loss counts as a layer or the last
    /// stage has fewer.
    bool uneven_stages = false;
    tensor_split split{};         ///< How matrix products are split over tensor ranks.
    std::int32_t least_zero = 1;  ///< The lowest ZeRO stage that shards anything. Unit: stage.
    std::int32_t most_zero = 3;   ///< The highest ZeRO stage. Unit: stage.
    /// The highest ZeRO stage that a search tries beside pipeline stages. Unit: stage.
    std::int32_t most_zero_with_pipeline = 1;
    /// Serving: what lies where if the GPUs of a pipeline share the rows of each matrix.
    row_split rows = row_split::beside_layers;
    untried_degrees untried{};  ///< Degrees that may run, of which no run is known.
    text<127> source{};         ///< What these rules were read from, in the software's own files.
};

}  // namespace llmres::inline v0
