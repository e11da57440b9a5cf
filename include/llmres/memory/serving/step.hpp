// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The peak of one step of a serving runtime on one GPU: either a layer is at its fullest, or the logits over the
/// vocabulary are; the two do not overlap.
namespace llmres::inline v0::detail {

/// What an engine's CUDA graphs take of one GPU: of all its layers, on the stage that has most.
constexpr interval<byte_count> graphs_of(const job& j, const runtime& r, const layout& l) {
    if (r.process.layer_graphs.high <= byte_count{}) return r.process.cuda_graphs;
    const std::int64_t layers = most_layers(l, j.model.layers.size);
    return r.process.cuda_graphs + interval<byte_count>{r.process.layer_graphs.low * layers,
                                                        r.process.layer_graphs.expected * layers,
                                                        r.process.layer_graphs.high * layers};
}

/// What is alive at one moment of a step.
struct step_peak {
    interval<byte_count> activations{};
    interval<byte_count> logits{};
    byte_count in_holes{};  ///< of both, what no tensor takes where they are laid out in one buffer

    constexpr interval<byte_count> all() const { return activations + logits; }

    /// Sets the low bound of both together, neither's above what is expected of it.
    constexpr void set_low(byte_count low) {
        activations.low = low < activations.expected ? low : activations.expected;
        const byte_count rest = low - activations.low;
        logits.low = rest < logits.expected ? rest : logits.expected;
    }
    /// Widens the bounds to those of another moment that may be the fuller one. (It is not expected to be.)
    constexpr void reach(const interval<byte_count>& other) {
        const interval<byte_count> own = all();
        if (other.high > own.high) activations.high += other.high - own.high;
        if (other.low <= own.low) return;
        const byte_count more = other.low - own.low, room = activations.expected - activations.low;
        activations.low += more < room ? more : room;
        logits.low += more < room ? byte_count{} : more - room;
    }
};

// ---- detail ---------------------------------------------------------------------------------------------------------

constexpr interval<byte_count> scaled(byte_count size, const interval<double>& factors) {
    return {scaled_up(size, factors.low), scaled_up(size, factors.expected), scaled_up(size, factors.high)};
}

/// Whether prompts are cut into chunks: some engines do so from a length on.
constexpr bool chunks(const job& j, const runtime& r) { return context_of(j) > r.step.chunked_beyond; }

/// No layer has routed experts or a recurrence.
constexpr bool is_dense(const model& m) {
    for (const layer& kind : m.layers.distinct())
        if (kind.feed_forward.routed() || kind.recurrent.kind != recurrent_kind::none) return false;
    return true;
}

/// Whether a runtime scores a model in another way than others (vLLM: with its second model runner).
constexpr bool is_scored_plainly(const job& j, const runtime& r) {
    const serving_logits& l = r.step.logits;
    return l.dense_bytes.high > 0 && generates(j.model) &&
           is_plain(l.plainly_scored, j.model.architecture, is_dense(j.model), is_wide(weights_of(j)));
}

/// Tokens computed in one step on one rank, by all its sequences.
constexpr token_shape step_shape(const job& j, const runtime& r, const layout& l) {
    const std::int64_t ranks = l.all_data_ranks() * l.context_parallel;
    const std::int64_t prompt = prompt_of(j).in(tokens);
    const std::int64_t context = context_of(j).in(tokens);
    const std::int64_t sequences = sequences_per_rank(j, l);
    const token_shape whole{sequences, ceil_quotient(prompt, l.context_parallel), prompt};

    std::int64_t limit = step_tokens_of(j, r.step.max_batched_tokens).in(tokens);
    constexpr std::int64_t least_unchunked = 2048;  // vLLM's EngineArgs: max(max_model_len, 2048)
    if (!chunks(j, r) && j.max_batched_tokens == token_count{}) {
        if (limit < least_unchunked) limit = least_unchunked;
        if (limit < context) limit = context;
    }
    if (r.step.images == profiled_images::whole && j.max_batched_tokens == token_count{} &&
        j.model.encoders[0].image_tokens.in(tokens) > limit)
        limit = j.model.encoders[0].image_tokens.in(tokens);
    if (r.cache.pool == cache_pool::allotted && limit > 0 &&
        !r.step.profiles) {  // the graph is laid out for the largest batch the cells allow
        const std::int64_t cells = product(context, sequences_with_cells(j, r, sequences));
        // Of caches apart, tokens attend to their own alone.
        const bool apart = r.cache.slots == slot_cells::apart;
        return {1, limit < cells ? limit : cells, apart ? context : cells};
    }
    if (r.step.profiles && limit > 0) return {1, limit, context};
    // An engine that chunks mixes sequences in one run of tokens.
    const std::int64_t chunk = limit > 0 ? ceil_quotient(limit, ranks) : whole.all();
    return chunk < whole.all() ? token_shape{1, chunk, prompt} : whole;
}

/// Rows of logits that a step computes.
constexpr std::int64_t logit_rows(const job& j, const runtime& r, const layout& l, const token_shape& s) {
    if (!generates(j.model)) return 0;
    const std::int64_t sequences = sequences_per_rank(j, l);
    switch (r.step.logits.rows) {
        case scored_tokens::last: return sequences;
        case scored_tokens::profiled: {
            const std::int64_t admitted = j.options.max_num_seqs > 0 ? j.options.max_num_seqs : r.step.max_num_seqs;
            return admitted > sequences ? admitted : sequences;
        }
        case scored_tokens::chunk:
        case scored_tokens::prompt: return s.all();
    }
    return sequences;
}

/// What one step needs to know, once for all layers.
struct serving_step {
    const llmres::job& job;
    const llmres::runtime& runtime;
    const llmres::layout& layout;
    layer_split split;  ///< of `layout`
    token_shape shape{};
    attention_kernel kernel = attention_kernel::sdpa;
    std::int64_t rows = 0;  ///< of logits that are computed
    byte_count hidden{};    ///< the hidden states of all tokens

