// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// The inventory of the head and the loss: logits are the widest activations there are, and how often they are copied
/// is up to the software. One table holds what each way of computing the loss makes.
namespace llmres::inline v0::detail {

/// The points at which memory of the loss may peak.
enum class loss_point : std::uint8_t {
    saved,     ///< at all of them: what the final norm and the head save
    kept,      ///< from the forward pass to the gradient: what the loss saves
    forward,   ///< the loss is computed
    gradient,  ///< the gradient of the logits is computed
    head,      ///< the head's product is differentiated
    held,      ///< from the loss to the end of the step: the logits that the caller of the model still refers to
};

/// Ways to compute the loss: loss_code, told apart by format and compilation.
enum class loss_variant : std::uint8_t {
    compiled,                   ///< eager, fused by torch.compile
    in_logits_format,           ///< eager, over the logits as they are, which stay until the step is done
    triton_in_format,           ///< one kernel, over the logits as they are, which stay until the step is done
    uncast,                     ///< eager, of a model whose logits are not cast to fp32
    eager,                      ///< PyTorch's operators over an fp32 copy of the logits
    eager_shifted,              ///< the same, and the copy is copied once more, shifted
    triton,                     ///< one kernel over the shifted fp32 copy
    chunked,                    ///< eager, over a part of the tokens at a time
    chunked_compiled,           ///< the same, fused by torch.compile
    fused_linear,               ///< head and loss together, over a part of the tokens at a time (Liger)
    fp32_parallel,              ///< Megatron-Core over fp32 logits: all that follows takes their place
    vocabulary_parallel,        ///< Megatron-Core over an fp32 copy of 16-bit logits
    vocabulary_parallel_fused,  ///< the same compiled, with the exponentials in a tensor of their own
    transformer_engine,         ///< one kernel over the 16-bit logits
    flash_cross_entropy,        ///< the same, and the gradient takes their place
    fused_log_probabilities,    ///< head and log-probabilities in tiles, computed anew for the gradient (TRL)
    divergence,                 ///< of a student's distribution from its teacher's, over all logits of both (TRL)
    mean,                       ///< of the fp32 logits, which the caller keeps to the end
};

/// The size of a tensor of the loss.
enum class loss_extent : std::uint8_t {
    logits,             ///< all positions x vocabulary
    part,               ///< logit_positions() x vocabulary
    all_and_part,       ///< both of these together
    tokens,             ///< one value for each position
    hidden,             ///< all positions (those that are scored, where they are copied) x hidden width: whole on every
                        ///< tensor rank
    head,               ///< the head's weight
    tile,               ///< tile_positions() x tile_words
    tile_of_head,       ///< the head's weight for at most tile_words
    two_tiles_of_head,  ///< the same of two tiles, where there are so many
    tile_of_hidden,     ///< tile_positions() x hidden width
};

/// The format of a tensor of the loss.
enum class loss_format : std::uint8_t {
    compute,
    fp32,
    stream,    ///< the residual stream's
    returned,  ///< that of the logits that the model returns
    normed,    ///< that of the final norm's output
    weights,   ///< that of the head's weight
    autocast,  ///< fp32 under autocast, else that of computation
};

/// When a tensor of the loss exists.
enum class loss_condition : std::uint8_t {
    always,
    under_autocast,
    without_autocast,
    returns_logits,     ///< the 16-bit logits stay beside their fp32 copy
    returns_16_bits,    ///< the same, unless the model is computed in fp32
    logits_in_16_bits,  ///< the model is not computed in fp32
    stream_in_16_bits,
    scales_logits,           ///< a factor over the logits
    caps_logits,             ///< Gemma 2: a tanh of the logits
    holds_logits,            ///< the 16-bit logits stay while the loss is differentiated
    holds_computed_outputs,  ///< the caller keeps what the model returned: logits as they were computed
    holds_fp32_outputs,      ///< the caller keeps what the model returned: logits in fp32
    holds_outputs,           ///< the caller keeps what the model returned, whose logits are as they were computed
    whole_vocabulary,
    splits_vocabulary,  ///< tensor ranks share the logits
    trains_head,
    widens_head_gradient,  ///< each part's gradient of the head is a tensor, and another in fp32
    narrow_head,           ///< the head is trained, and its weight is narrower than fp32
    narrow_input,          ///< the final norm's output is narrower than fp32
    casts_head_tiles,      ///< the head's weight is wider than its products
    casts_input_tiles,     ///< the final norm's output is
    returned_in_fp32,      ///< the caller holds fp32 copies of the logits
    returned_as_computed,  ///< it holds the logits
    mixes,                 ///< both distributions are held against a mixture of them (0 < beta < 1)
    follows_teacher,       ///< the divergence is the teacher's from the student (beta 0)
    follows_student,       ///< it is the student's from the teacher (beta 1)
};

struct loss_tensor {
    loss_variant variant;
    loss_point at;
    activation_role role;
    std::int64_t copies;
    loss_format format = loss_format::compute;
    loss_condition when = loss_condition::always;
    loss_extent extent = loss_extent::logits;
};

namespace loss_table {

using enum loss_variant;
using enum loss_point;
using enum loss_condition;
using r = activation_role;
using f = loss_format;
using e = loss_extent;

/// In the order of the variants.
inline constexpr std::array tensors{
    loss_tensor{compiled, forward, r::logits, 1, f::returned},
    loss_tensor{compiled, gradient, r::logits, 2, f::returned},
    loss_tensor{compiled, head, r::logits, 2, f::returned},

    // Autocast computes the loss in fp32, and hands the caller fp32 logits besides.
    loss_tensor{in_logits_format, forward, r::logits, 2},
    loss_tensor{in_logits_format, forward, r::logits_fp32, 1, f::fp32, under_autocast},
    loss_tensor{in_logits_format, forward, r::log_probabilities, 1, f::autocast},
    loss_tensor{in_logits_format, gradient, r::logits, 1},
    loss_tensor{in_logits_format, gradient, r::logits_fp32, 1, f::fp32, under_autocast},
    loss_tensor{in_logits_format, gradient, r::log_probabilities, 1, f::autocast},
    loss_tensor{in_logits_format, gradient, r::logits_gradient, 2, f::autocast},
    loss_tensor{in_logits_format, head, r::logits, 1},
    loss_tensor{in_logits_format, head, r::logits_gradient, 1},

    loss_tensor{triton_in_format, forward, r::logits, 2},
    loss_tensor{triton_in_format, forward, r::logits_fp32, 1, f::fp32, under_autocast},
    loss_tensor{triton_in_format, gradient, r::logits, 1},
    loss_tensor{triton_in_format, gradient, r::logits_fp32, 1, f::fp32, under_autocast},
    loss_tensor{triton_in_format, gradient, r::logits_gradient, 2, f::autocast},
    loss_tensor{triton_in_format, head, r::logits, 1},
    loss_tensor{triton_in_format, head, r::logits_gradient, 1},

    // The log-softmax is kept as it is, and under autocast once more in fp32.
    loss_tensor{uncast, kept, r::logits, 1, f::compute, caps_logits},
    loss_tensor{uncast, kept, r::log_probabilities, 1},
    loss_tensor{uncast, kept, r::log_probabilities, 1, f::fp32, under_autocast},
    loss_tensor{uncast, forward, r::logits, 1},
    loss_tensor{uncast, gradient, r::logits_gradient, 1, f::fp32, under_autocast},
    loss_tensor{uncast, gradient, r::logits_gradient, 2, f::compute, without_autocast},
    loss_tensor{uncast, head, r::logits_gradient, 1},
    loss_tensor{uncast, held, r::logits, 1, f::compute, holds_outputs},

    // The derivative asks for the log-softmax (derivatives.yaml, _log_softmax). Over a shared vocabulary it makes
    // zeros, the exponentials and their sum (torch/distributed/tensor/parallel/loss.py).
    loss_tensor{eager, kept, r::logits, 1, f::compute, caps_logits},
    loss_tensor{eager, kept, r::log_probabilities, 1, f::fp32},
    loss_tensor{eager, forward, r::logits, 1, f::compute, returns_16_bits},
    loss_tensor{eager, head, r::logits, 1, f::compute, scales_logits},  // the gradient of the scaled logits
    loss_tensor{eager, forward, r::logits_fp32, 1, f::fp32},
    loss_tensor{eager, gradient, r::logits, 1, f::compute, holds_logits},
    loss_tensor{eager, gradient, r::logits_gradient, 2, f::fp32, whole_vocabulary},
    loss_tensor{eager, gradient, r::logits_gradient, 3, f::fp32, splits_vocabulary},
    loss_tensor{eager, head, r::logits_gradient, 1},
    loss_tensor{eager, held, r::logits, 1, f::compute, holds_computed_outputs},
    loss_tensor{eager, held, r::logits_fp32, 1, f::fp32, holds_fp32_outputs},

    loss_tensor{eager_shifted, kept, r::logits, 1, f::compute, caps_logits},
    loss_tensor{eager_shifted, kept, r::log_probabilities, 1, f::fp32},
    loss_tensor{eager_shifted, forward, r::logits, 1, f::compute, returns_16_bits},
    loss_tensor{eager_shifted, forward, r::logits_fp32, 2, f::fp32},
    loss_tensor{eager_shifted, gradient, r::logits, 1, f::compute, holds_logits},
    loss_tensor{eager_shifted, gradient, r::logits_gradient, 2, f::fp32, whole_vocabulary},
    loss_tensor{eager_shifted, gradient, r::logits_gradient, 3, f::fp32, splits_vocabulary},
    loss_tensor{eager_shifted, head, r::logits_gradient, 1},
    loss_tensor{eager_shifted, held, r::logits, 1, f::compute, holds_computed_outputs},
    loss_tensor{eager_shifted, held, r::logits_fp32, 1, f::fp32, holds_fp32_outputs},

    loss_tensor{triton, forward, r::logits, 1, f::compute, returns_logits},
    loss_tensor{triton, forward, r::logits_fp32, 2, f::fp32},
    loss_tensor{triton, gradient, r::logits_gradient, 2, f::fp32},
    loss_tensor{triton, head, r::logits_gradient, 1},
    loss_tensor{triton, held, r::logits, 1, f::compute, holds_computed_outputs},
    loss_tensor{triton, held, r::logits_fp32, 1, f::fp32, holds_fp32_outputs},

    // The log-softmax is freed part by part, as gradients take its place.
    loss_tensor{chunked, kept, r::log_probabilities, 1, f::fp32},
    loss_tensor{chunked, kept, r::logits_fp32, 1, f::fp32, returned_in_fp32},
    loss_tensor{chunked, forward, r::logits, 1, f::compute, returned_as_computed},
    loss_tensor{chunked, forward, r::logits_fp32, 1, f::fp32, returned_as_computed, e::part},
    loss_tensor{chunked, gradient, r::logits_gradient, 2, f::fp32, always, e::part},
    loss_tensor{chunked, head, r::logits_gradient, 1},

    // Each part's gradient takes the place of its logits.
    loss_tensor{chunked_compiled, forward, r::logits, 1},
    loss_tensor{chunked_compiled, forward, r::logits_fp32, 1, f::fp32, always, e::part},
    loss_tensor{chunked_compiled, gradient, r::logits_gradient, 1, f::compute, always, e::all_and_part},
    loss_tensor{chunked_compiled, head, r::logits_gradient, 1},

    // Differentiated in the forward pass: the gradients of what the head reads, and of the head, stay.
    loss_tensor{fused_linear, kept, r::gradient, 1, f::compute, always, e::hidden},
    loss_tensor{fused_linear, kept, r::gradient, 1, f::compute, trains_head, e::head},
    loss_tensor{fused_linear, forward, r::logits, 1, f::compute, always, e::part},
    loss_tensor{fused_linear, forward, r::logits_fp32, 1, f::fp32, always, e::part},
    loss_tensor{fused_linear, forward, r::gradient, 1, f::compute, widens_head_gradient, e::head},
    loss_tensor{fused_linear, forward, r::gradient, 1, f::fp32, widens_head_gradient, e::head},

    loss_tensor{fp32_parallel, forward, r::logits, 1, f::fp32},
    loss_tensor{fp32_parallel, gradient, r::logits, 1, f::fp32},
    loss_tensor{fp32_parallel, head, r::logits, 1, f::fp32},

    loss_tensor{vocabulary_parallel, forward, r::logits, 1},
    loss_tensor{vocabulary_parallel, forward, r::logits_fp32, 1, f::fp32},
    loss_tensor{vocabulary_parallel, gradient, r::logits_fp32, 1, f::fp32},
    loss_tensor{vocabulary_parallel, gradient, r::logits_gradient, 1},
    loss_tensor{vocabulary_parallel, head, r::logits, 1},
    loss_tensor{vocabulary_parallel, head, r::logits_gradient, 1},

    loss_tensor{vocabulary_parallel_fused, forward, r::logits, 1},
    loss_tensor{vocabulary_parallel_fused, forward, r::logits_fp32, 2, f::fp32},
    loss_tensor{vocabulary_parallel_fused, gradient, r::logits_fp32, 1, f::fp32},
    loss_tensor{vocabulary_parallel_fused, gradient, r::logits_gradient, 1},
    loss_tensor{vocabulary_parallel_fused, head, r::logits, 1},
    loss_tensor{vocabulary_parallel_fused, head, r::logits_gradient, 1},

    loss_tensor{transformer_engine, forward, r::logits, 2},
    loss_tensor{transformer_engine, gradient, r::logits, 2},
    loss_tensor{transformer_engine, head, r::logits, 2},

    loss_tensor{flash_cross_entropy, kept, r::logits, 1},
    loss_tensor{flash_cross_entropy, kept, r::logits, 1, f::compute, caps_logits},
    loss_tensor{flash_cross_entropy, head, r::logits_gradient, 1},

    // The positions that are scored are copied (trl/trainer/utils.py, add_fused_lm_head: hidden_states[mask]), which
    // stays; the gradients are summed in fp32, and cast when all tiles are done (kernels/chunked_logprob.py).
    loss_tensor{fused_log_probabilities, kept, r::linear_input, 1, f::normed, always, e::hidden},
    loss_tensor{fused_log_probabilities, kept, r::log_probabilities, 2, f::fp32, always, e::tokens},  // and the entropy
    loss_tensor{fused_log_probabilities, forward, r::normalised, 1, f::normed, always, e::hidden},
    loss_tensor{fused_log_probabilities, forward, r::logits, 1, f::compute, always, e::tile},
    loss_tensor{fused_log_probabilities, forward, r::weight, 1, f::compute, casts_head_tiles, e::tile_of_head},
    loss_tensor{fused_log_probabilities, forward, r::linear_input, 1, f::compute, casts_input_tiles, e::tile_of_hidden},
    loss_tensor{fused_log_probabilities, gradient, r::logits, 1, f::compute, always, e::tile},
    // One tile's cast is there until the next one's is made.
    loss_tensor{fused_log_probabilities, gradient, r::weight, 1, f::compute, casts_head_tiles, e::two_tiles_of_head},
    loss_tensor{fused_log_probabilities, gradient, r::linear_input, 1, f::compute, casts_input_tiles,
                e::tile_of_hidden},
    loss_tensor{fused_log_probabilities, gradient, r::gradient, 1, f::fp32, always, e::hidden},
    loss_tensor{fused_log_probabilities, gradient, r::gradient, 1, f::normed, narrow_input, e::hidden},
    loss_tensor{fused_log_probabilities, gradient, r::gradient, 1, f::fp32, trains_head, e::head},
    loss_tensor{fused_log_probabilities, gradient, r::gradient, 1, f::weights, narrow_head, e::head},
    loss_tensor{fused_log_probabilities, head, r::gradient, 1, f::normed, always, e::hidden},

    // trl 1.16, experimental/gkd/gkd_trainer.py, generalized_jsd_loss. Until it returns: both models' logits, divided
    // by a temperature, and the teacher's log-softmax. Saved: the student's log-softmax; of a mixture the stack of both
    // models' log-probabilities and its logarithm, the exponentials of both, and the student's distance from it.
    loss_tensor{divergence, kept, r::logits, 1, f::compute, caps_logits},
    loss_tensor{divergence, kept, r::log_probabilities, 7, f::autocast, mixes},
    loss_tensor{divergence, kept, r::log_probabilities, 2, f::autocast, follows_teacher},
    loss_tensor{divergence, kept, r::log_probabilities, 3, f::autocast, follows_student},
    loss_tensor{divergence, forward, r::logits, 4, f::autocast},
    loss_tensor{divergence, forward, r::log_probabilities, 6, f::autocast, mixes},
    loss_tensor{divergence, forward, r::log_probabilities, 3, f::autocast, follows_teacher},
    loss_tensor{divergence, forward, r::log_probabilities, 3, f::autocast, follows_student},
    loss_tensor{divergence, gradient, r::logits_gradient, 5, f::autocast, mixes},
    loss_tensor{divergence, gradient, r::logits_gradient, 2, f::autocast, follows_teacher},
    loss_tensor{divergence, gradient, r::logits_gradient, 3, f::autocast, follows_student},
    loss_tensor{divergence, head, r::logits_gradient, 1},

    loss_tensor{mean, forward, r::logits, 1, f::compute, logits_in_16_bits},
    loss_tensor{mean, forward, r::logits_fp32, 1, f::fp32},
    loss_tensor{mean, gradient, r::logits_gradient, 1, f::fp32},
    loss_tensor{mean, gradient, r::logits_gradient, 1, f::compute, stream_in_16_bits},
    loss_tensor{mean, head, r::logits_gradient, 1, f::stream},
    loss_tensor{mean, held, r::logits_fp32, 1, f::fp32},
};

/// Where each variant's tensors begin.
inline constexpr auto first_of = [] {
    std::array<std::size_t, static_cast<std::size_t>(loss_variant::mean) + 2> first{};
    for (const loss_tensor& t : tensors) ++first[static_cast<std::size_t>(t.variant) + 1];
    for (std::size_t v = 1; v < first.size(); ++v) first[v] += first[v - 1];
    return first;
}();

}  // namespace loss_table

/// Parts that a chunked loss is computed in.
constexpr std::int64_t loss_parts(const training_context& context) {
    const training_loss& loss = context.runtime.kernels.loss;
    return loss.chunk_tokens > 0 ? ceil_quotient(context.tokens.length, loss.chunk_tokens) : loss.chunks;
}

/// Positions whose logits exist at once. Liger takes as many parts as the vocabulary is wider than the hidden width, of
/// a power of two positions (ops/fused_linear_cross_entropy.py, chunk_size).
constexpr std::int64_t logit_positions(const model& m, const training_context& context) {
    const std::int64_t all = context.tokens.all();
    if (context.runtime.kernels.loss.code == loss_code::chunked) return ceil_quotient(all, loss_parts(context));
    if (context.runtime.kernels.loss.code != loss_code::fused_linear) return all;
    const std::int64_t each = ceil_quotient(all, ceil_quotient(scored_vocabulary(m), embedding_width_of(m)));
    const auto part = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(each)));
    return part < all ? part : all;
}

