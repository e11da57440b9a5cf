// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What training keeps of the weights of one place in the model, on one GPU: a fold over the parameter inventory.
namespace llmres::inline v0::detail {

struct weight_state {
    byte_count weights{};
    byte_count adapter{};
    byte_count gathered{};                ///< whole, in the format they are computed in: what ZeRO 3 brings together
    byte_count gradients{};               ///< as kept
    byte_count whole_gradients{};         ///< before they are scattered
    byte_count feed_forward_gradients{};  ///< of `gradients`, the feed-forward's
    byte_count down_gradients{};          ///< ... and its last product's
    byte_count optimizer{};               ///< states, master weights, averages
    byte_count host{};                    ///< what is offloaded to main memory, for this GPU
    byte_count nvme{};                    ///< ... to disks
    byte_count temporaries{};             ///< while the optimizer steps
    byte_count casts{};                   ///< autocast's copies of the matrices
    byte_count feed_forward_casts{};      ///< ... of `casts`, the feed-forward's
    byte_count dummies{};                 ///< Transformer Engine's unused gradients, one for each shape
    byte_count largest{};                 ///< of the matrices, in the compute format
    byte_count stepped{};                 ///< temporaries of the largest tensor, where each is stepped alone
    byte_count first_projection{};        ///< ... of the first matrix that is projected
    byte_count magnitude{};               ///< what DoRA makes to find the norm of one adapted weight
    byte_count down_magnitude{};          ///< ... of the feed-forward's last

    constexpr weight_state& add(const weight_state& o, std::int64_t times) {
        weights += o.weights * times;
        adapter += o.adapter * times;
        gathered += o.gathered * times;
        gradients += o.gradients * times;
        whole_gradients += o.whole_gradients * times;
        optimizer += o.optimizer * times;
        host += o.host * times;
        nvme += o.nvme * times;
        temporaries += o.temporaries * times;
        casts += o.casts * times;
        if (o.dummies > dummies) dummies = o.dummies;
        if (o.largest > largest) largest = o.largest;
        if (o.stepped > stepped) stepped = o.stepped;
        return *this;
    }
};

/// Sums over the weights it is called with. Made once a plan: it holds the job's formats, resolved.
struct state_fold {
    const job& of;
    const layout& over;
    const training_context& context;
    weight_formats formats;
    const precision& gradients;
    maybe<precision> master;
    bool on_gpu;       ///< the optimizer's states
    bool narrower[2];  ///< matrices and all else are computed in another format than they are stored in
    weight_state sum{};
    byte_count last_stepped{};
    std::int64_t rows_so_far = 0;  ///< of the tensor that several roles share
    std::int64_t joined_rows = 0;  ///< of the layer that DoRA scales, as far as its weights were seen

    constexpr state_fold(const job& j, const layout& l, const training_context& s)
        : of{j},
          over{l},
          context{s},
          formats{formats_of(j, s.formats.stream)},
          gradients{gradients_of(j)},
          master{over.zero > 0 && context.runtime.optimizer.copies_master_weights
                     ? maybe<precision>{j.master_weights.value_or(fp32)}
                     : master_weights_of(j)},
          on_gpu{j.offload.optimizer == offload_place::none},
          narrower{!(formats.matrices == s.formats.compute) && !is_packed(formats.matrices),
                   !(formats.rest == s.formats.compute)} {}

    state_fold(const job&, const layout&&, const training_context&) = delete;  // it refers to all three

    constexpr void operator()(const weight& whole) { (*this)(whole, true); }

    /// `inner`: a weight of a layer, which adapters may touch and matrix optimizers treat apart.
    constexpr void operator()(const weight& whole, bool inner) {
        const weight_shape w = local_shape(whole, over);
        const std::int64_t ranks = whole.routed ? over.expert_shard_ranks() : over.dense_shard_ranks();
        const byte_count size = size_of(formats.of(whole), w.rows, w.columns) * w.copies;
        const bool matrix = w.rows > 1 && w.columns > 1;
        const byte_count computed = size_of(context.formats.compute, w.rows, w.columns) * w.copies;
        const bool cast = matrix && narrower[whole.quantised ? 0 : 1];
        const bool has_scales = whole.quantised && context.quantised.four_bit && over.zero >= 3;
        const byte_count scales = has_scales ? size - size_of(int4, w.rows, w.columns) * w.copies
                                             : byte_count{};  // no parameters: every rank has them all
        sum.weights += scales;
        (of.offload.parameters == offload_place::none ? sum.weights : away(of.offload.parameters)) +=
            share(size - scales, ranks, 3);
        if (context.narrows() && inner && matrix && whole.role != weight_role::router &&
            !context.runtime.kernels.fp8.param_gather)
            sum.weights += size_of(context.formats.inputs, w.rows, w.columns) * (2 * w.copies);
        sum.gathered += cast && !context.runtime.kernels.casts_weights ? computed : size - scales;
        if (matrix) {
            const byte_count one = w.copies == 1 ? computed : size_of(context.formats.compute, w.rows, w.columns);
            if (one > sum.largest) sum.largest = one;
            sum.dummies +=
                inner && !whole.routed ? computed : byte_count{};  // grouped products write gradients in place
            if (context.autocast && cast && inner && !(context.quantised.four_bit && whole.quantised) &&
                !(whole.routed && computes_together(context.runtime.kernels.experts)))
                add_casts(computed, whole.role);
        }
        if (!inner && context.code.fixed_positions && whole.role == weight_role::positions &&
            whole.rows == context.encoder_tokens)
            return;
        if (!context.frozen) return train(w, whole, gradients, of.optimizer_states, master, ranks, inner);
        if (!inner && !context.adapter.adapts(whole.role)) return;
        if (context.adapter.kind == adapter_kind::dora && context.adapter.adapts(whole.role))
            find_magnitude(w, whole.role);
        for_each_adapter_weight(context.adapter, context.code, whole, [&](const weight& added) {
            const weight_shape local = local_shape(added, over);
            sum.adapter += share(size_of(context.formats.adapters, local.rows, local.columns) * local.copies, ranks, 3);
            sum.gathered += size_of(context.formats.adapters, local.rows, local.columns) * local.copies;
            if (context.autocast && local.columns > 1 && !(context.formats.adapters == context.formats.compute))
                add_casts(size_of(context.formats.compute, local.rows, local.columns) * local.copies, whole.role);
            train(local, added, context.formats.adapters, context.formats.adapters, {}, ranks, inner);
        });
    }

