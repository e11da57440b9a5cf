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
#include <llmres/memory/training/remembered.hpp>
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

/// Passes that were priced for other layouts of the same job on the same GPUs.
template <std::size_t N>
using remembered_passes = remembered<std::array<priced_pass, N>>;

/// Prices the passes through the parts of a model in one layout.
template <std::size_t N>
struct model_pricer {
    const job& j;
    const layout& l;
    const pricing& with;
    const operation_formats& formats;
    const std::array<token_pass, N>& passes;

    constexpr pricer<N> make() const {
        std::array<bool, N> runs_long{};  // decoding leaves the arithmetic idle, and the board cool
        for (std::size_t p = 0; p < N; ++p) runs_long[p] = !passes[p].decode;
        return {l, with.on, with.sheet, with.reach, j.runtime.launches, runs_long};
    }
    constexpr const std::array<priced_pass, N>& head(pricer<N>& price) const {
        for_each_head_operation(j.model, formats, passes, l, price);
        return price.sum;
    }
    constexpr const std::array<priced_pass, N>& layer(pricer<N>& price, std::size_t kind) const {
        price_layer(price, j.model.layers.kinds[kind], j.model.hidden, formats, passes);
        return price.sum;
    }
    constexpr priced_model<N> all() const {
        pricer<N> price = make();
        priced_model<N> made;
        made.head = head(price);
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
            price.start_over();
            made.kinds[k] = layer(price, k);
        }
        return made;
    }
    /// The same, of which other layouts may have had parts.
    constexpr priced_model<N> all(remembered_passes<N>& known) const {
        fold_key key = without_shards(l, layer_stack::max_kinds);
        key.dense_ranks = passes[0].tokens.sequences;
        key.expert_ranks = passes[0].adds_gradients;
        priced_model<N> made;
        made.head = known.get(key, [&] {
            pricer<N> price = make();
            return head(price);
        });
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
            key.what = static_cast<std::int32_t>(k);
            made.kinds[k] = known.get(key, [&] {
                pricer<N> price = make();
                return layer(price, k);
            });
        }
        return made;
    }
};

template <std::size_t N>
constexpr priced_model<N> price_model(const job& j, const layout& l, const pricing& with,
                                      const operation_formats& formats, const std::array<token_pass, N>& passes,
                                      remembered_passes<N>* known) {
    const model_pricer<N> prices{j, l, with, formats, passes};
    return known ? prices.all(*known) : prices.all();
}

/// The time of a message to the next pipeline stage.
constexpr interval<duration> send_time(byte_count message, const layout& l, const pricing& with) {
    const std::int64_t stride = std::int64_t{l.tensor} * l.data * l.context_parallel;
    const rank_group pair = group_of(with.on, 2, stride);
    return at(time_of(collective_kind::send, message, pair, with.on.scale_up, with.on.scale_out), with.reach.link);
}

/// The time in which tensor ranks gather a tensor of which each has a part.
constexpr interval<duration> gather_time(byte_count message, const layout& l, const pricing& with) {
    const rank_group ranks = group_of(with.on, l.tensor, 1);
    return at(time_of(collective_kind::all_gather, message, ranks, with.on.scale_up, with.on.scale_out),
              with.reach.link);
}

/// The time of a transfer between a GPU and its host.
constexpr interval<duration> over_host_link(byte_count size, const pricing& with) {
    const byte_rate rate = with.on.host.link.bandwidth();
    return rate > byte_rate{} ? at(size / rate, with.reach.link) : interval<duration>{};
}

}  // namespace llmres::inline v0::detail
