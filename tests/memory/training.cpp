// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/find_names.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include "../training_jobs.hpp"

using namespace training_jobs;

static_assert(training_memory(full(), layout{}).ideal > gib(100));  // at compile time too

TEST_CASE("terms add up to the whole, ideal to allocated to reserved") {
    job j = full();
    j.runtime = runtimes::megatron;
    const memory_breakdown m = training_memory(j, {});
    CHECK(m.ideal <= m.allocated.expected);
    CHECK(m.allocated.expected <= m.reserved.expected);
    CHECK(m.reserved.expected <= m.total().expected);
}
TEST_CASE("more tokens never take less, and recomputing never more") {
    job j = full();
    byte_count before;
    for (const std::int64_t n : {512, 1024, 4096, 16384}) {
        j.sequence = tokens(n);
        CHECK(peak(j) >= before);
        before = peak(j);
        job again = j;
        again.recompute = recompute::full;
        CHECK(peak(again) <= peak(j));
    }
}
TEST_CASE("each ZeRO stage takes less than the one before") {
    for (std::int32_t stage = 1; stage <= 3; ++stage)
        CHECK(training_state_of(full(), {.data = 8, .zero = stage}).weights +
                  training_state_of(full(), {.data = 8, .zero = stage}).gradients.kept +
                  training_state_of(full(), {.data = 8, .zero = stage}).optimizer.states <
              training_state_of(full(), {.data = 8, .zero = stage - 1}).weights +
                  training_state_of(full(), {.data = 8, .zero = stage - 1}).gradients.kept +
                  training_state_of(full(), {.data = 8, .zero = stage - 1}).optimizer.states);
}
TEST_CASE("full recomputation of every n-th layer: the n-th, 2n-th, ... keep their input, the others all") {
    job j = full();
    const byte_count none = saved_by_layers(j, {});
    j.recompute = recompute::full;
    const byte_count all = saved_by_layers(j, {});
    j.recompute_every = 3;  // 10 of 32
    CHECK(saved_by_layers(j, {}) == div_up(all, 32) * 10 + div_up(none, 32) * 22);
    j.recompute_every = 33;
    CHECK(saved_by_layers(j, {}) == none);
}
TEST_CASE("fp8 products save what they read in 16 bits") {
    job j = full();
    const byte_count in_bf16 = peak(j);
    j.compute = fp8_e4m3;
    CHECK(peak(j) == in_bf16);
    CHECK(saved_activations(j, {}) == saved_activations(full(), {}));
}
TEST_CASE("an optimizer that steps in the backward pass keeps no gradients, and LOMO widens the tensor it steps") {
    job j = full();
    j.optimizer = lomo;
    j.sequence = tokens(128);
    CHECK(training_state_of(j, {}).gradients.kept == byte_count{});
    const byte_count head = size_of(fp32, 128256, 4096);
    CHECK(training_state_of(j, {}).optimizer.largest_step == head * 2);
    CHECK(training_state_of(j, {}).optimizer.states == byte_count{});  // no master weights either
    CHECK(peak(j) > training_state_of(j, {}).weights + head * 2);
    j.global_batch = 2;
    CHECK(refused_field(j, {}, gpus::h100_sxm5_80gb, 1) == "global_batch");
}
TEST_CASE("what is offloaded as it is saved leaves less on the GPU than what passes by layers") {
    job j = full();
    j.optimizer = sgd;
    j.master_weights = bf16;
    j.sequence = tokens(16384);
    const byte_count none = peak(j);
    j.offload.activations = offload_place::host;
    const byte_count by_layers = peak(j);
    j.runtime.kernels.checkpointing.offloads_at_once = true;
    CHECK(by_layers < none);
    CHECK(peak(j) < by_layers);
    CHECK(host_memory(j, {}) == saved_by_layers(j, {}));
}
TEST_CASE("a layout that nobody named is refused as one that somebody did") {
    job j = full();
    j.compute = fp8_e4m3;
    const auto field_on = [&](const gpu& card, std::int32_t gpus) {
        const auto made = plan(j, *standard_cluster(card, gpus));
        return made ? std::string{} : std::string{made.error().field.view()};
    };
    CHECK(field_on(gpus::a100_sxm4_80gb, 8) == "compute");
    CHECK(field_on(gpus::h100_sxm5_80gb, 8).empty());
    j.compute = nvfp4;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "compute");
    j.compute = int8;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "compute");
    j = full();
    j.weights = fp8_e4m3;
    CHECK(field_on(gpus::h100_sxm5_80gb, 8) == "optimizer");
}
TEST_CASE("Mamba 2 is trained, and its scan takes whole chunks") {
    job j = full();
    j.model.layers = {
        2,
        {.attention = no_attention,
         .recurrent =
             {.kind = recurrent_kind::mamba2, .heads = 64, .head_dim = 64, .key_heads = 1, .state = 128, .kernel = 4},
         .feed_forward = no_feed_forward,
         .norm_before_feed_forward = false}};
    j.sequence = tokens(1);
    const byte_count one = saved_activations(j, {});
    j.sequence = tokens(256);
    CHECK(saved_activations(j, {}) > one);
    CHECK(saved_activations(j, {}) < one * 4);  // most of it is the chunk's, pair by pair
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1).empty());
}
TEST_CASE("in the first step the optimizer's states come after the backward pass") {
    job j = full();
    j.runtime = runtimes::megatron;
    job first = j;
    first.steps = 1;
    // 2 of weights, 4 of gradients, 4 of master weights; 8 of states where they are needed.
    const byte_count states = bytes(8) * count_parameters(j.model).in(parameters);
    const byte_count activations = training_memory(j, {})[memory_term::activations].expected +
                                   training_memory(j, {})[memory_term::logits].expected;
    REQUIRE(activations < states);
    const memory_breakdown m = training_memory(first, {});
    CHECK(m.phase == phase::optimizer);
    CHECK(m[memory_term::optimizer].expected == training_state_of(j, {}).optimizer.states);
    CHECK(m.ideal < training_memory(j, {}).ideal);
    first.sequence = tokens(32768);  // activations beside no states
    CHECK(training_memory(first, {})[memory_term::optimizer].expected ==
          training_state_of(j, {}).optimizer.states - states);
}
TEST_CASE("linear layers in 8 bits keep 8-bit inputs, and 8-bit copies of their weights") {
    job j = full();
    j.runtime = runtimes::megatron;
    job narrow = j;
    narrow.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    parameter_count matrices;
    for_each_weight(j.model.layers[0], j.model.hidden,
                    [&](const weight& w) { matrices += w.rows > 1 && w.columns > 1 ? w.count() : parameter_count{}; });
    const byte_count copies = bytes(2) * 32 * matrices.in(parameters);  // as they are, and transposed
    CHECK(training_state_of(narrow, {}).weights == training_state_of(j, {}).weights + copies);
    // Inputs of four products, of which attention keeps what the second reads as well.
    const std::int64_t n = 4096;
    const std::int64_t h = j.model.hidden;
    const std::int64_t inner = j.model.layers[0].feed_forward.width;
    job flash = j;
    flash.attention = narrow.attention = attention_kernel::flash;
    const byte_count fewer = saved_activations(flash, {}) - saved_activations(narrow, {});
    CHECK(fewer == bytes(32) * n * (h + h + inner - h));
    narrow.runtime.kernels.fp8.param_gather = true;
    CHECK(training_state_of(narrow, {}).weights == training_state_of(j, {}).weights);
    // A scale of four bytes a block of 128, or of one a block of 32.
    for (const fp8_recipe r : {fp8_recipe::blockwise, fp8_recipe::microscaled}) {
        narrow.runtime.kernels = {.norm = j.runtime.kernels.norm, .fp8{.recipe = r}};
        narrow.runtime.kernels.casts_weights = false;
        CHECK(training_state_of(narrow, {}).weights == training_state_of(j, {}).weights + copies + div_up(copies, 32));
    }
    CHECK(refused_field(narrow, {}, gpus::a100_sxm4_80gb, 1) == "runtime.fp8_recipe");
    CHECK(refused_field(narrow, {}, gpus::h100_sxm5_80gb, 1).empty());
}
TEST_CASE("what cannot run is refused by name") {
    job j = full();
    j.weights = nf4;
    for (const optimizer& o : optimizers) {
        j.optimizer = o;
        CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "optimizer");
    }
    const error packed = validate(j).error();
    CHECK(packed.value == j.optimizer.name.view());
    CHECK(packed.expected == "an adapter to train beside weights of nf4, or plain weights");
    j = full();
    j.global_batch = 7;
    CHECK(refused_field(j, {.data = 2}, gpus::a100_sxm4_80gb, 2) == "global_batch");
    j = full();
    j.runtime = runtimes::deepspeed;
    CHECK(refused_field(j, {.pipeline = 2, .data = 2, .zero = 3}, gpus::a100_sxm4_80gb, 4) == "layout.zero");
    j = full();
    j.compute = fp8_e4m3;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "compute");
    j = full();
    j.weights = j.compute = fp16;
    j.attention = attention_kernel::flash;
    const job_plan old = *plan(j, {.data = 8, .zero = 3}, *standard_cluster(gpus::v100_sxm2_32gb, 8));
    CHECK(old.verdict == verdict::does_not_fit);
    CHECK(name_of(old.reasons[static_cast<std::size_t>(old.reason_count - 1)].code) == "flash_attention_unsupported");
    j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::in_proj}};
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb, 1) == "adapter.targets");
}
TEST_CASE("a paged optimizer's states are evicted where the GPU lacks memory: neither a sure fit nor a sure failure") {
    job j{.model = models::llama_3_2_3b, .task = task::finetuning, .sequence = tokens(2048)};
    j.optimizer = paged_adamw;
    j.recompute = recompute::full;
    j.runtime = runtimes::huggingface;
    CHECK(optimizer_states_of(j) == fp32);  // bitsandbytes, whatever format the weights have
    cluster c = *standard_cluster(gpus::rtx_4090, 1);
    c.host.memory = gib(64);
    const job_plan p = *plan(j, {}, c);
    CHECK(p.verdict == verdict::tight);
    CHECK(p.memory.total().expected <= p.usable);
    CHECK(p.memory.total().high > p.usable);
    CHECK(p.reasons[0].code == reason_code::states_evicted);
    CHECK(p.host_memory.expected > gib(14));  // 3.2e9 values of 8 bytes are 24 GiB, of which 8 have room
    CHECK(p.host_memory.expected < gib(18));
    CHECK(p.memory.allocated.high < gib(17));  // weights, gradients: PyTorch does not know of managed memory
    c.host.memory = gib(8);
    CHECK(plan(j, {}, c)->verdict == verdict::does_not_fit);
    c.host.memory = {};
    CHECK(plan(j, {}, c)->verdict == verdict::tight);
    // What has room stays where it is.
    c = *standard_cluster(gpus::h100_sxm5_80gb, 1);
    CHECK(plan(j, {}, c)->verdict == verdict::fits);
    CHECK(plan(j, {}, c)->host_memory.high == byte_count{});
    CHECK(plan(j, {}, c)->memory.total().low > gib(36));
    // Weights and gradients cannot be evicted.
    j.model = models::llama_3_1_8b;
    CHECK(plan(j, {}, *standard_cluster(gpus::rtx_4090, 1))->verdict == verdict::does_not_fit);
    // Where GPU and host share their memory, there is nowhere to evict to.
    j.model = models::llama_3_2_3b;
    const gpu shared = with_memory(gpus::gb10_dgx_spark, gib(24));
    CHECK(plan(j, {}, *standard_cluster(shared, 1))->verdict == verdict::does_not_fit);
}
TEST_CASE("main memory is a resource that may not suffice either") {
    job j = full();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.offload = {.optimizer = offload_place::host, .parameters = offload_place::host};
    const layout l{.data = 2, .zero = 3};
    cluster c = *standard_cluster(gpus::h100_sxm5_80gb, 2);
    const byte_count all = bytes(16) * count_parameters(j.model).in(parameters);
    const auto verdict_with = [&](byte_count memory) {
        c.host.memory = memory;
        return plan(j, l, c)->verdict;
    };
    CHECK(verdict_with(byte_count{}) == verdict::tight);  // not known: host_memory_unknown
    CHECK(verdict_with(all + mib(1)) == verdict::fits);
    CHECK(verdict_with(all - mib(1)) == verdict::does_not_fit);
    const job_plan p = *plan(j, l, c);
    CHECK(p.reasons[0].code == reason_code::host_memory_exceeded);
    CHECK(p.reasons[0].available == c.host.memory);
    j.offload.pinned = true;
    CHECK(verdict_with(all + mib(1)) == verdict::tight);
    CHECK(verdict_with(all * 2 + mib(1)) == verdict::fits);
    // What goes to disks is not in main memory; saved activations are.
    j.offload = {.optimizer = offload_place::nvme, .parameters = offload_place::nvme};
    CHECK(host_memory(j, l) == byte_count{});
    j.offload.activations = offload_place::host;
    CHECK(host_memory(j, l) == saved_by_layers(j, l));
    CHECK(saved_by_layers(j, l) < saved_activations(j, l));
}
TEST_CASE("layers that are recomputed whole save none of the parts that are offloaded by name") {
    job j = full();
    j.runtime = runtimes::megatron;
    j.offload.modules = {layer_part::core_attn, layer_part::attn_proj};
    CHECK(host_memory(j, {}) > byte_count{});
    j.recompute = recompute::full;
    CHECK(host_memory(j, {}) == byte_count{});
}
TEST_CASE("every n-th layer of the model is recomputed, whichever stage has it") {
    job j = full();
    j.recompute = recompute::full;
    j.recompute_every = 3;
    const byte_count all = saved_by_layers(j, {});
    for (const layout& l : {layout{.pipeline = 2}, layout{.pipeline = 2, .virtual_pipeline = 4},
                            layout{.pipeline = 2, .virtual_pipeline = 2, .stages = read_stages("5|12|8|7").value()}}) {
        byte_count sum;
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) sum += saved_by_layers(j, l, stage);
        CHECK(sum == all);
    }
}
TEST_CASE("a copy of the embedding on the last stage steps without the first stage's temporaries") {
    job j = full();
    j.model.tied_head = true;
    j.optimizer = adafactor;
    const layout two{.pipeline = 2};
    const byte_count first = training_state_of(j, two, 0).optimizer.largest_step;
    const byte_count last = training_memory(j, two, 1)[memory_term::optimizer_scratch].expected;
    CHECK(training_state_of(j, two, 1).optimizer.largest_step <= first);
    CHECK(last <= first);
}

