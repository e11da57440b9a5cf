// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <llmres/answers/capacity.hpp>
#include <llmres/memory/memory.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"

/// What was measured in a case, beside what the library says of it.
namespace serving {

inline constexpr double one_gib = 1073741824.0;
inline constexpr double one_mib = 1048576.0;

struct figure {
    std::string id, label, what;
    double measured = 0, low = 0, expected = 0, high = 0;  // bytes

    double printed_to = 0;  ///< half the last digit that was printed, where it is coarser than one would think

    double error() const { return expected / measured - 1.0; }
    bool covered(double usual) const {
        const double rounding = printed_to > usual ? printed_to : usual;
        return low <= measured + rounding && high >= measured - rounding;
    }
};

/// Half the last digit that logs print: two places of GiB, one of MiB.
inline double rounding_of(const figure& f) {
    return f.what == "compute" || f.what == "total" ? 0.1 * one_mib : 0.0061 * one_gib;
}

/// Those that the row gives; none where the library refuses the job or the layout.
inline std::vector<figure> figures_of(const one_case& c);

// ---- what the library says ------------------------------------------------------------------------------------------

/// A case with its breakdowns.
struct answered {
    const one_case& c;
    layout single;           ///< without a pipeline: a sum over GPUs is what one GPU that has all layers holds
    memory_breakdown one{};  ///< of the fullest GPU
    memory_breakdown sum{};  ///< over the stages of a pipeline

    explicit answered(const one_case& of) : c(of), single(of.spread) {
        single.pipeline = 1;
        one = memory_of(c.task, c.spread, c.machines);
        sum = memory_of(c.task, single, c.machines);
    }

