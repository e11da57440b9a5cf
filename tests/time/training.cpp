// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/nanotron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/time/steps/training.hpp>

// The parts of a step of training, each against what its formula gives by hand.

using namespace llmres;

namespace {

const cluster sixteen = standard_cluster(gpus::a100_sxm4_80gb, 16).value();

job trained() {
    return {.model = models::llama_2_7b,
            .task = task::pretraining,
            .sequence = tokens(2048),
            .micro_batch = 2,
            .global_batch = 32,
            .runtime = runtimes::pytorch};
}

/// Four stages, of which the busiest takes a second a micro-batch and the others 0.9.
constexpr detail::stage_work four_stages{.most = seconds(1), .sum = seconds(3.7)};

/// What the schedule adds to 16 micro-batches.
double waited(const layout& l, const job& j = trained()) {
    return detail::waiting_time(j, l, four_stages, seconds(16), 16).expected.in(seconds);
}

}  // namespace

TEST_CASE("a step waits once for a micro-batch of every other stage, with v chunks for a v-th of it") {
    CHECK(waited({.pipeline = 4}) == doctest::Approx(2.7));
    CHECK(waited({.pipeline = 4, .virtual_pipeline = 2}) == doctest::Approx(2.7 / 2));
    CHECK(waited({.pipeline = 4, .schedule = pipeline_schedule::zb_h1}) == doctest::Approx(2.7 / 3));
    CHECK(waited({.pipeline = 4, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v}) == 0);
    CHECK(waited({.pipeline = 1}) == 0);
    job naive = trained();
    naive.runtime.pipeline.naive = true;
    CHECK(waited({.pipeline = 4}, naive) == doctest::Approx(16 * 2.7));  // for every micro-batch
}

TEST_CASE("each micro-batch passes a message forward and one back, between every two chunks") {
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    const auto sent = [&](const layout& l, const job& j = trained()) {
        return detail::sending_time(j, l, with, 16).expected.in(seconds);
    };
    // Two sequences of 2,048 tokens of 4,096 features in bf16.
    const byte_count message = bytes(2 * 2048 * 4096 * 2);
    const auto one = [&](byte_count size, const layout& l) {
        return detail::send_time(size, l, with).expected.in(seconds);
    };
    const layout plain{.pipeline = 4}, chunks{.pipeline = 4, .virtual_pipeline = 2};
    CHECK(sent(plain) == doctest::Approx(2 * 16 * one(message, plain)));
    CHECK(sent(chunks) == doctest::Approx(2 * 2 * 16 * one(message, chunks)));
    const layout halves{.pipeline = 4, .context_parallel = 2};
    CHECK(sent(halves) == doctest::Approx(2 * 16 * one(div_up(message, 2), halves)));
    layout by_tensor{.tensor = 4, .pipeline = 4};
    CHECK(sent(by_tensor) == doctest::Approx(2 * 16 * one(message, by_tensor)));
    job in_parts = trained();
    in_parts.runtime.pipeline.partitions_sends = true;
    const double gather = detail::gather_time(message, by_tensor, with).expected.in(seconds);
    CHECK(sent(by_tensor, in_parts) == doctest::Approx(2 * 16 * (one(div_up(message, 4), by_tensor) + gather)));
    by_tensor.sequence_parallel = true;
    CHECK(sent(by_tensor) == doctest::Approx(2 * 16 * one(div_up(message, 4), by_tensor)));
}

