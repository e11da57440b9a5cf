// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What is an operation: a kernel or an exchange, of which pass of tokens, and in which formats?
namespace llmres::inline v0 {

/// What a kernel computes.
enum class operation_kind : std::uint8_t {
    projection,   ///< a matrix product with a weight
    experts,      ///< a matrix product of each routed expert with the tokens that chose it
    attention,    ///< queries with keys, probabilities with values
    elementwise,  ///< everything between them: norms, rotary embedding, activation functions, residual sums
};

/// What a product computes.
enum class product_pass : std::uint8_t {
    forward,           ///< outputs from inputs
    input_gradients,   ///< gradients of inputs from those of outputs
    weight_gradients,  ///< gradients of weights from inputs and gradients of outputs
};

/// One kind of kernel on one rank.
struct operation {
    operation_kind kind = operation_kind::projection;    ///< what it computes
    weight_role role = weight_role::q_proj;              ///< of a product
    product_pass pass = product_pass::forward;           ///< of a product or of attention
    arithmetic_kind arithmetic = arithmetic_kind::bf16;  ///< the arithmetic it is computed in
    flop_count flops{};                                  ///< a multiplication and an addition are two
    byte_count read{};                                   ///< weights or cache, and inputs
    byte_count written{};                                ///< outputs
    std::int64_t tokens = 0;                             ///< of a product: rows of its input, over all groups
    std::int64_t rows = 0;                               ///< of a product: output features of the weight
    std::int64_t columns = 0;                            ///< of a product: input features of the weight
    double groups = 1;    ///< of experts: those that a token chose, each a product of its own
    double chosen = 1;    ///< of experts: those that each token chose
    double blocks = 1;    ///< of attention: pairs of a head and 128 queries, which run side by side
    double counted = 1;   ///< the part of the FLOPs that the model needs: what is recomputed is not
    bool joined = false;  ///< of a product: it is one kernel with the product before it, whose input it shares
    bool packed = false;  ///< of a product: its weight is stored in integers or codebooks, and multiplied in 16 bits
    /// Of experts: kernels of a runtime that launches one for each expert and 256 tokens.
    double each = 0;
};

/// An exchange that the pass waits for.
struct exchange {
    /// The ranks that exchange.
    enum class group : std::uint8_t { tensor, expert, context };
    collective_kind kind = collective_kind::all_reduce;  ///< how they exchange
    group among = group::tensor;                         ///< which ranks do
    byte_count message{};                                ///< the whole tensor
};

/// Where attention scores of all pairs of tokens are.
enum class pair_scores : std::uint8_t {
    in_registers,   ///< of one kernel of attention
    fused_softmax,  ///< in memory (eager attention); one kernel scales and masks them and takes their softmax
    apart,          ///< in memory, and scaled, masked, made probabilities and cast by a kernel each
};

/// Tokens on their way through the layers.
struct token_pass {
    token_shape tokens{};     ///< on this rank; `keys` is what they attend to
    std::int64_t scored = 0;  ///< positions that pass the head
    double expert_load = 1;   ///< tokens of the busiest rank's experts, over the mean of the ranks that share them
    std::int64_t cached = 0;  ///< of the keys of a sequence: those that were there before its prompt is computed
    bool decode = false;      ///< each token attends to the whole cache
    bool training = false;    ///< the pass is one of training: narrow weights are unpacked, and there is a loss
    bool backward = false;    ///< gradients pass from the last layer to the first
    pair_scores scores = pair_scores::in_registers;  ///< attention scores of all pairs of tokens
    std::int32_t widest_fused_head = 0;  ///< scores of wider heads lie in memory, whatever `scores` says; 0: of none
    bool dropout = false;                ///< attention probabilities have dropout
    bool adds_gradients = false;  ///< gradients of weights are added to those of earlier micro-batches, by a kernel of
                                  ///< its own (PyTorch's AccumulateGrad)
    bool copies_cache = false;    ///< decoding: each step copies the cache, and again for every query head
    bool keeps_gathered =
        false;                  ///< the backward pass has the inputs that sequence parallelism gathered in the forward
    llmres::adapter adapter{};  ///< is trained beside frozen weights, which then have no gradients
};

/// Passes that are asked for together, as they share the layers' weights.
struct token_passes {
    static constexpr std::size_t most = 3;  ///< how many there may be

    detail::slot<token_pass> storage[most];  ///< the first `count` are in use
    std::size_t count = 0;                   ///< passes in use

    constexpr token_passes() {}  ///< none

    /// How many there are.
    constexpr std::size_t size() const { return count; }
    /// One of them.
    constexpr const token_pass& operator[](std::size_t i) const { return storage[i].value; }
    /// Adds one.
    constexpr void push(const token_pass& p) { storage[count++] = detail::slot<token_pass>{p}; }
};

/// In which formats they pass.
struct operation_formats {
    precision compute = bf16;            ///< activations
    precision kv_cache = bf16;           ///< keys in the cache
    weight_format_view weights{};        ///< weights
    maybe<precision> kv_cache_values{};  ///< where values are not stored as keys are
    maybe<arithmetic_kind> linear{};  ///< what the layers' products with weights compute in, where it is not `compute`:
                                      ///< those of training in 8 bits
    maybe<precision> adapters{};      ///< what adapters' factors are stored and multiplied in, where not in `compute`
    bool fused_adapters = false;      ///< adapters' products are part of their layers' (else modules of their own)
    precision gradients = bf16;       ///< gradients of weights
    bool joined = false;              ///< projections that share their input are one product
    bool casts_weights = true;        ///< training in 8 bits: in each pass, not once for all micro-batches of a step
    bool fused_loss = false;          ///< the loss reads and writes the logits once
    bool autocast = false;  ///< training: wider weights are cast for their products, and their gradients back again
    /// Distillation: how often tensors of the logits' size are read or written by the divergence's kernels, in the
    /// forward and in the backward pass; 0: there is no teacher.
    std::array<std::int32_t, 2> divergence{};

    /// The arithmetic of the layers' products with weights.
    constexpr arithmetic_kind linear_arithmetic() const { return linear ? *linear : compute.arithmetic; }
    /// The format of adapters' factors.
    constexpr const precision& of_adapters() const { return adapters ? *adapters : compute; }
};

}  // namespace llmres::inline v0
