// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/runtimes/allocator.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What did a finished job really take, and what does that say of its runtime's profile? A scheduler that feeds back
/// what jobs took gets bounds that narrow; a log of an engine's start is fed back alike.
namespace llmres::inline v0 {

/// A figure that an engine prints, or a device shows. Figures of a GPU are of the fullest one.
enum class observed_figure : std::uint8_t {
    weights,          ///< the weights; of ggml those of all GPUs
    kv_cache,         ///< a cache that is allotted for the job, on all GPUs
    pool,             ///< the pool of cache blocks
    activation_peak,  ///< what the largest step takes beyond weights and cache
    beside_tensors,   ///< what the process takes beside tensors, its context excluded
    cuda_graphs,      ///< CUDA graphs
    compute_buffer,   ///< ggml's buffer of one GPU
    allocated,        ///< what PyTorch's allocator handed out at most
    reserved,         ///< what PyTorch's allocator reserved at most
    device_used,      ///< all that the device has lost
};
/// The names of the figures, in their order.
template <>
inline constexpr std::array<std::string_view, 10> names_of<observed_figure>{
    "weights",     "kv_cache",       "pool",      "activation_peak", "beside_tensors",
    "cuda_graphs", "compute_buffer", "allocated", "reserved",        "device_used"};

/// A figure that was observed of a job.
struct observation {
    observed_figure what{};   ///< which figure
    byte_count size{};        ///< how large
    byte_count printed_to{};  ///< half of the last digit that was printed
    /// Of a pool: what is beside tensors was observed as well. The pool then says only what else is deducted from it.
    bool beside_known = false;
};

/// What a figure is predicted to be. Empty where the runtime has none, and where the job is refused.
constexpr maybe<interval<byte_count>> predicted(observed_figure what, const job& j, const layout& l, const cluster& c);

/// The constants of a profile that observations determine. What is arithmetic is not among them.
enum class learnt_constant : std::uint8_t {
    workspace,        ///< process.workspace: libraries, and all that is not described
    stage_workspace,  ///< process.stage_workspace: the same on a stage of a pipeline, where the profile has its own
    communicator,     ///< process.communicator, where the layout has groups of GPUs that take it
    cuda_graphs,      ///< process.cuda_graphs
    layer_graphs,     ///< process.layer_graphs: CUDA graphs of a layer, where the profile counts them by layers
    context,          ///< process.context
    activations,      ///< accuracy.activations: activations over those that the inventory counts
    fragmentation,    ///< allocator.fragmentation
    logits,           ///< step.logits.bytes: what is alive for each logit
};
/// The paths of the constants in a profile as data, in their order.
template <>
inline constexpr std::array<std::string_view, 9> names_of<learnt_constant>{
    "process.workspace",    "process.stage_workspace", "process.communicator",
    "process.cuda_graphs",  "process.layer_graphs",    "process.context",
    "accuracy.activations", "allocator.fragmentation", "step.logits.bytes"};

/// What observations say of a constant.
struct constant_evidence {
    std::int32_t count = 0;  ///< observations
    double mean = 0;         ///< of the values that would have predicted them
    double squares = 0;      ///< sum of the squares of their distances to that mean
    friend constexpr bool operator==(const constant_evidence&, const constant_evidence&) = default;
};

/// A profile, and what was observed under it.
struct observed_profile {
    llmres::runtime prior{};                                                     ///< before any observation
    std::array<constant_evidence, names_of<learnt_constant>.size()> evidence{};  ///< by learnt_constant
    /// What is known of a constant.
    constexpr const constant_evidence& operator[](learnt_constant c) const {
        return evidence[static_cast<std::size_t>(c)];
    }
};

/// The profile with one observation more; the same where the observation determines no constant. The evidence x is the
/// value of the constant under which the figure F would have been predicted as it was observed, all else as in the job:
/// x = c + (observed - F(c)) / F'(c), F being linear in each constant. No evidence is below zero: a pool that would
/// need such a workspace says that logits, or else activations, take less. A figure within its bounds shows that no
/// constant has left its own: its evidence stays within the constant's bounds, and what is left of the difference is
/// evidence of CUDA graphs and of activations, within theirs. Nothing is learnt
/// - of logits where the job does not name max_num_seqs: a profiled peak has rows times bytes a logit, and a default
///   that was not taken looks as another kernel does;
/// - of a process from what the device lacks (pool, beside_tensors, device_used) where host and GPU share their memory:
///   the host's processes and file cache take of it too.
constexpr observed_profile observe(const observed_profile& before, const job& j, const layout& l, const cluster& c,
                                   const observation& seen);

/// How much the profile's own value counts beside what was observed, in observations.
enum class prior_weight : std::uint8_t {
    one,   ///< as much as one: a scheduler's jobs are of the version that the profile describes
    none,  ///< nothing: the logs are of another version
    /// As much as one observation while the mean of those seen lies within the profile's bounds, as nothing shows that
    /// the constant has moved; nothing beyond them, as then the version has another one.
    while_inside,
};

/// The constant after the observations: their mean, with the profile's value as one more (or not), and the bounds in
/// which the next one is expected with 95 % certainty. With n observations of mean x and squared distances S, prior
/// value m, half its bounds' width h and weight w (a normal distribution with a normal-inverse-gamma prior; Murphy,
/// "Conjugate Bayesian analysis of the Gaussian distribution", 2007, equations 86 to 101; four prior degrees of
/// freedom):
///     k = w + n,   mean = (w m + n x) / k,   a = 2 + n / 2,   b = (h / t4)^2 + S / 2 + w n (x - m)^2 / (2 k)
///     bounds = mean -+ t(2 a) sqrt(b (k + 1) / (a k))
/// t is the 97.5th percentile of Student's distribution. Without observations that is the prior itself; the prior's
/// lopsidedness fades as 1 / (1 + n).
constexpr interval<double> posterior(const interval<double>& prior, const constant_evidence& seen,
                                     prior_weight weight = prior_weight::one);

/// The profile with every observed constant as posterior() says, never below zero.
constexpr runtime learnt(const observed_profile& p, prior_weight weight = prior_weight::one);
/// The job's runtime with those constants, and the knobs that the job turns.
constexpr runtime with_learnt(runtime r, const observed_profile& p, prior_weight weight = prior_weight::one);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A runtime whose buffers are allocations of the device itself (ggml) prints a figure of each device; weights and
/// caches add up to those of one GPU that has all.
constexpr bool adds_up_over_gpus(const runtime& r) { return r.allocator.code == allocator_code::device; }

/// The largest compute buffer over the GPUs of a pipeline.
constexpr interval<byte_count> fullest_buffer(const job& j, const layout& l, const runtime& r) {
    layout whole = l;
    if (r.step.copies <= 1) whole.pipeline = 1;
    interval<byte_count> fullest{};
    for (std::int32_t stage = 0; stage < whole.pipeline; ++stage) {
        const memory_breakdown m = serving_memory_of_stage(j, whole, r, stage);
        const interval<byte_count> buffer = m[memory_term::activations] + m[memory_term::logits];
        if (buffer.expected > fullest.expected) fullest = buffer;
    }
    return fullest;
}

/// Where a profile has a constant that is a size; null for a part.
template <class Runtime>
constexpr auto size_constant(Runtime& r, learnt_constant c) -> decltype(&r.process.context) {
    switch (c) {
        case learnt_constant::workspace: return &r.process.workspace;
        case learnt_constant::stage_workspace: return &r.process.stage_workspace;
        case learnt_constant::communicator: return &r.process.communicator;
        case learnt_constant::cuda_graphs: return &r.process.cuda_graphs;
        case learnt_constant::layer_graphs: return &r.process.layer_graphs;
        case learnt_constant::context: return &r.process.context;
        default: return nullptr;
    }
}

/// Where a profile has a constant that is a part.
template <class Runtime>
constexpr auto& part_constant(Runtime& r, learnt_constant c) {
    return c == learnt_constant::activations     ? r.accuracy.activations
           : c == learnt_constant::fragmentation ? r.allocator.fragmentation
                                                 : r.step.logits.bytes;
}

/// A constant as numbers: bytes, or a part.
constexpr interval<double> constant_of(const runtime& r, learnt_constant c) {
    const interval<byte_count>* size = size_constant(r, c);
    if (size == nullptr) return part_constant(r, c);
    return {static_cast<double>(size->low.in(bytes)), static_cast<double>(size->expected.in(bytes)),
            static_cast<double>(size->high.in(bytes))};
}

constexpr void set_constant(runtime& r, learnt_constant c, const interval<double>& value) {
    if (interval<byte_count>* size = size_constant(r, c))
        *size = {bytes(static_cast<std::int64_t>(value.low)), bytes(static_cast<std::int64_t>(value.expected)),
                 bytes(static_cast<std::int64_t>(value.high))};
    else
        part_constant(r, c) = value;
}

/// Which constant the CUDA graphs of a profile follow.
constexpr learnt_constant graphs_behind(const runtime& r) {
    return r.process.layer_graphs.high > byte_count{} ? learnt_constant::layer_graphs : learnt_constant::cuda_graphs;
}

/// The constant that a figure determines; none for what is arithmetic.
constexpr maybe<learnt_constant> constant_behind(observed_figure what, const runtime& r, const layout& l) {
    switch (what) {
        case observed_figure::pool:
        case observed_figure::beside_tensors:
            if (communicators(r, l).high > byte_count{}) return learnt_constant::communicator;
            return has_stage_workspace(r, l) ? learnt_constant::stage_workspace : learnt_constant::workspace;
        case observed_figure::cuda_graphs: return graphs_behind(r);
        case observed_figure::activation_peak:
        case observed_figure::compute_buffer:
        case observed_figure::allocated: return learnt_constant::activations;
        case observed_figure::reserved: return learnt_constant::fragmentation;
        case observed_figure::device_used: return learnt_constant::context;
        case observed_figure::weights:
        case observed_figure::kv_cache: break;
    }
    return {};
}

/// The value of a constant under which the figure would have been predicted as it was observed; none where the figure
/// does not depend on the constant.
constexpr maybe<double> value_behind(learnt_constant constant, const job& j, const layout& l, const cluster& c,
                                     const observation& seen) {
    const auto expected = [&](const job& asked) -> maybe<double> {
        const auto said = predicted(seen.what, asked, l, c);
        if (!said) return {};
        return static_cast<double>(said->expected.in(bytes));
    };
    const interval<double> now = constant_of(j.runtime, constant);
    const bool is_size = size_constant(j.runtime, constant) != nullptr;
    const double step = is_size ? 64.0 * 1048576.0 : 0.25;
    job moved = j;
    set_constant(moved.runtime, constant, {now.low, now.expected + step, now.high + step});
    const maybe<double> before = expected(j), after = expected(moved);
    if (!before || !after) return {};
    const double slope = (*after - *before) / step;
    // A figure that something else determines says nothing: it moves by less than half of a size, a 50th of itself for
    // a part, a MiB for a byte of each logit.
    const double least = is_size ? 0.5 : constant == learnt_constant::logits ? 1048576.0 : 0.02 * *before;
    if (!(slope >= least || slope <= -least) || slope == 0) return {};
    return now.expected + (static_cast<double>(seen.size.in(bytes)) - *before) / slope;
}

/// Whether a figure is measured as what the device lacks, in which all of its users count.
constexpr bool is_taken_from_device(observed_figure what) {
    return what == observed_figure::pool || what == observed_figure::beside_tensors ||
           what == observed_figure::device_used;
}

/// Whether a step's peak can tell what is alive for each logit: the job says how many rows a profiling run computes.
constexpr bool tells_logits(const job& j) {
    return j.runtime.step.logits.rows != scored_tokens::profiled || j.options.max_num_seqs > 0;
}

/// Whether the figure lies within its bounds, to the digits that were printed.
constexpr bool is_expected(const job& j, const layout& l, const cluster& c, const observation& seen) {
    const maybe<interval<byte_count>> said = predicted(seen.what, j, l, c);
    return said && said->low <= seen.size + seen.printed_to && seen.size <= said->high + seen.printed_to;
}

/// The profile with a constant's evidence.
constexpr observed_profile with_evidence(observed_profile p, learnt_constant constant, double value) {
    constant_evidence& known = p.evidence[static_cast<std::size_t>(constant)];
    ++known.count;
    const double away = value - known.mean;  // Welford's recurrence
    known.mean += away / known.count;
    known.squares += away * (value - known.mean);
    return p;
}

/// Of a figure within its bounds: evidence of a constant within its own, and of what it leaves of the difference, that
/// of CUDA graphs and activations.
constexpr observed_profile share_evidence(const observed_profile& before, job j, const layout& l, const cluster& c,
                                          const observation& seen, learnt_constant first) {
    observed_profile after = before;
    for (const learnt_constant constant : {first, graphs_behind(j.runtime), learnt_constant::activations}) {
        if (constant == first && after.evidence != before.evidence) continue;
        const maybe<double> value = value_behind(constant, j, l, c, seen);
        if (!value) continue;
        const interval<double> own = constant_of(before.prior, constant);
        const double within = *value < own.low ? own.low : *value > own.high ? own.high : *value;
        after = with_evidence(after, constant, within);
        if (within == *value) break;
        set_constant(j.runtime, constant, {own.low, within, own.high});
    }
    return after;
}

/// The 97.5th percentile of Student's distribution (Cornish and Fisher's expansion; Abramowitz and Stegun 26.7.5).
constexpr double student(double degrees) {
    constexpr double z = 1.959964;
    return z + (z * z * z + z) / (4 * degrees) +
           (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96 * degrees * degrees);
}

}  // namespace detail

