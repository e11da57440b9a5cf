// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <string_view>

/// The head of a model, as documents name it: "embedding" (also "pooled") makes one vector of a whole input;
/// "classification" scores its classes, "labels" many, two where the document does not say; "reranking" gives one
/// score; "masked_lm" predicts the masked tokens of an encoder, as it was pretrained.
namespace llmres::inline v0 {

/// The model with a head by that name. `classes`: of a classification.
inline result<model> with_head(const model& m, std::string_view head, std::int64_t classes = 2);

/// The name of a model's head; empty of one that generates tokens.
constexpr std::string_view head_name(const model& m) {
    if (generates(m)) return "";
    if (m.head.kind == head_kind::masked_lm) return "masked_lm";
    return classes_of(m) > 0 ? "classification" : "embedding";
}

/// The head that a model is pretrained with: an encoder of tokens predicts those that are masked.
constexpr model with_pretraining_head(model m) {
    if (m.head.kind != head_kind::encoder || m.vocabulary == 0) return m;
    if (const maybe<model> published = with_masked_lm_head(m)) return *published;
    m.head.kind = head_kind::masked_lm;
    return m;
}

// ---- detail ---------------------------------------------------------------------------------------------------------

inline result<model> with_head(const model& m, std::string_view head, std::int64_t classes) {
    if (head == "masked_lm") {
        if (m.head.kind == head_kind::masked_lm) return m;
        if (m.head.kind == head_kind::encoder && m.vocabulary > 0) return with_pretraining_head(m);
        return refused(error_code::unsupported, "head", head,
                       "an encoder of tokens, whose pretraining predicts those that are masked");
    }
    const bool embeds = head == "embedding" || head == "pooled";
    if (!embeds && head != "classification" && head != "reranking")
        return refused(error_code::unknown, "head", head, "embedding, classification, reranking or masked_lm");
    for (const layer& kind : m.layers.distinct())
        if (generates(m) && kind.attention.cross != cross_attention::none)
            return refused(error_code::unsupported, "head", head,
                           "a decoder that reads no encoder, or an encoder alone");
    if (embeds) return pooled(m);
    return classifier(m, head == "reranking" ? 1 : classes);
}

namespace detail {

/// Gives a model the head that an object names by "head", with its "labels"; where it names none, that of `usual`, if
/// there is any.
inline status take_head(config_fields& fields, model& m, std::string_view usual = "") {
    const std::string_view head = fields.text_or("head", usual);
    const std::int64_t labels = fields.number_or("labels", 2, 1, 1 << 20);
    if (fields.has("labels") && head != "classification")
        fields.fail(error_code::inconsistent, "labels", "labels of a classification: \"head\": \"classification\"");
    if (!fields.ok()) return fields.error();
    if (head.empty()) return done{};
    const result<model> with = with_head(m, head, labels);
    if (!with) return refused(with.error().code, fields.label("head"), with.error().value, with.error().expected);
    m = *with;
    return done{};
}

}  // namespace detail
}  // namespace llmres::inline v0
