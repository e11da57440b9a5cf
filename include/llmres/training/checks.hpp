// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/gpu.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/model.hpp>
#include <llmres/precision.hpp>

/// What a training job cannot do in a layout, or on a GPU.
namespace llmres {

/// Micro-batches a data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, at_once) : 1;
}

namespace detail {

/// Whether a GPU has the units to train in a format.
constexpr status validate_arithmetic(const precision& format, const gpu& card) {
    switch (format.arithmetic) {
        case arithmetic_kind::fp8:
            if (has_fp8(card)) return done{};
            return refused(error_code::unsupported, "compute", format.name.view(), "a GPU with fp8 units to train in fp8");
        case arithmetic_kind::fp4:
            if (card.rates.fp4.value_or({}) > flop_rate{}) return done{};
            return refused(error_code::unsupported, "compute", format.name.view(), "a GPU with fp4 units to train in fp4");
        case arithmetic_kind::int8:
        case arithmetic_kind::int4:
            return refused(error_code::unsupported, "compute", format.name.view(), "a floating-point format to train in");
        default: return done{};
    }
}

}  // namespace detail

/// What a training job cannot do in this layout on this GPU: batches that do not go round, ZeRO 3 across pipeline stages
/// (DeepSpeed's PipelineEngine asserts stage 1 at most; FSDP gathers at every micro-batch), fp8 and fp4 without the units,
/// weights in main memory that nothing gathers, gradients accumulated by an optimizer that keeps none,
/// layers whose backward pass no inventory describes.
constexpr status validate_training(const job& j, const layout& l, const gpu& card) {
    if (!trains(j)) {
        if (l.deals_evenly() && l.schedule == pipeline_schedule::one_forward_one_backward) return done{};
        return refused(error_code::unsupported, "layout.stages", name_of(j.task), "a training job: serving deals layers evenly");
    }
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    if (j.global_batch > 0 && j.global_batch % at_once != 0) {
        text<191> expected{"a multiple of micro_batch x data x replicas, "};
        expected.append(detail::digits(at_once));
        return refused(error_code::inconsistent, "global_batch", j.global_batch, expected);
    }
    if (j.runtime.training.defer_embedding_wgrad_compute && l.pipeline == 1)
        return refused(error_code::inconsistent, "runtime.defer_embedding_wgrad_compute", "true", "pipeline stages: it is put off until these drain");
    if (l.zero >= 2 && l.pipeline > 1 && j.runtime.training.sharding == sharding_code::deepspeed)
        return refused(error_code::unsupported, "layout.zero", l.zero, "at most 1 with pipeline stages under DeepSpeed");
    if (j.offload.parameters != offload_place::none && l.zero < 3)
        return refused(error_code::inconsistent, "offload.parameters", name_of(j.offload.parameters), "layout.zero 3, which gathers layer by layer what is offloaded");
    if (const status s = detail::validate_arithmetic(j.compute, card); !s) return s;
    if (j.optimizer.in_backward && micro_batches(j, l) > 1) {
        text<191> expected{"one micro-batch a step, "};
        expected.append(detail::digits(at_once));
        expected.append(": the optimizer steps in the backward pass");
        return refused(error_code::unsupported, "global_batch", j.global_batch, expected);
    }
    if (j.runtime.training.fp8_recipe != fp8_recipe::none && !has_fp8(card))
        return refused(error_code::unsupported, "runtime.fp8_recipe", name_of(j.runtime.training.fp8_recipe), "a GPU with fp8 units to train in fp8");
    for (std::int32_t k = 0; k < j.model.layers.kind_count; ++k) {
        const layer& kind = j.model.layers.kinds[static_cast<std::size_t>(k)];
        const bool scanned = kind.recurrent.kind == recurrent_kind::none || kind.recurrent.kind == recurrent_kind::mamba2;
        if (!scanned || kind.attention.cross == cross_attention::instead)
            return refused(error_code::unsupported, "layers", kind_name(kind).view(), "layers of attention or Mamba 2, and feed-forward, to train");
    }
    return done{};
}

}  // namespace llmres
