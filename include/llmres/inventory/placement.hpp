// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// What lies on a GPU: which layers, which end of the model, and which part of each weight. Memory, time and the list
/// of buffers all ask here.
namespace llmres::inline v0 {

/// How many layers there are of each of a model's kinds, in the order of layer_stack::kinds.
using kind_counts = std::array<std::int32_t, layer_stack::max_kinds>;

/// Where in the model a weight stands.
enum class weight_place : std::uint8_t {
    input,       ///< before the layers: token embedding, positions, projections, towers and encoders
    layer,       ///< in one of the layers
    prediction,  ///< in a layer that predicts further tokens, or in what joins it to the model
    output,      ///< after the layers: final norm and head
};

/// The weights of a model that lie in one place: on each GPU of a pipeline stage, or on the host. Every weight of the
/// model lies in exactly one place, but for these copies: a tied head away from the embedding and a prediction layer
/// away from it read a token embedding of their own, and some engines have towers on every stage.
struct placement {
    std::int32_t stage = 0;  ///< of the pipeline
    /// The layers, numbered in the order of the stages (ordered_by_stage(): where layers are dealt evenly, the order of
    /// the model).
    stage_range layers{};
    stage_range expert_layers{};  ///< layers whose routed experts lie here: on a GPU some of `layers`, on the host more
    kind_counts counts{};         ///< of `layers`
    kind_counts expert_counts{};  ///< of `expert_layers`
    std::int32_t embeddings = 0;  ///< token embeddings, the copy that a tied head or a prediction layer reads included
    bool beside_embedding = false;  ///< all else that stands before the layers
    bool output = false;            ///< final norm, and the head where it is not the embedding
    std::int32_t predictions = 0;   ///< layers that predict further tokens
    bool tower_file = false;        ///< the vision tower of a GGUF model, a file of its own (llama.cpp: --mmproj)
};

/// What lies on each GPU of one pipeline stage, from 0 to layout.pipeline - 1. Preconditions: validate() holds for job
/// and layout.
constexpr placement placement_of(const job& j, const layout& l, std::int32_t stage);

/// What a serving engine leaves on the host, and computes there: the first layers, the routed experts of the first
/// layers, the token embedding, the head. (What training offloads belongs to a GPU: memory/training.hpp.)
constexpr placement placement_on_host(const job& j);

/// Calls visit(weight, times, place) for the weights that lie there, whole: local_shape() says which part of each a GPU
/// holds. `times`: layers that have the weight. Of a serving job whose weights are a GGUF file's, the tensors are
/// those of models/gguf/tensors.hpp.
template <class Visit>
constexpr void for_each_weight(const job& j, const placement& p, Visit&& visit);

/// Calls visit(gguf_tensor) for the tensors of a GGUF file that stand before and after the layers and lie there, whole.
/// Precondition: the job's weights are such a file's.
template <class Visit>
constexpr void for_each_gguf_end_tensor(const job& j, const placement& p, Visit&& visit);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

// ---- prediction of further tokens in training (DeepSeek-V3 report, section 2.2; as Megatron-Core builds it,
// core/transformer/multi_token_prediction.py) ------------------------------------------------------------------------

/// The layer of each depth: the published one, or as the model's last.
constexpr const layer& prediction_block(const model& m) {
    return m.prediction.layers > 0 ? m.prediction.block : m.layers[m.layers.size - 1];
}

/// Depths that have weights of their own.
constexpr std::int32_t depths_held(const job& j) {
    return j.mtp_use_repeated_layer && j.mtp_layers > 0 ? 1 : j.mtp_layers;
}

/// The stage that predicts further tokens: the last, unless `stages` names another.
constexpr std::int32_t prediction_stage(const layout& l) {
    return l.stages.prediction > 0 ? l.stage_of(l.stages.prediction - 1) : l.last_stage();
}

/// Projects the two inputs of a depth, hidden state and embedding, to the hidden width.
constexpr weight depth_projection(const model& m) {
    return {.role = weight_role::projector, .rows = m.hidden, .columns = 2 * m.hidden, .split = weight_split::rows};
}

/// Calls visit(weight) for the weights of one depth.
template <class Visit>
constexpr void for_each_depth_weight(const model& m, Visit&& visit) {
    const layer& block = prediction_block(m);
    const auto visitor = visiting<weight>(visit);
    list_layer(block, m.hidden, visitor);
    visit(depth_projection(m));
    weight_list{visitor}.norms(block.norm, m.hidden, 3);  // of the embedding, of the stream, and the last
}

// ---- training -------------------------------------------------------------------------------------------------------

/// Whether GPUs wait for each other, micro-batch by micro-batch, with layers dealt by their bytes.
constexpr bool is_naive_pipeline(const job& j, const layout& l) {
    return l.pipeline > 1 && j.runtime.pipeline.naive && l.deals_evenly();
}

/// Layers of one stage as accelerate's device_map="auto" deals them (utils/modeling.py, get_balanced_memory and
/// infer_auto_device_map): each GPU may take an equal part of all weights and a layer and a quarter more; the first
/// leaves room for the largest module that is not split, be it a layer, the embedding or the head; the last takes what
/// is left. Weights count in the format they are loaded in.
constexpr stage_range layers_by_bytes(const job& j, const layout& l, std::int32_t stage) {
    const model& m = j.model;
    const weight_format_view formats = formats_of(j, activations_of(j));
    const layer_split split{l};
    byte_count sum;
    const auto add = [&](const weight& w) { sum += size_of(local_part(w, split), formats); };
    for_each_input_weight(m, add);
    const byte_count input = sum;
    sum = {};
    if (!m.tied_head) for_each_output_weight(m, add);
    const byte_count output = sum;
    std::array<byte_count, layer_stack::max_kinds> size{};
    byte_count all = input + output;
    byte_count largest;
    const kind_counts counts = m.layers.counts();
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, add);
        size[k] = sum;
        if (size[k] > largest) largest = size[k];
        all += size[k] * counts[k];
    }
    const byte_count room = div_up(all, l.pipeline) + scaled_up(largest, 1.25);
    if (input > largest) largest = input;
    if (output > largest) largest = output;
    stage_range dealt;
    for (std::int32_t s = 0; s <= stage; ++s) {
        dealt.first = dealt.last;
        if (s == l.pipeline - 1) return {dealt.first, m.layers.size};
        byte_count used = s == 0 ? input + largest : byte_count{};
        while (dealt.last < m.layers.size) {
            used += size[static_cast<std::size_t>(m.layers.order[static_cast<std::size_t>(dealt.last)])];
            if (used > room) break;
            ++dealt.last;
        }
    }
    return dealt;
}

