// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/models/model.hpp>
#include <llmres/time/host.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How fast does a job run, and what takes the time? The operations of the inventory at the rates of time/roofline.hpp,
/// with the exchanges, bubbles and transfers of the layout.
namespace llmres::inline v0 {

/// How fast a job runs in a layout. On a cluster whose GPU was measured (gpu::measured), times follow from the measured
/// rates instead of the datasheet's peaks at an efficiency; `mfu` remains a part of the datasheet's peak.
struct job_speed {
    /// One optimizer step; when serving, one token of every sequence (time per output token).
    time_breakdown step{};
    time_breakdown prefill{};  ///< serving: one prompt, computed alone (time to first token)
    /// Over all GPUs: tokens trained, or tokens generated with prompts in between.
    token_rate tokens_per_second{};
    /// Model FLOPs over what the GPUs' datasheets allow in the time, recomputation not counted.
    double mfu = 0;
    flop_count flops{};  ///< FLOPs of the model: for one step, or for one token of every sequence
};

/// The speed of a job in a layout. `held` is its memory_of(). Preconditions: validate() holds for job, layout and
/// cluster.
constexpr job_speed speed_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                             const efficiency& e = default_efficiency);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The forward pass through all layers and the head on one GPU, for each of the passes.
template <std::size_t N>
constexpr std::array<ideal_pass, N> forward_passes(const job& j, const layout& l, const cluster& c, const efficiency& e,
                                                   const operation_formats& formats,
                                                   const std::array<token_pass, N>& passes) {
    const model& m = j.model;
    const kind_counts counts = m.layers.counts(placement_on_host(j).layers.last, m.layers.size);
    pricer<N> price{l, c, e};
    for_each_head_operation(m, formats, passes, l, price);
    std::array<ideal_pass, N> all = price.ideal;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        price.start_over();
        price_layer(price, m.layers.kinds[k], m.hidden, formats, passes);
        for (std::size_t p = 0; p < N; ++p) all[p].add(price.ideal[p], counts[k]);
    }
    return all;
}

/// The forward pass through one depth of multi-token prediction: the projection, the layer, and the head again.
constexpr ideal_pass depth_pass(const job& j, const layout& l, const cluster& c, const efficiency& e,
                                const operation_formats& formats, const token_pass& pass) {
    const std::array passes{pass};
    pricer<1> price{l, c, e};
    for_each_head_operation(j.model, formats, passes, l, price);
    visit_projection(depth_projection(j.model), formats, passes, l, false, price);
    price_layer(price, prediction_block(j.model), j.model.hidden, formats, passes);
    return price.ideal[0];
}

constexpr interval<duration> send_time(byte_count message, const layout& l, const cluster& c, const efficiency& e) {
    const std::int64_t span = std::int64_t{l.tensor} * l.data * l.context_parallel * 2;
    return at(time_of(collective_kind::send, message, 2, link_among(c, span)), e.link);
}

/// The time of a transfer between a GPU and its host.
constexpr interval<duration> over_host_link(byte_count size, const cluster& c, const efficiency& e) {
    const byte_rate rate = c.host.link.bandwidth();
    return rate > byte_rate{} ? at(size / rate, e.link) : interval<duration>{};
}

constexpr job_speed serving_speed(const job& j, const layout& l, const cluster& c, const efficiency& e) {
    const std::int64_t sequences = sequences_per_rank(j, l);
    const token_count prompt = prompt_of(j);
    const token_count reached = j.output > token_count{} ? prompt + div_up(j.output, 2) : context_of(j);
    const operation_formats formats{j.compute, kv_cache_of(j), formats_of(j, j.compute), j.kv_cache_values};
    const std::int64_t length = ceil_quotient(prompt.in(tokens), l.context_parallel);
    const token_pass decode{.tokens = {sequences, 1, ceil_quotient(reached.in(tokens), l.context_parallel)},
                            .scored = sequences,
                            .decode = true};
    const token_pass prefill{.tokens = {1, length > 0 ? length : 1, prompt.in(tokens)}, .scored = 1};
    const auto [step, first] = forward_passes(j, l, c, e, formats, std::array{decode, prefill});

    job_speed speed;
    speed.step = step.at_efficiency(e);
    speed.prefill = first.at_efficiency(e);
    if (l.pipeline > 1) {
        const auto sending = [&](std::int64_t positions) {
            return send_time(size_of(formats.compute, positions, j.model.hidden), l, c, e);
        };
        speed.step[time_term::pipeline_bubble] += sending(sequences) * (l.pipeline - 1);
        speed.prefill[time_term::pipeline_bubble] += sending(prefill.tokens.length) * (l.pipeline - 1);
    }

    if (computes_on_host(j)) {
        speed.step[time_term::host_transfer] +=
            time_at(decode_host_traffic(j, l, reached).memory, host_bandwidth(c.host));
        speed.prefill[time_term::host_transfer] += over_host_link(prefill_host_traffic(j, l).link, c, e);
    }

    // Prompts are computed one after another; then every step makes one token of each sequence.
    const auto made = static_cast<double>(j.output > token_count{} ? j.output.in(tokens) : 1);
    const double batch = static_cast<double>(j.batch);
    const double per_rank = static_cast<double>(sequences);
    const duration round = j.output > token_count{}
                               ? speed.prefill.total().expected * per_rank + speed.step.total().expected * made
                               : speed.step.total().expected;
    speed.tokens_per_second = approx(tokens(1)) * (batch * made) / round;
    speed.flops = step.flops * (l.data * l.replicas);
    speed.mfu = gpu_seconds_of_flops(speed.flops, c, linear_arithmetic_of(j), l.gpus()) /
                speed.step.total().expected.in(seconds);
    return speed;
}

