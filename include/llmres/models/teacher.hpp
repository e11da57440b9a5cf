// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>

/// A model that computes beside one that is trained, and is not trained itself: the teacher of a distillation.
namespace llmres::inline v0 {

/// What a plan asks of a teacher: its weights, and one of its layers. A job holds it whole, in a twelfth of a model's
/// size. All its layers count as those of the kind that it has most of.
struct teacher {
    text<63> name{};                        ///< its id: "qwen2.5-7b"
    text<31> architecture{};                ///< the family, Hugging Face's `model_type`
    std::int32_t layers = 0;                ///< its layers; 0: there is no teacher
    std::int64_t vocabulary = 0;            ///< words that it scores
    std::int64_t hidden = 0;                ///< features of the residual stream
    std::int64_t head_width = 0;            ///< features that its head reads, where they are not `hidden`; else 0
    layer kind{};                           ///< the kind that it has most layers of
    norm_kind final_norm = norm_kind::rms;  ///< the norm after the last layer
    precision weights = bf16;               ///< format of its weights
    byte_count held{};                      ///< all its weights in that format

    /// True where there is one.
    constexpr bool known() const { return layers > 0; }
};

/// A model as a teacher, its weights as published or in another format.
constexpr teacher teacher_of(const model& m, const maybe<precision>& weights = {}) {
    teacher made{.name = m.name,
                 .architecture = m.architecture,
                 .layers = m.layers.size,
                 .vocabulary = scored_vocabulary(m),
                 .hidden = m.hidden,
                 .head_width = m.embedding_width,
                 .final_norm = m.final_norm,
                 .weights = weights.value_or(m.weights)};
    const auto counts = m.layers.counts(0, m.layers.size);
    std::size_t most = 0;
    for (std::size_t k = 1; k < counts.size(); ++k)
        if (counts[k] > counts[most]) most = k;
    made.kind = m.layers.kinds[most];
    made.held = weight_bytes(m, weights ? formats_for(*weights) : formats_of(m));
    return made;
}

/// A model of so many equal layers.
constexpr model model_of(const teacher& t) {
    return {.name = t.name,
            .architecture = t.architecture,
            .vocabulary = t.vocabulary,
            .hidden = t.hidden,
            .layers = {t.layers, t.kind},
            .final_norm = t.final_norm,
            .embedding_width = t.head_width,
            .weights = t.weights};
}

}  // namespace llmres::inline v0
