// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/disaggregated.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// The tensors of a plan one by one, so that someone can really allocate them and see whether they fit.
namespace llmres::inline v0 {

/// `count` tensors of one size.
struct buffer {
    text<47> name{};  ///< "embed_tokens", "layers.3.q_proj", "layers.3.k"
    memory_term term = memory_term::weights;
    byte_count size{};  ///< of one
    std::int64_t count = 1;
};

/// Calls visit(buffer) for the tensors of the plan's busiest GPU at its fullest point, in the order in which they are
/// allocated. Of every term but `runtime` and `fragmentation`, which are no tensors, the products add up to what the
/// plan expects. Weights, adapters, caches and recurrent states of serving are tensors of the model, as the plan's own
/// sums have them: padded, in the engine's blocks. What weights, adapters, gradients and optimizer states of training
/// hold beyond the tensors that are told apart here is one buffer of the term's name at its end. Activations, logits,
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
    /// Of `copies` tensors that are equal: each, or all of them where a shard of all is what there is.
    constexpr void add_copies(std::string_view what, byte_count all, std::int64_t copies) {
        const byte_count each = div_down(all, copies);
        each* copies == all ? add(what, each, copies) : add(what, all);
    }
};

// ---- serving --------------------------------------------------------------------------------------------------------

/// Weights outside the layers, then layer by layer, then what the engine has beside them.
template <class Writer>
constexpr void write_serving_weights(const serving_stages& stages, const placement& here, bool joined, Writer& to) {
    const serving_weights& weights = stages.weights;
    weights.for_each_end_tensor(
        here, [&](std::string_view name, byte_count size, std::int64_t copies) { to.add(name, size, copies); });
    const bool joins = stages.runtime.loading.joins_projections;
    for (to.layer = here.layers.first; to.layer < here.layers.last; ++to.layer) {
        const layer& kind = stages.job.model.layers[to.layer];
        const bool experts = to.layer >= here.expert_layers.first;
        const auto tensor = [&](std::string_view name, byte_count size, std::int64_t copies, bool routed) {
            if (experts || !routed) to.add(name, size, copies);
        };
        weights.for_each_tensor(kind, tensor);
        if (weights.file)
            weights.file->for_each_tensor(
                stages.job, to.layer,
                [&](std::string_view name, byte_count size, bool routed) { tensor(name, size, 1, routed); });
        if (joined || !joins) to.add(joins ? "joined_projections" : "expert_kernels", stages.beside_weights(kind));
    }
    to.layer = -1;
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
        const byte_count size = grown_by(stages.cache_of(a).allocated);
        if (a.kind == attention_kind::grouped && a.value_width() == a.head_dim && a.indexer.heads == 0) {
            to.add("k", div_up(size, 2), part.copies);
            to.add("v", size - div_up(size, 2), part.copies);
        } else {
            to.add(a.kind == attention_kind::latent ? "latent" : "kv", size, part.copies);
        }
    };
    for (to.layer = here.layers.first; to.layer < here.layers.last; ++to.layer)
        add(stages.job.model.layers[to.layer].attention);
    to.layer = -1;
    for (std::int32_t i = 0; i < here.predictions; ++i) add(stages.job.model.prediction.block.attention);
    to.add("draft_kv", grown_by(stages.draft_cache(here)), part.copies);
}

template <class Writer>
constexpr void write_serving(const job& j, const layout& l, const runtime& r, const file_layers* file,
                             const memory_breakdown& m, Writer& to) {
    const serving_stages stages{j, l, r, file};
    const placement here = placement_of(j, l, m.stage);
    const serving_peak peak = peak_of(stages.stage(here), stages.step, r);
    const auto each_layer = [&](std::string_view name, auto&& size_of_layer) {
        for (to.layer = here.layers.first; to.layer < here.layers.last; ++to.layer)
            to.add(name, size_of_layer(j.model.layers[to.layer]));
        to.layer = -1;
    };
    to.term = memory_term::weights;
    write_serving_weights(stages, here, peak.joined, to);
    to.term = memory_term::adapter;
    each_layer("lora", [&](const layer& kind) { return stages.weights.adapters_of(kind); });
    to.term = memory_term::kv_cache;
    write_cache(stages, here, peak.cache, to);
    to.term = memory_term::recurrent_state;
    each_layer("state", [&](const layer& kind) { return layer_state(kind.recurrent, j, r, l, stages.sequences); });
}

template <class Writer>
constexpr void write_serving(const job& j, const cluster& c, const job_plan& p, Writer& to) {
    const runtime r = on_device(j.runtime, c.gpu, p.layout);
    if (!j.gguf) return write_serving(j, p.layout, r, nullptr, p.memory, to);
    const file_layers file{j, r, p.layout.tensor};
    write_serving(j, p.layout, r, &file, p.memory, to);
}

// ---- training -------------------------------------------------------------------------------------------------------

/// Writes what fits in what is left of a term, and what is left at its end.
template <class Visit>
struct term_writer {
    buffer_writer<Visit>& to;
    const job_plan& p;
    byte_count left{};
    std::int32_t layer = -1;

