// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// What is a layer? What mixes tokens (attention, a recurrence, or both), and the feed-forward that follows.
namespace llmres::inline v0 {

/// Which parameters a norm has.
enum class norm_kind : std::uint8_t {
    none,                ///< no parameters, or no norm at all
    rms,                 ///< RMSNorm: a weight
    layer,               ///< LayerNorm: a weight and a bias
    layer_without_bias,  ///< LayerNorm: a weight
};

// ---- attention ------------------------------------------------------------------------------------------------------

/// How keys and values are made and cached.
enum class attention_kind : std::uint8_t {
    none,     ///< the layer has no attention
    grouped,  ///< multi-head, grouped-query and multi-query: `heads` queries share `kv_heads` keys and values
    latent,   ///< multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1)
    /// One head of keys, which are the values, too: tokens of a window, and before it one entry for several tokens
    /// (DeepSeek-V4). Queries and the output are projected through a lower rank.
    compressed,
};

/// A norm of queries and keys before their product.
enum class query_key_norm : std::uint8_t {
    none,    ///< no norm
    shared,  ///< one weight of head_dim for all heads (Qwen3, Gemma 3)
    full,    ///< one weight over all heads together (OLMo 2, Command R+)
};

/// Attention to another sequence: the output of an encoder or a vision tower.
enum class cross_attention : std::uint8_t {
    none,     ///< no cross-attention
    beside,   ///< after self-attention, with projections and a norm of its own, shaped as self-attention (T5, Whisper)
    instead,  ///< this layer has no self-attention (Llama 3.2 Vision)
};

/// A learned gate on attention's output, before the output projection.
enum class output_gate : std::uint8_t {
    none,               ///< no gate
    features,           ///< one value for each feature of every head (Qwen3-Next)
    unbiased_features,  ///< as `features`, without the bias that `qkv_bias` gives (AFMoE)
    heads,              ///< one value for each head
};

/// Whose keys and values a layer attends to.
enum class kv_source : std::uint8_t {
    own,     ///< this layer's own
    shared,  ///< an earlier layer's: no cache, and no key and value projections (Hunyuan's cross-layer attention)
    shared_unused,  ///< an earlier layer's: no cache; projections are stored but never run (Gemma 3n)
};

/// DeepSeek sparse attention's indexer: small heads that choose the tokens to attend to (DeepSeek-V3.2-Exp report).
struct indexer {
    std::int64_t heads = 0;     ///< 0: no indexer
    std::int64_t head_dim = 0;  ///< features of an indexer head
    token_count selected{};     ///< tokens attended to, at most
    bool weighed = true;        ///< a matrix weighs its heads for each token (MiniMax-M3 has none)
    bool quantised = true;      ///< keys are cached in E4M3 with a scale; else in 16 bits (MiniMax-M3)
    friend constexpr bool operator==(const indexer&, const indexer&) = default;
};

/// The entries that attention of kind `compressed` reads beyond its window, and how its output is projected.
struct compressed_keys {
    std::int64_t ratio = 0;          ///< tokens of one entry; 0: the window alone
    std::int64_t windows = 1;        ///< windows of `ratio` tokens that an entry is pooled from; two of them overlap
    std::int64_t output_groups = 0;  ///< groups of heads, each projected apart
    std::int64_t output_rank = 0;    ///< features that each group is projected to
    friend constexpr bool operator==(const compressed_keys&, const compressed_keys&) = default;
};

/// How the projection of keys departs from those of queries and values.
enum class key_projection : std::uint8_t {
    plain,        ///< it does not
    unbiased,     ///< it adds no bias where `qkv_bias` has queries and values do so (Whisper)
    also_values,  ///< keys serve as values: there is no projection of values (Gemma 4's layers with global attention)
};

/// Attention of one layer: its heads, what it sees, and what is learned beside its projections.
struct attention {
    attention_kind kind = attention_kind::grouped;  ///< grouped, latent, or none
    std::int64_t heads = 0;                         ///< query heads
    std::int64_t kv_heads = 0;                      ///< heads of keys and values
    /// Features of a query or key head; in latent attention, of its part without position.
    std::int64_t head_dim = 0;
    std::int64_t q_rank = 0;   ///< latent, compressed: features of the compressed query; 0: none is compressed
    std::int64_t kv_rank = 0;  ///< latent: features of the compressed keys and values, which the cache holds
    /// Features that rotary embeddings (RoPE) rotate. Latent: a part of its own beside `head_dim`, one for all keys.
    /// Grouped and compressed: of the head; 0: all of them.
    std::int64_t rope_dim = 0;
    std::int64_t value_dim = 0;  ///< latent: features of a value head; 0: as head_dim

