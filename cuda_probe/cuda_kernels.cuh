// SPDX-License-Identifier: MIT
#pragma once

#include "cuda_memory.cuh"
#include "pattern.hpp"

/// The probe's kernels. Each walks its data in strides of the whole grid, so that one launch shape serves every size.
namespace llmres::probe::kernels {

using counter = unsigned long long;

constexpr unsigned threads = 256;

inline unsigned blocks_for(std::uint64_t items) {
    const std::uint64_t wanted = (items + threads - 1) / threads;
    return static_cast<unsigned>(wanted < 1 ? 1 : wanted > 65'536 ? 65'536 : wanted);
}

__global__ void nothing() {}

/// Calls each(i) for this thread's part of so many items.
template <class Each>
__device__ void for_share(std::uint64_t count, Each&& each) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) each(i);
}

__global__ void fill(std::uint64_t* words, std::uint64_t size, std::uint64_t seed) {
    for_share(size / 8, [&](std::uint64_t i) { words[i] = pattern_word(seed, i); });
}

__global__ void count_differences(const std::uint64_t* words, std::uint64_t size, std::uint64_t seed,
                                  counter* differences) {
    counter found = 0;
    for_share(size / 8, [&](std::uint64_t i) { found += words[i] != pattern_word(seed, i) ? 1 : 0; });
    if (found != 0) atomicAdd(differences, found);
}

/// Adds all words up, modulo 2^64: reading and nothing else. 16 bytes a load, four loads in flight a thread.
__global__ void __launch_bounds__(threads) sum(const ulonglong2* pairs, std::uint64_t count, counter* total) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    counter mine = 0;
    std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < count; i += 4 * stride) {
        const ulonglong2 a = __ldcs(pairs + i), b = __ldcs(pairs + i + stride);
        const ulonglong2 c = __ldcs(pairs + i + 2 * stride), d = __ldcs(pairs + i + 3 * stride);
        mine += a.x + a.y + b.x + b.y + c.x + c.y + d.x + d.y;
    }
    for (; i < count; i += stride) mine += pairs[i].x + pairs[i].y;
    // One atomic a block: tens of thousands on one word would take a part of the time that is measured.
    __shared__ counter of_block;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    for (unsigned lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(0xffffffffU, mine, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(&of_block, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, of_block);
}

template <class Bits>
__global__ void fill_elements(Bits* into, std::uint64_t count, element kind, std::uint64_t seed) {
    for_share(count, [&](std::uint64_t i) { into[i] = static_cast<Bits>(element_bits(kind, seed, i)); });
}

/// (rank + 1) * (i % 7 + 1): sums of these over ranks are exact in fp32.
__global__ void fill_ranked(float* into, std::uint64_t count, int rank) {
    for_share(count, [&](std::uint64_t i) { into[i] = static_cast<float>((rank + 1) * static_cast<int>(i % 7 + 1)); });
}

inline void launch_fill(void* address, std::uint64_t size, std::uint64_t seed) {
    fill<<<blocks_for(size / 8), threads>>>(static_cast<std::uint64_t*>(address), size, seed);
    must("fill kernel", cudaGetLastError());
}

/// How many words differ from what launch_fill() writes; waits. `count` is 8 bytes of
/// device memory.
inline std::int64_t differences(const void* address, std::uint64_t size, std::uint64_t seed, counter* count) {
    must("cudaMemset", cudaMemset(count, 0, sizeof *count));
    count_differences<<<blocks_for(size / 8), threads>>>(static_cast<const std::uint64_t*>(address), size, seed, count);
    must("verify kernel", cudaGetLastError());
    counter found = 0;
    must("verify kernel", cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost));
    return static_cast<std::int64_t>(found);
}

inline void launch_fill_elements(void* address, std::uint64_t count, element kind, std::uint64_t seed) {
    const auto fill_as = [&]<class Bits>(Bits* into) {
        fill_elements<<<blocks_for(count), threads>>>(into, count, kind, seed);
        must("element kernel", cudaGetLastError());
    };
    const int width = element_bytes(kind);
    if (width == 4) return fill_as(static_cast<std::uint32_t*>(address));
    if (width == 2) return fill_as(static_cast<std::uint16_t*>(address));
    fill_as(static_cast<std::uint8_t*>(address));
}

}  // namespace llmres::probe::kernels
