// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/memory/events/writer.hpp>
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
            to_.allocate(tensor_group::loss, local_bytes(a, to_.folded.split));
        });
        to_.allocate(tensor_group::loss, to_.stage.weights.prediction.logits);
        to_.allocate(tensor_group::loss, to_.stage.weights.prediction.kept);
        if (to_.folded.context.code.loss.scales_logits)
            to_.allocate(tensor_group::whole_gradient, size_of_product());  // until it is divided into another tensor
        at_loss_point(loss_point::saved);
        cast_logits();
        to_.release(tensor_group::whole_gradient);
        at_loss_point(loss_point::forward);
    }
    /// To the point at which the head's product is differentiated.
    constexpr void backward() {
        shifted_ == byte_count{} ? at_loss_point(loss_point::gradient) : pass_back_shifted();
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
    /// Of shifted logits the size of a copy, which lacks the last position of each sequence; 0 where none is shifted
    /// (transformers shifts logits before 4.50, and labels since: loss/loss_utils.py, ForCausalLMLoss).
    constexpr byte_count shifted_copy() const {
        const training_context& context = to_.folded.context;
        const loss_variant variant = loss_variant_of(context);
        if (context.splits_vocabulary || (variant != loss_variant::eager_shifted && variant != loss_variant::triton))
            return {};
        const byte_count whole = whole_copy();
        return whole - div_down(whole, context.tokens.length);
    }
    /// Of the gradient of all logits.
    constexpr byte_count whole_copy() const {
        byte_count whole{};
        for_each_loss_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a, loss_point at) {
            if (at == loss_point::gradient && a.role == activation_role::logits_gradient)
                whole = div_up(local_bytes(a, to_.folded.split), tensors_in(a));
        });
        return whole;
    }
    /// The copies of a role, one by one: of shifted logits the second one is shifted, and all that follows from it.
    constexpr byte_count size_of_copy(const activation& a, std::int64_t copy) const {
        const byte_count size = div_up(local_bytes(a, to_.folded.split), tensors_in(a));
        const bool shifted =
            a.role == activation_role::log_probabilities || (a.role == activation_role::logits_fp32 && copy > 0);
        return shifted && shifted_ > byte_count{} ? shifted_ : size;
    }
    /// The gradient of shifted logits is made beside what the loss saved of them, the log-softmax or the kernel's
    /// logits, and then copied into zeros for all positions (slice_backward): blocks of the shifted copies are too
    /// small for those.
    constexpr void pass_back_shifted() {
        const bool by_kernel = loss_variant_of(to_.folded.context) == loss_variant::triton;
        free_unneeded(loss_point::gradient, by_kernel ? shifted_ : byte_count{});
        if (!by_kernel) to_.allocate(tensor_group::temporaries, shifted_);  // the gradient of the log-softmax
        to_.allocate(tensor_group::whole_gradient, shifted_);
        to_.release(tensor_group::temporaries);
        free_unneeded(loss_point::head, {});
        std::array<bool, live_logits::most> needed{};
        hold_logits(needed, activation_role::logits_gradient, whole_copy(), missing::made);
        to_.release(tensor_group::whole_gradient);
    }
    /// Frees what a point has not, but for tensors of that size.
    constexpr void free_unneeded(loss_point point, byte_count kept) {
        std::array<bool, live_logits::most> needed{};
        hold_all(point, needed, missing::left);
        for (std::size_t i = 0; i < live_logits::most; ++i)
            if (!needed[i] && live_.sizes[i] != kept) free_logits(i);
    }
    /// Of the logits as the head multiplies them.
    constexpr byte_count size_of_product() const {
        const training_context& context = to_.folded.context;
        const std::int64_t all = product(context.tokens.all(), scored_vocabulary(to_.folded.job.model));
        return local_bytes({activation_role::logits, all, context.formats.compute, activation_split::tensor},
                           to_.folded.split);
    }
    /// Where fp32 logits are all that is left in the forward pass, the head's product was there while they were made.
    constexpr void cast_logits() {
        byte_count cast;
        bool stays = false;
        for_each_loss_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a, loss_point at) {
            if (at != loss_point::forward) return;
            stays = stays || a.role == activation_role::logits;
            if (a.role == activation_role::logits_fp32 && cast == byte_count{})
                cast = div_up(local_bytes(a, to_.folded.split), tensors_in(a));
        });
        if (stays || cast == byte_count{}) return;
        to_.allocate(tensor_group::temporaries, size_of_product());
        to_.release(tensor_group::whole_gradient);
        std::array<bool, live_logits::most> needed{};
        hold_logits(needed, activation_role::logits_fp32, cast, missing::made);
        to_.release(tensor_group::temporaries);
    }
    /// Tensors of logits that the table sums up.
    constexpr std::int64_t tensors_in(const activation& a) const {
        const std::int64_t whole = product(to_.folded.context.tokens.all(), scored_vocabulary(to_.folded.job.model));
        return whole > 0 && a.elements % whole == 0 ? a.elements / whole : 1;
    }
    /// What becomes of a needed tensor that is not there.
    enum class missing : bool { left, made };
    /// Marks a tensor that is there as needed.
    constexpr void hold_logits(std::array<bool, live_logits::most>& needed, activation_role role, byte_count size,
                               missing then) {
        std::size_t free = live_logits::most;
        for (std::size_t i = live_logits::most; i-- > 0;) {
            if (live_.sizes[i] == byte_count{}) free = i;
            if (live_.roles[i] != role || live_.sizes[i] != size || needed[i]) continue;
            needed[i] = true;
            return;
        }
        if (then == missing::left || free == live_logits::most) return;
        live_.roles[free] = role, live_.sizes[free] = size, needed[free] = true;
        to_.allocate(loss_group(free), size);
    }
    constexpr void free_logits(std::size_t i) {
        if (live_.sizes[i] > byte_count{}) to_.release(loss_group(i));
        live_.sizes[i] = {};
    }
    /// Marks the tensors of a point that are there as needed.
    constexpr void hold_all(loss_point point, std::array<bool, live_logits::most>& needed, missing then) {
        needed = {};
        for_each_loss_activation(to_.folded.job.model, to_.folded.context, [&](const activation& a, loss_point at) {
            const bool passes = point == loss_point::forward || point == loss_point::gradient;
            const bool held = at == loss_point::held && point > loss_point::forward;
            if (at != point && !held && (at != loss_point::saved || point == loss_point::held) &&
                !(passes && at == loss_point::kept))
                return;
            const std::int64_t count = tensors_in(a);
            for (std::int64_t i = 0; i < count; ++i) hold_logits(needed, a.role, size_of_copy(a, i), then);
        });
    }
    /// Frees what a point has not, then makes what it has and is not there. What the head's product is differentiated
    /// from is made of the last that is freed.
    constexpr void at_loss_point(loss_point point) {
        std::array<bool, live_logits::most> needed{};
        hold_all(point, needed, missing::left);
        std::size_t last = live_logits::most;
        for (std::size_t i = 0; i < live_logits::most; ++i) {
            if (needed[i] || live_.sizes[i] == byte_count{}) continue;
            if (point == loss_point::head && last < live_logits::most) free_logits(last);
            last = i;
            if (point != loss_point::head) free_logits(i);
        }
        hold_all(point, needed, missing::made);
        if (last < live_logits::most && point == loss_point::head) free_logits(last);
    }
    static constexpr std::int64_t loss_group(std::size_t i) {
        return static_cast<std::int64_t>(tensor_group::logits) + static_cast<std::int64_t>(i);
    }

    const event_writer& to_;
    byte_count shifted_ = shifted_copy();
    live_logits live_{};
};

}  // namespace llmres::inline v0::detail
