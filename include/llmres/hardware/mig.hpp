// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// What is a slice of a GPU? Multi-Instance GPU splits one card into several, each with multiprocessors, memory and
/// bandwidth of its own.
///
///     const auto half = mig_slice(gpus::a100_sxm4_80gb, "3g.40gb");   // result<gpu>: a GPU like any other
///     for (const mig_profile& p : mig_profiles(gpus::a100_sxm4_80gb)) ...
namespace llmres::inline v0 {

/// The size of an instance: "3g.40gb" has three compute slices and four of eight memory slices.
struct mig_profile {
    text<15> name{};                  ///< "3g.40gb"
    std::int32_t compute_slices = 0;  ///< of 7, or of 4 on cards with four slices
    std::int32_t memory_slices = 0;   ///< of 8, or of 4
    std::int32_t instances = 0;       ///< how many of them one card holds
    byte_count memory{};              ///< memory that processes can allocate in one
};

/// The profiles of one card, at most eight.
struct mig_profile_list {
    std::array<mig_profile, 8> list{};  ///< storage; the first `count` are in use
    std::size_t count = 0;              ///< profiles in use

    /// The first profile.
    constexpr auto begin() const { return list.begin(); }
    /// Behind the last profile.
    constexpr auto end() const { return list.begin() + static_cast<std::ptrdiff_t>(count); }
    /// Whether the card has no MIG.
    constexpr bool empty() const { return count == 0; }
};

/// The profiles of a card; none where it has no MIG. Profiles with media engines (`+me`) are left out: their compute
/// and memory are the same.
constexpr mig_profile_list mig_profiles(const gpu& card);

/// One instance of a card. Refuses, on `field`, a card without MIG, and a profile that the card does not have: the
/// error lists those that it has.
constexpr result<gpu> mig_slice(const gpu& card, std::string_view profile, std::string_view field = "mig");

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

struct mig_cut {
    std::int32_t compute;
    std::int32_t memory;
};
// NVIDIA Multi-Instance GPU User Guide, supported profiles. A30 and RTX PRO 6000 have four slices.
inline constexpr std::array seven_slices{mig_cut{1, 1}, mig_cut{1, 2}, mig_cut{2, 2},
                                         mig_cut{3, 4}, mig_cut{4, 4}, mig_cut{7, 8}};
inline constexpr std::array four_slices{mig_cut{1, 1}, mig_cut{2, 2}, mig_cut{4, 4}};

constexpr std::int32_t mig_memory_slices(const gpu& card) { return *card.mig_instances == 7 ? 8 : 4; }

/// The gigabytes that profiles are named after: the marketed size, or the reported one where that is much less (B300:
/// 288 GB, but 1g.34gb).
constexpr double mig_named_gb(const gpu& card) {
    const double printed = card.memory.marketing.in(gb);
    const double reported = card.memory.reported ? card.memory.reported.value.in(gib) : printed;
    return reported < printed * 0.95 ? reported : printed;
}
constexpr std::int64_t mig_rounded_gb(const gpu& card, std::int32_t slices) {
    return static_cast<std::int64_t>(mig_named_gb(card) * slices / mig_memory_slices(card) + 0.5);
}

/// Memory of an instance is its share less 0.5 % of the whole card: 4.75 and 9.5 GiB of the eighth of an A100 with 40
/// and 80 GB, 19.5 of its quarter, 39.25 of its half (the guide's tables; H100's are up to 0.25 GiB larger).
constexpr byte_count mig_memory(const gpu& card, std::int32_t slices) {
    const byte_count whole = usable_memory(card);
    return div_down(whole * slices, mig_memory_slices(card)) - div_up(whole, 200);
}

/// Multiprocessors of one compute slice: 14 of an A100's 108 and of an A30's 56, 16 of an H100's 132 (the guide's
/// tables); Blackwell's is taken in proportion to Hopper's. All slices together have the whole card from Hopper on, 98
/// of the A100.
constexpr double mig_compute_share(const gpu& card, std::int32_t slices) {
    const bool ampere = card.capability.major == 8;
    if (*card.mig_instances != 7) return slices / 4.0;
    if (ampere) return 14.0 * slices / 108.0;
    return slices == 7 ? 1.0 : slices == 3 ? 60.0 / 132.0 : 16.0 * slices / 132.0;
}

constexpr mig_profile mig_profile_of(const gpu& card, const mig_cut& cut) {
    mig_profile p{.compute_slices = cut.compute, .memory_slices = cut.memory, .memory = mig_memory(card, cut.memory)};
    p.name.append(digits(cut.compute));
    p.name.append("g.");
    p.name.append(digits(mig_rounded_gb(card, cut.memory)));
    p.name.append("gb");
    const std::int32_t by_compute = *card.mig_instances / cut.compute;
    const std::int32_t by_memory = mig_memory_slices(card) / cut.memory;
    p.instances = by_compute < by_memory ? by_compute : by_memory;
    return p;
}

/// "1g.10gb" as {1, 10}; zeros where it is none.
struct mig_words {
    std::int32_t compute = 0;
    std::int32_t gb = 0;
};
constexpr mig_words mig_words_of(std::string_view name) {
    const std::int32_t compute = taken_number(name);
    if (!taken(name, "g.")) return {};
    const std::int32_t gb = taken_number(name);
    return name == "gb" || name == "gb+me" ? mig_words{compute, gb} : mig_words{};
}

}  // namespace detail