/// Words whose logits one tile of TRL's head has, and positions, where a micro-batch has so many
/// (trl/trainer/utils.py, _CHUNKED_LOGPROB_CHUNK_SIZE; kernels/chunked_logprob.py, TOKEN_CHUNK_SIZE). The tile is as
/// wide whatever the vocabulary.
inline constexpr std::int64_t tile_words = 32768, most_tile_positions = 4096;
constexpr std::int64_t tile_positions(const training_context& context) {
    return context.scored < most_tile_positions ? context.scored : most_tile_positions;
}

/// Whether the head's weight is cast for its product. Beside quantised layers heads stay as they are, and are cast
/// where they are fp32.
constexpr bool casts_head(const model& m, const training_context& context) {
    // TRL's head casts a tile of it at a time.
    if (context.runtime.kernels.loss.code == loss_code::fused_log_probabilities) return false;
    return scored_vocabulary(m) > 0 && context.autocast &&
           (is_packed(context.formats.weights) ? context.formats.fp32_stream
                                               : !(context.formats.weights == context.formats.compute));
}

constexpr loss_variant loss_variant_of(const training_context& context) {
    const llmres::runtime& runtime = context.runtime;
    const loss_code loss = runtime.kernels.loss.code;
    const bool fp32_compute = context.formats.fp32_compute;
    if (context.divergence != divergence_kind::none) return loss_variant::divergence;
    if (runtime.kernels.fuses_loss() && loss <= loss_code::eager_shifted) return loss_variant::compiled;
    if (runtime.kernels.loss.narrow && loss <= loss_code::triton)
        return loss == loss_code::triton ? loss_variant::triton_in_format : loss_variant::in_logits_format;
    switch (loss) {
        case loss_code::eager:
        case loss_code::eager_shifted:
            if (!context.code.loss.fp32_logits && !fp32_compute) return loss_variant::uncast;
            return loss == loss_code::eager ? loss_variant::eager : loss_variant::eager_shifted;
        case loss_code::triton: return loss_variant::triton;
        case loss_code::chunked:
            return runtime.kernels.fuses_loss() ? loss_variant::chunked_compiled : loss_variant::chunked;
        case loss_code::fused_linear: return loss_variant::fused_linear;
        case loss_code::vocabulary_parallel:
            return fp32_compute ? loss_variant::fp32_parallel : loss_variant::vocabulary_parallel;
        case loss_code::vocabulary_parallel_fused: return loss_variant::vocabulary_parallel_fused;
        case loss_code::transformer_engine: return loss_variant::transformer_engine;
        case loss_code::flash_cross_entropy: return loss_variant::flash_cross_entropy;
        case loss_code::fused_log_probabilities: return loss_variant::fused_log_probabilities;
        case loss_code::mean: break;
    }
    return loss_variant::mean;
}