    bool qkv_bias = false;                          ///< query, key and value projections have biases
    bool output_bias = false;                       ///< the output projection has a bias
    query_key_norm qk_norm = query_key_norm::none;  ///< norms of queries and keys
    token_count window{};                           ///< tokens that a token attends to; 0: all before it

    bool chunked = false;  ///< `window` is a chunk: attention starts anew with each (Llama 4)
    /// How the projection of keys departs from those of queries and values.
    key_projection keys = key_projection::plain;
    bool sinks = false;  ///< a learned logit for each head that takes attention from all tokens (gpt-oss)
    output_gate gate = output_gate::none;           ///< a gate on the output
    kv_source kv = kv_source::own;                  ///< whose keys and values are read
    cross_attention cross = cross_attention::none;  ///< attention to another sequence
    llmres::indexer indexer{};                      ///< sparse attention: which tokens, or entries, are read
    compressed_keys compressed{};                   ///< compressed: what is read beyond the window

    /// Features of one value head.
    constexpr std::int64_t value_width() const { return value_dim != 0 ? value_dim : head_dim; }
    /// Features of one query (or key) head.
    constexpr std::int64_t query_width() const {
        return kind == attention_kind::latent ? head_dim + rope_dim : head_dim;
    }
    /// Whether its query heads are wider than the widest for which there is a fused kernel; 0: there is for any.
    constexpr bool wider_than(std::int32_t widest_fused) const {
        return widest_fused > 0 && query_width() > widest_fused;
    }
    /// Features of a head that rotary embeddings rotate, in architectures that have them.
    constexpr std::int64_t rotated_width() const {
        return kind == attention_kind::none ? 0 : rope_dim > 0 ? rope_dim : head_dim;
    }
    friend constexpr bool operator==(const attention&, const attention&) = default;
};

// ---- recurrence -----------------------------------------------------------------------------------------------------

/// Mixers that carry a state of fixed size from token to token, whatever the context.
enum class recurrent_kind : std::uint8_t {
    none,
    mamba,         ///< selective state space, one state a channel (arXiv 2312.00752)
    mamba2,        ///< scalar decay a head (arXiv 2405.21060)
    delta_net,     ///< gated delta rule (arXiv 2412.06464), as Qwen3-Next builds it
    lightning,     ///< linear attention with an output gate (MiniMax-01, arXiv 2501.08313)
    short_conv,    ///< a gated convolution over a few tokens (LFM2)
    rwkv,          ///< RWKV-5 time mixing and channel mixing (arXiv 2404.05892); with heads of one feature, RWKV-4's
    convolution,   ///< convolutions over a few tokens beside attention, without projections of their own (Inkling)
    gated_linear,  ///< real-gated linear recurrent unit (RecurrentGemma, arXiv 2402.19427)
    undescribed,   ///< known by the size of its state alone: its weights are among the layer's `more_values`
};

/// A recurrence of one layer: the width of its state, and of what it computes from.
struct recurrent {
    recurrent_kind kind = recurrent_kind::none;  ///< which recurrence, or none
    std::int64_t heads = 0;                      ///< value heads
    std::int64_t head_dim = 0;   ///< features of a value head; mamba: 1, and `heads` are its inner channels
    std::int64_t key_heads = 0;  ///< delta_net: key heads; mamba2: groups that share B and C
    std::int64_t state = 0;      ///< features of a key: the state holds as many for each value feature
    /// mamba: features of the low-rank time step; delta_net: features through which the decay of each key feature and
    /// the output gate are projected (Kimi delta attention), 0: one decay a head, and a gate projected at once.
    std::int64_t rank = 0;
    std::int64_t kernel = 0;   ///< tokens that the convolution reads; 0: no convolution
    std::int64_t chunk = 256;  ///< mamba2: tokens that the scan computes at once
    bool bias = false;         ///< input and output projections have biases
    bool conv_bias = false;    ///< the convolution has a bias
    bool inner_norms = false;  ///< RMS norms of the time step, B and C (Jamba)
    bool output_norm = true;   ///< mamba2: an RMS norm of the scan's output
    bool whole_gate = false;   ///< delta_net with `rank`: the output gate is projected at once
    /// The model asks for a state in fp32 (its config.json: mamba_ssm_dtype), or its kernels know no other.
    bool fp32_state = false;

