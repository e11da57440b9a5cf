// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/maybe.hpp>
#include <llmres/precision.hpp>
#include <llmres/text.hpp>
#include <llmres/units.hpp>

/// What a model is: its embedding, its layers, its head. Dimensions are plain integers (features, heads, experts);
/// everything countable about a model follows from them (parameters.hpp, kv_cache.hpp, activations.hpp, operations.hpp).
namespace llmres {

enum class norm_kind : std::uint8_t {
    none,                ///< no parameters, or no norm at all
    rms,                 ///< weight
    layer,               ///< weight and bias
    layer_without_bias,  ///< weight
};

enum class attention_kind : std::uint8_t {
    none,
    grouped,  ///< multi-head, grouped-query and multi-query: `heads` queries share `kv_heads` keys and values
    latent,   ///< multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1)
};

/// A norm of queries and keys before their product.
enum class query_key_norm : std::uint8_t {
    none,
    shared,  ///< one weight of head_dim for all heads (Qwen3, Gemma 3)
    full,    ///< one weight over all heads together (OLMo 2)
};

struct attention {
    attention_kind kind = attention_kind::grouped;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;  ///< of queries and keys; in latent attention their part without position
    // Latent attention only.
    std::int64_t q_rank = 0;     ///< rank of the query's compression; 0: queries are not compressed
    std::int64_t kv_rank = 0;    ///< rank of the compression that the cache holds
    std::int64_t rope_dim = 0;   ///< the part of a key that carries position, one for all heads
    std::int64_t value_dim = 0;  ///< of a value head; 0: head_dim

    bool qkv_bias = false;
    bool output_bias = false;
    query_key_norm qk_norm = query_key_norm::none;
    token_count window{};  ///< a token sees this many tokens back; 0: all of them

    constexpr std::int64_t value_width() const { return value_dim != 0 ? value_dim : head_dim; }
    /// Features of one query (or key) head.
    constexpr std::int64_t query_width() const { return head_dim + rope_dim; }
    friend constexpr bool operator==(const attention&, const attention&) = default;
};

enum class feed_forward_kind : std::uint8_t {
    none,
    gated,  ///< down(act(gate(x)) * up(x))
    plain,  ///< down(act(up(x)))
};

/// Routed experts, and the experts every token passes.
struct experts {
    std::int64_t count = 0;      ///< routed experts in the layer; 0: a dense layer
    std::int64_t per_token = 0;  ///< of them, how many a token is routed to
    std::int64_t width = 0;      ///< inner width of one routed expert
    std::int64_t shared_width = 0;  ///< inner width of all shared experts together
    bool shared_gate = false;       ///< the shared expert's output is scaled by a learned gate (Qwen-MoE)
    bool score_bias = false;        ///< one correction a routed expert, added to its score (DeepSeek-V3 `noaux_tc`)
    friend constexpr bool operator==(const experts&, const experts&) = default;
};

struct feed_forward {
    feed_forward_kind kind = feed_forward_kind::gated;
    std::int64_t width = 0;  ///< inner width of a dense layer
    bool bias = false;
    llmres::experts experts{};

    constexpr bool routed() const { return experts.count > 0; }
    friend constexpr bool operator==(const feed_forward&, const feed_forward&) = default;
};

/// One layer: attention and feed-forward, each with the norms around it.
struct layer {
    llmres::attention attention{};
    llmres::feed_forward feed_forward{};
    norm_kind norm = norm_kind::rms;
    bool norm_before_attention = true;
    bool norm_after_attention = false;  ///< on attention's output, before the residual sum (Gemma 2, OLMo 2)
    bool norm_before_feed_forward = true;
    bool norm_after_feed_forward = false;

    constexpr int norms() const {
        return norm == norm_kind::none
                   ? 0
                   : norm_before_attention + norm_after_attention + norm_before_feed_forward + norm_after_feed_forward;
    }
    friend constexpr bool operator==(const layer&, const layer&) = default;
};

/// The layers in order, each distinct kind described once. Folds go over kinds and counts; only cutting the stack into
/// pipeline stages looks at the order.
struct layer_stack {
    static constexpr int max_kinds = 12;    ///< the most seen is 9 (a network found by architecture search)
    static constexpr int max_layers = 256;  ///< the most seen is 162

    std::array<layer, max_kinds> kinds{};
    std::array<std::uint8_t, max_layers> order{};  ///< the kind of each layer
    std::int32_t kind_count = 0;
    std::int32_t size = 0;

    constexpr layer_stack() = default;
    /// `count` layers of one kind.
    constexpr layer_stack(std::int32_t count, const layer& kind) { append(count, kind); }

    /// Appends layers; false if there is no room for them, and then nothing is appended.
    constexpr bool append(std::int32_t count, const layer& kind) {
        int index = 0;
        while (index < kind_count && !(kinds[static_cast<std::size_t>(index)] == kind)) ++index;
        if (count < 0 || count > max_layers - size || index == max_kinds) return false;
        if (index == kind_count) kinds[static_cast<std::size_t>(kind_count++)] = kind;
        for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(size++)] = static_cast<std::uint8_t>(index);
        return true;
    }
    constexpr layer_stack& then(std::int32_t count, const layer& kind) {
        append(count, kind);
        return *this;
    }