/// Whether the logits as computed stay beside their fp32 copy; else the model's code casts them and returns the cast.
constexpr bool returns_logits(const training_context& context) {
    return context.runtime.kernels.loss.returns_logits && !context.code.loss.returns_fp32;
}

constexpr bool exists(loss_condition when, const model& m, const training_context& context) {
    const llmres::runtime& runtime = context.runtime;
    switch (when) {
        case loss_condition::always: return true;
        case loss_condition::under_autocast: return context.autocast;
        case loss_condition::without_autocast: return !context.autocast;
        case loss_condition::returns_logits: return returns_logits(context);
        case loss_condition::returns_16_bits: return returns_logits(context) && !context.formats.fp32_compute;
        case loss_condition::logits_in_16_bits: return !context.formats.fp32_compute;
        case loss_condition::stream_in_16_bits: return !context.formats.fp32_stream;
        case loss_condition::scales_logits: return context.code.loss.scales_logits;
        case loss_condition::caps_logits: return context.code.loss.caps_logits;
        case loss_condition::holds_logits:
            return runtime.kernels.loss.holds_logits && !exists(loss_condition::holds_computed_outputs, m, context);
        case loss_condition::holds_outputs: return runtime.kernels.loss.holds_outputs;
        case loss_condition::holds_computed_outputs:
            return runtime.kernels.loss.holds_outputs && exists(loss_condition::returns_16_bits, m, context);
        case loss_condition::holds_fp32_outputs:
            return runtime.kernels.loss.holds_outputs && !exists(loss_condition::returns_16_bits, m, context);
        case loss_condition::whole_vocabulary: return !context.splits_vocabulary;
        case loss_condition::splits_vocabulary: return context.splits_vocabulary;
        case loss_condition::trains_head: return !context.frozen;
        case loss_condition::narrow_head: return !context.frozen && !(context.formats.weights == fp32);
        case loss_condition::narrow_input: return !(context.normed(m.final_norm) == fp32);
        case loss_condition::casts_head_tiles: return context.autocast && context.formats.weights == fp32;
        case loss_condition::casts_input_tiles:
            return context.autocast && !(context.normed(m.final_norm) == context.formats.compute);
        case loss_condition::returned_in_fp32: return runtime.kernels.loss.returns_fp32;
        case loss_condition::returned_as_computed: return !runtime.kernels.loss.returns_fp32;
        case loss_condition::mixes: return context.divergence == divergence_kind::mixed;
        case loss_condition::follows_teacher: return context.divergence == divergence_kind::of_teacher;
        case loss_condition::follows_student: return context.divergence == divergence_kind::of_student;
        case loss_condition::widens_head_gradient: return !context.frozen && runtime.kernels.loss.widens_head_gradient;
    }
    return false;
}

