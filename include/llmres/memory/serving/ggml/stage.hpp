// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/ggml/graph.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/families.hpp>
#include <llmres/models/gguf/rules.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The graph of one pipeline stage's step, laid out tensor by tensor as ggml does: llama.cpp and ik_llama.cpp with
/// experts on the host, and where an engine's peak is no sum of a layer's tensors.
namespace llmres::inline v0::detail {

/// A layer that is laid out.
struct laid_layer {
    std::uint8_t kind = 0;
    bool on_host = false;  ///< its experts
    bool last = false;
    bool last_of_mask = false;

    friend constexpr bool operator==(const laid_layer&, const laid_layer&) = default;
};

/// The layers of a stage that are laid out: two of a kind with experts here and on the host, the last, and the last of
/// each mask.
struct laid_layers {
    static constexpr std::size_t most = 4 * layer_stack::max_kinds + 3;
    std::array<laid_layer, most> layers{};  ///< the first `count` are in use
    std::size_t count = 0;

    constexpr const laid_layer* begin() const { return layers.data(); }
    constexpr const laid_layer* end() const { return layers.data() + count; }
    friend constexpr bool operator==(const laid_layers& a, const laid_layers& b) {
        if (a.count != b.count) return false;
        for (std::size_t i = 0; i < a.count; ++i)
            if (a.layers[i] != b.layers[i]) return false;
        return true;
    }
    /// Whether both have the same layers, but for the last of each.
    constexpr bool same_but_last(const laid_layers& other) const {
        if (count != other.count) return false;
        for (std::size_t i = 0; i + 1 < count; ++i)
            if (layers[i] != other.layers[i]) return false;
        return true;
    }
};

/// What the graph of a stage follows from, beside what all stages of a layout have in common.
struct stage_graph_key {
    laid_layers layers{};
    expert_stacks stacks{};  ///< the largest of the stage, where its first layer's experts are on the host
    bool first = false;      ///< it is the first stage, where that makes a difference
    bool end = false;
    bool computes_logits = false;

    friend constexpr bool operator==(const stage_graph_key&, const stage_graph_key&) = default;
};

/// The layer that was written last: most of a layout's are of its kind.
struct written_layer {
    layer_steps steps;
    expert_stacks stacks{};
    byte_count end{};  ///< of the buffer before the layer that was laid out last
    std::uint8_t kind = 0;
    expert_place place = expert_place::here;

    constexpr bool is(std::uint8_t of_kind, expert_place in_place, const expert_stacks& copying) const {
        return steps.whole && kind == of_kind && place == in_place && stacks == copying;
    }
};

/// The graph of the stage before, as most stages of a layout have the same, and what is known of layers.
struct remembered_graph {
    bool known = false;
    stage_graph_key key{};
    step_peak peak{};
    written_layer written{};
    std::array<byte_count, layer_stack::max_kinds> added{};  ///< by the tensors of a layer of a kind; 0: not known yet
    byte_count most{};                                       ///< that any stage before has allocated
};

struct stage_graph {
    const llmres::job& job;
    const llmres::layout& layout;
    const llmres::runtime& runtime;
    const serving_step& step;
    const serving_weights& weights;
    stage_range range{};
    std::int32_t index = 0;
    bool end = false;              ///< the last stage
    bool computes_logits = false;  ///< the last stage, with the head on a GPU
    host_part host = host_part_of(job);

    /// Graphs of attention, Mamba 2 and gated feed-forwards, routed or not.
    constexpr bool possible() const {
        for (const layer& kind : job.model.layers.distinct())
            if (!described(kind)) return false;
        return range.last > range.first;
    }

    /// What a graph follows from, where stages of one layout differ.
    constexpr stage_graph_key key() const {
        const bool copies_experts = on_host(range.first);
        return {.layers = layers_to_lay_out(),
                .stacks = copies_experts ? weights.largest_experts(range) : expert_stacks{},
                .first = index == 0 && (copies_experts || casts_masks()),
                .end = end,
                .computes_logits = computes_logits};
    }

