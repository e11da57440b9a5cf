// SPDX-License-Identifier: MIT
// The one CUDA translation unit: cuda_api on a real device. The files it includes are one idea each.
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "cuda_kernels.cuh"
#include "cuda_memory.cuh"
#include "cuda_timing.cuh"

namespace llmres::probe {

namespace {

void* address_of(const block& held) { return reinterpret_cast<void*>(held.address); }
/// 13000 is 13.0.
std::string version_text(std::int32_t number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}
std::uint64_t size_of(byte_count size) { return static_cast<std::uint64_t>(size.base()); }

// ---- what the runtime says of a device without opening it

/// CUDA 13 took clocks and compute mode out of cudaDeviceProp; and asked one by one, each has its own reason where it
/// cannot be read.
reading<std::int32_t> attribute(int device, cudaDeviceAttr which) {
    return number_of("cudaDeviceGetAttribute",
                     [&](int* value) { return cudaDeviceGetAttribute(value, which, device); });
}

bool is_set(int value) { return value != 0; }

/// "GPU-..." of a MIG instance, too: NVML is asked which it is (nvml_handle_of() of common.cpp).
text<63> uuid_text(const char* raw) {
    std::string made{"GPU"};
    for (int i = 0; i < 16; ++i) {
        std::array<char, 4> digits{};
        const bool first = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        std::snprintf(digits.data(), digits.size(), first ? "-%02x" : "%02x", static_cast<unsigned char>(raw[i]));
        made += digits.data();
    }
    return text<63>{made};
}

void describe_device(int device, device_identity& id, device_memory& memory, device_compute& compute) {
    id.index_cuda = device;
    const auto about = reading_of([&] {
        cudaDeviceProp all{};
        must("cudaGetDeviceProperties", cudaGetDeviceProperties(&all, device));
        return all;
    });
    const auto told = [&](auto&& fact) { return then(about, fact); };
    id.uuid = told([&](const auto& all) {
        // The newer driver function gives an instance's own UUID, the property may give the card's.
        auto* const own_uuid = driver_function<decltype(cuDeviceGetUuid)>("cuDeviceGetUuid", 11040);
        CUuuid own{};
        const bool has_own = own_uuid != nullptr && own_uuid(&own, device) == CUDA_SUCCESS;
        return uuid_text(has_own ? own.bytes : all.uuid.bytes);
    });
    id.name = told([](const auto& all) { return text<63>{std::string_view{all.name}}; });
    memory.cuda_total = told([](const auto& all) { return bytes(static_cast<std::int64_t>(all.totalGlobalMem)); });
    compute.capability_major = told([](const auto& all) { return std::int32_t{all.major}; });
    compute.capability_minor = told([](const auto& all) { return std::int32_t{all.minor}; });
    id.pci_bus_id = reading_of([&] {
        std::array<char, 32> room{};
        must("cudaDeviceGetPCIBusId", cudaDeviceGetPCIBusId(room.data(), static_cast<int>(room.size()), device));
        return text<31>{std::string_view{room.data()}};
    });
    compute.sm_count = attribute(device, cudaDevAttrMultiProcessorCount);
    memory.l2_cache = then(attribute(device, cudaDevAttrL2CacheSize), [](int size) { return bytes(size); });
    memory.bus_width_bits = attribute(device, cudaDevAttrGlobalMemoryBusWidth);
    memory.allocation.memory_pools_supported = then(attribute(device, cudaDevAttrMemoryPoolsSupported), is_set);
    memory.allocation.managed_memory = then(attribute(device, cudaDevAttrManagedMemory), is_set);
    memory.allocation.pageable_memory_access = then(attribute(device, cudaDevAttrPageableMemoryAccess), is_set);
    memory.allocation.integrated = then(attribute(device, cudaDevAttrIntegrated), is_set);
    // Granularity needs an initialised driver, which counting devices has seen to, but no context.
    memory.allocation.granularity_minimum = reading_of([&] {
        virtual_memory here;
        here.open(device);
        return here.granularity();
    });
    memory.allocation.virtual_memory_supported = memory.allocation.granularity_minimum.known;
}

// ---- the device itself

/// Contexts end here and not with the process: only then does compute-sanitizer look for what is still held.
struct opened_devices : std::set<int> {
    ~opened_devices() {
        for (const int device : *this)
            if (cudaSetDevice(device) == cudaSuccess) cudaDeviceReset();
    }
};

class real_cuda final : public cuda_api {
public:
    device_total device_count() override {
        int count = 0;
        const cudaError_t code = cudaGetDeviceCount(&count);
        if (code == cudaSuccess) return {.count = count, .why = count > 0 ? "" : "CUDA shows none to this process"};
        cudaGetLastError();
        device_total none{.why = "cudaGetDeviceCount: "};
        none.why.append(cudaGetErrorName(code));
        // Without any driver CUDA says that the driver is insufficient, and that its version is 0.
        const auto driver = number_of("version", cudaDriverGetVersion);
        none.fault = code != cudaErrorNoDevice && driver.value_or(0) != 0;
        if (!none.fault) return none;
        none.why.append("; the driver knows CUDA ");
        none.why.append(version_text(driver.value));
        none.why.append(", this program was built with ");
        none.why.append(version_text(number_of("version", cudaRuntimeGetVersion).value_or(CUDART_VERSION)));
        return none;
    }

