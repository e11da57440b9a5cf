// SPDX-License-Identifier: MIT
#include <llmres/memory/training/peak/step.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <string>

#include "made_stage.hpp"

using stages::made_stage;
using namespace llmres;
using namespace llmres::detail;

namespace {

stage_step step_of(made_stage& m) { return stage_step_of(m.folded, m.stage); }
/// How a size of the step grows that a member of stage_step has.
std::string grows(made_stage& m, byte_count stage_step::* size) {
    return m.grows_with([&] { return step_of(m).*size; });
}
/// Four data ranks that shard weights by an implementation.
void shard(made_stage& m, sharding_code code) {
    m.cut = {.data = 4, .zero = 3};
    m.asked.runtime.sharding = {.code = code};
}

}  // namespace

TEST_CASE("each point of a step raises the most of one pass") {
    const auto raised = [](peak_point point) {
        llmres::training_passes passes{.forward = mib(1), .loss = mib(1), .backward = mib(1), .step = mib(1)};
        take(passes, point, kib(1));  // no more than there was
        CHECK(passes == llmres::training_passes{.forward = mib(1), .loss = mib(1), .backward = mib(1), .step = mib(1)});
        take(passes, point, mib(2));
        return passes;
    };
    const llmres::training_passes none{.forward = mib(1), .loss = mib(1), .backward = mib(1), .step = mib(1)};
    llmres::training_passes step = none, forward = none, loss = none, backward = none;
    step.step = forward.forward = loss.loss = backward.backward = mib(2);
    CHECK(raised(peak_point::optimizer_step) == step);
    CHECK(raised(peak_point::layers_forward) == forward);
    CHECK(raised(peak_point::loss_forward) == loss);
    CHECK(raised(peak_point::logits_returned) == loss);
    for (const peak_point point :
         {peak_point::last_layer_backward, peak_point::first_layer_backward, peak_point::embedding_gradient,
          peak_point::loss_gradient, peak_point::head_backward, peak_point::final_norm_backward, peak_point::head_step})
        CHECK(raised(point) == backward);
}

TEST_CASE("FSDP1 gathers a unit and the one ahead of it in the backward pass, and its root unit all along") {
    made_stage m;
    shard(m, sharding_code::fsdp1);
    CHECK(grows(m, &stage_step::gathered_in_loss) == "ends.gathered");
    CHECK(grows(m, &stage_step::gathered_in_backward) == "ends.gathered + 2 unit");
    CHECK(grows(m, &stage_step::ahead_in_backward) == "unit");
    CHECK(grows(m, &stage_step::backward_communication) == "ends.gathered + 2 unit + unit.gradient");
    CHECK(grows(m, &stage_step::backward_streams).empty());
    m.asked.runtime.sharding.code = sharding_code::buckets;  // a unit ahead is no FSDP1's
    CHECK(grows(m, &stage_step::gathered_in_backward) == "ends.gathered + 2 unit");
    CHECK(grows(m, &stage_step::ahead_in_backward).empty());
    // Of a unit of frozen weights and adapters as much.
    m.asked.runtime.sharding = {.code = sharding_code::fsdp1};
    m.folded.context.frozen = true;
    CHECK(grows(m, &stage_step::backward_communication) == "ends.gathered + 2 unit + unit.gradient");
    m.folded.context.frozen = false;
    // All weights stay from the forward pass on.
    m.asked.runtime.sharding = {.code = sharding_code::fsdp1, .reshards_after_forward = false};
    CHECK(grows(m, &stage_step::gathered_in_loss) == "all.gathered");
    CHECK(grows(m, &stage_step::gathered_in_backward) == "all.gathered");
    CHECK(grows(m, &stage_step::ahead_in_backward).empty());
}