    constexpr void add(std::string_view what, byte_count size, std::int64_t count = 1) {
        if (size <= byte_count{} || count <= 0) return;
        const std::int64_t room = times_in(size, left);
        if (room < count) count = room;
        if (count <= 0) return;
        left -= size * count;
        to.layer = layer;
        to.add(what, size, count);
    }
    template <class Parts>
    constexpr void write(memory_term term, Parts&& parts) {
        to.term = term;
        left = p.memory[term].expected;
        parts();
        layer = -1;
        if (left > byte_count{}) add(name_of(term), left);
        to.layer = -1;
    }
};

/// The weights of one stage of a job that trains.
struct stage_parts {
    const job& j;
    const layout& l;
    std::int32_t stage = 0;

    /// Calls visit(weight, layer) for each of this GPU's weights; the layer is -1 outside of them.
    template <class Each>
    constexpr void for_each_local_weight(Each&& visit) const {
        const model& m = j.model;
        std::int32_t layer = -1;
        const auto local = [&](const weight& w) { visit(local_part(w, l), layer); };
        if (stage == 0) for_each_input_weight(m, local);
        const auto visit_layers = [&](stage_range among, std::int32_t) {
            for (layer = among.first; layer < among.last; ++layer) for_each_weight(m.layers[layer], m.hidden, local);
        };
        for_each_chunk(l, m.layers.size, stage, visit_layers);
        layer = -1;
        const bool head = stage == l.last_stage();
        if (head && m.tied_head && stage != 0) for_each_embedding_weight(m, local);
        if (head) for_each_output_weight(m, local);
    }
};

template <class Writer>
constexpr void write_weights(const stage_parts& stage, Writer& to) {
    const job& j = stage.j;
    const weight_formats formats = formats_of(j, j.compute);
    stage.for_each_local_weight([&](const weight& w, std::int32_t layer) {
        to.layer = layer;
        const std::int64_t ranks = w.routed ? stage.l.expert_shard_ranks() : stage.l.dense_shard_ranks();
        if (stage.l.zero >= 3) return to.add(name_of(w.role), div_up(size_of(w, formats), ranks));
        to.add(name_of(w.role), size_of(formats.of(w), w.rows, w.columns), w.copies);
    });
}

/// What training keeps of each weight: one tensor a weight, or the rank's shard of it.
template <class Writer>
constexpr void write_gradients(const stage_parts& stage, Writer& to) {
    const precision format = gradients_of(stage.j);
    stage.for_each_local_weight([&](const weight& w, std::int32_t layer) {
        to.layer = layer;
        const byte_count each = size_of(format, w.rows, w.columns);
        const std::int64_t ranks = w.routed ? stage.l.expert_shard_ranks() : stage.l.dense_shard_ranks();
        if (stage.l.zero >= 2)
            to.add(name_of(w.role), div_up(each * w.copies, ranks));
        else
            to.add(name_of(w.role), each, w.copies);
    });
}

template <class Writer>
constexpr void write_optimizer(const stage_parts& stage, Writer& to) {
    const job& j = stage.j;
    const maybe<precision> master = master_weights_of(j);
    stage.for_each_local_weight([&](const weight& w, std::int32_t layer) {
        to.layer = layer;
        const byte_count copy = master ? size_of(*master, w.rows, w.columns) : byte_count{};
        const byte_count states = state_bytes(j.optimizer, j.optimizer_states, w.rows, w.columns, layer >= 0);
        const std::int64_t ranks = w.routed ? stage.l.expert_shard_ranks() : stage.l.dense_shard_ranks();
        if (stage.l.zero >= 1) return to.add(name_of(w.role), div_up((states + copy) * w.copies, ranks));
        to.add(name_of(w.role), copy, w.copies);
        to.add(name_of(w.role), states, w.copies);
    });
}

template <class Visit>
constexpr void write_training(const job& j, const job_plan& p, buffer_writer<Visit>& buffers) {
    const stage_parts stage{j, p.layout, p.memory.stage};
    term_writer<Visit> to{buffers, p};
    const bool frozen = j.adapter.trains();
    const bool here = j.offload.parameters == offload_place::none;
    const bool steps_here = !frozen && j.offload.optimizer == offload_place::none;
    to.write(memory_term::weights, [&] {
        if (here) write_weights(stage, to);
    });
    to.write(memory_term::adapter, [] {});
    to.write(memory_term::gradients, [&] {
        if (!frozen) write_gradients(stage, to);
    });
    to.write(memory_term::optimizer, [&] {
        if (steps_here) write_optimizer(stage, to);
    });
}

}  // namespace detail

template <class Visit>
constexpr void for_each_buffer(const job& j, const cluster& c, const job_plan& p, Visit&& visit) {
    detail::buffer_writer<Visit> to{visit};
    if (trains(j))
        detail::write_training(j, p, to);
    else if (p.prompts_elsewhere)
        detail::write_serving(detail::decode_part(j, p.layout), c, p, to);
    else
        detail::write_serving(j, c, p, to);
    for (const memory_term term :
         {memory_term::activations, memory_term::logits, memory_term::communication, memory_term::workspace}) {
        to.term = term;
        to.add(name_of(term), p.memory[term].expected);
    }
}

}  // namespace llmres::inline v0
