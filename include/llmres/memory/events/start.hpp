// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/units.hpp>

/// What is allocated and freed before the first training step.
namespace llmres::inline v0::detail {

class start_events {
public:
    constexpr explicit start_events(const event_writer& writer) : to_{writer} {}

    constexpr void write() const {
        to_.allocate(tensor_group::lasting, to_.stage.zero.throughout);
        if (to_.flat_units())
            wrap_units();
        else if (to_.keeps_gradients() && to_.folded.layout.zero > 0)
            move_to_buffers();
        else
            load_weights(tensor_group::lasting);
        for (std::size_t k = 0; k < to_.folded.kinds(); ++k)
            for (std::int64_t i = 0; i < to_.stage.holds.counts[k]; ++i)
                to_.allocate(tensor_group::lasting, rotary_table(to_.folded, to_.folded.job.model.layers.kinds[k]));
        to_.allocate(tensor_group::lasting, mask_table(to_.folded, to_.stage.holds));
        const runtime& r = to_.folded.job.runtime;  // libraries take their workspaces from the same allocator
        to_.allocate(tensor_group::lasting, training_workspace(r.process, to_.folded.context.attention.sdpa).expected);
        if (computes_together(r.kernels.experts) && has_experts(to_.folded.job.model))
            to_.allocate(tensor_group::lasting, r.process.expert_workspace.expected);
        if (to_.keeps_gradients() && to_.folded.layout.zero == 0)
            to_.allocate(tensor_group::lasting, to_.stage.weights.all.gradients.kept);
    }

private:
    constexpr void load_weights(tensor_group group) const {
        to_.for_each_tensor_here([&](const training_state& kept, std::int64_t copies) {
            to_.allocate_copies(group, kept.weights, copies);
            to_.allocate_copies(group, kept.adapter, copies);
        });
    }
    /// Megatron-Core's distributed optimizer: a buffer of all weights and one of all gradients are made beside the
    /// weights, whose tensors are freed when they are copied (core/distributed/param_and_grad_buffer.py); then the
    /// rank's part of each is copied, and the copy widened (core/optimizer/distrib_optimizer.py, shard_main_param).
    /// Read at 23e00ed0, the commit of the measured runs.
    constexpr void move_to_buffers() const {
        load_weights(tensor_group::temporaries);
        const training_state& all = to_.stage.weights.all;
        byte_count weights;
        to_.for_each_weight_here([&](const trained_weight& w) { weights += w.kept.weights + w.kept.adapter; });
        to_.allocate(tensor_group::lasting, weights);
        to_.allocate(tensor_group::lasting, all.gradients.kept);
        to_.release(tensor_group::temporaries);
        if (to_.folded.weights.master)
            to_.for_each_tensor_here([&](const training_state& kept, std::int64_t copies) {
                const byte_count master = to_.master_of(kept);
                to_.allocate_copies(tensor_group::temporaries, div_up(master, 2), copies);
                to_.allocate_copies(tensor_group::lasting, master, copies);
                to_.release(tensor_group::temporaries);
            });
    }
    /// FSDP1 wraps unit by unit (torch/distributed/fsdp/_init_utils.py): its tensors come to the GPU, are broadcast in
    /// buckets of 250 MiB, two at a time, are joined, and the rank's part is copied.
    constexpr void wrap_units() const {
        for (std::int32_t i = 0; i < to_.layers(); ++i) {
            to_.for_each_layer_weight(i, [&](weight_role, std::int64_t copies, const training_state& kept) {
                to_.allocate_copies(tensor_group::temporaries, kept.gathered, copies);
            });
            wrap(to_.folded.layers[to_.kind_at(i)].state);
        }
        to_.for_each_weight_here([&](const trained_weight& w) {
            if (!is_in_layer(w.place)) to_.allocate_copies(tensor_group::temporaries, w.kept.gathered, w.copies);
        });
        wrap(to_.stage.weights.ends);
    }
    constexpr void wrap(const training_state& unit) const {
        constexpr byte_count bucket = mib(250);
        for (byte_count left = unit.gathered; left > byte_count{}; left -= left < bucket ? left : bucket) {
            to_.allocate(left.base() / bucket.base() % 2 == 0 ? tensor_group::even_unit : tensor_group::odd_unit,
                         left < bucket ? left : bucket);
            to_.release(left.base() / bucket.base() % 2 == 0 ? tensor_group::odd_unit : tensor_group::even_unit);
        }
        to_.release(tensor_group::even_unit), to_.release(tensor_group::odd_unit);
        to_.allocate(tensor_group::frames, unit.gathered);
        to_.release(tensor_group::temporaries);
        to_.allocate(tensor_group::lasting, unit.weights);
        to_.allocate(tensor_group::lasting, unit.adapter);
        to_.release(tensor_group::frames);
    }

    const event_writer& to_;
};

}  // namespace llmres::inline v0::detail