namespace {

/// Compares the busiest stage of a layout, and the fullest node's main memory, with those of all stages one by one.
void check_every_stage(const job& j, const layout& l) {
    byte_count busiest, fullest;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        busiest = (std::max)(busiest, training_memory(j, l, stage).total().expected);
        fullest = (std::max)(fullest, host_memory(j, l, stage) * 8);
    }
    CAPTURE(name_of(l.schedule));
    CAPTURE(j.recompute_every);
    CAPTURE(j.global_batch);
    CHECK(training_memory(j, l).total().expected == busiest);
    CHECK(host_memory_of_node(j, l, 8).expected == fullest);
}

}  // namespace

TEST_CASE("no stage that is passed over holds more than the busiest") {
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .micro_batch = 1,
          .runtime = runtimes::megatron};
    layout l{.pipeline = 8};
    for (const auto schedule :
         {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe, pipeline_schedule::zb_h1})
        for (const recompute how : {recompute::none, recompute::full})
            for (const std::int32_t every : {1, 2, 3})
                for (const std::int64_t rounds : {2, 64})
                    for (const offload_place place : {offload_place::none, offload_place::host}) {
                        if (how == recompute::none && every > 1) continue;
                        l.schedule = schedule;
                        j.recompute = how;
                        j.recompute_every = every;
                        j.global_batch = rounds;
                        j.offload.activations = place;
                        check_every_stage(j, l);
                    }
}

