// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/models/layer.hpp>

/// How many micro-batches a pipeline stage holds at once, by its schedule.
namespace llmres::inline v0::detail {

/// Chunks whose forward pass is done on a stage of an interleaved pipeline when its first backward pass begins
/// (Megatron-Core, schedules.py): (p - i - 1) 2 + (v - 1) g of warm-up, and the current one, for p stages of which this
/// is the i-th, v chunks a stage and groups of g micro-batches.
constexpr std::int64_t interleaved_chunks(const layout& l, std::int32_t stage) {
    const std::int64_t group = l.micro_batch_group > 0 ? l.micro_batch_group : l.pipeline;
    return 2 * std::int64_t{l.pipeline - stage - 1} + (l.virtual_pipeline - 1) * group + 1;
}

/// Micro-batches in flight under the schedules that are not 1F1B (jobs/pipeline.hpp). `rounds`: micro-batches of a
/// step.
constexpr double in_flight_otherwise(const layout& l, std::int32_t stage, std::int64_t rounds) {
    std::int64_t most = rounds;
    switch (l.schedule) {
        case pipeline_schedule::zb_h1: most = l.pipeline - stage; break;
        case pipeline_schedule::zb_h2: most = 2 * std::int64_t{l.pipeline - stage} - 1; break;
        case pipeline_schedule::zb_v: most = l.pipeline; break;
        default: break;
    }
    return static_cast<double>(most < rounds ? most : rounds);
}

/// Micro-batches whose activations a stage holds at once: 1F1B holds one for this stage and each stage after it (arXiv
/// 2104.04473 section 2.2.1); interleaving `virtual_pipeline` chunks adds (p-1)/(p v) of them (arXiv 2205.05198
/// equation 5). `rounds`: micro-batches of a step.
constexpr double in_flight(const layout& l, std::int32_t stage, std::int64_t rounds) {
    if (l.schedule != pipeline_schedule::one_forward_one_backward) return in_flight_otherwise(l, stage, rounds);
    if (l.virtual_pipeline == 1 || l.pipeline == 1) {
        const auto ahead = static_cast<double>(l.pipeline - stage);
        const auto all = static_cast<double>(rounds);
        return ahead < all ? ahead : all;
    }
    const auto chunks = static_cast<double>(interleaved_chunks(l, stage));
    const double all = static_cast<double>(rounds) * l.virtual_pipeline;
    return (chunks < all ? chunks : all) / l.virtual_pipeline;
}

/// Micro-batches, beside those of in_flight(), whose weight gradients a zero-bubble schedule has deferred: of these a
/// stage holds each linear layer's input and output gradient (arXiv 2401.10241: every stage has as many micro-batches
/// in flight as the first).
constexpr double deferred_micro_batches(const layout& l, std::int32_t stage, std::int64_t rounds) {
    if (l.schedule != pipeline_schedule::zb_h1 && l.schedule != pipeline_schedule::zb_h2) return 0;
    return in_flight_otherwise(l, 0, rounds) - in_flight_otherwise(l, stage, rounds);
}

/// Micro-batches whose activations a stage holds, in units of one micro-batch of all its layers.
struct held_micro_batches {
    double most = 0;     ///< at the stage's fullest moment
    double at_loss = 0;  ///< most while the last chunk's output, which the loss is computed from, is differentiated
};

/// in_flight() for chunks of unequal size: sums of held chunks. `sizes`: what each of the stage's chunks keeps of a
/// micro-batch, in any unit. The loss follows forward passes of the last chunk alone: where that one is the smallest
/// (the loss counts as a layer), the stage holds less at the loss than when another chunk has been computed.
constexpr held_micro_batches in_flight_unevenly(const layout& l, std::int32_t stage, std::int64_t rounds,
                                                const std::array<double, stage_list::max_chunks>& sizes) {
    const std::int64_t chunks = l.virtual_pipeline;
    double whole = 0;
    for (std::int64_t c = 0; c < chunks; ++c) whole += sizes[static_cast<std::size_t>(c)];
    if (l.schedule != pipeline_schedule::one_forward_one_backward || chunks == 1 || l.pipeline == 1 || whole <= 0)
        return {in_flight(l, stage, rounds), in_flight(l, stage, rounds)};
    const std::int64_t asked = l.micro_batch_group > 0 ? l.micro_batch_group : l.pipeline;
    const std::int64_t group = asked < rounds ? asked : rounds;
    const std::int64_t all = rounds * chunks;
    const std::int64_t ahead = interleaved_chunks(l, stage) < all ? interleaved_chunks(l, stage) : all;
    // A group of micro-batches passes one chunk, then the next; backward passes begin at the last chunk.
    const auto chunk_of = [&](std::int64_t pass) { return pass / group % chunks; };
    const auto size_of = [&](std::int64_t chunk) { return sizes[static_cast<std::size_t>(chunk)]; };
    held_micro_batches found;
    double held = 0;
    for (std::int64_t pass = 0; pass < ahead + group * chunks && pass < all; ++pass) {
        if (pass >= ahead) held -= size_of(chunks - 1 - chunk_of(pass - ahead));
        held += size_of(chunk_of(pass));
        if (held > found.most) found.most = held;
        if (chunk_of(pass) == chunks - 1 && held > found.at_loss) found.at_loss = held;
    }
    return {found.most / whole, found.at_loss / whole};
}

/// Micro-batches in flight of the last chunk of the stage that predicts further tokens.
constexpr std::int64_t predictions_in_flight(const layout& l, std::int64_t rounds) {
    const std::int64_t behind = l.pipeline - 1 - prediction_stage(l);
    const std::int64_t held = (l.virtual_pipeline > 1 ? 2 * behind : behind) + 1;
    return held < rounds ? held : rounds;
}

/// in_flight_unevenly() for a stage's own layers. `by_stage`: the layers in the order of the stages.
constexpr held_micro_batches in_flight_unevenly(const layer_stack& by_stage, const layout& l, stage_range range,
                                                std::int32_t stage, std::int64_t rounds,
                                                const by_kind<training_layer>& layers) {
    std::array<double, stage_list::max_chunks> sizes{};
    std::size_t chunk = 0;
    std::int32_t at = range.first;
    for_each_chunk(l, by_stage.size, stage, [&](stage_range here, std::int32_t) {
        for (std::int32_t i = 0; i < here.size(); ++i, ++at) {
            const auto kept = layers[by_stage.order[static_cast<std::size_t>(at)]].kept;
            sizes[chunk % sizes.size()] += kept.in(gib);
        }
        ++chunk;
    });
    return in_flight_unevenly(l, stage, rounds, sizes);
}

}  // namespace llmres::inline v0::detail
