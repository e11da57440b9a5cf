// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/time/steps/serving.hpp>
#include <llmres/time/steps/training.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// Which kernels does a step run, how fast is each kind, and is it bound by arithmetic or by memory traffic? The points
/// of a roofline.
namespace llmres::inline v0 {

/// A pass of a step.
enum class step_pass : std::uint8_t {
    forward,   ///< training: forward pass of a micro-batch
    backward,  ///< training: its backward pass
    decode,    ///< serving: one token of every sequence of a data rank
    prefill,   ///< serving: one prompt
};
/// The names of the passes, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<step_pass>{"forward", "backward", "decode", "prefill"};

/// All kernels of one kind in one pass, through every layer, on one tensor rank of each pipeline stage.
struct kernel_time {
    step_pass pass = step_pass::forward;                 ///< the pass
    operation_kind kind = operation_kind::projection;    ///< what they compute
    bool head = false;                                   ///< products with the vocabulary
    arithmetic_kind arithmetic = arithmetic_kind::bf16;  ///< the arithmetic of the last of them
    flop_count flops{};                                  ///< what they compute
    byte_count moved{};                                  ///< what they read and write
    /// What they take at the expected efficiencies, without the time of starting them.
    duration time{};

    /// FLOPs for each byte that is moved.
    constexpr double intensity() const {
        return moved > byte_count{} ? flops.in(llmres::flops) / static_cast<double>(moved.in(bytes)) : 0.0;
    }
    /// FLOPs a second.
    constexpr flop_rate rate() const { return time > duration{} ? flops / time : flop_rate{}; }
};

/// The kernels of a step by kind and pass.
struct kernel_times {
    std::array<kernel_time, 10> storage{};  ///< the first `count` are in use
    std::size_t count = 0;                  ///< kernels in use

    /// Those in use.
    constexpr std::span<const kernel_time> all() const& { return {storage.data(), count}; }
    /// Not of a temporary, which the span would outlive.
    constexpr std::span<const kernel_time> all() const&& = delete;
};

/// The kernels of a step: of a forward and a backward pass of a micro-batch, or of a decoding step and a prompt. What
/// recomputation repeats, layers that predict further tokens, and exchanges are not among them. Preconditions:
/// validate() holds for job, layout and cluster.
constexpr kernel_times kernel_times_of(const job& j, const layout& l, const cluster& c,
                                       const efficiency& e = default_efficiency);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Adds up operations by kind and pass, as a pricer prices each alone.
struct kernel_sums {
    static constexpr std::size_t kinds = 5;  ///< those of operation_kind, and the head's products

    pricer price;
    std::array<std::array<kernel_time, kinds>, 2> sums{};
    double times = 1;                          ///< layers that run each operation
    std::array<double, 2> repeated{1.0, 1.0};  ///< how often a pass goes through the layers: chunks of a prompt
    bool head = false;

    constexpr void operator()(const operation& o, std::size_t pass) {
        price.start_over();
        price(o, pass);
        const bool of_head = head && o.kind != operation_kind::elementwise;
        kernel_time& to = sums[pass][of_head ? kinds - 1 : static_cast<std::size_t>(o.kind)];
        to.kind = o.kind;
        to.head = of_head;
        to.arithmetic = o.arithmetic;
        const double runs = head ? 1.0 : times * repeated[pass];
        to.flops += o.flops * runs;
        to.moved += scaled_up(o.read + o.written, runs);
        to.time += (price.sum[pass].compute + price.sum[pass].memory) * runs;
    }
};

constexpr kernel_times kernel_times_of(const job& j, const layout& l, const pricing& with,
                                       const operation_formats& formats, const token_passes& passes,
                                       const std::array<step_pass, 2>& names,
                                       const std::array<double, 2>& repeated = {1.0, 1.0}) {
    const std::int32_t first = trains(j) ? 0 : placement_on_host(j).layers.last;
    const kind_counts counts = j.model.layers.counts(first, j.model.layers.size);
    kernel_sums sums{.price = model_pricer::pricer_of(j, l, with, passes), .repeated = repeated};
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        sums.times = counts[k];
        for_each_operation(j.model.layers.kinds[k], j.model.hidden, formats, passes, l, sums);
    }
    sums.head = true;
    for_each_head_operation(j.model, formats, passes, l, sums);
    kernel_times made;
    for (std::size_t p = 0; p < 2; ++p)
        for (kernel_time& kernel : sums.sums[p]) {
            if (kernel.time <= duration{}) continue;
            kernel.pass = names[p];
            made.storage[made.count++] = kernel;
        }
    return made;
}

}  // namespace detail

constexpr kernel_times kernel_times_of(const job& j, const layout& l, const cluster& c, const efficiency& e) {
    return detail::with_pricing(j, c, e, [&](const detail::pricing& with) {
        if (trains(j))
            return detail::kernel_times_of(j, l, with, detail::training_formats(j), detail::passes_of_training(j, l),
                                           {step_pass::forward, step_pass::backward});
        const detail::serving_passes p = detail::serving_passes_of(j, l);
        token_passes passes;
        passes.push(p.decode);
        passes.push(p.prompt);
        return detail::kernel_times_of(j, l, with, detail::serving_formats(j), passes,
                                       {step_pass::decode, step_pass::prefill}, {1.0, p.prompt_chunks});
    });
}

}  // namespace llmres::inline v0
