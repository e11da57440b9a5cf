// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// How Hugging Face transformers writes the modules of an architecture: what of it decides which tensors autograd
/// keeps. Read in its modelling code (5.17, src/transformers/models/ARCHITECTURE/modeling_ARCHITECTURE.py) and held
/// against tracked runs of the model classes (tests/validation/pytorch). What is not named is written as Llama is.
namespace llmres::inline v0 {

/// How the feed-forward's activation is differentiated.
enum class activation_form : std::uint8_t {
    from_input,   ///< one kernel that needs its input (silu, gelu)
    from_output,  ///< one kernel that needs its result, which the next product needs too (relu)
    composed,     ///< products, a cube and a tanh (activations.py, NewGELUActivation); of transformers' code alone
    squared,      ///< a relu, and its square, which autocast takes in fp32 (activations.py, ReLUSquaredActivation)
    function,     ///< an autograd function of Python that keeps its input alone (modeling_bloom.py, GeLUFunction)
};

/// How an RMS norm is written.
enum class norm_form : std::uint8_t {
    narrow_weight,  ///< the result returns to the stream's format before the weight multiplies it
    wide_weight,    ///< one plus the weight multiplies in fp32 (Gemma)
    narrow_scale,   ///< the stream itself is scaled, an fp32 copy is squared (T5)
    wide_product,   ///< the weight as it is multiplies in fp32, and the product returns to the stream's format (OLMo 2)
    wide_mean,      ///< a mean is taken off in fp32, then as `wide_weight`; no bias (Cohere)
    wide_kernel,    ///< one kernel over an fp32 copy (OLMo)
};

/// Norms.
struct norm_modeling {
    norm_form form = norm_form::narrow_weight;  ///< how they are written
    bool after_sum = false;                     ///< norms read the residual sums (post-norm)
    bool one_input = false;         ///< both norms read the same stream: attention and feed-forward stand side by side
    bool registered_first = false;  ///< before the layer's matrices: optimizers meet parameters in this order
    bool casts_input = false;       ///< under autocast they read a 16-bit copy of the stream, where torch's widen it
};

/// What attention is given.
struct attention_inputs {
    bool mask = false;           ///< sdpa, too: a mask of every pair of tokens, which no flash kernel takes
    bool copied_values = false;  ///< of one product's output, so that nothing keeps the whole
    bool fp32_tables = false;    ///< cosines and sines of the positions, whatever the format of the stream
};

/// The format of a softmax beside narrower products.
enum class softmax_format : std::uint8_t {
    wide,                ///< fp32, as written
    as_autocast_has_it,  ///< that of the scores; under autocast fp32
    of_scores,           ///< named by the code, so that autocast leaves it
};

/// Attention.
struct attention_modeling {
    bool joined_heads = false;   ///< one product makes queries, keys and values, which then share its memory
    bool gated_queries = false;  ///< one product makes queries and the gate of attention's output
    bool heads_first = false;    ///< queries lie head by head, and so does the flash kernel's output: the output
                                 ///< projection reads a copy
    bool causal = true;          ///< tokens see those before them: attention that is no causal kernel needs a mask
    softmax_format softmax = softmax_format::wide;  ///< of eager attention's scores
    bool fp32_heads = false;                        ///< eager attention multiplies fp32 queries by fp32 keys
    bool caps_scores = false;                       ///< a tanh over eager attention's scores
    attention_inputs given{};                       ///< what attention is given
    /// A bias of every head and pair of tokens, made once a stack: no flash kernel takes it.
    bool biased_scores = false;
    bool rotary = true;              ///< rotated queries and keys are tensors of their own
    std::int32_t rotary_tables = 1;  ///< 2: layers with a window rotate by another base
};

/// Feed-forwards.
struct feed_forward_modeling {
    activation_form activation = activation_form::from_input;        ///< of a gated feed-forward
    activation_form plain_activation = activation_form::from_input;  ///< of a feed-forward without a gate
    bool joined = false;                                             ///< one product makes gate and up
    bool clamped_experts = false;  ///< routed experts clamp gate and up, and spell silu out as a sigmoid and products
    bool fp32_router = false;      ///< the router reads an fp32 copy of the tokens, through an fp32 copy of its weight
    bool fp32_scores = false;      ///< the router's scores are fp32, and so is what they weigh
    bool shared_first = false;     ///< shared experts are computed before the routed ones
};

/// What the code of a forward pass still refers to while layers are computed, though autograd does not keep it.
struct frame_modeling {
    std::int32_t embeddings = 0;         ///< embeddings of tokens and positions, before their sum or dropout
    bool shared_positions = false;       ///< those of positions are of one sequence, for all sequences
    bool attention_input = false;        ///< while the feed-forward is computed
    bool attention_output = false;       ///< while the feed-forward is computed
    bool joined_heads = false;           ///< queries, keys and values as one product made them: attention reads copies
    bool casts_probabilities = false;    ///< before their dropout, though the softmax is not fp32 as written
    bool frees_normed = false;           ///< the feed-forward stands in the layer's own code, which rebinds its input
    bool plain_scores = false;           ///< eager attention's scores before the mask is added, beside those after it
    bool earlier_probabilities = false;  ///< of the layer before: the loop over layers holds what each returned
};

/// How many buffers of a model hold the same table.
enum class mask_buffer : std::uint8_t { none, one, each_layer };

/// The loss.
struct loss_modeling {
    bool caps_logits = false;  ///< a tanh over the logits
    bool fp32_logits = true;   ///< logits are copied to fp32 (loss_utils.py, ForCausalLMLoss); else the loss reads them
                               ///< as they are, and autocast widens the log-softmax's output
    bool scales_logits = false;  ///< a factor over the logits
    bool returns_fp32 = false;   ///< the model returns fp32 logits, and lets those go that its head computed
};

/// Where dropout is, if the job has any.
struct dropout_modeling {
    bool probabilities = true;  ///< of the attention probabilities
    bool inner = false;         ///< of the feed-forward, before its last product
    bool embedding = false;     ///< of the embedding
    bool final = false;         ///< after the last norm
    bool classifier = false;    ///< of the token that the first linear layer of a classifier reads
};

/// How the modules of one architecture are written.
struct modeling {
    norm_modeling norms{};                 ///< norms
    attention_modeling attention{};        ///< attention
    feed_forward_modeling feed_forward{};  ///< feed-forwards
    loss_modeling loss{};                  ///< the loss
    dropout_modeling dropout{};            ///< dropout
    frame_modeling frames{};               ///< what the code refers to
    bool fp32_residual = false;            ///< the stream between layers is fp32, whatever the layers compute in
    /// Products of layers multiply by a transposed view of their weight: autocast casts it for each, and keeps no cast
    /// (autocast_mode.cpp, cached_cast: leaves that are no views).
    bool multiplies_views = false;
    bool scales_embedding = false;  ///< the model multiplies its embedding's output
    /// Queries, keys and values of a gated delta net, its gate, steps and decays are four products, else two.
    bool separate_projections = false;
    mask_buffer mask_table =
        mask_buffer::none;           ///< of every pair of positions, a byte each: whether one sees the other
    std::int32_t saved_indices = 0;  ///< tensors of indices that trained tables are looked up by, beside the batch's
                                     ///< own tokens: of positions, where the forward pass makes them
    bool fixed_positions = false;    ///< of the encoder: sinusoids, never trained
    bool class_token = false;        ///< a trained token before all others: the gradient of one sequence's is a view,
                                     ///< and keeps that of all tokens
};

}  // namespace llmres::inline v0
