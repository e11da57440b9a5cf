// SPDX-License-Identifier: MIT
#include <llmres/runtimes/runtime.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/vllm.hpp>
#include <type_traits>

using namespace llmres;

TEST_CASE("a runtime and each of its parts is a plain value") {
    static_assert(std::is_trivially_copyable_v<runtime> && std::is_aggregate_v<runtime>);
    static_assert(std::is_aggregate_v<runtime_process> && std::is_aggregate_v<runtime_cache>);
    static_assert(std::is_aggregate_v<serving_step> && std::is_aggregate_v<training_kernels>);
}

TEST_CASE("a new version is a short value: the one before, what changed, and from when on") {
    // As if vLLM 0.30 admitted 512 sequences by default (docs/contributing/add-a-runtime-version.md).
    constexpr auto admits_more = [] {
        runtime r = runtimes::vllm;
        r.step.max_num_seqs = 512;
        return r;
    };
    constexpr runtime vllm_0_30 = for_versions(admits_more(), "0.30 and later", {0, 30, 0});
    static_assert(covers(vllm_0_30.identity, {0, 31, 2}) && !covers(vllm_0_30.identity, {0, 29}));
    static_assert(step_on(vllm_0_30.step, gib(24), false).max_num_seqs == 512);
    static_assert(step_on(vllm_0_30.step, gib(80), false).max_num_seqs == 1024);  // of large devices, as before
    static_assert(vllm_0_30.cache.fraction == runtimes::vllm.cache.fraction);
    static_assert(vllm_0_30 != runtimes::vllm);
}
