// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/error.hpp>

/// GPUs of one kind, how they are joined, and the hosts they sit in.
namespace llmres::inline v0 {

struct host {
    byte_count memory{};
    byte_rate bandwidth{};  ///< of main memory
    std::int32_t cores = 0;
    llmres::link
        link{};  ///< between each GPU and this host, as standard_cluster() finds it; none: what passes takes no time
};

struct cluster {
    llmres::gpu gpu{};
    std::int32_t gpus = 1;
    std::int32_t gpus_per_node = 0;  ///< 0: all of them in one node
    link scale_up{};                 ///< joins the GPUs of a node
    link scale_out{};                ///< joins nodes, for each GPU
    llmres::host host{};
    byte_count in_use{};  ///< memory others already hold on each GPU

    constexpr std::int32_t node_size() const { return gpus_per_node > 0 ? gpus_per_node : gpus; }
};

/// Memory a job may take on one GPU: what a process sees, less what others hold.
constexpr byte_count available_memory(const cluster& c) { return usable_memory(c.gpu) - c.in_use; }

constexpr status validate(const cluster& c) {
    if (const status s = in_range("cluster.gpus", c.gpus, 1, 1 << 20); !s) return s;
    if (const status s = in_range("cluster.gpus_per_node", c.gpus_per_node, 0, 1 << 20); !s) return s;
    if (usable_memory(c.gpu) <= byte_count{})
        return refused(error_code::out_of_range, "cluster.gpu.memory", usable_memory(c.gpu).in(bytes),
                       "a GPU with memory");
    if (c.gpu.memory.bandwidth <= byte_rate{})
        return refused(error_code::missing, "cluster.gpu.memory.bandwidth", "unknown", "a rate above 0");
    if (matrix_rate(c.gpu, arithmetic_kind::bf16) <= flop_rate{})
        return refused(error_code::missing, "cluster.gpu.rates", "unknown", "a GPU with a known 16-bit or fp32 rate");
    if (c.gpus > 1 && c.scale_up.bandwidth() <= byte_rate{})
        return refused(error_code::missing, "cluster.scale_up", "no link",
                       "the link inside a node, as standard_cluster() finds it");
    if (c.gpus > c.node_size() && c.scale_out.bandwidth() <= byte_rate{})
        return refused(error_code::missing, "cluster.scale_out", "no link", "the link between nodes");
    if (c.in_use < byte_count{})
        return refused(error_code::out_of_range, "cluster.in_use", c.in_use.in(bytes), "0 bytes or more");
    return done{};
}

}  // namespace llmres::inline v0