constexpr maybe<interval<byte_count>> predicted(observed_figure what, const job& j, const layout& l, const cluster& c) {
    if (!detail::validate_all(j, l, c)) return {};
    layout counted = l;
    if (detail::adds_up_over_gpus(j.runtime)) counted.pipeline = 1;
    const runtime r = on_device(j, c.gpu, l);
    switch (what) {
        case observed_figure::weights: return memory_of(j, counted, c)[memory_term::weights];
        case observed_figure::kv_cache: return memory_of(j, counted, c)[memory_term::kv_cache];
        case observed_figure::pool: {
            const result<pool_size> pool = cache_pool_of(j, l, c);
            return pool ? maybe<interval<byte_count>>{pool->memory} : maybe<interval<byte_count>>{};
        }
        case observed_figure::activation_peak: {
            const memory_breakdown m = memory_of(j, l, c);
            return m[memory_term::activations] + m[memory_term::logits];
        }
        case observed_figure::beside_tensors: {
            const memory_breakdown m = memory_of(j, l, c);
            return m[memory_term::workspace] + m[memory_term::communication];
        }
        case observed_figure::cuda_graphs: return trains(j) ? r.process.cuda_graphs : detail::graphs_of(j, r, l);
        case observed_figure::compute_buffer: return detail::fullest_buffer(j, l, r);
        case observed_figure::allocated: return memory_of(j, l, c).allocated;
        case observed_figure::reserved: return memory_of(j, l, c).reserved;
        case observed_figure::device_used: return memory_of(j, l, c).total();
    }
    return {};
}

