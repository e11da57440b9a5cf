// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/model.hpp>
#include <llmres/precision.hpp>
#include <string_view>

/// The inventory of activations: what a training step saves for its backward pass, and what is alive at the peak of a
/// forward pass. Sizes are folds over it.
///
/// The tensors are those that PyTorch's autograd saves when it runs the Hugging Face modules of a llama-type layer in
/// 16 bit: RMSNorm in fp32 and cast back, rotary embedding, attention, SiLU-gated feed-forward.
namespace llmres {

enum class activation_role : std::uint8_t {
    residual,            ///< the stream between layers
    norm_input,          ///< the fp32 copy that a norm squares and scales
    normalised,          ///< what the norm's weight multiplies
    norm_statistics,     ///< one fp32 a token
    linear_input,        ///< shared by the projections that read it
    query,
    key,
    value,
    latent,              ///< compressed queries, keys and values of latent attention
    probabilities,       ///< softmax of every pair of tokens, eager attention only
    softmax_statistics,  ///< one fp32 a token and head, from which tiles are computed again
    attention_output,
    router,              ///< scores of the routed experts, fp32
    gate,
    gate_activation,
    up,
    product,
    expert_output,       ///< before it is weighed by the router's score
    logits,              ///< in the compute format
    logits_fp32,
    log_probabilities,   ///< fp32
    logits_gradient,     ///< fp32
};
inline constexpr std::array<std::string_view, 22> activation_role_names{
    "residual", "norm_input",    "normalised",         "norm_statistics",  "linear_input", "query",
    "key",      "value",         "latent",             "probabilities",    "softmax_statistics", "attention_output",
    "router",   "gate",          "gate_activation",    "up",               "product",      "expert_output",
    "logits",   "logits_fp32",   "log_probabilities",  "logits_gradient"};
constexpr std::string_view name_of(activation_role role) { return activation_role_names[static_cast<std::size_t>(role)]; }

/// How tensor parallelism cuts an activation.
enum class activation_split : std::uint8_t {
    sequence,  ///< whole on every tensor rank, unless sequence parallelism cuts it by tokens
    tensor,    ///< by heads, inner width or vocabulary
};

struct activation {
    activation_role role;
    std::int64_t elements;  ///< on all tensor ranks together
    const precision& format;
    activation_split split;
};

/// The tokens that pass at once on one rank.
struct token_shape {
    std::int64_t sequences = 1;
    std::int64_t length = 1;  ///< tokens of each sequence here
    std::int64_t keys = 1;    ///< tokens that each of them may attend to

    constexpr std::int64_t all() const { return detail::product(sequences, length); }
};

/// Bytes of it on one rank.
constexpr byte_count local_bytes(const activation& a, const layout& l) {
    const bool cut = a.split == activation_split::tensor || l.sequence_parallel;
    return size_of(a.format, 1, cut ? detail::ceil_quotient(a.elements, l.tensor) : a.elements);
}

// ---- saved for the backward pass ------------------------------------------------------------------------------------

namespace detail {

template <class Visit>
struct activation_writer {
    Visit& visit;
    const precision& compute;

    constexpr void whole(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, compute, activation_split::sequence});
    }
    constexpr void split(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, compute, activation_split::tensor});
    }
    constexpr void whole_fp32(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, fp32, activation_split::sequence});
    }
    constexpr void split_fp32(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, fp32, activation_split::tensor});
    }
    /// RMSNorm as Hugging Face writes it: the input in fp32, 1/rms, and the cast result that its weight multiplies.
    constexpr void norm(std::int64_t positions, std::int64_t width) const {
        whole_fp32(activation_role::norm_input, positions * width);
        whole_fp32(activation_role::norm_statistics, positions);
        whole(activation_role::normalised, positions * width);
    }
};

template <class Visit>
constexpr void save_attention(const attention& a, std::int64_t hidden, const token_shape& s, attention_kernel kernel,
                              const activation_writer<Visit>& save) {
    const std::int64_t n = s.all();
    save.whole(activation_role::linear_input, n * hidden);
    if (a.kind == attention_kind::latent) {
        if (a.q_rank > 0) save.norm(n, a.q_rank);
        save.norm(n, a.kv_rank);
        save.whole(activation_role::latent, n * (a.q_rank + a.kv_rank));
    }
    // Only kernels that know of shared heads read keys and values without a copy for every query head.
    const bool shares = kernel == attention_kernel::flash && a.kind == attention_kind::grouped;
    const std::int64_t kv_heads = shares ? a.kv_heads : a.heads;
    save.split(activation_role::query, n * a.heads * a.query_width());
    save.split(activation_role::key, n * kv_heads * a.query_width());
    save.split(activation_role::value, n * kv_heads * a.value_width());
    if (kernel == attention_kernel::eager) {
        const std::int64_t pairs = product(product(s.sequences, a.heads), product(s.length, s.keys));
        save.split_fp32(activation_role::probabilities, pairs);
        save.split(activation_role::probabilities, pairs);
    } else {
        save.split_fp32(activation_role::softmax_statistics, n * a.heads);
    }
    save.split(activation_role::attention_output, n * a.heads * a.value_width());
}