constexpr const precision& format_of(loss_format format, const model& m, const training_context& context) {
    switch (format) {
        case loss_format::compute: return context.formats.compute;
        case loss_format::stream: return context.formats.stream;
        case loss_format::normed: return context.normed(m.final_norm);
        case loss_format::weights: return context.formats.weights;
        case loss_format::returned: return returns_logits(context) ? context.formats.compute : fp32;
        case loss_format::autocast: return context.autocast ? fp32 : context.formats.compute;
        case loss_format::fp32: break;
    }
    return fp32;
}

constexpr std::int64_t elements_of(const loss_tensor& t, const model& m, const training_context& context) {
    // TRL's head copies the positions that are scored, and reads these alone.
    const bool copied = t.variant == loss_variant::fused_log_probabilities;
    const std::int64_t n = copied ? context.scored : context.tokens.all();
    switch (t.extent) {
        case loss_extent::logits: return product(t.copies * n, scored_vocabulary(m));
        case loss_extent::part: return product(t.copies * logit_positions(m, context), scored_vocabulary(m));
        case loss_extent::all_and_part:
            return product(t.copies * (n + logit_positions(m, context)), scored_vocabulary(m));
        case loss_extent::tokens: return t.copies * n;
        case loss_extent::hidden: return t.copies * n * embedding_width_of(m);
        case loss_extent::tile: return product(t.copies * tile_positions(context), tile_words);
        case loss_extent::tile_of_head:
        case loss_extent::two_tiles_of_head: {
            const std::int64_t words = t.extent == loss_extent::tile_of_head ? tile_words : 2 * tile_words;
            return product(t.copies * (scored_vocabulary(m) < words ? scored_vocabulary(m) : words),
                           embedding_width_of(m));
        }
        case loss_extent::tile_of_hidden: return product(t.copies * tile_positions(context), embedding_width_of(m));
        case loss_extent::head: break;
    }
    return product(scored_vocabulary(m), embedding_width_of(m));
}