constexpr observed_profile observe(const observed_profile& before, const job& j, const layout& l, const cluster& c,
                                   const observation& seen) {
    maybe<learnt_constant> constant = detail::constant_behind(seen.what, j.runtime, l);
    if (seen.what == observed_figure::pool && seen.beside_known) constant = detail::graphs_behind(j.runtime);
    if (!constant || (shares_host_memory(c.gpu) && detail::is_taken_from_device(seen.what))) return before;
    maybe<double> value = detail::value_behind(*constant, j, l, c, seen);
    // A pool so large that less than nothing would be beside tensors: the step's peak is smaller than the profile says.
    // And a peak that does not move with activations is that of the logits.
    const bool of_peak = seen.what == observed_figure::pool ? value && *value < 0 && !seen.beside_known
                                                            : seen.what == observed_figure::activation_peak && !value;
    if (of_peak) {
        value = {};
        constant = learnt_constant::logits;
        if (detail::tells_logits(j)) value = detail::value_behind(*constant, j, l, c, seen);
        if (!value) {
            constant = learnt_constant::activations;
            value = detail::value_behind(*constant, j, l, c, seen);
        }
    }
    // No graphs are deducted from a pool that would need less than none.
    if (seen.beside_known && value && *value < 0) value = 0.0;
    if (!value || *value < 0) return before;
    if (detail::is_expected(j, l, c, seen)) return detail::share_evidence(before, j, l, c, seen, *constant);
    return detail::with_evidence(before, *constant, *value);
}