/// The time in which the data-parallel ranks of the busiest GPU exchange gradients and, under ZeRO, weights in one
/// step.
constexpr duration data_exchange(const memory_breakdown& held, const layout& l, const cluster& c,
                                 std::int64_t micro_batches) {
    const std::int64_t ranks = l.dense_data_ranks() * l.replicas;
    if (ranks <= 1) return {};
    const link& joining = link_among(c, std::int64_t{l.tensor} * ranks);
    if (l.zero == 0) return time_of(collective_kind::all_reduce, held.reduced, ranks, joining);
    const duration scatter = time_of(collective_kind::reduce_scatter, held.reduced, ranks, joining);
    const duration gather = time_of(collective_kind::all_gather, held.gathered, ranks, joining);
    // ZeRO 3 gathers for every forward and every backward pass.
    return scatter + (l.zero == 3 ? gather * (2 * micro_batches) : gather);
}

/// The time of the optimizer step: it reads gradients and states, and writes weights and states.
constexpr duration optimizer_time(const memory_breakdown& held, const cluster& c) {
    const byte_count traffic = held[memory_term::optimizer].expected * 2 + held[memory_term::gradients].expected +
                               held[memory_term::weights].expected;
    return traffic / c.gpu.memory.bandwidth;
}

/// The part of 1F1B's bubble that remains where gradients of weights, a third of the time, are computed in it (arXiv
/// 2401.10241 tables 1 and 2).
constexpr double bubble_left(pipeline_schedule s) {
    return s == pipeline_schedule::zb_h1 ? 1.0 / 3.0 : defers_weight_gradients(s) ? 0.0 : 1.0;
}

/// The time that stages wait for the one with most layers, as a part of their own time. A depth of multi-token
/// prediction counts as a layer.
constexpr double unevenness(const job& j, const layout& l) {
    const std::int32_t layers = j.model.layers.size;
    if (l.pipeline == 1 || (l.deals_evenly() && j.mtp_layers == 0)) return 0;
    std::int32_t most = most_layers(l, layers);
    if (j.mtp_layers > 0) {
        const std::int32_t last = placement_of(j, l, prediction_stage(l)).layers.size() + j.mtp_layers;
        if (last > most) most = last;
    }
    return static_cast<double>(most) * l.pipeline / (layers + j.mtp_layers) - 1;
}