    constexpr serving_step(const llmres::job& j, const llmres::runtime& r, const llmres::layout& l)
        : job{j},
          runtime{r},
          layout{l},
          split{l},
          shape{step_shape(j, r, l)},
          kernel{serving_attention_of(j)},
          rows{logit_rows(j, r, l, shape)},
          hidden{size_of(format(), 1, product(shape.all(), j.model.hidden))} {}
    serving_step(const llmres::job&, const llmres::runtime&,
                 const llmres::layout&&) = delete;  // it refers to all three

    /// Where a job names a context alone and prompts pass whole, these may be short.
    constexpr bool prompts_unknown() const {
        return runtime.step.max_batched_tokens == token_count{} && job.max_batched_tokens == token_count{} &&
               job.prompt == token_count{} && job.output == token_count{};
    }
    constexpr const precision& format() const { return runtime.serving_kernels.fp32_activations ? fp32 : job.compute; }
    constexpr byte_count mask() const {
        if (!runtime.serving_kernels.attention_mask) return {};
        return bytes(
            product(product(shape.all(), shape.keys), std::int64_t{kernel == attention_kernel::flash ? 2 : 4}));
    }

    /// Then GPUs do not take turns, and what comes from the host is copied (llama_context: pipeline_parallel).
    constexpr bool parts_on_host() const {
        const host_part host = host_part_of(job);
        return host.expert_layers > 0 || host.head;
    }
    /// Whether prompts make keys and values of the whole latent cache again (ik_llama.cpp: from 128 tokens on).
    constexpr bool expands(const attention& a) const {
        return runtime.serving_kernels.latent.expanded > byte_count{} && a.kind == attention_kind::latent &&
               kernel == attention_kernel::flash && shape.all() >= 128;
    }
    /// What latent attention holds beyond its own queries and outputs where it reads the latent cache: queries in the
    /// latent's width and their copy joined with the rotary part (build_deepseek2; llama.cpp's pull request 12801).
    constexpr byte_count absorbed(const attention& a, const token_shape& s) const {
        const std::int64_t width = 2 * (a.kv_rank + a.rope_dim) - a.query_width() - a.value_width();
        return width > 0 ? size_of(format(), s.all(), ceil_quotient(a.heads, layout.tensor) * width) : byte_count{};
    }
    /// A matrix of the hidden width and another, in 16 bit.
    constexpr byte_count dequantised(std::int64_t features) const {
        return size_of(fp16, job.model.hidden, detail::ceil_quotient(features, layout.tensor));
    }
    /// The fuller half of a layer.
    constexpr byte_count layer_peak(const layer& kind, std::int64_t width, const token_shape& s) const {
        byte_count halves[2];
        const bool fused = !kind.attention.wider_than(runtime.serving_kernels.widest_fused_head);
        const attention_kernel by = fused ? kernel : attention_kernel::eager;
        for_each_live_activation(kind, width, s, by, format(), [&](const activation& a, layer_half half) {
            byte_count size = local_bytes(a, split);
            if (runtime.serving_kernels.written_in_place &&
                (a.role == activation_role::key || a.role == activation_role::value ||
                 a.role == activation_role::product))
                return;
            if (runtime.serving_kernels.output_over_query && a.role == activation_role::attention_output) return;
            if (a.role == activation_role::probabilities) size = div_up(size * runtime.serving_kernels.score_bytes, 4);
            halves[static_cast<int>(half)] += size;
        });
        if (runtime.serving_kernels.latent.absorbed && kind.attention.kind == attention_kind::latent)
            halves[0] += absorbed(kind.attention, s);
        if (dequantises(runtime.serving_kernels, s.all())) {
            halves[0] += dequantised(kind.attention.heads * kind.attention.query_width());
            halves[1] +=
                dequantised(kind.feed_forward.routed() ? kind.feed_forward.experts.width : kind.feed_forward.width);
        }
        return halves[0] < halves[1] ? halves[1] : halves[0];
    }
    constexpr byte_count layer_peak(const layer& kind) const { return layer_peak(kind, job.model.hidden, shape); }

