// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>

/// A live device: what one GPU in one machine says of itself, and what was measured on it. Plain host values, no CUDA
/// header: cuda_probe/ fills it, io/device_json.hpp stores it, and to_gpu() makes it stand in for a row of the tables.
namespace llmres::inline v0 {

struct gpu;  // hardware/gpu.hpp: whoever has a sheet to put a device over has included it

/// What was read, or why it could not be. A field that could not be read never reads as zero.
template <class T>
struct reading {
    bool known = false;
    T value{};                 ///< meaningful only if `known`
    text<95> why{"not read"};  ///< meaningful only if not `known`

    constexpr reading() = default;
    constexpr reading(const T& v)
        : known{true}, value{v}, why{} {}  // NOLINT(google-explicit-constructor): reads as data
    static constexpr reading unavailable(std::string_view reason) {
        reading none;
        none.why = reason;
        return none;
    }

    constexpr explicit operator bool() const { return known; }
    constexpr const T& operator*() const { return value; }
    constexpr const T* operator->() const { return &value; }
    constexpr T value_or(const T& otherwise) const { return known ? value : otherwise; }

    friend constexpr bool operator==(const reading& a, const reading& b) {
        return a.known == b.known && (a.known ? a.value == b.value : a.why == b.why);
    }
};

/// Up to `Capacity` items in place.
template <class T, std::size_t Capacity>
struct short_list {
    std::array<T, Capacity> items{};
    std::size_t count = 0;

    static constexpr std::size_t capacity = Capacity;
    /// False, and nothing stored, if the list is full.
    constexpr bool push(const T& item) {
        if (count == Capacity) return false;
        items[count++] = item;
        return true;
    }
    constexpr std::size_t size() const { return count; }
    constexpr bool empty() const { return count == 0; }
    constexpr const T* begin() const { return items.data(); }
    constexpr const T* end() const { return items.data() + count; }
    constexpr T* begin() { return items.data(); }
    constexpr T* end() { return items.data() + count; }
    constexpr const T& operator[](std::size_t i) const { return items[i]; }
    constexpr T& operator[](std::size_t i) { return items[i]; }

    friend constexpr bool operator==(const short_list& a, const short_list& b) {
        if (a.count != b.count) return false;
        for (std::size_t i = 0; i < a.count; ++i)
            if (!(a.items[i] == b.items[i])) return false;
        return true;
    }
};

/// A quantity measured several times.
template <class Quantity>
struct measured {
    Quantity median{};
    Quantity low{};            ///< smallest sample
    Quantity high{};           ///< largest sample
    std::int32_t repeats = 0;  ///< samples taken

