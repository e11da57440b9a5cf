// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/jobs/serving_options.hpp>
#include <type_traits>

using namespace llmres;

TEST_CASE("options are plain values, which a job carries") {
    CHECK(std::is_trivially_copyable_v<serving_options>);
    CHECK(std::is_aggregate_v<serving_options>);
}

TEST_CASE("a caller who names no option leaves everything on GPUs, without adapters or a draft") {
    constexpr serving_options none{};
    static_assert(none.max_num_seqs == 0);
    static_assert(!none.gpu_layers);
    static_assert(!none.experts_on_host);
    static_assert(none.host_expert_layers == 0);
    static_assert(none.max_loras == 0);
    static_assert(!none.speculates_ahead);
    static_assert(none.draft_weights == byte_count{});
    static_assert(none.max_lora_rank == 16);  // vLLM's own default
    static_assert(none.draft.layers == 0);
    static_assert(none.draft.hidden == 0);
}

TEST_CASE("a driver's largest buffer is the one that was named, or Vulkan's, or any") {
    serving_options asked;
    CHECK(largest_buffer_of(asked) == byte_count{});
    asked.backend = ggml_backend::vulkan;
    CHECK(largest_buffer_of(asked) == gib(4));
    asked.largest_buffer = bytes(1);
    CHECK(largest_buffer_of(asked) == bytes(1));
}

TEST_CASE("a step makes a sequence's own token, and of those that are drafted the part that is accepted") {
    serving_options asked;
    CHECK(tokens_a_step(asked) == 1.0);
    asked.draft_tokens = 5;
    CHECK(tokens_a_step(asked) == 1.0);  // none is known to be accepted
    asked.acceptance = 0.5;
    CHECK(tokens_a_step(asked) == 3.5);
    asked.acceptance = 1.0;
    CHECK(tokens_a_step(asked) == 6.0);
}