    /// The width of the model's widest feed-forward.
    constexpr std::int64_t widest_feed_forward() const {
        std::int64_t width = 0;
        for (const layer& kind : job.model.layers.distinct())
            if (kind.feed_forward.width > width) width = kind.feed_forward.width;
        return width;
    }
    /// What the last residual may lie above when ggml computes logits: an inner tensor of a feed-forward (GLM-4, whose
    /// gate and up are one matrix: to 0.01 MiB).
    constexpr byte_count feed_forward_tensor() const { return size_of(fp32, shape.all(), widest_feed_forward()); }

    /// Images of the largest size that pass a vision tower in a profiling run.
    constexpr std::int64_t profiled_images_of(const encoder& e) const {
        if (runtime.step.images == profiled_images::none || e.image_tokens == token_count{}) return 0;
        const std::int64_t fit = shape.all() / e.image_tokens.in(tokens);
        return runtime.step.images == profiled_images::whole || fit < 1 ? 1 : fit;
    }
    /// Of a vision tower, where the engine runs one, and what the decoder will read of it.
    constexpr byte_count encoder_peak() const {
        byte_count most;
        for (const encoder& e : job.model.encoders) {
            if (e.layers == 0) continue;
            byte_count peak;
            if (job.options.encoder_tokens > token_count{}) {
                const std::int64_t n = job.options.encoder_tokens.in(tokens);
                peak = layer_peak(e.block, e.hidden, {1, n, n});
            } else if (const std::int64_t images = profiled_images_of(e); images > 0) {
                const std::int64_t n = e.image_patches.in(tokens);
                peak = layer_peak(e.block, e.hidden, {images, n, n});
            }
            if (const std::int64_t n = job.images.patches.in(tokens); job.images.count > 0 && n > 0) {
                const byte_count of_prompt = layer_peak(e.block, e.hidden, {job.images.count, n, n});
                if (of_prompt > peak) peak = of_prompt;
            }
            if (peak > most) most = peak;
        }
        return most;
    }
    /// Images beside the step: their pixels in 16 bit, and what the tower made of them and the decoder has yet to read.
    constexpr byte_count images_held() const {
        const encoder& e = job.model.encoders[0];
        if (runtime.step.images == profiled_images::none || e.layers == 0) return {};
        const std::int64_t images = profiled_images_of(e);
        const std::int64_t patches = job.options.encoder_tokens > token_count{} ? job.options.encoder_tokens.in(tokens)
                                                                                : images * e.image_patches.in(tokens);
        std::int64_t pixels = 0;
        for (const extra_weight& w : job.model.extra_weights())
            if (w.role == weight_role::conv && pixels == 0) pixels = w.columns;
        return bytes(2) * product(patches, pixels) +
               size_of(format(), e.image_tokens.in(tokens), images * job.model.hidden);
    }

