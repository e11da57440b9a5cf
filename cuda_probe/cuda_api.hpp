// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/device.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "pattern.hpp"

/// What the probe asks of CUDA, without a CUDA header: everything that decides anything is host code above this line,
/// and is tested on a simulated device. cuda_device.cu is the one real implementation.
namespace llmres::probe {

/// What `make` makes of a value that was read; where there is none, the same reason.
template <class T, class Make>
constexpr auto then(const reading<T>& from, Make&& make) {
    using made = decltype(reading{make(from.value)});  // of a reading that is made, that one
    return from ? made{make(*from)} : made::unavailable(from.why);
}

/// How device memory is obtained.
enum class allocator_kind : std::uint8_t {
    cuda_malloc,     ///< cudaMalloc
    stream_ordered,  ///< cudaMallocFromPoolAsync, from a pool of the probe's own that keeps what it has until trimmed
    virtual_memory,  ///< cuMemCreate, cuMemAddressReserve, cuMemMap
};

/// Who stands between tensors and the device.
struct tensor_allocator {
    std::string_view name{};  ///< as --allocator names it
    allocator_kind kind = allocator_kind::cuda_malloc;
    bool caching = false;  ///< PyTorch's caching allocator takes its segments from `kind`
    bool expands = false;  ///< its segments grow: expandable_segments:True
};
inline constexpr tensor_allocator allocators[] = {
    {"cuda_malloc", allocator_kind::cuda_malloc},
    {"stream_ordered", allocator_kind::stream_ordered},
    {"virtual_memory", allocator_kind::virtual_memory},
    {"pytorch_caching", allocator_kind::cuda_malloc, true},
    {"pytorch_expandable", allocator_kind::virtual_memory, true, true},
};

/// A call into CUDA or one of its libraries that failed, in words: thrown where it did.
struct call_failed : std::runtime_error {
    explicit call_failed(std::string_view why, bool no_room = false)
        : runtime_error{std::string{why}}, out_of_memory{no_room} {}
    bool out_of_memory = false;  ///< the device had no room; any other failure is a fault
};

/// The value of doing it, or why there is none.
template <class Action>
auto reading_of(Action&& action) -> reading<decltype(action())> {
    using made = reading<decltype(action())>;
    try {
        return made{action()};
    } catch (const std::exception& failed) {
        return made::unavailable(failed.what());
    }
}

/// Empty if all went well, else the failed call and its error.
using problem = text<95>;
template <class Action>
problem problem_of(Action&& action) {
    return reading_of([&] { return action(), true; }).why;
}

/// Whether a device could not be opened because of who else is there: exclusively another's, prohibited, or full.
constexpr bool taken_by_others(std::string_view why) {
    return why.ends_with("cudaErrorDevicesUnavailable") || why.ends_with("cudaErrorMemoryAllocation");
}

/// Whether a library is not there, or not as the probe knows it: no fault of the device.
constexpr bool library_missing(std::string_view why) {
    return why.find("could not be loaded") != why.npos || why.find("lacks a function") != why.npos;
}

struct memory_state {
    byte_count free{};
    byte_count total{};
};

/// One allocation that is held.
struct block {
    allocator_kind kind = allocator_kind::cuda_malloc;
    std::uint64_t address = 0;
    byte_count size{};         ///< usable: at least what was asked for
    std::uint64_t handle = 0;  ///< the back end's own
};

/// Memory of the one device whose context is open. What fails throws call_failed.
class memory_api {
public:
    virtual ~memory_api() = default;
    virtual memory_state memory() = 0;  ///< cudaMemGetInfo
    virtual block allocate(allocator_kind kind, byte_count size) = 0;
    virtual void release(const block& held) = 0;
    /// Writes the whole block with words that only this seed gives.
    virtual void touch(const block& held, std::uint64_t seed) = 0;
    /// How many 8-byte words of the block are not what touch() wrote.
    virtual std::int64_t verify(const block& held, std::uint64_t seed) = 0;
    /// Waits for the device and gives unused pool memory back to it.
    virtual void trim() = 0;
};

/// What is moved: read by a kernel, or copied from or to page-locked host memory.
enum class transfer : std::uint8_t { device_read, host_to_device, device_to_host };

/// How a figure is taken: so many samples, after so long of the same.
struct timing {
    std::int32_t repeats = 20;
    double warm_s = 0.05;  ///< a device that was idle takes 50 ms to raise its clocks
};

using samples = std::vector<double>;  ///< seconds, one a repeat

/// A product of matrices: rows x inner times inner x columns.
struct product_shape {
    element kind = element::bf16;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    bool runs_long = false;  ///< it is also timed in a long run

    double operations() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner);
    }
    friend bool operator==(const product_shape&, const product_shape&) = default;
};

struct checked_samples {
    samples seconds;
    bool verified = false;  ///< the result was right
};

/// How many devices this process may use.
struct device_total {
    std::int32_t count = 0;
    text<127> why{};     ///< there is none, or that cannot be told
    bool fault = false;  ///< there may be devices: driver and CUDA do not go together, or the driver is broken
};

/// A CUDA installation. Nothing is opened before open_context(), so that NVML can see the device without us first. A
/// transfer whose result is wrong throws, too.
class cuda_api : public memory_api {
public:
    virtual device_total device_count() = 0;
    /// Identity and attributes; needs no context.
    virtual void describe(std::int32_t index, device& into) = 0;

    virtual void open_context(std::int32_t index) = 0;
    /// A cuBLAS handle and one product through it, so that cuBLAS allocates its workspace.
    virtual void open_libraries() = 0;

    virtual samples time_transfer(transfer which, byte_count size, const timing& how) = 0;
    virtual checked_samples time_product(const product_shape& shape, const timing& how) = 0;
    virtual samples time_peer(std::int32_t from, std::int32_t to, byte_count size, const timing& how) = 0;
    virtual checked_samples time_all_reduce(std::int32_t devices, byte_count message, const timing& how) = 0;
};

/// The real one, or one that has no device where the program was built without a CUDA compiler.
std::unique_ptr<cuda_api> make_cuda();

}  // namespace llmres::probe