    /// Trained tokens before each sequence.
    constexpr void train_prompt(std::int64_t hidden) {
        const weight_shape w{context.adapter.rank, hidden, 1};
        const byte_count size = size_of(context.formats.adapters, w.rows, w.columns);
        sum.adapter += share(size, over.dense_shard_ranks(), 3);
        sum.gathered += size;
        train(w, weight{.role = weight_role::embed_tokens, .rows = w.rows, .columns = hidden}, context.formats.adapters,
              context.formats.adapters, {}, over.dense_shard_ranks(), false);
    }

private:
    constexpr byte_count& away(offload_place to) { return to == offload_place::nvme ? sum.nvme : sum.host; }
    constexpr void add_casts(byte_count size, weight_role role) {
        sum.casts += size;
        if (detail::is_feed_forward(role)) sum.feed_forward_casts += size;
    }
    constexpr byte_count share(byte_count size, std::int64_t ranks, int from_stage) const {
        return over.zero >= from_stage ? div_up(size, ranks) : size;
    }
    constexpr void train(const weight_shape& w, const weight& from, const precision& gradient, const precision& states,
                         const maybe<precision>& copy, std::int64_t ranks, bool inner) {
        const byte_count whole = size_of(gradient, w.rows, w.columns) * w.copies;
        sum.whole_gradients += whole;
        if (!of.optimizer.in_backward) {
            const byte_count kept_gradient = share(whole, ranks, 2);
            sum.gradients += kept_gradient;
            if (inner && detail::is_feed_forward(from.role)) {
                sum.feed_forward_gradients += kept_gradient;
                if (from.role == weight_role::down_proj) sum.down_gradients += kept_gradient;
            }
        }
        if (of.ema) sum.optimizer += share(size_of(fp32, w.rows, w.columns) * w.copies, ranks, 1);
        // transformers stacks experts in one tensor of three dimensions, gate and up together: no matrix to optimizers
        // that look for one. Transformer Engine's grouped layers hold a matrix for each.
        const bool stacked = from.routed && context.runtime.kernels.experts != expert_code::modules &&
                             context.runtime.kernels.norm == norm_code::eager;
        const optimizer& o = of.optimizer;
        const bool alone = !stacked && (inner || is_projection(from.role));
        byte_count kept = state_bytes(o, states, w.rows, w.columns, alone);
        byte_count once;  // of all copies
        const std::int64_t rows_before = joins(from.role, stacked) ? rows_so_far : 0;
        const std::int64_t rows = rows_before + w.rows;
        if ((o.factored || o.rank > 0 || o.kronecker) && w.rows > 1 &&
            w.columns > 1) {  // what two roles have in one tensor is one to them
            rows_so_far = rows;
            if (rows_before > 0)
                kept = state_bytes(o, states, rows, w.columns, alone) -
                       state_bytes(o, states, rows_before, w.columns, alone);
            if (o.kronecker && stacked) {
                once = side_bytes(o, states, rows, w.columns, alone) -
                       side_bytes(o, states, rows_before, w.columns, alone);
                kept -= once;
                if (rows_before == 0) once += size_of(states, preconditioned(o, w.copies), w.copies) * 2;
            }
        }
        if (copy) kept += size_of(*copy, w.rows, w.columns);
        if (!on_gpu) {  // gradients follow the states: the host steps
            away(of.offload.optimizer) += share(kept * w.copies + once + whole, ranks, 1);
            return;
        }
        sum.optimizer += share(kept * w.copies + once, ranks, 1);
        if (context.runtime.optimizer.widens_gradients && copy && over.zero < 3 &&
            whole * 2 == size_of(fp32, w.rows, w.columns) * w.copies)
            sum.temporaries += share(whole * (context.runtime.sharding.code != sharding_code::deepspeed ? 2
                                              : over.zero > 0                                           ? 3
                                                                                                        : 4),
                                     ranks, 1);
        if (o.in_backward && o.widens) {
            const byte_count one = (stacked ? whole * (from.role == weight_role::down_proj ? 1 : 2)
                                            : size_of(gradient, w.rows, w.columns)) *
                                   (gradient == fp32 ? 1 : 2 * fp32.element_bytes / gradient.element_bytes);
            if (one > sum.stepped) sum.stepped = one;
        } else if (o.quantising > 0) {
            const byte_count one =
                share(bytes(o.quantising) * (w.rows * w.columns), ranks, 1) + (o.in_backward ? whole : byte_count{});
            if (one > sum.stepped) sum.stepped = one;
        } else if (o.tensor_temporaries > 0) {
            step_alone(o, states, weight_shape{stacked ? w.rows : rows, w.columns, w.copies}, stacked, from.role, alone,
                       ranks);
        }
        const bool in_one_call =
            o.matrix_moments < 0 || stacked || !(inner || is_projection(from.role)) || w.rows == 1 || w.columns == 1;
        if (context.runtime.optimizer.foreach_tensors && o.temporaries > 0 && !o.in_backward && in_one_call)
            sum.temporaries += share(size_of(states, w.rows, w.columns) * w.copies, ranks, 1) * o.temporaries;
    }