constexpr interval<double> posterior(const interval<double>& prior, const constant_evidence& seen,
                                     prior_weight weight) {
    if (seen.count == 0) return prior;
    const double n = seen.count;
    const bool counts =
        weight == prior_weight::one || (weight == prior_weight::while_inside && prior.contains(seen.mean));
    const double w = counts ? 1.0 : 0.0;
    const double k = w + n;
    const double mean = (w * prior.expected + n * seen.mean) / k;
    const double half = (prior.high - prior.low) / 2;
    const double a = 2 + n / 2;
    const double off = seen.mean - prior.expected;
    const double width_at_four = half / detail::student(4);
    const double b = width_at_four * width_at_four + seen.squares / 2 + w * n * off * off / (2 * k);
    const double side = detail::student(2 * a) * detail::square_root(b * (k + 1) / (a * k));
    const double lopsided = half > 0 ? (prior.high + prior.low - 2 * prior.expected) / (2 * half) / (1 + n) : 0;
    const double low = mean - side * (1 - lopsided);
    return {low > 0 ? low : 0, mean > 0 ? mean : 0, mean + side * (1 + lopsided)};
}

constexpr runtime with_learnt(runtime r, const observed_profile& p, prior_weight weight) {
    for (std::size_t i = 0; i < p.evidence.size(); ++i) {
        const auto constant = static_cast<learnt_constant>(i);
        if (p.evidence[i].count == 0) continue;
        interval<double> value = posterior(detail::constant_of(p.prior, constant), p.evidence[i], weight);
        if (value.high < value.expected) value.high = value.expected;  // of evidence below zero
        detail::set_constant(r, constant, value);
    }
    return r;
}

constexpr runtime learnt(const observed_profile& p, prior_weight weight) { return with_learnt(p.prior, p, weight); }

}  // namespace llmres::inline v0
