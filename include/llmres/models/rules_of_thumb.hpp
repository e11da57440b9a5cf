// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/values/units.hpp>

/// What do the usual rules of thumb say? For comparison with the exact answers (tests/seed_cases/ has by how much they
/// differ). Nothing in the library is computed from them.
namespace llmres::inline v0::rules {

/// Two bytes a parameter: the file of a 16-bit model, and the memory to run it without cache and context.
constexpr byte_count weights_16bit(parameter_count n) { return bytes(2) * n.in(parameters); }

/// Training in bf16 takes four times the memory of the weights: weights, gradients and two moments, all in 16 bits.
constexpr byte_count training_bf16(parameter_count n) { return bytes(8) * n.in(parameters); }

/// Mixed-precision Adam takes 16 bytes for each parameter: 2 for the weight, 2 for the gradient, 12 for the optimizer
/// (an fp32 copy and two moments; ZeRO, arXiv 1910.02054 section 3.1).
constexpr byte_count training_mixed_adam(parameter_count n) { return bytes(16) * n.in(parameters); }

/// Full fine-tuning in fp32 takes about five times the four bytes of each weight: weights, gradients, two moments and
/// activations.
constexpr byte_count full_finetune_fp32(parameter_count n) { return bytes(20) * n.in(parameters); }

/// Generating a token takes a multiplication and an addition for each parameter.
constexpr flop_count generation(token_count made, parameter_count n) {
    return flops(2.0 * static_cast<double>(made.in(tokens)) * static_cast<double>(n.in(parameters)));
}

/// Training on a token takes three times the operations of generating one: the backward pass costs two forward passes
/// (arXiv 2001.08361 section 2.1).
constexpr flop_count training(token_count seen, parameter_count n) { return generation(seen, n) * 3; }

}  // namespace llmres::inline v0::rules
