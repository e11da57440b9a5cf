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

/// What does one GPU in one machine report about itself, and what was measured on it? Plain host values without a CUDA
/// header: cuda_probe/ fills them, io/device_json.hpp stores them, and to_gpu() makes a row as of the tables from them.
namespace llmres::inline v0 {

struct gpu;  // hardware/gpu.hpp, which a caller of to_gpu() has included

/// A value that was read, or why it could not be. A field that could not be read is never zero.
template <class T>
struct reading {
    bool known = false;        ///< whether it could be read
    T value{};                 ///< the value; meaningful only if `known`
    text<95> why{"not read"};  ///< why it could not be read; meaningful only if not `known`

    constexpr reading() = default;  ///< not read
    /// A value that was read.
    constexpr reading(const T& v)  // NOLINT(google-explicit-constructor): reads as data
        : known{true}, value{v}, why{} {}
    /// A value that could not be read, with the reason.
    static constexpr reading unavailable(std::string_view reason) {
        reading none;
        none.why = reason;
        return none;
    }

    /// Whether it could be read.
    constexpr explicit operator bool() const { return known; }
    /// The value; only if `known`.
    constexpr const T& operator*() const { return value; }
    /// The value; only if `known`.
    constexpr const T* operator->() const { return &value; }
    /// The value, or another where it could not be read.
    constexpr T value_or(const T& otherwise) const { return known ? value : otherwise; }

    friend constexpr bool operator==(const reading& a, const reading& b) {
        return a.known == b.known && (a.known ? a.value == b.value : a.why == b.why);
    }
};

/// Up to `Capacity` items in place.
template <class T, std::size_t Capacity>
struct short_list {
    std::array<T, Capacity> items{};  ///< storage; the first `count` items are in use
    std::size_t count = 0;            ///< items in use

    static constexpr std::size_t capacity = Capacity;  ///< items that there is room for
    /// Appends an item; false, and nothing stored, if the list is full.
    constexpr bool push(const T& item) {
        if (count == Capacity) return false;
        items[count++] = item;
        return true;
    }
    /// Items in use.
    constexpr std::size_t size() const { return count; }
    /// Whether no item is in use.
    constexpr bool empty() const { return count == 0; }
    /// The first item.
    constexpr const T* begin() const { return items.data(); }
    /// Behind the last item.
    constexpr const T* end() const { return items.data() + count; }
    /// The first item.
    constexpr T* begin() { return items.data(); }
    /// Behind the last item.
    constexpr T* end() { return items.data() + count; }
    /// The i-th item.
    constexpr const T& operator[](std::size_t i) const { return items[i]; }
    /// The i-th item.
    constexpr T& operator[](std::size_t i) { return items[i]; }

    friend constexpr bool operator==(const short_list& a, const short_list& b) {
        if (a.count != b.count) return false;
        for (std::size_t i = 0; i < a.count; ++i)
            if (!(a.items[i] == b.items[i])) return false;
        return true;
    }
};

/// What the device did while a figure was measured, as NVML tells it.
struct device_conditions {
    reading<frequency> sm_clock{};         ///< lowest clock of the multiprocessors
    reading<power> draw{};                 ///< highest power drawn; some devices report the mean of the last second
    reading<text<95>> throttle_reasons{};  ///< all reasons for lowered clocks that were seen, "none" if there were none
    friend constexpr bool operator==(const device_conditions&, const device_conditions&) = default;
};

/// A quantity measured several times.
template <class Quantity>
struct measured {
    Quantity median{};           ///< median of the samples
    Quantity low{};              ///< smallest sample
    Quantity high{};             ///< largest sample
    std::int32_t repeats = 0;    ///< samples taken
    device_conditions during{};  ///< meanwhile

