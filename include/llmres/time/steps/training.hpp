// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/time/host.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// How long is a training step? Forward and backward passes of each stage, what the schedule of stages adds, and the
/// exchanges, transfers and optimizer steps that computing does not hide.
namespace llmres::inline v0::detail {

/// Whether bf16 gradients of each micro-batch are added to fp32 ones beside them.
constexpr bool adds_to_fp32(const job& j) {
    return j.runtime.optimizer.fp32_beside_bf16 && j.compute.arithmetic == arithmetic_kind::bf16;
}

/// Whether gradients of a micro-batch are added to others in an operation of its own.
constexpr bool adds_gradients(const job& j, const layout& l) {
    return j.runtime.kernels.linear == linear_code::plain && (micro_batches(j, l) > 1 || adds_to_fp32(j));
}

/// Forward and backward pass of a micro-batch.
constexpr token_passes passes_of_training(const job& j, const layout& l) {
    const std::int64_t length = ceil_quotient(sequence_of(j).in(tokens), l.context_parallel);
    token_pass pass{.tokens = {computed_sequences(j), length, sequence_of(j).in(tokens)},
                    .expert_load = j.expert_load,
                    .training = true,
                    .scores = j.attention != attention_kernel::eager ? pair_scores::in_registers
                              : j.runtime.kernels.fuses_norms()      ? pair_scores::fused_softmax
                                                                     : pair_scores::apart,
                    .dropout = j.dropout,
                    .adds_gradients = adds_gradients(j, l),
                    .keeps_gathered = j.runtime.kernels.keeps_gathered_inputs,
                    .adapter = adapter_of(j)};
    pass.scored = pass.tokens.all();
    token_pass back = pass;
    back.backward = true;
    token_passes both;
    both.push(pass);
    both.push(back);
    return both;
}

/// How often the kernels of a divergence read or write tensors of the logits' size, forward and backward: counted from
/// the operators that TRL's loss dispatches (trl 1.16, experimental/gkd/gkd_trainer.py, generalized_jsd_loss; logsumexp
/// as ATen's ReduceOps.cpp writes it).
constexpr std::array<std::int32_t, 2> divergence_passes(const job& j) {
    switch (divergence_of(j)) {
        case divergence_kind::mixed: return {67, 54};
        case divergence_kind::of_teacher: return {19, 16};
        case divergence_kind::of_student: return {19, 23};
        case divergence_kind::none: break;
    }
    return {};
}

constexpr operation_formats training_formats(const job& j) {
    const precision& stream = activations_of(j);
    const bool fused_adapters = j.runtime.kernels.adapters == adapter_code::fused;  // which cast the factors themselves
    return {.compute = stream,
            .kv_cache = stream,
            .weights = formats_of(j, stream),
            .linear = linear_arithmetic_of(j),
            .adapters = autocasts(j) || fused_adapters ? maybe<precision>{} : maybe<precision>{adapter_format_of(j)},
            .fused_adapters = fused_adapters,
            .gradients = gradients_of(j),
            .joined = j.runtime.launches.joined,
            .casts_weights = j.runtime.kernels.fp8.recipe == fp8_recipe::none,
            .fused_loss = j.runtime.kernels.loss.code != loss_code::eager &&
                          j.runtime.kernels.loss.code != loss_code::eager_shifted,
            .autocast = autocasts(j),
            .divergence = divergence_passes(j)};
}

/// Forward and backward pass together.
constexpr priced_pass both_passes(const priced_passes& each) {
    priced_pass all = each[0];
    all.add(each[1], 1.0);
    return all;
}

/// Forward passes of a training step by a model of the trained one's size that nothing is differentiated of: the
/// reference's; of KTO as many over answers to other prompts, by both models (trl 1.16, trainer/kto_trainer.py,
/// _compute_kl_logps and _compute_loss); and those before the step.
constexpr double passes_beside(const job& j) {
    const double others = j.preference == preference_method::kto ? 1.0 : 0.0;
    const bool by_own_model = computes_reference(j) && !learns_from_teacher(j.preference);
    return (by_own_model ? 1.0 + 2.0 * others : others) + j.passes_before_step;
}

/// What a micro-batch takes of one layer: both passes, and what is computed a second time.
constexpr priced_pass layer_work(const job& j, const priced_passes& layer) {
    priced_pass all = both_passes(layer);
    const duration at_peak = all.at_peak;
    const flop_count once = all.flops;
    if (j.recompute == recompute::full) all.add(layer[0], 1.0 / j.recompute_every);
    if (passes_beside(j) > 0) all.add(layer[0], passes_beside(j));
    if (j.recompute == recompute::selective && j.recompute_modules.has(layer_part::core_attn))
        all.compute += layer[0].attention;
    all.at_peak = at_peak;
    all.flops = once;
    return all;
}

/// Work of a micro-batch in the head and the loss: both passes, the product again where none of its logits are kept,
/// and a reference's.
constexpr priced_pass head_work(const job& j, const priced_passes& head) {
    priced_pass all = both_passes(head);
    const duration at_peak = all.at_peak;
    const flop_count once = all.flops;
    if (j.runtime.kernels.loss.code == loss_code::fused_log_probabilities) all.add(head[0], 1.0);
    if (passes_beside(j) > 0) all.add(head[0], passes_beside(j));
    all.at_peak = at_peak;
    all.flops = once;
    return all;
}

/// Work of a micro-batch in a teacher, of which nothing is differentiated.
constexpr priced_pass teacher_work(const job& j, const layout& l, const pricing& with) {
    const job taught = job_of_teacher(j);
    const token_passes passes = passes_of_training(taught, l);
    const operation_formats formats = training_formats(taught);
    remembered_passes priced_before{folds_are::made_anew};
    remembered_products no_products;
    model_pricer priced{taught, l, with, formats, passes, priced_before, no_products};
    priced_pass all = priced.head()[0];
    all.add(priced.layer(0)[0], taught.model.layers.size);
    all.at_peak = {};
    all.flops = {};
    return all;
}

/// Whether tensor ranks of a pipeline wait for each other's CPUs in several nodes.
constexpr bool issues_across_nodes(const layout& l, const cluster& c) {
    return l.pipeline > 1 && l.tensor > 1 && l.gpus() > c.node_size();
}

/// What the CPU takes to issue a step of training.
constexpr runtime_launches launches_of(const job& j, const layout& l, const cluster& c) {
    runtime_launches by = j.runtime.launches;
    if (issues_across_nodes(l, c)) by.layer += j.runtime.pipeline.layer_of_rank * static_cast<double>(l.tensor);
    return by;
}

/// What a micro-batch takes of each stage: of the busiest, and of all together.
struct stage_work {
    time_breakdown busiest{};
    duration most{};  ///< expected time of the busiest
    duration sum{};   ///< expected time of all
    duration at_peak{};
    flop_count flops{};

