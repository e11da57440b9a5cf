// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/gguf_mix.hpp>
#include <llmres/gguf_tensors.hpp>
#include <llmres/kv_cache.hpp>
#include <llmres/maybe.hpp>
#include <llmres/model.hpp>
#include <llmres/precision.hpp>
#include <llmres/runtime.hpp>
#include <llmres/weight_formats.hpp>

/// Speculative decoding with a smaller model beside the job's own, which drafts tokens for it to check.
namespace llmres {

/// The engine with such a model loaded: its weights as published, or as the GGUF file of that mix, and a cache in the job's
/// format over the job's context. (Its activations are smaller than the checked model's, and never there at the same time.)
constexpr runtime with_draft(runtime r, const model& draft, const precision& kv_cache, const maybe<gguf_mix>& mix = {}) {
    r.draft_weights = mix ? gguf_tensor_bytes(draft, *mix) : weight_bytes(draft, formats_of(draft));
    r.draft_kv = kv_bytes_per_token(draft, kv_cache);
    return r;
}

}  // namespace llmres