    friend constexpr bool operator==(const measured&, const measured&) = default;
};

/// Which device this is.
struct device_identity {
    reading<text<63>> uuid{};  ///< "GPU-..." or, of a MIG instance, "MIG-..."
    reading<text<63>> name{};
    reading<text<31>> pci_bus_id{};  ///< domain:bus:device.function
    reading<std::int32_t> index_cuda{};
    reading<std::int32_t> index_nvml{};  ///< differs from the CUDA index where CUDA_VISIBLE_DEVICES or its order is set
    reading<text<31>> architecture{};
    reading<text<31>> board_part_number{};
    reading<bool> mig_enabled{};
    reading<text<31>> mig_profile{};  ///< "1g.10gb"
    reading<text<63>> mig_parent_uuid{};
    friend constexpr bool operator==(const device_identity&, const device_identity&) = default;
};

struct device_software {
    reading<text<31>> driver_version{};
    reading<std::int32_t> cuda_driver_version{};  ///< 1000 * major + 10 * minor, as CUDA counts
    reading<std::int32_t> cuda_runtime_version{};
    reading<text<31>> nvml_version{};
    reading<text<31>> vbios_version{};
    reading<bool> persistence_mode{};
    reading<text<31>> compute_mode{};  ///< default, exclusive_process, prohibited
    friend constexpr bool operator==(const device_software&, const device_software&) = default;
};

/// Memory as CUDA and as NVML see it. NVML's `used` counts what the driver reserves; CUDA's total is what a process can
/// see at all.
struct device_memory {
    reading<byte_count> cuda_total{};
    reading<byte_count> cuda_free{};  ///< with the probe's own context open
    reading<byte_count> nvml_total{};
    reading<byte_count> nvml_reserved{};
    reading<byte_count> nvml_used{};
    reading<byte_count> nvml_free{};
    reading<byte_count> bar1_total{};
    reading<byte_count> bar1_used{};
    reading<byte_count> l2_cache{};
    reading<std::int32_t> bus_width_bits{};
    reading<byte_rate> theoretical_bandwidth{};  ///< derived: 2 x memory clock x bus width
    reading<byte_count> granularity_minimum{};   ///< of virtual-memory allocations
    reading<byte_count> granularity_recommended{};
    reading<bool> ecc_enabled{};
    reading<bool> ecc_pending{};  ///< after the next reboot
    reading<std::int32_t> remapped_rows_correctable{};
    reading<std::int32_t> remapped_rows_uncorrectable{};
    reading<bool> remapping_pending{};
    reading<bool> remapping_failed{};
    reading<bool> virtual_memory_supported{};
    reading<bool> memory_pools_supported{};
    reading<bool> managed_memory{};
    reading<bool>
        pageable_memory_access{};  ///< the GPU reads host memory as its own: free memory is the system's to say
    reading<bool> integrated{};    ///< shares the host's memory
    friend constexpr bool operator==(const device_memory&, const device_memory&) = default;
};

struct device_compute {
    reading<std::int32_t> capability_major{};
    reading<std::int32_t> capability_minor{};
    reading<std::int32_t> sm_count{};
    reading<frequency> sm_clock_now{};
    reading<frequency> sm_clock_max{};
    reading<frequency> memory_clock_now{};
    reading<frequency> memory_clock_max{};
    friend constexpr bool operator==(const device_compute&, const device_compute&) = default;
};

struct device_power {
    reading<power> draw{};
    reading<power> limit{};  ///< enforced now
    reading<power> limit_default{};
    reading<std::int32_t> temperature_celsius{};
    reading<std::int32_t> slowdown_celsius{};
    reading<text<95>> throttle_reasons{};  ///< "none", or names with commas between
    friend constexpr bool operator==(const device_power&, const device_power&) = default;
};

/// GPUs lower the PCIe generation when idle: `now` is a snapshot, `max` what card and slot can do together.
struct device_pcie {
    reading<std::int32_t> generation_now{};
    reading<std::int32_t> generation_max{};
    reading<std::int32_t> width_now{};
    reading<std::int32_t> width_max{};
    reading<std::int32_t> numa_node{};
    friend constexpr bool operator==(const device_pcie&, const device_pcie&) = default;
};

struct device_nvlink {
    std::int32_t link = 0;
    reading<bool> active{};
    reading<std::int32_t> version{};
    reading<text<31>> remote_pci_bus_id{};
    reading<text<31>> remote_type{};  ///< gpu, switch, npu
    friend constexpr bool operator==(const device_nvlink&, const device_nvlink&) = default;
};

/// What this device can do to another of the same machine.
struct device_peer {
    text<63> uuid{};
    reading<bool> access{};
    reading<bool> native_atomics{};
    reading<std::int32_t> performance_rank{};
    reading<text<31>> topology{};  ///< internal, single_switch, multiple_switches, host_bridge, node, system
    reading<measured<byte_rate>> bandwidth{};
    friend constexpr bool operator==(const device_peer&, const device_peer&) = default;
};

/// A process that holds memory on the device, where the driver lets us see it.
struct device_process {
    std::int64_t pid = 0;
    reading<byte_count> used{};
    friend constexpr bool operator==(const device_process&, const device_process&) = default;
};

/// One matrix product: rows x inner times inner x columns, 2 x rows x columns x inner operations.
struct device_product {
    text<23> precision{};  ///< of the factors
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    reading<measured<flop_rate>> rate{};
    reading<bool> verified{};  ///< sampled elements agreed with the host's own sums
    friend constexpr bool operator==(const device_product&, const device_product&) = default;
};

/// All devices together sum a vector; `bandwidth` is 2 (n-1)/n x bytes / time, what a ring sends over each link.
struct device_all_reduce {
    std::int32_t devices = 0;
    byte_count message{};
    reading<measured<byte_rate>> bandwidth{};
    reading<bool> verified{};
    friend constexpr bool operator==(const device_all_reduce&, const device_all_reduce&) = default;
};

/// What the probe measured. Rates are achieved, not peaks.
struct device_measurements {
    reading<measured<byte_rate>> read_bandwidth{};  ///< device memory, read only
    reading<measured<byte_rate>> copy_bandwidth{};  ///< device to device: read plus written bytes
    reading<measured<byte_rate>> host_to_device_pinned{};
    reading<measured<byte_rate>> device_to_host_pinned{};
    reading<measured<byte_rate>> host_to_device_pageable{};
    reading<measured<byte_rate>> device_to_host_pageable{};
    reading<measured<duration>> launch_latency{};   ///< an empty kernel, launched and waited for
    reading<measured<duration>> launch_interval{};  ///< of empty kernels launched back to back
    reading<byte_count> context{};                  ///< what opening a CUDA context takes from the device
    reading<byte_count> library_workspace{};        ///< what a cuBLAS handle and its first product take on top
    short_list<device_product, 64> products{};
    short_list<device_all_reduce, 8> all_reduces{};
    friend constexpr bool operator==(const device_measurements&, const device_measurements&) = default;
};

struct device {
    device_identity identity{};
    device_software software{};
    device_memory memory{};
    device_compute compute{};
    device_power power{};
    device_pcie pcie{};
    reading<std::int32_t> nvlinks_active{};
    short_list<device_nvlink, 36> nvlinks{};
    short_list<device_peer, 16> peers{};
    reading<std::int32_t> process_count{};
    short_list<device_process, 32> processes{};
    device_measurements measured{};
    friend constexpr bool operator==(const device&, const device&) = default;
};

// ---- from a live device to the planner's vocabulary
// ------------------------------------------------------------------

/// What of a device goes over the sheet.
struct device_overrides {
    bool memory = true;
    bool bandwidth = true;
    bool rates = true;
    bool context = true;
};

namespace detail {

/// The best verified rate in a precision; unverified results are not believed.
constexpr maybe<flop_rate> best_rate(const device& live, std::string_view precision) {
    maybe<flop_rate> best;
    for (const device_product& p : live.measured.products)
        if (p.precision == precision && p.rate && p.verified.value_or(false) && p.rate.value.median > best.value_or({}))
            best = p.rate.value.median;
    return best;
}

/// What verified products of 10^11 operations and more, as a layer's for a thousand tokens, reached of the best in
/// their precision: the least, the median and the best of them. 1 where none was measured.
constexpr interval<double> reach_of_products(const device& live) {
    std::array<double, decltype(device_measurements::products)::capacity> parts{};
    std::size_t found = 0;
    for (const device_product& p : live.measured.products) {
        const double operations =
            2.0 * static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(p.inner);
        if (operations >= 1e11 && p.rate && p.verified.value_or(false))
            parts[found++] = ratio(p.rate.value.median, *best_rate(live, p.precision));
    }
    if (found == 0) return 1.0;
    std::sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(found));
    return {parts[0], (parts[(found - 1) / 2] + parts[found / 2]) / 2, parts[found - 1]};
}

}  // namespace detail