    /// Adds a stage that takes so much time, which is a sum of terms.
    constexpr void add(const priced_pass& stage, const time_breakdown& terms, duration time) {
        sum += time;
        at_peak += stage.at_peak;
        flops += stage.flops;
        if (time <= most) return;
        busiest = terms;
        most = time;
    }
};

/// Whether a stage has the work of the one before it: as many layers of each kind, and nothing beside them.
constexpr bool repeats_work_before(const job& j, const layout& l, std::int32_t stage) {
    const bool at_end = stage <= 0 || stage == l.last_stage() || stage - 1 == l.last_stage();
    return !at_end && j.mtp_layers == 0 && !is_naive_pipeline(j, l) && repeats_layers_before(j.model.layers, l, stage);
}

/// The work of all stages. Depths of multi-token prediction (a projection, a layer and the head) are on their stage.
constexpr stage_work work_of_stages_anew(const job& j, const layout& l, const pricing& with, remembered_passes& kept) {
    const token_passes passes = passes_of_training(j, l);
    const operation_formats formats = training_formats(j);
    remembered_products no_products;  // passes of training share none
    model_pricer priced{j, l, with, formats, passes, kept, no_products};
    by_kind<priced_pass> layers;
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
        layers.set(k, layer_work(j, priced.layer(k)));
    const priced_pass head = head_work(j, priced.head());
    priced_pass depth;
    if (j.mtp_layers > 0) {
        pricer price = model_pricer::pricer_of(j, l, with, passes);
        visit_projection(depth_projection(j.model), formats, passes, l, projection_place::before_head, price);
        depth = both_passes(price.sum);
        price.start_over();
        price_layer(price, prediction_block(j.model), j.model.hidden, formats, passes);
        depth.add(layer_work(j, price.sum), 1.0);
        depth.add(head, 1.0);
    }
    const runtime_launches launches = launches_of(j, l, with.on);
    stage_work all;
    priced_pass work;
    time_breakdown terms;
    duration time;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        if (!repeats_work_before(j, l, stage)) {
            const placement holds = placement_of(j, l, stage);
            work = {};
            for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
                if (holds.counts[k] > 0) work.add(layers[k], holds.counts[k]);
            if (holds.output) work.add(head, 1.0);
            if (learns_from_teacher(j.preference)) work.add(teacher_work(j, l, with), 1.0);
            if (j.mtp_layers > 0 && stage == prediction_stage(l)) work.add(depth, j.mtp_layers);
            terms = work.terms(with.reach, launches);
            time = terms.expected();
        }
        all.add(work, terms, time);
    }
    return all;
}

