// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/values/error.hpp>

/// Which cluster is meant by a GPU and a number? One as they are usually built.
namespace llmres::inline v0 {

/// Nodes of eight GPUs (or of as many as one fabric joins, if more), the GPU's own scale-up link inside a node, and
/// 400 Gb/s InfiniBand for each GPU between nodes. Refuses what validate() refuses, and several GPUs that no known link
/// joins.
constexpr result<cluster> standard_cluster(const gpu& card, std::int32_t gpus) {
    const result<link> inside = scale_up_link(card);
    const std::int32_t node = usual_node_size(card);
    cluster made{.gpu = card,
                 .gpus = gpus,
                 .gpus_per_node = gpus < node ? gpus : node,
                 .scale_up = inside ? *inside : link{},
                 .scale_out = links::ib_ndr_400};
    if (const result<link> down = host_link(card)) made.host.link = *down;
    if (gpus > 1 && !inside) return inside.error();
    if (const status s = validate(made); !s) return s.error();
    return made;
}

}  // namespace llmres::inline v0
