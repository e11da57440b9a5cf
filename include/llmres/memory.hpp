// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/interval.hpp>
#include <llmres/job.hpp>
#include <llmres/kv_cache.hpp>
#include <llmres/layout.hpp>
#include <llmres/optimizer.hpp>
#include <llmres/parameters.hpp>
#include <llmres/runtime.hpp>
#include <llmres/weight_formats.hpp>
#include <string_view>

/// Where the memory of one GPU of one layout goes.
namespace llmres {

enum class memory_term : std::uint8_t {
    weights,
    adapter,
    gradients,
    optimizer,
    activations,
    kv_cache,
    recurrent_state,
    logits,
    communication,
    workspace,
    runtime,
    fragmentation,
};
inline constexpr std::array<std::string_view, 12> memory_term_names{
    "weights",   "adapter",         "gradients", "optimizer",     "activations", "kv_cache",
    "recurrent_state", "logits", "communication", "workspace", "runtime",     "fragmentation"};
constexpr std::string_view name_of(memory_term term) { return memory_term_names[static_cast<std::size_t>(term)]; }

/// When in a step the memory is fullest.
enum class phase : std::uint8_t {
    prefill,    ///< serving: a chunk of prompt tokens passes while the cache is full
    loss,       ///< training: all saved activations and the logits are there
    backward,   ///< gradients are complete, one layer's activations are computed again
    optimizer,  ///< gradients and optimizer states, no activations
};
constexpr std::string_view name_of(phase p) {
    constexpr std::array<std::string_view, 4> names{"prefill", "loss", "backward", "optimizer"};
    return names[static_cast<std::size_t>(p)];
}

/// The memory of one GPU at its fullest moment.
struct memory_breakdown {
    std::array<interval<byte_count>, memory_term_names.size()> terms{};
    byte_count ideal{};               ///< tensors alone
    interval<byte_count> allocated{};  ///< as the engine's allocator hands them out
    interval<byte_count> reserved{};   ///< what that allocator or pool holds
    std::int32_t stage = 0;           ///< pipeline stage of the GPU
    llmres::phase phase = phase::prefill;

    constexpr interval<byte_count>& operator[](memory_term t) { return terms[static_cast<std::size_t>(t)]; }
    constexpr const interval<byte_count>& operator[](memory_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// What the device loses, context and libraries included.
    constexpr interval<byte_count> total() const {
        interval<byte_count> sum;
        for (const auto& term : terms) sum += term;
        return sum;
    }
    constexpr memory_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<memory_term>(best);
    }
};

/// Memory of a GPU of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown memory_of(const job& j, const layout& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// What tensors of one place in the model take on one GPU.
struct weight_state {
    byte_count weights{};
    byte_count gathered{};  ///< what ZeRO 3 gathers to compute with it
    byte_count gradients{};
    byte_count optimizer{};

    constexpr weight_state& add(const weight_state& o, std::int64_t times) {
        weights += o.weights * times;
        gradients += o.gradients * times;
        optimizer += o.optimizer * times;
        return *this;
    }
};

/// Sums weights, gradients and optimizer states over the weights it is called with. Made once a plan: it holds the
/// job's formats, resolved.
struct weight_fold {
    const job& of;
    const layout& over;
    weight_formats formats;
    precision gradients;
    maybe<precision> master;
    weight_state sum{};

    constexpr weight_fold(const job& j, const layout& l)
        : of{j}, over{l}, formats{formats_for(weights_of(j), j.compute)}, gradients{gradients_of(j)}, master{master_weights_of(j)} {}