constexpr placement training_placement(const job& j, const layout& l, std::int32_t stage) {
    const bool first = stage == 0;
    const bool last = stage == l.last_stage();
    const bool predicts = j.mtp_layers > 0 && stage == prediction_stage(l);
    placement p{.stage = stage,
                .embeddings = first || predicts || (last && shares_embedding(j.model)) ? 1 : 0,
                .beside_embedding = first,
                .output = last,
                .predictions = predicts ? depths_held(j) : 0};
    p.expert_layers = p.layers =
        is_naive_pipeline(j, l) ? layers_by_bytes(j, l, stage) : layers_of_stage(l, j.model.layers.size, stage);
    if (l.deals_evenly())
        p.counts = j.model.layers.counts(p.layers.first, p.layers.last);
    else
        for_each_chunk(l, j.model.layers.size, stage, [&](stage_range chunk, std::int32_t) {
            const kind_counts more = j.model.layers.counts(chunk.first, chunk.last);
            for (std::size_t k = 0; k < more.size(); ++k) p.counts[k] += more[k];
        });
    p.expert_counts = p.counts;
    return p;
}

// ---- serving --------------------------------------------------------------------------------------------------------

/// What a serving job leaves to the host.
struct host_part {
    std::int32_t layers = 0;         ///< the first ones, whole
    std::int32_t expert_layers = 0;  ///< the first ones, whose routed experts are there; at least `layers`
    bool embedding = false;          ///< with all that stands before the layers
    bool head = false;               ///< with the final norm
};