TEST_CASE("a step waits for the stage that exchanges or updates most, whichever holds most") {
    job j = full();
    j.task = task::pretraining;
    j.runtime = runtimes::megatron;
    j.global_batch = 64;
    const layout l{.pipeline = 3, .data = 2, .zero = 1};
    const memory_breakdown all = training_memory(j, l);
    byte_count reduced, gathered, updated;
    for (std::int32_t stage = 0; stage < 3; ++stage) {
        const memory_breakdown one = training_memory(j, l, stage);
        reduced = std::max(reduced, one.reduced);
        gathered = std::max(gathered, one.gathered);
        updated = std::max(updated, one.updated);
        CHECK(all.total().expected >= one.total().expected);
    }
    CHECK(all.reduced == reduced);
    CHECK(all.gathered == gathered);
    CHECK(all.updated == updated);
    CHECK(training_memory(j, l, 1).updated < updated);  // it has neither embedding nor head
}

TEST_CASE("DeepSpeed's ZeRO 3 may have gathered the largest tensor ahead, of several ranks alone") {
    job j = full();
    j.task = task::pretraining;
    j.runtime = runtimes::deepspeed;
    j.runtime.accuracy = {};
    j.runtime.process.communicator = {};
    j.runtime.sharding.deepspeed.bucket_size_known = true;
    const auto more = [&](const layout& l) {
        const interval<byte_count> sent = training_memory(j, l)[memory_term::communication];
        return sent.high - sent.expected;
    };
    // A layer's largest matrix and its parts, in 16 bits.
    CHECK(more({.data = 8, .zero = 3}) == bytes(2) * (4096 * 14336) * 2);
    CHECK(more({.data = 1, .zero = 3}) == byte_count{});
    CHECK(more({.data = 8, .zero = 2}) == byte_count{});
    const memory_breakdown m = training_memory(j, {.data = 8, .zero = 3});
    j.runtime.sharding.code = sharding_code::fsdp2;
    CHECK(more({.data = 8, .zero = 3}) == byte_count{});
    CHECK(m.allocated.high - m.allocated.expected >= bytes(2) * (4096 * 14336) * 2);
    CHECK(m.reserved.high - m.allocated.high >= m.reserved.expected - m.allocated.expected);
}

