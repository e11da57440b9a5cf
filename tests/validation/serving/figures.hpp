// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <llmres/answers/capacity.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rows.hpp"

/// What was measured of a row, beside what the library says of it.
namespace serving {

inline constexpr double one_gib = 1073741824.0;
inline constexpr double one_mib = 1048576.0;

struct figure {
    std::string id, label, what;
    double measured = 0, low = 0, expected = 0, high = 0;  // bytes

    double printed_to = 0;  ///< half the last digit that was printed, where it is coarser than one would think

    double error() const { return expected / measured - 1.0; }
    /// The width of the bounds, as a part of what is expected.
    double width() const { return expected > 0 ? (high - low) / expected : 0; }
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
inline std::vector<figure> figures_of(const row& r);

/// A log names a file by the type that most of it is in, its own recipe's or not: one whose size, which the log gives
/// as well, is another's was made by another, and its weights are not compared.
inline bool other_recipe(const row& r) {
    const auto file = r.figure("file");
    if (!file || !r.job().gguf) return false;
    const double predicted = static_cast<double>(gguf_tensor_bytes(r.job().model, *r.job().gguf).in(bytes));
    return std::fabs(predicted / *file - 1.0) > 0.005;
}

// ---- what the library says ------------------------------------------------------------------------------------------

/// A row with its breakdowns.
struct answered {
    const row& r;
    layout single;           ///< without a pipeline: a sum over GPUs is what one GPU that has all layers holds
    memory_breakdown one{};  ///< of the fullest GPU
    memory_breakdown sum{};  ///< over the stages of a pipeline
    bool recipe;             ///< its weights are somebody's own recipe

    explicit answered(const row& asked) : r(asked), single(asked.layout()), recipe(other_recipe(asked)) {
        single.pipeline = 1;
        one = memory_of(r.job(), r.layout(), r.cluster());
        sum = memory_of(r.job(), single, r.cluster());
    }

