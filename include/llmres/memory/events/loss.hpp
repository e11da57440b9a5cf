// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What the final norm, the head and the loss allocate and free.
namespace llmres::inline v0::detail {

/// The tensors of the loss that are alive. From one point to the next those of one role and size stay what they are.
struct live_logits {
    static constexpr std::size_t most = 32;
    std::array<activation_role, most> roles{};
    std::array<byte_count, most> sizes{};  ///< 0: free
};

class loss_events {
public:
    constexpr explicit loss_events(const event_writer& writer) : to_{writer} {}

    constexpr void forward() {
        finish();
        for_each_output_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a) {
            to_.allocate(tensor_group::loss, local_bytes(a, to_.folded.layout));
        });
        to_.allocate(tensor_group::loss, to_.stage.weights.prediction.logits);
        to_.allocate(tensor_group::loss, to_.stage.weights.prediction.kept);
        at_loss_point(loss_point::saved);
        cast_logits();
        at_loss_point(loss_point::forward);
    }
    /// To the point at which the head's product is differentiated.
    constexpr void backward() {
        at_loss_point(loss_point::gradient);
        at_loss_point(loss_point::head);
    }
    /// To where the head's product has been differentiated: what the caller holds stays.
    constexpr void end() {
        at_loss_point(loss_point::held);
        to_.release(tensor_group::loss);
    }
    /// To the end of the step.
    constexpr void finish() {
        for (std::size_t i = 0; i < live_logits::most; ++i) free_logits(i);
    }

private:
    /// Where fp32 logits are all that is left in the forward pass, the head's product was there while they were made.
    constexpr void cast_logits() {
        byte_count product_size, cast;
        bool stays = false;
        for_each_loss_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a, loss_point at) {
            if (at != loss_point::forward) return;
            stays = stays || a.role == activation_role::logits;
            if (a.role != activation_role::logits_fp32 || cast > byte_count{}) return;
            const std::int64_t count = tensors_in(a);
            cast = div_up(local_bytes(a, to_.folded.layout), count);
            const activation product{a.role, a.elements, to_.folded.context.formats.compute, a.split};
            product_size = div_up(local_bytes(product, to_.folded.layout), count);
        });
        if (stays || cast == byte_count{}) return;
        to_.allocate(tensor_group::temporaries, product_size);
        std::array<bool, live_logits::most> needed{};
        hold_logits(needed, activation_role::logits_fp32, cast, true);
        to_.release(tensor_group::temporaries);
    }
    /// Tensors of logits that the table sums up.
    constexpr std::int64_t tensors_in(const activation& a) const {
        const std::int64_t whole = product(to_.folded.context.tokens.all(), to_.folded.job.model.vocabulary);
        return whole > 0 && a.elements % whole == 0 ? a.elements / whole : 1;
    }
    /// Marks a tensor that is there as needed, or makes it.
    constexpr void hold_logits(std::array<bool, live_logits::most>& needed, activation_role role, byte_count size,
                               bool makes) {
        std::size_t free = live_logits::most;
        for (std::size_t i = live_logits::most; i-- > 0;) {
            if (live_.sizes[i] == byte_count{}) free = i;
            if (live_.roles[i] != role || live_.sizes[i] != size || needed[i]) continue;
            needed[i] = true;
            return;
        }
        if (!makes || free == live_logits::most) return;
        live_.roles[free] = role, live_.sizes[free] = size, needed[free] = true;
        to_.allocate(loss_group(free), size);
    }
    constexpr void free_logits(std::size_t i) {
        if (live_.sizes[i] > byte_count{}) to_.release(loss_group(i));
        live_.sizes[i] = {};
    }
    /// Frees what a point has not, then makes what it has and is not there. What the head's product is differentiated
    /// from is made of the last that is freed.
    constexpr void at_loss_point(loss_point point) {
        std::array<bool, live_logits::most> needed{};
        const auto hold_all = [&](bool makes) {
            needed = {};
            for_each_loss_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a, loss_point at) {
                const bool passes = point == loss_point::forward || point == loss_point::gradient;
                const bool held = at == loss_point::held && point > loss_point::forward;
                if (at != point && !held && (at != loss_point::saved || point == loss_point::held) &&
                    !(passes && at == loss_point::kept))
                    return;
                const std::int64_t count = tensors_in(a);
                for (std::int64_t i = 0; i < count; ++i)
                    hold_logits(needed, a.role, div_up(local_bytes(a, to_.folded.layout), count), makes);
            });
        };
        hold_all(false);
        std::size_t last = live_logits::most;
        for (std::size_t i = 0; i < live_logits::most; ++i) {
            if (needed[i] || live_.sizes[i] == byte_count{}) continue;
            if (point == loss_point::head && last < live_logits::most) free_logits(last);
            last = i;
            if (point != loss_point::head) free_logits(i);
        }
        hold_all(true);
        if (last < live_logits::most && point == loss_point::head) free_logits(last);
    }
    static constexpr std::int64_t loss_group(std::size_t i) {
        return static_cast<std::int64_t>(tensor_group::logits) + static_cast<std::int64_t>(i);
    }

    const event_writer& to_;
    live_logits live_{};
};

}  // namespace llmres::inline v0::detail
