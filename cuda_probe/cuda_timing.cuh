// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "cublas.hpp"
#include "cuda_kernels.cuh"
#include "nccl.hpp"

/// What is timed on the device, and how each result is checked. A time whose result was wrong is no time.
namespace llmres::probe {

/// Does it twice at least, and for so long; then so many samples of what once() returns.
template <class Once>
samples sampled(const timing& how, Once&& once) {
    const std::chrono::duration<double> warm{how.warm_s};
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 2 || std::chrono::steady_clock::now() - begin < warm; ++i) once();
    samples all;
    for (std::int32_t i = 0; i < how.repeats; ++i) all.push_back(once());
    return all;
}

class stopwatch {
public:
    /// Device time of each repeat.
    template <class Action>
    samples time(const timing& how, Action&& action) {
        return sampled(how, [&] {
            must("cudaEventRecord", cudaEventRecord(begin_.get()));
            action();
            must("cudaEventRecord", cudaEventRecord(end_.get()));
            must("cudaEventSynchronize", cudaEventSynchronize(end_.get()));
            float milliseconds = 0;
            must("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
            return milliseconds / 1000.0;
        });
    }

private:
    using event = owned<cudaEvent_t, &cudaEventDestroy>;
    static event create() {
        return make_owned<event>("cudaEventCreate", [](cudaEvent_t* into) { return cudaEventCreate(into); });
    }
    event begin_ = create();
    event end_ = create();
};

inline void must_be_right(std::int64_t differences) {
    if (differences != 0) throw call_failed{"wrong result: " + std::to_string(differences) + " words differ"};
}

/// The kernel sums up what it reads, and the host what it should have read.
inline samples time_device_read(std::uint64_t size, const timing& how, kernels::counter* counter) {
    constexpr std::uint64_t seed = 11;
    const scratch source = scratch_of(size);
    kernels::launch_fill(source.get(), size, seed);
    int sms = 0;
    int device = 0;
    must("cudaGetDevice", cudaGetDevice(&device));
    must("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    const auto read = [&] {
        kernels::sum<<<static_cast<unsigned>(sms) * 16, kernels::threads>>>(
            static_cast<const ulonglong2*>(source.get()), size / 16, counter);
        must("read kernel", cudaGetLastError());
    };
    const auto all = stopwatch{}.time(how, read);
    kernels::counter found = 0;
    must("cudaMemset", cudaMemset(counter, 0, sizeof *counter));
    read();
    must("cudaMemcpy", cudaMemcpy(&found, counter, sizeof found, cudaMemcpyDeviceToHost));
    std::uint64_t wanted = 0;
    for (std::uint64_t i = 0; i < size / 16 * 2; ++i) wanted += pattern_word(seed, i);
    if (found != wanted) throw call_failed{"wrong result: the sum of what was read"};
    return all;
}

inline samples time_host_copy(std::uint64_t size, bool to_device, const timing& how, kernels::counter* counter) {
    constexpr std::uint64_t seed = 13;
    size -= size % 8;
    const auto host = make_owned<owned<void*, &cudaFreeHost>>(  // page-locked
        "cudaHostAlloc", [size](void** into) { return cudaHostAlloc(into, size, cudaHostAllocDefault); });
    auto* const words = static_cast<std::uint64_t*>(host.get());
    const scratch device = scratch_of(size);
    for (std::uint64_t i = 0; i < size / 8; ++i) words[i] = to_device ? pattern_word(seed, i) : 0;
    if (!to_device) kernels::launch_fill(device.get(), size, seed);
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    const auto all = stopwatch{}.time(how, [&] {
        must("cudaMemcpyAsync", to_device ? cudaMemcpyAsync(device.get(), words, size, cudaMemcpyHostToDevice)
                                          : cudaMemcpyAsync(words, device.get(), size, cudaMemcpyDeviceToHost));
    });
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    if (to_device) {
        must_be_right(kernels::differences(device.get(), size, seed, counter));
    } else {
        std::int64_t wrong = 0;
        for (std::uint64_t i = 0; i < size / 8; ++i) wrong += words[i] != pattern_word(seed, i) ? 1 : 0;
        must_be_right(wrong);
    }
    return all;
}

/// Elements of C against the host's own sums of the same factors. What a wrong product would be off by grows with the
/// root of `inner`; the bound is far below that, and above what rounding of sums and results makes.
inline bool product_is_right(const product_shape& s, const void* c) {
    const element kind = s.kind, out = product_element(kind);
    const bool whole = kind == element::int8;
    const auto width = static_cast<std::size_t>(whole ? 4 : element_bytes(out));
    const auto inner = static_cast<std::uint64_t>(s.inner);
    std::vector<char> column(static_cast<std::size_t>(s.rows) * width);
    for (std::uint64_t sample = 0; sample < looks; ++sample) {
        const auto [i, j] = look_of(sample, s.rows, s.columns);
        if (sample % looks_a_column == 0)
            must("cudaMemcpy", cudaMemcpy(column.data(), static_cast<const char*>(c) + j * column.size(), column.size(),
                                          cudaMemcpyDeviceToHost));
        double wanted = 0;
        for (std::uint64_t k = 0; k < inner; ++k)
            wanted += element_value(kind, element_bits(kind, 1, i * inner + k)) *
                      element_value(kind, element_bits(kind, 2, j * inner + k));
        std::uint32_t raw = 0;
        std::memcpy(&raw, column.data() + i * width, width);
        const double found = whole ? static_cast<double>(static_cast<std::int32_t>(raw)) : element_value(out, raw);
        const double allowed = whole ? 0.0 : 0.01 * std::abs(wanted) + 0.02 * std::sqrt(static_cast<double>(inner));
        if (!(std::abs(found - wanted) <= allowed)) return false;
    }
    return true;
}

inline checked_samples time_product(cublas& library, const product_shape& s, const timing& how) {
    library.open();
    const auto items = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
    const std::size_t in_a = items(s.inner, s.rows), in_b = items(s.inner, s.columns), in_c = items(s.rows, s.columns);
    const auto width = static_cast<std::size_t>(element_bytes(s.kind));
    const scratch a = scratch_of(in_a * width), b = scratch_of(in_b * width), c = scratch_of(in_c * 4);
    constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
    const scratch workspace = scratch_of(workspace_bytes);
    kernels::launch_fill_elements(a.get(), in_a, s.kind, 1);
    kernels::launch_fill_elements(b.get(), in_b, s.kind, 2);
    must("cudaMemset", cudaMemset(c.get(), 0xff, in_c * 4));
    // Small products run back to back, so that the device is timed and not the launch; large ones singly.
    const double operations = s.operations();
    const int batch = operations > 4e11 ? 1 : operations < 4e9 ? 100 : static_cast<int>(4e11 / operations);
    samples times = stopwatch{}.time(how, [&] {
        for (int i = 0; i < batch; ++i)
            library.multiply(s, a.get(), b.get(), c.get(), workspace.get(), workspace_bytes);
    });
    for (double& one : times) one /= batch;
    return {times, product_is_right(s, c.get())};
}

// ---- between the devices of one machine: copies, and sums over all of them

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