    constexpr void operator()(const weight& whole) {
        const weight w = local_part(whole, over);
        const byte_count size = size_of(w, formats);
        if (!trains(of)) {
            sum.weights += size;
            return;
        }
        const std::int64_t ranks = w.routed ? over.expert_data_ranks() : over.dense_data_ranks();
        const auto sharded = [&](byte_count bytes, bool shard) { return shard ? div_up(bytes, ranks) : bytes; };
        sum.weights += sharded(size, over.zero >= 3);
        sum.gathered += size;
        sum.gradients += sharded(size_of(gradients, w.rows, w.columns) * w.copies, over.zero >= 2);
        const byte_count states = state_bytes(of.optimizer, of.optimizer_states, w.rows, w.columns) +
                                  (master ? size_of(*master, w.rows, w.columns) : byte_count{});
        sum.optimizer += sharded(states * w.copies, over.zero >= 1);
    }
};

/// Everything of one layer kind on one GPU, folded once and then counted per stage.
struct layer_share {
    weight_state state{};
    byte_count saved{};  ///< activations of one micro-batch kept until the backward pass
    byte_count live{};   ///< activations alive while the layer computes: all of its tensors (training), or the fuller half
    byte_count cache{};  ///< KV cache of all sequences
};

constexpr byte_count saved_bytes(const layer& kind, const job& j, const layout& l, const token_shape& s, attention_kernel kernel) {
    byte_count sum;
    for_each_saved_activation(kind, j.model.hidden, s, kernel, j.compute, [&](const activation& a) { sum += local_bytes(a, l); });
    return sum;
}

/// The layer's input alone: what full recomputation keeps.
constexpr byte_count checkpoint_bytes(const job& j, const layout& l, const token_shape& s) {
    return local_bytes({activation_role::residual, s.all() * j.model.hidden, j.compute, activation_split::sequence}, l);
}

constexpr layer_share training_share(const layer& kind, const job& j, const layout& l, const token_shape& s) {
    layer_share share;
    share.live = saved_bytes(kind, j, l, s, j.attention);
    switch (j.recompute) {
        case recompute::none: share.saved = share.live; break;
        case recompute::selective: share.saved = saved_bytes(kind, j, l, s, attention_kernel::flash); break;
        case recompute::full: share.saved = checkpoint_bytes(j, l, s); break;
    }
    return share;
}

constexpr layer_share serving_share(const layer& kind, const job& j, const layout& l, std::int64_t sequences, const token_shape& s) {
    layer_share share;
    byte_count halves[2];
    for_each_live_activation(kind, j.model.hidden, s, j.attention, j.compute, [&](const activation& a, layer_half half) {
        halves[static_cast<int>(half)] += local_bytes(a, l);
    });
    share.live = halves[0] < halves[1] ? halves[1] : halves[0];
    const token_count context = context_of(j);
    const token_count kept = tokens(ceil_quotient(kept_tokens(kind.attention, context).in(tokens), l.context_parallel));
    const token_count whole_blocks = j.runtime.kv_block > token_count{} ? aligned_up(kept, j.runtime.kv_block) : kept;
    share.cache = kv_bytes_per_token(kind.attention, kv_cache_of(j), l.tensor) * whole_blocks * sequences;
    return share;
}

/// Micro-batches whose activations a stage holds at once: 1F1B holds one for each stage still ahead (arXiv 2104.04473
/// section 2.2.1); interleaving `virtual_pipeline` chunks adds (p-1)/(p v) of them (arXiv 2205.05198 equation 5).
constexpr double in_flight(const layout& l, std::int32_t stage, std::int64_t micro_batches) {
    const auto ahead = static_cast<double>(l.pipeline - stage);
    const double held = l.virtual_pipeline == 1 ? ahead
                                                : ahead + static_cast<double>(l.pipeline - 1) / l.virtual_pipeline;
    return held < static_cast<double>(micro_batches) ? held : static_cast<double>(micro_batches);
}

struct tensor_bytes {
    weight_state state{};
    byte_count activations{};
    byte_count cache{};
    byte_count logits{};
    byte_count communication{};
    std::int32_t stage = 0;
    llmres::phase phase = phase::prefill;

    constexpr byte_count all() const {
        return state.weights + state.gradients + state.optimizer + activations + cache + logits + communication;
    }
};

/// What the runtime adds is the same on every GPU or grows with its tensors: the GPU with most of these is the busiest.
constexpr memory_breakdown with_runtime(const tensor_bytes& t, const job& j, const layout& l) {
    memory_breakdown m;
    m.stage = t.stage;
    m.phase = t.phase;
    m[memory_term::weights] = t.state.weights;
    m[memory_term::gradients] = t.state.gradients;
    m[memory_term::optimizer] = t.state.optimizer;
    m[memory_term::activations] = t.activations;
    m[memory_term::kv_cache] = t.cache;
    m[memory_term::logits] = t.logits;
    m[memory_term::communication] = t.communication;
    m.ideal = m.total().expected;
    m.allocated = m.ideal;

    const runtime& r = j.runtime;
    const interval<byte_count> slack{scaled_up(m.ideal, r.fragmentation.low), scaled_up(m.ideal, r.fragmentation.expected),
                                     scaled_up(m.ideal, r.fragmentation.high)};
    m[memory_term::fragmentation] = slack;
    m.reserved = m.allocated + slack;
    m[memory_term::runtime] = r.context + r.cuda_graphs;
    m[memory_term::workspace] = r.workspace;
    const int groups = (l.tensor > 1) + (l.pipeline > 1) + (l.dense_data_ranks() > 1) + (l.expert > 1);
    for (int i = 0; i < groups; ++i) m[memory_term::communication] += r.communicator;
    return m;
}

/// Weights before the first layer and after the last, on the stages that hold them. A tied head on another stage than
/// the embedding is a copy of it.
constexpr weight_state end_state(const model& m, weight_fold& fold, bool first, bool last) {
    fold.sum = {};
    if (first || (last && m.tied_head)) for_each_input_weight(m, fold);
    if (last) for_each_output_weight(m, fold);
    return fold.sum;
}

}  // namespace detail

