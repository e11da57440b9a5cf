// SPDX-License-Identifier: MIT
// A plan as a page of text.
#include "report.hpp"

#include "command_line.hpp"
#include "commands.hpp"
#include "terminal.hpp"

#include <fmt/format.h>
#include <array>
#include <cctype>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>

namespace program {
namespace {

using llmres::to_string;

/// The letter of each memory_term in the bar.
constexpr auto marks =
    std::to_array<std::string_view>({"W", "L", "G", "O", "o", "A", "K", "S", "V", "C", "w", "r", "f", "R"});
static_assert(marks.size() == llmres::names_of<llmres::memory_term>.size());

/// The memory terms to scale, as wide as a line has room, with a | where the usable memory ends.
std::string bar(const llmres::job_plan& p) {
    const double width = line_width() - 12;  // what stands before it, the brackets and the |
    const llmres::byte_count expected = p.memory.total().expected;
    const llmres::byte_count usable = p.usable > llmres::byte_count{} ? p.usable : llmres::byte_count{};
    const llmres::byte_count most = expected < usable ? usable : expected;
    const auto column = [&](llmres::byte_count size) {
        return static_cast<int>(width * llmres::ratio(size, most) + 0.5);
    };
    std::string drawn;
    llmres::byte_count end;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        end += p.memory.terms[i].expected;
        while (static_cast<int>(drawn.size()) < column(end)) drawn += marks[i];
    }
    drawn.resize(static_cast<std::size_t>(width), '.');
    drawn.insert(static_cast<std::size_t>(column(usable)), "|");
    return drawn;
}

std::string bounds(const llmres::interval<llmres::duration>& t) {
    return fmt::format("{} ({} to {})", to_string(t.expected), to_string(t.low), to_string(t.high));
}

/// Prints the measured figures that take the place of the datasheet's, if there are any.
void print_measured(const llmres::gpu& card) {
    const llmres::gpu_measured& m = card.measured;
    std::string text;
    const auto part = [&](std::string_view name, const auto& figure) {
        if (figure) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, to_string(*figure));
    };
    part("bandwidth", m.bandwidth);
    part("tf32", m.tf32), part("fp16", m.fp16), part("bf16", m.bf16), part("fp8", m.fp8), part("int8", m.int8);
    part("context", m.context);
    if (!text.empty()) fmt::print("measured {}\n", text);
}

/// The images among a prompt's tokens: `, 2 images of 4784 patches among them`.
std::string images_of(const llmres::job& j) {
    const std::int64_t images = j.images.count;
    if (images == 0) return {};
    return fmt::format(", {} image{} of {} patches among them", images, images == 1 ? "" : "s",
                       j.images.patches.in(llmres::tokens));
}

void print_time(const llmres::job_plan& p, const llmres::job& j) {
    const char* condition = p.verdict == llmres::verdict::does_not_fit ? "if it fitted: " : "";
    if (trains(j)) {
        fmt::print("time     {}{} {} step\n", condition, bounds(p.speed.step.total()),
                   learns_from_rollouts(j.preference) ? "an optimizer" : "a");
    } else {
        const bool generates = p.speed.step.expected() > llmres::duration{};
        const std::string of = generates ? fmt::format("to the first token of a prompt of {} tokens{}",
                                                       prompt_of(j).in(llmres::tokens), images_of(j))
                                         : fmt::format("for one input of {} tokens", prompt_of(j).in(llmres::tokens));
        fmt::print("time     {}{} {}\n", condition, bounds(p.speed.prefill.total()), of);
        if (!generates) fmt::print("         {:.4g} inputs/s\n", inputs_per_second(p.speed, j));
        if (generates) fmt::print("         {} for each token of every sequence\n", bounds(p.speed.step.total()));
    }
    fmt::print("         {} in all, {:.1f} % of the GPUs' arithmetic; most of it is {}\n",
               to_string(p.speed.tokens_per_second), 100 * p.speed.mfu, name_of(p.bottleneck()));
    const llmres::steady_speed& steady = p.speed.steady;
    if (steady.in_flight > 1) {
        fmt::print("load     {} in flight all the time: {} to the first token,\n", steady.in_flight,
                   bounds(steady.time_to_first_token));
        fmt::print("         {} for each token, {} in all\n", bounds(steady.time_per_output_token),
                   to_string(steady.tokens_per_second));
    }
}

/// Prints how many of the job's sequences run at once where the runtime was told to run fewer.
void print_waiting(const llmres::job& j, const llmres::layout& l) {
    const std::int64_t at_once = llmres::trains(j) ? j.batch : sequences_in_flight(j, l);
    if (at_once < j.batch)
        fmt::print("waiting  {} of {} sequences: {} run at once (max_num_seqs)\n", j.batch - at_once, j.batch, at_once);
}