TEST_CASE("no bound by which a search leaves layouts out holds where an estimate may end below what is counted") {
    runtime r;
    CHECK(detail::estimates_no_less(r));
    r.accuracy.activations.high = 0.99;
    CHECK_FALSE(detail::estimates_no_less(r));
    r.accuracy = {};
    r.accuracy.undescribed.high = 0.99;
    CHECK_FALSE(detail::estimates_no_less(r));
    r.accuracy = {};
    r.accuracy.logits.high = 0.99;
    CHECK_FALSE(detail::estimates_no_less(r));
    r.accuracy.logits.high = 1.0;
    CHECK(detail::estimates_no_less(r));
}

TEST_CASE("weights and states alone exceed what is less, and the first stage's last layer what leaves it no room") {
    job j = full();
    j.task = task::pretraining;
    const layout l{};
    const detail::folded_job f{j, l};
    const training_state held = training_state_of(j, l);
    const byte_count kept = held.weights + held.optimizer.states;
    CHECK(detail::first_stage_exceeds(f, kept - bytes(1)));
    CHECK(detail::first_stage_exceeds(f, kept));  // there are activations, too
    CHECK_FALSE(detail::first_stage_exceeds(f, training_memory(j, l).ideal));
    j.steps = 1;  // before there are states
    CHECK_FALSE(detail::first_stage_exceeds(detail::folded_job{j, l}, kept - bytes(1)));
    CHECK_FALSE(detail::first_stage_exceeds(detail::folded_job{j, l}, kept * 2));
    CHECK(detail::first_stage_exceeds(detail::folded_job{j, l}, held.weights - bytes(1)));
}