constexpr job_speed training_speed(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                                   const efficiency& e) {
    const std::int64_t length = ceil_quotient(sequence_of(j).in(tokens), l.context_parallel);
    const token_shape shape{j.micro_batch, length, sequence_of(j).in(tokens)};
    const precision& stream = activations_of(j);
    const operation_formats formats{
        .compute = stream, .kv_cache = stream, .weights = formats_of(j, stream), .linear = linear_arithmetic_of(j)};
    const std::int64_t rounds = micro_batches(j, l);
    const token_pass pass{.tokens = shape, .scored = shape.all()};
    ideal_pass forward = forward_passes(j, l, c, e, formats, std::array{pass})[0];
    if (j.mtp_layers > 0) forward.add(depth_pass(j, l, c, e, formats, pass), j.mtp_layers);

    // The backward pass multiplies twice, for inputs and for weights, but exchanges as often as the forward pass. Full
    // recomputation adds a forward pass.
    const double passes = j.recompute == recompute::full ? 4.0 : 3.0;
    const time_breakdown once = forward.at_efficiency(e);
    job_speed speed;
    speed.step = once * (passes * static_cast<double>(rounds) / l.pipeline);
    for (const time_term exchanged : {time_term::tensor_communication, time_term::expert_communication})
        speed.step[exchanged] = once[exchanged] * ((passes - 1) * static_cast<double>(rounds) / l.pipeline);
    const interval<duration> busy = speed.step.total();
    if (l.pipeline > 1) {
        // The idle part of 1F1B is (p - 1) / (m v) of the busy one (arXiv 2104.04473 section 2.2).
        const double idle = static_cast<double>(l.pipeline - 1) / (static_cast<double>(rounds) * l.virtual_pipeline);
        speed.step[time_term::pipeline_bubble] += busy * (idle * bubble_left(l.schedule) + unevenness(j, l));
        speed.step[time_term::pipeline_bubble] +=
            send_time(size_of(stream, shape.all(), j.model.hidden), l, c, e) * (2.0 * l.virtual_pipeline);
    }
    const interval<duration> exchange = at(data_exchange(held, l, c, rounds), e.link);
    const auto exposed = [&](duration all, duration hidden_behind, double overlap) {
        const duration hidden = all * overlap < hidden_behind ? all * overlap : hidden_behind;
        return all - hidden;
    };
    // A faster step overlaps less with the transfer, so that the bounds can cross: clamp them to the expected value.
    const auto shown = [&](const interval<duration>& all) -> interval<duration> {
        const duration expected = exposed(all.expected, busy.expected, e.overlap.expected);
        const duration least = exposed(all.low, busy.low, e.overlap.low);
        const duration most = exposed(all.high, busy.high, e.overlap.high);
        return {least < expected ? least : expected, expected, most > expected ? most : expected};
    };
    speed.step[time_term::data_communication] += shown(exchange);
    if (j.offload != offload{}) {
        const host_traffic t = training_host_traffic(j, l, held.stage);
        const std::int64_t sharing = c.node_size() < l.gpus() ? c.node_size() : l.gpus();  // GPUs of a node
        speed.step[time_term::host_transfer] +=
            shown(over_host_link(t.link, c, e) + time_at(t.disk * sharing, disk_bandwidth));
        speed.step[time_term::host_optimizer] += time_at(t.memory * sharing, host_bandwidth(c.host));
    }
    speed.step[time_term::memory] += at(optimizer_time(held, c), e.bandwidth);

    const std::int64_t data_ranks = std::int64_t{l.data} * l.replicas;
    const std::int64_t trained = product(product(j.micro_batch * data_ranks, rounds), sequence_of(j).in(tokens));
    speed.tokens_per_second = approx(tokens(trained)) / speed.step.total().expected;
    speed.flops =
        forward.flops * (3.0 * static_cast<double>(rounds) * static_cast<double>(data_ranks * l.context_parallel));
    speed.mfu = gpu_seconds_of_flops(speed.flops, c, linear_arithmetic_of(j), l.gpus()) /
                speed.step.total().expected.in(seconds);
    return speed;
}

/// The card with achieved rates: the measured ones, and where there is none, its peak at the expected efficiency.
constexpr gpu as_achieved(gpu card, const efficiency& e) {
    const gpu_measured& m = card.measured;
    gpu_rates& r = card.rates;
    for (maybe<flop_rate>* peak :
         {&r.fp64, &r.fp64_tensor, &r.fp32, &r.tf32, &r.fp16, &r.bf16, &r.fp8, &r.fp6, &r.fp4, &r.int8, &r.int4})
        if (*peak) peak->value = peak->value * e.arithmetic.expected;
    if (m.tf32) r.tf32 = m.tf32;
    if (m.fp16) r.fp16 = m.fp16;
    if (m.bf16) r.bf16 = m.bf16;
    if (m.fp8) r.fp8 = m.fp8;
    if (m.int8) r.int8 = m.int8;
    card.memory.bandwidth = m.bandwidth ? *m.bandwidth : card.memory.bandwidth * e.bandwidth.expected;
    card.measured = {};
    return card;
}

constexpr job_speed measured_speed(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                                   const efficiency& e) {
    cluster here = c;
    here.gpu = as_achieved(c.gpu, e);
    const gpu_measured& m = c.gpu.measured;
    const bool arithmetic =
        m.rate(j.compute.arithmetic) && m.rate(arithmetic_of(weights_of(j), linear_arithmetic_of(j)));
    job_speed speed = speed_of(j, l, here, held, efficiency_of_measured(arithmetic, m.bandwidth.known, e, m.reach));
    speed.mfu = gpu_seconds_of_flops(speed.flops, c, linear_arithmetic_of(j), l.gpus()) /
                speed.step.total().expected.in(seconds);
    return speed;
}

}  // namespace detail

constexpr job_speed speed_of(const job& j, const layout& l, const cluster& c, const memory_breakdown& held,
                             const efficiency& e) {
    if (c.gpu.measured.bandwidth || c.gpu.measured.any_rate()) return detail::measured_speed(j, l, c, held, e);
    return trains(j) ? detail::training_speed(j, l, c, held, e) : detail::serving_speed(j, l, c, e);
}

}  // namespace llmres::inline v0
