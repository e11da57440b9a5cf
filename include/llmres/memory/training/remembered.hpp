// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/values/units.hpp>

/// What the evaluations of one job in many layouts have in common: results of folds over layers and weights, each kept
/// by the part of the layout that it depends on.
namespace llmres::inline v0::detail {

/// The part of a layout that a fold depends on, and what is folded.
struct fold_key {
    std::int32_t what = 0;  ///< a kind of layer, or a place beside the layers
    std::int32_t tensor = 1;
    std::int32_t context_parallel = 1;
    std::int32_t expert = 1;
    std::int32_t expert_tensor = 1;
    std::int32_t zero = 0;
    std::int64_t dense_ranks = 1;   ///< that ZeRO shards dense weights over
    std::int64_t expert_ranks = 1;  ///< that ZeRO shards routed experts' weights over
    std::int32_t pipeline = 1;
    std::int32_t virtual_pipeline = 1;
    std::int32_t first_stage_layers = 0;
    std::int32_t last_stage_layers = 0;
    bool sequence_parallel = false;
    bool same_tokens = false;  ///< on all ranks that share the experts, as far as exchanges depend on it
    bool embedding_as_layer = false;
    bool loss_as_layer = false;
    bool in_a_v = false;  ///< stages hold two chunks in the shape of a V
    cp_communication exchange{};

    friend constexpr bool operator==(const fold_key&, const fold_key&) = default;

    constexpr std::uint64_t hash() const {
        const auto both = [](std::int32_t high, std::int32_t low) {
            return static_cast<std::uint64_t>(high) << 32 ^ static_cast<std::uint64_t>(low);
        };
        std::uint64_t mixed = 0;
        for (const std::uint64_t part :
             {both(what, tensor), both(context_parallel, expert), both(zero, expert_tensor),
              static_cast<std::uint64_t>(dense_ranks) * 4 + (sequence_parallel ? 2 : 0) + (same_tokens ? 1 : 0),
              both(pipeline, virtual_pipeline)})
            mixed = (mixed ^ part) * 0x9e3779b97f4a7c15U;
        return mixed;
    }
};

/// The part of a layout that activations and operations of a layer depend on.
constexpr fold_key without_shards(const layout& l, std::int32_t what) {
    return {.what = what,
            .tensor = l.tensor,
            .context_parallel = l.context_parallel,
            .expert = l.expert,
            .expert_tensor = l.expert_tensor_ranks(),
            .zero = l.zero < 3 ? 0 : 3,  // gathered weights have formats of their own
            .sequence_parallel = l.sequence_parallel,
            .exchange = l.cp_comm_type};
}
/// The part that the state of weights depends on.
constexpr fold_key with_shards(const layout& l, std::int32_t what) {
    fold_key key = without_shards(l, what);
    key.zero = l.zero;
    if (l.zero > 0) key.dense_ranks = l.dense_shard_ranks(), key.expert_ranks = l.expert_shard_ranks();
    return key;
}

/// The part that the work of the stages depends on, where no list says what each of them holds.
constexpr fold_key with_stages(const layout& l) {
    fold_key key = without_shards(l, 0);
    key.pipeline = l.pipeline;
    key.virtual_pipeline = l.virtual_pipeline;
    key.first_stage_layers = l.first_stage_layers;
    key.last_stage_layers = l.last_stage_layers;
    key.embedding_as_layer = l.embedding_as_layer;
    key.loss_as_layer = l.loss_as_layer;
    key.in_a_v = l.schedule == pipeline_schedule::zb_v;
    return key;
}

/// A few results by key. Each key has four slots; where all are taken, a new result takes the place of one of them.
template <class Value, std::size_t Slots = 64>
class remembered {
public:
    /// The value of a key: what make() returned for it last.
    template <class Make>
    constexpr const Value& get(const fold_key& key, const Make& make) {
        const auto first = static_cast<std::size_t>(key.hash() >> 40);
        entry* free = nullptr;
        for (std::size_t i = 0; i < 4; ++i) {
            entry& at = entries_[(first + i) % Slots];
            if (at.known && at.key == key) return at.value;
            if (!at.known && free == nullptr) free = &at;
        }
        entry& at = free != nullptr ? *free : entries_[(first + replaced_++ % 4) % Slots];
        at.value = make();
        at.key = key;
        at.known = true;
        return at.value;
    }
    /// Forgets all, since the job is another.
    constexpr void clear() {
        for (entry& each : entries_) each.known = false;
    }

private:
    struct entry {
        bool known = false;
        fold_key key{};
        Value value{};
    };
    std::array<entry, Slots> entries_{};
    std::size_t replaced_ = 0;
};

/// What one micro-batch makes before and after the layers.
struct end_activations {
    loss_memory loss{};
    byte_count before_layers{};  ///< saved, without `rotary_tables`
    byte_count rotary_tables{};  ///< saved: cosines and sines of the positions, which all layers read
    byte_count masks{};
    byte_count after_layers{};  ///< saved
};

/// What is remembered of a job that trains, on GPUs of one kind.
struct training_folds {
    remembered<training_state> states;          ///< of a kind of layer, or of the weights before or after the layers
    remembered<layer_activations> activations;  ///< of a kind of layer
    remembered<training_layer> layers;          ///< of a kind of layer, of both
    remembered<end_activations> ends;

    constexpr void clear() {
        states.clear();
        activations.clear();
        layers.clear();
        ends.clear();
    }
};

}  // namespace llmres::inline v0::detail
