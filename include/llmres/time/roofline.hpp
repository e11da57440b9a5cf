// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How long a kernel or an exchange takes: its arithmetic or its memory traffic, whichever is longer (the roofline
/// model, doi 10.1145/1498765.1498785), at a stated part of the peaks.
namespace llmres::inline v0 {

enum class time_term : std::uint8_t {
    compute,  ///< operations bound by arithmetic
    memory,   ///< operations bound by memory traffic
    tensor_communication,
    pipeline_bubble,     ///< waiting for other stages, and the sends between them
    data_communication,  ///< gradients and ZeRO's gathers, as far as they do not overlap
    expert_communication,
    host_transfer,  ///< offloaded tensors on their way, as far as they do not overlap, and layers that the CPU computes
    host_optimizer,  ///< steps that the CPU takes
    launch,          ///< starting kernels
};
inline constexpr std::array<std::string_view, 9> time_term_names{"compute",
                                                                 "memory",
                                                                 "tensor_communication",
                                                                 "pipeline_bubble",
                                                                 "data_communication",
                                                                 "expert_communication",
                                                                 "host_transfer",
                                                                 "host_optimizer",
                                                                 "launch"};
constexpr std::string_view name_of(time_term term) { return time_term_names[static_cast<std::size_t>(term)]; }

/// What kernels reach of the peaks. `low` is the slow end.
struct efficiency {
    /// Matrix products. Median of large bf16 shapes over 10 GPUs: 0.74 of the dense peak, 0.55 to 0.96 (tag AIC-GEMM);
    /// less in long runs, when power limits lower the clock, and for the narrow shapes that parallelism leaves.
    interval<double> arithmetic{0.38, 0.62, 0.92};
    /// Memory traffic. Weight streaming over 10 GPUs: median 0.84, at most 0.92 (AIC-GEMM); whole decode steps of small
    /// models 0.5 and less (llama.cpp and vLLM logs).
    interval<double> bandwidth{0.45, 0.78, 0.92};
    /// Links, relative to what large transfers reach.
    interval<double> link{0.60, 0.90, 1.00};
    /// Starting the kernels of one layer; CUDA graphs at the low end, eager Python at the high one
    /// (2.5 to 4 ms a token for 32 layers without graphs).
    interval<duration> launch_per_layer{microseconds(15), microseconds(35), microseconds(120)};
    /// How much of the gradients' exchange, and of what goes to the host and comes from there, the passes hide.
    interval<double> overlap{1.0, 0.7, 0.0};
};
inline constexpr efficiency default_efficiency{};

/// What a job reaches of what was measured on the device itself: all of the bandwidth, and of the best product what
/// others did (`reach`), since those are achieved figures; at the slow end as much less as whole steps may fall short
/// of what is expected of them anyway. What was not measured counts as the sheet's peak at the expected efficiency `e`,
/// and keeps its bounds.
constexpr efficiency efficiency_of_measured(bool arithmetic, bool bandwidth, efficiency e = default_efficiency,
                                            const interval<double>& reach = 1.0) {
    const auto relative = [](const interval<double>& of, bool measured, const interval<double>& reached) {
        const double low = of.low / of.expected;
        if (!measured) return interval<double>{low, 1.0, of.high / of.expected};
        const double short_of_it = low * reached.expected;
        return interval<double>{short_of_it < reached.low ? short_of_it : reached.low, reached.expected, reached.high};
    };
    e.arithmetic = relative(e.arithmetic, arithmetic, reach);
    e.bandwidth = relative(e.bandwidth, bandwidth, 1.0);
    return e;
}

/// Time by term; `terms` add up to total().
struct time_breakdown {
    std::array<interval<duration>, time_term_names.size()> terms{};

    constexpr interval<duration>& operator[](time_term t) { return terms[static_cast<std::size_t>(t)]; }
    constexpr const interval<duration>& operator[](time_term t) const { return terms[static_cast<std::size_t>(t)]; }
    constexpr interval<duration> total() const {
        interval<duration> sum;
        for (const auto& term : terms) sum += term;
        return sum;
    }
    constexpr time_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<time_term>(best);
    }
};

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr interval<duration> at(duration ideal, const interval<double>& reached) {
    if (ideal == duration{}) return {};  // most jobs leave most terms out
    return {ideal / reached.high, ideal / reached.expected, ideal / reached.low};
}
constexpr interval<duration> operator*(const interval<duration>& t, double n) {
    return {t.low * n, t.expected * n, t.high * n};
}
constexpr time_breakdown operator*(time_breakdown t, double n) {
    for (auto& term : t.terms) term = term * n;
    return t;
}
/// The link over which a group of consecutive ranks talks: the node's own while they all sit in one.
constexpr const link& link_among(const cluster& c, std::int64_t span) {
    return span <= c.node_size() ? c.scale_up : c.scale_out;
}