    void describe(std::int32_t index, device& into) override {
        describe_device(index, into.identity, into.memory, into.compute);
        into.software.cuda_driver_version = number_of("version", cudaDriverGetVersion);
        into.software.cuda_runtime_version = number_of("version", cudaRuntimeGetVersion);
    }

    void open_context(std::int32_t index) override {
        must("cudaSetDevice", cudaSetDevice(index));
        opened_.insert(index);
        counter_.reset();
        must("cudaFree", cudaFree(nullptr));  // opens the context
        // The probe's own kernels load now: later, their first use would look like a buffer's cost.
        counter_ = scratch_of(4096);
        kernels::nothing<<<1, 1>>>();
        must("empty kernel", cudaGetLastError());
        kernels::launch_fill(counter_.get(), 64, 1);
        kernels::differences(counter_.get(), 64, 1, counter() + 64);
        must("cudaDeviceSynchronize", cudaDeviceSynchronize());
        open_ = index;
    }

    void open_libraries() override {
        library_.open();
        constexpr std::int64_t n = 256;
        const scratch a = scratch_of(n * n * 2), b = scratch_of(n * n * 2), c = scratch_of(n * n * 4);
        kernels::launch_fill_elements(a.get(), n * n, element::bf16, 1);
        kernels::launch_fill_elements(b.get(), n * n, element::bf16, 2);
        library_.multiply({element::bf16, n, n, n}, a.get(), b.get(), c.get(), nullptr, 0);
        must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    }

    memory_state memory() override {
        std::size_t free = 0, total = 0;
        must("cudaMemGetInfo", cudaMemGetInfo(&free, &total));
        return {bytes(static_cast<std::int64_t>(free)), bytes(static_cast<std::int64_t>(total))};
    }

    block allocate(allocator_kind kind, byte_count asked) override {
        const byte_count size = aligned_up(asked, bytes(8));  // whole words, all of which are written and read
        switch (kind) {
            case allocator_kind::stream_ordered: return pool_.allocate(open_, size);
            case allocator_kind::virtual_memory: virtual_.open(open_); return virtual_.allocate(size);
            case allocator_kind::cuda_malloc: break;
        }
        return {kind, reinterpret_cast<std::uint64_t>(scratch_of(size_of(size)).release()), size, 0};
    }

    void release(const block& held) override {
        switch (held.kind) {
            case allocator_kind::stream_ordered: return memory_pool::release(held);
            case allocator_kind::virtual_memory: return virtual_.release(held);
            case allocator_kind::cuda_malloc: return must("cudaFree", cudaFree(address_of(held)));
        }
    }

    void touch(const block& held, std::uint64_t seed) override {
        kernels::launch_fill(address_of(held), size_of(held.size), seed);
        must("fill kernel", cudaDeviceSynchronize());
    }

    std::int64_t verify(const block& held, std::uint64_t seed) override {
        return kernels::differences(address_of(held), size_of(held.size), seed, counter());
    }

    void trim() override {
        must("cudaDeviceSynchronize", cudaDeviceSynchronize());
        pool_.trim();
    }

    samples time_transfer(transfer which, byte_count size, const timing& how) override {
        if (which == transfer::device_read) return time_device_read(size_of(size), how, counter());
        return time_host_copy(size_of(size), which == transfer::host_to_device, how, counter());
    }
    checked_samples time_product(const product_shape& shape, const timing& how) override {
        return probe::time_product(library_, shape, how);
    }
    samples time_peer(std::int32_t from, std::int32_t to, byte_count size, const timing& how) override {
        opened_.insert({from, to});
        return on_several_devices([&] { return time_peer_copy(from, to, size_of(size), how); });
    }
    checked_samples time_all_reduce(std::int32_t devices, byte_count message, const timing& how) override {
        for (int device = 0; device < devices; ++device) opened_.insert(device);
        return on_several_devices([&] { return probe::time_all_reduce(collective_, devices, size_of(message), how); });
    }

private:
    /// What it measures on several devices, after which the open one is the current one again; a figure after which
    /// that fails is none.
    template <class Measure>
    auto on_several_devices(Measure&& measure) -> decltype(measure()) {
        const auto taken = reading_of(measure);
        const problem wrong = problem_of([&] { must("cudaSetDevice", cudaSetDevice(open_)); });
        if (!taken || !wrong.empty()) throw call_failed{taken ? wrong : taken.why};
        return *taken;
    }
    kernels::counter* counter() const { return static_cast<kernels::counter*>(counter_.get()); }

    opened_devices opened_;  // first, so that what lies in their contexts goes before them
    int open_ = -1;
    scratch counter_;
    virtual_memory virtual_;
    memory_pool pool_;
    cublas library_;
    nccl collective_;
};

}  // namespace

std::unique_ptr<cuda_api> make_cuda() { return std::make_unique<real_cuda>(); }

}  // namespace llmres::probe
