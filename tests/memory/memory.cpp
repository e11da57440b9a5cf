// SPDX-License-Identifier: MIT
#include <llmres/memory/memory.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/gpus/other.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

job chat(const runtime& r) { return {.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = r}; }

}  // namespace

TEST_CASE("an engine takes larger steps on devices of 70 GiB and more, but for the A100") {
    CHECK(on_device(runtimes::vllm_v1_9, gpus::h100_sxm5_80gb, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.larger_devices[0].max_batched_tokens);
    CHECK(on_device(runtimes::vllm_v1_9, gpus::a100_sxm4_80gb, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.max_batched_tokens);
    CHECK(on_device(runtimes::vllm_v1_9, gpus::rtx_4090, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.max_batched_tokens);
    runtime said = runtimes::vllm_v1_9;
    set_batched_tokens(said.step, tokens(512));
    CHECK(on_device(said, gpus::h100_sxm5_80gb, layout{}).step.max_batched_tokens == tokens(512));
}

TEST_CASE("a context that was measured is the least that an engine's takes") {
    gpu card = gpus::h100_sxm5_80gb;
    CHECK(context_on(runtimes::vllm_v1_9, card) == runtimes::vllm_v1_9.process.context);
    card.measured.context = gib(1);
    const interval<byte_count> context = context_on(runtimes::vllm_v1_9, card);
    CHECK(context.low == gib(1));
    CHECK(context.high ==
          (runtimes::vllm_v1_9.process.context.high > gib(1) ? runtimes::vllm_v1_9.process.context.high : gib(1)));
    CHECK(context_on(no_runtime, card) == no_runtime.process.context);
    const job trained{.model = models::llama_3_2_1b,
                      .task = task::pretraining,
                      .sequence = tokens(512),
                      .runtime = runtimes::pytorch};
    CHECK(memory_of(trained, layout{}, {.gpu = card})[memory_term::runtime].low >= gib(1));
}

TEST_CASE("an engine with a fraction of the device may use that and its context, another all that is free") {
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    const byte_count all = available_memory(one);
    CHECK(usable_memory(chat(runtimes::llama_cpp), one) == all);
    job j = chat(runtimes::vllm_v1_9);
    j.runtime.cache.fraction = 0.5;
    const byte_count half = usable_memory(j, one);
    CHECK(half < all);
    CHECK(half >= scaled_down(usable_memory(one.gpu), 0.5));
    j.runtime.cache.fraction = 1.0;
    j.runtime.cache.refuses_less = false;
    CHECK(usable_memory(j, one) == all);
    j.runtime.cache.refuses_less = true;  // its own context is in the way
    CHECK(usable_memory(j, one) == byte_count{});
}

TEST_CASE("an engine that insists on its fraction uses nothing where others hold a part of it") {
    cluster shared{.gpu = gpus::h100_sxm5_80gb};
    job j = chat(runtimes::vllm_v1_9);
    j.runtime.cache.refuses_less = true;
    CHECK(usable_memory(j, shared) > byte_count{});
    CHECK(memory_fits(j, layout{}, shared));
    shared.in_use = gib(20);
    CHECK(usable_memory(j, shared) == byte_count{});
    CHECK_FALSE(memory_fits(j, layout{}, shared));
    j.runtime.cache.fraction = 0.5;
    CHECK(memory_fits(j, layout{}, shared));
}
