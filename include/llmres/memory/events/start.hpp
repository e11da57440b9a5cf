// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/memory/sharing_rank.hpp>
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
        to_.allocate(tensor_group::lasting, to_.at.details.bucketed);
        if (to_.flat_units())
            wrap_units();
        else if (to_.keeps_gradients() && to_.folded.layout.zero > 0)
            move_to_buffers();
        else
            load_weights(tensor_group::lasting);
        load_reference();
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
    /// A model that is not trained: of as many weights as the trained one, or a teacher.
    constexpr void load_reference() const {
        if (!loads_reference(to_.folded.job)) return;
        const bool taught = learns_from_teacher(to_.folded.job.preference);
        const std::int64_t layers = to_.folded.job.teacher.layers;
        if (taught) return to_.allocate_copies(tensor_group::lasting, to_.at.held.reference, layers);
        if (to_.flat_units()) return to_.allocate(tensor_group::lasting, to_.at.held.reference);
        to_.for_each_tensor_here([&](const training_state& kept, std::int64_t copies) {
            to_.allocate_copies(tensor_group::lasting,
                                reference_beside(to_.folded.job, to_.folded.layout, kept.weights), copies);
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
    /// buckets, are joined, and the rank's part is copied.
    constexpr void wrap_units() const {
        for (std::int32_t i = 0; i < to_.layers(); ++i)
            wrap(to_.folded.layers[to_.kind_at(i)].state, [&](auto&& each) {
                to_.for_each_layer_weight(i, [&](weight_role, std::int64_t copies, const training_state& kept) {
                    each(kept.gathered, copies);
                });
            });
        wrap(to_.stage.weights.ends, [&](auto&& each) {
            to_.for_each_weight_here([&](const trained_weight& w) {
                if (!is_in_layer(w.place)) each(w.kept.gathered, w.copies);
            });
        });
        to_.release(tensor_group::even_unit);
    }
    /// for_each_tensor(each) calls each(bytes of all, copies) for the tensors of the unit.
    template <class ForEachTensor>
    constexpr void wrap(const training_state& unit, ForEachTensor&& for_each_tensor) const {
        for_each_tensor(
            [&](byte_count all, std::int64_t copies) { to_.allocate_copies(tensor_group::temporaries, all, copies); });
        broadcast(for_each_tensor);
        to_.allocate(tensor_group::frames, unit.gathered);
        to_.release(tensor_group::temporaries);
        to_.allocate(tensor_group::lasting, unit.weights);
        to_.allocate(tensor_group::lasting, unit.adapter);
        to_.release(tensor_group::frames);
    }
    /// Whether the rank makes what it has not loaded empty on the GPU, and goes on to the next unit before the first
    /// rank has sent this one. So it is with quantised weights (transformers, modeling_utils.py,
    /// _load_state_dict_into_meta_model: param_to = "meta"; fms-acceleration, gptqmodel/models/base.py, from_quantized;
    /// accelerate, utils/dataclasses.py: param_init_fn is to_empty). Of others transformers makes empty tensors in host
    /// memory (_load_pretrained_model: torch.empty), and whoever copies from there waits for what has been sent before.
    constexpr bool runs_ahead() const {
        const quantised_context& products = to_.folded.context.quantised;
        return to_.rank == sharing_rank::other && (products.four_bit || products.words);
    }
    /// Tensors are copied into buckets, each of which ends with the tensor that fills 250 MiB, and at most two are on
    /// their way at once; one tensor alone is sent as it is (torch/csrc/distributed/c10d/comm.cpp, broadcast_coalesced;
    /// utils/tensor_flatten.h, flatten_dense_tensors). NCCL's stream holds a bucket until it is sent
    /// (ProcessGroupNCCL.cpp, recordStream): a rank that runs ahead has all of them.
    template <class ForEachTensor>
    constexpr void broadcast(ForEachTensor&& for_each_tensor) const {
        constexpr byte_count full = mib(250);
        byte_count bucket;
        std::int64_t tensors = 0;
        tensor_group next = tensor_group::even_unit;
        const auto send = [&] {
            if (!runs_ahead()) to_.release(next);
            if (tensors > 1) to_.allocate(next, bucket);
            if (!runs_ahead())
                next = next == tensor_group::even_unit ? tensor_group::odd_unit : tensor_group::even_unit;
            bucket = {}, tensors = 0;
        };
        for_each_tensor([&](byte_count all, std::int64_t copies) {
            for (std::int64_t i = 0; i < copies; ++i) {
                bucket += div_up(all, copies), ++tensors;
                if (bucket >= full) send();
            }
        });
        if (tensors > 0) send();
        if (!runs_ahead()) to_.release(tensor_group::even_unit), to_.release(tensor_group::odd_unit);
    }

    const event_writer& to_;
};

}  // namespace llmres::inline v0::detail