TEST_CASE("a node's main memory has the parts of its own GPUs, and of a layout no more than it has") {
    job j = full();
    j.task = task::pretraining;
    j.offload.optimizer = offload_place::host;
    const layout l{.data = 4, .zero = 2};
    const byte_count one = host_memory(j, l);
    CHECK(one > byte_count{});
    CHECK(host_memory_of_node(j, l, 2).expected == one * 2);
    CHECK(host_memory_of_node(j, l, 8).expected == one * 4);
}

TEST_CASE("a frozen model's layers save less before the first adapters, which is taken off once") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::down_proj}};
    const layout l{};
    const detail::folded_job f{j, l};
    const byte_count cut = detail::cut_off(j, l, f.context, f.layers[0].kept);
    CHECK(cut > byte_count{});
    CHECK(saved_by_layers(j, l) == f.layers[0].kept * 32 - cut);
    const layout two{.pipeline = 2};
    CHECK(saved_by_layers(j, two, 1) == f.layers[0].kept * 16);
    // Of layers without adapters each saves as little: there are no more of them than the model has.
    j.adapter.targets = {weight_role::lm_head};
    const auto of_layers = [&](std::int32_t layers) {
        job of = j;
        of.model.layers = {layers, j.model.layers.kinds[0]};
        return detail::cut_off(of, l, training_context{of, l}, f.layers[0].kept);
    };
    CHECK(of_layers(2) > byte_count{});
    CHECK(of_layers(4) == of_layers(2) * 2);
}

