// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/answers/search_request.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/plan.hpp>
#include <tuple>
#include <vector>

/// What a search must find, said plainly: which layouts its space has, each planned alone, and their order.
namespace plain_space {

using namespace llmres;

/// Whether training in a layout has the stages that a search tries for so many stages and chunks.
inline bool has_searched_stages(const job& j, const layout& l) {
    const std::int32_t layers = j.model.layers.size;
    const std::int32_t chunks = l.pipeline * l.virtual_pipeline;
    const bool marked = l.embedding_as_layer || l.loss_as_layer || l.last_stage_layers != 0;
    if (l.pipeline == 1) return l.virtual_pipeline == 1 && !marked;
    if (l.virtual_pipeline > 1 && !j.runtime.layouts.virtual_pipeline) return false;
    if (layers % chunks == 0) return !marked;
    if (!j.runtime.layouts.uneven_stages) return false;
    if ((layers + 2) % chunks == 0) return l.embedding_as_layer && l.loss_as_layer && l.last_stage_layers == 0;
    const std::int32_t most = (layers + l.pipeline - 1) / l.pipeline;
    const std::int32_t rest = layers - most * (l.pipeline - 1);
    const bool power_of_two = (l.pipeline & (l.pipeline - 1)) == 0;
    return l.virtual_pipeline == 1 && power_of_two && rest > 0 && l.last_stage_layers == rest &&
           !l.embedding_as_layer && !l.loss_as_layer;
}

/// Whether a search of a training job, whose global batch is given, tries a layout as far as experts do not matter.
inline bool is_searched_training(const job& j, const layout& l) {
    const layout_rules& rules = j.runtime.layouts;
    const std::int64_t length = sequence_of(j).in(tokens);
    if (l.sequence_parallel != (l.tensor > 1 && rules.sequence_parallel && length % l.tensor == 0)) return false;
    if (l.context_parallel > 1 && (!rules.context_parallel || length % (2 * l.context_parallel) != 0)) return false;
    if (!has_searched_stages(j, l) || j.global_batch % (j.micro_batch * l.data) != 0) return false;
    if (l.virtual_pipeline > 1 && j.global_batch / (j.micro_batch * l.data) % l.pipeline != 0) return false;
    const std::int32_t most = l.pipeline > 1 ? rules.most_zero_with_pipeline : rules.most_zero;
    if (j.offload.parameters != offload_place::none) return l.zero == 3 && most >= 3;
    if (l.zero > 0 && l.zero < rules.least_zero) return false;
    return l.zero <= (l.data * l.context_parallel == 1 ? 0 : most);
}

/// The same of a job that is served.
inline bool is_searched_serving(const job& j, const layout& l, const cluster& c) {
    if (l.sequence_parallel || l.context_parallel > 1 || l.virtual_pipeline > 1 || l.zero > 0) return false;
    const auto each = [&](std::int64_t ranks) { return (j.batch + ranks - 1) / ranks; };
    const bool all = detail::most_experts(j.model) > 0 && l.data == c.gpus / (l.tensor * l.pipeline);
    return l.data == 1 || all || each(l.data) < each(l.data - 1);
}

/// Whether a search tries how a layout distributes experts.
inline bool has_searched_experts(const job& j, const layout& l) {
    const std::int64_t experts = detail::most_experts(j.model);
    if (l.expert == 1) return l.expert_tensor == 0 && detail::splits_experts(j.model, 1, l.tensor);
    const std::int64_t ranks = std::int64_t{l.data} * l.context_parallel * l.tensor;
    if (!j.runtime.layouts.expert || l.expert > experts || ranks % l.expert != 0) return false;
    if (!trains(j) && (l.expert != ranks || l.expert_tensor != 1)) return false;
    if (l.expert_tensor != 1 && l.expert_tensor != l.tensor) return false;
    return ranks % (l.expert * l.expert_tensor) == 0 && detail::splits_experts(j.model, l.expert, l.expert_tensor);
}

/// Whether a search with the default space tries a layout.
inline bool is_searched(const job& j, const layout& l, const cluster& c) {
    const std::int64_t gpus = l.gpus();
    const std::int32_t node = c.node_size();
    if (gpus > c.gpus || l.tensor > node || (gpus > node && node % l.tensor != 0)) return false;
    if (!detail::splits_evenly(j.model, j.runtime.layouts, l.tensor)) return false;
    if (l.pipeline > j.model.layers.size || (l.pipeline > 1 && !j.runtime.layouts.pipeline)) return false;
    return has_searched_experts(j, l) && (trains(j) ? is_searched_training(j, l) : is_searched_serving(j, l, c));
}

/// A layout that fits, as far as a search compares it.
struct planned {
    float score = 0;  ///< seconds a token
    llmres::layout layout{};
    job_choice choice{};
    interval<byte_count> memory{};
    double step = 0;  ///< seconds
};

inline planned of(const job& j, const job_plan& p) {
    return {.score = static_cast<float>(1 / p.speed.tokens_per_second.in(tokens_per_s)),
            .layout = p.layout,
            .choice = choice_of(j),
            .memory = p.memory.total(),
            .step = p.speed.step.total().expected.in(seconds)};
}

/// The order of layouts by throughput, and of equal ones by what is simpler.
inline bool before(const planned& a, const planned& b) {
    const auto key = [](const planned& p) {
        const layout& l = p.layout;
        const job_choice& c = p.choice;
        return std::tuple_cat(std::tuple{p.score, l.gpus(), l.pipeline, l.virtual_pipeline, l.context_parallel,
                                         l.expert, l.zero, l.tensor, l.expert_tensor_ranks(), l.data, l.schedule},
                              std::tuple{c.offload.parameters, c.offload.activations, c.offload.optimizer, c.recompute,
                                         c.recompute_modules.bits, c.recompute_every, c.micro_batch});
    };
    return key(a) < key(b);
}

/// Those that none beats both in throughput and in the number of GPUs, by falling throughput.
inline std::vector<planned> front_of(std::vector<planned> all) {
    std::sort(all.begin(), all.end(), before);
    std::vector<planned> front;
    for (const planned& p : all)
        if (front.empty() || p.layout.gpus() < front.back().layout.gpus()) front.push_back(p);
    return front;
}

/// Whether a search found the same layout with the same choice, memory and time.
inline bool same(const planned& a, const found_layout& b) {
    const interval<byte_count> held = b.plan.memory.total();
    return a.layout == b.plan.layout && a.choice == b.choice && a.memory.low == held.low &&
           a.memory.expected == held.expected && a.memory.high == held.high &&
           a.step == b.plan.speed.step.total().expected.in(seconds) && a.score == static_cast<float>(b.next_score);
}

}  // namespace plain_space