    /// Whether a role's weight is one tensor with the one before it.
    constexpr bool joins(weight_role role, bool stacked) const {
        return detail::shares_input_matrix(role, context.code) || (stacked && role == weight_role::up_proj);
    }

    /// What one tensor's step makes: of the shape as far as its roles were seen.
    constexpr void step_alone(const optimizer& o, const precision& states, const weight_shape& w, bool stacked,
                              weight_role role, bool alone, std::int64_t ranks) {
        if (o.kronecker && o.widest_side == 0 && !alone) return;
        const bool joined = stacked && role != weight_role::down_proj;
        const byte_count scratch = scratch_bytes(o, states, stacked ? rows_so_far : w.rows, w.columns, alone);
        if (o.rank > 0 &&
            scratch > byte_count{}) {  // after all that is not projected, and beside the last matrix's update
            if (sum.first_projection == byte_count{}) sum.first_projection = share(scratch, ranks, 1);
            const byte_count beside = share(scratch + size_of(states, w.rows, w.columns), ranks, 1);
            if (beside > sum.stepped) sum.stepped = beside;
            return;
        }
        byte_count one = size_of(o.widens ? fp32 : states, w.rows, w.columns) * o.tensor_temporaries;
        if (o.widens && !(states == fp32)) one += size_of(fp32, w.rows, w.columns) * 2;
        if (stacked) one = one * (w.copies * (joined ? 2 : 1));
        one = share(one + scratch, ranks, 1);
        // A loop lets go of one tensor's temporaries when it has the next one's.
        const bool half = stacked && role == weight_role::up_proj;
        const byte_count both = !o.carries || half          ? one
                                : o.tensor_temporaries == 1 ? one + last_stepped
                                : one > last_stepped        ? one + div_up(last_stepped, 2)
                                                            : div_up(one, 2) + last_stepped;
        if (both > sum.stepped) sum.stepped = both;
        last_stepped = one;
    }

    /// peft/tuners/lora/dora.py: B A is B(A(identity)), its input's width squared; then it, the weight, the scaled B A
    /// and their sum, all in the format of the adapter's input. The identity stays for A's gradient.
    constexpr void find_magnitude(const weight_shape& w, weight_role role) {
        joined_rows = detail::shares_input_matrix(role, context.code) ? joined_rows + w.rows : w.rows;
        const bool casts = context.autocast && !(context.formats.adapters == context.formats.compute);
        const byte_count identity = size_of(context.formats.adapters, w.columns, w.columns);
        const byte_count cast = casts ? size_of(context.formats.compute, w.columns, w.columns) : byte_count{};
        const byte_count input = context.copies_adapter_inputs
                                     ? size_of(context.formats.adapters, context.tokens.all(), w.columns)
                                     : byte_count{};
        const byte_count applied = identity + cast + size_of(context.formats.compute, joined_rows, w.columns);
        const byte_count summed =
            (casts ? cast : identity) +
            size_of(context.formats.adapters, joined_rows, w.columns) * (context.copies_adapter_inputs ? 4 : 3);
        const byte_count both = input + (applied > summed ? applied : summed);
        if (role == weight_role::down_proj) {
            if (both > sum.down_magnitude) sum.down_magnitude = both;
            return;
        }
        const byte_count beside = both + size_of(context.formats.compute, context.tokens.all(),
                                                 joined_rows);  // what the weight itself put out
        if (beside > sum.magnitude) sum.magnitude = beside;
    }

    /// Linear layers outside the layers: an encoder's, a classifier. Not embeddings, and not the head.
    static constexpr bool is_projection(weight_role role) {
        return role >= weight_role::q_proj && role <= weight_role::router ? true : role == weight_role::classifier;
    }
};

}  // namespace llmres::inline v0::detail
