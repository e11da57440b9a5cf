// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What does a search choose, by which objective, what does it find, and which of two is better?
namespace llmres::inline v0 {

/// What makes one layout better than another.
enum class objective : std::uint8_t {
    throughput,           ///< most tokens per second
    time_to_first_token,  ///< serving: least time to the first token (job_speed::prefill)
    time_per_token,       ///< serving: least time for one token of every sequence
    fewest_gpus,          ///< fewest GPUs, then most tokens per second
    cost_per_token,       ///< least money for a token, at search_request::prices
    energy_per_token,     ///< least energy for a token, at the GPUs' limits of power
};
/// The names of the objectives, in their order.
template <>
inline constexpr std::array<std::string_view, 6> names_of<objective>{
    "throughput", "time_to_first_token", "time_per_token", "fewest_gpus", "cost_per_token", "energy_per_token"};

/// What a layout must keep to beside fitting.
struct search_limits {
    maybe<duration> time_to_first_token{};  ///< serving: expected time to the first token at most
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
    layout_space layouts{};  ///< the layouts
    /// Training: the sequences of a micro-batch, up to 64: each number that divides the global batch; powers of two
    /// where the job has none.
    bool micro_batch = false;
    bool recompute = false;           ///< training: nothing, the job's modules, or whole layers are recomputed
    bool recompute_parts = false;     ///< training: each of detail::recomputations
    bool offload = false;             ///< training: whether optimizer, activations or both lie in main memory
    bool offload_parameters = false;  ///< training: whether weights lie there
    bool schedule = false;            ///< training with stages: the layout's schedule, or GPipe
    std::int64_t max_batch = 0;       ///< serving: sequences in flight at most, in powers of two; 0: the job's own
    format_list weights{};            ///< serving: formats of the weights
    format_list kv_cache{};           ///< serving: formats of the cache
};

/// What is searched.
struct search_request {
    llmres::objective objective = objective::throughput;  ///< what is best
    search_limits limits{};                               ///< what is left out
    search_space space{};                                 ///< what is tried
    tariff prices{};  ///< for objective::cost_per_token and energy_per_token: what a GPU costs and takes
    /// Layouts that a lower bound of their time keeps from the best and from the front are skipped. The answer is the
    /// same and takes a fraction of the time, but skipped layouts do not count as those that fit or do not.
    bool skip_slower = false;
};

/// The fields of a job that a search chose; of the job itself where it may not choose them.
struct job_choice {
    std::int64_t batch = 1;                         ///< sequences in flight
    std::int64_t micro_batch = 1;                   ///< sequences of a micro-batch
    llmres::recompute recompute = recompute::none;  ///< what is recomputed
    layer_part_set recompute_modules{};             ///< with selective recomputation: of these parts
    std::int32_t recompute_every = 1;               ///< with full recomputation: of every n-th layer
    llmres::offload offload{};                      ///< what is kept outside the GPU
    maybe<precision> weights{};                     ///< format of the weights
    maybe<precision> kv_cache{};                    ///< format of the cache
    friend constexpr bool operator==(const job_choice&, const job_choice&) = default;
};
namespace detail {

/// Sets a format of weights: another than that of a given job is not the format of its GGUF file.
constexpr void set_weights(job& tried, const job& given, const maybe<precision>& format) {
    tried.gguf = format == given.weights ? given.gguf : maybe<gguf_mix>{};
    tried.weights = format;
}

}  // namespace detail

/// The job with what a search chose.
constexpr job with_choice(job j, const job_choice& chosen) {
    j.batch = chosen.batch;
    j.micro_batch = chosen.micro_batch;
    j.recompute = chosen.recompute;
    j.recompute_modules = chosen.recompute_modules;
    j.recompute_every = chosen.recompute_every;
    j.offload = chosen.offload;
    detail::set_weights(j, j, chosen.weights);
    j.kv_cache = chosen.kv_cache;
    return j;
}

/// What a job has of the fields that a search chooses.
constexpr job_choice choice_of(const job& j) {
    return {j.batch,           j.micro_batch, j.recompute, j.recompute_modules,
            j.recompute_every, j.offload,     j.weights,   j.kv_cache};
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
    std::int64_t skipped = 0;    ///< with search_request::skip_slower: skipped by their bounds
    std::int64_t kept = 0;       ///< fit and keep all limits
    std::size_t best = 0;        ///< of these, written to `best`
    std::size_t front = 0;       ///< and to `front`
    bool cancelled = false;      ///< the watcher stopped it
};

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A way to recompute: nothing, parts of each layer, or every n-th layer whole.
struct recomputation {
    llmres::recompute what = recompute::none;
    layer_part_set modules{layer_part::core_attn};
    std::int32_t every = 1;
};
/// Those that search_space::recompute_parts tries: nothing, each set of attention's core, norms and feed-forwards, and
/// every eighth, fourth, second and each layer whole.
inline constexpr std::array<recomputation, 12> recomputations{{
    {},
    {recompute::selective, {layer_part::core_attn}},
    {recompute::selective, {layer_part::layernorm}},
    {recompute::selective, {layer_part::mlp}},
    {recompute::selective, {layer_part::core_attn, layer_part::layernorm}},
    {recompute::selective, {layer_part::core_attn, layer_part::mlp}},
    {recompute::selective, {layer_part::layernorm, layer_part::mlp}},
    {recompute::selective, {layer_part::core_attn, layer_part::layernorm, layer_part::mlp}},
    {recompute::full, {layer_part::core_attn}, 8},
    {recompute::full, {layer_part::core_attn}, 4},
    {recompute::full, {layer_part::core_attn}, 2},
    {recompute::full},
}};

/// Calls visit() for each place of what a search may keep in main memory; stops where it returns true.
template <class Visit>
constexpr bool for_each_offload(const search_space& s, const job& given, job& tried, const Visit& visit) {
    const offload_place host = offload_place::host;
    for (std::int32_t parameters = 0; parameters < (s.offload_parameters ? 2 : 1); ++parameters)
        for (std::int32_t places = 0; places < (s.offload ? 4 : 1); ++places) {
            tried.offload = given.offload;
            if (parameters == 1) tried.offload.parameters = host;
            if (places % 2 == 1) tried.offload.optimizer = host;
            if (places >= 2) tried.offload.activations = host;
            if (visit()) return true;
        }
    return false;
}

/// The same for each way to recompute that a search may choose.
template <class Visit>
constexpr bool for_each_recomputation(const search_space& s, const job& given, job& tried, const Visit& visit) {
    const auto take = [&](const recomputation& r) {
        tried.recompute = r.what;
        tried.recompute_modules = r.modules;
        tried.recompute_every = r.every;
        return visit();
    };
    if (s.recompute_parts) {
        for (const recomputation& r : recomputations)
            if (take(r)) return true;
        return false;
    }
    if (!s.recompute) return take({given.recompute, given.recompute_modules, given.recompute_every});
    return take({recompute::none, given.recompute_modules}) || take({recompute::selective, given.recompute_modules}) ||
           take({recompute::full, given.recompute_modules, given.recompute_every});
}

/// The same for each number of sequences of a micro-batch that a search may choose.
template <class Visit>
constexpr bool for_each_micro_batch(const search_space& s, const job& given, job& tried, const Visit& visit) {
    tried.micro_batch = given.micro_batch;
    if (!s.micro_batch) return visit();
    const std::int64_t all = given.global_batch;
    for (tried.micro_batch = 1; tried.micro_batch <= 64; ++tried.micro_batch) {
        const std::int64_t m = tried.micro_batch;
        if ((all > 0 ? all % m == 0 : (m & (m - 1)) == 0) && visit()) return true;
    }
    return false;
}

/// Calls visit() for each way to set the fields of a training job that a search may choose; stops where it returns
/// true.
template <class Visit>
constexpr bool for_each_training_choice(const search_space& s, const job& given, job& tried, const Visit& visit) {
    return for_each_offload(s, given, tried, [&] {
        return for_each_recomputation(s, given, tried, [&] { return for_each_micro_batch(s, given, tried, visit); });
    });
}

/// The same for a serving job.
template <class Visit>
constexpr bool for_each_serving_choice(const search_space& s, const job& given, job& tried, const Visit& visit) {
    for (std::int32_t w = 0; w < (s.weights.count > 0 ? s.weights.count : 1); ++w) {
        if (s.weights.count > 0) set_weights(tried, given, s.weights.list[static_cast<std::size_t>(w)]);
        for (std::int32_t k = 0; k < (s.kv_cache.count > 0 ? s.kv_cache.count : 1); ++k) {
            if (s.kv_cache.count > 0) tried.kv_cache = s.kv_cache.list[static_cast<std::size_t>(k)];
            const std::int64_t most = s.max_batch > 0 ? s.max_batch : given.batch;
            for (tried.batch = s.max_batch > 0 ? 1 : given.batch; tried.batch <= most; tried.batch *= 2)
                if (visit()) return true;
        }
    }
    return false;
}

/// Calls visit() for each way to set the fields of a job that a search may choose; stops where it returns true.
template <class Visit>
constexpr bool for_each_choice(const search_space& s, const job& given, job& tried, const Visit& visit) {
    return trains(given) ? for_each_training_choice(s, given, tried, visit)
                         : for_each_serving_choice(s, given, tried, visit);
}

/// The order of the first numbers in which two lists differ: below 0 where a's is smaller, 0 where the lists are equal.
template <std::size_t Count>
constexpr int order_of(const std::array<std::int64_t, Count>& a, const std::array<std::int64_t, Count>& b) {
    for (std::size_t i = 0; i < Count; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/// Whether layout a is simpler than layout b: fewer GPUs, then fewer ranks of the kinds that take the most to set up.
constexpr bool simpler(const layout& a, const layout& b) {
    const auto parts = [](const layout& l) {
        return std::array<std::int64_t, 13>{l.gpus(),
                                            l.pipeline,
                                            l.virtual_pipeline,
                                            l.context_parallel,
                                            l.expert,
                                            l.zero,
                                            l.tensor,
                                            l.expert_tensor_ranks(),
                                            l.data,
                                            static_cast<std::int64_t>(l.schedule),
                                            l.sequence_parallel ? 1 : 0,
                                            l.embedding_as_layer ? 1 : 0,
                                            l.last_stage_layers};
    };
    return order_of(parts(a), parts(b)) < 0;
}

/// Whether a choice is simpler: less in main memory, less recomputed, fewer sequences, then the name of its formats.
constexpr bool simpler(const job_choice& a, const job_choice& b) {
    const auto parts = [](const job_choice& c) {
        return std::array<std::int64_t, 8>{static_cast<std::int64_t>(c.offload.parameters),
                                           static_cast<std::int64_t>(c.offload.activations),
                                           static_cast<std::int64_t>(c.offload.optimizer),
                                           static_cast<std::int64_t>(c.recompute),
                                           c.recompute_modules.bits,
                                           c.recompute_every,
                                           c.micro_batch,
                                           c.batch};
    };
    if (const int order = order_of(parts(a), parts(b)); order != 0) return order < 0;
    const auto name = [](const maybe<precision>& format) { return format ? format->name.view() : std::string_view{}; };
    if (name(a.weights) != name(b.weights)) return name(a.weights) < name(b.weights);
    return name(a.kv_cache) < name(b.kv_cache);
}

/// Whether a is simpler than b: its layout, and where they are the same its choice. Two different layouts of a search
/// are never equally simple, so that its answer does not depend on the order in which they are planned.
constexpr bool simpler(const found_layout& a, const found_layout& b) {
    return a.plan.layout == b.plan.layout ? simpler(a.choice, b.choice) : simpler(a.plan.layout, b.plan.layout);
}

/// Whether a score is better. Scores are compared in single precision, so that sums in another order are equal.
constexpr bool less(double a, double b) { return static_cast<float>(a) < static_cast<float>(b); }

/// Whether a is better than b: by score, then by what decides between equals, then the simpler.
constexpr bool better(const found_layout& a, const found_layout& b) {
    if (less(a.score, b.score) || less(b.score, a.score)) return a.score < b.score;
    if (less(a.next_score, b.next_score) || less(b.next_score, a.next_score)) return a.next_score < b.next_score;
    return simpler(a, b);
}

/// What an objective compares: less is better.
constexpr double score_of(objective o, const job_plan& p, const cluster& c, const tariff& prices) {
    const duration each = approx(tokens(1)) / p.speed.tokens_per_second;
    const std::int64_t gpus = p.layout.gpus();
    switch (o) {
        case objective::throughput: return each.in(seconds);
        case objective::time_to_first_token: return p.speed.prefill.expected().in(seconds);
        case objective::time_per_token: return p.speed.step.expected().in(seconds);
        case objective::fewest_gpus: return static_cast<double>(gpus);
        case objective::cost_per_token: return expense_of(prices, c, gpus, each).cost().expected.in(currency);
        case objective::energy_per_token: return energy_of(prices, *drawn_by_gpu(prices, c), gpus, each).in(joules);
    }
    return each.in(seconds);
}

/// Refuses an objective that this job has no figure for.
constexpr status validate_objective(objective o, const job& j, const cluster& c, const tariff& prices) {
    if (trains(j) && (o == objective::time_to_first_token || o == objective::time_per_token))
        return refused(error_code::inconsistent, "objective", name_of(o), "a serving job, or throughput");
    if (const status s = validate(prices, c); !s) return s;
    if (o == objective::cost_per_token && !prices.has_price())
        return refused(error_code::missing, "gpu_hour", "no price", "what an hour of one GPU costs, above 0");
    if (o == objective::energy_per_token && !drawn_by_gpu(prices, c))
        return refused(error_code::missing, "cluster.gpu.board_power", "unknown", "a GPU whose board power is known");
    return done{};
}

/// Whether the time to the first token and that of each further one keep the limits that are set.
template <class Limits>
constexpr bool in_time(const Limits& most, duration first, duration each) {
    return (!most.time_to_first_token || first <= *most.time_to_first_token) &&
           (!most.time_per_token || each <= *most.time_per_token);
}

/// The error where every layout breaks a limit of time: `expected` says whose times these are, and is followed by the
/// least of the limit in microseconds.
template <class Limits>
constexpr error too_slow(const Limits& most, duration first, duration each, std::string_view expected) {
    const bool waits = most.time_to_first_token && first > *most.time_to_first_token;
    const auto micro = [](duration d) { return static_cast<std::int64_t>(d.in(seconds) * 1e6); };
    return refused(error_code::inconsistent, waits ? "max_time_to_first_token" : "max_time_per_token",
                   micro(waits ? *most.time_to_first_token : *most.time_per_token), expected,
                   micro(waits ? first : each) + 1);
}

}  // namespace detail

}  // namespace llmres::inline v0
