// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>

/// Does a job fit that computes prompts on one set of GPUs and output on another (DistServe, arXiv 2401.09670;
/// Splitwise, arXiv 2311.18677)? Both hold the weights, and the cache of a sequence is sent from one to the other.
///
///     const auto split = plan_disaggregated(job, {prompts_layout, prompts_gpus}, {output_layout, output_gpus});
namespace llmres::inline v0 {

/// The GPUs of one phase.
struct phase_pool {
    llmres::layout layout{};    ///< how the model is distributed over them
    llmres::cluster cluster{};  ///< the GPUs
};

/// The plans of both sides, and the transfer between them.
struct disaggregated_plan {
    job_plan prefill{};        ///< one prompt at a time on each data rank, whose cache holds that prompt
    job_plan decode{};         ///< the job's batch at its full context; a step makes one token of each sequence
    byte_count handed_over{};  ///< cache and state of one prompt, over all GPUs
    /// Time of its transfer over the prefill side's `scale_out`, where all GPUs of an instance send their parts at
    /// once.
    duration hand_over{};
    double prompts_per_second = 0;    ///< prompts that the prefill side computes
    double sequences_per_second = 0;  ///< sequences that the decode side finishes
    /// Prefill sides that keep one decode side busy.
    constexpr double prefill_per_decode() const {
        return prompts_per_second > 0 ? sequences_per_second / prompts_per_second : 0;
    }
};

/// Plans both sides. Errors: those of plan() for either side; a job that does not serve, or does not give its `prompt`
/// and `output`; a prefill side without `scale_out`.
constexpr result<disaggregated_plan> plan_disaggregated(const job& j, const phase_pool& prefill,
                                                        const phase_pool& decode);

/// The planner's layout for the prefill side. Errors: those of plan().
constexpr result<layout> prefill_layout(const job& j, const cluster& c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The job of the prefill side: prompts, each of which makes the first token.
constexpr job prefill_part(const job& j, const layout& l) {
    job part = j;
    part.batch = l.all_data_ranks();
    part.output = {};
    part.context = j.prompt;
    return part;
}
/// The job of the decode side: sequences arrive with their caches. (Runtimes that profile at start still run a prompt.)
constexpr job decode_part(const job& j, const layout& l) {
    job part = j;
    part.context = context_of(j);
    if (!j.runtime.step.profiles) part.max_batched_tokens = tokens(sequences_per_rank(j, l));
    return part;
}

/// An error of the prefill side, whose layout and cluster are named apart from those of the decode side.
constexpr error of_prefill(const error& e) {
    const bool shared = !e.field.view().starts_with("layout") && !e.field.view().starts_with("cluster");
    return shared ? e : within("prefill", e);
}

}  // namespace detail

constexpr result<layout> prefill_layout(const job& j, const cluster& c) {
    const result<found_layout> made =
        search(detail::prefill_part(j, layout{}), c, {.objective = objective::time_to_first_token});
    if (!made) return detail::of_prefill(made.error());
    return made->plan.layout;
}

constexpr result<disaggregated_plan> plan_disaggregated(const job& j, const phase_pool& prefill,
                                                        const phase_pool& decode) {
    if (trains(j)) return refused(error_code::unsupported, "task", name_of(j.task), "serving");
    if (j.prompt <= token_count{})
        return refused(error_code::missing, "prompt", "0", "tokens of a prompt: the work of the prefill side");
    if (j.output <= token_count{})
        return refused(error_code::missing, "output", "0", "tokens made for a prompt: the work of the decode side");
    if (prefill.cluster.scale_out.bandwidth() <= byte_rate{})
        return refused(error_code::missing, "prefill.cluster.scale_out", "no link", "the link that sends caches");
    const job prompts = detail::prefill_part(j, prefill.layout);
    const job output = detail::decode_part(j, decode.layout);
    const result<job_plan> first = plan(prompts, prefill.layout, prefill.cluster);
    if (!first) return detail::of_prefill(first.error());
    const result<job_plan> rest = plan(output, decode.layout, decode.cluster);
    if (!rest) return rest.error();
    disaggregated_plan made{.prefill = *first, .decode = *rest};
    made.decode.prompts_elsewhere = true;
    if (!j.runtime.step.profiles) made.decode.memory.phase = phase::decode;  // no prompt is computed there
    made.handed_over = kv_cache_bytes(j.model, kv_cache_of(j), j.prompt) + recurrent_state_bytes(j.model);
    const std::int64_t senders = std::int64_t{prefill.layout.tensor} * prefill.layout.pipeline;
    made.hand_over = time_of(collective_kind::send, div_up(made.handed_over, senders), 2, prefill.cluster.scale_out);
    made.prompts_per_second = static_cast<double>(prompts.batch) / first->speed.prefill.expected().in(seconds);
    made.sequences_per_second = static_cast<double>(sequences_held(j, rest->layout)) /
                                (rest->speed.step.expected().in(seconds) * static_cast<double>(j.output.in(tokens)));
    return made;
}

}  // namespace llmres::inline v0
