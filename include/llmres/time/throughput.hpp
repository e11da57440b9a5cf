// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving/remembered.hpp>
#include <llmres/memory/training/remembered.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/time/steps/serving.hpp>
#include <llmres/time/steps/training.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// How fast does a job run, and what takes the time? The operations of the inventory at what kernels take
/// (time/kernels.hpp), with the exchanges, schedules, launches and transfers of the layout.
namespace llmres::inline v0 {

/// The speed of a job in a layout. `held` is its memory_of(). Preconditions: validate() holds for job, layout and
/// cluster.
constexpr job_speed speed_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                             const efficiency& e = default_efficiency);

/// Inputs that a model which generates nothing embeds, scores or classifies in a second, over all GPUs.
constexpr double inputs_per_second(const job_speed& speed, const job& j) {
    return speed.tokens_per_second.in(tokens_per_s) / static_cast<double>(computed_prompt_of(j).in(tokens));
}

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The card with achieved rates: the measured ones, and where there is none, its peak at the expected efficiency.
constexpr gpu as_achieved(gpu card, const efficiency& e) {
    const gpu_measured& m = card.measured;
    gpu_rates& r = card.rates;
    for (maybe<flop_rate>* peak :
         {&r.fp64, &r.fp64_tensor, &r.fp32, &r.tf32, &r.fp16, &r.bf16, &r.fp8, &r.fp6, &r.fp4, &r.int8, &r.int4})
        if (*peak) peak->value = peak->value * e.arithmetic.expected;
    if (m.tf32) r.tf32 = m.tf32;
    if (m.fp16) r.fp16 = m.fp16;
    if (m.bf16) r.bf16 = m.bf16;
    if (m.fp8) r.fp8 = m.fp8;
    if (m.int8) r.int8 = m.int8;
    card.memory.bandwidth = m.bandwidth ? *m.bandwidth : card.memory.bandwidth * e.bandwidth.expected;
    card.measured = {};
    return card;
}

/// The efficiencies with slow ends that hold what is not published of the GPU: products of long runs reached 0.6 of the
/// rate of bursts where the board's power limits them most (B200: training_matmul.csv beside gemm.csv), and few blocks
/// of attention leave more of a GPU idle the more multiprocessors it has (assumed_multiprocessors, at most 304 in the
/// tables).
constexpr efficiency widened_by_unknowns(const cluster& c, efficiency e) {
    if (!knows_power(c)) e.arithmetic.low *= 0.6;
    if (!c.gpu.sm_count) e.arithmetic.low *= assumed_multiprocessors / 304.0;
    return e;
}

/// Folds that layouts of one job on one cluster have in common: kept from one evaluation to the next, or made anew.
struct layout_folds {
    training_folds training;
    training_times of_training;
    serving_folds serving;
    serving_times of_serving;
    maybe<byte_count> usable;  ///< usable_memory()

    constexpr explicit layout_folds(folds_are folds = folds_are::made_anew)
        : training{folds}, of_training{folds}, serving{folds}, of_serving{folds} {}

    /// Forgets what depends on the fields of a job that a search may choose (micro-batch, recomputation, offloading,
    /// formats): the times of a training job's layers do not, but for the micro-batch, by which they are kept.
    constexpr void forget_choice() { training.clear(), of_training.work.clear(), serving.clear(), of_serving.clear(); }
    /// The same of a job that is served, where only the format of its cache is another.
    constexpr void forget_cache_format() { serving.forget_cache_format(), of_serving.forget_cache_format(); }
};

constexpr job_speed speed_with(const job& j, const layout& l, const memory_breakdown* held, const pricing& with,
                               layout_folds& folds) {
    return trains(j) ? training_speed(j, l, held, with, folds.of_training, folds.training)
                     : serving_speed(j, l, with, folds.of_serving);
}

/// A GPU on which what is said to be bf16 is computed in fp16.
constexpr cluster with_fp16_for_bf16(cluster c) {
    c.gpu.rates.bf16 = c.gpu.rates.fp16;
    c.gpu.measured.bf16 = c.gpu.measured.fp16;
    return c;
}

/// What use() makes of the rates that a job's kernels are priced with: on a measured GPU, those that it reached.
template <class Use>
constexpr auto with_rates(const job& j, const cluster& c, const efficiency& e, const Use& use) {
    const gpu_measured& m = c.gpu.measured;
    if (!m.bandwidth && !m.any_rate()) return use(pricing{c, c.gpu, e});
    cluster here = c;
    here.gpu = as_achieved(c.gpu, e);
    const bool arithmetic =
        m.rate(j.compute.arithmetic) && m.rate(arithmetic_of(weights_of(j), linear_arithmetic_of(j)));
    const efficiency relative = efficiency_of_measured(arithmetic, m.bandwidth.known, e, m.reach);
    return use(pricing{here, c.gpu, relative});
}

/// The same of a GPU as the job's runtime computes on it.
template <class Use>
constexpr auto with_pricing(const job& j, const cluster& c, const efficiency& e, const Use& use) {
    return serves_in_fp16(j, c.gpu) ? with_rates(j, with_fp16_for_bf16(c), e, use) : with_rates(j, c, e, use);
}

/// speed_of(), with what layouts of the same job and cluster have in common. `held` null: a speed
/// that none exceeds in this layout whatever it holds, in no expected time and no rate (training_speed()).
constexpr job_speed speed_of(const job& j, const layout& l, const cluster& c, const memory_breakdown* held,
                             const efficiency& e, layout_folds& folds) {
    if (upcasts(j, l)) return speed_of(upcast(j), l, c, held, e, folds);
    const auto with = [&](const efficiency& reached) {
        return with_pricing(j, c, reached,
                            [&](const pricing& priced) { return speed_with(j, l, held, priced, folds); });
    };
    const bool known_card = c.gpu.measured.any_rate() || (knows_power(c) && c.gpu.sm_count);
    efficiency reached = known_card ? e : widened_by_unknowns(c, e);
    if (trains(j)) {
        const double expected = e.arithmetic.expected, most = default_kernels.training;
        double& high = reached.arithmetic.high;
        if (high > most) high = expected > most ? expected : most;
    }
    return with(reached);
}

}  // namespace detail

constexpr job_speed speed_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                             const efficiency& e) {
    detail::layout_folds folds;
    return detail::speed_of(j, l, c, &held, e, folds);
}

}  // namespace llmres::inline v0