    bool ggml() const { return r.job().runtime.serving_kernels.fp32_activations; }
    bool pooled() const { return takes_fraction(r.job().runtime.cache); }
    figure against(const char* what, double measured, const interval<byte_count>& said) const {
        return {r.id,
                r.label,
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

inline std::optional<figure> weights_figure(const answered& a) {
    if (a.recipe) return {};
    if (const auto one = a.r.figure("weights")) return a.against("weights", *one, a.one[memory_term::weights]);
    if (const auto all = a.r.figure("weights_of_all")) return a.against("weights", *all, a.sum[memory_term::weights]);
    return {};
}

/// The cache, or the pool of its blocks.
inline std::optional<figure> cache_figure(const answered& a) {
    if (const auto kv = a.r.figure("kv")) return a.against("kv", *kv, a.sum[memory_term::kv_cache]);
    const auto measured = a.r.figure("pool");
    if (!measured || a.recipe) return {};
    if (const auto pool = cache_pool_of(a.r.job(), a.r.layout(), a.r.cluster()))
        return a.against("pool", *measured, pool->memory);
    return {};
}

/// Bytes a token, from two figures of a pool's log.
inline std::optional<figure> cache_token_figure(const answered& a) {
    const auto pool = a.r.figure("pool"), logged = a.r.figure("pool_tokens");
    if (!pool || !logged || a.recipe) return {};
    job j = a.r.job();
    j.context = tokens(65536);
    j.model.max_context = {};
    const memory_breakdown longer = memory_of(j, a.r.layout(), a.r.cluster());
    return a.against("kv token", *pool / *logged, div_up(longer[memory_term::kv_cache].expected, 65536));
}

inline std::optional<figure> activation_figure(const answered& a) {
    if (const auto peak = a.r.figure("activation")) return a.against("activation", *peak, peak_of(a.one));
    return {};
}

/// llama.cpp's largest over the GPUs; without copies, that of a GPU that has all.
inline std::optional<figure> compute_figure(const answered& a) {
    const auto buffer = a.r.figure("compute");
    if (!buffer) return {};
    const runtime& runs = a.r.job().runtime;
    interval<byte_count> fullest{};
    if (runs.step.copies <= 1) fullest = peak_of(a.sum);
    for (std::int32_t i = 0; i < a.r.layout().pipeline && runs.step.copies > 1; ++i) {
        const auto one = peak_of(serving_memory_of_stage(a.r.job(), a.r.layout(), runs, i));
        if (one.expected > fullest.expected) fullest = one;
    }
    return a.against("compute", *buffer, fullest);
}

// ---- totals ---------------------------------------------------------------------------------------------------------

/// A sum over the GPUs of a pipeline, each of which has a peak of its own.
template <class Counted>
interval<byte_count> over_gpus(const row& r, Counted counted) {
    interval<byte_count> all{};
    const runtime runs = on_device(r.job(), r.cluster().gpu, r.layout());
    for (std::int32_t i = 0; i < r.layout().pipeline; ++i)
        all += counted(serving_memory_of_stage(r.job(), r.layout(), runs, i));
    return all;
}

/// What stays between steps.
inline interval<byte_count> resident(const answered& a) {
    job rest = a.r.job();
    rest.prompt = rest.output = {};
    const memory_breakdown between = memory_of(rest, a.single, a.r.cluster());
    interval<byte_count> said =
        between[memory_term::weights] + between[memory_term::kv_cache] + a.r.job().runtime.process.workspace;
    // Between which steps is not said: the prompt's part of the cache is there from the first on.
    const byte_count cache = between[memory_term::kv_cache].low;
    said.low = said.low - cache + scaled_down(cache, ratio(a.r.job().prompt, a.r.job().context));
    return said;
}

/// `said` with the whole pool in place of what the sequences of the job take of it.
inline interval<byte_count> with_pool(const answered& a, interval<byte_count> said) {
    interval<byte_count> kv = a.sum[memory_term::kv_cache] + a.sum[memory_term::fragmentation];
    // vLLM gives back what its profiling run took, and short prompts take little.
    if (a.r.job().runtime.cache.pool == cache_pool::share_of_total) kv += peak_of(a.sum);
    if (const auto pool = cache_pool_of(a.r.job(), a.single, a.r.cluster()))
        said = {said.low - kv.low + pool->memory.low, said.expected - kv.expected + pool->memory.expected,
                said.high - kv.high + pool->memory.high};
    if (said.high < said.expected) std::swap(said.high, said.low);
    return said;
}

inline interval<byte_count> total_said(const answered& a, const std::string& counter) {
    // Torch's workspaces come from its allocator.
    const auto allocated = [&](const memory_breakdown& m) {
        return a.ggml() ? m.allocated : m.allocated + a.r.job().runtime.process.workspace;
    };
    interval<byte_count> said = allocated(a.sum);
    if (a.r.layout().pipeline > 1 && !a.ggml() && !a.pooled()) said = over_gpus(a.r, allocated);
    if (counter == "reserved") said = over_gpus(a.r, [](const memory_breakdown& m) { return m.reserved; });
    if (counter == "device") said = over_gpus(a.r, [](const memory_breakdown& m) { return m.total(); });
    if (counter == "resident") said = resident(a);
    if (a.r.before) said += serving_memory(*a.r.before, a.r.layout()).reserved;
    if (a.r.measured.value("one_gpu", false)) said = a.one.total();
    return a.pooled() ? with_pool(a, said) : said;
}

inline std::optional<figure> total_figure(const answered& a) {
    const auto used = a.r.figure("total");
    if (!used || a.recipe) return {};
    figure f = a.against("total", *used, total_said(a, a.r.measured.at("counter")));
    f.printed_to = a.r.figure("printed_to").value_or(0);
    return f;
}

inline std::vector<figure> figures_of(const row& r) {
    if (const status s = validate(r.job()); !s) return {};
    if (const status s = validate(r.layout(), r.job().model); !s) return {};
    const answered a{r};
    std::vector<figure> all;
    for (const auto made :
         {weights_figure, cache_figure, cache_token_figure, activation_figure, compute_figure, total_figure})
        if (const auto f = made(a)) all.push_back(*f);
    return all;
}

}  // namespace serving