/// Receives the tensors of the loss.
using loss_visitor = visitor<activation, loss_point>;

/// Shows what the final norm and the head save.
constexpr void list_head_activations(const model& m, const training_context& context, const loss_visitor& visit) {
    const std::int64_t n = context.tokens.all();
    const auto save = [&](const activation& a) { visit(a, loss_point::saved); };
    const auto seen = visiting<activation>(save);
    const layer_writer saved{context, seen};
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto whole = activation_split::whole;
    saved.norm(n, m.hidden, m.final_norm, by_sequence, backward_point::output, backward_point::output);
    if (context.code.fp32_residual && !context.frozen && !context.formats.fp32_stream)  // its output is fp32 as well
        saved.put(activation_role::normalised, n * m.hidden, context.formats.stream, by_sequence,
                  backward_point::output);
    // The head is as wide as the embedding, to which a model may project its stream first (OPT-350m).
    const std::int64_t width = embedding_width_of(m);
    if (!context.frozen && m.embedding_width > 0)
        saved.put(activation_role::linear_input, n * m.hidden, context.formats.compute, by_sequence,
                  backward_point::output);
    const loss_code loss = context.runtime.kernels.loss.code;
    // A head that is differentiated at once does not keep its input; one in tiles has a copy of it.
    if (!context.frozen && scored_vocabulary(m) > 0 && loss != loss_code::fused_log_probabilities)
        visit(activation{activation_role::linear_input, n * width, context.formats.compute, whole},
              loss == loss_code::fused_linear ? loss_point::forward : loss_point::saved);
    // Autocast remembers casts of weights that require a gradient (ATen/autocast_mode.cpp, cached_cast): of a frozen
    // one each part of the loss has its own.
    const bool each = context.frozen && loss == loss_code::chunked;
    if (casts_head(m, context))
        visit(
            activation{activation_role::weight, product(scored_vocabulary(m), width * (each ? loss_parts(context) : 1)),
                       context.formats.compute, activation_split::tensor},
            loss_point::saved);
    // Token numbers of 64 bits: the labels, shifted; a decoder's own, or token types, for the embedding's gradient.
    if (scored_vocabulary(m) > 0 && (context.code.loss.fp32_logits || !context.frozen))
        saved.put(activation_role::mask, 8 * n, int8, whole, backward_point::output);
}

