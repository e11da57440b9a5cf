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
    /// More tensor ranks than key-value heads, which are then copied.
    bool copies_kv_heads = true;
    /// It pads the width of feed-forwards to a multiple of the tensor ranks.
    bool pads_width = false;
    /// Its tensor ranks are a power of two.
    bool power_of_two = false;
    /// The vocabulary is padded to a multiple of this before it is split evenly over the tensor ranks; 0: to a multiple
    /// of theirs.
    std::int32_t vocabulary_multiple = 0;
    /// It does not start with tensor ranks over which heads, widths or the vocabulary are not split evenly.
    bool refuses_uneven = false;
    /// It does not start with tensor ranks that cut a block or a group of weights which share a scale.
    bool refuses_cut_blocks = false;
};

/// Degrees that a runtime does not have in every version or for every model, or calls experimental, and of which no run
/// is known here. A search tries none of them.
struct untried_degrees {
    bool tensor = false;             ///< tensor ranks
    bool pipeline = false;           ///< pipeline stages
    bool sequence_parallel = false;  ///< training: sequence parallelism
    bool context_parallel = false;   ///< context-parallel ranks
    bool expert = false;             ///< expert ranks
};

/// What lies where if the GPUs of a pipeline share the rows of each matrix.
enum class row_split : std::uint8_t {
    beside_layers,       ///< where a caller asks for it; each GPU has caches, norms and routed experts of its layers
    beside_first,        ///< where a caller asks for it; the first GPU has all that is no matrix, and a step's buffer
    always_beside_first  ///< the same whether or not a caller asks for it: there is no other way
};

/// The ways in which a runtime distributes a job over GPUs.
struct layout_rules {
    bool tensor = true;             ///< it splits matrix products
    bool pipeline = true;           ///< it splits layers into stages
    bool virtual_pipeline = false;  ///< training: a stage may hold several chunks of layers (interleaving)
    /// Training: norms and residuals are split over the tensor ranks too (arXiv 2205.05198).
    bool sequence_parallel = false;
    bool context_parallel = false;  ///< it splits sequences
    bool expert = true;             ///< it gives whole routed experts to ranks
    /// Training: stages with unequal numbers of layers, where the embedding or the loss counts as a layer or the last
    /// stage has fewer.
    bool uneven_stages = false;
    tensor_split split{};                       ///< how it splits matrix products over tensor ranks
    std::int32_t least_zero = 1;                ///< the lowest ZeRO stage that shards anything
    std::int32_t most_zero = 3;                 ///< the highest ZeRO stage
    std::int32_t most_zero_with_pipeline = 1;   ///< the highest ZeRO stage that a search tries beside pipeline stages
    row_split rows = row_split::beside_layers;  ///< serving: GPUs that share the rows of each matrix
    untried_degrees untried{};                  ///< what it may run besides
    text<127> source{};                         ///< what these rules were read from, in the runtime's own files
};

}  // namespace llmres::inline v0