/// Sequences of a serving job that one data rank holds.
constexpr std::int64_t sequences_per_rank(const job& j, const layout& l) {
    return detail::ceil_quotient(j.batch, std::int64_t{l.data} * l.replicas);
}
/// Micro-batches a data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, at_once) : 1;
}

constexpr memory_breakdown memory_of(const job& j, const layout& l) {
    const model& m = j.model;
    const bool training = trains(j);
    const std::int64_t sequences = training ? j.micro_batch : sequences_per_rank(j, l);
    const token_count per_sequence = training ? sequence_of(j) : prompt_of(j);
    const std::int64_t length = detail::ceil_quotient(per_sequence.in(tokens), l.context_parallel);
    const token_shape whole{sequences, length, per_sequence.in(tokens)};
    // A serving engine passes its prompts in chunks; the widest chunk is one run of tokens.
    const std::int64_t chunk = training ? 0 : detail::ceil_quotient(batched_tokens_of(j).in(tokens), std::int64_t{l.data} * l.context_parallel * l.replicas);
    const token_shape chunked = chunk < whole.all() ? token_shape{1, chunk, context_of(j).in(tokens)} : whole;

    detail::weight_fold fold{j, l};
    std::array<detail::layer_share, layer_stack::max_kinds> shares{};
    byte_count widest_gather;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        shares[k] = training ? detail::training_share(m.layers.kinds[k], j, l, whole)
                             : detail::serving_share(m.layers.kinds[k], j, l, sequences, chunked);
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        shares[k].state = fold.sum;
        if (fold.sum.gathered > widest_gather) widest_gather = fold.sum.gathered;
    }

    detail::tensor_bytes fullest;
    const auto consider = [&](const detail::tensor_bytes& moment) {
        if (moment.all() > fullest.all()) fullest = moment;
    };
    const std::int64_t rounds = training ? micro_batches(j, l) : 1;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const bool last = stage == l.pipeline - 1;
        const stage_range range = stage_layers(m.layers.size, l.pipeline, stage);
        const auto counts = m.layers.counts(range.first, range.last);

        detail::tensor_bytes t{.state = detail::end_state(m, fold, stage == 0, last), .stage = stage};
        byte_count saved;
        byte_count live;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            t.state.add(shares[k].state, counts[k]);
            t.cache += shares[k].cache * counts[k];
            saved += shares[k].saved * counts[k];
            if (shares[k].live > live) live = shares[k].live;
        }

        if (!training) {
            t.activations = live;
            if (last)
                for_each_sampled_activation(m, sequences, j.compute, [&](const activation& a) { t.logits += local_bytes(a, l); });
            consider(t);
            continue;
        }

        // ZeRO 3 computes one layer while it fetches the next.
        if (l.zero >= 3) t.communication = widest_gather * 2;
        t.phase = phase::optimizer;
        consider(t);

        saved = scaled_up(saved, detail::in_flight(l, stage, rounds));
        t.phase = phase::backward;
        t.activations = j.recompute == recompute::none ? live : saved + live;
        consider(t);

        t.phase = phase::loss;
        t.activations = saved;
        if (rounds == 1) t.state.gradients = {};  // none accumulated yet
        if (last)
            for_each_loss_activation(m, whole.all(), j.compute, [&](const activation& a) { t.logits += local_bytes(a, l); });
        consider(t);
    }
    return detail::with_runtime(fullest, j, l);
}

}  // namespace llmres