/// The caller's wishes are read here alone. llama.cpp counts the head as one more layer than the model has, behind all
/// others or, where it is loaded first, before them: n_gpu_layers takes that one and the last of the model's.
constexpr host_part wished_host_part(const job& j) {
    const runtime& asked = j.runtime;
    const std::int32_t layers = j.model.layers.size;
    host_part host{.embedding = asked.loading.embedding_on_host};
    if (j.options.gpu_layers && *j.options.gpu_layers <= layers) {
        const std::int32_t asked_for = *j.options.gpu_layers > 0 ? *j.options.gpu_layers : 0;
        host.head = !asked.loading.head_first || asked_for == 0;
        host.layers = layers - asked_for + (host.head ? 0 : 1);
    }
    const std::int32_t named = j.options.host_expert_layers;
    if (j.options.experts_on_host) host.expert_layers = named > 0 && named < layers ? named : layers;
    if (host.expert_layers < host.layers) host.expert_layers = host.layers;
    return host;
}

/// What a job leaves to the host: most leave nothing.
constexpr host_part host_part_of(const job& j) {
    const bool any = j.options.gpu_layers || j.options.experts_on_host || j.runtime.loading.embedding_on_host;
    return any && !trains(j) ? wished_host_part(j) : host_part{};
}

/// Whether a checkpoint of a tied model holds a head of its own, and the engine keeps it: FP8 ones do (Qwen3-0.6B-FP8,
/// -4B-FP8: lm_head.weight).
constexpr bool stores_tied_head(const job& j) {
    if (!j.runtime.loading.head_again || !j.model.tied_head || j.gguf) return false;
    const weight_format_view formats = formats_of(j, j.compute);
    return formats.matrices->arithmetic == arithmetic_kind::fp8 && *formats.rest != *formats.matrices;
}

/// What lies on a GPU that serves these layers, be it the first of all GPUs, the last, or both. On a GPU without the
/// embedding that it reads, a tied head is a copy of it.
constexpr placement serving_placement(const job& j, const host_part& host, std::int32_t stage, stage_range layers,
                                      bool first, bool last) {
    const model& m = j.model;
    const bool embeds = first && !host.embedding;
    const bool towers =
        j.runtime.loading.towers_everywhere && m.encoders[0].layers > 0 && !j.gguf;  // GGUF files have none
    const bool sees = m.encoders[0].image_patches > token_count{} || j.images.count > 0;
    const bool scores = last && !host.head;
    stage_range routed = layers;
    if (host.expert_layers > routed.first)
        routed.first = host.expert_layers < routed.last ? host.expert_layers : routed.last;
    placement p{.stage = stage,
                .layers = layers,
                .expert_layers = routed,
                .counts = m.layers.counts(layers.first, layers.last),
                .embeddings = embeds,
                .beside_embedding = embeds || (!first && towers),
                .output = scores,
                .predictions = last && j.options.speculates_ahead ? m.prediction.layers : 0,
                .tower_file = first && j.gguf && sees && (j.images.count > 0 || j.runtime.loading.own_library)};
    p.expert_counts = routed.first == layers.first ? p.counts : m.layers.counts(routed.first, routed.last);
    if (scores && m.tied_head && (embeds ? stores_tied_head(j) : !(j.gguf && j.gguf->tied_head_stored))) ++p.embeddings;
    return p;
}

