// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/values/slot.hpp>
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

    /// All of it in a few words, which are compared sooner than its fields.
    struct words {
        std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0;

        friend constexpr bool operator==(const words& x, const words& y) {
            return ((x.a ^ y.a) | (x.b ^ y.b) | (x.c ^ y.c) | (x.d ^ y.d) | (x.e ^ y.e) | (x.f ^ y.f) | (x.g ^ y.g)) ==
                   0;
        }
        /// The same of another fold_key::what.
        constexpr words of(std::int32_t other_what) const {
            words other = *this;
            other.a = static_cast<std::uint64_t>(static_cast<std::uint32_t>(other_what)) << 32 | (a & 0xffffffffU);
            return other;
        }
        constexpr std::uint64_t hash() const {
            constexpr std::uint64_t k = 0x9e3779b97f4a7c15U;
            return ((((((a * k ^ b) * k ^ c) * k ^ d) * k ^ e) * k ^ f) * k ^ g) * k;
        }
    };
    constexpr words in_words() const {
        const auto both = [](std::int32_t high, std::int32_t low) {
            return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
        };
        const std::int32_t flags = sequence_parallel | same_tokens << 1 | embedding_as_layer << 2 | loss_as_layer << 3 |
                                   in_a_v << 4 | static_cast<std::int32_t>(exchange) << 5 | zero << 8;
        return {both(what, tensor),
                both(context_parallel, expert),
                both(expert_tensor, flags),
                static_cast<std::uint64_t>(dense_ranks),
                static_cast<std::uint64_t>(expert_ranks),
                both(pipeline, virtual_pipeline),
                both(first_stage_layers, last_stage_layers)};
    }
};

/// The part of a layout that activations and operations of a layer depend on.
constexpr fold_key without_shards(const layout& l, std::int32_t what) {
    return {.what = what,
            .tensor = l.tensor,
            .context_parallel = l.context_parallel,
            .expert = l.expert,
            .expert_tensor = l.expert_tensor_ranks(),
            .zero = l.zero < 2 ? 0 : l.zero,  // sharded and gathered weights have formats of their own
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

/// The keys of a few results, of which there are a power of two. Each key has six places; where all are taken, a new
/// one takes the place of one of them.
template <std::size_t Slots>
class remembered_keys {
    static_assert(std::has_single_bit(Slots));

public:
    /// The place of a key. Where it is not known, the place is free for it.
    constexpr std::size_t place_of(const fold_key& key) { return place_of_words(key.in_words()); }
    constexpr std::size_t place_of(const fold_key::words& key) { return place_of_words(key); }
    /// Whether the result of the key at a place is known.
    constexpr bool is_known(std::size_t place) const { return entries_[place].known; }
    constexpr void set_known(std::size_t place) { entries_[place].known = true; }
    constexpr void clear() {
        for (entry& each : entries_) each.known = false;
    }

private:
    struct entry {
        bool known = false;      ///< the result, too
        std::uint64_t hash = 0;  ///< of the key, which tells most keys apart
        fold_key::words key{};
    };
    static constexpr std::size_t places = 6;  ///< of a key

    static constexpr std::size_t place(std::uint64_t hash, std::size_t i) {
        return (static_cast<std::size_t>(hash >> 48) + i) & (Slots - 1);
    }
    constexpr std::size_t place_of_words(const fold_key::words& key) {
        const std::uint64_t hash = key.hash();
        for (std::size_t i = 0; i < places; ++i) {
            const entry& at = entries_[place(hash, i)];
            if (at.hash == hash && at.known && at.key == key) return place(hash, i);
        }
        return free_place(hash, key);
    }
    /// A place for a key that has none: the first of its own that is free, or one of them in turn.
    constexpr std::size_t free_place(std::uint64_t hash, const fold_key::words& key) {
        std::size_t i = 0;
        while (i < places && entries_[place(hash, i)].known) ++i;
        const std::size_t free = place(hash, i < places ? i : replaced_++ % places);
        entries_[free] = {false, hash, key};
        return free;
    }

    entry entries_[Slots]{};
    std::size_t replaced_ = 0;
};

/// A few results by key.
template <class Value, std::size_t Slots = 64>
class remembered {
public:
    /// The value of a key: what make() returned for it last.
    template <class Make>
    constexpr const Value& get(const fold_key& key, const Make& make) {
        return value_at(keys_.place_of(key), make);
    }
    /// The same by the words of a key.
    template <class Make>
    constexpr const Value& get_by(const fold_key::words& key, const Make& make) {
        return value_at(keys_.place_of(key), make);
    }
    /// The same if it is remembered; else null.
    constexpr const Value* find_by(const fold_key::words& key) {
        const std::size_t at = keys_.place_of(key);
        return keys_.is_known(at) ? &values_[at].value : nullptr;
    }
    /// Forgets all, since the job is another.
    constexpr void clear() { keys_.clear(); }

private:
    template <class Make>
    constexpr const Value& value_at(std::size_t at, const Make& make) {
        if (!keys_.is_known(at)) {
            values_[at] = slot<Value>{make()};
            keys_.set_known(at);
        }
        return values_[at].value;
    }

    remembered_keys<Slots> keys_;
    slot<Value> values_[Slots]{};
};

/// What one micro-batch makes before and after the layers.
struct end_activations {
    loss_memory loss{};
    byte_count norm_backward{};  ///< held by the final norm in its backward pass, if that is the fullest moment of one
    byte_count before_layers{};  ///< saved, without `rotary_tables`
    byte_count rotary_tables{};  ///< saved: cosines and sines of the positions, which all layers read
    byte_count masks{};
    byte_count after_layers{};  ///< saved
};

/// What training keeps of the weights of a stage beside its layers.
struct end_states {
    training_state input{};   ///< before the layers
    training_state output{};  ///< after the layers
    training_state ends{};    ///< of both
};

/// What is remembered of a job that trains, on GPUs of one kind.
struct training_folds {
    remembered<training_state> states;          ///< of a kind of layer
    remembered<detail::end_states> end_states;  ///< of what stands on a stage beside the layers
    remembered<layer_activations> activations;  ///< of a kind of layer
    remembered<training_layer> layers;          ///< of a kind of layer, of both
    remembered<end_activations> ends;
    const modeling* code = nullptr;  ///< how the model's modules are written; null: not asked for yet
    bool described = false;          ///< where `code` is known: is_described()

    constexpr void clear() {
        states.clear();
        end_states.clear();
        activations.clear();
        layers.clear();
        ends.clear();
        code = nullptr;
    }
};

}  // namespace llmres::inline v0::detail
