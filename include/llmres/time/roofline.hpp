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

/// How long does a kernel or an exchange take? A kernel as long as its arithmetic or its memory traffic, whichever is
/// longer (the roofline model, doi 10.1145/1498765.1498785), each at a stated part of the peaks.
namespace llmres::inline v0 {

/// What the time of a step is spent on.
enum class time_term : std::uint8_t {
    compute,               ///< operations bound by arithmetic
    memory,                ///< operations bound by memory traffic
    tensor_communication,  ///< exchanges between tensor ranks
    pipeline_bubble,       ///< waiting for other stages, and sending activations to them
    /// Exchanging gradients, and ZeRO's gathers, where they do not overlap with computing.
    data_communication,
    expert_communication,  ///< exchanging tokens of routed experts
    /// Copying offloaded tensors, where that does not overlap, and layers that the CPU computes.
    host_transfer,
    host_optimizer,  ///< optimizer steps of the CPU
    launch,          ///< starting kernels
};
/// The names of the terms, in their order.
inline constexpr std::array<std::string_view, 9> time_term_names{"compute",
                                                                 "memory",
                                                                 "tensor_communication",
                                                                 "pipeline_bubble",
                                                                 "data_communication",
                                                                 "expert_communication",
                                                                 "host_transfer",
                                                                 "host_optimizer",
                                                                 "launch"};
/// The name of a term: "tensor_communication".
constexpr std::string_view name_of(time_term term) { return time_term_names[static_cast<std::size_t>(term)]; }

/// The part of the peaks that kernels reach. `low` is the slow end.
struct efficiency {
    /// Matrix products. Median of large bf16 shapes over 10 GPUs: 0.74 of the dense peak, 0.55 to 0.96 (tag AIC-GEMM);
    /// less in long runs, when power limits lower the clock, and for the small shapes that parallelism leaves.
    interval<double> arithmetic{0.38, 0.62, 0.92};
    /// Memory traffic. Weight streaming over 10 GPUs: median 0.84, at most 0.92 (AIC-GEMM); whole decode steps of small
    /// models 0.5 and less (llama.cpp and vLLM logs).
    interval<double> bandwidth{0.45, 0.78, 0.92};
    /// Links, relative to what large transfers reach.
    interval<double> link{0.60, 0.90, 1.00};
    /// Starting the kernels of one layer; CUDA graphs at the low end, eager Python at the high one
    /// (2.5 to 4 ms a token for 32 layers without graphs).
    interval<duration> launch_per_layer{microseconds(15), microseconds(35), microseconds(120)};
    /// The part of the gradients' exchange, and of copies to and from the host, that overlaps with computing.
    interval<double> overlap{1.0, 0.7, 0.0};
};
inline constexpr efficiency default_efficiency{};  ///< the efficiencies of this header

/// Efficiencies relative to rates that were measured on the device itself. Of the measured bandwidth a job is expected
/// to reach all; of the best matrix product, the part that products of other shapes reached (`reach`). The slow ends
/// are lower in the same proportion as those of `e`. A rate that was not measured is the datasheet's peak at the
/// expected efficiency of `e`, with the bounds of `e`.
constexpr efficiency efficiency_of_measured(bool arithmetic, bool bandwidth, efficiency e = default_efficiency,
                                            const interval<double>& reach = 1.0) {
    const auto relative = [](const interval<double>& own, bool measured, const interval<double>& reached) {
        const double low = own.low / own.expected;
        if (!measured) return interval<double>{low, 1.0, own.high / own.expected};
        const double short_of_it = low * reached.expected;
        return interval<double>{short_of_it < reached.low ? short_of_it : reached.low, reached.expected, reached.high};
    };
    e.arithmetic = relative(e.arithmetic, arithmetic, reach);
    e.bandwidth = relative(e.bandwidth, bandwidth, 1.0);
    return e;
}

/// The time of a step or of a prompt, term by term.
struct time_breakdown {
    std::array<interval<duration>, time_term_names.size()> terms{};  ///< the time of each term

    /// The time of a term.
    constexpr interval<duration>& operator[](time_term t) { return terms[static_cast<std::size_t>(t)]; }
    /// The time of a term.
    constexpr const interval<duration>& operator[](time_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// The sum of all terms.
    constexpr interval<duration> total() const {
        interval<duration> sum;
        for (const auto& term : terms) sum += term;
        return sum;
    }
    /// The term with the largest expected time.
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
    if (ideal == duration{}) return {};  // most terms of most jobs are zero
    return {ideal / reached.high, ideal / reached.expected, ideal / reached.low};
}
constexpr interval<duration> operator*(const interval<duration>& t, double n) {
    return {t.low * n, t.expected * n, t.high * n};
}
constexpr time_breakdown operator*(time_breakdown t, double n) {
    for (auto& term : t.terms) term = term * n;
    return t;
}
/// The link between `span` consecutive ranks: the link inside a node as long as one node holds them all.
constexpr const link& link_among(const cluster& c, std::int64_t span) {
    return span <= c.node_size() ? c.scale_up : c.scale_out;
}

/// The time of a pass at the peaks. Efficiencies are applied to the sums, once for each class.
struct ideal_pass {
    duration compute{};
    duration memory{};
    duration tensor{};
    duration expert{};
    double layers = 0;
    flop_count flops{};  ///< on all tensor ranks together

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

/// Adds up the times of one rank's operations and exchanges at the peaks, for N passes at once. An operation is bound
/// by arithmetic or by memory traffic, whichever takes longer at the expected efficiencies.
template <std::size_t N>
struct pricer {
    using duration_a_byte = decltype(1.0 / byte_rate{});
    using duration_a_flop = decltype(1.0 / flop_rate{});

    const layout& degrees;
    const cluster& hardware;
    const efficiency& reach;
    duration_a_byte a_byte;
    arithmetic_kind last = arithmetic_kind::fp64;
    duration_a_flop a_flop;  ///< in the arithmetic of `last`
    std::array<ideal_pass, N> ideal{};

    constexpr pricer(const layout& l, const cluster& c, const efficiency& e)
        : degrees{l}, hardware{c}, reach{e}, a_byte{1.0 / c.gpu.memory.bandwidth}, a_flop{at_rate(last)} {
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
        sum.flops += o.flops * degrees.tensor;
    }
    constexpr void operator()(const exchange& x, std::size_t pass) {
        const bool experts = x.among == exchange::group::expert;
        const std::int64_t ranks = experts ? degrees.expert : degrees.tensor;
        const std::int64_t span =
            experts ? std::int64_t{degrees.expert} * degrees.expert_tensor_ranks() : degrees.tensor;
        (experts ? ideal[pass].expert : ideal[pass].tensor) +=
            time_of(x.kind, x.message, ranks, link_among(hardware, span));
    }

private:
    /// Seconds of one operation. Zero where the GPU has no known rate in this format.
    constexpr duration_a_flop at_rate(arithmetic_kind kind) const {
        const flop_rate peak = matrix_rate(hardware.gpu, kind);
        return peak > flop_rate{} ? 1.0 / peak : duration_a_flop{};
    }
};

/// Adds a layer's operations and exchanges to each pass.
template <std::size_t N>
constexpr void price_layer(pricer<N>& price, const layer& kind, std::int64_t hidden, const operation_formats& formats,
                           const std::array<token_pass, N>& passes) {
    for_each_operation(kind, hidden, formats, passes, price.degrees, price);
    for (std::size_t p = 0; p < N; ++p) {
        for_each_exchange(kind, hidden, formats.compute, passes[p].tokens, price.degrees,
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
