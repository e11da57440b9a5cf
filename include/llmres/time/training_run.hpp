// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How long does a training run take: its steps, days and GPU hours; with checkpoints and failures its goodput and the
/// best time between two checkpoints?
///
///     const auto all = time_of_run({.trained = tokens(15'000'000'000'000)}, job, plan.layout, plan.speed);
namespace llmres::inline v0 {

/// What a training run is: how much is trained, and what interrupts it.
struct training_run {
    token_count trained{};        ///< tokens of the whole run; zero: `epochs` over `samples`
    double epochs = 1;            ///< passes over the samples
    std::int64_t samples = 0;     ///< of one pass
    token_count sample_tokens{};  ///< of a sample on average, where samples are packed; zero: a sequence has one sample
    maybe<duration> mtbf{};       ///< mean time between failures of all GPUs together
    maybe<duration> gpu_mtbf{};   ///< mean time between failures of one GPU; they fail independently of each other
    maybe<duration> checkpoint{};           ///< for which training stands still while a checkpoint is written
    duration written{};                     ///< of a checkpoint written beside training: none begins before it is there
    maybe<duration> checkpoint_interval{};  ///< of training between two checkpoints; default: best_interval()
    duration restart{};                     ///< from a failure until the last checkpoint is loaded and training goes on
};

/// How long a training run takes.
struct training_time {
    std::int64_t steps = 0;                 ///< optimizer steps
    token_count trained{};                  ///< tokens of these: a last step that is not full counts as one
    token_count rounded_up{};               ///< how many of them were not asked for
    interval<duration> computing{};         ///< all steps, without checkpoints and failures
    interval<duration> total{};             ///< with them: computing / goodput
    maybe<duration> checkpoint{};           ///< for which training stands still at each; absent where none is written
    double goodput = 1;                     ///< the part of the total in which steps are computed that are not lost
    maybe<duration> checkpoint_interval{};  ///< of training between two checkpoints; absent where none is written
    maybe<duration> mtbf{};                 ///< of all GPUs together
    double failures = 0;                    ///< expected over the whole run
    std::int64_t gpus = 0;                  ///< of the layout
    /// The time of all GPUs.
    constexpr interval<duration> gpu_time() const {
        const auto n = static_cast<double>(gpus);
        return {total.low * n, total.expected * n, total.high * n};
    }
};

/// Tokens of an optimizer step, the padding of samples to the sequence included.
constexpr token_count tokens_of_step(const job& j, const layout& l) {
    return sequence_of(j) * (sequences_at_once(j, l) * micro_batches(j, l) * sequences_of_sample(j.preference));
}

/// The time of training between two checkpoints with the least time lost, for checkpoints of c seconds and a mean time
/// M between failures: sqrt(2 c M) (1 + sqrt(c / 2M) / 3 + (c / 2M) / 9) - c, and M from c = 2 M on.
/// Source: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
/// Generation Computer Systems 22 (2006). Its first term is that of J. W. Young, "A first order approximation to the
/// optimum checkpoint interval", Communications of the ACM 17 (1974).
constexpr duration best_interval(duration checkpoint, duration mtbf);

/// The part of the time in which steps are computed that are not lost, where failures are independent of each other
/// (Poisson), also while a checkpoint is written and while training restarts: t / (M e^(R / M) (e^((t + c) / M) - 1)).
/// Source: Daly (2006), whose complete model of a run's time this is the inverse of. Without `mtbf` t / (t + c).
constexpr double goodput_of(duration interval, duration checkpoint, duration restart, const maybe<duration>& mtbf);

/// How long a run takes in a layout of that speed. Bounds are those of the step. Errors: a job that does not train;
/// neither tokens nor samples, or both; numbers below their range; checkpoints of no time, or without an interval where
/// nobody says how often failures come; failures without the time of a checkpoint, or more often than one is written;
/// an interval longer than the run.
constexpr result<training_time> time_of_run(const training_run& r, const job& j, const layout& l,
                                            const job_speed& speed);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// e^x - 1 for x of 0 and more, the same to the last bit on every machine: Taylor's series below 2^-6, and from there
/// (e^x - 1)(e^x + 1) = e^2x - 1. Beyond 700, where a double ends, it is that of 700.
constexpr double exponential_less_one(double x) {
    constexpr int terms = 9;
    if (!(x < 700)) x = 700;
    int doublings = 0;
    while (x > 1.0 / 64) {
        x /= 2;
        ++doublings;
    }
    double sum = 0;
    for (int n = terms; n > 0; --n) sum = x / n * (1 + sum);
    for (; doublings > 0; --doublings) sum *= sum + 2;
    return sum;
}

/// Seconds, rounded down.
constexpr std::int64_t whole_seconds(duration d) { return rounded_down(d).base(); }

constexpr status validate_size(const training_run& r) {
    const bool sampled = r.samples != 0;
    if (r.trained < token_count{})
        return refused(error_code::out_of_range, "run.tokens", r.trained.in(tokens), "tokens above 0");
    if (sampled && r.trained > token_count{})
        return refused(error_code::inconsistent, "run.samples", r.samples, "absent beside tokens");
    if (!sampled && r.epochs != 1)
        return refused(error_code::missing, "run.samples", r.samples, "the samples of an epoch, above 0");
    if (!sampled && r.trained == token_count{})
        return refused(error_code::missing, "run.tokens", "absent", "tokens above 0, or epochs and samples");
    if (r.samples < 0) return refused(error_code::out_of_range, "run.samples", r.samples, "above 0");
    if (!(r.epochs > 0)) return refused(error_code::out_of_range, "run.epochs", "0 or less", "above 0");
    if (r.sample_tokens < token_count{})
        return refused(error_code::out_of_range, "run.sample_tokens", r.sample_tokens.in(tokens), "0 or more");
    if (!sampled && r.sample_tokens > token_count{})
        return refused(error_code::inconsistent, "run.sample_tokens", r.sample_tokens.in(tokens),
                       "samples whose tokens they are");
    return done{};
}

constexpr status validate_interruptions(const training_run& r) {
    const auto above_zero = [](std::string_view field, const maybe<duration>& d) -> status {
        if (d && !(*d > duration{}))
            return refused(error_code::out_of_range, field, whole_seconds(*d), "seconds above 0");
        return done{};
    };
    if (const status s = above_zero("run.mtbf", r.mtbf); !s) return s;
    if (const status s = above_zero("run.gpu_mtbf", r.gpu_mtbf); !s) return s;
    if (const status s = above_zero("run.checkpoint", r.checkpoint); !s) return s;
    if (const status s = above_zero("run.checkpoint_interval", r.checkpoint_interval); !s) return s;
    if (r.restart < duration{})
        return refused(error_code::out_of_range, "run.restart", whole_seconds(r.restart), "0 or more seconds");
    if (r.mtbf && r.gpu_mtbf)
        return refused(error_code::inconsistent, "run.gpu_mtbf", whole_seconds(*r.gpu_mtbf), "absent beside mtbf");
    const bool fails = r.mtbf || r.gpu_mtbf;
    if (!r.checkpoint && (fails || r.checkpoint_interval))
        return refused(error_code::missing, "run.checkpoint", "absent", "seconds that a checkpoint stops training for");
    if (r.checkpoint && !fails && !r.checkpoint_interval)
        return refused(error_code::missing, "run.mtbf", "absent",
                       "the mean time between failures, or a checkpoint_interval");
    if (r.restart > duration{} && !fails)
        return refused(error_code::missing, "run.mtbf", "absent", "the mean time between failures");
    return done{};
}

/// Adds checkpoints and failures to a run whose computing time is known.
constexpr status interrupt(training_time& t, const training_run& r) {
    if (r.mtbf) t.mtbf = r.mtbf;
    if (r.gpu_mtbf) t.mtbf = *r.gpu_mtbf / static_cast<double>(t.gpus);
    t.total = t.computing;
    if (!r.checkpoint) return done{};
    const duration written = *r.checkpoint, all = t.computing.expected;
    if (t.mtbf && *t.mtbf < written)
        return refused(
            error_code::out_of_range, r.mtbf ? "run.mtbf" : "run.gpu_mtbf",
            whole_seconds(r.mtbf ? *r.mtbf : *r.gpu_mtbf),
            "failures of all GPUs less often than a checkpoint takes, seconds: ", rounded_up(written).base());
    if (r.checkpoint_interval && *r.checkpoint_interval > all)
        return refused(error_code::out_of_range, "run.checkpoint_interval", whole_seconds(*r.checkpoint_interval),
                       "at most the seconds of the run, ", whole_seconds(all));
    if (r.checkpoint_interval && *r.checkpoint_interval < r.written)
        return refused(error_code::out_of_range, "run.checkpoint_interval", whole_seconds(*r.checkpoint_interval),
                       "at least the seconds that a checkpoint is written for, ", rounded_up(r.written).base());
    duration between = r.checkpoint_interval ? *r.checkpoint_interval : best_interval(written, *t.mtbf);
    if (between < r.written) between = r.written;
    if (between > all) between = all;
    t.checkpoint = r.checkpoint;
    t.checkpoint_interval = between;
    t.goodput = goodput_of(between, written, r.restart, t.mtbf);
    if (t.mtbf && !(t.goodput > 1e-6))
        return refused(error_code::out_of_range, r.mtbf ? "run.mtbf" : "run.gpu_mtbf",
                       whole_seconds(r.mtbf ? *r.mtbf : *r.gpu_mtbf), "failures so rare that the run comes to its end");
    t.total = {t.computing.low / t.goodput, all / t.goodput, t.computing.high / t.goodput};
    if (t.mtbf) t.failures = t.total.expected / *t.mtbf;
    return done{};
}

}  // namespace detail