/// The layers of a stage: those that are not on the host, dealt evenly unless the layout says how many each has.
constexpr stage_range serving_layers(const job& j, const host_part& host, const layout& l, std::int32_t stage) {
    if (!l.deals_evenly()) return chunk_range(l, j.model.layers.size, stage);
    const stage_range dealt = stage_layers(j.model.layers.size - host.layers, l.pipeline, stage);
    return {host.layers + dealt.first, host.layers + dealt.last};
}

constexpr placement placement_of_stage(const job& j, const layout& l, std::int32_t stage) {
    if (trains(j)) return training_placement(j, l, stage);
    const host_part host = host_part_of(j);
    return serving_placement(j, host, stage, serving_layers(j, host, l, stage), stage == 0, stage == l.pipeline - 1);
}

/// What stands before the layers and lies in that place.
constexpr void list_placed_input(const model& m, const placement& p, const weight_visitor& visit) {
    for (std::int32_t i = 0; i < p.embeddings; ++i) list_embedding(m, visit);
    if (p.beside_embedding) list_beside_embedding(m, visit);
}
template <class Visit>
constexpr void for_each_placed_input_weight(const model& m, const placement& p, Visit&& visit) {
    list_placed_input(m, p, visiting<weight>(visit));
}

/// True of a weight of a prediction layer that is the model's own and lies there: its embedding or its head.
constexpr bool is_models_own(const job& j, const placement& here, const weight& w) {
    return !trains(j) && j.runtime.loading.ends.by_predictions &&
           ((w.role == weight_role::embed_tokens && here.embeddings > 0) || w.role == weight_role::lm_head);
}

constexpr void list_placed(const job& j, const placement& p, const visitor<weight, std::int32_t, weight_place>& visit) {
    const model& m = j.model;
    std::int32_t times = 1;
    std::int32_t expert_times = 1;
    weight_place place = weight_place::input;
    const auto each = [&](const weight& w) {
        if (const std::int32_t own = w.routed ? expert_times : times; own > 0) visit(w, own, place);
    };
    for_each_placed_input_weight(m, p, each);
    place = weight_place::layer;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        times = p.counts[k];
        expert_times = p.expert_counts[k];
        if (times > 0 || expert_times > 0) for_each_weight(m.layers.kinds[k], m.hidden, each);
    }
    place = weight_place::prediction;
    times = expert_times = p.predictions;
    const auto unshared = [&](const weight& w) {
        if (!is_models_own(j, p, w)) each(w);
    };
    if (times > 0) trains(j) ? for_each_depth_weight(m, each) : for_each_prediction_weight(m, unshared);
    place = weight_place::output;
    times = expert_times = 1;
    if (p.output) for_each_output_weight(m, each);
}

}  // namespace detail

constexpr placement placement_of(const job& j, const layout& l, std::int32_t stage) {
    return detail::placement_of_stage(j, l, stage);
}

constexpr placement placement_on_host(const job& j) {
    const detail::host_part host = detail::host_part_of(j);
    const layer_stack& layers = j.model.layers;
    return {.layers = {0, host.layers},
            .expert_layers = {0, host.expert_layers},
            .counts = layers.counts(0, host.layers),
            .expert_counts = layers.counts(0, host.expert_layers),
            .embeddings = host.embedding ? 1 : 0,
            .beside_embedding = host.embedding,
            .output = host.head};
}

template <class Visit>
constexpr void for_each_weight(const job& j, const placement& p, Visit&& visit) {
    detail::list_placed(j, p, visiting<weight, std::int32_t, weight_place>(visit));
}

template <class Visit>
constexpr void for_each_gguf_end_tensor(const job& j, const placement& p, Visit&& visit) {
    if (p.beside_embedding) for_each_gguf_input_tensor(j.model, *j.gguf, visit);  // the embedding among them
    if (p.embeddings > (p.beside_embedding ? 1 : 0)) visit(detail::gguf::embedding(j.model, *j.gguf));
    if (p.output) for_each_gguf_output_tensor(j.model, *j.gguf, visit);
}

}  // namespace llmres::inline v0
