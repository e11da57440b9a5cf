// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <vector>

/// What tests of searches start from.
namespace search_jobs {

using namespace llmres;

inline cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }

inline job serving(const model& m, std::int64_t batch) {
    return {.model = m, .batch = batch, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::vllm};
}
inline job training(const model& m, std::int64_t global_batch, token_count sequence = tokens(4096)) {
    return {.model = m,
            .task = task::pretraining,
            .sequence = sequence,
            .global_batch = global_batch,
            .recompute = recompute::full,
            .runtime = runtimes::megatron};
}
inline double rate(const job_plan& p) { return p.speed.tokens_per_second.in(tokens_per_s); }
/// Whether two searches found the same.
inline void check_same(const std::vector<found_layout>& a, const std::vector<found_layout>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].plan.layout == b[i].plan.layout);
        CHECK(a[i].choice == b[i].choice);
        CHECK(a[i].score == b[i].score);
        CHECK(a[i].next_score == b[i].next_score);
    }
}

}  // namespace search_jobs