    bool ggml() const { return c.task.runtime.serving_kernels.fp32_activations; }
    bool pooled() const {
        const cache_pool p = c.task.runtime.cache.pool;
        return p == cache_pool::share_of_total || p == cache_pool::share_of_free || p == cache_pool::share_with_weights;
    }
    /// A cell in bytes; none where it is empty or zero.
    std::optional<double> cell(const char* column, double unit) const {
        const auto n = number(c.row.at(column));
        if (!n || *n <= 0) return {};
        return *n * unit;
    }
    bool noted(const char* words) const { return has(c.row.at("notes"), words); }
    figure against(const char* what, double measured, const interval<byte_count>& said) const {
        return {c.id,
                c.label,
                what,
                measured,
                static_cast<double>(said.low.in(bytes)),
                static_cast<double>(said.expected.in(bytes)),
                static_cast<double>(said.high.in(bytes))};
    }
};

inline interval<byte_count> peak_of(const memory_breakdown& m) {
    return m[memory_term::activations] + m[memory_term::logits];
}

// ---- figure by figure -----------------------------------------------------------------------------------------------

/// Logs of weights count those on GPUs; some of llama.cpp's, the file.
inline std::optional<figure> weights_figure(const answered& a) {
    const bool of_the_file = a.noted("weights = GGUF file") || a.noted("1619") ||
                             (a.ggml() && !a.noted("offloaded") && !a.noted("GPU weights"));
    if (!a.c.weights_known || !a.c.whole_model || of_the_file) return {};
    if (const auto per_gpu = a.cell("weights_gib_per_gpu", one_gib))
        return a.against("weights", *per_gpu, a.one[memory_term::weights]);
    if (const auto total = a.cell("weights_gib_total", one_gib))
        return a.against("weights", *total, a.sum[memory_term::weights]);
    return {};
}

/// The cache, or the pool of its blocks.
inline std::optional<figure> cache_figure(const answered& a) {
    const auto kv = a.cell("kv_cache_gib_per_gpu", one_gib);
    if (!kv) return {};
    if (!a.pooled()) return a.against("kv", *kv, a.sum[memory_term::kv_cache]);
    if (!a.c.with_gpu || !a.c.weights_known) return {};
    if (const auto pool = cache_pool_of(a.c.task, a.c.spread, a.c.machines))
        return a.against("pool", *kv, pool->memory);
    return {};
}

/// Bytes a token, from two figures of a pool's log.
inline std::optional<figure> cache_token_figure(const answered& a) {
    const auto kv = a.cell("kv_cache_gib_per_gpu", one_gib);
    const auto logged = number(a.c.row.at("kv_tokens"));
    if (!kv || !logged || !a.pooled() || !a.c.with_gpu || !a.c.weights_known) return {};
    job j = a.c.task;
    j.context = tokens(65536);
    j.model.max_context = {};
    const memory_breakdown longer = memory_of(j, a.c.spread, a.c.machines);
    return a.against("kv token", *kv / *logged, div_up(longer[memory_term::kv_cache].expected, 65536));
}

inline std::optional<figure> activation_figure(const answered& a) {
    if (const auto peak = a.cell("activation_gib", one_gib)) return a.against("activation", *peak, peak_of(a.one));
    return {};
}

/// Until its buffers had back ends of their own (January 2024), llama.cpp's "compute buffer total size" counted the
/// graph's descriptions too: 8192 tensors of 32 + 352 bytes, a graph of 2048 nodes and leafs, and 4099 hashed pointers.
/// On NVIDIA GPUs the table has the "VRAM scratch buffer" of the same logs, which does not.
inline constexpr byte_count graph_structs = bytes(8192 * (32 + 352) + (2 * 2048 + 4099) * 8);

/// llama.cpp's largest over the GPUs; without copies, that of a GPU that has all.
inline std::optional<figure> compute_figure(const answered& a) {
    const auto buffer = a.cell("compute_buffer_mib", one_mib);
    if (!buffer || !a.ggml()) return {};
    const one_case& c = a.c;
    interval<byte_count> fullest{};
    if (c.task.runtime.step.copies <= 1) fullest = peak_of(a.sum);
    for (std::int32_t i = 0; i < c.spread.pipeline && c.task.runtime.step.copies > 1; ++i) {
        const auto one = peak_of(serving_memory_of_stage(c.task, c.spread, c.task.runtime, i));
        if (one.expected > fullest.expected) fullest = one;
    }
    if (c.machines.gpu.vendor == gpu_vendor::apple && has(c.label, "b1600")) fullest += graph_structs;
    return a.against("compute", *buffer, fullest);
}

// ---- totals ---------------------------------------------------------------------------------------------------------

/// A sum over the GPUs of a pipeline, each of which has a peak of its own.
template <class Of>
interval<byte_count> over_gpus(const one_case& c, Of of) {
    interval<byte_count> all{};
    const runtime r = on_device(c.task.runtime, c.machines.gpu, c.spread);
    for (std::int32_t i = 0; i < c.spread.pipeline; ++i) all += of(serving_memory_of_stage(c.task, c.spread, r, i));
    return all;
}

/// What stays between steps.
inline interval<byte_count> resident(const answered& a) {
    job rest = a.c.task;
    rest.prompt = rest.output = {};
    const memory_breakdown between = memory_of(rest, a.single, a.c.machines);
    interval<byte_count> said =
        between[memory_term::weights] + between[memory_term::kv_cache] + a.c.task.runtime.process.workspace;
    // Between which steps is not said: the prompt's part of the cache is there from the first on.
    const byte_count cache = between[memory_term::kv_cache].low;
    said.low = said.low - cache + scaled_down(cache, ratio(a.c.task.prompt, a.c.task.context));
    return said;
}

/// `said` with the whole pool in place of what the sequences of the job take of it.
inline interval<byte_count> with_pool(const answered& a, interval<byte_count> said) {
    interval<byte_count> kv = a.sum[memory_term::kv_cache] + a.sum[memory_term::fragmentation];
    // vLLM gives back what its profiling run took, and short prompts take little.
    if (a.c.task.runtime.cache.pool == cache_pool::share_of_total) kv += peak_of(a.sum);
    if (const auto pool = cache_pool_of(a.c.task, a.single, a.c.machines))
        said = {said.low - kv.low + pool->memory.low, said.expected - kv.expected + pool->memory.expected,
                said.high - kv.high + pool->memory.high};
    if (said.high < said.expected) std::swap(said.high, said.low);
    return said;
}

inline interval<byte_count> total_said(const answered& a) {
    const one_case& c = a.c;
    // Torch's workspaces come from its allocator.
    const auto allocated = [&](const memory_breakdown& m) {
        return a.ggml() ? m.allocated : m.allocated + c.task.runtime.process.workspace;
    };
    interval<byte_count> said = allocated(a.sum);
    if (c.spread.pipeline > 1 && !a.ggml() && !a.pooled()) said = over_gpus(c, allocated);
    if (c.total == counted::reserved) said = over_gpus(c, [](const memory_breakdown& m) { return m.reserved; });
    if (c.total == counted::device) said = over_gpus(c, [](const memory_breakdown& m) { return m.total(); });
    if (c.total == counted::resident) said = resident(a);
    if (c.before) said += serving_memory(*c.before, c.spread).reserved;
    if (a.noted("single GPU")) said = a.one.total();
    return a.pooled() ? with_pool(a, said) : said;
}

inline std::optional<figure> total_figure(const answered& a) {
    // premAI's "MB" are nvidia-smi's MiB times 1.048576 (common/memory_tracker.py).
    const auto used = a.cell("total_used_mib", a.noted("MB, NVML") ? 1e6 : one_mib);
    if (!used || !a.c.weights_known || !a.c.whole_model) return {};
    figure f = a.against("total", *used, total_said(a));
    // Tables in GB give two places, or one, or none.
    if (a.noted("GB") || has(a.c.row.at("source"), "speed benchmark"))
        for (const double place : {1.0, 0.1, 0.01})
            if (const double n = *used / one_gib / place; std::fabs(n - std::round(n)) < 1e-4 / place) {
                f.printed_to = 0.5 * place * one_gib;
                break;
            }
    return f;
}

inline std::vector<figure> figures_of(const one_case& c) {
    if (const status s = validate(c.task); !s) return {};
    if (const status s = validate(c.spread, c.task.model); !s) return {};
    const answered a{c};
    std::vector<figure> all;
    for (const auto of :
         {weights_figure, cache_figure, cache_token_figure, activation_figure, compute_figure, total_figure})
        if (const auto f = of(a)) all.push_back(*f);
    return all;
}

}  // namespace serving
