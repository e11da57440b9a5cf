// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/model.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// The passes through a model's layers and its head, priced: what steps of serving and of training are made of.
namespace llmres::inline v0::detail {

/// What a step is priced with.
struct pricing {
    const cluster& on;
    const gpu& sheet;  ///< whose peaks mfu refers to
    const efficiency& reach;
};

/// The passes through one layer of each kind, and through the head.
template <std::size_t N>
struct priced_model {
    std::array<std::array<priced_pass, N>, layer_stack::max_kinds> kinds{};
    std::array<priced_pass, N> head{};
};

template <std::size_t N>
constexpr priced_model<N> price_model(const job& j, const layout& l, const pricing& with,
                                      const operation_formats& formats, const std::array<token_pass, N>& passes) {
    const model& m = j.model;
    std::array<bool, N> runs_long{};  // decoding leaves the arithmetic idle, and the board cool
    for (std::size_t p = 0; p < N; ++p) runs_long[p] = !passes[p].decode;
    pricer<N> price{l, with.on, with.sheet, with.reach, j.runtime.launches, runs_long};
    priced_model<N> made;
    for_each_head_operation(m, formats, passes, l, price);
    made.head = price.sum;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        price.start_over();
        price_layer(price, m.layers.kinds[k], m.hidden, formats, passes);
        made.kinds[k] = price.sum;
    }
    return made;
}

/// The time of a message to the next pipeline stage.
constexpr interval<duration> send_time(byte_count message, const layout& l, const pricing& with) {
    const std::int64_t stride = std::int64_t{l.tensor} * l.data * l.context_parallel;
    const rank_group pair = group_of(with.on, 2, stride);
    return at(time_of(collective_kind::send, message, pair, with.on.scale_up, with.on.scale_out), with.reach.link);
}

/// The time of a transfer between a GPU and its host.
constexpr interval<duration> over_host_link(byte_count size, const pricing& with) {
    const byte_rate rate = with.on.host.link.bandwidth();
    return rate > byte_rate{} ? at(size / rate, with.reach.link) : interval<duration>{};
}

}  // namespace llmres::inline v0::detail