TEST_CASE("gradients are summed over data ranks, or scattered and the shards summed over copies of the state") {
    const memory_breakdown held = plan(trained(), {.data = 16, .zero = 1}, sixteen).value().memory;
    const job j = trained();
    const auto exchanged = [&](collective_kind kind, byte_count message, std::int64_t ranks, std::int64_t stride) {
        return time_of(kind, message, detail::group_of(sixteen, ranks, stride), sixteen.scale_up, sixteen.scale_out)
            .in(seconds);
    };
    using enum collective_kind;
    const auto data = [&](const layout& l, std::int64_t rounds = 1) {
        return detail::data_exchange(j, held, l, sixteen, rounds);
    };
    CHECK(data({.tensor = 2, .data = 8}).during.in(seconds) ==
          doctest::Approx(exchanged(all_reduce, held.reduced, 8, 2)));
    CHECK(data({.data = 8, .replicas = 2}).during.in(seconds) ==
          doctest::Approx(exchanged(all_reduce, held.reduced, 16, 1)));
    const detail::data_exchanges first = data({.tensor = 2, .data = 8, .zero = 1});
    CHECK(first.during.in(seconds) == doctest::Approx(exchanged(reduce_scatter, held.reduced, 8, 2)));
    CHECK(first.behind.in(seconds) == doctest::Approx(exchanged(all_gather, held.gathered, 8, 2)));
    const detail::data_exchanges copies = data({.tensor = 2, .data = 8, .zero = 1, .shard_replicas = 2});
    CHECK(copies.during.in(seconds) == doctest::Approx(exchanged(reduce_scatter, held.reduced, 4, 2) +
                                                       exchanged(all_reduce, div_up(held.reduced, 4), 2, 8)));
    CHECK(copies.behind.in(seconds) == doctest::Approx(exchanged(all_gather, held.gathered, 4, 2)));
    const double scatter = exchanged(reduce_scatter, held.reduced, 16, 1);
    const double gather = exchanged(all_gather, held.gathered, 16, 1);
    CHECK(data({.data = 16, .zero = 2}).during.in(seconds) == doctest::Approx(scatter + gather));
    CHECK(data({.data = 16, .zero = 3}, 5).during.in(seconds) == doctest::Approx(scatter + 10 * gather));
    CHECK(data({.data = 16, .zero = 3}, 5).behind == duration{});
    CHECK(data({.tensor = 16}).during == duration{});
}

TEST_CASE("the work of all stages is that of the model, however its layers are dealt") {
    job j = trained();
    j.runtime.launches.layer = {};  // kernels alone, whose times add up
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    detail::remembered_passes none;
    const auto work = [&](const layout& l) { return detail::work_of_stages_anew(j, l, with, none); };
    for (const std::int32_t depths : {0, 1, 2}) {
        j.mtp_layers = depths;
        const detail::stage_work whole = work({});
        CHECK(whole.most == whole.sum);
        layout uneven{.pipeline = 4};
        uneven.first_stage_layers = 5, uneven.last_stage_layers = 5;
        const layout in_the_middle{.pipeline = 4, .stages = read_stages("Et*8|t*8m*2|t*8|t*8L").value()};
        for (const layout& l :
             {layout{.pipeline = 2}, layout{.pipeline = 4}, layout{.pipeline = 8}, uneven, in_the_middle}) {
            const detail::stage_work parts = work(l);
            CHECK(parts.sum.in(seconds) == doctest::Approx(whole.sum.in(seconds)));
            CHECK(parts.at_peak.in(seconds) == doctest::Approx(whole.at_peak.in(seconds)));
            CHECK(parts.flops.in(flops) == doctest::Approx(whole.flops.in(flops)));
            CHECK(parts.most.in(seconds) >= parts.sum.in(seconds) / l.pipeline * (1 - 1e-9));
            CHECK(parts.most < whole.most);
            CHECK(parts.busiest.total().expected == parts.most);
        }
    }
}

TEST_CASE("mfu of training is the model's FLOPs over what the sheets of all GPUs allow in a step") {
    for (const layout& l :
         {layout{.tensor = 4}, layout{.data = 2, .zero = 1}, layout{.pipeline = 4},
          layout{.tensor = 2, .pipeline = 2, .data = 2}, layout{.tensor = 2, .context_parallel = 2}}) {
        job j = trained();
        j.recompute = recompute::full;
        const job_speed s = plan(j, l, sixteen).value().speed;
        const double step = s.step.total().expected.in(seconds);
        CHECK(s.mfu * static_cast<double>(l.gpus()) * 312e12 * step ==
              doctest::Approx(s.flops.in(flops)).epsilon(0.001));
        CHECK(s.tokens_per_second.in(tokens_per_s) == doctest::Approx(32 * 2048 / step));
    }
}

