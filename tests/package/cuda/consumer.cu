// SPDX-License-Identifier: MIT
// A CUDA program that refuses to build where its job does not fit, and fills what it planned on the GPU.
#include <llmres/answers/buffers.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/llmres.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <cstdint>
#include <cstdio>

using namespace llmres;

constexpr cluster one_h100{.gpu = gpus::h100_sxm5_80gb};
constexpr job chat{.model = models::llama_3_1_8b, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
static constexpr job_plan answer = plan(chat, layout{}, one_h100).value();
static_assert(must_fit<answer>());

// Counts stay within 64 bits here, too, where nvcc has no compiler's builtins for it.
constexpr byte_count most = (byte_count::max)();
constexpr byte_count least = byte_count{} - most - bytes(1);
static_assert(most + bytes(1) == most && most - bytes(-1) == most && least - bytes(1) == least &&
              least + least == least);
static_assert(gib(3) * 4 == gib(12) && bytes(-3) * 4 == bytes(-12) && bytes(-3) * -4 == bytes(12) &&
              most * 0 == bytes(0));
static_assert(most * 2 == most && least * 2 == least && most * -2 == least && least * -1 == most && least * 1 == least);

// Quantities are computed in device code, too (nvcc --expt-relaxed-constexpr); makers like `bytes` stay on the host.
constexpr byte_count one_byte = bytes(1);
__global__ void fill(unsigned char* memory, byte_count size, byte_count each) {
    const byte_count first = each * static_cast<std::int64_t>(blockIdx.x * blockDim.x + threadIdx.x);
    for (byte_count at = first; at < first + each && at < size; at += one_byte) memory[at.base()] = 1;
}

int main() {
    byte_count planned{};
    byte_count largest{};
    for_each_buffer(chat, one_h100, answer, [&](const buffer& b) {
        planned += b.size * b.count;
        if (b.size > largest) largest = b.size;
    });
    std::printf("%lld bytes in buffers, the largest of %lld\n", static_cast<long long>(planned.in(bytes)),
                static_cast<long long>(largest.in(bytes)));

    unsigned char* memory = nullptr;
    if (cudaMalloc(&memory, static_cast<std::size_t>(largest.in(bytes))) == cudaSuccess) {  // else there is no GPU
        constexpr int threads = 256;
        constexpr int blocks = 64;
        fill<<<blocks, threads>>>(memory, largest, div_up(largest, threads * blocks));
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        cudaFree(memory);
    }
    const byte_count weights = answer.memory[memory_term::weights].expected;
    return weights > gib(14) && planned > weights && planned < answer.memory.total().high ? 0 : 1;
}