TEST_CASE("FSDP2 has the embedding and the head as units, or both as the root unit, which stays gathered") {
    made_stage m;
    shard(m, sharding_code::fsdp2);
    CHECK(step_of(m).shards_by_parameter);
    CHECK_FALSE(step_of(m).shards_tensors);
    CHECK(grows(m, &stage_step::gathered_in_loss) == "ends.gathered + unit");
    CHECK(grows(m, &stage_step::gathered_in_backward) == "ends.gathered + 2 unit");
    // A layer's gradients are cast and scattered, the head's with them.
    CHECK(grows(m, &stage_step::backward_communication) == "output.gathered + ends.gathered + 3 unit + unit.gradient");
    m.asked.runtime.sharding.separate_ends = true;
    CHECK(grows(m, &stage_step::gathered_in_loss) == "output.gathered");
    CHECK(grows(m, &stage_step::gathered_in_backward) == "2 unit");
    CHECK(grows(m, &stage_step::backward_communication) == "3 unit + unit.gradient");
    m.asked.model.tied_head = true;  // one tensor, so one unit
    CHECK(grows(m, &stage_step::gathered_in_loss) == "ends.gathered + unit");
    m.asked.model.tied_head = false;
    CHECK(grows(m, &stage_step::backward_streams).empty());
    m.asked.runtime.sharding.separate_streams = true;  // those that are gathered are another stream's
    CHECK(grows(m, &stage_step::backward_streams) == "unit");
    m.asked.runtime.sharding.reshards_after_forward = false;
    CHECK(grows(m, &stage_step::backward_streams).empty());
    m.asked.runtime.sharding.reshards_after_forward = true;
    m.cut.zero = 2;  // nothing is gathered
    CHECK(grows(m, &stage_step::backward_streams).empty());
    CHECK(grows(m, &stage_step::gathered_in_backward).empty());
    CHECK(grows(m, &stage_step::backward_communication).empty());
}