    /// Where experts are on the host, which of them and when their rows are handed over moves tensors between holes:
    /// one of the hidden width less, or stacks more where whole layers are there. Files repacked for the CPU (-rtr)
    /// stay whatever the rule.
    /// `written`: a layer of any stage of the layout.
    constexpr step_peak peak(const stage_graph_key& k, written_layer& written) const {
        const step_peak without = with_hole_under_logits(with_given_input(laid_out(k.layers, {}, written)));
        const expert_stacks& stacks = k.stacks;
        if (stacks.gate == byte_count{}) return without;
        const step_peak with = copies() ? laid_out(k.layers, stacks, written) : without;
        step_peak either = runtime.loading.host_experts.copied ? with : without;
        const step_peak& less = runtime.loading.host_experts.fused_gates ? without : with;
        either.set_low(beyond(less.activations.low, step.hidden) + less.logits.low);
        const byte_count high = with.activations.high +
                                (runtime.loading.host_experts.fused_gates ? stacks.gate + stacks.down : step.hidden);
        if (high > either.activations.high) either.activations.high = high;
        return either;
    }
    constexpr step_peak peak(const stage_graph_key& k) const {
        written_layer none;
        return peak(k, none);
    }
    /// No less than what is expected of its peak, without laying it out: as if no tensor were ever freed, or none of
    /// the last layer, where all before it are those of the graph before. Precondition: all experts are on GPUs.
    constexpr byte_count at_most(const stage_graph_key& k, remembered_graph& before) const {
        ggml_graph graph{shape(), options()};
        const bool differs_in_last =
            before.known && before.key.first == k.first && before.key.layers.same_but_last(k.layers);
        if (!differs_in_last) graph.begin();
        byte_count all = differs_in_last ? before.written.end : graph.buffer.peak();
        for (const laid_layer* one = differs_in_last ? k.layers.end() - 1 : k.layers.begin(); one != k.layers.end();
             ++one)
            all += added_by(graph, *one, before);
        if (computes_logits)  // normed rows, and their logits
            all +=
                graph.rows_of(job.model.hidden) + graph.rows_of(job.model.vocabulary) + ggml_buffer::most_padding * 2;
        const double factor = runtime.accuracy.activations.expected;
        all = scaled_up(all, factor > 1.0 ? factor : 1.0) + step.hidden;  // with_given_input()
        const byte_count peak_before = before.peak.all().expected;
        return differs_in_last && peak_before > all ? peak_before : all;
    }

private:
    constexpr const layer& kind(std::int32_t k) const { return job.model.layers.kinds[static_cast<std::size_t>(k)]; }

    /// Whether stacks of experts are copied to the GPU for a step: from 32 tokens on, or from 32 an expert.
    constexpr bool copied(const experts& e) const {
        return step.shape.all() * (runtime.loading.host_experts.copied_by_expert ? e.per_token : e.count) >=
               32 * e.count;
    }
    constexpr bool copies() const {
        for (const layer& kind : job.model.layers.distinct())
            if (kind.feed_forward.routed() && copied(kind.feed_forward.experts)) return true;
        return false;
    }
    constexpr bool on_host(std::int32_t layer) const { return layer < host.expert_layers; }
    /// Whether the first GPU casts masks that others get in 16 bits.
    constexpr bool casts_masks() const {
        return step.kernel == attention_kernel::flash && !runtime.serving_kernels.graph.narrow_masks;
    }

    constexpr bool described(const layer& l) const {
        const attention& a = l.attention;
        const bool mixes = a.kind == attention_kind::grouped  ? a.gate == output_gate::none
                           : a.kind == attention_kind::latent ? step.expands(a) || absorbs(a)
                                                              : l.recurrent.kind == recurrent_kind::mamba ||
                                                                    l.recurrent.kind == recurrent_kind::mamba2;
        if (l.recurrent.kind != recurrent_kind::none && a.kind != attention_kind::none) return false;
        return mixes && a.cross == cross_attention::none && a.indexer == indexer{} &&
               l.feed_forward.kind != feed_forward_kind::plain;
    }
    constexpr bool absorbs(const attention& a) const {
        return runtime.serving_kernels.latent.absorbed && !step.expands(a);
    }

