// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/steps/serving.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// For how long does a token of a served job occupy the GPUs: one of a prompt, one that a cache already holds, and one
/// that is generated? Times a tariff it is what each of them costs.
namespace llmres::inline v0 {

/// Time of all GPUs of a layout for each token, while they have the job's sequences in flight all the time.
struct token_times {
    interval<duration> input{};  ///< of a prompt that is computed: its prefill over its tokens, or 1 /
                                 ///< tokens_per_second where none is generated
    /// Of a prompt whose keys and values are in the cache (prefix caching): what attention of the tokens behind them
    /// takes longer than without them, at the job's hit rate, or at one half where it has none.
    interval<duration> cached_input{};
    interval<duration> output{};  ///< generated: a step over the sequences in flight; zero where a model generates none
    duration with_prompt{};       ///< generated, with its share of the prompt: 1 / job_speed::tokens_per_second
};

/// The times of a plan's tokens. Precondition: the job serves, and validate() holds.
constexpr token_times token_times_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                                     const job_speed& speed);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr interval<duration> scaled(const interval<duration>& t, double factor) {
    return {t.low * factor, t.expected * factor, t.high * factor};
}

/// Time of all GPUs for one prompt. Data ranks compute one each at the same time, as far as that many sequences are in
/// flight: the others wait.
constexpr interval<duration> time_of_prompt(const job& j, const layout& l, const job_speed& speed) {
    const std::int64_t most = prompts_before_token(j, l) * l.all_data_ranks(), all = sequences_in_flight(j, l);
    return scaled(time_of_stage(j, speed.prefill), 1 / static_cast<double>(most < all ? most : all));
}

/// A prompt and what is computed of it.
struct prompt_times {
    interval<duration> whole{};  ///< with the tokens that a cache holds before them
    interval<duration> alone{};  ///< the computed tokens, with nothing before them
    double computed = 0, cached = 0;
};

constexpr prompt_times prompt_times_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                                       const job_speed& speed) {
    const token_count computed = computed_prompt_of(j);
    job alone = j;
    alone.prompt = computed;
    alone.prefix_hit_rate = 0;
    alone.shared_prefix = {};
    return {.whole = time_of_prompt(j, l, speed),
            .alone = time_of_prompt(alone, l, speed_of(alone, l, c, held)),
            .computed = static_cast<double>(computed.in(tokens)),
            .cached = static_cast<double>((prompt_of(j) - computed).in(tokens))};
}

/// What a cached token adds; bounds that cross are those of its expected value.
constexpr interval<duration> time_of_cached(const prompt_times& t) {
    if (!(t.cached > 0)) return {};
    const auto added = [&](duration whole, duration alone) { return beyond(whole, alone) / t.cached; };
    const duration expected = added(t.whole.expected, t.alone.expected);
    const duration low = added(t.whole.low, t.alone.low), high = added(t.whole.high, t.alone.high);
    return {low < expected ? low : expected, expected, high > expected ? high : expected};
}

}  // namespace detail

constexpr token_times token_times_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                                     const job_speed& speed) {
    token_times t{.with_prompt = approx(tokens(1)) / speed.tokens_per_second};
    const auto in_flight = static_cast<double>(sequences_in_flight(j, l));
    t.output = detail::scaled(speed.step.total(), 1 / in_flight);
    if (!generates(j.model)) {  // inputs are computed together, and none is cached
        const interval<duration> one = speed.prefill.total();
        t.input = detail::scaled(one, t.with_prompt / one.expected);
        return t;
    }
    if (j.prefix_hit_rate > 0) {
        const detail::prompt_times prompt = detail::prompt_times_of(j, l, c, held, speed);
        t.input = detail::scaled(prompt.alone, 1 / prompt.computed);
        t.cached_input = detail::time_of_cached(prompt);
        return t;
    }
    t.input = detail::scaled(detail::time_of_prompt(j, l, speed), 1 / static_cast<double>(prompt_of(j).in(tokens)));
    job half = j;
    half.prefix_hit_rate = 0.5;
    t.cached_input = detail::time_of_cached(detail::prompt_times_of(half, l, c, held, speed_of(half, l, c, held)));
    return t;
}

}  // namespace llmres::inline v0
