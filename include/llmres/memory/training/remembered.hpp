// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/memo.hpp>
#include <llmres/values/units.hpp>

/// What the evaluations of one job in many layouts have in common: results of folds over layers and weights, each kept
/// by what it depends on.
namespace llmres::inline v0::detail {

/// Key of a fold over a layer, or over a place beside the layers: all that it depends on of a layout and of the job.
/// Parts of a step ask for the job as it is, with its weights in fp32 (upcasts()), or with nothing offloaded.
struct layer_fold {
    layer_split split{};
    std::int32_t of = 0;  ///< the kind of layer, or what stands on a stage beside the layers
    sdpa_backend sdpa{};
    std::int32_t weight_bytes = 0;  ///< of an element
    bool offloads = false;

    constexpr std::uint64_t mix() const { return mixed(split.mix(), of, sdpa, 2 * weight_bytes + offloads); }
    friend constexpr bool operator==(const layer_fold&, const layer_fold&) = default;
};

/// Key of a fold over weights, whose state ZeRO shards: all that it depends on.
struct state_fold {
    layer_fold layer{};
    zero_split shards{};

    constexpr std::uint64_t mix() const { return mixed(layer.mix(), shards.mix()); }
    friend constexpr bool operator==(const state_fold&, const state_fold&) = default;
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
    memo<state_fold, training_state> states;          ///< of a kind of layer
    memo<state_fold, detail::end_states> end_states;  ///< of what stands on a stage beside the layers
    memo<layer_fold, layer_activations> activations;  ///< of a kind of layer
    memo<state_fold, training_layer> layers;          ///< of a kind of layer, of both
    memo<layer_fold, end_activations> ends;
    const modeling* code = nullptr;  ///< how the model's modules are written; null: not asked for yet
    bool described = false;          ///< where `code` is known: is_described()

    constexpr explicit training_folds(folds_are folds = folds_are::made_anew)
        : states{folds}, end_states{folds}, activations{folds}, layers{folds}, ends{folds} {}

    /// The modules of the model, found once.
    constexpr const modeling& code_of(const model& m) {
        if (code == nullptr) {
            code = &modeling_of(m);
            described = is_described(m);
        }
        return *code;
    }
    /// is_described()
    constexpr bool describes(const model& m) { return code_of(m), described; }
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
