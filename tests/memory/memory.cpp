// SPDX-License-Identifier: MIT
#include <llmres/memory/memory.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/gpus/other.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/memory/tensor_events.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <vector>

#include "../kinds_of_layers.hpp"

using namespace llmres;

namespace {

job chat(const runtime& r) { return {.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = r}; }

}  // namespace

TEST_CASE("an engine takes larger steps on devices of 70 GiB and more, but for the A100") {
    CHECK(on_device(runtimes::vllm_v1_9, gpus::h100_sxm5_80gb, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.larger_devices[0].max_batched_tokens);
    CHECK(on_device(runtimes::vllm_v1_9, gpus::a100_sxm4_80gb, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.max_batched_tokens);
    CHECK(on_device(runtimes::vllm_v1_9, gpus::rtx_4090, layout{}).step.max_batched_tokens ==
          runtimes::vllm_v1_9.step.max_batched_tokens);
    runtime said = runtimes::vllm_v1_9;
    set_batched_tokens(said.step, tokens(512));
    CHECK(on_device(said, gpus::h100_sxm5_80gb, layout{}).step.max_batched_tokens == tokens(512));
}

TEST_CASE("a context that was measured is the least that an engine's takes") {
    gpu card = gpus::h100_sxm5_80gb;
    CHECK(context_on(runtimes::vllm_v1_9, card) == runtimes::vllm_v1_9.process.context);
    card.measured.context = gib(1);
    const interval<byte_count> context = context_on(runtimes::vllm_v1_9, card);
    CHECK(context.low == gib(1));
    CHECK(context.high ==
          (runtimes::vllm_v1_9.process.context.high > gib(1) ? runtimes::vllm_v1_9.process.context.high : gib(1)));
    CHECK(context_on(no_runtime, card) == no_runtime.process.context);
    const job trained{.model = models::llama_3_2_1b,
                      .task = task::pretraining,
                      .sequence = tokens(512),
                      .runtime = runtimes::pytorch};
    CHECK(memory_of(trained, layout{}, {.gpu = card})[memory_term::runtime].low >= gib(1));
}

TEST_CASE("an engine with a fraction of the device may use that and its context, another all that is free") {
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    const byte_count all = available_memory(one);
    CHECK(usable_memory(chat(runtimes::llama_cpp), one) == all);
    job j = chat(runtimes::vllm_v1_9);
    j.runtime.cache.fraction = 0.5;
    const byte_count half = usable_memory(j, one);
    CHECK(half < all);
    CHECK(half >= scaled_down(usable_memory(one.gpu), 0.5));
    j.runtime.cache.fraction = 1.0;
    j.runtime.cache.refuses_less = false;
    CHECK(usable_memory(j, one) == all);
    j.runtime.cache.refuses_less = true;  // its own context is in the way
    CHECK(usable_memory(j, one) == byte_count{});
}

TEST_CASE("an engine that insists on its fraction uses nothing where others hold a part of it") {
    cluster shared{.gpu = gpus::h100_sxm5_80gb};
    job j = chat(runtimes::vllm_v1_9);
    j.runtime.cache.refuses_less = true;
    CHECK(usable_memory(j, shared) > byte_count{});
    CHECK(memory_fits(j, layout{}, shared));
    shared.in_use = gib(20);
    CHECK(usable_memory(j, shared) == byte_count{});
    CHECK_FALSE(memory_fits(j, layout{}, shared));
    j.runtime.cache.fraction = 0.5;
    CHECK(memory_fits(j, layout{}, shared));
    CHECK_FALSE(start_refused(j, shared));
}

TEST_CASE("a start is refused where less is free than the fraction of the whole, beside the engine's context") {
    cluster shared{.gpu = gpus::h100_sxm5_80gb};
    job j = chat(runtimes::vllm_v1_9);
    j.runtime.cache.refuses_less = true;
    j.runtime.cache.fraction = 0.75;
    const byte_count asked = scaled_down(usable_memory(shared.gpu), 0.75);
    const byte_count context = context_on(j.runtime, shared.gpu).expected;
    shared.in_use = usable_memory(shared.gpu) - asked - context;
    CHECK_FALSE(start_refused(j, shared));
    shared.in_use += bytes(1);
    const maybe<refused_start> refused = start_refused(j, shared);
    REQUIRE(refused);
    CHECK(refused->asked == asked);
    CHECK(refused->free == asked - bytes(1));
    shared.in_use = usable_memory(shared.gpu);
    CHECK(start_refused(j, shared)->free == byte_count{});
    job other = j;
    other.runtime.cache.refuses_less = false;
    CHECK_FALSE(start_refused(other, shared));
    other = j;
    other.runtime.cache.fraction = {};
    CHECK_FALSE(start_refused(other, shared));
    other = j;
    other.runtime.cache.pool = cache_pool::share_of_free;
    CHECK_FALSE(start_refused(other, shared));
}

TEST_CASE("the fraction is the named one, else the one that the engine chooses on the device") {
    job j = chat(runtimes::sglang);
    j.runtime.cache.default_fraction = nullptr;
    const auto fraction_of = [&](byte_count size, const layout& l = {}) {
        return on_device(j, with_memory(gpus::rtx_2080_ti_11gb, size), l).cache.fraction;
    };
    CHECK_FALSE(fraction_of(gib(80)));
    j.runtime.cache.default_fraction = [](const start_facts& f) {
        return start_choices{.fraction = f.device > gib(40) ? 0.9 : f.device > gib(2) ? 0.8 / f.tensor : -0.5};
    };
    CHECK(fraction_of(gib(80)) == maybe<double>{0.9});
    CHECK(fraction_of(gib(24), {.tensor = 2}) == maybe<double>{0.4});
    CHECK(fraction_of(gib(1)) == maybe<double>{0.0});
    j.runtime.cache.fraction = 0.5;
    CHECK(fraction_of(gib(80)) == maybe<double>{0.5});
}

TEST_CASE("an engine whose own fraction of a small device is nothing does not start there") {
    // server_args.py: what SGLang leaves free is more than the device has.
    for (const byte_count size : {mib(256), gib(1), gib(2)}) {
        CAPTURE(size.in(bytes));
        cluster small{.gpu = gpus::h100_sxm5_80gb};
        small.gpu.memory.cuda_visible = size;
        small.gpu.memory.reported = {};
        for (const runtime& r : {runtimes::sglang, runtimes::sglang_0_5_2}) {
            job j = chat(r);
            j.model = models::llama_3_2_1b;
            j.model.layers = j.model.layers.first(1);
            j.context = tokens(16);
            j.runtime = on_device(j, small.gpu, layout{});
            REQUIRE(j.runtime.cache.fraction);
            CHECK(*j.runtime.cache.fraction == 0.0);
            CHECK(usable_memory(j, small) == byte_count{});
            CHECK_FALSE(memory_fits(j, layout{}, small));
            CHECK(memory_of(j, layout{}, small).total().high < gib(1024));
        }
    }
}

TEST_CASE("defaults that follow the device: cuBLAS's workspace, samplers' rows, fused all-reduce, MXFP4's kernels") {
    const auto card_of = [](int major, int minor = 0) {
        gpu card = gpus::h100_sxm5_80gb;
        card.capability = {major, minor};
        card.sm_count = 132;
        return card;
    };
    const auto on = [](const runtime& r, const gpu& card) { return on_device(r, card, layout{}); };
    runtime r{};
    CHECK(on(r, card_of(9)).process.product_workspace == byte_count{});
    CHECK(on(r, card_of(9)).step.logits.filter_rows == 0);
    r.process.product_workspace = mib(8);
    CHECK(on(r, card_of(8, 9)).process.product_workspace == mib(8));
    CHECK(on(r, card_of(9)).process.product_workspace == mib(32));  // cublasCreate() on Hopper, and on what came later
    CHECK(on(r, card_of(12)).process.product_workspace == mib(32));
    r.step.logits.filter_rows = 1;
    CHECK(on(r, card_of(9)).step.logits.filter_rows == 132);
    gpu unknown = card_of(9);
    unknown.sm_count = {};
    CHECK(on(r, unknown).step.logits.filter_rows == 1);
    r.process.fused_all_reduce = mib(64);
    CHECK(on(r, card_of(8)).process.fused_all_reduce == byte_count{});
    CHECK(on(r, card_of(9)).process.fused_all_reduce == mib(64));
    CHECK(on(r, card_of(10)).process.fused_all_reduce == mib(64));
    CHECK(on(r, card_of(11)).process.fused_all_reduce == byte_count{});
    r.loading.mxfp4.scales_again = true;
    CHECK(on(r, card_of(8)).loading.mxfp4.scales_again);  // of weights that are not padded nothing follows
    r.loading.mxfp4.padded = true;
    CHECK_FALSE(on(r, card_of(8)).loading.mxfp4.scales_again);
    CHECK(on(r, card_of(9)).loading.mxfp4.scales_again);
    CHECK_FALSE(on(r, card_of(10)).loading.mxfp4.scales_again);
    gpu measured = card_of(9);
    measured.measured.context = gib(9);
    r.process.context = mib(300);
    CHECK(on(r, card_of(9)).process.context == mib(300));
    CHECK(on(r, measured).process.context == gib(9));
}

TEST_CASE("a pool that the caller sized is allocated whatever the fraction; graphs count into it in some versions") {
    job j = chat({});
    const cluster c{.gpu = gpus::h100_sxm5_80gb};
    const byte_count free = usable_memory(j, c), device = usable_memory(c.gpu);
    j.runtime.cache.pool = cache_pool::share_of_total;
    CHECK(usable_memory(j, c) == free);  // no fraction is known
    j.runtime.cache.fraction = 0.5;
    j.runtime.process.context = mib(500);
    j.runtime.process.cuda_graphs = mib(700);
    const byte_count half = scaled_down(device, 0.5);
    CHECK(usable_memory(j, c) == half + mib(500 + 700));
    j.runtime.cache.graphs_deducted = true;
    CHECK(usable_memory(j, c) == half + mib(500));
    j.options.cache_bytes = bytes(1);
    CHECK(usable_memory(j, c) == free);
    j.options.cache_bytes = {};
    j.options.cache_blocks = 1;
    CHECK(usable_memory(j, c) == free);
    j.options.cache_blocks = 0;
    j.runtime.cache.fraction = 1.0;
    CHECK(usable_memory(j, c) == free);  // there is no more
    j.runtime.cache.pool = cache_pool::grows;
    j.runtime.cache.fraction = 0.5;
    CHECK(usable_memory(j, c) == free);
}

TEST_CASE("a job fits to the byte") {
    const job j = chat({});
    cluster c{.gpu = gpus::h100_sxm5_80gb};
    const byte_count all = available_memory(c), taken = memory_of(j, {}, c).total().high;
    c.in_use = all - taken;
    CHECK(memory_fits(j, {}, c));
    c.in_use = all - taken + bytes(1);
    CHECK_FALSE(memory_fits(j, {}, c));
}

TEST_CASE("where host and GPU share their memory, the host's own processes may take a fifth of it, but on Apple's") {
    runtime r{};
    r.process.context = mib(300);
    r.process.workspace = mib(1);
    const auto workspace = [&](const gpu& card) { return on_device(r, card, layout{}).process.workspace; };
    const gpu& spark = gpus::gb10_dgx_spark;
    const byte_count device = usable_memory(spark);
    CHECK(workspace(spark) ==
          interval<byte_count>{mib(1), mib(1) + scaled_up(device, 0.03), mib(1) + scaled_up(device, 0.20)});
    CHECK(workspace(gpus::h100_sxm5_80gb) == mib(1));
    CHECK(workspace(with_memory(gpus::apple_m1_max, gib(32))) == mib(1));
    r.process = {};
    CHECK(workspace(spark) == interval<byte_count>{});  // a process that takes nothing
}

TEST_CASE("an engine that sets aside more than the GPU has leaves itself no pool, and does not start") {
    job j = chat(runtimes::sglang);
    const cluster small{.gpu = with_memory(gpus::rtx_2080_ti_11gb, gib(12))};
    j.max_batched_tokens = tokens(1024);
    CHECK_FALSE(start_refused(j, {}, small));
    j.max_batched_tokens = tokens(16384);  // 1.5 MiB for each token of a step (server_args.py)
    const maybe<refused_start> refused = start_refused(j, {}, small);
    REQUIRE(refused);
    CHECK(refused->asked > gib(24));
    CHECK(refused->free == usable_memory(small.gpu));
    CHECK_FALSE(memory_fits(j, {}, small));
    CHECK_FALSE(start_refused(j, {}, {.gpu = gpus::h100_sxm5_80gb}));
    CHECK_FALSE(start_refused(chat(runtimes::vllm), {}, small));
}

TEST_CASE("the first stage's weights are a bound for evenly dealt layers, whatever the job") {
    const job j = chat(runtimes::vllm_v1_9);
    const cluster c{.gpu = gpus::h100_sxm5_80gb};
    detail::training_folds trained;
    const auto exceeds = [&](const layout& l, byte_count room) {
        detail::serving_folds served;
        return detail::surely_exceeds(j, l, c, room, trained, served);
    };
    const layout two{.pipeline = 2};
    const byte_count weights = memory_of(j, layout{}, c)[memory_term::weights].low;
    CHECK(exceeds({}, weights - bytes(1)));
    CHECK_FALSE(exceeds({}, weights));
    CHECK(exceeds(two, div_down(weights, 3)));
    CHECK_FALSE(exceeds(two, weights));
    CHECK_FALSE(exceeds({.pipeline = 2, .stages = read_stages("31|1").value()}, byte_count{}));
}

TEST_CASE("a serving job's main memory is what its runtime leaves there, a training job's what it offloads") {
    job j = chat(runtimes::llama_cpp);
    j.options.gpu_layers = 16;
    const cluster c{.gpu = gpus::h100_sxm5_80gb};
    CHECK(host_memory_of(j, {}, c).expected > gib(6));  // half of 16 GB
    j.options.gpu_layers = {};
    CHECK(host_memory_of(j, {}, c).expected < gib(2));
    job trained{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(512)};
    CHECK(host_memory_of(trained, {}, c) == interval<byte_count>{});
    trained.offload.optimizer = offload_place::host;
    CHECK(host_memory_of(trained, {}, c).expected > gib(10));
}

TEST_CASE("kinds of layers that are alike take as much memory as one kind") {
    const cluster four = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    const auto check = [&](const job& j, const layout& l) {
        job many = j;
        many.model = kinds_of_layers::in_most_kinds(j.model);
        INFO(j.runtime.identity.name << ", " << l.pipeline << " stages");
        REQUIRE(detail::validate_placed(j, l, four));
        REQUIRE(detail::validate_placed(many, l, four));
        const memory_breakdown of_one = memory_of(j, l, four), of_many = memory_of(many, l, four);
        CHECK(of_many.terms == of_one.terms);
        CHECK(of_many.stage == of_one.stage);
        CHECK(host_memory_of(many, l, four) == host_memory_of(j, l, four));
        if (!trains(j)) return;
        const auto events_of = [&](const job& of) {
            std::vector<byte_count> sizes;
            for_each_tensor_event(of, l, four.gpu, 0, 2, [&](const tensor_event& e) { sizes.push_back(e.size); });
            return sizes;
        };
        CHECK(events_of(many) == events_of(j));
    };
    for (const char* name : {"pytorch", "megatron", "deepspeed", "huggingface", "torchtitan", "nanotron"}) {
        job j{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(512), .global_batch = 8};
        j.runtime = find_runtime(name).value();
        for (const layout& l : {layout{}, layout{.pipeline = 4}, layout{.tensor = 2, .data = 2, .zero = 1}}) {
            if (!detail::validate_placed(j, l, four)) continue;
            check(j, l);
            j.recompute = recompute::full;
            check(j, l);
            j.recompute = recompute::none;
        }
        if (j.runtime.identity.name == "deepspeed") {
            j.offload = {.optimizer = offload_place::host, .activations = offload_place::host};
            check(j, {});
        }
    }
    for (const char* name : {"vllm", "sglang", "transformers", "llama.cpp", "tensorrt-llm"})
        for (const model* m : {&models::llama_3_1_8b, &models::mixtral_8x7b}) {
            job j{.model = *m, .batch = 4, .context = tokens(4096)};
            j.runtime = find_runtime(name).value();
            check(j, {});
            check(j, {.pipeline = 4});
            if (j.runtime.identity.name != "llama.cpp") continue;
            j.options.gpu_layers = 10;
            check(j, {});
            j.gguf = gguf_mix{};
            check(j, {});
        }
}

TEST_CASE("facts that an engine's choices depend on are read of the model, the options and the layout") {
    job j = chat(runtimes::sglang);
    const gpu& card = gpus::h100_sxm5_80gb;
    const auto facts = [&](const layout& l = {}) { return detail::start_facts_of(j, j.runtime, card, l); };
    CHECK(facts().tensor == 1);
    CHECK(facts({.tensor = 4}).tensor == 4);
    CHECK(facts({.tensor = 4, .data = 2}).tensor == 4);  // replicas of the engine
    CHECK(facts({.tensor = 4, .data = 2}).attention_ranks == 1);
    for (const std::int32_t expert : {2, 4, 8}) {
        const start_facts f = facts({.tensor = 2, .data = 4, .expert = expert});
        CHECK(f.tensor == 8);
        CHECK(f.attention_ranks == 4);
    }
    CHECK(facts({.pipeline = 3}).pipeline == 3);
    CHECK_FALSE(facts().images);
    CHECK(facts().image_layers == 0);
    encoder& tower = j.model.encoders[0];
    tower.layers = 1;
    CHECK_FALSE(facts().images);  // it reads no images
    CHECK(facts().image_layers == 1);
    tower.image_tokens = tokens(100);
    CHECK(facts().images);
    tower.layers = 7, tower.hidden = 99;
    CHECK(facts().images);
    CHECK(facts().image_layers == 7);
    CHECK(facts().image_hidden == 99);
    for (const std::int32_t axes : {2, 3}) {
        tower.position_axes = axes;  // Qwen's: `depth`
        CHECK(facts().image_layers == 0);
    }
    j.model.encoders[1] = tower;
    tower = {};
    CHECK_FALSE(facts().images);
    CHECK(facts().drafts == drafting::none);
    for (const std::int32_t drafted : {1, 4}) {
        j.options.draft_tokens = drafted;
        CHECK(facts().drafts == drafting::lookup);
        CHECK(facts().drafted == drafted);
    }
    j.options.speculates_ahead = true;
    CHECK(facts().drafts == drafting::layers);
    j.options.draft_weights = gib(1);
    CHECK(facts().drafts == drafting::model);
    j.options.draft_tokens = 0;
    CHECK(facts().drafts == drafting::model);
}

TEST_CASE("what an engine chooses at start replaces its profile's fraction, windows and graphs of layers") {
    job j = chat(runtimes::sglang);
    const auto chosen = [](double fraction, bool whole) {
        return start_choices{.fraction = fraction, .whole_windows = whole};
    };
    static start_choices answer;
    answer = chosen(0.5, false);
    j.runtime.cache.default_fraction = [](const start_facts&) { return answer; };
    j.runtime.cache.fraction = {};
    j.runtime.cache.windows = window_cells::window_batch;
    j.runtime.cache.window_part = 0.25;
    j.runtime.process.layer_graphs = {mib(1), mib(2), mib(3)};
    const auto made = [&] { return on_device(j, gpus::h100_sxm5_80gb, layout{}); };
    CHECK(made().cache.fraction.value_or(-1.0) == 0.5);
    CHECK(made().cache.windows == window_cells::window_batch);
    CHECK(made().cache.window_part.value_or(-1.0) == 0.25);
    CHECK(made().process.layer_graphs == graphs_of_sizes(j.runtime.process.layer_graphs, answer.decode.count()));
    answer = chosen(0.5, true);
    CHECK(made().cache.windows == window_cells::whole);
    CHECK_FALSE(made().cache.window_part.known);
    answer = chosen(0.0, false);
    CHECK(made().cache.fraction.value_or(-1.0) == 0.0);
    answer = chosen(-0.5, false);  // more is set aside than there is
    CHECK(made().cache.fraction.value_or(-1.0) == 0.0);
    answer = chosen(0.5, false);
    j.runtime.cache.fraction = 0.75;  // the caller's
    CHECK(made().cache.fraction.value_or(-1.0) == 0.75);
    // The same with what layouts have in common, from one layout to the next.
    detail::serving_folds folds{detail::folds_are::kept};
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    answer = chosen(0.5, true);
    j.runtime.cache.fraction = {};
    CHECK(detail::on_device(j, layout{}, one, folds).cache.windows == window_cells::whole);
    answer = chosen(0.25, false);
    const runtime& again = detail::on_device(j, layout{.tensor = 2}, one, folds);
    CHECK(again.cache.windows == window_cells::window_batch);
    CHECK(again.cache.fraction.value_or(-1.0) == 0.25);
    CHECK(again.cache.window_part.value_or(-1.0) == 0.25);
}

TEST_CASE(
    "main memory has room for what lies there, as far as it is known; shared with a GPU, beside what that takes") {
    job j = chat(runtimes::llama_cpp);
    j.options.gpu_layers = 10;
    const layout one{};
    cluster c{.gpu = gpus::rtx_4090};
    const byte_count held = host_memory_of(j, one, c).high;
    REQUIRE(held > byte_count{});
    memory_breakdown m;
    m[memory_term::weights] = gib(2);
    const auto fits = [&] { return detail::host_memory_fits(j, one, c, m); };
    CHECK(fits());  // nobody knows how much there is
    c.host.memory = held;
    CHECK(fits());
    c.host.memory = held - bytes(1);
    CHECK_FALSE(fits());
    c.gpu = gpus::gb10_dgx_spark;
    REQUIRE(shares_host_memory(c.gpu));
    const byte_count shared = host_memory_of(j, one, c).high;
    REQUIRE(shared > byte_count{});
    const auto with = [&](byte_count weights) {
        m[memory_term::weights] = weights;
        return fits();
    };
    const byte_count room = usable_memory(c.gpu) - shared;
    CHECK(with(room));
    CHECK_FALSE(with(room + bytes(1)));
    // A job that leaves nothing there asks for none.
    j = chat(runtimes::vllm);
    c = {.gpu = gpus::h100_sxm5_80gb};
    c.host.memory = bytes(1);
    REQUIRE(host_memory_of(j, one, c).high == byte_count{});
    CHECK(fits());
}

TEST_CASE("on unified memory a pool's start takes the weights twice, and each other term of the first step once") {
    job j = chat(runtimes::vllm);
    memory_breakdown m;
    m[memory_term::weights] = gib(10);
    const memory_term once[] = {memory_term::adapter,       memory_term::activations, memory_term::logits,
                                memory_term::communication, memory_term::workspace,   memory_term::runtime};
    for (std::size_t i = 0; i < 6; ++i) m[once[i]] = mib(std::int64_t{1} << i);
    m[memory_term::kv_cache] = gib(50);  // allocated later
    CHECK(most_at_start(j, m, gpus::gb10_dgx_spark) == gib(20) + mib(63));
    CHECK(most_at_start(j, m, gpus::h100_sxm5_80gb) == byte_count{});
    job cells = chat(runtimes::llama_cpp);
    CHECK(most_at_start(cells, m, gpus::gb10_dgx_spark) == byte_count{});
    job trained = j;
    trained.task = task::finetuning;
    CHECK(most_at_start(trained, m, gpus::gb10_dgx_spark) == byte_count{});
}

TEST_CASE("flash attention is lacked by NVIDIA's older GPUs alone, where it is asked for") {
    job j = chat(runtimes::vllm);
    j.attention = attention_kernel::flash;
    gpu old = gpus::h100_sxm5_80gb;
    old.capability = {6, 0};
    CHECK(detail::lacks_flash_attention(j, old));
    CHECK_FALSE(detail::lacks_flash_attention(j, gpus::h100_sxm5_80gb));
    old.vendor = gpu_vendor::amd;
    CHECK_FALSE(detail::lacks_flash_attention(j, old));
    old.vendor = gpu_vendor::nvidia;
    j.attention = attention_kernel::eager;
    CHECK_FALSE(detail::lacks_flash_attention(j, old));
    j.attention = attention_kernel::flash;
    CHECK_FALSE(memory_fits(j, layout{}, {.gpu = old}));
    CHECK(memory_fits(j, layout{}, {.gpu = gpus::h100_sxm5_80gb}));
}

TEST_CASE("what layouts remember of each other changes no breakdown") {
    job j = chat(runtimes::vllm);
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    detail::training_folds training{detail::folds_are::kept};
    detail::serving_folds serving{detail::folds_are::kept};
    for (const layout& l : {layout{}, layout{.tensor = 2}, layout{.pipeline = 2}, layout{.tensor = 2, .pipeline = 4},
                            layout{.pipeline = 8}, layout{.tensor = 8}}) {
        const memory_breakdown kept = detail::memory_of(j, l, c, training, serving), anew = memory_of(j, l, c);
        CHECK(kept.total() == anew.total());
        CHECK(kept.stage == anew.stage);
        CHECK(kept.allocated == anew.allocated);
        CHECK(kept.expected() > byte_count{});
    }
}