template <class Visit>
constexpr void save_mlp(feed_forward_kind kind, std::int64_t positions, std::int64_t width, const activation_writer<Visit>& save) {
    if (kind == feed_forward_kind::gated) {
        save.split(activation_role::gate, positions * width);
        save.split(activation_role::gate_activation, positions * width);
    }
    save.split(activation_role::up, positions * width);
    save.split(activation_role::product, positions * width);
}

template <class Visit>
constexpr void save_feed_forward(const feed_forward& f, std::int64_t hidden, std::int64_t n, const activation_writer<Visit>& save) {
    save.whole(activation_role::linear_input, n * hidden);
    if (!f.routed()) return save_mlp(f.kind, n, f.width, save);
    // Tokens spread evenly over the experts: each rank computes as many as it sends away.
    const experts& e = f.experts;
    const std::int64_t routed = product(n, e.per_token);
    save.whole_fp32(activation_role::router, 2 * n * e.count);  // scores and their softmax
    save.whole(activation_role::linear_input, routed * hidden);
    save_mlp(f.kind, routed, e.width, save);
    save.whole(activation_role::expert_output, routed * hidden);
    if (e.shared_width > 0) save_mlp(f.kind, n, e.shared_width, save);
}

}  // namespace detail

/// Calls visit(activation) for every tensor that one layer saves until its backward pass, recomputing nothing.
template <class Visit>
constexpr void for_each_saved_activation(const layer& l, std::int64_t hidden, const token_shape& s,
                                         attention_kernel kernel, const precision& compute, Visit&& visit) {
    const detail::activation_writer<Visit> save{visit, compute};
    const std::int64_t n = s.all();
    for (int i = 0; i < l.norms(); ++i) save.norm(n, hidden);
    if (l.attention.kind != attention_kind::none) detail::save_attention(l.attention, hidden, s, kernel, save);
    if (l.feed_forward.kind != feed_forward_kind::none) detail::save_feed_forward(l.feed_forward, hidden, n, save);
}

/// ... that the final norm, the head and the cross entropy hold when the loss is differentiated: logits in the compute
/// format and in fp32, their log-softmax, and its gradient (14 bytes a token and vocabulary entry in bf16).
template <class Visit>
constexpr void for_each_loss_activation(const model& m, std::int64_t positions, const precision& compute, Visit&& visit) {
    const detail::activation_writer<Visit> save{visit, compute};
    save.norm(positions, m.hidden);
    save.whole(activation_role::linear_input, positions * m.hidden);
    const std::int64_t scores = detail::product(positions, m.vocabulary);
    save.split(activation_role::logits, scores);
    save.split_fp32(activation_role::logits_fp32, scores);
    save.split_fp32(activation_role::log_probabilities, scores);
    save.split_fp32(activation_role::logits_gradient, scores);
}

// ---- alive in a forward pass without a backward ---------------------------------------------------------------------

/// Where in a layer: the two halves do not overlap, so the larger one counts.
enum class layer_half : std::uint8_t { attention, feed_forward };

/// Calls visit(activation, layer_half) for every tensor alive at the fullest moment of that half.
template <class Visit>
constexpr void for_each_live_activation(const layer& l, std::int64_t hidden, const token_shape& s,
                                        attention_kernel kernel, const precision& compute, Visit&& visit) {
    const std::int64_t n = s.all();
    const auto in_half = [&](layer_half half, auto&& write) {
        const auto to_half = [&](const activation& a) { visit(a, half); };
        const detail::activation_writer<const decltype(to_half)> live{to_half, compute};
        live.whole(activation_role::residual, n * hidden);
        live.whole(activation_role::linear_input, n * hidden);
        write(live);
    };
    in_half(layer_half::attention, [&](const auto& live) {
        const attention& a = l.attention;
        if (a.kind == attention_kind::none) return;
        const std::int64_t kv_heads = a.kind == attention_kind::latent ? a.heads : a.kv_heads;
        live.split(activation_role::query, n * a.heads * a.query_width());
        live.split(activation_role::key, n * kv_heads * a.query_width());
        live.split(activation_role::value, n * kv_heads * a.value_width());
        live.split(activation_role::attention_output, n * a.heads * a.value_width());
        if (kernel == attention_kernel::eager)
            live.split_fp32(activation_role::probabilities,
                            detail::product(detail::product(s.sequences, a.heads), detail::product(s.length, s.keys)));
    });
    in_half(layer_half::feed_forward, [&](const auto& live) {
        const feed_forward& f = l.feed_forward;
        if (f.kind == feed_forward_kind::none) return;
        const std::int64_t per_token = f.routed() ? f.experts.per_token : 1;
        const std::int64_t width = f.routed() ? f.experts.width : f.width;
        if (f.kind == feed_forward_kind::gated) live.split(activation_role::gate, n * per_token * width);
        live.split(activation_role::up, n * per_token * width);
        live.split(activation_role::product, n * per_token * width);
        if (f.routed()) live.whole(activation_role::expert_output, n * per_token * hidden);
    });
}

/// Calls visit(activation) for the scores of the next token of each sequence: in the compute format, and in fp32 for
/// sampling.
template <class Visit>
constexpr void for_each_sampled_activation(const model& m, std::int64_t sequences, const precision& compute, Visit&& visit) {
    const detail::activation_writer<Visit> live{visit, compute};
    live.split(activation_role::logits, sequences * m.vocabulary);
    live.split_fp32(activation_role::logits_fp32, sequences * m.vocabulary);
}

}  // namespace llmres
