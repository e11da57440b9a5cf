// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "cuda_timing.cuh"

/// Between the devices of one machine: what they can do to each other, copies, and sums over all of them.
namespace llmres::probe {

inline void peer_facts(int from, int to, device_peer& into) {
    const auto ask = [&](cudaDeviceP2PAttr which) {
        return number_of("cudaDeviceGetP2PAttribute",
                         [&](int* value) { return cudaDeviceGetP2PAttribute(value, which, from, to); });
    };
    const auto is_set = [](std::int32_t value) { return value != 0; };
    into.access = then(ask(cudaDevP2PAttrAccessSupported), is_set);
    into.native_atomics = then(ask(cudaDevP2PAttrNativeAtomicSupported), is_set);
    into.performance_rank = ask(cudaDevP2PAttrPerformanceRank);
}

inline samples time_peer_copy(int from, int to, std::uint64_t size, const timing& how) {
    constexpr std::uint64_t seed = 14;
    size -= size % 8;
    int direct = 0;
    must("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&direct, from, to));
    must("cudaSetDevice", cudaSetDevice(to));
    const scratch there = scratch_of(size);
    const scratch counter = scratch_of(8);
    must("cudaMemset", cudaMemset(there.get(), 0, size));
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    must("cudaSetDevice", cudaSetDevice(from));
    if (direct != 0) {
        const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
        if (code == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();
        else
            must("cudaDeviceEnablePeerAccess", code);
    }
    const scratch here = scratch_of(size);
    kernels::launch_fill(here.get(), size, seed);
    const auto all = stopwatch{}.time(
        how, [&] { must("cudaMemcpyPeerAsync", cudaMemcpyPeerAsync(there.get(), to, here.get(), from, size)); });
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    must("cudaSetDevice", cudaSetDevice(to));
    must_be_right(kernels::differences(there.get(), size, seed, static_cast<kernels::counter*>(counter.get())));
    must("cudaSetDevice", cudaSetDevice(from));
    return all;
}

/// One device's part in a sum over all.
struct all_reduce_member {
    scratch send, receive;
    owned<cudaStream_t, &cudaStreamDestroy> stream;

    all_reduce_member(int device, std::uint64_t floats) {
        must("cudaSetDevice", cudaSetDevice(device));
        send = scratch_of(floats * 4), receive = scratch_of(floats * 4);
        stream =
            make_owned<decltype(stream)>("cudaStreamCreate", [](cudaStream_t* into) { return cudaStreamCreate(into); });
        kernels::fill_ranked<<<kernels::blocks_for(floats), kernels::threads>>>(static_cast<float*>(send.get()), floats,
                                                                                device);
        must("rank kernel", cudaGetLastError());
        must("rank kernel", cudaDeviceSynchronize());
    }
};

/// Whether a sum over all ranks is right where it is looked at.
inline bool sum_is_right(const all_reduce_member& member, std::uint64_t floats, int ranks) {
    std::array<float, 1024> found{};
    for (std::uint64_t sample = 0; sample < 8; ++sample) {
        const std::uint64_t first = pattern_word(23, sample) % (floats - found.size());
        must("cudaMemcpy", cudaMemcpy(found.data(), static_cast<const float*>(member.receive.get()) + first,
                                      sizeof found, cudaMemcpyDeviceToHost));
        for (std::uint64_t i = 0; i < found.size(); ++i)
            if (found[i] != static_cast<float>(ranks * (ranks + 1) / 2 * static_cast<int>((first + i) % 7 + 1)))
                return false;
    }
    return true;
}

inline checked_samples time_all_reduce(nccl& library, std::int32_t devices, std::uint64_t size, const timing& how) {
    library.open(devices);
    const std::uint64_t floats = size / 4;
    std::vector<all_reduce_member> members;
    std::vector<void*> send, receive, streams;
    for (int i = 0; i < devices; ++i) {
        const all_reduce_member& member = members.emplace_back(i, floats);
        send.push_back(member.send.get());
        receive.push_back(member.receive.get());
        streams.push_back(member.stream.get());
    }
    const samples times = sampled(how, [&] {  // by the wall clock, for no device's clock sees the others
        const auto begin = std::chrono::steady_clock::now();
        library.all_reduce(send, receive, floats, streams);
        for (const auto& member : members) must("ncclAllReduce", cudaStreamSynchronize(member.stream.get()));
        return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
    });
    bool right = true;
    for (const auto& member : members) right = right && sum_is_right(member, floats, devices);
    return {times, right};
}

}  // namespace llmres::probe