    /// What the products of routed experts' two matrices were made in: a row for each choice of a token (fused_moe.py:
    /// TritonExperts.workspace_shapes).
    constexpr byte_count expert_scratch() const {
        if (!runtime.serving_kernels.keeps_expert_scratch || job.weights == mxfp4)
            return {};  // MXFP4 has kernels of its own
        byte_count most;
        for (const layer& kind : job.model.layers.distinct()) {
            const experts& e = kind.feed_forward.experts;
            const std::int64_t width = ceil_quotient(e.width, layout.tensor), hidden_width = job.model.hidden;
            const std::int64_t first = width > hidden_width ? width : hidden_width;
            const std::int64_t second = 2 * width > hidden_width ? 2 * width : hidden_width;
            const byte_count scratch =
                e.count > 0 ? size_of(format(), product(shape.all(), e.per_token), first + second) : byte_count{};
            if (scratch > most) most = scratch;
        }
        return most;
    }
    /// Rows beside the logits in which a kernel filters them.
    constexpr byte_count filter_buffer() const {
        if (runtime.step.logits.filter_rows == 0 || rows < 8) return {};
        std::int64_t programs = 1;
        while (programs < rows) programs *= 2;
        return bytes(4) *
               product(programs < runtime.step.logits.filter_rows ? programs : runtime.step.logits.filter_rows,
                       job.model.vocabulary);
    }
    /// Local memory that the driver adds for all threads that a GPU runs, where that kernel's registers do not hold
    /// what it works on. (2048 threads a multiprocessor; 1536 on GeForce cards.)
    constexpr interval<byte_count> filter_stacks() const {
        if (runtime.step.logits.filter_rows == 0 || rows < 8 || job.model.vocabulary % 4 == 0) return {};
        const std::int64_t threads = std::int64_t{runtime.step.logits.filter_rows} * 2048;
        const interval<byte_count>& each = runtime.step.logits.filter_stack;
        return {each.low * threads, each.expected * threads, each.high * threads};
    }
    /// While logits are computed: the hidden states that they are computed of, what filters them, and what stays of
    /// the layers.
    constexpr byte_count beside_logits() const {
        if (runtime.step.logits.hidden_vectors == 0) return {};
        return size_of(format(), runtime.step.logits.hidden_vectors * rows, job.model.hidden) + filter_buffer() +
               expert_scratch();
    }

