// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/phases/disaggregated.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/events/trained_weights.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>
#include <utility>

/// The tensors of a plan one by one, so that someone can really allocate them and see whether they fit.
namespace llmres::inline v0 {

/// `count` tensors of one size.
struct buffer {
    text<47> name{};                          ///< "embed_tokens", "layers.3.q_proj", "layers.3.k"
    memory_term term = memory_term::weights;  ///< the term that it belongs to
    byte_count size{};                        ///< of one
    std::int64_t count = 1;                   ///< how many of that size
};

/// Calls visit(buffer) for the tensors of the plan's busiest GPU at its fullest point, in the order in which they are
/// allocated. Of every term but `runtime` and `fragmentation`, which are no tensors, the products add up to what the
/// plan expects. Weights, adapters, gradients, optimizer states, caches and recurrent states are tensors of the model,
/// as the plan's own sums have them: padded, in the engine's blocks, or the rank's shard. Activations, logits,
/// communication and workspace are one buffer each. Allocates nothing. Preconditions: validate() holds for the job;
/// `p` is its plan on the cluster.
template <class Visit>
constexpr void for_each_buffer(const job& j, const cluster& c, const job_plan& p, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Names buffers, those of a layer with its index in the model.
template <class Visit>
struct buffer_writer {
    Visit& visit;
    memory_term term = memory_term::weights;
    std::int32_t layer = -1;  ///< none: -1

    constexpr void add(std::string_view what, byte_count size, std::int64_t count = 1) {
        if (size <= byte_count{} || count <= 0) return;
        buffer made{.term = term, .size = size, .count = count};
        if (layer >= 0) {
            made.name.append("layers.");
            made.name.append(digits(layer));
            made.name.append(".");
        }
        made.name.append(what);
        visit(made);
    }
    /// Calls each(index) for the layers of a range; what it adds is named after its layer.
    template <class Each>
    constexpr void in_each_layer(stage_range range, Each&& each) {
        for (layer = range.first; layer < range.last; ++layer) each(layer);
        layer = -1;
    }
    /// Of `copies` tensors that are equal: each, or all of them where a shard of all is what there is.
    constexpr void add_copies(std::string_view what, byte_count all, std::int64_t copies) {
        const byte_count each = div_down(all, copies);
        if (each * copies == all)
            add(what, each, copies);
        else
            add(what, all);
    }
};

// ---- serving --------------------------------------------------------------------------------------------------------

/// Weights outside the layers, then layer by layer, then what the engine has beside them.
template <class Writer>
constexpr void write_serving_weights(const serving_stages& stages, const placement& here, bool joined, Writer& to) {
    const serving_weights& weights = stages.weights;
    weights.for_each_end_tensor(weights.with_own_ends(here), [&](std::string_view name, byte_count size,
                                                                 std::int64_t copies) { to.add(name, size, copies); });
    const bool joins = stages.runtime.loading.projections == projection_tensors::joined;
    to.in_each_layer(here.layers, [&](std::int32_t index) {
        const layer& kind = stages.job.model.layers[index];
        const bool experts = index >= here.expert_layers.first;
        const auto tensor = [&](std::string_view name, byte_count size, std::int64_t copies, bool routed) {
            if (experts || !routed) to.add(name, size, copies);
        };
        weights.for_each_tensor(kind, tensor);
        if (weights.file)
            weights.file->for_each_tensor(stages.job, index, [&](std::string_view name, byte_count size, bool routed) {
                tensor(name, size, 1, routed);
            });
        if (joined || !joins) to.add(joins ? "joined_projections" : "expert_kernels", stages.beside_weights(kind));
    });
    to.add("rope", weights.rope_table());
    to.add("draft_model", stages.draft_weights(here));
}

/// Keys and values of each layer, or the latent vector that stands for both, then the caches of what predicts further
/// tokens. Where a part of the cache is there, each layer has what the whole grows by with it.
template <class Writer>
constexpr void write_cache(const serving_stages& stages, const placement& here, const cache_part& part, Writer& to) {
    byte_count before;
    const auto grown_by = [&](byte_count allocated) {
        const cache_part one{.part = part.part};
        const byte_count size = one.at(before + allocated) - one.at(before);
        before += allocated;
        return size;
    };
    const auto add = [&](const attention& a) {
        const byte_count size = grown_by(stages.caches.of_layer(a).allocated);
        if (a.kind == attention_kind::grouped && a.value_width() == a.head_dim && a.indexer.heads == 0) {
            to.add("k", div_up(size, 2), part.copies);
            to.add("v", size - div_up(size, 2), part.copies);
        } else {
            to.add(a.kind == attention_kind::latent ? "latent" : "kv", size, part.copies);
        }
    };
    to.in_each_layer(here.layers, [&](std::int32_t index) { add(stages.job.model.layers[index].attention); });
    for (std::int32_t i = 0; i < here.predictions; ++i) add(stages.job.model.prediction.block.attention);
    to.add("group_padding", grown_by(stages.caches.padding_of(here.stage, here.counts, here.predictions)), part.copies);
    to.add("draft_kv", grown_by(stages.caches.of_draft(here.stage)), part.copies);
}

/// Buffers of caches, recurrent states and adapters.
template <class Writer>
constexpr void write_beside_weights(const serving_stages& stages, const placement& here, const cache_part& part,
                                    Writer& to) {
    const auto each_layer = [&](std::string_view name, auto&& size_of_layer) {
        to.in_each_layer(here.layers,
                         [&](std::int32_t index) { to.add(name, size_of_layer(stages.job.model.layers[index])); });
    };
    to.term = memory_term::adapter;
    to.add("lora_ends", stages.weights.adapters_of_ends(here));
    each_layer("lora", [&](const layer& kind) { return stages.weights.adapters_of(kind); });
    to.term = memory_term::kv_cache;
    write_cache(stages, here, part, to);
    to.term = memory_term::recurrent_state;
    each_layer("state", [&](const layer& kind) {
        return layer_state(kind.recurrent, stages.job, stages.runtime, stages.layout, stages.caches.sequences);
    });
}

template <class Writer>
constexpr void write_serving(const job& j, const cluster& c, const job_plan& p, Writer& to) {
    const layout& l = p.layout;
    const runtime r = on_device(j, c.gpu, l);
    serving_folds folds;
    memory_breakdown tensors;
    to.term = memory_term::weights;
    if (shares_rows(j, l)) {
        const row_sharing_gpus gpus{j, l, r, folds};
        const serving_stage stage = gpus.stage(p.memory.stage);
        to.add("shared_rows", stage.weights);
        return write_beside_weights(gpus.stages(), gpus.of(p.memory.stage),
                                    add_peak(tensors, stage, gpus.stages().step, r).cache, to);
    }
    serving_stages stages{j, l, r, folds};
    stages.fold_layers();
    const placement here = placement_of(j, l, p.memory.stage);
    const serving_peak peak = add_peak(tensors, stages.stage(here), stages.step, r);
    write_serving_weights(stages, here, peak.joined, to);
    write_beside_weights(stages, here, peak.cache, to);
}

// ---- training -------------------------------------------------------------------------------------------------------

/// Calls each(index) for the layers of a range; what the writer adds is named after them.
template <class Writer>
constexpr auto named_by(Writer& to) {
    return [&to](stage_range range, auto&& each) { to.in_each_layer(range, each); };
}

/// Which gradients are there when a step takes the most memory.
struct gradients_held {
    bool layers_outside = false;   ///< of the weights after the layers
    stage_range layers{};          ///< of the layers at these positions
    bool input = false;            ///< of the weights before the layers
    bool table = false;            ///< of the embedding's table, if not of all of these
    byte_count encoder_missing{};  ///< what of an encoder's is not there
    byte_count narrower{};         ///< what the head's gradient lacks: it is in 16 bits yet
    byte_count again{};            ///< a further gradient of a weight that is read twice
    std::int64_t times = 0;        ///< how many of them
};

constexpr gradients_held all_gradients(const stage_step& in) {
    return {.layers_outside = true, .layers = in.stage.holds.layers, .input = true};
}

/// When the backward pass comes to the layers: gradients of what follows them, and with a tied head the embedding's.
constexpr gradients_held gradients_after_layers(const stage_step& in) {
    const training_stage& s = in.stage;
    return {.layers_outside = true,
            .layers = {s.holds.layers.last, s.holds.layers.last},
            .table = shares_embedding(in.folded.job.model) && s.last};
}

/// When the backward pass of a kind's last or first layer begins: gradients of all that follows it.
constexpr gradients_held gradients_after_layer(const stage_step& in, bool last, std::int32_t kind) {
    const auto k = static_cast<std::size_t>(kind);
    const byte_count sum = last ? before_last_layer(in, k).gradients : before_first_layer(in, k).gradients;
    if (in.accumulates || sum > in.stage.weights.all.gradients.kept) return all_gradients(in);
    const stage_range span = span_of(in.folded.by_stage, kind, in.stage.holds.layers);
    gradients_held held = gradients_after_layers(in);
    held.layers.first = last ? span.last : span.first + 1;
    return held;
}

/// When the head's product is differentiated.
constexpr gradients_held gradients_of_head(const stage_step& in) {
    const folded_job& f = in.folded;
    if (in.accumulates) return all_gradients(in);
    if (f.context.runtime.kernels.linear != linear_code::plain) return {};
    gradients_held held = gradients_after_layers(in);
    held.narrower = in.head_gradients - at_head_backward(in).tensors.gradients;
    return held;
}

constexpr gradients_held gradients_at(const stage_step& in, peak_point point, std::int32_t kind) {
    const encoder_memory& encoder = in.stage.encoder;
    gradients_held held = all_gradients(in);
    const auto summed = [&](byte_count all) {
        held.again = second_gradient(in);
        held.times = held.again > byte_count{} ? times_in(held.again, all) : 0;
    };
    switch (point) {
        case peak_point::optimizer_step: break;
        case peak_point::last_layer_backward:
        case peak_point::first_layer_backward:
            held = gradients_after_layer(in, point == peak_point::last_layer_backward, kind);
            summed(waiting_gradient(in));
            break;
        case peak_point::last_adapter_recomputation:
        case peak_point::first_adapter_recomputation:
            return gradients_after_layer(in, point == peak_point::last_adapter_recomputation, kind);
        case peak_point::final_norm_backward:
            if (!in.accumulates && in.head_gradients <= in.stage.weights.all.gradients.kept)
                held = gradients_after_layers(in);
            summed(waiting_gradient(in));
            break;
        case peak_point::decoder_embedding_gradient:
            if (!in.accumulates) held.encoder_missing = encoder.gradients;
            summed(summed_gradients(in));
            break;
        case peak_point::encoder_last_layer_backward:
            if (!in.accumulates) held.encoder_missing = encoder.gradients;
            if (encoder.reads_tokens) summed(waiting_gradient(in));
            break;
        case peak_point::encoder_first_layer_backward:
            if (!in.accumulates) held.encoder_missing = encoder.first_gradients;
            if (encoder.reads_tokens) summed(waiting_gradient(in));
            break;
        case peak_point::embedding_gradient:
            if (encoder.kept == byte_count{})
                summed(summed_gradients(in));
            else if (encoder.reads_tokens)
                summed(second_gradient(in) + waiting_gradient(in));
            break;
        case peak_point::head_backward:
        case peak_point::head_step: return gradients_of_head(in);
        case peak_point::layers_forward:
        case peak_point::loss_forward:
        case peak_point::loss_gradient:
        case peak_point::logits_returned:
        case peak_point::reference_forward:
        case peak_point::reference_loss:
            if (!in.accumulates) return {};
            break;
    }
    return held;
}

/// Gradients before ranks share them: one of each layer, and one of all beside the layers, as FSDP1's units have them.
template <class Writer>
constexpr void write_whole_gradients(const stage_step& in, const gradients_held& held, Writer& to) {
    const folded_job& f = in.folded;
    const placement& here = in.stage.holds;
    to.in_each_layer(here.layers, [&](std::int32_t index) {
        const std::size_t kind = f.by_stage.order[static_cast<std::size_t>(index)];
        to.add("gradient", whole_gradient_of(f.layers[kind].state, f.context, f.layout));
    });
    to.add("gradient", whole_gradient_of(in.stage.weights.ends, f.context, f.layout));
    to.add(name_of(weight_role::embed_tokens), held.again, held.times);
}

/// The gradients of each weight that are there. Where an encoder's are there in part, those of all that stands before
/// the layers beside the embedding are one buffer.
template <class Writer>
constexpr void write_gradients(const stage_step& in, const gradients_held& held, Writer& to) {
    const job& j = in.folded.job;
    const weight_training& how = in.folded.weights;
    const placement& here = in.stage.holds;
    const weight_role head = shares_embedding(j.model) ? weight_role::embed_tokens : weight_role::lm_head;
    byte_count narrower = held.narrower;
    byte_count towers;
    for_each_trained_weight(how, in.folded.layout, here, named_by(to), [&](const trained_weight& w) {
        const bool in_layers = w.position >= held.layers.first && w.position < held.layers.last;
        const bool there = w.place == weight_place::layer ? in_layers
                           : w.place == weight_place::input
                               ? held.input || (held.table && w.role == weight_role::embed_tokens)
                               : held.layers_outside;
        if (!there) return;
        if (w.place == weight_place::input && w.role != weight_role::embed_tokens &&
            held.encoder_missing > byte_count{}) {
            towers += w.kept.gradients.kept;
        } else if (w.role == head && !is_in_layer(w.place) && narrower > byte_count{}) {
            to.add(name_of(w.role), w.kept.gradients.kept - narrower);
            narrower = {};
        } else {
            to.add_copies(name_of(w.role), w.kept.gradients.kept, w.copies);
        }
    });
    if (towers > held.encoder_missing) to.add("encoder", towers - held.encoder_missing);
    if (held.input) {
        to.add("class_token", class_token_gradient(how, here));
        to.add("prompt", prompt_state(how, here).gradients.kept);
    }
    to.add(name_of(weight_role::embed_tokens), held.again, held.times);
}

/// Lists what training keeps of each weight in one term. A role that shares a tensor with the role before it may take
/// away from that: an optimizer keeps no square matrix of a side that both together make too wide.
template <class Writer>
class kept_writer {
public:
    constexpr explicit kept_writer(Writer& writer) : to_{writer} {}

    constexpr void add(const trained_weight& w, byte_count kept) {
        if (kept < byte_count{}) {
            size_ += kept;
            return;
        }
        end();
        role_ = w.role;
        size_ = kept;
        copies_ = w.copies;
        layer_ = to_.layer;
    }
    constexpr void end() {
        const std::int32_t layer = std::exchange(to_.layer, layer_);
        to_.add_copies(name_of(role_), std::exchange(size_, {}), copies_);
        to_.layer = layer;
    }

private:
    Writer& to_;
    weight_role role_{};
    byte_count size_{};
    std::int64_t copies_ = 1;
    std::int32_t layer_ = -1;
};

/// What training keeps of each weight in one term, as the plan sums it.
template <class Writer>
constexpr void write_kept(const weight_training& how, const layout& l, const placement& here, Writer& to,
                          byte_count (*term)(const training_state&)) {
    kept_writer<Writer> list{to};
    for_each_trained_weight(how, l, here, named_by(to), [&](const trained_weight& w) { list.add(w, term(w.kept)); });
    list.end();
    to.add("prompt", term(prompt_state(how, here)));
}

/// Optimizer states: of each weight, of the whole tensors that a rank has, or what is there before the first step.
template <class Writer>
constexpr void write_optimizer(const stage_step& in, peak_point point, const memory_breakdown& m, Writer& to) {
    const job& j = in.folded.job;
    const layout& l = in.folded.layout;
    const placement& here = in.stage.holds;
    const bool on_gpu = j.offload.optimizer == offload_place::none;
    const bool first_step = j.steps == 1 && on_gpu && point != peak_point::optimizer_step;
    if (on_gpu && shards_whole_tensors(j, l))
        return to.add("whole_tensors", first_step ? in.held.optimizer : in.stage.weights.all.optimizer.states);
    if (m.evicted.expected > byte_count{}) {  // which pages stay is the driver's to say
        write_kept(in.folded.weights, l, here, to,
                   [](const training_state& s) { return s.optimizer.states - s.optimizer.paged; });
        return to.add("paged", m.evictable - m.evicted.expected);
    }
    const auto states = [](const training_state& s) { return s.optimizer.states; };
    if (!first_step) return write_kept(in.folded.weights, l, here, to, states);
    const job copies = before_first_step(j);
    const training_context context{copies, l};
    write_kept(weight_training{copies, l, context}, l, here, to, states);
}

template <class Writer>
constexpr void write_rotary_tables(const folded_job& f, const placement& here, Writer& to) {
    for (std::size_t k = 0; k < f.kinds(); ++k)
        to.add("rope", rotary_table(f, f.job.model.layers.kinds[k]), here.counts[k]);
}

template <class Writer>
constexpr void write_training(const job& j, const cluster& c, const job_plan& p, Writer& to) {
    const layout& l = p.layout;
    if (upcasts(j, l)) return write_training(upcast(j), c, p, to);
    const layer_stack by_stage = l.deals_evenly() ? j.model.layers : ordered_by_stage(j.model.layers, l);
    const folded_job folded{j, l, by_stage, sdpa_backend_of(c.gpu)};
    const training_stage stage = training_stage_of(folded, placement_of(j, l, p.memory.stage));
    const stage_peak peak = peak_of(folded, stage);
    const stage_step in = stage_step_of(folded, stage);
    to.term = memory_term::weights;
    write_kept(folded.weights, l, stage.holds, to, [](const training_state& s) { return s.weights; });
    write_rotary_tables(folded, stage.holds, to);
    to.term = memory_term::adapter;
    write_kept(folded.weights, l, stage.holds, to, [](const training_state& s) { return s.adapter; });
    to.term = memory_term::gradients;
    // DeepSpeed hands them to the host by the bucket.
    const gradients_held held = gradients_at(in, peak.point, peak.kind);
    if (in_buckets(folded, stage) && held.input)
        to.add("buckets", peak.tensors.gradients);
    else if (in.unsharded > byte_count{} && shares_last_gradients(j, l) && peak.point != peak_point::optimizer_step)
        write_whole_gradients(in, held, to);
    else
        write_gradients(in, held, to);
    // Of units that frozen and trained weights share, a rank's part of the former's.
    if (!in.accumulates && phase_of(peak.point) == phase::backward) to.add("frozen", in.unsharded);
    to.add("buckets", in.details.bucketed);
    to.term = memory_term::optimizer;
    write_optimizer(in, peak.point, p.memory, to);
}

}  // namespace detail

template <class Visit>
constexpr void for_each_buffer(const job& j, const cluster& c, const job_plan& p, Visit&& visit) {
    detail::buffer_writer<Visit> to{visit};
    if (trains(j))
        detail::write_training(j, c, p, to);
    else if (p.prompts_elsewhere)
        detail::write_serving(detail::decode_part(j, p.layout), c, p, to);
    else
        detail::write_serving(j, c, p, to);
    for (const memory_term term :
         {memory_term::reference, memory_term::activations, memory_term::logits, memory_term::communication,
          memory_term::workspace, memory_term::optimizer_scratch}) {
        to.term = term;
        to.add(name_of(term), p.memory[term].expected);
    }
}

}  // namespace llmres::inline v0
