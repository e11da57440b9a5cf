// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The inventory of the head and the loss: logits are the widest activations there are, and how often they are copied
/// is up to the engine.
namespace llmres::inline v0::detail {

/// The moments at which the loss may be fullest.
enum class loss_point : std::uint8_t {
    saved,     ///< at all of them: what the final norm and the head keep
    kept,      ///< from forward to gradient: what the loss keeps
    forward,   ///< the loss is computed
    gradient,  ///< ... and differentiated
    head,      ///< the head's backward pass
};

/// Positions whose logits exist at once. Liger takes as many parts as the vocabulary is wider than the hidden width, of
/// a power of two positions (ops/fused_linear_cross_entropy.py, chunk_size).
constexpr std::int64_t logit_positions(const model& m, const training_context& context) {
    const std::int64_t all = context.tokens.all();
    if (context.runtime.kernels.loss.code == loss_code::chunked)
        return detail::ceil_quotient(all, context.runtime.kernels.loss.chunks);
    if (context.runtime.kernels.loss.code != loss_code::fused_linear) return all;
    const std::int64_t each = detail::ceil_quotient(all, detail::ceil_quotient(m.vocabulary, m.hidden));
    const auto part = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(each)));
    return part < all ? part : all;
}

/// Whether the head's weight is cast for its product. Heads stay as they are beside quantised layers: only wider ones
/// are.
constexpr bool casts_head(const training_context& context) {
    return context.autocast &&
           (is_packed(context.formats.weights) ? context.formats.fp32_stream
                                               : !(context.formats.weights == context.formats.compute));
}

