// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/models/model.hpp>
#include <string_view>

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
    bool joined_heads = false;  ///< one product makes queries, keys and values, which then share its memory
    bool heads_first = false;   ///< queries lie head by head, and so does the flash kernel's output: the output
                                ///< projection reads a copy
    bool causal = true;         ///< tokens see those before them: attention that is no causal kernel needs a mask
    softmax_format softmax = softmax_format::wide;  ///< of eager attention's scores
    bool fp32_heads = false;                        ///< eager attention multiplies fp32 queries by fp32 keys
    bool caps_scores = false;                       ///< a tanh over eager attention's scores
    attention_inputs given{};                       ///< what attention is given
    /// A bias of every head and pair of tokens, made once a stack: no flash kernel takes it.
    bool biased_scores = false;
    bool rotary = true;              ///< rotated queries and keys are tensors of their own
    std::int32_t rotary_part = 1;    ///< one such part of a head's features is rotated
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
};

/// How the modules of one architecture are written.
struct modeling {
    std::string_view architecture{};       ///< Hugging Face's `model_type`
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
    mask_buffer mask_table =
        mask_buffer::none;           ///< of every pair of positions, a byte each: whether one sees the other
    std::int32_t saved_indices = 0;  ///< tensors of indices that trained tables are looked up by, beside the batch's
                                     ///< own tokens: of positions, where the forward pass makes them
    bool fixed_positions = false;    ///< of the encoder: sinusoids, never trained
    bool class_token = false;        ///< a trained token before all others: the gradient of one sequence's is a view,
                                     ///< and keeps that of all tokens
};

/// How the modules of a model's architecture are written.
constexpr const modeling& modeling_of(const model& m);