    /// Without turns, the first layer's input may come from the host, and is then there twice.
    constexpr step_peak with_given_input(step_peak peak) const {
        if (runtime.loading.host_experts.fused_gates || layout.pipeline > 1 || !runtime.loading.embedding_on_host)
            return peak;
        peak.activations += {{}, host.head ? step.hidden : byte_count{}, step.hidden};
        return peak;
    }

    /// While logits of all tokens are computed, the last residual may lie above a hole that they do not fit: an inner
    /// tensor of a feed-forward (GLM-4, to 0.01 MiB), or the mask before its cast (Mixtral in b6900, to 0.03 MiB).
    constexpr step_peak with_hole_under_logits(step_peak peak) const {
        if (!computes_logits || !runtime.serving_kernels.feed_forward_under_logits ||
            step.kernel != attention_kernel::flash || runtime.step.logits.rows != scored_tokens::chunk)
            return peak;
        const byte_count tensor = step.feed_forward_tensor();
        const byte_count mask = runtime.serving_kernels.graph.narrow_masks ? byte_count{} : step.mask() * 2;
        const byte_count high =
            size_of(fp32, step.shape.all(), job.model.vocabulary) + step.hidden + (tensor < mask ? mask : tensor);
        const byte_count said = peak.all().high;
        if (high > said) peak.activations.high += high - said;
        return peak;
    }

    constexpr graph_shape shape() const {
        graph_shape s{.tokens = step.shape.all(),
                      .scored = step.rows,
                      .sequences = runtime.serving_kernels.graph.all_states
                                       ? slots_of(job, runtime, sequences_per_rank(job, layout))
                                       : 1,
                      .hidden = job.model.hidden};
        if (s.scored > s.tokens) s.scored = s.tokens;
        for (const layer& kind : job.model.layers.distinct()) {
            const attention& a = kind.attention;
            if (a.kind == attention_kind::none) continue;
            const token_count block = cache_block(runtime) > token_count{} ? cache_block(runtime) : tokens(256);
            if (a.window > token_count{}) {
                const std::int64_t sequences = sequences_per_rank(job, layout);
                const std::int64_t caches =
                    runtime.cache.slots == slot_cells::apart ? slots_of(job, runtime, sequences) : 1;
                s.window_cells =
                    aligned_up(div_up(allotted_tokens(a, job, runtime, layout, sequences), caches), block).in(tokens);
            } else
                s.cells = aligned_up(tokens(step.shape.keys), block).in(tokens);
            const std::int64_t values = a.kind == attention_kind::latent
                                            ? (runtime.cache.latent_values ? a.kv_rank : 0)
                                            : ceil_quotient(a.kv_heads, std::int64_t{layout.tensor}) * a.value_width();
            if (values > s.value_rows) s.value_rows = values;
        }
        return s;
    }
    /// The last layer of the GPU that reads the mask without a window, and the last that reads the one with a window.
    constexpr std::array<std::int32_t, 2> last_readers() const {
        constexpr std::int32_t unseen = -1, none = -2;
        std::int32_t last[3]{none, none, none};          // the third: of layers that read no mask
        std::uint8_t mask_of[layer_stack::max_kinds]{};  // by kind
        std::size_t k = 0;
        for (const layer& kind : job.model.layers.distinct()) {
            const attention& a = kind.attention;
            const std::uint8_t mask = a.kind == attention_kind::none ? 2 : a.window > token_count{} ? 1 : 0;
            mask_of[k++] = mask;
            if (mask < 2) last[mask] = unseen;
        }
        const std::uint8_t* const kinds = job.model.layers.order.data();  // an index of an array is three calls
        for (std::int32_t i = range.last; i-- > range.first && (last[0] == unseen || last[1] == unseen);)
            if (std::int32_t& reader = last[mask_of[kinds[i]]]; reader == unseen) reader = i;
        return {last[0], last[1]};
    }
    /// Two layers of a kind before the last are as many as it takes until the layout repeats itself.
    constexpr laid_layers layers_to_lay_out() const {
        laid_layers laid;
        const std::array<std::int32_t, 2> readers = last_readers();
        const std::int32_t reader = readers[0], window_reader = readers[1], on_host = host.expert_layers;
        const std::uint8_t* const kinds = job.model.layers.order.data();  // an index of an array is three calls
        std::int32_t seen[2 * layer_stack::max_kinds]{};
        for (std::int32_t i = range.first; i < range.last; ++i) {
            const std::uint8_t own = kinds[i];
            const bool held = i < on_host, last = i + 1 == range.last, last_of_mask = i == reader || i == window_reader;
            if (++seen[held ? layer_stack::max_kinds + own : own] <= 2 || last || last_of_mask)
                laid.layers[laid.count++] = {own, held, last, end && last_of_mask};
        }
        return laid;
    }