/// What a pass would take at the peaks: the efficiencies come last, once a class.
struct ideal_pass {
    duration compute{};
    duration memory{};
    duration tensor{};
    duration expert{};
    double layers = 0;
    flop_count flops{};  ///< of all tensor ranks

    constexpr void add(const ideal_pass& other, double times) {
        compute += other.compute * times;
        memory += other.memory * times;
        tensor += other.tensor * times;
        expert += other.expert * times;
        layers += other.layers * times;
        flops += other.flops * times;
    }
    constexpr time_breakdown at_efficiency(const efficiency& e) const {
        time_breakdown t;
        t[time_term::compute] = at(compute, e.arithmetic);
        t[time_term::memory] = at(memory, e.bandwidth);
        t[time_term::tensor_communication] = at(tensor, e.link);
        t[time_term::expert_communication] = at(expert, e.link);
        t[time_term::launch] = e.launch_per_layer * layers;
        return t;
    }
};

/// Prices one rank's operations and exchanges of N passes at the peaks. An operation counts as bound by what takes
/// longer at the expected efficiencies.
template <std::size_t N>
struct pricer {
    using duration_a_byte = decltype(1.0 / byte_rate{});
    using duration_a_flop = decltype(1.0 / flop_rate{});

    const layout& over;
    const cluster& on;
    const efficiency& reach;
    duration_a_byte a_byte;
    arithmetic_kind last = arithmetic_kind::fp64;
    duration_a_flop a_flop;  ///< in the arithmetic of `last`
    std::array<ideal_pass, N> ideal{};

    constexpr pricer(const layout& l, const cluster& c, const efficiency& e)
        : over{l}, on{c}, reach{e}, a_byte{1.0 / c.gpu.memory.bandwidth}, a_flop{at_rate(last)} {
        start_over();
    }

    constexpr void start_over() {
        for (ideal_pass& pass : ideal)
            pass = ideal_pass{};  // GCC 12 takes array{} for uninitialised in constant expressions
    }

    [[gnu::always_inline]] constexpr void operator()(const operation& o, std::size_t pass) {
        if (o.arithmetic != last) a_flop = at_rate(last = o.arithmetic);
        const duration computing = o.flops * a_flop;
        const duration moving = approx(o.read + o.written) * a_byte;
        ideal_pass& sum = ideal[pass];
        if (computing * reach.bandwidth.expected > moving * reach.arithmetic.expected)
            sum.compute += computing;
        else
            sum.memory += moving;
        sum.flops += o.flops * over.tensor;
    }
    constexpr void operator()(const exchange& x, std::size_t pass) {
        const bool experts = x.among == exchange::group::expert;
        const std::int64_t ranks = experts ? over.expert : over.tensor;
        const std::int64_t span = experts ? std::int64_t{over.expert} * over.expert_tensor_ranks() : over.tensor;
        (experts ? ideal[pass].expert : ideal[pass].tensor) += time_of(x.kind, x.message, ranks, link_among(on, span));
    }

private:
    /// What has no rate takes no time: such a GPU is not known well enough.
    constexpr duration_a_flop at_rate(arithmetic_kind kind) const {
        const flop_rate peak = matrix_rate(on.gpu, kind);
        return peak > flop_rate{} ? 1.0 / peak : duration_a_flop{};
    }
};

/// Adds a layer's operations and exchanges to each pass.
template <std::size_t N>
constexpr void price_layer(pricer<N>& price, const layer& kind, std::int64_t hidden, const operation_formats& formats,
                           const std::array<token_pass, N>& passes) {
    for_each_operation(kind, hidden, formats, passes, price.over, price);
    for (std::size_t p = 0; p < N; ++p) {
        for_each_exchange(kind, hidden, formats.compute, passes[p].tokens, price.over,
                          [&](const exchange& x) { price(x, p); });
        price.ideal[p].layers = 1;
    }
}

constexpr double gpu_seconds_of_flops(flop_count f, const cluster& c, arithmetic_kind arithmetic, std::int64_t gpus) {
    const flop_rate peak = matrix_rate(c.gpu, arithmetic);
    return peak > flop_rate{} ? (f / peak).in(seconds) / static_cast<double>(gpus) : 0.0;
}

}  // namespace detail

}  // namespace llmres::inline v0
