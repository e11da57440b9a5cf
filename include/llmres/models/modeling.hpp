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
    composed,     ///< products, a cube and a tanh (activations.py, NewGELUActivation)
};

/// How an RMS norm is written.
enum class norm_form : std::uint8_t {
    narrow_weight,  ///< the result returns to the stream's format before the weight multiplies it
    wide_weight,    ///< one plus the weight multiplies in fp32 (Gemma)
    narrow_scale,   ///< the stream itself is scaled, an fp32 copy is squared (T5)
};

struct module_code {
    std::string_view architecture{};
    activation_form activation = activation_form::from_input;
    activation_form plain_activation = activation_form::from_input;  ///< of a feed-forward without a gate
    norm_form norm = norm_form::narrow_weight;
    bool joined_heads = false;     ///< one product makes queries, keys and values, which then share its memory
    bool joined_gate = false;      ///< ... gate and up
    bool rotary = true;            ///< queries and keys are turned: tensors of their own
    std::int32_t rotary_part = 1;  ///< one such part of a head's features is turned
    bool heads_first = false;      ///< queries lie head by head, and so does what the flash kernel puts out: the output
                                   ///< projection reads a copy
    bool post_norm = false;        ///< norms read the residual sums
    bool one_norm_input = false;   ///< both norms read the same stream: attention and feed-forward stand side by side
    bool fp32_softmax = true;      ///< of eager attention's scores
    bool caps_scores = false;      ///< a tanh over eager attention's scores
    bool caps_logits = false;      ///< ... over the logits
    bool fp32_router = false;      ///< reads an fp32 copy of the tokens, through an fp32 copy of its weight
    bool fp32_loss = true;  ///< logits are copied to fp32 (loss_utils.py, ForCausalLMLoss); else the loss takes them as
                            ///< they are, and autocast widens what the log-softmax puts out
    bool fp32_residual = false;      ///< the stream between layers is fp32, whatever the layers compute in
    bool causal = true;              ///< tokens see those before them: attention that is no causal kernel needs a mask
    bool fixed_positions = false;    ///< of the encoder: sinusoids, never trained
    std::int32_t rotary_tables = 1;  ///< layers with a window turn by another base
    bool class_token =
        false;  ///< a trained one before all others: of one sequence its gradient is a view, and keeps that of all
    bool biased_scores =
        false;  ///< a bias of every head and pair of tokens, made once a stack: no flash kernel takes it
    // Where dropout is, if the job has any.
    bool drops_probabilities = true;
    bool drops_inner = false;  ///< of the feed-forward, before its last product
    bool drops_embedding = false;
    bool drops_final = false;  ///< after the last norm
};

/// The code of a model's architecture.
constexpr const module_code& module_code_of(const model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr module_code llama_code{};
inline constexpr std::array module_codes{
    module_code{.architecture = "gemma", .norm = norm_form::wide_weight},
    module_code{.architecture = "gemma2", .norm = norm_form::wide_weight, .caps_scores = true, .caps_logits = true},
    module_code{.architecture = "gemma3_text", .norm = norm_form::wide_weight, .rotary_tables = 2},
    module_code{.architecture = "phi3", .joined_heads = true, .joined_gate = true, .heads_first = true},
    module_code{.architecture = "gpt2",
                .plain_activation = activation_form::composed,
                .joined_heads = true,
                .rotary = false,
                .fp32_softmax = false,
                .drops_embedding = true},
    module_code{.architecture = "gpt_neox",
                .joined_heads = true,
                .rotary_part = 4,
                .heads_first = true,
                .one_norm_input = true},
    module_code{.architecture = "opt",
                .plain_activation = activation_form::from_output,
                .rotary = false,
                .drops_probabilities = false},
    module_code{.architecture = "deepseek_v2", .fp32_router = true},
    module_code{.architecture = "deepseek_v3", .fp32_router = true},
    module_code{.architecture = "bert",
                .rotary = false,
                .post_norm = true,
                .fp32_softmax = false,
                .fp32_loss = false,
                .causal = false,
                .drops_embedding = true},
    module_code{.architecture = "vit", .rotary = false, .fp32_loss = false, .causal = false, .class_token = true},
    module_code{.architecture = "t5",
                .activation = activation_form::composed,
                .plain_activation = activation_form::from_output,
                .norm = norm_form::narrow_scale,
                .rotary = false,
                .fp32_softmax = false,
                .fp32_loss = false,
                .biased_scores = true,
                .drops_inner = true,
                .drops_embedding = true,
                .drops_final = true},
    module_code{.architecture = "whisper",
                .rotary = false,
                .heads_first = true,
                .fp32_softmax = false,
                .fp32_loss = false,
                .fixed_positions = true},
    module_code{.architecture = "mamba2", .fp32_residual = true},
    module_code{.architecture = "bamba", .rotary_part = 2, .heads_first = true},
};

}  // namespace detail

constexpr const module_code& module_code_of(const model& m) {
    const std::string_view name = m.architecture.view();
    for (const module_code& code : detail::module_codes)
        if (code.architecture == name) return code;
    return detail::llama_code;
}

}  // namespace llmres::inline v0