TEST_CASE("a stage that holds chunks of one kind of layer is that of a model of that kind alone") {
    job j = small(runtimes::megatron, 8);
    layer wide = j.model.layers.kinds[0];
    wide.feed_forward.width *= 3;
    j.global_batch = 8;
    const layout l{.pipeline = 2, .virtual_pipeline = 2, .stages = read_stages("2|2|2|2").value()};
    REQUIRE_FALSE(l.deals_evenly());
    const memory_breakdown alone = training_memory(j, l, 0);
    j.model.layers = {2, j.model.layers.kinds[0]};
    j.model.layers.then(2, wide).then(2, j.model.layers.kinds[0]).then(2, wide);
    CHECK(training_memory(j, l, 0).total() == alone.total());
    CHECK(training_memory(j, l, 0).ideal == alone.ideal);
    CHECK(training_memory(j, l, 1).ideal > alone.ideal);
    // Nor does what the second stage's layers would take decide that the first one exceeds.
    j.model.layers = {4, j.model.layers.kinds[0]};
    j.model.layers.then(4, wide);
    const layout two{.pipeline = 2};
    CHECK_FALSE(detail::first_stage_exceeds(detail::folded_job{j, two}, training_memory(j, two, 0).ideal));
}

TEST_CASE("the memory of a job on a card is that of all its stages, the first among them") {
    const job j = full();
    CHECK(training_memory(j, {}, gpus::a100_sxm4_80gb).total() == training_memory(j, {}).total());
    const layout four{.pipeline = 4};
    CHECK(training_memory(j, four, gpus::a100_sxm4_80gb).stage == training_memory(j, four).stage);
    CHECK(training_memory(j, four, gpus::a100_sxm4_80gb).total() == training_memory(j, four).total());
}

