// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "cuda_api.hpp"

/// A device that exists only in tests: so many bytes, a granularity, other tenants that come and go, and faults on
/// demand. Its times are made up; nothing it says is a measurement.
namespace llmres::probe {

struct simulation {
    byte_count total = gib(24);
    byte_count granule = mib(2);
    byte_count reserved = mib(500);  ///< the driver's own: NVML's used counts it
    byte_count context = mib(300);
    byte_count libraries = mib(40);
    std::int32_t devices = 1;

    /// Bytes of other tenants after so many allocations since the start.
    std::function<byte_count(std::int64_t)> tenants = [](std::int64_t) { return byte_count{}; };
    std::int64_t fail_at = -1;       ///< this allocation (from 0) fails for another reason than room
    std::int64_t corrupt_at = -1;    ///< this allocation does not keep what is written
    std::int64_t leak_at = -1;       ///< this allocation is not given back
    std::int64_t silent_after = -1;  ///< after so many allocations it does not say what is free
    bool overcommits = false;        ///< hands out memory without having it
    bool libraries_missing = false;
    bool right = true;            ///< results of products
    std::string count_problem{};  ///< device_count() fails, for this reason
    std::string name = "NVIDIA GeForce RTX 4090";
    std::int32_t capability = 89;
    std::int32_t sm_count = 128;
    bool integrated = false;
    std::string context_problem{};
    std::function<void(std::int64_t)> on_allocate = [](std::int64_t) {};
    std::function<void()> on_count = [] {};  ///< when devices are counted
};

class simulated_cuda : public cuda_api {
public:
    explicit simulated_cuda(simulation s = {}) : s_{std::move(s)} {}

    byte_count held() const { return held_; }
    std::int64_t blocks_held() const { return static_cast<std::int64_t>(contents_.size()); }
    std::int64_t allocations() const { return allocations_; }
    byte_count peak() const { return peak_; }
    byte_count others() const { return s_.tenants(allocations_); }
    byte_count used() const { return s_.reserved + own() + others(); }

    memory_state memory() override {
        if (s_.silent_after >= 0 && allocations_ >= s_.silent_after) throw call_failed{"simulated fault"};
        const byte_count taken = own() + others();
        return {s_.total > taken ? s_.total - taken : byte_count{}, s_.total};
    }

    block allocate(allocator_kind kind, byte_count size) override {
        s_.on_allocate(allocations_);
        const std::int64_t number = allocations_++;
        if (number == s_.fail_at) throw call_failed{"simulated fault"};
        const byte_count granted = s_.overcommits ? byte_count{} : aligned_up(size, s_.granule);
        if (s_.silent_after >= 0 && allocations_ >= s_.silent_after) throw call_failed{"out of memory", true};
        if (granted > memory().free) throw call_failed{"out of memory", true};
        held_ += granted;
        if (held_ > peak_) peak_ = held_;
        // Virtual memory is the caller's in whole granules; of the others nobody may use what fills them.
        const byte_count usable = kind == allocator_kind::virtual_memory ? aligned_up(size, s_.granule) : size;
        const block made{kind, static_cast<std::uint64_t>(number) + 1, usable,
                         static_cast<std::uint64_t>(granted.base())};
        contents_[made.address] = 0;
        return made;
    }
    void release(const block& held) override {
        if (contents_.erase(held.address) != 1) throw call_failed{"released what is not held"};
        if (static_cast<std::int64_t>(held.address) - 1 != s_.leak_at)
            held_ -= bytes(static_cast<std::int64_t>(held.handle));
    }
    void touch(const block& held, std::uint64_t seed) override {
        contents_[held.address] = static_cast<std::int64_t>(held.address) - 1 == s_.corrupt_at ? seed + 1 : seed;
    }
    std::int64_t verify(const block& held, std::uint64_t seed) override {
        return contents_[held.address] == seed ? 0 : 7;
    }
    void trim() override {}

    device_total device_count() override {
        s_.on_count();
        if (!s_.count_problem.empty()) return {.why = text<127>{s_.count_problem}, .fault = true};
        return {.count = s_.devices, .why = s_.devices > 0 ? "" : "CUDA shows none to this process"};
    }
    void describe(std::int32_t index, device& into) override {
        text<63> uuid{"GPU-51515151-0000-4000-8000-00000000000"};
        uuid.append(std::to_string(index));
        into.identity.uuid = uuid;
        into.identity.name = text<63>{s_.name};
        into.identity.index_cuda = index;
        into.identity.pci_bus_id = text<31>{"00000000:01:00.0"};
        into.memory.cuda_total = s_.total;
        into.memory.allocation.integrated = s_.integrated;
        into.compute.capability_major = s_.capability / 10;
        into.compute.capability_minor = s_.capability % 10;
        into.compute.sm_count = s_.sm_count;
    }
    void open_context(std::int32_t index) override {
        if (!s_.context_problem.empty()) throw call_failed{s_.context_problem};
        if (index >= s_.devices) throw call_failed{"no such device"};
        context_open_ = true;
    }
    void open_libraries() override {
        if (s_.libraries_missing) throw call_failed{no_library};
        libraries_open_ = true;
    }
    samples time_transfer(transfer, byte_count, const timing& how) override { return made_up(how); }
    checked_samples time_product(const product_shape&, const timing& how) override {
        if (s_.libraries_missing) throw call_failed{no_library};
        return {made_up(how), s_.right};
    }
    samples time_peer(std::int32_t, std::int32_t, byte_count, const timing& how) override { return made_up(how); }
    checked_samples time_all_reduce(std::int32_t, byte_count, const timing& how) override {
        return {made_up(how), true};
    }

private:
    static constexpr const char* no_library = "libcublas.so.13 could not be loaded";
    byte_count own() const {
        return held_ + (context_open_ ? s_.context : byte_count{}) + (libraries_open_ ? s_.libraries : byte_count{});
    }
    /// Long runs are slower, as if power limited them.
    static samples made_up(const timing& how) {
        std::vector<double> all;
        const double slower = how.warm_s > 0.1 ? 1.25 : 1.0;
        for (std::int32_t i = 0; i < how.repeats; ++i) all.push_back((0.001 + 0.00001 * i) * slower);
        return all;
    }

    simulation s_;
    std::map<std::uint64_t, std::uint64_t> contents_;
    std::int64_t allocations_ = 0;
    byte_count held_{};
    byte_count peak_{};
    bool context_open_ = false;
    bool libraries_open_ = false;
};

}  // namespace llmres::probe