/// The sheet with what the device itself said put over it: name, capability, SMs, visible and reported memory, bus, L2,
/// board power. What was measured stands beside the sheet's peaks, as gpu::measured: bandwidth (read only, else copy),
/// rates of matrix products (the best verified shape, and what others reach of it) and the context; `confidence` is
/// then "measured". What the device did not tell stays the sheet's; on a MIG instance, which is a part of the sheet's
/// card, peaks shrink with its SMs and its memory.
template <std::same_as<gpu> Gpu>
constexpr Gpu to_gpu(const device& live, const Gpu& sheet, const device_overrides& use = {}) {
    Gpu made = sheet;
    if (live.identity.name) made.name = *live.identity.name;
    if (live.compute.capability_major && live.compute.capability_minor)
        made.capability = {*live.compute.capability_major, *live.compute.capability_minor};
    if (live.power.limit) made.board_power = *live.power.limit;
    if (live.memory.l2_cache) made.l2_cache = *live.memory.l2_cache;
    if (live.memory.bus_width_bits) made.memory.bus_bits = *live.memory.bus_width_bits;
    if (live.compute.sm_count) made.sm_count = *live.compute.sm_count;
    if (use.memory) {
        if (live.memory.cuda_total) made.memory.cuda_visible = *live.memory.cuda_total;
        if (live.memory.nvml_total) made.memory.reported = *live.memory.nvml_total;
    }

    if (live.identity.mig_profile) {
        if (live.compute.sm_count && sheet.sm_count.value_or(0) > 0) {
            const double share = static_cast<double>(*live.compute.sm_count) / static_cast<double>(*sheet.sm_count);
            for (maybe<flop_rate>* rate :
                 {&made.rates.fp64, &made.rates.fp64_tensor, &made.rates.fp32, &made.rates.fp16_vector,
                  &made.rates.tf32, &made.rates.fp16_accumulate16, &made.rates.fp16, &made.rates.bf16,
                  &made.rates.fp8_accumulate16, &made.rates.fp8, &made.rates.fp6, &made.rates.fp4, &made.rates.int8,
                  &made.rates.int4})
                if (*rate) rate->value = rate->value * share;
        }
        if (live.memory.cuda_total && sheet.memory.fitted > byte_count{})
            made.memory.bandwidth = sheet.memory.bandwidth * ratio(*live.memory.cuda_total, sheet.memory.fitted);
        // The driver keeps its own of the card, not of the instance: what CUDA sees is to be believed, however near.
        if (use.memory && live.memory.cuda_total) made.memory.reported = {};
    }

    const device_measurements& m = live.measured;
    if (use.bandwidth && (m.read_bandwidth || m.copy_bandwidth))
        made.measured.bandwidth = (m.read_bandwidth ? m.read_bandwidth : m.copy_bandwidth)->median;
    if (use.rates) {
        made.measured.tf32 = detail::best_rate(live, "tf32");
        made.measured.fp16 = detail::best_rate(live, "fp16");
        made.measured.bf16 = detail::best_rate(live, "bf16");
        made.measured.fp8 = detail::best_rate(live, "fp8_e4m3");
        made.measured.int8 = detail::best_rate(live, "int8");
        made.measured.reach = detail::reach_of_products(live);
    }
    if (use.context && m.context) made.measured.context = *m.context;
    if (made.measured.bandwidth || made.measured.any_rate()) made.confidence = "measured";
    made.sources = "device";
    return made;
}

