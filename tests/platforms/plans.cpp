// SPDX-License-Identifier: MIT
// Plans every model on three GPUs for four jobs, and prints each figure as an integer: sizes in bytes, and times and
// rates as the 64 bits of the double. tests/platforms/run compares what compilers and machines print.
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

void show(const interval<byte_count>& size) {
    std::printf(" %" PRId64 "/%" PRId64 "/%" PRId64, size.low.base(), size.expected.base(), size.high.base());
}
void show(double number) { std::printf(" %016" PRIx64, std::bit_cast<std::uint64_t>(number)); }
void show(const interval<duration>& time) {
    show(time.low.base());
    show(time.expected.base());
    show(time.high.base());
}

void show_plan(const job& j, const layout& l, const cluster& c) {
    const auto answer = plan(j, l, c);
    if (!answer) {
        const error& e = answer.error();
        std::printf(" %s %s %s\n", name_of(e.code).data(), e.field.characters, e.value.characters);
        return;
    }
    std::printf(" %d", static_cast<int>(answer->verdict));
    show(answer->memory.total());
    for (const auto& term : answer->memory.terms) show(term);
    show(answer->memory.allocated);
    show(answer->memory.reserved);
    show(answer->host_memory);
    show(answer->speed.step.total());
    show(answer->speed.prefill.total());
    show(answer->speed.tokens_per_second.base());
    show(answer->speed.mfu);
    std::printf("\n");
}

}  // namespace

int main() {
    const gpu* const devices[]{&gpus::h100_sxm5_80gb, &gpus::rtx_4090, &gpus::mi300x_192gb};
    for (const model* m : models::all) {
        job serving{.model = *m, .batch = 8, .context = tokens(2048), .runtime = runtimes::vllm};
        job from_gguf{.model = *m, .context = tokens(4096), .runtime = runtimes::llama_cpp};
        from_gguf.gguf = gguf_mix{};  // Q4_K_M
        job pretraining{.model = *m, .task = task::pretraining, .sequence = tokens(2048), .runtime = runtimes::pytorch};
        pretraining.recompute = recompute::full;
        job finetuning{.model = *m, .task = task::finetuning, .sequence = tokens(1024), .micro_batch = 2};
        finetuning.runtime = runtimes::huggingface;
        finetuning.adapter = {.kind = adapter_kind::lora, .rank = 16};
        for (const gpu* device : devices) {
            const cluster node = *standard_cluster(*device, 8);
            const auto show_job = [&](const char* name, const job& j, const layout& l) {
                std::printf("%s %s %s", m->name.characters, device->name.characters, name);
                show_plan(j, l, node);
            };
            show_job("serving", serving, {.tensor = 2});
            show_job("gguf", from_gguf, {});
            show_job("pretraining", pretraining, {.data = 8, .zero = 3});
            show_job("lora", finetuning, {});
        }
    }
}