TEST_CASE("what is recomputed is added to both passes: every layer, one of n, or attention alone") {
    detail::priced_passes passes{};
    passes[0].compute = seconds(3), passes[0].attention = seconds(1), passes[0].flops = flops(10);
    passes[0].at_peak = seconds(2), passes[0].layers = 1;
    passes[1].compute = seconds(6), passes[1].flops = flops(20), passes[1].at_peak = seconds(4), passes[1].layers = 1;
    job j = trained();
    const auto took = [&] { return detail::layer_work(j, passes).compute.in(seconds); };
    CHECK(took() == doctest::Approx(9));
    j.recompute = recompute::full;
    CHECK(took() == doctest::Approx(12));
    CHECK(detail::layer_work(j, passes).layers == 3);
    CHECK(detail::layer_work(j, passes).flops == flops(30));
    CHECK(detail::layer_work(j, passes).at_peak == seconds(6));
    j.recompute_every = 2;
    CHECK(took() == doctest::Approx(10.5));
    j.recompute_every = 1, j.recompute = recompute::selective;
    CHECK(took() == doctest::Approx(10));
    j.recompute_modules = layer_part::mlp;
    CHECK(took() == doctest::Approx(9));
}

TEST_CASE("gradients are added by a kernel of their own where several micro-batches or fp32 beside bf16 need it") {
    job j = trained();
    const auto adds = [&](const layout& l = {}) { return detail::passes_of_training(j, l)[1].adds_gradients; };
    CHECK(adds());
    CHECK_FALSE(adds({.data = 16}));
    j.runtime.optimizer.fp32_beside_bf16 = true;
    CHECK(adds({.data = 16}));
    j.compute = fp16;
    CHECK_FALSE(adds({.data = 16}));
    j.runtime.kernels.linear = linear_code::accumulates;
    CHECK_FALSE(adds());
}

TEST_CASE("a fused loss passes the logits once, eager ones several times") {
    job j = trained();
    j.runtime.kernels.loss.code = loss_code::eager;
    CHECK_FALSE(detail::training_formats(j).fused_loss);
    j.runtime.kernels.loss.code = loss_code::eager_shifted;
    CHECK_FALSE(detail::training_formats(j).fused_loss);
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    CHECK(detail::training_formats(j).fused_loss);
}

TEST_CASE("a reference costs a forward pass, and KTO's answers to other prompts two more") {
    job j = trained();
    j.task = task::finetuning;
    const auto takes = [&](preference_method m, reference_model r = reference_model::by_method) {
        job one = j;
        one.preference = m, one.reference = r;
        return detail::passes_beside(one);
    };
    CHECK(takes(preference_method::none) == 0);
    CHECK(takes(preference_method::orpo) == 0);
    CHECK(takes(preference_method::dpo) == 1);
    CHECK(takes(preference_method::dpo, reference_model::precomputed) == 0);
    CHECK(takes(preference_method::kto) == 3);
    CHECK(takes(preference_method::kto, reference_model::precomputed) == 1);
    // A pair computes what two sequences do, and a reference a third of that again.
    const auto step_of = [](const job& one) { return plan(one, {.data = 16}, sixteen)->speed.step.expected(); };
    job pairs = j;
    pairs.micro_batch = 1, pairs.global_batch = 16, pairs.preference = preference_method::orpo;
    CHECK(step_of(pairs) == step_of(j));
    pairs.preference = preference_method::dpo;
    const double more = step_of(pairs) / step_of(j);
    CHECK(more > 1.2);
    CHECK(more < 1.4);
}

TEST_CASE("a teacher costs its own forward pass, and a mixture passes over the logits more often") {
    job j{.model = models::llama_3_2_1b, .task = task::finetuning, .weights = fp32, .compute = bf16};
    j.sequence = tokens(1024);
    j.runtime = runtimes::huggingface;
    const auto step_of = [](const job& one) { return plan(one, {}, sixteen)->speed.step.expected().in(seconds); };
    const double alone = step_of(j);
    j.preference = preference_method::gkd;
    j.beta = 0;
    j.teacher = teacher_of(models::llama_3_2_1b);
    const double by_itself = step_of(j);
    CHECK(by_itself > alone * 1.15);
    j.teacher = teacher_of(models::llama_3_1_8b);
    const double by_larger = step_of(j);
    CHECK(by_larger > by_itself * 1.3);
    j.beta = 0.5;
    CHECK(step_of(j) > by_larger);
    CHECK(detail::passes_beside(j) == 0);
}

