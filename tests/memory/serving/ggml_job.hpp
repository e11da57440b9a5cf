// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What tests of graphs that ggml lays out start from.
namespace ggml_jobs {

using namespace llmres;

/// A job that llama.cpp serves in steps of so many tokens against caches of 1,024 cells. It has no layers yet.
inline job laid_out(std::int64_t hidden, std::int64_t words, std::int64_t step) {
    job j;
    j.model.hidden = hidden;
    j.model.vocabulary = words;
    j.batch = 1;
    j.prompt = tokens(1000);
    j.output = tokens(24);
    j.compute = fp16;
    j.weights = fp16;
    runtime& r = j.runtime;
    r.identity.name = "ggml";
    r.cache.pool = cache_pool::allotted;
    r.cache.block = tokens(256);
    r.step.logits.rows = scored_tokens::chunk;
    r.step.logits.bytes = {4.0, 4.0, 4.0};
    set_batched_tokens(r.step, tokens(step));
    r.serving_kernels.fp32_activations = true;
    r.serving_kernels.graph.laid_out = true;
    return j;
}

}  // namespace ggml_jobs