TEST_CASE("DeepSpeed's ZeRO 3 has up to a billion weights gathered, one tensor's gradient, and its buffers") {
    made_stage m;
    shard(m, sharding_code::deepspeed);
    m.stage.zero = {.throughout = mib(1), .backward = mib(1), .joined = mib(1)};
    CHECK(step_of(m).shards_tensors);
    CHECK_FALSE(step_of(m).shards_by_parameter);
    CHECK(grows(m, &stage_step::resident) == "zero.throughout");
    // The model is smaller than that.
    CHECK(grows(m, &stage_step::gathered_in_loss) == "all.gathered + zero.throughout");
    CHECK(grows(m, &stage_step::gathered_in_backward) == "all.gathered + zero.throughout");
    m.folded.widest.gradients.whole = mib(2);
    CHECK(grows(m, &stage_step::backward_communication) ==
          "zero.joined + all.gathered + unit.largest + zero.throughout + zero.backward");
    m.folded.widest.largest = mib(3);
    CHECK(grows(m, &stage_step::backward_communication) ==
          "zero.joined + all.gathered + unit.gradient + zero.throughout + zero.backward");
    CHECK(grows(m, &stage_step::backward_streams) == "zero.joined");
    m.stage.weights.all.gathered = gib(8);
    CHECK(step_of(m).gathered_in_loss == bytes(2'000'000'000) + mib(1));
    CHECK(step_of(m).details.buckets == mib(3));
}

TEST_CASE(
    "ranks that share the last gradients alone hold whole ones between micro-batches, in the format of gathering") {
    made_stage m;
    shard(m, sharding_code::fsdp1);
    m.stage.weights.all.gradients.kept = {};
    for (std::size_t k = 0; k < 2; ++k) {
        m.layers[k].state.gathered = mib(30);
        m.layers[k].state.gradients.whole = mib(3);
        m.folded.layers.set(k, m.layers[k]);
    }
    m.stage.weights.ends.gathered = mib(20);
    m.stage.weights.ends.gradients.whole = {};
    m.asked.runtime.sharding.sync_each_batch = false;
    m.asked.global_batch = made_stage::sequences * 4;  // one micro-batch
    CHECK(step_of(m).unsharded == byte_count{});
    m.asked.global_batch *= 2;
    CHECK(step_of(m).unsharded == mib(5 * 30));  // nothing beside the layers is trained
    m.stage.weights.ends.gradients.whole = mib(2);
    CHECK(step_of(m).unsharded == mib(5 * 30 + 20));
    m.stage.weights.all.gradients.kept = mib(40);
    CHECK(step_of(m).unsharded == mib(5 * 30 + 20 - 40));
    m.cut.zero = 2;
    CHECK(step_of(m).unsharded == mib(5 * 30 + 20 - 40));
    m.cut.zero = 1;  // which shards no gradients
    CHECK(step_of(m).unsharded == byte_count{});
    m.cut.zero = 3;
    m.asked.runtime.sharding.sync_each_batch = true;
    CHECK(step_of(m).unsharded == byte_count{});
    // Of adapters that are units of their own, their gradients; of units that they share with frozen weights, all.
    m.stage.weights.all.gradients.kept = m.stage.weights.ends.gradients.whole = {};
    m.asked.runtime.sharding.sync_each_batch = false;
    m.folded.context.frozen = true;
    CHECK(step_of(m).unsharded == mib(5 * 30));
    m.asked.runtime.sharding.adapted_layers = adapted_layer_units::by_trained_matrix;
    CHECK(step_of(m).unsharded == mib(5 * 3));
}

TEST_CASE("DDP has its buckets beside the gradients unless these are views of them") {
    made_stage m;
    m.cut = {.data = 2};
    CHECK(step_of(m).details.bucketed == byte_count{});
    m.asked.runtime.sharding.gradient_as_bucket_view = false;
    CHECK(grows(m, &stage_step::resident) == "all.gradient");
    CHECK(step_of(m).details.bucketed == m.stage.weights.all.gradients.whole);
    m.cut.data = 1;
    CHECK(grows(m, &stage_step::resident).empty());
    m.cut = {.data = 2, .zero = 3};
    CHECK(grows(m, &stage_step::resident).empty());
}

TEST_CASE("Transformer Engine's dummies of gradients stand throughout the step") {
    made_stage m;
    m.asked.runtime.kernels.linear = linear_code::accumulates;
    CHECK(grows(m, &stage_step::resident).empty());
    m.asked.runtime.kernels.linear = linear_code::accumulates_beside;
    CHECK(grows(m, &stage_step::resident) == "dummies");
    CHECK(grows(m, &stage_step::gathered_in_loss) == "dummies");
    CHECK(grows(m, &stage_step::backward_communication) == "dummies");
}

TEST_CASE("weights are gathered where ZeRO 3 shards them: over several ranks, or to main memory") {
    made_stage m;
    shard(m, sharding_code::fsdp1);
    CHECK(step_of(m).shards_weights);
    m.cut.data = 1;
    CHECK_FALSE(step_of(m).shards_weights);
    m.asked.offload.parameters = offload_place::host;
    CHECK(step_of(m).shards_weights);
    m.cut.data = 2;
    m.asked.offload.parameters = offload_place::none;
    CHECK(step_of(m).shards_weights);
    m.cut.zero = 2;
    CHECK_FALSE(step_of(m).shards_weights);
}

TEST_CASE("gradients are there before the backward pass where earlier ones are, or a buffer is") {
    made_stage m;
    CHECK_FALSE(step_of(m).accumulates);
    CHECK_FALSE(step_of(m).adds_gradients);
    m.asked.runtime.sharding.keeps_gradients = true;
    CHECK(step_of(m).accumulates);
    CHECK_FALSE(step_of(m).adds_gradients);
    m.asked.runtime.sharding.keeps_gradients = false;
    m.folded.micro_batches = 2;
    CHECK(step_of(m).accumulates);
    CHECK(step_of(m).adds_gradients);
    // A sharded gradient is added to a part, a fused one in the product's kernel, and an adapter's is small.
    m.cut.zero = 2;
    CHECK_FALSE(step_of(m).adds_gradients);
    m.cut.zero = 1;
    CHECK(step_of(m).adds_gradients);
    m.asked.runtime.kernels.linear = linear_code::accumulates;
    CHECK_FALSE(step_of(m).adds_gradients);
    m.asked.runtime.kernels.linear = linear_code::plain;
    m.folded.context.frozen = true;
    CHECK_FALSE(step_of(m).adds_gradients);
    m.folded.context.frozen = false;
    m.folded.micro_batches = 1;
    shard(m, sharding_code::deepspeed);  // one buffer, unless the host has it
    CHECK(step_of(m).accumulates);
    m.asked.offload.optimizer = offload_place::host;
    CHECK_FALSE(step_of(m).accumulates);
}

TEST_CASE("an optimizer steps in the backward pass where it is written so, and where the model is trained") {
    made_stage m;
    CHECK_FALSE(step_of(m).steps_in_backward);
    m.asked.optimizer = lomo;
    CHECK(step_of(m).steps_in_backward);
    m.folded.context.frozen = true;
    CHECK_FALSE(step_of(m).steps_in_backward);
}

TEST_CASE("the head's gradient is the first of the backward pass, with a tied head that of the table") {
    made_stage m;
    CHECK(grows(m, &stage_step::head_gradients) == "output.gradients");
    const byte_count norm = m.stage.weights.output.gradients.kept;
    const byte_count stream = bytes(2) * (made_stage::sequences * made_stage::length * made_stage::hidden);
    CHECK(step_of(m).residual == stream);
    m.folded.split = layout{.tensor = 4};
    CHECK(step_of(m).residual == stream);
    m.folded.split.sequence_parallel = true;  // by tokens
    CHECK(step_of(m).residual == div_up(stream, 4));
    m.folded.split = layout{};
    m.asked.model.tied_head = true;
    const byte_count table = bytes(2) * (made_stage::words * made_stage::hidden);
    CHECK(step_of(m).head_gradients == norm + table);
    m.stage.last = false;
    CHECK(step_of(m).head_gradients == norm);
    // Where gradients leave for the host by the bucket, no more than these.
    m.stage.last = true;
    m.stage.weights.all.gradients.kept = kib(100);
    CHECK(in_buckets(m.folded, m.stage));
    CHECK(step_of(m).head_gradients == kib(100));
    m.stage.weights.all.gradients.kept = norm + table + bytes(1);
    CHECK(step_of(m).head_gradients == norm + table);
}

TEST_CASE("throughout the step there are weights, adapters and the optimizer's states: before the first, what it has") {
    made_stage m;
    const auto of = [&](const std::function<byte_count(const tensor_memory&)>& term) {
        return m.grows_with([&] { return term(step_of(m).held); });
    };
    CHECK(of([](const tensor_memory& t) { return t.weights; }) == "weights");
    CHECK(of([](const tensor_memory& t) { return t.adapter; }) == "adapter");
    CHECK(of([](const tensor_memory& t) { return t.optimizer; }) == "states");
    const auto detail_of = [&](byte_count tensor_details::* detail) {
        return m.grows_with([&] { return step_of(m).details.*detail; });
    };
    CHECK(detail_of(&tensor_details::maybe_more) == "maybe_more");
    CHECK(detail_of(&tensor_details::reduced) == "all.gradient");
    CHECK(detail_of(&tensor_details::gathered) == "all.gathered");
    CHECK(detail_of(&tensor_details::updated) == "updated");
    m.folded.context.frozen = true;  // of adapters that are not sharded ZeRO gathers what it has stepped
    CHECK(detail_of(&tensor_details::gathered) == "all.gradient");
    m.cut.zero = 3;
    CHECK(detail_of(&tensor_details::gathered) == "all.gathered");
    m.cut.zero = 0;
    m.asked.steps = 1;  // moments are made by the first step
    CHECK(of([](const tensor_memory& t) { return t.optimizer; }).empty());
    m.asked.steps = 2;
    CHECK(of([](const tensor_memory& t) { return t.optimizer; }) == "states");
    m.asked.steps = 1;
    m.asked.offload.optimizer = offload_place::host;
    CHECK(of([](const tensor_memory& t) { return t.optimizer; }) == "states");
}

TEST_CASE("a moment that is not a layer's names no kind of layer, and each names its point") {
    made_stage m;
    const auto is = [](const peak_candidate& c, peak_point point, std::int32_t kind = 0) {
        CHECK(c.point == point);
        CHECK(c.kind == kind);
    };
    for (std::size_t k = 0; k < 2; ++k) m.folded.layers.set(k, m.layers[k]);
    const auto kind = static_cast<std::int32_t>(1);
    is(at_optimizer_step(m.in), peak_point::optimizer_step);
    is(at_layer_backward(m.in, peak_point::last_layer_backward, 1), peak_point::last_layer_backward, kind);
    is(at_adapter_recomputation(m.in, peak_point::first_adapter_recomputation, 1),
       peak_point::first_adapter_recomputation, kind);
    is(at_layer_forward(m.in, 1), peak_point::layers_forward, kind);
    is(at_layers_forward(m.in), peak_point::layers_forward);
    is(at_encoder_forward(m.in), peak_point::layers_forward);
    is(at_loss(m.in, peak_point::loss_forward), peak_point::loss_forward);
    is(at_head_backward(m.in), peak_point::head_backward);
    is(at_head_step(m.in), peak_point::head_step);
    is(at_logits_returned(m.in), peak_point::logits_returned);
    is(at_final_norm_backward(m.in), peak_point::final_norm_backward);
    is(at_embedding_gradient(m.in), peak_point::embedding_gradient);
    is(at_encoder_backward(m.in, peak_point::encoder_last_layer_backward), peak_point::encoder_last_layer_backward);
    m.asked.runtime.kernels.loss = {.code = loss_code::chunked, .chunks = 4};
    m.stage.weights.ends.largest = mib(20);
    is(at_head_backward(m.in), peak_point::head_backward);
}

TEST_CASE("DDP's buckets have the gradients a second time where they are no views, of ranks that share none") {
    job j = made_stage::job_of(2);
    j.runtime.sharding.gradient_as_bucket_view = false;
    const auto bucketed = [&](const layout& l) {
        const folded_job f{j, l};
        const training_stage s = training_stage_of(f, placement_of(j, l, 0));
        CHECK(stage_step_of(f, s).details.bucketed == ddp_buckets(f, s));
        return ddp_buckets(f, s) == s.weights.all.gradients.whole && ddp_buckets(f, s) > byte_count{};
    };
    CHECK(bucketed({.data = 2}));
    CHECK(bucketed({.data = 2, .zero = 1}));
    CHECK_FALSE(bucketed({.data = 2, .zero = 2}));
    CHECK_FALSE(bucketed({.data = 2, .zero = 3}));
    CHECK_FALSE(bucketed({}));
    j.runtime.sharding.gradient_as_bucket_view = true;
    CHECK_FALSE(bucketed({.data = 2}));
}

TEST_CASE("states that are paged are so from the second step on, and in the optimizer's step") {
    job j = made_stage::job_of(2);
    j.optimizer = paged_adamw;
    const layout one{};
    const auto paged = [&](std::int32_t steps) {
        j.steps = steps;
        const folded_job f{j, one};
        const training_stage s = training_stage_of(f, placement_of(j, one, 0));
        const stage_step in = stage_step_of(f, s);
        CHECK(s.weights.all.optimizer.paged > byte_count{});
        CHECK(at_optimizer_step(in).tensors.paged == s.weights.all.optimizer.paged);
        return in.held.paged == s.weights.all.optimizer.paged;
    };
    CHECK_FALSE(paged(1));
    CHECK(paged(2));
    CHECK(paged(3));
}
