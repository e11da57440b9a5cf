// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/hardware/interconnects/memory.hpp>
#include <llmres/hardware/interconnects/network.hpp>
#include <llmres/hardware/interconnects/pcie.hpp>
#include <llmres/hardware/interconnects/scale_up.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/joined.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which link is meant by a name, or joins GPUs of a kind? Links as published and as measured; what is not known is
/// left out. Where a source prints a range, the field holds its middle and the comment beside it the range; where it
/// prints several figures, the field holds the first, which is that of the whole domain. docs/sources.md explains
/// source tags.
namespace llmres::inline v0::links {

/// Every row of the tables.
inline constexpr auto all = joined(all_pcie, all_scale_up, all_network, all_memory);

}  // namespace llmres::inline v0::links

namespace llmres::inline v0 {

/// The link of that id ("nvlink4-h100-sxm5", "ib-ndr-400"). Another name is an `unknown` error on `field`, which lists
/// the ids nearest to it.
constexpr result<link> find_link(std::string_view id, std::string_view field = "link") {
    for (const link* row : links::all)
        if (row->id == id) return *row;
    std::array<std::string_view, links::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = links::all[i]->id.view();
    return refused(error_code::unknown, field, id, such_as("a link", nearest(id, ids)));
}

/// The PCIe row of that generation and number of lanes; a number that has no row takes its share of the x16 row.
/// Refuses generations but 3 to 6 and lanes but 1 to 16.
constexpr result<link> pcie_link(std::int32_t generation, std::int32_t lanes) {
    if (const status known = in_range("pcie_generation", generation, 3, 6); !known) return known.error();
    if (const status known = in_range("pcie_lanes", lanes, 1, 16); !known) return known.error();
    const auto is_generation = [&](const link& row) {
        return row.generation.characters[0] == static_cast<char>('0' + generation);
    };
    for (const link* row : links::all_pcie)
        if (is_generation(*row) && row->lanes == lanes) return *row;
    for (const link* row : links::all_pcie)
        if (is_generation(*row) && row->lanes == 16) {
            link share = *row;
            share.id = "pcie";
            share.lanes = lanes;
            share.raw = row->raw * (lanes / 16.0);
            share.both_directions = share.raw * 2;
            share.all_reduce = {};
            return share;
        }
    return refused(error_code::unknown, "pcie_generation", generation, "a PCIe generation of the table");
}

namespace detail {

constexpr result<link> pcie_of(const gpu& card) {
    const gpu_links& ends = card.links;
    if (!ends.pcie_generation) return refused(error_code::missing, "pcie_generation", "", "the GPU's PCIe generation");
    if (!ends.pcie_lanes) return refused(error_code::missing, "pcie_lanes", "", "the number of the GPU's PCIe lanes");
    return pcie_link(*ends.pcie_generation, *ends.pcie_lanes);
}

}  // namespace detail

/// The link between a GPU and its host's memory: NVLink C2C on Grace superchips, else PCIe. A `missing` error where the
/// datasheet names no PCIe (TPUs, Trainium, and systems on a chip, whose memory is the host's).
constexpr result<link> host_link(const gpu& card) {
    const std::string_view family = card.id.view().substr(0, 5);
    if (family == "gh200") return links::nvlink_c2c_grace_hopper;
    if (family == "gb200" || family == "gb300") return links::nvlink_c2c_grace_blackwell;
    return detail::pcie_of(card);
}

namespace detail {

constexpr link_kind fabric_of(gpu_vendor vendor) {
    switch (vendor) {
        case gpu_vendor::nvidia: return link_kind::nvlink;
        case gpu_vendor::amd: return link_kind::xgmi;
        case gpu_vendor::intel: return link_kind::roce;
        case gpu_vendor::google: return link_kind::ici;
        case gpu_vendor::aws: return link_kind::neuronlink;
        case gpu_vendor::huawei: return link_kind::hccs;
        default: return link_kind::other;
    }
}

/// Whether a name of words with hyphens between them contains this word.
constexpr bool has_word(std::string_view name, std::string_view word) {
    while (name.size() > word.size()) {
        if (name.substr(0, word.size()) == word && name[word.size()] == '-') return true;
        const std::size_t hyphen = name.find('-');
        if (hyphen == std::string_view::npos) return false;
        name.remove_prefix(hyphen + 1);
    }
    return name == word;
}

/// How far a row is from the fabric of a GPU; 0 is a match.
constexpr double misfit(const link& row, const gpu& card) {
    const double printed = row.both_directions.value_or(row.raw * 2) / *card.links.scale_up;
    double points = 100 * (printed > 1 ? printed - 1 : 1 / printed - 1);
    if (points < 1) points = 0;  // within one per cent: printed with fewer digits
    if (card.links.scale_up_generation > 0 &&
        row.generation.characters[0] != static_cast<char>('0' + card.links.scale_up_generation))
        points += 1000;
    if (card.links.scale_up_domain && card.links.scale_up_domain != row.members) points += 10;
    const std::string_view model = card.id.view().substr(0, card.id.view().find('-'));
    if (!has_word(row.id, model)) points += 1;
    return points;
}

}  // namespace detail

/// The link between GPUs of this kind inside a node. With NVLink or another fabric of the vendor: the row of its
/// bandwidth, generation and size of domain (`members`; beyond it, traffic takes PCIe). If there is no such row, the
/// link has the figures of the GPU's datasheet, and the efficiency and latency of the nearest row of that fabric.
/// Without a fabric, or where its bandwidth is not published: PCIe, or an error where the datasheet names none.
constexpr result<link> scale_up_link(const gpu& card) {
    const bool alone = card.links.scale_up.value_or({}) <= byte_rate{} || card.links.scale_up_domain == 1;
    if (alone) return detail::pcie_of(card);
    const link* best = nullptr;
    for (const link* row : links::all_scale_up) {
        if (row->kind != detail::fabric_of(card.vendor)) continue;
        if (best == nullptr || detail::misfit(*row, card) < detail::misfit(*best, card)) best = row;
    }
    if (best != nullptr && detail::misfit(*best, card) < 10) return *best;
    const std::int32_t members = card.links.scale_up_domain.value_or(2);
    link own = best != nullptr ? *best : link{.kind = link_kind::other};
    if (best == nullptr || best->members != members)
        own.topology = members <= 2 ? link_topology::bridge : link_topology::mesh;
    own.id = "own-fabric";
    own.generation = {};
    own.lanes = card.links.scale_up_links;
    own.members = members;
    own.raw = *card.links.scale_up / 2;
    own.both_directions = card.links.scale_up;
    own.all_reduce = {};
    own.scope = "";
    own.confidence = "low";
    own.sources = card.listing.sources.view();
    return own;
}

}  // namespace llmres::inline v0
