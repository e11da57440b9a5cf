// SPDX-License-Identifier: MIT
// A CUDA runtime for tests, with which the real compiled cuda_device.cu runs: one device (LLMRES_FAKE_CUDA_DEVICES:
// more) whose memory is the host's, and kernels that the host computes. Its declarations are NVIDIA's own headers', so
// that what it defines is what the object calls. By the environment, LLMRES_FAKE_CUDA_FAIL=N makes the N-th call fail
// with LLMRES_FAKE_CUDA_ERROR, and LLMRES_FAKE_CUDA_LOG names a file that is told how many calls there were, which one
// failed, and what was leaked. Everything it says is made up.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "fake_calls.hpp"
#include "pattern.hpp"

namespace {

using llmres::probe::pattern_word;

std::size_t number_from(const char* variable, std::size_t otherwise) {
    const char* said = std::getenv(variable);
    return said != nullptr ? std::strtoull(said, nullptr, 10) : otherwise;
}

/// The devices, which share one memory, and what was asked of them.
struct fake {
    const std::size_t total = number_from("LLMRES_FAKE_CUDA_MIB", 24'564) << 20;
    const std::size_t shown = number_from("LLMRES_FAKE_CUDA_SHOWN_MIB", 1 << 20) << 20;  ///< as free at most
    const int devices = static_cast<int>(number_from("LLMRES_FAKE_CUDA_DEVICES", 1));
    int current = 0;
    const std::size_t fails = number_from("LLMRES_FAKE_CUDA_FAIL", 0);
    static constexpr auto granule = std::size_t{2} << 20;
    std::map<void*, std::size_t> held;  ///< sizes on the device, by address
    std::map<CUmemGenericAllocationHandle, std::size_t> created;
    std::map<void*, std::size_t> reserved;  ///< addresses without memory
    std::set<void*> host;
    std::set<const void*> others;  ///< events, streams, pools
    std::map<const void*, std::string> kernels;
    std::size_t used = 0;
    std::size_t calls = 0;
    std::size_t leaked = 0;
    std::string failed;
    cudaError_t last = cudaSuccess;
    bool open = false;
    dim3 grid{1, 1, 1}, block{1, 1, 1};

    ~fake() {
        count_leaks();
        if (const char* log = std::getenv("LLMRES_FAKE_CUDA_LOG"))
            if (std::FILE* file = std::fopen(log, "w")) {
                std::fprintf(file, "%zu %zu %s\n", calls, leaked, failed.empty() ? "-" : failed.c_str());
                std::fclose(file);
            }
    }
    void count_leaks() {
        leaked += held.size() + created.size() + reserved.size() + host.size() + others.size();
        for (const auto& [address, size] : held) munmap(address, size);
        held.clear(), created.clear(), reserved.clear(), host.clear(), others.clear();
    }
    /// What the call ends with, if not well.
    cudaError_t enter(const char* name) {
        if (++calls != fails) return cudaSuccess;
        failed = name;
        return last = static_cast<cudaError_t>(number_from("LLMRES_FAKE_CUDA_ERROR", cudaErrorUnknown));
    }
    void open_context() {
        if (!std::exchange(open, true)) used += std::size_t{20} << 20;
    }
    static std::size_t rounded(std::size_t size) { return (size + granule - 1) / granule * granule; }
    void* map(std::size_t size) {
        void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) return nullptr;
        // All of it is written: fewer faults. Of a product's matrices only what is looked at is.
        if (total < std::size_t{1} << 30 && size <= std::size_t{16} << 20) madvise(at, size, MADV_HUGEPAGE);
        return at;
    }
    cudaError_t allocate(void** into, std::size_t asked) {
        open_context();
        const std::size_t size = rounded(asked);
        if (used + size > total) return last = cudaErrorMemoryAllocation;
        *into = map(size);
        held[*into] = size;
        used += size;
        return cudaSuccess;
    }
    cudaError_t release(void* address) {
        if (address == nullptr) return open_context(), cudaSuccess;
        const auto found = held.find(address);
        if (found == held.end()) return last = cudaErrorInvalidValue;
        used -= found->second;
        munmap(address, found->second);
        held.erase(found);
        return cudaSuccess;
    }
};

fake& device() {
    static fake one;
    return one;
}

/// Large blocks of a device of 1 GiB and more are written and read in one word of 2 MiB, so that they need little of
/// the host's.
std::size_t step_of(std::size_t size) {
    return device().total >= (std::size_t{1} << 30) && size > (std::size_t{40} << 20) ? fake::granule / 8 : 1;
}

template <class Argument>
Argument& argument(void** all, int i) {
    return *static_cast<Argument*>(all[i]);
}

void compute(const std::string& kernel, void** given) {
    const auto is = [&](const char* part) { return kernel.find(part) != std::string::npos; };
    if (is("count_differences")) {
        const auto* words = argument<const std::uint64_t*>(given, 0);
        const auto size = argument<std::uint64_t>(given, 1), seed = argument<std::uint64_t>(given, 2);
        auto* found = argument<unsigned long long*>(given, 3);
        for (std::size_t i = 0; i < size / 8; i += step_of(size)) *found += words[i] != pattern_word(seed, i) ? 1 : 0;
    } else if (is("fill_elements") || is("nothing")) {
        // fake_cublas.cpp knows what the probe writes into factors.
    } else if (is("fill_ranked")) {
        auto* into = argument<float*>(given, 0);
        const auto count = argument<std::uint64_t>(given, 1);
        const int rank = argument<int>(given, 2) + 1;
        for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<float>(rank * static_cast<int>(i % 7 + 1));
    } else if (is("fill")) {
        auto* words = argument<std::uint64_t*>(given, 0);
        const auto size = argument<std::uint64_t>(given, 1), seed = argument<std::uint64_t>(given, 2);
        for (std::size_t i = 0; i < size / 8; i += step_of(size)) words[i] = pattern_word(seed, i);
    } else if (is("sum")) {
        const auto* words = argument<const std::uint64_t*>(given, 0);
        const auto count = argument<std::uint64_t>(given, 1) * 2;
        auto* total = argument<unsigned long long*>(given, 2);
        for (std::size_t i = 0; i < count; ++i) *total += words[i];
    }
}

// ---- the driver's functions, asked for by name ----------------------------------------------------------------------

CUresult enter_driver(const char* name) {
    const cudaError_t code = device().enter(name);
    return code == cudaSuccess                 ? CUDA_SUCCESS
           : code == cudaErrorMemoryAllocation ? CUDA_ERROR_OUT_OF_MEMORY
                                               : CUDA_ERROR_UNKNOWN;
}
CUresult granularity(std::size_t* into, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
    if (const CUresult wrong = enter_driver("cuMemGetAllocationGranularity"); wrong != CUDA_SUCCESS) return wrong;
    return *into = fake::granule, CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* into, std::size_t size, const CUmemAllocationProp*, unsigned long long) {
    if (const CUresult wrong = enter_driver("cuMemCreate"); wrong != CUDA_SUCCESS) return wrong;
    if (device().used + size > device().total) return CUDA_ERROR_OUT_OF_MEMORY;
    static CUmemGenericAllocationHandle next = 0;
    device().created[*into = ++next] = size;
    device().used += size;
    return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* into, std::size_t size, std::size_t, CUdeviceptr, unsigned long long) {
    if (const CUresult wrong = enter_driver("cuMemAddressReserve"); wrong != CUDA_SUCCESS) return wrong;
    void* at = device().map(size);
    device().reserved[at] = size;
    return *into = reinterpret_cast<CUdeviceptr>(at), CUDA_SUCCESS;
}
CUresult map_handle(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
    return enter_driver("cuMemMap");
}
CUresult set_access(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
    return enter_driver("cuMemSetAccess");
}
CUresult unmap(CUdeviceptr, std::size_t) { return enter_driver("cuMemUnmap"); }
CUresult release_handle(CUmemGenericAllocationHandle handle) {
    if (const CUresult wrong = enter_driver("cuMemRelease"); wrong != CUDA_SUCCESS) return wrong;
    device().used -= device().created[handle];
    return device().created.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult free_address(CUdeviceptr address, std::size_t size) {
    if (const CUresult wrong = enter_driver("cuMemAddressFree"); wrong != CUDA_SUCCESS) return wrong;
    void* at = reinterpret_cast<void*>(address);
    munmap(at, size);
    return device().reserved.erase(at) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
/// That of fake_nvml.cpp's devices.
CUresult uuid(CUuuid* into, CUdevice index) {
    constexpr unsigned char first[16]{0x51, 0x51, 0x51, 0x51, 0, 0, 0x40, 0, 0x80, 0};
    std::memcpy(into->bytes, first, sizeof first);
    into->bytes[15] = static_cast<char>(index);
    return enter_driver("cuDeviceGetUuid");
}

}  // namespace

#define ENTER(name) \
    if (const cudaError_t wrong = device().enter(name); wrong != cudaSuccess) return wrong

extern "C" {

// ---- for the fakes beside this one ----------------------------------------------------------------------------------

bool llmres_fake_fails(const char* call) { return device().enter(call) != cudaSuccess; }
void llmres_fake_hold(const void* handle) { device().others.insert(handle); }
bool llmres_fake_drop(const void* handle) { return device().others.erase(handle) == 1; }

// ---- kernels, as nvcc's code registers and launches them ------------------------------------------------------------

void** __cudaRegisterFatBinary(void*) {
    static void* handle = nullptr;
    return device(), &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
    device().kernels[host] = name;
}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, CUstream_st*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    *grid = device().grid, *block = device().block, *shared = 0;
    *static_cast<cudaStream_t*>(stream) = nullptr;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* into, const void* host) {
    return *into = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host)), cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* host, dim3, dim3, void** given, std::size_t, cudaStream_t) {
    ENTER("cudaLaunchKernel");
    device().open_context();
    compute(device().kernels[host], given);
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** given, std::size_t shared,
                               cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, given, shared, stream);
}