    friend constexpr bool operator==(const measured&, const measured&) = default;
};

/// Which device this is.
struct device_identity {
    reading<text<63>> uuid{};            ///< "GPU-..." or, for a MIG instance, "MIG-..."
    reading<text<63>> name{};            ///< marketed name, as the driver reports it
    reading<text<31>> pci_bus_id{};      ///< address on the bus, domain:bus:device.function
    reading<std::int32_t> index_cuda{};  ///< index among the devices that CUDA shows
    /// NVML's index; differs from CUDA's where CUDA_VISIBLE_DEVICES or its order is set.
    reading<std::int32_t> index_nvml{};
    reading<text<31>> board_part_number{};  ///< the vendor's part number of the board
    reading<bool> mig_enabled{};            ///< whether the card is split by MIG
    reading<text<31>> mig_profile{};        ///< "1g.10gb", for a MIG instance
    reading<text<63>> mig_parent_uuid{};    ///< the card of a MIG instance
    friend constexpr bool operator==(const device_identity&, const device_identity&) = default;
};

/// Versions of driver and libraries, and the modes that the driver is in.
struct device_software {
    reading<text<31>> driver_version{};  ///< NVIDIA driver, "550.54.15"
    /// The CUDA that the driver supports: 1000 x major + 10 x minor.
    reading<std::int32_t> cuda_driver_version{};
    reading<std::int32_t> cuda_runtime_version{};  ///< the CUDA that the probe was built with, counted alike
    reading<text<31>> nvml_version{};              ///< NVML
    reading<text<31>> vbios_version{};             ///< the board's firmware
    reading<bool> persistence_mode{};              ///< whether the driver stays loaded while nobody uses the device
    reading<text<31>> compute_mode{};              ///< default, exclusive_process or prohibited
    friend constexpr bool operator==(const device_software&, const device_software&) = default;
};

/// How memory of a device can be allocated.
struct device_allocation {
    reading<byte_count> granularity_minimum{};  ///< smallest unit of virtual-memory allocations
    reading<bool> virtual_memory_supported{};   ///< cuMemMap and its kin work
    reading<bool> memory_pools_supported{};     ///< cudaMallocAsync works
    reading<bool> managed_memory{};             ///< cudaMallocManaged works
    /// The GPU reads pageable host memory, so that the host's system decides how much is free.
    reading<bool> pageable_memory_access{};
    reading<bool> integrated{};  ///< the GPU shares the host's memory
    friend constexpr bool operator==(const device_allocation&, const device_allocation&) = default;
};

/// Memory as CUDA and as NVML report it. NVML's `used` counts what the driver reserves; CUDA's total is all that a
/// process can allocate from.
struct device_memory {
    reading<byte_count> cuda_total{};                     ///< all that CUDA shows to a process
    reading<byte_count> cuda_free{};                      ///< free according to CUDA, with the probe's own context open
    reading<byte_count> nvml_total{};                     ///< all of it according to NVML
    reading<byte_count> nvml_reserved{};                  ///< kept by driver and firmware
    reading<byte_count> nvml_used{};                      ///< used by processes and by the driver
    reading<byte_count> nvml_free{};                      ///< free according to NVML
    reading<byte_count> l2_cache{};                       ///< size of the L2 cache
    reading<std::int32_t> bus_width_bits{};               ///< width of the memory bus
    reading<bool> ecc_enabled{};                          ///< error-correcting code is on
    reading<bool> ecc_pending{};                          ///< error-correcting code will be on after the next reboot
    reading<std::int32_t> remapped_rows_correctable{};    ///< rows replaced after correctable errors
    reading<std::int32_t> remapped_rows_uncorrectable{};  ///< rows replaced after uncorrectable errors
    reading<bool> remapping_pending{};                    ///< a row will be replaced at the next reset
    reading<bool> remapping_failed{};                     ///< no spare row was left
    device_allocation allocation{};                       ///< how its memory can be allocated
    friend constexpr bool operator==(const device_memory&, const device_memory&) = default;
};

/// Compute capability, multiprocessors and clocks.
struct device_compute {
    reading<std::int32_t> capability_major{};  ///< compute capability, before the dot
    reading<std::int32_t> capability_minor{};  ///< compute capability, after the dot
    reading<std::int32_t> sm_count{};          ///< streaming multiprocessors
    reading<frequency> sm_clock_now{};         ///< their clock when described
    reading<frequency> sm_clock_max{};         ///< their highest clock
    reading<frequency> memory_clock_now{};     ///< memory clock when described
    reading<frequency> memory_clock_max{};     ///< highest memory clock
    friend constexpr bool operator==(const device_compute&, const device_compute&) = default;
};

/// Power and temperature.
struct device_power {
    reading<power> draw{};                        ///< power drawn when described
    reading<power> limit{};                       ///< power limit that is enforced now
    reading<power> limit_default{};               ///< power limit as shipped
    reading<std::int32_t> temperature_celsius{};  ///< temperature when described
    reading<std::int32_t> slowdown_celsius{};     ///< temperature from which clocks are lowered
    reading<text<95>> throttle_reasons{};         ///< why clocks are lowered: "none", or names with commas between
    friend constexpr bool operator==(const device_power&, const device_power&) = default;
};

/// Attachment to the host. An idle GPU lowers its PCIe generation: `now` is a snapshot, `max` what card and slot
/// support together.
struct device_pcie {
    reading<std::int32_t> generation_now{};  ///< PCIe generation when described
    reading<std::int32_t> generation_max{};  ///< highest generation of card and slot
    reading<std::int32_t> width_now{};       ///< lanes when described
    reading<std::int32_t> width_max{};       ///< lanes that card and slot have
    reading<std::int32_t> numa_node{};       ///< NUMA node of the host that the card is attached to
    friend constexpr bool operator==(const device_pcie&, const device_pcie&) = default;
};

/// How this device reaches another device of the same machine.
struct device_peer {
    text<63> uuid{};  ///< the other device
    /// What lies between: internal, single_switch, multiple_switches, host_bridge, node or system.
    reading<text<31>> topology{};
    reading<measured<byte_rate>> bandwidth{};  ///< copies to it
    friend constexpr bool operator==(const device_peer&, const device_peer&) = default;
};

/// A process that holds memory on the device, where the driver shows it.
struct device_process {
    std::int64_t pid = 0;        ///< process id
    reading<byte_count> used{};  ///< device memory that it holds
    friend constexpr bool operator==(const device_process&, const device_process&) = default;
};

/// One matrix product: rows x inner times inner x columns, 2 x rows x columns x inner operations.
struct device_product {
    text<23> precision{};                 ///< format of the factors
    std::int64_t rows = 0;                ///< rows of the left factor
    std::int64_t columns = 0;             ///< columns of the right factor
    std::int64_t inner = 0;               ///< columns of the left factor, rows of the right
    reading<measured<flop_rate>> rate{};  ///< operations a second, of bursts that power limits do not reach
    /// Operations a second after seconds of the same product; of one shape in each precision.
    reading<measured<flop_rate>> sustained{};
    reading<bool> verified{};  ///< whether sampled elements agreed with the host's own sums
    friend constexpr bool operator==(const device_product&, const device_product&) = default;
};

/// An all-reduce over all devices of the machine; its bus bandwidth is what a ring sends over each link.
struct device_all_reduce {
    std::int32_t devices = 0;                  ///< devices that took part
    byte_count message{};                      ///< size of the vector
    reading<measured<byte_rate>> bandwidth{};  ///< bus bandwidth, 2 (n - 1) / n x message / time
    reading<bool> verified{};                  ///< whether the sums were right
    friend constexpr bool operator==(const device_all_reduce&, const device_all_reduce&) = default;
};

/// What the probe measured. Rates are achieved ones, not peaks.
struct device_measurements {
    reading<measured<byte_rate>> read_bandwidth{};         ///< device memory, read only
    reading<measured<byte_rate>> host_to_device_pinned{};  ///< copies from page-locked host memory
    reading<measured<byte_rate>> device_to_host_pinned{};  ///< copies to page-locked host memory
    reading<byte_count> context{};                         ///< device memory that opening a CUDA context takes
    /// Device memory that a cuBLAS handle and its first product take beyond the context.
    reading<byte_count> library_workspace{};
    short_list<device_product, 32> products{};       ///< matrix products, by format and shape
    short_list<device_all_reduce, 8> all_reduces{};  ///< all-reduces, by message size
    friend constexpr bool operator==(const device_measurements&, const device_measurements&) = default;
};

/// Everything known about one device.
struct device {
    device_identity identity{};                  ///< which device it is
    device_software software{};                  ///< versions and modes
    device_memory memory{};                      ///< sizes of its memory
    device_compute compute{};                    ///< multiprocessors and clocks
    device_power power{};                        ///< power and temperature
    device_pcie pcie{};                          ///< attachment to the host
    reading<std::int32_t> nvlinks_active{};      ///< NVLinks that are up
    short_list<device_peer, 16> peers{};         ///< what it can do with the other devices of the machine
    reading<std::int32_t> process_count{};       ///< processes that hold memory on it
    short_list<device_process, 32> processes{};  ///< those that the driver shows
    device_measurements measured{};              ///< what the probe measured
    friend constexpr bool operator==(const device&, const device&) = default;
};

// ---- from a live device to the planner's vocabulary ----------------------------------------------------------------

/// Which readings of a device replace those of the datasheet.
struct device_overrides {
    bool memory = true;     ///< visible and reported memory
    bool bandwidth = true;  ///< measured bandwidth
    bool rates = true;      ///< measured rates of matrix products
    bool context = true;    ///< measured size of a context
};

namespace detail {

/// The best verified rate in a precision; results that were not verified are not used.
constexpr maybe<flop_rate> best_rate(const device& live, std::string_view precision) {
    maybe<flop_rate> best;
    for (const device_product& p : live.measured.products)
        if (p.precision == precision && p.rate && p.verified.value_or(false) && p.rate.value.median > best.value_or({}))
            best = p.rate.value.median;
    return best;
}

/// Rates of verified products of 10^11 operations and more (as a layer has for a thousand tokens), each divided by the
/// best rate in its precision: the least, the median and the most. 1 where none was measured.
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

/// The median, over the precisions, of what a product kept of its bursts' rate in a long run; 1 where none was
/// measured.
constexpr double kept_in_long_runs(const device& live) {
    std::array<double, decltype(device_measurements::products)::capacity> parts{};
    std::size_t found = 0;
    for (const device_product& p : live.measured.products)
        if (p.rate && p.sustained && p.verified.value_or(false))
            parts[found++] = ratio(p.sustained->median, p.rate->median);
    std::sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(found));
    return found == 0 ? 1.0 : (parts[(found - 1) / 2] + parts[found / 2]) / 2;
}

}  // namespace detail