    /// What is there beside layers and logits alike: images, and what the stage before sent, hidden states and
    /// residuals.
    constexpr byte_count held_throughout(std::int32_t stage) const {
        return runtime.step.profiles && stage > 0 ? images_held() + hidden * 2 : images_held();
    }
    /// The input of a layer's last product in 8 bits, which a kernel of its own makes beside it where weights and
    /// activations are int8 (vLLM's _custom_ops.py: scaled_int8_quant).
    constexpr byte_count quantised_input() const {
        if (!runtime.serving_kernels.copies_int8 || job.weights != int8_channel) return {};
        return bytes(product(shape.all(), ceil_quotient(widest_feed_forward(), layout.tensor)));
    }
    /// While layers are computed, the fullest of which takes so much.
    constexpr interval<byte_count> in_layers(byte_count fullest, byte_count throughout) const {
        byte_count most =
            fullest + throughout + hidden * runtime.serving_kernels.more_hidden + quantised_input() + mask();
        // Flash attention reads the mask in 16 bit: the first layer casts it beside input, norm and queries.
        if (const byte_count casting = hidden * 3 + mask() * 3;
            kernel == attention_kernel::flash && runtime.serving_kernels.attention_mask && casting > most)
            most = casting;
        return scaled(most, runtime.accuracy.activations);
    }
    /// While logits are computed.
    constexpr step_peak in_logits(byte_count throughout) const {
        step_peak computing{hidden + throughout + beside_logits(),
                            scaled(bytes(product(rows, job.model.vocabulary)), bytes_each_logit())};
        if (dequantises(runtime.serving_kernels, rows)) computing.activations += dequantised(job.model.vocabulary);
        if (runtime.serving_kernels.feed_forward_under_logits && kernel == attention_kernel::flash)
            computing.activations.high += feed_forward_tensor();
        return computing;
    }
    /// Copies of inputs and masks, kept for each turn where GPUs take turns.
    constexpr interval<byte_count> copied_inputs() const {
        const bool partly = parts_on_host();
        // Without turns, the first layer's input may come from the host, and is then there twice.
        if (partly || layout.pipeline == 1) return {{}, partly ? hidden : byte_count{}, hidden};
        return (hidden + mask()) * runtime.step.copies - (kernel == attention_kernel::flash ? byte_count{} : mask());
    }
    /// Scores that the last GPU hands back, as far as they take more than the layers did. Two copies were seen as often
    /// as none.
    constexpr interval<byte_count> returned_logits(byte_count layers) const {
        const byte_count returned = bytes(4) * product(rows, job.model.vocabulary);
        if (returned <= layers) return {};
        return {byte_count{}, returned - layers, returned * 2 - layers};
    }

    /// The step's fullest moment on a GPU whose fullest layer is `layers`, and which computes logits if it is the
    /// `last` stage.
    constexpr step_peak peak(byte_count layers, bool last, std::int32_t stage) const {
        const byte_count throughout = held_throughout(stage);
        step_peak full{.activations = in_layers(layers, throughout)};
        if (last) {
            // The fullest of two moments has the larger of their bounds.
            const step_peak computing = in_logits(throughout);
            const interval<byte_count> layers_alone = full.all(), logits_alone = computing.all();
            const bool logits_most = logits_alone.expected > layers_alone.expected;
            if (logits_most) full = computing;
            full.reach(logits_most ? layers_alone : logits_alone);
        }
        full.activations += {{}, runtime.process.product_workspace, runtime.process.product_workspace};
        if (runtime.step.logits.on_first_gpu && stage == 0 && !last)
            full.logits = returned_logits(full.activations.expected);
        if (runtime.step.copies > 1) full.activations += copied_inputs();
        return full;
    }
    /// What is alive for each logit of a step.
    constexpr interval<double> bytes_each_logit() const {
        const bool in_chunks = runtime.step.chunked_beyond > token_count{} && chunks(job, runtime);
        return bytes_of_logit(runtime.step.logits, rows, in_chunks, is_scored_plainly(job, runtime));
    }
    /// Of one new token a sequence.
    constexpr interval<byte_count> logits_of_sequences() const {
        const std::int64_t sequences = generates(job.model) ? sequences_per_rank(job, layout) : 0;
        return scaled(bytes(product(sequences, job.model.vocabulary)), runtime.step.logits.bytes);
    }
    /// What an allocator that never gives back holds of the moments that were not the fullest.
    constexpr byte_count beside_peak(byte_count layers, bool last) const {
        if (!runtime.allocator.caches_freed_blocks || !last) return {};
        const byte_count scores = bytes(product(rows, job.model.vocabulary));
        const byte_count logits = scaled_up(scores, runtime.step.logits.bytes.expected);
        return layers < logits ? layers : logits;
    }
};

}  // namespace llmres::inline v0::detail