void print_cache_pool(const llmres::layout& l, const llmres::plan_request& request) {
    const auto pool = llmres::cache_pool_of(request.job, l, request.cluster);
    if (!pool || pool->token_room <= llmres::token_count{} || start_refused(request.job, l, request.cluster)) return;
    const auto& room = pool->memory;
    const auto& sequences = pool->sequences;
    const bool exact = room.low == room.high;
    fmt::print("caches   room for {}{}", to_string(room.expected),
               exact ? "" : fmt::format(" ({} to {})", to_string(room.low), to_string(room.high)));
    // A runtime that sets no share of the GPU aside leaves to caches what computing these prompts does not take:
    // shorter ones leave more, which the longest context under limits profits from.
    if (!takes_fraction(request.job.runtime.cache))
        fmt::print(" beside prompts of {}", prompt_of(request.job).in(llmres::tokens));
    fmt::print(": {} tokens", pool->token_room.in(llmres::tokens));
    if (request.job.runtime.cache.block > llmres::tokens(1)) fmt::print(" in {} blocks", pool->blocks);
    fmt::print(", {:.1f}{} sequences of {}\n", sequences.expected,
               exact ? "" : fmt::format(" ({:.1f} to {:.1f})", sequences.low, sequences.high),
               context_of(request.job).in(llmres::tokens));
    if (pool->steady > pool->admitted)
        fmt::print("         each admitted with room for the tokens in flight; {:.1f} while they decode\n",
                   pool->steady);
    if (!request.lengths) return;
    if (const auto at_once = llmres::concurrent_sequences(request.job, l, request.cluster, *request.lengths))
        fmt::print("         {} sequences at once of {} tokens on average\n", *at_once,
                   request.lengths->mean.in(llmres::tokens));
}

/// What a runtime takes that fills its pool of caches, whatever the job needs of it.
void print_reserved(const llmres::job_plan& p, const llmres::plan_request& request) {
    const llmres::job& j = request.job;
    if (!llmres::reserves_pool(j, p.memory) || p.verdict == llmres::verdict::does_not_fit) return;
    const auto pool = llmres::cache_pool_of(j, p.layout, request.cluster);
    if (!pool) return;
    const auto device = llmres::reserved_by(p.memory, *pool).device;
    fmt::print("reserves {} ({} to {}) of the GPU, with the whole pool of caches\n", to_string(device.expected),
               to_string(device.low), to_string(device.high));
}

/// A name's letters and digits, in lower case.
std::string letters_of(std::string_view name) {
    std::string letters;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
}

/// The model's name; behind the one that was asked for, where that says another model: deepseek-r1:8b (qwen3-8b).
std::string model_text(const llmres::plan_request& request) {
    const std::string own{request.job.model.name.view()};
    const std::string& asked = request.model_name;
    if (asked.empty() || llmres::detail::looks_like_a_path(asked) ||
        letters_of(asked).find(letters_of(own)) != std::string::npos)
        return own;
    return asked + " (" + own + ")";
}

}  // namespace

/// What lies in main memory, wherever anything does.
void print_host_memory(const llmres::job_plan& p, const llmres::cluster& c) {
    const llmres::interval<llmres::byte_count>& held = p.host_memory;
    if (held.high <= llmres::byte_count{}) return;
    const bool known = c.host.memory > llmres::byte_count{};
    fmt::print("host     {}{} of a node's main memory{}\n", to_string(held.expected),
               held.low == held.high ? "" : fmt::format(" ({} to {})", to_string(held.low), to_string(held.high)),
               known ? fmt::format(", which has {}", to_string(c.host.memory)) : "");
}

void print_plan(const llmres::job_plan& p, const llmres::plan_request& request) {
    const llmres::job& j = request.job;
    const llmres::cluster& c = request.cluster;
    const auto total = p.memory.total();
    fmt::print("{}, {} on {} x {}, runtime {}: {}\n\n", plain(model_text(request)), task_text(j), c.gpus,
               c.gpu.name.view(), j.runtime.identity.name.view(), shown(p.verdict));
    print_measured(c.gpu);
    const std::string_view chosen = !request.layout             ? " (chosen: highest throughput)"
                                    : request.data_ranks_chosen ? " (data ranks chosen)"
                                                                : "";
    const std::int64_t idle = c.gpus - p.layout.gpus();
    fmt::print("layout   {}{}{}\n", to_text(p.layout), chosen, idle > 0 ? fmt::format(", {} idle", idle) : "");
    fmt::print("memory   {} ({} to {}) of {} usable, at its fullest in {}{}{}\n", to_string(total.expected),
               to_string(total.low), to_string(total.high), to_string(p.usable), name_of(p.memory.phase),
               p.layout.pipeline > 1 ? fmt::format(" of stage {}", p.memory.stage) : "",
               request.rollout ? "; of training alone" : "");
    if (p.memory.released > llmres::byte_count{})
        fmt::print("         the upper bound is cut by {}: cached blocks that the allocator frees before it runs out\n",
                   to_string(p.memory.released));
    fmt::print("         [{}]\n", bar(p));
    for (std::size_t i = 0; i < p.memory.terms.size(); ++i) {
        const auto& term = p.memory.terms[i];
        if (term.high <= llmres::byte_count{}) continue;
        fmt::print("         {} {:<16} {:>10}{}\n", marks[i], llmres::name_of(static_cast<llmres::memory_term>(i)),
                   to_string(term.expected),
                   term.low == term.high ? "" : fmt::format("  ({} to {})", to_string(term.low), to_string(term.high)));
    }
    print_reserved(p, request);
    print_host_memory(p, c);
    print_time(p, j);
    print_waiting(j, p.layout);
    print_reasons(p, j, c);
}

