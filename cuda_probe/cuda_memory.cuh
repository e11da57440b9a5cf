// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "cuda_error.cuh"

/// The three ways to get device memory.
namespace llmres::probe {

/// Virtual memory management, through the driver's functions.
class virtual_memory {
public:
    void open(int device) {
        if (create_ != nullptr) return;
        resolve_driver(granularity_, "cuMemGetAllocationGranularity", 10020);
        resolve_driver(create_, "cuMemCreate", 10020);
        resolve_driver(reserve_, "cuMemAddressReserve", 10020);
        resolve_driver(map_, "cuMemMap", 10020);
        resolve_driver(access_, "cuMemSetAccess", 10020);
        resolve_driver(unmap_, "cuMemUnmap", 10020);
        resolve_driver(release_, "cuMemRelease", 10020);
        resolve_driver(free_, "cuMemAddressFree", 10020);
        if (!granularity_ || !create_ || !reserve_ || !map_ || !access_ || !unmap_ || !release_ || !free_) {
            create_ = nullptr;
            throw cuda_failure{"this driver has no virtual memory management"};
        }
        what_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        what_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        what_.location.id = device;
    }
    std::size_t granularity(CUmemAllocationGranularity_flags which) const {
        std::size_t found = 0;
        must("cuMemGetAllocationGranularity", granularity_(&found, &what_, which));
        return found;
    }
    block allocate(byte_count size) {
        const auto granule = bytes(static_cast<std::int64_t>(granularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM)));
        const auto room = static_cast<std::size_t>(aligned_up(size, granule).base());
        CUmemGenericAllocationHandle handle{};
        must("cuMemCreate", create_(&handle, room, &what_, 0));
        CUdeviceptr address{};
        bool mapped = false;
        try {
            must("cuMemAddressReserve", reserve_(&address, room, 0, 0, 0));
            must("cuMemMap", map_(address, room, 0, handle, 0));
            mapped = true;
            CUmemAccessDesc rights{};
            rights.location = what_.location;
            rights.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            must("cuMemSetAccess", access_(address, room, &rights, 1));
        } catch (const cuda_failure&) {
            if (mapped) unmap_(address, room);
            if (address != 0) free_(address, room);
            release_(handle);
            throw;
        }
        rooms_[address] = room;
        return {allocator_kind::virtual_memory, address, size, handle};
    }
    void release(const block& held) {
        const auto found = rooms_.find(held.address);
        if (found == rooms_.end()) throw cuda_failure{"released what is not held"};
        const std::size_t room = found->second;
        rooms_.erase(found);
        must("cudaDeviceSynchronize", cudaDeviceSynchronize());
        must("cuMemUnmap", unmap_(held.address, room));
        must("cuMemRelease", release_(held.handle));
        must("cuMemAddressFree", free_(held.address, room));
    }

private:
    CUmemAllocationProp what_{};
    std::map<std::uint64_t, std::size_t> rooms_;
    decltype(cuMemGetAllocationGranularity)* granularity_ = nullptr;
    decltype(cuMemCreate)* create_ = nullptr;
    decltype(cuMemAddressReserve)* reserve_ = nullptr;
    decltype(cuMemMap)* map_ = nullptr;
    decltype(cuMemSetAccess)* access_ = nullptr;
    decltype(cuMemUnmap)* unmap_ = nullptr;
    decltype(cuMemRelease)* release_ = nullptr;
    decltype(cuMemAddressFree)* free_ = nullptr;
};

/// A pool of the probe's own, which keeps what it has until trimmed: with the default pool's release threshold of 0,
/// every wait would give memory back and the figures would depend on when we looked.
class memory_pool {
public:
    ~memory_pool() { close(); }
    memory_pool() = default;
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;

    block allocate(int device, byte_count size) {
        if (pool_ == nullptr) {
            cudaMemPoolProps what{};
            what.allocType = cudaMemAllocationTypePinned;
            what.location.type = cudaMemLocationTypeDevice;
            what.location.id = device;
            must("cudaMemPoolCreate", cudaMemPoolCreate(&pool_, &what));
            std::uint64_t keep = ~std::uint64_t{0};
            must("cudaMemPoolSetAttribute", cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
        }
        void* address = nullptr;
        must("cudaMallocFromPoolAsync",
             cudaMallocFromPoolAsync(&address, static_cast<std::size_t>(size.base()), pool_, nullptr));
        must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
        return {allocator_kind::stream_ordered, reinterpret_cast<std::uint64_t>(address), size, 0};
    }
    static void release(const block& held) {
        must("cudaFreeAsync", cudaFreeAsync(reinterpret_cast<void*>(held.address), nullptr));
    }
    void close() {
        if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
        pool_ = nullptr;
    }
    void trim() {
        must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
        if (pool_ != nullptr) must("cudaMemPoolTrimTo", cudaMemPoolTrimTo(pool_, 0));
    }

private:
    cudaMemPool_t pool_ = nullptr;
};

}  // namespace llmres::probe