    constexpr expert_place place_of(const laid_layer& l, const expert_stacks& stacks) const {
        if (!l.on_host) return expert_place::here;
        if (stacks.gate == byte_count{} || !copied(kind(l.kind).feed_forward.experts)) return expert_place::host;
        return index == 0 ? expert_place::copied : expert_place::first_gpu;
    }

    /// Where stacks of experts are copied or, with none, stay where they are.
    constexpr step_peak laid_out(const laid_layers& laid, const expert_stacks& stacks, written_layer& written) const {
        ggml_graph graph{shape(), options()};
        graph.begin();
        for (const laid_layer& one : laid) {
            const expert_place place = place_of(one, stacks);
            if (!written.is(one.kind, place, stacks)) write(graph, one, place, stacks, written);
            written.end = graph.buffer.size();
            graph.lay_out(written.steps, conditions_of(one.last, one.last_of_mask, one.last && end));
        }
        return peak_of(graph);
    }

    constexpr graph_options options() const {
        return {
            .flash = step.kernel == attention_kernel::flash,
            .fused = runtime.loading.host_experts.fused_gates,
            .writes = runtime.serving_kernels.graph,
            .inputs_here = runtime.loading.embedding_on_host ? 0 : runtime.serving_kernels.graph.inputs_of_embedding,
            .joined_heads = family_of(job.model).gguf.joined_heads,
            .joined_gate = family_of(job.model).gguf.joined_gate,
            .part_limit = step.kernel == attention_kernel::flash ? runtime.serving_kernels.latent.expanded
                                                                 : runtime.serving_kernels.latent.scores,
            .copies_values = runtime.serving_kernels.latent.copies_values,
            .all_parts = runtime.serving_kernels.latent.expands_all,
            .unpacked = is_packed(kv_cache_of(job)),
            .first = index == 0,
            .input_copies = layout.pipeline > 1 && !step.parts_on_host() ? runtime.step.copies : 1};
    }
    constexpr void write(ggml_graph& graph, const laid_layer& one, expert_place place, const expert_stacks& stacks,
                         written_layer& written) const {
        layer local = kind(one.kind);
        local.attention.heads = ceil_quotient(local.attention.heads, layout.tensor);
        local.attention.kv_heads = ceil_quotient(local.attention.kv_heads, layout.tensor);
        const bool copied_here = place == expert_place::copied;
        graph.write_layer({.kind = local,
                           .expands = step.expands(local.attention),
                           .last = one.last,
                           .last_of_mask = one.last_of_mask,
                           .computes_logits = one.last && end,
                           .place = place,
                           .gate_stack = copied_here ? stacks.gate : byte_count{},
                           .down_stack = copied_here ? stacks.down : byte_count{}},
                          written.steps);
        written.stacks = stacks;
        written.kind = one.kind;
        written.place = place;
    }
    constexpr byte_count added_by(ggml_graph& graph, const laid_layer& one, remembered_graph& before) const {
        byte_count& added = before.added[one.kind];
        if (added == byte_count{}) {
            if (!before.written.is(one.kind, expert_place::here, {}))
                write(graph, one, expert_place::here, {}, before.written);
            added = before.written.steps.added;
        }
        return added;
    }
    constexpr step_peak peak_of(ggml_graph& graph) const {
        const byte_count layers = graph.buffer.peak();
        if (computes_logits) graph.add_logits(job.model.vocabulary);
        return {scaled(layers, runtime.accuracy.activations), graph.buffer.peak() - layers, graph.buffer.in_holes()};
    }
};

}  // namespace llmres::inline v0::detail
