// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>

/// Which layouts are tried where a job names none?
namespace llmres::inline v0 {

namespace detail {

/// Whether a tensor degree divides the attention heads of every layer.
constexpr bool divides_heads(const model& m, std::int32_t tensor) {
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const attention& a = m.layers.kinds[static_cast<std::size_t>(k)].attention;
        if (a.kind != attention_kind::none && a.heads % tensor != 0) return false;
    }
    return true;
}

}  // namespace detail

/// Calls try_layout(layout) -> bool for the layouts of tensor and pipeline parallelism on `gpus` GPUs: tensor
/// parallelism inside a node, the largest degree first. Stops where it returns true, and returns whether it did.
template <class Try>
constexpr bool for_each_layout(const job& j, std::int32_t gpus, const cluster& c, Try&& try_layout) {
    const std::int32_t node = c.node_size();
    for (std::int32_t tensor = gpus < node ? gpus : node; tensor >= 1; --tensor) {
        if (gpus % tensor != 0 || !detail::divides_heads(j.model, tensor)) continue;
        const std::int32_t pipeline = gpus / tensor;
        if (pipeline > j.model.layers.size) continue;
        if (try_layout(layout{.tensor = tensor, .pipeline = pipeline})) return true;
    }
    return false;
}

}  // namespace llmres::inline v0
