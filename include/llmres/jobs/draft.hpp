// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/jobs/serving_options.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>

/// Speculative decoding with a smaller model beside the job's own, which drafts tokens for it to check.
namespace llmres::inline v0 {

/// What is asked of the runtime, with such a model loaded: its weights as published, or as the GGUF file of that mix,
/// and a cache in the job's format over the job's context. Its activations are not counted: they are smaller than the
/// checked model's, and never there at the same time.
constexpr serving_options with_draft(serving_options asked, const model& draft, const precision& kv_cache,
                                     const maybe<gguf_mix>& mix = {}) {
    asked.draft_weights = mix ? gguf_tensor_bytes(draft, *mix) : weight_bytes(draft, formats_of(draft));
    asked.draft_kv = kv_bytes_per_token(draft, kv_cache);
    // Of its embedding, unless that is the head too, a token reads one row.
    const auto all = static_cast<double>(count_parameters(draft).in(parameters));
    const double rows =
        draft.tied_head ? 0.0 : static_cast<double>(draft.vocabulary) * static_cast<double>(draft.hidden);
    const double used = static_cast<double>(count_active_parameters(draft).in(parameters)) - rows;
    asked.draft = {.flops = flops(2.0 * used),
                   .read = scaled_up(asked.draft_weights, used / all),
                   .layers = draft.layers.size,
                   .hidden = draft.hidden};
    return asked;
}

}  // namespace llmres::inline v0