std::string task_text(const llmres::job& j) {
    const std::string task{name_of(j.task)};
    return j.preference == llmres::preference_method::none ? task
                                                           : fmt::format("{} by {}", task, name_of(j.preference));
}

void print_reasons(const llmres::job_plan& p, const llmres::job& j, const llmres::cluster& c, std::string_view head) {
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        fmt::print("{:{}}{}\n", i == 0 ? head : "", head.size(),
                   llmres::to_text(p.reasons[static_cast<std::size_t>(i)], p, j, c));
}

void print_profile(const llmres::runtime_profile& profile) {
    const llmres::runtime_identity& r = profile.runtime.identity;
    const llmres::profile_origin& origin = profile.origin;
    if (r == llmres::no_runtime.identity) return;
    constexpr std::size_t most = 4;
    std::string gpus = fmt::format(
        "{}", fmt::join(origin.gpus.begin(),
                        origin.gpus.begin() + static_cast<std::ptrdiff_t>(std::min(origin.gpus.size(), most)), ", "));
    if (origin.gpus.size() > most) gpus += fmt::format(" and {} more", origin.gpus.size() - most);
    const std::string learnt = origin.sources.empty()
                                   ? std::string{}
                                   : fmt::format("; {} of its constants learnt from logs", origin.sources.size());
    const std::string_view evidence = llmres::evidence_of(origin.rows);
    const std::string_view timed = llmres::evidence_of(origin.times);
    const std::string times =
        origin.rows == 0 || timed == "measured" ? std::string{} : fmt::format("; its times are {}", timed);
    fmt::print("profile  {} {}: {}{}{}{}{}\n", plain(std::string{r.name.view()}), plain(std::string{r.versions.view()}),
               evidence == "measured" ? std::string{} : fmt::format("{}, ", evidence),
               origin.rows == 0 ? std::string{"no published row"}
                                : fmt::format("{} measurement{}", origin.rows, origin.rows == 1 ? "" : "s"),
               gpus.empty() ? std::string{} : plain(" on " + gpus), times, learnt);
}

void print_assumed(const llmres::json_value& assumed, const std::string& of) {
    std::string text;
    for (const auto& [key, value] : assumed.items()) {
        const std::string shown = value.is_null()     ? "unknown"
                                  : value.is_string() ? value.get<std::string>()
                                                      : value.dump();
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, shown);
    }
    if (!text.empty()) fmt::print("assumed  {}{}{}\n", of, of.empty() ? "" : ": ", text);
}

void print_help(const plan_options& o, const std::vector<llmres::document_remedy>& help) {
    std::string_view head = "helps    ";
    for (const llmres::document_remedy& r : help) {
        fmt::print("{}{}: {}, {}\n           {}\n", head, llmres::to_text(r), name_of(r.plan.verdict),
                   to_string(r.plan.speed.tokens_per_second), command_of(o, r.patch));
        head = "         ";
    }
}

void print_limits(const llmres::job_plan& p, const llmres::plan_request& request) {
    const llmres::job& j = request.job;
    const llmres::job_limits limits = llmres::limits_of(j, p.layout, request.cluster);
    const auto number = [](const auto& m, std::string_view unit) {
        return m ? fmt::format("{}{}", *m, unit) : std::string{"none"};
    };
    const llmres::maybe<std::int64_t> context =
        limits.max_context ? llmres::maybe<std::int64_t>{limits.max_context->in(llmres::tokens)}
                           : llmres::maybe<std::int64_t>{};
    const bool any =
        limits.max_batch && *limits.max_batch >= llmres::detail::most::sequences;  // inputs that wait hold nothing
    const auto total = p.memory.total();
    const std::string gpus = request.rollout ? "" : fmt::format(", fewest GPUs {}", number(limits.min_gpus, ""));
    fmt::print("limits   largest {} {}, longest {} {}{}{}{}\n", trains(j) ? "micro_batch" : "batch",
               any ? "any" : number(limits.max_batch, ""), trains(j) ? "sequence" : "context",
               number(context, " tokens"), gpus, request.rollout ? " of the policy beside the engine" : "",
               total.low == total.high ? "" : ", all at the upper bounds");
    if (!trains(j)) print_cache_pool(p.layout, request);
}

