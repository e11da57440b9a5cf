// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What does a search choose, by which objective, and what does it find?
namespace llmres::inline v0 {

/// What makes one layout better than another.
enum class objective : std::uint8_t {
    throughput,           ///< most tokens per second
    time_to_first_token,  ///< serving: least time for one prompt
    time_per_token,       ///< serving: least time for one token of every sequence
    fewest_gpus,          ///< fewest GPUs, then most tokens per second
    cost_per_token,       ///< least money for a token, at gpu_price
    energy_per_token,     ///< least energy for a token, at the GPUs' board power
};
/// The names of the objectives, in their order.
inline constexpr std::array<std::string_view, 6> objective_names{
    "throughput", "time_to_first_token", "time_per_token", "fewest_gpus", "cost_per_token", "energy_per_token"};
/// The name of an objective: "throughput".
constexpr std::string_view name_of(objective o) { return objective_names[static_cast<std::size_t>(o)]; }

/// What a layout must keep to beside fitting.
struct search_limits {
    maybe<duration> time_to_first_token{};  ///< serving: expected time of one prompt at most
    maybe<duration> time_per_token{};       ///< serving: expected time of one token of every sequence at most
    byte_count memory_margin{};             ///< memory of each GPU to be left free, beyond every upper bound
    bool one_node = false;                  ///< all GPUs are in one node
};

/// A few formats to choose among; none: the job's own.
struct format_list {
    std::array<precision, 4> list{};  ///< storage; the first `count` are in use
    std::int32_t count = 0;           ///< formats in use
};

/// What a search may choose.
struct search_space {
    layout_space layouts{};      ///< the layouts
    bool micro_batch = false;    ///< training: the sequences of a micro-batch, in powers of two
    bool recompute = false;      ///< training: what is recomputed
    bool offload = false;        ///< training: whether the optimizer or activations lie in main memory
    std::int64_t max_batch = 0;  ///< serving: sequences in flight at most, in powers of two; 0: the job's own
    format_list weights{};       ///< serving: formats of the weights
    format_list kv_cache{};      ///< serving: formats of the cache
};

/// What is searched.
struct search_request {
    llmres::objective objective = objective::throughput;  ///< what is best
    search_limits limits{};                               ///< what is left out
    search_space space{};                                 ///< what is tried
    /// For objective::cost_per_token: what an hour of one GPU costs, in the caller's currency.
    money gpu_hour{};
};

/// The fields of a job that a search chose; of the job itself where it may not choose them.
struct job_choice {
    std::int64_t batch = 1;                         ///< sequences in flight
    std::int64_t micro_batch = 1;                   ///< sequences of a micro-batch
    llmres::recompute recompute = recompute::none;  ///< what is recomputed
    llmres::offload offload{};                      ///< what is kept outside the GPU
    maybe<precision> weights{};                     ///< format of the weights
    maybe<precision> kv_cache{};                    ///< format of the cache
};
/// The job with what a search chose.
constexpr job with_choice(job j, const job_choice& chosen) {
    j.batch = chosen.batch;
    j.micro_batch = chosen.micro_batch;
    j.recompute = chosen.recompute;
    j.offload = chosen.offload;
    j.weights = chosen.weights;
    j.kv_cache = chosen.kv_cache;
    return j;
}

/// A layout that a search found.
struct found_layout {
    job_choice choice{};  ///< the job's fields beside it
    job_plan plan{};      ///< its plan
    double score = 0;     ///< what the objective compares, less is better: seconds a token, GPUs, money or joules
    double next_score{};  ///< what decides where scores are equal: seconds a token
};

/// How a search went.
struct search_counts {
    std::int64_t tried = 0;      ///< layouts of the space, with all that may vary beside them
    std::int64_t refused = 0;    ///< of these, refused by the checks of a job and a layout
    std::int64_t too_large = 0;  ///< do not fit at the upper bound, or leave too little memory free
    std::int64_t too_slow = 0;   ///< break a limit of time
    std::int64_t kept = 0;       ///< fit and keep all limits
    std::size_t best = 0;        ///< of these, written to `best`
    std::size_t front = 0;       ///< and to `front`
    bool cancelled = false;      ///< the watcher stopped it
};

}  // namespace llmres::inline v0