TEST_CASE("a naive pipeline that recomputes every second layer keeps what the others save") {
    job j = full();
    j.runtime = runtimes::huggingface;
    j.recompute = recompute::full;
    const layout two{.pipeline = 2};
    REQUIRE(detail::is_naive_pipeline(j, two));
    const auto kept = [&](std::int32_t every) {
        j.recompute_every = every;
        const detail::folded_job f{j, two, j.model.layers};
        return saved_by_layers(f, placement_of(j, two, 0)).all;
    };
    // Every n-th layer alone is recomputed: of two eight-layer halves one saves all, then three quarters do.
    CHECK(kept(2) > kept(1) * 4);
    CHECK(kept(4) > kept(2));
}

TEST_CASE("where weights are trained in fp32 under sharding, each question is answered of that job") {
    job j = full();
    j.weights = {};
    j.runtime = runtimes::huggingface;
    j.runtime.sharding.upcasts = true;
    j.compute = bf16;
    const layout l{.data = 4, .zero = 3};
    REQUIRE(upcasts(j, l));
    const job wide = upcast(j);
    REQUIRE_FALSE(upcasts(wide, l));
    CHECK(training_state_of(j, l).weights == training_state_of(wide, l).weights);
    CHECK(training_state_of(j, l).optimizer.states == training_state_of(wide, l).optimizer.states);
    CHECK(saved_activations(j, l) == saved_activations(wide, l));
    CHECK(saved_by_layers(j, l) == saved_by_layers(wide, l));
    CHECK(training_passes_of(j, l, sdpa_backend::flash).step == training_passes_of(wide, l, sdpa_backend::flash).step);
    job narrow = j;
    narrow.runtime.sharding.upcasts = false;
    CHECK(training_state_of(j, l).weights > training_state_of(narrow, l).weights);
    j.offload.optimizer = offload_place::host;
    const job offloaded = upcast(j);
    CHECK(host_memory(j, l) == host_memory(offloaded, l));
    CHECK(host_memory_of_node(j, l, 4).expected == host_memory_of_node(offloaded, l, 4).expected);
    narrow.offload = j.offload;
    CHECK(host_memory(j, l) != host_memory(narrow, l));
}

TEST_CASE("what ranks exchange is that of the stage that exchanges most, whichever holds most") {
    job j = full();
    j.runtime = runtimes::pytorch;
    j.global_batch = 16;
    const layout l{.pipeline = 4, .data = 2};
    const memory_breakdown all = training_memory(j, l);
    byte_count reduced, gathered, updated;
    for (std::int32_t stage = 0; stage < 4; ++stage) {
        const memory_breakdown one = training_memory(j, l, stage);
        reduced = std::max(reduced, one.reduced);
        gathered = std::max(gathered, one.gathered);
        updated = std::max(updated, one.updated);
    }
    CHECK(all.reduced == reduced);
    CHECK(all.gathered == gathered);
    CHECK(all.updated == updated);
    CHECK(reduced > byte_count{});
    CHECK(updated > byte_count{});
}

namespace {

/// Two kinds of layers on two stages, the second kind twice as wide.
job of_two_kinds() {
    job j = small(runtimes::huggingface, 0);
    const layer plain{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 160}};
    layer wider = plain;
    wider.feed_forward.width = 640;
    j.model.layers = layer_stack{}.then(3, plain).then(1, wider);
    return j;
}

}  // namespace

TEST_CASE("the first stage surely exceeds what its last layer's backward pass holds, and no more") {
    const job j = of_two_kinds();
    const layout one{};
    const detail::folded_job f{j, one};
    const detail::training_stage s = detail::training_stage_of(f, placement_of(j, one, 0));
    const byte_count held =
        detail::at_layer_backward(detail::stage_step_of(f, s), detail::peak_point::last_layer_backward, 1)
            .tensors.all();
    const byte_count states = s.weights.all.weights + s.weights.all.optimizer.states;
    REQUIRE(held > states);
    CHECK(detail::first_stage_exceeds(f, held - bytes(1)));
    CHECK_FALSE(detail::first_stage_exceeds(f, held));
    CHECK(detail::first_stage_exceeds(f, states - bytes(1)));
    CHECK(detail::first_stage_exceeds(f, byte_count{}));
}