void print_prefill(const llmres::disaggregated_plan& p, const llmres::cluster& prompts) {
    const auto total = p.prefill.memory.total();
    fmt::print("prompts  on {} x {}, {}: {}\n", prompts.gpus, prompts.gpu.name.view(), to_text(p.prefill.layout),
               name_of(p.prefill.verdict));
    fmt::print("         {} ({} to {}) of {} usable, {} to the first token\n", to_string(total.expected),
               to_string(total.low), to_string(total.high), to_string(p.prefill.usable),
               bounds(p.prefill.speed.prefill.total()));
    fmt::print(
        "         caches of {} handed over in {}; {:.3g} prompts a second, for {:.3g} sequences that the output's side "
        "ends: {:.3g} such sides\n",
        to_string(p.handed_over), to_string(p.hand_over), p.prompts_per_second, p.sequences_per_second,
        p.prefill_per_decode());
}

void print_phases(const llmres::reinforcement_plan& p, const llmres::plan_request& request) {
    const llmres::rollout& asked = request.rollout->rollout;
    const llmres::phase_plan& worst = p.worst();
    const auto part = [&](llmres::duration t) {
        return p.step.expected > llmres::duration{} ? 100 * (t / p.step.expected) : 0.0;
    };
    std::string_view head = "phases   ";
    const auto timed = [&](std::string_view what, const llmres::interval<llmres::duration>& t, const std::string& of) {
        fmt::print("{}{:<18} {} ({:.0f} %){}\n", head, what, bounds(t), part(t.expected), of);
        head = "         ";
    };
    const std::int32_t before_training = request.rollout->reward ? 2 : 1;
    for (std::int32_t i = 0; i < p.phase_count; ++i) {
        const llmres::phase_plan& one = p.phases[static_cast<std::size_t>(i)];
        const bool generates = one.phase == llmres::workload_phase::rollout,
                   scores = one.phase == llmres::workload_phase::reward;
        const std::string what =
            scores      ? fmt::format("{} scores every answer", request.rollout->reward->scores.model.name.view())
            : generates ? fmt::format("{} answers of at most {} tokens by {}, {} at once", p.answers,
                                      asked.engine.output.in(llmres::tokens), asked.engine.runtime.identity.name.view(),
                                      p.in_flight)
                        : fmt::format("{} optimizer step{}", p.optimizer_steps, p.optimizer_steps == 1 ? "" : "s");
        if (i == before_training && p.log_probabilities.expected > llmres::duration{})
            timed("log-probabilities", p.log_probabilities, ": forward passes over all answers");
        timed(name_of(one.phase), one.time, ": " + what);
        const llmres::cluster& on = llmres::detail::cluster_of(one, request);
        fmt::print("{:28}{} ({} to {}) beside {} of others, of {}: {}{}\n", "", to_string(one.own.expected),
                   to_string(one.own.low), to_string(one.own.high), to_string(one.resident.expected),
                   to_string(available_memory(on)), name_of(one.plan.verdict),
                   &one != &worst                              ? ""
                   : one.plan.verdict == llmres::verdict::fits ? ", the fullest"
                                                               : ", the worst");
        if (generates && asked.own_gpus)
            fmt::print("{:28}on {} x {} of its own, {}\n", "", on.gpus, on.gpu.name.view(), to_text(one.plan.layout));
        if (one.plan.verdict != llmres::verdict::fits && one.phase != llmres::workload_phase::training)
            print_reasons(one.plan,
                          scores      ? request.rollout->reward->scores
                          : generates ? asked.engine
                                      : *request.rollout->critic,
                          llmres::detail::beside(on, one.resident.expected), "                            why: ");
    }
    if (p.synchronisation > llmres::duration{})
        timed("weights", {p.synchronisation, p.synchronisation, p.synchronisation}, ": the engine receives them");
    if (p.host_memory.high > llmres::byte_count{})
        fmt::print("         {} of a node's main memory for what sleeps or is offloaded\n",
                   to_string(p.host_memory.expected));
    fmt::print("step     {}: {:.3g} answers/s, {} generated\n", bounds(p.step), p.answers_per_second(),
               to_string(p.tokens_per_second()));
    if (asked.own_gpus)
        fmt::print("         GPUs that train wait for {:.0f} % of it, the engine's for {:.0f} %\n",
                   100 * p.idle_trainer, 100 * p.idle_engine);
}

}  // namespace program