// ---- the device -----------------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) {
    ENTER("cudaGetDeviceCount");
    return *count = device().devices, cudaSuccess;
}
cudaError_t cudaGetDevice(int* index) { return *index = device().current, cudaSuccess; }
cudaError_t cudaSetDevice(int index) {
    ENTER("cudaSetDevice");
    return device().current = index, cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    device().count_leaks();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    ENTER("cudaDeviceSynchronize");
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    ENTER("cudaDriverGetVersion");
    return *version = CUDART_VERSION, cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    ENTER("cudaRuntimeGetVersion");
    return *version = CUDART_VERSION, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* into, int) {
    ENTER("cudaGetDeviceProperties");
    *into = {};
    std::strcpy(into->name, "NVIDIA GeForce RTX 4090");
    into->major = 8, into->minor = 9;
    into->totalGlobalMem = device().total;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    ENTER("cudaDeviceGetAttribute");
    *value = which == cudaDevAttrMultiProcessorCount ? 128 : 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* into, int, int) {
    ENTER("cudaDeviceGetPCIBusId");
    return std::strcpy(into, "00000000:01:00.0"), cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
    ENTER("cudaDeviceGetP2PAttribute");
    return *value = 1, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    ENTER("cudaDeviceCanAccessPeer");
    return *can = 1, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
    ENTER("cudaDeviceEnablePeerAccess");
    return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* into, int, const void* from, int, std::size_t size, cudaStream_t) {
    ENTER("cudaMemcpyPeerAsync");
    return std::memcpy(into, from, size), cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(device().last, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t code) {
    return code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorUnknown";
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** into, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* state) {
    ENTER("cudaGetDriverEntryPointByVersion");
    const std::map<std::string, void*> known{{"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&granularity)},
                                             {"cuMemCreate", reinterpret_cast<void*>(&create)},
                                             {"cuMemAddressReserve", reinterpret_cast<void*>(&reserve)},
                                             {"cuMemMap", reinterpret_cast<void*>(&map_handle)},
                                             {"cuMemSetAccess", reinterpret_cast<void*>(&set_access)},
                                             {"cuMemUnmap", reinterpret_cast<void*>(&unmap)},
                                             {"cuMemRelease", reinterpret_cast<void*>(&release_handle)},
                                             {"cuMemAddressFree", reinterpret_cast<void*>(&free_address)},
                                             {"cuDeviceGetUuid", reinterpret_cast<void*>(&uuid)}};
    const auto found = known.find(name);
    *into = found == known.end() ? nullptr : found->second;
    *state = found == known.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
    return cudaSuccess;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    ENTER("cudaMemGetInfo");
    device().open_context();
    *total = device().total;
    *free = std::min(*total - device().used, device().shown);
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** into, std::size_t size) {
    ENTER("cudaMalloc");
    return device().allocate(into, size);
}
cudaError_t cudaFree(void* address) {
    ENTER("cudaFree");
    return device().release(address);
}
cudaError_t cudaMallocFromPoolAsync(void** into, std::size_t size, cudaMemPool_t, cudaStream_t) {
    ENTER("cudaMallocFromPoolAsync");
    return device().allocate(into, size);
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t) {
    ENTER("cudaFreeAsync");
    return device().release(address);
}
cudaError_t cudaHostAlloc(void** into, std::size_t size, unsigned) {
    ENTER("cudaHostAlloc");
    device().host.insert(*into = std::malloc(size));
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) {
    ENTER("cudaFreeHost");
    const bool known = device().host.erase(address) == 1;
    std::free(address);
    return known ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaMemset(void* into, int value, std::size_t size) {
    ENTER("cudaMemset");
    // Products are written over before they are read: fake_cublas.cpp knows fresh memory, and the host keeps its pages.
    if (size < std::size_t{8} << 20 || value == 0) std::memset(into, value, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* into, const void* from, std::size_t size, cudaMemcpyKind) {
    ENTER("cudaMemcpy");
    return std::memcpy(into, from, size), cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* into, const void* from, std::size_t size, cudaMemcpyKind, cudaStream_t) {
    ENTER("cudaMemcpyAsync");
    return std::memcpy(into, from, size), cudaSuccess;
}

// ---- pools, streams, events: addresses that count as held -----------------------------------------------------------

#define MADE(into)                                                                             \
    *(into) = static_cast<std::remove_pointer_t<decltype(into)>>(std::malloc(sizeof(double))); \
    device().others.insert(*(into));                                                           \
    return cudaSuccess
#define GONE(which)                                       \
    const bool known = device().others.erase(which) == 1; \
    if (known) std::free(which);                          \
    return known ? cudaSuccess : cudaErrorInvalidValue

cudaError_t cudaMemPoolCreate(cudaMemPool_t* into, const cudaMemPoolProps*) {
    ENTER("cudaMemPoolCreate");
    MADE(reinterpret_cast<void**>(into));
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    ENTER("cudaMemPoolDestroy");
    GONE(static_cast<void*>(pool));
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    ENTER("cudaMemPoolSetAttribute");
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
    ENTER("cudaMemPoolTrimTo");
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* into) {
    ENTER("cudaStreamCreate");
    MADE(reinterpret_cast<void**>(into));
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    ENTER("cudaStreamDestroy");
    GONE(static_cast<void*>(stream));
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    ENTER("cudaStreamSynchronize");
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* into) {
    ENTER("cudaEventCreate");
    MADE(reinterpret_cast<void**>(into));
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    ENTER("cudaEventDestroy");
    GONE(static_cast<void*>(event));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    ENTER("cudaEventRecord");
    *reinterpret_cast<double*>(event) =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    ENTER("cudaEventSynchronize");
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    ENTER("cudaEventElapsedTime");
    *milliseconds = static_cast<float>(*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(begin));
    return cudaSuccess;
}

}  // extern "C"
