// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/device.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which cluster is a machine that was measured? Made from what `llmres-probe calibrate` wrote about one of its GPUs.
namespace llmres::inline v0 {

/// The row of the tables that describes a device best: of its compute capability, then of its name, then with as many
/// SMs, then nearest in memory. Refuses a device whose capability or memory was not read, or whose capability no row
/// has.
constexpr result<gpu> sheet_for(const device& live);

/// A cluster of `gpus` such devices, with the links and hosts of standard_cluster(). Its GPU is to_gpu() of the device
/// and sheet_for() it; `in_use` is what other processes held when the device was described; and the links to peers and
/// to the host are as fast as all-reduces and copies were measured to be.
constexpr result<cluster> cluster_of(const device& live, std::int32_t gpus = 1);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether a device's name contains the part of the row's id that names the chip: "h100" of "h100-sxm5-80gb".
constexpr bool named_alike(const gpu& card, std::string_view name) {
    const auto same = [](char a, char b) { return lower_case(a) == b; };
    const std::string_view id = card.id.view();
    for (std::size_t begin = 0; begin < id.size();) {
        const std::size_t end = (std::min)(id.find('-', begin), id.size());
        const std::string_view word = id.substr(begin, end - begin);
        if (word.find_first_of("0123456789") != std::string_view::npos)
            return std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
        begin = end + 1;
    }
    return false;
}

/// The slowest measured copy to another device; unknown if one was not measured, or there is none.
constexpr maybe<byte_rate> slowest_peer(const device& live) {
    maybe<byte_rate> slowest;
    for (const device_peer& peer : live.peers) {
        if (!peer.bandwidth) return {};
        if (!slowest || peer.bandwidth->median < *slowest) slowest = peer.bandwidth->median;
    }
    return slowest;
}

/// Bus bandwidth of the largest verified all-reduce.
constexpr maybe<byte_rate> measured_all_reduce(const device& live) {
    const device_all_reduce* largest = nullptr;
    for (const device_all_reduce& one : live.measured.all_reduces)
        if (one.bandwidth && one.verified.value_or(false) && (largest == nullptr || one.message > largest->message))
            largest = &one;
    return largest == nullptr ? maybe<byte_rate>{} : maybe<byte_rate>{largest->bandwidth->median};
}

}  // namespace detail

constexpr result<gpu> sheet_for(const device& live) {
    if (!live.compute.capability_major || !live.compute.capability_minor)
        return refused(error_code::missing, "compute.capability_major", live.compute.capability_major.why,
                       "a device that was described");
    if (!live.memory.cuda_total)
        return refused(error_code::missing, "memory.cuda_total_bytes", live.memory.cuda_total.why,
                       "a device that was described");
    const compute_capability capability{*live.compute.capability_major, *live.compute.capability_minor};
    const gpu* nearest = nullptr;
    std::int64_t least = 0;
    for (const gpu* card : gpus::all) {
        if (card->vendor != gpu_vendor::nvidia || card->capability != capability) continue;
        const std::int64_t apart = (usable_memory(*card) - *live.memory.cuda_total).in(bytes);
        const bool other_part = card->sm_count && live.compute.sm_count && *card->sm_count != *live.compute.sm_count;
        const std::int64_t distance = (apart < 0 ? -apart : apart) + (other_part ? tib(1).in(bytes) : 0) +
                                      (detail::named_alike(*card, live.identity.name.value) ? 0 : tib(2).in(bytes));
        if (nearest == nullptr || distance < least) nearest = card, least = distance;
    }
    if (nearest == nullptr)
        return refused(error_code::unknown, "compute.capability", live.identity.name.value.view(),
                       "a compute capability that the tables know");
    return *nearest;
}

constexpr result<cluster> cluster_of(const device& live, std::int32_t gpus) {
    const result<gpu> sheet = sheet_for(live);
    if (!sheet) return sheet.error();
    result<cluster> made = standard_cluster(to_gpu(live, *sheet), gpus);
    if (!made) return made;
    if (const maybe<byte_count> held = held_by_others(live)) made->in_use = (std::min)(*held, usable_memory(made->gpu));
    // In a mesh, a copy between two GPUs measures one of the links, not the bandwidth of all.
    const maybe<byte_rate> peers = detail::slowest_peer(live);
    if (peers && made->scale_up.raw > byte_rate{} && made->scale_up.topology != link_topology::mesh)
        made->scale_up.achievable = ratio(*peers, made->scale_up.raw);
    if (const maybe<byte_rate> summed = detail::measured_all_reduce(live); summed && made->scale_up.raw > byte_rate{})
        made->scale_up.all_reduce = summed;
    if (const result<link> host = host_link(live)) made->host.link = *host;
    return made;
}

}  // namespace llmres::inline v0