/// Shows what the final norm, the head and the cross entropy hold.
constexpr void list_loss_activations(const model& m, const training_context& context, const loss_visitor& visit) {
    list_head_activations(m, context, visit);
    loss_variant variant = loss_variant_of(context);
    const bool of_tokens =
        variant == loss_variant::fused_log_probabilities || variant == loss_variant::flash_cross_entropy;
    if (of_tokens && scored_vocabulary(m) == 0) variant = loss_variant::eager;
    const auto row = static_cast<std::size_t>(variant);
    for (std::size_t i = loss_table::first_of[row]; i < loss_table::first_of[row + 1]; ++i) {
        const loss_tensor& t = loss_table::tensors[i];
        if (!exists(t.when, m, context)) continue;
        const bool whole = t.extent == loss_extent::hidden;
        visit(activation{t.role, elements_of(t, m, context), format_of(t.format, m, context),
                         whole ? activation_split::whole : activation_split::tensor},
              t.at);
    }
    // The gradient of what the head reads: a fused_linear loss has it from the forward pass.
    visit(activation{activation_role::gradient, context.tokens.all() * embedding_width_of(m), context.formats.compute,
                     activation_split::whole},
          loss_point::head);
}

/// Calls visit(activation, loss_point) for what the final norm, the head and the cross entropy hold.
template <class Visit>
constexpr void for_each_loss_activation(const model& m, const training_context& context, Visit&& visit) {
    list_loss_activations(m, context, visiting<activation, loss_point>(visit));
}

/// What the final norm, the head and the loss hold on one GPU, by point.
struct loss_memory {
    byte_count saved{};
    byte_count kept{};
    byte_count forward{};
    byte_count gradient{};
    byte_count head{};
    byte_count held{};
};

constexpr loss_memory loss_memory_of(const model& m, const training_context& context, const layer_split& l) {
    loss_memory sum;
    for_each_loss_activation(m, context, [&](const activation& a, loss_point at) {
        byte_count& here = at == loss_point::saved      ? sum.saved
                           : at == loss_point::kept     ? sum.kept
                           : at == loss_point::forward  ? sum.forward
                           : at == loss_point::gradient ? sum.gradient
                           : at == loss_point::head     ? sum.head
                                                        : sum.held;
        here += local_bytes(a, l);
    });
    return sum;
}

}  // namespace llmres::inline v0::detail
