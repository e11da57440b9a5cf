// SPDX-License-Identifier: MIT
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "cuda_api.hpp"

/// Calls into CUDA that must go well, inside the CUDA translation unit, and the three ways to get device memory.
namespace llmres::probe {

inline void must(const char* call, cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // so that the next call does not report this one
    throw call_failed{std::string{call} + ": " + cudaGetErrorName(code), code == cudaErrorMemoryAllocation};
}
inline void must(const char* call, CUresult code) {
    if (code != CUDA_SUCCESS)
        throw call_failed{std::string{call} + ": CUresult " + std::to_string(static_cast<int>(code)),
                          code == CUDA_ERROR_OUT_OF_MEMORY};
}

/// A number that `ask(&number)` tells.
template <class Ask>
reading<std::int32_t> number_of(const char* call, Ask&& ask) {
    return reading_of([&] {
        int number = 0;
        must(call, ask(&number));
        return std::int32_t{number};
    });
}

/// A function of the driver, without linking to it; null where the driver does not know it.
template <class Function>
Function* driver_function(const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult state{};
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &state);
    if (code != cudaSuccess) cudaGetLastError();
    return code == cudaSuccess && state == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

/// What CUDA made, and the function that ends it.
template <auto End>
struct ends_with {
    template <class T>
    void operator()(T* made) const {
        End(made);
    }
};
template <class Handle, auto End>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, ends_with<End>>;
/// What `make(&handle)` makes; throws by the name of the call.
template <class Owned, class Make>
Owned make_owned(const char* call, Make&& make) {
    typename Owned::pointer handle = nullptr;
    must(call, make(&handle));
    return Owned{handle};
}

/// Device memory of the probe's own.
using scratch = owned<void*, &cudaFree>;
inline scratch scratch_of(std::size_t size) {
    return make_owned<scratch>("cudaMalloc", [size](void** into) { return cudaMalloc(into, size); });
}

/// The driver's functions of virtual memory management.
struct virtual_memory_calls {
    template <class Function>
    static Function* known(const char* name) {
        auto* const found = driver_function<Function>(name, 10020);
        if (found == nullptr) throw call_failed{"this driver has no virtual memory management"};
        return found;
    }
    decltype(cuMemGetAllocationGranularity)* granularity =
        known<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
    decltype(cuMemCreate)* create = known<decltype(cuMemCreate)>("cuMemCreate");
    decltype(cuMemAddressReserve)* reserve = known<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
    decltype(cuMemMap)* map = known<decltype(cuMemMap)>("cuMemMap");
    decltype(cuMemSetAccess)* access = known<decltype(cuMemSetAccess)>("cuMemSetAccess");
    decltype(cuMemUnmap)* unmap = known<decltype(cuMemUnmap)>("cuMemUnmap");
    decltype(cuMemRelease)* release = known<decltype(cuMemRelease)>("cuMemRelease");
    decltype(cuMemAddressFree)* free = known<decltype(cuMemAddressFree)>("cuMemAddressFree");
};

/// Virtual memory management, through the driver's functions.
class virtual_memory {
public:
    void open(int device) {
        if (call_) return;
        call_.emplace();
        what_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        what_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        what_.location.id = device;
    }
    byte_count granularity() const {
        std::size_t found = 0;
        must("cuMemGetAllocationGranularity", call_->granularity(&found, &what_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        return bytes(static_cast<std::int64_t>(found));
    }
    /// Its size is that of whole granules.
    block allocate(byte_count size) {
        const byte_count held = aligned_up(size, granularity());
        const auto room = static_cast<std::size_t>(held.base());
        CUmemGenericAllocationHandle handle{};
        must("cuMemCreate", call_->create(&handle, room, &what_, 0));
        CUdeviceptr address{};
        bool mapped = false;
        try {
            must("cuMemAddressReserve", call_->reserve(&address, room, 0, 0, 0));
            must("cuMemMap", call_->map(address, room, 0, handle, 0));
            mapped = true;
            const CUmemAccessDesc rights{what_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            must("cuMemSetAccess", call_->access(address, room, &rights, 1));
        } catch (const call_failed&) {
            if (mapped) call_->unmap(address, room);
            if (address != 0) call_->free(address, room);
            call_->release(handle);
            throw;
        }
        return {allocator_kind::virtual_memory, address, held, handle};
    }
    void release(const block& held) const {
        const auto room = static_cast<std::size_t>(held.size.base());
        must("cudaDeviceSynchronize", cudaDeviceSynchronize());
        must("cuMemUnmap", call_->unmap(held.address, room));
        must("cuMemRelease", call_->release(held.handle));
        must("cuMemAddressFree", call_->free(held.address, room));
    }

private:
    CUmemAllocationProp what_{};
    std::optional<virtual_memory_calls> call_;
};

/// A pool of the probe's own, which keeps what it has until trimmed: with the default pool's release threshold of 0,
/// every wait would give memory back and the figures would depend on when we looked.
class memory_pool {
public:
    block allocate(int device, byte_count size) {
        if (!pool_) {
            cudaMemPoolProps what{};
            what.allocType = cudaMemAllocationTypePinned;
            what.location.type = cudaMemLocationTypeDevice;
            what.location.id = device;
            pool_ = make_owned<pool>("cudaMemPoolCreate", [&](auto into) { return cudaMemPoolCreate(into, &what); });
            std::uint64_t keep = ~std::uint64_t{0};
            must("cudaMemPoolSetAttribute",
                 cudaMemPoolSetAttribute(pool_.get(), cudaMemPoolAttrReleaseThreshold, &keep));
        }
        void* address = nullptr;
        must("cudaMallocFromPoolAsync",
             cudaMallocFromPoolAsync(&address, static_cast<std::size_t>(size.base()), pool_.get(), nullptr));
        must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
        return {allocator_kind::stream_ordered, reinterpret_cast<std::uint64_t>(address), size, 0};
    }
    static void release(const block& held) {
        must("cudaFreeAsync", cudaFreeAsync(reinterpret_cast<void*>(held.address), nullptr));
    }
    void trim() {
        must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
        if (pool_) must("cudaMemPoolTrimTo", cudaMemPoolTrimTo(pool_.get(), 0));
    }

private:
    using pool = owned<cudaMemPool_t, &cudaMemPoolDestroy>;
    pool pool_;
};

}  // namespace llmres::probe