    /// Value features of all heads.
    constexpr std::int64_t inner() const { return heads * head_dim; }
    /// Channels that the convolution runs over.
    constexpr std::int64_t conv_channels() const {
        switch (kind) {
            case recurrent_kind::mamba:
            case recurrent_kind::short_conv:
            case recurrent_kind::convolution:
            case recurrent_kind::gated_linear: return inner();
            case recurrent_kind::mamba2:
            case recurrent_kind::delta_net:
            case recurrent_kind::undescribed: return inner() + 2 * key_heads * state;
            default: return 0;
        }
    }
    friend constexpr bool operator==(const recurrent&, const recurrent&) = default;
};

/// True for a gated delta net with one decay a head, which Kimi delta attention is not.
constexpr bool is_gated_delta(const recurrent& r) { return r.kind == recurrent_kind::delta_net && r.rank == 0; }

// ---- feed-forward ---------------------------------------------------------------------------------------------------

/// Which matrices a feed-forward has.
enum class feed_forward_kind : std::uint8_t {
    none,   ///< the layer has no feed-forward
    gated,  ///< down(act(gate(x)) * up(x))
    plain,  ///< down(act(up(x)))
};

/// Routed experts, and the experts every token passes.
struct experts {
    std::int64_t count = 0;      ///< routed experts in the layer; 0: a dense layer
    std::int64_t per_token = 0;  ///< experts that a token is routed to
    std::int64_t width = 0;      ///< inner width of one routed expert
    /// Inner width of all shared experts together, or of a dense feed-forward beside the experts.
    std::int64_t shared_width = 0;
    bool shared_gate = false;  ///< the shared expert's output is scaled by a learned gate (Qwen-MoE)
    /// One correction for each routed expert, added to its score (DeepSeek-V3 `noaux_tc`).
    bool score_bias = false;
    bool router_bias = false;  ///< the router has a bias
    std::int64_t idle = 0;     ///< choices of the router that compute nothing (LongCat)
    /// Features that experts compute in, projected from and to the hidden ones; 0: the hidden ones.
    std::int64_t latent = 0;

    /// Features of a routed expert's input and output in a model of `hidden` features.
    constexpr std::int64_t features(std::int64_t hidden) const { return latent > 0 ? latent : hidden; }
    friend constexpr bool operator==(const experts&, const experts&) = default;
};

/// The feed-forward of one layer: dense, or of routed experts.
struct feed_forward {
    feed_forward_kind kind = feed_forward_kind::gated;  ///< gated, plain, or none
    std::int64_t width = 0;                             ///< inner width of a dense feed-forward
    bool bias = false;                                  ///< its matrices have biases
    llmres::experts experts{};                          ///< routed and shared experts