constexpr duration best_interval(duration checkpoint, duration mtbf) {
    const double part = checkpoint / (mtbf * 2.0);
    if (!(part < 1)) return mtbf;
    const double root = detail::square_root(part);
    return mtbf * (2 * root * (1 + root / 3 + part / 9)) - checkpoint;
}

constexpr double goodput_of(duration interval, duration checkpoint, duration restart, const maybe<duration>& mtbf) {
    if (!mtbf) return interval / (interval + checkpoint);
    const double lost = detail::exponential_less_one((interval + checkpoint) / *mtbf);
    return interval / (*mtbf * lost) / (1 + detail::exponential_less_one(restart / *mtbf));
}

constexpr result<training_time> time_of_run(const training_run& r, const job& j, const layout& l,
                                            const job_speed& speed) {
    if (!trains(j)) return refused(error_code::inconsistent, "task", name_of(j.task), "pretraining or finetuning");
    if (const status s = detail::validate_size(r); !s) return s.error();
    if (const status s = detail::validate_interruptions(r); !s) return s.error();
    const token_count each = tokens_of_step(j, l);
    const token_count sample =
        r.sample_tokens > token_count{} ? r.sample_tokens : sequence_of(j) * sequences_of_sample(j.preference);
    const token_count asked = r.samples > 0 ? scaled_up(sample * r.samples, r.epochs) : r.trained;
    training_time t{.gpus = l.gpus()};
    t.steps = detail::ceil_quotient(asked.in(tokens), each.in(tokens));
    t.trained = each * t.steps;
    t.rounded_up = t.trained - asked;
    if (is_saturated(asked) || is_saturated(t.trained))
        return refused(error_code::overflow, r.samples > 0 ? "run.samples" : "run.tokens",
                       r.samples > 0 ? r.samples : r.trained.in(tokens), "fewer than 2^63 tokens");
    const interval<duration> step = speed.step.total();
    const auto n = static_cast<double>(t.steps);
    t.computing = {step.low * n, step.expected * n, step.high * n};
    if (const status s = detail::interrupt(t, r); !s) return s.error();
    return t;
}

}  // namespace llmres::inline v0