TEST_CASE("the fullest moment of each pass is that of the stage where it is the fullest") {
    job j = of_two_kinds();
    j.preference = preference_method::dpo;
    j.global_batch = 4;
    for (const layout& l : {layout{}, layout{.pipeline = 2}, layout{.pipeline = 4}}) {
        training_passes most;
        const detail::folded_job f{j, l, j.model.layers, sdpa_backend::flash, detail::forward_moments::all};
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
            const training_passes one = detail::passes_of(f, detail::training_stage_of(f, placement_of(j, l, stage)));
            most.forward = std::max(most.forward, one.forward);
            most.loss = std::max(most.loss, one.loss);
            most.backward = std::max(most.backward, one.backward);
            most.step = std::max(most.step, one.step);
            most.reference = std::max(most.reference, one.reference);
        }
        const training_passes all = training_passes_of(j, l, sdpa_backend::flash);
        CHECK(all.forward == most.forward);
        CHECK(all.loss == most.loss);
        CHECK(all.backward == most.backward);
        CHECK(all.step == most.step);
        CHECK(all.reference == most.reference);
        CHECK(all.reference > byte_count{});
        CHECK(all.loss > byte_count{});
    }
}

TEST_CASE("main memory holds a reference that is offloaded there, and what layers save, of each micro-batch") {
    job j = of_two_kinds();
    const layout one{};
    CHECK(host_memory(j, one) == byte_count{});
    j.preference = preference_method::dpo;
    CHECK(host_memory(j, one) == byte_count{});
    j.reference = reference_model::offloaded;
    const byte_count weights = training_state_of(j, one).weights;
    CHECK(host_memory(j, one) == weights);
    job moved = of_two_kinds();
    const byte_count saved = saved_by_layers(moved, one);
    moved.offload.activations = offload_place::host;
    CHECK(saved > byte_count{});
    CHECK(host_memory(moved, one) == saved_by_layers(moved, one));
    // On the first of four stages four micro-batches are in flight, unless stages work one at a time.
    moved.global_batch = 8;
    const layout four{.pipeline = 4};
    CHECK(host_memory(moved, four, 0) == saved_by_layers(moved, four, 0));
    moved.runtime.pipeline.naive = false;
    CHECK(host_memory(moved, four, 0) == saved_by_layers(moved, four, 0) * 4);
    CHECK(host_memory(moved, four, 3) == saved_by_layers(moved, four, 3));
}

TEST_CASE("what a last stage saves: its layers, what stands before them, the final norm, and what the loss keeps") {
    const job j = of_two_kinds();
    for (const layout& l : {layout{}, layout{.pipeline = 2}})
        for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
            const detail::folded_job f{j, l};
            const detail::training_stage s = detail::training_stage_of(f, placement_of(j, l, stage));
            const detail::loss_memory& loss = f.ends.loss;
            CHECK(loss.kept > byte_count{});
            byte_count all = saved_by_layers(j, l, stage) + detail::saved_before_layers(f, s.holds, s.encoder);
            if (stage + 1 == l.pipeline) all += loss.saved + loss.kept + f.ends.after_layers;
            CHECK(saved_activations(j, l, stage) == all);
        }
    job ahead = of_two_kinds();
    ahead.runtime = runtimes::megatron;
    const byte_count without = saved_activations(ahead, {});
    ahead.model.prediction = {.layers = 1, .block = ahead.model.layers.kinds[0]};
    ahead.mtp_layers = 1;
    const layout one{};
    const detail::folded_job f{ahead, one};
    const detail::training_stage s = detail::training_stage_of(f, placement_of(ahead, one, 0));
    CHECK(saved_activations(ahead, {}) == without + s.weights.prediction.kept + s.weights.prediction.logits);
}