/// Bytes that others held when the device was described: what NVML saw neither free nor reserved before a context was
/// opened; else what CUDA saw taken, less the probe's own as far as that was measured. Unknown if neither was read.
constexpr maybe<byte_count> held_by_others(const device& live) {
    const device_memory& m = live.memory;
    const auto left = [](byte_count all, byte_count own) { return all > own ? all - own : byte_count{}; };
    if (m.nvml_total && m.nvml_free) return left(*m.nvml_total, *m.nvml_free + m.nvml_reserved.value_or({}));
    if (m.cuda_total && m.cuda_free)
        return left(*m.cuda_total,
                    *m.cuda_free + live.measured.context.value_or({}) + live.measured.library_workspace.value_or({}));
    return {};
}

/// The device's attachment to its host. `raw` is what PCIe signals in one direction: 0.25 GB/s a lane in generation 1,
/// 0.5 in 2, then 0.985, 1.969, 3.938 and 7.563 (line rate less 128b/130b or flit coding); `achievable` is what the
/// slower direction of pinned copies reached of it, or 1 if not measured; `latency` is not measured and stays zero.
constexpr result<link> host_link(const device& live) {
    const auto& generation = live.pcie.generation_max ? live.pcie.generation_max : live.pcie.generation_now;
    const auto& width = live.pcie.width_max ? live.pcie.width_max : live.pcie.width_now;
    if (!generation) return refused(error_code::missing, "pcie.generation_max", generation.why, "a PCIe generation");
    if (!width) return refused(error_code::missing, "pcie.width_max", width.why, "a PCIe width in lanes");
    constexpr std::array<double, 6> lane_gb_per_s{0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    if (const status ok = in_range("pcie.generation_max", *generation, 1, 6); !ok) return ok.error();
    if (const status ok = in_range("pcie.width_max", *width, 1, 32); !ok) return ok.error();
    link made{.id = "host", .kind = link_kind::pcie};
    made.raw = gb_per_s(lane_gb_per_s[static_cast<std::size_t>(*generation - 1)] * *width);
    const auto& down = live.measured.host_to_device_pinned;
    const auto& up = live.measured.device_to_host_pinned;
    if (down && up) {
        const byte_rate slower = down.value.median < up.value.median ? down.value.median : up.value.median;
        made.achievable = ratio(slower, made.raw);
    }
    made.sources = "device";
    return made;
}

}  // namespace llmres::inline v0