/// Key of the work of all pipeline stages: all that it depends on. Precondition: no list says which layers each holds.
struct stage_work_fold {
    exchange_split split;
    stage_split stages;
    std::int64_t micro_batch = 0;
    bool adds_gradients = false;
    bool across_nodes = false;  ///< issues_across_nodes()

    constexpr std::uint64_t mix() const {
        return mixed(split.mix(), stages.mix(), micro_batch, adds_gradients + 2 * across_nodes + 4 * split.same_tokens);
    }
    friend constexpr bool operator==(const stage_work_fold&, const stage_work_fold&) = default;
};

/// What is remembered of the times of a job that trains.
struct training_times {
    remembered_passes passes;
    memo<stage_work_fold, stage_work> work;

    constexpr explicit training_times(folds_are folds = folds_are::made_anew) : passes{folds}, work{folds} {}
};

/// The work of all stages, as another layout left it, if one did: data ranks and ZeRO change it little.
constexpr const stage_work& work_of_stages(const job& j, const layout& l, const pricing& with, training_times& kept,
                                           slot<stage_work>& room) {
    const auto anew = [&] { return work_of_stages_anew(j, l, with, kept.passes); };
    if (l.stages.chunks == 0)
        return kept.work.get({l, l, j.micro_batch, adds_gradients(j, l), issues_across_nodes(l, with.on)}, anew, room);
    room = slot{anew()};  // a list says what each stage holds, which is no part of the key
    return room.value;
}

/// The time in which the data-parallel ranks of the busiest GPU exchange gradients and, under ZeRO, weights in one
/// step.
struct data_exchanges {
    duration during{};  ///< passes of the step may hide it
    duration behind{};  ///< weights that are gathered once the optimizer has updated them: nothing hides that
};

constexpr data_exchanges data_exchange(const job& j, const memory_breakdown& held, const layout& l, const cluster& c,
                                       std::int64_t micro_batches) {
    const std::int64_t ranks = l.dense_data_ranks() * l.replicas;
    if (ranks <= 1) return {};
    const auto exchange = [&](collective_kind kind, byte_count message, std::int64_t among, std::int64_t stride) {
        return time_of(kind, message, group_of(c, among, stride), c.scale_up, c.scale_out);
    };
    if (l.zero == 0) return {.during = exchange(collective_kind::all_reduce, held.reduced, ranks, l.tensor)};
    const std::int64_t shards = l.dense_shard_ranks();
    const duration gather = exchange(collective_kind::all_gather, held.gathered, shards, l.tensor);
    // Each shard of the gradients is summed over the groups that hold copies of the state.
    duration reduce =
        exchange(collective_kind::reduce_scatter, held.reduced, shards, l.tensor) +
        exchange(collective_kind::all_reduce, div_up(held.reduced, shards), ranks / shards, l.tensor * shards);
    // DeepSpeed's BF16_Optimizer sums its fp32 gradients on every rank (runtime/pipe/engine.py, _bf16_reduce_grads),
    // and not the bf16 ones that lie beside them.
    if (adds_to_fp32(j)) {
        const byte_count fp32_gradient = size_of(fp32, 1, 1), gradient = size_of(gradients_of(j), 1, 1);
        const byte_count summed = div_up(held.reduced * fp32_gradient.in(bytes), gradient.in(bytes));
        reduce = exchange(collective_kind::all_reduce, summed, ranks, l.tensor);
    }
    // FSDP gathers before each pass through a unit, also of a pass that nothing is differentiated of; ZeRO 1, and
    // DeepSpeed's ZeRO 2, after the optimizer's step.
    if (l.zero == 1 || (l.zero == 2 && j.runtime.sharding.code == sharding_code::deepspeed))
        return {.during = reduce, .behind = gather};
    const double gathers = l.zero == 3 ? (2.0 + passes_beside(j)) * static_cast<double>(micro_batches) : 1.0;
    duration during = reduce + gather * gathers;
    if (learns_from_teacher(j.preference) && l.zero == 3 && j.runtime.sharding.code == sharding_code::deepspeed)
        during += exchange(collective_kind::all_gather, j.teacher.held, shards, l.tensor) *
                  static_cast<double>(micro_batches);
    return {.during = during};
}

/// The part of 1F1B's bubble that remains where gradients of weights, a third of the time, are computed in it (arXiv
/// 2401.10241 tables 1 and 2).
constexpr double bubble_left(pipeline_schedule s) {
    return s == pipeline_schedule::zb_h1 ? 1.0 / 3.0 : defers_weight_gradients(s) ? 0.0 : 1.0;
}

