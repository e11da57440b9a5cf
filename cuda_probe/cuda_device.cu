// SPDX-License-Identifier: MIT
// The one CUDA translation unit: cuda_api on a real device. The files it includes are one idea each.
#include <set>
#include <string>
#include <utility>

#include "cuda_facts.cuh"
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

class real_cuda final : public cuda_api {
public:
    /// Contexts end here and not with the process: only then does compute-sanitizer look for what is still held.
    ~real_cuda() override {
        collective_.close();
        library_.close();
        pool_.close();
        counter_.reset();
        for (const int device : opened_)
            if (cudaSetDevice(device) == cudaSuccess) cudaDeviceReset();
    }

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

    void describe_peer(std::int32_t from, std::int32_t to, device_peer& into) override {
        into.access = then(
            number_of(
                "cudaDeviceGetP2PAttribute",
                [&](int* value) { return cudaDeviceGetP2PAttribute(value, cudaDevP2PAttrAccessSupported, from, to); }),
            is_set);
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

    block allocate(allocator_kind kind, byte_count size) override {
        switch (kind) {
            case allocator_kind::stream_ordered:
                return pool_.allocate(open_, size);
            case allocator_kind::virtual_memory:
                virtual_.open(open_);
                return virtual_.allocate(size);
            case allocator_kind::cuda_malloc:
                break;
        }
        return {kind, reinterpret_cast<std::uint64_t>(scratch_of(size_of(size)).release()), size, 0};
    }

    void release(const block& held) override {
        switch (held.kind) {
            case allocator_kind::stream_ordered:
                return memory_pool::release(held);
            case allocator_kind::virtual_memory:
                return virtual_.release(held);
            case allocator_kind::cuda_malloc:
                return must("cudaFree", cudaFree(address_of(held)));
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

    int open_ = -1;
    std::set<int> opened_;
    scratch counter_;
    virtual_memory virtual_;
    memory_pool pool_;
    cublas library_;
    nccl collective_;
};

}  // namespace

std::unique_ptr<cuda_api> make_cuda() { return std::make_unique<real_cuda>(); }

}  // namespace llmres::probe
