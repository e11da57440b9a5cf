// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/units.hpp>

/// What training keeps of weights on one GPU: the weights themselves, their gradients and their optimizer's states.
namespace llmres::inline v0 {

/// Gradients of some weights.
struct gradient_memory {
    byte_count kept{};          ///< from the backward pass to the optimizer's step: a shard under ZeRO 2 and 3
    byte_count whole{};         ///< before ZeRO shards them
    byte_count feed_forward{};  ///< of one layer's `kept`, the feed-forward's
    byte_count down{};          ///< of one layer's `kept`, those of the feed-forward's last matrix
};

/// Memory of the optimizer for some weights.
struct optimizer_memory {
    byte_count states{};        ///< moments, master weights and averages
    byte_count paged{};         ///< of `states`, what the driver may evict to the host
    byte_count temporaries{};   ///< made during the step for all tensors at once
    byte_count largest_step{};  ///< tensors are updated one by one: temporaries of the one that needs most
    byte_count first_step{};    ///< tensors are updated one by one: temporaries of the first, which overlap the last
                                ///< one's before them
    byte_count last_step{};  ///< tensors are updated one by one: temporaries of the last, which the next one's overlap
    byte_count first_projection{};  ///< GaLore, APOLLO: temporaries of the first matrix whose gradient is projected
};

/// Copies of matrices that autocast makes in the format that they are computed in.
struct cast_memory {
    byte_count all{};           ///< of all matrices
    byte_count feed_forward{};  ///< of `all`, the feed-forward's
    byte_count down{};          ///< of `all`, those of the feed-forward's last matrix
    /// Of `all`, those of what is trained: autocast keeps them until the forward pass and the loss are computed, be
    /// they saved or not (ATen, autocast_mode.cpp, cached_cast).
    byte_count cached{};
};

/// Tensors that DoRA makes to compute the norm of an adapted weight.
struct magnitude_memory {
    byte_count other{};  ///< of the weight that needs most, the feed-forward's last matrix apart
    byte_count down{};   ///< of the feed-forward's last matrix
};

/// What training keeps of some weights, be it a tensor, a layer or a pipeline stage, on one GPU. Sizes are in bytes and
/// count tensors alone: no activations, no buffers, nothing that the runtime adds.
struct training_state {
    byte_count weights{};           ///< as stored: a shard under ZeRO 3
    byte_count adapter{};           ///< trained tensors beside frozen weights
    byte_count gathered{};          ///< whole weights, in the format that they are computed in: what ZeRO 3 gathers
    byte_count largest{};           ///< the largest matrix, in the format that it is computed in
    byte_count dummies{};           ///< Transformer Engine's unused gradients, one for each shape of matrix
    byte_count host{};              ///< offloaded to main memory for this GPU
    byte_count nvme{};              ///< offloaded to disks for this GPU
    gradient_memory gradients{};    ///< on the GPU
    optimizer_memory optimizer{};   ///< on the GPU
    cast_memory casts{};            ///< under autocast
    magnitude_memory magnitudes{};  ///< of DoRA

    /// Adds as many copies of another state. What one tensor needs at a time does not add up: the larger stays. Parts
    /// that are those of one layer (`feed_forward`, `down`, `magnitudes`, `first_projection`) stay as they are.
    constexpr training_state& add(const training_state& other, std::int64_t copies) {
        weights += other.weights * copies;
        adapter += other.adapter * copies;
        gathered += other.gathered * copies;
        host += other.host * copies;
        nvme += other.nvme * copies;
        gradients.kept += other.gradients.kept * copies;
        gradients.whole += other.gradients.whole * copies;
        optimizer.states += other.optimizer.states * copies;
        optimizer.paged += other.optimizer.paged * copies;
        optimizer.temporaries += other.optimizer.temporaries * copies;
        casts.all += other.casts.all * copies;
        casts.cached += other.casts.cached * copies;
        if (other.dummies > dummies) dummies = other.dummies;
        if (other.largest > largest) largest = other.largest;
        if (other.optimizer.largest_step > optimizer.largest_step)
            optimizer.largest_step = other.optimizer.largest_step;
        return *this;
    }
};

}  // namespace llmres::inline v0
