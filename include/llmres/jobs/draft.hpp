// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>

/// Speculative decoding with a smaller model beside the job's own, which drafts tokens for it to check.
namespace llmres::inline v0 {

/// The engine with such a model loaded: its weights as published, or as the GGUF file of that mix, and a cache in the
/// job's format over the job's context. (Its activations are smaller than the checked model's, and never there at the
/// same time.)
constexpr runtime with_draft(runtime r, const model& draft, const precision& kv_cache,
                             const maybe<gguf_mix>& mix = {}) {
    r.options.draft_weights = mix ? gguf_tensor_bytes(draft, *mix) : weight_bytes(draft, formats_of(draft));
    r.options.draft_kv = kv_bytes_per_token(draft, kv_cache);
    return r;
}

}  // namespace llmres::inline v0
