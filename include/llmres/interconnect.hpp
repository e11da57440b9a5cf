// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/text.hpp>
#include <llmres/units.hpp>

/// Links between GPUs, between hosts, and from a GPU to its host.
namespace llmres {

enum class link_kind : std::uint8_t { none, pcie, nvlink, nvswitch, xgmi, network, host };

/// One GPU's (or one host adapter's) attachment to a link.
struct link {
    text<31> id{};
    link_kind kind = link_kind::none;
    byte_rate raw{};              ///< in one direction, as signalled
    double achievable = 1.0;    ///< the part of `raw` that large transfers reach
    duration latency{};           ///< of one small message, software included
    text<63> sources{};

    constexpr byte_rate bandwidth() const { return raw * achievable; }
};

}  // namespace llmres
