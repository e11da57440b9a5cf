// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <llmres/hardware/gpus/all.hpp>
#include <optional>
#include <string>

#include "../../csv.hpp"
#include "../words.hpp"

/// The GPUs of measured serving memory, as people write them.
namespace serving {

using namespace llmres;
using namespace words;

/// The preset that a row's GPU is, or a device of which the row gives the memory; none where it says neither.
inline std::optional<gpu> gpu_of(const csv::row& row);

/// What people call a GPU, and its preset.
inline std::optional<gpu> card_named(const std::string& n) {
    const auto preset = [](const std::string& name) -> std::optional<gpu> {
        const auto found = find_gpu(name);
        if (!found) return {};
        return *found;
    };
    if (auto card = preset(n)) return card;
    if (lower(n).starts_with("a100 sxm")) return preset("a100-sxm4-80gb");
    if (has(lower(n), "a100") && has(n, "40GB")) return preset("a100-pcie-40gb");
    if (const auto space = n.rfind(' '); space != std::string::npos)
        if (auto card = preset(n.substr(0, space))) return card;
    if (n.starts_with("Jetson AGX Orin")) return preset("jetson-agx-orin-64gb");
    if (n.starts_with("GB10")) return preset("gb10-dgx-spark");
    if (has(n, "V100 32")) return preset("v100-sxm2-32gb");
    if (n.starts_with("M") || n.starts_with("Apple")) return gpu{.id = "apple", .vendor = gpu_vendor::apple};
    return {};
}

inline std::optional<gpu> gpu_of(const csv::row& row) {
    std::string n = row.at("gpu");
    for (const char* cut : {" + ", "/", " (", "?"})
        if (const auto at = n.find(cut); at != std::string::npos) n.resize(at);
    auto card = card_named(n);
    if (!card && n.starts_with("unstated")) return {};
    const auto total = number(row.at("gpu_total_gib"));
    if (!card && !total) return {};
    if (!card) card = gpu{.id = "other"};
    // A log's own total is what CUDA sees; round numbers are those on the box.
    const bool on_the_box = total && *total == std::floor(*total);
    if (total && !on_the_box) card->memory.cuda_visible = scaled_down(gib(1), *total);
    if (total && (card->vendor == gpu_vendor::apple || (card->id == "other" && on_the_box)))
        card->memory.fitted = gib(static_cast<std::int64_t>(*total));
    return card;
}

}  // namespace serving