constexpr mig_profile_list mig_profiles(const gpu& card) {
    mig_profile_list found;
    if (!has_mig(card)) return found;
    const auto add = [&](const auto& cuts) {
        for (const detail::mig_cut& cut : cuts) found.list[found.count++] = detail::mig_profile_of(card, cut);
    };
    if (*card.mig_instances == 7)
        add(detail::seven_slices);
    else
        add(detail::four_slices);
    return found;
}

constexpr result<gpu> mig_slice(const gpu& card, std::string_view profile, std::string_view field) {
    if (!has_mig(card))
        return refused(error_code::unsupported, field, card.id, "a GPU with multi-instance mode, such as A100 or H100");
    const mig_profile_list all = mig_profiles(card);
    const detail::mig_words asked = detail::mig_words_of(profile);
    for (const mig_profile& p : all) {
        // Names round: an H200's eighth is 17.6 GB and called 18, a B300's 34 or 35.
        const std::int32_t off = asked.gb - detail::mig_words_of(p.name).gb;
        if (asked.compute != p.compute_slices || off > 1 || off < -1) continue;
        gpu slice = card;
        slice.id.append("/");
        slice.id.append(p.name);
        slice.name.append(" MIG ");
        slice.name.append(p.name);
        const double memory = static_cast<double>(p.memory_slices) / detail::mig_memory_slices(card);
        const double compute = detail::mig_compute_share(card, p.compute_slices);
        slice.memory.marketing = gb(detail::mig_words_of(p.name).gb);
        slice.memory.fitted = scaled_down(card.memory.fitted, memory);
        slice.memory.reported = {};
        slice.memory.cuda_visible = p.memory;
        slice.memory.bandwidth = card.memory.bandwidth * memory;
        if (slice.memory.bus_bits)
            slice.memory.bus_bits.value = static_cast<std::int32_t>(*card.memory.bus_bits * memory);
        if (slice.l2_cache) slice.l2_cache.value = scaled_down(*card.l2_cache, memory);
        for (maybe<std::int32_t>* units : {&slice.sm_count, &slice.cuda_cores, &slice.tensor_cores})
            if (*units) units->value = static_cast<std::int32_t>(units->value * compute + 0.5);
        slice.rates = card.rates.scaled(compute);
        // Instances neither reach each other nor a fabric, and cannot be cut again; power and price are the card's.
        slice.links.scale_up_generation = 0;
        slice.links.scale_up_links = {};
        slice.links.scale_up = {};
        slice.links.scale_up_domain = 1;
        slice.mig_instances = 0;
        slice.board_power = {};
        slice.listing.launch_price = {};
        return slice;
    }
    text<191> expected{"one of this GPU's profiles: "};
    for (std::size_t i = 0; i < all.count; ++i) {
        if (i > 0) expected.append(", ");
        expected.append(all.list[i].name);
    }
    return refused(error_code::unknown, field, profile, expected);
}

}  // namespace llmres::inline v0