/// What the schedule adds to the busiest stage's own time. Under 1F1B and GPipe a step is the busiest stage's
/// micro-batches one after another, and one of every other stage before and behind them (arXiv 2104.04473 section 2.2;
/// with v chunks a stage, a v-th of that). A naive pipeline's stages wait for each other all the time.
constexpr interval<duration> waiting_time(const job& j, const layout& l, const stage_work& work,
                                          const interval<duration>& busy, std::int64_t rounds) {
    if (l.pipeline == 1) return {};
    const double others = work.most > duration{} ? (work.sum - work.most) / work.most : 0.0;
    const double share = is_naive_pipeline(j, l)
                             ? others
                             : others * bubble_left(l.schedule) / (static_cast<double>(rounds) * l.virtual_pipeline);
    return busy * share;
}

/// What a step's messages between stages take.
constexpr interval<duration> sending_time(const job& j, const layout& l, const pricing& with, std::int64_t rounds) {
    if (l.pipeline == 1) return {};
    const std::int64_t length = ceil_quotient(sequence_of(j).in(tokens), l.context_parallel);
    // Forward and back, each micro-batch waits for its own.
    const byte_count message = size_of(activations_of(j), computed_sequences(j) * length, j.model.hidden);
    const double sends = 2.0 * l.virtual_pipeline * static_cast<double>(rounds);
    const bool in_parts = l.tensor > 1 && (l.sequence_parallel || j.runtime.pipeline.partitions_sends);
    interval<duration> send = send_time(div_up(message, in_parts ? l.tensor : 1), l, with);
    if (in_parts && !l.sequence_parallel) send += gather_time(message, l, with);
    return send * sends;
}

/// Adds what offloading moves and what the host computes.
template <class Shown>
constexpr void add_host(job_speed& speed, const job& j, const layout& l, const pricing& with,
                        const memory_breakdown& held, const Shown& shown, training_folds& folds) {
    if (j.offload == offload{}) return;
    const host_traffic t = training_host_traffic(j, l, held.stage, folds);
    const std::int64_t sharing = with.on.node_size() < l.gpus() ? with.on.node_size() : l.gpus();  // GPUs of a node
    speed.step[time_term::host_transfer] +=
        shown(over_host_link(t.link, with) + time_at(t.disk * sharing, disk_bandwidth), 0.0);
    speed.step[time_term::host_optimizer] += time_at(t.memory * sharing, host_bandwidth(with.on));
}

/// `held`: what the busiest GPU holds. Null: the least that a step takes whatever it holds, without the exchanges of
/// data ranks, offloading and the optimizer's step, none of which makes any other part shorter.
constexpr job_speed training_speed(const job& j, const layout& l, const memory_breakdown* held, const pricing& with,
                                   training_times& times, training_folds& folds) {
    slot<stage_work> room;
    const stage_work& work = work_of_stages(j, l, with, times, room);
    const std::int64_t rounds = micro_batches(j, l);
    job_speed speed{.step = work.busiest * static_cast<double>(rounds)};
    const interval<duration> busy = speed.step.total();
    speed.step[time_term::pipeline_bubble] += waiting_time(j, l, work, busy, rounds);
    speed.step[time_term::pipeline_communication] += sending_time(j, l, with, rounds);
    // What is hidden behind computing is hidden once: the transfers to the host have what the exchange leaves.
    interval<duration> free = busy;
    const auto shown = [&](const interval<duration>& all, double at_least) -> interval<duration> {
        const auto exposed = [&](duration whole, duration& behind, double overlap) {
            const duration hidden = whole * overlap < behind ? whole * overlap : behind;
            behind = behind - hidden;
            return whole - hidden;
        };
        const duration expected = exposed(all.expected, free.expected, with.reach.overlap.expected);
        const duration least = exposed(all.low, free.low, with.reach.overlap.low);
        const duration most = exposed(all.high, free.high, at_least);
        // A faster step overlaps less with the transfer, so that the bounds can cross.
        return {least < expected ? least : expected, expected, most > expected ? most : expected};
    };
    const data_exchanges data = held ? data_exchange(j, *held, l, with.on, rounds) : data_exchanges{};
    const interval<duration> during = at(data.during, with.reach.link);
    speed.step[time_term::data_communication] +=
        (j.runtime.launches.overlaps_gradients ? shown(during, with.reach.overlap.high) : during) +
        at(data.behind, with.reach.link);
    if (held) {
        add_host(speed, j, l, with, *held, shown, folds);
        speed.step[time_term::memory] += at(held->updated / with.on.gpu.memory.bandwidth, with.reach.bandwidth);
    }

    const std::int64_t data_ranks = l.all_data_ranks();
    const std::int64_t trained =
        product(product(computed_sequences(j) * data_ranks, rounds), sequence_of(j).in(tokens));
    const duration step = speed.step.expected();
    speed.tokens_per_second = approx(tokens(trained)) / step;
    speed.flops = work.flops * (static_cast<double>(rounds) * static_cast<double>(data_ranks * l.context_parallel));
    speed.mfu = work.at_peak * static_cast<double>(rounds) / step / static_cast<double>(l.pipeline);
    return speed;
}

}  // namespace llmres::inline v0::detail
