// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>

/// What is a cluster? GPUs of one kind, the links between them, and the hosts that they are in.
namespace llmres::inline v0 {

/// A machine with GPUs: its main memory and its CPU.
struct host {
    byte_count memory{};     ///< size of main memory; 0: unknown
    byte_rate bandwidth{};   ///< bandwidth of main memory; 0: unknown
    std::int32_t cores = 0;  ///< CPU cores; 0: unknown
    /// The link between each GPU and this host, as standard_cluster() finds it. Without one, transfers take no time.
    llmres::link link{};
};

/// GPUs of one kind, the links between them, and their hosts.
struct cluster {
    llmres::gpu gpu{};                  ///< the kind of all of them
    std::int32_t gpus = 1;              ///< how many there are
    std::int32_t gpus_per_node = 0;     ///< how many are in one host; 0: all
    link scale_up{};                    ///< the link between the GPUs of a node
    link scale_out{};                   ///< each GPU's link to other nodes, or an adapter's that several share
    std::int32_t gpus_per_adapter = 1;  ///< GPUs that share one link to other nodes
    llmres::host host{};                ///< the machine that each node is
    byte_count in_use{};                ///< memory that other processes already hold on each GPU
    maybe<power> power_limit{};         ///< of each GPU, where it is set below its board's (nvidia-smi -pl)

    /// GPUs in one node.
    constexpr std::int32_t node_size() const { return gpus_per_node > 0 ? gpus_per_node : gpus; }
};

/// Memory that a job may use on one GPU: what processes can allocate, less what others hold.
constexpr byte_count available_memory(const cluster& c) { return usable_memory(c.gpu) - c.in_use; }

/// Whether the power that each GPU may draw is known: of its board, or a limit that is set.
constexpr bool knows_power(const cluster& c) { return c.gpu.board_power || c.power_limit; }

namespace detail {

/// The whole numbers of a cluster with their bounds, for those who check them, read them and describe them.
constexpr std::array<bounded_field, 3> numbers_of(const cluster& c) {
    return {{{"cluster.gpus", c.gpus, 1, most::gpus},
             {"cluster.gpus_per_node", c.gpus_per_node, 0, most::gpus},
             {"cluster.gpus_per_adapter", c.gpus_per_adapter, 1, most::gpus}}};
}

}  // namespace detail

/// Refuses a cluster without GPUs, a GPU without memory, bandwidth or a 16-bit or fp32 rate, and several GPUs without a
/// link.
constexpr status validate(const cluster& c) {
    if (const status s = detail::all_in_range(detail::numbers_of(c)); !s) return s;
    if (usable_memory(c.gpu) <= byte_count{})
        return refused(error_code::out_of_range, "cluster.gpu.memory", usable_memory(c.gpu).in(bytes),
                       "a GPU with memory");
    if (c.gpu.memory.bandwidth <= byte_rate{})
        return refused(error_code::missing, "cluster.gpu.memory.bandwidth", "unknown",
                       "a GPU that has one (--gpu NAME), or the rate itself (--gpu_bandwidth 1TB/s)");
    if (matrix_rate(c.gpu, arithmetic_kind::bf16) <= flop_rate{})
        return refused(error_code::missing, "cluster.gpu.rates", "unknown",
                       "a GPU with a known 16-bit or fp32 rate (--gpu NAME), or the rate itself (--gpu_flops 100T)");
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