TEST_CASE("a step exchanges what the stage has that has most of it, whichever stage holds most") {
    job j = trained();
    const layout l{.pipeline = 4, .data = 4, .zero = 1};
    const memory_breakdown all = training_memory(j, l);
    CHECK(all.stage == 0);  // it has most micro-batches in flight
    byte_count reduced, gathered, updated;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const memory_breakdown one = training_memory(j, l, stage);
        reduced = std::max(reduced, one.reduced);
        gathered = std::max(gathered, one.gathered);
        updated = std::max(updated, one.updated);
    }
    CHECK(all.reduced == reduced);
    CHECK(all.gathered == gathered);
    CHECK(all.updated == updated);
    CHECK(all.reduced > training_memory(j, l, 0).reduced);  // the last stage has the final norm beside its table
}

TEST_CASE("the optimizer reads and writes its state at the memory's rate") {
    const job j = trained();
    const layout l{.tensor = 8};
    const job_plan p = plan(j, l, sixteen).value();
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    detail::remembered_passes none;
    const detail::stage_work work = detail::work_of_stages_anew(j, l, with, none);
    const double passes = work.busiest[time_term::memory].expected.in(seconds) * 16;
    const double state = static_cast<double>(p.memory.updated.in(bytes)) / (2039e9 * 0.797);
    CHECK(state > 0);
    CHECK(p.speed.step[time_term::memory].expected.in(seconds) == doctest::Approx(passes + state));
}

TEST_CASE("the CPU takes longer for each tensor rank where a pipeline's stages lie in several nodes") {
    job j = trained();
    j.runtime = runtimes::nanotron;
    const auto layer = [&](const layout& l) { return detail::launches_of(j, l, sixteen).layer; };
    const interval<duration>& alone = j.runtime.launches.layer;
    const interval<duration>& more = j.runtime.pipeline.layer_of_rank;
    CHECK(layer({.tensor = 4, .pipeline = 4}).expected == alone.expected + more.expected * 4.0);
    CHECK(layer({.tensor = 4, .pipeline = 4}).high == alone.high + more.high * 4.0);
    CHECK(layer({.tensor = 8, .pipeline = 2}).low == alone.low + more.low * 8.0);
    CHECK(layer({.tensor = 4, .pipeline = 2}).expected == alone.expected);  // in one node
    CHECK(layer({.tensor = 8, .data = 2}).expected == alone.expected);
    CHECK(layer({.pipeline = 16}).expected == alone.expected);
    // The CPU is busier than the GPU: steps are as long as their micro-batches take to issue.
    j.micro_batch = 1;
    j.sequence = tokens(512);
    const auto step = [&](const layout& l) { return plan(j, l, sixteen)->speed.step.total().expected.in(seconds); };
    const double stage = 2 * 32 / 2 * (alone.expected + more.expected * 8.0).in(seconds);
    CHECK(step({.tensor = 8, .sequence_parallel = true, .pipeline = 2}) ==
          doctest::Approx((32 + 1) * stage).epsilon(0.02));
    CHECK(step({.tensor = 8, .sequence_parallel = true, .data = 2}) < 0.6 * 33 * stage);
}

TEST_CASE("messages go to the next stage inside a node where its ranks are there, and between nodes where not") {
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    const byte_count message = mb(64);
    const auto by_hand = [&](std::int64_t in_node) {
        return time_of(collective_kind::send, message, {.ranks = 2, .in_node = in_node}, sixteen.scale_up,
                       sixteen.scale_out)
            .in(seconds);
    };
    const auto sent = [&](const layout& l) { return detail::send_time(message, l, with).expected.in(seconds); };
    REQUIRE(by_hand(1) > 2 * by_hand(2));
    for (const layout& l : {layout{.pipeline = 4}, layout{.tensor = 4, .pipeline = 2}, layout{.pipeline = 2, .data = 4},
                            layout{.pipeline = 2, .context_parallel = 4}})
        CHECK(sent(l) == doctest::Approx(by_hand(2)));
    CHECK(sent({.tensor = 8, .pipeline = 2}) == doctest::Approx(by_hand(1)));
    CHECK(sent({.tensor = 4, .pipeline = 2, .data = 2}) == doctest::Approx(by_hand(1)));
    const double gathered =
        time_of(collective_kind::all_gather, message, {.ranks = 8, .in_node = 8}, sixteen.scale_up, sixteen.scale_out)
            .in(seconds);
    CHECK(detail::gather_time(message, {.tensor = 8}, with).expected.in(seconds) == doctest::Approx(gathered));
}

TEST_CASE("a link to the host of unknown rate takes no time") {
    cluster c = sixteen;
    c.host.link = {};
    CHECK(detail::over_host_link(gb(1), {c, c.gpu, default_efficiency}) == interval<duration>{});
}