/// Whether that is known: the architecture is in the table, or was found to be written as Llama is. A model without an
/// architecture is what its layers say.
constexpr bool is_described(const model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr modeling llama_modeling{};
inline constexpr std::array all_modeling{
    modeling{.architecture = "gemma", .norms = {.form = norm_form::wide_weight}},
    modeling{.architecture = "gemma2",
             .norms = {.form = norm_form::wide_weight},
             .attention = {.caps_scores = true},
             .loss = {.caps_logits = true}},
    modeling{
        .architecture = "gemma3_text", .norms = {.form = norm_form::wide_weight}, .attention = {.rotary_tables = 2}},
    modeling{.architecture = "phi3",
             .attention = {.joined_heads = true, .heads_first = true},
             .feed_forward = {.joined = true}},
    modeling{
        .architecture = "gpt2",
        .norms = {.registered_first = true},
        .attention = {.joined_heads = true, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
        .feed_forward = {.plain_activation = activation_form::composed},
        .dropout = {.embedding = true},
        .frames = {.embeddings = 2, .shared_positions = true, .attention_output = true, .casts_probabilities = true},
        .saved_indices = 1},
    modeling{.architecture = "gpt_neox",
             .norms = {.one_input = true, .registered_first = true},
             .attention = {.joined_heads = true, .heads_first = true, .rotary_part = 4}},
    modeling{.architecture = "opt",
             .attention = {.rotary = false},
             .feed_forward = {.plain_activation = activation_form::from_output},
             .dropout = {.probabilities = false},
             .frames = {.embeddings = 2, .frees_normed = true},
             .saved_indices = 1},
    modeling{.architecture = "bloom",
             .attention = {.joined_heads = true, .rotary = false},
             .feed_forward = {.plain_activation = activation_form::function},
             .frames = {.joined_heads = true, .plain_scores = true, .earlier_probabilities = true}},
    modeling{.architecture = "falcon",
             .norms = {.one_input = true},
             .attention = {.joined_heads = true,
                           .softmax = softmax_format::as_autocast_has_it,
                           .given = {.mask = true, .copied_values = true}},
             .frames = {.plain_scores = true},
             .multiplies_views = true},
    modeling{.architecture = "arcee", .feed_forward = {.plain_activation = activation_form::squared}},
    modeling{.architecture = "nemotron",
             .norms = {.casts_input = true},  // NemotronLayerNorm1P, _cast_if_autocast_enabled
             .attention = {.heads_first = true, .rotary_part = 2},
             .feed_forward = {.plain_activation = activation_form::squared}},
    modeling{.architecture = "qwen2_moe", .feed_forward = {.shared_first = true}},
    modeling{.architecture = "deepseek_v2", .feed_forward = {.fp32_router = true, .fp32_scores = true}},
    modeling{.architecture = "deepseek_v3", .feed_forward = {.fp32_router = true, .fp32_scores = true}},
    // Kimi K2 ships DeepSeek-V3's modeling code, whose router refuses to train (modeling_deepseek.py, MoEGate: assert
    // not self.training); its guide names the type deepseek_v3 for software that does not know its own
    // (docs/deploy_guidance.md), which is transformers' code.
    modeling{.architecture = "kimi_k2", .feed_forward = {.fp32_router = true, .fp32_scores = true}},
    modeling{.architecture = "mixtral", .feed_forward = {.fp32_scores = true}},
    modeling{.architecture = "bert",
             .norms = {.after_sum = true},
             .attention = {.causal = false, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
             .loss = {.fp32_logits = false},
             .dropout = {.embedding = true}},
    modeling{.architecture = "vit",
             .attention = {.causal = false, .rotary = false},
             .loss = {.fp32_logits = false},
             .class_token = true},
    modeling{
        .architecture = "t5",
        .norms = {.form = norm_form::narrow_scale},
        .attention = {.softmax = softmax_format::as_autocast_has_it, .biased_scores = true, .rotary = false},
        .feed_forward = {.activation = activation_form::composed, .plain_activation = activation_form::from_output},
        .loss = {.fp32_logits = false},
        .dropout = {.inner = true, .embedding = true, .final = true},
        .frames = {.embeddings = 1}},
    modeling{.architecture = "whisper",
             .attention = {.heads_first = true, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
             .loss = {.fp32_logits = false},
             .frames = {.embeddings = 2, .frees_normed = true},
             .saved_indices = 1,
             .fixed_positions = true},
    modeling{.architecture = "roberta",
             .norms = {.after_sum = true},
             .attention = {.causal = false, .softmax = softmax_format::as_autocast_has_it, .rotary = false},
             .loss = {.fp32_logits = false},
             .dropout = {.embedding = true},
             .saved_indices = 1},
    modeling{
        .architecture = "glm", .attention = {.heads_first = true, .rotary_part = 2}, .feed_forward = {.joined = true}},
    modeling{
        .architecture = "glm4", .attention = {.heads_first = true, .rotary_part = 2}, .feed_forward = {.joined = true}},
    modeling{.architecture = "stablelm",
             .attention = {.heads_first = true, .rotary_part = 4},
             .frames = {.attention_input = true, .attention_output = true}},
    modeling{.architecture = "phi",
             .norms = {.one_input = true},
             .attention = {.heads_first = true, .rotary_part = 2},
             .feed_forward = {.plain_activation = activation_form::composed}},
    modeling{.architecture = "gptj",
             .norms = {.one_input = true, .registered_first = true},
             .attention = {.fp32_heads = true},
             .feed_forward = {.plain_activation = activation_form::composed},
             .frames = {.earlier_probabilities = true}},
    modeling{.architecture = "olmo",
             .norms = {.form = norm_form::wide_kernel},
             .attention = {.given = {.fp32_tables = true}}},
    modeling{.architecture = "olmo2",
             .norms = {.form = norm_form::wide_product},
             .attention = {.given = {.fp32_tables = true}}},
    modeling{.architecture = "cohere",
             .norms = {.form = norm_form::wide_mean, .one_input = true},
             .loss = {.scales_logits = true}},
    modeling{.architecture = "granite", .loss = {.scales_logits = true}, .scales_embedding = true},
    modeling{.architecture = "gpt_oss",
             .norms = {.form = norm_form::wide_product},
             .attention = {.softmax = softmax_format::of_scores},
             .feed_forward = {.clamped_experts = true},
             .frames = {.plain_scores = true}},
    modeling{.architecture = "gpt_bigcode",
             .norms = {.registered_first = true},
             .attention = {.joined_heads = true, .rotary = false},
             .dropout = {.embedding = true},
             .frames = {.embeddings = 2, .shared_positions = true, .attention_output = true},
             .mask_table = mask_buffer::one,
             .saved_indices = 1},
    modeling{
        .architecture = "gpt_neo",
        .attention = {.fp32_heads = true, .rotary = false},
        .feed_forward = {.plain_activation = activation_form::composed},
        .frames = {.embeddings = 2, .shared_positions = true, .attention_output = true, .earlier_probabilities = true},
        .mask_table = mask_buffer::each_layer,
        .saved_indices = 1},
    modeling{.architecture = "mamba2", .loss = {.returns_fp32 = true}, .fp32_residual = true},
    modeling{.architecture = "bamba", .attention = {.heads_first = true, .rotary_part = 2}},
};

/// Architectures whose modules keep what Llama's do: tracked, or with the same modeling code but for their names.
inline constexpr std::array<std::string_view, 16> written_as_llama{"llama",         "Yi",
                                                                   "aquila",        "mistral",
                                                                   "ministral",     "qwen2",
                                                                   "qwen3",         "qwen3_moe",
                                                                   "olmoe",         "smollm3",
                                                                   "seed_oss",      "starcoder2",
                                                                   "qwen2_vl_text", "qwen2_5_vl_text",
                                                                   "qwen3_vl_text", "qwen3_vl_moe_text"};

/// Most models that are planned are among these.
constexpr bool is_written_as_llama(const model& m) {
    for (const std::string_view alike : written_as_llama)
        if (m.architecture == alike) return true;
    return false;
}

/// Whether no architecture has modules of its own and is written as Llama, too.
constexpr bool modules_differ_from_llama() {
    for (const modeling& code : all_modeling)
        for (const std::string_view alike : written_as_llama)
            if (code.architecture == alike) return false;
    return true;
}
static_assert(modules_differ_from_llama());

/// is_described(), where modeling_of() is known.
constexpr bool is_described(const model& m, const modeling& code) {
    if (m.from_tensors) return false;
    return &code != &llama_modeling || m.architecture.empty() || is_written_as_llama(m);
}

}  // namespace detail

constexpr bool is_described(const model& m) { return !m.from_tensors && detail::is_described(m, modeling_of(m)); }

constexpr const modeling& modeling_of(const model& m) {
    if (detail::is_written_as_llama(m)) return detail::llama_modeling;
    for (const modeling& code : detail::all_modeling)
        if (m.architecture == code.architecture) return code;
    return detail::llama_modeling;
}

}  // namespace llmres::inline v0
