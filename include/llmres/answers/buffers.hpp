// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
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

/// Calls visit(buffer) for the tensors of the plan's busiest GPU, in the order in which they are allocated. Of every
/// term but `runtime` and `fragmentation`, which are no tensors, the products add up to what the plan expects. What a
/// term holds beyond the tensors that are told apart here (padding, an engine's pool, shards rounded up) is one buffer
/// of the term's name at its end. Allocates nothing. Preconditions: validate() holds for job and layout; `p` is their
/// plan.
template <class Visit>
constexpr void for_each_buffer(const job& j, const layout& l, const job_plan& p, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Names buffers, and sees to it that none exceeds what is left of its term.
template <class Visit>
struct buffer_writer {
    Visit& visit;
    const job_plan& p;
    byte_count left{};
    memory_term term = memory_term::weights;
    std::int32_t layer = -1;

    constexpr void begin(memory_term next) {
        term = next;
        left = p.memory[next].expected;
        layer = -1;
    }
    constexpr void add(std::string_view what, byte_count size, std::int64_t count = 1) {
        if (size <= byte_count{} || count <= 0) return;
        const std::int64_t room = times_in(size, left);
        if (room < count) count = room;
        if (count <= 0) return;
        left -= size * count;
        buffer made{.term = term, .size = size, .count = count};
        if (layer >= 0) {
            made.name.append("layers.");
            made.name.append(digits(layer));
            made.name.append(".");
        }
        made.name.append(what);
        visit(made);
    }
    constexpr void end() {
        layer = -1;
        if (left > byte_count{}) add(name_of(term), left);
    }
};

/// One stage of a job: which layers, and the weights around them.
struct stage_parts {
    const job& j;
    const layout& l;
    std::int32_t stage = 0;
    stage_range range{};  ///< of a stage whose layers are consecutive
    bool first = true;
    bool last = true;

    constexpr stage_parts(const job& of, const layout& over, std::int32_t at)
        : j{of}, l{over}, stage{at}, first{at == 0}, last{at == over.last_stage()} {
        const std::int32_t begin = placement_on_host(of).layers.last;
        range = stage_layers(of.model.layers.size - begin, over.pipeline, at);
        range.first += begin;
        range.last += begin;
    }

    /// Calls visit(weight, layer) for each of this GPU's weights; the layer is -1 outside of them.
    template <class Each>
    constexpr void for_each_local_weight(Each&& visit) const {
        const model& m = j.model;
        const bool serves = !trains(j);
        const bool embedded = first && !(serves && j.runtime.loading.embedding_on_host);
        const bool head = last && (!serves || !placement_on_host(j).output);
        std::int32_t layer = -1;
        const auto local = [&](const weight& w) { visit(local_part(w, l), layer); };
        if (embedded) for_each_input_weight(m, local);
        const auto visit_layers = [&](stage_range among, std::int32_t) {
            for (layer = among.first; layer < among.last; ++layer) for_each_weight(m.layers[layer], m.hidden, local);
        };
        if (serves)
            visit_layers(range, stage);
        else
            for_each_chunk(l, m.layers.size, stage, visit_layers);
        layer = -1;
        if (head && m.tied_head && !embedded) for_each_embedding_weight(m, local);
        if (head) for_each_output_weight(m, local);
    }
};

template <class Writer>
constexpr void write_weights(const stage_parts& stage, Writer& to) {
    const job& j = stage.j;
    if (j.gguf) {
        const auto tensor = [&](const gguf_tensor& t) { to.add(name_of(t.role), div_up(t.size(), stage.l.tensor)); };
        const bool embedded = stage.first && !j.runtime.loading.embedding_on_host;
        const bool head = stage.last && !placement_on_host(j).output;
        if (embedded) for_each_gguf_input_tensor(j.model, *j.gguf, tensor);
        for (to.layer = stage.range.first; to.layer < stage.range.last; ++to.layer)
            for_each_gguf_tensor(j.model, *j.gguf, to.layer, tensor);
        to.layer = -1;
        if (head && j.model.tied_head && !embedded) tensor(gguf::embedding(j.model, *j.gguf));
        if (head) for_each_gguf_output_tensor(j.model, *j.gguf, tensor);
        return;
    }
    const weight_formats formats = formats_of(j, j.compute);
    stage.for_each_local_weight([&](const weight& w, std::int32_t layer) {
        to.layer = layer;
        const std::int64_t ranks = w.routed ? stage.l.expert_shard_ranks() : stage.l.dense_shard_ranks();
        if (trains(j) && stage.l.zero >= 3) return to.add(name_of(w.role), div_up(size_of(w, formats), ranks));
        to.add(name_of(w.role), size_of(formats.of(w), w.rows, w.columns), w.copies);
    });
}

/// Keys and values of each layer, or the latent vector that stands for both.
template <class Writer>
constexpr void write_cache(const stage_parts& stage, Writer& to) {
    const job& j = stage.j;
    const std::int64_t sequences = sequences_per_rank(j, stage.l);
    for (to.layer = stage.range.first; to.layer < stage.range.last; ++to.layer) {
        const attention& a = j.model.layers[to.layer].attention;
        const byte_count size = layer_cache(a, j, j.runtime, stage.l, sequences).allocated;
        const bool halves = a.kind == attention_kind::grouped && a.value_width() == a.head_dim && a.indexer.heads == 0;
        if (halves) {
            to.add("k", div_down(size, 2));
            to.add("v", div_down(size, 2));
        } else {
            to.add(a.kind == attention_kind::latent ? "latent" : "kv", size);
        }
    }
}

template <class Writer>
constexpr void write_states(const stage_parts& stage, Writer& to) {
    const job& j = stage.j;
    const std::int64_t sequences = sequences_per_rank(j, stage.l);
    for (to.layer = stage.range.first; to.layer < stage.range.last; ++to.layer)
        to.add("state", layer_state(j.model.layers[to.layer].recurrent, j, j.runtime, stage.l, sequences));
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

}  // namespace detail

template <class Visit>
constexpr void for_each_buffer(const job& j, const layout& l, const job_plan& p, Visit&& visit) {
    const detail::stage_parts stage{j, l, p.memory.stage};
    detail::buffer_writer<Visit> to{visit, p};
    const auto write = [&](memory_term term, auto&& parts) {
        to.begin(term);
        parts();
        to.end();
    };
    const auto whole = [] {};
    const bool frozen = j.adapter.trains();
    const bool here = !trains(j) || j.offload.parameters == offload_place::none;
    write(memory_term::weights, [&] {
        if (here) detail::write_weights(stage, to);
    });
    write(memory_term::adapter, whole);
    if (!trains(j)) {
        write(memory_term::kv_cache, [&] { detail::write_cache(stage, to); });
        write(memory_term::recurrent_state, [&] { detail::write_states(stage, to); });
    } else {
        write(memory_term::gradients, [&] {
            if (!frozen) detail::write_gradients(stage, to);
        });
        const bool steps_here = !frozen && j.offload.optimizer == offload_place::none;
        write(memory_term::optimizer, [&] {
            if (steps_here) detail::write_optimizer(stage, to);
        });
    }
    for (const memory_term term :
         {memory_term::activations, memory_term::logits, memory_term::communication, memory_term::workspace})
        write(term, whole);
}

}  // namespace llmres::inline v0