TEST_CASE("two tensor ranks send half of a message each under sequence parallelism; idle stages wait for nothing") {
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    const layout two{.tensor = 2, .sequence_parallel = true, .pipeline = 4};
    const byte_count message = bytes(2 * 2048 * 4096 * 2);
    CHECK(detail::sending_time(trained(), two, with, 16).expected.in(seconds) ==
          doctest::Approx(2 * 16 * detail::send_time(div_up(message, 2), two, with).expected.in(seconds)));
}

TEST_CASE("a stage of one layer computes it: all stages together compute what one GPU does") {
    job j = trained();
    j.model = models::llama_3_2_1b;  // sixteen layers
    const auto work = [&](const layout& l) {
        detail::remembered_passes none;
        return detail::work_of_stages_anew(j, l, {sixteen, sixteen.gpu, default_efficiency}, none).flops.in(flops);
    };
    CHECK(work({.pipeline = 16}) == doctest::Approx(work({})));
    CHECK(work({.pipeline = 4}) == doctest::Approx(work({})));
}

TEST_CASE("shards of a node are summed over the groups that hold copies of the state, which lie in it too") {
    const job j = trained();
    const layout l{.data = 8, .zero = 1, .shard_replicas = 2};
    const memory_breakdown held = plan(j, l, sixteen).value().memory;
    const auto inside = [&](collective_kind kind, byte_count message, std::int64_t ranks) {
        return time_of(kind, message, {.ranks = ranks, .in_node = ranks}, sixteen.scale_up, sixteen.scale_out)
            .in(seconds);
    };
    CHECK(detail::data_exchange(j, held, l, sixteen, 1).during.in(seconds) ==
          doctest::Approx(inside(collective_kind::reduce_scatter, held.reduced, 4) +
                          inside(collective_kind::all_reduce, div_up(held.reduced, 4), 2)));
}

TEST_CASE("at the fast end computing hides a whole exchange, where it lasts longer") {
    job j = trained();
    j.runtime.launches.overlaps_gradients = true;
    const time_breakdown step = plan(j, {.data = 16}, sixteen).value().speed.step;
    CHECK(step[time_term::data_communication].low == duration{});
    CHECK(step[time_term::data_communication].expected > duration{});
}

TEST_CASE(
    "a stage that predicts further tokens is one of those that are waited for: no stage waits less than nothing") {
    job j = trained();
    j.runtime = runtimes::megatron;
    const detail::pricing with{sixteen, sixteen.gpu, default_efficiency};
    for (const std::int32_t stages : {2, 4, 8}) {
        const layout l{.pipeline = stages};
        j.mtp_layers = 0;
        detail::remembered_passes none;
        const detail::stage_work plain = detail::work_of_stages_anew(j, l, with, none);
        for (const std::int32_t depths : {1, 4}) {
            j.mtp_layers = depths;
            CAPTURE(stages);
            CAPTURE(depths);
            const detail::stage_work work = detail::work_of_stages_anew(j, l, with, none);
            // The last stage has all that is more: the others take no longer than before.
            CHECK(work.most > plain.most);
            CHECK(work.sum > work.most);
            CHECK((work.sum - work.most).in(seconds) <= doctest::Approx(plain.most.in(seconds) * (stages - 1)));
            CHECK(plan(j, l, sixteen).value().speed.step[time_term::pipeline_bubble].low > duration{});
        }
    }
}

TEST_CASE(
    "a step of training is longer by what the busiest rank's experts have to compute more, on ranks that share them") {
    job j{.model = models::mixtral_8x7b,
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(4096),
          .attention = attention_kernel::flash,
          .runtime = runtimes::megatron};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const auto step = [&](double load, const layout& l) {
        j.expert_load = load;
        return plan(j, l, eight).value().speed.step[time_term::compute].expected.in(seconds);
    };
    const layout shared{.data = 8, .expert = 8, .zero = 1}, alone{.data = 8, .zero = 1};
    const double more = step(2, shared) - step(1, shared);
    // Routed experts are most of the model's arithmetic.
    CHECK(more > step(1, shared) * 0.5);
    CHECK(more < step(1, shared));
    CHECK(step(4, shared) - step(1, shared) == doctest::Approx(3 * more).epsilon(0.05));
    CHECK(step(4, alone) == step(1, alone));
}