    /// Whether tokens are routed to experts.
    constexpr bool routed() const { return experts.count > 0; }
    friend constexpr bool operator==(const feed_forward&, const feed_forward&) = default;
};

// ---- the layer, and the stack of layers -----------------------------------------------------------------------------

/// Which of a layer's matrices a quantised checkpoint quantises: one bit for each sort of matrices.
enum class quantised_part : std::uint8_t {
    none = 0,
    experts = 1,       ///< the routed experts alone (gpt-oss)
    dense = 2,         ///< dense feed-forwards and shared experts
    feed_forward = 3,  ///< experts and dense: not those that mix tokens
    mixers = 4,        ///< projections of attention and recurrences
    matrices = 7,      ///< all of them, but for the router
};
/// Both sorts.
constexpr quantised_part operator|(quantised_part a, quantised_part b) {
    return static_cast<quantised_part>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Whether `which` contains the sort.
constexpr bool quantises(quantised_part which, quantised_part sort) {
    return (static_cast<unsigned>(which) & static_cast<unsigned>(sort)) != 0;
}

/// Ways in which learned matrices mix the streams of a layer before and after attention and before and after the
/// feed-forward (hyper-connections, arXiv 2409.19606; manifold-constrained, 2512.24880).
enum class stream_mix : std::uint8_t {
    none,         ///< they do not
    ends,         ///< a weight of each stream for the input, and one for the output (Hunyuan 4)
    between_too,  ///< and a matrix from the streams before to those behind (DeepSeek-V4)
};

/// One layer: attention or a recurrence (or neither, or both in parallel), a feed-forward (or none), and the norms
/// around them. A parallel block, which computes attention and feed-forward from one norm, has
/// `norm_before_feed_forward = false`.
struct layer {
    llmres::attention attention{};        ///< attention, if the layer has one
    llmres::recurrent recurrent{};        ///< a recurrence, if the layer has one
    llmres::feed_forward feed_forward{};  ///< the feed-forward, if the layer has one
    norm_kind norm = norm_kind::rms;      ///< parameters of each of its norms
    bool norm_before_attention = true;    ///< a norm before attention or recurrence
    /// A norm of attention's output, before the residual sum (Gemma 2, OLMo 2).
    bool norm_after_attention = false;
    bool norm_before_feed_forward = true;  ///< a norm before the feed-forward
    bool norm_after_feed_forward = false;  ///< a norm of its output, before the residual sum
    std::int32_t more_norms = 0;           ///< further norms of the hidden width
    /// Further matrices from the hidden width or to it: the sum of their other sides (Gemma 3n, Gemma 4).
    std::int64_t more_features = 0;
    std::int64_t more_values = 0;         ///< parameters that belong to no matrix: layer scales, gates
    std::int64_t cross_width = 0;         ///< features of the sequence that cross-attention reads; 0: the hidden size
    std::int32_t streams = 1;             ///< copies of the residual stream that are kept from layer to layer
    stream_mix mixes = stream_mix::none;  ///< how learned matrices mix the streams
    quantised_part quantised = quantised_part::matrices;  ///< what a quantised checkpoint quantises

    /// Norms of the hidden width.
    constexpr int norms() const {
        return norm == norm_kind::none
                   ? 0
                   : norm_before_attention + norm_after_attention + norm_before_feed_forward + norm_after_feed_forward +
                         (attention.cross == cross_attention::beside ? 1 : 0) + more_norms;
    }
    friend constexpr bool operator==(const layer&, const layer&) = default;
};

/// For a layer of recurrence or feed-forward alone (Nemotron-H).
inline constexpr attention no_attention{.kind = attention_kind::none};
/// For a layer of attention or recurrence alone.
inline constexpr feed_forward no_feed_forward{.kind = feed_forward_kind::none};

/// The layers in order, each distinct kind described once. Sums go over kinds and counts; only cutting the stack into
/// pipeline stages needs the order.
struct layer_stack {
    static constexpr int max_kinds = 12;    ///< the most seen is 9 (a network found by architecture search)
    static constexpr int max_layers = 256;  ///< the most seen is 162

    std::array<layer, max_kinds> kinds{};          ///< the distinct kinds; the first `kind_count` are in use
    std::array<std::uint8_t, max_layers> order{};  ///< the kind of each layer
    std::int32_t kind_count = 0;                   ///< distinct kinds
    std::int32_t size = 0;                         ///< layers

    constexpr layer_stack() = default;  ///< no layers
    /// `count` layers of one kind.
    constexpr layer_stack(std::int32_t count, const layer& kind) { append(count, kind); }

    /// Appends layers; false if there is no room for them, and then nothing is appended.
    constexpr bool append(std::int32_t count, const layer& kind) {
        int index = 0;
        while (index < kind_count && !(kinds[static_cast<std::size_t>(index)] == kind)) ++index;
        if (count < 0 || count > max_layers - size || index == max_kinds) return false;
        if (index == kind_count) kinds[static_cast<std::size_t>(kind_count++)] = kind;
        // By a pointer: all models of the tables are evaluated where they are included, and an index is three calls.
        std::uint8_t* const next = order.data() + size;
        for (int i = 0; i < count; ++i) next[i] = static_cast<std::uint8_t>(index);
        size += count;
        return true;
    }
    /// Appends a layer of the kind of one that is there; false if there is no room for it.
    constexpr bool repeat(std::int32_t index) {
        if (size == max_layers) return false;
        order[static_cast<std::size_t>(size++)] = order[static_cast<std::size_t>(index)];
        return true;
    }
    /// Appends layers, as append() does, and returns the stack.
    constexpr layer_stack& then(std::int32_t count, const layer& kind) {
        append(count, kind);
        return *this;
    }

    /// The distinct kinds.
    constexpr std::span<const layer> distinct() const { return {kinds.data(), static_cast<std::size_t>(kind_count)}; }
    /// The layer at an index.
    constexpr const layer& operator[](int index) const { return kinds[order[static_cast<std::size_t>(index)]]; }
    /// How many layers of each kind lie in [first, last).
    constexpr std::array<std::int32_t, max_kinds> counts(std::int32_t first, std::int32_t last) const {
        std::array<std::int32_t, max_kinds> found{};
        const auto kind_at = [&](std::int32_t i) { return order[static_cast<std::size_t>(i)]; };
        if (kind_count == 1) found[0] = last - first;
        for (std::int32_t i = first;
             kind_count > 1 && i < last;) {  // run by run: adding ones to one sum would serialise the additions
            const std::int32_t begin = i;
            while (i < last && kind_at(i) == kind_at(begin)) ++i;
            found[kind_at(begin)] += i - begin;
        }
        return found;
    }
    /// How many layers of each kind there are.
    constexpr std::array<std::int32_t, max_kinds> counts() const { return counts(0, size); }
    /// Whether n layers from `a` on are of the same kinds as n layers from `b` on.
    constexpr bool alike(std::int32_t a, std::int32_t b, std::int32_t n) const {
        for (std::int32_t i = 0; i < n && kind_count > 1; ++i)
            if (order[static_cast<std::size_t>(a) + static_cast<std::size_t>(i)] !=
                order[static_cast<std::size_t>(b) + static_cast<std::size_t>(i)])
                return false;
        return true;
    }
    /// The first n layers alone, as benchmarks cut models.
    constexpr layer_stack first(std::int32_t n) const {
        layer_stack cut;
        for (std::int32_t i = 0; i < n && i < size; ++i) cut.append(1, (*this)[i]);
        return cut;
    }
};

/// Layers in the order of letters, 'a' being the first of the kinds; the letters are repeated until there are `count`
/// layers (0: as many as letters). Letters that name no kind are left out.
constexpr layer_stack in_order(std::string_view letters, std::initializer_list<layer> kinds, std::int32_t count = 0) {
    layer_stack stack;
    if (letters.empty()) return stack;
    if (count == 0) count = static_cast<std::int32_t>(letters.size());
    std::array<std::int32_t, 26> layers{};  // by letter: how many layers there are with its first; 0: none has come
    for (std::int32_t i = 0; i < count; ++i) {
        const int letter = letters[static_cast<std::size_t>(i) % letters.size()] - 'a';
        if (letter < 0 || letter >= 26 || letter >= static_cast<int>(kinds.size())) continue;
        std::int32_t& first = layers[static_cast<std::size_t>(letter)];
        if (first > 0)
            stack.repeat(first - 1);
        else if (stack.append(1, kinds.begin()[letter]))
            first = stack.size;
    }
    return stack;
}

/// "attention+mlp", "sliding_attention+moe", "mamba2": the kind of a layer in one word.
constexpr text<47> kind_name(const layer& l) {
    text<47> name;
    const auto add = [&](std::string_view part) {
        if (!name.empty()) name.append("+");
        name.append(part);
    };
    if (l.attention.kind == attention_kind::latent)
        add("latent_attention");
    else if (l.attention.kind == attention_kind::compressed)
        add(l.attention.compressed.ratio > 0 ? "compressed_attention" : "sliding_attention");
    else if (l.attention.kind == attention_kind::grouped) {
        if (l.attention.cross == cross_attention::instead)
            add("cross_attention");
        else if (l.attention.window > token_count{})
            add(l.attention.chunked ? "chunked_attention" : "sliding_attention");
        else
            add("attention");
    }
    if (l.attention.kind != attention_kind::none && l.attention.cross == cross_attention::beside)
        add("cross_attention");
    constexpr std::array<std::string_view, 10> mixers{
        "",           "mamba", "mamba2",      "delta_net",    "lightning",
        "short_conv", "rwkv",  "convolution", "gated_linear", "recurrence"};
    if (l.recurrent.kind != recurrent_kind::none) add(mixers[static_cast<std::size_t>(l.recurrent.kind)]);
    if (l.feed_forward.kind != feed_forward_kind::none) add(l.feed_forward.routed() ? "moe" : "mlp");
    if (name.empty()) name.append("none");
    return name;
}

}  // namespace llmres::inline v0