/// Calls visit(activation, loss_point) for what the final norm, the head and the cross entropy hold.
template <class Visit>
constexpr void for_each_loss_activation(const model& m, const training_context& context, Visit&& visit) {
    const std::int64_t n = context.tokens.all();
    const auto save = [&](const activation& a) { visit(a, loss_point::saved); };
    const detail::layer_writer<const decltype(save)> saved{context, save};
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    saved.norm(n, m.hidden, m.final_norm, by_sequence, backward_point::output, backward_point::output);
    if (context.code.fp32_residual && !context.frozen && !context.formats.fp32_stream)  // it puts out fp32 as well
        saved.put(activation_role::normalised, n * m.hidden, context.formats.stream, by_sequence,
                  backward_point::output);
    if (!context.frozen && m.vocabulary > 0)  // a head that is differentiated at once does not keep it
        visit(activation{activation_role::linear_input, n * m.hidden, context.formats.compute, activation_split::whole},
              context.runtime.kernels.loss.code == loss_code::fused_linear ? loss_point::forward : loss_point::saved);

    if (casts_head(context) && m.vocabulary > 0)
        visit(activation{activation_role::weight, detail::product(m.vocabulary, m.hidden), context.formats.compute,
                         by_tensor},
              loss_point::saved);

    // The labels, shifted; a decoder's own, or token types, for the embedding's gradient.
    if (context.code.loss.fp32_logits || (!context.frozen && m.vocabulary > 0))
        saved.put(activation_role::mask, 8 * n, int8, activation_split::whole, backward_point::output);

    const auto logits = [&](loss_point at, activation_role role, std::int64_t copies, const precision& format,
                            std::int64_t positions) {
        visit(activation{role, detail::product(copies * positions, m.vocabulary), format, by_tensor}, at);
    };
    const bool wide = context.formats.fp32_compute;
    using role = activation_role;
    if (context.runtime.kernels.fuses_loss() && context.runtime.kernels.loss.code <= loss_code::eager_shifted) {
        const precision& format = context.runtime.kernels.loss.returns_logits ? context.formats.compute : fp32;
        for (const loss_point at : {loss_point::forward, loss_point::gradient, loss_point::head})
            logits(at, role::logits, at == loss_point::forward ? 1 : 2, format, n);
        visit(activation{role::gradient, n * m.hidden, context.formats.compute, activation_split::whole},
              loss_point::head);
        return;
    }
    if (context.runtime.kernels.loss.narrow && context.runtime.kernels.loss.code <= loss_code::triton) {
        // Autocast computes it in fp32, and hands the caller fp32 logits besides.
        const precision& format = context.autocast ? fp32 : context.formats.compute;
        const bool eager = context.runtime.kernels.loss.code != loss_code::triton;
        logits(loss_point::forward, role::logits, 2, context.formats.compute, n);
        for (const loss_point at : {loss_point::forward, loss_point::gradient})
            if (context.autocast) logits(at, role::logits_fp32, 1, fp32, n);
        if (eager) logits(loss_point::forward, role::log_probabilities, 1, format, n);
        logits(loss_point::gradient, role::logits, 1, context.formats.compute, n);
        if (eager) logits(loss_point::gradient, role::log_probabilities, 1, format, n);
        logits(loss_point::gradient, role::logits_gradient, 2, format, n);
        logits(loss_point::head, role::logits, 1, context.formats.compute, n);
        logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
        visit(activation{role::gradient, n * m.hidden, context.formats.compute, activation_split::whole},
              loss_point::head);
        return;
    }
    switch (context.runtime.kernels.loss.code) {
        case loss_code::eager:
        case loss_code::eager_shifted: {
            if (context.code.loss.caps_logits)
                logits(loss_point::kept, role::logits, 1, context.formats.compute, n);  // the tanh
            if (!context.code.loss.fp32_logits && !wide) {
                // The log-softmax is kept as it is, and under autocast once more in fp32.
                logits(loss_point::kept, role::log_probabilities, 1, context.formats.compute, n);
                logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
                if (context.autocast) logits(loss_point::kept, role::log_probabilities, 1, fp32, n);
                logits(loss_point::gradient, role::logits_gradient, context.autocast ? 1 : 2,
                       context.autocast ? fp32 : context.formats.compute, n);
                logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
                break;
            }
            if (!wide && context.runtime.kernels.loss.returns_logits)
                logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
            logits(loss_point::forward, role::logits_fp32,
                   context.runtime.kernels.loss.code == loss_code::eager ? 1 : 2, fp32, n);
            logits(loss_point::kept, role::log_probabilities, 1, fp32, n);
            // Over a shared vocabulary: zeros, the exponentials and their sum
            // (torch/distributed/tensor/parallel/loss.py).
            logits(loss_point::gradient, role::logits_gradient, context.splits_vocabulary ? 3 : 2, fp32, n);
            if (context.runtime.kernels.loss.holds_logits)
                logits(loss_point::gradient, role::logits, 1, context.formats.compute, n);
            logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
            break;
        }
        case loss_code::triton:
            if (context.runtime.kernels.loss.returns_logits)
                logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
            logits(loss_point::forward, role::logits_fp32, 2, fp32, n);
            logits(loss_point::gradient, role::logits_gradient, 2, fp32, n);
            logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
            break;
        case loss_code::chunked: {
            const std::int64_t part = logit_positions(m, context);
            logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
            logits(loss_point::forward, role::logits_fp32, 1, fp32, part);
            if (context.runtime.kernels.fuses_loss()) {  // each part's gradient takes the place of its logits
                logits(loss_point::gradient, role::logits_gradient, 1, context.formats.compute, n + part);
                logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
                break;
            }
            logits(loss_point::kept, role::log_probabilities, 1, fp32,
                   n);  // let go part by part, as gradients take their place
            logits(loss_point::gradient, role::logits_gradient, 2, fp32, part);
            logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
            break;
        }
        case loss_code::fused_linear: {
            const std::int64_t part = logit_positions(m, context);
            logits(loss_point::forward, role::logits, 1, context.formats.compute, part);
            logits(loss_point::forward, role::logits_fp32, 1, fp32, part);
            // It differentiates at once: what it read, and the head.
            visit(activation{role::gradient, n * m.hidden, context.formats.compute, activation_split::whole},
                  loss_point::kept);
            if (context.frozen) break;
            const activation head{role::gradient, detail::product(m.vocabulary, m.hidden), context.formats.compute,
                                  by_tensor};
            visit(head, loss_point::kept);
            if (!context.runtime.kernels.loss.widens_head_gradient) break;
            visit(head, loss_point::forward);
            visit(activation{role::gradient, head.elements, fp32, by_tensor}, loss_point::forward);
            break;
        }
        case loss_code::vocabulary_parallel:
        case loss_code::vocabulary_parallel_fused:
            if (wide && context.runtime.kernels.loss.code ==
                            loss_code::vocabulary_parallel) {  // fp32 logits are no copy, and all
                                                               // that follows takes their place
                for (const loss_point at : {loss_point::forward, loss_point::gradient, loss_point::head})
                    logits(at, role::logits, 1, fp32, n);
                break;
            }
            logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
            logits(loss_point::forward, role::logits_fp32,
                   context.runtime.kernels.loss.code == loss_code::vocabulary_parallel ? 1 : 2, fp32, n);
            logits(loss_point::gradient, role::logits_fp32, 1, fp32, n);
            logits(loss_point::gradient, role::logits_gradient, 1, context.formats.compute, n);
            logits(loss_point::head, role::logits, 1, context.formats.compute, n);
            logits(loss_point::head, role::logits_gradient, 1, context.formats.compute, n);
            break;
        case loss_code::transformer_engine:
            for (const loss_point at : {loss_point::forward, loss_point::gradient, loss_point::head})
                logits(at, role::logits, 2, context.formats.compute, n);
            break;
        case loss_code::mean:  // beside the fp32 logits themselves
            if (!wide) logits(loss_point::forward, role::logits, 1, context.formats.compute, n);
            logits(loss_point::gradient, role::logits_gradient, 1, fp32, n);
            if (!context.formats.fp32_stream)
                logits(loss_point::gradient, role::logits_gradient, 1, context.formats.compute, n);
            logits(loss_point::head, role::logits_gradient, 1, context.formats.stream, n);
            break;
    }
    visit(activation{role::gradient, n * m.hidden, context.formats.compute, activation_split::whole}, loss_point::head);
}

/// What the final norm, the head and the loss hold on one GPU, by point.
struct loss_memory {
    byte_count saved{};
    byte_count kept{};
    byte_count forward{};
    byte_count gradient{};
    byte_count head{};
};

constexpr loss_memory loss_memory_of(const model& m, const training_context& context, const layout& l) {
    loss_memory sum;
    for_each_loss_activation(m, context, [&](const activation& a, loss_point at) {
        byte_count& here = at == loss_point::saved      ? sum.saved
                           : at == loss_point::kept     ? sum.kept
                           : at == loss_point::forward  ? sum.forward
                           : at == loss_point::gradient ? sum.gradient
                                                        : sum.head;
        here += local_bytes(a, l);
    });
    return sum;
}

}  // namespace llmres::inline v0::detail