/// The datasheet, with what the device reported in its place: name, capability, SMs, visible and reported memory, bus,
/// L2, board power. Measurements go into gpu::measured, beside the datasheet's peaks: bandwidth, rates of matrix
/// products (the best verified shape, the part of it that other shapes reach, and the part that long runs keep) and the
/// context; `confidence` is then "measured". What the device did not report stays the datasheet's. A MIG instance is a
/// part of the datasheet's card: its peaks are scaled by its SMs and its memory.
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
            made.rates = sheet.rates.scaled(share);
        }
        if (live.memory.cuda_total && sheet.memory.fitted > byte_count{})
            made.memory.bandwidth = sheet.memory.bandwidth * ratio(*live.memory.cuda_total, sheet.memory.fitted);
        // The driver's reserve lies on the card, not in the instance: the CUDA-visible size holds, however large.
        if (use.memory && live.memory.cuda_total) made.memory.reported = {};
    }

    const device_measurements& m = live.measured;
    if (use.bandwidth && m.read_bandwidth) made.measured.bandwidth = m.read_bandwidth->median;
    if (use.rates) {
        made.measured.tf32 = detail::best_rate(live, "tf32");
        made.measured.fp16 = detail::best_rate(live, "fp16");
        made.measured.bf16 = detail::best_rate(live, "bf16");
        made.measured.fp8 = detail::best_rate(live, "fp8_e4m3");
        made.measured.int8 = detail::best_rate(live, "int8");
        made.measured.reach = detail::reach_of_products(live);
        made.measured.sustained = detail::kept_in_long_runs(live);
    }
    if (use.context && m.context) made.measured.context = *m.context;
    if (made.measured.bandwidth || made.measured.any_rate()) made.listing.confidence = "measured";
    made.listing.sources = "device";
    return made;
}

/// Bytes that other processes held when the device was described: according to NVML, what was neither free nor reserved
/// before a context was opened; else what CUDA reported as used, less the probe's own context and workspace where these
/// were measured. Unknown if neither was read.
constexpr maybe<byte_count> held_by_others(const device& live) {
    const device_memory& m = live.memory;
    if (m.nvml_total && m.nvml_free) return beyond(*m.nvml_total, *m.nvml_free + m.nvml_reserved.value_or({}));
    if (m.cuda_total && m.cuda_free)
        return beyond(*m.cuda_total,
                      *m.cuda_free + live.measured.context.value_or({}) + live.measured.library_workspace.value_or({}));
    return {};
}

/// The device's attachment to its host. `raw` is what PCIe signals in one direction: 0.25 GB/s a lane in generation 1,
/// 0.5 in 2, then 0.985, 1.969, 3.938 and 7.563 (line rate less 128b/130b or flit coding); `achievable` is the
/// part of it that the slower direction of pinned copies reached, unknown if not measured, and so is `latency`. Refuses
/// a device whose PCIe generation or width was not read.
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
