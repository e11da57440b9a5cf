// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <set>
#include <vector>

/// Jobs whose layouts tests walk, and the layouts of a walk.
namespace walked_jobs {

using namespace llmres;

/// The layouts that a walk visits on so many H100.
inline std::vector<layout> tried(const job& j, std::int32_t gpus, const layout_space& space = {}) {
    std::vector<layout> all;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, gpus).value();
    for_each_layout(j, space, c, [&](const layout& l) {
        all.push_back(l);
        return false;
    });
    return all;
}
inline job serving(const model& m, std::int64_t batch = 64, const runtime& r = runtimes::vllm) {
    return {.model = m, .batch = batch, .context = tokens(4096), .runtime = r};
}
inline job training(const model& m, std::int64_t batch, const runtime& r = runtimes::megatron) {
    return {.model = m, .task = task::pretraining, .sequence = tokens(8192), .global_batch = batch, .runtime = r};
}
/// The values that one degree takes.
template <class Degree>
std::set<std::int32_t> values(const std::vector<layout>& all, Degree degree) {
    std::set<std::int32_t> found;
    for (const layout& l : all) found.insert(l.*degree);
    return found;
}

/// A model with so many of its last layer.
inline model cut(const model& m, std::int32_t layers) {
    model less = m;
    less.layers = {layers, m.layers[m.layers.size - 1]};
    return less;
}

}  // namespace walked_jobs
