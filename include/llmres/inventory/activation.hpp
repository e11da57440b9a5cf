// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// The inventory of activations: what an entry is, and what is alive at the peak of a forward pass. What a training
/// step saves for its backward pass is in training/. Sizes are folds over it.
namespace llmres::inline v0 {

/// What an activation is.
enum class activation_role : std::uint8_t {
    residual,         ///< the stream between layers
    norm_input,       ///< the fp32 copy that a norm squares and scales
    normalised,       ///< what the norm's weight multiplies
    norm_statistics,  ///< one fp32 a token
    linear_input,     ///< shared by the projections that read it
    query,
    key,
    value,
    latent,              ///< compressed queries, keys and values of latent attention
    probabilities,       ///< softmax of every pair of tokens, and which of them dropout leaves: eager attention only
    softmax_statistics,  ///< one fp32 a token and head, from which tiles are recomputed
    attention_output,
    router,  ///< logits of the routed experts, fp32
    gate,
    gate_activation,
    up,
    product,
    expert_output,  ///< before the router weighs it
    logits,         ///< in the compute format
    logits_fp32,
    log_probabilities,  ///< fp32
    logits_gradient,    ///< fp32
    mask,               ///< of dropout, one byte a value; of tokens that do not see each other
    adapter,            ///< what an adapter keeps of its input, and between its two matrices
    recurrence,         ///< of a mixer other than attention
    gradient,           ///< of an activation, while a layer's backward pass runs
    weight,             ///< a weight in the format it is computed in, made for one operation
};
// clang-format off
/// The names of the roles, in their order.
template <>
inline constexpr std::array<std::string_view, 27> names_of<activation_role>{
    "residual", "norm_input", "normalised", "norm_statistics", "linear_input", "query", "key", "value", "latent",
    "probabilities", "softmax_statistics", "attention_output", "router", "gate", "gate_activation", "up", "product",
    "expert_output", "logits", "logits_fp32", "log_probabilities", "logits_gradient", "mask", "adapter",
    "recurrence", "gradient", "weight"};
// clang-format on

/// How tensor parallelism cuts an activation.
enum class activation_split : std::uint8_t {
    sequence,  ///< whole on every tensor rank, unless sequence parallelism cuts it by tokens
    tensor,    ///< by heads, inner width or vocabulary
    whole,     ///< whole on every tensor rank in any case: gathered for a product
};

/// The moments of a layer's backward pass at which it may be fullest, in their order.
enum class backward_point : std::uint8_t {
    fed,             ///< what follows that: a norm of the feed-forward's output, the weighing of experts' outputs
    output,          ///< the last linear layer of the feed-forward
    inner,           ///< between its linear layers
    norm,            ///< the norm before the feed-forward
    attention,       ///< attention, or the recurrence
    attention_norm,  ///< the norm before it
};
inline constexpr std::size_t backward_points = 6;  ///< how many points there are

/// Where in a layer: what mixes tokens, or its feed-forward.
enum class layer_half : std::uint8_t { attention, feed_forward };

/// One tensor of a layer.
struct activation {
    activation_role role;     ///< what it is
    std::int64_t elements;    ///< on all tensor ranks together
    const precision& format;  ///< its format
    activation_split split;   ///< how tensor ranks share it
    /// The last point of its layer's backward pass that needs it.
    backward_point until = backward_point::attention_norm;
    layer_part_set input_of{};  ///< the parts of the layer that it is an input of: offloaded by their names
    layer_part_set made_by{};   ///< the parts whose recomputation makes it again
    bool routed = false;        ///< made of the tokens that go to routed experts
};

/// The tokens that pass at once on one rank.
struct token_shape {
    std::int64_t sequences = 1;  ///< sequences
    std::int64_t length = 1;     ///< tokens of each sequence here
    std::int64_t keys = 1;       ///< tokens that each of them may attend to

    /// Tokens of all sequences.
    constexpr std::int64_t all() const { return detail::product(sequences, length); }
    friend constexpr bool operator==(const token_shape&, const token_shape&) = default;
};

/// Bytes of it on one rank.
constexpr byte_count local_bytes(const activation& a, const layer_split& l) {
    const bool cut =
        a.split == activation_split::tensor || (a.split == activation_split::sequence && l.sequence_parallel);
    return detail::size_of_row(a.format,
                               cut && l.tensor > 1 ? detail::ceil_quotient(a.elements, l.tensor) : a.elements);
}

}  // namespace llmres::inline v0