    constexpr const layer& operator[](int index) const {
        return kinds[order[static_cast<std::size_t>(index)]];
    }
    /// How many layers of each kind lie in [first, last).
    constexpr std::array<std::int32_t, max_kinds> counts(std::int32_t first, std::int32_t last) const {
        std::array<std::int32_t, max_kinds> found{};
        for (std::int32_t i = first; i < last; ++i) ++found[order[static_cast<std::size_t>(i)]];
        return found;
    }
    constexpr std::array<std::int32_t, max_kinds> counts() const { return counts(0, size); }
    /// The first n layers alone, as benchmarks cut models.
    constexpr layer_stack first(std::int32_t n) const {
        layer_stack cut;
        for (std::int32_t i = 0; i < n && i < size; ++i) cut.append(1, (*this)[i]);
        return cut;
    }
};

/// A decoder-only language model.
struct model {
    text<63> name{};
    text<31> architecture{};  ///< the family, as Hugging Face's `model_type` names it
    std::int64_t vocabulary = 0;
    std::int64_t hidden = 0;
    layer_stack layers{};
    token_count max_context{};   ///< as trained; 0: unknown
    bool tied_head = false;      ///< the output head is the token embedding
    bool head_bias = false;
    norm_kind final_norm = norm_kind::rms;
    precision weights = bf16;    ///< as published: what the stored linear weights are in
    maybe<parameter_count> published{};  ///< the total that its publisher gives: what count_parameters() is held against
};

/// A model of the same shape under another name: a distillation, a finetune. Nobody published its total.
constexpr model renamed(model m, std::string_view name) {
    m.name = name;
    m.published = {};
    return m;
}

/// Layers of one kind, but for every `period`th, which has no window: it sees everything.
constexpr layer_stack alternating(std::int32_t count, std::int32_t period, const layer& windowed) {
    layer global = windowed;
    global.attention.window = token_count{};
    layer_stack stack;
    for (std::int32_t i = 0; i < count; ++i) stack.append(1, (i + 1) % period == 0 ? global : windowed);
    return stack;
}

/// Structural mistakes: zero or absurd dimensions, heads that do not divide, more experts a token than there are.
constexpr status validate(const model& m);

/// "attention+mlp", "sliding_attention+moe": the kind of a layer in one word.
constexpr text<47> kind_name(const layer& l) {
    text<47> name;
    if (l.attention.kind == attention_kind::grouped)
        name.append(l.attention.window > token_count{} ? "sliding_attention" : "attention");
    if (l.attention.kind == attention_kind::latent) name.append("latent_attention");
    if (l.feed_forward.kind != feed_forward_kind::none) {
        if (!name.empty()) name.append("+");
        name.append(l.feed_forward.routed() ? "moe" : "mlp");
    }
    return name;
}

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

struct bounded_field {
    std::string_view name;
    std::int64_t value;
    std::int64_t low;
    std::int64_t high;
};

template <std::size_t N>
constexpr status all_in_range(const std::array<bounded_field, N>& fields) {
    for (const auto& [name, value, low, high] : fields)
        if (const status checked = in_range(name, value, low, high); !checked) return checked;
    return done{};
}

/// Beyond any model seen by three orders of magnitude; within them every per-tensor product fits 63 bits.
inline constexpr std::int64_t widest = std::int64_t{1} << 24;

constexpr status validate(const attention& a) {
    if (a.kind == attention_kind::none) return done{};
    if (const status s = all_in_range(std::array{bounded_field{"attention.heads", a.heads, 1, 65536},
                                                 bounded_field{"attention.head_dim", a.head_dim, 1, 65536},
                                                 bounded_field{"attention.value_dim", a.value_dim, 0, 65536},
                                                 bounded_field{"attention.rope_dim", a.rope_dim, 0, 65536},
                                                 bounded_field{"attention.q_rank", a.q_rank, 0, widest},
                                                 bounded_field{"attention.window", a.window.in(tokens), 0, std::int64_t{1} << 40}});
        !s)
        return s;
    if (a.kind == attention_kind::latent) return in_range("attention.kv_rank", a.kv_rank, 1, widest);
    if (const status s = in_range("attention.kv_heads", a.kv_heads, 1, a.heads); !s) return s;
    if (a.heads % a.kv_heads != 0)
        return refused(error_code::inconsistent, "attention.kv_heads", a.kv_heads, "a divisor of attention.heads");
    return done{};
}

constexpr status validate(const feed_forward& f) {
    if (f.kind == feed_forward_kind::none) return done{};
    if (!f.routed()) return in_range("feed_forward.width", f.width, 1, widest);
    return all_in_range(std::array{bounded_field{"experts.count", f.experts.count, 1, 65536},
                                   bounded_field{"experts.per_token", f.experts.per_token, 1, f.experts.count},
                                   bounded_field{"experts.width", f.experts.width, 1, widest},
                                   bounded_field{"experts.shared_width", f.experts.shared_width, 0, widest}});
}

}  // namespace detail

constexpr status validate(const model& m) {
    if (const status s = detail::all_in_range(
            std::array{detail::bounded_field{"vocabulary", m.vocabulary, 1, detail::widest},
                       detail::bounded_field{"hidden", m.hidden, 1, detail::widest},
                       detail::bounded_field{"layers", m.layers.size, 1, layer_stack::max_layers},
                       detail::bounded_field{"max_context", m.max_context.in(tokens), 0, std::int64_t{1} << 40}});
        !s)
        return s;
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const layer& l = m.layers.kinds[static_cast<std::size_t>(k)];
        if (const status s = detail::validate(l.attention); !s) return s;
        if (const status s = detail::validate(l.feed_forward); !s) return s;
    }
    return done{};
}

}  // namespace llmres
